"""The multi-stage adversary of Wan et al. 2021, and the tables that it searches.

It uses only profitable stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Attempt, Linkage, PlanLinkage, Weighing, chance_of_guess, of_rows
from reidsim.core.errors import InputError, listed, nearest, require_among, require_distinct
from reidsim.linkage.surname_inference import Ancestry
from reidsim.releases.lattice import Floats, Rows

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

    @classmethod
    def from_array(cls, name: str, attributes: Sequence[str], values: NDArray[np.generic]) -> PersonTable:
        """Return a `PersonTable` from an array `values` of shape (n_rows, n_attributes).

        Column j has the values of ``attributes[j]``. `name` is for messages. The table has no counts and no missing
        values.
        """
        return cls(name, dict(zip(attributes, np.asarray(values).T, strict=True)))

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
        """Return whether each row has no missing value in some columns, (n_rows,).

        The columns are named by `attributes`.
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

    @property
    def n_targets(self) -> int:
        """Number of targets, the data subjects whose records are attacked."""
        return self.targets.n_rows

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
        """Names of the attributes on which at least one stage links, without repetition."""
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
        """Return an `Attempt`: a single attempt at each record by its best plan.

        The result includes unprofitable attempts. A linkage that is not a `PlanLinkage` counts as the plan without
        inference. For the parameters see `Adversary.respond`.
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
