"""Draw the figures of results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from reidsim.core.errors import InputError
from reidsim.core.files import plain_name
from reidsim.engine.batch.statistics import BatchResult
from reidsim.engine.cross_play import CrossPlayResult
from reidsim.engine.results import Result, RunResult, measures_in_manifest
from reidsim.engine.score import AttributesResult
from reidsim.engine.single_run import AgentAnalysis
from reidsim.engine.stress.run import StressResult, outputs_among
from reidsim.engine.switch import SwitchResult
from reidsim.figures.maps import cross_play_maps, policy_map
from reidsim.figures.runs import (
    beliefs_by_round,
    figures_by_policy,
    found_through_resources,
    payoffs_by_policy,
    reidentified_by_policy,
    rounds_by_policy,
)
from reidsim.figures.studies import (
    attribute_shares,
    belief_curves,
    regret_curves,
    sensitivity_bars,
    sweep_figures,
    switch_lines,
)
from reidsim.figures.style import own_settings, policy_name, save_figure
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK
from reidsim.reports.study_tables import SHOWN
from reidsim.reports.verdict import broken_guarantee_sentences
from reidsim.scenarios.kind import kind_of_content


def illustrate(result: Result, folder: Path) -> list[str]:
    """Write the figures of a result to a folder.

    The folder is created if it does not exist.

    Returns
    -------
    list of str
        Names of the PNG files in the folder, in drawing order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[str, str] = {}
    with own_settings():
        for name, figure in figures_of(result):
            # Names may contain scenario keys or come from user-defined kinds, so they need plain file names.
            plain = plain_name(name, names)
            names[plain] = f"{plain}.png"
            save_figure(figure, folder / names[plain])
    return list(names.values())


def figures_of(result: Result) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of each figure that the tables of a result allow.

    The main figures come first. The figures depend on the type of the result, such as payoffs by policy for a run;
    other types have none.
    """
    if isinstance(result, CrossPlayResult):
        if not result.runs.empty:
            yield "cross-play", cross_play_maps(result.matrix(PUBLISHER_PAYOFF.column), result.matrix(RISK.column))
    elif isinstance(result, AttributesResult):
        yield "attributes", attribute_shares(result.table, SHOWN)
    elif isinstance(result, SwitchResult):
        bands = result.intervals[["low", "high", "policy"]]
        key = "loss and gain" if result.link_gain else result.key.removeprefix("economics.")
        yield "switch", switch_lines(result.lines, bands, parameter=key, own=result.own)
    elif isinstance(result, StressResult):
        yield from _stress_figures(result)
    elif isinstance(result, RunResult):
        yield from _run_figures(result)


@own_settings()
def plot(result: Result) -> Figure:
    """Draw the main figure of a result; the results folder has all figures.

    Parameters
    ----------
    result : Result
        Result of a run, batch, stress test, cross-play or another study.

    Returns
    -------
    Figure
        For a single run of policies, payoffs by policy. For cross-play, payoff and risk of every defender against every
        adversary. For batches and other results, the first of `figures_of`; for a sweep, this is the payoff along the
        swept key.

    Raises
    ------
    InputError
        If there is nothing to draw.

    See Also
    --------
    RunResult : result of a run.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55], "sex": ["F", "F", "M", "M"]})
    >>> figure = reidsim.plot(reidsim.new(patients).run())
    >>> len(figure.axes) > 0
    True
    """
    run = result if isinstance(result, RunResult) and {"policy", PUBLISHER_PAYOFF.column} <= set(result.runs) else None
    if run is None or isinstance(run, BatchResult):
        for _, figure in figures_of(result):
            return figure
    if run is None:
        raise InputError("the result has no payoffs to draw", source=result.name, expected="payoffs of policies")
    return payoffs_by_policy(run.summary.reset_index(), run.measures)


def _run_figures(result: RunResult) -> Iterator[tuple[str, Figure]]:
    kind = kind_of_content(result.manifest["content"])
    if isinstance(result, BatchResult):
        swept = kind.figures(result, of_batch=True)
        yield from sweep_figures(result) if swept is None else swept
    elif isinstance(result.analysis, AgentAnalysis):
        payoff = next(each.label for each in result.measures if each.column == PUBLISHER_PAYOFF.column)
        yield from _agent_figures(result.analysis, payoff)
    else:
        yield from figures_by_policy(result)
        yield from kind.figures(result) or ()


def _agent_figures(analysis: AgentAnalysis, payoff: str) -> Iterator[tuple[str, Figure]]:
    yield "waves" if "wave" in analysis.rounds else "rounds", rounds_by_policy(analysis.rounds)
    learned = analysis.adversaries.groupby(["policy", "adversary"], observed=True)["belief"].nunique()
    if (learned > 1).any():
        yield "beliefs", beliefs_by_round(analysis.adversaries)
    if len(analysis.through["through"].unique()) > 1:
        note = broken_guarantee_sentences(analysis.broken_guarantees, policy_name, payoff)
        yield "through", found_through_resources(analysis.through, analysis.rounds, note)
    if len(analysis.reidentified):
        yield "reidentified", reidentified_by_policy(analysis.reidentified)


def _stress_figures(result: StressResult) -> Iterator[tuple[str, Figure]]:
    tables = {name: table for name, table in result.tables.items() if len(table)}
    measures = {measure.column: measure for measure in outputs_among(measures_in_manifest(result.manifest))}
    if "sensitivity" in tables and tables["sensitivity"]["value"].notna().any():
        yield "sensitivity", sensitivity_bars(tables["sensitivity"], measures)
    if "regrets" in tables and tables["regrets"]["regret"].notna().any():
        yield "regrets", regret_curves(tables["regrets"])
    if "belief_curves" in tables:
        for number, (_, rows) in enumerate(tables["belief_curves"].groupby("key", sort=False, observed=True), start=1):
            own = rows.dropna(subset=["error", "publisher_payoff"])
            if len(own):
                yield f"beliefs-{number}", belief_curves(own, measures[PUBLISHER_PAYOFF.column])
    if "policy_map" in tables:
        chart = tables["policy_map"]
        is_numeric = all(pd.api.types.is_numeric_dtype(chart[axis]) for axis in ("x", "y"))
        if is_numeric and chart[["x", "y"]].nunique().min() > 1:
            section = result.manifest["content"]["stress"]["map"]
            yield "policy-map", policy_map(chart, section["x"]["key"], section["y"]["key"])
