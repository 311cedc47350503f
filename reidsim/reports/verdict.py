"""State the verdict on a run, an assessment or a stress test in a few sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from reidsim.agents.attack import BREACHES, DISTINCT
from reidsim.core.wording import Measure, measures_among
from reidsim.engine.results import Result, RunResult
from reidsim.games.outcomes import PUBLISHER_PAYOFF
from reidsim.reports.writer import render, said
from reidsim.scenarios.kind import counted_units, kind_of_content
from reidsim.scenarios.registry import Policy

# Relative tolerance below which two payoffs are equal.
_SAME = 1e-9
_SAFE_HARBOR = "safe-harbor"
# Background knowledge used as the reference in comparisons.
_WORST_CASE = "worst-case"
# Measures whose change over the rounds is part of the verdict.
_OF_ROUNDS = ("publisher_payoff", "participation", "share_attacked")


def compared_policies(measures: pd.DataFrame, policies: Mapping[str, Policy]) -> pd.DataFrame:
    """Return the measures of the policies whose payoffs can be compared.

    The result has one row per policy. These are the policies that face the scenario's adversary; if no policy does, all
    policies are returned.

    Parameters
    ----------
    measures : DataFrame
        Measures indexed by policy.
    policies : mapping of str to Policy
        Policies of the kind of game, by name; a policy with `in_another_game` faces another adversary.
    """
    apart = [name for name, policy in policies.items() if policy.in_another_game]
    compared = measures[~measures.index.astype(str).isin(apart)]
    return compared if len(compared) else measures


def least_exposed(measures: pd.DataFrame) -> str:
    """Return the policy with the lowest risk; among equals, with the highest payoff.

    The result is its name. `measures` is indexed by policy, with columns ``risk`` and ``publisher_payoff``.
    """
    return str(measures.sort_values("publisher_payoff", ascending=False, kind="stable")["risk"].idxmin())


def same_payoff(a: float, b: float) -> bool:
    """Return whether two payoffs differ only by rounding.

    The difference may be 1e-9 of the payoff with the larger size, or 1e-9 if both sizes are below 1.
    """
    return abs(a - b) <= _SAME * max(abs(a), abs(b), 1.0)


def has_verdict(measures: pd.DataFrame) -> bool:
    """Return whether a table is by policy alone and holds the measures of a verdict.

    These are the publisher's payoff, the share of records attacked and the risk, without missing values. The table must
    have at least one row.
    """
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
    """Return a text comparing the policy of lowest risk with the policy of highest payoff.

    Among policies of equal risk, the one with the highest payoff counts. Policies that face another adversary are left
    out. The text is one line of sentences. It recommends no policy, because the scenario does not define how much
    payoff a lower risk is worth.

    Parameters
    ----------
    measures : DataFrame
        Measures by policy; see `has_verdict`.
    content : mapping
        Scenario content as played.
    rounds : DataFrame, optional
        Measures by policy and round; empty or None for a one-shot game. Changes from the first to the last round are
        described if there are several rounds.
    broken : DataFrame, optional
        Guarantees that did not hold in some round; see `reidsim.engine.single_run.broken_guarantees`.
    name : callable
        Function that returns the display name of a policy.
    """
    kind = kind_of_content(content)
    compared = compared_policies(measures, kind.policies)
    words = measures_among(kind.measures_of(content), measures.columns)
    payoffs = compared["publisher_payoff"]
    safest = least_exposed(compared)
    best = safest if same_payoff(payoffs[safest], payoffs.max()) else str(payoffs.idxmax())
    own, most, harbor = float(payoffs[safest]), float(payoffs[best]), float(payoffs.get(_SAFE_HARBOR, 0.0))
    of_rounds: list[str] = []
    if rounds is not None and len(rounds) and rounds["round"].min() < rounds["round"].max():
        shown = list(dict.fromkeys((safest, best)))
        of_rounds = [
            distinct_people(rounds, shown, name),
            "" if broken is None else broken_guarantee_sentences(broken, name, words["publisher_payoff"].label),
            _over_rounds(rounds, shown, list(compared.index), words, name),
        ]
    return said(
        "verdict",
        words=words,
        units=counted_units(content),
        single=len(compared) == 1,
        of_rounds=of_rounds,
        best={"name": name(best), **compared.loc[best]},
        safest={"name": name(safest), **compared.loc[safest]},
        most=most,
        share=own / most if most > 0 else 0.0,
        pays=words["publisher_payoff"].text(most),
        safe_harbor=name(_SAFE_HARBOR),
        ahead=own / harbor - 1 if harbor > 0 and _SAFE_HARBOR not in (safest, best) else None,
    )


def assessment_verdict(
    runs: pd.DataFrame, name: Callable[[str], str] = str, *, cohorts: pd.DataFrame | None = None
) -> str:
    """Return a text on a person's mean risk in the worst case and by knowledge.

    Knowledge is the adversary's background knowledge. The text is one line of sentences. The risks are those of the
    smallest release. With `cohorts`, risks are also compared with the threshold.

    Parameters
    ----------
    runs : DataFrame
        One row per background knowledge (and release size, ``records``), with ``overall_risk``.
    name : callable
        Function that returns the display name of a background knowledge.
    cohorts : DataFrame, optional
        Risks by size, sample, background knowledge and group, if the scenario sets a risk threshold.
    """
    sizes = runs["records"] if "records" in runs else pd.Series(0, index=runs.index)
    size = sizes.min()
    risks = runs[sizes == size].groupby("knowledge", sort=False, observed=True)["overall_risk"].mean()
    others = risks.drop(_WORST_CASE, errors="ignore").sort_values(ascending=False, kind="stable")
    context: dict[str, Any] = {
        "worst": risks.get(_WORST_CASE),
        "of": f"in a release of {size:,} records, " if size else "",
        "others": {name(str(knowledge)): risk for knowledge, risk in others.items()},
    }
    if cohorts is not None and len(cohorts):
        context["accepted"] = _against_threshold(cohorts, name)
    return said("assessment", **context)


def stress_verdict(tables: Mapping[str, pd.DataFrame], unit: str, name: Callable[[str], str] = str) -> str:
    """Return a text on robust policies, key parameter and first broken guarantee.

    They are results of a stress test.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Tables of a stress test by name: ``robustness``, ``sensitivity``, ``tornado`` and ``guarantee``, if present.
    unit : str
        Unit of the payoffs, such as record or person.
    name : callable
        Function that returns the display name of a policy.

    Returns
    -------
    str
        Verdict in one line; empty if no table compares policies or no point was finished.
    """
    names = ("robustness", "sensitivity", "tornado", "guarantee")
    robustness, indices, tornado, guarantee = (tables.get(table, pd.DataFrame()) for table in names)
    indices = pd.concat([indices, tornado.rename(columns={"swing": "value"}).assign(index="swing", other="")])
    context: dict[str, Any] = {"unit": unit, "robust": None, "sensitive": None, "breaking": None}
    if len(robustness) and robustness["mean_payoff"].notna().all():
        context["robust"] = robustness.set_index(robustness["policy"].astype(str).map(name))
    if len(indices):
        kept = (indices["output"] == PUBLISHER_PAYOFF.column) & (indices["other"] == "") & indices["value"].notna()
        rows = indices[kept & indices["index"].isin(("total", "mu_star", "swing"))].sort_values("value", kind="stable")
        most = rows.groupby("policy", observed=True)["parameter"].last().value_counts()
        if len(most):
            context["sensitive"] = {"parameter": most.index[0], "policies": most.iloc[0], "of": most.sum()}
    if len(guarantee) and guarantee["relative_error"].notna().any():
        first = guarantee.iloc[int(np.nanargmin(guarantee["relative_error"].abs()))]
        context["breaking"] = {**first, "policy": name(str(first["policy"]))}
    return said("stress", **context)


def verdict_of(result: Result, name: Callable[[str], str] = str) -> str:
    """Return the verdict on a result of any type as text; "" if it compares nothing.

    Parameters
    ----------
    result : RunResult, CrossPlayResult or StressResult
        A result; for other types, the text is "".
    name : callable
        Function that returns the display name of a policy.
    """
    content = result.manifest["content"]
    if isinstance(result, RunResult):
        if {"knowledge", "overall_risk"} <= set(result.runs):
            return assessment_verdict(result.runs, name, cohorts=getattr(result.analysis, "cohorts", None))
        rounds, broken = (getattr(result.analysis, table, None) for table in ("rounds", "broken_guarantees"))
        known = has_verdict(result.summary)
        return verdict(result.summary, content, rounds=rounds, broken=broken, name=name) if known else ""
    # Imported late, because a run does not need these modules.
    from reidsim.engine.cross_play import CrossPlayResult
    from reidsim.engine.stress.run import StressResult
    from reidsim.reports.study_tables import cross_play_verdict

    if isinstance(result, CrossPlayResult):
        return "\n".join(cross_play_verdict(result))
    return stress_verdict(result.tables, counted_units(content)[0], name) if isinstance(result, StressResult) else ""


def _against_threshold(cohorts: pd.DataFrame, name: Callable[[str], str]) -> dict[str, Any]:
    """Return the comparison of risks with the threshold, for template `assessment`.

    Values are by name. `cohorts` has one row per cohort (a sample of people of some size), background knowledge and
    group. For the largest real cohort: by background knowledge, the mean percentile risk of the whole cohort and the
    groups whose risk is above the threshold. If there are simulated cohorts: the size from which on the risk is at most
    the threshold in 95 % of the cohorts of each size, the real cohort included.
    """
    real = cohorts[~cohorts["simulated"]]
    threshold, largest = real["threshold"].iloc[0], real["records"].max()
    knowledge = []
    for each, table in real[real["records"] == largest].groupby("knowledge", sort=False, observed=True):
        risks = table.groupby(["attribute", "value"], sort=False, observed=True)["percentile_risk"].mean()
        whole, groups = float(risks.iloc[0]), risks.iloc[1:]
        above = [(value, risk) for (_, value), risk in groups[groups > threshold].items()]
        everywhere = whole > threshold and 0 < len(groups) == len(above)
        found = {"name": name(str(each)), "risk": whole, "is_above": whole > threshold}
        knowledge.append(found | {"groups": above, "everywhere": everywhere})
    growth: dict[str, list[str]] = {}
    whole_cohorts = cohorts[cohorts["attribute"] == "everybody"] if cohorts["simulated"].any() else cohorts[:0]
    for each, table in whole_cohorts.groupby("knowledge", sort=False, observed=True):
        # Smallest accepted size: the risk is accepted in 95 % of the simulated cohorts of this and each larger size.
        risks = table.groupby("records", observed=True)["percentile_risk"].quantile(0.95)
        above = risks.index[risks > threshold]
        accepted = risks.index if above.empty else risks.index[risks.index > above[-1]]
        when = f"from {accepted[0]:,} people on" if len(accepted) else "at no size"
        growth.setdefault(when, []).append(name(str(each)))
    return {
        "threshold": threshold,
        "percentile": real["percentile"].iloc[0],
        "size": largest,
        "knowledge": knowledge,
        "growth": growth,
        "smallest": cohorts["records"].min(),
        "largest": cohorts["records"].max(),
    }


def _over_rounds(
    rounds: pd.DataFrame,
    shown: Sequence[str],
    compared: Sequence[str],
    words: Mapping[str, Measure],
    name: Callable[[str], str],
) -> str:
    """Return a text on changes of measures and best policy over the rounds.

    The first and the last round are compared.

    Parameters
    ----------
    rounds : DataFrame
        Measures by draw, policy and round; means over draws are compared.
    shown : sequence of str
        Policies whose measures are described, if they change.
    compared : sequence of str
        Policies among which the best one is determined.
    words : mapping of str to Measure
        Measures by column, for labels and number formats.
    name : callable
        Function that returns the display name of a policy.
    """
    columns = [column for column in _OF_ROUNDS if column in rounds and column in words]
    means = rounds.astype({"policy": str}).groupby(["round", "policy"], sort=False)[columns].mean()
    first, last = (means.loc[number] for number in (rounds["round"].min(), rounds["round"].max()))
    policies: dict[str, list[tuple[str, str, str]]] = {name(policy): [] for policy in shown}
    for policy, column in product(shown, columns):
        before, after = (words[column].text(table.loc[policy, column]) for table in (first, last))
        if before != after:
            policies[name(policy)].append((words[column].label.lower(), before, after))
    leads = [name(table.loc[list(compared), "publisher_payoff"].idxmax()) for table in (first, last)]
    return said("changes", number=rounds["round"].nunique(), policies=policies, first=leads[0], last=leads[1])


def distinct_people(rounds: pd.DataFrame, policies: Sequence[str], name: Callable[[str], str] = str) -> str:
    """Return a sentence on the distinct people re-identified in all rounds, by policy.

    It also has the number of re-identifications, in which a person counts once in each round. Both are means over
    draws.

    Parameters
    ----------
    rounds : DataFrame
        One row per draw, policy and round; see `reidsim.engine.single_run.analysis_of`.
    policies : sequence of str
        Names of the policies to describe.
    name : callable
        Function that returns the display name of a policy.

    Returns
    -------
    str
        Sentence; empty for a single round, or a table without the required columns.
    """
    if not {"subjects", BREACHES.column, DISTINCT.column} <= set(rounds) or rounds["round"].nunique() < 2:
        return ""
    by = rounds.astype({"policy": str}).groupby(["policy", "round"])[[DISTINCT.column, BREACHES.column]].mean()
    last = int(rounds["round"].max())
    distinct, breaches = by[DISTINCT.column].xs(last, level="round"), by[BREACHES.column].groupby("policy").sum()
    found = [(name(each), DISTINCT.text(distinct[each]), BREACHES.text(breaches[each])) for each in policies]
    return said("distinct_people", number=last, subjects=int(rounds["subjects"].max()), policies=found)


def broken_guarantee_sentences(
    broken: pd.DataFrame, name: Callable[[str], str] = str, payoff: str = PUBLISHER_PAYOFF.label
) -> str:
    """Return sentences on wrong beliefs that allow attacks despite a guarantee.

    For each policy that ruled out attacks but was attacked, the text gives its outcome and the outcome with corrected
    beliefs. It is empty if no guarantee was broken.

    Parameters
    ----------
    broken : DataFrame
        See `reidsim.engine.single_run.broken_guarantees`.
    name : callable
        Function that returns the display name of a policy.
    payoff : str
        Label of the publisher's payoff.
    """
    if broken.empty:
        return ""
    rows = broken.astype({"policy": str}).groupby("policy", sort=False)
    policies = {name(str(policy)): own.to_dict("records") for policy, own in rows}
    texts = {"pays": PUBLISHER_PAYOFF.text, "people": DISTINCT.text, "payoff": payoff[:1].lower() + payoff[1:]}
    return said("broken_guarantees", policies=policies, **texts)


def measures_table(measures: pd.DataFrame, content: Mapping[str, Any], name: Callable[[str], str] = str) -> str:
    """Return an HTML table with one row per measure and one column per policy.

    Each row contains the definition of the measure. `measures` has one row per policy and one column per measure;
    `content` is the scenario as plain data; `name` returns the text to show for a policy, and for the label and the
    definition of a measure.
    """
    shown = measures_among(kind_of_content(content).measures_of(content), measures.columns)
    rows = [(measure, list(map(measure.text, measures[column]))) for column, measure in shown.items()]
    return render("measures", {"policies": list(map(str, measures.index)), "rows": rows, "name": name}).strip()
