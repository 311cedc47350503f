"""State the question of a run, the sources of its values, and how to repeat it."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from reidsim.core.bundled import BUNDLED, bundled_folder, bundled_names
from reidsim.core.errors import InputError
from reidsim.core.plain_data import inline_toml
from reidsim.core.validation import Section, read_text, section_classes, validated
from reidsim.core.wording import Code, number_text
from reidsim.drafts.draft import OF_PAPER
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.writer import Cell, shortened
from reidsim.scenarios.kind import gain_goes_with_loss, plain, schemas, section, varied_keys
from reidsim.scenarios.load import leaves, origins_of
from reidsim.scenarios.schema import spelled_out

# Matches `key = value # comment` if the value does not contain a number sign.
_COMMENTED = re.compile(r"^([\w.-]+)\s*=\s*([^#]*?)\s*#\s*(.+)$")
_HEADING = re.compile(r"^\[+([^\[\]]+)\]+\s*(?:#.*)?$")
# Characters that do not change the meaning of a value.
_SPACES = re.compile(r"[\s_]")
# Suffixes of files that a scenario can name.
_FILES = (".csv", ".csv.gz", ".csv.bz2", ".parquet", ".toml", ".data", ".test", ".txt")


def question(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `question`, by name.

    They are the question of a run in sentences, and its design. The design is the number of replications and rounds,
    waves of releases, and uncertain and swept keys.
    """
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
    }


def _listed(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of each key as one text, by key.

    Values are separated by commas; a text is shortened to 160 characters.
    """
    texts = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            entries = [f"{name} {plain(entry)}" for name, entry in value.items()]
        else:
            entries = list(map(plain, value if isinstance(value, list | tuple) else [value]))
        texts[str(key)] = shortened(", ".join(entries))
    return texts


def assumptions(run: StoredRun, scenario_file: Path | None = None) -> dict[str, Any]:
    """Return the values of the templates `assumptions` and `defaults`, by name.

    ``stated`` and ``defaults`` have one row per key that the scenario states, or relevant default: key, value and
    meaning; stated ones also have the comment in the scenario file and the origin. ``source`` and ``recipes`` are the
    scenario's source and the recipes that it uses.

    Parameters
    ----------
    run : StoredRun
        Results of the run.
    scenario_file : Path, optional
        Scenario file with comments on the sources of values; by default, the copy stored with the run.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    origins = run.manifest.get("origins", {}) if scenario_file is None else origins_of(scenario_file, run.content)
    texts = origins.get("texts", [])
    why, whose = _comments(run, texts), _whose(run, texts)
    stated = dict(leaves(dict(spelled_out(run.content))))
    rows: list[list[Cell]] = []
    for path, value in stated.items():
        # A named adversary takes values that it does not state from section [adversary].
        written = path if path in whose else f"adversary.{path.split('.', 2)[2]}"
        rows.append([*_row(run, path, value), "; ".join(filter(None, (why.get(written, ""), whose[written])))])
    return {
        "stated": rows,
        "defaults": [_row(run, path, value) for path, value in _defaults(run, stated)],
        "source": run.content.get("source"),
        "recipes": origins.get("recipes", []),
    }


def _row(run: StoredRun, path: str, value: object) -> list[Cell]:
    return [Code(path), Code(shortened(inline_toml(value))), _meaning(run, path, value) or "-"]


def _whose(run: StoredRun, texts: list[str]) -> dict[str, str]:
    """Return the origin of each stated value: bundled scenario, paper or user.

    Origins are texts by key path of the values that the scenario states. `texts` are the texts of the scenario files
    from which the run was made, later ones in place of earlier ones.
    """
    bundled = {read_text(bundled_folder("scenarios") / f"{name}.toml") for name in bundled_names("scenarios")}
    stated: dict[str, tuple[object, bool]] = {}
    for text in texts:
        with suppress(tomllib.TOMLDecodeError):
            stated |= {path: (value, text in bundled) for path, value in leaves(tomllib.loads(text))}
    found: dict[str, str] = {}
    for path, value in leaves(run.content):
        original, is_bundled = stated.get(path, (None, False))
        if is_bundled:
            found[path] = "as the bundled scenario" if original == value else "yours, in place of the scenario's value"
        else:
            is_of_paper = value == OF_PAPER.get(path.removeprefix("economics."))
            found[path] = "default, from Wan et al. 2015" if is_of_paper else "yours"
    return found


def _defaults(run: StoredRun, stated: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield key path and value of each default that is relevant for a run.

    Keys in `stated`, empty values, attributes, and settings of adversaries without a role are omitted. Nothing is
    yielded if the kind or version of the scenario is not installed.
    """
    try:
        scenario = validated(schemas()[run.game], run.content, run.name).model_dump(mode="json", by_alias=True)
    except (InputError, KeyError):
        return
    for path, value in leaves(scenario):
        above, plan, _ = path.partition(".sequential.")
        if value in (None, "", [], {}) or path.startswith("attributes.") or path in stated:
            continue
        # The key may be inside a value that is shown as a whole.
        if any(path.startswith(f"{key}.") for key in stated):
            continue
        if plan and above.partition(".")[0] in ("adversary", "adversaries"):
            if stated.get(f"{above}.planner") == "fmdp":
                yield path, value
        # The default adversary has no role if there are named adversaries.
        elif not (path.startswith("adversary.") and any(key.startswith("adversaries.") for key in stated)):
            yield path, value


def _meaning(run: StoredRun, path: str, value: object) -> str:
    """Return the schema's description of a scenario key; "" if there is none.

    The key is given by its path. If section types share the key, the description is from the type that allows the
    value.
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
    """Return the comments on values in the scenario files, by key path.

    A comment counts only if the run has the same value. A comment follows ``key = value #`` in one line. `texts` are
    the texts of the files; later comments replace earlier ones.
    """
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
    """Return the values of the template `repeat`, by name.

    They show how to run the scenario again. They are the scenario's name, the command, the user's files that it needs,
    versions of packages, and hashes.
    """
    hashes = {"scenario": run.manifest.get("scenario_hash"), "data as coded": run.manifest.get("data_hash")}
    texts = _texts([value for key, value in run.content.items() if key not in ("title", "source")])
    return {
        "name": run.name,
        "command": f"reidsim {_command_of(run)} {shlex.quote(f'{run.name}.toml')}",
        # The user's files that a scenario names, which a copy of it needs too.
        "files": list(dict.fromkeys(text for text in texts if text.endswith(_FILES) and not text.startswith(BUNDLED))),
        "versions": run.manifest["versions"],
        "hashes": {name: digest for name, digest in hashes.items() if isinstance(digest, str)},
    }


def _command_of(run: StoredRun) -> str:
    """Return the command that wrote a results folder, with the options it recorded.

    It is run, stress or cross-play. The name of the program and the scenario are not part of it.
    """
    played = run.manifest.get("cross_play")
    if not isinstance(played, Mapping):
        return "run" if "runs" in run.tables else "stress"
    oracle = played.get("double_oracle")
    options = {
        "--knowledge": played.get("knowledge"),
        "--attack-rate": None if played.get("attack_rate") == 0.5 else played.get("attack_rate"),
        "--double-oracle": oracle,
        "--tolerance": played.get("tolerance", 0.01) if oracle else None,
    }
    words = [f"{name} {shlex.quote(str(value))}" for name, value in options.items() if value not in (None, "")]
    return " ".join(["cross-play", *words, *(["--equilibrium"] if played.get("equilibrium") else [])])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for entry in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _texts(entry)
