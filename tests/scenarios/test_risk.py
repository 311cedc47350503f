"""Risk scenarios: schema, samples, files of records, and errors that name the key."""

from pathlib import Path

import numpy as np
import pytest

from reidsim.adversaries.knowledge.assessment import assess
from reidsim.core.errors import InputError
from reidsim.kinds.assessment.kind import assess_release
from reidsim.kinds.assessment.study import build_risk_study
from reidsim.linkage.uniqueness import FixedUniqueness
from reidsim.scenarios.scenario import Scenario

PEOPLE = """
kind = "counts"
file = "people.csv"
count = "n"
[columns]
sex = "sex"
town = "town"
"""
SCENARIO = """
game = "risk"
[population]
recipe = "people.toml"
[release]
sizes = [3, 5]
samples = 2
[knowledge]
all = "worst-case"
[uniqueness]
method = "fixed"
value = 0.5
"""
FILE = """
game = "risk"
[release]
path = "records.csv"
[knowledge]
all = "worst-case"
[uniqueness]
method = "fixed"
value = 0.5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.toml").write_text(PEOPLE)
    (tmp_path / "people.csv").write_text("sex,town,n\nF,A,3\nF,B,2\nM,A,1\nM,B,4\n")
    (tmp_path / "records.csv").write_text("Sex,town\nF,A\nM,A or B\nM,B\n")
    return tmp_path


def study_of(folder: Path, text: str, changes: dict[str, object] | None = None):
    (folder / "risk.toml").write_text(text)
    loaded = Scenario.load(folder / "risk.toml", changes)
    return build_risk_study(loaded)


def prepare(folder: Path, text: str, changes: dict[str, object] | None) -> None:
    study = study_of(folder, text, changes)
    study.knowledge(study.release(study.sizes[0], 0))


def refused(folder: Path, text: str, changes: dict[str, object] | None = None) -> str:
    with pytest.raises(InputError) as error:
        prepare(folder, text, changes)
    return str(error.value)


def test_samples_are_people_drawn_without_replacement(folder):
    study = study_of(folder, SCENARIO, {"release.sizes": [10]})
    release = study.release(10, 0)
    cells, counts = np.unique(release.codes, axis=0, return_counts=True)
    assert {tuple(cell): n for cell, n in zip(cells.tolist(), counts.tolist(), strict=True)} == {
        (0, 0): 3, (0, 1): 2, (1, 0): 1, (1, 1): 4,
    }  # fmt: skip
    assert release.domain.names == ("sex", "town")


def test_a_sample_depends_on_seed_size_and_number_only(folder):
    few, many = study_of(folder, SCENARIO), study_of(folder, SCENARIO, {"release.sizes": [8, 5], "release.samples": 9})
    assert (few.release(5, 1).codes == many.release(5, 1).codes).all()
    other = study_of(folder, SCENARIO, {"seed": 1, "release.sizes": [8, 5]})
    assert any((few.release(5, s).codes != other.release(5, s).codes).any() for s in range(4))


def test_records_of_a_file_with_groups(folder):
    changes = {
        "release.columns": {"sex": "Sex"},
        "trees.town.groups": {"A or B": ["A", "B"]},
        "release.attributes": ["town", "sex"],
    }
    release = study_of(folder, FILE, changes).release(3, 0)
    assert release.domain.names == ("town", "sex")
    assert release.domain["town"].categories == ("A", "B")
    assert [release.trees["town"].labels[node] for node in release.codes[:, 0]] == ["A", "A or B", "B"]


def test_a_value_tree_from_a_hierarchy_file(folder):
    (folder / "towns.csv").write_text("A;A or B;*\nB;A or B;*\nC;C;*\n")
    changes = {"release.columns": {"sex": "Sex"}, "trees.town.file": str(folder / "towns.csv")}
    release = study_of(folder, FILE, changes).release(3, 0)
    assert release.domain["town"].categories == ("A", "B", "C")


def test_a_file_within_a_known_population(folder):
    (folder / "records.csv").write_text("sex,town\nF,A\nM,B\n")
    study = study_of(
        folder, FILE, {"population.recipe": str(folder / "people.toml"), "uniqueness": {"method": "known"}}
    )
    assert study.domain == study.population.domain
    assert study.uniqueness().counts.sum() == 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"release.sizes": [11]},
            "release.sizes: the sample is larger than the population; found 11; expected at most 10",
        ),
        ({"release.sizes": [3, 3]}, "sizes: value given twice; found 3"),
        ({"release.path": "records.csv"}, "the records are missing or given twice"),
        ({"release.attributes": ["county"]}, "release.attributes: no such attribute; found 'county'"),
        (
            {"knowledge.worst-case": "worst-case"},
            "knowledge.worst-case: name reserved for the worst case, which is always included",
        ),
        ({"knowledge.all": "worstcase"}, "no bundled knowledge recipe of this name; found 'worstcase'"),
        ({"knowledge": {}}, "knowledge: value not allowed"),
        ({"uniqueness.value": 1.5}, "uniqueness.value: value not allowed; found 1.5"),
        ({"uniqueness": {"method": "fixed"}}, "value: key missing"),
        ({"uniqueness": {"method": "pitman"}}, "population_size: key missing"),
        ({"uniqueness": {"method": "known", "value": 0.5}}, "uniqueness.value: the key has no effect"),
        ({"network.p_m": -0.1}, "network.p_m: value not allowed; found -0.1"),
        ({"network.p_x": 0.1}, "network.p_x: unknown key"),
        ({"trees.town.groups": {"all": ["A", "B"]}}, "the key has no effect; expected this key only with release.path"),
        ({"expectation.trials": 1}, "expectation.trials: value not allowed; found 1"),
        (
            {"figures.settings": {"p_m": [0.5], "p_fm": [0.5], "p_cu": [0.5], "p_c": [0.5], "records": 4}},
            "no sample of this size; found 4; expected one of 3, 5",
        ),
    ],
)
def test_scenarios_of_samples_that_are_refused(folder, changes, message):
    assert message in refused(folder, SCENARIO, changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "records.csv: row 2, column 'town': value missing from the value tree of 'town'; found 'A or B'"),
        ({"release.samples": 2}, "release.samples: the key has no effect"),
        ({"trees.towns.groups": {"all": ["A"]}}, "trees: no such attribute; found 'towns'"),
        ({"release.columns": {"sex": "gender"}}, "release.columns: no such attribute; found 'sex'"),
        ({"release.attributes": ["sex"]}, "column 'sex': column missing"),
        ({"uniqueness": {"method": "known"}}, "population: section missing"),
        ({"trees.town": {}}, "the groups are missing or given twice"),
        ({"trees.town.groups": {"x": ["A"], "y": ["A"]}}, "value tree of 'town': value in two groups; found 'A'"),
    ],
)
def test_scenarios_of_files_that_are_refused(folder, changes, message):
    if not changes:
        changes = {"trees.town.groups": {"any": ["A", "B"]}}
    assert message in refused(folder, FILE, changes)


# Suppressed and missing values of a file.


def test_a_suppressed_value_includes_every_value(folder):
    (folder / "records.csv").write_text("Sex,town\nF,A\nM,A\n*,A\nM,B\nM,*\n")
    study = study_of(folder, FILE)
    release = study.release(5, 0)
    assert (release.domain["Sex"].categories, release.domain["town"].categories) == (("F", "M"), ("A", "B"))
    knowledge = study.knowledge(release)["all"]
    risks = assess(release.codes, knowledge, FixedUniqueness(0.5), trees=release.trees).risks
    # By hand: F, A matches itself and *, A; M, A matches both and M, *; M, B matches itself and M, *. A value that is
    # suppressed for a person is unknown to the adversary, so records that release it are not matched.
    np.testing.assert_allclose(1 / risks.marketer, [2, 3, 1, 2, 1])


def test_a_suppressed_value_is_above_all_groups_of_a_tree(folder):
    (folder / "records.csv").write_text("Sex,town\nF,A\n*,A or B\nM,*\n")
    changes = {"trees.town.groups": {"A or B": ["A", "B"]}}
    tree = study_of(folder, FILE, changes).release(3, 0).trees["town"]
    assert tree.labels == ("A", "B", "A or B", "*")
    assert tree.parent.tolist() == [2, 2, 3, -1]
    # A tree that already has the value is unchanged.
    changes = {"trees.town.groups": {"A or B": ["A", "B"], "*": ["A or B", "C"]}}
    assert study_of(folder, FILE, changes).release(3, 0).trees["town"].parent.tolist() == [3, 3, 4, 4, -1]


def test_values_of_a_population_may_be_suppressed(folder):
    (folder / "records.csv").write_text("sex,town\n*,A\nM,B\n")
    study = study_of(folder, FILE, {"population.recipe": str(folder / "people.toml")})
    assert study.domain == study.population.domain
    assert study.release(2, 0).trees["sex"].labels == ("F", "M", "*")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ("Sex,town\nF,A\n,B\n", "records.csv: row 2, column 'Sex': value missing; expected a value, or '*'"),
        ("Sex,town\nF,*\nM,*\n", "records.csv: column 'town': every value is suppressed"),
    ],
)
def test_what_a_file_may_not_lack(folder, records, message):
    (folder / "records.csv").write_text(records)
    assert message in refused(folder, FILE)


def test_what_is_told_by_a_suppressed_value_names_its_row(folder):
    (folder / "records.csv").write_text("Sex,town\nF,A\n*,A\n")
    (folder / "mine.toml").write_text(
        '[[sources]]\nkind = "groups"\nname = "x"\n[[sources.profile]]\nwhen = { sex = ["F"] }\n[[sources.profile]]\n'
    )
    changes = {"knowledge.all": str(folder / "mine.toml"), "release.columns": {"sex": "Sex"}}
    message = refused(folder, FILE, changes)
    assert "records.csv: row 2, column 'Sex': the source needs a value that is generalized" in message


# True values next to the released records.


def test_persons_of_a_file_are_known_by_their_true_values(folder):
    (folder / "records.csv").write_text("Sex,town\nF,A or B\nM,A or B\n*,A\nM,C\n")
    (folder / "truth.csv").write_text("Sex,town,name\nF,A,x\nM,B,y\nM,A,z\nM,C,w\n")
    changes = {
        "release.persons": str(folder / "truth.csv"),
        "trees.town.groups": {"A or B": ["A", "B"], "any": ["A or B", "C"]},
    }
    study = study_of(folder, FILE, changes)
    release = study.release(4, 0)
    knowledge = study.knowledge(release)
    found = assess_release(study, release, knowledge, 0)["worst-case"].risks
    # F, A matches the first and third record; M, B the second; M, A the second and third; M, C the last.
    np.testing.assert_allclose(1 / found.marketer, [2, 1, 2, 1])
    # Without the true values, every person counts as unique.
    plain = study_of(folder, FILE, {key: value for key, value in changes.items() if "persons" not in key})
    alone = assess_release(plain, plain.file, plain.knowledge(plain.file), 0)["worst-case"].risks
    assert (alone.marketer >= found.marketer).all()
    assert plain.fingerprint != study.fingerprint


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (
            "Sex,town\nF,A\n",
            "truth.csv: the file of persons does not match the records; found '1 rows'; expected 2 rows",
        ),
        (
            "Sex,town\nF,A\nM,A\n",
            "truth.csv: row 2, column 'town': the released record does not include the person's value",
        ),
        ("Sex,town\nF,A\n,B\n", "truth.csv: row 2, column 'Sex': value missing"),
        ("Sex,town\nF,A\n*,B\n", "truth.csv: row 2, column 'Sex': value outside the categories of 'Sex'; found '*'"),
        ("Sex,place\nF,A\nM,B\n", "truth.csv: column 'town': column missing"),
    ],
)
def test_true_values_that_are_refused(folder, truth, message):
    (folder / "records.csv").write_text("Sex,town\nF,A\nM,B\n")
    (folder / "truth.csv").write_text(truth)
    assert message in refused(folder, FILE, {"release.persons": str(folder / "truth.csv")})


def test_paths_of_recipes_start_at_the_scenario_or_where_an_override_is_given(folder, monkeypatch):
    (folder / "mine.toml").write_text('[[sources]]\nkind = "everything"\n')
    study = study_of(folder, SCENARIO.replace('"worst-case"', '"mine.toml"'))
    assert "all" in study.knowledge(study.release(3, 0))
    monkeypatch.chdir(folder)
    changed = Scenario.load("xia2021", {"knowledge.mine": "mine.toml"}).scenario
    assert Path(changed.knowledge["mine"]) == folder / "mine.toml"
