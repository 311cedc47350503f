"""The verdict: what a run, an assessment or a stress test says, in two or three sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from reidsim.core.measures import Measure, measures_among
from reidsim.engine.results import Result
from reidsim.engine.run_result import RunResult
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.reports.over_rounds import distinct_people, guarantees_told
from reidsim.scenarios.people import counted_units
from reidsim.scenarios.registry import kind_of_content

# Payoffs that differ by less than this part of themselves are the same.
_SAME = 1e-9
_SAFE_HARBOR = "safe-harbor"
# What an assessment compares sources of knowledge with.
_WORST_CASE = "worst-case"
# Measures of a round of which the verdict says how they change.
_OF_ROUNDS = ("publisher_payoff", "participation", "share_attacked")


def compared_policies(measures: pd.DataFrame, content: Mapping[str, Any]) -> pd.DataFrame:
    """Return the measures of the policies that meet the scenario's adversary; of all, if none does."""
    known = kind_of_content(content).policies
    apart = [name for name, policy in known.items() if policy.in_another_game]
    compared = measures[~measures.index.astype(str).isin(apart)]
    return compared if len(compared) else measures


def best_policy(measures: pd.DataFrame, content: Mapping[str, Any]) -> str:
    """Return the policy that pays the publisher most, of those that meet the scenario's adversary.

    Parameters
    ----------
    measures : DataFrame
        Measures by policy.
    content : mapping
        The scenario as played.
    """
    return str(compared_policies(measures, content)["publisher_payoff"].idxmax())


def least_exposed(measures: pd.DataFrame) -> str:
    """Return the policy of the lowest re-identification risk; of several, the one that pays most."""
    order = measures.sort_values("publisher_payoff", ascending=False, kind="stable")
    return str(order["risk"].idxmin())


def same_payoff(a: float, b: float) -> bool:
    """Tell whether two payoffs differ by rounding alone."""
    return abs(a - b) <= _SAME * max(abs(a), abs(b), 1.0)


def has_verdict(measures: pd.DataFrame) -> bool:
    """Tell whether measures are those of policies that can be compared."""
    needed = ["publisher_payoff", "share_attacked", "risk"]
    by_policy = measures.index.nlevels == 1 and measures.index.name == "policy" and len(measures) > 0
    return by_policy and set(needed) <= set(measures.columns) and bool(measures[needed].notna().all(axis=None))


def verdict(
    measures: pd.DataFrame,
    content: Mapping[str, Any],
    *,
    rounds: pd.DataFrame | None = None,
    broken: pd.DataFrame | None = None,
    name: Callable[[str], str] = str,
) -> str:
    """Say what the policy that exposes fewest keeps of the best payoff, and whom each of the two exposes.

    It compares and recommends nothing: which exposure a payoff is worth is not in the scenario.

    Parameters
    ----------
    measures : DataFrame
        Measures by policy; see `has_verdict`.
    content : mapping
        The scenario as played.
    rounds : DataFrame, optional
        Measures by policy and round; empty or None if the game is played once.
    broken : DataFrame, optional
        Guarantees that did not hold there; see `reidsim.engine.rounds.broken_guarantees`.
    name : callable
        Returns what a policy is called.
    """
    compared = compared_policies(measures, content)
    words = measures_among(kind_of_content(content).measures_of(content), measures.columns)
    units = counted_units(content)
    payoffs = compared["publisher_payoff"]
    safest = least_exposed(compared)
    best = safest if same_payoff(payoffs[safest], payoffs.max()) else best_policy(compared, content)
    pays = words["publisher_payoff"].text(payoffs[best])
    exposure = {policy: _exposure(compared, policy, words, units) for policy in (safest, best)}
    beside = _beside_safe_harbor(payoffs, safest, best, name)
    if len(compared) == 1:
        text = f"{name(best)} pays {pays} per {units[0]}; {exposure[best]}."
    elif best == safest:
        text = f"{name(best)} pays most, {pays} per {units[0]}{beside}, and exposes fewest: {exposure[best]}."
    else:
        kept = _kept(payoffs, safest, best, words["publisher_payoff"])
        text = (
            f"{name(safest)} {kept}{beside}; {exposure[safest]}. "
            f"{name(best)} pays most, {pays} per {units[0]}; {exposure[best]}."
        )
    if rounds is not None and len(rounds) and rounds["round"].min() < rounds["round"].max():
        told = list(dict.fromkeys((safest, best)))
        parts = [
            distinct_people(rounds, told, name),
            "" if broken is None else guarantees_told(broken, name, words["publisher_payoff"].label),
            _over_rounds(rounds, told, list(compared.index), words, name),
        ]
        text = " ".join((text, *filter(None, parts)))
    return f"{text} This holds for the scenario's adversary and payoff parameters."


