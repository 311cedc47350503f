"""Build validated, frozen objects from TOML and JSON; errors name the key."""

from __future__ import annotations

import functools
import inspect
import json
import operator
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from reidsim.core.errors import InputError, listed, locating, nearest
from reidsim.core.files import is_delimited, require_shallow

Model = TypeVar("Model", bound=BaseModel)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100
# Maximum length of an inline table, characters.
_SHORT = 70


def parse_override(text: str) -> tuple[str, object]:
    """Split an override such as ``economics.loss=600`` into key path and value.

    The key path is the text before the first ``=``, with its dots. The text after it is parsed as TOML; if it is not
    valid TOML, the value is this text, without spaces around it.

    Raises
    ------
    InputError
        If there is no ``=``, the key path is empty or has an empty part, or a number in the value has too many digits,
        or its lists are nested too deeply.
    """
    key, separator, value = text.partition("=")
    key = key.strip()
    if not separator or not all(part for part in key.split(".")):
        raise InputError("cannot be read", source="--set", found=text, expected="KEY=VALUE, such as economics.loss=600")
    try:
        parsed = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return key, value.strip()
    except (ValueError, RecursionError) as error:
        # Numbers with thousands of digits, and lists with a thousand levels.
        raise InputError(f"cannot be read: {error}", source="--set", where=key) from None
    return key, parsed["value"] if len(parsed) == 1 else value.strip()


