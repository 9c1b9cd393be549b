"""Accounts of quotas in the admin API and on the command line; plan changes, keys, retention, the key in data_dir."""

import datetime
import json
import os
import stat
import time

import pytest
from admin_client import Admin
from test_cli import start, weir  # noqa: F401 (start is a fixture)
from test_leases import ask
from test_quotas import check, rules_of, settled, verify, wait_usable

ADMIN_TOKEN = "a-token-for-admins-1"


@pytest.fixture
def serve(start, tmp_path):  # noqa: F811
    def begin(text, *flags):
        (tmp_path / "rules.yaml").write_text(text)
        server = start("--rules", str(tmp_path / "rules.yaml"), "--data-dir", str(tmp_path / "state"), *flags)
        wait_usable(server)
        return server

    return begin


def account_of(admin, tenant="acme"):
    return admin.get(f"/accounts?tenant={tenant}")["items"][0]


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_an_account_is_listed_with_its_series_entries_and_forecast(serve):
    server = serve(rules_of(limit=100, enforcement="strict"))
    admin = Admin(server.admin)
    assert "accounts" in admin.get("/session")["features"]
    for cost in (10, 20):
        assert check(server, cost)[0] == 200
    listed = account_of(admin)
    assert (listed["used"], listed["available"], listed["limit"], listed["rule"]) == (30, 70, 100, "exports")
    assert moment(listed["forecast_at"]) > moment(listed["begins_at"])
    shown = admin.get(f"/accounts/{listed['id']}")
    assert [each["kind"] for each in shown["entries"]] == ["take", "take", "allowance"]
    assert [each["amount"] for each in shown["entries"]] == [20, 10, 100]
    used = shown["series"]["used"]
    assert used[0] == 0 and used == sorted(used) and used[-1] in (0, 10, 30)
    page = admin.get(f"/accounts/{listed['id']}?limit=2")
    rest = admin.get(f"/accounts/{listed['id']}?limit=2&cursor={page['next']}")
    assert [each["id"] for each in page["entries"] + rest["entries"]] == ["3", "2", "1"] and rest["next"] is None


def test_accounts_come_page_by_page_each_once(serve):
    server = serve(rules_of(enforcement="strict"))
    for number in range(5):
        check(server, tenant=f"t{number}")
    admin, seen, cursor = Admin(server.admin), [], ""
    while cursor is not None:
        page = admin.get(f"/accounts?limit=2&rule=exports{cursor and '&cursor=' + cursor}")
        seen += [each["tenant"] for each in page["items"]]
        cursor = page["next"]
    assert seen == [f"t{number}" for number in range(5)]
    assert admin.get("/accounts?subject=tenant%3Dt3")["items"][0]["tenant"] == "t3"
    assert admin.get("/accounts?period=1999-01")["items"] == []


def test_a_grant_an_adjustment_and_a_reversal_are_entries_with_actor_and_reason(serve, tmp_path):
    server = serve(rules_of(limit=10, enforcement="strict"))
    admin = Admin(server.admin)
    assert check(server, 10)[0] == 200 and check(server)[0] == 429
    path = f"/accounts/{account_of(admin)['id']}"
    granted = admin.post(path + "/grant", {"amount": 5, "expires_at": "90d", "priority": 1, "reason": "invoice 4711"}, 200)
    assert (granted["changed"], granted["granted"], granted["available"]) == (5, 5, 5)
    assert check(server, 5)[0] == 200
    assert admin.post(path + "/adjust", {"amount": -3, "reason": "failed exports"}, 200)["used"] == 12
    take = next(each for each in admin.get(path)["entries"] if each["kind"] == "take" and each["amount"] == 5)
    assert admin.post(path + "/reverse", {"operation": take["operation"], "reason": "twice"}, 200)["used"] == 7
    again = admin.post(path + "/reverse", {"operation": take["operation"], "reason": "twice"}, 409)
    assert again["code"] == "reversed" and "before" in again["detail"]
    trail = admin.audit(action="account")
    assert [each["action"] for each in trail] == ["account.reverse", "account.adjust", "account.grant"]
    assert trail[1]["before"]["used"] == 15 and trail[1]["after"]["used"] == 12 and trail[1]["reason"] == "failed exports"
    shown = admin.get(path)
    assert next(each for each in shown["entries"] if each["kind"] == "grant")["actor"] == "anonymous"
    assert shown["grants"][0]["reason"] == "invoice 4711" and shown["grants"][0]["priority"] == 1
    assert verify(tmp_path)["ok"]


