"""The results of a run on a town that can be solved by hand, and their folder.

The town (``../scenarios/town``) has 33 people and shares 30 records of four kinds. Sharing a record unchanged is worth
100; a re-identification costs the publisher 60 and gains the adversary 60, at a cost of 10 per attempt. The adversary
attacks groups of fewer than six people, and is indifferent at six. Ages (4 values), sexes (2) and districts (4) have
1/5, 2/5 and 2/5 of the information. Merging pairs of ages or districts, or the sexes, loses one fifth of the
utility; suppressing ages or districts loses two fifths.

- A (F, 30, N1) is unique. With its sex suppressed it is one of six: no attack, payoff 80.
- B (M, 30, N1) is one of five: unchanged, it is attacked and worth 100 - 60/5 = 88. The best form without attack has
  its sex suppressed (six people) and is worth 80, like the form with merged ages, which comes later.
- C (M, 31, N1) is one of twenty: no attack.
- D (F, 33, S2) is unique, and its groups stay small until only its sex is released (seven people, payoff 20). It is
  better shared unchanged and attacked, which is worth 100 - 60 = 40.
"""

import errno
import gc
import json
import math
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from golden_cases import CASES, FILES
from matplotlib.figure import Figure
from tiers import cases

import reidsim
from reidsim.core.errors import InputError
from reidsim.core.validation import plain
from reidsim.engine.results import next_free_folder, open_to_group, scenario_hash, write_results
from reidsim.reports.drawing import figures_of
from reidsim.scenarios.schema import READ_BY_CROSS_PLAY

TOWN = Path(__file__).parent.parent / "scenarios" / "town"
KINDS = {("w", "30", "N1"): "A", ("m", "30", "N1"): "B", ("m", "31", "N1"): "C", ("w", "33", "S2"): "D"}
HOW_MANY = {"A": 3, "B": 9, "C": 12, "D": 6}


