"""Every protocol on a Unix socket, with real clients: who may connect, what is left behind."""

import http.server
import os
import pathlib
import signal
import socket
import stat
import subprocess
import threading
import time
import urllib.error
import urllib.request

import grpc
import pytest
from test_cli import Server, rules_text, weir

HAPROXY = pathlib.Path(__file__).parents[2] / "deploy" / "gateways" / "haproxy"
LISTENERS = ("http", "admin", "grpc", "resp", "spop")


@pytest.fixture
def serve(tmp_path):
    running = []

    def begin(*flags, rules=rules_text(2)):
        (tmp_path / "rules.yaml").write_text(rules)
        listen = [word for name in LISTENERS for word in (f"--listen-{name}", f"unix:{tmp_path / name}.sock")]
        running.append(Server("--rules", str(tmp_path / "rules.yaml"), *listen, *flags, log=tmp_path / f"log-{len(running)}"))
        return running[-1]

    yield begin
    for server in running:
        server.stop()


def redis_cli(path, *words):
    return subprocess.run(["redis-cli", "-s", str(path), *words], capture_output=True, text=True, timeout=20).stdout


def curl(path, url):
    return subprocess.run(["curl", "-sS", "--unix-socket", str(path), url], capture_output=True, text=True, timeout=20).stdout


def test_every_listener_answers_on_its_socket(serve, tmp_path):
    server = serve()
    assert server.await_event("listening")["resp"] == f"unix:{tmp_path}/resp.sock"
    assert redis_cli(tmp_path / "resp.sock", "PING") == "PONG\n"
    assert [redis_cli(tmp_path / "resp.sock", "WEIR.CHECK", "tenant", "acme").split()[1] for _ in range(3)] == ["1", "1", "0"]
    assert curl(tmp_path / "http.sock", "http://weir/healthz") == '{"status":"ok"}'
    assert "weir_" in curl(tmp_path / "admin.sock", "http://weir/metrics")
    with grpc.insecure_channel(f"unix:{tmp_path}/grpc.sock") as channel:
        assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10) == b"\x08\x01"


class App(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_haproxy_asks_over_a_unix_socket(serve, tmp_path):
    serve(rules="version: 1\nrules:\n  - {id: per-key, per: [api_key], algorithm: fixed-window, limit: 1, window: 3650d}\n")
    app = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
    threading.Thread(target=app.serve_forever, daemon=True).start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = dict(os.environ, WEIR_PUBLIC_BIND=f"127.0.0.1:{port}", WEIR_APP=f"127.0.0.1:{app.server_port}",
                       WEIR_SPOP=f"unix@{tmp_path}/spop.sock", WEIR_SPOE_CONF=str(HAPROXY / "spoe.conf"))
    haproxy = subprocess.Popen(["haproxy", "-db", "-f", str(HAPROXY / "haproxy.cfg")], env=environment, stderr=subprocess.DEVNULL)

    def get(key):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"x-api-key": key})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.headers

    try:
        for turn in range(200):  # HAProxy starts, and its first connection to the agent may take longer than its 20 ms
            try:
                if "RateLimit" in get(f"warm-up-{turn}")[1]:
                    break
            except urllib.error.URLError:
                pass
            time.sleep(0.05)
        assert get("k")[0] == 200
        status, headers = get("k")
        assert status == 429 and int(headers["Retry-After"]) > 0
    finally:
        haproxy.kill()
        haproxy.wait()
        app.shutdown()
        app.server_close()


@pytest.mark.parametrize("mode", ["0600", "0660", "0666"])
def test_the_files_permissions_say_who_may_connect(serve, tmp_path, mode):
    old = os.umask(0)  # whatever the umask would leave open
    try:
        serve(*([] if mode == "0600" else ["--listen-unix-mode", mode]))
    finally:
        os.umask(old)
    for name in LISTENERS:
        found = os.stat(tmp_path / f"{name}.sock")
        assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == int(mode, 8), name
    assert weir("serve", "--listen-unix-mode", "777").returncode == 2


def test_a_file_left_behind_is_replaced_and_a_clean_end_leaves_none(serve, tmp_path):
    server = serve()
    server.process.send_signal(signal.SIGKILL)
    server.process.wait(20)
    assert (tmp_path / "resp.sock").exists()
    second = serve()
    assert redis_cli(tmp_path / "resp.sock", "PING") == "PONG\n"
    assert second.stop() == 0
    assert [name for name in LISTENERS if (tmp_path / f"{name}.sock").exists()] == []


def test_a_socket_in_use_and_a_file_that_is_none_are_left_alone(serve, tmp_path):
    serve()
    off = [word for name in LISTENERS if name != "resp" for word in (f"--listen-{name}", "off")]
    done = weir("serve", *off, "--listen-resp", f"unix:{tmp_path}/resp.sock")
    assert done.returncode == 3 and "another process listens there" in done.stderr
    assert redis_cli(tmp_path / "resp.sock", "PING") == "PONG\n"
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    done = weir("serve", *off, "--listen-resp", f"unix:{precious}")
    assert done.returncode == 3 and "exists and is not a socket" in done.stderr
    assert precious.read_text() == "keep me"
