"""Cases of `golden.py`: every bundled scenario at small settings, and keys that no bundled scenario uses.

A case names a command of reidsim, a scenario, and values of it that are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Replaced = Mapping[str, object]


@dataclass(frozen=True)
class Case:
    """One thing to run: ``run``, ``batch``, ``stress``, ``cross-play`` or ``explain``.

    Parameters
    ----------
    name : str
        Folder of its tables.
    command : str
        Command to run.
    scenario : str
        Bundled name, or a file of `FILES`.
    replaced : mapping
        Values by key path.
    options : mapping
        Further arguments of the call.
    """

    name: str
    command: str
    scenario: str
    replaced: Replaced = field(default_factory=dict)
    options: Replaced = field(default_factory=dict)


# A world of a few people, with partial knowledge and an attack in stages.
FILES: Mapping[str, str] = {
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
    "people.toml": """title = "People of two villages"
kind = "counts"
file = "people.csv"
count = "people"
[columns]
age = "age"
sex = "sex"
village = "village"
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
    "clinic.toml": """title = "Ten patients"
seed = 1
[population]
recipe = "people.toml"
[release]
path = "patients.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.village]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 150
cost = 20
""",
    "clinic-table.toml": """extends = "clinic.toml"
title = "Ten patients, one form for all"
[adversary]
risk = "journalist"
[publisher]
unit = "table"
safe_class = "above"
policies = [
  "no-protection", "suppress-all", "basic", "no-attack", "local-recoding", "local-recoding-no-attack", "record-level",
  "record-level-no-attack", "multi-dimensional", "multi-dimensional-no-attack",
]
""",
    "visits.csv": """pid,hid,age,sex,village
P1,H1,30,F,Dale
P1,H1,30,F,Hill
P2,H1,30,M,Dale
P3,H2,40,F,Dale
P3,H2,40,F,Dale
P4,H2,40,M,Hill
P5,H3,50,F,Dale
P6,H3,50,M,Hill
""",
    "visits.toml": """extends = "clinic.toml"
title = "Six people with eight visits"
[release]
path = "visits.csv"
person = "pid"
household = "hid"
""",
    "visits-risk.toml": """game = "risk"
title = "How identifiable are six people with eight visits?"
[release]
path = "visits.csv"
attributes = ["age", "village"]
person = "pid"
household = "hid"
[knowledge]
club = "club.toml"
[uniqueness]
method = "pitman"
population_size = 60
""",
    "club.toml": """title = "A club's list"
[[sources]]
kind = "groups"
name = "club"
[[sources.profile]]
presence = 0.5
[[sources.profile.groups]]
attributes = ["age", "village"]
""",
    "directory.csv": """age,sex,village,job,people
30,F,Dale,clerk,12
30,F,Dale,baker,3
30,M,Dale,miller,6
30,F,Hill,nurse,2
40,F,Dale,clerk,9
40,M,Dale,miller,2
40,M,Hill,smith,1
50,F,Dale,clerk,4
50,M,Hill,baker,3
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
    "attack.toml": """title = "Jobs from a directory, people from a register"
[resources.directory]
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

_FEW_MEN: Replaced = {
    "population.recipe": "ystr-genealogy-small",
    "targets.size": 40,
    "resources.registry.size": 1300,
    "resources.genealogy.size": 1300,
    "replications": 1,
}
_FEW_LOCI: Replaced = {
    **_FEW_MEN,
    "resources.genealogy.attributes": ["surname", "DYS19", "DYS385", "DYS389I", "DYS389II", "DYS390"],
    "subjects.attributes": ["age", "state", "DYS19", "DYS385", "DYS389I", "DYS389II", "DYS390"],
}
_RECORD_POLICIES = ["no-protection", "suppress-all", "safe-harbor", "basic", "sh-friendly", "no-attack"]
_NODE_POLICIES = ["safe-harbor", "no-protection", "suppress-all", "basic", "no-attack", "sh-friendly", "record-level",
                  "record-level-no-attack"]  # fmt: skip


_THREE_PRICES: Replaced = {
    "economics.benefit": {"distribution": "uniform", "low": 50, "high": 2000},
    "economics.loss": {"distribution": "uniform", "low": 50, "high": 2000},
    "economics.cost": {"distribution": "log-uniform", "low": 0.01, "high": 200},
}
_SEVERAL: Replaced = {
    "agents.rounds": 3,
    "adversaries.few": {"weight": 0.4, "gain": 600, "cost": 20},
    "adversaries.many": {"weight": 0.6, "gain": 60, "cost": 2},
    "agents.participation": {"reward": 5, "harm": 4000, "expected_risk": 0.0003, "learning_rate": 0.4},
}

