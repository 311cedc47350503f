"""One run of cross-play, in one draw at the scenario's own values.

Every defender plays against every adversary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from reidsim.engine.batch.design import at_point, draw_of
from reidsim.engine.batch.one_run import Studies, columns_of_table
from reidsim.engine.batch.tasks import RunTask, Tables
from reidsim.engine.cross_play.result import CrossPlayOptions
from reidsim.errors import InputError, locating
from reidsim.games.cross_play import cross_play
from reidsim.games.defenders.defender import Defender
from reidsim.games.double_oracle import double_oracle
from reidsim.scenarios.agents import are_equipped, left_out_of_rounds
from reidsim.scenarios.cross_play_adversaries import Opponents
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress


@dataclass(frozen=True, eq=False)
class Table:
    """The players of one run of cross-play.

    Parameters
    ----------
    study : Study
        The study whose rows all players use.
    opponents : Opponents
        The adversaries.
    defenders : list of Defender
    draw : int
        Number of the study's draw.
    """

    study: Any
    opponents: Opponents
    defenders: list[Defender]
    draw: int

    def play(self, options: CrossPlayOptions, report: Progress) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
        """Play every defender against every adversary; add best replies, if requested.

        Returns
        -------
        tables : dict of str to DataFrame
            ``runs``, and the tables of `DoubleOracle`.
        left_out : tuple of str
            Warnings about players that cannot play, and about settings that are ignored.

        Raises
        ------
        InputError
            If best replies are requested, but no policy plans, or no policy can plan against several adversaries.
        """
        scenario, opponents = self.study.scenario, self.opponents
        weights = self.study.world(self.draw).weights
        play = cross_play(
            opponents.opponents,
            self.defenders,
            own=opponents.own,
            ideas=opponents.ideas,
            weights=weights,
            progress=lambda done, total: report("playing", done, total),
        )
        # Settings of rounds have no effect in a single game, except on equipped adversaries.
        rounds = () if are_equipped(scenario) else left_out_of_rounds(scenario)
        tables, left_out = {"runs": play.table}, (*rounds, *opponents.left_out, *play.left_out)
        if options.double_oracle is None:
            return tables, left_out
        oracle = next((defender for defender in self.defenders if defender.plans), None)
        if oracle is None:
            raise InputError(
                "no policy plans against the adversary",
                where="double_oracle",
                expected="a policy that responds to the adversary",
            )
        replies = double_oracle(
            play,
            opponents.opponents,
            oracle,
            own=opponents.own,
            game=options.double_oracle,
            tolerance=options.tolerance,
            weights=weights,
            progress=lambda done, total: report("adding best replies", done, total),
        )
        tables |= {"double_oracle": replies.iterations, "double_oracle_mixtures": replies.mixtures}
        return tables, (*left_out, *replies.left_out)


def table_of(study: Any, options: CrossPlayOptions, draw: int = 0) -> Table:
    """Return the players of a run of cross-play.

    Parameters
    ----------
    study : Study
    options : CrossPlayOptions
    draw : int
        Number of the study's draw.

    Raises
    ------
    InputError
        If the scenario has no policies, or if the scenario's own adversary, or an adversary whose recipe is in the
        options, cannot play. Other adversaries that cannot play are listed in `Opponents.left_out`.
    """
    kind = kind_of(study.scenario)
    kind.policies_of(study.scenario)
    study, others = kind.opponents(study, options, draw)
    opponents = kind.opponent_types(study, draw).beside(others)
    defenders = [kind.policy(name).defender(study, draw) for name in kind.cross_play_policies(study)]
    return Table(study, opponents, defenders, draw)


@dataclass(frozen=True)
class CrossPlayWork:
    """A callable that does one run of cross-play.

    Parameters
    ----------
    loaded : Scenario
        The scenario without the values of a point.
    options : CrossPlayOptions
    """

    loaded: Scenario[ScenarioHead]
    options: CrossPlayOptions
    _studies: Studies = field(default_factory=Studies, init=False, repr=False, compare=False)

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Run a task and return its tables and warnings."""
        loaded = at_point(self.loaded, task.values, task.seed)
        with locating(loaded.path):
            table = table_of(self._studies.get(loaded), self.options, draw_of(loaded.scenario, task.replication))
            tables, left_out = table.play(self.options, lambda task, done, total: None)
        return {name: columns_of_table(found) for name, found in tables.items()}, left_out

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that the players of a task can play; return the hash of its data.

        Raises
        ------
        InputError
            If a file of the scenario, or a player that must play, cannot be used.
        """
        loaded = at_point(self.loaded, task.values, task.seed)
        with locating(loaded.path):
            study = self._studies.get(loaded)
            table_of(study, self.options, draw_of(loaded.scenario, task.replication))
        return study.fingerprint
