"""Claims from scored files beside the risks of Anonymeter, an independent program, on the same files."""

import numpy as np
import pandas as pd
import pytest

import reidsim

evaluators = pytest.importorskip("anonymeter.evaluators")

QUASI = ["age", "town", "job"]


@pytest.fixture(scope="module")
def files():
    """Return the original, the control, and a synthetic copy and synthetic independent columns.

    The sensitive column depends on the quasi-identifiers of each person, and on chance.
    """
    rng = np.random.default_rng(0)
    people = pd.DataFrame({name: rng.integers(0, 12, 2000) for name in QUASI})
    people["income"] = (people["age"] + rng.integers(0, 12, 2000)) // 6
    original, control = people[:1000], people[1000:].reset_index(drop=True)
    copy, independent = original.sample(frac=1, random_state=1).reset_index(drop=True), original.apply(rng.permutation)
    return original, control, {"copy": copy, "independent": independent}


def own_advantages(original, control, table):
    scenario = reidsim.Scenario.from_frames(
        original,
        hierarchies=dict.fromkeys(QUASI, "suppress"),
        economics={"benefit": 100, "loss": 300, "gain": 300, "cost": 4},
        policies=["no-protection"],
    )
    return scenario.score(table, control=control, sensitive=["income"], synthetic=True).claims.set_index("claim")


def inference(original, control, table):
    """Return the difference of the success of attacks on the original and on the control, and its 95 % interval."""
    np.random.seed(0)  # noqa: NPY002 # Anonymeter draws from the global generator
    tables = {"ori": original, "syn": table, "control": control}
    evaluator = evaluators.InferenceEvaluator(**tables, aux_cols=QUASI, secret="income", n_attacks=1000)  # noqa: S106
    results = evaluator.evaluate(n_jobs=1).results()
    risk = results.risk()
    return results.attack_rate.value, results.control_rate.value, risk.value, risk.ci


def test_a_copy_is_worse_than_independent_columns_for_both_programs(files):
    original, control, tables = files
    own = {name: own_advantages(original, control, table) for name, table in tables.items()}
    theirs = {name: inference(original, control, table) for name, table in tables.items()}
    assert own["copy"].loc["attribute income", "lower"] > 0
    assert theirs["copy"][3][0] > 0
    assert own["independent"].loc["attribute income", "lower"] < 0.02
    assert theirs["independent"][3][0] < 0.02


def test_success_of_inference_is_that_of_the_nearest_row_where_rows_are_unique(files):
    # Every person is known exactly: Anonymeter takes the nearest row of the copy, which has the person's own value
    # unless other records equal the person; reidsim takes the most frequent value of the rows that fit.
    original, control, tables = files
    own = own_advantages(original, control, tables["copy"])
    attack = inference(original, control, tables["copy"])[0]
    assert own.loc["attribute income", "success"] == pytest.approx(attack, abs=0.08)
