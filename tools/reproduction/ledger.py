"""The reproduction ledger: printed numbers beside computed ones, with a verdict for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from markdown_text import table, wrapped

from reidsim.core.files import read_toml

REPRODUCED = "reproduced"
CALIBRATED = "calibrated"
NOT_REPRODUCED = "not reproduced"
# Largest tolerance, as a share of the printed number, unless its file sets a lower one.
_MOST = 0.25
# A note of at least 4 words on at least 3 numbers of a list is printed once, below the list.
_LONG, _OFTEN = 4, 3


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
    calibrated : bool
        Whether an input that the paper does not print was chosen so that this number comes out.
    """

    where: str
    what: str
    printed: float | str
    ours: float | str
    tolerance: float | None = None
    holds: bool | None = None
    form: str = "{:,.2f}"
    note: str = ""
    calibrated: bool = False

    @property
    def verdict(self) -> str:
        """Whether the number is reproduced; one that agrees because it was calibrated is not."""
        if not self._agrees:
            return NOT_REPRODUCED
        return CALIBRATED if self.calibrated else REPRODUCED

    @property
    def _agrees(self) -> bool:
        if self.holds is not None:
            return self.holds
        if isinstance(self.printed, str) or isinstance(self.ours, str) or self.tolerance is None:
            raise ValueError(f"entry {self.what!r} has neither numbers with a tolerance nor a verdict")
        return abs(self.ours - self.printed) <= self.tolerance

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The row as text: where, what, printed, ours, note."""
        return (self.where, self.what, self._text(self.printed), self._text(self.ours), self.note)

    def _text(self, value: float | str) -> str:
        if isinstance(value, str):
            return value
        text = self.form.format(value)
        return text if text.strip("-0.,") else text.removeprefix("-")


@dataclass(frozen=True)
class Found:
    """A computed value with its verdict, error or note.

    Parameters
    ----------
    value : float or str
        As computed, or the answer to a claim in words.
    holds : bool, optional
        Verdict of a claim in words; whether the answer is the printed one, if not given.
    error : float
        Error of the computed value; replaces a smaller tolerance, within the same limit.
    note : str
        Printed before the note of the printed number.
    """

    value: float | str
    holds: bool | None = None
    error: float = 0.0
    note: str = ""


# A computed value: a number, an answer in words, or a `Found`.
Computed = float | str | Found


@dataclass(frozen=True)
class Aside:
    """Printed numbers compared with values that are not independent of them; none counts as reproduced.

    Parameters
    ----------
    how : str
        Which reading it is and how it was found, in Markdown.
    entries : sequence of Entry
    """

    how: str
    entries: Sequence[Entry]

    def markdown(self) -> str:
        """Return the comparison, and the number of agreements."""
        agree = f"{_count(self.entries, REPRODUCED)} of {len(self.entries)} numbers agree."
        return "\n".join([wrapped(f"Not counted: {self.how} {agree}"), "", *_list(self.entries), ""])


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
        Origin of the numbers and tolerances, in Markdown.
    entries : sequence of Entry
    asides : sequence of Aside
        Other readings, which are not counted.
    """

    scenario: str
    paper: str
    how: str
    entries: Sequence[Entry]
    asides: Sequence[Aside] = ()

    def count(self, verdict: str) -> int:
        """Return how many entries have a verdict."""
        return _count(self.entries, verdict)

    def markdown(self) -> str:
        """Return the paper's section of the ledger: entries not reproduced, calibrated, and reproduced (folded)."""
        of = {
            verdict: [entry for entry in self.entries if entry.verdict == verdict]
            for verdict in (NOT_REPRODUCED, CALIBRATED, REPRODUCED)
        }
        calibrated = f", and {len(of[CALIBRATED])} are calibrated" if of[CALIBRATED] else ""
        lines = [f"## {self.scenario}", "", wrapped(f"{self.paper}."), "", wrapped(self.how), ""]
        lines += [
            f"{len(of[REPRODUCED])} of {len(self.entries)} printed numbers and claims are reproduced{calibrated}.",
            "",
        ]
        for verdict in (NOT_REPRODUCED, CALIBRATED):
            if of[verdict]:
                lines += [f"{verdict.capitalize()}:", "", *_list(of[verdict]), ""]
        if of[REPRODUCED]:
            # Behind a title that opens it, on the site as on GitHub.
            title = f"<summary>Reproduced: {len(of[REPRODUCED])} printed numbers and claims</summary>"
            lines += ['<details markdown="1">', title, "", *_list(of[REPRODUCED]), "", "</details>", ""]
        return "\n".join([*lines, *(aside.markdown() for aside in self.asides)])


