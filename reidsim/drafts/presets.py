"""Payoff parameters of published studies, as presets for a scenario."""

from __future__ import annotations

import re

import pandas as pd

from reidsim.core.files import read_text, read_toml, resolve

# Bundled scenarios with the payoff parameters of a study.
_STUDIES = ("wan2015", "prasser2017", "xia2015", "wan2021")
_AMOUNTS = ("benefit", "loss", "gain", "cost")
_NOTE = re.compile(rf"^({'|'.join(_AMOUNTS)}) *=[^#\n]*# *(.+)$", re.MULTILINE)


def presets() -> pd.DataFrame:
    """Return the payoff parameters of published studies.

    Returns
    -------
    DataFrame
        One row per study, by the name of its bundled scenario: ``benefit``, ``loss``, ``gain`` and ``cost`` in dollars
        per record (a missing gain equals the loss), ``source``, and ``notes`` on the origin of single amounts.

    See Also
    --------
    new : draft a scenario, with payoff parameters.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.presets().loc["wan2015", ["benefit", "loss", "cost"]].to_dict()
    {'benefit': 1200.0, 'loss': 300.0, 'cost': 4.0}
    """
    rows = {}
    for name in _STUDIES:
        path = resolve(name, "scenarios", "scenario")
        content, notes = read_toml(path), _NOTE.findall(read_text(path))
        rows[name] = {amount: content["economics"].get(amount) for amount in _AMOUNTS}
        rows[name] |= {"source": content["source"], "notes": "; ".join(": ".join(note) for note in notes)}
    return pd.DataFrame.from_dict(rows, orient="index").astype(dict.fromkeys(_AMOUNTS, "float64"))
