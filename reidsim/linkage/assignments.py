"""Assignments of all released rows to people, each row to another record that it fits.

Groups of people overlap if the generalization differs by record. An adversary who knows everybody in the release can
assign all rows at once, and so exclude people who fit a row. Consider the graph with an edge from each row to the
records that fit it, and from each record to its own row. A row belongs to a record in some assignment if and only if a
path leads from the record back to the row, so that both are in one strongly connected component. Equal rows (forms) and
records with equal values (cells) are one node. A release in which k people are possible for each row has k-concealment
(Tassa, Mazza and Gionis 2012).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Positions = NDArray[np.intp]


class Components(NamedTuple):
    """Strongly connected components of the cells and forms of a release.

    Attributes
    ----------
    of_cell : ndarray of int32, shape (n_cells,)
        Number of each cell's component.
    of_form : ndarray of int32, shape (n_forms,)
        Number of each form's component.
    """

    of_cell: NDArray[np.int32]
    of_form: NDArray[np.int32]


def components(fits: scipy.sparse.csr_array, cell: Positions, form: Positions, withheld: Positions) -> Components:
    """Return the components of cells and forms.

    Parameters
    ----------
    fits : csr_array of bool, shape (n_cells, n_forms)
        Whether the values of each cell fit each form. Every row must fit its own record.
    cell, form : ndarray of int, shape (n_shared,)
        Cell of the record of each shared row, and form of the row.
    withheld : ndarray of int
        Cells of records that are not shared. Such a record counts as a row that fits everybody.
    """
    n_cells, n_forms = fits.shape
    pairs, anybody = fits.tocoo(), n_cells + n_forms
    everybody = np.arange(n_cells) if len(withheld) else withheld
    tail = np.concatenate([n_cells + pairs.col, cell, withheld, np.full(len(everybody), anybody)])
    head = np.concatenate([pairs.row, n_cells + form, np.full(len(withheld), anybody), everybody])
    graph = scipy.sparse.csr_array((np.ones(len(tail), np.int8), (tail, head)), shape=(anybody + 1, anybody + 1))
    found = scipy.sparse.csgraph.connected_components(graph, connection="strong")[1]
    return Components(found[:n_cells], found[n_cells:anybody])


def possible_pairs(fits: scipy.sparse.csr_array, found: Components) -> scipy.sparse.csr_array:
    """Return which pairs of a cell and a form that fit occur in an assignment of all rows, shape (n_cells, n_forms)."""
    pairs = fits.tocoo()
    both = found.of_cell[pairs.row] == found.of_form[pairs.col]
    return scipy.sparse.csr_array((pairs.data[both], (pairs.row[both], pairs.col[both])), shape=fits.shape)


def edges_between(fits: scipy.sparse.csr_array, found: Components) -> tuple[Positions, Positions]:
    """Return the cells and forms that fit and are in different components, both of shape (n,).

    These edges lead from forms to cells. There are none if and only if all pairs that fit are possible.

    Parameters
    ----------
    fits : csr_array of bool, shape (n_cells, n_forms)
        Whether the values of each cell fit each form.
    found : Components
        Components of the cells and forms.
    """
    pairs = fits.tocoo()
    crosses = found.of_cell[pairs.row] != found.of_form[pairs.col]
    return pairs.row[crosses].astype(np.intp), pairs.col[crosses].astype(np.intp)
