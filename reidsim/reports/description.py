"""Describe the disclosure risk of a file of people before any attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyarrow import parquet

from reidsim.agents.explanation import OPTION_COLUMNS, options_table
from reidsim.audit.identifiers import plain_words
from reidsim.core import tables
from reidsim.core.errors import InputError, listed, locating, refuse_first, refuse_rows, require_among, require_distinct
from reidsim.core.files import require_no_device
from reidsim.core.tables import as_file
from reidsim.core.wording import counted
from reidsim.drafts.people import may_name_weight, names_weight
from reidsim.drafts.profile import NAMES
from reidsim.linkage.group_sizes import GroupFrequencies, KAnonymityProfile
from reidsim.linkage.people import RowSets
from reidsim.linkage.uniqueness import (
    SampleCells,
    Uniqueness,
    UniquenessEstimate,
    require_usable,
    uniqueness_of_sample,
    weights_in,
)
from reidsim.populations.catalogue import population_metadata
from reidsim.populations.population import UNKNOWN
from reidsim.reports.writer import lines_of
from reidsim.scenarios.adversary_schema import economics_of
from reidsim.scenarios.agents import types_of
from reidsim.scenarios.kind import find_kind, keys_of_records, kind_of
from reidsim.scenarios.registry import kinds
from reidsim.scenarios.scenario import Scenario


@dataclass(frozen=True, eq=False)
class Explanation:
    """Agents of a scenario, the phases of its rounds, and why adversaries act or not.

    Parameters
    ----------
    text : str
        All of it in lines of text, also returned by ``str`` and ``repr``.
    options : DataFrame
        Options of each adversary if all records are shared unchanged; see `options_table`. Without rows if rounds
        support none of the policies, or an adversary's gain or cost differs between records.
    """

    text: str
    options: pd.DataFrame

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return import_module("reidsim.reports.python").explanation_html(self)  # type: ignore[no-any-return]


def explain(
    scenario: str | Path | Mapping[str, Any] | Scenario[Any],
    *,
    overrides: Mapping[str, object] | None = None,
    allow_code: bool = False,
) -> Explanation:
    """Return the agents of a scenario, the phases of its rounds, and why adversaries act or not.

    A scenario without section ``agents`` is described with the defaults of its kind.

    Parameters
    ----------
    scenario, overrides, allow_code
        As in `Scenario.load`.

    Raises
    ------
    InputError
        If the scenario or one of its files cannot be used, or its kind does not support agents.

    See Also
    --------
    Scenario.rounds : play rounds of agents.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.explain("market").options[["adversary", "reason"]]  # doctest: +SKIP
    """
    loaded: Scenario[Any] = Scenario.load(scenario, overrides, allow_code=allow_code)
    values = loaded.scenario
    kind = kind_of(values)
    if not kind.decides or not hasattr(values, "economics"):
        raise InputError(
            "this kind of scenario does not support rounds of agents",
            source=loaded.path,
            where="game",
            found=getattr(values, "game", None),
            expected=listed([name for name in kinds.names if "agents" in find_kind(name).schema.model_fields]),
        )
    economics, types = economics_of(values)[0], []
    prices: dict[Literal["gain", "cost"], float] = {"gain": economics.adversary_gain, "cost": economics.cost}
    for name, _, section in types_of(values):
        planner, knowledge = kind.attacker(values, name)
        own: dict[str, Any] = {price: getattr(section, price) for price in prices}
        for price, of_all in prices.items():
            if own[price] is None:
                own[price] = "by record" if kind.is_by_record(values, price) else of_all
        types.append({"name": name, "section": section, "planner": planner, "knowledge": knowledge, **own})
    options, lists = pd.DataFrame(columns=list(OPTION_COLUMNS)), list[dict[str, Any]]()
    played = [name for name in kind.policies_of(values) if kind.policy(name).by_agents]
    if played and not any("by record" in (each["gain"], each["cost"]) for each in types):
        study = kind.study_of(loaded)
        options = options_table(kind.settings(study)(played[0], 0, 0))
        for name, each in kind.lists(study).items():
            missing = {key: float((column == UNKNOWN).mean()) for key, column in each.columns.items()}
            lists.append({"name": name, "records": len(each.person), "missing": missing})
    lines = lines_of(
        "explanation",
        options=options.to_dict("records"),
        lists=lists,
        name=loaded.name,
        agents=kind.agents_of(values),
        publisher="data subjects" if kind.decides == "subject" else "publisher",
        release=kind.decision(values),
        policies=kind.policies_of(values),
        types=types,
    )
    return Explanation("".join(f"{line}\n" for line in lines), options)


# Code of a missing value.
MISSING = 0
# From this number on, float64 cannot represent every whole number.
_INEXACT = 2**53


class CodedFile(NamedTuple):
    """Coded file of people: one row per record, or per cell with a record count.

    Attributes
    ----------
    codes : DataFrame of int32
        One row per row of the file and one column per attribute, at least one: 0 for a missing value, 1 or more for
        other values.
    counts : ndarray of int64, shape (n_rows,), or None
        Number of records in each row, 0 or more; None if each row is one record.
    weights : ndarray of float64, shape (n_rows,), or None
        Sampling weight of each row: number of people in the population per record. None without a weight column.
    of_record : ndarray of int, shape (n_rows,), or None
        Person of each row, from 0; None if each row is a person.
    recorded : dict
        Metadata of a file made by reidsim, such as its kind, title and source; empty for other files.
    repeating : list of str
        Columns, attributes or not, that are named as keys of people and have a value in several rows. Of Parquet, only
        the attributes are read.
    """

    codes: pd.DataFrame
    counts: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None
    of_record: NDArray[np.intp] | None
    recorded: dict[str, Any]
    repeating: list[str]


@dataclass(frozen=True)
class AttributeDescription:
    """Summary of an attribute of a file.

    Parameters
    ----------
    name : str
        Name of the attribute.
    distinct : int
        Number of distinct values that occur, without missing ones.
    missing : int
        Number of records without a value.
    """

    name: str
    distinct: int
    missing: int


@dataclass(frozen=True, repr=False)
class FileDescription:
    """Content of a file, and group sizes and uniqueness of its records.

    Parameters
    ----------
    path : Path
        Path of the file.
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
        Values of each attribute, in file order.
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

    def __repr__(self) -> str:
        return f"FileDescription({self.path.name!r}: {counted(self.records, 'record')}, {self.uniques:,} unique)"

    def _repr_html_(self) -> str:
        return import_module("reidsim.reports.python").description_html(self)  # type: ignore[no-any-return]

    @property
    def estimates(self) -> tuple[UniquenessEstimate, ...]:
        """Estimates of population uniqueness by method; () if the file is the population."""
        return () if self.uniqueness is None else self.uniqueness.estimates

    @property
    def records(self) -> int:
        """Number of records: the number of rows, or the sum of the rows' counts.

        If the file identifies people, it is the number of rows.
        """
        return self.frequencies.records if self.people is None else self.rows

    @property
    def cells(self) -> int:
        """Number of distinct combinations of values that occur."""
        return self.frequencies.groups

    @property
    def uniques(self) -> int:
        """Number of unique records, or of people with a unique combination of values."""
        return self.frequencies.uniques if self.people is None else round(self.profile.share_below(2) * self.people)


