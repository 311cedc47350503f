"""Make populations from bundled and users' recipes, load and write them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import Field, RootModel

from reidsim.core.errors import InputError, locating, refuse_first
from reidsim.core.files import read_toml, require_new_file, require_parquet_fits, resolve, write_new_file
from reidsim.core.tables import read_parquet
from reidsim.core.validation import override, validated, validated_after
from reidsim.populations.census import (
    CensusCellsRecipe,
    Sf1Recipe,
    VoterFileRecipe,
    VoterListRecipe,
    largest_remainders,
)
from reidsim.populations.counted import AttributeModelRecipe, CountsRecipe, FittedRecipe
from reidsim.populations.genealogy.genealogy import (
    COLUMN_TYPES,
    SEXES,
    Columns,
    Engine,
    Genealogy,
    GenealogyRecipe,
    Mutations,
    Progress,
    genealogy_individuals,
)
from reidsim.populations.population import UNKNOWN, Domain, Individuals, Making, Population
from reidsim.populations.resources import ExternalResource, RegistryRecipe, ResourceRecipe

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


COUNT = "count"
METADATA_KEY = b"reidsim"


def population_table(people: Population | Individuals, made: Mapping[str, Any]) -> pa.Table:
    """Return people as a pyarrow table of labels, one column per attribute.

    A `Population` has one row per cell and a column ``count``; `Individuals` have one row per person. Missing values
    are null. The metadata describe the people and hold the entries of `made`.

    Raises
    ------
    InputError
        If an attribute of a population counted by cell is named ``count``.
    """
    domain, is_counted = people.domain, isinstance(people, Population)
    codes = people.cells if isinstance(people, Population) else people.codes
    columns: dict[str, Any] = {
        each.name: _labelled(codes[:, at], each.categories) for at, each in enumerate(domain.attributes)
    }
    if isinstance(people, Population):
        refuse_first((COUNT in columns, "attribute name reserved for the column of counts", people.name, COUNT, None))
        columns[COUNT] = people.counts
    content = {
        "kind": "cells" if is_counted else "individuals",
        "title": people.name,
        "source": people.source,
        "attributes": list(domain.names),
        # Stored as metadata, because a Parquet column does not keep categories without people.
        "categories": {attribute.name: list(attribute.categories) for attribute in domain.attributes},
        **made,
        "count": COUNT if is_counted else None,
    }
    return pa.table(columns).replace_schema_metadata({METADATA_KEY: json.dumps(content).encode()})


def genealogy_table(genealogy: Genealogy, made: Mapping[str, Any] | None = None) -> pa.Table:
    """Return a genealogy as a table with one row per individual.

    Parameters
    ----------
    genealogy : Genealogy
        Genealogy to store.
    made : mapping, optional
        Further metadata; the keys that this function sets take precedence.

    Returns
    -------
    pyarrow.Table
        Columns ``individual`` (row number), ``father``, ``mother`` (-1 for founders), ``sex`` (F, M), ``generation``,
        ``subpopulation``, ``surname``, ``birth_year``, ``state``, ``wealth``, ``rank``, one column per locus (0 for
        women) and ``mutations`` (lists of locus, allele before and allele after; see `Mutations`). The metadata hold
        the recipe's name, engine, seed, versions.
    """
    g, steps = genealogy, genealogy.mutations
    labels = {"sex": SEXES, "surname": g.surnames, "state": g.states}
    columns: dict[str, Any] = {"individual": np.arange(len(g), dtype=np.int32)}
    for name in Columns._fields[:-1]:
        columns[name] = _labelled(getattr(g, name), labels[name]) if name in labels else getattr(g, name)
    columns |= {locus: np.ascontiguousarray(g.haplotypes[:, at]) for at, locus in enumerate(g.loci)}
    ends = np.cumsum(np.bincount(steps.individual, minlength=len(g)))
    each = pa.StructArray.from_arrays(
        [pa.array(g.loci, pa.string()).take(pa.array(steps.locus)), pa.array(steps.before), pa.array(steps.after)],
        names=["locus", "before", "after"],
    )
    columns["mutations"] = pa.ListArray.from_arrays(pa.array(np.append(0, ends).astype(np.int32)), each)
    packages = ("reidsim", "numpy", "numba", *(("simuPOP",) if g.engine == "simupop" else ()))
    about = {
        **(made or {}),
        "kind": "genealogy",
        "title": g.recipe,
        "count": None,
        # Attributes that an adversary may know; the other columns describe the pedigree.
        "attributes": ["sex", "birth_year", "state", "surname"],
        **{name: getattr(g, name) for name in ("recipe", "engine", "seed")},
        "versions": {name: version(name) for name in packages},
        **{name: getattr(g, name) for name in ("loci", "surnames", "states")},
    }
    return pa.table(columns).replace_schema_metadata({METADATA_KEY: json.dumps(about)})


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as a new Parquet file, completely or not at all.

    Errors are those of `write_new_file`. Populations made by recipes contain no personal data, so the file gets the
    permissions of a new file (those that the umask leaves).
    """

    def write(unfinished: str) -> None:
        pq.write_table(table, unfinished, compression="zstd")
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(unfinished, 0o666 & ~mask)

    write_new_file(path, write)


