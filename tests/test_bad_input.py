"""Invalid input ends with one clear line, exit code 2 and no partial output.

Every case copies the small town in ``scenarios/town``, breaks one thing and states the text that the line must
contain. ``run`` and ``check`` must both refuse it.
"""

import errno
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import reidsim
from reidsim import run
from reidsim.core.errors import listed

TOWN = Path(__file__).parent / "scenarios" / "town"
SCENARIO, PATIENTS, DISTRICTS = "town.toml", "patients.csv", "hierarchies/district.csv"
RECIPE, PEOPLE = "people/people.toml", "people/people.csv"


@pytest.fixture
def town(work):
    return work


def everything_in(folder):
    """Return all files of a folder with their contents, including hidden files."""
    return {
        path.relative_to(folder): path.read_bytes() if path.is_file() else path.is_symlink()
        for path in sorted(folder.rglob("*"))
    }


def assert_one_line(code, out, err, *says):
    assert err.endswith("\n"), err
    assert err.count("\n") == 1, err
    assert err.startswith("reidsim: "), err
    assert "Traceback" not in err
    assert code == 2, err
    assert out == ""
    for part in says:
        assert part in err


# Invalid inputs.


def edit(file, old, new):
    def change(folder):
        text = (folder / file).read_text()
        assert old in text, f"{old!r} is not in {file} any more"
        (folder / file).write_text(text.replace(old, new))

    return change


def write(file, content):
    def change(folder):
        if isinstance(content, bytes):
            (folder / file).write_bytes(content)
        else:
            (folder / file).write_text(content, newline="")

    return change


def link(file, target):
    def change(folder):
        (folder / file).unlink(missing_ok=True)
        (folder / file).symlink_to(target)

    return change


def case(name, *changes, says, sets=()):
    """Return a case: changes of files or ``--set`` options, and the expected text."""
    options = [part for setting in sets for part in ("--set", setting)]
    return pytest.param(changes, options, says, id=name)


def hierarchy(rows):
    return write(DISTRICTS, rows)


def age_rule(rule):
    return edit(SCENARIO, '{ rule = "intervals", widths = [2] }', rule)


def sex_rule(rule):
    return edit(SCENARIO, '{ rule = "suppress" }', rule)


def release(lines):
    return edit(SCENARIO, 'path = "patients.csv"', lines)


def section(text):
    return edit(SCENARIO, "[publisher]", f"{text}\n[publisher]")


NO_POPULATION = edit(SCENARIO, '[population]\nrecipe = "people/people.toml"\n', "")
SAFE_HARBOR = edit(SCENARIO, '"no-attack"', '"safe-harbor"')
KEYS = [
    case("key misspelt", edit(SCENARIO, "benefit =", "benefitt ="),
         says=["town.toml", "economics.benefitt", "unknown key", "did you mean 'benefit'?"]),
    case("key misspelt in a hierarchy", edit(SCENARIO, "widths", "width"),
         says=["attributes.age.hierarchy.width", "unknown key", "did you mean 'widths'?"]),
    case("key misspelt in a range", sets=['sweep.values={"economics.loss" = {form = 1, to = 2, points = 3}}'],
         says=["sweep.values.economics.loss.form", "unknown key", "did you mean 'from'?"]),
    case("section misspelt", edit(SCENARIO, "[publisher]", "[publsher]"),
         says=["town.toml", "publsher", "unknown key", "did you mean 'publisher'?"]),
    case("hierarchy missing", edit(SCENARIO, 'hierarchy = { rule = "suppress" }', ""),
         says=["attributes.sex.hierarchy", "missing"]),
    case("records missing", release(""), says=["town.toml", "release", "records are missing"]),
    case("no attributes", sets=["attributes={}"], says=["--set", "attributes", "{}"]),
]  # fmt: skip

