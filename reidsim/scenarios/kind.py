"""What a kind of scenario is: its name and schema, its policies, and how the engine plays its studies.

Everything above this floor knows a kind by this interface alone; `reidsim.scenarios.registry` has kinds by name.
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
from reidsim.errors import InputError
from reidsim.games.measures import MEASURES
from reidsim.random_streams import nested_stream
from reidsim.scenarios.faces import Faces, ManyPoints, RecordSharing
from reidsim.scenarios.people import counted_units
from reidsim.scenarios.policy import Policy
from reidsim.scenarios.study import (
    AnalysisTables,
    DroppedColumns,
    Played,
    PolicyOutcome,
    Progress,
    Study,
    World,
    record_table,
    solver_facts,
)
from reidsim.wording import counted

if TYPE_CHECKING:
    from reidsim.agents.profile import Setting
    from reidsim.games.defenders.defender import Defender
    from reidsim.games.equilibrium import Equilibrium
    from reidsim.games.record_game import Choice
    from reidsim.games.reidentified import Reidentified
    from reidsim.scenarios.load import LoadedScenario
    from reidsim.scenarios.opponents import OpponentOptions, Opponents
    from reidsim.scenarios.schema import ScenarioHead


# Every kind that was made, by the schema of its scenarios; those of users' modules by what scenarios call them, too.
MADE: dict[type | str, Kind] = {}


class Kind(Faces, RecordSharing, ManyPoints, ABC):
    """A kind of scenario; a kind of one's own says the attributes, `build`, and what else differs.

    `RecordSharing` says how its records are shared, `ManyPoints` what it solves for many points at once.

    Attributes
    ----------
    name : str
        The value of the key ``game``.
    words : str
        Who decides about what, in one sentence.
    schema : type of ScenarioHead
    policies : mapping of str to Policy
        By name; empty where nobody decides.
    decides : str
        Who shares the records: ``publisher`` or ``subject``; empty where nobody decides.
    numbers_draws : bool
        Whether a replication is a draw of one study, by its number; else each is a study of a seed of its own.
    measures : tuple of Measure
        What its tables of runs may hold, in the order in which tables print them.
    measures_of_people : tuple of Measure
        The same in words of people, for releases that name them by a key; empty where all words are of records.
    amount_keys : tuple of str
        Keys that only change money, and so none of the data of a study, nor what other sections may say.
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
        """The section of whoever decides; empty where nobody does."""
        return {"publisher": "publisher", "subject": "subjects"}.get(self.decides, "")

    def policies_of(self, scenario: Any) -> tuple[str, ...]:
        """Return the policies that a scenario compares.

        Raises
        ------
        InputError
            If nobody decides.
        """
        if not self.decider:
            expected = "a kind of scenario in which somebody decides"
            raise InputError("nobody decides what is shared", where="game", found=self.name, expected=expected)
        return tuple(getattr(scenario, self.decider).policies)

    def policy(self, name: str) -> Policy:
        """Return a policy by its name; any that the kind does not have is somebody's own."""
        from reidsim.scenarios.given import OwnPolicy, policy_among

        return policy_among(self.policies, OwnPolicy, name, f"{self.decider}.policies")

    def measures_of(self, content: Mapping[str, Any]) -> tuple[Measure, ...]:
        """Return the measures in the words of a scenario with this content."""
        counts_people = counted_units(content)[0] == "person"
        return self.measures_of_people if self.measures_of_people and counts_people else self.measures

    # Studies

    @abstractmethod
    def build(self, loaded: LoadedScenario[Any]) -> Study[Any]:
        """Read everything that a scenario names.

        Raises
        ------
        InputError
            If a file or value cannot be used.
        """

    def build_after(self, loaded: LoadedScenario[Any], before: Any) -> Study[Any]:
        """Read what a scenario names, but for data that a study built before has read, if the two say the same of it.

        Raises
        ------
        InputError
            If a file or value cannot be used.
        """
        return self.build(loaded)

    def describe(self, study: Any) -> str:
        """Say in a line how large a study is, having checked that its policies can be played."""
        game = study.world(0).truth
        return f"{game.n_records:,} records, {game.space.size:,} strategies"

    def data_content(self, loaded: LoadedScenario[Any]) -> dict[str, Any]:
        """Return that part of a scenario's content of which the data of its study are made."""
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
        """Play policies, those of the scenario if none are given: choose by what is believed, evaluate by what is true.

        Parameters
        ----------
        study : Study
        draw : int
        policies : sequence of str, optional
        timed : bool
            Whether the time that each takes matters, which is then that of playing it alone.
        progress : callable, optional
            Called with policies played and in all.

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
        """Check that a study's policies can be played in a draw; an `InputError` if one cannot."""

    def outcome(self, study: Any, world: World, defender: Defender, choice: Choice) -> Equilibrium:
        """Return what comes of a choice in the true game."""
        from reidsim.games.defenders.defender import outcome_of, paid_in

        found = outcome_of(paid_in(defender, world.truth, choice), choice)
        gap = getattr(choice, "gap", None)
        return replace(found, gap=gap) if isinstance(gap, np.ndarray) else found

    def summarise(self, study: Any, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Average the outcomes of each policy over all records; indexed by policy, a column per measure."""
        from reidsim.games.measures import averages

        weights = study.world(draw).weights
        rows = [averages(equilibrium, weights) for equilibrium in equilibria.values()]
        return pd.DataFrame(rows, index=pd.Index(list(equilibria), name="policy"), columns=columns_of(MEASURES))

    def reidentified(self, study: Any, draw: int, equilibria: Mapping[str, Equilibrium]) -> dict[str, Reidentified]:
        """Return how many people are re-identified under each policy."""
        from reidsim.games.reidentified import reidentified_in

        weights, seed = study.world(draw).weights, study.scenario.seed
        return {
            policy: reidentified_in(equilibrium, weights, partial(nested_stream, seed, "reidentified", (draw, number)))
            for number, (policy, equilibrium) in enumerate(equilibria.items())
        }

    def further_measures(self, study: Any, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return measures that only batches tell, indexed by policy."""
        return pd.DataFrame(index=pd.Index(list(equilibria), name="policy"))

    def records(self, study: Any, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per record and policy: ``record``, ``policy``, ``strategy`` and the outcomes."""
        return record_table(equilibria, self.row_of_record(study, draw), study.world(draw).truth.space.describe)

    def row_of_record(self, study: Any, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the row of the world's games on which each record stands, shape (n_records,)."""
        weights = study.world(draw).weights
        return np.repeat(np.arange(len(weights)), weights)

    def row_of_subject(self, study: Any, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the row of each who counts once, shape (n_subjects,): of each record, unless people have several."""
        return self.row_of_record(study, draw)

    def analyse(self, study: Any, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Work out the tables behind the figures that a scenario asks for, of its first draw."""
        return AnalysisTables()

    def runtimes(self, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
        """Return the seconds of each policy, where policies were played one by one."""
        timed = {policy: outcome.seconds for policy, outcome in outcomes.items() if outcome.seconds is not None}
        return pd.DataFrame({"policy": list(timed), "seconds": list(timed.values())})

    def facts(self, study: Any) -> dict[str, Any]:
        """Return facts about a study for manifests."""
        world = study.world(0)
        size = world.truth.space.size
        return {"records": int(world.weights.sum()), "strategies": size, "data_hash": study.fingerprint}

    def facts_of_policies(self, study: Any, outcomes: Mapping[str, PolicyOutcome]) -> dict[str, dict[str, Any]]:
        """Say by policy how its choice was found."""
        row = self.row_of_record(study, 0)
        return {policy: solver_facts(outcome.equilibrium, row) for policy, outcome in outcomes.items()}

    def warnings(self, study: Any, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield what a reader of the outcomes should know."""
        yield from ()

    def assess(self, study: Any, report: Progress) -> Played:
        """Work out a scenario in which nobody decides; an `InputError` if the kind does not say how."""
        raise InputError("nobody decides, and nothing is assessed", where="game", found=self.name)

    # Rounds of agents

    def settings(self, study: Any) -> Callable[[str, int, int], Setting]:
        """Return what makes the world of agents: of a policy, a draw of the study, and a run of all rounds on it.

        By default adversaries differ in amounts and planners, and who takes part changes no linkage.

        Raises
        ------
        InputError
            If the kind is not played in rounds.
        """
        from reidsim.scenarios.agents_setting import settings_of

        return settings_of(self, study)

    def by_subject(self, study: Any) -> Any:
        """Return the study in which each data subject has a row; itself, as by default, where each has one anyway.

        Asked for where different things are out about subjects whose records are alike, which `Setting.split` allows.
        """
        return study

    def describe_setting(self, setting: Setting) -> str:
        """Say in a line how large a world of agents is."""
        forms = counted(setting.space.size, "strategy", "strategies")
        return f"{counted(setting.n_subjects, 'data subject')}, {forms}"

    # Cross-play

    def opponents(self, study: Any, options: OpponentOptions, draw: int = 0) -> tuple[Any, Opponents]:
        """Return the adversaries that can play in a scenario, and the study on whose rows they all play.

        Parameters
        ----------
        study : Study
        options : OpponentOptions
            Paths are absolute.
        draw : int
            Of the study.

        Raises
        ------
        InputError
            If the adversary asked for, or the scenario's own, cannot play.
        """
        from reidsim.scenarios.opponents import opponents_by_planner

        return study, opponents_by_planner(study, options, draw)

    def opponent_types(self, study: Any, draw: int = 0) -> Opponents:
        """Return adversaries with what they hold and may buy in rounds, and what may be planned on of several."""
        from reidsim.scenarios.agents import are_equipped
        from reidsim.scenarios.opponents import ideas_of_several, types_of_setting

        if not are_equipped(study.scenario):
            return ideas_of_several(study, draw)
        return types_of_setting(self.settings(study)(self.policies_of(study.scenario)[0], draw, 0))

    def cross_play_policies(self, study: Any) -> tuple[str, ...]:
        """Return the policies that play against every adversary: those of the kind, and those of the scenario."""
        return tuple(dict.fromkeys((*self.policies, *self.policies_of(study.scenario))))

    # Columns

    def dropped_columns(self, study: Any) -> DroppedColumns:
        """Return what plays the study without some of its quasi-identifiers.

        Raises
        ------
        InputError
            If the kind shares no table, or no policy can be played so.
        """
        raise InputError(
            "columns are dropped from a table", source=study.loaded.path, where="game", found=self.name,
            expected="tables",
        )  # fmt: skip

    # Released files

    def play_released(self, study: Any, path: Path, key: str | None = None) -> tuple[Equilibrium, tuple[str, ...]]:
        """Return what comes of a released file, by record, and what to know about it.

        Raises
        ------
        InputError
            If the kind shares no table, or the file cannot be read.
        """
        raise InputError(
            "released files are of tables", source=study.loaded.path, where="game", found=self.name, expected="tables"
        )

    # Many points