def override(content: dict[str, Any], changes: Mapping[str, object]) -> None:
    """Replace values of nested plain data, in place.

    The keys of `changes` are key paths such as ``economics.loss``; a list entry is addressed by its position: 0, 1, ...
    Missing keys and sections are added. List entries can be replaced but not added. A value of None removes the key,
    and its section if no key is left.

    Raises
    ------
    InputError
        If a key path continues below a value that is neither a section nor a list, or contains a list position that
        does not exist; or if a value is nested too deeply, or UTF-8 cannot encode its text.
    """
    require_shallow(changes, "--set")
    for key, value in changes.items():
        try:
            # Command-line arguments may not be text.
            str(value).encode()
        except UnicodeEncodeError:
            raise InputError("not valid text", source="--set", where=key) from None
        *sections, last = key.split(".")
        table: Any = content
        for depth, section in enumerate(sections, start=1):
            if isinstance(table, list):
                table = table[_entry(table, section, ".".join(sections[: depth - 1]))]
            else:
                table = table.setdefault(section, {})
            if not isinstance(table, dict | list):
                where, problem = ".".join(sections[:depth]), "is a value, not a section"
                raise InputError(problem, source="--set", where=where, found=table, expected="a section")
        place = _entry(table, last, ".".join(sections)) if isinstance(table, list) else last
        table[place] = deepcopy(value)
        if value is None:
            del table[place]
        if sections and content[sections[0]] == {}:
            del content[sections[0]]


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the union of plain data, in which values of `above` have priority.

    Sections are merged key by key; other values are replaced as a whole.
    """
    both = dict(below)
    for key, value in above.items():
        before = both.get(key)
        both[key] = merged(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return both


def with_texts(content: Any, change: Callable[[str], Any]) -> Any:
    """Return plain data in which `change` has replaced every text except keys.

    `change` is called with each text in sections and lists, at any depth, and returns the new value.
    """
    if isinstance(content, Mapping):
        return {key: with_texts(value, change) for key, value in content.items()}
    if isinstance(content, list):
        return [with_texts(value, change) for value in content]
    return change(content) if isinstance(content, str) else content


def value_at(content: Any, key: str) -> Any:
    """Return the value at a key path of plain data.

    The entries of a list have the keys 0, 1, ...

    Raises
    ------
    KeyError
        If the key does not exist.
    """
    for part in key.split("."):
        if isinstance(content, list):
            content = {str(place): entry for place, entry in enumerate(content)}
        if not isinstance(content, Mapping):
            raise KeyError(key)
        content = content[part]
    return content


def value_if_any(content: Any, key: str) -> Any:
    """Return the value at a key path of plain data; None without such a key."""
    try:
        return value_at(content, key)
    except KeyError:
        return None


def validated_after(
    changes: Mapping[str, object],
    model: type[Model],
    content: Mapping[str, Any],
    source: str | Path,
    *,
    seed_given: bool = False,
    names: Collection[str] = (),
) -> Model:
    """Return plain data after overrides as a validated object; see `validated`.

    `changes` are the overrides by key path; `content` already includes them. If a change caused an error, the error
    names the change, not the file. `seed_given` is true if ``seed`` has its own option.

    Raises
    ------
    InputError
        If the data are invalid; the message names the change or the file, the key path, the value found and the allowed
        values.
    """
    try:
        return validated(model, content, source, names)
    except InputError as error:
        culprit = next((key for key in changes if overlap(key, error.where or "")), None)
        if culprit is None:
            raise
        by_option = seed_given and culprit == "seed"
        raise error.but(source="seed" if by_option else "--set", where=None if by_option else error.where) from None


def _entry(entries: list[Any], key: str, where: str) -> int:
    """Return the position of a list entry, given its key, a number from 0 as text.

    `where` is the key path of the list, for messages.

    Raises
    ------
    InputError
        If the key is not a number, or the list has no such entry.
    """
    if not key.isdecimal() or int(key) >= len(entries):
        expected = f"a position from 0 to {len(entries) - 1}" if entries else "no position: the list is empty"
        raise InputError("no such list entry", source="--set", where=where, found=key, expected=expected)
    return int(key)


def overlap(key: str, where: str) -> bool:
    """Return whether a key path and an error's location are equal or nested.

    `where` is the location in the error, such as ``stages[0].loci``. False if it is empty.
    """
    place = where.partition(":")[0].replace("[", ".[")
    return bool(place) and (f"{place}.".startswith(f"{key}.") or f"{key}.".startswith(f"{place}."))


def toml_text(content: Mapping[str, Any]) -> str:
    """Return plain data (text, numbers, booleans, lists, tables) as TOML text.

    Missing values (None) are omitted, because TOML has no notation for them.

    Raises
    ------
    TypeError
        For values of other types.
    """
    return "\n".join(_table(content, "")).lstrip("\n") + "\n"


def inline_toml(value: object) -> str:
    """Return a value as TOML text on one line, as after ``KEY =``.

    Entries that are None are omitted. A `TypeError` is raised for values that are not text, numbers, booleans, lists or
    sections.
    """
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool | int | float):
        # repr gives the shortest text that is read back as the same number.
        return repr(value).lower()
    if isinstance(value, Mapping):
        entries = [f"{toml_key(key)} = {inline_toml(entry)}" for key, entry in value.items() if entry is not None]
        return f"{{ {', '.join(entries)} }}" if entries else "{}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(inline_toml(entry) for entry in value if entry is not None) + "]"
    raise TypeError(f"no TOML for {type(value).__name__}")


def toml_key(key: str) -> str:
    """Return one part of a key path, quoted if necessary."""
    return key if _BARE_KEY.fullmatch(key) else _quoted(key)


def _table(content: Mapping[str, Any], path: str) -> list[str]:
    """Return the TOML lines of a table: its values, then its subtables with headings.

    `path` is the key path of the table, empty for the whole document. If all subtables of a table below are short, they
    are written inline.
    """
    # Tables, and lists of at least one and only tables, by key.
    tables = {key: [value] if isinstance(value, Mapping) else value for key, value in content.items()}
    tables = {
        key: entries
        for key, entries in tables.items()
        if isinstance(entries, list | tuple) and entries and all(isinstance(entry, Mapping) for entry in entries)
    }
    if path and all(len(inline_toml(entry)) <= _SHORT for entries in tables.values() for entry in entries):
        tables = {}
    lines = [f"{toml_key(k)} = {_value(v)}" for k, v in content.items() if k not in tables and v is not None]
    for key, entries in tables.items():
        place = f"{path}.{toml_key(key)}" if path else toml_key(key)
        heading = f"[{place}]" if isinstance(content[key], Mapping) else f"[[{place}]]"
        for inner in (_table(entry, place) for entry in entries):
            # A table that contains only tables with headings needs no heading.
            lines += inner if inner[:1] == [""] and heading[:2] != "[[" else ["", heading, *inner]
    return lines


def _value(value: object) -> str:
    text = inline_toml(value)
    if len(text) <= _WIDTH or not isinstance(value, list | tuple):
        return text
    return "[\n" + "".join(f"  {inline_toml(entry)},\n" for entry in value if entry is not None) + "]"


def _quoted(text: str) -> str:
    # TOML cannot represent one half of a surrogate pair.
    quoted = json.dumps(re.sub("[\ud800-\udfff]", "\ufffd", text), ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08X}" for sign in quoted)


# Largest root seed: tables of runs store it as a signed 64-bit integer.
LARGEST_SEED = 2**63 - 1
# Heading of the part of a section's docstring that describes its keys, and one described key.
KEYS_HEADING = "\n\nAttributes\n----------\n"
# A case of `Section.unless`; its last entry, the value found, may be missing.
Refusal = tuple[object, str, str, str | None] | tuple[object, str, str, str | None, object]
_DESCRIBED_KEY = re.compile(r"^(\w+)\n((?: {4}.+\n?)+)", re.MULTILINE)


def _only_summary(schema: dict[str, Any]) -> None:
    """Remove descriptions of keys from the description of a section.

    `schema` is the JSON Schema of the section; it is changed in place.
    """
    if "description" in schema:
        schema["description"] = schema["description"].partition(KEYS_HEADING)[0]


class Section(BaseModel):
    """A part of a scenario or recipe.

    Unknown keys are errors; values have exact types and cannot change. The description of a key is its entry under
    ``Attributes`` in the docstring of its class.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, json_schema_extra=_only_summary
    )
    # Keys that belong in other sections, with advice for the error message.
    elsewhere: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema from `handler`; take descriptions of keys from the docstring."""
        described = inspect.cleandoc(cls.__doc__ or "").partition(KEYS_HEADING)[2]
        for name, text in _DESCRIBED_KEY.findall(described):
            if name in cls.model_fields:
                cls.model_fields[name].description = " ".join(text.split())
        return handler(source)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return the section itself, because it cannot change; pydantic copies each default when it is used."""
        return self

    @staticmethod
    def spelled_out(data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return plain data with shared defaults written out; unchanged by default."""
        return data

    @classmethod
    def as_written(cls, error: InputError, data: Mapping[str, Any]) -> InputError:
        """Convert an error about written-out data to an error about the original data.

        `data` are the original plain data; see `spelled_out`. By default, the error is unchanged.
        """
        return error

    def unless(self, *cases: Refusal) -> Self:
        """Return the section, as a validator does, unless the condition of a case holds.

        A case has a condition, the problem, the path of the key below the section, and the value expected; then the
        value found, if it is not the value of the key.

        Raises
        ------
        InputError
            For the first case whose condition holds.
        """
        for holds, problem, key, expected, *found in cases:
            if holds:
                value = found[0] if found else functools.reduce(getattr, key.split("."), self)
                raise InputError(problem, where=key or None, found=value, expected=expected)
        return self


@dataclass(frozen=True)
class ReadIf:
    """Condition under which a study reads a key.

    It is metadata of a field, or an entry of `read_if` in a schema of scenarios.

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


def with_csv_file(*keys: str) -> ReadIf:
    """Return the condition that another key of the section, one of `keys`, is the path of delimited text."""

    def holds(section: Any, scenario: Any) -> bool:
        return any(is_delimited(Path(path)) for path in (getattr(section, key) for key in keys) if path)

    return ReadIf(holds, f"with a CSV file in {' or '.join(keys)}")


# Terms of pydantic, and the terms that TOML users know.
_PLAIN = {
    "an object": "a section",
    "a valid (array|tuple|list)": "a list",
    "a valid string": "text",
    "(Tuple|List|Dictionary|String) should have": "a value with",
    " after validation, not .*": "",
}
_TYPES = {str: "text", bool: "true/false", int: "whole number", float: "number", list: "list", dict: "table"}


def validated(model: type[Model], data: Mapping[str, Any], source: str | Path, names: Collection[str] = ()) -> Model:
    """Return a validated object of the class `model`, made from plain data.

    `names` are names of user-defined objects that the data may contain; `source` is the file in messages. Defaults are
    first copied to the sections that share them; see `Section.spelled_out`.

    Raises
    ------
    InputError
        If the data are invalid. The message is about the first error and names the source, the key path, the value
        found and the allowed values.
    """
    require_shallow(data, source)
    whole = model.spelled_out(data) if issubclass(model, Section) else data
    try:
        # Validate JSON: there, strict validation still accepts lists for tuples, so that objects can be completely
        # frozen.
        return _checked(lambda each: model.model_validate_json(json_of(each), context={"names": names}), model, whole)
    except InputError as error:
        first = error.but(source=source)
        raise (model.as_written(first, data) if issubclass(model, Section) else first) from None


def revalidated(model: type[Model], values: Mapping[str, Any], source: str | Path | None) -> Model:
    """Return a validated object made from individually validated values.

    `model` is its class. An example is a changed copy of an object. `values` are by key; `source` is the file in
    messages.

    Raises
    ------
    InputError
        If the values are inconsistent; see `validated`.
    """
    with locating(source):
        return _checked(lambda each: model(**each), model, values)


def json_of(data: object) -> str:
    """Return plain data as the JSON text to validate; see `plain` for other objects."""
    return json.dumps(data, default=plain)


def plain(value: object) -> object:
    """Return a numpy scalar or array as Python numbers or lists of them, and any other object as text.

    This is the argument `default` of `json.dumps`, which calls it only for objects that JSON cannot represent.
    """
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _checked(validate: Callable[[Any], Model], model: type[Model], data: Any) -> Model:
    """Return the object that `validate` makes of plain data, an instance of `model`.

    A pydantic error is raised as an `InputError`; of several, the most informative one: about an unknown key, else the
    first; of a value that may have several types, about its innermost key.
    """
    try:
        return validate(data)
    except ValidationError as error:
        details = error.errors()
    # A misspelt key causes two errors, an unknown and a missing key; the unknown key is more informative.
    places = [_place(data, each["loc"], is_missing=each["type"] == "missing") for each in details]
    inner_first = sorted(zip(places, details, strict=True), key=lambda each: -len(each[0]))
    of_first = (each for place, each in inner_first if place[: len(places[0])] == places[0])
    detail = next((each for each in details if each["type"] == "extra_forbidden"), next(of_first))
    kind, context, found = detail["type"], detail.get("ctx", {}), detail["input"]
    if kind == "json_invalid":
        raise InputError("a value is not valid text")
    place = _place(data, detail["loc"], is_missing=kind == "missing")
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place).lstrip(".")
    inner = context.get("error")
    if isinstance(inner, InputError):
        # Validators of a section give the key within it.
        raise inner.but(where=".".join(part for part in (path, inner.where) if part) or None)
    if kind == "missing":
        raise InputError("key missing", where=path, expected="a value")
    if kind == "extra_forbidden":
        section = _section_at(model, detail["loc"][:-1])
        keys = list(_fields(section))
        advice = getattr(section, "elsewhere", {}).get(place[-1])
        hint = None if advice else nearest(str(place[-1]), keys)
        raise InputError("unknown key", where=path, expected=advice or f"one of {listed(keys, 20)}", hint=hint)
    tag = context.get("discriminator", "").strip("'")
    if kind == "union_tag_not_found":
        # pydantic lists the allowed tags only if there is one.
        content = json.loads(json_of(data))
        functools.reduce(operator.getitem, place, content)[tag] = ""
        try:
            return _checked(validate, model, content)
        except InputError as listing:
            raise listing.but(problem="key missing", found=None, hint=None) from None
    problem, hint = "value not allowed", None
    if kind == "union_tag_invalid":
        path, found = f"{path}.{tag}".lstrip("."), context["tag"]
        expected = "one of " + context["expected_tags"].replace("'", "")
        hint = nearest(found, expected.removeprefix("one of ").split(", "))
    else:
        expected = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        for jargon, plain in _PLAIN.items():
            expected = re.sub(jargon, plain, expected)
    if kind == "literal_error":
        hint = nearest(str(found), context["expected"].replace(" or ", ", ").replace("'", "").split(", "))
    elif kind.endswith("_type") or kind == "int_from_float":
        problem = f"wrong type ({_TYPES.get(type(found), type(found).__name__)})"
    if isinstance(found, bool):
        found = "true" if found else "false"
    raise InputError(problem, where=path, found=found, expected=expected, hint=hint)


