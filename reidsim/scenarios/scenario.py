"""Load scenarios from files, or from tables and objects in Python; base class of studies.

Loading reads the file, applies overrides, validates, and finds the user-defined parts. A scenario keeps the origins of
its values: the text of its files, with comments, and the sources of its recipes. The manifest of every results folder
has them, so that a report can cite them after the files change or disappear.

If the name of an adversary (``adversary.planner``) or of a policy is a key of the objects passed in Python, the object
is used: an adversary or policy, or a class or function that makes one. References to objects of modules in a file are
replaced by names when it is loaded, so that names are equal in both cases.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
import pandas as pd

from reidsim.adversaries.response import Adversary, Amount, OneShotAdversary, Register, planners
from reidsim.core.errors import InputError, locating, refuse_first, require_among
from reidsim.core.files import (
    BUNDLED,
    PrivateFolder,
    bundled_names,
    data_file,
    looks_like_path,
    parse_toml,
    plain_name,
    read_text,
    read_toml,
    require_shallow,
    resolve,
)
from reidsim.core.parameters import checked_parameters, has_method, made
from reidsim.core.registry import register, registered
from reidsim.core.tables import OverFiles, in_turn, pandas_table, text_table, write_text_table
from reidsim.core.validation import (
    merged,
    override,
    plain,
    toml_text,
    validated,
    validated_after,
    value_at,
    value_if_any,
    with_texts,
)
from reidsim.games.cross_play import Game
from reidsim.games.outcomes import OWN_MEASURES
from reidsim.populations.catalogue import load_population
from reidsim.populations.population import Counts, Population
from reidsim.scenarios.adversary_schema import AdversarySection, PlannerSection
from reidsim.scenarios.hierarchies import hierarchy_section
from reidsim.scenarios.parts import measure, written
from reidsim.scenarios.registry import (
    Group,
    is_beside_scenario,
    kind_of,
    kinds,
    load_part,
    made_by,
    names_object,
    one_line_errors,
    part_name,
    scenario_kind,
)
from reidsim.scenarios.schema import ScenarioHead, has_key, unread_keys

_LOGGER = logging.getLogger(__name__)
# Keys whose value may be a path. A relative path starts at the scenario file, or in an override at the working folder.
_PATH_KEYS = (
    "release.path",
    "release.persons",
    "population.path",
    "attributes.*.hierarchy.file",
    "targets.file",
    "resources.*.file",
    "trees.*.file",
    "adversary.stages.*.mutation_rates",
    "adversaries.*.stages.*.mutation_rates",
)
# Keys whose value is the name of a bundled population, or a recipe file.
RECIPE_KEYS = (
    "population.recipe",
    "voters.recipe",
    "release.table",
    "resources.*.recipe",
    "adversary.sequential.registry",
    "adversary.knowledge",
    "adversary.stages",
    "adversaries.*.sequential.registry",
    "adversaries.*.knowledge",
    "adversaries.*.stages",
    "knowledge.*",
)
_RECIPE_FOLDERS = ("populations", "populations/knowledge")
# Keys that do not affect the game.
_NOT_OF_THE_GAME = ("title", "source", "game", "figures")
# Path of scenarios that are not in a file.
_IN_MEMORY = Path("scenario")
# Largest number of scenarios that extend one another.
_MOST_EXTENDED = 20
# Key paths that list values of another key: one named in the path, or the one that the entry `key` beside them names.
_VALUES_BY_KEY = re.compile(r"(?:sweep\.values|uncertainty\.parameters)\.(.+)")
_VALUES_OF_KEY = re.compile(r"stress\.(?:beliefs\.\d+\.(?:true|believed)|map\.[^.]+\.values)")

# Group of the parts that a key names, by the last part of the key path.
_NAMED_BY: dict[str, Group] = {"planner": "adversaries", "policies": "policies", "own": "measures"}
# Sections that may name a measure.
_WITH_MEASURES = ("measures", "stress", "sweep", "uncertainty")
# Method of a part, by group.
_METHODS = {"adversaries": "respond", "policies": "choose", "measures": "compute"}
_SIGNATURES = {"adversaries": "respond(linkage, rows)", "policies": "choose(game)"}

S_co = TypeVar("S_co", bound=ScenarioHead, covariant=True)
Rows = TypeVar("Rows")


# A user-defined part that a scenario names: its group, its name, the key path that names it, the key path of its
# parameters, and the parameters by name.
_OwnPart = tuple[Group, str, str, str, Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Scenario(Generic[S_co]):
    """A validated scenario with its file and content.

    Two scenarios are equal if their values, defaults included, and the contents of their files are equal.

    Parameters
    ----------
    name : str
        File name without its ending.
    path : Path
        Path of the file.
    scenario : ScenarioHead
        The validated scenario, with overrides applied; an instance of the schema of its kind.
    content : dict
        The same scenario as plain data.
    recorded : mapping
        Origins in the manifest of a results folder, if the scenario comes from one; see `origins_of`.
    allow_code : bool
        Whether modules that the scenario names may be imported; entry points of installed packages always may.
    objects : mapping
        User-defined parts by name: objects that were passed in Python, and references to objects of modules, such as
        ``package.module:object``, which names in the content replace.
    place : PrivateFolder, optional
        Folder with the tables of a scenario built from tables in memory; it exists as long as the scenario.
    library : str
        Library of the table of records, such as ``polars``; `reidsim.share` returns a table of this library.
    held : HeldStudy, optional
        The data in memory; see `reidsim.scenarios.kind.Kind.study_of`. A pickled scenario has none.
    over_files : callable
        Reads the files of a large table of records; see `reidsim.core.tables.read_distinct_rows`.
    """

    name: str
    path: Path
    scenario: S_co
    content: dict[str, Any]
    recorded: Mapping[str, Any] = field(default_factory=dict)
    allow_code: bool = False
    objects: Mapping[str, Any] = field(default_factory=dict)
    place: PrivateFolder | None = field(default=None, repr=False)
    library: str = "pandas"
    held: HeldStudy | None = field(default=None, repr=False)
    over_files: OverFiles = field(default=in_turn, repr=False)

    @classmethod
    def load(
        cls,
        source: str | Path | Mapping[str, Any] | Scenario[Any],
        overrides: Mapping[str, object] | None = None,
        *,
        seed: int | None = None,
        allow_code: bool = False,
        also_read: Collection[str] = (),
    ) -> Self:
        """Read and validate a scenario.

        Parameters
        ----------
        source : str, Path, mapping or Scenario
            Name of a bundled scenario, a TOML file, the text of one, its content as plain data, or a scenario.
        overrides : mapping of str to object, optional
            Value by key path, such as ``{"economics.loss": 600}``; None sets a key to no value. Values, also those of
            `source`, may be tables and objects, as in `reidsim.Scenario.from_frames`.
        seed : int, optional
            Replaces the scenario's seed.
        allow_code : bool
            Whether modules that the scenario names may be imported; entry points of installed packages always may.
        also_read : collection of str
            Patterns of key paths that are accepted even if their condition for being read does not hold.

        Raises
        ------
        InputError
            If the scenario is invalid or sets a key that has no effect. The error names the file, the key path, the
            value found and the values allowed.
        """
        held = (source.place, source.objects) if isinstance(source, Scenario) else (None, {})
        memory = InMemory(*held, absolute=True)
        has_paths = isinstance(overrides or {}, Mapping) and all(isinstance(key, str) for key in overrides or {})
        refuse_first((not has_paths, "wrong type", None, overrides, "values by key path"), source="--set")
        require_shallow(overrides or {}, "--set")
        changes = {key: None if value is None else memory.plain(value, key) for key, value in (overrides or {}).items()}
        changes |= {} if seed is None else {"seed": seed}
        if isinstance(source, Scenario):
            values = {each.name: getattr(source, each.name) for each in fields(source)}
            given = {"objects": memory.objects, "place": memory.place, "allow_code": allow_code or source.allow_code}
            return cls(**{**values, **given}).overridden(changes, also_read=also_read, seed_given=seed is not None)
        if isinstance(source, Mapping) or (isinstance(source, str) and "\n" in source):
            path = _IN_MEMORY
            read = parse_toml(source, path) if isinstance(source, str) else source
            own = {key: memory.plain(value, key) for key, value in read.items()}
            whole = anchored(extended(own, path), Path())
        else:
            path = resolve(source, "scenarios", "scenario")
            own = read_toml(path)
            whole = extended(own, path)
        inherited = own.get("inherited", [])
        is_list = isinstance(inherited, list) and all(isinstance(key, str) for key in inherited)
        with locating(path):
            refuse_first((not is_list, "wrong type", "inherited", inherited, "a list of key paths"))
        start = cls(path.stem, path, None, whole, {}, allow_code, memory.objects, memory.place)  # type: ignore[arg-type]
        loaded = start.overridden(changes, own=own, also_read=also_read, seed_given=seed is not None)
        _LOGGER.info("scenario %s read from %s", loaded.name, path)
        return loaded

    def overridden(
        self,
        changes: Mapping[str, object],
        *,
        own: Mapping[str, Any] | None = None,
        also_read: Collection[str] = (),
        seed_given: bool = False,
    ) -> Self:
        """Return the scenario with other values by key path, validated.

        A key without effect is refused if it is among the changes, or in `own`, the content of the scenario's own file,
        unless it matches a pattern in `also_read`. `seed_given` is for messages: the seed has its own option.

        Raises
        ------
        InputError
            As `load` does.
        """
        require_shallow(changes, "--set")
        content = deepcopy(self.content)
        # Relative paths in overrides start in the working folder.
        beside = {key: ".".join([*key.split(".")[:-1], "key"]) for key in changes}
        changes = {
            key: anchored(value, Path(), key, changes.get(beside[key], value_if_any(content, beside[key])))
            for key, value in changes.items()
        }
        override(content, changes)
        schema = scenario_kind(content, self.path, allow_code=self.allow_code).schema
        named = self._resolved(content)
        scenario: Any = validated_after(
            changes, schema, named.content, self.path, seed_given=seed_given, names=named.objects
        )
        changed = replace(named, scenario=scenario)
        changed._refuse_unread(self.content, changes, own or {}, also_read)
        changed.check_parts()
        return changed

    def _resolved(self, content: Mapping[str, Any]) -> Self:
        """Return the scenario with other content, not validated, in which names replace references to modules.

        If code is not allowed, references remain, and nothing is imported. Measures are registered.

        Raises
        ------
        InputError
            If a part cannot be imported, or another part has its name.
        """
        objects = dict(self.objects)

        def name_of(group: Group, where: str, text: str) -> str:
            if not (self.allow_code and names_object(text)):
                return text
            part = load_part(group, text, where=where, folder=self.folder, allow_code=True)
            name = text.rpartition("=")[0] or part_name(part, f"reidsim.{group}")
            if group == "measures":
                measure(name)(part)
            is_other, expected = objects.setdefault(name, text) != text, "another name, as NAME=package.module:object"
            refuse_first((is_other, "two objects have the same name", where, name, expected))
            return name

        with locating(self.path):
            named = with_part_names(content, name_of)
        return replace(self, content=named, objects=objects)

    def __repr__(self) -> str:
        names = ", ".join(self.content.get("attributes", ()))
        return f"{type(self).__name__}({self.name!r}: {self.scenario.title or names or self.content.get('game')})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        return self is other or self._facts == other._facts

    __hash__ = None  # type: ignore[assignment]

    @property
    def _facts(self) -> Any:
        """The validated values as plain data, by which scenarios are compared.

        Hashes replace the names of files, and references replace Python objects.
        """
        values = self.scenario.model_dump(mode="json", by_alias=True)
        return hashed_files(self.named_objects(values, lambda name, part: (name, id(part))), self.folder)

    @property
    def in_memory(self) -> dict[str, Any]:
        """User-defined parts that exist in this process only, by name.

        They are the registered adversaries and policies whose name is a text of the scenario, such as a value of a
        sweep, and the objects passed with the scenario.
        """
        words, known = _words(self.content), {**registered("reidsim.adversaries"), **registered("reidsim.policies")}
        parts = {name: part for name, part in known.items() if name in words} | dict(self.objects)
        return {name: part for name, part in parts.items() if not isinstance(part, str)}

    def named_objects(
        self, content: Mapping[str, Any], otherwise: Callable[[str, Any], Any] | None = None
    ) -> dict[str, Any]:
        """Return content with references to modules in place of names of parts in memory.

        A reference is text such as ``package.module:object``. Arguments of an object without a name in its module are
        written as parameters of its class; see `written`. Registered measures that the content names are listed in
        section ``measures``. `otherwise` returns the value in place of a part without a reference, given the part's
        name and the part.

        Raises
        ------
        InputError
            If a part has no reference, and `otherwise` is not given.
        """
        arguments = list[tuple[str, Group, str, Mapping[str, Any]]]()

        def text_of(group: Group, where: str, name: str) -> Any:
            known = {**registered(f"reidsim.{group}"), **self.objects}
            if isinstance(part := known.get(name, name), str):
                return part
            section, (text, values) = where.rpartition(".")[0], written(name, part, group) or ("", {})
            # The parameters of a section apply to all values of a sweep.
            if not text or (values and section.startswith(("sweep.", "uncertainty."))):
                problem = "a scenario file cannot name this; move it to a module such as parts.py, and import it"
                expected = "a class or function of a module, or an object with the arguments of its class as attributes"
                refuse_first((otherwise is None, problem, where, part, expected), source=SOURCE)
                return otherwise and otherwise(name, part)
            if values and section != "stress":
                arguments.append((section, group, name, values))
            return text

        words = _words([content.get(section) for section in _WITH_MEASURES])
        measures = content.get("measures", {})
        if own := [*measures.get("own", ()), *(name for name in registered(OWN_MEASURES) if name in words)]:
            content = {**content, "measures": {**measures, "own": [*dict.fromkeys(own)]}}
        named: dict[str, Any] = with_part_names(content, text_of)
        for where, group, name, values in arguments:
            section = value_at(named, where)
            given = section.get("parameters", {})
            each = {**values, **(given if group == "adversaries" else given.get(name, {}))}
            section["parameters"] = each if group == "adversaries" else {**given, name: each}
        return named

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without data in memory, and with registered parts.

        A scenario with a temporary folder, or of a user-defined kind, is pickled as plain data, which `__setstate__`
        validates again. Processes that read a pickle register the same measures; modules in the folder of a scenario
        are imported by its references.
        """
        own_kind = names_object(self.content.get("game"))
        plain = {"scenario": None} if own_kind or self.place else {}
        measures = {name: part for name, part in registered(OWN_MEASURES).items() if not is_beside_scenario(part)}
        return {
            **self.__dict__,
            "held": None,
            "allow_code": self.allow_code or own_kind,
            "objects": {**self.objects, **self.in_memory},
            "measures": measures,
            "former": None if self.place is None else Path(self.place.name),
            **plain,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, with paths in the copy of the temporary folder, and register the user's measures.

        For a user-defined kind, its module is imported.
        """
        for name, part in state.pop("measures").items():
            register(OWN_MEASURES, "measure", name, part)
        if (former := state.pop("former")) is not None:

            def moved(text: str) -> str:
                path, place = Path(text), state["place"].name
                return str(Path(place, path.relative_to(former))) if path.is_relative_to(former) else text

            state |= {"path": Path(moved(str(state["path"]))), "content": with_texts(state["content"], moved)}
        self.__dict__.update(state)
        for name in {*self.content.get("measures", {}).get("own", ())} & {*self.objects}:
            measure(name)(self.part("measures", name, "measures.own"))
        if self.scenario is None:
            schema = scenario_kind(self.content, self.path, allow_code=self.allow_code).schema
            self.__dict__["scenario"] = validated(schema, self.content, self.path, self.objects)

    def part(self, group: Group, name: str, where: str) -> Any:
        """Return a user-defined adversary, policy or kind, or its class or function.

        It is the Python object of this name, if one was passed with the scenario; otherwise, see `load_part`. `where`
        is the key that has the name, for messages.
        """
        part = self.objects.get(name, name)
        if not isinstance(part, str):
            return part
        return load_part(group, part, where=where, folder=self.folder, allow_code=self.allow_code)

    @property
    def _own_parts(self) -> Iterator[_OwnPart]:
        """The user-defined parts that the scenario names: kinds, adversaries, policies and measures."""
        scenario: Any = self.scenario
        kind, given = kind_of(scenario), scenario.measures
        game = str(getattr(scenario, "game", kind.name))
        if game not in kinds:
            yield "kinds", game, "game", "", {}
        for where, section in {"adversary": getattr(scenario, "adversary", None), **scenario.every_adversary}.items():
            name = getattr(section, "planner", "one-shot")
            if name not in planners:
                yield "adversaries", name, f"{where}.planner", f"{where}.parameters", section.parameters
        for name in kind.policies_of(scenario) if kind.decides else ():
            if name not in kind.policies:
                values = getattr(getattr(scenario, kind.decider), "parameters", {}).get(name, {})
                yield "policies", name, f"{kind.decider}.policies", f"{kind.decider}.parameters.{name}", values
        for name in dict.fromkeys((*given.own, *given.parameters)):
            yield "measures", name, "measures", f"measures.parameters.{name}", given.parameters.get(name, {})

    def check_parts(self) -> None:
        """Refuse code that may not run, names that belong to two parts, and invalid parameters of parts.

        Raises
        ------
        InputError
            Names the file and the key.
        """
        kind = kind_of(self.scenario)
        section = kind.decider
        taken = next((name for name in self.objects if name in planners or name in kind.policies), None)
        refuse_first((taken, "a part of reidsim has this name", None, taken, "another name"), source=self.path)
        self.own_parameters()
        policies = [name for group, name, *_ in self._own_parts if group == "policies"]
        given = getattr(getattr(self.scenario, section, None), "parameters", {})
        problem, otherwise = "no policy of your own has this name", "a policy of your own in policies"
        require_among(problem, given, policies, otherwise=otherwise, source=self.path, where=f"{section}.parameters")

    def own_parameters(self) -> dict[str, Any]:
        """Return the parameters of user-defined parts, defaults of their classes included, by key path.

        Raises
        ------
        InputError
            If a part may not be imported, its import fails, or a parameter is invalid.
        """
        with locating(self.path):
            return {
                f"{key}.{field}": value
                for group, name, where, key, values in self._own_parts
                if group in _METHODS
                for field, value in checked_parameters(
                    self.part(group, name, where), _METHODS[group], values, key
                ).items()
            }

    def makers(self) -> dict[str, dict[str, str]]:
        """Import all user-defined parts; return the origin of each, by name.

        Parts are adversaries, policies, measures and the kind. The origin is the module, package and version; see
        `made_by`.

        Raises
        ------
        InputError
            If a part may not be imported, or its import fails.
        """
        with locating(self.path):
            return {name: made_by(self.part(group, name, where)) for group, name, where, *_ in self._own_parts}

    @property
    def origins(self) -> Mapping[str, Any]:
        """Text of the scenario's files and sources of its recipes; see `origins_of`.

        Empty if they cannot be read, or if the scenario is not from a file. For a scenario from a manifest, these are
        the recorded ones.
        """
        with suppress(InputError):
            return self.recorded or ({} if self.path == _IN_MEMORY else origins_of(self.path, self.content))
        return {}

    @property
    def folder(self) -> Path:
        """Folder in which relative paths of the scenario start."""
        return self.path.parent

    def with_sections(self, **sections: object) -> Self:
        """Return the scenario with some sections replaced, without validation.

        The attribute `content` is unchanged.
        """
        return replace(self, scenario=self.scenario.model_copy(update=sections))

    def with_content(self, content: Mapping[str, Any], schema: Any = None) -> Self:
        """Return the scenario with other content, validated.

        Python objects passed with the scenario are kept. `schema` is that of the kind; by default, it is unchanged.

        Raises
        ------
        InputError
            As `load` does.
        """
        named = self._resolved(content)
        scenario = validated(schema or type(self.scenario), named.content, self.path, named.objects)
        return replace(named, scenario=scenario)

    def unread(self) -> list[str]:
        """Return the key paths that no point of the scenario reads, sorted.

        They are inherited, or other values of the scenario made them unused.
        """
        return sorted(unread_keys(self.scenario, self.content, self._validated)[0])

    def _validated(self, content: Mapping[str, Any]) -> S_co:
        """Return other content with the scenario's schema and objects, validated."""
        return validated(type(self.scenario), content, self.path, self.objects)

    def _refuse_unread(
        self,
        before: Mapping[str, Any],
        changes: Mapping[str, object],
        own: Mapping[str, Any],
        also_read: Collection[str],
    ) -> None:
        """Refuse keys set by the user that no point of the scenario reads.

        The user may have set them in an override or in the file.

        An unread key is accepted if the file inherits it from another file or names it in ``inherited``, if it is
        unread only because of an override, or if it matches a pattern in `also_read`. `before` is the content before
        the overrides, `changes` are the overrides by key path, and `own` is the content of the scenario's own file.

        Raises
        ------
        InputError
            Names the key.
        """
        unread, swept = unread_keys(self.scenario, self.content, self._validated)
        unread_before, inherited = unread, own.get("inherited", ())
        if unread and changes and own:
            unread_before = {}
            with suppress(InputError):
                unread_before, _ = unread_keys(self._validated(before), before, self._validated)
        for key, failed in unread.items():
            place = f"{key}.".replace("[", ".").replace("]", "")
            blamed: list[tuple[str, str | Path]] = [
                *(
                    (f"{section}.{point}", self.path)
                    for point, section in swept.items()
                    if f"{point}.".startswith(place)
                ),
                *((change, "--set") for change in changes if f"{change}.".startswith(place)),
                *((key, "--set") for change in changes if place.startswith(f"{change}.")),
                *([(key, self.path)] if has_key(own, key) and key in unread_before and key not in inherited else []),
            ]
            if blamed and not any(fnmatchcase(key, pattern) for pattern in also_read):
                (where, source), expected = blamed[0], f"this key only {failed.expected}"
                raise InputError("the key has no effect", source=source, where=where, expected=expected)


@dataclass(frozen=True)
class World:
    """The true and the believed game of one draw of a study.

    Parameters
    ----------
    truth : RecordGame or MaskingGame
        Game in which outcomes are evaluated.
    belief : RecordGame or MaskingGame
        Game in which the decision maker plans.
    weights : ndarray of int64, shape (n_rows,)
        Number of records that each row of the games represents.
    """

    truth: Game
    belief: Game
    weights: Counts


class HeldStudy(NamedTuple):
    """A study in memory, for scenarios with the same data.

    Attributes
    ----------
    study : Study
    key : str
        Text that identifies the data; see `reidsim.scenarios.kind.data_key`.
    files : dict of str to int
        Time of the last change of each file that the scenario names, nanoseconds, by path.
    """

    study: Study[Any]
    key: str
    files: dict[str, int]


@dataclass(frozen=True, eq=False)
class Study(ABC, Generic[S_co]):
    """A scenario together with the data that it names.

    Parameters
    ----------
    loaded : Scenario
    """

    loaded: Scenario[S_co]

    @property
    def scenario(self) -> S_co:
        """The validated scenario, with overrides applied."""
        return self.loaded.scenario

    @property
    def draws(self) -> int:
        """Number of draws (numbered replications, see `Kind.numbers_draws`) in one run."""
        return 1

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of the data that affect results."""

    @abstractmethod
    def world(self, draw: int = 0) -> World:
        """Return the true and the believed game of a draw; see `World`.

        Raises
        ------
        InputError
            If the scenario does not fit its data, or has no decision maker.
        """

    def with_loaded(self, loaded: Scenario[S_co]) -> Self:
        """Return the study of another scenario with the same data, without reading them.

        The scenarios may differ only in keys on which no data depend, such as payoff parameters; see
        `Kind.data_content`.
        """
        return replace(self, loaded=loaded)

    def with_adversary(self, section: AdversarySection) -> Self:
        """Return the study of the same records against another adversary.

        `section` describes the adversary.

        Raises
        ------
        InputError
            If the kind does not support the adversary.
        """
        return self.with_sections(adversary=section)

    def with_sections(self, **sections: object) -> Self:
        """Return the study with some sections of the scenario replaced, on the same data.

        `sections` are validated sections by name; they are not validated again.
        """
        return replace(self, loaded=self.loaded.with_sections(**sections))

    def by_subject(self) -> Self:
        """Return the study with one row per data subject; by default, the study itself.

        Used after rounds in which data subjects with identical records had different releases; see `Setting.split`.
        """
        return self


def extended(own: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the content of a scenario merged with the scenarios that it extends.

    The key ``extends`` names the other scenario. Sections are merged key by key. Any other value replaces the inherited
    value, and ``adversaries = {}`` removes the inherited adversaries.

    Parameters
    ----------
    own : mapping
        Content of the scenario file.
    path : Path
        Path of the scenario file.

    Raises
    ------
    InputError
        If a file cannot be read, or extends itself.
    """
    content: dict[str, Any] = {}
    for file, part in _chain(own, path):
        if part.get("adversaries") == {}:
            content.pop("adversaries", None)
        content = merged(content, part if file is path else anchored(part, file.parent))
    return content


def _chain(own: Mapping[str, Any], path: Path, above: tuple[Path, ...] = ()) -> list[tuple[Path, dict[str, Any]]]:
    """Return paths and contents of a scenario and the scenarios that it extends.

    The scenario itself is the last. `own` is the content of the scenario at `path`, `above` are the paths of the
    scenarios that extend it. The contents in the result have no keys ``extends`` and ``inherited``.

    Raises
    ------
    InputError
        If a file cannot be read or extends itself, or the key ``extends`` is not text.
    """
    content = dict(own)
    content.pop("inherited", None)
    extends = content.pop("extends", None)
    if extends is None:
        return [(path, content)]
    with locating(path):
        is_text, expected = isinstance(extends, str), "a scenario's name or file"
        refuse_first((not is_text, "wrong type", "extends", extends, expected))
    base, several = resolve(extends, "scenarios", "scenario", base=path.parent), (*above, path)
    is_circle = base.resolve() in [file.resolve() for file in several]
    most, too_long = f"at most {_MOST_EXTENDED} scenarios", "a chain of scenarios that is too long"
    with locating(path):
        refuse_first(
            (is_circle, "a scenario cannot extend itself", "extends", extends, None),
            (len(several) > _MOST_EXTENDED, too_long, "extends", None, most),
        )
    return [*_chain(read_toml(base), base, several), (path, content)]


def anchored(content: Any, folder: Path, key: str = "", varied: object = None) -> Any:
    """Return scenario data with absolute paths.

    Scenarios in other folders can then extend it. Only values of keys that name a file or a recipe change; names of
    bundled recipes and ``bundled:...`` do not.

    Parameters
    ----------
    content : object
        The scenario as plain data, or the value at `key`.
    folder : Path
        Folder in which relative paths start.
    key : str
        Key path of the content; empty for a whole scenario.
    varied : object
        Entry ``key`` of the section that contains the content, for values of a key in stress tests.
    """
    by_key = _VALUES_BY_KEY.fullmatch(key)
    if by_key or _VALUES_OF_KEY.fullmatch(key):
        if isinstance(content, dict):
            return {name: anchored(v, folder, key, varied) if name == "values" else v for name, v in content.items()}
        of = by_key[1] if by_key else str(varied)
        return [anchored(value, folder, of) for value in content] if isinstance(content, list) else content
    if isinstance(content, dict):
        above, own = f"{key}." if key else "", content.get("key")
        return {name: anchored(value, folder, f"{above}{name}", own) for name, value in content.items()}
    if isinstance(content, list):
        return [anchored(value, folder, f"{key}.{place}") for place, value in enumerate(content)]
    if not isinstance(content, str | Path) or not str(content) or str(content).startswith(BUNDLED):
        return content
    text = str(content)
    patterns = (*_PATH_KEYS, *RECIPE_KEYS) if looks_like_path(text) else _PATH_KEYS
    return str((folder / text).absolute()) if any(fnmatchcase(key, pattern) for pattern in patterns) else content


def origins_of(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Read the sources of a scenario's values from its files and recipes.

    Parameters
    ----------
    path : Path
        Path of the scenario's file.
    content : mapping
        The scenario as plain data, overrides included; recipes that cannot be read are skipped.

    Returns
    -------
    dict
        ``texts``: text of the scenario's file, after the texts of the files that it extends. ``recipes``: name, title
        and sources of each recipe that the scenario names.

    Raises
    ------
    InputError
        If the file, or a file that it extends, cannot be read.
    """
    names = {name: folder for folder in reversed(_RECIPE_FOLDERS) for name in bundled_names(folder)}
    texts = [value for _, value in leaves(content) if isinstance(value, str)]
    recipes = []
    for name in dict.fromkeys(text for text in texts if text in names or text.endswith(".toml")):
        is_path = name.endswith(".toml")
        file = f"{BUNDLED}{name}.toml"
        with suppress(InputError):
            recipe = read_toml(data_file(name if is_path else file, path.parent, names.get(name, "populations")))
            title = recipe["title"] if isinstance(recipe.get("title"), str) else ""
            recipes.append({"name": name, "title": title, "sources": _source_texts(recipe)})
    return {"texts": [read_text(file) for file, _ in _chain(read_toml(path), path)], "recipes": recipes}


def hashed_files(content: Any, folder: Path) -> Any:
    """Return plain data with the SHA-256 of each file in place of its name.

    A recipe (TOML) is replaced by its content, treated in the same way. Texts that do not name an existing file are
    kept.
    """

    def hashed(text: str) -> Any:
        path = folder / text
        if not os.path.isfile(path):
            return text
        if path.suffix == ".toml":
            return hashed_files(read_toml(path), path.parent)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    return with_texts(content, hashed)


def leaves(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    """Yield the key path and value of all keys of a scenario that affect the game.

    Sections and lists of sections are yielded key by key, with positions from 0 in lists; a hierarchy and other values
    as a whole. Keys with value None are left out. `above` is the key path of `content`.
    """
    for key, value in content.items():
        path = f"{above}.{key}" if above else str(key)
        if path in _NOT_OF_THE_GAME or value is None:
            continue
        # A key with a dot is a key path, as in sweeps; its value is not a section of the scenario.
        if isinstance(value, Mapping) and value and key != "hierarchy" and "." not in key:
            yield from leaves(value, path)
        elif isinstance(value, list | tuple) and value and all(isinstance(entry, Mapping) for entry in value):
            for place, entry in enumerate(value):
                yield from leaves(entry, f"{path}.{place}")
        else:
            yield path, value


def _source_texts(recipe: object) -> list[str]:
    """Return every text under a key ``source``, each once.

    The text of a section precedes the texts of its subsections.
    """
    if not isinstance(recipe, Mapping | list):
        return []
    own, parts = (recipe.get("source"), recipe.values()) if isinstance(recipe, Mapping) else (None, recipe)
    texts = [own if isinstance(own, str) else "", *(text for value in parts for text in _source_texts(value))]
    return list(dict.fromkeys(filter(None, texts)))


def people_named(name: str, loaded: Scenario[Any], **made: Any) -> Population:
    """Return a population, bundled or made from a recipe file; see `load_population`.

    `name` is a bundled name or a path, relative to the folder of the scenario `loaded`. `made` are further arguments of
    `load_population`.

    Raises
    ------
    InputError
        If no population has this name, or its recipe cannot be used.
    """
    return load_population(resolve(name, "populations", "population", base=loaded.folder), **made)


def table_named(name: str, loaded: Scenario[Any], where: str, read: Callable[[Path], Rows]) -> tuple[Path, Rows]:
    """Return the path and rows of the table at the key `where`.

    `name` is the value of the key: a path relative to the scenario's folder, or ``bundled:...``. `read` is called with
    the path and returns the rows.

    Raises
    ------
    InputError
        If the file cannot be used; names the key unless the error already names a position in the file.
    """
    path = data_file(name, loaded.folder, "scenarios")
    try:
        return path, read(path)
    except InputError as error:
        raise error if error.where else error.located(where=where) from None


def planner(
    section: PlannerSection,
    gain: Amount,
    cost: Amount,
    *,
    loaded: Scenario[Any],
    coverage: float = 1.0,
    registry_size: int | None = None,
) -> Adversary:
    """Return the adversary that a section describes, with its bounded rationality.

    Parameters
    ----------
    section : PlannerSection
    gain, cost : float or ndarray of float64, shape (n_records,)
        Currency units per record.
    loaded : Scenario
        Finds user-defined planners: Python objects, installed parts, and modules in the scenario's folder.
    coverage : float
        Probability that a record's person is in the adversary's register.
    registry_size : int, optional
        Number of people in the register, for a sequential attack that does not know group sizes before access.

    Raises
    ------
    InputError
        If the gain or cost of a sequential attack differs between records, or a user-defined planner cannot be made or
        does not support bounded rationality.
    """
    name, where = section.planner, "adversary.planner"
    own: Any
    if name in planners:
        own = planners[name].make(section, gain, cost, Register(coverage, registry_size))
    else:
        own = loaded.part("adversaries", name, where)
        with one_line_errors("cannot be made", name, where):
            own = made(own, "respond", section.parameters, "adversary.parameters", gain=gain, cost=cost)
        if not has_method(own, "respond"):
            expected = "an object with respond(linkage, rows)"
            raise InputError("not an adversary", where=where, found=name, expected=expected)
        if isinstance(own, OneShotAdversary):
            # Searches assume the replies of this class.
            replaced, usual = (type(own).respond, type(own).weigh), (OneShotAdversary.respond, OneShotAdversary.weigh)
            problem = "respond and weigh of OneShotAdversary cannot be replaced"
            refuse_first((replaced != usual, problem, where, name, "another base class"))
    return section.erring(own, "adversary.rationality")


def with_part_names(content: Any, change: Callable[[Group, str, str], Any], key: str = "") -> Any:
    """Return plain data in which `change` has replaced the names of adversaries, policies and measures.

    `change` is called with the group of the part, the key path and the name. `key` is the key path of the content.
    """
    if isinstance(content, Mapping):
        return {name: with_part_names(value, change, f"{key}.{name}".lstrip(".")) for name, value in content.items()}
    if (group := _NAMED_BY.get(key.rpartition(".")[2])) is not None:
        return with_texts(content, partial(change, group, key))
    return [with_part_names(value, change, key) for value in content] if isinstance(content, list) else content


def _words(content: object) -> set[str]:
    """Return the texts and keys of plain data, and their parts between dots."""
    text = json.dumps(content, ensure_ascii=False, default=str)
    return {*text.split('"'), *re.split(r'[".]', text)}


SOURCE = "Scenario"
# Last parts of key paths that do not distinguish a table from the others.
_UNSPECIFIC = ("file", "path", "recipe", "hierarchy")
# Tables of hierarchies have no header and semicolons between columns, as in ARX.
_LEVELS = ("*hierarch*.file", "trees.*.file")


class InMemory:
    """The tables and objects of a scenario built in Python.

    Tables are written to a temporary folder that only the user can read, so that other processes can read them.

    Parameters
    ----------
    place : PrivateFolder, optional
        Folder for tables; a new one if not given.
    absolute : bool
        Whether the scenario, which is in another folder, names tables by absolute paths.
    objects : mapping of str to object
        User-defined adversaries and policies by name.
    """

    def __init__(self, place: PrivateFolder | None, objects: Mapping[str, Any], *, absolute: bool = False) -> None:
        self.place, self.objects, self._absolute = place, dict(objects), absolute

    def plain(self, value: Any, key: str) -> Any:
        """Return the value at a key path as plain data.

        A table or population is written to a file, and a user-defined object is kept in `objects`; the result then has
        the name of the file or object in its place. A hierarchy becomes its section, an adversary in place of a section
        becomes the planner of one, and arrays and sets become lists. Entries of sections with value None are omitted.

        Raises
        ------
        InputError
            If TOML has no notation for the value, or a table or object cannot be used.
        """
        last, value = key.rpartition(".")[2], pandas_table(value)
        require_shallow({key: value}, SOURCE)
        if last == "hierarchy" and not isinstance(value, Mapping):
            value = hierarchy_section(value, SOURCE, key)
        elif re.fullmatch(r"adversary|adversaries\.[^.]+", key) and not isinstance(value, Mapping):
            value = {"planner": value}
        if last == "planner" and isinstance(value, list | tuple):
            return [self.plain(each, key) for each in value]
        if last == "planner" and not isinstance(value, str | Mapping):
            return self._named(value, key)
        if last == "policies":
            entries = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else list(value)
            # A sweep over policies has lists of them.
            return [
                each
                if isinstance(each, str)
                else self.plain(each, key)
                if isinstance(each, list | tuple)
                else self._named(each, key)
                for each in entries
            ]
        if isinstance(value, Population) or (isinstance(value, pd.DataFrame) and _matches(key, RECIPE_KEYS)):
            return self._recipe(value, key)
        if isinstance(value, pd.DataFrame):
            return self._write(text_table(value, f"{SOURCE}: {key}"), key, levels=_matches(key, _LEVELS))
        if isinstance(value, Mapping):
            return {str(name): self.plain(each, f"{key}.{name}") for name, each in value.items() if each is not None}
        if isinstance(value, Collection | Iterator) and not isinstance(value, str | bytes):
            return [
                each if type(each) in (int, float, str) else self.plain(each, f"{key}.{place}")
                for place, each in enumerate(value)
            ]
        if isinstance(value, np.generic | Path):
            return plain(value)
        if not isinstance(value, str | int | float):
            expected = "a value of a scenario file"
            raise InputError("value not allowed", source=SOURCE, where=key, found=value, expected=expected)
        return value

    def hierarchy_file(self, column: str, hierarchy: Any) -> str:
        """Return the file of a column's hierarchy: one row per value, and one column per level.

        Raises
        ------
        InputError
            If the hierarchy is a rule, such as intervals, which has no file.
        """
        if isinstance(hierarchy, str | Path):
            return str(hierarchy)
        section = self.plain(hierarchy, key := f"attributes.{column}.hierarchy")
        if "file" not in section:
            problem, expected = "not a table of values and levels", "a DataFrame, a Hierarchy or a file"
            raise InputError(problem, source=SOURCE, where=key, found=hierarchy, expected=expected)
        return str(section["file"])

    def _named(self, part: Any, key: str) -> str:
        """Return the name of a user-defined object, and keep it in `objects`; see `part_name`.

        The object has the method of an adversary or policy, or is a class or function that makes such an object. `key`
        is the key path that names it.

        Raises
        ------
        InputError
            If the object has no such method, or another object has its name.
        """
        group = _NAMED_BY[key.rpartition(".")[2]]
        if not has_method(part, _METHODS[group]) and not callable(part):
            expected = f"a name, or an object with a method {_SIGNATURES[group]}"
            raise InputError("value not allowed", source=SOURCE, where=key, found=part, expected=expected)
        name = part_name(part, f"reidsim.{group}")
        # An object replaces a reference of the same name.
        known, expected = self.objects.get(name, ""), "an attribute `name` of one of them"
        is_other = known is not part and not isinstance(known, str)
        refuse_first((is_other, "two objects have the same name", key, name, expected), source=SOURCE)
        self.objects[name] = part
        return name

    def _recipe(self, population: Population | pd.DataFrame, key: str) -> str:
        """Write a population as a recipe and a table of counts; return the recipe's name.

        The name is that of the file, or its absolute path if the scenario names tables by absolute paths.
        """
        name = [part for part in key.split(".") if part not in _UNSPECIFIC][-1]
        people = population if isinstance(population, Population) else Population.from_frame(population, name=name)
        names, count = people.domain.names, "people"
        while count in names:
            count = f"{count} counted"
        labels = people.domain.decode(people.cells).astype("str")
        table = self._write(labels.assign(**{count: list(map(repr, people.counts.tolist()))}), key)
        recipe = {
            "kind": "counts",
            "title": people.name,
            "source": people.source,
            "file": Path(table).name,
            "count": count,
            "missing_values": [],
            "columns": {name: name for name in names},
            "categories": {attribute.name: list(attribute.categories) for attribute in people.domain.attributes},
        }
        path = Path(self._folder, table).with_suffix(".toml")
        path.write_text(toml_text(recipe), encoding="utf-8")
        return str(path) if self._absolute else path.name

    def _write(self, table: pd.DataFrame, key: str, *, levels: bool = False) -> str:
        """Write a table to a new file named after the key; return the name of the file.

        With `levels`, it has no header and semicolons between columns, as files of hierarchies have. The name is an
        absolute path if the scenario names tables by absolute paths.
        """
        own = "-".join(part for part in key.split(".") if part not in _UNSPECIFIC)
        name = plain_name(own, {path.stem for path in self._folder.iterdir()})
        path = self._folder / f"{name}.csv"
        write_text_table(table, path, levels=levels)
        return str(path) if self._absolute else path.name

    @property
    def _folder(self) -> Path:
        self.place = self.place or PrivateFolder()
        return Path(self.place.name)


def _matches(key: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)
