"""The verdict of a run: compared policies, and people exposed by each policy."""

import pandas as pd
import pytest

from reidsim.reports.verdict import (
    assessment_verdict,
    has_verdict,
    stress_verdict,
    verdict,
)

CONTENT = {"game": "tables"}
END = " This holds for the scenario's adversary and payoff parameters."


def measures(**policies):
    """Return payoff, share attacked and risk, by policy."""
    columns = ["publisher_payoff", "share_attacked", "risk"]
    table = pd.DataFrame.from_dict(policies, orient="index", columns=columns)
    table.index = pd.Index([name.replace("_", "-") for name in table.index], name="policy")
    return table


def test_what_the_policy_that_exposes_fewest_keeps_is_said_beside_safe_harbor():
    found = measures(safe_harbor=(850.0, 0.03, 0.0019), basic=(1195.46, 0.2158, 0.0111), no_attack=(1169.8, 0.0, 0.0))
    assert verdict(found, CONTENT) == (
        "no-attack keeps 98% of the best payoff, 38% above safe-harbor; no record is attacked. basic pays most, "
        "1,195.46 per record; 21.58% of the records are attacked, re-identification risk 0.0111." + END
    )


@pytest.mark.parametrize(
    ("own", "most", "words"),
    [
        (-3.0, -1.0, "no-attack pays -3.00, 2.00 less than the best payoff;"),
        (0.0, 4.0, "no-attack keeps 0% of the best payoff;"),
        (3.97, 4.0, "no-attack keeps 99% of the best payoff;"),
    ],
)
def test_shares_are_told_of_payoffs_received_alone(own, most, words):
    assert verdict(measures(basic=(most, 0.5, 0.25), no_attack=(own, 0.0, 0.0)), CONTENT).startswith(words)


def test_rounds_say_what_changed_and_who_leads():
    found = measures(basic=(4.0, 0.5, 0.25), no_attack=(5.0, 0.0, 0.0), suppress_all=(0.0, 0.0, 0.0))
    rounds = pd.DataFrame(
        {
            "policy": pd.Categorical(["basic", "no-attack", "suppress-all"] * 2),
            "round": [1, 1, 1, 2, 2, 2],
            "publisher_payoff": [6.0, 4.0, 0.0, 2.0, 6.0, 0.0],
            "share_attacked": [0.5, 0.0, 0.0, 0.5, 0.0, 0.0],
        }
    )
    assert verdict(found, CONTENT, rounds=rounds) == (
        "no-attack pays most, 5.00 per record, and exposes fewest: no record is attacked. From the first of 2 rounds "
        "to the last, no-attack: publisher's payoff from 4.00 to 6.00. In the first round basic pays most, in the last "
        "no-attack." + END
    )
    assert "rounds" not in verdict(found, CONTENT, rounds=rounds[rounds["round"] == 1])
    still = rounds.assign(publisher_payoff=[1.0, 2.0, 0.0] * 2)
    assert "to the last, no-attack: no change. This" in verdict(found, CONTENT, rounds=still)


def test_a_table_without_policies_or_with_gaps_has_no_verdict():
    found = measures(basic=(10.0, 0.5, 0.25))
    assert has_verdict(found)
    assert not has_verdict(found.rename_axis("knowledge"))
    assert not has_verdict(found.drop(columns="risk"))
    assert not has_verdict(found.assign(risk=float("nan")))
    assert not has_verdict(found.iloc[:0])


