"""A real HAProxy with haproxy-identity.cfg and spoe-identity.conf: Weir says who is asking."""

import http.client
import http.server
import json
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest
from test_cli import Server
from test_gateways import App, free_port, wait_for
from test_identity import SECRET, bearer, rule, token

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "gateways" / "haproxy"
ARGUMENTS = "args src=src method=method uri=url scheme=ssl_fc,iif(https,http) headers=req.hdrs_bin"
CLIENT = "127.0.0.2"  # 127.0.0.1 is a trusted proxy unless told otherwise


class Application(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """HAProxy ends idle connections by resetting them."""


class Haproxy:
    """HAProxy before an application, and Weir beside it."""

    def __init__(self, folder, name, spoe, spop=None):
        self.port, self.spop = free_port(), spop or free_port()
        self.app = Application(("127.0.0.1", 0), App)
        threading.Thread(target=self.app.serve_forever, daemon=True).start()
        (folder / "spoe.conf").write_text(spoe)
        # Nothing here is about how fast a busy machine answers.
        environment = dict(os.environ, WEIR_PUBLIC_BIND=f"127.0.0.1:{self.port}", WEIR_SPOP=f"127.0.0.1:{self.spop}",
                           WEIR_APP=f"127.0.0.1:{self.app.server_port}", WEIR_SPOE_TIMEOUT="2s",
                           WEIR_SPOE_CONF=str(folder / "spoe.conf"))
        checked = subprocess.run(["haproxy", "-c", "-f", str(name)], env=environment, capture_output=True, text=True)
        assert checked.returncode == 0 and "WARNING" not in checked.stdout + checked.stderr, checked.stderr
        self.process = subprocess.Popen(["haproxy", "-db", "-f", str(name)], env=environment, stderr=subprocess.DEVNULL)
        wait_for(self.port)

    def ask(self, path="/", headers=None, method="GET", client=CLIENT):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20, source_address=(client, 0))
        connection.putrequest(method, path)
        for name, value in headers.items() if isinstance(headers, dict) else headers or []:
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        answer = response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        connection.close()
        return answer

    def statuses(self, count, *words, **more):
        return [self.ask(*words, **more)[0] for _ in range(count)]

    def await_agent(self):
        """The first connection to the agent may take longer than HAProxy's 50 ms."""
        for _ in range(200):
            if "x-weir-error" not in self.ask("/warm-up", client="127.0.0.99")[1]:
                return
            time.sleep(0.05)
        raise AssertionError("HAProxy never reached the agent")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.app.shutdown()
        self.app.server_close()


