"""Outcomes of the publisher's choices, and their measures.

An outcome includes the attempts to re-identify people, by the set of adversaries that is present. Given this set,
attempts on different people are independent. The set is the same for all people, so attempts are dependent without this
condition, and the distribution of a total is a mixture, over the possible sets, of sums of independent attempts.

Measures of an outcome are means over records (`MEASURES`), and distributions of the number of people re-identified
(`REIDENTIFIED`). They are registered in this module; their labels, formats and definitions are in `measures.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import Presence, Response, arrays_of
from reidsim.core.errors import InputError, refuse_first
from reidsim.core.files import read_toml
from reidsim.core.parameters import made
from reidsim.core.registry import installed
from reidsim.core.wording import WORDS, Measure, columns_of, measures_worded
from reidsim.games.record_game import WITHHELD, Choice, RecordGame, shared_rows
from reidsim.linkage.totals import Distribution, Tries, mixture, successes
from reidsim.populations.population import Counts
from reidsim.releases.lattice import Floats, Rows


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
        currency units per person. Attacks are not random, so that `attempted` is 1 in every row; the arguments `risk`
        and `payoff` must be 0 in rows that are not attacked.
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
    found = outcome.generalization_intensity
    # Perturbed records have no intensity.
    return float(np.average(np.where(np.isnan(found), np.nan, found == intensity), weights=weights))


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
# Entry point group of measures of installed packages and of the user.
OWN_MEASURES = "reidsim.measures"


def own_measure(name: str, part: Any, values: Mapping[str, Any]) -> Measure:
    """Return a user-defined measure.

    Parameters
    ----------
    name : str
        Column of result tables.
    part : object or class
        Object, or the class of one, with the texts ``label``, ``format`` and ``definition`` and a method
        ``compute(outcome, weights)``; see `Measure`.
    values : mapping of str to object
        Parameters of the class by name.

    Raises
    ------
    InputError
        If one of them is missing, or a parameter is invalid.
    """
    found = made(part, "compute", values, f"measures.parameters.{name}") if callable(part) else part
    texts: dict[str, Any] = {text: getattr(found, text, None) for text in WORDS[1:]}
    for text, value in texts.items():
        missing, where = not isinstance(value, str), f"measure {name!r}"
        refuse_first((missing, f"the measure has no {text}", where, value, f"an attribute {text!r} with a text"))
    if not callable(getattr(found, "compute", None)):
        expected = "a method compute(outcome, weights)"
        raise InputError("not a measure", where=f"measure {name!r}", found=found, expected=expected)

    def compute(outcome: Equilibrium, weights: Weights) -> float:
        try:
            return float(found.compute(outcome, weights))
        except Exception as error:
            raise InputError(f"{type(error).__name__}: {error}", where=f"measure {name!r}") from error

    return Measure(name, **texts, compute=compute)


def own_measures(parameters: Mapping[str, Mapping[str, Any]] | None = None) -> tuple[Measure, ...]:
    """Return the measures of installed packages, and the measures that the user registered.

    `parameters` are the parameters of measures, by name of the measure.
    """
    given = parameters or {}
    return tuple(own_measure(name, part.load(), given.get(name, {})) for name, part in installed(OWN_MEASURES).items())


def averages(outcome: Equilibrium, weights: Weights, parameters: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return each measure of `MEASURES` and each user-defined measure for an outcome, by column name.

    Values are averages over records, one number per measure. Payoffs are in currency units per record.
    ``risk_if_attacked`` is missing (NaN) if no record is attacked.

    Parameters
    ----------
    outcome : Equilibrium
        Arrays of shape (n_rows,); a row represents one or several equal records.
    weights : ndarray of int64, shape (n_rows,)
        Number of records of each row.
    parameters : mapping of str to mapping
        Parameters of user-defined measures, by name of the measure.

    Returns
    -------
    dict of str to float
    """
    measures = (*MEASURES, *own_measures(parameters))
    return {measure.column: measure.compute(outcome, weights) for measure in measures if measure.compute}


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
    """Return the distributions of people re-identified (number) and of total payoffs.

    They are mixtures over the possible sets of adversaries, one case each. The distribution of the adversary's payoff
    is None if any case has ``hits=None``.

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
        lost = case.people.payoffs(rng)
        adversary = None
        if case.hits is not None:
            # Costs of purchases and of attempts made with certainty are constant, so they shift the distribution.
            adversary = case.hits.payoffs(rng).shifted(case.earned - case.hits.expected)
        weights.append(case.probability)
        parts.append(
            Reidentified(n, case.people.successes, lost.shifted(case.kept, -1.0), adversary, case.people.expected)
        )
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

    def combined(name: str, combine: Callable[[Any, Any], Any]) -> Any:
        amounts = [getattr(part, name) for part in parts]
        return None if any(each is None for each in amounts) else combine(weights, amounts)

    return Reidentified(
        parts[0].n,
        people=combined("people", mixture),
        publisher=combined("publisher", mixture),
        adversary=combined("adversary", mixture),
        lost=combined("lost", lambda shares, amounts: sum(np.multiply(shares, amounts).tolist())),
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
    return pd.concat(parts, ignore_index=True).astype({"policy": "category"})
