"""Adversaries as objects: payoff parameters, plans and linkage settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from reidsim.adversaries.factored_mdp import Method
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import BinomialBelief, Plan, plan_known, plan_unknown
from reidsim.errors import InputError
from reidsim.populations.population import Population
from reidsim.scenarios.given import replies
from reidsim.scenarios.rationality_schema import Rationality

# One amount for all records, the name of a record column, or one amount per record.
Amount = float | str | ArrayLike
Risk = Literal["journalist", "prosecutor", "sample"]
Direction = Literal["record", "person", "both"]


@dataclass(frozen=True, kw_only=True)
class _Links:
    """Linkage and rationality settings shared by all adversaries."""

    knowledge: str | Path | None = None
    stages: str | Path | None = None
    risk: Risk | None = None
    direction: Direction = "record"
    rationality: Rationality = "perfect"
    precision: float | None = None
    prospect: Mapping[str, float] | None = None

    def links(self) -> dict[str, Any]:
        """Return the settings that differ from the defaults, as scenario keys."""
        told = {item.name: getattr(self, item.name) for item in fields(_Links)}
        changed = {name: value for name, value in told.items() if value != getattr(_Links, name)}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in changed.items()}


@dataclass(frozen=True, eq=False)
class OneShot(_Links):
    """Adversary that attacks a record once if the expected gain exceeds the cost.

    An indifferent adversary does not attack.

    Parameters
    ----------
    gain : float, str, array or None
        Value of a successful re-identification, in currency units: one amount, a column of the records, or one amount
        per record; the publisher's loss if None.
    cost : float, str or array
        Cost of an attempt, in currency units.
    knowledge : str or Path, optional
        Knowledge recipe: background knowledge about people; complete knowledge if not given.
    stages : str or Path, optional
        Attack recipe: inference stages before the linkage.
    risk : {"journalist", "prosecutor", "sample"}, optional
        Where group sizes are counted: in the population (journalist), in the released records (prosecutor), or in the
        population as estimated from the records and their weights (sample). If not given, journalist if the game has a
        population, else prosecutor.
    direction : {"record", "person", "both"}
        Linkage from a released record to people, or from a person to the released records that match; ``"both"`` uses
        the more successful direction for each person.
    rationality : {"perfect", "logit", "prospect", "prospect-logit"}
        Whether the adversary maximizes its payoff exactly, or errs: with logit noise, by prospect theory, or both.
    precision : float, optional
        Precision of the logit noise, per currency unit, or per unit of prospect value.
    prospect : mapping of str to float, optional
        Prospect-theory parameters, named as in section ``adversary.prospect``; defaults are from Tversky and Kahneman
        (1992).
    """

    planner: ClassVar[str] = "one-shot"

    gain: Amount | None
    cost: Amount


@dataclass(frozen=True, eq=False)
class Sequential(_Links):
    """Adversary that plans registry access, linkage and exploits step by step.

    The plan solves a factored Markov decision process.

    Parameters
    ----------
    gain : float, str, array or None
        G, value of exploiting the right person, in currency units; the publisher's loss if None.
    cost : float, str or array
        C_e, cost of an exploit, in currency units.
    registry : Population, DataFrame, str or Path, optional
        People whom the adversary can look up; the whole population if not given.
    belief : {"known", "unknown"}
        Whether the adversary knows the group size in the registry before it pays for access.
    access_cost, link_cost : float
        C_d, cost of registry access, and C_l, cost of linkage, in currency units.
    penalty : float
        C_p, fine for a detected exploit, in currency units.
    max_penalties : int, optional
        n_f, maximum number of fines.
    detection_intercept, detection_slope : float
        h0 and h1: exploit j, from 0, is detected with probability ``1 / (1 + exp(-(h0 + h1 j)))``.
    prior : float, optional
        Probability that the person is in the registry; the registry's share of the population if not given.
    discount : float
        gamma, value of money one step later.
    penalty_timing : {"next-state", "at-action"}
        When the fine is paid.
    detection_ends_attack : bool
        Whether the attack ends with the first detected exploit.
    solver : {"backward-induction", "linear-program", "two-level"}
        Planning algorithm for each record. All three give the same plan; backward induction is much faster.
    knowledge, stages, risk, direction, rationality, precision
        As in `OneShot`.
    """

    planner: ClassVar[str] = "fmdp"

    gain: Amount | None
    cost: Amount
    registry: Population | pd.DataFrame | str | Path | None = field(default=None, kw_only=True)
    belief: Literal["known", "unknown"] = field(default="known", kw_only=True)
    access_cost: float = field(default=0.0, kw_only=True)
    link_cost: float = field(default=0.0, kw_only=True)
    penalty: float = field(default=0.0, kw_only=True)
    max_penalties: int | None = field(default=None, kw_only=True)
    detection_intercept: float = field(default=-4.59, kw_only=True)
    detection_slope: float = field(default=0.0, kw_only=True)
    prior: float | None = field(default=None, kw_only=True)
    discount: float = field(default=0.9, kw_only=True)
    penalty_timing: Literal["next-state", "at-action"] = field(default="next-state", kw_only=True)
    detection_ends_attack: bool = field(default=False, kw_only=True)
    solver: Method = field(default="backward-induction", kw_only=True)

    def plan(
        self,
        group_sizes: ArrayLike,
        *,
        registry_size: int | None = None,
        match_probability: ArrayLike | None = None,
    ) -> Plan:
        """Plan the attack without a game.

        Parameters
        ----------
        group_sizes : array of int, shape (n,)
            Number of people in the registry who match each record.
        registry_size : int, optional
            Number of people in the registry. If given, the adversary knows only this number and `match_probability`
            before access.
        match_probability : array of float, shape (n,), optional
            Share of the whole population that matches each record.

        Returns
        -------
        Plan
            Arrays of shape (n,): registry access, exploited people and outcomes.

        Raises
        ------
        InputError
            If a parameter is out of range.
        """
        sizes: NDArray[np.number] = np.asarray(group_sizes)
        if registry_size is None and match_probability is None:
            return plan_known(self.attack, sizes)
        if registry_size is None or match_probability is None:
            raise InputError(
                "unknown groups need both", source="Sequential.plan", where="registry_size, match_probability",
                expected="both or neither",
            )  # fmt: skip
        return plan_unknown(self.attack, sizes, BinomialBelief(registry_size, np.asarray(match_probability)))

    @property
    def attack(self) -> SequentialAttack:
        """Planner parameters; the prior is 1 if not given."""
        names = {item.name for item in fields(SequentialAttack)} & {item.name for item in fields(self)}
        shared: dict[str, Any] = {name: getattr(self, name) for name in names - {"gain", "prior"}}
        gain, cost = float(np.asarray(self.gain)), float(np.asarray(self.cost))
        return SequentialAttack(gain=gain, exploit_cost=cost, prior=self.prior or 1.0, **shared)

    def section(self) -> dict[str, Any]:
        """Return non-default settings of ``adversary.sequential``, without the registry."""
        own = [item for item in fields(self) if item.name not in ("gain", "cost", "registry", *_LINKS)]
        return {item.name: getattr(self, item.name) for item in own if getattr(self, item.name) != item.default}


@dataclass(frozen=True, eq=False)
class Always(_Links):
    """Adversary that attacks every record once, even if the payoff is negative.

    Parameters
    ----------
    gain, cost : float
        Value of a successful re-identification, and cost of an attempt, in currency units.
    knowledge, stages, risk, direction
        As in `OneShot`.
    """

    planner: ClassVar[str] = "always"

    gain: Amount | None
    cost: Amount


@dataclass(frozen=True, eq=False)
class Never(_Links):
    """Adversary that never attacks.

    Parameters
    ----------
    gain, cost : float
        Hypothetical value and cost of an attack, in currency units; results do not depend on them.
    """

    planner: ClassVar[str] = "never"

    gain: Amount | None = None
    cost: Amount = 0.0


@dataclass(frozen=True, eq=False)
class Random(_Links):
    """Adversary that attacks each record with a fixed probability.

    The probability does not depend on how the record is released. Outcomes are expected values.

    Parameters
    ----------
    gain, cost : float
        Value of a successful re-identification, and cost of an attempt, in currency units.
    rate : float
        Probability of attacking a record.
    """

    planner: ClassVar[str] = "random"

    gain: Amount | None
    cost: Amount
    rate: float = 0.5


@dataclass(frozen=True, eq=False)
class Own(_Links):
    """Adversary defined by the user.

    Parameters
    ----------
    adversary : object, class or function
        An object with a method ``respond(linkage, rows)`` that returns a `Response`, or a class or function that
        creates the object when called with ``gain`` and ``cost``. Sweeps over gain and cost need the latter.
    gain, cost : float, optional
        Value and cost of an attack, for the adversaries used in comparisons; attributes of the object if not given. If
        the object has no gain either, the gain is the publisher's loss.
    name : str, optional
        Name in results; the name of the class or function if not given.
    knowledge, stages, risk, direction, rationality, precision, prospect
        As in `OneShot`.
    """

    adversary: Adversary | Callable[..., Adversary]
    gain: Amount | None = None
    cost: Amount | None = None
    name: str | None = None

    @property
    def planner(self) -> str:
        """Name of the adversary in results."""
        made = type(self.adversary) if replies(self.adversary) else self.adversary
        return self.name or str(getattr(self.adversary, "name", None) or getattr(made, "__name__", type(made).__name__))

    @property
    def make(self) -> Any:
        """The object, or the callable that creates it from a gain and a cost."""
        return self.adversary

    def amount(self, name: str) -> Amount | None:
        """Return the gain or cost: the argument if given, else the object's attribute."""
        given: Amount | None = getattr(self, name)
        return getattr(self.adversary, name, None) if given is None and replies(self.adversary) else given


_LINKS = tuple(item.name for item in fields(_Links))
AnyAdversary = OneShot | Sequential | Always | Never | Random | Own
