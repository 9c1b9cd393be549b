"""What being looked at costs the server: traces and scrapes. Called by run.py.

Servers with and without take turns in short rounds under the same load, and their CPU time per request is compared. A
server that traces sends its spans to a sink of this program's.
"""
import http.client
import http.server
import os
import statistics
import tempfile
import threading
import time

import run

SCRAPED_RULES = 1_000
SCRAPES = 100
CHECKS_BEFORE = 3_000


class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    spans = 0

    def do_POST(self):
        Sink.spans += len(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def server(name, folder, *flags):
    rules = os.path.join(folder, "rules.yaml")
    port = run.free_port()
    made = run.Server(name, [f"{run.BIN}/weir", "serve", "--rules", rules, "--listen-http", f"127.0.0.1:{port}", "--listen-admin", "off",
                             "--loops", "1", "--log-level", "warn", *flags])
    return made.wait_listening(port)


def bench_tracing(rounds, seconds):
    """Without a collector, with one and no request sampled, and with one of a hundred sampled."""
    folder = tempfile.mkdtemp(prefix="weir-bench-")
    with open(os.path.join(folder, "rules.yaml"), "w") as f:
        f.write("version: 1\nrules:\n  - {id: search-per-key, match: {action: search}, per: [tenant, api_key], "
                "algorithm: token-bucket, limit: 1000000000, window: 1s}\n")
    script = os.path.join(folder, "check.lua")
    with open(script, "w") as f:
        f.write(run.CHECK_LUA)
    sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    to = f"http://127.0.0.1:{sink.server_port}"
    servers = [server("without", folder), server("off", folder, "--tracing-otlp", to, "--tracing-sample", "off"),
               server("1 %", folder, "--tracing-otlp", to, "--tracing-sample", "0.01")]
    samples = {each.name: [] for each in servers}
    try:
        for each in servers:
            run.wrk_round(each, script, 1, 16)
        for _ in range(rounds * 3):
            for each in servers:
                samples[each.name].append(run.wrk_round(each, script, seconds, 16))
    finally:
        for each in servers:
            each.stop()
        sink.shutdown()
    assert Sink.spans > 0, "spans have arrived"
    floor = statistics.median(samples["without"])

    def row(name, kind):
        # Rounds beside each other are compared, so that a machine whose speed drifts does not decide.
        ratio = statistics.median(a / b for a, b in zip(samples[kind], samples["without"]))
        return {"name": name, "unit": "us", "value": round(statistics.median(samples[kind]), 2), "floor": round(floor, 2), "ratio": round(ratio, 3)}

    return [row("http.check.tracing_off", "off"), row("http.check.tracing_1_percent", "1 %")]


def thread_cpu(pid):
    """CPU seconds of each thread."""
    made = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            made[task] = int(f.read().split()[0]) / 1e9
    return made


def bench_scrape():
    """A scrape with 1,000 rules that have all counted: by the clock, and the most that one thread of the server works for it."""
    folder = tempfile.mkdtemp(prefix="weir-bench-")
    with open(os.path.join(folder, "rules.yaml"), "w") as f:
        f.write("version: 1\nrules:\n")
        for i in range(SCRAPED_RULES):
            f.write(f"  - {{id: rule-of-service-{i:04}, match: {{action: action-{i}}}, per: [tenant], algorithm: token-bucket, limit: 100, window: 60s}}\n")
    port, admin = run.free_port(), run.free_port()
    made = run.Server("weir", [f"{run.BIN}/weir", "serve", "--rules", os.path.join(folder, "rules.yaml"), "--listen-http", f"127.0.0.1:{port}",
                               "--listen-admin", f"127.0.0.1:{admin}", "--loops", "1", "--log-level", "warn"]).wait_listening(port)
    try:
        checks = http.client.HTTPConnection("127.0.0.1", port)
        for i in range(CHECKS_BEFORE):
            checks.request("POST", "/v1/check", f'{{"attributes":{{"tenant":"t{i % 7}","action":"action-{i % SCRAPED_RULES}"}}}}')
            checks.getresponse().read()
        scrapes = http.client.HTTPConnection("127.0.0.1", admin)
        took, size = [], 0
        before = thread_cpu(made.process.pid)
        for _ in range(SCRAPES):
            began = time.perf_counter()
            scrapes.request("GET", "/metrics")
            size = len(scrapes.getresponse().read())
            took.append(time.perf_counter() - began)
        after = thread_cpu(made.process.pid)
    finally:
        made.stop()
    cpu = sorted((after[task] - before.get(task, 0) for task in after), reverse=True)
    assert size > SCRAPED_RULES * 100, "every rule has its samples"
    return [
        {"name": "metrics.scrape_1000_rules", "unit": "ms", "value": round(statistics.median(took) * 1e3, 2)},
        {"name": "metrics.scrape_side_thread", "unit": "ms", "value": round(cpu[0] / SCRAPES * 1e3, 2)},
        {"name": "metrics.scrape_loop", "unit": "ms", "value": round(cpu[1] / SCRAPES * 1e3, 3)},
        {"name": "metrics.scrape_bytes", "unit": "bytes", "value": size},
    ]


def bench_insight(rounds, seconds):
    return bench_scrape() + bench_tracing(rounds, seconds)
