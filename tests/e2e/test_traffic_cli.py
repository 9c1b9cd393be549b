"""weir why, tail, status and top against a running server; top in a real terminal (tmux)."""
import json
import re
import shutil
import subprocess
import threading
import time

import pytest
from test_cli import DEADLINE_S, WEIR, start  # noqa: F401
from test_traffic_api import RULES, admin, check, get, wait_for


@pytest.fixture
def server(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(RULES)
    return start("--rules", str(tmp_path / "rules.yaml"))


def weir(server, *words, **more):
    return subprocess.run([WEIR, *words, "--admin", f"http://{server.admin}"], capture_output=True, text=True, timeout=DEADLINE_S, **more)


def test_why_shows_denials_and_the_state_now(server):
    for _ in range(5):
        check(server, tenant="acme", action="search")
    done = weir(server, "why", "tenant=acme", "action=search")
    assert done.returncode == 0, done.stderr
    assert re.search(r"denied by per-tenant: limit_exceeded(, 2 times in that second)?, action search", done.stdout), done.stdout
    assert "0 of 3 left, costs 1, free again after" in done.stdout
    assert "would be denied: limit_exceeded" in done.stdout and "per-tenant: 3 of 3 used, free again at" in done.stdout
    assert "2 other rules do not apply" in done.stdout
    assert weir(server, "why", "tenant=acme", "--at", "0s").returncode == 0
    early = weir(server, "why", "tenant=acme", "--at", "2h", "--within", "60")
    assert early.returncode == 1 and "no denial of such a request is in the journal at that time" in early.stdout
    answer = json.loads(weir(server, "why", "tenant=acme", "--json").stdout)
    assert answer["decisions"]["items"][0]["rule"] == "per-tenant" and answer["now"]["rules"] == []


PENALTY = """version: 1
rules:
  - id: login
    match: {action: login}
    per: [account]
    limit: 2
    burst: 4
    window: 1h
    penalty: {after: 1, within: 10m, block: 10m, decay: 1h}
"""


def test_why_names_the_penalty_and_its_end(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(PENALTY)
    server = start("--rules", str(tmp_path / "rules.yaml"))
    for _ in range(6):
        check(server, action="login", account="ann")
    done = weir(server, "why", "action=login", "account=ann")
    assert done.returncode == 0, done.stderr
    assert "of 4 left, costs 1, penalty ends after" in done.stdout, done.stdout
    now = done.stdout[done.stdout.index("\nnow "):]
    assert re.search(r"would be denied: penalized\n +login: \d of 4 used; refused by a penalty until [0-9: -]+; ", now), now


def test_why_says_what_is_wrong(server):
    done = weir(server, "why", "tenant=acme", "--at", "noon")
    assert done.returncode == 2 and "'noon' is not a time, expected 14:03" in done.stderr
    done = subprocess.run([WEIR, "why", "tenant=acme", "--admin", "http://127.0.0.1:1"], capture_output=True, text=True)
    assert done.returncode == 3 and "cannot reach" in done.stderr


def test_tail_shows_denials_as_they_are_made(server):
    tail = subprocess.Popen([WEIR, "tail", "tenant=acme", "--outcome", "denied", "--count", "1", "--admin", f"http://{server.admin}"],
                            stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + DEADLINE_S
    while tail.poll() is None and time.monotonic() < end:
        check(server, tenant="acme", action="search")
        time.sleep(0.05)
    out, _ = tail.communicate(timeout=1)
    assert tail.returncode == 0 and re.search(r"denied   per-tenant +limit_exceeded.* tenant=#[0-9a-f]{12}", out), out


def test_tail_prints_one_object_a_line_for_machines(server):
    tail = subprocess.Popen([WEIR, "tail", "--json", "--count", "2", "--admin", f"http://{server.admin}"], stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + DEADLINE_S
    while tail.poll() is None and time.monotonic() < end:
        check(server, tenant="acme", action="search")
        time.sleep(0.05)
    lines = tail.communicate(timeout=1)[0].splitlines()
    assert len(lines) == 2 and all("rules" in json.loads(line) for line in lines)


def test_tail_reports_a_bad_filter(server):
    done = weir(server, "tail", "--reason", "because")
    assert done.returncode == 2 and "expected a reason such as limit_exceeded" in done.stderr


def test_status_is_one_glance_and_an_exit_code(server):
    for _ in range(5):
        check(server, tenant="acme", action="search")
    done = wait_for(lambda: (d := weir(server, "status")) and "denies     per-tenant" in d.stdout and d)
    assert done.returncode == 0 and "  ok\n" in done.stdout
    assert re.search(r"store      memory, breaker closed, \d+ keys? in [\d.]+ kB\ndatabase   sqlite\nrules      version", done.stdout)
    assert json.loads(weir(server, "status", "--json").stdout)["state"]["store"]["ok"]


def test_status_says_that_load_is_shed(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nshedding: {capacity: {rate: 10/s}, classes: [{name: all, shed_at: 50%}]}\n"
        "rules: [{id: a, per: [tenant], limit: 100000, window: 1h, on_store_failure: allow}]\n")
    server = start("--rules", str(tmp_path / "rules.yaml"))

    def shed():
        for _ in range(50):
            check(server, tenant="acme")
        done = weir(server, "status")
        return re.search(r"  shedding\ndecisions .*/s denied .*, [1-9]\d*(\.\d)?/s shed", done.stdout) and done
    assert wait_for(shed).returncode == 0


def test_status_reports_an_invalid_rules_file(server, tmp_path):
    (tmp_path / "rules.yaml").write_text("version: 1\nrules: [{id: x}]\n")
    done = wait_for(lambda: (d := weir(server, "status")).returncode == 1 and d)
    assert "trouble" in done.stdout and "the rules file is invalid, older rules are used" in done.stdout


def test_more_than_the_busiest_rules_are_told_on_request(start, tmp_path):  # noqa: F811
    rules = "".join(f"  - {{id: number-{i}, match: {{action: a{i}}}, per: [tenant], limit: 5, window: 1h, on_store_failure: deny}}\n" for i in range(40))
    (tmp_path / "rules.yaml").write_text("version: 1\nrules:\n" + rules)
    server = start("--rules", str(tmp_path / "rules.yaml"))
    for i in range(40):
        check(server, tenant="acme", action=f"a{i}")

    def told(query):
        return [rule["rule"] for rule in get(server, "/overview" + query)["top_rules"]]
    wait_for(lambda: len(told("?rules=1000")) == 40)
    assert "number-39" in told("?rules=1000") and len(told("?rules=12")) == 12 and len(told("")) == 10
    assert admin(server, "/overview?rules=1001")[0] == 400


def test_top_without_a_terminal_says_what_to_use(server):
    done = weir(server, "top")
    assert done.returncode == 2 and "use `weir status` in scripts" in done.stderr


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
class TestTop:
    @pytest.fixture
    def screen(self, server, tmp_path):
        socket = str(tmp_path / "tmux")

        def tmux(*words):
            return subprocess.run(["tmux", "-S", socket, *words], capture_output=True, text=True, timeout=DEADLINE_S)

        running = True

        def load():
            while running:
                check(server, tenant="acme", action="search")
                check(server, tenant="globex", action="export")
                time.sleep(0.02)

        thread = threading.Thread(target=load)
        thread.start()
        command = f"{WEIR} top --every 0.2 --admin http://{server.admin}; echo top ended with $?; sleep 60"
        started = tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", command)
        assert started.returncode == 0, started.stderr

        class Screen:
            def text(self):
                return tmux("capture-pane", "-p").stdout

            def keys(self, *keys):
                tmux("send-keys", *keys)

            def resize(self, columns, rows):
                tmux("resize-window", "-x", str(columns), "-y", str(rows))

            def wait(self, pattern):
                return wait_for(lambda: re.search(pattern, self.text(), re.S))

        yield Screen()
        running = False
        thread.join()
        tmux("kill-server")

    def test_shows_the_server_and_follows_keys_and_sizes(self, screen):
        screen.wait(r"weir top .*/s allowed .*denied .*p50 .*store memory \(closed\)  database sqlite")
        screen.wait(r"per-tenant +[\d.]+ +[1-9][\d.]*")
        screen.wait(r"MOST DENIED .*[0-9a-f]{12}")
        assert all(len(line) <= 80 for line in screen.text().splitlines()) and len(screen.text().splitlines()) <= 24
        screen.keys("s")
        screen.wait("sort: passed")
        screen.keys("/")
        screen.wait("filter: _")
        screen.keys("sec", "Enter")
        screen.wait(r"/ filter: sec")
        assert "per-tenant " not in screen.text().split("MOST DENIED")[0]
        screen.keys("Escape")
        screen.wait(r"per-tenant +[\d.]+")
        screen.keys("p")
        screen.wait("paused")
        screen.resize(120, 40)
        screen.wait(r"RULE {70,}")
        screen.resize(50, 14)
        wait_for(lambda: all(len(line) <= 50 for line in screen.text().splitlines()) and "q quit" in screen.text())
        screen.keys("q")
        screen.wait("top ended with 0")

    def test_says_when_the_server_is_gone_and_recovers_the_terminal(self, screen, server):
        screen.wait("weir top")
        server.process.terminate()
        screen.wait("cannot reach .*trying again")
        screen.keys("q")
        screen.wait("top ended with 0")
