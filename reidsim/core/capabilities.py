"""Check that one entry of a scenario provides the capabilities that another needs."""

from __future__ import annotations

from collections.abc import Collection

from reidsim.errors import InputError


def require_provided(
    needs: Collection[str],
    provided: Collection[str],
    *,
    needed_by: str,
    provider: str,
    where: str,
    found: object = None,
) -> None:
    """Check that an entry provides every capability that another entry needs.

    Parameters
    ----------
    needs, provided : collection of str
        Capabilities, as noun phrases.
    needed_by, provider : str
        Names of the two entries, such as ``rationality 'logit'`` and ``planner 'never'``.
    where : str
        Key path of the entry to change.
    found : object, optional
        Value of that key.

    Raises
    ------
    InputError
        For the first missing capability.
    """
    missing = [capability for capability in needs if capability not in provided]
    if missing:
        raise InputError(f"{needed_by} needs {missing[0]}, which {provider} does not provide", where=where, found=found)
