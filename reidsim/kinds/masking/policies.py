"""Policies of data subjects who mask attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from reidsim.games.defenders.defender import Game
from reidsim.games.defenders.fixed import OptIn
from reidsim.games.defenders.same_form import SameForm
from reidsim.games.masking.fixed_policies import fixed_choice
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import Choice
from reidsim.kinds.masking.policy import POLICIES, MaskingPolicy, Search
from reidsim.kinds.masking.solving import against_several, compiled, searched
from reidsim.kinds.masking.study import MaskingStudy
from reidsim.palette import BLACK, BLUE, GREEN, GREY, ORANGE, SKY_BLUE, VERMILION
from reidsim.random_streams import replication_stream
from reidsim.releases.cell_suppression import k_anonymous_cells
from reidsim.scenarios.policy import K_ANONYMITY, Look, k_of


class Baseline(MaskingPolicy):
    """Apply a fixed rule of Wan et al. 2021, which ignores payoffs.

    Base class; the subclass's name selects the rule in `fixed_choice`.
    """

    is_rule = True

    def choose(self, study: MaskingStudy, game: Game, draw: int) -> Choice:
        """Return the prescribed strategies."""
        section, (own, _) = study.scenario.subjects, study.games(draw)
        rng = replication_stream(study.scenario.seed, "policies", draw)
        linked = {name for each in study.each.values() for name in each.scenario.linked_on}
        rates = {"opt_in_rate": section.opt_in_rate, "sharing_rate": section.sharing_rate}
        return fixed_choice(own, self.name, rng, linked=linked, **rates)


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
    in_another_game = True
    look = Look(GREY, "D")
    row = 7


@POLICIES.register("random-opt-in")
class RandomOptIn(Baseline):
    """Share everything with probability ``opt_in_rate``; else withhold the record."""

    label, description, row = "Random opt-in", "all attributes or none are shared, at random", 8
    look = Look(ORANGE, "<")


@POLICIES.register("random-masking")
class RandomMasking(Baseline):
    """Share each attribute independently with probability ``sharing_rate``."""

    label, description, row = "Random masking", "each attribute is shared or masked at random", 9
    masks = True
    look = Look(BLACK, "P")


@POLICIES.register(K_ANONYMITY)
class KAnonymous(MaskingPolicy):
    """Suppress cells until the table is k-anonymous."""

    label, description = (
        "k-anonymity",
        (
            "values are masked, at small cost in utility, until each record is in a group of at least "
            "k records with the same shared values"
        ),
    )
    is_rule = True
    masks = True
    look = Look(GREY, "h")
    row = 10

    def choose(self, study: MaskingStudy, game: Game, draw: int) -> Choice:
        """Return the masking of the k-anonymous table."""
        section, (own, _) = study.scenario.subjects, study.games(draw)
        values = own.world.targets.matrix(section.attributes)
        k = k_of(self, section.k, "subjects.k")
        strategies = own.space.masking(k_anonymous_cells(values, k, study.weights(own.world)))
        return Choice(strategies, self.name, np.zeros(len(strategies), dtype=np.int64), exact=False)


@POLICIES.register("opt-in")
class OptInGame(MaskingPolicy):
    """Share everything, or withhold the record, whichever has the larger payoff.

    With equal payoffs, the record is withheld.
    """

    label, description, row = (
        "Opt-in game",
        "all attributes are shared if the subject's payoff is positive, otherwise none",
        5,
    )
    takes_best = True
    look = Look(GREEN, "o")

    def choose(self, study: MaskingStudy, game: Game, draw: int) -> Choice:
        """Return the better of the two strategies."""
        return OptIn().choose(compiled(game))


class SearchPolicy(MaskingPolicy):
    """Choose the strategy with the largest payoff of each subject, by a solver."""

    search: ClassVar[Search] = "scenario"

    def choose(self, study: MaskingStudy, game: Game, draw: int) -> Choice:
        """Return the best strategies that the solver finds."""
        played = self.played_in(compiled(game))
        if isinstance(played, MaskingGame):
            return searched(study, self, played)
        return against_several(study, self, played)


@POLICIES.register("masking")
class Masking(SearchPolicy):
    """The masking game of Wan et al. 2021."""

    label, description, row = (
        "Masking game",
        ("set of shared attributes with the highest payoff for the subject, whether or not the record is attacked"),
        0,
    )
    masks = True
    look = Look(BLUE, "^")


@POLICIES.register("no-attack-masking")
class NoAttackMasking(SearchPolicy):
    """Choose each subject's best strategy among those under which no attack pays."""

    label, description, row = (
        "No-attack masking game",
        "set of shared attributes with the highest payoff among the sets without an attack",
        1,
    )
    forbids_attacks = True
    masks = True
    look = Look(SKY_BLUE, ">")


@POLICIES.register("one-stage-masking")
class OneStageMasking(SearchPolicy):
    """The masking game against an adversary without inference."""

    label, row = "One-stage masking game", None
    description = "masking game against an adversary who makes no inferences"
    in_another_game = True
    masks = True
    look = Look(VERMILION, "X")


@POLICIES.register("same-strategy")
class SameStrategy(MaskingPolicy):
    """The strategy, equal for all subjects, with the largest total payoff."""

    label, row = "Same strategy for all", 4
    description = "set of shared attributes, equal for all subjects, with the highest total payoff"
    takes_best = True
    masks = True
    look = Look(BLACK, "*")

    def choose(self, study: MaskingStudy, game: Game, draw: int) -> Choice:
        """Return the best common strategy."""
        return replace(SameForm(self.name).choose(compiled(game)), solver="same-strategy")


@POLICIES.register("greedy-masking")
class GreedyMasking(SearchPolicy):
    """The masking game, solved by greedy search."""

    label, description, row = "Greedy masking", "masking game, solved by greedy search; not exact", 2
    by_agents = False
    search = "greedy"


@POLICIES.register("anytime-masking")
class AnytimeMasking(SearchPolicy):
    """The masking game, with at most ``most_evaluated`` strategies per subject."""

    label, description, row = (
        "Anytime masking",
        "masking game, solved with a limited number of evaluated strategies; not exact",
        3,
    )
    by_agents = False
    search = "anytime"
