"""Several named adversaries, one per record: enumeration and single runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, game_of
from small_scenario import releases, write_scenario
from staged_clinic import FILES as CLINIC
from tiers import examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.scenario import cross_play
from reidsim.engine.stress.run import describe
from reidsim.games.composite import TypesGame
from reidsim.games.outcomes import evaluate
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.scenarios.kind import equilibria_of
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).parent / "town" / "town.toml"
CURIOUS, BROKER = {"weight": 0.7, "gain": 25}, {"weight": 0.3, "gain": 400, "cost": 60}
BOTH = {"curious": CURIOUS, "broker": BROKER}
# Every planner of the package.
MANY = {
    "clerk": {"weight": 0.25, "gain": 200},
    "lucky": {"weight": 0.2, "planner": "random", "rate": 0.25},
    "patient": {"weight": 0.3, "planner": "fmdp", "cost": 20},
    "zealot": {"weight": 0.25, "planner": "always"},
}
BY_RECORD = {"publisher.policies": ["basic", "no-attack", "no-protection", "suppress-all", "k-anonymity", "opt-in"]}
BY_TABLE = {
    "publisher.unit": "table",
    "population.holds_release": False,
    "publisher.policies": [
        "basic", "no-attack", "record-level", "record-level-no-attack", "full-domain", "local-recoding",
        "local-recoding-no-attack", "multi-dimensional", "no-protection",
    ],
}  # fmt: skip


def summary(**sets):
    return reidsim.run(TOWN, overrides=sets).summary


def assert_same(found, expected, columns=None, atol=1e-12):
    columns = list(expected.columns if columns is None else columns)
    scale = np.maximum(1.0, np.abs(expected[columns].to_numpy()))
    difference = np.abs(found.loc[expected.index, columns].to_numpy() - expected[columns].to_numpy()) / scale
    missing = found.loc[expected.index, columns].isna().to_numpy()
    np.testing.assert_array_equal(missing, expected[columns].isna().to_numpy())
    assert np.where(missing, 0.0, difference).max() <= atol


# Enumeration over adversaries.


@st.composite
def adversaries(draw):
    """Draw one to three adversaries who attack if profitable, always or never."""
    n = draw(st.integers(1, 3))
    shares = np.array([draw(st.integers(1, 9)) for _ in range(n)])
    sections = {}
    for number, weight in enumerate((shares / shares.sum()).tolist()):
        section = {"weight": weight, "planner": draw(st.sampled_from(["one-shot", "one-shot", "always", "never"]))}
        own = draw(st.sets(st.sampled_from(["gain", "cost"])))
        sections[f"a{number}"] = section | {name: draw(amounts) for name in sorted(own)}
    return sections


def expected_payoffs(small, sections, i, g):
    """Return payoffs, attack and re-identification probability, summed over types.

    The order is the publisher's payoff, the adversary's payoff, the attack probability, the re-identification
    probability.
    """
    total = np.zeros(4)
    for section in sections.values():
        gain, cost = section.get("gain", small.gain[i]), section.get("cost", small.cost[i])
        own = replace(small, gain=(gain,) * small.n_records, cost=(cost,) * small.n_records).paper(i)
        attacks = {"one-shot": own.attacks(g), "always": True, "never": False}[section["planner"]]
        risk = own.pi(g) * attacks
        payoff = (gain * own.pi(g) - cost) * attacks
        total += section["weight"] * np.array([own.v(g) - small.loss[i] * risk, payoff, attacks, risk])
    return total


@pytest.mark.deep
@given(small=releases(), sections=adversaries(), solver=st.sampled_from(["backward-induction", "branch-and-bound"]))
@examples(60)
def test_runs_are_enumerations_of_strategies_and_adversaries(tmp_path_factory, small, sections, solver):
    path = write_scenario(tmp_path_factory.mktemp("small"), small, policies=["basic", "no-protection"], solver=solver)
    path.write_text(path.read_text().replace('[adversary]\nrisk = "journalist"\n', ""))
    study = build_study(Scenario.load(path, {"adversaries": sections}))
    found = TABLES.summarise(study, 0, equilibria_of(TABLES.play(study)))
    columns = ["publisher_payoff", "adversary_payoff", "share_attacked", "risk"]
    raw, best = np.zeros(4), 0.0
    for i in range(small.n_records):
        tried = [expected_payoffs(small, sections, i, g) for g in small.paper(i).strategies]
        raw += tried[0] / small.n_records
        best += max(payoffs[0] for payoffs in tried) / small.n_records
    tolerance = 1e-9 * max(small.scale[0], *(section.get("gain", 0.0) for section in sections.values()))
    np.testing.assert_allclose(found.loc["no-protection", columns].to_numpy(), raw, rtol=1e-9, atol=tolerance)
    assert found.loc["basic", "publisher_payoff"] == pytest.approx(best, rel=1e-9, abs=tolerance)
    if raw[2] > 0:
        assert found.loc["no-protection", "risk_if_attacked"] == pytest.approx(raw[3] / raw[2], abs=1e-9)


# Several adversaries.


@pytest.mark.deep
def test_two_who_are_alike_are_one_whatever_their_weights():
    alike = {"first": {"weight": 0.2, "gain": 90}, "second": {"weight": 0.8, "gain": 90}}
    assert_same(summary(**BY_TABLE, adversaries=alike), summary(**BY_TABLE, **{"economics.gain": 90}))


def test_means_against_several_are_expectations_over_them():
    """These policies are rules that release the same under every adversary."""
    rules = {"publisher.policies": ["no-protection", "k-anonymity"]}
    found = summary(**rules, adversaries=MANY)
    columns = ["publisher_payoff", "adversary_payoff", "share_attacked", "risk"]
    mean = sum(
        section["weight"] * summary(**rules, adversaries={name: {**section, "weight": 1.0}})[columns]
        for name, section in MANY.items()
    )
    assert_same(found, mean)


def test_cross_play_has_each_of_them_and_all_together():
    play = cross_play(TOWN, overrides={"adversaries": MANY, **BY_RECORD})
    run = summary(**BY_RECORD, adversaries=MANY)
    names = [*MANY, "types"]
    assert list(play.matrix("risk").columns)[-len(names) :] == names
    table = play.table.set_index(["defender", "plans_against", "adversary"])
    for measure in ("publisher_payoff", "adversary_payoff", "utility", "share_attacked", "risk"):
        for policy in run.index:
            own = table.loc[(policy, "" if (policy, "", "types") in table.index else "types", "types"), measure]
            assert own == pytest.approx(run.loc[policy, measure], abs=1e-12)
        mixed = table.xs("types", level="adversary")[measure]
        parts = sum(MANY[name]["weight"] * table.xs(name, level="adversary")[measure] for name in MANY)
        if measure != "utility":
            np.testing.assert_allclose(mixed, parts.loc[mixed.index], atol=1e-12)
    # No other belief does better against all adversaries than the belief in all of them.
    assert table.loc[("basic", "types", "types"), "regret"] == pytest.approx(0, abs=1e-12)


def test_the_guarantee_holds_against_all_up_to_its_breaking_point_and_no_further():
    """The publisher is certain of the adversary's own cost and gain."""
    several = {"curious": {"weight": 0.7}, "broker": {"weight": 0.3, "gain": 90}, "sure": {"weight": 1e-12, "cost": 60}}
    several["curious"]["weight"] = 1 - 0.3 - 1e-12
    policy = "no-attack"
    sets = {"adversaries": several, "publisher.policies": [policy]}
    table = reidsim.stress(TOWN, overrides={**sets, "stress": {"guarantee": True}}).tables["guarantee"]
    table = table.set_index("parameter")
    study = build_study(Scenario.load(TOWN, sets))
    economics = study.scenario.economics
    choice = TABLES.play(study)[policy].choice
    safe = ~evaluate(study.game(economics), choice).attacked
    assert table["share_safe"].tolist() == pytest.approx([np.average(safe, weights=study.weights)] * 2)
    for parameter, outward in (("cost", -1e-9), ("gain", 1e-9)):
        breaking = table.loc[parameter, "breaking"]
        assert np.isfinite(breaking)
        for share, attacked in ((outward, True), (-outward, False)):
            changed = {"gain": economics.adversary_gain, parameter: breaking * (1 + share)}
            found = evaluate(study.game(economics.model_copy(update=changed)), choice).attacked
            assert (found & safe).any() == attacked


