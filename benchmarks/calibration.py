"""Calibration of the predicted success probability against attacks with Splink, by policy.

Run by hand: ``python benchmarks/calibration.py``, optionally with the name of a study. It takes about three minutes.

The studies are the records of Adult in Tennessee, against a register of 200,000 people; a hospital file with several
rows per patient, against a register with one row per person and against the file itself; one draw of the bundled
scenario one-world, against the voter list (5 % of the states are stale) and the profiles (incomplete, with missing
values) that its adversaries hold; and a file whose values were changed. Per policy, it prints the claims, the predicted
and the realised number of correct claims and payoff, and the Brier scores of the game's prediction, of the attack's
posterior, and of Splink's match probability; at the end, the reliability of the prediction over all policies of a
study.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import reidsim
from reidsim.core.numerics import random_stream
from reidsim.engine.red_team import attack
from reidsim.kinds.masking.kind import MASKING
from reidsim.kinds.tables.kind import TABLES

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from by_people import made_hospital


class Case(NamedTuple):
    """A released file, its register and its truth."""

    policy: str
    released: pd.DataFrame
    register: pd.DataFrame
    truth: pd.DataFrame
    options: dict[str, Any]


def people_of(population: reidsim.Population, number: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return people drawn from a population, as text, one row each."""
    cells = rng.choice(len(population.counts), number, p=population.counts / population.counts.sum())
    names = [attribute.name for attribute in population.domain.attributes]
    labels = [np.array(attribute.categories) for attribute in population.domain.attributes]
    codes = population.cells[cells].T
    return pd.DataFrame({name: label[code] for name, label, code in zip(names, labels, codes, strict=True)})


