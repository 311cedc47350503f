"""The schema of masking scenarios: defaults, and rules on sections."""

import pytest
from every_key import edited

from reidsim.core.errors import InputError
from reidsim.core.validation import validated
from reidsim.kinds.masking.schema import MaskingScenario

SMALLEST = {
    "game": "masking",
    "population": {"recipe": "ystr-genealogy-small"},
    "targets": {"size": 5},
    "resources": {"registry": {"size": 50, "attributes": ["age", "state"]}},
    "economics": {"benefit": 2, "loss": 1, "cost": 0},
    "adversary": {"stages": [{"stage": "identify", "resource": "registry", "on": ["age"]}]},
    "subjects": {"attributes": ["age", "state"]},
}
FROM_FILES = {
    **SMALLEST,
    "population": None,
    "targets": {"file": "targets.csv"},
    "resources": {"registry": {"file": "registry.csv", "attributes": ["age", "state"]}},
}


def scenario(content=SMALLEST, **changes):
    return validated(MaskingScenario, edited(content, **changes), "any.toml")


# Rules.


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"adversary__confidence_threshold": 1.5}, r"adversary\.confidence_threshold: value not allowed; found 1\.5"),
        ({"targets": {}}, "targets: the people of the table are missing or given twice; expected either size or file"),
        ({"targets__file": "x.csv"}, "targets: the people of the table are missing or given twice"),
        ({"population": None}, "population: section missing; expected a population, from which 'targets' is drawn"),
        (
            {"resources__registry": {"file": "r.csv", "attributes": ["age"]}},
            r"some tables are drawn and others are files; found \['targets'\]",
        ),
        ({"resources__targets": {"size": 2, "attributes": ["age"]}}, r"resources\.targets: resource name reserved"),
        ({"resources__registry__attributes": ["age", "age"]}, "attributes: attribute given twice; found 'age'"),
        (
            {"adversary__stages": [{"stage": "identify", "resource": "registri"}]},
            r"adversary\.stages\[0\]\.resource: no such resource; found 'registri'; .* \(did you mean 'registry'\?\)",
        ),
        ({"adversary__stages": []}, r"adversary: the attack is missing; expected either stages or knowledge"),
        (
            {"adversary__knowledge": "twitter"},
            r"adversary: the attack is given twice.* set adversary\.stages=\[\]",
        ),
        ({"subjects__minority_support": float("-inf")}, r"subjects\.minority_support: .*found -inf"),
        (
            {"adversary": {"knowledge": "twitter"}},
            r"adversary\.resource: key missing; expected the resource in which",
        ),
        (
            {"adversary": {"knowledge": "twitter", "resource": "registri"}},
            r"adversary\.resource: no such resource; found 'registri'; .* \(did you mean 'registry'\?\)",
        ),
        (
            {"adversary": {"knowledge": "twitter", "resource": "registry"}, "subjects__attributes": ["DYS19"]},
            r"adversary\.resource: the resource contains no attribute that subjects can share; found 'registry'",
        ),
        (
            {
                "adversary": {"knowledge": "twitter", "resource": "registry"},
                "resources__registry__missing_alleles": 0.1,
            },
            r"resources\.registry\.missing_alleles: the resource of the attack has missing alleles; found 0\.1",
        ),
        (
            {"adversary__stages": [{"stage": "guess"}]},
            r"adversary\.stages\[0\]\.stage: value not allowed; found 'guess'",
        ),
        ({"subjects__attributes": ["age", "age"]}, r"subjects\.attributes: attribute given twice; found 'age'"),
        (
            {"subjects__attributes": ["age", "policy"]},
            "attributes: attribute name reserved for a column of the results; found 'policy'",
        ),
        ({"subjects__policies": ["masking", "masking"]}, "policies: policy given twice; found 'masking'"),
        ({"subjects__policies": ["maskin"]}, r"subjects\.policies\[0\]: value not allowed; .*did you mean 'masking'"),
        ({"subjects__always_shared": ["state"]}, r"always_shared: .* are not first .*; found \['state'\]"),
        (
            {"subjects__always_shared": ["age"], "subjects__policies": ["k-anonymity"]},
            "always_shared: policy k-anonymity can suppress every attribute",
        ),
        (
            {"subjects__always_shared": ["age"], "subjects__generalize": {"age": {"widths": [10], "kept": [0.5]}}},
            r"generalize\.age: the attribute is always shared",
        ),
        ({"subjects__generalize": {"zip": {"widths": [10], "kept": [0.5]}}}, r"generalize: not an attribute"),
        ({"subjects__generalize": {"age": {"widths": [10], "kept": [0.5, 0.2]}}}, "the levels are incomplete"),
        ({"subjects__generalize": {"age": {"kept": [0.5]}}}, "the levels are incomplete; found '0 widths, 0"),
        ({"figures__path": 1}, r"figures\.path: unknown key"),
        ({"kept": {"age": {"share": True}}}, r"kept\.age: the column is a quasi-identifier; found 'age'"),
    ],
    ids=str,
)
def test_what_a_scenario_cannot_say(changes, says):
    with pytest.raises(InputError, match=says) as error:
        scenario(**changes)
    assert str(error.value).startswith("any.toml: ")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"replications": 2}, "replications: all replications of files are equal; found 2; expected 1"),
        ({"targets": {"size": 3}}, r"some tables are drawn and others are files; found \['targets'\]"),
        (
            {"resources__registry__missing_alleles": 0.3},
            "missing_alleles: missing_alleles is not supported with a file; found 0.3",
        ),
    ],
    ids=str,
)
def test_what_a_scenario_of_files_cannot_say(changes, says):
    with pytest.raises(InputError, match=says):
        scenario(FROM_FILES, **changes)
