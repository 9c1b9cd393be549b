"""A client cannot choose who is counted by sending the headers that Weir trusts from a gateway."""

import http.client
import re

import pytest
from test_cli import Server
from test_gateways import GATEWAYS, App, Gateway
from test_haproxy_identity import serve  # noqa: F401 (a fixture)

WINDOW = "algorithm: fixed-window, limit: 3, window: 3650d"
RULES = f"""
version: 1
rules:
  - {{id: per-address, per: [ip], {WINDOW}}}
  - {{id: per-tenant, per: [tenant], algorithm: fixed-window, limit: 1, window: 3650d, plans: {{pro: {{limit: 2}}}}}}
"""
# Each header from which Weir would learn the caller, the request or its time, with a value that a client might try.
FORGED = {
    "X-Tenant": "victim", "X-Plan": "pro", "X-User": "victim", "X-Service-Account": "victim", "X-Request-Start": "1",
    "X-Forwarded-For": "203.0.113.1", "X-Real-IP": "203.0.113.2", "Forwarded": "for=203.0.113.3",
    "Connection": "close, X-Forwarded-For, X-Tenant, X-Forwarded-Uri",
}
IDENTITY = """identity:
  attributes: {api_key: "header:x-api-key", tenant: "gateway:x-tenant", plan: "gateway:x-plan", user: "gateway:x-user", service: "gateway:x-service-account"}
"""


def trusted_headers():
    """The headers that deploy/gateways/weir.yaml and the default settings trust from a gateway."""
    found = re.findall(r"gateway:([\w-]+)", (GATEWAYS / "weir.yaml").read_text())
    assert {"x-tenant", "x-plan"} <= set(found)
    return {*found, "x-request-start", "x-original-method", "x-original-uri", "x-original-url", "forwarded"}


@pytest.fixture(params=["nginx", "caddy"])
def gateway(request, tmp_path):
    made = Gateway(request.param, tmp_path)
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "weir.yaml").write_text("rules: rules.yaml\n" + IDENTITY)
    made.weir = Server("--config", str(tmp_path / "weir.yaml"), "--listen-http", f"127.0.0.1:{made.ports['weir']}",
                       "--listen-admin", "off", log=tmp_path / "log")
    made.start()
    yield made
    made.stop()


def ask(gateway, headers):
    connection = http.client.HTTPConnection("127.0.0.1", gateway.ports["gateway"], timeout=10, source_address=("127.0.0.2", 0))
    connection.request("GET", "/", headers=headers)
    response = connection.getresponse()
    answer = response.status, response.getheader("RateLimit-Policy", "")
    response.read()
    connection.close()
    return answer


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_header_does_not_change_who_is_counted(gateway, name):
    assert ask(gateway, {}) == (200, '"per-address";q=3;w=315360000')
    for _ in range(2):
        assert ask(gateway, {name: FORGED[name]}) == (200, '"per-address";q=3;w=315360000')
    assert ask(gateway, {name: FORGED[name]})[0] == 429, "counted as the same caller"


def test_a_forged_tenant_with_an_underscore_does_not_count_either(gateway):
    status, policy = ask(gateway, {"X_Tenant": "victim"})
    assert status == 400 or policy == '"per-address";q=3;w=315360000', (status, policy)


def test_the_gateway_sets_tenant_and_plan_from_the_key_and_overwrites_the_clients(gateway):
    for left in (1, 0):
        status, policy = ask(gateway, {"X-Api-Key": "demo-key-of-acme", "X-Tenant": "victim", "X-Plan": "free"})
        assert status == 200 and '"per-tenant";q=2;' in policy, (left, policy)
    assert ask(gateway, {"X-Api-Key": "demo-key-of-acme", "X-Tenant": "other"})[0] == 429
    assert {seen[3].get("X-Tenant") for seen in App.seen} == {"acme"}


def test_requests_without_a_key_fall_under_a_rule_of_the_shipped_files(tmp_path):
    server = Server("--config", str(GATEWAYS / "weir.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "off",
                    log=tmp_path / "log")
    try:
        asked = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Uri": "/anything", "X-Forwarded-Method": "GET"}
        statuses = [server.call("/v1/forward-auth", headers=asked)[0] for _ in range(301)]
        assert statuses == [200] * 300 + [429]
    finally:
        server.stop()


def test_haproxys_clients_cannot_send_what_only_a_trusted_proxy_may(serve):  # noqa: F811
    rules = f"  - {{id: per-tenant, per: [tenant], {WINDOW}}}\n  - {{id: per-address, per: [ip], {WINDOW}}}\n"
    haproxy, _ = serve(rules, '  trusted_proxies: [127.0.0.5]\n  attributes: {tenant: "gateway:x-tenant"}\n')
    for name in ("X-Tenant", "X-Forwarded-For", "Forwarded"):
        status, fields, _ = haproxy.ask("/", {name: "203.0.113.1"})
        assert status == 200 and fields["ratelimit-policy"].startswith('"per-address"'), fields
    assert haproxy.ask("/", {"X-Tenant": "victim"})[0] == 429
    assert '"per-tenant"' in haproxy.ask("/", {"X-Tenant": "acme"}, client="127.0.0.5")[1]["ratelimit-policy"]


def test_every_trusted_header_is_set_or_cleared_in_each_configuration():
    nginx = (GATEWAYS / "nginx" / "nginx.conf").read_text()
    asking = re.search(r"location = /_weir \{(.*?)\n        \}", nginx, re.S).group(1)
    caddy = (GATEWAYS / "caddy" / "Caddyfile").read_text().split("forward_auth")
    traefik = (GATEWAYS / "traefik" / "dynamic.yml").read_text()
    clearing = re.search(r"customRequestHeaders:\n((?: {10}\S.*\n)+)", traefik).group(1)
    for header in trusted_headers():
        assert re.search(rf"proxy_set_header {header}\s", asking, re.I), f"nginx.conf: {header}"
        assert any(re.search(rf"request_header -{header}\n", part, re.I) for part in caddy[:-1]), f"Caddyfile: {header}"
        assert re.search(rf'^ +{header}: ""$', clearing, re.I | re.M), f"dynamic.yml: {header}"
    assert "middlewares: [clear-identity, weir]" in traefik, "headers are cleared before Weir is asked"
