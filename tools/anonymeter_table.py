"""Score the same files of Adult with reidsim and with Anonymeter: the table of docs/explanation/likelihood.md.

Usage: ``python tools/anonymeter_table.py adult.data adult.test [--python PYTHON]``. `PYTHON` has Anonymeter, which
needs older versions of numpy and pyarrow than the newest; by default, it is the running one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import reidsim
from reidsim.releases.records import read_adult

QUASI, SECRET = ["age", "sex", "race", "education", "marital-status", "occupation"], "income"
RISKS = ("singling out", "linkability", "inference")
ATTACKS = 500

# Runs where Anonymeter is installed: reads the tables in a folder, writes risks with their intervals.
ANONYMETER = """
import json, sys, warnings
from pathlib import Path
import numpy as np, pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
warnings.simplefilter("ignore")
folder, attacks = Path(sys.argv[1]), int(sys.argv[2])
tables = {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}
original, control = tables.pop("original"), tables.pop("control")
quasi, secret = [name for name in original if name != "income"], "income"
risks = {}
for name, table in tables.items():
    np.random.seed(0)
    common = {"ori": original, "syn": table, "control": control, "n_attacks": attacks}
    evaluators = {
        "singling out": SinglingOutEvaluator(**common, n_cols=len(quasi), max_attempts=20_000, seed=0),
        "linkability": LinkabilityEvaluator(**common, aux_cols=(quasi[::2], quasi[1::2]), n_neighbors=1),
        "inference": InferenceEvaluator(**common, aux_cols=quasi, secret=secret),
    }
    risks[name] = {}
    for risk, evaluator in evaluators.items():
        evaluator.evaluate(**({"mode": "multivariate"} if risk == "singling out" else {"n_jobs": 1}))
        found = evaluator.risk(confidence_level=0.95)
        risks[name][risk] = [found.value, *found.ci]
        print(name, risk, *found.ci, file=sys.stderr, flush=True)
print(json.dumps(risks))
"""


def files_of(original: pd.DataFrame, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Return the released files by name; synthetic ones have no row of a record in its place."""
    n, columns = len(original), [*QUASI, SECRET]

    def redrawn(names: list[str], share: float) -> pd.DataFrame:
        """Return the records with a share of the values of some columns drawn from the column."""
        table = original.copy()
        for name in names:
            rows = np.flatnonzero(rng.random(n) < share)
            table.loc[rows, name] = rng.choice(original[name], len(rows))
        return table

    def swapped(names: list[str], share: float) -> pd.DataFrame:
        """Return the records with values of some columns permuted among a share of the records."""
        table = original.copy()
        for name in names:
            rows = np.flatnonzero(rng.random(n) < share)
            table.loc[rows, name] = original[name].to_numpy()[rng.permutation(rows)]
        return table

    ages = original["age"].astype(int)
    noisy = (ages + rng.normal(0, 5, n)).round().astype(int).astype(str)
    tens = ages // 10 * 10
    return {
        "copy (synthetic)": original.sample(frac=1, random_state=1).reset_index(drop=True),
        "noise on age, deviation 5": original.assign(age=noisy),
        "swapped, 30 % of age, occupation": swapped(["age", "occupation"], 0.3),
        "PRAM, keep 0.8": redrawn(QUASI, 0.2),
        "generalized": original.assign(
            age="[" + tens.astype(str) + ", " + (tens + 10).astype(str) + "[", education="*", occupation="*"
        ),
        "independent marginals (synthetic)": pd.DataFrame({name: rng.permutation(original[name]) for name in columns}),
    }


def own_risks(original: pd.DataFrame, control: pd.DataFrame, name: str, table: pd.DataFrame) -> dict[str, str]:
    """Return the claims that reidsim assesses, as texts: advantage and interval."""
    scenario = reidsim.Scenario.from_frames(
        original[[*QUASI, SECRET]],
        hierarchies={"age": reidsim.intervals(5, 10, 20), **dict.fromkeys(QUASI[1:], "suppress")},
        economics={"benefit": 100, "loss": 300, "gain": 300, "cost": 4},
        policies=["no-protection"],
    ).with_(noise="exact" if "synthetic" in name or name == "generalized" else "estimated")
    result = scenario.score(table, control=control, sensitive=[SECRET], synthetic="synthetic" in name)
    claims = result.claims.set_index("claim")
    texts = {"identity": "none"} if result.records.empty else {}
    for claim, row in claims.iterrows():
        texts[str(claim).split()[0]] = f"{row['advantage']:.3f} ({row['lower']:.3f} to {row['upper']:.3f})"
    return texts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    parser.add_argument("others", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("-n", type=int, default=2000)
    options = parser.parse_args()
    original, control = (
        read_adult(path).sample(options.n, random_state=0)[[*QUASI, SECRET]].reset_index(drop=True)
        for path in (options.records, options.others)
    )
    # The test set ends each income with a full stop.
    control[SECRET] = control[SECRET].str.rstrip(".")
    files = files_of(original, np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        for name, table in {"original": original, "control": control, **files}.items():
            # Anonymeter has no intervals: it reads their middle.
            age = table["age"].replace(r"\[(\d)0, .*", r"\g<1>5", regex=True)
            table.assign(age=age).to_csv(Path(folder, f"{name}.csv"), index=False)
        command = [options.python, "-c", ANONYMETER, folder, str(ATTACKS)]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603
        found = json.loads(printed.splitlines()[-1])
    print("| file | identity | attribute | membership | singling out | linkability | inference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, table in files.items():
        own = own_risks(original, control, name, table)
        theirs = [
            f"{value:.3f} ({low:.3f} to {high:.3f})" for value, low, high in (found[name][risk] for risk in RISKS)
        ]
        print("|", " | ".join([name, own["identity"], own["attribute"], own["membership"], *theirs]), "|", flush=True)


if __name__ == "__main__":
    main()
