"""Peers that flood, stall or send nonsense, against a real `weir serve`.

Each time: the peer is cut or answered as it should be, the process keeps its memory and its descriptors, and another
client is served all the while.
"""

import json
import os
import select
import socket
import struct
import subprocess
import threading
import time

import pytest
from test_cli import DEADLINE_S, Server

LISTENERS = ("http", "admin", "grpc", "resp", "spop")
RULES = "version: 1\nrules:\n  - {id: pair, per: [tenant, user], algorithm: fixed-window, limit: 1, window: 3650d}\n"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4
ENHANCE_YOUR_CALM = 11
SHOULD_RATE_LIMIT = b"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
MOST_SENT = 64 << 20  # an attacker who may send this much was not stopped
MOST_GROWTH_KIB = 24 << 10


class Watched(Server):
    """A server, what it takes of the machine, and a bystander who must be served while it is attacked."""

    def __init__(self, folder, *flags):
        (folder / "rules.yaml").write_text(RULES)
        ports = [word for name in LISTENERS for word in (f"--listen-{name}", "127.0.0.1:0")]
        super().__init__("--rules", str(folder / "rules.yaml"), *ports, *flags, log=folder / "log")
        self.addresses = self.await_event("listening")
        self.settle()
        self.rss_before, self.fds_before = self.rss_kib(), self.fds()

    def settle(self):
        """Every loop has served something, so that what it takes once is taken."""
        for _ in range(50):
            assert self.call("/healthz")[0] == 200

    def rss_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self, listener):
        host, port = self.addresses[listener].rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=DEADLINE_S)

    def expect_unharmed(self):
        assert self.process.poll() is None
        assert self.call("/healthz")[0] == 200
        assert self.rss_kib() - self.rss_before < MOST_GROWTH_KIB
        end = time.monotonic() + DEADLINE_S
        while self.fds() > self.fds_before and time.monotonic() < end:  # closed connections linger a moment
            time.sleep(0.05)
        assert self.fds() <= self.fds_before


class Bystander(threading.Thread):
    """Asks over and over until told to stop; `wrong` holds what was not a 200."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ended, self.wrong, self.served, self.peak_kib = server, threading.Event(), [], 0, 0

    def run(self):
        while True:
            try:
                status = self.server.call("/healthz")[0]
                self.wrong += [status] if status != 200 else []
                self.served += 1
            except OSError as error:
                self.wrong.append(error)
            self.peak_kib = max(self.peak_kib, self.server.rss_kib())
            if self.ended.wait(0.02):
                return

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.ended.set()
        self.join(DEADLINE_S)
        if kind is not None:
            return  # what went wrong first is worth more
        assert self.served > 0 and self.wrong == [], self.wrong
        assert self.peak_kib - self.server.rss_before < MOST_GROWTH_KIB


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Watched(tmp_path_factory.mktemp("floods"), "--http-message-timeout", "1s", "--http-idle-timeout", "30s")
    yield running
    assert running.stop() == 0


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name, value):
    """A header field that enters no table; values up to 126 bytes."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def head(more=b""):
    return (b"\x83\x86" + field(b":path", SHOULD_RATE_LIMIT) + field(b":authority", b"w") + field(b"content-type", b"application/grpc")
            + field(b"te", b"trailers") + more)


def frames(data):
    while len(data) >= 9:
        length = int.from_bytes(data[:3], "big")
        yield data[3], data[4], int.from_bytes(data[5:9], "big"), data[9:9 + length]
        data = data[9 + length:]


def goaway_codes(data):
    return [int.from_bytes(payload[4:8], "big") for kind, _, _, payload in frames(data) if kind == GOAWAY]


def flood(connection, pieces, reads=True):
    """Sends piece after piece until the server ends it; what came back, and how much was sent."""
    received, sent, pending = b"", 0, b""
    connection.setblocking(False)
    end = time.monotonic() + 3 * DEADLINE_S
    while sent < MOST_SENT and time.monotonic() < end:
        readable, writable, _ = select.select([connection] if reads else [], [connection], [], DEADLINE_S)
        try:
            if readable:
                part = connection.recv(65536)
                if not part:
                    return received, sent
                received += part
            if writable:
                pending = pending or next(pieces)
                size = connection.send(pending)
                pending, sent = pending[size:], sent + size
        except (BrokenPipeError, ConnectionResetError):
            return received, sent
    raise AssertionError(f"not stopped after {sent} bytes")


def forever(piece, count=200):
    while True:
        yield piece * count


