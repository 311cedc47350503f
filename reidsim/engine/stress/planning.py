"""Beliefs of a publisher at a parameter point: keys of beliefs for keys of the truth.

A publisher who plans as believed holds on to the scenario's own values, whatever is true at a point. In a scenario that
is said by its section ``beliefs``: the counterpart of ``economics.cost`` is ``beliefs.cost``, that of
``resources.genealogy.size`` is ``beliefs.sizes.genealogy``. The publisher knows the true value of other keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pandas as pd

from reidsim.errors import InputError, listed
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead

Planning = Literal["informed", "as-believed"]


def belief_key(scenario: ScenarioHead, key: str) -> str | None:
    """Return the key path of the publisher's belief about `key`, or None if it knows the truth."""
    beliefs = getattr(scenario, "beliefs", None)
    if beliefs is None:
        return None
    section, _, name = key.partition(".")
    known = set(type(beliefs).model_fields)
    if section in ("economics", "adversary") and name in known:
        return f"beliefs.{name}"
    parts = key.split(".")
    if len(parts) == 3 and parts[0] == "resources" and parts[2] == "size" and "sizes" in known:
        return f"beliefs.sizes.{parts[1]}"
    return None


def truth_key(key: str) -> str:
    """Return the key path of the truth that a key of the section ``beliefs`` is about."""
    parts = key.split(".")
    if parts[1] == "sizes":
        return f"resources.{parts[2]}.size"
    section = "economics" if parts[1] in EconomicsSection.model_fields else "adversary"
    return f"{section}.{parts[1]}"


def own_value(scenario: ScenarioHead, key: str) -> Any:
    """Return the value that a scenario gives a key, or None.

    An adversary's gain that is not stated is the publisher's loss.
    """
    if key == "economics.gain" and isinstance(economics := getattr(scenario, "economics", None), EconomicsSection):
        return economics.adversary_gain
    if key.startswith("adversary.") and getattr(scenario, "adversaries", None):
        # Several adversaries may have different values.
        return None
    current: Any = scenario
    for part in key.split("."):
        if isinstance(current, Mapping):
            current = current.get(part)
        elif isinstance(current, tuple | list):
            current = current[int(part)] if part.isdecimal() and int(part) < len(current) else None
        else:
            current = getattr(current, part, None)
    return current


def believed_values(scenario: ScenarioHead, keys: Iterable[str]) -> dict[str, Any]:
    """Return the values that fix the beliefs about `keys` at the scenario's own, by key path of ``beliefs``.

    A belief that the scenario states is kept. A gain that is not stated equals the loss, in belief as in
    truth.
    """
    pinned = {}
    for key in keys:
        beliefs, truth = (key, truth_key(key)) if key.startswith("beliefs.") else (belief_key(scenario, key), key)
        if beliefs is None:
            continue
        stated = own_value(scenario, beliefs)
        pinned[beliefs] = own_value(scenario, truth) if stated is None else stated
    return _with_gain(scenario, pinned)


def known_keys(scenario: ScenarioHead, keys: Iterable[str]) -> list[str]:
    """Return the keys of the truth about which a publisher cannot be mistaken."""
    return [key for key in keys if belief_key(scenario, key) is None and not key.startswith("beliefs.")]


def belief_points(
    scenario: ScenarioHead, key: str, true: Iterable[Any] | None, believed: Iterable[Any] | None
) -> pd.DataFrame:
    """Return the points of a curve of mistaken publishers: every true value with every believed one.

    Parameters
    ----------
    scenario : ScenarioHead
    key : str
        Of the truth, such as ``economics.cost``.
    true, believed : iterable, optional
        Values; the scenario's own if not given.

    Returns
    -------
    DataFrame
        Columns `key`, its counterpart, and ``beliefs.gain`` where it goes with the loss.

    Raises
    ------
    InputError
        If the key has no counterpart, or no value of its own to vary the other around.
    """
    beliefs = belief_key(scenario, key)
    if beliefs is None:
        fields = getattr(scenario, "beliefs", None)
        others = {"sizes", "lists"}
        names = [f"economics.{name}" for name in type(fields).model_fields if name not in others] if fields else []
        expected = f"a parameter with beliefs: {listed(names)}" if names else "a game with beliefs"
        raise InputError("the publisher has no belief about this parameter", where="key", found=key, expected=expected)
    pinned = believed_values(scenario, [key])[beliefs]
    own = own_value(scenario, key)
    for missing, value, where in ((true, own, "true"), (believed, pinned, "believed")):
        if missing is None and value is None:
            raise InputError("the scenario sets no value for the key", where=where, expected=f"values of {key}")
    truths = [own] if true is None else list(true)
    believes = [pinned] if believed is None else list(believed)
    pairs = [(t, b) for b in believes for t in truths]
    rows = [{key: t, **_with_gain(scenario, {beliefs: b})} for t, b in pairs]
    return pd.DataFrame(rows).astype(object)


def _with_gain(scenario: ScenarioHead, beliefs: dict[str, Any]) -> dict[str, Any]:
    """Add the gain believed in where it is that of the loss believed in."""
    economics = getattr(scenario, "economics", None)
    follows = isinstance(economics, EconomicsSection) and economics.gain is None
    unstated = own_value(scenario, "beliefs.gain") is None
    if "beliefs.loss" in beliefs and "beliefs.gain" not in beliefs and follows and unstated:
        return {**beliefs, "beliefs.gain": beliefs["beliefs.loss"]}
    return beliefs
