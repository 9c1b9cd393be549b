"""Leased and synced rules on real nodes and a real Redis: their bounds, with far fewer calls. Standard library and pytest only."""

import collections
import concurrent.futures
import shutil
import signal
import time

import pytest
from redis_nodes import eventually
from redis_nodes import redis, rules, start  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")

WINDOW = """version: 1
rules:
  - {id: leased, match: {kind: leased}, per: [tenant], algorithm: fixed-window, limit: 1500, window: 3650d, consistency: leased, on_store_failure: deny}
"""
BUCKET = """version: 1
rules:
  - {id: leased, match: {kind: leased}, per: [tenant], limit: 400, window: 1s, burst: 1000, consistency: leased, on_store_failure: deny}
"""
SYNCED = """version: 1
rules:
  - {id: synced, match: {kind: synced}, per: [tenant], limit: 1000, window: 3650d, consistency: synced, tolerance: 10%, on_store_failure: deny}
"""


def hammer(nodes, times, kind="leased"):
    """Each node is asked by three clients at once; the answers, with when they were asked for and when they came."""

    def ask(node):
        caller, answers = node.caller(), []
        for _ in range(times):
            began = time.monotonic()
            status, answer = caller.check(kind)
            answers.append((began, time.monotonic(), status, answer))
        return answers

    with concurrent.futures.ThreadPoolExecutor(3 * len(nodes)) as pool:
        asked = [pool.submit(ask, node) for node in nodes for _ in range(3)]
        return [answer for each in asked for answer in each.result()]


def test_nodes_together_admit_what_a_window_allows_and_ask_redis_now_and_then(redis, start, rules):
    rules.write_text(WINDOW)
    nodes = [start(redis.url), start(redis.url)]
    answers = hammer(nodes, 400)
    allowed = [answer for _, _, status, answer in answers if status == 200]
    # What a node has drawn and no one asked it for is not admitted; in the end the last units are drawn one by one.
    assert 1_400 <= len(allowed) <= 1_500
    sources = collections.Counter(answer["source"] for answer in allowed)
    assert sources["lease"] > 1_000, sources
    assert sum(node.metric("weir_store_calls_total") for node in nodes) < 1_200
    assert sum(node.metric("weir_lease_answers_total") for node in nodes) >= sources["lease"]


def test_a_bucket_never_gives_more_than_its_burst_and_its_rate(redis, start, rules):
    rules.write_text(BUCKET)
    nodes = [start(redis.url), start(redis.url)]
    answers = sorted((began, came) for began, came, status, _ in hammer(nodes, 600) if status == 200)
    # In every interval from one answer's request to another's arrival: what was admitted in it, for certain.
    ends = sorted(came for _, came in answers)
    for first in range(0, len(answers), 25):
        begins = answers[first][0]
        inside = sorted(came for began, came in answers if began >= begins)
        for last in range(0, len(inside), 25):
            assert last + 1 <= 1_000 + 400 * (inside[last] - begins) + 1
    assert ends


# One draw, and the next one that is under way before its slice is used up.
def test_a_node_leaves_a_part_of_what_is_left_for_the_others(redis, start, rules):
    limit = 100_000
    rules.write_text(WINDOW.replace("1500", str(limit)))
    nodes = [start(redis.url, "--loops", "1") for _ in range(3)]
    eventually("all are known", lambda: all(node.metric("weir_synced_nodes") == len(nodes) for node in nodes))
    drawn = lambda: nodes[0].metric('weir_lease_units_total{result="drawn"}')  # noqa: E731
    caller = nodes[0].caller()
    for _ in range(40):
        assert caller.check("leased", cost=2_000)[0] == 200
    parts = []
    for _ in range(60):
        before = drawn()
        caller.check("leased", cost=100)
        parts.append((drawn() - before) / (limit - before))
        if limit - drawn() < 2_000:
            break
    assert 0.1 < max(parts) <= 2 / 6 + 0.05, parts


def test_an_answer_says_that_it_is_an_estimate(redis, start, rules):
    rules.write_text(WINDOW)
    node = start(redis.url)
    _, first = node.caller().check("leased")
    assert first["source"] == "redis"
    assert first["rules"][0]["consistency"] == "leased" and first["rules"][0]["estimated"] is False
    answers = [answer for _, _, _, answer in hammer([node], 100)]
    leased = [answer for answer in answers if answer["source"] == "lease"]
    assert leased
    for answer in leased:
        assert answer["rules"][0]["estimated"] is True and answer["rules"][0]["tolerance"] == 0


