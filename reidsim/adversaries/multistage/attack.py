"""The multi-stage adversary of Wan et al. 2021, the tables that it searches, and the compiled two-stage attack.

The adversary uses only profitable stages. The published two-stage attack infers a surname from the released loci, and
links surname and demographics to a registry. Compiled functions compute it for one target and strategy at a time. They
are fast for four reasons. A target is compared with the genealogy once for all strategies. Inferences are cached by set
of released loci, and the cache outlasts the game, so games with other amounts, policies and weights reuse it. Distances
are cached by pattern for all targets. The registry is sorted by surname, so linkage reads few rows.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, Attempt, Linkage, PlanLinkage, Weighing, chance_of_guess, of_rows
from reidsim.core.errors import InputError, listed, nearest, require_among, require_distinct
from reidsim.core.numerics import borrowing
from reidsim.linkage.people import OpenRowGroups
from reidsim.linkage.surname_inference import (
    NO_SURNAME,
    Ancestry,
    AncestryTables,
    GenealogyArrays,
    Workspace,
    compare_target,
    genealogy_arrays,
    nearest_neighbour_surname,
    nearest_surname,
    workspace,
)
from reidsim.populations.population import numbered
from reidsim.releases.lattice import Floats, MaskingSpace, Rows

Integers = NDArray[np.int64]
InferenceMethod = Literal["tmrca", "nearest-neighbour"]


@dataclass(frozen=True, eq=False)
class PersonTable:
    """Table with people as rows, attributes as columns and whole numbers as values.

    Values are 0 or more. The meaning of a value depends on the attribute: age in years, the code of a state or surname,
    repeats at a locus (where 0 means missing).

    Parameters
    ----------
    name : str
        Name of the table in messages.
    columns : mapping of str to ndarray of int, shape (n_rows,)
        Values of each attribute.
    counts : ndarray of int, shape (n_rows,), optional
        Number of people that each row represents. Default: 1.
    missing : mapping of str to ndarray of bool, shape (n_rows,), optional
        Whether each value is missing, for columns with missing values. The number stored for a missing value has no
        meaning.
    """

    name: str
    columns: Mapping[str, Integers]
    counts: Integers | None = None
    missing: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = {name: np.asarray(values, dtype=np.int64) for name, values in self.columns.items()}
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "missing", {name: where for name, where in self.missing.items() if where.any()})

    @property
    def n_rows(self) -> int:
        """Number of rows; equal to the number of people if the table has no counts."""
        return len(next(iter(self.columns.values())))

    def column(self, attribute: str) -> Integers:
        """Return the values of an attribute, shape (n_rows,).

        Raises
        ------
        InputError
            If the table has no such column.
        """
        if attribute not in self.columns:
            expected, hint = f"one of {listed(self.columns, 20)}", nearest(attribute, self.columns)
            raise InputError("column missing", source=self.name, where=attribute, expected=expected, hint=hint)
        return self.columns[attribute]

    def known(self, attributes: Sequence[str]) -> NDArray[np.bool_]:
        """Return whether each row has values in all of the columns `attributes`.

        The result has shape (n_rows,); it is False for a row with a missing value in one of these columns.
        """
        lacking = [self.missing[attribute] for attribute in attributes if attribute in self.missing]
        return ~np.logical_or.reduce(lacking) if lacking else np.ones(self.n_rows, dtype=np.bool_)

    def matrix(self, attributes: Sequence[str]) -> Integers:
        """Return the columns of several attributes, shape (n_rows, n_attributes).

        Raises
        ------
        InputError
            If the table lacks one of them.
        """
        columns = [self.column(attribute) for attribute in attributes]
        return np.stack(columns, axis=1) if columns else np.zeros((self.n_rows, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ListedTargets:
    """Membership of the targets in a drawn list; unknown to the adversary.

    Parameters
    ----------
    row : ndarray of int64, shape (n_targets,)
        Row of each target in the list, -1 if absent. The values of the row can be wrong or missing.
    coverage : float
        Probability that a target is in the list, as the adversary believes.
    """

    row: Integers
    coverage: float


@dataclass(frozen=True, eq=False)
class MultistageWorld:
    """True values of the targets, and the resources of the adversary.

    Parameters
    ----------
    targets : PersonTable
        Data subjects, with the true values of all attributes that can be released or inferred.
    resources : mapping of str to PersonTable
        Resources by name, such as a genealogy, a voter list or a registry.
    registered : ndarray of bool, shape (n_targets,), optional
        Whether each target is truly in the registry of the last stage. Default: all targets must be in it.
    lists : mapping of str to ListedTargets
        Targets' rows in the resources that were drawn as lists. If the attack ends in a list, a missing value matches
        every value, and the attack can succeed only on targets whose own row matches.
    by_coverage : bool
        Whether only the coverage of these lists is known, not their members. A plan that uses a list then succeeds with
        the probability that the adversary believes in.
    """

    targets: PersonTable
    resources: Mapping[str, PersonTable]
    registered: NDArray[np.bool_] | None = None
    lists: Mapping[str, ListedTargets] = field(default_factory=dict)
    by_coverage: bool = False

    def of_targets(self, rows: Rows) -> MultistageWorld:
        """Return the `MultistageWorld` with the targets in `rows` only, and all resources."""
        registered = None if self.registered is None else self.registered[rows]
        lists = {name: replace(each, row=each.row[rows]) for name, each in self.lists.items()}
        columns = {name: values[rows] for name, values in self.targets.columns.items()}
        return replace(self, targets=replace(self.targets, columns=columns), registered=registered, lists=lists)

    def resource(self, name: str) -> PersonTable:
        """Return the table (`PersonTable`) of the resource with a name.

        Raises
        ------
        InputError
            If the adversary has no resource of that name.
        """
        require_among("unknown resource", (name,), self.resources)
        return self.resources[name]

    def is_guessed(self, name: str) -> bool:
        """Return whether the resource `name` is a drawn list whose members are not known.

        Only the coverage of such a list is known.
        """
        return self.by_coverage and name in self.lists

    def agrees(self, name: str, attribute: str, said: Integers, values: Integers, rows: Integers) -> NDArray[np.bool_]:
        """Return whether each target's own row of a list agrees with given values, (n,).

        A missing value agrees with every value. The result is False for targets without a row.

        Parameters
        ----------
        name, attribute : str
            Name of a list and of one of its columns.
        said : ndarray of int64, shape (n_rows,)
            Values of that column, generalized like `values`.
        values : ndarray of int64, shape (n,)
            Released or inferred values.
        rows : ndarray of int, shape (n,)
            Targets of the values.
        """
        own = self.lists[name].row[rows]
        missing = self.resource(name).missing.get(attribute, np.zeros(len(said), dtype=np.bool_))
        return np.asarray(((said[own] == values) | missing[own]) & (own >= 0))


@dataclass(frozen=True)
class InferSurname:
    """Stage that infers the surname from the released loci, through a genealogy.

    Parameters
    ----------
    loci : tuple of str
        Loci that the adversary uses if they are released.
    ancestry : Ancestry
        Mutation rates of the loci, in the order of `loci`, and effective population size; used by "tmrca" only.
    resource : str
        Name of the genealogy, a table with these loci and the surname.
    infers : str
        Attribute that is inferred.
    method : {"tmrca", "nearest-neighbour"}
        Distance measure: time to the most recent common ancestor, which gives a confidence; or the sum of differences
        in repeats, with confidence 1.
    candidate_share : float
        Number of agreeing loci that a man of the genealogy needs to be a candidate, as a share of the highest such
        number of any man; used by "tmrca" only.
    price : float
        Price of the stage, in currency units per record; 0 or more.
    """

    loci: tuple[str, ...]
    ancestry: Ancestry
    resource: str = "genealogy"
    infers: str = "surname"
    method: InferenceMethod = "tmrca"
    candidate_share: float = 0.8
    price: float = 0.0

    @property
    def on(self) -> tuple[str, ...]:
        """Attributes that the stage uses if they are released: the loci."""
        return self.loci


@dataclass(frozen=True)
class InferByLinkage:
    """Stage that infers an attribute as the most frequent value of matching people.

    A row of the resource matches if it agrees with every known value of the target, released or inferred, among the
    attributes `on`. Rows that lack a value used by the stage are ignored. The confidence is the share of the
    people in matching rows who have the inferred value, and 0 if no row matches; a row counts as the number of people
    that it represents. Among equally frequent values, the value with the earliest row is used.

    Parameters
    ----------
    infers : str
        Attribute that is inferred.
    resource : str
        Name of the table with the inferred attribute and the attributes `on`.
    on : tuple of str
        Attributes used for linkage if they are known.
    price : float
        Price of the stage, in currency units per record; 0 or more.
    """

    infers: str
    resource: str
    on: tuple[str, ...]
    price: float = 0.0


@dataclass(frozen=True)
class Identify:
    """Last stage of every attack: choose one matching person of a registry at random.

    Parameters
    ----------
    on : tuple of str
        Attributes used for linkage if they are known, released or inferred. Without attributes, all people match.
    resource : str
        Name of the registry.
    """

    on: tuple[str, ...]
    resource: str = "registry"


Inference = InferSurname | InferByLinkage
Stage = Inference | Identify


@dataclass(frozen=True)
class MultistageAttack(Weighing):
    """Adversary who can infer unreleased attributes before linking to a registry.

    The adversary can skip any inference stage. A plan is the set of stages used. Its believed success probability is
    the product of the stages' confidences, divided by the number of people in the registry who match all released and
    inferred values. A stage is unavailable if its confidence is 0 or below the threshold; a plan is unavailable if one
    of its stages is, or if no person matches. The adversary chooses the plan with the highest believed payoff ``gain x
    success - prices - cost``; a plan with more stages must be strictly better. The adversary attacks if that payoff is
    above 0. The true success probability is 1 / matching people if all inferred values are correct and the target is in
    the registry, else 0.

    An overconfident adversary believes that an inference is correct if its confidence reaches the threshold: the
    believed success probability of a plan is 1 / matching people. This affects its decisions, not the true success
    probability.

    Parameters
    ----------
    stages : tuple of InferSurname, InferByLinkage or Identify
        Stages in the order in which they are carried out; Identify comes last.
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attack, in currency units per record.
    confidence_threshold : float
        theta, lowest confidence at which a stage is available, in [0, 1].
    overconfident : bool
        Whether the adversary believes that available inferences are correct (Wan et al. 2021).

    Raises
    ------
    InputError
        If stages are out of order, or an attribute is inferred twice or named twice in a stage.
    """

    decides_on: ClassVar[frozenset[str]] = frozenset({"believed_group_sizes", "plan_believed", "plans", "prices"})

    stages: tuple[Stage, ...]
    gain: float | Floats
    cost: float | Floats
    confidence_threshold: float = 0.5
    overconfident: bool = False

    def __post_init__(self) -> None:
        if [isinstance(stage, Identify) for stage in self.stages] != [False] * (len(self.stages) - 1) + [True]:
            kinds = [type(stage).__name__ for stage in self.stages]
            expected = "inference stages, then one Identify stage at the end"
            raise InputError("stages out of order", found=kinds, expected=expected)
        for number, stage in enumerate(self.stages, start=1):
            require_distinct("attribute named twice", stage.on, where=f"stage {number}")
        require_distinct("two stages infer the same attribute", [stage.infers for stage in self.inferences])

    @property
    def inferences(self) -> tuple[Inference, ...]:
        """Inference stages, in order: all stages of the attack except the last."""
        return tuple(stage for stage in self.stages if not isinstance(stage, Identify))

    @property
    def identify(self) -> Identify:
        """The last stage, which links to the registry."""
        last = self.stages[-1]
        assert isinstance(last, Identify)  # noqa: S101 # checked when it was made
        return last

    @property
    def looked_at(self) -> tuple[str, ...]:
        """Distinct names of the attributes on which a stage links, in order of first use."""
        return tuple(dict.fromkeys(name for stage in self.stages for name in stage.on))

    def one_stage(self) -> MultistageAttack:
        """Return the `MultistageAttack` with the last stage only.

        It links on released attributes only: attributes that a stage infers are removed from the last stage.
        """
        on = tuple(name for name in self.identify.on if name not in [stage.infers for stage in self.inferences])
        return replace(self, stages=(replace(self.identify, on=on),))

    def check_attributes(self, released: tuple[str, ...]) -> None:
        """Check that each stage links on released or previously inferred attributes.

        `released` has the names of the attributes that can be released.

        Raises
        ------
        InputError
            If a stage needs another attribute; the message names the stage and the attribute.
        """
        known = list(released)
        for number, stage in enumerate(self.stages, start=1):
            problem = "attribute is neither released nor inferred by an earlier stage"
            require_among(problem, stage.on, known, where=f"stage {number}", shown=20)
            if not isinstance(stage, Identify):
                known.append(stage.infers)

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return a single attempt at each record by its best plan, as an `Attempt`.

        The best plan has the highest believed payoff, even if this is negative. A linkage that is not a `PlanLinkage`
        counts as the plan without inference. For the parameters see `Adversary.respond`.
        """
        gain, cost = of_rows(self.gain, rows), of_rows(self.cost, rows)
        if not isinstance(linkage, PlanLinkage):
            success, believed = chance_of_guess(linkage.group_sizes), chance_of_guess(linkage.believed_group_sizes)
            none = np.zeros(len(success), dtype=np.int64)
            return Attempt.single(success, believed, gain, cost, none, none)
        plan = linkage.best_plan(gain)
        each = np.arange(len(plan))
        used = np.array([sum(1 << stage for stage in stages) for stages in linkage.plans], dtype=np.int64)[plan]
        believed, price = linkage.plan_believed[plan, each], linkage.prices[plan] + cost
        return Attempt.single(linkage.plan_success[plan, each], believed, gain, price, plan, used)


