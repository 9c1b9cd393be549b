"""Leases and reservations under quotas, from outside: what the ledger bills and holds is what the answers say."""

import time

import pytest
from redis_nodes import PATIENT, Redis
from test_cli import start  # noqa: F401 (a fixture)
from test_leases import ask
from test_quotas import DEADLINE_S, account, serve, settled, verify  # noqa: F401 (serve is a fixture)

ATTRIBUTES = {"tenant": "acme", "action": "export"}


def rules_of(*others, limit=50, enforcement="strict", **fields):
    more = "".join(f", {name}: {value}" for name, value in fields.items())
    quota = f"{{id: exports, match: {{action: export}}, per: [tenant], algorithm: quota, limit: {limit}, period: month, enforcement: {enforcement}{more}}}"
    return "version: 1\nrules:\n" + "".join(f"  - {each}\n" for each in (quota, *others))


SLOTS = "{id: slots, match: {action: export}, per: [tenant], algorithm: concurrency, limit: 50, lease: 30s, on_store_failure: deny}"
WINDOW = "{id: window, match: {action: export}, per: [tenant], algorithm: fixed-window, limit: 12, window: 3650d, on_store_failure: deny}"


@pytest.fixture(params=["memory", "redis"])
def on(request, serve, tmp_path):  # noqa: F811
    """Starts a server with these rules on either store."""
    if request.param == "memory":
        yield serve
        return
    redis = Redis(tmp_path)
    try:
        yield lambda text: serve(text, "--store", redis.url, "--redis-deadline", PATIENT, "--single-node")
    finally:
        redis.kill()


def reserve(server, amount, **members):
    return ask(server, "POST", "/v1/reservations", {"attributes": ATTRIBUTES, "amount": amount, **members})


@pytest.mark.parametrize("mode", ["leased", "strict"])
def test_a_lease_that_is_acquired_again_with_its_id_is_billed_once(on, tmp_path, mode):
    server = on(rules_of(SLOTS, limit=5, enforcement=mode))
    body = {"attributes": ATTRIBUTES, "id": "job-1"}
    answers = [ask(server, "POST", "/v1/leases", body) for _ in range(4)]
    assert [status for status, _, _ in answers] == [201, 200, 200, 200], answers
    assert len({answer["fencing_token"] for _, answer, _ in answers}) == 1
    settled(server, 1)
    for number in range(2, 6):
        assert ask(server, "POST", "/v1/leases", {**body, "id": f"job-{number}"})[0] == 201
    status, denied, _ = ask(server, "POST", "/v1/leases", {**body, "id": "job-6"})
    assert status == 429 and denied["code"] == "quota_exceeded", denied
    status, again, _ = ask(server, "POST", "/v1/leases", body)
    assert status == 200 and again["fencing_token"] == answers[0][1]["fencing_token"], again
    settled(server, 5)
    assert verify(tmp_path)["ok"]


def test_a_partial_reservation_holds_and_bills_what_was_granted(on, tmp_path):
    server = on(rules_of(WINDOW, on_expiry="commit"))
    status, made, _ = reserve(server, 40, partial=True, ttl_ms=1_000)
    assert status == 201 and made["granted"] == 12, made
    assert ask(server, "GET", "/v1/reservations/" + made["reservation"])[1]["granted"] == 12
    assert account(server)["held"] == 12
    deadline = time.monotonic() + DEADLINE_S
    while account(server)["held"] > 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert account(server)["used"] == 12
    assert verify(tmp_path)["ok"]


def test_an_extension_adds_the_same_under_every_rule_or_nothing(on, tmp_path):
    server = on(rules_of(WINDOW.replace("limit: 12", "limit: 1000"), limit=50))
    made = reserve(server, 10)[1]
    path = f"/v1/reservations/{made['reservation']}"
    assert ask(server, "POST", path + "/extend", {"add": 5})[1]["granted"] == 15
    status, grown, _ = ask(server, "POST", path + "/extend", {"add": 100, "partial": True})
    assert status == 200 and grown["granted"] == 50, grown
    for partial in (True, False):
        status, denied, headers = ask(server, "POST", path + "/extend", {"add": 1, "partial": partial})
        assert status == 429 and denied["code"] == "quota_exceeded" and denied["rule"] == "exports", denied
        assert int(headers["Retry-After"]) > 0
    assert ask(server, "GET", path)[1]["granted"] == 50
    first = ask(server, "POST", path + "/release")[1]
    again = ask(server, "POST", path + "/release")[1]
    assert first["returned"] == again["returned"] == 50, (first, again)
    assert account(server)["available"] == 50
    assert verify(tmp_path)["ok"]


def test_a_bucket_that_denies_an_extension_leaves_the_quota_as_it_was(on, tmp_path):
    server = on(rules_of(WINDOW))
    made = reserve(server, 10)[1]
    path = f"/v1/reservations/{made['reservation']}"
    status, denied, _ = ask(server, "POST", path + "/extend", {"add": 5})
    assert status == 429 and denied["rule"] == "window", denied
    assert account(server)["held"] == 10
    status, cut, _ = ask(server, "POST", path + "/extend", {"add": 5, "partial": True})
    assert status == 200 and cut["granted"] == 12, cut
    assert account(server)["held"] == 12
    assert verify(tmp_path)["ok"]


def test_a_dry_run_of_a_part_says_what_would_be_granted(on):
    server = on(rules_of())
    status, looked, _ = reserve(server, 100, partial=True, dry_run=True)
    assert status == 200 and looked["granted"] == 50, looked
    assert reserve(server, 100, partial=True)[1]["granted"] == 50


def test_an_id_that_only_the_ledger_remembers_has_its_reservation(serve):  # noqa: F811
    server = serve(rules_of())
    assert reserve(server, 10, id="job-1")[0] == 201
    server.stop()
    server = serve(rules_of())
    status, again, _ = reserve(server, 10, id="job-1")
    assert status == 200 and again["granted"] == 10, again
    assert account(server)["held"] == 10


@pytest.mark.parametrize("mode", ["leased", "strict"])
def test_a_shadow_quota_counts_beyond_its_limit(serve, mode):  # noqa: F811
    server = serve(rules_of(limit=5, enforcement=mode, mode="shadow"))
    statuses = [ask(server, "POST", "/v1/check", {"attributes": ATTRIBUTES})[0] for _ in range(8)]
    assert statuses == [200] * 8
    assert settled(server, 8)["overage"] == 3
