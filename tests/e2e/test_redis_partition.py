"""The master and one node are cut off from the replicas, the sentinels and the other node, which elect another
master. A network namespace and a cable that is pulled. Needs the right to make them. Standard library and pytest only."""

import contextlib
import os
import shutil
import subprocess
import time

import pytest
from redis_nodes import Node, eventually, free_port

LIMIT = 1000
PATIENCE_S = 30  # a sentinel looks at a server that is back every ten seconds
RULES = f"""version: 1
rules:
  - {{id: shared, per: [tenant], algorithm: fixed-window, limit: {LIMIT}, window: 3650d, on_store_failure: deny}}
"""


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True).returncode == 0


def may_make_networks():
    name = f"weir-probe-{os.getpid()}"
    return shutil.which("ip") is not None and ip("netns", "add", name) and ip("netns", "del", name)


pytestmark = [
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server"),
    pytest.mark.skipif(not may_make_networks(), reason="needs the right to make network namespaces"),
]


class Island:
    """A network namespace behind one cable."""

    def __init__(self):
        number = os.getpid() % 60_000
        self.name, self.cable = f"weir-{number}", f"weir{number}"
        third, fourth = divmod(number, 240)
        self.here, self.there = (f"198.18.{third}.{fourth // 60 * 60 + end}" for end in (1, 2))
        assert ip("netns", "add", self.name)
        assert ip("link", "add", self.cable, "type", "veth", "peer", "name", "shore", "netns", self.name)
        assert ip("addr", "add", f"{self.here}/30", "dev", self.cable)
        assert ip("link", "set", self.cable, "up")
        for words in (("addr", "add", f"{self.there}/30", "dev", "shore"), ("link", "set", "shore", "up"),
                      ("link", "set", "lo", "up")):
            assert ip("-n", self.name, *words)
        self.inside = ("ip", "netns", "exec", self.name)

    def cut(self):
        assert ip("link", "set", self.cable, "down")

    def join(self):
        assert ip("link", "set", self.cable, "up")

    def remove(self):
        ip("link", "del", self.cable)
        ip("netns", "del", self.name)


class Group:
    """A master on the island, two replicas and three sentinels on the mainland."""

    def __init__(self, island, folder, *master_flags):
        self.island, self.folder, self.processes = island, folder, []
        self.master_port = free_port()
        self.socket = folder / "master.sock"
        common = ("--save", "", "--appendonly", "no", "--protected-mode", "no", "--repl-diskless-sync-delay", "0")
        self.run(*island.inside, "redis-server", "--port", str(self.master_port), "--bind", island.there,
                 "--unixsocket", str(self.socket), *common, *master_flags)
        eventually("the master answers", lambda: self.ask("PING") == "PONG")
        for _ in range(2):
            self.run("redis-server", "--port", str(free_port()), "--bind", island.here, *common,
                     "--replicaof", island.there, str(self.master_port))
        eventually("the replicas are there", lambda: "connected_slaves:2" in self.ask("INFO", "replication"))
        self.level()
        self.sentinels = [free_port() for _ in range(3)]
        for port in self.sentinels:
            settings = folder / f"sentinel-{port}.conf"
            settings.write_text(
                f"port {port}\nbind {island.here}\nprotected-mode no\n"
                f"sentinel monitor main {island.there} {self.master_port} 2\n"
                "sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n")
            self.run("redis-server", str(settings), "--sentinel")
        eventually("the sentinels agree", lambda: all(
            self.sentinel(port, "CKQUORUM", "main").startswith("OK 3") and
            "\nnum-slaves\n2\n" in self.sentinel(port, "MASTER", "main") for port in self.sentinels))
        self.url = "redis-sentinel://" + ",".join(f"{island.here}:{port}" for port in self.sentinels) + "/main"

    def run(self, *words):
        folder = self.folder / str(len(self.processes))
        folder.mkdir()
        self.processes.append(
            subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-s", str(self.socket), *words], capture_output=True, text=True).stdout.strip()

    def sentinel(self, port, *words):
        return subprocess.run(["redis-cli", "-h", self.island.here, "-p", str(port), "SENTINEL", *words],
                              capture_output=True, text=True).stdout

    def level(self):
        self.ask("SET", "w1:level", "1", "PX", "1")
        assert self.ask("WAIT", "2", "5000") == "2"

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


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
        island.remove()


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
