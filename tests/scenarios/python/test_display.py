"""Every kind of result has a one-line text and a table for notebooks."""

from pathlib import Path

import pytest
from test_registered_parts import EXAMPLES, TABLE

import reidsim
from reidsim.engine.attributes import attributes_loaded
from reidsim.engine.results import Result
from reidsim.engine.score import score_loaded
from reidsim.engine.switch import switch_loaded
from reidsim.scenarios.scenario import Scenario

ROUNDS = "[agents]\nrounds = 2\n"
UNCERTAINTY = """
[uncertainty]
samples = 2
parameters = { "economics.loss" = { distribution = "uniform", low = 50, high = 300 } }
"""
SWEEP = '[sweep.values]\n"economics.loss" = [60, 100]\n'
STRESS = f'{UNCERTAINTY}[stress]\noutputs = ["publisher_payoff"]\nrobustness = {{ samples = 2 }}\n'
REPLICATIONS = "replications = 2"


@pytest.fixture
def ward(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("patients.csv").write_text(EXAMPLES["patients.csv"])

    def write(sections="", head=""):
        Path("ward.toml").write_text(TABLE.format(head=head, planner="", policy="") + sections)
        return Path("ward.toml")

    return write


def assert_displayed(result, *texts):
    assert isinstance(result, Result)
    shown = result._repr_html_()
    assert shown.count("<td") >= 2
    assert all(text in shown for text in (result.name, *texts))
    assert "nan" not in shown.lower()
    assert len(repr(result).splitlines()) == 1
    assert result.name in repr(result)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("sections", "head"),
    [
        ("", ""),
        (ROUNDS, ""),
        (UNCERTAINTY, REPLICATIONS),
        (SWEEP + ROUNDS, REPLICATIONS),
    ],
    ids=["once", "rounds", "both", "swept rounds"],
)
def test_runs_and_batches_are_displayed(ward, sections, head):
    result = reidsim.run_batch(ward(sections, head), executor="serial")
    answers = () if SWEEP in sections else (" pays most, ",)
    assert_displayed(result, "Publisher&#39;s payoff" if answers else "payoff", *answers)
    assert ("From the first of 2 rounds" in result._repr_html_()) == (sections.startswith(ROUNDS))


def test_studies_of_a_scenario_are_displayed(ward):
    loaded = Scenario.load(ward())
    assert_displayed(switch_loaded(loaded, "economics.loss"), "basic")
    assert_displayed(attributes_loaded(loaded), "sex", "publisher_payoff")
    assert_displayed(score_loaded(loaded, "patients.csv"), "patients.csv")
    assert_displayed(reidsim.stress(ward(STRESS)), "points of uncertain values")
