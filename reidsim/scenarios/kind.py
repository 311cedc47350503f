"""Interface of a kind of scenario: its studies, their results, and keys of people.

A kind has a name, a schema, policies, and the methods by which the engine plays its studies. The engine, figures and
reports use a kind only through this interface. `kind_of` and `find_kind` find kinds. A key of people is a column, or
several, that identifies the person of each record; with such a key, results count people in place of records.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pydantic.json_schema import models_json_schema

from reidsim.agents.attack import RUN_MEASURES
from reidsim.core.errors import InputError, refuse_rows
from reidsim.core.files import read_toml
from reidsim.core.numerics import random_stream
from reidsim.core.rows import combined
from reidsim.core.tables import as_visible, existing, read_table, require_columns
from reidsim.core.validation import with_texts
from reidsim.core.wording import Measure, columns_of, counted
from reidsim.games.cross_play import Defender, outcome_of, paid_in
from reidsim.games.outcomes import HOUSEHOLD_RISK, MEASURES, averages, own_measures
from reidsim.linkage.people import AttributeLimits, SensitiveAttribute
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.releases.lattice import Strategies
from reidsim.scenarios import registry
from reidsim.scenarios.adversary_schema import AgentsSection
from reidsim.scenarios.hierarchies import Table
from reidsim.scenarios.registry import DEFAULT_KIND, MADE, OwnPolicy, Policy, kinds
from reidsim.scenarios.scenario import HeldStudy, Scenario, Study, World, anchored
from reidsim.scenarios.schema import OUTCOME_COLUMNS, ScenarioHead

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reidsim.agents.profile import Setting
    from reidsim.games.outcomes import Equilibrium, Reidentified
    from reidsim.games.record_game import Choice
    from reidsim.populations.resources import PeopleList
    from reidsim.scenarios.agents import OpponentOptions, Opponents

Keys = NDArray[np.intp]

# Rows per part of a table of records, and per row group of a Parquet file.
ROWS_PER_PART = 100_000

# Texts that mean a missing key, in lower case. They are refused, because rows without a key would form one person.
_MISSING = ("", "na", "n/a", "nan", "null", "none", ".")
# A whole number with leading zeros or decimals of 0, as spreadsheets and statistical programs drop or add them.
_WHOLE = r"^0*([0-9]+?)(?:[.,]0+)?$"
# Columns of records.parquet for the person and household of a record. The person is a number, never the key itself.
PERSON, HOUSEHOLD = "person", HOUSEHOLD_RISK.column


def counted_units(content: Mapping[str, Any]) -> tuple[str, str]:
    """Return the unit of a scenario in singular and plural.

    The unit is people if the section ``release`` has a key of people, otherwise records.
    """
    release = content.get("release")
    keyed = isinstance(release, Mapping) and release.get(PERSON) is not None
    return ("person", "people") if keyed else ("record", "records")


def unit_sentence(manifest: Mapping[str, Any]) -> str:
    """Return a sentence on the unit of a run: people or rows.

    The text is empty if the manifest has no released file or no number of records.

    Parameters
    ----------
    manifest : mapping
        Manifest of the run.
    """
    if "release_file" not in manifest or "records" not in manifest:
        return ""
    rows, content = counted(manifest["records"], "row"), manifest.get("content", {})
    if counted_units(content)[0] == "record":
        return f"Unit: rows; each of {rows} counts as one person"
    people = manifest.get("released_people")
    several = f"; {counted(people, 'person', 'people')} in {rows}" if people is not None else ""
    return f"Unit: people, identified by {' and '.join(key_columns(content['release'][PERSON]))}{several}"


def once_each(records: pd.DataFrame, content: Mapping[str, Any]) -> pd.DataFrame:
    """Return outcomes with one row per person and policy, if people are counted.

    Otherwise the outcomes are returned unchanged. `records` has one row per record and policy (in assessments, per
    record and background knowledge). The outcomes are equal for all records of a person, so the first row of each
    person is kept.
    """
    if counted_units(content)[0] == "record" or PERSON not in records:
        return records
    return records.drop_duplicates([column for column in ("policy", "knowledge", PERSON) if column in records])


def key_columns(key: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns of a key of people or households.

    `key` is one column, several columns, or None if there is no key; the result is then empty.
    """
    return () if key is None else (key,) if isinstance(key, str) else tuple(key)


def plain_keys(keys: pd.Index[str]) -> pd.Series[str]:
    """Return keys in one form of the forms that programs may have changed: ``7`` for ``0007``, ``7`` and ``7.0``.

    Other texts are returned by `as_visible`, without blanks, and in lower case if all letters, or the first letter of
    each word, are capitals. Other keys with letters of both cases may differ in case alone.
    """
    plain = pd.Series(keys, dtype="object")
    is_written_large = plain.str.isupper() | plain.str.istitle()
    # Printable ASCII without blanks is visible.
    others = ~plain.str.fullmatch("[!-~]*")
    plain[others] = plain[others].map(as_visible).str.replace(" ", "")
    plain = plain.mask(is_written_large, plain.str.lower())
    return plain.str.replace(_WHOLE, r"\1", regex=True)


def is_missing_key(cells: pd.Series[str]) -> pd.Series[bool]:
    """Return whether each cell of a key column is empty or a text that means a missing key."""
    return cells.str.strip().str.lower().isin(_MISSING)


