"""Cases for `fuzz.py`: valid scenarios, data files, options and results folders with random damage."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzz_scenarios import make_scenario

_BASES = {
    "record": """\
title = "Fuzzed"
seed = 3
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [5, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.zip]
hierarchy = { rule = "prefix", digits = [3, 1] }
[economics]
benefit = 100
loss = 60
cost = 10
[adversary]
risk = "prosecutor"
[publisher]
policies = ["basic", "no-attack"]
""",
    "table": """\
title = "Fuzzed"
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10] }
[attributes.sex]
hierarchy = { rule = "table", file = "sex.csv" }
[economics]
benefit = 100
loss = 60
gain = 40
cost = 10
[adversary]
risk = "prosecutor"
planner = "fmdp"
[publisher]
unit = "table"
policies = ["basic", "no-attack", "no-protection"]
suppression_limit = 0.5
""",
    "people": """\
title = "Fuzzed"
[release]
path = "people.csv"
person = "pid"
household = "home"
[attributes.age]
hierarchy = { rule = "intervals", widths = [5, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 60
cost = 10
[adversary]
risk = "prosecutor"
[publisher]
policies = ["basic", "no-attack", "k-anonymity"]
""",
    "several": """\
title = "Fuzzed"
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [5, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 60
cost = 10
[adversaries.common]
weight = 0.7
risk = "prosecutor"
[adversaries.patient]
weight = 0.3
planner = "fmdp"
risk = "prosecutor"
gain = 200
[publisher]
policies = ["basic", "no-attack"]
""",
    "direction": """\
title = "Fuzzed"
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 60
cost = 10
[adversary]
risk = "prosecutor"
direction = "both"
[publisher]
policies = ["basic", "no-attack"]
""",
    "risk": """\
game = "risk"
title = "Fuzzed"
[release]
path = "people.csv"
attributes = ["age", "sex", "zip"]
[knowledge]
gossip = "gossip.toml"
[uniqueness]
method = "fixed"
value = 0.3
[attack]
gain = 500
cost = 20
""",
    "sweep": """\
title = "Fuzzed"
replications = 2
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [5, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 60
cost = 10
[adversary]
risk = "prosecutor"
[publisher]
policies = ["basic"]
[sweep]
values = { "economics.loss" = [10, 60], "economics.cost" = { from = 1, to = 20, points = 2 } }
""",
}
_GOSSIP = """\
title = "Neighbours"
source = "made up"
[[sources]]
kind = "groups"
name = "neighbours"
[[sources.profile]]
when = { sex = ["F"] }
presence = 0.4
groups = [{ attributes = ["zip", "sex"] }, { attributes = ["age"], probability = 0.5 }]
[[sources.profile]]
groups = [{ attributes = ["zip", "sex"] }]
"""
# Scenarios whose results exist before any case, and the files made from the first of them.
RUN_BEFORE = ("record", "sweep", "people")
SHARED_BEFORE = (
    "--policy", "no-attack", "--keep", "note", "--rulebook", "rules.csv", "-o", "shared.csv", "--accept-risk",
    "--unknown-to-outsiders", "note",
)  # fmt: skip
_KEYS = (
    "title", "seed", "game", "replications", "release.path", "release.delimiter", "release.header", "release.format",
    "release.person", "release.household", "release.weight", "attributes.age.column", "attributes.age.hierarchy",
    "attributes.age.draw", "attributes.age.values", "attributes.new.hierarchy", "attributes.age.in_loss",
    "economics.benefit", "economics.loss", "economics.gain", "economics.cost", "economics.columns",
    "adversary.planner", "adversary.risk", "adversary.rate", "adversary.knowledge", "adversary.stages",
    "adversary.sequential.penalty", "adversary.direction", "adversaries", "adversaries.a.weight",
    "adversaries.common.weight", "adversaries.patient.gain", "adversaries.common.direction", "beliefs.cost",
    "beliefs.risk", "release.sampling_fraction", "release.sample_sizes", "attributes.age.minimum_level",
    "publisher.policies", "publisher.unit", "publisher.k", "publisher.safe_class", "publisher.suppression_limit",
    "publisher.search_budget", "agents.rounds", "agents.together", "adversaries.a.holds", "sweep.values",
    "sweep.one_at_a_time", "uncertainty.samples", "uncertainty.parameters", "stress.sensitivity",
    "population.recipe", "extends",
)  # fmt: skip
_HOSTILE_VALUES = (
    "-1", "0", "0.0", "1e308", "-1e-320", "nan", "inf", "-inf", "1" * 400, "9" * 5000, '""', '"*"', '"\\u0000"',
    '"../../../etc/passwd"', '"-"', '"/dev/null"', "[]", "{}", "[[]]", '["basic", "basic"]', "[1, -2]", "true",
    '{ rule = "intervals", widths = [0] }', '{ rule = "prefix", digits = [9] }', '{ from = 0, to = -1, points = 0 }',
    '"one-shot"', '"random"', '"table"', '"record"', '"journalist"', '"module:thing"', '"tennessee-2010"', "2", "0.5",
    "[" * 60 + "]" * 60, '"' + "x" * 10_000 + '"', "1979-05-27", '["k-anonymity"]', '"age"', '"zip"', '"pid"', '"home"',
    '"weight"', '"person"', '"both"', '{ a = { weight = 1, risk = "prosecutor" } }', '["../age", "a/b"]', '"sample"',
)  # fmt: skip
_HOSTILE_CELLS = (
    "", "*", "?", "NA", "nan", "inf", "-1", "1e9", "9" * 5000, "1" * 20, "=1+1", "\x00", "\u202e", "é", "a\"b", "'",
    '"', ",", "\n", "\r", " ", "30.0", "030", "[20, 30[", "{a, b}", "\ufeff", "\ud7ff", "x" * 100_000, "1_000", "٣",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A command and the damage done before it, in a prepared folder.

    Parameters
    ----------
    kind : str
    arguments : tuple of str
        Of the command line.
    content : dict, optional
        A valid scenario, the tables of whose results are checked.
    """

    kind: str
    arguments: tuple[str, ...]
    content: dict[str, Any] | None = None


def prepare(folder: Path) -> None:
    """Write the files that cases start from: data, scenarios, and results of all scenarios but the last."""
    rng = np.random.default_rng(5)
    people = pd.DataFrame(
        {
            "pid": [f"p{number // 2}" for number in range(40)],
            "age": rng.integers(18, 90, 40),
            "sex": rng.choice(["F", "M"], 40),
            "home": [f"h{number // 4}" for number in range(40)],
            "zip": rng.choice(["37203", "37204", "37011", "38117"], 40),
            "weight": rng.uniform(1, 9, 40).round(2),
            "note": rng.choice(["a", "b", ""], 40),
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    people.to_parquet(folder / "people.parquet")
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    (folder / "gossip.toml").write_text(_GOSSIP)
    for name, text in _BASES.items():
        (folder / f"{name}.toml").write_text(text)


def make_case(folder: Path, results: Path, chance: random.Random) -> Case:
    """Damage a prepared folder, and return the command to run in it.

    Parameters
    ----------
    folder : Path
        As `prepare` left it; of this case alone.
    results : Path
        Results folders of `record` and `sweep`, which are not to be changed.
    chance : Random
    """
    makers: tuple[Callable[[Path, Path, random.Random], Case], ...] = (
        _valid, _valid, _valid, _valid, _of_scenario, _of_scenario_text, _of_data, _of_data, _of_parquet, _of_options,
        _of_results, _of_shared,
    )  # fmt: skip
    return chance.choice(makers)(folder, results, chance)


def _valid(folder: Path, results: Path, chance: random.Random) -> Case:
    """Run a scenario that is as it should be, and check the tables of its results."""
    return Case("valid scenario", ("run", "made.toml", "-o", "out"), make_scenario(folder, chance))


def _of_scenario(folder: Path, results: Path, chance: random.Random) -> Case:
    """Set keys to values that are wrong, or right elsewhere."""
    settings = [
        f"--set={chance.choice(_KEYS)}={chance.choice(_HOSTILE_VALUES)}" for _ in range(chance.choice([1, 1, 2, 3]))
    ]
    commands = [
        ("run", "-o", "out"), ("check",), ("check",), ("explain",), ("cross-play", "-o", "out"),
        ("switch", "-o", "out"), ("switch", "-o", "out", "--key", "economics.cost", "--to", "30"),
        ("attributes", "-o", "out", "--orders", "2"), ("stress", "-o", "out"),
    ]  # fmt: skip
    command = chance.choice(commands)
    return Case("scenario", (command[0], f"{chance.choice(list(_BASES))}.toml", *command[1:], *settings))


def _of_scenario_text(folder: Path, results: Path, chance: random.Random) -> Case:
    """Change characters or lines of a file."""
    name = f"{chance.choice(list(_BASES))}.toml"
    lines = (folder / name).read_text().splitlines()
    for _ in range(chance.choice([1, 1, 3])):
        place = chance.randrange(len(lines))
        what = chance.choice(["drop", "twice", "swap", "cut", "put", "value"])
        if what == "drop" and len(lines) > 1:
            del lines[place]
        elif what == "twice":
            lines.insert(place, lines[place])
        elif what == "swap":
            other = chance.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        elif what == "cut":
            lines[place] = lines[place][: chance.randrange(len(lines[place]) + 1)]
        elif what == "put":
            at = chance.randrange(len(lines[place]) + 1)
            lines[place] = lines[place][:at] + chance.choice('[]{}="\\#.,0x\x01é') + lines[place][at:]
        elif "=" in lines[place]:
            lines[place] = f"{lines[place].partition('=')[0]}= {chance.choice(_HOSTILE_VALUES)}"
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return Case("scenario text", ("check", name))


def _of_data(folder: Path, results: Path, chance: random.Random) -> Case:
    """Change cells, lines or bytes of a delimited file."""
    path = folder / chance.choice(["people.csv", "people.csv", "sex.csv"])
    if chance.random() < 0.5:
        _change_cells(path, chance)
    else:
        path.write_bytes(_damaged(path.read_bytes(), chance))
    path.write_bytes(chance.choice([b"", b"", b"", b"\xef\xbb\xbf", b"\xff\xfe"]) + path.read_bytes())
    return Case("data", _on_data("people.csv", chance))


def _change_cells(path: Path, chance: random.Random) -> None:
    rows = [line.split(",") for line in path.read_text().splitlines()]
    for _ in range(chance.choice([1, 1, 5, 30])):
        row = rows[chance.randrange(len(rows))]
        row[chance.randrange(len(row))] = chance.choice(_HOSTILE_CELLS)
    path.write_bytes("\n".join(",".join(row) for row in rows).encode("utf-8", "surrogatepass"))


def _of_parquet(folder: Path, results: Path, chance: random.Random) -> Case:
    """Change bytes of a Parquet file, or the types of its columns."""
    path = folder / "people.parquet"
    if chance.random() < 0.5:
        path.write_bytes(_damaged(path.read_bytes(), chance))
    else:
        frame = pd.read_parquet(path)
        column = chance.choice(list(frame.columns))
        length = len(frame)
        columns = [
            [b"\xff\xfe"] * length, [[1, 2]] * length, [None] * length, [1.5] * length, [True] * length,
            [float("nan")] * length, [2**63 - 1] * length, [{"a": 1}] * length,
            pd.date_range("1677-09-22", periods=length, freq="D"), pd.timedelta_range("1s", periods=length),
        ]  # fmt: skip
        frame[column] = pd.Series(chance.choice(columns))
        frame.to_parquet(path)
    return Case("Parquet", _on_data("people.parquet", chance))


def _of_options(folder: Path, results: Path, chance: random.Random) -> Case:
    """Give options that do not go together, or values that they cannot have."""
    words = [
        "record.toml", "people.csv", "shared.csv", "rules.csv", "out", str(results / "record"), "nowhere", "wan2015",
        "", "-", "--", "é", ".",
    ]  # fmt: skip
    options = [
        "-o", "--output", "--set", "--seed", "--workers", "--executor", "--timeout", "--resume", "--rerun-failed",
        "--policy", "--keep", "--run", "--knowledge", "--attack-rate", "--measure", "--quasi-identifier", "--drop",
        "--benefit", "--loss", "--delimiter", "--population", "--format", "--count", "--method", "--samples", "--help",
        "--key", "--from", "--to", "--link-gain", "--orders", "--scenario", "--keep-identifier", "--max-risk",
        "--accept-risk", "--data", "--rulebook", "--verify", "--merge", "--allow-code", "--group-readable",
    ]  # fmt: skip
    values = [*words, "-1", "0", "1e400", "nan", "2", "9" * 30, "serial", "economics.loss=5", "age", "basic", "\x00x"]
    command = chance.choice(
        ["run", "check", "describe", "show", "schema", "report", "new", "share", "explain", "cross-play", "stress",
         "rerun", "list", "switch", "attributes", "score", "apply", "populate", "nothing"]
    )  # fmt: skip
    given: list[str] = [command, chance.choice(words)]
    for _ in range(chance.randrange(4)):
        given += [chance.choice(options), chance.choice(values)]
    # A null byte ends an argument of a process.
    return Case("options", tuple(word.replace("\x00", "\\0") for word in given))


def _of_results(folder: Path, results: Path, chance: random.Random) -> Case:
    """Damage a file of a results folder, and use the folder."""
    name = chance.choice(RUN_BEFORE)
    copy = folder / "results"
    copy.mkdir()
    for path in (results / name).iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    victim = chance.choice(sorted(copy.iterdir()))
    what = chance.choice(["damage", "damage", "remove", "replace", "manifest"])
    if what == "remove":
        victim.unlink()
    elif what == "replace":
        victim.write_bytes(chance.choice([b"", b"{}", b"[]", b"null", b"123", b"PAR1", b"\xff" * 50]))
    elif what == "damage":
        victim.write_bytes(_damaged(victim.read_bytes(), chance))
    else:
        _change_manifest(copy / "manifest.json", chance)
    commands = [
        ("report", "results", "-o", "report.html"),
        ("report", "results", "-o", "report.html"),
        ("share", "results", "--policy", "no-attack", "-o", "new.csv"),
        ("share", "results", "--policy", "basic", "-o", "new.csv", "--accept-risk", "--rulebook", "new-rules.csv"),
        ("share", "results", "--policy", "basic", "-o", "new.csv", "--max-risk", "0.2", "--keep", "note"),
        ("share", "results", "--policy", "no-attack", "-o", "new.csv", "--keep-identifier", "pid"),
        ("rerun", "results", "--run", "0/0"),
        ("run", "sweep.toml", "--resume", "-o", "results", "--executor", "serial"),
    ]
    return Case("results", chance.choice(commands))


def _of_shared(folder: Path, results: Path, chance: random.Random) -> Case:
    """Damage a shared file, its sidecar or its rulebook, and verify, score or apply it."""
    path = folder / chance.choice(["shared.csv", "shared.csv", "shared.csv.json", "rules.csv", "rules.csv"])
    if path.suffix == ".json" and chance.random() < 0.5:
        _change_manifest(path, chance)
    elif path.suffix == ".csv" and chance.random() < 0.6:
        _change_cells(path, chance)
    else:
        path.write_bytes(_damaged(path.read_bytes(), chance))
    scenario = chance.choice(["record.toml", "people.toml", "several.toml", "direction.toml"])
    commands = [
        ("share", "--verify", "shared.csv"),
        ("score", "shared.csv", "--scenario", scenario, "-o", "out"),
        ("score", "shared.csv", "--scenario", scenario, "-o", "out", "--key", "note"),
        ("apply", "rules.csv", "people.csv", "-o", "new.csv"),
        ("apply", "rules.csv", "people.parquet", "-o", "new.csv", "--keep", "note"),
        ("apply", "rules.csv", "shared.csv", "-o", "new.csv"),
    ]
    return Case("shared", chance.choice(commands))


def _change_manifest(path: Path, chance: random.Random) -> None:
    if not path.exists():
        return
    manifest = json.loads(path.read_text())
    place = manifest
    while isinstance(place, dict) and place:
        key = chance.choice(sorted(place))
        if isinstance(place[key], dict) and place[key] and chance.random() < 0.6:
            place = place[key]
            continue
        place[key] = chance.choice([None, 0, -1, "x", [], {}, [1], {"a": 1}, True, 1e308, "*"])
        break
    path.write_text(json.dumps(manifest))


def _on_data(name: str, chance: random.Random) -> tuple[str, ...]:
    setting = f'--set=release.path="{name}"'
    return chance.choice(
        [
            ("run", "record.toml", "-o", "out", setting),
            ("run", "table.toml", "-o", "out", setting),
            ("run", "people.toml", "-o", "out", setting),
            ("run", "direction.toml", "-o", "out", setting),
            ("score", name, "--scenario", "people.toml", "-o", "out"),
            ("check", "risk.toml", setting),
            ("run", "risk.toml", "-o", "out", setting),
            ("check", "record.toml", setting),
            ("describe", name, "--column", "age", "--column", "sex", "--population-size", "900"),
            ("new", name, "-o", "draft"),
        ]
    )


def _damaged(data: bytes, chance: random.Random) -> bytes:
    """Cut a file, or change, repeat or take out some of its bytes."""
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 4, 50])):
        place = chance.randrange(len(changed))
        what = chance.choice(["flip", "cut", "out", "twice"])
        if what == "flip":
            changed[place] ^= 1 << chance.randrange(8)
        elif what == "cut" and chance.random() < 0.3:
            del changed[place + 1 :]
        elif what == "out":
            del changed[place : place + chance.randrange(1, 9)]
            changed = changed or bytearray(b"x")
        else:
            changed[place:place] = changed[place : place + 20]
    return bytes(changed)
