"""Plans of a sequential attack, and the planner ``fmdp``: access, link, exploit in turn, stop.

Group sizes are known before access, or only their distribution is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import ceil
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.adversaries.response import (
    EVERYBODY,
    EXPECTED_PAYOFF,
    GAINS,
    Amount,
    Attempt,
    Linkage,
    PlanLinkage,
    Planner,
    Register,
    Weighing,
    arrays_of,
    one_over,
    planners,
    whole_candidates,
)
from reidsim.adversaries.sequential.attack import (
    _MOST_PROGRAM_STATES,
    ExploitValues,
    Floats,
    SequentialAttack,
    Sizes,
    UnconfirmedSuccess,
    checked_group_sizes,
    exploit_values,
    program_values,
    unconfirmed_values,
)
from reidsim.core.errors import InputError
from reidsim.core.numerics import compiled
from reidsim.linkage.totals import reach_of
from reidsim.releases.lattice import Rows


@dataclass(frozen=True)
class Plan:
    """Plan for each record; arrays of equal shape.

    `value`, `true_payoff` and `worth` are in currency units per record.

    Parameters
    ----------
    value : ndarray of float64
        V(x_0), the initial expected payoff under the adversary's belief: `worth` where `pays` is true, else 0.
    accesses : ndarray of bool
        Whether the adversary accesses the registry: equal to `pays`, unless the decision was passed in. In that case,
        it can be true where access brings nothing or a loss.
    reidentified : ndarray of float64
        P_reid: probability that the adversary re-identifies the record, given the true group size (Eq. 5); 0 without
        access.
    exploits : ndarray of float64
        Expected number of exploits (people the adversary acts against), given the true group size; 0 without access.
    true_payoff : ndarray of float64
        Expected discounted payoff of the plan, given the true group size; 0 without access, and below 0 if access is a
        loss.
    worth : ndarray of float64
        Expected payoff of access under the adversary's belief, with or without access; below 0 for a loss.
    pays : ndarray of bool
        Whether `worth` is positive by more than the tie tolerance, ``attack.indifference``.
    """

    value: Floats
    accesses: NDArray[np.bool_]
    reidentified: Floats
    exploits: Floats
    true_payoff: Floats
    worth: Floats
    pays: NDArray[np.bool_]


@dataclass(frozen=True)
class BinomialBelief:
    """Binomial belief about group sizes (Eq. 6).

    Before access, the adversary believes that a record's group size in the registry is Binomial(n, P(r[QI])). It knows
    the registry's size and the share of people who match; the person of the record need not be in the registry.

    Parameters
    ----------
    registry_size : int
        n, number of people in the registry.
    match_probability : ndarray of float64
        P(r[QI]): share of the population with the record's values.

    Raises
    ------
    InputError
        If the registry size is negative, or a match probability is not in [0, 1].

    See Also
    --------
    plan_unknown : plan with this belief.

    References
    ----------
    Xia et al. 2015, Process-Driven Data Privacy, CIKM. https://doi.org/10.1145/2806416.2806580

    Examples
    --------
    >>> import numpy, reidsim
    >>> reidsim.BinomialBelief(registry_size=1000, match_probability=numpy.array([0.001, 0.02]))
    BinomialBelief(registry_size=1000, match_probability=array([0.001, 0.02 ]))
    """

    registry_size: int
    match_probability: Floats

    def __post_init__(self) -> None:
        if self.registry_size < 0:
            raise InputError("registry size is negative", found=self.registry_size)
        share = np.asarray(self.match_probability)
        if share.size and not (share.min() >= 0 and share.max() <= 1):
            worst = share[~((share >= 0) & (share <= 1))].flat[0].item()
            raise InputError("probability out of range", where="match probability", found=worst, expected="0 to 1")


def plan_known(
    attack: SequentialAttack,
    group_sizes: NDArray[np.number],
    *,
    accesses: NDArray[np.bool_] | None = None,
    signal: UnconfirmedSuccess | None = None,
) -> Plan:
    """Plan when the group size in the registry is known at the outset.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    group_sizes : ndarray
        Number of matching records in the registry, whole numbers of 0 or more, any shape.
    accesses : ndarray of bool, optional
        Whether the adversary accesses the registry, if this was decided under another belief. Default: access where
        `Plan.pays` is true.
    signal : UnconfirmedSuccess, optional
        Signal that replaces the observation of an exploit's success; `reidentified` is then the probability of
        claiming the right person.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If a group size is not a whole number of 0 or more, or group sizes are too large for the solver.

    See Also
    --------
    plan_unknown : plan before the group size is known.
    SequentialAttack : parameters of the attack.

    References
    ----------
    Xia et al. 2015, Process-Driven Data Privacy, CIKM. https://doi.org/10.1145/2806416.2806580

    Examples
    --------
    >>> import reidsim
    >>> attack = reidsim.SequentialAttack(gain=300, access_cost=20, exploit_cost=10)
    >>> reidsim.plan_known(attack, [1, 5, 50]).value.round(2).tolist()
    [190.6, 137.83, 0.0]
    """
    sizes = checked_group_sizes(group_sizes)
    return _plan(attack, sizes, _values(attack, sizes, signal), None, accesses)


def plan_listed(
    attack: SequentialAttack, group_sizes: NDArray[np.number], among: NDArray[np.bool_], planned: Plan
) -> Plan:
    """Plan like `plan_known`, with outcomes that depend on the true members.

    The registry's members are unknown to the adversary, so the plan depends only on the attack's prior. The expected
    outcome of the plan is a mixture: with probability `prior`, the record's person is one of the group, each member
    equally likely; otherwise, the person is missing. The mean if the person is in the group therefore follows from the
    overall mean and the mean if the person is missing.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    group_sizes : ndarray, shape (n,)
        Number of matching records in the registry, whole numbers of 0 or more.
    among : ndarray of bool, shape (n,)
        Whether the record's person is one of the matching people.
    planned : Plan
        Result of `plan_known` for the same attack and group sizes.

    Returns
    -------
    Plan
        `planned`, with `reidentified`, `exploits` and `true_payoff` conditional on `among`.

    Raises
    ------
    InputError
        If a group size is not a whole number of 0 or more, or group sizes are too large for the solver.
    """
    sizes = checked_group_sizes(group_sizes)
    values = _values(attack, sizes)
    links = planned.accesses & (value_after_access(attack, values) > 0)
    value, mean, tries, missing = (
        np.where(links, each, 0.0)
        for each in (values.value, values.expected_exploits, values.exploits_if_missing, values.value_if_missing)
    )

    def given_membership(mean: Floats, if_not_among: Floats) -> Floats:
        return np.where(among, (mean - (1.0 - attack.prior) * if_not_among) / attack.prior, if_not_among)

    linked = np.where(links, attack.discount * given_membership(value, missing) - attack.link_cost, 0.0)
    return replace(
        planned,
        reidentified=np.where(among, tries / np.maximum(sizes, 1), 0.0),
        exploits=given_membership(mean, tries),
        true_payoff=np.where(planned.accesses, attack.discount * linked - attack.access_cost, 0.0),
    )


def plan_unknown(
    attack: SequentialAttack,
    group_sizes: NDArray[np.number],
    belief: BinomialBelief,
    *,
    accesses: NDArray[np.bool_] | None = None,
) -> Plan:
    """Plan when only the distribution of the group size is known before access.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    group_sizes : ndarray
        True group sizes in the registry, which the adversary learns after access; outcomes depend on them.
    belief : BinomialBelief
        Belief about the group sizes before access; its probabilities have the shape of `group_sizes`.
    accesses : ndarray of bool, optional
        Whether the adversary accesses the registry. Default: access where `Plan.pays` is true.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If a group size is not a whole number of 0 or more, or group sizes are too large for the solver.

    See Also
    --------
    plan_known : plan for known group sizes.
    SequentialAttack : parameters of the attack.

    References
    ----------
    Xia et al. 2015, Process-Driven Data Privacy, CIKM. https://doi.org/10.1145/2806416.2806580

    Examples
    --------
    >>> import numpy, reidsim
    >>> attack = reidsim.SequentialAttack(gain=300, access_cost=20, exploit_cost=10)
    >>> belief = reidsim.BinomialBelief(registry_size=1000, match_probability=numpy.array([0.001, 0.02]))
    >>> reidsim.plan_unknown(attack, numpy.array([1, 20]), belief).value.round(2).tolist()
    [107.93, 29.6]
    """
    sizes = checked_group_sizes(group_sizes)
    worth = attack.discount * expected_after_access(attack, belief) - attack.access_cost
    return _plan(attack, sizes, _values(attack, sizes), worth, accesses)


def plan_baseline(attack: SequentialAttack, group_sizes: NDArray[np.number]) -> Plan:
    """Plan like the baseline adversary of Eq. 7: one random exploit, or none.

    The adversary evaluates ``G prior / g - p_det C_p - C_d - C_l - C_e`` once, without discount, where p_det is the
    detection probability of a first exploit. It attacks if this payoff is above 0, with one exploit.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    group_sizes : ndarray
        Number of matching records in the registry (g), whole numbers of 0 or more, any shape. An attack on an empty
        group never succeeds.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If a group size is not a whole number of 0 or more.
    """
    sizes = checked_group_sizes(group_sizes)
    hit = np.where(sizes > 0, attack.prior / np.maximum(sizes, 1), 0.0)
    outlay = attack.detection(1)[0] * attack.penalty + attack.access_cost + attack.link_cost + attack.exploit_cost
    payoff = attack.gain * hit - outlay
    attacks, earned = payoff > attack.indifference, np.maximum(payoff, 0.0)
    return Plan(earned, attacks, np.where(attacks, hit, 0.0), attacks.astype(np.float64), earned, payoff, attacks)


def attack_threshold(attack: SequentialAttack, *, largest: int = 1_000_000) -> int | None:
    """Return the smallest known group size, from 1, that is not attacked.

    An adversary who is indifferent does not attack. The result is None if all group sizes up to `largest` are attacked.

    Raises
    ------
    InputError
        If the number of penalties is limited, and the table of values grows too large.
    """
    linked = value_after_access(attack, exploit_values(attack, largest))[1 : largest + 1]
    unprofitable = np.flatnonzero(attack.discount * linked - attack.access_cost <= attack.indifference)
    return int(unprofitable[0]) + 1 if len(unprofitable) else None


def exploits_undetected(attack: SequentialAttack, group_sizes: NDArray[np.number]) -> Sizes:
    """Return the number of exploits in a linked group if none hits or is detected.

    The result has the shape of `group_sizes`; 0 if an exploit does not pay. Raises InputError if a group size is not a
    whole number of 0 or more.
    """
    return _values(attack, checked_group_sizes(group_sizes)).exploits_undetected


def value_after_access(attack: SequentialAttack, values: ExploitValues) -> Floats:
    """Return V_access(g), the value after access of each group, in currency units.

    `values` are the values of linked groups; the result has their shape. It is the discounted value of the linked group
    less the cost of linking. It is 0 where linking is not profitable, because the adversary can stop after access.
    """
    return np.maximum(0.0, attack.discount * values.value - attack.link_cost)


def expected_after_access(attack: SequentialAttack, belief: BinomialBelief) -> Floats:
    """Return the mean of `value_after_access` under a belief about the group size.

    It has the shape of the belief's match probabilities, in currency units per record. Only sizes up to the table's cut
    contribute, so the computation time does not grow with the registry. The weight of the most likely of these sizes
    comes from scipy; the other weights follow by the ratio of neighbouring binomial terms. This keeps full relative
    accuracy where a start at size 0 would underflow.
    """
    n, share = belief.registry_size, np.asarray(belief.match_probability, dtype=np.float64)
    mean = n * float(share.max(initial=0.0))
    # Larger sizes have a total probability below 1e-14.
    largest = min(n, ceil(mean + reach_of(mean)))
    if attack.solver == "backward-induction":
        table = exploit_values(attack, largest)
    else:
        table = program_values(attack, np.arange(min(largest, _MOST_PROGRAM_STATES) + 1))
    worth = value_after_access(attack, table)
    last = int(np.flatnonzero(worth).max(initial=0))
    if last == 0:
        return np.zeros(share.shape)
    distinct, position = np.unique(share, return_inverse=True)
    start = np.clip(np.floor((n + 1.0) * distinct), 1, min(last, n)).astype(np.int64)
    weight = scipy.stats.binom.pmf(start, n, distinct)
    return _sum_binomial(worth[: last + 1], n, distinct, start, weight)[position].reshape(share.shape)


def _values(attack: SequentialAttack, sizes: Sizes, signal: UnconfirmedSuccess | None = None) -> ExploitValues:
    """Return the value of optimal exploits, by size of the linked group.

    The result is an `ExploitValues` with arrays of the shape of `sizes`. It is computed by `attack.solver`. With a
    `signal`, the adversary does not observe success but a noisy signal of it, and the solver is backward induction.
    """
    largest = int(sizes.max(initial=0))
    if signal is not None:
        return unconfirmed_values(attack, signal, largest).at(sizes)
    if attack.solver != "backward-induction":
        return program_values(attack, sizes)
    return exploit_values(attack, largest).at(sizes)


def _plan(
    attack: SequentialAttack,
    sizes: Sizes,
    values: ExploitValues,
    expected: Floats | None,
    accesses: NDArray[np.bool_] | None,
) -> Plan:
    """Return the `Plan`, given the values of linked groups of the true sizes.

    `expected` is the believed payoff of access; if it is None, the payoff at the true size is believed. `accesses` is
    whether the registry is accessed; if it is None, it is accessed if `expected` exceeds the tie tolerance. The arrays
    have equal shape.
    """
    linked = value_after_access(attack, values)
    accessed = attack.discount * linked - attack.access_cost
    expected = accessed if expected is None else expected
    pays = expected > attack.indifference
    accesses = pays if accesses is None else accesses
    links = accesses & (linked > 0)
    return Plan(
        value=np.where(pays, expected, 0.0),
        accesses=accesses,
        reidentified=np.where(links, attack.prior * values.exploits_if_missing / np.maximum(sizes, 1), 0.0),
        exploits=np.where(links, values.expected_exploits, 0.0),
        true_payoff=np.where(accesses, accessed, 0.0),
        worth=expected,
        pays=pays,
    )


@compiled()
def _sum_binomial(worth: Floats, n: int, share: Floats, start: Sizes, weight: Floats) -> Floats:
    """Return the sum of worth[k] Binomial(k; n, p) over k >= 1, for each p in `share`.

    Sizes k beyond `worth` or n contribute nothing; the result is 0 for p = 0. The sum runs outwards from size `start`,
    whose binomial weight is given.
    """
    sums = np.zeros(len(share))
    last = min(len(worth) - 1, n)
    for i in range(len(share)):
        p, first = share[i], start[i]
        if p <= 0.0 or first > last:
            continue
        if p >= 1.0:
            sums[i] = worth[n] if n <= last else 0.0
            continue
        odds = p / (1.0 - p)
        sums[i] = weight[i] * worth[first]
        for step, stop in ((1, last), (-1, 1)):
            term = weight[i]
            for k in range(first + step, stop + step, step):
                term *= (n - k + 1.0) / k * odds if step > 0 else (k + 1.0) / ((n - k) * odds)
                sums[i] += term * worth[k]
                if term < 1e-30 * weight[i]:
                    break
    return sums


T = TypeVar("T", Plan, Attempt)


@planners.register("fmdp")
@dataclass(frozen=True)
class SequentialAdversary(Planner, Weighing):
    """Adversary who plans access, linkage and exploits separately for each record.

    It follows Xia et al. 2015. The plan is the optimal policy of a factored Markov decision process. The adversary
    attacks a record if access to the registry has a positive expected payoff. The record is then re-identified with
    probability P_reid (Xia et al. 2015, Eq. 5).

    Some linkages give a success probability instead of a number of matching people. The group size is then one over
    that probability, rounded up; probability 0 gives an empty group. For a multi-stage attack, the adversary uses the
    plan with the highest payoff of a single attempt, and the plan's price is a linking cost. If the believed group size
    is wrong, the adversary learns the true one on access, and then follows the plan that is optimal for it.

    With a drawn list, the adversary acts against the people who match the released values. It believes that the
    record's person is among them with the attack's prior times the list's coverage. Outcomes are computed with the
    list's true members, or with the adversary's beliefs if the linkage does not contain the members. If a multi-stage
    plan uses an inference stage, the success probability of an attempt is used, as above.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    registry_size : int, optional
        Number of records in the registry. If given, the adversary knows before access only this number and the share
        of people who match (the unknown-group model, Eq. 6). Default: the adversary knows the group size.
    signal : UnconfirmedSuccess, optional
        Signal that replaces the observation of an exploit's success.

    Raises
    ------
    InputError
        If success is unconfirmed (`signal` is set) and group sizes are unknown before access (`registry_size` is set).
    """

    label = "the sequential attack"
    provides = frozenset({EXPECTED_PAYOFF, GAINS})
    keys = ("sequential",)

    attack: SequentialAttack
    registry_size: int | None = None
    signal: UnconfirmedSuccess | None = None

    @classmethod
    def make(cls, section: Any, gain: Amount, cost: Amount, register: Register = EVERYBODY) -> SequentialAdversary:
        """Return the `SequentialAdversary`; `cost` is the cost of one exploit.

        The attack's parameters are those of ``section.sequential``. The register's coverage is the prior unless the
        section has one, and the register's size is `registry_size`.

        Raises
        ------
        InputError
            If gain or cost differ by record, or a parameter of the section is out of its range.
        """
        if np.ndim(gain) or np.ndim(cost):
            raise InputError("a sequential attack needs the same gain and the same cost for all records")
        attack = sequential_attack(section.sequential, float(gain), float(cost), coverage=register.coverage)
        return cls(attack, register.size, section.sequential.unconfirmed)

    def __post_init__(self) -> None:
        if self.signal is not None and self.registry_size is not None:
            raise InputError("unconfirmed success needs known group sizes")

    @property
    def decides_on(self) -> frozenset[str]:
        """Names of the `Linkage` fields that determine access to the registry.

        With `registry_size`, this is the match probability only; otherwise, the believed group sizes, the candidates in
        a drawn list, and the plans of a multi-stage attack with their success probabilities and prices.
        """
        if self.registry_size is not None:
            return frozenset({"match_probability"})
        return frozenset({"believed_group_sizes", "candidates", "plan_believed", "plans", "prices"})

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return an `Attempt`: the sequential attack on each record and its payoff.

        The adversary is assumed to access the registry for every record, even if this does not pay. For the parameters
        see `Adversary.respond`; `rows` has no effect.

        Raises
        ------
        InputError
            If group sizes are unknown before access (`registry_size` is set), and the linkage has no
            `match_probability`, is of a multi-stage attack, or has candidates in a drawn list; or if success is
            unconfirmed (`signal` is set), and the linkage has candidates in a drawn list.
        """
        if isinstance(linkage, PlanLinkage):
            if self.registry_size is not None:
                raise InputError("planning with unknown group sizes needs a match probability")
            by_plan = []
            for number, price in enumerate(linkage.prices.tolist()):
                sizes = one_over(linkage.plan_success[number]), one_over(linkage.plan_believed[number])
                # Only the first plan, without inference, uses the list's candidates.
                candidates, among = (None, None) if number else (linkage.candidates, linkage.among)
                priced = replace(self, attack=replace(self.attack, link_cost=self.attack.link_cost + price))
                by_plan.append(priced.weigh(Linkage(*sizes, by_chance=True, candidates=candidates, among=among)))
            return _chosen(by_plan, linkage.best_plan(self.attack.gain))
        hoped, plan = self._plans(linkage)
        success = plan.reidentified, hoped.reidentified
        return Attempt(*success, hoped.worth, plan.true_payoff, hoped.pays, plan.exploits, self.attack.gain)

    def _plans(self, linkage: Linkage) -> tuple[Plan, Plan]:
        """Return two `Plan` objects with access for every record: believed and true.

        They are equal if the believed group sizes are the true ones, if group sizes are unknown before access, or if
        the members of a drawn list are not known.

        Raises
        ------
        InputError
            For the reasons given in `weigh`.
        """
        sizes, believed, listed = linkage.group_sizes, linkage.believed_group_sizes, linkage.candidates
        accesses = np.ones(len(sizes), dtype=np.bool_)
        if listed is not None:
            if self.registry_size is not None or self.signal is not None:
                raise InputError("drawn lists need known group sizes and confirmed success")
            # Coverage is part of the attack's prior, so each list needs its own plan.
            coverages, which = np.unique(listed.coverage, return_inverse=True)
            attacks = [replace(self.attack, prior=self.attack.prior * coverage) for coverage in coverages.tolist()]
            plans = hoped = [plan_known(attack, listed.sizes, accesses=accesses) for attack in attacks]
            if linkage.among is not None:
                plans = [plan_listed(a, listed.sizes, linkage.among, p) for a, p in zip(attacks, hoped, strict=True)]
            return _chosen(hoped, which), _chosen(plans, which)
        if linkage.by_chance:
            sizes, believed = whole_candidates(sizes), whole_candidates(believed)
        if self.registry_size is not None:
            if linkage.match_probability is None:
                raise InputError("planning with unknown group sizes needs a match probability")
            belief = BinomialBelief(self.registry_size, linkage.match_probability)
            unknown = plan_unknown(self.attack, sizes, belief, accesses=accesses)
            return unknown, unknown
        # The adversary learns the true group size on access, so only the decision to access depends on the belief.
        expected = plan_known(self.attack, believed, accesses=accesses, signal=self.signal)
        known = believed is sizes
        return expected, expected if known else plan_known(self.attack, sizes, accesses=accesses, signal=self.signal)


