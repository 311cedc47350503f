"""Adversaries as objects: what they gain and pay, how they plan, and what they link with."""

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

# One amount for all records, a column of the records, or one amount for each.
Amount = float | str | ArrayLike
Risk = Literal["journalist", "prosecutor", "sample"]
Direction = Literal["record", "person", "both"]


@dataclass(frozen=True, kw_only=True)
class _Links:
    """What an adversary links with, whatever its plan."""

    knowledge: str | Path | None = None
    stages: str | Path | None = None
    risk: Risk | None = None
    direction: Direction = "record"
    rationality: Rationality = "perfect"
    precision: float | None = None
    prospect: Mapping[str, float] | None = None

    def links(self) -> dict[str, Any]:
        """Return what differs from the defaults, as a section of an adversary says it."""
        told = {item.name: getattr(self, item.name) for item in fields(_Links)}
        changed = {name: value for name, value in told.items() if value != getattr(_Links, name)}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in changed.items()}


@dataclass(frozen=True, eq=False)
class OneShot(_Links):
    """Attacks a record once, if the expected gain exceeds the cost; does nothing when indifferent.

    Parameters
    ----------
    gain : float, str, array or None
        Worth of a re-identification: one amount, a column of the records, or one amount per record; the publisher's
        loss if None.
    cost : float, str or array
        Price of an attempt.
    knowledge : str or Path, optional
        Knowledge recipe: what it knows about people; everything if not given.
    stages : str or Path, optional
        Attack recipe: what it infers before it links.
    risk : {"journalist", "prosecutor", "sample"}, optional
        Whether groups are counted in the population, in the released records, or in the population as estimated from
        the records and their weights; in the population if the game has one, else in the records.
    direction : {"record", "person", "both"}
        Whether it takes a shared row and asks who it is, takes a person and asks which of the shared rows that fit is
        theirs, or does for each person whichever succeeds more.
    rationality : {"perfect", "logit", "prospect", "prospect-logit"}
        Whether it attacks exactly what pays, or errs: with logit noise, by prospects, or both.
    precision : float, optional
        Of logit noise; per currency unit, or per unit of value of prospects.
    prospect : mapping of str to float, optional
        Parameters of prospects, by the names of section ``adversary.prospect``; those of Tversky and Kahneman (1992)
        where not given.
    """

    planner: ClassVar[str] = "one-shot"

    gain: Amount | None
    cost: Amount


@dataclass(frozen=True, eq=False)
class Sequential(_Links):
    """Plans access to a registry, linkage and exploits one by one, as a factored Markov decision process.

    Parameters
    ----------
    gain : float, str, array or None
        G, worth of exploiting the right person; the publisher's loss if None.
    cost : float, str or array
        C_e, price of one exploit.
    registry : Population, DataFrame, str or Path, optional
        Those whom the adversary can look up; everybody if not given.
    belief : {"known", "unknown"}
        Whether it knows the size of the group in the registry before it pays for access.
    access_cost, link_cost : float
        C_d and C_l.
    penalty : float
        C_p, fine for a detected exploit.
    max_penalties : int, optional
        n_f, how often the fine is levied at most.
    detection_intercept, detection_slope : float
        h0 and h1: exploit j, from 0, is detected with probability ``1 / (1 + exp(-(h0 + h1 j)))``.
    prior : float, optional
        Probability that the person is in the registry; the share of people in it if not given.
    discount : float
        gamma, worth of money one step later.
    penalty_timing : {"next-state", "at-action"}
        When the fine is paid.
    detection_ends_attack : bool
        Whether a detected exploit is the last one.
    solver : {"backward-induction", "linear-program", "two-level"}
        How the attack on each record is planned; all three give the same plan, backward induction much faster.
    knowledge, stages, risk, direction, rationality, precision
        As of `OneShot`.
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
        """Plan the attack alone, without a game.

        Parameters
        ----------
        group_sizes : array of int, shape (n,)
            People of the registry who match each record.
        registry_size : int, optional
            People of the registry: the adversary then knows before access only this and `match_probability`.
        match_probability : array of float, shape (n,), optional
            Share of the whole population that matches each record.

        Returns
        -------
        Plan
            Arrays of shape (n,): whether it accesses the registry, whom it exploits, and what comes of it.

        Raises
        ------
        InputError
            If a parameter is out of its range.
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
        """The parameters as the planner alone takes them; everybody is in the registry if there is no prior."""
        names = {item.name for item in fields(SequentialAttack)} & {item.name for item in fields(self)}
        shared: dict[str, Any] = {name: getattr(self, name) for name in names - {"gain", "prior"}}
        gain, cost = float(np.asarray(self.gain)), float(np.asarray(self.cost))
        return SequentialAttack(gain=gain, exploit_cost=cost, prior=self.prior or 1.0, **shared)

    def section(self) -> dict[str, Any]:
        """Return what differs from the defaults, as section ``adversary.sequential`` says it, without the registry."""
        own = [item for item in fields(self) if item.name not in ("gain", "cost", "registry", *_LINKS)]
        return {item.name: getattr(self, item.name) for item in own if getattr(self, item.name) != item.default}


