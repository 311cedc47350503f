"""Full-domain scenarios: accepted and refused input."""

import numpy as np
import pytest

from reidsim.core.errors import InputError
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.kinds.tables.schema import policy_named
from reidsim.scenarios.scenario import Scenario

SCENARIO = """
[adversary]
risk = "prosecutor"
[release]
path = "records.csv"
delimiter = ";"
[attributes.age]
hierarchy = { rule = "table", file = "age.csv" }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 60
cost = 4
[publisher]
unit = "table"
safe_class = "above"
"""
RECORDS = "age;sex;worth\n30;F;10\n31;F;20\n30;M;10\n30;F;10\n"
AGES = "29;20-29;*\n30;30-39;*\n31;30-39;*\n"
PEOPLE = "age;sex\n" + "30;F\n" * 5 + "31;F\n" * 2 + "30;M\n" * 3


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ward.toml").write_text(SCENARIO)
    (tmp_path / "records.csv").write_text(RECORDS)
    (tmp_path / "age.csv").write_text(AGES)
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path


def study_of(folder, **changes):
    return build_study(Scenario.load(folder / "ward.toml", {key.replace("__", "."): v for key, v in changes.items()}))


JOURNALIST = {"adversary__risk": "journalist"}
ANYTIME = {"publisher__search": "anytime", "publisher__nodes": 10}


# Accepted input.


def test_cells_hierarchies_and_prices(folder):
    study = study_of(folder)
    assert study.lattice.domain.shape == (3, 2)
    assert study.lattice.shape == (3, 2)
    labels = study.lattice.domain.decode(study.lattice.codes[study.cell_of_record])
    assert labels.astype("str").to_numpy().tolist() == [["30", "F"], ["31", "F"], ["30", "M"], ["30", "F"]]
    assert study.weights.sum() == study.n_records == 4
    assert sorted(study.weights.tolist()) == [1, 1, 2]
    assert [getattr(study.prices, name).item() for name in ("benefit", "loss", "gain", "cost")] == [100, 60, 60, 4]
    assert study.node_game("prosecutor", study.prices).sizes_at(0)[study.cell_of_record].tolist() == [2, 1, 1, 2]


def test_information_loss_counts_the_rows_of_the_hierarchy(folder):
    """Nobody is 29, but the hierarchy has it: 1 + log(2/3 x 1/2) / log(3 x 2)."""
    study = study_of(folder)
    node = study.lattice.index((1, 0))
    assert study.lattice.utility(node) == pytest.approx(1 - np.log(2) / np.log(6))


@pytest.mark.parametrize("header", [True, False])
def test_data_and_hierarchy_files_with_and_without_header(folder, header):
    if header:
        (folder / "age.csv").write_text("value;tens;nothing\n" + AGES)
        changes = {"attributes__age__hierarchy": {"rule": "table", "file": str(folder / "age.csv"), "header": True}}
    else:
        (folder / "records.csv").write_text(RECORDS.partition("\n")[2])
        changes = {"release__header": False, "attributes__age__column": "1", "attributes__sex__column": "2"}
    assert study_of(folder, **changes).fingerprint == study_of_plain(folder).fingerprint


def study_of_plain(folder):
    (folder / "records.csv").write_text(RECORDS)
    (folder / "age.csv").write_text(AGES)
    return study_of(folder)


def test_the_population_as_a_table(folder):
    study = study_of(folder, population={"path": str(folder / "people.csv")}, **JOURNALIST)
    assert study.population.total == 10
    assert study.node_game("journalist", study.prices).sizes_at(0)[study.cell_of_record].tolist() == [5, 2, 3, 5]
    assert study.node_game("prosecutor", study.prices).sizes_at(0)[study.cell_of_record].tolist() == [2, 1, 1, 2]


@pytest.mark.parametrize("counts", ["5,2,3", "5.5,2.25,3.5"])
def test_the_population_as_counts_by_cell(folder, counts):
    rows = zip(("30,F", "31,F", "30,M"), counts.split(","), strict=True)
    (folder / "cells.csv").write_text("age,sex,count\n" + "".join(f"{cell},{count}\n" for cell, count in rows))
    recipe = 'kind = "counts"\nfile = "cells.csv"\ncount = "count"\n[columns]\nage = "age"\nsex = "sex"\n'
    (folder / "town.toml").write_text(recipe)
    study = study_of(folder, population={"recipe": str(folder / "town.toml")}, **JOURNALIST)
    expected = dict(zip("abc", map(float, counts.split(",")), strict=True))
    sizes = study.node_game("journalist", study.prices).sizes_at(0)[study.cell_of_record].tolist()
    assert sizes == [expected[cell] for cell in "abca"]


