"""Idempotency-Key with a Redis store: any node replays what another has answered."""

import pytest
import redis as redis_py
from redis_nodes import PATIENT, redis  # noqa: F401 (redis is a fixture)
from test_cli import start  # noqa: F401 (start is a fixture)
from test_leases import ask

RULES = """version: 1
rules:
  - {id: calls, match: {action: call}, per: [tenant], algorithm: fixed-window, limit: 10, window: 3650d}
  - {id: tokens, match: {action: work}, per: [tenant], algorithm: fixed-window, limit: 100, window: 3650d, cost: {attribute: tokens}}
  - {id: slots, match: {action: export}, per: [tenant], algorithm: concurrency, limit: 2, lease: 30s}
"""


@pytest.fixture
def nodes(redis, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return [start("--rules", str(path), "--store", redis.url, "--redis-deadline", PATIENT) for _ in range(2)]


def send(node, path, body, key, method="POST"):
    return ask(node, method, path, body, {"Idempotency-Key": key})


def call(tenant="acme", **members):
    return {"attributes": {"tenant": tenant, "action": "call"}, **members}


def left(node):
    return ask(node, "POST", "/v1/check", call(peek=True))[1]["rules"][0]["remaining"]


def test_any_node_replays_a_check_a_refund_and_a_reset(nodes):
    one, other = nodes
    first = send(one, "/v1/check", call(cost=3), "k-1")
    assert first[0] == 200 and "Idempotent-Replayed" not in first[2]
    again = send(other, "/v1/check", call(cost=3), '"k-1"')
    assert again[:2] == first[:2] and again[2]["Idempotent-Replayed"] == "true"
    assert left(one) == 7
    status, told, _ = send(other, "/v1/check", call(cost=4), "k-1")
    assert status == 422 and "another request" in told["detail"]
    assert send(one, "/v1/check", call("other", cost=3), "k-1")[0] == 200, "a key belongs to its tenant"
    for node in nodes:
        assert send(node, "/v1/refund", call(cost=2), "k-2")[0] == 200
    assert left(one) == 9
    assert send(one, "/v1/reset", call(), "k-3")[0] == 200
    ask(one, "POST", "/v1/check", call(cost=5))
    assert send(other, "/v1/reset", call(), "k-3")[2]["Idempotent-Replayed"] == "true"
    assert left(one) == 5


def test_leases_and_reservations_are_taken_once(nodes):
    one, other = nodes
    export = {"attributes": {"tenant": "acme", "action": "export"}}
    made = [send(node, "/v1/leases", export, "l-1")[1]["lease"] for node in nodes]
    assert made[0] == made[1]
    assert len(ask(one, "GET", "/v1/leases?tenant=acme&action=export")[1]["leases"]) == 1
    work = {"attributes": {"tenant": "acme", "action": "work"}, "amount": 30}
    made = [send(node, "/v1/reservations", work, "r-1")[1]["reservation"] for node in nodes]
    assert made[0] == made[1]
    extended = [send(node, f"/v1/reservations/{made[0]}/extend", {"add": 10}, "r-2")[1]["granted"] for node in nodes]
    assert extended == [40, 40]


def test_a_denial_replays_and_an_error_does_not(nodes):
    one, other = nodes
    ask(one, "POST", "/v1/check", call(cost=10))
    denied = send(one, "/v1/check", call(), "d-1")
    assert denied[0] == 429
    ask(one, "POST", "/v1/reset", call())
    assert send(other, "/v1/check", call(), "d-1")[0] == 429, "until its retry_after"
    assert send(one, "/v1/check", {"attributes": 7}, "e-1")[0] == 400
    assert send(one, "/v1/check", {"attributes": 7}, "e-1")[2].get("Idempotent-Replayed") is None


def test_a_request_without_an_answer_is_409_and_lapses(nodes, redis):  # noqa: F811
    send(nodes[0], "/v1/check", call(), "s-1")
    client = redis_py.Redis.from_url(redis.url)
    (key,) = [each for each in client.keys("w1:{once.*") if not each.endswith(b":keys")]
    value = client.get(key)
    assert client.pttl(key) > 3_600_000
    client.set(key, value[:2] + b"\x01" + value[3:], px=10_000)
    status, told, headers = send(nodes[1], "/v1/check", call(), "s-1")
    assert status == 409 and "no answer yet" in told["detail"] and headers["Retry-After"] == "1"
    client.set(key, b"something else")
    assert send(nodes[1], "/v1/check", call(), "s-1")[0] == 503
    client.delete(key)
    assert send(nodes[1], "/v1/check", call(), "s-1")[0] == 200


def test_new_keys_are_refused_when_there_are_too_many(redis, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    node = start("--rules", str(path), "--store", redis.url, "--redis-deadline", PATIENT, "--http-idempotency-keys", "64")
    told = [send(node, "/v1/check", call(cost=0), f"f-{i}")[0] for i in range(200)]
    assert 200 in told and 503 in told and set(told) <= {200, 503}
    assert told.count(200) <= 64
    assert ask(node, "POST", "/v1/check", call())[0] == 200, "without a key"


def test_without_redis_a_request_with_a_key_does_nothing(nodes, redis):  # noqa: F811
    redis.kill()
    status, told, _ = send(nodes[0], "/v1/check", call(), "x-1")
    assert status == 503 and "nothing was done" in told["detail"], told
