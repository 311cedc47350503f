"""Evaluate a file released by any tool, as if a policy had chosen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import arrays_of
from reidsim.core.errors import InputError, listed, locating, nearest, refuse_first, refuse_rows
from reidsim.core.files import free_memory, require_memory
from reidsim.core.numerics import log
from reidsim.core.tables import read_table, require_columns, sniff_delimiter
from reidsim.core.wording import counted
from reidsim.games.composite import PeopleLattice
from reidsim.games.record_game import WITHHELD, Choice, Equilibrium, FixedLinkage, evaluate
from reidsim.kinds.tables.release import columns_of_release
from reidsim.kinds.tables.study import ReleasedPeople, TablesStudy
from reidsim.linkage.group_sizes import people_fitting
from reidsim.linkage.people import RowSets
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.releases.lattice import Floats, Rows, Strategies, StrategySpace
from reidsim.releases.records import CellReader, Members
from reidsim.scenarios.adversary_schema import Risk

# Bytes of memory needed per row of a released file, and per value in it.
_OF_ROW, _OF_VALUE = 300, 17


def play_released(study: TablesStudy, path: Path, key: str | None = None) -> tuple[Equilibrium, tuple[str, ...]]:
    """Return the true outcome of a released file by data subject, and notes on the file.

    Parameters
    ----------
    study : TablesStudy
    path : Path
        Delimited text or Parquet, with a header.
    key : str, optional
        Column of the release and of the file that identifies the record of a row. Rows with equal keys are in the order
        of the records. Records with a key that is not in the file are withheld. By default, the file has one row per
        record, in the order of the release.

    Returns
    -------
    Equilibrium
    tuple of str
        One text per attribute without a column in the file; these attributes count as suppressed.

    Raises
    ------
    InputError
        If the file cannot be read, its evaluation needs more memory than is free, it has no quasi-identifier, a cell
        cannot be parsed or lacks the value of its record, its rows cannot be matched, or an adversary looks people up
        in released rows. The error names the file, and the row and column of a wrong cell.
    """
    problem = "a released file is evaluated only against adversaries with direction record"
    direction = study.scenario.adversary.direction
    with locating(study.loaded.path):
        refuse_first((study.scenario.looks_up, problem, "adversary.direction", direction, "record"))
    with locating(path):
        refuse_first((not path.is_file(), "no such file", None, None, "a released file"))
    free = free_memory()
    frame = read_table(path, delimiter=sniff_delimiter(path))
    rows, width = frame.shape
    require_memory(rows * (_OF_ROW + _OF_VALUE * width), "too large for memory", source=path, free=free)
    given = study.scenario.columns
    columns = {name: each for name, column in given.items() for each in (name, column) if each in frame}
    if not columns:
        hint, problem = nearest(next(iter(given.values())), map(str, frame.columns)), "the file has no quasi-identifier"
        found, expected = listed(frame.columns), f"some of {listed(given.values())}"
        raise InputError(problem, source=path, found=found, expected=expected, hint=hint)
    # A missing attribute counts as suppressed in every row.
    cells = {name: frame[columns[name]] if name in columns else SUPPRESSED for name in given}
    labels = pd.DataFrame(cells, index=frame.index, dtype="str")
    with locating(path):
        file = ReleasedFile.read(study, labels, _records_of(study, frame, key, path), columns)
    note = "the attribute counts as suppressed in every row"
    notes = tuple(f"the file has no column for {name}: {note}" for name in given if name not in columns)
    return file.play(), notes


def _records_of(study: TablesStudy, frame: pd.DataFrame, key: str | None, path: Path) -> Rows:
    """Return the number of the record of each row of a file, shape (n_rows,).

    Without `key`, the rows are in the order of the records. Otherwise, the column `key` of both tables identifies the
    record, and rows with equal keys are in the order of the records.

    Parameters
    ----------
    study : TablesStudy
    frame : DataFrame
        All columns of the file, as text.
    key : str or None
        Column of the file and of the release.
    path : Path
        Path of the file, for messages.

    Raises
    ------
    InputError
        If the number of rows differs from the records (without `key`), a column is missing, a key is not in the release
        or in more rows than there, or a key has some but not all of its records.
    """
    if key is None:
        if len(frame) != study.n_records:
            raise InputError(
                "the file does not have one row per record",
                found=counted(len(frame), "row"),
                expected=counted(study.n_records, "record"),
                hint="match rows by an identifier with --key COLUMN",
            )
        return np.arange(len(frame))
    require_columns(frame, [key], path)
    _, release = columns_of_release(study.loaded, {key: key})
    rows, records = frame[key].str.strip(), release[key]
    # The place of a row among the rows with its key.
    wanted, places = (pd.MultiIndex.from_arrays([each, each.groupby(each).cumcount()]) for each in (rows, records))
    found = pd.Series(np.arange(len(records)), index=places).reindex(wanted).to_numpy()
    expected = "a key of the release, in at most as many rows as in the release"
    refuse_rows(np.isnan(found), "no such record", column=key, found=rows, expected=expected)
    of_key, in_release = rows.value_counts(), records.value_counts()
    fewer = of_key.index[(of_key < in_release.reindex(of_key.index)).to_numpy()]
    problem, all_rows = "the key has fewer rows than records in the release", in_release.get(next(iter(fewer), ""))
    expected = f"all {all_rows} rows of the key, or none, or another key"
    refuse_rows(rows.isin(fewer[:1]), problem, column=key, found=rows, expected=expected)
    return found.astype(np.intp)


@dataclass(frozen=True, eq=False)
class ReleasedFile:
    """Rows of a released file, matched to the records of a study.

    Parameters
    ----------
    study : TablesStudy
    record : ndarray of int, shape (n_rows,)
        The record of each row; records without a row are withheld.
    sets : tuple of tuple of ndarray of bool, shape (n_values,)
        Per attribute, the distinct sets of values that cells of the file represent.
    rows : ndarray of int64, shape (n_rows, n_attributes)
        Index in `sets` of each row and attribute.
    levels : tuple of ndarray of int64, shape (2, n_sets)
        Hierarchy levels of the sets of each attribute. In the first row, the lowest level at which the set equals a
        group of the hierarchy, or -1. In the second row, the lowest level at which one group contains the whole set, or
        the highest level if none does.
    """

    study: TablesStudy
    record: Rows
    sets: tuple[tuple[Members, ...], ...]
    rows: NDArray[np.int64]
    levels: tuple[NDArray[np.int64], ...]

    @classmethod
    def read(cls, study: TablesStudy, labels: pd.DataFrame, record: Rows, columns: dict[str, str]) -> ReleasedFile:
        """Parse the cells of a released file, and return a `ReleasedFile`.

        Parameters
        ----------
        study : TablesStudy
        labels : DataFrame
            Text of the file, one column per attribute.
        record : ndarray of int, shape (n_rows,)
            The record of each row.
        columns : dict of str to str
            Column of the file that holds each attribute.

        Raises
        ------
        InputError
            If a cell cannot be parsed, or does not contain the value of its record. The error names row and column.
        """
        lattice, sets = study.lattice, list[tuple[Members, ...]]()
        rows = np.zeros((len(labels), len(lattice.shape)), dtype=np.int64)
        for position, hierarchy in enumerate(lattice.hierarchies):
            attribute, name = hierarchy.attribute, hierarchy.attribute.name
            refuse = partial(refuse_rows, column=columns.get(name), found=labels[name])
            reader = CellReader(hierarchy, study.scenario.attributes[name].values)
            of_row, texts = pd.factorize(labels[name])
            read = [reader.read(text) for text in texts]
            unread = np.array([members is None for members in read])[of_row]
            expected = "a value, a label of its hierarchy, *, an interval such as [20, 30[, or a set such as {a, b}"
            refuse(unread, "the cell cannot be read", expected=expected)
            members = np.array(read, dtype=np.bool_).reshape(len(read), attribute.size)
            distinct, number = np.unique(members, axis=0, return_inverse=True)
            rows[:, position] = number.ravel()[of_row]
            sets.append(tuple(distinct))
            own = lattice.codes[study.cell_of_record[record], position]
            stray = ~distinct[rows[:, position], own]
            expected = f"a value or group with {attribute.categories[own[stray.argmax()]]!r}, the record's own value"
            refuse(stray, "the row does not belong to this record", expected=expected)
        levels = [_levels_of(each.groups, of_each) for each, of_each in zip(lattice.hierarchies, sets, strict=True)]
        return cls(study, record, tuple(sets), rows, tuple(levels))

    @cached_property
    def is_of_hierarchies(self) -> NDArray[np.bool_]:
        """Whether all cells of each row are groups of their hierarchies, (n_rows,)."""
        exact = [levels[0][self.rows[:, position]] >= 0 for position, levels in enumerate(self.levels)]
        return np.asarray(np.all(exact, axis=0))

    def play(self) -> Equilibrium:
        """Return the true `Equilibrium` of the file by data subject, shape (n_subjects,).

        Raises
        ------
        InputError
            If an adversary links with more than the people who fit a row (it has knowledge, stages, a registry, lists,
            sample risk or gains from inference), and a row has cells that are not groups of the hierarchies, or people
            have several records.
        """
        study = self.study
        if study.persons is not None:
            return self._play_people(study.persons)
        lines = np.column_stack([study.cell_of_record[self.record], self.rows])
        keys, kept = np.unique(lines, axis=0, return_inverse=True)
        own, none = study.on_records(study.lattice.codes[keys[:, 0]], keys[:, 0]), np.zeros(len(keys), dtype=np.int64)
        utility, covering = self._utility(keys[:, 0], keys[:, 1:])
        if self.is_of_hierarchies.all():
            found = evaluate(own.truth, Choice(covering, "given", none, exact=False))
        else:
            space = _as_released(utility, study.lattice.generalization_intensity(covering))
            found = self._evaluate(own, space, keys[:, 1:])
        return _with_withheld(found, kept.ravel(), self.record, study.n_records)

    def _play_people(self, persons: ReleasedPeople) -> Equilibrium:
        """Return the `Equilibrium` by person if people have several records, (n_people,).

        `persons` has the person of each record. The rows of a person may have different generalizations. Utility and
        intensity are means over the person's records, the utility weighted by the records' benefits if they differ;
        records without a row are withheld, at intensity 1.
        """
        study, lattice, n = self.study, self.study.lattice, len(persons.set_of_person)
        order = np.argsort(persons.of_record[self.record], kind="stable")
        record, rows = self.record[order], self.rows[order]
        owner, cells = persons.of_record[record], study.cell_of_record[record]
        shared, begin, n_rows = np.unique(owner, return_index=True, return_counts=True)
        start, ones = np.append(begin, len(record)).astype(np.int64), np.ones(len(record), dtype=np.int64)
        row_sets = RowSets(start, np.arange(len(record)), ones, np.ones_like(n_rows))
        space = PeopleLattice(lattice.hierarchies, lattice.codes[cells], lattice.loss_attributes, row_sets=row_sets)
        people = ReleasedPeople(np.repeat(np.arange(len(shared)), n_rows), np.arange(len(shared)), space)
        own = replace(study, persons=people, kind=study.kind[study.row_of_subject[shared]])
        utility, covering = self._utility(cells, rows)
        benefit = persons.space.benefit_of_cell
        weight = np.ones(study.n_records) if benefit is None else benefit[study.cell_of_record]
        weight = np.where(np.bincount(persons.of_record, weight, n)[persons.of_record] == 0, 1.0, weight)
        kept = np.bincount(owner, weight[record] * utility, n) / np.bincount(persons.of_record, weight, n)
        less = np.bincount(owner, 1.0 - lattice.generalization_intensity(covering), n)
        intensity = 1.0 - less / np.bincount(persons.of_record, minlength=n)
        found = self._evaluate(own, _as_released(kept[shared], intensity[shared]), rows)
        return _with_withheld(found, np.arange(len(shared)), shared, study.n_subjects)

    def _evaluate(self, study: TablesStudy, space: StrategySpace, rows: NDArray[np.int64]) -> Equilibrium:
        """Return the `Equilibrium` of released rows; adversaries link with fitting people.

        A person fits a row if each of the person's values is in the row's set of values.

        Parameters
        ----------
        study : TablesStudy
            Study whose game rows are the released rows, or the people who have them.
        space : StrategySpace
            Utility and intensity of each game row.
        rows : ndarray of int64, shape (n_rows, n_attributes)
            Index in `sets` of each released row and attribute.

        Raises
        ------
        InputError
            If an adversary links with more than the people who fit a row.
        """
        supported, row = "rows of the scenario's hierarchies", int((~self.is_of_hierarchies).argmax())
        found = f"row {row + 1} of the released file"
        if study.persons is not None:
            supported, found = "files in which each record is a person", "release.person"
        expected = 'gains_from = "identity", without knowledge, stages, registry and sample risk'
        for name, each in study.each.items():
            # Sample risk has no estimate of the people in an arbitrary set of values.
            section, where = each.scenario.adversary, "adversary" if name is None else f"adversaries.{name}"
            wrong = not each.links_with_everybody or section.risk == "sample" or section.gains_from != "identity"
            refuse_first((wrong, f"this adversary is supported only for {supported}", where, found, expected))
        names, sizes = study.lattice.domain.names, dict[Risk, Floats]()
        for risk in sorted(study.scenario.risks):
            sizes[risk] = np.maximum(people_fitting(self.study.people(risk), names, self.sets, rows), 1)
        game = study.game(
            space=space, linker_of=lambda each: FixedLinkage.from_sizes(sizes[each.scenario.adversary.risk])
        )
        none = np.zeros(space.n_records, dtype=np.int64)
        return evaluate(game, Choice(none, "given", none, exact=False))

    def _utility(self, cells: Rows, rows: NDArray[np.int64]) -> tuple[Floats, Strategies]:
        """Return the utility of rows, (n_rows,), and the node that covers each, (n_rows,).

        The utility is one minus the information loss, in [0, 1]. A set of values that is not a group of its hierarchy
        has the loss of a group of its size. The node is the least lattice generalization whose groups contain the row's
        sets.

        Parameters
        ----------
        cells : ndarray of int, shape (n_rows,)
            Cell of the record of each row.
        rows : ndarray of int64, shape (n_rows, n_attributes)
            Index in `sets` of each row and attribute.
        """
        lattice = self.study.lattice
        loss, sizes_of = np.zeros(len(cells)), log([each.attribute.size for each in lattice.hierarchies])
        counted = [lattice.loss_attributes is None or name in lattice.loss_attributes for name in lattice.domain.names]
        whole = float(sizes_of[counted].sum())
        for place, (exact, _) in enumerate(self.levels):
            if counted[place] and whole > 0:
                levels, values = exact[rows[:, place]], lattice.codes[cells, place]
                sizes = np.array([members.sum() for members in self.sets[place]])[rows[:, place]]
                # A group of the hierarchy has the loss of its level, which is 0 at levels without cost.
                loss += np.where(levels >= 0, lattice.losses[place][np.maximum(levels, 0), values], log(sizes) / whole)
        around = np.column_stack([lowest[rows[:, place]] for place, (_, lowest) in enumerate(self.levels)])
        return np.where(loss > 1.0 - 1e-12, 0.0, 1.0 - loss), around @ np.array(lattice.strides, dtype=np.int64)


def _as_released(utility: Floats, intensity: Floats) -> StrategySpace:
    """Return a strategy space with a single strategy, the rows as released.

    It has only the attributes that `evaluate` uses.

    Parameters
    ----------
    utility, intensity : ndarray of float64, shape (n_records,)
        Utility and generalization intensity of each row, in [0, 1].
    """
    space = SimpleNamespace(
        size=1,
        most_specific=0,
        n_records=len(utility),
        utility=lambda strategy, rows=None: utility if rows is None else utility[rows],
        generalization_intensity=lambda strategies: intensity,
    )
    return cast("StrategySpace", space)


def _levels_of(groups: NDArray[np.int32], sets: Sequence[Members]) -> NDArray[np.int64]:
    """Return the hierarchy levels of sets of values, shape (2, n_sets); see `ReleasedFile.levels`.

    Parameters
    ----------
    groups : ndarray of int32, shape (n_levels, n_values)
        Group of each value at each level.
    sets : sequence of ndarray of bool, shape (n_values,)
        Whether each value is in the set; no set is empty.
    """
    levels = []
    for members in sets:
        covering = [level for level, of_value in enumerate(groups) if np.ptp(of_value[members]) == 0]
        exact = [level for level in covering if (groups[level] == groups[level][members][0]).sum() == members.sum()]
        levels.append(((exact or [-1])[0], (covering or [len(groups) - 1])[0]))
    return np.array(levels).T


def _with_withheld(found: Equilibrium, row_of: Rows, record: Rows, n_records: int) -> Equilibrium:
    """Return an `Equilibrium` of all records; records without a row are withheld.

    Parameters
    ----------
    found : Equilibrium
        Outcome of distinct rows.
    row_of : ndarray of int, shape (n_rows,)
        Index in `found` of each row of the file.
    record : ndarray of int, shape (n_rows,)
        Record (or person) of each row of the file.
    n_records : int
        Number of all records (or people).
    """
    rows = np.full(n_records, -1)
    rows[record] = row_of
    arrays: dict[str, Any] = {name: array[rows] for name, array in arrays_of(found).items()}
    for name, array in arrays.items():
        array[rows < 0] = {"strategies": WITHHELD, "generalization_intensity": 1, "frequency": 1}.get(name, 0)
    attempts = None if found.attempts is None else found.attempts.expand(rows)
    return replace(found, **arrays, exact=False, attempts=attempts)
