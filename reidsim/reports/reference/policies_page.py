"""The page on policies: what each game's scenarios may name in `policies`."""

from __future__ import annotations

from reidsim.reports.markdown import wrapped
from reidsim.reports.reference.keys import item
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.policy import Policy
from reidsim.scenarios.registry import kind_named, kind_names

POLICIES = "policies.md"
_TEXT = (
    "How releases are chosen. Scenarios name these in `policies`; figures use the names in parentheses. A *rule* "
    "ignores the adversary; the others reply to the adversary whom the decision-maker believes in."
)


def policies_page() -> str:
    """Return the text of the page."""
    kinds = {name: kind_named(name) for name in kind_names()}
    sections = [_section(name, kind) for name, kind in kinds.items() if kind.policies]
    return "\n".join([f"# Policies\n\n{wrapped(_TEXT)}\n", *sections])


def _section(name: str, kind: Kind) -> str:
    in_rounds = any(policy.by_agents for policy in kind.policies.values())
    words = wrapped(f"{kind.words[:1].upper()}{kind.words[1:]}.")
    lines = "\n".join(
        item(f"`{policy.name}`", policy.label, _facts(policy, in_rounds), policy.words)
        for policy in kind.policies.values()
    )
    return f'## `game = "{name}"`\n\n{words}\n\n{lines}\n'


def _facts(policy: Policy, in_rounds: bool) -> str:
    """Return what else tells the policy from others of its game, ``none`` if nothing does."""
    facts = {
        "rule": policy.is_rule,
        "needs `safe_harbor`": policy.needs_safe_harbor,
        "not with `[agents]`": in_rounds and not policy.by_agents,
        "not compared with the others": policy.in_another_game,
    }
    return "; ".join(words for words, holds in facts.items() if holds) or "none"
