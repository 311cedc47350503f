"""Scenarios of the former form, rewritten: what moved, what stays, and the same answers as written by hand."""

import os
import stat
import tomllib

import pandas as pd
import pytest
from typer.testing import CliRunner

import reidsim
from reidsim.cli import app
from reidsim.errors import InputError
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.upgrade import upgraded, write_upgraded

# As bundled before, shortened where nothing is rewritten.
WAN2015 = """# Should each record be shared as it is?
#
#   reidsim run wan2015

title = "Record-level re-identification game"
seed = 2015

[population]
recipe = "tennessee-2010"

[release]
table = "adult" # counts of the 32,561 records
format = "adult"

[attributes.age]
top_code = 90
hierarchy = { rule = "intervals", widths = [5, 15, 30, 60] }

[attributes.race]
hierarchy = { rule = "groups", groups = [[["AIAN", "Other"]], [["White", "Black"], ["AIAN", "API", "Other"]]] }

[attributes.sex]
in_loss = false # the printed payoffs only come out if sex carries no weight
hierarchy = { rule = "suppress" }

[attributes.zip]
draw = true
hierarchy = { rule = "prefix", digits = [4, 3, 2, 1], pool = ["422", "426", "723"] }

[economics] # dollars per record
benefit = 1200
loss = 300
cost = 4

[adversary]
planner = "one-shot"
risk = "journalist"

[publisher]
policies = ["safe-harbor", "basic", "sh-friendly", "no-attack"]
solver = "backward-induction"

[safe_harbor]
age = "age"
zip = "zip"
zip3_population = "population"

# What the figures show besides.

[analysis]
strategies = { age = "48", race = "API", sex = "Female", zip = "38363" } # Fig. 5

[analysis.maps] # Figs. 8 to 10
benefit = { from = 30, to = 1500, points = 50 }
loss = { from = 0, to = 25000, points = 51 }
records = [
  { age = "19", race = "Black", sex = "Male", zip = "37208" },
  { age = "62", race = "White", sex = "Female", zip = "37014" },
]

[analysis.lines] # Fig. 11
benefit = { from = 50, to = 2000, points = 40 }

[analysis.search_deviation] # Fig. 12
loss = { from = 50, to = 2000, points = 40 }
"""
PRASSER2017 = """# How should a whole table be generalized?

game = "full-domain" # one form for all
title = "Full-domain generalization with suppression"
seed = 2015

[population]
recipe = "tennessee-2010"
holds_release = false # ZIP codes are drawn record by record

[release]
table = "adult"
format = "adult"

[attributes.age]
top_code = 90
hierarchy = { rule = "intervals", widths = [5, 15, 30, 60] }

[attributes.zip]
draw = true
hierarchy = { rule = "prefix", digits = [4, 3, 2, 1], pool = ["422", "426", "723"] }

[economics]
benefit = 1200
loss = 300
cost = 4

[adversary]
risk = "journalist" # payouts are computed with the population table

[beliefs]
risk = "prosecutor"

[publisher]
policies = ["safe-harbor", "basic", "no-attack", "local-recoding", "record-level", "record-level-no-attack"]

[safe_harbor]
age = "age"
zip = "zip"
zip3_population = "population"

[analysis.nodes]
top = 20

[analysis.curves] # Fig. 5
loss = { from = 0, to = 2000, points = 41 }
policies = ["safe-harbor", "basic"]
risks = ["prosecutor", "journalist"]

[analysis.runtimes] # Fig. 6
loss = [0, 250, 500]
"""
ROBUSTNESS = """# What subjects lose who are mistaken.

extends = "wan2021"
title = "Robustness of the masking game to what subjects believe"
replications = 1

[stress]
lines = true

[subjects]
policies = ["opt-in", "masking", "no-attack-masking"]

[[analysis.lines]]
title = "Cost, 10 assumed"
key = "economics.cost"
values = [0.0, 10.0]
set = { "beliefs.cost" = 10.0 }

[[analysis.lines]]
title = "Registry, 20,000 assumed"
key = "resources.registry.size"
values = [10_000, 20_000, 30_000]
set = { "beliefs.sizes.registry" = 20_000 }
"""
ARX = """game = "full-domain"
title = "Full-domain generalization of the example data of ARX"

[population]
recipe = "adult-arx"

[release]
table = "adult-arx"

[attributes.sex]
hierarchy = { rule = "suppress" }

[attributes.workclass.hierarchy]
rule = "groups"
groups = [
  [
    ["Private", "Self-emp-not-inc", "Self-emp-inc"],
    ["Federal-gov", "Local-gov", "State-gov"],
  ],
]

[economics]
benefit = 1200
loss = 300
cost = 4

[publisher]
policies = ["basic", "no-attack", "local-recoding", "record-level"]
"""
BUNDLED = {"wan2015": WAN2015, "prasser2017": PRASSER2017, "wan2021-robustness": ROBUSTNESS, "arx-example": ARX}


