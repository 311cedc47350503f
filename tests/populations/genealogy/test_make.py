"""Genealogies by recipe, and the folder in which they are kept."""

import sys
import warnings
from pathlib import Path

import pytest
from genealogy_figures import check_pedigree

from reidsim import memory
from reidsim.bundled import bundled_folder
from reidsim.errors import InputError
from reidsim.populations.genealogy import make, simupop_engine, vectorised
from reidsim.populations.genealogy.genealogy_file import read_genealogy, write_genealogy
from reidsim.populations.genealogy.make import make_genealogy


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of kept genealogies, in which every size is kept."""
    folder = tmp_path / "kept"
    monkeypatch.setenv("REIDSIM_CACHE", str(folder))
    monkeypatch.setattr(make, "_KEPT_FROM", 0)
    return folder


@pytest.fixture
def made(monkeypatch):
    """The seeds of the genealogies made so far by the default engine."""
    seeds = []
    original = vectorised.simulate

    def counted(parameters, seed, **others):
        seeds.append(seed)
        return original(parameters, seed, **others)

    monkeypatch.setattr(vectorised, "simulate", counted)
    return seeds


def test_the_small_one_starts_at_once_and_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("REIDSIM_CACHE", str(tmp_path / "kept"))
    genealogy = make_genealogy("ystr-genealogy-small")
    assert (len(genealogy), genealogy.n_generations, len(genealogy.loci)) == (30_000, 10, 16)
    assert (genealogy.recipe, genealogy.engine, genealogy.seed) == ("ystr-genealogy-small", "vectorised", 2021)
    check_pedigree(genealogy)
    assert not (tmp_path / "kept").exists()


@pytest.mark.deep
def test_the_full_one_is_kept(tmp_path, monkeypatch, made):
    monkeypatch.setenv("REIDSIM_CACHE", str(tmp_path / "kept"))
    first = make_genealogy("ystr-genealogy")
    assert len(first) == 600_000
    assert make_genealogy("ystr-genealogy").content_digest() == first.content_digest()
    assert made == [2021]


def test_what_the_call_says_goes_before_the_recipe(villages):
    genealogy = make_genealogy(villages, seed=9, people=48, generations=3)
    assert (len(genealogy), genealogy.seed, genealogy.n_generations) == (144, 9, 3)
    assert make_genealogy(villages).seed == 5
    assert make_genealogy(str(villages)).content_digest() == make_genealogy(villages, seed=5).content_digest()


def test_each_is_kept_once(villages, kept, made):
    first = make_genealogy(villages)
    assert make_genealogy(villages).content_digest() == first.content_digest()
    assert made == [5]
    assert len(list(kept.iterdir())) == 1
    make_genealogy(villages, seed=6)
    make_genealogy(villages, people=48)
    make_genealogy(villages, generations=2)
    text = villages.read_text()
    villages.write_text(text.replace("leaves_pool = 0.5", "leaves_pool = 0.6"))
    make_genealogy(villages)
    loci = villages.parent / "loci.csv"
    loci.write_text(loci.read_text().replace("A,0.02", "A,0.03"))
    make_genealogy(villages)
    assert made == [5, 6, 5, 5, 5, 5]
    assert len(list(kept.iterdir())) == 6


def test_another_version_of_the_engine_makes_it_anew(villages, kept, made, monkeypatch):
    make_genealogy(villages)
    monkeypatch.setattr(vectorised, "VERSION", vectorised.VERSION + 1)
    make_genealogy(villages)
    assert made == [5, 5]


def test_keeping_none(villages, kept, made, monkeypatch):
    make_genealogy(villages, cache=False)
    monkeypatch.setenv("REIDSIM_CACHE", "OFF")
    make_genealogy(villages)
    assert not kept.exists()
    assert not Path("OFF").exists()
    assert made == [5, 5]


def test_where_they_are_kept(villages, kept, tmp_path, monkeypatch):
    make_genealogy(villages, cache=tmp_path / "mine")
    monkeypatch.delenv("REIDSIM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    make_genealogy(villages)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    make_genealogy(villages)
    assert not kept.exists()
    for folder in ("mine", "xdg/reidsim", "home/.cache/reidsim"):
        assert len(list((tmp_path / folder).iterdir())) == 1


@pytest.mark.parametrize("damage", [lambda content: content[:-100], lambda content: b"", lambda content: content[100:]])
def test_a_damaged_file_is_made_anew(villages, kept, made, damage):
    first = make_genealogy(villages)
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    with pytest.warns(UserWarning, match="not a genealogy, or damaged.*; it is made anew"):
        again = make_genealogy(villages)
    assert again.content_digest() == first.content_digest()
    assert file.read_bytes() == whole
    assert made == [5, 5]


def test_a_flipped_bit_is_found(villages, kept):
    first = make_genealogy(villages)
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    for at in range(4, len(whole) // 2, len(whole) // 40):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert make_genealogy(villages).content_digest() == first.content_digest()


def test_another_genealogy_in_the_place_of_one(villages, kept):
    first = make_genealogy(villages)
    (file,) = kept.iterdir()
    write_genealogy(make_genealogy(villages, seed=77), file)
    with pytest.warns(UserWarning, match="not the genealogy that belongs there; it is made anew"):
        assert make_genealogy(villages).content_digest() == first.content_digest()
    assert read_genealogy(file).seed == 5


def test_a_folder_that_cannot_be_written(villages, kept):
    kept.write_text("a file")
    with pytest.warns(UserWarning, match="cannot be written.*; the genealogy is not kept"):
        assert len(make_genealogy(villages)) == 1200


def test_progress(villages):
    heard = []
    make_genealogy(villages, progress=lambda *step: heard.append(step))
    assert heard[-1] == ("making the genealogy", 5, 5)


# What can be wrong


def test_simupop_without_simupop(villages, monkeypatch):
    monkeypatch.setitem(sys.modules, "simuOpt", None)
    monkeypatch.setitem(sys.modules, "simuPOP", None)
    villages.write_text(villages.read_text().replace("seed = 5", 'seed = 5\nengine = "simupop"'))
    with pytest.raises(InputError) as caught:
        make_genealogy(villages)
    assert str(caught.value) == (
        f"{villages}: engine: this engine needs simuPOP, which is not installed; found 'simupop' "
        "(pip install 'reidsim[simupop]', or engine = \"vectorised\")"
    )
    with pytest.raises(InputError, match="needs simuPOP"):
        simupop_engine.import_simupop()


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"engine": "simupopp"}, "engine"),
        ({"seed": -1}, "seed"),
        ({"people": 4}, "people"),
        ({"generations": 0}, "generations"),
    ],
)
def test_option_not_allowed(villages, options, where):
    with pytest.raises(InputError) as caught:
        make_genealogy(villages, **options)
    assert (caught.value.source, caught.value.where) == (str(villages), where)
    if where == "engine":
        assert caught.value.hint == "did you mean 'simupop'?"


def test_more_people_than_memory_holds(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 10**9)
    monkeypatch.setattr(vectorised, "simulate", lambda *given, **named: pytest.fail("made before it was refused"))
    said = r"small\.toml: people: 30,000,000 people are too many for memory: about 2\.3 GB are needed; expected"
    with pytest.raises(InputError, match=said):
        make_genealogy("ystr-genealogy-small", people=3_000_000)


def test_recipe_that_is_not_there():
    with pytest.raises(InputError, match="did you mean 'ystr-genealogy"):
        make_genealogy("ystr-genealogie")


def test_recipe_of_another_kind():
    with pytest.raises(InputError) as caught:
        make_genealogy("tennessee-2010")
    assert caught.value.source == str(bundled_folder("populations") / "tennessee-2010.toml")


# What a seed gives with this version of each engine. Another digest is another genealogy: then the engine's VERSION,
# which kept files are found by, has to change with it.
DIGESTS = {
    ("vectorised", 2): "87fdca06d95bc2aa4a54fa3112c0a4a5e68b8f25c2dde964f7e895444211cfc2",
    ("simupop", 1): "0291cada2400ec5e39d934e164a87dd9ac481dcda58dab39836cd7817e45a1f8",
}


@pytest.mark.parametrize("engine", ["vectorised", "simupop"])
def test_a_seed_gives_the_genealogy_that_its_engine_and_version_always_gave(engine):
    if engine == "simupop":
        pytest.importorskip("simuPOP", reason="the extra simupop is not installed")
    code = {"vectorised": vectorised, "simupop": simupop_engine}[engine]
    genealogy = make_genealogy("ystr-genealogy-small", people=300, generations=4, engine=engine, cache=False)
    assert genealogy.content_digest() == DIGESTS[engine, code.VERSION]
