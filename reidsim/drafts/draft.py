"""Draft a scenario, hierarchies and a table of columns from a user's file."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import pandas as pd

from reidsim.bundled import bundled_names, resolve
from reidsim.core.files import TYPED_ENDINGS, plain_name
from reidsim.core.plain_data import inline_toml
from reidsim.drafts.choice import SET_ADVICE, Choice, ChosenColumn, choose, names_look_like_values
from reidsim.drafts.names import Names
from reidsim.drafts.people import PeopleKeys, people_keys
from reidsim.drafts.profile import ColumnProfile, profile_table
from reidsim.drafts.scenario_text import Prices, scenario_text
from reidsim.drafts.spellings import spelled
from reidsim.drafts.weights import weight_column, with_weight
from reidsim.errors import InputError, listed, require_distinct
from reidsim.populations.catalogue import load_population
from reidsim.scenarios.people import keys_of_records
from reidsim.tables import (
    column_labels,
    delimited_line,
    read_table,
    refuse_encoding_of_types,
    require_columns,
    sniff_delimiter,
)
from reidsim.wording import counted

COLUMNS_FILE = "columns.csv"
SPELLINGS_FILE = "spellings.csv"
HIERARCHIES = "hierarchies"
# Equal to the limit in `reidsim.games.directions.best_replies`, which is slow to import.
MOST_SEARCHED = 20_000_000
_ENDINGS = (".gz", ".bz2", ".csv", ".tsv", ".txt", ".tab", ".data", ".parquet", *TYPED_ENDINGS)
# Maximum number of warnings of each type about single columns.
_MOST_TOLD = 10


@dataclass(frozen=True, eq=False)
class Draft:
    """Draft of a scenario: column profiles, quasi-identifiers and files to write.

    Parameters
    ----------
    name : str
        Name of the scenario.
    records : int
        Number of rows of the file.
    profiles : tuple of ColumnProfile
        Profiles of all columns, in file order.
    choice : Choice
        The quasi-identifiers.
    warnings : tuple of str
        Problems that the user should review before using the draft.
    files : dict of str to str
        Text of each file to write, by path relative to the draft folder.
    """

    name: str
    records: int
    profiles: tuple[ColumnProfile, ...]
    choice: Choice
    warnings: tuple[str, ...]
    files: dict[str, str]

    @property
    def scenario_file(self) -> str:
        """Path of the scenario relative to the draft folder."""
        return f"{self.name}.toml"

    def write(self, folder: Path) -> None:
        """Write the files to an existing folder."""
        for path, text in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8", newline="")


def name_of(data: Path) -> str:
    """Return the file name without table suffixes such as ``.csv.gz``."""
    name = data.name
    while Path(name).suffix.lower() in _ENDINGS:
        name = Path(name).stem
    return name


def draft_scenario(
    data: Path,
    folder: Path,
    *,
    named: Sequence[str] = (),
    only_named: bool = False,
    dropped: Sequence[str] = (),
    delimiter: str | None = None,
    prices: Prices | None = None,
    population: str | None = None,
    encoding: str | None = None,
    merged: Sequence[str] = (),
    age_on: str | None = None,
    person: Sequence[str] = (),
    one_row_per_person: bool = False,
    unmatched_unique: Sequence[str] = (),
    names: Path | None = None,
    hierarchies: Mapping[str, Path] | None = None,
) -> Draft:
    """Draft a scenario of the record-level game from a file of records.

    Parameters
    ----------
    data : Path
        CSV with a header, Parquet, Excel, Stata, SPSS or SAS.
    folder : Path
        Folder of the draft; the scenario refers to the data file relative to it.
    named : sequence of str
        Columns to use as quasi-identifiers, in addition to the inferred ones.
    only_named : bool
        Whether to use only the columns in `named`.
    dropped : sequence of str
        Columns that are not quasi-identifiers.
    delimiter : str, optional
        Delimiter of the CSV file; inferred if not given.
    prices : Prices, optional
        Payoff parameters; default: the values of Wan et al. 2015.
    population : str, optional
        Name or recipe of the population of the data, for journalist risk; prosecutor risk if not given.
    encoding : str, optional
        Encoding of the CSV file; UTF-8 if not given.
    merged : sequence of str
        Quasi-identifiers whose variant spellings are merged.
    age_on : str, optional
        Reference day for converting dates of birth to ages, such as ``2024-06-30``.
    person : sequence of str
        Column, or combination of columns, that identifies the person of a row; inferred if not given.
    one_row_per_person : bool
        Whether each row is a different person even if an identifier repeats.
    unmatched_unique : sequence of str
        Columns whose values outside the population count as unique.
    names : Path, optional
        File that extends the package vocabulary for recognizing columns.
    hierarchies : mapping of str to Path, optional
        Hierarchy files of quasi-identifiers, in ARX format; drafted if not given.

    Returns
    -------
    Draft

    Raises
    ------
    InputError
        If the file, a column or a payoff parameter cannot be used, or no column looks like a quasi-identifier.
    UndecidedPersonError
        If an identifier repeats, and neither the data nor the user decide whether it identifies people.
    """
    prices = prices or Prices()
    for key, value in asdict(prices).items():
        if value is not None and not 0 <= value < math.inf:
            raise InputError("amount out of range", source=f"--{key}", found=value, expected="0 or more")
    has_types = data.suffix.lower() in (".parquet", *TYPED_ENDINGS)
    if delimiter is not None and (has_types or len(delimiter) != 1 or delimiter in '"\r\n'):
        expected = "no delimiter for this file type" if has_types else "one character"
        raise InputError("invalid delimiter", source="--delimiter", found=delimiter, expected=expected)
    refuse_encoding_of_types(data, encoding)
    given, delimiter = delimiter, delimiter or sniff_delimiter(data, encoding)
    frame = read_table(data, delimiter=delimiter, encoding=encoding or "utf-8")
    if given is not None and len(frame.columns) == 1:
        _require_no_other_delimiter(data, given, encoding)
    words = Names.read(names)
    profiles = profile_table(frame, column_labels(data), None if age_on is None else _day(age_on), words)
    if merged:
        require_columns(frame, merged, data)
        profiles = tuple(spelled(each, merge=True) if each.name in merged else each for each in profiles)
    recipe = None if population is None else resolve(population, "populations", "population")
    people = None if recipe is None else load_population(recipe)
    weight, told = weight_column(profiles, (*named, *dropped), None if people is None else people.total)
    weights = () if weight is None else (weight,)
    keys = _people_keys(frame, profiles, data, named, person, words, one_row_per_person=one_row_per_person)
    if unmatched_unique and people is None:
        raise InputError("population missing", source=data, where="--unmatched-unique", expected="--population RECIPE")
    choice = choose(
        profiles,
        frame,
        data,
        named=named,
        only_named=only_named,
        dropped=(*dropped, *weights, *keys.reasons),
        population=people,
        unmatched_unique=unmatched_unique,
        names=words,
        hierarchies=hierarchies,
        searched=not keys.person,
    )
    choice.left_out.update(dict.fromkeys(weights, "sampling weight: the number of people that the record represents"))
    _require_use(choice, data, merged, age_on)
    hierarchy_files = _hierarchy_files(choice)
    choice.left_out.update(keys.reasons)
    name = name_of(data)
    text = scenario_text(
        data.name,
        _path_from(folder, data),
        None if has_types else delimiter,
        choice,
        {column: path for column, (path, _) in hierarchy_files.items()},
        prices,
        # The population by name, or by the path of its recipe relative to the draft folder.
        population if recipe is None or population in bundled_names("populations") else _path_from(folder, recipe),
        encoding,
        keys.keys,
        keys.reasons,
        search_is_short=keys.n_people * choice.strategies <= MOST_SEARCHED,
    )
    if weight is not None:
        each = frame.drop_duplicates(list(keys.person)) if keys.person else frame
        text = with_weight(text, inline_toml(weight), each[weight].astype(float).sum(), several=bool(keys.person))
    files = {f"{name}.toml": text, COLUMNS_FILE: _columns_table(profiles, choice), **dict(hierarchy_files.values())}
    if any(column.profile.spellings for column in choice.chosen):
        files[SPELLINGS_FILE] = _spellings_table(choice)
    for path, content in files.items():
        _require_text(path + content, data)
    warnings = (*keys.warnings(), *_warnings(profiles, choice, (*dropped, *weights, *keys.reasons)), *told)
    return Draft(name, len(frame), profiles, choice, warnings, files)


class UndecidedPersonError(InputError):
    """Error for a repeating identifier that may or may not identify people.

    Parameters
    ----------
    columns : tuple of str
        The repeating identifiers.
    source : Path
        The data file.
    """

    def __init__(self, columns: tuple[str, ...], source: Path) -> None:
        self.columns = columns
        shown = listed(columns, 3)
        super().__init__(
            "the values of an identifier repeat, so a person may have several rows",
            source=source,
            where=f"{'columns' if len(columns) > 1 else 'column'} {shown}",
            expected=f"--person {shlex.quote(columns[0])} if each value is one person, or --one-row-per-person",
        )


def _people_keys(
    frame: pd.DataFrame,
    profiles: Sequence[ColumnProfile],
    data: Path,
    named: Sequence[str],
    person: Sequence[str],
    words: Names,
    *,
    one_row_per_person: bool,
) -> PeopleKeys:
    """Return the person and household keys, named by the user or inferred from data."""
    where = "--person"
    if person and one_row_per_person:
        raise InputError(
            "a person key and one row per person exclude each other", source=data, where=where, found=person[0]
        )
    require_columns(frame, person, data)
    require_distinct("column named twice", person, source=data, where=where)
    both = next((name for name in person if name in named), None)
    if both is not None:
        problem = "column both the person key and a quasi-identifier"
        raise InputError(problem, source=data, where=f"{where} and --quasi-identifier", found=both)
    if person:
        keys_of_records(frame, person, data)
    keys = people_keys(frame, profiles, named, person=person, one_row_per_person=one_row_per_person, names=words)
    if keys.undecided:
        raise UndecidedPersonError(keys.undecided, data)
    return keys


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError("not a date", source="--age-on", found=text, expected="a date such as 2024-06-30") from None


def _require_use(choice: Choice, data: Path, merged: Sequence[str], age_on: str | None) -> None:
    """Check that `merged` and `age_on` apply to a quasi-identifier."""
    chosen = {column.profile.name: column.profile for column in choice.chosen}
    for name in merged:
        if name not in chosen:
            problem, expected = "not a quasi-identifier", f"one of {listed(chosen)}"
            raise InputError(problem, source=data, where="--merge", found=name, expected=expected)
        if not chosen[name].merged:
            raise InputError("the column has no similar spellings to merge", source=data, where="--merge", found=name)
    if age_on is not None and not any("age_on" in profile.found.content for profile in chosen.values()):
        expected = "at least one quasi-identifier with dates of birth"
        raise InputError(
            "no quasi-identifier holds dates of birth", source=data, where="--age-on", found=age_on, expected=expected
        )


def _spellings_table(choice: Choice) -> str:
    lines = [("column", "spelling", "rows", "usual spelling", "its rows")]
    for column in choice.chosen:
        rows = dict(zip(column.profile.labels, column.profile.counts, strict=True))
        for spelling, usual in column.profile.spellings.items():
            lines.append((column.profile.name, spelling, str(rows[spelling]), usual, str(rows[usual])))
    return "".join(map(delimited_line, lines))


def _require_no_other_delimiter(data: Path, given: str, encoding: str | None) -> None:
    """Check that no other delimiter splits a file that the given one leaves unsplit."""
    other = sniff_delimiter(data, encoding)
    try:
        several = len(read_table(data, delimiter=other, encoding=encoding).columns)
    except InputError:
        return
    if several > 1:
        raise InputError(
            "the delimiter does not separate columns",
            source=data,
            where="--delimiter",
            found=given,
            expected=repr(other),
            hint=f"the expected delimiter gives {several} columns; omit the option to detect the delimiter",
        )


def _hierarchy_files(choice: Choice) -> dict[str, tuple[str, str]]:
    """Return the path and text of each written hierarchy file, by column."""
    files: dict[str, tuple[str, str]] = {}
    for number, column in enumerate(choice.chosen, start=1):
        if column.hierarchy.rows:
            text = "".join(delimited_line(row, ";") for row in column.hierarchy.rows)
            files[column.profile.name] = (f"{HIERARCHIES}/{number}-{plain_name(column.profile.name)}.csv", text)
    return files


def _path_from(folder: Path, data: Path) -> str:
    try:
        return Path(os.path.relpath(data.resolve(), folder.resolve())).as_posix()
    except ValueError:
        # No relative path exists between different drives.
        return data.resolve().as_posix()


def _columns_table(profiles: Sequence[ColumnProfile], choice: Choice) -> str:
    chosen = {column.profile.name for column in choice.chosen}
    lines = [("column", "type", "values", "missing", "use", "why")]
    for profile in profiles:
        use = "quasi-identifier" if profile.name in chosen else "left out"
        why = choice.left_out.get(profile.name, _why_taken(profile))
        lines.append((profile.name, profile.kind, str(profile.distinct), str(profile.missing), use, why))
    return "".join(map(delimited_line, lines))


def _why_taken(profile: ColumnProfile) -> str:
    if profile.hint is None:
        return "named by the user, or few values"
    verb = "suggest" if profile.hint.source == "values" else "suggests"
    return f"its {profile.hint.source} {verb} {profile.concept}"


def _warnings(profiles: Sequence[ColumnProfile], choice: Choice, dropped: Sequence[str]) -> tuple[str, ...]:
    chosen = {column.profile.name: column.profile for column in choice.chosen}
    direct = [profile for profile in profiles if profile.is_direct]
    warnings = [
        f"column {profile.name!r}, named as quasi-identifier, looks like a direct identifier, {profile.reason}"
        for profile in direct
        if profile.name in chosen
    ]
    left = [profile for profile in direct if profile.name not in chosen]
    warnings += [
        f"column {profile.name!r} is left out: direct identifier, {profile.reason}" for profile in left[:_MOST_TOLD]
    ]
    if len(left) > _MOST_TOLD:
        warnings.append(f"{len(left) - _MOST_TOLD} more direct identifiers are left out: see {COLUMNS_FILE}")
    warnings += [
        f"column {profile.name!r} is left out: each cell holds several values, such as "
        f"{next(value for value in profile.values if profile.separator in value)!r:.40}; to use it, {SET_ADVICE}"
        for profile in profiles
        if profile.kind == "set" and profile.name not in dropped
    ][:_MOST_TOLD]
    warnings += [
        f"column {profile.name!r} is left out: {choice.left_out[profile.name]}"
        for profile in profiles
        if profile.hint is not None
        and profile.hint.role == "known"
        and profile.kind != "set"
        and profile.name in choice.left_out
        and not profile.is_direct
        and profile.name not in (*choice.possible, *dropped)
    ][:_MOST_TOLD]
    for column in choice.chosen:
        warnings += [f"column {column.profile.name!r}: {note}" for note in column.profile.found.notes]
        warnings += _value_warnings(column)
    single = [name for name, profile in chosen.items() if profile.distinct < 2]
    if single:
        warnings.append(f"column {single[0]!r} has one value: generalizing it changes nothing")
    if names_look_like_values(profiles):
        warnings.append("column names look like values: does the file have a header?")
    return tuple(warnings)


def _value_warnings(column: ChosenColumn) -> list[str]:
    """Return warnings about unread, misspelled, merged and unknown values of a column."""
    name, told = column.profile.name, []
    of = column.profile if column.match is None else column.match.profile
    unlike, near = column.hierarchy.unlike, column.profile.spellings
    if unlike:
        others = "known places" if of.kind == "category" else f"{of.kind}s"
        told.append(
            f"column {name!r}: {len(unlike)} of {of.distinct} values, such as {unlike[0]!r:.40}, cannot be read as "
            f"{others} and form one group"
        )
    if near:
        shown = [f"{spelling!r:.40} for {usual!r:.40}" for spelling, usual in list(near.items())[:2]]
        told.append(
            f"column {name!r}: {len(near)} of {of.distinct} values may be misspelled, such as "
            f"{' or '.join(shown)}; --merge {shlex.quote(name)} merges the spellings listed in {SPELLINGS_FILE}"
        )
    merged = column.profile.merged
    if merged:
        told.append(
            f"column {name!r}: {counted(len(merged), 'spelling')}, such as {next(iter(merged))!r:.40}, read as "
            f"{listed(sorted(set(merged.values())), 4)}; the scenario lists them"
        )
    if column.match is not None and column.match.unknown:
        rows = dict(zip(column.profile.labels, column.profile.counts, strict=True))
        strange = column.match.unknown
        told.append(
            f"column {name!r}: {counted(sum(rows[value] for value in strange), 'row')} with a value that no person in "
            f"the population has, such as {strange[0] or 'a missing one'!r:.40}; these rows match no person"
        )
    return told


def _require_text(text: str, data: Path) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError("the file name is not valid text", source=data) from None


def columns_by_use(draft: Draft) -> Mapping[str, list[ColumnProfile]]:
    """Group the columns of a draft by use.

    The keys are "quasi-identifier", "direct identifier", "possible" (excluded columns that an adversary may know
    nevertheless) and "other".
    """
    chosen = {column.profile.name for column in draft.choice.chosen}
    found: dict[str, list[ColumnProfile]] = {
        "quasi-identifier": [],
        "direct identifier": [],
        "possible": [],
        "other": [],
    }
    for profile in draft.profiles:
        if profile.name in chosen:
            found["quasi-identifier"].append(profile)
        elif profile.is_direct:
            found["direct identifier"].append(profile)
        else:
            found["possible" if profile.name in draft.choice.possible else "other"].append(profile)
    return found
