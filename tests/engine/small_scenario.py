"""Random small games as scenario files, to compare studies with the paper."""

import contextlib
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from small_games import game_of, small_games

from reidsim.kinds.tables.build import build_study
from reidsim.scenarios.scenario import Scenario


@st.composite
def repeated_records(draw, small):
    """Draw records of a game with repetitions, in any order."""
    rows = draw(st.lists(st.sampled_from(range(small.n_records)), min_size=1, max_size=8))
    return small.with_records_in_order(rows)


@st.composite
def releases(draw):
    """Draw a game with equal payoff parameters and repeated records."""
    return draw(repeated_records(draw(small_games(same_money=True, max_attributes=3, max_strategies=24))))


def write_scenario(folder, small, *, policies, solver="backward-induction", risk="journalist", more=""):
    """Write a small game as a scenario with all its files; return its path."""
    folder = Path(folder)
    names = small.names
    # Categories are the values in the file, so each cell is listed, with a count of zero where nobody has its values.
    cells = {tuple(min(value, size - 1) for size in small.sizes): 0 for value in range(max(small.sizes))}
    for person in small.people:
        cells[person] = cells.get(person, 0) + 1
    rows = [[f"{name}{value}" for name, value in zip(names, cell, strict=True)] + [str(n)] for cell, n in cells.items()]
    _write_csv(folder / "people.csv", [[*names, "count"], *rows])
    columns = "\n".join(f'{name} = "{name}"' for name in names)
    (folder / "people.toml").write_text(
        f'kind = "counts"\nfile = "people.csv"\ncount = "count"\n[columns]\n{columns}\n'
    )
    records = [[f"{name}{value}" for name, value in zip(names, record, strict=True)] for record in small.records]
    _write_csv(folder / "records.csv", [list(names), *records])
    sections = []
    for name, levels, costless, counts in zip(names, small.hierarchies, small.costless, small.counted, strict=True):
        table = [
            [f"{name}{value}", *(f"{name}/{k}/{groups[value]}" for k, groups in enumerate(levels) if k > 0)]
            for value in range(len(levels[0]))
        ]
        _write_csv(folder / f"{name}.csv", table, ";")
        sections.append(
            f"[attributes.{name}]\nin_loss = {str(counts).lower()}\n"
            f'hierarchy = {{ rule = "table", file = "{name}.csv", costless_levels = {sorted(costless)} }}\n'
        )
    text = f"""
[population]
recipe = "people.toml"
[release]
path = "records.csv"
{"".join(sections)}
[economics]
benefit = {small.benefit[0]!r}
loss = {small.loss[0]!r}
gain = {small.gain[0]!r}
cost = {small.cost[0]!r}
[adversary]
risk = "{risk}"
[publisher]
policies = {list(policies)}
solver = "{solver}"
{more}
"""
    (folder / "small.toml").write_text(text)
    return folder / "small.toml"


@contextlib.contextmanager
def study_of(small, **options):
    """Yield the study of a small game, built from files in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        yield build_study(Scenario.load(write_scenario(folder, small, **options)))


def expected_measures(small, strategies):
    """Return mean measures of one strategy per record, by the paper.

    A strategy of None withholds the record.
    """
    n = small.n_records
    totals = dict.fromkeys(
        ("publisher_payoff", "adversary_payoff", "utility", "generalization_intensity", "share_attacked", "risk",
         "share_unchanged", "share_suppressed"),
        0.0,
    )  # fmt: skip
    for i, g in enumerate(strategies):
        if g is None:
            totals["generalization_intensity"] += 1
            totals["share_suppressed"] += 1
            continue
        paper = small.paper(i)
        publisher, adversary, attacks = paper.play(g)
        intensity = paper.intensity(g)
        totals["publisher_payoff"] += publisher
        totals["adversary_payoff"] += adversary
        totals["utility"] += replace(paper, V=1.0).v(g)
        totals["generalization_intensity"] += intensity
        totals["share_attacked"] += attacks
        totals["risk"] += paper.pi(g) if attacks else 0
        totals["share_unchanged"] += intensity == 0
        totals["share_suppressed"] += intensity == 1
    measures = {name: total / n for name, total in totals.items()}
    attacked = measures["share_attacked"]
    measures["risk_if_attacked"] = measures["risk"] / attacked if attacked else np.nan
    return measures


def strategies_by_the_paper(small, policy, rule=None):
    """Return the paper's strategy per record under a policy; `rule` is Safe Harbor."""
    strategies = []
    for i in range(small.n_records):
        paper = small.paper(i)
        if policy == "basic":
            g = paper.algorithm_1()
        elif policy == "no-attack":
            g = paper.algorithm_1(lambda g, paper=paper: not paper.attacks(g))
        elif policy == "sh-friendly":
            g = paper.algorithm_1(lambda g, least=rule[i]: all(a >= b for a, b in zip(g, least, strict=True)))
        else:
            g = {
                "safe-harbor": lambda i=i: rule[i],
                "no-protection": lambda paper=paper: paper.strategies[0],
                "suppress-all": lambda paper=paper: paper.strategies[-1],
                "lattice-search": lambda paper=paper: paper.algorithm_2()[0],
            }[policy]()
        strategies.append(g)
    return strategies


# Safe Harbor: four ages and four ZIP codes, both in pairs.
PAIRS = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
AGES = ("30", "31", "90", "95")
ZIPS = ("37201", "37231", "38001", "38051")


def safe_harbor_study(folder, counted, more=""):
    """Write a scenario with ages and ZIP codes; return it as a small game and a study."""
    people = [(0, 0)] * 5 + [(1, 1)] * 7 + [(2, 2)] * 2 + [(3, 3)] * 3 + [(0, 2)] * 20 + [(2, 0)]
    records = [(0, 0), (2, 2), (0, 2), (3, 3)]
    for name, rows in (("people", people), ("records", records)):
        _write_csv(folder / f"{name}.csv", [["age", "zip"], *([AGES[a], ZIPS[z]] for a, z in rows)])
    (folder / "people.toml").write_text('kind = "counts"\nfile = "people.csv"\n[columns]\nage = "age"\nzip = "zip"\n')
    (folder / "safe.toml").write_text(f"""
[population]
recipe = "people.toml"
[release]
path = "records.csv"
[attributes.age]
hierarchy = {{ rule = "groups", groups = [[["30", "31"], ["90", "95"]]] }}
[attributes.zip]
hierarchy = {{ rule = "prefix", digits = [3] }}
[economics]
benefit = 100
loss = 60
gain = 60
cost = 6
[publisher]
policies = ["safe-harbor", "basic", "sh-friendly", "no-attack"]
[safe_harbor]
age = "age"
zip = "zip"
zip3_population = "{counted}"
{more}
""")
    small = game_of([PAIRS, PAIRS], people, records, benefit=100.0, loss=60.0, gain=60.0, cost=6.0)
    return small, build_study(Scenario.load(folder / "safe.toml"))


def _write_csv(path, rows, delimiter=","):
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
