"""Find kinds of scenario by name; import user-defined parts.

User-defined parts are in installed packages, or in modules that a scenario names.

Entry points of installed packages (``reidsim.adversaries``, ``reidsim.policies``, ``reidsim.kinds``) are trusted,
because the user installed the packages. A module that a scenario names, ``package.module:factory``, is code that comes
with a file: it is imported only if the user allows it.
"""

from __future__ import annotations

import copy
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from importlib import import_module, invalidate_caches
from importlib.metadata import EntryPoint, PackageNotFoundError, packages_distributions, version
from pathlib import Path
from traceback import walk_tb
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, PlainValidator
from pydantic_core import CoreSchema, core_schema

from reidsim.core.errors import InputError, listed, locating, nearest, refuse_first
from reidsim.core.parameters import has_method, made, unwrapped
from reidsim.core.registry import Registry, installed, registered
from reidsim.games.cross_play import Game, record_game_of
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.games.solvers import Progress, no_progress
from reidsim.scenarios.schema import Count, ReadIf, ScenarioHead

# A scenario may compare this policy for several values of k; the name of each then contains its k.
K_ANONYMITY = "k-anonymity"
ANONYMITY_PATTERN = rf"{K_ANONYMITY}-[1-9]\d*"


def _checked_k(value: Any) -> Any:
    several = tuple(value) if isinstance(value, list | tuple) else None
    wrong = [k for k in ((value,) if several is None else several or ([],)) if type(k) is not int or k < 1]
    expected = "a whole number of 1 or more, or a list of such numbers"
    refuse_first((wrong, "value not allowed", None, next(iter(wrong), None), expected))
    return value if several is None else several


# One k, or several.
AnonymityK = Annotated[
    Count | tuple[Count, ...],
    # The error message for a union type would name the member of the union in the key path.
    PlainValidator(_checked_k, json_schema_input_type=Count | Annotated[tuple[Count, ...], Field(min_length=1)]),
    Field(
        description="with policy `k-anonymity`: smallest number of records in an equivalence class; a list "
        "adds one policy per number, such as `k-anonymity-5`"
    ),
]


@dataclass(frozen=True)
class Look:
    """Colour and marker of a policy in all figures.

    Parameters
    ----------
    colour : str
        Colour as ``#rrggbb``.
    marker : str
        Name of the marker in matplotlib.
    """

    colour: str
    marker: str


