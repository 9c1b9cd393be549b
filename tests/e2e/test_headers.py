"""http.headers and http.reset on every front end that has headers."""

import json
import time
import urllib.error
import urllib.request

import pytest
from rate_limit_fields import OLDER_NAMES, from_grpc, from_http, from_json, spop_variables
from test_cli import Server, rules_text, weir

LISTENERS = [word for name in ("http", "admin", "grpc", "spop") for word in (f"--listen-{name}", "127.0.0.1:0")]
X_NAMES, LEGACY_NAMES = set(OLDER_NAMES[:3]), set(OLDER_NAMES[3:])
IETF_NAMES = {"RateLimit", "RateLimit-Policy"}


def from_forward_auth(server, tenant):
    """One request as a gateway sends it: it is charged, so each look needs a tenant of its own."""
    request = urllib.request.Request(f"http://{server.http}/v1/forward-auth", headers={"X-Tenant": tenant})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            headers = answer.headers
    except urllib.error.HTTPError as error:
        headers = error.headers
    return {name: headers[name] for name in IETF_NAMES | set(OLDER_NAMES) | {"Retry-After"} if name in headers}


FRONT_ENDS = {"http": from_http, "forward-auth": from_forward_auth, "json": from_json, "grpc": from_grpc}


@pytest.fixture
def start(tmp_path):
    (tmp_path / "rules.yaml").write_text(rules_text(2))
    running = []

    def begin(settings):
        config = tmp_path / "weir.yaml"
        config.write_text("identity: {attributes: {tenant: \"gateway:x-tenant\"}}\n" + settings)
        running.append(Server("--config", str(config), "--rules", str(tmp_path / "rules.yaml"), *LISTENERS, log=tmp_path / "log"))
        return running[-1]

    yield begin
    for server in running:
        server.stop()


@pytest.mark.parametrize("setting, names", [
    ("", IETF_NAMES),
    ("http: {headers: [ietf]}\n", IETF_NAMES),
    ("http: {headers: [x-ratelimit]}\n", X_NAMES),
    ("http: {headers: [ratelimit-legacy]}\n", LEGACY_NAMES),
    ("http: {headers: [ietf, x-ratelimit, ratelimit-legacy]}\n", IETF_NAMES | X_NAMES | LEGACY_NAMES),
    ("http: {headers: []}\n", set()),
    ("http: {headers: off}\n", set()),
])
def test_each_front_end_sends_the_chosen_headers_and_no_others(start, setting, names):
    server = start(setting)
    for front_end, fields in FRONT_ENDS.items():
        assert set(fields(server, front_end)) == names, front_end
    variables = spop_variables(server, "spop")
    assert ("ratelimit" in variables) == ("ratelimit_policy" in variables) == ("RateLimit" in names)
    assert variables["remaining"] == 2


def test_a_denial_always_says_when_to_come_back(start):
    server = start("http: {headers: []}\n")
    assert [server.check() for _ in range(3)] == [200, 200, 429]
    for front_end, fields in FRONT_ENDS.items():
        told = fields(server, "acme")
        assert set(told) == {"Retry-After"} and int(told["Retry-After"]) > 0, front_end


def test_resets_are_unix_time_by_choice(start):
    server = start("http: {headers: [x-ratelimit, ratelimit-legacy], reset: unix-time}\n")
    assert [server.check() for _ in range(3)] == [200, 200, 429]
    for front_end, fields in FRONT_ENDS.items():
        told = fields(server, "acme")
        reset = int(told["X-RateLimit-Reset"])
        assert told["RateLimit-Reset"] == told["X-RateLimit-Reset"], front_end
        assert abs(reset - time.time() - int(told["Retry-After"])) < 60, front_end
    assert spop_variables(server, "acme")["reset"] > time.time()


def test_a_decision_tells_when_its_waits_are_over_and_whom_each_rule_counts(start):
    server = start("log: {denials: 1}\n")
    for _ in range(3):
        status, body = server.call("/v1/check", {"attributes": {"tenant": "acme"}})
    decision = json.loads(body)
    assert status == 429
    rule = decision["rules"][0]
    assert abs(decision["retry_at_ms"] - decision["retry_after_ms"] - 1000 * time.time()) < 60_000
    assert rule["retry_at_ms"] == decision["retry_at_ms"] and rule["reset_at_ms"] == decision["reset_at_ms"]
    assert server.await_event("decision")["subject"] == rule["subject"], "a client's report can be found in the log"
    other = json.loads(server.call("/v1/check", {"attributes": {"tenant": "other"}})[1])
    assert other["retry_at_ms"] is None and other["rules"][0]["subject"] != rule["subject"]


def test_an_unknown_family_is_named_with_its_place(tmp_path):
    (tmp_path / "weir.yaml").write_text("http:\n  headers: [ietf, legacy]\n")
    done = weir("serve", "--config", str(tmp_path / "weir.yaml"))
    assert done.returncode == 2 and "weir.yaml:2:" in done.stderr
    assert "http.headers: has the entry 'legacy', expected ietf, x-ratelimit or ratelimit-legacy" in done.stderr
