"""As a replacement for envoyproxy/ratelimit: its unchanged rule files, and POST /json."""

import json
import re

import pytest
from test_cli import rules_text, start, weir  # noqa: F401 (start is a fixture)

EDGE = """
domain: edge
descriptors:
  - key: remote_address
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: remote_address
    value: 10.0.0.1
  - key: remote_address
    value: 192.0.2.*
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: user
    shadow_mode: true
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: blocked
    rate_limit: {unit: second, requests_per_unit: 0}
  - key: vip
    rate_limit: {unlimited: true}
  - key: tokens
    rate_limit: {unit: year, requests_per_unit: 10}
  - key: burst
    rate_limit: {unit: day, requests_per_unit: 3, weir: {algorithm: token-bucket, burst: 1}}
"""
PLANS = """
domain: plans
descriptors:
  - key: anyone
    rate_limit: {unit: year, requests_per_unit: 1, name: plain}
  - key: member
    rate_limit: {unit: year, requests_per_unit: 3, name: paid, replaces: [{name: plain}]}
"""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "config"
    made.mkdir()
    (made / "edge.yaml").write_text(EDGE)
    (made / "plans.yaml").write_text(PLANS)
    return made


@pytest.fixture
def server(start, folder):  # noqa: F811
    return start("--rules", str(folder), "--rules-format", "envoy")


def ask(server, domain, *descriptors, **more):
    """The status and the body of POST /json; a descriptor is a list of pairs or the proto-JSON itself."""
    entries = [d if isinstance(d, dict) else {"entries": [{"key": k, "value": v} for k, v in d]} for d in descriptors]
    status, body = server.call("/json", {"domain": domain, "descriptors": entries, **more})
    return status, json.loads(body)


def codes(server, count, domain, *descriptors, **more):
    return [ask(server, domain, *descriptors, **more)[0] for _ in range(count)]


def test_limits_apply_as_in_the_files(server):
    assert codes(server, 3, "edge", [("remote_address", "198.51.100.1")]) == [200, 200, 429]
    assert codes(server, 3, "edge", [("remote_address", "198.51.100.2")]) == [200, 200, 429]
    assert codes(server, 2, "edge", [("remote_address", "192.0.2.7")]) == [200, 429]
    assert codes(server, 2, "edge", [("remote_address", "192.0.2.8")]) == [200, 429]
    assert codes(server, 9, "edge", [("remote_address", "10.0.0.1")]) == [200] * 9
    assert codes(server, 3, "edge", [("user", "ann")]) == [200] * 3
    assert codes(server, 1, "edge", [("blocked", "x")]) == [429]
    assert codes(server, 2, "edge", [("burst", "x")]) == [200, 429]
    assert codes(server, 9, "nowhere", [("remote_address", "198.51.100.1")]) == [200] * 9
    assert codes(server, 9, "edge", [("remote_address", "198.51.100.1"), ("user", "ann")]) == [200] * 9


def test_unlimited_and_the_answers_members(server):
    assert ask(server, "edge", [("vip", "v")])[1] == {"overallCode": "OK", "statuses": [{"code": "OK", "limitRemaining": 4294967295}]}
    _, body = ask(server, "edge", [("remote_address", "198.51.100.3")])
    status = body["statuses"][0]
    assert status["currentLimit"] == {"requestsPerUnit": 2, "unit": "YEAR", "name": "edge.remote_address"}
    assert status["limitRemaining"] == 1
    assert re.fullmatch(r"[1-9]\d*s", status["durationUntilReset"]), "whole seconds: Envoy shows no others"
    headers = {each["key"]: each["value"] for each in body["responseHeadersToAdd"]}
    assert headers["RateLimit-Policy"] == '"edge.remote_address";q=2;w=31536000'
    assert headers["RateLimit"].startswith('"edge.remote_address";r=1;t=')


def test_the_older_headers_are_those_of_the_http_api(start, folder):  # noqa: F811
    server = start("--rules", str(folder), "--rules-format", "envoy", "--http-headers", "ietf,x-ratelimit")
    _, body = ask(server, "edge", [("remote_address", "198.51.100.3")])
    headers = {each["key"]: each["value"] for each in body["responseHeadersToAdd"]}
    assert (headers["X-RateLimit-Limit"], headers["X-RateLimit-Remaining"]) == ("2", "1")
    assert headers["RateLimit"].endswith(";t=" + headers["X-RateLimit-Reset"])


def test_a_rule_replaces_another_of_the_same_call(server):
    anyone, member = [("anyone", "ann")], [("member", "ann")]
    assert codes(server, 4, "plans", anyone, member) == [200, 200, 200, 429]
    assert codes(server, 2, "plans", anyone) == [200, 429]
    assert ask(server, "plans", anyone, member)[1]["statuses"][0] == {"code": "OK"}


def test_hits_overrides_and_refunds(server):
    one = {"entries": [{"key": "remote_address", "value": "198.51.100.9"}]}
    assert codes(server, 1, "edge", one, hitsAddend=2) == [200]
    assert codes(server, 1, "edge", {**one, "hitsAddend": "0"}) == [429], "looks: one more would not pass"
    assert codes(server, 1, "edge", {**one, "hitsAddend": "1", "isNegativeHits": True}) == [200]
    assert codes(server, 2, "edge", one) == [200, 429]
    own = {**one, "limit": {"requestsPerUnit": 1, "unit": "YEAR"}}
    assert codes(server, 2, "edge", own) == [200, 429]
    for outcome in ("allowed", "denied"):
        assert f'weir_ad_hoc_charges_total{{space="envoy.override",outcome="{outcome}"}} 1\n' in server.metrics()


