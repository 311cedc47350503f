"""Serve the web page on this machine, to its user, without any remote resource.

The scenario is solved under the values set on the page, and rounds of its agents are played.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import secrets
import socket
import textwrap
import threading
import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
import pandas as pd
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.status import WS_1007_INVALID_FRAME_PAYLOAD_DATA, WS_1008_POLICY_VIOLATION
from starlette.types import ASGIApp, Receive, Scope, Send

from reidsim.core.errors import InputError
from reidsim.core.validation import override, validated_after, value_if_any
from reidsim.engine.batch.design import at_point, data_key, error_line
from reidsim.engine.results import RunResult
from reidsim.engine.single_run import run_once
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.decision import mean_payoffs
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.file import releases_of
from reidsim.reports.writer import render
from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.kind import HOUSEHOLD, PERSON, Value, kind_of, unit_sentence
from reidsim.scenarios.scenario import Scenario, Study
from reidsim.scenarios.schema import RECORD_COLUMNS, ScenarioHead

FORMS = ("as it is", "generalized", "suppressed", "withheld")


@dataclass(frozen=True, eq=False)
class Explored:
    """The result of a scenario under a set of values that a user sets on the page.

    Parameters
    ----------
    result : RunResult
        Result of a single run.
    problem : str
        Error message if the values cannot be used; the result is then that of the scenario's own values, without
        rounds. Empty otherwise.
    """

    result: RunResult
    problem: str = ""

    @property
    def content(self) -> Mapping[str, Any]:
        """The scenario of the result, as plain data."""
        return self.result.manifest["content"]  # type: ignore[no-any-return]

    @cached_property
    def measures(self) -> pd.DataFrame:
        """Table of measures, one row per policy in the scenario's order.

        With agents, measures are means over rounds.
        """
        return self.result.summary

    @property
    def attributes(self) -> list[str]:
        """Names of the columns of the records with released quasi-identifiers.

        The records are the table of the result.
        """
        # Without keys for persons and households, columns with these names are ordinary attributes.
        named = {"person", "household"} & set(self.content.get("release", {}))
        others = (*RECORD_COLUMNS, PERSON, HOUSEHOLD) if named else RECORD_COLUMNS
        return [column for column in self.result.records.columns if column not in others]

    @property
    def rounds(self) -> pd.DataFrame | None:
        """Table of measures by draw, policy and round; None if no rounds were played."""
        return self.result.analysis.tables().get("rounds")


def read_back_html(shown: Explored) -> str:
    """Return the HTML of the recommended release and its read-back check.

    It begins with the sentence of the report that states what counts as one unit, records or people. If the records
    cannot be released, the HTML shows the problem instead. It is empty if the records do not come from a file, or the
    result has no policies.
    """
    run = StoredRun.from_result(shown.result)
    try:
        releases = releases_of(run)
    except InputError as error:
        return render("read_back", {"problem": str(error)})
    if releases is None or shown.measures.empty:
        return ""
    context = {"problem": "", "releases": releases, "unit": run.units[0], "kind": ""}
    return render("read_back", context | {"unit_sentence": unit_sentence(run.manifest), "payoffs": mean_payoffs(run)})


class Explorer:
    """Solve one scenario repeatedly under different values.

    Data that do not depend on the values are read once.

    Parameters
    ----------
    loaded : Scenario
        Scenario to solve; ``[figures]``, the experimental design and replications are ignored.
    """

    def __init__(self, loaded: Scenario[ScenarioHead]) -> None:
        self.loaded = loaded
        agents = getattr(loaded.scenario, "agents", None)
        # Number of rounds that the scenario's agents play; 0 without agents.
        self.n_rounds = 0 if agents is None else int(agents.rounds)
        self._kept: tuple[str, Study[Any]] | None = None
        # The page calls the explorer from several threads.
        self._lock = threading.Lock()

    def solve(self, values: Mapping[str, Value], *, with_rounds: bool = False) -> Explored:
        """Return the result of the game, or of all rounds, under a set of values.

        The game is solved once, or the scenario's agents play all rounds. `values` are by scenario key; see `changed`.
        Rounds are played if `with_rounds` is true and the scenario has agents. If the values cannot be used, the result
        has the error message; see `Explored`.
        """
        with self._lock:
            try:
                loaded = changed(self.loaded, values)
                return Explored(self._run(loaded if with_rounds else one_game(loaded)))
            except InputError as error:
                return Explored(self._run(one_game(at_point(self.loaded, {}))), str(error))

    def _run(self, shown: Scenario[ScenarioHead]) -> RunResult:
        key = data_key(shown)
        if self._kept is None or self._kept[0] != key:
            self._kept = key, kind_of(shown.scenario).build(shown)
        return run_once(shown, study=self._kept[1].with_loaded(shown))


def changed(loaded: Scenario[ScenarioHead], values: Mapping[str, Value]) -> Scenario[ScenarioHead]:
    """Return a scenario with changed values, as a single run without figures.

    It is a copy. `values` are by key path, such as ``economics.loss``; a key whose value is None is removed from the
    scenario.

    Raises
    ------
    InputError
        If a value is not allowed, or the values are inconsistent.
    """
    content = deepcopy(at_point(loaded, {}).content)
    # Remove keys without a value, so that the scenario uses the key or default that replaces them.
    stated = {key: value for key, value in values.items() if value is not None}
    override(content, stated)
    for key in values.keys() - stated.keys():
        section, _, last = key.rpartition(".")
        value_if_any(content, section, {}).pop(last, None)
    scenario = validated_after(stated, type(loaded.scenario), content, loaded.path)
    return replace(loaded, scenario=scenario, content=content)


def one_game(loaded: Scenario[ScenarioHead]) -> Scenario[ScenarioHead]:
    """Return a scenario without rounds, or with a single one if rounds are required.

    It is a copy. One round is needed if adversaries own or buy resources, or if all adversaries attack together: rounds
    define these adversaries. In this round, nobody decides on participation or learns, and outcomes are expected
    values.
    """
    agents, scenario = loaded.content.get("agents"), cast("Any", loaded.scenario)
    # The weights of adversaries that attack together may not sum to 1, as those of a single adversary do.
    together = agents is not None and bool(getattr(scenario, "adversaries", None)) and scenario.agents.together == "all"
    if agents is None or not (together or are_equipped(scenario)):
        return loaded.with_content({key: value for key, value in loaded.content.items() if key != "agents"})
    kept = {key: value for key, value in agents.items() if key not in ("participation", "learning")}
    return loaded.with_content({**loaded.content, "agents": {**kept, "rounds": 1, "mode": "expectation", "draws": 1}})


def form_shares(records: pd.DataFrame, attributes: list[str], policy: str) -> pd.DataFrame:
    """Return the share of records by form of release, for each attribute.

    The records are released under a policy.

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, as in a results folder.
    attributes : list of str
        Columns of the released quasi-identifiers, in the order of the strategies' levels.
    policy : str
        Name of the policy.

    Returns
    -------
    DataFrame
        Index: attribute. One column for each of `FORMS`: share of the records whose value of the attribute is released
        unchanged, generalized, suppressed or not released because the record is withheld; each row sums to 1.
    """
    chosen = records[records["policy"] == policy]
    strategies, shares = chosen["strategy"].astype(str), {}
    parts = {strategy: strategy.split(",") for strategy in strategies.unique()}
    for at, attribute in enumerate(attributes):
        # A strategy is a level of each attribute, or names the masked attributes.
        unchanged = {
            strategy: levels[at] == "0" if all(map(str.isdigit, levels)) else f" {attribute}~" not in f" {strategy}"
            for strategy, levels in parts.items()
        }
        is_suppressed = chosen[attribute].isna() | (chosen[attribute].astype(str) == SUPPRESSED)
        conditions = [strategies == "withheld", is_suppressed, strategies.map(unchanged).astype(bool)]
        forms = np.select(conditions, ["withheld", "suppressed", "as it is"], "generalized")
        shares[attribute] = pd.Series(forms).value_counts(normalize=True)
    return pd.DataFrame(shares, index=list(FORMS)).T.fillna(0.0)


# Explorer of the scenario that the server offers.
_offered: list[Explorer] = []


def offer(loaded: Scenario[ScenarioHead]) -> None:
    """Set the scenario to show, and start to solve it before the page is opened.

    It is solved in a thread. It replaces a scenario that was set before.
    """
    _offered[:] = [Explorer(loaded)]
    threading.Thread(target=_offered[0].solve, args=({},), daemon=True).start()


def offered() -> Explorer:
    """Return the explorer of the scenario to show.

    Raises
    ------
    InputError
        If `offer` was not called: only `reidsim serve` can open the page.
    """
    if not _offered:
        raise InputError("no scenario is served", expected="a server started with reidsim serve SCENARIO")
    return _offered[0]


_log = logging.getLogger("reidsim")


class Guard:
    """ASGI middleware that lets only requests from its own page reach an application.

    The first request carries the token in the printed address and receives a cookie; all others need the cookie.

    Parameters
    ----------
    application : callable
        ASGI application.
    host : str
        The only host name that is accepted, besides ``localhost``.
    port : int
        Port of the page.

    Attributes
    ----------
    address : str
        Address of the page with the token, to be opened in a browser.
    """

    def __init__(self, application: ASGIApp, host: str, port: int) -> None:
        self._application = application
        self._hosts = tuple(f"{name}:{port}" for name in (host, "localhost"))
        self._cookie = f"reidsim-{port}"
        self._token = secrets.token_urlsafe(32)
        self.address = f"http://{host}:{port}/?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward an ASGI request if it comes from the page; otherwise refuse it.

        A request from another host or site, or without token and cookie, is refused with status 403; a websocket is
        closed. A request with the token in its address is answered by a redirection that sets the cookie. Messages on
        the start and end of the server (lifespan) are always forwarded.
        """
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        request = HTTPConnection(scope)
        problem = self._problem(request.headers)
        has_token = scope["type"] == "http" and self._is_token(request.query_params.get("token", ""))
        if not problem and not has_token and not self._is_token(request.cookies.get(self._cookie, "")):
            problem = "open the complete address that reidsim serve printed, with its token"
        if problem and scope["type"] == "websocket":
            # A websocket is rejected before it opens; uvicorn answers with HTTP status 403.
            await send({"type": "websocket.close", "code": WS_1008_POLICY_VIOLATION, "reason": problem})
        elif problem:
            await PlainTextResponse(f"reidsim: {problem}\n", 403)(scope, receive, send)
        elif has_token:
            # Redirect to an address without the token, so that the token does not stay in the browser's history.
            response = RedirectResponse("/", 303, {"cache-control": "no-store"})
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
            await response(scope, receive, send)
        else:
            await self._pass_on(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request; if the application raises an error, log it.

        A websocket is then closed.
        """
        try:
            await self._application(scope, receive, send)
        except Exception as error:  # the page must survive any malformed message
            _log.warning("closed a connection after a malformed message", exc_info=error)
            if scope["type"] == "websocket":
                # The application may already have closed the connection.
                with contextlib.suppress(Exception):
                    await send({"type": "websocket.close", "code": WS_1007_INVALID_FRAME_PAYLOAD_DATA})

    def _problem(self, headers: Mapping[str, str]) -> str:
        """Return why a request does not come from the page's address; "" if it does.

        The reason is a text. The headers ``Host`` and, if there is one, ``Origin`` are examined; the token is not.
        """
        if headers.get("host", "") not in self._hosts:
            return f"this page is available only at {self._hosts[0]}"
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return "pages of other sites may not use this page"
        return ""

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


HOST = "127.0.0.1"
_PAGE = "reidsim.web.page"
_LONGEST_LINE = 200


def serve(loaded: Scenario[ScenarioHead], port: int, started: Callable[[str], None]) -> None:
    """Serve the web page of a scenario until interrupted.

    Parameters
    ----------
    loaded : Scenario
        Scenario to show.
    port : int
        Port on the loopback interface; 0 for any free port.
    started : callable
        Called with the page's address, which includes the required token, when the server listens.

    Raises
    ------
    InputError
        If the extra ``web`` is not installed, the port cannot be used, or the scenario has no parameter to change.
    """
    if not (find_spec("solara") and find_spec("uvicorn")):
        raise InputError("the web page is not installed", hint="run pip install 'reidsim[web]'")
    if not any(kind_of(loaded.scenario).controls(loaded.scenario)):
        problem, expected = "the web page needs a scenario with payoff parameters", "a kind of scenario with policies"
        raise InputError(problem, source=loaded.path, where="economics", expected=expected)
    offer(loaded)
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        problem = f"the port cannot be used: {os.strerror(error.errno or 0)}"
        raise InputError(problem, found=port, expected="another --port") from None
    with listener:
        _stay_on_this_machine()
        _log_in_lines()
        import uvicorn
        from solara.server import starlette

        from reidsim.figures.style import own_settings

        guard = Guard(starlette.app, HOST, listener.getsockname()[1])
        # Import errors must appear before the address is printed.
        import_module(_PAGE)
        started(guard.address)
        with own_settings():
            uvicorn.Server(uvicorn.Config(guard, log_level="error", lifespan="on")).run(sockets=[listener])


class _OneLine(logging.Formatter):
    """Format each event as one line without traceback and control characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a log event: message and error after ``reidsim:``.

        The error is in parentheses. Message and error have at most 200 characters. Of a group of errors, the first is
        named. Control characters become spaces.
        """
        error = record.exc_info[1] if record.exc_info else None
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        text = record.getMessage() + (f" ({error_line(error)})" if error is not None else "")
        text = "".join(sign if sign.isprintable() else " " for sign in text)
        return f"reidsim: {textwrap.shorten(text, _LONGEST_LINE)}"


def _log_in_lines() -> None:
    """Log messages of libraries as single lines, without tracebacks.

    Warnings and errors are written to standard error.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    # Irrelevant here: the page has its own cookie and is never embedded in another page.
    warnings.filterwarnings("ignore", message="Cookies with samesite=none")
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _stay_on_this_machine() -> None:
    """Configure solara, before its import, to send no telemetry and fetch no assets.

    Settings are environment variables. They also limit the number of open pages to 8.
    """
    os.environ.update(
        {
            "SOLARA_APP": _PAGE,
            "SOLARA_TELEMETRY_MIXPANEL_ENABLE": "false",
            "SOLARA_ASSETS_PROXY": "true",
            # Assets that are not installed are missing; solara does not fetch them.
            "SOLARA_ASSETS_CDN": f"http://{HOST}:9/",
            "SOLARA_MODE": "production",
            "SOLARA_THEME_SHOW_BANNER": "false",
            "SOLARA_SESSION_SAME_SITE": "lax",
            # Discard the state of closed pages, and limit the number of open pages.
            "SOLARA_KERNEL_CULL_TIMEOUT": "10m",
            "SOLARA_KERNEL_MAX_COUNT": "8",
        }
    )
