"""The log-in pattern of docs/rules.md, on every front end that shows rule names."""

import http.client
import json
import os
import pathlib
import re
import subprocess

import pytest
from test_cli import Server
from test_gateways import GATEWAYS, free_port, wait_for

NAMES = ("login-account", "login-address", "login-subnet", "RateLimit", "ratelimit", "sliding-log")


def login_rules():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "rules.md").read_text()
    return next(text for text in re.findall(r"^```yaml rules\n(.*?)^```", page, re.M | re.S) if "login-account" in text)


@pytest.fixture
def server(tmp_path):
    (tmp_path / "rules.yaml").write_text(login_rules())
    flags = [word for name in ("http", "admin", "grpc", "resp", "spop") for word in (f"--listen-{name}", "127.0.0.1:0")]
    running = Server("--rules", str(tmp_path / "rules.yaml"), "--identity-routes", "POST /login=login",
                     "--identity-attributes", "account=header:x-account", *flags, log=tmp_path / "log")
    yield running
    assert running.stop() == 0


def login(account, address="203.0.113.9"):
    subnet = address.rsplit(".", 1)[0] + ".0/24"
    return {"attributes": {"action": "login", "account": account, "ip": address, "ip_subnet": subnet}}


def ask(server, path, body):
    connection = http.client.HTTPConnection(*server.http.split(":"), timeout=10)
    connection.request("POST", path, json.dumps(body))
    response = connection.getresponse()
    told = str(response.getheaders()) + response.read().decode()
    connection.close()
    return response.status, told


def tells_nothing(text):
    return not any(name in text for name in NAMES)


def test_account_address_and_network_are_asked_in_one_decision(server):
    spread = [ask(server, "/v1/check", login("alice", f"198.51.{i}.1"))[0] for i in range(6)]
    assert spread == [200] * 5 + [429], "one account from many networks"
    many = [ask(server, "/v1/check", login(f"user{i}"))[0] for i in range(21)]
    assert many == [200] * 20 + [429], "many accounts from one address"
    network = [ask(server, "/v1/check", login(f"other{i}", f"192.0.2.{i % 50}"))[0] for i in range(101)]
    assert network == [200] * 100 + [429], "many accounts from one network"


def test_only_failures_count_where_successes_are_refunded(server):
    for _ in range(10):
        assert ask(server, "/v1/check", login("alice"))[0] == 200
        status, told = ask(server, "/v1/refund", login("alice"))
        assert status == 200 and tells_nothing(told)


def test_http_answers_are_alike_whichever_rule_denied(server):
    for i in range(5):
        status, told = ask(server, "/v1/check", login("alice", f"198.51.100.{i}"))
        assert status == 200 and tells_nothing(told), told
    for i in range(20):
        ask(server, "/v1/check", login(f"user{i}", "203.0.113.9"))

    def shape(body):
        status, told = ask(server, "/v1/check", body)
        assert status == 429 and "Retry-After" in told and tells_nothing(told), told
        return re.sub(r"\d+", "0", told)

    assert shape(login("alice", "192.0.2.1")) == shape(login("new", "203.0.113.9"))
    batch = ask(server, "/v1/check/batch", {"requests": [login("alice", "192.0.2.1")]})[1]
    assert '"allowed":false' in batch and tells_nothing(batch)
    assert "login-account" in server.metrics(), "operators still see which rule denied"


def test_forward_auth_tells_no_more(server):
    def at(account):
        connection = http.client.HTTPConnection(*server.http.split(":"), timeout=10)
        connection.request("GET", "/v1/forward-auth", headers={
            "X-Forwarded-Method": "POST", "X-Forwarded-Uri": "/login", "X-Account": account, "X-Forwarded-For": "203.0.113.9"})
        response = connection.getresponse()
        told = str(response.getheaders()) + response.read().decode()
        connection.close()
        assert tells_nothing(told), told
        return response.status

    assert [at("alice") for _ in range(6)] == [200] * 5 + [429]


def test_the_redis_protocol_tells_no_more(server):
    port = server.await_event("listening")["resp"].rsplit(":", 1)[1]
    words = [word for pair in login("bob")["attributes"].items() for word in pair]
    for i in range(6):
        told = subprocess.run(["redis-cli", "-p", port, "WEIR.CHECK", *words], capture_output=True, text=True, timeout=20).stdout
        assert ("limit_exceeded" in told) == (i == 5) and tells_nothing(told), told


def test_grpc_tells_no_more(server):
    grpc = pytest.importorskip("grpc")

    def text(field, value):
        return bytes([field << 3 | 2, len(value)]) + value

    entries = b"".join(text(1, text(1, name.encode()) + text(2, value.encode())) for name, value in login("eve")["attributes"].items())
    with grpc.insecure_channel(server.await_event("listening")["grpc"]) as channel:
        ask_envoy = channel.unary_unary("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")
        answers = [ask_envoy(text(1, b"shop") + text(2, entries), timeout=10) for _ in range(6)]
    assert [answer[1] for answer in answers] == [1] * 5 + [2]
    assert b"Retry-After" in answers[5], answers[5]
    assert all(tells_nothing(answer.decode("latin-1")) for answer in answers), answers


def test_haproxy_tells_no_more(server, tmp_path):
    public, app = free_port(), server.http  # any application will do: it answers 404
    text = (GATEWAYS / "haproxy" / "spoe.conf").read_text()
    text = re.sub(r"(args .*)", r"\1 action=str(login) account=req.hdr(x-account) ip_subnet=src,ipmask(24,48)", text, count=1)
    (tmp_path / "spoe.conf").write_text(text)
    environment = dict(os.environ, WEIR_PUBLIC_BIND=f"127.0.0.1:{public}", WEIR_APP=app,
                       WEIR_SPOP=server.await_event("listening")["spop"], WEIR_SPOE_CONF=str(tmp_path / "spoe.conf"))
    haproxy = subprocess.Popen(["haproxy", "-db", "-f", str(GATEWAYS / "haproxy" / "haproxy.cfg")], env=environment,
                               stderr=subprocess.DEVNULL)
    try:
        wait_for(public)
        statuses = []
        while statuses.count(404) < 7 and 429 not in statuses:
            connection = http.client.HTTPConnection("127.0.0.1", public, timeout=10)
            connection.request("GET", "/login", headers={"X-Account": "mallory"})
            response = connection.getresponse()
            response.read()
            fields = {name.lower(): value for name, value in response.getheaders()}
            connection.close()
            if "x-weir-error" not in fields:  # HAProxy had not reached the agent yet
                statuses.append(response.status)
            assert "ratelimit" not in fields and "ratelimit-policy" not in fields
        assert statuses == [404] * 5 + [429]
        assert int(fields["retry-after"]) >= 1
    finally:
        haproxy.kill()
        haproxy.wait()
