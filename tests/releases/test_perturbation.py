"""Policies that perturb records, against enumeration of people, labels and strengths on small tables."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.kinds.tables import perturbation
from reidsim.kinds.tables.kind import TABLES
from reidsim.kinds.tables.schema import policy_named
from reidsim.populations.population import Attribute
from reidsim.releases.perturbation import METHODS, TrueColumn

ECONOMICS = {"benefit": 100, "loss": 300, "gain": 300, "cost": 100}
GRIDS = {"strengths": [0.3, 1.0], "group_sizes": [2, 4]}


def scenario(table, policies, **changes):
    """Return the scenario of a publisher who perturbs the records of a table against prosecutor risk."""
    names = {each.removesuffix("-no-attack") for each in policies}
    keys = {"strengths": {"pram", "swap", "noise"}, "group_sizes": {"microaggregate"}}
    return reidsim.Scenario.from_frames(
        table,
        hierarchies=dict.fromkeys(table, "suppress"),
        adversary={"risk": "prosecutor"},
        economics=ECONOMICS,
        policies=list(policies),
    ).with_(
        {f"perturbation.{key}": GRIDS[key] for key, users in keys.items() if users & names}
        | {"publisher.unit": "table"}
        | changes
    )


def probability(method, strength, column, label, value):
    """Return the probability that a person with a value has a label, from the definition of the method."""
    own, n = [*column], len(column)
    if strength == 0:
        return float(label == value)
    if method == "pram":
        return (1 - strength) * (label == value) + strength * own.count(label) / n
    if method == "swap":
        share = 2 * (round(strength * n) // 2) / n
        others = list(own)
        others.remove(value)
        return (1 - share) * (label == value) + share * others.count(label) / (n - 1)
    every = sorted({*map(float, own)})
    place, deviation = every.index(float(label)), strength * np.std([*map(float, own)])
    low = -math.inf if place == 0 else (every[place - 1] + every[place]) / 2
    high = math.inf if place == len(every) - 1 else (every[place] + every[place + 1]) / 2
    below = [0.5 * math.erfc(-(end - float(value)) / deviation / math.sqrt(2)) for end in (low, high)]
    return below[1] - below[0]


def loss(method, strength, column, label):
    """Return the entropy of the value given the label, if all values are equally probable, in nats."""
    chances = [probability(method, strength, column, label, value) for value in {*column}]
    return -sum(each / sum(chances) * math.log(each / sum(chances)) for each in chances if each > 0)


def posteriors(likelihood, direction, labels, owner):
    """Return the highest posterior probability of a link of each person, by enumeration of the possible links.

    `likelihood` has the released records by row, and all people by column; `labels` is the table of released labels.
    `owner` has the column of the person of each row.
    """
    people, rows = pd.unique(owner), range(len(likelihood))
    by_record = likelihood.max(axis=1) / likelihood.sum(axis=1)
    found = {"record": np.array([by_record[owner == person].max() for person in people])}
    found["person"] = np.zeros(len(people))
    of_person, text = pd.Series(owner).map(pd.Series(owner).value_counts()), [*labels.itertuples(index=False)]
    for place, person in enumerate(people):
        # Odds that a row is the person's, if it comes from the person or from one of the other people.
        usual = np.delete(likelihood, person, axis=1).sum(axis=1)
        odds = likelihood[:, person] / np.maximum(usual, 1e-12 * likelihood[:, person])
        named = min(each for each, odd in zip(text, odds, strict=True) if odd >= odds.max() * (1 - 1e-12))
        # Every other person of the file has one row, which is equally probably each of its rows.
        once, named = odds / of_person, [row for row in rows if text[row] == named]
        others = np.mean([once[owner != owner[row]].sum() for row in named])
        found["person"][place] = odds.max() / (odds.max() + others)
    found["both"] = np.maximum(found["record"], found["person"])
    return found[direction]


def likelihood_by_hand(method, strengths, table, labels):
    """Return the likelihood of each row (axis 0) given each person (axis 1), from the definition of the method."""
    columns = [*zip(table, strengths, strict=True)]
    return np.array(
        [
            [
                math.prod(probability(method, by, table[a], labels[a][row], table[a][person]) for a, by in columns)
                for person in range(len(table))
            ]
            for row in range(len(table))
        ]
    )


def outcome(method, strengths, table, labels, direction, no_attack, owner=None):
    """Return kept people, and posterior, utility and payoff of each, by a loop over all people.

    `owner` has the person of each record; without it, each record is a person.
    """
    owner = np.arange(len(table)) if owner is None else owner
    n, whole = owner.max() + 1, sum(math.log(table[name].nunique()) for name in table)
    columns, likelihood = [*zip(table, strengths, strict=True)], likelihood_by_hand(method, strengths, table, labels)
    lost = np.array([sum(loss(method, by, table[a], labels[a][row]) for a, by in columns) for row in range(len(table))])
    lost = np.array([lost[owner == person].mean() for person in range(n)])
    utility = 1 - lost / whole if whole else np.ones(n)
    # All records of a person have the same values.
    first = np.unique(owner, return_index=True)[1]
    kept, posterior, payoff = np.ones(n, dtype=bool), np.zeros(n), np.zeros(n)
    while kept.any():
        rows = kept[owner]
        of_rows = likelihood[np.ix_(rows, first)], direction, labels[rows], owner[rows]
        posterior[pd.unique(owner[rows])] = posteriors(*of_rows)
        attacked = ECONOMICS["gain"] * posterior > ECONOMICS["cost"] * (1 + 1e-12)
        payoff = ECONOMICS["benefit"] * utility - attacked * ECONOMICS["loss"] * posterior
        pays = ~attacked if no_attack else payoff > 1e-9
        if pays[kept].all():
            break
        kept &= pays
    return [np.where(kept, each, 0.0) for each in (kept, posterior, utility, payoff)]


@st.composite
def tables(draw):
    """Draw a table of 2 to 8 records with two columns of numbers."""
    n = draw(st.integers(2, 8))
    values = st.lists(st.sampled_from([1, 2, 4, 9]), min_size=n, max_size=n)
    return pd.DataFrame({"a": draw(values), "b": draw(values)}).astype(str)


def enumerated(loaded, method):
    """Yield the strengths and the drawn labels of each strategy of a policy, in its order."""
    study = TABLES.build(loaded)
    space = policy_named(method).space(study)
    for strategy in range(space.size):
        labels = space.released(np.full(study.n_records, strategy), study.cell_of_record)
        yield tuple(map(float, space.describe(strategy).split(","))), labels.astype(str)


DIRECTIONS = ["record", "person", "both"]


@examples(40, fast=5)
@given(tables(), st.sampled_from(["pram", "swap", "noise"]), st.booleans(), st.sampled_from(DIRECTIONS))
def test_strengths_are_the_best_of_an_enumeration(table, method, no_attack, direction) -> None:
    name = f"{method}-no-attack" if no_attack else method
    loaded, best = scenario(table, [name], **{"adversary.direction": direction}), None
    for strengths, labels in enumerated(loaded, name):
        found = outcome(method, strengths, table, labels, direction, no_attack)
        if best is None or found[-1].sum() > best[1][-1].sum() + 1e-9:
            best = strengths, found
    result = loaded.run()
    found, (strengths, (kept, *expected)) = result.records, best
    assert result.manifest["policies"][name]["node"] == [",".join(f"{each:g}" for each in strengths)]
    np.testing.assert_array_equal(found["strategy"] != "withheld", kept)
    columns = ["success_probability", "utility", "publisher_payoff"]
    np.testing.assert_allclose(found[columns].to_numpy(float).T, expected, rtol=1e-12, atol=1e-10)


@pytest.mark.deep
@examples(20, fast=5)
@given(tables(), st.sampled_from(["pram", "swap", "noise"]), st.sampled_from(DIRECTIONS))
def test_group_sizes_are_one_over_the_highest_posterior(table, method, direction) -> None:
    loaded = scenario(table, [method], **{"adversary.direction": direction})
    study = TABLES.build(loaded)
    linker = policy_named(method).paid_in(study, study.truth).linker
    for number, (strengths, labels) in enumerate(enumerated(loaded, method)):
        likelihood = likelihood_by_hand(method, strengths, table, labels)
        sizes = linker.link(number).group_sizes[study.cell_of_record]
        expected = posteriors(likelihood, direction, labels, np.arange(len(table)))
        np.testing.assert_allclose(1 / sizes, expected, rtol=1e-11)


@pytest.mark.deep
@examples(20, fast=5)
@given(
    tables(),
    st.sampled_from(["pram", "swap", "noise"]),
    st.booleans(),
    st.sampled_from(DIRECTIONS),
    st.integers(0, 1000),
)
def test_people_with_several_rows_are_found_as_in_an_enumeration(table, method, no_attack, direction, seed) -> None:
    rng, name = np.random.default_rng(seed), f"{method}-no-attack" if no_attack else method
    owner = pd.factorize(rng.integers(0, len(table), 8))[0]
    table = table.iloc[owner].reset_index(drop=True)
    people = table.assign(pid=owner.astype(str))
    amounts, best = {"economics.cost": 60, "economics.loss": 90} if seed % 2 else {}, None
    loaded = scenario(table, [name], **amounts, **{"adversary.direction": direction})
    loaded = loaded.with_({"release.path": people, "release.person": "pid"})
    with pytest.MonkeyPatch.context() as patch:
        for key, value in amounts.items():
            patch.setitem(ECONOMICS, key.removeprefix("economics."), value)
        for strengths, labels in enumerated(loaded, name):
            found = outcome(method, strengths, table, labels, direction, no_attack, owner)
            if best is None or found[-1].sum() > best[1][-1].sum() + 1e-9:
                best = strengths, found
    result = loaded.run()
    found, (strengths, (kept, *expected)) = result.records.drop_duplicates("person").sort_values("person"), best
    assert result.manifest["policies"][name]["node"] == [",".join(f"{each:g}" for each in strengths)]
    np.testing.assert_array_equal(found["strategy"] != "withheld", kept)
    columns = ["success_probability", "utility", "publisher_payoff"]
    np.testing.assert_allclose(found[columns].to_numpy(float).T, expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_key_that_no_two_rows_share_changes_nothing(direction) -> None:
    rng = np.random.default_rng(7)
    table = pd.DataFrame({"a": rng.integers(0, 9, 60), "b": rng.choice([1, 2, 5], 60)}).astype(str)
    alone = scenario(table, ["pram", "noise-no-attack"], **{"adversary.direction": direction})
    keyed = alone.with_({"release.path": table.assign(pid=np.arange(60).astype(str)), "release.person": "pid"})
    pd.testing.assert_frame_equal(alone.run().summary, keyed.run().summary, rtol=1e-12)


def test_nobody_is_at_less_risk_in_both_directions_than_in_one() -> None:
    # Two people, whose values are kept with probability 0.85, and were kept: the other row is the other person's.
    table, expected = pd.DataFrame({"a": ["1", "2"]}), {"record": 0.85, "person": 0.85**2 / (0.85**2 + 0.15**2)}
    for direction in DIRECTIONS:
        study = TABLES.build(scenario(table, ["pram"], **{"adversary.direction": direction, "seed": 1}))
        linker, space = policy_named("pram").paid_in(study, study.truth).linker, policy_named("pram").space(study)
        assert space.describe(1) == "0.3"
        assert space.released(np.array([1, 1]), study.cell_of_record)["a"].tolist() == ["1", "2"]
        np.testing.assert_allclose(
            1 / linker.link(1).group_sizes, expected.get(direction, expected["person"]), rtol=1e-12
        )


def test_people_whose_rows_differ_are_refused() -> None:
    table = pd.DataFrame({"a": ["1", "1", "2"], "pid": ["x", "y", "x"]})
    loaded = scenario(table[["a"]], ["pram"]).with_({"release.path": table, "release.person": "pid"})
    with pytest.raises(reidsim.InputError, match=r"row 3, column 'a': .*differ in a, but perturbation.*value of row 1"):
        loaded.run()


@examples(20, fast=5)
@given(tables(), st.integers(2, 5))
def test_microaggregated_labels_are_means_of_neighbours_and_link_by_shares(table, size) -> None:
    loaded, own = scenario(table, ["microaggregate"], **{"perturbation.group_sizes": [size]}), table.astype(float)
    study = TABLES.build(loaded)
    linker = policy_named("microaggregate").paid_in(study, study.truth).linker
    for number, (strengths, labels) in enumerate(enumerated(loaded, "microaggregate")):
        likelihood = np.ones((len(table), len(table)))
        for column, strength in zip(table, strengths, strict=True):
            groups = own[column].groupby(labels[column].astype(float)).agg(["size", "mean", "min", "max"])
            np.testing.assert_allclose(groups["mean"], groups.index, rtol=1e-5)
            assert groups["size"].min() >= min(strength, len(table))
            assert (groups["max"].iloc[:-1].to_numpy() <= groups["min"].iloc[1:].to_numpy()).all()
            shares = pd.crosstab(labels[column], table[column], normalize="columns")
            likelihood *= shares.loc[labels[column], table[column]].to_numpy()
        sizes = linker.link(number).group_sizes[study.cell_of_record]
        np.testing.assert_allclose(1 / sizes, likelihood.max(axis=1) / likelihood.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("method", "risk", "several"),
    [
        *((method, "prosecutor", False) for method in ("pram", "swap", "noise", "microaggregate")),
        ("pram", "prosecutor", True),
        ("microaggregate", "journalist", True),
    ],
)
def test_strength_0_is_the_release_of_unchanged_records(method, direction, risk, several) -> None:
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"a": rng.integers(0, 30, 60), "b": rng.choice([1, 2, 5], 60)}).astype(str)
    owner = rng.integers(0, 60, 130) if several else np.arange(60)
    population = pd.concat([table] * 2 + [table.iloc[:20]])
    table = table.iloc[owner].reset_index(drop=True)
    # The loss from an attack is smaller than that from any change of values.
    changes = {"economics.loss": 1, "adversary.direction": direction, "adversary.risk": risk}
    if risk == "journalist":
        changes["population.path"] = population
    if several:
        # Under journalist risk, the rows of a person may differ.
        pid = owner // (2 if risk == "journalist" else 1)
        changes |= {"release.path": table.assign(pid=pid.astype(str)), "release.person": "pid"}
    result = scenario(table, [method, "no-protection"]).with_(changes).run()
    assert result.manifest["policies"][method]["node"] == ["0,0"]
    # A rule has no plan by row, so it has no comparison with such a plan.
    measures = result.summary.drop(columns=["utility_price", "exposed_by_record"], errors="ignore")
    # Shares of several rows of a person are rounded.
    exactly = {"check_exact": True} if not several else {"rtol": 1e-13}
    pd.testing.assert_series_equal(measures.loc[method], measures.loc["no-protection"], check_names=False, **exactly)
    both = [result.records[result.records["policy"] == name].reset_index(drop=True) for name in result.summary.index]
    columns = ["success_probability", "utility", "publisher_payoff", "a", "b"]
    pd.testing.assert_frame_equal(*(each[columns].astype({"a": str, "b": str}) for each in both), **exactly)


def test_strength_0_counts_people_outside_the_population_as_a_release_of_unchanged_records_does() -> None:
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"a": rng.integers(0, 6, 200), "b": rng.choice([1, 2, 5], 200)}).astype(str)
    people = people[(people["a"] != "4") | (people["b"] != "5")]
    table = pd.concat([people.iloc[:30], pd.DataFrame({"a": ["4"], "b": ["5"]})], ignore_index=True)
    loaded = reidsim.Scenario.from_frames(
        table,
        population=people,
        hierarchies=dict.fromkeys(table, "suppress"),
        economics=ECONOMICS | {"loss": 1},
        policies=["swap", "no-protection"],
    )
    records = loaded.run().records
    one, other = (
        records[records["policy"] == name]["success_probability"].tolist() for name in ("swap", "no-protection")
    )
    assert one == other
    assert one[-1] == 1.0


def test_the_same_seed_draws_the_same_file() -> None:
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"a": rng.integers(0, 9, 60), "b": rng.integers(0, 3, 60)}).astype(str)
    first, again, other = (
        reidsim.share(scenario(table, ["pram"], seed=seed, **{"economics.cost": 30}).run(), accept_risk=True)
        for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(first, again)
    assert first.attrs["sidecar"]["sha256"] == again.attrs["sidecar"]["sha256"]
    assert not first.equals(other)


def test_pram_keeps_the_distribution_of_a_column() -> None:
    rng = np.random.default_rng(5)
    codes, n = rng.choice(4, 20_000, p=[0.6, 0.3, 0.09, 0.01]), 20_000
    column = TrueColumn(Attribute("a", ("w", "x", "y", "z")), codes)
    released = METHODS["pram"].draw(column, 0.7, np.random.default_rng(1)).of_record
    expected, found = np.bincount(codes), np.bincount(released)
    # Five standard deviations of a binomial count.
    assert (np.abs(found - expected) < 5 * np.sqrt(expected * (1 - expected / n))).all()
    kept = (released == codes).mean()
    assert kept == pytest.approx(0.3 + 0.7 * np.sum((expected / n) ** 2), abs=5 * 0.5 / np.sqrt(n))


@pytest.mark.parametrize("method", METHODS)
def test_the_model_is_the_frequency_of_labels(method) -> None:
    values = np.repeat(np.arange(4), [3, 2, 4, 3])
    column, strength = (
        TrueColumn(Attribute("a", ("1", "2", "4", "9")), values),
        5 if method == "microaggregate" else 0.6,
    )
    counts = dict[str, np.ndarray]()
    model, labels = METHODS[method].draw(column, strength, np.random.default_rng(0))[2], None
    draws = 1_000
    for draw in range(draws):
        found = METHODS[method].draw(column, strength, np.random.default_rng(draw))
        for record, label in enumerate(found.of_record):
            counts.setdefault(found.labels[label], np.zeros(len(values)))[record] += 1
        labels = found.labels
    if method == "microaggregate":
        # Labels are the same for every draw here; the groups of equal values are random.
        assert len(counts) == len(labels)
    for number, label in enumerate(labels):
        shares = counts.get(label, np.zeros(len(values))) / draws
        by_value = np.array([shares[values == value].mean() for value in range(4)])
        np.testing.assert_allclose(by_value, model[number], atol=5 * 0.5 / np.sqrt(draws * 2))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["pram", "swap", "microaggregate", "noise"])
def test_no_attack_policies_are_not_attacked_and_chosen_strengths_pay(method, seed) -> None:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.integers(0, 9, 40), "b": rng.integers(0, 3, 40)}).astype(str)
    summary = scenario(table, [method, f"{method}-no-attack", "opt-in"]).run().summary
    assert summary.loc[f"{method}-no-attack", "share_attacked"] == 0
    # Policy opt-in releases records unchanged where this pays, as at strength 0.
    assert summary["publisher_payoff"][method] >= summary["publisher_payoff"]["opt-in"] - 1e-9
    assert summary["publisher_payoff"][method] >= summary["publisher_payoff"][f"{method}-no-attack"] - 1e-9


def test_many_strengths_are_searched_by_column_and_not_proved_optimal(monkeypatch) -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({name: rng.integers(0, 4, 50) for name in "abc"}).astype(str)
    loaded = scenario(table, ["pram"])
    whole = loaded.run()
    monkeypatch.setattr(perturbation, "MOST_EVALUATED", 5)
    part = loaded.run()
    assert whole.manifest["policies"]["pram"]["proved_optimal"]
    assert not part.manifest["policies"]["pram"]["proved_optimal"]
    assert part.manifest["policies"]["pram"]["gap"] is None
    assert part.summary["publisher_payoff"].item() <= whole.summary["publisher_payoff"].item() + 1e-9


def test_columns_without_numbers_are_not_microaggregated() -> None:
    table = pd.DataFrame({"a": ["1", "2", "8", "9"] * 5, "b": ["x", "y"] * 10})
    result = scenario(table, ["noise", "microaggregate"], **{"economics.cost": 20}).run()
    assert all(node[0].endswith(",0") for node in (each["node"] for each in result.manifest["policies"].values()))


def test_adversaries_who_link_otherwise_are_refused() -> None:
    table = pd.DataFrame({"a": ["1", "2", "8", "9"] * 5})
    changes = {"adversary.planner": "fmdp", "adversary.sequential": {"belief": "unknown"}}
    with pytest.raises(reidsim.InputError, match="policy 'pram' needs"):
        scenario(table, ["pram"], **changes)


@pytest.mark.deep
@pytest.mark.parametrize("method", ["pram", "swap", "noise", "microaggregate"])
def test_a_policy_added_to_a_draft_is_run_and_shared(method, tmp_path, monkeypatch, reidsim_) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(20, 60, 300), "sex": rng.choice(["F", "M"], 300)})
    table.to_csv("people.csv", index=False)
    assert reidsim_("new", "people.csv")[0] == 0
    draft, policies = Path("people/people.toml"), [method, f"{method}-no-attack", "no-attack"]
    text = re.sub("policies = .*", f"policies = {policies}", draft.read_text().replace("cost = 4", "cost = 20"))
    draft.write_text(text)
    assert 'direction = "both"' in text
    code, _, err = reidsim_("run", draft, "-o", "results")
    assert code == 0, err
    code, _, err = reidsim_("share", "results", "--policy", f"{method}-no-attack", "-o", "shared.csv")
    assert code == 0, err
    shared, run = pd.read_csv("shared.csv", dtype=str), reidsim.load_result("results")
    records = run.records[(run.records["policy"] == policies[1]) & (run.records["strategy"] != "withheld")]
    assert shared.to_numpy().tolist() == sorted(records[["age", "sex"]].astype(str).to_numpy().tolist())
    assert len(shared)
    assert json.loads(Path("shared.csv.json").read_text())["risk"]["record"] == records["success_probability"].max()
    assert (300 * records["success_probability"] * (1 - 1e-9) <= 20).all()


@pytest.fixture
def run():
    """Return a run with perturbed and generalized releases."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"a": rng.integers(0, 9, 60), "b": rng.integers(0, 3, 60), "c": rng.choice(["x", "y"], 60)})
    loaded = reidsim.Scenario.from_frames(
        table,
        hierarchies=dict.fromkeys("ab", "suppress"),
        adversary={"risk": "prosecutor"},
        economics=ECONOMICS,
        policies=["basic", "pram", "microaggregate"],
    )
    return loaded.run()


