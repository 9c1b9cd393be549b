"""A real Traefik with the files of deploy/gateways/traefik. Run by `make test-gateways`."""

import json
import subprocess

import pytest
from conftest import program, until
from test_gateways import App, Gateway, wait_for


class Traefik(Gateway):
    def __init__(self, folder):
        super().__init__("traefik", folder)

    def start(self, change=lambda text: text):
        self.configuration("dynamic.yml", change)
        # Relative to where Traefik runs, as in docs/traefik.md.
        self.configuration("traefik.yml", lambda text: text)
        with open(self.folder / "gateway.log", "w") as log:
            self.process = subprocess.Popen([program("traefik"), "--configFile=traefik.yml"], cwd=self.folder, stdout=log, stderr=log)
        wait_for(self.ports["gateway"])
        # Traefik listens before it has read its routes.
        until(lambda: self.ask("/no-rule-applies")[0] != 404)
        App.seen.clear()


@pytest.fixture
def traefik(tmp_path):
    program("traefik")
    made = Traefik(tmp_path)
    yield made
    made.stop()


def test_allowed_requests_reach_the_application_and_denied_ones_do_not(traefik):
    traefik.start_weir()
    traefik.start()
    for left in (1, 0):
        status, fields, body = traefik.ask("/items?x=1", X_Api_Key="alice")
        assert (status, body) == (200, b"ok")
        assert "ratelimit" not in fields, "Traefik shows an allowed request's fields to the application only"
        assert App.seen[-1][3]["Ratelimit"].startswith(f'"per-key";r={left}')
    status, fields, body = traefik.ask("/items?x=1", X_Api_Key="alice")
    assert status == 429
    assert int(fields["retry-after"]) >= 1
    assert fields["ratelimit"].startswith('"per-key";r=0;t=')
    assert fields["content-type"] == "application/problem+json"
    assert json.loads(body)["type"].endswith("#quota-exceeded")
    assert len(App.seen) == 2


def test_the_address_and_the_request_are_those_that_traefik_saw(traefik):
    traefik.start_weir()
    traefik.start()
    assert traefik.ask("/by-ip")[0] == 200
    for lie in ({"X_Forwarded_For": "203.0.113.1"}, {"X_Real_IP": "203.0.113.2"}, {"X_Forwarded_Uri": "/cheap"},
                {"X_Forwarded_Method": "PUT"}):
        assert traefik.ask("/by-ip", **lie)[0] == 429, lie


def test_methods_bodies_and_hosts_come_through(traefik):
    traefik.start_weir()
    traefik.start()
    form = dict(method="POST", Host=f"Shop.Example:{traefik.ports['gateway']}")
    assert traefik.ask("/form", body=b"x" * 300_000, **form)[0] == 200
    assert [(seen[0], len(seen[2])) for seen in App.seen] == [("POST", 300_000)]
    assert traefik.ask("/form", body=b"x", **form)[0] == 429


def test_keys_that_are_not_accepted_are_refused(traefik, tmp_path):
    (tmp_path / "revoked").write_text("sk_leaked\n")
    traefik.start_weir("--identity-revoked-keys-file", str(tmp_path / "revoked"))
    traefik.start()
    assert traefik.ask("/x", X_Api_Key="sk_leaked")[0] == 401
    assert App.seen == []


def test_without_weir_requests_are_refused(traefik):
    traefik.start()
    assert traefik.ask("/a", X_Api_Key="alice")[0] == 500
    assert App.seen == []


def test_a_clients_own_tenant_is_not_passed_to_weir(traefik, tmp_path):
    (tmp_path / "weir.yaml").write_text('identity: {attributes: {api_key: "gateway:x-tenant"}}\n')
    traefik.start_weir("--config", str(tmp_path / "weir.yaml"))
    traefik.start()
    assert [traefik.ask("/x", X_Tenant="victim")[0] for _ in range(4)] == [200] * 4, "per-key admits two per tenant"