def _place(data: Any, location: tuple[int | str, ...], *, is_missing: bool) -> list[int | str]:
    """Return the keys and list positions of a pydantic location in plain data.

    Names of types and tags of unions, which the location has too, are skipped. With `is_missing`, the last part is kept
    although the data do not have it.
    """
    place: list[int | str] = []
    for part in location:
        is_key = isinstance(part, int) if isinstance(data, list | tuple) else isinstance(data, Mapping) and part in data
        if is_key:
            data = data[part]
            place.append(part)
    return [*place, location[-1]] if is_missing else place


def _section_at(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the class of the section at a pydantic location below the class `model`.

    Of several possible classes, it is the first.
    """
    root = model.model_fields.get("root")
    classes: list[Any] = [model] if root is None else section_classes(root.annotation)
    for part in location:
        fields = [(each, key, field) for each in classes for key, field in _fields(each).items()]
        below = [inner for _, key, field in fields if key == part for inner in section_classes(field.annotation)]
        classes = below or [each for each, _, field in fields if part in get_args(field.annotation)] or classes
    section: type[BaseModel] = classes[0]
    return section


def _fields(section: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the pydantic fields of a class of sections, by key."""
    return {field.alias or name: field for name, field in section.model_fields.items()}


def section_classes(annotation: Any) -> list[type[Section]]:
    """Return the section classes inside the annotation of a key, without repetition."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    # A class that is also allowed in a list occurs twice.
    return list(dict.fromkeys(found for argument in get_args(annotation) for found in section_classes(argument)))
