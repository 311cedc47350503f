"""Compare k-anonymity of ANJANA and reidsim, and properties of the files measured by pyCANON, on the same file.

    pip install . anjana pycanon
    python tools/other_tools.py

The file is the example of ARX (scenario ``arx-example``): 30,162 records of Adult, with the hierarchies of ARX. Both
programs generalize all records to the same levels and may suppress a share of the records. The output is shown in
``docs/explanation/comparison.md``. Utility is measured by reidsim for both. Time is that of the
processor, without files; reidsim's loops have been compiled before.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
import pycanon.anonymity
from anjana.anonymity import k_anonymity

import reidsim
from reidsim.populations.catalogue import load_individuals

K = 5
# Number of quasi-identifiers, in the order of the scenario, and limit of the share of suppressed records.
SETTINGS = [(3, 0.0), (3, 0.05), (5, 0.0), (5, 0.05), (8, 0.05)]
SENSITIVE = "salary-class"


def compared(records: pd.DataFrame, number: int, limit: float) -> list[dict[str, object]]:
    """Return a row per program: suppressed records, classes, information kept, time, and properties of the file."""
    example = reidsim.Scenario.load("arx-example")
    attributes = dict(list(example.content["attributes"].items())[:number])
    publisher = {"unit": "table", "policies": ["k-anonymity"], "k": K, "suppression_limit": limit}
    scenario = example.with_({"release": {"path": "adult.csv"}, "attributes": attributes, "publisher": publisher})
    lattice = scenario.build().lattice
    hierarchies = {each.attribute.name: _columns(each.table) for each in lattice.hierarchies}
    scenario.run()
    result, seconds = _timed(scenario.run)
    ours = result.share("k-anonymity", path=f"shared-{number}-{limit}.csv", accept_risk=True)
    names = list(attributes)
    theirs, their_seconds = _timed(
        lambda: k_anonymity(records[["row", *names]].copy(), [], names, K, 100 * limit, hierarchies)
    )
    theirs = theirs[["row", *names]]
    scored = scenario.with_({"attributes": attributes}).score(theirs, key="row")
    utility = {"reidsim": result.summary["utility"].iloc[0], "ANJANA": scored.summary["utility"].iloc[0]}
    rows = []
    for program, released, took in (("reidsim", ours, seconds), ("ANJANA", theirs, their_seconds)):
        rows.append({
            "quasi-identifiers": number, "limit": limit, "program": program,
            "suppressed": len(records) - len(released), "classes": len(released[names].drop_duplicates()),
            "utility": utility[program], "k of pyCANON": pycanon.anonymity.k_anonymity(released, names),
            "seconds": took,
        })  # fmt: skip
    return rows


def limited(number: int, limits: dict[str, object]) -> dict[str, object]:
    """Return properties of a file that reidsim releases under limits on a sensitive column, measured by pyCANON."""
    example = reidsim.Scenario.load("arx-example")
    attributes = dict(list(example.content["attributes"].items())[:number])
    publisher = {"unit": "table", "policies": ["basic"], "sensitive": [SENSITIVE], **limits}
    scenario = example.with_({"release": {"path": "adult.csv"}, "attributes": attributes, "publisher": publisher})
    kept = [SENSITIVE]
    shared = scenario.run().share(path=f"limited-{number}.csv", accept_risk=True, keep=kept, unknown_to_outsiders=kept)
    columns = shared.reset_index(drop=True), list(attributes), kept
    return {
        "quasi-identifiers": number, **limits, "records": len(shared),
        "l of pyCANON": pycanon.anonymity.l_diversity(*columns),
        "t of pyCANON": pycanon.anonymity.t_closeness(*columns),
    }  # fmt: skip


def _columns(table: pd.DataFrame) -> dict[int, Any]:
    return {int(level): table[level].to_numpy() for level in table}


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        records = load_individuals("adult-arx").to_frame().astype(str)
        records.insert(0, "row", range(len(records)))
        records.to_csv("adult.csv", index=False)
        rows = [row for number, limit in SETTINGS for row in compared(records, number, limit)]
        print(pd.DataFrame(rows).round(3).to_string(index=False))
        rows = [limited(3, {"l_diversity": 2}), limited(5, {"l_diversity": 2, "t_closeness": 0.3})]
        print(pd.DataFrame(rows).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
