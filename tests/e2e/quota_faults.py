"""Randomised faults on real servers with a quota, each run checked against what docs/quotas.md promises.

    quota_faults.py WEIR RUNS [SEED]

A seed chooses one of SCENARIOS (ten seeds in a row are all of them), a limit, the moments of the faults and their order:

- kill -9 of a node, of PostgreSQL, of both; SIGSTOP of a node for longer than its slices live;
- the network to PostgreSQL is cut: a network namespace whose cable is pulled, or without the right to make one a proxy that
  forwards nothing;
- answers of PostgreSQL get lost after it has committed: a proxy that forwards only what nodes send;
- the disk of the usage log and of SQLite is full (a small tmpfs), and fails at the Nth write or fsync (LD_PRELOAD);
- FLUSHALL of the Redis that has the buckets.

Clients ask for units all the time and count what was admitted; those with a key send a request again, to any node, until it
is answered. Afterwards everything must be true of the ledger:

- never over: what clients were told is admitted, and what is billed, is at most the limit;
- nothing twice: billed is at most what was admitted, plus requests that got no answer;
- nothing lost: strict, everything admitted is billed; leased, all but what a kill found between two groups of the usage
  log: what clients were told before the last group but one reached the disk is billed;
- the ledger's invariants hold (weir quota verify), and no node has usage left that it did not send or that was refused.
"""

import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from fault_tools import ERRORS, FailingDisk, Island, Proxy, RedisServer, SmallDisk, may_make_networks
from postgres_node import Postgres

DEADLINE_S = 60


