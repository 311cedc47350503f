"""Why adversaries act or not: payoff, price and budget of each purchase, with the reason in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reidsim.adversaries.rationality import ErringAdversary
from reidsim.adversaries.response import INDIFFERENCE, Weighing
from reidsim.agents.attack import AttackPlan, Observation, Replies, begun, planned, replies_to
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting

_PAYOFFS = ("best_payoff", "group_size", "success", "records_attacked", "expected_payoff")
OPTION_COLUMNS = ("adversary", "buys", "price", "budget", *_PAYOFFS, "chosen", "reason")


def options_table(setting: Setting) -> pd.DataFrame:
    """Return the options of each adversary in the first round if all records are shared unchanged.

    An option is a set of resources to buy, with the attacks that follow. Payoffs are those of the plans that an
    observation offers (see `Observation.plans`); the chosen option has the plan that the adversary makes.

    Returns
    -------
    DataFrame
        One row per adversary and set of resources, columns `OPTION_COLUMNS`: ``buys`` (names of the resources), their
        ``price`` and the ``budget`` of a round; ``best_payoff``, the highest expected payoff of an attack on a record
        as the adversary believes, also if it is a loss; for this record, the ``group_size`` (number of people who match
        it without inference) and the ``success`` probability of a single attempt; ``records_attacked``;
        ``expected_payoff`` over all rounds, less the price; whether the option is ``chosen``; and the ``reason`` in a
        sentence. If the price exceeds the budget, attacks and expected payoff are those without a budget. The payoff of
        a record is missing if no record can be linked, or the planner does not weigh payoffs. Amounts are in currency
        units.
    """
    rows = (row for profile in setting.profiles for row in _options(setting, profile))
    return pd.DataFrame(rows, columns=list(OPTION_COLUMNS))


def _options(setting: Setting, profile: AdversaryProfile) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of one adversary; see `options_table`."""
    strategies = np.full(setting.n_cells, setting.space.most_specific, dtype=np.int64)
    exposed = np.bincount(setting.cell_of_subject, minlength=setting.n_cells).astype(np.int64)

    def equip(holds: Holdings) -> Equipment | None:
        return profile.equip(holds, profile.expected_accuracy)

    def reply(holds: Holdings, planner: Any = None) -> Replies:
        return replies_to(profile, equip(holds), strategies, planner)

    observation = Observation(profile, profile.holds, exposed, setting.rounds, reply)
    chosen = planned(begun(profile, setting.rounds), observation)
    within = {plan.buys: plan for plan in (*observation.plans(), chosen)}
    for unlimited in replace(observation, profile=replace(profile, budget=np.inf)).plans():
        plan = within.get(unlimited.buys, unlimited)
        best = _best_record(equip(profile.holds | plan.buys), setting.space.most_specific)
        about = profile.name, " and ".join(sorted(plan.buys)), plan.spent, profile.budget
        found = float(plan.targets.sum()), plan.worth, plan.buys == chosen.buys
        yield *about, *best, *found, _reason(observation, plan, chosen, *best)


def _best_record(equipment: Equipment | None, strategy: int) -> tuple[float, float, float]:
    """Return the highest expected payoff of an attack on a record, and its group size and success probability.

    They are as the adversary believes, if all records are released with `strategy`. Payoff and probability are NaN if
    the planner does not weigh payoffs, the probability also for an attack in steps; all are NaN if no record can be
    linked.
    """
    if equipment is None:
        return np.nan, np.nan, np.nan
    linkage, planner = equipment.linker.link(strategy), equipment.adversary
    planner = planner.adversary if isinstance(planner, ErringAdversary) else planner
    candidates = linkage.candidates
    sizes = np.asarray(linkage.believed_group_sizes if candidates is None else candidates.sizes, dtype=np.float64)
    linked = np.flatnonzero((sizes > 0) & np.isfinite(sizes))
    if not len(linked):
        return np.nan, np.nan, np.nan
    if not isinstance(planner, Weighing):
        return np.nan, float(sizes[linked].min()), np.nan
    attempt = planner.weigh(linkage)
    at = linked[attempt.worth[linked].argmax()]
    chance = np.nan if attempt.price is None else float(attempt.believed_success[at])
    return float(attempt.worth[at]), float(sizes[at]), chance


def _reason(
    observation: Observation, plan: AttackPlan, chosen: AttackPlan, payoff: float, size: float, chance: float
) -> str:
    """Return why an adversary follows a plan or does not, as a sentence without its period.

    `payoff`, `size` and `chance` are those of the best record; see `_best_record`. `chosen` is the adversary's plan.
    """
    profile, rounds = observation.profile, observation.rounds_left
    wanted, best = plan.replies.attacks, f"best is {payoff:,.2f} at group size {size:,g}"
    best += "" if np.isnan(chance) else f", success probability {chance:.3g}"
    if plan.spent > profile.budget:
        return f"price {plan.spent:,g} exceeds budget {profile.budget:,g}"
    if np.isnan(size):
        held = " and ".join(sorted(profile.holds | plan.buys))
        return f"no record can be linked with {held}" if held else "no record can be linked without a resource"
    if not wanted.any() and payoff <= INDIFFERENCE * profile.gain:
        return f"no record has an expected payoff above 0: {best}"
    if not wanted.any():
        return "the planner attacks no record" if np.isnan(payoff) else f"the planner attacks no record; {best}"
    left, cheapest = profile.budget - plan.spent, float(plan.replies.outlay[wanted].min())
    if not plan.targets.any() and cheapest > left:
        return f"an attack costs {cheapest:,.2f}, more than the remaining budget of {left:,.2f}"
    expected = f"expected payoff {plan.worth:,.2f}" + (f" over {rounds} rounds" if rounds > 1 else "")
    if plan.buys == chosen.buys:
        return f"records attacked: {plan.targets.sum():,g}; {expected}"
    relation = "above" if round(plan.worth - chosen.worth, 2) > 0 else "not above"
    return f"{expected} is {relation} {chosen.worth:,.2f}, the payoff of the chosen option"
