"""Several adversary types in one record game (Bayesian Stackelberg game).

The publisher does not know which adversary will attack. It knows adversary types, each with a weight, a linker and an
attack plan. Each type replies separately to the released record. The combined reply of all types has the same format
as the reply of a single adversary, so the solvers of the record game find the publisher's best response to the types
unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, Literal

import numpy as np

from reidsim.adversaries.rationality import ErringAdversary
from reidsim.adversaries.response import Adversary, Linkage, Presence, Response
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.core.errors import InputError, refuse_first
from reidsim.games.record_game import Linker, RecordGame, linker_of_release
from reidsim.releases.lattice import Floats, Rows, Strategies, StrategySpace

Together = Literal["one-of", "all", "worst"]


@dataclass(frozen=True)
class AdversaryType:
    """One adversary type that the publisher may face.

    Parameters
    ----------
    name : str
        Name of the type, for results and messages.
    weight : float
        Probability of this type or, with "all", probability that it is present; in [0, 1]. With "worst", the size of a
        positive weight does not matter. A type of weight 0 does not attack.
    linker : Linker
        Linker that this type uses.
    adversary : Adversary
        Adversary that replies to the linkage.
    """

    name: str
    weight: float
    linker: Linker
    adversary: Adversary


@dataclass(frozen=True)
class TypesLinkage(Linkage):
    """Linkage of each type.

    Group sizes and match probability of the whole (the fields of `Linkage`) are those of the first type. Types reply to
    their own linkage.

    Parameters
    ----------
    by_type : tuple of Linkage
        One linkage per type.
    """

    by_type: tuple[Linkage, ...] = ()


@dataclass(frozen=True)
class TypesLinker:
    """Link records for every adversary type, with one call per distinct linker.

    Parameters
    ----------
    types : tuple of AdversaryType
        Adversary types; one or more.
    """

    types: tuple[AdversaryType, ...]

    def link(self, strategy: int, rows: Rows | None = None) -> TypesLinkage:
        """Return the linkage of all records, or of `rows`, for each adversary type.

        All are released under `strategy`. The result is a `TypesLinkage` with one linkage per type, in the order of the
        types; see `Linker`.
        """
        distinct = {id(each.linker): each.linker for each in self.types}
        done = {key: linker.link(strategy, rows) for key, linker in distinct.items()}
        by_type = tuple(done[id(each.linker)] for each in self.types)
        first = by_type[0]
        return TypesLinkage(first.group_sizes, first.believed_group_sizes, first.match_probability, by_type)


@dataclass(frozen=True)
class TypesResponse(Response):
    """Combined reply of the types ("one-of" or "all"), whichever are present.

    The other parameters are the same as in `Response`, except `success` and `frequency`, the probability that any type
    attacks. Where a type of positive weight attacks,
    `success` is the probability that the record is attacked and re-identified; elsewhere, it is this probability if all
    types attacked.

    Parameters
    ----------
    replies : tuple of Response
        Reply of each type.
    coming : Presence
        Distribution of the set of types that is present.
    """

    replies: tuple[Response, ...] = field(kw_only=True)
    coming: Presence = field(kw_only=True)

    @property
    def by_type(self) -> tuple[Response, ...]:
        """Reply of each adversary type, in the order of the types."""
        return self.replies

    @property
    def presence(self) -> Presence:
        """Distribution of the set of adversary types that is present."""
        return self.coming

    @property
    def reidentified(self) -> Floats:
        """True probability that any present adversary attacks and re-identifies each record."""
        return np.where(self.attacks, self.success, 0.0)

    @property
    def success_of_attacks(self) -> Floats:
        """Probability of re-identification given an attack by any type.

        Where no type attacks, it is `success`: the probability of re-identification if all types attacked.
        """
        return np.divide(self.success, self.attack_probability, out=self.success.copy(), where=self.attacks)


@dataclass(frozen=True)
class TypesAdversary:
    """All adversary types of a game combined into a single adversary.

    Parameters
    ----------
    types : tuple of AdversaryType
        Types with their weights and adversaries.
    together : {"one-of", "all", "worst"}
        See `TypesGame`.
    """

    types: tuple[AdversaryType, ...]
    together: Together

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the combined reply of all types; see `Adversary`.

        A linkage other than `TypesLinkage` applies to all types. `rows` are the record numbers of the linkage; all, if
        not given. The result is a `TypesResponse`, except with "worst".

        Returns
        -------
        Response
            `attacks` is true where any type of positive weight attacks. Where there is an attack, `success` is the
            probability that the record is re-identified; elsewhere, the same probability if all types attacked.
            `believed_success` is this probability as the types believe it, if all attacked. Payoff and exploits are
            sums over types, times their weights. `chance` is the probability that a record is attacked: with "one-of",
            the sum of the types' attack probabilities times weights; with "all", the probability that any type attacks.
            With "worst", `success`, payoff and exploits of an attacked record are taken from the type most likely to
            re-identify it (the first of these, if equal), `believed_success` is the largest of any type, and there is
            no `chance`.
        """
        by_type = linkage.by_type if isinstance(linkage, TypesLinkage) else (linkage,) * len(self.types)
        responses = [each.adversary.respond(linked, rows) for each, linked in zip(self.types, by_type, strict=True)]

        def stacked(name: str) -> Any:
            return np.stack([getattr(reply, name) for reply in responses])

        weights = np.array([each.weight for each in self.types])
        present = weights > 0
        success, believed, payoff, exploits, reidentified = map(
            stacked, ("success", "believed_success", "adversary_payoff", "exploits", "reidentified")
        )
        attacked, invited = (np.asarray(stacked(name)[present].any(axis=0)) for name in ("attacks", "invited"))
        pays = invited if any(reply.pays is not None for reply in responses) else None
        if self.together == "worst":
            worst = np.where(present[:, None], reidentified, -1.0).argmax(axis=0)
            each = np.arange(len(attacked))
            return Response(
                attacks=attacked,
                success=np.where(attacked, reidentified[worst, each], success[present].max(axis=0)),
                believed_success=believed[present].max(axis=0),
                adversary_payoff=payoff[worst, each],
                exploits=exploits[worst, each],
                pays=pays,
            )
        return TypesResponse(
            attacks=attacked,
            success=np.where(attacked, self._by_any(weights, reidentified), self._by_any(weights, success)),
            believed_success=self._by_any(weights, believed),
            adversary_payoff=_weighted(weights, payoff),
            exploits=_weighted(weights, exploits),
            frequency=np.where(attacked, self._by_any(weights, stacked("attack_probability")), 1.0),
            pays=pays,
            replies=tuple(responses),
            coming=Presence(tuple(weights.tolist()), self.together == "one-of"),
        )

    def _by_any(self, weights: Floats, probability: Floats) -> Floats:
        """Return the probability of an event by any adversary type, shape (n,).

        `weights` (n_types,) is the probability of each type, and `probability`, shape (n_types, n), the probability of
        the event, given that the type is present. With "one-of", the result is the weighted sum; otherwise, types are
        present and act independently. It is at most 1.
        """
        if self.together == "one-of":
            by_any = _weighted(weights, probability)
        else:
            by_any = np.zeros(probability.shape[1])
            for weight, of_type in zip(weights, probability, strict=True):
                by_any += weight * of_type * (1.0 - by_any)
        # Rounding of weights and sums must not raise a probability above 1.
        return np.minimum(by_any, 1.0)


