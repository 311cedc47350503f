"""Every policy of a publisher of cases over time: its name, its words, and the defender that follows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from reidsim.games.defenders.defender import Game, record_game_of, require_comparable
from reidsim.games.defenders.fixed import FixedForms
from reidsim.games.defenders.same_form import SameForm
from reidsim.games.record_game import Choice
from reidsim.scenarios.part_names import PartName
from reidsim.scenarios.policy import Policies, Policy

if TYPE_CHECKING:
    from reidsim.kinds.dynamic.study import DynamicStudy

FIXED, PK = "fixed", "pk"


@dataclass(frozen=True, eq=False)
class EachPeriod:
    """Picks for each period the one generalization of its table that pays most in sum, as if there were no other.

    Parameters
    ----------
    name : str
    study : DynamicStudy
    no_attack : bool
        Only generalizations in which no record of the table is attacked.
    """

    plans: ClassVar[bool] = True

    name: str
    study: DynamicStudy
    no_attack: bool = False

    def choose(self, game: Game) -> Choice:
        """Return the generalization of each row's period; see `Defender`."""
        played, lattice = record_game_of(game), self.study.lattice
        form = SameForm(self.name, lattice.counts, no_attack=self.no_attack)
        strategies = np.empty(lattice.n_records, dtype=np.int64)
        evaluated = np.empty_like(strategies)
        for start, end in zip(lattice.starts[:-1], lattice.starts[1:], strict=True):
            found = form.best_of(played, np.arange(start, end))
            strategies[start:end], evaluated[start:end] = found.form, found.evaluated
        return Choice(strategies, "same-form", evaluated, exact=True)


@dataclass(frozen=True, eq=False)
class KeepsPk:
    """Picks for each review the most useful generalization whose PK stays within a threshold in simulated tables.

    Where none does, everything is suppressed as far as the hierarchies go.

    Parameters
    ----------
    study : DynamicStudy
    name : str
    """

    plans: ClassVar[bool] = False

    study: DynamicStudy
    name: str = PK

    def choose(self, game: Game) -> Choice:
        """Return the generalization of each row's period; see `Defender`."""
        rule, lattice = self.study.scenario.publisher, self.study.lattice
        require_comparable(self.name, lattice.size)
        strategies = np.empty(lattice.n_records, dtype=np.int64)
        evaluated = np.empty_like(strategies)
        sizes = lattice.sizes
        for first in range(0, len(sizes), rule.review):
            end = lattice.starts[min(first + rule.review, len(sizes))]
            here = slice(lattice.starts[first], end)
            strategies[here], evaluated[here] = self._best(lattice.utilities(first), int(sizes[first]))
        return Choice(strategies, self.name, evaluated, exact=False)

    def _best(self, utilities: np.ndarray[tuple[int], np.dtype[np.float64]], size: int) -> tuple[int, int]:
        """Return the generalization for tables of so many cases, and how many were simulated."""
        rule, lattice = self.study.scenario.publisher, self.study.lattice
        levels, refused, tried = lattice.all_levels(np.arange(lattice.size)), np.zeros(lattice.size, dtype=np.bool_), 0
        for form in np.argsort(-np.round(utilities, 12), kind="stable").tolist():
            if refused[form]:
                continue
            tried += 1
            if self.study.tables.keep(form, size, rule.k, rule.threshold, rule.quantile):
                return form, tried
            # Whatever is more specific has smaller classes in each of the same tables.
            refused |= (levels <= levels[form]).all(axis=1)
        return lattice.size - 1, tried


NO_PROTECTION = Policy(
    "no-protection", "No protection", "every table is released unchanged",
    lambda study, draw: FixedForms("no-protection", 0), is_rule=True,
)  # fmt: skip
FIXED_LEVELS = Policy(
    FIXED, "Fixed levels", "every table is released at the levels that the scenario gives",
    lambda study, draw: FixedForms(FIXED, study.fixed_form), is_rule=True,
)  # fmt: skip
KEEPS_PK = Policy(
    PK, "PK-driven",
    "at each review, the most useful generalization whose PK stays within the threshold in simulated tables",
    lambda study, draw: KeepsPk(study), is_rule=True,
)  # fmt: skip
BASIC = Policy(
    "basic", "Basic game", "for each period, the generalization that pays most",
    lambda study, draw: EachPeriod("basic", study),
)  # fmt: skip
NO_ATTACK = Policy(
    "no-attack", "No-Attack game",
    "for each period, the generalization that pays most among those without an attacked record",
    lambda study, draw: EachPeriod("no-attack", study, no_attack=True), forbids_attacks=True,
)  # fmt: skip
POLICIES = Policies((NO_PROTECTION, FIXED_LEVELS, KEEPS_PK, BASIC, NO_ATTACK))
PolicyName = Annotated[str, PartName(POLICIES)]
