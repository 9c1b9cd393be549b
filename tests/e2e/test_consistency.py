"""Leased rules on real nodes and a real Redis: never more than the limit, with far fewer calls. Standard library and pytest only."""

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
