"""No command ends in a traceback if planners, policies, kinds and measures are added.

The planner, the policy and the kind are the examples of the guides to parts of one's own, installed as entry points.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from pages import blocks_of
from reference_pages.key_pages import _game_keys

from reidsim.cli import main
from reidsim.core import registry as core_registry
from reidsim.scenarios import registry
from reidsim.scenarios.kind import kinds_at_hand

DRIVER = Path(__file__).with_name("every_command.py")
PAGES = ("how-to/own-adversary.md", "how-to/parts-in-files.md", "how-to/own-policy.md", "how-to/kind.md")
EXAMPLES = {block.title: block.text for page in PAGES for block in blocks_of(page) if block.title}
TABLE = """
title = "Ward"
{head}
[release]
path = "patients.csv"
[attributes]
age.hierarchy = {{ rule = "intervals", widths = [10, 20] }}
sex.hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 100
loss = 60
cost = 16
[adversary]
risk = "prosecutor"
{planner}
[publisher]
policies = ["basic", "no-attack"{policy}]
"""
WITHHOLDING = """
title = "Ward"
{head}
game = "withholding"
sizes = [1, 4, 40]
[economics]
benefit = 10
loss = 60
cost = 2
[publisher]
policies = ["basic"]
"""
UNCERTAINTY = """
[uncertainty]
samples = 2
parameters = { "economics.cost" = { distribution = "uniform", low = 5, high = 20 } }
"""
SECTIONS = {
    "ward": "",
    "rounds": "[agents]\nrounds = 2\n",
    "stress": f'{UNCERTAINTY}[stress]\noutputs = ["publisher_payoff", "risk"]\nrobustness = {{ samples = 2 }}\n',
    "batch": UNCERTAINTY,
}
ENTRY_POINTS = {
    "planner": "[reidsim.adversaries]\npersistent = persistent:Persistent\n",
    "policy": "[reidsim.policies]\nappetite = appetite:Appetite\n",
    "kind": "[reidsim.kinds]\nwithholding = withholding:Withholding\n",
}
# A measure that is added to `reidsim.games.outcomes` and nowhere else.
ADDED = """
from reidsim.core.wording import Measure
from reidsim.games import outcomes as measures

