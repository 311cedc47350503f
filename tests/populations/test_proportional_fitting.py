"""Iterative proportional fitting: margins, odds ratios, zeros and contradictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.core.files import read_toml
from reidsim.core.validation import validated
from reidsim.populations.counted import FittedRecipe, fit_margins
from reidsim.populations.population import Attribute, Domain, Making, Population

positive = st.floats(0.1, 10)
Margin = tuple[str, tuple[int, ...], np.ndarray]


def fit(start: np.ndarray, margins: list[Margin], domain: Domain | None = None, **options: Any) -> np.ndarray:
    """Fit with attributes named after the axes, unless a domain is given."""
    axes = (Attribute(f"axis {axis}", tuple(map(str, range(size)))) for axis, size in enumerate(start.shape))
    targets = [
        (name, np.expand_dims(target.transpose(np.argsort(kept)), tuple({*range(start.ndim)} - {*kept})))
        for name, kept, target in margins
    ]
    return fit_margins(start, targets, domain or Domain(tuple(axes)), **options)[0]


def tables(shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    size = int(np.prod(shape))
    return st.lists(positive, min_size=size, max_size=size).map(lambda values: np.reshape(values, shape))


def margins_of(table: np.ndarray, *axes: tuple[int, ...]) -> list[Margin]:
    """Return the table's own sums by einsum, as targets."""
    letters = "abcd"[: table.ndim]
    return [(f"m{a}", a, np.einsum(f"{letters}->{''.join(letters[i] for i in a)}", table)) for a in axes]


@given(start=tables((2, 3, 4)), truth=tables((2, 3, 4)))
def test_margins_are_met_and_what_they_do_not_tell_is_kept(start: np.ndarray, truth: np.ndarray) -> None:
    fitted = fit(start, margins_of(truth, (2, 0), (1,)))
    np.testing.assert_allclose(fitted.sum(axis=1), truth.sum(axis=1), rtol=1e-7)
    np.testing.assert_allclose(fitted.sum(axis=(0, 2)), truth.sum(axis=(0, 2)), rtol=1e-7)

    # The fitted table is the start times a factor per cell of each margin: the log odds ratios between the axes 1 and
    # (0, 2) equal the start's.
    def log_odds(table: np.ndarray) -> np.ndarray:
        logs = np.log(table.transpose(1, 0, 2).reshape(3, 8))
        return np.asarray(logs[1:, 1:] - logs[:1, 1:] - logs[1:, :1] + logs[:1, :1])

    np.testing.assert_allclose(log_odds(fitted), log_odds(start), atol=1e-7)


def test_margins_with_different_sums_over_what_they_share_contradict_each_other() -> None:
    domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("u", "v", "w")), Attribute("c", ("s", "t"))))
    one = ("ab", (0, 1), np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 2.0]]))
    # Over b: 2, 3, 5 in the first; 2, 4, 4 in the second, whose axes are in reverse order.
    other = ("cb", (2, 1), np.array([[1.0, 2.0, 2.0], [1.0, 2.0, 2.0]]))
    with pytest.raises(InputError, match="margins 'ab' and 'cb', b = v: margins are inconsistent; found '3 and 4"):
        fit(np.ones(domain.shape), [one, other], domain=domain)
    fit(np.ones(domain.shape), [one, other], tolerance=0.2, domain=domain)


RECIPE = """
kind = "fitted"
source = "made up"
seed = 5

[start.table]
file = "sample.csv"
columns = { sex = "sex", age = "age" }
count = "n"

[[margin]]
name = "by sex"
file = "sexes.csv"
columns = { sex = "sex" }
count = "people"

[[margin]]
file = "ages.csv"
columns = { area = "zip", age = "band" }
count = "people"
"""


@pytest.fixture
def area(tmp_path: Path) -> Path:
    (tmp_path / "sample.csv").write_text("sex,age,n\nF,young,8\nF,old,2\nM,young,5\nM,old,5\n")
    (tmp_path / "sexes.csv").write_text("sex,people\nF,300\nM,700\n")
    (tmp_path / "ages.csv").write_text("zip,band,people\n37010,young,100\n37010,old,50\n37010,old,50\n9,old,800\n")
    path = tmp_path / "area.toml"
    path.write_text(RECIPE)
    return path