VALUES = [
    *[
        case(f"{key} is {value}", edit(SCENARIO, f"{key} = ", f"{key} = {value} # "),
             says=["town.toml", f"economics.{key}", "not allowed", f"found {value}"])
        for key, value in (("benefit", "-1"), ("loss", "nan"), ("cost", "inf"))
    ],
    *[
        case(f"{key} is {value}", sets=[f"{key}={value}"], says=["--set", key, "not allowed", f"found {value}"])
        for key, value in (("economics.gain", "-1"), ("beliefs.loss", "nan"), ("beliefs.cost", "inf"))
    ],
    case("cost is text", edit(SCENARIO, "cost = 10", 'cost = "ten"'),
         says=["town.toml", "economics.cost", "wrong type", "'ten'", "number"]),
    case("cost is a list", edit(SCENARIO, "cost = 10", "cost = [10]"), says=["economics.cost", "wrong type"]),
    case("seed negative", edit(SCENARIO, "seed = 7", "seed = -7"), says=["town.toml", "seed", "-7"]),
    case("attribute not a section", sets=["attributes.age=3"], says=["attributes.age", "wrong type", "section"]),
    case("rule unknown", sex_rule('{ rule = "supress" }'),
         says=["attributes.sex.hierarchy.rule", "'supress'", "suppress, intervals", "did you mean 'suppress'?"]),
    case("width of one", age_rule('{ rule = "intervals", widths = [1] }'), says=["hierarchy.widths[0]", "found 1"]),
    case("policy unknown", sets=['publisher.policies=["basics"]'],
         says=["publisher.policies", "'basics'", "did you mean 'basic'?"]),
    case("policy given twice", edit(SCENARIO, '["basic", "no-attack"]', '["basic", "no-attack", "basic"]'),
         says=["town.toml", "publisher.policies", "given twice", "'basic'"]),
    case("solver unknown", sets=["publisher.solver=branch-and-bond"],
         says=["publisher.solver", "did you mean 'branch-and-bound'?"]),
    case("delimiter of two characters", release('path = "patients.csv"\ndelimiter = ";;"'),
         says=["town.toml", "release.delimiter", "';;'"]),
    case("range from high to low", sets=['sweep.values={"economics.loss" = {from = 3, to = 1, points = 3}}'],
         says=["sweep.values.economics.loss", "[3.0, 1.0]"]),
    case("range incomplete", sets=['sweep.values={"economics.loss" = {from = 3}}'],
         says=["sweep.values.economics.loss", "from, to and points"]),
]  # fmt: skip

COMBINATIONS = [
    case("policy needs Safe Harbor", sets=['publisher.policies=["basic", "safe-harbor"]'],
         says=["town.toml", "safe_harbor", "'safe-harbor'"]),
    case("Safe Harbor of an unknown attribute", section('[safe_harbor]\nage = "agee"'),
         says=["town.toml", "safe_harbor.age", "'agee'", "age, sex, district"]),
    case("Safe Harbor of ages that are no numbers", SAFE_HARBOR, section('[safe_harbor]\nage = "sex"'),
         says=["town.toml", "'sex'", "not a whole number", "'F'"]),
    case("search under a constraint", edit(SCENARIO, "[publisher]", '[publisher]\nsolver = "lattice-search"'),
         says=["town.toml", "publisher.solver", "'no-attack'", "backward-induction, branch-and-bound or iceberg"]),
    case("journalist risk without population", NO_POPULATION,
         says=["town.toml", "population", "missing", "journalist"]),
    case("draw without population", NO_POPULATION, edit(SCENARIO, 'column = "Alter"', "draw = true"),
         section('[adversary]\nrisk = "prosecutor"'), says=["town.toml", "population", "missing", "'age'"]),
    case("attribute nobody has", edit(SCENARIO, "[attributes.age]", "[attributes.aeg]"),
         says=["town.toml", "attributes.aeg", "'people'", "did you mean 'age'?"]),
    case("strengths without a policy that perturbs", section("[perturbation]\nstrengths = [0.1]"),
         says=["town.toml: perturbation", "no effect", "policy pram, swap, microaggregate or noise"]),
    case("section of strengths empty, without a policy that perturbs", section("[perturbation]"),
         says=["town.toml: perturbation", "no effect", "policy pram, swap, microaggregate or noise"]),
    case("record like nobody", edit(SCENARIO, 'column = "Bezirk"', "draw = true"),
         edit(PATIENTS, "P04,m,30", "P04,m,33"), says=["patients.csv", "row 5", "age = 33, sex = M"]),
]  # fmt: skip

