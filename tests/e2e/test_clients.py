"""The client code of docs/clients.md, taken out of the page and run against a real server and a table of answers."""

import json
import pathlib
import re
import subprocess
import time
import types
import urllib.error
import urllib.request

import node_packages
import pytest
from test_cli import QUIET, Server

ROOT = pathlib.Path(__file__).parents[2]
TYPESCRIPT = "5.4.5"
NOW = 1_794_744_000  # 2026-11-15 12:00:00 UTC
RULES = "version: 1\nrules:\n  - {id: per-tenant, per: [tenant], algorithm: token-bucket, limit: 2, window: 2s}\n"

# Answers that a service gives in turn; what a good client makes of them: how often it sends, and its waits in seconds
# when chance always draws one half.
CASES = {
    "success": ([{"status": 200}], 1, []),
    "seconds": ([{"status": 429, "retry_after": "2"}, {"status": 200}], 2, [2.05]),
    "a date": ([{"status": 503, "retry_after": "Sun, 15 Nov 2026 12:00:05 GMT"}, {"status": 200}], 2, [5.05]),
    "a date that is past": ([{"status": 503, "retry_after": "Sun, 06 Nov 1994 08:49:37 GMT"}, {"status": 200}], 2, [0.05]),
    "a date as C writes it": ([{"status": 503, "retry_after": "Sun Nov 15 12:00:05 2026"}, {"status": 200}], 2, [5.05]),
    "a date with two digits": ([{"status": 503, "retry_after": "Sunday, 15-Nov-26 12:00:05 GMT"}, {"status": 200}], 2, [5.05]),
    "nonsense": ([{"status": 503, "retry_after": "-7"}, {"status": 200}], 2, [0.05]),
    "backoff doubles, attempts end": ([{"status": 502}] * 9, 4, [0.05, 0.1, 0.2]),
    "silence": ([{"status": 0}, {"status": 200}], 2, [0.05]),
    "a wrong request": ([{"status": 400, "retry_after": "1"}] * 2, 1, []),
    "an internal error": ([{"status": 500}] * 2, 1, []),
    "cost too large": ([{"status": 429, "code": "cost_too_large"}] * 2, 1, []),
    "another code": ([{"status": 429, "code": "limit_exceeded", "retry_after": "1"}, {"status": 200}], 2, [1.05]),
    "too long a wait": ([{"status": 429, "retry_after": "61"}] * 2, 1, []),
    "absurd seconds": ([{"status": 429, "retry_after": "9" * 40}] * 2, 1, []),
    "too long in all": ([{"status": 429, "retry_after": "55"}] * 9, 3, [55.05, 55.1]),
}


def block(kind):
    found = re.findall(r"^```" + kind + r"\n(.*?)^```", (ROOT / "docs" / "clients.md").read_text(), re.M | re.S)
    assert len(found) == 1, f"docs/clients.md has {len(found)} blocks of {kind}"
    return found[0]