# Maximum number of places per target in the cache of inferences, as a power of two; more places need more memory, fewer
# places repeat more inferences.
_MEMO_BITS = 14
# Inferred surnames are cached for all targets if each target then has at least the first number of places, and all
# targets together have at most the second.
_FEWEST_PLACES = 256
_MOST_PLACES = 6_000_000
# Maximum number of caches that outlast their games, each of up to 130 MB.
_MOST_KEPT = 2
# Maximum number of forms (combinations of levels) of the demographics, and maximum number of group sizes, one for each
# form and target: each form is a root of the search, and all group sizes are stored.
_MOST_FORMS = 65_536
_MOST_GROUP_SIZES = 100_000_000
# Surname number that agrees with every surname.
ANY = -2


class TwoStageArrays(NamedTuple):
    """An attack on the targets of a world, as input of the compiled functions.

    A strategy consists of a form (the levels of the demographics) and a set of masked loci:
    ``strategy = form * 2**n_loci + masked``, where the last locus is bit 0 of `masked`. All arrays here have the loci
    in that order of bits.

    Attributes
    ----------
    infers : bool
        Whether the attack has the first stage.
    by_neighbour : bool
        Whether the first stage uses the nearest neighbour instead of the most recent common ancestor.
    tables, genealogy : AncestryTables, GenealogyArrays
        Tables of ancestry, and the genealogy.
    candidate_share, threshold, price : float
        Of the first stage: rule for candidates (see `InferSurname`), lowest confidence at which it is available, and
        price in currency units per record.
    overconfident : bool
        Whether a surname inferred with a confidence of theta or more is believed to be correct.
    gain, cost : ndarray of float64, shape (n_targets,)
        Gain from a success and cost of an attack, in currency units per record.
    target_alleles : ndarray of int32, shape (n_targets, n_loci)
        Alleles of each target.
    own_surnames : ndarray of int64, shape (n_targets,)
        Surname of each target in the registry; `ANY` if missing.
    coverage : float
        Probability that a target is in the registry, as the adversary believes.
    form_columns : ndarray of int64, shape (n_forms, n_linked)
        Registry column with each linked attribute at its released level; -1 if masked.
    form_sizes : ndarray of int32, shape (n_forms, n_targets)
        Number of people in the registry who match the released demographics; a missing value matches.
    form_own : ndarray of bool, shape (n_forms, n_targets)
        Whether the target is one of these people.
    registry : ndarray of int32, shape (n_columns, n_people)
        Demographics at each level, -1 if missing; people sorted by surname, people without a surname at the end.
    target_values : ndarray of int32, shape (n_targets, n_columns)
        Demographics of each target at each level.
    first : ndarray of int64, shape (n_surnames + 1,)
        Position in the registry of the first person with each surname, and of the first person without a surname.
    as_believed, inferred_as_believed : bool
        Whether an attempt succeeds with the probability that the adversary believes in, without the first stage and
        with it.
    surname_codes : ndarray of int64, shape (n_surnames,)
        Original code of each surname; all arrays here number the surnames anew from 0.
    """

    infers: bool
    by_neighbour: bool
    tables: AncestryTables
    genealogy: GenealogyArrays
    candidate_share: float
    threshold: float
    price: float
    overconfident: bool
    gain: Floats
    cost: Floats
    target_alleles: NDArray[np.int32]
    own_surnames: Integers
    coverage: float
    form_columns: Integers
    form_sizes: NDArray[np.int32]
    form_own: NDArray[np.bool_]
    registry: NDArray[np.int32]
    target_values: NDArray[np.int32]
    first: Integers
    as_believed: bool
    inferred_as_believed: bool
    surname_codes: Integers


