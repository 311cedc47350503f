"""Simulated growth of a cohort, against exact expectations."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.kinds.assessment.kind import Pool
from reidsim.kinds.assessment.study import Release
from reidsim.populations.population import Attribute, Domain

RECIPE = 'title = "t"\nsource = "s"\n[[sources]]\nkind = "everything"\nname = "register"\n'
COUNTS = {"30": 9, "31": 1, "32": 4, "40": 30, "41": 2, "50": 1, "51": 1, "60": 12}


def pool_of_kinds(members, others, stratum=None):
    """Return a pool whose people have the number of their kind as only value."""
    n = len(members)
    domain = Domain((Attribute("kind", tuple(map(str, range(n)))),))
    release = Release(domain, np.arange(n, dtype=np.int32)[:, None], {})
    strata = np.zeros(n, dtype=np.intp) if stratum is None else np.asarray(stratum, dtype=np.intp)
    who = np.repeat(np.arange(n), members)
    return Pool(release, {}, who, None if others is None else np.asarray(others, dtype=np.int64), strata)


def absent(others: int, all_others: int, newcomers: int) -> float:
    """Return the probability that a kind has no member among the newcomers.

    Newcomers are drawn without replacement.
    """
    return math.comb(all_others - others, newcomers) / math.comb(all_others, newcomers)


def expected_mean_risk(members, others, newcomers):
    """Return the exact mean of 1 / group size: kinds present over number of people."""
    present = [
        1 if there else 1 - absent(rest, sum(others), newcomers) for there, rest in zip(members, others, strict=True)
    ]
    return sum(present) / (sum(members) + newcomers), present


def test_mean_risks_of_draws_lie_around_the_exact_one():
    members, others = [3, 0, 0, 1, 0, 0, 6], [0, 1, 5, 40, 2, 9, 100]
    pool, newcomers, draws = pool_of_kinds(members, others), 30, 1000
    rng = np.random.default_rng(8)
    # Within a kind, the risks of its people sum to 1.
    found = [pool.cohort(pool.order(rng, 40))[0].n_records / 40 for _ in range(draws)]
    exact, present = expected_mean_risk(members, others, newcomers)
    # The presence of kinds is negatively associated, so the variance of their number is at most that of independent
    # kinds.
    error = math.sqrt(sum(p * (1 - p) for p in present) / draws) / 40
    assert abs(np.mean(found) - exact) < 4 * error


@st.composite
def growths(draw):
    kinds = draw(st.integers(1, 5))
    members = draw(st.lists(st.integers(0, 4), min_size=kinds, max_size=kinds).filter(any))
    others = draw(st.lists(st.integers(0, 4), min_size=kinds, max_size=kinds))
    size = draw(st.integers(1, sum(members) + sum(others)))
    return members, others, size, draw(st.integers(0, 2**32 - 1))


@given(growths())
@examples(100)
def test_cohorts_contain_each_other_and_nobody_joins_twice(growth):
    members, others, size, seed = growth
    order = pool_of_kinds(members, others).order(np.random.default_rng(seed), size)
    assert len(order) == max(size, sum(members))
    everybody = np.bincount(order, minlength=len(members))
    assert (everybody <= np.add(members, others)).all()
    assert (everybody >= members).all()
    cohort, _ = pool_of_kinds(members, others).cohort(order[:size])
    assert cohort.people.sum() == size
    assert (cohort.people == np.bincount(order[:size])[cohort.codes[:, 0]]).all()
    again = pool_of_kinds(members, None).order(np.random.default_rng(seed), size)
    assert not np.isin(again, np.flatnonzero(np.equal(members, 0))).any()


def test_newcomers_like_members_have_their_shares_of_strata():
    pool = pool_of_kinds([9, 0, 1, 0], [100, 100, 5000, 5000], stratum=[0, 0, 1, 1])
    rng = np.random.default_rng(4)
    of_first = np.mean([np.isin(pool.order(rng, 110)[10:], [0, 1]).mean() for _ in range(100)])
    assert abs(of_first - 0.9) < 4 * math.sqrt(0.09 / 10_000)
    with pytest.raises(InputError, match=r"like_members.*at most 200"):
        pool.order(rng, 1010)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("growth")
    pd.DataFrame({"age": list(COUNTS), "people": list(COUNTS.values())}).to_csv(made / "people.csv", index=False)
    (made / "people.toml").write_text(
        'title = "p"\nsource = "s"\nkind = "counts"\nfile = "people.csv"\ncount = "people"\n[columns]\nage = "age"\n',
        encoding="utf-8",
    )
    (made / "register.toml").write_text(RECIPE, encoding="utf-8")
    (made / "cohort.csv").write_text("age\n30\n30\n32\n40\n60\n", encoding="utf-8")
    (made / "cohort.toml").write_text(
        """
title = "Cohort"
game = "risk"
seed = 3

[population]
recipe = "people.toml"

[release]
path = "cohort.csv"

[knowledge]
register = "register.toml"

[uniqueness]
method = "fixed"
value = 0.5

