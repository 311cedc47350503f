"""The scenario schema: defaults, rules between sections, and the JSON Schema."""

import tomllib
from pathlib import Path

import pytest
from every_key import edited
from found import at_least

from reidsim.core.errors import InputError
from reidsim.core.files import bundled_folder, bundled_names, read_toml
from reidsim.core.validation import validated
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.scenarios.kind import schemas
from reidsim.scenarios.scenario import extended

SCHEMA = TablesScenario.model_json_schema(by_alias=True)
TOWN = tomllib.loads((Path(__file__).parent / "town" / "town.toml").read_text(encoding="utf-8"))
SMALLEST = {
    "release": {"path": "records.csv"},
    "attributes": {"age": {"hierarchy": {"rule": "suppress"}}},
    "economics": {"benefit": 2, "loss": 1, "cost": 0},
    "adversary": {"risk": "prosecutor"},
}


def scenario(content=SMALLEST, **changes):
    return validated(TablesScenario, edited(content, **changes), "any.toml")


# Defaults that the scenario files omit.


@pytest.mark.parametrize(
    ("rule", "suppressed"),
    [
        ({"rule": "intervals", "widths": [5]}, True),
        ({"rule": "prefix", "digits": [3]}, True),
        ({"rule": "groups", "groups": [[["a", "b"]]]}, True),
        ({"rule": "table", "file": "h.csv"}, False),
    ],
)
def test_rules_end_with_suppression_and_files_with_their_own_last_level(rule, suppressed):
    assert scenario(attributes__age__hierarchy=rule).attributes["age"].hierarchy.suppress is suppressed


@pytest.mark.parametrize(("gain", "adversary_gain"), [(None, 300), (0, 0), (12.5, 12.5)])
def test_the_adversary_gains_what_the_publisher_loses_unless_said_otherwise(gain, adversary_gain):
    changes = {} if gain is None else {"economics__gain": gain}
    assert scenario(economics__loss=300, **changes).economics.adversary_gain == adversary_gain


# The JSON Schema.


def schema_accepts(content, schema=SCHEMA):
    return pytest.importorskip("jsonschema").Draft202012Validator(schema).is_valid(content)


def test_the_schema_is_a_json_schema():
    pytest.importorskip("jsonschema").Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_has_the_sections_of_a_scenario_and_no_others():
    assert schema_accepts(TOWN)
    assert schema_accepts(SMALLEST)
    assert set(SCHEMA["properties"]) == set(TablesScenario.model_fields)
    assert set(SCHEMA["required"]) == {"release", "attributes", "economics"}
    assert SCHEMA["additionalProperties"] is False


def test_every_section_of_the_schema_is_described_and_closed():
    for section in at_least(42, SCHEMA["$defs"].values()):
        # Some sections may also be written as a plain list.
        described = section.get("anyOf", [section])[0]
        assert described["description"].endswith(".")
        assert described["additionalProperties"] is False


@pytest.mark.deep
def test_the_schema_accepts_every_bundled_scenario():
    for name in at_least(22, bundled_names("scenarios")):
        path = bundled_folder("scenarios") / f"{name}.toml"
        content = extended(read_toml(path), path)
        model = schemas()[content.get("game", "tables")]
        assert schema_accepts(content, model.model_json_schema(by_alias=True)), name


@pytest.mark.parametrize(
    "changes",
    [
        {"economics__benefitt": 3},
        {"weather": {}},
        {"economics__cost": None},
        {"economics__cost": "ten"},
        {"economics__cost": -1},
        {"seed": -1},
        {"attributes": {}},
        {"attributes__age__hierarchy": None},
        {"attributes__age__hierarchy": "suppress"},
        {"attributes__age__hierarchy": {"rule": "supress"}},
        {"attributes__age__hierarchy": {"rule": "suppress", "levels": 2}},
        {"attributes__age__hierarchy": {"rule": "intervals"}},
        {"attributes__age__hierarchy": {"rule": "intervals", "widths": [1]}},
        {"attributes__age__hierarchy": {"rule": "prefix", "digits": "3"}},
        {"attributes__age__hierarchy": {"rule": "table"}},
        {"attributes__age__values": {"m": 1}},
        {"publisher__policies": []},
        {"publisher__policies": ["basics"]},
        {"adversary__planner": "two-shot"},
        {"release__delimiter": ";;"},
        {"release__format": "excel"},
        {"population__recipe": "adult", "population__counts": "some"},
        {"safe_harbor__zip3_population": "us-2020"},
        {"figures__strategies": {"age": 30}},
    ],
    ids=str,
)
def test_the_schema_refuses_what_loading_refuses(changes):
    content = edited(SMALLEST, **changes)
    assert not schema_accepts(content)
    with pytest.raises(InputError):
        validated(TablesScenario, content, "any.toml")
