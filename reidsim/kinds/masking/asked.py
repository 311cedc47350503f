"""What a run about data subjects who mask was asked, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reidsim.scenarios.asked import Stored, adversaries, beliefs, gain_and_cost, knowledge, section
from reidsim.wording import Code, Inline, Sentence, codes, number_text

_STAGES = {
    "infer-surname": "infers the surname from genetic markers",
    "infer-by-linkage": "infers an attribute",
    "identify": "names one of the people who match",
}


def sentences(run: Stored) -> Iterator[Sentence]:
    """Yield who decides on what, against whom, at what prices."""
    content = run.content
    attributes = codes(section(content, "subjects").get("attributes", ()))
    number = f"{run.n_records:,} data subjects decide" if run.n_records else "Data subjects decide"
    yield (f"{number}, each alone, which of these attributes to share: ", *attributes, ".")
    people = run.manifest.get("people")
    recipe = section(content, "population").get("recipe")
    if isinstance(recipe, str):
        yield (f"They are drawn from {number_text(people)} people of the population ", Code(recipe), ".")
    else:
        yield ("They and the adversary's resources are read from files.",)
    held = run.manifest.get("resources")
    if isinstance(held, Mapping) and held:
        parts: list[Inline] = ["The adversary holds "]
        for place, (name, rows) in enumerate(held.items()):
            parts += [", " if place else "", Code(str(name)), f" ({number_text(rows)} rows)"]
        yield (*parts, ".")
    yield from adversaries(run, _attack)
    yield from _prices(run, "subject")


def _attack(run: Stored, adversary: Mapping[str, Any]) -> Iterator[Sentence]:
    stages = adversary.get("stages")
    for place, stage in enumerate(stages if isinstance(stages, list) else (), start=1):
        if isinstance(stage, Mapping):
            does = _STAGES.get(str(stage.get("stage")), str(stage.get("stage")))
            yield (f"Stage {place} of the attack: it {does}, with ", Code(str(stage.get("resource"))), ".")
    yield from knowledge(adversary)
    if "weight" in adversary:
        gain, cost = gain_and_cost(run, adversary)
        yield (f"It gains {gain} and pays {cost} for an attack.",)


def _prices(run: Stored, defender: str) -> Iterator[Sentence]:
    economics = section(run.content, "economics")
    gain, cost = gain_and_cost(run, {})
    yield (
        f"Sharing everything brings a {defender} {number_text(economics.get('benefit'))}; being re-identified costs "
        f"{number_text(economics.get('loss'))}."
        # Of several each has been told.
        + ("" if "adversaries" in run.content else f" The adversary gains {gain} and pays {cost} for an attack."),
    )
    yield from beliefs(run, defender)
