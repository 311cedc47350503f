"""Repeated releases of a cohort: waves, four policies, tables and figures."""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.file import share_run

SCENARIO = """
title = "Four releases"
[release]
path = "clinic.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [5, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 300
gain = 60
cost = 12
[adversary]
risk = "prosecutor"
[publisher]
policies = ["basic", "independent", "hold-first", "m-invariance"]
sensitive = "diagnosis"
[releases]
enters = "from"
leaves = "until"
"""
DATES = ["2021-01-31", "2021-07-31", "2022-01-31"]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    rng, n = np.random.default_rng(2), 60
    enters = rng.integers(0, 3, n)
    until = enters + rng.integers(1, 4, n)
    pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["F", "M"], n),
            "from": [DATES[at] for at in enters],
            "until": [DATES[at] if at < 3 else "" for at in until],
            # As even as possible in every wave.
            "diagnosis": np.array(["flu", "asthma", "cancer", "gastritis", "diabetes"])[
                np.argsort(np.argsort(enters)) % 5
            ],
            "home": np.arange(n) // 2,
        }
    ).to_csv(folder / "clinic.csv", index=False)
    (folder / "clinic.toml").write_text(SCENARIO)
    return folder / "clinic.toml"


@pytest.fixture(scope="module")
def result(clinic):
    return reidsim.run(clinic)


def test_rounds_are_the_waves_of_the_file(result, clinic):
    rounds, frame = result.analysis.rounds, pd.read_csv(clinic.parent / "clinic.csv", keep_default_na=False)
    assert rounds["wave"].astype(str).tolist() == DATES * 4
    for wave, here in rounds.groupby("wave", observed=True):
        inside = (frame["from"] <= wave) & ((frame["until"] == "") | (frame["until"] > wave))
        np.testing.assert_allclose(here["participation"], inside.mean())
    assert result.manifest["waves"] == DATES


def test_policies_differ_as_they_say(result):
    """All policies agree in round 1; in round 2 `basic` has the least regret."""
    rounds = result.analysis.rounds.set_index(["policy", "round"])
    first = rounds.xs(1, level="round")["publisher_payoff"]
    assert first["basic"] == pytest.approx(first["independent"], abs=1e-12)
    assert first["basic"] == pytest.approx(first["hold-first"], abs=1e-12)
    # In the second release, `basic` has the largest payoff given the same past.
    second = rounds.xs(2, level="round")["publisher_payoff"]
    assert second["basic"] >= second[["independent", "hold-first"]].max() - 1e-12
    assert (rounds.loc["hold-first", "changed"] == 0).all()
    assert (rounds["newly_exposed"] >= 0).all()
    assert rounds.groupby("policy", observed=True)["newly_exposed"].sum().le(1 + 1e-12).all()


def test_outcomes_of_the_last_release_by_hand(clinic, result):
    """A person's last m-invariant release is attacked together with the earlier ones."""
    frame = pd.read_csv(clinic.parent / "clinic.csv", keep_default_na=False)
    records = result.records[result.records["policy"] == "basic"]
    inside = (frame["until"] == "") & (frame["from"] <= DATES[-1])
    np.testing.assert_array_equal(records["participates"], inside)
    gone = records[~records["participates"].to_numpy()]
    assert (gone["strategy"].astype(str) == "withheld").all()
    assert (gone["success_probability"] > 0).any()
    risk = (records["attacked"] * records["success_probability"]).mean()
    last = result.analysis.rounds.query("policy == 'basic'")["risk"].iloc[-1]
    assert risk == pytest.approx(last, abs=1e-12)