RULES = [
    case("intervals that do not nest", age_rule('{ rule = "intervals", widths = [2, 3] }'),
         says=["town.toml", "attributes.age.hierarchy", "do not nest", "[2, 3]"]),
    case("intervals that begin too high", age_rule('{ rule = "intervals", widths = [2], start = 31 }'),
         says=["attributes.age.hierarchy", "found 30", "31 or more"]),
    case("intervals of text", sex_rule('{ rule = "intervals", widths = [2] }'),
         says=["attributes.sex.hierarchy", "not a whole number", "'F'"]),
    case("prefixes of codes of different lengths", age_rule('{ rule = "prefix", digits = [1] }'),
         edit(PEOPLE, "32,M,S1", "100,M,S1"),
         says=["town.toml", "attributes.age.hierarchy", "codes of different lengths", "[2, 3]"]),
    case("prefixes that do not shorten", age_rule('{ rule = "prefix", digits = [2] }'),
         says=["attributes.age.hierarchy", "digits", "[2]"]),
    case("group of an unknown category", sex_rule('{ rule = "groups", groups = [[["F", "X"]]] }'),
         says=["attributes.sex.hierarchy", "level 1", "'X'", "F, M"]),
    case("category in two groups", sex_rule('{ rule = "groups", groups = [[["F", "M"], ["M", "F"]]] }'),
         says=["attributes.sex.hierarchy", "level 1", "'M'"]),
    case("costless level that is not there", edit(SCENARIO, 'district.csv"', 'district.csv", costless_levels = [7]'),
         says=["attributes.district.hierarchy", "found 7", "1 to 2"]),
]  # fmt: skip

HIERARCHY_FILES = [
    case("levels not nested", hierarchy("N1;N;x\nN2;N;y\nS1;S;y\nS2;S;y\n"),
         says=["district.csv", "level 2", "not nested", "'N1' and 'N2'", "'N'"]),
    case("value with two rows", hierarchy("N1;N;*\nN2;N;*\nN1;N;*\nS1;S;*\nS2;S;*\n"),
         says=["district.csv", "row 3", "two rows", "'N1'"]),
    case("value with two rows below a header", edit(SCENARIO, 'district.csv"', 'district.csv", header = true'),
         hierarchy("code;area;all\nN1;N;*\nN2;N;*\nN1;N;*\nS1;S;*\nS2;S;*\n"),
         says=["district.csv", "row 3", "the first is row 1", "two rows"]),
    case("short row", hierarchy("N1;N;*\nN2;N\nS1;S;*\nS2;S;*\n"),
         says=["district.csv", "2", "number of columns", "expected 3"]),
    case("value without row", hierarchy("N1;N;*\nN2;N;*\nS1;S;*\n"), says=["district.csv", "'district'", "'S2'"]),
    case("other delimiter", hierarchy("N1,N,*\nN2,N,*\nS1,S,*\nS2,S,*\n"),
         says=["district.csv", "row 1", "';'", "','"]),
    case("header", NO_POPULATION, section('[adversary]\nrisk = "prosecutor"'),
         hierarchy("value;region;all\nN1;N;*\nN2;N;*\nS1;S;*\nS2;S;*\n"), says=["district.csv", "row 1", "header"]),
]  # fmt: skip

