"""Switch points: values of a payoff parameter where the best policy changes.

The payoff of a fixed plan is linear in the publisher's benefit or loss. A policy that always takes its best plan has as
payoff the upper envelope of such lines: a convex function. Between two evaluated values, this function lies above the
lines of the two plans that are best there, and below the chord through the two payoffs. If these bounds do not decide
which policy has the highest payoff, the value at which the two lines intersect is evaluated next, until the lines
themselves are known (Eisner and Severance 1976, Mathematical techniques for efficient record segmentation in large
shared databases, Journal of the ACM 23). The result is exact and needs few evaluations.

If the adversary's gain or cost varies, attacks on groups of a given size become profitable at a threshold value.
Between two neighbouring thresholds, the argument above holds. Across thresholds, every payoff decreases with the gain
and increases with the cost, which bounds the payoffs in between.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError, locating, not_among, refuse_first
from reidsim.engine.batch.design import at_point
from reidsim.engine.results import Result, begun, common_fields
from reidsim.games.outcomes import PUBLISHER_PAYOFF, averages
from reidsim.scenarios.adversary_schema import EconomicsSection, economics_of
from reidsim.scenarios.agents import left_out_of_rounds
from reidsim.scenarios.kind import Kind, Progress, gain_goes_with_loss, kind_of
from reidsim.scenarios.scenario import Scenario, Study

LOSS, GAIN = "economics.loss", "economics.gain"
KEYS = ("economics.benefit", LOSS, GAIN, "economics.cost")
# Payoffs of policies that differ by less than this fraction of benefit plus loss count as equal. It is larger than the
# tolerance of solvers, so that equally good plans are not ranked by rounding errors.
SAME = 1e-10


class PlannedAt(NamedTuple):
    """Plans of policies at one value of the payoff parameter, and their outcomes.

    Attributes
    ----------
    amount : float
        Value of the payoff parameter, in currency units.
    plans : dict of str to object
        Plan of each policy, by policy name; made under the publisher's beliefs, and used by `Amounts.outcomes_at`.
    outcomes : dict of str to dict of str to float
        Mean measures per record under the true parameters, by policy name and measure; see `averages`.
    """

    amount: float
    plans: dict[str, Any]
    outcomes: dict[str, dict[str, float]]

    @property
    def payoffs(self) -> dict[str, float]:
        """The publisher's payoff per record, in currency units, by policy name."""
        return payoffs_of(self.outcomes)


