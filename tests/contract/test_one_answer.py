"""All runners agree on a policy's result against the scenario's own adversary.

Small worlds of every kind of game are tested with every planner and linkage. A run, one round of agents in
expectation, the own adversary's column of cross-play, a batch of one point and the baseline of a stress test must
give equal results.
"""

import itertools
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from found import at_least
from staged_clinic import FILES as CLINIC
from tiers import cases

import reidsim

MEASURES = ["publisher_payoff", "adversary_payoff", "utility", "share_attacked", "risk"]
PLANNERS = ("one-shot", "fmdp", "testing", "always", "never", "random")
# Error models of planners, by the suffix of the planner's name.
ERRORS = {
    "logit": 'rationality = "logit"\nprecision = 0.05\n',
    "prospect": 'rationality = "prospect"\n',
    "prospect-logit": 'rationality = "prospect-logit"\nprecision = 0.1\nprospect = { loss_aversion = 1.5 }\n',
}
ERRING = (
    "one-shot with logit",
    "one-shot with prospect",
    "one-shot with prospect-logit",
    "fmdp with logit",
    "testing with logit",
)
FILES = {
    **{name: CLINIC[name] for name in ("people.toml", "directory.csv")},
    "people.csv": """age,sex,village,people
30,F,Dale,14
30,M,Dale,7
30,F,Hill,2
30,M,Hill,9
40,F,Dale,11
40,M,Dale,2
40,M,Hill,1
50,F,Dale,5
50,F,Hill,8
50,M,Hill,3
""",
    "patients.csv": """age,sex,village,job
30,F,Dale,clerk
30,M,Dale,miller
30,F,Hill,nurse
40,F,Dale,clerk
40,M,Dale,miller
40,M,Hill,smith
50,F,Dale,clerk
50,M,Hill,miller
50,F,Dale,nurse
50,F,Dale,nurse
""",
    "club.toml": """[[sources]]
kind = "groups"
name = "club"
[[sources.profile]]
presence = 0.5
[[sources.profile.groups]]
attributes = ["age", "village"]
""",
    "register.csv": """age,job,people
30,clerk,14
30,baker,5
30,miller,6
30,nurse,2
40,clerk,10
40,miller,3
40,smith,1
50,clerk,5
50,baker,3
50,miller,2
""",
    "attack.toml": """[resources.directory]
file = "directory.csv"
count = "people"
[resources.register]
file = "register.csv"
count = "people"
[[stages]]
stage = "infer-by-linkage"
resource = "directory"
infers = "job"
on = ["age", "sex", "village"]
[[stages]]
stage = "identify"
resource = "register"
on = ["age", "job"]
""",
}
TABLES = """seed = 3
[population]
recipe = "people.toml"
holds_release = false
[release]
path = "patients.csv"
[attributes.age]
hierarchy = {{ rule = "intervals", widths = [20] }}
[attributes.sex]
hierarchy = {{ rule = "suppress" }}
[attributes.village]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 100
loss = 150
cost = 20
[beliefs]
{beliefs}
[publisher]
unit = "{unit}"
safe_class = "{safe_class}"
k = 3
policies = {policies}
[adversary]
{adversary}
{more}
"""
MASKING = """seed = 3
game = "masking"
[targets]
file = "patients.csv"
[resources.directory]
file = "directory.csv"
count = "people"
attributes = ["age", "sex", "village", "job"]
[resources.register]
file = "register.csv"
count = "people"
attributes = ["age", "job"]
[resources.people]
file = "people.csv"
count = "people"
attributes = ["age", "sex", "village"]
[economics]
benefit = 100
loss = 150
cost = 20
[beliefs]
{beliefs}
[subjects]
attributes = ["age", "sex", "village"]
policies = {policies}
[adversary]
{adversary}
{more}
"""
IDENTIFY = '[[adversary.stages]]\nstage = "identify"\nresource = "people"\non = ["age", "sex", "village"]\n'
IN_STAGES = """[[adversary.stages]]
stage = "infer-by-linkage"
resource = "directory"
infers = "job"
on = ["age", "sex", "village"]
[[adversary.stages]]
stage = "identify"
resource = "register"
on = ["age", "job"]
"""
_LINKED_RECORDS = {
    "plain": "",
    "knowledge": 'knowledge = "club.toml"\n',
    "stages": 'stages = "attack.toml"\n',
    "sample": 'risk = "sample"\n',
    "sample-knowledge": 'risk = "sample"\nknowledge = "club.toml"\n',
}
_LINKED_SUBJECTS = {
    "plain": IDENTIFY,
    "knowledge": 'knowledge = "club.toml"\nresource = "people"\n',
    "stages": IN_STAGES,
}
_TABLE_POLICIES = [
    "basic", "no-attack", "full-domain", "record-level", "opt-in", "k-anonymity", "no-protection",
]  # fmt: skip
_SUBJECT_POLICIES = ["masking", "no-attack-masking", "opt-in", "same-strategy", "no-protection", "k-anonymity-3"]
# Name of a world: scenario text, supported linkages, and policies.
WORLDS = {
    "records": (TABLES, {"unit": "record", "safe_class": "at-least"}, _LINKED_RECORDS, _TABLE_POLICIES),
    "table": (TABLES, {"unit": "table", "safe_class": "at-least"}, _LINKED_RECORDS, _TABLE_POLICIES),
    "table-above": (TABLES, {"unit": "table", "safe_class": "above"}, _LINKED_RECORDS, _TABLE_POLICIES),
    "subjects": (MASKING, {}, _LINKED_SUBJECTS, _SUBJECT_POLICIES),
}
# The defender's belief: the true cost, or another cost.
BELIEFS = {"informed": "", "mistaken": "cost = 60"}
SEQUENTIAL = "sequential = { access_cost = 1.0, penalty = 10.0 }\n"


