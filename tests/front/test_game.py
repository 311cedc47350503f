"""Games built in Python equal scenario files with the same content."""

import dataclasses
import sys
import types

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import cases

import reidsim
from reidsim.front.adversaries import Always, Never, Own, Random
from reidsim.kinds.tables.build import build_study

RNG = np.random.default_rng(3)
PEOPLE = pd.DataFrame({"age": RNG.integers(20, 50, 300), "sex": RNG.choice(["F", "M"], 300)})
PATIENTS = PEOPLE.sample(40, random_state=1).assign(worth=np.arange(40) * 3.0)
LEVELS = pd.DataFrame([[str(age), f"{age // 10 * 10}s", "*"] for age in range(20, 50)])
PRICES = {"benefit": 100, "loss": 150}


def game_of(hierarchy=None, adversary=None, **changes):
    records = reidsim.Records(
        PATIENTS, {"age": reidsim.intervals(5, 15) if hierarchy is None else hierarchy, "sex": "suppress"}
    )
    return reidsim.Game(records, PEOPLE, adversary=adversary or reidsim.OneShot(60, 12), **{**PRICES, **changes})


def built(path):
    loaded = reidsim.Scenario.load(path)
    return build_study(loaded)


class Half:
    """Releases every other record unchanged and suppresses the others."""

    name = "half"

    def choose(self, game):
        return np.where(np.arange(game.n_records) % 2, game.space.size - 1, 0)


class OneShotAgain:
    """The one-shot adversary, implemented again."""

    def __init__(self, gain=60.0, cost=12.0):
        self.gain, self.cost = gain, cost

    def respond(self, linkage, rows=None):
        success, believed = 1 / linkage.group_sizes, 1 / linkage.believed_group_sizes
        attacks = self.gain * believed > self.cost * (1 + 1e-12)
        payoff = np.where(attacks, self.gain * success - self.cost, 0.0)
        return reidsim.Response(attacks, success, believed, payoff, attacks.astype(float), gain=self.gain)


# The same study.

HIERARCHIES = {
    "rule": reidsim.intervals(5, 15),
    "table": LEVELS,
    "in loss": {"hierarchy": reidsim.intervals(5), "in_loss": False},
    "costless": reidsim.intervals(5, 15, costless_levels=[1], suppress=False),
}
ADVERSARIES = {
    "one-shot": reidsim.OneShot(60, 12),
    "gain of the loss": reidsim.OneShot(None, 12),
    "prosecutor": reidsim.OneShot(60, 12, risk="prosecutor"),
    "sequential": reidsim.Sequential(60, 5, penalty=20, access_cost=1, belief="unknown", registry=PEOPLE.iloc[:200]),
}


@pytest.mark.parametrize("unit", ["record", "table"])
@pytest.mark.parametrize("hierarchy", HIERARCHIES.values(), ids=HIERARCHIES)
def test_a_game_written_as_a_scenario_is_the_same_study_with_the_same_answers(hierarchy, unit, tmp_path):
    game = game_of(hierarchy, unit=unit)
    path = game.to_scenario(tmp_path / "mine.toml")
    study = built(path)
    assert study.fingerprint == game.fingerprint
    assert study.lattice.describe(study.lattice.size - 1) == game.study.lattice.describe(study.lattice.size - 1)
    pd.testing.assert_frame_equal(reidsim.run(path).summary, game.play().summary)


@pytest.mark.parametrize("adversary", ADVERSARIES.values(), ids=ADVERSARIES)
def test_an_adversary_is_written_with_all_its_parameters(adversary, tmp_path):
    game = game_of(adversary=adversary)
    path = game.to_scenario(tmp_path / "mine.toml")
    assert built(path).fingerprint == game.fingerprint
    pd.testing.assert_frame_equal(reidsim.run(path).records, game.play().records)


