#!/usr/bin/env python3
"""Takes the pictures of docs/images/console: WEIR_BIN=build/bin/weir tests/console/take_pictures.py [FOLDER]

Starts a server with tenants, overrides, blocks and quotas, sends it requests for five minutes, in the last of which one
caller asks for too much, and photographs every screen.
"""

import http.client
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "e2e")]
import node_packages  # noqa: E402
from test_cli import Server  # noqa: E402

PACKAGES = {"playwright-core": "1.58.2", "@axe-core/playwright": "4.11.3", "upng-js": "2.1.0"}
RULES = """version: 1
rules:
  - id: search-per-user
    match: {path: /v1/search}
    per: [tenant, user]
    algorithm: token-bucket
    limit: 600
    window: 60s
    burst: 100

  - id: search-per-tenant
    match: {path: /v1/search}
    per: [tenant]
    algorithm: sliding-counter
    limit: 6000
    window: 60s
    plans: {pro: {limit: 12000}}

  - {id: searches-hour, match: {path: /v1/search}, per: [tenant], algorithm: quota, limit: 9000, period: hour}
  - {id: search-streams, match: {path: /v1/search}, per: [tenant], algorithm: concurrency, limit: 40, lease: 30m}

  - id: login-account
    match: {action: login}
    per: [account]
    algorithm: sliding-counter
    limit: 10
    window: 60s
    penalty: {after: 50, within: 1h, block: 30s}

  - {id: uploads-day, match: {action: upload}, per: [tenant], algorithm: token-bucket, limit: 10000, window: 24h}
  - {id: exports-active, match: {action: export}, per: [tenant], algorithm: concurrency, limit: 3, lease: 30m}
  - {id: export-rows, match: {action: export}, per: [tenant], algorithm: token-bucket, limit: 5000, window: 1h, candidate: {limit: 4000}}
  - {id: exports-hour, match: {action: export}, per: [tenant], algorithm: quota, limit: 1000, period: hour, enforcement: strict}
  - {id: global-capacity, per: [], algorithm: gcra, limit: 200, window: 1s, mode: shadow}
"""
TENANTS = ["globex", "initech", "hooli", "umbrella", "stark", "wayne", "soylent", "tyrell", "cyberdyne", "wonka"]
STEPS_PER_SECOND = 5


class Admin:
    def __init__(self, address):
        self.address, self.token = address, None

    def call(self, method, path, body=None, **fields):
        connection = http.client.HTTPConnection(self.address, timeout=20)
        if self.token:
            fields["Authorization"] = f"Bearer {self.token}"
        connection.request(method, f"/admin/v1{path}", None if body is None else json.dumps(body), fields)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status < 300, (method, path, answer.status, text)
        return json.loads(text) if text else None


class Load(threading.Thread):
    """About 130 requests a second, and 60 more of one caller in the last of `seconds`."""

    def __init__(self, address, seconds):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(address, timeout=20)
        self.begun, self.seconds, self.stopping = time.monotonic(), seconds, threading.Event()

    def requests(self, step):
        passed = time.monotonic() - self.begun
        wave = 1 + 0.12 * math.sin(passed / 20) + 0.05 * math.sin(passed / 3.1)
        search = {"path": "/v1/search", "method": "GET"}
        for number in range(round(24 * wave)):
            tenant = TENANTS[(step + number * 3) % len(TENANTS)]
            yield {"tenant": tenant, "user": f"u{(step * 7 + number) % 4}", **search}
        if step % 3 == 0:
            yield {"account": "anna@example.com", "action": "login"}
        for _ in range(12 if passed > self.seconds - 70 else 1):
            yield {"tenant": "acme", "user": "anna", **search}

    def run(self):
        step = 0
        while not self.stopping.wait(max(0, self.begun + step / STEPS_PER_SECOND - time.monotonic())):
            checks = [{"attributes": each} for each in self.requests(step)]
            self.connection.request("POST", "/v1/check/batch", json.dumps({"requests": checks}), {"Content-Type": "application/json"})
            self.connection.getresponse().read()
            if step % 4 == 0:
                self.ask("/v1/check", {"attributes": {"tenant": "acme", "action": "export"}})
            step += 1

    def ask(self, path, body):
        self.connection.request("POST", path, json.dumps(body))
        answer = self.connection.getresponse()
        return answer.read()

    def stop(self):
        self.stopping.set()
        self.join()


