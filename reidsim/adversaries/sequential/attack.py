"""The sequential attack of Xia et al. 2015: its parameters, and the values of linked groups.

Values of linked groups. After linking, the adversary's actions depend only on the group size g, so values are tabulated
by g = 1, 2, ... The value of a linked group never rises with its size. The first size with value 0 therefore ends the
table, and every larger group has value 0.

Why the value never rises. If all earlier exploits missed, exploit j of a group of size g hits with probability
1/(N - j), where N = g / prior. Before any outcome is known, each exploit made therefore hits with probability 1/N, for
every j. Use any plan for size g + 1 in a group of size g: detections and penalties have the same probabilities, hits
have a higher one, and a hit earns G and saves the costs of later exploits. Where the plan would exploit candidate
g + 1, stop instead. This loses nothing if that exploit was not profitable; if it was, it is worth more in place of an
earlier one. (The authors of the paper claim the result without proof; the tests check it on random parameters.)

Unconfirmed success. An exploit yields only a signal, and a claim may be wrong. The model equals the single-record
attack, except that the adversary does not observe whether an exploit hit. It observes a signal, independent between
exploits: positive with probability se (sensitivity) if the exploited person is the right one, and with probability 1 -
sp (sp: specificity) otherwise. At the first positive signal, the adversary claims the person, and the attack on the
record ends. It receives the gain if the claim is right and pays the cost C_F of a false claim otherwise, both one step
after the exploit. After a negative signal, it can exploit the next candidate or stop without a claim. It exploits no
person twice, and detection does not depend on the signal. A record is re-identified if the right person is claimed.

Why it is still a chain in j. After j exploits with negative signals, the right person is any of the N - j people not
exploited with weight sp^j, or any of the j exploited people with weight (1 - se) sp^(j - 1), where N = g / prior. By
Bayes' rule, the next exploit meets the right person with probability ``h_j = 1 / (N - j k)``, ``k = (se + sp - 1) /
sp``, which depends only on j. Let c_j be the expected outlay and a_j the probability that detection lets the attack
continue. The value of the attack is

    W_j = max(0, -c_j + gamma (h_j se G - (1 - h_j) (1 - sp) C_F + a_j sp (1 - k h_j) W_{j+1})).

With h' = k h, these are the values of a confirmed attack (Eq. 3) with other parameters: prior k prior, gain (se G + (1
- sp) C_F) / (k sp), exploit cost C_e + gamma (1 - sp) C_F, discount gamma sp, and a penalty that is charged at the
exploit itself. Results for confirmed attacks therefore hold here too; for example, the value of a group never rises
with its size.

Linear programs. The paper's solvers plan the attack as a factored Markov decision process (sections 4 and 5.1). The
values of linked groups do not depend on other group sizes, so there is one process for each size; for "two-level", the
first size with value 0 stands for all larger sizes. Backward induction gives the same plans faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from reidsim.adversaries.factored_mdp import METHODS, Action, FactoredMDP, Method
from reidsim.adversaries.rationality import logistic
from reidsim.adversaries.response import INDIFFERENCE, arrays_of
from reidsim.core.errors import InputError, require_among
from reidsim.core.numerics import compiled
from reidsim.core.validation import Section
from reidsim.populations.population import Money, Share

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]
Timing = Literal["next-state", "at-action"]

# Maximum number of states (exploits made x penalties paid, over all group sizes) of a table.
_MOST_STATES = 5_000_000_000
# Group sizes of the first table; larger tables have twice as many sizes each.
_FIRST_LIMIT = 64
# An exploit with a lower discount factor changes no initial value in double precision.
_LOST_WEIGHT = 1e-10
# Maximum number of states in the linear programs of one plan, about a minute of computation.
_MOST_PROGRAM_STATES = 300_000
# Clusters of the group sizes up to this one have more states than `_MOST_PROGRAM_STATES`.
_MOST_SIZES = 400

# Variables of the process (Table 1); `attack_process` explains them.
VARIABLES = ("x_t", "x_d", "x_p", "x_s", "x_a", "x_l", "x_g", "x_r")
TERMINATE, ACCESS, LINK, EXPLOIT = "terminate", "access", "link", "exploit"


@dataclass(frozen=True)
class SequentialAttack:
    """Gains, costs and risks of an attack (Xia et al. 2015, sections 3 and 4).

    An adversary can access a registry, link the record to it, and exploit the candidates of the record's equivalence
    class one by one. Each exploit can hit the right person and can be detected. The adversary can stop at any time.
    Amounts are in currency units per record. Each action takes one time step, and later amounts are discounted.

    Parameters
    ----------
    gain : float
        G, gain from exploiting the right person; collected once, one step after the exploit.
    access_cost, link_cost, exploit_cost : float
        C_d, C_l and C_e, costs paid at the time of the action.
    penalty : float
        C_p, penalty for a detected exploit.
    max_penalties : int or None
        n_f, maximum number of penalties; None for no limit (the paper's infinity).
    detection_intercept, detection_slope : float
        h0 and h1: the j-th exploit (from 0) is detected with probability ``1 / (1 + exp(-(h0 + h1 j)))`` (Eq. 4).
    prior : float
        Probability that the record's person is in the registry, in (0, 1].
    discount : float
        gamma, value of one currency unit one step later, in (0, 1]. The paper does not print it; .9 reproduces its
        thresholds.
    penalty_timing : {"next-state", "at-action"}
        Whether the penalty is charged one step after the exploit, like the gain, or at the exploit.
    detection_ends_attack : bool
        Whether a detected exploit is the last exploit (a hit still counts).
    solver : {"backward-induction", "linear-program", "two-level"}
        Method that plans the attack on each record; all three give the same plan.

    Raises
    ------
    InputError
        If a value is out of its range, or the penalty timing or solver is unknown.

    See Also
    --------
    plan_known : plan for known group sizes.
    plan_unknown : plan for a belief about group sizes.

    References
    ----------
    Xia et al. 2015, Process-Driven Data Privacy, CIKM. https://doi.org/10.1145/2806416.2806580

    Examples
    --------
    >>> import reidsim
    >>> attack = reidsim.SequentialAttack(gain=300, access_cost=20, exploit_cost=10)
    >>> reidsim.plan_known(attack, [1, 5, 50]).accesses.tolist()
    [True, True, False]
    """

    gain: float
    access_cost: float = 0.0
    link_cost: float = 0.0
    exploit_cost: float = 0.0
    penalty: float = 0.0
    max_penalties: int | None = None
    detection_intercept: float = -4.59
    detection_slope: float = 0.0
    prior: float = 1.0
    discount: float = 0.9
    penalty_timing: Timing = "next-state"
    detection_ends_attack: bool = False
    solver: Method = "backward-induction"

    def __post_init__(self) -> None:
        limit = "a whole number of 1 or more, or no limit"
        for names, is_valid, expected in (
            ("gain access_cost link_cost exploit_cost penalty", lambda x: 0 <= x < np.inf, "0 or more, finite"),
            ("prior discount", lambda x: 0 < x <= 1, "above 0, at most 1"),
            ("detection_intercept detection_slope", np.isfinite, "a number"),
            ("max_penalties", lambda x: x is None or (isinstance(x, int) and x >= 1), limit),
        ):
            for name in names.split():
                if not is_valid(value := getattr(self, name)):
                    raise InputError("value out of range", where=name, found=value, expected=expected)
        require_among("unknown timing", [self.penalty_timing], get_args(Timing), where="penalty_timing")
        require_among("unknown solver", [self.solver], METHODS, where="solver")

    @property
    def counts_penalties(self) -> bool:
        """Whether the number of penalties paid so far affects later exploits.

        It does if penalties are limited and above 0, and detection does not end the attack.
        """
        return self.max_penalties is not None and not self.detection_ends_attack and self.penalty > 0

    @property
    def indifference(self) -> float:
        """Largest payoff that counts as 0, in currency units.

        It is the rounding error of the expected gain from a group of one person.
        """
        return INDIFFERENCE * self.gain * self.prior

    @property
    def penalty_due(self) -> float:
        """Value of the penalty at the time of the exploit, in currency units.

        It is the penalty, discounted by one step if it is charged in the next state.
        """
        return self.penalty * (self.discount if self.penalty_timing == "next-state" else 1.0)

    def detection(self, exploits: int) -> Floats:
        """Return the detection probability of each exploit, shape (exploits,) (Eq. 4).

        `exploits` is the number of exploits; item j belongs to exploit j, from 0.
        """
        return logistic(self.detection_intercept + self.detection_slope * np.arange(exploits))

    def going_on(self, exploits: int) -> Floats:
        """Return the probability that detection does not end the attack, by exploit.

        The shape is (exploits,). It is 1 unless `detection_ends_attack` is true.
        """
        return 1.0 - self.detection(exploits) if self.detection_ends_attack else np.ones(exploits)


class UnconfirmedSuccess(Section):
    """A noisy signal of success, in place of its observation.

    The adversary claims the first candidate with a positive signal. A positive signal must
    make a person more likely to be the right one: the sum of sensitivity and specificity is above 1.

    Attributes
    ----------
    sensitivity
        probability of a positive signal if the candidate is the right person
    specificity
        probability of a negative signal if the candidate is a wrong person
    false_claim_cost
        cost of a claim about a wrong person
    """

    sensitivity: Share
    specificity: Share
    false_claim_cost: Money = 0.0

    @model_validator(mode="after")
    def _informative(self) -> UnconfirmedSuccess:
        is_wrong = self.sensitivity + self.specificity <= 1
        self.unless((is_wrong, "the signal is uninformative", "sensitivity", "a sum with specificity above 1"))
        return self


def checked_group_sizes(group_sizes: NDArray[np.number]) -> Sizes:
    """Return group sizes as int64, in the same shape.

    Raises
    ------
    InputError
        If a group size is negative or not a whole number.
    """
    sizes = np.asarray(group_sizes)
    whole = np.where(np.isfinite(sizes), sizes, -1).astype(np.int64)
    wrong = (whole < 0) | (whole != sizes)
    if wrong.any():
        found, expected = sizes[wrong].flat[0].item(), "whole numbers of 0 or more"
        raise InputError("invalid group size", where="group sizes", found=found, expected=expected)
    return whole


@dataclass(frozen=True)
class ExploitValues:
    """Value of linked groups to the adversary; arrays of equal shape.

    In a table of values, the index is the group size. Amounts are in currency units.

    Parameters
    ----------
    value : ndarray of float64
        V(x_start(g)), the expected discounted payoff of optimal exploits; 0 if the adversary stops without an exploit.
    exploits_if_missing : ndarray of float64
        T(g): expected number of exploits if none ever hits. The record is re-identified with probability
        ``prior / g x T(g)``.
    expected_exploits : ndarray of float64
        Expected number of exploits; a hit ends the attack.
    value_if_missing : ndarray of float64
        Expected discounted payoff if none ever hits.
    exploits_undetected : ndarray of int64
        Number of exploits before stopping if none is detected and none hits.
    """

    value: Floats
    exploits_if_missing: Floats
    expected_exploits: Floats
    value_if_missing: Floats
    exploits_undetected: Sizes

    @property
    def largest(self) -> int:
        """Largest group size in a table of values; the index in the table is the size."""
        return len(self.value) - 1

    @property
    def complete(self) -> bool:
        """Whether the last size in the table, and therefore every larger one, has value 0.

        A table with size 0 only is not complete.
        """
        return self.largest > 0 and not self.value[-1]

    def at(self, sizes: Sizes) -> ExploitValues:
        """Return the `ExploitValues` for some group sizes, in the shape of `sizes`.

        All values are 0 for sizes beyond the table, as for an empty group.
        """
        within = np.where(sizes <= self.largest, sizes, 0)
        return ExploitValues(**{name: column[within] for name, column in arrays_of(self).items()})


def exploit_values(attack: SequentialAttack, largest: int, *, specificity: float = 1.0) -> ExploitValues:
    """Compute the table of values of linked groups, by group size.

    Sizes run up to `largest` or more, or up to the first size with value 0. Without a limit on penalties, detection
    does not affect later exploits, so a plan is a number m of exploits after which the adversary stops. Its value is
    ``x A_m - B_m`` with ``x = prior / g``: one line per m, and the best m <= g is on their upper envelope. With at most
    n_f penalties, the state is (exploits made, penalties paid), and the table is filled backwards for each size.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    largest : int
        Largest group size of interest.
    specificity : float
        Probability that an exploit of a wrong person is seen to fail, so that the attack continues. It is used only
        with a limit on penalties, and affects only `exploits_if_missing` and `expected_exploits`.

    Returns
    -------
    ExploitValues

    Raises
    ------
    InputError
        If the number of penalties is limited, and the table grows too large before a size has value 0.
    """
    # The table grows until it is complete, so that a cut at 50 does not cost `largest` lines.
    limit = _FIRST_LIMIT
    while True:
        if attack.counts_penalties and limit**2 * (min(attack.max_penalties or 0, limit) + 1) // 2 > _MOST_STATES:
            raise InputError(
                "group sizes too large for a plan with a limit on penalties",
                found=largest,
                hint="the attack is profitable at this size; limit the group sizes, or remove max_penalties",
            )
        table = _table(attack, limit, specificity)
        if table.complete or limit >= largest:
            return table
        limit *= 2


@lru_cache(maxsize=64)
def _table(attack: SequentialAttack, limit: int, specificity: float) -> ExploitValues:
    """Return the `ExploitValues` up to the first size with value 0, or up to `limit`.

    For `specificity` see `exploit_values`. Tables are cached, because every lattice node needs one.
    """
    if attack.counts_penalties:
        # Integers would trigger a second compilation.
        terms = float(attack.prior), float(attack.gain), float(attack.discount)
        costs = float(attack.exploit_cost), float(attack.penalty_due), float(attack.indifference)
        detection, most = attack.detection(limit), attack.max_penalties or 0
        columns, exploits, size = _backwards(limit, *terms, *costs, detection, most, specificity)
    else:
        columns, exploits, size = _by_envelope(attack, limit)
    value, tries, expected, missing = columns[:, : size + 1]
    return ExploitValues(value, tries, expected, missing, exploits[: size + 1])


def unconfirmed_values(attack: SequentialAttack, signal: UnconfirmedSuccess, largest: int) -> ExploitValues:
    """Compute the `ExploitValues` of linked groups with unconfirmed success.

    Like the result of `exploit_values`, they are a table by group size up to `largest` or more, or up to the first size
    with value 0; for errors see there. `signal` has the probabilities of the signal. In the result,
    `exploits_if_missing` is not a number of exploits: it is scaled so that ``prior / g x exploits_if_missing`` is the
    probability of claiming the right person. `value_if_missing` has no meaning for this attack: it belongs to the
    confirmed attack with equal values.
    """
    sensitivity, specificity = signal.sensitivity, signal.specificity
    # Share k by which a negative signal rules out a candidate; 1 if confirmed.
    k = min(1.0, (sensitivity + specificity - 1.0) / specificity)
    false_claim = (1.0 - specificity) * signal.false_claim_cost
    confirmed = replace(
        attack,
        gain=(sensitivity * attack.gain + false_claim) / (k * specificity),
        exploit_cost=attack.exploit_cost + attack.discount * false_claim,
        prior=k * attack.prior,
        discount=attack.discount * specificity,
        penalty=attack.penalty_due,
        penalty_timing="at-action",
    )
    table = exploit_values(confirmed, largest, specificity=specificity)
    if attack.counts_penalties:
        return replace(table, exploits_if_missing=sensitivity * table.exploits_if_missing)
    # Probability of reaching exploit j with negative signals if the right person is not among the first j.
    reach = running_products(specificity * attack.going_on(table.largest))[:-1]
    made, made_in_order = running_sums(reach), running_sums(np.arange(table.largest) * reach)
    m, sizes = table.exploits_undetected, np.maximum(np.arange(table.largest + 1), 1)
    expected = made[m] - confirmed.prior / sizes * made_in_order[m]
    return replace(table, exploits_if_missing=sensitivity * made[m], expected_exploits=expected)


def running_sums(terms: Floats) -> Floats:
    """Return the sums of the first 0, 1, ..., n of n terms, shape (n + 1,)."""
    return np.concatenate([[0.0], np.cumsum(terms)])


def running_products(factors: Floats) -> Floats:
    """Return the products of the first 0, 1, ..., n of n factors, shape (n + 1,)."""
    return np.concatenate([[1.0], np.cumprod(factors)])


def _by_envelope(attack: SequentialAttack, limit: int) -> tuple[Floats, Sizes, int]:
    """Return the table from the upper envelope of the lines x A_m - B_m.

    The items are: the four fields of floats in `ExploitValues`, shape (4, limit + 1); the number of exploits if none is
    detected and none hits, shape (limit + 1,); and the size at which the table ends, which is the first size with value
    0, or `limit`. Items beyond that size are 0.
    """
    j, going_on = np.arange(limit), attack.going_on(limit)
    cost = attack.exploit_cost + attack.detection(limit) * attack.penalty_due
    # From this exploit on, cost and continuation probability are constant, up to rounding.
    changes = np.flatnonzero((np.diff(cost) != 0) | (np.diff(going_on) != 0))
    steady = int(changes[-1]) + 1 if len(changes) else 0
    weight, reached = running_products(attack.discount * going_on)[:-1], running_products(going_on)[:-1]
    gain_due, prior = float(attack.discount * attack.gain), float(attack.prior)
    slope, intercept = running_sums(weight * (gain_due + j * cost)), running_sums(-weight * cost)
    terms = (gain_due, cost, attack.discount * going_on, steady, int((weight >= _LOST_WEIGHT).sum()))
    value, m, end = _envelope(slope, intercept, prior, float(attack.indifference), *terms)
    tries, in_order = running_sums(reached)[m], running_sums(reached * j)[m]
    x = np.divide(prior, np.arange(limit + 1), out=np.zeros(limit + 1), where=m > 0)
    return np.stack([value, tries, tries - x * in_order, intercept[m]]), m, end


@compiled()
def _envelope(
    slope: Floats,
    intercept: Floats,
    prior: float,
    indifference: float,
    gain_due: float,
    cost: Floats,
    passed: Floats,
    steady: int,
    lost: int,
) -> tuple[Floats, Sizes, int]:
    """Return value and number of exploits of each size, and the table's last size.

    The last size is the first one with value 0, or the largest of the arrays. Among numbers of exploits with equal
    payoff, the lowest is used. The arguments are explained in `_by_envelope`: `slope` is A_m and `intercept` -B_m, by
    number m of exploits; `cost` is the expected outlay of each exploit, constant from exploit `steady` on; a payoff of
    up to `indifference` counts as 0. `passed` is the factor by which each exploit multiplies later amounts. From
    exploit `lost` on, exploits change no initial value in double precision, although each may be profitable at its
    time: their number is therefore chosen by their payoff at exploit `lost`.
    """
    limit = len(cost)
    value, exploits = np.zeros(limit + 1), np.zeros(limit + 1, np.int64)
    hull, top = np.zeros(limit + 1, np.int64), 0
    for size in range(1, limit + 1):
        # Slopes never fall, so a new line joins the hull at its end and may hide lines before it.
        if slope[size] > slope[hull[top]]:
            while top > 0:
                a, b = hull[top - 1], hull[top]
                if (intercept[a] - intercept[size]) * (slope[b] - slope[a]) > (intercept[a] - intercept[b]) * (
                    slope[size] - slope[a]
                ):
                    break
                top -= 1
            top += 1
            hull[top] = size
        x = prior / size
        low, high = 0, top
        while low < high:
            middle = (low + high) // 2
            here, there = hull[middle], hull[middle + 1]
            if x * slope[there] + intercept[there] > x * slope[here] + intercept[here]:
                low = middle + 1
            else:
                high = middle
        m = hull[low]
        best = x * slope[m] + intercept[m]
        if m == 0 or best <= indifference:
            return value, exploits, size
        if m > lost:
            m = j = lost
            ahead, weight = 0.0, 1.0
            while j < size and weight > _LOST_WEIGHT:
                # Up to a factor common to all later exploits.
                worth = x * (gain_due + j * cost[j]) - cost[j]
                if j >= steady and ahead == 0.0 and worth > 0.0:
                    # The value of an exploit only rises from here on, so all remaining exploits are made.
                    m = size
                    break
                ahead += weight * worth
                weight *= passed[j]
                j += 1
                if ahead > 0.0:
                    m, ahead, weight = j, 0.0, 1.0
        value[size], exploits[size] = best, m
    return value, exploits, limit


@compiled()
def _backwards(
    limit: int,
    prior: float,
    gain: float,
    discount: float,
    exploit_cost: float,
    penalty_due: float,
    indifference: float,
    detection: Floats,
    most: int,
    specificity: float,
) -> tuple[Floats, Sizes, int]:
    """Return the table by backward induction over (exploits made, penalties paid).

    For the result see `_by_envelope`. `detection` is the detection probability of each exploit, `most` the maximum
    number of penalties, and `specificity` is explained in `exploit_values`. Other arguments are those of the attack.
    """
    table, exploits = np.zeros((4, limit + 1)), np.zeros(limit + 1, np.int64)
    for size in range(1, limit + 1):
        people, paid, run = size / prior, min(most, size), 0
        states = np.zeros((4, paid + 1))
        worth, tries, mean, missed = states
        for j in range(size - 1, -1, -1):
            hit, caught = 1.0 / (people - j), detection[j]
            # Updated in place with m ascending, so entry m + 1 still holds the values of the next exploit.
            for m in range(min(paid, j) + 1):
                after = min(m + 1, paid)
                outlay = exploit_cost + (caught * penalty_due if m < most else 0.0)
                going_on = (1.0 - caught) * worth[m] + caught * worth[after]
                exploit = discount * (hit * gain + (1.0 - hit) * going_on) - outlay
                made = exploit > indifference
                if made:
                    worth[m] = exploit
                    tries[m] = 1.0 + specificity * ((1.0 - caught) * tries[m] + caught * tries[after])
                    mean[m] = 1.0 + specificity * (1.0 - hit) * ((1.0 - caught) * mean[m] + caught * mean[after])
                    missed[m] = discount * ((1.0 - caught) * missed[m] + caught * missed[after]) - outlay
                else:
                    states[:, m] = 0.0
                if m == 0:
                    run = run + 1 if made else 0
        if worth[0] <= indifference:
            return table, exploits, size
        table[:, size], exploits[size] = states[:, 0], run
    return table, exploits, limit


def attack_process(attack: SequentialAttack, belief: Mapping[int, float], *, hits: bool = True) -> FactoredMDP:
    """Return the Markov decision process of an attack on one record.

    It has the actions of Table 2 and the variables of Table 1, in this order: ``x_t`` (the attack is over), ``x_d``
    (the last exploit was detected), ``x_p`` (number of penalties), ``x_s`` (an exploit hit), ``x_a`` (access was paid),
    ``x_l`` (the record is linked), ``x_g`` (group size) and ``x_r`` (people of the group not yet exploited). The gain,
    and with penalty timing "next-state" also the penalty, are rewards of the state after an exploit (Eq. 2). The
    adversary collects them one step later, with its next action, and X_p counts the penalty when the process leaves
    that state. With "at-action" timing, an exploit is charged its expected penalty, and X_p counts the penalty in the
    same step. X_p counts up to n_f; it stays 0 if the number of penalties paid does not affect later exploits.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    belief : mapping of int to float
        P(G_r), the adversary's probability of each group size before access.
    hits : bool
        Whether exploits can hit. False gives the attack on a record whose person is not in the registry.

    Returns
    -------
    FactoredMDP
        Its first action is to terminate, so the adversary stops if indifferent.
    """
    largest, outside = max(belief), (1.0 - attack.prior) / attack.prior
    detection = attack.detection(largest + 1).tolist()
    most_counted = min(attack.max_penalties or 0, largest) if attack.counts_penalties else 0
    later, ends = attack.penalty_timing == "next-state", attack.detection_ends_attack

    def either(probability: float) -> dict[bool, float]:
        return {True: probability, False: 1.0 - probability}

    def terminates(x_t: bool, x_s: bool, x_l: bool, x_r: int, x_d: bool) -> bool:
        return x_t or x_s or (x_l and x_r == 0) or (x_d and ends)

    def fine(x_p: int) -> float:
        return -attack.penalty if most_counted == 0 or x_p < most_counted else 0.0

    def count_later(x_p: int, x_d: bool) -> int:
        return min(x_p + x_d, most_counted)

    def count_at_once(x_p: int, next_x_d: bool) -> int:
        return min(x_p + next_x_d, most_counted)

    sizes = range(largest + 1)
    return FactoredMDP(
        dict.fromkeys(VARIABLES, (False, True)) | {"x_p": range(most_counted + 1), "x_g": sizes, "x_r": sizes},
        {
            TERMINATE: Action({"x_t": True}),
            ACCESS: Action(
                {"x_a": True, "x_g": belief, "x_r": lambda next_x_g: next_x_g, "x_t": terminates},
                reward=-attack.access_cost,
                allowed=lambda x_s, x_a: not (x_s or x_a),
            ),
            LINK: Action(
                {"x_l": True, "x_t": terminates},
                reward=-attack.link_cost,
                allowed=lambda x_s, x_a, x_l: x_a and not (x_s or x_l),
            ),
            EXPLOIT: Action(
                {
                    "x_s": lambda x_g, x_r: either(1.0 / (outside * x_g + x_r) if hits else 0.0),  # Eq. 3
                    "x_d": lambda x_g, x_r: either(detection[x_g - x_r]),  # Eq. 4
                    "x_p": count_later if later else count_at_once,
                    "x_r": lambda x_r: x_r - 1,
                    "x_t": terminates,
                },
                reward=(-attack.exploit_cost, lambda x_p, x_g, x_r: 0.0 if later else fine(x_p) * detection[x_g - x_r]),
                allowed=lambda x_s, x_l, x_r, x_d: x_l and x_r > 0 and not (x_s or (x_d and ends)),
            ),
        },
        rewards=(lambda x_s: attack.gain * x_s, lambda x_d, x_p: fine(x_p) if later and x_d else 0.0),
        terminal=lambda x_t: x_t,
        discount=attack.discount,
    )


@lru_cache(maxsize=4096)
def _solved(attack: SequentialAttack, size: int) -> tuple[float, float, float, float, int]:
    """Return the five fields of `ExploitValues` for one linked group, in their order.

    They are computed by the attack's solver from `attack_process`; all are 0 if the optimal policy makes no exploit.
    """
    solution, made = attack_process(attack, {size: 1.0}).solve(attack.solver), 0
    # The linked group, before any exploit; see `VARIABLES`.
    start = (False, False, 0, False, True, True, size, size)
    while solution.policy.get((*start[:-1], size - made)) == EXPLOIT:
        made += 1
    if not made:
        return 0.0, 0.0, 0.0, 0.0, 0
    misses = attack_process(attack, {size: 1.0}, hits=False).follow(solution.policy, start)
    return solution.values[start], misses.uses[EXPLOIT], solution.follow(start).uses[EXPLOIT], misses.value, made


def program_values(attack: SequentialAttack, sizes: Sizes) -> ExploitValues:
    """Return the `ExploitValues` of linked groups, computed by linear programs.

    They have the shape of `sizes`, and are cached by group size. With the solver "two-level", sizes above the first
    size with value 0 have the values of that size.

    Raises
    ------
    InputError
        If the programs have more than 300,000 states that are not terminal.
    """
    if attack.solver == "two-level" and (table := exploit_values(attack, _MOST_SIZES)).complete:
        sizes = np.minimum(sizes, table.largest)
    distinct, position = np.unique(sizes, return_inverse=True)
    limit = (attack.max_penalties or 0) if attack.counts_penalties else 0
    n_states = int((3 + 4 * distinct * (1 + np.minimum(limit, distinct))).sum())
    if n_states > _MOST_PROGRAM_STATES:
        more = "" if attack.solver == "two-level" else ", or two-level, which leaves out unprofitable group sizes"
        raise InputError(
            "the linear programs have too many states",
            where="sequential.solver",
            found=n_states,
            expected=f"at most {_MOST_PROGRAM_STATES:,}",
            hint=f"use backward-induction, which has no such limit{more}",
        )
    columns = np.array([_solved(attack, size) for size in distinct.tolist()]).reshape(-1, 5).T
    value, tries, expected, missing, exploits = columns[:, position.ravel()].reshape(5, *sizes.shape)
    return ExploitValues(value, tries, expected, missing, exploits.astype(np.int64))
