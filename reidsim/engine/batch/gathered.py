"""What came of the runs of a batch, in little memory: their tables column by column, as they end."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.batch.design import Design, scenario_columns
from reidsim.engine.batch.one_run import GROUP_COLUMNS
from reidsim.engine.batch.tasks import COMPLETE, RunOutcome, RunTask, Tables

Ints = NDArray[np.int64]

# Runs whose tables are put together at a time.
_BLOCK = 500
_NONE: Tables = {}
_EXACT = {float: np.float64, int: np.int64, bool: np.bool_}


class Gathered(Sequence[RunOutcome]):
    """The outcomes of runs, without their tables, which are kept column by column.

    Parameters
    ----------
    outcomes : iterable of RunOutcome
    """

    def __init__(self, outcomes: Iterable[RunOutcome] = ()) -> None:
        self._outcomes: list[RunOutcome] = []
        self._kept = _Kept()
        self._numbers: Iterable[int] | None = None
        for outcome in outcomes:
            self.add(outcome)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __getitem__(self, number: Any) -> Any:
        return self._outcomes[number]

    def __iter__(self) -> Iterator[RunOutcome]:
        return iter(self._outcomes)

    def add(self, outcome: RunOutcome) -> None:
        """Take an outcome in."""
        self._outcomes.append(replace(outcome, tables=_NONE))
        self._kept.add(outcome.tables)

    def of_tasks(self, tasks: Sequence[RunTask]) -> Gathered:
        """Return what came of tasks, in their order; a run that was done once stands for all that have its key."""
        numbers = {outcome.task.key: number for number, outcome in enumerate(self._outcomes)}
        found = Gathered()
        found._numbers, found._kept = [numbers[task.key] for task in tasks], self._kept
        found._outcomes = [
            replace(self._outcomes[at], task=task) for at, task in zip(found._numbers, tasks, strict=True)
        ]
        return found

    def tables(self) -> Iterator[tuple[str, pd.DataFrame, Ints]]:
        """Yield each table: its name, all its rows by point and replication, and the number of each row's outcome.

        A run that did not end well is a row of the table of runs, without values.
        """
        place = [(outcome.task.point, outcome.task.replication) for outcome in self._outcomes]
        order = np.array(sorted(range(len(place)), key=place.__getitem__), dtype=np.int64)
        points, replications = np.array(place, dtype=np.int64).reshape(-1, 2)[order].T
        numbers = order if self._numbers is None else np.array([*self._numbers], dtype=np.int64)[order]
        failed = np.array([outcome.state != COMPLETE for outcome in self._outcomes], dtype=bool)[order]
        for name in ("runs", *(other for other in self._kept.names(numbers) if other != "runs")):
            rows, heights = self._kept.rows(name, numbers, failed if name == "runs" else None)
            at = np.repeat(np.arange(len(order)), heights)
            about = {"point": points[at], "replication": replications[at]}
            yield name, pd.DataFrame({**about, **self._kept.columns(name, numbers, rows)}), order[at]


class _Kept:
    """Tables of runs, by the numbers in which they came."""

    def __init__(self) -> None:
        self._waiting: list[Tables] = []
        self._tables: dict[str, _Table] = {}
        self._shapes = _Shapes()
        self._texts: dict[str, str] = {}
        self._settled = 0

    def add(self, tables: Tables) -> None:
        self._waiting.append(tables)
        if len(self._waiting) == _BLOCK:
            self._settle()

    def names(self, numbers: Ints) -> list[str]:
        """Return the names of tables in the order in which some outcomes have them."""
        self._settle()
        return self._shapes.names(numbers)

    def rows(self, name: str, numbers: Ints, failed: NDArray[np.bool_] | None) -> tuple[Ints, Ints]:
        """Return the rows of some outcomes, -1 for one without values that stands for a failed run; how many each."""
        self._settle()
        found = self._tables.get(name)
        starts = np.zeros(self._settled + 1, dtype=np.int64)
        if found is not None:
            np.cumsum(found.heights, out=starts[1:])
        heights = np.diff(starts)[numbers]
        alone = np.zeros(len(numbers), dtype=bool) if failed is None else failed & (heights == 0)
        many = np.where(alone, 1, heights)
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        return np.where(np.repeat(alone, many), -1, np.repeat(starts[numbers], many) + within), many

    def columns(self, name: str, numbers: Ints, rows: Ints) -> dict[str, pd.Series[Any]]:
        """Return the columns of some rows of some outcomes, in the order in which these have them."""
        found = self._tables.get(name)
        if found is None:
            return {}
        return {column: found.columns[column].at(rows) for column in found.shapes.names(numbers)}

    def _settle(self) -> None:
        """Put what came last into columns."""
        if not self._waiting:
            return
        for name in dict.fromkeys(chain(self._tables, *self._waiting)):
            if name not in self._tables:
                self._tables[name] = _Table(self._settled)
            self._tables[name].add([tables.get(name, {}) for tables in self._waiting], self._texts)
        for tables in self._waiting:
            self._shapes.add(tables)
        self._settled += len(self._waiting)
        self._waiting = []


class _Table:
    """One table of all runs.

    Parameters
    ----------
    before : int
        Outcomes that do not have it.
    """

    def __init__(self, before: int) -> None:
        self.heights = array("q", bytes(8 * before))
        self.shapes = _Shapes()
        for _ in range(before):
            self.shapes.add({})
        self.columns: dict[str, _Column] = {}
        self._rows = 0

    def add(self, parts: Sequence[dict[str, list[Any]]], texts: dict[str, str]) -> None:
        heights = [len(next(iter(part.values()), ())) for part in parts]
        self.heights.extend(heights)
        for part in parts:
            self.shapes.add(part)
        for name in dict.fromkeys(chain(self.columns, *parts)):
            if name not in self.columns:
                self.columns[name] = _Column()
                self.columns[name].add([None] * self._rows, texts)
            filled = (part.get(name) or [None] * height for part, height in zip(parts, heights, strict=True))
            self.columns[name].add([*chain.from_iterable(filled)], texts)
        self._rows += sum(heights)


class _Column:
    """A column of all runs, in arrays of numbers or, where values are of other types or several, of objects."""

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []
        self._types: set[type] = set()

    def add(self, values: list[Any], texts: dict[str, str]) -> None:
        types = set(map(type, values))
        self._types |= types
        exact = _EXACT.get(next(iter(types))) if len(types) == 1 else None
        if exact is not None and (exact is not np.int64 or max(values) < 2**63 > -min(values)):
            self._parts.append(np.array(values, dtype=exact))
        else:
            told_once = (texts.setdefault(value, value) if type(value) is str else value for value in values)
            self._parts.append(np.fromiter(told_once, dtype=object, count=len(values)))

    def at(self, rows: Ints) -> pd.Series[Any]:
        """Return the values of some rows, missing at -1: a column whose type depends on all values alone."""
        types, missing = self._types - {type(None)}, type(None) in self._types or bool((rows < 0).any())
        if types <= {int, float}:
            exact = types == {int} and not missing
            # The last one, of row -1, is no number.
            whole = self._all(np.int64 if exact else np.float64, 0 if exact else np.nan)
            return pd.Series(whole[rows])
        if types == {bool} and not missing:
            return pd.Series(self._all(np.bool_, False)[rows])
        whole = self._all(object, None)
        return pd.Series([None if value is None else str(value) for value in whole[rows]], dtype="str")

    def _all(self, kind: Any, last: object) -> NDArray[Any]:
        return np.concatenate([*(part.astype(kind) for part in self._parts), np.array([last], dtype=kind)])


class _Shapes:
    """Which names each of many dictionaries has, in which order."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, ...], int] = {}
        self._of_each = array("q")

    def add(self, content: dict[str, Any]) -> None:
        self._of_each.append(self._numbers.setdefault(tuple(content), len(self._numbers)))

    def names(self, numbers: Ints) -> list[str]:
        """Return the names that some of them have, those first that come first."""
        found, first = np.unique(np.array(self._of_each, dtype=np.int64)[numbers], return_index=True)
        shapes = [*self._numbers]
        return [*dict.fromkeys(chain.from_iterable(shapes[at] for at in found[np.argsort(first)]))]


