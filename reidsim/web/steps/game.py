"""Step *Game*: adversary, payoffs and limits on one side; decision and read-back on the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import solara
from matplotlib.figure import Figure

from reidsim.core.errors import InputError
from reidsim.core.files import read_toml
from reidsim.drafts.presets import presets
from reidsim.engine.results import RunResult
from reidsim.engine.scenario import Scenario
from reidsim.figures import style
from reidsim.figures.runs import figures_by_policy, rounds_by_policy
from reidsim.reports.page.decision import read_back_html
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.comparison import SUCCESS, compare_columns, compare_record, compare_values, draw_values
from reidsim.reports.shared.file import Releases
from reidsim.reports.verdict import measures_table, verdict
from reidsim.scenarios.kind import counted_units
from reidsim.scenarios.schema import ScenarioHead
from reidsim.web.parts import Panel, bullets, entered_number, html, language, policy_name, text
from reidsim.web.session import Session

_FIELDS = read_toml(Path(__file__).parents[1] / "fields.toml")
_PRESETS = presets()
# Types of fields; a key of the user's own kind, which has none here, is a number. Numbers are sent as text.
_TYPES = {key: about["type"] for group in _FIELDS.values() for key, about in group.items()} | {"preset": "select"}
_K_ANONYMITY, _FMDP = "k-anonymity", "fmdp"


@solara.component
def Step(session: Session, version: int, refresh: Callable[[], None], go: Callable[[str], None]) -> None:  # noqa: N802
    """Show the form of the scenario beside its results."""
    panel = Panel("game", session, refresh)
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
            _Results(session=session, panel=panel, version=version, with_rounds=rounds.value)
            if session.can_share:
                panel.form([panel.button("go", main=True)], lambda *_: go("share"))


def _changes(scenario: Scenario, key: str, value: Any) -> dict[str, object]:
    """Return the values of the scenario, by key path, that a change of a field stands for; None removes a key."""
    if isinstance(value, str) and _TYPES.get(key) != "select":
        value = entered_number(value)
    if key == "link":
        key, value = "economics.gain", None if value else scenario.scenario.economics.adversary_gain
    if key == "preset" and not value:
        return {"source": None}
    if key == "preset":
        amounts = _PRESETS.loc[value, ["benefit", "loss", "gain", "cost"]]
        changes = {f"economics.{name}": None if pd.isna(each) else each for name, each in amounts.items()}
        return {**changes, "source": _PRESETS.loc[value, "source"]}
    if key == "publisher.k":
        policies = [name for name in scenario.content["publisher"]["policies"] if name != _K_ANONYMITY]
        return {key: value, "publisher.policies": policies + [_K_ANONYMITY] * (value is not None)}
    if key == "resources.list.kind":
        if value and "list" in scenario.content.get("resources", {}):
            return {key: value}
        # An adversary who holds a list searches for the people in it. Only another direction is removed for a list, so
        # that a scenario without one had another before.
        direction = scenario.content["adversary"].get("direction")
        if not value:
            return {"resources.list": None, "adversary.holds": None, "adversary.direction": direction or "both"}
        held = {"resources.list": {"kind": value, "coverage": 0.5}, "adversary.holds": ["list"]}
        return {**held, "adversary.direction": "record" if direction in (None, "record") else None}
    if key == "adversary.planner" and value != _FMDP:
        # Amounts that the page has set go with their planner; other keys stay, and are refused with their names.
        given = scenario.content["adversary"].get("sequential", {}).keys()
        is_own = given and given <= {name.rpartition(".")[2] for name in _FIELDS["amounts"]}
        return {key: value, **({"adversary.sequential": None} if is_own else {})}
    # Own amounts are not those of the preset's source.
    is_own = key.startswith("economics.") and _preset_of(scenario)
    return {key: None if value == "" else value, **({"source": None} if is_own else {})}


def _preset_of(scenario: Scenario) -> str:
    """Return the name of the preset whose source the scenario has; "" if there is none."""
    source = scenario.content.get("source")
    return next((str(name) for name, each in _PRESETS["source"].items() if each == source), "")


def _controls(panel: Panel, session: Session, change: Callable[[str, Any], None]) -> None:
    """Show the fields of the scenario."""
    scenario = session.required
    groups = {group: _fields(panel, scenario, about) for group, about in _FIELDS.items()}
    # A kind of the user may have numbers of its own.
    own = [name for name in type(scenario.scenario).model_fields if name not in ScenarioHead.model_fields]
    numbers = {name: {"type": "number"} for name in own if type(_value(scenario, name)) in (int, float)}
    groups["amounts"] += _fields(panel, scenario, numbers)
    if _value(scenario, "economics") is not None:
        linked = panel.field("link", _value(scenario, "economics.gain") is None, "checkbox")
        groups["amounts"].append(linked)
    if session.drafted is not None:
        studies = {"": panel.t("own_amounts"), **{name: name for name in _PRESETS.index}}
        groups["amounts"].insert(0, panel.select("preset", _preset_of(scenario), studies))
    panel.form(groups.pop("amounts"), change, "amounts", text=scenario.content.get("source", ""))
    for group, fields in groups.items() if session.drafted is not None else ():
        panel.form(fields, change, group, fold=True)
    if (agents := _value(scenario, "agents")) is not None:
        panel.form([panel.button("play", label=panel.t("play", rounds=agents.rounds))], change, "rounds")


def _fields(panel: Panel, scenario: Scenario, group: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a group of ``fields.toml``."""
    fields = []
    for key, about in group.items():
        planner = _value(scenario, "adversary.planner")
        if _value(scenario, about.get("with", key)) is None or about.get("planner", planner) != planner:
            continue
        value, more = _value(scenario, key), dict[str, Any]()
        if value is None and "default" in about:
            value = _value(scenario, about["default"])
        if "policy" in about and about["policy"] not in scenario.content["publisher"]["policies"]:
            value = None
        if "needs" in about and _value(scenario, about["needs"]) is None:
            more = {"disabled": True, "help": panel.known(f"{about['needs']}_needed")}
        if "options" in about:
            labels = {each: panel.known(f"{key}_{each}", each) for each in (*about["options"], value or "")}
            fields.append(panel.select(key, value or "", labels))
        else:
            fields.append(panel.field(key, value, about["type"], **more))
    return fields


