"""What operators change while the server runs: overrides, blocks, tenants and API keys, over the admin API and the command line."""

import json
import socket
import sqlite3
import urllib.error
import urllib.parse
import urllib.request

import grpc
import pytest
from admin_client import Admin
from grpc_bytes import OK, OVER_LIMIT, RATE_LIMIT, field
from redis_nodes import eventually
from test_cli import QUIET, start, weir  # noqa: F401 (start is a fixture)

RULES = """version: 1
rules:
  - {id: search, match: {action: search}, per: [tenant], algorithm: fixed-window, limit: 2, window: 3650d,
     plans: {pro: {limit: 5}}, overrides: [{when: {tenant: filed}, limit: 3}], on_store_failure: allow}
  - {id: export, match: {action: export}, per: [tenant], algorithm: fixed-window, limit: 1, window: 3650d, on_store_failure: allow}
blocks:
  - {when: {tenant: filed-block}, reason: of the file}
"""


class Operators:
    def __init__(self, server):
        self.server = server

    def call(self, method, path, body=None, headers=None):
        request = urllib.request.Request(f"http://{self.server.admin}/admin/v1{path}", method=method, headers=headers or {},
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                text = answer.read().decode()
                return answer.status, json.loads(text) if text else {}
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read().decode())

    def made(self, path, body):
        status, answer = self.call("POST", path, body)
        assert status == 201, answer
        return answer

    def remove(self, path, etag, reason="done"):
        return self.call("DELETE", f"{path}?reason={urllib.parse.quote(reason)}", headers={"If-Match": f'"{etag}"'})

    def audit(self, object=None):
        query = f"?object={urllib.parse.quote(object)}" if object else ""
        return self.call("GET", "/audit" + query)[1]["items"]

    def weir(self, *words):
        done = weir(*words, env={**QUIET, "WEIR_ADMIN": f"http://{self.server.admin}"})
        return done


def check(server, headers=None, **attributes):
    status, text = server.call("/v1/check", {"attributes": attributes}, headers=headers)
    return status, json.loads(text)


def limit_for(server, **attributes):
    status, text = server.call("/v1/check", {"attributes": attributes, "peek": True})
    return json.loads(text)["rules"][0]["limit"]


