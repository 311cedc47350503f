"""Genealogies made from recipes."""

import sys

import numpy as np
import pytest
from genealogy_figures import check_pedigree

from reidsim.core import files
from reidsim.core.errors import InputError
from reidsim.populations.catalogue import genealogy_table, make_genealogy
from reidsim.populations.genealogy import genealogy as vectorised


def test_options_replace_those_of_the_recipe(villages):
    genealogy = make_genealogy(villages, seed=9, people=48, generations=3)
    assert (genealogy.seed, len(genealogy), genealogy.n_generations) == (9, 144, 3)
    check_pedigree(genealogy)
    assert np.bincount(genealogy.subpopulation).tolist() == [36, 48, 60]
    assert genealogy_table(make_genealogy(str(villages))).equals(genealogy_table(make_genealogy(villages, seed=5)))


def test_simupop_without_simupop(villages, monkeypatch):
    monkeypatch.setitem(sys.modules, "simuOpt", None)
    monkeypatch.setitem(sys.modules, "simuPOP", None)
    villages.write_text(villages.read_text().replace("seed = 5", 'seed = 5\nengine = "simupop"'))
    with pytest.raises(InputError) as caught:
        make_genealogy(villages)
    assert str(caught.value) == (
        f"{villages}: engine: engine simupop needs package simuPOP, which is not installed; found 'simupop' "
        "(run pip install 'reidsim[simupop]', or set engine = \"vectorised\")"
    )


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"engine": "simupopp"}, "engine"),
        ({"seed": -1}, "seed"),
        ({"people": 4}, "people.subpopulations[0]"),
        ({"generations": 0}, "people.generations"),
        ({"people": -1}, "people.subpopulations[0]"),
    ],
)
def test_option_not_allowed(villages, options, where):
    with pytest.raises(InputError) as caught:
        make_genealogy(villages, **options)
    assert (caught.value.source, caught.value.where) == (str(villages), where)
    if where == "engine":
        assert caught.value.hint == "did you mean 'simupop'?"


def test_more_people_than_memory_holds(monkeypatch):
    monkeypatch.setattr(files, "free_memory", lambda: 10**9)
    monkeypatch.setattr(vectorised, "simulate", lambda *given, **named: pytest.fail("made before it was refused"))
    said = r"small\.toml: people: 30,000,000 people do not fit into memory: about 2\.3 GB are needed; expected"
    with pytest.raises(InputError, match=said):
        make_genealogy("ystr-genealogy-small", people=3_000_000)
