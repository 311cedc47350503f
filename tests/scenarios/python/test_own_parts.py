"""Parts that a user registers: names, parameters, scenario files, state in rounds."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from test_registered_parts import EXAMPLES
from tiers import examples

import reidsim

PATIENTS = pd.DataFrame({"age": [31, 33, 34, 36, 38, 42, 43, 44, 47, 48, 49, 71], "sex": list("FFFMMMMFFFMF")})
ECONOMICS = {"benefit": 100, "loss": 60, "gain": 60, "cost": 16}


@reidsim.planner("persistent")
class Persistent:
    """Makes several attempts per record, if they are profitable."""

    class Parameters(BaseModel):
        tries: float = Field(2.0, ge=1)

    def respond(self, linkage, rows=None):
        tries = self.parameters.tries
        success, believed = (
            np.minimum(1, tries / sizes) for sizes in (linkage.group_sizes, linkage.believed_group_sizes)
        )
        attacks = self.gain * believed > self.cost * tries * (1 + 1e-12)
        payoff = np.where(attacks, self.gain * success - self.cost * tries, 0.0)
        return reidsim.Response(attacks, success, believed, payoff, np.where(attacks, tries, 0.0), gain=self.gain)


@reidsim.policy("level")
class Level:
    """Shares every record at a share of the strategies."""

    class Parameters(BaseModel):
        share: float = 1.0
        labels: tuple[str, ...] = ()
        weights: dict[str, float] | None = None

    def choose(self, game):
        return np.full(game.n_records, round(self.parameters.share * (game.space.size - 1)))


class HighestRisk:
    label, format, definition = "Highest risk", "{:.3f}", "largest risk of a record"

    def compute(self, outcome, weights):
        return outcome.risk[weights > 0].max()


@pytest.fixture(autouse=True)
def registered(no_registered_parts, monkeypatch):
    monkeypatch.setattr("reidsim.scenarios.registry._IN_USE", {})
    reidsim.planner("persistent")(Persistent)
    reidsim.policy("level")(Level)


def scenario_of(**changes):
    known = {"policies": ["basic", "no-attack", "level"], "adversary": "persistent"}
    hierarchies = {"age": reidsim.intervals(10, 20), "sex": "suppress"}
    return reidsim.Scenario.from_frames(PATIENTS, hierarchies=hierarchies, economics=ECONOMICS, **{**known, **changes})


def payoffs(result, measure="publisher_payoff"):
    return result.summary[measure].to_numpy()


# Names and parameters.


@pytest.mark.deep
def test_a_registered_name_is_used_in_python_files_and_cross_play(tmp_path):
    scenario = scenario_of()
    objects = scenario_of(adversary=Persistent(60, 16), policies=["basic", "no-attack", Level()])
    np.testing.assert_array_equal(payoffs(scenario.run()), payoffs(objects.run()))
    PATIENTS.to_csv(tmp_path / "patients.csv", index=False)
    text = EXAMPLES["ward.toml"].replace("parameters = { tries = 3 }", "").replace("persistent:P", "p")
    (tmp_path / "ward.toml").write_text(text.replace('"no-attack"]', '"no-attack", "level"]'))
    np.testing.assert_array_equal(payoffs(reidsim.run(tmp_path / "ward.toml")), payoffs(scenario.run()))
    table = scenario.cross_play().table
    assert "level" in set(table["defender"])
    assert "persistent" in set(table["adversary"])


@pytest.mark.deep
@pytest.mark.parametrize(
    ("adversary", "key", "values"),
    [
        ("persistent", "adversary.parameters.tries", [1.0, 1.5, 3.0, 4.0]),
        ({"rationality": "logit", "precision": 1.0}, "adversary.precision", [0.1, 0.5, 1.0, 2.0]),
        ({"planner": "random"}, "adversary.rate", [0.0, 0.3, 0.6, 0.9]),
    ],
)
def test_data_are_read_once_for_all_values_of_a_parameter_of_planning(monkeypatch, adversary, key, values):
    from reidsim.kinds.tables.kind import TablesKind

    scenario, build, built = scenario_of(adversary=adversary, policies=["no-protection", "basic"]), TablesKind.build, []
    single = [payoffs(scenario.with_({key: value}).run(), "adversary_payoff") for value in values]
    monkeypatch.setattr(TablesKind, "build", staticmethod(lambda loaded: built.append(loaded) or build(loaded)))
    swept = scenario.sweep({key: values})
    np.testing.assert_array_equal(payoffs(swept, "adversary_payoff"), np.concatenate(single))
    assert len({*np.concatenate(single)}) > 2
    assert len(built) == 1


@pytest.mark.deep
def test_parameters_are_set_swept_and_uncertain():
    scenario, changes = scenario_of(), {"adversary__parameters__tries": [1, 3]}
    swept = payoffs(scenario.sweep(**changes, publisher__parameters__level__share=[0, 1])).reshape(2, 2, 3)
    for first, tries in enumerate([1, 3]):
        for second, share in enumerate([0, 1]):
            adversary = {"planner": Persistent, "parameters": {"tries": tries}}
            own = scenario_of(adversary=adversary, publisher={"parameters": {"level": {"share": share}}})
            np.testing.assert_allclose(swept[first, second], payoffs(own.run()), rtol=1e-12)
    stressed = scenario.with_(stress={"robustness": {"samples": 4}}).stress(adversary__parameters__tries=(1, 3))
    assert (stressed.tables["robustness"]["points"] == 4).all()
    planners = scenario.sweep(adversary__planner=["one-shot", Persistent]).summary["adversary_payoff"]
    np.testing.assert_array_equal(planners.loc["persistent"], scenario.run().summary["adversary_payoff"])
    types = {"one": {"planner": "persistent", "parameters": {"tries": 3}}}
    several = scenario_of(adversary=None, adversaries=types)
    np.testing.assert_allclose(payoffs(several.run()), swept[1, 1], rtol=1e-12)


class Changed(reidsim.OneShotAdversary):
    respond = Persistent.respond


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adversary__parameters__tries": 0}, r"adversary\.parameters\.tries: value not allowed; found 0"),
        ({"adversary__parameters__trys": 2}, r"adversary\.parameters\.trys: no such parameter.*did you mean 'tries'"),
        ({"publisher__parameters__level__share": "x"}, r"publisher\.parameters\.level\.share: .*; found 'x'"),
        ({"publisher__parameters__basic__share": 1}, r"publisher\.parameters: no policy of your own .*'basic'"),
        ({"policies": ["basic"], "publisher__parameters__level__share": 1}, r"no policy of your own"),
        ({"adversary__planner": Persistent(1, 1), "adversary__parameters__tries": 2}, "an object keeps its own param"),
        ({"adversary__planner": Changed}, "respond and weigh of OneShotAdversary cannot be replaced"),
    ],
)
def test_errors_about_parameters_name_the_key(changes, message):
    with pytest.raises(reidsim.InputError, match=message):
        scenario_of().with_(**changes).run()


def test_a_name_is_replaced_by_the_user_only():
    class Level:
        def choose(self, game):
            return np.zeros(game.n_records, int)

    scenario = scenario_of(policies=["no-protection", "level"])
    reidsim.policy("level")(Level)
    assert len(set(payoffs(scenario.run()))) == 1
    for register, name in (
        (reidsim.planner, "one-shot"), (reidsim.policy, "opt-in"), (reidsim.policy, "k-anonymity-5"),
        (reidsim.measure, "risk"), (reidsim.measure, "seed"),
    ):  # fmt: skip
        with pytest.raises(reidsim.InputError, match="exists and cannot be replaced"):
            register(name)(HighestRisk)
    with pytest.raises(reidsim.InputError, match="not a name"):
        reidsim.planner("a.b")(Persistent)
    with pytest.raises(reidsim.InputError, match="the measure has no label"):
        reidsim.measure("nothing")(Level)


# Measures.


@pytest.mark.deep
def test_a_measure_is_in_summaries_sweeps_rounds_reports_and_stored_results(tmp_path):
    reidsim.measure("highest_risk")(HighestRisk)
    scenario = scenario_of()
    result = scenario.run()
    expected = (result.records["attacked"] * result.records["success_probability"]).groupby(result.records["policy"])
    assert result.summary["highest_risk"].to_dict() == expected.max().to_dict()
    np.testing.assert_array_equal(payoffs(scenario.rounds(2), "highest_risk"), result.summary["highest_risk"])
    assert scenario.sweep(loss=[1, 60]).summary["highest_risk"].notna().all()
    assert "Highest risk" in result.report(break_even=False).html
    result.save(tmp_path / "out")
    reidsim.core.registry._REGISTERED.clear()
    assert "Highest risk" in reidsim.report(tmp_path / "out", break_even=False).html
    assert "highest_risk" not in scenario_of(adversary=None, policies=["basic"]).run().summary


def test_other_processes_receive_registered_parts():
    reidsim.measure("highest_risk")(HighestRisk)
    scenario = scenario_of()
    sent, expected = pickle.dumps(scenario), scenario.run().summary
    reidsim.core.registry._REGISTERED.clear()
    pd.testing.assert_frame_equal(pickle.loads(sent).run().summary, expected)  # noqa: S301 - our own data


def test_a_measure_that_fails_is_named():
    reidsim.measure("fails")(type("Fails", (HighestRisk,), {"compute": lambda self, outcome, weights: outcome.nothing}))
    with pytest.raises(reidsim.InputError, match=r"measure 'fails': AttributeError: .*nothing"):
        scenario_of().run()


# Scenario files.


class Tried(Persistent):
    """Has a constructor of its own."""

    name = "tried"

    def __init__(self, gain, cost, tries=1.0):
        self.gain, self.cost, self.tries = gain, cost, tries
        self.parameters = self.Parameters(tries=tries)


class Named(Level):
    name = property(lambda self: f"level {self.parameters.share}")


AMOUNTS, CLASSES = st.floats(1, 100), st.sampled_from([Persistent, Tried])


@examples(60, fast=5)
@given(own=CLASSES, gain=AMOUNTS, cost=AMOUNTS, tries=st.floats(1, 5), share=st.floats(0, 1))
def test_parts_with_arguments_are_equal_after_saving(own, gain, cost, tries, share):
    scenario = scenario_of(
        adversary=own(gain, cost, tries=tries), policies=["basic", Level(share=share, labels=("a",))]
    )
    loaded = reidsim.Scenario.load(scenario.to_toml(), allow_code=True)
    assert loaded == scenario
    assert loaded.scenario.publisher.parameters == {"Level": {"share": share, "labels": ["a"]}}
    assert loaded.scenario.adversary.parameters == {"gain": gain, "cost": cost, "tries": tries}
    np.testing.assert_array_equal(payoffs(loaded.run()), payoffs(scenario.run()))


def test_registered_classes_are_written_with_their_modules():
    scenario = scenario_of().with_(publisher__parameters__level__share=0.5)
    text = scenario.to_toml()
    assert f'planner = "persistent={__name__}:Persistent"' in text
    loaded = reidsim.Scenario.load(text, allow_code=True)
    assert loaded == scenario
    assert loaded.scenario.publisher.parameters == {"level": {"share": 0.5}}
    assert loaded != scenario_of()
    assert "planner = " not in scenario.with_(adversary={"risk": "prosecutor"}).to_toml()


def test_parts_that_no_file_can_name_are_errors(monkeypatch):
    changed = Tried(60, 16)
    changed.tries = 3.0
    monkeypatch.setattr(Level, "__module__", "__main__")
    for changes in ({"adversary": changed}, {"policies": ["level"]}, {"policies": [Level(share=0.5)]}):
        with pytest.raises(reidsim.InputError, match=r"cannot name this; move it to a module such as parts\.py"):
            scenario_of(**changes).to_toml()


def test_policies_with_one_class_are_written_with_their_names():
    scenario = scenario_of(policies=[Named(share=0.0), Named(share=1.0)])
    summary = scenario.run().summary
    assert summary.index.tolist() == ["level 0.0", "level 1.0"]
    assert f"level 1.0={__name__}:Named" in scenario.to_toml()
    loaded = reidsim.Scenario.load(scenario.to_toml(), allow_code=True)
    assert loaded == scenario
    pd.testing.assert_frame_equal(loaded.run().summary, summary)


# Rounds.


@pytest.mark.parametrize("changes", [{}, {"unit": "table"}])
def test_an_own_policy_plays_rounds_like_the_policy_that_it_imitates(changes):
    agents = {"rounds": 3, "mode": "sampling", "participation": {"reward": 1, "harm": 3}}
    own = scenario_of(policies=["level", "suppress-all"], agents=agents, **changes).run()
    rounds = own.analysis.rounds.drop(columns="policy").groupby(own.analysis.rounds["policy"], observed=True)
    first, second = (rounds.get_group(name).reset_index(drop=True) for name in ("level", "suppress-all"))
    pd.testing.assert_frame_equal(first, second)


class Cautious(reidsim.OneShotAdversary):
    """Buys resources only after some attacks without a success; notes its calls."""

    class Parameters(BaseModel):
        patience: float = 10

    calls = []  # noqa: RUF012 - shared by the copies

    def begin(self, world):
        self.attacks = self.successes = 0
        self.calls.append((world.name, world.rounds, world.budget, dict(world.prices)))

    def plan(self, observation):
        failed = self.attacks >= self.parameters.patience and not self.successes
        return observation.plan(buys=observation.offers if failed else ())

    def observe(self, outcome):
        self.attacks += outcome.attempts.sum()
        self.successes += outcome.successes.sum()


def broker_of(planner, *, seed=1, budget=40, **agents):
    broker = {"planner": planner, "holds": ["hearsay"], "buys": ["register"], "budget": budget, "cost": 8}
    return scenario_of(
        adversary=None,
        policies=["no-protection", "level"],
        resources={"hearsay": {"attributes": ["sex"]}, "register": {"attributes": ["age", "sex"], "price": 20}},
        adversaries={"broker": broker},
        agents={"rounds": 5, "mode": "sampling", **agents},
        seed=seed,
    )


@pytest.mark.parametrize("seed", [1, 4])
@pytest.mark.parametrize("patience", [0, 10])
def test_an_adversary_buys_only_after_attacks_without_success(seed, patience):
    Cautious.calls.clear()
    adversary = {"adversaries__broker__parameters__patience": patience}
    table = broker_of(Cautious, seed=seed).with_(**adversary).run().analysis.adversaries
    assert Cautious.calls == [("broker", 5, 40.0, {"register": 20.0})] * 2
    for _, rounds in table.groupby("policy", observed=True):
        attacks, breaches = (rounds[column].cumsum().shift(fill_value=0) for column in ("attacks", "breaches"))
        hopeless = ((attacks >= patience) & (breaches == 0)).to_numpy()
        first = hopeless.argmax() if hopeless.any() else len(rounds)
        assert (rounds["spent"] > 0).tolist() == [number == first for number in range(len(rounds))]
    if (seed, patience) == (4, 10):
        assert table["spent"].sum() == 20


def test_the_methods_of_a_planner_change_nothing_by_default():
    class Same(reidsim.OneShotAdversary):
        def plan(self, observation):
            return observation.best_plan()

    class Best(reidsim.OneShotAdversary):
        def plan(self, observation):
            plan = observation.best_plan()
            return observation.plan(plan.buys, plan.targets)

    usual = broker_of("one-shot").run()
    for planner in (Same, Best):
        found = broker_of(planner).run()
        pd.testing.assert_frame_equal(found.analysis.adversaries, usual.analysis.adversaries)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (
            lambda seen: seen.plan(buys=["genealogy"]),
            "not for sale; found 'genealogy'; expected .* register",
        ),
        (lambda seen: seen.plan(targets=seen.records + 1), "impossible targets"),
        (lambda seen: seen.plan(targets=[1]), "impossible targets"),
        (lambda seen: seen.plan(targets=seen.records), "the budget is exceeded; found 96.0"),
        (lambda seen: None, "not a plan; found None|not a plan; expected"),
    ],
)
def test_impossible_plans_are_errors(plan, message):
    planner = type("Wrong", (reidsim.OneShotAdversary,), {"plan": lambda self, observation: plan(observation)})
    with pytest.raises(reidsim.InputError, match=message):
        broker_of(planner).run()