@dataclass(frozen=True, eq=False)
class Always(_Links):
    """Attacks every record once, whether or not that pays.

    Parameters
    ----------
    gain, cost : float
        Worth of naming the right person, and price of an attempt.
    knowledge, stages, risk, direction
        As of `OneShot`.
    """

    planner: ClassVar[str] = "always"

    gain: Amount | None
    cost: Amount


@dataclass(frozen=True, eq=False)
class Never(_Links):
    """Attacks nothing.

    Parameters
    ----------
    gain, cost : float
        What an attack would be worth and cost; nothing depends on them.
    """

    planner: ClassVar[str] = "never"

    gain: Amount | None = None
    cost: Amount = 0.0


@dataclass(frozen=True, eq=False)
class Random(_Links):
    """Attacks each record with a probability, whatever the form in which it is shared; outcomes are expectations.

    Parameters
    ----------
    gain, cost : float
        Worth of naming the right person, and price of an attempt.
    rate : float
        Probability of an attack.
    """

    planner: ClassVar[str] = "random"

    gain: Amount | None
    cost: Amount
    rate: float = 0.5


@dataclass(frozen=True, eq=False)
class Own(_Links):
    """An adversary of the user's own.

    Parameters
    ----------
    adversary : object, class or function
        What has a method ``respond(linkage, rows)`` that returns a `Response`; or what makes it, called with ``gain``
        and ``cost``, so that sweeps over them reach it.
    gain, cost : float, optional
        What attacks are worth and cost, for adversaries that it is compared with; those of the object if not given. The
        gain is the loss if the object has none either.
    name : str, optional
        What results call it; that of its class or function if not given.
    knowledge, stages, risk, direction, rationality, precision, prospect
        As of `OneShot`.
    """

    adversary: Adversary | Callable[..., Adversary]
    gain: Amount | None = None
    cost: Amount | None = None
    name: str | None = None

    @property
    def planner(self) -> str:
        """What results call it."""
        made = type(self.adversary) if replies(self.adversary) else self.adversary
        return self.name or str(getattr(self.adversary, "name", None) or getattr(made, "__name__", type(made).__name__))

    @property
    def make(self) -> Any:
        """The object, or what makes it with a gain and a cost."""
        return self.adversary

    def amount(self, name: str) -> Amount | None:
        """Return the gain or cost: as given, or that of the object."""
        given: Amount | None = getattr(self, name)
        return getattr(self.adversary, name, None) if given is None and replies(self.adversary) else given


_LINKS = tuple(item.name for item in fields(_Links))
AnyAdversary = OneShot | Sequential | Always | Never | Random | Own
