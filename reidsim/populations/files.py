"""Read and write the Parquet files of ``reidsim populate``.

Files appear only when they are complete.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.domain import Attribute, Codes, Domain
from reidsim.populations.individuals import Individuals
from reidsim.populations.population import Population
from reidsim.populations.sampling import UNKNOWN
from reidsim.tables import read_parquet

COUNT = "count"
METADATA_KEY = b"reidsim"


def cells_table(population: Population, made: Mapping[str, Any]) -> pa.Table:
    """Return a population as a table of labels by cell, with a column ``count``.

    Raises
    ------
    InputError
        If an attribute is named ``count``.
    """
    domain = population.domain
    if COUNT in domain.names:
        raise InputError("attribute name reserved for the column of counts", where=population.name, found=COUNT)
    columns = {**_label_columns(domain, population.cells), COUNT: pa.array(population.counts)}
    return _described(pa.table(columns), "cells", domain, population.name, population.source, {**made, "count": COUNT})


def individuals_table(people: Individuals, made: Mapping[str, Any]) -> pa.Table:
    """Return a table of the labels of people, one row per person.

    Missing values are null.
    """
    table = pa.table(_label_columns(people.domain, people.codes))
    return _described(table, "individuals", people.domain, people.name, people.source, {**made, "count": None})


def write_table(path: Path, table: pa.Table) -> None:
    """Write a new Parquet file so that it appears complete or not at all.

    Raises
    ------
    InputError
        If the path exists, or the file cannot be written.
    """

    def write(unfinished: str) -> None:
        pq.write_table(table, unfinished, compression="zstd")
        # Populations made by recipes contain no personal data, so the file gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(unfinished, 0o666 & ~mask)

    require_new_file(path)
    _replace(path, write)


def write_new_file(path: Path, content: bytes) -> None:
    """Write a new file that appears complete or not at all.

    It is readable only by its owner.

    Raises
    ------
    InputError
        If the path exists, or the file cannot be written.
    """
    require_new_file(path)
    _replace(path, lambda unfinished: Path(unfinished).write_bytes(content))


def unfinished_beside(path: Path, write: Callable[[str], object], ending: str = "") -> str:
    """Write a temporary file beside `path` and return its name.

    It is readable only by its owner.

    Parameters
    ----------
    path : Path
    write : callable
        Called with the name of the temporary file; writes its content.
    ending : str
        Suffix of the temporary file's name.

    Raises
    ------
    OSError
        If the file cannot be written; no file remains.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(prefix=f".{path.name}-", suffix=ending, dir=path.parent)
    os.close(handle)
    try:
        write(unfinished)
        with open(unfinished, "rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        # pyarrow itself may have removed a file that it could not finish.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise
    return unfinished


def not_written(path: Path, error: OSError) -> InputError:
    """Return the error for a file that cannot be written."""
    if error.errno == errno.ENOSPC:
        return InputError("the disk is full; nothing was written", source=path)
    return InputError(f"cannot be written: {error.strerror or error}", source=path)


def _replace(path: Path, write: Callable[[str], object]) -> None:
    """Write a temporary file and move it to a path."""
    try:
        unfinished = unfinished_beside(path, write)
        try:
            os.replace(unfinished, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unfinished)
    except OSError as error:
        raise not_written(path, error) from None


def require_new_file(path: Path) -> None:
    """Check that a file does not exist and its folder can be created.

    This is checked before the computation starts.

    Raises
    ------
    InputError
        If the path exists, or a folder above it is a file.
    """
    if path.exists() or path.is_symlink():
        raise InputError("exists already", source=path, expected="a new file: nothing is overwritten")
    above = next((folder for folder in path.absolute().parents if folder.exists()), None)
    if above is not None and not above.is_dir():
        raise InputError("is a file", source=above, expected="a folder")


def read_population_file(path: Path) -> Population | Individuals:
    """Return the population in a file from ``reidsim populate``.

    Raises
    ------
    InputError
        If the file cannot be read, or was not written by ``reidsim populate``.
    """
    table = read_parquet(path)
    content = population_metadata(table.schema)
    if content is None:
        hint = 'to read any Parquet file, use a recipe with kind = "counts"'
        raise InputError("the file was not written by reidsim populate", source=path, hint=hint)
    try:
        domain = Domain(tuple(Attribute(name, tuple(content["categories"][name])) for name in content["attributes"]))
        columns = [_codes_of(table.column(attribute.name), attribute) for attribute in domain.attributes]
        codes = np.column_stack(columns).astype(np.int32)
        name, source = str(content["title"]), str(content["source"])
        if content["kind"] == "cells":
            return Population(domain, codes, table.column(COUNT).to_numpy(), name=name, source=source)
        return Individuals(domain, codes, name=name, source=source)
    except (KeyError, TypeError) as error:
        raise InputError("metadata and columns of the file do not match", source=path, found=str(error)) from None
    except InputError as error:
        raise error.located(path) from None


def population_metadata(schema: pa.Schema) -> dict[str, Any] | None:
    """Return the metadata of a file from ``reidsim populate``; None for other files."""
    text = (schema.metadata or {}).get(METADATA_KEY)
    try:
        content = json.loads(text) if text is not None else None
    except ValueError:
        return None
    return content if isinstance(content, dict) and "kind" in content else None


def _label_columns(domain: Domain, codes: Codes) -> dict[str, pa.DictionaryArray]:
    return {
        attribute.name: pa.DictionaryArray.from_arrays(
            pa.array(codes[:, position], mask=codes[:, position] == UNKNOWN), pa.array(attribute.categories)
        )
        for position, attribute in enumerate(domain.attributes)
    }


def _described(table: pa.Table, kind: str, domain: Domain, name: str, source: str, made: Mapping[str, Any]) -> pa.Table:
    content = {
        "kind": kind,
        "title": name,
        "source": source,
        "attributes": list(domain.names),
        # Stored as metadata, because a Parquet column does not keep categories without people.
        "categories": {attribute.name: list(attribute.categories) for attribute in domain.attributes},
        **made,
    }
    return table.replace_schema_metadata({METADATA_KEY: json.dumps(content).encode()})


def _codes_of(column: pa.ChunkedArray, attribute: Attribute) -> NDArray[np.int32]:
    values = column.cast(pa.string()).combine_chunks()
    codes = attribute.labels.get_indexer(values.to_pandas().astype("str"))
    present = np.asarray(values.is_valid())
    if (codes[present] < 0).any():
        raise InputError("value outside the categories in the metadata of the file", where=f"column {attribute.name!r}")
    return np.where(present, codes, UNKNOWN).astype(np.int32)
