"""Several nodes on one PostgreSQL and one Redis: what operators change on one is in effect on all within a second, and stays while PostgreSQL is away."""

import json
import subprocess
import time

import pytest
from postgres_server import Postgres
from redis_nodes import eventually, free_port
from test_cli import QUIET, start  # noqa: F401 (start is a fixture)
from test_operators import RULES, Operators, check, limit_for

WITHIN_S = 1.0


@pytest.fixture(scope="module")
def postgres():
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    port = free_port()
    process = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", str(tmp_path_factory.mktemp("redis"))],
                               stdout=subprocess.DEVNULL, env=QUIET)
    yield f"redis://127.0.0.1:{port}"
    process.terminate()
    process.wait(20)


@pytest.fixture
def node(start, tmp_path, postgres, redis):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(RULES)

    def begin(name):
        return start("--rules", str(tmp_path / "rules.yaml"), "--data-dir", str(tmp_path / name), "--node-name", name,
                     "--database", postgres.url, "--store", redis, "--identity-apply", "http")

    return begin


def takes(what, holds):
    """Waits until it holds, and says how long that took."""
    began = time.monotonic()
    eventually(what, holds)
    return time.monotonic() - began


def control(server):
    return json.loads(server.call("/readyz", listener=server.admin)[1])["control"]


def test_nodes_agree_within_a_second_and_keep_what_they_know(node, postgres):
    one, two = node("one"), node("two")
    operators = Operators(one)
    waits = {}

    override = operators.made("/overrides", {"rules": ["search"], "when": {"tenant": "acme"}, "limit": 50, "until": "1h", "reason": "launch"})
    assert limit_for(one, tenant="acme", action="search") == 50, "the node that was told acts on it before it answers"
    waits["override"] = takes("override", lambda: limit_for(two, tenant="acme", action="search") == 50)

    operators.made("/blocks", {"when": {"tenant": "bad"}, "reason": "unpaid"})
    waits["block"] = takes("block", lambda: check(two, tenant="bad", action="search")[0] == 403)

    operators.call("PUT", "/tenants/pro-tenant", {"plan": "pro"}, {"If-None-Match": "*"})
    waits["tenant"] = takes("plan", lambda: limit_for(two, tenant="pro-tenant", action="search") == 5)

    key = operators.made("/keys", {"name": "ci", "tenant": "pro-tenant"})
    waits["key"] = takes("key", lambda: limit_for_key(two, key["key"]) == 5)
    operators.remove(f"/keys/{key['id']}", key["etag"])
    waits["revoked key"] = takes("revoked", lambda: check(two, api_key=key["key"], action="search")[0] == 403)
    assert {what: wait for what, wait in waits.items() if wait > WITHIN_S} == {}

    postgres.stop()
    eventually("both say that they are stale", lambda: control(one)["stale"] and control(two)["stale"])
    for server in (one, two):
        assert limit_for(server, tenant="acme", action="search") == 50
        assert check(server, tenant="bad", action="search")[0] == 403
    assert operators.call("POST", "/blocks", {"when": {"tenant": "x"}, "reason": "r"})[0] == 503
    two.stop()
    two = node("two")
    assert limit_for(two, tenant="acme", action="search") == 50, "kept over a restart"
    assert limit_for(two, tenant="pro-tenant", action="search") == 5
    assert check(two, tenant="bad", action="search")[0] == 403
    assert check(two, api_key=key["key"], action="search")[0] == 403

    postgres.start()
    eventually("both are back", lambda: not control(one)["stale"] and not control(two)["stale"])
    assert operators.remove(f"/overrides/{override['id']}", override["etag"])[0] == 204
    eventually("both have dropped it", lambda: limit_for(two, tenant="acme", action="search") == 2)


def limit_for_key(server, key):
    answer = json.loads(server.call("/v1/check", {"attributes": {"api_key": key, "action": "search"}, "peek": True})[1])
    return answer["rules"][0]["limit"] if answer.get("rules") else None


MANY = 100_000
FILL = f"""
INSERT INTO control_key (id, name, prefix, hash, tenant, plan, attributes, actor, created_at, revision)
  SELECT 'k' || lpad(i::text, 9, '0'), 'key ' || i, 'wk_' || i, encode(sha256(('key ' || i)::bytea), 'hex'), 'tenant-' || i, '', '[]', 'test', 0, 1
  FROM generate_series(1, {MANY}) AS i;
INSERT INTO control_block (id, conditions, reason, actor, created_at, revision, hits)
  SELECT 'b' || lpad(i::text, 9, '0'), '[["ip","10.' || i / 65536 || '.' || i / 256 % 256 || '.' || i % 256 || '"]]', 'many', 'test', 0, 1, 0
  FROM generate_series(1, {MANY}) AS i;
INSERT INTO change_log (topic, version) VALUES ('keys', 1), ('blocks', 1)
  ON CONFLICT (topic) DO UPDATE SET version = change_log.version + 1;
"""


def test_a_change_is_everywhere_within_a_second_beside_a_hundred_thousand_keys_and_blocks(node, postgres):
    one = node("one")
    postgres.run(FILL)
    two = node("two")
    operators = Operators(one)

    for server in (one, two):
        eventually("it has them all", lambda: check(server, ip="10.0.0.7", action="search")[0] == 403)
    waits = {}

    def change(what, make, holds):
        """From before the call, which answers when its own node acts on it, until the other node does."""
        began = time.monotonic()
        made = make()
        eventually(what, lambda: holds(made))
        waits[what] = time.monotonic() - began
        return made

    block = change("block", lambda: operators.made("/blocks", {"when": {"tenant": "late"}, "reason": "unpaid"}),
                   lambda _: check(two, tenant="late", action="search")[0] == 403)
    change("lifted block", lambda: operators.remove(f"/blocks/{block['id']}", block["etag"]),
           lambda _: check(two, tenant="late", action="search")[0] != 403)
    key = change("key", lambda: operators.made("/keys", {"name": "ci", "tenant": "late"}), lambda made: limit_for_key(two, made["key"]) == 2)
    change("revoked key", lambda: operators.remove(f"/keys/{key['id']}", key["etag"]),
           lambda _: check(two, api_key=key["key"], action="search")[0] == 403)
    assert {what: wait for what, wait in waits.items() if wait > WITHIN_S} == {}


def nodes(server):
    return json.loads(server.call("/admin/v1/overview", listener=server.admin)[1])["state"]["nodes"]


def test_nodes_know_how_many_of_them_are_live(node):
    one, two = node("first"), node("second")
    for server in (one, two):
        eventually("both are live", lambda: nodes(server) == {"live": 2, "expected": 2})
    two.process.kill()
    two.stop()
    eventually("one has failed", lambda: nodes(one) == {"live": 1, "expected": 2})
    two = node("second")
    eventually("it is back", lambda: nodes(one) == {"live": 2, "expected": 2})
    two.stop()
    eventually("it has stopped in order", lambda: nodes(one) == {"live": 1, "expected": 1})
