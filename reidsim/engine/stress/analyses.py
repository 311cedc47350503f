"""The tables of a stress test, computed from points and their outcomes.

Payoffs are arrays of shape (n_policies, n_points), one column per point, with equal weights. If a payoff is missing at
a point (a failed run), the point is ignored for all policies, so that policies are compared on the same points. Points
with all payoffs are called complete.

Sobol indices and Morris screening are computed with SALib. Both methods evaluate the model at a design of points that
consists of blocks. A Sobol block (Saltelli 2010) holds two independent points and, for each parameter, the first point
with this parameter taken from the second point. A Morris block is a trajectory that changes one parameter at a time. A
block is usable only as a whole: it is omitted if any of its runs failed or lacks the output. Indices are missing if
fewer than half of the blocks remain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError, listed
from reidsim.core.numerics import random_stream
from reidsim.engine.batch.design import Design, quantiles, scenario_columns
from reidsim.games.outcomes import PUBLISHER_PAYOFF
from reidsim.games.record_game import WITHHELD
from reidsim.games.solvers import RobustChoice
from reidsim.scenarios import schema
from reidsim.scenarios.adversary_schema import EconomicsSection
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.scenario import Study

Floats = NDArray[np.float64]
PAYOFF = PUBLISHER_PAYOFF.column
# Payoffs that differ by less than this fraction of the largest payoff count as equal.
_SAME = 1e-12
GUARANTEE_COLUMNS = ("policy", "parameter", "believed", "breaking", "error", "relative_error", "share_safe")
# Limits of the search for a bracket (doublings reach from cents to 10^15) and of the bisection (to the last digits).
_DOUBLINGS, _HALVINGS = 64, 80


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outputs of every policy at every point.

    Parameters
    ----------
    table : DataFrame
        One row per point and policy: ``point`` (number, from 0), ``policy`` and the outputs, averaged over
        replications. If one run of a point failed, all outputs of the point are missing, or its rows are.
    failures : DataFrame
        One row per point with a failed run: ``point`` and ``error``, the message of its first failed run.
    """

    table: pd.DataFrame
    failures: pd.DataFrame

    def matrix(self, output: str, policies: tuple[str, ...], n_points: int) -> Floats:
        """Return an output as an array, shape (n_policies, n_points).

        Policies have the given order. Missing outputs are NaN.

        Raises
        ------
        InputError
            If no run has the output.
        """
        if output not in self.table:
            has = [name for name in self.table if name not in ("point", "policy")]
            problem, expected = "no run of the scenario has this output", f"one of {listed(has, 20)}"
            raise InputError(problem, where="stress", found=output, expected=expected)
        wide = self.table.pivot(index="policy", columns="point", values=output)
        return wide.reindex(index=list(policies), columns=range(n_points)).to_numpy(dtype=np.float64)


