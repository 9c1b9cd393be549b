"""TLS and mTLS on every listener, with clients that were not made for Weir."""

import shutil
import signal
import socket
import ssl
import subprocess

import grpc
import pytest
from certificates import Authority
from test_cli import Server, rules_text, weir

LISTENERS = ("http", "grpc", "resp", "spop", "admin")
HEALTH = "/grpc.health.v1.Health/Check"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def files(authority):
    """Everybody's certificate and key, by name."""
    stranger = Authority(authority.folder, "stranger")
    return {"server": authority.sign("server"), "client": authority.sign("client"), "expired": authority.sign("expired", days=-1),
            "other": stranger.sign("other"), "none": None}


@pytest.fixture
def serve(tmp_path, files):
    running = []

    def begin(*flags, certificate=files["server"]):
        (tmp_path / "rules.yaml").write_text(rules_text(100))
        listen = [word for name in LISTENERS for word in (f"--listen-{name}", "127.0.0.1:0")]
        tls = ["--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1])]
        running.append(Server("--rules", str(tmp_path / "rules.yaml"), *listen, *tls, *flags, log=tmp_path / f"log-{len(running)}"))
        return running[-1]

    yield begin
    for server in running:
        assert server.stop() == 0


class Client:
    """Asks each listener with a client certificate or none; True when it is answered."""

    def __init__(self, server, authority, identity):
        self.where = server.await_event("listening")
        self.authority, self.identity = authority.certificate, identity

    def files(self, certificate, key):
        return [] if self.identity is None else [certificate, str(self.identity[0]), key, str(self.identity[1])]

    def curl(self, listener, path):
        words = ["curl", "-sS", "--cacert", str(self.authority), *self.files("--cert", "--key"), f"https://{self.where[listener]}{path}"]
        return subprocess.run(words, capture_output=True, text=True, timeout=20).stdout

    def http(self):
        return self.curl("http", "/healthz") == '{"status":"ok"}'

    def admin(self):
        return "weir_" in self.curl("admin", "/metrics")

    def grpc(self):
        chain, key = (None, None) if self.identity is None else (each.read_bytes() for each in self.identity)
        credentials = grpc.ssl_channel_credentials(self.authority.read_bytes(), key, chain)
        with grpc.secure_channel(self.where["grpc"], credentials) as channel:
            try:
                return channel.unary_unary(HEALTH)(b"", timeout=10) == b"\x08\x01"
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error
                return False

    def resp(self):
        port = self.where["resp"].rsplit(":", 1)[1]
        words = ["redis-cli", "-h", "127.0.0.1", "-p", port, "--tls", "--cacert", str(self.authority), *self.files("--cert", "--key"), "PING"]
        return subprocess.run(words, capture_output=True, text=True, timeout=20).stdout == "PONG\n"

    def spop(self):
        context = ssl.create_default_context(cafile=str(self.authority))
        if self.identity is not None:
            context.load_cert_chain(*map(str, self.identity))
        host, port = self.where["spop"].rsplit(":", 1)

        def pair(name, value):
            return bytes([len(name)]) + name + b"\x08" + bytes([len(value)]) + value

        hello = b"\x01\0\0\0\x01\0\0" + pair(b"supported-versions", b"2.0") + b"\x0emax-frame-size\x03\xf0\xf0\x06" + pair(b"capabilities", b"")
        try:
            with context.wrap_socket(socket.create_connection((host, int(port)), timeout=10), server_hostname=host) as connection:
                connection.sendall(len(hello).to_bytes(4, "big") + hello)
                return connection.recv(4096)[4] == 101
        except (ssl.SSLError, ConnectionError, IndexError):
            return False

    def answered(self):
        return {name for name in LISTENERS if getattr(self, name)()}


def test_every_listener_speaks_tls(serve, authority):
    server = serve()
    assert Client(server, authority, None).answered() == set(LISTENERS)
    done = subprocess.run(["curl", "-sS", f"http://{server.http}/healthz"], capture_output=True, text=True, timeout=20)
    assert done.returncode != 0, "plain HTTP is not answered"


@pytest.mark.parametrize("who", ["client", "none", "other", "expired"])
def test_only_a_good_client_certificate_is_let_in_anywhere(serve, authority, files, who):
    server = serve("--tls-client-ca", str(authority.certificate))
    assert Client(server, authority, files[who]).answered() == (set(LISTENERS) if who == "client" else set())


def test_listeners_choose_tls_and_client_certificates_for_themselves(serve, authority, files):
    server = serve("--tls-client-ca", str(authority.certificate), "--tls-listeners", "http,admin", "--tls-client-listeners", "admin")
    assert Client(server, authority, None).answered() == {"http"}
    assert Client(server, authority, files["client"]).answered() == {"http", "admin"}
    port = server.await_event("listening")["resp"].rsplit(":", 1)[1]
    assert subprocess.run(["redis-cli", "-p", port, "PING"], capture_output=True, text=True, timeout=20).stdout == "PONG\n"


def test_grpc_agrees_on_h2_and_refuses_other_protocols(serve, authority):
    host, port = serve().await_event("listening")["grpc"].rsplit(":", 1)
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.set_alpn_protocols(["h2"])
    with context.wrap_socket(socket.create_connection((host, int(port)), timeout=10), server_hostname=host) as connection:
        assert connection.selected_alpn_protocol() == "h2" and connection.version() in ("TLSv1.2", "TLSv1.3")
    context.set_alpn_protocols(["http/1.1"])
    with pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(socket.create_connection((host, int(port)), timeout=10), server_hostname=host)


def serial_of(server, authority):
    host, port = server.http.rsplit(":", 1)
    context = ssl.create_default_context(cafile=str(authority.certificate))
    with context.wrap_socket(socket.create_connection((host, int(port)), timeout=10), server_hostname=host) as connection:
        return connection.getpeercert()["serialNumber"]


def test_sighup_takes_a_new_certificate_and_keeps_the_old_one_over_a_bad_file(serve, authority, tmp_path):
    certificate, key = tmp_path / "crt.pem", tmp_path / "key.pem"

    def put(name):
        made = authority.sign(name)
        shutil.copy(made[0], certificate)
        shutil.copy(made[1], key)

    put("first")
    server = serve(certificate=(certificate, key))
    first = serial_of(server, authority)
    put("second")
    server.process.send_signal(signal.SIGHUP)
    server.await_event("tls_loaded")
    second = serial_of(server, authority)
    assert second != first
    certificate.write_text("no certificate\n")
    server.process.send_signal(signal.SIGHUP)
    assert str(certificate) in server.await_event("tls_rejected")["error"]
    assert serial_of(server, authority) == second


def test_invalid_settings_are_reported_before_anything_listens(tmp_path, files, authority):
    certificate, key = map(str, files["server"])

    def refused(*flags):
        done = weir("serve", "--listen-http", "127.0.0.1:0", "--listen-admin", "off", *flags)
        assert done.returncode == 2, done
        return done.stderr

    assert "tls.key: is empty, expected the private key of tls.cert" in refused("--tls-cert", certificate)
    assert "tls.cert: is empty" in refused("--tls-key", key)
    assert "tls.client_ca: is set without tls.cert" in refused("--tls-client-ca", certificate)
    assert "tls.listeners: has 'smtp', expected http, grpc" in refused("--tls-cert", certificate, "--tls-key", key, "--tls-listeners", "smtp")
    assert "private key" in refused("--tls-cert", certificate, "--tls-key", str(files["client"][1]))
    assert "/absent.pem" in refused("--tls-cert", str(tmp_path / "absent.pem"), "--tls-key", key)
