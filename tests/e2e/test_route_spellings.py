"""No spelling of a path leads around its route; real nginx and Caddy say which spellings are the same path."""

import pathlib
import random
import re
import socket
import subprocess

import pytest
from test_gateways import free_port, wait_for
from test_haproxy_identity import serve as serve_behind_haproxy  # noqa: F401 (a fixture)
from test_identity import PATH, ask, rule, start  # noqa: F401 (start is a fixture)
from test_identity import serve as serve_forward_auth  # noqa: F401 (a fixture)

ROOT = pathlib.Path(__file__).parents[2]
ACTIONS = {"/login": "login", "/v1/exports": "export", "/v1/items/7": "item"}
IDENTITY = "  routes: {ANY /login: login, ANY /v1/exports: export, 'ANY /v1/items/{id}': item, ANY *: other}\n"
MANY = "".join(rule(action, "ip", 1_000_000, f", match: {{action: {action}}}") for action in (*ACTIONS.values(), "other"))
ONE = rule("logins", "ip", 1, ", match: {action: login}") + rule("exports", "ip", 1, ", match: {action: export}")

NGINX = """
user root; daemon off; pid nginx.pid; error_log error.log; worker_processes 1;
events {}
http {
  access_log off; TEMPORARY
  server { listen 127.0.0.1:PORT; location / { return 200 "$uri"; } }
}
"""
CADDY = """
{
	admin off
	auto_https off
}
http://127.0.0.1:PORT {
	@login path /login
	@export path /v1/exports
	@item path /v1/items/7
	respond @login "/login"
	respond @export "/v1/exports"
	respond @item "/v1/items/7"
	respond "elsewhere"
}
"""