def keys_of_records(frame: pd.DataFrame, key: str | Sequence[str], source: str | Path) -> Keys:
    """Return the number of each record's person or household, shape (n_records,).

    People or households are numbered from 0, in order of appearance.

    Parameters
    ----------
    frame : DataFrame
        The records, as text.
    key : str or sequence of str
        The column, or the columns whose values together identify a person.
    source : str or Path
        Source of the records, for error messages.

    Raises
    ------
    InputError
        If a column does not exist, a value is missing, or two keys differ only in form (see `plain_keys`); the message
        names the row.
    """
    columns = key_columns(key)
    require_columns(frame, columns, source)
    written, plain = [], []
    for name in columns:
        text = frame[name].str.strip()
        missing, expected = is_missing_key(text), "a value in every row"
        refuse_rows(missing, "value missing", source=source, column=name, expected=expected)
        codes, texts = pd.factorize(text)
        written.append(codes)
        plain.append(pd.factorize(plain_keys(texts))[0][codes])
    number, of_plain = combined(written), combined(plain)
    first = np.unique(of_plain, return_index=True)[1][of_plain]
    wrong = pd.Series(number != number[first], frame.index)
    if wrong.any():
        keys = frame[list(columns)].astype("str").agg(" ".join, axis=1).str.strip()
        others = "or a key that differs in more than capitals, leading zeros, decimals of 0 and blanks"
        refuse_rows(
            wrong,
            "a key in two forms, which would count as two keys",
            source=source,
            column=" and ".join(columns),
            found=keys,
            expected=lambda row: f"{keys.iloc[first[row]]!r} as in row {frame.index[first[row]] + 1}, {others}",
        )
    return np.asarray(number, dtype=np.intp)


def numbered_times(
    columns: Sequence[pd.Series[str]], problem: str, source: str | Path
) -> tuple[tuple[str, ...], list[NDArray[np.int64]]]:
    """Return the distinct times in columns of a table in ascending order, and each row's position among them.

    Times are numbers or ISO dates: dates if the first one is. Other texts, such as ``10.3.2020``, would be sorted in
    another order.

    Parameters
    ----------
    columns : sequence of Series of str, each of shape (n_rows,)
        Series have the names of the columns.
    problem : str
        Problem with a value that is no time, for the error message.
    source : str or Path
        Source of the table, for error messages.

    Returns
    -------
    tuple of str
        Times as in the table; the first text of equal times.
    list of ndarray of int64, shape (n_rows,)
        Positions of the times of each column.

    Raises
    ------
    InputError
        If a value is neither a number nor a date, or not of the same type as the first one; the message names the row.
    """
    texts = pd.Series(pd.unique(pd.concat(columns)))
    days = pd.to_datetime(texts, format="%Y-%m-%d", errors="coerce")
    dated = bool(days[:1].notna().all())
    numbers = pd.to_numeric(texts, errors="coerce").replace([np.inf, -np.inf], np.nan)
    times = (days if dated else numbers).set_axis(texts)
    expected = "dates such as 2026-03-31 in all rows" if dated else "a number, or dates such as 2026-03-31"
    for column in columns:
        wrong = column.map(times).isna()
        refuse_rows(wrong, problem, source=source, column=column.name, found=column, expected=expected)
    position = times.rank(method="dense") - 1
    labels = times.sort_values(kind="stable").drop_duplicates().index
    return tuple(labels), [column.map(position).to_numpy().astype(np.int64) for column in columns]


def require_same(
    amounts: NDArray[np.generic],
    of_record: Keys,
    what: str,
    source: str | Path,
    column: str,
    keys: pd.DataFrame | None = None,
) -> None:
    """Check that all records of a person have the same value.

    The value is an amount or a household, for example.

    Parameters
    ----------
    amounts : ndarray, shape (n_records,)
        Value of each record.
    of_record : ndarray of int, shape (n_records,)
        Number of each record's person.
    what, source, column : str
        Name of the value, source of the records, and column, for the error message.
    keys : DataFrame, optional
        Key columns of people, one row per record, to name the person in the error message.

    Raises
    ------
    InputError
        If records of one person have different values; the message names the first such row.
    """
    first = np.unique(of_record, return_index=True)[1][of_record]

    def expected(row: int) -> str:
        named = "" if keys is None else f", {' '.join(map(str, keys.iloc[row]))}"
        return f"the value of row {int(first[row]) + 1}, which belongs to the same person{named}"

    refuse_rows(
        amounts != amounts[first],
        f"records of the same person differ in {what}",
        source=source,
        column=column,
        found=None if keys is None else amounts,
        expected=expected,
    )


def refuse_keys(content: Mapping[str, Any], keep: Sequence[str]) -> None:
    """Check that no column shared unchanged is a key of people or households.

    `keep` lists the columns shared unchanged; `content` is the scenario as plain data, whose section ``release`` names
    the keys.

    Raises
    ------
    InputError
        If such a column is shared; the message names the column.
    """
    for key in ("person", "household"):
        for column in key_columns((content.get("release") or {}).get(key)):
            if column in keep:
                expected = f"columns that are no keys, because a key links all rows of a {key}"
                raise InputError(f"the column is a key of {key}s", source="--keep", found=column, expected=expected)


# Called with the name of the current step, the number of units done, and the number of all units.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class PolicyOutcome:
    """The choice of a policy and its outcome.

    Parameters
    ----------
    equilibrium : Equilibrium
        Outcome of each row in the true game.
    choice : Choice, optional
        Strategy of each row.
    seconds : float, optional
        Computing time of the policy; None if policies were not played one by one.
    """

    equilibrium: Equilibrium
    choice: Choice | None = None
    seconds: float | None = None


def digest_of(text: str, parts: Iterable[np.ndarray[Any, Any] | Population | None]) -> str:
    """Return the SHA-256 of a text and the bytes of arrays and populations.

    The bytes of a population are those of its cells and counts. Parts that are None are skipped.
    """
    digest = hashlib.sha256(text.encode())
    for part in parts:
        for array in (part.cells, part.counts) if isinstance(part, Population) else (part,):
            if array is not None:
                digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def equilibria_of(outcomes: Mapping[str, PolicyOutcome]) -> dict[str, Equilibrium]:
    """Return the equilibrium of each policy, by policy name."""
    return {policy: outcome.equilibrium for policy, outcome in outcomes.items()}


