"""`reidsim share` writes the released records only, as the solver chose them."""

import csv
import hashlib
import io
import itertools
import json
import os
import shutil
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_files import unknown
from tiers import examples

import reidsim
from reidsim.core.errors import PRIVATE, InputError
from reidsim.core.tables import delimited_line, read_table
from reidsim.engine.results import sidecar_of
from reidsim.kinds.masking.kind import group_label
from reidsim.kinds.masking.schema import GeneralizedAttribute
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.audited import FileRisk, limit_of
from reidsim.reports.shared.file import csv_bytes, sealed, verify_shared, write_shared
from reidsim.reports.shared.records import shared_records

# Cells that a shared file must neither change nor lose.
HOSTILE = [
    '=HYPERLINK("http://example.org","x")', "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "a,b", 'say "so"',
    "two\nlines", "dos\r\nlines", "\r", " spaces ", "\ttab", "Zoë 東京 \u2028 \U0001f600", "<script>1</script>", "",
    "''", "\\",
    "x" * 1_000_000, '"', '""', ",",
]  # fmt: skip
SCENARIO = """
title = "Patients"
[release]
path = "patients.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [5, 10], start = 30 }
[attributes.sex]
column = "Geschlecht"
values = { w = "F", m = "M" }
hierarchy = { rule = "suppress" }
[attributes.zip]
hierarchy = { rule = "prefix", digits = [3] }
[economics]
benefit = 100
loss = 60
cost = 12
[adversary]
risk = "prosecutor"
[publisher]
policies = ["no-protection", "basic", "no-attack"]
"""
N = 40


def patients():
    rng = np.random.default_rng(5)
    return {
        "zip": [f"{z:05}" for z in rng.choice([37201, 37202, 38101, 1234], N)],
        "patient": [f"P{i:03}" for i in range(N)],
        "note": [HOSTILE[i % len(HOSTILE)] for i in range(N)],
        "Geschlecht": list(rng.choice(["w", "m"], N)),
        "age": [str(a) for a in rng.integers(30, 50, N)],
        "diagnosis": list(rng.choice(["flu", "asthma"], N)),
    }


