"""Resets over the HTTP API (`weir reset`) leave exactly one entry in the audit trail each, and never wait for the database."""

import json
import subprocess
import time

import pytest
from admin_client import Admin
from postgres_server import postgres, postgres_server  # noqa: F401 (fixtures)
from test_cli import DEADLINE_S, QUIET, WEIR, rules_text, start  # noqa: F401 (start is a fixture)

# What changes something for operators, and what is the traffic of applications (docs/admin.md).
AUDITED = {"POST /v1/reset"}
TRAFFIC = {
    "POST /v1/check", "POST /v1/check/batch", "POST /v1/refund", "POST /v1/report", "POST /v1/usage", "POST /json",
    *(f"{method} /v1/forward-auth" for method in ("POST", "PUT", "PATCH", "DELETE")),
    "POST /v1/leases", "POST /v1/leases/{handle}/renew", "DELETE /v1/leases/{handle}",
    "POST /v1/reservations", "POST /v1/reservations/{handle}/commit", "POST /v1/reservations/{handle}/release", "POST /v1/reservations/{handle}/extend",
}


def resets(admin):
    return admin.audit(action="subject.reset", limit=1000)


def await_resets(admin, count):
    end = time.monotonic() + DEADLINE_S
    found = None
    while time.monotonic() < end:
        status, found, _ = admin.call("GET", "/audit?action=subject.reset&limit=1000")
        if status == 200 and len(found["items"]) >= count:
            break
        time.sleep(0.05)
    assert len(found["items"]) == count, found
    return found["items"]


def reset(server, tenant="acme", **more):
    headers = more.pop("headers", {})
    return server.call("/v1/reset", {"attributes": {"tenant": tenant}, **more}, headers=headers)


@pytest.fixture
def rules_file(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(rules_text(2))
    return path


def test_every_changing_route_is_audited_or_traffic(start):  # noqa: F811
    server = start()
    paths = json.loads(server.call("/openapi.json")[1])["paths"]
    changing = {f"{method.upper()} {path}" for path, each in paths.items() if not path.startswith(("/admin/", "/console"))
                for method in each if method in ("post", "put", "patch", "delete")}
    assert changing - TRAFFIC == AUDITED and "POST /v1/check" in changing


def test_a_reset_has_one_entry_that_says_who_whom_and_why(start, rules_file, tmp_path):  # noqa: F811
    made = subprocess.run([WEIR, "token", "hash"], input="secret-token-of-support\n", text=True, capture_output=True, env=QUIET, check=True)
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{made.stdout.split()[0]} support\n")
    server = start("--rules", str(rules_file), "--http-tokens-file", str(tokens))
    admin = Admin(server.admin)
    command = [WEIR, "reset", "tenant=acme", "--server", f"http://{server.http}", "--reason", "a broken client"]
    done = subprocess.run(command, text=True, capture_output=True, env={**QUIET, "WEIR_TOKEN": "secret-token-of-support"})
    assert done.returncode == 0, done.stderr
    [entry] = await_resets(admin, 1)
    assert (entry["actor"], entry["from"], entry["object"], entry["reason"]) == ("http:support", "127.0.0.1", "subject", "a broken client")
    assert entry["after"]["outcome"] == "done"
    [rule] = entry["after"]["rules"]
    assert rule["rule"] == "per-tenant" and len(rule["subject"]) == 12
    assert "acme" not in json.dumps(entry), "the trail has no identities unless that is configured"
    line = server.await_event("audit")
    assert line["action"] == "subject.reset" and line["actor"] == "http:support"


def test_attributes_are_named_where_logs_may_name_them_but_secrets_never(start, rules_file):  # noqa: F811
    server = start("--rules", str(rules_file), "--log-subjects", "plain")
    admin = Admin(server.admin)
    body = {"attributes": {"tenant": "acme", "api_key": "k-very-secret"}}
    assert server.call("/v1/reset", body)[0] == 200
    [entry] = await_resets(admin, 1)
    assert entry["after"]["attributes"]["tenant"] == "acme" and entry["after"]["attributes"]["api_key"].startswith("#")
    admin.post("/reset", {**body, "reason": "over the admin API"}, 200)
    assert "k-very-secret" not in json.dumps(await_resets(admin, 2))


def test_repeated_and_refused_resets_have_no_entry_of_their_own(start, rules_file):  # noqa: F811
    server = start("--rules", str(rules_file))
    admin = Admin(server.admin)
    key = {"Idempotency-Key": "once"}
    assert reset(server, headers=key)[0] == 200 and reset(server, headers=key)[0] == 200
    assert reset(server, reason="")[0] == 400
    assert reset(server, reason="x" * 2001)[0] == 400
    assert reset(server, reason="a\u0000b")[0] == 400
    assert server.call("/v1/refund", {"attributes": {"tenant": "acme"}, "reason": "no"})[0] == 400
    assert reset(server, tenant="last", reason="ends the list")[0] == 200
    assert [each["reason"] for each in await_resets(admin, 2)] == ["ends the list", ""]


def test_entries_wait_for_a_database_that_is_away_and_are_written_once(start, rules_file, postgres):  # noqa: F811
    server = start("--rules", str(rules_file), "--database", postgres.url)
    admin = Admin(server.admin)
    assert reset(server, reason="before")[0] == 200
    await_resets(admin, 1)
    postgres.kill()
    for number in range(20):
        assert reset(server, tenant=f"t{number}", reason="away")[0] == 200, "a reset does not wait for the database"
    assert server.check() == 200
    postgres.start()
    reasons = [each["reason"] for each in await_resets(admin, 21)]
    assert reasons.count("away") == 20
    metrics = server.metrics()
    assert 'weir_audit_queued_total{result="written"} 21' in metrics and "weir_audit_waiting 0" in metrics


def test_entries_are_written_before_the_server_ends(start, rules_file, tmp_path):  # noqa: F811
    state = f"sqlite:{tmp_path}/kept.db"
    server = start("--rules", str(rules_file), "--database", state)
    for number in range(30):
        assert reset(server, tenant=f"t{number}")[0] == 200
    assert server.stop() == 0
    assert len(resets(Admin(start("--rules", str(rules_file), "--database", state).admin))) == 30


def test_without_a_database_a_reset_is_logged(start, rules_file):  # noqa: F811
    server = start("--rules", str(rules_file), "--database", "off")
    assert reset(server, reason="no database")[0] == 200
    assert server.await_event("audit")["reason"] == "no database"
