"""Complete batches of small scenarios: equal tables on every executor; errors."""

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from child_signals import has_content, once, processes_with, stopped
from tiers import cases

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.batch.design import RunOutcome, at_point, sweep_points
from reidsim.engine.batch.folder import finish, only_writer
from reidsim.engine.batch.runner import evaluate, rerun, run_batch_loaded
from reidsim.engine.results import sha256_of
from reidsim.engine.single_run import run_once
from reidsim.scenarios.scenario import Scenario

TABLES = ("runs", "statistics", "differences", "distributions")
SWEEP = {"sweep.values": {"economics.loss": [30, 60], "economics.cost": [5, 10]}}
DRAWN = {
    "replications": 2,
    "attributes.sex.draw": True,
    "sweep.values": {"economics.loss": [30, 60]},
    "uncertainty.parameters": {"economics.cost": {"distribution": "uniform", "low": 1, "high": 30}},
    "uncertainty.samples": 2,
}


@pytest.fixture
def town(work):
    """Return a scenario in a copy of the town, which is the working folder."""
    return "town.toml"


def tables_of(folder):
    return {name: (Path(folder) / f"{name}.parquet").read_bytes() for name in TABLES}


def test_every_run_of_a_batch_is_a_run_of_its_own_scenario(town):
    result = reidsim.run_batch(town, overrides=DRAWN)
    assert len(result.runs) == 2 * 2 * 2 * 2
    for (_, replication), rows in list(result.runs.groupby(["point", "replication"]))[2:6]:
        row = rows.iloc[0]
        changes = {key: row[key] for key in ("economics.loss", "economics.cost")}
        alone = reidsim.run(town, overrides={"attributes.sex.draw": True, **changes}, seed=int(row["seed"])).runs
        columns = [column for column in alone.columns if column not in ("point", "replication")]
        pd.testing.assert_frame_equal(rows[columns].reset_index(drop=True), alone[columns])
        assert (replication == 0) == (row["seed"] == 7)
    # Points share their draws; replications do not.
    assert result.runs.groupby("replication")["seed"].nunique().tolist() == [1, 1]
    assert result.runs["seed"].nunique() == 2


@pytest.mark.parametrize("replications", [1, 2])
def test_several_equal_replications_are_told(town, replications):
    changes = {"replications": replications, "sweep.values": {"economics.loss": [30]}}
    warnings = reidsim.run_batch(town, overrides=changes).warnings
    assert any("all replications are equal" in warning for warning in warnings) == (replications > 1)


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="starts processes")
def test_tables_are_the_same_bytes_on_1_and_4_workers(town):
    reidsim.run_batch(town, overrides=DRAWN, executor="serial", folder="serial")
    for workers in (1, 4):
        reidsim.run_batch(town, overrides=DRAWN, executor="processes", workers=workers, folder=f"on-{workers}")
        assert tables_of(f"on-{workers}") == tables_of("serial"), workers
    manifest = json.loads(Path("on-4/manifest.json").read_text(encoding="utf-8"))
    assert (manifest["state"], manifest["run_states"]["complete"]) == ("complete", 8)
    assert not Path("on-4/journal.jsonl").exists()


@pytest.mark.parametrize("changes", cases([SWEEP, {"replications": 2, "attributes.sex.draw": True}], [SWEEP]), ids=str)
def test_a_complete_batch_is_not_run_again(town, monkeypatch, changes):
    first = reidsim.run_batch(town, overrides=changes, folder="out")
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in Path("out").rglob("*") if path.is_file()}
    monkeypatch.setattr("reidsim.engine.batch.runner.run_tasks", lambda *given, **named: pytest.fail("runs again"))
    for options in ({"resume": True}, {"rerun_failed": True}):
        again = reidsim.run_batch(town, overrides=changes, folder="out", **options)
        assert type(again) is type(first)
        pd.testing.assert_frame_equal(again.runs, first.runs)
        pd.testing.assert_frame_equal(again.summary, first.summary)
        assert again.warnings == first.warnings
    assert before == {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before}
    assert len(before) == sum(path.is_file() for path in Path("out").rglob("*"))
    Path("out/runs.parquet").write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(InputError, match=r"out/runs\.parquet: the file changed since the batch ended"):
        reidsim.run_batch(town, overrides=changes, folder="out", resume=True)


