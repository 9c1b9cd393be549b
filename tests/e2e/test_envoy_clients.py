"""Clients that were not made for Weir: gRPC for Node with Envoy's own proto files, buf by reflection, a parser of
structured fields; and Envoy's configuration read with Envoy's own messages."""

import json
import pathlib
import subprocess

import node_packages
import pytest
import yaml
from rate_limit_fields import FRONT_ENDS, NAMES, from_http
from test_cli import Server

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
RULES = """
version: 1
rules:
  - {id: per-tenant, per: [tenant], algorithm: token-bucket, limit: 3, window: 3650d}
  - {id: every-tenant-much, per: [tenant], algorithm: fixed-window, limit: 1000, window: 3650d}
  - {id: watched, per: [tenant], algorithm: gcra, limit: 1, window: 3650d, mode: shadow}
  - {id: per-address, match: {domain: edge}, per: [remote_address], algorithm: fixed-window, limit: 1, window: 365d}
"""


@pytest.fixture(scope="module")
def modules():
    return node_packages.installed("envoy", {"@grpc/grpc-js": "1.14.7", "@grpc/proto-loader": "0.8.1", "@grpc/grpc-js-xds": "1.14.1"})


@pytest.fixture(scope="module")
def protos(modules):
    return modules / "@grpc" / "grpc-js-xds" / "deps"


@pytest.fixture
def server(tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)
    flags = [word for name in ("http", "admin", "grpc", "spop") for word in (f"--listen-{name}", "127.0.0.1:0")]
    running = Server("--rules", str(tmp_path / "rules.yaml"), *flags, log=tmp_path / "log")
    yield running
    assert running.stop() == 0


def request(domain, *descriptors, **more):
    return {"domain": domain, "descriptors": [{"entries": [{"key": k, "value": v} for k, v in d]} for d in descriptors], **more}


def test_grpc_js_with_envoys_protos_is_answered_as_by_envoys_service(server, modules, protos):
    def ask(*requests):
        address = server.await_event("listening")["grpc"]
        return json.loads(node_packages.run(modules, HERE / "envoy_client.js", address, str(protos), json.dumps(requests)))

    one = request("edge", [("remote_address", "198.51.100.7")])
    first, second = (each["response"] for each in ask(one, one))
    assert first["overall_code"] == "OK" and second["overall_code"] == "OVER_LIMIT"
    status = first["statuses"][0]
    assert status["current_limit"] == {"requests_per_unit": 1, "unit": "YEAR", "name": "per-address"}
    assert status["limit_remaining"] == 0 and int(status["duration_until_reset"]["seconds"]) > 0
    assert [each["key"] for each in second["response_headers_to_add"]] == ["RateLimit-Policy", "RateLimit", "Retry-After"]

    unknown, no_domain, nothing = ask(request("nowhere", [("a", "b")]), request("", [("a", "b")]), request("edge"))
    assert unknown["response"]["overall_code"] == "OK" and len(unknown["response"]["statuses"]) == 1
    assert no_domain == {"code": "INVALID_ARGUMENT", "details": "rate limit domain must not be empty"}
    assert nothing == {"code": "INVALID_ARGUMENT", "details": "rate limit descriptor list must not be empty"}

    own = request("nowhere", [("k", "v")], hits_addend=2)
    own["descriptors"][0]["limit"] = {"requests_per_unit": 3, "unit": "HOUR"}
    codes = [each["response"]["overall_code"] for each in ask(own, own)]
    assert codes == ["OK", "OVER_LIMIT"]
    both = ask(request("edge", [("remote_address", "198.51.100.8")], [("remote_address", "198.51.100.7")]))[0]["response"]
    assert [each["code"] for each in both["statuses"]] == ["OK", "OVER_LIMIT"] and both["overall_code"] == "OVER_LIMIT"


