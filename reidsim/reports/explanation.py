"""Explain the rounds of a scenario: agents, and the steps of each phase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from reidsim.agents.phases import FIRST_STREAMS, PHASES, Phase
from reidsim.errors import InputError, listed
from reidsim.reports.writer import render
from reidsim.scenarios.agents import types_of
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_named, kind_of
from reidsim.scenarios.schema import ScenarioHead, economics_of
from reidsim.scenarios.user_defined import kinds

_PRICES: tuple[Literal["gain", "cost"], ...] = ("gain", "cost")


def explanation(loaded: Scenario[ScenarioHead]) -> str:
    """Return the agents of a scenario and the phases of its rounds as text.

    Raises
    ------
    InputError
        If the game of the scenario has no agents.
    """
    scenario = loaded.scenario
    kind = kind_of(scenario)
    if not kind.decides or not hasattr(scenario, "economics"):
        raise InputError(
            "this kind of scenario does not support rounds of agents",
            source=loaded.path,
            where="game",
            found=getattr(scenario, "game", None),
            expected=listed([name for name in kinds.names if "agents" in kind_named(name).schema.model_fields]),
        )
    agents = kind.agents_of(scenario)
    types = []
    for name, section in types_of(scenario).items():
        planner, knowledge = kind.attacker(scenario, name)
        gain, cost = (_amount(price, getattr(section, price), kind, scenario) for price in _PRICES)
        types.append(
            {"name": name, "section": section, "planner": planner, "knowledge": knowledge, "gain": gain, "cost": cost}
        )
    context = {
        "name": loaded.name,
        "agents": agents,
        "decides": kind.decides,
        "policies": kind.policies_of(scenario),
        "types": types,
        "phases": list(_phases(kind, scenario, agents)),
        "first_streams": FIRST_STREAMS,
        "sampled": agents.mode == "sampling",
    }
    return str(render("explanation", context, "text"))


def _amount(price: Literal["gain", "cost"], own: float | None, kind: Kind, scenario: ScenarioHead) -> str:
    """Return the gain or cost of an adversary as text, by default the scenario's."""
    if own is None and kind.is_by_record(scenario, price):
        return "by record"
    economics, _ = economics_of(scenario)
    of_all = economics.adversary_gain if price == "gain" else economics.cost
    return f"{of_all if own is None else own:,g}"


def _phases(kind: Kind, scenario: ScenarioHead, agents: AgentsSection) -> Iterator[dict[str, Any]]:
    for phase in PHASES:
        actors, decision, information = _acting(phase, scenario, agents, subjects_share=kind.decides == "subject")
        if phase.name == "publish":
            decision = kind.decision(scenario) or decision
        sampled = phase.streams if agents.mode == "sampling" else ()
        drawn = [stream for stream in sampled if _is_drawn(stream, agents)]
        yield {"name": phase.name, "actors": actors, "decides": decision, "knowing": information, "drawn": drawn}


def _acting(
    phase: Phase, scenario: ScenarioHead, agents: AgentsSection, *, subjects_share: bool
) -> tuple[str, str, str]:
    """Return the actors, decision and information of a phase.

    The information is empty if no agent acts.
    """
    publisher = "data subjects" if subjects_share else "publisher"
    if phase.name == "enforce" and not agents.enforcement.detection:
        return "no step (no exploit is detected)", "", ""
    if phase.name != "learn":
        foresees = phase.name == "publish" and agents.foresees == "plans"
        information = phase.information + ", and the adversaries' later purchases and budgets" * foresees
        if agents.remembers and agents.rounds > 1 and phase.name in ("publish", "attack"):
            information += "; releases of earlier rounds"
        return phase.actors.replace("publisher", publisher), phase.decision, information
    learns = {
        publisher: (agents.learning is not None, "the probability of each adversary type", "attacks noticed"),
        "adversaries": (
            any(section.expected_accuracy is not None for section in types_of(scenario).values()),
            "the accuracy of their resources",
            "own successes",
        ),
    }
    stays = (
        agents.participation is not None,
        "participation in the next round",
        "re-identifications experienced or heard of",
    )
    known = learns.setdefault("data subjects", (False, "", ""))
    if stays[0]:
        both = [part for part in (known, stays) if part[0]]
        learns["data subjects"] = (True, " and ".join(part[1] for part in both), ", ".join(part[2] for part in both))
    actors = {name: (decision, knowing) for name, (acts, decision, knowing) in learns.items() if acts}
    if not actors:
        return "no step (beliefs are fixed, and all data subjects participate)", "", ""
    decisions = "; ".join(f"{name}: {decision}" for name, (decision, _) in actors.items())
    return ", ".join(actors), decisions, "; ".join(f"{name}: {knowing}" for name, (_, knowing) in actors.items())


def _is_drawn(stream: str, agents: AgentsSection) -> bool:
    """Return whether a scenario uses the draws of a random stream."""
    needed = {"notices": agents.learning, "hearing": agents.participation, "detections": agents.enforcement.detection}
    return bool(needed.get(stream, True))
