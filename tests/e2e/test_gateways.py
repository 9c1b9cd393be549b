"""Real nginx and Caddy with the files of deploy/gateways, and Traefik's files as far as they can be checked without it."""

import http.client
import http.server
import json
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest
from test_cli import Server

GATEWAYS = pathlib.Path(__file__).parents[2] / "deploy" / "gateways"
RULES = """
version: 1
rules:
  - {id: per-key, per: [api_key], algorithm: fixed-window, limit: 2, window: 3650d}
  - {id: per-ip, per: [ip], match: {path: "/by-ip*"}, algorithm: fixed-window, limit: 1, window: 3650d}
  - {id: posts, match: {method: POST, path: /form, host: shop.example, scheme: http}, algorithm: fixed-window, limit: 1, window: 3650d}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class App(http.server.BaseHTTPRequestHandler):
    """The application: remembers what reached it."""

    protocol_version = "HTTP/1.1"
    seen = []

    def do_GET(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        App.seen.append((self.command, self.path, body, dict(self.headers)))
        self.send_response(403 if self.path == "/forbidden" else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"ok")

    do_POST = do_HEAD = do_GET

    def log_message(self, *_):
        pass


def wait_for(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing listens on {port}")


class Gateway:
    """A gateway before an application, and perhaps Weir beside it."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.ports = {"gateway": free_port(), "weir": free_port()}
        self.app = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
        self.ports["app"] = self.app.server_port
        App.seen = []
        threading.Thread(target=self.app.serve_forever, daemon=True).start()
        self.process = self.weir = None

    def configuration(self, file, change):
        text = change((GATEWAYS / self.name / file).read_text())
        text = text.replace("127.0.0.1:8080", f"127.0.0.1:{self.ports['weir']}")
        text = text.replace("127.0.0.1:8001", f"127.0.0.1:{self.ports['app']}")
        text = text.replace("127.0.0.1:8000", f"127.0.0.1:{self.ports['gateway']}")
        text = text.replace("localhost:8000", f"localhost:{self.ports['gateway']}")
        (self.folder / file).write_text(text)
        return str(self.folder / file)

    def start(self, change=lambda text: text):
        if self.name == "nginx":
            scratch = "user root; daemon off; pid nginx.pid; error_log error.log;"
            temporary = "".join(f"{kind}_temp_path {kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            file = self.configuration("nginx.conf", lambda text: change(text).replace("http {", "http { access_log off; " + temporary, 1))
            words = ["nginx", "-p", str(self.folder), "-c", file, "-g", scratch]
        else:
            file = self.configuration("Caddyfile", lambda text: change(text).replace(
                "http://127.0.0.1:8000, ", "http://127.0.0.1:8000, http://shop.example:8000, ").replace("shop.example:8000", f"shop.example:{self.ports['gateway']}"))
            words = ["caddy", "run", "--adapter", "caddyfile", "--config", file]
        environment = {"HOME": str(self.folder), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        with open(self.folder / "gateway.log", "w") as log:
            self.process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
        wait_for(self.ports["gateway"])

    def start_weir(self, *flags):
        (self.folder / "rules.yaml").write_text(RULES)
        self.weir = Server("--listen-http", f"127.0.0.1:{self.ports['weir']}", "--listen-admin", "off", "--rules",
                           str(self.folder / "rules.yaml"), *flags, log=self.folder / "weir.log")

    def ask(self, path="/", method="GET", body=None, **headers):
        # From an address of its own: 127.0.0.1 is the gateway's, and so a trusted proxy's.
        connection = http.client.HTTPConnection("127.0.0.1", self.ports["gateway"], timeout=10, source_address=("127.0.0.2", 0))
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=body, headers=fields, encode_chunked=isinstance(body, list))
        response = connection.getresponse()
        answer = response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        connection.close()
        return answer

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(20)
        if self.weir:
            self.weir.stop()
        self.app.shutdown()
        self.app.server_close()


@pytest.fixture(params=["nginx", "caddy"])
def gateway(request, tmp_path):
    made = Gateway(request.param, tmp_path)
    yield made
    made.stop()


def test_allowed_requests_reach_the_application_and_denied_ones_do_not(gateway):
    gateway.start_weir()
    gateway.start()
    for left in (1, 0):
        status, fields, body = gateway.ask("/items?x=1", X_Api_Key="alice")
        assert (status, body) == (200, b"ok")
        assert fields["ratelimit-policy"] == '"per-key";q=2;w=315360000'
        assert fields["ratelimit"].startswith(f'"per-key";r={left}')
        assert "retry-after" not in fields
    status, fields, body = gateway.ask("/items?x=1", X_Api_Key="alice")
    assert status == 429
    assert int(fields["retry-after"]) >= 1
    assert fields["ratelimit"].startswith('"per-key";r=0;t=')
    assert fields["content-type"] == "application/problem+json"
    assert fields["cache-control"] == "no-store"
    assert json.loads(body)["type"].endswith("#quota-exceeded")
    assert [(method, path) for method, path, _, _ in App.seen] == [("GET", "/items?x=1")] * 2
    assert gateway.ask("/items", X_Api_Key="bob")[0] == 200


def test_requests_that_no_rule_applies_to_carry_no_fields(gateway):
    gateway.start_weir()
    gateway.start()
    for headers in ({}, {"RateLimit": '"mine";r=1', "RateLimit_Policy": '"mine";q=1'}):
        status, fields, _ = gateway.ask("/free", **headers)
        assert status == 200
        assert "ratelimit" not in fields and "ratelimit-policy" not in fields


def test_the_address_is_the_one_that_the_gateway_saw(gateway):
    gateway.start_weir()
    gateway.start()
    assert gateway.ask("/by-ip")[0] == 200
    for lie in ({"X_Forwarded_For": "203.0.113.1"}, {"X_Real_IP": "203.0.113.2"}, {"Forwarded": "for=203.0.113.3"}):
        assert gateway.ask("/by-ip", **lie)[0] == 429, lie


def test_a_client_cannot_say_that_it_asked_for_something_else(gateway):
    gateway.start_weir()
    gateway.start()
    assert gateway.ask("/by-ip/1")[0] == 200
    for name in ("X_Forwarded_Uri", "X_Original_URI", "X_Original_URL"):
        assert gateway.ask("/by-ip/1", **{name: "/cheap"})[0] == 429, name
    assert gateway.ask("/by-ip/1", X_Forwarded_Method="PUT", X_Original_Method="PUT")[0] == 429


def test_methods_bodies_and_hosts_come_through(gateway):
    gateway.start_weir()
    gateway.start()
    form = dict(method="POST", Host=f"Shop.Example:{gateway.ports['gateway']}")
    status, _, _ = gateway.ask("/form", body=b"x" * 300_000, **form)
    assert status == 200
    assert [(seen[0], len(seen[2])) for seen in App.seen] == [("POST", 300_000)]
    assert gateway.ask("/form", body=b"x", **form)[0] == 429
    assert gateway.ask("/form", body=[b"chunk", b"ed"], Transfer_Encoding="chunked", **form)[0] == 429
    assert gateway.ask("/elsewhere", body=[b"chunk", b"ed"], Transfer_Encoding="chunked", **form)[0] == 200
    assert App.seen[-1][2] == b"chunked"
    assert gateway.ask("/x", method="HEAD")[0] == 200
    assert gateway.ask("/forbidden")[0] == 403, "the application's own answer stays its own"


def test_keys_that_are_not_accepted_and_requests_that_cannot_be_read(gateway, tmp_path):
    (tmp_path / "revoked").write_text("sk_leaked\n")
    gateway.start_weir("--identity-revoked-keys-file", str(tmp_path / "revoked"))
    gateway.start()
    assert gateway.ask("/x", X_Api_Key="sk_leaked")[0] == 401
    assert gateway.ask("/x", X_Api_Key="k" * 4097)[0] == 400
    assert App.seen == []
    assert gateway.ask("/x", RateLimit="mine", X_Api_Key="sk_fine")[1]["ratelimit"].startswith('"per-key"')


def test_without_weir_requests_go_through(gateway):
    gateway.start()
    assert gateway.ask("/a", X_Api_Key="alice")[0] == 200
    status, fields, _ = gateway.ask("/b", method="POST", body=b"hello", X_Api_Key="alice")
    assert status == 200 and "ratelimit" not in fields
    assert [(seen[0], seen[1], seen[2]) for seen in App.seen] == [("GET", "/a", b""), ("POST", "/b", b"hello")]


def fail_closed(name):
    """The change that the comments of the file, and docs/, describe."""
    if name == "nginx":
        return lambda text: text.replace("return 204;", "return 403;")
    return lambda text: re.sub(r"\thandle_errors \{.*?\n\t\}\n", "", text, flags=re.S)


def test_without_weir_the_variant_that_fails_closed_refuses(gateway):
    gateway.start(fail_closed(gateway.name))
    assert gateway.ask("/a", X_Api_Key="alice")[0] == {"nginx": 503, "caddy": 502}[gateway.name]
    assert App.seen == []
    gateway.start_weir()
    assert [gateway.ask("/a", X_Api_Key="alice")[0] for _ in range(3)] == [200, 200, 429]


def test_a_store_that_is_away_denies_where_the_rule_says_so(gateway, tmp_path):
    """`on_store_failure: deny` is a denial by Weir; a gateway that fails open must not override it."""
    text = RULES.replace("window: 3650d}", "window: 3650d, on_store_failure: deny}")
    key = tmp_path / "hash-key"
    gateway.start_weir("--store", f"redis://127.0.0.1:{free_port()}", "--hash-key-file", str(key))
    (tmp_path / "rules.yaml").write_text(text)
    gateway.weir.await_event("rules_loaded", 2)
    gateway.start()
    status, fields, _ = gateway.ask("/a", X_Api_Key="alice")
    assert status == 503 and fields["content-type"] == "application/problem+json"
    assert App.seen == []


def test_traefiks_files_are_what_traefik_reads():
    yaml = pytest.importorskip("yaml")
    static = yaml.safe_load((GATEWAYS / "traefik" / "traefik.yml").read_text())
    dynamic = yaml.safe_load((GATEWAYS / "traefik" / "dynamic.yml").read_text())
    assert (GATEWAYS / "traefik" / static["providers"]["file"]["filename"]).exists()
    router = dynamic["http"]["routers"]["app"]
    assert router["entryPoints"] == list(static["entryPoints"])
    assert router["service"] in dynamic["http"]["services"]
    clearing, asking = (dynamic["http"]["middlewares"][name] for name in router["middlewares"])
    assert set(clearing["headers"]["customRequestHeaders"].values()) == {""}
    assert asking["forwardAuth"]["address"].endswith("/v1/forward-auth")
    assert asking["forwardAuth"]["trustForwardHeader"] is False


def test_a_question_as_traefik_asks_it_is_answered(tmp_path):
    """Traefik passes Weir's answer on as it is, whatever its status."""
    (tmp_path / "rules.yaml").write_text(RULES)
    server = Server("--listen-http", "127.0.0.1:0", "--listen-admin", "off", "--rules", str(tmp_path / "rules.yaml"),
                    log=tmp_path / "log")
    try:
        asked = {"X-Forwarded-Method": "GET", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "shop.example:8000",
                 "X-Forwarded-Uri": "/by-ip/7", "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Port": "8000",
                 "X-Forwarded-Server": "traefik"}
        assert [server.call("/v1/forward-auth", headers=asked)[0] for _ in range(2)] == [200, 429]
    finally:
        server.stop()


def test_the_gateways_are_installed():
    """Without them the tests above could only be skipped, and no one would notice."""
    assert shutil.which("nginx", path="/usr/sbin:/usr/bin") and shutil.which("caddy")


def test_headers_that_are_too_large_for_weir_do_not_make_the_gateway_fail_open(gateway):
    """Weir refuses them with 431 and closes; a gateway that took this for Weir being away would let the request through."""
    gateway.start_weir()
    gateway.start()
    large = {f"X_Large_{i}": "x" * 6000 for i in range(4)}
    for _ in range(20):
        assert gateway.ask("/large", X_Api_Key="alice", **large)[0] in (400, 431, 500)
    many = {f"X_Many_{i}": "x" for i in range(150)}
    for _ in range(20):
        assert gateway.ask("/many", X_Api_Key="alice", **many)[0] in (400, 431, 500)
    assert App.seen == []