def _value(scenario: Scenario, key: str) -> Any:
    """Return the value or default of a key path; None if there is none."""
    found: Any = scenario.scenario
    for name in key.split("."):
        found = found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
    return found


@solara.component
def _Results(session: Session, panel: Panel, version: int, with_rounds: bool) -> None:  # noqa: N802
    """Show verdict, read-back, measures and figures, and the losses at which the best policy changes, if asked for.

    While other results are computed, the earlier ones stay, marked.
    """
    asked, scenario = solara.use_reactive(-1), session.required

    def solve() -> tuple[RunResult, Releases | None, str, str, str]:
        result = session.solve(with_rounds=with_rounds)
        content, rounds, releases = result.manifest["content"], _rounds(result), session.releases(result)
        answer = verdict(result.summary, content, rounds=rounds, name=policy_name)
        back = "" if releases is None else read_back_html(StoredRun.from_result(result), releases, style.policy_name)
        return result, releases, answer, back, measures_table(result.summary, content, policy_name)

    def draw() -> Iterator[tuple[Figure, str]]:
        if result is None:
            return
        unit, _ = counted_units(result.manifest["content"])
        for name, figure in figures_by_policy(result):
            yield style.name_unit(figure, unit), panel.t(name)
        if with_rounds and (rounds := _rounds(result)) is not None:
            yield rounds_by_policy(rounds), panel.t("rounds_played", rounds=rounds["round"].max())

    # Comparing versions is quick; comparing scenarios reads their files.
    solved, pending = panel.computed(solve, [version, with_rounds, language.value], "solving")
    panel.busy(panel.pending, "solving")
    result, releases, answer, back, measures = solved or (None, None, "", "", "")
    if result is not None:
        with solara.Div(classes=["desk-stale"] if pending or panel.pending else []):
            text(answer, "verdict")
            bullets([_with_name(warning, result.summary.index) for warning in result.warnings])
            html(back)
            panel.text("measures", "title")
            html(measures, language.value)
    # Figures are drawn after the texts, which they would delay.
    panel.pictures(draw, [result])
    if releases is not None and len(releases.by_policy) > 1:
        _Comparison(panel=panel, releases=releases)
    panel.text("break_even", "title")
    panel.form([panel.button("search")], lambda *_: asked.set(version))
    search = partial(session.break_even, scenario) if asked.value == version else str
    found, _ = panel.computed(search, [version, asked.value], "searching")
    html(found or "")


def _with_name(warning: str, policies: Collection[str]) -> str:
    """Return a warning with the displayed name of the policy that it begins with, if any."""
    policy, colon, rest = warning.partition(": ")
    return f"{policy_name(policy)}: {rest}" if colon and policy in policies else warning


def _rounds(result: RunResult) -> pd.DataFrame | None:
    return result.analysis.tables().get("rounds")


@solara.component
def _Comparison(panel: Panel, releases: Releases) -> None:  # noqa: N802
    """Compare two releases by column, for a record, and as pictures of a column before and after."""
    names = {name: policy_name(name) for name in releases.by_policy}
    columns = list(map(str, next(iter(releases.by_policy.values())).shared.forms.labels))
    start = {"first": next(iter(names)), "second": list(names)[-1], "column": columns[0], "record": 1}
    chosen: solara.Reactive[dict[str, Any]] = solara.use_reactive(start)
    first, second, column, record = (chosen.value[key] for key in start)

    def compare() -> dict[str, pd.DataFrame]:
        by_column = compare_columns(releases, first, second)
        row = entered_number(str(record))
        if not isinstance(row, int):
            raise InputError("not the number of a record", found=record, expected="a whole number")
        by_record = compare_record(releases, row, first, second)
        by_record = by_record.rename(index={SUCCESS: panel.t("success")}).reset_index(names="column")
        return {"by_column": by_column.assign(policy=by_column["policy"].map(names)), "by_record": by_record}

    def draw() -> Iterator[tuple[Figure, str]]:
        for name, share in compare_values(releases, column, first, second).items():
            title = f"{column}: {panel.known(str(name), policy_name(str(name)))}"
            yield draw_values(share, title), title

    panel.text("compare", "title")
    fields = [
        panel.select("first", first, names),
        panel.select("second", second, names),
        panel.select("column", column, columns),
        panel.field("record", record, "number"),
    ]
    panel.form(fields, lambda key, value: chosen.set({**chosen.value, key: value}), row=True)
    tables, _ = panel.computed(compare, [releases, first, second, record, language.value], "reading_back")
    for title, table in (tables or {}).items():
        panel.frame(panel.t(title, record=record), table)
    panel.pictures(draw, [releases, first, second, column])