def kinds_in_order():
    patients = pd.read_csv(TOWN / "patients.csv", dtype=str)
    return [KINDS[row] for row in zip(patients["Geschlecht"], patients["Alter"], patients["Bezirk"], strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the results folder of one run of the town, with a seed and an override."""
    town = tmp_path_factory.mktemp("results") / "town"
    shutil.copytree(TOWN, town)
    overrides = {"figures.strategies": {"age": "30", "sex": "F", "district": "N1"}}
    return reidsim.run(town / "town.toml", overrides=overrides, seed=11).save(town / "out")


@pytest.fixture(scope="module")
def records(folder):
    return pd.read_parquet(folder / "records.parquet")


@pytest.fixture(scope="module")
def runs(folder):
    return pd.read_parquet(folder / "runs.parquet").set_index("policy", drop=False)


@pytest.fixture(scope="module")
def manifest(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


@pytest.fixture
def town(tmp_path):
    """Return the scenario in a copy of the town."""
    shutil.copytree(TOWN, tmp_path / "town")
    return tmp_path / "town" / "town.toml"


# Values of the results.


@pytest.mark.parametrize(
    ("policy", "kind", "strategy", "publisher", "adversary", "attacked", "success", "utility", "intensity", "released"),
    [
        ("basic", "A", "0,1,0", 80, 0, False, 1 / 6, 0.8, 0.2, ("30", "*", "N1")),
        ("basic", "B", "0,0,0", 88, 2, True, 1 / 5, 1.0, 0.0, ("30", "M", "N1")),
        ("basic", "C", "0,0,0", 100, 0, False, 1 / 20, 1.0, 0.0, ("31", "M", "N1")),
        ("basic", "D", "0,0,0", 40, 50, True, 1.0, 1.0, 0.0, ("33", "F", "S2")),
        ("no-attack", "A", "0,1,0", 80, 0, False, 1 / 6, 0.8, 0.2, ("30", "*", "N1")),
        ("no-attack", "B", "0,1,0", 80, 0, False, 1 / 6, 0.8, 0.2, ("30", "*", "N1")),
        ("no-attack", "C", "0,0,0", 100, 0, False, 1 / 20, 1.0, 0.0, ("31", "M", "N1")),
        ("no-attack", "D", "2,0,2", 20, 0, False, 1 / 7, 0.2, 0.8, ("*", "F", "*")),
    ],
)
def test_every_record_of_a_kind_has_the_outcome_worked_out_by_hand(
    records, policy, kind, strategy, publisher, adversary, attacked, success, utility, intensity, released
):
    numbers = [number for number, other in enumerate(kinds_in_order()) if other == kind]
    rows = records[(records["policy"] == policy) & records["record"].isin(numbers)]
    assert len(rows) == HOW_MANY[kind]
    assert set(rows["strategy"]) == {strategy}
    assert set(rows["attacked"]) == {attacked}
    for column, expected in (
        ("publisher_payoff", publisher),
        ("adversary_payoff", adversary),
        ("success_probability", success),
        ("utility", utility),
        ("generalization_intensity", intensity),
    ):
        np.testing.assert_allclose(rows[column], expected, rtol=0, atol=1e-9, err_msg=column)
    assert set(rows[["age", "sex", "district"]].astype(str).itertuples(index=False, name=None)) == {released}


def test_a_belief_about_the_gain_is_not_the_gain_that_follows_the_believed_loss(town):
    # The publisher believes that a breach costs nothing. The adversary's gain does not change, so the No-Attack game
    # still protects while the basic game shares everything.
    result = reidsim.run(town, overrides={"beliefs.loss": 0})
    np.testing.assert_allclose(result.summary["share_unchanged"], [1, 12 / 30], rtol=1e-12)


def test_without_a_population_groups_are_counted_in_the_records(town):
    # Ages and sexes have the values of the records (30, 31, 33 for ages), districts the five of the hierarchy file: 3 *
    # 2 * 5.
    town.write_text(town.read_text().replace('[population]\nrecipe = "people/people.toml"\n', ""))
    result = reidsim.run(town, overrides={"adversary.risk": "prosecutor"})
    of_a = result.records[np.tile([kind == "A" for kind in kinds_in_order()], 2)].set_index("policy")
    # A is one of three: attacked unchanged, for 100 - 60/3, which is more than the sex is worth, log 2 of log 30.
    assert set(of_a.loc["basic", "strategy"]) == {"0,0,0"}
    np.testing.assert_allclose(of_a.loc["basic", "publisher_payoff"], 80, rtol=1e-12)
    np.testing.assert_allclose(of_a.loc["basic", "adversary_payoff"], 10, rtol=1e-12)
    # Without its sex it is one of twelve.
    assert set(of_a.loc["no-attack", "strategy"]) == {"0,1,0"}
    np.testing.assert_allclose(of_a.loc["no-attack", "publisher_payoff"], 100 * (1 - math.log(2) / math.log(30)))
    # B (nine), C (twelve) and D (six, where the adversary is indifferent) are not attacked.
    np.testing.assert_allclose(result.summary.loc["basic", "publisher_payoff"], (3 * 80 + 27 * 100) / 30)
    assert result.manifest["population"] == "the released records"
    assert result.manifest["people"] == 30


def test_records_of_people_whom_the_population_lacks_are_counted_in_a_warning(town):
    patients = town.parent / "patients.csv"
    patients.write_text(patients.read_text().replace("P02,w,33,S2", "P02,m,33,N1").replace("P08,w,33", "P08,m,33"))
    result = reidsim.run(town)
    assert len(result.warnings) == 1
    assert "2 of 30 records" in result.warnings[0]
    assert "'people'" in result.warnings[0]
    assert result.records.loc[result.records["record"] == 2, "success_probability"].max() <= 1


def test_records_that_cannot_be_shared_without_attack_are_withheld(town):
    # At a cost of 0, the adversary attacks every form of every record.
    result = reidsim.run(town, overrides={"economics.cost": 0})
    withheld = result.records[result.records["policy"] == "no-attack"]
    assert set(withheld["strategy"]) == {"withheld"}
    assert withheld[["age", "sex", "district"]].isna().all(axis=None)
    assert (withheld["publisher_payoff"] == 0).all()
    assert not withheld["attacked"].any()
    assert any("no-attack: 30 records" in warning and "withheld" in warning for warning in result.warnings)
    assert result.manifest["policies"]["no-attack"]["withheld"] == 30


# The manifest.


def test_the_manifest_holds_the_scenario_its_size_and_its_solver(manifest, town, caplog):
    content = manifest["content"]
    assert content["title"] == "Patients of a small town"
    assert content["economics"] == {"benefit": 100, "loss": 60, "cost": 10}
    assert content["figures"] == {"strategies": {"age": "30", "sex": "F", "district": "N1"}}
    expected = {"scenario": "town", "records": 30, "distinct_cells": 4, "strategies": 18, "population": "people"}
    assert {name: manifest[name] for name in expected} == expected
    assert (manifest["people"], manifest["warnings"]) == (33, [])
    assert manifest["policies"]["basic"] == {
        "node": [], "gap": 0, "nodes_evaluated": 18, "solver": "backward-induction", "proved_optimal": True,
        "strategies_evaluated_per_record": 18, "withheld": 0,
    }  # fmt: skip
    assert scenario_hash(dict(reversed(content.items()))) == manifest["scenario_hash"]
    with caplog.at_level("INFO", logger="reidsim"):
        other = reidsim.run(town, overrides={"economics.cost": 11})
    assert other.manifest["scenario_hash"] != reidsim.run(town).manifest["scenario_hash"]
    assert repr(other) == "RunResult('town': basic, no-attack)"
    messages = [each.getMessage().partition(" in ")[0] for each in caplog.records]
    assert messages[1:] == ["town: data read", "town: policies evaluated"]


def test_the_content_of_a_manifest_can_be_run_again(manifest, records, town, monkeypatch):
    # Paths in overrides are relative to the working folder.
    monkeypatch.chdir(town.parent)
    result = reidsim.run(town, overrides=manifest["content"])
    pd.testing.assert_frame_equal(result.records, records)


# Reproducibility.


def test_the_seed_of_a_run_is_the_scenarios_own_unless_given(town):
    """Draw the districts of thirty women of 30: one of four is in N1."""
    town.write_text(town.read_text().replace('column = "Bezirk"', "draw = true"))
    (town.parent / "patients.csv").write_text("Geschlecht,Alter\n" + "w,30\n" * 30)
    np.random.seed(3)  # noqa: NPY002 - the global state is what is tested
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    own, given = reidsim.run(town), reidsim.run(town, seed=7)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    pd.testing.assert_frame_equal(own.records, given.records)
    assert own.manifest["seed"] == given.manifest["seed"] == 7
    assert own.runs["seed"].unique().tolist() == [7]


# Complete files or none.


def fill(folder):
    (folder / "table").write_text("whole")


def test_results_do_not_show_before_they_are_whole(tmp_path):
    def look(folder):
        fill(folder)
        assert folder.parent == tmp_path
        assert folder.name.startswith(".")
        assert not (tmp_path / "out").exists()

    write_results(tmp_path / "out", look)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name != "posix", reason="permission bits are those of POSIX")
def test_results_are_private_whatever_new_files_are(tmp_path):
    def fill_deep(folder):
        fill(folder)
        (folder / "figures").mkdir()
        (folder / "figures" / "one").touch()
        (folder / "elsewhere").symlink_to(outside)

    outside = tmp_path / "outside"
    outside.touch(0o644)
    before = os.umask(0o022)
    try:
        write_results(tmp_path / "out", fill_deep)
    finally:
        os.umask(before)
    names = ("", "table", "figures", "figures/one", "elsewhere")
    for opened, modes in ((False, (0o700, 0o600, 0o700, 0o600, 0o644)), (True, (0o750, 0o640, 0o750, 0o640, 0o644))):
        if opened:
            open_to_group(tmp_path / "out")
        assert [(tmp_path / "out" / name).stat().st_mode & 0o777 for name in names] == list(modes)


@pytest.mark.parametrize("trouble", [KeyboardInterrupt(), ValueError("a bug"), OSError(errno.EIO, "broken disk")])
def test_nothing_is_left_when_writing_fails(tmp_path, trouble):
    def fail(folder):
        fill(folder)
        raise trouble

    expected = InputError if isinstance(trouble, OSError) else type(trouble)
    with pytest.raises(expected):
        write_results(tmp_path / "out", fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.ENOSPC, "the disk is full; nothing was written"), (errno.EROFS, "cannot be written: .*[Rr]ead-only")],
)
def test_a_disk_that_fails_is_named_with_its_folder(tmp_path, number, says):
    def fail(folder):
        raise OSError(number, os.strerror(number))

    with pytest.raises(InputError, match=says) as caught:
        write_results(tmp_path / "out", fail)
    assert caught.value.source == str(tmp_path / "out")


def test_a_folder_with_something_in_it_is_never_touched(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".notes").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        write_results(tmp_path / "out", fill)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".notes"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_filled_while_the_run_went_on_is_never_touched(tmp_path):
    def meanwhile(folder):
        fill(folder)
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").write_text("theirs")

    with pytest.raises(InputError, match="out"):
        write_results(tmp_path / "out", meanwhile)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["theirs"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_default_folders_are_numbered_from_the_first_free_number(tmp_path):
    assert next_free_folder(tmp_path, "town") == tmp_path / "town-001"
    for number in ("001", "002", "004"):
        (tmp_path / f"town-{number}").mkdir()
    assert next_free_folder(tmp_path, "town") == tmp_path / "town-003"
    assert next_free_folder(tmp_path, "other") == tmp_path / "other-001"


# Results that are loaded again.

CASE_OF = {case.name: case for case in CASES if case.command != "explain"}
# Other types of results are those of the town in the tests below, which are cheaper than bundled scenarios.
FEW_CASES = ["clinic", "visits-risk", "dynamic-agents"]
PLAYED = {"run": "run", "batch": "batch", "stress": "stress", "cross-play": "cross_play"}


def assert_loaded(result, folder):
    """Check that a result is equal to the one loaded from its folder, and to its pickled copy."""
    loaded = reidsim.load_result(result.save(folder))
    for copy in (loaded, pickle.loads(pickle.dumps(loaded)), pickle.loads(pickle.dumps(result))):  # noqa: S301 - our own
        assert type(copy) is type(result)
        assert (copy.name, copy.warnings) == (result.name, result.warnings)
        assert copy.manifest == json.loads(json.dumps(result.manifest, default=plain))
        tables = copy.stored_tables()
        assert list(tables) == list(result.stored_tables())
        for name, table in result.stored_tables().items():
            pd.testing.assert_frame_equal(table, tables[name])
        if hasattr(result, "summary"):
            pd.testing.assert_frame_equal(copy.summary, result.summary)
    assert loaded._repr_html_() == result._repr_html_() != ""
    return loaded


def assert_drawn(result):
    """Check that a figure of one panel has the same content in given axes, and that others are refused."""
    for name, alone in figures_of(result):
        axes, other = Figure().subplots(1, 2)
        if len(alone.axes) > 1:
            with pytest.raises(InputError, match="does not fit into one panel"):
                result.plot(name, ax=axes)
            assert axes.figure.axes == [axes, other]
        else:
            assert result.plot(name, ax=axes) is axes.figure
            assert [*map(type, axes.lines + axes.patches)] == [*map(type, alone.axes[0].lines + alone.axes[0].patches)]
            assert axes.figure.axes == [axes, other]
            assert axes.figure.get_suptitle() == ""


@pytest.mark.deep
@pytest.mark.parametrize("name", cases(CASE_OF, FEW_CASES))
def test_a_loaded_result_is_the_saved_one(name, tmp_path):
    case = CASE_OF[name]
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)

    def placed(value):
        return str(tmp_path / value) if isinstance(value, str) and value in FILES else value

    replaced = {key: placed(value) for key, value in case.replaced.items()}
    also_read = READ_BY_CROSS_PLAY if case.command == "cross-play" else ()
    scenario = reidsim.Scenario.load(placed(case.scenario), replaced, also_read=also_read)
    options = {key: placed(value) for key, value in case.options.items()}
    result = getattr(scenario, PLAYED[case.command])(**options)
    assert_drawn(assert_loaded(result, tmp_path / "out"))


@pytest.mark.deep
def test_other_studies_are_loaded(town, tmp_path):
    scenario = reidsim.Scenario.load(town)
    played = scenario.cross_play(equilibrium=True, double_oracle="zero-sum")
    assert_drawn(assert_loaded(played, tmp_path / "played"))
    uncertain = {"stress": {"robustness": {"samples": 4}, "sensitivity": {"samples": 4}}}
    assert_drawn(assert_loaded(scenario.with_(uncertain).stress(loss=(10, 90)), tmp_path / "stressed"))
    assert_loaded(scenario.switch(), tmp_path / "switched")
    assert_loaded(scenario.attributes(), tmp_path / "attributes")
    assert_loaded(scenario.score(pd.read_csv(TOWN / "patients.csv", dtype=str)), tmp_path / "scored")
    several = scenario.with_(replications=2).cross_play(executor="serial")
    assert_loaded(several, tmp_path / "several")


@pytest.mark.deep
def test_a_sweep_is_loaded(town, tmp_path):
    swept = reidsim.Scenario.load(town).sweep(loss=[1, 30, 60])
    assert_drawn(assert_loaded(swept, tmp_path / "swept"))


def test_a_batch_of_failed_runs_is_displayed_and_loaded(town, tmp_path, monkeypatch):
    scenario = reidsim.Scenario.load(town)
    monkeypatch.setattr("reidsim.engine.batch.design.run_tables", None)
    failed = scenario.sweep(loss=[1, 2])
    assert not (failed.runs["state"] == "complete").any()
    assert failed.figures == ()
    assert_loaded(failed, tmp_path / "failed")


class Local:
    """A policy of this test, which another process cannot import."""

    name = "local"

    def choose(self, game):
        return np.zeros(game.n_records, dtype=int)


@pytest.mark.deep
def test_results_with_own_parts_in_memory_are_pickled_and_loaded(tmp_path):
    class Own(Local):
        pass

    patients = pd.DataFrame({"age": [30, 34, 52] * 4})
    economics = {"benefit": 100, "loss": 60, "gain": 60, "cost": 16}
    own = {"hierarchies": {"age": reidsim.intervals(10)}, "economics": economics, "policies": ["basic", Own()]}
    scenario = reidsim.Scenario.from_frames(patients, **own)
    assert_loaded(scenario.run(), tmp_path / "once")
    assert_loaded(scenario.sweep(loss=[1, 2]), tmp_path / "swept")
    scenario.with_(policies=["basic"]).run().save(tmp_path / "shared")
    del scenario
    gc.collect()
    loaded = reidsim.load_result(tmp_path / "shared")
    with pytest.raises(InputError, match="no such file"):
        loaded.share()
    assert len(loaded.share(data=patients, accept_risk=True)) == len(patients)


def test_tables_of_a_result_are_attributes(town):
    scenario = reidsim.Scenario.load(town)
    once, rounds, swept = scenario.run(), scenario.rounds(2), scenario.sweep(loss=[1, 2])
    assert rounds.rounds["round"].unique().tolist() == [1, 2]
    assert {"policy", "people", "probability", "at_most"} <= set(once.people)
    assert {"measure", "mean", "low", "high"} <= set(swept.statistics)
    for result, name in ((once, "rounds"), (once, "statistics"), (swept, "rounds")):
        with pytest.raises(AttributeError, match=f"no table '{name}'"):
            getattr(result, name)


def test_axes_are_needed_and_get_the_heading_of_a_figure(town):
    switched = reidsim.Scenario.load(town).switch()
    axes = Figure().subplots()
    switched.plot("switch", ax=axes)
    assert axes.get_title("center").strip() == switched.plot("switch").get_suptitle()
    with pytest.raises(InputError, match="ax: not axes; found 3"):
        switched.plot("switch", ax=3)


def test_a_resumed_batch_has_the_manifest_of_the_batch(town, tmp_path):
    scenario = reidsim.Scenario.load(town).with_(replications=2)
    first, again = (scenario.batch(tmp_path / "batch", resume=resume, executor="serial") for resume in (False, True))
    loaded = reidsim.load_result(tmp_path / "batch")
    assert loaded.manifest == again.manifest
    assert {key: loaded.manifest[key] for key in first.manifest} == json.loads(
        json.dumps(first.manifest, default=plain)
    )
    assert_loaded(again, tmp_path / "copy")


@pytest.mark.deep
def test_figures_are_written_in_the_format_of_the_ending(town, tmp_path):
    scenario = reidsim.Scenario.load(town)
    result = scenario.run()
    for ending, first in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        paths = [result.save_figure(tmp_path / f"{number}{ending}", "risks") for number in (1, 2)]
        assert paths[0].read_bytes().startswith(first)
        assert paths[0].read_bytes() == paths[1].read_bytes()
    with pytest.raises(InputError, match=r"1\.gif: not a format of figures"):
        result.save_figure(tmp_path / "1.gif")
    with pytest.raises(InputError, match="did you mean 'risks'"):
        result.plot("risk")


@pytest.mark.parametrize(
    "facts",
    [None, 3, {}, {"type": "str"}, {"type": "RunResult", "tables": ["../runs"], "by": [], "measured": []}]
    + [{"type": kind, "tables": ["runs"]} for kind in ("RunResult", "BatchResult", "SwitchResult", "ScoreResult")],
)
def test_a_changed_manifest_is_refused(facts, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    path = tmp_path / "copy" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "result": facts}))
    with pytest.raises(InputError):
        reidsim.load_result(tmp_path / "copy")


def test_a_folder_with_a_link_is_not_loaded(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "runs.parquet").unlink()
    (tmp_path / "copy" / "runs.parquet").symlink_to(folder / "runs.parquet")
    with pytest.raises(InputError, match="symbolic link"):
        reidsim.load_result(tmp_path / "copy")