RECORDS = [
    case("value outside its domain", edit(PATIENTS, "P04,m,30,N1", "P04,m,34,N1"),
         says=["patients.csv", "row 5", "'Alter'", "found '34'", "30, 31, 32, 33"]),
    case("value outside its hierarchy", NO_POPULATION, section('[adversary]\nrisk = "prosecutor"'),
         edit(PATIENTS, "P04,m,30,N1", "P04,m,30,Q1"), says=["patients.csv", "row 5", "'Bezirk'", "found 'Q1'"]),
    case("value that stands for nothing", edit(PATIENTS, "P04,m", "P04,x"),
         says=["patients.csv", "row 5", "'Geschlecht'", "found 'x'", "F, M"]),
    case("value missing", edit(PATIENTS, "P04,m,30,N1", "P04,m,30,"),
         says=["patients.csv", "row 5", "'Bezirk'", "N1, N2, S1, S2"]),
    case("empty", write(PATIENTS, ""), says=["patients.csv", "empty"]),
    case("header only", write(PATIENTS, "Name,Geschlecht,Alter,Bezirk\n"), says=["patients.csv", "no rows"]),
    case("column missing", edit(PATIENTS, "Alter", "Altr"),
         says=["patients.csv", "column 'Alter'", "missing", "Name, Geschlecht, Altr, Bezirk", "did you mean 'Altr'?"]),
    case("column named twice", edit(PATIENTS, "Name", "Alter"), says=["patients.csv", "twice", "'Alter'"]),
    case("short row", edit(PATIENTS, "P04,m,30,N1", "P04,m,30"),
         says=["patients.csv", "row 5", "number of columns", "expected 4"]),
    case("long row", edit(PATIENTS, "P04,m,30,N1", "P04,m,30,N1,x"), says=["patients.csv", "row 5", "4", "5"]),
    case("quote left open", edit(PATIENTS, "P04", '"P04'), says=["patients.csv", "row 5"]),
    case("other delimiter", release('path = "patients.csv"\ndelimiter = ";"'),
         says=["patients.csv", "header", "one column", "separated by ';'", "release.delimiter = ','"]),
    case("other delimiter, no header", release('path = "patients.csv"\ndelimiter = ";"\nheader = false'),
         says=["patients.csv", "row 1", "one column", "separated by ';'", "release.delimiter = ','"]),
    case("missing", edit(SCENARIO, '"patients.csv"', '"patient.csv"'), says=["patient.csv", "no such file"]),
    case("a folder", edit(SCENARIO, '"patients.csv"', '"people"'), says=["people", "is a folder"]),
    case("below a file", edit(SCENARIO, '"patients.csv"', '"patients.csv/1.csv"'),
         says=["patients.csv/1.csv", "cannot be read"]),
    case("link to itself", link(PATIENTS, PATIENTS), says=["patients.csv", "cannot be read"]),
    case("name with a zero byte", edit(SCENARIO, '"patients.csv"', '"\\u0000.csv"'), says=["release.path"]),
    case("name of 300 characters", edit(SCENARIO, '"patients.csv"', f'"{"p" * 300}"'), says=["cannot be read"]),
    case("Latin-1", write(PATIENTS, "Name,Geschlecht,Alter,Bezirk\nJürgen,m,30,N1\n".encode("latin-1")),
         says=["patients.csv", "UTF-8"]),
    case("not a file of the Adult data set", release('path = "patients.csv"\nformat = "adult"'),
         says=["patients.csv", "not a file of the Adult data set", "4 columns", "15 columns"]),
    case("table unknown", release('table = "adlt"'), says=["'adlt'", "did you mean 'adult'?"]),
    *[
        case(f"broken {ending}", edit(SCENARIO, '"patients.csv"', f'"p.csv.{ending}"'),
             write(f"p.csv.{ending}", b"not packed"), says=[f"p.csv.{ending}"])
        for ending in ("gz", "zip")
    ],
    case("cut gz", edit(SCENARIO, '"patients.csv"', '"p.csv.gz"'),
         write("p.csv.gz", gzip.compress((TOWN / PATIENTS).read_bytes())[:-20]), says=["p.csv.gz"]),
    case("garbled gz", edit(SCENARIO, '"patients.csv"', '"p.csv.gz"'),
         write("p.csv.gz", gzip.compress((TOWN / PATIENTS).read_bytes())[:12] + b"\xff" * 40), says=["p.csv.gz"]),
]  # fmt: skip

POPULATIONS = [
    case("kind unknown", edit(RECIPE, '"counts"', '"count"'),
         says=["people.toml", "kind", "'count'", "census-cells", "sf1", "did you mean 'counts'?"]),
    case("kind missing", edit(RECIPE, 'kind = "counts"\n', ""),
         says=["people.toml: kind: key missing", "counts", "census-cells", "sf1"]),
    case("key misspelt", edit(RECIPE, "count =", "cuont ="),
         says=["people.toml: cuont: unknown key", "file", "delimiter", "did you mean 'count'?"]),
    case("key missing", edit(RECIPE, 'file = "people.csv"\n', ""), says=["people.toml: file: key missing"]),
    case("recipe missing", edit(SCENARIO, "people/people.toml", "people/poeple.toml"),
         says=["people/poeple.toml", "no such file"]),
    case("recipe unknown", edit(SCENARIO, '"people/people.toml"', '"tennesse-2010"'),
         says=["'tennesse-2010'", "expected one of adult", "did you mean 'tennessee-2010'?"]),
    case("nobody", write(PEOPLE, "years,sex,district,people\n"), says=["people.csv", "no rows"]),
    case("nobody counted", write(PEOPLE, "years,sex,district,people\n30,F,N1,0\n"), says=["people.toml", "empty"]),
    case("column missing", edit(RECIPE, '"years"', '"year"'),
         says=["people.csv", "column 'year'", "missing", "did you mean 'years'?"]),
    case("counts missing", edit(RECIPE, 'count = "people"', 'count = "poeple"'),
         says=["people.csv", "column 'poeple'", "missing", "did you mean 'people'?"]),
    *[
        case(f"count {count}", edit(PEOPLE, "N1,20", f"N1,{count}"),
             says=["people.csv", "row 4", "column 'people'", f"'{count}'"])
        for count in ("-20", "many", "nan", "1e30")
    ],
    case("age with two signs", edit(PEOPLE, "33,F,S2", "--33,F,S2"), says=["--33"]),
]  # fmt: skip

