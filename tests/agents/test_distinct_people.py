"""Distinct people over rounds, redrawn targets, violated guarantees, re-identifications by resource."""

import itertools
from unittest.mock import Mock

import numpy as np
import pytest

import reidsim
from reidsim.agents.foresight import Opponent, foreseen_by
from reidsim.agents.model import ReidentificationModel
from reidsim.core.errors import InputError
from reidsim.engine.single_run import run_once
from reidsim.reports.drawing import figures_of
from reidsim.scenarios.scenario import Scenario

DISTINCT = "distinct_reidentified"
FIVE = "age,town,job\n30,Dale,clerk\n31,Dale,nurse\n32,Hill,smith\n33,Hill,clerk\n34,Hill,nurse\n"
TOWN = {
    "targets.csv": FIVE,
    "directory.csv": FIVE,
    "register.csv": FIVE,
    "town.toml": """game = "masking"
seed = 1
[targets]
file = "targets.csv"
[resources.directory]
file = "directory.csv"
attributes = ["age", "town", "job"]
price = 1
[resources.register]
file = "register.csv"
attributes = ["town", "job"]
[economics]
benefit = 100
loss = 150
cost = 50
[subjects]
attributes = ["age", "town"]
weights = "uniform"
policies = ["no-protection", "no-attack-masking"]
[agents]
rounds = 3
together = "all"
[adversaries.broker]
weight = 0.5
holds = ["register"]
buys = ["directory"]
[[adversaries.broker.stages]]
stage = "infer-by-linkage"
resource = "directory"
infers = "job"
on = ["age", "town"]
[[adversaries.broker.stages]]
stage = "identify"
resource = "register"
on = ["town", "job"]
""",
}
POOR = {"weight": 0.25, "holds": ["register"], "budget": 65}
POOR["stages"] = [{"stage": "identify", "resource": "register", "on": ["town"]}]
WITH_POOR = {"economics.cost": 30, "subjects.policies": ["no-protection"], "agents.rounds": 2, "adversaries.poor": POOR}
HOLDS_ALL = {"adversaries.broker.holds": ["register", "directory"], "adversaries.broker.buys": []}


@pytest.fixture(scope="module")
def town_file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("town"), TOWN)


