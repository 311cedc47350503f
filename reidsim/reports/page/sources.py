"""State the question of a run, the sources of its values, and how to repeat it."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from reidsim.bundled import BUNDLED, bundled_folder, bundled_names
from reidsim.core.plain_data import inline_toml, override, parse_override
from reidsim.drafts.draft import OF_PAPER
from reidsim.errors import InputError
from reidsim.reports.captions import DESCRIBED_SECTIONS
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.writer import Cell, shortened
from reidsim.scenarios.load import extended, leaves, origins_of
from reidsim.scenarios.registry import schemas
from reidsim.scenarios.report_sentences import gain_goes_with_loss, plain, section, varied_keys
from reidsim.scenarios.schema import spelled_out
from reidsim.validation import Section, read_text, read_toml, section_classes, validated
from reidsim.wording import Code, number_text

# Matches `key = value # comment` if the value does not contain a number sign.
_COMMENTED = re.compile(r"^([\w.-]+)\s*=\s*([^#]*?)\s*#\s*(.+)$")
_HEADING = re.compile(r"^\[+([^\[\]]+)\]+\s*(?:#.*)?$")
# Characters that do not change the meaning of a value.
_SPACES = re.compile(r"[\s_]")
# Key paths that need no quotation marks.
_BARE = re.compile(r"[A-Za-z0-9_.-]*")
# Suffixes of files that a scenario can name.
_FILES = (".csv", ".csv.gz", ".csv.bz2", ".parquet", ".toml", ".data", ".test", ".txt")


class _Recipe(BaseModel):
    name: str
    title: str = ""
    sources: list[str] = []


class _Origins(BaseModel):
    """The origins in a manifest; see `reidsim.scenarios.load.origins_of`."""

    texts: list[str] = []
    recipes: list[_Recipe] = []


def question(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `question`."""
    content = run.content
    releases, agents = section(content, "releases"), section(content, "agents")
    replications = content.get("replications", 1)
    return {
        "sentences": list(run.kind.asked(run)) if run.kind else [("A study of the kind ", Code(run.game), ".")],
        "replications": replications if isinstance(replications, int) else 1,
        "releases": {"leaves": None, **releases} if releases else None,
        "rounds": number_text(agents.get("rounds", 1)) if agents else "",
        "uncertain": _listed(section(section(content, "uncertainty"), "parameters")),
        "swept": _listed(section(section(content, "sweep"), "values")),
        "gain_is_loss": gain_goes_with_loss(content, varied_keys(content)),
        "others": [key for key in content if key not in DESCRIBED_SECTIONS],
    }