@pytest.mark.deep
def test_an_unfinished_batch_is_resumed_only_by_the_same_command_and_damaged_lines_are_reported(town, monkeypatch):
    def stops(folder, write):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("reidsim.engine.batch.folder.finish", stops)
        with pytest.raises(KeyboardInterrupt):
            reidsim.run_batch(town, overrides=SWEEP, folder="out")
    with pytest.raises(InputError, match="folder is not empty"):
        reidsim.run_batch(town, overrides=SWEEP, folder="out")
    with pytest.raises(InputError, match="out: the folder holds a batch with another scenario"):
        reidsim.run_batch(town, overrides=DRAWN, folder="out", resume=True)
    with pytest.raises(InputError, match="out: the folder holds a batch with another seed; found 7; expected 8"):
        reidsim.run_batch(town, overrides=SWEEP, seed=8, folder="out", resume=True)
    path = Path("out/journal.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"123\n", *lines[1:]]))
    result = reidsim.run_batch(town, overrides=SWEEP, folder="out", resume=True)
    assert "1 line of journal.jsonl could not be read; the runs of these lines were repeated" in result.warnings
    pd.testing.assert_frame_equal(result.runs, reidsim.run_batch(town, overrides=SWEEP).runs)


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="interrupts by a signal")
@pytest.mark.parametrize(
    ("executor", "number", "code", "ignored"),
    [
        ("serial", signal.SIGINT, 130, ()),
        ("processes", signal.SIGTERM, 143, (signal.SIGINT,)),
    ],
)
def test_an_interrupt_says_how_to_go_on_and_leaves_no_worker(town, monkeypatch, executor, number, code, ignored):
    mark = f"REIDSIM_TEST_{os.getpid()}_{time.monotonic_ns()}"
    monkeypatch.setenv(mark, "1")
    began = []

    def some_ended(process):
        once(lambda: has_content(Path("out/journal.jsonl")))(process)
        began.extend(processes_with(mark))

    command = [str(Path(sys.executable).parent / "reidsim"), "run", town, "-o", "out", "--executor", executor]
    changes = 'sweep.values={"economics.loss"={from=1,to=200,points=3000}}'
    ended = stopped([*command, "--set", changes], some_ended, number, ignored=ignored)
    assert ended == (code, "", "reidsim: interrupted; finished runs are kept in out: continue with --resume -o out\n")
    assert json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))["state"] == "running"
    finished = [json.loads(line) for line in Path("out/journal.jsonl").read_bytes().splitlines()]
    assert 0 < len(finished) < 3000
    assert {run["state"] for run in finished} == {"complete"}
    assert rerun(Path("out"), finished[0]["run"]).verdict == "All values equal the values in the folder."
    # The program and its workers, if any.
    assert (len(began) > 1) == (executor == "processes")
    deadline = time.monotonic() + 30
    while left := processes_with(mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_runs_that_fail_are_rows_and_can_be_done_again(town):
    changes = {"sweep.values": {"release.path": ["patients.csv", "later.csv"]}}
    result = reidsim.run_batch(town, overrides=changes, folder="out")
    assert result.runs["state"].tolist() == ["complete", "complete", "failed"]
    assert result.runs["error"].iloc[2].endswith("later.csv: release.path: no such file")
    assert np.isnan(result.runs["publisher_payoff"].iloc[2])
    payoffs = result.statistics[result.statistics["measure"] == "publisher_payoff"]
    assert payoffs["runs"].tolist() == [1, 1, 0, 0]
    assert "1 of 2 runs ended as 'failed'" in result.warnings[0]
    shutil.copy("patients.csv", "later.csv")
    mended = reidsim.run_batch(town, overrides=changes, folder="out", rerun_failed=True)
    assert mended.runs["state"].tolist() == ["complete"] * 4
    assert mended.warnings == ()


def test_a_batch_in_which_every_run_fails_is_told(town):
    changes = {"sweep.values": {"release.path": ["patients.csv", "later.csv"]}, "replications": 2}
    Path("patients.csv").rename("gone.csv")
    with pytest.raises(InputError, match=r"patients\.csv"):
        reidsim.run_batch(town, overrides=changes)
    shutil.copy("gone.csv", "patients.csv")
    loaded = Scenario.load(town, {"sweep.values": {"release.path": ["patients.csv"]}})
    result = run_batch_loaded(loaded, Raises())
    assert result.runs["state"].tolist() == ["failed"]
    assert result.statistics.empty
    assert result.summary.empty
    assert "1 of 1 runs ended as 'failed'" in result.warnings[0]


class Raises:
    """An executor on which every run fails."""

    def execute(self, work, tasks):
        yield [RunOutcome(task, "failed", error="no") for task in tasks]


@pytest.mark.deep
def test_one_run_repeated_alone(town):
    reidsim.run_batch(town, overrides=DRAWN, folder="out")
    stored = pd.read_parquet("out/runs.parquet")
    row = stored.iloc[10]
    for key in (row["run"], row["run"][:8], f"{row['point']}/{row['replication']}"):
        repeated = rerun(Path("out"), key)
        assert repeated.task.key == row["run"]
        assert repeated.verdict == "All values equal the values in the folder."
    changed = stored.assign(utility=stored["utility"] / 2)
    changed.to_parquet("out/runs.parquet")
    with pytest.raises(InputError, match=r"out/runs\.parquet: the file changed since the batch ended"):
        rerun(Path("out"), row["run"])
    # Simulate another version: the manifest records the version numbers.
    manifest = json.loads(Path("out/manifest.json").read_text())
    manifest["tables"]["runs.parquet"] = sha256_of(Path("out/runs.parquet"))
    Path("out/manifest.json").write_text(json.dumps(manifest))
    assert rerun(Path("out"), row["run"]).verdict == "Some values differ from the folder."
    for key in ("0/99", "8/0", "nonsense", ""):
        with pytest.raises(InputError, match=r"no such run|several runs have keys"):
            rerun(Path("out"), key)
    with pytest.raises(InputError, match="not a results folder"):
        rerun(Path(), "0/0")


@pytest.mark.deep
def test_numbered_replications_alone_are_repeated_by_number_or_key(folder):
    few = {f"resources.{name}.size": 500 for name in ("registry", "genealogy")}
    sizes = {"population.recipe": "ystr-genealogy-small", "targets.size": 20, **few}
    reidsim.run_batch("wan2021", overrides={**sizes, "replications": 2, "figures": {}}, folder="out")
    repeated = rerun("out", "0/1")
    assert repeated.verdict == "All values equal the values in the folder."
    assert rerun("out", repeated.task.key).task == repeated.task
    with pytest.raises(InputError, match="no such run"):
        rerun("out", "0/2")


def test_no_room_for_the_tables_leaves_the_journal(town, monkeypatch):
    def no_room(folder, write):
        def fail(into):
            write(into)
            raise OSError(28, "No space left on device")

        finish(folder, fail)

    with monkeypatch.context() as patch:
        patch.setattr("reidsim.engine.batch.folder.finish", no_room)
        with pytest.raises(InputError, match=r"out: the disk is full.*with resume"):
            reidsim.run_batch(town, overrides=SWEEP, folder="out")
    assert sorted(path.name for path in Path("out").iterdir()) == ["journal.jsonl", "manifest.json"]
    reidsim.run_batch(town, overrides=SWEEP, folder="out", resume=True)
    reidsim.run_batch(town, overrides=SWEEP, folder="plain")
    assert tables_of("out") == tables_of("plain")


def test_a_folder_in_use_is_refused(town):
    reidsim.run_batch(town, overrides=SWEEP, folder="out")
    with only_writer(Path("out")), pytest.raises(InputError, match="another batch is writing"):
        reidsim.run_batch(town, overrides=SWEEP, folder="out", resume=True)


def test_other_data_than_at_the_start_are_refused(town):
    reidsim.run_batch(town, overrides=SWEEP, folder="out")
    lines = Path("patients.csv").read_text(encoding="utf-8").splitlines()
    Path("patients.csv").write_text("\n".join([*lines, lines[-1]]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"out: data files changed since the batch began: patients\.csv;"):
        reidsim.run_batch(town, overrides=SWEEP, folder="out", resume=True)


def test_a_table_in_which_a_byte_changed_is_not_taken_for_the_result(town):
    reidsim.run_batch(town, overrides=SWEEP, folder="out", executor="serial")
    for table in ("runs", "distributions"):
        path = Path("out", f"{table}.parquet")
        whole = path.read_bytes()
        for place in (4, len(whole) // 3):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(InputError, match=rf"{table}\.parquet: the file changed since the batch ended"):
                reidsim.run_batch(town, overrides=SWEEP, folder="out", resume=True)
        path.unlink()
        with pytest.raises(InputError, match=rf"{table}\.parquet: file missing from a complete batch"):
            reidsim.run_batch(town, overrides=SWEEP, folder="out", resume=True)
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sweep.values": {"economics.los": [1]}}, r"town.toml: point 0: economics.los: unknown key.*mean 'loss'"),
        ({"sweep.values": {"economics.loss": []}}, "sweep.values.economics.loss: the list of values is empty"),
        ({"sweep.values": {"economics.loss": {"from": 0, "to": 3, "points": 2, "scale": "log"}}}, "numbers above 0"),
        ({"sweep.values": {"economics.loss": [5, -5]}}, r"point 1: economics.loss: value not allowed; found -5"),
        ({"sweep.values": {"economics.loss": [5, 5]}}, "value given twice"),
        ({"sweep.values": {"seed": [5]}}, "cannot change within a batch.*replications"),
        ({"sweep.values": {"economics": [{}], "economics.loss": [5]}}, "one key contains the other"),
        (
            {"sweep": {"values": {"a.b": [1], "c.d": [1, 2]}, "together": [["a.b", "c.d"]]}},
            "different numbers of values",
        ),
        (
            {"uncertainty.parameters": {"economics.loss": {"distribution": "nomal"}}},
            "uncertainty.parameters.economics.loss.distribution: value not allowed.*did you mean 'normal'",
        ),
        (
            {
                "sweep.values": {"economics.loss": [1]},
                "uncertainty.parameters": {"economics.loss": {"distribution": "uniform", "low": 1, "high": 2}},
            },
            "key both swept and uncertain",
        ),
        (
            {
                "uncertainty.parameters": {"economics.loss": {"distribution": "uniform", "low": 1, "high": 2}},
                "uncertainty.method": "sobol",
            },
            "not a power of 2; found 100.*such as 128",
        ),
    ],
)
def test_designs_that_cannot_be_are_refused_before_any_run(town, changes, message):
    with pytest.raises(InputError, match=message):
        reidsim.run_batch(town, overrides=changes, folder="out")
    assert not Path("out").exists()


def test_points_of_a_sweep_keep_their_order_and_types(town):
    values = {
        "economics.loss": [60, 30],
        "economics.gain": [7, 8],
        "publisher.solver": ["branch-and-bound"],
        "publisher.policies": [["basic"], ["no-attack", "basic"]],
        "economics.cost": {"from": 1, "to": 100, "points": 3, "scale": "log"},
    }
    sweep = {"values": values, "together": [["economics.loss", "economics.gain"]]}
    points = sweep_points(Scenario.load(town, {"sweep": sweep}).scenario.sweep)
    assert list(points.columns) == list(values)
    assert len(points) == 2 * 1 * 2 * 3
    assert points["economics.cost"].tolist()[:4] == pytest.approx([1, 10, 100, 1])
    assert points[["economics.loss", "economics.gain"]].iloc[[0, 6]].to_numpy().tolist() == [[60, 7], [30, 8]]


def test_points_can_be_given(town, tmp_path):
    loaded = Scenario.load(town)
    points = pd.DataFrame({"economics.loss": [10.5, 60.0], "adversary.risk": ["prosecutor", "journalist"]})
    runs = evaluate(loaded, points, folder=tmp_path / "kept")["runs"]
    assert runs["adversary.risk"].tolist() == ["prosecutor"] * 2 + ["journalist"] * 2
    for point in range(2):
        alone = run_once(at_point(loaded, points.iloc[point].to_dict())).runs
        rows = runs[runs["point"] == point].reset_index(drop=True)
        columns = [column for column in alone.columns if column != "point"]
        pd.testing.assert_frame_equal(rows[columns], alone[columns])
    steps = []
    again = evaluate(loaded, points, folder=tmp_path / "kept", progress=lambda *step: steps.append(step))["runs"]
    pd.testing.assert_frame_equal(again, runs)
    assert steps == [("running", 2, 2)]


def test_tables_of_agents_are_kept_of_every_run(town):
    changes = {"agents": {"rounds": 2}, "sweep.values": {"economics.loss": [30, 60]}}
    tables = reidsim.run_batch(town, overrides=changes).analysis.tables()
    alone = reidsim.run(town, overrides={"agents": {"rounds": 2}, "economics.loss": 60}).analysis.tables()
    for name in ("rounds", "adversaries"):
        second = tables[name].query("point == 1").reset_index(drop=True)
        columns = [column for column in alone[name] if column != "replication"]
        expected = alone[name][columns].astype({c: "str" for c in columns if alone[name][c].dtype == "category"})
        pd.testing.assert_frame_equal(second[columns], expected, check_dtype=False)
