"""Knowledge sources as groups of attributes (Xia et al. 2021), and knowledge sets.

The groups of a source are disjoint. Each group is known with a probability. A knowledge set is a set of attributes that
an adversary may know about a person.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import fsum, prod
from typing import Literal, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError, require_distinct
from reidsim.linkage.equivalence import (
    Elements,
    Holders,
    Split,
    count_matches,
    keep_groups,
    split_groups,
    whole,
)
from reidsim.populations.population import distinct_rows

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]
Progress = Callable[[int, int], None]
RiskName = Literal["prosecutor", "journalist", "marketer"]


@dataclass(frozen=True)
class Network:
    """Capabilities of the adversary, each a probability (Xia et al. 2021, Table 1).

    Parameters
    ----------
    p_m : float
        Probability that the person's membership in the data is disclosed.
    p_fm : float
        Probability that the adversary finds a disclosed membership.
    p_cu : float
        Probability that the adversary can confirm that a person is unique in the population.
    p_c : float
        Probability that the adversary can confirm that a record chosen at random is the person's.
    """

    p_m: float
    p_fm: float
    p_cu: float
    p_c: float

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """Weights of prosecutor, journalist and marketer risk in the overall probability.

        Given the known values, let a be the group size, u = [a = 1], and b the probability of being unique in the
        population. The routes are independent, so the person is re-identified with probability
        ``1 - (1 - u p_m p_fm) (1 - u b p_cu) (1 - p_c / a)``. This is ``p_c / a`` for a > 1, and ``1 - A + A b p_cu``
        with ``A = (1 - p_m p_fm) (1 - p_c)`` for a = 1. It is therefore linear in u, u b and 1 / a, and its expectation
        depends only on the three risks.
        """
        missed = (1 - self.p_m * self.p_fm) * (1 - self.p_c)
        return 1 - missed - self.p_c, missed * self.p_cu, self.p_c

    def overall(self, prosecutor: Floats, journalist: Floats, marketer: Floats) -> Floats:
        """Return the overall probability of re-identification, given the three risks.

        It is their sum weighted with `coefficients`, cut off at 0 and 1. All arrays have equal shape.
        """
        p, j, m = self.coefficients
        return np.clip(p * prosecutor + j * journalist + m * marketer, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class SetTotals:
    """Sums over persons of the quantity behind each risk, by kind and knowledge set.

    Given a knowledge set, the quantities of a person are: 1 if only the person's own record matches, else 0
    (prosecutor); the same times the probability that a sample unique is a population unique (journalist); and one over
    the number of matching records (marketer).

    Parameters
    ----------
    prosecutor, journalist, marketer : ndarray of float64, shape (n_kinds, n_sets)
        Sum over the persons of a kind, given that the adversary knows the set; defined for the possible sets of the
        kind only.
    """

    prosecutor: Floats
    journalist: Floats
    marketer: Floats


@dataclass(frozen=True)
class Risks:
    """Risks of each person (Xia et al. 2021); arrays of shape (n_persons,) in [0, 1].

    Parameters
    ----------
    prosecutor : ndarray of float64
        Probability that only the person's own record matches the known values.
    journalist : ndarray of float64
        Probability that, in addition, no other person in the population has the known values.
    marketer : ndarray of float64
        Expectation of 1 / number of matching records.
    journalist_square, marketer_square : ndarray of float64
        Expectations over the knowledge sets of the squares of the quantities behind the two risks; see `SetTotals`.
    journalist_low, journalist_high : ndarray of float64
        Interval of `journalist`: its values if every probability that a sample unique is a population unique is at the
        lower or upper end of its interval; equal to `journalist` without intervals.
    trials : int, optional
        Number of knowledge sets drawn; None if the expectation is exact.
    totals : SetTotals, optional
        Sums by knowledge set, if sets are drawn.
    """

    prosecutor: Floats
    journalist: Floats
    marketer: Floats
    journalist_square: Floats
    marketer_square: Floats
    journalist_low: Floats
    journalist_high: Floats
    trials: int | None = None
    totals: SetTotals | None = None

    @property
    def method(self) -> Literal["exact", "monte-carlo"]:
        """Method of the risks: "exact", or "monte-carlo" if knowledge sets were drawn."""
        return "exact" if self.trials is None else "monte-carlo"

    def overall(self, network: Network) -> Floats:
        """Return each person's overall probability of re-identification, (n_persons,).

        `network` has the probabilities of the adversary's capabilities; see `Network`.
        """
        return network.overall(self.prosecutor, self.journalist, self.marketer)

    def standard_error(self, risk: RiskName | Network) -> Floats:
        """Return the standard error of each person's risk; 0 if exact.

        Parameters
        ----------
        risk : {"prosecutor", "journalist", "marketer"} or Network
            A network selects the overall probability of re-identification through the network.

        Returns
        -------
        ndarray of float64, shape (n_persons,)
        """
        if self.trials is None:
            return np.zeros(len(self.prosecutor))
        if isinstance(risk, Network):
            mean = self.overall(risk)
            p, j, m = risk.coefficients
            square = (
                (p + m) ** 2 * self.prosecutor
                + 2 * (p + m) * j * self.journalist
                + j**2 * self.journalist_square
                + m**2 * (self.marketer_square - self.prosecutor)
            )
        else:
            # The quantity behind prosecutor risk is 0 or 1, so its square is itself.
            mean = getattr(self, risk)
            square = mean if risk == "prosecutor" else getattr(self, f"{risk}_square")
        return np.sqrt(np.maximum(square - mean**2, 0.0) / max(self.trials - 1, 1))


def risks_of(
    elements: Elements,
    kinds: NDArray[np.integer],
    sets: KnowledgeSets,
    unique: Floats,
    *,
    loads: Integers | None = None,
    progress: Progress | None = None,
) -> Risks:
    """Compute the expected risks of persons over their knowledge sets.

    Parameters
    ----------
    elements : Elements
        The persons and the released records.
    kinds : ndarray of int, shape (n_persons,)
        Kind of each person: its row of ``sets.probability``.
    sets : KnowledgeSets
        Knowledge sets over the attributes of `elements`.
    unique : ndarray of float64, shape (n_sets,) or (3, n_sets)
        Probability that a sample unique is a population unique, by knowledge set; with three rows, also the ends of
        its interval.
    loads : ndarray of int64, shape (n_persons,), optional
        Number of persons that each one represents in totals. Default: 1.
    progress : callable, optional
        Called with the number of sets done and their total number.

    Returns
    -------
    Risks

    Raises
    ------
    InputError
        If a person matches no record.
    """
    chances = np.atleast_2d(np.asarray(unique, dtype=np.float64))
    n, low, high = elements.n_persons, *((0, 0) if len(chances) == 1 else (1, 2))
    parts = _parts(elements, sets.sets)
    place = {attribute: number for number, part in enumerate(parts) for attribute in part}
    paths = [tuple(sorted({place[attribute] for attribute in known})) for known in sets.sets]
    # The sets of a subtree are adjacent, so a difference of cumulative sums is the sum over a subtree.
    order = sorted(range(sets.n_sets), key=paths.__getitem__)
    p, b = sets.probability[:, order], chances[:, order]
    weights = np.stack([p, p * b[0], p * b[low], p * b[high], p * b[0] ** 2])
    n_kinds = 0 if sets.drawn is None else len(p)
    sums = _Sums(
        kinds=np.ascontiguousarray(kinds, dtype=np.int64),
        loads=np.ones(n) if loads is None else loads.astype(np.float64),
        wanted=np.zeros(n, dtype=np.bool_),
        matches=np.zeros(n, dtype=np.int64),
        of_persons=np.zeros((7, n)),
        steps=np.zeros((n_kinds, sets.n_sets + 1)),
        shares=np.zeros((n_kinds, sets.n_sets)),
    )
    below = np.concatenate([np.zeros((*weights.shape[:2], 1)), np.cumsum(weights, axis=2)], axis=2)
    joined = [_joined(elements, part) for part in parts]
    # Values of each part, and a work array of zeros.
    columns = [(column, np.zeros(int(column.max(initial=0)) + 1, dtype=np.int64)) for column in joined]
    ordered = [paths[number] for number in order]

    def visit(split: Split, first: int, last: int, depth: int) -> None:
        """Add a subtree of knowledge sets to the sums.

        It has the sets from `first` to `last` (exclusive) in the order of the tree, which share their first `depth`
        parts (groups of attributes). `split` has the elements in groups that agree on these parts.
        """
        ends_here = len(ordered[first]) == depth
        weight_below = np.ascontiguousarray(below[:, :, last] - below[:, :, first])
        weight_here = np.ascontiguousarray(p[:, first]) if ends_here else np.zeros(len(p))
        counted = (elements.asks, elements.records, elements.holders)
        persons, met = _add_up(split, *counted, weight_here, weight_below, sums, first, last)
        if not met:
            expected = "the record of each person among the released records"
            raise InputError("no released record matches a person", expected=expected)
        if progress is not None and ends_here:
            progress(first + 1, len(ordered))
        if first + ends_here == last or not len(persons):
            return
        sums.wanted[persons] = True
        kept, starts = keep_groups(split.order, split.starts, elements.asks, elements.records, sums.wanted)
        sums.wanted[persons] = False
        for part, children in groupby(range(first + ends_here, last), key=lambda number: ordered[number][depth]):
            start, *others = children
            deeper = Split(*split_groups(kept, starts, *columns[part]), persons)
            visit(deeper, start, start + len(others) + 1, depth + 1)

    if ordered:
        visit(whole(elements), 0, len(ordered), 0)
    totals = None
    if sets.drawn is not None:
        places = np.argsort(order)
        alone = np.cumsum(sums.steps, axis=1)[:, places]
        totals = SetTotals(alone, alone * chances[0], alone + sums.shares[:, places])
    alone, share, square, uniques, low_uniques, high_uniques, unique_square = np.clip(sums.of_persons, 0.0, 1.0)
    return Risks(alone, uniques, share, unique_square, square, low_uniques, high_uniques, totals=totals)


class _Sums(NamedTuple):
    """Work arrays and sums of the tree.

    Attributes
    ----------
    kinds, loads : ndarray of int64 and float64, shape (n_persons,)
        Kind of each person, and number of persons that it represents.
    wanted, matches : ndarray of bool and int64, shape (n_persons,)
        Work arrays, filled with False and 0.
    of_persons : ndarray of float64, shape (7, n_persons)
        Sample unique; 1 / matches and its square; population unique, its low and high ends, and its square.
    steps, shares : ndarray of float64, shape (n_kinds, n_sets + 1) and (n_kinds, n_sets)
        By kind and set: uniques, as differences from the previous set; sum of 1 / matches over the other persons.
        Without rows if not needed.
    """

    kinds: Integers
    loads: Floats
    wanted: NDArray[np.bool_]
    matches: Integers
    of_persons: Floats
    steps: Floats
    shares: Floats


@numba.njit(cache=True)
def _add_up(
    split: Split,
    asks: Positions,
    records: Integers,
    holders: Holders,
    here: Floats,
    below: Floats,
    sums: _Sums,
    first: int,
    last: int,
) -> tuple[Positions, bool]:
    """Add the contribution of a node of the tree to the sums of its persons.

    Parameters
    ----------
    split : Split
        Elements at the node.
    asks, records, holders
        Arrays of the elements; see `Elements`.
    here : ndarray of float64, shape (n_kinds,)
        Probability of the node's own set.
    below : ndarray of float64, shape (5, n_kinds)
        Sums over the sets of the subtree, by kind of person: probability; its products with the probability of
        population uniqueness, with the low and the high end of that probability, and with its square.
    sums : _Sums
        Sums, changed in place.
    first, last : int
        Range of the subtree's sets; the node's own set is the first.

    Returns
    -------
    persons : ndarray of int32
        Persons with several matching records and a possible knowledge set below.
    met : bool
        Whether each person matches a record.
    """
    order, starts, persons = split
    kinds, loads, wanted, matches, of_persons, steps, shares = sums
    for person in persons:
        wanted[person] = below[0, kinds[person]] > 0
    count_matches(order, starts, asks, records, holders, wanted, matches)
    several = np.empty(len(persons), dtype=np.int32)
    n, met, by_set = 0, True, len(steps) > 0
    for person in persons:
        if not wanted[person]:
            continue
        found, kind = matches[person], kinds[person]
        wanted[person], matches[person] = False, 0
        if found == 1:
            for row in range(7):
                of_persons[row, person] += below[max(row - 2, 0), kind]
            if by_set:
                steps[kind, first] += loads[person]
                steps[kind, last] -= loads[person]
        elif found > 1:
            of_persons[1, person] += here[kind] / found
            of_persons[2, person] += here[kind] / found / found
            if by_set and here[kind] > 0:
                shares[kind, first] += loads[person] / found
            several[n] = person
            n += 1
        else:
            met = False
    return several[:n].copy(), met


def _parts(elements: Elements, sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the groups of attributes that are known in the same sets.

    Each group is a tuple of positions of attributes, ascending; attributes that are in no set are omitted. Groups with
    more values come first, because they separate people sooner.
    """
    holders: dict[int, list[int]] = defaultdict(list)
    for number, known in enumerate(sets):
        for attribute in known:
            holders[attribute].append(number)
    parts: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for attribute in sorted(holders):
        parts[tuple(holders[attribute])].append(attribute)

    def values(part: tuple[int, ...]) -> int:
        return int(np.prod([np.float64(elements.columns[a].max(initial=0)) + 1 for a in part]))

    return sorted(map(tuple, parts.values()), key=lambda part: (-values(part), part))


