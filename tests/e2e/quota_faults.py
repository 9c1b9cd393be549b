"""Randomised faults on real servers with a quota, each run checked against what docs/quotas.md promises.

    quota_faults.py WEIR RUNS [SEED]

A run draws a database (SQLite with one node, PostgreSQL with two), leased or strict, a limit, and faults: kill -9 of a
node, kill -9 of PostgreSQL, SIGSTOP of a node for longer than its slices live, both at once. Clients ask for units all the
time and count what was admitted. Afterwards everything must be true of the ledger:

- never over: what clients were told is admitted, and what is billed, is at most the limit;
- nothing twice: billed is at most what was admitted, plus requests that got no answer;
- nothing lost: strict, everything admitted is billed; leased, all but what was admitted in the moments before a kill;
- the ledger's invariants hold (weir quota verify).
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

from postgres_node import Postgres

DEADLINE_S = 60
# A group of the usage log is written every 10 ms; on a machine that does much else, later.
GROUP_S = 0.5


class Node:
    """One `weir serve` on a data_dir and port that stay the same when it is started again."""

    def __init__(self, weir, folder, database, rules, ttl_s):
        self.folder = folder
        folder.mkdir()
        self.words = [weir, "serve", "--rules", str(rules), "--data-dir", str(folder / "state"), "--listen-http", f"unix:{folder}/http",
                      "--listen-admin", f"unix:{folder}/admin", "--quota-slice-ttl", f"{ttl_s}s", "--quota-timeout", "1s", "--log-format", "json",
                      "--database", database, "--drain-timeout", "2s"]
        self.process = None
        self.start()

    def start(self):
        for name in ("http", "admin"):
            (self.folder / name).unlink(missing_ok=True)
        self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=open(self.folder / "log", "a"))
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

    def call(self, method, path, body, timeout):
        connection = UnixConnection(str(self.folder / "http"), timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


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
    """Asks one node for units until it is stopped. Counts answers; one that was not answered may or may not be billed."""

    def __init__(self, node, seed, pause_s):
        super().__init__(daemon=True)
        self.node = node
        self.random = random.Random(seed)
        self.pause_s = pause_s
        self.stopped = False
        self.admitted = 0
        self.denied = 0
        self.failed = 0
        self.unknown = 0
        self.times = []  # when units were admitted

    def run(self):
        while not self.stopped:
            cost = self.random.choice((1, 1, 1, 2, 5))
            try:
                status, body = self.node.call("POST", "/v1/check", {"attributes": {"tenant": "acme"}, "cost": cost}, 6)
            except (OSError, http.client.HTTPException):
                self.unknown += cost
                time.sleep(0.02)
                continue
            if status == 200:
                self.admitted += cost
                self.times.append((time.monotonic(), cost))
            elif status == 429:
                self.denied += 1
                time.sleep(0.01)
            else:
                self.failed += 1
                time.sleep(0.01)
            time.sleep(self.pause_s)


def run_once(weir, seed, verbose=True):
    random_ = random.Random(seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-quota-"))
    strict = random_.random() < 0.4
    postgres = Postgres() if random_.random() < 0.5 else None
    limit = random_.choice((50, 300, 2000))
    ttl_s = 2
    rules = folder / "rules.yaml"
    mode = "strict" if strict else "leased"
    rules.write_text(f"version: 1\nrules: [{{id: q, per: [tenant], algorithm: quota, limit: {limit}, period: year, enforcement: {mode}}}]\n")
    database = postgres.url if postgres else "sqlite:weir.db"
    nodes = [Node(weir, folder / f"n{i}", database, rules, ttl_s) for i in range(2 if postgres else 1)]
    clients = [Client(node, random_.random(), random_.choice((0, 0.002, 0.01))) for node in nodes for _ in range(3)]
    lost = 0
    faults = []
    try:
        for client in clients:
            client.start()
        for _ in range(random_.randint(1, 3)):
            time.sleep(random_.uniform(0.1, 1.0))
            kinds = ["kill", "stop", "both"] if postgres else ["kill", "stop"]
            if postgres:
                kinds.append("database")
            kind = random_.choice(kinds)
            faults.append(kind)
            node = random_.choice(nodes)
            if kind in ("database", "both"):
                postgres.kill()
            if kind in ("kill", "both"):
                node.kill()
                now = time.monotonic()
                lost += sum(cost for client in clients if client.node is node for at, cost in client.times if at > now - GROUP_S)
            if kind == "stop":
                node.process.send_signal(signal.SIGSTOP)
                time.sleep(ttl_s + random_.uniform(0.5, 1.5))
                node.process.send_signal(signal.SIGCONT)
            time.sleep(random_.uniform(0, 0.5))
            if kind in ("database", "both"):
                postgres.start()
            if kind in ("kill", "both"):
                node.start()
        time.sleep(0.5)
        for client in clients:
            client.stopped = True
        for client in clients:
            client.join(DEADLINE_S)
        for node in nodes:
            node.stop()
        # A stopped node has sent what it could; starting it again sends the rest.
        for node in nodes:
            node.start()
        time.sleep(1.0)
        for node in nodes:
            node.stop()
        return judge(weir, folder, database, nodes, clients, limit, strict, lost, faults, seed, verbose)
    finally:
        for client in clients:
            client.stopped = True
        for node in nodes:
            node.kill()
        if postgres:
            postgres.close()
        shutil.rmtree(folder, ignore_errors=True)


def judge(weir, folder, database, nodes, clients, limit, strict, lost, faults, seed, verbose):
    at = ["--database", database, "--data-dir", str(nodes[0].folder / "state"), "--json"]
    shown = subprocess.run([weir, "quota", "show", *at], capture_output=True, text=True, timeout=60)
    accounts = json.loads(shown.stdout)
    used = sum(each["used"] for each in accounts)
    taken = sum(each["used"] + each["held"] + each["expired"] for each in accounts)
    overage = sum(each["overage"] for each in accounts)
    admitted = sum(client.admitted for client in clients)
    unknown = sum(client.unknown for client in clients)
    told = (f"seed {seed}: {'strict' if strict else 'leased'} {'postgres' if len(nodes) > 1 else 'sqlite'} limit {limit} faults {'+'.join(faults)}: "
            f"admitted {admitted}, billed {used}, taken {taken}, without an answer {unknown}, may be lost {lost}")
    verified = subprocess.run([weir, "quota", "verify", *at], capture_output=True, text=True, timeout=120)
    assert verified.returncode == 0, told + "\n" + verified.stdout + verified.stderr
    assert admitted <= limit, "over the limit: " + told
    assert used <= limit and overage == 0, "billed beyond the limit: " + told
    assert taken <= limit, "taken beyond the limit: " + told
    assert used <= admitted + unknown, "billed twice: " + told
    assert used >= admitted - (0 if strict else lost), "admitted and not billed: " + told
    if verbose:
        print(told, flush=True)
    return told


if __name__ == "__main__":
    program, runs = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    for run in range(runs):
        run_once(os.path.abspath(program), first + run)
    print(f"{runs} passed, 0 failed")
