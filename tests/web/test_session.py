"""The session of the page: a folder with every choice, without a browser."""

import string
from importlib import resources
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("solara")
import reidsim
from reidsim.audit import identifiers
from reidsim.core.errors import InputError
from reidsim.core.files import bundled_names, read_toml, resolve
from reidsim.drafts.profile import NAMES, Kind
from reidsim.drafts.roles import (
    DIRECT,
    HOUSEHOLD,
    KEPT,
    LEFT_OUT,
    QUASI,
    ROLES,
    SENSITIVE,
    WEIGHT,
    release_keys,
    roles_of,
    with_roles,
)
from reidsim.engine.exploration import Superseded
from reidsim.engine.scenario import Scenario
from reidsim.scenarios.registry import find_kind
from reidsim.web.page import BROWSERS, STEPS, closed
from reidsim.web.parts import LANGUAGES, language, said, strings
from reidsim.web.session import Session
from reidsim.web.steps import game


@pytest.fixture
def session(tmp_path):
    rng = np.random.default_rng(7)
    # Every age from 20 to 59 occurs twice.
    table = {"age": np.arange(80) % 40 + 20, "sex": rng.choice(["F", "M"], 80)}
    table |= {"zip": rng.choice(["37203", "37211"], 80), "illness": rng.choice(["I10", "E11", "J45"], 80)}
    opened = Session(tmp_path)
    path = opened.place_for("../../etc/my stays.csv")
    assert path == tmp_path / "uploads/my-stays.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    opened.take(path)
    return opened


def test_strings_of_all_languages_have_the_same_keys_and_values():
    (first, *others) = (strings(code) for code in LANGUAGES)

    def named(section):
        return {
            key: {name for _, name, _, _ in string.Formatter().parse(text) if name} for key, text in section.items()
        }

    assert set(STEPS) < set(first)
    for other in others:
        texts = {key: named(section) for key, section in other.items() if key != "package"}
        assert texts == {key: named(section) for key, section in first.items()}
    assert tuple(first["roles"]) == ROLES


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_fixed_texts_of_the_package_are_translated(session, code):
    kind, words = find_kind("tables"), [*NAMES.ranks, *identifiers._STRONG, *identifiers._WEAK]
    measures = [text for each in (*kind.measures, *kind.measures_of_people) for text in (each.label, each.definition)]
    session.change({"economics.cost": 60.0})
    (warning,) = session.solve().warnings
    assert "prefers the rows that match the fewest people" in warning
    texts = {
        "names": [*(policy.label for policy in kind.policies.values()), *measures],
        "types": get_args(Kind),
        "reasons": [*words, *session.columns()["why"]],
        "sentences": [session.drafted.unit, warning, "column 'n' is left out: free text, which may name people"],
    }
    language.set(code)
    try:
        said_in = {each: said(section, each)["lang"] for section, found in texts.items() for each in found}
        assert [each for each, found in said_in.items() if found != code] == []
        assert said("sentences", "unknown") == {"text": "unknown", "lang": "en"}
        for section, found in strings(code)["package"].items():
            for text in found:
                assert said(section, text)["lang"] == code
    finally:
        language.set("en")


def test_every_choice_is_in_the_scenario_and_is_read_again(session):
    session.set_role("illness", SENSITIVE)
    session.set_role("zip", LEFT_OUT)
    session.keep("zip", "share", True)
    session.keep("zip", "reason", " ")
    assert session.required.content["kept"]["zip"] == {"share": True}
    with pytest.raises(InputError, match="a declaration needs a reason"):
        session.change({"kept.zip": {"share": True, "known_to": "nobody", "reason": " "}})
    session.keep("zip", "reason", "never printed")
    session.change({"economics.loss": 500, "publisher.max_risk": 0.2})
    session.edit_hierarchy("age", lambda each: each.regroup(1, each.labels[0][:10], "young"))
    content = session.required.content
    assert (content["publisher"]["sensitive"], content["publisher"]["l_diversity"]) == (["illness"], 2)
    assert content["kept"]["zip"] == {"share": True, "known_to": "nobody", "reason": "never printed"}
    session.sign("policy", "basic")
    session.sign("decider", "Ada Moss")
    again = Session(session.folder)
    assert again.required == session.required
    assert again.signature == {"policy": "basic", "decider": "Ada Moss"}
    assert again.roles() == session.roles() == {"age": QUASI, "sex": QUASI, "zip": KEPT, "illness": SENSITIVE}
    assert "young" in again.hierarchy("age").labels[1]
    assert again.columns().set_index("column")["role"].to_dict() == session.roles()
    assert closed(again) == {}


