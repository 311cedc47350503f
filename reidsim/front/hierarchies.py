"""Define hierarchies of attribute values with functions, as in scenario files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.errors import InputError
from reidsim.releases.hierarchy import Hierarchy
from reidsim.scenarios.hierarchy_schema import Groups, Intervals, LevelsWithTop, Prefix, Suppress
from reidsim.tables import sniff_delimiter
from reidsim.validation import validated

Rule = Suppress | Intervals | Prefix | Groups
# Accepted forms of a hierarchy: a rule, "suppress", a table of levels or its file, or a hierarchy object.
HierarchyLike = Rule | str | Path | pd.DataFrame | Hierarchy


def intervals(
    *widths: int,
    start: int | None = None,
    absorb_remainder: bool = True,
    suppress: bool = True,
    costless_levels: Sequence[int] = (),
) -> Intervals:
    """Generalize whole numbers to intervals of increasing width.

    Parameters
    ----------
    *widths : int
        Interval width at each level; each width is a multiple of the previous one.
    start : int, optional
        Lower bound of the first interval; the smallest category if not given.
    absorb_remainder : bool
        Whether the last full interval also includes the remaining values at the top.
    suppress : bool
        Whether the last level is full suppression (``*``).
    costless_levels : sequence of int
        Levels, counted from 1, at which generalization adds no loss.

    Raises
    ------
    InputError
        If a width is not a whole number of 2 or more.

    See Also
    --------
    prefix : generalize codes to prefixes.
    groups : generalize categories to listed groups.
    suppress : keep or suppress a value.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.intervals(5, 10).widths
    (5, 10)
    """
    content = {"rule": "intervals", "widths": widths, "start": start, "absorb_remainder": absorb_remainder}
    return validated(Intervals, content | _shared(suppress, costless_levels), "intervals")


def prefix(
    *digits: int, pool: Sequence[str] = (), suppress: bool = True, costless_levels: Sequence[int] = ()
) -> Prefix:
    """Generalize codes of equal length to increasingly shorter prefixes.

    Parameters
    ----------
    *digits : int
        Number of characters kept at each level, decreasing.
    pool : sequence of str
        Prefixes of equal length. All codes that start with one of these prefixes form a single group at every level
        that keeps at most as many characters as a prefix has.
    suppress : bool
        Whether the last level is full suppression (``*``).
    costless_levels : sequence of int
        Levels at which generalization adds no loss; level 1 is the first of `digits`.

    See Also
    --------
    intervals : generalize whole numbers to intervals.
    groups : generalize categories to listed groups.
    suppress : keep or suppress a value.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.prefix(3, 1).digits
    (3, 1)
    """
    content = {"rule": "prefix", "digits": digits, "pool": pool}
    return validated(Prefix, content | _shared(suppress, costless_levels), "prefix")


def groups(*levels: Sequence[Sequence[str]], suppress: bool = True, costless_levels: Sequence[int] = ()) -> Groups:
    """Generalize categories to listed groups.

    Parameters
    ----------
    *levels : sequence of sequence of str
        Groups of categories at each level. Categories that are not listed keep their label from the level below.
    suppress : bool
        Whether the last level is full suppression (``*``).
    costless_levels : sequence of int
        Levels, counted from 1, at which generalization adds no loss.

    See Also
    --------
    intervals : generalize whole numbers to intervals.
    prefix : generalize codes to prefixes.
    suppress : keep or suppress a value.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.groups([["nurse", "doctor"], ["baker", "cook"]], suppress=True).groups
    ((('nurse', 'doctor'), ('baker', 'cook')),)
    """
    return validated(Groups, {"rule": "groups", "groups": levels} | _shared(suppress, costless_levels), "groups")


def suppress() -> Suppress:
    """Keep or suppress a value, without levels in between.

    See Also
    --------
    intervals : generalize whole numbers to intervals.
    prefix : generalize codes to prefixes.
    groups : generalize categories to listed groups.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.suppress().rule
    'suppress'
    """
    return Suppress(rule="suppress")


def hierarchy_content(given: HierarchyLike, key: str) -> dict[str, Any]:
    """Return the scenario section of a hierarchy at a key path; its file may be a table in memory.

    Raises
    ------
    InputError
        If the argument is not an accepted form of a hierarchy.
    """
    if isinstance(given, Suppress | LevelsWithTop):
        # Include only keys that the user set, as in a scenario file.
        return {"rule": given.rule, **given.model_dump(exclude_defaults=True, by_alias=True)}
    if isinstance(given, str) and given == "suppress":
        return {"rule": "suppress"}
    if isinstance(given, str | Path) and Path(given).suffix:
        path = Path(given).absolute()
        return {"rule": "table", "file": str(path), "delimiter": sniff_delimiter(path)}
    if isinstance(given, pd.DataFrame):
        return {"rule": "table", "file": given}
    if isinstance(given, Hierarchy):
        costless = {"costless_levels": sorted(given.costless_levels)} if given.costless_levels else {}
        return {"rule": "table", "file": _table_of(given), **costless}
    expected = 'intervals(...), prefix(...), groups(...), "suppress", a DataFrame, a Hierarchy or a file'
    raise InputError("not a hierarchy", source="Scenario", where=key, found=given, expected=expected)


def _shared(suppress: bool, costless_levels: Sequence[int]) -> dict[str, Any]:
    return {"suppress": suppress, "costless_levels": list(costless_levels)}


def _table_of(hierarchy: Hierarchy) -> pd.DataFrame:
    """Return a table with one row per value and one column per level."""
    levels = zip(hierarchy.labels, hierarchy.groups, strict=True)
    return pd.DataFrame(
        {level: np.array(labels, dtype=object)[groups] for level, (labels, groups) in enumerate(levels)}
    )