def read_population_file(path: Path) -> Population | Individuals | Genealogy:
    """Return the population in a file from ``reidsim populate``.

    It is a `Population` (rows are cells), `Individuals` (rows are people) or a `Genealogy`, depending on the file's
    metadata.

    Raises
    ------
    InputError
        If the file cannot be read, or was not written by ``reidsim populate``.
    """
    require_parquet_fits(path)
    table = read_parquet(path)
    content = population_metadata(table.schema)
    if content is None:
        hint = 'to read any Parquet file, use a recipe with kind = "counts"'
        raise InputError("the file was not written by reidsim populate", source=path, hint=hint)
    try:
        if content["kind"] == "genealogy":
            return _genealogy(table, content)
        domain = Domain.from_categories({name: content["categories"][name] for name in content["attributes"]})
        codes = np.column_stack([_codes_of(table, each.name, each.categories) for each in domain.attributes])
        name, source = str(content["title"]), str(content["source"])
        if content["kind"] == "cells":
            return Population(domain, codes, table.column(COUNT).to_numpy(), name=name, source=source)
        return Individuals(domain, codes, name=name, source=source)
    except InputError as error:
        raise error.located(path) from None
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise InputError("metadata and columns of the file do not match", source=path, found=str(error)) from None


def _genealogy(table: pa.Table, about: Mapping[str, Any]) -> Genealogy:
    names: dict[str, Any] = {key: tuple(about[key]) for key in ("loci", "surnames", "states")}
    loci, labels = names["loci"], {"sex": SEXES, "surname": names["surnames"], "state": names["states"]}
    lists = table["mutations"].combine_chunks()
    locus, before, after = lists.flatten().flatten()
    mutations = Mutations(
        np.repeat(np.arange(len(lists), dtype=np.int32), np.diff(lists.offsets.to_numpy())),
        pd.Index(loci).get_indexer(locus.to_pylist()).astype(np.int16),
        before.to_numpy(),
        after.to_numpy(),
    )
    columns: dict[str, Any] = {"haplotypes": np.column_stack([table[locus].to_numpy() for locus in loci])}
    # The last field, the haplotypes, has no type in `COLUMN_TYPES`.
    for name, dtype in zip(Columns._fields, COLUMN_TYPES, strict=False):
        codes = _codes_of(table, name, labels[name]) if name in labels else table[name].to_numpy()
        columns[name] = codes.astype(dtype, copy=False)
    made = {key: about[key] for key in ("recipe", "engine", "seed")}
    return Genealogy(**columns, mutations=mutations, **names, **made)


def population_metadata(schema: pa.Schema) -> dict[str, Any] | None:
    """Return the metadata of a file from ``reidsim populate``, as a dict.

    `schema` is the schema of the Parquet file. The result is None for other files.
    """
    try:
        content = json.loads((schema.metadata or {}).get(METADATA_KEY, "null"))
    except ValueError:
        return None
    return content if isinstance(content, dict) and "kind" in content else None


def _labelled(codes: NDArray[Any], labels: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes == UNKNOWN), pa.array(labels, pa.string()))


def _codes_of(table: pa.Table, name: str, labels: Sequence[str]) -> NDArray[np.int32]:
    """Return the codes of a column of labels, shape (n_rows,); -1 for a missing value.

    A code is a position in `labels`.

    Raises
    ------
    InputError
        If the column has a label that is not in `labels`.
    """
    # A Parquet file stores only the labels that occur, in a different order.
    column: pd.Series[Any] = table.column(name).to_pandas().astype("category").cat.set_categories(list(labels))
    codes: NDArray[np.int32] = np.asarray(column.cat.codes, dtype=np.int32)
    problem, lost = "value outside the categories in the metadata of the file", (codes == UNKNOWN).sum()
    refuse_first((lost > table.column(name).null_count, problem, f"column {name!r}", None, None))
    return codes


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
    if isinstance(made, Genealogy):
        people = people.select(("sex", "birth_year", "state", "surname"))
    return people.population()


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
        problem = "the population file is final: its seed and keys cannot change"
        refuse_first((overrides or seed is not None, problem, None, None, "a recipe (TOML)"), source=path)
        return read_population_file(path)

    def other(named: str, expected: bool) -> Population | Individuals:
        beside = resolve(named, "populations", "population recipe", base=path.parent)
        here = (*needed_by, path.resolve())
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
        sizes = np.array([parsed.people.subpopulations])
        rounded = largest_remainders(np.array([float(people)]), sizes / sizes.sum())
        content["people"]["subpopulations"] = rounded[0].tolist()
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
        Whether people are drawn or expected counts are written; only some recipes have expected counts.
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
    problem, expected = "populations are written in Parquet format only", "a file name that ends in .parquet"
    refuse_first((output.suffix != ".parquet", problem, None, None, expected), source=output)
    truth = output.with_suffix(".truth.parquet")
    require_new_file(output)
    require_new_file(truth)
    path = resolve(recipe, "populations", "population recipe")
    is_file, problem = path.suffix == ".parquet", "the input is already a population file"
    refuse_first((is_file, problem, None, None, "a recipe (TOML)"), source=path)
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
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("reidsim", "numpy", "pyarrow")},
    }
    if isinstance(made, ExternalResource):
        # With recipe, seed and the population, an adversary could reproduce the true links, so both are omitted.
        disclosed = {key: about[key] for key in ("recipe", "versions")}
        table = population_table(made.records, {**disclosed, "price": made.price, "buyers": list(made.buyers)})
    else:
        table = genealogy_table(made, about) if isinstance(made, Genealogy) else population_table(made, about)
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
