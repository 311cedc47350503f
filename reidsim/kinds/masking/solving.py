"""How each policy of data subjects picks strategies in a game, and in which game it is paid.

One adversary who attacks in two stages is played by compiled searches, any others by searches of the same optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.errors import InputError
from reidsim.games.backward_induction import backward_induction
from reidsim.games.defenders.defender import Game, withholding
from reidsim.games.defenders.fixed import OptIn
from reidsim.games.defenders.same_form import SameForm
from reidsim.games.masking.always_shared import PartialMaskingGame, PartialMaskingSpace
from reidsim.games.masking.anytime import anytime
from reidsim.games.masking.backward_induction import masking_backward_induction
from reidsim.games.masking.best_first import best_first
from reidsim.games.masking.fixed_policies import fixed_choice
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.greedy import greedy
from reidsim.games.masking.partial_knowledge import exhaustive
from reidsim.games.masking.several_adversaries import best_against_several
from reidsim.games.masking.whoever_comes import without_inference
from reidsim.games.record_game import Choice, Constraint, RecordGame
from reidsim.random_streams import replication_stream
from reidsim.releases.cell_suppression import k_anonymous_cells
from reidsim.releases.masking import MaskingSpace
from reidsim.scenarios.policy import k_of

if TYPE_CHECKING:
    from reidsim.kinds.masking.study import MaskingStudy

# Solvers of games without compiled searches.
GENERAL_SOLVERS = ("best-first", "backward-induction")


@dataclass(frozen=True, eq=False)
class MaskingDefender:
    """Follows a policy of a study in any game on the subjects of a draw.

    Parameters
    ----------
    name : str
    plans : bool
    study : MaskingStudy
    draw : int
    """

    name: str
    plans: bool
    study: MaskingStudy
    draw: int

    def choose(self, game: Game) -> Choice:
        """Return the strategy of each subject; see `Defender`."""
        return choose(self.study, self.name, game, self.draw)

    def paid_in(self, game: Game, choice: Choice) -> Game:
        """Return the game in which a choice is paid; see `reidsim.games.defenders.defender.paid_in`."""
        return game_of(self.study, self.name, game)


def choose(study: MaskingStudy, policy: str, game: Game, draw: int) -> Choice:
    """Pick the strategy of each subject in the game that subjects believe in.

    Parameters
    ----------
    study : MaskingStudy
    policy : str
    game : MaskingGame or RecordGame
        Against the adversaries as subjects believe them to be; on the subjects of the draw.
    draw : int

    Raises
    ------
    InputError
        If the policy cannot be played in this game.
    """
    way = study.policy(policy).way
    if way in ("rule", "k-anonymity"):
        return _rule(study, policy, draw)
    if isinstance(game, RecordGame):
        alone = _as_masking_game(game)
        game = game if alone is None else alone
    if way == "opt-in":
        return OptIn().choose(game)
    if way == "same":
        return replace(SameForm(policy).choose(game), solver="same-strategy")
    played = game_of(study, policy, game)
    if isinstance(played, MaskingGame):
        return _searched(study, policy, played)
    return _against_several(study, policy, played)


def masking_game(space: MaskingSpace, *parts: Any, **more: Any) -> MaskingGame:
    """Return the game on a space, which compiled searches tell apart by what cannot be masked; see `MaskingGame`."""
    if isinstance(space, PartialMaskingSpace):
        return PartialMaskingGame(space, *parts, **more)
    return MaskingGame(space, *parts, **more)


def game_of(study: MaskingStudy, policy: str, game: Game) -> Game:
    """Return the game in which a policy is played and paid: without inference for two of them."""
    return without_inference(game) if study.policy(policy).without_inference else game


def _searched(study: MaskingStudy, policy: str, game: MaskingGame) -> Choice:
    section, rule = study.scenario.subjects, study.policy(policy)
    solver = section.solver if rule.search == "scenario" else rule.search
    no_attack = rule.forbids_attacks
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


def _rule(study: MaskingStudy, policy: str, draw: int) -> Choice:
    """Return what a rule prescribes, which does not depend on any adversary."""
    section, (game, _) = study.scenario.subjects, study.games(draw)
    if study.policy(policy).way == "k-anonymity":
        values = game.world.targets.matrix(section.attributes)
        k = k_of(study.policy(policy), section.k, "subjects.k")
        strategies = game.space.masking(k_anonymous_cells(values, k, study.weights(game.world)))
        return Choice(strategies, policy, np.zeros(len(strategies), dtype=np.int64), exact=False)
    rng = replication_stream(study.scenario.seed, "policies", draw)
    linked = {name for each in study.each.values() for name in each.scenario.linked_on}
    return fixed_choice(
        game, policy, rng, opt_in_rate=section.opt_in_rate, sharing_rate=section.sharing_rate, linked=linked
    )


def _as_masking_game(game: RecordGame) -> MaskingGame | None:
    """Return a record game against one adversary who attacks in stages as one of the compiled searches."""
    adversary, linker, space = game.adversary, game.linker, game.space
    if not (isinstance(adversary, MultistageAttack) and isinstance(linker, MultistageLinker)):
        return None
    if not isinstance(space, MaskingSpace):
        return None
    return masking_game(space, adversary, linker.world, game.benefit, game.loss)


def _against_several(study: MaskingStudy, policy: str, game: RecordGame) -> Choice:
    rule = study.policy(policy)
    if rule.way == "search" and rule.search == "scenario":
        if study.scenario.subjects.solver == "backward-induction":
            constraint = Constraint(no_attack=rule.forbids_attacks)
            return withholding(game, backward_induction(game, {"": constraint})[""])
        return withholding(game, best_against_several(game, no_attack=rule.forbids_attacks))
    raise _not_against_several(policy)


def _not_against_several(policy: str) -> InputError:
    return InputError(
        "not against several adversaries", where="subjects.policies", found=policy,
        expected="policies that compare all strategies, or none",
    )  # fmt: skip


def check_policies(study: MaskingStudy, game: MaskingGame) -> None:
    """Refuse what a policy cannot do before anything is played."""
    section, adversary = study.scenario.subjects, study.scenario.adversary
    if len(study.each) > 1:
        heuristic = [name for name in section.policies if study.policy(name).search != "scenario"]
        if heuristic:
            raise _not_against_several(heuristic[0]).located(study.loaded.path)
    anonymous = [study.policy(name) for name in section.policies if study.policy(name).way == "k-anonymity"]
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
