"""The number of re-identified people, as reported by every command."""

import numpy as np
import pandas as pd
import pytest
from tiers import cases

import reidsim
from reidsim.core.measures import columns_of
from reidsim.figures.runs import reidentified_by_policy
from reidsim.games.measures import REIDENTIFIED
from reidsim.scenarios.people import once_each

COLUMNS = columns_of(REIDENTIFIED)
NUMBERS = COLUMNS[:4]
PEOPLE = """
title = "Stays"
[population]
path = "town.csv"
[attributes]
age = { hierarchy = { rule = "intervals", widths = [10, 50] } }
sex = { hierarchy = { rule = "suppress" } }
[release]
path = "stays.csv"
[economics]
benefit = 20
loss = 60
gain = 60
cost = 4
[publisher]
policies = ["no-protection", "basic", "no-attack"]
"""


def by_recursion(probabilities):
    masses = np.array([1.0])
    for p in probabilities:
        masses = np.append(masses * (1 - p), 0.0) + np.append(0.0, masses * p)
    return masses


@pytest.fixture(scope="module")
def stays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stays")
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"age": rng.integers(20, 60, 25), "sex": rng.choice(["f", "m"], 25)})
    person = np.r_[np.arange(25), rng.integers(0, 25, 15)]
    people.iloc[person].assign(who=person, harm=40 + person % 3 * 10).to_csv(folder / "stays.csv", index=False)
    town = [(age, sex) for age in range(20, 60) for sex in "fm" for _ in range(3 + age % 5)]
    pd.DataFrame(town, columns=["age", "sex"]).to_csv(folder / "town.csv", index=False)
    (folder / "stays.toml").write_text(PEOPLE)
    return folder / "stays.toml"


def distribution(result, policy):
    table = result.analysis.reidentified
    return table[table["policy"] == policy]


@pytest.mark.parametrize("keyed", [False, True])
def test_a_run_counts_records_or_people(stays, keyed):
    result = reidsim.run(stays, overrides={"release.person": "who"} if keyed else {})
    assert result.manifest.get("released_people", 40) == (25 if keyed else 40)
    each = once_each(result.records, result.manifest["content"])
    for policy in ("no-protection", "basic", "no-attack"):
        own = each[each["policy"] == policy]
        masses = by_recursion(np.where(own["attacked"], own["success_probability"], 0.0))
        told = distribution(result, policy)
        assert np.abs(masses[told["people"]] - told["probability"]).max() < 1e-12
        assert told["probability"].sum() == pytest.approx(1, abs=1e-12)
        at = result.summary.loc[policy]
        assert at["reidentified_any"] == pytest.approx(1 - masses[0], abs=1e-12)
        for column, level in (("reidentified_median", 0.5), ("reidentified_95", 0.95), ("reidentified_99", 0.99)):
            assert at[column] == np.searchsorted(np.cumsum(masses), level - 1e-9)
        # Every success costs the publisher 60: the worst twentieth has the most successes.
        order, left, worst = np.arange(len(masses))[::-1], 0.05, 0.0
        for number in order:
            taken = min(left, masses[number])
            worst, left = worst + taken * number, left - taken
        kept = at["publisher_payoff"] + 60 * at["risk"]
        assert at["publisher_payoff_cvar"] == pytest.approx(kept - 60 * worst / 0.05 / len(own), abs=1e-9)
    assert list(result.summary.columns)[9:15] == COLUMNS
    assert result.summary.loc["no-attack", NUMBERS].tolist() == [0, 0, 0, 0]


def test_amounts_that_differ_by_person(stays):
    columns = {"economics.columns.loss": "harm", "release.person": "who", "economics.gain": 60}
    result = reidsim.run(stays, overrides=columns)
    each = once_each(result.records, result.manifest["content"])
    own = each[(each["policy"] == "no-protection") & each["attacked"]]
    assert own["success_probability"].nunique() > 2
    rng = np.random.default_rng(3)
    frame = pd.read_csv(stays.parent / "stays.csv").drop_duplicates("who")
    harm = frame.set_index("who")["harm"]
    keys = pd.factorize(pd.read_csv(stays.parent / "stays.csv")["who"])[1]
    hit = rng.random((200_000, len(own))) < own["success_probability"].to_numpy()
    lost = hit @ harm[keys[own["person"]]].to_numpy()
    worst = np.sort(lost)[-10_000:] / 25
    at = result.summary.loc["no-protection"]
    kept = 20.0
    assert at["publisher_payoff_cvar"] == pytest.approx(kept - worst.mean(), abs=5 * worst.std() / 100)
    # Tens are multiples of a unit, so nothing is drawn.
    assert not [column for column in result.summary if "standard_error" in column]


