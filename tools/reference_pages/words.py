"""Describe the type and the default of a key for readers who write TOML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from reidsim.core.validation import Section, inline_toml, section_classes

# Makes the link to a section from its class and the text to show.
Link = Callable[[type[Section], str], str]

# The largest amount; a number of 0 or more up to here is in currency units.
_LARGEST_AMOUNT = 1e15
_HUGE = 2**31


@dataclass(frozen=True)
class _Bounds:
    """Bounds of a value or of its length, from annotations."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None

    @classmethod
    def from_metadata(cls, metadata: Iterable[Any]) -> _Bounds:
        """Collect bounds from the metadata of a type: constraints, or fields with constraints."""
        found: dict[str, Any] = {}
        for item in metadata:
            for part in item.metadata if isinstance(item, FieldInfo) else [item]:
                values = {name: getattr(part, name, None) for name in cls.__dataclass_fields__}
                found |= {name: value for name, value in values.items() if value is not None}
        return cls(**found)


def is_named(annotation: Any) -> bool:
    """Whether the user chooses the names below a key, as in ``[attributes.age]``."""
    return _outer(annotation) is dict


def is_listed(annotation: Any) -> bool:
    """Whether the key holds a list, as in ``[[adversary.stages]]``."""
    return _outer(annotation) in (tuple, list)


def discriminator_of(annotation: Any) -> str | None:
    """Return the discriminator of sections of several kinds, if there is one."""
    models = section_classes(annotation)
    if len(models) < 2:
        return None
    return next((name for name in models[0].model_fields if all(tag_of(model, name) for model in models)), None)


def tag_of(model: type[Section], key: str) -> str | None:
    """Return the one text that a key of a section may hold, if there is just one."""
    field = model.model_fields.get(key)
    values = get_args(field.annotation) if field is not None and get_origin(field.annotation) is Literal else ()
    return str(values[0]) if len(values) == 1 else None


def kind_in_words(field: FieldInfo, link: Link) -> str:
    """Return the type of a key, such as ``integer from 1 to 100``.

    Parameters
    ----------
    field : FieldInfo
    link : callable
        Returns the link to a section, given its class and the text to show.
    """
    return _kind(field.annotation, field.metadata, link)


def default_in_words(field: FieldInfo) -> str:
    """Return the default of a key: ``required``, ``none``, ``its defaults`` for a section, or the value as in TOML."""
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None or default in ((), {}):
        return "none"
    if isinstance(default, Section) and any(inner.is_required() for inner in type(default).model_fields.values()):
        return f"`{inline_toml(default.model_dump(by_alias=True))}`"
    if section_classes(field.annotation):
        return "its defaults"
    return f"`{json.dumps(default)}`"


def either(kinds: list[str]) -> str:
    """Return a list of alternatives as text."""
    return kinds[0] if len(kinds) == 1 else f"{', '.join(kinds[:-1])} or {kinds[-1]}"


def figure(value: float) -> str:
    """Return a number as text, such as ``1,000`` or ``2^53``."""
    power = int(value).bit_length() - 1
    if value >= _HUGE and value == 2**power:
        return f"2^{power}"
    return f"{value:,.10g}" if isinstance(value, float) else f"{value:,}"