class PlayedFile(NamedTuple):
    """Outcome of a released file.

    Attributes
    ----------
    equilibrium : Equilibrium or None
        Outcome by record; None if rows belong to no record.
    claims : DataFrame
        Claims about people; without rows if there is no control.
    statistics : DataFrame
        As `Kind.data_utility`, with the name of the file as policy.
    measures : dict of str to float
        Measures of the statistics.
    notes : tuple of str
        Sentences for readers.
    """

    equilibrium: Equilibrium | None
    claims: pd.DataFrame
    statistics: pd.DataFrame
    measures: dict[str, float]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RecordTable:
    """Table of one row per record and policy, made in parts from outcomes by row of the games.

    The table of a large file does not fit into memory, but each part does. Its columns are record, policy, strategy,
    publisher_payoff, adversary_payoff, attacked, success_probability, utility, generalization_intensity, and the
    additional columns; records are numbered from 0. All records of the first policy come first. The strategy of a
    withheld record is ``withheld``.

    Parameters
    ----------
    equilibria : mapping of str to Equilibrium
        Equilibrium of each policy.
    rows : ndarray of intp, shape (n_records,)
        Row of each record in the games.
    describe : callable
        Returns the description of a strategy, given the policy and the strategy's number.
    weights : ndarray of int64, shape (n_rows,)
        Number of data subjects in each row.
    beside : callable
        Returns additional columns, shape (n_records,), given a policy's equilibrium by row of the games. They are
        inserted after the record number.
    released : callable, optional
        Returns additional columns of a part of the records, given a policy, the strategy of each record of the part,
        and the slice of the records. They are appended after the outcomes.
    """

    equilibria: Mapping[str, Equilibrium]
    rows: NDArray[np.intp]
    describe: Callable[[str, int], str]
    weights: NDArray[np.int64]
    beside: Callable[[Equilibrium], Mapping[str, Any]] = lambda found: {}
    released: Callable[[str, Strategies, slice], pd.DataFrame] | None = None

    def parts(self) -> Iterator[pd.DataFrame]:
        """Yield consecutive parts of the table, each with an index from 0 and equal categories."""
        used = {policy: np.unique(each.strategies) for policy, each in self.equilibria.items()}
        # A negative number means that the record is withheld.
        texts = {
            (each, policy): "withheld" if each < 0 else self.describe(policy, each)
            for policy, numbers in used.items()
            for each in numbers.tolist()
        }
        names = pd.Index(list(dict.fromkeys(texts[key] for key in sorted(texts))), dtype="str")
        policies = pd.Index(list(self.equilibria), dtype="str")
        for number, (policy, equilibrium) in enumerate(self.equilibria.items()):
            described = names.get_indexer(pd.Index([texts[each, policy] for each in used[policy].tolist()]))
            code, beside = described[np.searchsorted(used[policy], equilibrium.strategies)], self.beside(equilibrium)
            outcomes = {column: getattr(equilibrium, column) for column in OUTCOME_COLUMNS}
            for start in range(0, len(self.rows), ROWS_PER_PART):
                records = slice(start, start + ROWS_PER_PART)
                rows = self.rows[records]
                columns = {
                    "record": np.arange(start, start + len(rows)),
                    **{name: values[records] for name, values in beside.items()},
                    "policy": pd.Categorical.from_codes(np.full(len(rows), number), categories=policies),
                    "strategy": pd.Categorical.from_codes(code[rows], categories=names),
                    **{column: values.take(rows) for column, values in outcomes.items()},
                }
                if self.released is not None:
                    columns |= dict(self.released(policy, equilibrium.strategies.take(rows), records))
                yield pd.DataFrame(columns, copy=False)

    def frame(self) -> pd.DataFrame:
        """Return the whole table."""
        return pd.concat(list(self.parts()), ignore_index=True)

    def weighted(self) -> pd.DataFrame:
        """Return the risks of data subjects: one row per policy and row of the games.

        Columns are ``policy``, ``attacked``, ``success_probability`` and ``weight``, the number of data subjects.
        """
        columns = ("attacked", "success_probability")
        tables = [
            pd.DataFrame({"policy": policy, **{name: getattr(each, name) for name in columns}, "weight": self.weights})
            for policy, each in self.equilibria.items()
        ]
        return pd.concat(tables, ignore_index=True)


def solver_facts(equilibrium: Equilibrium, weights: NDArray[np.int64]) -> dict[str, Any]:
    """Return facts about the solver of an outcome, for manifests.

    They are its name (``solver``), whether the strategies are proved optimal (``proved_optimal``), the mean number of
    strategies evaluated per record (``strategies_evaluated_per_record``), the number of withheld records (``withheld``)
    and, if the solver computes gaps, the ``largest_gap``; see `Equilibrium`. `weights`, shape (n_rows,), is the
    number of records in each row of the equilibrium.
    """
    facts: dict[str, Any] = {
        "solver": equilibrium.solver,
        "proved_optimal": equilibrium.exact,
        "strategies_evaluated_per_record": round(float(np.average(equilibrium.evaluated, weights=weights)), 3),
        "withheld": int(weights[equilibrium.withheld].sum()),
    }
    return facts if equilibrium.gap is None else {**facts, "largest_gap": float(equilibrium.gap.max())}


@dataclass(frozen=True, eq=False)
class AnalysisTables:
    """Tables behind the figures of a scenario; each table is also an attribute.

    Parameters
    ----------
    named : mapping of str to DataFrame
        The tables by name. Most kinds of scenario have ``reidentified``, the distribution of the number of people
        re-identified under each policy, over replications (see `reidsim.games.outcomes.distribution_table`), and
        ``runtimes``, the computing time of each policy in each replication; other tables depend on the kind.
    left_out : tuple of str
        Requested tables or figures that could not be computed, each with the reason.
    """

    named: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Return the table of this name; raise AttributeError if the result has no such table."""
        # An object that is being unpickled has no fields yet.
        if name in (tables := vars(self).get("named", {})):
            return tables[name]
        raise AttributeError(f"the result has no table {name!r}; its tables are {', '.join(tables) or 'none'}")

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the non-empty tables, by name."""
        return {name: table for name, table in self.named.items() if len(table)}


