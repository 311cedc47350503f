"""Several adversaries of data subjects: enumeration, and contradictory input."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.scenario import cross_play
from reidsim.engine.stress.run import describe
from reidsim.kinds.masking.kind import MASKING
from reidsim.kinds.masking.study import build_masking_study
from reidsim.scenarios.kind import equilibria_of
from reidsim.scenarios.scenario import Scenario

ATTRIBUTES = ("age", "town", "blood")
WEIGHTS = {"age": 3.0, "town": 2.0, "blood": 1.0}
TARGETS = [("30", "Dale", "A"), ("30", "Hill", "B"), ("40", "Dale", "A")]
PEOPLE = [*TARGETS, ("30", "Dale", "B"), ("30", "Dale", "A"), ("40", "Hill", "A")]
SECTION = '[adversaries.{name}]\nweight = {weight}\nplanner = "{planner}"\n{more}\n'
STAGE = '[[adversaries.{name}.stages]]\nstage = "identify"\nresource = "{resource}"\non = {on}\n'
POLICIES = ["masking", "no-attack-masking", "opt-in", "same-strategy", "no-protection"]
MEANS = ["publisher_payoff", "adversary_payoff", "share_attacked", "risk"]
ALL = list(ATTRIBUTES)


def section(name="a", weight=1.0, planner="one-shot", on=ALL, resource="people", **amounts):
    more = "".join(f"{key} = {value}\n" for key, value in amounts.items())
    said = SECTION.format(name=name, weight=weight, planner=planner, more=more)
    return said + STAGE.format(name=name, resource=resource, on=list(on))


def town(folder, sections, targets=TARGETS, people=PEOPLE, policies=POLICIES, economics=(100.0, 150.0, 20.0), more=""):
    for name, rows in (("targets", targets), ("people", people)):
        (folder / f"{name}.csv").write_text("\n".join(map(",".join, [ATTRIBUTES, *rows])) + "\n")
    worth = ", ".join(f"{name} = {value}" for name, value in WEIGHTS.items())
    benefit, loss, cost = economics
    path = folder / "town.toml"
    path.write_text(
        f'game = "masking"\nseed = 5\n[targets]\nfile = "targets.csv"\n'
        f'[resources.people]\nfile = "people.csv"\nattributes = {ALL}\n'
        f'[resources.list]\nfile = "people.csv"\nattributes = {ALL}\n'
        f"[economics]\nbenefit = {benefit}\nloss = {loss}\ncost = {cost}\n"
        f"[subjects]\nattributes = {ALL}\nweights = {{ {worth} }}\npolicies = {policies}\n{more}\n{''.join(sections)}"
    )
    return path


# Enumeration over adversaries.


@st.composite
def worlds(draw):
    """Draw people with few values, and adversaries with different attacks.

    The adversaries differ in payoff parameters, planner and linkage attributes.
    """
    rows = st.tuples(st.sampled_from(["30", "40"]), st.sampled_from(["Dale", "Hill"]), st.sampled_from(["A", "B"]))
    targets = draw(st.lists(rows, min_size=1, max_size=3))
    people = targets + draw(st.lists(rows, max_size=6))
    money = st.sampled_from([0.0, 10.0, 30.0, 60.0, 150.0, 400.0])
    n = draw(st.integers(1, 3))
    shares = np.array([draw(st.integers(1, 9)) for _ in range(n)])
    adversaries = {}
    for number, weight in enumerate((shares / shares.sum()).tolist()):
        own = {name: draw(money) for name in sorted(draw(st.sets(st.sampled_from(["gain", "cost"]))))}
        on = draw(st.lists(st.sampled_from(ATTRIBUTES), min_size=1, max_size=3, unique=True))
        planner = draw(st.sampled_from(["one-shot", "one-shot", "one-shot", "always", "never"]))
        adversaries[f"a{number}"] = {"weight": weight, "planner": planner, "on": on, **own}
    return targets, people, adversaries, tuple(draw(money) for _ in range(3))


def expected(target, people, shared, adversaries, economics):
    """Return payoffs, attack and re-identification probability over adversaries.

    The order is the subject's payoff, the adversary's payoff, the attack probability, the re-identification
    probability.
    """
    benefit, loss, cost = economics
    worth = benefit * sum(WEIGHTS[name] for name, shares in zip(ATTRIBUTES, shared, strict=True) if shares) / 6.0
    total = np.array([worth, 0.0, 0.0, 0.0])
    for each in adversaries.values():
        used = [j for j, name in enumerate(ATTRIBUTES) if shared[j] and name in each["on"]]
        success = 1 / sum(all(person[j] == target[j] for j in used) for person in people)
        gain, own_cost = each.get("gain", loss), each.get("cost", cost)
        pays = gain * success > own_cost * (1 + 1e-12)
        attacks = {"one-shot": pays, "always": True, "never": False}[each["planner"]]
        risk = success * attacks
        total += each["weight"] * np.array([-loss * risk, (gain * success - own_cost) * attacks, attacks, risk])
    return total


@pytest.mark.deep
@given(world=worlds(), solver=st.sampled_from(["best-first", "backward-induction"]))
@examples(60, fast=5)
def test_runs_are_enumerations_of_strategies_and_adversaries(tmp_path_factory, world, solver):
    targets, people, adversaries, economics = world
    sections = [section(name, **each) for name, each in adversaries.items()]
    path = town(tmp_path_factory.mktemp("town"), sections, targets, people, economics=economics)
    study = build_masking_study(Scenario.load(path, {"subjects.solver": solver}))
    found = MASKING.summarise(study, 0, equilibria_of(MASKING.play(study)))
    everything, strategies = (True,) * 3, list(product([True, False], repeat=3))
    raw = np.mean([expected(target, people, everything, adversaries, economics) for target in targets], axis=0)
    np.testing.assert_allclose(found.loc["no-protection", MEANS].to_numpy(float), raw, atol=1e-9)
    tried = np.array([[expected(t, people, s, adversaries, economics) for s in strategies] for t in targets])
    best = {
        "masking": np.maximum(tried[:, :, 0].max(axis=1), 0.0).mean(),
        "no-attack-masking": np.maximum(np.where(tried[:, :, 2] > 0, 0.0, tried[:, :, 0]).max(axis=1), 0.0).mean(),
        "opt-in": np.maximum(tried[:, 0, 0], 0.0).mean(),
        "same-strategy": max(tried[:, :, 0].mean(axis=0).max(), 0.0),
    }
    for policy, payoff in best.items():
        assert found.loc[policy, "publisher_payoff"] == pytest.approx(payoff, abs=1e-9)


# Strategies that a rule prescribes, and compared adversaries.


def test_cross_play_leaves_out_whom_nothing_says_how_they_link(tmp_path):
    path = town(tmp_path, [section("a", 0.5, on=["age"]), section("b", 0.5, on=["town"])])
    found = cross_play(path)
    assert list(found.matrix("risk").columns) == ["a", "b", "types"]
    assert found.warnings[0].startswith("adversaries that the scenario does not name cannot play: the named")
    with pytest.raises(
        InputError, match=r"knowledge: the adversaries of the scenario link on different resources or attributes"
    ):
        cross_play(path, knowledge="voters-age-state")


# Contradictory input.

TWO = [section("a", 0.5), section("b", 0.5)]


@pytest.mark.parametrize(
    ("sections", "more", "message"),
    [
        ([], "", r"town.toml: adversary: key missing; expected \[adversary\], or several by name as \[adv"),
        ([section("a", 0.5)], "", r"adversaries: weights of the adversaries do not sum to 1; found 0.5"),
        (["[adversaries.a]\nweight = 1\n"], "", r"adversaries.a: the attack is missing; expected either stages or"),
        ([section("types")], "", r"adversaries.types: adversary name reserved"),
        ([section("a", 0.5), section("b", 0.5, resource="lists")], "",
         r"adversaries.b.stages\[0\].resource: no such resource; found 'lists'; expected one of people, list"),
        ([section(on=["name"])], "",
         r"town.toml: adversaries.a, stage 1: attribute is neither released nor inferred.*; found 'name'"),
        (TWO, "[figures]\nsearch_path = 0\n", r"figures.search_path: the figure needs a single adversary"),
        ([section(holds='["people"]')], "", r"adversaries.a.holds: the key has no effect"),
        ([section(holds='["list"]')], "[agents]\n",
         r"adversaries.a.holds: the adversary lacks the resource of its attack; found \['list'\]; expected 'people'"),
        ([section(buys='["lists"]')], "[agents]\n",
         r"adversaries.a.buys: no such resource; found 'lists'; expected one of people, list"),
        ([section(planner="fmdp", accuracy=0.5)], "[agents]\n",
         r"adversaries.a.accuracy: accuracy is not supported for sequential attacks"),
        (TWO, "[agents.learning]\nprior = { c = 1 }\n", r"learning.prior: no such adversary; found .c."),
        ([section("a", 0.5), section("b", 0.5, risk='"prosecutor"')], "", r"adversaries.b.risk: unknown key"),
        ([section("a", 0.5), section("b", 0.5, planner="ours:patient")], "", r"adversaries.b.planner: code that"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_clear_error(tmp_path, sections, more, message):
    with pytest.raises(InputError, match=message) as caught:
        describe(Scenario.load(town(tmp_path, sections, more=more)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subjects.policies": ["masking", "greedy-masking"]},
         r"subjects.policies: not supported against several adversaries; found 'greedy-masking'"),
        ({"subjects.solver": "greedy"}, r"subjects.solver: not supported against several adversaries; found 'greedy'"),
        ({"subjects.solver": "anytime"}, r"subjects.solver: not supported against several .*'anytime'"),
    ],
)  # fmt: skip
def test_searches_of_one_adversary_are_refused(tmp_path, changes, message):
    path = town(tmp_path, TWO)
    for rounds in ({}, {"agents": {"rounds": 1}}):
        with pytest.raises(InputError, match=message):
            describe(Scenario.load(path, {**changes, **rounds}))


def test_what_one_links_on_cannot_be_missing_though_another_infers_from_it(tmp_path):
    """An allele may be missing for inference from it, but not for linkage on it."""
    path = town(tmp_path, [section("a", 0.5, on=["blood"]), section("b", 0.5, on=["age"])])
    text = path.read_text().replace(
        "[[adversaries.b.stages]]\n",
        '[[adversaries.b.stages]]\nstage = "infer-surname"\nresource = "list"\ninfers = "town"\nloci = ["blood"]\n'
        'mutation_rates = "rates.csv"\n[[adversaries.b.stages]]\n',
    )
    path.write_text(text)
    (tmp_path / "rates.csv").write_text("locus,mutation_rate\nblood,0.01\n")
    numbers = [(age, place, "12" if blood == "A" else "13") for age, place, blood in PEOPLE]
    for name, rows in (("targets", numbers[:3]), ("people", numbers)):
        (tmp_path / f"{name}.csv").write_text("\n".join(map(",".join, [ATTRIBUTES, *rows])) + "\n")
    found = reidsim.run(path).summary
    assert found["publisher_payoff"].notna().all()
    missing = [*numbers[:-1], ("40", "Hill", "")]
    (tmp_path / "people.csv").write_text("\n".join(map(",".join, [ATTRIBUTES, *missing])) + "\n")
    with pytest.raises(InputError, match=r"people.csv: row 6, column 'blood': value missing"):
        reidsim.run(path)
