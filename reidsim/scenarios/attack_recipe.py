"""Schema of attack recipes: stages and resources of a multistage attack.

The attack links generalized records to people.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from reidsim.bundled import bundled_folder, data_file
from reidsim.errors import locating, refuse_first, require_among
from reidsim.scenarios.read_keys import Delimiter, Money, Share, Text, with_key
from reidsim.tables import numbers, read_table, require_columns
from reidsim.validation import Section

_BUNDLED_RATES = "ystr-loci.csv.gz"


class InferSurnameSection(Section):
    """A stage that infers a surname from loci, using a genealogy.

    Attributes
    ----------
    stage
        stage that infers a surname from loci
    resource
        resource with the genealogy
    infers
        attribute of the genealogy that the stage infers
    loci
        loci that are compared; default: all loci of the genealogy
    method
        choice of the nearest candidate: smallest expected number of generations to the closest common ancestor, or
        smallest difference in repeats
    mutation_rates
        file with the columns `locus` and `mutation_rate`; default: the bundled rates
    effective_population
        effective population size N in the distribution of the time to the closest common ancestor
    candidate_share
        smallest number of agreeing loci of a candidate, as a share of the largest number in the genealogy
    price
        price of using the inference on a record
    """

    stage: Literal["infer-surname"]
    resource: str
    infers: str = "surname"
    loci: tuple[str, ...] | None = Field(default=None, min_length=1)
    method: Literal["tmrca", "nearest-neighbour"] = "tmrca"
    mutation_rates: str | None = None
    effective_population: Annotated[float, Field(gt=0), with_key("method", "tmrca")] = 10_000.0
    candidate_share: Annotated[Share, with_key("method", "tmrca")] = 0.8
    price: Money = 0.0


class InferByLinkageSection(Section):
    """A stage that infers an attribute by linkage to a table.

    The inferred value is the most frequent one among the matching rows.

    Attributes
    ----------
    stage
        stage that infers the most frequent value among the matching rows
    resource
        resource to which the stage links
    infers
        attribute that the stage infers
    on
        attributes that must match if their values are known, released or inferred
    price
        price of using the inference on a record
    """

    stage: Literal["infer-by-linkage"]
    resource: str
    infers: str
    on: tuple[str, ...] = Field(min_length=1)
    price: Money = 0.0


class IdentifySection(Section):
    """The last stage: the adversary names one of the people who match.

    Attributes
    ----------
    stage
        stage that names one of the matching people
    resource
        resource in which people are looked up (the registry)
    on
        attributes that must match if their values are known; default: none, so that all people match
    """

    stage: Literal["identify"]
    resource: str
    on: tuple[str, ...] = ()


StageSection = Annotated[InferSurnameSection | InferByLinkageSection | IdentifySection, Field(discriminator="stage")]


def stage_of(section: StageSection, folder: Path, loci: tuple[str, ...] = ()) -> Stage:
    """Return the stage that a section describes.

    Parameters
    ----------
    section : InferSurnameSection, InferByLinkageSection or IdentifySection
    folder : Path
        Folder of the recipe; relative paths start there.
    loci : tuple of str
        Loci from which a surname is inferred; if empty, the loci of the section. Ignored for other stages.
    """
    # Imported here because reading a scenario does not need these modules.
    from reidsim.adversaries.multistage.attack import Identify, InferByLinkage, InferSurname
    from reidsim.linkage.ancestry import Ancestry

    if isinstance(section, IdentifySection):
        return Identify(section.on, section.resource)
    if isinstance(section, InferByLinkageSection):
        return InferByLinkage(section.infers, section.resource, section.on, section.price)
    loci = loci or section.loci or ()
    ancestry = Ancestry(mutation_rates(section.mutation_rates, folder, loci), section.effective_population)
    return InferSurname(
        loci, ancestry, section.resource, section.infers, section.method, section.candidate_share, section.price
    )


def mutation_rates(file: str | None, folder: Path, loci: tuple[str, ...]) -> tuple[float, ...]:
    """Return the mutation rate of each locus per generation.

    The rates are read from `file`, relative to `folder`, or from the bundled table.

    Raises
    ------
    InputError
        If the file cannot be used, or lacks a locus.
    """
    bundled = bundled_folder("populations") / "figures" / _BUNDLED_RATES
    path = bundled if file is None else data_file(file, folder, "scenarios")
    frame = read_table(path, comment="#")
    require_columns(frame, ["locus", "mutation_rate"], path)
    rates = dict(zip(frame["locus"], numbers(frame, "mutation_rate", path), strict=True))
    require_among("mutation rate missing for a locus", loci, rates, source=path)
    return tuple(rates[locus] for locus in loci)


class AttackResourceSection(Section):
    """A table of people that the adversary can search.

    Attributes
    ----------
    population
        bundled population, or path of a recipe
    file
        CSV or Parquet file of people, with a header; replaces `population`
    delimiter
        column separator of a CSV file
    encoding
        character encoding of a CSV file, such as `latin-1`
    columns
        column of the file, by attribute; default: the attribute's name
    count
        column with the number of people in each row; default: one person per row
    """

    population: Text | None = None
    file: Text | None = None
    delimiter: Delimiter = ","
    encoding: str = "utf-8"
    columns: dict[str, str] = Field(default={})
    count: Text | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> AttackResourceSection:
        problem, needs_file = "the people of the resource are missing or given twice", "this key only with a file"
        is_wrong, no_file = (self.population is None) == (self.file is None), self.file is None
        refuse_first(
            (is_wrong, problem, None, None, "either population or file"),
            (no_file and self.count is not None, "the key needs a file", "count", None, needs_file),
            (no_file and self.columns, "the key needs a file", "columns", None, needs_file),
        )
        return self


class AttackRecipe(Section):
    """An attack in stages on generalized records.

    Attributes
    ----------
    title
        title of the recipe
    source
        origin of the figures
    confidence_threshold
        theta: smallest confidence with which an inference is used
    stages
        stages in order; the last one is `identify`
    resources
        resources of the adversary
    columns
        column of the records with the true value of each inferred attribute; default: the attribute's name
    """

    title: str = ""
    source: str = ""
    confidence_threshold: Share = 0.5
    stages: tuple[StageSection, ...] = Field(min_length=2)
    resources: dict[str, AttackResourceSection] = Field(min_length=1)
    columns: dict[str, str] = Field(default={})

    @model_validator(mode="after")
    def _consistent(self) -> AttackRecipe:
        for number, stage in enumerate(self.stages):
            require_among("no such resource", (stage.resource,), self.resources, where=f"stages[{number}].resource")
            is_missing = isinstance(stage, InferSurnameSection) and stage.loci is None
            refuse_first((is_missing, "key missing", f"stages[{number}].loci", None, "a list of loci"))
        require_among("no stage infers the attribute", self.columns, self.inferred, where="columns")
        return self

    @property
    def inferred(self) -> tuple[str, ...]:
        """Attributes that stages infer."""
        return tuple(stage.infers for stage in self.stages if stage.stage != "identify")

    def needed_of(self, resource: str) -> tuple[str, ...]:
        """Return the attributes that a resource must have, because stages use them.

        They are the attributes on which a stage links to the resource, and the attributes that it infers from it.
        """
        needed: list[str] = []
        for stage in self.stages:
            if stage.resource == resource:
                needed += stage.loci or () if stage.stage == "infer-surname" else stage.on
                needed += () if stage.stage == "identify" else (stage.infers,)
        return tuple(dict.fromkeys(needed))

    @property
    def loci(self) -> frozenset[str]:
        """Attributes whose values are alleles."""
        loci = [stage.loci or () for stage in self.stages if stage.stage == "infer-surname"]
        return frozenset(name for names in loci for name in names)


def require_recipe(path: Path, where: str) -> Path:
    """Return the path of an attack recipe, which the key or argument `where` names.

    Raises
    ------
    InputError
        If there is no such file.
    """
    problem = "is a folder" if os.path.isdir(path) else "no such file"
    with locating(path):
        refuse_first((not os.path.isfile(path), problem, where, None, "an attack recipe (TOML)"))
    return path


if TYPE_CHECKING:
    from reidsim.adversaries.multistage.attack import Stage