def _joined(elements: Elements, part: tuple[int, ...]) -> Positions:
    """Return one column, (n_elements,), for attributes that are always known together.

    Elements have equal numbers if they agree in all attributes of `part`, which holds positions of attributes.
    """
    if len(part) == 1:
        return elements.columns[part[0]]
    return distinct_rows([elements.columns[attribute] for attribute in part], elements.n_elements)[1].astype(np.int32)


Floats = NDArray[np.float64]

# Sets of attributes are stored as bits of a signed 64-bit number.
MOST_ATTRIBUTES = 62
# Maximum number of knowledge sets per kind of person that are listed, which limits memory; more sets must be drawn.
_MOST_LISTED = 2**20


@dataclass(frozen=True)
class AttributeGroup:
    """Attributes that a source reveals together, or not at all.

    Parameters
    ----------
    attributes : tuple of str
        Names of the attributes.
    probability : float
        Probability that the group is revealed, given that the source knows the person; in [0, 1].
    """

    attributes: tuple[str, ...]
    probability: float = 1.0


@dataclass(frozen=True)
class SourceProfile:
    """Attributes that a source reveals about one kind of people.

    An example of a kind is the voters of one state.

    Parameters
    ----------
    groups : tuple of AttributeGroup
        Disjoint groups, revealed independently of each other.
    presence : float
        Probability that the source knows the person; otherwise, it reveals nothing.
    price : float
        Price of the source for people of this kind, paid once, in currency units.

    Raises
    ------
    InputError
        If groups overlap.
    """

    groups: tuple[AttributeGroup, ...]
    presence: float = 1.0
    price: float = 0.0

    def __post_init__(self) -> None:
        named = [name for group in self.groups for name in group.attributes]
        require_distinct("attribute in two groups", named, where="groups", expected="each attribute in one group only")


