"""Time as the program sees it: stopped processes, and clocks that are set."""

import email.utils
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from redis_nodes import redis  # noqa: F401 (a fixture)
from test_cli import QUIET, rules, start  # noqa: F401 (fixtures)
from test_identity import SECRET, bearer, token

HOUR = 3600
SHIM_SOURCE = pathlib.Path(__file__).parents[1] / "redis" / "clock_shim.cc"


def read_answer(connection):
    """One HTTP answer's status; the connection stays open."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        more = connection.recv(65536)
        assert more, f"closed after {answer!r}"
        answer += more
    return int(answer.split()[1])


def test_a_request_that_arrived_while_the_process_was_stopped_is_answered(start, rules):
    server = start("--rules", str(rules), "--http-message-timeout", "500ms", "--loops", "1")
    host, port = server.http.rsplit(":", 1)
    # Larger than what one receive takes.
    body = json.dumps({"attributes": {"tenant": "acme", "note": "n" * 4000}}).encode() + b" " * 200_000
    head = b"POST /v1/check HTTP/1.1\r\nHost: weir\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection((host, int(port)), timeout=20) as begun:
        begun.sendall(head + body[:100])
        assert server.check("other") == 200  # the loop has seen the beginning
        server.process.send_signal(signal.SIGSTOP)
        begun.sendall(body[100:])
        time.sleep(1.2)
        server.process.send_signal(signal.SIGCONT)
        assert read_answer(begun) == 200


class WallClock:
    """The wall clock of one process, which a test sets. In the middle of an hour to begin with."""

    def __init__(self, folder, shim):
        self.path = folder / "offset"
        self.shim = shim
        self.offset = HOUR / 2 - time.time() % HOUR
        self.set(0)

    def set(self, seconds):
        """This much later (or earlier) than it was at first."""
        self.by = seconds
        packed = struct.pack("<q", int((self.offset + seconds) * 1_000_000))
        with open(self.path, "r+b" if self.path.exists() else "wb") as file:
            file.write(packed)
        time.sleep(0.05)  # the program compares its clocks every 10 ms

    def now(self):
        return time.time() + self.offset + self.by

    def environment(self):
        return {**QUIET, "LD_PRELOAD": str(self.shim), "WEIR_CLOCK_SHIM": str(self.path)}


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    library = tmp_path_factory.mktemp("shim") / "clock_shim.so"
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++17", "-O1", "-fPIC", "-shared", SHIM_SOURCE, "-o", library], check=True)
    return library


@pytest.fixture
def wall(tmp_path, shim):
    return WallClock(tmp_path, shim)


RULES = """version: 1
rules:
  - {id: burst, match: {kind: burst}, per: [tenant], algorithm: token-bucket, limit: 5, window: 1h}
  - {id: calendar, match: {kind: calendar}, per: [tenant], algorithm: fixed-window, limit: 5, window: 1h}
