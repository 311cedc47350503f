"""The stages of an attack, as scenarios and attack recipes write them: infer a surname, infer by linkage, identify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from reidsim.bundled import bundled_folder, data_file
from reidsim.errors import InputError, nearest
from reidsim.scenarios.adversary_schema import Share
from reidsim.scenarios.amounts import Money
from reidsim.tables import numbers, read_table, require_columns
from reidsim.validation import Section

if TYPE_CHECKING:
    from reidsim.adversaries.multistage.stages import Stage

Floats = NDArray[np.float64]

_BUNDLED_RATES = "ystr-loci.csv.gz"


class InferSurnameSection(Section):
    """A surname inferred from loci through a genealogy."""

    stage: Literal["infer-surname"] = Field(description="a surname from loci")
    resource: str = Field(description="the genealogy")
    infers: str = Field(default="surname", description="attribute of the genealogy that is inferred")
    loci: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="loci used; all that the genealogy carries if not given",
    )
    method: Literal["tmrca", "nearest-neighbour"] = Field(
        default="tmrca",
        description="by the nearest common ancestor, or the least difference in repeats",
    )
    mutation_rates: str | None = Field(
        default=None, description="file with columns `locus` and `mutation_rate`; the bundled loci if not given"
    )
    effective_population: Annotated[float, Field(gt=0)] = Field(
        default=10_000.0, description="N of the time to a common ancestor"
    )
    candidate_share: Share = Field(default=0.8, description="share of the most agreements that makes a candidate")
    price: Money = Field(default=0.0, description="price of using the stage")


class InferByLinkageSection(Section):
    """An attribute inferred as the most frequent value among the rows that match."""

    stage: Literal["infer-by-linkage"] = Field(description="the most frequent value among rows that match")
    resource: str = Field(description="table that is linked to")
    infers: str = Field(description="attribute that is inferred")
    on: tuple[str, ...] = Field(
        min_length=1, description="attributes that must match where they are known, shared or inferred"
    )
    price: Money = Field(default=0.0, description="price of using the stage")


class IdentifySection(Section):
    """Naming one of the people who match: the last stage."""

    stage: Literal["identify"] = Field(description="names one of those who match")
    resource: str = Field(description="the registry, in which people are looked up")
    on: tuple[str, ...] = Field(
        default=(), description="attributes that must match where they are known; without any everybody matches"
    )


StageSection = Annotated[InferSurnameSection | InferByLinkageSection | IdentifySection, Field(discriminator="stage")]


def stage_of(section: StageSection, folder: Path, loci: tuple[str, ...] = ()) -> Stage:
    """Return a stage; that which infers a surname, from these loci, or those that its section names."""
    # Not needed by those who only read scenarios.
    from reidsim.adversaries.multistage.stages import Identify, InferByLinkage, InferSurname
    from reidsim.linkage.surname_inference.tmrca import Ancestry

    if isinstance(section, IdentifySection):
        return Identify(section.on, section.resource)
    if isinstance(section, InferByLinkageSection):
        return InferByLinkage(section.infers, section.resource, section.on, section.price)
    loci = loci or section.loci or ()
    ancestry = Ancestry(mutation_rates(section.mutation_rates, folder, loci), section.effective_population)
    return InferSurname(
        loci, ancestry, section.resource, section.infers, section.method, section.candidate_share, section.price
    )


def mutation_rates(file: str | None, folder: Path, loci: tuple[str, ...]) -> Floats:
    """Return the mutation rates of loci from a file, or the bundled ones, shape (n_loci,).

    Raises
    ------
    InputError
        If the file cannot be used, or lacks a locus.
    """
    if file is None:
        path = bundled_folder("populations") / "figures" / _BUNDLED_RATES
    else:
        path = data_file(file, folder, "scenarios")
    frame = read_table(path, comment="#")
    require_columns(frame, ["locus", "mutation_rate"], path)
    rates = dict(zip(frame["locus"], numbers(frame, "mutation_rate", path), strict=True))
    for locus in loci:
        if locus not in rates:
            raise InputError(
                "locus without a mutation rate", source=path, where=f"locus {locus!r}", hint=nearest(locus, rates)
            )
    return np.array([rates[locus] for locus in loci])
