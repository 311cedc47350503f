"""Staged attacks on generalized records, against hand computation; invalid input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from contract_worlds import masking_world
from staged_clinic import FILES

from reidsim.adversaries.multistage.attack import PersonTable
from reidsim.core.errors import InputError
from reidsim.engine.scenario import cross_play
from reidsim.engine.score import score_loaded
from reidsim.games.masking.searches import best_first, greedy
from reidsim.kinds.tables.build import build_study
from reidsim.scenarios.scenario import Scenario

DATASET = {"publisher.unit": "table", "population.holds_release": False, "publisher.policies": ["basic"]}


@pytest.fixture
def clinic(tmp_path):
    """Return a function that writes the files, some changed; it returns the scenario."""

    def write(**changed):
        for name, text in {**FILES, **{name.replace("_", "."): text for name, text in changed.items()}}.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / "clinic.toml"

    return write


def staged(path, **overrides):
    loaded = Scenario.load(path, overrides)
    recipe = path.parent / "attack.toml"
    return build_study(loaded).staged(recipe)


@pytest.mark.parametrize("level", [{}, {**DATASET, "adversary.risk": "journalist"}], ids=["records", "dataset"])
def test_records_shared_as_they_are_are_attacked_as_counted_by_hand(clinic, level):
    study, attack = staged(clinic(), **level)
    linkage = attack.link(0)
    reply = replace(attack.attack, gain=150.0, cost=20.0).respond(linkage)
    records = {}
    for record, cell in zip(FILES["patients.csv"].splitlines()[1:], study.cell_of_record.tolist(), strict=True):
        records[record] = (
            bool(reply.attacks[cell]),
            round(float(linkage.plan_believed[1, cell]), 9),
            reply.success[cell],
        )
    expected = {
        # The confidence is a share of the people of that age and job; the inference is correct if the record's job
        # equals it.
        "30,F,Dale,clerk": (False, 12 / 15 / 14, 0),
        "30,M,Dale,miller": (True, 1 / 6, 1 / 6),
        "30,F,Hill,nurse": (True, 1 / 2, 1 / 2),
        "30,F,Hill,clerk": (True, 1 / 2, 0),
        "40,F,Dale,clerk": (False, 1 / 10, 0),
        "40,M,Dale,miller": (True, 1 / 3, 1 / 3),
        "40,M,Hill,smith": (True, 1, 1),
        "50,F,Dale,clerk": (True, 1 / 5, 1 / 5),
        "50,M,Hill,miller": (True, 1 / 3, 0),
    }
    for record, (attacks, believed, success) in expected.items():
        assert records[record][:2] == (attacks, round(believed, 9)), record
        if attacks:
            assert records[record][2] == pytest.approx(success), record


def test_a_released_file_is_attacked_as_the_records_of_its_run(clinic):
    path = clinic()
    measures = score_loaded(
        Scenario.load(path, {"publisher.policies": ["no-protection"]}), path.parent / "patients.csv"
    )
    released, unchanged = (measures.summary.loc[name].to_numpy() for name in ("patients.csv", "no-protection"))
    np.testing.assert_allclose(released, unchanged, rtol=1e-12)
    assert measures.summary.loc["patients.csv", "share_attacked"] == pytest.approx(7 / 9)


def test_rows_that_stand_for_several_people_are_searched_without_compiled_functions():
    game = masking_world()
    registry = game.world.resource("registry")
    counted = PersonTable("registry", dict(registry.columns), np.full(registry.n_rows, 2))
    world = replace(game.world, resources={**game.world.resources, "registry": counted})
    repeated = PersonTable("registry", {name: np.repeat(column, 2) for name, column in registry.columns.items()})
    payoffs = []
    for table in (counted, repeated):
        played = replace(game, world=replace(game.world, resources={**game.world.resources, "registry": table}))
        payoffs.append(played.evaluate(best_first(played)).publisher_payoff)
    np.testing.assert_allclose(*payoffs, atol=1e-9)
    with pytest.raises(InputError, match=r"this solver does not support the attack.*several people"):
        greedy(replace(game, world=world))


def test_the_table_averages_over_records_that_have_cells_of_their_own(clinic):
    path = clinic()
    play, without = cross_play(path), cross_play(path, overrides={"adversary": {}})
    row = play.table[(play.table["defender"] == "no-protection") & (play.table["adversary"] == "multistage")].iloc[0]
    risk = (1 / 6 + 1 / 2 + 1 / 3 + 1 + 1 / 5) / 9
    assert row["risk"] == pytest.approx(risk)
    assert row["share_attacked"] == pytest.approx(7 / 9)
    assert row["publisher_payoff"] == pytest.approx(100 - 150 * risk)
    assert row["adversary_payoff"] == pytest.approx(150 * risk - 20 * 7 / 9)
    # Other policies give equal results, except random forms and plans against all adversaries.
    others = ["basic vs one-shot", "k-anonymity", "no-protection"]
    for measure in ("publisher_payoff", "adversary_payoff", "risk"):
        same = play.matrix(measure).drop(columns="multistage").loc[others]
        pd.testing.assert_frame_equal(same, without.matrix(measure).loc[others])
    assert any(warning.startswith("adversary 'multistage' cannot play") for warning in without.warnings)
    assert not any("multistage" in warning for warning in play.warnings)


def test_amounts_of_an_adversary_with_stages_are_not_the_amounts_of_another_one(clinic):
    path = clinic()
    staged_adversary = {"weight": 0.5, "stages": str(path.parent / "attack.toml"), "gain": 70.0, "cost": 3.0}
    study = build_study(Scenario.load(path, {"adversaries": {"staged": staged_adversary, "plain": {"weight": 0.5}}}))
    amounts = {name: each.gain_and_cost(each.prices) for name, each in study.each.items()}
    economics = study.scenario.economics
    assert amounts == {"staged": [70.0, 3.0], "plain": [economics.adversary_gain, economics.cost]}


def test_nothing_is_gained_by_inferring_from_where_people_are_looked_up(clinic):
    """Inference from the same table in which people are then looked up adds nothing.

    The confidence is the share of matching people, which falls in proportion to their number.
    """
    attack = """
