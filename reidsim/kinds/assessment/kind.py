"""The kind of scenario in which a given release is assessed, and nobody decides."""

from __future__ import annotations

from reidsim.scenarios.kind import Kind
from reidsim.scenarios.risk_schema import RiskScenario

ASSESSMENT = Kind(
    name="risk",
    words="nobody decides: the risks of a release that is given are assessed",
    schema=RiskScenario,
    policies={},
    decides="",
)
