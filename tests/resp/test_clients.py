"""redis-cli, redis-benchmark, redis-py and the two big Node clients against the Redis protocol."""
import json
import pathlib
import socket
import subprocess

import node_packages
import pytest
import redis

HERE = pathlib.Path(__file__).parent


def test_redis_cli_throttles(server):
    assert server.cli("CL.THROTTLE", "k", "0", "1", "1000").split() == ["0", "1", "0", "-1", "1000"]
    assert server.cli("CL.THROTTLE", "k", "0", "1", "1000").split()[:3] == ["1", "1", "0"]
    assert "max_burst: is 'x'" in server.cli("CL.THROTTLE", "k", "x", "1", "1")


def test_redis_cli_checks_in_both_versions(server):
    assert server.cli("WEIR.CHECK", "tenant", "acme").split("\n")[:6] == ["allowed", "1", "reason", "ok", "rule", "per-tenant"]
    three = server.cli("--json", "WEIR.CHECK", "tenant", "acme", options=["-3"])
    assert json.loads(three)["remaining"] == 0
    assert json.loads(server.cli("--json", "WEIR.CHECK", "tenant", "acme", options=["-3"]))["reason"] == "limit_exceeded"
    assert json.loads(server.cli("--json", "WEIR.REFUND", "tenant", "acme", options=["-3"]))["remaining"] == 1


def test_redis_cli_shows_help_from_our_table(server):
    shown = server.cli(stdin="help cl.throttle\n")
    assert "key max_burst count period [quantity]" in shown


def test_redis_cli_pipes_many_commands(server):
    shown = server.cli(options=["--pipe"], stdin="PING\r\n" * 5000)
    assert "errors: 0, replies: 5000" in shown


def test_redis_cli_logs_in(guarded):
    assert "NOAUTH" in guarded.cli("PING")
    assert "PONG" in guarded.cli("PING", options=["-a", "s3cret", "--no-auth-warning"])
    assert "PONG" in guarded.cli("PING", options=["-3", "--user", "default", "--pass", "s3cret", "--no-auth-warning"])
    assert "WRONGPASS" in guarded.cli("PING", options=["-a", "guess", "--no-auth-warning"])


@pytest.mark.parametrize("depth", ["1", "32"])
def test_redis_benchmark_runs_without_complaint(server, depth):
    done = subprocess.run(["redis-benchmark", "-p", str(server.port), "-n", "5000", "-c", "8", "-P", depth, "-r", "1000", "-q",
                           "CL.THROTTLE", "key:__rand_int__", "100", "100", "60"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "requests per second" in done.stdout
    assert done.stderr == ""


def test_redis_py_throttles_and_pipelines(server):
    client = redis.Redis(port=server.port, client_name="weir-test", decode_responses=True)
    assert client.ping()
    assert client.client_getname() == "weir-test"
    assert client.info()["loading"] == 0
    assert client.execute_command("CL.THROTTLE", "py", 4, 1, 1000, 6) == [1, 5, 5, -1, 0]
    with client.pipeline(transaction=False) as pipe:
        for _ in range(6):
            pipe.execute_command("CL.THROTTLE", "py", 4, 1, 1000)
        answers = pipe.execute()
    assert [a[0] for a in answers] == [0, 0, 0, 0, 0, 1]
    assert [a[2] for a in answers] == [4, 3, 2, 1, 0, 0]
    with pytest.raises(redis.ResponseError, match="unknown command 'GET'"):
        client.get("x")


def test_redis_py_logs_in(guarded):
    assert redis.Redis(port=guarded.port, password="s3cret").ping()
    assert redis.Redis(port=guarded.port, username="default", password="s3cret").ping()
    with pytest.raises(redis.ResponseError, match="WRONGPASS"):
        redis.Redis(port=guarded.port, password="guess").ping()
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=guarded.port).ping()


# On a real socket: an answer that says why, then the end.
@pytest.mark.parametrize("attack", [b"*2147483647\r\n", b"*1\r\n$-5\r\n", b"*1\r\n$2000000000\r\n", b"x" * 70_000])
def test_attacks_end_with_an_error(server, attack):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(attack)
        answer = b""
        while chunk := raw.recv(4096):
            answer += chunk
    assert answer.startswith(b"-ERR Protocol error: ") and answer.endswith(b"\r\n")
    assert "PONG" in server.cli("PING")


@pytest.mark.parametrize("script", ["ioredis.js", "node_redis.js"])
def test_node_clients(server, script):
    modules = node_packages.installed("redis", {"ioredis": "5.11.1", "redis": "6.3.1"})
    told = json.loads(node_packages.run(modules, HERE / script, str(server.port)))
    assert told == {"throttle": [0, 5, 4, -1, 1000], "limited": [0, 0, 0, 0, 0, 1], "rule": "per-tenant"}
