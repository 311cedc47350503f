"""Adversaries' memory of earlier releases, and the resulting setting of a round.

Two data subjects with identical records differ as soon as different information about them has been released, for
example because only one of them took part in an earlier round. The rows of a round are therefore the distinct pairs of
a record and the information released about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.profile import AdversaryProfile, Equip, Equipment, Holdings, Known, Setting
from reidsim.errors import InputError
from reidsim.games.memory import RememberingAdversary, RememberingLinker, known_of
from reidsim.games.record_game import WITHHELD
from reidsim.populations.domain import distinct_rows
from reidsim.releases.strategy_space import Rows, Strategies

Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]


class Memory:
    """Earlier releases of each data subject, and the participants of their rounds.

    If group sizes count participants only, the candidates of a record are the subjects who took part in every round in
    which the record was released. Only distinct sets of participants matter, so rounds are stored as such sets.

    Parameters
    ----------
    world : Setting
        Setting before the first round.

    Attributes
    ----------
    form : ndarray of int64, shape (n_subjects,)
        Strategy that is as informative as all earlier releases of the subject together; -1 without an earlier release.

    Raises
    ------
    InputError
        If the strategies have no meet, that is, no strategy as informative as two of them together.
    """

    def __init__(self, world: Setting) -> None:
        if world.meet is None:
            problem = "two releases of a record cannot be combined"
            raise InputError(problem, where="agents.remembers", found=True, expected="false")
        self._world, self._meet = world, world.meet
        self.form: Strategies = np.full(world.n_subjects, WITHHELD, dtype=np.int64)
        # Distinct sets of participants; the number of each combination of such sets; the combination of each subject.
        self._participants: list[Bools] = []
        self._sets: dict[frozenset[int], int] = {frozenset(): 0}
        self._released_in: Counts = np.zeros(world.n_subjects, dtype=np.int64)
        self._last: tuple[list[bytes], Setting] | None = None

    def setting(self, taking_part: Bools, planned: Strategies | None = None) -> Setting | None:
        """Return the setting of a round, with one row per distinct record and memory.

        Parameters
        ----------
        taking_part : ndarray of bool, shape (n_subjects,)
            Whether each subject takes part in the round.
        planned : ndarray of int64, shape (n_subjects,), optional
            Strategy of each subject's record in this round, if all releases were planned before the first round. Rows
            then also differ in the planned strategy.

        Returns
        -------
        Setting or None
            None if no record has been released yet and no release was planned.
        """
        if planned is None and (self.form == WITHHELD).all():
            return None
        world, gone = self._world, (self.form != WITHHELD) & ~taking_part
        forms = np.zeros_like(self.form) if planned is None else np.where(taking_part, planned, WITHHELD)
        key = [each.tobytes() for each in (self.form, taking_part, self._released_in, forms)]
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        columns = [world.cell_of_subject, self.form - WITHHELD, gone, self._released_in, forms - WITHHELD]
        first, row = distinct_rows(columns, len(gone))
        people = np.bincount(row, minlength=len(first))
        participants = np.bincount(row[taking_part], minlength=len(first))
        alone = world
        if world.among is not None and taking_part.any():
            # The setting of a round on cells, as if nothing was released earlier.
            counts = np.bincount(world.cell_of_subject[taking_part], minlength=world.n_cells)
            alone = world.among(world, counts)
        known = Known(
            cells=world.cell_of_subject[first],
            past=self.form[first],
            gone=np.where(gone[first], people, 0),
            meet=self._meet,
            alone=alone,
            planned=None if planned is None else forms[first],
        )
        setting = alone
        if not np.array_equal(known.cells, np.arange(world.n_cells)):
            setting = _with_rows(world, world, known.cells, row, participants if taking_part.any() else people)
        earlier = self._released_in[first]
        now = np.where(participants > 0, self._with_round(taking_part)[earlier], earlier)
        # A record without an earlier release has no earlier candidates; its current ones are used.
        earlier = np.where(known.past == WITHHELD, now, earlier)
        profiles, which, unreleased = self._profiles(now, earlier)
        remembering = tuple(
            _remembering(versions, known, which, unreleased) for versions in zip(*profiles, strict=True)
        )
        setting = replace(setting, profiles=remembering, among=None, known=known)
        self._last = key, setting
        return setting

    def add(self, strategies: Strategies, taking_part: Bools) -> None:
        """Add the releases of a round to the memory.

        Parameters
        ----------
        strategies : ndarray of int64, shape (n_subjects,)
            Strategy of each subject's record; -1 if it is withheld.
        taking_part : ndarray of bool, shape (n_subjects,)
            Whether each subject takes part in the round.
        """
        now, earlier = np.where(taking_part, strategies, WITHHELD), self._released_in
        self._released_in = np.where(now == WITHHELD, earlier, self._with_round(taking_part)[earlier])
        self.form = known_of(now, self.form, self._meet)

    def _with_round(self, taking_part: Bools) -> Counts:
        """Return, for each set of rounds, the number of the set with this round added.

        The result has shape (n_sets,), and is 0 for sets that no subject uses. Rounds with equal participants count as
        one round.
        """
        if self._world.profiles_among is None:
            return np.zeros(1, dtype=np.int64)
        known = (number for number, each in enumerate(self._participants) if np.array_equal(each, taking_part))
        added = next(known, len(self._participants))
        if added == len(self._participants):
            self._participants.append(taking_part.copy())
        sets, following = list(self._sets), np.zeros(len(self._sets), dtype=np.int64)
        for number in np.flatnonzero(np.bincount(self._released_in)).tolist():
            # A set that already holds these participants keeps its number.
            following[number] = self._sets.setdefault(sets[number] | {added}, len(self._sets))
        return following

    def _profiles(self, now: Counts, before: Counts) -> tuple[list[tuple[AdversaryProfile, ...]], Rows, Rows]:
        """Return the adversary profiles for each set of candidates, and each row's set.

        Parameters
        ----------
        now, before : ndarray of int64, shape (n_rows,)
            Number of the row's set of candidates if its record is released in this round, and if it is not.

        Returns
        -------
        profiles : list of tuple of AdversaryProfile
            Profiles of all types, one tuple per set of candidates in use.
        which, unreleased : ndarray of int, shape (n_rows,)
            Position in `profiles` for `now` and for `before`.
        """
        world, nothing = self._world, np.zeros(len(now), dtype=np.intp)
        if world.profiles_among is None:
            return [world.profiles], nothing, nothing
        used, position = np.unique(np.concatenate([now, before]), return_inverse=True)
        rounds, profiles = list(self._sets), []
        for number in used.tolist():
            candidates = np.ones(world.n_subjects, dtype=np.bool_)
            for each in rounds[number]:
                candidates &= self._participants[each]
            counts = np.bincount(world.cell_of_subject[candidates], minlength=world.n_cells)
            profiles.append(world.profiles_among(counts))
        which, unreleased = np.split(position.ravel(), 2)
        return profiles, which, unreleased


def _with_rows(setting: Setting, of: Setting, cells: Rows, row_of_subject: Rows, participants: Counts) -> Setting:
    """Return a copy of a setting that has rows in place of cells.

    A row is a part of a cell, for example the subjects of the cell with equal earlier releases.

    Parameters
    ----------
    setting : Setting
        Setting to copy.
    of : Setting
        Setting on cells. Its strategy space, `solve` and payoff parameters, split by row, replace those of the copy.
    cells : ndarray of int, shape (n_rows,)
        Cell of each row in `of`.
    row_of_subject : ndarray of int, shape (n_subjects,)
        Row of each subject in the copy.
    participants : ndarray of int64, shape (n_rows,)
        Number of participants of each row.

    Raises
    ------
    InputError
        If `of` cannot be split by row.
    """
    if of.split is None:
        problem = "equal records have different earlier releases, which this game does not support"
        raise InputError(problem, where="agents.remembers", found=True, expected="false")
    space, solve = of.split(cells, participants)
    amounts = {name: getattr(of, name)[cells] for name in ("benefit", "loss", "believed_loss")}
    return replace(setting, space=space, solve=solve, cell_of_subject=row_of_subject, **amounts)


def part_of(setting: Setting, rows: Rows) -> Setting:
    """Return the setting restricted to some rows, with one subject per row.

    Parameters
    ----------
    setting : Setting
        Setting of a round in which adversaries remember earlier releases.
    rows : ndarray of int
        Rows to keep.
    """
    known = setting.known
    assert known is not None  # noqa: S101 # as rows were told apart
    planned = None if known.planned is None else known.planned[rows]
    part = replace(known, cells=known.cells[rows], past=known.past[rows], gone=known.gone[rows], planned=planned)
    setting = replace(setting, known=part, profiles=tuple(_of_rows(each, part, rows) for each in setting.profiles))
    return _with_rows(setting, known.alone, part.cells, np.arange(len(rows)), np.ones(len(rows), dtype=np.int64))


def _of_rows(profile: AdversaryProfile, part: Known, rows: Rows) -> AdversaryProfile:
    equip = profile.equip
    assert isinstance(equip, _Equip)  # noqa: S101 # of an adversary who remembers
    believed = profile.believed
    return replace(
        profile,
        equip=replace(equip, known=part, which=equip.which[rows], unreleased=equip.unreleased[rows]),
        believed=None if believed is None else _of_rows(believed, part, rows),
    )


def _remembering(versions: Sequence[AdversaryProfile], known: Known, which: Rows, unreleased: Rows) -> AdversaryProfile:
    """Return the profile of a type with a memory.

    `versions` holds the type's profile without a memory for each set of candidates; `which` and `unreleased` give the
    position of each row's profile if its record is released in the round and if it is not.
    """
    believed = [each.believed for each in versions if each.believed is not None]
    return replace(
        versions[0],
        equip=_Equip(tuple(each.equip for each in versions), known, which, unreleased),
        believed=_remembering(believed, known, which, unreleased) if believed else None,
    )


@dataclass(frozen=True, eq=False)
class _Equip:
    """Equipment of a type with a memory; see `reidsim.agents.profile.Equip`."""

    versions: tuple[Equip, ...]
    known: Known
    which: Rows
    unreleased: Rows

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        each = [equip(holds, expected_accuracy, believed=believed) for equip in self.versions]
        means = [one for one in each if one is not None]
        if len(means) < len(each):
            return None
        known = self.known
        linkers = tuple(one.linker for one in means)
        linker = RememberingLinker(linkers, self.which, known.cells, known.past, known.meet, self.unreleased)
        return Equipment(linker, RememberingAdversary(means[0].adversary))
