"""Convert parameter values and ranges to scenario sections."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from reidsim.errors import InputError, listed, nearest
from reidsim.front.arguments import GAME
from reidsim.scenarios.several_adversaries import WHO_COMES

_PRICES = ("benefit", "loss", "gain", "cost")


def sweep_section(
    values: Mapping[str, Any], one_at_a_time: Sequence[str], adversaries: Collection[str]
) -> dict[str, Any]:
    """Return section ``sweep`` of a scenario file.

    Parameters
    ----------
    values : mapping of str to iterable
        Values by parameter name: a payoff parameter, or a key path with ``__`` in place of dots.
    one_at_a_time : sequence of str
        Names of the parameters that are varied one at a time.
    adversaries : collection of str
        Names of the adversary types, if there are several; each type has its own gain and cost.

    Raises
    ------
    InputError
        If a parameter is unknown, or its values are not a list.
    """
    section: dict[str, Any] = {"values": {_key(name, adversaries): _listed(name, v) for name, v in values.items()}}
    if one_at_a_time:
        section["one_at_a_time"] = [_key(name, adversaries) for name in one_at_a_time]
    return section


def uncertainty_section(ranges: Mapping[str, Any], samples: int | None, adversaries: Collection[str]) -> dict[str, Any]:
    """Return section ``uncertainty`` of a scenario file; see `sweep_section`."""
    parameters = {
        **{_key(name, adversaries): _distribution(name, each) for name, each in ranges.items() if name != WHO_COMES},
        **({WHO_COMES: _who_comes(ranges[WHO_COMES])} if WHO_COMES in ranges else {}),
    }
    return {"parameters": parameters} | ({} if samples is None else {"samples": samples})


def _key(name: str, adversaries: Collection[str]) -> str:
    """Return the key path of a parameter."""
    if name in ("gain", "cost") and adversaries:
        raise InputError(
            "each adversary has its own", source=GAME, where=f"argument {name!r}",
            expected=listed(f"adversaries__{each}__{name}" for each in adversaries),
        )  # fmt: skip
    if name in _PRICES:
        return f"economics.{name}"
    if "__" in name:
        return name.replace("__", ".")
    raise InputError(
        "no such parameter", source=GAME, where=f"argument {name!r}", expected=f"{listed(_PRICES)}, or a key of a "
        "scenario with __ in place of dots", hint=nearest(name, _PRICES),
    )  # fmt: skip


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | Mapping) or not hasattr(values, "__iter__"):
        raise InputError("not values", source=GAME, where=f"argument {name!r}", found=values,
                         expected="a list, a range or an array")  # fmt: skip
    return [value.item() if hasattr(value, "item") else value for value in values]


def _who_comes(given: Any) -> dict[str, Any]:
    return dict(given) if isinstance(given, Mapping) else {
        "distribution": "discrete", "values": _listed(WHO_COMES, given)
    }  # fmt: skip


def _distribution(name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    try:
        low, high = given
    except (TypeError, ValueError):
        raise InputError("not a range", source=GAME, where=f"argument {name!r}", found=given,
                         expected="the lowest and the highest value, such as (100, 500)") from None  # fmt: skip
    return {"distribution": "uniform", "low": low, "high": high}
