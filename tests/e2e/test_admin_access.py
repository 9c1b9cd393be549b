"""Who may use the admin API: tokens, roles, sessions, client certificates, and an open listener on loopback."""

import http.client
import json
import re
import sqlite3
import ssl

import pytest
from admin_client import Admin
from certificates import Authority
from test_cli import QUIET, start, weir  # noqa: F401 (start is a fixture)

RANK = {"reader": 0, "operator": 1, "admin": 2}


def token_of(admin, role, **more):
    return admin.post("/tokens", {"name": f"{role}-{len(more)}", "role": role, **more})["token"]


@pytest.fixture
def roles(start):  # noqa: F811
    """A server, and a client for each role."""
    server = start()
    first = Admin(server.admin)
    first.token = token_of(first, "admin")
    clients = {"admin": first}
    for role in ("reader", "operator"):
        clients[role] = Admin(server.admin, token_of(first, role))
    return server, clients


def test_without_tokens_the_listener_is_open_and_says_so(start):  # noqa: F811
    server = start()
    assert server.await_event("admin_open")
    shown = Admin(server.admin).get("/session")
    assert (shown["actor"], shown["role"], shown["open"]) == ("anonymous", "admin", True)


def test_the_first_token_closes_the_listener(start):  # noqa: F811
    server = start()
    admin = Admin(server.admin)
    made = admin.post("/tokens", {"name": "ada", "role": "admin"})
    assert admin.call("GET", "/session")[0] == 401
    admin.token = made["token"]
    assert admin.get("/session")["actor"] == "ada"
    # Revoking the last token does not open it again.
    assert admin.call("DELETE", f"/tokens/{made['id']}?reason=test", headers={"If-Match": '"1"'})[0] == 204
    assert admin.call("GET", "/session")[0] == 401
    admin.token = None
    assert admin.call("GET", "/session")[0] == 401


def test_every_route_asks_for_its_role(roles):
    server, clients = roles
    routes = clients["admin"].get("")["routes"]
    assert len(routes) >= 10
    nobody, stranger = Admin(server.admin), Admin(server.admin, "weir_wrong")
    assert [nobody.call("GET", "/tokens")[1]["code"], stranger.call("GET", "/tokens")[1]["code"]] == ["token_missing", "token_invalid"]
    assert stranger.call("GET", "/tokens")[0] == 401
    for route in routes:
        path = re.sub(r"\{\w+\}", "none", route["path"])
        if route["role"] is None:
            assert route["path"] == "/admin/v1/session", "everything else is behind the guard"
            continue
        if route["path"].endswith("/stream"):
            continue  # does not end
        # What is refused is refused before the body is looked at; what is not, for its body, which is empty.
        assert nobody.call(route["method"], path, headers={"X-Weir-Console": "1"})[0] == 401, route
        for role, client in clients.items():
            status, body, _ = client.call(route["method"], path, None, raw=True)
            allowed = RANK[role] >= RANK[route["role"]]
            assert (status != 403) == allowed and status != 401, (route, role, status, body)
            assert allowed or json.loads(body)["code"] == "role_missing"


# What changes nothing, so that readers may ask; and what only an admin may do. Everything else is for operators.
QUESTIONS = {"POST /rules/validate", "POST /rules/diff", "POST /rules/simulate", "POST /subjects/lookup"}
FOR_ADMINS = {"PUT /rules", "POST /rules/versions/{n}/restore", "POST /tokens", "DELETE /tokens/{id}",
              "POST /accounts/{id}/adjust", "POST /accounts/{id}/reverse"}


def test_what_changes_something_is_for_operators_unless_it_is_listed(start):  # noqa: F811
    """The audit trail's completeness test drives what operators and admins may do; a change for readers would escape it."""
    needed = {f"{each['method']} {each['path'].removeprefix('/admin/v1')}": each["role"] for each in Admin(start().admin).get("")["routes"] if each["role"]}
    changes = {route: role for route, role in needed.items() if not route.startswith("GET ")}
    assert len(changes) > 20
    assert changes == {route: "reader" if route in QUESTIONS else "admin" if route in FOR_ADMINS else "operator" for route in changes}
    assert QUESTIONS | FOR_ADMINS <= changes.keys()
    assert {role for route, role in needed.items() if route.startswith("GET ")} == {"reader"}


