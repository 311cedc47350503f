"""Memory limits, links in results folders and edited manifests: one-line errors."""

import gzip
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core import files
from reidsim.core.errors import InputError
from reidsim.core.tables import read_table
from reidsim.engine.batch.runner import rerun
from reidsim.engine.score import score_loaded
from reidsim.engine.stress.run import describe
from reidsim.engine.switch import switch_loaded
from reidsim.games.record_game import Constraint
from reidsim.games.solvers import branch_and_bound
from reidsim.kinds.tables import build
from reidsim.kinds.tables.kind import TABLES
from reidsim.reports.page.sources import open_results
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).parent / "scenarios" / "town"


def test_a_file_that_expands_beyond_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"1\n" * 10**6))
    monkeypatch.setattr(files, "free_memory", lambda: 10**6)
    with pytest.raises(InputError, match=r"too large for memory.*24 MB are needed; expected at most 1\.0 MB"):
        read_table(path)


def test_a_parquet_file_that_promises_more_than_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "people.parquet"
    pd.DataFrame({"a": ["x"] * 10**6}).to_parquet(path)
    assert path.stat().st_size < 10**5
    monkeypatch.setattr(files, "free_memory", lambda: 10**6)
    with pytest.raises(InputError, match=r"too large for memory.*24 MB are needed"):
        read_table(path)


