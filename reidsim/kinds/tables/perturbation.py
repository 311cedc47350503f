"""Policies that perturb the values of a table with the best strength of each column.

A strategy has the strengths of a method, one per column (`reidsim.releases.perturbation`). The adversary knows the
method, its strengths and the values of all people. It links each record to the most probable person, or each person to
the most probable record. Its success probability is the posterior probability of this link, given the released labels;
see `reidsim.linkage.likelihood`.

For each strategy, a file is drawn with the scenario's seed. Payoffs are computed for the drawn file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.core.errors import InputError
from reidsim.core.numerics import dot
from reidsim.games.composite import PeopleLinker, TypesGame, parts_of
from reidsim.games.cross_play import Game, record_game_of
from reidsim.games.directions.best_replies import DirectedLinker
from reidsim.games.record_game import (
    WITHHELD,
    Choice,
    FixedLinkage,
    Linker,
    PopulationLinker,
    RecordGame,
    most_within,
)
from reidsim.games.solvers import Progress, no_progress
from reidsim.kinds.tables.policies import SolvedPolicy, TablesChoice, everywhere
from reidsim.kinds.tables.schema import LINKS_BY_VALUES, POLICIES
from reidsim.linkage.likelihood import Candidates, match_rows
from reidsim.linkage.people import RowSets
from reidsim.populations.population import distinct_rows
from reidsim.releases.lattice import Floats, Rows, Strategies, StrategySpace
from reidsim.releases.perturbation import PerturbationSpace
from reidsim.scenarios.adversary_schema import Direction

if TYPE_CHECKING:
    # Avoids a circular import: the study's module imports the schema, whose default publisher reads the registry.
    from reidsim.kinds.tables.study import TablesStudy

# Up to this number of combinations of strengths, such as five strengths of four columns, all are evaluated.
MOST_EVALUATED = 625


class PerturbationLinker:
    """Linker of perturbed records by likelihood.

    True and believed group sizes of the linkage are 1 over the posterior probability of the most probable link.

    Parameters
    ----------
    space : PerturbationSpace
    row_sets : RowSets
        Records of each game row. The adversary attacks the record with the highest posterior probability.
    candidates : Candidates
        Candidates for the person of a record.
    direction : {"record", "person", "both"}
        Whether the adversary searches for the person of a record, for the record of a person, or uses the direction
        with the higher posterior probability.
    """

    def __init__(
        self, space: PerturbationSpace, row_sets: RowSets, candidates: Candidates, direction: Direction
    ) -> None:
        self._space, self._row_sets, self._candidates, self._direction = space, row_sets, candidates, direction

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all records, or of `rows`, if all are released with `strategy`; see `Linker`."""
        return self.with_strategies(np.full(self._space.n_records, strategy)).link(strategy, rows)

    def with_strategies(self, strategies: Strategies) -> FixedLinkage:
        """Return the linker of a release; all game rows that are not withheld have the same strategy."""
        released = np.flatnonzero(strategies != WITHHELD)
        entries, start = self._row_sets.entries_of(released)
        records = self._row_sets.cells[entries]
        columns = self._space.released_columns(int(strategies.max(initial=0)))
        labels = np.column_stack([each.of_record for each in columns]).astype(np.int32)[records]
        models = [each.model for each in columns]
        match = self._candidates.match(labels, models)
        sizes = match.size
        if self._direction != "record":
            values = self._space.lattice.codes[records]
            of_values = distinct_rows([np.repeat(released, np.diff(start)), *values.T], len(records))[1]
            by_person = match_rows(values, labels, models, match.total, of_values).size
            sizes = by_person if self._direction == "person" else np.minimum(sizes, by_person)
        sizes = np.minimum.reduceat(sizes, start[:-1])
        return FixedLinkage(Linkage(sizes, sizes, by_chance=True), released)

    def weighted(self, strategies: Strategies) -> Floats:
        """Return the group sizes of a release, 1 for withheld records; see `DirectedLinker.weighted`.

        The posterior probability already takes into account how many people each record fits.
        """
        sizes = np.ones(len(strategies))
        sizes[strategies != WITHHELD] = self.with_strategies(strategies).linkage.group_sizes
        return sizes


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
    needs = frozenset({LINKS_BY_VALUES})

    def space(self, study: TablesStudy) -> PerturbationSpace:
        """Return the strengths of the method on the records of a study."""
        section = study.scenario.perturbation
        strengths = section.group_sizes if self.perturbs == "microaggregate" else section.strengths
        return PerturbationSpace(study.space, str(self.perturbs), tuple(sorted({*strengths})), study.scenario.seed)

    def paid_in(self, study: TablesStudy, game: Game, choice: Choice | None = None) -> RecordGame:
        """Return the game over strengths, with the adversaries of `game`, who link by likelihood.

        Raises
        ------
        InputError
            If an adversary of `game` does not link by the quasi-identifiers of all people.
        """
        played, space = record_game_of(game), self.space(study)
        linkers = {id(each.linker): self._by_likelihood(study, each.linker, space) for each in parts_of(played)}
        if isinstance(played, TypesGame):
            types = [replace(each, linker=linkers[id(each.linker)]) for each in played.types]
            return TypesGame(space, types, played.benefit, played.loss, played.together)
        return replace(played, space=space, linker=linkers[id(played.linker)])

    def _by_likelihood(self, study: TablesStudy, linker: Linker, space: PerturbationSpace) -> PerturbationLinker:
        direction: Direction = linker.direction if isinstance(linker, DirectedLinker) else "record"
        everybody = linker.by_record if isinstance(linker, DirectedLinker) else linker
        everybody = everybody.linker if isinstance(everybody, PeopleLinker) else everybody
        if not isinstance(everybody, PopulationLinker) or everybody.population or everybody.group_sizes.by_chance:
            problem = f"needs {LINKS_BY_VALUES}, which the adversary's linkage does not provide"
            raise InputError(problem, where=self.name)
        return PerturbationLinker(space, study.row_sets, everybody.group_sizes.candidates, direction)

    def choose(self, study: TablesStudy, game: Game, draw: int, report: Progress = no_progress) -> Choice:
        """Return the choice in the game over strengths; see `SolvedPolicy.choose`."""
        return super().choose(study, self.paid_in(study, game), draw, report)

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> TablesChoice:
        """Return the `TablesChoice`: the best strategy for all released records, -1 for suppressed records."""
        played = self.planned(study, game)
        most = most_within(study.scenario.publisher.suppression_limit, study.n_subjects)
        payouts: dict[int, float] = {}

        def kept_and_payoff(strategy: int) -> tuple[NDArray[np.bool_], Floats]:
            kept = np.ones(study.n_subjects, dtype=np.bool_)
            payoff = np.zeros(study.n_subjects)
            # A record without which the others are easier to find may have been withheld.
            while kept.any() and np.sum(~kept) <= most:
                rows = np.flatnonzero(kept)
                outcome = played.with_strategies(np.where(kept, strategy, WITHHELD)).outcome(strategy, rows)
                payoff[rows] = outcome.publisher_payoff
                tie = played.tie(rows)
                pays = (
                    ~outcome.response.invited & (payoff[rows] >= -tie) if self.forbids_attacks else payoff[rows] > tie
                )
                if pays.all():
                    break
                kept[rows[~pays]] = False
            return kept, payoff

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
    ("swap", "Swap", "pairs of records exchange values"),
    ("microaggregate", "Microaggregate", "numbers are replaced by the mean of a group of neighbours"),
    ("noise", "Noise", "normal noise is added to numbers"),
):
    _best = "for the table, the strength of each column with the highest total payoff"
    POLICIES.add(_method, PerturbationPolicy, label=_label, description=f"{_best}; {_changes}", perturbs=_method)
    POLICIES.add(
        f"{_method}-no-attack",
        PerturbationPolicy,
        label=f"{_label} no-attack",
        description=f"{_best} if attacked records are suppressed; {_changes}",
        perturbs=_method,
        forbids_attacks=True,
    )