class Policy(ABC):
    """A rule by which a publisher or data subjects choose strategies.

    Attributes
    ----------
    name : str
        Name in scenarios and tables; the registry sets it.
    label : str
        Name in figures.
    description : str
        One sentence without a full stop.
    is_rule : bool
        Whether the choice ignores the adversary; otherwise it is a best response to the believed adversary.
    forbids_attacks : bool
        Whether the policy shares only records that no adversary attacks.
    by_agents : bool
        Whether the policy can be played in rounds.
    in_another_game : bool
        Whether payoffs are computed against another adversary and are therefore not comparable with other policies.
    needs : frozenset of str
        Capabilities that the scenario must provide.
    look : Look, optional
        Colour and marker in figures; by default, figures assign one.
    k : int, optional
        k of k-anonymity if the policy's name contains it; otherwise the scenario's k applies.
    """

    name: str = ""
    label: str = ""
    description: str = ""
    is_rule: bool = False
    forbids_attacks: ClassVar[bool] = False
    by_agents: ClassVar[bool] = True
    in_another_game: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset()
    look: ClassVar[Look | None] = None
    k: int | None = None

    @abstractmethod
    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the strategy of each record.

        Parameters
        ----------
        study : Study
        game : RecordGame or MaskingGame
            Game that the decision maker believes to be played.
        draw : int
            Number of the study's draw.

        Raises
        ------
        InputError
            If the policy cannot be played in this game.
        """

    def paid_in(self, study: Any, game: Game, choice: Choice) -> Game:
        """Return the game in which a choice is evaluated; by default the true one, `game`."""
        return game

    def defender(self, study: Any, draw: int, report: Progress = no_progress) -> BoundPolicy:
        """Return the policy bound to a study and the number of a draw; see `BoundPolicy`.

        A policy with a long search may call `report` with the numbers of steps done and in total.
        """
        return BoundPolicy(
            self.name, not self.is_rule, partial(self.choose, study, draw=draw), partial(self.paid_in, study)
        )


@dataclass(frozen=True, eq=False)
class BoundPolicy:
    """A policy bound to a study and a draw; a `Defender`.

    Parameters
    ----------
    name : str
        Name of the policy.
    plans : bool
        Whether the choice depends on the adversary.
    choose : callable
        Returns the choice, given the game in which the decision maker plans.
    paid_in : callable
        Returns the game in which a choice is evaluated, given the true game and the choice.
    """

    name: str
    plans: bool
    choose: Callable[[Game], Choice]
    paid_in: Callable[[Game, Choice], Game]


class OwnPolicy(Policy):
    """A user-defined policy, with its choice checked.

    It is passed in Python, or found in a module or an installed package. It has a method ``choose(game)`` that returns
    a `Choice`, or an array of strategies, shape (n_records,). The choice depends on the adversary unless the policy has
    the attribute ``plans`` with value False.

    Parameters
    ----------
    name : str
    where : str
        Key path of the scenario that names the policy.
    """

    description = "user-defined policy"

    def __init__(self, name: str, where: str) -> None:
        self.name, self.label, self.where = name, name, where

    def defender(self, study: Any, draw: int, report: Progress = no_progress) -> BoundPolicy:
        """Return the policy with the user's object, bound to a study.

        Raises
        ------
        InputError
            If the object cannot be made, or is not a policy.
        """
        own, section = study.loaded.part("policies", self.name, self.where), self.where.partition(".")[0]
        with one_line_errors("cannot be made", self.name, self.where):
            values = getattr(getattr(study.scenario, section), "parameters", {}).get(self.name, {})
            own = made(own, "choose", values, f"{section}.parameters.{self.name}")
        if not has_method(own, "choose"):
            raise InputError("not a policy", where=self.where, found=self.name, expected="an object with choose(game)")
        bound = super().defender(study, draw)
        return replace(bound, plans=getattr(own, "plans", True), choose=partial(self._checked, own))

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the checked choice of the user's policy in a game; see `Policy.choose`.

        Raises
        ------
        InputError
            If the user's object is not a policy, or its choice is not one valid strategy per record.
        """
        return self.defender(study, draw).choose(game)

    def _checked(self, policy: Any, game: Game) -> Choice:
        """Return the choice of the user's policy in a game, after a check.

        An array of strategies becomes a `Choice` that is not proved optimal.

        Raises
        ------
        InputError
            If it is not an array of whole numbers, shape (n_records,), each a strategy or -1 (withheld).
        """
        chosen = policy.choose(game)
        strategies = np.asarray(chosen.strategies if isinstance(chosen, Choice) else chosen)
        n, size = game.n_records, record_game_of(game).space.size
        is_other = strategies.shape != (n,) or strategies.dtype.kind not in "iu"
        wrong = [] if is_other else strategies[(strategies < WITHHELD) | (strategies >= size)].tolist()
        found, allowed = f"{strategies.dtype} of shape {strategies.shape}", f"0 to {size - 1}, or {WITHHELD}"
        with locating(f"policy {self.name!r}", "choose"):
            refuse_first(
                (is_other, "not a release for each record", None, found, f"whole numbers of shape ({n},)"),
                (wrong, "no such release", None, next(iter(wrong), None), f"{allowed} to withhold a record"),
            )
        if isinstance(chosen, Choice):
            return chosen
        return Choice(strategies.astype(np.int64), self.name, np.zeros(n, dtype=np.int64), exact=False)


P = TypeVar("P", bound=Policy)


class Policies(Registry[P], Generic[P]):
    """The policies of a kind, by name.

    Classes are registered; a lookup returns an instance.

    If ``k-anonymity`` is registered, names with a k such as ``k-anonymity-5`` are policies too.

    Parameters
    ----------
    modules : str
        Names of the modules that register the policies.
    """

    def __init__(self, *modules: str) -> None:
        super().__init__("policy", "reidsim.policies", *modules)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(K_ANONYMITY if _k_in(name) else name)

    def __getitem__(self, name: str) -> P:
        k = _k_in(name)
        policy = super().__getitem__(K_ANONYMITY if k else name)
        if k:
            policy = copy.copy(policy)
            policy.name, policy.label, policy.k = name, f"{k}-anonymity", k
            policy.description = policy.description.replace(" k ", f" {k:,} ")
        return policy

    def add(self, name: str, base: type[P], **attributes: Any) -> None:
        """Register a policy that differs from `base` only in some class attributes."""
        self.register(name)(type(base.__name__, (base,), {"__module__": base.__module__, **attributes}))

    def _entry(self, name: str, part: Any) -> P:
        policy: P = part()
        policy.name = name
        return policy


