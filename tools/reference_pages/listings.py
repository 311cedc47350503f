"""The pages that list measures, policies, bundled files, and tables of results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from markdown_text import wrapped

from reference_pages.key_pages import head
from reference_pages.keys import item
from reidsim.agents.attack import ROUND_MEASURES
from reidsim.core.files import bundled_titles, read_toml
from reidsim.core.wording import Measure
from reidsim.figures.style import sentence
from reidsim.games.cross_play import CROSS_PLAY_MEASURES
from reidsim.games.outcomes import RISK_QUANTILE, SUCCESS_PROBABILITY
from reidsim.kinds.tables.schema import SAFE_HARBOR
from reidsim.reports.page.report import CAPTIONS
from reidsim.scenarios.kind import Kind, find_kind
from reidsim.scenarios.registry import kinds as all_kinds

MEASURES, POLICIES, BUNDLED = "measures.md", "policies.md", "bundled.md"
TABLES, FIGURES = "result-tables.md", "figures.md"
# Sections of the page on tables: `heading`, `text`, `columns` of all its tables, and `tables`. A table maps each column
# to its meaning, and `about` to its rows.
_RESULTS = read_toml(Path(__file__).with_name("tables.toml"))
RESULT_TABLES: list[dict[str, Any]] = _RESULTS["sections"]
# Meaning of each key of a manifest, and of each key of its entry `policies`.
MANIFEST: dict[str, str] = _RESULTS["manifest"]
MANIFEST_OF_POLICY: dict[str, str] = _RESULTS["manifest_of_policy"]


def measures_page() -> str:
    """Return the page on measures of runs, rounds and cross-play."""
    kinds = {name: find_kind(name) for name in all_kinds.names}
    shown = [measure for kind in kinds.values() for measure in kind.measures]
    shared = [measure for measure in dict.fromkeys(shown) if shown.count(measure) > 1]
    parts: list[tuple[str, str, Iterable[Measure]]] = [
        ("Several games", "measures of all games with players", shared),
        *(
            (f'`game = "{name}"`', kind.words, [measure for measure in kind.measures if measure not in shared])
            for name, kind in kinds.items()
        ),
    ]
    for heading, words, measures in (
        ("Rounds of agents", "measures in `rounds.parquet`, in addition to the measures of the game", ROUND_MEASURES),
        (
            "Cross-play",
            "measures in `cross_play.parquet`, in addition to the measures of the game",
            CROSS_PLAY_MEASURES,
        ),
        ("Stress tests", "measures in addition to the measures of the game", (RISK_QUANTILE,)),
        ("Single records", "columns of `records.parquet`", (SUCCESS_PROBABILITY,)),
    ):
        parts.append((heading, words, [measure for measure in measures if measure not in shown]))
    text = (
        "Columns, labels and definitions of the measures in tables, figures and reports. The scenario determines which "
        "measures a run has. With agents, `runs.parquet` has means over rounds."
    )
    sections = (_section(heading, words, map(_measure, measures)) for heading, words, measures in parts)
    return "\n".join([head("Measures", text), *sections])


def policies_page() -> str:
    """Return the page on policies: the values of `policies` by game."""
    text = (
        "A policy determines how releases are chosen. The key `policies` of a scenario lists policies; figures use the "
        "labels in parentheses. A *rule* ignores the adversary; all other policies are best responses to the adversary "
        "that the publisher believes in."
    )
    kinds = {name: find_kind(name) for name in all_kinds.names}
    sections = (
        _section(f'`game = "{name}"`', kind.words, _policies(kind)) for name, kind in kinds.items() if kind.policies
    )
    return "\n".join([head("Policies", text), *sections])


def bundled_page() -> str:
    """Return the page on bundled scenarios, populations, background knowledge and social-media models."""
    text = (
        "Commands and keys that take a scenario or recipe accept these names. `reidsim show NAME` prints the file with "
        "its sources. The [gallery](../gallery.md) shows the results of each scenario."
    )
    sections = (
        _section(sentence(heading), "", (item(f"`{name}`", "", "none", title) for name, title in titles.items()))
        for heading, titles in bundled_titles().items()
    )
    return "\n".join([head("Bundled files", text), *sections])


def tables_page() -> str:
    """Return the page on the tables of results folders and their columns."""
    text = (
        "A results folder has the tables of [every run](#every-run) and those of its game or command. Tables are "
        "Parquet files (`pandas.read_parquet`). A column named like a [measure](measures.md), an attribute or a key of "
        "the scenario holds that value."
    )
    parts = [head("Tables of results", text)]
    for section in RESULT_TABLES:
        paragraphs = [f"## {section['heading']}", *map(wrapped, section.get("text", "").strip().split("\n\n"))]
        paragraphs.append(_columns(section.get("columns", {})))
        for name, columns in section.get("tables", {}).items():
            paragraphs += [wrapped(f"**`{name}.parquet`**: {columns['about']}."), _columns(columns)]
        parts.append("\n\n".join(filter(None, paragraphs)) + "\n")
    parts.append(f"## `manifest.json`\n\n{_columns(MANIFEST)}\n\nBy policy:\n\n{_columns(MANIFEST_OF_POLICY)}\n")
    return "\n".join(parts)


def figures_page() -> str:
    """Return the page on the figures of results."""
    text = (
        "Figures are drawn from the tables of a results folder on request: `reidsim report DIR` writes a page with all "
        "figures of a run, `reidsim report DIR --figures png` (or `svg`, `pdf`) writes the figures of any result to "
        "`DIR/figures`, and in Python `result.plot(NAME)` returns one. Amounts are in currency units, because "
        "scenarios do not name a currency."
    )
    kinds = {name: find_kind(name) for name in all_kinds.names}
    parts = [("Several games", "", CAPTIONS["figures"])]
    parts += [(f'`game = "{name}"`', kind.words, kind.captions["figures"]) for name, kind in kinds.items()]
    sections = (
        _section(heading, words, (item(f"`{name}`", "", "none", caption) for name, caption in captions.items()))
        for heading, words, captions in parts
    )
    return "\n".join([head("Figures of results", text), *sections])


def _columns(columns: Mapping[str, str]) -> str:
    meanings = ((name, meaning.strip()) for name, meaning in columns.items() if name != "about")
    return "\n".join(wrapped(item(f"`{name}`", "", "none", meaning), "  ") for name, meaning in meanings)


def _section(heading: str, words: str, items: Iterable[str]) -> str:
    return "\n\n".join([f"## {heading}", *([wrapped(f"{sentence(words)}.")] if words else ()), "\n".join(items)]) + "\n"


def _measure(measure: Measure) -> str:
    """Return the item of a measure, without its label if that is the name of the column in words."""
    words = measure.label.lower().replace("'s ", " ").replace(" ", "_")
    return item(f"`{measure.column}`", "" if words == measure.column else measure.label, "none", measure.definition)


def _policies(kind: Kind) -> Iterator[str]:
    """Yield the item of each policy, with its distinguishing properties."""
    in_rounds = any(policy.by_agents for policy in kind.policies.values())
    for policy in kind.policies.values():
        facts = {
            "rule": policy.is_rule,
            "needs `safe_harbor`": SAFE_HARBOR in policy.needs,
            "not with `[agents]`": in_rounds and not policy.by_agents,
            "not compared with the others": policy.in_another_game,
        }
        properties = "; ".join(words for words, holds in facts.items() if holds) or "none"
        yield item(f"`{policy.name}`", policy.label, properties, policy.description)
