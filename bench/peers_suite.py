#!/usr/bin/env python3
"""Weir beside its peers: microseconds of server CPU per decision, in one run, taking turns (docs/peers.md).

`make bench-peers` installs the peers below build/peers and runs this. All servers run all the time on core 0 and are asked
one after the other from core 1, round by round, so that a machine whose speed drifts slows all alike. What decides together
with a redis-server is charged for that one's CPU too. A peer that is not there is left out with a line that says so.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import grpc_suite
import resp_suite
import run

PEERS = os.path.join(run.ROOT, "build", "peers")
RATELIMIT = os.path.join(PEERS, "bin", "service_cmd")
THROTTLECRAB = os.path.join(PEERS, "bin", "throttlecrab-server")
REDIS_CELL = os.path.join(PEERS, "lib", "libredis_cell.so")

# One limit that is never reached, in the format of envoyproxy/ratelimit, which Weir serves as it is.
LIMITS = """domain: shop
descriptors:
  - key: tenant
    descriptors:
      - key: api_key
        rate_limit: {unit: hour, requests_per_unit: 4000000000}
"""
# The same for the others, which get the limit with each request.
CRAB_JSON = '{"key":"acme:key-0123456789abcdef","max_burst":1000000,"count_per_period":1000000,"period":1,"quantity":1}'
RULE = ("version: 1\nrules:\n  - {id: per-key, match: {action: search}, per: [tenant, api_key], algorithm: gcra, "
        "limit: 1000000, window: 1s}\n")
WRK = 'wrk.method = "POST"\nwrk.path = "%s"\nwrk.body = \'%s\'\nwrk.headers["Content-Type"] = "application/json"\n'


class Contender:
    """A rate limiter under test: where to ask it, and whose CPU time counts."""

    def __init__(self, name, port, *servers):
        self.name, self.port, self.servers = name, port, servers

    def cpu(self):
        return sum(run.cpu_seconds(server.process.pid) for server in self.servers)


class Field:
    """All servers of a run."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="weir-bench-")
        self.running = []
        self.redis = None

    def file(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return path

    def start(self, name, argv, port):
        server = run.Server(name, argv)
        self.running.append(server)
        return server.wait_listening(port)

    def start_redis(self, *more):
        port = run.free_port()
        argv = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", self.folder, *more]
        return self.start("redis", argv, port)

    def start_weir(self, *flags, port):
        off = [f"--listen-{kind}=off" for kind in ("http", "admin") if f"--listen-{kind}" not in flags]
        return self.start("weir", [f"{run.BIN}/weir", "serve", "--loops", "1", "--log-level", "warn", *flags, *off], port)

    def stop(self):
        for server in reversed(self.running):
            server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- gRPC ----


def ratelimit(field, redis, **more):
    """envoyproxy/ratelimit without statistics, which Weir keeps: the cheapest that it can be."""
    grpc_port, http_port, debug_port = (run.free_port() for _ in range(3))
    settings = {"RUNTIME_ROOT": os.path.join(field.folder, "root"), "RUNTIME_SUBDIRECTORY": "limits", "RUNTIME_WATCH_ROOT": "false",
                "BACKEND_TYPE": "redis", "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": f"127.0.0.1:{redis.port}", "DISABLE_STATS": "true",
                "LOG_LEVEL": "error", "HOST": "127.0.0.1", "PORT": http_port, "GRPC_HOST": "127.0.0.1", "GRPC_PORT": grpc_port,
                "DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": debug_port, **more}
    return field.start("ratelimit", ["env", *(f"{k}={v}" for k, v in settings.items()), RATELIMIT], grpc_port)


def throttlecrab(field, kind):
    port = run.free_port()
    return field.start("throttlecrab", [THROTTLECRAB, f"--{kind}", f"--{kind}-host", "127.0.0.1", f"--{kind}-port", str(port),
                                        "--log-level", "error"], port)


def throttlecrab_body():
    """A framed throttlecrab.ThrottleRequest: key, then four numbers."""
    message = grpc_suite.text(1, "acme:key-0123456789abcdef")
    for field, value in ((2, 1_000_000), (3, 1_000_000), (4, 1), (5, 1)):
        message += grpc_suite.varint(field << 3) + grpc_suite.varint(value)
    return b"\0" + len(message).to_bytes(4, "big") + message


def expect(name, said, answer):
    """Errors are cheap: what is measured must be a decision, and the right one."""
    if not said:
        sys.exit(f"{name} did not allow the request: {answer}")


def expect_allowed(contender, body, path):
    answer = subprocess.run(
        ["curl", "-s", "--http2-prior-knowledge", "-D", "-", "--data-binary", f"@{body}", "-H", "content-type: application/grpc",
         "-H", "te: trailers", f"http://127.0.0.1:{contender.port}{path}"], capture_output=True, check=True).stdout
    # Field 1 is the code, where 1 is OK, or whether the request is allowed; then something must be said of the limit.
    message = answer.partition(b"\r\n\r\n")[2]
    expect(contender.name, b"grpc-status: 0" in answer and message[5:7] == b"\x08\x01" and message[4] >= 10, answer)


def h2load(contender, body, path, seconds, connections, streams):
    before = contender.cpu()
    out = subprocess.run(
        ["h2load", "-t1", f"-c{connections}", f"-m{streams}", f"-D{seconds}", "-d", body, "-H", "content-type: application/grpc",
         "-H", "te: trailers", f"http://127.0.0.1:{contender.port}{path}"],
        preexec_fn=run.pin(1), capture_output=True, text=True, check=True).stdout
    used = contender.cpu() - before
    found = re.search(r"requests: .* (\d+) done, (\d+) succeeded, (\d+) failed", out)
    # What was under way at the end of the time counts as failed.
    if not found or int(found.group(3)) > connections * streams:
        sys.exit(f"{contender.name} answered with errors:\n{out}")
    return used / int(found.group(2)) * 1e6


def grpc_asks(field, seconds):
    config = os.path.dirname(field.file("root/limits/config/shop.yaml", LIMITS))
    body = field.file("request.bin", grpc_suite.request_body())
    envoy = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
    contenders = {}
    for name, store in (("weir, memory", []), ("weir, Redis", None)):
        if store is None:
            field.redis = field.redis or field.start_redis()
            store = ["--store", f"redis://127.0.0.1:{field.redis.port}?deadline=10s"]
        port = run.free_port()
        weir = field.start_weir("--rules", config, "--rules-format", "envoy", "--listen-grpc", f"127.0.0.1:{port}", *store, port=port)
        contenders[name] = (Contender(name, port, weir, *([field.redis] if store else [])), body, envoy)
    if os.path.exists(RATELIMIT):
        for name, more in (("ratelimit, Redis", {}), ("ratelimit, Redis, pipelined", {"REDIS_PIPELINE_WINDOW": "150us"})):
            server = ratelimit(field, field.redis, **more)
            contenders[name] = (Contender(name, server.port, server, field.redis), body, envoy)
    if os.path.exists(THROTTLECRAB):
        crab = throttlecrab(field, "grpc")
        contenders["throttlecrab"] = (Contender("throttlecrab", crab.port, crab), field.file("crab.bin", throttlecrab_body()),
                                      "/throttlecrab.RateLimiter/Throttle")
    for asked in contenders.values():
        expect_allowed(*asked)
    for shape, connections, streams in grpc_suite.SHAPES:
        yield f"grpc.{shape}", {
            name: (lambda share, c=c, b=b, p=p, k=connections, m=streams: h2load(c, b, p, max(1, round(seconds * share)), k, m))
            for name, (c, b, p) in contenders.items()}


# ---- the Redis protocol ----


def resp_asks(field):
    rules = field.file("none.yaml", "version: 1\nrules: []\n")
    port = run.free_port()
    field.start_weir("--rules", rules, "--listen-resp", f"127.0.0.1:{port}", port=port)
    contenders = {"weir": (field.running[-1], resp_suite.THROTTLE)}
    if os.path.exists(REDIS_CELL):
        contenders["redis-cell"] = (field.start_redis("--loadmodule", REDIS_CELL), resp_suite.THROTTLE)
    if os.path.exists(THROTTLECRAB):
        contenders["throttlecrab"] = (throttlecrab(field, "redis"), ["THROTTLE", *resp_suite.THROTTLE[1:]])
    for name, (server, command) in contenders.items():
        answer = subprocess.run(["redis-cli", "-p", str(server.port), *command], capture_output=True, text=True, check=True).stdout.split()
        # The first number is whether the request is limited; throttlecrab says whether it is allowed.
        expect(name, answer[:3] == (["1", "1000", "999"] if name == "throttlecrab" else ["0", "1001", "1000"]), answer)
    for depth in (1, 16):
        yield f"resp.p{depth}", {name: (lambda share, s=s, c=c, d=depth: resp_suite.load(s, d, c, share))
                                 for name, (s, c) in contenders.items()}


# ---- HTTP ----


def http_asks(field, seconds, connections=16):
    port = run.free_port()
    field.start_weir("--rules", field.file("rule.yaml", RULE), "--listen-http", f"127.0.0.1:{port}", port=port)
    contenders = {"weir": (field.running[-1], field.file("check.lua", run.CHECK_LUA))}
    if os.path.exists(THROTTLECRAB):
        contenders["throttlecrab"] = (throttlecrab(field, "http"), field.file("crab.lua", WRK % ("/throttle", CRAB_JSON)))
        answer = subprocess.run(["curl", "-s", f"http://127.0.0.1:{contenders['throttlecrab'][0].port}/throttle", "-d", CRAB_JSON, "-H",
                                 "Content-Type: application/json"], capture_output=True, text=True, check=True).stdout
        expect("throttlecrab", '"allowed":true' in answer, answer)
    yield "http", {name: (lambda share, s=s, l=l: run.wrk_round(s, l, max(1, round(seconds * share)), connections))
                   for name, (s, l) in contenders.items()}


def measure(asks, rounds):
    """The median of each contender; the first, short round warms up."""
    samples = {name: [] for name in asks}
    for number in range(rounds + 1):
        for name, ask in asks.items():
            used = ask(1.0 if number else 0.2)
            if number:
                samples[name].append(used)
    return {name: statistics.median(values) for name, values in samples.items()}


def rows(shape, medians):
    """Beside Weir on its own memory, and those who use Redis beside Weir on the same Redis too."""
    made = []
    for name, value in medians.items():
        row = {"name": f"{shape}: {name}", "unit": "us", "value": round(value, 2), "times_weir": round(value / next(iter(medians.values())), 2)}
        if "Redis" in name:
            row["times_weir_on_redis"] = round(value / medians["weir, Redis"], 2)
        made.append(row)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="per round, of gRPC and HTTP")
    parser.add_argument("--out", default=os.path.join(run.ROOT, "build", "bench-peers.json"))
    args = parser.parse_args()
    for name, path in (("envoyproxy/ratelimit", RATELIMIT), ("throttlecrab", THROTTLECRAB), ("redis-cell", REDIS_CELL)):
        if not os.path.exists(path):
            print(f"left out: {name}, no {os.path.relpath(path, run.ROOT)}")
    results = []
    for suite in (lambda f: grpc_asks(f, args.seconds), resp_asks, lambda f: http_asks(f, args.seconds)):
        field = Field()
        try:
            for shape, asks in suite(field):
                medians = measure(asks, args.rounds)
                results += rows(shape, medians)
                print(f"measured {shape}", file=sys.stderr)
        finally:
            field.stop()
    print(f"{'server CPU per decision':44} {'us':>8} {'x Weir':>8} {'on Redis':>9}")
    for r in results:
        print(f"{r['name']:44} {r['value']:>8} {r['times_weir']:>8} {r.get('times_weir_on_redis', ''):>9}")
    with open(args.out, "w") as f:
        json.dump({"machine": run.machine(), "commit": run.commit(), "results": results}, f, indent=1)
    print(f"written to {os.path.relpath(args.out, run.ROOT)}")


if __name__ == "__main__":
    main()