def require_by_agents(policy: Policy, among: Iterable[Policy], where: str, source: Path | None = None) -> None:
    """Check that a policy can be played in repeated rounds.

    `among` are the policies of the kind; `where` and `source` are key and file in the message.

    Raises
    ------
    InputError
        If it cannot; lists the policies that can.
    """
    if not policy.by_agents:
        expected = f"one of {listed((each.name for each in among if each.by_agents), 20)}"
        problem = "the policy is not supported in rounds of agents"
        raise InputError(problem, source=source, where=where, found=policy.name, expected=expected)


def with_policy(*names: str) -> ReadIf:
    """Return the condition that a section compares at least one of these policies."""
    return ReadIf(
        lambda section, scenario: any(name in section.policies for name in names), f"with policy {' or '.join(names)}"
    )


@cache
def _k_in(name: object) -> int | None:
    """Return the k in a name such as ``k-anonymity-5``; None for any other name."""
    return int(str(name).rpartition("-")[2]) if re.fullmatch(ANONYMITY_PATTERN, str(name)) else None


WITH_K_ANONYMITY = ReadIf(
    lambda section, scenario: any(
        name == K_ANONYMITY if isinstance(section.k, int) else _k_in(name) in section.k for name in section.policies
    ),
    f"with policy {K_ANONYMITY}",
)


def with_each_k(names: Sequence[str], k: int | Sequence[int]) -> tuple[str, ...]:
    """Return policy names with ``k-anonymity`` replaced by one name per k.

    Names are unchanged if `k` is a single number.
    """
    each = [K_ANONYMITY] if isinstance(k, int) else [f"{K_ANONYMITY}-{one}" for one in k]
    return tuple(named for name in names for named in (each if name == K_ANONYMITY else [name]))


def k_of(policy: Policy, k: int | Sequence[int], where: str) -> int:
    """Return the k of a k-anonymity policy.

    It comes from the policy's name if that contains one, else it is `k`, the value of the scenario's key `where`.

    Raises
    ------
    InputError
        If the name contains no k and the scenario gives several.
    """
    if policy.k is None and not isinstance(k, int):
        expected = "a policy for each value, such as k-anonymity-5"
        raise InputError("several values of k", where=where, found=list(k), expected=expected)
    return policy.k or int(k)  # type: ignore[arg-type] # an int, as checked


Group = Literal["adversaries", "policies", "kinds", "measures"]
DEFAULT_KIND = "tables"
# A reference to an object of a module, after the part's own name if it has another one than the object.
_OBJECT = re.compile(r"(?:[^:=]+=)?[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")

kinds: Registry[EntryPoint] = Registry("kind of scenario", "reidsim.kinds")
for _name, _object in {
    "tables": "reidsim.kinds.tables.kind:TABLES",
    "masking": "reidsim.kinds.masking.kind:MASKING",
    "risk": "reidsim.kinds.assessment.kind:ASSESSMENT",
    "dynamic": "reidsim.kinds.dynamic.kind:DYNAMIC",
    "participation": "reidsim.kinds.participation.kind:PARTICIPATION_KIND",
}.items():
    # Entry points, so that a kind is imported only when the first scenario of this kind is read.
    kinds.register(_name)(EntryPoint(_name, _object, kinds.group))
# All kinds made in this process, by schema; user-defined kinds also by their name in scenarios.
MADE: dict[type | str, Any] = {}

# Top-level module of each user-defined part in use, by name of the part.
_IN_USE: dict[str, str] = {}
# Top-level modules imported from folders of scenarios. Another scenario's folder may have a module of the same name.
_BESIDE_SCENARIOS: set[str] = set()


def names_object(name: object) -> bool:
    """Return whether a name has the form ``module:object`` or ``name=module:object``.

    An example is ``mypackage.adversaries:patient``.
    """
    return isinstance(name, str) and _OBJECT.fullmatch(name) is not None


