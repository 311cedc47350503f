"""Parameters of user-defined parts: a pydantic model, nested in the part's class as ``Parameters``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from reidsim.core.errors import InputError, not_among, refuse_first
from reidsim.core.validation import revalidated

P = TypeVar("P")
# Arguments of a planner, in addition to its parameters; policies have none.
AMOUNTS = ("gain", "cost")


def has_method(part: object, name: str) -> bool:
    """Return whether a part is an object with a method, not a class of such objects."""
    return not isinstance(part, type) and callable(getattr(part, name, None))


def unwrapped(part: Any) -> tuple[Any, dict[str, Any]]:
    """Return the class or function in a ``functools.partial``, and its keyword arguments.

    Any other part, also a partial with positional arguments, is returned as it is, without arguments.
    """
    return (part.func, part.keywords) if isinstance(part, partial) and not part.args else (part, {})


def validated_parameters(part: Any, values: Mapping[str, Any], where: str | None = None) -> BaseModel:
    """Return an instance of ``part.Parameters``, made from values by name.

    `part` is the class of the part; `where` is the key path of the values, for messages.

    Raises
    ------
    InputError
        If a value is invalid or missing, or the model has no such parameter; the message names the key.
    """
    model: type[BaseModel] = part.Parameters
    prefix = "" if where is None else f"{where}."
    for name in values:
        if name not in model.model_fields:
            raise not_among("no such parameter", name, model.model_fields, where=f"{prefix}{name}", shown=20)
    try:
        return revalidated(model, values, None)
    except InputError as error:
        raise error.but(where=f"{prefix}{error.where or ''}".rstrip(".") or None) from None


def with_constructor(part: P, *amounts: str) -> P:
    """Give a class with parameters a constructor, unless it defines one; return the part.

    The arguments of the constructor are the `amounts`, and the fields of the class's ``Parameters`` as keyword
    arguments. The amounts become attributes, and the parameters the attribute ``parameters``. Other parts, such as
    functions and objects, are unchanged.
    """
    inherits = any(hasattr(base, "Parameters") for base in getattr(part, "__bases__", ()))
    if not isinstance(part, type) or "__init__" in vars(part) or inherits or not hasattr(part, "Parameters"):
        return part
    above: Any = part.__init__  # type: ignore[misc] # the constructor of the class above
    fields = inspect.signature(part.Parameters).parameters
    beside = [name for name in amounts if name not in fields]
    places = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in beside]
    signature = inspect.Signature([*places, *fields.values()])

    def create(self: Any, *arguments: Any, **named: Any) -> None:
        given = signature.bind(*arguments, **named).arguments
        own = {name: given.pop(name) for name in beside}
        if above is object.__init__:
            vars(self).update(own)
        else:
            above(self, **own)
        self.parameters = validated_parameters(type(self), given)

    made_with: Any = part
    made_with.__init__, made_with.__signature__ = create, signature
    return part


def checked_parameters(part: Any, method: str, values: Mapping[str, Any], where: str, **amounts: Any) -> dict[str, Any]:
    """Return the arguments with which a part is made, validated, with the defaults of its class; see `made`.

    Parameters among which are amounts that are not given are not validated.

    Raises
    ------
    InputError
        If a parameter is invalid, or an object is given parameters; the message names the key.
    """
    if has_method(part, method):
        expected = "the class of the object, which is then called with the parameters"
        refuse_first((values, "an object keeps its own parameters", where, dict(values), expected))
        return {}
    maker, own = unwrapped(part)
    given, model = {**amounts, **own, **values}, getattr(maker, "Parameters", None)
    if model is None or {*AMOUNTS} & {*model.model_fields} - {*given}:
        return given
    beside = {name: given.pop(name) for name in AMOUNTS if name in given and name not in model.model_fields}
    return {**beside, **dict(validated_parameters(maker, given, where))}


def made(part: Any, method: str, values: Mapping[str, Any], where: str, **amounts: Any) -> Any:
    """Return a part: an object with a method, or what a class or function makes from parameters.

    Parameters
    ----------
    part : object or callable
        An object with the method is returned as it is. A class or function is called with the amounts and the
        parameters by name. Parameters of a class with a nested pydantic model ``Parameters`` are validated first, and
        defaults are filled in. The keyword arguments of a ``functools.partial`` are parameters.
    method : str
        Name of the method of the part.
    values : mapping of str to object
        Parameters by name. Values with the names of amounts replace these.
    where : str
        Key path of the parameters, for messages.
    **amounts : float or ndarray
        Gain and cost of a planner.

    Raises
    ------
    InputError
        If a parameter is invalid, or an object is given parameters; the message names the key.
    """
    arguments = checked_parameters(part, method, values, where, **amounts)
    return part if has_method(part, method) else with_constructor(unwrapped(part)[0], *amounts)(**arguments)
