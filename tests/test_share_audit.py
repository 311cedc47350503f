"""`reidsim share` audits the written file and refuses risk above the limit."""

import json
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from shared_files import unknown

import reidsim
from reidsim.core.errors import InputError
from reidsim.core.validation import toml_text
from reidsim.kinds.tables.kind import TABLES
from reidsim.reports.page.sources import StoredRun, open_results
from reidsim.reports.shared.audited import FileRisk, audited_release, limit_of
from reidsim.reports.shared.comparison import FORMS, compare_columns, compare_record, compare_values, draw_values
from reidsim.reports.shared.file import releases_of, verify_shared, write_shared
from reidsim.reports.shared.parts import text_of
from reidsim.reports.shared.records import Kept, joint_uniqueness, shared_records
from reidsim.scenarios.scenario import Scenario

FIFTH_KIND = Path(__file__).parent / "fifth_kind" / "withholding.py"
SCENARIO = """
title = "Survey"
[release]
path = "data/survey.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [5, 20] }
[attributes.town]
hierarchy = { rule = "table", file = "data/towns.csv" }
[attributes.sex]
hierarchy = { rule = "groups", groups = [[["F", "M"]]], suppress = false }
[economics]
benefit = 100
loss = 60
cost = 12
[adversary]
risk = "prosecutor"
[publisher]
policies = ["no-protection", "basic", "no-attack"]
"""
TOWNS = {"Ashby": "[north, 1]", "Brook": "[north, 1]", "Coldham": "south"}
N = 60


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """Return a survey whose town labels no rule can parse, in a separate folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 60, N),
            "town": rng.choice(list(TOWNS), N, p=[0.4, 0.35, 0.25]),
            "sex": rng.choice(["F", "M"], N),
            "pid": [f"P{i // 2}" for i in range(N)],
            "room": [f"room of {i // 2}" for i in range(N)],
            "=sum": rng.choice(["a", "b"], N),
            "income": rng.choice(["10", "20", "30"], N),
        }
    )
    Path("data").mkdir()
    table.to_csv("data/survey.csv", index=False)
    Path("data/towns.csv").write_text("".join(f"{town};{label}\n" for town, label in TOWNS.items()))
    Path("survey.toml").write_text(SCENARIO)
    return table


@pytest.fixture
def share(reidsim_):
    """Return a function that runs `reidsim share` in this process."""
    return partial(reidsim_, "share")


def fits(row, person):
    """Return whether a person's true values fit a shared row."""
    if row["age"] != "*":
        low, _, high = row["age"].partition("-")
        if not int(low) <= person["age"] <= int(high or low):
            return False
    town = row["town"] in ("*", person["town"], TOWNS[person["town"]])
    return town and row["sex"] in ("*", person["sex"], "F or M")


def in_an_assignment(fits):
    """Return which pairs fit, and leave other people to whom all other rows can be assigned."""
    n = len(fits)
    return np.array(
        [
            [
                fits[i, j]
                and (maximum_bipartite_matching(csr_array(np.delete(np.delete(fits, i, 0), j, 1))) >= 0).all()
                for j in range(n)
            ]
            for i in range(n)
        ]
    )


@pytest.mark.parametrize("direction", ["record", "both"])
def test_a_release_that_relies_on_equal_rows_contradicts_nothing(folder, direction):
    """Three people match each row, but the levels of the person with three rows leave two for some."""
    table = pd.DataFrame(
        {
            "pid": ["P0", "P1", "P2", "P3", "P4", "P2", "P2", "P3"],
            "age": [58, 21, 25, 52, 57, 29, 32, 54],
            "ward": list("bbdbbcca"),
            "town": list("NSSSSSNN"),
        }
    )
    table.to_csv("visits.csv", index=False)
    suppress = {"hierarchy": {"rule": "suppress"}}
    scenario = {
        "release": {"path": "visits.csv", "person": "pid"},
        "attributes": {
            "age": {"hierarchy": {"rule": "intervals", "widths": [5, 10, 20], "start": 20}},
            "ward": suppress,
            "town": suppress,
        },
        "economics": {"benefit": 100, "loss": 60, "cost": 30},
        "adversary": {"risk": "prosecutor", "direction": direction},
        "publisher": {"policies": ["no-attack"]},
    }
    Path("visits.toml").write_text(toml_text(scenario))
    reidsim.run("visits.toml").save("results")
    release = audited_release(shared_records(open_results(Path("results")), policy="no-attack"))
    assert release.audit["fewest_possible_people_of_a_row"] < release.audit["fewest_people_of_a_row"]
    assert release.excludes_people == (direction == "record")


