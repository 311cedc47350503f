"""Sobol indices and Morris screening, against closed forms; missing outputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.engine.stress.analyses import INDEX_COLUMNS, analyse, ends_of, unit_design
from reidsim.scenarios.schema import Discrete, Normal, SensitivitySection, Triangular, Uniform

ISHIGAMI = ("x1", "x2", "x3")


def sobol_design(parameters, samples, seed, **options):
    return unit_design(parameters, SensitivitySection(samples=samples, **options), seed)


def morris_design(parameters, samples, seed):
    return unit_design(parameters, SensitivitySection(method="morris", samples=samples), seed)


def ishigami(probabilities, a=7.0, b=0.1):
    x1, x2, x3 = (-np.pi + 2 * np.pi * probabilities).T
    return np.sin(x1) + a * np.sin(x2) ** 2 + b * x3**4 * np.sin(x1)


def ishigami_indices(a=7.0, b=0.1):
    """Return first-order, total and second-order indices (Ishigami & Homma 1990)."""
    alone = (0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8, 0.0)
    together = b**2 * np.pi**8 * (1 / 18 - 1 / 50)  # of x1 and x3
    variance = sum(alone) + together
    return {
        "first-order": {name: part / variance for name, part in zip(ISHIGAMI, alone, strict=True)},
        "total": {
            "x1": (alone[0] + together) / variance,
            "x2": alone[1] / variance,
            "x3": together / variance,
        },
        "second-order": {("x1", "x2"): 0.0, ("x1", "x3"): together / variance, ("x2", "x3"): 0.0},
    }


def by_index(table, index):
    rows = table[table["index"] == index]
    return dict(zip(rows["parameter"], rows["value"], strict=True))


def test_sobol_indices_of_the_ishigami_function_are_those_of_its_closed_form():
    """Within 0.02, first-order and total, at 2,048 base samples; pairs within 0.04."""
    design = sobol_design(ISHIGAMI, 2048, 1, second_order=True)
    table = analyse(design, ishigami(design.probabilities), seed=2)
    expected = ishigami_indices()
    assert list(table.columns) == list(INDEX_COLUMNS)
    for index in ("first-order", "total"):
        assert by_index(table, index) == pytest.approx(expected[index], abs=0.02)
    pairs = table[table["index"] == "second-order"]
    found = dict(zip(zip(pairs["parameter"], pairs["other"], strict=True), pairs["value"], strict=True))
    assert found == pytest.approx(expected["second-order"], abs=0.04)
    assert (table["low"] <= table["value"]).all()
    assert (table["high"] >= table["value"]).all()


def test_intervals_cover_the_closed_form():
    """At 95 %, at least 61 of 72 intervals (12 designs) cover (binomial, 1 in 3,000)."""
    expected = {(index, name): value for index in ("first-order", "total") for name, value in
                ishigami_indices()[index].items()}  # fmt: skip
    covered = 0
    for seed in range(1, 13):
        design = sobol_design(ISHIGAMI, 256, seed)
        table = analyse(design, ishigami(design.probabilities), seed=seed)
        for row in table.to_dict("records"):
            covered += row["low"] <= expected[row["index"], row["parameter"]] <= row["high"]
    assert covered >= 61


def test_morris_screening_finds_what_matters_in_the_order_of_the_slopes():
    slopes = np.array([5.0, 0.0, -3.0, 1.0])
    design = morris_design(("a", "b", "c", "d"), 20, 3)
    assert design.probabilities.shape == (20 * 5, 4)
    table = analyse(design, design.probabilities @ slopes, seed=2)
    assert by_index(table, "mu_star") == pytest.approx(dict(zip("abcd", np.abs(slopes), strict=True)))
    assert by_index(table, "mu") == pytest.approx(dict(zip("abcd", slopes, strict=True)))
    assert by_index(table, "sigma") == pytest.approx(dict.fromkeys("abcd", 0.0), abs=1e-12)


@examples(15)
@given(
    method=st.sampled_from(["sobol", "morris"]),
    failed=st.sets(st.integers(0, 31), max_size=15),
    place=st.integers(0, 3),
    what=st.sampled_from([np.nan, np.inf]),
)
def test_blocks_with_a_failed_run_are_left_out_whole(method, failed, place, what):
    """Indices equal those without the blocks that contain a failed run."""
    make = sobol_design if method == "sobol" else morris_design
    design = make(("a", "b"), 32, 7)
    output, size = design.probabilities @ np.array([2.0, 1.0]), len(design.probabilities) // 32
    broken, other = output.copy(), output.copy()
    for block in failed:
        inside = slice(block * size, (block + 1) * size)
        other[inside] = 1e6
        for values in (broken, other):
            values[block * size + place % size] = what
    table = analyse(design, broken, seed=1)
    assert table["blocks_left_out"].eq(len(failed)).all()
    assert table["blocks"].eq(32 - len(failed)).all()
    assert np.isfinite(table["value"]).all()
    assert table.equals(analyse(design, other, seed=1))
    if not failed:
        assert table.equals(analyse(design, output, seed=1))


@pytest.mark.parametrize(
    ("distribution", "ends"),
    [
        (Uniform(distribution="uniform", low=20, high=180), (20, 180)),
        (Triangular(distribution="triangular", low=2, mode=12, high=40), (2, 40)),
        (Uniform(distribution="uniform", low=1.2, high=8.7, whole=True), (1, 9)),
        # The quantile of the standard normal distribution at .995 is 2.5758.
        (Normal(distribution="normal", mean=10, sd=2), (10 - 2 * 2.5758, 10 + 2 * 2.5758)),
        (Normal(distribution="normal", mean=10, sd=1e-3, low=-1), (-1, 10.0025758)),
        (Discrete(distribution="discrete", values=(3, 1, 2)), (1, 3)),
        (Discrete(distribution="discrete", values=("b", "a", "c")), ("b", "c")),
    ],
)
def test_the_ends_of_a_range_are_its_bounds_or_cut_off_tails(distribution, ends):
    found = ends_of(distribution)
    assert found == (pytest.approx(ends, abs=1e-3) if isinstance(distribution, Normal) else ends)


@pytest.mark.parametrize(("make", "value"), [(sobol_design, 0.1), (morris_design, 1e6)])
def test_an_output_that_varies_by_rounding_has_indices_of_zero(make, value):
    design = make(("a", "b"), 8, 7)
    table = analyse(design, value * (3 + 1e-13 * design.probabilities[:, 0]), seed=1)
    assert table["value"].eq(0).all()


@pytest.mark.parametrize("make", [sobol_design, morris_design])
def test_same_seed_same_bytes_and_no_global_generator(make):
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    tables = []
    for _ in range(2):
        design = make(("a", "b"), 16, 7)
        tables.append(analyse(design, design.probabilities[:, 0] ** 2, seed=3))
    assert tables[0].equals(tables[1])
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert not np.array_equal(make(("a", "b"), 16, 8).probabilities, design.probabilities)
