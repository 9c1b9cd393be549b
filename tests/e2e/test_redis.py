"""`weir serve` on a real Redis, and without it: WEIR_BIN names the program. Standard library and pytest only."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

WEIR = os.environ.get("WEIR_BIN", str(pathlib.Path(__file__).parents[2] / "build" / "bin" / "weir"))
QUIET = {k: v for k, v in os.environ.items() if not k.startswith("WEIR_")}
DEADLINE_S = 20
PATIENT = "500ms"  # a busy machine is no fault of Redis
PASSWORD = "correct-horse"
POLICIES = ("allow", "deny", "degrade", "local")

pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")

RULES = """version: 1
rules:
  - {id: shared, match: {kind: shared}, per: [tenant], algorithm: fixed-window, limit: 200, window: 3650d}
""" + "".join(
    f"  - {{id: {policy}, match: {{kind: {policy}}}, per: [tenant], algorithm: fixed-window, limit: 4, window: 3650d, "
    f"on_store_failure: {policy}}}\n"
    for policy in POLICIES
)
# Seven units in ten years are counted in steps so fine that Lua's doubles would lose count; 64-bit integers do not.
TOO_FINE = """version: 1
rules:
  - {id: vast, algorithm: token-bucket, limit: 7, window: 3650d, burst: 1000}
"""


def free_port():
    """One that leaves room above it: a cluster's nodes also take the port 10,000 further up."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if port < 55_000:
            return port


def eventually(what, holds):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"never happened: {what}")


