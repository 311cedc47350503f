"""Perturb the values of records: one method for all columns, with one strength per column.

There are four methods (Templ, Kowarik and Meindl 2015, the package sdcMicro):

- ``pram``: a value is kept, or drawn anew from the values of the column (post-randomization);
- ``swap``: pairs of records exchange their values;
- ``microaggregate``: numbers are replaced by the mean of their group of neighbours;
- ``noise``: normal noise is added to numbers, and the sum is rounded to a value of the column.

A method returns the released labels, and the probability of each label given a true value. This probability links
records by likelihood (`reidsim.linkage.likelihood`). Columns are perturbed independently. The two methods for numbers
do not change a column with a category that is not a number.

All strengths of a column use the same random numbers, so that differences between strengths are not due to chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from reidsim.core.numerics import random_stream
from reidsim.populations.population import Attribute, Codes
from reidsim.releases.lattice import NO_BENEFIT, Floats, GeneralizationLattice, Rows, Strategies, StrategySpace
from reidsim.releases.noise import entropies, replaced


class PerturbedColumn(NamedTuple):
    """Released labels of a column.

    Attributes
    ----------
    labels : sequence of str
        Distinct labels.
    of_record : ndarray of int, shape (n_records,)
        Number of the label of each record.
    model : ndarray of float64, shape (n_labels, n_values)
        Probability of each label given each true value.
    """

    labels: Sequence[str]
    of_record: NDArray[np.integer]
    model: Floats


@dataclass(frozen=True, eq=False)
class TrueColumn:
    """True values of a column of the records.

    Parameters
    ----------
    attribute : Attribute
    codes : ndarray of int, shape (n_records,)
    """

    attribute: Attribute
    codes: Codes

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of records with each value."""
        return np.bincount(self.codes, minlength=self.attribute.size)

    @cached_property
    def numbers(self) -> Floats:
        """Each value as a number, NaN for other text; ``"90+"`` is 90."""
        texts = [category.removesuffix("+") for category in self.attribute.categories]
        return pd.to_numeric(pd.Series(texts), errors="coerce").to_numpy(dtype=np.float64)

    @property
    def has_numbers(self) -> bool:
        """Whether all values are numbers, and not all records have the same one."""
        return not np.isnan(self.numbers).any() and bool(np.ptp(self.numbers[self.codes]) > 0)

    def released(self, codes: Codes, model: Floats) -> PerturbedColumn:
        """Return the released column whose labels are values of the attribute."""
        return PerturbedColumn(self.attribute.categories, codes, model)


def unchanged(column: TrueColumn) -> PerturbedColumn:
    """Return the column with its true values."""
    return column.released(column.codes, np.eye(column.attribute.size))


def pram(column: TrueColumn, strength: float, rng: np.random.Generator) -> PerturbedColumn:
    """Keep each value with probability ``1 - strength``; otherwise draw it from the values of the records."""
    n = len(column.codes)
    uniform, donor = rng.random(n), rng.integers(0, n, n)
    codes = np.where(uniform < strength, column.codes[donor], column.codes)
    return column.released(codes, replaced(1.0 - strength, column.counts / n))


