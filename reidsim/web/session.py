"""A session of the page: a folder with the user's file, the scenario and everything that the page writes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pandas as pd
import solara

from reidsim.core.errors import InputError
from reidsim.core.files import plain_name, read_toml, unfinished_beside
from reidsim.core.tables import delimiter_key, sheets_of, write_text_table
from reidsim.core.validation import toml_text
from reidsim.drafts.draft import UndecidedPersonError
from reidsim.drafts.preview import FilePreview, preview
from reidsim.drafts.roles import DIRECT, KEPT, LEFT_OUT, OF_SENSITIVE, PERSON, QUASI, SENSITIVE, roles_of
from reidsim.engine.exploration import Superseded, one_game
from reidsim.engine.results import RunResult, keep_private
from reidsim.engine.scenario import Scenario
from reidsim.engine.single_run import run_once
from reidsim.engine.switch import break_even
from reidsim.figures.style import policy_name
from reidsim.releases.hierarchy import Hierarchy, read_hierarchy_rows
from reidsim.reports.page.bundle import FILES, share_files
from reidsim.reports.page.decision import mean_payoffs
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.python import DraftedScenario, new
from reidsim.reports.shared.audited import summary_of
from reidsim.reports.shared.file import Releases, releases_of, verify_shared
from reidsim.reports.shared.records import MOST_SINGLED_OUT, joint_uniqueness
from reidsim.reports.writer import render
from reidsim.scenarios.hierarchies import hierarchy_section
from reidsim.scenarios.kind import counted_units, hold, kind_of
from reidsim.scenarios.scenario import HeldStudy, anchored

SCENARIO, SIGNATURE, UPLOADS = "scenario.toml", "signature.toml", "uploads"
# Has the digest of the settings with which the files of step Share were written.
_WRITTEN = "written.toml"
# Files and folders that a session writes, besides the files that the browser sent.
_FOLDERS = ("scenario-tables", "drafts", "hierarchies")
_OWN = (SCENARIO, SIGNATURE, _WRITTEN, *_FOLDERS, *(f"shared/{name}" for name in FILES))
# Place of the button that writes the files.
WRITE = ("share", "write")
_EXAMPLE = Path(__file__).with_name("hospital.csv")
T = TypeVar("T")


class Session:
    """The state of the page in one browser: a folder, and what was computed from it.

    Parameters
    ----------
    folder : Path
        Folder of the session, which exists.
    scenario : Scenario, optional
        Scenario to begin with, at step *Game*; by default, that of the folder, if there is one.

    Attributes
    ----------
    source : FilePreview or None
        The user's file, as read.
    refused : tuple of Path and sequence of str, or None
        The latest file, with its sheets, if it could not be read.
    drafted : DraftedScenario or None
        Draft for the file; None for a scenario without such a file.
    scenario : Scenario or None
        Scenario of the session; None as long as no file was read.
    first_step : str
        Name of the step at which the page opens.
    undecided : tuple of str
        Identifiers of which one may be the person key, if the user has to decide.
    is_closed : bool
        Whether computations are stopped, because the session has ended.
    progress : solara.Reactive
        Activity that reads the file, with its steps done and in total.
    changes : deque
        Changes that wait, each with the place of its control; they are made one after the other, under `changing`.
    changed_by : list
        The page of each change that was made.
    problems : dict of (str, str) to str
        Error of the last change of a control, by its place: step and key.
    """

    def __init__(self, folder: Path, scenario: Scenario | None = None) -> None:
        self.folder = folder
        # The page follows this object, so that it is the same for every file.
        self.progress: solara.Reactive[tuple[str, float, float]] = solara.reactive(("", 0.0, 1.0))
        self.changes: deque[tuple[tuple[str, str], Callable[[], object]]] = deque()
        self.changing, self.changed_by = threading.Lock(), list[object]()
        self._begin()
        if scenario is not None:
            self._open(scenario)
            self.first_step = "game"
        elif (folder / SCENARIO).is_file():
            self._open(Scenario.load(folder / SCENARIO))
        else:
            for path in sorted(folder.glob(f"{UPLOADS}/[!.]*"))[:1]:
                with suppress(InputError):
                    self.take(path)

    def _begin(self) -> None:
        self._solving, self._reading = threading.RLock(), threading.Lock()
        self._with_rounds = False
        self.problems: dict[tuple[str, str], str] = {}
        self._held: HeldStudy | None = None
        # The newest result, with its scenario, and whether it is of all rounds.
        self._latest: tuple[Scenario, bool, RunResult] | None = None
        self.source: FilePreview | None = None
        self.refused: tuple[Path, Sequence[str]] | None = None
        self.drafted: DraftedScenario | None = None
        self.scenario: Scenario | None = None
        self.undecided: tuple[str, ...] = ()
        # The scenario in which a column had a role last, by column and role that it has no longer.
        self._earlier: dict[tuple[str, str], Scenario] = {}
        self.first_step, self.is_closed = "file", False
        self.warnings: tuple[str, ...] = ()

    def _open(self, scenario: Scenario) -> None:
        """Begin with a scenario; without a file of records that drafts read, it has the step *Game* alone."""
        self.scenario, self.first_step = scenario, "game"
        content, path = scenario.content, kind_of(scenario.scenario).release_file(scenario.scenario)
        if "attributes" in content and path is not None:
            encoding, sheet = (content["release"].get(key) for key in ("encoding", "sheet"))
            with suppress(InputError):
                self.source = preview(scenario.folder / path, encoding=encoding or "utf-8", sheet=sheet)
                self.drafted, self.first_step = self._drafted(self.roles(), self._recipe), "columns"

    @property
    def required(self) -> Scenario:
        """The scenario; steps that need one are closed without it."""
        return present(self.scenario)

    def place_for(self, name: str, folder: str = UPLOADS) -> Path:
        """Return a free path for a file that the browser sends, without the parts of its name that are no file name.

        `folder` is ``hierarchies`` for hierarchies; others are `UPLOADS`, for records.
        """
        place = self.folder / ("hierarchies" if folder == "hierarchies" else UPLOADS)
        place.mkdir(exist_ok=True)
        name = Path(name).name
        suffix = "".join(Path(name).suffixes[-2:])
        taken = {path.name.partition(".")[0] for path in place.iterdir()}
        return place / (plain_name(name.removesuffix(suffix), taken) + re.sub(r"[^.\w]", "", suffix))

    def inside(self, name: str) -> Path:
        """Return the path of a file of the session, named relative to its folder.

        Raises
        ------
        InputError
            If there is no such file in the folder.
        """
        path = (self.folder / name).resolve()
        if not (path.is_relative_to(self.folder.resolve()) and path.is_file()):
            raise InputError("no such file", source=name, expected="a file of the session")
        return path

    def take(self, path: Path, **options: Any) -> None:
        """Begin with a file of the session, read with options of `preview`, and draft its scenario.

        The files of the session that belong to an earlier file are removed.

        Raises
        ------
        InputError
            If the file cannot be read; the session is then unchanged, except `refused`.
        """
        self.refused = path, sheets_of(path)
        source = self._preview(path, **options)
        before = dict(vars(self))
        with TemporaryDirectory(prefix=".before-", dir=self.folder) as place:
            self._move(self.folder, Path(place), path)
            self._begin()
            self.source = source
            try:
                self.decide()
            except InputError:
                vars(self).update(before)
                self._clear(path)
                self._move(Path(place), self.folder)
                raise

    def _preview(self, path: Path, **options: Any) -> FilePreview:
        return preview(path, progress=lambda *step: self.progress.set(step), **options)

    def take_example(self) -> None:
        """Begin with the example file of the package."""
        self.take(Path(shutil.copyfile(_EXAMPLE, self.place_for(_EXAMPLE.name))))

    def read_again(self, **options: Any) -> None:
        """Begin again with the latest file, read with another ``encoding`` or ``sheet``."""
        self.take(self.refused[0] if self.refused else present(self.source).path, **options)

    def reread(self) -> None:
        """Read the file as before, after another program has changed it; every choice of the scenario is kept.

        Raises
        ------
        InputError
            If the file no longer fits the scenario; the session is then unchanged.
        """
        source = present(self.source)
        self.source = self._preview(source.path, encoding=source.encoding, sheet=source.options.sheet)
        try:
            drafted = self._drafted(self.roles(), self._recipe)
            self._put(drafted.revise(self.required, self.roles()))
        except InputError:
            self.source = source
            raise
        self.drafted = drafted
        (self.folder / _WRITTEN).unlink(missing_ok=True)

    def decide(self, **person: Any) -> None:
        """Draft the scenario of the file that was read, if it is decided by an option of `new` who a person is."""
        try:
            self.drafted = self._new(**person)
        except UndecidedPersonError as error:
            self.undecided = tuple(error.columns)
            return
        self.undecided, self.first_step = (), "columns"
        self._put(self.drafted.scenario)

    def _files(self, folder: Path) -> list[Path]:
        """Return the files and folders in a folder that belong to a session, relative to it; others are the user's."""
        found = [*(folder / name for name in _OWN), *folder.glob(f"{UPLOADS}/*")]
        return [path.relative_to(folder) for path in found if path.exists()]

    def _move(self, folder: Path, place: Path, kept: Path | None = None) -> None:
        """Move the files of the session, except one, from a folder to another one."""
        for name in self._files(folder):
            if folder / name != kept:
                (place / name).parent.mkdir(exist_ok=True)
                (folder / name).rename(place / name)

    def _clear(self, kept: Path | None = None) -> None:
        """Remove the files of the session except one; files that the session did not write stay."""
        with TemporaryDirectory(prefix=".removed-", dir=self.folder) as place:
            self._move(self.folder, Path(place), kept)
        with suppress(OSError):
            (self.folder / "shared").rmdir()

    def change(self, values: Mapping[str, object]) -> None:
        """Change values of the scenario by key path, and write it; None removes a key.

        Raises
        ------
        InputError
            If the scenario does not allow the values; it is then unchanged.
        """
        self._put(self.required.with_(values))

    def _put(self, scenario: Scenario) -> None:
        scenario.to_toml(self.folder / SCENARIO, overwrite=True)
        keep_private(self.folder)
        self.scenario = scenario
        # It was about earlier settings.
        self.problems.pop(WRITE, None)

    def _new(self, **options: Any) -> DraftedScenario:
        """Draft the scenario of the file in a new folder, so that no file is changed that an earlier one names."""
        place = self.folder / "drafts"
        place.mkdir(exist_ok=True)
        return new(present(self.source), folder=tempfile.mkdtemp(dir=place), **options)

    def roles(self) -> dict[str, str]:
        """Return the role of each column that has one in the scenario, by column."""
        return roles_of(self.required.content)

    @property
    def _recipe(self) -> str | None:
        recipe: str | None = self.required.content.get("population", {}).get("recipe")
        return recipe

    def set_role(self, column: str, role: str) -> None:
        """Give a column another role, and draft the scenario again; what the user set otherwise is kept.

        A column that becomes sensitive or a quasi-identifier again has its earlier limits or hierarchy in a file.

        Raises
        ------
        InputError
            If the column cannot have the role; the scenario is then unchanged.
        """
        before, roles = self.required, self.roles()
        changed = {**roles, column: role}
        if QUASI not in changed.values():
            expected = "another quasi-identifier first"
            raise InputError("no quasi-identifier is left", where=column, found=role, expected=expected)
        self._draft_again(changed, self._recipe)
        self._earlier[column, roles.get(column, LEFT_OUT)] = before
        if role == KEPT:
            self._earlier.pop((column, SENSITIVE), None)
        if (earlier := self._earlier.pop((column, role), None)) is None:
            return
        if role == SENSITIVE and SENSITIVE not in roles.values():
            limits = earlier.content["publisher"]
            self.change({f"publisher.{key}": limits.get(key) for key in OF_SENSITIVE[1:]})
        if role == QUASI:
            own = anchored(earlier.content, earlier.folder)["attributes"]
            (section,) = (each for name, each in own.items() if each.get("column", name) == column)
            (name,) = (name for name, each in self.sections.items() if each.get("column", name) == column)
            if "file" in section["hierarchy"]:
                self._put_hierarchy(name, section["hierarchy"])

    def set_population(self, recipe: str | None) -> None:
        """Count groups in a population, or among the records if there is none; draft the scenario again.

        Hierarchies in files are kept if they have all values of the population.

        Raises
        ------
        InputError
            If the population lacks a quasi-identifier or a value; the scenario is then unchanged.
        """
        self._draft_again(self.roles(), recipe)

    def _draft_again(self, roles: Mapping[str, str], recipe: str | None) -> None:
        drafted, before = self._drafted(roles, recipe), present(self.drafted)
        self._put(drafted.revise(self.required, roles))
        # Unlike the options of the new draft, the reasons for the unit stay.
        self.drafted = replace(drafted, unit=before.unit) if drafted.person == before.person else drafted

    def _drafted(self, roles: Mapping[str, str], recipe: str | None) -> DraftedScenario:
        person = [name for name, role in roles.items() if role == PERSON]
        return self._new(
            quasi_identifiers=[name for name, role in roles.items() if role == QUASI],
            only_named=True,
            person=person or None,
            one_row_per_person=not person,
            population=recipe,
        )

    def columns(self) -> pd.DataFrame:
        """Return the table of columns, see `DraftedScenario.columns`, with the roles of the scenario."""
        table, roles = present(self.drafted).columns, self.roles()
        shares = [f"{float(share):.2%}" for share in table["singled_out"]]
        # Columns without a role in the scenario are left out, some of them as direct identifiers.
        drafted = table["role"].where(table["role"] == DIRECT, LEFT_OUT)
        return table.assign(role=table["column"].map(roles).fillna(drafted), singled_out=shares)

    @property
    def sections(self) -> dict[str, Any]:
        """Section of each quasi-identifier in the scenario, with absolute paths, by name."""
        sections: dict[str, Any] = anchored(self.required.content, self.required.folder).get("attributes", {})
        return sections

    def _study(self) -> Any:
        """Return the study of the scenario; an `InputError` is raised if a hierarchy of it cannot be used."""
        return self.holding(one_game(self.required)).build()

    def hierarchy(self, attribute: str) -> Hierarchy:
        """Return the hierarchy of a quasi-identifier.

        Raises
        ------
        InputError
            If a hierarchy of the scenario cannot be used.
        """
        hierarchies: tuple[Hierarchy, ...] = self._study().lattice.hierarchies
        return next(each for each in hierarchies if each.attribute.name == attribute)

    def counts(self, attribute: str) -> pd.DataFrame:
        """Return the number of records in each group of a hierarchy; see `Hierarchy.counts`."""
        return self.hierarchy(attribute).counts(self._study().value_counts[attribute])

    def edit_hierarchy(self, attribute: str, edit: Callable[[Hierarchy], Hierarchy]) -> None:
        """Replace the hierarchy of a quasi-identifier by another one, which is written as a file of the session.

        Raises
        ------
        InputError
            If `edit` refuses the change; the scenario is then unchanged.
        """
        section = hierarchy_section(edit(self.hierarchy(attribute)), SCENARIO, attribute)
        # A new file: scenarios of earlier changes name earlier files. The scenario of step Share names it, too.
        path = self.place_for(f"{plain_name(attribute)}.csv", "hierarchies")
        write_text_table(section["file"], path, levels=True)
        self._put_hierarchy(attribute, {**section, "file": str(path)})

    def read_hierarchy(self, attribute: str, path: Path) -> None:
        """Replace the hierarchy of a quasi-identifier by a file, which may lack values; see `uncovered`.

        Raises
        ------
        InputError
            If the file cannot be used; the scenario is then unchanged.
        """
        delimiter, before = delimiter_key(path), self.required
        rows = read_hierarchy_rows(path, **delimiter)
        values = present(self.drafted).values_of(attribute, self.sections[attribute])
        header = rows[0][0] not in values and all(row[0] in values for row in rows[1:2])
        self._put_hierarchy(attribute, {"rule": "table", "file": str(path), "header": header, **delimiter})
        if not self.uncovered():
            try:
                self.hierarchy(attribute)
            except InputError:
                self._put(before)
                raise

    def _put_hierarchy(self, attribute: str, hierarchy: Mapping[str, Any]) -> None:
        self.change({"attributes": {**self.sections, attribute: {**self.sections[attribute], "hierarchy": hierarchy}}})

    def uncovered(self) -> dict[str, list[str]]:
        """Return the values without a row in the hierarchy, by quasi-identifier that has some."""
        return present(self.drafted).uncovered(self.sections)

    @property
    def can_share(self) -> bool:
        """Whether the records of the scenario are from a file, so that they can be shared."""
        return kind_of(self.required.scenario).release_file(self.required.scenario) is not None

    @property
    def has_rounds(self) -> bool:
        """Whether the scenario has agents, so that the last round is released."""
        return "agents" in self.required.content

    def solve(self, *, with_rounds: bool = False) -> RunResult:
        """Return the result of the game of the scenario, or of all rounds of its agents.

        Data that do not depend on the changed values are read once.

        Raises
        ------
        Superseded
            If the scenario changes before the end, or its other result is asked for: one game, or all rounds.
        InputError
            If the scenario cannot be used.
        """
        scenario, self._with_rounds = self.required, with_rounds

        def require_wanted(*_: object) -> None:
            if scenario is not self.scenario or with_rounds != self._with_rounds or self.is_closed:
                raise Superseded

        return self._played(with_rounds, require_wanted)

    def _played(self, with_rounds: bool, progress: Callable[..., None]) -> RunResult:
        """Return the result of the scenario, which is computed once, until the scenario changes; see `solve`."""
        with self._solving:
            progress()
            scenario = self.required
            if self._latest is None or self._latest[0] is not scenario or self._latest[1] != with_rounds:
                shown = self.holding(scenario if with_rounds else one_game(scenario))
                self._latest = scenario, with_rounds, replace(run_once(shown, progress=progress), held=shown)
            return self._latest[2]

    def holding(self, scenario: Scenario) -> Scenario:
        """Return a scenario with its data in memory."""
        with self._solving:
            self._held = hold(replace(scenario, held=self._held))
            return replace(scenario, held=self._held)

    def break_even(self, scenario: Scenario) -> str:
        """Return the losses at which the best policy of a scenario changes, as HTML of the report.

        Raises
        ------
        InputError
            If the loss cannot vary.
        """

        def require_open(*_: object) -> None:
            if self.is_closed or scenario is not self.scenario:
                raise Superseded

        shown = self.holding(one_game(scenario))
        even = break_even(shown, progress=require_open)
        best = tuple(each._replace(best=(policy_name(*each.best),)) for each in even.best)
        return render("break_even", {"even": replace(even, best=best), "unit": counted_units(shown.content)[0]})

    def releases(self, result: RunResult) -> Releases | None:
        """Return the releases of a result, read back; None if its records are not from a file.

        Raises
        ------
        InputError
            If the records cannot be used.
        """
        with self._reading:
            return releases_of(StoredRun.from_result(result))

    def recommended(self, chosen: str) -> tuple[str, str, pd.DataFrame]:
        """Return the policy whose release is recommended, and whom the kept columns single out in a release.

        Parameters
        ----------
        chosen : str
            Policy of the release; "" for the best one, even if it exceeds a limit.

        Returns
        -------
        recommended : str
            "" if every release exceeds a limit, or the best one has no record.
        policy : str
            Policy of the table.
        singled_out : DataFrame
            See `joint_uniqueness`.

        Raises
        ------
        InputError
            If the records cannot be used.
        """
        result = self.solve(with_rounds=self.has_rounds)
        releases = present(self.releases(result))
        best = releases.ranked(mean_payoffs(StoredRun.from_result(result)))[0]
        is_recommended = releases.is_within_limit(best) and len(releases.by_policy[best].shared.table)
        policy = chosen if chosen in releases.by_policy else best
        shared = releases.by_policy[policy].shared
        # The read-back refuses nothing; the file would be refused above this share.
        kept = replace(shared.kept, max_singled_out=MOST_SINGLED_OUT)
        table = joint_uniqueness(replace(shared, kept=kept))
        return best if is_recommended else "", policy, table

    def keep(self, column: str, key: str, value: Any) -> None:
        """Keep a column or not (key ``share``), or give the reason why no outsider knows it (key ``reason``).

        A column that was sensitive when it was no longer kept is sensitive again.

        Raises
        ------
        InputError
            If the column cannot be kept; the scenario is then unchanged.
        """
        if key == "share":
            kept = SENSITIVE if (column, SENSITIVE) in self._earlier else KEPT
            self.set_role(column, kept if value else LEFT_OUT)
        else:
            known = {"known_to": "nobody", "reason": value.strip()} if value.strip() else {}
            self.change({"kept": {**self.required.content["kept"], column: {"share": True, **known}}})

    @property
    def signature(self) -> dict[str, str]:
        """Entries of the signature by name, and key ``policy``, the release to write; only those that the user made."""
        path = self.folder / SIGNATURE
        return read_toml(path) if path.exists() else {}

    def sign(self, key: str, value: str) -> None:
        """Write an entry of the signature, or the policy of the release to write (key ``policy``)."""
        self._write(SIGNATURE, {**self.signature, key: value})

    def _write(self, name: str, content: Mapping[str, object]) -> None:
        path, text = self.folder / name, toml_text(content)
        # The page may read the file at the same time.
        os.replace(unfinished_beside(path, lambda name: Path(name).write_text(text, encoding="utf-8")), path)

    def write_release(self, policy: str) -> None:
        """Run the scenario, and write the released file with its report, which has the signature.

        Raises
        ------
        InputError
            If a limit is exceeded; earlier files then stay.
        """
        report = {key: value for key, value in self.signature.items() if key != "policy"} | {"break_even": False}
        with TemporaryDirectory(prefix=".share-", dir=self.folder) as place:
            unfinished, shared = Path(place) / "shared", self.folder / "shared"
            # Unlike in `solve`, a computation is not stopped by what the page shows meanwhile.
            results = self._played(self.has_rounds, lambda *_: None).save(Path(place) / "results")
            _, self.warnings, _ = share_files(results, into=unfinished, policy=policy, report=report)
            for path in shared.glob("*"):
                # Files of the user, such as a signed report, stay.
                if path.name not in FILES:
                    path.rename(unfinished / path.name)
            shutil.rmtree(shared, ignore_errors=True)
            unfinished.rename(shared)
        self._write(_WRITTEN, {"settings": self._settings()})

    def _settings(self) -> str:
        """Return the digest of the scenario and of the signature."""
        found = [path.read_bytes() for name in (SCENARIO, SIGNATURE) if (path := self.folder / name).exists()]
        return hashlib.sha256(b"".join(found)).hexdigest()

    @property
    def is_outdated(self) -> bool:
        """Whether the files of step *Share* were written with other settings than the present ones."""
        path = self.folder / _WRITTEN
        return not path.exists() or read_toml(path)["settings"] != self._settings()

    def summary(self) -> str:
        """Return the facts of the file that was written, as text."""
        return summary_of(verify_shared(self.folder / "shared/shared.csv"))

    def written(self) -> list[str]:
        """Return the paths of the files to hand over, relative to the folder."""
        return [f"shared/{name}" for name in sorted(FILES) if (self.folder / "shared" / name).exists()]

    def remove(self) -> None:
        """Remove the files of the session, and begin again."""
        self._clear()
        self._begin()


def present(part: T | None) -> T:
    """Return a part of a session that needs a file; steps that need it are closed without one."""
    if part is None:
        raise InputError("no file was read", expected="a file in step File")
    return part
