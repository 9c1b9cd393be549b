"""Every route of the admin API that changes something leaves exactly one entry in the audit trail."""

import json
import re

import pytest
from admin_client import Admin
from test_cli import rules_text, start  # noqa: F401 (start is a fixture)

RULES = rules_text(10) + "  - {id: exports, match: {action: export}, per: [tenant], algorithm: concurrency, limit: 2, lease: 30s}\n"
RULES += "  - {id: imports, match: {action: import}, per: [tenant], algorithm: quota, limit: 100, period: month, enforcement: strict}\n"
FOREVER = "7d"


class Driver:
    """Makes what a route changes, and changes it. Each method answers how often it has written."""

    def __init__(self, server):
        self.server, self.admin = server, Admin(server.admin)
        self.number = 0

    def fresh(self):
        self.number += 1
        return f"n{self.number}"

    def done(self, answer):
        status, body, _ = answer
        assert status in (200, 201, 204), body
        return body

    def change(self, method, path, body=None, etag=None, reason=True):
        words = f"{path}?reason=test" if method == "DELETE" and reason else path
        etag = etag or ("*" if method != "POST" else None)
        headers = {} if etag is None else {"If-Match": etag if etag == "*" else f'"{etag}"'}
        return self.done(self.admin.call(method, words, body, headers))

    def post_tokens(self):
        self.change("POST", "/tokens", {"name": self.fresh(), "role": "reader"})
        return 1

    def delete_tokens_id(self):
        made = self.change("POST", "/tokens", {"name": self.fresh(), "role": "reader"})
        self.change("DELETE", f"/tokens/{made['id']}", etag=made["etag"])
        return 2

    def put_rules(self):
        self.change("PUT", "/rules", {"text": RULES, "reason": "test"}, self.admin.get("/rules")["etag"])
        return 1

    def post_rules_versions_n_restore(self):
        version = self.admin.get("/rules/versions")["items"][0]["version"]
        self.change("POST", f"/rules/versions/{version}/restore", {"reason": "test"})
        return 1

    def with_candidate(self):
        text = RULES.replace("rules:\n", "rules:\n  - {id: tried, per: [tenant], limit: 9, window: 1s, candidate: {limit: 8}}\n", 1)
        self.change("PUT", "/rules", {"text": text, "reason": "test"}, self.admin.get("/rules")["etag"])

    def post_rules_id_candidate_promote(self):
        self.with_candidate()
        self.change("POST", "/rules/tried/candidate/promote", {"reason": "test"}, "*")
        return 2

    def post_rules_id_candidate_discard(self):
        self.with_candidate()
        self.change("POST", "/rules/tried/candidate/discard", {"reason": "test"}, "*")
        return 2

    def post_reset(self):
        self.change("POST", "/reset", {"attributes": {"tenant": "acme"}, "reason": "test"})
        return 1

    def post_refund(self):
        self.change("POST", "/refund", {"attributes": {"tenant": "acme"}, "cost": 1, "reason": "test"})
        return 1

    def delete_leases_handle(self):
        status, body = self.server.call("/v1/leases", {"attributes": {"tenant": self.fresh(), "action": "export"}})
        assert status == 201, body
        self.change("DELETE", f"/leases/{json.loads(body)['lease']}")
        return 1

    def delete_reservations_handle(self):
        status, body = self.server.call("/v1/reservations", {"attributes": {"tenant": self.fresh()}, "amount": 1, "ttl_ms": 60000})
        assert status == 201, body
        self.change("DELETE", f"/reservations/{json.loads(body)['reservation']}")
        return 1

    def override(self):
        return {"rules": ["per-tenant"], "when": {"tenant": self.fresh()}, "limit": 5, "until": FOREVER, "reason": "test"}

    def post_overrides(self):
        self.change("POST", "/overrides", self.override())
        return 1

    def put_overrides_id(self):
        made = self.change("POST", "/overrides", self.override())
        self.change("PUT", f"/overrides/{made['id']}", self.override(), made["etag"])
        return 2

    def delete_overrides_id(self):
        made = self.change("POST", "/overrides", self.override())
        self.change("DELETE", f"/overrides/{made['id']}", etag=made["etag"])
        return 2

    def post_blocks(self):
        self.change("POST", "/blocks", {"when": {"tenant": self.fresh()}, "until": FOREVER, "reason": "test"})
        return 1

    def delete_blocks_id(self):
        made = self.change("POST", "/blocks", {"when": {"tenant": self.fresh()}, "until": FOREVER, "reason": "test"})
        self.change("DELETE", f"/blocks/{made['id']}", etag=made["etag"])
        return 2

    def put_tenants_tenant(self):
        self.done(self.admin.call("PUT", f"/tenants/{self.fresh()}", {"plan": "gold", "reason": "test"}, {"If-None-Match": "*"}))
        return 1

    def delete_tenants_tenant(self):
        name = self.fresh()
        made = self.done(self.admin.call("PUT", f"/tenants/{name}", {"plan": "gold", "reason": "test"}, {"If-None-Match": "*"}))
        self.change("DELETE", f"/tenants/{name}", etag=made["etag"])
        return 2

    def account(self):
        """A new account of which 5 units are used."""
        name = self.fresh()
        status, body = self.server.call("/v1/check", {"attributes": {"tenant": name, "action": "import"}, "cost": 5})
        assert status == 200, body
        return self.admin.get(f"/accounts?tenant={name}")["items"][0]["id"]

    def post_accounts_id_grant(self):
        self.change("POST", f"/accounts/{self.account()}/grant", {"amount": 5, "reason": "test"})
        return 1

    def post_accounts_id_adjust(self):
        self.change("POST", f"/accounts/{self.account()}/adjust", {"amount": -2, "reason": "test"})
        return 1

    def post_accounts_id_reverse(self):
        account = self.account()
        take = next(each for each in self.admin.get(f"/accounts/{account}")["entries"] if each["kind"] == "take")
        self.change("POST", f"/accounts/{account}/reverse", {"operation": take["operation"], "reason": "test"})
        return 1

    def post_accounts_id_release(self):
        account = self.account()
        tenant = self.admin.get(f"/accounts/{account}")["tenant"]
        status, body = self.server.call("/v1/reservations", {"attributes": {"tenant": tenant, "action": "import"}, "amount": 1})
        assert status == 201, body
        self.change("POST", f"/accounts/{account}/release", {"reservation": json.loads(body)["id"], "reason": "test"})
        return 1

    def post_keys(self):
        self.change("POST", "/keys", {"name": self.fresh(), "tenant": "acme"})
        return 1

    def delete_keys_id(self):
        made = self.change("POST", "/keys", {"name": self.fresh(), "tenant": "acme"})
        self.change("DELETE", f"/keys/{made['id']}", etag=made["etag"])
        return 2


