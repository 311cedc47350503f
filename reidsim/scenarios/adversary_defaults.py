"""Apply ``[adversary]`` as the defaults of every section ``[adversaries.NAME]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reidsim.adversaries.planners import EXPECTED_PAYOFF, planners_without
from reidsim.errors import InputError
from reidsim.overrides import merged

# Keys that belong together. An adversary that sets a key of the first tuple inherits no key of the second tuple.
_SAID_TOGETHER = (
    (("planner",), ("planner", "rate", "parameters")),
    (("rationality",), ("rationality", "precision", "prospect")),
    (("knowledge", "stages"), ("knowledge", "stages", "resource", "overconfident", "holds")),
)


def spelled_out(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return scenario data with the defaults copied into each adversary's section.

    Subsections of an adversary are merged with the defaults key by key. Any other value of the adversary replaces the
    default. If ``[adversary]`` or ``[adversaries]`` is missing, the data are returned unchanged.
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
    """Return an error with the key path of the scenario file as the user wrote it.

    An error in ``adversaries.NAME.key`` names ``adversary.key`` if the value was inherited from the defaults.
    """
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
        # An adversary's resources determine its background knowledge, unless the defaults assign resources to
        # knowledge sources explicitly.
        by_resources = isinstance(defaults.get("stages"), list) or "resource" in defaults
        left_out |= {"holds"} if by_resources else {"holds", "knowledge", "stages"}
    return merged({key: value for key, value in defaults.items() if key not in left_out}, own)
