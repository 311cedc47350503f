"""External resources: samples of a population that an adversary can hold, such as registries and genealogy databases.

What the adversary sees (`ExternalResource.records`) and who each record is about (`ExternalResource.person`) are kept
apart: an adversary model is given the first, payoffs are computed with both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, nearest
from reidsim.populations.individuals import Individuals
from reidsim.populations.sampling import UNKNOWN

ANYONE = "anyone"


@dataclass(frozen=True)
class ExternalResource:
    """A file about some people of a population.

    Parameters
    ----------
    records : Individuals
        What the adversary sees; missing values are ``UNKNOWN``.
    person : ndarray of int64, shape (n_records,)
        The truth: row of the population that each record is about. Nobody has two records.
    n_people : int
        People of the population.
    price : float
        What the resource costs, once, in currency units.
    buyers : tuple of str
        Kinds of adversary who may have it; ``"anyone"`` for all.

    Raises
    ------
    InputError
        If somebody has two records, a record is about nobody, or the price is negative.
    """

    records: Individuals
    person: NDArray[np.int64]
    n_people: int
    price: float = 0.0
    buyers: tuple[str, ...] = (ANYONE,)

    def __post_init__(self) -> None:
        name = self.records.name
        if self.person.shape != (self.records.n_people,):
            raise InputError(
                "records and people disagree", where=name, found=f"{self.records.n_people} records, {len(self.person)}"
            )
        if self.person.min() < 0 or self.person.max() >= self.n_people:
            raise InputError("a record is about nobody", where=name, expected=f"people 0 to {self.n_people - 1}")
        if len(np.unique(self.person)) != len(self.person):
            raise InputError("a person has two records", where=name, expected="one record per person")
        if not self.price >= 0:
            raise InputError("negative price", where=name, found=self.price, expected="0 or more")

    def __repr__(self) -> str:
        return f"ExternalResource({len(self.person):,} rows about {self.n_people:,} people)"

    @property
    def name(self) -> str:
        """How messages and results call it."""
        return self.records.name

    @property
    def coverage(self) -> float:
        """Share of the population that has a record."""
        return self.records.n_people / self.n_people

    def record_of(self) -> NDArray[np.int64]:
        """Return the record of each person of the population, -1 for people without one, shape (n_people,)."""
        record = np.full(self.n_people, -1, dtype=np.int64)
        record[self.person] = np.arange(len(self.person))
        return record


def draw_people(
    world: Individuals,
    rng: np.random.Generator,
    *,
    coverage: NDArray[np.float64] | float | None = None,
    size: int | None = None,
    among: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Draw who has a record: everybody by chance, or exactly `size` people.

    Parameters
    ----------
    world : Individuals
    rng : numpy.random.Generator
    coverage : float or ndarray of float64, shape (n_people,), optional
        Probability that a person has a record, independently of others. With `size` it weighs who is drawn instead.
    size : int, optional
        Number of records; without weights every set of that many people is equally likely.
    among : ndarray of bool, shape (n_people,), optional
        Who can have a record (everybody, if not given).

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Rows of the world, in random order, so that the place in the file tells nothing.

    Raises
    ------
    InputError
        If a probability is outside [0, 1], too few people can be drawn, or nobody was.
    """
    chance = np.broadcast_to(np.asarray(1.0 if coverage is None else coverage, dtype=np.float64), (world.n_people,))
    outside = ~((chance >= 0) & (chance <= 1))
    if outside.any():
        raise InputError(
            "probability outside [0, 1]", where="coverage", found=float(chance[outside][0]), expected="0 to 1"
        )
    if among is not None:
        chance = np.where(among, chance, 0.0)
    possible = np.flatnonzero(chance > 0)
    if size is None:
        drawn = possible[rng.random(len(possible)) < chance[possible]]
        if not len(drawn):
            raise InputError("nobody is listed", where=world.name, expected="a larger coverage or population")
        return rng.permutation(drawn).astype(np.int64)
    if not 1 <= size <= len(possible):
        raise InputError("size that cannot be drawn", where="size", found=size, expected=f"1 to {len(possible)}")
    weights = chance[possible]
    if (weights == weights[0]).all():
        return rng.permutation(possible)[:size].astype(np.int64)
    # Exponential clocks that run at each person's weight: the first to ring are a weighted draw without replacement.
    rings = rng.standard_exponential(len(possible)) / weights
    order = np.argsort(rings, kind="stable")[:size]
    return rng.permutation(possible[order]).astype(np.int64)


def draw_resource(
    world: Individuals,
    person: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    attributes: Sequence[str] | None = None,
    missing: Mapping[str, float] | None = None,
    name: str = "resource",
    source: str = "",
    price: float = 0.0,
    buyers: tuple[str, ...] = (ANYONE,),
) -> ExternalResource:
    """Make the file about some people: the attributes that it carries, with values missing.

    Parameters
    ----------
    world : Individuals
    person : ndarray of int64, shape (n_records,)
        As from `draw_people`.
    rng : numpy.random.Generator
    attributes : sequence of str, optional
        Carried by the file (all, if not given).
    missing : mapping of str to float, optional
        Share of values missing, by attribute. Attributes of the same share lose values together: exactly
        ``int(records x attributes x share)`` of them, every set of that many being equally likely (as the genealogy
        database of Wan et al. 2021).
    name, source : str
    price : float
        In currency units.
    buyers : tuple of str

    Raises
    ------
    InputError
        If an attribute does not exist or is not carried, or a share is outside [0, 1].
    """
    records = world.take(person).select(tuple(attributes) if attributes is not None else world.domain.names)
    codes = records.codes.copy()
    by_share: dict[float, list[int]] = {}
    for attribute, share in (missing or {}).items():
        if attribute not in records.domain.names:
            raise InputError(
                "not an attribute of the resource",
                where=f"missing.{attribute}",
                hint=nearest(attribute, records.domain.names),
            )
        if not 0 <= share <= 1:
            raise InputError("share outside [0, 1]", where=f"missing.{attribute}", found=share, expected="0 to 1")
        by_share.setdefault(share, []).append(records.domain.position(attribute))
    for share, columns in by_share.items():
        lost = rng.choice(len(codes) * len(columns), int(len(codes) * len(columns) * share), replace=False)
        rows, chosen = np.divmod(lost, len(columns))
        codes[rows, np.asarray(columns)[chosen]] = UNKNOWN
    seen = Individuals(records.domain, codes, name=name, source=source)
    return ExternalResource(seen, person, world.n_people, price=price, buyers=buyers)