def payoffs_of(outcomes: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the publisher's payoff per record, in currency units, by policy name.

    `outcomes` maps each policy to its mean measures, by measure; see `PlannedAt`.
    """
    return {policy: measures[PUBLISHER_PAYOFF.column] for policy, measures in outcomes.items()}


class Amounts:
    """A scenario with one of its payoff parameters varied.

    Parameters
    ----------
    study : Study
    key : str
        Key path of the payoff parameter; one of `KEYS`.
    link_gain : bool
        Whether the adversary's gain is set equal to the loss at each value; only allowed if `key` is the loss. If
        False, the gain keeps the scenario's value, which is the scenario's own loss if the gain is not stated.

    Attributes
    ----------
    policies : tuple of str
        Policies of the scenario.
    own : float
        The scenario's value of the parameter, in currency units.

    Raises
    ------
    InputError
        If the scenario has no such payoff parameter, the parameter differs between records, or `link_gain` is set for
        another parameter than the loss.
    """

    def __init__(self, study: Study[Any], key: str, *, link_gain: bool = False) -> None:
        scenario, kind, name = study.scenario, kind_of(study.scenario), key.rpartition(".")[2]
        economics = getattr(scenario, "economics", None)
        if key not in KEYS or not isinstance(economics, EconomicsSection):
            raise not_among("not a payoff parameter of the scenario", key, KEYS, where="--key")
        columns = {each: column for each, column in getattr(economics, "columns", ()) if column is not None}
        column, one = f"{key}, column {columns.get(name)!r}", "one amount for all records"
        refuse_first(
            (link_gain and key != LOSS, "the gain can be linked to the loss only", "--link-gain", key, LOSS),
            (name in columns, "the payoff parameter differs by record", "--key", column, one),
        )
        self.key, self.link_gain, self._study = key, link_gain, study
        self.policies = kind.policies_of(scenario)
        self.own = economics.adversary_gain if key == GAIN else float(getattr(economics, name))
        # Fix the gain: by default, a scenario without a stated gain sets it equal to the loss.
        self._fixed = {} if link_gain or key == GAIN or "gain" in columns else {GAIN: economics.adversary_gain}
        self._data = kind.data_content(study.loaded)
        # Some kinds of scenario compute the linkage once for all values; for the others, the study is solved again at
        # each value.
        self._points = kind.amount_points(study) if kind.amounts_at_once(scenario, (key,)) else None

    def at(self, amount: float, policies: Sequence[str] | None = None) -> PlannedAt:
        """Return a `PlannedAt`: plans and outcomes at a value of the payoff parameter.

        Plans are made under the publisher's beliefs at this value, outcomes hold under the true parameters. `amount` is
        in currency units. `policies` selects some policies by name; the default is all.
        """
        policies = self.policies if policies is None else policies
        if self._points is not None:
            believed = economics_of(self._scenario_at(amount).scenario)[1]
            plans = {policy: self._points.plan(policy, believed) for policy in policies}
        else:
            study = self._study_at(amount)
            draws = [kind_of(study.scenario).play(study, draw, policies) for draw in range(study.draws)]
            plans = {policy: [outcomes[policy].choice for outcomes in draws] for policy in policies}
        return PlannedAt(amount, plans, self.outcomes_at(plans, amount))

    def outcomes_at(self, plans: Mapping[str, Any], amount: float) -> dict[str, dict[str, float]]:
        """Return the mean measures per record of plans at a value, by policy and measure.

        `plans` is as in `PlannedAt`, possibly made at another value than `amount`. Outcomes are under the true payoff
        parameters. Means are over records, then over the draws of the study.
        """
        parameters = self._study.scenario.measures.parameters
        if self._points is not None:
            truth, weights = self.economics(amount), self._study.world(0).weights.astype(np.int64)
            return {policy: averages(plan.equilibrium(truth), weights, parameters) for policy, plan in plans.items()}
        study = self._study_at(amount)
        kind, worlds = kind_of(study.scenario), [study.world(draw) for draw in range(study.draws)]
        found = {}
        for policy, choices in plans.items():
            defenders = [kind.policy(policy).defender(study, draw) for draw in range(study.draws)]
            each = [
                averages(kind.outcome(study, world, *chosen), world.weights.astype(np.int64), parameters)
                for world, *chosen in zip(worlds, defenders, choices, strict=True)
            ]
            found[policy] = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
        return found

    def economics(self, amount: float) -> EconomicsSection:
        """Return the true payoff parameters at a value (`amount`) of the varied parameter."""
        return economics_of(self._scenario_at(amount).scenario)[0]

    def scale(self, amount: float) -> float:
        """Return the scenario's benefit plus loss at a value of the payoff parameter.

        This is the scale of payoff differences between policies, in currency units per record; it is never 0.
        """
        economics = self.economics(amount)
        return max(economics.benefit + economics.loss, 1e-300)

    def _scenario_at(self, amount: float) -> Scenario[Any]:
        linked = {GAIN: amount} if self.link_gain else {}
        return at_point(self._study.loaded, {**self._fixed, **linked, self.key: amount})

    def _study_at(self, amount: float) -> Study[Any]:
        """Return the study at a value; rebuild it only if its data change."""
        loaded = self._scenario_at(amount)
        kind = kind_of(loaded.scenario)
        return self._study.with_loaded(loaded) if kind.data_content(loaded) == self._data else kind.build(loaded)


# Losses at which the game is solved, as multiples of the scenario's loss.
TIMES_OWN = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
# Bisection stops when the losses around a change of the best policy have at most this ratio. The reported loss is
# their geometric mean, so its error is at most about 1 %.
PRECISION = 1.02


@dataclass(frozen=True)
class BreakEven:
    """The policy with the highest publisher payoff at each loss.

    Parameters
    ----------
    own : float
        The scenario's loss per re-identified record, in currency units.
    gain : float or None
        The adversary's gain at all losses, in currency units; None if the gain is set equal to each loss.
    payoffs : mapping of float to mapping of str to float
        Publisher's payoff per record by loss (ascending) and policy. Policies are planned again at each loss.
    best : tuple of Stretch
        Ranges of the loss in ascending order, each with one policy. The first one begins at 0 and the last one ends at
        infinity, although no game was solved beyond the losses of `payoffs`. If several policies have the same payoff,
        the policy with the lowest risk counts as best; if risks are equal, too, the first one in the scenario.
    """

    own: float
    gain: float | None
    payoffs: Mapping[float, Mapping[str, float]]
    best: tuple[Stretch, ...]


def break_even(loaded: Scenario[Any], *, progress: Progress | None = None) -> BreakEven:
    """Return the best policy at losses from 0.1 to 50 times the scenario's loss.

    The game is solved at the losses `TIMES_OWN`. Of equally good policies, the one with the lowest risk is the best.
    Changes of the best policy between neighbouring losses are located by bisection; a policy that is best only in
    between may be missed. If the scenario does not state the adversary's gain, the gain is set equal to the loss, as in
    a run. Policies whose payoffs belong to another game (`Policy.in_another_game`) are not compared.

    Parameters
    ----------
    loaded : Scenario
    progress : callable, optional
        Called with the task name, the number of solved losses and their expected number.

    Returns
    -------
    BreakEven

    Raises
    ------
    InputError
        If a file of the scenario cannot be used, or the scenario has no loss, or one that is 0 or differs between
        records.
    """
    kind, report = kind_of(loaded.scenario), progress or (lambda task, done, total: None)
    with locating(loaded.path):
        amounts = Amounts(kind.study_of(loaded), LOSS, link_gain=gain_goes_with_loss(loaded.content, (LOSS,)))
        if amounts.own <= 0:
            raise InputError("the loss is not above 0", where=LOSS, found=amounts.own, expected="more than 0")
        compared = [name for name in amounts.policies if not kind.policy(name).in_another_game]
        solved: dict[float, PlannedAt] = {}

        @functools.cache
        def best(loss: float) -> str:
            solved[loss] = found = amounts.at(loss, compared)
            report("break-even", len(solved), max(len(solved), len(TIMES_OWN)))
            tie = max(found.payoffs.values()) - SAME * amounts.scale(loss)
            tied = (name for name in compared if found.payoffs[name] >= tie)
            return min(tied, key=lambda name: found.outcomes[name]["risk"])

        def halve(low: float, high: float) -> None:
            if best(low) != best(high) and high / low > PRECISION:
                middle = math.sqrt(low * high)
                halve(low, middle)
                halve(middle, high)

        for low, high in itertools.pairwise(times * amounts.own for times in TIMES_OWN):
            halve(low, high)
        gain = None if amounts.link_gain else amounts.economics(amounts.own).adversary_gain
        groups = [(policy, list(losses)) for policy, losses in itertools.groupby(sorted(solved), key=best)]
    # A change of the best policy is placed at the geometric mean of the two losses around it.
    ends = [math.sqrt(below[-1] * above[0]) for (_, below), (_, above) in itertools.pairwise(groups)]
    ranges = zip(itertools.pairwise([0.0, *ends, math.inf]), groups, strict=True)
    payoffs = {loss: solved[loss].payoffs for loss in sorted(solved)}
    return BreakEven(amounts.own, gain, payoffs, tuple(Stretch(*ends, (policy,)) for ends, (policy, _) in ranges))


# Solvers treat plans as equally good if their payoffs differ by less than this fraction of benefit plus loss.
_KINK = 1e-11
# The first and last evaluated values lie this fraction of the range inside its ends, because payoffs may jump there.
_INSIDE = 1e-9
# Smallest distance from a threshold, as a fraction of the upper end: adversaries are indifferent within 1e-12 of it.
_BESIDE = 1e-10
# The default range goes from 0 to this multiple of the scenario's value.
RANGE_TIMES_OWN = 4.0
# Maximum number of evaluated values, which limits the computing time; remaining ranges are reported as undetermined.
MOST_VALUES = 2_000
# Size of the grid of equidistant values that replaces the exact search where that is impossible. A finer grid misses
# fewer pairs of nearby switches, and takes longer.
TRIED = 65
# Width, as a fraction of the range, below which ranges are not divided further by the exact search and by bisection.
_EXACT, _HALVED = 1e-9, 1e-6
# Number of equidistant values at which payoffs are always computed, for the figure.
_DRAWN = 25
_ENDS = ("gain_low", "gain_high", "publisher_payoff_low", "publisher_payoff_high")
INTERVAL_COLUMNS = ("low", "high", "policy", "best", *_ENDS, "utility", "share_attacked", "risk")
SWITCH_COLUMNS = ("value", "precision", "below", "above", "best_below", "best_above", "times_own")
# Separator of the names of policies with equal payoffs.
TOGETHER = ", "


@dataclass(frozen=True, eq=False, repr=False)
class SwitchResult(Result):
    """The publisher's best policy as a function of one payoff parameter.

    See `Result` for further parameters.

    Parameters
    ----------
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
    """

    key: str
    own: float
    link_gain: bool
    intervals: pd.DataFrame
    switches: pd.DataFrame
    lines: pd.DataFrame

    @classmethod
    def restored(cls, tables: dict[str, pd.DataFrame], facts: Mapping[str, Any], common: dict[str, Any]) -> Self:
        """Return a result from the content of its results folder; see `Result.restored`."""
        fields: dict[str, Any] = {**tables, **common}
        return cls(**{name: common["manifest"]["switch"][name] for name in ("key", "own", "link_gain")}, **fields)

    @property
    def best_now(self) -> str:
        """The best policy at the scenario's own value; at a switch, the one below it.

        Empty if the value is outside the range, or its best policy was not determined.
        """
        inside = (self.intervals["low"] <= self.own) & (self.own <= self.intervals["high"])
        found = self.intervals.loc[inside, "policy"]
        return str(found.iloc[0]) if len(found) else ""


def switch_loaded(
    loaded: Scenario[Any],
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
        If a file that the scenario names cannot be used, the scenario has no policies or no such payoff parameter, the
        parameter differs between records, `link_gain` is set for another parameter than the loss, or the range is
        invalid: `low` below 0, or not below `high`.

    Examples
    --------
    >>> from reidsim.scenarios.scenario import Scenario
    >>> switch_loaded(Scenario.load("wan2015"), "economics.benefit").switches  # doctest: +SKIP
    """
    kind, clock, report = begun(loaded, progress)
    with locating(loaded.path):
        kind.policies_of(loaded.scenario)
        study = kind.study_of(loaded)
        amounts = Amounts(study, key, link_gain=link_gain)
        begin, end = float(low or 0.0), RANGE_TIMES_OWN * amounts.own if high is None else float(high)
        if not 0 <= begin < end < math.inf:
            found, expected = f"{begin:g} to {end:g}", "0 or more, and --to above --from"
            hint = "set the range, because the scenario's own value is 0" if high is None and not amounts.own else None
            raise InputError("invalid range", where="--from, --to", found=found, expected=expected, hint=hint)
        clock.lap("build")
        search = Envelope(amounts, begin, end, lambda done: report("playing", min(done, MOST_VALUES - 1), MOST_VALUES))
        reason, narrowest = _why_not_exact(amounts, study, kind), _EXACT * (end - begin)
        if reason is None:
            try:
                stretches = search.exactly(*_thresholds(amounts, kind.largest_group(study) or 0, begin, end))
            except NotConvexError as error:
                reason = f"policy {error} does not choose its best plan"
        if reason is not None:
            stretches, narrowest = search.by_bisection(), _HALVED * (end - begin)
        intervals, precisions = _merged(stretches, narrowest)
        for value in (begin + (end - begin) * part / (_DRAWN - 1) for part in range(_DRAWN)):
            search.solve(value)
        table = pd.DataFrame([_interval(amounts, kind, each) for each in intervals], columns=list(INTERVAL_COLUMNS))
        switches = pd.DataFrame(_switches(amounts.own, table, precisions), columns=list(SWITCH_COLUMNS))
    clock.lap("play")
    about = {"key": key, "low": begin, "high": end, "link_gain": link_gain, "own": amounts.own}
    about |= {
        "gain": None if link_gain or key == GAIN else amounts.economics(amounts.own).adversary_gain,
        "exact": reason is None,
        "unsettled": bool((table["policy"] == "").any()),
        "values_tried": search.tried,
    }
    paid = [(*place, payoff) for place, payoff in sorted(search.payoffs.items())]
    lines = pd.DataFrame(paid, columns=["value", "policy", "publisher_payoff"])
    warnings = [*left_out_of_rounds(loaded.scenario)]
    if loaded.scenario.sweep is not None or loaded.scenario.uncertainty is not None:
        warnings.append("sections sweep and uncertainty are ignored: the scenario's own values are used")
    if reason is not None:
        warnings.append(
            f"switches are located only to within {narrowest:.3g}, and pairs of switches closer than "
            f"{(end - begin) / (TRIED - 1):.3g} may be missed: {reason}"
        )
    for at, until in table.loc[table["policy"] == "", ["low", "high"]].itertuples(index=False):
        warnings.append(f"the best policy between {at:g} and {until:g} was not determined after {MOST_VALUES:,} values")
    common = common_fields(loaded, clock.laps, {"switch": about, **kind.facts(study)}, warnings)
    return SwitchResult(key, amounts.own, link_gain, table, switches, lines, **common)


def _why_not_exact(amounts: Amounts, study: Any, kind: Kind) -> str | None:
    """Return the reason, as text, why an exact search is not possible; None if it is.

    The search requires that payoffs are upper envelopes of lines. The reasons are, in this order: the scenario states
    beliefs (other than one about the loss while only the loss varies); a policy may miss its best plan; the gain or
    cost varies, and the values at which attacks begin are unknown.
    """
    beliefs = getattr(study.scenario, "beliefs", None)
    stated = set() if beliefs is None else set(beliefs.model_dump(exclude_defaults=True))
    if stated and (amounts.link_gain or stated != {"loss"} or amounts.key != LOSS):
        return "plans use beliefs that differ from the truth"
    for policy in amounts.policies:
        if not kind.policy(policy).is_rule and not kind.takes_best(study.scenario, policy):
            return f"policy {policy} is a search that may miss the best release"
    if (amounts.link_gain or amounts.key not in (LOSS, "economics.benefit")) and kind.largest_group(study) is None:
        return "the values at which attacks begin are unknown"
    return None


def _thresholds(amounts: Amounts, largest: int, low: float, high: float) -> tuple[int, Callable[[int], float]]:
    """Return the thresholds of one-shot attacks on groups of people.

    Thresholds are the values between `low` and `high` of the varied parameter of `amounts` at which attacks on groups
    of a size begin or end. As the gain rises, attacks on ever larger groups, up to `largest` people, begin to pay off;
    as the cost rises, attacks on the largest groups end first. If neither depends on the parameter, there are no
    thresholds.

    Returns
    -------
    int
        Number of thresholds.
    callable
        Returns a threshold given its number, from 0, in ascending order.
    """
    economics, beyond = amounts.economics(high), 1 + INDIFFERENCE
    gain, cost = economics.adversary_gain, economics.cost
    if amounts.link_gain or amounts.key == GAIN:
        first = math.floor(low / (cost * beyond)) + 1 if cost > 0 else 1
        last = min(largest, math.ceil(high / (cost * beyond)) - 1) if cost > 0 else 0
        return max(last - first + 1, 0), lambda number: (first + number) * cost * beyond
    if amounts.key in (LOSS, "economics.benefit"):
        return 0, float
    most = largest if low <= 0 else min(largest, math.ceil(gain / (low * beyond)) - 1)
    least = math.floor(gain / (high * beyond)) + 1
    return max(most - least + 1, 0), lambda number: gain / ((most - number) * beyond)


def _merged(stretches: Iterable[Stretch], narrowest: float) -> tuple[list[Stretch], list[float]]:
    """Merge neighbouring stretches with the same best policies.

    A stretch whose best policy was not determined is divided between its neighbours, in the middle, if its width is at
    most twice `narrowest`. Wider ones, and one at the beginning, are kept; a narrow one at the end is added to the one
    before it.

    Returns
    -------
    list of Stretch
    list of float
        Largest error of the boundary between each stretch and the next one; 0 if it is exact.
    """
    first, *others = stretches
    joined, precisions, gap = [first], list[float](), 0.0
    for stretch in others:
        last = joined[-1]
        if not stretch.best and stretch.high - last.high <= 2 * narrowest:
            gap = stretch.high - last.high
            continue
        if stretch.best == last.best:
            joined[-1] = last._replace(high=stretch.high)
        else:
            middle = last.high + gap / 2
            joined[-1:] = last._replace(high=middle), stretch._replace(low=middle)
            precisions.append(gap / 2)
        gap = 0.0
    joined[-1] = joined[-1]._replace(high=joined[-1].high + gap)
    return joined, precisions


def _interval(amounts: Amounts, kind: Kind, stretch: Stretch) -> tuple[Any, ...]:
    low, high, best = stretch
    if not best:
        return (low, high, "", "", *[math.nan] * (len(INTERVAL_COLUMNS) - 4))
    found, margin = amounts.at((low + high) / 2, best).outcomes, 1e-9 * (high - low)
    chosen = min(best, key=lambda name: (round(found[name]["risk"], 12), not kind.policy(name).forbids_attacks))
    gains = [amounts.economics(value).adversary_gain for value in (low, high)]
    payoffs = [amounts.at(value, (chosen,)).payoffs[chosen] for value in (low + margin, high - margin)]
    means = (found[chosen][name] for name in ("utility", "share_attacked", "risk"))
    return (low, high, chosen, TOGETHER.join(best), *gains, *payoffs, *means)


def _switches(own: float, table: pd.DataFrame, precisions: Sequence[float]) -> Iterator[tuple[Any, ...]]:
    for (below, above), precision in zip(itertools.pairwise(table.to_dict("records")), precisions, strict=True):
        if below["policy"] and above["policy"]:
            policies = (below["policy"], above["policy"], below["best"], above["best"])
            yield below["high"], precision, *policies, below["high"] / own if own > 0 else math.nan


class Stretch(NamedTuple):
    """A range of the payoff parameter with the same best policies.

    Attributes
    ----------
    low, high : float
        Ends of the range.
    best : tuple of str
        Policies that share the highest payoff; empty if the best policy was not determined.
    """

    low: float
    high: float
    best: tuple[str, ...]


class NotConvexError(Exception):
    """Raised with the name of a policy that did not choose its best plan.

    Its payoff is then not the envelope of its plans.
    """


class Envelope:
    """Search for the best policies on a range of a payoff parameter.

    Parameters
    ----------
    amounts : Amounts
    low, high : float
        Ends of the range.
    report : callable
        Called with the number of evaluated values.

    Attributes
    ----------
    payoffs : dict of tuple to float
        Publisher's payoffs per record at the evaluated values, by value and policy.
    tried : int
        Number of evaluations.
    """

    def __init__(self, amounts: Amounts, low: float, high: float, report: Callable[[int], None]) -> None:
        self._amounts, self._low, self._high, self._report = amounts, low, high, report
        self.payoffs, self.tried = dict[tuple[float, str], float](), 0
        # Ranges narrower than this are not divided further; their best policy may stay undetermined.
        self._narrowest = 0.0
        self._scale = max(amounts.scale(low), amounts.scale(high))

    def solve(self, amount: float, policies: Sequence[str] | None = None) -> PlannedAt:
        """Return a `PlannedAt`: plans and outcomes of policies at a value.

        Its payoffs are added to `payoffs`. `policies` are names of policies; by default, all are evaluated.
        """
        planned = self._amounts.at(amount, policies)
        self.payoffs |= {(amount, policy): payoff for policy, payoff in planned.payoffs.items()}
        self.tried += 1
        self._report(self.tried)
        return planned

    def by_bisection(self) -> list[Stretch]:
        """Return stretches found on a grid of `TRIED` equidistant values.

        Stretches are in ascending order. Ranges with different best policies at their ends are bisected until they are
        at most a millionth of the whole range, or `MOST_VALUES` values are evaluated; the best policy of the remaining
        ranges is not determined. Ranges with the same best policies at both ends are not bisected, so that two changes
        within such a range are missed.
        """
        self._narrowest = _HALVED * (self._high - self._low)
        solved = map(self.solve, np.linspace(self._low, self._high, TRIED).tolist())
        return [stretch for ends in itertools.pairwise(solved) for stretch in self._halved(*ends)]

    def _halved(self, left: PlannedAt, right: PlannedAt) -> Iterator[Stretch]:
        below, above = self._best_of(left.payoffs), self._best_of(right.payoffs)
        if below == above or self._is_narrow(left, right):
            yield Stretch(left.amount, right.amount, below if below == above else ())
            return
        middle = self.solve((left.amount + right.amount) / 2)
        yield from self._halved(left, middle)
        yield from self._halved(middle, right)

    def _is_narrow(self, left: PlannedAt, right: PlannedAt) -> bool:
        return right.amount - left.amount <= self._narrowest or self.tried >= MOST_VALUES

    def exactly(self, thresholds: int, threshold: Callable[[int], float]) -> list[Stretch]:
        """Return the stretches of the whole range with exact ends, in ascending order.

        Every policy must always choose its best plan. Neighbouring stretches may have the same best policies.

        Parameters
        ----------
        thresholds : int
            Number of thresholds of attacks in the range. Between neighbouring ones, in a cell, the attacks on each plan
            do not change.
        threshold : callable
            Returns a threshold given its number, from 0; thresholds ascend.

        Raises
        ------
        NotConvexError
            If a policy does not choose its best plan.
        """
        self._narrowest = _EXACT * (self._high - self._low)

        def cell(number: int) -> tuple[float, float]:
            low = self._low if number == 0 else threshold(number - 1)
            return low, self._high if number == thresholds else threshold(number)

        def inside(number: int) -> tuple[float, float]:
            """Return two values, just inside the lower and the upper end of a cell.

            A cell is the range between two neighbouring thresholds; `number` counts cells from 0.
            """
            low, high = cell(number)
            margin = min(max(_INSIDE * (high - low), _BESIDE * high), (high - low) / 4)
            return low + margin, high - margin

        def cells(
            first: int, last: int, left: PlannedAt, right: PlannedAt, policies: Sequence[str]
        ) -> Iterator[Stretch]:
            """Yield the stretches of the cells with numbers `first` to `last`, both included.

            A cell is the range between two neighbouring thresholds. Every payoff is monotone across these cells, so
            that its values at `left` (just inside the first cell) and `right` (just inside the last cell) bound it in
            between. Only `policies` can be the best here.
            """
            low, high = cell(first)[0], cell(last)[1]
            bounds = {name: sorted((left.payoffs[name], right.payoffs[name])) for name in policies}
            floor = max(least for least, _ in bounds.values()) - SAME * self._scale
            open_ = [name for name in policies if bounds[name][1] >= floor]
            constant = all(bounds[name][1] - bounds[name][0] <= _KINK * self._scale for name in open_)
            if first < last and (len(open_) == 1 or constant):
                yield Stretch(low, high, self._best_of({name: left.payoffs[name] for name in open_}))
            elif first == last:
                yield from self._within(low, high, left, right, open_)
            elif self.tried >= MOST_VALUES:
                yield Stretch(low, high, ())
            else:
                middle = (first + last) // 2
                below, above = self.solve(inside(middle)[1], open_), self.solve(inside(middle + 1)[0], open_)
                yield from cells(first, middle, left, below, open_)
                yield from cells(middle + 1, last, above, right, open_)

        left, right = self.solve(inside(0)[0]), self.solve(inside(thresholds)[1])
        return list(cells(0, thresholds, left, right, self._amounts.policies))

    def _within(
        self, low: float, high: float, left: PlannedAt, right: PlannedAt, policies: Sequence[str]
    ) -> Iterator[Stretch]:
        """Yield the stretches of a range in which attacks on each plan do not change.

        `left` and `right` are evaluated values at or just inside its ends. Only `policies` can be the best here.
        Payoffs are convex functions, bounded by the chord through both payoffs and by the lines of both plans, which
        intersect at a kink. A policy that is certainly below another one is ignored.

        Raises
        ------
        NotConvexError
            If a policy does not choose its best plan.
        """
        same, bend, width = SAME * self._scale, _KINK * self._scale, right.amount - left.amount
        later = payoffs_of(self._amounts.outcomes_at(left.plans, right.amount))
        earlier = payoffs_of(self._amounts.outcomes_at(right.plans, left.amount))
        paid = [[found[name] for name in policies] for found in (left.payoffs, right.payoffs, earlier, later)]
        begin, end, earlier_line, later_line = np.array(paid)
        drop_begin, drop_end = begin - earlier_line, end - later_line
        flattest = np.minimum(drop_begin, drop_end)
        for name in itertools.compress(policies, flattest < -same):
            raise NotConvexError(name)
        is_bent = flattest > bend
        kink = np.divide(drop_begin, drop_begin + drop_end, out=np.full(len(begin), 0.5), where=is_bent)
        lowest = np.where(is_bent, begin + kink * (later_line - begin), (begin + end) / 2)
        gap = np.where(is_bent, begin + kink * (end - begin) - lowest, 0.0)
        # Whether each policy (row) is above each other one (column) at both ends, and at its kink above the chord.
        chord = begin + kink[:, None] * (end - begin)
        ends_above = (begin[:, None] > begin + same) & (end[:, None] > end + same)
        open_ = np.flatnonzero(~(ends_above & (lowest[:, None] > chord + same)).any(axis=0))
        names = [policies[number] for number in open_.tolist()]
        if len(open_) == 1 or not (gap[open_] > bend).any():
            yield from self._by_lines(low, high, left, right, names)
        elif self._is_narrow(left, right):
            yield Stretch(low, high, ())
        else:
            middle = left.amount + float(kink[open_[gap[open_].argmax()]]) * width
            between = self.solve(middle, names)
            yield from self._within(low, middle, left, between, names)
            yield from self._within(middle, high, between, right, names)

    def _by_lines(
        self, low: float, high: float, left: PlannedAt, right: PlannedAt, policies: Sequence[str]
    ) -> Iterator[Stretch]:
        """Yield the stretches of a range, given that payoffs are linear in it.

        `left` and `right` are evaluated values at or just inside the ends, `low` and `high`. Only `policies` can be the
        best here. Payoffs need not be linear if there is only one such policy.
        """
        begin, width = left.amount, right.amount - left.amount
        lines = {name: (left.payoffs[name], right.payoffs[name] - left.payoffs[name]) for name in policies}
        crossings = {
            begin + width * (other_at - at) / (rise - other_rise)
            for (at, rise), (other_at, other_rise) in itertools.combinations(lines.values(), 2)
            if abs(rise - other_rise) > SAME * self._scale
        }
        marks = [low, *sorted(value for value in crossings if low < value < high), high]
        for start, end in itertools.pairwise(marks):
            part = ((start + end) / 2 - begin) / width if width > 0 else 0.0
            yield Stretch(start, end, self._best_of({name: at + part * rise for name, (at, rise) in lines.items()}))

    def _best_of(self, payoffs: Mapping[str, float]) -> tuple[str, ...]:
        most = max(payoffs.values())
        return tuple(name for name in self._amounts.policies if payoffs.get(name, -np.inf) >= most - SAME * self._scale)
