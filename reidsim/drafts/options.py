"""Options of a draft, for the command `reidsim new` and for `reidsim.new`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DraftOptions:
    """Options of the user for a draft.

    Parameters
    ----------
    quasi_identifier : COLUMN
        Column to add to the detected quasi-identifiers; at most 12.
    only_named
        Use only the columns in --quasi-identifier, without detection.
    drop : COLUMN
        Column to remove from the detected quasi-identifiers.
    population : RECIPE
        Population of the data subjects, for journalist risk (default: prosecutor risk, without a population).
    encoding : NAME
        Character encoding of a CSV file, such as latin-1 (default: UTF-8).
    sheet : NAME
        Sheet of an Excel workbook (default: the first).
    merge : COLUMN
        Column in which values with nearly the same spelling are merged.
    age_on : DAY
        Day, such as 2024-06-30, on which dates of birth are converted to ages.
    person : COLUMN
        Column that identifies the person of each row; given twice for a pair of columns (default: detected).
    one_row_per_person
        Treat each row as a different person, even if an identifier has repeated values.
    unmatched_unique : COLUMN
        Column in which values that the population lacks count as unique instead of as errors.
    names : FILE
        TOML file with additional words by which columns are recognized.
    benefit
        Publisher's benefit from releasing a record unchanged, in currency units (default: 1200, as in Wan et al. 2015).
    loss
        Publisher's loss per re-identified record (default: 300).
    gain
        Adversary's gain per re-identified record (default: the loss).
    cost
        Adversary's cost of an attempt (default: 4).
    """

    quasi_identifier: Sequence[str] = ()
    only_named: bool = False
    drop: Sequence[str] = ()
    population: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    merge: Sequence[str] = ()
    age_on: str | None = None
    person: Sequence[str] = ()
    one_row_per_person: bool = False
    unmatched_unique: Sequence[str] = ()
    names: Path | None = None
    benefit: float | None = None
    loss: float | None = None
    gain: float | None = None
    cost: float | None = None

    @property
    def amounts(self) -> dict[str, float]:
        """Payoff parameters that are given, by key of section ``economics``.

        The keys are benefit, loss, gain and cost; parameters that are None are omitted.
        """
        amounts = {key: getattr(self, key) for key in ("benefit", "loss", "gain", "cost")}
        return {key: value for key, value in amounts.items() if value is not None}