@dataclass(frozen=True)
class Source:
    """One source of knowledge.

    Parameters
    ----------
    name : str
        Name of the source.
    profiles : tuple of SourceProfile
        Profiles of the kinds of people.
    profile_of_person : ndarray of int, shape (n_persons,)
        Position in `profiles` of the profile of each person.
    price : float
        Price of the source as a whole, paid once in addition to the prices of profiles, in currency units.
    """

    name: str
    profiles: tuple[SourceProfile, ...]
    profile_of_person: NDArray[np.intp]
    price: float = 0.0

    @property
    def total_price(self) -> float:
        """Price of the source, in currency units.

        It is the price of the source as a whole plus the price of each profile that at least one person has.
        """
        return self.price + fsum(self.profiles[used].price for used in np.unique(self.profile_of_person).tolist())

    @property
    def presence(self) -> Floats:
        """Probability that the source contains each person, shape (n_persons,)."""
        return np.array([profile.presence for profile in self.profiles])[self.profile_of_person]


@dataclass(frozen=True)
class Knowledge:
    """Knowledge that an adversary may have about persons, from one or several sources.

    Parameters
    ----------
    attributes : tuple of str
        Attributes of the released records.
    sources : tuple of Source
        Sources, independent of each other. An attribute missing in one source may be revealed by another.

    Raises
    ------
    InputError
        If there are more than 62 attributes.
    """

    attributes: tuple[str, ...]
    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        if len(self.attributes) > MOST_ATTRIBUTES:
            expected = f"at most {MOST_ATTRIBUTES} attributes"
            raise InputError("too many attributes", found=len(self.attributes), expected=expected)

    @property
    def n_persons(self) -> int:
        """Number of persons about whom the adversary may know attributes."""
        return len(self.sources[0].profile_of_person)

    @property
    def kinds(self) -> list[list[SourceProfile]]:
        """Profiles of each kind of persons: one list per kind, one profile per source.

        A kind consists of the persons who have the same profile in every source.
        """
        return [[s.profiles[s.profile_of_person[person]] for s in self.sources] for person in self._kinds[0]]

    @property
    def kind_of_person(self) -> NDArray[np.intp]:
        """Position of each person's kind in `kinds`, shape (n_persons,)."""
        return self._kinds[1]

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """One person of each kind, and kind of each person, both as numbers.

        A kind consists of the persons who have the same profile in every source.
        """
        return distinct_rows([source.profile_of_person for source in self.sources], self.n_persons)

    @property
    def total_price(self) -> float:
        """Total price of all sources, in currency units; see `Source.total_price`."""
        return fsum(source.total_price for source in self.sources)

    def mask(self, names: Sequence[str]) -> int:
        """Return the attributes `names` as a bit mask: bit j for the j-th of `attributes`."""
        return sum(1 << self.attributes.index(name) for name in names)


