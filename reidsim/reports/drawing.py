"""Draw the figures of results; load results from their folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reidsim.core.errors import InputError, not_among, refuse_first, require_among, writing
from reidsim.core.files import plain_name
from reidsim.core.wording import counted
from reidsim.engine.attributes import AttributesResult
from reidsim.engine.batch.statistics import BatchResult
from reidsim.engine.cross_play import CrossPlayResult
from reidsim.engine.red_team import AttackResult
from reidsim.engine.results import Result, RunResult, measures_in_manifest, without_folder
from reidsim.engine.score import ScoreResult
from reidsim.engine.stress.run import StressResult, outputs_among
from reidsim.engine.switch import SwitchResult
from reidsim.figures import maps, runs, studies, sweeps
from reidsim.figures.style import FORMATS, drawing_into, name_unit, own_settings, policy_name, save_figure
from reidsim.games.outcomes import PUBLISHER_PAYOFF, RISK
from reidsim.reports.page.sources import COMPLETE_FOLDER, open_folder
from reidsim.reports.study_tables import SHOWN
from reidsim.reports.verdict import broken_guarantee_sentences
from reidsim.scenarios.kind import AnalysisTables, counted_units, kind_of_content

_RESULTS = (
    *(RunResult, BatchResult, CrossPlayResult, StressResult),
    *(SwitchResult, AttributesResult, ScoreResult, AttackResult),
)


def illustrate(result: Result, folder: Path, ending: str = ".png") -> list[str]:
    """Write the figures of a result to a folder.

    The folder is created if it does not exist and there is a figure.

    Returns
    -------
    list of str
        Names of the files in the folder, in drawing order. All end in `ending`, one of `FORMATS`.
    """
    names: dict[str, str] = {}
    with own_settings():
        for name, figure in figures_of(result):
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)
            # Names may contain scenario keys or come from user-defined kinds, so they need plain file names.
            plain = plain_name(name, names)
            names[plain] = f"{plain}{ending}"
            save_figure(figure, folder / names[plain])
    return list(names.values())


def figures_of(result: Result) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of each figure that the tables of a result allow.

    The main figures come first. The figures depend on the type of the result, such as payoffs by policy for a run;
    other types have none.
    """
    unit, _ = counted_units(result.manifest.get("content", {}))
    return ((name, name_unit(figure, unit)) for name, figure in _figures_by_record(result))


def _figures_by_record(result: Result) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of `figures_of`, with labels in which records are the unit."""
    if isinstance(result, CrossPlayResult):
        if not result.runs.empty:
            payoffs, risks = (result.matrix(measure.column) for measure in (PUBLISHER_PAYOFF, RISK))
            yield "cross-play", maps.cross_play_maps(payoffs, risks)
    elif isinstance(result, AttributesResult):
        yield "attributes", studies.attribute_shares(result.table, SHOWN)
    elif isinstance(result, SwitchResult):
        bands = result.intervals[["low", "high", "policy"]]
        key = "loss and gain" if result.link_gain else result.key.removeprefix("economics.")
        yield "switch", studies.switch_lines(result.lines, bands, parameter=key, own=result.own)
    elif isinstance(result, StressResult):
        yield from _stress_figures(result)
    elif isinstance(result, ScoreResult):
        yield "payoffs", runs.payoffs_by_policy(result.summary.reset_index(), result.measures.values())
        yield from runs.risk_utility_maps(result.summary)
    elif isinstance(result, AttackResult):
        if len(result.reliability):
            yield "reliability", studies.reliability_diagram(result.reliability)
    elif isinstance(result, BatchResult):
        swept = kind_of_content(result.manifest["content"]).figures(result, of_batch=True)
        yield from sweeps.sweep_figures(result) if swept is None else swept
    elif isinstance(result, RunResult) and "rounds" in result.analysis.tables():
        payoff = next(each.label for each in result.measures if each.column == PUBLISHER_PAYOFF.column)
        yield from _agent_figures(result.analysis, payoff)
    elif isinstance(result, RunResult):
        yield from runs.figures_by_policy(result)
        yield from kind_of_content(result.manifest["content"]).figures(result) or ()


def figure_names(result: Result) -> tuple[str, ...]:
    """Return the names of all figures of a result, main figures first."""
    with own_settings():
        return tuple(name for name, _ in _drawable(result))


def plot(result: Result, name: str | None = None, *, ax: Axes | None = None) -> Figure:
    """Draw a figure of a result.

    Parameters
    ----------
    result : Result
        Result of a run, batch, stress test, cross-play or another study.
    name : str, optional
        One of `Result.figures`. By default, the main figure: for a single run of policies, payoffs by policy; for
        cross-play, payoff and risk of every defender against every adversary; for batches and other results, the first
        figure, which is the payoff along the swept key for a sweep, or payoffs by policy if there is no other figure.
    ax : Axes, optional
        Axes of matplotlib to draw into; a new figure if not given. Only for figures with a single panel and no colour
        bar.

    Returns
    -------
    Figure
        The figure; with `ax`, the figure of the axes.

    Raises
    ------
    InputError
        If there is nothing to draw, the result has no figure of this name, or the figure does not fit into `ax`.

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
    with own_settings():
        names = list[str]()
        for found, figure in _drawable(result):
            if name in (None, found):
                return figure if ax is None else _drawn_into(ax, _drawable(result), len(names), figure)
            names.append(found)
    if not names:
        raise InputError("the result has no payoffs to draw", source=result.name, expected="payoffs of policies")
    raise not_among("the result has no such figure", name, names, source=result.name, where="name", shown=len(names))


