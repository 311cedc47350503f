"""Rules for the levels of a hierarchy: intervals, prefixes, groups, suppression."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence

from reidsim.core.errors import InputError, require_among
from reidsim.core.wording import whole_number
from reidsim.populations.domain import Attribute
from reidsim.releases.hierarchy import SUPPRESSED


def interval_levels(
    attribute: Attribute, widths: Sequence[int], *, start: int | None = None, absorb_remainder: bool = True
) -> list[list[str]]:
    """Return labels of whole numbers by intervals of growing width.

    Parameters
    ----------
    attribute : Attribute
        Categories are integers; a trailing ``+`` (``"90+"``) is allowed. The empty category (a missing value) has a
        separate group.
    widths : sequence of int
        Width of the intervals at each level; each width is a multiple of the previous one, so that levels are nested.
    start : int, optional
        Lowest number of the first interval; the smallest category, if not given.
    absorb_remainder : bool
        Whether the last full interval includes the values above it. If not, these form a shorter interval.

    Returns
    -------
    list of list of str
        For each level, the label of each category, such as ``"20-29"``; the number alone for an interval of one number.
        The last interval ends with the largest category. The empty category keeps the empty label.

    Raises
    ------
    InputError
        If a category is not a whole number or is below `start`, all are missing, or the widths do not nest.
    """
    present = _present(attribute)
    number_of = dict(zip(present, whole_numbers(attribute, present), strict=True))
    lowest, top = min(number_of.values()), max(number_of.values())
    low = lowest if start is None else start
    if lowest < low:
        raise InputError("value below the first interval", found=lowest, expected=f"{low} or more")
    for finer, wider in itertools.pairwise(widths):
        if wider <= finer or wider % finer:
            expected = "increasing widths, each a multiple of the previous width"
            raise InputError("intervals do not nest", where="widths", found=list(widths), expected=expected)
    levels = []
    for width in widths:
        starts = list(range(low, top + 1, width))
        if absorb_remainder and len(starts) > 1 and top - starts[-1] + 1 < width:
            starts.pop()
        ends = [following - 1 for following in starts[1:]] + [top]
        names = [f"{first}-{last}" if first < last else str(first) for first, last in zip(starts, ends, strict=True)]
        interval = {value: names[bisect.bisect_right(starts, number) - 1] for value, number in number_of.items()}
        levels.append([interval.get(value, value) for value in attribute.categories])
    return levels


def prefix_levels(attribute: Attribute, digits: Sequence[int], *, pool: Sequence[str] = ()) -> list[list[str]]:
    """Return labels of codes such as ZIP codes by ever shorter prefixes.

    Parameters
    ----------
    attribute : Attribute
        Categories of equal length. The empty category (a missing value) has a separate group.
    digits : sequence of int
        Number of characters kept at each level, in descending order.
    pool : sequence of str
        Prefixes of equal length whose codes are grouped with each other (and with no others) at every level that keeps
        no more characters than they have: the sparsely populated ZIP3 areas of Safe Harbor.

    Returns
    -------
    list of list of str
        For each level, the label of each category, such as ``"372**"``; in brackets with all prefixes for codes of the
        pool, such as ``"[036**, 059**]"``.

    Raises
    ------
    InputError
        If codes or pooled prefixes have several lengths, all codes are missing, digits do not decrease or do not
        shorten the codes, or no code has a pooled prefix.
    """
    lengths = sorted({len(category) for category in _present(attribute)})
    if len(lengths) != 1:
        raise InputError(
            "codes of different lengths",
            where=f"attribute {attribute.name!r}",
            found=lengths,
            expected="codes of one length",
        )
    length = lengths[0]
    if any(not 0 < kept < length for kept in digits) or list(digits) != sorted(set(digits), reverse=True):
        expected = f"decreasing numbers from 1 to less than {length}"
        raise InputError("prefix lengths do not decrease", where="digits", found=list(digits), expected=expected)
    if len({len(prefix) for prefix in pool}) > 1:
        raise InputError(
            "prefixes of different lengths", where="pool", found=list(pool), expected="prefixes of one length"
        )
    unused = [prefix for prefix in pool if not any(c.startswith(prefix) for c in attribute.categories)]
    if unused:
        raise InputError("no code has this prefix", where="pool", found=unused[0])
    levels = []
    for kept in digits:
        pooled = sorted({_masked(prefix[:kept], length) for prefix in pool})
        # The label has brackets even for a single prefix, to distinguish it from codes outside the pool with this
        # prefix.
        pooled_label = f"[{', '.join(pooled)}]"
        in_pool = tuple(prefix for prefix in pool if kept <= len(prefix))
        levels.append(
            [
                pooled_label if category.startswith(in_pool) else _masked(category[:kept], length if category else 0)
                for category in attribute.categories
            ]
        )
    return levels


def group_levels(attribute: Attribute, groups: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Return labels of categories by listed groups.

    Parameters
    ----------
    attribute : Attribute
    groups : sequence of sequence of sequence of str
        For each level, the groups of two or more categories; categories not listed keep their label from the level
        below.

    Returns
    -------
    list of list of str
        For each level, the label of each category: the members of its group, joined by "or".

    Raises
    ------
    InputError
        If a member is not a category, or is in two groups of a level.
    """
    current = list(attribute.categories)
    levels = []
    for number, level in enumerate(groups, start=1):
        merged: dict[str, str] = {}
        for members in level:
            where = f"groups, level {number}"
            require_among("not a category of the attribute", members, attribute.categories, where=where)
            for member in members:
                if member in merged:
                    raise InputError("category in two groups", where=where, found=member)
                merged[member] = " or ".join(members)
        current = [merged.get(category, label) for category, label in zip(attribute.categories, current, strict=True)]
        levels.append(current)
    return levels


def suppression_level(attribute: Attribute) -> list[str]:
    """Return the suppressed label, ``*``, once per category of the attribute."""
    return [SUPPRESSED] * attribute.size


def whole_numbers(attribute: Attribute, categories: Sequence[str] | None = None) -> list[int]:
    """Return the categories of an attribute as whole numbers; ``"90+"`` is 90.

    They are in the order of the categories. If `categories` are given, these are converted instead, and the attribute
    is only named in messages. The empty category is no number.

    Raises
    ------
    InputError
        If a category is not a whole number.
    """
    numbers = []
    for category in attribute.categories if categories is None else categories:
        number = whole_number(category)
        if number is None:
            where = f"attribute {attribute.name!r}"
            raise InputError(
                "not a whole number", where=where, found=category, expected="a whole number, such as 48 or 90+"
            )
        numbers.append(number)
    return numbers


def _present(attribute: Attribute) -> list[str]:
    """Return the categories of an attribute without the empty one, a missing value.

    Raises
    ------
    InputError
        If there is no other category.
    """
    present = [category for category in attribute.categories if category]
    if not present:
        raise InputError("every value is missing", where=f"attribute {attribute.name!r}")
    return present


def _masked(prefix: str, length: int) -> str:
    return prefix + "*" * (length - len(prefix))