@pytest.fixture
def server(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(RULES)
    return start("--rules", str(tmp_path / "rules.yaml"), "--data-dir", str(tmp_path / "state"), "--identity-apply", "http,forward-auth")


@pytest.fixture
def operators(server):
    return Operators(server)


def test_an_override_applies_at_once_is_listed_and_ends_when_removed(server, operators):
    body = {"rules": ["search"], "when": {"tenant": "acme"}, "limit": 50, "until": "2h", "reason": "launch"}
    made = operators.made("/overrides", body)
    assert limit_for(server, tenant="acme", action="search") == 50
    assert limit_for(server, tenant="other", action="search") == 2
    check(server, tenant="acme", action="search")
    assert operators.call("GET", f"/overrides/{made['id']}")[1]["last_used_at"] is not None
    items = operators.call("GET", "/overrides")[1]["items"]
    assert [(i["source"], i["rules"], i["when"]) for i in items] == [
        ("api", ["search"], {"tenant": "acme"}), ("file", ["search"], {"tenant": "filed"})]
    assert operators.remove(f"/overrides/{made['id']}", "99")[0] == 412
    assert operators.call("DELETE", f"/overrides/{made['id']}?reason=x")[0] == 428
    assert operators.call("DELETE", f"/overrides/{made['id']}", headers={"If-Match": '"1"'})[0] == 400, "a reason is required"
    assert operators.remove(f"/overrides/{made['id']}", made["etag"])[0] == 204
    assert limit_for(server, tenant="acme", action="search") == 2
    assert [e["action"] for e in operators.audit(f"override/{made['id']}")] == ["override.remove", "override.create"]


def test_an_override_must_fit_its_rules_as_one_in_the_file_must(start, tmp_path):
    (tmp_path / "rules.yaml").write_text("""version: 1
defaults: {on_store_failure: deny}
rules:
  - {id: leased, per: [tenant], algorithm: fixed-window, limit: 1000, window: 1h, consistency: leased}
  - {id: values, per: [tenant], algorithm: fixed-window, limit: 5, window: 1h, distinct: account}
  - {id: exact, per: [tenant], algorithm: fixed-window, limit: 1000, window: 1h}
""")
    operators = Operators(start("--rules", str(tmp_path / "rules.yaml"), "--data-dir", str(tmp_path / "state")))
    body = {"when": {"tenant": "acme"}, "until": "2h", "reason": "launch", "emergency": True}
    for rules, change, why in [
        (["exact", "leased"], {"window": "2h"}, "rule leased: consistency: is leased, expected exact"),
        (["values"], {"window": "2h"}, "rule values: distinct: needs one window"),
        (["values"], {"limit": 5000}, "rule values: limit: is 5000, expected at most 1000 with distinct"),
    ]:
        status, answer = operators.call("POST", "/overrides", {**body, "rules": rules, **change})
        assert status == 400 and why in json.dumps(answer), answer
    made = operators.made("/overrides", {**body, "rules": ["*"], "window": "2h"})
    assert [text.split(":")[0] for text in made["misfits"]] == ["rule leased", "rule values"]
    assert "misfits" not in operators.made("/overrides", {**body, "rules": ["exact"], "window": "3h"})


def test_an_override_is_replaced_only_by_those_who_have_seen_it(server, operators):
    body = {"rules": ["*"], "when": {"tenant": "acme"}, "unlimited": True, "emergency": True, "until": "1h", "reason": "incident"}
    made = operators.made("/overrides", body)
    assert check(server, tenant="acme", action="export")[0] == check(server, tenant="acme", action="export")[0] == 200
    changed = {"rules": ["export"], "when": {"tenant": "acme"}, "limit": 7, "until": "1h", "reason": "less"}
    status, answer = operators.call("PUT", f"/overrides/{made['id']}", changed, {"If-Match": f'"{made["etag"]}"'})
    assert status == 200 and answer["etag"] != made["etag"] and answer["limit"] == 7
    assert operators.call("PUT", f"/overrides/{made['id']}", changed, {"If-Match": f'"{made["etag"]}"'})[0] == 412
    assert limit_for(server, tenant="acme", action="export") == 7


@pytest.mark.parametrize("body,said", [
    ({"rules": ["nope"], "limit": 1}, 'rules: no rule has the id "nope"'),
    ({"rules": ["search"], "limit": 1, "unlimited": True}, "is unlimited and has numbers"),
    ({"rules": ["search"]}, "changes nothing"),
    ({"rules": ["search", "*"], "limit": 1}, '"*" alone'),
    ({"rules": ["search"], "burst": 5}, "burst"),
    ({"rules": ["search"], "limit": 1, "until": "2020-01-01T00:00:00Z"}, "until"),
    ({"rules": ["search"], "limit": 1, "when": {"ip": "10.0.0.0/99"}}, "when.ip"),
    ({"rules": ["search"], "limit": 1, "lmit": 1}, "lmit"),
    ({"rules": ["search"], "limit": 1, "reason": ""}, "reason"),
])
def test_overrides_that_cannot_be_right_are_refused_and_change_nothing(operators, body, said):
    status, answer = operators.call("POST", "/overrides", {"until": "1h", "reason": "why", **body})
    assert status == 400 and said in answer["detail"], answer
    assert len(operators.call("GET", "/overrides")[1]["items"]) == 1


def test_an_expired_override_disappears_by_itself_and_stays_in_the_audit_trail(server, operators):
    made = operators.made("/overrides", {"rules": ["search"], "when": {"tenant": "acme"}, "limit": 50, "until": "1s", "reason": "short"})
    eventually("it is gone", lambda: operators.call("GET", f"/overrides/{made['id']}")[0] == 404)
    assert limit_for(server, tenant="acme", action="search") == 2
    entries = operators.audit(f"override/{made['id']}")
    assert [e["action"] for e in entries] == ["override.expire", "override.create"] and entries[0]["actor"] == "weir"


def test_a_block_refuses_on_http_and_reveals_nothing(server, operators):
    made = operators.made("/blocks", {"when": {"ip": "203.0.113.0/24", "action": ["search", "export"]}, "until": "2h", "reason": "scraping"})
    status, answer = check(server, tenant="acme", action="search", ip="203.0.113.9")
    assert status == 403 and answer["reason"] == "blocked" and "scraping" not in json.dumps(answer) and made["id"] not in json.dumps(answer)
    assert answer.get("rules", []) == []
    assert check(server, tenant="acme", action="search", ip="203.0.114.9")[0] == 200
    assert 'weir_decisions_total{allowed="false",reason="blocked"} 1' in server.metrics() or 'reason="blocked"' in server.metrics()
    eventually("its hits are stored", lambda: operators.call("GET", f"/blocks/{made['id']}")[1]["hits"] == 1)
    assert [i["source"] for i in operators.call("GET", "/blocks")[1]["items"]] == ["api", "file"]
    assert operators.remove(f"/blocks/{made['id']}", made["etag"])[0] == 204
    assert check(server, tenant="acme", action="search", ip="203.0.113.9")[0] == 200


def test_a_block_of_everything_must_be_meant(server, operators):
    for when in ({}, {"tenant": "*"}, {"zzz": "absent"}, {"api_key": ["absent", "guest"], "path": "/*"}):
        status, answer = operators.call("POST", "/blocks", {"when": when, "reason": "oops"})
        assert status == 400 and '"all": true' in answer["detail"]
    operators.made("/blocks", {"when": {}, "all": True, "until": "1m", "reason": "maintenance"})
    assert check(server, tenant="acme", action="search")[0] == 403


def test_a_block_of_the_rules_file_applies(server):
    assert check(server, tenant="filed-block", action="search")[0] == 403


def test_a_tenants_plan_takes_effect_at_once(server, operators):
    assert limit_for(server, tenant="acme", action="search") == 2
    none = {"If-None-Match": "*"}
    status, made = operators.call("PUT", "/tenants/acme", {"plan": "pro", "zone": "Europe/Berlin", "settings": {"a": "b"}}, none)
    assert status == 201 and made["settings"] == {"a": "b"}
    assert limit_for(server, tenant="acme", action="search") == 5
    assert operators.call("PUT", "/tenants/acme", {"plan": "free"}, none)[0] == 412
    assert operators.call("PUT", "/tenants/acme", {"plan": "free"})[0] == 428
    assert operators.call("PUT", "/tenants/acme", {"zone": "Mars/Olympus"}, {"If-Match": '"1"'})[0] == 400
    assert operators.call("PUT", "/tenants/acme", {"plan": "none"}, {"If-Match": '"1"'})[0] == 200
    assert limit_for(server, tenant="acme", action="search") == 2
    assert operators.remove("/tenants/acme", "2")[0] == 204
    assert operators.call("GET", "/tenants/acme")[0] == 404


def test_a_gateway_sends_only_the_key(server, operators):
    operators.call("PUT", "/tenants/acme", {"plan": "pro"}, {"If-None-Match": "*"})
    made = operators.made("/keys", {"name": "ci", "tenant": "acme", "attributes": {"team": "blue"}})
    key = made["key"]
    assert key.startswith(made["prefix"]) and "key" not in operators.call("GET", f"/keys/{made['id']}")[1]
    assert limit_for(server, api_key=key, action="search") == 5, "the tenant's plan"
    first = check(server, api_key=key, action="search", tenant="someone-else")[1]
    assert first["rules"][0]["remaining"] == 4
    assert check(server, tenant="acme", action="search")[1]["rules"][0]["remaining"] == 3, "the same subject"
    eventually("last used", lambda: operators.call("GET", f"/keys/{made['id']}")[1]["last_used_at"])
    assert operators.remove(f"/keys/{made['id']}", made["etag"], "leaked")[0] == 204
    assert check(server, api_key=key, action="search")[0] == 403
    assert check(server, api_key="unknown", tenant="acme", action="search")[0] == 200, "unknown keys are only hashed"
    assert operators.call("GET", "/keys?tenant=acme")[1]["items"][0]["revoked_at"]


def test_a_key_that_has_expired_is_refused(server, operators):
    made = operators.made("/keys", {"name": "short", "tenant": "acme", "expires_at": "1s"})
    eventually("it is refused", lambda: check(server, api_key=made["key"], action="none")[0] == 403)


def test_forward_auth_resolves_keys_too(server, operators):
    key = operators.made("/keys", {"name": "gateway", "tenant": "acme", "attributes": {"kind": "x"}})["key"]
    status, _ = server.call("/v1/forward-auth", headers={"X-Api-Key": key, "X-Original-URI": "/", "X-Original-Method": "GET"})
    assert status in (200, 204)
    operators.made("/blocks", {"when": {"kind": "x"}, "reason": "by an attribute of the key"})
    assert server.call("/v1/forward-auth", headers={"X-Api-Key": key, "X-Original-URI": "/", "X-Original-Method": "GET"})[0] == 403


def test_the_database_never_has_a_key(server, operators, tmp_path):
    key = operators.made("/keys", {"name": "ci", "tenant": "acme"})["key"]
    server.stop()
    with sqlite3.connect(tmp_path / "state" / "weir.db") as database:
        dump = "\n".join(database.iterdump())
    assert key not in dump and key[:10] in dump
    kept = b"".join(path.read_bytes() for path in (tmp_path / "state" / "known").iterdir())
    assert key.encode() not in kept


def test_what_was_set_is_there_after_a_restart(server, operators, start, tmp_path):  # noqa: F811
    operators.made("/overrides", {"rules": ["search"], "when": {"tenant": "acme"}, "limit": 50, "until": "1h", "reason": "launch"})
    operators.made("/blocks", {"when": {"tenant": "bad"}, "reason": "unpaid"})
    server.stop()
    again = start("--rules", str(tmp_path / "rules.yaml"), "--data-dir", str(tmp_path / "state"))
    assert limit_for(again, tenant="acme", action="search") == 50
    assert check(again, tenant="bad", action="search")[0] == 403


def test_lists_are_read_page_by_page(operators):
    for i in range(5):
        operators.made("/blocks", {"when": {"tenant": f"t{i}"}, "reason": "r"})
    seen, cursor = [], ""
    while cursor is not None:
        page = operators.call("GET", "/blocks?limit=2" + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else ""))[1]
        seen += [i["when"]["tenant"] for i in page["items"] if i["source"] == "api"]
        cursor = page["next"]
    assert sorted(seen) == [f"t{i}" for i in range(5)]