def _count(entries: Iterable[Entry], verdict: str) -> int:
    return sum(entry.verdict == verdict for entry in entries)


def compared(scenario: str, paper: str, found: Mapping[str, Computed]) -> Ledger:
    """Compare computed values with the printed numbers and claims of a paper, in ``printed/SCENARIO.toml``.

    Parameters
    ----------
    scenario : str
        Name of the bundled scenario.
    paper : str
        Full reference.
    found : mapping
        Computed values by the key of the printed number; further keys are ignored.
    """
    printed = read_toml(Path(__file__).with_name("printed") / f"{scenario}.toml")
    page = {key: value for key, value in printed.items() if key in ("most", "zero")}
    asides = [Aside(part["how"], _entries([{**page, **part}], found)) for part in printed.get("asides", ())]
    return Ledger(scenario, paper, printed["how"], _entries([page | part for part in printed["parts"]], found), asides)


def _entries(parts: Iterable[Mapping[str, Any]], found: Mapping[str, Computed]) -> list[Entry]:
    return [_entry({**part, **row}, found[row["key"]]) for part in parts for row in part["printed"]]


def _entry(row: Mapping[str, Any], computed: Computed) -> Entry:
    found = computed if isinstance(computed, Found) else Found(computed)
    said = row["value"]
    holds = found.value == said if found.holds is None and isinstance(said, str) else found.holds
    return Entry(
        row["where"],
        row["what"],
        said,
        found.value,
        tolerance=None if isinstance(said, str) else _tolerance(row, found.error),
        holds=holds,
        form=row.get("form", Entry.form),
        note="; ".join(note for note in (found.note, row.get("note", "")) if note),
        calibrated=row.get("calibrated", False),
    )


def _tolerance(row: Mapping[str, Any], error: float) -> float | None:
    """Return the largest difference that counts as reproduced; it scales with the printed number.

    It is at most a share of the distance between the printed number and the null value (no risk, no
    attack: `zero` of the row), and half a unit of the last digit that is printed: so nothing computed passes for a
    number that is not nothing.
    """
    if "tolerance" not in row:
        return None
    said, zero = float(row["value"]), float(row.get("zero", 0.0))
    digits = row.get("form", Entry.form).format(said).partition(".")[2]
    return float(
        min(max(row["tolerance"], error), row.get("most", _MOST) * abs(said - zero) + 0.5 * 0.1 ** len(digits))
    )


def ledger_page(ledgers: Sequence[Ledger]) -> str:
    """Return the whole page ``docs/reference/reproduction.md``: a summary by paper, then each paper."""
    entries = sum(len(ledger.entries) for ledger in ledgers)
    done, calibrated = (sum(ledger.count(verdict) for ledger in ledgers) for verdict in (REPRODUCED, CALIBRATED))
    about = (
        f"{done} of {entries} printed numbers and claims of the papers are reproduced: they differ from the printed "
        f"ones by no more than the tolerance stated with each paper, at most {_MOST:.0%} of the printed number (of the "
        "remaining risk, where its reduction is printed) plus half a unit of its last digit. "
        f"{calibrated} more agree but are calibrated: an input that the paper does not print, such as a seed or a "
        "probability, was chosen so that the number comes out. They are not counted as reproduced, nor are readings "
        "found by searching for the printed numbers. Lists give printed→computed, and one value where both are equal."
    )
    head = [
        "# Reproduction ledger",
        "",
        wrapped(about),
        "",
        *table(("Scenario", "Paper", "Reproduced", "Calibrated", "Not reproduced"), map(_summary, ledgers)),
        "",
        "This page is the output of `python tools/reproduce.py -o docs/reference/reproduction.md`.",
        "",
    ]
    return "\n".join(head) + "\n" + "\n".join(ledger.markdown() for ledger in ledgers)


