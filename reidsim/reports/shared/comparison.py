"""Compare the releases of policies with the source records and with each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.core.errors import InputError, require_among
from reidsim.core.tables import coded
from reidsim.core.wording import BLUE
from reidsim.figures.style import label_axes, new_figure
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.shared.file import Releases
from reidsim.reports.shared.records import SharedRecords

FORMS = ("unchanged", "generalized", "suppressed", "withheld")
BEFORE, WITHHELD, SUCCESS = "before", "(withheld)", "success probability of an attack"
# Largest number of values of a figure; the rarest of more values are one bar.
_MOST_BARS = 20


def compare_columns(releases: Releases, *policies: str) -> pd.DataFrame:
    """Return how each policy releases each quasi-identifier.

    Parameters
    ----------
    releases : Releases
        Releases of a run; see `reidsim.reports.shared.file.releases_of`.
    *policies : str
        Names of policies.

    Returns
    -------
    DataFrame
        One row per quasi-identifier and policy: ``column``, ``policy``, the share of records by form (`FORMS`), and the
        number of distinct released ``values``.

    Raises
    ------
    InputError
        If a policy has no release.
    """
    rows = []
    for policy, shared in _shared(releases, policies).items():
        truth = shared.source.truth
        for name, labels in shared.forms.labels.items():
            is_shared, (label, texts), (value, true) = shared.forms.shared, coded(labels), coded(truth[name])
            is_same, is_hidden = texts.get_indexer(true)[value] == label, np.asarray(texts == SUPPRESSED)[label]
            forms = np.select([~is_shared, is_same, is_hidden], ["withheld", "unchanged", "suppressed"], "generalized")
            shares = {form: float(np.mean(forms == form)) for form in FORMS}
            rows.append({"column": name, "policy": policy, **shares, "values": labels[is_shared].nunique()})
    return pd.DataFrame(rows).sort_values("column", kind="stable", ignore_index=True)


def compare_values(releases: Releases, column: str, *policies: str) -> pd.DataFrame:
    """Return the distribution of a quasi-identifier in the source records and in the releases of policies.

    Parameters
    ----------
    releases, *policies
        As in `compare_columns`.
    column : str
        Name of a quasi-identifier.

    Returns
    -------
    DataFrame
        Share of the records with each value, the index; columns ``before`` and the policies. Withheld records have the
        value ``(withheld)``.

    Raises
    ------
    InputError
        If a policy has no release, or there is no such quasi-identifier.
    """
    found: dict[str, pd.Series[str]] = {}
    for policy, shared in _shared(releases, policies).items():
        require_among("no such quasi-identifier", [column], list(shared.forms.labels), where="column", shown=20)
        found.setdefault(BEFORE, shared.source.truth[column].astype("str"))
        found[policy] = shared.forms.labels[column].astype("str").where(shared.forms.shared, WITHHELD)
    return pd.DataFrame({name: values.value_counts(normalize=True) for name, values in found.items()}).fillna(0.0)


def compare_record(releases: Releases, record: int, *policies: str) -> pd.DataFrame:
    """Return the true and the released values of a record, and its risk.

    Parameters
    ----------
    releases, *policies
        As in `compare_columns`.
    record : int
        Number of the record, from 1.

    Returns
    -------
    DataFrame
        Text: one row per quasi-identifier, the index; columns ``before`` and the policies. The last row has the success
        probability of an attack on the record in the game; 0 if it is withheld.

    Raises
    ------
    InputError
        If a policy has no release, or there is no such record.
    """
    table, success = pd.DataFrame(), [""]
    for policy, shared in _shared(releases, policies).items():
        forms, n = shared.forms, len(shared.forms.labels)
        if not 1 <= record <= n:
            raise InputError("no such record", where="record", found=record, expected=f"1 to {n}")
        table[BEFORE] = shared.source.truth.iloc[record - 1]
        table[policy] = forms.labels.iloc[record - 1] if forms.shared[record - 1] else WITHHELD
        success.append(f"{forms.success[record - 1]:.4f}")
    table.loc[SUCCESS] = success[: table.shape[1]]
    return table


def draw_values(shares: pd.Series[float], title: str) -> Figure:
    """Draw a distribution of `compare_values`, one of its columns, as bars.

    Of more than 20 values, the rarest are one bar.
    """
    figure, [[axes]] = new_figure(1, 1, panel=(3.6, 4.2))
    present = shares[shares > 0].sort_values(ascending=False, kind="stable")
    shown = present[: _MOST_BARS if len(present) <= _MOST_BARS else _MOST_BARS - 1].sort_index()
    if others := len(present) - len(shown):
        shown[f"{others:,} other values"] = present.sum() - shown.sum()
    axes.barh([str(value) or "(empty)" for value in shown.index], shown.to_numpy(), color=BLUE)
    axes.invert_yaxis()
    label_axes(axes, title=title, x="Share of records")
    return figure


def _shared(releases: Releases, policies: tuple[str, ...]) -> dict[str, SharedRecords]:
    require_among("no such policy", policies, list(releases.by_policy), where="policies", shown=20)
    return {policy: releases.by_policy[policy].shared for policy in policies}