def test_a_sensitive_column_that_is_kept_again_has_its_limits(session):
    session.set_role("illness", SENSITIVE)
    session.change({"publisher.l_diversity": None, "publisher.t_closeness": 0.25})
    content = session.required.content
    for kept in (False, True):
        session.keep("illness", "share", kept)
        assert session.roles().get("illness") == (SENSITIVE if kept else None)
    assert session.required.content == content
    session.set_role("illness", KEPT)
    for kept in (False, True):
        session.keep("illness", "share", kept)
    assert session.roles()["illness"] == KEPT


def test_a_quasi_identifier_that_was_left_out_has_its_hierarchy_again(session):
    path = session.place_for("zips.csv", "hierarchies")
    path.write_text("37203;center\n37211;south\n")
    session.read_hierarchy("zip", path)
    session.edit_hierarchy("age", lambda each: each.regroup(1, each.labels[0][:10], "young"))
    for name in ("zip", "age"):
        labels = session.hierarchy(name).labels
        for role in (LEFT_OUT, QUASI):
            session.set_role(name, role)
        assert session.hierarchy(name).labels == labels
        assert Session(session.folder).hierarchy(name).labels == labels


def test_edited_hierarchies_are_files_of_the_session_one_for_each_column(tmp_path):
    path, names = tmp_path / "uploads/people.csv", ("birth year", "birth-year")
    path.parent.mkdir()
    pd.DataFrame({name: np.arange(80) % 40 + 1950 for name in names}).to_csv(path, index=False)
    session = Session(tmp_path)
    for name in names:
        session = Session(tmp_path)
        session.edit_hierarchy(name, lambda each, name=name: each.regroup(1, each.labels[0][:10], f"{name} early"))
    for name in names:
        assert session.hierarchy(name).labels[1][0] == f"{name} early"
        assert Path(session.sections[name]["hierarchy"]["file"]).is_relative_to(tmp_path)


@pytest.mark.deep
def test_the_scenario_of_step_share_repeats_the_run_of_an_edited_hierarchy(session):
    session.edit_hierarchy("age", lambda each: each.cut(2, [20, 40]))
    session.write_release("no-attack")
    path = session.folder / "shared/scenario.toml"
    assert Path(read_toml(path)["attributes"]["age"]["hierarchy"]["file"]).is_relative_to(session.folder)
    pd.testing.assert_frame_equal(reidsim.run(path).summary, session.solve().summary)


def test_roles_that_leave_no_quasi_identifier_or_two_weights_are_refused(session):
    for name in ("sex", "zip"):
        session.set_role(name, LEFT_OUT)
    before = session.required
    with pytest.raises(InputError, match=r"^age: no quasi-identifier is left; found 'kept'"):
        session.set_role("age", KEPT)
    for role in (HOUSEHOLD, WEIGHT):
        content = {**before.content, "release": {**before.content["release"], **release_keys({"zip": role})}}
        session.scenario = Scenario(before.name, before.path, before.scenario, content)
        with pytest.raises(InputError, match=f"more than one {role}; found .'zip', 'sex'."):
            session.set_role("sex", role)


@pytest.mark.deep
def test_any_column_may_be_a_direct_identifier_which_is_not_kept(session):
    session.set_role("illness", DIRECT)
    assert Session(session.folder).columns().set_index("column")["role"]["illness"] == DIRECT
    results = session.solve().save(session.folder / "results")
    with pytest.raises(InputError, match="a direct identifier"):
        reidsim.share(results, "no-attack", keep=["illness"])
    session.set_role("illness", KEPT)
    assert session.required.content["kept"] == {"illness": {"share": True}}


def test_roles_are_written_as_they_are_read_and_other_declarations_stay():
    reason = {"known_to": "nobody", "reason": "never printed"}
    content = {
        "release": {"path": "a.csv", "person": ["a", "b"], "weight": "w"},
        "attributes": {"age": {}},
        "publisher": {"k": 3, "sensitive": "c", "t_closeness": 0.2},
        "kept": {"c": {"share": True}, "d": {"known_to": "everyone"}, "e": reason},
    }
    roles = roles_of(content)
    assert with_roles(content, roles) == {**content, "publisher": {**content["publisher"], "sensitive": ["c"]}}
    without = with_roles(content, {**roles, "c": LEFT_OUT, "d": KEPT})
    assert (without["publisher"], without["kept"]) == ({"k": 3}, {"d": {"share": True}, "e": reason})