def _summary(ledger: Ledger) -> tuple[str, ...]:
    counts = [str(ledger.count(verdict)) for verdict in (REPRODUCED, CALIBRATED, NOT_REPRODUCED)]
    authors = ledger.paper.partition(",")[0]
    return f"[{ledger.scenario}](#{ledger.scenario})", authors, *counts


def _list(entries: Iterable[Entry]) -> list[str]:
    """Return the items of each table of the paper, grouped by subject or by measure, whichever is shorter."""
    tables: dict[str, list[Entry]] = {}
    entries, notes = _noted_once(list(entries))
    for entry in entries:
        tables.setdefault(entry.where, []).append(entry)
    items = [
        wrapped(item, indent="  ")
        for where, rows in tables.items()
        for item in min((_items(where, rows, by) for by in (0, 1)), key=lambda items: len(" ".join(items).split()))
    ]
    return [*items, *(line for note in notes for line in ("", note))]


def _noted_once(entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """Return entries that refer to shared notes by number, and the shared notes."""
    counts = Counter(part for entry in entries for part in entry.note.split("; "))
    often = [part for part, count in counts.items() if count >= _OFTEN and len(part.split()) >= _LONG]
    marks = {part: f"[{number}]" for number, part in enumerate(often, 1)}
    noted = []
    for entry in entries:
        parts = entry.note.split("; ")
        kept = [part for part in parts if part not in marks] + [marks[part] for part in parts if part in marks]
        noted.append(replace(entry, note="; ".join(kept)))
    return noted, [f"{mark} {part[0].upper()}{part[1:]}." for part, mark in marks.items()]


def _items(where: str, entries: Iterable[Entry], by: int) -> list[str]:
    """Return one item for each subject (text before the colon, 0) or each measure (text after it, 1)."""
    groups: dict[str, list[tuple[str, Entry]]] = {}
    for entry in entries:
        parts = entry.what.split(": ", 1) if ": " in entry.what else ["", entry.what][:: -1 if by else 1]
        groups.setdefault(parts[by], []).append((parts[1 - by], entry))
    return [_item(where, head, group) for head, group in groups.items()]


def _item(where: str, head: str, group: Sequence[tuple[str, Entry]]) -> str:
    """Return the numbers of one group; common words and a common note appear once."""
    names = [name.split() for name, _ in group]
    start = _alike(names) if head and len(group) > 1 else []
    rests = [words[len(start) :] for words in names]
    end = _alike([words[::-1] for words in rests])[::-1] if head and len(group) > 1 else []
    notes = {entry.note for _, entry in group}
    shared = notes.pop() if len(notes) == 1 and len(group) > 1 else ""
    numbers = []
    for (_, entry), words in zip(group, rests, strict=True):
        *_, printed, ours, note = entry.cells
        arrow = " → " if " " in printed + ours else "→"
        values = printed if printed == ours else f"{printed}{arrow}{ours}"
        name = " ".join(words[: len(words) - len(end)]).rstrip(",")
        numbers.append(f"{name} **{values}**{_aside('' if shared else note)}".strip())
    same = (" … " if start and end else "").join(" ".join(words).rstrip(",") for words in (start, end))
    heads = ", ".join(part for part in (where, head, same) if part)
    return f"- {heads}: {'; '.join(numbers)}{shared and f' (each: {shared})'}"


def _aside(note: str) -> str:
    """Return a note as printed after a number: in parentheses, unless it has them or is a reference."""
    found = re.fullmatch(r"(.*?)(?:; |^)(\[\d+\])", note)
    text, mark = found.groups() if found else (note, "")
    shown = text if not text or re.fullmatch(r"\([^()]*\)", text) else f"({text})"
    return "".join(f" {part}" for part in (shown, mark) if part)


def _alike(texts: Sequence[Sequence[str]]) -> list[str]:
    """Return the words with which all texts begin; each keeps one of its own."""
    longest = min(map(len, texts)) - 1
    same = takewhile(lambda words: len(set(words)) == 1, list(zip(*texts, strict=False))[:longest])
    return [words[0] for words in same]
