"""The records of a run as a policy shares them: quasi-identifiers in their forms, and other columns that were named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.drafts.profile import profile_table
from reidsim.engine.release_file import find_release_file, sha256_of
from reidsim.errors import InputError, listed
from reidsim.kinds.masking.schema import GeneralizedAttribute, MaskingScenario
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.releases.adult import read_adult
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.forms import chosen_forms
from reidsim.scenarios.kind import kind_named, kind_names
from reidsim.scenarios.people import refuse_keys
from reidsim.scenarios.schema import ScenarioHead
from reidsim.tables import read_table, require_columns
from reidsim.validation import validated

# How spreadsheets know a formula; a number with a sign is none.
_FORMULA = r"[=+\-@](?![\d.,]+$)."


@dataclass(frozen=True, eq=False)
class SharedRecords:
    """What is going to be shared of a run.

    Parameters
    ----------
    policy : str
    table : DataFrame
        Text, one row per record that is shared, in the order of the release, with its columns in their order.
    quasi_identifiers : dict of str to str
        Attribute of each column that is one.
    records : int
        Records of the release, those that are not shared included.
    source : Path
        File of the release.
    source_hash : str
        Its SHA-256.
    warnings : tuple of str
        What to think of before sharing.
    """

    policy: str
    table: pd.DataFrame
    quasi_identifiers: dict[str, str]
    records: int
    source: Path
    source_hash: str
    warnings: tuple[str, ...]

    @property
    def withheld(self) -> int:
        """Records that are not shared."""
        return self.records - len(self.table)


@dataclass(frozen=True)
class _Release:
    """Where the records of a scenario stand, and which column holds which quasi-identifier."""

    column_of: Mapping[str, str]
    delimiter: str
    header: bool
    comment: str | None
    adult: bool
    generalize: Mapping[str, GeneralizedAttribute]
    renamed: Mapping[str, Mapping[str, str]]

    def read(self, path: Path) -> pd.DataFrame:
        """Read all columns, values as they are."""
        if self.adult:
            return read_adult(path)
        frame = read_table(path, delimiter=self.delimiter, header=self.header, comment=self.comment, trim=False)
        if not self.header:
            frame.columns = pd.Index([str(number) for number in range(1, frame.shape[1] + 1)])
        return frame


def shared_records(
    run: StoredRun, *, policy: str | None = None, keep: Sequence[str] = (), data: Path | None = None
) -> SharedRecords:
    """Put together what a policy of a run shares.

    Parameters
    ----------
    run : StoredRun
        Of the record-level game, the game at dataset level or the masking game.
    policy : str, optional
        May be left out if the run has one policy.
    keep : sequence of str
        Columns to copy as they are besides the quasi-identifiers.
    data : Path, optional
        The file of the release, if it is not where it was.

    Raises
    ------
    InputError
        If the run is a batch or has no file of records, the file is another than that of the run, or a policy or
        column is missing.
    """
    path, source_hash = _source(run, data)
    release = _release(run)
    forms = chosen_forms(run, list(release.column_of), policy, release.generalize)
    frame = release.read(path)
    require_columns(frame, [*release.column_of.values(), *keep], path)
    if len(frame) != len(forms.labels):
        raise InputError(
            "another number of records", source=path, found=len(frame), expected=f"{len(forms.labels)}, as in the run"
        )
    attribute_of = {column: attribute for attribute, column in release.column_of.items()}
    refuse_keys(run.content, keep)
    for name in keep:
        if name in attribute_of or keep.count(name) > 1:
            problem = "column named twice" if keep.count(name) > 1 else "a quasi-identifier is shared in its form only"
            raise InputError(problem, source="--keep", found=name)
        if not release.header and name in release.column_of:
            raise InputError("a quasi-identifier has this name", source="--keep", found=name)
    columns = [str(name) for name in frame.columns if name in attribute_of or name in keep]
    # Without a header, the attribute says more than the number of its column.
    names = {name: attribute_of.get(name, name) if not release.header else name for name in columns}
    table = pd.DataFrame(
        {names[name]: forms.labels[attribute_of[name]] if name in attribute_of else frame[name] for name in columns}
    )
    table = table[forms.shared].reset_index(drop=True)
    return SharedRecords(
        policy=forms.policy,
        table=table,
        quasi_identifiers={names[name]: attribute_of[name] for name in columns if name in attribute_of},
        records=len(frame),
        source=path,
        source_hash=source_hash,
        warnings=(*_none_shared(table), *_stars(frame, release), *_warnings(frame[list(keep)], table)),
    )


def class_sizes(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return the size of each equivalence class: the records that agree in all of some columns, shape (n_classes,)."""
    if not len(table):
        return np.zeros(0, dtype=np.int64)
    return np.asarray(table.groupby(list(columns), sort=False, dropna=False).size(), dtype=np.int64)