def shared(scenario: Any, records: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield each policy, its released file, and the person of each row; column `line` numbers the records."""
    result, person = scenario.run(), records.set_index("line")["pid"]
    for policy in result.summary.index:
        kept = {"keep_identifier": ["line"], "unknown_to_outsiders": ["line"]}
        try:
            released = result.share(policy, accept_risk=True, **kept)
        except reidsim.InputError as error:
            print(f"  {policy}: {error}")
            continue
        truth = person.loc[released["line"].astype(str)].to_frame().reset_index(drop=True)
        yield policy, released.drop(columns="line"), truth


def adult_in_tennessee() -> Iterator[Case]:
    """Yield files of 5,000 people with the age, race and sex of Adult records, of 200,000 people in Tennessee."""
    scenario, rng = reidsim.Scenario.load("wan2015"), np.random.default_rng(1)
    study: Any = TABLES.study_of(scenario)
    register = people_of(reidsim.load_population("tennessee-2010"), 200_000, rng)
    register.insert(0, "pid", [f"P{number}" for number in range(len(register))])
    codes = study.lattice.codes[study.cell_of_record]
    attributes = [hierarchy.attribute for hierarchy in study.lattice.hierarchies]
    records = pd.DataFrame({each.name: np.array(each.categories)[codes[:, n]] for n, each in enumerate(attributes)})
    waiting = {
        key: list(rng.permutation(rows)) for key, rows in register.groupby(["age", "race", "sex"]).indices.items()
    }
    chosen = [
        waiting[key].pop()
        for key in records.sample(5_000, random_state=1)[["age", "race", "sex"]].itertuples(index=False, name=None)
        if waiting.get(key)
    ]
    records = register.iloc[chosen].reset_index(drop=True).assign(line=lambda frame: frame.index.astype(str))
    content, names = scenario.content, ["age", "race", "sex", "zip"]
    policies = ["no-protection", *content["publisher"]["policies"]]
    hierarchies = {name: dict(content["attributes"][name]["hierarchy"]) for name in names}
    # Nobody was drawn in some of the small areas.
    areas = set(register["zip"].str[:3])
    hierarchies["zip"]["pool"] = [area for area in hierarchies["zip"]["pool"] if area in areas]
    scenario = reidsim.Scenario.from_frames(
        records,
        hierarchies=hierarchies,
        population=register[names],
        economics=content["economics"],
        adversary=content["adversary"],
        policies=policies,
        safe_harbor=content["safe_harbor"],
    )
    for policy, released, truth in shared(scenario, records):
        yield Case(policy, released, register, truth, {"id": "pid", "scenario": scenario})


def hospital() -> Iterator[Case]:
    """Yield a hospital file of 12,000 stays of 6,000 patients, against two registers."""
    rng = np.random.default_rng(1)
    stays = made_hospital(12_000, 6_000, seed=1).drop(columns=["hid", "diagnosis"])
    stays = stays.assign(line=[str(line) for line in range(len(stays))])
    scenario = reidsim.Scenario.from_frames(
        stays,
        hierarchies={"age": reidsim.intervals(5, 10, 20), "sex": "suppress", "zip": reidsim.prefix(4, 3)},
        release={"person": "pid"},
        economics={"benefit": 1200, "loss": 300, "cost": 4},
        policies=["no-protection", "basic", "no-attack"],
    )
    everybody = stays.drop(columns="line").iloc[rng.permutation(len(stays))]
    for policy, released, truth in shared(scenario, stays):
        options = {"id": "pid", "scenario": scenario}
        linked = {**options, "person": "patient"}
        yield Case(f"{policy}, all stays", released, everybody, truth, options)
        yield Case(f"{policy}, one stay each", released, everybody.drop_duplicates("pid"), truth, options)
        released = released.assign(patient=truth["pid"])
        yield Case(f"{policy}, stays linked", released, everybody, truth, linked)
        files = released, everybody
        released, register = (
            table.assign(stays=table.groupby(key)[key].transform("size"))
            for table, key in zip(files, ("patient", "pid"), strict=True)
        )
        counted = {"id": "pid", "person": "patient", "gain": 300, "cost": 4}
        yield Case(f"{policy}, stays linked and counted", released, register, truth, counted)


def one_world() -> Iterator[Case]:
    """Yield the released records of one-world, against the voter list and the profiles of its adversaries."""
    scenario = reidsim.Scenario.load("one-world", {"agents.rounds": 1})
    study = MASKING.build(scenario)
    records = scenario.run().records
    world = study.tables.draw(random_stream(scenario.scenario.seed, "tables", 0), replication=0)["marketer"]
    for policy, rows in records.groupby("policy", sort=False, observed=True):
        released = {
            name: MASKING.released_values(scenario.scenario, rows, name).astype("str").to_numpy()
            for name in ("age", "state", "sex")
        }
        for resource in ("voter-list", "profiles"):
            table, members = world.resources[resource], world.lists[resource]
            columns = {}
            for name in released:
                values = np.array(study.tables.label(name, table.columns[name]), dtype=object)
                columns[name] = np.where(table.missing.get(name, np.zeros(len(values), dtype=bool)), "", values)
            own = members.row[rows["record"].to_numpy()]
            truth = pd.DataFrame({"person": np.where(own < 0, "", own.astype(str))})
            files = pd.DataFrame(released), pd.DataFrame(columns), truth
            yield Case(f"{policy}, {resource}", *files, {"gain": 60, "cost": 1, "coverage": members.coverage})


def perturbed() -> Iterator[Case]:
    """Yield a file of 2,000 people with changed values, attacked with and without the model of its noise."""
    rng = np.random.default_rng(7)
    register = pd.DataFrame(
        {
            "age": np.clip(rng.gamma(6, 8, 20_000).astype(int), 18, 95).astype(str),
            "sex": rng.choice(["F", "M"], 20_000),
            "zip": rng.choice([f"37{area:03d}" for area in range(60)], 20_000, p=rng.dirichlet(np.full(60, 2.0))),
            "education": rng.choice(["basic", "secondary", "bachelor", "master"], 20_000, p=[0.2, 0.4, 0.25, 0.15]),
        }
    )
    own = rng.choice(20_000, 2_000, replace=False)
    records = register.iloc[own].reset_index(drop=True)
    released = records.assign(
        age=(records["age"].astype(int) + rng.normal(0, 3, 2_000)).round().astype(int).astype(str)
    )
    for name in ("sex", "zip", "education"):
        drawn = rng.random(2_000) < 0.2
        released.loc[drawn, name] = rng.choice(records[name], int(drawn.sum()))
    models = {"age": {"deviation": 3.0}, **{name: {"keep": 0.8} for name in ("sex", "zip", "education")}}
    for policy, noise in (("noise known", models), ("noise unknown", "exact")):
        scenario = reidsim.Scenario.from_frames(
            records,
            hierarchies=dict.fromkeys(map(str, register), "suppress"),
            population=register,
            economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 12},
            noise=noise,
        )
        yield Case(policy, released, register, pd.DataFrame({"person": own}), {"scenario": scenario})


STUDIES = {"adult": adult_in_tennessee, "hospital": hospital, "one-world": one_world, "perturbed": perturbed}


def main() -> None:
    """Print the calibration of each study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", default=[*STUDIES], metavar="STUDY", help=", ".join(STUDIES))
    parser.add_argument("--seeds", type=int, default=1, help="attacks per file, whose correct claims are averaged")
    options = parser.parse_args()
    for name in options.studies:
        print(f"\n{name}")
        summaries, claims = list[pd.DataFrame](), list[pd.DataFrame]()
        for case in STUDIES[name]():
            found = attack(case.released, case.register, truth=case.truth, seed=len(claims), **case.options)
            present = (case.truth != "").to_numpy().mean()
            summaries.append(found.summary.assign(policy=case.policy, present=present))
            claims.append(found.claims)
            if options.seeds > 1:
                files = case.released, case.register
                again = [attack(*files, truth=case.truth, seed=seed, **case.options) for seed in range(options.seeds)]
                others = [int(each.summary["correct"][0]) for each in again]
                print(f"{case.policy}: {min(others)} to {max(others)} correct, mean {np.mean(others):.1f}")
        table = pd.concat(summaries).set_index("policy")
        columns = ["rows", "present", "claims", "predicted", "predicted_low", "predicted_high", "correct"]
        columns += ["payoff_predicted", "payoff", "brier_predicted", "brier_probability", "brier_match_probability"]
        print(table[columns].round(4).to_string())
        every = pd.concat(claims)
        tenth = (every["predicted"] * 10).astype(int).clip(upper=9) / 10
        reliability = every.groupby(tenth.rename("from")).agg(
            claims=("predicted", "size"), predicted=("predicted", "mean"), correct=("correct", "mean")
        )
        print(reliability.round(3).to_string())


if __name__ == "__main__":
    main()