def test_prices_by_record(folder):
    study = study_of(folder, economics__columns={"benefit": "worth"})
    assert study.prices.n_kinds == 2
    worth = study.prices.benefit[study.kind[study.cell_of_record]]
    assert worth.tolist() == [10, 20, 10, 10]
    study = study_of(folder, economics__columns={"loss": "worth"})
    assert (study.prices.gain == study.prices.loss).all()
    study = study_of(folder, economics__columns={"loss": "worth"}, economics__gain=7)
    assert set(study.prices.gain.ravel()) == {7}


def test_records_with_one_value_and_several_prices_hide_among_each_other(folder):
    (folder / "records.csv").write_text("age;sex;worth\n30;F;10\n30;F;20\n")
    study = study_of(folder, economics__columns={"benefit": "worth"})
    assert study.lattice.n_records == 2
    assert study.node_game("prosecutor", study.prices).sizes_at(0).tolist() == [2, 2]


def test_minimum_levels_and_safe_harbor(folder):
    study = study_of(folder, attributes__age__minimum_level=1)
    assert study.minimum == (1, 0)
    assert study.node_game("prosecutor", study.prices).lowest == (1, 0)
    study = study_of(folder, safe_harbor={"age": "age"}, publisher__policies=["basic", "safe-harbor"])
    assert policy_named("sh-friendly").one_shot_game(study, "prosecutor", study.prices).lowest == (0, 0)


# Refused input.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"economics__columns": {"loss": "price"}}, "column 'price': column missing"),
        ({"economics__columns": {"loss": "sex"}}, "row 1, column 'sex': not a number of 0 or more; found 'F'"),
        (JOURNALIST, "population: section missing; expected a population, for journalist risk"),
        ({"beliefs__risk": "journalist"}, "population: section missing"),
        ({"attributes__sex__top_code": 3}, "expected a population, to redraw attribute 'sex'"),
        ({"attributes__age__minimum_level": 3}, "attributes.age.minimum_level: no such level; found 3"),
        ({"publisher__policies": ["safe-harbor"]}, "safe_harbor: policy .* needs the attributes"),
        ({"publisher__search": "anytime"}, "the anytime search needs a budget"),
        ({"publisher__nodes": 100}, "a budget needs the anytime search"),
        (
            ANYTIME | {"publisher__policies": ["basic", "record-level"]},
            "policies: the anytime search does not support .*; found 'record-level'; .*search = \"exact\"",
        ),
        (
            ANYTIME | {"publisher__policies": ["multi-dimensional"]},
            "publisher.policies: the anytime search does not support .*; found 'multi-dim",
        ),
        ({"population": {"counts": "sample"}}, "population: the population is missing"),
        ({"safe_harbor": {"age": "year"}}, "safe_harbor.age: no such attribute; found 'year'"),
    ],
)  # fmt: skip
def test_keys_that_do_not_fit(folder, changes, message):
    with pytest.raises(InputError, match=message) as refused:
        study_of(folder, **changes)
    assert "\n" not in str(refused.value)


def test_a_release_that_is_not_part_of_its_population(folder):
    (folder / "people.csv").write_text("age;sex\n30;F\n31;F\n30;M\n")
    population = {"path": str(folder / "people.csv")}
    with pytest.raises(
        InputError, match="the released table is not part of its population; found '2 records and 1 person with "
    ):
        study_of(folder, population=population, **JOURNALIST)
    study = study_of(folder, population=population | {"holds_release": False}, **JOURNALIST)
    (warning,) = TABLES.warnings(study, 0, {})
    assert warning.startswith("1 of 4 records exceed the people with the same values in population 'people.csv'")


UNITS = pytest.mark.parametrize("unit", ["record", "table"])


@UNITS
@pytest.mark.parametrize("file", ["records.csv", "people.csv"])
def test_a_missing_value_that_the_hierarchy_file_lacks(folder, file, unit):
    row = "30;F;10" if file == "records.csv" else "30;F"
    (folder / file).write_text((folder / file).read_text().replace(row, row.replace("30", "", 1), 1))
    people = {"path": str(folder / "people.csv"), "holds_release": False}
    with pytest.raises(
        InputError, match=rf"{file}: row 1, column 'age': value missing from .* found ''; expected a row .* age\.csv"
    ):
        study_of(folder, population=people, publisher__unit=unit, **JOURNALIST)


def test_the_message_about_a_misspelt_value_names_the_nearest_value_of_the_hierarchy(folder):
    (folder / "records.csv").write_text((folder / "records.csv").read_text().replace("30;F;10", "300;F;10", 1))
    with pytest.raises(InputError, match=r"row 1, column 'age': value missing .* found '300'.*did you mean '30'\?"):
        study_of(folder)


