"""Solve masking games: by compiled searches against one two-stage adversary, otherwise by general searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.errors import InputError
from reidsim.games.backward_induction import backward_induction
from reidsim.games.defenders.defender import Game, withholding
from reidsim.games.masking.always_shared import PartialMaskingGame, PartialMaskingSpace
from reidsim.games.masking.anytime import anytime
from reidsim.games.masking.backward_induction import masking_backward_induction
from reidsim.games.masking.best_first import best_first
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.greedy import greedy
from reidsim.games.masking.partial_knowledge import exhaustive
from reidsim.games.masking.several_adversaries import best_against_several
from reidsim.games.record_game import Choice, Constraint, RecordGame
from reidsim.kinds.masking.policy import MaskingPolicy
from reidsim.releases.masking import MaskingSpace
from reidsim.scenarios.policy import K_ANONYMITY, k_of

if TYPE_CHECKING:
    from reidsim.kinds.masking.study import MaskingStudy

# Solvers of games without compiled searches.
GENERAL_SOLVERS = ("best-first", "backward-induction")


def masking_game(space: MaskingSpace, *parts: Any, **more: Any) -> MaskingGame:
    """Return the game on a space, which compiled searches tell apart by what cannot be masked; see `MaskingGame`."""
    if isinstance(space, PartialMaskingSpace):
        return PartialMaskingGame(space, *parts, **more)
    return MaskingGame(space, *parts, **more)


def searched(study: MaskingStudy, rule: MaskingPolicy, game: MaskingGame) -> Choice:
    """Return the best strategies against one adversary, by the solver of a policy or of the scenario.

    Raises
    ------
    InputError
        If the solver cannot play against this adversary.
    """
    section, no_attack = study.scenario.subjects, rule.forbids_attacks
    solver = section.solver if rule.search == "scenario" else rule.search
    if not game.is_compiled and solver not in GENERAL_SOLVERS:
        raise InputError(
            "not against this adversary", where="subjects.solver", found=solver,
            expected=f"one of {', '.join(GENERAL_SOLVERS)}",
        )  # fmt: skip
    if solver == "best-first":
        return best_first(game, no_attack=no_attack)
    if solver == "backward-induction":
        general = not game.is_compiled
        return (exhaustive if general else masking_backward_induction)(game, no_attack=no_attack)
    if solver == "greedy":
        return greedy(game, no_attack=no_attack)
    return anytime(game, most_evaluated=section.most_evaluated, no_attack=no_attack)


def compiled(game: Game) -> Game:
    """Return a record game against one adversary who attacks in stages as a masking game; others as they are."""
    if not isinstance(game, RecordGame):
        return game
    adversary, linker, space = game.adversary, game.linker, game.space
    if not (isinstance(adversary, MultistageAttack) and isinstance(linker, MultistageLinker)):
        return game
    if not isinstance(space, MaskingSpace):
        return game
    return masking_game(space, adversary, linker.world, game.benefit, game.loss)


def against_several(study: MaskingStudy, rule: MaskingPolicy, game: RecordGame) -> Choice:
    """Return the best strategies against several adversaries.

    Raises
    ------
    InputError
        If the policy's own solver cannot play against several.
    """
    if rule.search != "scenario":
        raise _not_against_several(rule.name)
    if study.scenario.subjects.solver == "backward-induction":
        constraint = Constraint(no_attack=rule.forbids_attacks)
        return withholding(game, backward_induction(game, {"": constraint})[""])
    return withholding(game, best_against_several(game, no_attack=rule.forbids_attacks))


def _not_against_several(policy: str) -> InputError:
    return InputError(
        "not against several adversaries", where="subjects.policies", found=policy,
        expected="policies that compare all strategies, or none",
    )  # fmt: skip


def check_policies(study: MaskingStudy, game: MaskingGame) -> None:
    """Refuse what a policy cannot do before anything is played."""
    section, adversary = study.scenario.subjects, study.scenario.adversary
    if len(study.each) > 1:
        heuristic = [name for name in section.policies if study.policy(name).search not in (None, "scenario")]
        if heuristic:
            raise _not_against_several(heuristic[0]).located(study.loaded.path)
    anonymous = [study.policy(name) for name in section.policies if name.startswith(K_ANONYMITY)]
    most = max((k_of(policy, section.k, "subjects.k") for policy in anonymous), default=0)
    if most > game.n_records:
        raise InputError(
            "too few records for k-anonymity", source=study.loaded.path, where="subjects.k", found=most,
            expected=f"at most {game.n_records}, the number of subjects",
        )  # fmt: skip
    if section.solver in GENERAL_SOLVERS or (len(study.each) == 1 and game.is_compiled):
        return
    if len(study.each) > 1:
        raise InputError(
            "not against several adversaries", source=study.loaded.path, where="subjects.solver", found=section.solver,
            expected=f"one of {', '.join(GENERAL_SOLVERS)}",
        )  # fmt: skip
    stages = ", ".join(stage.stage for stage in adversary.stages)
    attacked = "partial knowledge" if adversary.knowledge is not None else f"an attack of the stages {stages}"
    against = attacked if adversary.planner == "one-shot" else f"planner {adversary.planner!r}"
    against = f"rationality {adversary.rationality!r}" if adversary.errs else against
    raise InputError(
        f"not against {against}", source=study.loaded.path, where="subjects.solver", found=section.solver,
        expected=f"one of {', '.join(GENERAL_SOLVERS)}",
    )  # fmt: skip