_RUNS = (
    Case("wan2015", "run", "wan2015", {
        "publisher.policies": _RECORD_POLICIES,
    }),
    Case("wan2015-beliefs", "run", "wan2015", {
        "publisher.policies": _RECORD_POLICIES,
        "publisher.solver": "branch-and-bound",
        "beliefs": {"loss": 500, "gain": 100, "cost": 12},

    }),
    Case("wan2015-lattice-search", "run", "wan2015", {
        "publisher": {"policies": ["basic"], "solver": "lattice-search"}, "economics.gain": 700
    }),
    Case("wan2015-prosecutor", "run", "wan2015", {
        "adversary.risk": "prosecutor", "safe_harbor.zip3_population": "us-2010"
    }),
    Case("wan2015-fmdp", "run", "wan2015", {
        "adversary.planner": "fmdp",
        "adversary.sequential": {"access_cost": 50, "penalty": 900, "prior": 0.7, "max_penalties": 3},

    }),
    Case("wan2015-knowledge", "run", "wan2015", {"adversary.knowledge": "tennessee-voters"}),
    Case("wan2015-map-records-one", "run", "wan2015", {
        "release": {"path": "bundled:wan2015-map-records/black-man-19.csv", "format": "csv"},
        "attributes.zip.draw": False,

    }),
    Case("xia2015", "run", "xia2015", {
        "figures.sequential.largest_group": 30,
        "figures.sequential.file_attack": {"budget": 500, "draws": 10},
    }),
    Case("xia2015-unknown", "run", "xia2015", {
        "adversary.sequential.belief": "unknown",
        "adversary.sequential.detection_slope": 0.18,

    }),
    Case("prasser2017", "run", "prasser2017", {
        "publisher.policies": [*_NODE_POLICIES, "local-recoding", "local-recoding-no-attack", "multi-dimensional",
                               "multi-dimensional-no-attack"],
    }),
    Case("prasser2017-journalist", "run", "prasser2017", {
        "beliefs": {"risk": "journalist", "cost": 10}, "publisher.suppression_limit": 0.05
    }),
    Case("prasser2017-anytime", "run", "prasser2017", {
        "publisher": {
            "unit": "table", "safe_class": "above", "policies": ["basic", "no-attack"], "search": "anytime", "nodes": 60
        }
    }),
    Case("arx-example", "run", "arx-example", {
        "publisher.policies": ["basic", "no-attack", "record-level"], "figures.nodes.top": 5
    }),
    Case("clinic-table", "run", "clinic-table.toml"),
    Case("clinic", "run", "clinic.toml"),
    Case("clinic-sensitive", "run", "clinic.toml", {
        "publisher.sensitive": "job", "publisher.max_inference": 0.6,
        "publisher.policies": ["no-protection", "basic", "no-attack"],
    }),
    Case("clinic-both-directions", "run", "clinic.toml", {"adversary.direction": "both"}),
    Case("visits", "run", "visits.toml"),
    Case("visits-risk", "run", "visits-risk.toml"),
    Case("guo2023", "run", "guo2023", {"population.types": 200, "subjects.concern": 1}),
    Case("guo2023-families", "run", "guo2023-families", {"population.people": 60, "figures.equilibria.starts": 3}),
    Case("clinic-knowledge", "run", "clinic.toml", {"adversary.knowledge": "club.toml"}),
    Case("wan2021", "run", "wan2021", _FEW_MEN),
    Case("wan2021-nearest", "run", "wan2021", {
        **_FEW_LOCI,
        "adversary.stages.0.method": "nearest-neighbour",
        "subjects.solver": "backward-induction",
        "subjects.weights": "uniform",
        "subjects.policies": ["opt-in", "masking", "no-attack-masking", "same-strategy", "k-anonymity"],
        "beliefs": {"cost": 20, "sizes": {"registry": 1400}},
    }),
    Case("wan2021-case", "run", "wan2021-case", {
        "subjects.policies": ["no-protection", "demographics-only", "random-masking", "opt-in", "masking"]
    }),
    Case("wan2021-robustness", "run", "wan2021-robustness", {
        **_FEW_LOCI, "replications": 2, "beliefs": {"sizes": {"registry": 1400}},
        "sweep": {"values": {"beliefs.cost": [10.0], "economics.cost": [0.0, 20.0, 40.0],
                             "resources.registry.size": [1000, 1300]}},
    }),
    Case("wan2021-sensitivity", "run", "wan2021-sensitivity", {
        **_FEW_LOCI, "replications": 2,
        "sweep": {"values": {"economics.loss": [0.0, 150.0, 400.0], "subjects.weights": ["entropy", "uniform"]},
                  "one_at_a_time": ["economics.loss", "subjects.weights"]},
    }),
    Case("wan2021-settings", "run", "wan2021-settings", {
        **_FEW_LOCI, "replications": 2,
        "sweep": {"values": {"subjects.weights": ["entropy", "uniform"], "subjects.minority_support": [-1.0, 0.0]},
                  "one_at_a_time": ["subjects.weights", "subjects.minority_support"]},
    }),
    Case("xia2021", "run", "xia2021", {
        "release.sizes": [300, 1000],
        "release.samples": 2,
        "figures.settings": {"p_m": [0.2, 0.8], "p_c": [0.5], "p_fm": [0.2, 0.8], "p_cu": [0.5], "records": 300,
                              "trials": 5},
    }),
    Case("dynamic-release", "run", "dynamic-release", {"epidemic.cases": 600, "publisher.simulations": 40}),
    Case("dynamic-agents", "run", "dynamic-release", {
        "epidemic.cases": 200, "epidemic.periods": 20, "agents.rounds": 2,
        "publisher.policies": ["no-protection", "basic"],
    }),
    Case("dynamic-cumulative", "run", "dynamic-release", {
        "epidemic.cases": 200, "epidemic.periods": 40, "release.table": "cumulative", "publisher.simulations": 20,
        "publisher.policies": ["no-protection", "pk", "basic"],
    }),
    Case("cohort-threshold", "run", "cohort-threshold", {
        "release.sizes": [1000], "threshold.sizes": [300, 3000], "threshold.draws": 2,
    }),
    Case("xia2021-pitman", "run", "xia2021", {
        "release.sizes": [500],
        "release.samples": 1,
        "uniqueness": {"method": "pitman", "population_size": 100_000},
        "figures": {},
    }),
)  # fmt: skip

