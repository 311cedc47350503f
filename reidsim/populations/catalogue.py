"""Load or make populations.

They come from bundled recipes, users' recipes, and files of ``reidsim populate``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, RootModel

from reidsim.bundled import resolve
from reidsim.errors import InputError, locating
from reidsim.overrides import override, validated_after
from reidsim.populations.attribute_model.draw import attribute_model_population
from reidsim.populations.attribute_model.recipe import AttributeModelRecipe
from reidsim.populations.census_cells import census_population
from reidsim.populations.counted import counted_population
from reidsim.populations.files import read_population_file
from reidsim.populations.fitted import FittedRecipe, fitted_population
from reidsim.populations.genealogy.genealogy import Genealogy, genealogy_individuals
from reidsim.populations.genealogy.genealogy_file import is_genealogy, read_genealogy
from reidsim.populations.genealogy.make import genealogy_of
from reidsim.populations.genealogy.recipe import GenealogyRecipe
from reidsim.populations.individuals import Individuals
from reidsim.populations.population import Population
from reidsim.populations.recipe import CensusCellsRecipe, CountsRecipe, RegistryRecipe, Sf1Recipe, VoterFileRecipe
from reidsim.populations.registry import draw_registry
from reidsim.populations.resources import ExternalResource, ResourceRecipe, resource_of
from reidsim.populations.sf1 import sf1_population
from reidsim.populations.voter_file import voter_file_population
from reidsim.populations.voter_list import VoterListRecipe, voter_list_population
from reidsim.validation import read_toml

Recipe = Annotated[
    AttributeModelRecipe
    | CensusCellsRecipe
    | CountsRecipe
    | FittedRecipe
    | GenealogyRecipe
    | RegistryRecipe
    | ResourceRecipe
    | Sf1Recipe
    | VoterFileRecipe
    | VoterListRecipe,
    Field(discriminator="kind"),
]
# Types of the result of a recipe.
Made = Population | Individuals | Genealogy | ExternalResource
Counting = Literal["sample", "expected"]
Progress = Callable[[str, int, int], None]

# Attributes by which the people of a genealogy are counted in a population.
_COUNTED_TRAITS = ("sex", "birth_year", "state", "surname")


class _AnyRecipe(RootModel[Recipe]):
    """A recipe of any kind, distinguished by its key ``kind``."""


def load_population(recipe: str | Path, *, counts: Counting = "sample", seed: int | None = None) -> Population:
    """Return the population of a recipe, counted by cell.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, such as ``"tennessee-2010"``, a TOML file, or a Parquet file that
        ``reidsim populate`` wrote.
    counts : {"sample", "expected"}
        Whether a recipe with probabilities is drawn as a sample of people or returned as expected counts. Recipes with
        counts do not depend on this option; registries and genealogies are always drawn.
    seed : int, optional
        Seed of the draw; default: the recipe's seed. A population from which a registry is drawn keeps its own seed.

    Returns
    -------
    Population
        For a genealogy, the population over sex, birth year, state and surname.

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used.
    """
    made = make(recipe, counts=counts, seed=seed)
    if isinstance(made, Population):
        return made
    people = as_individuals(made)
    return (people.select(_COUNTED_TRAITS) if isinstance(made, Genealogy) else people).population()


def load_individuals(recipe: str | Path, *, seed: int | None = None) -> Individuals:
    """Return the population of a recipe with one row per person.

    See `load_population`.
    """
    return as_individuals(make(recipe, seed=seed))


def load_resource(recipe: str | Path, *, seed: int | None = None) -> ExternalResource:
    """Return the external resource of a recipe of kind ``resource``.

    See `load_population` for the parameters.

    Raises
    ------
    InputError
        If the recipe is of another kind, or it or one of its files cannot be used.
    """
    made = make(recipe, seed=seed)
    if not isinstance(made, ExternalResource):
        raise InputError("not a recipe of an external resource", source=recipe, expected='kind = "resource"')
    return made


def as_individuals(made: Made) -> Individuals:
    """Convert the result of a recipe to one row per person.

    For an external resource, one row per record.
    """
    if isinstance(made, Population):
        return Individuals.of(made)
    if isinstance(made, Genealogy):
        return genealogy_individuals(made)
    return made.records if isinstance(made, ExternalResource) else made


def recipe_of(path: Path, overrides: Mapping[str, object] | None = None) -> Recipe:
    """Return a parsed recipe, without making its population.

    Parameters
    ----------
    path : Path
        Path of the TOML file.
    overrides : mapping of str to object, optional
        Values by key path that replace the recipe's.

    Raises
    ------
    InputError
        If the file cannot be read or is not a recipe.
    """
    content = read_toml(path)
    override(content, overrides or {})
    return validated_after(overrides or {}, _AnyRecipe, content, path).root


def make(
    recipe: str | Path,
    *,
    counts: Counting = "sample",
    seed: int | None = None,
    overrides: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Made:
    """Return the population, individuals, genealogy or external resource of a recipe.

    Parameters
    ----------
    recipe : str or Path
    counts : {"sample", "expected"}
    seed : int, optional
        See `load_population`.
    overrides : mapping of str to object, optional
        Values by key path that replace the recipe's, such as ``{"people.generations": 5}``.
    progress : callable, optional
        Called with the task, the number of completed steps and their total number; only for genealogies.

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used, or a seed or overrides are given for a Parquet file.
    """
    path = resolve(recipe, "populations", "population recipe")
    if path.suffix == ".parquet" and (overrides or seed is not None):
        raise InputError(
            "the population file is final: its seed and keys cannot change", source=path, expected="a recipe (TOML)"
        )
    return _Maker(counts, progress).make(path, seed, overrides)


@dataclass(frozen=True)
class _Maker:
    """Makes the results of recipes.

    `needed_by` lists the recipes that led to the current one, outermost first.
    """

    counts: Counting
    progress: Progress | None
    needed_by: tuple[Path, ...] = ()

    def make(self, path: Path, seed: int | None = None, overrides: Mapping[str, object] | None = None) -> Made:
        if path.suffix == ".parquet":
            return read_genealogy(path) if is_genealogy(path) else read_population_file(path)
        recipe = recipe_of(path, overrides)
        with locating(path):
            return self._made(recipe, path, seed)

    def _made(self, recipe: Recipe, path: Path, seed: int | None) -> Made:
        folder, name, expected = path.parent, path.stem, self.counts == "expected"
        if isinstance(recipe, Sf1Recipe):
            return sf1_population(recipe, folder, name=name)
        if isinstance(recipe, VoterFileRecipe):
            # Only the categories of this population are used, so a sample suffices even for expected counts.
            drawn = replace(self, counts="sample")
            within = None if recipe.population is None else drawn._cells(recipe.population, path).domain
            return voter_file_population(recipe, folder, within, name=name)
        own = recipe.seed if seed is None else seed
        if isinstance(recipe, CountsRecipe):
            return counted_population(recipe, folder, name=name, seed=own)
        if isinstance(recipe, CensusCellsRecipe):
            return census_population(recipe, folder, name=name, expected=expected, seed=own)
        if isinstance(recipe, AttributeModelRecipe):
            return attribute_model_population(recipe, folder, name=name, expected=expected, seed=own)
        if isinstance(recipe, FittedRecipe):
            named = None if recipe.start is None else recipe.start.population
            start = None if named is None else self._cells(named, path)
            return fitted_population(recipe, start, folder, name=name, expected=expected, seed=own)
        if isinstance(recipe, GenealogyRecipe):
            return genealogy_of(recipe.model_copy(update={"seed": own}), folder, name=name, progress=self.progress)
        if isinstance(recipe, VoterListRecipe):
            people = self._cells(recipe.population, path)
            return voter_list_population(recipe, people, folder, name=name, expected=expected, seed=own)
        # A separate random stream: a population drawn with the same seed does not reveal the people in the list.
        rng = np.random.default_rng(np.random.SeedSequence(own, spawn_key=tuple(recipe.kind.encode())))
        if isinstance(recipe, RegistryRecipe):
            people = self._cells(recipe.population, path)
            return draw_registry(people, recipe.size, rng, name=name, source=recipe.source)
        world = as_individuals(replace(self, counts="sample")._named(recipe.population, path))
        return resource_of(recipe, world, rng, name=name)

    def _named(self, recipe: str, by: Path) -> Made:
        """Return the result of another recipe, which the recipe at the path `by` names."""
        path = resolve(recipe, "populations", "population recipe", base=by.parent)
        needed_by = (*self.needed_by, by.resolve())
        if path.resolve() in needed_by:
            raise InputError("the recipe needs itself", where="population", found=recipe)
        return replace(self, needed_by=needed_by).make(path)

    def _cells(self, recipe: str, by: Path) -> Population:
        made = self._named(recipe, by)
        return made if isinstance(made, Population) else as_individuals(made).population()
