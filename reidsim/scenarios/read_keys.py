"""Which keys of a scenario a study reads: conditions beside the fields, and the refusal of keys that nothing reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from reidsim.errors import InputError
from reidsim.validation import Section

# Cross-play has planners and policies that the scenario does not name; patterns of key paths.
READ_BY_CROSS_PLAY = ("adversary.sequential*", "adversaries.*.sequential*", "publisher.*", "subjects.*", "safe_harbor*")


@dataclass(frozen=True)
class ReadIf:
    """Condition under which a study reads a key; metadata of a field, or an entry of `ScenarioHead.read_if`.

    Parameters
    ----------
    holds : callable
        Whether the key is read, of the section that holds it and the whole scenario.
    expected : str
        Completes "read only ...", such as ``'with planner = "random"'``.
    """

    holds: Callable[[Any, Any], bool]
    expected: str

    def refuse(self, where: str, source: object) -> NoReturn:
        """Refuse a key that is written although this condition does not hold.

        Raises
        ------
        InputError
        """
        raise InputError("nothing reads this key", source=str(source), where=where, expected=f"it only {self.expected}")


def with_key(key: str, *values: object) -> ReadIf:
    """Return the condition that another key of the section has one of some values; if none are given, is set."""
    if not values:
        return ReadIf(lambda section, scenario: bool(getattr(section, key)), f"with {key}")
    shown = " or ".join(f'"{value}"' if isinstance(value, str) else str(value).lower() for value in values)
    return ReadIf(lambda section, scenario: getattr(section, key) in values, f"with {key} = {shown}")


_NOT_TAKEN = ReadIf(lambda section, scenario: False, "with one of [adversaries] that has no such key of its own")


def conditions_of(scenario: Any, content: Mapping[str, Any]) -> dict[str, ReadIf | None]:
    """Return for each key of a scenario's content the condition of reading it that does not hold, None if it is read.

    A key of ``[adversary]`` beside ``[adversaries]`` is read if one of these takes it and reads it.

    Parameters
    ----------
    scenario : ScenarioHead
    content : mapping
        The plain data of which the scenario was made.
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
            continue
        default = f"adversary.{key.partition('.')[2]}"
        defaults[default] = defaults.get(default, failed) and failed
    taken = {default.split(".")[1].partition("[")[0] for default in defaults}
    not_taken = {f"adversary.{key}": _NOT_TAKEN for key in content["adversary"] if key not in taken}
    return not_taken | own | defaults


def unread_keys(each: Iterable[Mapping[str, ReadIf | None]]) -> dict[str, ReadIf]:
    """Return the keys that no scenario of several reads, given the conditions of each of these."""
    found: dict[str, ReadIf | None] = {}
    for conditions in each:
        for where, failed in conditions.items():
            found[where] = found.get(where, failed) and failed
    return {where: failed for where, failed in found.items() if failed is not None}


def changes_within(scenario: Any) -> tuple[list[dict[str, object]], dict[str, str]]:
    """Return values that a scenario itself gives to its keys, and the section that sweeps each key.

    Of numbers the first is enough, as conditions are about names and about whether something is given. Each of the
    values is taken alone, and together with the first values of all other keys.
    """
    sweep, uncertainty, stress = scenario.sweep, scenario.uncertainty, scenario.stress
    alone: list[dict[str, object]] = []
    swept: dict[str, str] = {}
    if sweep is not None:
        for group in (*sweep.together, *((key,) for key in sweep.values)):
            swept |= dict.fromkeys(group, "sweep.values")
            each = {key: sweep.values[key].examples for key in group}
            for number in range(max(map(len, each.values()))):
                alone.append({key: values[min(number, len(values) - 1)] for key, values in each.items()})
    if uncertainty is not None:
        for key, distribution in uncertainty.parameters.items():
            # In place of a section, an uncertain adversary has names, some of which are planners.
            path = "adversary.planner" if key == "adversary" else key
            swept[path] = "uncertainty.parameters"
            alone += [{path: value} for value in distribution.examples]
    first: dict[str, object] = {}
    for values in alone:
        first = values | first
    if stress is not None:
        ranges = [] if stress.map is None else [(each.key, each.values) for each in (stress.map.x, stress.map.y)]
        ranges += [(each.key, values) for each in stress.beliefs for values in (each.true, each.believed) if values]
        alone += [{key: value} for key, values in ranges for value in values.examples]
    return [*alone, *(first | values for values in alone)], swept


def _conditions(section: Any, data: Any, above: str, scenario: Any) -> Iterator[tuple[str, ReadIf | None]]:
    """Yield each key that the data of a section hold, with the condition of reading it that does not hold, or None."""
    fields = {field.alias or name: (name, field) for name, field in type(section).model_fields.items()}
    for key, value in data.items():
        # None, which only an override can say, takes a key back.
        if key not in fields or value is None:
            continue
        name, field = fields[key]
        where = f"{above}{key}"
        general = (each for pattern, each in scenario.read_if.items() if fnmatchcase(where, pattern))
        own = (each for each in field.metadata if isinstance(each, ReadIf))
        failed = next((each for each in (*own, *general) if not each.holds(section, scenario)), None)
        yield where, failed
        if failed is None:
            yield from _below(getattr(section, name), value, where, scenario)


def _below(value: Any, data: Any, where: str, scenario: Any) -> Iterator[tuple[str, ReadIf | None]]:
    """Yield the same of the sections that a value is or holds."""
    if isinstance(value, Section) and isinstance(data, Mapping):
        yield from _conditions(value, data, f"{where}.", scenario)
    elif isinstance(value, Mapping) and isinstance(data, Mapping):
        for name in data:
            yield from _below(value.get(name), data[name], f"{where}.{name}", scenario)
    elif isinstance(value, Sequence) and not isinstance(value, str) and isinstance(data, Sequence):
        for number, (each, its_data) in enumerate(zip(value, data, strict=False)):
            yield from _below(each, its_data, f"{where}[{number}]", scenario)


def has_key(content: Mapping[str, Any], where: str) -> bool:
    """Tell whether content itself holds a key path."""
    value: Any = content
    for part in where.partition("[")[0].split("."):
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return True