def test_the_same_key_grants_once_also_after_a_restart(serve):
    server = serve(rules_of(limit=10, enforcement="strict"))
    check(server, 10)
    body, key = {"amount": 5, "reason": "invoice 1"}, {"Idempotency-Key": "invoice-1"}
    admin = Admin(server.admin)
    path = f"/accounts/{account_of(admin)['id']}/grant"
    assert admin.call("POST", path, body, key)[0] == 200
    server.stop()
    server = serve(rules_of(limit=10, enforcement="strict"))
    admin = Admin(server.admin)
    status, answer, _ = admin.call("POST", path, body, key)
    assert status == 200 and answer["granted"] == 5, answer
    assert admin.call("POST", path, {**body, "amount": 6}, key)[0] == 422
    assert len(admin.audit(action="account")) == 1


@pytest.mark.parametrize("path, body, status, what", [
    ("grant", {"amount": 0, "reason": "r"}, 400, "amount"),
    ("grant", {"amount": -5, "reason": "r"}, 400, "amount"),
    ("grant", {"amount": 1.5, "reason": "r"}, 400, "amount"),
    ("grant", {"amount": 5}, 400, "reason"),
    ("grant", {"amount": 5, "reason": "r", "expires_at": "2001-01-01T00:00:00Z"}, 400, "in the past"),
    ("grant", {"amount": 5, "reason": "r", "unit": "GB"}, 400, "unit"),
    ("adjust", {"amount": 0, "reason": "r"}, 400, "is 0"),
    ("reverse", {"operation": "none", "reason": "r"}, 404, "none"),
])
def test_bad_changes_are_named_and_change_nothing(serve, path, body, status, what):
    server = serve(rules_of(limit=10, enforcement="strict"))
    check(server, 4)
    admin = Admin(server.admin)
    before = account_of(admin)
    got, answer, _ = admin.call("POST", f"/accounts/{before['id']}/{path}", body)
    assert got == status and what in answer["detail"], answer
    after = account_of(admin)
    assert {**after, "forecast_at": ""} == {**before, "forecast_at": ""} and admin.audit(action="account") == []


@pytest.mark.parametrize("id_", ["999", "abc", "-1", "99999999999999999999"])
def test_an_unknown_account_is_404(serve, id_):
    admin = Admin(serve(rules_of()).admin)
    assert admin.call("GET", f"/accounts/{id_}")[0] == 404
    assert admin.call("POST", f"/accounts/{id_}/grant", {"amount": 1, "reason": "r"})[0] == 404


def test_operators_grant_and_only_admins_correct(serve):
    server = serve(rules_of(limit=10, enforcement="strict"), "--admin-tokens", ADMIN_TOKEN)
    check(server, 4)
    admin = Admin(server.admin, ADMIN_TOKEN)
    path = f"/accounts/{account_of(admin)['id']}"
    for role, grants in (("reader", 403), ("operator", 200)):
        token = admin.post("/tokens", {"name": role, "role": role})["token"]
        caller = Admin(server.admin, token)
        assert caller.get(path)["used"] == 4
        assert caller.call("POST", path + "/grant", {"amount": 1, "reason": "r"})[0] == grants
        assert caller.call("POST", path + "/adjust", {"amount": 1, "reason": "r"})[0] == 403
        assert caller.call("POST", path + "/reverse", {"operation": "x", "reason": "r"})[0] == 403


