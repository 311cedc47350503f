"""What an attack recipe may say: the stages and resources of an adversary against records that are generalized."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from reidsim.errors import InputError, listed, require_among
from reidsim.scenarios.adversary_schema import Share
from reidsim.scenarios.attack_stages import InferSurnameSection, StageSection
from reidsim.validation import Section, read_toml, validated


class AttackResourceSection(Section):
    """People whom the adversary can look up."""

    population: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="name of a bundled population, or path of a recipe"
    )
    file: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="file of people with a header, CSV or Parquet; takes the place of `population`"
    )
    delimiter: str = Field(default=",", min_length=1, max_length=1, description="between columns of a CSV file")
    columns: dict[str, str] = Field(default={}, description="attribute = column of the file, where names differ")
    count: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="column with the number of people of each row"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> AttackResourceSection:
        if (self.population is None) == (self.file is None):
            raise InputError("nobody is in the resource, or two say who", expected="either population or file")
        if self.file is None and (self.count is not None or self.columns):
            key = "count" if self.count is not None else "columns"
            raise InputError("a population has no columns to name", where=key, expected="it with a file only")
        return self


class AttackRecipe(Section):
    """An attack in stages on generalized records."""

    title: str = Field(default="", description="what the recipe is about")
    source: str = Field(default="", description="where its figures come from")
    confidence_threshold: Share = Field(default=0.5, description="theta: a stage is not used below this confidence")
    stages: tuple[StageSection, ...] = Field(min_length=2, description="stages in order")
    resources: dict[str, AttackResourceSection] = Field(min_length=1, description="what the adversary holds, by name")
    columns: dict[str, str] = Field(
        default={},
        description="inferred attribute = column of the records with the truth, where names differ",
    )

    @model_validator(mode="after")
    def _consistent(self) -> AttackRecipe:
        for number, stage in enumerate(self.stages):
            where = f"stages[{number}].resource"
            require_among("no such resource", (stage.resource,), self.resources, where=where)
            if isinstance(stage, InferSurnameSection) and stage.loci is None:
                raise InputError("key missing", where=f"stages[{number}].loci", expected="the loci to infer from")
        for name in self.columns:
            if name not in self.inferred:
                raise InputError("not inferred", where=f"columns.{name}", expected=f"one of {listed(self.inferred)}")
        return self

    @property
    def inferred(self) -> tuple[str, ...]:
        """Attributes that stages infer."""
        return tuple(stage.infers for stage in self.stages if stage.stage != "identify")

    def needed_of(self, resource: str) -> tuple[str, ...]:
        """Return the attributes that a resource must carry."""
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
    if not os.path.isfile(path):
        problem = "is a folder" if os.path.isdir(path) else "no such file"
        raise InputError(problem, source=path, where=where, expected="an attack recipe (TOML)")
    return path


def recipe_of_scenario(stages: str | None, folder: Path) -> Path | None:
    """Return the path of the recipe that a scenario in a folder names, if any; see `require_recipe`."""
    return None if stages is None else require_recipe(folder / stages, "adversary.stages")


def load_attack_recipe(path: Path) -> AttackRecipe:
    """Read an attack recipe.

    Raises
    ------
    InputError
        If the file cannot be used; names it.
    """
    return validated(AttackRecipe, read_toml(path), path)
