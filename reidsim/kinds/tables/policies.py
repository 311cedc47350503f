"""Every policy of a publisher of tables: its name, its words, and the defender that follows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from reidsim.random_streams import random_stream
from reidsim.scenarios.given import policy_among
from reidsim.scenarios.part_names import PartName
from reidsim.scenarios.policy import ANONYMITY_PATTERN, K_ANONYMITY, Policies, Policy

if TYPE_CHECKING:
    from reidsim.agents.profile import Reply
    from reidsim.games.defenders.defender import Defender
    from reidsim.kinds.tables.study import TablesStudy
    from reidsim.releases.strategy_space import Strategies

Unit = Literal["record", "table"]
WHERE = "publisher.policies"
# How much of a lattice a policy walks: all of it, what its search leaves, or nothing.
Walk = Literal["always", "search", "never"]
# How generalizations are picked: the best of each of the publisher's units, or one of the ways that have a name.
Way = Literal[
    "unit",
    "node",
    "record-level",
    "rounds",
    "splits",
    "anytime",
    "lattice-search",
    "opt-in",
    "k-anonymity",
    "form",
    "m-invariance",
]

# Local recoding counts groups among the records left for a round, and m-invariance among those of a wave.
_WITHOUT_LIMITS: tuple[Way, ...] = ("rounds", "lattice-search", "m-invariance")


@dataclass(frozen=True)
class TablesPolicy(Policy):
    """A policy of a publisher of tables.

    The other parameters are those of `Policy`.

    Parameters
    ----------
    walk : {"always", "search", "never"}
        How much of the lattice it walks where the publisher's unit is the table.
    way : str
        How it picks generalizations; ``"form"``, if it prescribes them.
    replies : {"to-past", "alone", "hold", "planned"}
        How it takes what was released before; see `reidsim.agents.profile.Reply`.
    form : callable, optional
        Of a study: the node that it prescribes for each cell, shape (n_cells,).
    """

    walk: Walk = "never"
    way: Way = "form"
    replies: Reply = "to-past"
    form: Callable[[TablesStudy], Strategies] | None = None

    @property
    def in_rounds(self) -> bool:
        """Whether records hide among those left for their round, so that outcomes follow from other class sizes."""
        return self.way == "rounds"

    @property
    def within_safe_harbor(self) -> bool:
        """Whether it picks the best of what Safe Harbor accepts."""
        return self.needs_safe_harbor and not self.is_rule

    @property
    def is_constrained(self) -> bool:
        """Whether it picks the best of some generalizations of each of the publisher's units only."""
        return self.way == "unit" and (self.forbids_attacks or self.within_safe_harbor)

    @property
    def meets_attribute_limits(self) -> bool:
        """Whether limits on sensitive attributes can be set beside it.

        Rules that prescribe generalizations are a reference and need not keep to them; policies of one's own cannot.
        """
        return self.way not in _WITHOUT_LIMITS and (self.way != "form" or self.form is not None)

    @property
    def thins(self) -> bool:
        """Whether strategies that never win can be left out once and for all amounts: of single records, and rules."""
        return self.way == "unit" or self.form is not None

    def walks(self, unit: Unit) -> Walk:
        """Return how much of the lattice it walks."""
        return "never" if unit == "record" and self.way == "unit" else self.walk


def _defender(name: str, *, plans: bool) -> Callable[[TablesStudy, int], Defender]:
    def defender(study: TablesStudy, draw: int) -> Defender:
        from reidsim.kinds.tables.solving import TablesDefender

        return TablesDefender(name, plans, study)

    return defender


def _policy(name: str, label: str, words: str, *, is_rule: bool = False, **more: Any) -> TablesPolicy:
    return TablesPolicy(name, label, words, _defender(name, plans=not is_rule), is_rule, **more)


def _everywhere(study: TablesStudy, node: int) -> Strategies:
    return np.full(study.space.n_records, node, dtype=np.int64)


def _at_random(study: TablesStudy) -> Strategies:
    return random_stream(study.scenario.seed, "cross-play").integers(study.lattice.size, size=study.space.n_records)


