"""Solve masking games with compiled searches where possible, else general ones.

Compiled searches need one adversary with a two-stage attack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.errors import InputError
from reidsim.games.backward_induction import backward_induction
from reidsim.games.defenders.defender import Game, withholding
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.searches import anytime, best_first, greedy, masking_backward_induction
from reidsim.games.masking.several_adversaries import best_against_several
from reidsim.games.record_game import Choice, Constraint, RecordGame
from reidsim.kinds.masking.policy import MaskingPolicy
from reidsim.releases.masking import MaskingSpace
from reidsim.scenarios.policy import K_ANONYMITY, k_of

if TYPE_CHECKING:
    from reidsim.kinds.masking.study import MaskingStudy

# Solvers for any adversary; the other solvers need one adversary with a two-stage attack.
GENERAL_SOLVERS = ("best-first", "backward-induction")


def searched(study: MaskingStudy, rule: MaskingPolicy, game: MaskingGame) -> Choice:
    """Return the best strategies against one adversary.

    The solver is the policy's own solver or the scenario's.

    Raises
    ------
    InputError
        If the solver does not support this adversary.
    """
    section, no_attack = study.scenario.subjects, rule.forbids_attacks
    solver = section.solver if rule.search == "scenario" else rule.search
    if not game.is_compiled and solver not in GENERAL_SOLVERS:
        raise _refused("this adversary", "subjects.solver", str(solver))
    if solver == "anytime":
        return anytime(game, most_evaluated=section.most_evaluated, no_attack=no_attack)
    solve = {"best-first": best_first, "backward-induction": masking_backward_induction, "greedy": greedy}[str(solver)]
    return solve(game, no_attack=no_attack)


def compiled(game: Game) -> Game:
    """Convert a record game against one multistage adversary to a masking game.

    Other games are returned unchanged.
    """
    if isinstance(game, MaskingGame):
        return game
    adversary, linker, space = game.adversary, game.linker, game.space
    if not (isinstance(adversary, MultistageAttack) and isinstance(linker, MultistageLinker)):
        return game
    if not isinstance(space, MaskingSpace):
        return game
    return MaskingGame(space, adversary, linker.world, game.benefit, game.loss)


def against_several(study: MaskingStudy, rule: MaskingPolicy, game: RecordGame) -> Choice:
    """Return the best strategies against several adversaries.

    Raises
    ------
    InputError
        If the policy's own solver does not support several adversaries.
    """
    if rule.search != "scenario":
        raise _refused("several adversaries", "subjects.policies", rule.name)
    if study.scenario.subjects.solver == "backward-induction":
        constraint = Constraint(no_attack=rule.forbids_attacks)
        return withholding(game, backward_induction(game, {"": constraint})[""])
    return withholding(game, best_against_several(game, no_attack=rule.forbids_attacks))


def check_policies(study: MaskingStudy, game: MaskingGame) -> None:
    """Refuse unsupported policies and solvers before any game is solved.

    Raises
    ------
    InputError
        If a policy or solver is not supported; the message names the file, the key and the policy or solver.
    """
    section, adversary, several = study.scenario.subjects, study.scenario.adversary, len(study.each) > 1
    policies = [study.policy(name) for name in section.policies]
    heuristic = [policy.name for policy in policies if policy.search not in (None, "scenario")]
    if several and heuristic:
        raise _refused("several adversaries", "subjects.policies", heuristic[0]).located(study.loaded.path)
    anonymous = [policy for policy in policies if policy.name.startswith(K_ANONYMITY)]
    most = max((k_of(policy, section.k, "subjects.k") for policy in anonymous), default=0)
    if most > game.n_records:
        raise InputError(
            "too few records for k-anonymity",
            source=study.loaded.path,
            where="subjects.k",
            found=most,
            expected=f"at most {game.n_records}, the number of subjects",
        )
    if section.solver in GENERAL_SOLVERS or (not several and game.is_compiled):
        return
    if several:
        against = "several adversaries"
    elif adversary.errs:
        against = f"rationality {adversary.rationality!r}"
    elif adversary.planner != "one-shot":
        against = f"planner {adversary.planner!r}"
    elif adversary.knowledge is not None:
        against = "partial knowledge"
    else:
        against = f"an attack with the stages {', '.join(stage.stage for stage in adversary.stages)}"
    raise _refused(against, "subjects.solver", section.solver).located(study.loaded.path)


def _refused(against: str, where: str, found: str) -> InputError:
    solvers = f"one of {', '.join(GENERAL_SOLVERS)}"
    expected = (
        solvers if where == "subjects.solver" else "policies without a search, or with a search of all strategies"
    )
    return InputError(f"not supported against {against}", where=where, found=found, expected=expected)