def save(path: Path, text: str) -> None:
    """Write a scenario with the additional keys that only some worlds read."""
    if '"sample"' in text and "sampling_fraction" not in text:
        text = text.replace("[release]\n", "[release]\nsampling_fraction = 0.25\n")
    if set(re.findall(r'^planner = "(.*)"', text, re.MULTILINE)) <= {"always", "never", "random"}:
        text = re.sub(r"(?<=^\[beliefs\]\n)(?:.*\n)*?(?=\[)", _of_loss, text, flags=re.MULTILINE)
    path.write_text(text)


def _of_loss(beliefs: re.Match[str]) -> str:
    return "".join(line for line in beliefs[0].splitlines(keepends=True) if not line.startswith(("gain", "cost")))


def write(folder: Path, world: str, planner: str, linkage: str, beliefs: str = "informed", more: str = "") -> Path:
    """Write a world's files and its scenario; return the path of the scenario."""
    text, values, linkages, policies = WORLDS[world]
    for name, content in FILES.items():
        (folder / name).write_text(content)
    planner, _, errors = planner.partition(" with ")
    adversary = f'planner = "{planner}"\n{ERRORS.get(errors, "")}'
    adversary += f"{SEQUENTIAL if planner == 'fmdp' else ''}{linkages[linkage]}"
    path = folder / "game.toml"
    text = text.format(**values, adversary=adversary, policies=policies, beliefs=BELIEFS[beliefs], more=more)
    save(path, text)
    return path


def by_agents(path: Path) -> pd.DataFrame:
    return reidsim.run(path, overrides={"agents": {"rounds": 1}}).summary


def by_cross_play(path: Path) -> pd.DataFrame:
    play = reidsim.cross_play(path)
    own = play.manifest["own_adversary"]
    table = play.table[(play.table["adversary"] == own) & play.table["plans_against"].isin(["", own])]
    assert not table["defender"].duplicated().any()
    return table.set_index("defender")


def by_batch(path: Path) -> pd.DataFrame:
    runs = reidsim.run_batch(path, overrides={"sweep.values": {"economics.benefit": [100]}}, executor="serial").runs
    assert (runs["state"] == "complete").all(), runs["error"].tolist()
    return runs.set_index("policy")


def by_stress(path: Path) -> pd.DataFrame:
    """Return the point of a belief curve at which the beliefs equal the scenario."""
    curve = {"key": "economics.cost", "true": [20]}
    result = reidsim.stress(path, overrides={"stress": {"outputs": MEASURES, "beliefs": [curve]}})
    return result.tables["belief_curves"].set_index("policy")


