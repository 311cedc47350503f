"""A session of the page: a folder with the user's file, the scenario and everything that the page writes."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pandas as pd
import solara
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from reidsim.core.errors import InputError
from reidsim.core.files import plain_name
from reidsim.core.tables import sniff_delimiter
from reidsim.drafts.draft import UndecidedPersonError
from reidsim.drafts.preview import FilePreview, preview
from reidsim.drafts.roles import DIRECT, KEPT, LEFT_OUT, PERSON, QUASI, roles_of, with_roles
from reidsim.engine.batch.design import at_point
from reidsim.engine.exploration import Superseded, one_game
from reidsim.engine.results import RunResult, keep_private
from reidsim.engine.scenario import Scenario
from reidsim.engine.single_run import run_once
from reidsim.engine.switch import break_even
from reidsim.figures.style import policy_name
from reidsim.releases.hierarchy import Hierarchy, read_hierarchy_rows, uncovered
from reidsim.reports.page.bundle import share_files
from reidsim.reports.page.decision import mean_payoffs
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.python import DraftedScenario, new
from reidsim.reports.shared.audited import summary_of
from reidsim.reports.shared.file import Releases, releases_of, verify_shared
from reidsim.reports.writer import render
from reidsim.scenarios.kind import counted_units, hold, kind_of
from reidsim.scenarios.scenario import HeldStudy, anchored

SCENARIO = "scenario.toml"
# Files and folders that a session writes, besides the files that the browser sent.
_OWN = (SCENARIO, "scenario-tables", "drafts", "hierarchies", "shared", ".shared")
_EXAMPLE = Path(__file__).with_name("hospital.csv")
# Largest file that a browser may send, in bytes.
MOST_BYTES = 4 * 2**30
T = TypeVar("T")


class Session:
    """The state of the page in one browser: a folder, and what was computed from it.

    Parameters
    ----------
    folder : Path
        Folder of the session, which exists.
    is_temporary : bool
        Whether the folder is removed with the session.

    Attributes
    ----------
    source : FilePreview or None
        The user's file, as read.
    drafted : DraftedScenario or None
        Draft for the file; None for a scenario without such a file.
    scenario : Scenario or None
        Scenario of the session; None as long as no file was read.
    undecided : tuple of str
        Identifiers of which one may be the person key, if the user has to decide.
    progress : solara.Reactive
        Activity that reads the file, with its steps done and in total.
    changes : deque
        Changes that wait, each with the key of its control; they are made one after the other, under `changing`.
    """

    def __init__(self, folder: Path, *, is_temporary: bool) -> None:
        self.folder = folder
        self.is_temporary = is_temporary
        # The page follows this object, so that it is the same for every file.
        self.progress: solara.Reactive[tuple[str, float, float]] = solara.reactive(("", 0.0, 1.0))
        self.changes: deque[tuple[str, Callable[[], object]]] = deque()
        self.changing = threading.Lock()
        self._begin()
        if (folder / SCENARIO).is_file():
            self.open(Scenario.load(folder / SCENARIO))
        else:
            for path in sorted(folder.glob("uploads/[!.]*"))[:1]:
                self.take(path)

    def _begin(self) -> None:
        self._solving, self._reading = threading.RLock(), threading.Lock()
        self._newest = 0
        self._held: HeldStudy | None = None
        self._released: Releases | None = None
        self.source: FilePreview | None = None
        self.drafted: DraftedScenario | None = None
        self.scenario: Scenario | None = None
        self.undecided: tuple[str, ...] = ()
        self.starts_at_game = self.is_closed = False
        self.warnings: tuple[str, ...] = ()

    def open(self, scenario: Scenario) -> None:
        """Begin with a scenario; without a file of records that drafts read, it has the step *Game* alone."""
        self.scenario = scenario
        content, path = scenario.content, kind_of(scenario.scenario).release_file(scenario.scenario)
        if "attributes" in content and path is not None:
            encoding, sheet = (content["release"].get(key) for key in ("encoding", "sheet"))
            with suppress(InputError):
                self.source = preview(scenario.folder / path, encoding=encoding or "utf-8", sheet=sheet)
                self.drafted = self._drafted(self.roles(), content.get("population", {}).get("recipe"))

    def start(self, scenario: Scenario) -> None:
        """Begin with a scenario, as a single run, at step *Game*."""
        self.open(at_point(Scenario.load(scenario), {}))  # type: ignore[arg-type]
        self.starts_at_game = True

    @property
    def first_step(self) -> str:
        """Name of the step at which the page opens."""
        if self.scenario is None:
            return "file"
        return "game" if self.starts_at_game or self.drafted is None else "columns"

    @property
    def required(self) -> Scenario:
        """The scenario; steps that need one are closed without it."""
        return present(self.scenario)

    def place_for(self, name: str, folder: str = "uploads") -> Path:
        """Return a free path for a file that the browser sends, without the parts of its name that are no file name.

        `folder` is ``uploads`` for records and ``hierarchies`` for hierarchies.
        """
        place = self.folder / folder
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
        """Begin with a file that the browser sent, read with options of `preview`, and draft its scenario.

        The files of the session that belong to an earlier file are removed.
        """
        self._clear(path)
        self._begin()
        self.source = preview(path, progress=lambda *step: self.progress.set(step), **options)
        self.decide()

    def take_example(self) -> None:
        """Begin with the example file of the package."""
        self._clear()
        self.take(Path(shutil.copyfile(_EXAMPLE, self.place_for(_EXAMPLE.name))))

    def read_again(self, **options: Any) -> None:
        """Read the file again with another ``encoding`` or ``sheet``."""
        source = present(self.source)
        self.take(source.path, **{"encoding": source.encoding, "sheet": source.options.sheet, **options})

    def decide(self, **person: Any) -> None:
        """Draft the scenario of the file that was read, if it is decided by an option of `new` who a person is."""
        try:
            self.drafted = new(present(self.source), folder=self._fresh("drafts"), **person)
        except UndecidedPersonError as error:
            self.undecided = tuple(error.columns)
            return
        self.undecided = ()
        self._put(self.drafted.scenario)

    def _clear(self, kept: Path | None = None) -> None:
        """Remove the files of the session except one; files that the session did not write stay."""
        for path in (*(self.folder / name for name in _OWN), *self.folder.glob("uploads/*")):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.is_file() and path != kept:
                path.unlink()

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
        # A result of the earlier scenario is no longer needed.
        self._newest += 1

    def _fresh(self, name: str) -> Path:
        """Return a new folder, so that no file is changed that an earlier scenario names."""
        place = self.folder / name
        place.mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(dir=place))

    def roles(self) -> dict[str, str]:
        """Return the role of each column that has one in the scenario, by column."""
        return roles_of(self.required.content)

    @property
    def _recipe(self) -> str | None:
        recipe: str | None = self.required.content.get("population", {}).get("recipe")
        return recipe

    def set_role(self, column: str, role: str) -> None:
        """Give a column another role, and draft the scenario again; what the user set otherwise is kept.

        Raises
        ------
        InputError
            If the column cannot have the role; the scenario is then unchanged.
        """
        self._redraft({**self.roles(), column: role}, self._recipe)

    def set_population(self, recipe: str | None) -> None:
        """Count groups in a population, or among the records if there is none; draft the scenario again.

        Hierarchies in files are kept if they have all values of the population.

        Raises
        ------
        InputError
            If the population lacks a quasi-identifier or a value; the scenario is then unchanged.
        """
        self._redraft(self.roles(), recipe)

    def _drafted(self, roles: Mapping[str, str], recipe: str | None) -> DraftedScenario:
        person = [name for name, role in roles.items() if role == PERSON]
        return new(
            present(self.source),
            quasi_identifiers=[name for name, role in roles.items() if role == QUASI],
            only_named=True,
            person=person or None,
            one_row_per_person=not person,
            population=recipe,
            folder=self._fresh("drafts"),
        )

    def _redraft(self, roles: Mapping[str, str], recipe: str | None) -> None:
        drafted, before = self._drafted(roles, recipe), self.required
        fresh, content = (anchored(each.content, each.folder) for each in (drafted.scenario, before))
        own = {section.get("column", name): section for name, section in content["attributes"].items()}
        drawn = fresh["attributes"]
        found = {name: own.get(each.get("column", name), each) for name, each in drawn.items()}
        if recipe != self._recipe:
            # Names and values of attributes are those of the population.
            found = {name: {**each, "hierarchy": found[name]["hierarchy"]} for name, each in drawn.items()}
            lacking = _lacking(found, drafted, Path())
            found = {name: each if lacking.get(name) == [] else drawn[name] for name, each in found.items()}
            content = {key: value for key, value in content.items() if key not in ("population", "adversary")}
            content |= {key: fresh[key] for key in ("population", "adversary") if key in fresh}
        self._put(before.with_content(with_roles({**content, "attributes": found}, roles)))
        self.drafted = drafted

    def columns(self) -> pd.DataFrame:
        """Return the table of columns, see `DraftedScenario.columns`, with the roles of the scenario."""
        table, roles = present(self.drafted).columns, self.roles()
        shares = [f"{float(share):.2%}" for share in table["singled_out"]]
        # Columns without a role in the scenario are left out, some of them as direct identifiers.
        drafted = table["role"].where(table["role"] == DIRECT, LEFT_OUT)
        return table.assign(role=table["column"].map(roles).fillna(drafted), singled_out=shares)

    @property
    def attributes(self) -> list[str]:
        """Names of the quasi-identifiers in the scenario."""
        return list(self.required.content.get("attributes", {}))

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
        self._put_hierarchy(attribute, edit(self.hierarchy(attribute)))

    def read_hierarchy(self, attribute: str, path: Path) -> None:
        """Replace the hierarchy of a quasi-identifier by a file, which may lack values; see `uncovered`.

        Raises
        ------
        InputError
            If the file cannot be used; the scenario is then unchanged.
        """
        delimiter, before = sniff_delimiter(path), self.required
        rows, own = read_hierarchy_rows(path, delimiter=delimiter), before.content["attributes"][attribute]
        section = {"rule": "table", "file": str(path), "delimiter": delimiter}
        values = _values(own.get("column", attribute), own, present(self.drafted))
        header = rows[0][0] not in values and all(row[0] in values for row in rows[1:2])
        self._put_hierarchy(attribute, {**section, "header": header})
        if not self.uncovered():
            try:
                self.hierarchy(attribute)
            except InputError:
                self._put(before)
                raise

    def _put_hierarchy(self, attribute: str, hierarchy: object) -> None:
        attributes = anchored(self.required.content, self.required.folder)["attributes"]
        self.change({"attributes": {**attributes, attribute: {**attributes[attribute], "hierarchy": hierarchy}}})

    def uncovered(self) -> dict[str, list[str]]:
        """Return the values without a row in the hierarchy, by quasi-identifier that has some.

        Only hierarchies in files can lack values.
        """
        found = _lacking(self.required.content["attributes"], present(self.drafted), self.required.folder)
        return {name: values for name, values in found.items() if values}

    @property
    def can_share(self) -> bool:
        """Whether the records of the scenario are from a file, so that they can be shared."""
        return kind_of(self.required.scenario).release_file(self.required.scenario) is not None

    def solve(self, *, with_rounds: bool = False) -> RunResult:
        """Return the result of the game of the scenario, or of all rounds of its agents.

        Data that do not depend on the changed values are read once.

        Raises
        ------
        Superseded
            If the method was called again before the end: the newest call replaces the others.
        InputError
            If the scenario cannot be used.
        """
        self._newest += 1
        number = self._newest

        def require_newest(*_: object) -> None:
            if number != self._newest or self.is_closed:
                raise Superseded

        with self._solving:
            require_newest()
            shown = self.holding(self.required if with_rounds else one_game(self.required))
            return replace(run_once(shown, progress=require_newest), held=shown)

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
        best = tuple(each._replace(policy=policy_name(each.policy)) for each in even.best)
        return render("break_even", {"even": replace(even, best=best), "unit": counted_units(shown.content)[0]})

    def releases(self, result: RunResult) -> Releases | None:
        """Return the releases of a result, read back; None if its records are not from a file.

        Raises
        ------
        InputError
            If the records cannot be used.
        """
        with self._reading:
            self._released = releases_of(StoredRun.from_result(result), before=self._released)
            return self._released

    def recommended(self) -> tuple[str, Releases]:
        """Return the name of the policy whose release is recommended, and the releases.

        Raises
        ------
        InputError
            If the records cannot be used.
        """
        result = self.solve()
        releases = self.releases(result)
        if releases is None:
            raise InputError("the run did not read its records from a file")
        return releases.to_sign(mean_payoffs(StoredRun.from_result(result))), releases

    def keep(self, column: str, key: str, value: Any) -> None:
        """Keep a column or not (key ``share``), or give the reason why no outsider knows it (key ``reason``).

        Raises
        ------
        InputError
            If the column cannot be kept; the scenario is then unchanged.
        """
        if key == "share":
            self.set_role(column, KEPT if value else LEFT_OUT)
        else:
            known = {"known_to": "nobody", "reason": value} if value else {}
            self.change({"kept": {**self.required.content["kept"], column: {"share": True, **known}}})

    def write_release(self, policy: str, signature: Mapping[str, str]) -> None:
        """Run the scenario, and write the released file with its report.

        Raises
        ------
        InputError
            If a limit is exceeded; earlier files then stay.
        """
        unfinished, shared = self.folder / ".shared", self.folder / "shared"
        shutil.rmtree(unfinished, ignore_errors=True)
        report = {**signature, "break_even": False}
        with TemporaryDirectory(dir=self.folder) as place:
            # Unlike `solve`, this run is not stopped by what the page shows meanwhile.
            shown = self.holding(one_game(self.required))
            results = replace(run_once(shown), held=shown).save(Path(place) / "results")
            _, self.warnings, _ = share_files(results, into=unfinished, policy=policy, report=report)
        shutil.rmtree(shared, ignore_errors=True)
        unfinished.rename(shared)

    def summary(self) -> str:
        """Return the facts of the file that was written, as text."""
        return summary_of(verify_shared(self.folder / "shared/shared.csv"))

    def written(self) -> list[str]:
        """Return the paths of the files to hand over, relative to the folder."""
        return [str(path.relative_to(self.folder)) for path in sorted(self.folder.glob("shared/*"))]

    def remove(self) -> None:
        """Remove the files of the session, and begin again."""
        self._clear()
        self._begin()


def present(part: T | None) -> T:
    """Return a part of a session; steps that need it are closed without it."""
    if part is None:
        raise InputError("no file was read", expected="a file in step File")
    return part


def _lacking(attributes: Mapping[str, Any], drafted: DraftedScenario, folder: Path) -> dict[str, list[str]]:
    """Return the values without a row in the hierarchy, by attribute whose hierarchy is a file.

    Values are those of the file or, with a population, of the population.
    """
    found = {}
    for name, section in attributes.items():
        if "file" in (table := section["hierarchy"]):
            rows = read_hierarchy_rows(folder / table["file"], delimiter=table.get("delimiter", ";"))
            found[name] = uncovered(_values(section.get("column", name), section, drafted), rows)
    return found


def _values(column: str, section: Mapping[str, Any], drafted: DraftedScenario) -> dict[str, None]:
    """Return the values that the hierarchy of a column has to cover, as the section of its attribute reads them."""
    basis = next(each.basis for each in drafted.draft.choice.chosen if each.profile.name == column)
    return dict.fromkeys(section.get("values", {}).get(value, value) for value in basis.rows)


# The session of each browser, by its cookie; with a folder of the user, all browsers have one session.
_sessions: dict[str, Session] = {}
_offered: list[tuple[Scenario | None, Path | None]] = [(None, None)]


def offer(scenario: Any = None, folder: Path | None = None) -> None:
    """Set what each new session starts with: a scenario, the folder of an earlier session, or nothing.

    Raises
    ------
    InputError
        If the scenario has no policies, or the folder cannot be used.
    """
    close_sessions()
    if scenario is not None:
        kind_of(scenario.scenario).policies_of(scenario.scenario)
    _offered[0] = (scenario, folder)
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()) and not any((folder / name).exists() for name in (SCENARIO, "uploads")):
            expected = f"an empty folder, or one with {SCENARIO}"
            raise InputError("not the folder of a session", source=folder, expected=expected)
        _sessions[""] = Session(folder.resolve(), is_temporary=False)


def session_of(browser: str) -> Session:
    """Return the session of a browser, named by its cookie; a new one at its first request."""
    scenario, folder = _offered[0]
    key = "" if folder is not None else browser
    if key not in _sessions:
        session = Session(Path(tempfile.mkdtemp(prefix="reidsim-desk-")), is_temporary=True)
        if scenario is not None:
            session.start(scenario)
        _sessions[key] = session
    return _sessions[key]


def close_sessions() -> None:
    """Remove the temporary folders of all sessions."""
    for session in _sessions.values():
        session.is_closed = True
        if session.is_temporary:
            shutil.rmtree(session.folder, ignore_errors=True)
    _sessions.clear()


async def exchange(request: Request) -> Response:
    """Receive or send a file of the browser's session.

    ``POST uploads/NAME`` writes the body to the folder of the session, as does ``hierarchies`` in place of ``uploads``;
    the answer is the path of the file. ``GET PATH`` returns a file of the folder, and ``GET hierarchy-of/NAME`` the
    hierarchy of a quasi-identifier.
    """
    name, session = request.path_params["name"], session_of(str(request.cookies.get("solara-session-id", "")))
    folder, _, last = name.partition("/")
    if request.method == "POST":
        place = session.place_for(last, "hierarchies" if folder == "hierarchies" else "uploads")
        return await _received(request, place, session.folder)
    try:
        if folder == "hierarchy-of" and last in session.attributes:
            text = session.hierarchy(last).table.to_csv(sep=";", header=False, index=False)
            about = {"content-disposition": f"attachment; filename={plain_name(last)}.csv"}
            return PlainTextResponse(text, headers=about, media_type="text/csv")
        path = session.inside(name)
        return FileResponse(path, filename=path.name)
    except InputError as error:
        return PlainTextResponse(f"{error}\n", 404)


async def _received(request: Request, path: Path, folder: Path) -> PlainTextResponse:
    """Write the body of a request to a file; answer its path relative to a folder, or why it was refused."""
    size = 0
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with unfinished.open("wb") as file:
            async for part in request.stream():
                size += len(part)
                if size > MOST_BYTES:
                    return PlainTextResponse(f"the file has more than {MOST_BYTES / 2**30:.0f} GB", 413)
                file.write(part)
        unfinished.chmod(0o600)
        unfinished.replace(path)
    except OSError as error:
        return PlainTextResponse(f"the file cannot be written: {error.strerror}", 507)
    finally:
        unfinished.unlink(missing_ok=True)
    return PlainTextResponse(path.relative_to(folder).as_posix())
