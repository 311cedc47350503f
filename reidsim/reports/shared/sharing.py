"""Release the records of a run to a file, with all checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reidsim.errors import InputError
from reidsim.populations.files import write_new_file
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.file import require_new_files, sidecar_of, write_shared
from reidsim.reports.shared.kept import Kept
from reidsim.reports.shared.limit import limit_of
from reidsim.reports.shared.records import NOTHING_KEPT, shared_records
from reidsim.reports.shared.rulebook import rulebook_bytes


def share_run(
    run: StoredRun,
    path: Path,
    *,
    policy: str | None = None,
    kept: Kept = NOTHING_KEPT,
    data: Path | None = None,
    max_risk: float | None = None,
    accept_risk: bool = False,
    rulebook: Path | None = None,
    allow_code: bool = False,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write the records that a policy releases, if their risk is within a limit.

    The file is read back and audited; the limit (`max_risk`) applies to the audited risk of a record, and of a person
    who is looked up.

    Parameters
    ----------
    run : StoredRun
    path : Path
        New CSV file; its sidecar is written to the same folder.
    policy, kept, data, allow_code
        See `reidsim.reports.shared.records.shared_records`.
    max_risk : float, optional
        See `reidsim.reports.shared.limit.limit_of`.
    accept_risk : bool
        Whether to write the file even if its risk is above the limit.
    rulebook : Path, optional
        New file for the decisions per cell; see `reidsim.reports.shared.rulebook`.

    Returns
    -------
    dict
        The sidecar.
    tuple of str
        Warnings for the user.

    Raises
    ------
    InputError
        If an input cannot be used, a column identifies people, kept columns single out too many people, or the risk is
        above the limit; nothing is written.
    """
    require_new_files(path)
    limit = limit_of(max_risk)
    shared = shared_records(run, policy=policy, kept=kept, data=data, allow_code=allow_code)
    rules = None if rulebook is None else rulebook_bytes(rulebook, shared)
    sidecar, contradictions = write_shared(path, run, shared, limit, accept_risk=accept_risk)
    if rulebook is not None and rules is not None:
        try:
            write_new_file(rulebook, rules)
        except InputError:
            for written in (path, sidecar_of(path)):
                written.unlink(missing_ok=True)
            raise
    return sidecar, (*shared.warnings, *contradictions)
