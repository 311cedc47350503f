"""How many records each adversary attacks and re-identifies through which resources, round by round."""

from __future__ import annotations

import pandas as pd

_PLACE = ["replication", "draw", "policy", "round", "adversary"]


def found_through(adversaries: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each combination of resources through which an adversary attacked in a round.

    Parameters
    ----------
    adversaries : DataFrame
        One row per draw, policy, round and adversary; column ``through`` holds records attacked and re-identified by
        combination (see `reidsim.agents.adversary.Adversary.found_through`).
    """
    rows = [
        (*place, through, attacks, breaches)
        for *place, found in adversaries[[*_PLACE, "through"]].itertuples(index=False, name=None)
        for through, (attacks, breaches) in found.items()
    ]
    return pd.DataFrame(rows, columns=[*_PLACE, "through", "attacks", "breaches"])
