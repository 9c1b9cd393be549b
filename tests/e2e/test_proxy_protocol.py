"""The PROXY protocol on listeners, with a real HAProxy in between."""

import http.client
import socket
import subprocess

import pytest
from test_cli import Server
from test_gateways import free_port, wait_for

RULES = """
version: 1
rules:
  - {id: per-ip, per: [ip], algorithm: fixed-window, limit: 1, window: 3650d}
"""
HAPROXY = """
global
    maxconn 64
defaults
    mode tcp
    timeout connect 2s
    timeout client 20s
    timeout server 20s
"""
CLIENTS = ("127.0.0.2", "127.0.0.3")


@pytest.fixture
def start(tmp_path):
    """A server whose listeners want a PROXY header from 127.0.0.1."""
    (tmp_path / "rules.yaml").write_text(RULES)
    running = []

    def begin(*flags):
        listeners = [word for name in ("http", "grpc", "resp") for word in (f"--listen-{name}", "127.0.0.1:0")]
        running.append(Server(*listeners, "--listen-admin", "off", "--listen-proxy-protocol", "http,grpc,resp", "--rules",
                              str(tmp_path / "rules.yaml"), *flags, log=tmp_path / "log"))
        return running[-1]

    yield begin
    for server in running:
        assert server.stop() == 0


@pytest.fixture(params=["send-proxy", "send-proxy-v2"])
def balanced(request, start, tmp_path):
    """The ports of a HAProxy before each listener, and the server."""
    server = start()
    listening = server.await_event("listening")
    ports = {name: free_port() for name in ("http", "grpc", "resp")}
    text = HAPROXY
    for name, port in ports.items():
        text += f"listen {name}\n    bind 127.0.0.1:{port}\n    server weir {listening[name]} {request.param}\n"
    (tmp_path / "haproxy.cfg").write_text(text)
    haproxy = subprocess.Popen(["haproxy", "-db", "-f", str(tmp_path / "haproxy.cfg")], stderr=subprocess.DEVNULL)
    wait_for(ports["http"])
    yield ports, server
    haproxy.kill()
    haproxy.wait()


def ask(port, client, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(client, 0))
    connection.request("GET", "/v1/forward-auth", headers=headers or {})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def test_the_address_in_the_header_is_the_clients(balanced):
    ports, _ = balanced
    assert [ask(ports["http"], client) for client in CLIENTS] == [200, 200]
    assert [ask(ports["http"], client) for client in CLIENTS] == [429, 429]
    assert ask(ports["http"], CLIENTS[0], {"X-Forwarded-For": "203.0.113.9"}) == 429, "a client is no trusted proxy"


def test_the_redis_protocol_knows_its_client(balanced):
    ports, _ = balanced
    with socket.create_connection(("127.0.0.1", ports["resp"]), timeout=10, source_address=(CLIENTS[0], 0)) as connection:
        connection.sendall(b"CLIENT INFO\r\n")
        answer = b""
        while b"\r\n" not in answer or b"addr=" not in answer:
            answer += connection.recv(4096)
    assert f"addr={CLIENTS[0]}:".encode() in answer


def test_grpc_speaks_behind_it(balanced):
    grpc = pytest.importorskip("grpc")
    ports, _ = balanced
    with grpc.insecure_channel(f"127.0.0.1:{ports['grpc']}") as channel:
        assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10) == b"\x08\x01"


def exchange(address, parts):
    """What comes back until the other side closes."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        answer = b""
        try:
            for part in parts:
                connection.sendall(part)
            while more := connection.recv(65536):
                answer += more
        except ConnectionError:
            pass
        return answer


ASK = b"GET /v1/forward-auth HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("start_of", [
    ASK,
    b"PROXY TCP4 1.2.3.4 5.6.7.8 1 99999\r\n" + ASK,
    b"PROXY TCP4 ::1 ::1 1 2\r\n" + ASK,
    b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2" + b" " * 200 + b"\r\n" + ASK,
    b"proxy TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + ASK,
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff" + b"\0" * 70000,
    b"\r\n\r\n\0\r\nQUIT\n\x31\x11\x00\x0c" + b"\0" * 12 + ASK,
    b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nPROXY TCP4 1.2.3.5 5.6.7.8 1 2\r\n" + ASK,
])
def test_what_is_no_header_gets_no_decision(start, start_of):
    server = start()
    answer = exchange(server.http, [start_of])
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert b"RateLimit" not in answer


def test_a_header_in_pieces_and_one_of_a_health_check(start):
    server = start()
    head = b"PROXY TCP6 2001:db8::1 ::1 1 2\r\n"
    assert exchange(server.http, [head[i:i + 1] for i in range(len(head))] + [ASK]).startswith(b"HTTP/1.1 200 ")
    assert exchange(server.http, [head + ASK]).startswith(b"HTTP/1.1 429 ")
    assert exchange(server.http, [b"PROXY UNKNOWN\r\n" + ASK]).startswith(b"HTTP/1.1 200 ")
    local = b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00"
    assert exchange(server.http, [local + ASK]).startswith(b"HTTP/1.1 429 "), "the balancer itself, like UNKNOWN"


def test_only_trusted_proxies_may_speak_it(start):
    server = start("--identity-trusted-proxies", "10.0.0.0/8")
    assert exchange(server.http, [b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + ASK]) == b""
    assert server.await_event("proxy_protocol_refused")["cause"] == "untrusted"
