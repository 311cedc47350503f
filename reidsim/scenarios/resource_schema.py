"""Schema of external resources: lists of people, prices and buyers.

All kinds of scenario use the same keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import listed, refuse_first, require_among
from reidsim.populations.resources import ANYONE, Coverage
from reidsim.scenarios.amounts import Money, Share, Text
from reidsim.scenarios.schema import BeliefsSection
from reidsim.validation import Section

ListKind = Literal["voter-list", "genealogy", "social-media", "broker-file", "file"]
# One correlation for all pairs of lists, or one for each listed pair.
Together = Annotated[
    Share | dict[str, dict[str, Annotated[float, Field(gt=-1, lt=1)]]],
    Field(
        description="correlation between memberships in lists (Gaussian copula): one number for all pairs, or "
        "a number for each pair, as in `{ broker = { club = 0.5 } }`"
    ),
]

# Keys that only lists have, with the only kinds of list that have them; none if all kinds have the key.
_KINDS_WITH: dict[str, tuple[str, ...]] = {
    "recipe": ("social-media", "broker-file", "genealogy"),
    "states": ("voter-list",),
    "among": (),
    "missing": (),
    "errors": (),
    "person": ("file",),
}


class DrawnResourceSection(Section):
    """An external resource of adversaries.

    With a `kind`, it is a list of the scenario's people.

    Attributes
    ----------
    kind
        kind of list of the scenario's people, which determines its defaults; `"file"` reads the list from a file, all
        other kinds are drawn
    recipe
        recipe of kind `resource` or `social-media` with the defaults of a list
    states
        states that a voter list covers; default: all
    coverage
        probability that the resource contains a person: one number, or tables by attribute, which are multiplied;
        weights of the draw if `size` is set
    among
        values that a person must have to be in the list, by attribute
    missing
        probability that a value in a list is missing, by attribute
    errors
        probability that a value in a list is wrong, by attribute
    person
        column of the file with the person's row in the population, counted from 0; empty for other people
    price
        price that an adversary pays once for the resource
    buyers
        adversaries who may hold or buy the resource; default: all
    """

    kind: ListKind | None = None
    recipe: Text | None = None
    states: tuple[str, ...] = ()
    coverage: Coverage | None = None
    among: dict[str, tuple[str, ...]] = Field(default={})
    missing: dict[str, Share] = Field(default={})
    errors: dict[str, Share] = Field(default={})
    person: Text | None = None
    price: Money | None = None
    buyers: tuple[str, ...] | None = Field(default=None, min_length=1)

    @property
    def is_list(self) -> bool:
        """Whether the resource is a list of the scenario's people."""
        return self.kind is not None

    @model_validator(mode="after")
    def _of_a_kind(self) -> DrawnResourceSection:
        for key, kinds in _KINDS_WITH.items():
            if key in self.model_fields_set:
                problem, expected = "the key needs a list drawn from the people", 'such as "broker-file"'
                self.refuse_if(self.kind is None, problem, key, f"this key only with `kind`, {expected}", found=None)
                has_none = kinds and self.kind not in kinds
                self.refuse_if(has_none, f"not supported with kind {self.kind!r}", key, f"kind {listed(kinds)}")
        return self


class ListBeliefsSection(BeliefsSection):
    """Beliefs in planning; a parameter without a belief has its true value.

    Attributes
    ----------
    lists
        knowledge of the decision-maker about lists: the members of each list, or only its coverage
    """

    lists: Literal["members", "coverage"] = "members"

    def check_lists(self, drawn: Collection[str]) -> None:
        """Check that the scenario has lists if beliefs are about their coverage.

        Raises
        ------
        InputError
            If it has none; `drawn` are the names of its lists.
        """
        problem, expected = "no list is drawn from the people", "a resource with `kind`"
        refuse_first((self.lists == "coverage" and not drawn, problem, "beliefs.lists", self.lists, expected))


def check_buyer(name: str, where: str, resources: Collection[str], buyers: Mapping[str, Collection[str]]) -> None:
    """Check that an adversary may have each of its resources.

    Parameters
    ----------
    name : str
        Name of the adversary.
    where : str
        Key path that names the resources, for error messages.
    resources : collection of str
        Names of the adversary's resources.
    buyers : mapping of str to collection of str
        Adversaries who may have each resource; anyone may have a resource without an entry.

    Raises
    ------
    InputError
        For the first resource that the adversary may not have.
    """
    for resource in resources:
        may = buyers.get(resource, (ANYONE,))
        expected = f"{name!r} in resources.{resource}.buyers, which lists {listed(may)}"
        is_wrong = ANYONE not in may and name not in may
        refuse_first((is_wrong, "the adversary may not have the resource", where, resource, expected))


def drawn_lists_of(resources: Mapping[str, DrawnResourceSection]) -> tuple[str, ...]:
    """Return the names of the resources that are lists of the scenario's people."""
    return tuple(name for name, section in resources.items() if section.is_list)


def check_together(together: object, lists: Collection[str]) -> None:
    """Check that the correlations of list memberships name only lists of the scenario.

    Raises
    ------
    InputError
        If another name occurs; the message names the key.
    """
    if not isinstance(together, Mapping):
        return
    for name, others in together.items():
        where, otherwise = f"population.together.{name}", "resources with `kind`"
        require_among("no such list", (name, *others), lists, where=where, otherwise=otherwise)
