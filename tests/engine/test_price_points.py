"""Batches over payoff parameters have the payoffs of the paper's algorithms."""

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, positive_amounts
from small_scenario import expected_measures, releases, strategies_by_the_paper, write_scenario
from tiers import examples

from reidsim.engine.batch.design import Design, ScenarioWork, content_of_run
from reidsim.engine.batch.runner import tasks_of
from reidsim.scenarios.load import Scenario

AVERAGES = (
    "publisher_payoff", "adversary_payoff", "utility", "generalization_intensity", "share_attacked", "risk",
    "share_unchanged", "share_suppressed",
)  # fmt: skip
POLICIES = ["basic", "no-attack", "no-protection", "suppress-all"]


def tables_at(loaded, points):
    """Return the tables of the run at each point."""
    tasks = tasks_of(loaded, Design(points), content_of_run(loaded))
    work = ScenarioWork(loaded)
    return [(task.point, work(task)[0]) for task in tasks]


prices = st.lists(
    st.fixed_dictionaries(
        {
            "economics.benefit": positive_amounts,
            "economics.loss": amounts,
            "economics.gain": amounts,
            "economics.cost": amounts,
            "beliefs.cost": amounts,
        }
    ),
    min_size=2,
    max_size=4,
    unique_by=lambda point: tuple(point.values()),
)


@given(small=releases(), points=prices)
@examples(25)
def test_record_level_points_are_solved_as_the_paper_does(tmp_path_factory, small, points):
    loaded = Scenario.load(write_scenario(tmp_path_factory.mktemp("small"), small, policies=POLICIES))
    table = pd.DataFrame(points).drop(columns="beliefs.cost")
    table = table.drop_duplicates(ignore_index=True)
    for point, tables in tables_at(loaded, table):
        money = {key.partition(".")[2]: (value,) * small.n_records for key, value in table.iloc[point].items()}
        here = replace(small, **money)
        runs = pd.DataFrame(tables["runs"]).set_index("policy")
        for policy in POLICIES:
            expected = expected_measures(here, strategies_by_the_paper(here, policy))
            for name in AVERAGES:
                close = {"rel": 1e-9, "abs": 1e-9 * here.scale[0]}
                assert runs.loc[policy, name] == pytest.approx(expected[name], **close), (policy, name)