@dataclass(frozen=True, eq=False)
class PartName:
    """Annotation of a string that names a part of a scenario.

    The part is a registry entry, an object of a module, or a Python object of the scenario.

    Parameters
    ----------
    registry : Registry
        Registry with the allowed names.
    further : str
        Regular expression of further names that the registry accepts, for the JSON schema.
    """

    registry: Registry[Any]
    further: str = ""

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        patterns = "|".join(filter(None, (_OBJECT.pattern, self.further)))
        return {"anyOf": [{"enum": list(self.registry)}, {"type": "string", "pattern": f"^(?:{patterns})$"}]}

    def _checked(self, name: str, info: core_schema.ValidationInfo) -> str:
        named = (info.context or {}).get("names", ())
        if name in self.registry or names_object(name) or name in named or name in self.registry.installed:
            return name
        raise self.registry.unknown(name, otherwise=", or package.module:object")


def part_name(part: Any, group: str = "") -> str:
    """Return the name of a user-defined part in scenarios and results.

    It is the name under which the user registered the part in the entry point group `group`, if given, else its
    attribute ``name``, else the name of its class or function.
    """
    maker, _ = unwrapped(part)
    known = next((name for name, part in registered(group).items() if part is maker), getattr(maker, "name", None))
    return known if known and isinstance(known, str) else getattr(maker, "__name__", type(maker).__name__)


def object_at(module: Any, path: str) -> Any:
    """Return the object at a path such as ``Outer.Inner`` in a module; None if there is none."""
    return reduce(lambda found, name: getattr(found, name, None), path.split("."), module)


def find_kind(name: object, folder: Path = Path(), *, allow_code: bool = False) -> Any:
    """Return a kind (see `Kind`) of reidsim, of an installed package, or of a module.

    Parameters
    ----------
    name : str
        Value of the key ``game``.
    folder, allow_code
        See `load_part`.

    Raises
    ------
    InputError
        If no kind has this name, or its module may not be imported; the message names the key ``game``.
    """
    if isinstance(name, str) and name in kinds:
        return kinds[name].load()
    if not isinstance(name, str) or not (names_object(name) or name in kinds.installed):
        raise kinds.unknown(name, where="game")
    part = load_part("kinds", name, where="game", folder=folder, allow_code=allow_code)
    if not hasattr(part, "build"):
        raise InputError("not a kind of scenario", where="game", found=name, expected="a class derived from Kind")
    with one_line_errors("cannot be made", name, "game"):
        MADE[name] = part() if isinstance(part, type) else part
    return MADE[name]


def kind_of(scenario: ScenarioHead) -> Any:
    """Return the kind of a validated scenario.

    It is found by the scenario's schema, else by its key ``game``. An `InputError` is raised if the kind is unknown.
    """
    return MADE.get(type(scenario)) or find_kind(getattr(scenario, "game", None))


def scenario_kind(content: Mapping[str, Any], path: Path, *, allow_code: bool = False) -> Any:
    """Return the kind (see `Kind`) of a scenario file in plain data.

    Without key ``game``, it is `DEFAULT_KIND`. A kind in a user's module is imported, and made again. Modules in the
    folder of `path`, the scenario's file, precede others.

    Raises
    ------
    InputError
        If there is no such kind, or it is in a module that may not be imported.
    """
    with locating(path):
        return find_kind(content.get("game", DEFAULT_KIND), path.parent, allow_code=allow_code)


def load_part(group: Group, name: str, *, where: str, folder: Path, allow_code: bool) -> Any:
    """Return a user-defined object, class or function by its name in a scenario.

    A class or function is returned as it is, without a call.

    Parameters
    ----------
    group : {"adversaries", "policies", "kinds", "measures"}
    name : str
        Name of an entry point of an installed package, or ``package.module:factory``, after ``name=`` if the part has
        another name in the scenario.
    where : str
        Key path of the scenario, for error messages.
    folder : Path
        Folder of the scenario; its modules precede others of the same name.
    allow_code : bool
        Whether ``package.module:factory`` is allowed; entry points always are.

    Raises
    ------
    InputError
        If there is no such part, it cannot be imported, or it is not allowed.
    """
    known, (module, separator, attribute) = installed(f"reidsim.{group}"), name.rpartition("=")[2].partition(":")
    if name in known:
        with one_line_errors("cannot be imported", name, where):
            part = known[name].load()
    elif not separator:
        expected, hint = f"one of {listed(known)}" if known else "package.module:factory", nearest(name, known)
        raise InputError("no such part is installed", where=where, found=name, expected=expected, hint=hint)
    else:
        problem = "code that a scenario names is not run unless that is allowed"
        allowing = "the option --allow-code, or allow_code=True in Python, if you trust the author of the module"
        refuse_first((not allow_code, problem, where, name, allowing))
        part = object_at(_module(module, name, where=where, folder=folder), attribute)
        problem, expected = "the module has no such object", f"{attribute} in {module}"
        refuse_first((part is None, problem, where, name, expected))
    defined_in = _module_of(part).partition(".")[0]
    if defined_in != __name__.partition(".")[0]:
        _IN_USE[name] = defined_in
    return part


