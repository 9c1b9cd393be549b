"""`weir redis inspect`: what Redis holds for a request, and under a key."""

import http.client
import json
import shutil
import subprocess

import pytest
from redis_nodes import PASSWORD, QUIET, WEIR, redis, rules, start  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")

LOG_RULES = """version: 1
rules:
  - {id: log, match: {kind: shared}, per: [tenant], algorithm: sliding-log, limit: 5, window: 1h}
  - {id: bucket, match: {kind: shared}, per: [tenant], limit: 100, window: 1h}
  - {id: windows, match: {kind: shared}, per: [tenant], algorithm: sliding-counter, limit: 9, window: 1h}
"""


def inspect(*words, expect=0):
    done = subprocess.run([WEIR, "redis", "inspect", *words], capture_output=True, text=True, env=QUIET, timeout=30)
    assert done.returncode == expect, done.stderr + done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    return done.stdout


def buckets(*words):
    return {each["rule"]: each for each in json.loads(inspect("--json", *words))["buckets"]}


def test_attributes_lead_to_the_buckets_and_a_log_lists_its_times(redis, rules, start):
    rules.write_text(LOG_RULES)
    node = start(redis.url, "--redis-namespace", "prod")
    caller = node.caller()
    decisions = [caller.check("shared")[1] for _ in range(3)]
    where = ("--store", redis.url, "--rules", str(rules), "--namespace", "prod")
    found = buckets(*where, "kind=shared", "tenant=acme")
    assert set(found) == {"log", "bucket", "windows"}
    log = found["log"]
    assert log["algorithm"] == "sliding-log" and log["stored"] and log["used"] == 3
    assert log["limit"] == 5 and log["window_ms"] == 3_600_000 and log["namespace"] == "prod"
    assert sum(entry["units"] for entry in log["entries"]) == 3
    times = [entry["at_us"] for entry in log["entries"]]
    assert times == sorted(times)
    assert times[-1] // 1000 == log["last_change_ms"]
    assert log["idle_from_ms"] == (times[-1] + 3_600_000_000) // 1000
    assert 0 < log["ttl_ms"] <= 3_601_000
    told = {rule["rule"]: rule["subject"] for rule in decisions[0]["rules"]}
    assert {rule: each["subject"] for rule, each in found.items()} == told
    assert found["bucket"]["algorithm"] == "token-bucket" and found["bucket"]["used"] == 3
    assert found["windows"]["used"] + found["windows"]["used_before"] == 3

    by_key = buckets("--store", redis.url, log["key"])["log"]
    assert by_key["used"] == 3 and by_key["entries"] == log["entries"] and "limit" not in by_key
    text = inspect("--store", redis.url, log["key"])
    assert "log  subject " + told["log"] in text and "sliding-log: 3 used as of " in text

    other = buckets(*where, "kind=shared", "tenant=other")
    assert not any(each["stored"] for each in other.values())
    assert inspect(*where, "kind=none") == "no rule counts this request\n"


def test_what_is_no_bucket_is_said_to_be_none(redis):
    redis.run("SET", "w1:odd", "hello")
    redis.run("RPUSH", "w1:list", "x")
    odd, other, absent = json.loads(inspect("--json", "--store", redis.url, "w1:odd", "w1:list", "w1:none"))["buckets"]
    assert odd["error"].startswith("not a bucket of this version: ")
    assert other["error"].startswith("WRONGTYPE")
    assert absent == {"key": "w1:none", "stored": False}


def test_bad_input_is_told(redis, rules):
    assert "does not use Redis" in json.loads(inspect("--json", "w1:x", expect=2))["error"]["message"]
    error = json.loads(inspect("--json", "--store", redis.url, "tenant=acme", expect=2))["error"]["message"]
    assert "--rules" in error
    error = json.loads(inspect("--json", "--store", redis.url, "--rules", str(rules), "tenant=acme", expect=3))
    assert "has no hash key" in error["error"]["message"]
    gone = json.loads(inspect("--json", "--store", "redis://127.0.0.1:1", "w1:x", expect=3))["error"]
    assert gone["code"] == "unavailable" and "127.0.0.1:1" in gone["message"]


def test_penalties_and_different_values_are_decoded(redis, rules, start):
    rules.write_text("""version: 1
rules:
  - id: accounts
    per: [tenant]
    distinct: account
    algorithm: fixed-window
    limit: 2
    window: 3650d
    penalty: {after: 1, within: 1h, block: 1h}
""")
    node = start(redis.url)
    link = http.client.HTTPConnection(node.http, timeout=10)
    for account in ("ann", "bob", "carl"):
        link.request("POST", "/v1/check", json.dumps({"attributes": {"tenant": "acme", "account": account}}))
        link.getresponse().read()
    where = ("--store", redis.url, "--rules", str(rules), "tenant=acme", "account=ann")
    values, penalty = json.loads(inspect("--json", *where))["buckets"]
    assert (values["algorithm"], values["used"]) == ("different values", 2), values
    assert (penalty["step"], penalty["strikes"]) == (1, 0) and penalty["until_ms"] > 0, penalty
    text = inspect(*where)
    assert "different values: 2 used" in text and "penalty: step 1, 0 strikes since" in text, text
