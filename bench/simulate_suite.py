#!/usr/bin/env python3
"""Replaying an access log: nanoseconds of CPU per line, beside counting the lines and only parsing them."""
import json
import os
import random
import subprocess
import tempfile
import time

from run import BIN

LINES = 500_000
RULES = """version: 1
rules:
  - {id: per-address, per: [ip], algorithm: token-bucket, limit: 600, window: 60s, on_store_failure: allow}
  - {id: login, match: {path: /login}, per: [ip], algorithm: sliding-log, limit: 20, window: 60s, on_store_failure: deny}
"""


def write_log(path):
    """The combined format, 200 requests a second, a few callers that ask much and many that ask little."""
    pick = random.Random(7)
    now = 1_794_960_000.0
    with open(path, "w") as log:
        for i in range(LINES):
            now += pick.expovariate(200)
            address = f"10.0.{int(pick.paretovariate(0.7)) % 16}.{int(pick.paretovariate(0.6)) % 250}"
            target = (f"/v1/search?q=x{i % 100}", f"/v1/items/{i % 5000}", "/login", "/static/app.js")[pick.randrange(4)]
            when = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now))
            log.write(f'{address} - - [{when}] "GET {target} HTTP/1.1" 200 {pick.randrange(100, 9000)} "-" '
                      '"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"\n')


def bench_simulate():
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        rules, log = os.path.join(folder, "rules.yaml"), os.path.join(folder, "access.log")
        with open(rules, "w") as f:
            f.write(RULES)
        write_log(log)
        out = subprocess.run([f"{BIN}/simulate_bench", rules, log], capture_output=True, text=True, check=True).stdout
    cost = {row["name"]: row["ns_per_line"] for row in map(json.loads, out.splitlines())}
    floor = cost["parse"]
    return [{"name": "simulate.line", "unit": "ns", "value": cost["simulate"], "floor": floor, "ratio": round(cost["simulate"] / floor, 2)},
            {"name": "simulate.parse_only", "unit": "ns", "value": floor},
            {"name": "simulate.count_lines", "unit": "ns", "value": cost["count lines"]}]
