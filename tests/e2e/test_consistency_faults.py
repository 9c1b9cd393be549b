"""Leased and synced rules under load while nodes and Redis fail: the log of calls is judged by the bound of each. Standard library and pytest only."""

import contextlib
import http.client
import shutil
import signal
import threading
import time

import pytest
from fault_tools import most_beyond
from redis_nodes import eventually
from redis_nodes import redis, rules, start  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")

RATE, BURST, TOLERANCE, NODES, LOOPS = 150, 400, 60, 3, 2
CREDIT = TOLERANCE // (NODES * LOOPS)  # of one event loop
LIFE_S = BURST / RATE / 10  # of a slice
RULES = "version: 1\nrules:\n" + "".join(
    f"  - {{id: {kind}, match: {{kind: {kind}}}, per: [tenant], limit: {RATE}, window: 1s, burst: {BURST}, consistency: {kind}, {more}on_store_failure: deny}}\n"
    for kind, more in (("leased", ""), ("synced", f"tolerance: {TOLERANCE}, "))
)


class Load:
    """Clients of every node that ask without a pause and log each call that was admitted: when it was sent, and when its answer came."""

    def __init__(self, nodes):
        self.nodes = nodes  # by place; a test may exchange one
        self.admitted = {"leased": [], "synced": []}
        self.sources = set()
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(place, kind)) for place in range(len(nodes)) for kind in self.admitted for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def ask(self, place, kind):
        node, caller = None, None
        while not self.over.is_set():
            if node is not self.nodes[place]:
                node, caller = self.nodes[place], self.nodes[place].caller()
                caller.link.timeout = 3
            began = time.monotonic()
            try:
                status, answer = caller.check(kind)
            except (OSError, http.client.HTTPException, ValueError):
                node = None
                time.sleep(0.01)
                continue
            if status == 200:
                self.admitted[kind].append((began, time.monotonic()))
                self.sources.add(answer["source"])

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


def between(calls, begins, ends):
    return [call for call in calls if call[0] >= begins and call[1] <= ends]


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
    time.sleep(1)
    load.nodes[0].killed = True
    load.nodes[0].process.kill()
    load.nodes[0].process.wait()
    time.sleep(0.5)
    load.nodes[0] = start(redis.url)
    time.sleep(1)
    load.nodes[1].process.send_signal(signal.SIGSTOP)
    time.sleep(LIFE_S + 1)
    load.nodes[1].process.send_signal(signal.SIGCONT)
    time.sleep(1)
    redis.run("CLIENT", "KILL", "TYPE", "normal")
    time.sleep(1.5)
    load.stop()
    assert len(load.admitted["leased"]) > BURST and len(load.admitted["synced"]) > BURST
    assert most_beyond(load.admitted["leased"], RATE, BURST) <= 0
    # The loops of the node that crashed, of the one that was stopped, and of all whose answers were lost.
    lost = LOOPS * CREDIT + LOOPS * CREDIT + NODES * LOOPS * CREDIT
    assert most_beyond(load.admitted["synced"], RATE, BURST) <= TOLERANCE + lost


def test_a_redis_that_loses_its_data_costs_one_capacity_and_no_more(load, redis):
    time.sleep(1)
    began = time.monotonic()
    redis.run("FLUSHALL")
    flushed = time.monotonic()
    time.sleep(2)
    redis.kill()
    killed = time.monotonic()
    time.sleep(0.3)
    redis.start()
    restarted = time.monotonic()
    eventually("it decides again", lambda: len(between(load.admitted["leased"], restarted, time.monotonic())) > 50)
    time.sleep(1)
    load.stop()
    end = time.monotonic()
    # A call that was under way at a loss belongs to neither side.
    for begins, ends in ((0, began), (flushed, killed), (restarted, end)):
        leased = most_beyond(between(load.admitted["leased"], begins, ends), RATE, BURST)
        synced = most_beyond(between(load.admitted["synced"], begins, ends), RATE, BURST)
        # Slices that were drawn before may still be spent while they live, and credits as well.
        assert leased <= (0 if begins == 0 else RATE * LIFE_S + 1), (begins, leased)
        assert synced <= TOLERANCE + (0 if begins == 0 else TOLERANCE), (begins, synced)