def _listed(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of each key as text."""
    texts = {}
    for key, value in values.items():
        entries = value if isinstance(value, list | tuple) else [value]
        named = [f"{name} {plain(entry)}" for name, entry in value.items()] if isinstance(value, Mapping) else None
        texts[str(key)] = shortened(", ".join(map(plain, entries) if named is None else named))
    return texts


def assumptions(run: StoredRun, scenario_file: Path | None = None) -> dict[str, Any]:
    """Return the values of the templates `assumptions` and `defaults`.

    Parameters
    ----------
    run : StoredRun
    scenario_file : Path, optional
        Scenario file with comments on the sources of values; by default, the copy stored with the run.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    given = run.manifest.get("origins") if scenario_file is None else origins_of(scenario_file, run.content)
    try:
        origins = _Origins.model_validate(given)
    except ValidationError:
        origins = _Origins()
    why, whose = _comments(run, origins.texts), _whose(run, origins.texts)
    stated = dict(leaves(dict(spelled_out(run.content))))
    rows: list[list[Cell]] = []
    for path, value in stated.items():
        # A named adversary takes values that it does not state from section [adversary].
        written = path if path in whose else f"adversary.{path.split('.', 2)[2]}"
        rows.append([*_row(run, path, value), "; ".join(filter(None, (why.get(written, ""), whose[written])))])
    source = run.content.get("source")
    return {
        "stated": rows,
        "defaults": [_row(run, path, value) for path, value in _defaults(run, stated)],
        "source": source if isinstance(source, str) else "",
        "recipes": origins.recipes,
    }


def _row(run: StoredRun, path: str, value: object) -> list[Cell]:
    return [Code(path), Code(shortened(inline_toml(value))), _meaning(run, path, value) or "-"]


def _whose(run: StoredRun, texts: list[str]) -> dict[str, str]:
    """Return the origin of each stated value: bundled scenario, paper or user."""
    bundled = {read_text(bundled_folder("scenarios") / f"{name}.toml") for name in bundled_names("scenarios")}
    stated: dict[str, tuple[object, bool]] = {}
    for text in texts:
        with suppress(tomllib.TOMLDecodeError):
            stated |= {path: (value, text in bundled) for path, value in leaves(tomllib.loads(text))}
    found: dict[str, str] = {}
    for path, value in leaves(run.content):
        original, is_bundled = stated.get(path, (None, False))
        above, _, name = path.rpartition(".")
        if is_bundled:
            found[path] = "as the bundled scenario" if original == value else "yours, in place of the scenario's value"
        else:
            is_of_paper = above == "economics" and value == OF_PAPER.get(name)
            found[path] = "default, from Wan et al. 2015" if is_of_paper else "yours"
    return found


def _defaults(run: StoredRun, stated: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield key path and value of the relevant defaults."""
    model = schemas().get(run.game)
    if model is None:
        return
    try:
        scenario = validated(model, run.content, run.name).model_dump(mode="json", by_alias=True)
    except InputError:
        return
    for path, value in leaves(scenario):
        if path not in stated and _is_worth_showing(path, value, stated):
            yield path, value


def _is_worth_showing(path: str, value: object, stated: Mapping[str, object]) -> bool:
    if value in (None, "", [], {}) or path.startswith("attributes."):
        return False
    if any(path.startswith(f"{key}.") for key in stated):
        # The key is inside a value that is shown as a whole.
        return False
    above, plan, _ = path.partition(".sequential.")
    if plan and above.partition(".")[0] in ("adversary", "adversaries"):
        return stated.get(f"{above}.planner") == "fmdp"
    # The default adversary has no role if there are named adversaries.
    return not (path.startswith("adversary.") and any(key.startswith("adversaries.") for key in stated))


def _meaning(run: StoredRun, path: str, value: object) -> str:
    """Return the schema's description of a key; empty if there is none.

    If section types share the key, the description is from the type that allows the value.
    """
    models: list[type[Section]] = [model for name, model in schemas().items() if name == run.game]
    description = ""
    for part in path.split("."):
        found = [item for model in models for item in model.model_fields.items()]
        fields = [field for name, field in found if part in (field.alias or name, name)]
        if not fields:
            # This part is a user-defined section name or a list index.
            continue
        field = next((field for field in fields if value in get_args(field.annotation)), fields[0])
        description = (field.description or "").replace("`", "")
        models = [inner for field in fields for inner in section_classes(field.annotation)]
    return description


def _comments(run: StoredRun, texts: list[str]) -> dict[str, str]:
    """Return the comments on values in the scenario files, if the run has the value."""
    stated = dict(leaves(run.content))
    found: dict[str, str] = {}
    for text in texts:
        above = ""
        for line in map(str.strip, text.splitlines()):
            if heading := _HEADING.match(line):
                above = heading[1].replace('"', "").replace(" ", "") + "."
            elif match := _COMMENTED.match(line):
                key = above + match[1]
                if key in stated and _SPACES.sub("", match[2]) == _SPACES.sub("", inline_toml(stated[key])):
                    found[key] = match[3].strip().replace("`", "")
    return found


def repeat(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `repeat`."""
    hashes = {"scenario": run.manifest.get("scenario_hash"), "data as coded": run.manifest.get("data_hash")}
    texts = _texts([value for key, value in run.content.items() if key not in ("title", "source")])
    return {
        "command": repeating_command(run),
        "name": run.name,
        "own_command": " ".join(["reidsim", *_command_of(run), shlex.quote(f"{run.name}.toml")]),
        # The user's files that a scenario names, which a copy of it needs too.
        "files": list(dict.fromkeys(text for text in texts if text.endswith(_FILES) and not text.startswith(BUNDLED))),
        "versions": run.manifest["versions"],
        "hashes": {name: digest for name, digest in hashes.items() if isinstance(digest, str)},
    }


def repeating_command(run: StoredRun) -> str | None:
    """Return the command that repeats a run of a bundled scenario with its changes.

    None for other scenarios, or if options of a command cannot change the bundled scenario into exactly the scenario as
    run.
    """
    if run.name not in bundled_names("scenarios"):
        return None
    words, path = ["reidsim", *_command_of(run), run.name], bundled_folder("scenarios") / f"{run.name}.toml"
    try:
        base = extended(read_toml(path), path)
        changed = deepcopy(base)
        for key, value in _changes(base, run.content, "").items():
            text = _assignment(key, value)
            words += ["--seed", str(value)] if key == "seed" else ["--set", shlex.quote(text)]
            override(changed, dict([parse_override(text)]))
    except (InputError, TypeError):
        return None
    return " ".join(words) if changed == run.content else None


def _command_of(run: StoredRun) -> list[str]:
    """Return the command that wrote a results folder, with the options it recorded."""
    played = run.manifest.get("cross_play")
    if not isinstance(played, Mapping):
        return ["run"] if "runs" in run.tables else ["stress"]
    known, rate = played.get("knowledge"), played.get("attack_rate", 0.5)
    options = ["--knowledge", shlex.quote(str(known))] if known else []
    options += ["--attack-rate", str(rate)] if rate != 0.5 else []
    options += ["--equilibrium"] if played.get("equilibrium") else []
    if oracle := played.get("double_oracle"):
        options += ["--double-oracle", shlex.quote(str(oracle)), "--tolerance", str(played.get("tolerance", 0.01))]
    return ["cross-play", *options]


def _changes(base: Mapping[str, Any], run: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the values to replace in `base` to get `run`, by key path.

    Raises
    ------
    TypeError
        If key paths cannot express the change.
    """
    if set(base) - set(run):
        # Single keys cannot be removed, so the whole table is replaced.
        if not path:
            raise TypeError("a section of the scenario is missing")
        return {path: dict(run)}
    found: dict[str, Any] = {}
    for key, value in run.items():
        place, own = f"{path}.{key}" if path else key, base.get(key)
        if key in base and own == value and type(own) is type(value):
            continue
        if isinstance(value, Mapping) and isinstance(own, Mapping):
            found |= _changes(own, value, place)
        elif _BARE.fullmatch(place):
            found[place] = value
        else:
            raise TypeError("a key needs quotation marks")
    return found


def _assignment(key: str, value: object) -> str:
    if isinstance(value, str) and parse_override(f"{key}={value}") == (key, value):
        return f"{key}={value}"
    return f"{key}={inline_toml(value)}"


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for entry in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _texts(entry)
