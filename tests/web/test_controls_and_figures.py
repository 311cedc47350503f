"""Controls, changes and texts of step Game; test_browser tests the page itself."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from reidsim.core.errors import InputError
from reidsim.engine.exploration import one_game
from reidsim.engine.scenario import Scenario
from reidsim.engine.single_run import run_once
from reidsim.figures.runs import risks_by_policy
from reidsim.figures.style import own_settings, policy_name
from reidsim.reports.page.decision import read_back_html
from reidsim.reports.page.report import report_text
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.comparison import draw_values
from reidsim.reports.shared.file import releases_of
from reidsim.reports.verdict import measures_table, verdict


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


def test_gain_moves_with_the_loss_until_it_has_a_value_of_its_own(small):
    fixed = small.with_({"economics.gain": 5})
    both = run_once(small.with_({"economics.loss": 60.0})).summary
    stays = run_once(small.with_({"economics.loss": 60.0, "economics.gain": 6.0})).summary
    linked_again = run_once(fixed.with_({"economics.loss": 60.0, "economics.gain": None})).summary
    assert both.equals(linked_again)
    # A gain of 60 makes attacks profitable that are not at a gain of 6.
    assert stays.loc["no-attack", "utility"] > both.loc["no-attack", "utility"]


@pytest.mark.deep
def test_the_read_back_is_that_of_the_report(small, tmp_path):
    result = run_once(small)
    result.save(tmp_path / "results")
    report = report_text(tmp_path / "results", break_even=False)
    report = report.replace('<p class="answer">', "<p>")
    report = report.replace("; no file written by reidsim share for this run was found", "")
    run = StoredRun.from_result(result)
    shown = read_back_html(run, releases_of(run))
    unit, *parts = re.findall(r"<p>.*?</p>|<table>.*?</table>", shown, flags=re.DOTALL)
    assert "Unit: rows; each of 6 rows counts as one person" in unit
    assert len(parts) == 2
    for part in parts:
        assert part in report
    named = read_back_html(run, releases_of(run), policy_name)
    assert "No-attack" in named
    assert not {"no-attack", "reidsim share"} & set(re.findall("no-attack|reidsim share", named))


def test_values_change_the_result_as_they_do_in_a_run(small):
    as_it_is = run_once(small)
    dear = run_once(small.with_({"economics.loss": 60.0, "adversary.planner": "fmdp"}))
    assert dear.manifest["content"]["economics"]["loss"] == 60.0
    assert dear.summary.loc["basic", "publisher_payoff"] < as_it_is.summary.loc["basic", "publisher_payoff"]
    # The settings of one view do not remain in the scenario.
    assert small.content["economics"]["loss"] == 6


def test_the_table_of_measures_shows_the_result_and_a_refused_value_its_key(small):
    with pytest.raises(InputError, match=r"economics\.loss"):
        small.with_({"economics.loss": -1.0})
    result = run_once(small)
    summary, content = result.summary, result.manifest["content"]
    table = measures_table(summary, content)
    rows = re.findall(r'<tr><th scope="row" title="([^"]*)">([^<]*)</th>(.*?)</tr>', table)
    assert [name for _, name, _ in rows][:3] == ["Publisher&#39;s payoff", "Adversary&#39;s payoff", "Utility"]
    assert all(definition for definition, _, _ in rows)
    payoffs = re.findall(r"<td>([^<]*)</td>", rows[0][2])
    assert payoffs == [f"{value:,.2f}" for value in summary["publisher_payoff"]]
    best = summary["publisher_payoff"].max()
    assert f" pays most, {best:,.2f} per record" in verdict(summary, content)


def test_the_share_of_records_at_or_above_a_risk_is_counted():
    records = pd.DataFrame(
        {
            "policy": "basic",
            "attacked": [True, True, True, False],
            "success_probability": [0.5, 0.25, 0.25, 1.0],
            "weight": [1, 1, 1, 1],
        }
    )
    (line,) = risks_by_policy(records).axes[0].lines
    # Each share is drawn from its risk down to the next lower one; no record has a risk above the last.
    assert line.get_drawstyle() == "steps-pre"
    risks, shares = np.array(line.get_xdata()), np.array(line.get_ydata())
    assert risks.max() == 0.5
    for risk, expected in ((0.5, 0.25), (0.3, 0.25), (0.25, 0.75), (0.1, 0.75)):
        assert shares[risks >= risk][0] == expected


def test_currency_signs_in_values_are_plain_text():
    with own_settings():
        figure = draw_values(pd.Series({"$1_{": 0.5, "$5$ to $9$": 0.3, "$": 0.2}), "income in $^")
        figure.savefig(io.BytesIO(), format="svg")
        assert [text for text in figure.findobj(Text) if text.get_parse_math()] == []
        assert {"$1_{", "$5$ to $9$", "$"} <= {text.get_text() for text in figure.findobj(Text)}


def test_one_game_leaves_the_rounds_out(small):
    loaded = small.with_content({**small.content, "agents": {"rounds": 2}})
    played, game = run_once(loaded), run_once(one_game(loaded))
    assert played.analysis.tables()["rounds"]["round"].unique().tolist() == [1, 2]
    assert "rounds" not in game.analysis.tables()
    # One adversary, expected outcomes, nothing to learn: every round is the analytic game.
    np.testing.assert_allclose(played.summary["publisher_payoff"], game.summary["publisher_payoff"], rtol=1e-12)