RUNNERS = {"agents": by_agents, "cross-play": by_cross_play, "batch": by_batch, "stress": by_stress}
EVERY = [
    (world, planner, linkage, beliefs)
    for world, planner, beliefs in itertools.product(WORLDS, PLANNERS, BELIEFS)
    for linkage in WORLDS[world][2]
]
EVERY_ERRING = [
    (world, planner, linkage, "mistaken")
    for world, planner in itertools.product(WORLDS, ERRING)
    for linkage in WORLDS[world][2]
]
FEW = [
    ("records", "one-shot with prospect-logit", "plain", "mistaken"),
    ("table-above", "fmdp", "sample-knowledge", "informed"),
    ("subjects", "fmdp", "knowledge", "mistaken"),
    ("subjects", "one-shot with logit", "stages", "mistaken"),
]


@pytest.mark.parametrize(("world", "planner", "linkage", "beliefs"), cases(EVERY + EVERY_ERRING, FEW))
def test_every_runner_gives_the_answer_of_a_run(tmp_path, world, planner, linkage, beliefs):
    path = write(tmp_path, world, planner, linkage, beliefs)
    run = reidsim.run(path).summary[MEASURES]
    assert list(run.index) == WORLDS[world][3]
    assert differing(run, path) == []


# Cases of the fast tier. The agents runner is excluded, because its rounds attack each record separately.
_FEW_LOOKED_UP = [("records", "fmdp", "person", "informed"), ("table", "one-shot", "both", "mistaken")]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("world", "planner", "direction", "beliefs"),
    cases(
        itertools.product(["records", "table", "table-above"], (*PLANNERS, ERRING[0]), ["person", "both"], BELIEFS),
        _FEW_LOOKED_UP,
    ),
)
def test_every_runner_gives_the_answer_of_a_run_that_looks_persons_up(tmp_path, world, planner, direction, beliefs):
    path = write(tmp_path, world, planner, "plain", beliefs)
    save(path, path.read_text().replace("[adversary]", f'[adversary]\ndirection = "{direction}"'))
    run = reidsim.run(path).summary[MEASURES]
    assert list(run.index) == WORLDS[world][3]
    others = {name: runner for name, runner in RUNNERS.items() if name != "agents"}
    assert differing(run, path, others) == []


def differing(run: pd.DataFrame, path: Path, runners: dict[str, object] = RUNNERS) -> list[object]:
    """Return the results in which a runner differs from a run, by policy."""
    differing: list[object] = []
    for name, runner in runners.items():
        found = runner(path)
        for policy in at_least(5, run.index):
            other = found.loc[policy, MEASURES].astype(float)
            apart = (other - run.loc[policy]).abs()
            if not (apart <= 1e-12 * 250).all():
                differing.append((name, policy, other.to_dict(), run.loc[policy].to_dict()))
    return differing


@pytest.mark.parametrize(("world", "planner", "linkage", "beliefs"), cases(EVERY, FEW[1:2]))
def test_one_adversary_by_a_name_gets_the_same_answer(tmp_path, world, planner, linkage, beliefs):
    path = write(tmp_path, world, planner, linkage, beliefs)
    run = reidsim.run(path).summary[MEASURES]
    text = path.read_text().replace("[adversary]", "[adversaries.solo]\nweight = 1")
    save(path, text.replace("[adversary.", "[adversaries.solo."))
    pd.testing.assert_frame_equal(reidsim.run(path).summary[MEASURES], run, rtol=0, atol=0)


