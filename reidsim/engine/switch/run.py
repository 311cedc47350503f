"""Switch points: values of a payoff parameter where the best policy changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.engine.results import Result, begun, make_manifest
from reidsim.engine.switch.amounts import GAIN, LOSS, Amounts, PlannedAt
from reidsim.engine.switch.envelope import Cells, Envelope, NotConvexError, Stretch
from reidsim.errors import InputError, locating
from reidsim.scenarios.agents import left_out_of_rounds
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress

# The default range goes from 0 to this multiple of the scenario's value.
TIMES_OWN = 4.0
# Maximum number of evaluated values, which limits the computing time; remaining ranges are reported as undetermined.
MOST_VALUES = 2_000
# Size of the grid of equidistant values that replaces the exact search where that is impossible. A finer grid misses
# fewer pairs of nearby switches, and takes longer.
TRIED = 65
# Width, as a fraction of the range, below which ranges are not divided further by the exact search and by bisection.
_EXACT, _HALVED = 1e-9, 1e-6
# Number of equidistant values at which payoffs are always computed, for the figure.
_DRAWN = 25


def switch_loaded(
    loaded: Scenario[ScenarioHead],
    key: str = LOSS,
    *,
    low: float | None = None,
    high: float | None = None,
    link_gain: bool = False,
    progress: Progress | None = None,
) -> SwitchResult:
    """Return the values of a payoff parameter at which the best policy changes.

    The best policy is the one with the highest publisher's payoff, after every policy is planned again at the value.
    The values are exact if every policy always chooses its best plan, the publisher's beliefs agree with the truth and,
    if gain or cost varies, the values at which attacks begin are known. Otherwise they are found by bisection, to a
    millionth of the range, and pairs of nearby switches may be missed; a warning gives the reason. Sections ``sweep``,
    ``uncertainty`` and ``agents`` are ignored.

    Parameters
    ----------
    loaded : Scenario
    key : str
        Key path of the payoff parameter: ``economics.loss``, ``economics.gain``, ``economics.benefit`` or
        ``economics.cost``.
    low, high : float, optional
        Range of the parameter, in currency units. Default: from 0 to four times the scenario's value.
    link_gain : bool
        Whether the adversary's gain is set equal to the loss at each value; only for key ``economics.loss``. If False,
        the gain keeps the scenario's value, which is the scenario's own loss if the gain is not stated.
    progress : callable, optional
        Called with the task, the completed steps and all steps.

    Returns
    -------
    SwitchResult

    Raises
    ------
    InputError
        If a file that the scenario names cannot be used, the scenario has no such payoff parameter, the parameter
        differs between records, or the range is invalid.

    Examples
    --------
    >>> from reidsim.scenarios.load import Scenario
    >>> switch_loaded(Scenario.load("wan2015"), "economics.benefit").switches  # doctest: +SKIP
    """
    kind, clock, report = begun(loaded, progress)
    with locating(loaded.path):
        kind.policies_of(loaded.scenario)
        study = kind.build(loaded)
        amounts = Amounts(study, key, link_gain=link_gain)
        begin, end = _range(amounts, low, high)
        clock.lap("build")
        seen: dict[tuple[float, str], float] = {}

        def on_value(planned: PlannedAt) -> None:
            seen.update({(planned.amount, policy): paid for policy, paid in planned.payoffs.items()})
            report("playing", min(amounts.evaluations, MOST_VALUES - 1), MOST_VALUES)

        stretches, narrowest, reason = _stretches(amounts, study, kind, begin, end, on_value)
        intervals, precisions = _merged(stretches, narrowest)
        for part in range(_DRAWN):
            on_value(amounts.at(begin + (end - begin) * part / (_DRAWN - 1)))
        table = pd.DataFrame([_interval(amounts, kind, each) for each in intervals], columns=list(INTERVAL_COLUMNS))
        switches = pd.DataFrame(_switches(amounts.own, table, precisions), columns=list(SWITCH_COLUMNS))
    clock.lap("play")
    gain, _ = amounts.gain_and_cost(amounts.own)
    facts = {
        "switch": {
            "key": key,
            "low": begin,
            "high": end,
            "link_gain": link_gain,
            "own": amounts.own,
            "gain": None if link_gain or key == GAIN else gain,
            "exact": reason is None,
            "unsettled": bool((table["policy"] == "").any()),
            "values_tried": amounts.evaluations,
        },
        **kind.facts(study),
    }
    lines = pd.DataFrame(
        [(value, policy, paid) for (value, policy), paid in sorted(seen.items())],
        columns=["value", "policy", "publisher_payoff"],
    )
    warnings = [*left_out_of_rounds(loaded.scenario)]
    if loaded.scenario.sweep is not None or loaded.scenario.uncertainty is not None:
        warnings.append("sections sweep and uncertainty are ignored: the scenario's own values are used")
    if reason is not None:
        warnings.append(
            f"switches are located only to within {_HALVED * (end - begin):.3g}, and pairs of switches closer than "
            f"{(end - begin) / (TRIED - 1):.3g} may be missed: {reason}"
        )
    for at, until, _ in table.loc[table["policy"] == "", ["low", "high", "policy"]].itertuples(index=False):
        warnings.append(f"the best policy between {at:g} and {until:g} was not determined after {MOST_VALUES:,} values")
    return SwitchResult(
        loaded.name,
        key,
        amounts.own,
        link_gain,
        table,
        switches,
        lines,
        make_manifest(loaded, clock.laps, facts),
        tuple(warnings),
    )


def _range(amounts: Amounts, low: float | None, high: float | None) -> tuple[float, float]:
    begin = 0.0 if low is None else float(low)
    end = TIMES_OWN * amounts.own if high is None else float(high)
    if not 0 <= begin < end < math.inf:
        expected = "0 or more, and --to above --from"
        hint = "set the range, because the scenario's own value is 0" if high is None and not amounts.own else None
        raise InputError(
            "invalid range", where="--from, --to", found=f"{begin:g} to {end:g}", expected=expected, hint=hint
        )
    return begin, end


def _stretches(
    amounts: Amounts, study: Any, kind: Kind, low: float, high: float, on_value: Any
) -> tuple[list[Stretch], float, str | None]:
    """Return the stretches from `low` to `high`, and how they were found.

    Returns
    -------
    list of Stretch
    float
        Width below which ranges were not divided.
    str or None
        Reason why the stretches come from bisection; None if they are exact.
    """
    width = high - low
    reason = _why_not_exact(amounts, study, kind)
    if reason is None:
        cells = _cells(amounts, kind.largest_group(study) or 0, low, high)
        exact = Envelope(amounts, low, high, narrowest=_EXACT * width, most=MOST_VALUES, on_value=on_value)
        try:
            return list(exact.exactly(cells)), _EXACT * width, None
        except NotConvexError as error:
            reason = f"policy {error.policy} does not choose its best plan"
    halving = Envelope(amounts, low, high, narrowest=_HALVED * width, most=MOST_VALUES, on_value=on_value)
    return list(halving.by_bisection(TRIED)), _HALVED * width, reason


def _why_not_exact(amounts: Amounts, study: Any, kind: Kind) -> str | None:
    """Return the reason why payoffs are not upper envelopes of straight lines.

    The result is None if they are.
    """
    scenario = study.scenario
    beliefs = getattr(scenario, "beliefs", None)
    stated = set() if beliefs is None else set(beliefs.model_dump(exclude_defaults=True))
    planned_with_another = stated - ({"loss"} if amounts.key == LOSS else set())
    if stated and (planned_with_another or amounts.link_gain):
        return "plans use beliefs that differ from the truth"
    for policy in amounts.policies:
        if not kind.policy(policy).is_rule and not kind.takes_best(scenario, policy):
            return f"policy {policy} is a search that may miss the best release"
    if (amounts.link_gain or amounts.key not in (LOSS, "economics.benefit")) and kind.largest_group(study) is None:
        return "the values at which attacks begin are unknown"
    return None


def _cells(amounts: Amounts, largest: int, low: float, high: float) -> Cells:
    """Return the cells between the thresholds of one-shot attacks on groups of people.

    As the gain rises, attacks on ever larger groups, up to `largest` people, begin to pay off; as the cost rises,
    attacks on the largest groups end first. If neither depends on the parameter, there is one cell.
    """
    gain, cost = amounts.gain_and_cost(high)
    beyond = 1 + INDIFFERENCE
    if amounts.link_gain or amounts.key == GAIN:
        if cost <= 0:
            return Cells(low, high)
        first, last = math.floor(low / (cost * beyond)) + 1, min(largest, math.ceil(high / (cost * beyond)) - 1)
        return Cells(low, high, range(first, last + 1), lambda people: people * cost * beyond)
    if amounts.key in (LOSS, "economics.benefit"):
        return Cells(low, high)
    # As the cost increases, attacks on the largest groups end first.
    most = largest if low <= 0 else min(largest, math.ceil(gain / (low * beyond)) - 1)
    least = math.floor(gain / (high * beyond)) + 1
    return Cells(low, high, range(most, least - 1, -1), lambda people: gain / (people * beyond))


def _merged(stretches: Iterable[Stretch], narrowest: float) -> tuple[list[Stretch], list[float]]:
    """Merge neighbouring stretches with the same best policies.

    A stretch of at most twice `narrowest` whose best policy was not determined is divided between its neighbours, in
    the middle. Wider ones are kept.

    Returns
    -------
    list of Stretch
    list of float
        Largest error of the boundary between each stretch and the next one; 0 if it is exact.
    """
    joined: list[Stretch] = []
    precisions: list[float] = []
    gap = 0.0
    for stretch in stretches:
        if joined and not stretch.best and stretch.high - joined[-1].high <= 2 * narrowest:
            gap = stretch.high - joined[-1].high
        elif joined and joined[-1].best == stretch.best:
            joined[-1], gap = Stretch(joined[-1].low, stretch.high, stretch.best), 0.0
        else:
            if joined:
                middle = joined[-1].high + gap / 2
                joined[-1], stretch = joined[-1]._replace(high=middle), stretch._replace(low=middle)
                precisions.append(gap / 2)
            joined.append(stretch)
            gap = 0.0
    joined[-1] = joined[-1]._replace(high=joined[-1].high + gap)
    return joined, precisions


def _interval(amounts: Amounts, kind: Kind, stretch: Stretch) -> tuple[Any, ...]:
    low, high, best = stretch
    if not best:
        return (low, high, "", "", *[math.nan] * (len(INTERVAL_COLUMNS) - 4))
    middle, margin = (low + high) / 2, 1e-9 * (high - low)
    found = {policy: amounts.measures(middle, policy) for policy in best}
    chosen = min(best, key=lambda name: (round(found[name]["risk"], 12), not kind.policy(name).forbids_attacks))
    ends = [low + margin, high - margin]
    gains = [amounts.gain_and_cost(value)[0] for value in (low, high)]
    payoffs = [amounts.measures(value, chosen)["publisher_payoff"] for value in ends]
    told = [found[chosen][name] for name in ("utility", "share_attacked", "risk")]
    return (low, high, chosen, TOGETHER.join(best), *gains, *payoffs, *told)


def _switches(own: float, table: pd.DataFrame, precisions: Sequence[float]) -> Iterator[tuple[Any, ...]]:
    rows = table.to_dict("records")
    for below, above, precision in zip(rows[:-1], rows[1:], precisions, strict=True):
        if below["policy"] and above["policy"]:
            value = float(below["high"])
            policies = (below["policy"], above["policy"], below["best"], above["best"])
            yield value, precision, *policies, value / own if own > 0 else math.nan


INTERVAL_COLUMNS = (
    "low",
    "high",
    "policy",
    "best",
    "gain_low",
    "gain_high",
    "publisher_payoff_low",
    "publisher_payoff_high",
    "utility",
    "share_attacked",
    "risk",
)
SWITCH_COLUMNS = ("value", "precision", "below", "above", "best_below", "best_above", "times_own")
# Separator of the names of policies with equal payoffs.
TOGETHER = ", "


@dataclass(frozen=True, eq=False)
class SwitchResult(Result):
    """The publisher's best policy as a function of one payoff parameter.

    Parameters
    ----------
    name : str
        Name of the scenario.
    key : str
        Key path of the payoff parameter.
    own : float
        Value of the parameter in the scenario.
    link_gain : bool
        Whether the adversary's gain was set equal to the loss.
    intervals : DataFrame
        One row per interval of the parameter, from ``low`` to ``high`` (ascending); columns `INTERVAL_COLUMNS`.
        ``best`` lists the policies with the highest payoff, separated by `TOGETHER`. ``policy`` is the one of them with
        the lowest risk; if risks are equal, a policy that rules out attacks, then the first in the scenario.
        ``gain_low`` and ``gain_high`` are the adversary's gain at both ends. ``publisher_payoff_low`` and
        ``publisher_payoff_high`` are payoffs per record of ``policy`` just inside both ends. ``utility``,
        ``share_attacked`` and ``risk`` are its averages over records at the middle of the interval. If the best policy
        was not determined, ``policy`` and ``best`` are empty and the other columns missing.
    switches : DataFrame
        One row per value at which the best policies change; columns `SWITCH_COLUMNS`: ``value``; ``precision``, the
        largest error of the value, 0 if it is exact; ``policy`` and ``best`` of the intervals below and above it, in
        columns ``below``, ``above``, ``best_below`` and ``best_above``; ``times_own``, the ratio of the value to the
        scenario's value, missing if that is 0. Ends of intervals without a determined policy have no row.
    lines : DataFrame
        Payoffs at the evaluated values, one row per value and policy: ``value``, ``policy``, ``publisher_payoff`` (per
        record). At some values, only policies that could be the best were evaluated.
    manifest : dict
    warnings : tuple of str
    """

    name: str
    key: str
    own: float
    link_gain: bool
    intervals: pd.DataFrame
    switches: pd.DataFrame
    lines: pd.DataFrame
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"SwitchResult({self.name!r}: {self.key}, {len(self.switches)} switches)"

    @property
    def best_now(self) -> str:
        """The best policy at the scenario's own value; at a switch, the one below it.

        Empty if the value is outside the range, or its best policy was not determined.
        """
        inside = (self.intervals["low"] <= self.own) & (self.own <= self.intervals["high"])
        found = self.intervals.loc[inside, "policy"]
        return str(found.iloc[0]) if len(found) else ""

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder, by name."""
        return {"switches": self.switches, "intervals": self.intervals, "lines": self.lines}
