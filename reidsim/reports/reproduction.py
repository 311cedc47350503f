"""Which papers the ledger covers, and how their pages are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reidsim.errors import require_among
from reidsim.reports import (
    reproduction_prasser2017,
    reproduction_wan2015,
    reproduction_wan2021,
    reproduction_xia2015,
    reproduction_xia2021,
)
from reidsim.reports.ledger import Ledger
from reidsim.scenarios.study import Progress

_PAPERS: dict[str, Callable[[], Ledger]] = {
    "wan2015": reproduction_wan2015.ledger,
    "xia2015": reproduction_xia2015.ledger,
    "prasser2017": reproduction_prasser2017.ledger,
    "wan2021": reproduction_wan2021.ledger,
    "xia2021": reproduction_xia2021.ledger,
}


def reproduce(papers: Sequence[str] = (), *, progress: Progress | None = None) -> list[Ledger]:
    """Run the studies of some papers (all, if none is named) and compare them with what was printed.

    Raises
    ------
    InputError
        If a paper is unknown.
    """
    require_among("no such paper", papers, _PAPERS)
    chosen, found = list(papers or _PAPERS), []
    for done, paper in enumerate(chosen):
        if progress is not None:
            progress("papers", done, len(chosen))
            progress(f"reproducing {paper}", 0, 1)
        found.append(_PAPERS[paper]())
    return found
