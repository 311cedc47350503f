"""Infer the concept of a column from its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from reidsim.audit.identifier_names import delimited, direct_phrases, meaning_of, plain_words, words_of
from reidsim.errors import InputError, listed
from reidsim.validation import Section, read_toml, validated

Role = Literal["direct", "known"]


@dataclass(frozen=True)
class Hint:
    """Concept of a column, inferred from its name, label or values.

    Parameters
    ----------
    concept : str
        Concept, such as ``"age"``.
    role : str
        ``"direct"`` if the column identifies a person or allows contact, ``"known"`` if others may know its value.
    rank : int
        Priority as a quasi-identifier: 1 (highest) for attributes on voter lists and similar sources, up to 3; 0 for
        direct identifiers.
    source : str
        Origin of the inference: the column's ``"name"``, its ``"label"`` in the file, or its ``"values"``.
    """

    concept: str
    role: Role
    rank: int = 0
    source: Literal["name", "label", "values"] = "name"


def _with_letters(word: str) -> str:
    if not words_of(word):
        raise ValueError("no letter or digit in it")
    return word


Word = Annotated[str, AfterValidator(_with_letters)]
Phrases = dict[str, list[Word]]


class Words(Section):
    """Schema of ``names.toml`` and of user files that extend it."""

    quantities: list[Word] = Field(default_factory=list)
    direct: Phrases = Field(default_factory=dict)
    known: dict[Literal["1", "2", "3"], Phrases] = Field(default_factory=dict)
    values: Phrases = Field(default_factory=dict)
    categories: dict[Literal["male", "female", "neither sex", "yes", "no"], list[Word]] = Field(default_factory=dict)
    keys: dict[Literal["person", "household"], list[Word]] = Field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Names:
    """Vocabulary that maps column names and values to concepts, in several languages.

    Parameters
    ----------
    words : Words
        Content of ``names.toml``, including any words added by the user.
    """

    words: Words

    @classmethod
    def read(cls, path: Path | None = None) -> Names:
        """Return the package vocabulary, extended by a user file if given.

        Raises
        ------
        InputError
            If the file cannot be read or has a different schema.
        """
        if path is None:
            return NAMES
        more = validated(Words, read_toml(path), path)
        names = cls(Words.model_validate(_joined(NAMES.words.model_dump(), more.model_dump())))
        known = {concept for concepts in names.words.known.values() for concept in concepts}
        for concept in more.values:
            if concept not in known:
                expected = f"one of {listed(sorted(known), 20)}, or a concept in a section [known.1] to [known.3]"
                problem = "not a concept that outsiders may know"
                raise InputError(problem, source=path, where=f"values.{concept}", expected=expected)
        return names

    def hint_of(self, name: str) -> Hint | None:
        """Return the concept inferred from a column name; None if there is none."""
        return meaning_of(name, self._hints)

    def names_quantity(self, name: str) -> bool:
        """Return whether a column name indicates a count or measurement, not a code."""
        return not self._quantities.isdisjoint(words_of(name))

    def meaning(self, value: str) -> str:
        """Return the category of a value, such as ``"female"`` for ``w``; else empty."""
        return self._categories.get(letters_of(value), "")

    def means(self, value: str, category: str) -> bool:
        """Return whether a value can mean a category, even if it has other meanings."""
        return letters_of(value.removesuffix(".0")) in self._words_of[category]

    def rank_of(self, concept: str) -> int:
        """Return the rank of a concept that others may know."""
        return next(int(rank) for rank, concepts in self.words.known.items() if concept in concepts)

    @cached_property
    def values(self) -> dict[str, frozenset[str]]:
        """Normalized values that occur only in columns of a concept, by concept."""
        return {concept: frozenset(map(letters_of, words)) for concept, words in self.words.values.items()}

    @cached_property
    def keys(self) -> dict[str, list[str]]:
        """Names of person and household key columns, as normalized words."""
        return {of: list(map(plain_words, words)) for of, words in self.words.keys.items()}

    @cached_property
    def _categories(self) -> dict[str, str]:
        # "f" means female in a column of sexes and false in a yes/no column. Sexes come last, and so take precedence.
        order = sorted(self.words.categories, key=lambda meaning: meaning in ("male", "female"))
        return {letters_of(word): key for key in order for word in (key, *self.words.categories[key])}

    @cached_property
    def _words_of(self) -> dict[str, frozenset[str]]:
        return {
            category: frozenset(map(letters_of, (category, *words)))
            for category, words in self.words.categories.items()
        }

    @cached_property
    def _quantities(self) -> frozenset[str]:
        return frozenset(self.words.quantities)

    @cached_property
    def _hints(self) -> list[tuple[str, Hint]]:
        """Phrases and hints: longest first, then direct identifiers, then by rank."""
        hints = [(phrase, Hint(concept, "direct")) for phrase, concept in direct_phrases(self.words.direct)]
        for rank, concepts in sorted(self.words.known.items()):
            hints += [(phrase, Hint(concept, "known", int(rank))) for phrase, concept in delimited(concepts)]
        return sorted(hints, key=lambda each: -len(each[0].split()))


def hint_of(name: str) -> Hint | None:
    """Return the concept of a column name in the package vocabulary, else None.

    Examples
    --------
    >>> hint_of("DateOfBirth").concept
    'birth date'
    >>> hint_of("page") is None
    True
    """
    return NAMES.hint_of(name)


def letters_of(value: str) -> str:
    """Normalize a value to its lower-case letters and digits without accents."""
    return "".join(words_of(value.casefold()))


def _joined(words: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Merge additional words into nested word lists."""
    return words | {
        key: _joined(words.get(key, {}), value) if isinstance(value, Mapping) else [*words.get(key, []), *value]
        for key, value in more.items()
    }


NAMES = Names(validated(Words, read_toml(Path(__file__).with_suffix(".toml")), "names.toml"))
