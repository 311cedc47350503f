"""State the question of a run: data, adversaries, payoffs and varied values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.writer import shortened
from reidsim.scenarios.report_sentences import gain_goes_with_loss, plain, section, varied_keys
from reidsim.wording import Code, number_text

# Sections described by sentences. Other sections are only named, and shown with the assumptions.
_COVERED = {
    "title",
    "source",
    "seed",
    "game",
    "population",
    "release",
    "targets",
    "resources",
    "attributes",
    "economics",
    "beliefs",
    "adversary",
    "adversaries",
    "publisher",
    "subjects",
    "safe_harbor",
    "knowledge",
    "uniqueness",
    "network",
    "expectation",
    "attack",
    "trees",
    "figures",
    "replications",
    "releases",
    "agents",
    "uncertainty",
    "sweep",
    "stress",
}


def question(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `question`."""
    content = run.content
    releases, agents = section(content, "releases"), section(content, "agents")
    replications = content.get("replications", 1)
    return {
        "sentences": list(run.kind.asked(run)) if run.kind else [("A study of the kind ", Code(run.game), ".")],
        "replications": replications if isinstance(replications, int) else 1,
        "releases": {"leaves": None, **releases} if releases else None,
        "rounds": number_text(agents.get("rounds", 1)) if agents else "",
        "uncertain": _listed(section(section(content, "uncertainty"), "parameters")),
        "swept": _listed(section(section(content, "sweep"), "values")),
        "gain_is_loss": gain_goes_with_loss(content, varied_keys(content)),
        "others": [key for key in content if key not in _COVERED],
    }


def _listed(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of each key as text."""
    texts = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            texts[str(key)] = ", ".join(f"{name} {plain(entry)}" for name, entry in value.items())
        else:
            texts[str(key)] = ", ".join(map(plain, value)) if isinstance(value, list | tuple) else plain(value)
    return {key: shortened(text) for key, text in texts.items()}
