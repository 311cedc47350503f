"""The page on Python: functions of the commands, methods of scenarios and results, and objects of rounds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from markdown_text import table, wrapped

import reidsim
from reference_pages.key_pages import head
from reidsim.agents.attack import AdversaryOutcome, Observation, World
from reidsim.agents.subjects import Subject
from reidsim.engine.batch.statistics import BatchResult
from reidsim.engine.results import Result, RunResult
from reidsim.reports.page.report import report_text
from reidsim.reports.python import DraftedScenario

PYTHON = "python.md"
Verbs = Mapping[str, tuple[Callable[..., Any], ...]]

# Functions and methods that have the options of a command; the first one is its verb, after `LOADED`.
LOADED = (reidsim.Scenario.load,)
VERBS: Verbs = {
    "new": (reidsim.new, DraftedScenario.save),
    "check": (*LOADED, reidsim.Scenario.check),
    "run": (reidsim.run, reidsim.Scenario.batch),
    "report": (reidsim.report, report_text),
    "share": (reidsim.share,),
    "apply": (reidsim.apply,),
    "rerun": (reidsim.rerun, Result.save),
    "stress": (*LOADED, reidsim.Scenario.stress, Result.save),
    "switch": (*LOADED, reidsim.Scenario.switch, Result.save),
    "attributes": (*LOADED, reidsim.Scenario.attributes, Result.save),
    "cross-play": (*LOADED, reidsim.Scenario.cross_play),
    "score": (reidsim.score, reidsim.Scenario.score, Result.save),
    "attack": (reidsim.attack, Result.save),
    "populate": (reidsim.populate,),
    "describe": (reidsim.describe,),
    "explain": (reidsim.explain,),
    "schema": (reidsim.schema,),
    "list": (reidsim.list,),
    "show": (reidsim.show,),
}
# Options with another name in Python, and by command where it differs.
RENAMED = {
    "set_": "overrides",
    "output": "folder",
    "file": "data",
    "new": "data",
    "no_cells": "cells",
    "no_break_even": "break_even",
    "expected": "counts",
    "quasi_identifier": "quasi_identifiers",
    "hierarchy": "hierarchies",
    **dict.fromkeys(("report folder", "share folder"), "result"),
    **dict.fromkeys(("report output", "share output", "apply output", "populate output"), "path"),
    **dict.fromkeys(("check scenario", "stress scenario", "switch scenario"), "source"),
    **dict.fromkeys(("attributes scenario", "cross-play scenario"), "source"),
    "populate output": "output",
}
# Options that only the command line has.
ONLY_COMMANDS = {
    "quiet",
    "verbose",
    "group_readable",
    "run json",
    "share verify",
    "cross-play measure",
    "report figures",
}
# Names that the page explains once, before the table of commands.
_EXPLAINED = {"set_", "quiet", "verbose", "group_readable", "scenario"}
_HIDDEN = {"facts", "restored", "stored_tables", "write_tables", "written_tables"}
_PART = re.compile(r"^([A-Z]\w+)\n-+\n((?:.*\n?)*?)(?=\n[A-Z]\w+\n-+\n|\Z)", re.MULTILINE)
_ENTRY = re.compile(r"^(\w[\w, ]*) : (.+)\n((?: {4}.+\n?)+)", re.MULTILINE)


def python_page(root: Any) -> str:
    """Return the page on Python; `root` is the command line's program, with its commands."""
    text = (
        "[Scenarios in Python](../how-to/python.md) has examples. The site has a page for every module, with all "
        "parameters."
    )
    commands = (
        "Each command except `desk` and `serve` is a function of the package or a method of `Scenario`, with the same "
        "options; in names, `-` becomes `_`. A DataFrame can replace a file. `--set` is the argument `overrides`, or "
        "`Scenario.with_`; the file of a scenario is read by `Scenario.load`; `-o` is `save(folder)` of the result, if "
        "the table has no other name. `--group-readable`, `--quiet` and `--verbose` exist on the command line only."
    )
    functions = (
        "`run`, `run_batch`, `cross_play`, `stress` and `score` are also functions of the package. They take a "
        "`Scenario`, its content, or its name or file."
    )
    link = "../explanation/agents.md#data-subjects-in-mesa"
    rounds = (
        "An adversary that [adapts](../how-to/adaptive-adversary.md) has methods `begin(world)`, called before "
        "the first round, `plan(observation)`, called in each round, which returns a plan, and `observe(outcome)`, "
        "called after a round with the adversary present. A cell is a group of identical records."
    )
    parts = [
        head("Python", text),
        *("## Commands", wrapped(commands), *_commands(root)),
        *("## Methods of a scenario", _members(vars(reidsim.Scenario), reidsim.Scenario), wrapped(functions)),
        *("## Results", "A result of a run has:", _members(dir(RunResult), RunResult)),
        *("A result of a batch has in addition:", _members(set(dir(BatchResult)) - set(dir(RunResult)), BatchResult)),
        *("## Data subjects of the mesa model", f"A [data subject]({link}) of `model.subjects` has these attributes:"),
        _entries(Subject, "Attributes"),
        *("## Adversaries in rounds", wrapped(rounds)),
        *("`world` has:", _entries(World), "`observation` has:", _entries(Observation)),
        *("and the methods and properties:", _members(vars(Observation), Observation)),
        *("`outcome` has:", _entries(AdversaryOutcome)),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _commands(root: Any) -> Iterator[str]:
    rows = []
    for command, verbs in VERBS.items():
        verb = verbs[verbs[0] in LOADED]
        name = verb.__qualname__ if "." in verb.__qualname__ else f"reidsim.{verb.__qualname__}"
        rows.append((f"`{command}`", f"`{name}`", "; ".join(_other_names(command, root.commands[command].params))))
    yield "\n".join(table(("command", "Python", "options with another name"), rows))


def _other_names(command: str, options: Iterable[Any]) -> Iterator[str]:
    for option in options:
        shown = option.opts[-1] if option.param_type_name == "option" else option.name.upper()
        own = python_name(command, option.name)
        if option.name in _EXPLAINED or own == "folder":
            continue
        if own is None:
            yield f"`{shown}`: none"
        elif own != shown.removeprefix("--").replace("-", "_").lower():
            yield f"`{shown}`: `{own}`"


def python_name(command: str, option: str) -> str | None:
    """Return the name that an option of a command has in Python; None if only the command line has it."""
    if {option, f"{command} {option}"} & ONLY_COMMANDS:
        return None
    return RENAMED.get(f"{command} {option}", RENAMED.get(option, option))


def _members(names: Iterable[str], owner: type) -> str:
    """Return a list of methods and properties, with the first line of each docstring."""
    described = {}
    for name in names:
        member = inspect.getattr_static(owner, name)
        if name.startswith("_") or name in _HIDDEN or not (callable(member) or hasattr(member, "__get__")):
            continue
        called = "()" if inspect.isfunction(member) or isinstance(member, classmethod) else ""
        described[f"{name}{called}"] = (inspect.getdoc(member) or "").partition("\n")[0]
    return "\n".join(_line(f"`{name}`", text) for name, text in described.items())


def _entries(owner: type, part: str = "Parameters") -> str:
    """Return a list of the entries of a part of the docstring of a class."""
    parts = dict(_PART.findall(inspect.getdoc(owner) or ""))
    found = _ENTRY.findall(parts[part] + "\n")
    return "\n".join(_line(f"`{names.replace(', ', '`, `')}` ({kind})", text) for names, kind, text in found)


def _line(name: str, text: str) -> str:
    text = text.strip().replace("``", "`")
    return wrapped(f"- {name}: {text[:1].lower()}{text[1:]}", "  ")
