"""Policies of data subjects who mask attributes, and their solvers.

Compiled searches need one adversary with a two-stage attack; the general solvers support all adversaries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.core.errors import InputError
from reidsim.core.palette import BLACK, BLUE, GREEN, GREY, ORANGE, SKY_BLUE, VERMILION
from reidsim.core.randomness import random_stream
from reidsim.games.defenders.defender import Game, OptIn, SameForm, withholding
from reidsim.games.masking.fixed_policies import fixed_choice
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.opponents import without_inference
from reidsim.games.masking.searches import anytime, best_against_several, best_first, greedy, masking_backward_induction
from reidsim.games.record_game import Choice, Constraint
from reidsim.games.solvers import backward_induction
from reidsim.releases.cell_suppression import k_anonymous_cells
from reidsim.releases.masking import MaskingSpace
from reidsim.scenarios.policy import ANONYMITY_PATTERN, K_ANONYMITY, Look, OwnPolicy, Policies, Policy, k_of
from reidsim.scenarios.registry import PartName

# Solvers for any adversary; the other solvers need one adversary with a two-stage attack.
GENERAL_SOLVERS = {"best-first": best_first, "backward-induction": masking_backward_induction}

WHERE = "subjects.policies"
Solver = Literal["scenario", "greedy", "anytime"]


class MaskingPolicy(Policy):
    """A policy of data subjects who mask.

    Attributes
    ----------
    search : {"scenario", "greedy", "anytime"}, optional
        Solver of a policy that compares strategies: the scenario's solver, or a fixed one.
    takes_best : bool
        Whether the policy finds, by an exact solver, the best of a set of strategies that does not depend on payoff
        parameters.
    masks : bool
        Whether the policy decides attribute by attribute, so that a map of its strategies is informative.
    row : int, optional
        Position among the rows of cross-play; None if cross-play omits the policy.
    """

    search: ClassVar[Solver | None] = None
    takes_best: ClassVar[bool] = False
    masks: ClassVar[bool] = False
    row: ClassVar[int | None] = 100

    def paid_in(self, study: Any, game: Game, choice: Choice) -> Game:
        """Return the game that determines the policy's payoffs.

        For policies with `in_another_game`, the adversary makes no inferences.
        """
        return without_inference(game) if self.in_another_game else game


class OwnMaskingPolicy(OwnPolicy, MaskingPolicy):
    """A user-defined policy in a masking scenario."""


# In the order of figures: baselines before games.
POLICIES: Policies[MaskingPolicy] = Policies()


def policy_named(name: str) -> MaskingPolicy:
    """Return a policy by name; a name outside the registry is a user-defined policy."""
    return POLICIES[name] if name in POLICIES else OwnMaskingPolicy(name, WHERE)


class Baseline(MaskingPolicy):
    """Apply a fixed rule of Wan et al. 2021, which ignores payoffs.

    Base class; the subclass's name selects the rule in `fixed_choice`.
    """

    is_rule = True

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the prescribed strategies."""
        section, rng = study.scenario.subjects, random_stream(study.scenario.seed, "policies", draw)
        linked = {name for each in study.scenario.each.values() for name in each.linked_on}
        rates = {"opt_in_rate": section.opt_in_rate, "sharing_rate": section.sharing_rate}
        return fixed_choice(study.games(draw)[0], self.name, rng, linked=linked, **rates)


@POLICIES.register("no-protection")
class NoProtection(Baseline):
    """Share every attribute."""

    label, description, row = "No protection", "all attributes are shared", 6


@POLICIES.register("demographics-only")
class DemographicsOnly(Baseline):
    """Share only the attributes on which the last stage of an attack links.

    With several adversaries, these are the attributes of all their attacks.
    """

    label, description = "Demographics only", "only the attributes by which the adversary looks people up are shared"
    in_another_game, look, row = True, Look(GREY, "D"), 7


@POLICIES.register("random-opt-in")
class RandomOptIn(Baseline):
    """Share everything with probability ``opt_in_rate``; else withhold the record."""

    label, description = "Random opt-in", "all attributes or none are shared, at random"
    look, row = Look(ORANGE, "<"), 8


@POLICIES.register("random-masking")
class RandomMasking(Baseline):
    """Share each attribute independently with probability ``sharing_rate``."""

    label, description = "Random masking", "each attribute is shared or masked at random"
    masks, look, row = True, Look(BLACK, "P"), 9


@POLICIES.register(K_ANONYMITY)
class KAnonymous(MaskingPolicy):
    """Suppress cells until the table is k-anonymous."""

    label, is_rule, masks, look, row = "k-anonymity", True, True, Look(GREY, "h"), 10
    description = (
        "values are masked, at small cost in utility, until each record is in a group of at least "
        "k records with the same shared values"
    )

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the masking of the k-anonymous table."""
        section, (own, _) = study.scenario.subjects, study.games(draw)
        values, k = own.world.targets.matrix(section.attributes), k_of(self, section.k, "subjects.k")
        strategies = own.space.masking(k_anonymous_cells(values, k, study.weights(own.world)))
        return Choice(strategies, self.name, np.zeros(len(strategies), dtype=np.int64), exact=False)


@POLICIES.register("opt-in")
class OptInGame(MaskingPolicy):
    """Share everything, or withhold the record, whichever has the larger payoff.

    With equal payoffs, the record is withheld.
    """

    label = "Opt-in game"
    description = "all attributes are shared if the subject's payoff is positive, otherwise none"
    takes_best, look, row = True, Look(GREEN, "o"), 5

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the better of the two strategies."""
        return OptIn().choose(_compiled(game))