def everything(attributes: tuple[str, ...], n_persons: int) -> Knowledge:
    """Return the worst-case `Knowledge`: all attributes of all persons, for free.

    Its only source, ``worst-case``, certainly contains everyone.
    """
    profile = SourceProfile((AttributeGroup(attributes),))
    return Knowledge(attributes, (Source("worst-case", (profile,), np.zeros(n_persons, dtype=np.intp)),))


@dataclass(frozen=True)
class KnowledgeSets:
    """Knowledge sets and their probabilities for each kind of person.

    Parameters
    ----------
    sets : tuple of tuple of int
        Positions of the known attributes, ascending. Sets that are impossible for every kind are omitted.
    probability : ndarray of float64, shape (n_kinds, n_sets)
        Probability of each set for each kind of person; each row sums to 1.
    drawn : ndarray of int, shape (n_kinds, n_trials), optional
        Position in `sets` of each kind's set in each trial, if sets are drawn. All kinds use the same random numbers in
        a trial; see `draw_sets`.
    """

    sets: tuple[tuple[int, ...], ...]
    probability: Floats
    drawn: NDArray[np.intp] | None = None

    @property
    def n_sets(self) -> int:
        """Number of different knowledge sets."""
        return len(self.sets)


def count_sets(knowledge: Knowledge) -> int:
    """Return an upper bound on the number of knowledge sets of any one kind of person.

    It is 1 if there are no persons.
    """
    return max((prod(map(_most_sets, kind)) for kind in knowledge.kinds), default=1)


