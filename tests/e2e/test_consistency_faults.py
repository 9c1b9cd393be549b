"""Leased and synced rules under load while nodes and Redis fail: the log of calls is judged by the bound of each. Standard library and pytest only."""

import contextlib
import shutil
import signal
import time

import pytest
from consistency_load import BURST, CREDIT, LIFE_S, LOOPS, NODES, RATE, RULES, TOLERANCE, Load, between
from fault_tools import most_beyond
from redis_nodes import eventually
from redis_nodes import redis, rules, start  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")


@pytest.fixture
def load(redis, start, rules):
    rules.write_text(RULES)
    nodes = [start(redis.url) for _ in range(NODES)]
    eventually("all are known", lambda: all(node.metric("weir_synced_nodes") == NODES for node in nodes))
    running = Load(nodes)
    try:
        eventually("both are in use", lambda: {"lease", "synced"} <= running.sources)
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            redis.signal(signal.SIGCONT)
        running.stop()


def test_nodes_that_crash_stop_and_lose_connections_keep_the_bounds(load, redis, start):
    load.go_on()
    load.nodes[0].killed = True
    load.nodes[0].process.kill()
    load.nodes[0].process.wait()
    load.go_on(RATE // 2, places=(1, 2))
    load.nodes[0] = start(redis.url)
    load.go_on()
    load.nodes[1].process.send_signal(signal.SIGSTOP)
    time.sleep(LIFE_S)  # what it holds lapses
    load.go_on(places=(0, 2))
    load.nodes[1].process.send_signal(signal.SIGCONT)
    load.go_on()
    redis.run("CLIENT", "KILL", "TYPE", "normal")
    load.go_on()
    load.stop()
    assert len(load.admitted["leased"]) > BURST and len(load.admitted["synced"]) > BURST
    assert most_beyond(load.admitted["leased"], RATE, BURST) <= 0
    # The loops of the node that crashed, of the one that was stopped, and of all whose answers were lost.
    lost = LOOPS * CREDIT + LOOPS * CREDIT + NODES * LOOPS * CREDIT
    assert most_beyond(load.admitted["synced"], RATE, BURST) <= TOLERANCE + lost


def test_a_redis_that_loses_its_data_costs_one_capacity_and_no_more(load, redis):
    load.go_on()
    began = time.monotonic()
    redis.run("FLUSHALL")
    flushed = time.monotonic()
    load.go_on(BURST + RATE)  # the capacity that it costs, and a second more
    redis.kill()
    killed = time.monotonic()
    time.sleep(0.3)
    redis.start()
    restarted = time.monotonic()
    load.go_on(BURST + RATE)
    load.stop()
    end = time.monotonic()
    # A call that was under way at a loss belongs to neither side.
    for begins, ends in ((0, began), (flushed, killed), (restarted, end)):
        leased = most_beyond(between(load.admitted["leased"], begins, ends), RATE, BURST)
        synced = most_beyond(between(load.admitted["synced"], begins, ends), RATE, BURST)
        # Slices that were drawn before may still be spent while they live, and credits as well.
        assert leased <= (0 if begins == 0 else RATE * LIFE_S + 1), (begins, leased)
        assert synced <= TOLERANCE + (0 if begins == 0 else TOLERANCE), (begins, synced)
