"""Run a scenario of any kind once, at its own values.

A scenario with agents is run in rounds of publisher, data subjects and adversaries. Each policy is played in its own
simulation. All policies have the same random draws.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.agents.attack import (
    BREACHES,
    DISTINCT,
    PARTICIPATION,
    RISK_QUANTILES,
    RUN_MEASURES,
    round_columns,
    weighted_quantiles,
)
from reidsim.agents.profile import AdversaryProfile, Holdings, Setting
from reidsim.core.errors import listed, locating
from reidsim.core.wording import columns_of, counted
from reidsim.engine.results import (
    RunResult,
    begun,
    common_fields,
    quantile_rows,
    quantiles_of_people,
    release_file_facts,
    run_table,
)
from reidsim.games.outcomes import (
    MEASURES,
    PUBLISHER_PAYOFF,
    RISK,
    SHARE_ATTACKED,
    UTILITY,
    Equilibrium,
    Reidentified,
    distribution_table,
    measures_table,
    mixed,
    own_measures,
)
from reidsim.scenarios.kind import (
    PERSON,
    AnalysisTables,
    Played,
    PolicyOutcome,
    Progress,
    RecordTable,
    equilibria_of,
    kind_of,
)
from reidsim.scenarios.scenario import Scenario, Study
from reidsim.scenarios.schema import HISTORY_COLUMNS

# Measures of `broken_guarantees`.
_OF_GUARANTEES = columns_of((PUBLISHER_PAYOFF, UTILITY, PARTICIPATION, SHARE_ATTACKED, BREACHES, DISTINCT))
# Measures that are quantiles over the records of all rounds, taken together.
_RISKS = {column: RISK_QUANTILES[column] for column in columns_of(RUN_MEASURES) if column in RISK_QUANTILES}
_PLACE = ["replication", "draw", "policy", "round", "adversary"]


class PlayedPolicy(NamedTuple):
    """Outcomes of all rounds of a policy in one draw.

    Attributes
    ----------
    policy : str
    tables : dict of str to DataFrame
        Tables ``rounds``, ``adversaries``, ``through`` and ``counterfeits`` of this draw and policy; see
        `analysis_of`.
    last : Equilibrium
        Outcome of the last round.
    participants : ndarray of bool, shape (n_subjects,)
        Whether each subject took part in the last round.
    people : Reidentified
        Distribution of the number of people re-identified in a round; rounds are equally likely.
    outcomes : dict of str to ndarray of float64, shape (n_rounds * n_cells,)
        Outcomes of the records of each cell (records that the games do not distinguish), in every round, by column.
    shared : ndarray of int64, shape (n_rounds * n_cells,)
        Number of exposed records of each cell in every round: records of participants, and of subjects who left after
        an earlier release.
    bought : dict of str to frozenset of str
        Resources that each adversary bought in any round, by name of the adversary.
    row_of_subject : ndarray of int, shape (n_subjects,), optional
        Row of each subject in `last`, if the rows differ from the study's rows.
    history : tuple of ndarray, optional
        Rounds in which each subject took part, and in which its record was released; see `Memory.history`.
    """

    policy: str
    tables: dict[str, pd.DataFrame]
    last: Equilibrium
    participants: NDArray[np.bool_]
    people: Reidentified
    outcomes: dict[str, NDArray[np.float64]]
    shared: NDArray[np.int64]
    bought: dict[str, Holdings]
    row_of_subject: NDArray[np.intp] | None = None
    history: tuple[NDArray[np.object_], NDArray[np.object_]] | None = None

    @property
    def is_attacked(self) -> bool:
        """Whether a record was attacked in any round."""
        return bool(self.tables["rounds"][SHARE_ATTACKED.column].any())


def play_policy(setting: Setting, policy: str, *, replication: int = 0, draw: int = 0) -> PlayedPolicy:
    """Return a `PlayedPolicy`: the outcomes of all rounds of a policy.

    Parameters
    ----------
    setting : Setting
        Subjects, adversaries, rounds and payoff parameters.
    policy : str
        Name of the policy.
    replication, draw : int
        Number of the draw of the records, and number of the repetition of all rounds on these records; only labels in
        the tables, because `setting` already belongs to this draw.
    """
    # Imported here because mesa is slow to import and not needed elsewhere.
    from reidsim.agents.model import ADVERSARIES, THROUGH, ReidentificationModel

    model = ReidentificationModel(setting, policy).run()
    place: dict[str, Any] = {"replication": replication, "draw": draw, "policy": policy}
    rounds, numbers = model.datacollector.get_model_vars_dataframe(), np.arange(1, setting.rounds + 1)
    rounds = rounds.assign(**place, round=numbers, subjects=setting.n_subjects)
    rounds = rounds[[*place, "round", "subjects", *round_columns()]]
    added = np.zeros((0, 3), dtype=np.int64) if model.planned is None else model.planned.counterfeits
    each_added = {"round": added[:, 0] + 1, "record": added[:, 1], "value_of": added[:, 2]}
    if setting.waves:
        after = rounds.columns.get_loc("round") + 1
        rounds.insert(after, "wave", list(setting.waves))
        rounds.insert(after + 1, "counterfeits", np.bincount(added[:, 0], minlength=len(rounds)))
    adversaries = model.datacollector.get_table_dataframe(ADVERSARIES)
    adversaries = adversaries.assign(**place)[[*place, *adversaries.columns]]
    # Numbers of records attacked and re-identified, by combination of resources used.
    through = [
        (*where, combination, *found)
        for *where, by_combination in adversaries[[*_PLACE, THROUGH]].itertuples(index=False, name=None)
        for combination, found in by_combination.items()
    ]
    rows = model.setting.cell_of_subject
    played = PlayedPolicy(
        policy,
        {
            "rounds": rounds,
            "adversaries": adversaries.drop(columns=THROUGH),
            "through": pd.DataFrame(through, columns=[*_PLACE, THROUGH, "attacks", "breaches"]),
            "counterfeits": pd.DataFrame({**place, **each_added}, index=range(len(added))),
        },
        model.equilibrium,
        model.shared_in_last_round,
        mixed(model.reidentified),
        {column: np.concatenate([each[column] for each in model.by_record]) for column in model.by_record[0]},
        np.concatenate(model.shared),
        {each.name: each.holds - each.profile.holds for each in model.adversaries},
        None if rows is setting.cell_of_subject else rows,
        model.history,
    )
    model.release()
    return played


def broken_guarantees(
    played: Sequence[PlayedPolicy], setting_of: Callable[[str], Setting], wrong_beliefs: Collection[str]
) -> pd.DataFrame:
    """Return outcomes with corrected beliefs, for policies whose guarantee failed.

    The guarantee of a policy that rules out attacks failed if records were attacked. The policy is played again by a
    publisher who knows which resources adversaries will buy (if any bought some); then by a publisher who knows the
    true values of all parameters (if the scenario states other beliefs); then by one who knows both. The series ends
    when no record is attacked.

    Parameters
    ----------
    played : sequence of PlayedPolicy
        Outcomes of each policy in the first draw.
    setting_of : callable
        Returns the setting of a policy in this draw.
    wrong_beliefs : collection of str
        Keys of section ``beliefs`` that the scenario states.

    Returns
    -------
    DataFrame
        For each such policy, one row as played and one row per repetition: ``policy``, ``corrected`` (the corrected
        beliefs in words; empty as played) and the measures `_OF_GUARANTEES`, as in `run_measures`. Empty if every
        guarantee held.
    """
    rows: list[pd.DataFrame] = []
    for each in played:
        setting = setting_of(each.policy)
        if not (setting.forbids_attacks(each.policy) and each.is_attacked):
            continue
        rows.append(_of_guarantee(each, ""))
        bought = {name: resources for name, resources in each.bought.items() if resources}
        known: dict[str, dict[str, Any]] = {}
        if bought:
            words = "; ".join(f"{name} buys {listed(sorted(resources))}" for name, resources in bought.items())
            known[words] = {"expected_purchases": bought}
        if wrong_beliefs:
            words = f"{listed(f'beliefs.{key}' for key in wrong_beliefs)} differ from the truth"
            known[words] = {"knows_truth": True, "believed_loss": setting.loss}
        if len(known) > 1:
            known["; ".join(known)] = {key: value for change in known.values() for key, value in change.items()}
        for words, change in known.items():
            informed = play_policy(replace(setting, **change), each.policy)
            rows.append(_of_guarantee(informed, words))
            if not informed.is_attacked:
                break
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _of_guarantee(played: PlayedPolicy, corrected: str) -> pd.DataFrame:
    measures = run_measures([played], [played.policy]).reset_index().assign(corrected=corrected)
    return measures[["policy", "corrected", *_OF_GUARANTEES]]


def play_rounds(study: Study[Any], report: Progress, *, explain: bool = False) -> Played:
    """Return a `Played`: the outcomes of every policy in every draw of rounds.

    The table of runs has one row per replication and policy. Records, facts and warnings are from the last round of the
    first draw. With `explain`, policies whose guarantee did not hold in the first draw are played again with corrected
    beliefs; see `broken_guarantees`. `report` is called with the task, the completed steps and all steps.

    Raises
    ------
    InputError
        If an adversary cannot be used, or a policy cannot be played in rounds.
    """
    kind, scenario = kind_of(study.scenario), study.scenario
    agents, policies = kind.agents_of(scenario), kind.policies_of(scenario)
    setting_of = kind.settings(study)
    runs: list[pd.DataFrame] = []
    played: list[PlayedPolicy] = []
    n_plays = agents.draws * len(policies)
    for replication in range(study.draws):
        for draw, policy in itertools.product(range(agents.draws), policies):
            report("playing", len(played), study.draws * n_plays)
            setting = setting_of(policy, replication, draw)
            played.append(play_policy(setting, policy, replication=replication, draw=draw))
        runs.append(run_table(study.loaded.name, scenario.seed, replication, run_measures(played[-n_plays:], policies)))
    ended = played[: len(policies)]
    study, last = _last_rounds(study, ended)
    records = kind.records(study, 0, equilibria_of(last))
    if agents.participation is not None or setting.schedule is not None or ended[0].history is not None:
        records = with_participation(records.frame() if isinstance(records, RecordTable) else records, ended)
    # Warnings concern decisions of the policy: a row in which no subject took part in the last round does not count as
    # withheld, so its strategy of -1 is replaced by 0.
    row, decided = kind.row_of_subject(study, 0), {}
    for each in ended:
        found = last[each.policy].equilibrium
        there = np.bincount(row[each.participants], minlength=len(found.strategies)) > 0
        strategies = np.where(there, found.strategies, np.maximum(found.strategies, 0))
        decided[each.policy] = PolicyOutcome(replace(found, strategies=strategies))
    warnings = (*budget_warnings(setting.profiles), *kind.warnings(study, 0, decided))
    facts = {"policies": kind.facts_of_policies(study, last)}
    analysis = analysis_of(played)
    if explain:
        wrong = getattr(getattr(scenario, "beliefs", None), "model_fields_set", ())
        broken = broken_guarantees(ended, lambda policy: setting_of(policy, 0, 0), sorted(wrong))
        analysis = replace(analysis, named={**analysis.named, "broken_guarantees": broken})
    return Played(pd.concat(runs, ignore_index=True), records, analysis, facts, warnings)


def _last_rounds(study: Study[Any], played: Sequence[PlayedPolicy]) -> tuple[Study[Any], dict[str, PolicyOutcome]]:
    """Return a study and the last round's outcome by policy, with the same rows.

    These are `study` and the outcomes unchanged, unless the cells of some policy changed during the rounds. Then each
    row of both is a data subject.
    """
    if all(each.row_of_subject is None for each in played):
        return study, {each.policy: PolicyOutcome(each.last) for each in played}
    usual = kind_of(study.scenario).row_of_subject(study, 0)
    rows = [usual if each.row_of_subject is None else each.row_of_subject for each in played]
    last = {each.policy: PolicyOutcome(each.last.expand(of)) for each, of in zip(played, rows, strict=True)}
    return study.by_subject(), last


def run_measures(played: Sequence[PlayedPolicy], policies: Sequence[str]) -> pd.DataFrame:
    """Return a table of `RUN_MEASURES` over rounds and draws, indexed by policy.

    `played` holds all policies and draws; `policies` gives the order of rows. Measures are means over rounds and draws,
    except for the number of distinct people re-identified (mean over draws of its value after the last round), measures
    of the distribution of people re-identified in a round, and quantiles of risk (over the records of all rounds and
    draws; see `PlayedPolicy`).
    """
    rounds = pd.concat([each.tables["rounds"] for each in played])
    of_rounds = columns_of((*MEASURES, *own_measures(), PARTICIPATION, BREACHES))
    means = rounds.groupby("policy", sort=False, observed=True)[of_rounds].mean().loc[list(policies)]
    ends = rounds[rounds["round"] == rounds["round"].max()]
    means = means.join(ends.groupby("policy", sort=False, observed=True)[DISTINCT.column].mean())
    people, records = _over_draws(played)
    risks = {
        policy: weighted_quantiles(outcomes[RISK.column], shared, [*_RISKS.values()])
        for policy, (outcomes, shared) in records.items()
    }
    table = means.join(measures_table(people)).join(pd.DataFrame.from_dict(risks, orient="index", columns=[*_RISKS]))
    first = [column for column in columns_of(RUN_MEASURES) if column in table]
    return table[[*first, *(column for column in table if column not in first)]]


def _over_draws(
    played: Sequence[PlayedPolicy],
) -> tuple[dict[str, Reidentified], dict[str, tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]]]:
    """Return the outcomes of each policy in all rounds and draws.

    All rounds and draws are equally likely.

    Returns
    -------
    people : dict of str to Reidentified
        Distribution of the number of people re-identified in a round, by policy.
    records : dict of str to tuple
        `PlayedPolicy.outcomes` and `PlayedPolicy.shared` of all draws, by policy.
    """
    people, records = {}, {}
    for policy in dict.fromkeys(each.policy for each in played):
        own = [each for each in played if each.policy == policy]
        people[policy] = mixed([each.people for each in own])
        outcomes = {name: np.concatenate([each.outcomes[name] for each in own]) for name in own[0].outcomes}
        records[policy] = outcomes, np.concatenate([each.shared for each in own])
    return people, records


def analysis_of(played: Sequence[PlayedPolicy]) -> AnalysisTables:
    """Return the combined tables of all policies and draws.

    Column ``replication`` is the draw of the records, ``draw`` the repetition of all rounds on these records.

    Returns
    -------
    AnalysisTables
        With the tables ``rounds``: measures of each round (`ROUND_MEASURES`), one row per draw, policy and round;
        ``adversaries``: measures of each adversary in each round (`ADVERSARY_MEASURES`); ``through``: numbers of
        records attacked (``attacks``) and re-identified (``breaches``), one row per draw, policy, round, adversary and
        combination of resources used in its attacks (``through``); ``distributions``: quantiles over the records of all
        rounds and draws, one row per policy and outcome (see `quantile_rows`), and quantiles of the number of people
        re-identified in a round; ``counterfeits``: one row per draw, policy, round and counterfeit record, where
        ``record`` is the record with the same generalization, ``value_of`` the record with the same sensitive value.
    """
    people, records = _over_draws(played)
    rows = [row for policy, each in records.items() for row in quantile_rows({"policy": policy}, *each)]
    tables = {name: _stacked([each.tables[name] for each in played]) for name in played[0].tables}
    tables["distributions"] = pd.DataFrame([*rows, *quantiles_of_people(people)])
    return AnalysisTables({"reidentified": distribution_table(people), **tables})


def with_participation(records: pd.DataFrame, played: Sequence[PlayedPolicy]) -> pd.DataFrame:
    """Return the records of the last round with a column ``participates``, and with their history if it is known.

    They hold whether the subject of a record took part in the last round, and `PlayedPolicy.history`; they follow
    ``generalization_intensity``. `played` are the policies in the order of `records`, in which each policy has all
    records.
    """
    columns: dict[str, Sequence[NDArray[Any]]] = {"participates": [each.participants for each in played]}
    histories = [each.history for each in played if each.history is not None]
    if len(histories) == len(played):
        columns |= zip(HISTORY_COLUMNS, zip(*histories, strict=True), strict=True)
    if len(played) * len(played[0].participants) < len(records):
        # Subjects are people with several records here; column PERSON holds the number of the subject.
        person = records[PERSON].to_numpy().reshape(len(played), -1)
        columns = {name: [of[each] for of, each in zip(columns[name], person, strict=True)] for name in columns}
    records, place = records.copy(), list(records.columns).index("generalization_intensity") + 1
    for number, (name, found) in enumerate(columns.items()):
        records.insert(place + number, name, np.concatenate(found))
    return records.astype(dict.fromkeys(HISTORY_COLUMNS[: len(columns) - 1], "category"))


def budget_warnings(profiles: Sequence[AdversaryProfile]) -> tuple[str, ...]:
    """Return warnings about adversaries whose budget is too small for any attack.

    There is one warning per such adversary, or a single one if no adversary can attack; none if all can.
    """
    amounts = tuple(
        f"{profile.name!r} has {profile.budget:,g}, an attack costs {profile.cheapest:,g}"
        for profile in profiles
        if profile.budget < profile.cheapest
    )
    below = "below the cost of the cheapest attack"
    if amounts and len(amounts) == len(profiles):
        return (f"no adversary can attack, because budgets are {below}: {'; '.join(amounts)}",)
    return tuple(f"an adversary cannot attack, because the budget is {below}: {each}" for each in amounts)


def _stacked(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several tables with the same columns as one table.

    Columns ``policy``, ``adversary``, ``holds`` and ``through`` become categorical.
    """
    # pandas before 3 warns about empty tables.
    table = pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)
    return table.astype({name: "category" for name in ("policy", "adversary", "holds", "through") if name in table})