class Memory(NamedTuple):
    """Cache of inferences by target.

    Attributes
    ----------
    room : Workspace
        Work arrays of one target, and distances by pattern for all targets.
    target : ndarray of int64, shape (1,)
        Target whose data are in `room`; -1 for none.
    owners : ndarray of int64, shape (n_targets or 1,)
        Target whose inferences are in each row of the following arrays; -1 for none.
    sets : ndarray of int64, shape (n_targets or 1, 2**bits)
        Set of released loci in each place; 0 for none.
    surnames : ndarray of int32, shape (n_targets or 1, 2**bits)
        Surname inferred from that set.
    confidence : ndarray of float64, shape (n_targets or 1, 2**bits)
        Confidence in that surname.
    matches : ndarray of int64, shape (n_forms, 3)
        Last query by form: target, surname and number of matching people in the registry.
    """

    room: Workspace
    target: Integers
    owners: Integers
    sets: Integers
    surnames: NDArray[np.int32]
    confidence: Floats
    matches: Integers


class Reply(NamedTuple):
    """The adversary's reply to a strategy of a target.

    Attributes
    ----------
    attacks : bool
        Whether the adversary attacks; False if indifferent.
    success, believed : float
        Success probability of the chosen plan, in truth and as the adversary believes, also without an attack.
    price : float
        Cost of the attack, including the first stage if the plan uses it, in currency units.
    confidence : float
        Confidence in the inferred surname, whether or not it is used.
    surname : int
        Inferred surname, whether or not it is used; -1 for none.
    """

    attacks: bool
    success: float
    believed: float
    price: float
    confidence: float
    surname: int


