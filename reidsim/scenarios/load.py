"""Load scenarios from files.

Loading reads the file, applies overrides, validates, and finds the user-defined parts.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, Self, TypeVar

from reidsim.adversaries.planners import planners
from reidsim.bundled import BUNDLED, resolve
from reidsim.core.plain_data import merged, override, validated_after, value_if_any
from reidsim.errors import InputError, locating, refuse_first
from reidsim.scenarios.origins import hashed_files, origins_of
from reidsim.scenarios.read_keys import ReadIf, changes_within, conditions_of, has_key, unread_keys
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.user_defined import (
    DEFAULT_KIND,
    MADE,
    Group,
    find_kind,
    kinds,
    load_part,
    made_by,
    made_kind,
    names_object,
    reference,
    refuse_code,
)
from reidsim.validation import parse_toml, read_toml, validated

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
_LONGEST_CHAIN = 20
# Path of scenarios that are not in a file.
_IN_MEMORY = Path("scenario")
# Key paths that list values of another key: one named in the path, or the one that the entry `key` beside them names.
_VALUES_BY_KEY = re.compile(r"(?:sweep\.values|uncertainty\.parameters)\.(.+)")
_VALUES_OF_KEY = re.compile(r"stress\.(?:beliefs\.\d+\.(?:true|believed)|map\.[^.]+\.values)")

S_co = TypeVar("S_co", bound=ScenarioHead, covariant=True)


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
    origins : mapping
        Text of the scenario's files and sources of its recipes, see `reidsim.scenarios.origins`; may be empty.
    allow_code : bool
        Whether modules named by the scenario may be imported.
    given : mapping
        Python objects by name that replace user-defined adversaries and policies; see
        `reidsim.scenarios.python_objects`.
    place : TemporaryDirectory, optional
        Folder with the tables of a scenario built from tables in memory; it exists as long as the scenario.
    """

    name: str
    path: Path
    scenario: S_co
    content: dict[str, Any]
    origins: Mapping[str, Any] = field(default_factory=dict)
    allow_code: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)
    place: TemporaryDirectory[str] | None = field(default=None, repr=False)

    @classmethod
    def load(
        cls,
        source: str | Path | Mapping[str, Any],
        overrides: Mapping[str, object] | None = None,
        *,
        seed: int | None = None,
        allow_code: bool = False,
        also_read: Collection[str] = (),
    ) -> Self:
        """Read and validate a scenario.

        Parameters
        ----------
        source : str, Path or mapping
            Name of a bundled scenario, a TOML file, the text of one, or its content as plain data.
        overrides : mapping of str to object, optional
            Value by key path, such as ``{"economics.loss": 600}``.
        seed : int, optional
            Replaces the scenario's seed.
        allow_code : bool
            Whether modules that the scenario names may be imported.
        also_read : collection of str
            Patterns of key paths that are accepted even if their condition for being read does not hold.

        Raises
        ------
        InputError
            If the scenario is invalid or sets a key that has no effect. Names the file, the key path, the value found
            and the values allowed.
        """
        if isinstance(source, Mapping) or (isinstance(source, str) and "\n" in source):
            path = _IN_MEMORY
            own = parse_toml(source, path) if isinstance(source, str) else deepcopy(dict(source))
            whole = anchored(extended(own, path), Path())
        else:
            path = resolve(source, "scenarios", "scenario")
            own = read_toml(path)
            whole = extended(own, path)
        changes = dict(overrides or {}) | ({} if seed is None else {"seed": seed})
        start = cls(path.stem, path, None, whole, allow_code=allow_code)  # type: ignore[arg-type]
        loaded = start.overridden(changes, own=own, also_read=also_read, seed_given=seed is not None)
        if path is not _IN_MEMORY:
            loaded = replace(loaded, origins=origins_of(path, loaded.content))
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

        A key without effect is refused if it is among the changes, or in `own`, the content of the scenario's own file.
        """
        content = deepcopy(self.content)
        # Relative paths in overrides start in the working folder.
        beside = {key: ".".join([*key.split(".")[:-1], "key"]) for key in changes}
        changes = {
            key: anchored(value, Path(), key, changes.get(beside[key], value_if_any(content, beside[key])))
            for key, value in changes.items()
        }
        override(content, changes)
        schema = scenario_kind(content, self.path, allow_code=self.allow_code).schema
        scenario: Any = validated_after(changes, schema, content, self.path, seed_given=seed_given, names=self.given)
        changed = replace(self, scenario=scenario, content=content)
        changed._refuse_unread(self.content, changes, own or {}, also_read)
        changed.refuse_code()
        return changed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {self.scenario.title})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        return self is other or self._facts == other._facts

    __hash__ = None  # type: ignore[assignment]

    @property
    def _facts(self) -> Any:
        """The validated values, with hashes in place of files and references in place of objects."""
        values = self.scenario.model_dump(mode="json", by_alias=True)
        return hashed_files(self.named_objects(values, required=False), self.folder)

    def named_objects(self, content: Any, key: str = "", *, required: bool = True) -> Any:
        """Return the content at a key, with references to modules in place of the names of user-defined objects.

        Raises
        ------
        InputError
            If references are required, and an object has no name in an importable module.
        """
        if isinstance(content, Mapping):
            return {name: self.named_objects(value, name, required=required) for name, value in content.items()}
        if isinstance(content, list):
            return [self.named_objects(value, key, required=required) for value in content]
        if key not in ("planner", "policies") or content not in self.given:
            return content
        part = self.given[content]
        found = reference(part)
        if found is None and required:
            problem = "a scenario file cannot name this"
            expected = "a class, function or object that is defined in a module"
            hint = "define it in a module, and import it"
            raise InputError(problem, source="Scenario", where=key, found=part, expected=expected, hint=hint)
        return found or (content, id(part))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the temporary folder, which stays with the process that made it."""
        return {**self.__dict__, "place": None}

    def __reduce__(self) -> Any:
        """Pickle a scenario of a user-defined kind as plain data.

        The receiving process imports the kind and validates the data again.
        """
        if names_object(str(self.content.get("game", ""))):
            return _reloaded, (type(self), {**self.__getstate__(), "scenario": None})
        return super().__reduce__()

    def part(self, group: Group, name: str, where: str) -> Any:
        """Return the factory of a user-defined adversary or policy; see `load_part`."""
        return load_part(group, name, where=where, folder=self.folder, allow_code=self.allow_code)

    @property
    def _own_parts(self) -> dict[str, tuple[Group, str]]:
        """Group and key path of each user-defined kind, adversary and policy that the scenario names, by its name."""
        scenario: Any = self.scenario
        kind = MADE.get(type(scenario)) or find_kind(getattr(scenario, "game", None))
        game = str(getattr(scenario, "game", kind.name))
        found: dict[str, tuple[Group, str]] = {} if game in kinds else {game: ("kinds", "game")}
        adversary = {"adversary": scenario.adversary} if hasattr(scenario, "adversary") else {}
        for where, section in {**adversary, **scenario.every_adversary}.items():
            if getattr(section, "planner", "one-shot") not in planners:
                found.setdefault(section.planner, ("adversaries", f"{where}.planner"))
        for policy in kind.policies_of(scenario) if kind.decides else ():
            if policy not in kind.policies:
                found.setdefault(policy, ("policies", f"{kind.decider}.policies"))
        return found

    def refuse_code(self) -> None:
        """Refuse a scenario that names code which may not run; import nothing.

        Raises
        ------
        InputError
            Names the file and the key.
        """
        for name, (group, where) in self._own_parts.items():
            with locating(self.path):
                refuse_code(group, name, where=where, allow_code=self.allow_code or name in self.given)

    def makers(self) -> dict[str, dict[str, str]]:
        """Import all user-defined parts; return the origin of each, by name.

        The origin is the module, package and version.

        Raises
        ------
        InputError
            If a part may not be imported, or its import fails.
        """
        made = {}
        for name, (group, where) in self._own_parts.items():
            with locating(self.path):
                made[name] = made_by(self.given[name] if name in self.given else self.part(group, name, where))
        return made

    @property
    def folder(self) -> Path:
        """Folder in which relative paths of the scenario start."""
        return self.path.parent

    def with_sections(self, **sections: object) -> Self:
        """Return the scenario with some sections replaced, without validation.

        The attribute `content` is unchanged.
        """
        return replace(self, scenario=self.scenario.model_copy(update=sections))

    def with_content(self, content: dict[str, Any]) -> Self:
        """Return the scenario of the same kind with other content, validated.

        Python objects passed with the scenario are kept.

        Raises
        ------
        InputError
            As `load` does.
        """
        scenario = validated(type(self.scenario), content, self.path, self.given)
        return replace(self, scenario=scenario, content=content, origins={})

    def _refuse_unread(
        self,
        before: Mapping[str, Any],
        changes: Mapping[str, object],
        own: Mapping[str, Any],
        also_read: Collection[str],
    ) -> None:
        """Refuse keys set by the user that no point of the scenario reads.

        The user may have set them in an override or in the file.

        An unread key is accepted if the file inherits it from another file, or if it is unread only because of an
        override. An unread key that is swept is always refused.

        Raises
        ------
        InputError
            Names the key.
        """
        unread, swept = self._unread(self.scenario, self.content)
        if not unread:
            return
        read_before = dict[str, ReadIf]()
        if changes and own:
            with suppress(InputError):
                scenario = validated(type(self.scenario), before, self.path, self.given)
                read_before, _ = self._unread(scenario, before)
        for key, failed in unread.items():
            if any(fnmatchcase(key, pattern) for pattern in also_read):
                continue
            place = f"{key}.".replace("[", ".").replace("]", "")
            below = next((change for change in changes if f"{change}.".startswith(place)), None)
            by_override = below or next((key for change in changes if place.startswith(f"{change}.")), None)
            for point in swept:
                if f"{point}.".startswith(place):
                    failed.refuse(f"{swept[point]}.{point}", self.path)
            if by_override:
                failed.refuse(by_override, "--set")
            if has_key(own, key) and (not changes or key in read_before):
                failed.refuse(key, self.path)

    def _unread(self, scenario: ScenarioHead, content: Mapping[str, Any]) -> tuple[dict[str, ReadIf], dict[str, str]]:
        """Return the keys that no point of a scenario reads.

        The second result is the section that varies each varied key.
        """
        each = [conditions_of(scenario, content)]
        changes, swept = changes_within(scenario)
        for values in changes:
            other = deepcopy(dict(content))
            # A value may be valid only together with values of other keys.
            with suppress(InputError):
                override(other, values)
                each.append(conditions_of(validated(type(scenario), other, self.path, self.given), other))
        return unread_keys(each), swept