def _most_sets(profile: SourceProfile) -> int:
    if profile.presence == 0:
        return 1
    return (1 << sum(0 < group.probability < 1 for group in profile.groups)) + (profile.presence < 1)


def enumerate_sets(knowledge: Knowledge) -> KnowledgeSets:
    """List every knowledge set that is possible for some person, as `KnowledgeSets`.

    If a source knows the person, it reveals its groups of attributes independently of each other. Sources are
    independent. The knowledge set is the union of the revealed groups.

    Raises
    ------
    InputError
        If one kind of person may have more than 1,048,576 knowledge sets.
    """
    if count_sets(knowledge) > _MOST_LISTED:
        raise InputError(
            "too many knowledge sets to list",
            found=f"up to {count_sets(knowledge):.2g} for a person",
            expected=f"at most {_MOST_LISTED:,}",
            hint="use fewer groups; for risks alone, set expectation.method = 'monte-carlo'",
        )
    by_kind = []
    for kind in knowledge.kinds:
        known = {0: 1.0}
        for profile in kind:
            both: dict[int, float] = {}
            revealed = _revealed(knowledge, profile)
            for mask, p in known.items():
                for more, q in revealed.items():
                    both[mask | more] = both.get(mask | more, 0.0) + p * q
            known = both
        by_kind.append(known)
    masks, probability = _tabulated(by_kind)
    return KnowledgeSets(tuple(map(_positions_in, masks)), probability)


