#!/usr/bin/env python3
"""What the web console costs the server: bench/console_suite.py [PROGRAM] [ROUNDS] [SECONDS]

The same load (wrk with a pause between requests) reaches a server without an admin
listener, one with a console that no one has open, and one with five open consoles. Each of the five asks as the page
does: the overview once a second, and the live tail of decisions. What counts is the server's CPU time (/proc), per
request for the closed console and as a share of one core for the open ones. Rounds alternate, and medians are printed.
"""

import http.client
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from run import cpu_seconds

ROOT = pathlib.Path(__file__).resolve().parents[1]
OPEN_CONSOLES = 5
CONNECTIONS = 256
PAUSE_MS = 2
SCRIPT = """
wrk.method = "POST"
wrk.body = '{"attributes":{"tenant":"acme","api_key":"k","action":"search"},"cost":1}'
wrk.headers["Content-Type"] = "application/json"
function delay() return %d end
""" % PAUSE_MS


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, program, folder, has_admin):
        self.http, self.admin = free_port(), free_port()
        admin = ["--listen-admin", f"127.0.0.1:{self.admin}"] if has_admin else ["--listen-admin", "off"]
        self.process = subprocess.Popen([program, "serve", "--listen-http", f"127.0.0.1:{self.http}", *admin, "--data-dir", str(folder)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "XDG_STATE_HOME": str(folder)})
        end = time.monotonic() + 30
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.http)) == 0:
                    return
            assert time.monotonic() < end and self.process.poll() is None, "the server does not listen"
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Console(threading.Thread):
    """One open page."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.stopping = port, threading.Event()
        self.answers = self.events = 0
        self.tail = threading.Thread(target=self.follow, daemon=True)
        self.start()
        self.tail.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        while not self.stopping.wait(1):
            connection.request("GET", "/admin/v1/overview?range=5m")
            json.loads(connection.getresponse().read())
            self.answers += 1

    def follow(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/admin/v1/decisions/stream")
        answer = connection.getresponse()
        try:
            while not self.stopping.is_set():
                self.events += answer.readline().startswith(b"event: decision")
        except OSError:
            pass  # nothing has been decided for a while, because the round is over

    def stop(self):
        self.stopping.set()
        self.join()
        self.tail.join(1)


def load(server, script, seconds):
    """Requests answered, CPU seconds of the server, and seconds by the clock."""
    cpu, clock = cpu_seconds(server.process.pid), time.monotonic()
    done = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{server.http}/v1/check"],
                          capture_output=True, text=True, check=True)
    count = next(int(line.split()[0]) for line in done.stdout.splitlines() if " requests in " in line)
    return count, cpu_seconds(server.process.pid) - cpu, time.monotonic() - clock


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "bin" / "weir")
    rounds, seconds = (int(sys.argv[i]) if len(sys.argv) > i else usual for i, usual in ((2, 5), (3, 8)))
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "load.lua"
        script.write_text(SCRIPT)
        servers = {"without": Server(program, pathlib.Path(folder) / "a", False), "with": Server(program, pathlib.Path(folder) / "b", True)}
        try:
            per_request = {"without": [], "closed": [], "open": []}
            extra, rates = [], []
            for _ in range(rounds):
                for kind in per_request:
                    server = servers["without" if kind == "without" else "with"]
                    consoles = [Console(server.admin) for _ in range(OPEN_CONSOLES)] if kind == "open" else []
                    load(server, str(script), 1)
                    count, cpu, clock = load(server, str(script), seconds)
                    per_request[kind].append(cpu / count)
                    if kind == "open":
                        extra.append((cpu - count * per_request["closed"][-1]) / clock)
                        rates.append(count / clock)
                        assert all(each.answers for each in consoles), "every console was answered"
                    for each in consoles:
                        each.stop()
        finally:
            for server in servers.values():
                server.stop()
    micro = {kind: statistics.median(values) * 1e6 for kind, values in per_request.items()}
    print(f"{statistics.median(rates):,.0f} requests/s, {micro['closed'] * statistics.median(rates) / 1e4:.0f} % of a core without a console")
    print(f"CPU per request: no admin listener {micro['without']:.2f} us, console closed {micro['closed']:.2f} us "
          f"({micro['closed'] / micro['without']:.3f} x), five open {micro['open']:.2f} us")
    print(f"five open consoles: {100 * statistics.median(extra):.1f} % of a core (rounds: {', '.join(f'{100 * each:.1f}' for each in extra)})")


if __name__ == "__main__":
    main()
