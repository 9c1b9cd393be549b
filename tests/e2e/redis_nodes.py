"""A real Redis and nodes of `weir serve` on it, for the tests of both: WEIR_BIN names the program."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
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

RULES = """version: 1
rules:
  - {id: shared, match: {kind: shared}, per: [tenant], algorithm: fixed-window, limit: 200, window: 3650d}
""" + "".join(
    f"  - {{id: {policy}, match: {{kind: {policy}}}, per: [tenant], algorithm: fixed-window, limit: 4, window: 3650d, "
    f"on_store_failure: {policy}}}\n"
    for policy in POLICIES
)


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

    port_flag = "--port"

    def __init__(self, folder, *flags):
        self.folder = folder
        self.flags = flags
        self.port = free_port()
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", self.port_flag, str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder),
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

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=5)

    def run(self, *words):
        """One command on a connection of its own; the first line of its answer."""
        with self.connect() as link:
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
    """A running `weir serve` and its log; `before` is a program that runs it in its place."""

    def __init__(self, log, *flags, before=()):
        self.log = log
        self.killed = False  # by the test
        with open(log, "w") as errors:
            self.process = subprocess.Popen(
                [*before, WEIR, "serve", "--log-format", "json", "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0",
                 "--loops", "2", "--redis-deadline", PATIENT, *flags],
                stdout=subprocess.DEVNULL, stderr=errors, env={**QUIET, "XDG_STATE_HOME": f"{log}.state"},
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
        link = connection_to(self.admin)
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

    def metric_or(self, name, default=None):
        """As metric(), where it may not be there yet."""
        try:
            return self.metric(name)
        except AssertionError:
            return default

    def caller(self):
        return Caller(self.http)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def connection_to(address):
    return UnixConnection(address[5:]) if address.startswith("unix:") else http.client.HTTPConnection(address, timeout=10)


class Caller:
    """One client with its own connection."""

    def __init__(self, address):
        self.link = connection_to(address)

    def check(self, kind, tenant="acme", cost=1):
        return self.ask("/v1/check", kind, tenant, cost)

    def refund(self, kind, tenant="acme"):
        return self.ask("/v1/refund", kind, tenant)

    def ask(self, path, kind, tenant, cost=1):
        body = json.dumps({"attributes": {"kind": kind, "tenant": tenant}, "cost": cost})
        self.link.request("POST", path, body)
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
    codes = [node.stop() for node in nodes if not node.killed]
    assert set(codes) <= {0}, "every node ends in good order"
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
