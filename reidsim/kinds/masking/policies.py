"""Policies of a masking scenario.

Compiled searches need one adversary with a two-stage attack; the general solvers support all adversaries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from reidsim.adversaries.linkers import MultistageLinker
from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.core.errors import InputError
from reidsim.core.numerics import random_stream
from reidsim.core.wording import BLACK, BLUE, GREEN, GREY, ORANGE, SKY_BLUE, VERMILION
from reidsim.games.cross_play import Game, OptIn, SameForm, withholding
from reidsim.games.masking import searches
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.opponents import without_inference
from reidsim.games.record_game import Choice, Constraint
from reidsim.games.solvers import backward_induction
from reidsim.releases.lattice import MaskingSpace
from reidsim.releases.records import k_anonymous_cells
from reidsim.scenarios import registry

# Solvers for any adversary; the other solvers need one adversary with a two-stage attack.
GENERAL_SOLVERS = {"best-first": searches.best_first, "backward-induction": searches.masking_backward_induction}

WHERE = "subjects.policies"
Solver = Literal["scenario", "greedy", "anytime"]


class MaskingPolicy(registry.Policy):
    """Base class of policies of data subjects who mask attributes of their records.

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
        """Return the game that determines the policy's payoffs; by default `game`.

        For policies with `in_another_game`, it is the game in which the adversary makes no inferences. `choice` has no
        effect.
        """
        return without_inference(game) if self.in_another_game else game


class OwnMaskingPolicy(registry.OwnPolicy, MaskingPolicy):
    """User-defined policy in a masking scenario; see `OwnPolicy`."""


# In the order of figures: baselines before games.
POLICIES: registry.Policies[MaskingPolicy] = registry.Policies()


def policy_named(name: str) -> MaskingPolicy:
    """Return the `MaskingPolicy` with a name.

    A name outside the registry belongs to a user-defined policy, an `OwnMaskingPolicy`.
    """
    return POLICIES[name] if name in POLICIES else OwnMaskingPolicy(name, WHERE)


class Baseline(MaskingPolicy):
    """Base class of policies with a fixed rule of Wan et al. 2021.

    The rule ignores payoffs; the subclass's name selects it in `fixed_choice`.
    """

    is_rule = True

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of the prescribed strategies, one per subject.

        They depend on the policy's name, the scenario's rates and, for random policies, its seed and the number of the
        draw of the tables, `draw`; `game` is not used. A withheld record has -1.
        """
        section, rng = study.scenario.subjects, random_stream(study.scenario.seed, "policies", draw)
        linked = {name for each in study.scenario.each.values() for name in each.linked_on}
        rates = {"opt_in_rate": section.opt_in_rate, "sharing_rate": section.sharing_rate}
        return searches.fixed_choice(study.games(draw)[0], self.name, rng, linked=linked, **rates)


@POLICIES.register("no-protection")
class NoProtection(Baseline):
    """Policy under which subjects share every attribute."""

    label, description, row = "No protection", "all attributes are shared", 6


@POLICIES.register("demographics-only")
class DemographicsOnly(Baseline):
    """Policy that shares only the attributes on which the last attack stage links.

    With several adversaries, these are the attributes of all their attacks.
    """

    label, description = "Demographics only", "only the attributes by which the adversary looks people up are shared"
    in_another_game, look, row = True, registry.Look(GREY, "D"), 7


@POLICIES.register("random-opt-in")
class RandomOptIn(Baseline):
    """Policy that shares everything at random, with probability ``opt_in_rate``.

    Otherwise the record is withheld. Subjects are drawn independently.
    """

    label, description = "Random opt-in", "all attributes or none are shared, at random"
    look, row = registry.Look(ORANGE, "<"), 8


@POLICIES.register("random-masking")
class RandomMasking(Baseline):
    """Policy that shares each attribute at random, with probability ``sharing_rate``.

    The draws of subjects and attributes are independent.
    """

    label, description = "Random masking", "each attribute is shared or masked at random"
    masks, look, row = True, registry.Look(BLACK, "P"), 9


@POLICIES.register(registry.K_ANONYMITY)
class KAnonymous(MaskingPolicy):
    """Policy that masks values until the table of the subjects is k-anonymous.

    Each record then shares its released values with at least k - 1 other records.
    """

    label, is_rule, masks, look, row = "k-anonymity", True, True, registry.Look(GREY, "h"), 10
    description = (
        "values are masked, at small cost in utility, until each record is in a group of at least "
        "k records with the same shared values"
    )

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of strategies that make the table k-anonymous.

        Each subject has the strategy that masks its suppressed values; `game` is not used. See `k_anonymous_cells`.

        Raises
        ------
        InputError
            If the scenario gives several k and the policy's name has none.
        """
        section, (own, _) = study.scenario.subjects, study.games(draw)
        values, k = own.world.targets.matrix(section.attributes), registry.k_of(self, section.k, "subjects.k")
        strategies = own.space.masking(k_anonymous_cells(values, k, study.weights(own.world)))
        return Choice(strategies, self.name, np.zeros(len(strategies), dtype=np.int64), exact=False)


