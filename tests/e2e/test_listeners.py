"""One program, every protocol: each listener of `weir serve` answers a real client, and they share the buckets."""

import json
import socket
import subprocess

import pytest
from test_cli import Server, rules_text


@pytest.fixture
def server(tmp_path):
    (tmp_path / "rules.yaml").write_text(rules_text(3))
    flags = [word for name in ("http", "admin", "grpc", "resp", "spop") for word in (f"--listen-{name}", "127.0.0.1:0")]
    running = Server("--rules", str(tmp_path / "rules.yaml"), *flags, log=tmp_path / "log")
    yield running
    running.process.terminate()
    assert running.process.wait(20) == 0


def redis_cli(server, *words):
    port = server.await_event("listening")["resp"].rsplit(":", 1)[1]
    return subprocess.run(["redis-cli", "-p", port, *words], capture_output=True, text=True, timeout=20).stdout


def test_http_and_the_redis_protocol_spend_the_same_bucket(server):
    assert "1" in redis_cli(server, "WEIR.CHECK", "tenant", "acme").split()
    assert server.call("/v1/check", {"attributes": {"tenant": "acme"}})[0] == 200
    assert server.call("/v1/check", {"attributes": {"tenant": "acme"}})[0] == 200
    assert server.call("/v1/check", {"attributes": {"tenant": "acme"}})[0] == 429
    assert "limit_exceeded" in redis_cli(server, "WEIR.CHECK", "tenant", "acme")


def test_cl_throttle_answers_five_integers(server):
    assert redis_cli(server, "CL.THROTTLE", "k", "1", "1", "100").split() == ["0", "2", "1", "-1", "100"]


def test_grpc_health_answers(server):
    grpc = pytest.importorskip("grpc")
    address = server.await_event("listening")["grpc"]
    with grpc.insecure_channel(address) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=10) == b"\x08\x01"  # status: SERVING


def test_envoys_service_denies_after_the_limit(server):
    grpc = pytest.importorskip("grpc")

    def text(field, value):
        return bytes([field << 3 | 2, len(value)]) + value

    request = text(1, b"shop") + text(2, text(1, text(1, b"tenant") + text(2, b"envoy")))
    with grpc.insecure_channel(server.await_event("listening")["grpc"]) as channel:
        ask = channel.unary_unary("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")
        codes = [ask(request, timeout=10)[1] for _ in range(5)]  # the first field: overall_code
    assert codes == [1, 1, 1, 2, 2]


def test_haproxys_agent_protocol_greets(server):
    host, port = server.await_event("listening")["spop"].rsplit(":", 1)

    def text(value):
        return bytes([len(value)]) + value

    def pair(name, value):
        return text(name) + b"\x08" + text(value)

    hello = b"\x01\0\0\0\x01\0\0" + pair(b"supported-versions", b"2.0") + text(b"max-frame-size") + b"\x03\xf0\xf0\x06" + pair(b"capabilities", b"pipelining")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(len(hello).to_bytes(4, "big") + hello)
        answer = connection.recv(4096)
    assert answer[4] == 101 and b"2.0" in answer  # AGENT-HELLO


def test_every_listener_is_named_in_the_log(server):
    listening = server.await_event("listening")
    for name in ("http", "admin", "grpc", "resp", "spop"):
        assert listening[name].startswith("127.0.0.1:"), json.dumps(listening)