def write_csv(path, table):
    lines = [delimited_line(table), *map(delimited_line, zip(*table.values(), strict=True))]
    Path(path).write_text("".join(lines), encoding="utf-8", newline="")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv("patients.csv", patients())
    Path("patients.toml").write_text(SCENARIO)
    return tmp_path


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return the folder of the results of the patients."""
    folder = tmp_path_factory.mktemp("played")
    write_csv(folder / "patients.csv", patients())
    (folder / "patients.toml").write_text(SCENARIO)
    reidsim.run(folder / "patients.toml").save(folder / "results")
    return folder


@pytest.fixture
def run(folder, played):
    shutil.copytree(played / "results", "results")
    return open_results(Path("results"))


def read_back(path):
    """Read a CSV file without this package; return the header and the rows."""
    csv.field_size_limit(10_000_000)
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    return header, rows


def test_the_records_are_in_their_forms_and_sorted(run, reidsim_):
    code, out, err = reidsim_(
        "share", "results", "-o", "shared.csv", "--policy", "basic", "--accept-risk", "--keep", "diagnosis",
        "--unknown-to-outsiders", "diagnosis",
    )  # fmt: skip
    assert (code, err.count("warning")) == (0, 1)
    assert "basic: 40 of 40 records in" in out
    header, rows = read_back("shared.csv")
    assert header == ["zip", "Geschlecht", "age", "diagnosis"]
    records = run.table("records")
    chosen = records[(records["policy"] == "basic").to_numpy()]
    expected = zip(chosen["zip"], chosen["sex"], chosen["age"], patients()["diagnosis"], strict=True)
    assert rows == sorted(list(row) for row in expected)
    assert len({tuple(row) for row in rows}) > 1


def fits(value, form):
    """Return whether a released value is consistent with a true value."""
    if form == "*":
        return True
    if form.endswith("*"):
        return value.startswith(form.rstrip("*"))
    if "-" in form:
        low, high = form.split("-")
        return int(low) <= int(value) <= int(high)
    return {"w": "F", "m": "M"}.get(value, value) == form


@pytest.mark.parametrize("policy", ["no-protection", "basic", "no-attack"])
def test_the_file_read_back_is_what_the_solver_said(run, policy):
    """People who fit each row, counted in the two files, give the solver's success.

    The success probability is the reciprocal of this count.
    """
    sidecar, _ = write_shared(Path("shared.csv"), run, shared_records(run, policy=policy))
    header, rows = read_back("shared.csv")
    original = patients()
    people = list(zip(*(original[name] for name in header), strict=True))
    fitting = [sum(all(map(fits, person, row)) for person in people) for row in rows]
    records = run.table("records")
    records = records[(records["policy"] == policy).to_numpy()]
    assert np.allclose(np.sort(records["success_probability"]), np.sort(1 / np.array(fitting)))
    # The classes of equal rows equal the classes in the table of records and in the sidecar.
    sizes = sorted(Counter(map(tuple, rows)).values())
    assert sizes == sorted(Counter(records[["zip", "sex", "age"]].itertuples(index=False, name=None)).values())
    assert sidecar["classes"]["classes_of_size"] == {str(size): n for size, n in sorted(Counter(sizes).items())}
    assert (sidecar["classes"]["number"], sidecar["classes"]["smallest"]) == (len(sizes), sizes[0])
    assert sidecar["expected"]["risk"]["value"] == run.runs.set_index("policy").loc[policy, "risk"]


def test_cells_of_kept_columns_survive_unchanged(run, reidsim_):
    code, _, err = reidsim_(
        "share", "results", "-o", "shared.csv", "--policy", "no-attack", "--keep-identifier", "note", "--accept-risk",
        "--unknown-to-outsiders", "note",
    )  # fmt: skip
    assert code == 0
    assert "cells of note begin like formulas" in err
    header, rows = read_back("shared.csv")
    notes = [row[header.index("note")] for row in rows]
    assert sorted(notes) == sorted(patients()["note"])
    assert read_table(Path("shared.csv"), trim=False)["note"].tolist() == notes


def test_a_column_that_follows_from_a_quasi_identifier_is_not_unknown():
    people = pd.DataFrame({"age": ["30", "31", "40", "41"] * 25, "zip": ["1", "2"] * 50, "code": ["b", "a"] * 50})
    people["decade"] = people["age"].str[0] + "0s"
    people["drawn"] = np.random.default_rng(1).choice(["x", "y"], 100)
    attributes = {name: {"hierarchy": {"rule": "suppress"}} for name in ("age", "zip")}
    content = {
        "release": {"path": people},
        "attributes": attributes,
        "adversary": {"risk": "prosecutor"},
        "economics": {"benefit": 100, "loss": 300, "cost": 20},
        "publisher": {"policies": ["no-attack"]},
    }
    columns = ["code", "decade", "drawn"]
    run = reidsim.Scenario.load(content).run()
    with pytest.warns(UserWarning, match="follows from") as found:
        run.share("no-attack", keep=columns, unknown_to_outsiders=columns)
    texts = [str(each.message) for each in found]
    assert [text for text in texts if "follows" in text] == [
        "column 'code', declared unknown to outsiders, follows from zip: who knows zip can know it",
        "column 'decade', declared unknown to outsiders, follows from age: who knows age can know it",
    ]


def test_a_kept_column_tells_a_generalized_quasi_identifier():
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"age": rng.integers(20, 24, 200), "zip": rng.choice(["38101", "38102", "37201"], 200)})
    people["district"] = people["zip"] + rng.choice(["-1", "-2", "-3"], 200)
    people["town"] = people["zip"].map({"38101": "Memphis", "38102": "Frayser", "37201": "Nashville"})
    people["drawn"] = rng.choice([f"x{i}" for i in range(9)], 200)
    # Each value of this column occurs once, so that it may tell everything by chance.
    people["number"] = rng.permutation(200) / 7
    columns = ["district", "town", "drawn", "number"]
    content = {
        "release": {"path": people.astype("str")},
        "attributes": {"age": {"hierarchy": {"rule": "suppress"}}, "zip": {"hierarchy": {"rule": "suppress"}}},
        "adversary": {"risk": "prosecutor"},
        "economics": {"benefit": 100, "loss": 300, "cost": 7},
        "publisher": {"policies": ["no-attack", "no-protection"]},
    }
    run = reidsim.Scenario.load(content).run()
    assert "*" in set(run.records.loc[run.records["policy"] == "no-attack", "zip"])
    options = {"keep": columns, "unknown_to_outsiders": columns, "accept_risk": True}
    with pytest.warns(UserWarning, match="column 'district', kept unchanged, tells zip") as found:
        run.share("no-attack", **options)
    told = [str(each.message).split(",")[0] for each in found if "kept unchanged, tells" in str(each.message)]
    assert told == ["column 'district'", "column 'town'"]
    # Nothing is generalized here.
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run.share("no-protection", **options)
    assert not any("kept unchanged, tells" in str(each.message) for each in found)


def test_a_refusal_advises_a_declaration_that_is_accepted_for_a_column_of_the_scenario():
    people = pd.DataFrame({"sex": ["F", "M"] * 50, "days": [str(n // 2 % 45) for n in range(100)]})
    drafted = reidsim.new(people, quasi_identifiers=["sex"]).scenario
    run = drafted.with_({"kept": {"days": {"share": True}}, "publisher.policies": ["basic"]}).run()
    with pytest.raises(InputError, match="declare it: unknown_to_outsiders days"):
        run.share(accept_risk=True)
    assert len(run.share(accept_risk=True, unknown_to_outsiders=["days"])) == 100
    with pytest.raises(InputError, match="the column is not kept; found 'day'"):
        run.share(accept_risk=True, unknown_to_outsiders=["day"])


def test_the_sidecar_says_how_the_file_came_about(run):
    write_shared(
        Path("shared.csv"),
        run,
        shared_records(run, policy="no-attack", kept=unknown("diagnosis")),
    )
    sidecar = json.loads(Path("shared.csv.json").read_text(encoding="utf-8"))
    assert sidecar["sha256"] == hashlib.sha256(Path("shared.csv").read_bytes()).hexdigest()
    # With a hash of the records, recipients could confirm guesses of their values.
    for secret in (hashlib.sha256(Path("patients.csv").read_bytes()).hexdigest(), run.manifest["data_hash"]):
        assert secret not in Path("shared.csv.json").read_text()
    assert sidecar["policy"] == "no-attack"
    assert sidecar["parameters"]["economics"] == {"benefit": 100, "loss": 60, "cost": 12}
    assert sidecar["records"] == {"release": N, "shared": N, "withheld": 0}
    assert [(column["name"], column["role"]) for column in sidecar["columns"]] == [
        ("zip", "quasi-identifier"), ("Geschlecht", "quasi-identifier"), ("age", "quasi-identifier"),
        ("diagnosis", "kept as it is"),
    ]  # fmt: skip
    for measure in ("risk", "utility", "publisher_payoff"):
        assert set(sidecar["expected"][measure]) == {"value", "definition"}
        assert sidecar["expected"][measure]["definition"]
    assert sidecar["expected"]["risk_if_attacked"]["value"] is None
    assert sidecar["run"]["versions"]["reidsim"] == reidsim.__version__


def test_records_that_are_withheld_are_left_out(folder, reidsim_):
    """At this cost an attack is profitable even in a class of all 40 records."""
    reidsim.run("patients.toml", overrides={"economics.cost": 1, "publisher.policies": ["no-attack"]}).save("results")
    run = open_results(Path("results"))
    sidecar, _ = write_shared(Path("shared.csv"), run, shared_records(run, kept=unknown("diagnosis")))
    assert sidecar["records"] == {"release": N, "shared": 0, "withheld": N}
    assert Path("shared.csv").read_text() == "zip,Geschlecht,age,diagnosis\n"
    assert sidecar["classes"]["classes_of_size"] == {}
    assert verify_shared(Path("shared.csv")) == sidecar
    code, out, err = reidsim_("share", "results", "-o", "again.csv")
    assert (code, err) == (
        0, "warning: no record is shared: all records are withheld, or nobody participates\n"
    )  # fmt: skip
    assert out.splitlines()[1] == "no-attack: 0 of 40 records in 0 equivalence classes"


# Other games.


@pytest.mark.deep
def test_a_dataset_generalized_in_one_way_has_the_classes_of_its_solver(folder):
    Path("ward.toml").write_text(SCENARIO)
    reidsim.run("ward.toml", overrides={"economics.cost": 6, "publisher.unit": "table"}).save("results")
    run = open_results(Path("results"))
    withheld = 0
    for policy in ("basic", "no-attack"):
        path = Path(f"{policy}.csv")
        sidecar, _ = write_shared(path, run, shared_records(run, policy=policy))
        released = run.table("released")
        released = released[(released["policy"] == policy).to_numpy()]
        solver = Counter(released.loc[released["class_size"] > 0, "class_size"].tolist())
        _, rows = read_back(path)
        classes = Counter(map(tuple, rows))
        assert Counter(classes[tuple(row)] for row in rows) == solver
        withheld += sidecar["records"]["withheld"]
        assert sidecar["records"]["withheld"] == int((released["class_size"] == 0).sum())
    assert 0 < withheld < 2 * N


@pytest.fixture
def unheaded(folder):
    """Return the patients without a header, in columns 1 to 6.

    The attributes zip, sex and age are columns 1, 4 and 5.
    """
    scenario = SCENARIO
    for old, new in (
        ('"patients.csv"', '"unheaded.csv"\nheader = false'),
        ('"Geschlecht"', '"4"'),
        ("[attributes.age]", '[attributes.age]\ncolumn = "5"'),
        ("[attributes.zip]", '[attributes.zip]\ncolumn = "1"'),
    ):
        assert scenario.count(old) == 1
        scenario = scenario.replace(old, new)
    Path("unheaded.csv").write_text(
        "".join(map(delimited_line, zip(*patients().values(), strict=True))), encoding="utf-8", newline=""
    )
    Path("unheaded.toml").write_text(scenario)
    return folder


@pytest.mark.deep
def test_columns_of_a_file_without_a_header_are_numbered_from_one(unheaded, reidsim_):
    reidsim.run("unheaded.toml", overrides={"publisher.policies": ["no-protection"]}).save("results")
    run = open_results(Path("results"))
    shared = shared_records(run, kept=unknown("6", identifiers=["2"]))
    assert len(shared.source.frame) == len(shared.table) == N
    assert shared.quasi_identifiers == {"zip": "zip", "sex": "sex", "age": "age"}
    original = patients()
    expected = {
        "zip": original["zip"],
        "2": original["patient"],
        "sex": [{"w": "F", "m": "M"}[value] for value in original["Geschlecht"]],
        "age": original["age"],
        "6": original["diagnosis"],
    }
    sidecar, _ = write_shared(Path("shared.csv"), run, shared)
    header, rows = read_back("shared.csv")
    assert header == list(expected)
    assert rows == sorted(list(row) for row in zip(*expected.values(), strict=True))
    assert [column["role"] == "quasi-identifier" for column in sidecar["columns"]] == [True, False, True, True, False]
    assert verify_shared(Path("shared.csv")) == sidecar
    for missing in ("0", "7", "zip"):
        code, _, err = reidsim_("share", "results", "-o", "other.csv", "--keep", missing)
        assert (code, err.count("\n")) == (2, 1)
        assert f"unheaded.csv: column {missing!r}: column missing" in err


MASKING = """
game = "masking"
[targets]
file = "subjects.csv"
[resources.registry]
file = "registry.csv"
holds = "targets"
attributes = ["age", "town", "surname"]
[economics]
benefit = 100
loss = 90
cost = 30
[adversary]
[[adversary.stages]]
stage = "identify"
resource = "registry"
on = ["age", "town"]
[subjects]
attributes = ["age", "town", "job"]
policies = ["masking", "opt-in"]
weights = "uniform"
[subjects.generalize.age]
widths = [10]
kept = [0.6]
[subjects.generalize.town]
groups = [[["Ashby", "Brook"]]]
kept = [0.5]
"""


@pytest.fixture
def subjects(tmp_path, monkeypatch):
    """Return the table of the subjects in the working folder, with results."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    n = 30
    towns = rng.choice(["Ashby", "Brook", "Coldham"], n, p=[0.5, 0.4, 0.1])
    table = {
        "job": list(rng.choice(["smith", "baker"], n)),
        "age": [str(age) for age in rng.integers(20, 60, n)],
        "surname": [f"name{i}" for i in range(n)],
        "town": list(towns),
    }
    write_csv("subjects.csv", table)
    write_csv("registry.csv", {name: table[name] * 2 for name in ("age", "town", "surname")})
    Path("masking.toml").write_text(MASKING)
    reidsim.run("masking.toml").save("results")
    return table


