"""The scenario schema: defaults, rules between sections, and the JSON Schema."""

import copy
import json
import re
import tomllib
from pathlib import Path

import pytest
from found import at_least
from pydantic import ValidationError

from reidsim.bundled import bundled_folder, bundled_names
from reidsim.errors import InputError
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.scenarios.load import scenario_content
from reidsim.scenarios.registry import schemas
from reidsim.validation import validated

SCHEMA = TablesScenario.model_json_schema(by_alias=True)
TOWN = tomllib.loads((Path(__file__).parent / "town" / "town.toml").read_text(encoding="utf-8"))
BUNDLED = {
    name: scenario_content(bundled_folder("scenarios") / f"{name}.toml")
    for name in at_least(22, bundled_names("scenarios"))
}
SMALLEST = {
    "release": {"path": "records.csv"},
    "attributes": {"age": {"hierarchy": {"rule": "suppress"}}},
    "economics": {"benefit": 2, "loss": 1, "cost": 0},
    "adversary": {"risk": "prosecutor"},
}


def changed(content, **changes):
    """Return content with values replaced by key path (``__`` for the dot).

    The value None removes a key.
    """
    content = copy.deepcopy(content)
    for path, value in changes.items():
        *sections, last = path.split("__")
        table = content
        for section in sections:
            table = table.setdefault(section, {})
        if value is None:
            del table[last]
        else:
            table[last] = value
    return content


def scenario(content=SMALLEST, **changes):
    return validated(TablesScenario, changed(content, **changes), "any.toml")


# Defaults that the scenario files omit.


def test_what_a_scenario_leaves_out_has_a_default():
    least = scenario()
    assert (least.title, least.source, least.seed) == ("", "", 0)
    assert least.population is None
    assert least.safe_harbor is None
    assert least.publisher.policies == ("basic", "no-attack")
    assert least.publisher.solver == "backward-induction"
    assert least.adversary.planner == "one-shot"
    assert least.release.format == "csv"
    assert least.release.delimiter == ","
    assert scenario(adversary=None, population__recipe="adult").adversary.risk == "journalist"
    attribute = least.attributes["age"]
    assert (attribute.column, attribute.values, attribute.draw, attribute.in_loss) == (None, {}, False, True)
    assert least.figures.model_dump(exclude_none=True) == {}
    assert least.beliefs.model_dump(exclude_none=True) == {"lists": "members"}


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


def test_a_hierarchy_file_is_delimited_as_arx_writes_it():
    assert (
        scenario(attributes__age__hierarchy={"rule": "table", "file": "h"}).attributes["age"].hierarchy.delimiter == ";"
    )


@pytest.mark.parametrize(("gain", "adversary_gain"), [(None, 300), (0, 0), (12.5, 12.5)])
def test_the_adversary_gains_what_the_publisher_loses_unless_said_otherwise(gain, adversary_gain):
    changes = {} if gain is None else {"economics__gain": gain}
    assert scenario(economics__loss=300, **changes).economics.adversary_gain == adversary_gain


def test_a_scenario_keeps_the_order_of_its_attributes():
    rule = {"hierarchy": {"rule": "suppress"}}
    assert list(scenario(attributes={"z": rule, "a": rule, "m": rule}).attributes) == ["z", "a", "m"]


def test_a_scenario_never_changes():
    fixed = scenario()
    with pytest.raises(ValidationError, match="frozen"):
        fixed.seed = 1
    with pytest.raises(ValidationError, match="frozen"):
        fixed.economics.loss = 1


# Rules between sections.


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"adversary": None}, "population: section missing; .* journalist risk"),
        ({"attributes__age__draw": True}, "population: section missing; .* 'age' is drawn"),
        ({"publisher__policies": ["safe-harbor"]}, "safe_harbor: policy 'safe-harbor' needs"),
        ({"publisher__policies": ["no-attack", "sh-friendly"]}, "safe_harbor: policy 'sh-friendly' needs"),
        ({"safe_harbor__age": "years"}, r"safe_harbor\.age: no such attribute; found 'years'; expected one of age"),
        ({"safe_harbor__zip": "zip"}, r"safe_harbor\.zip: no such attribute; found 'zip'; expected one of age"),
        ({"publisher__solver": "lattice-search"}, r"publisher\.solver: lattice-search cannot.* found 'no-attack'"),
        ({"publisher__policies": ["basic", "basic"]}, r"publisher\.policies: listed twice; found 'basic'"),
        ({"release__path": None}, "release: no records"),
    ],
)
def test_sections_that_do_not_fit_each_other_are_refused(changes, says):
    with pytest.raises(InputError, match=says):
        scenario(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"publisher__policies": ["safe-harbor", "sh-friendly"], "safe_harbor__age": "age"},
        {"publisher__policies": ["safe-harbor"], "safe_harbor": {}},
        {"publisher__policies": ["basic", "no-protection", "suppress-all"], "publisher__solver": "lattice-search"},
        {"publisher__solver": "branch-and-bound"},
        {"economics__benefit": 0, "economics__loss": 0},
        {"release__path": None, "release__table": "adult"},
    ],
)
def test_sections_that_fit_each_other_are_kept_as_written(changes):
    written = changed(SMALLEST, **changes)
    kept = validated(TablesScenario, written, "any.toml").model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert kept == written


# The JSON Schema.


