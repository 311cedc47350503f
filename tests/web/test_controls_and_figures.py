"""The web page's controls and figure tables; test_browser tests the page itself."""

import re

import numpy as np
import pandas as pd
import pytest

from reidsim.engine.single_run import run_once
from reidsim.figures.studies import risks_by_policy
from reidsim.reports.page.report import report_text
from reidsim.reports.verdict import measures_table, verdict
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.scenario import Scenario
from reidsim.web.exploration import Explorer, changed, form_shares, read_back_html


def controls_of(loaded):
    return tuple(kind_of(loaded.scenario).controls(loaded.scenario))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenario")
    (folder / "people.csv").write_text("age,sex\n30,F\n30,F\n31,F\n31,M\n32,M\n34,M\n")
    (folder / "small.toml").write_text(
        'title = "Six people"\n[release]\npath = "people.csv"\n'
        '[attributes.age]\nhierarchy = { rule = "intervals", widths = [2] }\n'
        '[attributes.sex]\nhierarchy = { rule = "suppress" }\n'
        '[economics]\nbenefit = 10\nloss = 6\ncost = 2\n[adversary]\nrisk = "prosecutor"\n'
    )
    return Scenario.load(folder / "small.toml")


def test_a_masking_scenario_offers_its_threshold_and_a_risk_scenario_nothing():
    assert "adversary.confidence_threshold" in {c.key for c in controls_of(Scenario.load("wan2021"))}
    assert controls_of(Scenario.load("xia2021")) == ()


def test_gain_moves_with_the_loss_until_it_has_a_value_of_its_own(small):
    gain = next(control for control in controls_of(small) if control.key == "economics.gain")
    assert (gain.linked, gain.follows, gain.value) == (True, "economics.loss", 6)
    fixed = small.with_content({**small.content, "economics": {**small.content["economics"], "gain": 5}})
    own = next(control for control in controls_of(fixed) if control.key == "economics.gain")
    assert (own.linked, own.value) == (False, 5)
    explorer = Explorer(small)
    both = explorer.solve({"economics.loss": 60.0})
    stays = explorer.solve({"economics.loss": 60.0, "economics.gain": 6.0})
    linked_again = explorer.solve({"economics.loss": 60.0, "economics.gain": None})
    assert both.measures.equals(linked_again.measures)
    # A gain of 60 makes attacks profitable that are not at a gain of 6.
    assert stays.measures.loc["no-attack", "utility"] > both.measures.loc["no-attack", "utility"]
    unlinked = Explorer(fixed).solve({"economics.gain": None})
    assert "gain" not in unlinked.content["economics"]


def test_the_read_back_is_that_of_the_report(small, tmp_path):
    shown = Explorer(small).solve({})
    run_once(small).save(tmp_path / "results")
    report = report_text(tmp_path / "results", break_even=False)
    unit, *parts = re.findall(r"<p>.*?</p>|<table>.*?</table>", read_back_html(shown), flags=re.DOTALL)
    assert "Unit: rows; each of 6 rows counts as one person" in unit
    assert len(parts) == 2
    for part in parts:
        assert part in report.replace('<p class="answer">', "<p>")


def test_values_change_the_result_as_they_do_in_a_run(small):
    as_it_is = run_once(changed(small, {}))
    dear = run_once(changed(small, {"economics.loss": 60.0, "adversary.planner": "fmdp"}))
    assert dear.manifest["content"]["economics"]["loss"] == 60.0
    assert dear.summary.loc["basic", "publisher_payoff"] < as_it_is.summary.loc["basic", "publisher_payoff"]
    # The settings of one view do not remain in the scenario.
    assert small.content["economics"]["loss"] == 6


def test_the_table_of_measures_shows_the_result_and_a_refused_value_its_key(small):
    shown = Explorer(small).solve({"economics.loss": -1.0})
    assert "economics.loss" in shown.problem
    shown = Explorer(small).solve({})
    table = measures_table(shown.measures, shown.content)
    rows = re.findall(r'<tr><th scope="row" title="([^"]*)">([^<]*)</th>(.*?)</tr>', table)
    assert [name for _, name, _ in rows][:3] == ["Publisher&#39;s payoff", "Adversary&#39;s payoff", "Utility"]
    assert all(definition for definition, _, _ in rows)
    payoffs = re.findall(r"<td>([^<]*)</td>", rows[0][2])
    assert payoffs == [f"{value:,.2f}" for value in shown.measures["publisher_payoff"]]
    best = shown.measures["publisher_payoff"].max()
    assert f" pays most, {best:,.2f} per record" in verdict(shown.measures, shown.content)


def test_each_form_is_recognized():
    records = pd.DataFrame(
        {
            "policy": ["game"] * 4,
            "strategy": ["0,1", "1,2", "0,0", "withheld"],
            "age": ["30", "30-31", "30", None],
            "sex": ["F|M", "*", "F", None],
        }
    )
    shares = form_shares(records, ["age", "sex"], "game")
    assert shares.loc["age"].tolist() == [0.5, 0.25, 0.0, 0.25]
    assert shares.loc["sex"].tolist() == [0.25, 0.25, 0.25, 0.25]


def test_what_is_read_once_serves_every_value(small):
    explorer = Explorer(small)
    for values in ({"economics.loss": 60.0}, {"adversary.planner": "fmdp"}):
        shown, alone = explorer.solve(values), run_once(changed(small, values))
        pd.testing.assert_frame_equal(shown.measures, alone.summary)
        pd.testing.assert_frame_equal(shown.result.records, alone.records)


def test_the_share_of_records_at_or_above_a_risk_is_counted():
    records = pd.DataFrame(
        {
            "policy": "basic",
            "attacked": [True, True, True, False],
            "success_probability": [0.5, 0.25, 0.25, 1.0],
        }
    )
    (line,) = risks_by_policy(records).axes[0].lines
    # Each share is drawn from its risk down to the next lower one.
    assert line.get_drawstyle() == "steps-post"
    risks, shares = np.array(line.get_xdata()), np.array(line.get_ydata())
    for risk, expected in ((0.6, 0), (0.5, 0.25), (0.3, 0.25), (0.25, 0.75), (0.1, 0.75), (0.0, 1)):
        assert shares[risks >= risk][-1] == expected


def test_rounds_are_those_of_a_run(small):
    loaded = small.with_content({**small.content, "agents": {"rounds": 2}})
    explorer = Explorer(loaded)
    assert explorer.n_rounds == 2
    assert Explorer(small).n_rounds == 0
    assert explorer.solve({}).rounds is None
    played = explorer.solve({"economics.loss": 60.0}, with_rounds=True)
    assert played.rounds["round"].unique().tolist() == [1, 2]
    # One adversary, expected outcomes, nothing to learn: every round is the analytic game.
    game = explorer.solve({"economics.loss": 60.0})
    np.testing.assert_allclose(played.measures["publisher_payoff"], game.measures["publisher_payoff"], rtol=1e-12)