def _source(run: StoredRun, data: Path | None) -> tuple[Path, str]:
    """Return the file of the release and its hash, which must be that of the run."""
    if "design" in run.manifest:
        raise InputError(
            "a batch, which keeps no records",
            source=run.folder,
            expected="results of a single run",
            hint=f"reidsim rerun {run.folder} --run POINT/REPLICATION -o NEW repeats one of its runs with records",
        )
    told = run.manifest.get("release_file")
    if not isinstance(told, dict) or not {"path", "sha256"} <= set(told):
        raise InputError(
            "the records of the run are not from a file",
            source=run.folder,
            expected="a scenario whose release.path or targets.file names one",
        )
    path = data or find_release_file(str(told["path"]))
    if not path.is_file():
        hint = None if data else "name the file with --data, or go to the folder of the run"
        raise InputError("no such file", source=path, expected="the records of the run", hint=hint)
    found = sha256_of(path)
    if found != told["sha256"]:
        raise InputError(
            "the file is not the one of the run",
            source=path,
            found=f"SHA-256 {found[:12]}...",
            expected=f"{str(told['sha256'])[:12]}...",
            hint="run the scenario again",
        )
    return path, found


def _release(run: StoredRun) -> _Release:
    model: type[ScenarioHead] | None = kind_named(run.game).schema if run.game in kind_names() else None
    scenario = None if model is None else validated(model, run.content, run.folder / "manifest.json")
    if isinstance(scenario, MaskingScenario):
        targets = scenario.targets
        column_of = {name: targets.columns.get(name, name) for name in scenario.subjects.attributes}
        release = _Release(column_of, targets.delimiter, True, "#", False, scenario.subjects.generalize, {})
    elif isinstance(scenario, TablesScenario):
        for name, attribute in scenario.attributes.items():
            if attribute.draw or attribute.top_code is not None:
                raise InputError(
                    "values were drawn from the population",
                    source=run.folder,
                    where=f"attributes.{name}",
                    expected="attributes whose values are all in the records",
                )
        column_of = {name: attribute.column or name for name, attribute in scenario.attributes.items()}
        section = scenario.release
        header = bool(getattr(section, "header", True))
        renamed = {name: attribute.values for name, attribute in scenario.attributes.items()}
        release = _Release(column_of, section.delimiter, header, None, section.format == "adult", {}, renamed)
    else:
        expected = "a game in which a form is chosen for each record: tables or masking"
        raise InputError("nothing is shared", source=run.folder, where="game", found=run.game, expected=expected)
    columns = list(release.column_of.values())
    repeated = [column for column in columns if columns.count(column) > 1]
    if repeated:
        raise InputError("two attributes of one column", source=run.folder, found=repeated[0])
    return release


def _none_shared(table: pd.DataFrame) -> tuple[str, ...]:
    return () if len(table) else ("no record is shared: the policy withholds all of them, or nobody takes part",)


def _stars(frame: pd.DataFrame, release: _Release) -> tuple[str, ...]:
    """Say which quasi-identifiers have a value that reads like a suppressed one, so that classes merge."""
    columns = [column for name, column in release.column_of.items() if SUPPRESSED not in release.renamed.get(name, ())]
    names = [column for column in columns if (frame[column].str.strip() == SUPPRESSED).any()]
    return (f"values of {listed(names)} are {SUPPRESSED} in the records, as are suppressed ones",) if names else ()


def _warnings(kept: pd.DataFrame, table: pd.DataFrame) -> tuple[str, ...]:
    warnings = []
    for profile in profile_table(kept):
        if profile.is_direct:
            warnings.append(f"column {profile.name!r} is kept and looks like a direct identifier: {profile.reason}")
        elif profile.kind == "free text":
            warnings.append(f"column {profile.name!r} is kept and holds free text, which may name people")
    formulas = [str(name) for name in table.columns if table[name].str.match(_FORMULA).any()]
    if formulas:
        warnings.append(f"cells of {listed(formulas)} begin as formulas do, and spreadsheets may take them for some")
    return tuple(warnings)