def calls_taken_back(kind, flags, payload):
    stream = 1
    while True:
        out = b""
        for _ in range(200):
            out += frame(HEADERS, END_HEADERS, stream, head()) + frame(kind, flags, stream, payload)
            stream += 2
        yield out


OPEN_STREAM = frame(HEADERS, END_HEADERS, 1, head())
H2_FLOODS = {
    "rapid reset": (b"", lambda: calls_taken_back(RST_STREAM, 0, b"\0\0\0\x08")),
    "provoked reset": (b"", lambda: calls_taken_back(HEADERS, END_HEADERS, field(b"x", b"more to come"))),
    "CONTINUATION": (frame(HEADERS, 0, 1, head()), lambda: forever(frame(CONTINUATION, 0, 1, field(b"x", b"y" * 100)))),
    "empty CONTINUATION": (frame(HEADERS, 0, 1, head()), lambda: forever(frame(CONTINUATION, 0, 1))),
    "empty DATA": (OPEN_STREAM, lambda: forever(frame(DATA, 0, 1))),
    "SETTINGS": (b"", lambda: forever(frame(SETTINGS, 0, 0))),
    "PING": (b"", lambda: forever(frame(PING, 0, 0, b"12345678"))),
    "PRIORITY": (b"", lambda: forever(frame(PRIORITY, 0, 1, b"\0\0\0\x03\x10"))),
    "WINDOW_UPDATE": (OPEN_STREAM, lambda: forever(frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\x01"))),
}


@pytest.mark.parametrize("name", H2_FLOODS)
def test_http2_floods_end_in_goaway(server, name):
    opening, pieces = H2_FLOODS[name]
    with Bystander(server), server.connect("grpc") as connection:
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + opening)
        received, sent = flood(connection, pieces())
    assert ENHANCE_YOUR_CALM in goaway_codes(received), f"{sent} bytes sent, frames {[f[0] for f in frames(received)][-5:]}"
    server.expect_unharmed()


@pytest.mark.parametrize("name", ["rapid reset", "PING", "SETTINGS"])
def test_http2_floods_of_peers_that_do_not_read_are_cut(server, name):
    with Bystander(server), server.connect("grpc") as connection:
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
        flood(connection, H2_FLOODS[name][1](), reads=False)
    server.expect_unharmed()


def test_calls_without_end_on_many_connections_are_bounded(server):
    """Streams that are opened and left, on as many connections as a host has patience for."""
    connections = []
    with Bystander(server):
        for _ in range(50):
            connection = server.connect("grpc")
            opened = b"".join(frame(HEADERS, END_HEADERS, 2 * i + 1, head()) for i in range(100))
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + opened)
            connections.append(connection)
        assert server.rss_kib() - server.rss_before < MOST_GROWTH_KIB
        for connection in connections:
            connection.close()
    server.expect_unharmed()


def test_watchers_that_leave_are_forgotten(server):
    """Also one that only says that it will send no more."""
    watch = b"\x83\x86" + field(b":path", b"/grpc.health.v1.Health/Watch") + field(b"content-type", b"application/grpc")
    with Bystander(server):
        for leave in (socket.socket.close, lambda connection: connection.shutdown(socket.SHUT_WR)):
            with server.connect("grpc") as connection:
                connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, watch) + frame(DATA, END_STREAM, 1, bytes(5)))
                received = b""
                while b"\x08\x01" not in received:  # SERVING
                    received += connection.recv(65536)
                leave(connection)
                if connection.fileno() >= 0:
                    assert ends(connection) == b""
    server.expect_unharmed()


