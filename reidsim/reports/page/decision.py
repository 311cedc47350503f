"""Compute the decision on the first page: payoffs, exposure, and release to sign."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reidsim.audit.identifiers import why_identifying
from reidsim.core.errors import InputError
from reidsim.core.validation import validated
from reidsim.core.wording import Code, Inline, counted, number_text
from reidsim.drafts.draft import OF_PAPER
from reidsim.engine.switch import BreakEven
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports import verdict
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.audited import Release
from reidsim.reports.shared.file import Releases
from reidsim.reports.shared.records import SharedRecords, chosen_forms, policies_of
from reidsim.reports.writer import Cell, Table, amount_text, render, shortened
from reidsim.scenarios.hierarchies import Dates, Groups, Intervals, Prefix
from reidsim.scenarios.hierarchies import Table as HierarchyFile
from reidsim.scenarios.kind import GAIN, LOSS, PERSON, gain_goes_with_loss, once_each, section, unit_sentence

_POINTS_SHOWN = 30
# Level of the quantile of the number of people re-identified, less a tolerance for rounding.
_LEVEL = 0.95 - 1e-9
_MEASURES = ["publisher_payoff", "share_attacked", "risk"]
_CROSS_PLAY = ["defender", "plans_against", "adversary"]
_SAMPLES = 3
# Maximum number of other columns on the first page, and of columns in the appendix.
_MOST_ON_FIRST_PAGE, _MOST_IN_APPENDIX = 12, 60
# Maximum number of cells shown per policy.
_MOST_CELLS = 8
_ARROW = " \N{RIGHTWARDS ARROW} "


def decision(run: StoredRun, releases: Releases | None, even: BreakEven | None, *, samples: bool) -> dict[str, Any]:
    """Return the values of the template `decision`, the first page of a report.

    Values are by name. For a run of policies, they are the payoff and exposure of each policy and the release to sign.
    For a stress test, cross-play or assessment, they are its verdict; for other results and runs that all failed, a
    message.

    Parameters
    ----------
    run : StoredRun
        Results of the run.
    releases : Releases or None
        None if the records of the run are not from a file, or not found.
    even : BreakEven or None
        Best policies at other losses; None if they were not computed or cannot be.
    samples : bool
        Whether to show values of sample rows.

    Raises
    ------
    InputError
        If a table cannot be read.
    """
    if "runs" not in run.tables:
        return _under_uncertainty(run)
    kind, message = "", "This kind of run has no policies to compare; the tables and figures follow."
    if run.runs.empty:
        kind, message = "warning", "No run finished, so there is no answer."
    elif {"policy", *_MEASURES} <= set(run.runs.columns):
        return _policies(run, releases, even, samples)
    elif {"knowledge", "overall_risk"} <= set(run.runs.columns):
        kind, message = "answer", verdict.assessment_verdict(run.runs, cohorts=run.table_with("cohorts"))
    return {"message": message, "message_kind": kind}


def read_back_html(run: StoredRun, releases: Releases, name: Callable[[str], str] = str) -> str:
    """Return the HTML of the recommended release of a run and its read-back check.

    It begins with the sentence of the report that states what counts as one unit, records or people. `name` returns the
    display name of a policy.
    """
    payoffs = {name(policy): payoff for policy, payoff in mean_payoffs(run).items()}
    named = replace(releases, by_policy={name(policy): each for policy, each in releases.by_policy.items()})
    context = {"run": run, "releases": named, "payoffs": payoffs, "unit": run.units[0], "kind": ""}
    return render("read_back", {**context, "unit_sentence": unit_sentence(run.manifest)})


def mean_payoffs(run: StoredRun) -> dict[str, float]:
    """Return the publisher's mean payoff per record of each compared policy.

    Payoffs are by policy name. The highest payoff comes first. Policies whose payoffs belong to another game are not
    compared, unless there is no other policy.
    """
    return {str(name): float(payoff) for name, payoff in _means(run)[1]["publisher_payoff"].items()}


def _means(run: StoredRun) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return mean measures over rounds and points of all and of the compared policies.

    Both tables have one row per policy. The compared policies, in descending order of the payoff, are the ones whose
    payoffs do not belong to another game, or all policies if there is none.
    """
    columns = [name for name in (*_MEASURES, "utility") if name in run.runs]
    means = run.runs.astype({"policy": str}).groupby("policy", sort=False)[columns].mean()
    compared = verdict.compared_policies(means, run.policies)
    return means, compared.sort_values("publisher_payoff", ascending=False, kind="stable")


