"""Points of a batch that differ in money alone: what is solved for all of them at once is what each is on its own."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, positive_amounts
from small_scenario import expected_measures, releases, safe_harbor_study, strategies_by_the_paper, write_scenario
from tiers import cases, examples

import reidsim
from reidsim.engine.batch import one_run
from reidsim.engine.batch.design import Design, content_of_run, design_of
from reidsim.engine.batch.one_run import ScenarioWork
from reidsim.engine.batch.runner import tasks_of
from reidsim.kinds.tables import many_points
from reidsim.kinds.tables.kind import TABLES
from reidsim.scenarios.load import load_scenario

AVERAGES = (
    "publisher_payoff", "adversary_payoff", "utility", "generalization_intensity", "share_attacked", "risk",
    "share_unchanged", "share_suppressed",
)  # fmt: skip
POLICIES = ["basic", "no-attack", "no-protection", "suppress-all"]


def outcomes(loaded, points):
    """Return the tables of each run, done with the others in mind and done alone."""
    design = Design(points)
    tasks = tasks_of(loaded, design, content_of_run(loaded))
    together, alone = ScenarioWork(loaded, design), ScenarioWork(loaded)
    return [(task.point, together(task), alone(task)) for task in tasks]


def assert_same(one, other):
    """Check that two runs have the same tables, run times apart."""
    (tables, warnings), (expected, warned) = one, other
    assert warnings == warned
    assert set(tables) == set(expected) - {"runtimes"}
    for name, columns in tables.items():
        assert list(columns) == list(expected[name])
        for column, values in columns.items():
            if isinstance(values[0], str):
                assert values == expected[name][column]
            else:
                np.testing.assert_allclose(values, expected[name][column], rtol=1e-12, atol=1e-12, err_msg=column)


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


@given(small=releases(), points=prices, solver=st.sampled_from(["backward-induction", "branch-and-bound"]))
@examples(25)
def test_record_level_points_are_what_each_is_on_its_own(tmp_path_factory, small, points, solver):
    folder = tmp_path_factory.mktemp("small")
    loaded = load_scenario(write_scenario(folder, small, policies=POLICIES, solver=solver))
    for _, together, alone in outcomes(loaded, pd.DataFrame(points)):
        assert_same(together, alone)


@given(small=releases(), points=prices)
@examples(25)
def test_record_level_points_are_solved_as_the_paper_does(tmp_path_factory, small, points):
    loaded = load_scenario(write_scenario(tmp_path_factory.mktemp("small"), small, policies=POLICIES))
    table = pd.DataFrame(points).drop(columns="beliefs.cost")
    table = table.drop_duplicates(ignore_index=True)
    for point, (tables, _), _ in outcomes(loaded, table):
        money = {key.partition(".")[2]: (value,) * small.n_records for key, value in table.iloc[point].items()}
        here = replace(small, **money)
        runs = pd.DataFrame(tables["runs"]).set_index("policy")
        for policy in POLICIES:
            expected = expected_measures(here, strategies_by_the_paper(here, policy))
            for name in AVERAGES:
                close = {"rel": 1e-9, "abs": 1e-9 * here.scale[0]}
                assert runs.loc[policy, name] == pytest.approx(expected[name], **close), (policy, name)


def test_points_of_rules_and_of_games_under_them_are_those_of_the_paper(tmp_path):
    small, study = safe_harbor_study(tmp_path, "us-2010")
    rule = [(1 if a >= 2 else 0, 1) for a, _ in small.records]
    points = pd.DataFrame({"economics.cost": [0.0, 3.0, 6.0, 15.0]})
    for point, together, alone in outcomes(study.loaded, points):
        assert_same(together, alone)
        here = replace(small, cost=(points["economics.cost"][point],) * small.n_records)
        runs = pd.DataFrame(together[0]["runs"]).set_index("policy")
        for policy in runs.index:
            expected = expected_measures(here, strategies_by_the_paper(here, policy, rule))
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
    """Ninety people of whom forty are released."""
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


@given(
    points=st.lists(
        st.fixed_dictionaries(
            {
                "economics.benefit": st.sampled_from([0, 50, 100]) | st.floats(1, 200),
                "economics.loss": st.sampled_from([0, 80]) | st.floats(1, 500),
                "economics.gain": st.sampled_from([0, 20, 30, 40, 60]) | st.floats(1, 300),
                "economics.cost": st.sampled_from([0, 10]) | st.floats(1, 50),
                "beliefs.loss": st.sampled_from([0, 80]),
                "beliefs.risk": st.sampled_from(["prosecutor", "journalist"]),
            }
        ),
        min_size=2,
        max_size=5,
    ),
    limit=st.sampled_from([0.0, 0.1, 1.0]),
    prune=st.booleans(),
)
@examples(15)
def test_points_at_dataset_level_are_what_each_is_on_its_own(ward, points, limit, prune):
    changes = {"publisher.suppression_limit": limit, "publisher.prune": prune, "adversary.risk": "journalist"}
    loaded = load_scenario(ward, changes)
    for _, (tables, warnings), (expected, warned) in outcomes(loaded, pd.DataFrame(points)):
        expected.pop("runtimes")
        tables.pop("runtimes", None)
        assert_same((tables, warnings), (expected, warned))


def test_walks_are_shared_by_blocks_of_neighbours(ward, monkeypatch):
    """Seven points in blocks of three, the last alone: who asks first solves for the block."""
    solved = []
    search = many_points.search
    monkeypatch.setattr("reidsim.kinds.tables.many_points.MOST_POINTS", 3)
    monkeypatch.setattr(many_points, "search", lambda game, **how: solved.append(game) or search(game, **how))
    loaded = load_scenario(ward, {"publisher.policies": ["basic"]})
    found = outcomes(loaded, pd.DataFrame({"economics.loss": [float(50 * step) for step in range(7)]}))
    assert [game.prices.loss[:, 0].tolist() for game in solved] == [[0, 50, 100], [150, 200, 250]]
    for _, together, alone in found:
        together[0].pop("runtimes", None)
        assert_same(together, alone)


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({"publisher.search": "anytime", "publisher.nodes": 5, "publisher.policies": ["basic"]}, {}),
        ({}, {"publisher.prune": [True, False]}),
        ({"economics.columns": {"benefit": "age"}}, {}),
    ],
)
def test_what_has_a_budget_or_a_time_of_its_own_is_solved_alone(ward, changes, points):
    loaded = load_scenario(ward, changes)
    points = pd.DataFrame({"economics.cost": [5.0, 20.0], **points})
    for _, (tables, _), _ in outcomes(loaded, points):
        assert len(tables["runtimes"]["seconds"]) == len(tables["runs"]["policy"])


def test_strategies_are_thinned_only_where_points_share_a_study(ward, tmp_path, monkeypatch):
    shutil.copytree(Path(__file__).parents[1] / "scenarios" / "town", tmp_path / "town")
    loaded = load_scenario(tmp_path / "town" / "town.toml")
    thinned = []
    monkeypatch.setattr(one_run, "equilibria_at", lambda *these: thinned.append(these) or {})
    for method in ("play", "summarise", "further_measures"):
        monkeypatch.setattr(TABLES, method, lambda *given, **more: {} if more else pd.DataFrame())
    risks = ["prosecutor", "journalist"]

    def times(**points):
        thinned.clear()
        design = Design(pd.DataFrame(points))
        work = ScenarioWork(loaded, design)
        for task in tasks_of(loaded, design, content_of_run(loaded)):
            work(task)
        return len(thinned)

    assert times(**{"economics.cost": [1.0, 2.0]}) == 2
    assert times(**{"economics.cost": [1.0, 2.0, 1.0, 2.0], "adversary.risk": sorted(risks * 2)}) == 4
    assert times(**{"adversary.risk": risks}) == 0
    assert times(**{"economics.cost": [1.0, 2.0], "adversary.risk": risks}) == 0
    assert times(**{"economics.cost": [1.0, 2.0], "adversary.planner": ["fmdp", "fmdp"]}) == 0
    assert times(**{"economics.cost": [1.0, 2.0], "publisher.solver": ["lattice-search"] * 2,
                    "publisher.policies": [["basic"]] * 2}) == 0  # fmt: skip


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
