"""Policies that perturb the values of a table with the best strength of each column.

A strategy has the strengths of a method, one per column (`reidsim.releases.perturbation`). The adversary knows the
method, its strengths and the values of all people. It links each record to the most probable person. Its success
probability is the posterior probability of this person, given the released labels.

For each strategy, a file is drawn with the scenario's seed. Payoffs are computed for the drawn file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.core.errors import InputError
from reidsim.core.numerics import dot
from reidsim.games.composite import TypesGame, parts_of
from reidsim.games.cross_play import Game, record_game_of
from reidsim.games.record_game import (
    WITHHELD,
    Choice,
    FixedLinkage,
    Linker,
    PopulationLinker,
    RecordGame,
    most_within,
)
from reidsim.games.solvers import Progress
from reidsim.kinds.tables.policies import SolvedPolicy, TablesChoice, everywhere
from reidsim.kinds.tables.schema import LINKS_BY_VALUES, ONE_RECORD_PER_PERSON, POLICIES, SEPARATE_RECORDS
from reidsim.linkage.likelihood import Candidates
from reidsim.releases.lattice import Floats, Rows, StrategySpace
from reidsim.releases.perturbation import PerturbationSpace

if TYPE_CHECKING:
    # Avoids a circular import: the study's module imports the schema, whose default publisher reads the registry.
    from reidsim.kinds.tables.study import TablesStudy

# Up to this number of combinations of strengths, such as five strengths of four columns, all are evaluated.
MOST_EVALUATED = 625


@dataclass(frozen=True, eq=False)
class PerturbationLinker:
    """Linker of perturbed records by likelihood.

    True and believed group sizes of the linkage are 1 over the posterior probability of the most probable person.

    Parameters
    ----------
    space : PerturbationSpace
    candidates : Candidates
        Candidates for the person of a record.
    """

    space: PerturbationSpace
    candidates: Candidates

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all records, or of `rows`, perturbed with the strengths `strategy`; see `Linker`."""
        columns = self.space.released_columns(strategy)
        labels = np.column_stack([column.of_record for column in columns])
        match = self.candidates.match(labels, [column.model for column in columns])
        # Without noise, this quotient is the exact number of people.
        sizes = match.total / match.likelihood
        return FixedLinkage(Linkage(sizes, sizes, by_chance=True)).link(strategy, rows)