def written(tmp_path, text, name="mine"):
    path = tmp_path / f"{name}.toml"
    path.write_text(text)
    return path


def content_of(tmp_path, text):
    path = written(tmp_path, text)
    assert write_upgraded(path).changes
    return tomllib.loads(path.read_text())


@pytest.mark.parametrize("name", BUNDLED)
def test_former_bundled_scenarios_load_when_rewritten_and_stay_then(tmp_path, name):
    path = written(tmp_path, BUNDLED[name], name)
    with pytest.raises(InputError, match=r"reidsim upgrade .* rewrites it"):
        load_scenario(path)
    write_upgraded(path)
    load_scenario(path)
    once = path.read_bytes()
    assert write_upgraded(path).changes == ()
    assert path.read_bytes() == once


@pytest.mark.parametrize("name", BUNDLED)
def test_all_that_did_not_move_is_as_it_was(tmp_path, name):
    text = upgraded(written(tmp_path, BUNDLED[name])).text
    was, now = tomllib.loads(BUNDLED[name]), tomllib.loads(text)
    moved = ("game", "analysis", "figures", "publisher", "adversary", "stress")
    assert {key: value for key, value in now.items() if key not in moved} == {
        key: value for key, value in was.items() if key not in moved
    }
    kept = [line.removeprefix("# ") for line in text.splitlines()]
    comments = [line for line in BUNDLED[name].splitlines() if line.startswith("#")]
    assert [line for line in text.splitlines() if line in comments] == comments
    # Nothing is lost: what has no place is commented out, in its place.
    lost = [line for line in BUNDLED[name].splitlines() if line.removeprefix("# ") not in kept]
    assert all("analysis" in line or line.startswith("game") for line in lost)


def test_figures_keep_what_a_run_draws(tmp_path):
    text = upgraded(written(tmp_path, WAN2015)).text
    assert tomllib.loads(text)["figures"] == {
        "strategies": {"age": "48", "race": "API", "sex": "Female", "zip": "38363"}
    }
    assert '[figures]\nstrategies = { age = "48"' in text
    assert "# [analysis.maps] # Figs. 8 to 10\n# benefit = {" in text
    assert "# Formerly analysis.maps; now a [sweep] over economics.benefit and economics.loss" in text


def test_whole_tables_get_the_keys_that_keep_their_answers(tmp_path):
    arx = content_of(tmp_path, ARX)
    assert "game" not in arx
    assert arx["publisher"] == {
        "unit": "table", "safe_class": "above", "policies": ["basic", "no-attack", "local-recoding", "record-level"]
    }  # fmt: skip
    assert arx["adversary"] == {"risk": "prosecutor"}
    prasser = content_of(tmp_path, PRASSER2017)
    assert prasser["adversary"] == {"risk": "journalist"}
    assert prasser["figures"] == {"nodes": {"top": 20}}


def test_a_comment_beside_the_game_stays(tmp_path):
    assert "\n# one form for all\ntitle" in upgraded(written(tmp_path, PRASSER2017)).text


def test_lines_of_the_masking_game_are_commented_out_with_their_empty_section(tmp_path):
    text = upgraded(written(tmp_path, ROBUSTNESS)).text
    now = tomllib.loads(text)
    assert set(now) == {"extends", "title", "replications", "subjects"}
    assert "# [stress]\n# Formerly stress.lines; now `reidsim run` of a scenario with a [sweep]" in text
    assert text.count("# [[analysis.lines]]") == 2
    assert text.count("# Formerly analysis.lines") == 1


MINIMAL = """{top}
[population]
recipe = "adult-arx"
[release]
table = "adult-arx"
[attributes.sex]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 1200
loss = 300
cost = 4
{more}
"""


@pytest.mark.parametrize(
    ("top", "more"),
    [
        ('game = "full-domain"\nanalysis.nodes.top = 3', ""),
        ('game = "full-domain"\nanalysis = { nodes = { top = 3 } }', ""),
        ('game = "full-domain"\nanalysis . "nodes" = { top = 3 }', ""),
        ("\"game\" = 'full-domain'", "[analysis]\nnodes.top = 3"),
        ('game = "full-domain"', "[analysis]\nnodes = { top = 3 }"),
        ('game = "full-domain"', "[ analysis . nodes ]\ntop = 3"),
    ],
)
def test_keys_move_in_every_way_to_write_them(tmp_path, top, more):
    assert content_of(tmp_path, MINIMAL.format(top=top, more=more))["figures"] == {"nodes": {"top": 3}}


