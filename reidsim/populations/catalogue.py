"""Make populations from bundled and users' recipes, load and write them."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import RootModel

from reidsim.core.bundled import resolve
from reidsim.core.errors import InputError, locating, refuse_first
from reidsim.core.validation import override, read_toml, validated, validated_after
from reidsim.populations.census import largest_remainders
from reidsim.populations.files import (
    METADATA_KEY,
    Counting,
    Made,
    Recipe,
    genealogy_table,
    population_table,
    read_population_file,
    require_new_file,
    write_table,
)
from reidsim.populations.genealogy.genealogy import (
    Genealogy,
    Progress,
    genealogy_individuals,
)
from reidsim.populations.genealogy.recipe import Engine, GenealogyRecipe
from reidsim.populations.population import Individuals, Population
from reidsim.populations.recipe import Making
from reidsim.populations.resources import ExternalResource

_RECORDED_VERSIONS = ("reidsim", "numpy", "pyarrow")
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
        If the recipe or one of its files cannot be used, or a seed is given for a Parquet file.

    See Also
    --------
    populate : write the population of a recipe.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.load_population("tennessee-2010", counts="expected").total
    6346105.0
    """
    made = make(recipe, counts=counts, seed=seed)
    if isinstance(made, Population):
        return made
    people = as_individuals(made)
    return (people.select(_COUNTED_TRAITS) if isinstance(made, Genealogy) else people).population()


def load_individuals(recipe: str | Path, *, seed: int | None = None) -> Individuals:
    """Return the `Individuals` of a recipe, with one row per person.

    For an external resource, these are its records. For the parameters see `load_population`.

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used, a file has expected counts, or the rows do not fit into
        memory.
    """
    return as_individuals(make(recipe, seed=seed))


def load_resource(recipe: str | Path, *, seed: int | None = None) -> ExternalResource:
    """Return the `ExternalResource` of a recipe of kind ``resource``.

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
    """Return the result of a recipe as `Individuals`, with one row per person.

    For an external resource, there is one row per record.

    Raises
    ------
    InputError
        If the result is a population of expected counts, or the rows do not fit into memory.
    """
    if isinstance(made, Population):
        return Individuals.from_population(made)
    if isinstance(made, Genealogy):
        return genealogy_individuals(made)
    return made.records if isinstance(made, ExternalResource) else made


def recipe_of(path: Path, overrides: Mapping[str, object] | None = None) -> Recipe:
    """Return a parsed recipe, an instance of one of the classes in `Recipe`.

    Its population is not made.

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
    needed_by: tuple[Path, ...] = (),
) -> Made:
    """Return the population, individuals, genealogy or external resource of a recipe.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, a TOML file, or a Parquet file that ``reidsim populate`` wrote.
    counts : {"sample", "expected"}
        Whether a recipe with probabilities is drawn as a sample of people or returned as expected counts; see
        `load_population`.
    seed : int, optional
        Seed of the draw; default: the recipe's seed.
    overrides : mapping of str to object, optional
        Values by key path that replace the recipe's, such as ``{"people.generations": 5}``.
    progress : callable, optional
        Called with the task, the number of completed steps and their total number; only for genealogies.
    needed_by : tuple of Path
        Recipes that led to this one, outermost first; used to detect a recipe that needs itself.

    Returns
    -------
    Population, Individuals, Genealogy or ExternalResource
        The class depends on the kind of recipe, or on the content of the Parquet file.

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used, the recipe needs itself, or a seed or overrides are given for
        a Parquet file.
    """
    path = resolve(recipe, "populations", "population recipe")
    if path.suffix == ".parquet":
        if overrides or seed is not None:
            problem = "the population file is final: its seed and keys cannot change"
            raise InputError(problem, source=path, expected="a recipe (TOML)")
        return read_population_file(path)

    def other(named: str, expected: bool) -> Population | Individuals:
        beside, here = (
            resolve(named, "populations", "population recipe", base=path.parent),
            (*needed_by, path.resolve()),
        )
        refuse_first((beside.resolve() in here, "the recipe needs itself", "population", named, None))
        made = make(beside.absolute(), counts="expected" if expected else "sample", progress=progress, needed_by=here)
        return made if isinstance(made, Population) else as_individuals(made)

    parsed = recipe_of(path, overrides)
    own = getattr(parsed, "seed", 0) if seed is None else seed
    with locating(path):
        return parsed.make(Making(path.parent, path.stem, own, counts == "expected", other, progress))