def is_beside_scenario(part: object) -> bool:
    """Return whether the module of a part was imported from the folder of a scenario."""
    return _module_of(part).partition(".")[0] in _BESIDE_SCENARIOS


def fault_of_parts(error: Exception) -> InputError | None:
    """Return an unexpected error as an `InputError` that names the parts in use.

    Parameters
    ----------
    error : Exception
        Raised by a part, or by reidsim when it used the result of a part.

    Returns
    -------
    InputError or None
        None if no part is in use, or if no part raised the error and it is an `OSError` or `MemoryError`.
    """
    raised_by = [
        f"{name}: {Path(frame.f_code.co_filename).name}, line {line}"
        for frame, line in walk_tb(error.__traceback__)
        for name, defined_in in _IN_USE.items()
        if defined_in == str(frame.f_globals.get("__name__")).partition(".")[0]
    ]
    if not _IN_USE or (not raised_by and isinstance(error, OSError | MemoryError)):
        return None
    others = f"unexpected error, with parts in use that are not of the package: {', '.join(_IN_USE)}"
    hint = "reidsim.run in Python shows the whole traceback"
    return InputError(f"{type(error).__name__}: {error}", where=raised_by[-1] if raised_by else others, hint=hint)


def made_by(part: object) -> dict[str, str]:
    """Return the module, package and version that define a part, for manifests.

    The keys are ``module``, ``package`` and ``version``; the last two are missing if no installed package has the
    module.
    """
    module = _module_of(part)
    top = module.partition(".")[0]
    for distribution in _distributions(tuple(sys.path)).get(top, [top]):
        with suppress(PackageNotFoundError):
            return {"module": module, "package": distribution, "version": version(distribution)}
    return {"module": module}


@cache
def _distributions(path: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Return the packages that contain each top-level module.

    Scanning the folders in `path` takes about a second.
    """
    return packages_distributions()


def _module_of(part: object) -> str:
    return getattr(part, "__module__", None) or type(part).__module__


@contextmanager
def one_line_errors(problem: str, name: str, where: str) -> Iterator[None]:
    """Convert any exception of user-defined code to a one-line `InputError`.

    An `InputError` is unchanged. `problem` begins the message; `name`, the user's part, and `where`, its key, are
    named in it.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{problem}: {type(error).__name__}: {error}", where=where, found=name) from None


def _module(module: str, name: str, *, where: str, folder: Path) -> Any:
    """Return an imported module; a module in the scenario's folder takes precedence.

    For messages, `name` is the text in the scenario that names the module and its object, and `where` is its key.

    Raises
    ------
    InputError
        If the module cannot be imported, or if a module in the scenario's folder has the name of a module in use that
        is not from the folder of a scenario.
    """
    top, path = module.partition(".")[0], str(folder.absolute())
    files = (folder / f"{top}.py", folder / top / "__init__.py")
    beside = next((file for file in files if file.is_file()), None)
    if beside is not None:
        used = getattr(sys.modules.get(top), "__file__", None)
        if top in sys.modules and not (used and Path(used).resolve() == beside.resolve()):
            problem, expected = "another module of this name is in use", f"another name for {beside}"
            refuse_first((top not in _BESIDE_SCENARIOS, problem, where, name, expected))
            # The imported module belongs to a scenario in another folder.
            for other in [other for other in sys.modules if other == top or other.startswith(f"{top}.")]:
                del sys.modules[other]
        _BESIDE_SCENARIOS.add(top)
        # The file may have been written after the import system cached the contents of its folder.
        invalidate_caches()
    sys.path.insert(0, path)
    try:
        with one_line_errors("cannot be imported", name, where):
            return import_module(module)
    finally:
        sys.path.remove(path)
