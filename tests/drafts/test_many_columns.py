"""Drafts of files with many quasi-identifiers: all columns, and the named solver."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.schema import policy_named

NAMED = ("age", "sex", "zip", "education", "occupation", "country", "household_size", "admission_date")
POLICIES = ("basic", "no-attack")


def file_of(records, seed=1):
    """Return twelve quasi-identifiers; four have no level before suppression."""
    rng = np.random.default_rng(seed)

    def drawn(name, n, skew):
        shares = 1 / np.arange(1, n + 1) ** skew
        return rng.choice([f"{name} {number}" for number in range(n)], records, p=shares / shares.sum())

    zips = rng.choice(np.arange(10_000, 99_999), 400, replace=False).astype(str)
    return pd.DataFrame({
        "age": rng.integers(0, 99, records),
        "sex": rng.choice(["F", "M"], records),
        "zip": rng.choice(zips, records),
        "education": drawn("level", 12, 0.9),
        "occupation": drawn("occupation", 120, 1),
        # All values are about equally frequent.
        "country": drawn("country", 60, 0),
        "household_size": rng.integers(1, 9, records),
        "admission_date": (np.datetime64("2021-01-01") + rng.integers(0, 1400, records)).astype(str),
        "religion": drawn("faith", 5, 0.3),
        "employment": drawn("work", 4, 0.2),
        "language": drawn("language", 20, 1.2),
        "smoker": rng.choice(["yes", "no"], records),
    })  # fmt: skip


@pytest.fixture(scope="module")
def wide():
    table = file_of(8_000)
    return reidsim.new(table, quasi_identifiers=list(table.columns))


def test_twelve_columns_keep_their_hierarchies(wide):
    study = build_study(wide.scenario)
    lattice = study.lattice
    levels = dict(zip(lattice.domain.names, lattice.shape, strict=True))
    two = {name for name, n in levels.items() if n == 2}
    assert two == {"sex", "religion", "employment", "smoker"}
    assert 100_000 < lattice.size <= 600_000
    assert study.scenario.publisher.solver == "iceberg"
    assert f"{lattice.size:,} strategies per record" in wide.text
    # The draft names the omitted levels, with the number of strategies including them.
    assert "left out for fewer strategies" in wide.text


@pytest.mark.deep
def test_a_file_of_people_with_several_rows_is_drafted_with_fewer_levels_and_says_so():
    table = file_of(20_000)[list(NAMED)]
    table.insert(0, "person", np.repeat([f"P{number}" for number in range(10_000)], 2))
    draft = reidsim.new(table, quasi_identifiers=list(NAMED), person="person")
    study = build_study(draft.scenario)
    assert study.scenario.publisher.solver == "backward-induction"
    assert study.lattice.size <= 1_200
    assert "left out for fewer strategies" in draft.text


def test_hierarchies_do_not_become_coarser_with_the_number_of_rows():
    drafts = [
        reidsim.new(file_of(rows)[list(NAMED[:6])], quasi_identifiers=list(NAMED[:6])) for rows in (10_000, 100_000)
    ]
    levels = [{column.profile.name: column.hierarchy.n_levels for column in each.choice.chosen} for each in drafts]
    assert levels[0] == levels[1]
    assert 600 < math.prod(levels[0].values()) <= 1_200


def test_a_hierarchy_file_of_a_column_is_taken_as_it_is(tmp_path):
    table = file_of(300)
    path = tmp_path / "country.csv"
    names = sorted(table["country"].unique())
    path.write_text("".join(f"{name};{'even' if at % 2 else 'odd'};*\n" for at, name in enumerate(names)))
    draft = reidsim.new(table, quasi_identifiers=list(NAMED), hierarchies={"country": path})
    lattice = build_study(draft.scenario).lattice
    hierarchy = lattice.hierarchies[lattice.domain.position("country")]
    assert sorted(hierarchy.labels[1]) == ["even", "odd"]
    path.write_text("country 0;odd;*\n")
    with pytest.raises(InputError, match=r"country\.csv"):
        reidsim.new(table, quasi_identifiers=list(NAMED), hierarchies={"country": path})
    with pytest.raises(InputError, match="not a quasi-identifier"):
        reidsim.new(table[["age", "sex", "zip"]], hierarchies={"country": path})


@pytest.mark.deep
def test_no_record_of_twelve_columns_can_be_released_with_less_loss_and_be_safe(wide):
    study = build_study(wide.scenario.with_({"adversary.direction": "record"}))
    found = {name: policy_named(name).choose(study, study.truth, 0) for name in POLICIES}
    assert {found[policy].solver for policy in POLICIES} == {"iceberg"}
    # No record is generalized too far: with one level less in any attribute it is not safe.
    lattice, chosen = study.lattice, found["no-attack"].strategies
    threshold = 300 / 4
    some = np.random.default_rng(1).choice(lattice.n_records, 200, replace=False)
    for record, strategy in itertools.islice(zip(some.tolist(), chosen[some].tolist(), strict=True), 200):
        for below in [strategy, *lattice.predecessors(strategy)]:
            levels = lattice.levels(below)
            fits = np.ones(lattice.n_records, dtype=bool)
            for at, (hierarchy, level) in enumerate(zip(lattice.hierarchies, levels, strict=True)):
                groups = hierarchy.groups[level][lattice.codes[:, at]]
                fits &= groups == groups[record]
            people = study.weights[fits].sum()
            loses = lattice.utility(below, np.array([record]))[0] > lattice.utility(strategy, np.array([record]))[0]
            assert people >= threshold if below == strategy else people < threshold or not loses


def test_the_drafted_release_protects_people_who_are_searched_for(wide):
    assert wide.scenario.content["adversary"]["direction"] == "both"
    result = wide.scenario.run()
    shared = reidsim.share(result, "no-attack")
    # An attack pays if fewer than 75 people match: gain / cost = 300 / 4.
    assert min(map(int, shared.attrs["sidecar"]["audit"]["people_by_fitting_rows"])) >= 75
    assert len(shared) == 8_000
