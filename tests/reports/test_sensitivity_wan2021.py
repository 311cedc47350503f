"""Claims about sensitivity: criteria for a claim to hold, on an artificial study."""

import json

import pandas as pd
import pytest
from reproduction import sensitivity_wan2021 as sensitivity

MEASURES = ("publisher_payoff", "utility", "risk", "usefulness", "usefulness_fairness", "privacy_fairness")
USUAL = {
    "subjects.attributes": ["age", "DYS19"],
    "resources.genealogy.missing_alleles": 0.3,
    "adversary.confidence_threshold": 0.5,
    "resources.genealogy.size": 20,
    "resources.registry.size": 20,
    "economics.loss": 150.0,
    "economics.benefit": 100.0,
    "economics.cost": 10.0,
    "adversary.stages.0.method": "tmrca",
    "subjects.weights": "entropy",
    "subjects.minority_support": 0.0,
}
OTHERS = {
    "subjects.attributes": [["age"], ["age", "DYS19", "DYS385"]],
    "resources.genealogy.missing_alleles": [0.0, 0.6],
    "adversary.confidence_threshold": [0.0, 1.0],
    "resources.genealogy.size": [10, 30],
    "resources.registry.size": [10, 30],
    "economics.loss": [0.0, 300.0],
    "economics.benefit": [50.0, 150.0],
    "economics.cost": [0.0, 20.0],
    "adversary.stages.0.method": ["nearest-neighbour"],
    "subjects.weights": ["uniform"],
    "subjects.minority_support": [0.5, 1.0],
}
BASE = {
    "no-protection": 10.0, "demographics-only": 12.0, "random-opt-in": 1.0, "random-masking": 14.0, "opt-in": 20.0,
    "masking": 80.0, "no-attack-masking": 79.5, "one-stage-masking": 90.0, "k-anonymity": 5.0, "same-strategy": 40.0,
}  # fmt: skip


def rows_of(scenario, point, payoff, policies=tuple(BASE)):
    for draw in (-1, 1):
        for policy in policies:
            measures = dict.fromkeys(MEASURES, 1.0 if policy == "no-protection" else BASE[policy] / 100)
            measures |= {"publisher_payoff": payoff(policy) + draw, "risk": (100 - BASE[policy]) / 100}
            yield {"scenario": scenario, "point": json.dumps(point), "replication": draw, "policy": policy, **measures}


def study(payoff=lambda policy, key, value: BASE[policy]):
    """Return a study whose payoff is a function of policy, varied key and value."""
    rows = list(rows_of("wan2021-sensitivity", USUAL, lambda policy: payoff(policy, None, None)))
    for key, values in OTHERS.items():
        for value in values:
            rows += rows_of(
                "wan2021-sensitivity",
                USUAL | {key: value},
                lambda policy, key=key, value=value: payoff(policy, key, value),
            )
    for cost in (10.0, 20.0):
        for believed in (10.0, 20.0):
            point = {"economics.cost": cost, "beliefs.cost": believed}
            sizes = {"resources.genealogy.size": 20, "resources.registry.size": 20}
            rows += rows_of("wan2021-robustness", point | sizes, lambda policy: BASE[policy], ("opt-in", "masking"))
    for weights in ("entropy", "uniform", {"age": 1.0, "DYS19": 10.0}):
        rows += rows_of("wan2021-settings", {"subjects.weights": weights, "subjects.minority_support": 0.0}, BASE.get)
    return pd.DataFrame(rows)


def test_what_holds_and_what_does_not():
    found = sensitivity.claims(study())
    for key in ("masking pays most", "one-stage pays more", "no-attack pays almost the same", "privacy", "utility"):
        assert found[key].holds, key
        assert found[key].value == "at 24 of 24 values"
    assert found["robustness"].value == "at 8 of 8 values"
    assert found["support: usefulness"].value == "at 3 of 3 values"
    assert found["support: fairness"].value == "at 2 of 2 values"
    assert found["supported: fairness"] == pytest.approx(80 / 14 - 1)
    assert found["own strategy"].value == "$80.00 instead of $40.00"
    assert found["nearest neighbour"].value == "0 more, 4 the same, 0 less"
    assert not any(found[key].holds for key in ("six times", "uniform weights", "biased weights", "nearest neighbour"))
