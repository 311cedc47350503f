"""Which values of a scenario the web page can change, and between what bounds."""

from __future__ import annotations

from dataclasses import dataclass

from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead

Value = float | str
# Sliders reach this many times the scenario's own amount, or the amount below if that is more.
_REACH = 3.0
_LEAST_REACH = 10.0


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


def controls_of(loaded: LoadedScenario[ScenarioHead]) -> tuple[Control, ...]:
    """Return what can be changed in a scenario, in the order of the page; nothing for games without prices."""
    scenario = loaded.scenario
    economics = getattr(scenario, "economics", None)
    if economics is None:
        return ()
    controls: list[Control] = [
        _amount("economics.benefit", "Benefit of sharing", economics.benefit),
        _amount("economics.loss", "Loss if re-identified", economics.loss),
    ]
    if economics.gain is not None:
        controls.append(_amount("economics.gain", "Adversary's gain", economics.gain))
    controls.append(_amount("economics.cost", "Cost of an attack", economics.cost))
    if isinstance(scenario, TablesScenario) and scenario.publisher.unit == "record":
        controls += _of_planner(scenario)
    if isinstance(scenario, MaskingScenario) and scenario.adversary.stages:
        threshold = scenario.adversary.confidence_threshold
        controls.append(Slider("adversary.confidence_threshold", "Confidence threshold", threshold, 1.0, 0.05))
    return tuple(controls)


def _of_planner(scenario: TablesScenario) -> list[Control]:
    planner = scenario.adversary.planner
    if scenario.adversary.knowledge is not None or scenario.adversaries:
        return []
    choice = Choice("adversary.planner", "Planner of the adversary", planner, ("one-shot", "fmdp"))
    if planner != "fmdp":
        return [choice]
    sequential = scenario.adversary.sequential
    return [
        choice,
        _amount("adversary.sequential.access_cost", "Price of access", sequential.access_cost),
        _amount("adversary.sequential.penalty", "Penalty for a detected exploit", sequential.penalty),
    ]


def _amount(key: str, label: str, value: float) -> Slider:
    high = max(_REACH * value, _LEAST_REACH)
    # About a hundred steps of a round size.
    step = next(size for size in (0.1, 0.5, 1, 5, 10, 50, 100, 500, 1_000, high) if high / size <= 200)
    return Slider(key, label, float(value), float(-(-high // step) * step), float(step))
