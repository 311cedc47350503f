"""Studies (scenarios with their data), their games and results."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, refuse_rows
from reidsim.core.tables import require_columns
from reidsim.core.wording import counted
from reidsim.games.measures import HOUSEHOLD_RISK
from reidsim.populations.population import Population
from reidsim.scenarios.adversary_schema import AdversarySection
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead

if TYPE_CHECKING:
    from reidsim.games.cross_play import Game
    from reidsim.games.record_game import Choice, Equilibrium
    from reidsim.populations.population import Counts

Keys = NDArray[np.intp]

# Texts that mean a missing key, in lower case. They are refused, because rows without a key would form one person.
_MISSING = ("", "na", "n/a", "nan", "null", "none", ".")
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

    The text is empty for a run without a released file.

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
        If a column does not exist, or a value is missing; the message names the row.
    """
    require_columns(frame, key_columns(key), source)
    values = [frame[column].str.strip() for column in key_columns(key)]
    for text in values:
        missing, expected = text.str.lower().isin(_MISSING), "a value in every row"
        refuse_rows(missing, "value missing", source=source, column=text.name, expected=expected)
    return np.asarray(frame.groupby(values, sort=False, observed=True).ngroup(), dtype=np.intp)


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
        found=amounts if keys is not None else None,
        expected=expected,
    )


