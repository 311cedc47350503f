"""Populations by name: bundled recipes and the user's own."""

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
from reidsim.populations.genealogy.genealogy import Genealogy
from reidsim.populations.genealogy.genealogy_file import is_genealogy, read_genealogy
from reidsim.populations.genealogy.make import genealogy_of
from reidsim.populations.genealogy.people import genealogy_individuals
from reidsim.populations.genealogy.recipe import GenealogyRecipe
from reidsim.populations.individuals import Individuals
from reidsim.populations.population import Population
from reidsim.populations.recipe import CensusCellsRecipe, CountsRecipe, RegistryRecipe, Sf1Recipe, VoterFileRecipe
from reidsim.populations.registry import draw_registry
from reidsim.populations.resources import ExternalResource, ResourceRecipe, resource_of
from reidsim.populations.sf1 import sf1_population
from reidsim.populations.voter_file import read_voter_file
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
# What a recipe makes, before anything is counted.
Made = Population | Individuals | Genealogy | ExternalResource
Counting = Literal["sample", "expected"]
Progress = Callable[[str, int, int], None]

# Of a genealogy, what its people are counted by.
_COUNTED_TRAITS = ("sex", "birth_year", "state", "surname")


class _AnyRecipe(RootModel[Recipe]):
    """A recipe of any kind, told apart by its key ``kind``."""


def load_population(recipe: str | Path, *, counts: Counting = "sample", seed: int | None = None) -> Population:
    """Make the population of a recipe, counted by cell.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, such as ``"tennessee-2010"``, a TOML file, or a Parquet file that
        ``reidsim populate`` wrote.
    counts : {"sample", "expected"}
        Whether a recipe of probabilities is drawn, in whole people, or kept as expected counts. A recipe of counts is
        the same either way; registries and genealogies are drawn.
    seed : int, optional
        Of the draw (the recipe's own, if not given). The population that a registry is drawn from keeps its own.

    Returns
    -------
    Population
        Of a genealogy, over sex, birth year, state and surname.

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used.
    """
    made = make(recipe, counts=counts, seed=seed)
    if isinstance(made, Population):
        return made
    if isinstance(made, Genealogy):
        return genealogy_individuals(made).select(_COUNTED_TRAITS).population()
    return (made.records if isinstance(made, ExternalResource) else made).population()


def load_individuals(recipe: str | Path, *, seed: int | None = None) -> Individuals:
    """Make the population of a recipe, one row per person; see `load_population`."""
    return as_individuals(make(recipe, seed=seed))


def load_resource(recipe: str | Path, *, seed: int | None = None) -> ExternalResource:
    """Make the external resource of a recipe of kind ``resource``; see `load_population`."""
    made = make(recipe, seed=seed)
    if not isinstance(made, ExternalResource):
        raise InputError("not a recipe of an external resource", source=recipe, expected='kind = "resource"')
    return made


def recipe_of(path: Path) -> Recipe:
    """Read a recipe without making what it describes.

    Raises
    ------
    InputError
        If the file cannot be read or is no recipe.
    """
    return validated_after({}, _AnyRecipe, read_toml(path), path).root


