"""Genealogies as tables and Parquet files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from reidsim.errors import InputError
from reidsim.file_sizes import require_parquet_fits
from reidsim.populations.genealogy.genealogy import Genealogy, Mutations

_KEY = b"reidsim"
_SEXES = ("F", "M")
_PLAIN = ("father", "mother", "generation", "subpopulation", "birth_year", "wealth", "rank")


def to_table(genealogy: Genealogy, made: Mapping[str, Any] | None = None) -> pa.Table:
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
        the recipe's name, engine, seed, versions and a digest of the content.
    """
    g = genealogy
    columns = {
        "individual": np.arange(len(g), dtype=np.int32),
        "father": g.father,
        "mother": g.mother,
        "sex": _labelled(g.sex, _SEXES),
        "generation": g.generation,
        "subpopulation": g.subpopulation,
        "surname": _labelled(g.surname, g.surnames),
        "birth_year": g.birth_year,
        "state": _labelled(g.state, g.states),
        "wealth": g.wealth,
        "rank": g.rank,
        **{locus: np.ascontiguousarray(g.haplotypes[:, at]) for at, locus in enumerate(g.loci)},
        "mutations": _mutation_lists(g),
    }
    packages = ("reidsim", "numpy", "numba", "simuPOP") if g.engine == "simupop" else ("reidsim", "numpy", "numba")
    about = {
        **(made or {}),
        "kind": "genealogy",
        "title": g.recipe,
        "count": None,
        # Attributes that an adversary may know; the other columns describe the pedigree.
        "attributes": ["sex", "birth_year", "state", "surname"],
        "recipe": g.recipe,
        "engine": g.engine,
        "seed": g.seed,
        "versions": {name: version(name) for name in packages},
        "loci": g.loci,
        "surnames": g.surnames,
        "states": g.states,
        "content": g.content_digest(),
    }
    return pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about)})


def is_genealogy(path: Path) -> bool:
    """Return whether a file's metadata declare a genealogy.

    The result is False for files that cannot be read.
    """
    try:
        content = json.loads((parquet.read_schema(path.absolute()).metadata or {}).get(_KEY, b"{}"))
    except (OSError, pa.ArrowException, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") == "genealogy"


def read_genealogy(path: Path) -> Genealogy:
    """Read a genealogy that ``reidsim populate`` wrote.

    Raises
    ------
    InputError
        If the file cannot be read, is not a genealogy, or its content has changed.
    """
    if not path.is_file():
        raise InputError("no such file", source=path, expected="a genealogy (Parquet)")
    require_parquet_fits(path)
    try:
        return _from_table(parquet.read_table(path.absolute()))
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise error.located(path) from None
        problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError("not a genealogy file, or damaged", source=path, found=problem) from None


def _from_table(table: pa.Table) -> Genealogy:
    about = json.loads((table.schema.metadata or {})[_KEY])
    loci, surnames, states = (tuple(about[key]) for key in ("loci", "surnames", "states"))
    n = table.num_rows
    haplotypes = np.empty((n, len(loci)), dtype=np.uint8)
    for at, locus in enumerate(loci):
        haplotypes[:, at] = table[locus].to_numpy()
    plain = {name: table[name].to_numpy() for name in _PLAIN}
    genealogy = Genealogy(
        **plain,
        sex=_codes(table["sex"], _SEXES, np.uint8),
        surname=_codes(table["surname"], surnames, np.int32),
        state=_codes(table["state"], states, np.int16),
        haplotypes=haplotypes,
        mutations=_read_mutations(table["mutations"], loci),
        surnames=surnames,
        states=states,
        loci=loci,
        recipe=about["recipe"],
        engine=about["engine"],
        seed=about["seed"],
    )
    if genealogy.content_digest() != about["content"]:
        raise InputError("the file has changed since it was written")
    return genealogy


def _labelled(codes: NDArray[Any], names: tuple[str, ...]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string()))


def _codes(column: pa.ChunkedArray, names: tuple[str, ...], dtype: type[np.generic]) -> NDArray[Any]:
    # A Parquet file stores only the labels that occur, in a different order.
    codes = {name: code for code, name in enumerate(names)}
    labelled = column.unify_dictionaries().combine_chunks()
    code_of = np.array([codes[name] for name in labelled.dictionary.to_pylist()], dtype=dtype)
    return np.asarray(code_of[labelled.indices.to_numpy()])


def _mutation_lists(genealogy: Genealogy) -> pa.ListArray:
    mutations = genealogy.mutations
    offsets = np.zeros(len(genealogy) + 1, dtype=np.int32)
    np.cumsum(np.bincount(mutations.individual, minlength=len(genealogy)), out=offsets[1:])
    loci = pa.array(genealogy.loci, pa.string()).take(pa.array(mutations.locus))
    steps = pa.StructArray.from_arrays(
        [loci, pa.array(mutations.before), pa.array(mutations.after)], names=["locus", "before", "after"]
    )
    return pa.ListArray.from_arrays(pa.array(offsets), steps)


def _read_mutations(column: pa.ChunkedArray, loci: tuple[str, ...]) -> Mutations:
    lists = column.combine_chunks()
    per_individual = np.diff(lists.offsets.to_numpy())
    locus, before, after = lists.flatten().flatten()
    code_of = {name: code for code, name in enumerate(loci)}
    return Mutations(
        individual=np.repeat(np.arange(len(lists), dtype=np.int32), per_individual),
        locus=np.array([code_of[name] for name in locus.to_pylist()], dtype=np.int16),
        before=before.to_numpy(),
        after=after.to_numpy(),
    )
