"""From the results of a run to a file to hand over, with every check in between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.file import require_new_files, write_shared
from reidsim.reports.shared.limit import limit_of, require_within
from reidsim.reports.shared.records import shared_records
from reidsim.reports.shared.rulebook import write_rulebook


def share_run(
    run: StoredRun,
    path: Path,
    *,
    policy: str | None = None,
    keep: Sequence[str] = (),
    keep_identifier: Sequence[str] = (),
    data: Path | None = None,
    max_risk: float | None = None,
    accept_risk: bool = False,
    rulebook: Path | None = None,
    allow_code: bool = False,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write what a policy of a run shares, if its risk is within the limit, and read it back.

    Parameters
    ----------
    run : StoredRun
    path : Path
        New CSV file; its sidecar stands beside it.
    policy, keep, keep_identifier, data, allow_code
        See `reidsim.reports.shared.records.shared_records`.
    max_risk : float, optional
        See `reidsim.reports.shared.limit.limit_of`.
    accept_risk : bool
        Whether to write the file though its highest risk is above the limit.
    rulebook : Path, optional
        New file of what was decided per cell; see `reidsim.reports.shared.rulebook`.

    Returns
    -------
    dict
        The sidecar.
    tuple of str
        Warnings.

    Raises
    ------
    InputError
        If something cannot be used, a column would name people, or the risk is above the limit; nothing is written.
    """
    require_new_files(path)
    shared = shared_records(
        run, policy=policy, keep=keep, keep_identifier=keep_identifier, data=data, allow_code=allow_code
    )
    limit = limit_of(shared, max_risk)
    require_within(shared, limit, accept=accept_risk)
    if rulebook is not None:
        write_rulebook(rulebook, shared)
    sidecar, contradictions = write_shared(path, run, shared, limit)
    return sidecar, (*shared.warnings, *contradictions)
