"""What happens in a round of a scenario: who is there, who acts in each phase, on what information, what is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from reidsim.agents.phases import FIRST_STREAMS, PHASES, Phase
from reidsim.errors import InputError, listed
from reidsim.scenarios.adversary_schema import WeightedSection
from reidsim.scenarios.agents import types_of
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_named, kind_names, kind_of
from reidsim.scenarios.schema import ScenarioHead, economics_of
from reidsim.wording import counted


def explanation(loaded: LoadedScenario[ScenarioHead]) -> str:
    """Return the agents of a scenario and the phases of its rounds as text.

    Raises
    ------
    InputError
        If the scenario is of a game that has no agents.
    """
    scenario = loaded.scenario
    kind = kind_of(scenario)
    if not kind.decides or not hasattr(scenario, "economics"):
        raise InputError(
            "a scenario of a game without agents", source=loaded.path, where="game",
            found=getattr(scenario, "game", None),
            expected=listed([name for name in kind_names() if "agents" in kind_named(name).schema.model_fields]),
        )  # fmt: skip
    agents = kind.agents_of(scenario)
    return "\n".join([*_agents(loaded.name, kind, scenario, agents), "", *_phases(kind, scenario, agents)]) + "\n"


def _agents(name: str, kind: Kind, scenario: ScenarioHead, agents: AgentsSection) -> Iterator[str]:
    draws = "one draw" if agents.draws == 1 else counted(agents.draws, "draw")
    outcomes = "expected outcomes" if agents.mode == "expectation" else f"drawn outcomes, {draws}"
    yield f"{name}: {counted(agents.rounds, 'round')}, {outcomes}"
    yield ""
    who = "data subjects, each for itself" if kind.decides == "subject" else "publisher"
    yield f"{who}: {', '.join(kind.policies_of(scenario))}, each on its own"
    if agents.learning is not None:
        noticed = agents.learning.noticed
        yield f"  learns the weights of the adversaries from attacks, of which it notices {noticed:.0%}"
    together = "one a round, drawn by weight" if agents.together == "one-of" else "each there with its probability"
    types = types_of(scenario)
    yield "adversary:" if len(types) == 1 else f"adversaries ({together}):"
    for adversary, section in types.items():
        yield f"  {adversary}: {', '.join(_traits(adversary, section, kind, scenario))}"
    rules = agents.enforcement
    if rules.detection:
        answers = [f"fine {rules.fine:,g}"] if rules.fine else []
        answers += [f"excluded for {counted(rules.exclusion, 'round')}"] if rules.exclusion else []
        yield f"environment: detects {rules.detection:.2%} of exploits; {', '.join(answers) or 'no answer'}"
    taking_part = agents.participation
    if taking_part is not None:
        yield (
            f"data subjects: take part if {taking_part.reward:,g} is at least the harm that they expect "
            f"(mean {taking_part.harm:,g} a re-identification)"
        )


def _traits(name: str, section: WeightedSection, kind: Kind, scenario: ScenarioHead) -> Iterator[str]:
    planner, knowledge = kind.attacker(scenario, name)
    yield f"weight {section.weight:g}"
    yield f"planner {planner}"
    yield f"gain {_amount('gain', section.gain, kind, scenario)}"
    yield f"cost {_amount('cost', section.cost, kind, scenario)}"
    if knowledge:
        yield f"knows {knowledge}"
    if section.holds:
        yield f"holds {' and '.join(section.holds)}"
    if section.buys:
        yield f"may buy {' and '.join(section.buys)}"
    if section.budget is not None:
        yield f"budget {section.budget:,g} a round"
    if section.expected_accuracy is not None:
        yield f"expects {section.expected_accuracy:.0%} of entries to be right"


def _amount(price: Literal["gain", "cost"], own: float | None, kind: Kind, scenario: ScenarioHead) -> str:
    """Return a price of an adversary in words: its own, or else the scenario's."""
    if own is None and kind.is_by_record(scenario, price):
        return "by record"
    economics, _ = economics_of(scenario)
    of_all = economics.adversary_gain if price == "gain" else economics.cost
    return f"{of_all if own is None else own:,g}"


def _phases(kind: Kind, scenario: ScenarioHead, agents: AgentsSection) -> Iterator[str]:
    sampled = agents.mode == "sampling"
    for number, phase in enumerate(PHASES, start=1):
        actors, decision, information = _acting(phase, scenario, agents, subjects_share=kind.decides == "subject")
        if phase.name == "publish":
            decision = kind.decision(scenario) or decision
        yield f"{number}. {phase.name}: {actors}"
        if information:
            yield f"   decides      {decision}"
            yield f"   knowing      {information}"
        drawn = [stream for stream in phase.streams if sampled and _is_drawn(stream, agents)]
        if drawn:
            yield f"   drawn        {', '.join(drawn)}"
    if agents.participation is not None:
        yield f"Before the first round drawn: {', '.join(FIRST_STREAMS)}"
    if sampled:
        yield "Every agent has a random stream of its own for each of these, in every round."


def _acting(
    phase: Phase, scenario: ScenarioHead, agents: AgentsSection, *, subjects_share: bool
) -> tuple[str, str, str]:
    """Return who acts in a phase of this scenario, what they decide, and what they know; the last empty if nobody."""
    publisher = "data subjects" if subjects_share else "publisher"
    if phase.name == "enforce" and not agents.enforcement.detection:
        return "no step (no exploit is detected)", "", ""
    if phase.name != "learn":
        foresees = phase.name == "publish" and agents.foresees == "plans"
        information = phase.information + ", and what they will buy and can pay for" * foresees
        if agents.remembers and agents.rounds > 1 and phase.name in ("publish", "attack"):
            information += "; what was released in earlier rounds"
        return phase.actors.replace("publisher", publisher), phase.decision, information
    learns = {
        publisher: (agents.learning is not None, "how likely each type is", "attacks noticed"),
        "adversaries": (
            any(section.expected_accuracy is not None for section in types_of(scenario).values()),
            "how much of what they hold is right",
            "own successes",
        ),
    }
    stays = (
        agents.participation is not None,
        "who takes part in the next round",
        "own re-identification, and those heard of",
    )
    known = learns.setdefault("data subjects", (False, "", ""))
    if stays[0]:
        both = [part for part in (known, stays) if part[0]]
        learns["data subjects"] = (True, " and ".join(part[1] for part in both), ", ".join(part[2] for part in both))
    actors = {name: (decision, knowing) for name, (acts, decision, knowing) in learns.items() if acts}
    if not actors:
        return "no step (beliefs are fixed, and everybody takes part)", "", ""
    decisions = "; ".join(f"{name}: {decision}" for name, (decision, _) in actors.items())
    return ", ".join(actors), decisions, "; ".join(f"{name}: {knowing}" for name, (_, knowing) in actors.items())


def _is_drawn(stream: str, agents: AgentsSection) -> bool:
    """Tell whether a scenario has what a stream is drawn for."""
    needed = {"notices": agents.learning, "hearing": agents.participation, "detections": agents.enforcement.detection}
    return bool(needed.get(stream, True))