_AGENTS = (
    Case("market", "run", "market", {"agents.rounds": 5}),
    Case("market-sampling", "run", "market", {
        "agents.rounds": 3, "agents.mode": "sampling", "agents.draws": 3, "publisher.policies": ["safe-harbor", "basic"]
    }),
    Case("market-foresight", "run", "market", {
        "agents.rounds": 3, "agents.foresees": "plans", "publisher.policies": ["basic"]
    }),
    Case("voter-vs-twitter", "run", "voter-vs-twitter"),
    Case("list-testing", "run", "list-testing", {"adversary.testing.records": 20}),
    Case("sequential-publisher", "run", "sequential-publisher", {"agents.rounds": 3}),
    Case("wan2015-agents", "run", "wan2015", {"agents": {"rounds": 1}}),
    Case("wan2015-all-agents", "run", "wan2015", {
        **_SEVERAL, "agents.together": "all", "publisher.solver": "branch-and-bound"
    }),
    Case("prasser2017-agents", "run", "prasser2017", {
        **_SEVERAL, "publisher.policies": _NODE_POLICIES
    }),
    Case("prasser2017-one-round", "run", "prasser2017", {
        "agents": {"rounds": 1}, "publisher.policies": _NODE_POLICIES
    }),
    Case("genealogy-market", "run", "genealogy-market", {
        "agents.rounds": 3, "targets.size": 40, "resources.registry.size": 1300, "resources.genealogy.size": 1300
    }),
    Case("one-world", "run", "one-world", {
        "agents.rounds": 3, "targets.size": 40, "population.recipe": "ystr-genealogy-small",
        "subjects.attributes": ["age", "state", "sex", "DYS19", "DYS385", "DYS389I", "DYS390"],
    }),
    Case("wan2021-agents", "run", "wan2021", {**_FEW_LOCI, "agents": {"rounds": 1}}),
)  # fmt: skip

_BATCHES = (
    Case("wan2015-sweep", "batch", "wan2015-sweep", {
        "sweep": {"one_at_a_time": ["economics.benefit", "economics.cost"],
                  "values": {"economics.benefit": [50, 2000], "economics.cost": [0, 100]}}
    }),
    Case("wan2015-search", "batch", "wan2015-search", {
        "sweep": {"values": {"economics.benefit": [50, 2000]}}
    }),
    Case("wan2015-map", "batch", "wan2015-map", {
        "sweep": {"values": {"economics.benefit": [30, 1500], "economics.loss": [0, 2500]}}
    }),
    Case("wan2015-map-records", "batch", "wan2015-map-records", {
        "sweep": {"values": {
            "economics.benefit": [30, 1500],
            "economics.loss": [0, 2500],
            "release.path": ["bundled:wan2015-map-records/black-man-19.csv",
                             "bundled:wan2015-map-records/white-woman-62.csv"],
        }}
    }),
    Case("wan2015-replications", "batch", "wan2015", {"replications": 2}),
    Case("wan2015-uncertainty", "batch", "wan2015", {
        "uncertainty": {"samples": 3, "method": "latin-hypercube", "parameters": _THREE_PRICES}
    }),
    Case("xia2015-sweep", "batch", "xia2015-sweep", {
        "sweep": {
            "together": [["adversary.sequential.max_penalties", "adversary.sequential.detection_slope"]],
            "values": {
                "adversary.sequential.max_penalties": [100, 1],
                "adversary.sequential.detection_slope": [0.0, 0.18],
                "economics.cost": [0, 50],
            },
        }
    }),
    Case("prasser2017-sweep", "batch", "prasser2017-sweep", {
        "sweep": {"values": {"economics.loss": [0, 500], "beliefs.risk": ["prosecutor", "journalist"]}}
    }),
    Case("prasser2017-runtimes", "batch", "prasser2017-runtimes", {
        "publisher.policies": ["basic", "no-attack"],
        "sweep": {"values": {"economics.loss": [500], "publisher.prune": [True, False]}},
    }),
    Case("wan2021-replications", "batch", "wan2021", {
        **_FEW_LOCI, "replications": 2, "sweep": {"values": {"economics.cost": [5, 20]}}
    }),
    Case("xia2021-replications", "batch", "xia2021", {
        "replications": 2, "release.sizes": [300], "release.samples": 1
    }),
    Case("market-replications", "batch", "market", {
        "replications": 2, "agents.rounds": 2, "agents.mode": "sampling", "publisher.policies": ["basic"]
    }),
)  # fmt: skip