def test_an_open_reservation_is_shown_with_its_account_and_released_there(serve):
    server = serve(rules_of(limit=100, enforcement="strict"), "--admin-tokens", ADMIN_TOKEN)
    admin = Admin(server.admin, ADMIN_TOKEN)
    made = [ask(server, "POST", "/v1/reservations", {"attributes": {"tenant": "acme", "action": "export"}, "amount": amount})[1] for amount in (30, 7)]
    path = f"/accounts/{account_of(admin)['id']}"
    shown = admin.get(path)
    assert [(each["id"], each["units"]) for each in shown["reservations"]] == [(each["id"], each["granted"]) for each in made]
    assert (shown["held"], shown["available"]) == (37, 63)
    body = {"reservation": made[0]["id"], "reason": "the worker has died"}
    reader = Admin(server.admin, admin.post("/tokens", {"name": "r", "role": "reader"})["token"])
    operator = Admin(server.admin, admin.post("/tokens", {"name": "o", "role": "operator"})["token"])
    assert reader.call("POST", path + "/release", body)[0] == 403
    assert operator.call("POST", path + "/release", {"reservation": made[0]["id"]})[0] == 400, "without a reason"
    assert operator.call("POST", path + "/release", {**body, "reservation": "f" * 32})[0] == 404
    after = operator.post(path + "/release", body, status=200)
    assert (after["held"], after["available"], after["changed"]) == (7, 93, 30)
    assert [each["id"] for each in admin.get(path)["reservations"]] == [made[1]["id"]]
    (entry,) = admin.audit(action="account.release")
    assert (entry["actor"], entry["reason"], entry["before"]["held"], entry["after"]["held"]) == ("o", "the worker has died", 37, 7)
    status, told, _ = ask(server, "POST", f"/v1/reservations/{made[0]['reservation']}/commit", {"actual": 5})
    assert status == 409 and "released" in told["detail"], told
    assert ask(server, "POST", f"/v1/reservations/{made[1]['reservation']}/commit", {"actual": 5})[0] == 200
    assert operator.call("POST", path + "/release", {**body, "reservation": made[1]["id"]})[0] == 410


def test_without_a_database_there_are_no_accounts(start):  # noqa: F811
    admin = Admin(start("--database", "off").admin)
    assert "accounts" not in admin.get("/session")["features"]
    assert admin.call("GET", "/accounts")[0] == 404


@pytest.mark.parametrize("through_server", [True, False])
def test_the_command_line_changes_accounts_by_the_server_or_in_the_database(serve, tmp_path, through_server):
    server = serve(rules_of(limit=10, enforcement="strict"))
    check(server, 10)
    where = ["--admin", f"http://{server.admin}"] if through_server else ["--data-dir", str(tmp_path / "state")]

    def quota(*words):
        return weir("quota", *words, *where)

    made = quota("grant", "exports", "tenant=acme", "--amount", "5", "--reason", "invoice 1", "--id", "i-1")
    assert made.returncode == 0 and "tenant=acme" in made.stdout, made.stderr
    elsewhere = ["--data-dir", str(tmp_path / "state")] if through_server else ["--admin", f"http://{server.admin}"]
    for again in (where, elsewhere):
        repeated = weir("quota", "grant", "exports", "tenant=acme", "--amount", "5", "--reason", "invoice 1", "--id", "i-1", *again)
        assert repeated.returncode == 0, repeated.stderr
    assert quota("adjust", "exports", "tenant=acme", "--amount", "-2", "--reason", "failed").returncode == 0
    admin = Admin(server.admin)
    take = next(each for each in admin.get(f"/accounts/{account_of(admin)['id']}")["entries"] if each["kind"] == "take")
    done = quota("reverse", "exports", "tenant=acme", "--operation", take["operation"], "--reason", "failed")
    assert done.returncode == 0, done.stderr
    now = account_of(admin)
    assert (now["used"], now["granted"], now["available"]) == (0, 5, 15)
    actions = [each["action"] for each in admin.audit(action="account")]
    assert actions == ["account.reverse", "account.adjust", "account.grant"]
    assert quota("grant", "exports", "tenant=none", "--amount", "5", "--reason", "r").returncode == 3


def test_a_subject_shows_its_open_accounts(serve):
    server = serve(rules_of(limit=10, enforcement="strict"))
    check(server, 4)
    admin = Admin(server.admin)
    found = admin.post("/subjects/lookup", {"attributes": {"tenant": "acme", "action": "export"}}, 200)
    (quota,) = found["quotas"]
    assert (quota["rule"], quota["used"], quota["available"], quota["account"]) == ("exports", 4, 6, account_of(admin)["id"])


def plans(policy, mode):
    return rules_of(limit=1000, plans="{pro: {limit: 5000}}", plan_change=policy, enforcement=mode)


