"""Populations by name: bundled recipes and the user's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import RootModel

from reidsim.bundled import resolve
from reidsim.errors import InputError
from reidsim.populations.census_cells import census_population
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.populations.recipe import CensusCellsRecipe, CountsRecipe, Recipe, RegistryRecipe, VoterFileRecipe
from reidsim.populations.registry import draw_registry
from reidsim.populations.sf1 import sf1_population
from reidsim.populations.voter_file import read_voter_file
from reidsim.tables import numbers, read_table, require_columns
from reidsim.validation import read_toml, validated


class _AnyRecipe(RootModel[Recipe]):
    """A recipe of any kind, told apart by its key ``kind``."""


def load_population(
    recipe: str | Path, *, counts: Literal["sample", "expected"] = "sample", seed: int | None = None
) -> Population:
    """Make the population of a recipe.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, such as ``"tennessee-2010"``, or a TOML file.
    counts : {"sample", "expected"}
        Whether a recipe of probabilities is drawn, in whole people, or kept as expected counts. A recipe of counts is
        the same either way; a registry is drawn, from whole people only.
    seed : int, optional
        Of the draw (the recipe's own, if not given). The population that a registry is drawn from keeps its own.

    Returns
    -------
    Population

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used.
    """
    return _load(resolve(recipe, "populations", "population recipe"), counts=counts, seed=seed)


def _load(
    path: Path, *, counts: Literal["sample", "expected"], seed: int | None = None, needed_by: tuple[Path, ...] = ()
) -> Population:
    """Make the population of a recipe; `needed_by` are the recipes that name it, each named by the one before."""
    content = validated(_AnyRecipe, read_toml(path), path).root
    try:
        if isinstance(content, CensusCellsRecipe):
            own_seed = content.seed if seed is None else seed
            return census_population(content, path.parent, name=path.stem, expected=counts == "expected", seed=own_seed)
        if isinstance(content, CountsRecipe):
            return counted_population(content, path.parent, name=path.stem)
        if isinstance(content, RegistryRecipe):
            people = _named_population(content.population, path, counts, needed_by)
            # A stream of its own, so that a population drawn with the same seed tells nothing about who is listed.
            entropy = np.random.SeedSequence(content.seed if seed is None else seed, spawn_key=tuple(b"registry"))
            rng = np.random.default_rng(entropy)
            return draw_registry(people, content.size, rng, name=path.stem, source=content.source)
        if isinstance(content, VoterFileRecipe):
            return _voters(content, path, needed_by)
        return sf1_population(content, path.parent, name=path.stem)
    except InputError as error:
        raise error.located(path) from None


def _named_population(
    recipe: str, path: Path, counts: Literal["sample", "expected"], needed_by: tuple[Path, ...]
) -> Population:
    """Make the population that the recipe in `path` names."""
    named = resolve(recipe, "populations", "population recipe", base=path.parent)
    needed_by = (*needed_by, path.resolve())
    if named.resolve() in needed_by:
        raise InputError("a recipe cannot name itself, nor one that needs it", where="population", found=recipe)
    return _load(named, counts=counts, needed_by=needed_by)


def _voters(recipe: VoterFileRecipe, path: Path, needed_by: tuple[Path, ...]) -> Population:
    within = None
    if recipe.population is not None:
        within = _named_population(recipe.population, path, "sample", needed_by).domain
    voters, report = read_voter_file(
        path.parent / recipe.file,
        statuses=recipe.statuses,
        ages_missing=recipe.ages_missing,
        within=within,
        name=path.stem,
    )
    return replace(voters, source=f"{recipe.source} ({report})")


def counted_population(recipe: CountsRecipe, folder: Path, *, name: str) -> Population:
    """Read a population counted in a CSV file; categories are the values seen, in natural order."""
    path = folder / recipe.file
    frame = read_table(path, delimiter=recipe.delimiter, comment="#")
    require_columns(frame, recipe.columns.values(), path)
    attributes = tuple(
        Attribute(attribute, natural_categories(frame[column])) for attribute, column in recipe.columns.items()
    )
    codes = np.column_stack(
        [a.encode(frame[column]) for a, column in zip(attributes, recipe.columns.values(), strict=True)]
    )
    counts = None
    if recipe.count is not None:
        require_columns(frame, [recipe.count], path)
        values = numbers(frame, recipe.count, path).to_numpy()
        if values.max(initial=0) >= 2**53:
            where = f"row {int(values.argmax()) + 1}, column {recipe.count!r}"
            found = frame[recipe.count].iloc[int(values.argmax())]
            raise InputError("count too large", source=path, where=where, found=found, expected="below 2**53")
        whole = bool((values == np.rint(values)).all())
        counts = values.astype(np.int64 if whole else np.float64)
    return Population.from_records(Domain(attributes), codes, counts, name=name, source=recipe.source)


def natural_categories(values: pd.Series[str]) -> tuple[str, ...]:
    """Return the distinct labels of a column in natural order: whole numbers by size, anything else as text."""
    labels = [str(label).strip() for label in values.unique()]
    if all(label.removesuffix("+").removeprefix("-").isdecimal() for label in labels):
        return tuple(sorted(set(labels), key=lambda label: (int(label.removesuffix("+")), label)))
    return tuple(sorted(set(labels)))
