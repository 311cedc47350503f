"""Reading what a scenario names, and refusing what cannot be done with it in the memory that is free."""

from __future__ import annotations

from typing import Any

from reidsim.memory import PROGRAM_BYTES, free_memory, memory_text, require_memory
from reidsim.scenarios.kind import Use
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.study import Study


def build_within_memory(loaded: LoadedScenario[Any], use: Use = "run", before: Study[Any] | None = None) -> Study[Any]:
    """Return the study of a scenario, having checked that it can be used in the memory that was free before.

    Parameters
    ----------
    loaded : LoadedScenario
    use : str
        What is to be done with it; see `Kind.needed_memory`.
    before : Study, optional
        Whose data may serve again.

    Raises
    ------
    InputError
        If something cannot be used, or more memory is needed than was free.
    """
    free = free_memory()
    kind = kind_of(loaded.scenario)
    again = before is not None and kind_of(before.scenario) is kind
    study = kind.build_after(loaded, before) if again else kind.build(loaded)
    needed = needed_memory(study, use)
    if needed is not None:
        hint = "fewer records, quasi-identifiers or policies need less"
        require_memory(needed, "too large for memory", source=loaded.path, hint=hint, free=free)
    return study


def needed_memory(study: Study[Any], use: Use = "run") -> int | None:
    """Return about how many bytes it takes to use a study, besides the program; None if its kind does not tell."""
    kind = kind_of(study.scenario)
    rounds = use == "run" and kind.decides and kind.in_rounds(study.scenario)
    return kind.needed_memory(study, "rounds" if rounds else use)


def memory_told(study: Study[Any]) -> str:
    """Return what a run of a study takes, the program included, as the end of a line; nothing if that is not known."""
    needed = needed_memory(study)
    return "" if needed is None else f", about {memory_text(PROGRAM_BYTES + needed)} of memory"
