"""The kind of scenario in which data subjects decide what of their record they mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.sets import count_sets
from reidsim.agents.profile import Setting
from reidsim.errors import InputError
from reidsim.games.cross_play import MOST_FORMS
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.masking.partial_knowledge import PartialKnowledgeGame
from reidsim.kinds.masking.asked import sentences
from reidsim.kinds.masking.measures import MEASURES
from reidsim.kinds.masking.memory import needed_memory
from reidsim.kinds.masking.opponents import opponents_of_subjects
from reidsim.kinds.masking.outcomes import (
    MaskingAnalysis,
    facts_of,
    game_warnings,
    record_table,
    search_path,
    summarise,
)
from reidsim.kinds.masking.policies import OF_SUBJECTS, POLICIES, MaskingPolicy, policy_named
from reidsim.kinds.masking.portions import portions
from reidsim.kinds.masking.rounds import setting_of
from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.kinds.masking.sharing import NOT_SHARED, released_values, shared_columns
from reidsim.kinds.masking.solving import check_policies
from reidsim.kinds.masking.study import MaskingStudy, build_masking_study
from reidsim.releases.focused import FocusedSpace
from reidsim.scenarios.adversary_defaults import spelled_out
from reidsim.scenarios.adversary_schema import WeightedSection
from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.asked import Stored
from reidsim.scenarios.faces import Control, Slider
from reidsim.scenarios.kind import Kind, Use
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.opponent_types import LEFT_OUT, ideas_of_several, types_of_setting
from reidsim.scenarios.opponents import Opponents
from reidsim.scenarios.policy import k_of, with_each_k
from reidsim.scenarios.portions import Portions
from reidsim.scenarios.record_sharing import SharedColumns
from reidsim.scenarios.study import AnalysisTables, PolicyOutcome, Progress, equilibria_of
from reidsim.tables import read_table
from reidsim.validation import read_toml
from reidsim.wording import Sentence, counted

# Sections that only games are made from: what tables are drawn from is the same whatever they say.
_NOT_OF_THE_STUDY = ("economics", "beliefs", "publisher", "title", "source")


class MaskingKind(Kind):
    """Data subjects decide which attributes of their record are shared; see `Kind`."""

    name = "masking"
    words = "data subjects decide which attributes of their record are shared, generalized or masked"
    schema = MaskingScenario
    measures = MEASURES
    captions = read_toml(Path(__file__).with_name("captions.toml"))
    drawn_by = "reidsim.kinds.masking.figures.runs"
    policies = POLICIES
    decides = "subject"
    numbers_draws = True

    def policy(self, name: str) -> MaskingPolicy:
        """Return a policy by its name."""
        return policy_named(name)

    def release_file(self, scenario: MaskingScenario) -> str | None:
        """Return the file of the targets."""
        return scenario.targets.file

    def shared_columns(self, scenario: MaskingScenario) -> SharedColumns:
        """Say which columns of the targets' file are quasi-identifiers."""
        return shared_columns(scenario)

    def read_records(self, scenario: MaskingScenario, path: Path) -> pd.DataFrame:
        """Read the targets' file."""
        return read_table(path, delimiter=scenario.targets.delimiter, comment="#", trim=False)

    def released_values(self, scenario: MaskingScenario, records: pd.DataFrame, attribute: str) -> pd.Series[str]:
        """Return an attribute as it is shared, in its group, or masked."""
        return released_values(scenario, records, attribute)

    def is_shared(self, records: pd.DataFrame) -> NDArray[np.bool_]:
        """Tell who shares anything."""
        return ~records["strategy"].astype("str").isin(NOT_SHARED).to_numpy()

    def build(self, loaded: LoadedScenario[Any]) -> MaskingStudy:
        """Read what tables are drawn from."""
        return build_masking_study(loaded)

    def build_after(self, loaded: LoadedScenario[Any], before: MaskingStudy) -> MaskingStudy:
        """Read what tables are drawn from, but for people who were made already."""
        return build_masking_study(loaded, before.tables)

    def describe(self, study: MaskingStudy) -> str:
        """Say how large the game of the first replication is."""
        game, _ = study.games(0)
        check_policies(study, game)
        resources = ", ".join(f"{name} of {table.n_rows:,}" for name, table in game.world.resources.items())
        known = ""
        for name, (each, _) in study.games_against_each(0).items():
            if isinstance(each, PartialKnowledgeGame):
                linked = ", ".join(each.knowledge.attributes)
                sets = counted(count_sets(each.knowledge), "knowledge set")
                known += f", up to {sets} per subject, linked on {linked}" + (f" by {name}" if name else "")
        return (
            f"{counted(game.n_records, 'subject')}, {counted(game.space.size, 'strategy', 'strategies')}, {resources}, "
            f"{counted(study.draws, 'replication')}{known}"
        )

    def needed_memory(self, study: MaskingStudy, use: Use = "run") -> int:
        """Return the bytes of subjects, of those that they are drawn from, and of resources."""
        return needed_memory(study)

    def portions(self, study: MaskingStudy) -> Portions:
        """Return the study of fewer data subjects."""
        return portions(study)

    def data_content(self, loaded: LoadedScenario[Any]) -> dict[str, Any]:
        """Return what tables are drawn from."""
        content = {key: value for key, value in spelled_out(loaded.content).items() if key not in _NOT_OF_THE_STUDY}
        if "adversaries" in content:
            content["adversaries"] = {
                name: {key: value for key, value in section.items() if key not in WeightedSection.model_fields}
                for name, section in content["adversaries"].items()
            }
        return content

    def play(
        self,
        study: MaskingStudy,
        draw: int = 0,
        policies: Sequence[str] | None = None,
        *,
        timed: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Mapping[str, PolicyOutcome]:
        """Play policies, having checked that they can be."""
        check_policies(study, study.games(draw)[0])
        return super().play(study, draw, policies, timed=timed, progress=progress)

    def summarise(self, study: MaskingStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return usefulness and fairness, too."""
        return summarise(study, study.games(draw)[0], equilibria)

    def records(self, study: MaskingStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return subjects with their attributes as released."""
        return record_table(study, study.games(draw)[0], equilibria)

    def analyse(self, study: MaskingStudy, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Return the greedy search of a record, if the scenario names one."""
        equilibria = equilibria_of(outcomes)
        return MaskingAnalysis(search_path=search_path(study, *study.games(0), equilibria))

    def facts(self, study: MaskingStudy) -> dict[str, Any]:
        """Return facts about subjects, resources and knowledge."""
        return facts_of(study)

    def warnings(self, study: MaskingStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield what to know about targets and about strategies that are not proved optimal."""
        equilibria = equilibria_of(outcomes)
        return game_warnings([game for game, _ in study.games_against_each(draw).values()], equilibria)

    def settings(self, study: MaskingStudy) -> Callable[[str, int, int], Setting]:
        """Return the world of each policy in each draw of the tables."""
        agents = self.agents_of(study.scenario)

        def setting(policy: str, replication: int, draw: int) -> Setting:
            games = study.games_against_each(replication)
            check_policies(study, study.games(replication)[0])
            return setting_of(study, agents, games, policy, replication, draw)

        return setting

    def opponents(
        self,
        study: MaskingStudy,
        *,
        knowledge: str | None = None,
        stages: str | None = None,
        rate: float = 0.5,
        draw: int = 0,
    ) -> tuple[MaskingStudy, Opponents]:
        """Return the adversaries in a draw of the tables."""
        if stages is not None:
            expected = "adversary.stages of the scenario"
            raise InputError(
                "a masking scenario has stages of its own", where="stages", found=stages, expected=expected
            )
        return study, opponents_of_subjects(study, knowledge=knowledge, rate=rate, draw=draw)

    def opponent_types(self, study: MaskingStudy, draw: int = 0) -> Opponents:
        """Return those who are equipped, on the attributes that any attack looks at."""
        if not are_equipped(study.scenario):
            return ideas_of_several(study, draw)
        games = [game for game, _ in study.games_against_each(draw).values()]
        space = games[0].space
        if space.size > MOST_FORMS:
            return Opponents(left_out=(f"types cannot play: there are more than {MOST_FORMS:,} forms", LEFT_OUT))
        setting = self.settings(study)("masking", draw, 0)
        looked_at = tuple(dict.fromkeys(name for game in games for name in game.attack.looked_at))
        return types_of_setting(setting, FocusedSpace(space, looked_at))

    def cross_play_policies(self, study: MaskingStudy) -> tuple[str, ...]:
        """Return the policies in the order of rows, and those of the scenario."""
        section, n = study.scenario.subjects, study.games(0)[0].n_records
        names = with_each_k(OF_SUBJECTS, section.k)
        anonymous = [name for name in names if self.policy(name).way == "k-anonymity"]
        if section.always_shared:
            impossible = anonymous
        else:
            impossible = [name for name in anonymous if k_of(self.policy(name), section.k, "subjects.k") > n]
        return tuple(dict.fromkeys((*(name for name in names if name not in impossible), *section.policies)))

    def takes_best(self, scenario: MaskingScenario, policy: str) -> bool:
        """Tell whether a policy finds the best of strategies that any amounts allow."""
        rule = self.policy(policy)
        if rule.way == "search":
            return rule.search == "scenario" and scenario.subjects.solver in ("best-first", "backward-induction")
        return rule.way in ("opt-in", "same")

    def row_of_record(self, study: MaskingStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return every subject's own row."""
        return np.arange(study.games(draw)[0].n_records)

    def asked(self, run: Stored) -> Iterator[Sentence]:
        """Yield what a run was asked."""
        return sentences(run)

    def controls(self, scenario: MaskingScenario) -> Iterator[Control]:
        """Yield amounts, and the confidence in what is inferred from which on it is used."""
        yield from super().controls(scenario)
        if scenario.adversary.stages:
            threshold = scenario.adversary.confidence_threshold
            yield Slider("adversary.confidence_threshold", "Confidence threshold", threshold, 1.0, 0.05)

    def attacker(self, scenario: MaskingScenario, name: str) -> tuple[str, str | None]:
        """Return that one-shot adversaries attack in stages: they infer before they link."""
        planner, knowledge = super().attacker(scenario, name)
        return "multistage" if planner == "one-shot" and knowledge is None else planner, knowledge


MASKING = MaskingKind()
