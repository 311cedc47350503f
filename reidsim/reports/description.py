"""Describe the disclosure risk of a file of people before any attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reidsim.drafts.weights import may_name_weight, names_weight
from reidsim.errors import InputError, listed, locating, not_among, refuse_rows
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.k_anonymity import KAnonymityProfile
from reidsim.linkage.people import RowSets
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate, require_usable
from reidsim.linkage.uniqueness.of_sample import Uniqueness, uniqueness_of_sample
from reidsim.linkage.uniqueness.sample_cells import SampleCells
from reidsim.populations.domain import row_keys
from reidsim.reports.coded_file import MISSING, CodedColumn, CodedFile, read_coded_file


@dataclass(frozen=True)
class AttributeDescription:
    """Summary of an attribute of a file.

    Parameters
    ----------
    name : str
    distinct : int
        Number of distinct values that occur, without missing ones.
    missing : int
        Number of records without a value.
    """

    name: str
    distinct: int
    missing: int


@dataclass(frozen=True)
class FileDescription:
    """Content of a file, and group sizes and uniqueness of its records.

    Parameters
    ----------
    path : Path
    kind : str or None
        ``"cells"``, ``"individuals"`` or ``"genealogy"`` for a file made by reidsim; None for other files.
    title, source : str
        Title and source recorded in the file; empty if not recorded.
    rows : int
        Number of rows of the file.
    frequencies : GroupFrequencies
        Group sizes. Records that agree in all attributes form a group; a missing value agrees only with missing values.
    profile : KAnonymityProfile
        k-anonymity profile of the same groups.
    attributes : tuple of AttributeDescription
    people : int or None
        Number of distinct people, if the file identifies the person of each record; else None. With people, group sizes
        count people, `profile` uses the smallest group in which each person has a record, and uniques are people.
    population_size : int or None
        Number of people in the population sampled by the file; None if the file is the population.
    uniqueness : Uniqueness or None
        Population uniqueness by each method, and the recommended method; None if the file is the population.
    warnings : tuple of str
        Reasons why these figures may mislead.
    """

    path: Path
    kind: str | None
    title: str
    source: str
    rows: int
    frequencies: GroupFrequencies
    profile: KAnonymityProfile
    attributes: tuple[AttributeDescription, ...]
    people: int | None
    population_size: int | None
    uniqueness: Uniqueness | None
    warnings: tuple[str, ...]

    @property
    def estimates(self) -> tuple[UniquenessEstimate, ...]:
        """Population uniqueness by method; empty if the file is the population."""
        return () if self.uniqueness is None else self.uniqueness.estimates

    @property
    def records(self) -> int:
        """Number of records; with people, the number of rows."""
        return self.frequencies.records if self.people is None else self.rows

    @property
    def cells(self) -> int:
        """Number of distinct combinations of values that occur."""
        return self.frequencies.groups

    @property
    def uniques(self) -> int:
        """Number of unique records, or of people with a unique combination of values."""
        return self.frequencies.uniques if self.people is None else round(self.profile.unique_share * self.people)


def describe_file(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    count: str | None = None,
    weight: str | None = None,
    person: str | None = None,
    population_size: int | None = None,
    seed: int = 0,
    level: float = 0.95,
    encoding: str | None = None,
) -> FileDescription:
    """Describe the disclosure risk of a file of records or counts by cell.

    Parameters
    ----------
    path : str or Path
        CSV with a header (comma, semicolon or tab; may be compressed) or Parquet.
    columns : sequence of str, optional
        Attributes that an attacker may know; all attributes of the file if not given.
    count : str, optional
        Column with the number of records in each row. If not given and not recorded in the file, each row is one
        record.
    weight : str, optional
        Column with the sampling weight of each record: number of people in the population that it represents.
    person : str, optional
        Column that identifies the person of each record, if people have several records; groups then count people.
    population_size : int, optional
        Number of people in the population from which the file is a random sample. If not given, the file is taken as
        the population.
    seed : int
        Seed of the bootstrap of Zayatz's estimator.
    level : float
        Confidence level of the intervals.
    encoding : str, optional
        Encoding of a CSV file; UTF-8 if not given.

    Returns
    -------
    FileDescription

    Raises
    ------
    InputError
        If the file cannot be read, lacks a column, its counts are not whole numbers or are sampling weights, a weight
        is below 1, or the population is smaller than the file.
    """
    if Path(path).suffix == ".toml":
        raise InputError(
            "a recipe, not a file of people", source=path, hint="run reidsim populate to make a file from the recipe"
        )
    if not 0 < level < 1:
        raise InputError("confidence level out of range", source="--level", found=level, expected="above 0 and below 1")
    if count is not None and may_name_weight(count):
        raise InputError(
            "sampling weights are not counts of records",
            source=path,
            where="--count",
            found=count,
            hint=f"use --weight {count}",
        )
    if weight is not None and (count is not None or population_size is not None or person is not None):
        raise InputError(
            "sampling weights exclude other numbers of people",
            source=path,
            where="--weight",
            found=weight,
            expected="--weight without --count, --population-size and --person",
        )
    if columns is not None and person is not None and person not in columns:
        columns = [*columns, person]
    file = read_coded_file(Path(path), columns=columns, count=count, weight=weight, encoding=encoding)
    if person is None:
        frequencies = GroupFrequencies.from_group_sizes(group_sizes(file.columns, file.counts))
        profile, n_people = KAnonymityProfile.of_file(frequencies), None
    else:
        file, of_record = _people(file, person)
        frequencies, profile = _by_people(file.columns, of_record)
        n_people = profile.total
    attributes = tuple(_described(column, file.counts) for column in file.columns)
    uniqueness = None
    if file.weights is not None or population_size is not None:
        rng = np.random.default_rng(np.random.SeedSequence(seed))
        with locating(path):
            uniqueness = uniqueness_of_sample(_cells(file, frequencies, population_size), rng=rng, level=level)
    return FileDescription(
        path=Path(path),
        kind=file.kind,
        title=file.title,
        source=file.source,
        rows=len(file.columns[0].codes),
        frequencies=frequencies,
        profile=profile,
        attributes=attributes,
        people=n_people,
        population_size=population_size if file.weights is None else round(float(file.weights.sum())),
        uniqueness=uniqueness,
        warnings=_warnings(file, attributes, frequencies),
    )


def group_sizes(columns: Sequence[CodedColumn], counts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Count the records of each combination of codes that occurs, shape (n_groups,).

    Parameters
    ----------
    columns : sequence of CodedColumn
        At least one column. The number of combinations may exceed the range of 64 bits.
    counts : ndarray of int64, shape (n_rows,), optional
        Number of records in each row; one if not given.
    """
    keys = _keys(columns)
    if counts is None:
        return np.asarray(np.unique(keys, return_counts=True)[1])
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return np.asarray(np.add.reduceat(counts[order], starts))