def test_the_command_line_sets_lists_and_removes(server, operators):
    done = operators.weir("override", "set", "tenant=acme", "--rules", "search", "--limit", "9", "--until", "2h", "--reason", "launch")
    assert done.returncode == 0 and done.stdout.startswith("set ovr_"), done.stderr
    assert limit_for(server, tenant="acme", action="search") == 9
    id = done.stdout.split()[1]
    assert "limit 9" in operators.weir("override", "list").stdout
    assert operators.weir("override", "remove", id, "--reason", "over").stdout == "removed\n"
    assert operators.weir("override", "remove", id, "--reason", "over").returncode == 3

    assert operators.weir("block", "add", "--reason", "x").returncode == 2
    assert operators.weir("block", "add", "tenant=*", "--reason", "x").returncode == 2
    refused = operators.weir("block", "add", "zzz=absent", "--reason", "x")
    assert refused.returncode == 2 and "names no one in particular" in refused.stderr
    for_now = operators.weir("block", "add", "zzz=absent", "--all", "--until", "1m", "--reason", "maintenance")
    assert for_now.returncode == 0, for_now.stderr
    assert operators.weir("block", "remove", for_now.stdout.split()[1], "--reason", "over").returncode == 0
    blocked = operators.weir("block", "add", "ip=203.0.113.0/24", "ip=198.51.100.0/24", "--until", "1h", "--reason", "scraping")
    assert blocked.returncode == 0, blocked.stderr
    assert check(server, ip="198.51.100.3")[0] == 403
    assert "scraping" in operators.weir("block", "list").stdout
    assert operators.weir("block", "remove", blocked.stdout.split()[1], "--reason", "over").returncode == 0

    assert operators.weir("tenant", "set", "acme", "--plan", "pro", "support=gold").returncode == 0
    assert operators.weir("tenant", "set", "acme", "--zone", "Europe/Berlin").returncode == 0
    shown = json.loads(operators.weir("tenant", "show", "acme", "--json").stdout)
    assert (shown["plan"], shown["zone"], shown["settings"]) == ("pro", "Europe/Berlin", {"support": "gold"})
    assert "acme" in operators.weir("tenant", "list").stdout
    assert operators.weir("tenant", "remove", "acme", "--reason", "gone").returncode == 0

    made = operators.weir("key", "create", "ci", "team=blue", "--tenant", "acme", "--expires", "90d")
    assert made.stdout.startswith("wk_"), made.stderr
    listed = json.loads(operators.weir("key", "list", "--tenant", "acme", "--json").stdout)["items"]
    assert listed[0]["attributes"] == {"team": "blue"}
    assert operators.weir("key", "revoke", listed[0]["id"], "--reason", "leaked").returncode == 0
    assert check(server, api_key=made.stdout.strip())[0] == 403


