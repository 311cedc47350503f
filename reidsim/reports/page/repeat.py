"""Find the command that repeats a run, and the files that it needs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from reidsim.bundled import BUNDLED, bundled_folder, bundled_names
from reidsim.errors import InputError
from reidsim.overrides import override, parse_override
from reidsim.reports.page.stored_run import StoredRun
from reidsim.scenarios.load import extended
from reidsim.toml_text import inline_toml
from reidsim.validation import read_toml

_BARE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
# Suffixes of files that a scenario can name.
_FILES = (".csv", ".csv.gz", ".csv.bz2", ".parquet", ".toml", ".data", ".test", ".txt")


def repeating_command(run: StoredRun) -> str | None:
    """Return the command that repeats a run of a bundled scenario with its changes.

    None for other scenarios, or if options of a command cannot change the bundled scenario into exactly the scenario as
    run.
    """
    if run.name not in bundled_names("scenarios"):
        return None
    try:
        path = bundled_folder("scenarios") / f"{run.name}.toml"
        base = extended(read_toml(path), path)
    except InputError:
        return None
    content = dict(run.content)
    changes = _changes(base, content, ())
    if changes is None:
        return None
    words = ["reidsim", *command_of(run), run.name]
    for key, value in changes.items():
        if key == "seed":
            words += ["--seed", str(value)]
        else:
            words += ["--set", shlex.quote(_assignment(key, value))]
    return " ".join(words) if _gives(base, changes, content) else None


def command_of(run: StoredRun) -> list[str]:
    """Return the command that wrote a results folder, with the options it recorded."""
    played = run.manifest.get("cross_play")
    if isinstance(played, Mapping):
        known, rate = played.get("knowledge"), played.get("attack_rate", 0.5)
        options = ["--knowledge", shlex.quote(str(known))] if known else []
        options += ["--attack-rate", str(rate)] if rate != 0.5 else []
        options += ["--equilibrium"] if played.get("equilibrium") else []
        if oracle := played.get("double_oracle"):
            options += ["--double-oracle", shlex.quote(str(oracle)), "--tolerance", str(played.get("tolerance", 0.01))]
        return ["cross-play", *options]
    return ["run"] if "runs" in run.tables else ["stress"]


def _changes(base: Mapping[str, Any], run: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the values to replace in `base` to get `run`, by key path.

    The result is None if key paths cannot express the change.
    """
    found: dict[str, Any] = {}
    if set(base) - set(run):
        # Single keys cannot be removed, so the whole table is replaced.
        return {".".join(path): dict(run)} if path else None
    for key, value in run.items():
        if key in base and base[key] == value and type(base[key]) is type(value):
            continue
        place = (*path, key)
        if isinstance(value, Mapping) and isinstance(base.get(key), Mapping):
            inner = _changes(base[key], value, place)
            found |= inner or {}
        else:
            found[".".join(place)] = value
    return None if any(sign not in _BARE for part in found for sign in part.replace(".", "")) else found


def _assignment(key: str, value: object) -> str:
    plain = value if isinstance(value, str) else None
    if plain is not None and parse_override(f"{key}={plain}") == (key, plain):
        return f"{key}={plain}"
    return f"{key}={inline_toml(value)}"


def _gives(base: Mapping[str, Any], changes: Mapping[str, Any], run: Mapping[str, Any]) -> bool:
    """Return whether the changes, as command options, give the scenario as run."""
    changed = deepcopy(dict(base))
    try:
        override(changed, dict(parse_override(_assignment(key, value)) for key, value in changes.items()))
    except (InputError, TypeError):
        return False
    return changed == run


def named_files(content: Mapping[str, Any]) -> list[str]:
    """Return the user's files that a scenario names, which a copy of it needs too."""
    texts = _texts([value for key, value in content.items() if key not in ("title", "source")])
    return list(dict.fromkeys(text for text in texts if text.endswith(_FILES) and not text.startswith(BUNDLED)))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for entry in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _texts(entry)