@POLICIES.register("opt-in")
class OptInGame(MaskingPolicy):
    """Policy that shares everything or withholds the record, whichever pays more.

    With equal payoffs, the record is withheld.
    """

    label = "Opt-in"
    description = "all attributes are shared if the subject's payoff is positive, otherwise none"
    takes_best, look, row = True, registry.Look(GREEN, "o"), 5

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of the better of two strategies for each subject.

        They are sharing all attributes, and withholding (-1), which is chosen if payoffs are equal.
        """
        return OptIn().choose(_compiled(game))


class SearchPolicy(MaskingPolicy):
    """Policy that searches for each subject's strategy with the largest payoff.

    The solver is the scenario's, ``subjects.solver``, or the policy's own.
    """

    search: ClassVar[Solver | None] = "scenario"

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of the best strategy of each subject that the solver finds.

        A subject whose best payoff found is below the payoff of withholding, or who has no allowed strategy, withholds
        the record (-1). If `forbids_attacks` is set, only strategies are allowed under which no attack pays. If
        `in_another_game` is set, the game is played against an adversary without inference.

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
            return withholding(played, searches.best_against_several(played, no_attack=no_attack))
        if solver in GENERAL_SOLVERS:
            return GENERAL_SOLVERS[solver](played, no_attack=no_attack)
        if not played.is_compiled:
            raise _refused("this adversary", "subjects.solver", solver)
        if solver == "greedy":
            return searches.greedy(played, no_attack=no_attack)
        return searches.anytime(played, most_evaluated=section.most_evaluated, no_attack=no_attack)


@POLICIES.register("masking")
class Masking(SearchPolicy):
    """Policy with each subject's best strategy: masking game of Wan et al. 2021."""

    label, masks, look, row = "Masking", True, registry.Look(BLUE, "^"), 0
    description = (
        "set of shared attributes with the highest payoff for the subject, whether or not the record is attacked"
    )


@POLICIES.register("no-attack-masking")
class NoAttackMasking(SearchPolicy):
    """Policy `Masking` limited to strategies under which no attack pays."""

    label, masks, forbids_attacks, look, row = "No-attack masking", True, True, registry.Look(SKY_BLUE, ">"), 1
    description = "set of shared attributes with the highest payoff among the sets without an attack"


@POLICIES.register("one-stage-masking")
class OneStageMasking(SearchPolicy):
    """Policy `Masking` against an adversary who infers no attribute before it links."""

    label, masks, in_another_game, look, row = "One-stage masking", True, True, registry.Look(VERMILION, "X"), None
    description = "masking game against an adversary who makes no inferences"


@POLICIES.register("same-strategy")
class SameStrategy(MaskingPolicy):
    """Policy with the strategy, equal for all subjects, of the largest total payoff."""

    label, masks, takes_best, look, row = "Same strategy", True, True, registry.Look(BLACK, "*"), 4
    description = "set of shared attributes, equal for all subjects, with the highest total payoff"

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of the best strategy that is equal for all subjects.

        All subjects withhold their records (-1) if no common strategy pays at least as much as withholding.
        """
        return replace(SameForm(self.name).choose(_compiled(game)), solver="same-strategy")


@POLICIES.register("greedy-masking")
class GreedyMasking(SearchPolicy):
    """Policy `Masking`, solved by greedy search; not exact."""

    label, description, row = "Greedy masking", "masking game, solved by greedy search; not exact", 2
    by_agents, search = False, "greedy"


@POLICIES.register("anytime-masking")
class AnytimeMasking(SearchPolicy):
    """Policy `Masking` with at most ``most_evaluated`` strategies tried per subject.

    The key is in the scenario's section ``subjects``.
    """

    label, row, by_agents, search = "Anytime masking", 3, False, "anytime"
    description = "masking game, solved with a limited number of evaluated strategies; not exact"


def _compiled(game: Game) -> Game:
    """Return a `RecordGame` as a `MaskingGame`, if it allows compiled solvers.

    Compiled solvers require that the strategies are of a `MaskingSpace` without focus, and the adversary and its linker
    are a `MultistageAttack` and a `MultistageLinker`. Other games are returned unchanged.
    """
    if isinstance(game, MaskingGame) or not isinstance(game.space, MaskingSpace) or game.space.focus:
        return game
    if not (isinstance(game.adversary, MultistageAttack) and isinstance(game.linker, MultistageLinker)):
        return game
    return MaskingGame(game.space, game.adversary, game.linker.world, game.benefit, game.loss)


def check_policies(study: Any, game: MaskingGame) -> None:
    """Check that a game supports the scenario's policies and solver.

    Parameters
    ----------
    study : MaskingStudy
    game : MaskingGame
        True game of a draw, against the first or only adversary.

    Raises
    ------
    InputError
        If a policy or solver does not support the adversary or several adversaries, or k of k-anonymity exceeds the
        number of subjects; the message names the file, the key and the policy or solver.
    """
    section, adversary, several = study.scenario.subjects, study.scenario.adversary, len(study.each) > 1
    policies, source = [policy_named(name) for name in section.policies], study.loaded.path
    heuristic = [policy.name for policy in policies if policy.search not in (None, "scenario")]
    if several and heuristic:
        raise _refused("several adversaries", WHERE, heuristic[0]).located(source)
    anonymous = [policy for policy in policies if policy.name.startswith(registry.K_ANONYMITY)]
    most = max((registry.k_of(policy, section.k, "subjects.k") for policy in anonymous), default=0)
    if most > game.n_records:
        raise InputError(
            "too few records for k-anonymity",
            source=source,
            where="subjects.k",
            found=most,
            expected=f"at most {game.n_records}, the number of subjects",
        )
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