def get(port, target):
    """Status and body of a GET with these bytes as its target."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        answer = b""
        while more := connection.recv(65536):
            answer += more
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body


@pytest.fixture(params=["nginx", "caddy"])
def served(request, tmp_path):
    """Which path a real server serves for a target; None if it refuses it."""
    port = free_port()
    if request.param == "nginx":
        temporary = "".join(f"{kind}_temp_path {kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (tmp_path / "server.conf").write_text(NGINX.replace("PORT", str(port)).replace("TEMPORARY", temporary))
        words = ["nginx", "-p", str(tmp_path), "-c", str(tmp_path / "server.conf")]
    else:
        (tmp_path / "server.conf").write_text(CADDY.replace("PORT", str(port)))
        words = ["caddy", "run", "--adapter", "caddyfile", "--config", str(tmp_path / "server.conf")]
    environment = {"HOME": str(tmp_path), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(port)

    def path(target):
        status, body = get(port, target)
        return body.decode("latin-1") if status == 200 else None

    yield path
    process.terminate()
    process.wait(20)


INSERTIONS = [b"/", b"//", b"/./", b"/x/../", b"/../", b";x", b";", b"%3b", b"..;/", b"%20", b".", b"..", b"\\", b"%5c", b"%2f", b"%2F",
              b"%0a", b"%09", b"#f", b"?q=1", b"%2e", b"%25", b"%c0%af", b"%ff", b"a", b"%2e%2e/", b"%C3%A9", "é".encode()]


def respelled(chance, path):
    text = path.encode()
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(4)
        if kind == 0 and at < len(text):
            text = text[:at] + chance.choice((b"%%%02x", b"%%%02X")) % text[at] + text[at + 1:]
        elif kind == 1 and at < len(text):
            text = text[:at] + text[at:at + 1].upper() + text[at + 1:]
        elif kind == 2:
            text += chance.choice(INSERTIONS)
        else:
            text = text[:at] + chance.choice(INSERTIONS) + text[at:]
    return text if text.startswith(b"/") else b"/" + text


def test_every_spelling_has_the_route_of_the_path_that_a_real_server_serves(served, serve_forward_auth):  # noqa: F811
    server = serve_forward_auth(MANY, IDENTITY)

    def action(target):
        status, fields, _ = ask(server, {"X-Forwarded-Uri": target.decode("latin-1")})
        return re.match(r'"(\w+)"', fields["RateLimit-Policy"]).group(1) if status == 200 else status

    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    told, counted = {}, 0
    for _ in range(400):
        target = respelled(chance, chance.choice(list(ACTIONS)))
        path, found = served(target), action(target)
        if path is None or path == "elsewhere" or found == 400:
            continue
        counted += 1
        assert found == ACTIONS.get(path, found), f"seed {seed}: {target} is {path}"
        assert told.setdefault(path, found) == found, f"seed {seed}: {target} is {path}"
    assert counted > 100, "most spellings are ordinary enough to be compared"


SPELLINGS = ["/login/", "//login", "/LOGIN", "/login;x", "/login%20", "/%6cogin", "/login.", "/./login", "/x/../login", "/login/.",
             "/login%2f", "/login?x", "/%256cogin", "/v1/..;/login", "/login%00", "/login%5c", "\\login"]
EXPORTS = ["/v1/..;/exports", "/v1%2fexports", "/v1//exports", "/V1/Exports/", "/v1;a/exports;b", "/v1/x/..;/exports"]


@pytest.fixture(params=["forward-auth", "spop"])
def status(request):
    if request.param == "forward-auth":
        server = request.getfixturevalue("serve_forward_auth")(ONE, IDENTITY)
        return lambda target: ask(server, {"X-Forwarded-Uri": target})[0]
    haproxy, _ = request.getfixturevalue("serve_behind_haproxy")(ONE, IDENTITY)
    return lambda target: haproxy.ask(target)[0]


def test_what_an_attacker_would_try_meets_the_limit_or_is_refused(status):
    assert [status("/login"), status("/login"), status("/v1/exports"), status("/elsewhere")] == [200, 429, 200, 200]
    answers = {target: status(target) for target in SPELLINGS + EXPORTS}
    assert set(answers.values()) == {400, 429}, answers
    for target in ("/login/", "//login", "/LOGIN", "/login;x", "/%6cogin", "/v1//exports", "/V1/Exports/"):
        assert answers[target] == 429, target


def test_case_and_slashes_are_settings(serve_forward_auth):  # noqa: F811
    server = serve_forward_auth(ONE, IDENTITY + "  case_sensitive: true\n  trailing_slash: strict\n  encoded_slash: keep\n")
    answers = [ask(server, {"X-Forwarded-Uri": uri})[0] for uri in ("/login", "//login", "/Login", "/login/", "/v1%2flogin")]
    assert answers == [200, 429, 200, 200, 200]


def test_routes_that_leave_requests_without_an_action_are_told(serve_forward_auth):  # noqa: F811
    server = serve_forward_auth(ONE, "  routes: {POST /login: login, ANY /v1/*: other}\n")
    assert server.await_event("routes_incomplete")["level"] == "warn"


def test_complete_routes_are_not_told(serve_forward_auth):  # noqa: F811
    server = serve_forward_auth(ONE, IDENTITY)
    assert "routes_incomplete" not in server.log_path.read_text()


def test_the_configuration_for_gateways_counts_every_request(start):  # noqa: F811
    server = start("--config", str(ROOT / "deploy" / "gateways" / "weir.yaml"))
    assert "routes_incomplete" not in server.log_path.read_text()
    for uri in ("/", "/login", "/x/y/z", "/%C3%A9", "/a.b;c", "*"):
        for method in ("GET", "POST", "BREW"):
            sent = {"X-Forwarded-Uri": uri, "X-Forwarded-Method": method, "X-Forwarded-For": "203.0.113.9"}
            code, fields, _ = ask(server, sent)
            assert code == 200 and '"per-address"' in fields["RateLimit-Policy"], (method, uri)
    login = {"X-Forwarded-Uri": "//Login/", "X-Forwarded-Method": "post", "X-Forwarded-For": "203.0.113.10"}
    assert [ask(server, login)[0] for _ in range(11)] == [200] * 10 + [429]