def test_masked_values_are_stars_and_groups_do_not_tell_the_value(subjects):
    run = open_results(Path("results"))
    sidecar, _ = write_shared(Path("shared.csv"), run, shared_records(run, policy="masking"))
    header, rows = read_back("shared.csv")
    assert header == ["job", "age", "town"]
    records = run.table("records")
    strategies = records.loc[(records["policy"] == "masking").to_numpy(), "strategy"].astype(str).tolist()
    expected = []
    for number, strategy in enumerate(strategies):
        tokens = strategy.split()
        if strategy in ("nothing", "withheld"):
            continue
        age, town = int(subjects["age"][number]), subjects["town"][number]
        decade = f"{age // 10 * 10}-{age // 10 * 10 + 9}"
        group = "Ashby or Brook" if town in ("Ashby", "Brook") else town
        expected.append(
            [
                subjects["job"][number] if "job" in tokens else "*",
                str(age) if "age" in tokens else decade if "age~1" in tokens else "*",
                town if "town" in tokens else group if "town~1" in tokens else "*",
            ]
        )
    assert rows == sorted(expected)
    used = set(itertools.chain.from_iterable(strategy.split() for strategy in strategies))
    assert used & {"age~1", "town~1"}
    assert "group of" not in Path("shared.csv").read_text()
    assert sidecar["records"]["shared"] == len(expected)


