"""The web page: controls on the left; verdict, measures and figures on the right."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import solara
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from solara.lab import Tab, Tabs, use_task

from reidsim.core.errors import InputError
from reidsim.core.palette import BLUE, GREY, ORANGE, VERMILION
from reidsim.core.validation import override, validated_after, value_if_any
from reidsim.core.wording import counted
from reidsim.engine.batch.design import data_key
from reidsim.engine.results import RunResult
from reidsim.engine.single_run import run_once
from reidsim.figures.runs import payoffs_by_policy, risks_by_policy, rounds_by_policy
from reidsim.figures.style import label_axes, legend_below, new_figure, number_text, policy_name
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.decision import mean_payoffs
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.file import releases_of
from reidsim.reports.verdict import compared_policies, measures_table, verdict
from reidsim.reports.writer import render
from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.kind import Control, Selection, Value, kind_of, kind_of_content
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import RECORD_COLUMNS, ScenarioHead
from reidsim.scenarios.study import HOUSEHOLD, PERSON, Study, once_each, unit_sentence

# Sections and keys that a single solution of a scenario does not need.
_LEFT_OUT = ("figures", "replications", "sweep", "uncertainty", "stress")


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
        content: Mapping[str, Any] = self.result.manifest["content"]
        return content

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
                return Explored(self._run(one_game(without(self.loaded, *_LEFT_OUT))), str(error))

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
    kept = without(loaded, *_LEFT_OUT)
    content = deepcopy(kept.content)
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
        return without(loaded, "agents")
    kept = {key: value for key, value in agents.items() if key not in ("participation", "learning")}
    return loaded.with_content({**loaded.content, "agents": {**kept, "rounds": 1, "mode": "expectation", "draws": 1}})


def without(loaded: Scenario[ScenarioHead], *keys: str) -> Scenario[ScenarioHead]:
    """Return a copy of a scenario without some sections or other top-level keys.

    Keys that the scenario lacks are ignored.
    """
    return loaded.with_content({key: value for key, value in loaded.content.items() if key not in keys})


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


_LOOKS = dict(zip(FORMS, ((BLUE, ""), (ORANGE, "//"), (VERMILION, ".."), (GREY, "xx")), strict=True))
_STYLESHEET = Path(__file__).with_suffix(".css")


@solara.component
def Page() -> None:  # noqa: N802 - solara's name for the component that is served
    """Show the scenario that the server offers.

    The page has controls, verdict, measures, figures and rounds of agents.
    """
    explorer = offered()
    values: solara.Reactive[dict[str, Value]] = solara.use_reactive({})
    # The values for which rounds were requested; rounds of other values are hidden.
    asked: solara.Reactive[dict[str, Value] | None] = solara.use_reactive(None)
    solved = use_task(lambda: explorer.solve(values.value), dependencies=[values.value])
    played = use_task(
        lambda: None if asked.value is None else explorer.solve(asked.value, with_rounds=True),
        dependencies=[asked.value],
    )

    def change(key: str, value: Value) -> None:
        asked.value = None
        values.value = {**values.value, key: value}

    loaded = explorer.loaded
    solara.Title(f"reidsim: {loaded.name}")
    solara.Style(_STYLESHEET)
    with solara.Sidebar():
        solara.Text(f"{loaded.name}: {loaded.scenario.title}")
        for control in kind_of(loaded.scenario).controls(loaded.scenario):
            _control(control, values.value, change)
        if explorer.n_rounds:
            label = f"Play {counted(explorer.n_rounds, 'round')}"
            solara.Button(label, on_click=lambda: asked.set(values.value), disabled=played.pending, color="primary")
    _busy(solved.pending or played.pending)
    shown = solved.latest
    if shown is None:
        solara.Text("Solving the scenario.")
        return
    rounds = played.value if asked.value is not None else None
    # While a new result is computed, the previous numbers stay visible and are faded.
    with solara.Column(classes=["reidsim-stale"] if solved.pending or played.pending else []):
        _answer(rounds or shown, shown)
        _figures(shown)
        if rounds is not None and rounds.rounds is not None:
            _picture(_source(rounds_by_policy(rounds.rounds)), f"Rounds played: {rounds.rounds['round'].max()}")


def _control(control: Control, values: Mapping[str, Value], change: Callable[[str, Value], None]) -> None:
    def set_value(new: Any) -> None:
        if new is not None:
            change(control.key, new)

    value = values.get(control.key, control.value)
    if isinstance(control, Selection):
        solara.Select(control.label, values=list(control.options), value=str(value), on_value=set_value)
        return
    linked = bool(control.follows) and (values[control.key] is None if control.key in values else control.linked)
    if linked:
        value = values.get(control.follows, control.value)
    amount = float(value or 0.0)
    label = f"{control.label} (0 to {number_text(control.high)})"
    solara.InputFloat(f"{label}, changes with the loss" if linked else label, amount, set_value, disabled=linked)
    # Larger numbers than the end of the slider can be typed.
    solara.SliderFloat(
        "",
        value=min(max(amount, 0.0), control.high),
        min=0.0,
        max=control.high,
        step=control.step,
        on_value=set_value,
        disabled=linked,
    )
    if control.follows:
        solara.Checkbox(
            label="Gain changes with the loss (gain = loss)",
            value=linked,
            on_value=lambda on: change(control.key, None if on else amount),
        )


@solara.component
def _answer(shown: Explored, solved: Explored) -> None:
    if shown.problem:
        solara.Error(shown.problem)
    text = verdict(shown.measures, shown.content, rounds=shown.rounds, name=policy_name)
    solara.Text(text, classes=["reidsim-verdict"])
    table = measures_table(shown.measures, shown.content, policy_name)
    solara.HTML(unsafe_innerHTML=table, classes=["reidsim-measures"])
    # The read-back check of the releases is computed in the background.
    found = use_task(lambda: read_back_html(solved), dependencies=[solved])
    _busy(found.pending)
    if found.latest:
        solara.HTML(unsafe_innerHTML=found.latest, classes=["reidsim-measures", "reidsim-read-back"])


@solara.component
def _figures(shown: Explored) -> None:
    """Show the figures, drawn in the background so that the numbers appear first.

    They are payoffs and risks by policy, and how a selected policy (by default the best) releases each attribute.
    """
    chosen: solara.Reactive[str | None] = solara.use_reactive(None)
    payoffs = compared_policies(shown.measures, kind_of_content(shown.content).policies)["publisher_payoff"]
    policies, best = list(shown.measures.index), str(payoffs.idxmax())
    policy = chosen.value if chosen.value in policies else best
    drawn = use_task(lambda: _by_policy(shown, best), dependencies=[shown])
    forms = use_task(lambda: _forms(shown, policy), dependencies=[shown, policy])
    _busy(drawn.pending or forms.pending)
    with solara.ColumnsResponsive(12, large=6):
        for source, description in drawn.latest or ():
            _picture(source, description)
    if not shown.attributes:
        # Records of some kinds of scenario have no attributes: they are released unchanged or not at all.
        return
    with Tabs(policies.index(policy), on_value=lambda at: chosen.set(policies[at or 0])):
        for name in policies:
            Tab(policy_name(name))
    if forms.latest is not None:
        _picture(*forms.latest)


def _busy(pending: bool) -> None:
    # The bar is always part of the page, so that the layout does not move when it appears or disappears.
    solara.ProgressLinear(pending, style={"visibility": "visible" if pending else "hidden"})


def _by_policy(shown: Explored, best: str) -> list[tuple[str, str]]:
    payoffs = payoffs_by_policy(shown.measures.reset_index(), shown.result.measures)
    risks = risks_by_policy(once_each(shown.result.records, shown.content))
    return [
        (_source(payoffs), f"Mean payoffs by policy; {policy_name(best)} has the highest payoff"),
        (_source(risks), "Share of records at or above each risk, by policy"),
    ]


def _forms(shown: Explored, policy: str) -> tuple[str, str] | None:
    """Return a figure of how a policy releases each attribute, and its description.

    The figure has stacked bars and is the text of a PNG image (data URL). The result is None without attributes.
    """
    if not shown.attributes:
        return None
    shares = form_shares(shown.result.records, shown.attributes, policy)
    figure, [[axes]] = new_figure(1, 1, panel=(5.2, max(3.0, 0.24 * len(shares) + 1)))
    left, handles = shares.cumsum(axis=1) - shares, []
    for form, (colour, hatch) in _LOOKS.items():
        bar: dict[str, Any] = {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        axes.barh(shares.index, shares[form], left=left[form], **bar)
        handles.append(Patch(**bar, label=form))
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    label_axes(axes, title=f"How attributes are shared: {policy_name(policy)}", x="Share of records")
    legend_below(figure, handles, columns=2)
    return _source(figure), f"How each attribute is shared under {policy_name(policy)}"


def _source(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _picture(source: str, description: str) -> None:
    solara.HTML(tag="img", attributes={"src": source, "alt": description, "style": "max-width: min(100%, 44rem)"})
