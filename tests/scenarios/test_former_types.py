"""Scenarios that named their adversaries as types of agents: rewritten, they give what they gave before."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from staged_clinic import FILES as CLINIC

import reidsim
from reidsim.errors import InputError
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.upgrade import write_upgraded

TOWN = Path(__file__).parent / "town" / "town.toml"
SCENARIOS = {
    "tables": f"""extends = {str(TOWN)!r}
[resources.list]
attributes = ["age", "district"]
coverage = 0.6
[resources.file]
price = 5
coverage = 0.8

[adversary] # what types do not say
risk = "prosecutor"
rationality = "logit"
precision = 0.2
sequential = {{ access_cost = 2, prior = 0.9 }}

[publisher]
policies = ["basic", "no-protection"]

[agents]
rounds = 3
together = "all"

[agents.types.plain] # as the adversary
weight = 0.5
[agents.types.clerk]
weight = 0.4
gain = 200
holds = ["list"]
[agents.types.buyer]
buys = ["file"]
budget = 40
accuracy = 0.8
expected_accuracy = 0.9
[agents.types.patient]
weight = 0.3
planner = "fmdp"
cost = 20
[agents.types.lucky]
weight = 0.2
planner = "random"
[agents.types.sure]
weight = 0.25
rationality = "perfect"
[agents.types.idle]
weight = 0.0

[agents.enforcement]
detection = 0.1
fine = 20
exclusion = 1
[agents.learning]
noticed = 0.5
""",
    "drawn": f"""extends = {str(TOWN)!r}
[publisher]
policies = ["basic", "no-protection"]
[agents]
rounds = 2
mode = "sampling"
draws = 3
types.lucky = {{ weight = 0.5, planner = "random", rate = 0.3 }}
types.keen.weight = 0.5
types.keen.gain = 80
""",
    "staged": """extends = "clinic.toml"
[adversary]
stages = "attack.toml"
rationality = "prospect"
[agents.types.plain]
weight = 0.5
[agents.types.gossip]
weight = 0.25
knowledge = "club.toml"
planner = "one-shot"
[agents.types.zealot]
weight = 0.25
planner = "always"
""",
    "masking": """extends = "wan2021"
replications = 1
[population]
recipe = "ystr-genealogy-small"
[targets]
size = 40
[resources.registry]
size = 600
[resources.genealogy]
size = 600
price = 30
[adversary]
confidence_threshold = 0.6
[subjects]
attributes = ["age", "state", "DYS19", "DYS385", "DYS390"]
policies = ["no-protection", "masking"]
[agents]
rounds = 2
together = "all"
[agents.types.kin]
weight = 0.4
gain = 60
[agents.types.plain]
weight = 0.4
planner = "one-shot"
holds = ["registry"]
[agents.types.broker]
weight = 0.6
holds = ["registry"]
buys = ["genealogy"]
budget = 100
[agents.types.patient]
weight = 0.5
planner = "fmdp"
""",
}
MEANS = ["publisher_payoff", "adversary_payoff", "share_attacked", "risk"]
# By policy, as the version before had them, of the former form.
BEFORE = {
    "tables": [
        [95.76726599488059, -0.5564951038950695, 0.42438523034264036, 0.037212233418656676],
        [96.08338978785952, 0.13522566399372468, 0.4469339562270191, 0.06527683686900802],
    ],
    "drawn": [
        [95.66666666666667, 2.1111111111111107, 0.09999999999999999, 0.03888888888888889],
        [96.66666666666667, 3.4444444444444446, 0.09999999999999999, 0.05555555555555555],
    ],
    "staged": [[87.60419599770265, -2.6918170121722036, 0.4444444444444444, 0.041313812511444566], [0.0] * 4],
    "masking": [
        [-19.054166666666653, 129.06935839062498, 0.8440000000000001, 0.7936944444444445],
        [51.68955187258403, -1.025, 0.084, 0.0],
    ],
}
# What types meant without saying it.
ADDED = {
    "staged": ("agents.rounds = 1",),
    "masking": ('adversaries.plain.stages = [{ stage = "identify", resource = "registry", on = ["age", "state"] }]',),
}
CLUB = 'title = "A club"\n[[sources]]\nkind = "groups"\nname = "club"\n[[sources.profile]]\npresence = 0.5\n' + (
    '[[sources.profile.groups]]\nattributes = ["age", "village"]\n'
)


def written(folder, text):
    for name, content in {**CLINIC, "club.toml": CLUB, "mine.toml": text}.items():
        (folder / name).write_text(content)
    return folder / "mine.toml"


@pytest.mark.parametrize(
    "name", ["drawn", "staged", *(pytest.param(n, marks=pytest.mark.deep) for n in ("tables", "masking"))]
)
def test_a_rewritten_scenario_gives_what_it_gave_before(tmp_path, name):
    path = written(tmp_path, SCENARIOS[name])
    with pytest.raises(InputError, match=r"agents\.types: former key; expected adversaries in place of agents\.types"):
        load_scenario(path)
    assert write_upgraded(path).changes == ("agents.types is now adversaries", *ADDED.get(name, ()))
    assert write_upgraded(path).changes == ()
    found = reidsim.run(path).summary[MEANS].to_numpy()
    np.testing.assert_allclose(found, BEFORE[name], rtol=1e-12, atol=1e-12)


def test_comments_order_and_other_keys_stay(tmp_path):
    path = written(tmp_path, SCENARIOS["tables"])
    was, now = SCENARIOS["tables"], write_upgraded(path).text
    assert now == was.replace("[agents.types.", "[adversaries.")


def test_sweeps_over_what_moved_are_rewritten_too(tmp_path):
    text = f"extends = {str(TOWN)!r}\n[agents]\nrounds = 1\ntypes = {{ keen = {{}} }}\n[sweep.values]\n"
    path = written(tmp_path, text + '"agents.types.keen.gain" = [30, 120] # dollars\n')
    write_upgraded(path)
    content = tomllib.loads(path.read_text())
    assert content["sweep"]["values"] == {"adversaries.keen.gain": [30, 120]}
    assert content["adversaries"] == {"keen": {}}
    assert "# dollars" in path.read_text()
    payoffs = reidsim.run_batch(path, executor="serial").summary["publisher_payoff"]
    assert payoffs.nunique() > 1


def test_a_name_that_is_a_column_of_cross_play_is_an_error(tmp_path):
    path = written(tmp_path, f"extends = {str(TOWN)!r}\n[agents.types.random]\n")
    with pytest.raises(InputError, match=r"adversaries\.random: cannot be used even when rewritten: name of a column"):
        write_upgraded(path)
    assert "[agents.types.random]" in path.read_text()


def test_the_option_that_replaces_a_value_says_where_it_moved():
    with pytest.raises(InputError, match=r"--set: agents\.types: former key; expected adversaries"):
        load_scenario(TOWN, {"agents.types.x.gain": 5})


@pytest.mark.parametrize("types", ["5", "[]", "{ x = 5 }", "{ x = { planner = [] } }"])
@pytest.mark.parametrize("stages", ["5", "[5, 6]", "[{}, { on = 3 }]"])
def test_what_is_no_section_stays_as_it_was(tmp_path, types, stages):
    text = f"extends = {str(TOWN)!r}\n[adversary]\nstages = {stages}\n[agents]\ntypes = {types}\n"
    path = written(tmp_path, text)
    with pytest.raises(InputError, match="cannot be used even when rewritten"):
        write_upgraded(path)
    assert path.read_text() == text
