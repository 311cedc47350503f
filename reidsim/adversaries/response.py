"""Linkage results, adversaries' attempts at records, and their replies.

It also has the planners with at most one attempt per record: ``one-shot``, which attacks if an attempt is profitable,
and the baselines ``always``, ``never`` and ``random``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import product
from math import fsum, prod
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.core.registry import Registry
from reidsim.populations.population import Counts
from reidsim.releases.lattice import Floats, Rows

Amount = float | Floats

# Capabilities that a planner may provide, and that options of a scenario may require: errors of judgement need the
# expected payoff, prospect theory a single attempt, and a gain from inferred values needs inferences.
EXPECTED_PAYOFF = "the expected payoff of an attack"
SINGLE_ATTEMPT = "a single attempt that succeeds or fails"
INFERENCES = "a gain from inferred values"
GAINS = "a gain from attacks"
AMOUNTS_BY_RECORD = "gain and cost by record"
CAPABILITIES = frozenset({EXPECTED_PAYOFF, SINGLE_ATTEMPT, INFERENCES, GAINS, AMOUNTS_BY_RECORD})


class Register(NamedTuple):
    """The external register in which an adversary searches for people.

    Attributes
    ----------
    coverage : float
        Probability that a record's person is in the register.
    size : int, optional
        Number of people in the register, for planners that do not know group sizes before access.
    """

    coverage: float = 1.0
    size: int | None = None


EVERYBODY = Register()


class Planner:
    """Rule by which an adversary decides about purchases and attacks: a base class of adversaries.

    A scenario names it in the key ``planner``. In rounds, `begin` is called before the first round, `plan` in each
    round, and `observe` after the attacks of a round in which the adversary was present.

    Attributes
    ----------
    label : str
        Noun phrase for the planner in messages, such as "the one-shot adversary".
    provides : frozenset of str
        Capabilities of the planner that other options of a scenario require, such as `EXPECTED_PAYOFF` for an adversary
        who errs.
    keys : tuple of str
        Keys of the adversary's section that only this planner reads.
    compared : bool
        Whether cross-play plays every defender against this planner, also if the scenario does not name it.
    """

    label: ClassVar[str]
    provides: ClassVar[frozenset[str]]
    keys: ClassVar[tuple[str, ...]] = ()
    compared: ClassVar[bool] = True

    def begin(self, world: Any) -> None:
        """Prepare for the rounds; `world` is a `reidsim.agents.attack.World`."""

    def plan(self, observation: Any) -> Any:
        """Return the purchases and attacks of a round, an `AttackPlan`; by default those of the highest payoff.

        `observation` is a `reidsim.agents.attack.Observation`, whose methods make plans.
        """
        return observation.best_plan()

    def observe(self, outcome: Any) -> None:
        """Learn the outcome of a round's attacks, a `reidsim.agents.attack.AdversaryOutcome`.

        Numbers of attempts and successes by cell are drawn if outcomes are drawn, and expected values otherwise.
        """

    @classmethod
    def make(cls, section: Any, gain: Amount, cost: Amount, register: Register = EVERYBODY) -> Adversary:
        """Return the adversary that decides by this rule, without errors of judgement.

        It is an instance of this class.

        Parameters
        ----------
        section : PlannerSection
            Parameters of the planner; those in `keys` are arguments of the class.
        gain, cost : float or ndarray of float64, shape (n_records,)
            Gain from a success and cost of an attempt (of an exploit, for sequential attacks), in currency units per
            record.
        register : Register
            External register that the adversary uses; this base method ignores it.
        """
        constructor: Callable[..., Any] = cls
        adversary: Adversary = constructor(gain, cost, **{key: getattr(section, key) for key in cls.keys})
        return adversary


planners: Registry[type[Planner]] = Registry(
    "planner",
    "reidsim.adversaries",
    "reidsim.adversaries.response",
    "reidsim.adversaries.sequential.planning",
    "reidsim.adversaries.testing",
)


def provided_by(planner: str) -> frozenset[str]:
    """Return the capabilities of the planner with a name, some of `CAPABILITIES`.

    A user's planner (a plug-in or an object of a module) is assumed to have all of them, except a gain from inferred
    values. Whether it computes payoffs is known only when it is created.
    """
    return planners[planner].provides if planner in planners else CAPABILITIES - {INFERENCES}


def planners_without(capability: str) -> tuple[str, ...]:
    """Return the names of the built-in planners that lack a capability.

    The capability is one of `CAPABILITIES`, such as `GAINS`, which options of a scenario require of a planner.
    """
    return tuple(name for name, planner in planners.items() if capability not in planner.provides)


# Money amounts are equal if they differ by less than this fraction of their scale. Exact comparison would not do:
# 300 x (1/75) and 4, or log 2 + log 3 and log 6, differ by rounding alone, and the choice between equal amounts must
# not depend on the currency unit or the order of attributes.
INDIFFERENCE = 1e-12
# Weights are decimal inputs, so their sum is 1 only up to rounding.
_ROUNDING = 1e-9


def arrays_of(instance: Any) -> dict[str, NDArray[Any]]:
    """Return the numpy arrays among the fields of a dataclass instance, by field name."""
    return {f.name: value for f in fields(instance) if isinstance(value := getattr(instance, f.name), np.ndarray)}


@dataclass(frozen=True)
class ListedCandidates:
    """Candidates of each record in a list, for adversaries who exploit them in turn.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n,)
        Number of people in the list who match the record.
    coverage : ndarray of float64, shape (n,)
        Probability that the record's person is in the list, as the adversary believes. It is separate from the
        adversary's own prior.
    """

    sizes: Counts
    coverage: Floats


@dataclass(frozen=True)
class Linkage:
    """Result of linking released records to a population.

    Parameters
    ----------
    group_sizes : ndarray, shape (n,)
        True group sizes: number of people who have the released values. They determine the outcomes of attacks.
    believed_group_sizes : ndarray, shape (n,)
        Group sizes that the adversary believes in. They determine its decisions.
    match_probability : ndarray of float64, shape (n,), optional
        Share of the population with the released values, for adversaries who do not know group sizes before access.
    by_chance : bool
        Whether group sizes are not counts of people, but one over the probability that an attempt succeeds.
    candidates : ListedCandidates, optional
        Candidates in a drawn list; `by_chance` is then true.
    among : ndarray of bool, shape (n,), optional
        With `candidates`: whether the record's person is truly one of the candidates. Default: attempts succeed with
        the probability that the adversary believes in.
    """

    group_sizes: Counts
    believed_group_sizes: Counts
    match_probability: Floats | None = None
    by_chance: bool = field(default=False, kw_only=True)
    candidates: ListedCandidates | None = field(default=None, kw_only=True)
    among: NDArray[np.bool_] | None = field(default=None, kw_only=True)

    def inaccurate(self, accuracy: float, expected: float) -> Self:
        """Return the linkage, of the same class, through a resource with wrong entries.

        The group sizes become effective group sizes: a uniform guess among that many people succeeds as often as the
        adversary does. Match probabilities and candidates are not kept, because they ignore wrong entries.

        Parameters
        ----------
        accuracy, expected : float
            True share of correct entries, and share that the adversary expects; both above 0.
        """
        return replace(
            self,
            group_sizes=np.asarray(self.group_sizes / accuracy),
            believed_group_sizes=np.asarray(self.believed_group_sizes / expected),
            match_probability=None,
            by_chance=True,
            candidates=None,
            among=None,
        )

    def as_believed(self) -> Self:
        """Return the linkage as if the adversary's beliefs were true.

        The true group sizes become the believed ones, and `among` becomes None. It serves players who know no more than
        the adversary.
        """
        return replace(self, group_sizes=self.believed_group_sizes, among=None)


@dataclass(frozen=True)
class PlanLinkage(Linkage):
    """Linkage under each plan, that is, under each set of inference stages.

    Group sizes are the group sizes of the plan without inference. An unavailable plan has success and believed success
    0.

    Parameters
    ----------
    plans : tuple of tuple of int
        Inference stages of each plan, as positions in `MultistageAttack.inferences`. Plans with fewer stages come
        first, then plans with earlier stages; plan 0 has none.
    plan_believed, plan_success : ndarray of float64, shape (n_plans, n)
        Success probability, as the adversary believes and in truth.
    prices : ndarray of float64, shape (n_plans,)
        Price of the stages of each plan, in currency units per record.
    """

    plans: tuple[tuple[int, ...], ...] = field(kw_only=True)
    plan_believed: Floats = field(kw_only=True)
    plan_success: Floats = field(kw_only=True)
    prices: Floats = field(kw_only=True)

    def inaccurate(self, accuracy: float, expected: float) -> Self:
        """Return the `PlanLinkage` through a resource with wrong entries, for every plan.

        The resource of the last stage has the wrong entries, so the success probability of every plan changes. See
        `Linkage.inaccurate` for the parameters.
        """
        believed, success = self.plan_believed * expected, self.plan_success * accuracy
        return replace(super().inaccurate(accuracy, expected), plan_believed=believed, plan_success=success)

    def as_believed(self) -> Self:
        """Return the linkage as if the adversary's beliefs were true, for every plan.

        The true group sizes and success probabilities become the believed ones.
        """
        return replace(super().as_believed(), plan_success=self.plan_believed)

    def best_plan(self, gain: float | Floats) -> NDArray[np.int64]:
        """Return each record's plan with the highest believed payoff, shape (n,).

        The result holds positions in `plans`. The payoff is the payoff of a single attempt with a `gain` in currency
        units per record. Among equal payoffs, the first plan is used.
        """
        plan = np.zeros(self.plan_believed.shape[1], dtype=np.int64)
        best = gain * self.plan_believed[0] - self.prices[0]
        for number in range(1, len(self.prices)):
            worth = gain * self.plan_believed[number] - self.prices[number]
            better = worth > best + INDIFFERENCE * gain
            best = np.where(better, worth, best)
            plan[better] = number
        return plan


@dataclass(frozen=True)
class Presence:
    """Distribution of the set of adversaries who are present.

    Parameters
    ----------
    weights : tuple of float
        Probability that each adversary is present; with `one_of`, their sum is at most 1.
    one_of : bool
        Whether at most one adversary is present; otherwise, adversaries are present independently.
    """

    weights: tuple[float, ...] = (1.0,)
    one_of: bool = True

    def cases(self) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Yield each possible set of present adversaries with its probability.

        Each item is the probability and the indices of the adversaries, ascending. The cases are mutually exclusive,
        and cases with probability 0 are omitted. The empty set is a case if possibly no adversary is present.
        """
        if self.one_of:
            yield from ((weight, (number,)) for number, weight in enumerate(self.weights) if weight > 0)
            nobody = 1.0 - fsum(self.weights)
            if nobody > _ROUNDING:
                yield nobody, ()
            return
        for comes in product(*((True, False) if 0 < weight < 1 else (weight > 0,) for weight in self.weights)):
            chances = (weight if there else 1.0 - weight for weight, there in zip(self.weights, comes, strict=True))
            yield prod(chances), tuple(number for number, there in enumerate(comes) if there)