def test_who_does_not_take_part_is_left_out_with_all_columns(subjects):
    """Only residents of the two larger towns have groups large enough to take part."""
    reidsim.run("masking.toml", overrides={"economics.loss": 900, "adversary.stages.0.on": ["town"]}).save("costly")
    run = open_results(Path("costly"))
    shared = shared_records(run, policy="opt-in", kept=unknown(identifiers=["surname"]))
    out = [town == "Coldham" for town in subjects["town"]]
    assert 0 < shared.withheld == sum(out) < len(out)
    taking_part = [name for name, left in zip(subjects["surname"], out, strict=True) if not left]
    assert sorted(shared.table["surname"]) == sorted(taking_part)


@pytest.mark.deep
def test_with_agents_the_numbers_are_those_of_the_round_whose_forms_are_shared(folder, reidsim_):
    """Risk follows from the released records.

    Means over rounds differ, because people leave and are then safe.
    """
    Path("agents.toml").write_text(SCENARIO)
    rounds = {
        "agents.rounds": 3,
        "agents.remembers": False,
        "agents.participation.reward": 1,
        "agents.participation.harm": 4,
    }
    reidsim.run("agents.toml", overrides={**rounds, "publisher.policies": ["no-protection", "basic"]}).save("rounds")
    run = open_results(Path("rounds"))
    for policy in ("no-protection", "basic"):
        code, out, _ = reidsim_("share", "rounds", "-o", f"{policy}.csv", "--policy", policy, "--accept-risk")
        sidecar = json.loads(Path(f"{policy}.csv.json").read_text(encoding="utf-8"))
        records = run.table("records")
        records = records[(records["policy"] == policy).to_numpy()]
        reached = records["success_probability"] * (records["attacked"] & records["participates"])
        risk, utility = reached.mean(), (records["utility"] * records["participates"]).mean()
        expected = {name: measure["value"] for name, measure in sidecar["expected"].items()}
        assert (code, sidecar["round"]) == (0, {"number": 3, "outcomes": "expected"})
        assert expected["risk"] == pytest.approx(risk)
        assert expected["utility"] == pytest.approx(utility)
        assert expected["participation"] == pytest.approx(records["participates"].mean())
        printed = f"risk {expected['risk']:.4f}, utility {expected['utility']:.4f} in round 3, the last\n"
        assert printed in out
        assert "over rounds" not in json.dumps(sidecar["expected"])
        if policy == "no-protection":
            mean = run.runs.set_index("policy").loc[policy]
            assert mean["participation"] > expected["participation"]
            assert mean["risk"] != pytest.approx(risk)
    assert "in round 3, the last\n" in reidsim_("share", "--verify", "basic.csv")[1]