def test_buf_lists_the_services_and_calls_one_by_reflection(server):
    buf = node_packages.installed("buf", {"@bufbuild/buf": "1.50.0"}) / ".bin" / "buf"
    address = "http://" + server.await_event("listening")["grpc"]

    def curl(*words):
        done = subprocess.run([buf, "curl", "--protocol", "grpc", "--http2-prior-knowledge", *words], capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    services = curl("--list-services", address).split()
    assert {"envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health", "weir.v1.Limiter"} <= set(services)
    body = json.dumps({"domain": "edge", "descriptors": [{"entries": [{"key": "remote_address", "value": "203.0.113.1"}]}]})
    method = f"{address}/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
    assert json.loads(curl("-d", body, method))["overallCode"] == "OK"
    assert json.loads(curl("-d", body, method))["overallCode"] == "OVER_LIMIT"


def test_every_front_end_sends_the_same_fields_and_they_are_structured(server):
    modules = node_packages.installed("structured-headers", {"structured-headers": "2.0.2"})

    def parsed(fields):
        lists = json.loads(node_packages.run(modules, HERE / "structured_fields.js", json.dumps([fields["RateLimit"], fields["RateLimit-Policy"]])))
        return {"limits": lists[0], "policies": lists[1], "retry": int(fields.get("Retry-After", 0))}

    def shape(told):
        """All but the seconds, which pass while the test asks."""
        names = [each["name"] for each in told["limits"]]
        return names, [each["r"] for each in told["limits"]], told["policies"], told["retry"] > 0

    def seconds(told):
        return [each.get("t", 0) for each in told["limits"]] + [told["retry"]]

    for spent in (0, 1, 3):  # untouched, partly spent, denied
        tenant = f"spent-{spent}"
        for _ in range(spent):
            assert server.call("/v1/check", {"attributes": {"tenant": tenant}})[0] == 200
        before = parsed(from_http(server, tenant))
        told = {name: parsed(ask(server, tenant)) for name, ask in FRONT_ENDS.items()}
        after = parsed(from_http(server, tenant))

        assert [each["name"] for each in before["policies"]] == ["per-tenant", "every-tenant-much"], "not the shadow rule"
        assert before["policies"][0] == {"name": "per-tenant", "q": 3, "w": 3650 * 86400}
        assert [each["r"] for each in before["limits"]] == [3 - spent, 1000 - spent]
        assert (before["retry"] > 0) == (spent == 3)
        for name, each in told.items():
            assert shape(each) == shape(before), name
            for early, now, late in zip(seconds(before), seconds(each), seconds(after)):
                assert late <= now <= early, name


def test_only_these_fields_are_sent(server):
    assert set(from_http(server, "new")) == set(NAMES) - {"Retry-After"}


def envoy_config():
    return yaml.safe_load((ROOT / "deploy" / "gateways" / "envoy" / "envoy.yaml").read_text())


def test_envoys_configuration_is_made_of_envoys_messages(modules, protos):
    files = ["envoy/config/bootstrap/v3/bootstrap.proto"] + [f"envoy/extensions/{name}.proto" for name in (
        "filters/network/http_connection_manager/v3/http_connection_manager", "filters/http/ratelimit/v3/rate_limit",
        "filters/http/router/v3/router", "upstreams/http/v3/http_protocol_options")]

    def read(config):
        return json.loads(node_packages.run(modules, HERE / "envoy_messages.js", str(protos), "envoy.config.bootstrap.v3.Bootstrap",
                                            json.dumps(config), *files))

    config = envoy_config()
    assert read(config)["checked"] > 80
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    limiter = manager["http_filters"][0]["typed_config"]
    clusters = {each["name"]: each for each in config["static_resources"]["clusters"]}
    assert limiter["@type"].endswith("envoy.extensions.filters.http.ratelimit.v3.RateLimit")
    assert limiter["rate_limit_service"]["grpc_service"]["envoy_grpc"]["cluster_name"] in clusters
    assert manager["http_filters"][-1]["typed_config"]["@type"].endswith("Router"), "the router comes last"
    assert {each["route"]["cluster"] for each in manager["route_config"]["virtual_hosts"][0]["routes"]} <= set(clusters)
    assert clusters["weir"]["health_checks"][0]["grpc_health_check"]["service_name"] == "ratelimit"
    limiter["failure_mode_denies"] = True
    assert "failure_mode_denies: envoy.extensions.filters.http.ratelimit.v3.RateLimit has no such field" in read(config)["error"]


def test_what_the_configuration_asks_is_decided_by_the_rules_of_the_page(tmp_path, modules, protos):
    config = envoy_config()
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    items = manager["route_config"]["virtual_hosts"][0]["rate_limits"]
    client = {":path": "/", ":method": "GET", "x-api-key": "k1"}

    def entry(action):
        if "remote_address" in action:
            return "remote_address", "198.51.100.7"
        return action["request_headers"]["descriptor_key"], client[action["request_headers"]["header_name"]]

    page = (ROOT / "docs" / "envoy.md").read_text()
    rules = page.split("```yaml rules\n")[1].split("```")[0].replace("limit: 100\n", "limit: 2\n")
    (tmp_path / "rules.yaml").write_text(rules)
    running = Server("--rules", str(tmp_path / "rules.yaml"), "--listen-http", "off", "--listen-admin", "off", "--listen-grpc",
                     "127.0.0.1:0", log=tmp_path / "log")
    try:
        asked = request(manager["http_filters"][0]["typed_config"]["domain"], *[[entry(a) for a in item["actions"]] for item in items])
        answers = json.loads(node_packages.run(modules, HERE / "envoy_client.js", running.await_event("listening")["grpc"], str(protos),
                                               json.dumps([asked] * 3)))
        assert [each["response"]["overall_code"] for each in answers] == ["OK", "OK", "OVER_LIMIT"]
        names = [each["current_limit"]["name"] if each["current_limit"] else None for each in answers[2]["response"]["statuses"]]
        assert names == ["per-address", None, "exports-per-key"]
    finally:
        assert running.stop() == 0
