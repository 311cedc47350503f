"""Every policy of a publisher of tables: its name, its words, and the defender that follows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, WithJsonSchema

from reidsim.errors import InputError, listed, nearest
from reidsim.scenarios.adversary_schema import names_object
from reidsim.scenarios.given import made_policy
from reidsim.scenarios.kind import Policy
from reidsim.scenarios.parts import installed

if TYPE_CHECKING:
    from reidsim.games.defenders.defender import Defender, Game
    from reidsim.games.record_game import Choice
    from reidsim.kinds.tables.study import TablesStudy

Unit = Literal["record", "table"]
WHERE = "publisher.policies"
# How much of a lattice a policy walks: all of it, what its search leaves, or nothing.
Walk = Literal["always", "search", "never"]


@dataclass(frozen=True)
class TablesPolicy(Policy):
    """A policy of a publisher of tables.

    Parameters
    ----------
    walk : {"always", "search", "never"}
        How much of the lattice it walks where the publisher's unit is the table.
    in_rounds : bool
        Whether records hide among those left for their round, so that outcomes follow from other class sizes.
    others
        See `Policy`.
    """

    walk: Walk = "never"
    in_rounds: bool = False

    def walks(self, unit: Unit) -> Walk:
        """Return how much of the lattice it walks."""
        per_record = unit == "record" and self.name in ("basic", "no-attack", "sh-friendly")
        return "never" if per_record else self.walk


@dataclass(frozen=True, eq=False)
class TablesDefender:
    """Follows a policy of a study in any game on its records.

    Parameters
    ----------
    name : str
    plans : bool
    study : TablesStudy
    """

    name: str
    plans: bool
    study: TablesStudy

    def choose(self, game: Game) -> Choice:
        """Return the generalization of each cell's records; see `Defender`."""
        from reidsim.games.defenders.defender import record_game_of
        from reidsim.kinds.tables.solving import choose

        return choose(self.study, self.name, record_game_of(game))

    def paid_in(self, game: Game, choice: Choice) -> Game:
        """Return the game in which a choice is paid; see `reidsim.games.defenders.defender.paid_in`."""
        from reidsim.games.defenders.defender import record_game_of
        from reidsim.kinds.tables.solving import truth_of

        return truth_of(self.study, self.name, choice, record_game_of(game))


def _defender(name: str, *, plans: bool) -> Callable[[TablesStudy, int], Defender]:
    return lambda study, draw: TablesDefender(name, plans, study)


def _policy(
    name: str,
    label: str,
    words: str,
    *,
    is_rule: bool = False,
    forbids_attacks: bool = False,
    needs_safe_harbor: bool = False,
    by_agents: bool = True,
    walk: Walk = "never",
    in_rounds: bool = False,
) -> TablesPolicy:
    return TablesPolicy(
        name, label, words, _defender(name, plans=not is_rule), is_rule, forbids_attacks, needs_safe_harbor,
        by_agents, walk, in_rounds,
    )  # fmt: skip


POLICIES: dict[str, TablesPolicy] = {
    policy.name: policy
    for policy in (
        _policy(
            "safe-harbor", "Safe Harbor", "the least generalization that the HIPAA Safe Harbor rule accepts",
            is_rule=True, needs_safe_harbor=True,
        ),
        _policy(
            "basic", "Basic game", "the generalization that pays most, of each record or of the table", walk="search"
        ),
        _policy(
            "no-attack", "No-Attack game", "the generalization that pays most of those in which no attack pays",
            forbids_attacks=True, walk="search",
        ),
        _policy(
            "sh-friendly", "SH-Friendly game",
            "the generalization that pays most of those that Safe Harbor accepts, too", needs_safe_harbor=True,
            walk="search",
        ),
        _policy("no-protection", "No protection", "every record as it is", is_rule=True),
        _policy("suppress-all", "Suppress all", "every value suppressed", is_rule=True),
        _policy(
            "record-level", "Record-level", "each record in its best generalization; what pays nothing is suppressed",
            walk="always",
        ),
        _policy(
            "record-level-no-attack", "Record-level No-Attack",
            "each record in its best generalization in which no attack pays; what pays nothing is suppressed",
            forbids_attacks=True, walk="always",
        ),
        _policy(
            "full-domain", "Full-domain",
            "all records in the one generalization that pays most; what pays nothing there is suppressed",
            walk="search",
        ),
        _policy(
            "full-domain-no-attack", "Full-domain No-Attack",
            "all records in the one generalization that pays most if what is attacked is suppressed",
            forbids_attacks=True, walk="search",
        ),
        _policy(
            "local-recoding", "Local recoding",
            "full-domain generalization, then again for the records suppressed, until that pays nothing more",
            by_agents=False, walk="search", in_rounds=True,
        ),
        _policy(
            "local-recoding-no-attack", "Local recoding No-Attack",
            "local recoding that suppresses what is attacked in each round", forbids_attacks=True, by_agents=False,
            walk="search", in_rounds=True,
        ),
        _policy(
            "multi-dimensional", "Multi-dimensional",
            "the domain split into regions, each in the generalization that pays most there", by_agents=False,
            walk="always",
        ),
        _policy(
            "multi-dimensional-no-attack", "Multi-dimensional No-Attack",
            "multi-dimensional recoding that suppresses what is attacked", forbids_attacks=True, by_agents=False,
            walk="always",
        ),
        _policy(
            "lattice-search", "Lattice search", "each record by the greedy search of the lattice (Wan et al. 2015)"
        ),
        _policy("anytime", "Anytime", "all records in the best generalization found within a number of nodes"),
        _policy("opt-in", "Opt-in", "each record as it is if that pays, else not at all"),
        _policy(
            "k-anonymity", "k-anonymity", "the one generalization that keeps most utility with k records in each class",
            is_rule=True,
        ),
        _policy("random", "Random", "each record in a generalization drawn at random", is_rule=True),
    )
}  # fmt: skip


def own_policy(name: str) -> TablesPolicy:
    """Return the policy of a user's module or an installed package, which makes its defender when asked."""

    def defender(study: TablesStudy, draw: int) -> Defender:
        given = study.loaded.given
        part = given[name] if name in given else study.loaded.part("policies", name, WHERE)
        return made_policy(part, name, WHERE)

    return TablesPolicy(name, name, "a policy of one's own", defender, by_agents=False)


def policy_named(name: str) -> TablesPolicy:
    """Return a policy by its name; any that the package does not have is somebody's own, see `own_policy`."""
    return POLICIES[name] if name in POLICIES else own_policy(name)


def _known(name: str) -> str:
    if name in POLICIES or names_object(name):
        return name
    known = (*POLICIES, *installed("policies"))
    if name in known:
        return name
    raise InputError("value not allowed", found=name, expected=f"one of {listed(known, 20)}", hint=nearest(name, known))


PolicyName = Annotated[str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": list(POLICIES)})]