_STRESS = (
    Case("wan2015-stress", "stress", "wan2015-stress", {
        "uncertainty.samples": 6,
        "stress.sensitivity.samples": 4,
        "stress.guarantee": True,
        "stress.beliefs": [{"key": "economics.cost", "true": [0, 4, 8], "believed": [4]}],
        "stress.map.x.values": [50, 500],
        "stress.map.y.values": [0, 10],
    }),
    Case("wan2015-morris", "stress", "wan2015-stress", {
        "uncertainty.samples": 3, "stress": {"sensitivity": {"method": "morris", "samples": 3}}
    }),
    Case("prasser2017-stress", "stress", "prasser2017", {
        "publisher.policies": ["safe-harbor", "basic", "no-attack"],
        "uncertainty": {"samples": 3, "method": "latin-hypercube", "parameters": _THREE_PRICES},
        "stress": {"robustness": {"quantile": 0.1}, "beliefs": [{"key": "economics.cost", "true": [2, 8]}]},

    }),
    Case("wan2021-stress", "stress", "wan2021-stress", {
        **_FEW_LOCI,
        "stress": {"outputs": ["publisher_payoff", "risk"],
                   "beliefs": [{"key": "economics.cost", "true": [0.0, 20.0], "believed": [10.0]}]},
    }),
    Case("market-stress", "stress", "market", {
        "agents.rounds": 2,
        "publisher.policies": ["basic", "no-attack"],
        "stress": {"beliefs": [{"key": "economics.loss", "true": [200, 400], "believed": [300]}]},
    }),
)  # fmt: skip

_CROSS_PLAYS = (
    Case("wan2015-cross-play", "cross-play", "wan2015", {
        "release": {"path": "bundled:wan2015-map-records/black-man-19.csv", "format": "csv"},
        "attributes.zip.draw": False,
    }, {"knowledge": "tennessee-voters"}),
    Case("clinic-cross-play", "cross-play", "clinic.toml", {}, {"knowledge": "club.toml", "stages": "attack.toml"}),
    Case("clinic-prices-cross-play", "cross-play", "clinic.toml", {
        "replications": 2, "sweep": {"values": {"economics.loss": [100, 300]}}
    }, {"executor": "serial", "equilibrium": True, "double_oracle": "zero-sum"}),
    Case("clinic-table-cross-play", "cross-play", "clinic-table.toml", {},
         {"knowledge": "club.toml", "stages": "attack.toml"}),
    Case("xia2015-cross-play", "cross-play", "xia2015", {"publisher.solver": "branch-and-bound"}),
    Case("voter-vs-twitter-cross-play", "cross-play", "voter-vs-twitter"),
    Case("prasser2017-cross-play", "cross-play", "prasser2017", {
        "publisher.policies": ["safe-harbor", "basic", "no-attack"]
    }),
    Case("wan2021-cross-play", "cross-play", "wan2021", _FEW_LOCI),
    Case("genealogy-market-cross-play", "cross-play", "genealogy-market", {
        "targets.size": 40, "resources.registry.size": 1300, "resources.genealogy.size": 1300
    }),
)  # fmt: skip

_EXPLAINED = ("wan2015", "xia2015", "prasser2017", "wan2021", "market", "voter-vs-twitter", "sequential-publisher",
              "genealogy-market")  # fmt: skip

CASES = (
    *_RUNS,
    *_AGENTS,
    *_BATCHES,
    *_STRESS,
    *_CROSS_PLAYS,
    *(Case(f"{name}-explain", "explain", name) for name in _EXPLAINED),
)