# How a run ended and which one it was, after its measures.
_LAST = ("state", "error", "seed", "run")


def batch_tables(name: str, design: Design, outcomes: Iterable[RunOutcome]) -> dict[str, pd.DataFrame]:
    """Return the tables of a batch, the same whatever the order in which its runs ended.

    Parameters
    ----------
    name : str
        Scenario.
    design : Design
    outcomes : iterable of RunOutcome

    Returns
    -------
    dict of str to DataFrame
        ``runs``: a row per run and policy (per run alone, without measures, if it did not end well), sorted by point,
        replication and the scenario's order of policies; and the other tables that runs of the game leave, with
        columns ``point`` and ``replication``.
    """
    gathered = outcomes if isinstance(outcomes, Gathered) else Gathered(outcomes)
    found = gathered.tables()
    _, runs, number = next(found)
    runs.insert(0, "scenario", name)
    for column, of_each in _per_run(gathered).items():
        runs[column] = of_each[number]
    measures = [column for column in runs if column not in (*GROUP_COLUMNS, *_LAST, "scenario", "point", "replication")]
    groups = [column for column in GROUP_COLUMNS if column in runs]
    runs = runs[["scenario", "point", "replication", *groups, *measures, *_LAST]]
    at_points = scenario_columns(design)
    values = at_points.iloc[runs["point"].to_numpy()].reset_index(drop=True)
    return {"runs": pd.concat([runs, values], axis=1), **{table: rows for table, rows, _ in found}}


def _per_run(outcomes: Gathered) -> dict[str, NDArray[Any]]:
    text = {
        "state": [outcome.state for outcome in outcomes],
        "error": [outcome.error for outcome in outcomes],
        "run": [outcome.task.key for outcome in outcomes],
    }
    columns: dict[str, NDArray[Any]] = {name: np.array(values, dtype=object) for name, values in text.items()}
    columns["seed"] = np.array([outcome.task.seed for outcome in outcomes])
    return columns
