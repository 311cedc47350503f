"""Drafts, reports, released records and notebook views as Python objects."""

from __future__ import annotations

import io
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame

from reidsim.core.errors import PRIVATE, reading
from reidsim.core.files import PrivateFolder, require_plain
from reidsim.core.tables import as_file, library_of, native_table, read_table
from reidsim.core.wording import counted, measures_among
from reidsim.drafts.draft import COLUMNS_FILE, Draft, draft_scenario
from reidsim.drafts.options import DraftOptions
from reidsim.drafts.preview import FilePreview
from reidsim.drafts.roles import with_roles
from reidsim.engine.batch.executors import files_reader
from reidsim.engine.cross_play import CrossPlayResult
from reidsim.engine.results import Result, RunResult, keep_private, measures_in_manifest, write_results
from reidsim.engine.scenario import Scenario
from reidsim.engine.score import ScoreResult
from reidsim.engine.stress.run import StressResult
from reidsim.figures.style import policy_name
from reidsim.games.outcomes import PUBLISHER_PAYOFF
from reidsim.releases.hierarchy import read_hierarchy_rows, uncovered
from reidsim.reports.description import Explanation, FileDescription
from reidsim.reports.page.bundle import SHARED, share_files
from reidsim.reports.page.report import report_text, require_page, write_page
from reidsim.reports.shared.records import MOST_SINGLED_OUT, Kept, numbered, people_singled_out
from reidsim.reports.study_tables import description_tables, stress_tables
from reidsim.reports.verdict import has_verdict, measures_table, verdict_of
from reidsim.reports.writer import render
from reidsim.scenarios.kind import Progress, key_columns
from reidsim.scenarios.scenario import InMemory, anchored