[threshold]
groups = ["age"]
sizes = [3, 20, 60]
newcomers = "population"
draws = 3
""",
        encoding="utf-8",
    )
    return made


def of_everybody(result, size):
    table = result.analysis.cohorts
    return table[(table["records"] == size) & (table["knowledge"] == "register") & (table["attribute"] == "everybody")]


@pytest.mark.deep
def test_a_cohort_grown_to_the_whole_population_is_the_population(folder):
    result = reidsim.run(folder / "cohort.toml")
    table = result.analysis.cohorts
    whole = of_everybody(result, 60)
    assert list(whole["draw"]) == [0, 1, 2]
    np.testing.assert_allclose(whole["mean_risk"], len(COUNTS) / 60)
    np.testing.assert_allclose(whole["share_above"], (60 - 30 - 12) / 60)
    of_age = table[(table["records"] == 60) & (table["attribute"] == "age") & (table["draw"] == 2)]
    for row in of_age.itertuples():
        assert row.persons == COUNTS[row.value]
        assert row.percentile_risk == pytest.approx(1 / COUNTS[row.value])
    assert not of_everybody(result, 5)["simulated"].any()
    assert of_everybody(result, 3)["mean_risk"].between(2 / 3 - 1e-12, 1).all()
    assert of_everybody(result, 20)["persons"].tolist() == [20, 20, 20]
    assert not result.warnings
    again = reidsim.run(folder / "cohort.toml", overrides={"threshold.newcomers": "members"})
    assert any("understates" in warning for warning in again.warnings)
    assert (of_everybody(again, 60)["mean_risk"] <= 4 / 60 + 1e-12).all()


TREE = {"30s": ["30", "31", "32"], "40s": ["40", "41"], "50s": ["50", "51"], "60s": ["60"]}
TREE |= {"any": ["30s", "40s", "50s", "60s"]}


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        # No person in the file is in the fifties, so newcomers are generalized as far as others allow.
        ("30s 30s 30s 40s 60", {"30s": 14, "40s": 32, "50s": 2, "60": 12}),
        ("30 30 32 40 60", COUNTS),
    ],
)
def test_newcomers_are_generalized_as_members_are(folder, records, expected):
    (folder / "decades.csv").write_text("\n".join(["age", *records.split()]), encoding="utf-8")
    changes = {"release.path": str(folder / "decades.csv"), "trees": {"age": {"groups": TREE}}}
    table = reidsim.run(folder / "cohort.toml", overrides=changes).analysis.cohorts
    groups = table[(table["records"] == 60) & (table["knowledge"] == "register") & (table["attribute"] == "age")]
    found = groups[groups["draw"] == 1]
    assert dict(zip(found["value"], found["persons"], strict=True)) == expected


def test_knowledge_about_newcomers_depends_on_their_true_values(folder):
    (folder / "decades.csv").write_text("age\n30s\n30s\n30s\n40s\n60s\n", encoding="utf-8")
    profiles = '[[sources.profile]]\nwhen = { age = ["30"] }\ngroups = [{ attributes = ["age"] }]\n'
    profiles += '[[sources.profile]]\npresence = 0\ngroups = [{ attributes = ["age"] }]\n'
    text = RECIPE.replace("everything", "groups") + profiles
    (folder / "thirty.toml").write_text(text, encoding="utf-8")
    changes = {
        "release.path": str(folder / "decades.csv"), "release.persons": str(folder / "cohort.csv"),
        "trees": {"age": {"groups": TREE}}, "knowledge.register": str(folder / "thirty.toml"),
    }  # fmt: skip
    result = reidsim.run(folder / "cohort.toml", overrides=changes)
    # Nine people are thirty, among fourteen released as 30s; all values of the others are unknown.
    expected = (9 / 14 + 51 / 60) / 60
    np.testing.assert_allclose(of_everybody(result, 60)["mean_risk"], expected)


@pytest.mark.parametrize(
    ("records", "changes", "message"),
    [
        ("30s 30 32 40 60", {}, r"cohort\.toml: threshold\.newcomers, column 'age': .* overlap.*30s"),
        (
            "30 30 32 40 60",
            {"threshold.sizes": [61]},
            r"threshold\.sizes: the cohort is larger than the population.*60",
        ),
        ("30 30 32 40 60", {"threshold.like_members": ["sex"]}, r"threshold\.like_members"),
        ("30 30 32 40 60", {"threshold.like_members": ["age"]}, r"threshold\.sizes: more newcomers.*like_members"),
        ("30", {"threshold.newcomers": "members", "threshold.like_members": ["age"]}, r"threshold\.like_members"),
        ("30", {"release": {"sizes": [5, 6]}}, r"threshold\.sizes: cohorts need a single release"),
    ],
)
def test_growth_that_cannot_be_simulated_is_refused(folder, records, changes, message):
    (folder / "own.csv").write_text("\n".join(["age", *records.split()]), encoding="utf-8")
    given = {"release.path": str(folder / "own.csv")} if "release" not in changes else {}
    if "30s" in records:
        given |= {"trees": {"age": {"groups": TREE}}}
    with pytest.raises(InputError, match=message):
        reidsim.run(folder / "cohort.toml", overrides=given | changes)