class Redis:
    """One redis-server with a password and nothing on disk."""

    def __init__(self, folder, *flags):
        self.folder = folder
        self.flags = flags
        self.port = free_port()
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder),
             "--requirepass", PASSWORD, "--save", "", "--appendonly", "no", *self.flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        try:
            eventually("Redis answers", self.answers)
        except AssertionError:
            self.kill()
            raise

    def answers(self):
        with contextlib.suppress(OSError):
            return self.run("PING") == "+PONG"
        return False

    def run(self, *words):
        """One command on a connection of its own; the first line of its answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as link:
            for command in (("AUTH", PASSWORD), words):
                link.sendall(b"*%d\r\n" % len(command) + b"".join(
                    b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()) for word in command))
            with link.makefile("r", newline="\r\n") as lines:
                assert lines.readline() == "+OK\r\n"
                return lines.readline().strip()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Node:
    """A running `weir serve` and its log."""

    def __init__(self, log, *flags):
        self.log = log
        with open(log, "w") as errors:
            self.process = subprocess.Popen(
                [WEIR, "serve", "--log-format", "json", "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0",
                 "--loops", "2", "--redis-deadline", PATIENT, *flags],
                stdout=subprocess.DEVNULL, stderr=errors, env=QUIET,
            )
        try:
            listening = self.await_event("listening")
        except AssertionError:
            self.process.kill()
            raise
        self.http, self.admin = listening["http"], listening["admin"]

    def events(self, name=None):
        lines = self.log.read_text().splitlines(keepends=True)
        found = [json.loads(line) for line in lines if line.endswith("\n")]
        return [event for event in found if name in (None, event["event"])]

    def await_event(self, name, count=1):
        def look():
            assert self.process.poll() is None, self.log.read_text()
            return len(self.events(name)) >= count
        eventually(name, look)
        return self.events(name)[-1]

    def get(self, path):
        link = http.client.HTTPConnection(self.admin, timeout=10)
        link.request("GET", path)
        answer = link.getresponse()
        with contextlib.closing(link):
            return answer.status, answer.read().decode()

    def store(self):
        status, body = self.get("/readyz")
        assert status == 200, "a store that is away does not make a node unready"
        return json.loads(body)["store"]

    def metric(self, name):
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        raise AssertionError(f"no {name}")

    def caller(self):
        return Caller(self.http)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()


class Caller:
    """One client with its own connection."""

    def __init__(self, address):
        self.link = http.client.HTTPConnection(address, timeout=10)

    def check(self, kind, tenant="acme"):
        body = json.dumps({"attributes": {"kind": kind, "tenant": tenant}})
        self.link.request("POST", "/v1/check", body)
        answer = self.link.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.fixture
def redis(tmp_path):
    server = Redis(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


@pytest.fixture
def start(tmp_path, rules):
    nodes = []

    def begin(url, *flags):
        nodes.append(Node(tmp_path / f"log-{len(nodes)}", "--store", url, "--rules", str(rules), *flags))
        return nodes[-1]

    yield begin
    codes = [node.stop() for node in nodes]
    assert codes == [0] * len(nodes), "every node ends in good order"
    for node in nodes:
        assert PASSWORD not in node.log.read_text()


@contextlib.contextmanager
def load_on(node, kind, callers=4):
    """Clients that ask all the time, each for tenants of its own; gives the answers, which must all arrive."""
    answers, over = [], threading.Event()

    def ask(number):
        caller, turn = node.caller(), 0
        while not over.is_set():
            turn += 1
            answers.append(caller.check(kind, f"{number}-{turn}"))

    with concurrent.futures.ThreadPoolExecutor(callers) as pool:
        asking = [pool.submit(ask, number) for number in range(callers)]
        try:
            yield answers
        finally:
            over.set()
        for each in asking:
            each.result()


# R41, issue 3 item 9: the nodes agreed on one hash key, so one subject is one bucket.
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


# R42, R44: the hash key is found there too, and both nodes count in the same bucket.
def test_a_cluster_is_shared(tmp_path, start):
    cluster = Redis(tmp_path, "--cluster-enabled", "yes", "--cluster-config-file", str(tmp_path / "nodes.conf"))
    try:
        assert cluster.run("CLUSTER", "ADDSLOTSRANGE", "0", "16383") == "+OK"
        eventually("the cluster is whole", lambda: cluster.run("SET", "probe", "1") == "+OK")
        url = cluster.url.replace("redis:", "redis-cluster:", 1)
        nodes = [start(url), start(url)]
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
        assert [each.caller().check("local")[0] for each in nodes * 3] == [200] * 4 + [429] * 2
    finally:
        sentinel.kill()
        sentinel.wait()


# R50–R52
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

    # Two loops, so the breaker of the one that this caller is on; the log has one line all the same.
    assert node.store()["state"] == "open" and node.store()["fallback_ms"] > 0
    assert node.metric("weir_store_breaker_state") == 1
    assert node.metric("weir_store_breaker_opened_total") >= 1
    assert node.metric('weir_store_failures_total{kind="timeout"}') >= 1
    assert node.await_event("store_unavailable")["server"] == f"127.0.0.1:{redis.port}"

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


def test_a_wrong_password_is_called_that(redis, rules):
    ended = subprocess.run(
        [WEIR, "serve", "--store", f"redis://:wrong-horse@127.0.0.1:{redis.port}", "--rules", str(rules),
         "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0"],
        capture_output=True, text=True, timeout=DEADLINE_S, env=QUIET,
    )
    assert ended.returncode != 0
    assert "WRONGPASS" in ended.stderr and "wrong-horse" not in ended.stderr


def test_with_a_hash_key_file_a_node_starts_first_and_redis_later(redis, start, tmp_path):
    redis.kill()
    node = start(redis.url, "--hash-key-file", str(tmp_path / "key"))
    caller = node.caller()
    assert caller.check("allow")[1]["degraded"]
    assert caller.check("deny")[0] == 503
    redis.start()
    eventually("Redis decides", lambda: not caller.check("allow", "later")[1]["degraded"])
    assert redis.run("EXISTS", "w1:hash-key") == ":0", "the file's key stays in the file"


def test_rules_that_redis_cannot_count_are_refused(redis, start, rules):
    node = start(redis.url)
    rules.write_text(TOO_FINE)
    error = node.await_event("rules_rejected")["error"]
    assert "rule vast: burst: is 1000, expected at most 14 on Redis" in error
    assert node.caller().check("shared")[0] == 200, "the last good rules stay"
    assert node.metric("weir_rules_current") == 0