def test_a_stress_test_says_what_withstands_what_matters_and_what_breaks():
    robustness = pd.DataFrame(
        {"policy": ["a", "b"], "mean_payoff": [5.0, 4.0], "worst_payoff": [1.0, 2.0], "largest_regret": [3.0, 0.25],
         "points": 7}
    )  # fmt: skip
    sensitivity = pd.DataFrame(
        [
            ("a", "publisher_payoff", "loss", "", "total", 0.2), ("a", "publisher_payoff", "cost", "", "total", 0.7),
            ("b", "publisher_payoff", "loss", "", "total", 0.6), ("b", "publisher_payoff", "cost", "", "total", 0.7),
            ("b", "risk", "loss", "", "total", 0.99), ("a", "publisher_payoff", "loss", "", "first-order", 0.99),
            ("a", "publisher_payoff", "loss", "cost", "total", 0.99),
        ],
        columns=["policy", "output", "parameter", "other", "index", "value"],
    )  # fmt: skip
    guarantee = pd.DataFrame(
        {"policy": ["a", "b", "b"], "parameter": ["gain", "cost", "gain"], "believed": [100.0, 4.0, 100.0],
         "breaking": [150.0, 3.0, float("nan")], "relative_error": [0.5, -0.25, float("nan")]}
    )  # fmt: skip
    compared = (
        "Over 7 points of uncertain values a pays most on average, 5.00 per person. b has the best worst case, "
        "2.00; b is never more than 0.25 below the best."
    )
    broken = "The guarantee of b fails first where cost is 3 instead of 4."
    tables = {"robustness": robustness, "sensitivity": sensitivity, "guarantee": guarantee}
    assert stress_verdict(tables, "person") == f"{compared} Payoffs depend most on cost. {broken}"
    tables["sensitivity"] = sensitivity.replace({"value": {0.6: 0.8}})
    assert "Payoffs of 1 of 2 policies depend most on " in stress_verdict(tables, "person")
    assert stress_verdict({"guarantee": guarantee}, "person") == broken
    failed = {"robustness": robustness.assign(mean_payoff=float("nan")), "guarantee": guarantee[2:]}
    assert stress_verdict(failed, "person") == ""


def test_an_assessment_says_what_sources_tell_beside_everything_known():
    runs = pd.DataFrame(
        {"records": [10, 10, 10, 20], "knowledge": ["worst-case", "gossip", "voters", "voters"],
         "overall_risk": [0.8, 0.1, 0.4, 0.9]}
    )  # fmt: skip
    told = (
        "If the adversary knows every attribute of each person, in a release of 10 records, a person is re-identified "
        "with probability 0.8000 on average. With the knowledge of voters the probability is 0.4000, 50.0% less. "
        "With the knowledge of gossip the probability is 0.1000, 87.5% less."
    )
    assert assessment_verdict(runs) == told
    alone = "In a release of 10 records, a person is re-identified with the following probability on average."
    others = [
        f"With the knowledge of {name} the probability is {risk}."
        for name, risk in (("voters", "0.4000"), ("gossip", "0.1000"))
    ]
    assert assessment_verdict(runs[1:]) == " ".join([alone, *others])


def test_an_assessment_says_whether_the_accepted_risk_is_met_in_the_largest_cohort():
    runs = pd.DataFrame({"records": [10], "knowledge": ["voters"], "overall_risk": [0.4]})
    rows = [
        (10, "voters", "everybody", "everybody", 0.5), (20, "voters", "everybody", "everybody", 0.08),
        (20, "voters", "sex", "F", 0.07), (20, "voters", "sex", "M", 0.1),
        (20, "gossip", "everybody", "everybody", 0.2), (20, "gossip", "sex", "F", 0.1), (20, "gossip", "sex", "M", 0.3),
        (99, "voters", "everybody", "everybody", 0.01),
    ]  # fmt: skip
    cohorts = pd.DataFrame(rows, columns=["records", "knowledge", "attribute", "value", "percentile_risk"])
    cohorts = cohorts.assign(threshold=0.09, percentile=0.95, simulated=cohorts["records"] == 99)
    told = assessment_verdict(runs, cohorts=cohorts)
    assert told.endswith(
        "The accepted risk is 0.09. For 95% of 20 people the risk is at most 0.0800 with voters, below the accepted "
        "risk, but above the accepted risk for M (0.1000); at most 0.2000 with gossip, above the accepted risk, as for "
        "every group. From 10 to 99 people (other sizes are simulated), the risk is "
        "accepted from 20 people on with voters; at no size with gossip."
    )
