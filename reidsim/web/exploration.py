"""Solve a scenario under the values set on the page; play rounds of its agents."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd

from reidsim.core.errors import InputError
from reidsim.core.validation import override, validated_after, value_if_any
from reidsim.engine.batch.design import at_point, data_key
from reidsim.engine.results import RunResult
from reidsim.engine.single_run import run_once
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.decision import mean_payoffs
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.file import releases_of
from reidsim.reports.writer import render
from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.kind import HOUSEHOLD, PERSON, Value, kind_of, unit_sentence
from reidsim.scenarios.scenario import Scenario, Study
from reidsim.scenarios.schema import RECORD_COLUMNS, ScenarioHead

FORMS = ("as it is", "generalized", "suppressed", "withheld")


@dataclass(frozen=True, eq=False)
class Explored:
    """The result of a scenario under a set of values that a user sets on the page.

    Parameters
    ----------
    result : RunResult
        Result of a single run.
    problem : str
        Error message if the values cannot be used; the result is then that of the scenario's own values, without
        rounds. Empty otherwise.
    """

    result: RunResult
    problem: str = ""

    @property
    def content(self) -> Mapping[str, Any]:
        """The scenario of the result, as plain data."""
        return self.result.manifest["content"]  # type: ignore[no-any-return]

    @cached_property
    def measures(self) -> pd.DataFrame:
        """Table of measures, one row per policy in the scenario's order.

        With agents, measures are means over rounds.
        """
        return self.result.summary

    @property
    def attributes(self) -> list[str]:
        """Names of the columns with released quasi-identifiers in the result's records."""
        # Without keys for persons and households, columns with these names are ordinary attributes.
        named = {"person", "household"} & set(self.content.get("release", {}))
        others = (*RECORD_COLUMNS, PERSON, HOUSEHOLD) if named else RECORD_COLUMNS
        return [column for column in self.result.records.columns if column not in others]

    @property
    def rounds(self) -> pd.DataFrame | None:
        """Table of measures by draw, policy and round; None if no rounds were played."""
        return self.result.analysis.tables().get("rounds")


def read_back_html(shown: Explored) -> str:
    """Return the HTML of the recommended release and its read-back check.

    It begins with the sentence of the report that states what counts as one unit, records or people. If the records
    cannot be released, the HTML shows the problem instead. It is empty if the records do not come from a file, or the
    result has no policies.
    """
    run = StoredRun.from_result(shown.result)
    try:
        releases = releases_of(run)
    except InputError as error:
        return render("read_back", {"problem": str(error)})
    if releases is None or shown.measures.empty:
        return ""
    context = {"problem": "", "releases": releases, "unit": run.units[0], "kind": ""}
    return render("read_back", context | {"unit_sentence": unit_sentence(run.manifest), "payoffs": mean_payoffs(run)})


class Explorer:
    """Solve one scenario repeatedly under different values.

    Data that do not depend on the values are read once.

    Parameters
    ----------
    loaded : Scenario
        Scenario to solve; ``[figures]``, the experimental design and replications are ignored.
    """

    def __init__(self, loaded: Scenario[ScenarioHead]) -> None:
        self.loaded = loaded
        agents = getattr(loaded.scenario, "agents", None)
        # Number of rounds that the scenario's agents play; 0 without agents.
        self.n_rounds = 0 if agents is None else int(agents.rounds)
        self._kept: tuple[str, Study[Any]] | None = None
        # The page calls the explorer from several threads.
        self._lock = threading.Lock()

    def solve(self, values: Mapping[str, Value], *, with_rounds: bool = False) -> Explored:
        """Return the result of the game, or of all rounds, under a set of values.

        The game is solved once, or the scenario's agents play all rounds. `values` are by scenario key; see `changed`.
        Rounds are played if `with_rounds` is true and the scenario has agents. If the values cannot be used, the result
        has the error message; see `Explored`.
        """
        with self._lock:
            try:
                loaded = changed(self.loaded, values)
                return Explored(self._run(loaded if with_rounds else one_game(loaded)))
            except InputError as error:
                return Explored(self._run(one_game(at_point(self.loaded, {}))), str(error))

    def _run(self, shown: Scenario[ScenarioHead]) -> RunResult:
        key = data_key(shown)
        if self._kept is None or self._kept[0] != key:
            self._kept = key, kind_of(shown.scenario).build(shown)
        return run_once(shown, study=self._kept[1].with_loaded(shown))