class PerturbationPolicy(SolvedPolicy):
    """Perturb a table by one method, with the strengths of the columns that have the highest total payoff.

    Records without a positive payoff are suppressed, or under a no-attack policy, records on which an attack pays; at
    most the share ``publisher.suppression_limit``.
    If there are more combinations of strengths than `MOST_EVALUATED`, the search changes the strength of one column at
    a time, until no change increases the payoff. It starts once from each strength, equal for all columns. The choice
    is then not proved optimal.
    """

    by_agents = False
    optimizes = "table"
    has_lowest_level = False
    meets_attribute_limits = False
    compared = False
    needs = frozenset({ONE_RECORD_PER_PERSON, SEPARATE_RECORDS, LINKS_BY_VALUES})

    def space(self, study: TablesStudy) -> PerturbationSpace:
        """Return the strengths of the method on the records of a study."""
        section = study.scenario.perturbation
        strengths = section.group_sizes if self.perturbs == "microaggregate" else section.strengths
        return PerturbationSpace(study.lattice, str(self.perturbs), tuple(sorted({*strengths})), study.scenario.seed)

    def paid_in(self, study: TablesStudy, game: Game, choice: Choice | None = None) -> RecordGame:
        """Return the game over strengths, with the adversaries of `game`, who link by likelihood.

        Raises
        ------
        InputError
            If an adversary of `game` does not link by the quasi-identifiers of all people.
        """
        played, space = record_game_of(game), self.space(study)
        linkers = {id(each.linker): self._by_likelihood(each.linker, space) for each in parts_of(played)}
        if isinstance(played, TypesGame):
            types = [replace(each, linker=linkers[id(each.linker)]) for each in played.types]
            return TypesGame(space, types, played.benefit, played.loss, played.together)
        return replace(played, space=space, linker=linkers[id(played.linker)])

    def _by_likelihood(self, linker: Linker, space: PerturbationSpace) -> PerturbationLinker:
        if not isinstance(linker, PopulationLinker) or linker.population or linker.group_sizes.by_chance:
            problem = f"needs {LINKS_BY_VALUES}, which the adversary's linkage does not provide"
            raise InputError(problem, where=self.name)
        return PerturbationLinker(space, linker.group_sizes.candidates)

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> TablesChoice:
        """Return the `TablesChoice`: the best strategy for all released records, -1 for suppressed records."""
        played = self.planned(study, self.paid_in(study, game))
        most = most_within(study.scenario.publisher.suppression_limit, study.n_subjects)
        payouts: dict[int, float] = {}

        def kept_and_payoff(strategy: int) -> tuple[NDArray[np.bool_], Floats]:
            outcome, tie = played.outcome(strategy), played.tie()
            payoff = outcome.publisher_payoff
            pays = ~outcome.response.invited & (payoff >= -tie) if self.forbids_attacks else payoff > tie
            return pays, payoff

        def payout(strategy: int) -> float:
            if strategy not in payouts:
                kept, payoff = kept_and_payoff(strategy)
                payouts[strategy] = dot(payoff, kept) if np.sum(~kept) <= most else -np.inf
                report(len(payouts), max(played.space.size, len(payouts)))
            return payouts[strategy]

        best, exact = best_strengths(played.space, payout, float(played.tie().sum()))
        found = payout(best) > -np.inf
        kept = kept_and_payoff(best)[0] & found
        return TablesChoice(
            np.where(kept, best, WITHHELD),
            "strengths",
            everywhere(study, len(payouts)),
            exact,
            planned_payout=max(payout(best), 0.0),
            nodes=(best,) if found else (),
            gap=0.0 if exact else np.nan,
        )


def best_strengths(space: StrategySpace, payout: Callable[[int], float], tie: float) -> tuple[int, bool]:
    """Return the strategy with the highest payout (of ties, the first), and whether all were evaluated.

    Parameters
    ----------
    space : StrategySpace
    payout : callable
        Returns the payout of a strategy, given its number, in currency units.
    tie : float
        Payouts that differ by at most this amount are equal.
    """
    exact = space.size <= MOST_EVALUATED
    lines = [(1, space.size)] if exact else list(zip(space.strides, space.shape, strict=True))
    levels = np.minimum(np.arange(1 if exact else max(space.shape))[:, None], np.array(space.shape) - 1)
    best = 0
    for start in space.number(levels).tolist():
        last, current = -1, start
        while last != current:
            last = current
            for stride, size in lines:
                first = current - current // stride % size * stride
                for each in range(first, first + stride * size, stride):
                    current = each if payout(each) > payout(current) + tie else current
        best = current if payout(current) > payout(best) + tie else best
    return best, exact


for _method, _label, _changes in (
    ("pram", "PRAM", "values are kept or drawn anew from the column (post-randomization)"),
    ("swap", "Swapping", "pairs of records exchange values"),
    ("microaggregate", "Microaggregation", "numbers are replaced by the mean of a group of neighbours"),
    ("noise", "Noise", "normal noise is added to numbers"),
):
    _best = "for the table, the strength of each column with the highest total payoff"
    POLICIES.add(_method, PerturbationPolicy, label=_label, description=f"{_best}; {_changes}", perturbs=_method)
    POLICIES.add(
        f"{_method}-no-attack",
        PerturbationPolicy,
        label=f"{_label} No-Attack",
        description=f"{_best} if attacked records are suppressed; {_changes}",
        perturbs=_method,
        forbids_attacks=True,
    )
