"""The kind of scenario in which data subjects decide what of their record they mask."""

from __future__ import annotations

from reidsim.kinds.masking.measures import MEASURES
from reidsim.kinds.masking.policies import POLICIES
from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.scenarios.kind import Kind

MASKING = Kind(
    name="masking",
    words="data subjects decide which attributes of their record are shared, generalized or masked",
    schema=MaskingScenario,
    policies=POLICIES,
    decides="subject",
    measures=MEASURES,
)
