"""Stages of which a multi-stage attack can consist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reidsim.errors import InputError, require_distinct
from reidsim.linkage.surname_inference.tmrca import Ancestry

InferenceMethod = Literal["tmrca", "nearest-neighbour"]


@dataclass(frozen=True)
class InferSurname:
    """Stage that infers the surname from the released loci, through a genealogy.

    Parameters
    ----------
    loci : tuple of str
        Loci that the adversary uses if they are released.
    ancestry : Ancestry
        Mutation rates of the loci, in the order of `loci`, and effective population size; used by "tmrca" only.
    resource : str
        Name of the genealogy, a table with these loci and the surname.
    infers : str
        Attribute that is inferred.
    method : {"tmrca", "nearest-neighbour"}
        Distance measure: time to the most recent common ancestor, which gives a confidence; or the sum of differences
        in repeats, with confidence 1.
    candidate_share : float
        Number of agreeing loci that a man of the genealogy needs to be a candidate, as a share of the highest such
        number of any man; used by "tmrca" only.
    price : float
        Price of the stage, in currency units per record; 0 or more.

    Raises
    ------
    InputError
        If a locus is named twice.
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
    """Stage that infers an attribute as the most frequent value of matching rows.

    A row of the resource matches if it agrees with every known value of the target, released or inferred, among the
    attributes `on`. Rows that lack a value used by the stage are ignored. The confidence is the share of matching rows
    with the inferred value. Among equally frequent values, the value with the earliest row is used.

    Parameters
    ----------
    infers : str
        Attribute that is inferred.
    resource : str
        Name of the table with the inferred attribute and the attributes `on`.
    on : tuple of str
        Attributes used for linkage if they are known.
    price : float
        Price of the stage, in currency units per record; 0 or more.

    Raises
    ------
    InputError
        If an attribute of `on` is named twice or is the inferred attribute.
    """

    infers: str
    resource: str
    on: tuple[str, ...]
    price: float = 0.0

    def __post_init__(self) -> None:
        require_distinct("attribute named twice", self.on, where="on")
        if self.infers in self.on:
            raise InputError("a stage links on the attribute that it infers", where="on", found=self.infers)


@dataclass(frozen=True)
class Identify:
    """Last stage of every attack: choose one matching person of a registry at random.

    Parameters
    ----------
    on : tuple of str
        Attributes used for linkage if they are known, released or inferred. Without attributes, all people match.
    resource : str
        Name of the registry.

    Raises
    ------
    InputError
        If an attribute is named twice.
    """

    on: tuple[str, ...]
    resource: str = "registry"

    def __post_init__(self) -> None:
        require_distinct("attribute named twice", self.on, where="on")


Inference = InferSurname | InferByLinkage
Stage = Inference | Identify