def resp(address, *words):
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"*{len(words)}\r\n".encode() + b"".join(f"${len(w)}\r\n{w}\r\n".encode() for w in words))
        return connection.recv(65536).decode()


def test_blocks_refuse_on_other_front_ends_and_charge_nothing(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(RULES)
    server = start("--rules", str(tmp_path / "rules.yaml"), "--listen-resp", "127.0.0.1:0")
    operators = Operators(server)
    block = operators.made("/blocks", {"when": {"tenant": "bad"}, "reason": "unpaid"})
    address = server.await_event("listening")["resp"]
    assert "blocked" in resp(address, "WEIR.CHECK", "tenant", "bad", "action", "search")
    envoy = {"domain": "x", "descriptors": [{"entries": [{"key": "tenant", "value": "bad"}, {"key": "action", "value": "search"}]}]}
    status, text = server.call("/json", envoy)
    assert status == 429 and json.loads(text)["overallCode"] == "OVER_LIMIT", "all that Envoy's protocol can say"
    for path, body in (("/v1/leases", {}), ("/v1/reservations", {"amount": 1, "ttl_ms": 5000})):
        status, text = server.call(path, {"attributes": {"tenant": "bad", "action": "search"}, **body})
        assert status == 403 and json.loads(text)["reason"] == "blocked", text
    batch = {"requests": [{"attributes": {"tenant": t, "action": "search"}} for t in ("bad", "good")]}
    decisions = json.loads(server.call("/v1/check/batch", batch)[1])["decisions"]
    assert [d["reason"] for d in decisions] == ["blocked", "ok"]
    assert operators.remove(f"/blocks/{block['id']}", block["etag"])[0] == 204
    assert check(server, tenant="bad", action="search")[1]["rules"][0]["remaining"] == 1, "nothing was charged before"


BLOCKED = b"\x10\x06"  # a Decision's reason


def test_blocks_refuse_over_grpc(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(RULES)
    server = start("--rules", str(tmp_path / "rules.yaml"), "--listen-grpc", "127.0.0.1:0")
    Operators(server).made("/blocks", {"when": {"tenant": "bad"}, "reason": "unpaid"})
    pairs = {"tenant": "bad", "action": "search"}
    attributes = b"".join(field(1, field(1, name.encode()) + field(2, value.encode())) for name, value in pairs.items())
    entries = field(1, b"edge") + field(2, attributes)
    with grpc.insecure_channel(server.await_event("listening")["grpc"]) as channel:
        def ask(path, message):
            return channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)(message, timeout=10)

        for path in ("/weir.v1.Limiter/Check", "/weir.v1.Limiter/Acquire"):
            answer = ask(path, attributes)
            assert BLOCKED in answer and b"unpaid" not in answer and b"block" not in answer
        assert BLOCKED in ask("/weir.v1.Limiter/CheckBatch", field(1, attributes))
        assert ask(RATE_LIMIT, entries).startswith(OVER_LIMIT)
        assert b"\x08\x01\x10\x01" in ask("/weir.v1.Limiter/Check", attributes.replace(b"bad", b"mad")), "allowed, ok"
        assert ask(RATE_LIMIT, entries.replace(b"bad", b"mad")).startswith(OK)


def test_the_expiry_of_a_token_and_of_a_key_has_one_entry(start, tmp_path):  # noqa: F811
    """Also over a restart, and none for what was revoked before."""
    flags = ("--data-dir", str(tmp_path / "state"), "--admin-tokens", "of-the-settings")
    server = start(*flags)
    admin = Admin(server.admin, "of-the-settings")

    def make(path, name, **members):
        made = admin.post(path, {"name": name, "expires_at": "1s", **members})
        return f"{path[1:-1]}/{made['id']}", made

    def expired():
        return [each["object"] for each in admin.audit(actor="weir")]

    lapsed = {make("/tokens", "lapsed", role="reader")[0], make("/keys", "lapsed", tenant="acme")[0]}
    for path, members in (("/tokens", {"role": "reader"}), ("/keys", {"tenant": "acme"})):
        _, made = make(path, "revoked", **members)
        assert admin.call("DELETE", f"{path}/{made['id']}?reason=test", headers={"If-Match": f'"{made["etag"]}"'})[0] == 204
    eventually("both have their entry", lambda: set(expired()) == lapsed)
    server.stop()
    admin.address = start(*flags).admin
    late, _ = make("/keys", "late", tenant="acme")
    eventually("the next one has its entry", lambda: late in expired())
    assert sorted(expired()) == sorted([*lapsed, late]), "one each"
    entries = admin.audit(actor="weir")
    assert {each["action"] for each in entries} == {"key.expire", "token.expire"}
    assert "hash" not in json.dumps(entries)