_LOGGER = logging.getLogger(__name__)


def run_once(loaded: Scenario[Any], *, progress: Progress | None = None, explain: bool = False) -> RunResult:
    """Return the result of one run of a scenario, at its own values.

    Parameters
    ----------
    loaded : Scenario
    progress : callable, optional
        Called with the task, the completed steps and all steps.
    explain : bool
        Whether to find the wrong beliefs by which guarantees fail in scenarios with agents, by playing the policies
        again without these beliefs; see `broken_guarantees`.

    Raises
    ------
    InputError
        If a file, adversary or policy that the scenario names cannot be used, or a policy cannot be played.
    """
    kind, clock, report = begun(loaded, progress)
    study = kind.study_of(loaded, alone=True)
    clock.lap("build")
    _LOGGER.info("%s: data read in %.2f s", loaded.name, clock.laps["build"])
    with locating(loaded.path):
        if not kind.decides:
            played = kind.assess(study, report)
            runs = played.runs.assign(scenario=loaded.name, state="complete", seed=loaded.scenario.seed)
            played = replace(played, runs=runs[["scenario", *runs.columns.drop("scenario")]])
        elif loaded.scenario.in_rounds:
            played = play_rounds(study, report, explain=explain)
        else:
            played = play_policies(study, report)
    clock.lap("play")
    _LOGGER.info("%s: policies evaluated in %.2f s", loaded.name, clock.laps["play"])
    for warning in played.warnings:
        _LOGGER.warning("%s: %s", loaded.name, warning)
    facts = {**(kind.facts(study) if kind.decides else {}), **release_file_facts(loaded), **played.facts}
    common = common_fields(loaded, clock.laps, facts, played.warnings)
    return RunResult(played.runs, played.records, played.analysis, played.by, played.measured, **common)


