"""Matching each record's payoffs under one policy with those under another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reidsim.errors import InputError, listed, not_among
from reidsim.figures.inputs import checked, refuse_repeated
from reidsim.figures.style import ordered_policies
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF
from reidsim.measures import columns_of
from reidsim.releases.strategy_space import Floats

_PAYOFFS = columns_of((PUBLISHER_PAYOFF, ADVERSARY_PAYOFF))
# What no policy can beat or undercut says nothing about the others and stretches the axes.
EXTREMES = ("no-protection", "suppress-all")


@dataclass(frozen=True)
class Comparison:
    """Payoffs under a reference policy and the policies compared with it.

    Parameters
    ----------
    reference : str
    policies : list of str
        In the order in which to show them.
    payoffs : dict of str to ndarray of float64, shape (2, n_records)
        The publisher's and the adversary's, per policy; records in one order for all.
    """

    reference: str
    policies: list[str]
    payoffs: dict[str, Floats]

    def differences(self, policy: str) -> Floats:
        """Return the policy's payoffs minus the reference's, shape (2, n_records)."""
        own, reference = self.payoffs[policy], self.payoffs[self.reference]
        difference = own - reference
        # Sums taken in another order differ by rounding, which is no gain.
        rounding = 1e-9 * np.maximum(np.abs(own), np.abs(reference)).max(axis=1, keepdims=True)
        return np.where(np.abs(difference) <= rounding, 0.0, difference)


def compare(records: pd.DataFrame, reference: str, policies: Sequence[str] | None) -> Comparison:
    """Match the rows of different policies by record.

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with columns ``record``, ``policy``, ``publisher_payoff`` and
        ``adversary_payoff``.
    reference : str
    policies : sequence of str, optional
        All but the reference, no-protection and suppress-all, if not given.

    Raises
    ------
    InputError
        If the table is empty or lacks a column, a policy or a record under one of the policies.
    """
    table = checked(records, "records", text=("record", "policy"), numbers=_PAYOFFS)
    present = ordered_policies(table["policy"])
    if reference not in present:
        raise _no_such_policy("reference policy missing", reference, present)
    others = [policy for policy in present if policy != reference]
    chosen = (
        [policy for policy in others if policy not in EXTREMES] if policies is None else list(dict.fromkeys(policies))
    )
    for policy in chosen:
        if policy not in others:
            raise _no_such_policy("no such policy to compare", policy, others)
    if not chosen:
        raise InputError(
            f"no policy to compare with {reference!r}", source="records table", where="column 'policy'",
            found=listed(present),
        )  # fmt: skip
    refuse_repeated(table, ("record", "policy"), "records")
    by_policy = {name: rows.set_index("record") for name, rows in table.groupby("policy", sort=False)}
    order = by_policy[reference].index
    payoffs = {}
    for policy in (reference, *chosen):
        rows = by_policy[policy]
        unmatched = order.symmetric_difference(rows.index)
        if len(unmatched):
            raise InputError(
                f"a record has a row under only one of {reference!r} and {policy!r}",
                source="records table",
                where="column 'record'",
                found=str(unmatched[0]),
                expected="a row under both",
            )
        payoffs[policy] = rows.loc[order, _PAYOFFS].to_numpy(dtype=np.float64).T
    return Comparison(reference, chosen, payoffs)


def _no_such_policy(problem: str, policy: str, present: list[str]) -> InputError:
    return not_among(problem, policy, present, source="records table", where="column 'policy'")