def test_one_wave_is_the_game_of_one_release(clinic):
    frame = pd.read_csv(clinic.parent / "clinic.csv").assign(once=1)
    frame.to_csv(clinic.parent / "clinic.csv", index=False)
    waves = {"releases": {"enters": "once"}, "publisher.policies": ["basic", "independent", "hold-first"]}
    rounds = reidsim.run(clinic, overrides=waves)
    plain = clinic.parent / "plain.toml"
    plain.write_text(SCENARIO.split("[releases]")[0])
    single = reidsim.run(plain, overrides={"publisher.policies": ["basic"]})
    for policy in rounds.summary.index:
        for measure in single.summary:
            np.testing.assert_allclose(
                rounds.summary.loc[policy, measure], single.summary.loc["basic", measure], atol=1e-12
            )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"releases.enters": "diagnosis"}, "column 'diagnosis': not a wave; found '.*'"),
        ({"releases.enters": "until"}, r"row \d+, column 'until': not a wave; found ''"),
        ({"releases.enters": "age"}, "releases.enters: .* is a quasi-identifier"),
        ({"publisher.sensitive": "sex"}, "publisher.sensitive: the column is a quasi-identifier"),
        (
            {"publisher.sensitive": ["diagnosis", "home"]},
            "publisher.sensitive: policy 'm-invariance' needs exactly one sensitive column",
        ),
        ({"releases.m": 6}, "release 1 cannot be m-invariant: too many new records"),
        ({"agents.rounds": 3}, "agents.rounds: the key has no effect"),
        ({"release.household": "home"}, "without sections agents and releases"),
    ],
)
def test_releases_that_cannot_be_made_are_refused(changes, message, clinic):
    with pytest.raises(InputError, match=message):
        reidsim.run(clinic, overrides=changes)


def test_policies_of_several_releases_need_them(clinic):
    plain = clinic.parent / "plain.toml"
    plain.write_text(SCENARIO.split("[releases]")[0])
    with pytest.raises(InputError, match=r"publisher\.policies: policy 'independent' needs several releases"):
        reidsim.run(plain)


def test_a_record_that_leaves_before_it_enters(clinic):
    frame = pd.read_csv(clinic.parent / "clinic.csv", keep_default_na=False)
    frame.assign(early=DATES[0]).to_csv(clinic.parent / "clinic.csv", index=False)
    with pytest.raises(InputError, match=r"row \d+, column 'early': a record leaves before its release"):
        reidsim.run(clinic, overrides={"releases.leaves": "early"})


def test_a_person_with_another_linked_record_is_no_candidate(tmp_path):
    """Five equal records: three stay, one leaves, one enters. The adversary links the releases of a record."""
    pd.DataFrame(
        {"age": 30, "sex": "F", "from": [1, 1, 1, 1, 2], "until": ["", "", "", 2, ""]}
    ).to_csv(tmp_path / "clinic.csv", index=False)  # fmt: skip
    (tmp_path / "clinic.toml").write_text(SCENARIO.replace('sensitive = "diagnosis"\n', ""))
    changes = {"publisher.policies": ["no-attack", "independent"], "economics.cost": 25}
    result = reidsim.run(tmp_path / "clinic.toml", overrides=changes)
    success = result.records.pivot(index="record", columns="policy", values="success_probability")
    np.testing.assert_allclose(success["independent"], [1 / 3, 1 / 3, 1 / 3, 1, 1])
    # The newcomer is withheld. Nothing protects the earlier release of the person who left.
    np.testing.assert_allclose(success["no-attack"], [1 / 3, 1 / 3, 1 / 3, 1, 0])
    run = open_results(result.save(tmp_path / "run"))
    share_run(run, tmp_path / "shared.csv", policy="no-attack", max_risk=0.34)
    assert len(pd.read_csv(tmp_path / "shared.csv")) == 3
    with pytest.raises(InputError, match=r"the risk of a record is 1; expected at most 0\.34"):
        share_run(run, tmp_path / "other.csv", policy="independent", max_risk=0.34)


def test_the_limit_of_a_wave_counts_rows_linked_with_earlier_waves(tmp_path):
    """The file has two rows without age that fit both people of age 40, but one of these is new."""
    pd.DataFrame({"age": [30, 30, 40] * 2, "sex": "F", "from": [1, 1, 1, 2, 2, 2], "until": ""}).to_csv(
        tmp_path / "clinic.csv", index=False
    )
    (tmp_path / "clinic.toml").write_text(SCENARIO.replace('sensitive = "diagnosis"\n', "").replace("[5, 20]", "[20]"))
    changes = {"publisher.policies": ["no-attack"], "economics.cost": 30}
    run = open_results(reidsim.run(tmp_path / "clinic.toml", overrides=changes).save(tmp_path / "run"))
    with pytest.raises(InputError, match=r"if all rows are assigned to people at once is 1; expected at most 0\.5"):
        share_run(run, tmp_path / "shared.csv", max_risk=0.5)