def changed(loaded: Scenario[ScenarioHead], values: Mapping[str, Value]) -> Scenario[ScenarioHead]:
    """Return a scenario with changed values, as a single run without figures.

    It is a copy without the sections that `at_point` removes, such as the sweep. `values` are by key path, such as
    ``economics.loss``; a key whose value is None is removed from the scenario.

    Raises
    ------
    InputError
        If a value is not allowed, or the values are inconsistent.
    """
    content = deepcopy(at_point(loaded, {}).content)
    # Remove keys without a value, so that the scenario uses the key or default that replaces them.
    stated = {key: value for key, value in values.items() if value is not None}
    override(content, stated)
    for key in values.keys() - stated.keys():
        section, _, last = key.rpartition(".")
        value_if_any(content, section, {}).pop(last, None)
    scenario = validated_after(stated, type(loaded.scenario), content, loaded.path)
    return replace(loaded, scenario=scenario, content=content)


def one_game(loaded: Scenario[ScenarioHead]) -> Scenario[ScenarioHead]:
    """Return a scenario without rounds, or with a single one if rounds are required.

    It is a copy. One round is required if named adversaries set keys about resources, budgets or accuracy
    (`are_equipped`), or if all of them attack together, because only rounds define such adversaries. In this round,
    nobody decides on participation or learns, and outcomes are expected values.
    """
    agents, scenario = loaded.content.get("agents"), cast("Any", loaded.scenario)
    # The weights of adversaries that attack together may not sum to 1, as those of a single adversary do.
    together = agents is not None and bool(getattr(scenario, "adversaries", None)) and scenario.agents.together == "all"
    if agents is None or not (together or are_equipped(scenario)):
        return loaded.with_content({key: value for key, value in loaded.content.items() if key != "agents"})
    kept = {key: value for key, value in agents.items() if key not in ("participation", "learning")}
    return loaded.with_content({**loaded.content, "agents": {**kept, "rounds": 1, "mode": "expectation", "draws": 1}})


def form_shares(records: pd.DataFrame, attributes: list[str], policy: str) -> pd.DataFrame:
    """Return the share of records by form of release, for each attribute.

    The records are released under a policy.

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, as in a results folder.
    attributes : list of str
        Columns of the released quasi-identifiers, in the order of the strategies' levels.
    policy : str
        Name of the policy.

    Returns
    -------
    DataFrame
        Index: attribute. One column for each of `FORMS`: share of the records whose value of the attribute is released
        unchanged, generalized, suppressed or not released because the record is withheld; each row sums to 1.
    """
    chosen = records[records["policy"] == policy]
    strategies, shares = chosen["strategy"].astype(str), {}
    parts = {strategy: strategy.split(",") for strategy in strategies.unique()}
    for at, attribute in enumerate(attributes):
        # A strategy is a level of each attribute, or names the masked attributes.
        unchanged = {
            strategy: levels[at] == "0" if all(map(str.isdigit, levels)) else f" {attribute}~" not in f" {strategy}"
            for strategy, levels in parts.items()
        }
        is_suppressed = chosen[attribute].isna() | (chosen[attribute].astype(str) == SUPPRESSED)
        conditions = [strategies == "withheld", is_suppressed, strategies.map(unchanged).astype(bool)]
        forms = np.select(conditions, ["withheld", "suppressed", "as it is"], "generalized")
        shares[attribute] = pd.Series(forms).value_counts(normalize=True)
    return pd.DataFrame(shares, index=list(FORMS)).T.fillna(0.0)


# Explorer of the scenario that the server offers.
_offered: list[Explorer] = []


def offer(loaded: Scenario[ScenarioHead]) -> None:
    """Set the scenario to show, and start to solve it before the page is opened.

    The scenario is solved in a background thread. It replaces a scenario that was set before.
    """
    _offered[:] = [Explorer(loaded)]
    threading.Thread(target=_offered[0].solve, args=({},), daemon=True).start()


def offered() -> Explorer:
    """Return the explorer of the scenario to show.

    Raises
    ------
    InputError
        If `offer` was not called: only `reidsim serve` can open the page.
    """
    if not _offered:
        raise InputError("no scenario is served", expected="a server started with reidsim serve SCENARIO")
    return _offered[0]