def require_distinct_people(frame: pd.DataFrame, column: str, source: str | Path) -> None:
    """Check that no person has two rows.

    `column` of `frame` identifies the person; `source` is the file in messages.

    Raises
    ------
    InputError
        If the column does not exist, a person has two rows (the message names the second one), or a cell is empty.
    """
    person = keys_of_records(frame, column, source)
    first = np.unique(person, return_index=True)[1][person]
    refuse_rows(
        first != np.arange(len(person)),
        "person given twice",
        source=source,
        column=column,
        expected=lambda row: f"one row for each subject; row {int(first[row]) + 1} has the same key",
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
S = TypeVar("S", bound=ScenarioHead)


@dataclass(frozen=True)
class World:
    """The true and the believed game of one draw of a study.

    Parameters
    ----------
    truth : RecordGame or MaskingGame
        Game in which outcomes are evaluated.
    belief : RecordGame or MaskingGame
        Game in which the decision maker plans.
    weights : ndarray of int64, shape (n_rows,)
        Number of records that each row of the games represents.
    """

    truth: Game
    belief: Game
    weights: Counts


@dataclass(frozen=True, eq=False)
class Study(ABC, Generic[S]):
    """A scenario together with the data that it names.

    Parameters
    ----------
    loaded : Scenario
    """

    loaded: Scenario[S]

    @property
    def scenario(self) -> S:
        """The validated scenario, with overrides applied."""
        return self.loaded.scenario

    @property
    def draws(self) -> int:
        """Number of draws (numbered replications, see `Kind.numbers_draws`) in one run."""
        return 1

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of the data that affect results."""

    @abstractmethod
    def world(self, draw: int = 0) -> World:
        """Return the true and the believed game of a draw; see `World`.

        Raises
        ------
        InputError
            If the scenario does not fit its data, or has no decision maker.
        """

    def by_subject(self) -> Self:
        """Return the study with one row per data subject; by default, the study itself.

        Used after rounds in which data subjects with identical records had different releases; see `Setting.split`.
        """
        return self

    def with_loaded(self, loaded: Scenario[S]) -> Self:
        """Return the study of another scenario with the same data, without reading them.

        The scenarios may differ only in keys on which no data depend, such as payoff parameters; see
        `Kind.data_content`.
        """
        return replace(self, loaded=loaded)

    def with_adversary(self, section: AdversarySection) -> Self:
        """Return the study of the same records against another adversary.

        `section` describes the adversary.

        Raises
        ------
        InputError
            If the kind does not support the adversary.
        """
        return self.with_sections(adversary=section)

    def with_sections(self, **sections: object) -> Self:
        """Return the study with some sections of the scenario replaced, on the same data.

        `sections` are validated sections by name; they are not validated again.
        """
        return replace(self, loaded=self.loaded.with_sections(**sections))


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


def record_table(
    equilibria: Mapping[str, Equilibrium],
    rows: np.ndarray[Any, np.dtype[np.intp]],
    describe: Callable[[int], str],
    *,
    beside: Callable[[Equilibrium], Mapping[str, Any]] = lambda found: {},
    released: Callable[[Equilibrium], pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Return one row per record and policy.

    Parameters
    ----------
    equilibria : mapping of str to Equilibrium
        Equilibrium of each policy.
    rows : ndarray of intp, shape (n_records,)
        Row of each record in the games.
    describe : callable
        Returns the description of a strategy, given its number.
    beside : callable, optional
        Returns additional columns, shape (n_records,), given a policy's equilibrium by row of the games. They are
        inserted after the record number.
    released : callable, optional
        Returns additional columns, shape (n_records,), given a policy's equilibrium by record. They are appended after
        the outcomes.

    Returns
    -------
    DataFrame
        Columns record, policy, strategy, publisher_payoff, adversary_payoff, attacked, success_probability, utility,
        generalization_intensity, and the additional columns; records are numbered from 0. All records of the first
        policy come first. The strategy of a withheld record is ``withheld``.
    """
    used = np.unique(np.concatenate([each.strategies for each in equilibria.values()]))
    # A negative number means that the record is withheld.
    strategies = pd.Index(["withheld" if each < 0 else describe(each) for each in used.tolist()], dtype="str")
    policies = pd.Index(list(equilibria), dtype="str")

    def of_policy(number: int, equilibrium: Equilibrium) -> pd.DataFrame:
        each = equilibrium.expand(rows)
        code = np.searchsorted(used, equilibrium.strategies).astype(np.int32)[rows]
        outcome = pd.DataFrame(
            {
                "record": np.arange(len(rows)),
                **beside(equilibrium),
                "policy": pd.Categorical.from_codes(np.full(len(rows), number), categories=policies),
                "strategy": pd.Categorical.from_codes(code, categories=strategies),
                "publisher_payoff": each.publisher_payoff,
                "adversary_payoff": each.adversary_payoff,
                "attacked": each.attacked,
                "success_probability": each.success_probability,
                "utility": each.utility,
                "generalization_intensity": each.generalization_intensity,
            }
        )
        return outcome if released is None else pd.concat([outcome, released(each)], axis=1)

    return pd.concat([of_policy(*each) for each in enumerate(equilibria.values())], ignore_index=True)


def solver_facts(equilibrium: Equilibrium, row_of_record: np.ndarray[Any, np.dtype[np.intp]]) -> dict[str, Any]:
    """Return facts about the solver of an outcome, for manifests.

    They are its name (``solver``), whether the strategies are proved optimal (``proved_optimal``), the mean number of
    strategies evaluated per record (``strategies_evaluated_per_record``), the number of withheld records (``withheld``)
    and, if the solver computes gaps, the ``largest_gap``; see `Equilibrium`. `row_of_record`, shape (n_records,), is
    the row of each record in the equilibrium.
    """
    facts: dict[str, Any] = {
        "solver": equilibrium.solver,
        "proved_optimal": equilibrium.exact,
        "strategies_evaluated_per_record": round(float(equilibrium.evaluated[row_of_record].mean()), 3),
        "withheld": int(equilibrium.withheld[row_of_record].sum()),
    }
    return facts if equilibrium.gap is None else {**facts, "largest_gap": float(equilibrium.gap.max())}


@dataclass(frozen=True, eq=False, kw_only=True)
class AnalysisTables:
    """Tables behind the figures of a scenario; each table is also an attribute.

    A table that is not requested is empty.

    Parameters
    ----------
    runtimes : DataFrame
        Computing time of each policy in each replication: ``replication``, ``policy``, ``seconds``.
    reidentified : DataFrame
        Distribution of the number of people re-identified under each policy, over replications; see
        `reidsim.games.measures.distribution_table`.
    left_out : tuple of str
        Requested tables or figures that could not be computed, each with the reason.
    further : mapping of str to DataFrame
        Tables of the kind of scenario, by name.
    """

    runtimes: pd.DataFrame = field(default_factory=pd.DataFrame)
    reidentified: pd.DataFrame = field(default_factory=pd.DataFrame)
    left_out: tuple[str, ...] = ()
    further: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        """Return a table of the kind of scenario; it is empty if it was not requested."""
        if name.startswith("_"):
            raise AttributeError(name)
        return vars(self).get("further", {}).get(name, pd.DataFrame())

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the non-empty tables, by name."""
        every = (vars(self) | {**self.further}).items()
        return {name: value for name, value in every if isinstance(value, pd.DataFrame) and len(value)}


@dataclass(frozen=True, eq=False)
class Played:
    """The result of playing a study.

    Parameters
    ----------
    runs, records : DataFrame
        Tables as written to results folders.
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
    records: pd.DataFrame
    analysis: AnalysisTables
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    by: tuple[str, ...] = ("policy",)
    measured: tuple[str, ...] = ()