# Several adversaries, one per record, who differ in gain, knowledge, planner and risk model.
SEVERAL = {
    "amounts": "[adversaries.curious]\nweight = 0.7\ngain = 60\n[adversaries.broker]\nweight = 0.3\ncost = 45\n",
    "linkages": "".join(
        f"[adversaries.{name}]\nweight = {weight}\n{linked}"
        for (name, linked), weight in zip(_LINKED_RECORDS.items(), (0.4, 0.2, 0.2, 0.1, 0.1), strict=True)
    ),
    "planners": "".join(
        f'[adversaries.a-{planner}]\nweight = {weight}\nplanner = "{planner}"\n'
        for planner, weight in zip(PLANNERS, (0.25, 0.2, 0.1, 0.1, 0.15, 0.2), strict=True)
    ),
    "risks": '[adversaries.insider]\nweight = 0.4\nrisk = "prosecutor"\n[adversaries.stranger]\nweight = 0.6\n',
}
_EVERY_SEVERAL = list(itertools.product(["records", "table", "table-above"], SEVERAL, BELIEFS))
_FEW_SEVERAL = [("table", "planners", "informed")]


@pytest.mark.deep
@pytest.mark.parametrize(("world", "several", "beliefs"), cases(_EVERY_SEVERAL, _FEW_SEVERAL))
def test_every_runner_gives_the_answer_of_a_run_against_several(tmp_path, world, several, beliefs):
    path = write(tmp_path, world, "one-shot", "plain", beliefs)
    save(path, path.read_text().replace('[adversary]\nplanner = "one-shot"\n', SEVERAL[several]))
    run = reidsim.run(path).summary[MEASURES]
    assert list(run.index) == WORLDS[world][3]
    assert differing(run, path) == []


# The same adversaries for data subjects, each with the stages or knowledge that it needs.
OF_SUBJECTS = {
    "amounts": {"curious": ("weight = 0.7\ngain = 60\n", "plain"), "broker": ("weight = 0.3\ncost = 45\n", "plain")},
    "linkages": {
        name: (f"weight = {weight}\n", name)
        for name, weight in zip(_LINKED_SUBJECTS, (0.5, 0.2, 0.3), strict=True)
    },
    "planners": {
        f"a-{planner}": (f'weight = {weight}\nplanner = "{planner}"\n', linkage)
        for planner, weight, linkage in zip(
            PLANNERS,
            (0.25, 0.2, 0.1, 0.1, 0.15, 0.2),
            ("stages", "plain", "stages", "stages", "plain", "knowledge"),
            strict=True,
        )
    },
}  # fmt: skip
_EVERY_OF_SUBJECTS = list(itertools.product(OF_SUBJECTS, BELIEFS))


@pytest.mark.deep
@pytest.mark.parametrize(("several", "beliefs"), cases(_EVERY_OF_SUBJECTS, _EVERY_OF_SUBJECTS[4:5]))
def test_every_runner_gives_the_answer_of_a_run_against_several_who_attack_subjects(tmp_path, several, beliefs):
    path = write(tmp_path, "subjects", "one-shot", "plain", beliefs)
    sections = "".join(
        f"[adversaries.{name}]\n{said}" + _LINKED_SUBJECTS[linkage].replace("[adversary.", f"[adversaries.{name}.")
        for name, (said, linkage) in OF_SUBJECTS[several].items()
    )
    save(path, path.read_text().replace(f'[adversary]\nplanner = "one-shot"\n{IDENTIFY}', sections))
    run = reidsim.run(path).summary[MEASURES]
    assert list(run.index) == _SUBJECT_POLICIES
    assert differing(run, path) == []


# Types are adversaries. Complete resources, a sufficient budget and correct beliefs change nothing.
EVERYTHING = """holds = {holds}
budget = 1e6
accuracy = 1.0
"""
RESOURCES = """[resources.all]
[resources.club]
coverage = 0.5
attributes = ["age", "village"]
"""
# Resources held, by the resulting linkage.
_HELD = {
    "subjects": {name: ["directory", "register", "people"] for name in _LINKED_SUBJECTS},
    **{name: {"plain": ["all"], "knowledge": ["club"]} for name in ("records", "table", "table-above")},
}
_EVERY_HELD = [each for each in EVERY if each[2] in _HELD[each[0]]]
_FEW_HELD = [
    ("subjects", "fmdp", "stages", "mistaken"),
    ("records", "one-shot", "knowledge", "mistaken"),
]


