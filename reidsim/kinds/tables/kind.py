"""The kind of scenario in which a publisher shares a table of records."""

from __future__ import annotations

from reidsim.kinds.tables.measures import MEASURES
from reidsim.kinds.tables.policies import POLICIES
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.scenarios.kind import Kind

TABLES = Kind(
    name="tables",
    words="a publisher decides how each record of a table is generalized, or all of them",
    schema=TablesScenario,
    policies=POLICIES,
    decides="publisher",
    measures=MEASURES,
)
