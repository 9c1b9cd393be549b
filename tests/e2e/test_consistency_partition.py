"""Leased and synced nodes whose network is cut and whose master fails: the log of calls is judged by the bound of each.
Network namespaces with a cable that is pulled, and Redis with Sentinel. Standard library and pytest only."""

import contextlib
import shutil
import time

import pytest
from consistency_load import BURST, CREDIT, LIFE_S, LOOPS, NODES, RATE, RULES, TOLERANCE, Load, between
from fault_tools import Island, may_make_networks, most_beyond
from redis_nodes import PASSWORD, Node, Redis, eventually
from sentinel_group import Group

pytestmark = [
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server"),
    pytest.mark.skipif(not may_make_networks(), reason="needs the right to make network namespaces"),
]

# Units that slices of the time before may still spend, and what is rounded.
SLICES = RATE * LIFE_S + 1
AWAY_S = 0.6  # until a node that is cut off has noticed: its deadline, and what a busy machine adds


class Nodes:
    """`NODES` nodes of one store, of which the first is on an island, under load."""

    def __init__(self, folder, url, island):
        self.nodes = []
        rules = folder / "rules.yaml"
        rules.write_text(RULES)
        for number in range(NODES):
            before = island.inside if number == 0 else ()
            self.nodes.append(Node(folder / f"log-{number}", "--store", url, "--rules", str(rules), "--listen-http", f"unix:{folder}/{number}.sock",
                                   "--listen-admin", f"unix:{folder}/admin-{number}.sock", "--prefilter", "false", before=before))

    def begin(self):
        eventually("all are known", lambda: all(node.metric("weir_synced_nodes") == NODES for node in self.nodes))
        self.load = Load(self.nodes)
        eventually("both are in use", lambda: {"lease", "synced"} <= self.load.sources)
        self.load.go_on()
        return self.load

    def admits(self, place, since):
        """Whether a node has admitted something of both rules since then."""
        return all(between(self.load.by_place[place][kind], since, time.monotonic()) for kind in ("leased", "synced"))

    def close(self):
        if hasattr(self, "load"):
            self.load.stop()
        for node in self.nodes:
            node.process.kill()
            node.process.wait()


@pytest.fixture
def island():
    made = Island()
    yield made
    made.close()


@pytest.fixture
def redis(tmp_path, island):
    made = Redis(tmp_path, "--bind", "127.0.0.1", island.here)
    yield made
    made.kill()


@pytest.fixture
def nodes_of(tmp_path, island):
    """Makes the nodes of a store, and ends them."""
    with contextlib.ExitStack() as ends:

        def begin(url):
            nodes = Nodes(tmp_path, url, island)
            ends.callback(nodes.close)
            return nodes

        yield begin


@pytest.fixture
def group(tmp_path, island):
    made = Group(island, tmp_path)
    yield made
    made.stop()


@pytest.fixture
def nodes(group, nodes_of):
    """Under load, with a group of Redis servers."""
    begun = nodes_of(group.url)
    begun.begin()
    return begun


def another_master(group):
    """When it had been elected."""
    eventually("another master was elected", lambda: group.master_port_now() not in (None, group.master_port))
    return time.monotonic()


# Its slices live for a moment, its credit is used once, and then the rules' policy denies; the others go on.
def test_a_node_that_is_cut_off_spends_what_it_has_and_no_more(island, redis, nodes_of):
    nodes = nodes_of(f"redis://:{PASSWORD}@{island.here}:{redis.port}")
    load = nodes.begin()
    island.cut()
    cut = time.monotonic()
    time.sleep(LIFE_S + AWAY_S)
    load.go_on(2 * RATE, places=(1, 2))
    joined = time.monotonic()
    island.join()
    eventually("it decides again", lambda: nodes.admits(0, joined))
    load.go_on()
    load.stop()
    assert nodes.admits(1, cut) and nodes.admits(2, cut)
    alone = {kind: between(load.by_place[0][kind], cut, joined) for kind in ("leased", "synced")}
    # A slice is never spent later than its life; a request that waits for Redis is answered when that does not.
    assert all(began <= cut + LIFE_S + 0.05 for began, _ in alone["leased"]), "its slices have lapsed"
    assert len(alone["synced"]) <= LOOPS * CREDIT
    assert most_beyond(load.admitted["leased"], RATE, BURST) <= 0
    # What it had not reported, and what the others were told twice.
    assert most_beyond(load.admitted["synced"], RATE, BURST) <= TOLERANCE + LOOPS * CREDIT


# What the replica had not heard of is lost, so a bucket may hold more than it should: never more than its capacity.
def test_a_failover_costs_one_capacity_and_no_more(group, nodes):
    began = time.monotonic()
    group.kill_master()
    killed = time.monotonic()
    elected = another_master(group)
    eventually("all decide again", lambda: all(nodes.admits(place, elected) for place in range(NODES)))
    nodes.load.go_on()
    nodes.load.stop()
    end = time.monotonic()
    for begins, ends_at in ((0, began), (killed, end)):
        leased = most_beyond(between(nodes.load.admitted["leased"], begins, ends_at), RATE, BURST)
        synced = most_beyond(between(nodes.load.admitted["synced"], begins, ends_at), RATE, BURST)
        assert leased <= (0 if begins == 0 else SLICES), (begins, leased)
        assert synced <= TOLERANCE + (0 if begins == 0 else TOLERANCE), (begins, synced)
    # All together: what an exact bucket that was lost once would admit.
    assert most_beyond(nodes.load.admitted["leased"], RATE, BURST) <= BURST + SLICES
    assert most_beyond(nodes.load.admitted["synced"], RATE, BURST) <= BURST + 2 * TOLERANCE


# The master and one node are alone; the other two get another master. Each side keeps its own bound, and so do all
# together when the cable is back.
def test_both_sides_of_a_partition_keep_the_bound_by_themselves(island, group, nodes):
    began = time.monotonic()
    island.cut()
    cut = time.monotonic()
    elected = another_master(group)
    eventually("both sides decide", lambda: all(nodes.admits(place, elected) for place in range(NODES)))
    nodes.load.go_on()
    joining = time.monotonic()
    island.join()
    eventually("the old master follows", lambda: "role:slave" in group.ask("INFO", "replication"))
    joined = time.monotonic()
    eventually("all decide again", lambda: all(nodes.admits(place, joined) for place in range(NODES)))
    nodes.load.go_on()
    nodes.load.stop()
    end = time.monotonic()

    def beyond(kind, places, begins, ends_at):
        calls = [call for place in places for call in between(nodes.load.by_place[place][kind], begins, ends_at)]
        return most_beyond(calls, RATE, BURST)

    everyone, mainland = range(NODES), range(1, NODES)
    for kind, at_first, later in (("leased", 0, SLICES), ("synced", TOLERANCE, 2 * TOLERANCE)):
        assert beyond(kind, everyone, 0, began) <= at_first
        assert beyond(kind, [0], 0, joining) <= later, "the old master has lost nothing"
        assert beyond(kind, mainland, cut, joining) <= later
        # From here on there is one master again.
        assert beyond(kind, everyone, joined, end) <= later
        assert beyond(kind, everyone, 0, end) <= 2 * BURST + RATE * (joined - cut) + 2 * later