def set_plan(admin, plan, from_at=None):
    found = admin.call("GET", "/tenants/acme")
    fields = {"If-Match": f'"{found[1]["etag"]}"'} if found[0] == 200 else {"If-None-Match": "*"}
    body = {"plan": plan, **({"plan_from_at": from_at} if from_at else {})}
    status, answer, _ = admin.call("PUT", "/tenants/acme", body, fields)
    assert status in (200, 201), answer
    return answer


@pytest.mark.parametrize("mode", ["strict", "leased"])
@pytest.mark.parametrize("policy", ["immediate", "next_period", "prorated"])
def test_a_plan_that_changes_in_the_period_follows_the_rules_policy(serve, policy, mode):
    server = serve(plans(policy, mode))
    admin = Admin(server.admin)
    set_plan(admin, "basic")
    assert check(server, 10)[0] == 200
    assert account_of(admin)["limit"] == 1000
    period = account_of(admin)
    begins, ends = moment(period["begins_at"]), moment(period["ends_at"])
    from_at = begins + (datetime.datetime.now(datetime.timezone.utc) - begins) / 2
    from_at = from_at.replace(microsecond=0)
    shown = set_plan(admin, "pro", from_at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert [each["plan"] for each in shown["plans"]] == ["basic", "pro"] and shown["plans"][0]["from_at"] is None
    before, after = from_at - begins, ends - from_at
    prorated = (1000 * before + 5000 * after) // (ends - begins)
    expected = {"immediate": 5000, "next_period": 1000, "prorated": prorated}[policy]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:  # a leased account follows when its node takes the next slice
        assert check(server, 1)[0] == 200
        if account_of(admin)["limit"] == expected:
            break
        time.sleep(0.2)
    assert account_of(admin)["limit"] == expected
    assert check(server, expected)[0] == 429
    for _ in range(3):
        assert check(server, 1)[0] == 200
    assert account_of(admin)["limit"] == expected


def test_a_plan_that_begins_later_begins_by_itself(serve):
    server = serve(plans("immediate", "strict"))
    admin = Admin(server.admin)
    set_plan(admin, "basic")
    shown = set_plan(admin, "pro", "2s")
    assert shown["plan"] == "pro" and moment(shown["plan_from_at"]) > moment(shown["updated_at"])
    assert check(server, 1)[0] == 200 and account_of(admin)["limit"] == 1000
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and account_of(admin)["limit"] != 5000:
        check(server, 1)
        time.sleep(0.2)
    assert account_of(admin)["limit"] == 5000


@pytest.mark.parametrize("text", ["yesterday", "-3d", "", "12345"])
def test_a_bad_time_of_a_plan_is_named(serve, text):
    admin = Admin(serve(rules_of()).admin)
    status, answer, _ = admin.call("PUT", "/tenants/acme", {"plan": "pro", "plan_from_at": text}, {"If-None-Match": "*"})
    assert status == 400 and "plan_from_at" in answer["detail"]


def test_a_strict_check_with_a_key_is_billed_once_also_after_kill(serve, tmp_path):
    text = rules_of(limit=10, enforcement="strict")
    server = serve(text)
    body = {"attributes": {"tenant": "acme", "action": "export"}, "cost": 4}
    batch = {"requests": [body, {**body, "cost": 1}]}

    def send():
        one = ask(server, "POST", "/v1/check", body, headers={"Idempotency-Key": "job-1"})
        two = ask(server, "POST", "/v1/check/batch", batch, headers={"Idempotency-Key": "job-2"})
        return one[0], [each["allowed"] for each in two[1]["decisions"]]

    assert send() == (200, [True, True])
    assert settled(server, 9)["available"] == 1
    server.process.kill()  # the server has forgotten the keys; the ledger has not
    server.process.wait()
    server = serve(text)
    assert send() == (200, [True, True])
    assert settled(server, 9)["available"] == 1
    other = ask(server, "POST", "/v1/check", body, headers={"Idempotency-Key": "job-3"})
    assert other[0] == 429, "another key is another request"
    assert verify(tmp_path)["ok"]


def test_handles_of_reservations_survive_a_restart_with_the_key_in_data_dir(serve, tmp_path):
    server = serve(rules_of(limit=100))
    status, made, _ = ask(server, "POST", "/v1/reservations",
                          {"attributes": {"tenant": "acme", "action": "export"}, "amount": 10, "ttl_ms": 600_000})
    assert status == 201, made
    key = tmp_path / "state" / "hash_key"
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    before = key.read_text()
    server.stop()
    server = serve(rules_of(limit=100))
    assert key.read_text() == before
    status, answer, _ = ask(server, "POST", f"/v1/reservations/{made['reservation']}/commit", {"actual": 7})
    assert status == 200, answer
    assert settled(server, 7)["available"] == 93


def test_usage_is_recorded_for_blocked_callers_and_for_rules_with_a_cost_of_their_own(serve):
    text = rules_of(limit=100) + """  - {id: calls, match: {action: export}, per: [tenant], algorithm: quota, limit: 50, period: month, cost: 1}
  - {id: call-rate, match: {action: export}, per: [tenant], limit: 20, window: 3600s, burst: 20, cost: 2}
blocks:
  - {when: {tenant: acme}, reason: scraping}
"""
    server = serve(text)
    assert check(server)[0] == 403
    report = {"attributes": {"tenant": "acme", "action": "export"}, "amount": 30, "id": "u-1"}
    status, answer, _ = ask(server, "POST", "/v1/usage", report)
    assert status == 200, answer
    status, again, _ = ask(server, "POST", "/v1/usage", report)
    assert status == 200 and again["results"][0]["duplicate"] is True, again
    admin = Admin(server.admin)
    used = {each["rule"]: each["used"] for each in admin.get("/accounts?tenant=acme")["items"]}
    assert used == {"exports": 30, "calls": 1}
    assert answer["results"][0]["rules"] == 4, answer


def test_a_quota_with_a_fixed_cost_is_reserved_beside_one_that_follows(serve, tmp_path):
    text = rules_of(limit=100) + "  - {id: calls, match: {action: export}, per: [tenant], algorithm: quota, limit: 2, period: month, cost: 1}\n"
    server = serve(text)
    asked = {"attributes": {"tenant": "acme", "action": "export"}, "amount": 30, "ttl_ms": 60_000}
    made = [ask(server, "POST", "/v1/reservations", asked) for _ in range(3)]
    assert [status for status, _, _ in made] == [201, 201, 429]
    assert made[2][1]["rule"] == "calls"
    handle = made[0][1]["reservation"]
    assert ask(server, "POST", f"/v1/reservations/{handle}/commit", {"actual": 10})[0] == 200
    assert ask(server, "POST", f"/v1/reservations/{made[1][1]['reservation']}/release", {})[0] in (200, 204)
    used = {each["rule"]: (each["used"], each["available"]) for each in Admin(server.admin).get("/accounts?tenant=acme")["items"]}
    assert used == {"exports": (10, 90), "calls": (1, 1)}
    assert verify(tmp_path)["ok"]


def test_reconcile_compares_the_gate_of_a_node_with_the_ledger(serve, tmp_path):
    server = serve(rules_of(limit=10_000))
    for _ in range(50):
        assert check(server)[0] == 200
    done = weir("quota", "reconcile", "--json", "--admin", f"http://{server.admin}")
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["agrees"] is True, answer
    assert answer["usable"] is True and answer["epoch"] == 1
    shown = weir("quota", "reconcile", "--admin", f"http://{server.admin}")
    assert shown.returncode == 0 and "agrees with the ledger" in shown.stdout
    assert weir("quota", "reconcile", "--data-dir", str(tmp_path / "state")).returncode == 0


def test_prune_leaves_open_periods_and_what_was_not_exported(serve, tmp_path):
    server = serve(rules_of(limit=10, enforcement="strict"))
    check(server, 4)
    server.stop()
    where = ["--data-dir", str(tmp_path / "state")]
    exported = weir("quota", "export", *where)
    cursor = exported.stderr.split()[-1]
    done = weir("quota", "prune", "--keep", "1d", "--exported", cursor, "--reason", "retention", "--json", *where)
    assert done.returncode == 0 and json.loads(done.stdout) == {"accounts": 0, "entries": 0, "not_exported": 0}
    assert weir("quota", "prune", "--keep", "1h", "--exported", cursor, "--reason", "r", *where).returncode == 2
    assert weir("quota", "prune", "--keep", "soon", "--exported", cursor, "--reason", "r", *where).returncode == 2