def _kind(annotation: Any, metadata: Iterable[Any], link: Link, *, many: bool = False) -> str:
    """Return the words for one value, or for `many` of them."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(arguments[0], [*metadata, *arguments[1:]], link, many=many)
    bounds = _Bounds.from_metadata(metadata)
    length = "" if many else _length(bounds)
    if origin in (Union, UnionType):
        return _choice(annotation, metadata, link, many=many)
    if origin is Literal:
        values = [f"`{json.dumps(value)}`" for value in arguments]
        return ", ".join(values) if many else either(values)
    if origin is dict:
        return _names(arguments[1], link, many=many) + length
    if origin in (tuple, list):
        return _list(arguments, link, many=many) + length
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return link(annotation, "sections" if many else "section")
    if annotation is bool:
        return "booleans" if many else "boolean"
    if annotation in (int, float):
        return _number(annotation, bounds, many=many)
    if annotation is date:
        return "date"
    return _text(bounds) if annotation is str else "any value"


def _outer(annotation: Any) -> Any:
    """Return the outermost container type of a key, ignoring None."""
    while get_origin(annotation) in (Annotated, Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        if get_origin(annotation) is not Annotated and len(parts) > 1:
            return None
        annotation = parts[0]
    return get_origin(annotation)


def _choice(annotation: Any, metadata: Iterable[Any], link: Link, *, many: bool) -> str:
    """Return the words for a union type."""
    key = discriminator_of(annotation)
    if key is not None:
        sections = [link(model, f'`"{tag_of(model, key)}"`') for model in section_classes(annotation)]
        return f"{'sections' if many else 'section'} with `{key}` {either(sections)}"
    kinds: list[str] = []
    for part in get_args(annotation):
        if get_origin(part) is Literal:
            kinds += [f"`{json.dumps(value)}`" for value in get_args(part)]
        elif part is not type(None):
            kinds.append(_kind(part, metadata, link, many=many))
    whole, number = ("integers", "numbers") if many else ("integer", "number")
    return either([kind for kind in kinds if kind != whole or number not in kinds])


def _number(annotation: type, bounds: _Bounds, *, many: bool) -> str:
    low, high, above, below = bounds.ge, bounds.le, bounds.gt, bounds.lt
    plural = "s" if many else ""
    if annotation is float and low == 0 and high == _LARGEST_AMOUNT:
        return f"amount{plural}"
    if annotation is float and (low, high) == (0, 1):
        return f"share{plural}"
    if annotation is int and (low == 1 or above == 0) and high is None and below is None:
        return f"count{plural}"
    name = f"number{plural}"
    if annotation is int:
        name = f"integer{plural}"
        if above is not None:
            low, above = above + 1, None
        if below is not None and below < _HUGE:
            high, below = below - 1, None
    if low is not None and high is not None:
        return f"{name} from {figure(low)} to {figure(high)}"
    limits = [
        words
        for value, words in (
            (above, "above {}"),
            (low, f"{'each ' if many else ''}{{}} or more"),
            (high, "at most {}"),
            (below, "below {}"),
        )
        if value is not None
        for words in [words.format(figure(value))]
    ]
    separator = " " if limits and limits[0].startswith("above") else ", "
    return separator.join([name, ", ".join(limits)]) if limits else name


def _text(bounds: _Bounds) -> str:
    if bounds.min_length == bounds.max_length == 1:
        return "one character"
    return "text" if bounds.pattern is None else f"text that matches `{bounds.pattern}`"


def _list(arguments: tuple[Any, ...], link: Link, *, many: bool) -> str:
    noun = "lists" if many else "list"
    parts = [part for part in arguments if part is not Ellipsis]
    if len(parts) < len(arguments) or len(parts) == 1:
        return noun if parts[0] is Any else f"{noun} of {_kind(parts[0], (), link, many=True)}"
    kinds = [_kind(part, (), link) for part in parts]
    if len(set(kinds)) > 1:
        return f"{noun} of {len(kinds)} ({'; '.join(kinds)})"
    return f"{noun} of {len(kinds)} {_kind(parts[0], (), link, many=True).replace('text', 'texts')}"


def _names(annotation: Any, link: Link, *, many: bool) -> str:
    """Return the words for a section whose keys are names that the user gives."""
    if section_classes(annotation):
        return f"{_kind(annotation, (), link)} for each name"
    return f"{'sections' if many else 'section'} of {_kind(annotation, (), link, many=True)}"


def _length(bounds: _Bounds) -> str:
    least, most = bounds.min_length, bounds.max_length
    if most is not None:
        return f", {least:,} to {most:,} of them" if least else f", at most {most:,} of them"
    return ", not empty" if least == 1 else f", at least {least:,} of them" if least else ""
