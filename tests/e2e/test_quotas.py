"""Calendar quotas from outside: rules, checks, reservations, accounts, and what is refused."""

import hashlib
import hmac
import http.server
import json
import os
import threading
import time

import pytest
from postgres_node import Postgres
from quota_faults import Node
from test_cli import start, weir  # noqa: F401 (start is a fixture)
from test_leases import ask

DEADLINE_S = 20
WEIR = os.environ["WEIR_BIN"]


def rules_of(limit=10, **fields):
    more = "".join(f", {name}: {value}" for name, value in fields.items())
    return f"""version: 1
rules:
  - {{id: exports, match: {{action: export}}, per: [tenant], algorithm: quota, limit: {limit}, period: month{more}}}
  - {{id: rate, match: {{action: export}}, per: [tenant], limit: 1000, window: 3600s, burst: 1000, on_store_failure: deny}}
"""


@pytest.fixture
def serve(start, tmp_path):  # noqa: F811
    def begin(text, *flags):
        path = tmp_path / "rules.yaml"
        path.write_text(text)
        # Handles of reservations are to be good after a restart.
        key = tmp_path / "hash_key"
        server = start("--rules", str(path), "--data-dir", str(tmp_path / "state"), "--hash-key-file", str(key), *flags)
        wait_usable(server)
        return server

    return begin


def wait_usable(server):
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if json.loads(server.call("/readyz", listener=server.admin)[1])["quota"]["usable"]:
            return
        time.sleep(0.02)
    raise AssertionError("the gate is not usable")


def check(server, cost=1, tenant="acme", **members):
    return ask(server, "POST", "/v1/check", {"attributes": {"tenant": tenant, "action": "export"}, "cost": cost, **members})


def rule(answer, name):
    return next(each for each in answer["rules"] if each["rule"] == name)


def quotas(server, tenant="acme"):
    status, answer, _ = ask(server, "GET", f"/v1/quotas?tenant={tenant}")
    assert status == 200, answer
    return answer["quotas"]


def account(server, tenant="acme", rule="exports"):
    return next(each for each in quotas(server, tenant) if each["rule"] == rule)


