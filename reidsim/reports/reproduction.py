"""Which papers the ledger covers, and how their pages are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reidsim.errors import InputError, nearest
from reidsim.reports import (
    reproduction_prasser2017,
    reproduction_wan2015,
    reproduction_wan2021,
    reproduction_xia2015,
    reproduction_xia2021,
)
from reidsim.reports.ledger import Ledger

_PAPERS: dict[str, Callable[[], Ledger]] = {
    "wan2015": reproduction_wan2015.ledger,
    "xia2015": reproduction_xia2015.ledger,
    "prasser2017": reproduction_prasser2017.ledger,
    "wan2021": reproduction_wan2021.ledger,
    "xia2021": reproduction_xia2021.ledger,
}


def reproduce(papers: Sequence[str] = ()) -> list[Ledger]:
    """Run the studies of some papers (all, if none is named) and compare them with what was printed.

    Raises
    ------
    InputError
        If a paper is unknown.
    """
    unknown = [paper for paper in papers if paper not in _PAPERS]
    if unknown:
        raise InputError(
            "no such paper",
            found=unknown[0],
            expected=f"some of {', '.join(_PAPERS)}",
            hint=nearest(unknown[0], _PAPERS),
        )
    return [_PAPERS[paper]() for paper in papers or _PAPERS]
