"""Several adversary types in one record game: the publisher plays against all of them at once (Bayesian Stackelberg).

The publisher does not know who will attack. It knows types, each with a weight, a way to link and a way to plan; every
type replies on its own to the form in which a record is shared. What the types do together is a reply like any other,
so the solvers of the record game find the publisher's best reply to the types without knowing of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Literal, get_args

import numpy as np

from reidsim.adversaries.response import Adversary, Linkage, Presence, Response
from reidsim.errors import InputError, not_among, require_among, require_distinct
from reidsim.games.record_game import JointLinker, Linker, RecordGame
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace

Together = Literal["one-of", "all", "worst"]

# Weights are given as decimal numbers, whose sum is 1 only up to rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class AdversaryType:
    """One kind of adversary that the publisher may face.

    Parameters
    ----------
    name : str
    weight : float
        Probability of this type, or, where all types attack, that it is there; in [0, 1]. Type of weight 0 does not
        attack.
    linker : Linker
        What linkage yields for this type.
    adversary : Adversary
        How it replies.

    Raises
    ------
    InputError
        If the weight is not in [0, 1].
    """

    name: str
    weight: float
    linker: Linker
    adversary: Adversary

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise InputError("weight of a type out of range", where=self.name, found=self.weight, expected="0 to 1")


@dataclass(frozen=True)
class TypesLinkage(Linkage):
    """What linkage yields for each type; group sizes are those of the first.

    Parameters
    ----------
    by_type : tuple of Linkage
    """

    by_type: tuple[Linkage, ...] = ()


@dataclass(frozen=True)
class TypesLinker:
    """Links for every type; types that share a linker are linked once."""

    types: tuple[AdversaryType, ...]

    def link(self, strategy: int, rows: Rows | None = None) -> TypesLinkage:
        """Link all records, or those of `rows`, for each type; see `Linker`."""
        done: dict[int, Linkage] = {}
        for each in self.types:
            if id(each.linker) not in done:
                done[id(each.linker)] = each.linker.link(strategy, rows)
        by_type = tuple(done[id(each.linker)] for each in self.types)
        first = by_type[0]
        return TypesLinkage(first.group_sizes, first.believed_group_sizes, first.match_probability, by_type)


@dataclass(frozen=True)
class TypesResponse(Response):
    """The reply of several types, of whom it is not known who comes.

    The other parameters are those of `Response`. `success` is, where there may be an attack, the probability that
    the record is re-identified.

    Parameters
    ----------
    chance : ndarray of float64
        Probability that the record is attacked.
    replies : tuple of Response
        Of each type.
    coming : Presence
        Of which of them come.
    """

    chance: Floats = field(kw_only=True)
    replies: tuple[Response, ...] = field(kw_only=True)
    coming: Presence = field(kw_only=True)

    @property
    def by_type(self) -> tuple[Response, ...]:
        """The reply of each type."""
        return self.replies

    @property
    def presence(self) -> Presence:
        """How likely each type comes."""
        return self.coming

    @property
    def attack_probability(self) -> Floats:
        """Probability that the record is attacked."""
        return self.chance

    @property
    def often(self) -> Floats:
        """How often there is an attack where `attacks`."""
        return np.where(self.attacks, self.chance, 1.0)

    @property
    def success_of_attacks(self) -> Floats:
        """Probability that an attack names the right person, whoever makes it."""
        return np.divide(self.success, self.chance, out=self.success.copy(), where=self.attacks)


@dataclass(frozen=True)
class TypesAdversary:
    """All types as one adversary.

    Parameters
    ----------
    types : tuple of AdversaryType
    together : {"one-of", "all", "worst"}
        See `TypesGame`.
    """

    types: tuple[AdversaryType, ...]
    together: Together

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return what the types do together; see `Adversary`. A linkage that is not by type is that of all types."""
        return self.combined(self.responses(linkage, rows))

    def responses(self, linkage: Linkage, rows: Rows | None = None) -> list[Response]:
        """Return the reply of each type."""
        by_type = linkage.by_type if isinstance(linkage, TypesLinkage) else (linkage,) * len(self.types)
        return [each.adversary.respond(linked, rows) for each, linked in zip(self.types, by_type, strict=True)]

    def combined(self, responses: Sequence[Response]) -> Response:
        """Put the replies of the types together.

        Parameters
        ----------
        responses : sequence of Response
            One for each type, arrays of shape (n,).

        Returns
        -------
        Response
            Attacks where any type of positive weight does. Where there is an attack, `success` is the probability that
            the record is re-identified; elsewhere, that it would be if all attacked. Payoff and exploits are sums of
            those of the types, times their weights. `chance` is how likely a record is attacked: where one of the types
            comes, the sum of their probabilities times weights; where all may, that any of them attacks.
        """
        weights = np.array([each.weight for each in self.types])
        present = weights > 0
        attacks = np.stack([reply.attacks for reply in responses])
        success = np.stack([reply.success for reply in responses])
        believed = np.stack([reply.believed_success for reply in responses])
        payoff = np.stack([reply.adversary_payoff for reply in responses])
        exploits = np.stack([reply.exploits for reply in responses])
        attacked = np.asarray(attacks[present].any(axis=0))
        reidentified = np.stack([reply.reidentified for reply in responses])
        attempted = np.stack([reply.attack_probability for reply in responses])
        errs = any(reply.pays is not None for reply in responses)
        invited = np.stack([reply.invited for reply in responses])
        pays = np.asarray(invited[present].any(axis=0)) if errs else None
        if self.together == "worst":
            worst = np.where(present[:, None], reidentified, -1.0).argmax(axis=0)
            each = np.arange(attacks.shape[1])
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
            chance=self._by_any(weights, attempted),
            pays=pays,
            replies=tuple(responses),
            coming=Presence(tuple(weights.tolist()), self.together == "one-of"),
        )

    def _by_any(self, weights: Floats, probability: Floats) -> Floats:
        """Return the probability that something happens by anybody, given that by each type, shape (n_types, n)."""
        if self.together == "one-of":
            by_any = _weighted(weights, probability)
        else:
            by_any = np.zeros(probability.shape[1])
            for weight, of_type in zip(weights, probability, strict=True):
                by_any += weight * of_type * (1.0 - by_any)
        # Rounding of weights and sums must not make a probability of more than 1.
        return np.minimum(by_any, 1.0)


