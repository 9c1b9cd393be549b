#!/usr/bin/env python3
"""The planner (`weir rules estimate --scale`) beside real nodes: bench/scale_suite.py [PROGRAM] [ROUNDS] [SECONDS]

Two nodes with one event loop each share a Redis. Both are asked for subjects by Zipf's law at a steady rate, under an
exact rule and under a leased one. Redis counts the calls; the planner is asked for the same load. What counts is calls
per decision and how far the planner is off, in percent. Medians of the rounds are printed, a JSON object a line.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import redis_suite
import run

ROOT = pathlib.Path(__file__).resolve().parents[1]
NODES = 2
BEATS = 2  # a second, of each node with leased rules: calls that the planner does not count among a rule's
# name: consistency, decisions a second on both nodes together, subjects, limit per second
LOADS = {
    "exact": ("exact", 4_000, 1_000, 100_000),
    "exact_exhausted": ("exact", 4_000, 1_000, 50),
    "leased": ("leased", 4_000, 1_000, 100_000),
    "leased_one_key": ("leased", 4_000, 1, 100_000),
    "leased_cold": ("leased", 4_000, 1_000_000, 100_000),
    "leased_exhausted": ("leased", 4_000, 1_000, 200),
}


def rules_text(consistency, limit):
    return (f"version: 1\nrules:\n  - {{id: measured, per: [key], limit: {limit}, window: 1s, consistency: {consistency}, "
            "on_store_failure: allow}\n")


def planned(program, rules, rate, subjects):
    out = subprocess.run([program, "rules", "estimate", rules, "--scale", "--nodes", str(NODES), "--loops", "1", "--skew", "1", "--peak", str(rate),
                          "--subjects", str(subjects), "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["rules"][0]["calls_per_decision"]


def measured(program, redis, rules, rate, subjects, seconds, consistency):
    ports = [run.free_port() for _ in range(NODES)]
    nodes = [run.Server("weir", [program, "serve", "--rules", rules, "--store", f"redis://127.0.0.1:{redis.server.port}?deadline=10s",
                                 "--listen-http", f"127.0.0.1:{port}", "--listen-admin", "off", "--loops", "1", "--log-level", "warn"])
             for port in ports]

    def drive(duration):
        loads = [subprocess.Popen([program, "bench", "key=k{}", "--server", f"http://127.0.0.1:{port}", "--keys", str(subjects), "--mix", "hot",
                                   "--rate", str(rate // NODES), "--duration", f"{duration}s", "--connections", "8", "--json"],
                                  stdout=subprocess.PIPE, text=True) for port in ports]
        return sum(json.loads(load.communicate()[0])["requests"] for load in loads)

    try:
        for node, port in zip(nodes, ports):
            node.wait_listening(port)
        drive(max(2, seconds // 2))  # until slices are as large as the demand
        redis.ask("CONFIG", "RESETSTAT")
        decisions = drive(seconds)
        beats = 0 if consistency == "exact" else BEATS * NODES * seconds
        return (redis.script_calls() - beats) / decisions
    finally:
        for node in nodes:
            node.stop()


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/bin/weir")
    rounds, seconds = (int(word) for word in (sys.argv[2:4] + ["5", "6"][len(sys.argv[2:4]):]))
    redis = redis_suite.Redis(run)
    try:
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
            for name, (consistency, rate, subjects, limit) in LOADS.items():
                rules = pathlib.Path(folder, f"{name}.yaml")
                rules.write_text(rules_text(consistency, limit))
                samples = []
                for _ in range(rounds):
                    redis.ask("FLUSHALL")
                    samples.append(measured(program, redis, str(rules), rate, subjects, seconds, consistency))
                real, plan = statistics.median(samples), planned(program, str(rules), rate, subjects)
                print(json.dumps({"name": f"scale.{name}", "calls_per_decision": round(real, 5), "least": round(min(samples), 5),
                                  "most": round(max(samples), 5), "planned": round(plan, 5), "off_percent": round(100 * (plan / real - 1), 2)}), flush=True)
    finally:
        redis.stop()


if __name__ == "__main__":
    main()
