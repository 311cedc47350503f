"""Small scenarios of every kind, with their files, for tests of keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

_ATTRIBUTES = """
[attributes.age]
hierarchy = { rule = "intervals", widths = [5, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.zip]
hierarchy = { rule = "prefix", digits = [4, 3] }
"""
_ECONOMICS = """
[economics]
benefit = 100
loss = 400
gain = 280
cost = 40
"""
_POPULATION = """
[population]
recipe = "drawn.toml"
"""
_TABLE = '[release]\npath = "people.csv"\n' + _ATTRIBUTES + _ECONOMICS
_PROSECUTOR = _TABLE + '[adversary]\nrisk = "prosecutor"\n'
_UNPROTECTED = '[publisher]\npolicies = ["no-protection", "basic"]\n'
_SEVERAL = """
[adversaries.careful]
weight = 0.6
[adversaries.patient]
weight = 0.4
planner = "fmdp"
gain = 900
sequential = { penalty = 20, detection_intercept = 0.0 }
"""
_RESOURCES = """
[resources.voters]
attributes = ["age", "sex"]
coverage = 0.6
price = 30
[resources.broker]
attributes = ["zip"]
coverage = 0.8
price = 50
"""
_MASKING = """
game = "masking"
[subjects]
attributes = ["age", "sex", "zip"]
[economics]
benefit = 100
loss = 150
gain = 100
cost = 20
"""
_DYNAMIC = 'game = "dynamic"\n' + _ATTRIBUTES + _ECONOMICS.replace("cost = 40", "cost = 90")

SCENARIOS = {
    "records": _TABLE + _POPULATION,
    "records, whole-table policies": _PROSECUTOR.replace("cost = 40", "cost = 90")
    + '[publisher]\npolicies = ["full-domain", "local-recoding", "k-anonymity"]\n',
    "table": _PROSECUTOR + '[publisher]\nunit = "table"\n',
    "table, journalist": _TABLE + _POPULATION.replace("drawn", "town") + '[publisher]\nunit = "table"\n',
    "sensitive column, records": _PROSECUTOR.replace("cost = 40", "cost = 150") + 'gains_from = "either"\n[publisher]\n'
    'policies = ["no-protection", "basic"]\nsensitive = ["disease"]\nt_closeness = 0.4\nl_diversity = 2\n',
    "sensitive column, table": _PROSECUTOR + '[publisher]\nunit = "table"\nsensitive = "disease"\n'
    "max_inference = 0.6\nt_closeness = 0.12\n"
    'sensitive_hierarchies = { disease = { rule = "groups", groups = [[["a", "c"]]] } }\n',
    "table, anytime": _PROSECUTOR + '[publisher]\nunit = "table"\nsearch = "anytime"\nnodes = 25\n',
    "perturbation": _PROSECUTOR + '[publisher]\npolicies = ["basic", "pram", "swap", "microaggregate", '
    '"noise-no-attack"]\n',
    "sample": _TABLE.replace('"people.csv"', '"people.csv"\nweight = "weight"') + '[adversary]\nrisk = "sample"\n',
    "sequential": _TABLE + _POPULATION + '[adversary]\nplanner = "fmdp"\n'
    'sequential = { penalty = 90, max_penalties = 2, '
    'detection_intercept = 0.0, access_cost = 5, registry = "voters.toml", belief = "unknown" }\n',
    "testing": _PROSECUTOR + 'planner = "testing"\n'
    'testing = { expected_match_rate = 0.6, lists = 2, price = 90, tests = 3, records = 9 }\n'
    + _UNPROTECTED,
    "random": _PROSECUTOR + 'planner = "random"\n',
    "logit": _PROSECUTOR + 'rationality = "logit"\nprecision = 0.02\n',
    "prospects": _PROSECUTOR + 'rationality = "prospect"\n',
    "people": _PROSECUTOR.replace('"people.csv"', '"people.csv"\nperson = "pid"\nhousehold = "home"'),
    "persons looked up": _PROSECUTOR + 'direction = "both"\n',
    "partial knowledge": _TABLE + _POPULATION + '[adversary]\nknowledge = "gossip.toml"\n',
    "data utility": _PROSECUTOR + '[utility]\nregression = "amount ~ age + sex"\n',
    "safe harbor": _PROSECUTOR + '[publisher]\npolicies = ["safe-harbor", "sh-friendly"]\n[safe_harbor]\nage = "age"\n',
    "several adversaries": _TABLE + _POPULATION + _SEVERAL,
    "agents": _TABLE + _POPULATION + _UNPROTECTED + "[agents]\nrounds = 2\n",
    "agents, sampling": _TABLE + _POPULATION + _UNPROTECTED + '[agents]\nrounds = 3\nmode = "sampling"\n',
    "market": _TABLE + _POPULATION + _RESOURCES + _UNPROTECTED + '[agents]\nrounds = 3\n'
    '[agents.enforcement]\ndetection = 0.3\nfine = 20\n'
    '[agents.learning]\n[agents.participation]\nreward = 5\nharm = 40\nexpected_risk = 0.1\n'
    '[adversaries.marketer]\nweight = 0.6\nbuys = ["voters", "broker"]\nbudget = 900\n'
    '[adversaries.insider]\nweight = 0.4\nholds = ["voters"]\naccuracy = 0.7\nexpected_accuracy = 0.9\n',
    "releases": _PROSECUTOR + '[publisher]\npolicies = ["basic", "m-invariance"]\n'
    'sensitive = "disease"\n[releases]\nenters = "first"\nleaves = "last"\n',
    "lists": _TABLE + _POPULATION + '[resources.voters]\nkind = "broker-file"\ncoverage = 0.6\n'
    'attributes = ["age", "sex"]\n[adversary]\nholds = ["voters"]\n',
    "masking": _MASKING + '[targets]\nfile = "people.csv"\n[resources.register]\nfile = "people.csv"\n'
    'attributes = ["age", "sex", "zip"]\n[[adversary.stages]]\nstage = "identify"\nresource = "register"\n'
    'on = ["age", "sex", "zip"]\n',
    "masking, two stages": 'game = "masking"\nreplications = 2\n[population]\n'
    'recipe = "ystr-genealogy-small"\ngenerations = 3\n'
    'reference_year = 2020\n[targets]\nsize = 30\n[resources.registry]\nsize = 300\nholds = "targets"\n'
    'attributes = ["age", "state", "surname"]\n[resources.genealogy]\nsize = 400\nholds = "others"\n'
    'attributes = ["surname", "DYS19", "DYS385", "DYS389I", "DYS389II", "DYS390", "DYS391", "DYS439"]\n'
    '[economics]\nbenefit = 100\nloss = 150\ncost = 10\n'
    '[[adversary.stages]]\nstage = "infer-surname"\nresource = "genealogy"\n[[adversary.stages]]\n'
    'stage = "identify"\nresource = "registry"\non = ["age", "state", "surname"]\n'
    '[subjects]\nattributes = ["age", "state", "DYS19", "DYS385", "DYS389I", "DYS389II", "DYS390", "DYS391", '
    '"DYS439"]\n',
    "masking, drawn": 'game = "masking"\n[population]\nrecipe = "town.toml"\n[targets]\nsize = 20\n'
    '[resources.register]\nsize = 50\nholds = "targets"\nattributes = ["age", "sex", "zip"]\n' + _ECONOMICS +
    '[adversary]\nknowledge = "gossip.toml"\nresource = "register"\n[subjects]\nattributes = ["age", "sex", "zip"]\n',
    "masking, agents": _MASKING + '[targets]\nfile = "people.csv"\n[resources.register]\nfile = "people.csv"\n'
    'attributes = ["age", "sex", "zip"]\n[[adversary.stages]]\nstage = "identify"\nresource = "register"\n'
    'on = ["age", "sex", "zip"]\n[agents]\nrounds = 2\n',
    "risk, file": 'game = "risk"\n[release]\npath = "coded.csv"\nattributes = ["age", "sex", "zip"]\n[knowledge]\n'
    'gossip = "gossip.toml"\n[uniqueness]\nmethod = "fixed"\nvalue = 0.3\n[attack]\ngain = 500\ncost = 20\n',
    "risk, estimated": 'game = "risk"\n[release]\npath = "people.csv"\nattributes = ["age", "sex", "zip"]\n'
    '[knowledge]\ngossip = "gossip.toml"\n[uniqueness]\nmethod = "pitman"\npopulation_size = 400\n',
    "risk, samples": 'game = "risk"\n[population]\nrecipe = "town.toml"\n[release]\nsizes = [30]\n[knowledge]\n'
    'gossip = "gossip.toml"\n[uniqueness]\nmethod = "known"\n[threshold]\nsizes = [20, 60]\ndraws = 2\n'
    'groups = ["sex"]\n[expectation]\nmethod = "monte-carlo"\ntrials = 20\n',
    "participation, couples": 'game = "participation"\n[population]\ncouples = 100_000\ntypes = 50\n[subjects]\n'
    "benefit = 5\nservices = 1\nharm = 10\nspread = 0.5\n",
    "participation, pedigree": 'game = "participation"\n[population]\npath = "pedigree.csv"\n'
    '[matching]\nsegments = 12\nsegment = 0.5\n'
    "[subjects]\nbenefit = 5\nharm = 6\nspread = 0.5\nconcern = 0.3\n",
    "participation, genealogy": 'game = "participation"\n[population]\nrecipe = "ystr-genealogy-small"\npeople = 60\n'
    "generations = 4\n[matching]\nsegments = 8\nsegment = 0.3\n[subjects]\nbenefit = 5\nharm = 10\n",
    "dynamic": _DYNAMIC + '[release]\npath = "cases.csv"\n[adversary]\nrisk = "prosecutor"\n',
    "dynamic, epidemic": _DYNAMIC + _POPULATION + '[epidemic]\nperiods = 3\ncases = 40\narea = "zip"\nlevel = 1\n'
    'peak = 1\nwidth = 1\nspread = 1\n[publisher]\npolicies = ["pk", "fixed", "basic"]\nk = 2\nsimulations = 20\n'
    "threshold = 0.2\nfixed = { age = 1 }\n",
    "dynamic, agents": _DYNAMIC + '[release]\npath = "cases.csv"\n[adversary]\nrisk = "prosecutor"\n[agents]\n',
}  # fmt: skip

# Alternative values of keys that are neither numbers nor enumerations, by the ending of the key path.
VALUES: dict[str, list[object]] = {
    "population": [{"recipe": "town.toml"}],
    "population.recipe": ["voters.toml"],
    "population.path": ["town.csv"],
    "population.together": [0.5],
    "release.path": ["half.csv"],
    "release.table": ["town.toml"],
    "release.encoding": ["latin-1"],
    "delimiter": [";"],
    "release.weight": ["weight"],
    "release.person": ["pid"],
    "release.household": ["home"],
    "release.period": ["disease"],
    "release.forecast": ["extra"],
    "release.attributes": [["age", "sex"]],
    "release.columns": [{"age": "amount"}],
    "release.persons": ["people.csv"],
    "hierarchy.costless_levels": [[1], [1, 2], [2]],
    "hierarchy.pool": [["372"]],
    "age.column": ["amount"],
    "age.reading": [{"type": "text", "missing": ["20", "21", "22", "23"]}],
    "sex.values": [{"F": "Mä"}],
    "sex.reading": [{"type": "text", "missing": ["F"]}],
    "sex.column": ["disease"],
    "resources": [{"voters": {"attributes": ["age"], "coverage": 0.5}}],
    "columns.benefit": ["amount"],
    "columns.loss": ["amount"],
    "columns.gain": ["amount"],
    "columns.cost": ["amount"],
    "sequential.registry": ["voters.toml"],
    "sequential.unconfirmed": [{"sensitivity": 0.8, "specificity": 0.7}],
    "knowledge": ["gossip.toml"],
    "holds": [["voters"]],
    "buys": [["broker"]],
    "adversaries": [{"one": {"weight": 0.5, "gain": 90}, "two": {"weight": 0.5, "planner": "random"}}],
    "publisher.rounds": [1],
    "publisher.policies": [["suppress-all"], ["no-protection"]],
    "perturbation.strengths": [[0.9], [0.4]],
    "perturbation.group_sizes": [[15], [7]],
    "subjects.policies": [["no-protection"], ["nobody"]],
    "safe_harbor": [{"age": "age"}],
    "safe_harbor.age": ["age"],
    "safe_harbor.zip": ["zip"],
    "releases": [{"enters": "first"}],
    "utility": [{}],
    "utility.columns": [["age", "amount"]],
    "utility.categories": [["zip"]],
    "utility.regression": ["amount ~ age"],
    "utility.classifier": ["disease"],
    "releases.leaves": ["last"],
    "publisher.sensitive": ["disease", "amount"],
    "publisher.sensitive_hierarchies": [
        {"disease": {"rule": "groups", "groups": [[["a", "b"]]]}},
        {"disease": {"rule": "groups", "groups": [[["b", "c"]]]}},
    ],
    "agents": [{"rounds": 2}],
    "agents.learning": [{}],
    "agents.participation": [{"reward": 1, "harm": 5}],
    "learning.prior": [{"marketer": 3, "insider": 1}],
    "learning.prior_absent": [{"marketer": 3, "insider": 1}],
    "figures.strategies": [{"age": "66", "sex": "Mä", "zip": "37204"}],
    "figures.sequential": [{}],
    "figures.nodes": [{"top": 2}],
    "buyers": [["marketer"], ["adversary"]],
    "states": [["TN"]],
    "among": [{"sex": ["F"]}],
    "missing": [{"age": 0.5}],
    "errors": [{"age": 0.5}],
    "resources.voters.attributes": [["age"]],
    "file": [],
    "person": ["pid"],
    "count": ["first"],
    "targets.columns": [{"sex": "disease"}],
    "subjects.weights": ["uniform"],
    "subjects.always_shared": [["age"]],
    "subjects.generalize": [{"age": {"widths": [10], "kept": [0.5]}}],
    "beliefs.sizes": [{"register": 70}, {"genealogy": 100}],
    "stages.0.loci": [["DYS19"]],
    "stages.1.on": [["age"]],
    "stages.0.on": [["age"]],
    "trees": [{"zip": {"groups": {"372": ["37203", "37204", "37211"], "any": ["372", "38117"]}}}],
    "threshold": [{"risk_accepted": 0.2, "groups": ["sex"]}],
    "threshold.groups": [["zip"]],
    "threshold.sizes": [[10]],
    "threshold.like_members": [["sex"]],
    "figures.settings": [{"p_m": [0.1, 0.9], "p_fm": [0.5], "p_cu": [0.5], "p_c": [0.5]}],
    "attack": [{"gain": 50, "cost": 3}],
    "equilibria.lost": [[0.5]],
    "publisher.fixed": [{"age": 1}],
    "voters": [{"recipe": "voters.toml"}],
}

_GOSSIP = """
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


def write_files(folder: Path) -> None:
    """Write the files that the scenarios name."""
    rng = np.random.default_rng(5)
    town = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 80).astype(str),
            "sex": rng.choice(["F", "Mä"], 80),
            "zip": rng.choice(["37203", "37204", "37211", "38117"], 80),
        }
    )
    town.to_csv(folder / "town.csv", index=False)
    columns = '{ age = "age", sex = "sex", zip = "zip" }'
    (folder / "town.toml").write_text(f'kind = "counts"\nfile = "town.csv"\ncolumns = {columns}\n')
    (folder / "drawn.toml").write_text('kind = "registry"\npopulation = "town.toml"\nsize = 70\nseed = 1\n')
    (folder / "voters.toml").write_text('kind = "registry"\npopulation = "town.toml"\nsize = 60\nseed = 3\n')
    people = town.iloc[:40].assign(
        pid=[f"p{number // 2}" for number in range(40)],
        home=[f"h{number // 4}" for number in range(40)],
        weight=rng.uniform(1, 20, 40).round(2),
        disease=rng.choice(["a", "b", "c"], 40),
        first=rng.integers(1, 3, 40),
        last=rng.integers(3, 5, 40),
        amount=rng.integers(20, 90, 40),
    )
    people.to_csv(folder / "people.csv", index=False)
    people.assign(zip=people["zip"].where(people.index % 8 > 0, "372")).to_csv(folder / "coded.csv", index=False)
    people.iloc[:20].to_csv(folder / "half.csv", index=False)
    people.assign(period=rng.integers(1, 4, 40), extra=3).to_csv(folder / "cases.csv", index=False)
    pedigree = [(number, "", "") for number in range(4)]
    pedigree += [(4 + number, 0, 1) for number in range(3)] + [(7 + number, 2, 3) for number in range(3)]
    pedigree += [(10 + number, 4, 7) for number in range(3)] + [(13 + number, 8, 5) for number in range(3)]
    pd.DataFrame(pedigree, columns=["person", "father", "mother"]).to_csv(folder / "pedigree.csv", index=False)
    (folder / "gossip.toml").write_text(_GOSSIP)