def make_genealogy(
    recipe: str | Path,
    *,
    seed: int | None = None,
    engine: Engine | None = None,
    people: int | None = None,
    generations: int | None = None,
    progress: Progress | None = None,
) -> Genealogy:
    """Return the genealogy of a recipe.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, such as ``"ystr-genealogy"``, or a TOML file.
    seed : int, optional
        Default: the recipe's seed.
    engine : {"vectorised", "simupop"}, optional
        Default: the recipe's engine. Both engines follow the same rules, but draw differently from the same seed.
    people : int, optional
        Number of people per generation, divided among subpopulations in the recipe's proportions; default: the recipe's
        numbers.
    generations : int, optional
        Number of generations, including the founders; default: the recipe's number.
    progress : callable, optional
        Called as ``progress(task, generations done, generations)``.

    Returns
    -------
    Genealogy

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used, simuPOP is required but not installed, no couple is possible,
        or the genealogy does not fit into memory.
    """
    path = resolve(recipe, "populations", "population recipe")
    content = read_toml(path)
    changes = {"seed": seed, "engine": engine, "people.generations": generations}
    override(content, {key: value for key, value in changes.items() if value is not None})
    parsed = validated(GenealogyRecipe, content, path)
    if people is not None:
        sizes = np.array(parsed.people.subpopulations)
        shares = (sizes / sizes.sum())[None, :]
        content["people"]["subpopulations"] = largest_remainders(np.array([float(people)]), shares)[0].tolist()
        parsed = validated(GenealogyRecipe, content, path)
    with locating(path):
        return parsed.make(Making(path.parent, path.stem, parsed.seed, progress=progress))


@dataclass(frozen=True)
class PopulationFile:
    """A file with a population.

    Parameters
    ----------
    path : Path
        Path of the file.
    rows : int
        Number of rows of the table.
    people : float
        Number of people in all rows.
    truth : Path, optional
        File with the true links of an external resource: the population row of each record's person.
    """

    path: Path
    rows: int
    people: float
    truth: Path | None = None


def populate(
    recipe: str | Path,
    output: str | Path,
    *,
    counts: Counting = "sample",
    seed: int | None = None,
    overrides: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> PopulationFile:
    """Write the population of a recipe as a Parquet file; return a `PopulationFile`.

    Its metadata hold the recipe, seed and versions; for an external resource, only the recipe's name, the versions,
    the price and the buyers.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, or a TOML file.
    output : str or Path
        New file with suffix ``.parquet``. The true links of an external resource are not in this file; they are written
        to ``NAME.truth.parquet`` in the same folder.
    counts : {"sample", "expected"}
        Whether people are drawn or expected counts are written; the latter only for recipes that have them.
    seed : int, optional
        Seed of the draw. Default: the recipe's seed.
    overrides : mapping of str to object, optional
        Values by key path that replace the recipe's.
    progress : callable, optional
        See `make`.

    Raises
    ------
    InputError
        If the recipe cannot be used, is a population file, or has no expected counts though these are requested; if the
        output has another suffix, or it or its ``.truth.parquet`` exists; or if a file cannot be written.

    See Also
    --------
    load_population : the population of a recipe, in memory.

    Examples
    --------
    >>> import reidsim
    >>> written = reidsim.populate("tennessee-2010", "tennessee.parquet", counts="expected")
    >>> reidsim.load_population("tennessee.parquet").total
    6346105.0
    """
    output = Path(output)
    if output.suffix != ".parquet":
        problem, expected = "populations are written in Parquet format only", "a file name that ends in .parquet"
        raise InputError(problem, source=output, expected=expected)
    truth = output.with_suffix(".truth.parquet")
    require_new_file(output)
    require_new_file(truth)
    path = resolve(recipe, "populations", "population recipe")
    if path.suffix == ".parquet":
        raise InputError("the input is already a population file", source=path, expected="a recipe (TOML)")
    made = make(path, counts=counts, seed=seed, overrides=overrides, progress=progress)
    if counts == "expected" and not (isinstance(made, Population) and made.counts.dtype == np.float64):
        raise InputError("the recipe has no expected counts", source=path, hint="remove --expected")
    content = read_toml(path)
    override(content, overrides or {})
    # They determine the population.
    about: dict[str, Any] = {
        "recipe": path.stem,
        "content": content,
        "counts": counts,
        "seed": content.get("seed") if seed is None else seed,
        "engine": content.get("engine"),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _RECORDED_VERSIONS}},
    }
    if isinstance(made, Genealogy):
        table = genealogy_table(made, about)
    elif isinstance(made, ExternalResource):
        # With recipe, seed and the population, an adversary could reproduce the true links, so both are omitted.
        disclosed = {key: about[key] for key in ("recipe", "versions")}
        table = population_table(made.records, {**disclosed, "price": made.price, "buyers": list(made.buyers)})
    else:
        table = population_table(made, about)
    write_table(output, table)
    people = made.total if isinstance(made, Population) else float(table.num_rows)
    if not isinstance(made, ExternalResource):
        return PopulationFile(output, table.num_rows, people)
    links = pa.table({"record": np.arange(len(made.person)), "person": made.person})
    about_links = json.dumps({**about, "kind": "truth"}).encode()
    try:
        write_table(truth, links.replace_schema_metadata({METADATA_KEY: about_links}))
    except BaseException:
        output.unlink()
        raise
    return PopulationFile(output, table.num_rows, people, truth)
