"""Who is asking: the identity section as operators write it, and as hostile clients meet it."""

import base64
import hashlib
import hmac
import json
import pathlib
import re
import signal
import socket
import time
import urllib.error
import urllib.request

import pytest
from test_cli import start, weir  # noqa: F401 (start is a fixture)

PATH = "/v1/forward-auth"
SECRET = "0123456789abcdef0123456789abcdef"


def rule(name, per, limit, more=""):
    return f"  - {{id: {name}, per: [{per}], algorithm: fixed-window, limit: {limit}, window: 3650d{more}}}\n"


@pytest.fixture
def serve(start, tmp_path):  # noqa: F811
    """Starts a server with these rules and this identity section."""

    def begin(rules, identity=""):
        (tmp_path / "rules.yaml").write_text("version: 1\nrules:\n" + rules)
        config = "rules: rules.yaml\nloops: 1\n" + ("identity:\n" + identity if identity else "")
        (tmp_path / "weir.yaml").write_text(config)
        return start("--config", str(tmp_path / "weir.yaml"))

    return begin


def ask(server, headers, method="GET", query=""):
    request = urllib.request.Request(f"http://{server.http}{PATH}{query}", method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def status(server, headers, **more):
    return ask(server, headers, **more)[0]


def raw(server, text):
    """One answer to bytes that no client library would send."""
    host, port = server.http.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        try:
            connection.sendall(text)
        except OSError:
            pass
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = connection.recv(65536)
            if not more:
                break
            answer += more
    return int(answer.split(b" ")[1])


def part(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def token(claims, secret=SECRET, header=None):
    signed = part(header or {"alg": "HS256", "typ": "JWT"}) + "." + part(claims)
    return signed + "." + part(hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest())


def bearer(text):
    return {"Authorization": "Bearer " + text}


def test_a_client_cannot_choose_its_address_behind_a_trusted_proxy(serve):
    server = serve(rule("per-ip", "ip", 1))
    assert status(server, {"X-Forwarded-For": "203.0.113.9"}) == 200
    # What the client wrote is to the left of what the proxy wrote.
    for spoofed in ("1.1.1.1", "1.1.1.1, 2.2.2.2", "unknown", "203.0.113.9", "\"", ",,,", "a" * 4000):
        assert status(server, {"X-Forwarded-For": spoofed + ", 203.0.113.9"}) == 429, spoofed
    assert status(server, {"X-Forwarded-For": "::ffff:203.0.113.9"}) == 429, "the same address, spelled otherwise"
    assert status(server, {"X-Forwarded-For": "203.0.113.9:4711"}) == 429
    assert status(server, {"X-Forwarded-For": "203.0.113.10"}) == 200


def test_repeated_forwarding_lines_are_one_list(serve):
    server = serve(rule("per-ip", "ip", 1))
    head = f"GET {PATH} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
    assert raw(server, (head + "X-Forwarded-For: 203.0.113.9\r\n\r\n").encode()) == 200
    assert raw(server, (head + "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n").encode()) == 429


def test_from_outside_the_trusted_proxies_nothing_is_believed(serve):
    server = serve(rule("per-ip", "ip", 3) + rule("search", "ip", 1, ", match: {path: /search}"),
                   "  trusted_proxies: [10.0.0.0/8]\n")
    answers = [status(server, {"X-Forwarded-For": f"203.0.113.{i}", "X-Forwarded-Uri": "/search"}) for i in range(4)]
    assert answers == [200, 200, 200, 429]
    assert server.await_event("forward_auth_untrusted")["level"] == "warn"


def test_several_address_tiers_count_in_one_decision(serve):
    """An attacker who changes addresses inside a network meets the network's limit."""
    server = serve(rule("per-ip", "ip", 2) + rule("per-subnet", "ip_subnet", 3) + rule("per-region", "ip_region", 5),
                   "  tiers: {ip_subnet: 24/48, ip_region: 16/32}\n")

    def at(address):
        return status(server, {"X-Forwarded-For": address})

    assert [at("203.0.113.1") for _ in range(3)] == [200, 200, 429]
    assert [at("203.0.113.2"), at("203.0.113.3")] == [200, 429], "the /24 has had its three"
    assert [at("203.0.1.1"), at("203.0.2.1"), at("203.0.3.1")] == [200, 200, 429], "the /16 has had its five"
    # One household has a whole /64.
    assert [at(f"2001:db8::{i}") for i in range(1, 4)] == [200, 200, 429]
    assert at("2001:db8:0:1::1") == 200


def test_routes_give_actions_and_costs(serve):
    server = serve(rule("exports", "ip", 10, ", match: {action: export}"),
                   "  routes:\n    POST /v1/exports: export 4\n    ANY /v1/*: other\n")

    def export(uri="/v1/exports", method="POST"):
        return status(server, {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Method": method, "X-Forwarded-Uri": uri})

    assert [export(), export("/v1/%65xports?x=1"), export()] == [200, 200, 429]
    assert export(method="GET") == 200, "another action"


def test_a_gateway_and_its_client_that_disagree_are_refused(serve):
    server = serve(rule("per-ip", "ip", 100))
    both = {"X-Forwarded-Uri": "/dear", "X-Original-URI": "/cheap"}
    code, headers, body = ask(server, both)
    assert code == 400 and json.loads(body)["detail"] == "the request could not be read"
    code, headers, _ = ask(server, both, query="?deny_status=403")
    assert code == 403 and headers["Weir-Status"] == "400"


def test_nothing_hostile_gets_past_the_door(serve):
    server = serve(rule("per-key", "api_key", 1000))
    head = f"GET {PATH} HTTP/1.1\r\nHost: h\r\n".encode()
    assert raw(server, head + b"X-Api-Key: " + b"k" * 4097 + b"\r\n\r\n") == 400, "longer than a key may be"
    assert raw(server, head + b"X-Api-Key: " + b"k" * 1_000_000 + b"\r\n\r\n") == 431
    assert raw(server, head + b"X-Api-Key: a\r\nX-Api-Key: b\r\n\r\n") == 400, "which of the two would another take?"
    assert raw(server, head + b"X-Api-Key: a\0b\r\n\r\n") == 400
    assert raw(server, head + b"X-Api-Key: \xff\xfe\r\n\r\n") == 200, "keys are bytes, and only their hash goes on"
    assert raw(server, head + b"X-Forwarded-Uri: /a/../b\r\n\r\n") == 400
    assert raw(server, head + b"X-Forwarded-Uri: /%00\r\n\r\n") == 400
    assert raw(server, head + b"X-Forwarded-Uri: nowhere\r\n\r\n") == 400
    assert raw(server, head + b"X-Forwarded-Method: GET POST\r\n\r\n") == 400
    assert raw(server, head + b"X-Forwarded-Host: a b\r\n\r\n") == 400
    assert raw(server, head + b"\r\n") == 200, "without a key, a rule per key does not count"


def test_a_revoked_key_is_refused_at_once_and_the_list_is_followed(serve, tmp_path):
    revoked = tmp_path / "revoked.txt"
    revoked.write_text("# leaked in May\nsk_leaked\n")
    server = serve(rule("per-key", "api_key", 1000), "  revoked_keys_file: revoked.txt\n")
    code, headers, body = ask(server, {"X-Api-Key": "sk_leaked"})
    assert code == 401 and headers["Content-Type"] == "application/problem+json"
    assert "sk_leaked" not in body and "revoked" not in body, "that it was once valid must not be revealed"
    assert status(server, {"X-Api-Key": "sk_fine"}) == 200
    revoked.write_text("sk_fine\n")
    server.await_event("identity_loaded")
    assert status(server, {"X-Api-Key": "sk_fine"}) == 401
    assert status(server, {"X-Api-Key": "sk_leaked"}) == 200
    revoked.write_text("k" * 5000 + "\n")
    server.await_event("identity_rejected")
    assert status(server, {"X-Api-Key": "sk_fine"}) == 401, "the last good list stays"
    server.process.send_signal(signal.SIGHUP)
    server.await_event("identity_rejected", 2)
    assert "expected an API key of at most 4096" in json.loads(server.call("/readyz", listener=server.admin)[1])["identity"]["error"]
    metrics = server.metrics()
    assert 'weir_refused_callers_total{reason="revoked_key"} 3' in metrics and "weir_identity_current 0" in metrics
    assert "sk_" not in server.log_path.read_text() + metrics


def test_claims_of_a_verified_token_become_attributes(serve, tmp_path):
    (tmp_path / "secret").write_text(SECRET + "\n")
    server = serve(
        rule("per-tenant", "tenant", 2, ", plans: {gold: {limit: 4}}"),
        "  jwt_secret_file: secret\n  jwt_issuer: https://id.example\n  jwt_audience: shop\n"
        "  attributes: {tenant: jwt:org.id, plan: jwt:plan}\n")
    now = int(time.time())
    good = {"iss": "https://id.example", "aud": ["shop", "x"], "exp": now + 600, "org": {"id": "acme"}}

    def at(**changes):
        claims = {key: value for key, value in {**good, **changes}.items() if value is not None}
        return status(server, bearer(token(claims)))

    assert [at(), at(), at()] == [200, 200, 429]
    assert [at(org={"id": "other"}, plan="gold") for _ in range(5)] == [200] * 4 + [429]
    assert at(exp=now - 60) == 401, "expired"
    assert at(exp=None) == 401, "never expires"
    assert at(nbf=now + 600) == 401, "not yet valid"
    assert at(iss="https://evil.example") == 401
    assert at(aud="x") == 401
    forged = [
        token(good, secret="another secret of thirty-two byte"),
        part({"alg": "none"}) + "." + part(good) + ".",
        part({"alg": "none"}) + "." + part(good) + "." + part(b"x"),
        token(good, header={"alg": "HS512"}),
        token(good, header={"alg": "RS256"}),
        token(good, header={"alg": "HS256", "crit": ["x"]}),
        token(good) + "x", token(good)[:-4], token(good).replace(".", ".."), "a.b.c", "x" * 9000,
    ]
    assert [status(server, bearer(text)) for text in forged] == [401] * len(forged)
    assert status(server, {}) == 200, "no token, no tenant: the rule does not count it"


def test_keys_of_a_jwks_are_followed(serve, tmp_path):
    keys = tmp_path / "keys.json"

    def put(kid, secret):
        keys.write_text(json.dumps({"keys": [{"kty": "oct", "kid": kid, "alg": "HS256", "k": part(secret.encode())}]}))

    other = SECRET[::-1]
    put("one", SECRET)
    server = serve(rule("per-user", "user", 1000),
                   "  jwt_jwks_file: keys.json\n  jwt_required: true\n  attributes: {user: jwt:sub}\n")
    claims = {"sub": "alice", "exp": int(time.time()) + 600}
    first = bearer(token(claims, header={"alg": "HS256", "kid": "one"}))
    second = bearer(token(claims, secret=other, header={"alg": "HS256", "kid": "two"}))
    assert [status(server, first), status(server, second), status(server, {})] == [200, 401, 401]
    put("two", other)
    server.await_event("identity_loaded")
    assert [status(server, first), status(server, second)] == [401, 200]
    keys.write_text("{")
    server.await_event("identity_rejected")
    assert status(server, second) == 200


def test_our_own_traffic_is_told_apart(serve):
    """A header alone does not make a caller trusted; the network does."""
    server = serve(rule("public", "ip", 1, ", match: {traffic: external}")
                   + rule("tests", "traffic", 3, ", match: {traffic: test}"),
                   "  internal_networks: [10.0.0.0/8]\n  traffic: {test: x-test-run, service: x-service=billing}\n")

    def at(address, **headers):
        return status(server, {"X-Forwarded-For": address, **{k.replace("_", "-"): v for k, v in headers.items()}})

    assert [at("203.0.113.9", x_test_run="1"), at("203.0.113.9", x_test_run="1")] == [200, 429]
    assert [at("10.1.1.1", x_test_run="1") for _ in range(4)] == [200, 200, 200, 429]
    assert [at("10.1.1.2", x_service="billing") for _ in range(3)] == [200] * 3
    assert [at("10.1.1.3", x_service="else"), at("10.1.1.3")] == [200, 429]


@pytest.mark.parametrize("identity, expected", [
    ("  attributes: {tenant: header:x-tenant}\n", ":2:24: identity.attributes.tenant: header:x-tenant is not verified"),
    ("  attributes: {ip: header:x}\n", ":2:20: identity.attributes.ip: is made by Weir itself"),
    ("  attributes: {user: head:x}\n", ":2:22: identity.attributes.user: \"head:x\" is not a source, expected header:"),
    ("  attributes: {user: jwt:sub}\n", ":2:22: identity.attributes.user: comes from a token, but there is no key"),
    ("  trusted_proxies: [10.0.0.1/8]\n", ":2:20: identity.trusted_proxies: \"10.0.0.1/8\" is not an address"),
    ("  tiers: {ip_subnet: 24}\n", ":2:22: identity.tiers.ip_subnet: is '24', expected bits of IPv4 and IPv6"),
    ("  tiers: {ip_subnet: 33/48}\n", ":2:22: identity.tiers.ip_subnet: is '33/48'"),
    ("  routes: {GET: a}\n", ":2:17: identity.routes.GET: is 'a', expected an entry such as"),
    ("  routes: {GET /a: a -1}\n", ":2:20: identity.routes.GET /a: is 'a -1'"),
    ("  routes: {GET /a/../b: a}\n", "identity.routes: "),
    ("  jwt_required: true\n", ":2:17: identity.jwt_required: there is no key"),
    ("  jwt_pem_file: nowhere.pem\n", "identity.jwt: "),
    ("  revoked_keys_file: nowhere.txt\n", ":2:22: identity.revoked_keys_file: "),
    ("  forwarding_header: x-client\n", ":2:22: identity.forwarding_header: is 'x-client', expected x-forwarded-for or"),
    ("  colour: red\n", ":2:11: identity.colour: is not a field"),
])
def test_what_is_wrong_with_the_section_is_told_with_its_place(tmp_path, identity, expected):
    (tmp_path / "weir.yaml").write_text("identity:\n" + identity)
    done = weir("serve", "--config", str(tmp_path / "weir.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "off")
    assert done.returncode == 2
    assert expected in done.stderr.splitlines()[-1]


def test_the_example_of_the_documentation_does_what_it_says(serve):
    """Address tiers, service accounts and test traffic, in the very blocks of docs/identity.md."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "identity.md").read_text()
    section = re.search(r"^```yaml identity\nidentity:\n(.*?)^```", page, re.M | re.S).group(1)
    rules = re.search(r"^```yaml rules\nversion: 1\nrules:\n(.*?)^```", page, re.M | re.S).group(1)
    server = serve(rules, section)

    def policies(address, uri="/v1/x", method="GET", **headers):
        sent = {k.replace("_", "-"): v for k, v in headers.items()}
        code, answer, _ = ask(server, {"X-Forwarded-For": address, "X-Forwarded-Uri": uri, "X-Forwarded-Method": method, **sent})
        return code, re.findall(r'"([a-z-]+)"', answer.get("RateLimit-Policy", ""))

    tiers = ["per-address", "per-subnet", "per-region"]
    assert policies("203.0.113.9") == (200, tiers)
    assert policies("203.0.113.9", x_test_run="1") == (200, tiers), "from outside, a header changes nothing"
    assert policies("10.1.1.1, 203.0.113.9", x_internal_call="1") == (200, tiers)
    assert policies("10.1.1.1", x_test_run="1") == (200, ["tests"])
    assert policies("10.1.1.1", x_internal_call="1") == (200, [])
    assert policies("10.1.1.1", x_internal_call="1", x_service_account="billing") == (200, ["services"])
    assert policies("203.0.113.9", "/v1/exports", "POST", x_tenant="acme") == (200, [*tiers[:3], "exports"])
    exports = [policies("198.51.100.1", "/v1/exports", "POST", x_tenant="acme")[0] for _ in range(5)]
    assert exports == [200, 200, 200, 200, 429], "each costs 20 of 100"
