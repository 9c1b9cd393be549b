"""`redis.time: gateway` with a real Redis: what docs/time.md shows for nginx and HAProxy, and bare requests."""

import json
import pathlib
import re
import time
import urllib.error
import urllib.request

import pytest
from redis_nodes import redis  # noqa: F401 (a fixture)
from test_cli import start  # noqa: F401 (a fixture)
from test_gateways import Gateway
from test_haproxy_identity import serve  # noqa: F401 (a fixture)
from test_identity import rule

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "time.md").read_text()
BODY = {"attributes": {"tenant": "acme"}}


def flags_for(redis):
    return ["--store", redis.url, "--redis-deadline", "500ms", "--redis-time", "gateway"]


def counted(server):
    """How often each result was counted; what never happened is left out."""
    found = re.findall(r'^weir_gateway_times_total\{result="(\w+)"\} (\d+)$', server.metrics(), re.M)
    assert len(found) == 5
    return {name: int(count) for name, count in found if count != "0"}


def check(server, at):
    """The decision about a request that a gateway received at that time."""
    request = urllib.request.Request(f"http://{server.http}/v1/check", data=json.dumps(BODY).encode(),
                                     headers={} if at is None else {"X-Request-Start": at})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


@pytest.fixture
def node(start, tmp_path, redis):
    """A node that counts by the gateway's time: one unit every ten seconds."""
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nrules:\n  - {id: r, per: [tenant], algorithm: token-bucket, limit: 6, window: 1m, burst: 1}\n")

    def begin(*flags):
        return start("--rules", str(tmp_path / "rules.yaml"), *flags_for(redis), "--redis-time-bound", "50s",
                     "--prefilter", "false", *flags)

    return begin


def test_a_gateways_time_decides_if_it_is_near(node):
    server = node()
    now = time.time()
    assert check(server, f"{now:.3f}")["allowed"]
    assert not check(server, f"{now + 9:.3f}")["allowed"]
    assert check(server, f"t={now + 10.5:.6f}")["allowed"], "ten seconds later, by the gateway"
    assert check(server, str(int((now + 21) * 1000)))["allowed"], "milliseconds"
    # An earlier time than the bucket's own does not take it back.
    late = check(server, f"{now:.3f}")
    assert not late["allowed"] and late["retry_after_ms"] > 25_000
    # Too far away, unreadable or missing: the node's own clock.
    for at in (f"{now + 3600:.3f}", f"{now - 3600:.3f}", "soon", None):
        assert not check(server, at)["allowed"]
    assert counted(server) == {"used": 5, "out_of_bounds": 2, "unreadable": 1, "missing": 1}
    causes = [each["cause"] for each in server.events() if each["event"] == "gateway_time_unused"]
    assert sorted(causes) == ["missing", "out_of_bounds", "unreadable"]


def test_a_strangers_time_does_not_count(node):
    server = node("--identity-trusted-proxies", "192.0.2.1")
    assert check(server, None)["allowed"]
    assert not check(server, f"{time.time() + 40:.3f}")["allowed"]
    assert counted(server) == {"missing": 1, "untrusted": 1}


def test_without_the_setting_the_header_means_nothing(start, tmp_path, redis):
    (tmp_path / "rules.yaml").write_text("version: 1\nrules:\n  - {id: r, per: [tenant], limit: 1, window: 1m}\n")
    server = start("--rules", str(tmp_path / "rules.yaml"), "--store", redis.url, "--redis-deadline", "500ms",
                   "--redis-time", "node")
    assert check(server, None)["allowed"]
    assert not check(server, f"{time.time() + 3:.3f}")["allowed"]
    assert "weir_gateway_times_total" not in server.metrics()


def test_nginx_tells_its_time_as_the_page_shows(tmp_path, redis):
    line = re.search(r"```nginx\n(.*?)\n```", PAGE, re.S).group(1)
    gateway = Gateway("nginx", tmp_path)
    try:
        gateway.start_weir(*flags_for(redis))
        gateway.start()
        assert line.split() in [each.split() for each in (tmp_path / "nginx.conf").read_text().splitlines()]
        # What the client says itself is overwritten, and so neither used nor out of bounds.
        for _ in range(2):
            assert gateway.ask(X_Api_Key="alice", X_Request_Start="1")[0] == 200
        assert gateway.ask(X_Api_Key="alice", X_Request_Start="9999999999")[0] == 429
        assert not [each for each in gateway.weir.events() if each["event"] == "gateway_time_unused"]
    finally:
        gateway.stop()


def test_haproxy_tells_its_time_as_the_page_shows(serve, redis):
    argument = re.search(r"^args (\S+=date\S+)", PAGE, re.M).group(1)
    haproxy, server = serve(rule("per-key", "api_key", 1), more=" " + argument, flags=flags_for(redis))
    before = counted(server).get("used", 0)
    assert haproxy.statuses(2, headers={"X-Api-Key": "alice"}) == [200, 429]
    assert counted(server).get("used", 0) == before + 2
    assert set(counted(server)) == {"used"}
    assert not [each for each in server.events() if each["event"] == "spop_argument_unused"]