@pytest.mark.deep
@pytest.mark.parametrize("policy", ["no-protection", "basic", "no-attack"])
def test_the_sidecar_holds_what_every_pair_of_a_row_and_a_person_gives(survey, policy):
    reidsim.run("survey.toml").save("results")
    run = open_results(Path("results"))
    sidecar, warnings = write_shared(
        Path("shared.csv"), run, shared_records(run, policy=policy, kept=unknown("income"))
    )
    written = pd.read_csv("shared.csv", dtype="str", keep_default_na=False)
    pairs = np.array([[fits(row, person) for _, person in survey.iterrows()] for _, row in written.iterrows()])
    audit = sidecar["audit"]
    rows_of_person, people_of_row = pairs.sum(0), pairs.sum(1)
    numbers, people = np.unique(rows_of_person, return_counts=True)
    told = {str(n): int(k) for n, k in zip(numbers, people, strict=True)}
    assert audit["people_by_fitting_rows"] == told
    assert audit["fewest_people_of_a_row"] == people_of_row.min()
    assert audit["fewest_rows_of_a_person"] == rows_of_person.min()
    assert audit["rows_that_do_not_fit_their_record"] == 0
    # The game and the audit compute equal success probabilities, with no shared code.
    records = pd.read_parquet("results/records.parquet")
    success = records.loc[records["policy"] == policy, "success_probability"].to_numpy()
    assert np.allclose(np.sort(success), np.sort(1 / people_of_row))
    exposed = int((1 / rows_of_person > success * (1 + 1e-9)).sum())
    assert audit["people_more_exposed_than_promised"] == exposed
    text = f"{exposed:,} of {N} people are easier to find than the risk of their own records suggests"
    easier = [warning for warning in warnings if text in warning]
    assert len(easier) == (exposed > 0)
    excluding = [warning for warning in warnings if "can exclude people" in warning]
    possible = in_an_assignment(pairs)
    assert audit["fewest_possible_people_of_a_row"] == possible.sum(1).min()
    assert audit["rows_of_one_possible_person"] == (possible.sum(1) == 1).sum()
    assert bool(excluding) == (possible.sum(1).min() < people_of_row.min())
    assert len(warnings) == len(easier) + len(excluding)
    assert exposed > 0 or policy == "no-protection"
    risk = 1 / possible.sum(1).min(), 1 / possible.sum(0).min()
    assert (sidecar["risk"]["record"], sidecar["risk"]["person"]) == risk
    classes = written.groupby(["age", "town", "sex"])["income"]
    assert audit["smallest_class"] == classes.size().min()
    assert audit["kept"][0]["distinct"] == classes.nunique().min()
    assert audit["kept"][0]["distance"] == "ordered"
    assert verify_shared(Path("shared.csv")) == sidecar


def test_policies_are_compared_by_column_by_value_and_for_a_record(survey):
    releases = releases_of(StoredRun.from_result(reidsim.run("survey.toml")))
    both = ("no-protection", "no-attack")
    columns = compare_columns(releases, *both).set_index(["policy", "column"])
    np.testing.assert_allclose(columns[list(FORMS)].sum(axis=1), 1)
    assert (columns.loc["no-protection", "unchanged"] == 1).all()
    forms = releases.by_policy["no-attack"].shared.forms
    true = pd.read_csv("data/survey.csv", dtype="str")
    values = compare_values(releases, "age", *both)
    assert values["before"].to_dict() == values["no-protection"].to_dict()
    for name in ("age", "town"):
        labels = forms.labels[name].astype("str").where(forms.shared, "(withheld)")
        assert columns.loc[("no-attack", name), "unchanged"] == (labels == true[name]).mean()
        shares = compare_values(releases, name, "no-attack")["no-attack"]
        assert shares[shares > 0].to_dict() == labels.value_counts(normalize=True).to_dict()
    for record in (0, 7):
        one = compare_record(releases, record + 1, *both)
        *names, success = one.index
        assert one["before"][names].to_dict() == true.iloc[record][names].to_dict()
        assert one["no-protection"][names].to_dict() == true.iloc[record][names].to_dict()
        assert one.loc[success, "no-attack"] == f"{forms.success[record]:.4f}"
    (axes,) = draw_values(values["no-attack"], "age: no-attack").axes
    assert len(axes.patches) == min((values["no-attack"] > 0).sum(), 20)
    for number in (0, N + 1):
        with pytest.raises(InputError, match=f"no such record; found {number}; expected 1 to {N}"):
            compare_record(releases, number, "basic")
    with pytest.raises(InputError, match="no such"):
        compare_values(releases, "pid", "basic")


