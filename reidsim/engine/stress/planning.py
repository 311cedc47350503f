"""Beliefs of the publisher at a parameter point, and their keys.

With planning ``as-believed``, the publisher plans with the beliefs that it has at the scenario's own values, even if
other values are true at a point. The section ``beliefs`` of a scenario holds the believed values: ``beliefs.cost`` is
the belief about ``economics.cost``, and ``beliefs.sizes.genealogy`` about ``resources.genealogy.size``. The publisher
always knows the true value of a key that has no belief key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pandas as pd

from reidsim.errors import InputError, listed
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead

Planning = Literal["informed", "as-believed"]


def belief_key(scenario: ScenarioHead, key: str) -> str | None:
    """Return the key path of the publisher's belief about `key`.

    None if the kind of scenario has no such belief, so that the publisher always knows the true value.
    """
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
    """Return the key path of the true value for a key of section ``beliefs``."""
    parts = key.split(".")
    if parts[1] == "sizes":
        return f"resources.{parts[2]}.size"
    section = "economics" if parts[1] in EconomicsSection.model_fields else "adversary"
    return f"{section}.{parts[1]}"


def own_value(scenario: ScenarioHead, key: str) -> Any:
    """Return the scenario's value of a key; None if it has none.

    If the scenario does not state the adversary's gain, the gain equals the publisher's loss.
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
    """Return beliefs fixed at the scenario's own values, by key path of ``beliefs``.

    Setting them at a point keeps the publisher's beliefs while the true values change. `keys` are key paths of true
    values or of beliefs; keys without a belief key are left out. A belief that the scenario does not state equals the
    scenario's own value. If the loss is among `keys` and neither the gain nor the belief about it is stated, the
    believed gain is added; it equals the believed loss.
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
    """Return the keys about which the publisher can have no belief.

    It always knows their true value. Keys of section ``beliefs`` are left out.
    """
    return [key for key in keys if belief_key(scenario, key) is None and not key.startswith("beliefs.")]


def belief_points(
    scenario: ScenarioHead, key: str, true: Iterable[Any] | None, believed: Iterable[Any] | None
) -> pd.DataFrame:
    """Return the points of a belief curve: every true with every believed value.

    True values change fastest.

    Parameters
    ----------
    scenario : ScenarioHead
    key : str
        Key path of the true value, such as ``economics.cost``.
    true, believed : iterable, optional
        True and believed values; default: the scenario's own value, and its own belief.

    Returns
    -------
    DataFrame
        One row per point. Columns: `key` (true value), its belief key (believed value), and ``beliefs.gain`` if `key`
        is the loss and the gain follows it.

    Raises
    ------
    InputError
        If the key has no belief key, or the scenario has no own value where `true` or `believed` is not given.
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
    """Add the believed gain, equal to the believed loss, if the gain follows the loss.

    This is the case if the loss is among `beliefs` and the scenario states neither the gain nor a belief about it.
    """
    economics = getattr(scenario, "economics", None)
    follows = isinstance(economics, EconomicsSection) and economics.gain is None
    unstated = own_value(scenario, "beliefs.gain") is None
    if "beliefs.loss" in beliefs and "beliefs.gain" not in beliefs and follows and unstated:
        return {**beliefs, "beliefs.gain": beliefs["beliefs.loss"]}
    return beliefs