def extended(own: Mapping[str, Any], path: Path, needed_by: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return the content of a scenario merged with the scenario that it extends.

    The key ``extends`` names the other scenario. Sections are merged key by key. Any other value replaces the inherited
    value, and ``adversaries = {}`` removes the inherited adversaries.

    Parameters
    ----------
    own : mapping
        Content of the scenario file.
    path : Path
        Path of the scenario file.
    needed_by : tuple of Path
        Files that extend this one, to detect cycles.

    Raises
    ------
    InputError
        If a file cannot be read, or extends itself.
    """
    content = dict(own)
    extends = content.pop("extends", None)
    if extends is None:
        return content
    with locating(path):
        expected = "a scenario's name or file"
        refuse_first((not isinstance(extends, str), "wrong type", "extends", extends, expected))
    base = resolve(extends, "scenarios", "scenario", base=path.parent)
    needed_by = (*needed_by, path.resolve())
    expected = f"at most {_LONGEST_CHAIN} scenarios, each extending the next"
    with locating(path):
        refuse_first(
            (base.resolve() in needed_by, "a scenario cannot extend itself", "extends", extends, None),
            (len(needed_by) > _LONGEST_CHAIN, "a chain of scenarios that is too long", "extends", None, expected),
        )
    inherited = extended(read_toml(base), base, needed_by)
    if content.get("adversaries") == {}:
        inherited.pop("adversaries", None)
    return merged(anchored(inherited, base.parent), content)


def anchored(content: Any, folder: Path, key: str = "", varied: object = None) -> Any:
    """Return scenario data with absolute paths.

    Scenarios in other folders can then extend it.

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
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        own = content.get("key") if isinstance(content, dict) else None
        found = {name: anchored(value, folder, f"{key}.{name}" if key else str(name), own) for name, value in items}
        return found if isinstance(content, dict) else list(found.values())
    if not isinstance(content, str | Path) or not str(content) or str(content).startswith(BUNDLED):
        return content
    text = str(content)
    is_file = text.endswith((".toml", ".parquet")) or "/" in text or "\\" in text
    patterns = (*_PATH_KEYS, *RECIPE_KEYS) if is_file else _PATH_KEYS
    return str((folder / text).absolute()) if any(fnmatchcase(key, pattern) for pattern in patterns) else content


def scenario_kind(content: Mapping[str, Any], path: Path, *, allow_code: bool = False) -> Any:
    """Return the kind of a scenario, given by its key ``game``.

    Raises
    ------
    InputError
        If there is no such kind, or it is in a module that may not be imported.
    """
    game = content.get("game", DEFAULT_KIND)
    with locating(path):
        if not (isinstance(game, str) and names_object(game)):
            return find_kind(game)
        return made_kind(load_part("kinds", game, where="game", folder=path.parent, allow_code=allow_code), game)


def _reloaded(cls: type[Scenario[ScenarioHead]], state: dict[str, Any]) -> Scenario[ScenarioHead]:
    """Return a scenario of a user-defined kind in another process.

    The module of the kind is imported first.
    """
    content, path = state["content"], state["path"]
    kind = scenario_kind(content, path, allow_code=True)
    scenario = validated(kind.schema, content, path, state["given"])
    return cls(**state | {"scenario": scenario, "allow_code": True})
