"""Roles of the columns of a file: read from a scenario, and set in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reidsim.core.errors import refuse_first
from reidsim.scenarios.kind import key_columns

# Roles of columns; the last one has no entry in a scenario.
QUASI, DIRECT, SENSITIVE, PERSON, HOUSEHOLD, WEIGHT, KEPT, LEFT_OUT = ROLES = (
    "quasi-identifier",
    "direct identifier",
    "sensitive",
    "person key",
    "household key",
    "weight",
    "kept",
    "left out",
)
_OF_RELEASE = {PERSON: "person", HOUSEHOLD: "household", WEIGHT: "weight"}
# Keys of section ``publisher`` that need a sensitive column; it is the first, and its limits are the others.
OF_SENSITIVE = ("sensitive", "l_diversity", "t_closeness", "max_inference", "sensitive_hierarchies")


def roles_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the role of each column that has one in a scenario, by column."""
    release, kept = content.get("release", {}), content.get("kept", {})
    roles = {name: KEPT for name, section in kept.items() if section.get("share")}
    roles |= {name: DIRECT for name, section in kept.items() if section.get("known_to") == "everyone"}
    roles |= dict.fromkeys(key_columns(content.get("publisher", {}).get("sensitive")), SENSITIVE)
    roles |= {section.get("column", name): QUASI for name, section in content.get("attributes", {}).items()}
    return roles | {name: role for role, key in _OF_RELEASE.items() for name in key_columns(release.get(key))}


def with_roles(content: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of a scenario in which columns have other roles; quasi-identifiers are unchanged.

    Parameters
    ----------
    content : mapping
        Content of a scenario.
    roles : mapping of str to str
        Role of each column, as `roles_of` returns it.

    Raises
    ------
    InputError
        If several columns are household keys or weights.
    """
    of = {role: [name for name, each in roles.items() if each == role] for role in ROLES}
    refuse_first(*((of[role][1:], f"more than one {role}", None, of[role], "one") for role in (HOUSEHOLD, WEIGHT)))
    release = {key: value for key, value in content["release"].items() if key not in _OF_RELEASE.values()}
    release |= release_keys(roles)
    publisher = {key: value for key, value in content["publisher"].items() if key not in OF_SENSITIVE}
    if of[SENSITIVE]:
        limits = {key: content["publisher"][key] for key in OF_SENSITIVE[1:] if key in content["publisher"]}
        publisher |= {"sensitive": of[SENSITIVE], **(limits or {"l_diversity": 2})}
    before = {name: each for name, each in content.get("kept", {}).items() if each.get("known_to") != "everyone"}
    # Declarations about columns that are not shared stay.
    kept = {name: each for name, each in before.items() if not each.get("share")}
    kept |= {name: {**before.get(name, {}), "share": True} for name in (*of[KEPT], *of[SENSITIVE])}
    kept |= {name: {"known_to": "everyone"} for name in of[DIRECT]}
    others = {key: value for key, value in content.items() if key != "kept"}
    return {**others, "release": release, "publisher": publisher, **({"kept": kept} if kept else {})}


def release_keys(roles: Mapping[str, str]) -> dict[str, str | list[str]]:
    """Return the keys of section ``release`` that columns have by their roles, such as ``person``."""
    of = {key: [name for name, each in roles.items() if each == role] for role, key in _OF_RELEASE.items()}
    return {key: names if names[1:] else names[0] for key, names in of.items() if names}
