#!/usr/bin/env python3
"""Instructions that a check over HTTP takes without tracing and with it: bench/tracing_instructions.py [PROGRAM] [CHECKS]

Counted by valgrind's callgrind while one connection asks CHECKS times, after as many that are not counted. Unlike times,
counts are the same on a busy machine, so a difference of 1 % can be seen. Without a collector, with one and no request
sampled, and with one of a hundred sampled. What counts is the event loop, which decides; other threads work by the
clock, and valgrind is slow.
"""

import glob
import http.client
import http.server
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

import run
from insight_suite import Sink

BODY = '{"attributes":{"tenant":"acme","api_key":"9c41d2","action":"search"},"cost":1}'
RULES = ("version: 1\nrules:\n  - {id: search-per-key, match: {action: search}, per: [tenant, api_key], algorithm: token-bucket, "
         "limit: 1000000000, window: 1s}\n")


def wait_listening(port, server):
    end = time.monotonic() + 120
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < end and server.poll() is None, "the server does not listen"
        time.sleep(0.1)


def control(pid, switch):
    subprocess.run(["callgrind_control", "-i", switch, str(pid)], check=True, capture_output=True, timeout=60)


def instructions(program, checks, *flags):
    """Of one check."""
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        with open(f"{folder}/rules.yaml", "w") as f:
            f.write(RULES)
        port = run.free_port()
        server = subprocess.Popen(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes", f"--callgrind-out-file={folder}/out", program, "serve",
                                   "--rules", f"{folder}/rules.yaml", "--listen-http", f"127.0.0.1:{port}", "--listen-admin", "off", "--loops",
                                   "1", "--log-level", "warn", "--data-dir", f"{folder}/data", *flags],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_listening(port, server)
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

            def ask():
                for _ in range(checks):
                    link.request("POST", "/v1/check", BODY, {"Content-Type": "application/json"})
                    assert link.getresponse().read()

            ask()
            control(server.pid, "on")
            ask()
            control(server.pid, "off")
        finally:
            server.terminate()
            server.wait(120)
        totals = [0]
        for path in glob.glob(f"{folder}/out*"):
            with open(path) as f:
                totals += [int(found) for found in re.findall(r"^totals: (\d+)", f.read(), re.M)]
    return max(totals) / checks


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else os.path.join(run.BIN, "weir")
    checks = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    to = f"http://127.0.0.1:{sink.server_port}"
    kinds = {"without": [], "off": ["--tracing-otlp", to, "--tracing-sample", "off"], "1 %": ["--tracing-otlp", to, "--tracing-sample", "0.01"]}
    counted = {name: instructions(program, checks, *flags) for name, flags in kinds.items()}
    for name, each in counted.items():
        print(f"{name:8} {each:10,.0f} instructions per check, {each / counted['without']:.4f} x")


if __name__ == "__main__":
    main()
