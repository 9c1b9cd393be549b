"""`weir serve` on a real Redis, and without it. Standard library and pytest only."""

import concurrent.futures
import json
import shutil
import signal
import subprocess
import time

import pytest
from redis_nodes import DEADLINE_S, PASSWORD, POLICIES, QUIET, WEIR, Redis, eventually, free_port, load_on
from redis_nodes import redis, rules, start  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")

# Seven units in ten years are counted in steps so fine that a product of two numbers does not fit Lua's doubles.
FINE = """version: 1
rules:
  - {id: vast, algorithm: token-bucket, limit: 7, window: 3650d, burst: 1000}
"""


# The nodes agreed on one hash key, so one subject is one bucket.
def test_two_nodes_admit_exactly_the_limit(redis, start):
    nodes = [start(redis.url), start(redis.url)]

    def ask(number):
        caller = nodes[number % 2].caller()
        return [caller.check("shared")[0] for _ in range(25)]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        statuses = [status for each in pool.map(ask, range(16)) for status in each]
    assert statuses.count(200) == 200 and statuses.count(429) == 200
    assert all(node.metric("weir_store_calls_total") > 0 for node in nodes)
    assert sum(node.metric("weir_prefilter_hits_total") for node in nodes) > 0
    assert nodes[0].store() == {"kind": "redis", "state": "closed", "fallback_ms": 0}


# The first node has also remembered that the bucket is exhausted (prefilter); another node forgets that within a second.
def test_a_reset_empties_the_bucket_on_every_node(redis, start):
    one, other = start(redis.url).caller(), start(redis.url).caller()
    assert [one.check("deny")[0] for _ in range(6)] == [200] * 4 + [429] * 2
    status, body = one.ask("/v1/reset", "deny", "acme")
    assert status == 200 and [rule["rule"] for rule in body["rules"]] == ["deny"] and not body["degraded"]
    assert [one.check("deny")[0] for _ in range(5)] == [200] * 4 + [429]
    assert other.check("deny")[0] == 429
    assert other.ask("/v1/reset", "deny", "acme")[0] == 200
    assert other.check("deny")[0] == 200
    eventually("the first node asks Redis again", lambda: one.check("deny")[0] == 200)


def test_a_reset_leaves_other_buckets_alone(redis, start):
    caller = start(redis.url).caller()
    for tenant in ("acme", "beta"):
        assert caller.check("deny", tenant)[1]["remaining"] == 3
    assert caller.ask("/v1/reset", "deny", "acme")[0] == 200
    assert caller.check("deny", "acme")[1]["remaining"] == 3
    assert caller.check("deny", "beta")[1]["remaining"] == 2


# Redis comes back empty: what it then knows is what the node has told it.
def test_what_was_admitted_without_redis_is_charged_when_it_is_back(redis, start):
    node = start(redis.url)
    caller = node.caller()
    assert caller.check("shared")[0] == 200
    redis.kill()
    eventually("Redis is out of use", lambda: caller.check("deny", "probe")[0] == 503)
    without = [caller.check("local")[1]["allowed"] for _ in range(5)]
    assert without == [True, True, False, False, False], "half of 4"
    for tenant in range(20):
        assert caller.check("allow", f"t{tenant}")[1]["degraded"]
    assert node.metric("weir_outage_subjects") == 21
    redis.start()
    eventually("Redis is in use again", lambda: caller.check("deny", "probe")[0] != 503)
    eventually("all is charged", lambda: caller.check("deny", "probe") and node.metric("weir_outage_subjects") == 0)
    assert [caller.check("local")[1]["remaining"] for _ in range(2)] == [1, 0] and caller.check("local")[0] == 429
    assert [caller.check("allow", f"t{tenant}")[1]["remaining"] for tenant in range(20)] == [2] * 20
    assert node.metric('weir_outage_units_total{result="charged"}') == 22
    assert "22 units" in node.await_event("outage_reconciled")["msg"]


def test_a_reset_while_redis_is_away_says_so(redis, start):
    caller = start(redis.url).caller()
    assert caller.check("deny")[0] == 200
    redis.kill()
    status, body = caller.ask("/v1/reset", "deny", "acme")
    assert status == 503 and body["degraded"] is True, (status, body)


# The hash key is found there too, and both nodes count in the same bucket.
def test_a_cluster_is_shared(tmp_path, start):
    cluster = Redis(tmp_path, "--cluster-enabled", "yes", "--cluster-config-file", str(tmp_path / "nodes.conf"))
    try:
        assert cluster.run("CLUSTER", "ADDSLOTSRANGE", "0", "16383") == "+OK"
        eventually("the cluster is whole", lambda: cluster.run("SET", "probe", "1") == "+OK")
        url = cluster.url.replace("redis:", "redis-cluster:", 1)
        nodes = [start(url), start(url)]
        for each in nodes:  # a node listens before both of its loops have asked for the master
            eventually("both loops are connected", lambda: each.metric("weir_store_connects_total") >= 2)
        assert [each.caller().check("local")[0] for each in nodes * 3] == [200] * 4 + [429] * 2
    finally:
        cluster.kill()


