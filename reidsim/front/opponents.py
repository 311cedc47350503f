"""Adversaries of a game: one adversary, or several types that records may face."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.errors import InputError, listed, require_distinct
from reidsim.front.adversaries import Amount, AnyAdversary, Own, Random, Sequential
from reidsim.front.arguments import GAME
from reidsim.populations.population import Population
from reidsim.scenarios.given import replies

_ANY = "OneShot(...), Sequential(...), Always, Never, Random, or an object with a method respond(linkage, rows)"


@dataclass(frozen=True, eq=False)
class Opponents:
    """Adversaries of a game.

    Parameters
    ----------
    by_name : dict of str to adversary
        Adversary by name; the key is None if there is only one.
    weights : dict of str to float
        Prior probability of each adversary type; empty if there is only one adversary.
    """

    by_name: dict[str | None, AnyAdversary]
    weights: dict[str, float]

    @classmethod
    def of(cls, adversary: Any, adversaries: Mapping[str, Any], weights: Mapping[str, float] | None) -> Opponents:
        """Create the opponents from the arguments of a game.

        Raises
        ------
        InputError
            If the arguments do not define an adversary, or an object is not an adversary.
        """
        if (adversary is None) == (not adversaries):
            raise InputError(
                "nobody attacks" if adversary is None else "both adversary and adversaries say who attacks",
                source=GAME, where="argument 'adversary'", expected="either adversary or adversaries",
            )  # fmt: skip
        if weights is not None and set(weights) != set(adversaries):
            raise InputError(
                "not a weight for each adversary", source=GAME, where="argument 'weights'", found=listed(weights),
                expected=f"one for each of {listed(adversaries)}" if adversaries else "none without adversaries",
            )  # fmt: skip
        if not adversaries:
            return cls({None: _adversary(adversary, "argument 'adversary'")}, {})
        by_name: dict[str | None, AnyAdversary] = {
            str(name): _adversary(each, _argument(name)) for name, each in adversaries.items()
        }
        shares = dict.fromkeys(adversaries, 1 / len(by_name)) if weights is None else dict(weights)
        planners = [each.planner for each in by_name.values() if isinstance(each, Own)]
        require_distinct(
            "two of your own adversaries have the same name", planners, source=GAME, where="argument 'adversaries'",
            expected="Own(..., name=...) with names of their own",
        )  # fmt: skip
        return cls(by_name, {str(name): float(share) for name, share in shares.items()})

    @property
    def words(self) -> str:
        """Adversary names, separated by commas."""
        return ", ".join(name or each.planner for name, each in self.by_name.items())

    @property
    def rate(self) -> float:
        """Attack probability of the random adversary in cross-play."""
        return next((each.rate for each in self.by_name.values() if isinstance(each, Random)), 0.5)

    @property
    def amounts(self) -> dict[str, Amount | None]:
        """Gain and cost of the economics section.

        With several types, the gain is None and the cost is the first one given.
        """
        found = {name: [_amount(each, name) for each in self.by_name.values()] for name in ("gain", "cost")}
        if not self.weights:
            return {name: each[0] for name, each in found.items()}
        return {"gain": None, "cost": next((cost for cost in found["cost"] if cost is not None), None)}

    @property
    def planners(self) -> dict[str, Any]:
        """User-defined adversaries, or callables that create them, by planner name."""
        return {each.planner: each.make for each in self.by_name.values() if isinstance(each, Own)}

    def content(self, risk: str, populations: dict[str, Population], prefix: str) -> dict[str, Any]:
        """Return the scenario sections of adversaries, and fill `populations`.

        Parameters
        ----------
        risk : str
            Risk type of adversaries that do not set one.
        populations : dict of str to Population
        prefix : str
            Prefix of population names.
        """
        sections: dict[str, dict[str, Any]] = {}
        for number, (name, each) in enumerate(self.by_name.items(), start=1):
            file = f"{prefix}registry{'' if name is None else f'-{number}'}.toml"
            section = _section(each, risk, populations, file, _argument(name))
            if name is None:
                return {"adversary": section}
            sections[name] = {"weight": self.weights[name], **section, **_own_amounts(each, _argument(name))}
        return {"adversaries": sections}


def _argument(name: object) -> str:
    return "argument 'adversary'" if name is None else f"argument 'adversaries', {name}"


def _adversary(given: Any, argument: str) -> AnyAdversary:
    """Return the adversary, with a user-defined object wrapped in `Own`."""
    if isinstance(given, AnyAdversary):
        return given
    if not replies(given):
        raise InputError(
            "no adversary", source=GAME, where=argument, found=given, expected=_ANY,
            hint="Own(...) takes a class or function that makes one",
        )  # fmt: skip
    return Own(given)


def _amount(adversary: AnyAdversary, name: str) -> Amount | None:
    given: Amount | None = adversary.amount(name) if isinstance(adversary, Own) else getattr(adversary, name)
    return given


def _own_amounts(adversary: AnyAdversary, argument: str) -> dict[str, float]:
    """Return the own gain and cost of an adversary type; empty if it has none."""
    amounts = {}
    for name in ("gain", "cost"):
        amount = _amount(adversary, name)
        if amount is None:
            continue
        if isinstance(amount, str) or np.ndim(amount):
            raise InputError(
                "not one amount", source=GAME, where=f"{argument}, {name}", found=type(amount).__name__,
                expected="a number: what several adversaries gain and pay does not differ by record",
            )  # fmt: skip
        amounts[name] = float(amount)  # type: ignore[arg-type]
    return amounts


def _section(
    adversary: AnyAdversary, risk: str, populations: dict[str, Population], file: str, argument: str
) -> dict[str, Any]:
    """Return the scenario section of an adversary."""
    section: dict[str, Any] = {"risk": risk, **adversary.links()}
    if isinstance(adversary, Sequential):
        plan = adversary.section()
        if adversary.registry is not None:
            registry = population_of(adversary.registry, "registry", f"{argument}, registry")
            plan["registry"] = registry if isinstance(registry, str) else file
            if isinstance(registry, Population):
                populations[file] = registry
        section |= {"sequential": plan} if plan else {}
    if adversary.planner != "one-shot":
        section["planner"] = adversary.planner
    if isinstance(adversary, Random):
        section["rate"] = adversary.rate
    for name in ("knowledge", "stages"):
        if name in section:
            section[name] = path_text(section[name])
    return section


def population_of(given: object, name: str, argument: str) -> Population | str:
    """Return the population, or the name or file of its recipe.

    A table is converted to a population.

    Raises
    ------
    InputError
        If the argument is none of these.
    """
    if isinstance(given, Population):
        return given
    if isinstance(given, pd.DataFrame):
        return Population.from_frame(given, name=name)
    if isinstance(given, str | Path):
        return path_text(given)
    raise InputError(
        "no population", source=GAME, where=argument, found=type(given).__name__,
        expected="a Population, a DataFrame, or the name or file of a recipe",
    )  # fmt: skip


def path_text(given: str | Path) -> str:
    """Return a file path as absolute text, and a name unchanged."""
    is_file = isinstance(given, Path) or bool(re.search(r"[/\\]|\.(toml|parquet)$", given))
    return str(Path(given).absolute()) if is_file else str(given)