def test_which_adversary_comes_is_the_same_for_all(stays):
    adversaries = {"keen": {"weight": 0.25, "cost": 1.0}, "idle": {"weight": 0.75, "cost": 1000.0}}
    result = reidsim.run(stays, overrides={"adversaries": adversaries, "publisher.policies": ["no-protection"]})
    alone = reidsim.run(stays, overrides={"economics.cost": 1.0, "publisher.policies": ["no-protection"]})
    told, keen = distribution(result, "no-protection"), distribution(alone, "no-protection")
    both = told.merge(keen, on="people", suffixes=("", "_keen"))
    both = both[both["people"] > 0]
    assert len(both) > 5
    assert np.abs(both["probability"] - 0.25 * both["probability_keen"]).max() < 1e-12
    assert result.summary["reidentified_median"].item() == 0
    assert result.summary["reidentified_any"].item() == pytest.approx(
        0.25 * alone.summary["reidentified_any"].item(), abs=1e-12
    )
    mean = (told["people"] * told["probability"]).sum()
    assert mean == pytest.approx(40 * result.summary["risk"].item(), abs=1e-9)


def test_batches_keep_measures_statistics_and_quantiles(stays):
    sweep = {"sweep.values": {"economics.loss": [40, 60]}, "economics.cost": 2}
    result = reidsim.run_batch(stays, overrides=sweep, executor="serial")
    assert set(COLUMNS) <= set(result.statistics["measure"])
    alone = reidsim.run(stays, overrides={"economics.loss": 40, "economics.cost": 2})
    first = result.runs[result.runs["point"] == 0].set_index("policy")
    for column in COLUMNS:
        assert first[column].tolist() == pytest.approx(alone.summary[column].tolist(), abs=1e-12)
    quantiles = result.analysis.distributions
    people = quantiles[(quantiles["measure"] == "reidentified") & (quantiles["point"] == 0)].set_index("policy")
    assert people["median"].tolist() == alone.summary["reidentified_median"].tolist()
    assert people["q95"].tolist() == alone.summary["reidentified_95"].tolist()


@pytest.mark.parametrize("at_once", cases([True, False], [True]))
def test_a_stress_test_has_it_as_an_output(stays, at_once):
    uncertain = {
        "uncertainty.samples": 3,
        "uncertainty.parameters": {"economics.cost": {"distribution": "uniform", "low": 2, "high": 20}},
        "stress.outputs": ["reidentified_95", "risk"],
        "stress.sensitivity": {"method": "morris", "samples": 2},
        # If a policy cannot be thinned, every point runs separately.
        "publisher.policies": ["no-protection", "basic", *([] if at_once else ["k-anonymity"])],
    }
    samples = reidsim.stress(stays, overrides=uncertain).tables["samples"]
    assert samples["reidentified_95"].nunique() > 2
    for cost, rows in list(samples.groupby("economics.cost"))[:3]:
        alone = reidsim.run(stays, overrides={"economics.cost": cost}).summary["reidentified_95"]
        for policy in ("basic", "no-protection"):
            assert (rows.loc[rows["policy"] == policy, "reidentified_95"] == alone[policy]).all()


def test_agents_are_told_over_all_rounds_and_draws(stays):
    agents = {"agents": {"rounds": 3, "mode": "sampling", "draws": 2}, "adversaries": {"one": {}}}
    agents["agents"]["participation"] = {"reward": 1.0, "harm": 30.0, "expected_risk": 0.02}
    result = reidsim.run(stays, overrides=agents)
    rounds = result.analysis.rounds
    assert len(rounds) == 3 * 2 * 3
    own = rounds[rounds["policy"] == "no-protection"]
    told, at = distribution(result, "no-protection"), result.summary.loc["no-protection"]
    assert own["participation"].max() > own["participation"].min()
    assert at["reidentified_any"] == pytest.approx(own["reidentified_any"].mean(), abs=1e-12)
    assert at["reidentified_median"] == told.loc[told["at_most"] >= 0.5 - 1e-9, "people"].min()
    assert own["reidentified_95"].min() <= at["reidentified_95"] <= own["reidentified_95"].max()
    assert at["breaches"] == pytest.approx(own["breaches"].mean())
    assert own["risk_90"].min() <= at["risk_90"] <= own["risk_90"].max()


@pytest.mark.deep
@pytest.mark.parametrize("people", [1, 1000])
def test_no_curve_of_the_number_reidentified_leaves_its_axes(people):
    masses = {"nobody": {0: 1.0}, "everybody": {people: 1.0}, "either": {0: 0.94, people: 0.06}}
    rows = [
        (policy, number, probability, sum(p for n, p in mass.items() if n <= number))
        for policy, mass in masses.items()
        for number, probability in mass.items()
    ]
    figure = reidentified_by_policy(pd.DataFrame(rows, columns=["policy", "people", "probability", "at_most"]))
    [axes] = figure.axes
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for line in axes.get_lines():
        x, y = line.get_xdata(), line.get_ydata()
        assert left <= min(x) <= max(x) <= right
        assert low <= min(y) <= max(y) <= high
        # The last jump is inside the plot, and the curve continues after it.
        assert y[-1] == pytest.approx(1)
        assert x[int(np.argmax(np.isclose(y, 1)))] < right
