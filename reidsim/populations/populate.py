"""Write the population of a recipe to a Parquet file."""

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

from reidsim.bundled import resolve
from reidsim.errors import InputError
from reidsim.overrides import override
from reidsim.populations.catalogue import Counting, Made, Progress, make
from reidsim.populations.files import METADATA_KEY, cells_table, individuals_table, require_new_file, write_table
from reidsim.populations.genealogy.genealogy import Genealogy
from reidsim.populations.genealogy.genealogy_file import to_table
from reidsim.populations.population import Population
from reidsim.populations.resources import ExternalResource
from reidsim.validation import read_toml

_RECORDED_VERSIONS = ("reidsim", "numpy", "pyarrow")


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
    """Write the population of a recipe as a Parquet file.

    Its metadata hold the recipe, seed and versions.

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
        See `reidsim.populations.catalogue.make`.

    Raises
    ------
    InputError
        If the recipe cannot be used or has no expected counts, the file or its ``.truth.parquet`` exists, or a file
        cannot be written.
    """
    output = Path(output)
    if output.suffix != ".parquet":
        raise InputError(
            "populations are written in Parquet format only",
            source=output,
            expected="a file name that ends in .parquet",
        )
    truth = output.with_suffix(".truth.parquet")
    require_new_file(output)
    require_new_file(truth)
    path = resolve(recipe, "populations", "population recipe")
    if path.suffix == ".parquet":
        raise InputError("the input is already a population file", source=path, expected="a recipe (TOML)")
    made = make(path, counts=counts, seed=seed, overrides=overrides, progress=progress)
    if counts == "expected" and not (isinstance(made, Population) and made.counts.dtype == np.float64):
        raise InputError("the recipe has no expected counts", source=path, hint="remove --expected")
    about = _origin(path, counts, seed, overrides or {})
    table = _table(made, about)
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


def _table(made: Made, about: Mapping[str, Any]) -> pa.Table:
    if isinstance(made, Population):
        return cells_table(made, about)
    if isinstance(made, Genealogy):
        return to_table(made, about)
    if isinstance(made, ExternalResource):
        # With recipe, seed and the population, an adversary could reproduce the true links, so both are omitted.
        disclosed = {key: about[key] for key in ("recipe", "versions")}
        return individuals_table(made.records, {**disclosed, "price": made.price, "buyers": list(made.buyers)})
    return individuals_table(made, about)


def _origin(path: Path, counts: Counting, seed: int | None, changes: Mapping[str, object]) -> dict[str, Any]:
    """Return the recipe with its changes, the seed and the versions.

    They determine the population.
    """
    content = read_toml(path)
    override(content, changes)
    return {
        "recipe": path.stem,
        "content": content,
        "counts": counts,
        "seed": content.get("seed") if seed is None else seed,
        "engine": content.get("engine"),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _RECORDED_VERSIONS}},
    }