@dataclass(frozen=True)
class Response:
    """The adversary's reply to each released record; arrays of equal shape.

    Parameters
    ----------
    attacks : ndarray of bool
        Whether the adversary attacks the record.
    success : ndarray of float64
        True success probability of an attack; can be 0 where no attack is made.
    believed_success : ndarray of float64
        Success probability that the adversary believes in and uses for its decision.
    adversary_payoff : ndarray of float64
        Expected payoff under the true probability, in currency units per record; 0 without attack.
    exploits : ndarray of float64
        Expected number of exploits (people the adversary acts against); 0 without attack.
    frequency : ndarray of float64, optional
        Probability of an attack where `attacks` is true, in (0, 1]. Default: 1. Payoff and exploits are expectations
        that include this probability.
    pays : ndarray of bool, optional
        Whether an attack is profitable as the adversary believes, for adversaries who also make unprofitable attacks.
        Default: `attacks`.
    gain : float or ndarray of float64, optional
        Payoff of a success less payoff of a failure, in currency units per record. Without it, only the expected
        payoff is known, not its distribution.
    plan, used : ndarray of int64, optional
        Position in the linkage of the plan that a multi-stage attack uses, and its inference stages as bits: the sum of
        2**k over its stages k.

    See Also
    --------
    Choice : the publisher's decision.

    Examples
    --------
    An adversary of one's own returns a response; here, to two records, of which the first is attacked:

    >>> import numpy, reidsim
    >>> success, attacks = numpy.array([0.5, 0.1]), numpy.array([True, False])
    >>> reply = reidsim.Response(attacks, success, success, numpy.array([20.0, 0.0]), numpy.array([1.0, 0.0]))
    >>> reply.reidentified.tolist()
    [0.5, 0.0]
    """

    attacks: NDArray[np.bool_]
    success: Floats
    believed_success: Floats
    adversary_payoff: Floats
    exploits: Floats
    frequency: Floats | None = field(default=None, kw_only=True)
    pays: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    gain: float | Floats | None = field(default=None, kw_only=True)
    plan: NDArray[np.int64] | None = field(default=None, kw_only=True)
    used: NDArray[np.int64] | None = field(default=None, kw_only=True)

    @property
    def invited(self) -> NDArray[np.bool_]:
        """Whether an attack on each record is profitable, as the adversary believes.

        It is `pays` or, without it, `attacks`. The No-Attack game rules out these attacks; it cannot rule out the
        mistaken attacks of an adversary who errs.
        """
        return self.attacks if self.pays is None else self.pays

    @property
    def by_type(self) -> tuple[Response, ...]:
        """`Response` of each adversary, as a tuple; here, of the only one: this reply."""
        return (self,)

    @property
    def presence(self) -> Presence:
        """Distribution of the set of present adversaries: here, the only one is present."""
        return Presence()

    @property
    def reidentified(self) -> Floats:
        """True probability that each record is attacked and re-identified.

        It is 0 for records that are not attacked.
        """
        return np.where(self.attacks, self.success if self.frequency is None else self.success * self.frequency, 0.0)

    @property
    def attack_probability(self) -> Floats:
        """Probability that each record is attacked; 0 without attack."""
        return np.asarray(self.attacks if self.frequency is None else self.attacks * self.frequency, dtype=np.float64)

    @property
    def success_of_attacks(self) -> Floats:
        """True success probability of an attack on each record: `success`."""
        return self.success