@given(st.integers(0, 10**6), st.lists(st.integers(2, 9), min_size=1, max_size=3))
def test_intervals_hold_their_values(value, steps):
    widths = tuple(np.cumprod(steps).tolist())
    section = GeneralizedAttribute(widths=widths, kept=tuple(np.linspace(0.9, 0.1, len(widths)).tolist()))
    for level, width in enumerate(widths, start=1):
        low, high = map(int, group_label(level - 1, section, str(value)).split("-"))
        assert low <= value <= high == low + width - 1
        assert low % width == 0


# Changes after the run.


@pytest.fixture
def written(run):
    write_shared(
        Path("shared.csv"),
        run,
        shared_records(run, policy="basic", kept=unknown("diagnosis")),
    )
    return Path("shared.csv")


@pytest.mark.deep
@pytest.mark.parametrize("file", ["shared.csv", "shared.csv.json"])
def test_any_byte_that_is_changed_is_noticed(written, file):
    content = Path(file).read_bytes()
    rng = np.random.default_rng(3)
    for position in rng.choice(len(content), 20, replace=False).tolist():
        changed = bytearray(content)
        changed[position] ^= 1
        Path(file).write_bytes(bytes(changed))
        # A sidecar with equal content in other bytes, such as another space, is the same sidecar.
        try:
            same = json.loads(bytes(changed)) == json.loads(content)
        except ValueError:
            same = False
        if file == "shared.csv" or not same:
            with pytest.raises(InputError):
                verify_shared(written)
    Path(file).write_bytes(content)
    verify_shared(written)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda sidecar: {**sidecar, "policy": "no-attack"}, "sidecar_sha256: the sidecar changed"),
        (lambda sidecar: sealed({**sidecar, "sha256": "0" * 64}), "shared.csv: the file changed since"),
        (lambda sidecar: sealed({**sidecar, "classes": {**sidecar["classes"], "number": 1}}), "classes differ"),
        (lambda sidecar: sealed({**sidecar, "columns": sidecar["columns"][1:]}), "the columns differ from the sidecar"),
    ],
)  # fmt: skip
def test_a_sidecar_that_was_changed_is_told_in_one_line(written, reidsim_, change, message):
    path = sidecar_of(written)
    path.write_text(json.dumps(change(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
    code, out, err = reidsim_("share", "--verify", written)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_files_that_are_missing_or_no_sidecar(written, reidsim_):
    os.rename("shared.csv", "moved.csv")
    assert "shared.csv: no such file" in reidsim_("share", "--verify", "shared.csv")[2]
    assert "moved.csv.json: no such file" in reidsim_("share", "--verify", "moved.csv")[2]
    Path("shared.csv.json").write_text("{")
    assert "not valid JSON" in reidsim_("share", "--verify", "shared.csv")[2]


# Columns and results that cannot be shared.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["results", "-o", "new.csv"], "the results contain several policies"),
        (["results", "-o", "new.csv", "--policy", "basic", "--keep", "diagnoses"], "did you mean 'diagnosis'?"),
        (["results", "-o", "new.csv", "--policy", "basic", "--keep", "age"], "found 'age' (remove it from --keep)"),
        (["results", "-o", "new.csv", "--policy", "basic", "--keep", "note", "--keep", "note"], "column named twice"),
        (["results", "-o", "patients.csv", "--policy", "basic"], "patients.csv: exists already"),
        (["patients.csv", "-o", "new.csv"], "patients.csv: is a file; expected a results folder"),
        (["results", "-o", "new.csv", "--policy", "basic", "--data", "patients.toml"], "differs from the file of"),
        ([], "reidsim: DIR: argument missing"),
        (["results"], "reidsim: -o: argument missing"),
        (["results", "--verify", "patients.csv"], "--verify"),
        (["results", "-o", "a.csv", "--into", "b"], "--output: the folder has this file; found 'a.csv'"),
        (["results", "-o", "a.csv", "--role", "x"], "--role: only the report in a folder has this"),
        (["results", "--into", "b", "--policy", "basic"], "--max-risk: not written: under policy 'basic' the risk"),
    ],
)  # fmt: skip
def test_what_is_given_wrong_is_told_in_one_line_and_nothing_is_written(run, reidsim_, arguments, message):
    before = sorted(os.listdir())
    code, out, err = reidsim_("share", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert sorted(os.listdir()) == before


@pytest.mark.deep
def test_a_folder_names_no_temporary_file_of_a_table_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"age": [30, 34, 52, 55] * 10, "sex": ["F", "M"] * 20})
    with warnings.catch_warnings():
        # Equal rows with different releases have no rulebook.
        warnings.simplefilter("ignore")
        reidsim.new(table).run().share("no-attack", into="out")
    assert 'path = "records.csv"' in Path("out/scenario.toml").read_text()
    assert not [path for path in Path("out").iterdir() if PRIVATE.encode() in path.read_bytes()]


