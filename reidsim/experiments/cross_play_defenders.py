"""The defenders of a scenario in cross-play: solvers and rules that its game knows, by the names of its policies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reidsim.experiments.full_domain_policies import fixed_strategies
from reidsim.games.defenders.best_reply import BestReply
from reidsim.games.defenders.defender import Defender
from reidsim.games.defenders.fixed import FixedForms, OptIn
from reidsim.games.defenders.k_anonymity import KAnonymity
from reidsim.games.defenders.recoding import LocalRecoding, MultiDimensional
from reidsim.games.defenders.same_form import AnytimeForm, SameForm
from reidsim.games.masking.fixed_policies import PublishedPolicy, fixed_choice
from reidsim.random_streams import random_stream, replication_stream
from reidsim.releases.cell_suppression import k_anonymous_cells
from reidsim.scenarios.build import RecordStudy
from reidsim.scenarios.full_domain import FullDomainStudy
from reidsim.scenarios.given import given_policies
from reidsim.scenarios.masking import MaskingStudy

# Forms that the search with a budget works out where a scenario does not say how many.
FEW_FORMS = 100

_NO_ROUNDS = (
    "defender 'local-recoding' cannot play: under prosecutor risk its records hide among those left for their round, "
    "which other adversaries' linkage does not tell"
)


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


def record_defenders(study: RecordStudy) -> Defenders:
    """Return the defenders of a record-level scenario, by the names of its policies where it has them."""
    lattice, minimum, weights = study.lattice, study.safe_harbor, study.multiplicity
    defenders: list[Defender] = [BestReply(), BestReply("no-attack", no_attack=True)]
    if minimum is not None:
        defenders.append(BestReply("sh-friendly", minimum=minimum))
    defenders += [BestReply("lattice-search", search="greedy"), MultiDimensional(weights=weights)]
    in_rounds = study.scenario.adversary.risk == "journalist"
    if in_rounds:
        defenders.append(LocalRecoding(weights=weights))
    defenders += [SameForm("full-domain", weights=weights), OptIn()]
    if minimum is not None:
        defenders.append(FixedForms("safe-harbor", minimum))
    defenders.append(KAnonymity(study.scenario.publisher.k, weights))
    fixed = {"no-protection": lattice.most_specific, "suppress-all": lattice.size - 1}
    defenders += [*(FixedForms(name, form) for name, form in fixed.items()), _at_random(study, lattice.size)]
    defenders += given_policies(study.loaded.given, study.scenario.publisher.policies)
    return Defenders(defenders, () if in_rounds else (_NO_ROUNDS,))


def dataset_defenders(study: FullDomainStudy) -> Defenders:
    """Return the defenders of a scenario at dataset level, by the names of its policies where it has them."""
    lattice, released, publisher = study.lattice, study.released, study.scenario.publisher
    lowest, limit = lattice.index(study.minimum), publisher.suppression_limit
    everywhere = np.full(lattice.n_records, lowest, dtype=np.int64)

    def same_form(name: str, minimum: int, *, no_attack: bool = False) -> SameForm:
        return SameForm(name, released, suppresses=True, limit=limit, no_attack=no_attack, minimum=minimum)

    defenders: list[Defender] = [same_form("basic", lowest), same_form("no-attack", lowest, no_attack=True)]
    if study.safe_harbor is not None:
        defenders.append(same_form("sh-friendly", lattice.index(study.safe_harbor_minimum)))
    few = publisher.nodes or FEW_FORMS
    defenders.append(AnytimeForm("anytime", released, suppresses=True, limit=limit, minimum=lowest, most_evaluated=few))
    in_rounds = study.scenario.adversary.risk == study.planned_risk == "journalist"
    for suffix, no_attack in (("", False), ("-no-attack", True)):
        if in_rounds:
            name = f"local-recoding{suffix}"
            defenders.append(LocalRecoding(name, released, limit, no_attack, lowest, publisher.rounds))
        defenders.append(MultiDimensional(f"multi-dimensional{suffix}", released, limit, no_attack, lowest))
    defenders += [
        BestReply("record-level", minimum=everywhere, may_withhold=True),
        BestReply("record-level-no-attack", no_attack=True, minimum=everywhere, may_withhold=True),
        OptIn(),
    ]
    rules = ("no-protection", "suppress-all") if study.safe_harbor is None else (
        "safe-harbor", "no-protection", "suppress-all"
    )  # fmt: skip
    defenders += [FixedForms(rule, fixed_strategies(rule, study)) for rule in rules]
    defenders += [KAnonymity(publisher.k, released, limit, lowest), _at_random(study, lattice.size)]
    defenders += given_policies(study.loaded.given, publisher.policies)
    return Defenders(defenders, () if in_rounds else (_NO_ROUNDS,))


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


def _at_random(study: RecordStudy | FullDomainStudy, size: int) -> FixedForms:
    """Return the defender who shares every record in a form drawn at random."""
    forms = random_stream(study.scenario.seed, "cross-play").integers(size, size=study.lattice.n_records)
    return FixedForms("random", forms)