@pytest.mark.deep
def test_joint_uniqueness_names_the_sets_that_share_refuses(survey):
    result = reidsim.run("survey.toml")
    result.save("results")
    kept = Kept(identifiers=["income", "=sum", "room"])
    found = joint_uniqueness(shared_records(open_results(Path("results")), policy="no-attack", kept=kept))
    found = found.set_index("columns")
    assert list(found.index[:4]) == [(), ("room",), ("=sum",), ("income",)]
    assert found["people"].iloc[0] <= found["people"].iloc[1:].min()
    assert found["people"].max() == found["people"][("room", "=sum", "income")] == found["share"].max() * N
    for names in found.index[found["too_many"]]:
        with pytest.raises(InputError, match=" with ".join(map(repr, names))):
            result.share("no-attack", keep_identifier=names, accept_risk=True)
    assert ("room",) in found.index[found["too_many"]]


def test_where_the_adversary_does_not_know_who_is_in_the_file_nothing_is_contradicted(survey):
    people = pd.concat([survey] * 3)
    people.to_csv("data/people.csv", index=False)
    journalist = {"adversary.risk": "journalist", "population": {"path": "data/people.csv"}}
    reidsim.run("survey.toml", overrides=journalist).save("results")
    run = open_results(Path("results"))
    sidecar, warnings = write_shared(Path("shared.csv"), run, shared_records(run, policy="basic"))
    assert sidecar["audit"]["people_more_exposed_than_promised"] is None
    assert warnings == ()
    assert sidecar["audit"]["fewest_rows_of_a_person"] >= 1


