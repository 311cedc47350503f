"""What a kind shows of itself: figures, values that the page in the browser changes, and words of `reidsim explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pandas as pd

from reidsim.measures import Measure
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.asked import Stored, adversaries, by_generalization, plan
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import AnalysisTables
from reidsim.wording import Code, Sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Figures by name, as they are drawn.
Figures = Iterator[tuple[str, "Figure"]]
Value = float | str
# Sliders reach this many times the scenario's own amount, or the amount below if that is more.
_REACH = 3.0
_LEAST_REACH = 10.0


class Shown(Protocol):
    """The result of a run, as figures see it; see `reidsim.engine.run_result.RunResult`."""

    @property
    def name(self) -> str: ...  # noqa: D102 - as of results
    @property
    def runs(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def records(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def analysis(self) -> AnalysisTables: ...  # noqa: D102
    @property
    def manifest(self) -> dict[str, Any]: ...  # noqa: D102
    @property
    def measures(self) -> tuple[Measure, ...]: ...  # noqa: D102
    @property
    def summary(self) -> pd.DataFrame: ...  # noqa: D102


class ShownSweep(Shown, Protocol):
    """The result of a batch, as figures see it; see `reidsim.engine.batch.result.BatchResult`."""

    @property
    def design(self) -> Any: ...  # noqa: D102
    @property
    def statistics(self) -> pd.DataFrame: ...  # noqa: D102


@dataclass(frozen=True)
class Slider:
    """A number that can be changed.

    Parameters
    ----------
    key : str
        Path in the scenario, such as ``"economics.loss"``.
    label : str
        What the page calls it.
    value : float
        The scenario's.
    high : float
        Upper bound; the lower one is 0.
    step : float
    """

    key: str
    label: str
    value: float
    high: float
    step: float


@dataclass(frozen=True)
class Choice:
    """A word that can be changed to one of several; see `Slider`."""

    key: str
    label: str
    value: str
    options: tuple[str, ...]


Control = Slider | Choice


def amount_slider(key: str, label: str, value: float) -> Slider:
    """Return a slider of some hundred steps of a round size, that reaches well beyond the scenario's amount."""
    high = max(_REACH * value, _LEAST_REACH)
    step = next(size for size in (0.1, 0.5, 1, 5, 10, 50, 100, 500, 1_000, high) if high / size <= 200)
    return Slider(key, label, float(value), float(-(-high // step) * step), float(step))


class Faces:
    """What a kind shows of itself, each with a default; `Kind` derives from it.

    Attributes
    ----------
    captions : mapping of str to str
        What its own figures and tables show, by their names; see `reidsim.reports.page.captions`.
    drawn_by : str
        The module whose functions `run_figures` and `sweep_figures`, if it has them, draw what is its own; or none.
    """

    captions: Mapping[str, str] = MappingProxyType({})
    drawn_by: str = ""

    def asked(self, run: Stored) -> Iterator[Sentence]:
        """Yield what a run was asked, in sentences of its report: against whom, and at what prices, where it says."""
        yield ("A study of the kind ", Code(str(run.content.get("game"))), ".")
        if "economics" in run.content:
            yield from adversaries(run, plan)
            yield from by_generalization(run, "publisher")

    def figures(self, result: Shown) -> Figures | None:
        """Return figures of one run, by name, besides those that every kind has: see `reidsim.figures.by_policy`."""
        return self._drawn("run_figures", result)

    def sweep_figures(self, result: ShownSweep) -> Figures | None:
        """Return figures of a batch, by name; None for those that every kind has: lines and maps along what changes."""
        return self._drawn("sweep_figures", result)

    def _drawn(self, name: str, result: object) -> Figures | None:
        # Figures are slow to import, and only needed here.
        draw = getattr(import_module(self.drawn_by), name, None) if self.drawn_by else None
        figures: Figures | None = None if draw is None else draw(result)
        return figures

    def controls(self, scenario: Any) -> Iterator[Control]:
        """Yield what the page in the browser changes: amounts of money, and keys of the kind that hold a number."""
        economics = getattr(scenario, "economics", None)
        if economics is not None:
            yield amount_slider("economics.benefit", "Benefit of sharing, per record", economics.benefit)
            yield amount_slider("economics.loss", "Loss if re-identified, per record", economics.loss)
            if economics.gain is not None:
                yield amount_slider("economics.gain", "Adversary's gain, per record", economics.gain)
            yield amount_slider("economics.cost", "Cost of an attack, per record", economics.cost)
        for key, field in type(scenario).model_fields.items():
            value = getattr(scenario, key)
            if key in ScenarioHead.model_fields or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            slider = amount_slider(key, field.description or key, value)
            whole = isinstance(value, int)
            yield Slider(key, slider.label, value, slider.high, max(1.0, slider.step)) if whole else slider

    def in_rounds(self, scenario: Any) -> bool:
        """Tell whether a scenario is played round after round."""
        return getattr(scenario, "agents", None) is not None

    def agents_of(self, scenario: Any) -> AgentsSection:
        """Return who meets whom round after round; one adversary and one round, if the scenario does not say."""
        return getattr(scenario, "agents", None) or AgentsSection()

    def attacker(self, scenario: Any, name: str) -> tuple[str, str | None]:
        """Return how an adversary of a scenario plans, and what recipe it knows."""
        section = getattr(scenario, "adversaries", {}).get(name, getattr(scenario, "adversary", None))
        return getattr(section, "planner", "one-shot"), getattr(section, "knowledge", None)

    def is_by_record(self, scenario: Any, price: Literal["gain", "cost"]) -> bool:
        """Tell whether records differ in a price of the adversary."""
        return False

    def decision(self, scenario: Any) -> str:
        """Say what whoever shares the records decides in a round; empty if it is the release of each record."""
        return ""