def test_tokens_are_shown_once_and_stored_hashed(start, tmp_path):  # noqa: F811
    server = start("--data-dir", str(tmp_path / "state"))
    admin = Admin(server.admin)
    made = admin.post("/tokens", {"name": "ada", "role": "operator", "expires_at": "30m"})
    assert made["token"].startswith("weir_") and made["role"] == "operator" and made["actor"] == "anonymous"
    admin.token = made["token"]
    listed = admin.get("/tokens")["items"]
    assert [each["name"] for each in listed] == ["ada"] and "token" not in listed[0]
    assert made["token"] not in json.dumps(admin.audit())
    server.stop()
    with sqlite3.connect(tmp_path / "state" / "weir.db") as database:
        dump = "\n".join(database.iterdump())
    assert made["token"] not in dump and "ada" in dump


@pytest.mark.parametrize("body, what", [
    ({"role": "reader"}, "name: is missing"),
    ({"name": "a b", "role": "reader"}, "name: expected 1 to 64 letters"),
    ({"name": "a", "role": "root"}, "role: is 'root', expected one of reader, operator, admin"),
    ({"name": "a", "role": "reader", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at: is in the past"),
    ({"name": "a", "role": "reader", "nmae": "b"}, "nmae: is not a member (did you mean name?)"),
    ("{", "not valid JSON"), ("[]", "must be a JSON object"),
])
def test_bad_bodies_are_named_and_nothing_changes(start, body, what):  # noqa: F811
    admin = Admin(start().admin)
    status, answer, _ = admin.call("POST", "/tokens", body)
    assert status == 400 and what in answer["detail"] and answer["code"] == "invalid"
    assert admin.get("/tokens")["items"] == [] and admin.audit() == []


def test_expired_and_revoked_tokens_are_refused(roles):
    server, clients = roles
    admin = clients["admin"]
    made = admin.post("/tokens", {"name": "soon", "role": "reader", "expires_at": "1s"})
    client = Admin(server.admin, made["token"])
    assert client.call("GET", "/session")[0] in (200, 401)
    while client.call("GET", "/session")[0] != 401:
        pass
    for item in admin.get("/tokens")["items"]:
        if item["name"].startswith("reader"):
            assert admin.call("DELETE", f"/tokens/{item['id']}?reason=left", headers={"If-Match": f'"{item["etag"]}"'})[0] == 204
    assert clients["reader"].call("GET", "/session")[0] == 401


def test_a_change_needs_the_etag_of_what_it_changes(roles):
    _, clients = roles
    admin = clients["admin"]
    item = admin.get("/tokens")["items"][0]
    path = f"/tokens/{item['id']}?reason=test"
    assert admin.call("DELETE", path)[0] == 428
    status, body, _ = admin.call("DELETE", path, headers={"If-Match": '"99"'})
    assert (status, body["code"]) == (412, "stale")
    assert admin.call("DELETE", path.split("?")[0], headers={"If-Match": "*"})[1]["detail"].startswith("reason: is missing")


def test_sessions_of_the_console(start):  # noqa: F811
    server = start("--admin-tokens", "a-token-of-some-length")
    admin = Admin(server.admin)
    assert admin.call("POST", "/session", {"token": "wrong"})[0] == 401
    status, _, fields = admin.call("POST", "/session", {"token": "a-token-of-some-length"})
    cookie = fields["Set-Cookie"]
    assert status == 204 and "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Secure" not in cookie
    session = {"Cookie": cookie.split(";")[0]}
    shown = admin.get("/session", headers=session)
    assert shown["actor"] == "settings-1" and shown["expires_at"] is not None
    new = {"name": "ada", "role": "reader"}
    assert admin.call("POST", "/tokens", new, session)[0] == 403
    console = {**session, "X-Weir-Console": "1"}
    assert admin.call("POST", "/tokens", new, {**console, "Origin": "http://evil.example"})[0] == 403
    assert admin.call("POST", "/tokens", new, {**console, "Origin": f"http://{server.admin}"})[0] == 201
    assert admin.call("DELETE", "/session", headers=console)[0] == 204
    assert admin.call("GET", "/session", headers=session)[0] == 401


def test_an_open_listener_refuses_other_sites(start):  # noqa: F811
    admin = Admin(start().admin)
    status, body, _ = admin.call("GET", "/tokens", headers={"Host": "weir.example.com"})
    assert (status, body["code"]) == (403, "other_site")
    new = {"name": "ada", "role": "admin"}
    assert admin.call("POST", "/tokens", new, {"Origin": "https://evil.example"})[0] == 403
    assert admin.get("/tokens")["items"] == []


def test_guessing_is_slowed_down_and_logged(start):  # noqa: F811
    server = start("--admin-tokens", "a-token-of-some-length")
    for _ in range(5):
        assert Admin(server.admin, "weir_guess").call("GET", "/session")[0] == 401
    failed = [event for event in server.events() if event["event"] == "login_failed"]
    assert failed[-1]["failures"] == 5 and failed[-1]["delay_ms"] > 0


def test_beyond_loopback_a_token_is_needed_to_start(tmp_path):
    flags = ["--listen-http", "127.0.0.1:0", "--data-dir", str(tmp_path)]
    done = weir("serve", *flags, "--listen-admin", "0.0.0.0:0")
    assert done.returncode == 2 and "is beyond loopback, and there is no token" in done.stderr


def test_a_client_certificate_is_an_actor(start, tmp_path):  # noqa: F811
    authority = Authority(tmp_path, "ca")
    certificate, key = authority.sign("server")
    server = start("--tls-cert", str(certificate), "--tls-key", str(key), "--tls-client-ca", str(authority.certificate),
                   "--tls-listeners", "admin", "--tls-client-listeners", "admin", "--admin-certificates", "ada=operator")
    own, own_key = authority.sign("ada")
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.check_hostname = False
    context.load_cert_chain(str(own), str(own_key))
    link = http.client.HTTPSConnection(server.admin, context=context, timeout=20)
    link.request("GET", "/admin/v1/session")
    shown = json.loads(link.getresponse().read())
    assert (shown["actor"], shown["role"]) == ("cert:ada", "operator")


def test_the_command_line_makes_the_first_token_without_a_server(start, tmp_path):  # noqa: F811
    state = str(tmp_path / "state")
    made = weir("token", "create", "--name", "ada", "--data-dir", state)
    assert made.returncode == 0, made.stderr
    token = made.stdout.strip()
    server = start("--data-dir", state)
    env = {**QUIET, "WEIR_ADMIN": f"http://{server.admin}", "WEIR_TOKEN": token}
    assert Admin(server.admin).call("GET", "/session")[0] == 401
    assert Admin(server.admin, token).get("/session")["actor"] == "ada"
    second = weir("token", "create", "--name", "bob", "--role", "reader", "--json", env=env)
    assert second.returncode == 0, second.stderr
    ident = json.loads(second.stdout)["id"]
    listed = weir("token", "list", env=env).stdout
    assert "bob" in listed and "ada" in listed
    assert weir("token", "revoke", ident, "--reason", "left", env=env).returncode == 0
    assert weir("token", "revoke", ident, "--reason", "left", env=env).returncode != 0
    # On the database directly, while the server runs.
    third = weir("token", "create", "--name", "eve", "--data-dir", state)
    client = Admin(server.admin, third.stdout.strip())
    while client.call("GET", "/session")[0] != 200:
        pass
    shown = weir("audit", "--action", "token", env=env).stdout
    assert shown.count("token.create") == 3 and shown.count("token.revoke") == 1 and "cli:" in shown
    lines = weir("audit", "--ndjson", env=env).stdout.splitlines()
    assert [json.loads(line)["action"] for line in lines].count("token.create") == 3
