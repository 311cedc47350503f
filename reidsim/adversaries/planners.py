"""Planners: rules by which adversaries decide about attacks, and their registry."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from reidsim.adversaries.response import Adversary
from reidsim.core.registry import Registry
from reidsim.releases.strategy_space import Floats

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
    """Rule by which an adversary decides about attacks: a base class of adversaries.

    A scenario names it in the key ``planner``.

    Attributes
    ----------
    label : str
        Noun phrase for the planner in messages, such as "the one-shot adversary".
    provides : frozenset of str
        Capabilities of the planner that other options of a scenario require, such as `EXPECTED_PAYOFF` for an adversary
        who errs.
    keys : tuple of str
        Keys of the adversary's section that only this planner reads.
    """

    label: ClassVar[str]
    provides: ClassVar[frozenset[str]]
    keys: ClassVar[tuple[str, ...]] = ()

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
        adversary: Any = cls
        made: Adversary = adversary(gain, cost, **{key: getattr(section, key) for key in cls.keys})
        return made


planners: Registry[type[Planner]] = Registry(
    "planner",
    "reidsim.adversaries",
    "reidsim.adversaries.one_shot",
    "reidsim.adversaries.sequential.adversary",
    "reidsim.adversaries.simple_behaviours",
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
