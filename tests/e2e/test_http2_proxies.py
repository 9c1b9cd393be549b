"""Weir's gRPC behind real nginx, HAProxy and Caddy, which are HTTP/2 clients of their own making."""

import socket
import subprocess
import threading
import time

import grpc
import pytest
from certificates import Authority
from grpc_bytes import (CHECK, NOT_SERVING, OK, OVER_LIMIT, RATE_LIMIT, REFLECTION, SERVING, WATCH, field, file_request, framed,
                        rate_limit_request)
from h2_client import H2Client
from test_cli import DEADLINE_S, Server
from test_gateways import free_port

RULES = "version: 1\nrules:\n  - {id: per-user, per: [user], algorithm: fixed-window, limit: 2, window: 3650d}\n"
NGINX = """
user root; daemon off; pid nginx.pid; error_log error.log;
events {}
http {
    access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
    upstream weir { %(upstreams)s keepalive 8; }
    server { listen 127.0.0.1:%(port)d http2; location / { grpc_pass %(scheme)s://weir; %(tls)s } }
}
"""
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    retries 3
    option redispatch 1
frontend calls
    bind 127.0.0.1:%(port)d proto h2
    default_backend weir
backend weir
%(upstreams)s
"""
CADDY = """
{
    admin off
    auto_https off
    default_bind 127.0.0.1
    servers {
        protocols h1 h2c
    }
}
http://127.0.0.1:%(port)d {
    reverse_proxy %(upstreams)s {
        flush_interval -1
        %(tls)s
    }
}
"""


class Proxy:
    """A proxy before one Weir or more."""

    def __init__(self, name, folder, upstreams, authority=None):
        text, words = getattr(self, name)(folder, upstreams, authority)
        for _ in range(5):  # another process may take a port that was free
            self.port = free_port()
            (folder / "proxy.conf").write_text(text % {"port": self.port, **self.parts})
            with open(folder / "proxy.log", "w") as log:
                environment = {"HOME": str(folder), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
                self.process = subprocess.Popen([*words, str(folder / "proxy.conf")], env=environment, stdout=log, stderr=log)
            if self.listens():
                return
        raise AssertionError((folder / "proxy.log").read_text())

    def listens(self):
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self.process.poll() is None
            except OSError:
                time.sleep(0.02)
        self.process.kill()
        return False

    def nginx(self, folder, upstreams, authority):
        tls = f"grpc_ssl_trusted_certificate {authority}; grpc_ssl_verify on; grpc_ssl_name localhost;" if authority else ""
        self.parts = {"upstreams": " ".join(f"server {each};" for each in upstreams), "scheme": "grpcs" if authority else "grpc", "tls": tls}
        return NGINX, ["nginx", "-p", str(folder), "-c"]

    def haproxy(self, folder, upstreams, authority):
        how = f"ssl ca-file {authority} verify required verifyhost localhost alpn h2" if authority else "proto h2"
        self.parts = {"upstreams": "\n".join(f"    server weir{i} {each} {how}" for i, each in enumerate(upstreams))}
        return HAPROXY, ["haproxy", "-db", "-f"]

    def caddy(self, folder, upstreams, authority):
        trust = f"transport http {{\n versions 2\n tls\n tls_trusted_ca_certs {authority}\n tls_server_name localhost\n }}"
        self.parts = {"upstreams": " ".join(f"{'https' if authority else 'h2c'}://{each}" for each in upstreams), "tls": trust if authority else ""}
        return CADDY, ["caddy", "run", "--adapter", "caddyfile", "--config"]

    def channel(self):
        return grpc.insecure_channel(f"127.0.0.1:{self.port}")

    def stop(self):
        self.process.terminate()
        self.process.wait(DEADLINE_S)


@pytest.fixture
def serve(tmp_path):
    running = []

    def begin(*flags):
        (tmp_path / "rules.yaml").write_text(RULES)
        ports = [word for name in ("http", "admin", "grpc") for word in (f"--listen-{name}", "127.0.0.1:0")]
        running.append(Server("--rules", str(tmp_path / "rules.yaml"), *ports, *flags, log=tmp_path / f"log-{len(running)}"))
        return running[-1]

    yield begin
    for server in running:
        assert server.stop() == 0


@pytest.fixture(params=["nginx", "haproxy", "caddy"])
def name(request):
    return request.param


@pytest.fixture
def put_before(name, tmp_path):
    proxies = []

    def put(*servers, **options):
        proxies.append(Proxy(name, tmp_path, [server.await_event("listening")["grpc"] for server in servers], **options))
        return proxies[-1]

    yield put
    for proxy in proxies:
        proxy.stop()


@pytest.mark.parametrize("transport", ["plain", "tls"])
def test_answers_errors_and_trailers_come_through(serve, put_before, tmp_path, transport):
    if transport == "tls":
        authority = Authority(tmp_path, "authority")
        certificate, key = authority.sign("weir")
        proxy = put_before(serve("--tls-cert", str(certificate), "--tls-key", str(key)), authority=authority.certificate)
    else:
        proxy = put_before(serve())
    with proxy.channel() as channel:
        ask = channel.unary_unary(RATE_LIMIT)
        answers = [ask.with_call(rate_limit_request("ann"), timeout=DEADLINE_S) for _ in range(3)]
        assert [answer[:2] for answer, _ in answers] == [OK, OK, OVER_LIMIT]
        assert {call.code() for _, call in answers} == {grpc.StatusCode.OK}
        many = [ask.future(rate_limit_request(f"one-of-many-{i}"), timeout=DEADLINE_S) for i in range(300)]
        assert {each.result()[:2] for each in many} == {OK}
        long = [(f"x-{i}", "v" * 900) for i in range(12)]
        assert channel.unary_unary(CHECK)(b"", timeout=DEADLINE_S, metadata=long) == SERVING
    # Not gRPC's client: Caddy may send the status in headers that do not end the stream, which that one does not accept.
    with H2Client(f"127.0.0.1:{proxy.port}") as client:
        for path, message, status, text in ((RATE_LIMIT, b"\xff", "3", "not a RateLimitRequest"),
                                            ("/no.Such/Method", b"", "12", "unknown service or method"),
                                            (CHECK, field(1, b"nobody"), "5", "unknown service")):
            fields = client.call(path, framed(message)).fields
            assert (fields[":status"], fields["grpc-status"], fields["grpc-message"]) == ("200", status, text)


def test_long_streams_come_through_whole(serve, put_before):
    with put_before(serve()).channel() as channel:
        ask = channel.stream_stream(REFLECTION)
        answers = list(ask((file_request() for _ in range(600)), timeout=DEADLINE_S))
        assert len(answers) == 600 and len(set(answers)) == 1
        assert sum(map(len, answers)) > 1 << 20, "more than any window at the start"
        # A message that fills many frames; it comes back inside its answer.
        large = b"\x1a\x80\x80\x30" + b"x" * (768 << 10)
        assert large in next(iter(ask(iter([large]), timeout=DEADLINE_S)))


def test_watchers_that_are_cut_leave_their_place_to_others(serve, put_before):
    with put_before(serve()).channel() as channel:
        watch = channel.unary_stream(WATCH)
        for _ in range(300):  # more than a connection may have at a time
            stream = watch(b"", timeout=DEADLINE_S)
            assert next(stream) == SERVING
            stream.cancel()
        assert channel.unary_unary(CHECK)(b"", timeout=DEADLINE_S) == SERVING


def test_watchers_hear_that_the_server_leaves(serve, put_before):
    server = serve()
    with put_before(server).channel() as channel:
        watchers = [channel.unary_stream(WATCH)(b"", timeout=DEADLINE_S) for _ in range(4)]
        assert [next(each) for each in watchers] == [SERVING] * 4
        server.process.terminate()
        for watcher in watchers:
            assert next(watcher) == NOT_SERVING
            with pytest.raises(grpc.RpcError) as ended:
                next(watcher)
            assert (ended.value.code(), ended.value.details()) == (grpc.StatusCode.UNAVAILABLE, "the server is shutting down")
        assert server.process.wait(DEADLINE_S) == 0


class Asking(threading.Thread):
    """Asks over and over until told to stop; `lost` holds what was not answered."""

    def __init__(self, channel):
        super().__init__(daemon=True)
        self.ask, self.ended, self.answered, self.lost = channel.unary_unary(CHECK), threading.Event(), 0, []

    def run(self):
        while not self.ended.is_set():
            try:
                self.ask(b"", timeout=DEADLINE_S)
                self.answered += 1
            except grpc.RpcError as error:
                # REFUSED_STREAM says that the call was not looked at: a slow proxy sent it behind the last GOAWAY.
                if "RST_STREAM with error code 7" not in error.details():
                    self.lost.append((error.code(), error.details()))

    def await_more(self, count):
        wanted, end = self.answered + count, time.monotonic() + DEADLINE_S
        while self.answered < wanted:
            assert time.monotonic() < end, self.lost
            time.sleep(0.01)


@pytest.mark.parametrize("name", ["nginx", "haproxy"])  # Caddy 2.6 repeats a request without its body
def test_no_call_is_lost_while_one_of_two_servers_leaves(serve, put_before):
    leaving, staying = serve(), serve()
    with put_before(leaving, staying).channel() as channel:
        threads = [Asking(channel) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.await_more(50)
        leaving.process.terminate()
        assert leaving.process.wait(DEADLINE_S) == 0
        for thread in threads:
            thread.await_more(50)
            thread.ended.set()
        for thread in threads:
            thread.join(DEADLINE_S)
        assert [thread.lost for thread in threads] == [[]] * 4
