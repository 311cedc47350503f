"""The stages an attack may be made of, as declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reidsim.errors import InputError, require_distinct
from reidsim.linkage.surname_inference.tmrca import Ancestry

InferenceMethod = Literal["tmrca", "nearest-neighbour"]


@dataclass(frozen=True)
class InferSurname:
    """Infer the surname from the loci released, through a genealogy.

    Parameters
    ----------
    loci : tuple of str
        Loci that the adversary uses where they are released.
    ancestry : Ancestry
        Their mutation rates.
    resource : str
        The genealogy: a table with these loci and the surname.
    infers : str
        Attribute that is inferred.
    method : {"tmrca", "nearest-neighbour"}
        Nearest by time to the most recent common ancestor, with a confidence; or by the sum of differences in
        repeats, with confidence 1.
    candidate_share : float
        Share of the most agreements that makes a man a candidate.
    price : float
        Of the stage, in currency units per record; 0 or more.
    """

    loci: tuple[str, ...]
    ancestry: Ancestry
    resource: str = "genealogy"
    infers: str = "surname"
    method: InferenceMethod = "tmrca"
    candidate_share: float = 0.8
    price: float = 0.0

    def __post_init__(self) -> None:
        require_distinct("attribute named twice", self.loci, where="loci")


@dataclass(frozen=True)
class InferByLinkage:
    """Infer an attribute as the most frequent value among the rows of a resource that match.

    A row matches if it has every value known of the target, released or inferred, among the attributes `on`. The
    confidence is the share of matching rows with that value; of equally frequent values the one met first counts.

    Parameters
    ----------
    infers : str
        Attribute that is inferred.
    resource : str
        Table with that attribute and the ones of `on`.
    on : tuple of str
        Attributes linked on where they are known.
    price : float
        Of the stage, in currency units per record; 0 or more.
    """

    infers: str
    resource: str
    on: tuple[str, ...]
    price: float = 0.0

    def __post_init__(self) -> None:
        require_distinct("attribute named twice", self.on, where="on")
        if self.infers in self.on:
            raise InputError("a stage links on what it infers", where="on", found=self.infers)


@dataclass(frozen=True)
class Identify:
    """Name one of the people of a registry who match, taken at random: the last stage of every attack.

    Parameters
    ----------
    on : tuple of str
        Attributes linked on where they are known, released or inferred; without any, all people match.
    resource : str
        The registry.
    """

    on: tuple[str, ...]
    resource: str = "registry"

    def __post_init__(self) -> None:
        require_distinct("attribute named twice", self.on, where="on")


Inference = InferSurname | InferByLinkage
Stage = Inference | Identify