def ends(connection):
    """What the server still says before it ends the connection."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


STALLED = {
    "slow header": ("http", b"POST /v1/check HTTP/1.1\r\nHost: w\r\nContent-Le", b"HTTP/1.1 408"),
    "slow body": ("http", b"POST /v1/check HTTP/1.1\r\nHost: w\r\nContent-Length: 100\r\n\r\n{", b"HTTP/1.1 408"),
    "slow chunk": ("http", b"POST /v1/check HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", b"HTTP/1.1 408"),
    "admin": ("admin", b"GET /metrics HTTP/1.1\r\n", b"HTTP/1.1 408"),
    "half a preface": ("grpc", PREFACE[:10], b""),
    "half a frame": ("grpc", PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, head())[:20], b""),
    "half of the header fields": ("grpc", PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, head()), b""),
    "half a command": ("resp", b"*2\r\n$4\r\nECHO\r\n$10\r\nabc", b""),
    "half a SPOP frame": ("spop", b"\x00\x00\x00\x40\x01", b""),
}


@pytest.mark.parametrize("name", STALLED)
def test_messages_that_do_not_end_are_cut(server, name):
    listener, begun, answer = STALLED[name]
    with Bystander(server), server.connect(listener) as connection:
        connection.sendall(begun)
        assert answer in ends(connection)
    server.expect_unharmed()


def test_a_body_that_drips_is_cut_though_it_never_stops(server):
    """Bytes now and then do not buy more time."""
    with Bystander(server), server.connect("http") as connection:
        connection.sendall(b"POST /v1/check HTTP/1.1\r\nHost: w\r\nContent-Length: 60000\r\n\r\n")
        connection.settimeout(0.1)
        answer, drips = b"", 0
        while b"408" not in answer and drips < 10 * DEADLINE_S:
            drips += 1
            try:
                connection.send(b"{")
                answer += connection.recv(4096)
            except TimeoutError:
                pass
            except (BrokenPipeError, ConnectionResetError):
                break
        assert answer.startswith(b"HTTP/1.1 408")
    server.expect_unharmed()


GREEDY = {
    "HTTP": ("http", b"", b"GET /openapi.json HTTP/1.1\r\nHost: w\r\n\r\n"),
    "RESP": ("resp", b"", b"*2\r\n$7\r\nCOMMAND\r\n$4\r\nDOCS\r\n"),
    "gRPC": ("grpc", PREFACE + frame(SETTINGS, 0, 0), frame(PING, 0, 0, b"12345678")),
}


@pytest.mark.parametrize("name", GREEDY)
def test_peers_that_ask_and_do_not_read_are_cut(server, name):
    """What they do not take is not kept for them."""
    listener, opening, question = GREEDY[name]
    with Bystander(server), server.connect(listener) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(opening)
        flood(connection, forever(question), reads=False)
    server.expect_unharmed()


def message(size, flag=0, body=b""):
    return bytes([flag]) + struct.pack(">I", size) + body


GRPC_BROKEN = {
    "oversized": head(), "truncated": head(), "compressed": head(field(b"grpc-encoding", b"snappy")),
}
GRPC_BODIES = {"oversized": message(0xFFFFFFFF), "truncated": message(100, body=b"abc"), "compressed": message(3, 1, b"abc")}


@pytest.mark.parametrize("name", GRPC_BROKEN)
def test_broken_grpc_messages_get_a_status_and_the_connection_goes_on(server, name):
    with Bystander(server), server.connect("grpc") as connection:
        good = frame(HEADERS, END_HEADERS, 3, head()) + frame(DATA, END_STREAM, 3, message(6, body=b"\x0a\x04shop"))
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, GRPC_BROKEN[name])
                           + frame(DATA, END_STREAM, 1, GRPC_BODIES[name]) + good)
        received, ended = b"", set()
        while ended != {1, 3}:
            part = connection.recv(65536)
            assert part, f"closed; only {ended} ended"
            received += part
            ended |= {stream for kind, flags, stream, _ in frames(received) if kind == HEADERS and flags & END_STREAM}
    server.expect_unharmed()


def test_grpc_clients_are_told_what_is_wrong(server):
    """The same, as a real client sees it."""
    grpc = pytest.importorskip("grpc")
    path = SHOULD_RATE_LIMIT.decode()

    def code(request, metadata=(), **options):
        with grpc.insecure_channel(server.addresses["grpc"], **options) as channel:
            with pytest.raises(grpc.RpcError) as failed:
                channel.unary_unary(path)(request, timeout=DEADLINE_S, metadata=metadata)
            return failed.value.code()

    with Bystander(server):
        assert code(b"x" * (8 << 20)) == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert code(b"x" * 4096, compression=grpc.Compression.Gzip) == grpc.StatusCode.UNIMPLEMENTED
        assert code(b"\xff" * 20) == grpc.StatusCode.INVALID_ARGUMENT
        bomb = [(f"x-{i}", "v" * 4000) for i in range(64)]
        assert code(b"", metadata=bomb) in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN,
                                            grpc.StatusCode.UNAVAILABLE)
    server.expect_unharmed()


RESP_ATTACKS = {
    "too many words": b"*2147483647\r\n",
    "more than a number": b"*99999999999999999999\r\n",
    "negative bulk": b"*1\r\n$-5\r\n",
    "huge bulk": b"*1\r\n$2000000000\r\n",
    "inline without end": b"x" * 70_000,
    "a key of a megabyte": b"*5\r\n$11\r\nCL.THROTTLE\r\n$1048576\r\n" + b"k" * 1000,
    "not the protocol": b"*1\r\n+OK\r\n",
}


@pytest.mark.parametrize("name", RESP_ATTACKS)
def test_resp_attacks_end_with_an_error(server, name):
    with Bystander(server), server.connect("resp") as connection:
        connection.sendall(RESP_ATTACKS[name])
        assert ends(connection).startswith(b"-ERR Protocol error: ")
    server.expect_unharmed()


def test_strangers_have_small_bounds_before_they_log_in(tmp_path):
    """What a client may send after AUTH is too much before it."""
    (tmp_path / "password").write_text("s3cret\n")
    guarded = Watched(tmp_path, "--resp-password-file", str(tmp_path / "password"))
    try:
        long_echo = b"*2\r\n$4\r\nECHO\r\n$20000\r\n" + b"e" * 20_000 + b"\r\n"
        with Bystander(guarded):
            for attack in (long_echo, b"*1000\r\n", b"x" * 5_000):
                with guarded.connect("resp") as connection:
                    connection.sendall(attack)
                    assert ends(connection).startswith(b"-ERR Protocol error: "), attack[:20]
            with guarded.connect("resp") as connection:
                connection.sendall(b"*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\n" + long_echo)
                answer = b""
                while len(answer) < 20_000:
                    part = connection.recv(65536)
                    assert part, answer[:100]
                    answer += part
            assert answer.startswith(b"+OK\r\n$20000\r\neee")
        guarded.expect_unharmed()
    finally:
        guarded.stop()


def spent(server, **attributes):
    return server.call("/v1/check", {"attributes": attributes})


def test_odd_keys_are_refused_with_the_member_named(server):
    with Bystander(server):
        for attributes, member in (({"tenant": "x" * (1 << 20), "user": "u"}, None), ({"tenant": "x" * 5000, "user": "u"}, "attributes.tenant"),
                                   ({"tenant": "a\0b", "user": "u"}, "attributes.tenant"), ({"t" * 200: "x"}, "attributes")):
            status, body = spent(server, **attributes)
            assert status in (400, 413), (status, body)
            problem = json.loads(body)
            assert member is None or member in problem["detail"], problem
        with server.connect("http") as connection:
            body = b'{"attributes":{"tenant":"\xff\xfe","user":"u"}}'
            connection.sendall(b"POST /v1/check HTTP/1.1\r\nHost: w\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert ends(connection).startswith(b"HTTP/1.1 400")
        port = server.addresses["resp"].rsplit(":", 1)[1]
        assert "-ERR" in weir_check(server, b"x" * 5000)
        assert "PONG" in subprocess.run(["redis-cli", "-p", port, "PING"], capture_output=True, text=True, timeout=20).stdout
    server.expect_unharmed()


def weir_check(server, tenant):
    words = b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in (b"WEIR.CHECK", b"tenant", tenant, b"user", b"resp"))
    with server.connect("resp") as connection:
        connection.sendall(b"*5\r\n" + words)
        return connection.recv(65536).decode()


def test_bytes_that_are_no_text_are_subjects_of_their_own_in_the_redis_protocol(server):
    """Its values are bytes; NUL and invalid UTF-8 neither end a value nor merge two."""
    values = [b"a\0b", b"a\0c", b"a", b"\xff\xfe", b"\xff", b"\xef\xbf\xbd"]
    assert ["limit_exceeded" in weir_check(server, value) for value in values] == [False] * len(values)
    assert ["limit_exceeded" in weir_check(server, value) for value in values] == [True] * len(values)


def test_delimiters_in_keys_do_not_make_two_subjects_one(server):
    """One request each, so a mistaken subject would be denied."""
    pairs = [("a", "b:c"), ("a:b", "c"), ("a", "b|c"), ("a|b", "c"), ("a b", "c"), ("a", "b c"), ("{a}", "b"), ("a", "{b}"), ("a,b", ""),
             ("a", ",b"), ("a\u0001", "b"), ("a", "\u0001b"), ("a\r\nb", "c"), ("a", "\r\nb\r\nc"), ("A", "b"), ("a", "b")]
    assert [spent(server, tenant=tenant, user=user)[0] for tenant, user in pairs] == [200] * len(pairs)
    assert [spent(server, tenant=tenant, user=user)[0] for tenant, user in pairs] == [429] * len(pairs)
