"""Assemble and audit the releases of a run again, choose the one to sign, and find the file that `share` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reidsim.errors import InputError, listed
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.audited import Limit, Release, limit_of, read_back
from reidsim.reports.shared.file import FORMAT, verify_shared
from reidsim.reports.shared.kept import DECLARATION, Kept
from reidsim.reports.shared.records import policies_of, records_of_policy, source_records
from reidsim.reports.writer import odds
from reidsim.validation import read_json
from reidsim.wording import counted


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
        release = self.by_policy[policy]
        return self.limit.allows(release.risk) and not release.revealed

    def is_safe(self, policy: str) -> bool:
        """Return whether a release meets the limits and confirms the game's risk."""
        return self.is_within_limit(policy) and self.by_policy[policy].keeps_promise

    @property
    def within_limit(self) -> list[str]:
        """Policies whose releases meet the limits."""
        return [policy for policy in self.by_policy if self.is_within_limit(policy)]

    def contradiction(self, policy: str) -> str:
        """Return the contradictions between rows and game as text; empty if none."""
        release, audit = self.by_policy[policy], self.by_policy[policy].audit
        easier, misfits = audit["people_more_exposed_than_promised"], audit["rows_that_do_not_fit_their_record"]
        people, risk = counted(audit["people"], "person", "people"), odds(release.risk.highest)
        revealed = listed(each["column"] for each in release.revealed)
        parts = {
            f"{easier or 0:,} of {people} are easier to find in the rows than the game computes": easier,
            f"{counted(misfits, 'row')} do not match their records": misfits,
            f"the highest risk counted in the rows, {risk}, is above the limit": not self.limit.allows(release.risk),
            f"the rows reveal more of {revealed} than the scenario's limits allow": release.revealed,
        }
        return " and ".join(text for text, applies in parts.items() if applies)

    def ranked(self, payoffs: Mapping[str, float]) -> list[str]:
        """Return the policies within the limits by payoff, then the others by risk.

        The highest payoff and the lowest risk come first. Policies without a release are left out.

        Parameters
        ----------
        payoffs : mapping of str to float
            Publisher's payoff of each policy to rank.
        """

        def place(name: str) -> tuple[float, float]:
            beyond = 0.0 if self.is_within_limit(name) else self.by_policy[name].risk.highest
            return beyond, -payoffs[name]

        return sorted(filter(self.by_policy.__contains__, payoffs), key=place)

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
        by_option = [column["name"] for column in declared if column["reason"].startswith(DECLARATION)]
        kept = Kept(identifiers=names, free_text=True, unknown_to_outsiders=by_option, max_singled_out=1.0)
        limit = Limit(sidecar["risk"]["limit"], sidecar["risk"]["limit_is"])
    else:
        # Limits on sensitive columns apply only to files that contain the columns.
        sensitive = [] if source.limited is None else [each.name for each in source.limited.attributes]
        kept, limit = Kept(identifiers=sensitive, max_singled_out=1.0), limit_of(None)
    found = {}
    for policy in policies_of(run):
        shared = records_of_policy(source, policy, kept)
        found[policy] = read_back(shared, shared.table)
    if sidecar:
        release = found[sidecar["policy"]]
        risk, audit = json.loads(json.dumps([release.risk.facts(limit), release.audit]))
        differing = [key for key in audit if audit[key] != sidecar["audit"].get(key)]
        if risk != sidecar["risk"] or audit != sidecar["audit"]:
            raise InputError(
                "the sidecar differs from the release of the run",
                source=written,
                found=differing or ["risk"],
                hint="share the records again",
            )
    return Releases(found, limit, written, sidecar)


def _found(run: StoredRun) -> Path | None:
    """Return the newest released file of a run with a sidecar.

    The results folder and its parent folder are searched.
    """
    own = []
    for sidecar in (*run.folder.absolute().glob("*.json"), *run.folder.absolute().parent.glob("*.json")):
        # Other files were not written by this program.
        with suppress(InputError):
            found, path = read_json(sidecar), sidecar.with_suffix("")
            if path.is_file() and isinstance(found, dict) and found.get("format") == FORMAT and _is_of(found, run):
                own.append(path)
    return max(own, key=lambda path: path.stat().st_mtime, default=None)


def _is_of(sidecar: Mapping[str, Any], run: StoredRun) -> bool:
    made = sidecar.get("run", {})
    return "singled_out" in sidecar.get("audit", {}) and all(
        made.get(key) is not None and made.get(key) == run.manifest.get(key)
        for key in ("scenario_hash", "data_hash", "seed")
    )
