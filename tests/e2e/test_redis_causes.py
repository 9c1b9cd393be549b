"""Why `weir serve` cannot use Redis, as it says at the start and in its log. Standard library and pytest only."""

import shutil
import signal
import subprocess

import pytest
from redis_nodes import DEADLINE_S, PASSWORD, QUIET, WEIR, eventually
from redis_nodes import redis, rules, start  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")

WRONG = "wrong-horse"
# What is wrong with the URL: the cause, what Redis says, and what the start says of it.
CAUSES = {
    "password": (f"redis://:{WRONG}@127.0.0.1:{{port}}", "auth", "WRONGPASS", "the login was refused for user default"),
    "no password": ("redis://127.0.0.1:{port}", "auth", "NOAUTH", "check the user and the password"),
    "database": (f"redis://:{PASSWORD}@127.0.0.1:{{port}}/99", "database", "DB index is out of range",
                 "the database cannot be selected"),
    "rights": (f"redis://poor:{PASSWORD}@127.0.0.1:{{port}}", "permission", "NOPERM", "rights listed in docs/redis.md"),
}


@pytest.fixture(params=CAUSES)
def wrong(request, redis):
    assert redis.run("ACL", "SETUSER", "poor", "on", f">{PASSWORD}", "~*", "-@all", "+client") == "+OK"
    url, *expected = CAUSES[request.param]
    return url.format(port=redis.port), expected


def test_a_start_says_what_redis_said(wrong, redis, rules):
    url, (_, said, advice) = wrong
    ended = subprocess.run(
        [WEIR, "serve", "--store", url, "--rules", str(rules), "--listen-http", "127.0.0.1:0",
         "--listen-admin", "127.0.0.1:0"], capture_output=True, text=True, timeout=DEADLINE_S, env=QUIET)
    assert ended.returncode not in (0, -signal.SIGABRT)
    assert f"Redis at 127.0.0.1:{redis.port}" in ended.stderr
    assert said in ended.stderr and advice in ended.stderr, ended.stderr
    assert "unreachable" not in ended.stderr and "start Redis" not in ended.stderr
    assert WRONG not in ended.stderr and PASSWORD not in ended.stderr


# With a key file a node starts without Redis; then the log says it, before and after the first request.
def test_the_log_says_what_redis_said(wrong, redis, start, tmp_path):
    url, (cause, said, _) = wrong
    node = start(url, "--hash-key-file", str(tmp_path / "key"))
    failed = node.await_event("store_connect_failed")
    assert (failed["server"], failed["cause"]) == (f"127.0.0.1:{redis.port}", cause)
    assert said in failed["reason"]
    caller = node.caller()
    eventually("the breaker opens", lambda: caller.check("allow") and node.events("store_unavailable"))
    lost = node.events("store_unavailable")[0]
    assert (lost["server"], lost["cause"]) == (f"127.0.0.1:{redis.port}", cause)
    assert said in lost["reason"]
    # Told once, however many loops notice and however often they try.
    assert len(node.events("store_unavailable")) == 1 and len(node.events("store_connect_failed")) == 1
    assert WRONG not in node.log.read_text()


def test_the_log_tells_a_frozen_redis_from_an_absent_one(redis, start, tmp_path):
    node = start(redis.url, "--redis-deadline", "100ms")
    caller = node.caller()
    assert caller.check("allow")[1]["source"] == "redis"
    redis.signal(signal.SIGSTOP)
    eventually("the breaker opens", lambda: caller.check("allow") and node.events("store_unavailable"))
    frozen = node.events("store_unavailable")[0]
    assert (frozen["cause"], frozen["reason"]) == ("no_reply", "no reply for 100 ms")
    redis.signal(signal.SIGCONT)
    node.await_event("store_recovered")
    redis.kill()
    node.await_event("store_connect_failed")
    assert {event["cause"] for event in node.events("store_connect_failed")} <= {"unreachable", "no_reply"}
    redis.start()
    node.await_event("store_connected")


# The rights are taken away while it runs: one outage, whatever else still works.
def test_a_right_that_is_taken_away_is_named_and_does_not_flap(redis, start):
    node = start(redis.url, "--loops", "1")
    caller = node.caller()
    assert caller.check("allow")[1]["source"] == "redis"
    assert redis.run("ACL", "SETUSER", "default", "-eval", "-evalsha") == "+OK"
    sources = [caller.check("allow")[1]["source"] for _ in range(2000)]
    assert set(sources) == {"fallback"}
    event = node.await_event("store_unavailable")
    assert event["cause"] == "permission" and event["reason"].startswith("NOPERM")
    assert node.metric("weir_store_breaker_opened_total") == 1
    assert node.metric('weir_store_failures_total{kind="permission"}') == 3
    assert redis.run("ACL", "SETUSER", "default", "+eval", "+evalsha") == "+OK"
    node.await_event("store_recovered")


# One key that another program has written to.
def test_a_key_of_another_type_concerns_nobody_else(redis, start):
    node = start(redis.url)
    caller = node.caller()
    assert caller.check("allow", "victim")[1]["source"] == "redis"
    key = next(key for key in keys_of(redis) if ":allow:" in key)
    assert redis.run("DEL", key) == ":1" and redis.run("LPUSH", key, "x") == ":1"
    for turn in range(300):
        assert caller.check("allow", "victim")[1]["source"] == "fallback"
        assert caller.check("allow", f"other-{turn}")[1]["source"] == "redis"
    assert node.metric("weir_store_breaker_opened_total") == 0
    # What was admitted for the victim is owed to its bucket, and tried again once a second.
    assert 300 <= node.metric('weir_store_failures_total{kind="bucket"}') <= 330
    event = node.await_event("store_bad_bucket")
    assert event["key"] == key and "WRONGTYPE" in event["reason"]
    assert redis.run("DEL", key) == ":1"
    assert caller.check("allow", "victim")[1]["source"] == "redis"


def keys_of(redis):
    """All keys."""
    with redis.connect() as link, link.makefile("r", newline="\r\n") as lines:
        link.sendall(f"AUTH {PASSWORD}\r\nKEYS *\r\n".encode())
        assert lines.readline() == "+OK\r\n"
        count = int(lines.readline()[1:])
        words = [lines.readline().strip() for _ in range(2 * count)]
        return words[1::2]