def furnish(admin):
    """What operators have done before the pictures are taken; answers the tokens of each role."""
    texts = [RULES.replace("limit: 600\n", "limit: 300\n"), RULES]
    etag = admin.call("GET", "/rules")["etag"]
    for text, reason in zip(texts, ["first rules", "search is slow for pro customers"]):
        etag = admin.call("PUT", "/rules", {"text": text, "reason": reason}, **{"If-Match": f'"{etag}"'})["etag"]
    tokens = {}
    for role, name in (("admin", "ops-anna"), ("operator", "ops-ben"), ("reader", "dashboards")):
        tokens[role] = admin.call("POST", "/tokens", {"name": name, "role": role, "expires_at": "30d"})["token"]
        admin.token = tokens["admin"]
    for name, plan, zone in (("acme", "pro", "Europe/Berlin"), ("globex", "pro", "UTC"), ("initech", "free", "America/Chicago"),
                             ("hooli", "free", "UTC"), ("umbrella", "free", "Europe/London")):
        body = {"plan": plan, "zone": zone, "settings": {"support": "gold"} if plan == "pro" else {}, "note": "", "reason": "signed up"}
        admin.call("PUT", f"/tenants/{name}", body, **{"If-None-Match": "*"})
    for name, tenant in (("production", "acme"), ("ci", "acme"), ("production", "globex"), ("mobile app", "initech")):
        admin.call("POST", "/keys", {"name": name, "tenant": tenant, "attributes": {"team": "search"} if name == "ci" else {}})
    admin.call("POST", "/overrides", {"rules": ["search-per-tenant"], "when": {"tenant": "acme"}, "limit": 20000, "until": "12m", "reason": "launch day"})
    admin.call("POST", "/overrides", {"rules": ["*"], "when": {"tenant": "globex"}, "mode": "shadow", "until": "7d", "reason": "migration weekend"})
    admin.call("POST", "/blocks", {"when": {"ip": "198.51.100.7"}, "until": "41m", "reason": "credential stuffing"})
    admin.call("POST", "/blocks", {"when": {"tenant": "badbot"}, "until": "7d", "reason": "scraping, told by support"})
    return tokens


def use(load):
    for tenant, used in (("hooli", 9400), ("umbrella", 8800), ("stark", 8100)):
        load.ask("/v1/check", {"attributes": {"tenant": tenant, "action": "upload"}, "cost": used})
    for tenant, used in (("globex", 310), ("initech", 940), ("hooli", 40)):
        load.ask("/v1/check", {"attributes": {"tenant": tenant, "action": "export"}, "cost": used})
    for _ in range(2):
        load.ask("/v1/leases", {"attributes": {"tenant": "acme", "action": "export"}})
    search = {"tenant": "acme", "user": "anna", "path": "/v1/search"}
    for _ in range(2):
        load.ask("/v1/leases", {"attributes": search})
    load.ask("/v1/reservations", {"attributes": search, "amount": 60, "ttl_ms": 1500000})
    for tenant, amount in (("globex", 80), ("globex", 45)):
        load.ask("/v1/reservations", {"attributes": {"tenant": tenant, "action": "export"}, "amount": amount, "ttl_ms": 1800000})


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "images" / "console")
    seconds = int(os.environ.get("WEIR_PICTURES_AFTER", "320"))
    modules = node_packages.installed("console-pictures", PACKAGES)
    with tempfile.TemporaryDirectory() as place:
        server = Server("--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0", "--rules", "database", "--data-dir", f"{place}/data",
                        "--log-subjects", "plain", "--journal-memory", "64MiB", log=f"{place}/log")
        load = None
        try:
            tokens = furnish(Admin(server.admin))
            load = Load(server.http, seconds)
            use(load)
            load.start()
            time.sleep(seconds)
            folder.mkdir(parents=True, exist_ok=True)
            env = {**os.environ, "NODE_PATH": str(modules), "WEIR_ADMIN": server.admin, "WEIR_PICTURES": str(folder),
                   **{"TOKEN_" + role.upper(): token for role, token in tokens.items()}}
            subprocess.run(["node", str(ROOT / "tests" / "console" / "run.js"), "pictures"], check=True, env=env, timeout=1200)
        finally:
            if load:
                load.stop()
            server.stop()


if __name__ == "__main__":
    main()
