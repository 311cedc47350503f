"""Random small games as scenario files, so that a whole study can be compared with the paper's algorithms."""

import contextlib
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from small_games import small_games

from reidsim.scenarios.build import build_study
from reidsim.scenarios.load import load_scenario


@st.composite
def repeated_records(draw, small):
    """Records of a release: those of the game, some of them several times, in any order."""
    rows = draw(st.lists(st.sampled_from(range(small.n_records)), min_size=1, max_size=8))
    return small.with_records_in_order(rows)


@st.composite
def releases(draw):
    """A game with one amount of money for all records, some of which are alike."""
    return draw(repeated_records(draw(small_games(same_money=True, max_attributes=3, max_strategies=24))))


def write_scenario(folder, small, *, policies, solver="backward-induction", risk="journalist", more=""):
    """Write a small game as a scenario with its own population, hierarchies and records; return its path."""
    folder = Path(folder)
    names = small.names
    # Categories are the values seen, so everyone is listed, with nobody where nobody lives.
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
    """Build the study of a small game from files in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield build_study(load_scenario(write_scenario(folder, small, **options)))


def expected_measures(small, strategies):
    """Average what the paper says of one strategy per record (None: withheld), in plain sums."""
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


def _write_csv(path, rows, delimiter=","):
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
