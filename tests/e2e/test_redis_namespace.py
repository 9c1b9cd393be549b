"""Namespaces: several environments on one Redis."""

import shutil

import pytest
from redis_nodes import PASSWORD, redis, rules, start  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")


def remaining(node):
    return node.caller().check("shared")[1]["rules"][0]["remaining"]


def keys_in(redis):
    with redis.connect() as link, link.makefile("r", newline="\r\n") as lines:
        link.sendall(f"AUTH {PASSWORD}\r\nKEYS *\r\n".encode())
        assert lines.readline() == "+OK\r\n"
        count = int(lines.readline()[1:])
        return {[lines.readline(), lines.readline()][1].strip() for _ in range(count)}


def test_namespaces_share_a_redis_and_no_limit(redis, start):
    production = start(redis.url, "--redis-namespace", "prod")
    again = start(redis.url + "?namespace=prod")
    staging = start(redis.url, "--redis-namespace", "staging")
    plain = start(redis.url)
    assert [remaining(production), remaining(again), remaining(staging), remaining(plain)] == [199, 198, 199, 199]
    keys = keys_in(redis)
    prefixes = sorted({key.split("{")[0] for key in keys if "{" in key})
    assert prefixes == ["w1:", "w1:prod:", "w1:staging:"]
    assert {"w1:hash-key", "w1:prod:hash-key", "w1:staging:hash-key"} <= keys
