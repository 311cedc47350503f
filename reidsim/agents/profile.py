"""What is fixed about a world of agents before its first round: adversary types, prices, rules of the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Adversary
from reidsim.agents.streams import agent_stream
from reidsim.games.memory import Meet, known_of
from reidsim.games.record_game import WITHHELD, Choice, Linker, RecordGame
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace

Mode = Literal["expectation", "sampling"]
Meeting = Literal["one-of", "all"]
Foresight = Literal["holdings", "plans"]
Holdings = frozenset[str]
# How a policy takes what was released before: it replies to it, finding what pays most of each record or otherwise; it
# decides as if nothing were, it changes nothing; or it was all planned before the first round.
Reply = Literal["each-to-past", "to-past", "alone", "hold", "planned"]
# Picks the strategies of a policy in a game.
Solve = Callable[[str, RecordGame], Choice]


class Equipment(NamedTuple):
    """How an adversary links and plans with what it holds."""

    linker: Linker
    adversary: Adversary


class Equip(Protocol):
    """Tells how an adversary links and plans with some resources."""

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        """Return the equipment; None if nothing can be attacked with these resources.

        Parameters
        ----------
        holds : frozenset of str
            Resources held.
        expected_accuracy : float
            Share of what resources say that the adversary takes to be right.
        believed : bool
            As the publisher believes it to be, instead of as it is.
        """
        ...


@dataclass(frozen=True, eq=False)
class AdversaryProfile:
    """What is fixed about one type of adversary.

    Parameters
    ----------
    name : str
    equip : Equip
    weight : float
        Probability that the adversary of a round is of this type, or that this adversary is there in a round.
    gain : float
        Worth of naming the right person, in currency units per record.
    cheapest : float
        Price of the cheapest attack on one record.
    holds : frozenset of str
        Resources held before the first round.
    prices : mapping of str to float
        Of the resources that it may buy.
    budget : float
        What it can spend in a round; infinite without a limit.
    expected_accuracy : float
        Share of what its resources say that it takes to be right before the first round.
    accuracy : float
        That share in truth.
    learns : bool
        Whether it learns that share from its successes; then the expected one is below 1.
    experience : float
        Number of attempts that its expectation counts as.
    expected_fine : float
        Expected fine per exploit that its plans account for.
    access_outlay, exploit_outlay : float, optional
        What an attack and each exploit cost. If not given, all that a payoff is below the expected gain is cost.
    single_exploit : bool
        Whether an attack is exactly one exploit.
    draws_targets : bool
        Whether it attacks a random sample of the records that pay where its budget does not cover all, drawn anew in
        each round; otherwise those of the highest expected payoff per unit of money.
    believed : AdversaryProfile, optional
        What the publisher takes the profile to be, if that is another.
    lists : callable, optional
        Returns the resources through which it re-identifies somebody, given what it holds and the stages that infer
        something (as `Replies.used`); all that it holds, if not given.
    """

    name: str
    equip: Equip
    weight: float
    gain: float
    cheapest: float
    holds: Holdings = frozenset()
    prices: Mapping[str, float] = field(default_factory=dict)
    budget: float = np.inf
    expected_accuracy: float = 1.0
    accuracy: float = 1.0
    learns: bool = False
    experience: float = 10.0
    expected_fine: float = 0.0
    access_outlay: float | None = None
    exploit_outlay: float = 0.0
    single_exploit: bool = True
    draws_targets: bool = False
    believed: AdversaryProfile | None = None
    lists: Callable[[Holdings, int], tuple[str, ...]] | None = None

    def through(self, holds: Holdings, used: int) -> str:
        """Return in words the resources through which it re-identifies somebody; empty where it needs none."""
        names = tuple(sorted(holds)) if self.lists is None else self.lists(holds, used)
        return " and ".join(names)

    @property
    def can_attack(self) -> bool:
        """Whether the budget allows one attack."""
        return self.budget >= self.cheapest


@dataclass(frozen=True)
class Enforcement:
    """What the environment does about exploits.

    Parameters
    ----------
    detection : float
        Probability that an exploit is detected.
    fine : float
        Paid by the adversary for each exploit detected, in currency units.
    exclusion : int
        Rounds for which a contract excludes an adversary of whom an exploit was detected.
    """

    detection: float = 0.0
    fine: float = 0.0
    exclusion: int = 0


@dataclass(frozen=True)
class Learning:
    """How the publisher learns which types it faces.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_types,) or (n_types, 2)
        Number of observed attackers of each type that the belief before the first round counts as; where any number
        of adversaries may come, number of rounds with and without each.
    noticed : float
        Probability that the publisher notices an attack on a record.
    """

    prior: Floats
    noticed: float = 1.0


@dataclass(frozen=True)
class ParticipationRule:
    """When data subjects take part.

    Parameters
    ----------
    reward : float
        What taking part in a round is worth to a subject, in currency units.
    harm : float
        Mean harm of a breach to a subject.
    spread : float
        Standard deviation of the logarithm of harm among subjects.
    expected_risk : float
        Probability of a breach that subjects expect before the first round.
    learning_rate : float
        Weight of the latest round in what they expect.
    hears : float
        Probability that a subject hears of the breaches of a round.
    """

    reward: float
    harm: float
    spread: float = 1.0
    expected_risk: float = 0.0
    learning_rate: float = 0.2
    hears: float = 1.0


@dataclass(frozen=True, eq=False)
class Known:
    """What adversaries who remember know of the rows of a round before it; see `reidsim.agents.memory`.

    Parameters
    ----------
    cells : ndarray of int, shape (n_rows,)
        The distinct record that each row is of.
    past : ndarray of int64, shape (n_rows,)
        What was released before is as much as this strategy; -1 where nothing was.
    gone : ndarray of int64, shape (n_rows,)
        Subjects of rows of whom something is out, and who do not take part; a row is of such or of others.
    meet : callable
        Returns the strategies that tell as much as two together.
    alone : Setting
        The world of the round on cells, as if nothing were out.
    planned : ndarray of int64, shape (n_rows,), optional
        What was planned for the round.
    """

    cells: Rows
    past: Strategies
    gone: NDArray[np.int64]
    meet: Meet
    alone: Setting
    planned: Strategies | None = None


class PlannedReleases(NamedTuple):
    """Releases of a policy that plans all rounds before the first.

    Attributes
    ----------
    strategies : ndarray of int64, shape (rounds, n_subjects)
        -1 where nothing is released.
    counterfeits : ndarray of int64, shape (n_counterfeits, 3)
        The round of each counterfeit record, from 0; a subject whose generalization it has; and one whose sensitive
        value it has.
    """

    strategies: Strategies
    counterfeits: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Setting:
    """Everything fixed about a world of agents.

    Records that are alike share a cell: strategies and replies are computed per cell, subjects count in cells.

    Parameters
    ----------
    space : StrategySpace
        The forms in which the records of cells can be shared.
    cell_of_subject : ndarray of int, shape (n_subjects,)
    benefit, loss : ndarray of float64, shape (n_cells,)
        The publisher's, in currency units per record.
    believed_loss : ndarray of float64, shape (n_cells,)
        The loss that the publisher plans with.
    profiles : tuple of AdversaryProfile
    solve : callable
        Picks the strategies of a policy in the game that the publisher believes in.
    is_fixed : callable
        Tells whether a policy is a rule that does not depend on adversaries.
    forbids_attacks : callable
        Tells whether a policy releases only what is never attacked.
    meeting : {"one-of", "all"}
        Whether one adversary is there in a round, of a type drawn by weights, or every one with its own probability.
    rounds : int
    mode : {"expectation", "sampling"}
    enforcement : Enforcement
    learning : Learning, optional
        The publisher knows the weights, if not given.
    participation : ParticipationRule, optional
        Everybody takes part, if not given.
    foresees : {"holdings", "plans"}
        Whether the publisher expects what adversaries hold, or what they will buy and can pay for, too.
    tolerance : float
        The publisher keeps its choice while nothing that it believes of an adversary has moved by more than this.
    among : callable, optional
        Returns the world as it is if only some take part, of each cell (n_cells,), where that changes linkage or the
        publisher's choice: profiles in the same order, and `solve`. Not given where who stays away changes neither.
    remembers : bool
        Whether adversaries keep what they saw in the rounds before.
    meet : callable, optional
        Returns the strategies that tell as much as two together. Not given where strategies do not tell.
    split : callable, optional
        Returns the space of strategies, and `solve`, of other rows than cells, given the cell of each and how many
        subjects of it take part. Not given where each subject has a cell of its own.
    profiles_among : callable, optional
        Returns the profiles if people hide among some subjects only, so many of each cell. Not given where it does
        not matter who takes part.
    reply_of : callable
        Tells how a policy takes what was released before, where adversaries remember it.
    schedule : ndarray of bool, shape (rounds, n_subjects), optional
        Who takes part in each round, where that is given.
    planned : callable, optional
        Returns the releases of a policy that plans all rounds before the first.
    waves : tuple of str
        Names of the rounds, where they have some.
    knows_truth : bool
        Whether the publisher plans with the true payoff parameters, risks and lists instead of the believed ones.
    expected_purchases : mapping of str to frozenset of str
        Resources that the publisher expects an adversary to hold besides those it holds when a round begins.
    known : Known, optional
        What is out about the rows, which then take the place of cells.
    seed, replication : int
        Root of all draws, and which of several runs of all rounds this is.
    """

    space: StrategySpace
    cell_of_subject: NDArray[np.intp]
    benefit: Floats
    loss: Floats
    believed_loss: Floats
    profiles: tuple[AdversaryProfile, ...]
    solve: Solve
    is_fixed: Callable[[str], bool]
    forbids_attacks: Callable[[str], bool]
    meeting: Meeting = "one-of"
    rounds: int = 1
    mode: Mode = "expectation"
    enforcement: Enforcement = Enforcement()
    learning: Learning | None = None
    participation: ParticipationRule | None = None
    foresees: Foresight = "holdings"
    tolerance: float = 1e-3
    among: Callable[[Setting, NDArray[np.int64]], Setting] | None = None
    remembers: bool = False
    meet: Meet | None = None
    split: Callable[[Rows, NDArray[np.int64]], tuple[StrategySpace, Solve]] | None = None
    profiles_among: Callable[[NDArray[np.int64]], tuple[AdversaryProfile, ...]] | None = None
    reply_of: Callable[[str], Reply] = lambda policy: "to-past"
    schedule: NDArray[np.bool_] | None = None
    planned: Callable[[str], PlannedReleases] | None = None
    waves: tuple[str, ...] = ()
    knows_truth: bool = False
    expected_purchases: Mapping[str, Holdings] = field(default_factory=dict)
    known: Known | None = None
    seed: int = 0
    replication: int = 0

    def stream(self, decision: str, agent: str = "", round_number: int = 0) -> np.random.Generator:
        """Return the generator of a decision of an agent in a round; see `agent_stream`."""
        return agent_stream(self.seed, decision, agent, replication=self.replication, round_number=round_number)

    @property
    def n_subjects(self) -> int:
        """Number of data subjects."""
        return len(self.cell_of_subject)

    @property
    def n_cells(self) -> int:
        """Number of distinct records."""
        return self.space.n_records

    def released(self, strategies: Strategies) -> Strategies:
        """Return the strategies of a round, -1 for the records of subjects who left, shape (n_cells,)."""
        return strategies if self.known is None else np.where(self.known.gone > 0, WITHHELD, strategies)

    def seen(self, strategies: Strategies) -> Strategies:
        """Return what is known of each cell's records once they are shared as `strategies`, shape (n_cells,).

        That is as much as one strategy: of records shared before and now, of what both tell.
        """
        known = self.known
        return strategies if known is None else known_of(self.released(strategies), known.past, known.meet)

    def exposed(self, participants: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records of each cell are out, of so many who take part; with those who left, (n_cells,)."""
        return participants if self.known is None else participants + self.known.gone
