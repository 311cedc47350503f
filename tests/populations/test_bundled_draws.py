"""Bundled populations are identical on every machine, Python and numpy version."""

import hashlib
from dataclasses import fields

import numpy as np
import pytest

from reidsim.populations.catalogue import load_population, make_genealogy
from reidsim.populations.genealogy.genealogy import Genealogy, Mutations

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
    assert content_digest(make_genealogy(name, engine="vectorised")).startswith(GENEALOGIES[name])


def content_digest(genealogy: Genealogy) -> str:
    """Return the SHA-256 of all columns, names, engine and seed, in hexadecimal."""
    digest = hashlib.sha256()
    for field in fields(genealogy):
        value = getattr(genealogy, field.name)
        parts = [getattr(value, f.name) for f in fields(value)] if isinstance(value, Mutations) else [value]
        for part in parts:
            array = isinstance(part, np.ndarray)
            digest.update(f"{field.name}={(part.dtype.str, part.shape) if array else part!r};".encode())
            if array:
                digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
