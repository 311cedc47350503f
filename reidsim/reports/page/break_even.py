"""Find the losses at which each policy is the best choice.

Releases are chosen anew at every loss.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reidsim.engine.switch.amounts import TIMES_OWN, BreakEven, break_even
from reidsim.errors import InputError
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.writer import Table
from reidsim.scenarios.load import Scenario, scenario_kind
from reidsim.scenarios.report_sentences import loss_text
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress
from reidsim.validation import validated
from reidsim.wording import Code, Inline

# Relative tolerance, for rounding, between payoffs of the run and of the same game solved again.
_SAME = 1e-6


def break_even_of(run: StoredRun, progress: Progress | None = None) -> BreakEven | None:
    """Solve the game of a run at other losses; see `break_even`.

    The result is None for batches, runs with several rounds, scenarios without policies or payoff parameters, and runs
    whose records are not from a file.

    Raises
    ------
    InputError
        If the scenario or its files cannot be used, or the payoffs at the scenario's loss differ from the run by more
        than rounding.
    """
    path = run.manifest.get("scenario_file")
    if "design" in run.manifest or path is None or not {"policy", "publisher_payoff"} <= set(run.runs):
        return None
    manifest, content = run.folder / "manifest.json", dict(run.content)
    kind = scenario_kind(content, manifest)
    scenario: ScenarioHead = validated(kind.schema, content, manifest)
    if kind.in_rounds(scenario) or not isinstance(content.get("economics"), dict):
        return None
    found = break_even(Scenario(run.name, Path(path), scenario, content), progress=progress)
    before = run.runs.groupby("policy", observed=True)["publisher_payoff"].mean()
    for policy, payoff in found.payoffs[found.own].items():
        if abs(payoff - before[policy]) > _SAME * max(abs(payoff), found.own):
            raise InputError(
                f"the payoff of policy {policy!r} differs from the run",
                source=run.folder,
                found=payoff,
                expected=f"{before[policy]:g}",
                hint="run the scenario again",
            )
    return found


def break_even_context(even: BreakEven | None, unit: str, *, table: bool = False) -> dict[str, Any]:
    """Return the values of the template `break_even`.

    If `table` is true, they include a table of payoffs at the losses `TIMES_OWN`. `unit` is the unit of counts, such as
    record.
    """
    if even is None:
        return {"even": None}
    gain = (
        "the adversary's gain changes with the loss (the scenario sets no gain, so the gain equals the loss)"
        if even.gain is None
        else f"the adversary's gain stays at {loss_text(even.gain)} at every loss"
    )
    policies = list(even.payoffs[even.own])
    # Skip losses that were tried only to locate a change of the best policy.
    tried = {times * even.own for times in TIMES_OWN} & set(even.payoffs)
    rows = [
        [loss_text(loss), *(f"{payoffs[policy]:,.2f}" for policy in policies)]
        for loss, payoffs in even.payoffs.items()
        if loss in tried
    ]
    caption = f"Publisher's payoff per {unit} with the release that each policy chooses at this loss; {gain}"
    header: list[Inline] = [f"Loss per re-identified {unit}", *map(Code, policies)]
    payoffs = Table(header, rows, caption, frozenset())
    return {"even": even, "even_gain": gain, "unit": unit} | ({"even_table": payoffs} if table else {})
