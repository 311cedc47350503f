"""Define the kind of scenario in which data subjects mask attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from reidsim.adversaries.knowledge.sets import count_sets
from reidsim.agents.profile import Setting
from reidsim.errors import InputError
from reidsim.games.cross_play import MOST_FORMS
from reidsim.games.masking.partial_knowledge import PartialKnowledgeGame
from reidsim.kinds.masking.cross_play_adversaries import masking_adversaries
from reidsim.kinds.masking.measures import MEASURES
from reidsim.kinds.masking.outcomes import MaskingResults
from reidsim.kinds.masking.policy import POLICIES, cross_play_policies, policy_named
from reidsim.kinds.masking.rounds import setting_of
from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.kinds.masking.sharing import SubjectsSharing
from reidsim.kinds.masking.solving import check_policies
from reidsim.kinds.masking.study import MaskingStudy, build_masking_study
from reidsim.memory import require_memory
from reidsim.releases.focused import FocusedSpace
from reidsim.scenarios.adversary_defaults import spelled_out
from reidsim.scenarios.adversary_schema import WeightedSection
from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.cross_play_adversaries import (
    LEFT_OUT,
    OpponentOptions,
    Opponents,
    ideas_of_several,
    types_of_setting,
)
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.policy import K_ANONYMITY, k_of, with_each_k
from reidsim.scenarios.presentation import Control, Slider
from reidsim.scenarios.report_sentences import Stored, adversaries, beliefs, gain_and_cost, knowledge, section
from reidsim.wording import Code, Inline, Sentence, codes, counted, number_text

# Sections that affect only the games: people and tables do not depend on them.
_NOT_OF_THE_STUDY = ("economics", "beliefs", "publisher", "title", "source")

# Lower bound on the memory of a row of a drawn table, bytes: refuses only tables that certainly do not fit.
_ROW_BYTES = 200
_STAGES = {
    "infer-surname": "infers the surname from genetic markers",
    "infer-by-linkage": "infers an attribute",
    "identify": "names one of the matching people",
}


class MaskingKind(SubjectsSharing, MaskingResults):
    """The game of data subjects who decide which attributes to share; see `Kind`."""

    name = "masking"
    words = "data subjects decide which attributes of their records are shared, generalized or masked"
    schema = MaskingScenario
    measures = MEASURES
    drawn_by = "reidsim.kinds.masking.figures.runs"
    policies = POLICIES
    decides = "subject"
    numbers_draws = True

    def build(self, loaded: Scenario[Any]) -> MaskingStudy:
        """Read the people or files of the tables, and return the study.

        Drawn tables that would not fit into memory are refused first.
        """
        scenario = loaded.scenario
        sizes = (scenario.targets.size, *(resource.size for resource in scenario.resources.values()))
        needed = _ROW_BYTES * sum(size or 0 for size in sizes)
        require_memory(needed, "too large for memory", source=loaded.path, hint="smaller tables need less")
        return build_masking_study(loaded)

    def build_after(self, loaded: Scenario[Any], before: MaskingStudy) -> MaskingStudy:
        """Read people or files; reuse people of a previous study with equal population."""
        return build_masking_study(loaded, before.tables)

    def describe(self, study: MaskingStudy) -> str:
        """Check that the policies can be played; return one line on the game's size.

        The numbers of subjects and rows are those of the first replication.
        """
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

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the content that determines people and tables."""
        content = {key: value for key, value in spelled_out(loaded.content).items() if key not in _NOT_OF_THE_STUDY}
        if "adversaries" in content:
            content["adversaries"] = {
                name: {key: value for key, value in section.items() if key not in WeightedSection.model_fields}
                for name, section in content["adversaries"].items()
            }
        return content

    def require_playable(self, study: MaskingStudy, draw: int) -> None:
        """Refuse policies that cannot be played with the subjects of a draw."""
        check_policies(study, study.games(draw)[0])

    def settings(self, study: MaskingStudy) -> Callable[[str, int, int], Setting]:
        """Return a function that makes the setting of repeated rounds.

        Its arguments are the policy, the number of the draw of the tables, and the number of the repetition of all
        rounds on these tables.
        """
        agents = self.agents_of(study.scenario)

        def setting(policy: str, replication: int, draw: int) -> Setting:
            games = study.games_against_each(replication)
            self.require_playable(study, replication)
            return setting_of(study, agents, games, policy, replication, draw)

        return setting

    def opponents(self, study: MaskingStudy, options: OpponentOptions, draw: int = 0) -> tuple[MaskingStudy, Opponents]:
        """Return the study, and the adversaries of cross-play in a draw of the tables.

        An attack recipe in the options is refused: a masking scenario has its own stages.
        """
        if options.stages is not None:
            problem, expected = "a masking scenario sets its own stages", "adversary.stages of the scenario"
            raise InputError(problem, where="stages", found=options.stages, expected=expected)
        return study, masking_adversaries(study, options, draw)

    def opponent_types(self, study: MaskingStudy, draw: int = 0) -> Opponents:
        """Return the adversary types of rounds, with their resources; see `Kind`.

        Their games enumerate only the levels of attributes that some stage of an attack uses. If there are too many
        strategies (`MOST_FORMS`), the result contains only the reason why the types cannot play.
        """
        if not are_equipped(study.scenario):
            return ideas_of_several(study, draw)
        games = [game for game, _ in study.games_against_each(draw).values()]
        space = games[0].space
        if space.size > MOST_FORMS:
            return Opponents(
                left_out=(
                    f"adversary types cannot play: there are more than {MOST_FORMS:,} possible releases",
                    LEFT_OUT,
                )
            )
        setting = self.settings(study)("masking", draw, 0)
        looked_at = tuple(dict.fromkeys(name for game in games for name in game.attack.looked_at))
        return types_of_setting(setting, FocusedSpace(space, looked_at))

    def cross_play_policies(self, study: MaskingStudy) -> tuple[str, ...]:
        """Return the policies of cross-play: of the kind, then of the scenario.

        k-anonymity is left out, unless the scenario names it, if some attributes are always shared or k exceeds the
        number of subjects.
        """
        section, n = study.scenario.subjects, study.games(0)[0].n_records
        names = with_each_k(cross_play_policies(), section.k)
        anonymous = [name for name in names if name.startswith(K_ANONYMITY)]
        if section.always_shared:
            impossible = anonymous
        else:
            impossible = [name for name in anonymous if k_of(policy_named(name), section.k, "subjects.k") > n]
        return tuple(dict.fromkeys((*(name for name in names if name not in impossible), *section.policies)))

    def takes_best(self, scenario: MaskingScenario, policy: str) -> bool:
        """Return whether a policy finds the best strategy under any payoff parameters."""
        rule = policy_named(policy)
        exact = scenario.subjects.solver in ("best-first", "backward-induction")
        return rule.takes_best or (rule.search == "scenario" and exact)

    def row_of_record(self, study: MaskingStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the row of each subject: every subject has its own."""
        return np.arange(study.games(draw)[0].n_records)

    def asked(self, run: Stored) -> Iterator[Sentence]:
        """Yield sentences on the decision, the adversary and the payoff parameters."""
        content = run.content
        attributes = codes(section(content, "subjects").get("attributes", ()))
        number = f"{run.n_records:,} data subjects decide" if run.n_records else "Data subjects decide"
        yield (f"{number}, each independently, which of these attributes to share: ", *attributes, ".")
        people = run.manifest.get("people")
        recipe = section(content, "population").get("recipe")
        if isinstance(recipe, str):
            yield (f"The subjects are drawn from {number_text(people)} people of the population ", Code(recipe), ".")
        else:
            yield ("The subjects and the adversary's resources are read from files.",)
        held = run.manifest.get("resources")
        if isinstance(held, Mapping) and held:
            parts: list[Inline] = ["The adversary holds "]
            for place, (name, rows) in enumerate(held.items()):
                parts += [", " if place else "", Code(str(name)), f" ({number_text(rows)} rows)"]
            yield (*parts, ".")
        yield from adversaries(run, _attack)
        yield from _prices(run, "subject")

    def controls(self, scenario: MaskingScenario) -> Iterator[Control]:
        """Yield controls for amounts and for the confidence threshold of inferences."""
        yield from super().controls(scenario)
        if scenario.adversary.stages:
            threshold = scenario.adversary.confidence_threshold
            yield Slider("adversary.confidence_threshold", "Confidence threshold", threshold, 1.0, 0.05)

    def attacker(self, scenario: MaskingScenario, name: str) -> tuple[str, str | None]:
        """Return the planner and the knowledge recipe of an adversary; see `Presentation`.

        One-shot adversaries without a knowledge recipe are multistage: they infer before they link.
        """
        planner, knowledge = super().attacker(scenario, name)
        return "multistage" if planner == "one-shot" and knowledge is None else planner, knowledge


def _attack(run: Stored, adversary: Mapping[str, Any]) -> Iterator[Sentence]:
    stages = adversary.get("stages")
    for place, stage in enumerate(stages if isinstance(stages, list) else (), start=1):
        if isinstance(stage, Mapping):
            does = _STAGES.get(str(stage.get("stage")), str(stage.get("stage")))
            yield (f"Stage {place} of the attack: the adversary {does}, with ", Code(str(stage.get("resource"))), ".")
    yield from knowledge(adversary)
    if "weight" in adversary:
        gain, cost = gain_and_cost(run, adversary)
        yield (f"The adversary gains {gain} and pays {cost} for an attack.",)


def _prices(run: Stored, defender: str) -> Iterator[Sentence]:
    economics = section(run.content, "economics")
    gain, cost = gain_and_cost(run, {})
    yield (
        f"Full sharing brings a {defender} {number_text(economics.get('benefit'))}; being re-identified costs "
        f"{number_text(economics.get('loss'))}."
        # With several adversaries, each adversary has its own sentence.
        + ("" if "adversaries" in run.content else f" The adversary gains {gain} and pays {cost} for an attack."),
    )
    yield from beliefs(run, defender)


MASKING = MaskingKind()
