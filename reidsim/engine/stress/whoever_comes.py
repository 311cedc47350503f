"""Outputs at points at which it is open who comes: runs of the batch engine, each against the adversary it names."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from reidsim.engine.batch.design import at_point, draw_of
from reidsim.engine.batch.one_run import Studies, run_tables
from reidsim.engine.batch.tasks import RunTask, Tables
from reidsim.engine.cross_play.once import Table, table_of
from reidsim.engine.cross_play.result import CrossPlayOptions
from reidsim.engine.memory import build_within_memory
from reidsim.engine.stress.outcomes import BatchEvaluator, Outcomes, Planning
from reidsim.engine.stress.planning import believed_values
from reidsim.errors import InputError, locating, not_among
from reidsim.games.cross_play import Opponent
from reidsim.games.defenders.defender import outcome_of, paid_in
from reidsim.games.equilibrium import Equilibrium
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import WHO_COMES


@dataclass(frozen=True, eq=False)
class OpponentEvaluator(BatchEvaluator):
    """Outputs of a scenario at points whose column ``adversary`` says who comes; see `BatchEvaluator`."""

    def at(self, points: pd.DataFrame, planning: Planning) -> Outcomes:
        """See `Evaluator`; as believed, the publisher plans against the scenario's own adversary, whoever comes.

        Informed, it plans against whoever comes.

        Raises
        ------
        InputError
            If an adversary cannot play at the scenario's own values, or the scenario is of agents.
        """
        if getattr(self.loaded.scenario, "agents", None) is not None:
            problem, expected = "rounds of agents have adversaries of their own", "a scenario without section agents"
            raise InputError(problem, where=WHERE, expected=expected)
        table = table_of(build_within_memory(self.loaded, "cross-play"), CrossPlayOptions())
        for name in points[WHO_COMES].unique():
            named_opponent(table, str(name))
        informed = planning == "informed"
        if not informed:
            others = [str(key) for key in points.columns if key != WHO_COMES]
            points = points.assign(**believed_values(self.loaded.scenario, others))
        return self.outcomes_at(
            points,
            work=OpponentWork(self.loaded, self.policies, informed),
            options={"who_comes": {"policies": list(self.policies), "informed": informed}},
            known=(WHO_COMES,),
        )


WHERE = f"uncertainty.parameters.{WHO_COMES}"


@dataclass(frozen=True)
class OpponentWork:
    """Plays the policies of a scenario against the adversary that a task names.

    Parameters
    ----------
    loaded : LoadedScenario
        Before the values of any point.
    policies : tuple of str
    informed : bool
        Whether who plans does so against whoever comes; else, against the scenario's own adversary.
    """

    loaded: LoadedScenario[ScenarioHead]
    policies: tuple[str, ...]
    informed: bool
    _studies: Studies = field(default_factory=Studies, init=False, repr=False, compare=False)

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Do the run of a task; return its tables and warnings."""
        values = dict(task.values)
        comes = values.pop(WHO_COMES)
        loaded = at_point(self.loaded, values, task.seed)
        draw = draw_of(loaded.scenario, task.replication)
        with locating(loaded.path):
            return self._play(table_of(self._studies.get(loaded), CrossPlayOptions(), draw), comes)

    def _play(self, table: Table, comes: str) -> tuple[Tables, tuple[str, ...]]:
        kind, study = kind_of(table.study.scenario), table.study
        opponent, own = named_opponent(table, comes), named_opponent(table, table.opponents.own)
        equilibria: dict[str, Equilibrium] = {}
        for policy in self.policies:
            defender = kind.policy(policy).defender(study, table.draw)
            planned = opponent.planned if self.informed and defender.plans else own.planned
            choice = defender.choose(planned)
            equilibria[policy] = outcome_of(paid_in(defender, opponent.truth, choice), choice)
        return run_tables(study, table.draw, equilibria), ()


def named_opponent(table: Table, name: str) -> Opponent:
    """Return an adversary of cross-play by its name.

    Raises
    ------
    InputError
        If there is none in this scenario, or it cannot play; says why.
    """
    for opponent in table.opponents.opponents:
        if opponent.name == name:
            return opponent
    reasons = [reason for reason in table.opponents.left_out if f"{name!r} cannot play" in reason]
    error = not_among(
        "no adversary of this name in cross-play", name, [each.name for each in table.opponents.opponents], where=WHERE
    )
    raise error.but(hint=reasons[0]) if reasons else error
