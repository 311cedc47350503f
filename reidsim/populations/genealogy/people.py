"""Convert the people of a genealogy to individuals over a domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.genealogy.genealogy import NO_ALLELE, Genealogy, Rows
from reidsim.populations.individuals import Individuals
from reidsim.populations.sampling import UNKNOWN

SEXES = ("F", "M")
# Attributes that come before the loci in the domain.
TRAITS = ("generation", "subpopulation", "sex", "birth_year", "state", "surname", "wealth")


def genealogy_individuals(genealogy: Genealogy, rows: Rows | None = None) -> Individuals:
    """Return people of a genealogy with their traits and alleles.

    Parameters
    ----------
    genealogy : Genealogy
        Genealogy of the people.
    rows : ndarray of int64, shape (n_people,), optional
        Rows of the people, such as ``genealogy.living()``; default: all people.

    Returns
    -------
    Individuals
        Individuals with attributes `TRAITS` and the loci; alleles of women are missing (``UNKNOWN``). A numeric
        attribute has a category for every integer from its smallest to its largest value in the whole genealogy.
    """
    g = genealogy
    chosen = np.arange(len(g)) if rows is None else rows
    attributes, columns = [], []
    for name in TRAITS:
        values = getattr(g, name)
        labels = {"sex": SEXES, "state": g.states, "surname": g.surnames}.get(name)
        if labels is not None:
            attributes.append(Attribute(name, labels))
            columns.append(values[chosen].astype(np.int32))
        else:
            attribute, first = _whole_numbers(name, values)
            attributes.append(attribute)
            columns.append(values[chosen].astype(np.int32) - first)
    for position, locus in enumerate(g.loci):
        alleles = g.haplotypes[:, position]
        attribute, first = _whole_numbers(locus, alleles[alleles != NO_ALLELE])
        attributes.append(attribute)
        own = alleles[chosen].astype(np.int32)
        columns.append(np.where(own == NO_ALLELE, UNKNOWN, own - first).astype(np.int32))
    codes = np.column_stack(columns)
    return Individuals(Domain(tuple(attributes)), codes, name=g.recipe, source=f"{g.engine} engine, seed {g.seed}")


def _whole_numbers(name: str, values: NDArray[np.integer]) -> tuple[Attribute, int]:
    first, last = int(values.min()), int(values.max())
    return Attribute(name, tuple(map(str, range(first, last + 1)))), first
