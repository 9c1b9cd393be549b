"""`weir serve` on a real Redis: what a node decides before it asks. Standard library and pytest only."""

import shutil
import signal

import pytest
from redis_nodes import eventually
from redis_nodes import redis, rules, start  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")

CAPPED = """version: 1
rules:
  - id: capped
    match: {kind: capped}
    per: [tenant]
    algorithm: fixed-window
    limit: 1000
    window: 3650d
    local_limit: {limit: 5, window: 365d}
"""


# Two loops, one node, one cap; each node has its own.
def test_a_local_limit_stands_before_redis(redis, start, rules):
    rules.write_text(CAPPED)
    nodes = [start(redis.url), start(redis.url)]
    for node in nodes:
        answers = [caller.check("capped") for caller in [node.caller() for _ in range(4)] for _ in range(10)]
        assert [status for status, _ in answers].count(200) == 5
        assert {answer["source"] for status, answer in answers if status == 429} == {"local"}
        assert {answer["limit"] for _, answer in answers} == {1000}
        assert node.metric("weir_store_calls_total") == 5
        assert node.metric("weir_local_limit_denials_total") == 35


def test_a_local_limit_holds_while_redis_is_away_and_the_policy_allows(redis, start, rules):
    rules.write_text(CAPPED)
    node = start(redis.url)
    caller = node.caller()
    assert caller.check("capped")[0] == 200
    redis.signal(signal.SIGSTOP)
    answers = [caller.check("capped") for _ in range(30)]
    assert [status for status, _ in answers].count(200) == 4
    redis.signal(signal.SIGCONT)
    eventually("Redis is back", lambda: node.store()["state"] == "closed")


# Two loops, each with a prefilter of its own: what one loop gives back, the other must not refuse.
def test_a_refund_is_seen_by_every_loop_when_it_is_answered(redis, start):
    node = start(redis.url)
    callers = [node.caller() for _ in range(8)]  # the kernel spreads connections over the loops
    for turn in range(40):
        tenant = f"refunded-{turn}"
        statuses = [callers[turn % 8].check("local", tenant)[0] for _ in range(5)]
        assert statuses == [200] * 4 + [429]
        refused = [caller.check("local", tenant) for caller in callers for _ in range(2)]
        assert {answer["source"] for status, answer in refused if status == 429} >= {"prefilter"}
        assert callers[turn % 8].refund("local", tenant)[0] == 200
        assert callers[(turn + 1 + turn // 8) % 8].check("local", tenant)[0] == 200, f"refund {turn}"
