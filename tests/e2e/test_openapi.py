"""api/openapi.json can be turned into clients: generators support everything it uses, and derived names do not clash."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GO_GENERATOR = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.4.1"
GO_RUNTIME = "github.com/oapi-codegen/runtime@v1.1.1"

# Compiles only if the generated types say which members can be null.
GO_USE = """package weir

var decision Decision
var outcome RuleOutcome
var (
	_ *Algorithm = decision.Algorithm
	_ *string    = decision.Rule
	_ *int64     = decision.Limit
	_ int64      = decision.Cost
	_ Algorithm  = outcome.Algorithm
	_ *int64     = outcome.Remaining
)
var _ ClientInterface = (*Client)(nil)
"""

# The keywords of a schema in OpenAPI 3.0, without discriminator, xml and externalDocs, which this document does not need.
SCHEMA_KEYWORDS = set(
    "type format title description default example enum nullable deprecated readOnly writeOnly multipleOf minimum maximum "
    "exclusiveMinimum exclusiveMaximum minLength maxLength pattern items minItems maxItems uniqueItems properties required "
    "additionalProperties minProperties maxProperties oneOf anyOf allOf not".split()
)
TYPES = ("string", "integer", "number", "boolean", "object", "array")


def document():
    return json.loads((ROOT / "api" / "openapi.json").read_text())


def all_schemas(node, place=""):
    """Every schema of a document, and where it is."""
    if isinstance(node, list):
        for number, below in enumerate(node):
            yield from all_schemas(below, f"{place}/{number}")
    elif isinstance(node, dict):
        for name, below in node.items():
            if name == "schema":
                yield from nested_schemas(below, f"{place}/schema")
            elif name == "schemas" and place == "/components":
                for called, schema in below.items():
                    yield from nested_schemas(schema, f"{place}/schemas/{called}")
            elif name not in ("example", "examples"):
                yield from all_schemas(below, f"{place}/{name}")


def nested_schemas(schema, place):
    """A schema and those inside it."""
    yield place, schema
    for name, below in schema.get("properties", {}).items():
        yield from nested_schemas(below, f"{place}/properties/{name}")
    for keyword in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(keyword), dict):
            yield from nested_schemas(schema[keyword], f"{place}/{keyword}")
    for keyword in ("oneOf", "anyOf", "allOf"):
        for number, below in enumerate(schema.get(keyword, [])):
            yield from nested_schemas(below, f"{place}/{keyword}/{number}")


def objections(schema):
    """What OpenAPI 3.0 does not have, or what generators read differently, in one schema without those inside it."""
    if "$ref" in schema:
        return ["keywords beside $ref are ignored"] if len(schema) > 1 else []
    why = [f"{name}: not in OpenAPI 3.0" for name in schema if name not in SCHEMA_KEYWORDS and not name.startswith("x-")]
    if "type" in schema and schema["type"] not in TYPES:
        why.append(f"type {schema['type']}: not one of {', '.join(TYPES)}")
    if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
        why.append("an array without items")
    for limit in ("exclusiveMinimum", "exclusiveMaximum"):
        if not isinstance(schema.get(limit, False), bool):
            why.append(f"{limit}: a number only since OpenAPI 3.1")
    for keyword in ("enum", "nullable"):
        if keyword in schema and "type" not in schema:
            why.append(f"{keyword} without type")
    if "enum" in schema and (None in schema["enum"]) != schema.get("nullable", False):
        why.append("null is allowed by only one of enum and nullable")
    return why


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
    found = list(schemas(document()))
    assert len(found) > 10
    assert [(place, clashes(properties)) for place, properties in found if clashes(properties)] == []


def test_no_two_schemas_or_operations_become_the_same_identifier():
    api = document()
    assert not clashes(api["components"]["schemas"])
    operations = [
        one["operationId"] for path in api["paths"].values() for one in path.values() if isinstance(one, dict) and "operationId" in one
    ]
    assert len(operations) > 5
    assert len({identifier(name) for name in operations}) == len(operations)


def test_the_document_is_openapi_3_0_which_client_generators_support():
    api = document()
    assert re.fullmatch(r"3\.0\.\d", api["openapi"])
    assert set(api) <= {"openapi", "info", "servers", "paths", "components", "security", "tags", "externalDocs"}
    assert set(api["info"]) <= {"title", "description", "termsOfService", "contact", "license", "version"}
    assert set(api["info"]["license"]) <= {"name", "url"}
    found = list(all_schemas(api))
    assert len(found) > 100
    assert [(place, why) for place, schema in found for why in objections(schema)] == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["integer", "null"]},
        {"type": "null"},
        {"type": "boolean", "const": False},
        {"type": "object", "propertyNames": {"maxLength": 128}},
        {"type": "integer", "exclusiveMinimum": 0},
        {"type": "string", "examples": ["a"]},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"enum": ["a", "b"]},
        {"type": "string", "enum": ["a", None]},
        {"type": "string", "nullable": True, "enum": ["a"]},
        {"nullable": True, "allOf": [{"$ref": "#/components/schemas/Algorithm"}]},
        {"$ref": "#/components/schemas/Algorithm", "nullable": True},
        {"type": "array"},
        {"oneOf": [{"$ref": "#/components/schemas/Algorithm"}, {"type": "null"}]},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"const": 1}}}},
        {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
    ],
    ids=json.dumps,
)
def test_a_schema_that_generators_refuse_is_found(schema):
    api = {"paths": {"/x": {"get": {"responses": {"200": {"content": {"application/json": {"schema": schema}}}}}}}}
    assert [why for _, one in all_schemas(api) for why in objections(one)]
    assert [why for _, one in all_schemas({"components": {"schemas": {"X": schema}}}) for why in objections(one)]


def test_the_nullable_algorithm_lists_every_algorithm():
    found = document()["components"]["schemas"]
    assert found["NullableAlgorithm"]["enum"] == [*found["Algorithm"]["enum"], None]


def go(folder, *arguments):
    """Runs go without the network: its module cache is the only proxy."""
    cache = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    offline = {"GOPROXY": f"file://{cache}/cache/download,off", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    environment = {**os.environ, **offline, "GOFLAGS": "-mod=mod"}
    return subprocess.run(["go", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture
def go_module(tmp_path):
    """A Go module in which a client can be generated and built; skips where Go or what it needs is not installed."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    (tmp_path / "go.mod").write_text(f"module example.test/weir\n\ngo 1.22\n\nrequire {GO_RUNTIME.replace('@', ' ')}\n")
    (tmp_path / "runtime.go").write_text(f'package weir\n\nimport _ "{GO_RUNTIME.split("@")[0]}"\n')
    for needed, command in {GO_RUNTIME: ["build", "./..."], GO_GENERATOR: ["run", GO_GENERATOR, "-version"]}.items():
        tried = go(tmp_path, *command)
        if tried.returncode:
            pytest.skip(f"{needed} is not in Go's module cache: {tried.stderr.strip()[-300:]}")
    return tmp_path


def test_a_generated_go_client_compiles(go_module):
    document_path = str(ROOT / "api" / "openapi.json")
    options = ["-generate", "types,client", "-package", "weir", "-o", "client.go"]
    generated = go(go_module, "run", GO_GENERATOR, *options, document_path)
    assert generated.returncode == 0, generated.stderr
    (go_module / "use.go").write_text(GO_USE)
    built = go(go_module, "build", "./...")
    assert built.returncode == 0, built.stderr
    assert "<nil>" not in (go_module / "client.go").read_text(), "null became a constant"