@pytest.fixture
def serve(tmp_path):
    """Starts Weir with these rules and this identity section, and HAProxy before it; `more` are further arguments."""
    running = []

    def begin(rules, identity="", more="", change=lambda text: text, flags=(), options=""):
        (tmp_path / "rules.yaml").write_text("version: 1\nrules:\n" + rules)
        (tmp_path / "weir.yaml").write_text("rules: rules.yaml\n" + ("identity:\n" + identity if identity else ""))
        spoe = change((FOLDER / "spoe-identity.conf").read_text())
        assert not more or ARGUMENTS in spoe
        (tmp_path / "haproxy.cfg").write_text((FOLDER / "haproxy-identity.cfg").read_text().replace("global\n", "global\n" + options, 1))
        running.append(Haproxy(tmp_path, tmp_path / "haproxy.cfg", spoe.replace(ARGUMENTS, ARGUMENTS + more)))
        running.append(Server("--config", str(tmp_path / "weir.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin",
                              "127.0.0.1:0", "--listen-spop", f"127.0.0.1:{running[0].spop}", *flags, log=tmp_path / "log"))
        running[0].await_agent()
        App.seen = []
        return running[0], running[1]

    yield begin
    for each in running:
        each.stop()


@pytest.fixture
def plain(tmp_path):
    """A second HAProxy, with haproxy.cfg and spoe.conf, whose messages carry no headers."""
    running = []

    def begin(spop, change=lambda text: text):
        (tmp_path / "plain").mkdir()
        spoe = change((FOLDER / "spoe.conf").read_text().replace("processing 20ms", "processing 2s"))
        running.append(Haproxy(tmp_path / "plain", FOLDER / "haproxy.cfg", spoe, spop))
        running[-1].await_agent()
        return running[-1]

    yield begin
    for each in running:
        each.stop()


def test_allowed_requests_reach_the_application_and_denied_ones_do_not(serve):
    haproxy, server = serve(rule("per-key", "api_key", 2))
    for left in (1, 0):
        status, fields, body = haproxy.ask("/items?x=1", {"X-Api-Key": "alice"})
        assert (status, body) == (200, b"ok")
        assert fields["ratelimit-policy"] == '"per-key";q=2;w=315360000'
        assert fields["ratelimit"].startswith(f'"per-key";r={left}')
        assert "retry-after" not in fields
    status, fields, body = haproxy.ask("/items?x=1", {"X-Api-Key": "alice"})
    assert status == 429
    assert int(fields["retry-after"]) >= 1
    assert fields["ratelimit"].startswith('"per-key";r=0;t=')
    assert fields["content-type"] == "application/problem+json" and fields["cache-control"] == "no-store"
    assert json.loads(body)["type"].endswith("#quota-exceeded")
    assert [(method, path) for method, path, _, _ in App.seen] == [("GET", "/items?x=1")] * 2
    assert haproxy.ask("/items", {"X-Api-Key": "bob"})[0] == 200


def test_a_block_refuses_what_haproxy_asks_about(serve):
    haproxy, server = serve(rule("per-key", "api_key", 100))
    assert haproxy.ask(client="127.0.0.7")[0] == 200
    block = {"when": {"ip": "127.0.0.7/32"}, "reason": "scraping"}
    assert server.call("/admin/v1/blocks", block, listener=server.admin)[0] == 201
    status, fields, body = haproxy.ask(client="127.0.0.7")
    assert status == 403 and b"scraping" not in body and "ratelimit" not in fields
    assert haproxy.ask(client="127.0.0.8")[0] == 200


def test_a_client_cannot_choose_its_address(serve):
    """HAProxy's own client is the peer; X-Forwarded-For counts only as far as trusted proxies wrote it."""
    haproxy, _ = serve(rule("per-ip", "ip", 1), "  trusted_proxies: [127.0.0.5]\n")
    assert haproxy.ask()[0] == 200
    for lie in ({"X-Forwarded-For": "203.0.113.1"}, {"X-Real-IP": "203.0.113.2"}, {"Forwarded": "for=203.0.113.3"},
                [("X-Forwarded-For", "203.0.113.4"), ("X-Forwarded-For", "203.0.113.5")], {"src": "203.0.113.6"}):
        assert haproxy.ask(headers=lie)[0] == 429, lie
    # A balancer before HAProxy, and what its client wrote to the left.
    assert haproxy.ask(headers={"X-Forwarded-For": "203.0.113.9"}, client="127.0.0.5")[0] == 200
    for spoofed in ("1.1.1.1", "unknown", "a" * 4000):
        assert haproxy.ask(headers={"X-Forwarded-For": spoofed + ", 203.0.113.9"}, client="127.0.0.5")[0] == 429
    # HAProxy itself is on 127.0.0.1, so it is trusted without being listed.
    assert haproxy.ask(client="127.0.0.1")[0] == 200


def test_a_client_cannot_say_that_it_asked_for_something_else(serve):
    haproxy, _ = serve(rule("dear", "ip", 1, ", match: {path: /dear, method: GET, host: shop.example, scheme: http}"))
    host = [("Host", "Shop.Example:8000")]

    def dear(path="/dear", fields=()):
        connection = http.client.HTTPConnection("127.0.0.1", haproxy.port, timeout=20, source_address=("127.0.0.1", 0))
        connection.putrequest("GET", path, skip_host=True)
        for name, value in [*host, *fields]:
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status

    assert [dear(), dear(), dear("/cheap")] == [200, 429, 200]
    assert [dear("/%64ear?x"), dear("http://Shop.Example:8000/dear")] == [429, 429]
    for name in ("X-Forwarded-Uri", "X-Original-URI", "X-Original-URL"):
        assert dear(fields=[(name, "/cheap")]) == 429, name
    assert dear(fields=[("X-Forwarded-Method", "PUT"), ("X-Forwarded-Host", "other.example")]) == 429


def test_keys_are_hashed_at_the_door_and_refused_once_revoked(serve, tmp_path):
    """The list is followed while the server runs."""
    revoked = tmp_path / "revoked"
    revoked.write_text("sk_leaked\n")
    haproxy, server = serve(rule("per-key", "api_key", 10), "  revoked_keys_file: revoked\n", flags=("--log-denials", "1"))
    status, fields, body = haproxy.ask(headers={"X-Api-Key": "sk_leaked"})
    assert status == 401 and fields["www-authenticate"] == "Bearer"
    assert fields["content-type"] == "application/problem+json" and json.loads(body)["status"] == 401
    assert "ratelimit" not in fields
    assert haproxy.ask(headers={"X-Api-Key": "sk_fine"})[0] == 200
    revoked.write_text("sk_leaked\nsk_fine\n")
    server.await_event("identity_loaded")
    assert haproxy.ask(headers={"X-Api-Key": "sk_fine"})[0] == 401
    assert [path for _, path, _, _ in App.seen] == ["/"]
    assert 'weir_refused_callers_total{reason="revoked_key"} 2' in server.metrics()
    assert "sk_" not in pathlib.Path(server.log_path).read_text()


def test_what_can_be_read_in_two_ways_is_refused(serve):
    haproxy, server = serve(rule("per-ip", "ip", 100))
    assert haproxy.ask("/a/../b")[0] == 400
    assert haproxy.ask("/a%00")[0] == 400
    assert haproxy.ask(headers=[("X-Api-Key", "one"), ("X-Api-Key", "two")])[0] == 400
    status, fields, _ = haproxy.ask(headers={"X-Api-Key": "k" * 4097})
    assert status == 400 and fields["cache-control"] == "no-store"
    assert App.seen == []
    assert haproxy.ask("/a")[0] == 200


def test_a_token_makes_the_tenant_and_nothing_else_does(serve, tmp_path):
    (tmp_path / "jwt").write_text(SECRET)
    haproxy, _ = serve(rule("per-tenant", "tenant", 2), "  jwt_secret_file: jwt\n  attributes: {tenant: jwt:tenant_id}\n")
    claims = {"tenant_id": "acme", "exp": time.time() + 3600}
    assert haproxy.statuses(3, headers=bearer(token(claims))) == [200, 200, 429]
    assert haproxy.ask(headers=bearer(token({**claims, "tenant_id": "umbrella"})))[0] == 200
    for forged in (token(claims, secret="x" * 32), token({**claims, "exp": 1}), token(claims)[:-4], "nonsense"):
        assert haproxy.ask(headers=bearer(forged))[0] == 401, forged
    status, fields, _ = haproxy.ask(headers={"X-Tenant": "acme", "tenant": "acme"})
    assert status == 200 and "ratelimit" not in fields


def test_routes_tiers_and_traffic(serve):
    """A route's cost, two address tiers in one decision, and our own traffic told apart."""
    haproxy, _ = serve(
        rule("exports", "ip", 10, ", match: {action: export}") + rule("per-subnet", "ip_subnet", 3, ", match: {action: other, traffic: external}")
        + rule("tests", "traffic", 1, ", match: {traffic: test}"),
        "  tiers: {ip_subnet: 24/48}\n  routes: {POST /v1/exports: export 4, ANY /v1/*: other}\n"
        "  internal_networks: [127.0.9.0/24]\n  traffic: {test: x-test-run}\n")
    assert haproxy.statuses(3, "/v1/exports", method="POST") == [200, 200, 429], "each costs 4 of 10"
    assert haproxy.ask("/v1/exports")[0] == 200, "another method, another action"
    assert [haproxy.ask("/v1/x", client=f"127.0.0.{i}")[0] for i in (3, 4, 5)] == [200, 200, 429], "one network"
    assert haproxy.ask("/v1/x", {"X-Test-Run": "1"})[0] == 429, "from outside, a header changes nothing"
    assert haproxy.statuses(2, "/v1/x", {"X-Test-Run": "1"}, client="127.0.9.1") == [200, 429]


def test_what_haproxy_vouches_for_needs_a_line_in_the_identity_section(serve):
    """Its arguments are trusted for every client; the client's headers of the same name are not."""
    haproxy, server = serve(rule("per-service", "service", 1) + rule("by-stray", "stray", 1) + rule("by-cost", "ip", 5, ", match: {path: /dear}"),
                            "  attributes: {service: gateway:client-cn}\n",
                            " client-cn=req.hdr(x-verified) stray=str(x) cost=req.hdr(x-cost)")
    assert haproxy.statuses(2, headers={"X-Verified": "billing"}) == [200, 429]
    status, fields, _ = haproxy.ask(headers={"client-cn": "billing"})
    assert status == 200 and "ratelimit" not in fields
    assert haproxy.ask(headers={"client-cn": "other", "X-Verified": "billing"}, client="127.0.0.1")[0] == 429
    assert server.await_event("spop_argument_unused")["argument"] == "stray"
    assert haproxy.statuses(3, "/dear", {"X-Cost": "2"}) == [200, 200, 429]


def test_headers_that_fit_no_frame_do_not_open_the_gate(serve, plain):
    """HAProxy fails open when it cannot ask; how long a message is, is up to the client."""
    haproxy, _ = serve(rule("per-ip", "ip", 100), more=" again=req.hdrs_bin")
    other = plain(haproxy.spop, lambda text: text.replace("path=path", "path=path again=path"))
    App.seen = []
    for each, path, headers in ((haproxy, "/", {"X-Long": "x" * 12000}), (other, "/" + "p" * 12000, {})):
        status, fields, _ = each.ask(path, headers)
        assert status == 431 and fields["x-weir-error"] == "3"
        assert App.seen == []
    assert [haproxy.ask()[0], other.ask()[0]] == [200, 200]


@pytest.mark.parametrize("frame, bound, expected, error", [
    ("16380", "64KiB", 431, "3"), ("65532", "16KiB", 431, "259"), ("65532", "64KiB", 200, None)])
def test_longer_headers_are_a_setting_of_both_sides(serve, frame, bound, expected, error):
    haproxy, _ = serve(rule("per-ip", "ip", 100), change=lambda text: text.replace("16380", frame),
                       flags=("--http-header-bytes", bound), options="    tune.bufsize 65536\n")
    status, fields, _ = haproxy.ask(headers={"X-Long": "x" * 40000})
    assert (status, fields.get("x-weir-error")) == (expected, error)
    assert ("ratelimit" in fields) == (expected == 200)


def test_the_longest_request_that_haproxy_takes_is_judged(serve):
    haproxy, _ = serve(rule("per-ip", "ip", 1000))
    answers = set()
    for size in range(13800, 15400, 100):
        for path, headers in (("/", {"X-Long": "x" * size}), ("/?" + "q" * size, {}), ("/", [("X", "y" * (size // 90 - 5))] * 90)):
            status, fields, _ = haproxy.ask(path, headers)
            assert "x-weir-error" not in fields
            # Too long for HAProxy itself: its own 400 has none of ours.
            assert "ratelimit" in fields if status == 200 else status == 400 and "ratelimit" not in fields
            answers.add(status)
    assert answers == {200, 400}, "both sides of HAProxy's own bound were tried"


@pytest.mark.parametrize("arguments, told", [
    ("args method=method uri=url headers=req.hdrs_bin", "headers also needs src=src"),
    ("args src=src method=method uri=url headers=req.hdrs", "expected headers=req.hdrs_bin"),
    ("args src=req.hdr(x-none) method=method uri=url headers=req.hdrs_bin", "src has no value"),
])
def test_a_message_with_invalid_arguments_is_refused_and_logged(serve, arguments, told):
    haproxy, server = serve(rule("per-ip", "ip", 100), change=lambda text: text.replace(ARGUMENTS, arguments))
    assert haproxy.ask()[0] == 400
    assert App.seen == []
    event = server.await_event("spop_message_unusable")
    assert event["level"] == "error" and told in event["cause"]


def test_without_weir_requests_go_through_and_a_store_that_is_away_denies_where_the_rule_says_so(serve, plain, tmp_path):
    haproxy, server = serve(rule("per-ip", "ip", 1, ", on_store_failure: deny"),
                            flags=("--store", f"redis://127.0.0.1:{free_port()}", "--hash-key-file", str(tmp_path / "key")))
    status, fields, body = haproxy.ask()
    assert status == 503 and json.loads(body)["type"].endswith("#temporary-reduced-capacity")
    status, fields, body = plain(haproxy.spop).ask()
    assert status == 503 and json.loads(body)["type"].endswith("#temporary-reduced-capacity") and fields["retry-after"] == "1"
    assert App.seen == []
    server.stop()
    status, fields, _ = haproxy.ask()
    assert status == 200 and int(fields["x-weir-error"]) > 0


def test_both_kinds_of_messages_are_understood_on_one_listener(serve, plain):
    """A message without headers keeps its meaning: its arguments are attributes."""
    haproxy, _ = serve(rule("per-ip", "ip", 2))
    other = plain(haproxy.spop)
    assert [haproxy.ask()[0], other.ask()[0], haproxy.ask()[0], other.ask()[0]] == [200, 200, 429, 429], "one subject"


def test_the_example_of_the_documentation_does_what_it_says(serve, tmp_path):
    """The very blocks of docs/haproxy.md."""
    page = (ROOT / "docs" / "haproxy.md").read_text()
    section = re.search(r"^```yaml identity\nidentity:\n(.*?)^```", page, re.M | re.S).group(1)
    rules = re.search(r"^```yaml rules\nversion: 1\nrules:\n(.*?)^```", page, re.M | re.S).group(1)
    (tmp_path / "revoked-keys").write_text("# none yet\n")
    (tmp_path / "jwt-secret").write_text(SECRET)
    haproxy, _ = serve(rules, section, " client-cn=req.hdr(x-verified)")

    def policies(headers=None, path="/v1/items", method="GET"):
        status, fields, _ = haproxy.ask(path, headers, method)
        return status, re.findall(r'"([a-z-]+)"', fields.get("ratelimit-policy", ""))

    acme = bearer(token({"tenant_id": "acme", "exp": time.time() + 3600}))
    assert policies() == (200, ["per-address", "per-subnet"])
    assert policies({"X-Api-Key": "k"}) == (200, ["per-address", "per-subnet", "per-key"])
    assert policies({"X-Verified": "billing"}) == (200, ["per-address", "per-subnet", "services"])
    exports = [policies(acme, "/v1/exports", "POST") for _ in range(6)]
    assert exports[0] == (200, ["per-address", "per-subnet", "exports"])
    assert [status for status, _ in exports] == [200] * 5 + [429], "each costs 20 of 100"
