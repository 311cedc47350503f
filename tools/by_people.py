"""Describe a file in which people have several rows, counted by rows and by people.

``python tools/by_people.py records.csv --person pid --column age --column sex`` prints a table in Markdown; without a
file, of a made hospital file: 20,000 rows for fewer patients, who grow older and move between their stays.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import reidsim
from reidsim.core.tables import read_table, sniff_delimiter
from reidsim.reports.description import describe

# Amounts of Wan et al. 2015.
AMOUNTS = {"benefit": 1200, "loss": 300}
GAIN, COST = 300, 4


def made_hospital(n_rows: int = 20_000, n_people: int = 12_000, seed: int = 1) -> pd.DataFrame:
    """Return stays in a hospital: patients of some families, with age, sex, ZIP code and a diagnosis."""
    rng = np.random.default_rng(seed)
    of_row = np.concatenate([np.arange(n_people), rng.integers(0, n_people, n_rows - n_people)])
    rng.shuffle(of_row)
    family = np.sort(rng.integers(0, n_people // 2, n_people))
    home, born, sex = (
        rng.integers(0, 80, n_people // 2),
        rng.integers(1930, 2018, n_people),
        rng.integers(0, 2, n_people),
    )
    moved = rng.random(n_rows) < 0.04
    area = np.where(moved, rng.integers(0, 80, n_rows), home[family[of_row]])
    return pd.DataFrame(
        {
            "pid": [f"P{person:06}" for person in of_row],
            "hid": [f"H{number:05}" for number in family[of_row]],
            "age": (rng.integers(2018, 2024, n_rows) - born[of_row]).astype(str),
            "sex": np.array(["F", "M"])[sex[of_row]],
            "zip": [f"370{number:02}" for number in area],
            "diagnosis": [f"D{number:02}" for number in rng.integers(0, 40, n_rows)],
        }
    )


def by_rows_and_people(file: Path, person: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return the counts by rows and by people, side by side."""
    frame = read_table(file, delimiter=sniff_delimiter(file))
    levels = {name: _levels(frame[name]) for name in columns}
    table: dict[str, dict[str, str]] = {}
    studies: dict[str, Any] = {}
    for units, key in (("rows", None), ("people", person)):
        described = describe(file, columns=columns, person=key)
        scenario = reidsim.Scenario.from_frames(
            frame, hierarchies=levels, release={"person": key}, economics={**AMOUNTS, "gain": GAIN, "cost": COST}
        )
        summary, studies[units] = scenario.run().summary, scenario.build()
        table[f"by {units}"] = {
            "counted": f"{studies[units].n_subjects:,}",
            "alone in their group": f"{described.profile.share_below(2):.1%}",
            "in groups of fewer than 5": f"{described.profile.share_below(5):.1%}",
            "average risk of the original file": f"{described.profile.average_risk:.3f}",
            "average risk under `basic`": f"{summary.loc['basic', 'risk']:.4f}",
            "attacked under `no-attack`": f"{summary.loc['no-attack', 'share_attacked']:.2%}",
            "utility under `no-attack`": f"{summary.loc['no-attack', 'utility']:.4f}",
        }
    table["by rows, then by people"] = {"attacked under `no-attack`": f"{attacked_after_all(studies):.2%}"}
    return pd.DataFrame(table).fillna("")


def _levels(column: pd.Series[str]) -> Any:
    """Return the hierarchy of a column: intervals for numbers, prefixes for codes of equal length."""
    if not column.str.isdecimal().all():
        return "suppress"
    shortest, longest = int(column.str.len().min()), int(column.str.len().max())
    return reidsim.prefix(*range(longest - 1, 2, -1)) if shortest == longest > 3 else reidsim.intervals(5, 10, 20)


def attacked_after_all(studies: dict[str, Any]) -> float:
    """Return the share of people with a profitable attack under a release that is safe by rows."""
    from reidsim.kinds.tables.kind import TABLES

    rows, people = studies["rows"], studies["people"]
    strategies = TABLES.play(rows, policies=["no-attack"])["no-attack"].equilibrium.strategies[rows.cell_of_record]
    groups = people.linker("prosecutor").group_sizes
    pays = np.zeros(len(strategies), dtype=bool)
    for strategy in np.unique(strategies[strategies >= 0]).tolist():
        here = np.flatnonzero(strategies == strategy)
        pays[here] = GAIN / groups.at(strategy, people.cell_of_record[here]) > COST * (1 + 1e-12)
    return float(np.unique(people.persons.of_record[pays]).size / people.n_subjects)


def in_markdown(table: pd.DataFrame) -> str:
    """Return the table as Markdown."""
    lines = [f"|  | {' | '.join(table.columns)} |", "| --- |" + " ---: |" * len(table.columns)]
    return "\n".join(
        [*lines, *(f"| {name} | {' | '.join(row)} |" for name, row in zip(table.index, table.to_numpy(), strict=True))]
    )


def main() -> None:
    """Print the table of a file, or of a made one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--person", default="pid")
    parser.add_argument("--column", action="append", default=None)
    given = parser.parse_args()
    columns = given.column or ["age", "sex", "zip"]
    if given.file is not None:
        print(in_markdown(by_rows_and_people(given.file, given.person, columns)))
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hospital.csv"
        made_hospital().to_csv(path, index=False)
        print(in_markdown(by_rows_and_people(path, given.person, columns)))


if __name__ == "__main__":
    main()