# Knowledge and risk model of each adversary.


@pytest.fixture
def clinic(tmp_path):
    """Return a scenario whose records differ in a job used only by a staged attack."""
    for name, text in CLINIC.items():
        (tmp_path / name).write_text(text.replace('[adversary]\nstages = "attack.toml"\n', ""), encoding="utf-8")
    return tmp_path / "clinic.toml"


@pytest.mark.deep
def test_records_are_told_apart_by_what_any_of_them_looks_at(clinic):
    stages = {"stages": str(clinic.parent / "attack.toml")}
    several = {"stranger": {"weight": 0.4}, "insider": {"weight": 0.6, **stages}}
    study = build_study(Scenario.load(clinic, {"adversaries": several}))
    alone = build_study(Scenario.load(clinic, {"adversary": stages}))
    plain = build_study(Scenario.load(clinic))
    assert study.lattice.n_records == alone.lattice.n_records > plain.lattice.n_records
    rules = {"publisher.policies": ["no-protection", "suppress-all"]}
    found = reidsim.run(clinic, overrides={**rules, "adversaries": several}).summary
    parts = [
        weight * reidsim.run(clinic, overrides={**rules, "adversary": section}).summary
        for weight, section in ((0.4, {}), (0.6, stages))
    ]
    assert_same(found, sum(parts), ["publisher_payoff", "adversary_payoff", "share_attacked", "risk"])
    turned = dict(reversed(several.items()))
    assert_same(reidsim.run(clinic, overrides={**rules, "adversaries": turned}).summary, found)


