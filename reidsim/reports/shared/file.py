"""Write and verify the file of released records and its sidecar."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.measures import measures_among
from reidsim.engine.results import require_hash, require_no_standard_output
from reidsim.errors import InputError
from reidsim.populations.files import not_written, require_new_file, unfinished_beside
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.audited import audit_warnings
from reidsim.reports.shared.inference import require_limits
from reidsim.reports.shared.limit import Limit
from reidsim.reports.shared.read_back import read_back
from reidsim.reports.shared.records import SharedRecords, class_sizes
from reidsim.scenarios.people import unit_sentence
from reidsim.tables import delimited_line, read_table
from reidsim.validation import read_json

NO_LIMIT = Limit(1.0, "no limit")
FORMAT = "reidsim shared records, version 1"
SEAL = "sidecar_sha256"
# Scenario sections with assumptions about players and payoff parameters.
_PARAMETERS = ("economics", "beliefs", "adversary", "adversaries", "publisher", "subjects", "agents", "safe_harbor")
# Number of table rows formatted at once.
_ROWS_AT_ONCE = 2**16
_AS_DRAWN = "; one draw of the adversaries and successful attacks of the round, not an expected value"
_CLASS_DEFINITION = (
    "shared records with equal quasi-identifiers in the file; with record-level generalization, "
    "the risk counts all people whose true values match a release, so groups are larger than classes"
)


def sidecar_of(path: Path) -> Path:
    """Return the path of the sidecar of a released file."""
    return path.with_name(f"{path.name}.json")


def require_new_files(path: Path) -> None:
    """Check that neither a released file nor its sidecar exists.

    Raises
    ------
    InputError
        If one exists, a parent folder is a file, or the file is ``-``.
    """
    require_no_standard_output(path)
    for new in (path, sidecar_of(path)):
        require_new_file(new)


def write_shared(
    path: Path, run: StoredRun, shared: SharedRecords, limit: Limit = NO_LIMIT, *, accept_risk: bool = False
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write released records to CSV, read them back, and write the sidecar.

    Either both files are written or none.

    The file is UTF-8 with the delimiter of the source file. Cells are written unchanged, and quoted only if they
    contain delimiters, quotation marks or line breaks.

    Parameters
    ----------
    path : Path
        Path of the new file.
    run : StoredRun
    shared : SharedRecords
    limit : Limit
        Limit on the risk of a record, and of a person who is looked up, as audited in the file that was read back.
    accept_risk : bool
        Whether to write the file even if its risk is above the limit.

    Returns
    -------
    dict
        The sidecar.
    tuple of str
        Warnings about contradictions between the file and the results of the run.

    Raises
    ------
    InputError
        If one of the files exists or cannot be written, the risk is above the limit, kept columns single out too many
        people, or the file would not protect a column that its policy or scenario promises to protect.
    """
    require_new_files(path)
    content = csv_bytes(shared.table, shared.delimiter)
    sidecars: list[dict[str, Any]] = []

    def sidecar_of_written(written: Path) -> bytes:
        table = read_table(written, delimiter=shared.delimiter, trim=False) if len(shared.table) else shared.table
        facts = _sidecar(path.name, hashlib.sha256(content).hexdigest(), run, shared)
        found = read_back(shared, table)
        found.people.require_few(shared.kept.max_singled_out)
        if not accept_risk:
            limit.require(found.risk, shared.policy, run.content)
            require_limits(found.inferred, shared)
        sidecars.append(sealed({**facts, **found.facts(limit)}))
        return (json.dumps(sidecars[0], indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()

    _write_both(path, content, sidecar_of_written)
    return sidecars[0], audit_warnings(sidecars[0]["audit"], shared.policy, shared.forms.highest_risk)


def csv_bytes(table: pd.DataFrame, delimiter: str = ",") -> bytes:
    """Return a text table as UTF-8 CSV with a header."""
    parts = [delimited_line(map(str, table.columns), delimiter).encode()]
    # Convert a limited number of rows at once: Python objects for all cells would take many times the size of the file.
    for start in range(0, len(table), _ROWS_AT_ONCE):
        columns = [column.tolist() for _, column in table.iloc[start : start + _ROWS_AT_ONCE].items()]
        parts.append("".join(delimited_line(row, delimiter) for row in zip(*columns, strict=True)).encode())
    return b"".join(parts)


def sealed(sidecar: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sidecar with the hash of its content as the last entry."""
    content = {key: value for key, value in sidecar.items() if key != SEAL}
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return {**content, SEAL: hashlib.sha256(text.encode()).hexdigest()}


def verify_shared(path: Path) -> dict[str, Any]:
    """Check that a released file and its sidecar are unchanged.

    Returns
    -------
    dict
        The sidecar.

    Raises
    ------
    InputError
        If a file is missing or changed, or the two do not match; the message names the file and the difference.
    """
    sidecar = _read_sidecar(sidecar_of(path))
    if not path.is_file():
        raise InputError("no such file", source=path, expected="the shared file of the sidecar")
    require_hash(path, sidecar["sha256"], "the file changed since the sidecar was written")
    if not sidecar["records"]["shared"]:
        # The file has only a header, which the hash has already verified.
        return sidecar
    # Sidecars of earlier versions do not record the delimiter; their files use commas.
    table = read_table(path, delimiter=sidecar.get("delimiter", ","), trim=False)
    columns = [column["name"] for column in sidecar["columns"]]
    quasi = [column["name"] for column in sidecar["columns"] if column["role"] == "quasi-identifier"]
    if list(table.columns) != columns:
        raise InputError("the columns differ from the sidecar", source=path, found=list(table.columns))
    classes = _classes(class_sizes(table, quasi))
    rows = sidecar["records"]["shared"] + sidecar.get("counterfeits", {}).get("number", 0)
    if len(table) != rows or classes != sidecar["classes"]:
        raise InputError("the equivalence classes differ from the sidecar", source=path, found=classes["number"])
    return sidecar


def _read_sidecar(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError("no such file", source=path, expected="a sidecar written by reidsim share")
    sidecar = read_json(path)
    if not isinstance(sidecar, dict) or sidecar.get("format") != FORMAT:
        raise InputError("not a sidecar of reidsim share", source=path, expected=f"format {FORMAT!r}")
    if sealed(sidecar) != sidecar:
        raise InputError("the sidecar changed since it was written", source=path, where=SEAL)
    return sidecar


def _sidecar(name: str, digest: str, run: StoredRun, shared: SharedRecords) -> dict[str, Any]:
    quasi = shared.quasi_identifiers
    facts = run.manifest.get("policies", {})
    if not isinstance(facts, Mapping) or not isinstance(facts.get(shared.policy, {}), Mapping):
        where, expected = f"policies.{shared.policy}", "a section written by reidsim run"
        manifest = run.folder / "manifest.json"
        raise InputError("not the manifest of a run", source=manifest, where=where, expected=expected)
    content = {
        "format": FORMAT,
        "file": name,
        "sha256": digest,
        "delimiter": shared.delimiter,
        "columns": [
            {"name": column, "role": "quasi-identifier", "attribute": quasi[column]}
            if column in quasi
            else {"name": column, "role": "kept as it is"}
            for column in map(str, shared.table.columns)
        ],
        "records": {
            "release": shared.records,
            "shared": shared.records - shared.withheld,
            "withheld": shared.withheld,
        },
        **_counterfeits(shared),
        "unit": unit_sentence(run.manifest),
        "scenario": run.name,
        "policy": shared.policy,
        "solver": facts.get(shared.policy, {}),
        "parameters": {key: run.content[key] for key in _PARAMETERS if key in run.content},
        "round": _last_round(run),
        "expected": _expected(run, shared.policy),
        "classes": _classes(class_sizes(shared.table, list(quasi))),
        "source": {"file": shared.source.path.name, "sha256": shared.source.sha256},
        "run": {key: run.manifest.get(key) for key in ("scenario_hash", "data_hash", "seed", "versions")},
        "written_by": f"reidsim {version('reidsim')}",
    }
    # JSON has no infinity or NaN, such as an unbounded gap: store null.
    plain: dict[str, Any] = json.loads(json.dumps(content), parse_constant=lambda constant: None)
    return plain


def _counterfeits(shared: SharedRecords) -> dict[str, Any]:
    """Return the counterfeit rows of the file, for a policy that may add them."""
    if shared.sensitive is None:
        return {}
    rows = np.flatnonzero(~shared.is_real) + 1
    definition = (
        "rows of the file, counted from 1, that describe no person; they conceal the sensitive values of other people"
    )
    return {"counterfeits": {"number": len(rows), "rows": rows.tolist(), "definition": definition}}


def _last_round(run: StoredRun) -> dict[str, Any] | None:
    """Return the last round or wave, from which records are released.

    None for a one-shot game.
    """
    agents, releases = run.content.get("agents"), run.content.get("releases")
    if agents is None and releases is None:
        return None
    drawn = agents is not None and agents.get("mode") == "sampling"
    last = {"number": int(_rounds(run)["round"].max()), "outcomes": "drawn" if drawn else "expected"}
    return last if releases is None else {**last, "wave": str(_rounds(run)["wave"].iloc[-1])}


def _expected(run: StoredRun, policy: str) -> dict[str, Any]:
    """Return the measures of a policy with definitions.

    In scenarios with rounds or waves, they are those of the last one in the first draw. Missing and infinite values are
    None.
    """
    table, last = run.runs, _last_round(run)
    drawn = ""
    if last is not None:
        rounds = _rounds(run)
        # The released records also come from the first draw.
        table = rounds[((rounds["draw"] == 0) & (rounds["round"] == last["number"])).to_numpy()]
        drawn = _AS_DRAWN if last["outcomes"] == "drawn" else ""
    row = table[(table["policy"].astype("str") == policy).to_numpy()].iloc[0]
    measures = {}
    for column, measure in measures_among(run.measures.values(), table.columns).items():
        value = float(row[column])
        definition = f"{measure.definition}{drawn}"
        measures[column] = {"value": value if math.isfinite(value) else None, "definition": definition}
    return measures


def _rounds(run: StoredRun) -> pd.DataFrame:
    if "rounds" not in run.tables:
        raise InputError("no rounds in the results", source=run.folder, expected="rounds.parquet")
    return run.table("rounds")


def _classes(sizes: NDArray[np.int64]) -> dict[str, Any]:
    """Summarize equivalence classes: number of classes of each size."""
    distinct, numbers = np.unique(sizes, return_counts=True)
    by_size = {str(size): number for size, number in zip(distinct.tolist(), numbers.tolist(), strict=True)}
    return {
        "definition": _CLASS_DEFINITION,
        "number": len(sizes),
        "smallest": int(sizes.min()) if len(sizes) else None,
        "largest": int(sizes.max()) if len(sizes) else None,
        "classes_of_size": by_size,
    }


def _write_both(path: Path, content: bytes, sidecar_of_written: Callable[[Path], bytes]) -> None:
    """Write a file and its sidecar so that both appear complete or neither does.

    The sidecar is computed from the written file.
    """
    unfinished: dict[Path, str] = {}
    done: list[Path] = []
    # The sidecar comes first: if the machine stops in between, a sidecar without its file does less harm than a file
    # without its sidecar.
    order = (sidecar_of(path), path)
    at = path
    try:
        # A fixed suffix makes the unfinished file plain text, independent of the suffix of the final file.
        unfinished[path] = unfinished_beside(path, lambda name: Path(name).write_bytes(content), ".part")
        at = sidecar_of(path)
        sidecar = sidecar_of_written(Path(unfinished[path]))
        unfinished[at] = unfinished_beside(at, lambda name: Path(name).write_bytes(sidecar), ".part")
        for at in order:
            os.replace(unfinished[at], at)
            done.append(at)
    except OSError as error:
        for written in done:
            written.unlink(missing_ok=True)
        raise not_written(at, error) from None
    finally:
        for name in unfinished.values():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