def _tabulated(by_kind: Sequence[Mapping[int, float]]) -> tuple[list[int], Floats]:
    """Return the knowledge sets as bit masks, and their probability for each kind.

    `by_kind` has, for each kind of person, the probability of each of its sets by bit mask. The masks of the result are
    in the order of the positions of their attributes. The probabilities have shape (n_kinds, n_sets); 0 for a set that
    a kind does not have.
    """
    masks = sorted({mask for sets in by_kind for mask in sets}, key=_positions_in)
    return masks, np.array([[sets.get(mask, 0.0) for mask in masks] for sets in by_kind]).reshape(
        len(by_kind), len(masks)
    )


def _positions_in(mask: int) -> tuple[int, ...]:
    """Return the positions of the 1 bits of a mask, ascending; bit 0 is the lowest."""
    return tuple(position for position in range(mask.bit_length()) if mask >> position & 1)


def _revealed(knowledge: Knowledge, profile: SourceProfile) -> dict[int, float]:
    """Return the probability of each set that a source can reveal, by bit mask.

    `profile` is the source's profile of one kind of people. The empty set has mask 0.
    """
    revealed = {0: profile.presence} if profile.presence > 0 else {}
    for group in profile.groups:
        bits, p = knowledge.mask(group.attributes), group.probability
        if p > 0:
            # Groups are disjoint, so each set arises in one way only and probabilities need not be added.
            without = {mask: q * (1 - p) for mask, q in revealed.items()} if p < 1 else {}
            revealed = without | {mask | bits: q * p for mask, q in revealed.items()}
    if profile.presence < 1:
        revealed[0] = revealed.get(0, 0.0) + 1 - profile.presence
    return revealed


def draw_sets(knowledge: Knowledge, trials: int, rng: np.random.Generator) -> KnowledgeSets:
    """Draw knowledge sets at random, for each kind of person, as `KnowledgeSets`.

    The probability of a set for a kind of person is the share of trials in which it was drawn. All kinds of persons use
    the same random numbers in a trial. Their sets are therefore often equal, and equal sets are computed once. The
    trials of one person are independent, so the person's standard errors are valid. The errors of two persons are
    dependent, so the standard error of a mean over persons must be computed from the mean's values in each trial.

    Parameters
    ----------
    knowledge : Knowledge
        Knowledge of the adversary.
    trials : int
        Number of draws for each kind.
    rng : numpy.random.Generator
        Source of the draws.
    """
    kinds = knowledge.kinds
    drawn = np.zeros((len(kinds), trials), dtype=np.int64)
    for number, source in enumerate(knowledge.sources):
        presence = rng.random(trials)
        # A group in several profiles uses the same numbers in all of them, so that kinds often have equal sets.
        masks = dict.fromkeys(knowledge.mask(g.attributes) for profile in source.profiles for g in profile.groups)
        uniforms = {mask: rng.random(trials) for mask in masks}
        for kind, profiles in enumerate(kinds):
            profile = profiles[number]
            for group in profile.groups:
                mask = knowledge.mask(group.attributes)
                revealed = (uniforms[mask] < group.probability) & (presence < profile.presence)
                drawn[kind] |= np.where(revealed, mask, 0)
    shares = [{mask: times / trials for mask, times in Counter(row.tolist()).items()} for row in drawn]
    listed, probability = _tabulated(shares)
    bits = np.array(listed, dtype=np.int64)
    order = np.argsort(bits)
    places = order[np.searchsorted(bits[order], drawn)] if len(kinds) else None
    return KnowledgeSets(tuple(map(_positions_in, listed)), probability, places)
