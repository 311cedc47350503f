"""The commands of the command line, and the names of the package that they use.

A name is imported when a command first uses it, so that --help is fast: commands import this package as ``late``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from reidsim.core.interrupts import stop_if_interrupted

# Names by the module that defines them.
_HOMES = {
    "reidsim.core.validation": "parse_override plain",
    "reidsim.drafts.draft": "UndecidedPersonError draft_scenario name_of",
    "reidsim.engine.attributes": "attributes_loaded",
    "reidsim.engine.batch.design": "has_several_runs",
    "reidsim.engine.batch.executors": "executor_named",
    "reidsim.engine.batch.folder": "telling_kept",
    "reidsim.engine.batch.runner": "rerun_one run_batch_loaded run_loaded",
    "reidsim.engine.batch.statistics": "BatchResult",
    "reidsim.engine.cross_play": "CrossPlayOptions cross_play_loaded has_several_plays",
    "reidsim.engine.results": "add_figures next_free_folder open_to_group require_free write_results "
    "require_no_standard_output",
    "reidsim.engine.score": "score_loaded",
    "reidsim.engine.stress.run": "describe stress_loaded with_method",
    "reidsim.engine.switch": "switch_loaded",
    "reidsim.games.cross_play": "require_measure",
    "reidsim.populations.catalogue": "populate require_new_file write_new_file",
    "reidsim.reports.description": "describe_file explanation",
    "reidsim.reports.page.report": "write_report",
    "reidsim.reports.page.sources": "open_results",
    "reidsim.reports.python": "illustrate",
    "reidsim.reports.shared.audited": "summary_of",
    "reidsim.reports.shared.file": "apply_rules csv_bytes require_new_files share_run sidecar_of verify_shared",
    "reidsim.reports.shared.records": "Kept MOST_SINGLED_OUT",
    "reidsim.reports.study_tables": "attributes_tables cross_play_tables description_tables double_oracle_tables "
    "draft_table equilibrium_tables stress_tables switch_table switch_text",
    "reidsim.reports.terminal": "batch_tables summary_tables",
    "reidsim.reports.verdict": "verdict_of",
    "reidsim.scenarios.kind": "counted_units schemas unit_sentence",
    "reidsim.scenarios.load": "Scenario",
    "reidsim.scenarios.schema": "READ_BY_CROSS_PLAY",
    "reidsim.web.server": "serve",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Return an object of `_HOMES`; raise KeyboardInterrupt if an interrupt came during its import."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOME_OF[name]), name)
    stop_if_interrupted()
    return found
