"""Categories of an attribute: records and tables use one rule on the same files."""

from pathlib import Path

import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.kinds.tables.build import build_study
from reidsim.scenarios.load import Scenario

UNITS = pytest.mark.parametrize("unit", ["record", "table"])
PEOPLE = "age,village,n\n30,Dale,6\n31,Dale,5\n30,Hill,4\n31,Hill,3\n"
RECORDS = "age,village\n30,Dale\n31,Dale\n30,Hill\n31,Hill\n"
# A village without residents, and no village for people whose village is unknown.
VILLAGES = "Dale;South;*\nHill;North;*\nMoor;North;*\n"
SCENARIO = """[population]
recipe = "people.toml"
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [2] }
[attributes.village]
hierarchy = { rule = "table", file = "villages.csv" }
[economics]
benefit = 100
loss = 80
cost = 11
[adversary]
risk = "journalist"
[publisher]
policies = ["no-protection", "suppress-all", "no-attack"]
"""


@pytest.fixture
def folder(tmp_path):
    recipe = 'kind = "counts"\nfile = "people.csv"\ncount = "n"\n[columns]\nage = "age"\nvillage = "village"\n'
    files = {
        "people.csv": PEOPLE, "people.toml": recipe, "records.csv": RECORDS, "villages.csv": VILLAGES,
        "mine.toml": SCENARIO,
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def categories(folder: Path, unit: str, **changes: object) -> list[tuple[str, ...]]:
    loaded = Scenario.load(folder / "mine.toml", {"publisher.unit": unit, **changes})
    return [each.categories for each in build_study(loaded).lattice.domain.attributes]


@UNITS
def test_those_of_a_recipe_come_before_the_rows_of_a_file(folder, unit):
    assert categories(folder, unit) == [("30", "31"), ("Dale", "Hill")]


@UNITS
def test_without_a_recipe_they_are_the_rows_of_the_file(folder, unit):
    text = SCENARIO.replace('[population]\nrecipe = "people.toml"\n', "").replace("journalist", "prosecutor")
    (folder / "mine.toml").write_text(text)
    assert categories(folder, unit) == [("30", "31"), ("Dale", "Hill", "Moor")]


@UNITS
@pytest.mark.parametrize(("row", "found"), [("31,Moor", "'Moor'"), ("31,", "''|missing"), (",Hill", "''|missing")])
def test_a_value_that_the_population_does_not_have_is_an_error_or_of_nobody(folder, unit, row, found):
    (folder / "records.csv").write_text(f"{RECORDS}{row}\n")
    with pytest.raises(InputError, match=rf"records\.csv.*(?:{found})"):
        categories(folder, unit)
    name = "age" if row.startswith(",") else "village"
    (folder / "villages.csv").write_text(f"{VILLAGES};unknown;*\n")
    own = categories(folder, unit, **{f"attributes.{name}.unknown": "nobody"})
    value = row.split(",")[name == "village"]
    assert own[name == "village"] == (*(("30", "31") if name == "age" else ("Dale", "Hill")), value)


def test_what_is_shared_is_worth_the_same_for_records_and_tables(folder):
    (folder / "records.csv").write_text(f"{RECORDS}31,Moor\n")
    changes = {"attributes.village.unknown": "nobody", "adversary.planner": "never"}
    record, table = (
        reidsim.run(folder / "mine.toml", overrides={**changes, "publisher.unit": unit}).summary
        for unit in ("record", "table")
    )
    for measure in ("publisher_payoff", "utility", "risk", "share_attacked"):
        assert record[measure].tolist() == pytest.approx(table[measure].tolist(), abs=1e-12), measure