def test_they_count_people_each_in_its_own_way():
    """The insider knows who is in the file, so its groups contain records only."""
    several = {"insider": {"weight": 0.5, "risk": "prosecutor"}, "stranger": {"weight": 0.5}}
    study = build_study(Scenario.load(TOWN, {"adversaries": several}))
    assert isinstance(study.truth, TypesGame)
    sizes = [each.linker.link(0).group_sizes for each in study.truth.types]
    expected = [build_study(Scenario.load(TOWN, {"adversary.risk": risk})) for risk in ("prosecutor", "journalist")]
    for found, alone in zip(sizes, expected, strict=True):
        np.testing.assert_array_equal(found, alone.truth.linker.link(0).group_sizes)


# Contradictory input.


def two(**broker):
    return {"curious": CURIOUS, "broker": {**BROKER, **broker}}


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"adversaries": two(weight=0.2)}, r"adversaries: weights of the adversaries do not sum to 1; found 0.89"),
        ({"adversaries": {"x": {"weight": 0}}}, r"adversaries: no adversary of positive weight"),
        ({"adversaries": two(weight=-0.5)}, r"adversaries.broker.weight: value not allowed"),
        ({"adversaries": {"x": {}, "y": {}}}, r"adversaries: weights of the adversaries do not sum to 1; found 2"),
        ({"adversaries": two(planner="fast")}, r"adversaries.broker.planner: value not allowed; found 'fast'"),
        ({"adversaries": two(plan=1)}, r"adversaries.broker.plan: unknown key"),
        (
            {"adversaries": two(knowledge="tennessee-voters", stages="attack.toml")},
            r"adversaries.broker.stages: not supported together with knowledge",
        ),
        ({"adversaries": {"types": {"weight": 1}}}, r"adversaries.types: adversary name reserved"),
        ({"adversaries": {"always": {"weight": 1}}}, r"adversaries.always: adversary name reserved"),
        (
            {"adversaries": {"a": {"weight": 1, "budget": 5}}},
            r"adversaries.a.budget: the key has no effect; expected this key only with a section agents",
        ),
        (
            {"adversaries": {"a": {"weight": 1, "holds": [], "knowledge": "tennessee-voters"}}, "agents": {}},
            r"adversaries.a.knowledge: not supported together with holds and buys",
        ),
        (
            {"adversaries": {f"a{n}": {"weight": 1 / 11} for n in range(11)}, "agents": {"rounds": 2}},
            r"adversaries: too many adversaries; found 11; expected at most 10",
        ),
        (
            {"adversaries": BOTH, "agents": {"learning": {"prior": {"curios": 2}}}},
            r"learning.prior: no such adversary; found 'curios'; .*did you mean 'curious'",
        ),
        (
            {"adversaries": two(planner="fmdp"), "figures": {"sequential": {}}},
            r"figures.sequential: the figures need a single sequential adversary",
        ),
        (
            {"adversaries": two(risk="prosecutor"), **BY_TABLE},
            r"publisher.policies: policy 'local-recoding' needs group sizes .* adversaries under prosecutor risk",
        ),
        ({"adversaries": two(risk="prosecutor"), "population": None}, r"population"),
        (
            {"adversaries": two(planner="fmdp", sequential={"registry": "nobody.toml"})},
            r"nobody.toml: adversaries.broker.sequential.registry: no such file",
        ),
        ({"adversaries": two(knowledge="nothing")}, r"knowledge.*nothing"),
    ],
)
def test_what_cannot_be_meant_is_an_error_of_check_that_names_the_key(sets, message):
    with pytest.raises(InputError, match=message):
        describe(Scenario.load(TOWN, sets))


