"""Find the column of sampling weights: people in the population per record."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from reidsim.audit.identifier_names import words_of
from reidsim.drafts.profile import ColumnProfile
from reidsim.drafts.values import MISSING_MARKS
from reidsim.wording import counted

# Single words (without trailing digits) and pairs of words that name a survey weight.
_WORD = re.compile(
    r"(?:p|r|f|i|a|h|hh|fin|final|fnl|per|asec|earn|base|samp|sampl|sampling|sample|survey|design|cal|calib|person|pop)"
    r"(?:weight|wgt|wt)s?p?|wgts?p?|wt(?:finl|supp|mec|int)|fexp|facexp|fexpansion|expfactor|ponderaci?on|hrf"
)
_PAIRS = re.compile(
    r"\b(sampling|sample|survey|design|base|final|person|household|population|calibrated|calibration|grossing|"
    r"expansion|replicate|analysis|inverse probability) (weight|weights|factor)\b"
)
# Names of survey weights that are also names of body measurements.
_AMBIGUOUS = frozenset({"weight", "weights", "wt", "wts", "gewicht", "peso", "poids"})
_OF_THE_BODY = frozenset({"height", "ht", "bmi", "groesse", "talla", "taille", "waist", "kg", "lb", "lbs", "pounds"})
_WEIGHED = frozenset({*_OF_THE_BODY, "birth", "body", "current", "ideal"})
# Survey weights differ at least by this factor, or have at least this median number of decimals.
_SPREAD, _DECIMALS = 6.0, 3
# Relative tolerance between the sum of the weights and the population size.
_NEAR = 0.02


def names_weight(name: str) -> bool:
    """Return whether a column name clearly denotes sampling weights.

    Examples
    --------
    >>> [name for name in ("sampling_weight", "PWGTP", "wt", "birth weight") if names_weight(name)]
    ['sampling_weight', 'PWGTP', 'wt']
    """
    words = [re.sub(r"\d+$", "", word) for word in words_of(name)]
    return any(map(_WORD.fullmatch, words)) or words in (["wt"], ["weights"]) or bool(_PAIRS.search(" ".join(words)))


def may_name_weight(name: str) -> bool:
    """Return whether a column name denotes weights, of a survey or of the body."""
    words = set(words_of(name))
    return names_weight(name) or bool(words & _AMBIGUOUS and not words & _WEIGHED)


def are_weights(name: str, values: Sequence[str], others: Collection[str], total: float | None = None) -> bool:
    """Return whether a column holds sampling weights.

    The decision uses the name, or the values: their sum if the population size is given, and their spread and decimals
    if the name is ambiguous. Values that are all whole, or of which one is below 1 or no number, count as weights only
    by the name.

    Parameters
    ----------
    name : str
        Name of the column.
    values : sequence of str
        Values of all rows.
    others : collection of str
        Names of the other columns. If one of them is a height, an ambiguous weight is a body weight.
    total : float, optional
        Number of people in the population.
    """
    words = set(words_of(name))
    ambiguous = bool(words & _AMBIGUOUS) and not words & _WEIGHED
    of_the_body = ambiguous and any(set(words_of(other)) & _OF_THE_BODY for other in others)
    if names_weight(name) and not of_the_body:
        return True
    if not ambiguous and total is None:
        return False
    weights = usable_weights(values)
    if weights is None or (weights == np.rint(weights)).all():
        return False
    if total is not None and abs(weights.sum() - total) <= _NEAR * total:
        return True
    decimals = np.median([len(value.partition(".")[2]) for value in values[:1000]])
    return ambiguous and not of_the_body and bool(weights.max() >= _SPREAD * weights.min() or decimals >= _DECIMALS)


def usable_weights(values: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Return the values as numbers if all are finite and at least 1, else None."""
    try:
        weights = np.array([float(value) for value in values])
    except ValueError:
        return None
    return weights if len(weights) and np.isfinite(weights).all() and (weights >= 1).all() else None


def weight_column(
    profiles: Sequence[ColumnProfile], named: Collection[str] = (), total: float | None = None
) -> tuple[str | None, tuple[str, ...]]:
    """Find the column of sampling weights of a table.

    Parameters
    ----------
    profiles : sequence of ColumnProfile
        Profiles of all columns.
    named : collection of str
        Columns that the user assigned to another use.
    total : float, optional
        Number of people in the population of the table.

    Returns
    -------
    str or None
        Name of the column; the first if there are several, such as replicate weights.
    tuple of str
        Warnings about columns that look like weights but cannot be used, and about several weight columns.
    """
    names = [profile.name for profile in profiles]
    found: list[str] = []
    warnings = []
    for profile in profiles:
        values = [label for label in profile.labels if label not in MISSING_MARKS]
        rows = [value for value, count in zip(profile.labels, profile.counts, strict=True) for _ in range(count)]
        others = [name for name in names if name != profile.name]
        if profile.name in named or not values or not are_weights(profile.name, rows, others, total):
            continue
        if usable_weights(rows) is not None:
            found.append(profile.name)
        elif usable_weights(values) is not None:
            warnings.append(
                f"column {profile.name!r} looks like sampling weights, but weights are missing in "
                f"{counted(profile.missing, 'row')}"
            )
        else:
            warnings.append(
                f"column {profile.name!r} looks like sampling weights, but not all values are numbers of 1 or more "
                "(people in the population that a record represents)"
            )
    if len(found) > 1:
        warnings.append(f"{len(found)} columns look like sampling weights: {found[0]!r} is used")
    return (found[0] if found else None), tuple(warnings)


def with_weight(text: str, weight: str, people: float, *, several: bool = False) -> str:
    """Return the scenario text with the weight key added as a comment.

    Only sample risk reads the weights.

    Parameters
    ----------
    text : str
        Text of the scenario.
    weight : str
        Column name in TOML syntax.
    people : float
        Sum of the weights, in people.
    several : bool
        Whether people may have several records.
    """
    key = f"# weight = {weight} # sampling weights: the records represent {people:,.0f} people"
    keys_used = "release.weight"
    if several:
        key += '\n# estimator = "benedetti-franconi" # log-linear models assume one row per person'
        keys_used += " and release.estimator"
    hint = (
        '# With risk = "sample" the adversary does not know who is in the file: groups are then estimated in the\n'
        f"# population, with the sampling weights. Then also uncomment {keys_used}. An adversary who searches for\n"
        '# people (direction = "both") is still assumed to know who is in the file.\n[adversary]'
    )
    before, section, after = text.partition("[release]\n")
    keys, end, rest = after.partition("\n\n")
    return f"{before}{section}{keys}\n{key}{end}{rest.replace('[adversary]', hint, 1)}"
