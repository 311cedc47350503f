"""The tables of a stress test, computed from points and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reidsim.engine.batch.design import Design as BatchDesign
from reidsim.engine.batch.design import scenario_columns, sweep_points
from reidsim.engine.stress.discovery import find_boxes
from reidsim.engine.stress.outcomes import Outcomes
from reidsim.engine.stress.planning import belief_points
from reidsim.engine.stress.robustness import Floats, best_policies, regret
from reidsim.engine.stress.sensitivity import Design, analyse, are_numbers, numeric_columns
from reidsim.errors import locating
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.games.record_game import WITHHELD
from reidsim.games.robust import Criterion, RobustChoice
from reidsim.scenarios.design_schema import SweepSection, SweepValues, UncertaintySection
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.stress_schema import BeliefCurveSection, DiscoverySection, PolicyMapSection, SensitivitySection
from reidsim.scenarios.study import Study

PAYOFF = PUBLISHER_PAYOFF.column
# A Sobol index (between 0 and 1) with a larger half-width of its interval is too uncertain to rank parameters.
_WIDE = 0.2


def sensitivity_table(
    design: Design,
    outcomes: Outcomes,
    policies: tuple[str, ...],
    outputs: Sequence[str],
    section: SensitivitySection,
    seed: int,
) -> pd.DataFrame:
    """Return the sensitivity indices of every output under every policy.

    One row per output, policy, index and parameter: ``policy``, ``output``, and the columns of `analyse`. `seed` is the
    seed of the bootstrap.
    """
    parts = []
    for output in outputs:
        values = outcomes.matrix(output, policies, len(design.probabilities))
        for policy, runs in zip(policies, values, strict=True):
            indices = analyse(design, runs, seed=seed, confidence=section.confidence, resamples=section.resamples)
            indices.insert(0, "policy", policy)
            indices.insert(1, "output", output)
            parts.append(indices)
    return pd.concat(parts, ignore_index=True)


def sensitivity_warnings(table: pd.DataFrame, design: Design) -> list[str]:
    """Return warnings about omitted blocks and uncertain Sobol indices.

    There is one warning per policy and output with omitted blocks (see `analyse`), and one for all Sobol indices whose
    intervals are too wide to rank parameters.
    """
    blocks, warnings = "Sobol samples" if design.method == "sobol" else "Morris trajectories", []
    for row in table.drop_duplicates(["policy", "output"]).to_dict("records"):
        if row["blocks_left_out"]:
            few = "; too few remain for an estimate" if np.isnan(row["value"]) else ""
            warnings.append(
                f"sensitivity of {row['output']} under {row['policy']} leaves out {row['blocks_left_out']:,} of "
                f"{design.blocks:,} {blocks}, in which a run failed or lacks the output{few}"
            )
    half_width = (table["high"] - table["low"]) / 2
    if design.method == "sobol" and half_width.max() > _WIDE:
        widest = table.iloc[int(half_width.argmax())]
        outputs = table[half_width > _WIDE].drop_duplicates(["policy", "output"])
        warnings.append(
            f"sensitivity: {len(outputs):,} outputs have indices that are uncertain by more than {_WIDE:g}; the "
            f"widest is {widest['output']} under {widest['policy']} ({half_width.max():.2f}); use more samples"
        )
    return warnings


def sample_table(points: pd.DataFrame, outcomes: Outcomes, columns: Sequence[str]) -> pd.DataFrame:
    """Return the outputs of each policy at each point.

    There is one row per point and policy: ``point`` (row number in `points`, from 0), the point's value of each key
    path, ``policy`` and the outputs `columns`, which are missing if a run failed.
    """
    table = outcomes.table[["point", "policy", *columns]]
    values = scenario_columns(BatchDesign(points)).iloc[table["point"].to_numpy()].reset_index(drop=True)
    return pd.concat([table[["point"]], values, table[["policy", *columns]]], axis=1)


def regret_table(points: pd.DataFrame, policies: tuple[str, ...], payoffs: Floats) -> pd.DataFrame:
    """Return payoff and regret of each policy at each point.

    Parameters
    ----------
    points : DataFrame
    policies : tuple of str
    payoffs : ndarray of float64, shape (n_policies, n_points)
        Publisher's payoff per record; NaN if a run failed.

    Returns
    -------
    DataFrame
        One row per point and policy: ``point`` (row number in `points`, from 0), the point's value of each key path,
        ``policy``, ``publisher_payoff``, ``regret`` (the highest payoff at the point minus the policy's) and ``best``
        (whether the policy has the highest payoff; of ties, only the first policy). At points where a payoff is
        missing, ``regret`` is missing and ``best`` False for all policies.
    """
    best, _ = best_policies(payoffs)
    at = np.repeat(np.arange(len(points)), len(policies))
    values = scenario_columns(BatchDesign(points)).iloc[at].reset_index(drop=True)
    found = {
        "policy": list(policies) * len(points),
        PAYOFF: payoffs.T.ravel(),
        "regret": regret(payoffs).T.ravel(),
        "best": (best[:, None] == np.arange(len(policies))).ravel(),
    }
    return pd.concat([pd.DataFrame({"point": at}), values, pd.DataFrame(found)], axis=1)


def strategy_table(kind: Kind, study: Study[Any], choices: Mapping[Criterion, RobustChoice]) -> pd.DataFrame:
    """Return the robust strategy of every record.

    Returns
    -------
    DataFrame
        One row per criterion and record: ``record`` (number, from 0), ``criterion``, ``strategy`` (its description;
        ``withheld`` if the record is not shared) and ``value``, the value of the criterion in currency units: the worst
        payoff over the points, their quantile, or the largest regret; see `RobustChoice`.
    """
    parts, space, rows = [], study.world(0).truth.space, kind.row_of_record(study, 0)
    for criterion, robust in choices.items():
        distinct, cells = np.unique(robust.choice.strategies, return_inverse=True)
        names = ["withheld" if number == WITHHELD else space.describe(number) for number in distinct.tolist()]
        parts.append(
            pd.DataFrame(
                {
                    "record": np.arange(len(rows)),
                    "criterion": criterion,
                    "strategy": np.array(names, dtype=object)[cells][rows],
                    "value": robust.value[rows],
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    return table.assign(criterion=table["criterion"].astype("category"), strategy=table["strategy"].astype("category"))


def box_table(
    points: pd.DataFrame,
    uncertainty: UncertaintySection,
    outcomes: Outcomes,
    policies: tuple[str, ...],
    section: DiscoverySection,
) -> pd.DataFrame:
    """Return each policy's boxes of parameter values in which an output is bad.

    A point is bad if the output is below `section.below` or, if that is not set, above `section.above`. Points without
    the output are ignored.

    Returns
    -------
    DataFrame
        One row per policy, box and parameter that bounds the box: ``policy``, ``output``, ``share_bad`` (share of bad
        points among the points that have the output), and the columns of `find_boxes`. A policy without a box has one
        row, with box 0, an empty ``parameter`` and missing numbers.
    """
    names, numbers = numeric_columns(points, uncertainty)
    parts = []
    for policy, values in zip(policies, outcomes.matrix(section.output, policies, len(points)), strict=True):
        known = np.isfinite(values)
        with np.errstate(invalid="ignore"):
            bad = values < section.below if section.below is not None else values > section.above
        boxes = find_boxes(
            names, numbers[known], bad[known], restrictions=section.restrictions, smallest=section.smallest
        )
        if boxes.empty:
            nothing = {"box": 0, "parameter": "", "low": np.nan, "high": np.nan}
            boxes = pd.DataFrame([{**nothing, "coverage": np.nan, "density": np.nan, "share_of_points": np.nan}])
        boxes.insert(0, "policy", policy)
        boxes.insert(1, "output", section.output)
        boxes.insert(2, "share_bad", float(bad[known].mean()) if known.any() else np.nan)
        parts.append(boxes)
    return pd.concat(parts, ignore_index=True)


def curve_table(
    key: str, believed_key: str | None, points: pd.DataFrame, outcomes: Outcomes, columns: Sequence[str]
) -> pd.DataFrame:
    """Return the outputs of policies by true and believed value of one parameter.

    Policies are planned with the believed value; outputs hold under the true one. The two may be equal.

    Returns
    -------
    DataFrame
        One row per true value, believed value and policy: ``key`` (key path of the parameter), ``true``, ``believed``,
        ``error`` (believed minus true; missing if one of them is not a number), ``policy`` and the outputs `columns`.
    """
    table = outcomes.table
    at = table["point"].to_numpy()
    true, believed = points[key].to_numpy()[at], points[believed_key].to_numpy()[at]
    error = [float(b - t) if are_numbers((b, t)) else np.nan for t, b in zip(true, believed, strict=True)]
    about = {"key": key, "true": true, "believed": believed, "error": error, "policy": table["policy"]}
    return pd.DataFrame({**about, **{column: table[column] for column in columns}})


def curve_points(scenario: ScenarioHead, curves: Sequence[BeliefCurveSection]) -> list[tuple[str, pd.DataFrame]]:
    """Return the key and the points of every belief curve; see `belief_points`.

    Raises
    ------
    InputError
        If the scenario has no belief about a key; the message names the curve.
    """
    drawn = []
    for number, curve in enumerate(curves):
        with locating(where=f"stress.beliefs[{number}]"):
            points = belief_points(
                scenario, curve.key, _values(curve.key, curve.true), _values(curve.key, curve.believed)
            )
        drawn.append((curve.key, points))
    return drawn


def map_table(
    section: PolicyMapSection, points: pd.DataFrame, policies: tuple[str, ...], payoffs: Floats
) -> pd.DataFrame:
    """Return the best policy at each point of a grid over two parameters.

    Returns
    -------
    DataFrame
        One row per point: ``x`` and ``y`` (the values of the parameters), ``best`` (the policy; the first of ties), its
        ``publisher_payoff`` per record, and ``margin``, the difference to the payoff of the second-best policy (0 for
        ties, missing with a single policy). If a payoff is missing at a point, ``best`` is empty and the last two
        columns are missing.
    """
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


def _values(key: str, values: SweepValues | None) -> list[Any] | None:
    return None if values is None else sweep_points(SweepSection(values={key: values}))[key].tolist()


def numbers_or_text(values: Sequence[Any]) -> list[float] | list[str]:
    """Return the values as numbers if all of them are numbers, else as text."""
    if are_numbers(values):
        return [float(value) for value in values]
    return [str(value) for value in values]
