"""Drafting, playing and sharing a table in memory equals the command line."""

import gc
import importlib
import io
import json
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console

import reidsim
from reidsim.engine.scenario import scenario_method

ECONOMICS = {"benefit": 100, "loss": 300, "gain": 60, "cost": 10}
REPOSITORY = Path(__file__).resolve().parents[3]
SCRIPTS = REPOSITORY / "tools"
NOTEBOOKS = sorted((REPOSITORY / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 60, 60),
            "sex": rng.choice(["F", "M"], 60),
            "ward": rng.choice(["a", "b", "c"], 60),
            "insurance_no": [f"A{number:09d}" for number in range(60)],
        }
    )


@pytest.fixture(scope="module")
def draft(patients):
    return reidsim.new(
        patients, quasi_identifiers=["age", "sex"], only_named=True, benefit=100, loss=300, cost=20, name="clinic"
    )


@pytest.fixture(scope="module")
def result(draft):
    return draft.run()


@pytest.fixture
def reidsim_command(monkeypatch, capsys):
    from reidsim.cli import main

    def command(*arguments):
        monkeypatch.setattr("sys.argv", ["reidsim", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code in (0, None), capsys.readouterr().err
        return capsys.readouterr().out

    return command


@pytest.mark.deep
def test_drafting_and_sharing_a_table_is_what_the_command_line_does(
    patients, draft, result, reidsim_command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    patients.to_csv("clinic.csv", index=False)
    options = [
        "--quasi-identifier",
        "age",
        "--quasi-identifier",
        "sex",
        "--only-named",
        "--benefit",
        100,
        "--loss",
        300,
        "--cost",
        20,
    ]
    reidsim_command("new", "clinic.csv", *options)
    assert Path("clinic/clinic.toml").read_text().replace("../clinic.csv", "clinic.csv") == draft.text
    reidsim_command("run", "clinic/clinic.toml", "-o", "out")
    stored = pd.read_parquet("out/records.parquet")
    pd.testing.assert_frame_equal(result.records, stored, check_categorical=False)
    reidsim_command("share", "out", "--policy", "no-attack", "--keep", "ward", "-o", "shared.csv",
                    "--unknown-to-outsiders", "ward")  # fmt: skip
    shared = result.share("no-attack", keep=["ward"], unknown_to_outsiders=["ward"])
    assert shared.equals(pd.read_csv("shared.csv", dtype=str, keep_default_na=False))
    by_command = json.loads(Path("shared.csv.json").read_text())
    assert shared.attrs["sidecar"]["audit"] == by_command["audit"]


@pytest.mark.deep
def test_a_draft_is_shown_kept_and_gone(draft, result, tmp_path):
    assert repr(draft) == "DraftedScenario('clinic': 60 records, age, sex)"
    assert draft.columns["use"].tolist()[:2] == ["quasi-identifier"] * 2
    assert all(name in draft._repr_html_() for name in ("insurance_no", "quasi-identifier", "60 records"))
    scenario = draft.save(tmp_path / "kept")
    pd.testing.assert_frame_equal(reidsim.run(scenario).summary, result.summary)
    alone = reidsim.new(pd.DataFrame({"age": [30, 31, 50], "sex": ["F", "F", "M"]})).run()
    folder = alone.held.folder
    gc.collect()
    # The records are kept as long as the result that shares them.
    assert len(alone.share("suppress-all" if "suppress-all" in alone.summary.index else "no-attack")) <= 3
    del alone
    gc.collect()
    assert not folder.exists()


def test_results_are_shown_with_their_answer_and_their_measures(result):
    html = result._repr_html_()
    assert " pays most, " in html
    assert "Publisher&#39;s payoff" in html
    assert f"{result.summary['publisher_payoff'].max():,.2f}" in html
    swept = reidsim.Scenario.from_frames(
        pd.DataFrame({"age": [30, 31, 50]}), hierarchies={"age": "suppress"}, economics=ECONOMICS, name="<script>"
    ).sweep(loss=[10, 20])
    html = swept._repr_html_()
    assert "economics.loss" in html
    assert "<script>" not in html


@pytest.mark.deep
def test_a_scenario_of_tables_in_memory_is_shared_and_reported(patients):
    levels = pd.DataFrame({0: ["a", "b", "c"], 1: ["ab", "ab", "c"], 2: ["*"] * 3})
    rules = {"age": reidsim.intervals(5, 20), "ward": levels}
    suppressing = types.SimpleNamespace(name="own", choose=lambda game: np.full(game.n_records, game.space.size - 1))
    policies = ["no-attack", suppressing]
    result = reidsim.Scenario.from_frames(patients, hierarchies=rules, economics=ECONOMICS, policies=policies).run()
    assert set(result.share("own")["age"]) == {"*"}
    shared = result.share("no-attack", keep=["sex"], unknown_to_outsiders=["sex"], accept_risk=True)
    of_policy = result.records[result.records["policy"] == "no-attack"]
    released = of_policy[["age", "ward"]].astype(str).assign(sex=patients["sex"].to_numpy())
    assert sorted(shared[["age", "ward", "sex"]].itertuples(index=False)) == sorted(released.itertuples(index=False))
    assert shared.attrs["sidecar"]["audit"]["rows_that_do_not_fit_their_record"] == 0
    assert set(shared["ward"]) <= {"a", "b", "c", "ab", "*"}
    assert result.report().html.startswith("<!DOCTYPE html>")


def test_a_draft_has_a_population_and_hierarchies_in_memory(patients, tmp_path):
    people = pd.concat([patients[["age", "sex"]]] * 3, ignore_index=True)
    levels = pd.DataFrame([[value, "*"] for value in sorted(set(patients["sex"]))])
    draft = reidsim.new(patients[["age", "sex"]], population=people, hierarchies={"sex": levels})
    assert draft.scenario.scenario.adversary.risk == "journalist"
    expected = draft.run().summary
    saved = draft.save(tmp_path / "kept")
    del draft
    assert reidsim.run(saved).summary.equals(expected)
    with pytest.raises(reidsim.InputError, match=r"attributes\.age\.hierarchy: not a table of values and levels"):
        reidsim.new(patients, hierarchies={"age": reidsim.intervals(5)})


def test_what_a_table_shared_may_not_be_is_an_error(result, tmp_path):
    with pytest.raises(reidsim.InputError, match="the column could identify most people"):
        result.share("no-attack", keep=["insurance_no"])
    with pytest.raises(reidsim.InputError, match="the risk of a record is 1;"):
        result.share("no-protection")
    assert len(result.share("no-protection", accept_risk=True)) == 60
    (tmp_path / "taken.csv").touch()
    with pytest.raises(reidsim.InputError, match="exists already"):
        result.share("no-attack", path=tmp_path / "taken.csv")
    with pytest.raises(reidsim.InputError, match="no rows or no columns"):
        reidsim.new(pd.DataFrame())
    with pytest.raises(reidsim.InputError, match="No such file"):
        reidsim.new(tmp_path / "none.csv")


@pytest.mark.deep
def test_a_report_is_one_page(result, tmp_path):
    page = result.report(tmp_path / "clinic.html", break_even=False)
    assert page.html == (tmp_path / "clinic.html").read_text(encoding="utf-8")
    assert page._repr_html_().startswith("<iframe srcdoc=")
    assert "<html" not in page._repr_html_()
    result.save(tmp_path / "out")
    assert reidsim.report(tmp_path / "out", break_even=False).html.count("<table") == page.html.count("<table")


@pytest.mark.parametrize(
    ("jupyter", "given", "shown"), [(True, None, True), (False, None, False), (True, print, False)]
)
def test_a_bar_is_shown_in_notebooks_unless_told_otherwise(monkeypatch, jupyter, given, shown):
    monkeypatch.setattr(
        "reidsim.engine.scenario.Console", lambda **given: Console(force_jupyter=jupyter, file=io.StringIO())
    )
    assert (
        scenario_method(lambda progress=None: type(progress).__name__)(progress=given) == "DelayedProgress"
    ) == shown


@pytest.mark.deep
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebooks_of_the_documentation_are_as_they_were_played(path, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    notebook = importlib.import_module("notebook")
    shown = json.loads(path.read_text(encoding="utf-8"))
    assert path in notebook.NOTEBOOKS
    assert sum(cell["cell_type"] == "code" for cell in shown["cells"]) >= 7
    assert notebook.played(shown) == shown


@pytest.mark.deep
def test_what_was_tested_and_played_against_others_is_shown_with_its_verdict(patients):
    scenario = reidsim.Scenario.from_frames(
        patients,
        hierarchies={"age": reidsim.intervals(20), "sex": "suppress"},
        economics=ECONOMICS,
        policies=["basic", "no-attack"],
        stress={"robustness": {"samples": 4}},
    )
    stressed = scenario.stress(loss=(100, 500))
    shown = stressed._repr_html_()
    assert "points of uncertain values" in shown
    assert "<td>" in shown
    assert len(repr(stressed)) < 120
    for method, words in (("morris", "mu_star (sigma)"), ("tornado", "at the low and at the high end")):
        shown = scenario.with_(stress={}).stress(loss=(100, 500), method=method)._repr_html_()
        assert "<td>economics.loss</td>" in shown
        assert words in shown
    played = scenario.cross_play()
    assert "Maximin: " in played._repr_html_()
    assert "<td>" in played._repr_html_()
    assert len(played.report().html) > len(stressed._repr_html_())


@pytest.mark.deep
def test_descriptions_and_explanations_are_shown_as_tables(patients):
    described = reidsim.describe(pa.Table.from_pandas(patients.assign(sex="<b>")), population_size=5000)
    assert repr(described) == f"FileDescription('data.csv': {len(patients)} records, {described.uniques} unique)"
    shown = described._repr_html_()
    assert f"<td>Unique records</td><td>{described.uniques} " in shown
    assert "<th>Distinct values</th>" in shown
    explained = reidsim.explain("market")
    assert str(explained) == repr(explained) == explained.text
    assert explained._repr_html_().count("<tr") == 1 + len(explained.options)
