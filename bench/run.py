#!/usr/bin/env python3
"""Runs the benches, prints a table and writes build/bench.json.

Engine figures are nanoseconds of CPU per check. Server figures are microseconds of server CPU per request, measured
in short rounds in which the server and its floor program take turns, so that a machine whose speed drifts slows both
alike; the ratio is what counts.
"""
import argparse
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(ROOT, "build", "bin")
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of a process, all its threads, to a hundredth of a microsecond where the kernel tells."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat") as f:
                total += int(f.read().split()[0])
        except FileNotFoundError:
            pass
    return total / 1e9


def pin(core):
    """For preexec_fn: the server on one core, the load on the other."""
    return lambda: os.sched_setaffinity(0, {core % os.cpu_count()})


class Server:
    def __init__(self, name, argv, ready_port=None):
        self.name = name
        # Servers beside each other would compete for one data_dir, and the figures are those of the server alone.
        environment = {**os.environ, "WEIR_DATABASE": "off"}
        self.process = subprocess.Popen(argv, preexec_fn=pin(0), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        env=environment)
        self.port = ready_port

    def wait_listening(self, port):
        import socket

        self.port = port
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return self
            except OSError:
                if self.process.poll() is not None:
                    sys.exit(f"{self.name} did not start: {self.process.stderr.read()}")
                time.sleep(0.05)
        sys.exit(f"{self.name} does not listen on port {port}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


CHECK_LUA = """
wrk.method = "POST"
wrk.path = "/v1/check"
wrk.body = '{"attributes":{"tenant":"acme","api_key":"key-0123456789abcdef","action":"search","method":"GET","path":"/v1/items"},"cost":1}'
wrk.headers["Content-Type"] = "application/json"
"""


def wrk_round(server, script, seconds, connections):
    before = cpu_seconds(server.process.pid)
    out = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{server.port}/v1/check"],
        preexec_fn=pin(1), capture_output=True, text=True, check=True).stdout
    used = cpu_seconds(server.process.pid) - before
    if "Non-2xx" in out:
        sys.exit(f"{server.name} answered with errors:\n{out}")
    requests = int(re.search(r"(\d+) requests in", out).group(1))
    return used / requests * 1e6


def bench_http(rounds, seconds, connections):
    folder = tempfile.mkdtemp(prefix="weir-bench-")
    rules = os.path.join(folder, "rules.yaml")
    with open(rules, "w") as f:
        f.write("version: 1\nrules:\n  - {id: search-per-key, match: {action: search}, per: [tenant, api_key], "
                "algorithm: token-bucket, limit: 1000000000, window: 1s}\n")
    script = os.path.join(folder, "check.lua")
    with open(script, "w") as f:
        f.write(CHECK_LUA)
    ports = [free_port() for _ in range(3)]
    servers = [
        Server("weir", [f"{BIN}/weir", "serve", "--rules", rules, "--listen-http", f"127.0.0.1:{ports[0]}",
                        "--listen-admin", "off", "--loops", "1", "--log-level", "warn"]),
        Server("floor", [f"{BIN}/http_floor", str(ports[1]), "1"]),
        Server("beast", [f"{BIN}/beast_floor", str(ports[2]), "1"]),
    ]
    try:
        for server, port in zip(servers, ports):
            server.wait_listening(port)
            wrk_round(server, script, 1, connections)
        samples = {server.name: [] for server in servers}
        for _ in range(rounds):
            for server in servers:
                samples[server.name].append(wrk_round(server, script, seconds, connections))
    finally:
        for server in servers:
            server.stop()
    value, floor, beast = (statistics.median(samples[n]) for n in ("weir", "floor", "beast"))
    return [
        {"name": "http.check", "unit": "us", "value": round(value, 2), "floor": round(floor, 2), "ratio": round(value / floor, 3)},
        {"name": "http.floor", "unit": "us", "value": round(floor, 2)},
        {"name": "http.beast_constant", "unit": "us", "value": round(beast, 2), "floor": round(floor, 2), "ratio": round(beast / floor, 3)},
    ]


def bench_engine(rounds):
    out = subprocess.run([f"{BIN}/engine_bench", str(rounds)], capture_output=True, text=True, check=True).stdout
    out += subprocess.run([f"{BIN}/key_bench"], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def machine():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*:\s*(.*)", f.read())
    return f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def commit():
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def other_suite(name, call):
    """A suite in a file of its own, which borrows from this one."""
    sys.modules.setdefault("run", sys.modules[__name__])
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    return call(__import__(name))


SUITES = {
    "engine": lambda a: bench_engine(a.rounds * 2 + 1),
    "http": lambda a: bench_http(a.rounds, a.seconds, a.connections),
    "grpc": lambda a: other_suite("grpc_suite", lambda m: m.bench_grpc(sys.modules["run"], a.rounds, a.seconds)),
    "resp": lambda a: other_suite("resp_suite", lambda m: m.bench_resp(a.rounds)),
    "rules": lambda a: other_suite("rules_suite", lambda m: m.bench_rules(a.rounds)),
    "simulate": lambda a: other_suite("simulate_suite", lambda m: m.bench_simulate()),
    "ledger": lambda a: other_suite("ledger_suite", lambda m: m.bench_ledger(min(a.rounds, 3))),
    "insight": lambda a: other_suite("insight_suite", lambda m: m.bench_insight(a.rounds, a.seconds)),
    "redis": lambda a: other_suite("redis_suite", lambda m: m.bench_redis(a)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", help="which of: " + ", ".join(SUITES) + " (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="per round of a server's bench")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "bench.json"))
    args = parser.parse_args()
    results = []
    for name in args.suites or SUITES:
        if name not in SUITES:
            parser.error(f"no suite '{name}'")
        results += SUITES[name](args)
        print(f"measured {name}", file=sys.stderr)
    print(f"{'name':34} {'value':>10} {'unit':5} {'floor':>10} {'ratio':>7}")
    for r in results:
        print(f"{r['name']:34} {r['value']:>10} {r['unit']:5} {r.get('floor', ''):>10} {r.get('ratio', ''):>7}")
    with open(args.out, "w") as f:
        json.dump({"machine": machine(), "commit": commit(), "results": results}, f, indent=1)
    print(f"written to {os.path.relpath(args.out, ROOT)}")


if __name__ == "__main__":
    main()
