"""Batches over payoff parameters: the paper's payoffs, and interrupted batches."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, positive_amounts
from small_scenario import expected_measures, releases, strategies_by_the_paper, write_scenario
from tiers import cases, examples

import reidsim
from reidsim.engine.batch.design import Design, content_of_run, design_of
from reidsim.engine.batch.one_run import ScenarioWork
from reidsim.engine.batch.runner import tasks_of
from reidsim.scenarios.load import load_scenario

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
    loaded = load_scenario(write_scenario(tmp_path_factory.mktemp("small"), small, policies=POLICIES))
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


WARD = """
[population]
path = "people.csv"
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.village]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 80
cost = 10
[adversary]
risk = "prosecutor"
[publisher]
unit = "table"
safe_class = "above"
policies = [
  "basic", "no-attack", "sh-friendly", "local-recoding", "record-level", "record-level-no-attack", "safe-harbor",
  "no-protection", "suppress-all", "multi-dimensional",
]
[safe_harbor]
age = "age"
"""


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    """Write a scenario of ninety people, forty of whom are in the release."""
    folder = tmp_path_factory.mktemp("ward")
    rng = np.random.default_rng(4)
    people = pd.DataFrame(
        {
            "age": np.minimum(20 + rng.geometric(0.12, 90), 59),
            "sex": rng.choice(["F", "M"], 90),
            "village": rng.choice(["Dale", "Hill", "Ford"], 90, p=[0.6, 0.3, 0.1]),
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    people.iloc[:40].to_csv(folder / "records.csv", index=False)
    (folder / "ward.toml").write_text(WARD)
    return folder / "ward.toml"


def test_runs_that_share_a_study_are_neighbours(tmp_path):
    shutil.copytree(Path(__file__).parents[1] / "scenarios" / "town", tmp_path / "town")
    values = {"economics.cost": [1, 2], "adversary.risk": ["prosecutor", "journalist"]}
    loaded = load_scenario(tmp_path / "town" / "town.toml", {"sweep.values": values, "replications": 2})
    tasks = tasks_of(loaded, design_of(loaded), content_of_run(loaded))
    order = [(task.replication, task.values["adversary.risk"], task.values["economics.cost"]) for task in tasks]
    assert order == [(r, risk, cost) for r in (0, 1) for risk in ("prosecutor", "journalist") for cost in (1, 2)]


@pytest.mark.parametrize("kind", cases(["town", "ward"], ["ward"]))
def test_a_sweep_interrupted_in_the_middle_goes_on_to_the_same_tables(kind, ward, tmp_path, monkeypatch):
    shutil.copytree(Path(__file__).parents[1] / "scenarios" / "town", tmp_path / "town")
    path = ward if kind == "ward" else tmp_path / "town" / "town.toml"
    changes = {"sweep.values": {"economics.cost": [2, 4, 8, 16, 32], "economics.loss": [50, 150]}}
    monkeypatch.chdir(tmp_path)
    reidsim.run_batch(path, overrides=changes, executor="serial", folder="whole")
    call, seen = ScenarioWork.__call__, []

    def interrupted(self, task):
        seen.append(task.point)
        if len(seen) == 5:
            raise KeyboardInterrupt
        return call(self, task)

    monkeypatch.setattr(ScenarioWork, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reidsim.run_batch(path, overrides=changes, executor="serial", folder="parts")
    monkeypatch.setattr(ScenarioWork, "__call__", lambda self, task: seen.append(task.point) or call(self, task))
    reidsim.run_batch(path, overrides=changes, executor="serial", folder="parts", resume=True)
    assert len(seen) == 5 + 6
    reidsim.run_batch(path, overrides=changes, executor="processes", workers=2, folder="two")
    for name in ("runs", "statistics", "differences", "distributions"):
        whole = Path(f"whole/{name}.parquet").read_bytes()
        assert Path(f"parts/{name}.parquet").read_bytes() == whole
        assert Path(f"two/{name}.parquet").read_bytes() == whole
