"""The table of metrics is true: a real scrape fits it, and every query of the dashboards and alerts runs against a real
Prometheus that scrapes loaded servers, one on the memory store and one on Redis, and returns data."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import pytest
from test_cli import Server, weir

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import metrics_files  # noqa: E402

RULES = """version: 1
rules:
  - {id: per-tenant, per: [tenant], algorithm: fixed-window, limit: 3, window: 1h, on_store_failure: allow}
  - {id: search, match: {action: search}, per: [tenant, user], limit: 1000, window: 1s, on_store_failure: deny, candidate: {limit: 500}}
  - {id: login, match: {action: login}, per: [account], algorithm: fixed-window, limit: 1, window: 1h, on_store_failure: deny,
     penalty: {after: 2, within: 1h, block: 30s, decay: 24h}}
"""
SECONDS = 40


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def tables():
    return json.loads(weir("metrics", "--json").stdout)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Two servers under load, by kind."""
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "rules.yaml").write_text(RULES)
    port = free_port()
    redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"], stdout=subprocess.DEVNULL)
    until = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            assert redis.poll() is None and time.monotonic() < until
            time.sleep(0.05)
    flags = ("--rules", str(folder / "rules.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0")
    made = {}
    for kind, more in {"memory": (), "redis": ("--store", f"redis://127.0.0.1:{port}")}.items():
        env = {**{k: v for k, v in os.environ.items() if not k.startswith("WEIR_")}, "XDG_STATE_HOME": str(folder / kind)}
        made[kind] = Server(*flags, *more, log=folder / f"{kind}.log", env=env)
    yield made
    for node in made.values():
        node.process.send_signal(signal.SIGTERM)
        node.process.wait(20)
    redis.terminate()
    redis.wait(20)


def load(nodes):
    for node in nodes.values():
        for user in range(10):
            node.call("/v1/check", {"attributes": {"tenant": f"t{user % 2}", "user": f"u{user}", "action": "search"}})
            node.call("/v1/check", {"attributes": {"other": "x"}})
            node.call("/v1/check", {"attributes": {"account": "ann", "action": "login"}})


def families(text):
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


def test_generated_files_are_the_committed_ones():
    for path, content in metrics_files.files(os.environ["WEIR_BIN"]).items():
        assert (ROOT / path).read_text() == content, f"run: scripts/metrics_files.py build/bin/weir ({path})"


def test_alerts_are_valid_and_each_has_a_case(tables):
    folder = ROOT / "deploy" / "prometheus"
    for words in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        done = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    cases = set(re.findall(r"alertname: (\w+)", (folder / "alerts_test.yaml").read_text()))
    assert cases == {row["name"] for row in tables["alerts"]}


def test_queries_name_metrics_of_the_table(tables):
    known = {row["name"] for row in tables["metrics"]} | {"up"}
    known |= {f"{row['name']}{end}" for row in tables["metrics"] if row["type"] == "histogram" for end in ("_bucket", "_sum", "_count")}
    for row in tables["panels"]:
        assert set(re.findall(r"\bweir_\w+", row["query"])) <= known, row
    for row in tables["alerts"]:
        assert set(re.findall(r"\b(?:weir_\w+)", row["expression"])) <= known, row


@pytest.mark.parametrize("kind", ["memory", "redis"])
def test_a_scrape_fits_the_table_and_promtool_finds_no_fault(kind, nodes, tables):
    before = families(nodes[kind].metrics())
    rows = {row["name"]: row for row in tables["metrics"]}
    missing = [name for name, row in rows.items() if not row["when"] and name not in before]
    assert not missing, "these exist from the start"
    load(nodes)
    text = nodes[kind].metrics()
    found = families(text)
    assert [name for name in found if name not in rows] == [], "each metric has a row in src/observe/metric_table.cc"
    assert {name: kind for name, kind in found.items() if rows[name]["type"] != kind} == {}
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.M))
    assert {name for name in found if helps[name].replace("\\\\", "\\") != rows[name]["help"]} == set()
    if kind == "redis":
        assert [name for name, row in rows.items() if row["when"] == "with Redis" and name not in found] == []
    for name, labels in re.findall(r"^(\w+)\{([^}]*)\}", text, re.M):
        row = rows.get(re.sub(r"_(bucket|sum|count)$", "", name)) or rows[name]
        assert set(re.findall(r"(\w+)=", labels)) - {"le"} <= set(row["labels"].split(", ")), f"{name}{{{labels}}}"
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr + done.stdout) == (0, "")


@pytest.fixture(scope="module")
def prometheus(nodes, tmp_path_factory):
    """A real Prometheus that scrapes both; a function that queries it."""
    folder = tmp_path_factory.mktemp("prometheus")
    targets = json.dumps([node.admin for node in nodes.values()])
    (folder / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s}}\nrule_files: [{ROOT}/deploy/prometheus/alerts.yaml]\n"
        f"scrape_configs:\n  - {{job_name: weir, static_configs: [{{targets: {targets}}}]}}\n")
    address = f"127.0.0.1:{free_port()}"
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                    f"--web.listen-address={address}"], stdout=log, stderr=log)

    def ask(expression):
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://{address}/api/v1/query?{query}", timeout=10) as answer:
            return json.load(answer)["data"]["result"]

    until = time.monotonic() + SECONDS
    while True:
        load(nodes)
        try:
            if len(ask("rate(weir_decisions_total{reason=\"limit_exceeded\"}[10s]) > 0")) == 2:
                break
        except OSError:
            pass
        assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()
        time.sleep(0.2)
    yield ask
    process.terminate()
    process.wait(20)


def test_every_panel_shows_data(prometheus, tables, nodes):
    has_quotas = "weir_quota_usable" in nodes["memory"].metrics()
    has_database = "weir_database_connected" in nodes["memory"].metrics()
    left_out = {"with quota rules": not has_quotas, "with a database": not has_database}
    empty = []
    for row in tables["panels"]:
        if left_out.get(row["when"]):
            continue
        until = time.monotonic() + 15
        while not (found := prometheus(row["query"].replace("$__rate_interval", "30s"))) and time.monotonic() < until:
            load(nodes)
            time.sleep(0.2)
        if not found:
            empty.append(row["title"])
    assert empty == []


def test_every_alert_runs_and_its_metrics_have_data(prometheus, tables, nodes):
    # Some are there only while something is wrong, or with a feature that these servers do not use.
    sometimes = {"weir_rule_fallback_seconds", "weir_quota_waiting_decisions", "weir_quota_usable"}
    for row in tables["alerts"]:
        prometheus(row["expression"])  # an error would be a 400
        for name in set(re.findall(r"\bweir_\w+", row["expression"])) - sometimes:
            assert prometheus(name), f"{row['name']}: no data for {name}"
