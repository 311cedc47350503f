"""The number of re-identified people, as reported by every command."""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.wording import columns_of
from reidsim.games.outcomes import REIDENTIFIED
from reidsim.scenarios.kind import AnalysisTables, once_each

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


def test_a_misspelt_table_is_refused_with_the_names_of_the_tables():
    found = AnalysisTables({"reidentified": pd.DataFrame({"policy": ["basic"]}), "runtimes": pd.DataFrame()})
    assert found.reidentified["policy"].tolist() == ["basic"]
    assert found.runtimes.empty
    with pytest.raises(AttributeError, match="no table 'reidentifed'; its tables are reidentified, runtimes"):
        _ = found.reidentifed
