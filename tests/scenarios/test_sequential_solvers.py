"""Key `sequential.solver`: backward induction and linear programs agree."""

import pandas as pd
import pytest
from tiers import cases

import reidsim
from reidsim.cli import main
from reidsim.core.errors import InputError

SCENARIO = """
[population]
path = "people.csv"

[release]
path = "patients.csv"

[attributes.age]
hierarchy = { rule = "intervals", widths = [10, 20] }

[attributes.sex]
hierarchy = { rule = "suppress" }

[economics]
benefit = 50
loss = 150
cost = 8

[adversary]
planner = "fmdp"

[adversary.sequential]
access_cost = 2
penalty = 100
max_penalties = 1
detection_slope = 0.2

[publisher]
policies = ["basic", "no-attack", "no-protection"]
"""
SETTINGS = {
    "known": {},
    "unknown": {"adversary.sequential.belief": "unknown"},
    "persons": {"adversary.direction": "person", "adversary.risk": "prosecutor"},
    "erring": {"adversary.rationality": "logit", "adversary.precision": 0.05},
    "rounds": {"agents.rounds": 2},
}


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """Write a scenario with six patients among twelve people."""
    patients = pd.DataFrame({"age": [31, 33, 34, 42, 43, 71], "sex": list("FFFMMF")})
    patients.to_csv(tmp_path / "patients.csv", index=False)
    patients.assign(count=2).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "clinic.toml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "clinic.toml"


def played(clinic, solver, sets):
    result = reidsim.run(clinic, overrides={**sets, "adversary.sequential.solver": solver})
    return [table for table in (result.summary, result.records) if table is not None]


@pytest.mark.deep
@pytest.mark.parametrize("setting", cases(SETTINGS, ["known", "unknown"]))
def test_every_solver_gives_the_same_study(clinic, setting):
    expected = played(clinic, "backward-induction", SETTINGS[setting])
    for solver in ("linear-program", "two-level"):
        for mine, theirs in zip(played(clinic, solver, SETTINGS[setting]), expected, strict=True):
            pd.testing.assert_frame_equal(mine, theirs, rtol=1e-9, atol=1e-9)
    assert expected[0]["adversary_payoff"].max() > 0


UNCONFIRMED = {"sensitivity": 0.9, "specificity": 0.9}


@pytest.mark.parametrize(
    ("sets", "problem"),
    [
        ({"adversary.sequential.unconfirmed": UNCONFIRMED}, r"needs solver .backward-induction.; found 'two-level'"),
        ({"adversary.sequential.solver": "simplex"}, r"found 'simplex'"),
    ],
)
def test_a_solver_that_cannot_plan_the_attack_is_refused(clinic, sets, problem):
    with pytest.raises(InputError, match=r"adversary.sequential.solver: .*" + problem):
        reidsim.Scenario.load(clinic, {"adversary.sequential.solver": "two-level", **sets})


@pytest.mark.parametrize("solver", ["linear-program", "two-level"])
def test_groups_too_large_for_linear_programs_are_refused_in_one_line(clinic, solver, monkeypatch, capsys):
    monkeypatch.setattr("reidsim.adversaries.sequential.attack._MOST_PROGRAM_STATES", 50)
    monkeypatch.setattr("sys.argv", ["reidsim", "run", "clinic.toml", f"--set=adversary.sequential.solver={solver}"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert "sequential.solver: the linear programs have too many states" in message
    assert "Traceback" not in message
    assert not list(clinic.parent.glob("*/manifest.json"))