@pytest.mark.deep
def test_a_folder_has_everything_that_belongs_to_a_release(run, reidsim_):
    options = ["--policy", "basic", "--accept-risk", "--decider", "Ada Moss", "--decision", "Released to the board"]
    code, *texts = reidsim_("share", "results", "--into", "out", *options)
    names = ["shared.csv", "shared.csv.json", "rulebook.csv", "scenario.toml", "report.html", "report.pdf"]
    assert (code, sorted(os.listdir("out"))) == (0, sorted(names))
    digests = {name: hashlib.sha256(Path("out", name).read_bytes()).hexdigest() for name in names}
    printed = "".join("".join(texts).split())
    assert all(f"out/{name},SHA-256{digest}" in printed for name, digest in digests.items())
    verify_shared(Path("out/shared.csv"))
    pd.testing.assert_frame_equal(reidsim.run("out/scenario.toml").summary, reidsim.run("patients.toml").summary)
    page = Path("out/report.html").read_text()
    assert "Ada Moss" in page
    assert all(digests[name] in page for name in names[:4])
    shared = reidsim.share("results", "basic", into="again", accept_risk=True, decider="Ada Moss")
    assert (list(shared.attrs["files"]), len(shared)) == (names, N)
    assert shared.attrs["files"]["rulebook.csv"] == digests["rulebook.csv"]
    assert reidsim.apply("out/rulebook.csv", "patients.csv").equals(reidsim.apply("again/rulebook.csv", "patients.csv"))


