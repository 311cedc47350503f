"""Outputs at points at which it is open who comes: runs of the batch engine, each against the adversary it names."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from reidsim.engine.batch.points import point_tables
from reidsim.engine.cross_play.once import table_of
from reidsim.engine.cross_play.one_opponent import WHERE, OpponentWork, named_opponent
from reidsim.engine.cross_play.options import CrossPlayOptions
from reidsim.engine.memory import build_within_memory
from reidsim.engine.stress.outcomes import BatchEvaluator, Outcomes, Planning
from reidsim.engine.stress.planning import believed_values
from reidsim.errors import InputError
from reidsim.scenarios.named_adversaries import WHO_COMES


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
        tables = point_tables(
            self.loaded,
            points,
            replications=self.loaded.scenario.replications,
            executor=self.executor,
            progress=self.progress,
            folder=self.folder,
            work=OpponentWork(self.loaded, self.policies, informed),
            options={"who_comes": {"policies": list(self.policies), "informed": informed}},
            known=(WHO_COMES,),
        )
        return self.outcomes_of(tables)
