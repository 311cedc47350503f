"""Group sizes of released records under prosecutor and journalist risk."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.full_domain.class_table import ClassTable, RollUp
from reidsim.populations.population import Population
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.wording import counted


def finest_classes(
    lattice: GeneralizationLattice, released: NDArray[np.int64], population: Population | None = None
) -> tuple[RollUp, ClassTable, NDArray[np.int32]]:
    """Return the ungeneralized classes of records, with sizes by a risk model.

    Under prosecutor risk the adversary knows that its target is in the released table, so the group size counts the
    released records of the class, before suppression. Under journalist risk it counts all people in the population who
    would be generalized to the same class.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice over the distinct cells of the records.
    released : ndarray of int64, shape (n_cells,)
        Number of records in each cell.
    population : Population, optional
        Population over the lattice's domain, as a table of people, as counts or as expected counts. If given,
        journalist risk applies; otherwise prosecutor risk.

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
        If the population has other categories, or classes need keys of more than 62 bits (`RollUp`).
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
    """Return the number of records in excess of the people with the same values.

    The excess is rounded up for each combination of values, and summed.
    """
    return int(_excess(lattice, released, population)[0].sum())


def require_part_of(
    lattice: GeneralizationLattice,
    released: NDArray[np.int64],
    population: Population,
    unit: tuple[str, str] = ("record", "records"),
) -> None:
    """Check that all released records can belong to people of the population.

    Journalist risk makes this assumption.

    Parameters
    ----------
    lattice, released, population
        See `finest_classes`.
    unit : tuple of str
        Singular and plural noun of the units counted in `released`, for the message.

    Raises
    ------
    InputError
        If some values have more records than people; the message names the first such values.
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
        hint=f"{too_many} more {unit[1]} than people" if others else None,
    )


def _excess(
    lattice: GeneralizationLattice, released: NDArray[np.int64], population: Population
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the excess of records over people by class, and the class of each cell.

    Classes are ungeneralized.
    """
    _, table, group_of = finest_classes(lattice, released, population)
    # Expected counts need not be whole numbers.
    return np.ceil(table.released - table.people - 1e-9).clip(min=0).astype(np.int64), group_of
