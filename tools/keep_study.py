"""Keep the data that the ledger needs of finished batches: measures by draw, and their provenance.

    python tools/keep_study.py results/wan2021 results/sensitivity -o tools/reproduction/studies/wan2021

Each folder is that of a run of a bundled scenario. Written are `draws.parquet`, a row per scenario, point, draw and
policy, and `manifest.json`, the manifests of the folders without the paths of the machine.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd

MEASURES = ("publisher_payoff", "utility", "risk", "usefulness", "usefulness_fairness", "privacy_fairness")


def draws_of(folder: Path) -> pd.DataFrame:
    """Return the measures of every run and policy of a finished batch; the point is the JSON of the swept values."""
    manifest = manifest_of(folder)
    runs = pd.read_parquet(folder / "runs.parquet")
    if manifest["state"] != "complete" or (runs["state"] != "complete").any():
        raise SystemExit(f"{folder}: not complete")
    swept = runs[manifest["design"]["swept"]].apply(lambda column: column.map(_value))
    points = [json.dumps(row) for row in swept.to_dict(orient="records")]
    return runs.assign(point=points)[["scenario", "point", "replication", "policy", *MEASURES]]


def manifest_of(folder: Path) -> dict[str, Any]:
    """Return the manifest of a results folder, with the name of the scenario's file for its path."""
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    # The bundled scenarios are in the repository; the hash identifies their text.
    return {key: value for key, value in manifest.items() if key not in ("scenario_file", "origins")}


def _value(value: Any) -> Any:
    """Return the value of a swept key; lists and tables are stored as text."""
    return json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    table = pd.concat([draws_of(folder) for folder in given.folders], ignore_index=True)
    given.output.mkdir(parents=True, exist_ok=True)
    table.to_parquet(given.output / "draws.parquet", index=False, compression="zstd")
    manifests = [manifest_of(folder) for folder in given.folders]
    (given.output / "manifest.json").write_text(json.dumps(manifests, indent=1) + "\n", encoding="utf-8")
    print(f"{len(table)} rows of {len(manifests)} studies in {given.output}")


if __name__ == "__main__":
    main()