def test_people_are_counted_where_the_scenario_names_their_key(survey, monkeypatch):
    """Rows of one person fit each other, so people's minima never exceed rows'."""
    reidsim.run("survey.toml").save("results")
    run = open_results(Path("results"))
    by_rows, _ = write_shared(Path("rows.csv"), run, shared_records(run, policy="no-attack"))
    by_key = replace(TABLES.shared_columns(Scenario.load("survey.toml").scenario), person="pid")
    monkeypatch.setattr(TABLES, "shared_columns", lambda scenario: by_key)
    by_people, _ = write_shared(Path("people.csv"), run, shared_records(run, policy="no-attack"))
    assert (by_rows["audit"]["people"], by_people["audit"]["people"]) == (N, N // 2)
    for count in ("fewest_people_of_a_row", "fewest_rows_of_a_person"):
        assert by_people["audit"][count] <= by_rows["audit"][count]
    assert sum(by_people["audit"]["people_by_fitting_rows"].values()) == N // 2
    # By rows, two rows share each room; by people, both rows belong to one person.
    with pytest.raises(InputError, match=r"30 of 30 people have a value that no other person has"):
        shared_records(run, policy="no-attack", kept=Kept(["room"]))
    # A row without a person number counts as one person.
    blank = replace(shared_records(run, policy="no-attack").source, frame=survey.assign(pid=[""] * 4 + ["P"] * (N - 4)))
    assert len(set(blank.persons.tolist())) == 5


# Limits.


@pytest.mark.deep
def test_a_risk_above_the_limit_is_written_only_if_it_is_accepted(survey, share):
    reidsim.run("survey.toml").save("results")
    before = sorted(path.name for path in Path().iterdir())
    code, out, err = share("results", "-o", "shared.csv", "--policy", "no-protection")
    assert (code, out) == (2, "")
    assert sorted(path.name for path in Path().iterdir()) == before
    assert "under policy 'no-protection' the risk of a record is 1" in err
    assert "expected at most 0.09091 (1 in 11) (the default)" in err
    assert "--accept-risk" in err
    assert share("results", "-o", "a.csv", "--policy", "no-protection", "--max-risk", "0.99")[0] == 2
    assert share("results", "-o", "a.csv", "--policy", "no-protection", "--max-risk", "1.5")[0] == 2
    code, _, err = share("results", "-o", "a.csv", "--policy", "no-attack")
    assert code == 2
    assert "the risk of a record if all rows are assigned to people at once is 1; expected" in err
    assert 'publisher.unit = "table" and a policy for the table, nobody can be excluded; set adversary.dir' in err
    code, out, _ = share("results", "-o", "shared.csv", "--policy", "no-protection", "--accept-risk")
    assert code == 0
    assert "ABOVE the limit of 0.0909 (the default)" in out
    told = json.loads(Path("shared.csv.json").read_text())["risk"]
    assert (told["record"], told["person"], told["limit"], told["above_limit"]) == (1.0, 1.0, 1 / 11, True)
    assert share("results", "-o", "b.csv", "--policy", "no-protection", "--max-risk", "1")[0] == 0


@pytest.mark.parametrize(("record", "person", "allowed"), [(1 / 11, 1 / 11, True), (0.1, 0, False), (0, 0.1, False)])
def test_the_limit_is_one_in_eleven_for_records_and_for_people(record, person, allowed):
    assert limit_of(None, {}).allows(FileRisk(record, person, "counted")) == allowed
    assert limit_of(0, {}).allows(FileRisk(0, 0, "counted"))


# Hierarchies and column names.


def test_hierarchies_are_found_where_the_records_were_moved_and_must_be_those_of_the_run(survey):
    reidsim.run("survey.toml").save("results")
    run = open_results(Path("results"))
    assert run.manifest["release_file"]["hierarchies"]["town"]["path"] == "data/towns.csv"
    Path("data").rename("elsewhere")
    data = Path("elsewhere/survey.csv")
    sidecar, _ = write_shared(Path("a.csv"), run, shared_records(run, policy="basic", data=data))
    assert sidecar["audit"]["rows_that_do_not_fit_their_record"] == 0
    Path("elsewhere/towns.csv").write_text("Ashby;*\nBrook;*\nColdham;*\n")
    with pytest.raises(InputError, match=r"towns.csv: the hierarchy differs from the hierarchy of the run"):
        write_shared(Path("b.csv"), run, shared_records(run, policy="basic", data=data))
    Path("elsewhere/towns.csv").unlink()
    with pytest.raises(InputError, match=r"no such file; expected the hierarchy of attribute 'town'"):
        write_shared(Path("b.csv"), run, shared_records(run, policy="basic", data=data))
    assert not Path("b.csv").exists()
    assert not list(Path().glob(".b.csv*"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda records: records[records["record"] < 20], f"the number of records differs .* found {N}; expected 20"),
        (lambda records: pd.concat([records, records.iloc[-1:]]), f"number of records differs .*{N}; expected {N + 1}"),
        (lambda records: records.assign(record=records["record"] % 20), "records are not in the order of the release"),
        (lambda records: records.drop(columns="sex"), "column missing"),
    ],
)  # fmt: skip
def test_results_with_other_records_are_refused_and_nothing_is_written(survey, damage, message):
    reidsim.run("survey.toml").save("results")
    damage(pd.read_parquet("results/records.parquet")).to_parquet("results/records.parquet")
    before = sorted(Path().iterdir())
    with pytest.raises(InputError, match=message):
        reidsim.share("results", "no-attack", path="shared.csv")
    assert sorted(Path().iterdir()) == before


def test_a_file_that_reads_back_differently_is_not_kept(survey, monkeypatch):
    reidsim.run("survey.toml").save("results")
    before = sorted(Path().iterdir())
    changed = "reidsim.reports.shared.parts.text_of"
    monkeypatch.setattr(changed, lambda lines: text_of(lines).replace(b"\n", b" \n"))
    with pytest.raises(InputError, match="other rows than the release"):
        reidsim.share("results", "no-attack", path="shared.csv", accept_risk=True)
    assert sorted(Path().iterdir()) == before


def test_cells_that_do_not_fit_their_own_record_are_told(survey):
    """Simulate a solver that wrote a wrong label into the results."""
    reidsim.run("survey.toml").save("results")
    records = pd.read_parquet("results/records.parquet")
    wrong = (records["policy"] == "no-attack").to_numpy() & (records["record"] < 4).to_numpy()
    records["age"] = records["age"].astype("str").mask(wrong, "7-8")
    records.to_parquet("results/records.parquet")
    run = open_results(Path("results"))
    _, warnings = write_shared(Path("shared.csv"), run, shared_records(run, policy="no-attack"))
    assert any(warning.startswith("4 shared rows do not match the true values") for warning in warnings)