def one_over(chance: Floats) -> Floats:
    """Return one over each probability, infinite where it is 0."""
    return np.asarray(np.divide(1.0, chance, out=np.full(np.shape(chance), np.inf), where=chance > 0))


def whole_candidates(sizes: Counts) -> NDArray[np.int64]:
    """Return group sizes rounded up to whole candidates, as int64.

    A size that exceeds a whole number by rounding only is not rounded up. An infinite group size gives 0, because no
    person can be re-identified.
    """
    finite = np.isfinite(sizes)
    # 1 / (1 / 3) can exceed 3 by rounding and must not become 4.
    return np.where(finite, np.ceil(np.where(finite, sizes, 0.0) * (1 - INDIFFERENCE)), 0).astype(np.int64)


class Adversary(Protocol):
    """Interface of an adversary that replies to many released records in one call."""

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the adversary's `Response` to linked records.

        Parameters
        ----------
        linkage : Linkage
            Result of linking the records.
        rows : ndarray of int, optional
            Indices of these records, for adversaries whose gain or cost differs by record. Default: all records.
        """
        ...


@dataclass(frozen=True)
class Attempt:
    """An attack on each record, with its expected payoff; arrays of shape (n,).

    It is a single attempt, which succeeds or fails, or an attack in steps that follows a plan once begun.

    Parameters
    ----------
    success, believed_success : ndarray of float64
        Success probability, in truth and as the adversary believes.
    worth, payoff : ndarray of float64
        Expected payoff as the adversary believes, and in truth, in currency units per record.
    pays : ndarray of bool
        Whether the adversary expects a positive payoff; False if indifferent.
    exploits : ndarray of float64
        Expected number of exploits (people the adversary acts against).
    gain : float or ndarray of float64
        Gain from a success, in currency units per record.
    price : float or ndarray of float64, optional
        Cost of a single attempt, in currency units per record; None for an attack in steps.
    plan, used : ndarray of int64, optional
        Plan of a multi-stage attack; see `Response`.
    """

    success: Floats
    believed_success: Floats
    worth: Floats
    payoff: Floats
    pays: NDArray[np.bool_]
    exploits: Floats
    gain: float | Floats
    price: float | Floats | None = None
    plan: NDArray[np.int64] | None = None
    used: NDArray[np.int64] | None = None

    @classmethod
    def single(
        cls,
        success: Floats,
        believed: Floats,
        gain: float | Floats,
        price: float | Floats,
        plan: NDArray[np.int64] | None = None,
        used: NDArray[np.int64] | None = None,
    ) -> Attempt:
        """Return an `Attempt` of one attempt per record, with one exploit each.

        The expected payoff is gain times success probability, less the price.

        Parameters
        ----------
        success, believed : ndarray of float64, shape (n,)
            Success probability, in truth and as the adversary believes.
        gain, price : float or ndarray of float64, shape (n,)
            Gain from a success and cost of the attempt, in currency units per record.
        plan, used : ndarray of int64, shape (n,), optional
            Plan of a multi-stage attack; see `Response`.
        """
        hoped, exploits = gain * believed, np.ones(success.shape)
        pays, worth = np.asarray(hoped > price * (1 + INDIFFERENCE)), hoped - price
        payoff = worth if believed is success else gain * success - price
        return cls(success, believed, worth, payoff, pays, exploits, gain, price, plan, used)

    def made(self, attacks: NDArray[np.bool_] | None = None) -> Response:
        """Return the `Response` of an adversary who makes some of these attacks.

        `attacks`, shape (n,), marks the attacks that are made; by default, these are the profitable ones. Payoff and
        exploits are 0 without an attack. For an attack in steps, so are the success probabilities.
        """
        attacks = self.pays if attacks is None else attacks
        success, believed = self.success, self.believed_success
        if self.price is None:
            success, believed = np.where(attacks, success, 0.0), np.where(attacks, believed, 0.0)
        payoff, exploits = np.where(attacks, self.payoff, 0.0), np.where(attacks, self.exploits, 0.0)
        return Response(attacks, success, believed, payoff, exploits, gain=self.gain, plan=self.plan, used=self.used)


@runtime_checkable
class Weighing(Adversary, Protocol):
    """Interface of an adversary who decides by the expected payoff of an attack."""

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return an `Attempt`: the attack on each record with its expected payoff.

        The result includes unprofitable attacks. For the parameters see `Adversary.respond`.
        """
        ...

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the `Response` to each record: profitable attacks are made.

        For the parameters see `Adversary.respond`. Errors are those of `weigh`.
        """
        return self.weigh(linkage, rows).made()


# Fields with true quantities, which the adversary cannot know; only the outcome of an attack depends on them.
TRUTH = frozenset({"group_sizes", "plan_success", "among"})
# `by_chance` only describes how to read other fields.
KNOWABLE = frozenset(item.name for item in fields(PlanLinkage)) - TRUTH - {"by_chance"}


def declared_information(adversary: Adversary) -> frozenset[str]:
    """Return the names of the linkage fields on which a decision to attack depends.

    An adversary can declare them as `decides_on`. Without a declaration, these are all fields of `PlanLinkage` that an
    adversary can know; see `KNOWABLE`.

    Raises
    ------
    InputError
        If the adversary declares a field with a true quantity, or an unknown field.
    """
    declared = frozenset(getattr(adversary, "decides_on", KNOWABLE))
    for wrong in sorted(declared - KNOWABLE):
        raise InputError(
            "an adversary cannot base its decision on this field",
            where=f"{type(adversary).__name__}.decides_on",
            found=wrong,
            expected=f"fields among {', '.join(sorted(KNOWABLE))}",
        )
    return declared


def chance_of_guess(group_sizes: Counts) -> Floats:
    """Return the success probability of a uniform guess in each group.

    It is 0 in an empty group; otherwise, it is 1 / group size, and 1 for sizes between 0 and 1.
    """
    return np.where(group_sizes > 0, 1.0 / np.maximum(group_sizes, 1), 0.0)


def of_rows(amount: float | Floats, rows: Rows | slice | None) -> float | Floats:
    """Return the amounts of the records in `rows`, or of all records if it is None.

    A single amount for all records is returned as it is.
    """
    return amount if rows is None or np.ndim(amount) == 0 else np.asarray(amount)[rows]


@dataclass(frozen=True)
class _OneAttempt(Planner):
    """Adversary who makes at most one attempt per record.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    gain: float | Floats
    cost: float | Floats

    def __post_init__(self) -> None:
        for name, amount in (("gain", self.gain), ("cost", self.cost)):
            if not np.min(amount) >= 0:
                found = float(np.min(amount))
                raise InputError(f"{name} of the adversary is negative", found=found, expected="0 or more")


