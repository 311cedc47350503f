"""The web page: controls on the left; verdict, measures and figures on the right."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import solara
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from solara.lab import Tab, Tabs, use_task

from reidsim.core.wording import BLUE, GREY, ORANGE, VERMILION, counted
from reidsim.figures.studies import payoffs_by_policy, risks_by_policy, rounds_by_policy
from reidsim.figures.style import label_axes, legend_below, new_figure, number_text, policy_name
from reidsim.reports.verdict import compared_policies, measures_table, verdict
from reidsim.scenarios.kind import Control, Selection, Value, kind_of, kind_of_content, once_each
from reidsim.web.exploration import FORMS, Explored, form_shares, offered, read_back_html

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