[resources.people]
population = "people.toml"
[[stages]]
stage = "infer-by-linkage"
resource = "people"
infers = "village"
on = ["age", "sex"]
[[stages]]
stage = "identify"
resource = "people"
on = ["age", "sex", "village"]
"""
    play = cross_play(clinic(attack_toml=attack))
    for measure in ("publisher_payoff", "adversary_payoff", "risk", "share_attacked"):
        both = play.matrix(measure)[["one-shot", "multistage"]]
        np.testing.assert_allclose(both["multistage"], both["one-shot"], atol=1e-12)


def test_a_surname_is_inferred_from_loci(clinic):
    """One man in ten is called Reed, and so is the only man with the alleles."""
    files = {
        "patients.csv": "age,DYS19,DYS390,surname\n30,14,24,Reed\n40,13,22,Hall\n",
        "men.csv": "DYS19,DYS390,surname\n14,24,Reed\n16,21,Hall\n15,22,Hall\n16,,Hall\n",
        "register.csv": "age,surname,people\n30,Reed,1\n30,Hall,9\n40,Hall,5\n",
        "clinic.toml": """
[release]
path = "patients.csv"
[attributes.age]
hierarchy = { rule = "suppress" }
[attributes.DYS19]
hierarchy = { rule = "suppress" }
[attributes.DYS390]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 150
cost = 20
[adversary]
risk = "prosecutor"
stages = "attack.toml"
""",
        "attack.toml": """
[resources.men]
file = "men.csv"
[resources.register]
file = "register.csv"
count = "people"
[[stages]]
stage = "infer-surname"
resource = "men"
loci = ["DYS19", "DYS390"]
method = "nearest-neighbour"
[[stages]]
stage = "identify"
resource = "register"
on = ["age", "surname"]
""",
    }
    path = clinic(**{name.replace(".", "_"): text for name, text in files.items()})
    study, attack = staged(path)
    assert study.lattice.domain.names == ("age", "DYS19", "DYS390")
    open_records, ages_alone = attack.link(0), attack.link(study.lattice.index((0, 1, 1)))
    np.testing.assert_allclose(open_records.plan_success, [[1 / 10, 1 / 5], [1, 1 / 5]])
    np.testing.assert_allclose(ages_alone.plan_believed, [[1 / 10, 1 / 5], [0, 0]])

    def with_hierarchy(rule):
        (path.parent / "alleles.csv").write_text("13\n14\n")
        rules = 'DYS19]\nhierarchy = { rule = "suppress" }', f"DYS19]\nhierarchy = {rule}"
        path.write_text(files["clinic.toml"].replace(*rules))
        return path

    # A hierarchy file without a level above the values.
    _, attack = staged(with_hierarchy('{ rule = "table", file = "alleles.csv" }'))
    np.testing.assert_allclose(attack.link(0).plan_success, open_records.plan_success)
    with pytest.raises(InputError, match=r"DYS19\.hierarchy: alleles cannot be generalized; expected rule"):
        staged(with_hierarchy('{ rule = "intervals", widths = [2], start = 12, absorb_remainder = false }'))


def test_no_row_of_a_users_file_is_a_comment(clinic):
    """The first column is called # and holds numbers."""
    lines = FILES["register.csv"].splitlines()
    numbered = "".join(f"#{number or ''},{line}\n" for number, line in enumerate(lines))
    one, other = staged(clinic())[1], staged(clinic(register_csv=numbered))[1]
    np.testing.assert_array_equal(one.link(0).plan_success, other.link(0).plan_success)


