"""Stackelberg game between a publisher and an adversary, played by record; outcomes of choices and their measures.

An outcome includes the attempts to re-identify people, by the set of adversaries that is present. Given this set,
attempts on different people are independent. The set is the same for all people, so attempts are dependent without this
condition, and the distribution of a total is a mixture, over the possible sets, of sums of independent attempts.

Measures of an outcome are means over records, and distributions of the number of people re-identified. Their labels,
formats and definitions are in `measures.toml`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import (
    INDIFFERENCE,
    Adversary,
    Linkage,
    Presence,
    Response,
    arrays_of,
)
from reidsim.core.errors import refuse_first
from reidsim.core.files import read_toml
from reidsim.core.wording import columns_of, measures_worded
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.people import AttributeLimits, RowSets, SensitiveAttribute, SensitiveGroups
from reidsim.linkage.totals import Distribution, Tries, mixture, successes
from reidsim.populations.population import Counts
from reidsim.releases.lattice import Floats, Rows, Strategies, StrategySpace


@dataclass(frozen=True)
class AdmissibleGroups:
    """Find the nodes at which a record's group meets limits on sensitive values.

    Parameters
    ----------
    groups : SensitiveGroups
        Sensitive values of the group of each record.
    limits : AttributeLimits
        Limits on the values within a group.
    columns : tuple of SensitiveAttribute
        Sensitive columns of all records of the table, for games that form groups themselves; `at` does not use them.
    row_sets : RowSets, optional
        The rows of `groups` that belong to each record of the game, if people have several rows.
    """

    groups: SensitiveGroups
    limits: AttributeLimits
    columns: tuple[SensitiveAttribute, ...] = ()
    row_sets: RowSets | None = None

    def at(self, strategy: int, rows: Rows | None = None) -> NDArray[np.bool_]:
        """Return whether each record, or each of `rows`, may be released at a node.

        The node is given by its number, `strategy`. A record may be released if its group meets the limits. A person
        with several rows may be released if the groups of all its rows meet the limits.
        """
        within = self.groups.within(self.limits, strategy)
        if self.row_sets is not None:
            within = self.row_sets.combined(np.logical_and, within)
        return within if rows is None else within[rows]


# Strategy of a record that is not released.
WITHHELD = -1
# Product of distinct strategies and records from which group sizes are counted for all strategies at once.
_MANY_LINKED = 50_000_000


class Linker(Protocol):
    """Link records that are shared under the same strategy.

    The rows of a linker are the records of a game, numbered from 0.
    """

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all records, or of `rows`, shared under `strategy`.

        `rows` are record numbers; the linkage has one entry for each of them.

        For group sizes, true and as the adversary believes, see `Linkage`.
        """
        ...


@runtime_checkable
class ReleaseLinker(Linker, Protocol):
    """Link the records of a whole release, in which each record has its own strategy.

    Where linkage depends on the strategies of all records, `link` assumes that all have the same strategy.
    """

    def with_strategies(self, strategies: Strategies) -> Linker:
        """Return the linker for a release with these strategies (n_records,).

        A strategy of -1 marks a withheld record. The result links only released records, each under its strategy.
        """
        ...


def linker_of_release(linker: Linker, strategies: Strategies) -> Linker:
    """Return the linker for a release in which each record has its own strategy.

    A linker that is not a `ReleaseLinker` is returned unchanged. `strategies` (n_records,) holds -1 for withheld
    records.
    """
    return linker.with_strategies(strategies) if isinstance(linker, ReleaseLinker) else linker


