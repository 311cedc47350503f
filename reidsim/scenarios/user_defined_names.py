"""Types of scenario keys that name an adversary, policy or kind.

The name is an entry of a registry, an object in a user's module, or a Python object that the scenario was built with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from reidsim.core.registry import Registry

_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def names_object(name: str) -> bool:
    """Return whether a name has the form ``module:object``.

    An example is ``mypackage.adversaries:patient``.
    """
    return _OBJECT.fullmatch(name) is not None


@dataclass(frozen=True, eq=False)
class PartName:
    """Annotation of a string that names a registry entry or ``module:object``.

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
        given = (info.context or {}).get("names", ())
        if name in self.registry or names_object(name) or name in self.registry.installed or name in given:
            return name
        raise self.registry.unknown(name, otherwise=", or package.module:object")