@dataclass(frozen=True, eq=False)
class Played:
    """The result of playing a study.

    Parameters
    ----------
    runs : DataFrame
        Table as written to results folders.
    records : DataFrame or RecordTable
        Table of records, or its parts.
    analysis : AnalysisTables
        Tables behind the figures.
    facts : dict
        Entries for the manifest.
    warnings : tuple of str
        Warnings for readers of the results.
    by : tuple of str
        Columns of `runs` by which rows are grouped for averages.
    measured : tuple of str
        Columns of `runs` that are averaged; if empty, all measures.
    """

    runs: pd.DataFrame
    records: pd.DataFrame | RecordTable
    analysis: AnalysisTables
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    by: tuple[str, ...] = ("policy",)
    measured: tuple[str, ...] = ()


# Names and figures; each figure is drawn when the iterator reaches it.
Figures = Iterator[tuple[str, "Figure"]]


@dataclass(frozen=True)
class SharedColumns:
    """Quasi-identifiers of the shared file, and the risk that it must respect.

    Parameters
    ----------
    column_of : mapping of str to str
        Column of each attribute.
    delimiter : str
        Character between the columns of the file.
    header : bool
        Whether the file has a header. Without one, columns are numbered from 1 and are shared under the attributes'
        names.
    hierarchies : mapping of str to Table
        Sections of hierarchies in files, by attribute; only attributes with a file are included.
    stars : frozenset of str
        Attributes with a true value ``*``, which the shared file renames to distinguish it from suppression.
    person : str or tuple of str, optional
        Column, or columns together, that identify the person of a record. By default each record is a person.
    counts_release : bool
        Whether success probabilities assume an adversary who knows which people are in the file and all their
        quasi-identifiers. Success probabilities counted in the shared file must then not exceed them.
    identifies : bool
        Whether success means naming the person of a record; False if an inferred sensitive value counts as success.
    sensitive : tuple of str
        Columns whose values the scenario protects from inference.
    """

    column_of: Mapping[str, str]
    delimiter: str = ","
    header: bool = True
    hierarchies: Mapping[str, Table] | None = None
    stars: frozenset[str] = frozenset()
    person: str | tuple[str, ...] | None = None
    counts_release: bool = True
    identifies: bool = True
    sensitive: tuple[str, ...] = ()


class LimitedColumns(NamedTuple):
    """Sensitive columns, and the limits on their disclosure by a shared file.

    Attributes
    ----------
    attributes : tuple of SensitiveAttribute
        Values of all records of the release, by sensitive column.
    limits : AttributeLimits
    """

    attributes: tuple[SensitiveAttribute, ...]
    limits: AttributeLimits


class SensitiveColumn(NamedTuple):
    """A column whose values a policy protects from inference.

    Attributes
    ----------
    name : str
    m : int
        Least number of different values in an equivalence class; no value may be in more than 1/m of its rows.
    """

    name: str
    m: int


