"""Masking scenarios with partial knowledge: the game built from files, and errors."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.kinds.masking.study import build_masking_study
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.scenario import Scenario

POSTERS = "Age,town,rh\n34,Dale,neg\n52,Hill,pos\n67,Hill,pos\n41,Dale,pos\n"
TOWN = "age,town,people\n34,Dale,6\n52,Dale,8\n67,Dale,3\n34,Hill,30\n52,Hill,25\n67,Hill,2\n41,Glen,4\n"
RECIPE = """
[[sources]]
kind = "groups"
name = "neighbours"
[[sources.profile]]
when = { town = ["Dale"] }
presence = 0.6
groups = [{ attributes = ["town", "age"] }]
[[sources.profile]]
presence = 0.6
groups = [{ attributes = ["town"] }]
[[sources]]
kind = "groups"
name = "profiles"
[[sources.profile]]
groups = [{ attributes = ["age"], probability = 0.25 }]
"""
GAME = """
game = "masking"
[targets]
file = "posters.csv"
columns = { age = "Age" }
[resources.town]
file = "town.csv"
count = "people"
attributes = ["age", "town"]
[economics]
benefit = 100
loss = 400
gain = 300
cost = 20
[adversary]
knowledge = "hearsay.toml"
resource = "town"
[subjects]
attributes = ["age", "town", "rh"]
weights = { age = 2, town = 1, rh = 1 }
policies = ["no-protection", "demographics-only", "opt-in", "masking", "no-attack-masking", "one-stage-masking", "same-strategy", "k-anonymity"]
"""  # noqa: E501


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("posters.csv", POSTERS), ("town.csv", TOWN), ("hearsay.toml", RECIPE), ("game.toml", GAME)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def refused(folder: Path, changes: dict[str, object] | None = None) -> str:
    with pytest.raises(InputError) as error:
        reidsim.run(folder / "game.toml", overrides=changes or {})
    return str(error.value)


def success(age: str, town: str, shared: frozenset[str]) -> float:
    """Return a person's success probability by the recipe, computed over the register."""
    neighbours = ({"town", "age"} if town == "Dale" else {"town"}, 0.6)
    total = 0.0
    for by_neighbours, by_profile in itertools.product((True, False), repeat=2):
        p = (0.6 if by_neighbours else 0.4) * (0.25 if by_profile else 0.75)
        known = (set(neighbours[0]) if by_neighbours else set()) | ({"age"} if by_profile else set())
        people = 0
        for row in TOWN.split()[1:]:
            theirs = dict(zip(("age", "town"), row.split(",")[:2], strict=True))
            if all(theirs[name] == {"age": age, "town": town}[name] for name in known & shared):
                people += int(row.split(",")[2])
        total += p / people if people else 0.0
    return total


@pytest.mark.parametrize("solver", ["best-first", "backward-induction"])
def test_subjects_best_respond_to_what_the_recipe_tells(folder, solver):
    result = reidsim.run(folder / "game.toml", overrides={"subjects.solver": solver})
    people = [row.split(",")[:2] for row in POSTERS.split()[1:]]
    worth = {"age": 2, "town": 1, "rh": 1}
    outcomes = {}
    for i, (age, town) in enumerate(people):
        # The last person is not in the register: nobody in Dale is 41.
        there = (age, town) != ("41", "Dale")
        for shared in itertools.chain.from_iterable(itertools.combinations(worth, k) for k in range(4)):
            p = success(age, town, frozenset(shared))
            attacked = 300 * p > 20
            benefit = 100 * sum(worth[name] for name in shared) / 4
            outcomes[i, " ".join(shared) or "nothing"] = (benefit - 400 * p * attacked * there, attacked, p * there)
    for row in result.records.to_dict("records"):
        payoff, attacked, p = outcomes[row["record"], row["strategy"]] if row["strategy"] != "withheld" else (0, 0, 0)
        assert row["publisher_payoff"] == pytest.approx(payoff, abs=1e-9)
        assert (row["attacked"], row["success_probability"]) == (attacked, pytest.approx(p, abs=1e-12))
    chosen = result.records.set_index(["policy", "record"])["publisher_payoff"]
    for i in range(4):
        mine = {strategy: out for (record, strategy), out in outcomes.items() if record == i}
        best = max(out[0] for out in mine.values())
        assert chosen["masking", i] == chosen["one-stage-masking", i] == pytest.approx(best)
        assert chosen["no-attack-masking", i] == pytest.approx(max(out[0] for out in mine.values() if not out[1]))
        assert chosen["opt-in", i] == pytest.approx(max(mine["age town rh"][0], 0))
    means = [sum(outcomes[i, s][0] for i in range(4)) / 4 for s in {strategy for _, strategy in outcomes}]
    assert result.summary.loc["same-strategy", "publisher_payoff"] == pytest.approx(max(means))
    shared = result.records.set_index("policy")["strategy"]
    assert set(shared["demographics-only"]) == {"age town"}