def test_what_a_node_has_drawn_is_not_spent_after_redis_was_away(redis, start, rules):
    rules.write_text(BUCKET)
    node = start(redis.url)
    assert any(answer["source"] == "lease" for _, _, _, answer in hammer([node], 50))
    redis.signal(signal.SIGSTOP)
    try:
        caller = node.caller()
        # A slice lives for a quarter of a second here.
        eventually("the policy decides", lambda: caller.check("leased")[1]["degraded"])
        assert caller.check("leased")[0] != 200
    finally:
        redis.signal(signal.SIGCONT)
    eventually("Redis is back", lambda: node.store()["state"] == "closed")
    eventually("it decides again", lambda: node.caller().check("leased")[0] == 200)


def has_credit(nodes):
    """The nodes know of each other, and each admits without asking."""
    eventually("all are known", lambda: all(node.metric("weir_synced_nodes") == len(nodes) for node in nodes))
    for node in nodes:
        callers = [node.caller() for _ in range(4)]  # of both loops
        eventually("credit", lambda: any([caller.check("synced", "warm")[1]["source"] == "synced" for caller in callers]))


def test_synced_nodes_together_admit_no_more_than_the_tolerance_and_ask_redis_now_and_then(redis, start, rules):
    rules.write_text(SYNCED)
    nodes = [start(redis.url), start(redis.url)]
    first = nodes[0].caller().check("synced", "first")[1]
    assert first["source"] == "redis" and first["rules"][0]["tolerance"] == 100, "a node that has just started has no credit"
    has_credit(nodes)
    before = sum(node.metric("weir_store_calls_total") for node in nodes)
    answers = hammer(nodes, 400, "synced")
    allowed = [answer for _, _, status, answer in answers if status == 200]
    assert 1_000 <= len(allowed) <= 1_100
    synced = [answer for answer in allowed if answer["source"] == "synced"]
    assert len(synced) > 500
    rule = synced[0]["rules"][0]
    assert rule["consistency"] == "synced" and rule["tolerance"] == 100 and rule["estimated"] is True
    assert sum(node.metric("weir_store_calls_total") for node in nodes) - before < 1_000
    assert sum(node.metric("weir_synced_answers_total") for node in nodes) >= len(synced)
    assert all(node.metric('weir_synced_reports_total{result="lost"}') == 0 for node in nodes)
    # What was admitted too much is owed: in ten years the bucket refills by nothing that matters here.
    eventually("all is reported", lambda: nodes[0].caller().check("synced")[0] != 200 and nodes[1].caller().check("synced")[0] != 200)


def test_a_synced_node_spends_its_credit_while_redis_is_away_and_then_its_policy_decides(redis, start, rules):
    rules.write_text(SYNCED)
    node = start(redis.url)
    has_credit([node])
    caller = node.caller()
    eventually("it is known", lambda: caller.check("synced")[1]["source"] == "synced")
    redis.signal(signal.SIGSTOP)
    try:
        allowed = 0
        while True:
            status, answer = caller.check("synced")
            if answer["degraded"]:
                break
            assert answer["source"] == "synced"
            allowed += status == 200
        assert status != 200 and allowed <= 50, "its loop has half of the tolerance"
    finally:
        redis.signal(signal.SIGCONT)
    eventually("it decides again", lambda: node.caller().check("synced")[0] == 200)


# Nothing is due for ten seconds, so only the stop reports it.
def test_a_synced_node_that_is_stopped_in_good_order_reports_all_that_it_has_admitted(redis, start, rules):
    rules.write_text("version: 1\nrules:\n  - {id: synced, match: {kind: synced}, per: [tenant], algorithm: fixed-window, limit: 10000, window: 3650d, "
                     "consistency: synced, tolerance: 50%, sync_interval: 10s, on_store_failure: deny}\n")
    node = start(redis.url)
    has_credit([node])
    answers = hammer([node], 100, "synced")
    admitted = sum(status == 200 for _, _, status, _ in answers)
    assert any(answer["source"] == "synced" for *_, answer in answers)
    assert node.stop() == 0
    after = start(redis.url)
    status, answer = after.caller().check("synced")
    assert status == 200 and answer["remaining"] == 10_000 - admitted - 1