BAD = {
    "attack_toml": [
        (FILES["attack.toml"].replace('resource = "register"', 'resource = "registry"'),
         r"attack.toml: stages\[1\].resource: no such resource; found 'registry'; expected one of directory, register"),
        (FILES["attack.toml"].replace("[columns]", "[columns]\nage = 'work'"), "no stage infers .*; found 'age'"),
        (FILES["attack.toml"].replace('file = "register.csv"', 'file = "nobody.csv"'), "nobody.csv: no such file"),
        (FILES["attack.toml"].replace('"directory.csv"', '"directory.csv"\npopulation = "people.toml"'),
         "resources.directory: the people of the resource are missing"),
        (FILES["attack.toml"].replace('"age", "job"]', '"age", "hat"]'),
         "attack.toml: stage 2: attribute is neither released nor inferred by an earlier stage; found 'hat'"),
        (FILES["attack.toml"].replace('job = "work"', 'job = "hat"'), r"patients.csv: .*'hat'.*attack.toml infers"),
        ("title = 'x'", "attack.toml: stages: "),
        (FILES["attack.toml"].replace('file = "directory.csv"', 'population = "people.toml"'),
         "resources.directory.count: the key needs a file"),
        (FILES["attack.toml"].replace('on = ["age", "job"]', "on = []"),
         "resources.register: no stage uses the resource"),
        (FILES["attack.toml"].replace('"infer-by-linkage"', '"infer-surname"').replace('on = ["age", "sex", "v', '#'),
         r"stages\[0\].loci: key missing; expected a list of loci"),
        (FILES["attack.toml"].replace('"infer-by-linkage"', '"infer-surname"')
         .replace('on = ["age", "sex", "village"]', 'loci = ["age"]'), "mutation rate missing"),
    ],
    "directory_csv": [
        (FILES["directory.csv"].replace("Hill,smith", "Moor,smith"),
         r"directory.csv: row 7, column 'village': value outside the categories of 'village'; found 'Moor'"),
        (FILES["directory.csv"].replace("clerk,12", "clerk,1.5"), "directory.csv: row 1, column 'people': not a whole"),
        (FILES["directory.csv"].replace("baker,3\n30", "baker,1e30\n30"),
         r"directory.csv: row 2, column 'people': count too large; found '1e30'"),
        (FILES["directory.csv"].replace("smith,1", "smith,2147483648"),
         "directory.csv: row 7, column 'people': count too large; found '2147483648'"),
        (FILES["directory.csv"].replace("Hill,smith", "Hill,Smith"),
         "directory.csv: row 7, column 'job': a value in two spellings, .*; found 'Smith'; expected 'smith'"),
        (FILES["directory.csv"].replace("Hill,smith", "Hill,"), "directory.csv: row 7, column 'job': value missing"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("file", "text", "problem"), [(file, *case) for file in BAD for case in BAD[file]])
def test_recipes_that_cannot_be_used(clinic, file, text, problem):
    with pytest.raises(InputError, match=problem):
        cross_play(clinic(**{file: text}))


def test_a_recipe_may_be_given_with_the_call_but_not_to_a_masking_scenario(clinic, monkeypatch):
    path = clinic()
    monkeypatch.chdir(path.parent)
    beside = cross_play(path)
    called = cross_play(path, overrides={"adversary": {}}, stages="attack.toml")
    # The two runs differ in the own adversary, against which most defenders plan. Defenders that plan against each
    # adversary in turn are unaffected.
    assert (beside.manifest["own_adversary"], called.manifest["own_adversary"]) == ("multistage", "one-shot")
    each, other = (play.table[play.table["defender"] == "basic"] for play in (beside, called))
    assert set(each["adversary"]) == {"one-shot", "fmdp", "multistage", "always", "never", "random"}
    pd.testing.assert_frame_equal(each, other)
    assert called.manifest["cross_play"]["stages"] == str(path.parent / "attack.toml")
    with pytest.raises(InputError, match=r"stages: a masking scenario sets its own stages; found '.*attack.toml'"):
        cross_play("wan2021", overrides={"population.recipe": "ystr-genealogy-small"}, stages="attack.toml")