def test_populations_are_offered_and_no_other_recipes():
    groups = read_toml(resources.files("reidsim.web") / "fields.toml")
    recipes = {name: read_toml(resolve(name, "populations", "population")) for name in bundled_names("populations")}
    populations = [
        name for name, each in recipes.items() if each["kind"] in ("counts", "census-cells", "attribute-model")
    ]
    assert groups["adversary"]["population.recipe"]["options"] == ["", *populations]


def test_a_file_that_cannot_be_read_leaves_the_session(session):
    before, path = session.required, session.place_for("empty.csv")
    path.write_text("")
    with pytest.raises(InputError):
        session.take(path)
    assert session.required is before
    assert Session(session.folder).required == before
    (session.folder / "scenario.toml").unlink()
    assert Session(session.folder).first_step == "file"


@pytest.mark.deep
def test_a_refused_change_leaves_the_scenario(session):
    before, text = session.required, (session.folder / "scenario.toml").read_text()
    for change in (
        lambda: session.change({"economics.loss": -1}),
        lambda: session.set_population("ystr-genealogy"),
        lambda: session.edit_hierarchy("age", lambda each: each.regroup(9, [], "none")),
    ):
        with pytest.raises(InputError):
            change()
        assert session.required is before
        assert (session.folder / "scenario.toml").read_text() == text


@pytest.mark.deep
def test_a_population_counts_groups_and_is_removed_again(session):
    session.set_population("tennessee-2010")
    assert session.required.content["adversary"] == {"risk": "journalist", "direction": "both"}
    assert session.required.content["attributes"]["sex"]["values"] == {"F": "Female", "M": "Male"}
    for key, value in (("kind", "voter-list"), ("coverage", 0.01), ("kind", "broker-file")):
        session.change(game._changes(session.required, f"resources.list.{key}", value))
    assert session.required.content["resources"] == {"list": {"kind": "broker-file", "coverage": 0.01}}
    assert session.solve().summary.loc["no-protection", "risk"] < 0.5
    with pytest.raises(InputError, match="population"):
        session.set_population(None)
    session.change(game._changes(session.required, "resources.list.kind", ""))
    assert session.required.content["adversary"] == {"risk": "journalist", "direction": "both"}
    session.edit_hierarchy("age", lambda each: each.regroup(1, each.labels[0][:10], "young"))
    session.set_population(None)
    # The edited hierarchy has all ages of the file; that of sex has other values, and is drafted again.
    assert session.hierarchy("age").labels[1][0] == "young"
    assert session.hierarchy("sex").labels[0] == ("F", "M")
    assert session.required.content["adversary"]["risk"] == "prosecutor"
    assert set(session.sections) == {"age", "sex", "zip"}


def test_another_population_keeps_the_adversary_except_its_risk(session):
    for key, value in (("direction", "record"), ("planner", "fmdp"), ("sequential.penalty", 5)):
        session.change(game._changes(session.required, f"adversary.{key}", value))
    own = {"direction": "record", "planner": "fmdp", "sequential": {"penalty": 5}}
    session.set_population("tennessee-2010")
    assert session.required.content["adversary"] == {**own, "risk": "journalist"}
    for kind in ("voter-list", ""):
        session.change(game._changes(session.required, "resources.list.kind", kind))
        assert session.required.content["adversary"].get("direction") == "record"
    session.set_population(None)
    assert session.required.content["adversary"] == {**own, "risk": "prosecutor"}


def test_own_amounts_after_those_of_a_paper_have_no_source(session):
    def change(key, value):
        session.change(game._changes(session.required, key, value))
        return session.required.content.get("source", "")

    for key, value in (("economics.loss", "500"), ("link", False), ("preset", "")):
        assert "Xia et al. 2015" in change("preset", "xia2015")
        assert "Xia et al. 2015" in change("publisher.max_risk", "0.2")
        assert change(key, value) == ""
    session.change({"source": "a contract"})
    assert change("economics.loss", "600") == "a contract"


def test_k_of_0_is_refused_and_an_empty_field_removes_k(session):
    session.change(game._changes(session.required, "publisher.k", "3"))
    before = session.required
    with pytest.raises(InputError, match=r"publisher\.k: .*found 0"):
        session.change(game._changes(before, "publisher.k", "0"))
    assert session.required is before
    session.change(game._changes(before, "publisher.k", ""))
    assert "k" not in session.required.content["publisher"]
    assert "k-anonymity" not in session.required.content["publisher"]["policies"]


