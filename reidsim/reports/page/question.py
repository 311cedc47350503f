"""What a run was asked, in words: what is shared, among whom, against whom, and at what prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reidsim.reports.page.blocks import Block, Bullets, shortened
from reidsim.reports.page.stored_run import StoredRun
from reidsim.scenarios.asked import GAIN, LOSS, gain_goes_with_loss, plain, section, varied_keys
from reidsim.wording import Code, Inline, Sentence, codes, joined, number_text

# Sections told here; others are named, and shown with the assumptions.
_TOLD = {
    "title", "source", "seed", "game", "population", "release", "targets", "resources", "attributes",
    "economics", "beliefs", "adversary", "adversaries", "publisher", "subjects", "safe_harbor", "knowledge",
    "uniqueness", "network", "expectation", "attack", "trees", "figures",
    "replications", "releases", "agents", "uncertainty", "sweep", "stress",
}  # fmt: skip


def question_blocks(run: StoredRun) -> Iterator[Block]:
    """Yield what was asked."""
    content = run.content
    sentences = run.kind.asked(run) if run.kind else [("A study of the kind ", Code(run.game), ".")]
    yield Bullets((*sentences, *_design(content)))


def _design(content: Mapping[str, Any]) -> Iterator[Sentence]:
    replications = content.get("replications", 1)
    if isinstance(replications, int) and replications > 1:
        yield (f"All random draws are repeated {replications:,} times; figures are means over them.",)
    yield from _releases(section(content, "releases"))
    yield from _agents(section(content, "agents"))
    yield from _varied("These values are uncertain: ", section(section(content, "uncertainty"), "parameters"))
    yield from _varied(
        "These values were varied, replacing those above: ", section(section(content, "sweep"), "values")
    )
    if gain_goes_with_loss(content, varied_keys(content)):
        yield (Code(GAIN), " is not stated: at each point it equals ", Code(LOSS), ".")
    others = [key for key in content if key not in _TOLD]
    if others:
        yield ("The scenario also sets ", *codes(others), ": see the assumptions and the scenario below.")


def _releases(releases: Mapping[str, Any]) -> Iterator[Sentence]:
    if not releases:
        return
    parts: list[Inline] = ["The records are released in waves, each from the wave in column "]
    parts += [Code(str(releases.get("enters"))), " on"]
    if releases.get("leaves"):
        parts += [" until that in column ", Code(str(releases["leaves"]))]
    yield (*parts, ".")


def _agents(agents: Mapping[str, Any]) -> Iterator[Sentence]:
    if not agents:
        return
    rounds = number_text(agents.get("rounds", 1))
    yield (f"The game is played in {rounds} round{'' if rounds == '1' else 's'}.",)


def _varied(start: str, values: Mapping[str, Any]) -> Iterator[Sentence]:
    if not values:
        return
    yield (
        start,
        *joined(((Code(str(key)), f" ({shortened(_listed(value))})") for key, value in values.items()), "; "),
        ".",
    )


def _listed(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(entry) for entry in value)
    return plain(value)