def _drawable(result: Result) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of each figure that `plot` draws, the main figure first.

    They are those of `figures_of`, after the payoffs by policy for rounds; for runs without other figures, the payoffs.
    """
    tables = result.analysis.tables() if isinstance(result, RunResult) else {}
    figures, is_batch = figures_of(result), isinstance(result, BatchResult)
    first = None if "rounds" in tables and not is_batch else next(figures, None)
    if first is not None:
        yield first
    elif isinstance(result, RunResult) and {"policy", PUBLISHER_PAYOFF.column} <= set(result.runs):
        drawn = runs.payoffs_by_policy(result.runs, result.measures, by=result.by)
        yield "payoffs", name_unit(drawn, counted_units(result.manifest.get("content", {}))[0])
    yield from figures


def _drawn_into(ax: Axes, figures: Iterator[tuple[str, Figure]], number: int, alone: Figure) -> Figure:
    """Draw one of several figures into given axes; return the figure of the axes.

    Iterators draw a figure when they reach it, so that only this step of `figures` draws into `ax`.

    Parameters
    ----------
    ax : Axes
    figures : iterator of tuple
        Names and figures.
    number : int
        Number of the figure, from 0.
    alone : Figure
        The same figure, drawn by itself.

    Raises
    ------
    InputError
        If the figure has several axes, or a user-defined kind does not draw it with `new_figure`.
    """
    if not isinstance(ax, Axes):
        raise InputError("not axes", where="ax", found=ax, expected="axes of matplotlib")
    if len(alone.axes) != 1:
        found, expected = counted(len(alone.axes), "panel or colour bar", "panels and colour bars"), "one panel"
        raise InputError("the figure does not fit into one panel", where="ax", found=found, expected=expected)
    for _ in range(number):
        next(figures)
    with drawing_into(ax):
        drawn = next(figures)[1]
    if drawn is not ax.figure:
        raise InputError("the figure is not drawn by reidsim", where="ax", expected="no axes for this figure")
    return drawn


def write_figure(result: Result, path: Path, name: str | None = None) -> Path:
    """Write a figure of a result to a file; see `Result.save_figure`."""
    require_among("not a format of figures", [path.suffix], FORMATS, source=path)
    save_figure(plot(result, name), path)
    return path


def load_result(folder: str | Path) -> Result:
    """Return the result that a results folder holds.

    Nothing is run, and no code that the scenario names is imported.

    Parameters
    ----------
    folder : str or Path
        Results folder of a run, rounds, batch, cross-play, stress test, or another study that writes a folder.

    Returns
    -------
    Result
        Of the class that was saved, with equal tables: a `RunResult` of a run or of rounds, a `BatchResult` of a batch.

    Raises
    ------
    InputError
        If the folder is not a results folder, contains links, is incomplete, or has a manifest or table that cannot be
        used.

    See Also
    --------
    RunResult : result of a run, with its method ``save``.
    report : write the report of a folder.

    Examples
    --------
    >>> import reidsim
    >>> folder = reidsim.run("wan2015").save("results")
    >>> reidsim.load_result("results")
    RunResult('wan2015': safe-harbor, basic, sh-friendly, no-attack)
    """
    is_path, expected = isinstance(folder, str | os.PathLike), "the path of a results folder"
    refuse_first((not is_path, "wrong type", None, folder, expected), source="load_result: argument 'folder'")
    stored = open_folder(Path(folder))
    manifest, warnings = without_folder(stored.manifest), tuple(map(str, stored.manifest.get("warnings", ())))
    try:
        facts = stored.manifest["result"]
        restored = {each.__name__: each for each in _RESULTS}[facts["type"]].restored
        for name in facts["tables"]:
            if name not in stored.tables:
                raise InputError(f"{name}.parquet missing", source=stored.folder, expected=COMPLETE_FOLDER)
        tables = {name: stored.table(name) for name in facts["tables"]}
        return restored(tables, facts, {"name": stored.name, "manifest": manifest, "warnings": warnings})
    except InputError:
        raise
    except (KeyError, TypeError, ValueError):
        source, expected = stored.folder / "manifest.json", "a manifest written by reidsim"
        raise InputError("not the manifest of a result", source=source, where="result", expected=expected) from None


def _agent_figures(analysis: AnalysisTables, payoff: str) -> Iterator[tuple[str, Figure]]:
    yield "waves" if "wave" in analysis.rounds else "rounds", runs.rounds_by_policy(analysis.rounds)
    learned = analysis.adversaries.groupby(["policy", "adversary"], observed=True)["belief"].nunique()
    if (learned > 1).any():
        yield "beliefs", runs.beliefs_by_round(analysis.adversaries)
    # If nobody attacks, table `through` has no rows, and empty tables are not saved.
    tables = analysis.tables()
    if "through" in tables and len(tables["through"]["through"].unique()) > 1:
        note = broken_guarantee_sentences(tables.get("broken_guarantees", pd.DataFrame()), policy_name, payoff)
        yield "through", runs.found_through_resources(tables["through"], analysis.rounds, note)
    if "reidentified" in tables:
        yield "reidentified", runs.reidentified_by_policy(analysis.reidentified)


def _stress_figures(result: StressResult) -> Iterator[tuple[str, Figure]]:
    tables = {name: table for name, table in result.tables.items() if len(table)}
    measures = {measure.column: measure for measure in outputs_among(measures_in_manifest(result.manifest))}
    if "sensitivity" in tables and tables["sensitivity"]["value"].notna().any():
        yield "sensitivity", studies.sensitivity_dots(tables["sensitivity"], measures)
    if "tornado" in tables and tables["tornado"]["swing"].notna().any():
        yield "tornado", studies.tornado_bars(tables["tornado"], measures)
    if "regrets" in tables and tables["regrets"]["regret"].notna().any():
        yield "regrets", studies.regret_ranges(tables["regrets"])
    if "belief_curves" in tables:
        for number, (_, rows) in enumerate(tables["belief_curves"].groupby("key", sort=False, observed=True), start=1):
            own = rows.dropna(subset=["error", "publisher_payoff"])
            if len(own):
                yield f"beliefs-{number}", studies.belief_curves(own, measures[PUBLISHER_PAYOFF.column])
    if "policy_map" in tables:
        chart = tables["policy_map"]
        is_numeric = all(pd.api.types.is_numeric_dtype(chart[axis]) for axis in ("x", "y"))
        if is_numeric and chart[["x", "y"]].nunique().min() > 1:
            section = result.manifest["content"]["stress"]["map"]
            yield "policy-map", maps.policy_map(chart, section["x"]["key"], section["y"]["key"])
