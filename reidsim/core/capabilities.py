"""Declared compatibility: an entry needs capabilities that another entry of the scenario provides."""

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
    """Check that an entry's needs are provided.

    Parameters
    ----------
    needs, provided : collection of str
        Capabilities, as noun phrases.
    needed_by, provider : str
        The two entries, such as ``rationality 'logit'`` and ``planner 'never'``.
    where : str
        Key of the entry to change.
    found : object, optional
        Its value.

    Raises
    ------
    InputError
        For the first capability that is missing.
    """
    missing = [capability for capability in needs if capability not in provided]
    if missing:
        raise InputError(f"{needed_by} needs {missing[0]}, which {provider} does not provide", where=where, found=found)
