"""Policies of a publisher who releases a table of cases in each period."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from reidsim.games.cross_play import FixedForms, Game, SameForm, record_game_of, require_comparable
from reidsim.games.record_game import Choice
from reidsim.releases.lattice import Floats
from reidsim.scenarios.registry import PartName, Policies, Policy

FIXED, PK = "fixed", "pk"
POLICIES: Policies[Policy] = Policies()


@POLICIES.register("no-protection")
class NoProtection(Policy):
    """Policy that releases every table unchanged."""

    label, description, is_rule = "No protection", "all records are released unchanged", True

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return a `Choice` with strategy 0, no generalization, for every row of the game."""
        return FixedForms(self.name, 0).choose(game)


@POLICIES.register(FIXED)
class FixedLevels(Policy):
    """Policy that releases every table at the levels in ``publisher.fixed``."""

    label, description, is_rule = "Fixed levels", "all tables are released at the levels set in the scenario", True

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return a `Choice` with one generalization for every row of the game.

        It has the scenario's levels, ``publisher.fixed``; attributes that the key does not name have level 0.

        Raises
        ------
        InputError
            If a level exceeds the last level of an attribute's hierarchy.
        """
        return FixedForms(self.name, study.fixed_form).choose(game)


@POLICIES.register(PK)
class KeepsPk(Policy):
    """Policy that releases the most useful generalization with PK within a threshold.

    PK is the share of records in equivalence classes of fewer than ``publisher.k`` records. A quantile of it over
    simulated tables must be at most the scenario's threshold; see `SimulatedTables.keep`. The choice is made at the
    first of every ``review`` periods, for its table's utilities and number of cases, and kept until the next review. If
    no generalization qualifies, every attribute is released at the last level of its hierarchy.
    """

    label, is_rule = "PK-driven", True
    description = (
        "generalization with the highest utility whose PK does not exceed the threshold in "
        "simulated tables; chosen again at each review"
    )

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return a `Choice`: one generalization per period, in all rows of the period.

        A row of the game represents equal cases in the table of a period. See the class for the rule.

        Raises
        ------
        InputError
            If there are more than a million generalizations, the scenario has no population, or a table has more cases
            than the population has people.
        """
        rule, lattice = study.scenario.publisher, study.lattice
        require_comparable(self.name, lattice.size)
        strategies, evaluated = np.empty((2, lattice.n_records), dtype=np.int64)
        for number, (table, size) in enumerate(zip(lattice.tables, lattice.sizes.tolist(), strict=True)):
            if number % rule.review == 0:
                chosen = _best_within(study, lattice.utilities(number), size)
            strategies[table], evaluated[table] = chosen
        return Choice(strategies, self.name, evaluated, exact=False)


def _best_within(study: Any, utilities: Floats, size: int) -> tuple[int, int]:
    """Return the generalization of policy ``pk``, and the number simulated.

    Generalizations are tried in order of falling utility (rounded to 12 decimals; of equal utilities, the lowest number
    first) until the quantile of PK in simulated tables of `size` cases is within the scenario's threshold.
    Generalizations that are nowhere coarser than a refused one are skipped. If none is within the threshold, the last
    generalization is returned, with all attributes at their last level.

    Parameters
    ----------
    study : DynamicStudy
    utilities : ndarray of float64, shape (n_strategies,)
        Utility of each generalization for the table of the period.
    size : int
        Number of cases in the table.
    """
    rule, lattice = study.scenario.publisher, study.lattice
    levels, refused, tried = lattice.all_levels(np.arange(lattice.size)), np.zeros(lattice.size, dtype=np.bool_), 0
    for form in np.argsort(-np.round(utilities, 12), kind="stable").tolist():
        if refused[form]:
            continue
        tried += 1
        if study.tables.keep(form, size, rule.k, rule.threshold, rule.quantile):
            return form, tried
        # In each simulated table, more specific generalizations have smaller classes and therefore a larger PK.
        refused |= (levels <= levels[form]).all(axis=1)
    return lattice.size - 1, tried


@POLICIES.register("basic")
class Basic(Policy):
    """Policy that releases each table in the generalization with the best payoff sum.

    The sum is over the publisher's payoffs from all cases of the period's table. The table is withheld if every
    generalization pays less than withholding; see `SameForm`.
    """

    label = "Basic game"
    description = "generalization with the highest payoff in each period, whether or not records are attacked"

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return a `Choice`: one generalization per period, in all rows of the period.

        A row of the game represents equal cases in the table of a period; its strategy is -1 if the table is withheld.

        Raises
        ------
        InputError
            If there are more than a million generalizations.
        """
        played, lattice = record_game_of(game), study.lattice
        search = SameForm(self.name, lattice.counts, no_attack=self.forbids_attacks)
        strategies, evaluated = np.empty((2, lattice.n_records), dtype=np.int64)
        for table in lattice.tables:
            strategies[table], evaluated[table] = search.best_of(played, np.arange(table.start, table.stop))
        return Choice(strategies, "same-form", evaluated, exact=True)


@POLICIES.register("no-attack")
class NoAttack(Basic):
    """Policy `Basic` limited to generalizations under which no attack pays.

    The table is withheld if no generalization without an attack pays as much as withholding.
    """

    label, forbids_attacks = "No-Attack game", True
    description = (
        "generalization with the highest payoff in each period among the generalizations without an attacked record"
    )


PolicyName = Annotated[str, PartName(POLICIES)]