def made(path: Path, start: Population | None = None, **options: Any) -> Population:
    recipe = validated(FittedRecipe, read_toml(path), path)
    others = {"seed": recipe.seed, "other": lambda *_: start} | options
    return recipe.make(Making(path.parent, path.stem, **others))


def table_of(population: Population) -> np.ndarray:
    table = np.zeros(population.domain.shape)
    table[tuple(population.cells.T)] = population.counts
    return table


def test_recipe_with_expected_counts(area: Path) -> None:
    population = made(area, expected=True)
    assert population.domain.names == ("sex", "age", "area")
    assert [a.categories for a in population.domain.attributes] == [("F", "M"), ("young", "old"), ("9", "37010")]
    table = table_of(population)
    np.testing.assert_allclose(table.sum(axis=(1, 2)), [300, 700])
    np.testing.assert_allclose(table.sum(axis=0), [[0, 100], [800, 100]])
    by_age = table.sum(axis=2)
    # The odds ratio of sex and age in the sample.
    assert by_age[0, 0] * by_age[1, 1] / (by_age[0, 1] * by_age[1, 0]) == pytest.approx(8 * 5 / (2 * 5))
    assert population.source.startswith("made up (fitted in ")
    area.write_text(RECIPE.replace("seed = 5", "seed = 5\npeople = 2000"))
    np.testing.assert_allclose(table_of(made(area, expected=True)), 2 * table, atol=1e-9)


def test_recipe_drawn(area: Path) -> None:
    expected, drawn = made(area, expected=True), made(area)
    assert drawn.counts.dtype == np.int64
    assert drawn.total == 1000
    mean, seen = table_of(expected), table_of(drawn)
    assert (np.abs(seen - mean) <= 5 * np.sqrt(mean)).all()
    assert made(area).counts.tobytes() == drawn.counts.tobytes()
    assert made(area, seed=6).counts.tobytes() != drawn.counts.tobytes()


def test_start_from_a_population_or_from_nothing(area: Path) -> None:
    domain = Domain((Attribute("x", ("0", "1")), Attribute("sex", ("M", "F")), Attribute("age", ("old", "young"))))
    cells = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]], dtype=np.int32)
    sample = Population(domain, cells, np.array([2, 3, 5, 2, 8]), name="sample")
    from_table = table_of(made(area, expected=True))
    by_population = '[start]\npopulation = "sample"\nattributes = ["sex", "age"]\n'
    area.write_text(RECIPE.replace(RECIPE[RECIPE.index("[start") : RECIPE.index("[[margin")], by_population))
    population = made(area, sample, expected=True)
    assert population.domain["sex"].categories == ("M", "F")
    np.testing.assert_allclose(table_of(population)[::-1, ::-1], from_table)
    area.write_text(RECIPE.replace(RECIPE[RECIPE.index("[start") : RECIPE.index("[[margin")], ""))
    independent = made(area, expected=True).marginal(["sex", "age"])
    np.testing.assert_allclose(table_of(independent), np.outer([300, 700], [100, 900]) / 1000)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "sexes.csv",
            "sex,people\nF,300\nX,700\n",
            "row 2, column 'sex': value outside the categories of 'sex'; found 'X'",
        ),
        ("sexes.csv", "sex,people\nF,0\nM,0\n", "margin 'by sex': the margin has no number above 0"),
        (
            "sample.csv",
            "sex,age,n\nF,young,8\nM,young,5\nM,old,0\n",
            "age = old, area = 9: the starting table or another margin",
        ),
        (
            "sample.csv",
            "sex,age,n\nF,young,8\nF,old,0\nM,old,5\n",
            "margin 'by sex': no table found with all margins",
        ),
        (
            "area.toml",
            RECIPE.replace("[start.table]", '[start]\npopulation = "x"\n[start.table]'),
            "start: the starting table is missing or given twice",
        ),
    ],
)
def test_files_that_cannot_be_used(area: Path, file: str, content: str, message: str) -> None:
    (area.parent / file).write_text(content)
    with pytest.raises(InputError, match=message):
        made(area)
