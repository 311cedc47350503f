"""Keys of scenario sections: value types, and when a study uses keys.

Keys that have no effect are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from reidsim.core.errors import InputError, require_distinct
from reidsim.core.validation import Section, override, value_if_any
from reidsim.populations.population import Delimiter, Money, Seed, Share

__all__ = ["Count", "Delimiter", "Money", "PersonKey", "PopulationSeed", "Seed", "Share", "Text"]

Count = Annotated[int, Field(ge=1)]
PopulationSeed = Annotated[
    Seed | None, Field(description="random seed of the population; default: the seed of its recipe")
]
Text = Annotated[str, Field(min_length=1)]
# One column, or several columns whose combined values identify a person.
PersonKey = Text | Annotated[tuple[Text, ...], Field(min_length=2)]


def distinct(problem: str) -> AfterValidator:
    """Return the pydantic validator of a list in which no entry may occur twice.

    For a repeated entry, it raises an `InputError` with the text `problem`. None passes.
    """

    def checked(values: tuple[str, ...] | None) -> tuple[str, ...] | None:
        require_distinct(problem, values or ())
        return values

    return AfterValidator(checked)


# Patterns of key paths that cross-play reads: it adds planners and policies that the scenario does not name.
READ_BY_CROSS_PLAY = ("adversary.sequential*", "adversaries.*.sequential*", "publisher.*", "subjects.*", "safe_harbor*")


@dataclass(frozen=True)
class ReadIf:
    """Condition under which a study reads a key.

    It is metadata of a field, or an entry of `ScenarioHead.read_if`.

    Parameters
    ----------
    holds : callable
        Returns whether the key is read, given the section with the key and the scenario.
    expected : str
        Text that completes "read only ...", such as ``'with planner = "random"'``.
    """

    holds: Callable[[Any, Any], bool]
    expected: str


def with_key(key: str, *values: object) -> ReadIf:
    """Return the condition that another key of the section has one of `values`.

    Without values, the condition is that the key is set.
    """
    if not values:
        return ReadIf(lambda section, scenario: bool(getattr(section, key)), f"with {key}")
    shown = " or ".join(f'"{value}"' if isinstance(value, str) else str(value).lower() for value in values)
    return ReadIf(lambda section, scenario: getattr(section, key) in values, f"with {key} = {shown}")


_NOT_TAKEN = ReadIf(lambda section, scenario: False, "with a section of [adversaries] that does not set the key itself")


def unread_keys(
    scenario: Any, content: Mapping[str, Any], validated: Callable[[Mapping[str, Any]], Any]
) -> tuple[dict[str, ReadIf], dict[str, str]]:
    """Return the keys that no point of a scenario reads.

    Sweeps, uncertain keys and stress tests change keys. Each change is examined alone and combined with the first
    values of all other swept and uncertain keys.

    Parameters
    ----------
    scenario : ScenarioHead
    content : mapping
        The plain data of the scenario, with defaults not yet copied.
    validated : callable
        Returns the scenario of other plain data, or raises `InputError`.

    Returns
    -------
    dict of str to ReadIf
        The first condition that fails, by key path.
    dict of str to str
        Key path of the section that varies each swept or uncertain key, such as ``sweep.values``.
    """
    alone, swept = _changes_within(scenario)
    first = {key: value for values in reversed(alone) for key, value in values.items() if key in swept}
    found = _conditions_of(scenario, content)
    for values in (*alone, *(first | values for values in alone)):
        other = deepcopy(dict(content))
        # A value may be valid only together with values of other keys.
        with suppress(InputError):
            override(other, values)
            for where, failed in _conditions_of(validated(other), other).items():
                found[where] = found.get(where, failed) and failed
    return {where: failed for where, failed in found.items() if failed is not None}, swept


def _changes_within(scenario: Any) -> tuple[list[dict[str, object]], dict[str, str]]:
    """Return changes of keys, and the section that varies each swept key.

    Changes are by sweeps, uncertainty and stress tests. Each change maps key paths to values. Of a key's values, only
    the first and those that are not numbers are used, because conditions depend on names and on whether a key is set,
    not on the size of a number.
    """
    sweep, uncertainty, stress = scenario.sweep, scenario.uncertainty, scenario.stress
    alone: list[dict[str, object]] = []
    swept: dict[str, str] = {}
    for group in () if sweep is None else (*sweep.together, *((key,) for key in sweep.values)):
        swept |= dict.fromkeys(group, "sweep.values")
        each = {key: sweep.values[key].examples for key in group}
        for number in range(max(map(len, each.values()))):
            alone.append({key: values[min(number, len(values) - 1)] for key, values in each.items()})
    if uncertainty is not None:
        # The values of an uncertain `adversary` are names instead of sections; some of the names are planners.
        paths = {"adversary.planner" if key == "adversary" else key: d for key, d in uncertainty.parameters.items()}
        swept |= dict.fromkeys(paths, "uncertainty.parameters")
        alone += [{path: value} for path, distribution in paths.items() for value in distribution.examples]
    if stress is not None:
        axes = () if stress.map is None else ((each.key, each.values) for each in (stress.map.x, stress.map.y))
        beliefs = ((each.key, values) for each in stress.beliefs for values in (each.true, each.believed) if values)
        alone += [{key: value} for key, values in (*axes, *beliefs) for value in values.examples]
    return alone, swept


def _conditions_of(scenario: Any, content: Mapping[str, Any]) -> dict[str, ReadIf | None]:
    """Return the first failed condition of each key of a scenario, by key path.

    It is None if the key is read. Keys below a key that is not read are left out. If the content has both
    ``[adversary]`` and ``[adversaries]``, a key of ``[adversary]`` is read if at least one named adversary inherits and
    reads it.
    """
    whole = type(scenario).spelled_out(content)
    found = dict(_conditions(scenario, whole, "", scenario))
    if whole is content:
        return found
    own, defaults = dict[str, ReadIf | None](), dict[str, ReadIf | None]()
    for where, failed in found.items():
        section, _, key = where.partition(".")
        if section != "adversaries" or has_key(content, where):
            own[where] = failed
        else:
            default = f"adversary.{key.partition('.')[2]}"
            defaults[default] = defaults.get(default, failed) and failed
    taken = {default.split(".")[1].partition("[")[0] for default in defaults}
    return {f"adversary.{key}": _NOT_TAKEN for key in content["adversary"] if key not in taken} | own | defaults


@cache
def _keys_of(section: type[Section]) -> dict[str, tuple[str, tuple[ReadIf, ...]]]:
    """Return the field name and the conditions of each key of a class of sections."""
    return {
        field.alias or name: (name, tuple(each for each in field.metadata if isinstance(each, ReadIf)))
        for name, field in section.model_fields.items()
    }


def _conditions(value: Any, data: Any, where: str, scenario: Any) -> Iterator[tuple[str, ReadIf | None]]:
    """Yield the path of each key in the data of a section, with its failed condition.

    `value` is the validated section, mapping or list, `data` are its plain data and `where` is its key path. The
    condition is the first that fails, or None if the key is read; only then follow the keys below it. Keys with value
    None are skipped.
    """
    if isinstance(value, Section) and isinstance(data, Mapping):
        keys = _keys_of(type(value))
        # An override with the value None unsets a key.
        for key in (key for key, given in data.items() if key in keys and given is not None):
            (name, own), path = keys[key], f"{where}.{key}" if where else key
            general = (each for pattern, each in scenario.read_if.items() if fnmatchcase(path, pattern))
            failed = next((each for each in (*own, *general) if not each.holds(value, scenario)), None)
            yield path, failed
            if failed is None:
                yield from _conditions(getattr(value, name), data[key], path, scenario)
    elif isinstance(value, Mapping) and isinstance(data, Mapping):
        for name in data:
            yield from _conditions(value.get(name), data[name], f"{where}.{name}", scenario)
    elif isinstance(value, list | tuple) and isinstance(data, list | tuple):
        for number, (each, its_data) in enumerate(zip(value, data, strict=False)):
            yield from _conditions(each, its_data, f"{where}[{number}]", scenario)


def has_key(content: Mapping[str, Any], where: str) -> bool:
    """Return whether plain data set a key path to a value other than None.

    Only the part of the path before its first position in a list is considered.
    """
    return value_if_any(content, where.partition("[")[0]) is not None
