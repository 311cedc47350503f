"""The columns of a genealogy, which an engine fills generation by generation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.genealogy.genealogy import NO_PARENT, Genealogy, Mutations
from reidsim.populations.genealogy.parameters import GenealogyParameters

# Called as progress(task, generations done, generations).
Progress = Callable[[str, int, int], None]
TASK = "making the genealogy"


class Columns(NamedTuple):
    """The columns of a genealogy; see `Genealogy`."""

    father: NDArray[np.int32]
    mother: NDArray[np.int32]
    sex: NDArray[np.uint8]
    generation: NDArray[np.int16]
    subpopulation: NDArray[np.int16]
    surname: NDArray[np.int32]
    birth_year: NDArray[np.int32]
    state: NDArray[np.int16]
    wealth: NDArray[np.int16]
    rank: NDArray[np.int8]
    haplotypes: NDArray[np.uint8]


def empty_columns(parameters: GenealogyParameters) -> Columns:
    """Return columns in which only generation and subpopulation are filled.

    All parents are `NO_PARENT`; the other columns are uninitialized.
    """
    p, n = parameters, parameters.total
    of_birth = np.repeat(np.arange(len(p.subpopulations), dtype=np.int16), p.subpopulations)
    return Columns(
        father=np.full(n, NO_PARENT, dtype=np.int32),
        mother=np.full(n, NO_PARENT, dtype=np.int32),
        sex=np.empty(n, dtype=np.uint8),
        generation=np.repeat(np.arange(p.generations, dtype=np.int16), p.people),
        subpopulation=np.tile(of_birth, p.generations),
        surname=np.empty(n, dtype=np.int32),
        birth_year=np.empty(n, dtype=np.int32),
        state=np.empty(n, dtype=np.int16),
        wealth=np.empty(n, dtype=np.int16),
        rank=np.empty(n, dtype=np.int8),
        haplotypes=np.empty((n, len(p.loci)), dtype=np.uint8),
    )


def as_genealogy(
    parameters: GenealogyParameters, columns: Columns, mutations: list[Mutations], *, engine: str, seed: int
) -> Genealogy:
    """Return the genealogy that consists of these columns and mutations.

    Parameters
    ----------
    parameters : GenealogyParameters
        Source of the recipe's name and of the names of surnames, states and loci.
    columns : Columns
        Filled columns.
    mutations : list of Mutations
        Mutations of each generation except the last; they are joined.
    engine : str
        Name of the engine.
    seed : int
        Seed of the simulation.
    """
    return Genealogy(
        **columns._asdict(),
        mutations=joined(mutations),
        surnames=parameters.surnames,
        states=parameters.states,
        loci=parameters.loci,
        recipe=parameters.name,
        engine=engine,
        seed=seed,
    )


def joined(mutations: list[Mutations]) -> Mutations:
    """Return one list of all mutations, sorted by individual and locus."""
    if not mutations:
        nothing = np.empty(0, dtype=np.uint8)
        return Mutations(nothing.astype(np.int32), nothing.astype(np.int16), nothing, nothing)
    columns = [np.concatenate([getattr(part, item.name) for part in mutations]) for item in fields(Mutations)]
    order = np.lexsort((columns[1], columns[0]))
    return Mutations(*(column[order] for column in columns))


def no_couple(subpopulation: int, generation: int) -> InputError:
    """Return the error for a subpopulation in which no couple is possible."""
    problem, where = "no rank has both a man and a woman", f"subpopulation {subpopulation}, generation {generation}"
    return InputError(f"{problem}, so nobody can marry", where=where, hint="use more people or fewer ranks")
