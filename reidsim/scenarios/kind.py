"""Interface of a kind of scenario.

A kind has a name, a schema, policies, and the methods by which the engine plays its studies.

The engine, figures and reports use a kind only through this interface. `reidsim.scenarios.registry` finds kinds by
name.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from reidsim.agents.measures import RUN_MEASURES
from reidsim.core.measures import Measure, columns_of
from reidsim.core.randomness import random_stream
from reidsim.errors import InputError, refuse_first
from reidsim.games.defenders.defender import Defender, outcome_of, paid_in
from reidsim.games.measures import MEASURES, averages
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.people import counted_units
from reidsim.scenarios.policy import Policy
from reidsim.scenarios.presentation import Presentation
from reidsim.scenarios.python_objects import OwnPolicy
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import (
    AnalysisTables,
    Played,
    PolicyOutcome,
    Progress,
    Study,
    World,
    record_table,
    solver_facts,
)
from reidsim.scenarios.user_defined import MADE
from reidsim.wording import counted

if TYPE_CHECKING:
    from reidsim.agents.profile import Setting
    from reidsim.games.equilibrium import Equilibrium
    from reidsim.games.record_game import Choice
    from reidsim.games.reidentified import Reidentified
    from reidsim.scenarios.cross_play_adversaries import OpponentOptions, Opponents


class Kind(Presentation, ABC):
    """A kind of scenario.

    A subclass defines the attributes and `build`, and overrides the methods whose defaults do not fit. `Presentation`
    has the optional methods.

    Attributes
    ----------
    name : str
        Value of the key ``game``.
    words : str
        One sentence on the decision maker and the decision.
    schema : type of ScenarioHead
        Schema of scenario files.
    policies : mapping of str to Policy
        Policies by name; empty if the kind has no decision maker.
    decides : str
        Decision maker, ``publisher`` or ``subject``; empty if the kind has none.
    numbers_draws : bool
        Whether replications are numbered draws from the same study; if False, each is a study with its own seed.
    measures : tuple of Measure
        Measures in tables of runs, in printing order.
    measures_of_people : tuple of Measure
        The same measures, described per person, for releases with a key of people; empty if the kind has none.
    amount_keys : tuple of str
        Keys that change only payoff parameters; neither a study's data nor the validity of other sections depends on
        them.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    schema: ClassVar[type[ScenarioHead]]
    policies: ClassVar[Mapping[str, Policy]] = {}
    decides: ClassVar[str] = "publisher"
    measures: ClassVar[tuple[Measure, ...]] = RUN_MEASURES
    measures_of_people: ClassVar[tuple[Measure, ...]] = ()
    numbers_draws: ClassVar[bool] = False
    amount_keys: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        MADE[self.schema] = self

    # Scenarios

    @property
    def decider(self) -> str:
        """Name of the decision maker's section; empty without a decision maker."""
        return {"publisher": "publisher", "subject": "subjects"}.get(self.decides, "")

    def policies_of(self, scenario: Any) -> tuple[str, ...]:
        """Return the policies that a scenario compares.

        Raises
        ------
        InputError
            If the kind has no decision maker.
        """
        problem, expected = "this kind of scenario has no policies", "a kind of scenario with policies"
        refuse_first((not self.decider, problem, "game", self.name, expected))
        return tuple(getattr(scenario, self.decider).policies)

    def policy(self, name: str) -> Policy:
        """Return a policy by name.

        A name that the kind does not have belongs to a user-defined policy.
        """
        return self.policies[name] if name in self.policies else OwnPolicy(name, f"{self.decider}.policies")

    def measures_of(self, content: Mapping[str, Any]) -> tuple[Measure, ...]:
        """Return the measures of a scenario.

        They are described per person if the scenario counts people, otherwise per record.
        """
        counts_people = counted_units(content)[0] == "person"
        return self.measures_of_people if self.measures_of_people and counts_people else self.measures

    # Studies

    @abstractmethod
    def build(self, loaded: Scenario[Any]) -> Study[Any]:
        """Read all data that a scenario names and return its study.

        Raises
        ------
        InputError
            If a file or value cannot be used.
        """

    def build_after(self, loaded: Scenario[Any], before: Any) -> Study[Any]:
        """Return the study of a scenario, reusing data of an earlier study.

        Data are reused if both scenarios define them equally.

        Raises
        ------
        InputError
            If a file or value cannot be used.
        """
        return self.build(loaded)

    def describe(self, study: Any) -> str:
        """Check that the policies can be played; return one line on the size of the study."""
        game = study.world(0).truth
        return f"{game.n_records:,} records, {game.space.size:,} strategies"

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the part of a scenario's content that determines the data of its study.

        Scenarios with equal parts can share a study, see `Study.with_loaded`. By default, it is the whole content.
        """
        return loaded.content

    # One run

    def play(
        self,
        study: Any,
        draw: int = 0,
        policies: Sequence[str] | None = None,
        *,
        timed: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Mapping[str, PolicyOutcome]:
        """Return the outcome of each policy.

        Strategies are chosen in the believed game and evaluated in the true game.

        Parameters
        ----------
        study : Study
        draw : int
            Number of the study's draw.
        policies : sequence of str, optional
            Names of the policies; by default the policies of the scenario.
        timed : bool
            Whether each policy must be played without shared computations, so that its seconds can be measured.
        progress : callable, optional
            Called with the number of policies played and the number of all policies.

        Raises
        ------
        InputError
            If a policy cannot be played.
        """
        self.require_playable(study, draw)
        world, outcomes = study.world(draw), {}
        names = self.policies_of(study.scenario) if policies is None else tuple(policies)
        for number, name in enumerate(names):
            if progress is not None:
                progress(number, len(names))
            begun = time.perf_counter()
            defender = self.policy(name).defender(study, draw)
            choice = defender.choose(world.belief)
            found = self.outcome(study, world, defender, choice)
            outcomes[name] = PolicyOutcome(found, choice, time.perf_counter() - begun)
        return outcomes

    def require_playable(self, study: Any, draw: int) -> None:
        """Check that a study's policies can be played in a draw.

        Raises `InputError` otherwise.
        """

    def outcome(self, study: Any, world: World, defender: Defender, choice: Choice) -> Equilibrium:
        """Return the equilibrium of a choice in the true game."""
        found = outcome_of(paid_in(defender, world.truth, choice), choice)
        gap = getattr(choice, "gap", None)
        return replace(found, gap=gap) if isinstance(gap, np.ndarray) else found

    def summarise(self, study: Any, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return averages over all records of a draw, one row per policy.

        There is one column per measure (`MEASURES`); the index is ``policy``.
        """
        weights = study.world(draw).weights
        rows = [averages(equilibrium, weights) for equilibrium in equilibria.values()]
        return pd.DataFrame(rows, index=pd.Index(list(equilibria), name="policy"), columns=columns_of(MEASURES))

    def reidentified(self, study: Any, draw: int, equilibria: Mapping[str, Equilibrium]) -> dict[str, Reidentified]:
        """Return the distribution of the number of re-identified people, by policy.

        `equilibria` are the outcomes of the policies in a draw.
        """
        from reidsim.games.reidentified import reidentified_in

        weights, seed = study.world(draw).weights, study.scenario.seed
        return {
            policy: reidentified_in(equilibrium, weights, partial(random_stream, seed, "reidentified", draw, number))
            for number, (policy, equilibrium) in enumerate(equilibria.items())
        }

    def further_measures(self, study: Any, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return measures that only results of batches include; by default none.

        The table has one row per policy, in its index, and one column per measure.
        """
        return pd.DataFrame(index=pd.Index(list(equilibria), name="policy"))

    def records(self, study: Any, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per record and policy.

        Columns are ``record``, ``policy``, ``strategy`` and the outcomes.
        """
        return record_table(equilibria, self.row_of_record(study, draw), study.world(draw).truth.space.describe)

    def row_of_record(self, study: Any, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the row of each record in the world's games, shape (n_records,)."""
        weights = study.world(draw).weights
        return np.repeat(np.arange(len(weights)), weights)

    def row_of_subject(self, study: Any, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the row of each data subject in the world's games, shape (n_subjects,).

        By default each record is a data subject. A kind in which people have several records overrides this method.
        """
        return self.row_of_record(study, draw)

    def analyse(self, study: Any, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Compute the tables behind the scenario's figures, from the first draw."""
        return AnalysisTables()

    def runtimes(self, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
        """Return the computing time of each policy: columns ``policy`` and ``seconds``.

        Policies without a measured time have no row.
        """
        seconds = [(policy, outcome.seconds) for policy, outcome in outcomes.items() if outcome.seconds is not None]
        return pd.DataFrame(seconds, columns=["policy", "seconds"])

    def facts(self, study: Any) -> dict[str, Any]:
        """Return facts about a study for manifests, by key.

        ``records`` (number of records), ``strategies`` (number of strategies) and ``data_hash``.
        """
        world = study.world(0)
        size = world.truth.space.size
        return {"records": int(world.weights.sum()), "strategies": size, "data_hash": study.fingerprint}

    def facts_of_policies(self, study: Any, outcomes: Mapping[str, PolicyOutcome]) -> dict[str, dict[str, Any]]:
        """Return facts about the solver of each policy, for manifests; see `solver_facts`."""
        row = self.row_of_record(study, 0)
        return {policy: solver_facts(outcome.equilibrium, row) for policy, outcome in outcomes.items()}

    def warnings(self, study: Any, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield warnings for readers of the outcomes."""
        yield from ()

    def assess(self, study: Any, report: Progress) -> Played:
        """Return the assessment of a scenario without a decision maker.

        By default, `InputError` is raised.
        """
        raise InputError("this kind of scenario has neither policies nor an assessment", where="game", found=self.name)

    # Rounds of agents

    def settings(self, study: Any) -> Callable[[str, int, int], Setting]:
        """Return a function that makes the setting of repeated rounds.

        Its arguments are the policy, the number of the study's draw, and the number of the repetition of all rounds on
        that draw. By default, adversaries differ in payoff parameters and planners, and linkage does not depend on
        which data subjects participate.

        Raises
        ------
        InputError
            If the kind is not played in rounds.
        """
        from reidsim.scenarios.agents import settings_of

        return settings_of(self, study)

    def by_subject(self, study: Any) -> Any:
        """Return the study with one row per data subject; by default, the study itself.

        Used after rounds in which data subjects with identical records had different releases; see `Setting.split`.
        """
        return study

    def describe_setting(self, setting: Setting) -> str:
        """Return a line on the number of data subjects and strategies in rounds."""
        forms = counted(setting.space.size, "strategy", "strategies")
        return f"{counted(setting.n_subjects, 'data subject')}, {forms}"

    # Cross-play

    def opponents(self, study: Any, options: OpponentOptions, draw: int = 0) -> tuple[Any, Opponents]:
        """Return the study for cross-play and the adversaries that can play in it.

        The returned study may differ from `study`, for example in its cells. Its games and the games of all adversaries
        have the same rows.

        Parameters
        ----------
        study : Study
        options : OpponentOptions
            Options for adversaries that the scenario does not describe. Paths must be absolute.
        draw : int
            Number of the study's random draw, from 0; see `Study.world`.

        Raises
        ------
        InputError
            If an adversary requested by the options, or the scenario's own adversary, cannot play.
        """
        from reidsim.scenarios.cross_play_adversaries import opponents_by_planner

        return study, opponents_by_planner(study, options, draw)

    def opponent_types(self, study: Any, draw: int = 0) -> Opponents:
        """Return the adversary types of rounds, and further games for planning.

        Each type has all resources that it holds or may buy. If no adversary sets keys for rounds (`are_equipped`),
        only the further games are returned, because `opponents` already has the adversaries.
        """
        from reidsim.scenarios.agents import are_equipped
        from reidsim.scenarios.cross_play_adversaries import ideas_of_several, types_of_setting

        if not are_equipped(study.scenario):
            return ideas_of_several(study, draw)
        return types_of_setting(self.settings(study)(self.policies_of(study.scenario)[0], draw, 0))

    def cross_play_policies(self, study: Any) -> tuple[str, ...]:
        """Return the policies of cross-play: all of the kind, then others of the scenario."""
        return tuple(dict.fromkeys((*self.policies, *self.policies_of(study.scenario))))

    # Columns

    def dropped_columns(self, study: Any) -> Any:
        """Return an object that plays the study without some of its quasi-identifiers.

        Raises
        ------
        InputError
            If the kind shares no table, or no policy can be played without them.
        """
        raise self._unable("drop columns", study)

    # Released files

    def play_released(self, study: Any, path: Path, key: str | None = None) -> tuple[Equilibrium, tuple[str, ...]]:
        """Return the equilibrium of a released file, by record, and notes on the file.

        Raises
        ------
        InputError
            If the kind shares no table, or the file cannot be read.
        """
        raise self._unable("evaluate released files", study)

    def _unable(self, action: str, study: Any) -> InputError:
        problem, source = f"this kind of scenario cannot {action}", study.loaded.path
        return InputError(problem, source=source, where="game", found=self.name, expected="tables")

    # Many points
