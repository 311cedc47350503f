"""The page itself: controls on the left, measures and figures beside them."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable

import solara
from matplotlib.figure import Figure
from mesa.visualization import SolaraViz
from mesa.visualization.utils import update_counter

from reidsim.figures.agents import rounds_by_policy
from reidsim.figures.by_policy import payoffs_by_policy, risks_by_policy
from reidsim.figures.style import policy_name
from reidsim.reports.measures_html import measures_table
from reidsim.reports.verdict import best_policy, verdict
from reidsim.scenarios.faces import Choice, Control, Value
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.people import once_each
from reidsim.web import figures, served
from reidsim.web.exploration import Exploration

# A card with nothing in it is not shown: mesa has one for parameters of its own, which are set in another here.
_STYLE = """
.v-card:has(> .v-card__text > .v-sheet:only-child:empty) { display: none; }
.reidsim-measures { overflow-x: auto; }
.reidsim-measures table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
.reidsim-measures th, .reidsim-measures td { padding: .3rem .6rem; border-bottom: 1px solid rgba(128, 128, 128, .35); }
.reidsim-measures th { text-align: left; font-weight: 500; }
.reidsim-measures thead th, .reidsim-measures tbody td { text-align: right; }
.reidsim-measures tbody th { font-weight: 400; cursor: help; }
"""


@solara.component
def Page() -> None:  # noqa: N802 - solara's name for the component that is served
    """Show the scenario that is served."""
    loaded = served.scenario()
    values: solara.Reactive[dict[str, Value]] = solara.use_reactive({})
    model = solara.use_reactive(solara.use_memo(lambda: Exploration(loaded, values.peek), []))
    shown = model.value

    def change(key: str, value: Value) -> None:
        values.value = {**values.value, key: value}
        model.value = Exploration(loaded, values.peek, shown.policy)

    def choose(policy: str) -> None:
        model.value = Exploration(loaded, values.peek, policy)

    with solara.Sidebar(), solara.Card("Scenario"):
        solara.Text(f"{loaded.name}: {loaded.scenario.title}")
        for control in kind_of(loaded.scenario).controls(loaded.scenario):
            _control(control, values.value.get(control.key, control.value), change)
        solara.Select("Policy of forms and rounds", values=shown.policies, value=shown.policy, on_value=choose)

    solara.Style(_STYLE)
    # mesa's controls alone: its own view of components puts them into tabs named "Page 0" and so on.
    SolaraViz(
        model,
        components=[],
        # What a reset of the page builds its model from.
        model_params={"loaded": loaded, "values": values.peek, "policy": shown.policy},
        name=f"reidsim: {loaded.name}",
    )
    _measures(shown)
    with solara.ColumnsResponsive(12, large=6):
        for part in (_payoffs, _risk, _forms, _rounds):
            part(shown)


def _control(control: Control, value: Value, change: Callable[[str, Value], None]) -> None:
    def set_value(new: Value) -> None:
        change(control.key, new)

    if isinstance(control, Choice):
        solara.Select(control.label, values=list(control.options), value=str(value), on_value=set_value)
    else:
        solara.SliderFloat(
            f"{control.label}: {float(value):g}",
            value=float(value),
            min=0.0,
            max=control.high,
            step=control.step,
            on_value=set_value,
        )


@solara.component
def _measures(model: Exploration) -> None:
    update_counter.get()
    if model.problem:
        solara.Error(model.problem)
    with solara.Column():
        solara.Text(verdict(model.measures, model.content, name=policy_name))
        table = measures_table(model.measures, model.content)
        solara.HTML(unsafe_innerHTML=table, classes=["reidsim-measures"])


@solara.component
def _payoffs(model: Exploration) -> None:
    best = policy_name(best_policy(model.measures, model.content))
    _image(
        payoffs_by_policy(model.measures.reset_index(), model.result.measures),
        f"Mean payoffs by policy; {best} pays best",
    )


@solara.component
def _risk(model: Exploration) -> None:
    figure = risks_by_policy(once_each(model.result.records, model.content))
    _image(figure, "Share of records at or above each risk, by policy")


@solara.component
def _forms(model: Exploration) -> None:
    if not model.attributes:
        # Records of some kinds have no attributes, and are shared as they are or not.
        return
    shares = figures.form_shares(model.result.records, model.attributes, model.policy)
    _image(figures.form_bars(shares, model.policy), f"How each attribute is shared under {policy_name(model.policy)}")


@solara.component
def _rounds(model: Exploration) -> None:
    # A round changes the model in place, which solara does not see.
    update_counter.get()
    rounds = model.rounds
    if rounds.empty:
        solara.Info("Step plays a round of the agents; the button with the arrow plays one after the other.")
    else:
        _image(rounds_by_policy(rounds.assign(policy=model.policy)), f"Rounds played so far: {len(rounds)}")


def _image(figure: Figure, description: str) -> None:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    source = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    solara.HTML(tag="img", attributes={"src": source, "alt": description, "style": "max-width: 100%"})