# User-defined kinds.

OWN_KIND = """
from dataclasses import dataclass
import pandas as pd
from pydantic import Field
from withholding import WithholdingKind, WithholdingScenario


class FileScenario(WithholdingScenario):
    path: str = Field(description="file of records")
    attributes: tuple[str, ...] = Field(description="columns that others know")


class FileKind(WithholdingKind):
    name = "file"
    schema = FileScenario

    def release_file(self, scenario):
        return scenario.path

    def records(self, study, draw, equilibria):
        table = super().records(study, draw, equilibria)
        frame = pd.read_csv(study.loaded.folder / study.scenario.path, dtype="str")
        for name in study.scenario.attributes:
            table[name] = frame[name].to_numpy()[table["record"]]
        return table

    def is_shared(self, records):
        return (records["strategy"].astype("str") == "record").to_numpy()


FILE = FileKind()
"""


def test_a_kind_of_ones_own_that_names_a_file_is_shared(tmp_path, monkeypatch, share):
    monkeypatch.chdir(tmp_path)
    Path("withholding.py").write_text(FIFTH_KIND.read_text())
    Path("ownkind.py").write_text(OWN_KIND)
    records = pd.DataFrame({"age": ["20", "20", "30", "40"], "note": ["a", "b", "a", "b"]})
    records.to_csv("few.csv", index=False)
    Path("few.toml").write_text(
        'game = "ownkind:FILE"\npath = "few.csv"\nattributes = ["age"]\nsizes = [8, 8, 1, 40]\n'
        "[economics]\nbenefit = 20\nloss = 60\ncost = 10\n"
        '[publisher]\npolicies = ["basic", "no-attack", "share-all"]\n'
    )
    try:
        reidsim.run("few.toml", allow_code=True).save("results")
        assert "not run unless that is allowed" in share("results", "-o", "a.csv", "--policy", "basic")[2]
        code, out, _ = share(
            "results", "-o", "a.csv", "--policy", "basic", "--keep", "note", "--allow-code", "--accept-risk",
            "--unknown-to-outsiders", "note",
        )  # fmt: skip
    finally:
        for name in ("ownkind", "withholding"):
            sys.modules.pop(name, None)
    assert code == 0
    # The third record has no candidate to hide among and is withheld.
    assert pd.read_csv("a.csv", dtype="str").to_numpy().tolist() == [["20", "a"], ["20", "b"], ["40", "b"]]
    assert "ABOVE the limit of 0.0909 (the default)" in out
    assert "people by the number of people whose rows match them: 0: 1, 1: 1, 2: 2" in out


def _content(people, **sections):
    return {
        "release": {"path": people},
        "attributes": {"age": {"hierarchy": {"rule": "suppress"}}},
        "economics": {"benefit": 100, "loss": 300, "cost": 21},
        "adversary": {"risk": "prosecutor"},
        "publisher": {"policies": ["no-attack"]},
        **sections,
    }


def test_people_who_left_before_a_wave_do_not_hide_those_in_it():
    left, stayed = [("30", "B", 2024, 2025)] * 40, [("30", "A", 2025, "")] * 14 + [("30", "B", 2025, "")]
    people = pd.DataFrame([*left, *stayed], columns=["age", "town", "year", "leaves"])
    content = _content(people, releases={"enters": "year", "leaves": "leaves"})
    result = reidsim.Scenario.load(content).run()
    audit = result.share("no-attack").attrs["sidecar"]["audit"]
    assert (audit["people"], audit["fewest_people_of_a_row"], audit["people_by_fitting_rows"]) == (15, 15, {"15": 15})
    with pytest.raises(InputError, match="an adversary who knows town is 1;"):
        result.share("no-attack", keep=["town"], max_singled_out=1)


def test_a_risk_of_the_game_says_that_it_does_not_consider_kept_columns():
    people = pd.DataFrame({"age": ["30", "31"] * 50, "town": ["A", "B", "B", "A"] * 25})
    content = _content(people, population={"path": people[["age"]]}, adversary={"risk": "journalist"})
    result = reidsim.Scenario.load(content).run()
    with pytest.warns(UserWarning, match="does not consider that outsiders may know town"):
        assert len(result.share("no-attack", keep=["town"])) == 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(result.share("no-attack", keep=["town"], unknown_to_outsiders=["town"])) == 100