def test_amounts_by_record_are_written_as_columns(tmp_path):
    game = game_of(adversary=reidsim.OneShot("worth", 5), loss=np.linspace(50, 300, 40), unit="table")
    path = game.to_scenario(tmp_path / "mine.toml")
    assert built(path).fingerprint == game.fingerprint
    pd.testing.assert_frame_equal(reidsim.run(path).records, game.play().records)


def test_a_game_is_that_of_a_file_written_by_hand(tmp_path):
    PATIENTS.to_csv(tmp_path / "patients.csv", index=False)
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.toml").write_text(
        'kind = "counts"\nfile = "people.csv"\ncolumns = { age = "age", sex = "sex" }\n'
    )
    (tmp_path / "hand.toml").write_text(
        """
        release.path = "patients.csv"
        population.recipe = "people.toml"
        attributes.age.hierarchy = { rule = "intervals", widths = [5, 15] }
        attributes.sex.hierarchy = { rule = "suppress" }
        economics = { benefit = 100, loss = 150, gain = 60, cost = 12 }
        """
    )
    assert built_without_game(tmp_path / "hand.toml").fingerprint == game_of().fingerprint
    pd.testing.assert_frame_equal(reidsim.run(tmp_path / "hand.toml").records, game_of().play().records)
    of_files = reidsim.Game(
        reidsim.Records(tmp_path / "patients.csv", {"age": reidsim.intervals(5, 15), "sex": "suppress"}),
        tmp_path / "people.toml", adversary=reidsim.OneShot(60, 12), **PRICES,
    )  # fmt: skip
    assert of_files.fingerprint == game_of().fingerprint


def built_without_game(path):
    return build_study(reidsim.Scenario.load(path))


LABELS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=4)


@given(
    labels=st.lists(LABELS, min_size=2, max_size=6, unique=True),
    name=LABELS.filter(lambda text: text not in ("record", "policy", "strategy", "attacked", "utility")),
    counts=st.lists(st.integers(1, 5), min_size=6, max_size=6),
)
def test_whatever_the_labels_a_written_game_is_the_same(labels, name, counts, tmp_path_factory):
    people = pd.DataFrame({name: labels, "how many": counts[: len(labels)]})
    game = reidsim.Game(
        reidsim.Records(people[[name]], {name: "suppress"}),
        reidsim.Population.from_frame(people, "how many"),
        adversary=reidsim.OneShot(60, 12),
        **PRICES,
    )
    path = game.to_scenario(tmp_path_factory.mktemp("written") / "mine.toml")
    assert built_without_game(path).fingerprint == game.fingerprint


# The same answers by every way.


def test_a_sweep_is_a_play_at_each_value():
    swept = game_of().sweep(loss=[0, 300], cost=[1, 12]).summary["publisher_payoff"]
    for loss, cost in ((0, 1), (0, 12), (300, 1), (300, 12)):
        played = game_of(adversary=reidsim.OneShot(60, cost), loss=loss).play().summary["publisher_payoff"]
        np.testing.assert_allclose(swept.loc[loss, cost][played.index], played, rtol=1e-12)


def test_values_are_changed_one_at_a_time():
    swept = game_of(policies=["basic"]).sweep(loss=[0, 300], cost=[1, 12], one_at_a_time=True).summary
    assert sorted(swept.index.droplevel("policy")) == [(0, 12), (150, 1), (150, 12), (300, 12)]


OTHERS = [Random(60, 12, rate=0.25), OneShotAgain()]