def settled(server, used, tenant="acme"):
    """The account, when everything that was admitted is reported and what was idle is given back."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        now = account(server, tenant)
        if now["used"] == used and now["held"] == 0:
            return now
        time.sleep(0.05)
    raise AssertionError(account(server, tenant))


def verify(tmp_path):
    done = weir("quota", "verify", "--json", "--data-dir", str(tmp_path / "state"))
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("mode", ["leased", "strict"])
def test_exactly_the_limit_is_admitted_and_billed(serve, tmp_path, mode):
    server = serve(rules_of(enforcement=mode))
    answers = [check(server) for _ in range(13)]
    assert [status for status, _, _ in answers] == [200] * 10 + [429] * 3
    status, denied, headers = answers[-1]
    assert denied["code"] == "quota_exceeded" and denied["rule"] == "exports", denied
    assert int(headers["Retry-After"]) > 0 and denied["remaining"] == 0
    now = settled(server, 10)
    assert now["limit"] == 10 and now["available"] == 0 and now["tenant"] == "acme"
    _, allowed, _ = answers[0]
    assert rule(allowed, "exports")["limit"] == 10
    assert verify(tmp_path)["ok"]
    assert rule(check(server, tenant="other")[1], "rate")["remaining"] == 999, "a quota that denies leaves the rate alone"


@pytest.mark.parametrize("mode", ["leased", "strict"])
def test_a_quota_that_denies_charges_no_bucket_and_a_bucket_that_denies_no_quota(serve, mode):
    text = rules_of(limit=5, enforcement=mode).replace("limit: 1000, window: 3600s, burst: 1000", "limit: 3, window: 3600s, burst: 3")
    server = serve(text)
    assert [check(server)[0] for _ in range(4)] == [200, 200, 200, 429]
    assert settled(server, 3)["available"] == 2
    assert check(server, cost=6)[1]["code"] == "cost_too_large"
    text = text.replace("limit: 3, window: 3600s, burst: 3", "limit: 1000, window: 3600s, burst: 1000").replace("id: rate", "id: rate2")
    server.stop()
    server = serve(text)
    assert [check(server)[0] for _ in range(4)] == [200, 200, 429, 429]
    peeked = check(server, peek=True)[1]
    assert rule(peeked, "rate2")["remaining"] == 998, "what the quota denied gave the rate back"


def test_usage_survives_a_restart_and_kill_loses_at_most_a_group(serve, tmp_path):
    server = serve(rules_of(limit=1000))
    for _ in range(20):
        assert check(server)[0] == 200
    time.sleep(0.1)  # one group of the usage log
    server.process.kill()
    server.process.wait()
    server = serve(rules_of(limit=1000))
    deadline = time.monotonic() + DEADLINE_S
    while account(server)["used"] < 20 and time.monotonic() < deadline:
        time.sleep(0.05)
    now = account(server)
    assert now["used"] == 20, now
    assert now["used"] + now["available"] + now["held"] + now["expired"] == 1000
    assert verify(tmp_path)["ok"]


def test_grace_overage_and_notices(serve, tmp_path):
    seen = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((dict(self.headers), body))
            self.send_response(500 if len(seen) == 1 else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    url = f"http://127.0.0.1:{receiver.server_port}/hook"
    server = serve(rules_of(limit=10, grace="20%", notify="[80%, 100%]", enforcement="strict"), "--quota-webhook", url,
                   "--quota-webhook-secret-file", str(secret))
    assert [check(server)[0] for _ in range(13)] == [200] * 12 + [429]
    assert account(server)["grace_used"] == 2
    deadline = time.monotonic() + DEADLINE_S
    while len(seen) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    receiver.shutdown()
    assert [json.loads(body)["threshold"] for _, body in seen] == [8, 8, 10], "the first is tried again"
    headers, body = seen[0]
    expected = hmac.new(b"s3cret", headers["X-Weir-Timestamp"].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Weir-Signature"] == "sha256=" + expected
    assert headers["Host"] == f"127.0.0.1:{receiver.server_port}"
    told = json.loads(body)
    assert told["rule"] == "exports" and told["tenant"] == "acme" and told["limit"] == 10 and told["used"] >= 8


def test_of_two_nodes_one_tells_of_a_threshold(tmp_path):
    """The receiver is slow, so that the other node looks while the first is telling."""
    seen = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["threshold"])
            time.sleep(2.5)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    rules = tmp_path / "rules.yaml"
    rules.write_text(rules_of(limit=10, notify="[5, 8]", enforcement="strict"))
    postgres, nodes = Postgres(), []
    try:
        url = f"http://127.0.0.1:{receiver.server_port}/hook"
        nodes = [Node(WEIR, tmp_path / f"n{i}", postgres.url, rules, 30, ("--quota-webhook", url)) for i in range(2)]
        body = {"attributes": {"tenant": "acme", "action": "export"}, "cost": 6}
        deadline = time.monotonic() + DEADLINE_S
        while nodes[0].call("POST", "/v1/check", body, 10)[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert nodes[1].call("POST", "/v1/check", {**body, "cost": 3}, 10)[0] == 200

        def delivered():
            metrics = [node.call("GET", "/metrics", None, 10, listener="admin")[1].decode() for node in nodes]
            return sum(int(float(line.split()[1])) for text in metrics for line in text.splitlines() if line.startswith("weir_quota_notices_total"))

        deadline = time.monotonic() + 3 * DEADLINE_S
        while delivered() < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert delivered() == 2 and sorted(seen) == [5, 8], seen
        for node in nodes:  # what is still being told ends with the node
            node.stop()
        assert sorted(seen) == [5, 8], seen
    finally:
        for node in nodes:
            node.kill()
        postgres.close()
        receiver.shutdown()


def test_recorded_overage_is_admitted_without_bound(serve):
    server = serve(rules_of(limit=3, overage="record"))
    assert [check(server)[0] for _ in range(8)] == [200] * 8
    assert settled(server, 8)["overage"] == 5


def test_a_batch_and_a_hierarchy_are_all_or_none(serve):
    server = serve("""version: 1
rules:
  - {id: tenant-day, per: [tenant], algorithm: quota, limit: 10, period: day}
  - {id: user-day, per: [tenant, user], algorithm: quota, limit: 4, period: day, enforcement: strict}