# Caches by hash of the data from which surnames are inferred, the most recently used one at the end.
_kept: dict[bytes, Memory] = {}
_lock = threading.Lock()


def memory_for(arrays: TwoStageArrays) -> Memory:
    """Return a `Memory` for any number of calls on the same arrays.

    The memories of the two most recently used combinations of targets, genealogy and method of inference are kept. If
    the combination of `arrays` is one of them, its inferences are reused; otherwise, the memory is empty.
    """
    tables, genealogy = arrays.tables, arrays.genealogy
    ancestry = (tables.agree, tables.differ, tables.prior, tables.unrelated_survival)
    digest = hashlib.blake2b(repr((arrays.infers, arrays.by_neighbour, arrays.candidate_share)).encode())
    for array in (arrays.target_alleles, genealogy.alleles, genealogy.surnames, *ancestry):
        digest.update(repr((array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).data)
    key, fresh = digest.digest(), _empty_memory(arrays)
    with _lock:
        memory = _kept[key] = _kept.pop(key, fresh)
        while len(_kept) > _MOST_KEPT:
            del _kept[next(iter(_kept))]
    return memory._replace(matches=fresh.matches)


def memory_beside(memory: Memory, arrays: TwoStageArrays) -> Memory:
    """Return a `Memory` for a concurrent thread with other targets.

    Cached inferences are shared with `memory`, unless `memory` has room for one target only; the new memory is then
    empty.
    """
    other = _empty_memory(arrays)
    if len(memory.owners) == 1:
        return other
    return other._replace(**{name: getattr(memory, name) for name in ("owners", "sets", "surnames", "confidence")})


def places_kept(n_targets: int, n_loci: int) -> tuple[int, int]:
    """Return the number of targets with cached surnames, and of places for each.

    The number of targets is `n_targets`, or 1 if there is not enough room for all. The number of places is a power of
    two, at most ``2**n_loci`` and 16,384.
    """
    most = 1 << min(n_loci, _MEMO_BITS)
    of_each = min(most, _MOST_PLACES // max(n_targets, 1))
    if of_each < min(most, _FEWEST_PLACES):
        return 1, most
    return n_targets, 1 << of_each.bit_length() - 1


def _empty_memory(arrays: TwoStageArrays) -> Memory:
    shape = places_kept(*arrays.target_alleles.shape) if arrays.infers else (1, 1)
    return Memory(
        room=workspace(arrays.genealogy, len(arrays.tables.prior) - 1),
        target=np.full(1, -1, np.int64),
        owners=np.full(shape[0], -1, np.int64),
        sets=np.zeros(shape, np.int64),
        surnames=np.zeros(shape, np.int32),
        confidence=np.zeros(shape),
        matches=np.full((len(arrays.form_columns), 3), -1, np.int64),
    )


@borrowing()
def surname_of(arrays: TwoStageArrays, memory: Memory, target: int, strategy: int) -> tuple[int, float]:
    """Return the surname inferred from a strategy's released loci, and its confidence.

    The surname is a number, as in `TwoStageArrays`; `target` and `strategy` are numbers, too. The results are cached in
    `memory`. They are -1 and 0 if no locus is released or the attack infers nothing.
    """
    shared = np.uint64(~strategy & ((1 << arrays.target_alleles.shape[1]) - 1))
    if shared == 0 or not arrays.infers:
        return NO_SURNAME, 0.0
    # Each set of loci has its own place if the places are enough for all sets; otherwise, sets can share a place.
    row, size = target % len(memory.owners), np.uint64(memory.sets.shape[1])
    place = int((shared ^ (shared // size) * np.uint64(0x9E3779B1)) & (size - np.uint64(1)))
    if memory.owners[row] != target:
        if memory.owners[row] >= 0:
            memory.sets[row] = 0
        memory.owners[row] = target
    if memory.sets[row, place] != np.int64(shared):
        if arrays.by_neighbour:
            surname = nearest_neighbour_surname(arrays.genealogy, arrays.target_alleles[target], shared)
            confidence = 1.0
        else:
            if memory.target[0] != target:
                compare_target(arrays.genealogy, arrays.target_alleles[target], memory.room)
                memory.target[0] = target
            surname, confidence = nearest_surname(
                arrays.tables, arrays.genealogy, memory.room, shared, arrays.candidate_share
            )
        memory.sets[row, place], memory.surnames[row, place] = np.int64(shared), surname
        memory.confidence[row, place] = confidence
    return int(memory.surnames[row, place]), float(memory.confidence[row, place])


@borrowing()
def _agreeing(arrays: TwoStageArrays, target: int, form: int, start: int, stop: int) -> int:
    """Return the number of demographic matches in a range of registry positions.

    The registry is sorted by surname; the range is from `start` to `stop` (exclusive). A person matches if all released
    demographics of the target, at the levels of the form, are equal. A missing value in the registry matches every
    value.
    """
    matches = 0
    for person in range(start, stop):
        same = True
        for column in arrays.form_columns[form]:
            if column >= 0:
                value = arrays.registry[column, person]
                if value != arrays.target_values[target, column] and value != -1:
                    same = False
                    break
        matches += same
    return matches


@borrowing()
def _matches(arrays: TwoStageArrays, memory: Memory, target: int, form: int, surname: int) -> int:
    """Return the number of people in the registry who match surname and demographics.

    They match the target's demographics, at the levels of the form, and the given surname. A missing value in the
    registry, surname or demographic, matches every value. The last result of each form is cached in `memory`.
    """
    if memory.matches[form, 0] == target and memory.matches[form, 1] == surname:
        return int(memory.matches[form, 2])
    matches = _agreeing(arrays, target, form, arrays.first[surname], arrays.first[surname + 1])
    matches += _agreeing(arrays, target, form, arrays.first[len(arrays.first) - 1], arrays.registry.shape[1])
    memory.matches[form, 0], memory.matches[form, 1], memory.matches[form, 2] = target, surname, matches
    return matches


@borrowing()
def believed_alone(arrays: TwoStageArrays, target: int, form: int) -> float:
    """Return the believed success probability of linkage on demographics only.

    It is the coverage of the registry divided by the number of people who match the target at the levels of the form;
    it is 0 if no person matches.
    """
    people = arrays.form_sizes[form, target]
    return float(arrays.coverage / people) if people > 0 else 0.0


@borrowing()
def pays(gain: float, believed: float, price: float) -> bool:
    """Return whether the expected gain of an attack exceeds its price; False if equal.

    The expected gain is `gain` times the success probability `believed`; amounts are in currency units. Amounts that
    differ by at most 1e-12 of the price are equal.
    """
    return bool(gain * believed > price * (1.0 + INDIFFERENCE))


@borrowing()
def reply_to(arrays: TwoStageArrays, memory: Memory, target: int, strategy: int) -> Reply:
    """Return the adversary's `Reply` to a strategy of a target, both by number."""
    surname, confidence = surname_of(arrays, memory, target, strategy)
    return reply_given(
        arrays,
        memory,
        target,
        strategy >> arrays.target_alleles.shape[1],
        surname,
        confidence,
        arrays.gain[target],
        arrays.cost[target],
        arrays.threshold,
        arrays.overconfident,
    )


@borrowing()
def reply_given(
    arrays: TwoStageArrays,
    memory: Memory,
    target: int,
    form: int,
    surname: int,
    confidence: float,
    gain: float,
    price: float,
    threshold: float,
    overconfident: bool,
) -> Reply:
    """Return the `Reply` to a form of a target's demographics and an inferred surname.

    A form is a combination of levels of the demographics, by number. `surname` and `confidence` are the result of
    `surname_of`; surname -1 means that none is inferred. Let n be the number of people in the registry who match the
    demographics, m the number of them who also match the surname, p' = coverage / n, and q = coverage x confidence / m.
    An overconfident adversary uses 1 in place of a confidence above 0 to compute q.

    The first stage is used if m is not 0, the confidence reaches `threshold`, and the stage is strictly profitable:
    ``gain q - arrays.price > gain p'``. The true success probability is then 1/m if the target is one of the m people,
    else 0; or q with ``arrays.inferred_as_believed``. Without the stage, the attack uses demographics only.

    `gain`, `price` (cost of an attack without the first stage), `threshold` and `overconfident` replace the values in
    `arrays`. The price of the first stage, ``arrays.price``, is added to `price` if the stage is used.
    """
    people = arrays.form_sizes[form, target]
    believed = believed_alone(arrays, target, form)
    success = believed if arrays.as_believed else 0.0
    if not arrays.as_believed and people > 0 and arrays.form_own[form, target]:
        success = 1.0 / people
    sure = arrays.coverage * (1.0 if overconfident and confidence > 0.0 else confidence)
    # `sure` bounds the believed success probability, so the registry is read only if the stage may be profitable.
    if surname >= 0 and confidence >= threshold and sure > believed:
        matches = _matches(arrays, memory, target, form, surname)
        if matches > 0:
            inferring = sure / matches
            if gain * inferring - arrays.price > gain * believed + INDIFFERENCE * gain:
                right = arrays.own_surnames[target] in (surname, ANY) and arrays.form_own[form, target]
                believed = inferring
                success = inferring if arrays.inferred_as_believed else (1.0 / matches if right else 0.0)
                price += arrays.price
    return Reply(pays(gain, believed, price), success, believed, price, confidence, surname)


def is_two_stage(attack: MultistageAttack, world: MultistageWorld, space: MaskingSpace) -> bool:
    """Return whether an attack on releases of a masking space can be compiled.

    The conditions are: each row of a resource is one person; the attack has no inference stage, or infers a surname
    that is not released itself; the loci come last in the space, are either released unchanged or masked, and are the
    loci of the inference; the adversary does not link on them; and the other attributes have at most 65,536
    combinations of levels, and at most 100,000,000 combinations of levels and targets.
    """
    n_forms = prod(space.shape[: len(space.shape) - count_bits(attack, space)])
    counted = any(table.counts is not None for table in world.resources.values())
    if counted or n_forms > _MOST_FORMS or n_forms * space.n_records > _MOST_GROUP_SIZES:
        return False
    if not attack.inferences:
        return True
    stage, *others = attack.inferences
    if others or not isinstance(stage, InferSurname) or stage.infers in space.attributes:
        return False
    n = len(stage.loci)
    only_masked = space.attributes[-n:] == stage.loci and all(size == 2 for size in space.shape[-n:])
    return only_masked and not set(stage.loci) & set(attack.identify.on)


def count_bits(attack: MultistageAttack, space: MaskingSpace) -> int:
    """Return the number of attributes at the end of the space that are not linked.

    With an inference stage, these are its loci. Otherwise, these are all final attributes that can only be released or
    masked and that the adversary does not use.
    """
    if attack.inferences:
        return sum(len(stage.loci) for stage in attack.inferences if isinstance(stage, InferSurname))
    bits = 0
    for name, size in zip(space.attributes[::-1], space.shape[::-1], strict=True):
        if size != 2 or name in attack.identify.on:
            break
        bits += 1
    return bits


def compile_two_stage(attack: MultistageAttack, world: MultistageWorld, space: MaskingSpace) -> TwoStageArrays:
    """Return a two-stage or one-stage attack as `TwoStageArrays`.

    A `MultistageLinker` must have accepted the attack, which checks its attributes.

    Raises
    ------
    InputError
        If the attack cannot be compiled (see `is_two_stage`), or nobody in the genealogy has a surname.
    """
    if not is_two_stage(attack, world, space):
        raise InputError(
            "this solver does not support the attack",
            found=[type(stage).__name__ for stage in attack.stages],
            expected="surname inference from loci at the end of the attributes, then Identify on a few others",
            hint="use best-first search for other stages, or for rows that represent several people",
        )
    n, identify, n_loci = world.targets.n_rows, attack.identify, count_bits(attack, space)
    registry, drawn_list = world.resource(identify.resource), world.lists.get(identify.resource)
    forms = space.shape[: len(space.shape) - n_loci]
    names = [name if name in identify.on else None for name in space.attributes[: len(forms)]]
    # One column of the registry for each linked attribute and each level at which it can be released.
    linked = [(name, j, level) for j, name in enumerate(names) if name is not None for level in range(forms[j] - 1)]
    columns = [space.generalized(j, level, registry.column(name)) for name, j, level in linked]
    targets = [space.generalized(j, level, world.targets.column(name)) for name, j, level in linked]
    missing = [registry.missing.get(name) for name, _, _ in linked]
    both = zip(linked, columns, targets, strict=True) if drawn_list is not None else ()
    own = [world.agrees(identify.resource, name, said, true, np.arange(n)) for (name, _, _), said, true in both]
    column_of = np.full((len(forms), max(forms, default=1)), -1)
    for column, (_, j, level) in enumerate(linked):
        column_of[j, level] = column
    levels = np.array(list(np.ndindex(*forms)), dtype=np.int64).reshape(prod(forms), len(forms))
    form_columns = column_of[np.arange(len(forms)), levels]
    form_sizes = np.zeros((len(levels), n), dtype=np.int32)
    there = world.registered if drawn_list is None else drawn_list.row >= 0
    form_own = np.tile(np.ones(n, dtype=np.bool_) if there is None else there, (len(levels), 1))
    for form, used in enumerate(form_columns):
        used = used[used >= 0]
        groups = OpenRowGroups([columns[c] for c in used], [missing[c] for c in used], registry.n_rows)
        form_sizes[form] = groups.count([targets[c] for c in used], n)
        if own:
            form_own[form] &= np.all([own[c] for c in used], axis=0)
    # A surname that is not used for linkage is useless.
    stage = next(
        (each for each in attack.inferences if isinstance(each, InferSurname) and each.infers in identify.on), None
    )
    genealogy, own_surnames, in_registry, codes = _surname_tables(stage, world, registry, drawn_list)
    stacked = np.array(columns, dtype=np.int32).reshape(-1, registry.n_rows)
    for column, where in enumerate(missing):
        if where is not None:
            stacked[column, where] = -1
    # Sorting of short integers is several times faster.
    order = np.argsort(in_registry.astype(np.min_scalar_type(len(codes))), kind="stable")
    alleles = np.zeros((n, n_loci)) if stage is None else world.targets.matrix(stage.loci[::-1])
    used_stage = stage or InferSurname((), Ancestry((0.0,)))
    guessed = world.is_guessed(identify.resource)
    ancestry = replace(used_stage.ancestry, mutation_rates=used_stage.ancestry.mutation_rates[::-1])
    return TwoStageArrays(
        infers=stage is not None,
        by_neighbour=used_stage.method == "nearest-neighbour",
        tables=ancestry.tables(),
        genealogy=genealogy,
        candidate_share=float(used_stage.candidate_share),
        threshold=float(attack.confidence_threshold),
        price=float(used_stage.price),
        overconfident=bool(attack.overconfident),
        gain=np.full(n, attack.gain, dtype=np.float64),
        cost=np.full(n, attack.cost, dtype=np.float64),
        target_alleles=np.ascontiguousarray(alleles, dtype=np.int32),
        own_surnames=own_surnames,
        coverage=1.0 if drawn_list is None else drawn_list.coverage,
        form_columns=form_columns,
        form_sizes=form_sizes,
        form_own=form_own,
        registry=stacked[:, order].copy(),
        target_values=np.ascontiguousarray(np.array(targets, dtype=np.int32).reshape(-1, n).T),
        first=np.searchsorted(in_registry[order], np.arange(len(codes) + 1)),
        as_believed=guessed,
        inferred_as_believed=guessed or world.is_guessed(used_stage.resource),
        surname_codes=codes,
    )


def _surname_tables(
    stage: InferSurname | None, world: MultistageWorld, registry: PersonTable, drawn_list: ListedTargets | None
) -> tuple[GenealogyArrays, Integers, Integers, Integers]:
    """Return the genealogy and the surnames, numbered anew from 0.

    The items are: the genealogy, the surnames of the targets in the registry, the surnames of all people in the
    registry, and the original codes of the surnames. A target without a surname in a drawn list has `ANY`. People in
    the registry without a surname have the number after the last surname.
    """
    if stage is None:
        nobody, n = genealogy_arrays(np.zeros((1, 0), np.int64), np.zeros(1, np.int64)), world.targets.n_rows
        return nobody, np.zeros(n, np.int64), np.zeros(registry.n_rows, np.int64), np.zeros(1, np.int64)
    men, surname = world.resource(stage.resource), stage.infers
    named = men.known((surname,))
    if not named.any():
        raise InputError("no person has a value", source=men.name, where=surname)
    names = [men.column(surname)[named], world.targets.column(surname), registry.column(surname)]
    codes, numbers = numbered(np.concatenate(names))
    of_men, own, in_registry = np.split(numbers, np.cumsum([len(names[0]), len(names[1])]))
    in_registry = np.where(registry.known((surname,)), in_registry, len(codes))
    if drawn_list is not None:
        own = in_registry[drawn_list.row]
        own = np.where(own == len(codes), ANY, own)
    return genealogy_arrays(men.matrix(stage.loci[::-1])[named], of_men), own, in_registry, codes