def written(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / "town.toml"


@pytest.fixture(scope="module")
def town_run(town_file):
    return reidsim.run(town_file)


def two_types(town, profile_of_small, **poor):
    """Return an adversary who attacks all records, and one with a limited budget.

    The budget of the second covers part of a cell.
    """
    return [
        profile_of_small(town, "rich", weight=0.4, gain=60.0, cost=1.0),
        profile_of_small(town, "poor", weight=0.6, gain=60.0, cost=3.0, budget=17.0, **poor),
    ]


def played(setting, policy="no-protection"):
    model = ReidentificationModel(setting, policy).run()
    return model.datacollector.get_model_vars_dataframe()


# Distinct people.


@pytest.mark.deep
@pytest.mark.parametrize(("meeting", "drawn"), [("one-of", False), ("all", True)])
def test_expected_distinct_people_are_the_mean_over_draws(meeting, drawn, town, profile_of_small, setting_of_small):
    """Within four standard errors over 120 draws of four rounds."""
    types = two_types(town, profile_of_small, draws_targets=drawn)
    rules = {"meeting": meeting, "rounds": 4, "profiles": types}
    expected = played(setting_of_small(**rules))[DISTINCT].to_numpy()
    counted = np.array(
        [played(setting_of_small(mode="sampling", replication=draw, **rules))[DISTINCT] for draw in range(120)]
    )
    assert (np.diff(counted, axis=1) >= 0).all()
    assert (counted == np.round(counted)).all()
    errors = counted.std(axis=0) / np.sqrt(len(counted))
    assert (errors > 0).all()
    assert (np.abs(counted.mean(axis=0) - expected) <= 4 * errors).all()


def test_distinct_people_by_enumeration_of_who_is_there(town, profile_of_small, setting_of_small):
    """Enumerate the adversaries present in three rounds; attempts are independent."""
    types, rounds = two_types(town, profile_of_small), 3
    setting = setting_of_small(profiles=types, meeting="all", rounds=rounds)
    model = ReidentificationModel(setting, "no-protection").run()
    success = np.zeros((2, setting.n_subjects))
    for number, adversary in enumerate(model.adversaries):
        for cell in range(setting.n_cells):
            # The budget covers the first subjects of a cell.
            attacked = np.flatnonzero(setting.cell_of_subject == cell)[: int(adversary.plan.targets[cell])]
            success[number, attacked] = adversary.plan.replies.success[cell]
    weights = [profile.weight for profile in types]
    expected = 0.0
    for there in itertools.product([False, True], repeat=2 * rounds):
        probability = np.prod(
            [weights[place % 2] if is_there else 1 - weights[place % 2] for place, is_there in enumerate(there)]
        )
        never = np.ones(setting.n_subjects)
        for place in np.flatnonzero(there):
            never *= 1 - success[place % 2]
        expected += probability * (1 - never).sum()
    found = model.datacollector.get_model_vars_dataframe()
    assert found[DISTINCT].iloc[-1] == pytest.approx(expected, abs=1e-9)
    assert found[DISTINCT].iloc[0] == pytest.approx(found["breaches"].iloc[0], abs=1e-9)
    assert found[DISTINCT].iloc[-1] < found["breaches"].sum() - 0.1


def test_tables_have_distinct_people_over_all_rounds(town_run):
    result, rounds = town_run, town_run.analysis.rounds
    own = rounds[rounds["policy"] == "no-protection"]
    assert set(own["subjects"]) == {5}
    # The broker is present in half of the rounds and re-identifies every subject.
    assert own[DISTINCT].tolist() == pytest.approx([2.5, 3.75, 4.375])
    assert own["breaches"].tolist() == pytest.approx([2.5, 2.5, 2.5])
    assert result.summary.loc["no-protection", DISTINCT] == pytest.approx(4.375)
    assert result.summary.loc["no-protection", "breaches"] == pytest.approx(2.5)


# Redrawn targets.


def test_drawn_targets_share_the_budget_evenly_and_change_from_round_to_round(town, profile_of_small, setting_of_small):
    profile = profile_of_small(town, gain=60.0, cost=3.0, budget=3.5, draws_targets=True)
    expected = ReidentificationModel(setting_of_small(profiles=[profile]), "no-protection").run()
    [adversary] = expected.adversaries
    wanted = np.where(adversary.plan.replies.attacks, expected.participants, 0)
    np.testing.assert_allclose(adversary.plan.targets, wanted / wanted.sum())
    setting = setting_of_small(profiles=[profile], mode="sampling", rounds=80)
    model = ReidentificationModel(setting, "no-protection")
    attacked = np.zeros(setting.n_subjects)
    for _ in range(setting.rounds):
        model.step()
        hit = model.outcome.by_adversary[0].attacked
        assert hit.sum() == 1
        attacked += hit
    share = 1 / wanted.sum()
    can = adversary.plan.replies.attacks[setting.cell_of_subject]
    assert not attacked[~can].any()
    assert (np.abs(attacked[can] / 80 - share) <= 4 * np.sqrt(share / 80)).all()
    best = profile_of_small(town, gain=60.0, cost=3.0, budget=3.5)
    same = ReidentificationModel(setting_of_small(profiles=[best]), "no-protection").run()
    assert sorted(same.adversaries[0].plan.targets)[-1] == 1


def test_a_publisher_foresees_how_often_a_record_is_drawn(town, profile_of_small, setting_of_small):
    setting = setting_of_small()
    profile = profile_of_small(town, gain=60.0, cost=3.0, budget=6.0, draws_targets=True)
    participants = np.bincount(setting.cell_of_subject, minlength=setting.n_cells)
    opponent = Opponent(profile, 1.0, frozenset(), 1.0)
    strategies = np.full(setting.n_cells, setting.space.most_specific)
    plan = opponent.plan(strategies, participants, 1)
    linker, always = opponent.equip(frozenset())
    foreseen = opponent.following(foreseen_by(plan, participants))
    link = linker.link(setting.space.most_specific)
    reply, usual = foreseen.adversary.respond(link), always.respond(link)
    share = 2 / participants[usual.attacks].sum()
    np.testing.assert_allclose(reply.success[usual.attacks], share * usual.success[usual.attacks])
    assert (reply.attacks == usual.attacks).all()


def test_drawn_targets_need_a_budget(town_file):
    with pytest.raises(InputError, match=r"adversaries\.broker\.selection"):
        reidsim.run(town_file, overrides={"adversaries.broker.selection": "random"})


# Guarantees.


def test_a_purchase_that_the_publisher_misses_is_named_and_played_again(town_file, town_run):
    result, table = town_run, town_run.analysis.broken_guarantees
    assert set(table["policy"]) == {"no-attack-masking"}
    as_played, informed = (row for _, row in table.iterrows())
    assert as_played[DISTINCT] == pytest.approx(result.summary.loc["no-attack-masking", DISTINCT])
    assert as_played["share_attacked"] > 0
    assert as_played["corrected"] == ""
    assert "broker" in informed["corrected"]
    assert "directory" in informed["corrected"]
    known = reidsim.run(town_file, overrides=HOLDS_ALL)
    assert known.analysis.broken_guarantees.empty
    for measure in ("publisher_payoff", "utility", "share_attacked", DISTINCT):
        assert informed[measure] == pytest.approx(known.summary.loc["no-attack-masking", measure], abs=1e-12)
    assert informed["share_attacked"] == 0


def test_two_wrong_beliefs_are_corrected_together_where_one_does_not_suffice(town_file):
    wrong = {"beliefs.cost": 400.0}
    table = reidsim.run(town_file, overrides=wrong).analysis.broken_guarantees
    last = table.iloc[-1]
    assert last["share_attacked"] == 0
    assert (table["share_attacked"].iloc[:-1] > 0).all()
    assert "directory" in last["corrected"]
    assert "beliefs.cost" in last["corrected"]


# Re-identifications by resource.


def test_each_list_has_those_found_through_it(town_file):
    """With the directory, all five people are unique; two or three people share a town."""
    result = reidsim.run(town_file, overrides=WITH_POOR)
    table = result.analysis.through.set_index(["round", "adversary", "through"])
    assert set(table.index) == {
        (number, *who)
        for number in (1, 2)
        for who in (("broker", "directory and register"), ("poor", "register"))
    }  # fmt: skip
    for number in (1, 2):
        bought = table.loc[(number, "broker", "directory and register")]
        assert bought["attacks"] == pytest.approx(0.5 * 5)
        assert bought["breaches"] == pytest.approx(0.5 * 5)
        # The budget covers two attempts, in the smaller town.
        poor = table.loc[(number, "poor", "register")]
        assert poor["attacks"] == pytest.approx(0.25 * 2)
        assert poor["breaches"] == pytest.approx(0.25 * 2 / 2)
    spent = result.analysis.adversaries.set_index(["round", "adversary"])["spent"]
    assert spent.tolist() == [0.5, 0, 0, 0]


def test_resources_are_drawn_if_there_are_several(town_file, town_run, monkeypatch):
    monkeypatch.setattr("reidsim.reports.drawing.studies", Mock())
    several = reidsim.run(town_file, overrides=WITH_POOR)
    for result, n_resources in ((several, 2), (town_run, 1)):
        assert result.analysis.through["through"].nunique() == n_resources
        assert ("through" in dict(figures_of(result))) == (n_resources > 1)


def test_a_run_without_corrected_beliefs_has_the_figure_of_resources(town_file, monkeypatch):
    """A repeated run and the page in the browser do not look for wrong beliefs."""
    monkeypatch.setattr("reidsim.reports.drawing.studies", Mock())
    assert "through" in dict(figures_of(run_once(Scenario.load(town_file, WITH_POOR))))