def check_once(loaded: Scenario[Any]) -> str:
    """Check all inputs of one run of a scenario; return a line of text on its size.

    No game is solved. With agents, the line has the numbers of adversaries, rounds and, if there may be several,
    replications.

    Raises
    ------
    InputError
        If a file, adversary or policy that the scenario names cannot be used.
    """
    kind = kind_of(loaded.scenario)
    study = kind.study_of(loaded, alone=True)
    with locating(loaded.path):
        if not loaded.scenario.in_rounds:
            return kind.describe(study)
        setting = kind.settings(study)(kind.policies_of(study.scenario)[0], 0, 0)
        subjects = counted(setting.n_subjects, "data subject")
        if setting.n_cells < setting.n_subjects:
            # Data subjects with equal records are one cell.
            subjects += f" with {counted(setting.n_cells, 'distinct record')}"
        sizes = [
            subjects,
            counted(setting.space.size, "strategy", "strategies"),
            counted(len(setting.profiles), "adversary", "adversaries"),
            counted(setting.rounds, "round"),
        ]
        return ", ".join(sizes + [counted(study.draws, "replication")] * kind.numbers_draws)


def play_policies(study: Study[Any], report: Progress) -> Played:
    """Return a `Played`: the outcomes of every policy in every draw, without rounds.

    The table of runs has one row per draw (``replication``) and policy. `report` is called with the task, the completed
    steps and all steps. Records, facts, warnings and most tables for figures are from the first draw. Runtimes and the
    distribution of the number of people re-identified cover all draws.
    """
    kind, scenario = kind_of(study.scenario), study.scenario
    runs, runtimes, people = [], [], []
    for draw in range(study.draws):
        is_single = study.draws == 1
        if not is_single:
            report("playing", draw, study.draws)
        outcomes = kind.play(study, draw, progress=(lambda *done: report("playing", *done)) if is_single else None)
        equilibria = equilibria_of(outcomes)
        people.append(kind.reidentified(study, draw, equilibria))
        summary = kind.summarise(study, draw, equilibria).join(measures_table(people[draw]))
        runs.append(run_table(study.loaded.name, scenario.seed, draw, summary))
        runtimes.append(kind.runtimes(outcomes))
        runtimes[draw].insert(0, "replication", draw)
        if draw == 0:
            records = kind.records(study, draw, equilibria)
            analysis = kind.analyse(study, outcomes, report)
            warnings = (*analysis.left_out, *kind.warnings(study, draw, outcomes))
            of_policies = kind.facts_of_policies(study, outcomes)
    over_draws = {policy: mixed([found[policy] for found in people]) for policy in people[0]}
    tables = {"runtimes": pd.concat(runtimes, ignore_index=True), "reidentified": distribution_table(over_draws)}
    analysis = AnalysisTables({**tables, **analysis.named}, analysis.left_out)
    # The publisher's expected loss under each policy, in currency units per person.
    losses = {name: each.lost / each.n for name, each in over_draws.items() if each.lost is not None}
    facts = {"policies": of_policies, "expected_losses": losses}
    return Played(pd.concat(runs, ignore_index=True), records, analysis, facts, warnings)