@pytest.mark.parametrize("policy", ["pram", "microaggregate"])
def test_shared_files_have_the_labels_and_the_posterior_risk_of_the_run(run, policy) -> None:
    shared = reidsim.share(run, policy, accept_risk=True)
    records = run.records[(run.records["policy"] == policy) & (run.records["strategy"] != "withheld")]
    assert shared[["a", "b"]].to_numpy().tolist() == sorted(records[["a", "b"]].astype(str).to_numpy().tolist())
    sidecar = shared.attrs["sidecar"]
    assert sidecar["risk"]["record"] == records["success_probability"].max()
    assert sidecar["solver"]["node"] == run.manifest["policies"][policy]["node"]
    assert sidecar["audit"]["rows_that_do_not_fit_their_record"] == 0
    assert sidecar["audit"]["perturbed_rows"] > 0


@pytest.mark.parametrize("options", [{"keep": ["c"]}, {"rulebook": "rules.csv"}])
def test_shared_files_of_perturbed_values_have_neither_known_columns_nor_rules(
    run, options, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(reidsim.InputError, match="pram"):
        reidsim.share(run, "pram", accept_risk=True, **options)


def test_policies_with_other_numbers_of_labels_and_without_any_are_stored(tmp_path) -> None:
    table = pd.DataFrame({"a": np.arange(300)})
    policies = ["microaggregate-no-attack", "microaggregate", "no-protection"]
    result = scenario(table, policies, **{"economics.cost": 1}).run()
    assert result.summary["share_suppressed"].tolist() == [1.0, 0.0, 0.0]
    result.save(tmp_path / "results")
    stored = reidsim.load_result(tmp_path / "results").records.groupby("policy", observed=True)["a"]
    assert stored.nunique().tolist() == [0, 75, 300]