def test_overrides_of_one_descriptor_count_by_their_unit(server):
    def own(unit):
        return {"entries": [{"key": "remote_address", "value": "198.51.100.10"}], "limit": {"requestsPerUnit": 2, "unit": unit}}

    assert codes(server, 3, "edge", own("YEAR"), own("MONTH")) == [200, 200, 429]
    assert codes(server, 1, "edge", own("DAY")) == [200]


def test_more_hits_than_any_limit_holds_are_over_limit(server):
    one = {"entries": [{"key": "remote_address", "value": "198.51.100.11"}], "hitsAddend": str(2**64 - 1)}
    assert codes(server, 1, "edge", one) == [429]
    assert codes(server, 1, "nowhere", one) == [200]


@pytest.mark.parametrize("own", [{}, {"limit": {"requestsPerUnit": 10, "unit": "YEAR"}}])
def test_cost_that_is_reported_afterwards_counts_whether_it_fits_or_not(server, own):
    """Envoy peeks when a request begins and reports its cost when it is done: apply_on_stream_done."""

    def descriptor(user, hits):
        return {"entries": [{"key": "tokens", "value": user}], "hitsAddend": hits, **own}

    def requests(user, cost):
        seen = []
        while len(seen) < 9 and codes(server, 1, "edge", descriptor(user, 0)) == [200]:
            seen += codes(server, 1, "edge", descriptor(user, cost))
        return seen

    assert requests("ann", 4) == [200, 200, 429], "8 of 10 are used, then the rest"
    assert requests("bob", 11) == [429], "more than the limit"
    assert requests("eve", 5) == [200, 200]


def test_bad_bodies_are_400_with_the_messages_of_envoyproxy_ratelimit(server):
    assert server.call("/json", {"descriptors": []})[0] == 400
    assert "rate limit domain must not be empty" in server.call("/json", {"descriptors": []})[1]
    assert "rate limit descriptor list must not be empty" in server.call("/json", {"domain": "edge"})[1]


def test_a_changed_file_is_loaded_and_an_invalid_one_is_not(server, folder):
    one = [("remote_address", "198.51.100.5")]
    assert codes(server, 3, "edge", one) == [200, 200, 429]
    (folder / "edge.yaml").write_text(EDGE.replace("requests_per_unit: 2", "requests_per_unit: 3"))
    server.await_event("rules_loaded", 2)
    assert codes(server, 2, "edge", one) == [200, 429]
    (folder / "edge.yaml").write_text(EDGE.replace("unit: day", "unit: eon"))
    error = server.await_event("rules_rejected")["error"]
    assert 'edge.yaml:21:24: descriptors[7].rate_limit.unit: is "eon", expected second, minute' in error
    assert codes(server, 1, "edge", one) == [429]


def test_import_prints_weir_rules_that_decide_the_same(start, folder, tmp_path):  # noqa: F811
    done = weir("rules", "import", "--from", "envoy", str(folder))
    assert done.returncode == 0 and done.stderr == ""
    (tmp_path / "rules.yaml").write_text(done.stdout)
    server = start("--rules", str(tmp_path / "rules.yaml"))
    test_limits_apply_as_in_the_files(server)
    test_a_rule_replaces_another_of_the_same_call(server)


def test_import_prints_faults_and_notes_as_text_and_json(tmp_path):
    file = tmp_path / "d.yaml"
    file.write_text("domain: d\ndescriptors: [{key: a, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}]\n")
    done = weir("rules", "import", "--from", "envoy", str(file))
    assert done.returncode == 0 and "note  " in done.stderr and "quota_mode: has no effect" in done.stderr
    told = json.loads(weir("rules", "import", "--from", "envoy", str(file), "--json").stdout)
    assert told["imported"] and told["rules"] == 1 and len(told["notes"]) == 1 and told["yaml"].startswith("version: 1\n")
    file.write_text("domain: d\ndescriptors: [{kez: a}]\n")
    done = weir("rules", "import", "--from", "envoy", str(file))
    assert done.returncode == 2 and f"{file}:2:16: descriptors[0].kez: unknown field (did you mean key?)" in done.stderr
    told = json.loads(weir("rules", "import", "--from", "envoy", str(file), "--json").stdout)
    assert not told["imported"] and len(told["errors"]) == 2
    assert weir("rules", "import", "--from", "kong", str(file)).returncode == 2
    assert weir("rules", "import", "--from", "envoy", str(tmp_path / "absent")).returncode == 2


def test_limitadors_limits_are_served_too(start, tmp_path):  # noqa: F811
    file = tmp_path / "limits.yaml"
    file.write_text("- {namespace: shop, max_value: 1, seconds: 31536000, conditions: [\"method == 'GET'\"], variables: [user]}\n")
    server = start("--rules", str(file), "--rules-format", "limitador")
    assert codes(server, 2, "shop", [("method", "GET"), ("user", "ann")]) == [200, 429]
    assert codes(server, 2, "shop", [("method", "PUT"), ("user", "ann")]) == [200, 200]
    assert weir("rules", "validate", "--format", "limitador", str(file)).returncode == 0


def test_weir_rules_answer_envoy_as_before(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(rules_text(2))
    server = start("--rules", str(tmp_path / "rules.yaml"))
    assert codes(server, 3, "any", [("tenant", "t")]) == [200, 200, 429]