def sequential_attack(section: Any, gain: float, exploit_cost: float, *, coverage: float = 1.0) -> SequentialAttack:
    """Return a `SequentialAttack` with the parameters of a scenario's section.

    Parameters
    ----------
    section : SequentialSection
        The other parameters.
    gain, exploit_cost : float
        Gain from exploiting the right person and cost of an exploit, in currency units per record.
    coverage : float
        Probability that the record's person is in the register; the prior if the section has none.

    Raises
    ------
    InputError
        If a parameter is out of its range.
    """
    known = {item.name: getattr(section, item.name) for item in fields(SequentialAttack) if hasattr(section, item.name)}
    prior = coverage if section.prior is None else section.prior
    return SequentialAttack(**{**known, "gain": gain, "exploit_cost": exploit_cost, "prior": prior})


def _chosen(parts: Sequence[T], which: NDArray[np.integer]) -> T:
    """Combine plans or attempts: record i is taken from ``parts[which[i]]``.

    All parts are for the same records. Fields that are not arrays are those of the first part.
    """
    if len(parts) == 1:
        return parts[0]
    records = np.arange(len(which))
    arrays: dict[str, Any] = {
        name: np.stack([getattr(part, name) for part in parts])[which, records] for name in arrays_of(parts[0])
    }
    return replace(parts[0], **arrays)