@planners.register("one-shot")
class OneShotAdversary(_OneAttempt, Weighing):
    """Adversary who makes one attempt per record if it is profitable.

    It attacks if the expected gain exceeds the cost, and does not attack if indifferent (Wan et al. 2015, Table 3). The
    attempt is a uniform guess in the record's group, so it succeeds with probability 1 / group size (Eq. 4). With group
    sizes counted in the population this is the journalist risk, with group sizes counted in the released records the
    prosecutor risk.

    Parameters
    ----------
    gain : float or ndarray of shape (n_records,)
        Gain from a successful re-identification, in currency units per record.
    cost : float or ndarray of shape (n_records,)
        Cost of an attempt, in currency units per record.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    label = "the one-shot adversary"
    provides = CAPABILITIES
    decides_on = frozenset({"believed_group_sizes"})

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return an `Attempt`: one attempt per record, with its expected payoff.

        Success probabilities are one over the true and the believed group sizes. Unprofitable attempts are included.
        For the parameters see `Adversary.respond`.
        """
        true, believed_sizes = linkage.group_sizes, linkage.believed_group_sizes
        success = np.reciprocal(true, dtype=np.float64)
        believed = success if believed_sizes is true else np.reciprocal(believed_sizes, dtype=np.float64)
        return Attempt.single(success, believed, of_rows(self.gain, rows), of_rows(self.cost, rows))