@pytest.mark.deep
def test_a_folder_has_no_pdf_if_its_fonts_lack_a_character(run, reidsim_):
    code, _, err = reidsim_(
        "share", "results", "--into", "out", "--policy", "basic", "--accept-risk", "--decider", "\u5f20"
    )
    assert (code, Path("out/report.pdf").exists()) == (0, False)
    assert "no PDF: the fonts lack a character" in " ".join(err.split())
    assert "\u5f20" in Path("out/report.html").read_text(encoding="utf-8")


def test_data_that_was_moved_can_be_named(folder, reidsim_):
    reidsim.run("patients.toml").save("results")
    os.rename("patients.csv", "moved.csv")
    code, _, err = reidsim_("share", "results", "-o", "new.csv", "--policy", "basic")
    assert code == 2
    assert "name the file with --data" in err
    assert (
        reidsim_(
            "share", "results", "-o", "new.csv", "--policy", "no-attack", "--data", "moved.csv", "--max-risk", "1"
        )[0]
        == 0
    )


def test_a_disk_that_is_full_leaves_nothing(run, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    shared = shared_records(run, policy="basic")
    before = sorted(os.listdir())
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="the disk is full; nothing was written"):
        write_shared(Path("new.csv"), run, shared)
    assert sorted(os.listdir()) == before


