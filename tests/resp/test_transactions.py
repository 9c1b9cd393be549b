"""MULTI, EXEC and DISCARD with real clients, and beside a real Redis, which must answer the same."""
import json
import pathlib
import shutil
import socket
import subprocess

import node_packages
import pytest
import redis

HERE = pathlib.Path(__file__).parent


def test_redis_py_default_pipeline(server):
    client = redis.Redis(port=server.port, decode_responses=True)
    with client.pipeline() as pipe:
        for _ in range(3):
            pipe.execute_command("CL.THROTTLE", "py", 1, 1, 1000)
        pipe.execute_command("WEIR.CHECK", "tenant", "multi")
        first, second, third, check = pipe.execute()
    assert [first[0], second[0], third[0]] == [0, 0, 1]
    assert check[:4] == ["allowed", 1, "reason", "ok"]


def test_redis_py_pipeline_of_many(server):
    client = redis.Redis(port=server.port)
    with client.pipeline() as pipe:
        for i in range(5000):
            pipe.execute_command("CL.THROTTLE", f"many:{i % 7}", 10**6, 1, 1000)
        answers = pipe.execute()
    assert [a[2] for a in answers] == [10**6 - i // 7 for i in range(5000)]


# The answers are several times what a connection keeps unsent, and all but one command is consumed before them.
def test_an_array_larger_than_what_is_kept_unsent(server):
    client = redis.Redis(port=server.port, socket_timeout=20)
    with client.pipeline() as pipe:
        for _ in range(6000):
            pipe.execute_command("WEIR.CHECK", "PEEK", "tenant", "large")
        answers = pipe.execute()
    timeless = [{name: value for name, value in zip(a[::2], a[1::2]) if name != b"reset_at_ms"} for a in answers]
    assert len(answers) == 6000 and len(timeless[0]) > 8 and all(a == timeless[0] for a in timeless)


def test_redis_py_is_told_which_command_failed(server):
    client = redis.Redis(port=server.port)
    with client.pipeline() as pipe:
        pipe.execute_command("CL.THROTTLE", "py", 1, 1, 1000)
        pipe.execute_command("CL.THROTTLE", "py", "x", 1, 1000)
        answers = pipe.execute(raise_on_error=False)
    assert answers[0][0] == 0 and "max_burst: is 'x'" in str(answers[1])
    # Of a transaction that cannot be queued nothing is run.
    with pytest.raises(redis.ResponseError, match="unknown command 'GET'"):
        with client.pipeline() as pipe:
            pipe.execute_command("CL.THROTTLE", "not taken", 0, 1, 1000)
            pipe.get("x")
            pipe.execute()
    assert client.execute_command("CL.THROTTLE", "not taken", 0, 1, 1000)[0] == 0


def test_node_clients(server):
    modules = node_packages.installed("redis", {"ioredis": "5.11.1", "redis": "6.3.1"})
    for script in ("ioredis_multi.js", "node_redis_multi.js"):
        told = json.loads(node_packages.run(modules, HERE / script, str(server.port)))
        assert told == {"limited": [0, 0, 1], "rule": "per-tenant"}, script


CONVERSATIONS = [
    ["EXEC"],
    ["DISCARD"],
    ["MULTI", "EXEC"],
    ["MULTI", "DISCARD", "EXEC"],
    ["MULTI", "MULTI", "PING", "EXEC"],
    ["MULTI", "PING", "ECHO hi", "EXEC", "PING"],
    ["MULTI", "NOSUCH a", "PING", "EXEC", "PING"],
    ["MULTI", "NOSUCH a", "DISCARD", "MULTI", "PING", "EXEC"],
    ["MULTI", "ECHO", "PING", "EXEC", "EXEC"],
    ["MULTI", "MULTI x", "EXEC"],
    ["MULTI", "DISCARD x", "EXEC"],
    ["MULTI", "PING", "EXEC x", "EXEC"],
    ["EXEC x"],
    ["MULTI x"],
    ["MULTI", "PING", "RESET", "EXEC"],
    ["MULTI", "PING", "QUIT", "EXEC"],
    ["MULTI", "CLIENT GETNAME", "HELLO 9", "CONFIG GET save", "EXEC"],
    ["MULTI", "SELECT 0", "CLIENT SETNAME me", "CLIENT GETNAME", "EXEC"],
    ["MULTI", "", "*0", "PING", "EXEC"],
]


def answers_of(port, lines):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        raw.sendall("".join(line + "\r\n" for line in lines).encode())
        raw.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := raw.recv(4096):
            answer += chunk
    return answer


@pytest.fixture
def real_redis(tmp_path):
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", str(tmp_path)],
                               stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if "eady to accept connections" in line:
            break
    yield port
    process.terminate()
    process.wait(10)


def test_conversations_read_as_with_redis(server, real_redis):
    for lines in CONVERSATIONS:
        assert answers_of(server.port, lines) == answers_of(real_redis, lines), lines
