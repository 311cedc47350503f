"""The planner ``testing``: an adversary who tests a list with a batch of attempts before further attacks.

An attempt succeeds if the list's entry of the record's person is correct (probability: the match rate) and the guess
among the believed group is right. The adversary does not know the match rate; each batch updates its belief by Bayes'
rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy
from pydantic import Field

from reidsim.adversaries.response import (
    AMOUNTS_BY_RECORD,
    EVERYBODY,
    EXPECTED_PAYOFF,
    GAINS,
    INDIFFERENCE,
    Amount,
    Attempt,
    Linkage,
    PlanLinkage,
    Planner,
    Register,
    Weighing,
    chance_of_guess,
    of_rows,
    planners,
)
from reidsim.core.numerics import dot
from reidsim.core.validation import ReadIf, Section
from reidsim.linkage.totals import weight_by_value
from reidsim.populations.population import Money, Share, distinct_rows
from reidsim.releases.lattice import Floats, Rows

# Largest number of match rates that represent a belief. The posterior after n attempts has a standard deviation of at
# most 1 / (2 sqrt(n)). Up to some ten thousand attempts, the points are at most a few standard deviations apart.
_MOST_RATES = 501

_WITH_TESTS = ReadIf(lambda section, scenario: section.tests > 0, "with tests of 1 or more")
_WITH_LISTS = ReadIf(
    lambda section, scenario: section.tests > 0 and getattr(scenario, "agents", None) is None,
    "with tests of 1 or more and without a section agents, where the lists are resources to buy",
)


class ListTestingSection(Section):
    """Parameters of planner `testing`: an adversary who tests which share of a list's entries is correct.

    Attributes
    ----------
    tests
        number of attempts in a batch, after which the adversary decides again; 0: it decides once
    records
        number of records, equal to the one considered, that the adversary attacks with a list if it never stops
    expected_match_rate
        mean of the adversary's belief, a Beta distribution, about a list's share of correct entries
    experience
        number of attempts to which the belief is equivalent: the sum of the two parameters of the Beta distribution
    match_rate
        true share of correct entries in every list; default: drawn from the distribution that the adversary believes
    lists
        number of lists: the first one is held, the others can be bought one after the other
    price
        price of each list after the first
    """

    tests: Annotated[int, Field(ge=0, le=200)] = 10
    records: Annotated[int, Field(ge=1, le=200), _WITH_TESTS] = 100
    expected_match_rate: Annotated[float, Field(gt=0, lt=1)] = 0.5
    experience: Annotated[float, Field(gt=0, le=1000), _WITH_TESTS] = 2.0
    match_rate: Share | None = None
    lists: Annotated[int, Field(ge=1, le=10), _WITH_LISTS] = 1
    price: Annotated[Money, ReadIf(lambda section, scenario: section.lists > 1, "with lists of 2 or more")] = 0.0

    @property
    def batch(self) -> int:
        """Number of attempts before the next decision: all if the adversary decides once."""
        return min(self.tests or self.records, self.records)


class MatchRates(NamedTuple):
    """A distribution of the match rate, on points that integrate its polynomials exactly.

    Attributes
    ----------
    rates : ndarray of float64, shape (n_rates,)
        Match rates.
    believed, true : ndarray of float64, shape (n_rates,)
        Probability of each rate, as the adversary believes and in truth.
    """

    rates: Floats
    believed: Floats
    true: Floats

    @property
    def means(self) -> tuple[float, float]:
        """Mean of the match rate, as the adversary believes and in truth."""
        return dot(self.rates, self.believed), dot(self.rates, self.true)


@dataclass(frozen=True)
class MatchRateBelief:
    """Belief about the match rate of a list: a Beta distribution, updated by Bayes' rule.

    Parameters
    ----------
    section : ListTestingSection
        Parameters of the prior.
    successes : float
        Number of successful attempts so far; expected numbers are allowed.
    failures : tuple of (float, float)
        Success probability of an attempt if the entry is correct, and number of failed attempts with it.
    """

    section: ListTestingSection
    successes: float = 0.0
    failures: tuple[tuple[float, float], ...] = ()

    def after(self, chance: Floats, attempts: Floats, successes: Floats) -> MatchRateBelief:
        """Return the belief after attempts with some success probabilities if the entry is correct."""
        chances, failed = (np.array(each) for each in zip((0.0, 0.0), *self.failures, strict=True))
        values, numbers = weight_by_value(np.append(chances, chance), np.append(failed, attempts - successes))
        failures = tuple(zip(values.tolist(), numbers.tolist(), strict=True))
        return replace(self, successes=self.successes + float(successes.sum()), failures=failures)


@lru_cache(1024)
def match_rates(belief: MatchRateBelief) -> MatchRates:
    """Return the distribution of the match rate on points, exact for an attack on `records` records.

    The likelihood of k successes in t attempts is a polynomial of degree t in the match rate, so that Gauss-Jacobi
    quadrature with more than t / 2 points computes its mean exactly.
    """
    section = belief.section
    correct = section.expected_match_rate * section.experience
    degree = section.records + belief.successes + sum(number for _, number in belief.failures)
    size = min(int(degree) // 2 + 1, _MOST_RATES)
    # scipy evaluates a formula where it does not use it, and a weight can be 0 in double precision.
    with np.errstate(divide="ignore", invalid="ignore"):
        points, weights = scipy.special.roots_jacobi(size, section.experience - correct - 1, correct - 1)
        log = np.log(weights)
    rates = (1.0 + points) / 2.0
    log = log + belief.successes * np.log(rates)
    for chance, number in belief.failures:
        log = log + number * np.log1p(-chance * rates)
    believed = np.exp(log - log.max())
    believed /= believed.sum()
    if section.match_rate is None:
        return MatchRates(rates, believed, believed)
    certain = np.append(np.zeros(len(rates)), 1.0)
    return MatchRates(np.append(rates, section.match_rate), np.append(believed, 0.0), certain)


class Campaign(NamedTuple):
    """Expected totals of an attack on equal records, as numbers or arrays of shape (n_records,).

    Attributes
    ----------
    value : float
        Payoff as the adversary believes, in currency units.
    attempts, matches, bought : float
        Number of attempts, of attempts with a correct entry, and of lists bought, in truth.
    believed_matches : float
        Number of attempts with a correct entry, as the adversary believes.
    """

    value: Any
    attempts: Any
    matches: Any
    bought: Any
    believed_matches: Any


_STOPPED = Campaign(0.0, 0.0, 0.0, 0.0, 0.0)
_NEVER = _STOPPED._replace(value=-np.inf)


def _attempt(gain: Any, cost: Any, chance: Any, *shares: Any) -> Floats:
    """Return the totals of one attempt at each record, as an array with the rows of `Campaign`.

    `shares` are the probabilities that the attempt is made, as believed and in truth, and that it is made with a
    correct entry, in truth and as believed; `chance` is the probability of success if the entry is correct.
    """
    made, made_truly, matches, believed_matches = shares
    return np.array([gain * chance * believed_matches - cost * made, made_truly, matches, 0 * made, believed_matches])


@lru_cache(100_000)
def campaign(belief: MatchRateBelief, chance: float, gain: float, cost: float, lists: int, left: int) -> Campaign:
    """Return the totals of the best attack that starts with a batch of attempts.

    Backward induction on the successes k among the t attempts so far: after each batch, the adversary continues, buys
    the next list for the records left, or stops. The totals of a state are multiplied by the probability of one order
    of its successes and failures, under the belief and in truth. So no division by this probability is needed.

    Parameters
    ----------
    belief : MatchRateBelief
        Belief about the list held. Further lists have its prior.
    chance : float
        Probability that an attempt succeeds if the entry is correct.
    gain, cost : float
        Gain from a success and cost of an attempt, in currency units.
    lists : int
        Number of lists, with the one held.
    left : int
        Number of records that have not been attacked.
    """
    section, (rates, believed, true) = belief.section, match_rates(belief)
    weights, hit = np.stack([believed, true, true * rates, believed * rates], axis=1), rates * chance
    later = np.zeros((5, left + 1))
    for tried in reversed(range(0, left, section.batch)):
        successes, number = np.arange(tried + 1)[:, None], min(section.batch, left - tried)
        shares = (hit**successes * (1.0 - hit) ** (tried - successes) @ weights).T
        ways = np.array([comb(number, more) for more in range(number + 1)], dtype=np.float64)
        following = np.lib.stride_tricks.sliding_window_view(later, number + 1, axis=1) @ ways
        onward = number * _attempt(gain, cost, chance, *shares) + following
        # The first batch is made in any case.
        other = _next_list(section, chance, gain, cost, lists - 1, left - tried) if tried else _NEVER
        otherwise = np.array(other)[:, None] * shares[[0, 1, 1, 1, 0]]
        pays = onward[0] > otherwise[0] * (1.0 + INDIFFERENCE) + INDIFFERENCE * cost * number * shares[0]
        later = np.where(pays, onward, otherwise)
    return Campaign(*later[:, 0].tolist())


def _next_list(section: ListTestingSection, chance: float, gain: float, cost: float, lists: int, left: int) -> Campaign:
    """Return the totals of buying the next list, or of stopping; see `campaign`.

    `lists` is the number of lists for sale.
    """
    if lists:
        bought = campaign(MatchRateBelief(section), chance, gain, cost, lists, left)
        if bought.value > section.price * (1.0 + INDIFFERENCE):
            return bought._replace(value=bought.value - section.price, bought=bought.bought + 1.0)
    return _STOPPED


@planners.register("testing")
@dataclass(eq=False)
class ListTester(Planner, Weighing):
    """Adversary who tests a list with batches of attempts, and then continues, buys the next list, or stops.

    A reply contains the whole policy in expectation. Each record is considered as one of `records` equal
    records, so that the reply to a record does not depend on other records. The number of exploits is the probability
    that the record is attacked before the adversary stops; it is below 1 for a list that may be abandoned. Decisions
    and their probabilities follow the believed group size; a success follows the true one.

    In rounds, the adversary attacks at most `tests` records with a list that it has not tested. It learns from
    the outcomes of each round. With every plan, it holds the list or buys one for sale, whichever has the higher
    expected payoff; a purchase brings back the prior. The last round is played in expectation, as above.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record.
    belief : MatchRateBelief
        Belief about the list held.
    tested : float
        Number of attempts with the list held, in earlier rounds.
    by_round : bool
        Whether an attack is one attempt in this round, and not an attack in batches.
    """

    label = "the adversary who tests a list"
    provides = frozenset({EXPECTED_PAYOFF, GAINS, AMOUNTS_BY_RECORD})
    keys = ("testing",)
    compared = False
    decides_on = frozenset({"believed_group_sizes", "plan_believed", "plans", "prices"})

    gain: float | Floats
    cost: float | Floats
    belief: MatchRateBelief
    tested: float = 0.0
    by_round: bool = False

    @classmethod
    def make(cls, section: Any, gain: Amount, cost: Amount, register: Register = EVERYBODY) -> ListTester:
        """Return the `ListTester` with the prior of ``section.testing``; see `Planner.make`."""
        return cls(gain, cost, MatchRateBelief(section.testing))

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return an `Attempt`: the attack on each record that starts with a batch, or in a round, one attempt.

        For the parameters see `Adversary.respond`. Of a multi-stage attack, the plan with the highest payoff of a
        single attempt is used.
        """
        mean, true_mean = match_rates(self.belief).means
        gain, cost = of_rows(self.gain, rows), of_rows(self.cost, rows)
        if isinstance(linkage, PlanLinkage):
            plan = linkage.best_plan(mean * gain), np.arange(linkage.plan_believed.shape[1])
            success, chance = linkage.plan_success[plan], linkage.plan_believed[plan]
            cost = cost + linkage.prices[plan[0]]
        else:
            success, chance = chance_of_guess(linkage.group_sizes), chance_of_guess(linkage.believed_group_sizes)
        each = self._campaigns(*np.broadcast_arrays(chance, gain, cost))
        pays = np.asarray(each.value > INDIFFERENCE * cost)
        if self.by_round:
            return replace(Attempt.single(true_mean * success, mean * chance, gain, cost), pays=pays)
        payoff = gain * success * each.matches - cost * each.attempts - self.belief.section.price * each.bought
        found = each.matches * success, each.believed_matches * chance
        return Attempt(*found, each.value, payoff, pays, each.attempts, gain)

    def _campaigns(self, chance: Floats, gain: Floats, cost: Floats) -> Campaign:
        """Return the expected totals of the attack on each record, divided by the number of records; see `campaign`."""
        section, ones, (mean, true_mean) = self.belief.section, np.ones(len(chance)), match_rates(self.belief).means
        # If a success does not pay even with correct entries, no batch follows the first.
        totals = section.batch * _attempt(gain, cost, chance, ones, ones, true_mean * ones, mean * ones)
        further = np.flatnonzero(gain * chance > cost)
        columns = [np.unique(each[further], return_inverse=True)[1].ravel() for each in (chance, gain, cost)]
        first, kind = distinct_rows(columns, len(further))
        amounts = zip(*(each[further[first]].tolist() for each in (chance, gain, cost)), strict=True)
        found = [campaign(self.belief, *each, section.lists, section.records) for each in amounts]
        totals[:, further] = np.array(found).reshape(-1, len(totals)).T[:, kind]
        return Campaign(*(totals / section.records))

    def plan(self, observation: Any) -> Any:
        """Return the purchases and attacks of a round; see `Planner.plan`."""
        section, profile = self.belief.section, observation.profile
        untold = section.model_copy(update={"match_rate": None})

        def seen(planner: ListTester) -> Any:
            return replace(observation, reply=lambda holds: observation.reply(holds, planner))

        def hoped(planner: ListTester, buys: tuple[str, ...] = ()) -> Any:
            # The payoff that the adversary expects does not depend on the true match rate.
            return seen(replace(planner, belief=replace(planner.belief, section=untold))).plan(buys)

        planner, best = self, hoped(self)
        fresh = replace(self, belief=MatchRateBelief(section), tested=0.0)
        for name in (name for name, price in observation.offers.items() if price <= profile.budget):
            plan = hoped(fresh, (name,))
            if plan.worth > best.worth + INDIFFERENCE * (abs(best.worth) + plan.spent):
                planner, best = fresh, plan
        planner = replace(planner, by_round=observation.rounds_left > 1 and section.tests > 0)
        observed, untested = seen(planner), section.tests - planner.tested
        # Expected numbers of attempts are fractions; less than one attempt left does not count as a test.
        if planner.by_round and untested >= 1:
            budget = min(profile.budget, best.spent + untested * profile.cheapest)
            observed = replace(observed, profile=replace(profile, budget=budget))
        best = replace(observed.plan(best.buys), worth=best.worth)
        # `observe` follows the plan of the same round; any other plan is replaced before.
        gained = best.replies.worth + best.replies.outlay + profile.expected_fine
        self.last = planner, gained / max(profile.gain * match_rates(planner.belief).means[0], np.finfo(float).tiny)
        return best

    def observe(self, outcome: Any) -> None:
        """Update the belief about the list with the outcomes of a round's attempts; see `Planner.observe`."""
        (planner, chance), tried = self.last, outcome.attempts > 0
        self.belief, self.tested = planner.belief, planner.tested + float(outcome.attempts.sum())
        if planner.by_round and tried.any():
            # Chances of the same group size that differ by rounding are equal.
            chances = np.round(chance[tried], 12)
            self.belief = planner.belief.after(chances, outcome.attempts[tried], outcome.successes[tried])