def swap(column: TrueColumn, strength: float, rng: np.random.Generator) -> PerturbedColumn:
    """Let a share `strength` of the records exchange their values, in random pairs."""
    n, codes = len(column.codes), column.codes.copy()
    paired = rng.permutation(n)[: 2 * (round(strength * n) // 2)].reshape(-1, 2)
    codes[paired] = codes[paired[:, ::-1]]
    # The partner of a record is any other record with the same probability.
    share, own = paired.size / n, np.diag(np.minimum(column.counts, 1))
    partner = (column.counts[:, None] - own) / (n - own.diagonal())
    # The label of a value without records does not occur.
    return column.released(codes, (1.0 - share) * np.eye(len(own)) + share * partner)


def noise(column: TrueColumn, strength: float, rng: np.random.Generator) -> PerturbedColumn:
    """Add normal noise; its standard deviation is `strength` times that of the column. Round to the nearest value."""
    numbers, own = column.numbers, column.numbers[column.codes]
    deviation = strength * own.std()
    order = np.argsort(numbers, kind="stable")
    between = (numbers[order][1:] + numbers[order][:-1]) / 2
    codes = order[np.searchsorted(between, own + deviation * rng.standard_normal(len(own)))]
    bounds = np.concatenate([[-np.inf], between, [np.inf]])
    model = np.empty((len(numbers), len(numbers)))
    model[order] = np.diff(scipy.special.ndtr((bounds[:, None] - numbers) / deviation), axis=0)
    return column.released(codes, model)


def microaggregate(column: TrueColumn, strength: float, rng: np.random.Generator) -> PerturbedColumn:
    """Replace numbers by the mean of their group of `strength` or more neighbours.

    Records with equal values on the border of two groups are assigned at random. The probability of a label, given a
    value, is its share among the records with this value. A value that no record has fits the labels of all groups
    whose lowest and highest value enclose it.
    """
    numbers, n = column.numbers, len(column.codes)
    order = np.lexsort((rng.random(n), numbers[column.codes]))
    group = np.empty(n, dtype=np.int64)
    group[order] = np.minimum(np.arange(n) // int(strength), max(n // int(strength), 1) - 1)
    means = np.bincount(group, numbers[column.codes]) / np.bincount(group)
    of_group, labels = pd.factorize(np.array([f"{mean:.6g}" for mean in means], dtype=object))
    of_record = of_group[group]
    shares = np.zeros((len(labels), len(numbers)))
    np.add.at(shares, (of_record, column.codes), 1.0 / column.counts[column.codes])
    low, high = np.full(len(labels), np.inf), np.full(len(labels), -np.inf)
    np.minimum.at(low, of_record, numbers[column.codes])
    np.maximum.at(high, of_record, numbers[column.codes])
    covers = (numbers >= low[:, None]) & (numbers <= high[:, None])
    return PerturbedColumn(labels.tolist(), of_record, np.where(column.counts > 0, shares, covers))


class Method(NamedTuple):
    """A method of perturbation.

    Attributes
    ----------
    draw : callable
        Returns a perturbed column, given the true column, a strength and a random generator.
    of_numbers : bool
        Whether it perturbs numbers only.
    """

    draw: Callable[[TrueColumn, float, np.random.Generator], PerturbedColumn]
    of_numbers: bool


METHODS = {
    "pram": Method(pram, of_numbers=False),
    "swap": Method(swap, of_numbers=False),
    "microaggregate": Method(microaggregate, of_numbers=True),
    "noise": Method(noise, of_numbers=True),
}


@dataclass(frozen=True, eq=False)
class PerturbationSpace(StrategySpace):
    """All combinations of strengths of a method, one per attribute; level 0 leaves an attribute unchanged.

    The information loss of a released label is the entropy of the true value given the label, if all values are equally
    probable beforehand. Losses add up over attributes with the weights of the lattice. For a set of values without
    noise, it is the loss of Wan et al. 2015, Eqs. 1 to 3.

    Parameters
    ----------
    lattice : GeneralizationLattice
        The records, one per cell, and the attributes that count in the information loss.
    method : str
        One of `METHODS`.
    strengths : tuple of float
        Strengths that attributes may have, in ascending order, besides being unchanged.
    seed : int
        Root seed of the draws.
    """

    lattice: GeneralizationLattice
    method: str
    strengths: tuple[float, ...]
    seed: int
    _drawn: dict[tuple[int, int], PerturbedColumn] = field(default_factory=dict, init=False, repr=False)

    @property
    def n_records(self) -> int:  # type: ignore[override]
        """Number of game rows: records, or people with several records."""
        return self.lattice.n_records

    @cached_property
    def columns(self) -> tuple[TrueColumn, ...]:
        """True values of the records by attribute."""
        return tuple(map(TrueColumn, self.lattice.domain.attributes, self.lattice.codes.T))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of strengths of each attribute, 1 if the method does not change the attribute."""
        numeric = METHODS[self.method].of_numbers
        changed = [each.has_numbers if numeric else np.ptp(each.codes) > 0 for each in self.columns]
        return tuple(1 + len(self.strengths) * bool(each) for each in changed)

    def released_columns(self, strategy: int) -> list[PerturbedColumn]:
        """Return the released columns of all records, one per attribute."""
        return [self._column(position, level) for position, level in enumerate(self.all_levels(strategy).tolist())]

    def _column(self, position: int, level: int) -> PerturbedColumn:
        key = (position, level)
        if key not in self._drawn:
            column, rng = self.columns[position], random_stream(self.seed, "perturbation", position)
            draw = METHODS[self.method].draw
            labels, of_record, model = draw(column, self.strengths[level - 1], rng) if level else unchanged(column)
            used, of_record = np.unique(of_record, return_inverse=True)
            self._drawn[key] = PerturbedColumn([labels[each] for each in used.tolist()], of_record, model[used])
        return self._drawn[key]

    def utility(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return 1 - information loss of each game row, in [0, 1]; see the class and `StrategySpace.utility`."""
        loss = np.zeros(len(self.lattice.codes))
        for column, full in zip(self.released_columns(strategy), self.lattice.entropies_of_full_loss, strict=True):
            loss += entropies(column.model)[column.of_record] / full
        loss = self.lattice.of_game_rows(loss)
        loss[loss > NO_BENEFIT] = 1.0
        return 1.0 - (loss if rows is None else loss[rows])

    def generalization_intensity(self, strategies: Strategies | int) -> Floats:
        """Return the sum of levels as a share of the sum of their numbers, below 1.

        A record with the greatest strengths is not suppressed, so its intensity is less than 1.
        """
        return np.asarray(self.all_levels(strategies).sum(axis=-1) / sum(self.shape))

    def describe(self, strategy: int) -> str:
        """Return the strengths of a strategy as text, such as ``"0.1,0"``; 0 is unchanged."""
        return ",".join(f"{([0.0, *self.strengths])[level]:g}" for level in self.all_levels(strategy).tolist())

    def released(self, strategies: Strategies, rows: Rows) -> pd.DataFrame:
        """Return the released labels of records; see `GeneralizationLattice.released`."""
        texts = np.full((len(self.columns), len(rows)), None, dtype=object)
        for strategy in np.unique(strategies[strategies >= 0]).tolist():
            at = strategies == strategy
            for position, column in enumerate(self.released_columns(strategy)):
                texts[position, at] = np.array(column.labels, dtype=object)[column.of_record[rows[at]]]
        # If all records are withheld, the categories are the values.
        return pd.DataFrame(
            {
                attribute.name: pd.Categorical(column, sorted({*column} - {None}) or attribute.categories)
                for attribute, column in zip(self.lattice.domain.attributes, texts, strict=True)
            }
        )
