"""Running a scenario with agents: every policy as a world of its own, under common random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.agents.measures import PARTICIPATION, ROUND_MEASURES
from reidsim.agents.profile import AdversaryProfile, Setting
from reidsim.experiments.run_result import AnalysisTables, Progress
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import MEASURES
from reidsim.measures import columns_of
from reidsim.wording import counted

# Measures of runs.parquet: means over all rounds.
RUN_MEASURES = (*MEASURES, PARTICIPATION)


@dataclass(frozen=True, eq=False, kw_only=True)
class AgentAnalysis(AnalysisTables):
    """What is collected round by round.

    Parameters
    ----------
    rounds : DataFrame
        One row per draw, policy and round.
    adversaries : DataFrame
        One row per draw, policy, round and adversary.
    """

    rounds: pd.DataFrame = field(default_factory=pd.DataFrame)
    adversaries: pd.DataFrame = field(default_factory=pd.DataFrame)


class PlayedPolicy(NamedTuple):
    """All rounds of a policy in one draw, and how its last round ended."""

    rounds: pd.DataFrame
    adversaries: pd.DataFrame
    last: Equilibrium
    participants: NDArray[np.bool_]


def play_policy(setting: Setting, policy: str, *, replication: int = 0, draw: int = 0) -> PlayedPolicy:
    """Play all rounds of a policy.

    Parameters
    ----------
    setting : Setting
    policy : str
    replication, draw : int
        Which draw of the records, and which of several runs of all rounds on them, this is, as tables tell.
    """
    # mesa is slow to import, and only needed here.
    from reidsim.agents.adversary import Adversary
    from reidsim.agents.model import ReidentificationModel

    model = ReidentificationModel(setting, policy).run()
    place = {"replication": replication, "draw": draw, "policy": policy}
    rounds = model.datacollector.get_model_vars_dataframe()
    numbers = np.arange(1, len(rounds) + 1)
    rounds = rounds.assign(**place, round=numbers)[[*place, "round", *columns_of(ROUND_MEASURES)]]
    adversaries = model.datacollector.get_agenttype_vars_dataframe(Adversary).reset_index(drop=True)
    each = np.repeat(numbers, len(setting.profiles))
    columns = list(adversaries.columns)
    adversaries = adversaries.assign(**place, round=each)[[*place, "round", *columns]]
    played = PlayedPolicy(rounds, adversaries, model.equilibrium(), model.shared_in_last_round)
    model.release()
    return played


def play_all(
    world: Setting, policies: Sequence[str], draws: int, report: Progress
) -> tuple[list[PlayedPolicy], dict[str, PlayedPolicy]]:
    """Play all rounds of every policy, as often as there are draws.

    Returns
    -------
    list of PlayedPolicy
        All of them, draw by draw.
    dict of str to PlayedPolicy
        Those of the first draw, by policy.
    """
    played: list[PlayedPolicy] = []
    first: dict[str, PlayedPolicy] = {}
    for draw in range(draws):
        for number, policy in enumerate(policies):
            report("playing", draw * len(policies) + number, draws * len(policies))
            each = play_policy(replace(world, replication=draw), policy, draw=draw)
            played.append(each)
            first.setdefault(policy, each)
    return played, first


def played_by(setting: Setting) -> str:
    """Say by how many types of adversary a world is played, and for how many rounds."""
    types = counted(len(setting.profiles), "type of adversary", "types of adversary")
    return f"{types}, {counted(setting.rounds, 'round')}"


def run_means(played: Sequence[PlayedPolicy], policies: Sequence[str]) -> pd.DataFrame:
    """Average `RUN_MEASURES` over the rounds and draws of each policy; indexed by policy."""
    rounds = pd.concat([each.rounds for each in played], ignore_index=True)
    return rounds.groupby("policy", sort=False)[columns_of(RUN_MEASURES)].mean().loc[list(policies)]


def analysis_of(played: Sequence[PlayedPolicy]) -> AgentAnalysis:
    """Put the rounds of all policies and draws together."""
    return AgentAnalysis(
        rounds=_categorical(pd.concat([each.rounds for each in played], ignore_index=True)),
        adversaries=_categorical(pd.concat([each.adversaries for each in played], ignore_index=True)),
    )


def with_participation(records: pd.DataFrame, played: Mapping[str, PlayedPolicy]) -> pd.DataFrame:
    """Return the records of the last round with a column that tells who took part in it, after the outcomes."""
    takes_part = np.concatenate([each.participants for each in played.values()])
    records = records.copy()
    records.insert(list(records.columns).index("generalization_intensity") + 1, "participates", takes_part)
    return records


def budget_warnings(profiles: Sequence[AdversaryProfile]) -> tuple[str, ...]:
    """Return what a reader should know about adversaries whose budget allows no attack."""
    poor = [profile for profile in profiles if not profile.can_attack]
    amounts = [f"{profile.name!r} has {profile.budget:,g}, an attack costs {profile.cheapest:,g}" for profile in poor]
    if poor and len(poor) == len(profiles):
        return (f"nobody can attack, as budgets are below the cheapest attack: {'; '.join(amounts)}",)
    return tuple(f"an adversary can attack nobody, as its budget is below the cheapest attack: {a}" for a in amounts)


def solver_facts(last: Mapping[str, Equilibrium], cells: NDArray[np.intp]) -> dict[str, dict[str, object]]:
    """Say by policy how the strategies of the last round were found; `cells` (n_subjects,) is each subject's cell."""
    return {
        policy: {
            "solver": equilibrium.solver,
            "proved_optimal": equilibrium.exact,
            "strategies_evaluated_per_record": round(float(equilibrium.evaluated[cells].mean()), 3),
            "withheld": int(equilibrium.withheld[cells].sum()),
        }
        for policy, equilibrium in last.items()
    }


def _categorical(table: pd.DataFrame) -> pd.DataFrame:
    names = [name for name in ("policy", "adversary", "holds") if name in table]
    return table.astype(dict.fromkeys(names, "category"))
