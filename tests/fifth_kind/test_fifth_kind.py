"""A user-defined kind runs in all commands without changes to other files."""

import sys
from pathlib import Path

import numpy as np
import pytest

import reidsim
from reidsim.core.errors import InputError

FOLDER = Path(__file__).parent
SIZES = [1, 2, 4, 8, 40]
SCENARIO = f"""
game = "withholding:WITHHOLDING"
title = "Five records"
sizes = {SIZES}
[economics]
benefit = 20
loss = 60
cost = 10
[publisher]
policies = ["basic", "share-all"]
"""


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    (tmp_path / "withholding.py").write_text((FOLDER / "withholding.py").read_text())
    (tmp_path / "few.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "few.toml"
    sys.modules.pop("withholding", None)


def payoffs(loss=60.0, cost=10.0):
    """Return each shared record's payoff: 20 minus the loss of a profitable attack."""
    return np.array([20.0 - (loss / size if loss / size > cost else 0.0) for size in SIZES])


def test_it_runs_and_gives_what_enumeration_gives(scenario):
    result = reidsim.run(scenario, allow_code=True)
    found = result.summary["publisher_payoff"]
    assert found.to_dict() == pytest.approx(
        {"basic": np.maximum(payoffs(), 0).mean(), "share-all": payoffs().mean()}, rel=1e-12
    )
    assert result.records.loc[result.records["policy"] == "basic", "strategy"].nunique() == 2
    assert result.manifest["parts"]["withholding:WITHHOLDING"]["module"] == "withholding"


def test_its_code_runs_only_if_that_is_allowed(scenario):
    with pytest.raises(InputError, match=r"game: code that a scenario names is not run unless that is allowed"):
        reidsim.run(scenario)
    with pytest.raises(InputError, match=r"sizes"):
        reidsim.run(scenario, overrides={"sizes": [0]}, allow_code=True)
    with pytest.raises(InputError, match=r"unknown key"):
        reidsim.Scenario.load(scenario, {"size": [1]}, allow_code=True)


def test_a_class_that_is_no_whole_kind_is_told_in_one_line(scenario):
    text = "from reidsim.kinds import Kind\nclass Half(Kind):\n    name = words = 'half'\nclass None_: pass\n"
    Path("half.py").write_text(text)
    with pytest.raises(InputError, match=r"game: cannot be made: TypeError: .*build.*found 'half:Half'"):
        reidsim.run(scenario, overrides={"game": "half:Half"}, allow_code=True)
    with pytest.raises(InputError, match=r"game: not a kind of scenario; found 'half:None_'"):
        reidsim.run(scenario, overrides={"game": "half:None_"}, allow_code=True)


def test_it_is_swept(scenario):
    sweep = {"sweep.values": {"economics.loss": [30, 60], "economics.cost": [5, 20]}}
    result = reidsim.run_batch(scenario, overrides=sweep, executor="serial", allow_code=True)
    assert result.runs["state"].eq("complete").all()
    assert len(result.runs) == 2 * 2 * 2
    for _, row in result.runs.iterrows():
        shared = payoffs(row["economics.loss"], row["economics.cost"])
        expected = np.maximum(shared, 0) if row["policy"] == "basic" else shared
        assert row["publisher_payoff"] == pytest.approx(expected.mean(), rel=1e-12)


def test_it_is_cross_played(scenario):
    played = reidsim.cross_play(scenario, allow_code=True)
    matrix = played.matrix("publisher_payoff")
    assert {"one-shot", "fmdp", "always", "never", "random"} <= set(matrix.columns)
    assert matrix.loc["basic vs one-shot", "one-shot"] == pytest.approx(np.maximum(payoffs(), 0).mean(), rel=1e-12)
    assert matrix.loc["share-all", "always"] == pytest.approx(20 - np.mean(60 / np.array(SIZES)), rel=1e-12)
    assert matrix.loc["share-all", "never"] == 20


def test_agents_of_several_types_meet_its_records(scenario):
    both = {"keen": {"weight": 0.25, "cost": 2}, "own": {"weight": 0.75}}
    result = reidsim.run(scenario, overrides={"agents.rounds": 1, "adversaries": both}, allow_code=True)
    expected = 0.25 * payoffs(cost=2) + 0.75 * payoffs()
    found = result.summary["publisher_payoff"].to_dict()
    assert found == pytest.approx({"basic": np.maximum(expected, 0).mean(), "share-all": expected.mean()}, rel=1e-12)
    with pytest.raises(InputError, match=r"own\.holds: this kind of scenario has no resources"):
        reidsim.run(scenario, overrides={"agents": {}, "adversaries.own": {"weight": 1, "holds": []}}, allow_code=True)


@pytest.mark.deep
def test_its_report_has_the_question_of_its_own_template(scenario):
    result = reidsim.run(scenario, allow_code=True)
    assert "A study of the kind <code>withholding:WITHHOLDING</code>." in result.report(break_even=False).html
    Path("question.jinja").write_text(
        "{% call w.item() %}{{ content.sizes|length }} records, <{{ run.name }}>?{% endcall %}"
    )
    assert "<li>5 records, <few>?</li>" in result.report(break_even=False).html
