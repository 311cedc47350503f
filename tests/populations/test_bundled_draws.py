"""Bundled populations are identical on every machine, Python and numpy version."""

import hashlib

import numpy as np
import pytest

from reidsim.populations.files import load_population, make_genealogy

# Another digest means other people, which changes users' results and documented figures.
DIGESTS = {
    "tennessee-2010": "8c802ee06099c49d",
    "north-carolina-2010": "ce7da61c782c3535",
    "north-carolina-voters": "fcca39d138cfe79b",
    "united-states-xia2021": "8663fff056054631",
}
GENEALOGIES = {
    "ystr-genealogy-small": "7b7edea10ef6ec3d",
    "ystr-genealogy": "de13c61c9986e6a6",
    "ystr-genealogy-ten-states": "74949570f55a1f63",
}
FAST = {"tennessee-2010", "ystr-genealogy-small"}


def named(digests):
    return [pytest.param(name, marks=() if name in FAST else pytest.mark.deep) for name in digests]


@pytest.mark.parametrize("name", named(DIGESTS))
def test_people_drawn_from_bundled_figures(name):
    population = load_population(name)
    digest = hashlib.sha256(population.cells.astype("<i4").tobytes() + population.counts.astype("<i8").tobytes())
    assert np.issubdtype(population.counts.dtype, np.integer)
    assert digest.hexdigest().startswith(DIGESTS[name])


@pytest.mark.parametrize("name", named(GENEALOGIES))
def test_bundled_genealogies(name):
    assert make_genealogy(name, engine="vectorised").content_digest().startswith(GENEALOGIES[name])
