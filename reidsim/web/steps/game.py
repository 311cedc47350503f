"""Step *Game*: adversary, payoffs and limits on one side; decision and read-back on the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import pandas as pd
import solara
from solara.lab import use_task

from reidsim.core.errors import InputError
from reidsim.core.files import bundled_names
from reidsim.core.validation import value_if_any
from reidsim.drafts.presets import presets
from reidsim.engine.exploration import Superseded
from reidsim.engine.results import RunResult
from reidsim.engine.scenario import Scenario
from reidsim.figures.studies import payoffs_by_policy, risks_by_policy, rounds_by_policy
from reidsim.figures.style import number_text, policy_name
from reidsim.reports.page.decision import read_back_html
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.comparison import FORMS, compare_columns, compare_record, compare_values, draw_values
from reidsim.reports.shared.file import Releases
from reidsim.reports.verdict import measures_table, verdict
from reidsim.scenarios.kind import Control, Selection, kind_of, once_each
from reidsim.web.parts import Panel, html, picture, text
from reidsim.web.session import Session

# Name of the list of people in a scenario of the page.
_LIST = "resources.list"
_LISTS = ("voter-list", "broker-file")
_K_ANONYMITY = "k-anonymity"
_RISKS = ("prosecutor", "journalist", "sample")
_DIRECTIONS = ("record", "person", "both")
# Limits on the inference of sensitive columns.
_OF_SENSITIVE = ("publisher.l_diversity", "publisher.t_closeness", "publisher.max_inference")


@solara.component
def Step(session: Session, version: int, refresh: Callable[[], None], go: Callable[[str], None]) -> None:  # noqa: N802
    """Show the form of the scenario beside its results."""
    panel = Panel("game", refresh)
    rounds = solara.use_reactive(False)

    def change(key: str, value: Any) -> None:
        rounds.set(key == "play")
        if key == "population.recipe":
            panel.act(key, lambda: session.set_population(value or None))
        elif key != "play":
            panel.act(key, lambda: session.change(_changes(session.required, key, value)))

    panel.text("intro")
    with solara.Div(classes=["desk-game"]):
        with solara.Div(classes=["desk-controls"]):
            _controls(panel, session, change)
        with solara.Div(classes=["desk-results"]):
            _Results(session=session, panel=panel, scenario=session.required, with_rounds=rounds.value)
            if session.can_share:
                panel.form([panel.button("go", main=True)], lambda *_: go("share"))


def _changes(scenario: Scenario, key: str, value: Any) -> dict[str, object]:
    """Return the values of the scenario, by key path, that a change of a field stands for."""
    if key == "link":
        return {"economics.gain": None if value else scenario.scenario.economics.adversary_gain}
    if key == "preset":
        amounts = presets().loc[value, ["benefit", "loss", "gain", "cost"]]
        changes = {f"economics.{name}": None if pd.isna(each) else each for name, each in amounts.items()}
        return {**changes, "source": presets().loc[value, "source"]}
    if key == "publisher.k":
        policies = [name for name in scenario.content["publisher"]["policies"] if name != _K_ANONYMITY]
        return {key: _parsed(value), "publisher.policies": policies + [_K_ANONYMITY] * bool(value)}
    if key == _LIST:
        direction = {"adversary.direction": None} if value else {}
        resource = {"kind": value, "coverage": 0.5} if value else None
        return {key: resource, "adversary.holds": ["list"] if value else None, **direction}
    return {key: _parsed(value)}


def _parsed(value: Any) -> object:
    """Return a number for a text that is one, and None for an empty text."""
    try:
        number = float(value)
    except ValueError:
        return value or None
    return int(number) if number.is_integer() else number


def _controls(panel: Panel, session: Session, change: Callable[[str, Any], None]) -> None:
    """Show the fields of the scenario."""
    scenario = session.required
    controls = tuple(kind_of(scenario.scenario).controls(scenario.scenario))
    amounts = [_of_control(panel, control) for control in controls if not isinstance(control, Selection)]
    linked = [control.linked for control in controls if not isinstance(control, Selection) and control.follows]
    fields = [*amounts, *(panel.field("link", each, "checkbox") for each in linked)]
    selections = [_of_control(panel, control) for control in controls if isinstance(control, Selection)]
    if session.drafted is None:
        panel.form([*fields, *selections], change, "amounts", text=scenario.content.get("source", ""))
    else:
        studies = {"": panel.t("own_amounts"), **{name: name for name in presets().index}}
        preset = panel.select("preset", "", studies)
        panel.form([preset, *fields], change, "amounts", text=scenario.content.get("source", ""))
        panel.form([*_of_adversary(panel, scenario), *selections], change, "adversary", fold=True)
        panel.form(_of_limits(panel, scenario), change, "limits", fold=True)
    if (agents := getattr(scenario.scenario, "agents", None)) is not None:
        panel.form([panel.button("play", label=panel.t("play", rounds=agents.rounds))], change, "rounds")


def _of_adversary(panel: Panel, scenario: Scenario) -> list[dict[str, Any]]:
    adversary = scenario.scenario.adversary
    recipes = {"": panel.t("no_population"), **{name: name for name in bundled_names("populations")}}
    recipe, resource = (value_if_any(scenario.content, key, {}) for key in ("population.recipe", _LIST))
    lists = {"": panel.t("no_list"), **{name: panel.t(f"list_{name}") for name in _LISTS}}
    fields = [
        panel.select("population.recipe", recipe or "", recipes),
        panel.select("adversary.risk", adversary.risk, {name: panel.t(f"risk_{name}") for name in _RISKS}),
        panel.select(
            "adversary.direction", adversary.direction, {key: panel.t(f"direction_{key}") for key in _DIRECTIONS}
        ),
        panel.select(_LIST, resource.get("kind", ""), lists),
    ]
    covers = [panel.field(f"{_LIST}.coverage", resource["coverage"], "number")] if resource else []
    return [*fields, *covers]


def _of_limits(panel: Panel, scenario: Scenario) -> list[dict[str, Any]]:
    publisher = scenario.content["publisher"]
    k = publisher.get("k") if _K_ANONYMITY in publisher["policies"] else None
    about = {} if "sensitive" in publisher else {"disabled": True, "help": panel.t("needs_sensitive")}
    limits = [panel.field(key, value_if_any(scenario.content, key), "number", **about) for key in _OF_SENSITIVE]
    risk = panel.field("publisher.max_risk", publisher.get("max_risk"), "number")
    return [panel.field("publisher.k", k, "number"), risk, *limits]


def _of_control(panel: Panel, control: Control) -> dict[str, Any]:
    label = panel.known(control.key, control.label)
    if isinstance(control, Selection):
        return panel.select(control.key, str(control.value), control.options, label=label)
    about = {"high": control.high, "step": control.step, "disabled": control.linked}
    label = f"{label} (0 - {number_text(control.high)})"
    return panel.field(control.key, float(control.value or 0.0), "range", label=label, **about)


@solara.component
def _Results(session: Session, panel: Panel, scenario: Scenario, with_rounds: bool) -> None:  # noqa: N802
    """Show verdict, read-back, measures and figures; while they are computed, the previous ones stay, faded."""

    def solve() -> tuple[RunResult | None, str]:
        try:
            return session.solve(with_rounds=with_rounds), ""
        except Superseded:
            return session.result, ""
        except InputError as error:
            return session.result, str(error)

    solved = use_task(solve, dependencies=[scenario, with_rounds])
    panel.busy(solved.pending, "solving")
    result, problem = solved.latest or (None, "")
    if problem:
        text(problem, "error")
    if result is None:
        return
    content, played = result.manifest["content"], result.analysis.tables().get("rounds")
    with solara.Div(classes=["desk-stale"] if solved.pending else []):
        text(verdict(result.summary, content, rounds=played, name=policy_name), "verdict")
        _ReadBack(session=session, panel=panel, result=result)
        if played is not None and with_rounds:
            html(picture(rounds_by_policy(played), panel.t("rounds_played", rounds=played["round"].max())))
    _BreakEven(session=session, panel=panel, scenario=scenario)


@solara.component
def _ReadBack(session: Session, panel: Panel, result: RunResult) -> None:  # noqa: N802
    """Show the counts in the rows of each release, the figures, and the comparison of two releases."""

    def read() -> tuple[Releases | None, str]:
        try:
            releases = session.releases(result)
            return releases, "" if releases is None else read_back_html(StoredRun.from_result(result), releases)
        except InputError as error:
            return None, str(error)

    def draw() -> list[str]:
        payoffs = payoffs_by_policy(result.summary.reset_index(), result.measures)
        risks = risks_by_policy(once_each(result.records, result.manifest["content"]))
        return [picture(payoffs, panel.t("payoffs")), picture(risks, panel.t("risks"))]

    found, drawn = use_task(read, dependencies=[result]), use_task(draw, dependencies=[result])
    releases, shown = found.latest or (None, "")
    panel.busy(found.pending, "reading_back")
    if shown:
        html(shown) if releases is not None else text(shown, "error")
    panel.text("measures", "title")
    html(measures_table(result.summary, result.manifest["content"], policy_name))
    with solara.Div(classes=["desk-figures"]):
        for each in drawn.latest or ():
            html(each)
    if releases is not None and len(releases.by_policy) > 1:
        _Comparison(panel=panel, releases=releases)


@solara.component
def _BreakEven(session: Session, panel: Panel, scenario: Scenario) -> None:  # noqa: N802
    """Show the losses at which the best policy changes, if the user asks for them."""
    asked: solara.Reactive[Scenario | None] = solara.use_reactive(None)
    is_asked = asked.value is scenario

    def search() -> str:
        try:
            return session.break_even(scenario) if is_asked else ""
        except InputError as error:
            return escape(str(error))

    found = use_task(search, dependencies=[scenario, is_asked])
    panel.text("break_even", "title")
    panel.form([panel.button("search")], lambda *_: asked.set(scenario))
    panel.busy(found.pending and is_asked, "searching")
    if found.latest and is_asked:
        html(found.latest)


@solara.component
def _Comparison(panel: Panel, releases: Releases) -> None:  # noqa: N802
    """Compare two releases by column, for a record, and as pictures of a column before and after."""
    names = {name: policy_name(name) for name in releases.by_policy}
    columns = list(map(str, next(iter(releases.by_policy.values())).shared.forms.labels))
    start = {"first": next(iter(names)), "second": list(names)[-1], "column": columns[0], "record": "1"}
    chosen: solara.Reactive[dict[str, str]] = solara.use_reactive(start)
    first, second, column, record = (chosen.value[key] for key in start)

    def drawing() -> str:
        figure = draw_values(compare_values(releases, column, first, second), column)
        return picture(figure, panel.t("before_after", column=column, first=names[first], second=names[second]))

    drawn = use_task(drawing, dependencies=[releases, first, second, column])
    panel.text("compare", "title")
    fields = [
        panel.select("first", first, names),
        panel.select("second", second, names),
        panel.select("column", column, columns),
        panel.field("record", record, "number"),
    ]
    panel.form(fields, lambda key, value: chosen.set({**chosen.value, key: value}), row=True)
    rows = [
        [each["column"], names[each["policy"]], *(f"{each[form]:.1%}" for form in FORMS), f"{each['values']:,}"]
        for each in compare_columns(releases, first, second).to_dict("records")
    ]
    header = [panel.t(key) for key in ("quasi_identifier", "release", *FORMS, "values")]
    panel.table(panel.t("by_column"), header, rows)
    _show_record(panel, releases, record, {first: names[first], second: names[second]})
    if drawn.latest:
        html(drawn.latest)


def _show_record(panel: Panel, releases: Releases, record: str, names: Mapping[str, str]) -> None:
    """Show how policies, named by `names`, release a record, or why there is no such record."""
    try:
        values = compare_record(releases, int(record or 0) - 1, *names)
    except InputError as error:
        text(str(error), "error")
        return
    success = [f"{values.attrs['success'][name]:.4f}" for name in names]
    rows = [[name, *map(str, row)] for name, row in zip(values.index, values.to_numpy(), strict=True)]
    header = [panel.t("quasi_identifier"), panel.t("before"), *names.values()]
    panel.table(panel.t("by_record", record=record), header, [*rows, [panel.t("success"), "", *success]])