def _weighted(weights: Floats, amounts: Floats) -> Floats:
    """Return sums over adversary types of weight times amount, shape (n,).

    `weights` has shape (n_types,), and `amounts` has shape (n_types, n).
    """
    # Add type by type, so that rounding of a record's sum does not depend on other records.
    total = np.zeros(amounts.shape[1])
    for weight, of_type in zip(weights, amounts, strict=True):
        total += weight * of_type
    return total


class TypesGame(RecordGame):
    """One publisher against several adversary types, one game per record.

    Let ``r_t`` be the probability that type t re-identifies the released record, 0 if it does not attack. The publisher
    gets ``benefit x utility - loss x r``, where

    - "one-of": the attacker has one type, drawn with the weights: ``r = sum of w_t r_t``;
    - "all": each type is present with probability ``w_t``, attempts are independent, and the loss is incurred once:
      ``r = 1 - product of (1 - w_t r_t)``;
    - "worst": the attacker is the type of positive weight that is worst for the record: ``r = max of r_t``.

    Every solver of record games accepts this game and stays exact. The solvers require only that a strategy without
    attack keeps its whole benefit.

    Parameters
    ----------
    space : StrategySpace
        Strategies under which records can be shared.
    types : sequence of AdversaryType
        Types with their weights, linkers and adversaries.
    benefit, loss : ndarray of float64, shape (n_records,)
        The publisher's benefit of sharing the record unchanged, and its loss if the record is re-identified, in
        currency units.
    together : {"one-of", "all", "worst"}
        Rule that combines the types, see above.
    """

    types: tuple[AdversaryType, ...]
    together: Together

    def __init__(
        self,
        space: StrategySpace,
        types: Sequence[AdversaryType],
        benefit: Floats,
        loss: Floats,
        together: Together = "one-of",
    ) -> None:
        super().__init__(space, TypesLinker(tuple(types)), TypesAdversary(tuple(types), together), benefit, loss)
        # The class is frozen.
        vars(self).update(types=tuple(types), together=together)

    def with_strategies(self, strategies: Strategies) -> TypesGame:
        """Return the game of a release with these strategies.

        Each type's linker is replaced by its linker for the release, if linkage depends on the whole release.
        `strategies` (n_records,) holds -1 for withheld records; see `RecordGame.with_strategies`.
        """
        linkers = {id(each.linker): each.linker for each in self.types}
        released = {key: linker_of_release(linker, strategies) for key, linker in linkers.items()}
        types = [replace(each, linker=released[id(each.linker)]) for each in self.types]
        return self.with_types(types)

    def with_types(self, types: Sequence[AdversaryType]) -> TypesGame:
        """Return the same game against other types, combined by the same rule."""
        return TypesGame(self.space, types, self.benefit, self.loss, self.together)