def test_what_a_publisher_believes_of_groups_is_believed_of_all():
    several = {"insider": {"weight": 0.5, "risk": "prosecutor"}, "stranger": {"weight": 0.5}}
    study = build_study(Scenario.load(TOWN, {"adversaries": several, "beliefs.risk": "prosecutor"}))
    one, other = (each.linker.link(0).group_sizes for each in study.belief.types)
    np.testing.assert_array_equal(one, other)
    true = [each.linker.link(0).group_sizes for each in study.truth.types]
    np.testing.assert_array_equal(true[0], one)
    assert (true[1] != true[0]).any()


def test_amounts_by_record_are_refused_where_one_of_them_takes_one_amount(tmp_path):
    small = game_of([((0, 1, 2), (0, 0, 0))], [(0,), (1,), (1,), (2,)], [(0,), (1,)], benefit=10.0, loss=6.0, gain=6.0,
                    cost=1.0)  # fmt: skip
    path = write_scenario(tmp_path, small, policies=["basic", "no-protection"])
    path.write_text(path.read_text().replace('[adversary]\nrisk = "journalist"\n', ""))
    (tmp_path / "records.csv").write_text("a,price\na0,1\na1,3\n")
    columns = {"economics.columns": {"cost": "price"}}
    with pytest.raises(InputError, match=r"economics.columns.cost: .* planner 'fmdp' of adversaries.broker"):
        Scenario.load(path, {**columns, "adversaries": two(planner="fmdp", cost=None)})
    own = {**columns, "adversaries": two(planner="fmdp", cost=2)}
    found = reidsim.run(path, overrides=own).summary
    parts = [
        (0.7, {**columns, "economics.gain": 25}),
        (0.3, {"economics.gain": 400, "economics.cost": 2, "adversary.planner": "fmdp"}),
    ]
    expected = sum(weight * reidsim.run(path, overrides=sets).summary["risk"] for weight, sets in parts)
    assert found.loc["no-protection", "risk"] == pytest.approx(expected["no-protection"])


@pytest.mark.parametrize(
    ("unit", "attacks"),
    [
        ("record", {"adversary.planner": "random", "adversary.rate": 0.01}),
        # One type with a positive weight suffices.
        ("table", {"adversaries": {"clerk": {"weight": 0.99}, "zealot": {"weight": 0.01, "planner": "always"}}}),
    ],
)
def test_no_attack_releases_nothing_to_who_attacks_every_release(attacks, unit):
    unit_of_town = {"publisher.unit": unit, "population.holds_release": False}
    result = reidsim.run(TOWN, overrides={**attacks, **unit_of_town, "publisher.policies": ["no-attack"]})
    assert (result.records["strategy"] == "withheld").all()
    assert (result.records["publisher_payoff"] == 0).all()


@pytest.mark.parametrize("planner", ["random", "never"])
def test_no_attack_changes_nothing_for_who_never_attacks(planner):
    rate = {"adversary.rate": 0} if planner == "random" else {}
    changes = {"adversary.planner": planner, **rate, "publisher.policies": ["no-attack"]}
    assert (reidsim.run(TOWN, overrides=changes).records["generalization_intensity"] == 0).all()
