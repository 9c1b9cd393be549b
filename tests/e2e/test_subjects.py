"""`max_subjects` from outside: random subjects share a bucket, on the memory store and on Redis, and operators see it."""

import json
import shutil

import pytest
from redis_nodes import PASSWORD, Node, Redis, eventually, redis, rules, start  # noqa: F401 (fixtures)

RULES = """version: 1
rules:
  - {id: per-tenant, per: [tenant], algorithm: fixed-window, limit: 2, window: 1h, max_subjects: 50}
"""


def sample(node, name):
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in node.get("/metrics")[1].splitlines()
            if line.startswith(name + "{")}


def attack(node, requests=2000):
    caller = node.caller()
    for _ in range(2):
        assert caller.check("x", "first")[0] == 200
    assert caller.check("x", "first")[0] == 429
    passed = sum(caller.check("x", f"random-{number}")[0] == 200 for number in range(requests))
    status, exhausted = caller.check("x", "first")
    assert status == 429 and exhausted["rules"][0]["subject"] != "shared", "its own bucket denies it"
    status, shared = caller.check("x", "another")
    assert status == 429 and shared["rules"][0]["subject"] == "shared"
    node.await_event("rule_subjects_full")
    caller.check("x", "yet-another")
    assert [event["rule"] for event in node.events("rule_subjects_full")] == ["per-tenant"]
    assert sample(node, "weir_shared_subject_checks_total")['weir_shared_subject_checks_total{rule="per-tenant"}'] > 1000
    denials = sample(node, "weir_denials_total")
    assert denials['weir_denials_total{rule="per-tenant",reason="limit_exceeded",subject="shared"}'] > 1000
    assert denials['weir_denials_total{rule="per-tenant",reason="limit_exceeded",subject="tenant"}'] == 2
    return passed


def test_on_the_memory_store_the_count_is_exact(tmp_path, rules):
    rules.write_text(RULES)
    node = Node(tmp_path / "log", "--rules", str(rules))
    try:
        assert attack(node) == 49 + 2
        assert sample(node, "weir_rule_subjects") == {'weir_rule_subjects{rule="per-tenant"}': 51}, "one is shared"
        assert node.metric('weir_store_keys{store="memory"}') == 51
    finally:
        assert node.stop() == 0


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_on_redis_keys_stay_bounded(redis, rules, start):
    rules.write_text(RULES)
    node = start(redis.url)
    passed = attack(node)
    assert 49 + 2 <= passed <= 49 + 2 + 10
    assert int(redis.run("DBSIZE")[1:]) <= 50 + 10 + 4
    counted = sample(node, "weir_rule_subjects")['weir_rule_subjects{rule="per-tenant"}']
    assert 50 <= counted <= 62
    assert node.metric("weir_subject_count_failures_total") == 0


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_on_redis_holders_of_leases_are_subjects_too(redis, rules, start):
    rules.write_text("""version: 1
rules:
  - {id: slots, per: [tenant], algorithm: concurrency, limit: 1, lease: 60s, max_subjects: 16}
""")
    node = start(redis.url)
    caller = node.caller()
    statuses = [caller.ask("/v1/leases", "x", f"random-{number}")[0] for number in range(200)]
    assert set(statuses) == {201, 429} and statuses.count(201) <= 16 + 1 + 4
    assert caller.ask("/v1/leases", "x", "another")[1]["rules"][0]["subject"] == "shared"


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_each_redis_server_has_figures(redis, rules, start):
    node = start(redis.url)
    caller = node.caller()
    for number in range(30):
        caller.check("shared", f"t{number}")
    label = f'{{server="127.0.0.1:{redis.port}"}}'
    assert node.metric("weir_store_server_calls_total" + label) >= 30
    eventually("all are counted", lambda: node.metric("weir_store_server_answers_total" + label) >= 30)
    assert node.metric("weir_store_server_latency_seconds_total" + label) > 0
    assert node.metric("weir_store_server_failures_total" + label) == 0
    eventually("none is in flight", lambda: node.metric("weir_store_server_in_flight" + label) == 0)
    eventually("INFO was read", lambda: "weir_store_server_cpu_seconds_total" in node.get("/metrics")[1])
    assert node.metric("weir_store_server_memory_bytes" + label) > 100_000
    assert node.metric("weir_store_server_cpu_seconds_total" + label) > 0
    script = 'weir_store_script_latency_seconds_count{script="fixed-window",outcome="admitted"}'
    assert node.metric(script) >= 30
    assert node.metric('weir_store_script_errors_total{script="fixed-window"}') == 0
    redis.run("CONFIG", "SET", "maxmemory", "1")
    caller.check("shared", "none")
    eventually("the error is counted", lambda: node.metric('weir_store_script_errors_total{script="fixed-window"}') > 0)
    assert node.metric("weir_store_server_failures_total" + label) > 0
    json.loads(node.get("/readyz")[1])


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_each_server_of_a_cluster_has_figures_so_that_uneven_shards_show(tmp_path, rules, start):
    """Two masters with three quarters and one quarter of the slots."""
    servers = []
    try:
        for name in ("big", "small"):
            folder = tmp_path / name
            folder.mkdir()
            servers.append(Redis(folder, "--cluster-enabled", "yes", "--cluster-config-file", str(folder / "nodes.conf"),
                                 "--masterauth", PASSWORD))
        big, small = servers
        assert big.run("CLUSTER", "ADDSLOTSRANGE", "0", "12287") == "+OK"
        assert small.run("CLUSTER", "ADDSLOTSRANGE", "12288", "16383") == "+OK"
        assert small.run("CLUSTER", "SET-CONFIG-EPOCH", "2") == "+OK"
        assert big.run("CLUSTER", "MEET", "127.0.0.1", str(small.port)) == "+OK"
        for server in servers:
            eventually("the cluster is whole", lambda: server.run("SET", "probe", "1").split()[0] in ("+OK", "-MOVED"))
        node = start(big.url.replace("redis:", "redis-cluster:", 1))
        caller = node.caller()
        for number in range(400):
            assert caller.check("shared", f"t{number}")[0] == 200

        def figure(name, server):
            return node.metric(f'{name}{{server="127.0.0.1:{server.port}"}}')

        eventually("all are counted", lambda: sum(figure("weir_store_server_answers_total", each) for each in servers) >= 400)
        calls = [figure("weir_store_server_calls_total", each) for each in servers]
        assert calls[0] > 2 * calls[1] > 0
        for each in servers:
            assert figure("weir_store_server_latency_seconds_total", each) > 0
            eventually("INFO was read", lambda: f'weir_store_server_cpu_seconds_total{{server="127.0.0.1:{each.port}"}}' in node.get("/metrics")[1])
            assert figure("weir_store_server_memory_bytes", each) > 100_000
        small.kill()
        eventually("only the dead one fails", lambda: [caller.check("shared", f"u{number}") for number in range(20)]
                   and figure("weir_store_server_failures_total", small) > 0)
        assert figure("weir_store_server_failures_total", big) == 0
    finally:
        for each in servers:
            each.kill()
