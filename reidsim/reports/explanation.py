"""Explain the rounds of a scenario: agents, and the steps of each phase."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd

from reidsim.agents.profile import FIRST_STREAMS, PHASES, Phase
from reidsim.core.errors import InputError, listed
from reidsim.reports.writer import lines_of
from reidsim.scenarios.adversary_schema import AgentsSection
from reidsim.scenarios.agents import types_of
from reidsim.scenarios.kind import Kind, kind_named, kind_of
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kinds
from reidsim.scenarios.schema import ScenarioHead, economics_of


def explanation(loaded: Scenario[ScenarioHead]) -> str:
    """Return the agents of a scenario and the phases of its rounds as text.

    The text has several lines. A scenario without section ``agents`` is described with the defaults of its kind.

    Raises
    ------
    InputError
        If this kind of scenario does not support agents.
    """
    scenario, kind = loaded.scenario, kind_of(loaded.scenario)
    if not kind.decides or not hasattr(scenario, "economics"):
        raise InputError(
            "this kind of scenario does not support rounds of agents",
            source=loaded.path,
            where="game",
            found=getattr(scenario, "game", None),
            expected=listed([name for name in kinds.names if "agents" in kind_named(name).schema.model_fields]),
        )
    agents, economics = kind.agents_of(scenario), economics_of(scenario)[0]
    prices: dict[Literal["gain", "cost"], float] = {"gain": economics.adversary_gain, "cost": economics.cost}
    types = []
    for name, section in types_of(scenario).items():
        planner, knowledge = kind.attacker(scenario, name)
        each: dict[str, Any] = {"name": name, "section": section, "planner": planner, "knowledge": knowledge}
        for price, of_all in prices.items():
            own = getattr(section, price)
            by_record = own is None and kind.is_by_record(scenario, price)
            each[price] = "by record" if by_record else f"{of_all if own is None else own:,g}"
        types.append(each)
    lines = lines_of(
        "explanation",
        name=loaded.name,
        agents=agents,
        decides=kind.decides,
        policies=kind.policies_of(scenario),
        types=types,
        phases=[_phase(phase, kind, scenario, agents) for phase in PHASES],
        first_streams=FIRST_STREAMS,
        sampled=agents.mode == "sampling",
    )
    return "".join(f"{line}\n" for line in lines)


def _phase(phase: Phase, kind: Kind, scenario: ScenarioHead, agents: AgentsSection) -> dict[str, Any]:
    """Return the actors, decision, information and random draws of a phase.

    Actors, decision and information are texts. Keys: ``name``, ``actors``, ``decides``, ``knowing`` and ``drawn``, the
    names of the random streams that are used; empty if outcomes are expected values. The information is empty if no
    agent acts.
    """
    publisher = "data subjects" if kind.decides == "subject" else "publisher"
    actors, decision, information = phase.actors.replace("publisher", publisher), phase.decision, phase.information
    if phase.name == "learn":
        actors, decision, information = _learning(publisher, scenario, agents)
    elif phase.name == "enforce" and not agents.enforcement.detection:
        actors, decision, information = "no step (no exploit is detected)", "", ""
    elif phase.name == "publish":
        decision = kind.decision(scenario) or decision
        information += ", and the adversaries' later purchases and budgets" * (agents.foresees == "plans")
    if agents.remembers and agents.rounds > 1 and phase.name in ("publish", "attack"):
        information += "; releases of earlier rounds"
    # Draws of these streams are used only with the section.
    used = {"notices": agents.learning, "hearing": agents.participation, "detections": agents.enforcement.detection}
    drawn = [stream for stream in phase.streams if agents.mode == "sampling" and used.get(stream, True)]
    return {"name": phase.name, "actors": actors, "decides": decision, "knowing": information, "drawn": drawn}


def _learning(publisher: str, scenario: ScenarioHead, agents: AgentsSection) -> tuple[str, str, str]:
    """Return three texts on the learning phase: actors, decisions and information.

    A decision may be a belief that is learned. `publisher` is the name of the publishing agents. If no agent learns,
    the first text states this and the others are "".
    """
    has_accuracy = any(section.expected_accuracy is not None for section in types_of(scenario).values())
    experience = "re-identifications experienced or heard of"
    learns = [
        (publisher, "the probability of each adversary type", "attacks noticed", agents.learning is not None),
        ("adversaries", "the accuracy of their resources", "own successes", has_accuracy),
        ("data subjects", "participation in the next round", experience, agents.participation is not None),
    ]
    found = pd.DataFrame([row[:3] for row in learns if row[3]], columns=["actor", "decides", "knows"])
    if found.empty:
        return "no step (beliefs are fixed, and all data subjects participate)", "", ""
    # Data subjects who publish learn as publisher and as data subjects.
    of_actor = found.groupby("actor", sort=False).agg({"decides": " and ".join, "knows": ", ".join})
    decisions, information = (
        "; ".join(f"{actor}: {text}" for actor, text in of_actor[each].items()) for each in of_actor
    )
    return ", ".join(map(str, of_actor.index)), decisions, information