FIGURES = [
    case("record with an unknown value", sets=['figures.strategies={age = "99", sex = "F", district = "N1"}'],
         says=["town.toml", "figures.strategies", "'age'", "'99'", "30, 31, 32, 33"]),
    case("record with a strange attribute",
         sets=['figures.strategies={age = "30", sex = "F", district = "N1", shoe = "44"}'],
         says=["town.toml", "figures.strategies", "no such attribute", "'shoe'"]),
    case("value not text", sets=['figures.strategies={age = 30, sex = "F", district = "N1"}'],
         says=["--set", "figures.strategies.age", "wrong type", "found 30"]),
]  # fmt: skip

OVERRIDES = [
    case("without =", sets=["economics.loss"], says=["--set", "'economics.loss'", "KEY=VALUE"]),
    case("without key", sets=["=600"], says=["--set", "'=600'", "KEY=VALUE"]),
    case("into a value", sets=["seed.of.run=3"], says=["--set", "seed", "not a section", "found 7"]),
    case("into a list", sets=["publisher.policies.first=basic"], says=["--set", "publisher.policies", "no such list"]),
    case("of an unknown key", sets=["economics.los=600"],
         says=["--set", "economics.los", "unknown key", "did you mean 'loss'?"]),
    case("of a missing file", sets=["release.path=adult.data"], says=["adult.data", "no such file"]),
    case("of a missing attack recipe", sets=["adversary.stages=nope.toml"],
         says=["nope.toml: adversary.stages: no such file"]),
    case("of an attack recipe of nothing", write("attack.toml", "title = 3"), sets=["adversary.stages=attack.toml"],
         says=["attack.toml: title: wrong type"]),
    case("with a broken character", sets=["title=\udcff"], says=["--set", "title"]),
    case("nested too deep", sets=["title=" + "[" * 5000], says=["--set"]),
    case("nested deep", sets=["title=" + "[" * 60 + "]" * 60], says=["--set", "title", "at most 50 levels"]),
    case("with a number of 5000 digits", sets=["seed=" + "9" * 5000], says=["--set"]),
]  # fmt: skip

CASES = {
    "keys": KEYS,
    "values": VALUES,
    "combinations": COMBINATIONS,
    "rules": RULES,
    "hierarchy file": HIERARCHY_FILES,
    "records": RECORDS,
    "population": POPULATIONS,
    "figures": FIGURES,
    "override": OVERRIDES,
}


@pytest.mark.parametrize(
    ("changes", "options", "says"),
    [pytest.param(*c.values, id=f"{group}: {c.id}") for group, members in CASES.items() for c in members],
)
def test_invalid_input_is_refused_in_one_line_and_nothing_is_written(town, reidsim_, changes, options, says):
    for change in changes:
        change(town)
    before = everything_in(town.parent)

    outcome = reidsim_("check", SCENARIO, *options)

    assert_one_line(*outcome, *says)
    assert everything_in(town.parent) == before


# The scenario itself.