def assessment_verdict(
    runs: pd.DataFrame, name: Callable[[str], str] = str, *, cohorts: pd.DataFrame | None = None
) -> str:
    """Say how probably a person is re-identified by who knows everything, and by what each real source tells.

    Parameters
    ----------
    runs : DataFrame
        One row per knowledge (and size of the release, ``records``), with ``overall_risk``.
    name : callable
        Returns what a knowledge is called.
    cohorts : DataFrame, optional
        Risks by size, sample, knowledge and group, where the scenario gives a risk that is accepted.
    """
    sizes = runs["records"] if "records" in runs else pd.Series(0, index=runs.index)
    size = sizes.min()
    risks = runs[sizes == size].groupby("knowledge", sort=False, observed=True)["overall_risk"].mean()
    others = risks.drop(_WORST_CASE, errors="ignore").sort_values(ascending=False, kind="stable")
    worst = risks.get(_WORST_CASE)
    of = f"in a release of {size:,} records, " if size else ""
    parts = []
    if worst is not None:
        parts.append(
            f"If the adversary knows everything about everybody, {of}a person is re-identified with probability "
            f"{worst:.4f} on average."
        )
    elif of:
        parts.append(f"{of[0].upper()}{of[1:]}a person is re-identified with the following probability on average.")
    for knowledge, risk in others.items():
        less = "" if not worst else f", {1 - risk / worst:.1%} less"
        parts.append(f"With the knowledge of {name(str(knowledge))} it is {risk:.4f}{less}.")
    if cohorts is not None and len(cohorts):
        parts.append(_against_threshold(cohorts, name))
    return " ".join(parts)


def stress_verdict(tables: Mapping[str, pd.DataFrame], unit: str, name: Callable[[str], str] = str) -> str:
    """Say which policies withstand uncertain values, what payoffs depend on most, and what breaks a guarantee.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Those of a stress test.
    unit : str
        What payoffs are counted per.
    name : callable
        Returns what a policy is called.

    Returns
    -------
    str
        Empty if no table compares policies, or nothing finished.
    """
    parts = (_robust(tables, unit, name), _most_sensitive(tables), _breaking(tables, name))
    return " ".join(part for part in parts if part)


def _robust(tables: Mapping[str, pd.DataFrame], unit: str, name: Callable[[str], str]) -> str:
    found = tables.get("robustness", pd.DataFrame())
    if found.empty or found["mean_payoff"].isna().any():
        return ""
    table = found.set_index(found["policy"].astype(str))
    mean, worst, regret = table["mean_payoff"], table["worst_payoff"], table["largest_regret"]
    return (
        f"Over {int(table['points'].iloc[0]):,} points of uncertain values {name(str(mean.idxmax()))} pays most on "
        f"average, {mean.max():,.2f} per {unit}. {name(str(worst.idxmax()))} has the best worst case, "
        f"{worst.max():,.2f}; {name(str(regret.idxmin()))} is never more than {regret.min():,.2f} below the best."
    )