@pytest.mark.deep
def test_runs_without_a_file_and_drawn_values_are_refused(folder):
    made = reidsim.run("wan2015", overrides={"figures": {}, "publisher.policies": ["no-protection"]})
    made.save("bundled")
    with pytest.raises(InputError, match="the run did not read its records from a file"):
        shared_records(open_results(Path("bundled")))
    manifest = json.loads(Path("bundled/manifest.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256(Path("patients.csv").read_bytes()).hexdigest()
    manifest["release_file"] = {"path": "patients.csv", "sha256": digest}
    Path("bundled/manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InputError, match="values were drawn from the population"):
        shared_records(open_results(Path("bundled")))


@pytest.mark.deep
def test_a_batch_is_refused_with_what_repeats_one_of_its_runs(folder, reidsim_):
    Path("batch.toml").write_text("replications = 2\n" + SCENARIO.replace('"basic", ', ""))
    assert reidsim_("run", "batch.toml", "-o", "batch")[0] == 0
    code, out, err = reidsim_("share", "batch", "-o", "new.csv", "--policy", "no-attack")
    assert (code, out) == (2, "")
    assert err == (
        "reidsim: batch: a batch does not keep records; expected results of a single run "
        "(run reidsim rerun batch --run POINT/REPLICATION -o NEW to repeat a run with records)\n"
    )
    assert reidsim_("rerun", "batch", "--run", "0/1", "-o", "one")[0] == 0
    assert reidsim_("share", "one", "-o", "new.csv", "--policy", "no-attack", "--accept-risk")[0] == 0


# Writing.

CELLS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)


@examples(80)
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=8)
    )
)
def test_what_is_written_is_read_back_by_others_and_by_us(tmp_path_factory, rows):
    columns = [f"c{i}" for i in range(len(rows[0]))]
    content = csv_bytes(pd.DataFrame(rows, columns=columns, dtype="str"))
    assert list(csv.reader(io.StringIO(content.decode(), newline=""))) == [columns, *rows]
    path = tmp_path_factory.mktemp("written") / "table.csv"
    path.write_bytes(content)
    assert read_table(path, trim=False).to_numpy().tolist() == rows


@pytest.mark.parametrize(("sections", "named"), [({}, True), ({"agents": {"rounds": 2}}, False)])
def test_the_limit_names_the_direction_only_if_the_scenario_can_set_it(sections, named):
    patients = pd.DataFrame({"age": [30, 34, 52], "sex": ["F", "F", "M"]})
    scenario = reidsim.Scenario.from_frames(
        patients,
        hierarchies={"age": reidsim.intervals(5), "sex": "suppress"},
        economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 40},
        **sections,
    )
    risk = FileRisk(record=0.01, person=0.5, basis="a count of rows")
    with pytest.raises(InputError, match="a person searched for in the file") as error:
        limit_of(None, {}).require(risk, "no-attack", scenario.content)
    assert ("adversary.direction" in str(error.value)) is named


def test_text_is_not_written_to_a_file_of_another_type(run):
    for name in ("shared.parquet", "shared.XLSX", "shared.csv.gz"):
        with pytest.raises(InputError, match=rf"{name}: the file is written as delimited text; .* such as .csv"):
            write_shared(Path(name), run, shared_records(run, policy="basic"))
        assert not Path(name).exists()


@pytest.mark.deep
def test_the_order_of_the_source_is_not_in_the_file(tmp_path, monkeypatch):
    """A file sorted by age would otherwise disclose the ages between those that stay exact."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"age": rng.integers(18, 90, 300), "sex": rng.choice(["F", "M"], 300)})
    people["name"] = [f"N{number:03}" for number in rng.permutation(300)]
    kept = {"keep_identifier": ["name"], "unknown_to_outsiders": ["name"]}
    options = {"accept_risk": True} | kept
    files = {"basic": [], "no-attack": []}
    for number, by in enumerate((["age"], ["name"])):
        run = reidsim.new(people.sort_values(by, ignore_index=True), drop=["name"]).run()
        for policy, texts in files.items():
            name = f"{policy}-{number}"
            reidsim.share(run, policy, path=f"{name}.csv", **options)
            rules = f"{name}-rules.csv"
            reidsim.share(run, policy, path=f"{name}-again.csv", rulebook=rules, **options)
            reidsim.apply(rules, people.sort_values(by), path=f"{name}-applied.csv", **kept)
            texts.append({Path(f"{name}{end}.csv").read_text() for end in ("", "-again", "-applied")})
    for texts in files.values():
        assert texts[0] == texts[1]
        assert len(texts[0]) == 1