@dataclass(frozen=True)
class PopulationLinker:
    """Link records to the people of a population who share the released values.

    Parameters
    ----------
    group_sizes : GroupSizes
        Group sizes in the population or, with `population`, in a registry drawn from it.
    population : GroupSizes, optional
        Group sizes in the whole population, if `group_sizes` counts a registry drawn from it.
    """

    group_sizes: GroupSizes
    population: GroupSizes | None = None

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all records, or of `rows`, shared under `strategy`.

        True and believed group sizes are equal. With a registry, the linkage also has the share of the population with
        the released values (`match_probability`); see `Linker`.
        """
        sizes = self.group_sizes.at(strategy, rows)
        population = self.population or self.group_sizes
        everybody = sizes if population is self.group_sizes else population.at(strategy, rows)
        return self._linkage(sizes, everybody)

    def with_strategies(self, strategies: Strategies) -> Linker:
        """Return a linker with the group sizes under these strategies, computed at once.

        The result links only released records, each under its strategy. If the number of distinct strategies times
        records is below 50 million, or the sizes cannot be computed at once, this linker itself is returned.
        `strategies` (n_records,) holds -1 for withheld records.
        """
        rows = np.flatnonzero(strategies != WITHHELD)
        if len(np.unique(strategies[rows])) * len(strategies) < _MANY_LINKED:
            return self
        groups = (self.group_sizes, self.population or self.group_sizes)
        counted = {key: each.each(strategies[rows], rows) for key, each in {id(each): each for each in groups}.items()}
        known = {key: sizes for key, sizes in counted.items() if sizes is not None}
        if len(known) < len(counted):
            return self
        return FixedLinkage(self._linkage(*(known[id(each)] for each in groups)), rows)

    def _linkage(self, sizes: Counts, everybody: Counts) -> Linkage:
        if self.population is None:
            return Linkage(sizes, sizes, by_chance=self.group_sizes.by_chance)
        return Linkage(sizes, sizes, np.asarray(everybody / self.population.total))


@dataclass(frozen=True, eq=False)
class FixedLinkage:
    """Look up the linkage of a single choice of strategies (a `Linker`).

    Parameters
    ----------
    linkage : Linkage
        Linkage of each released record under its strategy.
    released : ndarray of int, shape (n_released,), optional
        The records that are released, ascending; all, if not given.
    """

    linkage: Linkage
    released: Rows | None = None

    @classmethod
    def from_sizes(cls, sizes: Counts) -> FixedLinkage:
        """Return the linker with a group size for each record, true and believed.

        `sizes`, in people, has shape (n_records,). All records are released.
        """
        return cls(Linkage(sizes, sizes))

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all released records, or `rows`, by their own strategy.

        `strategy` is not used; all `rows` (record numbers) must be released. See `Linker`.
        """
        if rows is None:
            return self.linkage
        at = rows if self.released is None else np.searchsorted(self.released, rows)
        arrays: dict[str, Any] = {name: array[at] for name, array in arrays_of(self.linkage).items()}
        return replace(self.linkage, **arrays)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a strategy by record; arrays of equal shape.

    Parameters
    ----------
    publisher_payoff : ndarray of float64
        Benefit of the release less the expected loss from the attack, in currency units per record.
    utility : ndarray of float64
        Share of the full benefit that the release keeps, in [0, 1].
    response : Response
        Reply of the adversary.
    """

    publisher_payoff: Floats
    utility: Floats
    response: Response


@dataclass(frozen=True)
class RecordGame:
    """One publisher against one adversary, played by record (Wan et al. 2015).

    Each record is a separate game. The publisher gets ``benefit x utility`` and expects to lose ``loss x success
    probability`` when the adversary attacks (Table 3). A publisher with mistaken beliefs plans in a game with the
    believed parameters; its choice is then evaluated in the game with the true parameters.

    Parameters
    ----------
    space : StrategySpace
        Strategies under which records can be shared.
    linker : Linker
        Linker that returns group sizes for each strategy.
    adversary : Adversary
        The adversary who replies to the linkage.
    benefit, loss : ndarray of float64, shape (n_records,)
        The publisher's benefit of sharing the record unchanged, and its loss if the record is re-identified, in
        currency units; one number, if equal for all records.

    Raises
    ------
    InputError
        If a benefit or loss is negative or missing (NaN).
    """

    space: StrategySpace
    linker: Linker
    adversary: Adversary
    benefit: Floats
    loss: Floats

    def __post_init__(self) -> None:
        for name in ("benefit", "loss"):
            amounts = np.broadcast_to(np.asarray(getattr(self, name), dtype=np.float64), (self.n_records,))
            lowest = float(amounts.min(initial=np.inf))
            refuse_first((not lowest >= 0, f"{name} of the publisher is negative", None, lowest, "0 or more"))
            object.__setattr__(self, name, amounts)

    def __repr__(self) -> str:
        return f"RecordGame({self.space}, {type(self.adversary).__name__})"

    @property
    def n_records(self) -> int:
        """Number of records of the game's strategy space."""
        return self.space.n_records

    def with_strategies(self, strategies: Strategies) -> RecordGame:
        """Return the game of a release with these strategies.

        If linkage depends on the strategies of all records (`ReleaseLinker`), the linker is replaced by its linker for
        the release; otherwise, the game is equal. `strategies` (n_records,) holds -1 for withheld records.
        """
        return replace(self, linker=linker_of_release(self.linker, strategies))

    def tie(self, rows: Rows | None = None) -> Floats:
        """Return the tie tolerance of each record, or of `rows`, in currency units.

        Payoffs of the publisher closer than this count as equal. It is 1e-12 times benefit plus loss of the record;
        `rows` are record numbers.
        """
        of = slice(None) if rows is None else rows
        return np.asarray(INDIFFERENCE * (self.benefit[of] + self.loss[of]))

    def benefit_of(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return v(g), the benefit of sharing all records, or `rows`, under `strategy`.

        It is the publisher's payoff without an attack, in currency units per record: one entry for each of `rows`
        (record numbers).
        """
        benefit = self.benefit if rows is None else self.benefit[rows]
        return benefit * self.space.utility(strategy, rows)

    def outcome(self, strategy: int, rows: Rows | None = None) -> Outcome:
        """Return payoff, utility and the adversary's reply under `strategy`.

        The result, an `Outcome`, covers all records, or `rows` (record numbers), all shared under the same strategy.
        """
        response = self.adversary.respond(self.linker.link(strategy, rows), rows)
        utility = self.space.utility(strategy, rows)
        benefit, loss = (self.benefit, self.loss) if rows is None else (self.benefit[rows], self.loss[rows])
        return Outcome(benefit * utility - loss * response.reidentified, utility, response)


@dataclass(frozen=True)
class Constraint:
    """Constraint on the publisher's strategies.

    Parameters
    ----------
    no_attack : bool
        Allow only strategies under which an attack does not pay (the No-Attack game). An adversary who errs may attack
        such a strategy even so.
    minimum : ndarray of int64, shape (n_records,), optional
        Allow only strategies at least as protective as this one (for a Safe-Harbor-friendly game: Safe Harbor).
    admissible : AdmissibleGroups, optional
        Allow only strategies within the limits on sensitive attributes.
    """

    no_attack: bool = False
    minimum: Strategies | None = None
    admissible: AdmissibleGroups | None = None

    def allows(
        self, space: StrategySpace, strategy: int, invited: NDArray[np.bool_], rows: Rows | None = None
    ) -> NDArray[np.bool_]:
        """Return for which records the strategy is allowed, shape of `invited`.

        `invited` marks the records on which an attack pays, among all records, or `rows` (record numbers). `space`
        compares the strategy with the least protective ones (`minimum`).
        """
        allowed = ~invited if self.no_attack else np.ones(invited.shape, dtype=np.bool_)
        if self.minimum is not None:
            distinct, position = self._distinct_minima
            reached = space.at_least(strategy, distinct)
            allowed &= reached[position if rows is None else position[rows]]
        if self.admissible is not None:
            allowed &= self.admissible.at(strategy, rows)
        return allowed

    @cached_property
    def _distinct_minima(self) -> tuple[Strategies, Rows]:
        # Records share few minima, and every strategy is compared with them.
        distinct, position = np.unique(np.asarray(self.minimum), return_inverse=True)
        return distinct, position


def most_within(share: float, total: float) -> int:
    """Return the number of records in a share of all records, rounded down.

    The total is `total`, fewer than 10**11 records. A product within rounding below a whole number counts as this
    number.
    """
    # The factor corrects rounding: in binary floating point, 0.29 x 100 is slightly less than 29.
    return math.floor(share * total * (1 + 1e-12))


def shared_rows(strategies: Strategies) -> Iterator[tuple[int, Rows]]:
    """Yield each strategy in use and the numbers of its records, both ascending.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_records,)
        Strategy of each record; ``WITHHELD`` (-1) where it is not shared. These records are omitted.
    """
    order = np.argsort(strategies, kind="stable")
    in_order = strategies[order]
    ends = [*(np.flatnonzero(in_order[1:] != in_order[:-1]) + 1).tolist(), len(order)] if len(order) else []
    for begin, end in zip([0, *ends], ends, strict=False):
        strategy = int(in_order[begin])
        if strategy != WITHHELD:
            yield strategy, order[begin:end]


@dataclass(frozen=True)
class Choice:
    """The strategy that a solver or policy picked for each record.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_records,)
        ``WITHHELD`` (-1) where the record is not released, for example because no strategy satisfies the constraint.
    solver : str
        Name of the solver or policy.
    evaluated : ndarray of int64, shape (n_records,)
        Number of strategies whose payoff was computed.
    exact : bool
        Whether the choice is proved optimal.

    See Also
    --------
    RunResult : the outcome of the choices of all policies.

    Examples
    --------
    A policy of one's own returns a choice:

    >>> import numpy, reidsim
    >>> reidsim.Choice(numpy.array([0, 3, -1]), "rule", numpy.ones(3, dtype=int), exact=False).strategies.tolist()
    [0, 3, -1]
    """

    strategies: Strategies
    solver: str
    evaluated: NDArray[np.int64]
    exact: bool


@dataclass(frozen=True)
class Equilibrium:
    """Outcome of each record, arrays of shape (n_records,).

    Money is in currency units per record. A withheld record (strategy -1) is not shared: no benefit, no attack, utility
    0 and generalization intensity 1.

    Parameters
    ----------
    strategies : ndarray of int64
        The publisher's strategy; -1 where the record is withheld.
    publisher_payoff, adversary_payoff : ndarray of float64
        Expected payoffs.
    attacked : ndarray of bool
        Whether the adversary attacks, with certainty or with probability `frequency`.
    success_probability : ndarray of float64
        Probability that an attack would succeed, whether or not it is made; 0 if the record is withheld. With several
        adversaries, probability that the record is re-identified, given that any of them attacks.
    utility, generalization_intensity : ndarray of float64
        Share of the full benefit that the release keeps, and distance from sharing everything (0) towards sharing
        nothing (1); in [0, 1].
    solver : str
        Name of the solver or policy that chose the strategies.
    evaluated : ndarray of int64
        Number of strategies whose payoff the solver computed.
    exact : bool
        Whether the strategies are proved optimal under the publisher's beliefs.
    frequency : ndarray of float64, optional
        Probability of an attack (by any adversary) where `attacked`; 1, if not given.
    gap : ndarray of float64, optional
        Upper bound on the payoff that a better strategy could add, in currency units per record, if the solver computes
        one.
    attempts : Attempts, optional
        Attempts of each adversary given that it is present, with the amounts at stake, if known.
    """

    strategies: NDArray[np.int64]
    publisher_payoff: Floats
    adversary_payoff: Floats
    attacked: NDArray[np.bool_]
    success_probability: Floats
    utility: Floats
    generalization_intensity: Floats
    solver: str
    evaluated: NDArray[np.int64]
    exact: bool
    frequency: Floats | None = None
    gap: Floats | None = None
    attempts: Attempts | None = None

    def __repr__(self) -> str:
        return f"Equilibrium({len(self.strategies):,} records, {self.solver})"

    @property
    def withheld(self) -> NDArray[np.bool_]:
        """Whether each record is withheld (not released), shape (n_records,)."""
        return np.asarray(self.strategies == WITHHELD)

    @property
    def attack_probability(self) -> Floats:
        """Probability that each record is attacked, shape (n_records,); 0 if withheld."""
        return np.asarray(self.attacked if self.frequency is None else self.attacked * self.frequency, dtype=np.float64)

    @property
    def risk(self) -> Floats:
        """Probability that each record is attacked and re-identified, shape (n_records,)."""
        return np.asarray(self.attack_probability * self.success_probability)

    def expand(self, rows: Rows) -> Equilibrium:
        """Return the outcome with one entry per element of `rows` (record numbers).

        This expands, for example, an outcome by cell to an outcome by record. The result has no `attempts` (they are
        None).
        """
        arrays: dict[str, Any] = {name: array[rows] for name, array in arrays_of(self).items()}
        return replace(self, **arrays, attempts=None)


def evaluate(game: RecordGame, choice: Choice) -> Equilibrium:
    """Compute the outcome of the chosen strategies in a game.

    Parameters
    ----------
    game : RecordGame
        Game with the true parameters.
    choice : Choice
        Strategies, possibly chosen in a game with the publisher's beliefs.

    Returns
    -------
    Equilibrium
        `solver`, `evaluated` and `exact` are taken from the choice; `gap` is not computed.
    """
    n = game.n_records
    strategies = choice.strategies
    game = game.with_strategies(strategies)
    publisher, adversary, success, utility = np.zeros((4, n))
    attacked = np.zeros(n, dtype=np.bool_)
    frequency: Floats | None = None
    replies: list[tuple[Response, Rows]] = []

    for strategy, rows in shared_rows(strategies):
        outcome = game.outcome(strategy, rows)
        publisher[rows] = outcome.publisher_payoff
        adversary[rows] = outcome.response.adversary_payoff
        attacked[rows] = outcome.response.attacks
        success[rows] = outcome.response.success_of_attacks
        utility[rows] = outcome.utility
        replies.append((outcome.response, rows))
        if outcome.response.frequency is not None:
            frequency = np.ones(n) if frequency is None else frequency
            frequency[rows] = outcome.response.frequency

    intensity = game.space.generalization_intensity(np.maximum(strategies, 0))
    return Equilibrium(
        strategies=strategies,
        publisher_payoff=publisher,
        adversary_payoff=adversary,
        attacked=attacked,
        success_probability=success,
        utility=utility,
        generalization_intensity=np.where(strategies == WITHHELD, 1.0, intensity),
        solver=choice.solver,
        evaluated=choice.evaluated,
        exact=choice.exact,
        frequency=frequency,
        attempts=Attempts.of_replies(replies, game.loss),
    )


@dataclass(frozen=True, eq=False)
class Case:
    """Attempts given one set of adversaries.

    Money is in currency units; totals are over all people.

    Parameters
    ----------
    probability : float
        Probability that exactly these adversaries are present.
    people : Tries
        Re-identification of each person by any adversary, with the publisher's loss as amount.
    hits : Tries or None
        Attempts of each adversary on each person. The amount of a success is its payoff less the payoff of a failure;
        None if these amounts are unknown.
    kept : float
        The publisher's payoff if no person is re-identified.
    earned : float
        The adversaries' expected total payoff, net of costs.
    """

    probability: float
    people: Tries
    hits: Tries | None
    kept: float
    earned: float


@dataclass(frozen=True, eq=False)
class Attempts:
    """Attempts of each adversary, given that it is present.

    A row represents people with equal records; money is in currency units per person.

    Parameters
    ----------
    presence : Presence
        Distribution of the set of adversaries that is present.
    risk, payoff : ndarray of float64, shape (n_types, n_rows)
        Probability that the adversary attacks and re-identifies a person of each row, and its expected payoff; 0
        without an attack.
    attempted : ndarray of float64, shape (n_types, n_rows)
        Probability that the adversary attacks.
    gain : ndarray of float64, shape (n_types, n_rows), optional
        Payoff of a success less payoff of a failure; not given if unknown for any adversary.
    loss : ndarray of float64, shape (n_rows,)
        The publisher's loss per person re-identified.
    """

    presence: Presence
    risk: Floats
    payoff: Floats
    attempted: Floats
    gain: Floats | None
    loss: Floats

    @classmethod
    def of_one(cls, risk: Floats, payoff: Floats, gain: float | Floats | None, loss: float | Floats) -> Attempts:
        """Return the attempts of a single adversary who is always present.

        `risk` (probability that the adversary attacks and re-identifies a person) and `payoff` (its expected payoff)
        have shape (n_rows,). `gain` (payoff of a success less payoff of a failure, None if unknown) and `loss` (the
        publisher's, per person re-identified) have the same shape, or are one number for all rows. Amounts are in
        currency units per person. No attack is made at random: a row that is not attacked has a risk and payoff of 0.
        """
        gains = None if gain is None else np.broadcast_to(gain, risk.shape)[None]
        certain = np.ones((1, *risk.shape))
        return cls(Presence(), risk[None], payoff[None], certain, gains, np.broadcast_to(loss, risk.shape))

    @classmethod
    def of_replies(cls, replies: Sequence[tuple[Response, Rows]], loss: Floats) -> Attempts:
        """Return the attempts, given the same adversaries' replies to parts of the rows.

        `replies` holds pairs of a reply (with the replies of several types, if it has these) and the numbers of its
        rows. Rows without a reply are not attacked. `loss`, shape (n_rows,), is the publisher's loss per person
        re-identified, in currency units. Gains are None if any reply lacks them.
        """
        n_types = len(replies[0][0].by_type) if replies else 1

        def column(name: str) -> Floats:
            values = np.zeros((n_types, len(loss)))
            for response, rows in replies:
                for number, reply in enumerate(response.by_type):
                    values[number, rows] = getattr(reply, name)
            return values

        presence = replies[0][0].presence if replies else Presence()
        risk, payoff, attempted = map(column, ("reidentified", "adversary_payoff", "attack_probability"))
        known = all(reply.gain is not None for response, _ in replies for reply in response.by_type)
        return cls(presence, risk, payoff, attempted, column("gain") if known else None, loss)

    def expand(self, rows: Rows) -> Attempts:
        """Return the attempts on records, given the row of each record.

        In the result, each record is a row of its own. `rows` (n_records,) holds row numbers; -1 marks a record that is
        not shared: no attack, and a loss of 0.
        """
        there = rows >= 0

        def of_rows(values: Floats) -> Floats:
            spread = np.zeros((*values.shape[:-1], len(rows)))
            spread[..., there] = values[..., rows[there]]
            return spread

        gain = None if self.gain is None else of_rows(self.gain)
        risk, payoff, attempted = (of_rows(values) for values in (self.risk, self.payoff, self.attempted))
        return Attempts(self.presence, risk, payoff, attempted, gain, of_rows(self.loss))

    def cases(self, numbers: Counts, kept: float) -> Iterator[Case]:
        """Yield one `Case` per possible set of adversaries, with its probability.

        Parameters
        ----------
        numbers : ndarray of int64, shape (n_rows,)
            Number of people of each row.
        kept : float
            The publisher's total payoff if no person is re-identified, in currency units.
        """
        for probability, coming in self.presence.cases():
            who = list(coming)
            found = 1.0 - np.prod(1.0 - self.risk[who], axis=0) if len(who) != 1 else self.risk[who[0]]
            hits = None if self.gain is None else self._hits(who, self.gain[who], numbers)
            # A sum, because the threads of such a short dot product take many times as long on a busy machine.
            earned = float((self.payoff[who] * numbers).sum())
            yield Case(probability, Tries(found, numbers, self.loss), hits, kept, earned)

    def _hits(self, who: list[int], gain: Floats, numbers: Counts) -> Tries:
        """Return the attempts of the adversaries `who`, one group per adversary and row.

        `who` holds indices of adversary types; `gain`, shape (len(who), n_rows), is the payoff of a success less that
        of a failure, in currency units; `numbers` (n_rows,) is the number of people of each row. The payoff of a
        failure is given only if some attempts are made with a probability strictly between 0 and 1; it is 0 for the
        others. The groups are ordered by adversary, then by row.
        """
        risk, attempted, each = self.risk[who], self.attempted[who], np.tile(numbers, len(who))
        by_chance = (attempted > 0) & (attempted < 1)
        if not by_chance.any():
            return Tries(risk.ravel(), each, gain.ravel())
        paid = np.divide(self.payoff[who] - gain * risk, attempted, out=np.zeros_like(risk), where=by_chance)
        return Tries(risk.ravel(), each, gain.ravel(), attempted.ravel(), paid.ravel())


Weights = NDArray[np.int64]


def _mean(attribute: str, outcome: Equilibrium, weights: Weights) -> float:
    return float(np.average(getattr(outcome, attribute), weights=weights))


def _share(intensity: float, outcome: Equilibrium, weights: Weights) -> float:
    return float(np.average(outcome.generalization_intensity == intensity, weights=weights))


def _risk_if_attacked(outcome: Equilibrium, weights: Weights) -> float:
    attacks = weights * outcome.attack_probability
    return float(np.average(outcome.success_probability, weights=attacks)) if attacks.sum() > 0 else np.nan


# Other averages are means of the outcome's attribute of the same name.
_COMPUTED: dict[str, Callable[[Any, Weights], float]] = {
    "share_attacked": partial(_mean, "attack_probability"),
    "risk_if_attacked": _risk_if_attacked,
    "share_unchanged": partial(_share, 0.0),
    "share_suppressed": partial(_share, 1.0),
}
_WORDED = {part: measures_worded(words) for part, words in read_toml(Path(__file__).with_name("measures.toml")).items()}
MEASURES = tuple(
    replace(measure, compute=_COMPUTED.get(column, partial(_mean, column)))
    for column, measure in _WORDED["averages"].items()
)
PUBLISHER_PAYOFF, ADVERSARY_PAYOFF, UTILITY, GENERALIZATION_INTENSITY, SHARE_ATTACKED, RISK, *_ = MEASURES
REIDENTIFIED = tuple(_WORDED["reidentified"].values())
ANY_REIDENTIFIED, *_, PUBLISHER_CVAR, ADVERSARY_CVAR = REIDENTIFIED
RISK_QUANTILE, HOUSEHOLD_RISK, REGRET = _WORDED["some"].values()
SUCCESS_PROBABILITY, RECORD_RISK = _WORDED["record"].values()


def averages(outcome: Equilibrium, weights: Weights) -> dict[str, float]:
    """Return each measure of `MEASURES` for an outcome, by column name.

    Values are averages over records, one number per measure. Payoffs are in currency units per record.
    ``risk_if_attacked`` is missing (NaN) if no record is attacked.

    Parameters
    ----------
    outcome : Equilibrium
        Arrays of shape (n_rows,); a row represents one or several equal records.
    weights : ndarray of int64, shape (n_rows,)
        Number of records of each row.

    Returns
    -------
    dict of str to float
    """
    return {measure.column: measure.compute(outcome, weights) for measure in MEASURES if measure.compute}


# Conditional value at risk is the mean payoff over this share of outcomes, the worst ones.
WORST = 0.05
# Quantiles of the number of people re-identified, by column.
LEVELS = {"reidentified_median": 0.5, "reidentified_95": 0.95, "reidentified_99": 0.99}
# Probabilities below this are rounding error.
_NEGLIGIBLE = 1e-15


@dataclass(frozen=True, eq=False)
class Reidentified:
    """Distributions of the number of people re-identified and of total payoffs.

    Payoffs are random because attempts succeed or fail, and because the set of adversaries may be random.

    Parameters
    ----------
    n : int
        Number of people.
    people : Distribution
        Distribution of the number of people re-identified.
    publisher, adversary : Distribution or None
        Distributions of total payoffs over all people, in currency units; None if the amounts at stake are unknown.
    lost : float or None
        The publisher's expected total loss from re-identification, in currency units; None if unknown.
    """

    n: int
    people: Distribution
    publisher: Distribution | None
    adversary: Distribution | None
    lost: float | None = None

    def measures(self) -> dict[str, float]:
        """Return the measures of re-identified people and of payoffs, by column.

        They are the probability that any person is re-identified, quantiles of the number of people re-identified
        (`LEVELS`), and the conditional value at risk of the publisher's and the adversary's payoffs (mean over the 5%
        lowest payoffs), in currency units per person; missing (NaN) if the amounts are unknown. If payoffs are
        simulated, columns ``..._standard_error`` are added.
        """
        found = {ANY_REIDENTIFIED.column: self.people.any}
        found |= {column: self.people.quantile(level) for column, level in LEVELS.items()}
        for measure, payoff in ((PUBLISHER_CVAR, self.publisher), (ADVERSARY_CVAR, self.adversary)):
            found[measure.column] = np.nan if payoff is None else payoff.mean_of_lowest(WORST) / self.n
            if payoff is not None and payoff.drawn:
                found[f"{measure.column}_standard_error"] = payoff.standard_error(WORST) / self.n
        return found


def reidentified(n: int, cases: Iterable[Case], rng: Callable[[], np.random.Generator]) -> Reidentified:
    """Return the distributions, given one case per possible set of adversaries.

    They are the distributions of the number of people re-identified and of total payoffs. The adversary's distribution
    is None if any case lacks its attempts (`hits`).

    Parameters
    ----------
    n : int
        Number of people.
    cases : iterable of Case
        Mutually exclusive cases whose probabilities sum to 1.
    rng : callable
        Returns the random generator. It is called only if payoffs must be simulated, see `Tries.payoffs`.
    """
    weights: list[float] = []
    parts: list[Reidentified] = []
    for case in cases:
        people = successes(case.people.chance, case.people.numbers)
        lost = case.people.payoffs(rng, people)
        adversary = None
        if case.hits is not None:
            # Costs of purchases and of attempts made with certainty are constant, so they shift the distribution.
            adversary = case.hits.payoffs(rng).shifted(case.earned - case.hits.expected)
        weights.append(case.probability)
        parts.append(Reidentified(n, people, lost.shifted(case.kept, -1.0), adversary, case.people.expected))
    return mixed(parts, weights)


def mixed(parts: Sequence[Reidentified], weights: Sequence[float] | None = None) -> Reidentified:
    """Return the mixture of the distributions of several parts.

    The parts are about the same people, for example in rounds of a game or random draws of its inputs. An amount that
    is unknown in one part is unknown (None) in the mixture. A single part is returned unchanged.

    Parameters
    ----------
    parts : sequence of Reidentified
        One part or more.
    weights : sequence of float, optional
        Probability of each part; the sum is 1. Equal probabilities, if not given.
    """
    if len(parts) == 1:
        return parts[0]
    weights = [1.0 / len(parts)] * len(parts) if weights is None else weights
    publisher = [part.publisher for part in parts if part.publisher is not None]
    adversary = [part.adversary for part in parts if part.adversary is not None]
    lost = [weight * part.lost for weight, part in zip(weights, parts, strict=True) if part.lost is not None]
    return Reidentified(
        parts[0].n,
        mixture(weights, [part.people for part in parts]),
        mixture(weights, publisher) if len(publisher) == len(parts) else None,
        mixture(weights, adversary) if len(adversary) == len(parts) else None,
        sum(lost) if len(lost) == len(parts) else None,
    )


def reidentified_in(equilibrium: Equilibrium, weights: Counts, rng: Callable[[], np.random.Generator]) -> Reidentified:
    """Return the distributions of people re-identified and payoffs in an equilibrium.

    `weights`, ndarray of int64, shape (n_rows,), is the number of people of each row of the equilibrium; `rng` returns
    the random generator, see `reidentified`. Without `attempts` in the equilibrium, people are taken to be
    re-identified independently, and payoffs and loss are None.
    """
    attempts, n = equilibrium.attempts, int(weights.sum())
    if attempts is None:
        return Reidentified(n, successes(equilibrium.risk, weights), None, None)
    kept = float(((equilibrium.publisher_payoff + attempts.loss * equilibrium.risk) * weights).sum())
    return reidentified(n, attempts.cases(weights, kept), rng)


def measures_table(found: dict[str, Reidentified]) -> pd.DataFrame:
    """Return `Reidentified.measures` of several policies as a DataFrame.

    `found` holds the distributions by name of the policy. There is one row per policy, in the order of `found`, and one
    column per measure; standard errors that a policy does not have are missing (NaN).
    """
    rows = [each.measures() for each in found.values()]
    columns = list(dict.fromkeys([*columns_of(REIDENTIFIED), *(column for row in rows for column in row)]))
    return pd.DataFrame(rows, index=pd.Index(list(found), name="policy"), columns=columns)


def distribution_table(found: dict[str, Reidentified]) -> pd.DataFrame:
    """Return the distribution of the number of people re-identified, by policy.

    Parameters
    ----------
    found : dict of str to Reidentified
        Distributions by name of the policy; one policy or more.

    Returns
    -------
    DataFrame
        One row per policy and number of people whose probability is above 1e-15. Columns: ``policy``, ``people``,
        ``probability``, and ``at_most``, the probability that at most this number is re-identified.
    """
    parts = []
    for policy, each in found.items():
        people = each.people
        kept = people.masses > _NEGLIGIBLE
        columns = {"people": people.values, "probability": people.masses, "at_most": people.at_most}
        parts.append(pd.DataFrame({"policy": policy, **{name: values[kept] for name, values in columns.items()}}))
    table = pd.concat(parts, ignore_index=True)
    return table.astype({"policy": "category"})