def _policies(run: StoredRun, releases: Releases | None, even: BreakEven | None, samples: bool) -> dict[str, Any]:
    means, order = _means(run)
    rows, payoffs = _rows(run, order), mean_payoffs(run)
    n_points = run.runs["point"].nunique() if "point" in run.runs else 1
    decides = "subject" if run.kind is not None and run.kind.decides == "subject" else "publisher"
    of_rounds = []
    if "broken_guarantees" in run.tables:
        broken = run.table("broken_guarantees")
        of_rounds.append(verdict.broken_guarantee_sentences(broken, payoff=f"{decides}'s payoff"))
    if "rounds" in run.tables and n_points == 1:
        of_rounds.append(verdict.distinct_people(run.table("rounds"), list(order.index)))
    economics = section(run.content, "economics")
    names = ("benefit", "loss", "gain", "cost") if {"benefit", "loss", "cost"} <= set(economics) else ()
    context = {
        "message": "",
        "cross_play": None,
        "rows": rows,
        "safest": next(row for row in rows if row["name"] == verdict.least_exposed(order)),
        "releases": releases,
        "payoffs": payoffs,
        "run": run,
        "unit": run.units[0],
        "n_points": n_points,
        "decides": "subjects" if decides == "subject" else decides,
        "tied": [name for name, payoff in payoffs.items() if verdict.same_payoff(payoff, rows[0]["payoff"])],
        "of_rounds": of_rounds,
        "even": even,
        "prices": {name: economics.get(name, economics["loss"]) for name in names},
        "of_paper": OF_PAPER | {"gain": OF_PAPER["loss"]},
        "meanings": {name: run.policies[name].description for name in means.index if name in run.policies},
        "paired": _paired(run.runs, order) if n_points == 1 else None,
        "apart": means.loc[~means.index.isin(order.index), "publisher_payoff"].to_dict(),
        "some_risk_is_0": bool((means["risk"] == 0).any()),
        "points": _points(run) if n_points > 1 else None,
    }
    if releases is not None:
        signed = releases.by_policy[releases.to_sign(payoffs)]
        context["singled_out"] = signed.audit["singled_out"]
        context["columns"] = columns_of_release(signed, samples=samples)
    return context


def _rows(run: StoredRun, order: pd.DataFrame) -> list[dict[str, Any]]:
    """Return payoff and exposure of each compared policy, one dict per policy.

    Numbers are means over records, rounds, and points and replications of a batch. `order` has one row of mean measures
    per policy, highest payoff first. Entries: ``name``; ``payoff`` per record; ``given_up``, the difference from the
    highest payoff as text; ``attacked``, the share of the records attacked; ``risk``, the mean probability of
    re-identification; ``utility``, the mean share of the full benefit that the release keeps; ``people``, the expected
    number of people re-identified (or the risk if the number of people is unknown) as text; ``high``, the 95th
    percentile of the number of people re-identified, which is random; ``highest``, the highest probability over records
    that an attack would identify the person, whether or not it is made, 0 for withheld records. Unknown values are
    None.
    """
    found = run.table_with("reidentified", {"policy", "people", "at_most"}).astype({"policy": str})
    likely = found[found["at_most"] >= _LEVEL].groupby("policy")["people"].min()
    records = run.table_with("records", {"policy", "success_probability"})
    attackable = once_each(records, run.content).astype({"policy": str})
    highest = attackable.fillna({"success_probability": 0.0}).groupby("policy")["success_probability"].max()
    most = float(order["publisher_payoff"].iloc[0])
    return [
        {
            "name": name,
            "payoff": row["publisher_payoff"],
            "given_up": _difference(most, row["publisher_payoff"]),
            "attacked": row["share_attacked"],
            "risk": row["risk"],
            "utility": row.get("utility"),
            "people": f"{row['risk']:.4f}" if run.n_counted is None else _people_text(row["risk"] * run.n_counted),
            "high": int(likely[name]) if name in likely else None,
            "highest": float(highest.get(name, 0.0)) if len(records) else None,
        }
        for name, row in zip(map(str, order.index), order.to_dict("records"), strict=True)
    ]


def _people_text(number: float) -> str:
    if math.isnan(number):
        return "-"
    return "fewer than 0.1" if 0 < number < 0.1 else f"{number:,.{1 if 0 < number < 10 else 0}f}"


def _difference(larger: float, smaller: float) -> str:
    """Return the difference of two amounts as text; "-" if they are equal.

    Amounts are equal if they differ only by rounding errors (`same_payoff`). Otherwise, amounts are rounded to two
    decimals before subtraction, except if both round to the same value.
    """
    if verdict.same_payoff(larger, smaller):
        return "-"
    written = round(larger, 2), round(smaller, 2)
    return amount_text(larger - smaller if verdict.same_payoff(*written) else written[0] - written[1])


