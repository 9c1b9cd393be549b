"""The program as people and scripts use it: WEIR_BIN names it. Standard library and pytest only."""

import http.client
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

WEIR = os.environ.get("WEIR_BIN", str(pathlib.Path(__file__).parents[2] / "build" / "bin" / "weir"))
DEADLINE_S = 20
QUIET = {k: v for k, v in os.environ.items() if not k.startswith("WEIR_")}


def weir(*words, env=None, **options):
    return subprocess.run([WEIR, *words], capture_output=True, text=True, timeout=60, env=env or QUIET, **options)


def rules_text(limit, rule="per-tenant"):
    return (
        "version: 1\nrules:\n"
        f"  - {{id: {rule}, per: [tenant], algorithm: fixed-window, limit: {limit}, window: 3650d, on_store_failure: allow}}\n"
    )


class Server:
    """A running `weir serve --log-format json` and its log, line by line."""

    def __init__(self, *flags, log, env=None):
        self.log_path = log
        self.errors = open(log, "w")
        self.process = subprocess.Popen(
            [WEIR, "serve", "--log-format", "json", *flags],
            stdout=subprocess.PIPE, stderr=self.errors, text=True, env={**(env or QUIET), "XDG_STATE_HOME": f"{log}.state"},
        )
        listening = self.await_event("listening")
        self.http = listening["http"]
        self.admin = listening["admin"]

    def events(self):
        lines = pathlib.Path(self.log_path).read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def await_event(self, name, count=1):
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            found = [event for event in self.events() if event["event"] == name]
            if len(found) >= count:
                return found[-1]
            assert self.process.poll() is None or name == "stopped", pathlib.Path(self.log_path).read_text()
            time.sleep(0.02)
        raise AssertionError(f"no {name!r} in {self.events()}")

    def await_metric(self, line):
        end = time.monotonic() + DEADLINE_S
        while line not in self.metrics():
            assert time.monotonic() < end, f"no {line!r} in {self.metrics()}"
            time.sleep(0.02)

    def call(self, path, body=None, listener=None, headers=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{listener or self.http}{path}", data=data, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def check(self, tenant="acme"):
        return self.call("/v1/check", {"attributes": {"tenant": tenant}})[0]

    def metrics(self):
        return self.call("/metrics", listener=self.admin)[1]

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(DEADLINE_S)
        self.process.stdout.close()
        self.errors.close()
        return code


@pytest.fixture
def start(tmp_path):
    running = []

    def begin(*flags, env=None):
        ports = ["--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0"]
        running.append(Server(*ports, *flags, log=tmp_path / f"log-{len(running)}", env=env))
        return running[-1]

    yield begin
    for server in running:
        server.stop()


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(rules_text(2))
    return path


def test_quickstart_allows_and_then_denies(start):
    server = start()
    body = {"attributes": {"tenant": "acme", "api_key": "demo"}}
    answers = [server.call("/v1/check", body)[0] for _ in range(6)]
    assert answers == [200] * 5 + [429]


def test_text_log_prints_addresses_and_a_command_that_works(tmp_path):
    process = subprocess.Popen(
        [WEIR, "serve", "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=QUIET,
    )
    try:
        lines = [process.stdout.readline() for _ in range(6)]
        assert lines[0].startswith("weir listens on 127.0.0.1:") and lines[0].endswith(" (HTTP API)\n")
        assert lines[1].strip().startswith("and 127.0.0.1:") and "(admin: /metrics" in lines[1]
        assert lines[2].startswith("console: http://127.0.0.1:") or "make console" in lines[2]
        command = lines[5].strip()
        assert command.startswith("curl ")
        answer = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=20)
        if answer.returncode != 127:  # curl is installed
            assert answer.stdout.startswith("HTTP/1.1 200"), answer
    finally:
        process.terminate()
        out, err = process.communicate(timeout=DEADLINE_S)
    assert "\x1b" not in err, "no colours where there is no terminal"
    assert process.returncode == 0


def test_json_log_is_json_and_keeps_stdout_clean(start, rules):
    server = start("--rules", str(rules))
    server.process.terminate()
    assert server.process.wait(DEADLINE_S) == 0
    names = [event["event"] for event in server.events()]
    assert names == ["database_migrated", "rules_loaded", "admin_open", "listening", "draining", "stopped"]
    for event in server.events():
        assert event["ts"].endswith("Z") and event["level"] == "info" and event["msg"]
    assert server.process.stdout.read() == ""


def test_check_against_a_server_exits_with_the_answer(start, rules):
    server = start("--rules", str(rules))
    url = f"http://{server.http}"
    assert weir("check", "tenant=acme", "--server", url).returncode == 0
    last = weir("check", "tenant=acme", "--server", url, "--json")
    assert last.returncode == 0 and json.loads(last.stdout)["remaining"] == 0
    denied = weir("check", "tenant=acme", "--server", url)
    assert denied.returncode == 1 and denied.stdout.startswith("denied by per-tenant (limit_exceeded)")
    assert "\x1b" not in denied.stdout
    body = json.loads(weir("check", "tenant=acme", "--server", url, "--json").stdout)
    assert body["allowed"] is False and body["status"] == 429
    peek = weir("check", "tenant=other", "--server", url, "--peek", "--json")
    again = weir("check", "tenant=other", "--server", url, "--peek", "--json")
    assert json.loads(peek.stdout)["remaining"] == json.loads(again.stdout)["remaining"]


def test_check_finds_its_server_in_the_environment(start, rules):
    server = start("--rules", str(rules))
    env = {**QUIET, "WEIR_SERVER": f"http://{server.http}"}
    assert weir("check", "tenant=acme", env=env).returncode == 0


def test_exit_codes(rules, tmp_path):
    assert weir("check", "tenant=acme", "--server", "http://127.0.0.1:1").returncode == 3
    assert weir("check", "nonsense").returncode == 2
    assert weir("check", "tenant=acme", "--local", str(rules)).returncode == 0
    assert weir("check", "tenant=acme", "--local", str(rules), "--cost", "3").returncode == 1
    assert weir("rules", "validate", str(rules)).returncode == 0
    rules.write_text("version: 1\nrules: [{id: a, limt: 1}]\n")
    bad = weir("rules", "validate", str(rules))
    assert bad.returncode == 2 and f"{rules}:2:" in bad.stderr and bad.stdout == ""
    assert json.loads(weir("rules", "validate", str(rules), "--json").stdout)["valid"] is False
    assert weir("serve", "--rules", str(rules), "--listen-http", "127.0.0.1:0").returncode == 2
    assert weir("--nonsense").returncode == 2
    assert weir().returncode == 2
    assert weir("version").returncode == 0


def test_variables_and_flags_and_the_file(start, rules, tmp_path):
    config = tmp_path / "weir.yaml"
    config.write_text("rules: rules.yaml\nlog: {format: json}\nlisten: {http: '127.0.0.1:0', admin: 'off'}\n")
    env = {**QUIET, "WEIR_LISTEN_ADMIN": "127.0.0.1:0", "WEIR_CONFIG": str(config)}
    server = Server("--loops", "1", log=tmp_path / "log", env=env)
    try:
        assert server.admin.startswith("127.0.0.1:"), "the variable wins over the file"
        assert [server.check() for _ in range(3)] == [200, 200, 429]
    finally:
        assert server.stop() == 0


def test_sighup_reloads_and_bad_rules_leave_the_last_good(start, rules):
    server = start("--rules", str(rules))
    assert [server.check() for _ in range(3)] == [200, 200, 429]
    rules.write_text("version: 1\nrules: [{id: a, limt: 1}]\n")
    server.process.send_signal(signal.SIGHUP)
    rejected = server.await_event("rules_rejected")
    assert "limt" in rejected["error"]
    assert server.check() == 429 and server.check("other") == 200
    status, ready = server.call("/readyz", listener=server.admin)
    assert status == 200 and "limt" in json.loads(ready)["rules"]["error"]
    assert "weir_rules_current 0" in server.metrics()
    server.await_metric('weir_rules_reloads_total{result="failure"} 2\n')  # the watch has seen the edit too
    server.process.send_signal(signal.SIGHUP)
    server.await_event("rules_rejected", 2)
    rules.write_text(rules_text(3))
    server.process.send_signal(signal.SIGHUP)
    server.await_event("rules_loaded", 2)
    assert [server.check() for _ in range(2)] == [200, 429], "state survives, the new limit applies"
    rejected = [event for event in server.events() if event["event"] == "rules_rejected"]
    assert len(rejected) == 2, "one line for each signal, none for the watch"


def test_an_edit_and_a_sighup_load_the_rules_once(start, rules):
    server = start("--rules", str(rules))
    rules.write_text(rules_text(3))
    server.process.send_signal(signal.SIGHUP)
    server.await_event("rules_loaded", 2)
    server.await_metric('weir_rules_reloads_total{result="unchanged"} 1\n')  # the watch has seen the edit too
    server.process.send_signal(signal.SIGHUP)
    server.await_event("rules_unchanged")
    assert [event["event"] for event in server.events()].count("rules_loaded") == 2
    assert 'weir_rules_reloads_total{result="success"} 2\n' in server.metrics()


def test_a_change_is_not_lost_when_descriptors_run_out(start, rules, tmp_path):
    server = start("--rules", str(rules))
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (0, hard))
    (tmp_path / "fresh").write_text(rules_text(3))
    os.replace(tmp_path / "fresh", rules)
    rejected = server.await_event("rules_rejected")
    assert "Too many open files" in rejected["error"] and rejected["retry_ms"] > 0
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
    server.await_event("rules_loaded", 2)
    assert "weir_rules_current 1" in server.metrics()
    status, ready = server.call("/readyz", listener=server.admin)
    assert status == 200 and json.loads(ready)["rules"] == {"current": True, "loaded": 1}


