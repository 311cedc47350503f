"""The keys of a kind of file, section by section, as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from markdown_text import wrapped
from pydantic.fields import FieldInfo

from reference_pages.words import (
    Link,
    default_in_words,
    discriminator_of,
    is_listed,
    is_named,
    kind_in_words,
    section_classes,
    tag_of,
)
from reidsim.core.files import read_toml
from reidsim.core.validation import KEYS_HEADING, Section

# Guides of the documentation by topic.
GUIDES: Mapping[str, Mapping[str, str]] = read_toml(Path(__file__).with_name("guides.toml"))
# Most places of a section that its heading lists.
_MOST_PLACES = 3


@dataclass(frozen=True)
class Elsewhere:
    """A section that is described once under its own heading, and linked from the keys that hold it.

    Parameters
    ----------
    heading : str
    words : str
        Name of the value, such as ``range``; ``section`` if not given.
    page : str
        Where the heading is; the page of the key if not given.
    """

    heading: str
    words: str = ""
    page: str = ""


@dataclass
class _Part:
    """A section and the places that it has in the file."""

    model: type[Section]
    places: list[str]
    depth: int
    fixed: str = ""

    @property
    def heading(self) -> str:
        """The heading under which the section is described."""
        if self.fixed:
            return self.fixed
        return " and ".join(self.places if len(self.places) <= _MOST_PLACES else self.places[:1])


@dataclass
class _Outline:
    """The sections of a file in the order in which they are described."""

    elsewhere: Mapping[type[Section], Elsewhere]
    parts: dict[type[Section], _Part] = field(default_factory=dict)

    def heading(self, model: type[Section]) -> str:
        """Return the heading under which a section is described."""
        return self.elsewhere[model].heading if model in self.elsewhere else self.parts[model].heading

    def add(self, model: type[Section], place: str, path: str) -> None:
        """Add a section and the sections below it; a known section gets a further place."""
        if model in self.elsewhere:
            return
        if model in self.parts:
            self.parts[model].places.append(place)
            return
        self.parts[model] = _Part(model, [place], path.replace(".NAME", "").count("."))
        self.add_below(model, path)

    def add_below(self, model: type[Section], path: str) -> None:
        """Add the sections that the keys of a section hold."""
        for key, info in keys_of(model):
            inner = f"{path}.{key}".lstrip(".") + (".NAME" if is_named(info.annotation) else "")
            shown = f"`[[{inner}]]`" if is_listed(info.annotation) else f"`[{inner}]`"
            tag = discriminator_of(info.annotation)
            sections = section_classes(info.annotation)
            for base in _bases_of_several(sections) if tag is not None else ():
                self.add(base, shown, inner)
            for section in sections:
                place = shown if tag is None else f'{shown} with `{tag} = "{tag_of(section, tag)}"`'
                self.add(section, place, inner)


def keys_of(model: type[Section]) -> list[tuple[str, FieldInfo]]:
    """Return the keys of a section as written in a file, the discriminator first."""
    keys = [(info.alias or name, info) for name, info in model.model_fields.items()]
    return sorted(keys, key=lambda key: tag_of(model, key[0]) is None)


def _bases_of_several(sections: Sequence[type[Section]]) -> list[type[Section]]:
    """Return the common base sections of at least two sections."""
    bases = [base for section in sections for base in section.__mro__[1:] if issubclass(base, Section)]
    return [base for base in dict.fromkeys(bases) if base is not Section and bases.count(base) > 1]


def headings_of(
    model: type[Section], top: str, elsewhere: Mapping[type[Section], Elsewhere]
) -> dict[type[Section], str]:
    """Return the headings that `described_sections` writes, by section."""
    outline = _outline_of(model, top, elsewhere)
    return {part.model: part.heading for part in outline.parts.values()}


def anchor(heading: str) -> str:
    """Return the anchor that Markdown gives to a heading."""
    plain = re.sub(r"[^\w\s-]", "", heading).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)


def described_sections(
    model: type[Section], elsewhere: Mapping[type[Section], Elsewhere], *, top: str = "Top level", note: str = ""
) -> str:
    """Describe a file or a section of it: the keys of every section, each under a heading.

    Parameters
    ----------
    model : type of Section
        The whole file, or one section.
    elsewhere : mapping of type of Section to Elsewhere
        Sections with their own heading. Sections without a `page` are described at the end.
    top : str
        Heading of `model` itself; the place of a section, such as ``[sweep]``, for one that is not the whole file.
    note : str
        Text after the docstring of `model`.

    Returns
    -------
    str
        Markdown.
    """
    outline = _outline_of(model, top, elsewhere)
    parts = [*outline.parts.values()]
    used = {inner for part in parts for _, info in keys_of(part.model) for inner in section_classes(info.annotation)}
    for section, other in elsewhere.items():
        if section in used and not other.page:
            outline.parts[section] = _Part(section, [], 0, other.heading)
            outline.add_below(section, "")
    return "\n".join(_described(part, outline, note if part.model is model else "") for part in outline.parts.values())


def _outline_of(model: type[Section], top: str, elsewhere: Mapping[type[Section], Elsewhere]) -> _Outline:
    """Return a file or section, and the sections below it without a heading elsewhere."""
    outline = _Outline({section: other for section, other in elsewhere.items() if section is not model})
    outline.parts[model] = _Part(model, [top], 0)
    outline.add_below(model, top.strip("`[]") if top.startswith("`[") else "")
    return outline


def _described(part: _Part, outline: _Outline, note: str) -> str:
    """Return the heading, the explanation and the keys of one section."""

    def link(model: type[Section], words: str) -> str:
        other = outline.elsewhere.get(model)
        if other is None:
            return f"[{words}](#{anchor(outline.parts[model].heading)})"
        named = other.words if other.words and words.startswith("section") else words
        return f"[{named}]({other.page}#{anchor(other.heading)})"

    bases = _described_bases(part, outline)
    inherited = {key: info for base in bases for key, info in keys_of(base)}
    tags = re.findall(r"with `(\w+) = ", part.heading)
    own = [
        (key, info)
        for key, info in keys_of(part.model)
        # The heading names the kind.
        if key not in tags and (key not in inherited or _description(info) != _description(inherited[key]))
    ]
    rows = _rows(own, link)
    if bases:
        headings = [outline.heading(base) for base in bases]
        named = " and ".join(link(base, head[0].lower() + head[1:]) for base, head in zip(bases, headings, strict=True))
        note = f"{note} {f'Adds to {named}:' if rows else f'The keys of {named}.'}".strip()
    return "\n".join(
        [
            f"{'##' if part.depth < 1 else '###'} {part.heading}",
            "",
            _explanation(part.model, note),
            "",
            *((*rows, "") if rows else ()),
        ]
    )


def _described_bases(part: _Part, outline: _Outline) -> list[type[Section]]:
    """Return the sections, described here or elsewhere, whose keys this one has as well, but none that one extends."""
    found: list[type[Section]] = []
    for model in part.model.__mro__[1:]:
        is_described = model in outline.parts or model in outline.elsewhere
        if is_described and issubclass(model, Section) and not any(issubclass(base, model) for base in found):
            found.append(model)
    return found


def _description(info: FieldInfo) -> tuple[str, str, str]:
    """Return type, default and description of a key."""
    return kind_in_words(info, lambda _, words: words), default_in_words(info), info.description or ""


def dotted_keys(
    model: type[Section], elsewhere: Mapping[type[Section], Elsewhere], path: str = ""
) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the keys of a file by path; sections only if they are optional or repeatable."""
    for key, info in keys_of(model):
        separate = [section for section in section_classes(info.annotation) if section not in elsewhere]
        if not (info.is_required() and separate == [info.annotation]):
            yield f"{path}{key}", info
        for section in separate:
            yield from dotted_keys(section, elsewhere, f"{path}{key}.")