POLICIES: Policies[TablesPolicy] = Policies(
    (
        _policy(
            "safe-harbor", "Safe Harbor", "the least generalization that HIPAA Safe Harbor accepts",
            is_rule=True, needs_safe_harbor=True, form=lambda study: study.safe_harbor_strategies,
        ),
        _policy(
            "basic", "Basic game", "for each record or the table, the generalization that pays most, attacked or not",
            walk="search", way="unit",
        ),
        _policy(
            "no-attack", "No-Attack game", "the generalization that pays most among those that are not attacked",
            forbids_attacks=True, walk="search", way="unit",
        ),
        _policy(
            "sh-friendly", "SH-Friendly game",
            "the generalization that pays most among those that Safe Harbor accepts", needs_safe_harbor=True,
            walk="search", way="unit",
        ),
        _policy(
            "no-protection", "No protection", "every record unchanged", is_rule=True,
            form=lambda study: _everywhere(study, study.lattice.most_specific),
        ),
        _policy(
            "suppress-all", "Suppress all", "every value suppressed", is_rule=True,
            form=lambda study: _everywhere(study, study.lattice.size - 1),
        ),
        _policy(
            "record-level", "Record-level",
            "each record in its best generalization; records that pay nothing are suppressed",
            walk="always", way="record-level",
        ),
        _policy(
            "record-level-no-attack", "Record-level No-Attack",
            "each record in its best generalization without an attack; records that pay nothing are suppressed",
            forbids_attacks=True, walk="always", way="record-level",
        ),
        _policy(
            "full-domain", "Full-domain",
            "all records in the one generalization that pays most; records that pay nothing are suppressed",
            walk="search", way="node",
        ),
        _policy(
            "full-domain-no-attack", "Full-domain No-Attack",
            "all records in the one generalization that pays most with attacked records suppressed",
            forbids_attacks=True, walk="search", way="node",
        ),
        _policy(
            "local-recoding", "Local recoding",
            "full-domain generalization, repeated for the suppressed records until that pays nothing more",
            by_agents=False, walk="search", way="rounds",
        ),
        _policy(
            "local-recoding-no-attack", "Local recoding No-Attack",
            "local recoding that suppresses attacked records in each round", forbids_attacks=True, by_agents=False,
            walk="search", way="rounds",
        ),
        _policy(
            "multi-dimensional", "Multi-dimensional",
            "the domain split into regions, each in the generalization that pays most there", by_agents=False,
            walk="always", way="splits",
        ),
        _policy(
            "multi-dimensional-no-attack", "Multi-dimensional No-Attack",
            "multi-dimensional recoding that suppresses attacked records", forbids_attacks=True, by_agents=False,
            walk="always", way="splits",
        ),
        _policy(
            "lattice-search", "Lattice search", "each record by the greedy search of the lattice (Wan et al. 2015)",
            way="lattice-search",
        ),
        _policy(
            "anytime", "Anytime", "all records in the best generalization found within a number of nodes",
            way="anytime",
        ),
        _policy("opt-in", "Opt-in game", "each record unchanged if that pays, else withheld", way="opt-in"),
        _policy(
            K_ANONYMITY, "k-anonymity", "the one generalization that keeps most utility with k records in each class",
            is_rule=True, way="k-anonymity",
        ),
        _policy(
            "independent", "Independent replies", "with several releases, the generalization that pays most if "
            "each were the only one", walk="search", way="unit", replies="alone",
        ),
        _policy(
            "hold-first", "First release held", "with several releases, the generalization that pays most when a "
            "record is first released, kept ever after", walk="search", way="unit", replies="hold",
        ),
        _policy(
            "m-invariance", "m-invariance", "with several releases, groups of m or more sensitive values that stay "
            "the same around each record (Xiao and Tao 2007)", is_rule=True, way="m-invariance", replies="planned",
        ),
        _policy("random", "Random", "each record in a generalization drawn at random", is_rule=True, form=_at_random),
    ),
    lambda name: _defender(name, plans=False),
)  # fmt: skip

# The policies in the order of rows of cross-play, by the publisher's unit.
OF_RECORDS = (
    "basic", "no-attack", "sh-friendly", "lattice-search", "multi-dimensional", "local-recoding", "full-domain",
    "opt-in", "safe-harbor", "k-anonymity", "no-protection", "suppress-all", "random",
)  # fmt: skip
OF_TABLES = (
    "basic", "no-attack", "sh-friendly", "anytime", "local-recoding", "multi-dimensional", "local-recoding-no-attack",
    "multi-dimensional-no-attack", "record-level", "record-level-no-attack", "opt-in", "safe-harbor", "no-protection",
    "suppress-all", "k-anonymity", "random",
)  # fmt: skip


def policy_named(name: str) -> TablesPolicy:
    """Return a policy by its name; any that the package does not have is somebody's own."""
    return policy_among(POLICIES, TablesPolicy, name, WHERE)


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]
