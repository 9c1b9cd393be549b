#!/usr/bin/env python3
"""100,000 rules: how long a start and a reload take, and the longest that a request waits during a reload.

The longest wait is put beside that of the same client in as much time without a reload (the floor): on a busy machine
the scheduler alone makes a request wait. Run it through bench/run.py, or alone.
"""
import json
import os
import signal
import socket
import statistics
import subprocess
import tempfile
import time

from run import BIN

RULES = 100_000
BODY = b'{"attributes":{"tenant":"t77","api_key":"k"}}'
REQUEST = b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def write_rules(path, limit):
    """Renamed into place, as an operator should."""
    with open(path + ".new", "w") as f:
        f.write("version: 1\nrules:\n")
        for i in range(RULES):
            f.write(f"  - {{id: rule-{i}, match: {{tenant: t{i}}}, per: [api_key], algorithm: token-bucket, "
                    f"limit: {limit + i % 7}, window: 1s, burst: 1000000}}\n")
    os.replace(path + ".new", path)


class Node:
    """A server on two loops, and the events of its log."""

    def __init__(self, folder, rules):
        self.log = os.path.join(folder, "log")
        self.begun = time.monotonic()
        with open(self.log, "w") as errors:
            self.process = subprocess.Popen(
                [f"{BIN}/weir", "serve", "--rules", rules, "--loops", "2", "--log-format", "json",
                 "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0", "--database", "off"],
                stdout=subprocess.DEVNULL, stderr=errors)
        self.address = self.wait_for("listening", 1)["http"]
        self.started = time.monotonic() - self.begun

    def wait_for(self, event, count):
        while self.process.poll() is None:
            with open(self.log) as log:
                found = [json.loads(line) for line in log if line.endswith("\n") and f'"{event}"' in line]
            if len(found) >= count:
                return found[-1]
            time.sleep(0.002)
        raise SystemExit(f"the server ended: {open(self.log).read()}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


class Client:
    """Asks all the time, one request after the other, in a process of its own: this one looks at the log."""

    def __init__(self, address, stop_file):
        self.reads, writes = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            longest = self.ask(address, stop_file)
            os.write(writes, str(longest).encode())
            os._exit(0)
        os.close(writes)

    @staticmethod
    def ask(address, stop_file):
        host, port = address.rsplit(":", 1)
        longest = 0
        with socket.create_connection((host, int(port))) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            turn = 0
            while turn % 64 or not os.path.exists(stop_file):
                turn += 1
                begun = time.perf_counter()
                link.sendall(REQUEST)
                if b" 200 " not in link.recv(4096):
                    raise SystemExit("not allowed")
                longest = max(longest, time.perf_counter() - begun)
        return longest

    def finish(self):
        with os.fdopen(self.reads) as told:
            longest = float(told.read())
        os.waitpid(self.pid, 0)
        return longest


def longest_wait(node, folder, meanwhile):
    """Of one client while `meanwhile` runs; and how long that took."""
    stop = os.path.join(folder, "stop")
    client = Client(node.address, stop)
    begun = time.monotonic()
    meanwhile()
    took = time.monotonic() - begun
    open(stop, "w").close()
    longest = client.finish()
    os.remove(stop)
    return longest, took


def one_run():
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        rules = os.path.join(folder, "rules.yaml")
        write_rules(rules, 1000)
        node = Node(folder, rules)
        try:
            write_rules(rules, 2000)

            def reload():
                node.process.send_signal(signal.SIGHUP)
                node.wait_for("rules_loaded", 2)

            # Until the old rules are freed, too.
            worst, _ = longest_wait(node, folder, lambda: (reload(), time.sleep(0.5)))
            idle, _ = longest_wait(node, folder, lambda: time.sleep(1.5))
            write_rules(rules, 3000)
            begun = time.monotonic()
            node.process.send_signal(signal.SIGHUP)
            node.wait_for("rules_loaded", 3)
            reloaded = time.monotonic() - begun
        finally:
            node.stop()
    return {"start": node.started, "reload": reloaded, "worst": worst, "idle": idle}


def bench_rules(runs):
    seen = [one_run() for _ in range(runs)]
    middle = {name: statistics.median(run[name] for run in seen) for name in seen[0]}
    spread = {name: [round(pick(run[name] for run in seen), 4) for pick in (min, max)] for name in seen[0]}
    rows = [{"name": f"rules.{name}_{RULES}", "unit": "s", "value": round(middle[name], 3), "range": spread[name]}
            for name in ("start", "reload")]
    rows.append({"name": "rules.longest_wait_in_reload", "unit": "ms", "value": round(middle["worst"] * 1e3, 2),
                 "floor": round(middle["idle"] * 1e3, 2), "ratio": round(middle["worst"] / middle["idle"], 2),
                 "range": [round(each * 1e3, 2) for each in spread["worst"]]})
    return rows


if __name__ == "__main__":
    for row in bench_rules(5):
        print(row)