def _weighted(weights: Floats, amounts: Floats) -> Floats:
    """Return weighted sums over types, shape (n,): type by type, so that no record's sum depends on the others'."""
    total = np.zeros(amounts.shape[1])
    for weight, of_type in zip(weights, amounts, strict=True):
        total += weight * of_type
    return total


class TypesGame(RecordGame):
    """One publisher against several adversary types, played for each record on its own.

    With ``r_t`` the probability that type t re-identifies the record in the form shared, 0 where it does not attack,
    the publisher gets ``benefit x utility - loss x r``, where

    - "one-of": the attacker is of one type, drawn with the weights: ``r = sum of w_t r_t``;
    - "all": each type is there with probability ``w_t``, attempts are independent, and the loss falls once:
      ``r = 1 - product of (1 - w_t r_t)``;
    - "worst": the type of positive weight that is worst for the record: ``r = max of r_t``.

    Every record game's solver takes it, and stays exact: no solver asks more of a reply than that a form without
    attack keeps its whole benefit.

    Parameters
    ----------
    space : StrategySpace
    types : sequence of AdversaryType
    benefit, loss : ndarray of float64, shape (n_records,)
        See `RecordGame`.
    together : {"one-of", "all", "worst"}

    Raises
    ------
    InputError
        If there is no type, a name is given twice, or the weights of "one-of" do not sum to 1; as `RecordGame`.
    """

    def __init__(
        self,
        space: StrategySpace,
        types: Sequence[AdversaryType],
        benefit: Floats,
        loss: Floats,
        together: Together = "one-of",
    ) -> None:
        check_types(types, together)
        super().__init__(space, TypesLinker(tuple(types)), TypesAdversary(tuple(types), together), benefit, loss)

    @property
    def types(self) -> tuple[AdversaryType, ...]:
        """The types, in the order given."""
        return self._together.types

    @property
    def together(self) -> Together:
        """How the types meet the publisher."""
        return self._together.together

    @property
    def _together(self) -> TypesAdversary:
        assert isinstance(self.adversary, TypesAdversary)  # noqa: S101 # as it was made
        return self.adversary

    def responses(self, strategy: int, rows: Rows | None = None) -> dict[str, Response]:
        """Return the reply of each type to `strategy`, for all records or those of `rows`, by name."""
        replies = self._together.responses(self.linker.link(strategy, rows), rows)
        return {each.name: reply for each, reply in zip(self.types, replies, strict=True)}

    def against(self, name: str) -> RecordGame:
        """Return the game against one type alone."""
        for each in self.types:
            if each.name == name:
                return RecordGame(self.space, each.linker, each.adversary, self.benefit, self.loss)
        raise not_among("no such type", name, [each.name for each in self.types])

    def given(self, strategies: Strategies) -> TypesGame:
        """Return the game in which everybody is linked as all records are shared; see `RecordGame`."""
        joint = {id(each.linker): each.linker for each in self.types if isinstance(each.linker, JointLinker)}
        given = {key: linker.given(strategies) for key, linker in joint.items()}
        types = [replace(each, linker=given.get(id(each.linker), each.linker)) for each in self.types]
        return self.with_types(types) if given else self

    def with_types(self, types: Sequence[AdversaryType], together: Together | None = None) -> TypesGame:
        """Return the same publisher's game against other types."""
        return TypesGame(self.space, types, self.benefit, self.loss, together or self.together)


def check_types(types: Sequence[AdversaryType], together: str) -> None:
    """Check that types can be played together.

    Raises
    ------
    InputError
        If there is no type of positive weight, a name is given twice, the weights of "one-of" do not sum to 1, or
        `together` is none of the ways.
    """
    require_among("unknown way of types", (together,), get_args(Together))
    if not any(each.weight > 0 for each in types):
        raise InputError("no adversary type", expected="one of positive weight")
    names = [each.name for each in types]
    require_distinct("type given twice", names)
    total = fsum(each.weight for each in types)
    if together == "one-of" and abs(total - 1) > _ROUNDING:
        raise InputError("weights of the types do not sum to 1", found=total, expected="1")
