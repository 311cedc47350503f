"""Define the measures of a release: risks, as means over persons."""

from __future__ import annotations

from pathlib import Path

from reidsim.core.measures import in_words, measures_worded
from reidsim.games.measures import HOUSEHOLD_RISK
from reidsim.validation import read_toml

_WORDS = read_toml(Path(__file__).with_suffix(".toml"))
*_RISKS, JOURNALIST_LOW, JOURNALIST_HIGH = measures_worded(_WORDS["own"]).values()
RISKS = tuple(_RISKS)
# Keys are the column names in tables of records.
RISKS_OF_PERSONS = {measure.column.removesuffix("_risk"): measure for measure in RISKS}
MEASURES = (*RISKS, JOURNALIST_LOW, JOURNALIST_HIGH, HOUSEHOLD_RISK)
# Definitions for releases with several records per person, which count people.
MEASURES_OF_PEOPLE = in_words(MEASURES, _WORDS["people"])