def name_of(route):
    words = re.sub(r"[^a-z]+", "_", route["path"].removeprefix("/admin/v1").lower()).strip("_")
    return f"{route['method'].lower()}_{words}"


def test_every_change_has_exactly_one_entry(start):  # noqa: F811
    server = start("--rules", "database")
    driver = Driver(server)
    driver.put_rules()
    # A token would close the listener for those after it.
    routes = sorted(driver.admin.get("")["routes"], key=lambda route: "tokens" in route["path"])
    changing = [route for route in routes if route["method"] != "GET" and route["role"] in ("operator", "admin")]
    assert len(changing) >= 5
    seen = len(driver.admin.audit())
    first_token = True
    for route in changing:
        drive = getattr(driver, name_of(route), None)
        assert drive is not None, f"{route['method']} {route['path']}: add what drives it to Driver.{name_of(route)}"
        if "tokens" in route["path"] and first_token:
            driver.admin.token = driver.change("POST", "/tokens", {"name": "driver", "role": "admin"})["token"]
            seen, first_token = seen + 1, False
        writes = drive()
        entries = driver.admin.get("/audit?limit=1000")["items"]
        assert len(entries) - seen == writes, (route, entries[: len(entries) - seen])
        seen = len(entries)
        newest = entries[0]
        assert newest["actor"] in ("anonymous", "driver") and newest["from"] == "127.0.0.1" and newest["node"]
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", newest["action"]) and newest["object"]


@pytest.mark.parametrize("query, what", [
    ("limit=0", "limit: is '0', expected a whole number from 1 to 1000"),
    ("cursor=abc", "cursor: is not a cursor of this list"),
    ("from=yesterday", "from: is 'yesterday', expected a time"),
    ("format=xml", "format: is 'xml', expected one of json, ndjson"),
    ("actr=ada", "actr: is not a parameter of this path"),
    ("actor=%zz", "invalid percent escape"),
])
def test_bad_queries_are_named(start, query, what):  # noqa: F811
    status, body, _ = Admin(start().admin).call("GET", f"/audit?{query}")
    assert status == 400 and what in body["detail"]


def test_the_trail_is_filtered_paged_and_exported(start):  # noqa: F811
    server = start("--rules", "database")
    admin = Admin(server.admin)
    etag = "0"
    for number in range(5):
        etag = admin.put("/rules", {"text": rules_text(number + 1), "reason": f"change {number}"}, etag)["etag"]
    page = admin.get("/audit?limit=2&action=rules")
    assert [each["reason"] for each in page["items"]] == ["change 4", "change 3"]
    rest = admin.get(f"/audit?limit=1000&action=rules.change&cursor={page['next']}")
    assert [each["reason"] for each in rest["items"]] == ["change 2", "change 1", "change 0"] and rest["next"] is None
    assert admin.get("/audit?actor=nobody")["items"] == []
    assert admin.get("/audit?from=2100-01-01T00:00:00Z")["items"] == []
    status, text, fields = admin.call("GET", "/audit?format=ndjson", raw=True)
    assert fields["Content-Type"] == "application/x-ndjson" and len(text.splitlines()) == 5
    assert json.loads(text.splitlines()[0])["before"]["version"] == 4


def test_a_repeated_post_is_done_once(start):  # noqa: F811
    admin = Admin(start("--admin-tokens", "a-token-of-some-length").admin, "a-token-of-some-length")
    body, key = {"name": "ada", "role": "admin"}, {"Idempotency-Key": "k1"}
    first, second = admin.call("POST", "/tokens", body, key), admin.call("POST", "/tokens", body, key)
    assert first[0] == 201 and second[:2] == first[:2] and second[2]["Idempotent-Replayed"] == "true"
    assert admin.call("POST", "/tokens", {**body, "name": "bob"}, key)[0] == 422
    assert len(admin.audit()) == 1