def test_the_master_that_a_sentinel_names_is_shared(redis, tmp_path, start):
    port = free_port()
    settings = tmp_path / "sentinel.conf"
    settings.write_text(
        f"port {port}\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 {redis.port} 1\n"
        f"sentinel auth-pass main {PASSWORD}\n"
    )
    sentinel = subprocess.Popen(
        ["redis-server", str(settings), "--sentinel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        url = f"redis-sentinel://:{PASSWORD}@127.0.0.1:{port}/main"
        nodes = [start(url), start(url)]
        for each in nodes:  # a node listens before both of its loops have asked for the master
            eventually("both loops are connected", lambda: each.metric("weir_store_connects_total") >= 2)
        assert [each.caller().check("local")[0] for each in nodes * 3] == [200] * 4 + [429] * 2
    finally:
        sentinel.kill()
        sentinel.wait()


def test_a_stopped_redis_leaves_the_answer_to_the_policies(redis, start):
    node = start(redis.url)
    caller = node.caller()
    assert caller.check("deny")[0] == 200
    redis.signal(signal.SIGSTOP)
    seen = {policy: [caller.check(policy) for _ in range(6)] for policy in POLICIES}
    assert all(answer["degraded"] for answers in seen.values() for _, answer in answers)
    assert [status for status, _ in seen["allow"]] == [200] * 6
    assert [status for status, _ in seen["degrade"]] == [200] * 6
    assert {(status, answer["reason"]) for status, answer in seen["deny"]} == {(503, "store_unavailable")}
    assert [status for status, _ in seen["local"]] == [200] * 2 + [429] * 4, "half of the limit of 4"

    # Two loops, so the breaker of the one that this caller is on; the log still has one line.
    assert node.store()["state"] in ("open", "half_open") and node.store()["fallback_ms"] > 0
    assert node.metric("weir_store_breaker_state") in (1, 2)
    assert node.metric("weir_store_breaker_opened_total") >= 1
    assert node.metric('weir_store_failures_total{kind="timeout"}') >= 1
    assert node.await_event("store_unavailable")["server"] == f"127.0.0.1:{redis.port}"
    assert all(node.metric(f'weir_fallback_decisions_total{{policy="{policy}"}}') == 6 for policy in POLICIES)
    # A probe of a frozen server takes the deadline, half a second here: long enough to be seen.
    eventually("a probe is under way", lambda: node.store()["state"] == "half_open")
    eventually("the metric shows it", lambda: node.metric("weir_store_breaker_state") == 2)

    redis.signal(signal.SIGCONT)
    assert node.await_event("store_recovered")["after_ms"] > 0
    eventually("the breaker closes", lambda: node.store()["state"] == "closed")
    status, answer = caller.check("deny")
    assert status == 200 and not answer["degraded"]
    assert len(node.events("store_unavailable")) == 1 and len(node.events("store_recovered")) == 1
    assert node.metric("weir_store_fallback_seconds_total") > 0


def test_a_killed_redis_is_used_again_when_it_is_back(redis, start):
    node = start(redis.url)
    with load_on(node, "allow") as answers:
        eventually("answers", lambda: len(answers) > 20)
        redis.kill()
        node.await_event("store_unavailable")
        redis.start()
        node.await_event("store_recovered")
        eventually("Redis decides again", lambda: not answers[-1][1]["degraded"])
    assert {status for status, _ in answers} == {200}
    # It came back empty: the node has put the hash key back, so a second node counts in the same buckets.
    eventually("the hash key is back", lambda: redis.run("STRLEN", "w1:hash-key") == ":32")
    second = start(redis.url)
    assert [each.caller().check("local", "both")[0] for each in (node, second) * 3] == [200] * 4 + [429] * 2


# It stores no counts: what it admitted is charged in Redis, and nothing else is.
def test_a_killed_node_takes_nothing_with_it(redis, start):
    survivor, victim = start(redis.url), start(redis.url, "--loops", "1")
    admitted = [survivor.caller().check("shared")[0] for _ in range(50)].count(200)
    caller = victim.caller()
    admitted += [caller.check("shared")[0] for _ in range(50)].count(200)
    victim.process.kill()
    victim.process.wait()
    victim.killed = True
    caller = survivor.caller()
    admitted += [caller.check("shared")[0] for _ in range(300)].count(200)
    assert admitted == 200


def test_a_node_stops_while_answers_are_owed(redis, start):
    node = start(redis.url, "--redis-deadline", "10s", "--drain-timeout", "0s")
    callers = [node.caller() for _ in range(8)]
    for number, caller in enumerate(callers):
        assert caller.check("allow", str(number))[0] == 200
    redis.signal(signal.SIGSTOP)
    body = json.dumps({"attributes": {"kind": "allow", "tenant": "during"}})
    for caller in callers:
        caller.link.request("POST", "/v1/check", body)
    eventually("they wait", lambda: node.metric("weir_store_calls_total") == 16)
    began = time.monotonic()
    assert node.stop() == 0
    assert time.monotonic() - began < 5, "it did not wait for the deadline"
    assert node.events("stopped")


def test_flushes_under_load_cost_no_answer(redis, start):
    node = start(redis.url)
    with load_on(node, "deny") as answers:
        for command in (("SCRIPT", "FLUSH"), ("FLUSHALL",), ("SCRIPT", "FLUSH"), ("FLUSHALL",)):
            seen = len(answers)
            eventually("more answers", lambda: len(answers) > seen + 50)
            assert redis.run(*command) == "+OK"
        seen = len(answers)
        eventually("more answers", lambda: len(answers) > seen + 50)
    assert node.metric("weir_store_script_loads_total") >= 1
    assert [answer for _, answer in answers[-20:] if answer["degraded"]] == []


def test_without_redis_a_start_fails_clearly(rules):
    port = free_port()
    began = time.monotonic()
    ended = subprocess.run(
        [WEIR, "serve", "--store", f"redis://weir:{PASSWORD}@127.0.0.1:{port}", "--rules", str(rules),
         "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0"],
        capture_output=True, text=True, timeout=DEADLINE_S, env=QUIET,
    )
    assert ended.returncode not in (0, -signal.SIGABRT)
    assert f"Redis unreachable at 127.0.0.1:{port} (" in ended.stderr
    assert "start Redis, or set hash_key_file so that Weir can start without it" in ended.stderr
    assert PASSWORD not in ended.stderr + ended.stdout
    assert time.monotonic() - began < 10


def test_with_a_hash_key_file_a_node_starts_first_and_redis_later(redis, start, tmp_path):
    redis.kill()
    node = start(redis.url, "--hash-key-file", str(tmp_path / "key"))
    caller = node.caller()
    assert caller.check("allow")[1]["degraded"]
    assert caller.check("deny")[0] == 503
    redis.start()
    eventually("Redis decides", lambda: not caller.check("allow", "later")[1]["degraded"])
    assert redis.run("EXISTS", "w1:hash-key") == ":0", "the file's key stays in the file"


def test_rules_with_numbers_that_do_not_divide_evenly_are_counted_too(redis, start, rules):
    rules.write_text(FINE)
    node = start(redis.url)
    caller = node.caller()
    eventually("Redis decides", lambda: caller.check("fine")[1]["source"] == "redis")
    left = caller.check("fine")[1]["remaining"]
    assert caller.check("fine")[1]["remaining"] == left - 1 < 1000


def test_the_memory_of_our_keys_is_estimated_and_that_of_others_left_out(redis, start):
    caller = start(redis.url).caller()
    for number in range(100):
        assert caller.check("shared", tenant=f"t{number}")[0] == 200
    for number in range(100):
        redis.run("SET", f"other:{number}", "x" * 10_000)
    node = start(redis.url)  # asks when it begins, and then every 10 s
    label = f'{{server="127.0.0.1:{redis.port}"}}'
    keys = eventually("it is known", lambda: node.metric_or("weir_store_server_keys" + label))
    # Half of 201 keys are ours, of 16 that were asked for; each takes some hundred bytes, and the others 10,000.
    assert 10 < keys < 190
    assert 50 < node.metric("weir_store_server_key_bytes" + label) / keys < 500
    overview = json.loads(node.get("/admin/v1/overview")[1])["state"]["store"]
    assert overview["keys"] > 0 and overview["bytes"] > 0


def test_a_server_that_forbids_the_sample_is_used_without_it(redis, start):
    assert redis.run("ACL", "SETUSER", "plain", "on", f">{PASSWORD}", "~w1:*", "+@all", "-randomkey") == "+OK"
    node = start(f"redis://plain:{PASSWORD}@127.0.0.1:{redis.port}")
    assert node.caller().check("shared")[0] == 200
    eventually("its memory is known", lambda: node.metric_or(f'weir_store_server_memory_bytes{{server="127.0.0.1:{redis.port}"}}'))
    assert node.metric_or(f'weir_store_server_keys{{server="127.0.0.1:{redis.port}"}}') is None