measures.MEASURES += (
    Measure("highest_risk", "Highest risk", "{:.4f}", "the highest risk", lambda outcome, n: outcome.risk.max()),
)
"""
# Commands that always succeed, then commands that a part may refuse.
SURE = """\
check ward.toml
run ward.toml -o ward
run batch.toml -o batch
report ward -o ward.html
report batch -o batch.html
rerun batch --run 0/0
stress stress.toml -o stress
report stress -o stress.html
switch ward.toml -o switch
explain ward.toml
schema
list
show ward.toml
describe patients.csv
new patients.csv -o drafted
"""
OTHERS = """\
run rounds.toml -o rounds
report rounds -o rounds.html
explain rounds.toml
share ward --policy basic -o shared.csv --accept-risk --rulebook rules.csv
apply rules.csv patients.csv -o applied.csv
attributes ward.toml -o attributes
score patients.csv --scenario ward.toml -o score
cross-play ward.toml --equilibrium -o cross
report cross -o cross.html
"""


def installed(part, folder):
    """Write a package with one part, and scenarios that use it."""
    for name in ("patients.csv", "persistent.py", "appetite.py", "withholding.py"):
        (folder / name).write_text(EXAMPLES[name])
    about = folder / "ward_parts-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ward-parts\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS[part])
    (folder / "before.py").write_text(ADDED)
    planner = 'planner = "persistent"' if part == "planner" else ""
    policy = ', "appetite"' if part == "policy" else ""
    for name, sections in SECTIONS.items():
        head = "replications = 2" if name == "batch" else ""
        base = WITHHOLDING if part == "kind" else TABLE
        (folder / f"{name}.toml").write_text(base.format(head=head, planner=planner, policy=policy) + sections)


def assert_told_in_a_line(command, outcome, codes=(0, 2)):
    assert outcome["code"] in codes, (command, outcome["err"], outcome["fault"][-2000:])
    errors = [line for line in outcome["err"].splitlines() if line and not line.startswith("warning: ")]
    assert len(errors) == (outcome["code"] == 2), (command, errors)
    assert all(line.startswith("reidsim: ") for line in errors), (command, errors)


@pytest.mark.deep
@pytest.mark.parametrize("part", ENTRY_POINTS)
def test_every_command_works_or_says_in_a_line_why_not(part, tmp_path):
    installed(part, tmp_path)
    (tmp_path / "commands.txt").write_text(SURE + OTHERS)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, DRIVER, "before.py", "commands.txt"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"}, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for command, outcome in found.items():
        assert_told_in_a_line(command, outcome, (0,) if command in SURE.splitlines() else (0, 2))
    assert "Highest risk" in found["run ward.toml -o ward"]["out"]
    if part == "planner":
        assert "Highest risk" in found["run rounds.toml -o rounds"]["out"]
        rounds = pd.read_parquet(tmp_path / "rounds" / "rounds.parquet")
        assert rounds["highest_risk"].between(0, 1).all()


# Parts that fail.


@pytest.fixture
def called(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command line with a modified part installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_IN_USE", {})
    made = dict(registry.MADE)
    registry.MADE.clear()
    # Pages of the documentation, run before, may have imported their own modules of these names.
    for name in ("persistent", "appetite", "withholding"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def call(part, old, new, *arguments):
        installed(part, tmp_path)
        for path in (*tmp_path.glob("*.py"), *tmp_path.glob("*/entry_points.txt")):
            path.write_text(path.read_text().replace(old, new))
        monkeypatch.setattr(sys, "argv", ["reidsim", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        return {"code": stop.value.code or 0, "err": capsys.readouterr().err}

    yield call
    for name in ("persistent", "appetite", "withholding"):
        sys.modules.pop(name, None)
    registry.MADE.clear()
    registry.MADE.update(made)
    core_registry._installed.cache_clear()


@pytest.mark.parametrize(
    ("part", "old", "new", "said"),
    [
        # Of another length: Python reuses byte code of a source with the same time and size.
        ("planner", "attacks = expected > 0", "return None", "persistent"),
        ("policy", "forms, kept = ", "raise KeyError('oops'); forms = ", "appetite.py, line "),
        ("kind", "return kinds.World(", "return (", "withholding"),
        ("kind", "import numpy", "import numpyy", "numpyy"),
        ("kind", "withholding:Withholding", "withholding:Gone", "Gone"),
    ],
)
def test_a_part_that_fails_is_named_in_a_line(called, part, old, new, said):
    outcome = called(part, old, new, "run", "ward.toml", "-o", "out")
    assert_told_in_a_line("run", outcome | {"fault": ""}, (2,))
    assert said in outcome["err"]
    assert not Path("out").exists()


def test_a_kind_that_cannot_be_imported_leaves_the_others_alone(called):
    outcome = called("kind", "import numpy", "import numpyy", "check", "ward.toml")
    assert "game: cannot be imported" in outcome["err"]
    usable = [kind.name for kind in kinds_at_hand()]
    assert set(registry.kinds.names) - set(usable) == {"withholding"}


def test_a_fault_of_the_package_is_no_fault_of_parts(monkeypatch):
    monkeypatch.setattr(registry, "_IN_USE", {})
    assert registry.fault_of_parts(KeyError("oops")) is None


# Added parts, tested in this process.


def test_a_kind_without_a_guide_has_a_page_of_keys(monkeypatch):
    monkeypatch.setitem(registry.kinds._parts, "gap", registry.kinds["dynamic"])
    page = _game_keys("gap")
    assert 'game = "gap"' in page
    assert "[guide]" not in page
    assert "[guide](../explanation/dynamic-release.md)" in _game_keys("dynamic")
