"""Infer the concept of a column from its name, with words in several languages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from reidsim.audit.identifiers import IDENTIFIERS, delimited, meaning_of, plain_words, words_of
from reidsim.core.errors import InputError, listed
from reidsim.core.validation import Section, read_toml, validated


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
    role: Literal["direct", "known"]
    rank: int = 0
    source: Literal["name", "label", "values"] = "name"


def letters_of(value: str) -> str:
    """Return the letters and digits of a value as one word.

    They are in lower case and without accents.
    """
    return "".join(words_of(value.casefold()))


Word = Annotated[str, StringConstraints(pattern=r"[^\W_]")]
Letters = Annotated[Word, AfterValidator(letters_of)]
Phrases = dict[str, list[Word]]


class Names(Section):
    """Vocabulary that maps column names and values to concepts, in several languages.

    This is the schema of ``names.toml`` and of user files that extend it.

    Attributes
    ----------
    quantities
        words in names of columns that hold counts or measurements, not codes
    direct
        names of direct identifiers, by concept
    known
        names of columns that others may know, by rank and concept
    values
        values that occur only in columns of a concept, by concept
    categories
        spellings of categories, such as `w` for `female`
    keys
        names of columns that identify people and households
    """

    quantities: frozenset[Word] = frozenset()
    direct: Phrases = Field(default_factory=dict)
    known: dict[Literal["1", "2", "3"], Phrases] = Field(default_factory=dict)
    values: dict[str, frozenset[Letters]] = Field(default_factory=dict)
    categories: dict[Literal["male", "female", "neither sex", "yes", "no"], frozenset[Letters]] = Field(
        default_factory=dict
    )
    keys: dict[Literal["person", "household"], list[Annotated[Word, AfterValidator(plain_words)]]] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _ranked(self) -> Names:
        unranked = next((concept for concept in self.values if concept not in self.ranks), None)
        if unranked is not None:
            expected = f"one of {listed(sorted(self.ranks), 20)}, or a concept in a section [known.1] to [known.3]"
            raise InputError("not a concept that outsiders may know", where=f"values.{unranked}", expected=expected)
        return self

    @classmethod
    def read(cls, path: Path | None = None) -> Names:
        """Return the package vocabulary, extended by a user's TOML file if given.

        Raises
        ------
        InputError
            If the file cannot be read or has a different schema.
        """
        if path is None:
            return NAMES
        return validated(cls, _joined(NAMES.model_dump(mode="json"), read_toml(path)), path)

    def hint_of(self, name: str) -> Hint | None:
        """Return the concept inferred from a column name; None if there is none.

        See `Hint`; a phrase of the vocabulary must occur in the name.
        """
        return meaning_of(name, self._hints)

    def names_quantity(self, name: str) -> bool:
        """Return whether a word of a name indicates a count or measurement, not a code."""
        return not self.quantities.isdisjoint(words_of(name))

    def meaning(self, value: str) -> str:
        """Return the category of a value, such as ``"female"`` for ``w``; else "".

        Values may be in several languages. Case and accents are ignored. A spelling of several categories means the
        sex: ``f`` is female, not no.
        """
        return self._categories.get(letters_of(value), "")

    def means(self, value: str, category: Literal["male", "female", "yes", "no"]) -> bool:
        """Return whether a value can mean a category, even if it has other meanings.

        Case, accents and a ``.0`` at the end (``1.0``) are ignored.
        """
        word = letters_of(value.removesuffix(".0"))
        return word == category or word in self.categories[category]

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Rank of each concept that others may know: 1 (highest) to 3.

        A concept with several ranks has the highest.
        """
        ranked = sorted(self.known.items(), reverse=True)
        return {concept: int(rank) for rank, concepts in ranked for concept in concepts}

    @cached_property
    def _categories(self) -> dict[str, str]:
        # "f" means female in a column of sexes and false in a yes/no column. Sexes come last, and so take precedence.
        order = sorted(self.categories, key=lambda meaning: meaning in ("male", "female"))
        return {word: meaning for meaning in order for word in (letters_of(meaning), *self.categories[meaning])}

    @cached_property
    def _hints(self) -> list[tuple[str, Hint]]:
        """Pairs of phrase and hint, in the order of their priority.

        Phrases of more words come first, then direct identifiers, then the others by rank.
        """
        hints = [(phrase, Hint(concept, "direct")) for phrase, concept in (*IDENTIFIERS, *delimited(self.direct))]
        for rank, concepts in sorted(self.known.items()):
            hints += [(phrase, Hint(concept, "known", int(rank))) for phrase, concept in delimited(concepts)]
        return sorted(hints, key=lambda each: -len(each[0].split()))


def _joined(words: Any, more: Any) -> Any:
    """Return nested word lists with additional words appended.

    Neither argument is changed. Dictionaries are merged by key, lists are joined, and any other value in `more`
    replaces that in `words`.
    """
    if isinstance(words, dict) and isinstance(more, dict):
        return words | {key: _joined(words.get(key), value) for key, value in more.items()}
    return words + more if isinstance(words, list) and isinstance(more, list) else more


NAMES = validated(Names, read_toml(Path(__file__).with_suffix(".toml")), "names.toml")
