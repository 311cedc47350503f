"""A session of the page: a folder with the user's file, the scenario and everything that the page writes."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

import pandas as pd
import solara
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from reidsim.core.errors import InputError
from reidsim.core.files import plain_name
from reidsim.core.tables import sniff_delimiter
from reidsim.drafts.draft import UndecidedPersonError
from reidsim.drafts.preview import FilePreview, preview
from reidsim.engine.exploration import Superseded, changed, one_game
from reidsim.engine.results import RunResult, keep_private
from reidsim.engine.scenario import Scenario
from reidsim.engine.single_run import run_once
from reidsim.engine.switch import break_even
from reidsim.releases.hierarchy import Hierarchy, read_hierarchy_rows, uncovered
from reidsim.reports.page.bundle import share_folder
from reidsim.reports.page.decision import mean_payoffs
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.python import DraftedScenario, new
from reidsim.reports.shared.audited import summary_of
from reidsim.reports.shared.file import Releases, releases_of, verify_shared
from reidsim.reports.shared.records import shared_by_scenario
from reidsim.reports.writer import render
from reidsim.scenarios.kind import counted_units, hold, key_columns, kind_of, study_of
from reidsim.scenarios.scenario import HeldStudy, anchored

SCENARIO = "scenario.toml"
# Path below that of the files under which the hierarchy of a quasi-identifier is downloaded.
HIERARCHY = "hierarchy-of/"
# Files and folders that a session writes, besides the files that the browser sent.
_OWN = (SCENARIO, "columns.csv", "spellings.csv", "hierarchies", "exports", "shared", ".shared")
_EXAMPLE = Path(__file__).with_name("hospital.csv")
# Roles of columns, in the order of the page's selection.
QUASI, DIRECT, SENSITIVE, PERSON, HOUSEHOLD, WEIGHT, KEPT, LEFT_OUT = (
    "quasi-identifier",
    "direct identifier",
    "sensitive",
    "person key",
    "household key",
    "weight",
    "kept",
    "left out",
)
# Keys of section ``publisher`` that need a sensitive column; it is the first, and its limits are the others.
_OF_SENSITIVE = ("sensitive", "l_diversity", "t_closeness", "max_inference", "sensitive_hierarchies")
ROLES = (QUASI, DIRECT, SENSITIVE, PERSON, HOUSEHOLD, WEIGHT, KEPT, LEFT_OUT)
# Largest file that a browser may send, in bytes.
MOST_BYTES = 4 * 2**30


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
    data : Path or None
        The user's file.
    encoding, sheet : str or None
        Encoding of a text file other than UTF-8, and sheet of a workbook other than the first.
    drafted : DraftedScenario or None
        Draft for the file; None for a scenario without such a file.
    scenario : Scenario or None
        Scenario of the session; None as long as no file was read.
    undecided : tuple of str
        Identifiers of which one may be the person key, if the user has to decide.
    progress : solara.Reactive
        Activity that reads the file, with its steps done and in total.
    """

    def __init__(self, folder: Path, *, is_temporary: bool) -> None:
        self.folder = folder
        self.is_temporary = is_temporary
        # The page follows this object, so that it is the same for every file.
        self.progress: solara.Reactive[tuple[str, float, float]] = solara.reactive(("", 0.0, 1.0))
        self._begin()
        if (folder / SCENARIO).is_file():
            self._begin_with(Scenario.load(folder / SCENARIO))
        else:
            for path in sorted(self._uploads.glob("[!.]*"))[:1]:
                self._draft(path)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._newest = 0
        self._held: HeldStudy | None = None
        self._released: tuple[RunResult | None, Releases | None] = (None, None)
        self.data: Path | None = None
        self.encoding: str | None = None
        self.sheet: str | None = None
        self.drafted: DraftedScenario | None = None
        self.scenario: Scenario | None = None
        self.undecided: tuple[str, ...] = ()
        self.result: RunResult | None = None
        self.starts_at_game = self.is_closed = False
        self.warnings: tuple[str, ...] = ()

    def _begin_with(self, scenario: Scenario) -> None:
        self.scenario = scenario
        path = kind_of(scenario.scenario).release_file(scenario.scenario)
        if "attributes" in scenario.content and path is not None:
            self.data = (scenario.folder / path).resolve()
            self.encoding, self.sheet = (scenario.content["release"].get(key) for key in ("encoding", "sheet"))
            # A file in another form than drafts read has the step Game alone.
            with suppress(InputError):
                self.drafted = new(self.data, folder=self.folder, **self._options(self.roles()))
                self._scenario_of(self.drafted)

    def start(self, scenario: Scenario) -> None:
        """Begin with a scenario, as a single run, at step *Game*."""
        self._begin_with(changed(Scenario.load(scenario), {}))
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
        if self.scenario is None:
            raise InputError("no file was read", expected="a file in step File")
        return self.scenario

    @property
    def _uploads(self) -> Path:
        """Folder of the files that the browser sent."""
        return self.folder / "uploads"

    @property
    def _shared(self) -> Path:
        """Folder of the files to hand over."""
        return self.folder / "shared"

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
        """Begin with a file that the browser sent, and draft its scenario.

        The files of the session that belong to an earlier file are removed.
        """
        self._clear(path)
        self._begin()
        self._report("", 0, 1)
        found = preview(path, encoding=options.get("encoding"), sheet=options.get("sheet"))
        detected = None if found.encoding == "utf-8" else found.encoding
        self._draft(path, **{"encoding": detected, **options})

    def _clear(self, kept: Path | None = None) -> None:
        """Remove the files of the session except one; files that the session did not write stay."""
        for path in (*(self.folder / name for name in _OWN), *self._uploads.glob("*")):
            if path.is_dir() and path != self._uploads:
                shutil.rmtree(path)
            elif path.is_file() and path != kept:
                path.unlink()

    def take_example(self) -> None:
        """Begin with the example file of the package."""
        self._clear()
        self.take(Path(shutil.copyfile(_EXAMPLE, self.place_for(_EXAMPLE.name))))

    def read_again(self, **options: Any) -> None:
        """Read the file again with other options of `new`, such as ``encoding``, ``sheet`` or ``person``."""
        assert self.data is not None  # noqa: S101 - the page asks this about a file
        self.take(self.data, **{"encoding": self.encoding, "sheet": self.sheet, **options})

    def _draft(self, path: Path, **options: Any) -> None:
        self.data, self.encoding, self.sheet = path, options.get("encoding"), options.get("sheet")
        try:
            self.drafted = new(path, folder=self.folder, progress=self._report, **options)
        except UndecidedPersonError as error:
            self.undecided = tuple(error.columns)
            return
        self._put(self._scenario_of(self.drafted))

    def _report(self, activity: str, done: float, total: float) -> None:
        self.progress.set((activity, done, total))

    def _scenario_of(self, drafted: DraftedScenario) -> Scenario:
        """Return the scenario of a draft, without its file, which the scenario of the session replaces."""
        scenario = drafted.scenario
        (self.folder / drafted.draft.scenario_file).unlink()
        return scenario

    def preview(self) -> FilePreview:
        """Return the first rows of the file, and how it is read."""
        assert self.data is not None  # noqa: S101 - the page shows a file
        return preview(self.data, encoding=self.encoding, sheet=self.sheet)

    def change(self, values: Mapping[str, object]) -> None:
        """Change values of the scenario by key path, and write it; None removes a key.

        Raises
        ------
        InputError
            If the scenario does not allow the values; it is then unchanged.
        """
        self._put(changed(self.required, values))

    def _put(self, scenario: Scenario) -> None:
        scenario.to_toml(self.folder / SCENARIO, overwrite=True)
        keep_private(self.folder)
        self.scenario = scenario

    def roles(self) -> dict[str, str]:
        """Return the role of each column that has one in the scenario, by column."""
        content = self.required.content
        release, publisher = content.get("release", {}), content.get("publisher", {})
        quasi = [section.get("column", name) for name, section in content.get("attributes", {}).items()]
        return {
            **dict.fromkeys(shared_by_scenario(content), KEPT),
            **dict.fromkeys(key_columns(publisher.get("sensitive")), SENSITIVE),
            **dict.fromkeys(quasi, QUASI),
            **dict.fromkeys(key_columns(release.get("person")), PERSON),
            **dict.fromkeys(key_columns(release.get("household")), HOUSEHOLD),
            **dict.fromkeys(key_columns(release.get("weight")), WEIGHT),
        }

    def _options(self, roles: Mapping[str, str]) -> dict[str, Any]:
        """Return the options of a draft with the roles of columns."""
        person = [name for name, role in roles.items() if role == PERSON]
        return {
            "quasi_identifiers": [name for name, role in roles.items() if role == QUASI],
            "only_named": True,
            "person": person or None,
            "one_row_per_person": not person,
            "encoding": self.encoding,
            "sheet": self.sheet,
            "population": self.required.content.get("population", {}).get("recipe"),
        }

    def set_role(self, column: str, role: str) -> None:
        """Give a column another role, and draft the scenario again; what the user set otherwise is kept.

        Raises
        ------
        InputError
            If the column cannot have the role; the scenario is then unchanged.
        """
        roles = {**self.roles(), column: role}
        self._redraft(roles, self._options(roles))

    def set_population(self, recipe: str | None) -> None:
        """Count groups in a population, or among the records if there is none; draft the scenario again.

        Raises
        ------
        InputError
            If the population lacks a quasi-identifier or a value; the scenario is then unchanged.
        """
        roles = self.roles()
        self._redraft(roles, self._options(roles) | {"population": recipe}, of_draft=("population", "adversary"))

    def _redraft(self, roles: Mapping[str, str], options: Mapping[str, Any], of_draft: Sequence[str] = ()) -> None:
        assert self.drafted is not None  # noqa: S101 - the steps that draft are closed without a draft
        drafted = self.drafted.with_(**options)
        before, fresh = self.required, self._scenario_of(drafted)
        content = anchored(deepcopy(fresh.content), fresh.folder)
        earlier = anchored(deepcopy(before.content), before.folder)
        if not of_draft:
            own = {section.get("column", name): section for name, section in earlier["attributes"].items()}
            for name, section in content["attributes"].items():
                content["attributes"][name] = own.get(section.get("column", name), section)
        release = {**earlier["release"], "person": content["release"].get("person")}
        for key, of_role in (("household", HOUSEHOLD), ("weight", WEIGHT)):
            release[key] = next((name for name, each in roles.items() if each == of_role), None)
        release = {key: value for key, value in release.items() if value is not None}
        kept = {key: value for key, value in earlier.items() if key not in ("attributes", *of_draft)}
        content = {**content, **kept, "release": release}
        self._put(before.with_content(_with_columns(content, roles)))
        self.drafted = drafted

    def columns(self) -> pd.DataFrame:
        """Return the table of columns with their roles.

        Columns: those of `DraftedScenario.columns`, with the roles of the scenario, and ``is_direct``.
        """
        assert self.drafted is not None  # noqa: S101 - the step is closed without a draft
        table, roles = self.drafted.columns, self.roles()
        direct = {each.name for each in self.drafted.draft.profiles if each.is_direct}
        shares = [f"{float(share):.2%}" for share in table["singled_out"]]
        found = [roles.get(name, DIRECT if name in direct else LEFT_OUT) for name in table["column"]]
        return table.assign(is_direct=table["column"].isin(direct), role=found, singled_out=shares)

    @property
    def attributes(self) -> list[str]:
        """Names of the quasi-identifiers in the scenario."""
        return list(self.required.content.get("attributes", {}))

    def hierarchy(self, attribute: str) -> tuple[Hierarchy, Mapping[str, int]]:
        """Return the hierarchy of a quasi-identifier, and the number of records with each value.

        Raises
        ------
        InputError
            If a hierarchy of the scenario cannot be used.
        """
        with self._lock:
            study: Any = study_of(self.holding(one_game(self.required)))
        found = next(each for each in study.lattice.hierarchies if each.attribute.name == attribute)
        return found, study.value_counts[attribute]

    def edit_hierarchy(self, attribute: str, edit: Callable[[Hierarchy], Hierarchy]) -> None:
        """Replace the hierarchy of a quasi-identifier by another one, and write it as a file of the session.

        Raises
        ------
        InputError
            If `edit` refuses the change; the scenario is then unchanged.
        """
        edited = edit(self.hierarchy(attribute)[0])
        folder = self.folder / "hierarchies"
        folder.mkdir(exist_ok=True)
        # Each change has a file of its own, so that the scenario of an earlier result stays what it was.
        names = {path.stem for path in folder.iterdir()}
        path = folder / f"{plain_name(attribute, names)}.csv"
        edited.write(path)
        costless = {"costless_levels": sorted(edited.costless_levels)} if edited.costless_levels else {}
        self._put_hierarchy(attribute, {"rule": "table", "file": str(path), **costless})

    def read_hierarchy(self, attribute: str, path: Path) -> None:
        """Replace the hierarchy of a quasi-identifier by a file, which may lack values; see `uncovered`.

        Raises
        ------
        InputError
            If the file cannot be used; the scenario is then unchanged.
        """
        delimiter = sniff_delimiter(path)
        rows, values = read_hierarchy_rows(path, delimiter=delimiter), self._values(attribute)
        header = rows[0][0] not in values and all(row[0] in values for row in rows[1:2])
        section = {"rule": "table", "file": str(path), "delimiter": delimiter, "header": header}
        before = self.required
        self._put_hierarchy(attribute, section)
        if not self.uncovered():
            try:
                self.hierarchy(attribute)
            except InputError:
                self._put(before)
                raise

    def export_hierarchy(self, attribute: str) -> str:
        """Write the hierarchy of a quasi-identifier as a file of ARX; return its path relative to the folder."""
        path = self.folder / "exports" / f"{plain_name(attribute)}.csv"
        path.parent.mkdir(exist_ok=True)
        self.hierarchy(attribute)[0].write(path)
        return str(path.relative_to(self.folder))

    def _put_hierarchy(self, attribute: str, section: Mapping[str, Any]) -> None:
        attributes = self.required.content["attributes"]
        self.change({"attributes": {**attributes, attribute: {**attributes[attribute], "hierarchy": section}}})

    def _values(self, attribute: str) -> list[str]:
        """Return the values of a quasi-identifier in the file, as the scenario reads them."""
        assert self.drafted is not None  # noqa: S101 - the step is closed without a draft
        section = self.required.content["attributes"][attribute]
        profiles = {each.name: each for each in self.drafted.draft.profiles}
        renamed = section.get("values", {})
        return list(dict.fromkeys(renamed.get(v, v) for v in profiles[section.get("column", attribute)].rows))

    def uncovered(self) -> dict[str, list[str]]:
        """Return the values of the file without a row in the hierarchy, by quasi-identifier that has some.

        Only hierarchies in files can lack values.
        """
        found = {}
        for name, section in self.required.content["attributes"].items():
            table = section["hierarchy"]
            if "file" in table:
                path = self.required.folder / table["file"]
                rows = read_hierarchy_rows(path, delimiter=table.get("delimiter", ";"))
                found[name] = uncovered(self._values(name), rows)
        return {name: values for name, values in found.items() if values}

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies of the scenario."""
        return kind_of(self.required.scenario).policies_of(self.required.scenario)

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

        with self._lock:
            require_newest()
            shown = self.holding(self.required if with_rounds else one_game(self.required))
            self.result = replace(run_once(shown, progress=require_newest), held=shown)
            return self.result

    def holding(self, scenario: Scenario) -> Scenario:
        """Return a scenario with its data in memory."""
        self._held = hold(replace(scenario, held=self._held))
        return replace(scenario, held=self._held)

    def break_even(self, scenario: Scenario) -> str:
        """Return the losses at which the best policy of a scenario changes, as HTML of the report.

        Raises
        ------
        InputError
            If the loss cannot vary.
        """
        shown = one_game(scenario)
        with self._lock:
            shown = self.holding(shown)
        even = break_even(shown, progress=self._require_open)
        return render("break_even", {"even": even, "unit": counted_units(shown.content)[0]})

    def _require_open(self, *_: object) -> None:
        if self.is_closed:
            raise Superseded

    def releases(self, result: RunResult) -> Releases | None:
        """Return the releases of a result, read back; None if its records are not from a file.

        Raises
        ------
        InputError
            If the records cannot be used.
        """
        with self._lock:
            if self._released[0] is not result:
                before = self._released[1]
                self._released = (result, releases_of(StoredRun.from_result(result), before=before))
            return self._released[1]

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
            return
        declared = {"share": True} | ({"known_to": "nobody", "reason": value} if value else {})
        self.change({"kept": {**self.required.content.get("kept", {}), column: declared}})

    def write_release(self, policy: str, signature: Mapping[str, str]) -> None:
        """Run the scenario, and write the released file with its report.

        Raises
        ------
        InputError
            If a limit is exceeded; earlier files then stay.
        """
        new = self.folder / ".shared"
        shutil.rmtree(new, ignore_errors=True)
        with TemporaryDirectory(dir=self.folder) as place:
            results = self.solve().save(Path(place) / "results")
            _, self.warnings, _ = share_folder(results, new, policy=policy, report={**signature, "break_even": False})
        shutil.rmtree(self._shared, ignore_errors=True)
        new.rename(self._shared)

    def summary(self) -> str:
        """Return the facts of the file that was written, as text."""
        return summary_of(verify_shared(self._shared / "shared.csv"))

    def written(self) -> list[str]:
        """Return the paths of the files to hand over, relative to the folder."""
        return [str(path.relative_to(self.folder)) for path in sorted(self._shared.glob("*"))]

    def remove(self) -> None:
        """Remove the files of the session, and begin again."""
        self._clear()
        self._begin()


def _with_columns(content: dict[str, Any], roles: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of a scenario with the sensitive and kept columns that have these roles."""
    sensitive = [name for name, role in roles.items() if role == SENSITIVE]
    publisher = {key: value for key, value in content["publisher"].items() if sensitive or key not in _OF_SENSITIVE}
    if sensitive:
        publisher["sensitive"] = sensitive
        if not publisher.keys() & set(_OF_SENSITIVE[1:]):
            publisher["l_diversity"] = 2
    shared = [name for name, role in roles.items() if role in (KEPT, SENSITIVE)]
    kept = {name: content.get("kept", {}).get(name, {}) | {"share": True} for name in shared}
    others = {key: value for key, value in content.items() if key != "kept"}
    return {**others, "publisher": publisher, **({"kept": kept} if kept else {})}