def _paired(runs: pd.DataFrame, order: pd.DataFrame) -> dict[str, Any] | None:
    """Return the lead in payoff of the best policy over the second, and its error.

    Entries: names of both policies (``first``, ``second``), ``number`` of differences, ``mean``, standard ``error`` and
    ``is_clear``. `order` is indexed by policy, best first; `runs` has one row per replication and policy. Both are
    computed from differences within replications; the lead is clear if it exceeds two standard errors. None if there
    are fewer than two policies, or fewer than two replications with both.
    """
    if len(order) < 2 or not {"point", "replication"} <= set(runs.columns):
        return None
    first, second = order.index[:2]
    wide = runs.pivot_table(index=["point", "replication"], columns="policy", values="publisher_payoff", observed=True)
    lead = (wide[first] - wide[second]).dropna()
    numbers = {"number": len(lead), "mean": lead.mean(), "error": lead.sem()}
    clear = abs(lead.mean()) > 2 * lead.sem()
    return {"first": first, "second": second, **numbers, "is_clear": clear} if len(lead) > 1 else None


def _points(run: StoredRun) -> dict[str, Any]:
    """Return the number of points at which each policy is best, and a table of points.

    The entries are ``best`` and ``table``. Points are the values of the scenario keys that a sweep or uncertainty
    varies. Payoffs and risks are means over the replications of a point; of equally good policies, the first counts.
    The table shows the first 30 points and is None if no key is varied.
    """
    runs = verdict.compared_policies(run.runs.set_index("policy"), run.policies)
    means = runs.groupby(["point", "policy"], sort=False, observed=True)[["publisher_payoff", "risk"]].mean()
    best = means["publisher_payoff"].unstack().idxmax(axis=1).astype(str)
    varied = [column for column in runs.columns if "." in column]
    values = run.runs.groupby("point", sort=False, observed=True)[varied].first()
    if gain_goes_with_loss(run.content, varied):
        varied.insert(varied.index(LOSS) + 1, GAIN)
        values[GAIN] = values[LOSS]
    rows: list[list[Cell]] = []
    for point, policy in zip(best.index[:_POINTS_SHOWN].tolist(), best, strict=False):
        payoff, risk = means.loc[(point, policy)]
        rows.append([*map(number_text, values.loc[point, varied]), Code(policy), f"{payoff:,.2f}", f"{risk:.4f}"])
    more = f"; the first {_POINTS_SHOWN} of {len(best):,}" if len(best) > _POINTS_SHOWN else ""
    header: list[Inline] = [*map(Code, varied), "Pays most", "Payoff per record", "Risk"]
    table = Table(header, rows, f"Best policy by point{more}", frozenset({len(varied)}))
    return {"best": best.value_counts().to_dict(), "table": table if varied else None}