@pytest.mark.parametrize("kind", ["in-place", "rename", "symlink"])
def test_a_changed_file_is_taken_up(start, tmp_path, kind):
    """In-place write, atomic rename, and the symlink swap of a ConfigMap."""
    path = tmp_path / "live.yaml"
    if kind == "symlink":
        for version, limit in (("v1", 1), ("v2", 2)):
            (tmp_path / version).mkdir()
            (tmp_path / version / "live.yaml").write_text(rules_text(limit))
        (tmp_path / "data").symlink_to("v1")
        path.symlink_to("data/live.yaml")
    else:
        path.write_text(rules_text(1))
    server = start("--rules", str(path))
    assert [server.check() for _ in range(2)] == [200, 429]
    if kind == "in-place":
        path.write_text(rules_text(2))
    elif kind == "rename":
        (tmp_path / "fresh").write_text(rules_text(2))
        os.replace(tmp_path / "fresh", path)
    else:
        (tmp_path / "fresh").symlink_to("v2")
        os.replace(tmp_path / "fresh", tmp_path / "data")
    server.await_event("rules_loaded", 2)
    assert [server.check() for _ in range(2)] == [200, 429]


def test_snapshot_survives_a_restart_and_a_kill(start, rules, tmp_path):
    flags = ["--rules", str(rules), "--memory-snapshot", str(tmp_path / "buckets")]
    server = start(*flags)
    assert [server.check() for _ in range(2)] == [200, 200]
    assert server.stop() == 0
    assert (tmp_path / "buckets.key").stat().st_mode & 0o777 == 0o600
    server = start(*flags)
    assert server.check() == 429
    server.process.kill()
    server.process.wait()
    server = start(*flags)
    assert server.check() == 429


