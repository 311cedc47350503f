"""The interface of a policy for tables, and the registry of these policies."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from reidsim.agents.profile import Reply
from reidsim.games.record_game import Choice, Constraint, RecordGame
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.given import OwnPolicy, policy_among
from reidsim.scenarios.part_names import PartName
from reidsim.scenarios.policy import ANONYMITY_PATTERN, Policies, Policy

WHERE = "publisher.policies"
Unit = Literal["record", "table"]
# How much of a lattice a policy walks: every node, the nodes that its search does not skip, or none.
Walk = Literal["always", "search", "never"]

# Capabilities of a scenario that policies may need.
SAFE_HARBOR = "the attributes that Safe Harbor restricts"
SEVERAL_RELEASES = "several releases, each linked with those before"
ONE_SENSITIVE_COLUMN = "exactly one sensitive column"
ONE_RECORD_PER_PERSON = "one record per person"
SIZES_AMONG_LEFT = "group sizes among the records left for a round"
SEPARATE_RECORDS = "success probabilities that do not depend on the other records' generalizations"

_LAST = 100


class Rows(NamedTuple):
    """Position of a policy among the rows of cross-play by the publisher's unit; None if it is not played."""

    record: int | None = None
    table: int | None = None


class TablesPolicy(Policy):
    """A policy of a publisher of tables.

    The scenario's section ``publisher`` is an argument where the answer depends on the publisher's unit or solver.

    Attributes
    ----------
    walk : {"always", "search", "never"}
        How much of the lattice the policy walks if the publisher's unit is the table.
    replies : {"to-past", "alone", "hold", "planned"}
        How the policy treats earlier releases; see `reidsim.agents.profile.Reply`.
    rows : Rows
        Position among the rows of cross-play.
    of_unit : bool
        Whether the policy optimizes for the publisher's unit, the record or the table.
    of_node : bool
        Whether the policy optimizes one generalization of the table, whatever the publisher's unit.
    improves : bool
        Whether the policy optimizes each record, whatever the publisher's unit.
    separate : bool
        Whether the policy never looks at other records.
    of_whole_table : bool
        Whether the policy chooses one generalization, or a few, for the table.
    in_rounds : bool
        Whether group sizes are counted among the records left for a round of local recoding.
    has_lowest_level : bool
        Whether the policy respects minimum levels of attributes.
    meets_attribute_limits : bool
        Whether limits on sensitive columns can be set beside the policy. Rules ignore them, as a reference.
    thins : bool
        Whether strategies that win at no amounts can be dropped once for all amounts.
    by_class : bool
        Whether each record has a generalization of its own, in the classes of the whole table.
    """

    walk: ClassVar[Walk] = "never"
    replies: ClassVar[Reply] = "to-past"
    rows: ClassVar[Rows] = Rows(_LAST, _LAST)
    of_unit: ClassVar[bool] = False
    of_node: ClassVar[bool] = False
    improves: ClassVar[bool] = False
    separate: ClassVar[bool] = False
    of_whole_table: ClassVar[bool] = False
    in_rounds: ClassVar[bool] = False
    has_lowest_level: ClassVar[bool] = True
    meets_attribute_limits: ClassVar[bool] = True
    thins: ClassVar[bool] = False
    by_class: ClassVar[bool] = False

    @property
    def within_safe_harbor(self) -> bool:
        """Whether the policy optimizes among the generalizations that Safe Harbor accepts."""
        return SAFE_HARBOR in self.needs and not self.is_rule

    @property
    def is_constrained(self) -> bool:
        """Whether the policy optimizes for the publisher's unit among some generalizations only."""
        return self.of_unit and (self.forbids_attacks or self.within_safe_harbor)

    def picks_each(self, publisher: Any) -> bool:
        """Return whether the policy finds the best generalization of each record on its own."""
        return self.of_unit and publisher.unit == "record"

    def picks_node(self, publisher: Any) -> bool:
        """Return whether the policy searches the lattice for one generalization of the table."""
        return self.of_node or (self.of_unit and publisher.unit == "table")

    def walks(self, unit: Unit) -> Walk:
        """Return how much of the lattice the policy walks."""
        return "never" if self.of_unit and unit == "record" else self.walk

    def improves_each(self, publisher: Any) -> bool:
        """Return whether records improve in turn where their success probabilities depend on each other."""
        return self.improves or self.picks_each(publisher)

    def separates_records(self, publisher: Any) -> bool:
        """Return whether the policy chooses for each record without regard to the others' choices."""
        return self.separate or self.improves_each(publisher)

    def takes_best(self, publisher: Any) -> bool:
        """Return whether the policy finds the best of plans that are the same for all payoff parameters."""
        if self.picks_each(publisher):
            return bool(publisher.solver != "lattice-search")
        exact: bool = publisher.search == "exact" and publisher.suppression_limit == 1.0
        return self.improves or (self.picks_node(publisher) and exact)

    def improvement(self, study: Any, constraint: Constraint) -> dict[str, Any]:
        """Return the arguments of `best_release` by which records improve."""
        return {"constraint": constraint}

    def form(self, study: Any) -> Strategies:
        """Return the node that a rule prescribes for each cell, shape (n_cells,)."""
        raise ValueError(f"{self.name} prescribes no release")

    def pick(self, study: Any, game: RecordGame, report: Any) -> Choice:
        """Return the choice in a game in which success probabilities are separate; `report` is called on the way."""
        raise NotImplementedError


class OwnTablesPolicy(OwnPolicy, TablesPolicy):
    """A policy of a user in a scenario about a table."""

    meets_attribute_limits = False
    has_lowest_level = False


POLICIES: Policies[TablesPolicy] = Policies("reidsim.kinds.tables.policies")


def policy_named(name: str) -> TablesPolicy:
    """Return a policy by its name; a name that the package does not have is a user's."""
    return policy_among(POLICIES, OwnTablesPolicy, name, WHERE)


def policies_of_unit(unit: Unit) -> list[str]:
    """Return the policies that cross-play compares for a publisher's unit, in the order of rows."""
    rows = {name: getattr(policy.rows, unit) for name, policy in POLICIES.items()}
    return sorted((name for name, row in rows.items() if row is not None), key=rows.__getitem__)


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]
