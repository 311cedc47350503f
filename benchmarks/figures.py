"""Figures of a benchmark: what pieces of work took beside their reference, and how work grows, for `all.py`."""

from __future__ import annotations

from memory import peak_mib

FIGURES: list[dict[str, object]] = []
GROWTH: list[tuple[str, int, float]] = []


def figure(
    work: str, seconds: float, against: str, reference_seconds: float, to_reach: float = 0.0, *, at_most: bool = False
) -> dict[str, object]:
    """Keep and return what one piece of work took.

    Returns
    -------
    dict
        `work`, `seconds` of ours, `against` what, `reference_seconds`, the `ratio` of the reference to ours (of ours to
        the reference if that is to be `at_most` so much), the ratio `to_reach` (0 for none), and `mib`, the peak memory
        of the process so far.
    """
    row: dict[str, object] = {
        "work": work,
        "seconds": seconds,
        "against": against,
        "reference_seconds": reference_seconds,
        "ratio": seconds / reference_seconds if at_most else reference_seconds / seconds,
        "to_reach": to_reach,
        "at_most": at_most,
        "mib": peak_mib(),
    }
    FIGURES.append(row)
    return row


def grown(work: str, size: int, seconds: float) -> None:
    """Keep what work of one size took."""
    GROWTH.append((work, size, seconds))
