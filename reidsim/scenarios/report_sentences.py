"""Report sentences on a run's adversaries, payoff parameters and beliefs.

All kinds of scenario share these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from reidsim.scenarios.schema import spelled_out
from reidsim.wording import Code, Sentence, number_text


def adversaries(run: Any, planned: Callable[[Any, Mapping[str, Any]], Iterator[Sentence]]) -> Iterator[Sentence]:
    """Yield sentences on each adversary, its attacks and its resources.

    `planned` yields the sentences on the attacks, given the run and the adversary's section as plain data, with the
    defaults of ``[adversary]``.
    """
    several = section(spelled_out(run.content), "adversaries")
    each_comes = section(run.content, "agents").get("together") == "all"
    if several and each_comes:
        yield ("Several adversaries may attack, independently of each other.",)
    elif several:
        yield (
            "Each record faces one of several adversaries; payoffs, attacks and risk are averages over adversaries.",
        )
    for name in several:
        adversary = section(several, name)
        weight = number_text(adversary.get("weight"))
        if each_comes:
            yield ("With probability ", weight, ", ", Code(str(name)), " attacks.")
        else:
            yield ("With probability ", weight, " the adversary is ", Code(str(name)), ".")
        yield from planned(run, adversary)
        yield from _equipment(adversary)
    if not several:
        yield from planned(run, section(run.content, "adversary"))


def plan(run: Any, adversary: Mapping[str, Any]) -> Iterator[Sentence]:
    """Yield sentences on an adversary's attack, gain, cost and background knowledge."""
    gain, cost = gain_and_cost(run, adversary)
    if adversary.get("planner") == "fmdp":
        sequential = section(adversary, "sequential")
        yield (
            "The adversary may buy access to the registry ",
            Code(str(sequential.get("registry", "everybody"))),
            f" for {number_text(sequential.get('access_cost', 0))} and then exploit one candidate after another "
            f"while this is profitable. Success gains {gain}, an exploit costs {cost}, "
            f"a detected one {number_text(sequential.get('penalty', 0))}.",
        )
    else:
        yield (
            f"The adversary attacks a record at most once, by naming one of the people who match. Success gains "
            f"{gain}, an attempt costs {cost}. The adversary attacks if the expected gain exceeds the cost.",
        )
    yield from knowledge(adversary)


def _equipment(adversary: Mapping[str, Any]) -> Iterator[Sentence]:
    """Yield sentences on an adversary's resources, budget and accuracy in rounds."""
    for key, words in (("holds", "The adversary holds "), ("buys", "The adversary may buy ")):
        names = adversary.get(key) or ()
        if names:
            yield (words, *[part for name in names for part in (", ", Code(str(name)))][1:], ".")
    if "budget" in adversary:
        yield (f"The adversary spends at most {number_text(adversary['budget'])} a round.",)
    if "accuracy" in adversary:
        yield (f"Of the entries in the adversary's resources, {adversary['accuracy']:.0%} are correct.",)


def knowledge(adversary: Mapping[str, Any]) -> Iterator[Sentence]:
    """Yield a sentence on the knowledge recipe of an adversary, if it has one."""
    known = adversary.get("knowledge")
    if isinstance(known, str):
        yield ("The adversary's knowledge of people is limited to the recipe ", Code(known), ".")


def gain_and_cost(run: Any, adversary: Mapping[str, Any]) -> tuple[str, str]:
    """Return an adversary's gain and cost as text.

    If the adversary has no own value, the value of the section ``economics`` is returned, or a phrase if the gain
    follows a loss that varies between points.
    """
    economics = section(run.content, "economics")
    gain = number_text(adversary.get("gain", economics.get("gain", economics.get("loss"))))
    if "gain" not in adversary and gain_goes_with_loss(run.content, varied_keys(run.content)):
        gain = f"an amount equal to the loss at each point ({gain} in the scenario itself)"
    return gain, number_text(adversary.get("cost", economics.get("cost")))


def by_generalization(run: Any, defender: str) -> Iterator[Sentence]:
    """Yield sentences on the benefit, the loss and the decision maker's beliefs."""
    economics = section(run.content, "economics")
    yield (
        f"A record shared unchanged brings the {defender} {number_text(economics.get('benefit'))}, a generalized one "
        f"less. A re-identified record costs {number_text(economics.get('loss'))}.",
    )
    yield from beliefs(run, defender)


def beliefs(run: Any, defender: str) -> Iterator[Sentence]:
    """Yield sentences on the decision maker's beliefs that differ from the truth."""
    believed = dict(section(run.content, "beliefs"))
    if believed.pop("lists", "members") == "coverage":
        yield (
            f"The {defender} knows only the coverage of the lists drawn from the people, not their members; payoffs "
            "use the true lists.",
        )
    if believed:
        held = ", ".join(f"{key} {plain(value)}" for key, value in believed.items())
        yield (f"The {defender} plans with beliefs that differ from the truth ({held}); payoffs use the true values.",)


def varied_keys(content: Mapping[str, Any]) -> list[str]:
    """Return the keys whose values vary between the points of a batch."""
    return [*section(section(content, "uncertainty"), "parameters"), *section(section(content, "sweep"), "values")]


def section(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a section of a scenario as plain data; empty if it is missing."""
    value = content.get(key)
    return value if isinstance(value, Mapping) else {}


def plain(value: object) -> str:
    """Return a value of a scenario as text for a sentence."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} {plain(entry)}" for key, entry in value.items()) + "}"
    return number_text(value)


def loss_text(loss: float) -> str:
    """Return a loss as text.

    A loss of 100 or more is rounded to whole units, a smaller one to three significant digits.
    """
    return f"{loss:,.0f}" if loss >= 100 else f"{loss:.3g}"


GAIN, LOSS = "economics.gain", "economics.loss"


def gain_goes_with_loss(content: Mapping[str, Any], varied: Collection[str]) -> bool:
    """Return whether the gain varies between points because it follows the loss.

    Parameters
    ----------
    content : mapping
        The scenario as plain data.
    varied : collection of str
        Keys whose values vary between points.
    """
    economics = section(content, "economics")
    has_own = economics.get("gain") is not None or section(economics, "columns").get("gain") is not None
    return LOSS in varied and GAIN not in varied and "economics" in content and not has_own