def at_points(points: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the values of its points after its column ``point``.

    `points` has one row per point and one column per key path. Column ``point`` of `table` holds row numbers in
    `points`; its other columns follow unchanged. For the type of values, see `scenario_columns`.
    """
    values = scenario_columns(Design(points)).iloc[table["point"].to_numpy()].reset_index(drop=True)
    return pd.concat([table[["point"]], values, table.drop(columns="point")], axis=1)


# Robustness: worst case, quantile and regret.


def regret(payoffs: Floats) -> Floats:
    """Return the regret of each policy at each point: the best payoff minus its own.

    `payoffs` and the result have shape (n_policies, n_points). Regrets are never negative, and 0 for the best policy.
    At points where a payoff is missing, they are missing (NaN) for all policies.
    """
    # The maximum over policies is missing if a payoff is.
    return np.asarray(payoffs.max(axis=0) - payoffs)


def best_policies(payoffs: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the best policy at each point, and its margin over the second best.

    `payoffs` has shape (n_policies, n_points).

    Returns
    -------
    best : ndarray of int64, shape (n_points,)
        Index of the policy (the first of equally good ones); -1 at points where a payoff is missing.
    margin : ndarray of float64, shape (n_points,)
        Payoff of the best minus payoff of the second-best policy; 0 if several policies are equally good. Missing if
        there is only one policy or a payoff is missing.
    """
    complete = np.isfinite(payoffs).all(axis=0)
    known = np.where(complete, payoffs, 0.0)
    tied = known >= known.max(axis=0) - _SAME * np.abs(known).max(axis=0)
    second = np.sort(known, axis=0)[-2] if len(payoffs) > 1 else np.nan
    margin = np.where(tied.sum(axis=0) > 1, 0.0, known.max(axis=0) - second)
    return np.where(complete, tied.argmax(axis=0), -1), np.where(complete, margin, np.nan)


def robustness_table(policies: Sequence[str], payoffs: Floats, quantile: float) -> pd.DataFrame:
    """Rank policies by their payoffs and regrets over all points.

    Parameters
    ----------
    policies : sequence of str
    payoffs : ndarray of float64, shape (n_policies, n_points)
        Publisher's payoff per record.
    quantile : float
        Level of ``quantile_payoff``, in [0, 1].

    Returns
    -------
    DataFrame
        One row per policy: ``mean_payoff``, ``worst_payoff``, ``quantile_payoff`` (the smallest payoff that a share
        `quantile` of the points does not exceed), ``mean_regret``, ``largest_regret``, ``share_best`` (share of points
        at which no policy has a higher payoff) and ``points`` (number of points with the payoffs of all policies; all
        others are ignored). The columns ``maximin``, ``minimax_regret`` and ``quantile_best`` mark the first policy
        with the best value of the criterion. Without such a point, values are missing and no policy is marked.
    """
    known = payoffs[:, np.isfinite(payoffs).all(axis=0)]
    n_points = known.shape[1]
    if n_points == 0:
        known = np.full((len(policies), 1), np.nan)
    behind = regret(known)
    share = (behind <= _SAME * np.abs(known).max(axis=0)).mean(axis=1)
    measures = {
        "policy": list(policies),
        "mean_payoff": known.mean(axis=1),
        "worst_payoff": known.min(axis=1),
        "quantile_payoff": np.quantile(known, quantile, axis=1, method="inverted_cdf"),
        "mean_regret": behind.mean(axis=1),
        "largest_regret": behind.max(axis=1),
        "share_best": share if n_points else np.nan,
        "points": n_points,
    }
    criteria = {"maximin": known.min(axis=1), "minimax_regret": -behind.max(axis=1)}
    criteria["quantile_best"] = np.asarray(measures["quantile_payoff"])
    marks = {name: (np.arange(len(policies)) == each.argmax()) & (n_points > 0) for name, each in criteria.items()}
    return pd.DataFrame({**measures, **marks})


def regret_table(points: pd.DataFrame, policies: tuple[str, ...], outputs: Mapping[str, Floats]) -> pd.DataFrame:
    """Return outputs and regret of each policy at each point.

    Parameters
    ----------
    points : DataFrame
    policies : tuple of str
    outputs : mapping of str to ndarray of float64, shape (n_policies, n_points)
        Outputs by column, among them the publisher's payoff per record; NaN if a run failed.

    Returns
    -------
    DataFrame
        One row per point and policy: ``point`` (row number in `points`, from 0), the point's value of each key path,
        ``policy``, the outputs, ``regret`` (the highest payoff at the point minus the policy's) and ``best``
        (whether the policy has the highest payoff; of ties, only the first policy). At points where a payoff is
        missing, ``regret`` is missing and ``best`` False for all policies.
    """
    payoffs = outputs[PAYOFF]
    best, _ = best_policies(payoffs)
    found = {
        "point": np.repeat(np.arange(len(points)), len(policies)),
        "policy": list(policies) * len(points),
        **{column: values.T.ravel() for column, values in outputs.items()},
        "regret": regret(payoffs).T.ravel(),
        "best": (best[:, None] == np.arange(len(policies))).ravel(),
    }
    return at_points(points, pd.DataFrame(found))


def strategy_table(kind: Kind, study: Study[Any], choices: Mapping[schema.Criterion, RobustChoice]) -> pd.DataFrame:
    """Return the robust strategy of every record.

    `choices` holds, by criterion, a strategy and the value of the criterion for each row of the study's game.

    Returns
    -------
    DataFrame
        One row per criterion and record: ``record`` (number, from 0), ``criterion``, ``strategy`` (its description;
        ``withheld`` if the record is not shared) and ``value``, the value of the criterion in currency units: the worst
        payoff over the points, their quantile, or the largest regret; see `RobustChoice`.
    """
    space, rows = study.world(0).truth.space, kind.row_of_record(study, 0)
    describe = cache(lambda number: "withheld" if number == WITHHELD else space.describe(number))
    parts = [
        pd.DataFrame(
            {
                "record": np.arange(len(rows)),
                "criterion": criterion,
                "strategy": np.array([*map(describe, robust.strategies.tolist())], dtype=object)[rows],
                "value": robust.value[rows],
            }
        )
        for criterion, robust in choices.items()
    ]
    return pd.concat(parts, ignore_index=True).astype({"criterion": "category", "strategy": "category"})


# Belief curves and maps.


def curve_table(
    key: str, believed_key: str | None, points: pd.DataFrame, outcomes: Outcomes, columns: Sequence[str]
) -> pd.DataFrame:
    """Return the outputs of policies by true and believed value of one parameter.

    Policies are planned with the believed value; outputs hold under the true one. The two may be equal.

    Parameters
    ----------
    key, believed_key : str
        Key paths of the true value and of the belief about it; columns of `points`.
    points : DataFrame
        One row per point.
    outcomes : Outcomes
        Outputs of each policy at each point.
    columns : sequence of str
        Outputs to return, columns of the table of outcomes.

    Returns
    -------
    DataFrame
        One row per true value, believed value and policy: ``key`` (key path of the parameter), ``true``, ``believed``,
        ``error`` (believed minus true; missing if one of them is not a number), ``policy`` and the outputs `columns`.
    """
    true, believed = (points[each].to_numpy()[outcomes.table["point"]] for each in (key, believed_key))
    error = [float(b - t) if are_numbers((b, t)) else np.nan for t, b in zip(true, believed, strict=True)]
    about = pd.DataFrame({"key": key, "true": true, "believed": believed, "error": error})
    return pd.concat([about, outcomes.table[["policy", *columns]].reset_index(drop=True)], axis=1)


def map_table(
    section: schema.PolicyMapSection, points: pd.DataFrame, policies: tuple[str, ...], outcomes: Outcomes
) -> pd.DataFrame:
    """Return the best policy at each point of a grid over two parameters.

    `section` names the keys of both axes, which are columns of `points`; `outcomes` has the payoffs of the policies.

    Returns
    -------
    DataFrame
        One row per point: ``x`` and ``y`` (the values of the parameters), ``best`` (the policy; the first of ties), its
        ``publisher_payoff`` per record, and ``margin``, the difference to the payoff of the second-best policy (0 for
        ties, missing with a single policy). If a payoff is missing at a point, ``best`` is empty and the last two
        columns are missing.
    """
    payoffs = outcomes.matrix(PAYOFF, policies, len(points))
    best, margin = best_policies(payoffs)
    return pd.DataFrame(
        {
            "x": numbers_or_text(points[section.x.key].tolist()),
            "y": numbers_or_text(points[section.y.key].tolist()),
            "best": [policies[number] if number >= 0 else "" for number in best.tolist()],
            PAYOFF: np.where(best >= 0, payoffs[best, np.arange(len(points))], np.nan),
            "margin": margin,
        }
    )


def are_numbers(values: Iterable[object]) -> bool:
    """Return whether all values are numbers; booleans do not count as numbers."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def numbers_or_text(values: Sequence[Any]) -> list[float] | list[str]:
    """Return the values as floats if all of them are numbers, else as text.

    Booleans and text, such as ``"3"``, are not numbers.
    """
    return [float(value) for value in values] if are_numbers(values) else [str(value) for value in values]


# The guarantee: smallest errors about the adversary's cost or gain that expose a safe record. The publisher plans under
# its beliefs. A record is safe if, under these beliefs, the adversary would not attack it under the plan. The plan is
# kept while the true cost is lowered (to the breaking cost) or the true gain raised (to the breaking gain), until the
# first safe record is attacked. With one-shot attacks, this is the safe record with the highest success probability.


def guarantee_table(points: Any, policies: tuple[str, ...], believed: EconomicsSection) -> pd.DataFrame:
    """Return each policy's smallest error about cost or gain that exposes a record.

    An error exposes a record if the publisher considers the record safe (expects no attack), but it is attacked.

    Parameters
    ----------
    points : object
        Object that plans a policy under any payoff parameters; see `Kind.amount_points`.
    policies : tuple of str
    believed : EconomicsSection
        Payoff parameters under which the publisher plans.

    Returns
    -------
    DataFrame
        Two rows per policy (``parameter`` is ``cost`` or ``gain``): ``believed``, the believed value; ``breaking``, the
        value beyond which (a lower cost, a higher gain) a safe record is attacked while the other parameter is as
        believed; ``error``, breaking minus believed; ``relative_error``, the error divided by the believed value
        (missing if that is 0); and ``share_safe``, the share of records that the publisher expects not to be attacked.
        ``breaking`` and both errors are missing if no error about the parameter exposes a record, for example if no
        record is considered safe, no attack on a safe record can succeed, or a cost of 0 cannot be lower. Amounts are
        in currency units.
    """
    rows, weights = [], points.study.world(0).weights
    for policy in policies:
        plan = points.plan(policy, believed)
        find = _by_bisection if plan.one_shot_success is None else _of_one_shot
        share, cost, gain = find(plan, weights, believed)
        for parameter, value, breaking in (("cost", believed.cost, cost), ("gain", believed.adversary_gain, gain)):
            relative = (breaking - value) / value if value > 0 else np.nan
            rows.append((policy, parameter, value, breaking, breaking - value, relative, share))
    return pd.DataFrame(rows, columns=list(GUARANTEE_COLUMNS))


def _of_one_shot(plan: Any, weights: NDArray[np.int64], believed: EconomicsSection) -> tuple[float, float, float]:
    """Return share of safe records, breaking cost and breaking gain.

    They hold for one-shot attacks under a plan; see `guarantee_table`. `weights` are numbers of records with each
    success probability of the plan. If no safe record could be attacked successfully, cost and gain are NaN; the cost
    is also NaN if the believed gain or cost is 0.
    """
    success, gain, cost = np.asarray(plan.one_shot_success), believed.adversary_gain, believed.cost
    safe = ~(gain * success > cost * (1 + INDIFFERENCE))
    share, highest = float(np.average(safe, weights=weights)), float(success[safe].max(initial=0.0))
    # No attack pays even at cost 0 if the gain or the believed cost is 0.
    breaking = (min(gain * highest, cost) or np.nan, max(cost / highest, gain)) if highest else (np.nan, np.nan)
    return share, *breaking


def _by_bisection(plan: Any, weights: NDArray[np.int64], believed: EconomicsSection) -> tuple[float, float, float]:
    """Return share of safe records, breaking cost and breaking gain, by bisection.

    This works against any adversary; see `guarantee_table`. Attacks of the adversary must increase as the cost
    decreases or the gain increases. The breaking cost is NaN if not even a cost of 0 exposes a safe record. The
    breaking gain is NaN if no gain of 2, 4, ..., 2**64 times the larger of the adversary's gain and 1 exposes one.
    `weights` are numbers of records in each row of the plan.
    """
    from scipy.optimize import bisect

    safe = ~plan.equilibrium(believed).attacked

    def exposes(value: float, parameter: str) -> float:
        # A gain that is not stated would be set equal to the loss.
        changed = believed.model_copy(update={"gain": believed.adversary_gain, parameter: value})
        return 1.0 if (plan.equilibrium(changed).attacked & safe).any() else -1.0

    def breaking(parameter: str, own: float, exposed: Iterable[float]) -> float:
        end = next((value for value in exposed if exposes(value, parameter) > 0), None)
        limits = {"xtol": 1e-300, "rtol": 4 * np.finfo(float).eps, "maxiter": _HALVINGS, "disp": False}
        return np.nan if end is None else float(bisect(exposes, own, end, args=(parameter,), **limits))

    high = max(believed.adversary_gain, 1.0)
    cost = breaking("cost", believed.cost, (0.0,))
    gain = breaking("gain", believed.adversary_gain, (high * 2.0**times for times in range(1, _DOUBLINGS + 1)))
    return float(np.average(safe, weights=weights)), cost, gain


TORNADO_COLUMNS = ("policy", "output", "parameter", "low", "high", "at_low", "at_own", "at_high", "swing")
INDEX_COLUMNS = ("index", "parameter", "other", "value", "low", "high", "blocks", "blocks_left_out")
# Minimum share of usable blocks for computing indices.
_ENOUGH = 0.5
# An output that varies by less than this fraction of its magnitude counts as constant; the variation is rounding.
_CONSTANT = 1e-12
# A Sobol index (between 0 and 1) with a larger half-width of its interval is too uncertain to rank parameters.
_WIDE = 0.2
# A Morris grid includes levels 0 and 1. On an unbounded side, a distribution is cut at this tail probability instead.
_TAIL = 0.005
# Some distributions have no finite quantile at levels 0 and 1.
_EDGE = 2.0**-53
# Names of the indices here and in SALib.
_INDICES = {
    "sobol": {"first-order": "S1", "total": "ST"},
    "morris": {"mu_star": "mu_star", "mu": "mu", "sigma": "sigma"},
}


@dataclass(frozen=True, eq=False)
class SensitivityDesign:
    """Points of the unit cube at which a model is evaluated.

    Parameters
    ----------
    parameters : tuple of str
    section : SensitivitySection
        Method and its options.
    probabilities : ndarray of float64, shape (n_runs, n_parameters)
        Levels in [0, 1]; each parameter takes the quantile of its distribution at this level. A Sobol design has
        ``samples (d + 2)`` runs for d parameters, or ``samples (2 d + 2)`` for indices of pairs; a Morris design has
        ``samples (d + 1)`` runs.
    """

    parameters: tuple[str, ...]
    section: schema.SensitivitySection
    probabilities: Floats

    def points(self, uncertainty: schema.UncertaintySection) -> pd.DataFrame:
        """Return the values of the parameters, one row per run, one column per key path.

        For a Morris design, a tail with probability `_TAIL` is cut off on each unbounded side: levels in [0, 1] are
        mapped linearly to the levels without tails. Only normal and lognormal distributions have unbounded sides.
        """
        columns = {}
        for (key, distribution), levels in zip(uncertainty.parameters.items(), self.probabilities.T, strict=True):
            if self.section.method == "morris" and isinstance(distribution, schema.Normal | schema.LogNormal):
                # The bound 0 of a lognormal variable does not count: its logarithm is unbounded and needs a cut, too.
                tails = _TAIL * (distribution.low is None), 1 - _TAIL * (distribution.high is None)
                levels = np.interp(levels, (0, 1), tails)
            columns[key] = quantiles(distribution, np.clip(levels, _EDGE, 1 - _EDGE))
        return pd.DataFrame(columns)


def _problem(parameters: tuple[str, ...]) -> dict[str, Any]:
    return {"num_vars": len(parameters), "names": list(parameters), "bounds": [[0.0, 1.0]] * len(parameters)}


def stress_seeds(seed: int) -> tuple[int, int]:
    """Return the seeds of the design and of the bootstrap, given the root seed.

    They are never 0, because SALib treats 0 as no seed.
    """
    first, second = random_stream(seed, "stress").integers(1, 2**31, size=2).tolist()
    return first, second


def sensitivity_design(
    uncertainty: schema.UncertaintySection, section: schema.SensitivitySection, seed: int
) -> SensitivityDesign:
    """Return the design of a sensitivity analysis, a `SensitivityDesign`.

    `seed` is the root seed of the scenario.

    Raises
    ------
    InputError
        If parameters are correlated; the indices decompose the variance under independent parameters only.
    """
    if uncertainty.correlations:
        keys = " and ".join(uncertainty.correlations[0].keys)
        expected = "no correlations; only robustness supports correlations"
        problem, where = "sensitivity indices need independent parameters", "uncertainty.correlations"
        raise InputError(problem, where=where, found=keys, expected=expected)
    return unit_design(tuple(uncertainty.parameters), section, stress_seeds(seed)[0])


def unit_design(parameters: tuple[str, ...], section: schema.SensitivitySection, seed: int) -> SensitivityDesign:
    """Return the points of the unit cube for a sensitivity method.

    For ``sobol``, this is Saltelli's design on a scrambled Sobol sequence; for ``morris``, random trajectories on a
    grid. `parameters` are key paths; `seed` must not be 0.
    """
    sobol, morris = {"calc_second_order": section.second_order, "scramble": True}, {"num_levels": section.levels}
    options: Any = sobol if section.method == "sobol" else morris
    sample = import_module(f"SALib.sample.{section.method}").sample
    return SensitivityDesign(parameters, section, sample(_problem(parameters), section.samples, seed=seed, **options))


def analyse(design: SensitivityDesign, output: Floats, *, seed: int) -> pd.DataFrame:
    """Compute the indices of one output over a design.

    Parameters
    ----------
    design : SensitivityDesign
    output : ndarray of float64, shape (n_runs,)
        Output of each run, in the order of the design; NaN if a run failed or lacks the output.
    seed : int
        Seed of the bootstrap, at least 1.

    Returns
    -------
    DataFrame
        One row per index and parameter, columns `INDEX_COLUMNS`. Sobol indices: ``first-order`` (share of the output's
        variance that the parameter explains alone), ``total`` (share explained by the parameter and all its
        interactions) and ``second-order`` (of the pair of the parameter and ``other``; ``other`` is empty for the other
        indices). Morris indices: ``mu_star`` (mean absolute elementary effect, in the output's unit over the whole
        range of the parameter), ``mu`` (mean elementary effect) and ``sigma`` (standard deviation of elementary
        effects, which shows interactions or curvature). ``low`` and ``high`` are the bounds of the interval (missing
        for ``mu`` and ``sigma``). ``blocks`` and ``blocks_left_out`` are the numbers of usable and of omitted blocks.
        All indices of a constant output are 0; indices are missing if fewer than half of the blocks, or fewer than 2,
        are usable.
    """
    section, names, is_sobol = design.section, design.parameters, design.section.method == "sobol"
    runs = output.reshape(section.samples, -1)
    whole = np.isfinite(runs).all(axis=1)
    kept, found, constant = runs[whole].ravel(), dict[str, Any](), np.nan
    if whole.sum() >= max(2, _ENOUGH * section.samples):
        if np.ptp(kept) <= _CONSTANT * max(1.0, np.abs(kept).max()):
            constant = 0.0
        else:
            analyze = import_module(f"SALib.analyze.{section.method}").analyze
            bootstrap = {"num_resamples": section.resamples, "conf_level": section.confidence, "seed": seed}
            points = design.probabilities[np.repeat(whole, runs.shape[1])]
            own = {"calc_second_order": section.second_order} if is_sobol else {"num_levels": section.levels}
            found = analyze(_problem(names), *(() if is_sobol else (points,)), kept, **own, **bootstrap)
    same, missing = np.full(len(names), constant), np.full(len(names), np.nan)
    rows = []
    for index, key in _INDICES[section.method].items():
        # SALib has no interval for `mu` and `sigma`; the indices of a constant output are known exactly.
        both = found.get(key, same), found.get(f"{key}_conf", missing if found else same)
        rows += [(index, name, "", v, v - h, v + h) for name, v, h in zip(names, *both, strict=True)]
    if is_sobol and section.second_order:
        values, half = (found.get(key, np.full((len(names), len(names)), constant)) for key in ("S2", "S2_conf"))
        for i, j in itertools.combinations(range(len(names)), 2):
            bounds = values[i, j], values[i, j] - half[i, j], values[i, j] + half[i, j]
            rows.append(("second-order", names[i], names[j], *bounds))
    table = pd.DataFrame(rows, columns=list(INDEX_COLUMNS[:-2])).astype(dict.fromkeys(("value", "low", "high"), float))
    return table.assign(blocks=int(whole.sum()), blocks_left_out=int((~whole).sum()))


def ends_of(distribution: schema.Distribution) -> tuple[Any, Any]:
    """Return the low and the high end of a distribution.

    On a side without a bound, it is the quantile that leaves out a tail of probability `_TAIL`. Of discrete values, the
    ends are the smallest and the largest number; of values that are not all numbers, the first and the last.
    """
    if isinstance(distribution, schema.Discrete):
        values = sorted(distribution.values) if are_numbers(distribution.values) else distribution.values
        return values[0], values[-1]
    bounds = distribution.low, distribution.high
    tails = quantiles(distribution, np.array([_TAIL, 1 - _TAIL])).tolist()
    low, high = (tail if bound is None else bound for bound, tail in zip(bounds, tails, strict=True))
    return (round(low), round(high)) if distribution.whole else (low, high)


def tornado_points(uncertainty: schema.UncertaintySection, own: Mapping[str, Any]) -> pd.DataFrame:
    """Return the points of a tornado chart, one column per key path.

    The first row has the scenario's own values (`own`, by key path). Two rows follow for each parameter: its low and
    its high end (see `ends_of`), with all other parameters at their own values.
    """
    ends = ({key: end} for key, each in uncertainty.parameters.items() for end in ends_of(each))
    return pd.DataFrame([{**own, **change} for change in ({}, *ends)]).astype(object)


def tornado_table(
    points: pd.DataFrame, outcomes: Outcomes, policies: tuple[str, ...], outputs: Sequence[str]
) -> pd.DataFrame:
    """Return the outputs at both ends of each parameter, the parameter with the largest effect first.

    Parameters
    ----------
    points : DataFrame
        Points in the order of `tornado_points`.
    outcomes : Outcomes
    policies : tuple of str
    outputs : sequence of str

    Returns
    -------
    DataFrame
        One row per output, policy and parameter, columns `TORNADO_COLUMNS`, by decreasing ``swing``: ``low`` and
        ``high`` are the ends of the parameter; ``at_low``, ``at_own`` and ``at_high`` the outputs at the ends and at
        the scenario's own value; ``swing`` is the largest less the smallest of the three outputs, and missing if one
        of them is.
    """
    values = [points[key][2 * place + end] for place, key in enumerate(points) for end in (1, 2)]
    ends, parts = numbers_or_text(values), list[pd.DataFrame]()
    for output in outputs:
        for policy, found in zip(policies, outcomes.matrix(output, policies, len(points)), strict=True):
            low, own, high = found[1::2], np.full(len(ends) // 2, found[0]), found[2::2]
            swing = np.ptp([low, own, high], axis=0)
            columns = (policy, output, list(points), ends[::2], ends[1::2], low, own, high, swing)
            rows = pd.DataFrame(dict(zip(TORNADO_COLUMNS, columns, strict=True)))
            parts.append(rows.sort_values("swing", ascending=False, kind="stable"))
    return pd.concat(parts, ignore_index=True)


def sensitivity_table(
    design: SensitivityDesign, outcomes: Outcomes, policies: tuple[str, ...], outputs: Sequence[str], seed: int
) -> pd.DataFrame:
    """Return a table of the sensitivity indices of every output under every policy.

    It has one row per output, policy, index and parameter: ``policy``, ``output``, and the columns of `analyse`. `seed`
    is the seed of the bootstrap.
    """
    parts = {
        (policy, output): analyse(design, runs, seed=seed)
        for output in outputs
        for policy, runs in zip(policies, outcomes.matrix(output, policies, len(design.probabilities)), strict=True)
    }
    return pd.concat(parts, names=["policy", "output", None]).reset_index(["policy", "output"]).reset_index(drop=True)


def sensitivity_warnings(table: pd.DataFrame, section: schema.SensitivitySection) -> list[str]:
    """Return warnings about omitted blocks and uncertain Sobol indices.

    `table` is that of `sensitivity_table`. There is one warning per policy and output with omitted blocks (see
    `analyse`), and one for all Sobol indices whose intervals are too wide to rank parameters.
    """
    blocks, warnings = "Sobol samples" if section.method == "sobol" else "Morris trajectories", []
    for row in table.drop_duplicates(["policy", "output"]).to_dict("records"):
        if row["blocks_left_out"]:
            few = "; too few remain for an estimate" if np.isnan(row["value"]) else ""
            warnings.append(
                f"sensitivity of {row['output']} under {row['policy']} leaves out {row['blocks_left_out']:,} of "
                f"{section.samples:,} {blocks}, in which a run failed or lacks the output{few}"
            )
    half_width = (table["high"] - table["low"]) / 2
    if section.method == "sobol" and half_width.max() > _WIDE:
        widest = table.iloc[int(half_width.argmax())]
        outputs = table[half_width > _WIDE].drop_duplicates(["policy", "output"])
        warnings.append(
            f"sensitivity: {len(outputs):,} outputs have indices that are uncertain by more than {_WIDE:g}; the "
            f"widest is {widest['output']} under {widest['policy']} ({half_width.max():.2f}); use more samples"
        )
    return warnings