@pytest.mark.parametrize(
    "adversary",
    cases([Always(60, 12), Never(60, 12), OTHERS[0], Own(OneShotAgain, 60, 12), OTHERS[1]], OTHERS),
)
def test_play_and_cross_play_agree_on_any_adversary(adversary):
    game = game_of(adversary=adversary)
    summary, crossed = game.play([*game.policies, Half()]).summary, game.cross_play([*game.policies, Half()])
    own = crossed.manifest["own_adversary"]
    rows = crossed.table[(crossed.table["adversary"] == own) & crossed.table["plans_against"].isin(["", own])]
    found = rows.set_index("defender")
    for policy in ("basic", "no-attack", "half"):
        for measure in ("publisher_payoff", "adversary_payoff", "utility", "risk"):
            assert found.loc[policy, measure] == pytest.approx(summary.loc[policy, measure], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("adversary", [Own(OneShotAgain, 60, 12), OneShotAgain()], ids=["class", "object"])
def test_an_own_adversary_that_does_the_same_gives_the_same(adversary):
    own, known = game_of(adversary=adversary), game_of()
    pd.testing.assert_frame_equal(own.play().records, known.play().records)
    assert own.cross_play().manifest["own_adversary"] == "OneShotAgain"


def test_a_class_is_made_with_the_gain_and_cost_of_each_point():
    values = {"cost": [1, 12], "gain": [30, 60]}
    own, known = game_of(adversary=Own(OneShotAgain, 60, 12)).sweep(**values), game_of().sweep(**values)
    pd.testing.assert_frame_equal(own.summary, known.summary)


@pytest.mark.parametrize("unit", ["record", "table"])
def test_an_own_policy_gets_what_its_forms_lead_to(unit):
    game = game_of(unit=unit)
    result = game.play(["suppress-all", Half(), "no-protection"])
    assert result.summary.index.tolist() == ["suppress-all", "half", "no-protection"]
    by_policy = result.records.pivot(index="record", columns="policy", values="publisher_payoff")
    kept = np.isclose(by_policy["half"], by_policy["no-protection"])
    assert (kept | np.isclose(by_policy["half"], by_policy["suppress-all"])).all()
    assert "half" in set(game.cross_play([Half()]).table["defender"])
    assert game.sweep(benefit=[50, 100], policies=[Half()]).summary.index.get_level_values("policy").unique() == [
        "half"
    ]


def test_stress_compares_an_own_policy_too():
    table = game_of().stress(loss=(100, 500), samples=4, policies=["basic", Half()], parts={"robustness": {}})
    robustness = table.tables["robustness"].set_index("policy")
    assert {"basic", "half"} <= set(robustness.index)
    assert robustness.loc["basic", "mean_payoff"] >= robustness.loc["half", "mean_payoff"]


def test_beliefs_and_other_keys_are_given_by_their_path(tmp_path):
    game = game_of(overrides={"beliefs.cost": 1, "safe_harbor": {"age": "age"}}, policies=["basic", "safe-harbor"])
    path = game.to_scenario(tmp_path / "mine.toml")
    pd.testing.assert_frame_equal(reidsim.run(path).summary, game.play().summary)
    assert not game.play().summary.equals(game_of(policies=["basic", "safe-harbor"], overrides={
        "safe_harbor": {"age": "age"}}).play().summary)  # fmt: skip


# Unchanged parts.


def test_a_table_given_is_copied():
    frame = PATIENTS.copy()
    records = reidsim.Records(frame, {"age": reidsim.intervals(5), "sex": "suppress"})
    before = reidsim.Game(records, PEOPLE, adversary=reidsim.OneShot(60, 12), **PRICES).fingerprint
    frame["age"] = 20
    assert reidsim.Game(records, PEOPLE, adversary=reidsim.OneShot(60, 12), **PRICES).fingerprint == before


def test_parameters_are_attributes_and_can_be_replaced():
    game = game_of()
    dearer = dataclasses.replace(game, loss=600)
    assert (game.loss, dearer.loss, dearer.benefit) == (150, 600, 100)
    assert repr(game) == "Game(40 records, one-shot, unit='record')"
    assert repr(game.records) == "Records(40 records, age, sex)"
    assert repr(game.play(["basic"])) == "RunResult('game': basic)"


def test_a_seed_is_the_seed_of_the_run():
    assert game_of().play(seed=5).manifest["seed"] == 5
    assert game_of(seed=4).play().manifest["seed"] == 4


# User-defined parts in files.


def test_own_parts_of_a_module_are_named(tmp_path, monkeypatch):
    module = types.ModuleType("clinic_parts")
    half = type("Half", (Half,), {"__module__": "clinic_parts"})
    again = type("OneShotAgain", (OneShotAgain,), {"__module__": "clinic_parts"})
    module.again, module.half = again, half()
    monkeypatch.setitem(sys.modules, "clinic_parts", module)
    game = game_of(adversary=Own(again, 60, 12), policies=["basic", module.half])
    text = game.to_scenario(tmp_path / "mine.toml").read_text()
    assert 'planner = "clinic_parts:again"' in text
    assert 'policies = ["basic", "clinic_parts:half"]' in text


def test_what_has_no_name_in_a_module_cannot_be_written(tmp_path):
    with pytest.raises(reidsim.InputError, match=r"Game: argument 'policies': a scenario file cannot name this"):
        game_of(policies=[Half()]).to_scenario(tmp_path / "mine.toml")
    with pytest.raises(reidsim.InputError, match=r"Game: argument 'adversary': a scenario file cannot name this"):
        game_of(adversary=OneShotAgain()).to_scenario(tmp_path / "mine.toml")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    game_of().to_scenario(tmp_path / "mine.toml")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(reidsim.InputError, match="exists already"):
        game_of(loss=1).to_scenario(tmp_path / "mine.toml")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# Errors.


class NoForms:
    name = "none"

    def choose(self, game):
        return np.full(game.n_records, game.space.size)


class TooFew:
    name = "few"

    def choose(self, game):
        return [0]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: game_of(loss=-1), r"^Game: argument 'loss': value not allowed; found -1"),
        (lambda: game_of(benefit=[1, 2], unit="table"), (
            r"^Game: argument 'benefit': amount out of "
            r"range for each record"
        )),
        (lambda: game_of(benefit="wort", unit="table"), r"^Game: argument 'benefit': no such column.*'worth'"),
        (lambda: game_of(adversary=reidsim.OneShot(60, -2)), r"^Game: argument 'adversary', cost: value not allowed"),
        (lambda: game_of(adversary=reidsim.Sequential(1, 1, discount=2)), r"^Game: argument 'adversary', discount"),
        (lambda: game_of(adversary=3), r"^Game: argument 'adversary': no adversary; found 3"),
        (lambda: game_of(adversary=OneShotAgain), r"^Game: argument 'adversary': no adversary.*Own"),
        (lambda: game_of(unit="tables"), r"^Game: argument 'unit': value not allowed.*'table'"),
        (lambda: game_of(policies=["basc"]), r"^Game: argument 'policies': value not allowed.*'basic'"),
        (lambda: game_of(policies=[7]), r"^Game: argument 'policies': not a policy; found 7"),
        (lambda: game_of(policies=[Half(), Half()]), r"^Game: argument 'policies': two policies have the same name"),
        (lambda: game_of(policies=[NoForms()]).play(), r"^policy 'none': choose: no such release; found 8; expected 0"),
        (lambda: game_of(policies=[TooFew()]).play(), r"^policy 'few': choose: not a release for each record"),
        (lambda: game_of(overrides={"belief.cost": 1}), r"^Game: argument 'overrides', belief: unknown key"),
        (lambda: game_of(overrides={"beliefs.cots": 1}), r"^Game: argument 'overrides', beliefs.cots: unknown key"),
        (lambda: game_of(reidsim.intervals(5, 7)).play(), r"^Game: argument 'records', hierarchy of 'age'"),
        (lambda: game_of().sweep(), "^Game.sweep: nothing to sweep"),
        (lambda: game_of().sweep(los=[1]), r"^Game: argument 'los': no such parameter.*did you mean 'loss'"),
        (lambda: game_of().sweep(loss=1), r"^Game: argument 'loss': not values; found 1"),
        (lambda: game_of().sweep(loss=[1, -1]), r"^Game: point 1: argument 'loss': value not allowed; found -1"),
        (lambda: game_of().stress(), "^Game.stress: nothing uncertain"),
        (lambda: game_of().stress(loss=3), r"^Game: argument 'loss': not a range; found 3"),
        (lambda: reidsim.Game(PATIENTS, adversary=reidsim.OneShot(1, 1), **PRICES), r"^Game: argument 'records'"),
        (lambda: reidsim.Records(PATIENTS, {}), r"^Records: argument 'attributes': the file has no quasi-identifiers"),
        (lambda: reidsim.Records(PATIENTS, {"agee": "suppress"}), r"^Records: argument 'attributes'.*'age'"),
        (lambda: reidsim.Records(PATIENTS, {"age": 5}), r"^Records: argument 'attributes', 'age': not a hierarchy"),
        (lambda: reidsim.Records([1], {"age": "suppress"}), r"^Records: argument 'data': not a table"),
        (lambda: reidsim.intervals(1), r"^intervals: widths\[0\]: value not allowed; found 1"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(make, says):
    with pytest.raises(reidsim.InputError, match=says):
        make()


def test_a_row_that_cannot_be_used_is_told():
    records = reidsim.Records(PATIENTS.assign(age=99), {"age": reidsim.intervals(5), "sex": "suppress"})
    with pytest.raises(reidsim.InputError, match=r"row 1, column 'age'.*found '99'"):
        reidsim.Game(records, PEOPLE, adversary=reidsim.OneShot(60, 12), **PRICES).play()


# Several adversaries.

SEVERAL = {
    "curious": reidsim.OneShot(25, 12),
    "broker": reidsim.OneShot(None, 30),
    "patient": reidsim.Sequential(90, 4),
}
SHARES = {"curious": 0.5, "broker": 0.2, "patient": 0.3}


def against_several(adversaries=None, weights=None, **changes):
    records = reidsim.Records(PATIENTS, {"age": reidsim.intervals(5, 15), "sex": "suppress"})
    several = SEVERAL if adversaries is None else adversaries
    return reidsim.Game(records, PEOPLE, adversaries=several, weights=weights, **{**PRICES, **changes})


@pytest.mark.parametrize("unit", ["record", "table"])
def test_several_adversaries_are_those_of_the_scenario_that_is_written(unit, tmp_path):
    game = against_several(weights=SHARES, unit=unit)
    path = game.to_scenario(tmp_path / "several.toml")
    sections = reidsim.Scenario.load(path).content["adversaries"]
    assert sections == {
        "curious": {"weight": 0.5, "risk": "journalist", "gain": 25.0, "cost": 12.0},
        "broker": {"weight": 0.2, "risk": "journalist", "cost": 30.0},
        "patient": {"weight": 0.3, "risk": "journalist", "planner": "fmdp", "gain": 90.0, "cost": 4.0},
    }
    assert built(path).fingerprint == game.fingerprint
    played = game.play(seed=2)
    pd.testing.assert_frame_equal(reidsim.run(path, seed=2).summary, played.summary)
    by_hand = {
        "curious": {"weight": 0.5, "gain": 25, "cost": 12},
        "broker": {"weight": 0.2, "cost": 30},
        "patient": {"weight": 0.3, "planner": "fmdp", "gain": 90, "cost": 4},
    }
    again = reidsim.run(path, overrides={"adversaries": by_hand}, seed=2).summary
    pd.testing.assert_frame_equal(again, played.summary)
    assert repr(game) == f"Game(40 records, curious, broker, patient, unit={unit!r})"
    matrix = game.cross_play(["basic"]).matrix("publisher_payoff")
    assert list(matrix.columns)[-4:] == ["curious", "broker", "patient", "types"]


def test_one_of_several_is_the_adversary():
    one = against_several({"solo": reidsim.OneShot(60, 12)}).play().summary
    pd.testing.assert_frame_equal(one, game_of().play().summary)


def test_adversaries_without_weights_are_equally_likely():
    alike = against_several({"a": reidsim.OneShot(10, 12), "b": reidsim.OneShot(90, 12)})
    said = against_several({"a": reidsim.OneShot(10, 12), "b": reidsim.OneShot(90, 12)}, {"a": 0.5, "b": 0.5})
    pd.testing.assert_frame_equal(alike.play().summary, said.play().summary)


def test_amounts_of_one_of_several_are_swept():
    runs = against_several(weights=SHARES).sweep(adversaries__broker__cost=[30, 1]).runs
    expected = against_several(weights=SHARES).play().summary["publisher_payoff"]
    found = runs[runs["adversaries.broker.cost"] == 30].set_index("policy")["publisher_payoff"]
    np.testing.assert_allclose(found.loc[expected.index], expected, rtol=0, atol=1e-12)


def test_own_adversaries_are_among_several(tmp_path, monkeypatch):
    several = {"theirs": Own(OneShotAgain, 60, 12), "mine": OneShotAgain(25, 5), "plain": reidsim.OneShot(60, 12)}
    with pytest.raises(reidsim.InputError, match="'adversaries': two of your own adversaries have the same name"):
        against_several(several)
    several["mine"] = Own(OneShotAgain(25, 5), name="mine")
    game = against_several(several)
    plain = {**several, "theirs": reidsim.OneShot(60, 12), "mine": reidsim.OneShot(25, 5)}
    pd.testing.assert_frame_equal(game.play().summary, against_several(plain).play().summary)
    module = types.ModuleType("theirs_of_several")
    module.OneShotAgain, OneShotAgain.__module__ = OneShotAgain, "theirs_of_several"
    monkeypatch.setitem(sys.modules, "theirs_of_several", module)
    several.pop("mine")
    path = against_several(several).to_scenario(tmp_path / "own.toml")
    assert '"theirs_of_several:OneShotAgain"' in path.read_text()


def test_registries_of_several_are_files_of_their_own(tmp_path):
    listed = {name: reidsim.Sequential(90, 4, registry=PEOPLE.head(n)) for name, n in (("a", 200), ("b", 250))}
    game = against_several(listed)
    path = game.to_scenario(tmp_path / "two.toml")
    pd.testing.assert_frame_equal(reidsim.run(path).summary, game.play().summary)
    assert {"two-registry-1.toml", "two-registry-2.toml"} <= {file.name for file in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adversaries": {}}, "argument 'adversary': nobody attacks; expected either adversary or adversaries"),
        (
            {"adversary": reidsim.OneShot(60, 12)},
            "argument 'adversary': both adversary and adversaries say who attacks",
        ),
        ({"weights": {"curious": 1.0}}, "argument 'weights': not a weight for each adversary; found 'curious'; expe"),
        ({"weights": {**SHARES, "broker": -0.5}}, "argument 'weights', broker: value not allowed; found -0.5"),
        ({"weights": {**SHARES, "broker": 0.9}}, "argument 'weights': weights of the adversaries do not sum to 1"),
        ({"adversaries": {"x": 3}}, "argument 'adversaries', x: no adversary; found 3"),
        ({"adversaries": {"x": reidsim.OneShot("worth", 1)}}, "argument 'adversaries', x, gain: not one amount"),
        (
            {"adversaries": {"types": reidsim.OneShot(1, 1)}},
            "argument 'adversaries', types: name of a column of cross-play",
        ),
    ],
)
def test_what_several_adversaries_cannot_be(changes, message):
    with pytest.raises(reidsim.InputError, match=message) as caught:
        against_several(**changes)
    assert "\n" not in str(caught.value)


def test_gain_and_cost_of_several_are_swept_by_their_names():
    with pytest.raises(
        reidsim.InputError, match="argument 'cost': each adversary has its own; expected adversaries__cur"
    ):
        against_several().sweep(cost=[1, 2])