def test_an_attribute_that_always_is_shared_need_not_be_looked_up(folder):
    changes = {"subjects.attributes": ["rh", "age", "town"], "subjects.always_shared": ["rh"]}
    records = reidsim.run(folder / "game.toml", overrides=changes | {"subjects.policies": ["masking"]}).records
    free = reidsim.run(folder / "game.toml", overrides={"subjects.policies": ["masking"]}).records
    assert all("rh" in strategy for strategy in records["strategy"])
    assert records["publisher_payoff"].tolist() == pytest.approx(free["publisher_payoff"].tolist())


def test_levels_between_are_linked_by_their_interval(folder):
    changes = {
        "subjects.generalize": {"age": {"widths": [40], "kept": [0.5]}},
        "subjects.policies": ["same-strategy", "masking"],
        "economics.cost": 0.0,
    }
    loaded = Scenario.load(folder / "game.toml", changes)
    game, _ = build_masking_study(loaded).games(0)
    by_interval = int(game.space.number(np.array([1, 1, 0])))
    # The age of the first person is known unless neighbours (.6) and profiles (.25) both fail; 36 of 78 people are
    # below 40.
    found = game.record_game.outcome(by_interval).response.success[0]
    assert found == pytest.approx(0.7 / 36 + 0.3 / 78)


def test_a_study_is_described_with_the_most_knowledge_sets_of_a_subject(folder):
    study = build_masking_study(Scenario.load(folder / "game.toml"))
    # Outside Dale: nothing, the town, the age, or both.
    sets = "up to 4 knowledge sets per subject, linked on age, town"
    described = "4 subjects, 8 strategies, town of 78, 1 replication"
    assert kind_of(study.scenario).describe(study) == f"{described}, {sets}"


# Refused input.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subjects.solver": "greedy"}, "subjects.solver: not supported against partial knowledge; found 'greedy'"),
        ({"subjects.solver": "anytime"}, "subjects.solver: not supported against partial knowledge"),
        ({"figures.search_path": 0}, "figures.search_path: greedy search needs a two-stage attack"),
        ({"adversary.knowledge": "gossip"}, "adversary.knowledge: no bundled knowledge recipe of this name"),
        (
            {"adversary.knowledge": "twitter"},
            "twitter.toml: sources[0]: attributes: no such attribute; found 'year of birth'; expected one of age, town",
        ),
        ({"adversary.knowledge": "voters-age-state"}, "no such attribute; found 'state'"),
        (
            {"subjects.generalize": {"age": {"groups": [[["34", "52"]], [["52", "67"]]], "kept": [0.5, 0.2]}}},
            "not a value of the attribute",
        ),
        (
            {"subjects.generalize": {"town": {"groups": [[["Dale", "Hill"]], [["Hill", "Glen"]]], "kept": [0.5, 0.2]}}},
            "levels of attribute 'town': a group is split at the next level; expected groups that only merge",
        ),
    ],
)  # fmt: skip
def test_scenarios_that_are_refused(folder, changes, message):
    assert message in refused(folder, changes)


def test_a_value_of_the_subjects_file_is_named_by_row_and_column(folder):
    lists = '[[sources]]\nkind = "voter-lists"\nattributes = { age = "age", state = "town" }\n'
    (folder / "hearsay.toml").write_text(lists)
    (folder / "posters.csv").write_text(POSTERS.replace("Dale", "Ohio").replace("Hill", "Utah", 1))
    message = refused(folder)
    assert "posters.csv: row 3, column 'town': no such state; found 'Hill'" in message
    assert f"needed by source 'voter lists' of {folder / 'hearsay.toml'}" in message
    without_a_last = RECIPE.replace('[[sources.profile]]\npresence = 0.6\ngroups = [{ attributes = ["town"] }]\n', "")
    assert without_a_last != RECIPE
    (folder / "hearsay.toml").write_text(without_a_last)
    (folder / "posters.csv").write_text(POSTERS)
    assert "posters.csv: row 2: no profile fits a person; found 'town = Hill'" in refused(folder)
