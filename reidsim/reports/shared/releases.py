"""Read back the releases of a run, recommend one, and find the written file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reidsim.errors import InputError, listed
from reidsim.reports.page.stored_run import RunInMemory, StoredRun
from reidsim.reports.shared.file import FORMAT, sidecar_of, verify_shared
from reidsim.reports.shared.forms import policies_of
from reidsim.reports.shared.kept import DECLARATION, Kept
from reidsim.reports.shared.limit import Limit, limit_of, odds
from reidsim.reports.shared.read_back import ReadBack, read_back
from reidsim.reports.shared.records import SharedRecords, records_of_policy, source_records
from reidsim.validation import read_json
from reidsim.wording import counted


@dataclass(frozen=True, eq=False)
class Release:
    """Released rows of a policy, and their audit.

    Parameters
    ----------
    shared : SharedRecords
        Released rows with the kept columns.
    counted : ReadBack
        Audit of these rows.
    """

    shared: SharedRecords
    counted: ReadBack


@dataclass(frozen=True, eq=False)
class Releases:
    """Releases of a run by policy.

    Parameters
    ----------
    by_policy : mapping of str to Release
    limit : Limit
        Limit on the risk of a record, and of a person who is looked up.
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
        """Return whether a release meets the risk limit and the inference limits."""
        counted = self.by_policy[policy].counted
        return self.limit.allows(counted.risk) and not counted.revealed

    def is_safe(self, policy: str) -> bool:
        """Return whether a release meets the limits and confirms the game's risk."""
        return self.is_within_limit(policy) and self.by_policy[policy].counted.keeps_promise

    @property
    def within_limit(self) -> list[str]:
        """Policies whose releases meet the limits."""
        return [policy for policy in self.by_policy if self.is_within_limit(policy)]

    def contradiction(self, policy: str) -> str:
        """Return the contradictions between rows and game as text; empty if none."""
        counts = self.by_policy[policy].counted
        easier, misfits = (
            counts.audit[key] for key in ("people_more_exposed_than_promised", "rows_that_do_not_fit_their_record")
        )
        parts = []
        if easier:
            people = counted(counts.audit["people"], "person", "people")
            parts.append(f"{easier:,} of {people} are easier to find in the rows than the game computes")
        if misfits:
            parts.append(f"{counted(misfits, 'row')} do not match their records")
        if not self.limit.allows(counts.risk):
            parts.append(f"the highest risk counted in the rows, {odds(counts.risk.highest)}, is above the limit")
        if counts.revealed:
            parts.append(f"the rows reveal more of {listed(counts.revealed)} than the scenario's limits allow")
        return " and ".join(parts)

    def ranked(self, payoffs: Mapping[str, float]) -> list[str]:
        """Return the policies within the limits by payoff, then the others by risk.

        The highest payoff and the lowest risk come first. Policies without a release are left out.

        Parameters
        ----------
        payoffs : mapping of str to float
            Publisher's payoff of each policy to rank.
        """
        names = [name for name in payoffs if name in self.by_policy]

        def place(name: str) -> tuple[float, float]:
            beyond = 0.0 if self.is_within_limit(name) else self.by_policy[name].counted.risk.highest
            return beyond, -payoffs[name]

        return sorted(names, key=place)

    def to_sign(self, payoffs: Mapping[str, float]) -> str:
        """Return the policy whose release is to be signed.

        It is the policy of the written file; without a file, the first one of `ranked`.
        """
        return str(self.sidecar["policy"]) if self.sidecar else self.ranked(payoffs)[0]


def releases_of(run: StoredRun, shared_file: Path | None = None) -> Releases | None:
    """Read back the release of every policy of a run.

    The result is None if the records of the run are not from a file.

    Kept columns and the limit come from the file that `share` wrote for this run, if it is named or found. Otherwise,
    sensitive columns with limits are kept, and the risk limit is the default.

    Parameters
    ----------
    run : StoredRun
    shared_file : Path, optional
        File written by `share`. If not given, the newest file of this run in the results folder or its parent folder is
        used.

    Raises
    ------
    InputError
        If the records are not found or cannot be used, or the file was changed or belongs to another run.
    """
    if "release_file" not in run.manifest or "records" not in run.tables or "design" in run.manifest:
        return None
    source = source_records(run)
    written = shared_file or (None if isinstance(run, RunInMemory) else _found(run))
    sidecar: dict[str, Any] = {} if written is None else verify_shared(written)
    if written is not None and not _is_of(sidecar, run):
        expected = f"a file shared from {run.folder} by this version of reidsim"
        raise InputError(
            "the file was shared from another run or by another version", source=written, expected=expected
        )
    # Limits on sensitive columns apply only to files that contain the columns.
    sensitive = [] if source.limited is None else [each.name for each in source.limited.attributes]
    kept = _kept(sidecar) if sidecar else Kept(identifiers=sensitive, max_singled_out=1.0)
    limit = Limit(sidecar["risk"]["limit"], sidecar["risk"]["limit_is"]) if sidecar else limit_of(None)
    found = {}
    for policy in policies_of(run):
        shared = records_of_policy(source, policy, kept)
        found[policy] = Release(shared, read_back(shared, shared.table))
    if sidecar:
        _require_same(found[sidecar["policy"]], limit, sidecar, written)
    return Releases(found, limit, written, sidecar)


def _found(run: StoredRun) -> Path | None:
    """Return the newest released file of a run with a sidecar.

    The results folder and its parent folder are searched.
    """
    folders = {run.folder.absolute(), run.folder.absolute().parent}
    files = [path.with_suffix("") for folder in folders for path in folder.glob("*.json")]
    own = [path for path in files if path.is_file() and _is_of(_sidecar(path), run)]
    return max(own, key=lambda path: path.stat().st_mtime, default=None)


def _sidecar(path: Path) -> dict[str, Any]:
    try:
        found = read_json(sidecar_of(path))
    except InputError:
        # The file was not written by this program.
        return {}
    return found if isinstance(found, dict) and found.get("format") == FORMAT else {}


def _is_of(sidecar: Mapping[str, Any], run: StoredRun) -> bool:
    made = sidecar.get("run", {})
    return "singled_out" in sidecar.get("audit", {}) and all(
        made.get(key) is not None and made.get(key) == run.manifest.get(key)
        for key in ("scenario_hash", "data_hash", "seed")
    )


def _kept(sidecar: Mapping[str, Any]) -> Kept:
    """Return the user options for kept columns with which a file was written."""
    names = [column["name"] for column in sidecar["columns"] if column["role"] != "quasi-identifier"]
    by_option = [name for name, reason in _declared(sidecar).items() if reason.startswith(DECLARATION)]
    return Kept(identifiers=names, free_text=True, unknown_to_outsiders=by_option, max_singled_out=1.0)


def _declared(sidecar: Mapping[str, Any]) -> dict[str, str]:
    declared = sidecar["audit"]["singled_out"]["declared_unknown_to_outsiders"]
    return {column["name"]: column["reason"] for column in declared}


def _require_same(release: Release, limit: Limit, sidecar: Mapping[str, Any], written: Path | None) -> None:
    """Check that the audit of a release equals the sidecar of its file."""
    counted = json.loads(json.dumps(release.counted.facts(limit)))
    if counted["risk"] != sidecar["risk"] or counted["audit"] != sidecar["audit"]:
        differing = [key for key in counted["audit"] if counted["audit"][key] != sidecar["audit"].get(key)]
        raise InputError(
            "the sidecar differs from the release of the run",
            source=written,
            found=differing or ["risk"],
            hint="share the records again",
        )
