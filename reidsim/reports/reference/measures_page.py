"""The page on measures: what tables of runs, of rounds and of cross-play hold."""

from __future__ import annotations

from collections.abc import Iterable

from reidsim.agents.measures import ROUND_MEASURES
from reidsim.games.cross_play import CROSS_PLAY_MEASURES
from reidsim.games.measures import RISK_QUANTILE, SUCCESS_PROBABILITY
from reidsim.measures import Measure
from reidsim.reports.markdown import wrapped
from reidsim.reports.reference.keys import item
from reidsim.scenarios.registry import kind_named, kind_names

MEASURES = "measures.md"
_TEXT = (
    "What tables, figures and reports call each measure, and what it means. A run has the measures that its scenario "
    "asks for. With agents, those of `runs.parquet` are means over rounds."
)


def measures_page() -> str:
    """Return the text of the page."""
    kinds = {name: kind_named(name) for name in kind_names()}
    shown = [measure for kind in kinds.values() for measure in kind.measures]
    shared = [measure for measure in dict.fromkeys(shown) if shown.count(measure) > 1]
    parts = [
        f"# Measures\n\n{wrapped(_TEXT)}\n",
        _section("Several games", "Of every game in which somebody decides", shared),
    ]
    for name, kind in kinds.items():
        own = [measure for measure in kind.measures if measure not in shared]
        parts.append(_section(f'`game = "{name}"`', f"{kind.words[:1].upper()}{kind.words[1:]}", own))
    for heading, words, measures in (
        ("Rounds of agents", "Of `rounds.parquet`, besides those of the game", ROUND_MEASURES),
        ("Cross-play", "Of `cross_play.parquet`, besides those of the game", CROSS_PLAY_MEASURES),
        ("Stress tests", "Besides those of the game", (RISK_QUANTILE,)),
        ("Single records", "Of `records.parquet`", (SUCCESS_PROBABILITY,)),
    ):
        parts.append(_section(heading, words, [measure for measure in measures if measure not in shown]))
    return "\n".join(parts)


def _section(heading: str, words: str, measures: Iterable[Measure]) -> str:
    lines = "\n".join(item(f"`{measure.column}`", _label(measure), "none", measure.definition) for measure in measures)
    return f"## {heading}\n\n{wrapped(f'{words}.')}\n\n{lines}\n"


def _label(measure: Measure) -> str:
    """Return the label of a measure, nothing if it is the name of the column in words."""
    words = measure.label.lower().replace("'s ", " ").replace(" ", "_")
    return "" if words == measure.column else measure.label