@pytest.mark.parametrize(
    ("top", "more", "expected"),
    [
        ('publisher = { policies = ["basic"] }', "", {"policies": ["basic"]}),
        ("publisher = {}", "", {}),
        ('publisher.policies = ["basic"]', "", {"policies": ["basic"]}),
        ("", '[publisher]\npolicies = ["basic"]', {"policies": ["basic"]}),
        ("", "", {}),
    ],
)
def test_the_unit_is_put_wherever_the_publisher_is_told(tmp_path, top, more, expected):
    content = content_of(tmp_path, MINIMAL.format(top=f'game = "full-domain"\n{top}', more=more))
    assert content["publisher"] == {
        "unit": "table",
        # Nothing reads it without a policy that forbids attacks.
        **({} if "policies" in expected else {"safe_class": "above"}),
        **expected,
    }
    assert content["adversary"]["risk"] == "prosecutor"


def test_an_inline_table_of_both_sorts_is_left_to_the_reader(tmp_path):
    top = 'game = "full-domain"\nanalysis = { nodes = { top = 3 }, runtimes = { loss = [1] } }'
    text = upgraded(written(tmp_path, MINIMAL.format(top=top, more=""))).text
    assert "analysis" not in tomllib.loads(text)
    assert "# Formerly analysis.nodes; now figures.nodes" in text
    assert "# Formerly analysis.runtimes; now a [sweep]" in text


# The same answers.

PEOPLE = "age,sex,people\n30,F,9\n30,M,2\n40,F,1\n40,M,14\n50,F,3\n50,M,4\n"
RECORDS = "age,sex\n" + "30,F\n" * 4 + "30,M\n" * 2 + "40,F\n" + "40,M\n" * 5 + "50,F\n" * 2 + "50,M\n" * 4
SMALL = """seed = 1
[population]
recipe = "people.toml"
[release]
path = "records.csv"
[attributes.age]
hierarchy = {{ rule = "intervals", widths = [20] }}
[attributes.sex]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 100
loss = 300
gain = 80
cost = 20
{rest}"""


def test_a_rewritten_game_of_whole_tables_has_the_answer_of_one_written_today(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "records.csv").write_text(RECORDS)
    (tmp_path / "people.toml").write_text(
        'kind = "counts"\nfile = "people.csv"\ncount = "people"\n[columns]\nage = "age"\nsex = "sex"\n'
    )
    policies = 'policies = ["basic", "no-attack", "local-recoding", "record-level", "record-level-no-attack"]\n'
    former = 'game = "full-domain"\n' + SMALL.format(rest=f"[publisher]\n{policies}[analysis.nodes]\ntop = 4\n")
    present = SMALL.format(
        rest=f'[adversary]\nrisk = "prosecutor"\n[publisher]\nunit = "table"\nsafe_class = "above"\n{policies}'
        "[figures.nodes]\ntop = 4\n"
    )
    old, new = written(tmp_path, former, "old"), written(tmp_path, present, "new")
    write_upgraded(old)
    found, expected = reidsim.run(old), reidsim.run(new)
    pd.testing.assert_frame_equal(found.summary, expected.summary, check_exact=True)
    assert set(found.analysis.tables()) == set(expected.analysis.tables())
    # The class of 4 = gain/cost is what the key is about.
    at_least = reidsim.run(new, overrides={"publisher.safe_class": "at-least"}).summary
    assert not at_least.loc["no-attack"].equals(expected.summary.loc["no-attack"])


# The command.


def test_the_command_rewrites_in_place_and_says_what(tmp_path):
    path = written(tmp_path, ARX)
    os.chmod(path, 0o640)
    done = CliRunner().invoke(app, ["upgrade", str(path)], catch_exceptions=False)
    assert done.exit_code == 0
    assert 'publisher.unit = "table"' in done.output
    assert f"Written: {path}" in done.output
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["mine.toml"]
    before = path.stat().st_mtime_ns
    again = CliRunner().invoke(app, ["upgrade", str(path)], catch_exceptions=False)
    assert again.output == f"{path} is of the present form; left as it is\n"
    assert path.stat().st_mtime_ns == before


def test_a_new_file_is_written_or_printed_and_nothing_overwritten(tmp_path):
    path, other = written(tmp_path, ARX), tmp_path / "other.toml"
    printed = CliRunner().invoke(app, ["upgrade", str(path), "-o", "-"], catch_exceptions=False)
    assert tomllib.loads(printed.output)["publisher"]["unit"] == "table"
    done = CliRunner().invoke(app, ["upgrade", str(path), "-o", str(other)], catch_exceptions=False)
    assert done.exit_code == 0
    assert other.read_text() == printed.output
    assert path.read_text() == ARX
    with pytest.raises(InputError, match="exists already"):
        write_upgraded(path, other)


