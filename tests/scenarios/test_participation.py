"""Scenarios in which people decide whether to join a genomic database."""

import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.kinds.participation.kind import PARTICIPATION_KIND, read_pedigree
from reidsim.scenarios.scenario import Scenario

FAMILY = """person,father,mother,decides
Ada,,,no
Ben,,,no
Cid,Ben,Ada,yes
Dot,Ben,Ada,yes
Eve,,,yes
Flo,Cid,Eve,yes
Gus,Cid,Eve,yes
Hal,,Dot,yes
"""
SCENARIO = """game = "participation"
[population]
path = "family.csv"
[subjects]
benefit = 5
services = 1
harm = 10
"""


@pytest.fixture
def family(tmp_path):
    (tmp_path / "family.csv").write_text(FAMILY)
    (tmp_path / "family.toml").write_text(SCENARIO)
    return tmp_path / "family.toml"


def test_a_family_joins_as_a_whole_or_not_at_all(family):
    """By hand: each member has a certain match, so each gets 5 + 1 - 10 if all join.

    A person who joins alone is exposed by no other member.
    """
    result = reidsim.run(family)
    summary = result.summary
    assert summary["participation"].to_dict() == {
        "nobody": 0, "everybody": 1, "from-nobody": 0, "from-everybody": 1, "planner": 0,
    }  # fmt: skip
    assert summary.loc["everybody", "publisher_payoff"] == pytest.approx(-4, abs=1e-9)
    assert (summary["unsettled"] == 0).all()
    families = result.analysis.families
    assert families[["people", "joined", "equilibria"]].to_numpy().tolist() == [[6, 0, 1], [6, 6, 1]]
    assert set(result.analysis.survival["returned"]) == {1.0}
    joined = result.records[result.records["strategy"] == "joined"]
    assert joined["policy"].value_counts().to_dict() == {
        "nobody": 0, "everybody": 6, "from-nobody": 0, "from-everybody": 6, "planner": 0,
    }  # fmt: skip


def test_best_replies_start_from_nobody_everybody_and_mostly_small_random_sets(family):
    study = PARTICIPATION_KIND.build(Scenario.load(family, {"figures.equilibria.starts": 50}))
    sizes = [joined.mean() for joined in study.starts().values()]
    assert sizes[:2] == [0, 1]
    assert len(sizes) == 52
    assert sum(size < 0.5 for size in sizes[2:]) > 30
    assert [joined.mean() for joined in study.starts().values()] == sizes


def test_it_is_stressed(family):
    uncertain = '[uncertainty]\nparameters = { "subjects.harm" = { distribution = "uniform", low = 1, high = 20 } }\n'
    outputs = 'policies = ["planner", "everybody"]\n'
    family.write_text(f"{SCENARIO}{uncertain}[stress]\n{outputs}robustness = {{ samples = 4 }}\n")
    table = reidsim.stress(family).tables["robustness"].set_index("policy")
    assert table.loc["planner", "worst_payoff"] >= table.loc["everybody", "worst_payoff"]


def test_what_needs_an_adversary_is_refused(family):
    with pytest.raises(InputError, match=r"game: this kind of scenario has no strategic adversary"):
        reidsim.cross_play(family)
    with pytest.raises(InputError, match=r"agents: unknown key"):
        reidsim.run(family, overrides={"agents.rounds": 2})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"population.couples": 5000.0}, "population: .* missing or given twice; found 'couples, path'"),
        ({"population": {}}, r"population: the population is missing"),
        ({"population.types": 5}, r"types: the key belongs to another kind of population"),
        ({"matching": {"found_within": 6}}, r"found_within is greater than traced_within; found 6"),
        ({"subjects.policies": ["nobody", "nobody"]}, r"policies: policy given twice"),
        ({"subjects.policies": ["basic"]}, r"subjects\.policies"),
        ({"population.path": "nowhere.csv"}, r"nowhere\.csv"),
    ],
)
def test_scenarios_that_cannot_be_are_told_in_a_line(family, changes, message):
    with pytest.raises(InputError, match=message) as told:
        reidsim.run(family, overrides=changes)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ("Dot,Ben", "Cid,Ben", r"row 4, column 'person': person given twice; found 'Cid'"),
        ("Dot,Ben", ",Ben", r"row 4, column 'person': the person has no name"),
        ("Hal,,Dot", "Hal,Ian,Dot", r"row 8, column 'father': no such person; found 'Ian'"),
        ("Ada,,,no", "Ada,Cid,,no", r"a person is their own ancestor; found 'Ada'"),
        ("Ada,,,no", "Ada,,,dead", r"row 1, column 'decides': value not allowed; found 'dead'"),
        ("yes", "no", r"no person decides"),
        ("mother", "mum", r"mother"),
    ],
)
def test_pedigrees_that_cannot_be_are_told_with_their_row(tmp_path, was, now, message):
    path = tmp_path / "family.csv"
    path.write_text(FAMILY.replace(was, now))
    with pytest.raises(InputError, match=message):
        read_pedigree(path)


def test_a_pedigree_without_the_column_lets_everybody_decide(tmp_path):
    path = tmp_path / "family.csv"
    path.write_text("person,father,mother\nAda,,\nCid,,Ada\n")
    father, mother, rows = read_pedigree(path)
    assert (father.tolist(), mother.tolist(), rows.tolist()) == ([-1, -1], [-1, 0], [0, 1])
