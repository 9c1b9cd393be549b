#!/usr/bin/env python3
"""The Redis protocol under redis-benchmark: microseconds of server CPU per command.

Four servers take turns, so that a machine whose speed drifts slows all alike: Weir with CL.THROTTLE, the floor program
that answers a constant without looking at the arguments, and redis-server with INCR and with a GCRA script.
Run it through bench/run.py; alone it takes the server's command line: bench/resp_suite.py PROGRAM ARGUMENT…, in which {port}
represents the port.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from run import BIN, Server, cpu_seconds, free_port, pin

KEYS = 100_000
CLIENTS = 16
COMMANDS = {1: 60_000, 16: 200_000, 32: 400_000}

# The same decision as CL.THROTTLE's, as one would write it for Redis: one string per key, expiry in the same step.
GCRA_SCRIPT = """
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local interval = tonumber(ARGV[3]) * 1000000 / tonumber(ARGV[2])
local tolerance = interval * (tonumber(ARGV[1]) + 1)
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
if tat < now then tat = now end
local next = tat + interval
if next - tolerance > now then
  return {1, ARGV[1] + 1, 0, math.ceil((next - tolerance - now) / 1000000), math.ceil((tat - now) / 1000000)}
end
redis.call('SET', KEYS[1], next, 'PX', math.ceil((next - now) / 1000))
return {0, ARGV[1] + 1, math.floor((tolerance - (next - now)) / interval), -1, math.ceil((next - now) / 1000000)}
"""

THROTTLE = ["CL.THROTTLE", "key:__rand_int__", "1000", "1000", "60"]
INCR = ["INCR", "key:__rand_int__"]


def load(server, depth, command, share=1.0):
    """Server CPU per command, with `depth` commands in each pipeline."""
    count = int(COMMANDS[depth] * share)
    before = cpu_seconds(server.process.pid)
    done = subprocess.run(["redis-benchmark", "-p", str(server.port), "-c", str(CLIENTS), "-P", str(depth), "-n", str(count),
                           "-r", str(KEYS), "-q", *command], preexec_fn=pin(1), capture_output=True, text=True)
    used = cpu_seconds(server.process.pid) - before
    if done.returncode != 0 or "requests per second" not in done.stdout or "rror" in done.stdout + done.stderr:
        sys.exit(f"{server.name} did not answer {command[0]}:\n{done.stdout}\n{done.stderr}")
    return used / count * 1e6


def weir_command(folder):
    rules = os.path.join(folder, "rules.yaml")
    with open(rules, "w") as f:
        f.write("version: 1\nrules: []\n")
    return [f"{BIN}/weir", "serve", "--rules", rules, "--listen-http", "off", "--listen-admin", "off",
            "--listen-resp", "127.0.0.1:{port}", "--loops", "1", "--log-level", "warn"]


def row(name, value, floor):
    return {"name": name, "unit": "us", "value": round(value, 3), "floor": round(floor, 3), "ratio": round(value / floor, 3)}


def bench_resp(rounds, weir_argv=None):
    folder = tempfile.mkdtemp(prefix="weir-bench-")
    weir_argv = weir_argv or weir_command(folder)
    ports = [free_port() for _ in range(3)]
    weir = Server("weir", [a.replace("{port}", str(ports[0])) for a in weir_argv])
    floor = Server("floor", [f"{BIN}/resp_floor", str(ports[1])])
    redis = Server("redis", ["redis-server", "--port", str(ports[2]), "--save", "", "--appendonly", "no", "--dir", folder])
    try:
        for server, port in zip((weir, floor, redis), ports):
            server.wait_listening(port)
        sha = subprocess.run(["redis-cli", "-p", str(redis.port), "SCRIPT", "LOAD", GCRA_SCRIPT], capture_output=True, text=True,
                             check=True).stdout.strip()
        script = ["EVALSHA", sha, "1", "key:__rand_int__", "1000", "1000", "60"]
        runs = {
            "weir_p1": (weir, 1, THROTTLE), "floor_p1": (floor, 1, THROTTLE),
            "weir_p32": (weir, 32, THROTTLE), "floor_p32": (floor, 32, THROTTLE), "incr_p32": (redis, 32, INCR),
            "weir_p16": (weir, 16, THROTTLE), "script_p16": (redis, 16, script),
        }
        for run in runs.values():
            load(*run, share=0.2)
        samples = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                if name == "incr_p32":  # the script's keys hold no integers
                    subprocess.run(["redis-cli", "-p", str(redis.port), "FLUSHALL"], capture_output=True, check=True)
                samples[name].append(load(*run))
    finally:
        for server in (weir, floor, redis):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    m = {name: statistics.median(values) for name, values in samples.items()}
    return [
        row("resp.p1", m["weir_p1"], m["floor_p1"]),
        row("resp.p32", m["weir_p32"], m["floor_p32"]),
        row("resp.p32_vs_redis_incr", m["weir_p32"], m["incr_p32"]),
        row("resp.p16_vs_redis_gcra", m["weir_p16"], m["script_p16"]),
    ]


if __name__ == "__main__":
    for result in bench_resp(3, sys.argv[1:] or None):
        print(result)
