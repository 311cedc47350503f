"""The defenders of a scenario in cross-play: solvers and rules that its game knows, by the names of its policies."""

from __future__ import annotations

from typing import NamedTuple

from reidsim.games.defenders.best_reply import BestReply
from reidsim.games.defenders.defender import Defender
from reidsim.games.defenders.fixed import FixedForms, OptIn
from reidsim.games.defenders.same_form import SameForm
from reidsim.games.masking.fixed_policies import PublishedPolicy, fixed_choice
from reidsim.kinds.tables.policies import POLICIES, policy_named
from reidsim.kinds.tables.study import TablesStudy
from reidsim.random_streams import replication_stream
from reidsim.releases.cell_suppression import k_anonymous_cells
from reidsim.scenarios.masking import MaskingStudy


class Defenders(NamedTuple):
    """Who decides what is shared.

    Parameters
    ----------
    defenders : list of Defender
    left_out : tuple of str
        Those that cannot play, with the reason.
    """

    defenders: list[Defender]
    left_out: tuple[str, ...]


# The policies of tables in the order of rows, by the publisher's unit.
_OF_RECORDS = (
    "basic", "no-attack", "sh-friendly", "lattice-search", "multi-dimensional", "local-recoding", "full-domain",
    "opt-in", "safe-harbor", "k-anonymity", "no-protection", "suppress-all", "random",
)  # fmt: skip
_OF_TABLES = (
    "basic", "no-attack", "sh-friendly", "anytime", "local-recoding", "multi-dimensional", "local-recoding-no-attack",
    "multi-dimensional-no-attack", "record-level", "record-level-no-attack", "opt-in", "safe-harbor", "no-protection",
    "suppress-all", "k-anonymity", "random",
)  # fmt: skip


def table_defenders(study: TablesStudy) -> Defenders:
    """Return the defenders of a scenario about a table: its kind's policies, and those of the scenario's own."""
    publisher = study.scenario.publisher
    usual = _OF_RECORDS if publisher.unit == "record" else _OF_TABLES
    names = [name for name in usual if study.safe_harbor is not None or not POLICIES[name].needs_safe_harbor]
    names += [name for name in publisher.policies if name not in names]
    return Defenders([policy_named(name).defender(study, 0) for name in names], ())


def subject_defenders(study: MaskingStudy) -> Defenders:
    """Return the defenders of a masking scenario, by the names of its policies where it has them."""
    game, _ = study.games(0)
    section, seed = study.scenario.subjects, study.scenario.seed
    most = section.most_evaluated
    defenders: list[Defender] = [
        BestReply("masking", may_withhold=True),
        BestReply("no-attack-masking", no_attack=True, may_withhold=True),
        BestReply("greedy-masking", may_withhold=True, search="greedy"),
        BestReply("anytime-masking", may_withhold=True, search="anytime", most_evaluated=most),
        SameForm("same-strategy"),
        OptIn(),
    ]
    fixed: tuple[PublishedPolicy, ...] = ("no-protection", "demographics-only", "random-opt-in", "random-masking")
    rates = {"opt_in_rate": section.opt_in_rate, "sharing_rate": section.sharing_rate}
    for policy in fixed:
        chosen = fixed_choice(game, policy, replication_stream(seed, "policies", 0), **rates)
        defenders.append(FixedForms(policy, chosen.strategies))
    if game.n_records >= section.k and not section.always_shared:
        values = game.world.targets.matrix(section.attributes)
        cells = k_anonymous_cells(values, section.k, study.weights(game.world))
        defenders.append(FixedForms("k-anonymity", game.space.masking(cells)))
    return Defenders(defenders, ())
