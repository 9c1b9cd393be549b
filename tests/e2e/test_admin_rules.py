"""Rules through the admin API: from a file, in the database, on several nodes, under load, and without the database."""

import json
import os
import re
import threading
import time

import pytest
from admin_client import Admin
from postgres_server import postgres, postgres_server  # noqa: F401 (fixtures)
from test_cli import Server, rules_text, start  # noqa: F401 (start is a fixture)


def check(server, tenant="acme"):
    status, body = server.call("/v1/check", {"attributes": {"tenant": tenant}})
    return status, json.loads(body)


def eventually(look, seconds=20):
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def server(start, tmp_path):  # noqa: F811
    return start("--rules", "database", "--data-dir", str(tmp_path / "state"))


def test_rules_of_a_file_are_shown_and_cannot_be_put(start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(rules_text(2))
    admin = Admin(start("--rules", str(path)).admin)
    eventually(lambda: len(admin.get("/rules/versions")["items"]) == 1)
    shown = admin.get("/rules")
    assert (shown["source"], shown["path"], shown["text"], shown["author"]) == ("file", str(path), rules_text(2), "file")
    status, body, _ = admin.call("PUT", "/rules", {"text": rules_text(3), "reason": "test"}, {"If-Match": f'"{shown["etag"]}"'})
    assert (status, body["code"]) == (409, "rules_from_file") and str(path) in body["detail"]


def test_every_load_of_a_file_is_a_version_with_one_entry(start, tmp_path):  # noqa: F811
    path, state = tmp_path / "rules.yaml", str(tmp_path / "state")
    path.write_text(rules_text(2))
    server = start("--rules", str(path), "--data-dir", state)
    admin = Admin(server.admin)
    eventually(lambda: len(admin.audit(action="rules")) == 1)
    (tmp_path / "new").write_text(rules_text(3))
    os.replace(tmp_path / "new", path)
    eventually(lambda: len(admin.audit(action="rules")) == 2)
    newest = admin.audit(action="rules")[0]
    assert (newest["actor"], newest["action"], newest["before"]["version"], newest["after"]["version"]) == ("file", "rules.load", 1, 2)
    assert admin.get("/rules")["version"] == 2
    server.stop()
    # The same file again is no change.
    again = Admin(start("--rules", str(path), "--data-dir", state).admin)
    eventually(lambda: again.get("/rules")["version"] == 2)
    assert len(again.audit(action="rules")) == 2


def test_rules_that_this_server_cannot_keep_are_no_version(start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(rules_text(2))
    server = start("--rules", str(path), "--data-dir", str(tmp_path / "state"))
    admin = Admin(server.admin)
    (tmp_path / "new").write_text(rules_text(3).rstrip().removesuffix("}") + ", region: slices}\n")
    os.replace(tmp_path / "new", path)
    eventually(lambda: admin.get("/rules")["error"])
    # Making an override compiles the rules again.
    admin.post("/overrides", {"rules": ["per-tenant"], "when": {"tenant": "acme"}, "limit": 7, "until": "1h", "reason": "test"})
    assert check(server)[1]["limit"] == 7
    assert [each["version"] for each in admin.get("/rules/versions")["items"]] == [1] and admin.get("/rules")["version"] == 1


def test_rules_in_the_database_are_put_listed_and_restored(server):
    admin = Admin(server.admin)
    first = admin.get("/rules")
    assert (first["source"], first["version"], first["etag"]) == ("database", 0, "0")
    assert admin.call("PUT", "/rules", {"text": rules_text(2), "reason": "start"})[0] == 428
    put = admin.put("/rules", {"text": rules_text(2), "reason": "start"}, "0")
    assert (put["version"], put["author"], put["reason"], put["text"]) == (1, "anonymous", "start", rules_text(2))
    assert check(server)[1]["limit"] == 2, "in effect before the answer"
    assert admin.put("/rules", {"text": rules_text(9), "reason": "late"}, "0", status=412)["code"] == "stale"
    admin.put("/rules", {"text": rules_text(3), "reason": "more"}, "1")
    # Two of three units are left: the bucket is the same one.
    assert check(server)[1]["remaining"] == 1
    versions = admin.get("/rules/versions?limit=1")
    assert [each["version"] for each in versions["items"]] == [2] and "text" not in versions["items"][0]
    assert [each["version"] for each in admin.get(f"/rules/versions?cursor={versions['next']}")["items"]] == [1]
    assert admin.get("/rules/versions/1")["text"] == rules_text(2)
    assert admin.call("GET", "/rules/versions/7")[0] == 404
    stale = admin.call("POST", "/rules/versions/1/restore", {"reason": "back"}, {"If-Match": '"1"'})
    assert stale[0] == 412 and admin.get("/rules")["version"] == 2
    restored = admin.post("/rules/versions/1/restore", {"reason": "back"}, status=200)
    assert restored["version"] == 3 and admin.get("/rules")["text"] == rules_text(2)
    assert check(server)[1]["limit"] == 2
    assert [each["action"] for each in admin.audit(action="rules")] == ["rules.restore", "rules.change", "rules.change"]


def test_invalid_rules_are_refused_with_their_places(server):
    admin = Admin(server.admin)
    text = rules_text(2).replace("limit: 2", "limit: 0").replace("window", "windwo")
    answer = admin.put("/rules", {"text": text, "reason": "test"}, "0", status=400)
    assert answer["code"] == "invalid_rules" and len(answer["errors"]) >= 1
    assert all(each["line"] == 3 and each["column"] > 0 for each in answer["errors"])
    assert "windwo" in {each["field"].split(".")[-1] for each in answer["errors"]}
    checked = admin.post("/rules/validate", {"text": text}, status=200)
    assert checked["ok"] is False and checked["errors"] == answer["errors"]
    assert admin.post("/rules/validate", {"text": rules_text(2)}, status=200) == {"ok": True, "errors": [], "warnings": [], "rules": 1}
    assert admin.get("/rules")["version"] == 0 and admin.audit() == []


def test_a_text_and_two_versions_are_compared(server):
    admin = Admin(server.admin)
    admin.put("/rules", {"text": rules_text(2), "reason": "start"}, "0")
    admin.put("/rules", {"text": rules_text(3), "reason": "more"}, "1")
    for body in ({"text": rules_text(3)}, {"from": 2, "to": 2}):
        assert admin.post("/rules/diff", body, status=200) == {"changes": []}
    (change,) = admin.post("/rules/diff", {"from": 1, "to": 2}, status=200)["changes"]
    assert (change["rule"], change["change"], change["state"]) == ("per-tenant", "changed", "kept")
    assert change["fields"] == [{"field": "limit", "before": "2", "after": "3"}]
    assert admin.post("/rules/diff", {"from": 1, "to": 9}, status=404)["code"] == "not_found"
    assert admin.post("/rules/diff", {"text": "rules: ["}, status=400)["code"] == "invalid_rules"


def test_the_state_of_a_node(server):
    state = Admin(server.admin).get("/state")
    assert state["database"] == {"kind": "sqlite", "ok": True, "detail": ""} and state["store"]["name"] == "memory"
    assert state["control"]["stale"] is False and state["listeners"]["http"] == server.http and state["node"]


def test_rules_of_the_database_survive_a_restart(start, tmp_path):  # noqa: F811
    flags = ["--rules", "database", "--data-dir", str(tmp_path / "state")]
    server = start(*flags)
    Admin(server.admin).put("/rules", {"text": rules_text(7), "reason": "test"}, "0")
    server.stop()
    again = start(*flags)
    assert check(again)[1]["limit"] == 7 and Admin(again.admin).get("/rules")["version"] == 1


def two_rules(limit):
    return "version: 1\nrules:\n" + "".join(
        f"  - {{id: {name}, per: [tenant], algorithm: fixed-window, limit: {limit}, window: 3650d}}\n" for name in ("one", "two"))


class Load:
    """Checks and batches from four threads; each answer's limits, and whether they are all of one version."""

    def __init__(self, server):
        self.server, self.seen, self.mixed, self.ending = server, set(), [], threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(number,)) for number in range(4)]
        for thread in self.threads:
            thread.start()

    def ask(self, number):
        batch = {"requests": [{"attributes": {"tenant": f"t{number}-{each}"}} for each in range(20)]}
        while not self.ending.is_set():
            self.judge([check(self.server, f"t{number}")[1]])
            self.judge(json.loads(self.server.call("/v1/check/batch", batch)[1])["decisions"])

    def judge(self, decisions):
        limits = {rule["limit"] for decision in decisions for rule in decision["rules"]}
        self.seen.update(limits)
        if len(limits) != 1:
            self.mixed.append(limits)

    def stop(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()


def test_no_answer_mixes_two_versions(server):
    admin = Admin(server.admin)
    etag = admin.put("/rules", {"text": two_rules(1_000_000), "reason": "start"}, "0")["etag"]
    load = Load(server)
    for number in range(1, 21):
        etag = admin.put("/rules", {"text": two_rules(1_000_000 + number), "reason": f"change {number}"}, etag)["etag"]
    load.stop()
    assert load.mixed == [] and len(load.seen) > 3


def limit_of(text):
    return int(re.search(r"limit: (\d+)", text).group(1))


@pytest.mark.parametrize("source", ["database", "file"])
def test_every_decision_is_attributed_to_the_version_that_made_it(source, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(two_rules(1_000_000))
    server = start("--rules", "database" if source == "database" else str(path), "--data-dir", str(tmp_path / "state"), "--log-decisions", "1",
                   "--log-decisions-per-second", "100000", "--journal-sample", "1")
    admin, etag = Admin(server.admin), "0"
    if source == "database":
        etag = admin.put("/rules", {"text": two_rules(1_000_000), "reason": "start"}, etag)["etag"]
    load = Load(server)
    for number in range(1, 11):
        text = two_rules(1_000_000 + number)
        if source == "database":
            etag = admin.put("/rules", {"text": text, "reason": f"change {number}"}, etag)["etag"]
            continue
        (tmp_path / "new").write_text(text)
        os.replace(tmp_path / "new", path)
        eventually(lambda text=text: admin.get("/rules")["text"] == text)
    load.stop()
    versions = {each["version"]: each for each in admin.get("/rules/versions?limit=100")["items"]}
    limits = {number: limit_of(admin.get(f"/rules/versions/{number}")["text"]) for number in versions}
    journal = admin.get("/decisions?limit=1000")["items"]
    active = admin.get("/rules")
    metrics = server.metrics()
    state = admin.get("/overview")["state"]["rules"]
    server.stop()
    logged = [event for event in server.events() if event["event"] == "decision" and event.get("rule")]
    assert len(logged) > 500 and len({each["rules_version"] for each in logged}) > 3
    for each in logged:
        version = versions[each["rules_version"]]
        assert (each["rules_hash"], each["limit"]) == (version["hash"], limits[version["version"]]), each
    assert journal
    for each in journal:
        version = versions[each["rules_version"]]
        assert each["rules_hash"] == version["hash"] and {rule["limit"] for rule in each["rules"]} == {limits[version["version"]]}, each
    newest = versions[max(versions)]
    assert (active["version"], active["hash"]) == (state["version"], state["hash"]) == (newest["version"], newest["hash"])
    assert f'weir_rules_info{{version="{newest["version"]}",hash="{newest["hash"]}"}} 1' in metrics
    loaded = [(event["version"], event["hash"]) for event in server.events() if event["event"] == "rules_loaded" and event["version"]]
    assert set(loaded) == {(each["version"], each["hash"]) for each in versions.values()}


class Nodes:
    def __init__(self, folder, url):
        self.folder, self.url, self.running = folder, url, []

    def start(self, name):
        flags = ["--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0", "--rules", "database", "--database", self.url,
                 "--data-dir", str(self.folder / name), "--node-name", name]
        self.running.append(Server(*flags, log=self.folder / f"{name}-{len(self.running)}.log"))
        return self.running[-1]


@pytest.fixture
def nodes(postgres, tmp_path):  # noqa: F811
    made = Nodes(tmp_path, postgres.url)
    yield made
    for node in made.running:
        node.stop()


def test_nodes_on_one_database_converge(nodes):
    first, second = nodes.start("first"), nodes.start("second")
    for number in range(1, 6):
        Admin(first.admin).put("/rules", {"text": rules_text(10 + number), "reason": "test"}, number - 1)
        begun = time.monotonic()
        eventually(lambda: check(second)[1]["limit"] == 10 + number, seconds=10)
        print(f"converged in {time.monotonic() - begun:.3f} s")
    # The first change may come before the second node listens.
    assert int(re.search(r"^weir_control_notifications_total (\d+)$", second.metrics(), re.M).group(1)) >= 3
    made = Admin(second.admin).post("/tokens", {"name": "ada", "role": "admin"})
    eventually(lambda: Admin(first.admin, made["token"]).call("GET", "/session")[1].get("actor") == "ada")
    assert Admin(first.admin).call("GET", "/session")[0] == 401
    nodes_of = {each["node"] for each in Admin(first.admin, made["token"]).audit()}
    assert nodes_of == {"first", "second"}


def test_a_node_keeps_what_it_knows_while_the_database_is_away(nodes, postgres):  # noqa: F811
    node = nodes.start("only")
    Admin(node.admin).put("/rules", {"text": rules_text(7), "reason": "test"}, "0")
    token = Admin(node.admin).post("/tokens", {"name": "ada", "role": "admin"})["token"]
    admin = Admin(node.admin, token)
    postgres.stop()
    assert check(node)[1]["limit"] == 7 and admin.get("/session")["actor"] == "ada"
    status, body, fields = admin.call("POST", "/tokens", {"name": "bob", "role": "admin"})
    assert (status, body["code"], fields["Retry-After"]) == (503, "unavailable", "1")
    node.stop()
    again = nodes.start("only")
    admin = Admin(again.admin, token)
    assert check(again)[1]["limit"] == 7 and admin.get("/session")["actor"] == "ada"
    assert Admin(again.admin).call("GET", "/session")[0] == 401
    postgres.start()
    eventually(lambda: admin.call("POST", "/tokens", {"name": "bob", "role": "reader"})[0] == 201)
