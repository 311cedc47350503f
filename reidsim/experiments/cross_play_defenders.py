"""The defenders of a scenario in cross-play: solvers and rules that its game knows, by the names of its policies."""

from __future__ import annotations

from typing import NamedTuple

from reidsim.games.defenders.defender import Defender
from reidsim.kinds.masking import policies as masking_policies
from reidsim.kinds.masking.study import MaskingStudy
from reidsim.kinds.tables.policies import POLICIES, policy_named
from reidsim.kinds.tables.study import TablesStudy


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


# The policies of data subjects in the order of rows.
_OF_SUBJECTS = (
    "masking", "no-attack-masking", "greedy-masking", "anytime-masking", "same-strategy", "opt-in", "no-protection",
    "demographics-only", "random-opt-in", "random-masking", "k-anonymity",
)  # fmt: skip


def subject_defenders(study: MaskingStudy) -> Defenders:
    """Return the defenders of a masking scenario in its first draw: its kind's policies, and those of the scenario."""
    section, n = study.scenario.subjects, study.games(0)[0].n_records
    anonymous = n >= section.k and not section.always_shared
    names = [name for name in _OF_SUBJECTS if name != "k-anonymity" or anonymous]
    names += [name for name in section.policies if name not in names]
    return Defenders([masking_policies.policy_named(name).defender(study, 0) for name in names], ())
