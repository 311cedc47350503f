"""The masking game while one key of its scenario changes: sensitivity, and robustness of beliefs."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pandas as pd

from reidsim.errors import InputError
from reidsim.experiments.masking_policies import play_policies, summarise
from reidsim.kinds.masking.schema import MaskingLine, MaskingScenario
from reidsim.kinds.masking.study import build_masking_study
from reidsim.overrides import override, validated_after
from reidsim.scenarios.load import LoadedScenario

# Measures that lines are drawn of.
LINE_MEASURES = ("publisher_payoff", "utility", "risk", "usefulness", "usefulness_fairness")

Progress = Callable[[int, int], None]


def line_table(loaded: LoadedScenario[MaskingScenario], progress: Progress | None = None) -> pd.DataFrame:
    """Play every policy at each value of the lines that a scenario asks for (Wan et al. 2021, Figs. 4 to 6).

    Every value has the same draws of targets and resources, as far as it leaves them alone: differences between values
    are not differences between draws.

    Returns
    -------
    DataFrame
        One row per line, value, replication and policy: ``line`` (its title), ``value`` (as text), ``replication``,
        ``policy`` and `LINE_MEASURES`.

    Raises
    ------
    InputError
        If a key does not exist or cannot have a value; before anything is played.
    """
    points = line_points(loaded)
    total = sum(point.scenario.replications for _, _, point in points)
    rows, done = [], 0
    for line, label, point in points:
        study = build_masking_study(point)
        for replication in range(point.scenario.replications):
            if progress is not None:
                progress(done, total)
            truth, _ = study.games(replication)
            equilibria = play_policies(study, replication)
            summary = summarise(study, truth, equilibria)[list(LINE_MEASURES)].reset_index()
            rows.append(summary.assign(line=line.title or line.key, value=label, replication=replication))
            done += 1
    if not rows:
        return pd.DataFrame()
    table = pd.concat(rows, ignore_index=True)
    return table[["line", "value", "replication", "policy", *LINE_MEASURES]]


def line_points(
    loaded: LoadedScenario[MaskingScenario],
) -> list[tuple[MaskingLine, str, LoadedScenario[MaskingScenario]]]:
    """Return the scenario at every value of every line, with the line and what the value is called.

    Raises
    ------
    InputError
        If a key does not exist or cannot have a value.
    """
    return [
        (line, label, changed(loaded, line, value, f"analysis.lines[{number}]"))
        for number, line in enumerate(loaded.scenario.analysis.lines)
        for value, label in zip(line.values, line.names, strict=True)
    ]


def changed(
    loaded: LoadedScenario[MaskingScenario], line: MaskingLine, value: object, where: str
) -> LoadedScenario[MaskingScenario]:
    """Return the scenario at one value of a line, without any analysis of its own.

    Raises
    ------
    InputError
        If the key does not exist or cannot have the value; names the line and the key.
    """
    content = deepcopy(loaded.content)
    content.pop("analysis", None)
    changes = {**line.set, line.key: value, "replications": line.replications}
    try:
        override(content, changes)
        scenario = validated_after(changes, MaskingScenario, content, loaded.path)
    except InputError as error:
        raise InputError(
            error.problem,
            source=loaded.path,
            where=f"{where}: {error.where}" if error.where else where,
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        ) from None
    return LoadedScenario(loaded.name, loaded.path, scenario, content)