def described_by_path(
    heading: str,
    model: type[Section],
    elsewhere: Mapping[type[Section], Elsewhere],
    *,
    note: str = "",
    base: type[Section] | None = None,
) -> str:
    """Describe a small file in one list, with a dot between a section and its keys; see `described_sections`.

    The discriminator in the heading and the keys of a separately described `base` are omitted.
    """

    def link(section: type[Section], words: str) -> str:
        other = elsewhere.get(section)
        return words if other is None else f"[{other.words or words}](#{anchor(other.heading)})"

    own = [
        (key, info)
        for key, info in dotted_keys(model, elsewhere)
        if not heading.startswith(f"`{key} = ") and not (base and key in base.model_fields)
    ]
    rows = _rows(own, link)
    return "\n".join([f"## {heading}", "", _explanation(model, note), "", *rows, ""])


def _rows(keys: Iterable[tuple[str, FieldInfo]], link: Link) -> list[str]:
    """Return the lines that describe keys; neighbouring keys with equal descriptions share a line."""

    def description(key: tuple[str, FieldInfo]) -> tuple[str, str, str]:
        return kind_in_words(key[1], link), default_in_words(key[1]), key[1].description or ""

    return [item(", ".join(f"`{key}`" for key, _ in same), *words) for words, same in groupby(keys, key=description)]


def _explanation(model: type[Section], note: str) -> str:
    """Return the docstring of a section followed by the note, in Markdown."""
    text = (inspect.getdoc(model) or "").partition(KEYS_HEADING)[0].replace("``", "`")
    return "\n\n".join(wrapped(paragraph) for paragraph in f"{text} {note}".split("\n\n"))


def item(shown: str, kind: str, default: str, meaning: str) -> str:
    """Return the line of a list that describes a key, an argument or an option: in bold if it is required."""
    note = "" if default in {"none", "required"} else f"default {default}" if default.startswith("`") else default
    inside = "; ".join(part for part in (kind, note) if part)
    name = f"**{shown}**" if default == "required" else shown
    return f"- {name} ({inside}): {meaning}" if inside else f"- {name}: {meaning}"


def guide(of: str, name: str) -> str:
    """Return the link to the guide that explains something; empty if there is none."""
    return f"[Guide]({GUIDES[of][name]})." if name in GUIDES[of] else ""