def _keys(columns: Sequence[CodedColumn]) -> NDArray[np.int64]:
    return row_keys([column.codes for column in columns], len(columns[0].codes))


def _people(file: CodedFile, person: str) -> tuple[CodedFile, NDArray[np.intp]]:
    """Return the file without the person column, and the person number of each row.

    Raises
    ------
    InputError
        If the person column or another column is missing, a row has no person, or rows are counts of records.
    """
    others = tuple(column for column in file.columns if column.name != person)
    key = next((column for column in file.columns if column.name == person), None)
    if key is None or not others:
        names = [column.name for column in file.columns]
        problem = "no such column in addition to attributes"
        raise not_among(problem, person, names, source=file.path, where="--person", shown=20)
    if file.counts is not None:
        raise InputError(
            "a person key is not supported for rows with counts", source=file.path, where="--person", found=person
        )
    missing = key.codes == MISSING
    refuse_rows(missing, "value missing", source=file.path, column=person, expected="a value in every row")
    return replace(file, columns=others), np.unique(key.codes, return_inverse=True)[1]


def _by_people(
    columns: Sequence[CodedColumn], of_record: NDArray[np.intp]
) -> tuple[GroupFrequencies, KAnonymityProfile]:
    """Return groups counted in people, and each person's smallest group."""
    cell = np.unique(_keys(columns), return_inverse=True)[1]
    row_sets, set_of_person = RowSets.of(cell, of_record)
    sizes = row_sets.in_classes(np.arange(int(cell.max()) + 1), int(cell.max()) + 1)
    smallest = np.minimum.reduceat(sizes[row_sets.cells], row_sets.start[:-1])
    return GroupFrequencies.from_group_sizes(sizes), KAnonymityProfile.of_records(smallest[set_of_person])


def _cells(file: CodedFile, frequencies: GroupFrequencies, population_size: int | None) -> SampleCells:
    """Return the cells of a sample file.

    With a population size, all records have equal weight.
    """
    weights = file.weights
    if weights is None:
        assert population_size is not None  # noqa: S101 - guaranteed by the caller; narrows the type
        require_usable(frequencies, population_size, 0.5)
        weights = np.full(len(file.columns[0].codes), population_size / frequencies.records)
    return SampleCells.of_records([column.codes for column in file.columns], weights, file.counts)


def _described(column: CodedColumn, counts: NDArray[np.int64] | None) -> AttributeDescription:
    if counts is None:
        missing, codes = int((column.codes == MISSING).sum()), column.codes
    else:
        missing, codes = int(counts[column.codes == MISSING].sum()), column.codes[counts > 0]
    occurs = np.bincount(codes, minlength=column.n_codes) > 0
    return AttributeDescription(column.name, int(occurs.sum()) - int(occurs[MISSING]), missing)


def _warnings(
    file: CodedFile, attributes: Sequence[AttributeDescription], frequencies: GroupFrequencies
) -> tuple[str, ...]:
    warnings = []
    identifying = [attribute.name for attribute in attributes if attribute.distinct == frequencies.records > 1]
    if identifying:
        warnings.append(
            f"every record has a different value of {listed(identifying)}, like an identifier: "
            "name the columns that an attacker may know"
        )
    if file.counts is None and any(column.name.lower() in ("count", "counts", "n") for column in file.columns):
        warnings.append("each row counts as one record: if the file has a column of counts, name this column")
    named = [column.name for column in file.columns if names_weight(column.name)]
    if named and file.weights is None:
        warnings.append(
            f"column {named[0]!r} looks like sampling weights, but counts as an attribute: use --weight for weights"
        )
    return tuple(warnings)
