"""Every registered policy declares itself fully.

Cross-play compares it by default.
"""

import pytest

from reidsim.agents.profile import Reply
from reidsim.kinds.masking.policies import POLICIES as MASKING_POLICIES
from reidsim.kinds.tables import schema as tables
from reidsim.kinds.tables.policies import SolvedPolicy
from reidsim.kinds.tables.schema import TablesPolicy, policies_of_unit
from reidsim.releases.perturbation import METHODS
from reidsim.scenarios.kind import find_kind
from reidsim.scenarios.registry import Policy, kinds

CAPABILITIES = {
    tables.SAFE_HARBOR,
    tables.SEVERAL_RELEASES,
    tables.ONE_SENSITIVE_COLUMN,
    tables.ONE_RECORD_PER_PERSON,
    tables.SIZES_AMONG_LEFT,
    tables.LINKS_BY_VALUES,
    tables.SEPARATE_RECORDS,
}
EVERY = [(kind, name) for kind in kinds.names for name in find_kind(kind).policies]
# Policies for several releases, variants of compared policies, policies with a limit or strengths of the scenario.
NOT_COMPARED = {
    "full-domain-no-attack",
    "average-risk",
    "independent",
    "hold-first",
    "m-invariance",
    "one-stage-masking",
    *(f"{method}{end}" for method in METHODS for end in ("", "-no-attack")),
}


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_policy_is_whole(kind, name):
    policy = find_kind(kind).policies[name]
    assert policy.name == name
    assert policy.label
    assert policy.description
    assert not policy.description.endswith(".")
    assert policy.needs <= CAPABILITIES
    assert type(policy).choose is not Policy.choose
    if isinstance(policy, TablesPolicy):
        assert policy.replies in Reply.__args__
        assert (type(policy).pick is SolvedPolicy.pick) == (policy.replies == "planned")


def test_cross_play_compares_every_policy_that_does_not_exclude_itself():
    for kind, played in (
        ("tables", {*policies_of_unit("record"), *policies_of_unit("table")}),
        ("masking", {name for name, policy in MASKING_POLICIES.items() if policy.row is not None}),
    ):
        assert set(find_kind(kind).policies) - played <= NOT_COMPARED
