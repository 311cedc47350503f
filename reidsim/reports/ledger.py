"""The reproduction ledger: what a paper prints beside what reidsim computes, with a verdict for every number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"


@dataclass(frozen=True)
class Entry:
    """One printed number.

    Parameters
    ----------
    where : str
        Table, figure or sentence of the paper.
    what : str
        The quantity.
    printed : float or str
        As printed; text for a claim that is not one number.
    ours : float or str
        As computed, or the answer to the claim.
    tolerance : float, optional
        Largest absolute difference that counts as reproduced; a claim in words carries its verdict itself.
    holds : bool, optional
        Verdict of a claim in words.
    form : str
        How numbers are printed.
    note : str
        Why a number differs, or how it has to be read.
    """

    where: str
    what: str
    printed: float | str
    ours: float | str
    tolerance: float | None = None
    holds: bool | None = None
    form: str = "{:,.2f}"
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the number is reproduced."""
        if self.holds is not None:
            return REPRODUCED if self.holds else NOT_REPRODUCED
        if isinstance(self.printed, str) or isinstance(self.ours, str) or self.tolerance is None:
            raise ValueError(f"entry {self.what!r} has neither numbers with a tolerance nor a verdict")
        return REPRODUCED if abs(self.ours - self.printed) <= self.tolerance else NOT_REPRODUCED

    @property
    def cells(self) -> tuple[str, str, str, str, str, str, str]:
        """The row as text: where, what, printed, ours, difference, verdict, note."""
        numeric = not isinstance(self.printed, str) and not isinstance(self.ours, str)
        difference = self._text(float(self.ours) - float(self.printed)) if numeric else ""
        return (
            self.where,
            self.what,
            self._text(self.printed),
            self._text(self.ours),
            difference,
            self.verdict,
            self.note,
        )

    def _text(self, value: float | str) -> str:
        if isinstance(value, str):
            return value
        text = self.form.format(value)
        return text if text.strip("-0.,") else text.removeprefix("-")


@dataclass(frozen=True)
class Ledger:
    """All printed numbers of a paper.

    Parameters
    ----------
    scenario : str
        Name of the bundled scenario.
    paper : str
        Full reference.
    how : str
        How the numbers were made and what the tolerances are, in Markdown.
    entries : sequence of Entry
    """

    scenario: str
    paper: str
    how: str
    entries: Sequence[Entry]

    def markdown(self) -> str:
        """Return the paper's section of the ledger."""
        header = ("Where", "What", "Printed", "Ours", "Difference", "Verdict", "Note")
        done = sum(entry.verdict == REPRODUCED for entry in self.entries)
        lines = [f"## {self.scenario}", "", f"{self.paper}.", "", self.how.strip(), ""]
        lines += [f"{done} of {len(self.entries)} printed numbers and claims are reproduced.", ""]
        lines += [_row(header), _row(["---"] * len(header)), *(_row(entry.cells) for entry in self.entries), ""]
        return "\n".join(lines)


def ledger_page(ledgers: Iterable[Ledger]) -> str:
    """Return the whole page ``docs/reproduction.md``."""
    head = [
        "# Reproduction ledger",
        "",
        "What the papers print beside what reidsim computes. This page is the output of",
        "",
        "```sh",
        "reidsim reproduce -o docs/reproduction.md",
        "```",
        "",
        "A number counts as reproduced when it differs from the printed one by no more than the stated tolerance.",
        "",
    ]
    return "\n".join(head) + "\n" + "\n".join(ledger.markdown() for ledger in ledgers)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
