"""Scenarios that named their adversaries as types of agents: rewritten, they give what they gave before."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from staged_clinic import FILES as CLINIC

import reidsim
from reidsim.errors import InputError
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.upgrade import write_upgraded

TOWN = Path(__file__).parent / "town" / "town.toml"
SCENARIOS = {
    "tables": f"""extends = {str(TOWN)!r}
[resources.list]
attributes = ["age", "district"]
coverage = 0.6
[resources.file]
price = 5
coverage = 0.8

[adversary] # what types do not say
risk = "prosecutor"
rationality = "logit"
precision = 0.2
rate = 0.9
sequential = {{ access_cost = 2, penalty = 30, prior = 0.9 }}

[publisher]
policies = ["basic", "no-protection"]

[agents]
rounds = 3
together = "all"

[agents.types.plain] # as the adversary
weight = 0.5
[agents.types.clerk]
weight = 0.4
gain = 200
holds = ["list"]
[agents.types.buyer]
buys = ["file"]
budget = 40
accuracy = 0.8
expected_accuracy = 0.9
[agents.types.patient]
weight = 0.3
planner = "fmdp"
cost = 20
[agents.types.lucky]
weight = 0.2
planner = "random"
[agents.types.sure]
weight = 0.25
rationality = "perfect"
[agents.types.idle]
weight = 0.0

[agents.enforcement]
detection = 0.1
fine = 20
exclusion = 1
[agents.learning]
noticed = 0.5
""",
    "drawn": f"""extends = {str(TOWN)!r}
[publisher]
policies = ["basic", "no-protection"]
[agents]
rounds = 2
mode = "sampling"
draws = 3
types.lucky = {{ weight = 0.5, planner = "random", rate = 0.3 }}
types.keen.weight = 0.5
types.keen.gain = 80
""",
    "staged": """extends = "clinic.toml"
[adversary]
stages = "attack.toml"
rationality = "prospect"
[agents.types.plain]
weight = 0.5
[agents.types.gossip]
weight = 0.25
knowledge = "club.toml"
planner = "one-shot"
[agents.types.zealot]
weight = 0.25
planner = "always"
""",
    "masking": """extends = "wan2021"
replications = 1
[population]
recipe = "ystr-genealogy-small"
[targets]
size = 40
[resources.registry]
size = 600
[resources.genealogy]
size = 600
price = 30
[adversary]
confidence_threshold = 0.6
[subjects]
attributes = ["age", "state", "DYS19", "DYS385", "DYS390"]
policies = ["no-protection", "masking"]
[agents]
rounds = 2
together = "all"
[agents.types.kin]
weight = 0.4
gain = 60
[agents.types.plain]
weight = 0.4
planner = "one-shot"
holds = ["registry"]
[agents.types.broker]
weight = 0.6
holds = ["registry"]
buys = ["genealogy"]
budget = 100
[agents.types.patient]
weight = 0.5
planner = "fmdp"
""",
}
MEANS = ["publisher_payoff", "adversary_payoff", "share_attacked", "risk"]