@pytest.mark.deep
@pytest.mark.parametrize(("world", "planner", "linkage", "beliefs"), cases(_EVERY_HELD, _FEW_HELD))
def test_one_who_holds_all_that_it_links_with_gets_the_answer_of_a_run(tmp_path, world, planner, linkage, beliefs):
    path = write(tmp_path, world, planner, linkage, beliefs)
    run = reidsim.run(path).summary[MEASURES]
    linked = "" if world == "subjects" else WORLDS[world][2][linkage]
    section = EVERYTHING.format(holds=_HELD[world][linkage])
    resources = "" if world == "subjects" else RESOURCES
    text = path.read_text().replace(f"{linked}\n", "\n") if linked else path.read_text()
    text = text.replace("[adversary]", f"[adversaries.solo]\nweight = 1\n{section}")
    save(path, text.replace("[adversary.", "[adversaries.solo.") + f"[agents]\nrounds = 1\n{resources}")
    runners = {"agents": lambda each: reidsim.run(each).summary, "cross-play": by_cross_play}
    assert differing(run, path, runners) == []


@pytest.mark.parametrize(("world", "together"), [("records", "one-of"), ("subjects", "all")])
def test_whoever_comes_with_resources_not_all_right_is_plain_counting(tmp_path, world, together):
    """Accuracies are 1/2 and 1/6.

    A type that expects to be right plans as if accurate.
    """
    path = write(tmp_path, world, "one-shot", "plain")
    sections = "".join(
        f"[adversaries.{name}]\nweight = {weight}\naccuracy = {accuracy}\n{more}"
        + WORLDS[world][2]["plain"].replace("[adversary.", f"[adversaries.{name}.")
        for name, weight, accuracy, more in (("half", 0.5, 0.5, ""), ("sure", 0.5, 1 / 6, "expected_accuracy = 0.99\n"))
    )
    text = path.read_text().replace('[adversary]\nplanner = "one-shot"\n' + WORLDS[world][2]["plain"], sections)
    save(path, f'{text}[agents]\ntogether = "{together}"\n')
    found = reidsim.run(path).summary.loc["no-protection"]
    risk = []
    for size in counted():
        half = 0.5 * (150 / size * 0.5 > 20) * 0.5 / size
        sure = 0.5 * (150 / size * 0.99 > 20) / 6 / size
        risk.append(half + sure if together == "one-of" else 1 - (1 - half) * (1 - sure))
    assert found["risk"] == pytest.approx(sum(risk) / 10, abs=1e-12)
    assert found["publisher_payoff"] == pytest.approx(100 - 15 * sum(risk), abs=1e-9)


def counted() -> list[int]:
    """Return the number of people who share the values of each patient."""
    people = [line.split(",") for line in FILES["people.csv"].split()[1:]]
    patients = [line.split(",")[:3] for line in FILES["patients.csv"].split()[1:]]
    return [sum(int(row[3]) for row in people if row[:3] == patient) for patient in patients]


@pytest.mark.parametrize(
    ("world", "planner"),
    [
        *(("records", planner) for planner in ("one-shot", "always", "never", "random", "one-shot with logit")),
        ("table", "one-shot"),
        ("subjects", "one-shot with logit"),
    ],
)
def test_the_one_answer_is_that_of_plain_counting(tmp_path, world, planner):
    """Unprotected records: gain and loss 150, cost 20, success 1 / group size."""
    found = reidsim.run(write(tmp_path, world, planner, "plain")).summary.loc["no-protection"]
    sizes = counted()
    rate = {"never": 0.0, "random": 0.5}.get(planner, 1.0)
    attacked = [rate * (planner != "one-shot" or 150 / size > 20) for size in sizes]
    if planner.endswith("logit"):
        attacked = [1 / (1 + math.exp(-0.05 * (150 / size - 20))) for size in sizes]
    risk = [often / size for often, size in zip(attacked, sizes, strict=True)]
    mean = {
        "publisher_payoff": 100 - 150 * sum(risk) / 10,
        "adversary_payoff": (150 * sum(risk) - 20 * sum(attacked)) / 10,
        "utility": 1.0,
        "share_attacked": sum(attacked) / 10,
        "risk": sum(risk) / 10,
    }
    assert found[MEASURES].to_dict() == pytest.approx(mean, abs=1e-9)
