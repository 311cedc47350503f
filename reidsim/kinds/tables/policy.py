"""Interface of a policy for tables, and the registry of these policies."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from reidsim.agents.profile import Reply
from reidsim.scenarios.policy import ANONYMITY_PATTERN, OwnPolicy, Policies, Policy
from reidsim.scenarios.registry import PartName

WHERE = "publisher.policies"
Unit = Literal["record", "table"]

# Capabilities of a scenario that policies may need.
SAFE_HARBOR = "the attributes that Safe Harbor restricts (section safe_harbor)"
SEVERAL_RELEASES = "several releases (section releases)"
ONE_SENSITIVE_COLUMN = "exactly one sensitive column"
ONE_RECORD_PER_PERSON = "one record per person"
SIZES_AMONG_LEFT = "group sizes among the records left for a round"
SEPARATE_RECORDS = "success probabilities that do not depend on the generalizations of other records"

# Policies that cross-play compares, in the order of its rows.
_ROWS: dict[Unit, tuple[str, ...]] = {
    "record": (
        *("basic", "no-attack", "sh-friendly", "lattice-search", "multi-dimensional", "local-recoding", "full-domain"),
        *("opt-in", "safe-harbor", "k-anonymity", "no-protection", "suppress-all", "random"),
    ),
    "table": (
        *("basic", "no-attack", "sh-friendly", "anytime", "local-recoding", "multi-dimensional"),
        *("local-recoding-no-attack", "multi-dimensional-no-attack", "record-level", "record-level-no-attack"),
        *("opt-in", "safe-harbor", "no-protection", "suppress-all", "k-anonymity", "random"),
    ),
}


class TablesPolicy(Policy):
    """A policy of a publisher of tables.

    Methods whose result depends on the publisher's unit or solver take the scenario section ``publisher``.

    Attributes
    ----------
    every_node : bool
        Whether the policy evaluates every node of the lattice.
    replies : {"to-past", "alone", "hold", "planned"}
        How the policy treats earlier releases; see `reidsim.agents.profile.Reply`.
    compared : bool
        Whether cross-play compares the policy.
    of_unit : bool
        Whether the policy optimizes the publisher's unit, the record or the table.
    of_node : bool
        Whether the policy optimizes one generalization of the table for both publisher's units.
    improves : bool
        Whether the policy optimizes each record for both publisher's units.
    separate : bool
        Whether the choice for a record never depends on other records.
    of_whole_table : bool
        Whether the policy chooses one generalization, or a few, for the table.
    in_rounds : bool
        Whether group sizes are counted among the records left for a round of local recoding.
    has_lowest_level : bool
        Whether the policy respects minimum levels of attributes.
    meets_attribute_limits : bool
        Whether limits on sensitive columns can be set beside the policy. Rules ignore them, as a reference.
    thins : bool
        Whether strategies that are optimal at no payoff parameters can be dropped once for all payoff parameters.
    """

    every_node: ClassVar[bool] = False
    replies: ClassVar[Reply] = "to-past"
    compared: ClassVar[bool] = True
    of_unit: ClassVar[bool] = False
    of_node: ClassVar[bool] = False
    improves: ClassVar[bool] = False
    separate: ClassVar[bool] = False
    of_whole_table: ClassVar[bool] = False
    in_rounds: ClassVar[bool] = False
    has_lowest_level: ClassVar[bool] = True
    meets_attribute_limits: ClassVar[bool] = True
    thins: ClassVar[bool] = False

    @property
    def within_safe_harbor(self) -> bool:
        """Whether the policy optimizes among generalizations that Safe Harbor accepts."""
        return SAFE_HARBOR in self.needs and not self.is_rule

    def picks_each(self, publisher: Any) -> bool:
        """Return whether the policy optimizes each record separately."""
        return self.of_unit and publisher.unit == "record"

    def picks_node(self, publisher: Any) -> bool:
        """Return whether the policy searches for one generalization of the table."""
        return self.of_node or (self.of_unit and publisher.unit == "table")

    def searches_nodes(self, publisher: Any) -> bool:
        """Return whether the policy searches the nodes of the lattice, once or in rounds."""
        return self.in_rounds or self.picks_node(publisher)

    def takes_best(self, publisher: Any) -> bool:
        """Return whether the policy picks the best of a fixed set of plans.

        The set of plans is the same for all payoff parameters.
        """
        if self.picks_each(publisher):
            return bool(publisher.solver != "lattice-search")
        exact: bool = publisher.search == "exact" and publisher.suppression_limit == 1.0
        return self.improves or (self.picks_node(publisher) and exact)


class OwnTablesPolicy(OwnPolicy, TablesPolicy):
    """Policy of a user in a table scenario."""

    meets_attribute_limits = False
    has_lowest_level = False


POLICIES: Policies[TablesPolicy] = Policies("reidsim.kinds.tables.policies")


def policy_named(name: str) -> TablesPolicy:
    """Return a policy by name; a name outside the registry is a user-defined policy."""
    return POLICIES[name] if name in POLICIES else OwnTablesPolicy(name, WHERE)


def policies_of_unit(unit: Unit) -> list[str]:
    """Return the policies that cross-play compares, in the order of its rows.

    They depend on the publisher's unit: one generalization per record, or one for the table.
    """
    placed = {name for names in _ROWS.values() for name in names}
    return [*_ROWS[unit], *(name for name, policy in POLICIES.items() if policy.compared and name not in placed)]


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]
