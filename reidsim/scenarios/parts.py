"""Parts of the user: registered by decorators, and written to scenario files."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic_core import to_jsonable_python

from reidsim.adversaries.response import planners
from reidsim.core.parameters import AMOUNTS, unwrapped, with_constructor
from reidsim.core.registry import register
from reidsim.games.outcomes import OWN_MEASURES, own_measure
from reidsim.scenarios.registry import kinds, object_at, part_name
from reidsim.scenarios.schema import RECORD_COLUMNS

D = TypeVar("D")


def planner(name: str) -> Callable[[D], D]:
    """Return a decorator that registers an adversary under a name.

    In this process, scenarios and scenario files can then use the name as ``planner``.

    Parameters
    ----------
    name : str
        A letter, then letters, digits, ``_`` and ``-``. A name that the user registered before is replaced.

    Returns
    -------
    callable
        Decorator of a class with a method ``respond(linkage, rows)``, or of a function that makes an object with this
        method. Both are called with ``gain`` and ``cost``, and the adversary's parameters. A class with a nested
        pydantic model ``Parameters`` needs no constructor: its objects have the attributes ``gain``, ``cost`` and
        ``parameters``.

    Raises
    ------
    InputError
        If the name is not allowed, or belongs to a planner of reidsim or of an installed package.

    See Also
    --------
    policy, measure : the same for policies and measures.
    Response : the result of ``respond``.

    Examples
    --------
    >>> import numpy, pydantic, reidsim
    >>> @reidsim.planner("picky")
    ... class Picky(reidsim.OneShotAdversary):
    ...     class Parameters(pydantic.BaseModel):
    ...         least: float = 0.0
    >>> Picky(60, 3, least=0.5)
    Picky(gain=60, cost=3)
    """

    def decorate(part: D) -> D:
        register(planners.group, "planner", name, part, is_taken=name in planners)
        return with_constructor(part, *AMOUNTS)

    return decorate


def policy(name: str) -> Callable[[D], D]:
    """Return a decorator that registers a policy under a name.

    In this process, scenarios and scenario files can then use the name in ``policies``.

    Parameters
    ----------
    name : str
        As in `planner`.

    Returns
    -------
    callable
        Decorator of a class with a method ``choose(game)``, or of a function that makes an object with this method.
        Both are called with the policy's parameters. A class with a nested pydantic model ``Parameters`` needs no
        constructor: its objects have the attribute ``parameters``.

    Raises
    ------
    InputError
        If the name is not allowed, or belongs to a policy of reidsim or of an installed package.

    See Also
    --------
    planner, measure : the same for adversaries and measures.

    Examples
    --------
    >>> import numpy, reidsim
    >>> @reidsim.policy("coarsest")
    ... class Coarsest:
    ...     def choose(self, game):
    ...         return numpy.full(game.n_records, game.space.size - 1)
    """

    def decorate(part: D) -> D:
        taken = any(name in kind.load().policies for kind in kinds.values())
        register("reidsim.policies", "policy", name, part, is_taken=taken)
        return with_constructor(part)

    return decorate


def measure(name: str) -> Callable[[D], D]:
    """Return a decorator that registers a measure under a name.

    In this process, it is a column of results with policies: of runs, rounds and sweeps, and of their reports.

    Parameters
    ----------
    name : str
        As in `planner`; it is the name of the column.

    Returns
    -------
    callable
        Decorator of a class with the attributes ``label``, ``format`` (such as ``"{:.2f}"``) and ``definition``, and a
        method ``compute(outcome, weights)``, which returns a number. The outcome has arrays of shape (n_rows,), such as
        ``strategies``, ``risk`` and ``publisher_payoff``; the weights, shape (n_rows,), are the numbers of records of
        the rows. A class may have a nested pydantic model ``Parameters`` with defaults, as in `policy`.

    Raises
    ------
    InputError
        If the name is not allowed or belongs to another column, or an attribute is missing.

    See Also
    --------
    planner, policy : the same for adversaries and policies.

    Examples
    --------
    >>> import reidsim
    >>> @reidsim.measure("highest_risk")
    ... class HighestRisk:
    ...     label, format, definition = "Highest risk", "{:.4f}", "largest risk of a record"
    ...
    ...     def compute(self, outcome, weights):
    ...         return outcome.risk[weights > 0].max()
    """

    def decorate(part: D) -> D:
        columns = {each.column for kind in kinds.values() for each in kind.load().measures}
        own_measure(name, part, {})
        register(OWN_MEASURES, "measure", name, part, is_taken=name in columns or name in _TAKEN)
        return with_constructor(part)

    return decorate


# Columns of tables of results that are not measures.
_TAKEN = frozenset((*RECORD_COLUMNS, "scenario", "point", "replication", "state", "error", "seed", "run", "round"))


def written(name: str, part: object, group: str) -> tuple[str, dict[str, Any]] | None:
    """Return the text that names a part in a scenario file, and the parameters of the part.

    The text is ``package.module:object``, where the object is the part itself. For an object without a name, it is the
    class, with the arguments of the class as parameters. An argument is the attribute of its name, or the parameter of
    its name. For a ``functools.partial``, it is the class or function. The text begins with ``name=`` unless `name`,
    the part's name in this scenario, is the object's own name. None if there is no such object, the module is
    ``__main__``, or an object of the class with these arguments has other attributes. `group` is as in `load_part`.
    """
    maker, values = unwrapped(part)
    if _reference(maker) is None:
        maker = type(part)
        try:
            known = dict(vars(part).get("parameters", {})) | vars(part)
            values = {name: known[name] for name in inspect.signature(maker).parameters if known[name] is not None}
            if vars(maker(**to_jsonable_python(values))) != vars(part):
                return None
        except Exception:
            # Whatever a constructor or a comparison of the user's objects raises, the object cannot be made again.
            return None
    # Whether a process that loads the text registers the part depends on the module.
    names, reference = {part_name(maker), part_name(maker, f"reidsim.{group}")}, _reference(maker)
    prefix = "" if names == {name} else f"{name}="
    return None if reference is None else (f"{prefix}{reference}", to_jsonable_python(values))


def is_importable(part: object) -> bool:
    """Return whether other processes can import the class or function of a part."""
    maker, _ = unwrapped(part)
    return _reference(maker if hasattr(maker, "__qualname__") else type(maker)) is not None


def _reference(part: object) -> str | None:
    """Return the reference ``package.module:object`` to an object, class or function.

    None if it is not an object of an imported module other than ``__main__`` and ``builtins``, or of a class of it.
    """
    module = getattr(part if hasattr(part, "__qualname__") else type(part), "__module__", "")
    if module not in sys.modules or module in ("__main__", "builtins"):
        return None
    home = sys.modules[module]
    paths = (getattr(part, "__qualname__", ""), *vars(home))
    return next((f"{module}:{path}" for path in paths if object_at(home, path) is part), None)