def parts_of(game: RecordGame) -> tuple[AdversaryType, ...]:
    """Return the adversary types of a game.

    In a game that is not a `TypesGame`, the single adversary is one type, with an empty name and weight 1.
    """
    return game.types if isinstance(game, TypesGame) else (AdversaryType("", 1.0, game.linker, game.adversary),)


def averaged(types: tuple[AdversaryType, ...]) -> tuple[AdversaryType, ...]:
    """Return the types, each replaced by the average type (`average_type`).

    Names and weights are kept, so that all types have the same linker, gain and cost.
    """
    average = average_type(types)
    return tuple(replace(average, name=each.name, weight=each.weight) for each in types)


def average_type(types: tuple[AdversaryType, ...]) -> AdversaryType:
    """Return the type of largest weight, with the mean gain and cost of all types.

    The result has name "average" and weight 1. Means are weighted by the weights of the types. Amounts of money have a
    mean; linkers and attack plans do not, so they are taken from the type of largest weight (the first of these, if
    several have it).

    Raises
    ------
    InputError
        If a type has no gain and cost (also one of weight 0), or if the mean amounts differ by record and the type of
        largest weight makes a sequential attack.
    """
    weights = np.array([each.weight for each in types])
    prices = [_gain_and_cost(each) for each in types]
    gain, cost = (
        sum(share * amount for share, amount in zip(weights / weights.sum(), amounts, strict=True))
        for amounts in zip(*prices, strict=True)
    )
    heaviest = types[int(weights.argmax())]
    return AdversaryType("average", 1.0, heaviest.linker, repriced(heaviest.adversary, gain, cost))


def repriced(adversary: Adversary, gain: Any, cost: Any) -> Adversary:
    """Return an adversary with another gain of a success and cost of an attempt.

    Both are in currency units per record: one number, or one per record. For a sequential attack, the cost is the cost
    of an exploit.

    The adversary within an `ErringAdversary` is repriced.

    Raises
    ------
    InputError
        If the adversary has no gain and cost to replace, or if it makes a sequential attack and the amounts differ by
        record.
    """
    if isinstance(adversary, ErringAdversary):
        changed: Any = repriced(adversary.adversary, gain, cost)
        return replace(adversary, adversary=changed)
    if isinstance(adversary, SequentialAdversary):
        if np.ndim(gain) or np.ndim(cost):
            raise InputError("a sequential attack needs the same gain and the same cost for all records")
        return replace(adversary, attack=replace(adversary.attack, gain=float(gain), exploit_cost=float(cost)))
    if not is_dataclass(adversary):
        raise InputError("the adversary has no gain and cost to replace", found=type(adversary).__name__)
    repriced_adversary: Adversary = replace(adversary, gain=gain, cost=cost)
    return repriced_adversary


def _gain_and_cost(each: AdversaryType) -> tuple[Any, Any]:
    adversary: Any = each.adversary.adversary if isinstance(each.adversary, ErringAdversary) else each.adversary
    if isinstance(adversary, SequentialAdversary):
        return adversary.attack.gain, adversary.attack.exploit_cost
    lacks = not (hasattr(adversary, "gain") and hasattr(adversary, "cost"))
    problem, expected = "the adversary type has no gain and cost to average", "an adversary with a gain and a cost"
    refuse_first((lacks, problem, each.name, type(adversary).__name__, expected))
    return adversary.gain, adversary.cost
