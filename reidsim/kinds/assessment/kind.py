"""The kind of scenario in which a given release is assessed, and nobody decides."""

from __future__ import annotations

from reidsim.kinds.assessment.measures import MEASURES
from reidsim.kinds.assessment.schema import RiskScenario
from reidsim.scenarios.kind import Kind

ASSESSMENT = Kind(
    name="risk",
    words="nobody decides: the risks of a release that is given are assessed",
    schema=RiskScenario,
    policies={},
    decides="",
    measures=MEASURES,
)