def _most_sensitive(tables: Mapping[str, pd.DataFrame]) -> str:
    indices = tables.get("sensitivity", pd.DataFrame())
    if indices.empty:
        return ""
    kept = (indices["output"] == PUBLISHER_PAYOFF.column) & (indices["other"] == "") & indices["value"].notna()
    rows = indices[kept & indices["index"].isin(("total", "mu_star"))].sort_values("value", kind="stable")
    most = rows.groupby("policy", observed=True)["parameter"].last().value_counts()
    if most.empty:
        return ""
    of = "" if most.iloc[0] == most.sum() else f" of {most.iloc[0]} of {most.sum()} policies"
    return f"Payoffs{of} depend most on {most.index[0]}."


def _breaking(tables: Mapping[str, pd.DataFrame], name: Callable[[str], str]) -> str:
    guarantee = tables.get("guarantee", pd.DataFrame(columns=["relative_error"]))
    rows = guarantee.dropna(subset="relative_error").sort_values("relative_error", key=abs).to_dict("records")
    if not rows:
        return ""
    row = rows[0]
    return (
        f"The guarantee of {name(str(row['policy']))} fails first where {row['parameter']} is {row['breaking']:,.4g} "
        f"instead of {row['believed']:,.4g}."
    )


def _exposure(measures: pd.DataFrame, policy: str, words: Mapping[str, Measure], units: tuple[str, str]) -> str:
    share, chance = float(measures["share_attacked"][policy]), float(measures["risk"][policy])
    if "attacked" not in words["share_attacked"].in_text:  # as where everybody is searched for
        said = f"{words['share_attacked'].in_text}: {words['share_attacked'].text(share)}"
        return said if share == 0 else f"{said}, re-identification risk {words['risk'].text(chance)}"
    if share == 0:
        return "nobody is attacked" if units[0] == "person" else f"no {units[0]} is attacked"
    attacked, risk = words["share_attacked"].text(share), words["risk"].text(chance)
    return f"{attacked} of the {units[1]} are attacked, re-identification risk {risk}"


def told_by(result: Result, name: Callable[[str], str] = str) -> str:
    """Return the verdict of any result; empty where nothing is compared.

    Parameters
    ----------
    result : RunResult, CrossPlayResult or StressResult
    name : callable
        Returns what a policy is called.
    """
    content = result.manifest["content"]
    if isinstance(result, RunResult):
        if {"knowledge", "overall_risk"} <= set(result.runs):
            return assessment_verdict(result.runs, name, cohorts=getattr(result.analysis, "cohorts", None))
        if has_verdict(result.summary):
            rounds, broken = (getattr(result.analysis, table, None) for table in ("rounds", "broken_guarantees"))
            return verdict(result.summary, content, rounds=rounds, broken=broken, name=name)
        return ""
    # What plays and tests others is not waited for by a run.
    from reidsim.engine.cross_play import CrossPlayResult
    from reidsim.engine.stress.run import StressResult
    from reidsim.reports.cross_play_tables import cross_play_verdict

    if isinstance(result, CrossPlayResult):
        return "\n".join(cross_play_verdict(result))
    return stress_verdict(result.tables, counted_units(content)[0], name) if isinstance(result, StressResult) else ""


def _against_threshold(cohorts: pd.DataFrame, name: Callable[[str], str]) -> str:
    """Say whether the people's risk lies below the accepted one: in the largest real cohort, then as it grows."""
    grown = _as_it_grows(cohorts, name) if cohorts["simulated"].any() else ""
    cohorts = cohorts[~cohorts["simulated"]]
    accepted, share, size = cohorts["threshold"].iloc[0], cohorts["percentile"].iloc[0], cohorts["records"].max()
    told = []
    for knowledge, table in cohorts[cohorts["records"] == size].groupby("knowledge", sort=False, observed=True):
        risks = table.groupby(["attribute", "value"], sort=False, observed=True)["percentile_risk"].mean()
        whole, groups = float(risks.iloc[0]), risks.iloc[1:]
        above = [f"{value} ({risk:.4f})" for (_, value), risk in groups[groups > accepted].items()]
        verdict, joint = ("above", "and") if whole > accepted else ("below", "but above it")
        some = f", {joint} for {', '.join(above)}" if above else ""
        of_groups = ", as for every group" if whole > accepted and len(above) == len(groups) > 0 else some
        told.append(f"at most {whole:.4f} with {name(str(knowledge))}, {verdict} it{of_groups}")
    return (
        f"The accepted risk is {accepted:g}. For {share:.0%} of {size:,} people the risk is {'; '.join(told)}.{grown}"
    )


