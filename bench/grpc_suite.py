"""gRPC: server CPU per ShouldRateLimit with a full decision, beside a floor that only frames and beside grpc++."""
import os
import re
import statistics
import subprocess
import sys
import tempfile

# (name, connections, streams on each)
SHAPES = [("multiplexed", 4, 32), ("single", 16, 1)]


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def text(field, value):
    data = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def request_body():
    """A framed RateLimitRequest: one descriptor of two entries."""
    entries = text(1, text(1, "tenant") + text(2, "acme")) + text(1, text(1, "api_key") + text(2, "key-0123456789abcdef"))
    message = text(1, "shop") + text(2, entries)
    return b"\0" + len(message).to_bytes(4, "big") + message


def h2load_round(run, server, body, seconds, connections, streams):
    before = run.cpu_seconds(server.process.pid)
    out = subprocess.run(
        ["h2load", "-t1", f"-c{connections}", f"-m{streams}", f"-D{seconds}", "-d", body, "-H", "content-type: application/grpc",
         "-H", "te: trailers",
         f"http://127.0.0.1:{server.port}/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"],
        preexec_fn=run.pin(1), capture_output=True, text=True, check=True).stdout
    used = run.cpu_seconds(server.process.pid) - before
    found = re.search(r"requests: .* (\d+) done, (\d+) succeeded, (\d+) failed", out)
    # h2load counts what was cut off at the end of the time as failed: as many as were under way.
    if not found or int(found.group(3)) > connections * streams:
        sys.exit(f"{server.name} answered with errors:\n{out}")
    return used / int(found.group(2)) * 1e6


def bench_grpc(run, rounds, seconds):
    """`run` is bench/run.py, whose Server, pin and cpu_seconds are used."""
    folder = tempfile.mkdtemp(prefix="weir-bench-")
    rules = os.path.join(folder, "rules.yaml")
    with open(rules, "w") as f:
        f.write("version: 1\nrules:\n  - {id: per-key, match: {domain: shop}, per: [tenant, api_key], "
                "algorithm: token-bucket, limit: 1000000000, window: 1s}\n")
    body = os.path.join(folder, "request.bin")
    with open(body, "wb") as f:
        f.write(request_body())
    ports = [run.free_port() for _ in range(3)]
    servers = [
        run.Server("weir", [f"{run.BIN}/weir", "serve", "--rules", rules, "--listen-grpc", f"127.0.0.1:{ports[0]}",
                            "--listen-http", "off", "--listen-admin", "off", "--loops", "1", "--log-level", "warn"]),
        run.Server("floor", [f"{run.BIN}/grpc_floor", str(ports[1]), "1"]),
        run.Server("grpcpp", [f"{run.BIN}/grpcpp_floor", str(ports[2])]),
    ]
    results = []
    try:
        for server, port in zip(servers, ports):
            server.wait_listening(port)
        for shape, connections, streams in SHAPES:
            samples = {server.name: [] for server in servers}
            for number in range(rounds + 1):
                for server in servers:
                    used = h2load_round(run, server, body, seconds if number else 1, connections, streams)
                    if number:  # the first warms up
                        samples[server.name].append(used)
            value, floor, rival = (statistics.median(samples[n]) for n in ("weir", "floor", "grpcpp"))
            results += [
                {"name": f"grpc.{shape}", "unit": "us", "value": round(value, 2), "floor": round(floor, 2),
                 "ratio": round(value / floor, 3), "times_less_than_grpcpp": round(rival / value, 2)},
                {"name": f"grpc.floor.{shape}", "unit": "us", "value": round(floor, 2)},
                {"name": f"grpc.grpcpp_constant.{shape}", "unit": "us", "value": round(rival, 2), "floor": round(floor, 2),
                 "ratio": round(rival / floor, 3)},
            ]
    finally:
        for server in servers:
            server.stop()
    return results
