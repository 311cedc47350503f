"""Valid scenarios for `fuzz.py`, one strategy for each section, and the invariants of their results."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.core.validation import toml_text

Content = dict[str, Any]

_ROUNDING = 1e-9
# Measures and columns that may be missing (see `docs/reference/results.md`).
_UNDEFINED = (
    "risk_if_attacked", "attack_threshold", "usefulness_fairness", "privacy_fairness", "exposed_by_relatives",
    "exposed_by_record", "utility_price",
)  # fmt: skip
_MAY_BE_MISSING = {
    "knowledge_sets": ("sample_uniques", "unique", "unique_low", "unique_high"),
    "optima": ("planned_payout",),
    "reductions": ("q1", "median", "q3"),
    "adversaries": ("expected_accuracy",),
}
_OF_SEVERAL_RUNS = ("standard_error", "low", "high", "runs_for_1_percent", "points_for_1_percent", "estimation_error")
_PROBABILITIES = (
    "risk", "risk_if_attacked", "share_attacked", "share_unchanged", "share_suppressed", "utility",
    "generalization_intensity", "success_probability", "probability", "at_most", "reidentified_any", "participation",
    "household_risk", "risk_90", "risk_99", "prosecutor_risk", "journalist_risk", "marketer_risk", "overall_risk",
    "prosecutor", "journalist", "journalist_low", "journalist_high", "marketer", "overall", "presence", "belief",
    "weight", "pk", "usefulness", "privacy_fairness", "periods_within", "risk_known", "risk_unknown", "inference",
    "beyond_limits",
)  # fmt: skip
_QUASI_IDENTIFIERS = ("age", "sex", "zip")


def make_scenario(folder: Path, chance: random.Random) -> Content:
    """Write data and a valid scenario, `made.toml`, into a folder; return its content."""
    rows = _write_people(folder, chance)
    make = chance.choice([_tables, _tables, _tables, _dynamic, _assessment, _participation, _masking])
    content = {"title": "Made", "seed": chance.randrange(1000), **make(folder, chance, rows)}
    (folder / "made.toml").write_text(toml_text(content), encoding="utf-8")
    return content


def _write_people(folder: Path, chance: random.Random) -> int:
    """Write records, and a population that holds them; return the number of records."""
    rows, ages, zips = chance.randint(3, 40), chance.randint(2, 30), chance.choice([1, 2, 6])
    codes = ["37203", "37204", "37011", "38117", "38118", "40100"][:zips]
    records = pd.DataFrame(
        {
            "age": [20 + chance.randrange(ages) for _ in range(rows)],
            "sex": [chance.choice("FM") for _ in range(rows)],
            "zip": [chance.choice(codes) for _ in range(rows)],
            "weight": [round(chance.uniform(1, 9), 2) for _ in range(rows)],
            "worth": [chance.choice([0, 50, 100]) for _ in range(rows)],
            "pid": [f"p{chance.randrange(max(rows // 2, 1))}" for _ in range(rows)],
            "home": [f"h{row // 3}" for row in range(rows)],
            "day": [chance.randrange(4) for _ in range(rows)],
            "wave": [1 + chance.randrange(3) for _ in range(rows)],
            "illness": [chance.choice(["flu", "gout", "cancer"]) for _ in range(rows)],
        }
    )
    records.to_csv(folder / "made.csv", index=False)
    names = list(_QUASI_IDENTIFIERS)
    cells = records.groupby(names, observed=True).size().rename("people").reset_index()
    cells["people"] += [chance.choice([0, 0, 1, 5, 80]) for _ in range(len(cells))]
    cells.to_csv(folder / "cells.csv", index=False)
    columns = "".join(f'{name} = "{name}"\n' for name in names)
    (folder / "cells.toml").write_text(f'kind = "counts"\nfile = "cells.csv"\ncount = "people"\n[columns]\n{columns}')
    return rows


def _some(chance: random.Random, options: Content, probability: float = 0.3) -> Content:
    """Return each option with a probability; functions are called for their value."""
    return {
        key: value() if callable(value) else value for key, value in options.items() if chance.random() < probability
    }


def _amount(chance: random.Random, most: float = 300) -> float:
    return chance.choice([0.0, 1.0, float(chance.randrange(int(most))), round(chance.uniform(0, most), 3)])


def _economics(chance: random.Random) -> Content:
    amounts = {"benefit": _amount(chance) + 1, "loss": _amount(chance), "cost": _amount(chance, 60)}
    return {**amounts, **_some(chance, {"gain": lambda: _amount(chance)})}


def _attributes(chance: random.Random) -> Content:
    narrow = chance.choice([2, 3, 5, 10])
    hierarchies: Content = {
        "age": chance.choice(
            [
                {"rule": "intervals", "widths": [narrow, *chance.choice([[], [narrow * 4]])]},
                {"rule": "intervals", "widths": [narrow], "start": chance.randrange(21)},
                {"rule": "suppress"},
            ]
        ),
        "sex": chance.choice([{"rule": "suppress"}, {"rule": "groups", "groups": [[["F", "M"]]]}]),
        "zip": chance.choice([{"rule": "prefix", "digits": [3, 1]}, {"rule": "prefix", "digits": [4]}]),
    }
    names = chance.sample(_QUASI_IDENTIFIERS, chance.randint(1, 3))
    return {name: {"hierarchy": hierarchies[name]} for name in names}


def _adversary(chance: random.Random, risks: tuple[str, ...]) -> Content:
    adversary: Content = {"risk": chance.choice(risks)}
    planner = chance.choice(["one-shot", "one-shot", "one-shot", "fmdp", "always", "never", "random"])
    if planner == "random":
        adversary["rate"] = round(chance.random(), 2)
    if planner == "one-shot":
        rationality = chance.choice(["perfect", "perfect", "perfect", "logit", "prospect", "prospect-logit"])
        adversary |= {"rationality": rationality} if rationality != "perfect" else {}
        adversary |= {"precision": round(chance.uniform(0, 2), 3)} if "logit" in rationality else {}
    if planner == "fmdp":
        adversary["sequential"] = _some(
            chance,
            {
                "penalty": lambda: _amount(chance, 50), "max_penalties": lambda: chance.randint(1, 4),
                "access_cost": lambda: _amount(chance, 20), "link_cost": lambda: _amount(chance, 20),
                "detection_slope": lambda: round(chance.uniform(-1, 1), 2),
                "detection_intercept": lambda: round(chance.uniform(-5, 2), 2),
                "discount": lambda: round(chance.uniform(0.1, 1), 2),
                "penalty_timing": "at-action", "detection_ends_attack": True,
            },
        )  # fmt: skip
    if planner != "one-shot":
        adversary["planner"] = planner
    return adversary


def _beliefs(chance: random.Random) -> Content:
    beliefs = _some(chance, {name: lambda: _amount(chance) for name in ("loss", "gain", "cost")}, 0.5)
    return {"beliefs": beliefs} if beliefs and chance.random() < 0.3 else {}


def _batch(chance: random.Random) -> Content:
    if chance.random() < 0.8:
        return {}
    values = {"economics.loss": [1.5, 50.5, _amount(chance)], "economics.cost": {"from": 1, "to": 20, "points": 2}}
    key = chance.choice(list(values))
    return {"sweep": {"values": {key: values[key]}}}


def _tables(folder: Path, chance: random.Random, rows: int) -> Content:
    unit = chance.choice(["record", "record", "table"])
    risks: tuple[str, ...] = ("prosecutor", "journalist")
    release: Content = {"path": "made.csv"}
    content: Content = {"release": release, "attributes": _attributes(chance), "economics": _economics(chance)}
    special = chance.choice(
        ["", "", "person", "household", "weight", "columns", "releases", "direction", "level", "sensitive"]
    )
    if special in ("person", "household"):
        release |= {"person": "pid"} if special == "person" else {"household": "home"}
    if special == "weight":
        release |= {"weight": "weight", "estimator": chance.choice(["benedetti-franconi", "log-linear"])}
        risks = ("sample",)
    if special == "columns" and unit == "record":
        content["economics"] |= {"columns": {"benefit": "worth"}}
    if special == "level":
        chance.choice(list(content["attributes"].values()))["minimum_level"] = 1
    policies = ["basic", "no-attack", "k-anonymity", "no-protection", "suppress-all"]
    publisher: Content = {
        "unit": unit, "policies": ["basic", *chance.sample(policies[1:], chance.randint(1, 3))],
    }  # fmt: skip
    if "k-anonymity" in publisher["policies"]:
        publisher["k"] = chance.randint(2, 5)
    if unit == "table":
        publisher |= _some(
            chance,
            {
                "suppression_limit": lambda: round(chance.random(), 2),
                **({"safe_class": "above"} if "no-attack" in publisher["policies"] else {}),
            },
        )
    else:
        publisher |= _some(chance, {"solver": "branch-and-bound"}, 0.2)
    if special == "releases" and unit == "record":
        content["releases"] = {"enters": "wave"}
    if special == "sensitive":
        publisher |= {"sensitive": "illness", "max_inference": round(chance.uniform(0.2, 1.0), 2)}
        publisher |= _some(chance, {"l_diversity": 2, "t_closeness": 0.3})
    content["publisher"] = publisher
    if chance.random() < 0.25 and special in ("", "level"):
        ways = {"common": _adversary(chance, risks), "patient": _adversary(chance, risks)}
        share = round(chance.random(), 2)
        content["adversaries"] = {
            name: {**way, "weight": weight, **_some(chance, {"gain": lambda: _amount(chance)})}
            for (name, way), weight in zip(ways.items(), (share, round(1 - share, 2)), strict=True)
        }
    else:
        content["adversary"] = _adversary(chance, risks)
        if (
            special == "direction"
            and content["adversary"].get("planner", "one-shot") == "one-shot"
            and unit == "record"
        ):
            content["adversary"] = {"risk": "prosecutor", "direction": chance.choice(["person", "both"])}
    if "journalist" in str(content.get("adversary", content.get("adversaries"))):
        content["population"] = {"recipe": "cells.toml", **_some(chance, {"counts": "expected"}, 0.2)}
    content |= _beliefs(chance)
    if special == "" and unit == "record" and chance.random() < 0.3:
        content["agents"] = {"rounds": chance.randint(1, 4), **_some(chance, {"mode": "sampling", "remembers": False})}
        if chance.random() < 0.4:
            content["agents"]["participation"] = {"reward": _amount(chance, 20), "harm": _amount(chance, 80)}
    elif special != "releases":
        content |= _batch(chance)
    return content


def _dynamic(folder: Path, chance: random.Random, rows: int) -> Content:
    publisher: Content = {"policies": ["basic", "no-protection", "no-attack"]}
    attributes = _attributes(chance)
    if chance.random() < 0.4:
        publisher["policies"].append("fixed")
        publisher["fixed"] = {next(iter(attributes)): 1}
    content: Content = {
        "game": "dynamic", "release": {"path": "made.csv", "period": "day", **_some(chance, {"table": "cumulative"})},
        "attributes": attributes, "economics": _economics(chance), "publisher": publisher,
        "population": {"recipe": "cells.toml"},
    }  # fmt: skip
    adversary = _some(chance, {"planner": lambda: chance.choice(["always", "never"])}, 0.2)
    return content | ({"adversary": adversary} if adversary else {}) | _beliefs(chance) | _batch(chance)


def _assessment(folder: Path, chance: random.Random, rows: int) -> Content:
    (folder / "gossip.toml").write_text(
        'title = "Neighbours"\nsource = "made up"\n[[sources]]\nkind = "groups"\nname = "neighbours"\n'
        f"[[sources.profile]]\npresence = {round(chance.random(), 2)}\n"
        'groups = [{ attributes = ["zip", "sex"] }, { attributes = ["age"], probability = 0.5 }]\n'
    )
    network = {name: round(chance.random(), 2) for name in ("p_m", "p_fm", "p_cu", "p_c")}
    return {
        "game": "risk", "release": {"path": "made.csv", "attributes": list(_QUASI_IDENTIFIERS)},
        "knowledge": {"gossip": "gossip.toml"}, "uniqueness": {"method": "fixed", "value": round(chance.random(), 2)},
        "attack": {"gain": _amount(chance), "cost": _amount(chance, 20)},
        **_some(chance, {"network": network}, 0.5),
        **_some(chance, {"threshold": lambda: {"risk_accepted": round(chance.random(), 2)}}, 0.3),
    }  # fmt: skip


def _participation(folder: Path, chance: random.Random, rows: int) -> Content:
    founders, people = chance.randint(2, 8), []
    for person in range(founders + chance.randint(2, 15)):
        parents = ["", ""] if person < founders else [f"x{each}" for each in chance.sample(range(person), 2)]
        # A father has an even number and a mother an odd one.
        if parents[0] and (int(parents[0][1:]) + int(parents[1][1:])) % 2 == 0:
            parents = ["", ""]
        elif parents[0]:
            parents.sort(key=lambda name: int(name[1:]) % 2)
        people.append([f"x{person}", *parents])
    pd.DataFrame(people, columns=["person", "father", "mother"]).to_csv(folder / "family.csv", index=False)
    return {
        "game": "participation", "population": {"path": "family.csv"},
        "subjects": {
            "benefit": _amount(chance, 20), "services": _amount(chance, 20), "harm": _amount(chance, 60) + 1,
            "policies": ["from-nobody", "from-everybody", "planner"],
        },
        **_some(chance, {"matching": {"matches": chance.randint(1, 3), "segments": chance.randint(1, 3)}}),
    }  # fmt: skip


def _masking(folder: Path, chance: random.Random, rows: int) -> Content:
    names = list(_QUASI_IDENTIFIERS)
    subjects: Content = {"attributes": names, "policies": ["no-protection", "masking", "no-attack-masking"]}
    return {
        "game": "masking", "targets": {"file": "made.csv"},
        "resources": {"registry": {"file": "cells.csv", "holds": "targets", "count": "people", "attributes": names}},
        "economics": _economics(chance),
        "adversary": {"stages": [{"stage": "identify", "resource": "registry", "on": names}]},
        "subjects": subjects | _some(chance, {"solver": "greedy"}),
    }  # fmt: skip


def broken_invariants(content: Content, results: Path) -> list[str]:
    """Return the invariants that the tables of a results folder violate."""
    tables = {path.stem: pd.read_parquet(path) for path in sorted(results.glob("*.parquet"))}
    broken = []
    # The worst 5 % is not defined in these games.
    undefined = content.get("game") == "participation" or content.get("release", {}).get("table") == "cumulative"
    worst = ("publisher_payoff_cvar", "adversary_payoff_cvar") if undefined else ()
    for name, table in tables.items():
        for column in table.select_dtypes("number"):
            values = table[column].to_numpy(dtype=float, na_value=np.nan)
            missing = np.isnan(values)
            if name in ("statistics", "differences"):
                missing &= ~table["measure"].isin([*_UNDEFINED, *worst]) & (column not in _OF_SEVERAL_RUNS)
            elif name == "rounds" and column in ("risk_median", "risk_90", "risk_99"):
                # Where nobody takes part there is no distribution.
                missing &= table["participation"] > 0
            elif name == "periods" and column.startswith("level "):
                missing &= table["strategy"] != "withheld"
            elif column in (*_UNDEFINED, *worst, *_MAY_BE_MISSING.get(name, ())) or column.endswith("_standard_error"):
                missing[:] = False
            if np.isinf(values).any() or missing.any():
                broken.append(f"{name}.{column}: not finite")
            low, high = np.nanmin(values, initial=0.0), np.nanmax(values, initial=0.0)
            if column in _PROBABILITIES and (low < -_ROUNDING or high > 1 + _ROUNDING):
                broken.append(f"{name}.{column}: {low} to {high} are no probabilities")
    if "policy" in tables.get("runs", ()):
        broken += _broken_by_policy(content, tables)
    return broken


def _broken_by_policy(content: Content, tables: dict[str, pd.DataFrame]) -> list[str]:
    broken = []
    runs = tables["runs"]
    runs = runs[runs["state"] == "complete"]
    right = not content.get("beliefs") and not content.get("agents")
    ways = [content.get("adversary", {}), *content.get("adversaries", {}).values()]
    chosen = all(way.get("planner", "one-shot") in ("one-shot", "fmdp", "never") for way in ways)
    certain = chosen and all("rationality" not in way for way in ways)
    if right and certain and (runs.loc[runs["policy"] == "no-attack", "share_attacked"] > 0).any():
        broken.append("no-attack: records are attacked")
    # Records that do not pay are suppressed by `basic`; with a limit it may have to release less than other policies.
    free = content.get("publisher", {}).get("suppression_limit", 1) == 1
    free &= not any(each.get("minimum_level") for each in content.get("attributes", {}).values())
    if right and free and content.get("game", "tables") == "tables" and "releases" not in content:
        # Policies that prescribe a generalization need not keep to limits on sensitive columns; `basic` must.
        within = runs[runs["beyond_limits"] == 0] if "beyond_limits" in runs else runs
        payoffs = within.pivot(index=["point", "replication"], columns="policy", values="publisher_payoff")
        best = payoffs["basic"]
        if "records" in tables:
            # Policies that forbid attacks withhold records for which nothing else is left; a withheld record pays 0.
            records = tables["records"]
            best = best.where(
                best >= 0, records.loc[records["policy"] == "basic", "publisher_payoff"].clip(lower=0).mean()
            )
        for name in payoffs.columns.difference(["basic"]):
            excess = (payoffs[name] - best)[best >= 0].max()
            if excess > _ROUNDING * max(1.0, payoffs.abs().to_numpy().max()):
                broken.append(f"basic: {name} pays {excess} more")
    people = tables.get("reidentified")
    if people is not None:
        keys = [key for key in ("point", "replication", "policy") if key in people]
        for _, rows in people.groupby(keys, observed=True):
            if abs(rows["probability"].sum() - 1) > _ROUNDING or abs(rows["at_most"].iloc[-1] - 1) > _ROUNDING:
                broken.append("reidentified: probabilities do not sum to 1")
    records = tables.get("records")
    if records is not None and "policy" in records and "point" not in records:
        sizes = records.groupby("policy", observed=True).size()
        if sizes.min() != sizes.max():
            broken.append(f"records: {sizes.min()} under one policy and {sizes.max()} under another")
    rounds = tables.get("rounds")
    if rounds is not None:
        if (rounds["breaches"] > rounds["attacks"] + _ROUNDING).any():
            broken.append("rounds: more re-identifications than attacks")
        if rounds["subjects"].min() != rounds["subjects"].max():
            broken.append("rounds: the number of subjects changes")
        before = rounds.groupby(["replication", "draw", "policy"], observed=True)["participation"].shift()
        moved = rounds["joined"] - rounds["left"]
        if ((rounds["participation"] - before - moved).abs() > _ROUNDING).any():
            broken.append("rounds: who joins and leaves does not explain who takes part")
    return broken