def make(
    recipe: str | Path,
    *,
    counts: Counting = "sample",
    seed: int | None = None,
    overrides: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Made:
    """Make what a recipe describes: a population, individuals, a genealogy or an external resource.

    Parameters
    ----------
    recipe : str or Path
    counts : {"sample", "expected"}
    seed : int, optional
        See `load_population`.
    overrides : mapping of str to object, optional
        Values by key path that replace the recipe's, such as ``{"people.generations": 5}``.
    progress : callable, optional
        Called with what is being done, how much is done and how much there is.
    """
    path = resolve(recipe, "populations", "population recipe")
    if path.suffix == ".parquet":
        if overrides or seed is not None:
            raise InputError("made already", source=path, expected="a recipe, where a seed or keys are to be changed")
        return _read(path)
    return _RecipeFile(path, counts, progress).make(seed, overrides or {})


@dataclass(frozen=True)
class _RecipeFile:
    """A recipe to be made; `needed_by` are the recipes that name it, each named by the one before."""

    path: Path
    counts: Counting
    progress: Progress | None
    needed_by: tuple[Path, ...] = ()

    def make(self, seed: int | None, changes: Mapping[str, object]) -> Made:
        content = read_toml(self.path)
        override(content, changes)
        recipe = validated_after(changes, _AnyRecipe, content, self.path).root
        with locating(self.path):
            return self._made(recipe, seed)

    def _made(self, recipe: Recipe, seed: int | None) -> Made:
        folder, name, expected = self.path.parent, self.path.stem, self.counts == "expected"
        if isinstance(recipe, Sf1Recipe):
            return sf1_population(recipe, folder, name=name)
        if isinstance(recipe, VoterFileRecipe):
            return self._voters(recipe)
        own = recipe.seed if seed is None else seed
        if isinstance(recipe, CountsRecipe):
            return counted_population(recipe, folder, name=name, seed=own)
        if isinstance(recipe, CensusCellsRecipe):
            return census_population(recipe, folder, name=name, expected=expected, seed=own)
        if isinstance(recipe, AttributeModelRecipe):
            return attribute_model_population(recipe, folder, name=name, expected=expected, seed=own)
        if isinstance(recipe, FittedRecipe):
            named = None if recipe.start is None else recipe.start.population
            start = None if named is None else self._cells(named)
            return fitted_population(recipe, start, folder, name=name, expected=expected, seed=own)
        if isinstance(recipe, GenealogyRecipe):
            return genealogy_of(recipe, folder, name=name, seed=own, progress=self.progress)
        if isinstance(recipe, VoterListRecipe):
            people = self._cells(recipe.population)
            return voter_list_population(recipe, people, folder, name=name, expected=expected, seed=own)
        # A stream of its own, so that a population drawn with the same seed tells nothing about who is listed.
        rng = np.random.default_rng(np.random.SeedSequence(own, spawn_key=tuple(recipe.kind.encode())))
        if isinstance(recipe, RegistryRecipe):
            return draw_registry(self._cells(recipe.population), recipe.size, rng, name=name, source=recipe.source)
        return resource_of(recipe, as_individuals(self._named(recipe.population, "sample")), rng, name=name)

    def _named(self, recipe: str, counts: Counting) -> Made:
        """Make what another recipe, named in this one, describes."""
        named = resolve(recipe, "populations", "population recipe", base=self.path.parent)
        if named.suffix == ".parquet":
            return _read(named)
        needed_by = (*self.needed_by, self.path.resolve())
        if named.resolve() in needed_by:
            raise InputError("a recipe cannot name itself, nor one that needs it", where="population", found=recipe)
        return _RecipeFile(named, counts, self.progress, needed_by).make(None, {})

    def _cells(self, recipe: str, counts: Counting | None = None) -> Population:
        made = self._named(recipe, counts or self.counts)
        return made if isinstance(made, Population) else as_individuals(made).population()

    def _voters(self, recipe: VoterFileRecipe) -> Population:
        # Only its categories matter, so it need not be expected counts, which not every recipe has.
        within = None if recipe.population is None else self._cells(recipe.population, "sample").domain
        voters, report = read_voter_file(
            self.path.parent / recipe.file,
            statuses=recipe.statuses,
            ages_missing=recipe.ages_missing,
            within=within,
            name=self.path.stem,
        )
        return replace(voters, source=f"{recipe.source} ({report})")


def _read(path: Path) -> Made:
    """Read what `reidsim populate` wrote."""
    return read_genealogy(path) if is_genealogy(path) else read_population_file(path)


def as_individuals(made: Made) -> Individuals:
    """Return what a recipe made as one row per person; of an external resource, per record."""
    if isinstance(made, Population):
        return Individuals.of(made)
    if isinstance(made, Genealogy):
        return genealogy_individuals(made)
    return made.records if isinstance(made, ExternalResource) else made
