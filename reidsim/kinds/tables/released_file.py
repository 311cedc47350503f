"""Evaluate a file released by any tool, as if a policy had chosen it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.full_domain.risk import FixedGroupSizes
from reidsim.games.people import PeopleLattice
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.kinds.tables.people import ReleasedPeople
from reidsim.kinds.tables.study import TablesStudy
from reidsim.linkage.people import RowSets
from reidsim.linkage.set_sizes import people_fitting
from reidsim.portable_math import log
from reidsim.releases.cell_sets import CellReader, Members
from reidsim.releases.strategy_space import Floats, Rows, Strategies
from reidsim.scenarios.adversary_schema import Risk


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
    """

    study: TablesStudy
    record: Rows
    sets: tuple[tuple[Members, ...], ...]
    rows: NDArray[np.int64]

    @classmethod
    def read(cls, study: TablesStudy, labels: pd.DataFrame, record: Rows, columns: dict[str, str]) -> ReleasedFile:
        """Parse the cells of a file.

        Parameters
        ----------
        study : TablesStudy
        labels : DataFrame
            Text, one column per attribute; missing attributes count as suppressed.
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
            name = hierarchy.attribute.name
            if name not in labels:
                sets.append((np.ones(hierarchy.attribute.size, dtype=np.bool_),))
                continue
            reader = CellReader(hierarchy, study.scenario.attributes[name].values)
            texts, of_row = np.unique(labels[name].to_numpy(dtype=str), return_inverse=True)
            members: dict[bytes, int] = {}
            found: list[Members] = []
            set_of_text = np.empty(len(texts), dtype=np.int64)
            for number, text in enumerate(texts.tolist()):
                read = reader.read(text)
                if read is None:
                    expected = (
                        "a value, a label of its hierarchy, *, an interval such as [20, 30[, or a set such as {a, b}"
                    )
                    raise _at(of_row == number, columns[name], "the cell cannot be read", text, expected)
                set_of_text[number] = members.setdefault(read.tobytes(), len(found))
                found += [read] if set_of_text[number] == len(found) else []
            rows[:, position] = set_of_text[of_row]
            own = lattice.codes[study.cell_of_record[record], position]
            stray = ~np.stack(found)[rows[:, position], own]
            if stray.any():
                row = int(stray.argmax())
                expected = f"a value or group with {hierarchy.attribute.categories[own[row]]!r}, the record's own value"
                raise _at(
                    stray, columns[name], "the row does not belong to this record", labels[name].iloc[row], expected
                )
            sets.append(tuple(found))
        return cls(study, record, tuple(sets), rows)

    @cached_property
    def _levels(self) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
        """Levels of each set of `sets`, as two arrays of shape (n_sets,) per attribute.

        The first array holds the lowest level at which the set equals a group of the hierarchy; -1 if it equals none.
        The second holds the lowest level at which one group contains the whole set; the highest level if none does.
        """
        return tuple(
            (
                np.array([next((level for level, exact in _around(groups, members) if exact), -1) for members in own]),
                np.array([next(level for level, _ in _around(groups, members)) for members in own]),
            )
            for groups, own in zip((h.groups for h in self.study.lattice.hierarchies), self.sets, strict=True)
        )

    @cached_property
    def is_of_hierarchies(self) -> NDArray[np.bool_]:
        """Whether all cells of a row are groups of their hierarchies, shape (n_rows,)."""
        exact = [levels[self.rows[:, position]] >= 0 for position, (levels, _) in enumerate(self._levels)]
        return np.asarray(np.all(exact, axis=0))

    def play(self) -> Equilibrium:
        """Return the true outcome of the file by data subject, shape (n_subjects,).

        Raises
        ------
        InputError
            If an adversary links with more than the people who fit a row, and a row has cells that are not groups of
            the hierarchies, or people have several records.
        """
        study = self.study
        if study.persons is not None:
            return self._play_people(study.persons)
        cells = study.cell_of_record[self.record]
        keys, kept = np.unique(np.column_stack([cells, self.rows]), axis=0, return_inverse=True)
        own = study.on_cells(keys[:, 0])
        space = _SetSpace(self, keys[:, 0], keys[:, 1:])
        none = np.zeros(len(keys), dtype=np.int64)
        if self.is_of_hierarchies.all():
            strategies = space.covering
            found = evaluate(own.truth, Choice(strategies, "given", none, exact=False))
        else:
            self._require_people()
            sizes = self._people_fitting(keys[:, 1:])
            game = own.game_on(space, lambda each: FixedGroupSizes(sizes[each.scenario.adversary.risk]))
            found = evaluate(game, Choice(none, "given", none, exact=False))
        return _with_withheld(found, kept.ravel(), self.record, study.n_records)

    def _play_people(self, persons: ReleasedPeople) -> Equilibrium:
        """Return the outcome by person if people have several records, (n_people,).

        The rows of a person may have different generalizations.
        """
        self._require_people()
        study = self.study
        order = np.argsort(persons.of_record[self.record], kind="stable")
        record, rows = self.record[order], self.rows[order]
        cells = study.cell_of_record[record]
        shared, begin, n_rows = np.unique(persons.of_record[record], return_index=True, return_counts=True)
        ones = np.ones(len(record), dtype=np.int64)
        row_sets = RowSets(
            np.append(begin, len(record)).astype(np.int64), np.arange(len(record)), ones, np.ones_like(n_rows)
        )
        lattice = study.lattice
        space = PeopleLattice(lattice.hierarchies, lattice.codes[cells], lattice.loss_attributes, row_sets=row_sets)
        own = replace(
            study,
            persons=ReleasedPeople(np.repeat(np.arange(len(shared)), n_rows), np.arange(len(shared)), space),
            kind=study.kind[study.row_of_subject[shared]],
        )
        sizes, none = self._people_fitting(rows), np.zeros(len(shared), dtype=np.int64)
        forms = _PeopleSpace(self, persons, record, _SetSpace(self, cells, rows), shared)
        game = own.game_on(forms, lambda each: FixedGroupSizes(sizes[each.scenario.adversary.risk]))
        found = evaluate(game, Choice(none, "given", none, exact=False))
        return _with_withheld(found, np.arange(len(shared)), shared, study.n_subjects)

    def _people_fitting(self, rows: NDArray[np.int64]) -> dict[Risk, Floats]:
        """Return the number of people who fit each row, at least 1, by risk.

        Arrays have shape (n_rows,); people are counted as each risk of the scenario defines.
        """
        study = self.study
        return {
            risk: np.maximum(people_fitting(study.people(risk), study.lattice.domain.names, self.sets, rows), 1)
            for risk in sorted(study.scenario.risks)
        }

    def _require_people(self) -> None:
        for name, each in self.study.each.items():
            # Sample risk has no estimate of the people in an arbitrary set of values.
            section = each.scenario.adversary
            if not each.own.links_with_everybody or section.risk == "sample" or section.gains_from != "identity":
                row = int((~self.is_of_hierarchies).argmax())
                where = "adversary" if name is None else f"adversaries.{name}"
                told, found = "rows of the scenario's hierarchies", f"row {row + 1} of the released file"
                if self.study.persons is not None:
                    told, found = "files in which each record is a person", "release.person"
                raise InputError(
                    f"this adversary is supported only for {told}",
                    where=where,
                    found=found,
                    expected='gains_from = "identity", without knowledge, stages, registry and sample risk',
                )


class _SetSpace:
    """Strategy space with one strategy: the rows as released."""

    size = 1
    most_specific = 0

    _utility: Floats
    _intensity: Floats

    def __init__(self, file: ReleasedFile, cells: Rows, rows: NDArray[np.int64]) -> None:
        lattice = file.study.lattice
        self.n_records = len(cells)
        level_sizes = np.array(lattice.strides, dtype=np.int64)
        around = np.column_stack([lowest[rows[:, place]] for place, (_, lowest) in enumerate(file._levels)])
        self.covering: Strategies = around @ level_sizes
        loss = np.zeros(self.n_records)
        sizes_of = log([each.attribute.size for each in lattice.hierarchies])
        names = lattice.domain.names
        counted = [lattice.loss_attributes is None or name in lattice.loss_attributes for name in names]
        whole = float(sizes_of[counted].sum())
        for place, (exact, _) in enumerate(file._levels):
            if counted[place] and whole > 0:
                levels, values = exact[rows[:, place]], lattice.codes[cells, place]
                sizes = np.array([members.sum() for members in file.sets[place]])[rows[:, place]]
                # A group of the hierarchy has the loss of its level, which is 0 at levels without cost.
                loss += np.where(levels >= 0, lattice.losses[place][np.maximum(levels, 0), values], log(sizes) / whole)
        self._utility = np.where(loss > 1.0 - 1e-12, 0.0, 1.0 - loss)
        self._intensity = lattice.generalization_intensity(self.covering)

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield nothing, as there is no other strategy."""
        return iter(())

    def at_least(self, strategy: int, minimum: Strategies) -> NDArray[np.bool_]:
        """Return True for all rows, as the only strategy is at or above itself."""
        return np.ones(len(minimum), dtype=np.bool_)

    def utility(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return one minus the information loss of each row.

        A set that is not a group of its hierarchy has the loss of a group of its size.
        """
        return self._utility if rows is None else self._utility[rows]

    def average_utility(self, strategy: int) -> float:
        """Return the mean utility over all rows."""
        return float(self._utility.mean())

    def generalization_intensity(self, strategies: Strategies) -> Floats:
        """Return the intensity of the least lattice generalization that covers each row."""
        return self._intensity

    def describe(self, strategy: int) -> str:
        """Return the name of the only strategy."""
        return "as released"


class _PeopleSpace(_SetSpace):
    """Strategy space of people: utility and intensity are means over their records."""

    def __init__(
        self, file: ReleasedFile, persons: ReleasedPeople, record: Rows, of_rows: _SetSpace, who: Rows
    ) -> None:
        self.n_records = len(who)
        benefit = persons.space.benefit_of_cell
        n, cells = len(persons.set_of_person), file.study.cell_of_record
        weight = np.ones(len(cells)) if benefit is None else benefit[cells]
        nothing = np.bincount(persons.of_record, weight, n)[persons.of_record] == 0
        weight = np.where(nothing, 1.0, weight)
        owner = persons.of_record[record]
        kept = np.bincount(owner, weight[record] * of_rows.utility(0), n)
        self._utility = (kept / np.bincount(persons.of_record, weight, n))[who]
        # Records without a row are withheld, at intensity 1.
        records = np.bincount(persons.of_record, minlength=n)
        less = np.bincount(owner, 1.0 - of_rows.generalization_intensity(of_rows.covering), n)
        self._intensity = (1.0 - less / records)[who]


def _around(groups: NDArray[np.int32], members: Members) -> Iterator[tuple[int, bool]]:
    """Yield the levels at which one group contains a set, lowest first.

    Each level comes with whether the set is the whole group.
    """
    for level, of_value in enumerate(groups):
        inside = of_value[members]
        if (inside == inside[0]).all():
            yield level, bool((of_value == inside[0]).sum() == members.sum())
    # If no single group contains the set, the highest level is the closest cover.
    yield len(groups) - 1, False


def _with_withheld(found: Equilibrium, row_of: Rows, record: Rows, n_records: int) -> Equilibrium:
    """Return the outcome of all records; records without a row are withheld."""
    each = found.expand(row_of)
    place = np.full(n_records, -1)
    place[record] = np.arange(len(record))
    there, at = place >= 0, np.maximum(place, 0)
    rows = np.where(there, row_of[at], -1) if len(record) else place

    def spread(values: NDArray[Any], without: float) -> Floats:
        return np.where(there, values[at], without) if len(record) else np.full(n_records, without)

    return Equilibrium(
        strategies=spread(each.strategies, WITHHELD).astype(np.int64),
        publisher_payoff=spread(each.publisher_payoff, 0.0),
        adversary_payoff=spread(each.adversary_payoff, 0.0),
        attacked=spread(each.attacked, 0.0).astype(np.bool_),
        success_probability=spread(each.success_probability, 0.0),
        utility=spread(each.utility, 0.0),
        generalization_intensity=spread(each.generalization_intensity, 1.0),
        solver=each.solver,
        evaluated=np.zeros(n_records, dtype=np.int64),
        exact=False,
        frequency=None if each.frequency is None else spread(each.frequency, 1.0),
        attempts=None if found.attempts is None else found.attempts.expand(rows),
    )


def _at(wrong: NDArray[np.bool_], column: str, problem: str, found: object, expected: str) -> InputError:
    row = int(wrong.argmax())
    return InputError(problem, where=f"row {row + 1}, column {column!r}", found=found, expected=expected)