class _Baseline(_OneAttempt):
    """Adversary who attacks each record with probability `rate` under every strategy.

    For the parameters see `_OneAttempt`.
    """

    provides = CAPABILITIES - {EXPECTED_PAYOFF, SINGLE_ATTEMPT}
    decides_on: ClassVar[frozenset[str]] = frozenset()
    rate = 1.0

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the `Response` to each record; see `Adversary.respond`.

        With a rate of 0, no record is attacked; otherwise, `attacks` is true for every record. With a rate between 0
        and 1, payoff and exploits are multiplied by the rate, which is also the `frequency` of attacks. Of a
        multi-stage attack, the plan without inference is used.
        """
        if isinstance(linkage, PlanLinkage):
            # The first plan has no inference stage; its success probability accounts for people outside the registry.
            success, believed = linkage.plan_success[0], linkage.plan_believed[0]
        else:
            success, believed = chance_of_guess(linkage.group_sizes), chance_of_guess(linkage.believed_group_sizes)
        attempt = Attempt.single(success, believed, of_rows(self.gain, rows), of_rows(self.cost, rows))
        made = attempt.made(np.full(len(success), self.rate > 0))
        if self.rate in (0.0, 1.0):
            return made
        return replace(
            made,
            adversary_payoff=self.rate * made.adversary_payoff,
            exploits=self.rate * made.exploits,
            frequency=np.full(len(success), self.rate),
        )


@planners.register("always")
class AlwaysAttacks(_Baseline):
    """Adversary who attacks every record once, whether or not it is profitable.

    The adversary links on the released values only, without inference stages, and guesses like the one-shot adversary.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    label = "the adversary who attacks every record"


@planners.register("never")
@dataclass(frozen=True)
class NeverAttacks(_Baseline):
    """Adversary who attacks no record.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record; they have no effect on the payoff.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    label = "the adversary who attacks no record"
    provides = _Baseline.provides - {GAINS}
    rate = 0.0

    gain: float | Floats = 0.0
    cost: float | Floats = 0.0


@planners.register("random")
@dataclass(frozen=True)
class RandomAttacks(_Baseline):
    """Adversary who attacks each record with a fixed probability.

    The probability does not depend on the release. The reply is the expected one: the mean of `AlwaysAttacks` and
    `NeverAttacks` with weights `rate` and ``1 - rate``.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record.
    rate : float
        Probability of an attack, in [0, 1].

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    label = "the adversary who attacks at random"
    keys = ("rate",)

    rate: float = 0.5