class SearchPolicy(MaskingPolicy):
    """Choose the strategy with the largest payoff of each subject, by a solver."""

    search: ClassVar[Solver | None] = "scenario"

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the best strategies that the solver finds.

        Raises
        ------
        InputError
            If the solver does not support the adversary, or several adversaries.
        """
        section, no_attack, by_scenario = study.scenario.subjects, self.forbids_attacks, self.search == "scenario"
        played, solver = _compiled(game), section.solver if by_scenario else str(self.search)
        if self.in_another_game:
            played = without_inference(played)
        if not isinstance(played, MaskingGame):
            if not by_scenario:
                raise _refused("several adversaries", WHERE, self.name)
            if solver == "backward-induction":
                return withholding(played, backward_induction(played, Constraint(no_attack=no_attack)))
            return withholding(played, best_against_several(played, no_attack=no_attack))
        if solver in GENERAL_SOLVERS:
            return GENERAL_SOLVERS[solver](played, no_attack=no_attack)
        if not played.is_compiled:
            raise _refused("this adversary", "subjects.solver", solver)
        if solver == "greedy":
            return greedy(played, no_attack=no_attack)
        return anytime(played, most_evaluated=section.most_evaluated, no_attack=no_attack)


@POLICIES.register("masking")
class Masking(SearchPolicy):
    """The masking game of Wan et al. 2021."""

    label, masks, look, row = "Masking game", True, Look(BLUE, "^"), 0
    description = (
        "set of shared attributes with the highest payoff for the subject, whether or not the record is attacked"
    )


@POLICIES.register("no-attack-masking")
class NoAttackMasking(SearchPolicy):
    """Choose each subject's best strategy among those under which no attack pays."""

    label, masks, forbids_attacks, look, row = "No-attack masking game", True, True, Look(SKY_BLUE, ">"), 1
    description = "set of shared attributes with the highest payoff among the sets without an attack"


@POLICIES.register("one-stage-masking")
class OneStageMasking(SearchPolicy):
    """The masking game against an adversary without inference."""

    label, masks, in_another_game, look, row = "One-stage masking game", True, True, Look(VERMILION, "X"), None
    description = "masking game against an adversary who makes no inferences"


@POLICIES.register("same-strategy")
class SameStrategy(MaskingPolicy):
    """The strategy, equal for all subjects, with the largest total payoff."""

    label, masks, takes_best, look, row = "Same strategy for all", True, True, Look(BLACK, "*"), 4
    description = "set of shared attributes, equal for all subjects, with the highest total payoff"

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the best common strategy."""
        return replace(SameForm(self.name).choose(_compiled(game)), solver="same-strategy")


@POLICIES.register("greedy-masking")
class GreedyMasking(SearchPolicy):
    """The masking game, solved by greedy search."""

    label, description, row = "Greedy masking", "masking game, solved by greedy search; not exact", 2
    by_agents, search = False, "greedy"


@POLICIES.register("anytime-masking")
class AnytimeMasking(SearchPolicy):
    """The masking game, with at most ``most_evaluated`` strategies per subject."""

    label, row, by_agents, search = "Anytime masking", 3, False, "anytime"
    description = "masking game, solved with a limited number of evaluated strategies; not exact"


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]


def _compiled(game: Game) -> Game:
    """Convert a record game against one multistage adversary to a masking game.

    Other games are returned unchanged.
    """
    if isinstance(game, MaskingGame) or not isinstance(game.space, MaskingSpace) or game.space.focus:
        return game
    if not (isinstance(game.adversary, MultistageAttack) and isinstance(game.linker, MultistageLinker)):
        return game
    return MaskingGame(game.space, game.adversary, game.linker.world, game.benefit, game.loss)


def check_policies(study: Any, game: MaskingGame) -> None:
    """Refuse unsupported policies and solvers before any game is solved.

    Raises
    ------
    InputError
        If a policy or solver is not supported; the message names the file, the key and the policy or solver.
    """
    section, adversary, several = study.scenario.subjects, study.scenario.adversary, len(study.each) > 1
    policies, source = [policy_named(name) for name in section.policies], study.loaded.path
    heuristic = [policy.name for policy in policies if policy.search not in (None, "scenario")]
    if several and heuristic:
        raise _refused("several adversaries", WHERE, heuristic[0]).located(source)
    anonymous = [policy for policy in policies if policy.name.startswith(K_ANONYMITY)]
    most = max((k_of(policy, section.k, "subjects.k") for policy in anonymous), default=0)
    if most > game.n_records:
        expected = f"at most {game.n_records}, the number of subjects"
        problem = "too few records for k-anonymity"
        raise InputError(problem, source=source, where="subjects.k", found=most, expected=expected)
    if section.solver in GENERAL_SOLVERS or (not several and game.is_compiled):
        return
    stages = ", ".join(stage.stage for stage in adversary.stages)
    against = {
        "several adversaries": several,
        f"rationality {adversary.rationality!r}": adversary.errs,
        f"planner {adversary.planner!r}": adversary.planner != "one-shot",
        "partial knowledge": adversary.knowledge is not None,
        f"an attack with the stages {stages}": True,
    }
    unsupported = next(name for name, holds in against.items() if holds)
    raise _refused(unsupported, "subjects.solver", section.solver).located(source)


def _refused(against: str, where: str, found: str) -> InputError:
    expected = "policies without a search, or with a search of all strategies"
    if where == "subjects.solver":
        expected = f"one of {', '.join(GENERAL_SOLVERS)}"
    return InputError(f"not supported against {against}", where=where, found=found, expected=expected)
