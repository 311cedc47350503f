"""What ``[adversary]`` says where there are ``[adversaries.NAME]`` beside it: the defaults of each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reidsim.adversaries.planners.base import EXPECTED_PAYOFF, planners_without
from reidsim.errors import InputError
from reidsim.overrides import merged

# Keys that are said together: whoever gives one of the first takes none of the second from the defaults.
_SAID_TOGETHER = (
    (("planner",), ("planner", "rate", "parameters")),
    (("rationality",), ("rationality", "precision", "prospect")),
    (("knowledge", "stages"), ("knowledge", "stages", "resource", "overconfident", "holds")),
)


def spelled_out(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return plain data in which each of several adversaries says for itself what it takes from ``[adversary]``.

    Sections of an adversary are merged key by key, any other value of its own takes the place of the default. Without
    defaults, or without several adversaries, the data are returned as they are.
    """
    defaults, several = content.get("adversary"), content.get("adversaries")
    if not (isinstance(defaults, Mapping) and isinstance(several, Mapping) and several):
        return content
    whole = {key: value for key, value in content.items() if key != "adversary"}
    whole["adversaries"] = {
        name: _with_defaults(own, defaults) if isinstance(own, Mapping) else own for name, own in several.items()
    }
    return whole


def as_written(error: InputError, content: Mapping[str, Any]) -> InputError:
    """Return an error about data that were spelled out, which names the default where that is to blame."""
    section, _, rest = (error.where or "").partition(".")
    if section != "adversaries" or spelled_out(content) is content:
        return error
    name, _, key = rest.partition(".")
    own, first = content["adversaries"].get(name), key.partition(".")[0].partition("[")[0]
    if not isinstance(own, Mapping) or first in own or first not in content["adversary"]:
        return error
    return error.but(where=f"adversary.{key}")


def _with_defaults(own: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    left_out = {key for given, together in _SAID_TOGETHER if any(name in own for name in given) for key in together}
    if own.get("planner") in planners_without(EXPECTED_PAYOFF):
        left_out |= {"rationality", "precision", "prospect"}
    if own.get("holds") is not None or own.get("buys"):
        # What it holds says what it knows, unless the defaults tell which resources are used for what.
        by_resources = isinstance(defaults.get("stages"), list) or "resource" in defaults
        left_out |= {"holds"} if by_resources else {"holds", "knowledge", "stages"}
    return merged({key: value for key, value in defaults.items() if key not in left_out}, own)
