"""Among how many people a released record hides: prosecutor and journalist risk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.errors import InputError
from reidsim.games.full_domain.class_table import ClassTable, RollUp
from reidsim.populations.population import Population
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows
from reidsim.wording import counted


def finest_classes(
    lattice: GeneralizationLattice, released: NDArray[np.int64], population: Population | None = None
) -> tuple[RollUp, ClassTable, NDArray[np.int32]]:
    """Put released records into classes whose sizes are those of a risk model.

    Under prosecutor risk the adversary knows that its target is in the released table, so a record hides among the
    released records of its class, counted before suppression. Under journalist risk it hides among everybody in the
    population who would be generalized to the same class.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Over distinct cells of the records.
    released : ndarray of int64, shape (n_cells,)
        Records in each cell.
    population : Population, optional
        Over the lattice's domain, as a table of people, as counts or as expected counts: journalist risk. Prosecutor
        risk if not given.

    Returns
    -------
    RollUp
    ClassTable
        The ungeneralized classes.
    ndarray of int32, shape (n_cells,)
        The class of each cell.

    Raises
    ------
    InputError
        If the population has other categories.
    """
    if population is None:
        roll_up = RollUp(lattice, lattice.codes)
        table, group_of = roll_up.finest(lattice.codes, released, released.astype(np.float64))
        return roll_up, table, group_of
    if population.domain != lattice.domain:
        raise InputError(
            "the population and the hierarchies have different categories",
            where=population.name,
            found=f"{population.domain.names}, {population.domain.shape}",
            expected=f"{lattice.domain.names}, {lattice.domain.shape}",
        )
    codes = np.concatenate([lattice.codes, population.cells])
    alone = np.zeros(len(population.cells), dtype=np.int64)
    people = np.concatenate([np.zeros(len(released)), population.counts.astype(np.float64)])
    roll_up = RollUp(lattice, codes)
    table, group_of = roll_up.finest(codes, np.concatenate([released, alone]), people)
    return roll_up, table, group_of[: len(released)]


def records_outside(lattice: GeneralizationLattice, released: NDArray[np.int64], population: Population) -> int:
    """Return how many records there are beyond the people whom the population has with the same values."""
    return int(_excess(lattice, released, population)[0].sum())


def require_part_of(
    lattice: GeneralizationLattice,
    released: NDArray[np.int64],
    population: Population,
    unit: tuple[str, str] = ("record", "records"),
) -> None:
    """Check that the released records, or the people whose records are, can all be people of the population.

    That is what journalist risk has it; `unit` is what is counted in the cells, for the message.

    Raises
    ------
    InputError
        Names the first values that more records have than people.
    """
    excess, group_of = _excess(lattice, released, population)
    if not excess.any():
        return
    cell = int(np.flatnonzero(excess[group_of])[0])
    together = int(released[group_of == group_of[cell]].sum())
    values: pd.Series[str] = lattice.domain.decode(lattice.codes[cell : cell + 1]).iloc[0]
    others = int((excess > 0).sum()) - 1
    too_many = f"{others:,} other combination{'s' if others > 1 else ''} of values {'have' if others > 1 else 'has'}"
    raise InputError(
        "the released table is not part of its population",
        where=population.name,
        found=f"{counted(together, *unit)} and "
        f"{counted(together - int(excess[group_of[cell]]), 'person', 'people')} with "
        + ", ".join(f"{name} = {value}" for name, value in values.items()),
        expected=f"at least as many people as {unit[1]} with the same values",
        hint=f"{too_many} more {unit[1]} than people, too" if others else None,
    )


def _excess(
    lattice: GeneralizationLattice, released: NDArray[np.int64], population: Population
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the records of each ungeneralized class beyond its people, and the class of each cell."""
    _, table, group_of = finest_classes(lattice, released, population)
    # Expected counts need not be whole.
    return np.ceil(table.released - table.people - 1e-9).clip(min=0).astype(np.int64), group_of


@dataclass(frozen=True, eq=False)
class GivenSizes:
    """A linker for choices whose class sizes are known (a `Linker`).

    Parameters
    ----------
    sizes : ndarray of float64, shape (n_records,)
        Among how many people each record hides under the strategy chosen for it.
    """

    sizes: Floats

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the sizes of all records, or of `rows`, whatever the strategy."""
        sizes = self.sizes if rows is None else self.sizes[rows]
        return Linkage(sizes, sizes)
