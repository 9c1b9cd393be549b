"""Penalties, challenges, reports and load shedding from outside, and the recipe of docs/login-protection.md."""

import http.client
import json
import pathlib
import re
import time
import urllib.error
import urllib.request

import pytest
import redis as redis_py
from page_runner import blocks_of
from redis_nodes import PATIENT, Redis
from test_cli import DEADLINE_S, start  # noqa: F401 (a fixture)

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "login-protection.md"
LOGIN = """version: 1
rules:
  - id: login-account
    match: {action: login}
    per: [account]
    algorithm: fixed-window
    limit: 2
    window: 3650d
    penalty: {after: 3, within: 1h, block: 30s, challenge: 1}
  - {id: asks, match: {action: signup}, per: [account], algorithm: fixed-window, limit: 1, window: 3650d, on_exceed: challenge}
"""


def ask(server, path, body):
    host, port = server.http.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.request("POST", path, json.dumps(body))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, json.loads(text) if text else None, dict(answer.getheaders())


def check(server, **attributes):
    return ask(server, "/v1/check", {"attributes": attributes})


def report(server, outcome, **attributes):
    status, body, _ = ask(server, "/v1/report", {"attributes": attributes, "outcome": outcome})
    assert status == 200, body
    return body


@pytest.fixture(params=["memory", "redis"])
def login(request, start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(LOGIN)
    if request.param == "memory":
        yield start("--rules", str(tmp_path / "rules.yaml"), "--listen-resp", "127.0.0.1:0")
        return
    redis = Redis(tmp_path)
    try:
        yield start("--rules", str(tmp_path / "rules.yaml"), "--listen-resp", "127.0.0.1:0", "--store", redis.url,
                    "--redis-deadline", PATIENT)
    finally:
        redis.kill()


def test_failures_lead_to_a_challenge_and_then_to_a_refusal(login):
    ann = {"action": "login", "account": "ann"}
    assert report(login, "failure", **ann)["allowed"]
    assert report(login, "failure", **ann)["allowed"]
    assert report(login, "failure", **ann)["reason"] == "challenge"
    status, body, headers = check(login, **ann)
    assert status == 403 and body["code"] == "challenge" and "Retry-After" in headers, body
    assert check(login, action="login", account="bob")[0] == 200
    assert report(login, "success", **ann)["allowed"]
    assert check(login, **ann)[0] == 200
    for _ in range(3):
        last = report(login, "failure", **ann)
    assert last["reason"] == "penalized", last
    status, body, headers = check(login, **ann)
    assert status == 429 and body["code"] == "penalized", body
    assert 55 <= int(headers["Retry-After"]) <= 60, "the second step lasts twice as long"


def test_denials_are_strikes_and_refusals_by_the_penalty_are_none(login):
    eve = {"action": "login", "account": "eve"}
    for _ in range(2):
        assert check(login, **eve)[0] == 200
    for _ in range(2):
        assert check(login, **eve)[1]["reason"] == "limit_exceeded"
    for _ in range(20):
        assert check(login, **eve)[1]["reason"] == "challenge"
    report(login, "success", **eve)
    assert check(login, **eve)[1]["reason"] == "limit_exceeded", "one strike, not twenty"


def test_a_challenge_of_a_rule_is_cleared_by_a_success(login):
    zoe = {"action": "signup", "account": "zoe"}
    assert check(login, **zoe)[0] == 200
    assert check(login, **zoe)[0] == 403
    report(login, "failure", **zoe)
    assert check(login, **zoe)[0] == 403
    report(login, "success", **zoe)
    assert check(login, **zoe)[0] == 200


MESSAGES = """version: 1
rules:
  - {id: login, match: {action: login}, per: [account], limit: 1, window: 1m, message: "wait {wait}",
     penalty: {after: 1, within: 1h, block: 10m, decay: 1h}}
  - {id: signup, match: {action: signup}, per: [account], limit: 1, window: 1h, on_exceed: challenge, message: "solve it"}
"""


def test_penalties_and_challenges_have_the_message_of_the_rule(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(MESSAGES)
    server = start("--rules", str(tmp_path / "rules.yaml"))
    answers = [check(server, action="login", account="ann")[1] for _ in range(3)]
    assert [each["reason"] for each in answers] == ["ok", "penalized", "penalized"]
    assert answers[2]["message"] == "wait 10 min"
    answers = [check(server, action="signup", account="ann")[1] for _ in range(2)]
    assert (answers[1]["reason"], answers[1]["message"]) == ("challenge", "solve it")


def test_the_redis_protocol_reports_too(login):
    host, port = login.await_event("listening")["resp"].rsplit(":", 1)
    client = redis_py.Redis(host=host, port=int(port), decode_responses=True)
    for _ in range(2):
        client.execute_command("WEIR.REPORT", "FAILURE", "DURATION", "20", "action", "login", "account", "kim")
    reply = client.execute_command("WEIR.REPORT", "FAILURE", "action", "login", "account", "kim")
    assert "challenge" in reply, reply
    with pytest.raises(redis_py.ResponseError, match="DURATION: is given twice"):
        client.execute_command("WEIR.REPORT", "FAILURE", "DURATION", "1", "DURATION", "2", "account", "kim")
    with pytest.raises(redis_py.ResponseError, match="FAILURE or SUCCESS"):
        client.execute_command("WEIR.REPORT", "MAYBE", "action", "login")


@pytest.mark.parametrize("body,expected", [
    ({"attributes": {"a": "b"}}, "outcome: is missing"),
    ({"attributes": {"a": "b"}, "outcome": "maybe"}, "outcome: must be"),
    ({"attributes": {"a": "b"}, "outcome": "failure", "duration_ms": -1}, "duration_ms: must be"),
    ({"attributes": {"a": "b"}, "outcome": "failure", "cost": 1}, "cost: is not known here"),
    ({"outcome": "failure"}, "attributes: is missing"),
])
def test_a_report_that_says_too_little_or_too_much_is_refused(login, body, expected):
    status, problem, _ = ask(login, "/v1/report", body)
    assert status == 400 and expected in problem["detail"], problem


def test_the_recipe_stops_guessing_and_gives_no_account_away(start, tmp_path):  # noqa: F811
    recipe = [body for kind, body in blocks_of(PAGE) if kind == "yaml rules"][-1]
    (tmp_path / "rules.yaml").write_text(recipe)
    server = start("--rules", str(tmp_path / "rules.yaml"))

    def attempt(account, ip, exists):
        attributes = {"action": "login", "account": account, "ip": ip, "subnet": ip.rsplit(".", 1)[0]}
        status, body, _ = check(server, **attributes)
        if status == 200:
            report(server, "failure", **attributes)  # wrong password, or no such account: the same
        return status, {name: value for name, value in body.items() if name in ("code", "reason", "rule", "rules")}

    answers = {}
    for account, exists in (("ann", True), ("nobody-of-that-name", False)):
        answers[account] = [attempt(account, f"198.51.100.{number}", exists) for number in range(6)]
    assert answers["ann"] == answers["nobody-of-that-name"]
    assert [status for status, _ in answers["ann"]] == [200, 200, 200, 429, 429, 429]
    assert answers["ann"][-1][1]["reason"] == "limit_exceeded", "hidden: not even which kind of limit"
    # One client that tries an account each.
    statuses = [attempt(f"user{number}", "203.0.113.9", True)[0] for number in range(30)]
    assert statuses.count(200) == 20 and statuses[-1] == 429


SHEDDING = """version: 1
shedding:
  capacity: {rate: 10/h}
  classes:
    - {name: critical, match: {action: pay}, shed_at: never}
    - {name: read, shed_at: 50%}
rules: []
"""


def test_a_shed_request_is_503_with_a_wait_on_every_front_end(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(SHEDDING)
    server = start("--rules", str(tmp_path / "rules.yaml"), "--listen-resp", "127.0.0.1:0")
    assert [check(server, tenant="t")[0] for _ in range(7)] == [200] * 6 + [503]
    assert all(check(server, action="pay")[0] == 200 for _ in range(10))
    status, body, headers = check(server, tenant="t")
    assert status == 503 and body["code"] == "shed" and int(headers["Retry-After"]) >= 1, body
    waits = {check(server, tenant="t")[1]["retry_after_ms"] for _ in range(20)}
    assert len(waits) > 5, waits
    status, lease, _ = ask(server, "/v1/leases", {"attributes": {"tenant": "t"}})
    assert status == 503 and lease["code"] == "shed", lease
    host, port = server.await_event("listening")["resp"].rsplit(":", 1)
    reply = redis_py.Redis(host=host, port=int(port), decode_responses=True).execute_command("WEIR.CHECK", "tenant", "t")
    assert "shed" in reply, reply
    with urllib.request.urlopen(f"http://{server.admin}/metrics") as metrics:
        text = metrics.read().decode()
    assert re.search(r'weir_shedding_requests_total\{class="critical",result="admitted"\} 10', text), text
    assert int(re.search(r'weir_shedding_requests_total\{class="read",result="shed"\} (\d+)', text)[1]) >= 22
    assert 'weir_shedding_active{class="read"} 1' in text


def recipe(page, rule):
    """The rules of the block that has this rule."""
    found = [text for info, text in blocks_of(page) if info == "yaml rules" and f"id: {rule}\n" in text]
    assert len(found) == 1, (rule, len(found))
    return found[0]


@pytest.fixture(params=["memory", "redis"])
def serve(request, start, tmp_path):  # noqa: F811
    """A server with these rules, on each store."""
    redis = Redis(tmp_path) if request.param == "redis" else None

    def run(rules):
        (tmp_path / "rules.yaml").write_text(rules)
        store = [] if redis is None else ["--store", redis.url, "--redis-deadline", PATIENT]
        return start("--rules", str(tmp_path / "rules.yaml"), *store)

    yield run
    if redis is not None:
        redis.kill()


def test_an_address_may_try_ten_accounts_and_is_then_refused_for_longer_and_longer(serve):
    server = serve(recipe(PAGE, "stuffing"))
    for number in range(10):
        for _ in range(3):
            assert check(server, action="login", ip="192.0.2.1", account=f"account-{number}")[0] == 200
    status, body, _ = check(server, action="login", ip="192.0.2.1", account="account-10")
    assert status == 429 and body["code"] == "limit_exceeded", body
    assert check(server, action="login", ip="192.0.2.1", account="account-3")[0] == 200, "it has been counted"
    assert check(server, action="login", ip="192.0.2.2", account="account-10")[0] == 200, "another address"
    for number in range(11, 13):
        last = check(server, action="login", ip="192.0.2.1", account=f"account-{number}")
    status, body, headers = check(server, action="login", ip="192.0.2.1", account="account-3")
    assert status == 429 and int(headers["Retry-After"]) > 590, (last, body)


def test_the_third_account_of_a_device_is_asked_for_a_challenge_that_clears_it(serve):
    server = serve(recipe(PAGE, "accounts-per-device"))
    for account in ("ann", "bob", "ann"):
        assert check(server, action="signup", device="d1", account=account)[0] == 200
    status, body, _ = check(server, action="signup", device="d1", account="carl")
    assert status == 403 and body["code"] == "challenge", body
    assert report(server, "success", action="signup", device="d1", account="carl")["allowed"]
    assert check(server, action="signup", device="d1", account="carl")[0] == 200


def test_a_key_works_from_twenty_addresses_and_the_next_one_is_told_so(serve):
    server = serve(recipe(PAGE, "addresses-per-key"))
    for number in range(20):
        assert check(server, api_key="k1", ip=f"192.0.2.{number}")[0] == 200
    status, body, _ = check(server, api_key="k1", ip="198.51.100.1")
    assert status == 429 and "too many addresses" in json.dumps(body), body
    assert check(server, api_key="k1", ip="192.0.2.7")[0] == 200
    assert check(server, api_key="k2", ip="198.51.100.1")[0] == 200
    status, answer, _ = check(server, api_key="k1")
    assert status == 200 and answer["reason"] == "no_rule", "without the value nothing is counted"


ADAPTS = """version: 1
rules:
  - {id: exports, match: {action: export}, per: [tenant], algorithm: concurrency, limit: {auto: {min: 2, max: 500}}, lease: 30s}
"""


def adaptive_limit(server):
    found = re.search(r'^weir_adaptive_limit\{rule="exports",subject="[0-9a-f]+"\} (\d+)$', server.metrics(), re.MULTILINE)
    return int(found[1]) if found else None


def send_reports(server, protocol, count):
    """As fast as one connection can, so that many are in progress at a time for the durations that they tell."""
    if protocol == "resp":
        host, port = server.await_event("listening")["resp"].rsplit(":", 1)
        connection = redis_py.Redis(host=host, port=int(port))
        for _ in range(count):
            connection.execute_command("WEIR.REPORT", "SUCCESS", "DURATION", 100, "tenant", "acme", "action", "export")
        return connection.close()
    host, port = server.http.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    body = json.dumps({"attributes": {"tenant": "acme", "action": "export"}, "outcome": "success", "duration_ms": 100})
    for _ in range(count):
        connection.request("POST", "/v1/report", body)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
    connection.close()


@pytest.mark.parametrize("protocol", ["http", "resp"])
def test_reported_durations_move_a_limit_that_adapts(start, tmp_path, protocol):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(ADAPTS)
    server = start("--rules", str(tmp_path / "rules.yaml"), "--listen-resp", "127.0.0.1:0")
    assert adaptive_limit(server) is None
    end = time.monotonic() + DEADLINE_S
    while (adaptive_limit(server) or 0) <= 4 and time.monotonic() < end:  # from round to round, each longer than the work
        send_reports(server, protocol, 200)
    assert adaptive_limit(server) > 4
    status, lease, _ = ask(server, "/v1/leases", {"attributes": {"tenant": "acme", "action": "export"}})
    assert status == 201
    release = urllib.request.Request(f"http://{server.http}/v1/leases/{lease['lease']}", method="DELETE")
    assert urllib.request.urlopen(release, timeout=10).status == 204
    assert adaptive_limit(server) == 2, "a lease was released: from now on leases count, and the limit begins again"
    send_reports(server, protocol, 300)
    assert adaptive_limit(server) == 2, "work with a lease does not count twice"


def test_a_gateway_can_tell_a_challenge_from_a_block(start, tmp_path):  # noqa: F811
    rules = """version: 1
rules:
  - {id: page, match: {path: "/signup*"}, per: [ip], algorithm: fixed-window, limit: 1, window: 3650d, on_exceed: challenge}
blocks:
  - {when: {ip: 198.51.100.7}, reason: scraping}
"""
    (tmp_path / "rules.yaml").write_text(rules)
    server = start("--rules", str(tmp_path / "rules.yaml"))

    def forward(address):
        request = urllib.request.Request(f"http://{server.http}/v1/forward-auth?deny_status=403", headers={
            "X-Forwarded-Uri": "/signup", "X-Forwarded-Method": "GET", "X-Forwarded-For": address})
        try:
            urllib.request.urlopen(request, timeout=10)
        except urllib.error.HTTPError as error:
            return error.code, error.headers["Weir-Status"], error.headers["Weir-Reason"]

    assert forward("192.0.2.1") is None, "the first one is allowed"
    assert forward("192.0.2.1") == (403, "403", "challenge")
    assert forward("198.51.100.7") == (403, "403", "blocked")