"""


def flood(server, kind, tenant="acme", count=12):
    """How many of many requests are admitted, and the wait in the last answer."""
    body = {"requests": [{"attributes": {"kind": kind, "tenant": tenant}}] * count}
    decisions = json.loads(server.call("/v1/check/batch", body)[1])["decisions"]
    return sum(each["allowed"] for each in decisions), decisions[-1].get("retry_after_ms", 0) / 1000


def date_of(server):
    with urllib.request.urlopen(f"http://{server.http}/healthz", timeout=10) as answer:
        return email.utils.parsedate_to_datetime(answer.headers["Date"]).timestamp()


def metric(server, name):
    found = re.search(rf"^{re.escape(name)} (\S+)$", server.metrics(), re.M)
    return float(found.group(1)) if found else None


def status_with(server, text):
    request = urllib.request.Request(f"http://{server.http}/v1/forward-auth", headers=bearer(text))
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def follows(server, wall):
    """The server's times of day are the wall clock's within a second or two."""
    return abs(date_of(server) - wall.now()) < 2


def timestamp(event):
    return time.mktime(time.strptime(event["ts"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone


@pytest.fixture
def serve(start, wall, tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "secret").write_text(SECRET)
    return start("--rules", str(tmp_path / "rules.yaml"), "--identity-jwt-secret-file", str(tmp_path / "secret"),
                 "--identity-trusted-proxies", "127.0.0.1", env=wall.environment())


def test_a_clock_that_is_set_forward_is_followed_at_once(serve, wall):
    server = serve
    assert follows(server, wall)
    fresh = token({"exp": wall.now() + HOUR})
    assert status_with(server, fresh) == 200
    for kind in ("burst", "calendar"):
        assert flood(server, kind)[0] == 5
    wall.set(2 * HOUR)
    assert follows(server, wall)
    assert status_with(server, fresh) == 401, "it has expired"
    assert status_with(server, token({"exp": wall.now() + HOUR, "nbf": wall.now()})) == 200
    for kind in ("burst", "calendar"):
        assert flood(server, kind)[0] == 5, "one further limit, and no more"
    event = server.await_event("clock_set_forward")
    assert abs(event["by_ms"] - 2 * HOUR * 1000) < 2000
    assert abs(timestamp(event) - wall.now()) < 30
    assert metric(server, 'weir_clock_steps_total{direction="forward"}') == 1
    assert metric(server, "weir_clock_ahead_seconds") == 0


def test_a_clock_that_is_set_back_holds_nobody_up(serve, wall):
    server = serve
    for kind in ("burst", "calendar"):
        assert flood(server, kind)[0] == 5
    wall.set(-2 * HOUR)
    assert follows(server, wall)
    assert status_with(server, token({"exp": wall.now() + 60})) == 200, "valid by the clock on the wall"
    assert status_with(server, token({"exp": wall.now() + HOUR, "nbf": wall.now() + 120})) == 401, "not valid yet"
    assert flood(server, "burst") == (0, pytest.approx(720, abs=30)), "as if nothing had happened"
    assert flood(server, "calendar") == (0, pytest.approx(HOUR / 2, abs=30))
    event = server.await_event("clock_set_back")
    assert abs(event["ahead_ms"] - 2 * HOUR * 1000) < 2000
    assert abs(timestamp(event) - wall.now()) < 30
    assert metric(server, "weir_clock_ahead_seconds") == pytest.approx(2 * HOUR, abs=1)
    assert metric(server, 'weir_clock_steps_total{direction="backward"}') == 1
    # Set right again: bucket time was there already, so nothing refills.
    wall.set(0)
    assert follows(server, wall)
    assert metric(server, "weir_clock_ahead_seconds") == pytest.approx(0, abs=0.01)
    for kind in ("burst", "calendar"):
        assert flood(server, kind)[0] == 0
    assert len([each for each in server.events() if each["event"] == "clock_set_back"]) == 1


def test_calendar_windows_begin_when_the_wall_clock_says_so(serve, wall):
    assert flood(serve, "calendar")[0] == 5
    wall.set(-25 * 60)  # five minutes past the hour
    assert flood(serve, "calendar") == (0, pytest.approx(30 * 60, abs=30)), "as the earlier answer said"
    assert flood(serve, "calendar", tenant="other") == (5, pytest.approx(55 * 60, abs=30))


def test_an_override_ends_when_the_wall_clock_says_so(start, wall, tmp_path):
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall.now() + HOUR))
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nrules:\n"
        "  - {id: r, per: [tenant], algorithm: fixed-window, limit: 1, window: 1d,\n"
        f"     overrides: [{{when: {{tenant: acme}}, unlimited: true, until: {until}, reason: launch}}]}}\n")
    server = start("--rules", str(tmp_path / "rules.yaml"), env=wall.environment())
    assert [server.check() for _ in range(3)] == [200] * 3
    wall.set(2 * HOUR)
    assert [server.check() for _ in range(2)] == [200, 429]
    wall.set(0)
    assert server.check() == 200, "by the calendar it is not over yet"


def test_on_redis_a_nodes_time_is_its_wall_clock(start, wall, tmp_path, redis):
    (tmp_path / "rules.yaml").write_text(RULES)
    flags = ["--rules", str(tmp_path / "rules.yaml"), "--store", redis.url, "--redis-deadline", "500ms",
             "--redis-time", "node"]
    server = start(*flags, "--prefilter", "false", env=wall.environment())
    assert flood(server, "burst") == (5, pytest.approx(720, abs=30))
    wall.set(-600)
    # Time in the bucket does not run backward, and the wait says how long that takes.
    assert flood(server, "burst") == (0, pytest.approx(720 + 600, abs=30))
    # A bucket that other nodes have not led is asked by the wall clock.
    assert flood(server, "calendar") == (5, pytest.approx(HOUR / 2 + 600, abs=30))
