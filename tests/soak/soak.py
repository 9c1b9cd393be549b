#!/usr/bin/env python3
"""A real `weir serve` under load for minutes: random keys beyond its memory bound, one hot key, connections that come and
go, reloads, snapshots. Usage: soak.py WEIR MINUTES. Prints one line per round; fails on the first thing that does not hold:

- admitted = limit: whatever else happens, the hot keys together get their limit, and not one more;
- memory: what buckets take stays within memory.max_bytes, and the process within that and a margin, without growing;
- descriptors: after each round as many are open as before the first;
- nothing fails: no request of the load goes unanswered, no reload is refused, SIGTERM ends it with 0.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

MAX_BYTES = 4 << 20
MARGIN_KIB = 96 << 10  # the program, its loops, and buffers of the connections
GROWTH_KIB = 16 << 10  # of the last third of the rounds over the second
HOT_LIMIT = 20_000
ROUND_S = 10
DEADLINE_S = 30
RULES = f"""version: 1
rules:
  - {{id: hot, match: {{action: hot}}, per: [tenant], algorithm: fixed-window, limit: {HOT_LIMIT}, window: 3650d}}
  - {{id: crowd, match: {{action: crowd}}, per: [tenant], algorithm: token-bucket, limit: 5, window: 1s}}
  - {{id: log, match: {{action: crowd}}, per: [tenant], algorithm: sliding-log, limit: 20, window: 2s}}
"""


class Server:
    def __init__(self, program, folder):
        self.rules = folder / "rules.yaml"
        self.rules.write_text(RULES)
        self.log = folder / "log"
        self.errors = open(self.log, "w")
        listeners = [word for name in ("http", "admin", "resp", "grpc", "spop") for word in (f"--listen-{name}", "127.0.0.1:0")]
        self.process = subprocess.Popen(
            [program, "serve", "--log-format", "json", "--rules", str(self.rules), "--memory-max-bytes", str(MAX_BYTES),
             "--memory-snapshot", str(folder / "buckets"), "--memory-snapshot-every", "2s", "--data-dir", str(folder / "state"), *listeners], stdout=subprocess.DEVNULL, stderr=self.errors)
        self.addresses = self.await_event("listening", 1)

    def events(self, name):
        lines = self.log.read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def await_event(self, name, count):
        end = time.monotonic() + DEADLINE_S
        while len(self.events(name)) < count:
            assert self.process.poll() is None and time.monotonic() < end, f"no {name}: {self.log.read_text()}"
            time.sleep(0.05)
        return self.events(name)[-1]

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.addresses['admin']}/metrics", timeout=DEADLINE_S) as answer:
            lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def rss_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))

    def descriptors(self):
        """Once the connections that were closed are gone."""
        end = time.monotonic() + DEADLINE_S
        while self.metrics()["weir_connections"] > 1 and time.monotonic() < end:
            time.sleep(0.05)
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def bench(program, server, *words):
    return subprocess.Popen([program, "bench", *words, "--json", "--server", f"http://{server.addresses['http']}"],
                            stdout=subprocess.PIPE, text=True)


def one_round(program, server, number):
    """Load from three clients at once; how many of the hot requests were allowed."""
    port = server.addresses["resp"].rsplit(":", 1)[1]
    crowd = bench(program, server, "action=crowd", f"tenant=r{number}-{{}}", "--keys", "1000000", "--connections", "16", "--duration", str(ROUND_S))
    hot = bench(program, server, "action=hot", "tenant=acme", "--connections", "4", "--duration", str(ROUND_S))
    # -k 0: a connection for each batch. It gives up at the first error, and at the memory bound newcomers get one.
    throttle = subprocess.Popen(["redis-benchmark", "-p", port, "-n", "200000", "-c", "20", "-P", "16", "-k", "0", "-r", "100000000", "-q",
                                 "CL.THROTTLE", "key:__rand_int__", "5", "10", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    reloads = len(server.events("rules_loaded"))
    server.rules.write_text(RULES + f"# round {number}\n")
    server.await_event("rules_loaded", reloads + 1)
    told = [json.loads(client.communicate(timeout=6 * DEADLINE_S)[0]) for client in (crowd, hot)]
    said = throttle.communicate(timeout=6 * DEADLINE_S)[0]
    assert throttle.returncode == 0 or "no room for this bucket" in said, said
    assert all(client.returncode == 0 for client in (crowd, hot)), told
    assert all(each["failed"] == 0 for each in told), f"requests went unanswered: {told}"
    return told[1]["allowed"]


def soak(program, server, minutes):
    descriptors, admitted, memory = server.descriptors(), 0, []
    end = time.monotonic() + minutes * 60
    while time.monotonic() < end or len(memory) < 3:
        admitted += one_round(program, server, len(memory))
        memory.append(server.rss_kib())
        facts = server.metrics()
        taken = facts['weir_store_bytes{store="memory"}']
        refused = facts['weir_store_refused_newcomers_total{store="memory"}']
        assert admitted <= HOT_LIMIT, f"{admitted} admitted of {HOT_LIMIT}"
        assert taken <= MAX_BYTES, f"buckets take {taken} bytes of {MAX_BYTES}"
        assert memory[-1] < MAX_BYTES // 1024 + MARGIN_KIB, f"the process takes {memory[-1]} KiB"
        assert server.descriptors() <= descriptors, "descriptors leak"
        assert facts['weir_rules_reloads_total{result="failure"}'] == 0
        print(f"round {len(memory)}: {admitted} of {HOT_LIMIT} admitted, {int(taken) >> 10} KiB of buckets, {int(refused)} newcomers refused, "
              f"{memory[-1] >> 10} MiB in all, {descriptors} descriptors", flush=True)
    third = len(memory) // 3
    assert max(memory[-third:]) <= max(memory[third:2 * third]) + GROWTH_KIB, f"memory grows: {memory} KiB"
    assert admitted == HOT_LIMIT, f"{admitted} admitted of {HOT_LIMIT}: the load was too small to tell"
    assert refused > 0, "the memory bound was never reached: the load was too small to tell"
    server.process.terminate()
    assert server.process.wait(DEADLINE_S) == 0
    print(f"{len(memory)} passed, 0 failed")


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(sys.argv[1], pathlib.Path(folder))
        try:
            soak(sys.argv[1], server, float(sys.argv[2]))
        finally:
            if server.process.poll() is None:
                server.process.kill()


if __name__ == "__main__":
    main()