class Node:
    """One `weir serve` on a data_dir and port that stay the same when it is started again."""

    def __init__(self, weir, folder, database, rules, ttl_s, flags=(), environment=None, state=None):
        self.folder = folder
        self.environment = {**os.environ, **(environment or {})}
        folder.mkdir(exist_ok=True)
        self.state = state or folder / "state"
        self.words = [weir, "serve", "--rules", str(rules), "--data-dir", str(self.state), "--listen-http", f"unix:{folder}/http",
                      "--listen-admin", f"unix:{folder}/admin", "--quota-slice-ttl", f"{ttl_s}s", "--quota-timeout", "1s", "--log-format", "json",
                      "--database", database, "--drain-timeout", "2s", *flags]
        self.process = None
        self.start()

    def start(self):
        for name in ("http", "admin"):
            (self.folder / name).unlink(missing_ok=True)
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=log, env=self.environment)
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            try:
                if self.call("GET", "/healthz", None, 1)[0] == 200:
                    return
            except OSError:
                pass
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        raise AssertionError("the node did not start")

    def call(self, method, path, body, timeout, headers=None, listener="http"):
        connection = UnixConnection(str(self.folder / listener), timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """As an operator would. One that does not end is a fault of the program."""
        self.process.terminate()
        self.process.wait(DEADLINE_S)

    def send_all(self):
        """Starts the node until the ledger has everything that it logged. A node that is stopped sends what it can, but not for long."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            self.start()
            # An epoch is opened when what earlier ones left was sent.
            while not self.has_epoch():
                assert time.monotonic() < deadline, "the node does not open an epoch"
                time.sleep(0.05)
            self.stop()
            left = [each.name for each in (self.state / "usage").iterdir()]
            if not left:
                return
            assert time.monotonic() < deadline, f"usage that was not sent: {left}"

    def has_epoch(self):
        status, text = self.call("GET", "/readyz", None, 10, listener="admin")
        return status == 200 and json.loads(text)["quota"]["usable"]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("weir", timeout=timeout)
        self.path = path

    def connect(self):
        import socket

        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Client(threading.Thread):
    """Asks a node for units until it is stopped. Counts answers; one that was not answered may or may not be billed."""

    def __init__(self, nodes, home, seed, pause_s, keyed):
        super().__init__(daemon=True)
        self.nodes, self.node, self.keyed = nodes, nodes[home], keyed
        self.random = random.Random(seed)
        self.pause_s = pause_s
        self.stopped = False
        self.admitted = 0
        self.denied = 0
        self.failed = 0
        self.unknown = 0
        self.times = []  # of units that were admitted: when they were asked for, when it was answered, and how many

    def run(self):
        while not self.stopped:
            cost = self.random.choice((1, 1, 1, 2, 5))
            key = f"{self.random.getrandbits(64):x}" if self.keyed else None
            asked = time.monotonic()
            status = self.ask(self.node, cost, key)
            # With a key it is safe to ask again, whichever node: until the answer is known.
            deadline = time.monotonic() + DEADLINE_S / 2
            while key and status not in (200, 429) and time.monotonic() < deadline:
                time.sleep(0.05)
                status = self.ask(self.random.choice(self.nodes), cost, key)
            if status == 200:
                self.admitted += cost
                self.times.append((asked, time.monotonic(), cost))
            elif status == 429:
                self.denied += 1
                time.sleep(0.01)
            elif status is None or key:
                self.unknown += cost
                time.sleep(0.02)
            else:
                self.failed += 1
                time.sleep(0.01)
            time.sleep(self.pause_s)

    def ask(self, node, cost, key):
        """The status; nothing if there was no answer."""
        headers = {"Idempotency-Key": key} if key else {}
        try:
            return node.call("POST", "/v1/check", {"attributes": {"tenant": "acme"}, "cost": cost}, 6, headers)[0]
        except (OSError, http.client.HTTPException):
            return None


# The database, how quotas are kept, what may happen, and how nodes reach the database.
SCENARIOS = (
    ("sqlite", "leased", ("kill", "stop"), None),
    ("postgres", "strict", ("kill", "stop", "database", "both"), None),
    ("sqlite", "leased", ("full", "disk", "kill"), None),
    ("postgres", "leased", ("cut", "kill"), "island"),
    ("postgres", "strict", ("lose", "kill", "cut"), "proxy"),
    ("sqlite", "strict", ("kill", "stop"), None),
    ("postgres", "leased", ("kill", "stop", "database", "both"), None),
    ("sqlite", "strict", ("full", "disk", "kill"), None),
    ("postgres", "strict", ("cut", "kill"), "island"),
    ("postgres", "leased", ("flush", "lose", "disk", "kill"), "proxy"),
)
TTL_S = 2


class Run:
    """What one run uses, and takes away at its end."""

    def __init__(self, weir, seed):
        self.weir, self.seed = weir, seed
        self.random = random.Random(seed)
        kind, mode, self.kinds, way = SCENARIOS[seed % len(SCENARIOS)]
        self.strict = mode == "strict"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-quota-"))
        self.limit = self.random.choice((50, 300, 2000))
        self.faults = []
        self.kills = []  # the node, when it was killed, and until when everything it had admitted was on its disk
        self.nodes, self.clients, self.disks, self.closing = [], [], [], []
        self.postgres = self.network = self.redis = None
        try:
            self.set_up(kind, mode, way)
        except BaseException:
            self.close()
            raise

    def keep(self, thing):
        self.closing.append(thing)
        return thing

    def set_up(self, kind, mode, way):
        rules = self.folder / "rules.yaml"
        rules.write_text(f"""version: 1
rules:
  - {{id: q, per: [tenant], algorithm: quota, limit: {self.limit}, period: year, enforcement: {mode}}}
  - {{id: rate, per: [tenant], limit: 1000000, window: 1s, burst: 1000000, on_store_failure: allow}}
""")
        self.database, flags = "sqlite:weir.db", []
        if kind == "postgres":
            if way == "island" and may_make_networks():
                self.network = self.keep(Island())
            elif way == "island":
                print("no network namespace can be made here: a proxy stands for the cable", flush=True)
                way = "proxy"
            self.postgres = self.keep(Postgres(self.network))
            self.database = self.postgres.url
            if way == "proxy":
                self.network = self.keep(Proxy(self.postgres.port))
                self.database = Postgres.url_of("127.0.0.1", self.network.port)
        if "flush" in self.kinds:
            self.redis = self.keep(RedisServer())
            end = time.monotonic() + DEADLINE_S
            self.redis.wait(lambda: time.monotonic() > end)
            flags = ["--store", f"redis://127.0.0.1:{self.redis.port}"]
        for index in range(2 if self.postgres else 1):
            self.add_node(index, rules, flags)
        pauses = (0, 0.002, 0.01)
        keyed = self.strict and "lose" in self.kinds
        self.clients = [Client(self.nodes, home, self.random.random(), self.random.choice(pauses), keyed)
                        for home in range(len(self.nodes)) for _ in range(3)]

    def add_node(self, index, rules, flags):
        folder = self.folder / f"n{index}"
        folder.mkdir()
        state, small = folder / "state", None
        if "full" in self.kinds:
            small = self.keep(SmallDisk(folder / "disk"))
            state = small.folder / "state"
        failing = self.keep(FailingDisk(folder, str(state)))
        environment = failing.environment()
        self.disks.append((small, failing))
        self.nodes.append(Node(self.weir, folder, self.database, rules, TTL_S, flags, environment, state))

    def close(self):
        for client in self.clients:
            client.stopped = True
        for node in self.nodes:
            node.kill()
        for thing in reversed(self.closing):
            thing.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self, node):
        node.kill()
        _, failing = self.disks[self.nodes.index(node)]
        self.kills.append((node, time.monotonic(), failing.group_before_last()))

    def lost(self):
        """Units that may be lost: of the last two groups before a kill. When the one before the last was on the disk, what had
        been answered until then was there too or in the last one. A client may read its answer after the kill."""
        return sum(cost for client in self.clients for asked, answered, cost in client.times
                   if any(client.node is node and answered > logged and asked < killed for node, killed, logged in self.kills))

    def make(self, kind):
        """One fault, and its end."""
        index = self.random.randrange(len(self.nodes))
        node, (small, failing) = self.nodes[index], self.disks[index]
        pause = self.random.uniform(0, 0.5)
        if kind in ("database", "both"):
            self.postgres.kill()
        if kind in ("kill", "both"):
            self.kill(node)
        if kind == "stop":
            node.process.send_signal(signal.SIGSTOP)
            time.sleep(TTL_S + self.random.uniform(0.5, 1.5))
            node.process.send_signal(signal.SIGCONT)
        if kind == "cut":
            self.network.cut()
            time.sleep(self.random.choice((0.3, 1.5, TTL_S + 1)))
            self.network.join()
        if kind == "lose":
            self.network.lose_answers()
            time.sleep(self.random.uniform(0.02, 0.8))
            self.network.join()
        if kind == "flush":
            self.redis.ask("FLUSHALL")
        if kind == "disk":
            failing.arm(self.random.randrange(20), self.random.choice((1, 3, 50)), self.random.choice(ERRORS))
            time.sleep(self.random.uniform(0.2, 1))
            failing.mend()
        if kind == "full":
            self.fill(small, failing)
        time.sleep(pause)
        if kind in ("database", "both"):
            self.postgres.start()
        if kind in ("kill", "both"):
            node.start()

    def fill(self, small, failing):
        if small.mounted:
            small.fill()
        else:
            failing.arm(0, 1 << 30, ERRORS[1])
        time.sleep(self.random.uniform(0.3, 1.5))
        small.clear()
        failing.mend()

    def go(self):
        for client in self.clients:
            client.start()
        for _ in range(self.random.randint(2, 3)):
            time.sleep(self.random.uniform(0.1, 0.7))
            kind = self.random.choice(self.kinds)
            self.faults.append(kind)
            self.make(kind)
        time.sleep(0.5)
        for client in self.clients:
            client.stopped = True
        for client in self.clients:
            client.join(DEADLINE_S)
        for node in self.nodes:
            node.stop()
        for node in self.nodes:
            node.send_all()

    def judge(self):
        at = ["--database", self.database, "--data-dir", str(self.nodes[0].state), "--json"]
        shown = subprocess.run([self.weir, "quota", "show", *at], capture_output=True, text=True, timeout=60)
        accounts = json.loads(shown.stdout)
        used = sum(each["used"] for each in accounts)
        taken = sum(each["used"] + each["held"] + each["expired"] for each in accounts)
        overage = sum(each["overage"] for each in accounts)
        admitted = sum(client.admitted for client in self.clients)
        unknown = sum(client.unknown for client in self.clients)
        kind, mode, _, _ = SCENARIOS[self.seed % len(SCENARIOS)]
        told = (f"seed {self.seed}: {mode} {kind} limit {self.limit} faults {'+'.join(self.faults)}: admitted {admitted}, billed {used}, "
                f"taken {taken}, without an answer {unknown}, may be lost {self.lost()}")
        verified = subprocess.run([self.weir, "quota", "verify", *at], capture_output=True, text=True, timeout=120)
        assert verified.returncode == 0, told + "\n" + verified.stdout + verified.stderr
        assert admitted > 0, "nothing was admitted: " + told
        assert admitted <= self.limit, "over the limit: " + told
        assert used <= self.limit and overage == 0, "billed beyond the limit: " + told
        assert taken <= self.limit, "taken beyond the limit: " + told
        assert used <= admitted + unknown, "billed twice: " + told
        assert used >= admitted - (0 if self.strict else self.lost()), "admitted and not billed: " + told
        return told


def run_once(weir, seed, verbose=True):
    run = Run(weir, seed)
    try:
        run.go()
        told = run.judge()
    except BaseException:
        for node in run.nodes:
            log = node.folder / "log"
            print(f"--- seed {seed} {node.folder.name}\n" + "\n".join(log.read_text().splitlines()[-15:]), flush=True)
        raise
    finally:
        run.close()
    if verbose:
        print(told, flush=True)
    return told


if __name__ == "__main__":
    program, runs = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    for run in range(runs):
        run_once(os.path.abspath(program), first + run)
    print(f"{runs} passed, 0 failed")
