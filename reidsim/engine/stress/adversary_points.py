"""Stress-test points that differ in the adversary that the policies meet.

They are runs of the batch engine, each against the adversary of its point.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pandas as pd

from reidsim.engine.batch.design import at_point, draw_of
from reidsim.engine.batch.one_run import Studies, run_tables
from reidsim.engine.batch.tasks import RunTask, Tables
from reidsim.engine.cross_play.result import CrossPlayOptions
from reidsim.engine.cross_play.single_play import Table, table_of
from reidsim.errors import InputError, locating, not_among
from reidsim.games.cross_play import Opponent
from reidsim.games.defenders.defender import outcome_of, paid_in
from reidsim.games.equilibrium import Equilibrium
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import WHO_COMES, names_adversaries

_WHERE = f"uncertainty.parameters.{WHO_COMES}"


def name_adversaries(points: pd.DataFrame) -> bool:
    """Return whether the points name the adversary that policies meet.

    True if a column of the points holds names of adversaries in cross-play.
    """
    return WHO_COMES in points and names_adversaries(points[WHO_COMES])


def check_opponents(loaded: Scenario[ScenarioHead], names: Iterable[str]) -> None:
    """Check that the named adversaries can play at the scenario's own values.

    Raises
    ------
    InputError
        If one of them cannot play, or the scenario has agents.
    """
    if getattr(loaded.scenario, "agents", None) is not None:
        problem, expected = "rounds of agents define their own adversaries", "a scenario without section agents"
        raise InputError(problem, where=_WHERE, expected=expected)
    table = table_of(kind_of(loaded.scenario).build(loaded), CrossPlayOptions())
    for name in names:
        _opponent(table, name)


@dataclass(frozen=True)
class AdversaryWork:
    """A callable that plays policies against the adversary named by a task.

    Parameters
    ----------
    loaded : Scenario
        The scenario without the values of a point.
    policies : tuple of str
    informed : bool
        Whether policies plan against the named adversary; if False, against the scenario's own adversary. Policies that
        do not plan against an adversary are unaffected.
    """

    loaded: Scenario[ScenarioHead]
    policies: tuple[str, ...]
    informed: bool
    _studies: Studies = field(default_factory=Studies, init=False, repr=False, compare=False)

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Run a task and return its tables and warnings."""
        values = dict(task.values)
        comes = values.pop(WHO_COMES)
        loaded = at_point(self.loaded, values, task.seed)
        with locating(loaded.path):
            draw = draw_of(loaded.scenario, task.replication)
            table = table_of(self._studies.get(loaded), CrossPlayOptions(), draw)
            opponent, own = _opponent(table, comes), _opponent(table, table.opponents.own)
            kind, equilibria = kind_of(loaded.scenario), dict[str, Equilibrium]()
            for policy in self.policies:
                defender = kind.policy(policy).defender(table.study, draw)
                choice = defender.choose((opponent if self.informed and defender.plans else own).planned)
                equilibria[policy] = outcome_of(paid_in(defender, opponent.truth, choice), choice)
            return run_tables(table.study, draw, equilibria), ()


def _opponent(table: Table, name: str) -> Opponent:
    """Return the adversary of cross-play with this name.

    Raise an InputError if it cannot play.
    """
    for opponent in table.opponents.opponents:
        if opponent.name == name:
            return opponent
    reasons = [reason for reason in table.opponents.left_out if f"{name!r} cannot play" in reason]
    names = [each.name for each in table.opponents.opponents]
    error = not_among("no adversary of this name in cross-play", name, names, where=_WHERE)
    raise error.but(hint=reasons[0]) if reasons else error