def _under_uncertainty(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `decision` for a stress test or cross-play.

    Of a stress test, the value is its verdict. Of cross-play, they are the best defenders, each as a dict or None.
    ``own``: highest payoff against the scenario's own adversary. ``safest``: highest least payoff over all adversaries.
    ``least_regret``: lowest largest regret. ``runs`` is the number of successful runs, 0 for a single run.
    """
    if len(run.table_with("robustness", {"policy", "mean_payoff", "worst_payoff", "largest_regret", "points"})):
        tables = {name: run.table_with(name) for name in ("robustness", "sensitivity", "tornado", "guarantee")}
        return {"message": verdict.stress_verdict(tables, run.units[0]), "message_kind": "answer"}
    table, n_runs = run.table_with("cross_play", {*_CROSS_PLAY, "publisher_payoff"}), 0
    if table.empty:
        text = "These results have no table that compares policies under uncertainty; the tables and figures follow."
        return {"message": text, "message_kind": ""}
    if "state" in table:
        table = table[table["state"] == "complete"]
        n_runs = table["run"].nunique()
        table = table.groupby(_CROSS_PLAY, sort=False, observed=True)["publisher_payoff"].mean().reset_index()
    table = table.sort_values("publisher_payoff", ascending=False, kind="stable")
    cases = run.table_with("worst_cases", {"minimax_regret"})
    chosen = {
        "own": table[table["adversary"] == run.manifest.get("own_adversary")],
        "safest": table.groupby(["defender", "plans_against"], sort=False, observed=True).tail(1),
        "least_regret": cases[cases["minimax_regret"].astype(bool)],
    }
    found = {name: next(iter(rows.to_dict("records")), None) for name, rows in chosen.items()}
    return {"message": "", "cross_play": found | {"runs": n_runs}}


def columns_of_release(release: Release, *, samples: bool) -> dict[str, Any]:
    """Return the treatment of all columns of the source file, for template `columns`.

    If the file has more than 12 columns that are not quasi-identifiers, ``shown`` has only the quasi-identifiers, and
    ``others`` the first 60 other columns, with the numbers of further kept and omitted columns in ``more``. Else,
    ``shown`` has all columns and ``others`` is None.

    Parameters
    ----------
    release : Release
        Released rows of a policy.
    samples : bool
        Whether to show up to three sample rows, which contain values of real people.
    """
    shared, source = release.shared, release.shared.source
    places = _sample_rows(release) if samples else []
    rows: dict[str, list[list[Cell]]] = {"changed": [], "kept": [], "omitted": []}
    shared_rows: list[list[Cell]] = []
    for column in map(str, source.frame.columns):
        if column in source.attribute_of:
            way, words = "changed", _treatment(shared, source.attribute_of[column])
            cells = _changes(shared, column, places)
        elif column in shared.kept_columns:
            reason = shared.declared.get(column)
            words = "kept as it is" + (f"; declared unknown to outsiders: {reason}" if reason else "")
            way, cells = "kept", ["unchanged"] * len(places)
        else:
            why = why_identifying(column, source.frame[column], source.persons)
            words = f"omitted: direct identifier ({why})" if why else "omitted"
            way, cells = "omitted", ["omitted"] * len(places)
        rows[way].append([Code(column), words, *cells])
        shared_rows += [rows[way][-1]] if way != "omitted" else []
    others, n_kept = rows["kept"] + rows["omitted"], len(rows["kept"])
    is_wide, more_kept = len(others) > _MOST_ON_FIRST_PAGE, max(0, n_kept - _MOST_IN_APPENDIX)
    return {
        "header": ["Column", "In the release", *(f"Sample row {at}" for at in range(1, len(places) + 1))],
        "shown": rows["changed"] if is_wide else shared_rows + rows["omitted"],
        "others": [row[:2] for row in others[:_MOST_IN_APPENDIX]] if is_wide else None,
        "more": {"kept": more_kept, "omitted": max(0, len(others) - _MOST_IN_APPENDIX) - more_kept},
        "numbers": {"all": len(source.frame.columns), "kept": n_kept, "omitted": len(rows["omitted"])},
        "policy": shared.policy,
        "arrow": _ARROW if places else "",
    }


def _sample_rows(release: Release) -> list[int]:
    """Return the positions of sample rows in the table of released rows, from 0.

    There are at most three. Each is the first row with its combination of released quasi-identifiers. The
    combinations that match the true values of most people come first. Counterfeit rows are no samples.
    """
    real = np.flatnonzero(release.shared.is_real)
    forms = release.shared.table.iloc[real][list(release.shared.quasi_identifiers)]
    first = ~forms.duplicated().to_numpy() if forms.shape[1] else np.arange(len(real)) == 0
    order = np.argsort(-release.people_of_row[first], kind="stable")[:_SAMPLES]
    return [int(place) for place in real[first][order]]


def _changes(shared: SharedRecords, column: str, places: list[int]) -> list[Cell]:
    """Return texts with the value of a quasi-identifier before and after the release.

    `places` are positions in the table of released rows; the result is a list with one text for each, in this order.
    The text is the source value, an arrow and the released value, also if both are equal. Empty values are shown as
    ``(empty)``, and long ones are shortened. `column` is the name of the quasi-identifier in the source file.
    """
    name = column if shared.source.columns.header else shared.source.attribute_of[column]
    before = shared.source.frame[column].iloc[shared.own[places]].astype(str).str.strip()
    pairs = zip(before, shared.table[name].iloc[places].astype(str), strict=True)
    return [_ARROW.join(shortened(value or "(empty)") for value in pair) for pair in pairs]


def _treatment(shared: SharedRecords, attribute: str) -> str:
    """Return the treatment of a quasi-identifier as text, such as "suppressed".

    Another treatment is "generalized to year". If there are several treatments, the text gives the share of released
    rows of each, largest first. Without a released row, it is "withheld: no row is released".
    """
    rows = shared.own[shared.is_real]
    if not len(rows):
        return "withheld: no row is released"
    labels, truth = (
        table[attribute].iloc[rows].astype(str).to_numpy() for table in (shared.forms.labels, shared.source.truth)
    )
    attributes, names = list(shared.source.columns.column_of), _level_names(shared, attribute)
    place, strategies = pd.factorize(shared.forms.strategies.iloc[rows])
    parts = [str(name).split(",") for name in strategies]
    same, generalized = labels == truth, np.full(len(rows), "generalized", dtype=object)
    # Other strategies than generalization levels have other names.
    if all(len(levels) == len(attributes) and all(map(str.isdigit, levels)) for levels in parts):
        levels = np.array([int(levels[attributes.index(attribute)]) for levels in parts])[place]
        words = np.array(["", *(f"generalized to {name}" for name in names), "generalized"], dtype=object)
        # The level above the named levels is suppression.
        same, generalized = levels == 0, words[np.minimum(levels, len(words) - 1)] if names else generalized
    ways = np.where(same, "shared as is", np.where(labels == SUPPRESSED, "suppressed", generalized))
    shares = pd.Series(ways).value_counts(normalize=True).sort_index().sort_values(ascending=False, kind="stable")
    if len(shares) == 1:
        return str(shares.index[0])
    return "; ".join(f"{way} in {_percent(share)}" for way, share in shares.items())


def _percent(share: float) -> str:
    return f"{share:.0%}" if 0.005 <= share <= 0.995 else "less than 1%" if share < 0.5 else "over 99%"


def _level_names(shared: SharedRecords, attribute: str) -> Sequence[str]:
    """Return the names of the levels between a value and its suppression.

    They are levels of a quasi-identifier, finest first. The result is empty if the hierarchy is suppression alone or
    unknown. For a hierarchy file, whose number of levels is unknown, it has 99 names.
    """
    match getattr(getattr(shared.source.scenario, "attributes", {}).get(attribute), "hierarchy", None):
        case Dates(levels=levels):
            return levels
        case Intervals(widths=widths):
            return [f"intervals of {width:,}" for width in widths]
        case Prefix(digits=digits):
            return [f"the first {counted(kept, 'character')}" for kept in digits]
        case Groups(groups=[_]):
            return ["groups"]
        case Groups(groups=groups):
            return [f"groups of level {level}" for level in range(1, len(groups) + 1)]
        case HierarchyFile():
            # The number of levels in the file is unknown here, so more names are given than needed.
            return [f"level {level} of its hierarchy file" for level in range(1, 100)]
    return ()


def highest_risk(run: StoredRun, shown: Sequence[str] | None = None) -> dict[str, Any] | None:
    """Return the values of the template `highest_risk`.

    For each policy, they contain the up to eight cells (combinations of released values) with the highest success
    probability of an attack; among equals, cells with more people come first.

    Parameters
    ----------
    run : StoredRun
        Results of the run.
    shown : sequence of str, optional
        Names of the policies to show; all if not given.

    Returns
    -------
    dict or None
        ``rows``: policy, cell in words, number of people, and success probability, as texts; ``unit`` and ``units``:
        the unit of counts; ``most``: eight. None if the run keeps or releases no values, or its kind or version of
        scenario is not installed.

    Raises
    ------
    InputError
        If the table of records cannot be read.
    """
    records = run.table_with("records", {"success_probability"})
    attributes = [name for name in run.attributes if name in records.columns]
    if records.empty or run.kind is None or not attributes:
        return None
    try:
        scenario = validated(run.kind.schema, run.content, run.name)
        policies = policies_of(run) if shown is None else shown
    except InputError:
        return None
    rows: list[list[Cell]] = []
    for policy in policies:
        forms = chosen_forms(run, run.kind, scenario, attributes, policy)
        person = records.loc[records["policy"] == policy, PERSON].to_numpy() if PERSON in records else None
        table = forms.labels.assign(success_=forms.success, person_=forms.labels.index if person is None else person)
        groups = table[forms.shared].groupby(attributes, sort=False, observed=True)
        cells = groups.agg(success_=("success_", "max"), person_=("person_", "nunique")).reset_index()
        order = ["rounded_", "person_"]
        worst = cells.assign(rounded_=cells["success_"].round(12)).sort_values(order, ascending=False, kind="stable")
        for row in worst.head(_MOST_CELLS).to_dict("records"):
            values = [f"{name} {row[name] or '(empty)'}" for name in attributes if row[name] != SUPPRESSED]
            words = shortened(", ".join(values)) if values else "all values suppressed"
            rows.append([Code(policy), words, f"{row['person_']:,}", f"{row['success_']:.4f}"])
    return {"unit": run.units[0], "units": run.units, "rows": rows, "most": _MOST_CELLS} if rows else None
