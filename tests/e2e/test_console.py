"""The web console in real Chromium against a real server under load: every screen and action, for each role."""

import gzip
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest
from test_cli import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import node_packages  # noqa: E402

SCRIPT = ROOT / "tests" / "console" / "run.js"
CHROMIUM = shutil.which("chromium")
PACKAGES = {"playwright-core": "1.58.2", "@axe-core/playwright": "4.11.3"}
MOST_COMPRESSED = 250 * 1024
RULES = """version: 1
rules:
  - id: search-per-key
    match: {path: /v1/search}
    per: [tenant, api_key]
    algorithm: token-bucket
    limit: 600
    window: 60s
    burst: 100
  - id: search-per-tenant
    match: {path: /v1/search}
    per: [tenant]
    algorithm: sliding-counter
    limit: 60000
    window: 60s
  - {id: login-account, match: {action: login}, per: [account], algorithm: sliding-counter, limit: 10, window: 60s,
     penalty: {after: 2, within: 1h, block: 30s, decay: 24h}}
  - {id: exports-active, match: {action: export}, per: [tenant], algorithm: concurrency, limit: 3, lease: 60s}
  - {id: global-capacity, per: [], algorithm: gcra, limit: 20, window: 1s, mode: shadow}
  - {id: reports-hour, match: {action: report}, per: [tenant], algorithm: quota, limit: 1000, period: hour, enforcement: strict}
  - {id: 'odd.name', match: {action: odd}, per: [user], algorithm: fixed-window, limit: 100, window: 60s}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def scenarios():
    """The names in tests/console: every function that a file there exports."""
    found = []
    for path in sorted(SCRIPT.parent.glob("*.js")):
        found += re.findall(r"^  async (\w+)\(browser", path.read_text(), re.M)
    return found


class Load:
    """Requests of a few callers, one after the other, until it is stopped."""

    def __init__(self, address):
        self.address = address
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        callers = [
            {"tenant": "acme", "api_key": "hot", "path": "/v1/search", "method": "GET"},
            {"tenant": "acme", "api_key": "hot", "path": "/v1/search", "method": "GET"},
            {"tenant": "initech", "api_key": "calm", "path": "/v1/search", "method": "GET"},
            {"account": "anna", "action": "login"},
            {"tenant": '"><img src=x onerror=alert(1)>', "user": "u1", "action": "odd"},
        ]
        for attributes in itertools.cycle(callers):
            if self.stopping.wait(0.004):
                return
            body = json.dumps({"attributes": attributes}).encode()
            try:
                urllib.request.urlopen(f"http://{self.address}/v1/check", body, timeout=10).close()
            except OSError:
                pass  # a denial, or the server is stopping

    def stop(self):
        self.stopping.set()
        self.thread.join()


@pytest.fixture(scope="module")
def modules():
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    return node_packages.installed("console", PACKAGES)


def call(server, method, path, body=None, token=None, etag=None):
    fields = {"Authorization": f"Bearer {token}"} if token else {}
    if etag is not None:
        fields["If-Match"] = f'"{etag}"'
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{server.admin}{path}", data, fields, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        text = answer.read()
    return json.loads(text) if text else None


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("console")
    server = Server("--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0", "--rules", "database",
                    "--data-dir", str(folder / "data"), log=folder / "log")
    load = None
    try:
        etag = call(server, "GET", "/admin/v1/rules")["etag"]
        call(server, "PUT", "/admin/v1/rules", {"text": RULES, "reason": "first rules"}, etag=etag)
        load = Load(server.http)
        # The first token closes the API, so it must be the admin's.
        server.tokens = {}
        for role in ("admin", "operator", "reader"):
            made = call(server, "POST", "/admin/v1/tokens", {"name": f"ops-{role}", "role": role}, server.tokens.get("admin"))
            server.tokens[role] = made["token"]
        yield server
    finally:
        if load:
            load.stop()
        server.stop()


def run(server, modules, name):
    tokens = {"TOKEN_" + role.upper(): token for role, token in server.tokens.items()}
    done = subprocess.run(
        ["node", str(SCRIPT), name], capture_output=True, text=True, timeout=300,
        env={**os.environ, **tokens, "NODE_PATH": str(modules), "CHROMIUM": CHROMIUM, "WEIR_ADMIN": server.admin,
             "WEIR_HTTP": server.http},
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", scenarios())
def test_in_a_browser(server, modules, name):
    run(server, modules, name)


@pytest.mark.parametrize("name", ["the_server_restarts", "the_server_restarts_and_sessions_end"])
def test_a_server_that_is_stopped_and_started_again(tmp_path, modules, name):
    (tmp_path / "rules.yaml").write_text(RULES)
    listen = [f"127.0.0.1:{free_port()}" for _ in range(2)]

    def begin(log):
        return Server("--listen-http", listen[0], "--listen-admin", listen[1], "--rules", str(tmp_path / "rules.yaml"),
                      "--data-dir", str(tmp_path / "data"), log=tmp_path / log)

    running = [begin("first")]
    load = Load(listen[0])
    env = {**os.environ, "NODE_PATH": str(modules), "CHROMIUM": CHROMIUM, "WEIR_ADMIN": listen[1], "WEIR_HTTP": listen[0]}
    page = None
    try:
        if name.endswith("sessions_end"):
            env["TOKEN_OPERATOR"] = call(running[0], "POST", "/admin/v1/tokens", {"name": "ops", "role": "operator"})["token"]
        page = subprocess.Popen(["node", str(SCRIPT), name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
        assert page.stdout.readline() == "open\n", page.communicate(timeout=60)
        running[0].process.kill()
        running[0].stop()
        assert page.stdout.readline() == "lost\n", page.communicate(timeout=60)
        running.append(begin("second"))
        said, _ = page.communicate(timeout=180)
        assert page.returncode == 0, said
    finally:
        load.stop()
        if page is not None and page.poll() is None:
            page.kill()
        running[-1].stop()


def test_the_console_is_small_and_its_files_can_be_kept(server):
    page = urllib.request.urlopen(f"http://{server.admin}/console", timeout=10).read().decode()
    assets = re.findall(r'"(/console/assets/[^"]+)"', page)
    assert len(assets) == 4, page
    total = 0
    for path in assets:
        request = urllib.request.Request(f"http://{server.admin}{path}", headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            body = answer.read()
            assert answer.headers["Content-Encoding"] == "gzip"
            assert "immutable" in answer.headers["Cache-Control"]
        assert gzip.decompress(body)
        total += len(body)
    assert total < MOST_COMPRESSED
    assert "style=" not in page and not re.search(r"<script(?![^>]*src=)", page), "nothing inline"


def test_the_types_of_the_api_are_those_of_its_document(modules, tmp_path):
    """console/src/api/openapi.d.ts is generated: `npm run types` in console/."""
    tools = node_packages.installed("console-types", {"openapi-typescript": "7.13.0", "typescript": "5.9.3"})
    made = tmp_path / "openapi.d.ts"
    subprocess.run(["node", str(tools / "openapi-typescript" / "bin" / "cli.js"), str(ROOT / "api" / "openapi.json"), "-o", str(made)],
                   check=True, capture_output=True, timeout=120)
    assert made.read_text() == (ROOT / "console" / "src" / "api" / "openapi.d.ts").read_text(), "run `npm run types` in console/"


def test_the_sources_have_no_type_errors(tmp_path):
    """Strict TypeScript, with the packages of the lock file."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    work = tmp_path / "console"
    shutil.copytree(ROOT / "console", work, ignore=shutil.ignore_patterns("node_modules"))
    installed = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], cwd=work, capture_output=True,
                               text=True, timeout=240)
    if installed.returncode != 0:
        pytest.skip("npm cannot install the packages here (no network?)")
    checked = subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit"], cwd=work, capture_output=True, text=True, timeout=240)
    assert checked.returncode == 0, checked.stdout
