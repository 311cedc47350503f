"""Run the papers' studies and compare every printed number with ours, as docs/reference/reproduction.md shows it.

python tools/reproduce.py -o docs/reference/reproduction.md
python tools/reproduce.py wan2015 xia2015
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from reproduction import prasser2017, wan2015, wan2021, xia2015, xia2021
from reproduction.ledger import Ledger, ledger_page

PAPERS: dict[str, Callable[[], Ledger]] = {
    "wan2015": wan2015.ledger,
    "xia2015": xia2015.ledger,
    "prasser2017": prasser2017.ledger,
    "wan2021": wan2021.ledger,
    "xia2021": xia2021.ledger,
}


def reproduce(papers: Iterable[str] = PAPERS) -> list[Ledger]:
    """Run the studies of some papers and compare them with the printed numbers."""
    return [PAPERS[paper]() for paper in papers]


def main() -> None:
    """Print the page, or write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", choices=[*PAPERS, []], help="all, if none is named")
    parser.add_argument("-o", "--output", type=Path, help="file for the page")
    given = parser.parse_args()
    page = ledger_page(reproduce(given.papers or PAPERS))
    if given.output is None:
        print(page, end="")
    else:
        given.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
