"""Figures of a benchmark for `all.py`: times beside their references, and growth."""

from __future__ import annotations

from memory import peak_mib

FIGURES: list[dict[str, object]] = []
GROWTH: list[tuple[str, int, float]] = []


def figure(
    work: str, seconds: float, against: str, reference_seconds: float, to_reach: float = 0.0, *, at_most: bool = False
) -> dict[str, object]:
    """Keep and return the time of a piece of work.

    Returns
    -------
    dict
        `work`, our `seconds`, the reference (`against`), `reference_seconds`, the `ratio` of the reference
        to ours (its inverse with `at_most`), the ratio `to_reach` (0 for none), and `mib`, the peak memory
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
    """Keep the time of work at a given size."""
    GROWTH.append((work, size, seconds))