def violations(value, schema, definitions, at="scenario"):
    """Yield the violations of a schema by a value.

    Supports the part of JSON Schema that scenarios use.
    """
    if "$ref" in schema:
        schema = {**schema, **definitions[schema["$ref"].removeprefix("#/$defs/")]}
    for choice in ("anyOf", "oneOf"):
        if choice in schema and all(list(violations(value, option, definitions, at)) for option in schema[choice]):
            yield f"{at} is none of its kinds"
    kinds = {
        "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
        "number": (int, float),
    }  # fmt: skip
    if "type" in schema:
        is_other_number = isinstance(value, bool) and schema["type"] != "boolean"
        if is_other_number or not isinstance(value, kinds[schema["type"]]):
            yield f"{at} is not of type {schema['type']}"
            return
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{at} is not an allowed value"
    if isinstance(value, (int, float)):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{at} is out of bounds"
    elif isinstance(value, dict):
        yield from (f"{at} lacks {key}" for key in schema.get("required", []) if key not in value)
        more = schema.get("additionalProperties", True)
        if len(value) < schema.get("minProperties", 0):
            yield f"{at} is too small"
        for key, inner in value.items():
            if key in schema.get("properties", {}):
                yield from violations(inner, schema["properties"][key], definitions, f"{at}.{key}")
            elif isinstance(more, dict):
                yield from violations(inner, more, definitions, f"{at}.{key}")
            elif not more:
                yield f"{at}.{key} is unknown"
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{at} has a wrong number of items"
        for number, inner in enumerate(value):
            yield from violations(inner, schema.get("items", {}), definitions, f"{at}.{number}")
    elif isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{at} has a wrong length"
        if not re.search(schema.get("pattern", ""), value):
            yield f"{at} has another form"


def schema_accepts(content, schema=SCHEMA):
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        return not list(violations(content, schema, schema["$defs"]))
    return Draft202012Validator(schema).is_valid(content)


def every_schema_in(part):
    """Yield a schema and all schemas nested in it."""
    if isinstance(part, dict):
        yield part
        for inner in part.values():
            yield from every_schema_in(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from every_schema_in(inner)


def test_the_schema_is_a_json_schema():
    json.dumps(SCHEMA, allow_nan=False)
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        for part in every_schema_in(SCHEMA):
            if isinstance(part.get("$ref"), str):
                assert part["$ref"].removeprefix("#/$defs/") in SCHEMA["$defs"]
            if isinstance(part.get("type"), str):
                assert part["type"] in {"object", "array", "string", "boolean", "null", "integer", "number"}
            if isinstance(part.get("required"), list):
                assert set(part["required"]) <= set(part["properties"])
    else:
        Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_has_the_sections_of_a_scenario_and_no_others():
    assert set(SCHEMA["properties"]) == set(TablesScenario.model_fields)
    assert set(SCHEMA["required"]) == {"release", "attributes", "economics"}
    assert SCHEMA["additionalProperties"] is False


def test_the_schema_names_keys_as_files_write_them():
    section, _ = SCHEMA["$defs"]["SweepValues"]["anyOf"]
    assert set(section["properties"]) == {"from", "to", "points", "scale", "values"}


@pytest.mark.parametrize("section", at_least(42, sorted(SCHEMA["$defs"])))
def test_every_section_of_the_schema_is_described_and_closed(section):
    described = SCHEMA["$defs"][section]
    # Some sections may also be written as a plain list.
    described = described.get("anyOf", [described])[0]
    assert described["description"].endswith(".")
    assert described["additionalProperties"] is False


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_the_schema_accepts_every_bundled_scenario(name):
    model = schemas()[BUNDLED[name].get("game", "tables")]
    assert schema_accepts(BUNDLED[name], model.model_json_schema(by_alias=True))


def test_the_schema_accepts_what_is_valid():
    assert schema_accepts(TOWN)
    assert schema_accepts(SMALLEST)


@pytest.mark.parametrize(
    "changes",
    [
        {"economics__benefitt": 3},
        {"weather": {}},
        {"economics__cost": None},
        {"economics": None},
        {"economics__cost": "ten"},
        {"economics__cost": True},
        {"economics__cost": -1},
        {"beliefs__loss": -1},
        {"seed": -1},
        {"seed": 1.5},
        {"title": 3},
        {"attributes": {}},
        {"attributes__age": 3},
        {"attributes__age__hierarchy": None},
        {"attributes__age__hierarchy": {}},
        {"attributes__age__hierarchy": "suppress"},
        {"attributes__age__hierarchy": {"rule": "supress"}},
        {"attributes__age__hierarchy": {"rule": "suppress", "levels": 2}},
        {"attributes__age__hierarchy": {"rule": "intervals"}},
        {"attributes__age__hierarchy": {"rule": "intervals", "widths": []}},
        {"attributes__age__hierarchy": {"rule": "intervals", "widths": [1]}},
        {"attributes__age__hierarchy": {"rule": "intervals", "widths": [2.5]}},
        {"attributes__age__hierarchy": {"rule": "prefix", "digits": "3"}},
        {"attributes__age__hierarchy": {"rule": "table"}},
        {"attributes__age__values": {"m": 1}},
        {"publisher__policies": []},
        {"publisher__policies": ["basics"]},
        {"publisher__policies": "basic"},
        {"publisher__solver": "backward"},
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
    content = changed(SMALLEST, **changes)
    assert not schema_accepts(content)
    with pytest.raises(InputError):
        validated(TablesScenario, content, "any.toml")