def describe(
    data: pd.DataFrame | str | Path,
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
    data : DataFrame, str or Path
        Table in memory, or a file: CSV with a header (comma, semicolon or tab; may be compressed) or Parquet.
    columns : sequence of str, optional
        Attributes that an attacker may know; all attributes of the data if not given.
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
        Values of each attribute, group sizes and uniques in the file and, for a sample, in the population.

    Raises
    ------
    InputError
        If the file cannot be read, is a recipe, or lacks a column; if its counts are not whole numbers or are sampling
        weights, a weight is below 1, a row has no person, or the population is smaller than the file; if `level` is not
        between 0 and 1; or if `weight` is combined with `count`, `population_size` or `person`, or `person` with
        counts.

    See Also
    --------
    new : draft a scenario from a file.

    Examples
    --------
    >>> import pandas, reidsim
    >>> reidsim.describe(pandas.DataFrame({"age": [30, 30, 52], "sex": ["F", "F", "M"]})).uniques
    1
    """
    with as_file(data, "describe: argument 'data'", encoding=encoding) as source:
        if source.suffix == ".toml":
            hint = "run reidsim populate to make a file from the recipe"
            raise InputError("a recipe, not a file of people", source=source, hint=hint)
        if not 0 < level < 1:
            raise InputError(
                "confidence level out of range", source="--level", found=level, expected="above 0 and below 1"
            )
        if count is not None and may_name_weight(count):
            problem, hint = "sampling weights are not counts of records", f"use --weight {count}"
            raise InputError(problem, source=source, where="--count", found=count, hint=hint)
        if weight is not None and (count, population_size, person) != (None, None, None):
            problem = "sampling weights exclude other numbers of people"
            expected = "--weight without --count, --population-size and --person"
            raise InputError(problem, source=source, where="--weight", found=weight, expected=expected)
        if columns is not None and person is not None and person not in columns:
            columns = [*columns, person]
        file, n_people = read_coded_file(source, columns, count, weight, person, encoding), None
        if file.of_record is None:
            frequencies = GroupFrequencies.from_group_sizes(group_sizes(file.codes, file.counts))
            profile = KAnonymityProfile(frequencies.sizes, frequencies.sizes * frequencies.frequencies)
        else:
            frequencies, profile = _by_people(file.codes, file.of_record)
            n_people = profile.total
        attributes = tuple(_described(str(name), codes, file.counts) for name, codes in file.codes.items())
        uniqueness, weights = None, file.weights
        with locating(source):
            if weights is None and population_size is not None:
                # All records have equal weight.
                require_usable(frequencies, population_size, 0.5)
                weights = np.full(len(file.codes), population_size / frequencies.records)
            if weights is not None:
                cells = SampleCells.of_records(
                    [codes.to_numpy() for _, codes in file.codes.items()], weights, file.counts
                )
                rng = np.random.default_rng(np.random.SeedSequence(seed))
                uniqueness = uniqueness_of_sample(cells, rng=rng, level=level)
        names = list(map(str, file.codes))
        warnings = lines_of(
            "description_warnings",
            identifying=[each.name for each in attributes if each.distinct == frequencies.records > 1],
            may_have_counts=file.counts is None and {"count", "counts", "n"} & set(map(str.lower, names)),
            weight=None if file.weights is not None else next(filter(names_weight, names), None),
            repeating=file.repeating if person is None and file.counts is None else [],
        )
        return FileDescription(
            path=source if isinstance(data, str | Path) else Path(source.name),
            kind=file.recorded.get("kind"),
            title=file.recorded.get("title") or "",
            source=file.recorded.get("source") or "",
            rows=len(file.codes),
            frequencies=frequencies,
            profile=profile,
            attributes=attributes,
            people=n_people,
            population_size=population_size if file.weights is None else round(float(file.weights.sum())),
            uniqueness=uniqueness,
            warnings=tuple(warnings),
        )


def group_sizes(codes: pd.DataFrame, counts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the number of records of each combination of codes that occurs.

    The result has shape (n_groups,). Groups are numbered in the order of their first rows. A group whose counts are all
    0 has size 0.

    Parameters
    ----------
    codes : DataFrame of int
        Codes of the values, one column per attribute, at least one. The number of combinations may exceed the range of
        64 bits.
    counts : ndarray of int64, shape (n_rows,), optional
        Number of records in each row; one if not given.
    """
    return np.bincount(codes.groupby(list(codes), sort=False).ngroup(), counts).astype(np.int64)


def _by_people(codes: pd.DataFrame, of_record: NDArray[np.intp]) -> tuple[GroupFrequencies, KAnonymityProfile]:
    """Return group sizes counted in people, and people by their smallest group.

    The second value is a k-anonymity profile.

    Parameters
    ----------
    codes : DataFrame of int
        Codes of the records; records with equal codes are a group.
    of_record : ndarray of int, shape (n_records,)
        Person of each record, from 0.
    """
    groups = codes.groupby(list(codes), sort=False)
    row_sets, set_of_person = RowSets.from_rows(np.asarray(groups.ngroup(), dtype=np.int64), of_record)
    sizes = row_sets.in_classes(np.arange(groups.ngroups), groups.ngroups)
    smallest = np.minimum.reduceat(sizes[row_sets.cells], row_sets.start[:-1])
    of_people = np.unique(smallest[set_of_person], return_counts=True)
    return GroupFrequencies.from_group_sizes(sizes), KAnonymityProfile(*of_people)


def _described(name: str, codes: pd.Series[int], counts: NDArray[np.int64] | None) -> AttributeDescription:
    numbers = np.bincount(codes, counts).astype(np.int64)
    return AttributeDescription(name, int((numbers[1:] > 0).sum()), int(numbers[MISSING]) if len(numbers) else 0)


def read_coded_file(
    path: Path,
    columns: Sequence[str] | None = None,
    count: str | None = None,
    weight: str | None = None,
    person: str | None = None,
    encoding: str | None = None,
) -> CodedFile:
    """Read a file of people as integer codes.

    Parameters
    ----------
    path : Path
        Parquet, or delimited text with a header. The delimiter is the comma, semicolon, tab or bar that splits the
        first two lines into the most columns. Text may be compressed (``.gz``, ``.bz2``).
    columns : sequence of str, optional
        Attributes to read. By default, the attributes recorded in the file, or else all columns but the counts.
    count : str, optional
        Column with the number of records in a row. By default, the column recorded in the file, if any.
    weight : str, optional
        Column with sampling weights.
    person : str, optional
        Column that identifies the person of each record; it is no attribute.
    encoding : str, optional
        Encoding of delimited text; UTF-8 if not given.

    Returns
    -------
    CodedFile
        Coded file. Missing are nulls, NaN in a column of numbers, and empty or blank text.

    Raises
    ------
    InputError
        If the file cannot be read, has no rows, lacks a column, or has no attribute or a column with several values per
        row; if a column is named twice or has two uses; if its counts are not whole numbers of 0 or more, or are all 0;
        if a weight is not a number of 1 or more; or if a row has no person, or rows with a person are counts.
    """
    recorded = dict[str, Any]()
    require_no_device(path)
    if path.suffix == ".parquet":
        with tables.reading_parquet(path):
            recorded = population_metadata(parquet.read_schema(path.absolute())) or {}
    count = count if count is not None else recorded.get("count")
    besides = {name: what for name, what in ((count, "counts"), (weight, "sampling weights")) if name is not None}
    table = tables.read_coded_table(
        path,
        delimiter=tables.sniff_delimiter(path, encoding),
        comment="#",
        encoding=encoding or "utf-8",
        columns=None if columns is None else [*columns, *besides],
    )
    if columns is None:
        columns = [name for name in recorded.get("attributes") or map(str, table) if name not in besides]
    tables.require_columns(table, [*columns, *besides], path)
    require_distinct("column named twice", columns, source=path)
    if not columns:
        raise InputError("the file has no attributes", source=path, expected="at least one column besides the counts")
    for name, use in besides.items():
        if name in columns:
            raise InputError(f"the column of {use} is also an attribute", source=path, found=name)
    of_record = None
    if person is not None:
        require_among("no such column", [person], columns, source=path, where="--person", shown=20)
        alone, problem = len(columns) == 1, "a person key is not supported for rows with counts"
        refuse_first(
            (alone, "no column besides the person key", "--person", person, "at least one attribute"),
            (count is not None, problem, "--person", person, None),
            source=path,
        )
        of_record = keys_of_records(table, person, path)
        columns = [name for name in columns if name != person]
    keys = [str(name) for name in table if plain_words(str(name)) in NAMES.keys["person"]]
    return CodedFile(
        codes=pd.DataFrame({name: _codes(table[name]) for name in columns}),
        counts=None if count is None else _counts(table[count], count, path),
        weights=None if weight is None else weights_in(table, weight, path),
        of_record=of_record,
        recorded=recorded,
        repeating=[name for name in keys if table.loc[table[name] != "", name].duplicated().any()],
    )


def _codes(column: pd.Series[Any]) -> NDArray[np.int32]:
    """Return the code of each value of a column of text: 0 if empty, else 1 or more; shape (n_rows,)."""
    numbers, texts = tables.coded(column)
    places = np.where(texts == "", MISSING, np.arange(1, len(texts) + 1))
    return np.asarray(places[numbers], dtype=np.int32)


def _numbers(column: pd.Series[Any]) -> NDArray[np.float64]:
    return np.asarray(pd.to_numeric(column.astype("str"), errors="coerce"), dtype=np.float64)


def _counts(column: pd.Series[Any], name: str, path: Path) -> NDArray[np.int64]:
    """Return the numbers of a column of counts as integers, shape (n_rows,).

    `name` and `path` are for messages.

    Raises
    ------
    InputError
        If a count is not a whole number of 0 or more (the message names the first row), or all counts are 0.
    """
    values = _numbers(column)
    wrong = ~((values >= 0) & (values < _INEXACT) & (values == np.floor(values)))
    problem, expected = "not a whole number of 0 or more", "counts of records; for sampling weights, use --weight"
    refuse_rows(wrong, problem, source=path, column=name, found=column, expected=expected)
    if not values.any():
        raise InputError(
            "all counts are 0", source=path, where=f"column {name!r}", expected="at least one count of 1 or more"
        )
    return values.astype(np.int64)
