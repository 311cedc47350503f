"""Write and verify the file of released records and its rulebook, and choose the release of a run to sign."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.core.errors import InputError, listed, locating, not_written, refuse_first, refuse_rows, require_distinct
from reidsim.core.files import COMPRESSED, is_delimited, read_json, require_new_file, unfinished_beside, write_new_file
from reidsim.core.rows import Numbers
from reidsim.core.tables import (
    as_file,
    library_of,
    native_table,
    read_counted_table,
    read_table,
    require_columns,
    sniff_delimiter,
)
from reidsim.core.wording import measures_among
from reidsim.engine.results import SHARED_FORMAT, is_shared_file, require_hash, sidecar_of
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared import records
from reidsim.reports.shared.audited import Limit, Release, audited_release, limit_of
from reidsim.reports.shared.parts import csv_parts, has_same_rows, row_order
from reidsim.reports.writer import said
from reidsim.scenarios.kind import unit_sentence

NO_LIMIT = Limit(1.0, "no limit")
SEAL = "sidecar_sha256"
# Scenario sections with assumptions about players and payoff parameters.
_PARAMETERS = ("economics", "beliefs", "adversary", "adversaries", "publisher", "subjects", "agents", "safe_harbor")
_AS_DRAWN = "; one draw of the adversaries and successful attacks of the round, not an expected value"
_CLASS_DEFINITION = (
    "shared records with equal quasi-identifiers in the file; with record-level generalization, "
    "the risk counts all people whose true values match a release, so groups are larger than classes"
)
_COUNTERFEIT_DEFINITION = (
    "rows of the file, counted from 1, that describe no person; they conceal the sensitive values of other people"
)
# Columns of a rulebook: the quasi-identifiers, these two columns, and the released quasi-identifiers. The first has
# another name if the file of the records has no header, so that columns are numbers. If columns of the file have one of
# these names, the own ones end with as many underscores as make them different.
_FORM, _FORM_OF_NUMBERED, _IS_SHARED, _RELEASED = "form", "form, columns by number", "shared", "released "
_YES, _NO = "yes", "no"


def require_new_files(path: Path, rulebook: Path | None = None) -> None:
    """Check that a released file, its sidecar (see `sidecar_of`) and its rulebook are different new files.

    Raises
    ------
    InputError
        If one exists or is ``-``, has the ending of a compressed file or of another type of file, a parent folder is a
        file, or two are equal.
    """
    files = [path, sidecar_of(path), *([] if rulebook is None else [rulebook])]
    for new in files:
        _require_new_text(new)
    problem, expected = "the released file or its sidecar has this path", "another path"
    require_distinct(problem, (str(new.resolve()) for new in files), source="--rulebook", expected=expected)


def _require_new_text(path: Path) -> None:
    """Check that delimited text can be written to a new file.

    Raises
    ------
    InputError
        As `require_new_file`, and if the path has the ending of a compressed file or of another type of file.
    """
    require_new_file(path)
    is_other = not is_delimited(path) or path.suffix.lower() in COMPRESSED
    problem, expected = "the file is written as delimited text", "an ending such as .csv"
    refuse_first((is_other, problem, None, path.suffix, expected), source=path)


def share_run(
    run: StoredRun,
    path: Path,
    *,
    max_risk: float | None = None,
    accept_risk: bool = False,
    rulebook: Path | None = None,
    kept: records.Kept = records.NOTHING_KEPT,
    **options: Any,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write the records that a policy releases, if their risk is within a limit.

    The rows are audited and written. Then the file is read back and compared with the rows. The limit (`max_risk`)
    applies to both risks of the audit: the highest probability that the person of a record is found, and the highest
    probability that the record of a person is found.

    Parameters
    ----------
    run : StoredRun
        Results of a single run whose records come from a file.
    path : Path
        New CSV file; its sidecar, a description of the file, is written to the same folder.
    max_risk : float, optional
        Largest accepted probability of re-identification; by default, that of the scenario, or one in eleven.
    accept_risk : bool
        Whether to write the file even if a risk is above the limit, or sensitive values exceed the scenario's limits
        on inference.
    rulebook : Path, optional
        New file for the decisions per cell; see `reidsim.reports.shared.file`.
    kept, options
        Columns to copy unchanged, and `policy`, `data`, `allow_code` and `over_files`; see
        `reidsim.reports.shared.records.shared_records`.

    Returns
    -------
    dict
        The sidecar.
    tuple of str
        Warnings for the user.

    Raises
    ------
    InputError
        If an input cannot be used, a column identifies people, kept columns single out too many people, or, without
        `accept_risk`, a limit is exceeded. Unfinished files are then removed.
    """
    limit = limit_of(max_risk, run.content)
    shared = records.shared_records(run, kept=kept.with_scenario(run.content), **options)
    sidecar, contradictions = write_shared(path, run, shared, limit, accept_risk=accept_risk, rulebook=rulebook)
    return sidecar, (*shared.warnings, *contradictions)