@pytest.mark.parametrize("command", ["run", "show"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("wan2051", ["'wan2051'", "arx-example", "did you mean 'wan2021'?"], id="name unknown"),
        pytest.param("twon.toml", ["twon.toml", "no such file"], id="file missing"),
        pytest.param("patients.csv/town.toml", ["patients.csv/town.toml", "no such file"], id="below a file"),
        pytest.param("people", ["people", "is a folder"], id="a folder by its name"),
        pytest.param(".", [".: is a folder; expected a scenario file (TOML)"], id="the working folder"),
        pytest.param(PATIENTS, [f"{PATIENTS}: not a scenario file", f"reidsim new {PATIENTS}"], id="records"),
        pytest.param("README", ["README: not a scenario file (TOML)\n"], id="a file by its name"),
        pytest.param("binary.toml", ["binary.toml", "UTF-8"], id="not text"),
        pytest.param("t" * 300, ["no bundled scenario"], id="name of 300 characters"),
    ],
)
def test_a_scenario_that_cannot_be_read_is_refused_in_one_line(town, reidsim_, command, name, says):
    (town / "README").write_text("title = 'x'")
    (town / "binary.toml").write_bytes(bytes(range(256)))
    before = everything_in(town.parent)

    assert_one_line(*reidsim_(command, name), *says)
    assert everything_in(town.parent) == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[economics]\ncost = = 3\n", "line 2"),
        ("title = 'open\n", "end of document"),
        ("seed = " + "[" * 5000, "not valid TOML"),
    ],
)
def test_a_scenario_that_is_not_toml_is_refused_with_its_line(town, reidsim_, text, says):
    (town / "mine.toml").write_text(text)
    assert_one_line(*reidsim_("check", "mine.toml"), "mine.toml", "not valid TOML", says)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("file", [SCENARIO, PATIENTS, DISTRICTS, RECIPE, PEOPLE])
def test_a_file_without_permission_is_refused_in_one_line(town, reidsim_, file):
    (town / file).chmod(0)
    assert_one_line(*reidsim_("check", SCENARIO), Path(file).name, "cannot be read", "ermission denied")


# Where results go.


@pytest.mark.parametrize(
    ("folder", "says"),
    [
        pytest.param(PATIENTS, ["patients.csv", "is a file"], id="a file"),
        pytest.param("people", ["people", "not empty"], id="a folder with something in it"),
        pytest.param(".", ["not empty"], id="the working folder"),
        pytest.param(f"{PATIENTS}/out", ["patients.csv", "is a file"], id="below a file"),
        pytest.param("link", ["link"], id="a dangling link"),
        pytest.param("/proc/reidsim", ["/proc/reidsim", "cannot be written"], id="where nothing can be made"),
    ],
)
def test_an_output_that_cannot_be_used_is_refused_in_one_line(town, reidsim_, folder, says):
    if folder.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("there is no /proc here")
    (town / "link").symlink_to("nowhere")
    before = everything_in(town.parent)

    assert_one_line(*reidsim_("run", SCENARIO, "-o", folder), *says)
    assert everything_in(town.parent) == before


def test_a_taken_output_is_refused_before_any_work_is_done(town, reidsim_, monkeypatch):
    def too_late(*arguments, **options):
        raise AssertionError("the scenario was run although its results have nowhere to go")

    monkeypatch.setattr("reidsim.kinds.tables.kind.build_study", too_late)
    for folder in ("people", PATIENTS, f"{PATIENTS}/out"):
        assert reidsim_("run", SCENARIO, "-o", folder)[0] == 2


def test_a_full_disk_is_one_line_and_leaves_nothing(town, reidsim_, monkeypatch):
    def fill(path, content):
        path.write_bytes(b"the first half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("reidsim.engine.results.write_json", fill)
    before = everything_in(town.parent)

    assert_one_line(*reidsim_("run", SCENARIO, "-o", "results"), "results", "disk is full", "nothing was written")
    assert everything_in(town.parent) == before


# The real command, in a separate process.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chek", "wan2015"], "check"),
        (["run"], "SCENARIO"),
        (["run", "wan2015", "--seed", "-1"], "--seed"),
        (["check", "wan2015", "town.toml"], "town.toml"),
    ],
)
def test_a_command_that_does_not_exist_ends_with_what_is_wrong(town, reidsim_, arguments, says):
    before = everything_in(town.parent)
    code, out, err = reidsim_(*arguments)
    assert code == 2
    assert out == ""
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("Error: ")
    assert says in err.splitlines()[-1]
    assert everything_in(town.parent) == before


def test_a_scenario_of_hundreds_of_megabytes_is_refused_unread(town, reidsim_):
    with (town / SCENARIO).open("ab") as file:
        file.truncate(200 << 20)
    assert_one_line(*reidsim_("check", SCENARIO), "town.toml", "too large", "at most 32 MiB")


