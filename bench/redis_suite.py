#!/usr/bin/env python3
"""The Redis store: decisions per second and Redis's CPU for each, beside redis-benchmark running the same script raw.

One redis-server on core 0, the load on core 1, taking turns, so that a machine whose speed drifts slows both alike.
`redis_script` prints the script and the call that a decision sends; redis-benchmark repeats that call on random keys.
`redis_load` makes decisions: rules, keys, charge, one script call, verdict. Each shape of load is compared with the
same clients and depth under redis-benchmark. Run it through bench/run.py.
"""
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

KEYS = 10_000  # as in redis_load.cc
DECISIONS = 100_000
# A hot key that a node mostly answers itself needs more decisions, so that what Redis does to connect does not count.
HOT_DECISIONS = 1_000_000
LEASES = 3_000
CLIENTS = 64
DEPTH = 16
# Clients and how many calls each has under way: redis-benchmark opens a connection for each, a node of Weir shares one.
SHAPES = {"64_clients": (CLIENTS, 1), "64_clients_16_deep": (CLIENTS, DEPTH), "1_client_64_deep": (1, CLIENTS)}
FLOOD_PERCENT = 90
# The bench wants rates, not failure policies: no call may be given up because a core is busy with something else.
DEADLINE = "10s"


def wire_words(command):
    """The words of one command in Redis's protocol: *2, then $3 GET and so on."""
    words, at = [], command.index(b"\r\n") + 2
    while at < len(command):
        end = command.index(b"\r\n", at)
        size = int(command[at + 1:end])
        words.append(command[end + 2:end + 2 + size].decode())
        at = end + 2 + size + 2
    return words


class Redis:
    """A redis-server that is asked through redis-cli."""

    def __init__(self, run):
        self.run = run
        self.folder = tempfile.mkdtemp(prefix="weir-bench-")
        port = run.free_port()
        self.server = run.Server("redis", ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", self.folder])
        self.server.wait_listening(port)

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.server.port), *words], capture_output=True, text=True, check=True).stdout

    def script_calls(self):
        return sum(int(n) for n in re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+)", self.ask("INFO", "commandstats")))

    def cpu(self):
        return self.run.cpu_seconds(self.server.process.pid)

    def stop(self):
        self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def raw_call(run, redis):
    """Loads the script; the words with which redis-benchmark calls it, each time on another key."""
    body = subprocess.run([f"{run.BIN}/redis_script", "body"], capture_output=True, text=True, check=True).stdout
    words = wire_words(subprocess.run([f"{run.BIN}/redis_script", "call"], capture_output=True, check=True).stdout)
    sha = redis.ask("SCRIPT", "LOAD", body).strip()
    if words[:3] != ["EVALSHA", sha, "1"]:
        sys.exit(f"redis_script calls {words[:3]}, Redis names the script {sha}")
    key = words[3]
    return words[:3] + [key[:-len("__rand_int__")] + "__rand_int__"] + words[4:]


def raw_round(run, redis, call, clients, depth):
    """Calls per second, and microseconds of Redis's CPU for each."""
    before = redis.cpu()
    done = subprocess.run(["redis-benchmark", "-p", str(redis.server.port), "-c", str(clients), "-P", str(depth), "-n", str(DECISIONS),
                           "-r", str(KEYS), "-q", *call], preexec_fn=run.pin(1), capture_output=True, text=True)
    used = redis.cpu() - before
    rates = re.findall(r"([\d.]+) requests per second", done.stdout)
    if done.returncode != 0 or not rates or "rror" in done.stdout + done.stderr:
        sys.exit(f"redis-benchmark did not run the script:\n{done.stdout}\n{done.stderr}")
    return float(rates[-1]), used / DECISIONS * 1e6


def load_round(run, redis, in_flight, connections=1, flood_percent=0, prefilter="off", keys=()):
    """What redis_load reports, with Redis's own count of script calls and its CPU per decision."""
    redis.ask("CONFIG", "RESETSTAT")
    before = redis.cpu()
    url = f"redis://127.0.0.1:{redis.server.port}?deadline={DEADLINE}&connections={connections}"
    done = subprocess.run([f"{run.BIN}/redis_load", url, str(DECISIONS), str(in_flight), str(flood_percent), prefilter, *keys],
                          preexec_fn=run.pin(1), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"redis_load: {done.stderr}")
    report = json.loads(done.stdout)
    report["redis_us"] = (redis.cpu() - before) / DECISIONS * 1e6
    report["redis_calls"] = redis.script_calls()
    report["rate"] = DECISIONS / report["seconds"]
    if report["degraded"] > 0:
        sys.exit(f"redis_load: Redis did not answer {report['degraded']} of {DECISIONS} decisions")
    return report