def test_sigterm_finishes_what_is_begun(start, rules):
    server = start("--rules", str(rules))
    host, port = server.http.split(":")
    body = b'{"attributes":{"tenant":"acme"}}'
    with socket.create_connection((host, int(port)), timeout=10) as begun:
        begun.sendall(b"POST /v1/check HTTP/1.1\r\nHost: w\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert server.check("other") == 200
        server.process.terminate()
        server.await_event("draining")
        begun.sendall(body)
        assert begun.recv(65536).startswith(b"HTTP/1.1 200")
    assert server.process.wait(DEADLINE_S) == 0


def test_sigterm_answers_requests_that_cross_it(start, rules):
    server = start("--rules", str(rules), "--drain-timeout", "60s", "--drain-grace", "60s")
    kept = http.client.HTTPConnection(server.http, timeout=DEADLINE_S)
    kept.request("GET", "/healthz")
    answer = kept.getresponse()
    assert answer.status == 200 and answer.read() and answer.headers["Connection"] is None
    server.process.terminate()
    server.await_event("draining")
    kept.request("POST", "/v1/check", b'{"attributes":{"tenant":"acme"}}')
    answer = kept.getresponse()
    assert answer.status == 200 and answer.read() and answer.headers["Connection"] == "close"
    kept.close()
    assert server.process.wait(DEADLINE_S) == 0


def test_a_second_signal_ends_at_once(start, rules):
    server = start("--rules", str(rules), "--drain-timeout", "3600s")
    host, port = server.http.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as begun:
        begun.sendall(b"POST /v1/check HTTP/1.1\r\n")
        assert server.check("other") == 200
        server.process.terminate()
        server.await_event("draining")
        server.process.terminate()
        assert server.process.wait(DEADLINE_S) != 0


def test_a_port_in_use_is_named(start, rules):
    server = start("--rules", str(rules))
    second = weir("serve", "--listen-http", server.http, "--listen-admin", "off")
    assert second.returncode == 3
    assert f"{server.http} is in use" in second.stderr and "--listen-http" in second.stderr


def test_admin_tokens(start, rules):
    server = start("--rules", str(rules), "--admin-tokens", "one,two")
    assert server.call("/metrics", listener=server.admin)[0] == 401
    status, _ = server.call("/metrics", listener=server.admin, headers={"Authorization": "Bearer two"})
    assert status == 200


def test_unix_socket(start, rules, tmp_path):
    path = tmp_path / "http.sock"
    server = start("--rules", str(rules), "--listen-http", f"unix:{path}")
    assert server.http == f"unix:{path}"
    assert weir("check", "tenant=acme", "--server", f"unix:{path}").returncode == 0


def test_bench(start, rules):
    server = start("--rules", str(rules))
    done = weir("bench", "tenant=t{}", "--keys", "5", "--connections", "2", "--duration", "0.3", "--json",
                "--server", f"http://{server.http}")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["allowed"] == 10 and result["denied"] > 0 and result["failed"] == 0
    assert result["latency_us"]["p50"] <= result["latency_us"]["p99"]


def test_bench_at_a_rate(start, rules):
    server = start("--rules", str(rules))
    done = weir("bench", "tenant=t{}", "--keys", "100", "--mix", "hot", "--rate", "50", "--duration", "400ms", "--json",
                "--server", f"http://{server.http}")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["requests"] + result["unsent"] == 20 and result["target_per_second"] == 50
    assert result["latency_us"]["p999"] <= result["latency_us"]["max"]


def test_a_benchmark_that_fails_says_why_and_reports_no_rate(start, rules, tmp_path):
    gone = weir("bench", "a=b", "--server", f"unix:{tmp_path}/none.sock", "--json")
    assert gone.returncode == 3
    error = json.loads(gone.stdout)["error"]
    assert error["code"] == "unavailable" and error["message"].startswith("all 160 calls failed: cannot reach unix:")
    server = start("--rules", str(rules))
    refused = weir("bench", "a=" + "x" * 4096, "b=" + "x" * 4096, *[f"c{i}=b" for i in range(62)], "--connections", "1",
                   "--server", f"http://{server.admin}")
    assert refused.returncode == 3 and "rate" not in refused.stdout and "all 10 calls failed: " in refused.stderr


def test_check_shows_burst_and_limit_apart(start, tmp_path):
    rules = tmp_path / "burst.yaml"
    rules.write_text("version: 1\nrules:\n"
                     "  - {id: search, per: [tenant], algorithm: gcra, limit: 120, window: 60s, burst: 200}\n"
                     "  - {id: size-per-year, per: [tenant], algorithm: fixed-window, limit: 5, window: 365d}\n")
    server = start("--rules", str(rules))
    done = weir("check", "tenant=acme", "--server", f"http://{server.http}")
    first, search, sizes = done.stdout.splitlines()
    assert "  199 of 200 left (limit 120 per 60 s, burst 200)  full again in " in search
    assert "  4 of 5 left (limit 5 per 365 days)  " in sizes and " days" in sizes.split("full again in ")[1]
    assert sizes.index("fixed-window") == search.index("gcra"), "columns align"
    assert sizes.index("full again") == search.index("full again")


def test_refund_gives_back_what_was_charged(start, rules):
    server = start("--rules", str(rules))
    url = f"http://{server.http}"
    assert [server.check() for _ in range(3)] == [200, 200, 429]
    done = weir("refund", "tenant=acme", "--cost", "2", "--server", url)
    assert done.returncode == 0 and done.stdout.startswith("refunded 2\n  per-tenant  fixed-window  2 of 2 left"), done
    assert [server.check() for _ in range(3)] == [200, 200, 429]
    answer = weir("refund", "tenant=acme", "--server", url, "--json")
    assert json.loads(answer.stdout)["rules"][0]["remaining"] == 1
    nothing = weir("refund", "user=joe", "--server", url)
    assert nothing.returncode == 0 and nothing.stdout == "no rule applies: nothing was refunded\n"


def test_a_local_decision_ignores_the_server_of_the_environment(rules):
    env = {**QUIET, "WEIR_SERVER": "http://127.0.0.1:1", "WEIR_CA": "/nowhere"}
    assert weir("check", "tenant=acme", "--local", str(rules), env=env).returncode == 0
    both = weir("check", "tenant=acme", "--local", str(rules), "--server", "http://127.0.0.1:1")
    assert both.returncode == 2 and "--server excludes --local" in both.stderr


def test_metrics_pass_promtool(start, rules):
    server = start("--rules", str(rules))
    for _ in range(3):
        server.check()
    assert server.call("/v1/check", {"attributes": 1})[0] == 400
    assert server.call("/nowhere")[0] == 404
    scrape = server.metrics()
    for status, count in {"1xx": 0, "2xx": 2, "3xx": 0, "4xx": 3, "5xx": 0}.items():
        assert f'weir_http_responses_total{{class="{status}"}} {count}\n' in scrape
    for policy in ("allow", "deny", "local", "degrade", "static"):
        assert f'weir_fallback_decisions_total{{policy="{policy}"}} 0\n' in scrape
    assert 'weir_near_limit_total{rule="per-tenant"} 1\n' in scrape
    assert 'weir_checks_total{rule="per-tenant",algorithm="fixed-window",outcome="denied"} 1' in scrape
    try:
        lint = subprocess.run(["promtool", "check", "metrics"], input=scrape, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("promtool is not installed")
    assert lint.returncode == 0, lint.stdout + lint.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_sound(shell):
    script = weir("completion", shell).stdout
    assert "validate" in script
    try:
        checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"{shell} is not installed")
    assert checked.returncode == 0, checked.stderr


def test_bash_completes_verbs_and_options():
    script = weir("completion", "bash").stdout
    ask = script + '\nCOMP_WORDS=(weir rules va); COMP_CWORD=2; _weir; echo "${COMPREPLY[@]}"'
    ask += '\nCOMP_WORDS=(weir check --pe); COMP_CWORD=2; _weir; echo "${COMPREPLY[@]}"\n'
    ask += '\nCOMP_WORDS=(weir ref); COMP_CWORD=1; _weir; echo "${COMPREPLY[@]}"\n'
    ask += '\nCOMP_WORDS=(weir bench --ra); COMP_CWORD=2; _weir; echo "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash"], input=ask, capture_output=True, text=True)
    assert done.stdout.split() == ["validate", "--peek", "refund", "--rate"], done
