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

    Methods whose result depends on the publisher's unit or solver take the scenario section ``publisher``
    (`PublisherSection`).

    Attributes
    ----------
    every_node : bool
        Whether the policy evaluates every node of the lattice (combination of levels, one per quasi-identifier).
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
        Whether the policy is local recoding: group sizes are counted among the records left for a round.
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
        """Whether the policy optimizes among generalizations that Safe Harbor accepts.

        It is False for a rule, such as policy ``safe-harbor`` itself.
        """
        return SAFE_HARBOR in self.needs and not self.is_rule

    def picks_each(self, publisher: Any) -> bool:
        """Return whether the policy optimizes each record separately.

        It does if it optimizes the publisher's unit (`of_unit`) and ``publisher.unit`` is "record".
        """
        return self.of_unit and publisher.unit == "record"

    def picks_node(self, publisher: Any) -> bool:
        """Return whether the policy searches for one generalization of the table.

        It does so for both publisher's units (`of_node`), or if it optimizes the publisher's unit (`of_unit`) and
        ``publisher.unit`` is "table".
        """
        return self.of_node or (self.of_unit and publisher.unit == "table")

    def searches_nodes(self, publisher: Any) -> bool:
        """Return whether the policy searches the nodes of the lattice, once or in rounds.

        This holds for local recoding (`in_rounds`) and if `picks_node` is True. `publisher` is the scenario section.
        """
        return self.in_rounds or self.picks_node(publisher)

    def takes_best(self, publisher: Any) -> bool:
        """Return whether the policy picks the best of a fixed set of releases.

        The set is the same for all payoff parameters. A policy that optimizes each record does so unless
        ``publisher.solver`` is "lattice-search". Any other policy does so if `improves` is set, or if it searches for
        one generalization of the table with an exact search and a suppression limit of 1.
        """
        if self.picks_each(publisher):
            return bool(publisher.solver != "lattice-search")
        exact: bool = publisher.search == "exact" and publisher.suppression_limit == 1.0
        return self.improves or (self.picks_node(publisher) and exact)


class OwnTablesPolicy(OwnPolicy, TablesPolicy):
    """User-defined policy in a table scenario; see `OwnPolicy`."""

    meets_attribute_limits = False
    has_lowest_level = False


POLICIES: Policies[TablesPolicy] = Policies("reidsim.kinds.tables.policies")


def policy_named(name: str) -> TablesPolicy:
    """Return the `TablesPolicy` with a name.

    A name outside the registry belongs to a user-defined policy, an `OwnTablesPolicy`.
    """
    return POLICIES[name] if name in POLICIES else OwnTablesPolicy(name, WHERE)


def policies_of_unit(unit: Unit) -> list[str]:
    """Return the names of policies that cross-play compares, in the order of its rows.

    Cross-play lets each policy play against each adversary. The policies depend on the publisher's unit, `unit`:
    "record" for one generalization per record, "table" for one of the table. Registered policies of neither unit follow
    if `compared` is set.
    """
    placed = {name for names in _ROWS.values() for name in names}
    return [*_ROWS[unit], *(name for name, policy in POLICIES.items() if policy.compared and name not in placed)]


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]