def test_a_scenario_nested_deeper_than_any_is_told_at_once(town, reidsim_):
    (town / "deep.toml").write_text("a = " + "[" * 100 + "]" * 100 + "\n")
    (town / "above.toml").write_text('extends = "deep.toml"\n')
    for name in "deep.toml", "above.toml":
        assert_one_line(*reidsim_("check", name), "deep.toml", "nested too deep", "at most 50 levels")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (",".join(f"c{number}" for number in range(100_000)) + "\n1\n", "too many columns; found 100000"),
        ("a,b\n1," + "x" * 3_000_000 + "\n", "a row is longer than a megabyte"),
    ],
    ids=["columns", "cell"],
)
def test_a_table_of_endless_rows_is_refused_at_once(town, reidsim_, text, says):
    (town / "wide.csv").write_text(text)
    assert_one_line(*reidsim_("new", "wide.csv", "-o", "x"), "wide.csv", says)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_pipe_that_nobody_writes_to_is_refused_at_once(town, reidsim_, ending):
    pipe = f"pipe.{ending}"
    os.mkfifo(town / pipe)
    for arguments in (
        ("check", SCENARIO, "--set", f'release.path="{pipe}"'),
        ("describe", pipe),
        ("new", pipe, "-o", "x"),
    ):
        assert_one_line(*reidsim_(*arguments), pipe, "expected a")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_or_folder_in_place_of_a_file_of_results_is_refused_at_once(town, reidsim_):
    run(SCENARIO).save("results")
    table = town / "results" / "records.parquet"
    table.unlink()
    os.mkfifo(table)
    assert_one_line(*reidsim_("report", "results"), table.name, "is a pipe, device or socket; expected a file")
    table.unlink()
    table.mkdir()
    assert_one_line(*reidsim_("report", "results"), table.name, "the folder has no tables")


@pytest.mark.parametrize(("length", "says"), [(19, None), (21, "too long")])
def test_scenarios_may_extend_one_another_in_short_chains(town, reidsim_, length, says):
    for number in range(length):
        (town / f"{number}.toml").write_text(f'extends = "{number + 1}.toml"\n')
    (town / SCENARIO).rename(town / f"{length}.toml")
    code, out, err = reidsim_("check", "0.toml")
    if says is None:
        assert (code, err) == (0, "")
    else:
        assert_one_line(code, out, err, "extends", says, "at most 20 scenarios")


def test_a_circle_of_scenarios_is_told(town, reidsim_):
    for number in range(5):
        (town / f"{number}.toml").write_text(f'extends = "{(number + 1) % 5}.toml"\n')
    assert_one_line(*reidsim_("check", "2.toml"), "1.toml", "extends", "a scenario cannot extend itself")


def no_room(*given, **named):
    np.zeros(1 << 50)


def no_room_for_a_thread(*given, **named):
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("full", [no_room, no_room_for_a_thread])
def test_too_little_memory_is_one_line_and_leaves_nothing(town, reidsim_, monkeypatch, full):
    monkeypatch.setattr("reidsim.engine.batch.runner.run_loaded", full)
    before = everything_in(town)
    assert_one_line(*reidsim_("run", SCENARIO, "-o", "out"), "not enough memory")
    assert everything_in(town) == before


@pytest.mark.parametrize("seed", [2**63, -1])
def test_a_seed_that_tables_cannot_hold_is_refused_before_the_run(town, reidsim_, seed):
    before = everything_in(town)
    code, out, err = reidsim_("run", SCENARIO, "-o", "out", "--seed", seed)
    assert (code, out) == (2, "")
    assert "seed" in err
    assert ("9223372036854775807" if seed > 0 else "equal to 0") in err
    assert everything_in(town) == before


VALUES = [f"value {number}" for number in range(40)]


@pytest.mark.parametrize(
    ("found", "end"),
    [
        (VALUES, "'value 8', ... (31 more)"),
        (", ".join(VALUES), "value 10, ... (29 more)'"),
        (dict.fromkeys(VALUES, 1), "'value 6': 1, ... (33 more)"),
        (listed(VALUES, 20), "value 10, ... (40 in all)'"),
        ("words " * 40, " words..."),
        ("x" * 300, "xxx..."),
    ],
)
def test_a_long_value_ends_with_an_entry_and_the_number_of_others(found, end):
    message = str(reidsim.InputError("problem", found=found))
    assert message.endswith(end)
    assert len(message) < 140
