"""The defender that follows a policy of data subjects: how it picks strategies, and in which game it is paid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.errors import InputError
from reidsim.games.backward_induction import backward_induction
from reidsim.games.defenders.defender import Game, withholding
from reidsim.games.defenders.fixed import OptIn
from reidsim.games.defenders.same_form import SameForm
from reidsim.games.masking.fixed_policies import fixed_choice
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.searches import anytime, best_first, greedy, masking_backward_induction
from reidsim.games.masking.several_adversaries import best_against_several, without_inference
from reidsim.games.record_game import Choice, Constraint, RecordGame
from reidsim.random_streams import replication_stream
from reidsim.releases.cell_suppression import k_anonymous_cells
from reidsim.releases.masking import MaskingSpace
from reidsim.scenarios.policy import k_of

if TYPE_CHECKING:
    from reidsim.kinds.masking.policies import MaskingPolicy
    from reidsim.kinds.masking.study import MaskingStudy

# Solvers for any adversary; the others are for one two-stage adversary.
GENERAL_SOLVERS = ("best-first", "backward-induction")


@dataclass(frozen=True, eq=False)
class MaskingDefender:
    """Follows a policy of a study in any game on the subjects of a draw; see `Defender`.

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

    @property
    def policy(self) -> MaskingPolicy:
        """The policy."""
        return self.study.policy(self.name)

    def choose(self, game: Game) -> Choice:
        """Return the strategy of each subject.

        Raises
        ------
        InputError
            If the policy cannot be played in this game.
        """
        way = self.policy.way
        if way in ("rule", "k-anonymity"):
            return self._rule()
        game = _as_masking_game(game)
        if way == "opt-in":
            return OptIn().choose(game)
        if way == "same":
            return replace(SameForm(self.name).choose(game), solver="same-strategy")
        played = self.paid_in(game)
        return self._searched(played) if isinstance(played, MaskingGame) else self._against_several(played)

    def paid_in(self, game: Game, choice: Choice | None = None) -> Game:
        """Return the game in which the policy is played and paid: without inference for two policies."""
        return without_inference(game) if self.policy.without_inference else game

    def _rule(self) -> Choice:
        """Return the strategies of a rule, which do not depend on any adversary."""
        section, (game, _) = self.study.scenario.subjects, self.study.games(self.draw)
        if self.policy.way == "k-anonymity":
            values = game.world.targets.matrix(section.attributes)
            k = k_of(self.policy, section.k, "subjects.k")
            strategies = game.space.masking(k_anonymous_cells(values, k, self.study.weights(game.world)))
            return Choice(strategies, self.name, np.zeros(len(strategies), dtype=np.int64), exact=False)
        return fixed_choice(
            game,
            self.name,
            replication_stream(self.study.scenario.seed, "policies", self.draw),
            opt_in_rate=section.opt_in_rate,
            sharing_rate=section.sharing_rate,
            linked={name for each in self.study.each.values() for name in each.scenario.linked_on},
        )

    def _searched(self, game: MaskingGame) -> Choice:
        section, no_attack = self.study.scenario.subjects, self.policy.forbids_attacks
        solver = section.solver if self.policy.search == "scenario" else self.policy.search
        if not game.is_compiled and solver not in GENERAL_SOLVERS:
            raise _refused("this adversary", "subjects.solver", solver)
        if solver == "anytime":
            return anytime(game, most_evaluated=section.most_evaluated, no_attack=no_attack)
        solve = {"best-first": best_first, "backward-induction": masking_backward_induction, "greedy": greedy}[solver]
        return solve(game, no_attack=no_attack)

    def _against_several(self, game: RecordGame) -> Choice:
        if self.policy.search != "scenario":
            raise _refused("several adversaries", "subjects.policies", self.name)
        no_attack = self.policy.forbids_attacks
        if self.study.scenario.subjects.solver == "backward-induction":
            return withholding(game, backward_induction(game, {"": Constraint(no_attack=no_attack)})[""])
        return withholding(game, best_against_several(game, no_attack=no_attack))


def check_policies(study: MaskingStudy, game: MaskingGame) -> None:
    """Refuse policies and solvers that cannot be played, before anything is played.

    Raises
    ------
    InputError
        Naming the file, the key and the policy or solver.
    """
    section, adversary, several = study.scenario.subjects, study.scenario.adversary, len(study.each) > 1
    policies = [study.policy(name) for name in section.policies]
    heuristic = [policy.name for policy in policies if policy.search != "scenario"]
    if several and heuristic:
        raise _refused("several adversaries", "subjects.policies", heuristic[0]).located(study.loaded.path)
    anonymous = [policy for policy in policies if policy.way == "k-anonymity"]
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
        against = f"an attack of the stages {', '.join(stage.stage for stage in adversary.stages)}"
    raise _refused(against, "subjects.solver", section.solver).located(study.loaded.path)


def _refused(against: str, where: str, found: str) -> InputError:
    solvers = f"one of {', '.join(GENERAL_SOLVERS)}"
    expected = solvers if where == "subjects.solver" else "policies that compare all strategies, or none"
    return InputError(f"not against {against}", where=where, found=found, expected=expected)


def _as_masking_game(game: Game) -> Game:
    """Return a game against one adversary in stages as one for the compiled searches, if it is not one already."""
    if isinstance(game, MaskingGame):
        return game
    adversary, linker, space = game.adversary, game.linker, game.space
    if not (isinstance(adversary, MultistageAttack) and isinstance(linker, MultistageLinker)):
        return game
    if not isinstance(space, MaskingSpace):
        return game
    return MaskingGame(space, adversary, linker.world, game.benefit, game.loss)