@pytest.fixture
def server(tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)
    running = Server("--rules", str(tmp_path / "rules.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "off",
                     log=tmp_path / "log")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def python_client():
    module = types.ModuleType("client")
    exec(compile(block("python"), "docs/clients.md", "exec"), module.__dict__)
    return module


def python_answer(status, headers, code):
    return types.SimpleNamespace(status=status, headers=headers, code=code)


@pytest.fixture(autouse=True)
def far_from_greenwich(monkeypatch):
    """HTTP's dates are in GMT, also those that do not say so."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("name", CASES)
def test_python_makes_of_each_answer_what_it_should(python_client, name):
    answers, sends, waits = CASES[name]
    left, slept = iter(answers), []

    def send():
        told = next(left)
        headers = {"Retry-After": told["retry_after"]} if "retry_after" in told else {}
        return python_answer(told["status"], headers, told.get("code"))

    answer = python_client.call(send, python_client.RetryBudget(), now=lambda: NOW, chance=lambda: 0.5, sleep=slept.append)
    assert answer.status == answers[sends - 1]["status"]
    assert slept == pytest.approx(waits) and len(list(left)) == len(answers) - sends


def test_python_keeps_its_budget(python_client):
    budget, sends = python_client.RetryBudget(percent=10, reserve=5), []

    def send():
        sends.append(1)
        return python_answer(503, {}, None)

    for _ in range(1000):
        python_client.call(send, budget, sleep=lambda _: None)
    assert len(sends) == 1000 + 5 + 99


def test_python_gets_through_a_real_server(python_client, server):
    seen = []

    def send(cost=1):
        body = json.dumps({"attributes": {"tenant": "python"}, "cost": cost}).encode()
        try:
            with urllib.request.urlopen(f"http://{server.http}/v1/check", data=body, timeout=10) as answer:
                seen.append(answer.status)
                return python_answer(answer.status, answer.headers, None)
        except urllib.error.HTTPError as error:
            seen.append(error.code)
            return python_answer(error.code, error.headers, json.load(error)["code"])

    budget = python_client.RetryBudget()
    assert [python_client.call(send, budget).status for _ in range(4)] == [200] * 4
    assert 429 in seen, "no client had to wait, so the test proves nothing"
    before = len(seen)
    assert python_client.call(lambda: send(cost=3), budget).status == 429
    assert len(seen) == before + 1, "a cost that can never fit is sent once"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The TypeScript of the page, compiled strictly; npm keeps the compiler outside the tree."""
    modules = node_packages.installed("typescript", {"typescript": TYPESCRIPT})
    compiler = modules / "typescript" / "bin" / "tsc"
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "client.ts").write_text(block("ts"))
    (folder / "package.json").write_text('{"type": "module"}')
    done = subprocess.run(["node", str(compiler), "--strict", "--target", "es2022", "--module", "es2022", "--lib", "es2022,dom",
                           "client.ts"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def node(folder, script, *words):
    (folder / "run.js").write_text('import { call, RetryBudget } from "./client.js";\n' + script)
    done = subprocess.run(["node", "run.js", *words], cwd=folder, capture_output=True, text=True, timeout=60, env={**QUIET, "TZ": "America/New_York"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


NODE_CASES = """
const results = {};
for (const [name, answers] of Object.entries(JSON.parse(process.argv[2]))) {
  let sent = 0;
  const waits = [];
  const send = async () => {
    const { status, retry_after, code } = answers[sent++];
    if (status === 0) throw new Error("refused");
    const headers = { ...(retry_after && { "Retry-After": retry_after }), ...(code && { "Content-Type": "application/problem+json" }) };
    return new Response(code ? JSON.stringify({ code }) : null, { status, headers });
  };
  const sleep = async (ms) => { waits.push(ms / 1000); };
  const answer = await call(send, new RetryBudget(), { now: () => Number(process.argv[3]) * 1000, chance: () => 0.5, sleep });
  results[name] = { sent, waits, status: answer.status, unread: !answer.bodyUsed };
}
let sends = 0;
const budget = new RetryBudget(10, 5);
for (let i = 0; i < 1000; i++) {
  await call(async () => { sends++; return new Response(null, { status: 503 }); }, budget, { sleep: async () => {} });
}
let thrown = "";
await call(async () => { throw new Error("refused"); }, new RetryBudget(), { sleep: async () => {} }).catch((e) => { thrown = e.message; });
console.log(JSON.stringify({ results, sends, thrown }));
"""

NODE_REAL = """
const seen = [];
const send = (cost) => async () => {
  const body = JSON.stringify({ attributes: { tenant: "typescript" }, cost });
  const answer = await fetch(`http://${process.argv[2]}/v1/check`, { method: "POST", body });
  seen.push(answer.status);
  return answer;
};
const budget = new RetryBudget();
const got = [];
for (let i = 0; i < 4; i++) got.push((await call(send(1), budget)).status);
const before = seen.length;
const large = await (await call(send(3), budget)).json();
console.log(JSON.stringify({ got, denied: seen.slice(0, before).filter((s) => s === 429).length, large: large.code, once: seen.length - before }));
"""


def test_typescript_makes_of_each_answer_what_it_should(compiled):
    told = node(compiled, NODE_CASES, json.dumps({name: case[0] for name, case in CASES.items()}), str(NOW))
    for name, (answers, sends, waits) in CASES.items():
        result = told["results"][name]
        assert result["sent"] == sends and result["waits"] == pytest.approx(waits), name
        assert result["status"] == answers[sends - 1]["status"] and result["unread"], name
    assert told["sends"] == 1000 + 5 + 99
    assert told["thrown"] == "refused"


def test_typescript_gets_through_a_real_server(compiled, server):
    told = node(compiled, NODE_REAL, server.http)
    assert told["got"] == [200] * 4 and told["denied"] > 0
    assert told["large"] == "cost_too_large" and told["once"] == 1


CPP_MAIN = r"""
#include <cstdio>
#include <string>
#include <vector>
struct Answer { int status; std::string retry_after; std::string code; };
int main() {
  weir::RetryBudget budget;
  int sent = 0;
  const std::vector<Answer> answers = {{503, "0", ""}, {429, "1", ""}, {200, "", ""}};
  const Answer last = call(budget, [&] { return answers[static_cast<std::size_t>(sent++)]; });
  std::printf("%d %d\n", last.status, sent);
}
"""


def test_the_cpp_of_the_page_compiles_against_the_header_and_runs(tmp_path):
    (tmp_path / "client.cc").write_text(block("cpp") + CPP_MAIN)
    words = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "client.cc", "-o", "client"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([str(tmp_path / "client")], capture_output=True, text=True, timeout=60).stdout == "200 3\n"