def _as_it_grows(cohorts: pd.DataFrame, name: Callable[[str], str]) -> str:
    """Say from which size on everybody's risk is accepted, in 95 % of the simulated cohorts of each size."""
    whole = cohorts[cohorts["attribute"] == "everybody"]
    told: dict[str, list[str]] = {}
    for knowledge, table in whole.groupby("knowledge", sort=False, observed=True):
        risks = table.groupby("records", observed=True)["percentile_risk"].quantile(0.95)
        above = risks.index[risks > table["threshold"].iloc[0]]
        accepted = risks.index if above.empty else risks.index[risks.index > above[-1]]
        when = f"from {accepted[0]:,} people on" if len(accepted) else "at no size"
        told.setdefault(when, []).append(name(str(knowledge)))
    parts = "; ".join(f"{when} with {' and '.join(names)}" for when, names in told.items())
    sizes = cohorts["records"]
    return f" From {sizes.min():,} to {sizes.max():,} people, other sizes simulated, it is accepted {parts}."


def _kept(payoffs: pd.Series[float], policy: str, best: str, payoff: Measure) -> str:
    """Say what a policy keeps of the best payoff: as a share of it, where both are amounts received."""
    own, most = float(payoffs[policy]), float(payoffs[best])
    if most > 0 and own >= 0:
        share = own / most
        return f"keeps {f'{share:.0%}' if share < 0.995 else 'over 99%'} of the best payoff"
    return f"pays {payoff.text(own)}, {payoff.text(most - own)} less than the best payoff"


def _beside_safe_harbor(payoffs: pd.Series[float], policy: str, best: str, name: Callable[[str], str]) -> str:
    if _SAFE_HARBOR not in payoffs.index or _SAFE_HARBOR in (policy, best) or payoffs[_SAFE_HARBOR] <= 0:
        return ""
    ahead = float(payoffs[policy] / payoffs[_SAFE_HARBOR] - 1)
    if abs(ahead) < 0.005:
        return f", about as much as {name(_SAFE_HARBOR)}"
    return f", {abs(ahead):.0%} {'above' if ahead > 0 else 'below'} {name(_SAFE_HARBOR)}"


def _over_rounds(
    rounds: pd.DataFrame,
    told: Sequence[str],
    compared: Sequence[str],
    words: Mapping[str, Measure],
    name: Callable[[str], str],
) -> str:
    """Say what changes from the first round to the last, for some policies, and whether another one then pays most."""
    columns = [column for column in _OF_ROUNDS if column in rounds and column in words]
    means = rounds.astype({"policy": str}).groupby(["round", "policy"], sort=False, observed=True)[columns].mean()
    first, last = (means.loc[number] for number in (rounds["round"].min(), rounds["round"].max()))
    parts = []
    for policy in told:
        texts = [[words[column].text(table.loc[policy, column]) for table in (first, last)] for column in columns]
        changes = [
            f"{words[column].label.lower()} from {before} to {after}"
            for column, (before, after) in zip(columns, texts, strict=True)
            if before != after
        ]
        parts.append(f"{name(policy)}: {', '.join(changes) or 'no change'}")
    text = f"From the first of {rounds['round'].nunique():,} rounds to the last, {'; '.join(parts)}."
    at_first, at_last = (table.loc[list(compared), "publisher_payoff"].idxmax() for table in (first, last))
    if at_first != at_last:
        text += f" In the first round {name(at_first)} pays most, in the last {name(at_last)}."
    return text