@dataclass(frozen=True, eq=False)
class DraftedScenario(Draft):
    """Drafted scenario: quasi-identifiers, hierarchies and a scenario that can be run.

    Created by `new`. The files are in a private temporary folder that is deleted with the object; `save` copies them.

    Parameters
    ----------
    library : str
        Library of the table of records, such as ``polars``.
    """

    _folder: Path | None = field(repr=False)
    _place: PrivateFolder = field(repr=False)
    library: str = "pandas"

    @property
    def folder(self) -> Path:
        """Folder of the files: as given to `new`, otherwise temporary, and another one for each copy of the draft."""
        return self._folder or Path(self._place.name)

    @property
    def text(self) -> str:
        """Text of the scenario file, in TOML."""
        return self.files[self.scenario_file]

    @cached_property
    def columns(self) -> pd.DataFrame:
        """Table of text with one row per column of the records.

        Columns: ``column``, ``type``, ``values`` and ``missing`` (numbers of distinct values and of rows without a
        value), ``use`` and ``why`` (reason for the use), ``role`` (quasi-identifier, person key, household key, weight,
        direct identifier, or left out), and ``singled_out`` (share of people who are the only ones with a value).
        """
        table = pd.read_csv(io.StringIO(self.files[COLUMNS_FILE]), dtype=str, keep_default_na=False)
        frame, people = self.source.records.frame, self.records
        singled_out = [list(each.rows.values()).count(1) for each in self.profiles]
        if self.person:
            of_row = frame.groupby(self.person, sort=False, observed=True).ngroup().to_numpy(dtype=np.int64)
            people = int(of_row.max()) + 1
            singled_out = [people_singled_out([column], of_row) for column in numbered(frame).values()]
        roles = [self.role_of(profile) for profile in self.profiles]
        return table.assign(role=roles, singled_out=[f"{number / people:.4f}" for number in singled_out])

    def revise(self, scenario: Scenario, roles: Mapping[str, str]) -> Scenario:
        """Return an edited scenario with the quasi-identifiers and the population of this draft, and other roles.

        Other values of the scenario stay, such as hierarchies. With another population, hierarchies in files stay if
        they have all of its values. Hierarchies that are added are files in the folder of this draft.

        Parameters
        ----------
        scenario : Scenario
            Scenario of the same records.
        roles : mapping of str to str
            Role of each column, one of `reidsim.drafts.roles.ROLES`; columns without one are left out.

        Raises
        ------
        InputError
            If a column cannot have its role.
        """
        fresh, content = (anchored(each.content, each.folder) for each in (self.scenario, scenario))
        own = {section.get("column", name): section for name, section in content["attributes"].items()}
        drafted = fresh["attributes"]
        attributes = {name: own.get(each.get("column", name), each) for name, each in drafted.items()}
        if fresh.get("population", {}).get("recipe") != content.get("population", {}).get("recipe"):
            # Names and values of attributes are those of the population.
            hierarchies = {name: each["hierarchy"] for name, each in attributes.items() if "file" in each["hierarchy"]}
            kept = {name: {**drafted[name], "hierarchy": each} for name, each in hierarchies.items()}
            lacking = self.uncovered(kept)
            attributes = drafted | {name: each for name, each in kept.items() if name not in lacking}
            # The risk counts groups in the population, or among the records.
            adversary = {**content.get("adversary", {}), "risk": fresh["adversary"]["risk"]}
            others = {key: value for key, value in content.items() if key != "population"}
            population = {key: value for key, value in fresh.items() if key == "population"}
            content = {**others, **population, "adversary": adversary}
        return scenario.with_content(with_roles({**content, "attributes": attributes}, roles))

    def uncovered(self, attributes: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the values without a row in their hierarchy, by attribute that has some.

        Values are those of the records or, with a population, of the population. Only hierarchies in files can lack
        values. `attributes` is the section of a scenario, with absolute paths.
        """
        found = {}
        for name, section in attributes.items():
            if "file" in (table := section["hierarchy"]):
                rows = read_hierarchy_rows(Path(table["file"]), delimiter=table.get("delimiter", ";"))
                if lacking := uncovered(self.values_of(name, section), rows):
                    found[name] = lacking
        return found

    def values_of(self, name: str, section: Mapping[str, Any]) -> list[str]:
        """Return the values that the hierarchy of an attribute has to cover, given its section of the scenario."""
        column = section.get("column", name)
        basis = next(each.basis for each in self.choice.chosen if each.profile.name == column)
        return list(dict.fromkeys(section.get("values", {}).get(value, value) for value in basis.rows))

    @property
    def scenario(self) -> Scenario:
        """The draft as a scenario, whose files exist as long as the scenario."""
        loaded = Scenario.load(self.folder / self.scenario_file)
        return replace(loaded, place=self._place, library=self.library)

    def run(self, *, progress: Progress | None = None) -> RunResult:
        """Play the policies of the draft against its adversary; see `Scenario.run`."""
        return self.scenario.run(progress=progress)

    def save(self, folder: str | Path) -> Path:
        """Write the scenario, hierarchies, column table and records to a new folder.

        Returns
        -------
        Path
            Path of the scenario file.

        Raises
        ------
        InputError
            If the folder is not empty or cannot be written.
        """
        write_results(Path(folder), lambda into: shutil.copytree(self.folder, into, dirs_exist_ok=True))
        return Path(folder) / self.scenario_file

    def __repr__(self) -> str:
        names = ", ".join(column.profile.name for column in self.choice.chosen)
        return f"DraftedScenario({self.name!r}: {counted(self.records, 'record')}, {names})"

    def _repr_html_(self) -> str:
        size = f"{counted(self.records, 'record')}, {self.choice.strategies:,} strategies per record"
        return _notebook_view(self.name, (), self.columns.to_html(index=False), self.warnings, size=f": {size}")


def new(
    data: IntoDataFrame | FilePreview | str | Path,
    *,
    quasi_identifiers: Sequence[str] = (),
    only_named: bool = False,
    drop: Sequence[str] = (),
    population: Any = None,
    benefit: float | None = None,
    loss: float | None = None,
    gain: float | None = None,
    cost: float | None = None,
    encoding: str | None = None,
    merge: Sequence[str] = (),
    age_on: str | None = None,
    person: str | Sequence[str] | None = None,
    one_row_per_person: bool = False,
    unmatched_unique: Sequence[str] = (),
    names: str | Path | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    sheet: str | None = None,
    name: str = "records",
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> DraftedScenario:
    """Draft a scenario from records: infer quasi-identifiers and write hierarchies.

    Parameters
    ----------
    data : DataFrame, FilePreview, str or Path
        One row per record, in memory (pandas, polars, pyarrow) or in a file format that `reidsim new` reads; or a file
        that `preview` read.
    quasi_identifiers : sequence of str
        Columns that others may know, in addition to the inferred ones.
    only_named : bool
        Whether to use only the columns in `quasi_identifiers`.
    drop : sequence of str
        Columns that are not quasi-identifiers.
    population : DataFrame, Population, str or Path, optional
        The population of the people, for journalist risk: one row per person, counted people, or the name or recipe of
        a population. Prosecutor risk if not given.
    benefit, loss, gain, cost : float, optional
        Payoff parameters per record, in one currency; one that is not given has the value of Wan et al. 2015 (Table 3),
        and the gain equals the loss.
    encoding : str, optional
        Encoding of a CSV file; UTF-8 if not given.
    merge : sequence of str
        Quasi-identifiers whose variant spellings are merged.
    age_on : str, optional
        Reference day for converting dates of birth to ages, such as ``2024-06-30``.
    person : str or sequence of str, optional
        Column, or combination of columns, that identifies the person of a row; inferred if not given.
    one_row_per_person : bool
        Whether each row is a different person even if an identifier repeats.
    unmatched_unique : sequence of str
        Columns whose values outside the population count as unique.
    names : str or Path, optional
        TOML file that extends the package vocabulary for recognizing columns.
    hierarchies : mapping of str to DataFrame, Hierarchy, str or Path, optional
        Hierarchy of each column, as a table or file with one row per value and one column per level; drafted if not
        given.
    sheet : str, optional
        Sheet of an Excel workbook; the first if not given.
    name : str
        Name of the scenario if `data` is in memory.
    folder : str or Path, optional
        Existing folder for the files of the draft, which replace files of the same names; a file of records is not
        copied. If not given, a temporary folder, with a copy.
    progress : callable, optional
        Called with the current activity, the number of steps done and the total.

    Returns
    -------
    DraftedScenario
        The draft, whose files are in the folder; `DraftedScenario.save` copies the files of a temporary folder.

    Raises
    ------
    InputError
        If the data, a column, an amount or the name cannot be used, or no column looks like a quasi-identifier.

    See Also
    --------
    describe : disclosure risk of a file.
    Scenario : description of a study.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55] * 20, "sex": ["F", "F", "M", "M"] * 20})
    >>> draft = reidsim.new(patients)
    >>> draft
    DraftedScenario('records': 80 records, age, sex)
    >>> draft.run().summary["publisher_payoff"].round(2).to_dict()
    {'no-protection': 1185.0, 'basic': 1185.0, 'no-attack': 0.0}
    """
    require_plain(name, "new: argument 'name'")
    source = data if isinstance(data, FilePreview) else None
    data = data if source is None else source.path
    place, library = PrivateFolder(), library_of(data)
    into = Path(place.name if folder is None else folder)
    with as_file(data, "new: argument 'data'", name, encoding) as given, reading(given):
        path = given if folder and isinstance(data, str | Path) else into / given.name
        if path != given:
            shutil.copyfile(given, path)
    memory, tables = InMemory(place, {}, absolute=True), InMemory(None, {}, absolute=True)
    read_with = DraftOptions() if source is None else source.options
    options = DraftOptions(
        quasi_identifier=quasi_identifiers,
        only_named=only_named,
        drop=drop,
        population=None if population is None else str(memory.plain(population, "population.recipe")),
        benefit=benefit,
        loss=loss,
        gain=gain,
        cost=cost,
        encoding=encoding or read_with.encoding,
        merge=merge,
        age_on=age_on,
        person=key_columns(person),
        one_row_per_person=one_row_per_person,
        unmatched_unique=unmatched_unique,
        names=None if names is None else Path(names),
        sheet=sheet or read_with.sheet,
    )
    files = {column: Path(tables.hierarchy_file(column, each)) for column, each in (hierarchies or {}).items()}
    draft = draft_scenario(path, into, options, files, source=source, progress=progress)
    draft.write(into)
    if folder is None:
        keep_private(into)
    return DraftedScenario(**vars(draft), _folder=None if folder is None else into, _place=place, library=library)


@dataclass(frozen=True)
class Report:
    """Report as one HTML page, displayed in notebooks.

    Parameters
    ----------
    html : str
        Text of the page.
    """

    html: str

    def __repr__(self) -> str:
        return f"Report({len(self.html):,} characters of HTML)"

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 40em; border: 1px solid #ccc"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}"></iframe>'


def report(
    result: Result | str | Path,
    path: str | Path | None = None,
    *,
    author: str = "",
    institution: str = "",
    **options: Any,
) -> Report:
    """Write the report of a result as one self-contained HTML page, or as PDF.

    Parameters
    ----------
    result : RunResult, CrossPlayResult, StressResult, str or Path
        A result, or a results folder.
    path : str or Path, optional
        New file for the report, a PDF if its name ends in ``.pdf``; if not given, no file is written.
    author, institution : str
        Author of the report and the author's institution, for the heading.
    **options
        ``decider``, ``role`` and ``decision`` (str), name and role of the person who signs, and the decision;
        ``scenario_file`` (str or Path), whose comments replace the comments stored with the run; ``shared_file`` (str
        or Path), written by `share`, by default the newest one in or beside the folder; ``break_even`` (bool), whether
        to solve the game at 10 to 25 other values of the loss, by default after a short run; ``cells`` (bool), whether
        the page has sample rows and the records with the highest risk.

    Returns
    -------
    Report
        The text of the page, which a notebook displays.

    Raises
    ------
    InputError
        If the folder contains no results, or the file exists or cannot be written.

    See Also
    --------
    share : write the records that a policy releases.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55], "sex": ["F", "F", "M", "M"]})
    >>> reidsim.new(patients).run().report()  # doctest: +ELLIPSIS
    Report(... characters of HTML)
    """
    with TemporaryDirectory(prefix=PRIVATE) as place:
        folder = Path(result) if isinstance(result, str | Path) else Path(place) / "results"
        if isinstance(result, Result):
            result.save(folder)
        if path is not None:
            require_page(Path(path))
        text = report_text(folder, author=author, institution=institution, **options)
        if path is not None:
            write_page(Path(path), text)
        return Report(text)


def share(
    result: RunResult | str | Path,
    policy: str | None = None,
    *,
    path: str | Path | None = None,
    keep: Sequence[str] = (),
    keep_identifier: Sequence[str] = (),
    keep_free_text: bool = False,
    unknown_to_outsiders: Sequence[str] = (),
    max_singled_out: float = MOST_SINGLED_OUT,
    max_risk: float | None = None,
    accept_risk: bool = False,
    data: pd.DataFrame | str | Path | None = None,
    rulebook: str | Path | None = None,
    into: str | Path | None = None,
    decider: str = "",
    role: str = "",
    decision: str = "",
    executor: Literal["serial", "dask"] = "serial",
    scheduler: str | None = None,
    allow_code: bool = False,
) -> pd.DataFrame:
    """Return the records released by a policy, with the checks of `reidsim share`.

    The records are written to a file, read back, and audited.

    Parameters
    ----------
    result : RunResult, str or Path
        A result, or a results folder.
    policy : str, optional
        Policy whose generalizations are used; required if the result contains several policies.
    path : str or Path, optional
        New CSV file for the records; its sidecar is written to the same folder.
    keep : sequence of str
        Columns to copy unchanged; columns that identify most people are refused.
    keep_identifier : sequence of str
        Columns to copy unchanged even if they identify people.
    keep_free_text : bool
        Whether to copy kept columns with free text, which may name people.
    unknown_to_outsiders : sequence of str
        Kept columns whose values no outsider can know.
    max_singled_out : float
        Maximum share of people singled out by the other kept columns.
    max_risk : float, optional
        Maximum probability that the person of a record is found, and that the record of a person is found; one in
        eleven if not given.
    accept_risk : bool
        Whether to release the records even if a risk is above the maximum, or sensitive values exceed the scenario's
        limits on inference.
    data : DataFrame, str or Path, optional
        The original records, unchanged, if their file was moved after the run, or was a table in memory.
    rulebook : str or Path, optional
        New CSV file with the rules of this release, for `apply`; do not publish it.
    into : str or Path, optional
        New folder for everything that belongs to the release, instead of `path` and `rulebook`: ``shared.csv`` and its
        sidecar, ``rulebook.csv``, ``scenario.toml``, ``report.html`` and ``report.pdf``. Publish only the first two.
    decider, role, decision : str
        Name and role of the person who signs, and the decision, for the report in the folder.
    executor : {"serial", "dask"}
        Where the files of a large table of records are read: one after the other, or on a dask cluster.
    scheduler : str, optional
        Address of the dask cluster for executor ``dask``.
    allow_code : bool
        Whether a module that the scenario names as its kind may run.

    Returns
    -------
    DataFrame
        Text, one row per released record; of the library of `data` or, without it, of the scenario's table of records.
        With pandas, ``attrs["sidecar"]`` holds the description of the file, with its risk and audit, and
        ``attrs["files"]`` the SHA-256 of each file of the folder; other libraries have it only in the file (`path`).
        Warnings are issued by `warnings.warn`.

    Raises
    ------
    InputError
        If a column identifies people, kept columns single out too many people, the result is not from single records,
        or, without `accept_risk`, a limit is exceeded.

    See Also
    --------
    report : write a report of a result.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55] * 20, "sex": ["F", "F", "M", "M"] * 20})
    >>> shared = reidsim.share(reidsim.new(patients).run(), "basic")
    >>> len(shared), shared.attrs["sidecar"]["audit"]["smallest_class"]
    (80, 20)
    """
    with ExitStack() as open_files:
        place = open_files.enter_context(TemporaryDirectory(prefix=PRIVATE))
        results = Path(result) if isinstance(result, str | Path) else Path(place) / "results"
        if isinstance(result, RunResult):
            result.save(results)
        file, folder = (None if each is None else Path(each) for each in (path, into))
        if file is None and folder is None:
            file = Path(place) / SHARED
        sidecar, notes, digests = share_files(
            results,
            file,
            into=folder,
            policy=policy,
            kept=Kept(keep, keep_identifier, keep_free_text, unknown_to_outsiders, max_singled_out),
            max_risk=max_risk,
            accept_risk=accept_risk,
            data=None if data is None else open_files.enter_context(as_file(data, "share: argument 'data'")),
            rulebook=None if rulebook is None else Path(rulebook),
            report={"decider": decider, "role": role, "decision": decision},
            allow_code=allow_code,
            over_files=files_reader(executor, scheduler),
        )
        for text in notes:
            warnings.warn(text, stacklevel=_levels_to_user())
        table = pd.DataFrame(columns=[column["name"] for column in sidecar["columns"]])
        if sidecar["records"]["shared"]:
            table = read_table(next(iter(digests)), delimiter=str(sidecar["delimiter"]), trim=False)
    table.attrs |= {"sidecar": sidecar, "files": {path.name: digest for path, digest in digests.items()}}
    # A results folder has no scenario with a table in memory.
    held = getattr(getattr(result, "held", None), "library", "pandas")
    native: pd.DataFrame = native_table(table, held if data is None else library_of(data))
    return native


def _levels_to_user() -> int:
    """Return the stack level of the line outside the package that led to the call of the caller."""
    package, frame, level = str(Path(__file__).parents[1]), sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    return level


def result_html(result: Result) -> str:
    """Return the notebook view of a result: verdict, main table and warnings.

    The view is HTML and begins with the name of the result.
    """
    return _notebook_view(result.name, verdict_of(result, policy_name).splitlines(), _table(result), result.warnings)


def description_html(description: FileDescription) -> str:
    """Return the notebook view of a file description: its tables and warnings."""
    name = description.title or description.path.name
    return _notebook_view(name, (), description_tables(description), description.warnings)


def explanation_html(explanation: Explanation) -> str:
    """Return the notebook view of an explanation: the options of adversaries, or all lines if there are none."""
    first, *lines = explanation.text.splitlines()
    options = explanation.options
    return _notebook_view(first, lines if options.empty else (), options.to_html(index=False), ())


def _notebook_view(name: str, sentences: Sequence[str], table: object, warnings: Sequence[str], size: str = "") -> str:
    context = {"name": name, "size": size, "sentences": sentences, "table": table, "warnings": warnings}
    return str(render("notebook", context)).strip()


def _table(result: Result) -> object:
    """Return the main table of a result as HTML, or its tables as tables of rich."""
    if isinstance(result, CrossPlayResult):
        return result.matrix(PUBLISHER_PAYOFF.column).map(PUBLISHER_PAYOFF.text).to_html()
    if isinstance(result, StressResult):
        return stress_tables(result, result.name)
    if not isinstance(result, RunResult | ScoreResult):
        # If there are several tables, the first one that is not empty holds the main result.
        first = next((table for table in result.stored_tables().values() if len(table)), pd.DataFrame())
        return first.to_html(index=False)
    if has_verdict(result.summary):
        return measures_table(result.summary, result.manifest["content"], policy_name)
    known = measures_among(measures_in_manifest(result.manifest), result.summary.columns).values()
    return pd.DataFrame({each.label: result.summary[each.column].map(each.text) for each in known}).to_html()
