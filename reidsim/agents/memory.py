"""What adversaries remember of each data subject from one round to the next, and the world of a round that follows.

Subjects whose records are alike part ways once different things are out about them: one took part in a round that the
other stayed away from. So the rows of a round are the distinct pairs of a record and what is out about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

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


class _Key(NamedTuple):
    """What the rows of a round are made of, of each subject: arrays of shape (n_subjects,)."""

    past: Strategies
    gone: Bools
    took_part: NDArray[np.int64]
    planned: Strategies


class Memory:
    """What is out about each data subject, and who took part with whom.

    Parameters
    ----------
    world : Setting
        Before the first round.

    Attributes
    ----------
    form : ndarray of int64, shape (n_subjects,)
        What was released of each subject is as much as this strategy; -1 if nothing was.

    Raises
    ------
    InputError
        If the strategies of the world do not tell what two of them tell together.
    """

    def __init__(self, world: Setting) -> None:
        if world.meet is None:
            raise InputError(
                "strategies without a meet of two of them", where="agents.remembers", found=True,
                expected="false",
            )  # fmt: skip
        self._world, self._meet = world, world.meet
        self.form: Strategies = np.full(world.n_subjects, WITHHELD, dtype=np.int64)
        # The rounds in which subjects took part, by the number of the pattern that each has so far.
        self._pattern = np.zeros(world.n_subjects, dtype=np.int64)
        self._patterns = np.zeros((1, 0), dtype=np.bool_)
        self._versions: dict[tuple[int, ...], tuple[AdversaryProfile, ...]] = {}
        self._last: tuple[_Key, Bools, Setting] | None = None

    def setting(self, taking_part: Bools, planned: Strategies | None = None) -> Setting | None:
        """Return the world of a round in which some subjects take part, (n_subjects,); None if nothing is out yet.

        Where it was planned before the first round what is released of each, (n_subjects,), rows differ in that, too.
        """
        if planned is None and (self.form == WITHHELD).all():
            return None
        world, gone = self._world, (self.form != WITHHELD) & ~taking_part
        patterns, pattern = self._patterns_with(taking_part)
        # Of whom nothing is out may be in any row.
        took_part = np.where(taking_part | gone, pattern, 0)
        forms = np.zeros_like(self.form) if planned is None else np.where(taking_part, planned, WITHHELD)
        key = _Key(self.form, gone, took_part, forms)
        if self._last is not None:
            before, taking_part_before, setting = self._last
            same = all(np.array_equal(a, b) for a, b in zip(before, key, strict=True))
            if same and np.array_equal(taking_part_before, taking_part):
                return setting
        columns = [world.cell_of_subject, self.form - WITHHELD, gone, took_part, forms - WITHHELD]
        first, row = distinct_rows(columns, len(gone))
        n = len(first)
        people = np.bincount(row, minlength=n)
        participants = np.bincount(row[taking_part], minlength=n)
        known = Known(
            cells=world.cell_of_subject[first],
            past=self.form[first],
            gone=np.where(gone[first], people, 0),
            meet=self._meet,
            alone=self._alone(taking_part),
            planned=None if planned is None else forms[first],
        )
        setting = self._with_solver(known, row, participants if taking_part.any() else people)
        profiles, which = self._profiles(patterns, pattern, took_part[first])
        remembering = tuple(_remembering(versions, known, which) for versions in zip(*profiles, strict=True))
        setting = replace(setting, profiles=remembering, among=None, known=known)
        self._last = key, taking_part, setting
        return setting

    def add(self, strategies: Strategies, taking_part: Bools) -> None:
        """Remember what is released of each subject who takes part, (n_subjects,) both; -1 where nothing is."""
        now = np.where(taking_part, strategies, WITHHELD)
        self._patterns, self._pattern = self._patterns_with(taking_part)
        self.form = known_of(now, self.form, self._meet)

    def _alone(self, taking_part: Bools) -> Setting:
        """Return the world of a round on cells, as if nothing were out."""
        world = self._world
        if world.among is None or not taking_part.any():
            return world
        return world.among(world, np.bincount(world.cell_of_subject[taking_part], minlength=world.n_cells))

    def _with_solver(self, known: Known, row: Rows, participants: Counts) -> Setting:
        """Return the world with rows in place of cells."""
        world, cells = self._world, known.cells
        if len(cells) == world.n_cells and np.array_equal(cells, np.arange(world.n_cells)):
            return known.alone
        if world.split is None:
            raise InputError(
                "alike records of which different things are out",
                where="agents.remembers",
                found=True,
                expected="false",
            )
        space, solve = world.split(cells, participants)
        return replace(
            world, space=space, solve=solve, cell_of_subject=row, benefit=world.benefit[cells], loss=world.loss[cells],
            believed_loss=world.believed_loss[cells],
        )  # fmt: skip

    def _profiles(
        self, patterns: Bools, pattern: Counts, taken: Counts
    ) -> tuple[list[tuple[AdversaryProfile, ...]], Rows]:
        """Return versions of the profiles, by who may be taken for whom, and which is that of each row, (n_rows,)."""
        world = self._world
        if world.profiles_among is None:
            return [world.profiles], np.zeros(len(taken), dtype=np.intp)
        used, which = _distinct_numbers(taken)
        # Of the same rounds that are over they stay the same.
        before, self._versions = self._versions, {}
        for number in used.tolist():
            rounds = tuple(np.flatnonzero(patterns[number]).tolist())
            if rounds not in before:
                # Whoever was in all that the record was in.
                fits = (patterns | ~patterns[number]).all(axis=1)[pattern]
                before[rounds] = world.profiles_among(np.bincount(world.cell_of_subject[fits], minlength=world.n_cells))
            self._versions[rounds] = before[rounds]
        return list(self._versions.values()), which

    def _patterns_with(self, taking_part: Bools) -> tuple[Bools, NDArray[np.int64]]:
        """Return the patterns after a round, (n_patterns, n_rounds), and that of each subject, where they matter."""
        if self._world.profiles_among is None:
            return self._patterns, self._pattern
        both, pattern = _distinct_numbers(self._pattern * 2 + taking_part)
        return np.column_stack([self._patterns[both // 2], both % 2 == 1]), pattern


def _distinct_numbers(numbers: Counts) -> tuple[Counts, Rows]:
    """Return the distinct ones of small whole numbers, ascending, and which of them each is."""
    occurs = np.bincount(numbers) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]


def part_of(setting: Setting, rows: Rows) -> Setting:
    """Return the world of some rows of a round in which adversaries remember, without its subjects."""
    known = setting.known
    assert known is not None and known.alone.split is not None  # noqa: S101, PT018 # as rows were told apart
    part = replace(
        known, cells=known.cells[rows], past=known.past[rows], gone=known.gone[rows],
        planned=None if known.planned is None else known.planned[rows],
    )  # fmt: skip
    space, solve = known.alone.split(part.cells, np.ones(len(rows), dtype=np.int64))
    return replace(
        setting, space=space, solve=solve, cell_of_subject=np.arange(len(rows)), known=part,
        benefit=setting.benefit[rows], loss=setting.loss[rows], believed_loss=setting.believed_loss[rows],
        profiles=tuple(_of_rows(each, part, rows) for each in setting.profiles),
    )  # fmt: skip


def _of_rows(profile: AdversaryProfile, part: Known, rows: Rows) -> AdversaryProfile:
    equip = profile.equip
    assert isinstance(equip, _Equip)  # noqa: S101 # of an adversary who remembers
    believed = profile.believed
    return replace(
        profile, equip=replace(equip, known=part, which=equip.which[rows]),
        believed=None if believed is None else _of_rows(believed, part, rows),
    )  # fmt: skip


def _remembering(versions: Sequence[AdversaryProfile], known: Known, which: Rows) -> AdversaryProfile:
    """Return a type of adversary who remembers, given its versions, by who may be taken for whom."""
    believed = [each.believed for each in versions]
    return replace(
        versions[0],
        equip=_Equip(tuple(each.equip for each in versions), known, which),
        believed=None
        if believed[0] is None
        else _remembering([each for each in believed if each is not None], known, which),
    )


@dataclass(frozen=True, eq=False)
class _Equip:
    """Equips a type who remembers; see `reidsim.agents.profile.Equip`."""

    versions: tuple[Equip, ...]
    known: Known
    which: Rows

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        each = [equip(holds, expected_accuracy, believed=believed) for equip in self.versions]
        means = [one for one in each if one is not None]
        if len(means) < len(each):
            return None
        known = self.known
        linker = RememberingLinker(tuple(one.linker for one in means), self.which, known.cells, known.past, known.meet)
        return Equipment(linker, RememberingAdversary(means[0].adversary))