def pair_round(run, redis, keys, consistency):
    """Two nodes at once on one Redis: the CPU of Redis for each decision, its script calls for each, and decisions per second together."""
    decisions = HOT_DECISIONS if keys == "hot" and consistency != "exact" else DECISIONS
    redis.ask("CONFIG", "RESETSTAT")
    before = redis.cpu()
    url = f"redis://127.0.0.1:{redis.server.port}?deadline={DEADLINE}&connections=1"
    command = [f"{run.BIN}/redis_load", url, str(decisions), str(CLIENTS), "0", "off", keys, consistency, "2"]
    nodes = [subprocess.Popen(command, preexec_fn=run.pin(1), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    reports = []
    for node in nodes:
        out, errors = node.communicate()
        if node.returncode != 0:
            sys.exit(f"redis_load: {errors}")
        reports.append(json.loads(out))
    degraded = sum(report["degraded"] for report in reports)
    if degraded > 0:
        sys.exit(f"redis_load: Redis did not answer {degraded} decisions")
    # Scripts that keep the list of nodes count as well: they are part of what synced rules cost.
    return {"redis_us": (redis.cpu() - before) / (2 * decisions) * 1e6, "redis_calls": redis.script_calls() / (2 * decisions),
            "rate": sum(decisions / report["seconds"] for report in reports)}


def lease_round(run, redis):
    """Script calls for each acquire and release over HTTP, and microseconds of Redis's CPU for one of each."""
    rules = os.path.join(redis.folder, "leases.yaml")
    with open(rules, "w") as file:
        file.write("version: 1\nrules:\n  - {id: active, per: [tenant], algorithm: concurrency, limit: 10, lease: 30s, on_store_failure: deny}\n")
    ports = [run.free_port(), run.free_port()]
    server = run.Server("weir", [f"{run.BIN}/weir", "serve", "--rules", rules, "--store", f"redis://127.0.0.1:{redis.server.port}?deadline={DEADLINE}",
                                 "--listen-http", f"127.0.0.1:{ports[0]}", "--listen-admin", f"127.0.0.1:{ports[1]}"]).wait_listening(ports[0])
    connection = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=10)

    def ask(method, path, body, expected):
        connection.request(method, path, body)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != expected:
            sys.exit(f"{method} {path} answered {answer.status}: {text.decode()}")
        return text

    def pair():
        lease = json.loads(ask("POST", "/v1/leases", '{"attributes":{"tenant":"acme"}}', 201))["lease"]
        ask("DELETE", "/v1/leases/" + lease, None, 204)

    try:
        pair()
        redis.ask("CONFIG", "RESETSTAT")
        before = redis.cpu()
        for _ in range(LEASES):
            pair()
        return redis.script_calls() / (2 * LEASES), (redis.cpu() - before) / LEASES * 1e6
    finally:
        server.stop()


def consistency_rows(run, redis, rounds):
    """Leased and synced beside exact, taking turns, two nodes each: decisions for each second of Redis's CPU, calls for each, and the rate."""
    results = []
    for keys, place in (("hot", "hot_key"), ("zipf", "zipf")):
        reports = {"exact": [], "leased": [], "synced": []}
        for _ in range(rounds):
            for consistency, samples in reports.items():
                report = pair_round(run, redis, keys, consistency)
                samples.append(report | {"per_cpu_second": 1e6 / report["redis_us"]})
        for each in ("leased", "synced"):
            for member, suffix, unit, digits in (("per_cpu_second", "_decisions_per_cpu_second", "/s", 0),
                                                 ("redis_calls", "_calls_per_decision", "", 5), ("rate", "", "/s", 0)):
                values, floors = ([report[member] for report in reports[name]] for name in (each, "exact"))
                ratios = [value / floor for value, floor in zip(values, floors)]
                results.append(row(f"redis.{each}_{place}{suffix}", unit, statistics.median(values), statistics.median(floors), digits)
                               | {"ratios": [round(min(ratios), 5), round(max(ratios), 5)]})
    return results


def row(name, unit, value, floor=None, digits=0):
    result = {"name": name, "unit": unit, "value": round(value, digits)}
    if floor is not None:
        result |= {"floor": round(floor, digits), "ratio": round(value / floor, 5)}
    return result


def bench_redis(args):
    import run  # here, because run.py imports this file

    redis = Redis(run)
    try:
        call = raw_call(run, redis)
        raw, samples = {name: [] for name in SHAPES}, {name: [] for name in SHAPES}
        raw_round(run, redis, call, CLIENTS, DEPTH)
        load_round(run, redis, CLIENTS)
        for _ in range(args.rounds):
            for name, (clients, depth) in SHAPES.items():
                raw[name].append(raw_round(run, redis, call, clients, depth))
                samples[name].append(load_round(run, redis, clients * depth))
        flood = {prefilter: load_round(run, redis, CLIENTS, 1, FLOOD_PERCENT, prefilter) for prefilter in ("off", "on")}
        consistency = consistency_rows(run, redis, args.rounds)
        lease_calls, lease_us = lease_round(run, redis)
    finally:
        redis.stop()
    results = []
    for name, reports in samples.items():
        raw_rate, raw_us = (statistics.median(values) for values in zip(*raw[name]))
        rate, used = (statistics.median(report[member] for report in reports) for member in ("rate", "redis_us"))
        results += [row(f"redis.{name}", "/s", rate, raw_rate), row(f"redis.{name}_cpu", "us", used, raw_us, digits=2)]
    calls = statistics.median(report["redis_calls"] for report in samples["64_clients"])
    cut = 1 - flood["on"]["redis_calls"] / flood["off"]["redis_calls"]
    return results + consistency + [
        row("redis.calls_per_decision", "", calls / DECISIONS, digits=3),
        row("redis.prefilter_cut", "%", 100 * cut, digits=1),
        row("redis.calls_per_acquire_or_release", "", lease_calls, digits=3),
        row("redis.lease_acquire_release_cpu", "us", lease_us, digits=2),
    ]


if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    for result in bench_redis(parser.parse_args()):
        print(result)