class Kind(ABC):
    """A kind of scenario.

    A subclass defines the attributes and `build`, and overrides the methods whose defaults do not fit. Results and
    stored runs (`RunResult`, `StoredRun`) are passed as they are. To share a file of records, a kind needs only
    `release_file` if each name in the scenario's ``attributes`` is both a column of the file and, with the released
    values, a column of the table of records. By default, a kind is not solved under other payoff parameters without a
    run for each (`amount_points`).

    Attributes
    ----------
    name : str
        Value of the key ``game``.
    words : str
        One sentence on the decision maker and the decision.
    schema : type of ScenarioHead
        Schema of scenario files.
    policies : mapping of str to Policy
        Policies by name; empty if the kind has no decision maker.
    decides : str
        Decision maker, ``publisher`` or ``subject``; empty if the kind has none.
    numbers_draws : bool
        Whether replications are numbered draws from the same study; if False, each is a study with its own seed.
    measures : tuple of Measure
        Measures in tables of runs, in printing order.
    measures_of_people : tuple of Measure
        The same measures, described per person, for releases with a key of people; empty if the kind has none.
    amount_keys : tuple of str
        Keys that change only payoff parameters; neither a study's data nor the validity of other sections depends on
        them.
    drawn_by : str
        Name of the module that may define `run_figures` and `sweep_figures`, which draw figures specific to the kind;
        empty if there is no such module.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    schema: ClassVar[type[ScenarioHead]]
    policies: ClassVar[Mapping[str, Policy]] = {}
    decides: ClassVar[str] = "publisher"
    measures: ClassVar[tuple[Measure, ...]] = RUN_MEASURES
    measures_of_people: ClassVar[tuple[Measure, ...]] = ()
    numbers_draws: ClassVar[bool] = False
    amount_keys: ClassVar[tuple[str, ...]] = ()
    drawn_by: str = ""

    def __init__(self) -> None:
        MADE[self.schema] = self

    # Scenarios

    @property
    def decider(self) -> str:
        """Name of the decision maker's scenario section; empty without a decision maker.

        The decision maker is a publisher or the data subjects.
        """
        return {"publisher": "publisher", "subject": "subjects"}.get(self.decides, "")

    def policies_of(self, scenario: Any) -> tuple[str, ...]:
        """Return the names of the policies that a scenario compares, in its order.

        Raises
        ------
        InputError
            If the kind has no decision maker.
        """
        if not self.decides:
            problem, expected = "this kind of scenario has no policies", "a kind of scenario with policies"
            raise InputError(problem, where="game", found=self.name, expected=expected)
        return tuple(getattr(scenario, self.decider).policies)

    def policy(self, name: str) -> Policy:
        """Return a policy by name.

        A name that the kind does not have belongs to a user-defined policy; see `OwnPolicy`.
        """
        return self.policies[name] if name in self.policies else OwnPolicy(name, f"{self.decider}.policies")

    def measures_of(self, content: Mapping[str, Any]) -> tuple[Measure, ...]:
        """Return the measures of a scenario, given as plain data, with those of the user.

        They are described per person if the scenario counts people, otherwise per record.
        """
        counts_people = counted_units(content)[0] == "person"
        measures = self.measures_of_people if self.measures_of_people and counts_people else self.measures
        return (*measures, *own_measures()) if self.decides else measures

    # Studies

    @abstractmethod
    def build(self, loaded: Scenario[Any]) -> Study[Any]:
        """Read all data that a scenario names and return its study.

        Raises
        ------
        InputError
            If a file or value cannot be used.
        """

    def build_alone(self, loaded: Scenario[Any]) -> Study[Any]:
        """Return the study of a scenario for one run; see `build`.

        It may take less memory than `build`, and is not changed to other values of the scenario.
        """
        return self.build(loaded)

    def study_of(self, loaded: Scenario[Any], *, alone: bool = False) -> Study[Any]:
        """Return the study of a scenario: the one in memory, if it has the same data, or a new one.

        See `build` and, if `alone`, `build_alone`.
        """
        held = loaded.held
        if held is not None and (held.key, held.files) == (data_key(loaded), _changes_of_files(loaded)):
            return held.study.with_loaded(loaded)
        return self.build_alone(loaded) if alone else self.build(loaded)

    def build_after(self, loaded: Scenario[Any], before: Any) -> Study[Any]:
        """Return the study of a scenario, reusing data of an earlier study.

        Data of `before` are reused if both scenarios define them equally; by default, all data are read anew.

        Raises
        ------
        InputError
            If a file or value cannot be used.
        """
        return self.build(loaded)

    def describe(self, study: Any) -> str:
        """Check that the policies can be played; return one line on the size of the study.

        By default, the line has the numbers of records and strategies, and only the game of the first draw is built.
        """
        game = study.world(0).truth
        return f"{game.n_records:,} records, {game.space.size:,} strategies"

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the part of a scenario's content that determines the data of its study.

        Scenarios with equal parts can share a study, see `Study.with_loaded`. By default, it is the whole content.
        """
        return loaded.content

    # One run

    def play(
        self,
        study: Any,
        draw: int = 0,
        policies: Sequence[str] | None = None,
        *,
        timed: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Mapping[str, PolicyOutcome]:
        """Return the outcome of each policy, by policy name.

        Strategies are chosen in the believed game and evaluated in the true game.

        Parameters
        ----------
        study : Study
        draw : int
            Number of the study's draw.
        policies : sequence of str, optional
            Names of the policies; by default the policies of the scenario.
        timed : bool
            Whether each policy must be played without shared computations, so that its seconds can be measured.
        progress : callable, optional
            Called with the numbers of steps done and in total, over all policies.

        Raises
        ------
        InputError
            If a policy cannot be played.
        """
        self.require_playable(study, draw)
        world, outcomes = study.world(draw), {}
        names = self.policies_of(study.scenario) if policies is None else tuple(policies)
        for number, name in enumerate(names):

            def report(done: int = 0, total: int = 1, number: int = number) -> None:
                if progress is not None:
                    progress(number * total + done, len(names) * total)

            report()
            begun = time.perf_counter()
            defender = self.policy(name).defender(study, draw, report)
            choice = defender.choose(world.belief)
            found = self.outcome(study, world, defender, choice)
            outcomes[name] = PolicyOutcome(found, choice, time.perf_counter() - begun)
        return outcomes

    def require_playable(self, study: Any, draw: int) -> None:  # noqa: B027 - by default, all policies can be played
        """Check that a study's policies can be played in a draw, whose number is `draw`.

        Raises `InputError` otherwise. By default, all policies can be played.
        """

    def outcome(self, study: Any, world: World, defender: Defender, choice: Choice) -> Equilibrium:
        """Return the equilibrium of a choice in the true game of `world`.

        If the policy is paid in another game (`Policy.paid_in`), it is evaluated there. A gap of the choice per record,
        if its solver computed one, is part of the result.
        """
        found = outcome_of(paid_in(defender, world.truth, choice), choice)
        gap = getattr(choice, "gap", None)
        return replace(found, gap=gap) if isinstance(gap, np.ndarray) else found

    def summarise(self, study: Any, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return averages over all records of a draw, one row per policy.

        `equilibria` are the outcomes of the policies in this draw, in the order of rows.
        There is one column per measure (`MEASURES`, then the user's); the index is ``policy``.
        """
        weights, columns = study.world(draw).weights, columns_of((*MEASURES, *own_measures()))
        rows = [averages(each, weights, study.scenario.measures.parameters) for each in equilibria.values()]
        return pd.DataFrame(rows, index=pd.Index(list(equilibria), name="policy"), columns=columns)

    def reidentified(self, study: Any, draw: int, equilibria: Mapping[str, Equilibrium]) -> dict[str, Reidentified]:
        """Return the distribution of the number of re-identified people, by policy.

        `equilibria` are the outcomes of the policies in a draw.
        """
        from reidsim.games.outcomes import reidentified_in

        weights, seed = study.world(draw).weights, study.scenario.seed
        return {
            policy: reidentified_in(equilibrium, weights, partial(random_stream, seed, "reidentified", draw, number))
            for number, (policy, equilibrium) in enumerate(equilibria.items())
        }

    def further_measures(self, study: Any, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return measures that only results of batches include; by default none.

        The table has one row per policy, in its index, and one column per measure.
        """
        return pd.DataFrame(index=pd.Index(list(equilibria), name="policy"))

    def records(self, study: Any, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame | RecordTable:
        """Return a table of outcomes, one row per record and policy; or its parts, for large tables.

        Columns are ``record`` (number, from 0), ``policy``, ``strategy`` and the outcomes; see `RecordTable`. `draw`
        is the number of the study's draw, `equilibria` are the outcomes of the policies in it.
        """
        world, rows = study.world(draw), self.row_of_record(study, draw)
        space = world.truth.space
        return RecordTable(equilibria, rows, lambda policy, strategy: space.describe(strategy), world.weights).frame()

    def row_of_record(self, study: Any, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the row of each record in the games of a draw, shape (n_records,).

        By default, the first records belong to row 0, the next ones to row 1, and so on, as many as its weight.
        """
        weights = study.world(draw).weights
        return np.repeat(np.arange(len(weights)), weights)

    def row_of_subject(self, study: Any, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the row of each data subject in the games of a draw, shape (n_subjects,).

        By default each record is a data subject. A kind in which people have several records overrides this method.
        """
        return self.row_of_record(study, draw)

    def analyse(self, study: Any, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Compute the tables behind the scenario's figures, from the first draw.

        `outcomes` are the `PolicyOutcome` of each policy in this draw, by name; `report` is called with the progress.
        By default, all tables are empty.
        """
        return AnalysisTables()

    def data_utility(self, study: Any, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return statistics of the records under each policy; by default none.

        There is one row per ``policy`` and statistic; the table is empty without statistics. `equilibria` has the
        outcome of each policy, by row of the games.
        """
        return pd.DataFrame()

    def runtimes(self, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
        """Return the computing time of each policy: columns ``policy`` and ``seconds``.

        Policies without a measured time have no row.
        """
        seconds = [(policy, outcome.seconds) for policy, outcome in outcomes.items() if outcome.seconds is not None]
        return pd.DataFrame(seconds, columns=["policy", "seconds"])

    def facts(self, study: Any) -> dict[str, Any]:
        """Return facts about a study for manifests, by key.

        ``records`` (number of records), ``strategies`` (number of strategies) and ``data_hash`` (see
        `Study.fingerprint`).
        """
        world = study.world(0)
        size = world.truth.space.size
        return {"records": int(world.weights.sum()), "strategies": size, "data_hash": study.fingerprint}

    def facts_of_policies(self, study: Any, outcomes: Mapping[str, PolicyOutcome]) -> dict[str, dict[str, Any]]:
        """Return facts about the solver of each policy, for manifests; see `solver_facts`."""
        row = self.row_of_record(study, 0)
        return {
            policy: solver_facts(outcome.equilibrium, np.bincount(row, minlength=len(outcome.equilibrium.strategies)))
            for policy, outcome in outcomes.items()
        }

    def warnings(self, study: Any, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield warnings for readers of the outcomes of a draw, as text; by default none."""
        yield from ()

    def assess(self, study: Any, report: Progress) -> Played:
        """Return the assessment of a scenario without a decision maker, as `Played`.

        `report` is called with the progress. By default, `InputError` is raised.
        """
        raise InputError("this kind of scenario has neither policies nor an assessment", where="game", found=self.name)

    # Rounds of agents

    def settings(self, study: Any) -> Callable[[str, int, int], Setting]:
        """Return a function that makes the setting of repeated rounds.

        Its arguments are the policy, the number of the study's draw, and the number of the repetition of all rounds on
        that draw. By default, adversaries differ in payoff parameters and planners, and linkage does not depend on
        which data subjects participate.

        Raises
        ------
        InputError
            If the kind is not played in rounds.
        """
        from reidsim.scenarios.agents import settings_of

        return settings_of(self, study)

    def lists(self, study: Any) -> Mapping[str, PeopleList]:
        """Return the lists of the study's people, by name of the resource; by default, there are none."""
        return {}

    # Cross-play

    def opponents(self, study: Any, options: OpponentOptions, draw: int = 0) -> tuple[Any, Opponents]:
        """Return the study for cross-play, and the adversaries that play in it.

        The returned study may differ from `study`, for example in its cells. The games of all adversaries have the rows
        of its games. An adversary that cannot play is left out, and the result contains the reason, except for the
        adversaries named below.

        Parameters
        ----------
        study : Study
        options : OpponentOptions
            Options for adversaries that the scenario does not describe. Paths must be absolute.
        draw : int
            Number of the study's random draw, from 0; see `Study.world`.

        Raises
        ------
        InputError
            If the scenario's own adversary, or an adversary that the options describe, cannot play.
        """
        from reidsim.scenarios.agents import opponents_by_planner

        return study, opponents_by_planner(study, options, draw)

    def opponent_types(self, study: Any, draw: int = 0) -> Opponents:
        """Return the adversary types of repeated rounds, and further games to plan in.

        Each type has all resources that it holds or may buy. If no adversary sets keys for rounds (`are_equipped`),
        only the further games are returned, because `opponents` already has the adversaries.
        """
        from reidsim.scenarios.agents import are_equipped, ideas_of_several, types_of_setting

        if not are_equipped(study.scenario):
            return ideas_of_several(study, draw)
        return types_of_setting(self.settings(study)(self.policies_of(study.scenario)[0], draw, 0))

    def cross_play_policies(self, study: Any) -> tuple[str, ...]:
        """Return the names of the policies of cross-play.

        They are all policies of the kind, also those that the scenario does not compare, then the scenario's others.
        """
        return tuple(dict.fromkeys((*self.policies, *self.policies_of(study.scenario))))

    # Columns

    def dropped_columns(self, study: Any) -> Any:
        """Return an object that plays the study without some of its quasi-identifiers.

        It has the attributes ``names`` (quasi-identifiers), ``policies`` (names of policies that can be played without
        some of them) and ``warnings``, and a method ``play``, which returns the equilibrium of each policy, given the
        names of the quasi-identifiers that are kept. By default, an error is raised.

        Raises
        ------
        InputError
            If the kind shares no table, or no policy can be played without some quasi-identifiers.
        """
        raise self._unable("drop columns", study)

    # Released files

    def noise_of_cells(
        self, study: Any, attribute: str, cells: pd.Series[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Return the labels of released cells with noise, and their probabilities; None without noise, as by default.

        Parameters
        ----------
        study : Study
        attribute : str
        cells : Series of str
            Column of a released file.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
            Number of the label of each cell.
        ndarray of float64, shape (n_labels, n_values)
            Probability of each label given each value of the attribute.
        """
        return None

    def play_released(
        self,
        study: Any,
        path: Path,
        key: str | None = None,
        control: Path | None = None,
        sensitive: Sequence[str] = (),
        *,
        synthetic: bool = False,
    ) -> PlayedFile:
        """Return the outcome of a released file by record, claims about people, and statistics of the file.

        `path` is the file, and `key` the column that identifies the person of a row in the file and in the scenario's
        records; by default, rows have the same order. `control` is a file of people who are not in the released file;
        without it, the table of claims has no rows. `sensitive` are the columns that an adversary infers. Rows of a
        `synthetic` file belong to no record, and the equilibrium is None. By default of a kind, an error is raised.

        Raises
        ------
        InputError
            If the kind shares no table, or a file cannot be read.
        """
        raise self._unable("evaluate released files", study)

    def _unable(self, action: str, study: Any) -> InputError:
        problem = f"this kind of scenario cannot {action}"
        return InputError(problem, source=study.loaded.path, where="game", found=self.name, expected="tables")

    # Figures, report sentences and controls

    @cached_property
    def captions(self) -> Mapping[str, Mapping[str, str]]:
        """Captions of the kind's ``figures`` and ``tables``, by name.

        They are read from ``captions.toml`` in the folder of the kind's module; empty if there is no such file.
        """
        path = self._own_file("captions.toml")
        return {} if path is None else read_toml(path)

    @property
    def question_template(self) -> Path | None:
        """Template of the report sentences on a run's question, adversaries and payoffs.

        It is ``question.jinja`` in the folder of the kind's module; None, for sentences on adversaries and payoffs
        alone, if there is no such file. Templates of the kinds of reidsim show the values and macros for it.
        """
        return self._own_file("question.jinja")

    def _own_file(self, name: str) -> Path | None:
        file = getattr(sys.modules[type(self).__module__], "__file__", None)
        path = None if file is None else Path(file).with_name(name)
        return path if path is not None and path.is_file() else None

    def figures(self, result: Any, *, of_batch: bool = False) -> Figures | None:
        """Return the figures of a run or batch that are specific to the kind.

        Each comes with its name; the result is None if there are none. They are drawn by `run_figures` or, with
        `of_batch`, `sweep_figures` of the module `drawn_by`, each when the iterator reaches it. The figures of all
        kinds are in `reidsim.figures`; figures of a batch replace them.
        """
        # Imported here because the drawing libraries are slow to import.
        name = "sweep_figures" if of_batch else "run_figures"
        draw = getattr(import_module(self.drawn_by), name, None) if self.drawn_by else None
        return None if draw is None else draw(result)

    def agents_of(self, scenario: Any) -> AgentsSection:
        """Return the section ``agents``; by default one round with one adversary."""
        return getattr(scenario, "agents", None) or AgentsSection()

    def attacker(self, scenario: Any, name: str) -> tuple[str, str | None]:
        """Return the names of the planner and of the knowledge recipe of an adversary.

        `name` is that of a section in ``adversaries``; any other name means section ``adversary``. Without a section,
        the planner is ``one-shot``. The recipe is None if the adversary has none.
        """
        section = getattr(scenario, "adversaries", {}).get(name, getattr(scenario, "adversary", None))
        return getattr(section, "planner", "one-shot"), getattr(section, "knowledge", None)

    def is_by_record(self, scenario: Any, price: Literal["gain", "cost"]) -> bool:
        """Return whether the adversary's gain, or cost, differs between records.

        `price` selects one of both. By default, the result is False.
        """
        return False

    def decision(self, scenario: Any) -> str:
        """Describe the sharing decision in a round, as a phrase.

        The text is empty, the default, if the decision is the usual one, the strategy of each record.
        """
        return ""

    # Many points

    def amounts_at_once(self, scenario: Any, keys: Sequence[str]) -> bool:
        """Return whether `amount_points` evaluates points that differ in these keys only.

        `keys` are the key paths that vary. Each point then takes milliseconds. By default, the result is False.
        """
        return False

    def plans_under_amounts(self, scenario: Any) -> bool:
        """Return whether `amount_points` can plan with other payoff parameters.

        By default, the result is False.
        """
        return False

    def amount_points(self, study: Any) -> Any:
        """Return a planner for any payoff parameters; None, the default, if not supported.

        Linkage is computed once. The planner has the attribute ``study`` and two methods: ``plan(policy, believed)``
        chooses strategies under the believed economics, ``play(strategies)`` takes given strategies. Both return an
        object with ``strategies``, ``one_shot_success`` (None if the adversary is not one-shot) and
        ``equilibrium(truth)``, the outcome under the true economics.
        """
        return None

    def takes_best(self, scenario: Any, policy: str) -> bool:
        """Return whether a policy always picks the best plan from a fixed set of plans.

        The set is fixed if it does not depend on the publisher's benefit and loss. The policy's payoff is then the
        highest one of any plan in the set. By default, the result is False.
        """
        return False

    def largest_group(self, study: Any) -> int | None:
        """Return the largest group size, in people, if attacks depend on group size alone.

        In this case an attack is profitable if the gain, divided by the group size, exceeds the cost. Otherwise, and by
        default, the result is None.
        """
        return None

    # Shared files

    def release_file(self, scenario: Any) -> str | None:
        """Return the path of the file with the shared records, as written in the scenario.

        The result is None, the default, if there is none.
        """
        return None

    def shared_columns(self, scenario: Any) -> SharedColumns:
        """Return the quasi-identifiers in the shared file; see `SharedColumns`.

        By default, each attribute of the scenario is a column of the same name in a comma-separated file with a header.

        Raises
        ------
        InputError
            If the shared records differ from the records of the file.
        """
        person = getattr(getattr(scenario, "release", None), "person", None)
        return SharedColumns({str(name): str(name) for name in getattr(scenario, "attributes", ())}, person=person)

    def sensitive_column(self, scenario: Any, policy: str) -> SensitiveColumn | None:
        """Return the column that a policy protects from inference; by default None."""
        return None

    def is_perturbed(self, policy: str) -> bool:
        """Return whether a policy releases values that may be wrong; by default False."""
        return False

    def limited_columns(
        self, scenario: Any, frame: pd.DataFrame, path: Path, hierarchies: Callable[[], Mapping[str, list[list[str]]]]
    ) -> LimitedColumns | None:
        """Return the sensitive columns with disclosure limits; by default None, no limits.

        Parameters
        ----------
        scenario : ScenarioHead
        frame : DataFrame
            All columns of the file of records.
        path : Path
            Path of this file.
        hierarchies : callable
            Returns the rows of the hierarchy files that `shared_columns` names.
        """
        return None

    def read_records(self, scenario: Any, path: Path) -> pd.DataFrame:
        """Return all columns of the shared file `path` as text, with values unchanged.

        By default, the file is comma-separated with a header, or of another format of `read_table`.

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        return read_table(path, trim=False)

    def read_batches(
        self, scenario: Any, path: Path, columns: Collection[str], place: int | None = None
    ) -> tuple[list[str], Iterator[pa.RecordBatch]]:
        """Return the column names of the shared file `path`, and some of its columns in batches, with values unchanged.

        By default, `read_records` reads them at once.

        Parameters
        ----------
        scenario : ScenarioHead
        path : Path
        columns : collection of str
            Columns of the batches; all columns if one of them does not exist.
        place : int, optional
            File of a folder of Parquet files; by default, all files.
        """
        frame = self.read_records(scenario, path)
        names = list(map(str, frame.columns))
        chosen = frame[existing(columns, names)]
        return names, iter(pa.Table.from_pandas(chosen, preserve_index=False).to_batches())

    def true_values(self, scenario: Any, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
        """Return the true quasi-identifiers of a file's records, one column per attribute.

        Values are as released without generalization, as text. `frame` has all columns of the file `path`, which
        messages name. By default, columns are those of `shared_columns`, without spaces around values.
        """
        columns = self.shared_columns(scenario).column_of
        return pd.DataFrame({name: frame[column].str.strip() for name, column in columns.items()})

    def released_values(self, scenario: Any, records: pd.DataFrame, attribute: str) -> pd.Series[Any]:
        """Return an attribute as a policy releases it, as text or a categorical of texts.

        It is ``*`` where the value is missing (suppressed).

        Parameters
        ----------
        scenario : ScenarioHead
        records : DataFrame
            Rows of the table of records for the policy. Rows with equal records may be one row, and only the columns
            strategy, success_probability, participates and those of the attributes need exist.
        attribute : str
        """
        column = records[attribute].astype("category")
        column = column.cat.rename_categories(list(map(str, column.cat.categories)))
        missing = [] if SUPPRESSED in column.cat.categories else [SUPPRESSED]
        return column.cat.add_categories(missing).fillna(SUPPRESSED)

    def is_shared(self, records: pd.DataFrame) -> NDArray[np.bool_]:
        """Return which rows of the table of records, as in `released_values`, are not withheld, shape (n_records,)."""
        return np.asarray(records["strategy"] != "withheld")


def data_key(loaded: Scenario[Any]) -> str:
    """Return a text that identifies the data of a scenario's study.

    Scenarios with equal keys differ only in values on which no data depend, such as payoff parameters and beliefs; they
    can share a study.
    """
    # Keys are not sorted, because the order of attributes determines the columns of the lattice.
    return json.dumps(kind_of(loaded.scenario).data_content(loaded), default=str)


def hold(loaded: Scenario[Any]) -> HeldStudy:
    """Return the study of a scenario with what identifies its data, for `Kind.study_of`."""
    return HeldStudy(kind_of(loaded.scenario).study_of(loaded), data_key(loaded), _changes_of_files(loaded))


def _changes_of_files(loaded: Scenario[Any]) -> dict[str, int]:
    texts = list[str]()
    with_texts(anchored(loaded.content, loaded.folder), texts.append)
    return {text: os.stat(text).st_mtime_ns for text in texts if os.path.isfile(text)}


# The registry cannot name the type of kinds, because this module needs the registry.
find_kind: Callable[..., Kind] = registry.find_kind
kind_of: Callable[[ScenarioHead], Kind] = registry.kind_of


def kind_of_content(content: Mapping[str, Any]) -> Kind:
    """Return the kind of a scenario in plain data.

    Without key ``game``, it is the default kind.

    Raises
    ------
    InputError
        If the kind is unknown.
    """
    return MADE.get(str(content.get("game"))) or find_kind(content.get("game", DEFAULT_KIND))


def kinds_at_hand() -> Iterator[Kind]:
    """Yield all installed kinds, then all kinds created in this process.

    The second part includes the installed kinds again, and kinds from users' modules. Each installed kind is imported
    when it is reached; kinds that fail to import are skipped, because scenarios of other kinds do not need them.
    """
    for name in kinds.names:
        with suppress(InputError):
            yield find_kind(name)
    yield from MADE.values()


def schemas() -> dict[str, type[ScenarioHead]]:
    """Return the schema of each kind of reidsim and of installed packages, by name."""
    return {name: find_kind(name).schema for name in kinds.names}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files, of all kinds of reidsim and of installed packages.

    See Also
    --------
    Scenario.load : read and validate a scenario.

    Examples
    --------
    >>> import reidsim
    >>> "Economics" in str(reidsim.schema())
    True
    """
    inputs, definitions = models_json_schema([(model, "validation") for model in schemas().values()], by_alias=True)
    return {"anyOf": list(inputs.values()), **definitions}


def section(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a section of plain data; empty if it is missing or not a section."""
    value = content.get(key)
    return value if isinstance(value, Mapping) else {}


def loss_text(loss: float) -> str:
    """Return a loss as text.

    A loss of 100 or more is rounded to whole units, a smaller one to three significant digits.
    """
    return f"{loss:,.0f}" if loss >= 100 else f"{loss:.3g}"


GAIN, LOSS = "economics.gain", "economics.loss"


def gain_goes_with_loss(content: Mapping[str, Any], varied: Collection[str]) -> bool:
    """Return whether the gain varies between points because it follows the loss.

    It does if the loss varies, the gain does not, and the scenario has payoff parameters but no own gain.

    Parameters
    ----------
    content : mapping
        The scenario as plain data.
    varied : collection of str
        Keys whose values vary between points.
    """
    economics = section(content, "economics")
    has_own = economics.get("gain") is not None or section(economics, "columns").get("gain") is not None
    return LOSS in varied and GAIN not in varied and "economics" in content and not has_own
