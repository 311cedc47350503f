"""Set every optional key of every kind of scenario to other values and compare."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import numpy as np
import pandas as pd
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

import reidsim
from reidsim.core.errors import InputError
from reidsim.core.validation import Section, json_of, override, toml_text, value_if_any
from reidsim.scenarios.kind import find_kind
from reidsim.scenarios.registry import DEFAULT_KIND

# Manifest entries that repeat the scenario or change from run to run.
_NOT_OUTCOMES = ("scenario", "scenario_hash", "content", "origins", "versions", "timings_seconds", "seed")
_NUMBERS = (0.5, 75.0, 3.0, 0.1, 20.0, 0.9, 1.0, 2.0, 7.0, 400.0, 2.5, -1.0, -3.0, 0.0)


def keys_of(scenario: Mapping[str, Any]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the optional keys that a scenario may have, also in absent sections."""
    schema = find_kind(str(scenario.get("game", DEFAULT_KIND))).schema
    yield from _keys(schema, scenario, "")


def _keys(model: type[Section], data: Any, above: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        key = f"{above}{field.alias or name}"
        given = data.get(field.alias or name) if isinstance(data, Mapping) else None
        if not field.is_required():
            yield key, field
        for section in _sections(field.annotation):
            if _is_mapping(field.annotation):
                for each in given if isinstance(given, Mapping) else ():
                    if _fits(section, given[each]):
                        yield from _keys(section, given[each], f"{key}.{each}.")
            elif _is_list(field.annotation):
                for number, each in enumerate(given if isinstance(given, list) else ()):
                    if _fits(section, each):
                        yield from _keys(section, each, f"{key}.{number}.")
            elif given is not None and _fits(section, given):
                yield from _keys(section, given, f"{key}.")
            elif given is None and isinstance(field.default, Section):
                yield from _keys(section, {}, f"{key}.")


def _sections(annotation: Any) -> list[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for inner in get_args(annotation) for section in _sections(inner)]


def _is_mapping(annotation: Any) -> bool:
    return get_origin(annotation) is dict or any(map(_is_mapping, get_args(annotation)))


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is tuple or any(map(_is_list, get_args(annotation)))


def _fits(section: type[Section], data: Any) -> bool:
    """Return whether data belong to this section, by its distinguishing key."""
    constants = {
        name: get_args(field.annotation)
        for name, field in section.model_fields.items()
        if field.is_required()
        and get_args(field.annotation)
        and all(isinstance(a, str) for a in get_args(field.annotation))
    }
    return isinstance(data, Mapping) and all(data.get(name) in values for name, values in constants.items())


def values_of(field: FieldInfo, present: object) -> list[object]:
    """Return a few valid values for a key, without its default and present value.

    The values are numbers, truth values and names.
    """
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]
    candidates = [True, False, *_enums(adapter.json_schema()), *(int(n) for n in _NUMBERS if n == int(n)), *_NUMBERS]
    found = []
    default = field.get_default(call_default_factory=True)
    for value in candidates:
        if isinstance(value, bool) and not _has_type(field.annotation, bool):
            continue
        try:
            read = adapter.validate_json(json_of(value))
        except ValueError:
            continue
        if read not in (default, present) and not any(value == other for other in found):
            found.append(value)
    return found[:4]


def _enums(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
        for key, inner in schema.items():
            if key in ("anyOf", "allOf"):
                for each in inner:
                    yield from _enums(each)


def _has_type(annotation: Any, wanted: type) -> bool:
    return annotation is wanted or any(_has_type(inner, wanted) for inner in get_args(annotation))


def outcome(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Run a scenario and return all its results, so that two outcomes can be compared."""
    path = folder / "scenario.toml"
    path.write_text(toml_text(content))
    result = reidsim.run(path)
    tables = {
        name: table.drop(columns=["seed", "seconds"], errors="ignore")
        for name, table in result.stored_tables().items()
        if name != "runtimes"
    }
    facts = {key: value for key, value in result.manifest.items() if key not in _NOT_OUTCOMES}
    text = re.sub(
        r'"[a-z_]*seconds[a-z_]*": [\d.e-]+', "", json.dumps([facts, result.warnings], default=str, sort_keys=True)
    )
    return {"said": text, **tables}


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two outcomes are equal."""
    if one.keys() != other.keys() or one["said"] != other["said"]:
        return False
    return all(_equal(one[name], other[name]) for name in one if name != "said")


def _equal(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    if list(one.columns) != list(other.columns) or len(one) != len(other):
        return False
    for column in one.columns:
        left, right = one[column], other[column]
        if left.dtype.kind == "f" and right.dtype.kind == "f":
            if not np.array_equal(left.to_numpy(), right.to_numpy(), equal_nan=True):
                return False
        elif left.astype(str).tolist() != right.astype(str).tolist():
            return False
    return True


def changed(content: Mapping[str, Any], key: str, value: object) -> dict[str, Any]:
    """Return the content with another value at a key path."""
    other = deepcopy(dict(content))
    override(other, {key: value})
    return other


def edited(content: Mapping[str, Any], **changes: object) -> dict[str, Any]:
    """Return the content with other values by key path (``__`` for the dot); the value None removes a key."""
    other = {key: value for key, value in deepcopy(dict(content)).items() if value is not None}
    for path, value in changes.items():
        *sections, last = path.split("__")
        table = other
        for section in sections:
            table = table.setdefault(section, {})
        table[last] = value
        if value is None:
            del table[last]
    return other


def verdict(content: Mapping[str, Any], before: Mapping[str, Any], key: str, values: list[object], folder: Path) -> str:
    """Return a key's effect: ``changes``, ``refused``, ``nothing`` or ``untried``.

    ``nothing``: accepted without effect.
    """
    found = "untried"
    for value in values:
        try:
            after = outcome(changed(content, key, value), folder)
        except InputError as error:
            found = "refused" if found == "untried" else found
            if f"{key}: the key has no effect" in str(error):
                break
            continue
        if not same(before, after):
            return "changes"
        found = "nothing"
    return found


def given(values: Mapping[str, list[object]], key: str) -> list[object] | None:
    """Return the values listed for the longest ending of a key path, or None."""
    parts = key.split(".")
    return next((values[end] for n in range(len(parts)) if (end := ".".join(parts[n:])) in values), None)


def present(content: Mapping[str, Any], key: str) -> object:
    """Return the value at a key path, or None."""
    return value_if_any(content, key)


def read(text: str) -> dict[str, Any]:
    """Return a scenario's content."""
    return tomllib.loads(text)