def write_shared(
    path: Path,
    run: StoredRun,
    shared: records.SharedRecords,
    limit: Limit = NO_LIMIT,
    *,
    accept_risk: bool = False,
    rulebook: Path | None = None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write released records to CSV, read them back, and write the sidecar.

    Either all files are written or none.

    The file is UTF-8 with the delimiter of the source file. Cells are written unchanged, and quoted only if they
    contain delimiters, quotation marks or line breaks.

    Parameters
    ----------
    path : Path
        Path of the new file.
    run : StoredRun
        Results of the run.
    shared : SharedRecords
        Records to write.
    limit : Limit
        Limit on the audited probabilities that the person of a record is found, and that the record of a person is.
    accept_risk : bool
        Whether to write the file even if a risk is above the limit, or sensitive values exceed the scenario's limits
        on inference.
    rulebook : Path, optional
        New file for the rulebook; it holds true values and must not be released.

    Returns
    -------
    dict
        The sidecar.
    tuple of str
        Warnings about contradictions between the file and the results of the run.

    Raises
    ------
    InputError
        If one of the files exists or cannot be written, kept columns single out too many people, the file would not
        protect a column that its policy promises to protect, or `rulebook_of` raises it; without `accept_risk`, also if
        a limit is exceeded.
    """
    require_new_files(path, rulebook)
    delimiter = shared.source.columns.delimiter
    rules = None if rulebook is None else csv_bytes(rulebook_of(shared))
    found, digest, at = audited_release(shared), hashlib.sha256(), path
    if not accept_risk:
        limit.require(found.risk, shared.policy, run.content)
        found.require_limits()
    with ExitStack() as stack:

        def unfinished(parts: Iterable[bytes]) -> str:
            def write(name: str) -> None:
                with open(name, "wb") as file:
                    file.writelines(parts)

            name = unfinished_beside(at, write)
            stack.callback(Path(name).unlink, missing_ok=True)
            return name

        def content() -> Iterator[bytes]:
            for part in csv_parts(shared.table, shared.times, delimiter):
                digest.update(part)
                yield part

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            made = unfinished(content())
            differs = not has_same_rows(Path(made), shared.table, shared.times, delimiter)
            problem = "the written file has other rows than the release when it is read back"
            refuse_first((differs, problem, None, None, None), source=path)
            facts = _facts(path.name, digest.hexdigest(), run, shared)
            sidecar = sealed(facts | {"risk": found.risk.facts(limit), "audit": found.audit})
            at = sidecar_of(path)
            text = json.dumps(sidecar, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            # The sidecar comes first: if the machine stops in between, a sidecar without its file does less harm than a
            # file without its sidecar.
            parts = [(at, unfinished([text.encode()])), (path, made)]
            if rulebook is not None and rules is not None:
                at = rulebook
                parts.append((at, unfinished([rules])))
            for at, name in parts:
                require_new_file(at)
                os.replace(name, at)
                stack.callback(at.unlink, missing_ok=True)
        except OSError as error:
            raise not_written(at, error) from None
        # All files are complete: keep them.
        stack.pop_all()
    return sidecar, tuple(found.warnings)


def csv_bytes(table: pd.DataFrame, delimiter: str = ",") -> bytes:
    """Return a text table as UTF-8 CSV with a header and without the index.

    Cells are quoted only if necessary.
    """
    return b"".join(csv_parts(table, np.ones(len(table), np.int64), delimiter))


def sealed(sidecar: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a sidecar with the hash of its content as the last entry.

    The hash is SHA-256 of the other entries, in hexadecimal digits. An earlier hash in the sidecar is replaced.
    """
    content = {key: value for key, value in sidecar.items() if key != SEAL}
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return {**content, SEAL: hashlib.sha256(text.encode()).hexdigest()}


def verify_shared(path: Path) -> dict[str, Any]:
    """Check that a released file and its sidecar are unchanged, and count its classes again.

    Returns
    -------
    dict
        The sidecar.

    Raises
    ------
    InputError
        If a file is missing or changed, the sidecar was not written by `share`, or its columns or equivalence classes
        are not those of the file; the message names the file.
    """
    place = sidecar_of(path)
    records.require_file(place, "a sidecar written by reidsim share")
    sidecar = read_json(place)
    if not isinstance(sidecar, dict) or sidecar.get("format") != SHARED_FORMAT:
        raise InputError("not a sidecar of reidsim share", source=place, expected=f"format {SHARED_FORMAT!r}")
    if sealed(sidecar) != sidecar:
        raise InputError("the sidecar changed since it was written", source=place, where=SEAL)
    records.require_file(path, "the shared file of the sidecar")
    require_hash(path, sidecar["sha256"], "the file changed since the sidecar was written")
    if not sidecar["records"]["shared"]:
        # The file has only a header, which the hash has already verified.
        return sidecar
    table = read_counted_table(path, delimiter=sidecar["delimiter"])
    roles = {column["name"]: column["role"] for column in sidecar["columns"]}
    if list(table.frame) != list(roles):
        raise InputError("the columns differ from the sidecar", source=path, found=list(table.frame))
    quasi = [name for name, role in roles.items() if role == "quasi-identifier"]
    classes = _classes(table.frame, quasi, table.counts)
    if classes != sidecar["classes"]:
        raise InputError("the equivalence classes differ from the sidecar", source=path, found=classes["number"])
    return sidecar


def _classes(table: pd.DataFrame, quasi: Sequence[str], times: Numbers) -> dict[str, Any]:
    """Summarize equivalence classes, the sets of rows that agree in all quasi-identifiers.

    `times` has the number of rows of the file that are equal to each row of `table`.

    The entries are the definition, the number of classes, the smallest and the largest size in rows (None without
    rows), and the number of classes by size.
    """
    sizes = np.bincount(records.classes_of(table, quasi), times).astype(np.int64)
    distinct, numbers = np.unique(sizes, return_counts=True)
    return {
        "definition": _CLASS_DEFINITION,
        "number": len(sizes),
        "smallest": int(sizes.min()) if len(sizes) else None,
        "largest": int(sizes.max()) if len(sizes) else None,
        "classes_of_size": dict(zip(map(str, distinct.tolist()), numbers.tolist(), strict=True)),
    }


def _facts(name: str, digest: str, run: StoredRun, shared: records.SharedRecords) -> dict[str, Any]:
    """Return the entries of a sidecar other than its risk and audit.

    Risk and audit require the file to be read back. `name` and `digest` are the name and the SHA-256 hash of the
    released file. Infinite and undefined numbers are None.
    """
    source, quasi, total = shared.source, shared.quasi_identifiers, int(shared.source.times.sum())
    roles = {name: {"role": "quasi-identifier", "attribute": attribute} for name, attribute in quasi.items()}
    content: dict[str, Any] = {
        "format": SHARED_FORMAT,
        "file": name,
        "sha256": digest,
        "delimiter": source.columns.delimiter,
        "columns": [{"name": name, **roles.get(name, {"role": "kept as it is"})} for name in map(str, shared.table)],
        "records": {"release": total, "shared": total - shared.withheld, "withheld": shared.withheld},
    }
    # A policy with a sensitive column may add counterfeit rows.
    if shared.sensitive is not None:
        rows = (np.flatnonzero(~shared.is_real) + 1).tolist()
        content["counterfeits"] = {"number": len(rows), "rows": rows, "definition": _COUNTERFEIT_DEFINITION}
    content |= {
        "unit": unit_sentence(run.manifest),
        "scenario": run.name,
        "policy": shared.policy,
        "solver": run.manifest.get("policies", {}).get(shared.policy, {}),
        "parameters": {key: run.content[key] for key in _PARAMETERS if key in run.content},
        **_outcomes(run, shared.policy),
        "classes": _classes(shared.table, list(quasi), shared.times),
        # Without hashes of the records: recipients who know most values could use them to confirm the others.
        "run": {key: run.manifest.get(key) for key in ("scenario_hash", "seed", "versions")},
        "written_by": f"reidsim {version('reidsim')}",
    }
    # JSON has no infinity or NaN, such as an unbounded gap: store null.
    plain: dict[str, Any] = json.loads(json.dumps(content), parse_constant=lambda constant: None)
    return plain


def _outcomes(run: StoredRun, policy: str) -> dict[str, Any]:
    """Return the round of the records, and the measures of a policy with definitions.

    The entries are ``round`` and ``expected``. In scenarios with rounds or waves, records and measures are from the
    last one in the first draw. The round is None for a one-shot game.

    Raises
    ------
    InputError
        If the results of a scenario with rounds or waves have no table of rounds.
    """
    agents, waves = run.content.get("agents"), run.content.get("releases")
    table, last, drawn = run.runs, None, ""
    if agents is not None or waves is not None:
        if "rounds" not in run.tables:
            raise InputError("no rounds in the results", source=run.folder, expected="rounds.parquet")
        rounds = run.table("rounds")
        drawn = _AS_DRAWN if agents is not None and agents.get("mode") == "sampling" else ""
        last = {"number": int(rounds["round"].max()), "outcomes": "drawn" if drawn else "expected"}
        last |= {} if waves is None else {"wave": str(rounds["wave"].iloc[-1])}
        table = rounds[(rounds["draw"] == 0) & (rounds["round"] == last["number"])]
    row = table[table["policy"].astype("str") == policy].iloc[0]
    expected = {
        column: {"value": float(row[column]), "definition": f"{measure.definition}{drawn}"}
        for column, measure in measures_among(run.measures.values(), table.columns).items()
    }
    return {"round": last, "expected": expected}


@dataclass(frozen=True, eq=False)
class Releases:
    """Releases of a run by policy.

    Parameters
    ----------
    by_policy : mapping of str to Release
        Released rows of each policy, with their audit.
    limit : Limit
        Limit on the probabilities that the person of a record is found, and that the record of a person is found.
    written : Path or None
        File written by `share`; None if there is none.
    sidecar : mapping
        Sidecar of this file; empty without a file.
    """

    by_policy: Mapping[str, Release]
    limit: Limit
    written: Path | None
    sidecar: Mapping[str, Any]

    def is_within_limit(self, policy: str) -> bool:
        """Return whether a policy's release meets the risk limit and the inference limits.

        The inference limits are those of the scenario.
        """
        release = self.by_policy[policy]
        return self.limit.allows(release.risk) and not release.revealed

    @property
    def within_limit(self) -> list[str]:
        """Names of the policies whose releases meet the risk and inference limits."""
        return [policy for policy in self.by_policy if self.is_within_limit(policy)]

    def contradiction(self, policy: str) -> str:
        """Return how a policy's rows contradict the game or exceed a limit; "" if not.

        The text joins up to four clauses: people easier to find, rows that do not match, risk and inference.
        """
        return said("contradiction", release=self.by_policy[policy], limit=self.limit)

    def ranked(self, payoffs: Mapping[str, float]) -> list[str]:
        """Return the names of policies: within the limits by payoff, then others by risk.

        The highest payoff and the lowest risk come first. Policies without a release are omitted.

        Parameters
        ----------
        payoffs : mapping of str to float
            Publisher's payoff of each policy to rank.
        """
        beyond = {name: self.by_policy[name].risk.highest for name in self.by_policy if not self.is_within_limit(name)}
        found = filter(self.by_policy.__contains__, payoffs)
        return sorted(found, key=lambda name: (beyond.get(name, 0.0), -payoffs[name]))

    def to_sign(self, payoffs: Mapping[str, float]) -> str:
        """Return the name of the policy whose release is to be signed.

        It is the policy of the file that `share` wrote; without a file, the first one of `ranked`. `payoffs` are the
        publisher's payoffs by policy.
        """
        return str(self.sidecar["policy"]) if self.sidecar else self.ranked(payoffs)[0]


def releases_of(run: StoredRun, shared_file: Path | None = None) -> Releases | None:
    """Assemble and audit the release of every policy of a run.

    Releases are assembled from the source records. The result is None if the records of the run are not from a file, or
    are not kept, as in a batch.

    Kept columns and the limit come from the file that `share` wrote for this run, if it is named or found. Otherwise,
    sensitive columns with limits are kept, and the risk limit is the default.

    Parameters
    ----------
    run : StoredRun
        Results of the run.
    shared_file : Path, optional
        File written by `share`. If not given, the newest file of this run in the results folder or its parent folder is
        used, if there is one.

    Raises
    ------
    InputError
        If the records are not found or cannot be used; if the file was changed or belongs to another run or version; or
        if its sidecar differs from the release as assembled.
    """
    if "release_file" not in run.manifest or "records" not in run.tables or "design" in run.manifest:
        return None
    source = records.source_records(run)
    written = shared_file or (None if run.is_in_memory else _found(run))
    sidecar: dict[str, Any] = {} if written is None else verify_shared(written)
    if sidecar and not _is_of(sidecar, run):
        problem = "the file was shared from another run or by another version"
        expected = f"a file shared from {run.folder} by this version of reidsim"
        raise InputError(problem, source=written, expected=expected)
    if sidecar:
        # The user options for kept columns with which the file was written.
        names = [column["name"] for column in sidecar["columns"] if column["role"] != "quasi-identifier"]
        declared = sidecar["audit"]["singled_out"]["declared_unknown_to_outsiders"]
        by_option = [column["name"] for column in declared if column["reason"].startswith(records.DECLARATION)]
        kept = records.Kept(identifiers=names, free_text=True, unknown_to_outsiders=by_option, max_singled_out=1.0)
        limit = Limit(sidecar["risk"]["limit"], sidecar["risk"]["limit_is"])
    else:
        # Limits on sensitive columns apply only to files that contain the columns.
        sensitive = [] if source.limited is None else [each.name for each in source.limited.attributes]
        names = list(dict.fromkeys((*sensitive, *records.shared_by_scenario(run.content))))
        kept, limit = records.Kept(identifiers=names, max_singled_out=1.0), limit_of(None, run.content)
    found = {}
    for policy in records.policies_of(run):
        shared = records.records_of_policy(source, policy, kept)
        found[policy] = audited_release(shared)
    if sidecar:
        release = found[sidecar["policy"]]
        risk, audit = json.loads(json.dumps([release.risk.facts(limit), release.audit]))
        if risk != sidecar["risk"] or audit != sidecar["audit"]:
            raise InputError(
                "the sidecar differs from the release of the run",
                source=written,
                found=[key for key in audit if audit[key] != sidecar["audit"].get(key)] or ["risk"],
                hint="share the records again",
            )
    return Releases(found, limit, written, sidecar)


def _found(run: StoredRun) -> Path | None:
    """Return the newest released file of a run with a sidecar; None if there is none.

    The results folder and its parent folder are searched.
    """
    own = []
    for sidecar in (*run.folder.absolute().glob("*.json"), *run.folder.absolute().parent.glob("*.json")):
        # Other files were not written by this program.
        with suppress(InputError):
            path = sidecar.with_suffix("")
            if path.is_file() and is_shared_file(path) and _is_of(read_json(sidecar), run):
                own.append(path)
    return max(own, key=lambda path: path.stat().st_mtime, default=None)


def _is_of(sidecar: Mapping[str, Any], run: StoredRun) -> bool:
    made = sidecar.get("run", {})
    return "singled_out" in sidecar.get("audit", {}) and all(
        made.get(key) is not None and made.get(key) == run.manifest.get(key) for key in ("scenario_hash", "seed")
    )


def rulebook_of(shared: records.SharedRecords) -> pd.DataFrame:
    """Return the decision of a policy for every cell of a release.

    Parameters
    ----------
    shared : SharedRecords
        Records that the policy releases, with the policy's decision on every source record.

    Returns
    -------
    DataFrame
        One row of text per combination of true quasi-identifiers, sorted by them. Columns are the true
        quasi-identifiers, ``form`` (generalization levels or the run's name of the strategy), ``shared`` (yes or no),
        and ``released NAME`` for each quasi-identifier, empty if the record is withheld. Without a header in the source
        file, the first ones are numbers, and the third is ``form, columns by number``.

    Raises
    ------
    InputError
        If records with the same values are released differently, or the policy decides by a sensitive column and adds
        records, which rules by values cannot express; or if there is no quasi-identifier.
    """
    source, forms = shared.source, shared.forms
    column_of = source.columns.column_of
    with locating(source.run.folder, "--rulebook"):
        if shared.sensitive is not None:
            raise InputError(
                f"policy {shared.policy!r} decides by column {shared.sensitive.name!r} and adds records, which rules "
                "by values cannot express",
                expected="another policy",
            )
        if shared.is_perturbed:
            problem = f"policy {shared.policy!r} draws values at random, which rules by values cannot express"
            raise InputError(problem, expected="another policy")
        if not column_of:
            raise InputError("the release has no quasi-identifier for rules")
    header = source.columns.header
    rules = pd.DataFrame({column: source.frame[column].str.strip() for column in column_of.values()})
    values = list(rules.columns)
    own = {_FORM if header else _FORM_OF_NUMBERED: forms.strategies.to_numpy()}
    own[_IS_SHARED] = np.where(forms.shared, _YES, _NO)
    for name, column in column_of.items():
        own[f"{_RELEASED}{column if header else name}"] = np.where(forms.shared, forms.labels[name].to_numpy(), "")
    end = ""
    while not {f"{name}{end}" for name in own}.isdisjoint(values):
        end += "_"
    rules = rules.assign(**{f"{name}{end}": cells for name, cells in own.items()})
    distinct = rules.drop_duplicates()
    twice = distinct.duplicated(values)
    if twice.any():
        again = distinct.index[twice][0]
        first = distinct.index[(distinct[values] == distinct.loc[again, values]).all(axis=1)][0]
        why = ", because all rows of a person have the same generalization" if source.columns.person else ""
        raise InputError(
            f"no rulebook: two rows have the same values but different releases{why}",
            source=source.path,
            where="--rulebook",
            found=f"rows {first + 1} and {again + 1}",
            expected="a policy with the same generalization for equal rows",
        )
    return distinct.sort_values(values, kind="stable").reset_index(drop=True)


def apply(
    rulebook: pd.DataFrame | str | Path,
    data: pd.DataFrame | str | Path,
    *,
    path: str | Path | None = None,
    keep: Sequence[str] = (),
    keep_identifier: Sequence[str] = (),
    keep_free_text: bool = False,
    unknown_to_outsiders: Sequence[str] = (),
    max_singled_out: float = records.MOST_SINGLED_OUT,
    encoding: str | None = None,
) -> pd.DataFrame:
    """Release new records by the rules of an earlier release; withhold records that the rules do not cover.

    Parameters
    ----------
    rulebook : DataFrame, str or Path
        Rulebook of `share`.
    data : DataFrame, str or Path
        New records, with the columns of the quasi-identifiers.
    path : str or Path, optional
        New CSV file for the released records.
    keep, keep_identifier, keep_free_text, unknown_to_outsiders, max_singled_out
        As in `share`; every row counts as a person, and people who are singled out are a warning.
    encoding : str, optional
        Encoding of the new records in a CSV file; UTF-8 if not given.

    Returns
    -------
    DataFrame
        Text, one row per released record. ``attrs`` holds the number of new ``records``, and the numbers of records
        withheld by a rule (``ruled_out``) and because no rule covers them (``uncovered``).

    Raises
    ------
    InputError
        If a file cannot be read or exists already, `path` has the ending of a compressed file or of another type of
        file, the rulebook is none, a column is missing, or a kept column is a quasi-identifier or identifies people.

    See Also
    --------
    share : write the records that a policy releases, and their rulebook.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55] * 20, "sex": ["F", "F", "M", "M"] * 20})
    >>> shared = reidsim.share(reidsim.new(patients).run(), "basic", rulebook="rules.csv")
    >>> later = reidsim.apply("rules.csv", pandas.DataFrame({"age": [34, 90], "sex": ["F", "F"]}))
    >>> len(later), later.attrs["uncovered"]
    (1, 1)
    """
    if path is not None:
        _require_new_text(Path(path))
    kept = records.Kept(keep, keep_identifier, keep_free_text, unknown_to_outsiders, max_singled_out)
    new_file = as_file(data, "apply: argument 'data'", encoding=encoding)
    with as_file(rulebook, "apply: argument 'rulebook'") as rules_file, new_file as new:
        rules, names = _read_rulebook(rules_file)
        values = list(names)
        header = rules.columns[len(values)].rstrip("_") == _FORM
        records.require_file(new, "new records")
        delimiter = sniff_delimiter(new, encoding)
        frame = read_table(new, delimiter=delimiter, header=header, trim=False, encoding=encoding or "utf-8")
        frame = frame if header else frame.set_axis([str(number + 1) for number in range(frame.shape[1])], axis=1)
        require_columns(frame, [*values, *kept.names], new)
        released = next((name for name in kept.names if name in (*values, *names.values())), None)
        if released is not None:
            raise InputError(records.GENERALIZED, source="--keep", found=released, hint="remove it from --keep")
        declared = kept.declared({})
        identifying = kept.identifying(frame, new, declared=declared)
    forms, decision = released_values(rules, values, frame)
    columns = {
        names.get(name, name): forms[name] if name in values else frame[name].to_numpy()
        for name in frame.columns
        if name in values or name in kept.names
    }
    table: pd.DataFrame = pd.DataFrame(columns)[(decision == _YES).to_numpy()]
    table = table.iloc[row_order(table)].reset_index(drop=True)
    classes = records.classes_of(table, list(names.values()))
    each, columns_kept = np.arange(len(table)), records.numbered(table[kept.names])
    sets = records.revealing_sets([classes], columns_kept, each, max_singled_out, declared, np.ones_like(each))
    # A small file singles people out in any case, so this is no error.
    singled = [f"kept columns single out people together with the quasi-identifiers: {listed(sets[0])}"] if sets else []
    for line in [
        *singled,
        *records.warnings_of(table, identifying, stars=(), following={}, telling={}, counterfeits=0),
    ]:
        warnings.warn(line, stacklevel=2)
    ruled_out, uncovered = int((decision == _NO).sum()), int(decision.isna().sum())
    table.attrs.update(records=len(frame), ruled_out=ruled_out, uncovered=uncovered)
    if path is not None:
        write_new_file(Path(path), csv_bytes(table, delimiter))
    native: pd.DataFrame = native_table(table, library_of(data))
    return native


def released_values(
    rules: pd.DataFrame, values: Sequence[str], frame: pd.DataFrame
) -> tuple[pd.DataFrame, pd.Series[str]]:
    """Return the released quasi-identifiers of records by the rules of a rulebook, and the decision on each record.

    Parameters
    ----------
    rules : DataFrame
        The rulebook, as text; see `rulebook_of`.
    values : sequence of str
        Columns of the quasi-identifiers.
    frame : DataFrame
        The records, as text.

    Returns
    -------
    released : DataFrame
        One column per quasi-identifier; missing values for records that are withheld.
    decision : Series of str
        ``yes`` or ``no``; missing if no rule covers the record.
    """
    own = list(values)
    found = frame[own].apply(lambda column: column.str.strip()).merge(rules, how="left", on=own)
    released = found[rules.columns[-len(own) :]].set_axis(rules.columns[: len(own)], axis=1)[own]
    decision = found[rules.columns[len(own) + 1]]
    return released.where(decision == _YES), decision


def _read_rulebook(path: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the rules of a rulebook, and the released name of each column of quasi-identifiers.

    A rule is one row of text.

    Raises
    ------
    InputError
        If the file is missing, has other columns than a rulebook, two rules for the same values, or a decision that is
        neither yes nor no.
    """
    records.require_file(path, "a rulebook written by reidsim share")
    rules = read_table(path, trim=False)
    values = list(rules.columns[: max(len(rules.columns) // 2 - 1, 0)])
    form, is_shared, *released = rules.columns[len(values) :] if values else ("", "")
    end = "_" * (len(form) - len(form.rstrip("_")))
    is_numbered = form == f"{_FORM_OF_NUMBERED}{end}"
    names = [name.removeprefix(_RELEASED).removesuffix(end) for name in released] if is_numbered else values
    own = [_FORM_OF_NUMBERED if is_numbered else _FORM, _IS_SHARED, *(f"{_RELEASED}{name}" for name in names)]
    if not values or [form, is_shared, *released] != [f"{name}{end}" for name in own]:
        found, expected = listed(rules.columns), "a file written with --rulebook of share"
        raise InputError("not a rulebook of reidsim share", source=path, where="header", found=found, expected=expected)
    words = list(map(", ".join, rules[values].itertuples(index=False)))
    refuse_rows(rules.duplicated(values), "two rules for the same values", source=path, found=words)
    undecided = ~rules[is_shared].isin([_YES, _NO])
    refuse_rows(undecided, f"the decision is neither {_YES} nor {_NO}", source=path, found=words)
    return rules, dict(zip(values, names, strict=True))