NUMBERS = {"900": 900, " 2.5 ": 2.5, ".5": 0.5, "1e3": 1000.0, "0.125": 0.125, "": None}


GERMAN = {"2,5": 2.5, "0,125": 0.125, "1,5e2": 150.0}


@pytest.mark.parametrize(("code", "others"), [("en", {"1.000": 1.0, "12.000": 12.0}), ("de", GERMAN)])
def test_text_of_number_fields_is_read_strictly_or_refused(session, code, others):
    refused = {"1.000", "12.000", "2,5", "1,000.5", "1.000,5", "1.000.000", "12a", "0x10", "nan", "1 000", "\u0661"}
    language.set(code)
    try:
        for text, number in (NUMBERS | others).items():
            (found,) = game._changes(session.required, "economics.loss", text).values()
            assert (found, type(found)) == (number, type(number))
        for text in refused - set(others):
            with pytest.raises(InputError, match="not a plain number") as error:
                game._changes(session.required, "economics.loss", text)
            assert error.value.found == text
    finally:
        language.set("en")


def test_amounts_of_a_planner_are_set_and_removed_with_it(session):
    for key, value in (("planner", "fmdp"), ("sequential.access_cost", 2), ("sequential.penalty", 5)):
        session.change(game._changes(session.required, f"adversary.{key}", value))
    assert session.required.content["adversary"]["sequential"] == {"access_cost": 2, "penalty": 5}
    for _ in range(2):
        session.change(game._changes(session.required, "adversary.planner", "one-shot"))
        assert not session.required.content["adversary"].get("sequential")
    assert session.solve().summary.loc["no-protection", "risk"] > 0


def test_a_hierarchy_that_lacks_values_closes_the_next_steps(session):
    path = session.place_for("ages.csv", "hierarchies")
    path.write_text("".join(f"{age};{age // 10}0s\n" for age in range(20, 50)))
    session.read_hierarchy("age", path)
    missing = session.uncovered()["age"]
    assert set(missing) == {str(age) for age in range(50, 60)}
    assert set(closed(session)) == {"game", "share"}
    path = session.place_for("ages.csv", "hierarchies")
    path.write_text("".join(f"{age};{age // 10}0s\n" for age in range(20, 60)))
    session.read_hierarchy("age", path)
    assert closed(session) == {}
    split = session.place_for("ages.csv", "hierarchies")
    split.write_text("".join(f"{age};{age // 10}0s;{age % 2}\n" for age in range(20, 60)))
    before = session.required
    with pytest.raises(InputError, match="nested"):
        session.read_hierarchy("age", split)
    assert session.required.content == before.content


def test_the_newest_change_stops_an_older_computation(session, monkeypatch):
    original = session.holding

    def arriving(scenario):
        session.change({"economics.loss": 250.0})
        return original(scenario)

    with monkeypatch.context() as patched:
        patched.setattr(session, "holding", arriving)
        with pytest.raises(Superseded):
            session.solve()
    assert session.solve().summary.loc["no-attack", "share_attacked"] == 0


@pytest.mark.deep
def test_a_release_is_written_or_refused_as_by_the_command(session):
    with pytest.raises(InputError, match="not written: under policy 'no-protection' the risk of"):
        session.write_release("no-protection")
    session.keep("illness", "share", True)
    with pytest.raises(InputError, match="not written: kept columns single out people"):
        session.write_release("no-protection")
    assert session.written() == []
    session.keep("illness", "reason", "coded after the stay")
    policy, *_ = session.recommended("")
    session.sign("decider", "Ada Moss")
    session.write_release(policy)
    assert not session.is_outdated
    assert "Ada Moss" in (session.folder / "shared/report.html").read_text()
    assert {name.rpartition("/")[2] for name in session.written()} >= {"shared.csv", "shared.csv.json", "report.pdf"}
    assert "illness alone singles out" in session.summary()
    assert not list(session.folder.glob(".shared"))
    (session.folder / "own.txt").write_text("not of the session")
    session.remove()
    assert [path.name for path in session.folder.rglob("*") if path.is_file()] == ["own.txt"]


@pytest.mark.deep
@pytest.mark.parametrize("change", ["scenario", "signature"])
def test_written_files_are_outdated_after_a_change(session, change):
    policy, *_ = session.recommended("")
    session.write_release(policy)
    assert not Session(session.folder).is_outdated
    if change == "scenario":
        session.change({"economics.loss": 3000.0})
    else:
        session.sign("policy", "no-protection")
    assert session.is_outdated
    assert Session(session.folder).is_outdated