RULES = {
    "intervals": (
        {"rule": "intervals", "widths": [2, 4]},
        [["", "30-31", "30-31", "32-33"], ["", "30-33", "30-33", "30-33"]],
    ),
    "prefix": ({"rule": "prefix", "digits": [1]}, [["", "3*", "3*", "3*"]]),
    "groups": ({"rule": "groups", "groups": [[["30", "31"]]]}, [["", "30 or 31", "30 or 31", "33"]]),
    "suppress": ({"rule": "suppress"}, []),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "unit", "people"),
    [
        ("intervals", "table", True),
        ("prefix", "record", False),
        ("groups", "record", True),
        ("suppress", "table", False),
    ],
)  # fmt: skip
def test_a_missing_value_is_a_category_of_its_own_until_all_is_suppressed(folder, unit, rule, people):
    """A missing value is in no interval, prefix or group until suppression.

    Under every rule, records with a missing value hide among the people whose value is also missing.
    """
    section, levels = RULES[rule]
    (folder / "records.csv").write_text("age;sex\n30;F\n31;F\n;F\n33;F\n;F\n33;M\n")
    (folder / "people.csv").write_text("age;sex\n" + "30;F\n31;F\n;F\n33;F\n33;M\n" * 3)
    population = {"population": {"path": str(folder / "people.csv")}, **JOURNALIST} if people else {}
    study = study_of(folder, publisher__unit=unit, attributes__age__hierarchy=section, **population)
    age = study.lattice.hierarchies[0]
    order = [age.attribute.categories.index(value) for value in ("", "30", "31", "33")]
    written = [[names[group] for group in groups[order]] for names, groups in zip(age.labels, age.groups, strict=True)]
    assert written == [["", "30", "31", "33"], *levels, ["*"] * 4]
    missing = study.lattice.domain.decode(study.lattice.codes)["age"].astype("str") == ""
    sizes = study.truth.linker.link(0).group_sizes[missing.to_numpy()]
    assert sizes.tolist() == ([3] if people else [2])


def with_header(folder, header, **section):
    file = {"rule": "table", "file": str(folder / "age.csv"), "header": header}
    return {"attributes__age__hierarchy": file | section}


@pytest.mark.parametrize(
    ("header", "rows", "population"),
    [("jahre;tens;nothing\n", AGES, True), ("level 0\n", "29\n30\n31\n", False)],
)
def test_a_header_counted_as_a_value_is_noticed(folder, header, rows, population):
    (folder / "age.csv").write_text(header + rows)
    changes = {"population": {"path": str(folder / "people.csv")}} if population else {}
    with pytest.raises(InputError, match=r"age.csv: row 1: the first row looks like a header.* \(set header = true\)"):
        study_of(folder, **changes, **with_header(folder, False, suppress=True))
    assert study_of(folder, **changes, **with_header(folder, True, suppress=True)).lattice.domain.shape == (3, 2)


def test_a_value_taken_for_a_header_is_noticed(folder):
    with pytest.raises(InputError, match=r"age.csv: row 1: the first row is the row of a value, not a header; .* '\*'"):
        study_of(folder, **with_header(folder, True))


@pytest.mark.parametrize(
    ("first", "others"),
    [
        ("unknown;unknown;*", "30;30-39;*\n31;30-39;*\n"),
        ("29;twenties;young", "30;thirty;old\n31;thirty-one;older\n"),
    ],
)
def test_values_that_no_record_has_are_no_headers(folder, first, others):
    """Files often begin with ranges below all records or with codes for unknown."""
    (folder / "age.csv").write_text(f"{first}\n{others}")
    assert study_of(folder).lattice.domain.shape == (3, 2)


@pytest.mark.deep
def test_a_lattice_too_large_to_walk(folder):
    names = [f"q{number}" for number in range(23)]
    (folder / "records.csv").write_text(";".join(names) + "\n" + ";".join(["a"] * 23) + "\n")
    wide = {"attributes": {name: {"hierarchy": {"rule": "suppress"}} for name in names}}
    with pytest.raises(
        InputError, match=r"publisher.policies: too many nodes for an exact search; found 8388608; .*\"anytime\""
    ):
        study_of(folder, **wide)
    study_of(folder, **wide, **ANYTIME)
    study_of(folder, **wide, publisher__policies=["no-protection"])
    lifted = {name: {"hierarchy": {"rule": "suppress"}, "minimum_level": 1} for name in names[:2]}
    study_of(folder, attributes=wide["attributes"] | lifted)
