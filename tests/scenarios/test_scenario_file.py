"""Load scenarios: names, files, overrides; invalid files raise only `InputError`."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest
from found import at_least
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.core.files import bundled_names
from reidsim.core.validation import parse_override
from reidsim.kinds.tables.build import build_study
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).parent / "town"


@pytest.fixture
def town(tmp_path, monkeypatch):
    """Return the scenario in a copy of the town; the working folder is next to it."""
    shutil.copytree(TOWN, tmp_path / "town")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "town" / "town.toml"


def result_or_refusal(function, *arguments):
    """Return (result, None) or (None, `InputError`); any other exception propagates."""
    try:
        return function(*arguments), None
    except InputError as error:
        return None, error


# Names and files.


@pytest.mark.parametrize("name", at_least(22, bundled_names("scenarios")))
def test_every_bundled_scenario_can_be_loaded_and_has_a_title(name):
    assert Scenario.load(name).scenario.title


def test_a_file_does_not_hide_a_bundled_scenario_of_the_same_name(town, monkeypatch):
    monkeypatch.chdir(town.parent)
    shutil.copy(town, "wan2015")
    assert Scenario.load("wan2015").scenario.economics.benefit == 1200


def test_relative_paths_start_at_the_scenario_wherever_one_works(town):
    study = build_study(Scenario.load("../town/town.toml"))
    assert study.n_records == 30
    assert study.linked_population.total == 33
    assert [len(h.attribute.categories) for h in study.lattice.hierarchies] == [4, 2, 4]


# Overrides.


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("economics.loss=600", "economics.loss", 600),
        ("economics.loss=600.5", "economics.loss", 600.5),
        ("economics.loss = 6e2", "economics.loss", 600.0),
        (" seed =3", "seed", 3),
        ("population.counts=expected", "population.counts", "expected"),
        ('population.counts="expected"', "population.counts", "expected"),
        ("title=Two words, and = signs", "title", "Two words, and = signs"),
        ("title=", "title", ""),
        ("title='true'", "title", "true"),
        ("attributes.sex.in_loss=true", "attributes.sex.in_loss", True),
        ("attributes.sex.in_loss=True", "attributes.sex.in_loss", "True"),
        ("release.path=adult.data", "release.path", "adult.data"),
        ("release.path=C:\\data\\adult.data", "release.path", "C:\\data\\adult.data"),
        ('publisher.policies=["basic", "no-attack"]', "publisher.policies", ["basic", "no-attack"]),
        ("figures={}", "figures", {}),
        ("sweep.values={cost = {values = [1, 2]}}", "sweep.values", {"cost": {"values": [1, 2]}}),
        ("a.b.c.d=0", "a.b.c.d", 0),
    ],
)
def test_an_override_is_a_key_and_a_toml_value_or_else_text(text, key, value):
    parsed = parse_override(text)
    assert parsed == (key, value)
    assert type(parsed[1]) is type(value)


@examples(300)
@given(st.text(alphabet="[]{}=.,\"'\\#0123456789-+_eTZ:truefalsnaif \n\r\t\0", max_size=40))
def test_any_text_that_resembles_toml_is_a_value_or_an_input_error(value):
    parsed, refusal = result_or_refusal(parse_override, f"seed={value}")
    assert parsed or str(refusal).startswith("--set: ")


def test_the_seed_can_be_given_on_its_own_and_wins(town):
    assert Scenario.load(town).scenario.seed == 7
    assert Scenario.load(town, seed=0).scenario.seed == 0
    loaded = Scenario.load(town, {"seed": 3}, seed=4)
    assert (loaded.scenario.seed, loaded.content["seed"]) == (4, 4)


@pytest.mark.parametrize("given_as", [str, Path])
def test_a_file_in_an_override_is_relative_to_the_working_folder(town, given_as):
    (Path("people") / "here").mkdir(parents=True)
    records = Path("mine.csv")
    records.write_text("Geschlecht,Alter,Bezirk\nm,30,N1\n")
    assert build_study(Scenario.load(town, {"release.path": given_as(records)})).n_records == 1
    shutil.copytree(TOWN / "people", "people/here", dirs_exist_ok=True)
    with Path("people/here/people.csv").open("a") as file:
        file.write("30,F,S1,100\n")
    moved = Scenario.load(town, {"population.recipe": given_as(Path("people/here/people.toml"))})
    assert build_study(moved).linked_population.total == 133


@pytest.mark.parametrize(
    ("old", "new", "overrides", "says"),
    [
        ("cost = 10", "cost = -10", {"economics.loss": 5}, r"town\.toml: economics\.cost"),
        ("seed = 7", "seeds = 7", {"seed": 5}, r"town\.toml: seeds: unknown key"),
        ("loss = 60", "loss = 60\nlosses = 3", {"economics.loss": 5}, r"town\.toml: economics\.losses: unknown key"),
    ],
)
def test_a_mistake_in_the_file_is_blamed_on_the_file_whatever_is_overridden(town, old, new, overrides, says):
    town.write_text(town.read_text().replace(old, new))
    with pytest.raises(InputError, match=says) as caught:
        Scenario.load(town, overrides)
    assert caught.value.source == str(town)


# Every file is either a valid scenario or raises an InputError that names the file.


def assert_scenario_or_input_error(path):
    loaded, refusal = result_or_refusal(Scenario.load, path)
    if refusal:
        assert refusal.source == str(path)
        assert str(refusal).startswith(f"{path}: ")
        assert "\n" not in str(refusal)
    else:
        assert isinstance(loaded, Scenario)
    return loaded


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "any.toml"


@examples(200)
@given(st.one_of(st.binary(), st.text(st.characters(codec="utf-8")).map(str.encode)))
def test_any_bytes_are_a_scenario_or_an_input_error(scratch, content):
    scratch.write_bytes(content)
    assert_scenario_or_input_error(scratch)


NASTY = ["", " ", "\n", "a\nb", "\0", ";", "*", ".", "..", "/", "1999-1-1", "--1", "[/]", "p" * 300]
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=8) | st.sampled_from(NASTY)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-5, 300),
    st.floats(allow_nan=True, allow_infinity=True),
    WORDS,
    st.sampled_from(
        ["csv", "prosecutor", "age", "basic", "suppress", "patients.csv", "\n", "\0", ";", "*", "1999-1-1"]
    ),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


def as_toml(value):
    """Write plain data as TOML, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)} = {as_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def write_toml(path, content):
    lines = [f"{json.dumps(key, ensure_ascii=False)} = {as_toml(value)}\n" for key, value in content.items()]
    path.write_text("".join(lines), encoding="utf-8", newline="")


def places(content, prefix=()):
    """Yield the key path of every value, including sections and list elements."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*prefix, key)
        yield from places(value, (*prefix, key))


@st.composite
def mutations(draw, content):
    """Return a scenario's content with one to three random changes.

    A change replaces, removes, renames or adds a value.
    """
    content = json.loads(json.dumps(content))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(content)) or [()]))
        if not path:
            break
        table = content
        for key in path[:-1]:
            table = table[key]
        last = path[-1]
        match draw(st.sampled_from(["replace", "remove", "rename", "add"])):
            case "replace":
                table[last] = draw(ANYTHING)
            case "remove":
                del table[last]
            case "rename" if isinstance(table, dict):
                table[draw(WORDS)] = table.pop(last)
            case "add" if isinstance(table, dict):
                table[draw(WORDS)] = draw(ANYTHING)
    return content


SMALL = tomllib.loads((TOWN / "town.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def scratch_town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scratch") / "town"
    shutil.copytree(TOWN, folder)
    return folder / "town.toml"


@examples(300)
@given(mutations(SMALL))
def test_a_mutated_scenario_can_be_built_or_is_an_input_error(scratch_town, content):
    write_toml(scratch_town, content)
    loaded = assert_scenario_or_input_error(scratch_town)
    if loaded is not None:
        _, refusal = result_or_refusal(build_study, loaded)
        assert refusal is None or (refusal.source and "\n" not in str(refusal))


# Scenarios that extend another scenario.


@pytest.fixture
def extending(tmp_path):
    """Return a function that writes a scenario which extends a town in another folder."""
    town = tmp_path / "town"
    shutil.copytree(Path(__file__).parent / "town", town)

    def write(text, extends="town/town.toml"):
        (tmp_path / "mine.toml").write_text(f'extends = "{extends}"\n{text}', encoding="utf-8")
        return tmp_path / "mine.toml"

    return write


def test_a_scenario_is_what_it_extends_but_for_what_it_says(extending, tmp_path):
    base = Scenario.load(tmp_path / "town" / "town.toml")
    mine = Scenario.load(extending('title = "Mine"\n[economics]\nloss = 77\n'))
    assert (mine.name, mine.scenario.title) == ("mine", "Mine")
    assert mine.scenario.economics.loss == 77
    assert mine.scenario.economics.cost == base.scenario.economics.cost
    assert mine.scenario.attributes.keys() == base.scenario.attributes.keys()
    # Paths in the town scenario still point to the town's folder.
    assert Path(mine.content["release"]["path"]) == tmp_path / "town" / base.content["release"]["path"]
    assert "extends" not in mine.content


@pytest.mark.parametrize("entry", ["2", "x"])
def test_entries_of_lists_are_replaced_by_number(entry):
    changed = Scenario.load("wan2021", {"adversary.stages.0.method": "nearest-neighbour"})
    assert changed.scenario.adversary.stages[0].method == "nearest-neighbour"
    assert Scenario.load("wan2021").scenario.adversary.stages[0].method == "tmrca"
    with pytest.raises(InputError) as error:
        Scenario.load("wan2021", {f"adversary.stages.{entry}.stage": "identify"})
    problem = f"no such list entry; found '{entry}'; expected a position from 0 to 1"
    assert str(error.value) == f"--set: adversary.stages: {problem}"


KNOWLEDGE_IN_MANY_PLACES = """
[uncertainty.parameters."adversary.knowledge"]
distribution = "discrete"
values = ["know.toml", "some-name"]
[sweep.values]
"attributes.district.hierarchy" = [{ rule = "table", file = "flat.csv" }]
[[stress.beliefs]]
key = "economics.cost"
true = [5, 10]
[[stress.beliefs]]
key = "release.path"
true = ["a.csv"]
believed = { values = ["bundled:b.csv", "c.csv"] }
[stress.map]
x = { key = "population.recipe", values = ["sub/people.toml", "tennessee-2010"] }
y = { key = "economics.loss", values = { from = 1, to = 2, points = 2 } }
"""


def test_files_of_uncertain_parameters_and_stress_tests_stay_relative_to_their_scenario(extending, tmp_path):
    town = tmp_path / "town" / "town.toml"
    town.write_text(town.read_text(encoding="utf-8") + KNOWLEDGE_IN_MANY_PLACES, encoding="utf-8")
    there = town.parent
    content = Scenario.load(extending("seed = 5\n")).content
    drawn = content["uncertainty"]["parameters"]["adversary.knowledge"]
    assert drawn == {"distribution": "discrete", "values": [str(there / "know.toml"), "some-name"]}
    hierarchy = {"rule": "table", "file": str(there / "flat.csv")}
    assert content["sweep"]["values"] == {"attributes.district.hierarchy": [hierarchy]}
    assert content["stress"]["beliefs"] == [
        {"key": "economics.cost", "true": [5, 10]},
        {
            "key": "release.path",
            "true": [str(there / "a.csv")],
            "believed": {"values": ["bundled:b.csv", str(there / "c.csv")]},
        },
    ]
    assert content["stress"]["map"] == {
        "x": {"key": "population.recipe", "values": [str(there / "sub" / "people.toml"), "tennessee-2010"]},
        "y": {"key": "economics.loss", "values": {"from": 1, "to": 2, "points": 2}},
    }


def test_files_of_a_map_are_of_the_key_that_the_scenario_gives(town):
    text = town.read_text(encoding="utf-8")
    stress = '[[stress.beliefs]]\nkey = "release.path"\ntrue = ["a.csv"]\n'
    town.write_text(f"{text}\n{stress}", encoding="utf-8")
    content = Scenario.load(town, {"stress.beliefs.0.believed": ["b.csv"]}).content
    assert content["stress"]["beliefs"][0]["believed"] == [str(Path("b.csv").absolute())]


def test_swept_entries_of_lists_are_told_from_values(extending, tmp_path):
    """The 0 in the key path is a stage number; the value after it is a list of values."""
    swept = '[sweep.values]\n"adversary.stages.0.mutation_rates" = ["rates.csv", "bundled:more.csv"]\n'
    (tmp_path / "base.toml").write_text(f'extends = "wan2021"\n{swept}', encoding="utf-8")
    values = Scenario.load(extending("seed = 5\n", extends="base.toml")).content["sweep"]["values"]
    assert values == {"adversary.stages.0.mutation_rates": [str(tmp_path / "rates.csv"), "bundled:more.csv"]}
