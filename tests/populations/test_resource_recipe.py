"""Recipes of external resources, and recipes that name other recipes."""

import pyarrow.parquet as pq
import pytest

from reidsim.core.errors import InputError
from reidsim.populations.catalogue import load_individuals, make, populate, read_population_file

TOWN = """\
age,sex,n
30,F,40
31,F,10
31,M,50
"""
TOWN_RECIPE = """
kind = "counts"
file = "town.csv"
count = "n"
[columns]
age = "age"
sex = "sex"
"""
RESOURCE = """
kind = "resource"
source = "made up"
population = "town.toml"
seed = 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "town.csv").write_text(TOWN, encoding="utf-8")
    (tmp_path / "town.toml").write_text(TOWN_RECIPE, encoding="utf-8")

    def write(*lines):
        (tmp_path / "list.toml").write_text(RESOURCE + "\n".join(lines), encoding="utf-8")
        return "list.toml"

    return write


def test_a_resource_of_an_exact_size_carries_what_it_says(folder):
    resource = make(
        folder("size = 30", 'attributes = ["sex"]', "price = 25.0", 'buyers = ["party"]', "missing = { sex = 0.5 }")
    )
    assert resource.records.n_people == 30
    assert resource.records.domain.names == ("sex",)
    assert resource.records.to_frame()["sex"].isna().sum() == 15
    assert resource.coverage == 0.3
    assert (resource.price, resource.buyers, resource.name) == (25.0, ("party",), "list")
    again = make("list.toml")
    assert (again.person == resource.person).all()
    assert (make("list.toml", seed=9).person != resource.person).any()


def test_coverage_by_group_and_who_can_be_listed(folder):
    resource = make(folder('among = { age = ["31"] }', "[coverage]", 'by = "sex"', "shares = { F = 1.0, M = 0.0 }"))
    assert resource.records.n_people == 10
    assert set(resource.records.to_frame()["sex"]) == {"F"}
    assert set(resource.records.to_frame()["age"]) == {"31"}


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "size and coverage are missing; expected size, coverage or both"),
        (["size = 101"], "size: size out of range; found 101; expected 1 to 100"),
        (["size = 1", 'attributes = ["zip"]'], "no such attribute; found 'zip'"),
        (["size = 1", 'among = { sex = ["X"] }'], "among.sex: not a value of 'sex'; found 'X'"),
        (["[coverage]", 'by = "sex"', "shares = { F = 0.5 }"], "share missing; expected a share for 'M'"),
        (["coverage = 0.0"], "the list is empty"),
    ],
)
def test_what_a_resource_cannot_be(folder, lines, problem):
    with pytest.raises(InputError, match=r"list\.toml") as error:
        make(folder(*lines))
    assert problem in str(error.value)


def test_recipes_that_name_each_other_are_refused(folder, tmp_path):
    (tmp_path / "town.toml").write_text(RESOURCE.replace("town.toml", "list.toml") + "size = 1", encoding="utf-8")
    with pytest.raises(InputError, match=r"(town|list)\.toml.*the recipe needs itself"):
        make(folder("size = 1"))


def test_a_resource_file_keeps_the_truth_apart(folder, tmp_path):
    written = populate(folder("size = 30"), "list.parquet")
    assert (written.rows, written.people, written.truth.name) == (30, 30.0, "list.truth.parquet")
    assert pq.read_schema("list.parquet").names == ["age", "sex"]
    truth = pq.read_table("list.truth.parquet").to_pandas()
    people = load_individuals("town.toml")
    records = read_population_file(tmp_path / "list.parquet")
    assert (people.codes[truth["person"]] == records.codes[truth["record"]]).all()
    assert truth["person"].is_unique


def test_nothing_is_overwritten(folder):
    populate("town.toml", "town.parquet")
    with pytest.raises(InputError, match="exists already"):
        populate("town.toml", "town.parquet")
    # The error comes before any computation, and covers both output files.
    open("list.truth.parquet", "w", encoding="utf-8").close()
    for taken in ("town.parquet", "list.parquet"):
        with pytest.raises(InputError, match="exists already"):
            populate("nowhere.toml", taken)
    with pytest.raises(InputError, match=r"expected a file name that ends in \.parquet"):
        populate("town.toml", "town.csv")


def test_a_resource_is_written_with_its_truth_or_not_at_all(folder, tmp_path, monkeypatch):
    from reidsim.populations import catalogue as module

    write = module.write_table

    def full(path, table):
        if path.name.endswith(".truth.parquet"):
            raise KeyboardInterrupt
        write(path, table)

    monkeypatch.setattr(module, "write_table", full)
    with pytest.raises(KeyboardInterrupt):
        populate(folder("size = 30"), "list.parquet")
    assert not (tmp_path / "list.parquet").exists()
