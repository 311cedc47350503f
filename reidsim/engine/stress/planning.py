"""Beliefs of the publisher at a parameter point, and their keys.

With planning ``as-believed``, the publisher plans with the beliefs that it has at the scenario's own values, even if
other values are true at a point. The section ``beliefs`` of a scenario holds the believed values: ``beliefs.cost`` is
the belief about ``economics.cost``, and ``beliefs.sizes.genealogy`` about ``resources.genealogy.size``. The publisher
plans with the scenario's own value of a payoff parameter that has no belief key, such as ``economics.benefit``, and
knows the true value of every other key without one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import pandas as pd

from reidsim.core.plain_data import value_if_any
from reidsim.errors import InputError, listed
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead

Planning = Literal["informed", "as-believed"]


def belief_key(scenario: ScenarioHead, key: str) -> str | None:
    """Return the key path of the publisher's belief about `key`.

    None if the kind of scenario has no such belief.
    """
    beliefs = getattr(scenario, "beliefs", None)
    known = () if beliefs is None else type(beliefs).model_fields
    match key.split("."):
        case ["economics" | "adversary", name] if name in known:
            return f"beliefs.{name}"
        case ["resources", name, "size"] if "sizes" in known:
            return f"beliefs.sizes.{name}"
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
    return value_if_any(scenario.model_dump(by_alias=True), key)


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
        if beliefs is not None:
            stated = own_value(scenario, beliefs)
            pinned[beliefs] = own_value(scenario, truth) if stated is None else stated
    return _with_gain(scenario, pinned)


def planned_amounts(scenario: ScenarioHead, keys: Iterable[str]) -> dict[str, Any]:
    """Return the scenario's own values of those payoff parameters that no belief can replace, by key path.

    A publisher who plans as believed uses them at every point. Rounds of agents plan anew, so they use none.
    """
    kind = kind_of(scenario)
    amounts = () if not kind.decides or kind.in_rounds(scenario) else kind.amount_keys
    fixed = [key for key in keys if key in amounts and key.startswith("economics.") and not belief_key(scenario, key)]
    return {key: own_value(scenario, key) for key in fixed}


def known_keys(scenario: ScenarioHead, keys: Iterable[str]) -> list[str]:
    """Return the keys whose true value the publisher knows at every point.

    These are keys without a belief, except the payoff parameters in `planned_amounts`.
    """
    others = [key for key in keys if belief_key(scenario, key) is None and not key.startswith("beliefs.")]
    return [key for key in others if key not in planned_amounts(scenario, others)]


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
    own = {"true": own_value(scenario, key), "believed": believed_values(scenario, [key])[beliefs]}
    values = {name: given if given is None else list(given) for name, given in (("true", true), ("believed", believed))}
    for name, given in values.items():
        if given is None and own[name] is None:
            raise InputError("the scenario sets no value for the key", where=name, expected=f"values of {key}")
    truths, believes = ([own[name]] if given is None else given for name, given in values.items())
    rows = [{key: t, **_with_gain(scenario, {beliefs: b})} for b in believes for t in truths]
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