@pytest.mark.deep
def test_agents_are_played_for_the_release_too(session):
    changes = {"agents": {"rounds": 2}, "adversary.direction": "record", "economics.cost": 20.0}
    session.change({**changes, "publisher.policies": ["no-attack"]})
    session.write_release("no-attack")
    shared = pd.read_csv(session.folder / "shared/shared.csv", dtype=str)
    expected = reidsim.share(session.required.run(), "no-attack").astype(str)
    assert shared.to_numpy().tolist() == expected.to_numpy().tolist()
    assert read_toml(session.folder / "shared/scenario.toml")["agents"] == {"rounds": 2}


def test_reasons_for_the_unit_stay_if_a_role_changes(session):
    unit = session.drafted.unit
    assert "as declared" not in unit
    session.set_role("zip", LEFT_OUT)
    assert session.drafted.unit == unit


def test_no_release_is_recommended_if_all_exceed_the_limit(session):
    session.change({"publisher.policies": ["no-protection"]})
    assert session.recommended("")[:2] == ("", "no-protection")


def test_a_release_without_records_is_not_recommended(session):
    session.change({"publisher.policies": ["no-attack"], "economics.cost": 0.01})
    assert session.recommended("")[:2] == ("", "no-attack")


@pytest.mark.deep
def test_a_signed_report_stays_beside_newer_files(session):
    policy, *_ = session.recommended("")
    session.write_release(policy)
    signed = session.folder / "shared/report-signed.pdf"
    signed.write_bytes(b"signed")
    session.write_release(policy)
    assert signed.read_bytes() == b"signed"
    assert "shared/report-signed.pdf" not in session.written()
    session.remove()
    assert [path for path in session.folder.rglob("*") if path.is_file()] == [signed]


def test_a_refused_file_leaves_the_session_as_it_was(session):
    session.change({"economics.loss": 42.0})
    before = {path: path.read_bytes() for path in session.folder.rglob("*") if path.is_file()}
    content, source = session.required.content, session.source
    path = session.place_for("unusable.csv")
    pd.DataFrame({"remark": [f"nothing known {number}" for number in range(50)]}).to_csv(path, index=False)
    with pytest.raises(InputError):
        session.take(path)
    assert session.required.content == content
    assert session.source is source
    assert session.solve().summary.index.tolist()
    after = {path: path.read_bytes() for path in session.folder.rglob("*") if path.is_file()}
    assert {each: after.get(each) for each in before} == before


@pytest.mark.deep
def test_a_file_that_another_program_changed_is_read_again_with_every_choice(session):
    session.change({"economics.loss": 42.0})
    session.set_role("illness", LEFT_OUT)
    roles, path = session.roles(), session.source.path
    assert session.releases(session.solve())
    pd.read_csv(path)[:60].to_csv(path, index=False)
    with pytest.raises(InputError, match=r"differs from the file of the run.*read the file again in step File"):
        session.releases(session.solve())
    session.reread()
    result = session.solve()
    assert session.releases(result)
    assert result.records["record"].nunique() == 60
    assert "60 rows" in session.drafted.unit
    assert (session.required.content["economics"]["loss"], session.roles()) == (42.0, roles)
    before = session.required, session.source
    pd.read_csv(path)[["age"]].to_csv(path, index=False)
    with pytest.raises(InputError, match="sex"):
        session.reread()
    assert (session.required, session.source) == before


def test_sessions_of_browsers_are_separate():
    BROWSERS.offer(Scenario.load("market"))
    first, second = BROWSERS.session_of("a"), BROWSERS.session_of("b")
    assert first is BROWSERS.session_of("a")
    assert first.folder != second.folder
    assert (first.first_step, set(closed(first))) == ("game", {"file", "columns", "hierarchies", "share"})
    BROWSERS.offer()
    assert not first.folder.exists()


def test_a_folder_that_is_no_session_is_refused(tmp_path, session):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/letter.txt").write_text("private")
    with pytest.raises(InputError, match="not the folder of a session"):
        BROWSERS.offer(None, tmp_path / "other")
    (tmp_path / "own/hierarchies").mkdir(parents=True)
    (tmp_path / "own/scenario.toml").write_text("[release]\npath = 'a.csv'\n")
    with pytest.raises(InputError, match=r"not the folder of a session.*one with uploads"):
        BROWSERS.offer(None, tmp_path / "own")
    with pytest.raises(InputError, match="no such file"):
        session.inside("../other/letter.txt")
