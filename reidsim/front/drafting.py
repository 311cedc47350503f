"""Draft a scenario from a table in memory, like `reidsim new` from a file."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from reidsim.core.files import require_plain
from reidsim.drafts.choice import DraftOptions
from reidsim.drafts.draft import COLUMNS_FILE, Draft, draft_scenario
from reidsim.engine.results import RunResult, keep_private, write_results
from reidsim.errors import reading
from reidsim.front.scenario import Scenario
from reidsim.scenarios.people import key_columns
from reidsim.scenarios.study import Progress
from reidsim.tables import text_table
from reidsim.wording import counted

_FOLDER = "reidsim-"


@dataclass(frozen=True, eq=False)
class DraftedScenario:
    """Drafted scenario: quasi-identifiers, hierarchies and a scenario that can be run.

    Created by `new`. The files are in a private temporary folder that is deleted with the object; `save` copies them.

    Parameters
    ----------
    draft : Draft
        Columns found, quasi-identifiers and files of the draft.
    """

    draft: Draft
    _place: TemporaryDirectory[str] = field(repr=False)

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self.draft.name

    @property
    def text(self) -> str:
        """Text of the scenario file."""
        return self.draft.files[self.draft.scenario_file]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Problems that the user should review before using the draft."""
        return self.draft.warnings

    @property
    def columns(self) -> pd.DataFrame:
        """One row per table column: type, values, use as quasi-identifier, and reason."""
        rows = list(csv.reader(io.StringIO(self.draft.files[COLUMNS_FILE])))
        return pd.DataFrame(rows[1:], columns=rows[0])

    @property
    def scenario(self) -> Scenario:
        """The draft as a scenario, whose files exist as long as the scenario."""
        return replace(Scenario.load(self._folder / self.draft.scenario_file), place=self._place)

    def run(self, *, progress: Progress | None = None) -> RunResult:
        """Play the policies of the draft against its adversary; see `Scenario.run`."""
        return self.scenario.run(progress=progress)

    def save(self, folder: str | Path) -> Path:
        """Write the scenario, hierarchies, column table and records to a new folder.

        Returns
        -------
        Path
            Path of the scenario file.

        Raises
        ------
        InputError
            If the folder is not empty or cannot be written.
        """
        folder = Path(folder)

        def write(into: Path) -> None:
            shutil.copytree(self._folder, into, dirs_exist_ok=True)

        write_results(folder, write)
        return folder / self.draft.scenario_file

    @property
    def _folder(self) -> Path:
        return Path(self._place.name)

    def __repr__(self) -> str:
        names = ", ".join(column.profile.name for column in self.draft.choice.chosen)
        return f"DraftedScenario({self.name!r}: {counted(self.draft.records, 'record')}, {names})"

    def _repr_html_(self) -> str:
        size = f"{counted(self.draft.records, 'record')}, {self.draft.choice.strategies:,} strategies per record"
        head = f"<p><strong>{escape(self.name)}</strong>: {size}</p>"
        warnings = "".join(f"<li>{escape(warning)}</li>" for warning in self.warnings)
        return head + self.columns.to_html(index=False) + (f"<ul>{warnings}</ul>" if warnings else "")


def new(
    data: pd.DataFrame | str | Path,
    *,
    quasi_identifiers: Sequence[str] = (),
    only_named: bool = False,
    drop: Sequence[str] = (),
    population: str | Path | None = None,
    benefit: float | None = None,
    loss: float | None = None,
    gain: float | None = None,
    cost: float | None = None,
    encoding: str | None = None,
    merge: Sequence[str] = (),
    age_on: str | None = None,
    person: str | Sequence[str] | None = None,
    one_row_per_person: bool = False,
    unmatched_unique: Sequence[str] = (),
    names: str | Path | None = None,
    hierarchies: Mapping[str, str | Path] | None = None,
    name: str = "records",
) -> DraftedScenario:
    """Draft a scenario from records: infer quasi-identifiers and write hierarchies.

    Parameters
    ----------
    data : DataFrame, str or Path
        One row per record, in memory or in a file format that `reidsim new` reads.
    quasi_identifiers : sequence of str
        Columns that others may know, in addition to the inferred ones.
    only_named : bool
        Whether to use only the columns in `quasi_identifiers`.
    drop : sequence of str
        Columns that are not quasi-identifiers.
    population : str or Path, optional
        Name or recipe of the population of the people, for journalist risk; prosecutor risk if not given.
    benefit, loss, gain, cost : float, optional
        Payoff parameters per record, in one currency; those of Wan et al. 2015 (Table 3) if none is given.
    encoding : str, optional
        Encoding of a CSV file; UTF-8 if not given.
    merge : sequence of str
        Quasi-identifiers whose variant spellings are merged.
    age_on : str, optional
        Reference day for converting dates of birth to ages, such as ``2024-06-30``.
    person : str or sequence of str, optional
        Column, or combination of columns, that identifies the person of a row; inferred if not given.
    one_row_per_person : bool
        Whether each row is a different person even if an identifier repeats.
    unmatched_unique : sequence of str
        Columns whose values outside the population count as unique.
    names : str or Path, optional
        TOML file that extends the package vocabulary for recognizing columns.
    hierarchies : mapping of str to str or Path, optional
        Hierarchy file of each column, with one row per value and one column per level; drafted if not given.
    name : str
        Name of the scenario if `data` is in memory.

    Returns
    -------
    DraftedScenario

    Raises
    ------
    InputError
        If the data, a column, an amount or the name cannot be used, or no column looks like a quasi-identifier.

    See Also
    --------
    describe_file : disclosure risk of a file.
    Scenario : description of a study.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55] * 20, "sex": ["F", "F", "M", "M"] * 20})
    >>> draft = reidsim.new(patients)
    >>> draft
    DraftedScenario('records': 80 records, age, sex)
    >>> draft.run().summary["publisher_payoff"].round(2).to_dict()
    {'no-protection': 1185.0, 'basic': 1185.0, 'no-attack': 0.0}
    """
    require_plain(name, "new: argument 'name'")
    place = TemporaryDirectory(prefix=_FOLDER)
    folder = Path(place.name)
    if isinstance(data, pd.DataFrame):
        source = folder / f"{name}.csv"
        text_table(data, "new: argument 'data'").to_csv(source, index=False, quoting=csv.QUOTE_ALL)
    else:
        source = folder / Path(data).name
        with reading(data):
            shutil.copyfile(data, source)
    options = DraftOptions(
        named=quasi_identifiers,
        only_named=only_named,
        dropped=drop,
        population=None if population is None else str(population),
        benefit=benefit,
        loss=loss,
        gain=gain,
        cost=cost,
        encoding=encoding,
        merged=merge,
        age_on=age_on,
        person=key_columns(person),
        one_row_per_person=one_row_per_person,
        unmatched_unique=unmatched_unique,
        names=None if names is None else Path(names),
        hierarchies={column: Path(path) for column, path in (hierarchies or {}).items()},
    )
    draft = draft_scenario(source, folder, options)
    draft.write(folder)
    keep_private(folder)
    return DraftedScenario(draft, place)