# The session of each browser, by its cookie; with a folder of the user, all browsers have one session.
_sessions: dict[str, Session] = {}
_offered: list[tuple[Scenario | None, Path | None]] = [(None, None)]


def offer(scenario: Any = None, folder: Path | None = None) -> None:
    """Set what each new session starts with: a scenario, the folder of an earlier session, or nothing.

    Raises
    ------
    InputError
        If the scenario has no parameter to change, or the folder cannot be used.
    """
    close_sessions()
    if scenario is not None and not any(kind_of(scenario.scenario).controls(scenario.scenario)):
        problem, expected = "the web page needs a scenario with payoff parameters", "a kind of scenario with policies"
        raise InputError(problem, source=scenario.path, where="economics", expected=expected)
    _offered[0] = (scenario, folder)
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()) and not any((folder / name).exists() for name in (SCENARIO, "uploads")):
            raise InputError(
                "not the folder of a session", source=folder, expected="an empty folder, or one with scenario.toml"
            )
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


class SessionFiles:
    """ASGI application that receives and sends the files of a session, before another application.

    ``POST /desk/files/uploads/NAME`` writes the body to the folder of the browser's session, as does ``hierarchies`` in
    place of ``uploads``; the answer is the path of the file. ``GET /desk/files/PATH`` returns a file of it, or the
    hierarchy of a quasi-identifier that is named after ``hierarchy-of/``.

    Parameters
    ----------
    application : callable
        ASGI application for all other requests.
    """

    _PATH = "/desk/files/"

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a file; pass on any other."""
        if scope["type"] != "http" or not scope["path"].startswith(self._PATH):
            await self._application(scope, receive, send)
            return
        request = Request(scope, receive)
        name = unquote(scope["path"].removeprefix(self._PATH))
        session = session_of(browser_of(request))
        if (attribute := name.removeprefix(HIERARCHY)) != name and attribute in session.attributes:
            name = session.export_hierarchy(attribute)
        answer: Any
        if request.method == "POST":
            folder = "hierarchies" if name.startswith("hierarchies/") else "uploads"
            answer = await _received(request, session.place_for(name, folder), session.folder)
        else:
            try:
                path = session.inside(name)
                answer = FileResponse(path, filename=path.name)
            except InputError as error:
                answer = PlainTextResponse(f"{error}\n", 404)
        await answer(scope, receive, send)


def browser_of(request: HTTPConnection) -> str:
    """Return the cookie by which solara knows the browser of a request."""
    return str(request.cookies.get("solara-session-id", ""))


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