def test_a_workbook_that_expands_beyond_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "people.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 10**7)
    assert path.stat().st_size < 10**5
    monkeypatch.setattr(files, "free_memory", lambda: 10**6)
    with pytest.raises(InputError, match=r"people\.xlsx: too large for memory: about 40 MB are needed"):
        read_table(path)


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="sets a limit of the process")
def test_three_million_records_are_shared_in_memory_that_does_not_hold_them(tmp_path, monkeypatch):
    """With one row per record, 3 million records need 0.9 GB more than the limit leaves."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(1), 10**6
    Path("people.parquet").mkdir()
    for number in range(3):
        ages, sexes = rng.integers(20, 80, n).astype(str), rng.choice(["F", "M"], n)
        table = pd.DataFrame({"age": ages, "sex": sexes, "zip": rng.integers(37000, 37030, n).astype(str)})
        table.to_parquet(f"people.parquet/{number}.parquet", index=False)
    reidsim.new("people.parquet", folder="draft")
    reidsim.run("draft/people.toml", overrides={"publisher.policies": ["no-attack"]}).save("results")
    command = f"{sys.executable} -m reidsim share results -o shared.csv --policy no-attack --accept-risk"
    done = subprocess.run(  # noqa: S602 - fixed command
        f"ulimit -v 1500000; {command}", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(Path("shared.csv.json").read_text())["records"]["shared"] == 3 * n
    with open("shared.csv", encoding="utf-8") as file:
        assert sum(1 for _ in file) == 3 * n + 1


@pytest.fixture
def batch(tmp_path, monkeypatch):
    shutil.copytree(TOWN, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    sweep = {"sweep.values": {"economics.loss": [30, 60]}}
    reidsim.run_batch("town.toml", overrides=sweep, executor="serial", folder="out")
    return Path("out")


@pytest.mark.parametrize("name", ["manifest.json", "runs.parquet"])
def test_links_in_a_results_folder_are_not_followed(batch, tmp_path, name):
    (batch / name).rename(tmp_path / name)
    (batch / name).symlink_to(tmp_path / name)
    for use in (open_results, lambda folder: rerun(folder, "0/0")):
        with pytest.raises(InputError, match="is a symbolic link, which is not followed"):
            use(batch)


def test_a_changed_manifest_or_table_is_told_in_a_line(batch):
    (batch / "runs.parquet").write_bytes(b"PAR1" + bytes(50))
    with pytest.raises(InputError, match="the file changed since the batch ended"):
        rerun(batch, "0/0")
    manifest = json.loads((batch / "manifest.json").read_text())
    # Folders of earlier versions have no description of their tables.
    del manifest["tables"]
    (batch / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="cannot be read"):
        rerun(batch, "0/0")
    for part, value in {"content": "x", "warnings": 3, "design": "x"}.items():
        (batch / "manifest.json").write_text(json.dumps({**manifest, part: value}))
        with pytest.raises(InputError, match=f" {part}: not the manifest of a run"):
            rerun(batch, "0/0")


SWEEP = {"sweep.values": {"economics.loss": {"from": 1, "to": 9, "points": 1000}}}
DRAWN = {"parameters": {"economics.cost": {"distribution": "uniform", "low": 1, "high": 2}}, "samples": 10_000}


@pytest.mark.parametrize(
    ("overrides", "where", "found"),
    [
        ({**SWEEP, "replications": 10_000}, "replications", "10,000,000 (1,000 of sweep.values x 10,000 of repl"),
        ({"uncertainty": DRAWN, "replications": 200}, "uncertainty.samples", "2,000,000 (10,000 of uncertainty.sam"),
    ],
)
def test_points_samples_and_replications_that_cannot_be_are_refused(overrides, where, found):
    with pytest.raises(InputError, match=f"{re.escape(where)}: too many runs; found '{re.escape(found)}") as refused:
        Scenario.load(TOWN / "town.toml", overrides)
    assert str(refused.value).endswith("expected at most 1,000,000")


def write_many_levels(folder, attributes, levels):
    """Write two records whose values are suppressed only at the last of many levels."""
    names = [f"a{number}" for number in range(attributes)]
    rows = [",".join(names), ",".join("0" * attributes), ",".join("1" * attributes)]
    (folder / "people.csv").write_text("\n".join(rows))
    (folder / "levels.csv").write_text("\n".join(";".join([*value * (levels - 1), "*"]) for value in "01"))
    sections = [f'[attributes.{name}]\nhierarchy = {{ rule = "table", file = "levels.csv" }}\n' for name in names]
    path = folder / "many.toml"
    path.write_text(
        '[release]\npath = "people.csv"\n[economics]\nbenefit = 100\nloss = 60\ncost = 70\n'
        f'[adversary]\nrisk = "prosecutor"\n[publisher]\nsolver = "branch-and-bound"\n{"".join(sections)}'
    )
    return path


@pytest.mark.deep
@pytest.mark.parametrize(
    ("shape", "overrides", "says"),
    [
        (
            (20, 4),
            {"publisher.solver": "backward-induction"},
            r"publisher\.solver: .*; found 1099511627776; expected at",
        ),
        (
            (20, 4),
            {"publisher.unit": "table"},
            r"publisher\.policies: too many nodes for an exact search; found 1099511627776",
        ),
        ((31, 4), {}, r"attributes: too many generalizations; found 4611686018427387904; .* 2\*\*62"),
    ],
)
def test_lattices_that_cannot_be_searched_are_refused(tmp_path, shape, overrides, says):
    path = write_many_levels(tmp_path, *shape)
    for do in (reidsim.run, lambda path, **named: describe(Scenario.load(path, **named))):
        with pytest.raises(InputError, match=rf"many\.toml: {says}"):
            do(path, overrides=overrides)


@pytest.mark.deep
def test_a_huge_lattice_is_searched_where_few_generalizations_can_be_best(tmp_path):
    path = write_many_levels(tmp_path, 20, 4)
    summary = reidsim.run(path).summary
    assert summary["publisher_payoff"].tolist() == [100.0, 100.0]
    # Changing payoff parameters are not planned by full enumeration either; robust strategies would be.
    with pytest.raises(
        InputError, match=r"robustness\.criteria: too many strategies per record .*; found 1099511627776"
    ):
        reidsim.stress(
            path,
            overrides={
                "uncertainty.parameters": {"economics.loss": {"distribution": "uniform", "low": 1, "high": 2}},
                "stress": {"robustness": {"samples": 4}},
            },
        )
    switched = switch_loaded(Scenario.load(path), "economics.benefit", low=50, high=100)
    assert switched.switches.empty


def test_a_hundred_million_people_are_counted_or_refused(tmp_path):
    shutil.copytree(TOWN, tmp_path, dirs_exist_ok=True)
    people = tmp_path / "people" / "people.csv"
    counted = pd.read_csv(people)
    counted.assign(people=counted["people"] * 3_100_000).to_csv(people, index=False)
    assert re.search(r" of 102,300,000$", describe(Scenario.load(tmp_path / "town.toml")))
    summary = reidsim.run(tmp_path / "town.toml", overrides={"economics.cost": 0}).summary
    assert 0 < summary.loc["basic", "risk"] < 1 / 3_100_000
    with pytest.raises(InputError, match=r"wan2021\.toml: too large for memory: about \d+ TB are needed"):
        describe(Scenario.load("wan2021", {"targets.size": 10**12}))


def test_a_search_that_leaves_too_much_open_is_refused(tmp_path, monkeypatch):
    path = write_many_levels(tmp_path, 5, 4)
    costs = {"economics.cost": 10, "economics.loss": 1000}
    assert reidsim.run(path, overrides=costs).summary.loc["no-attack", "share_attacked"] == 0
    solver = sys.modules["reidsim.games.solvers"]
    with monkeypatch.context() as few:
        few.setattr(solver, "_MOST_OPEN", 20)
        with pytest.raises(InputError, match="too many candidate strategies for branch and bound; found 20;"):
            reidsim.run(path, overrides=costs)
    # Or before memory runs out, because the tables keep growing.
    study = TABLES.build(Scenario.load(path, costs))
    monkeypatch.setattr(solver, "_ASKED", 20_000)
    no_attack = Constraint(no_attack=True)
    found = branch_and_bound(study.truth, no_attack)
    monkeypatch.setattr(files, "free_memory", lambda: 20_000)
    with pytest.raises(InputError, match=r"too many candidate strategies .*: about 21 kB are needed"):
        branch_and_bound(study.truth, no_attack)
    monkeypatch.setattr(solver, "_ASKED", 2**26)
    assert (branch_and_bound(study.truth, no_attack).strategies == found.strategies).all()


def test_a_released_file_that_needs_more_than_is_free_is_refused(monkeypatch):
    loaded, file = Scenario.load(TOWN / "town.toml"), TOWN / "patients.csv"
    assert score_loaded(loaded, file).file == "patients.csv"
    monkeypatch.setattr(build, "free_memory", lambda: 1_000)
    expected = r"patients\.csv: too large for memory: about [\d.]+ kB are needed; expected at most 1\.0 kB"
    with pytest.raises(InputError, match=expected):
        score_loaded(loaded, file)