def test_a_link_stays_a_link_and_ends_of_lines_stay(tmp_path):
    real = tmp_path / "real.toml"
    real.write_bytes(ARX.replace("\n", "\r\n").encode())
    link = tmp_path / "link.toml"
    link.symlink_to(real)
    write_upgraded(link)
    assert link.is_symlink()
    assert real.read_bytes().count(b"\n") == real.read_bytes().count(b"\r\n") > 30
    load_scenario(real)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ARX.replace("loss = 300", "loss = -1"), r"economics\.loss.*cannot be used even when rewritten|rewritten.*-1"),
        ("game = ", "not valid TOML"),
        (ARX.replace("benefit = 1200", "benefits = 1200"), "cannot be used even when rewritten: unknown key"),
    ],
)
def test_a_file_that_is_no_scenario_stays_as_it_was(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=message):
        write_upgraded(path)
    assert path.read_text() == text
    assert os.listdir(tmp_path) == ["mine.toml"]


def test_what_a_scenario_extends_is_rewritten_first(tmp_path):
    base = written(tmp_path, ARX, "base")
    path = written(tmp_path, 'extends = "base.toml"\n[analysis.nodes]\ntop = 3\n')
    with pytest.raises(InputError, match=r"of a former version.*`reidsim upgrade .*base\.toml` first"):
        write_upgraded(path)
    write_upgraded(base)
    write_upgraded(path)
    loaded = load_scenario(path).scenario
    assert (loaded.publisher.unit, loaded.figures.nodes.top) == ("table", 3)


AGENTS = 'extends = "market"\ntitle = "Mine" # kept\n\n[adversaries.marketer]\nbuys = ["voter-list", "clinic"]\n'
OF_CLINIC = {"price": 5, "coverage": 0.5, "attributes": ["age", "sex"]}


@pytest.mark.parametrize(
    "resources",
    [
        '\n[agents.resources.clinic] # of a town\nprice = 5\ncoverage = 0.5\nattributes = ["age", "sex"]\n',
        '\n[agents.resources]\nclinic = { price = 5, coverage = 0.5, attributes = ["age", "sex"] }\n',
        '\n[agents]\nresources.clinic.price = 5\nresources.clinic.coverage = 0.5\n'
        'resources.clinic.attributes = ["age",\n  "sex"]\nrounds = 3\n',
        '\n[agents]\nresources = { clinic = { price = 5, coverage = 0.5, attributes = ["age", "sex"] } }\nrounds = 3',
    ],
)  # fmt: skip
def test_resources_of_agents_become_those_of_the_scenario(tmp_path, resources):
    path = tmp_path / "mine.toml"
    path.write_text(AGENTS + resources)
    with pytest.raises(InputError, match=r"agents\.resources: former key; expected resources in place of"):
        load_scenario(path)
    result = write_upgraded(path)
    assert result.changes == ("agents.resources is now resources",)
    content = tomllib.loads(result.text)
    assert content["resources"] == {"clinic": OF_CLINIC}
    assert set(content.get("agents", {})) == ({"rounds"} if "rounds" in resources else set())
    assert 'title = "Mine" # kept' in result.text
    assert ("# of a town" in result.text) is ("# of a town" in resources)
    assert load_scenario(path).scenario.resources["clinic"].share == 0.5
    assert write_upgraded(path).changes == ()


@pytest.mark.parametrize("first", ["resources", "agents.resources"])
def test_prices_join_the_resources_of_a_masking_scenario(tmp_path, first):
    own = '[resources.genealogy] # theirs\nsize = 300\nattributes = ["surname", "DYS19"]\n'
    price = "[agents.resources.genealogy]\n# dollars\nprice = 700 # once\n"
    path = tmp_path / "mine.toml"
    rest = '\n[targets]\nsize = 20\n\n[subjects]\nattributes = ["age", "DYS19"]\n'
    sections = (own, price) if first == "resources" else (price, own)
    path.write_text(
        'extends = "genealogy-market"\n' + sections[0] + "\n[population]\nseed = 3\n\n" + sections[1] + rest
    )
    result = write_upgraded(path)
    content = tomllib.loads(result.text)
    assert content["resources"]["genealogy"] == {"price": 700, "size": 300, "attributes": ["surname", "DYS19"]}
    assert content["population"] == {"seed": 3}
    assert result.text.count("[resources.genealogy]") == 1
    for comment in ("# dollars", "# once", "# theirs"):
        assert comment in result.text
    assert load_scenario(path).scenario.resources["genealogy"].price == 700
