"""The losses at which each policy is the best choice, with every release chosen anew at every loss."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

from reidsim.engine.switch.break_even import TIMES_OWN, BestAt, BreakEven, break_even
from reidsim.errors import InputError
from reidsim.reports.page.blocks import Block, Cell, Table, paragraph
from reidsim.reports.page.stored_run import StoredRun
from reidsim.scenarios.asked import loss_text
from reidsim.scenarios.load import LoadedScenario, scenario_kind
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress
from reidsim.validation import validated
from reidsim.wording import Code, Inline, joined

# Payoffs of a run and of the same game solved again differ by rounding alone.
_SAME = 1e-6


def break_even_of(run: StoredRun, progress: Progress | None = None) -> BreakEven | None:
    """Solve the game of a run at other losses; None for runs of several games, or without a file of records.

    Raises
    ------
    InputError
        If the scenario or its files cannot be used, or the game at the scenario's loss has other payoffs than the run.
    """
    path = run.manifest.get("scenario_file")
    if "design" in run.manifest or path is None or not {"policy", "publisher_payoff"} <= set(run.runs):
        return None
    manifest, content = run.folder / "manifest.json", dict(run.content)
    kind = scenario_kind(content, manifest)
    scenario: ScenarioHead = validated(kind.schema, content, manifest)
    if kind.in_rounds(scenario) or not isinstance(content.get("economics"), dict):
        return None
    found = break_even(LoadedScenario(run.name, Path(path), scenario, content), progress=progress)
    before = run.runs.groupby("policy", observed=True)["publisher_payoff"].mean()
    for policy, payoff in found.payoffs[found.own].items():
        if abs(payoff - before[policy]) > _SAME * max(abs(payoff), found.own):
            raise InputError(
                f"policy {policy!r} has another payoff than in the run", source=run.folder, found=payoff,
                expected=f"{before[policy]:g}", hint="run the scenario again",
            )  # fmt: skip
    return found


def best_losses(even: BreakEven, policy: str) -> str:
    """Return the losses at which a policy pays most."""
    return ", ".join(_range(each) for each in even.of(policy)) or "none"


def _range(best: BestAt) -> str:
    if best.high == inf:
        return f"more than {loss_text(best.low)}" if best.low else "any amount"
    return f"{loss_text(best.low)} to {loss_text(best.high)}" if best.low else f"less than {loss_text(best.high)}"


def gain_text(even: BreakEven) -> str:
    """Return whether the adversary's gain moves with the loss."""
    if even.gain is None:
        return "the adversary's gain moves with the loss (the scenario states no gain, so it equals the loss)"
    return f"the adversary's gain stays at {loss_text(even.gain)}, whatever the loss is"


def break_even_text(even: BreakEven, unit: str) -> tuple[Inline, ...]:
    """Return the break-even losses in words."""
    low, high = even.tried
    parts: list[Inline] = [f"Break-even: every release was chosen anew at each loss per re-identified {unit}; "]
    parts += [f"{gain_text(even)}. "]
    if len(even.best) == 1:
        parts += [Code(even.best[0].policy), f" pays most at every loss tried, from {loss_text(low)} to "]
        return (*parts, f"{loss_text(high)} (the scenario's is {loss_text(even.own)}).")
    told = joined(((Code(each.policy), f" pays most at {_range(each)}") for each in even.best), "; ")
    return (
        *parts, *told, f". Tried: {loss_text(low)} to {loss_text(high)} (the scenario's is {loss_text(even.own)}).",
    )  # fmt: skip


def break_even_blocks(even: BreakEven | None, unit: str) -> Iterator[Block]:
    """Yield what each policy pays at each loss at which the game was solved."""
    if even is None:
        return
    policies = list(even.payoffs[even.own])
    rows: list[list[Cell]] = [
        [loss_text(loss), *(f"{payoffs[policy]:,.2f}" for policy in policies)]
        for loss, payoffs in even.payoffs.items()
        # Others only located a change of the best policy.
        if loss in [times * even.own for times in TIMES_OWN]
    ]
    yield paragraph(*break_even_text(even, unit))
    yield Table(
        [f"Loss per re-identified {unit}", *(Code(policy) for policy in policies)], rows,
        f"Publisher's payoff per {unit} with the release that each policy chooses at this loss; {gain_text(even)}",
        text_columns=frozenset(),
    )  # fmt: skip
