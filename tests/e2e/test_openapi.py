"""api/openapi.json can be turned into clients: names that generators derive from it do not clash."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def schemas(node, place=""):
    """Every object with properties, and where it is."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield place, node["properties"]
        for name, below in node.items():
            yield from schemas(below, f"{place}/{name}")
    elif isinstance(node, list):
        for number, below in enumerate(node):
            yield from schemas(below, f"{place}/{number}")


def identifier(name):
    """What Go and Java generators make of a name: words joined, case ignored."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def clashes(properties):
    seen = {}
    for name in properties:
        seen.setdefault(identifier(name), []).append(name)
    return [names for names in seen.values() if len(names) > 1]


def test_no_two_properties_become_the_same_identifier():
    assert clashes({"hitsAddend": {}, "hits_addend": {}}), "the test finds what it looks for"
    found = list(schemas(json.loads((ROOT / "api" / "openapi.json").read_text())))
    assert len(found) > 10
    assert [(place, clashes(properties)) for place, properties in found if clashes(properties)] == []


def test_no_two_schemas_or_operations_become_the_same_identifier():
    api = json.loads((ROOT / "api" / "openapi.json").read_text())
    assert not clashes(api["components"]["schemas"])
    operations = [
        one["operationId"] for path in api["paths"].values() for one in path.values() if isinstance(one, dict) and "operationId" in one
    ]
    assert len(operations) > 5
    assert len({identifier(name) for name in operations}) == len(operations)
