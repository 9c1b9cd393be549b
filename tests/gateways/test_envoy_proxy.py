"""A real Envoy with the very file of deploy/gateways/envoy. Run by `make test-gateways`."""

import pathlib
import subprocess

import pytest
from conftest import ROOT, program, until
from test_cli import Server
from test_gateways import App, Gateway, wait_for

RULES = """
version: 1
rules:
  - {id: per-key, match: {domain: edge}, per: [api_key], algorithm: fixed-window, limit: 2, window: 3650d}
  - {id: exports, match: {domain: edge, path: "/export*", method: POST}, algorithm: fixed-window, limit: 1, window: 3650d}
"""


class Envoy(Gateway):
    def __init__(self, folder):
        super().__init__("envoy", folder)

    def start(self, change=lambda text: text):
        ports = {10000: "gateway", 8081: "weir", 8000: "app"}

        def moved(text):
            for known, name in ports.items():
                text = text.replace(f"port_value: {known}}}", f"port_value: {self.ports[name]}}}")
            # Sooner than an operator would want it: the tests wait for Envoy to notice.
            return change(text).replace("interval: 5s", "interval: 0.2s").replace("0.020s", "5s")

        file = self.configuration("envoy.yaml", moved)
        with open(self.folder / "gateway.log", "w") as log:
            self.process = subprocess.Popen(
                [program("envoy"), "-c", file, "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warn"],
                stdout=log, stderr=log)
        wait_for(self.ports["gateway"])

    def start_weir(self, *flags):
        rules = self.folder / "rules.yaml"
        rules.write_text(RULES)
        self.weir = Server("--listen-grpc", f"127.0.0.1:{self.ports['weir']}", "--listen-http", "127.0.0.1:0", "--listen-admin",
                           "off", *(flags or ("--rules", str(rules))), log=self.folder / "weir.log")


@pytest.fixture
def envoy(tmp_path):
    program("envoy")
    made = Envoy(tmp_path)
    yield made
    made.stop()


def test_allowed_requests_reach_the_backend_and_denied_ones_do_not(envoy):
    envoy.start_weir()
    envoy.start()
    for left in (1, 0):
        status, fields, body = envoy.ask("/items", X_Api_Key="alice")
        assert (status, body) == (200, b"ok")
        assert fields["ratelimit-policy"] == '"per-key";q=2;w=315360000'
        assert fields["ratelimit"].startswith(f'"per-key";r={left}')
    status, fields, _ = envoy.ask("/items", X_Api_Key="alice")
    assert status == 429
    assert int(fields["retry-after"]) >= 1
    assert fields["ratelimit"].startswith('"per-key";r=0')
    assert len(App.seen) == 2
    assert envoy.ask("/items", X_Api_Key="bob")[0] == 200


def test_descriptors_of_several_entries_are_one_request(envoy):
    envoy.start_weir()
    envoy.start()
    assert [envoy.ask("/export/7", method="POST", body=b"x")[0] for _ in range(2)] == [200, 429]
    assert envoy.ask("/export/7")[0] == 200


def test_many_requests_share_connections_and_are_counted_one_by_one(envoy):
    envoy.start_weir()
    (envoy.folder / "rules.yaml").write_text(RULES.replace("limit: 2", "limit: 700"))
    envoy.weir.await_event("rules_loaded", 2)
    envoy.start()
    statuses = [envoy.ask("/items", X_Api_Key="carol")[0] for _ in range(800)]
    assert statuses.count(200) == 700 and statuses.count(429) == 100


def test_without_weir_requests_go_through_and_are_counted_again_when_it_is_back(envoy):
    envoy.start_weir()
    envoy.start()
    assert "ratelimit" in envoy.ask("/a", X_Api_Key="alice")[1]
    envoy.weir.stop()
    for _ in range(5):
        status, fields, _ = envoy.ask("/a", X_Api_Key="alice")
        assert status == 200 and "ratelimit" not in fields
    envoy.start_weir()
    until(lambda: "ratelimit" in envoy.ask("/a", X_Api_Key="bob")[1])


def test_without_weir_the_variant_that_fails_closed_refuses(envoy):
    envoy.start(lambda text: text.replace("failure_mode_deny: false", "failure_mode_deny: true"))
    assert envoy.ask("/a", X_Api_Key="alice")[0] == 500
    assert App.seen == []


def test_rule_files_of_envoyproxy_ratelimit_are_served_to_the_envoy_that_had_them(envoy):
    folder = envoy.folder / "config"
    folder.mkdir()
    (folder / "edge.yaml").write_text("""
domain: edge
descriptors:
  - key: api_key
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: path
    value: /hidden
    descriptors:
      - key: method
        value: GET
        rate_limit: {unit: year, requests_per_unit: 1}
""")
    envoy.start_weir("--rules", str(folder), "--rules-format", "envoy")
    envoy.start()
    assert [envoy.ask("/x", X_Api_Key="alice")[0] for _ in range(3)] == [200, 200, 429]
    assert [envoy.ask("/hidden")[0] for _ in range(2)] == [200, 429]
    assert envoy.ask("/hidden", method="POST", body=b"x")[0] == 200


def test_the_file_is_the_one_in_the_documentation():
    assert "deploy/gateways/envoy/envoy.yaml" in pathlib.Path(ROOT / "docs" / "envoy.md").read_text()
