"""The master and one node are cut off from the replicas, the sentinels and the other node, which elect another
master. A network namespace and a cable that is pulled. Needs the right to make them. Standard library and pytest only."""

import contextlib
import shutil
import time

import pytest
from fault_tools import Island, may_make_networks
from redis_nodes import Node, eventually
from sentinel_group import Group

LIMIT = 1000
PATIENCE_S = 30  # a sentinel looks at a server that is back every ten seconds
RULES = f"""version: 1
rules:
  - {{id: shared, per: [tenant], algorithm: fixed-window, limit: {LIMIT}, window: 3650d, on_store_failure: deny}}
"""

pytestmark = [
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server"),
    pytest.mark.skipif(not may_make_networks(), reason="needs the right to make network namespaces"),
]


class Side:
    """A node, and what it has admitted."""

    def __init__(self, folder, url, name, *flags, before=()):
        rules = folder / "rules.yaml"
        rules.write_text(RULES)
        address = f"unix:{folder}/{name}.sock"
        self.node = Node(folder / f"log-{name}", "--store", url, "--rules", str(rules), "--listen-http", address,
                         "--prefilter", "false", *flags, before=before)
        self.caller = self.node.caller()
        self.admitted = 0

    def ask(self):
        status = self.caller.check("any")[0]
        self.admitted += status == 200
        return status

    def ask_until(self, wanted, pause=0.0):
        """Asks until a status of `wanted` is seen; gives it."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            status = self.ask()
            if status in wanted:
                return status
            time.sleep(pause if status == 200 else 0.02)
        raise AssertionError(f"none of {wanted}")


@contextlib.contextmanager
def two_sides(tmp_path, *master_flags):
    island, group, sides = Island(), None, []
    try:
        group = Group(island, tmp_path, *master_flags)
        sides = [Side(tmp_path, group.url, "island", before=island.inside), Side(tmp_path, group.url, "mainland")]
        yield island, group, *sides
        assert [side.node.stop() for side in sides] == [0, 0]
    finally:
        for side in sides:
            side.node.process.kill()
        if group is not None:
            group.stop()
        island.close()


def spend(group, *sides):
    """A hundred on each side, known to every replica."""
    for side in sides:
        assert [side.ask() for _ in range(100)] == [200] * 100
    group.level()


# The stated slice: each side spends what was left when they parted.
def test_each_side_of_a_partition_spends_what_was_left(tmp_path):
    with two_sides(tmp_path) as (island, group, cut_off, main):
        spend(group, cut_off, main)
        island.cut()
        assert cut_off.ask_until((429, 503)) == 429, "the isolated master has not seen it"
        assert main.ask_until((429,)) == 429, "another master was elected"
        total = cut_off.admitted + main.admitted
        assert LIMIT < total <= 2 * LIMIT - 200
        island.join()
        assert cut_off.ask_until((429,)) == 429
        eventually("the old master follows the new one", lambda: "role:slave" in group.ask("INFO", "replication"))
        assert [side.ask_until((429,)) for side in (cut_off, main)] == [429, 429]
        assert cut_off.admitted + main.admitted == total, "nothing more once they are one again"


# With min-replicas-to-write the slice ends when the isolated master notices that it is alone.
def test_a_master_that_must_not_write_alone_stops_admitting(tmp_path):
    with two_sides(tmp_path, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "1") as (island, group, cut_off, main):
        spend(group, cut_off, main)
        before = cut_off.admitted
        island.cut()
        assert cut_off.ask_until((429, 503), pause=0.01) == 503, "refused long before its limit was used up"
        piece = cut_off.admitted - before
        assert main.ask_until((429,)) == 429
        assert [cut_off.ask() for _ in range(50)] == [503] * 50
        assert cut_off.admitted + main.admitted <= LIMIT + piece
        assert main.admitted == LIMIT - before, "what was replicated is not given twice"
        island.join()
        assert cut_off.ask_until((429,)) == 429
        assert cut_off.admitted + main.admitted <= LIMIT + piece