""")
    requests = [{"attributes": {"tenant": "t", "user": "a"}} for _ in range(6)]
    status, answer, _ = ask(server, "POST", "/v1/check/batch", {"requests": requests})
    assert status == 200 and sum(each["allowed"] for each in answer["decisions"]) == 4, answer
    requests = [{"attributes": {"tenant": "t", "user": user}} for user in "bbbbbb"]
    answer = ask(server, "POST", "/v1/check/batch", {"requests": requests})[1]
    assert sum(each["allowed"] for each in answer["decisions"]) == 4
    requests = [{"attributes": {"tenant": "t", "user": "c"}} for _ in range(4)]
    answer = ask(server, "POST", "/v1/check/batch", {"requests": requests})[1]
    assert sum(each["allowed"] for each in answer["decisions"]) == 2, "the tenant has ten"
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        accounts = {(each["rule"], each["subject"]): each for each in quotas(server, "t")}
        if accounts[("tenant-day", "tenant=t")]["used"] == 10:
            break
        time.sleep(0.05)
    assert accounts[("tenant-day", "tenant=t")]["used"] == 10
    assert accounts[("user-day", "tenant=t,user=c")]["used"] == 2


def test_reservations_hold_quota_and_settle_it(serve, tmp_path):
    server = serve(rules_of(limit=100))
    body = {"attributes": {"tenant": "acme", "action": "export"}, "amount": 40, "ttl_ms": 60_000}
    status, made, _ = ask(server, "POST", "/v1/reservations", body)
    assert status == 201 and made["granted"] == 40, made
    now = account(server)
    assert (now["held"], now["available"], now["used"]) == (40, 60, 0)
    assert ask(server, "POST", "/v1/reservations", {**body, "amount": 61})[1]["code"] == "quota_exceeded"
    server.stop()
    server = serve(rules_of(limit=100))
    path = "/v1/reservations/" + made["reservation"]
    status, told, _ = ask(server, "GET", path)
    assert status == 200 and told["state"] == "open" and told["granted"] == 40, told
    status, done, _ = ask(server, "POST", path + "/commit", {"actual": 25})
    assert status == 200 and done["state"] == "committed" and done["returned"] == 15, done
    now = account(server)
    assert (now["held"], now["available"], now["used"]) == (0, 75, 25)
    assert ask(server, "POST", path + "/release")[0] == 409
    status, more, _ = ask(server, "POST", "/v1/reservations", {**body, "amount": 500, "partial": True})
    assert status == 201 and more["granted"] == 75, more
    assert ask(server, "POST", "/v1/reservations/" + more["reservation"] + "/release")[0] == 200
    assert account(server)["available"] == 75
    assert verify(tmp_path)["ok"]


def test_refund_gives_back_at_most_what_was_used_and_reset_nothing(serve):
    server = serve(rules_of(limit=10, enforcement="strict"))
    for _ in range(4):
        check(server)
    refund = {"attributes": {"tenant": "acme", "action": "export"}, "cost": 3}
    assert ask(server, "POST", "/v1/refund", refund)[0] == 200
    assert account(server)["used"] == 1
    assert ask(server, "POST", "/v1/refund", refund)[0] == 200
    assert account(server)["used"] == 0 and account(server)["available"] == 10
    check(server)
    assert ask(server, "POST", "/v1/reset", {"attributes": refund["attributes"]})[0] == 200
    assert account(server)["used"] == 1


def test_usage_that_has_happened_is_recorded_once(serve, tmp_path):
    server = serve(rules_of(limit=10).replace("limit: 1000, window: 3600s, burst: 1000", "limit: 5, window: 3600s, burst: 5, overdraft: 100"))
    attributes = {"tenant": "acme", "action": "export"}
    body = {"attributes": attributes, "amount": 12, "id": "job-1"}
    status, answer, _ = ask(server, "POST", "/v1/usage", body)
    assert status == 200 and answer["results"][0]["recorded"] and not answer["results"][0]["duplicate"], answer
    assert answer["results"][0]["overage"] == 2 and answer["results"][0]["rules"] == 2, answer
    assert ask(server, "POST", "/v1/usage", body)[1]["results"][0]["duplicate"]
    now = account(server)
    assert now["used"] == 12 and now["overage"] == 2
    status, denied, headers = check(server)
    assert status == 429 and int(headers["Retry-After"]) > 0
    event = {"specversion": "1.0", "type": "x", "source": "/jobs", "id": "1", "data": {"attributes": attributes, "amount": 3}}
    events = [event, {**event, "id": "2"}, event]
    batch = {"Content-Type": "application/cloudevents-batch+json"}
    status, answer, _ = ask(server, "POST", "/v1/usage", events, batch)
    assert status == 200 and len(answer["results"]) == 3, answer
    assert account(server)["used"] == 18
    one = {"Content-Type": "application/cloudevents+json"}
    assert ask(server, "POST", "/v1/usage", event, one)[1]["results"][0]["duplicate"]
    old = {**body, "id": "old", "at": "2020-01-01T00:00:00Z"}
    status, answer, _ = ask(server, "POST", "/v1/usage", old)
    assert status == 400 and "closed" in answer["detail"], answer
    ahead = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    status, answer, _ = ask(server, "POST", "/v1/usage", {**body, "id": "ahead", "at": ahead})
    assert status == 400 and "in the future" in answer["detail"], answer
    for bad, what in (({"amount": -1}, "amount"), ({"amount": 1.5}, "amount"), ({"at": "soon"}, "at"), ({"x": 1}, "x")):
        status, answer, _ = ask(server, "POST", "/v1/usage", {**body, **bad})
        assert status == 400 and answer["detail"].startswith(what), answer
    assert account(server)["used"] == 18
    assert len(quotas(server)) == 1, "what was refused opened no account"
    shown = weir("quota", "show", "--json", "--data-dir", str(tmp_path / "state"))
    assert len(json.loads(shown.stdout)) == 1, shown.stdout


def test_usage_works_without_a_database(start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text("version: 1\nrules: [{id: rate, per: [tenant], limit: 5, window: 3600s}]\n")
    server = start("--rules", str(path), "--database", "off")
    status, answer, _ = ask(server, "POST", "/v1/usage", {"attributes": {"tenant": "acme"}, "amount": 7})
    assert status == 200 and answer["results"][0]["debt"] >= 2, answer
    assert ask(server, "POST", "/v1/check", {"attributes": {"tenant": "acme"}})[0] == 429


def test_grants_corrections_and_export_on_the_command_line(serve, tmp_path):
    server = serve(rules_of(limit=5, enforcement="strict"))
    for _ in range(5):
        check(server)
    at = ["--data-dir", str(tmp_path / "state"), "--json"]
    done = weir("quota", "grant", "exports", "tenant=acme", "--amount", "3", "--reason", "top-up", *at)
    assert done.returncode == 0, done.stderr + done.stdout
    assert json.loads(done.stdout)[0]["available"] == 3
    assert [check(server)[0] for _ in range(4)] == [200, 200, 200, 429]
    done = weir("quota", "adjust", "exports", "tenant=acme", "--amount", "-2", "--reason", "failed", *at)
    assert done.returncode == 0 and json.loads(done.stdout)[0]["used"] == 6, done.stdout
    assert quotas(server)[0]["grants"][0]["amount"] == 3
    shown = weir("quota", "show", "--tenant", "acme", *at)
    assert json.loads(shown.stdout)[0]["used"] == 6
    nothing = weir("quota", "grant", "exports", "tenant=nobody", "--amount", "3", "--reason", "x", *at)
    assert nothing.returncode == 3 and "no account" in nothing.stdout
    exported = weir("quota", "export", *at[:2])
    lines = [json.loads(line) for line in exported.stdout.splitlines()]
    assert [line["kind"] for line in lines].count("take") == 8
    cursor = exported.stderr.split()[-1]
    check(server)
    more = weir("quota", "export", "--after", cursor, *at[:2])
    assert [json.loads(line)["kind"] for line in more.stdout.splitlines()] == ["take"]
    assert weir("quota", "reconcile", *at).returncode == 0
    assert weir("database", "status", *at[:2]).returncode == 0
    copy = tmp_path / "copy.db"
    assert weir("database", "backup", str(copy), *at[:2]).returncode == 0
    assert weir("quota", "verify", "--database", f"sqlite:{copy}").returncode == 0


def test_what_cannot_be_kept_is_refused_with_a_reason(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(rules_of())
    common = ["serve", "--listen-http", "127.0.0.1:0", "--listen-admin", "off", "--rules", str(path)]
    done = weir(*common, "--database", "off")
    assert done.returncode in (2, 3) and "rule exports: algorithm: quota needs a database" in done.stderr, done.stderr
    key = tmp_path / "hash_key"
    done = weir(*common, "--store", "redis://127.0.0.1:1", "--data-dir", str(tmp_path / "state"), "--hash-key-file", str(key))
    assert done.returncode in (2, 3) and "single_node: true" in done.stderr, done.stderr


def test_bad_queries_are_told_what_is_wrong(serve):
    server = serve(rules_of())
    assert ask(server, "GET", "/v1/quotas")[0] == 400
    assert "unknown query parameter" in ask(server, "GET", "/v1/quotas?tenant=a&color=red")[1]["detail"]
    assert quotas(server, "nobody") == []
