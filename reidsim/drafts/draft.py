"""Draft a scenario, hierarchies and a table of columns from a user's file."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from reidsim.audit.identifiers import named_identifier
from reidsim.core.errors import InputError, listed, locating, refuse_first, require_among, require_distinct
from reidsim.core.files import TABLE_ENDINGS, bundled_names, plain_name, resolve
from reidsim.core.tables import delimited_line, require_columns
from reidsim.core.validation import inline_toml, toml_key
from reidsim.core.wording import counted
from reidsim.drafts.choice import SET_ADVICE, Choice, ChosenColumn, choose, names_look_like_values, spelled
from reidsim.drafts.options import DraftOptions
from reidsim.drafts.people import people_keys, people_numbers, weight_column
from reidsim.drafts.preview import FilePreview
from reidsim.drafts.profile import ColumnProfile, Names, rows_with
from reidsim.drafts.roles import DIRECT, HOUSEHOLD, LEFT_OUT, PERSON, QUASI, WEIGHT, release_keys
from reidsim.populations.catalogue import load_population
from reidsim.populations.population import MOST_MONEY
from reidsim.scenarios.kind import Progress, keys_of_records
from reidsim.scenarios.schema import RESERVED_NAMES

COLUMNS_FILE = "columns.csv"
SPELLINGS_FILE = "spellings.csv"
HIERARCHIES = "hierarchies"
# Equal to the limit in `reidsim.games.directions.best_replies`, which is slow to import.
MOST_SEARCHED = 10_000_000
# Dollars per record, from Wan et al. 2015.
OF_PAPER = {"benefit": 1200.0, "loss": 300.0, "cost": 4.0}
# Reasons why columns with another role are not quasi-identifiers.
_REASONS = {
    WEIGHT: "sampling weight: the number of people that the record represents",
    PERSON: "identifies the person: rows with the same value belong to one person",
    HOUSEHOLD: "identifies the household: people with the same value live together",
}
# Maximum number of warnings about columns that are left out.
_MOST_TOLD = 20
# Maximum number of characters in a line of a list of columns.
_LINE = 120


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
    unit : str
        What counts as a person, rows or the values of a key, and why, in one sentence.
    left_out : dict of str to str
        Warning about each column that is left out although a decision about it is needed, by column.
    notes : tuple of str
        Problems of values, weights and the header.
    files : dict of str to str
        Text of each file to write, by path relative to the draft folder.
    source : FilePreview
        The records as read, for further drafts.
    roles : dict of str to str
        Role of each column that is a person key, a household key or a weight.
    """

    name: str
    records: int
    profiles: tuple[ColumnProfile, ...]
    choice: Choice
    unit: str
    left_out: dict[str, str]
    notes: tuple[str, ...]
    files: dict[str, str]
    source: FilePreview
    roles: dict[str, str]

    @property
    def scenario_file(self) -> str:
        """Path of the scenario relative to the draft folder."""
        return f"{self.name}.toml"

    @property
    def person(self) -> list[str]:
        """Columns that identify the person of a row; empty if each row is a person."""
        return [name for name, role in self.roles.items() if role == PERSON]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Problems that the user should review before using the draft."""
        left_out = list(self.left_out.values())
        if more := left_out[_MOST_TOLD:]:
            left_out[_MOST_TOLD:] = [f"{len(more)} more columns are left out: see {COLUMNS_FILE}"]
        return (*([self.unit] if self.person else []), *left_out, *self.notes)

    def role_of(self, profile: ColumnProfile) -> str:
        """Return the role of a column in the draft.

        It is quasi-identifier, person key, household key, weight, direct identifier, or left out.
        """
        if profile.name in self.choice.names:
            return QUASI
        return self.roles.get(profile.name, DIRECT if profile.is_direct else LEFT_OUT)

    def write(self, folder: Path) -> None:
        """Write the files of the draft to an existing folder.

        Existing files are overwritten, and subfolders are created.
        """
        for path, text in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8", newline="")


def name_of(data: Path) -> str:
    """Return the name of a data file without table suffixes such as ``.csv.gz``.

    The folder is not part of it.
    """
    name = data.name
    while Path(name).suffix.lower() in TABLE_ENDINGS:
        name = Path(name).stem
    return name


class UndecidedPersonError(InputError):
    """Error for identifiers with repeated values: people may have several rows.

    Parameters
    ----------
    columns : sequence of str
        Names of the identifiers.
    source : Path
        The data file.
    """

    def __init__(self, columns: Sequence[str], source: Path) -> None:
        self.columns = columns
        super().__init__(
            "the values of an identifier repeat, so a person may have several rows",
            source=source,
            where=f"column{'s' * (len(columns) > 1)} {listed(columns, 3)}",
            expected=f"--person {shlex.quote(columns[0])} if each value is one person, or --one-row-per-person",
        )


def draft_scenario(
    data: Path,
    folder: Path,
    options: DraftOptions | None = None,
    hierarchies: Mapping[str, Path] = {},
    *,
    source: FilePreview | None = None,
    progress: Progress | None = None,
) -> Draft:
    """Draft a scenario of the record-level game from a file of records.

    No file is written; see `Draft.write`.

    Parameters
    ----------
    data : Path
        CSV with a header, Parquet, Excel, Stata, SPSS or SAS.
    folder : Path
        Folder of the draft; the scenario refers to the data file relative to it.
    options : DraftOptions, optional
        Options of the user; by default everything is inferred.
    hierarchies : mapping of str to Path, optional
        Hierarchy files of quasi-identifiers, by column name; the other hierarchies are drafted.
    source : FilePreview, optional
        The file as read before; it is read again only with another encoding, sheet, reference day or vocabulary.
    progress : callable, optional
        Called with the current activity, the number of steps done and the total.

    Returns
    -------
    Draft
        The profiles, the quasi-identifiers, warnings, and the text of the files to write: the scenario, hierarchies and
        tables of columns and spellings.

    Raises
    ------
    InputError
        If the file, a column, an option or a payoff parameter (negative or not finite) cannot be used, or no column
        looks like a quasi-identifier.
    UndecidedPersonError
        If an identifier repeats, and neither the data nor the user decide whether it identifies people.
    """
    options = options or DraftOptions()
    _check_options(options)
    words = Names.read(options.names)
    if source is None or not source.is_read_with(options):
        source = FilePreview.read(data, options, progress)
    records, profiles = source.records, source.profiles
    frame = records.frame
    require_columns(frame, (*options.merge, *options.person), data)
    profiles = tuple(spelled(each, merge=True) if each.name in options.merge else each for each in profiles)
    recipe = None if options.population is None else resolve(options.population, "populations", "population")
    people = None if recipe is None else load_population(recipe)
    keys = people_keys(records, profiles, options, words)
    # Numbers of people that never repeat as written may repeat in another form.
    for key in [keys.person] if keys.person else [] if options.one_row_per_person else people_numbers(profiles, words):
        keys_of_records(frame, key, data)
    if keys.undecided:
        raise UndecidedPersonError(keys.undecided, data)
    with locating(data):
        other_use, total = (*options.quasi_identifier, *options.drop), None if people is None else people.total
        weight, weight_warnings = weight_column(profiles, other_use, total)
        roles = dict.fromkeys(keys.person, PERSON)
        roles |= {name: role for name, role in ((keys.household, HOUSEHOLD), (weight, WEIGHT)) if name}
        uses = {name: _REASONS[role] for name, role in roles.items()}
        choice = choose(profiles, frame, options, uses, people, words, hierarchies, searched=not keys.person)
        _require_use(choice, options)
    files, rules = dict[str, str](), dict[str, dict[str, object]]()
    for number, column in enumerate(choice.chosen, start=1):
        name, path = column.profile.name, f"{HIERARCHIES}/{number}-{plain_name(column.profile.name)}.csv"
        rules[name] = column.hierarchy.rule | ({"file": path} if column.hierarchy.rows else {})
        files |= {path: _delimited(column.hierarchy.rows, ";")} if column.hierarchy.rows else {}
    # The weight of a person is that of the person's first row.
    rows = ~frame.duplicated(list(keys.person)) if keys.person else records.counts
    bundled = recipe is None or options.population in bundled_names("populations")
    named = [each.name for each in profiles if each.hint is not None and each.hint.role == "direct"]
    files[f"{name_of(data)}.toml"] = _scenario_text(
        choice,
        options,
        rules=rules,
        title=data.name,
        path=_path_from(folder, data),
        delimiter=source.delimiter if source.is_text else ",",
        # The population by name, or by the path of its recipe relative to the draft folder.
        population=options.population if recipe is None or bundled else _path_from(folder, recipe),
        keys=release_keys(roles),
        # Direct identifiers by a label or a word of the user, which `share` knows only from the scenario.
        direct=[name for name in named if name not in (*roles, *choice.names) and not named_identifier(name)],
        weight=weight,
        weighted=0 if weight is None else (frame[weight].astype(float) * rows).sum(),
        search_is_short=keys.n_people * (keys.n_people + choice.strategies) <= MOST_SEARCHED,
    )
    files[COLUMNS_FILE] = _columns_table(profiles, choice)
    spellings = [
        (profile.name, spelling, profile.rows[spelling], usual, profile.rows[usual])
        for profile in (column.profile for column in choice.chosen)
        for spelling, usual in profile.spellings.items()
    ]
    if spellings:
        files[SPELLINGS_FILE] = _delimited([("column", "spelling", "rows", "usual spelling", "its rows"), *spellings])
    try:
        "".join([*files, *files.values()]).encode()
    except UnicodeEncodeError:
        raise InputError("the file name is not valid text", source=data) from None
    why = "as declared" if options.one_row_per_person else "no column repeats as an identifier would"
    unit = f"{counted(len(records), 'row')}: each row is a person ({why})"
    if keys.person:
        columns = " and ".join(map(repr, keys.person))
        repeated = f"column {columns} repeats" if len(keys.person) == 1 else f"columns {columns} repeat together"
        of_people = f"{counted(len(records), 'row')} of {counted(keys.n_people, 'person', 'people')}"
        unit = f"{repeated}: {of_people}; people are counted, not rows (release.person)"
    left_out = _left_out([each for each in profiles if each.name not in roles], choice, options.drop)
    notes = (*_notes_of_values(profiles, choice), *weight_warnings)
    return Draft(name_of(data), len(records), profiles, choice, unit, left_out, notes, files, source, roles)


def _check_options(options: DraftOptions) -> None:
    """Check the options that do not depend on the data.

    Raises
    ------
    InputError
        If `age_on` is no date, or an amount is negative or too large; if `person` names a column twice, names a
    quasi-identifier, or is combined with `one_row_per_person`; or if `unmatched_unique` is given without `population`.
    """
    try:
        date.fromisoformat(options.age_on or "2000-01-01")
    except ValueError:
        expected = "a date such as 2024-06-30"
        raise InputError("not a date", source="--age-on", found=options.age_on, expected=expected) from None
    person, where = options.person, "--person and --quasi-identifier"
    exclusive, both = "a person key and one row per person exclude", "column both the person key and a quasi-identifier"
    problem, expected = "amount out of range", f"0 to {MOST_MONEY:,.0f}"
    unmatched = options.unmatched_unique and options.population is None
    refuse_first(
        *((not 0 <= v <= MOST_MONEY, problem, f"--{k}", v, expected) for k, v in options.amounts.items()),
        *((options.one_row_per_person, f"{exclusive} each other", "--person", name, None) for name in person),
        *((name in person, both, where, name, None) for name in options.quasi_identifier),
        (unmatched, "population missing", "--unmatched-unique", None, "--population RECIPE"),
    )
    require_distinct("column named twice", person, where="--person")


def _require_use(choice: Choice, options: DraftOptions) -> None:
    """Check that the options `merge` and `age_on` apply to a quasi-identifier.

    Raises
    ------
    InputError
        If `merge` names a column that is no quasi-identifier or has no similar spellings; or if `age_on` is given and
        no quasi-identifier holds dates of birth.
    """
    require_among("not a quasi-identifier", options.merge, choice.names, where="--merge")
    profiles = [column.profile for column in choice.chosen]
    unmerged = next((each.name for each in profiles if each.name in options.merge and not each.merged), None)
    no_ages = options.age_on is not None and not any(profile.found.kind == "age" for profile in profiles)
    expected = "at least one quasi-identifier with dates of birth"
    refuse_first(
        (unmerged, "the column has no similar spellings to merge", "--merge", unmerged, None),
        (no_ages, "no quasi-identifier holds dates of birth", "--age-on", options.age_on, expected),
    )


def _path_from(folder: Path, data: Path) -> str:
    try:
        return Path(os.path.relpath(data.resolve(), folder.resolve())).as_posix()
    except ValueError:
        # No relative path exists between different drives.
        return data.resolve().as_posix()


def _scenario_text(choice: Choice, options: DraftOptions, **content: object) -> str:
    """Return the TOML text of the scenario, with comments on points to check.

    An attribute has the name of its column or, with a population, of the population's attribute. A name that results
    use for a column of their own gets the suffix ``_value``.

    Parameters
    ----------
    choice : Choice
        The quasi-identifiers.
    options : DraftOptions
        Options of the user.
    **content
        Other variables of the template ``scenario.toml.jinja``.
    """
    attributes: dict[str, ChosenColumn] = {}
    for column in choice.chosen:
        name = original = column.profile.name
        # Names of result columns are reserved.
        while name in RESERVED_NAMES or (name != original and name in choice.names):
            name += "_value"
        attributes[name if column.match is None else column.match.attribute] = column
    by_concept = {column.profile.concept: name for name, column in attributes.items()}
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"toml": inline_toml, "key": toml_key, "counted": counted, "amount": _amount}
    # Lines are not broken inside a name.
    possible = ", ".join(in_a_line(name).replace(" ", "\xa0") for name in choice.possible)
    wrapper = textwrap.TextWrapper(_LINE, "#   ", "#   ", break_long_words=False, break_on_hyphens=False)
    return templates.get_template("scenario.toml.jinja").render(
        content,
        choice=choice,
        options=options,
        attributes=attributes,
        possible=wrapper.fill(f"{possible},").replace("\xa0", " ").rstrip(",") if possible else "",
        amounts=OF_PAPER | options.amounts,
        safe_harbor={key: by_concept[c] for key, c in (("age", "age"), ("zip", "postal code")) if c in by_concept},
    )


def _amount(value: float) -> str:
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else repr(value)


def in_a_line(text: str, longest: int = 60) -> str:
    """Return a text as one printable line for a comment.

    Characters that cannot be printed, such as line breaks, become spaces. If the text has more than `longest`
    characters, it is cut there and ``...`` is appended.
    """
    shown = "".join(character if character.isprintable() else " " for character in text[:longest])
    return shown if len(text) <= longest else f"{shown}..."


def _delimited(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    return "".join(delimited_line(map(str, row), delimiter) for row in rows)


def _columns_table(profiles: Sequence[ColumnProfile], choice: Choice) -> str:
    lines: list[tuple[object, ...]] = [("column", "type", "values", "missing", "use", "why")]
    for profile in profiles:
        use, why = QUASI, "named by the user, or few values"
        if profile.name in choice.left_out:
            use, why = LEFT_OUT, choice.left_out[profile.name]
        elif profile.hint is not None:
            verb = "suggest" if profile.hint.source == "values" else "suggests"
            why = f"its {profile.hint.source} {verb} {profile.concept}"
        lines.append((profile.name, profile.kind, profile.distinct, profile.missing, use, why))
    return _delimited(lines)


def _left_out(profiles: Sequence[ColumnProfile], choice: Choice, dropped: Sequence[str]) -> dict[str, str]:
    """Return a warning about each column that is left out although a decision about it is needed, by column.

    They are columns that outsiders may know, columns with several values in a cell, and then direct identifiers.

    Parameters
    ----------
    profiles : sequence of ColumnProfile
        Profiles of the columns without another role, such as a person key.
    choice : Choice
        The quasi-identifiers.
    dropped : sequence of str
        Names of columns that the user dropped. Only direct identifiers among them have a warning.
    """
    found = dict[str, str]()
    left_out = [profile for profile in profiles if profile.name not in choice.names]
    for profile in sorted(left_out, key=lambda each: each.is_direct):
        named = f"column {profile.name!r} is left out"
        if profile.is_direct:
            found[profile.name] = f"{named}: direct identifier, {profile.reason}"
        elif profile.kind == "set" and profile.name not in dropped:
            example = f"each cell holds several values, such as {profile.example!r:.40}"
            found[profile.name] = f"{named}: {example}; to use it, {SET_ADVICE}"
        elif profile.hint and profile.hint.role == "known" and profile.name not in (*dropped, *choice.possible):
            found[profile.name] = f"{named}: {choice.left_out[profile.name]}"
    return found


def _notes_of_values(profiles: Sequence[ColumnProfile], choice: Choice) -> Iterator[str]:
    """Yield warnings about values of the quasi-identifiers and about column names, each as one text."""
    for column in choice.chosen:
        named, profile = f"column {column.profile.name!r}", column.profile
        if profile.is_direct:
            yield f"{named}, named as quasi-identifier, looks like a direct identifier, {profile.reason}"
        yield from (f"{named}: {note}" for note in (*profile.found.notes, *_notes(column)))
    single = [column.profile.name for column in choice.chosen if column.profile.distinct < 2]
    if single:
        yield f"column {single[0]!r} has one value: generalizing it changes nothing"
    if names_look_like_values(profiles):
        yield "column names look like values: does the file have a header?"


def _notes(column: ChosenColumn) -> Iterator[str]:
    """Yield notes about unread, misspelled, merged and unknown values of a column.

    Each note is a text. Unread values do not fit the column's type; unknown ones are no categories of the population. A
    column without such values has no notes.
    """
    profile, basis, unlike = column.profile, column.basis, column.hierarchy.unlike
    if unlike:
        others = "known places" if basis.kind == "category" else f"{basis.kind}s"
        yield (
            f"{len(unlike)} of {basis.distinct} values, such as {unlike[0]!r:.40}, cannot be read as {others} and form "
            "one group"
        )
    if profile.spellings:
        examples = list(profile.spellings.items())[:2]
        shown = " or ".join(f"{spelling!r:.40} for {usual!r:.40}" for spelling, usual in examples)
        yield (
            f"{len(profile.spellings)} of {basis.distinct} values may be misspelled, such as {shown}; --merge "
            f"{shlex.quote(profile.name)} merges the spellings listed in {SPELLINGS_FILE}"
        )
    if profile.merged:
        yield (
            f"{counted(len(profile.merged), 'spelling')}, such as {next(iter(profile.merged))!r:.40}, read as "
            f"{listed(sorted(set(profile.merged.values())), 4)}; the scenario lists them"
        )
    if column.match is not None and (unknown := column.match.unknown):
        yield (
            f"{counted(rows_with(profile.rows, unknown), 'row')} with a value that no person in the population has, "
            f"such as {unknown[0] or 'a missing one'!r:.40}; these rows match no person"
        )
