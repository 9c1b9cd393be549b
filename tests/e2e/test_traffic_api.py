"""What the admin API shows of a running server: overview, rules, decisions, subjects; and what operators do there."""
import http.client
import json
import shutil
import time

import pytest
from admin_client import Admin
from redis_nodes import PATIENT, Redis
from test_cli import DEADLINE_S, QUIET, Server, start, weir  # noqa: F401

ADMIN_TOKEN = "a-token-for-admins-1"

RULES = """version: 1
rules:
  - id: per-tenant
    match: {action: [search, export]}
    per: [tenant]
    algorithm: fixed-window
    limit: 3
    window: 1h
    plans: {gold: {limit: 100}}
    on_store_failure: allow
  - {id: secret, match: {action: search}, per: [tenant], algorithm: fixed-window, limit: 50, window: 1h, hidden: true, on_store_failure: allow}
  - {id: trial, match: {action: trial}, per: [tenant], algorithm: fixed-window, limit: 1, window: 1h, mode: shadow, on_store_failure: allow}
  - {id: slots, match: {action: lock}, per: [tenant], algorithm: concurrency, limit: 2, lease: 30s, on_store_failure: allow}
"""


@pytest.fixture
def server(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(RULES)
    return start("--rules", str(tmp_path / "rules.yaml"))


def check(server, **attributes):
    return server.call("/v1/check", {"attributes": attributes})[0]


def admin(server, path, body=None):
    status, text = server.call("/admin/v1" + path, body, listener=server.admin)
    return status, json.loads(text) if text else None


def get(server, path):
    status, answer = admin(server, path)
    assert status == 200, answer
    return answer


def wait_for(condition):
    end = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def remove(server, path):
    connection = http.client.HTTPConnection(server.admin, timeout=10)
    connection.request("DELETE", "/admin/v1" + path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_the_overview_shows_what_was_decided(server):
    for _ in range(8):
        check(server, tenant="acme", action="search")
    answer = wait_for(lambda: (a := get(server, "/overview")) and abs(a["totals"]["denied_share"] - 5 / 8) < 1e-3 and a)
    wait_for(lambda: any(get(server, "/overview")["series"]["denied"]))
    assert answer["range"] == "5m" and answer["step_ms"] == 1000 and None in answer["series"]["allowed"]
    assert answer["totals"]["denied_per_second"] > 0 and answer["totals"]["allowed_per_second"] > 0
    assert answer["totals"]["rules_in_shadow"] == 1 and answer["totals"]["p99_ms"] > 0
    assert answer["state"]["store"] == {**answer["state"]["store"], "name": "memory", "ok": True, "breaker": "closed"}
    assert answer["state"]["database"]["kind"] == "sqlite" and answer["state"]["database"]["ok"]
    assert answer["state"]["rules"]["source"] == "file" and answer["state"]["rules"]["error"] is None
    assert answer["top_rules"][0]["rule"] == "per-tenant" and answer["top_rules"][0]["denied_per_second"] > 0
    assert answer["top_subjects"][0]["rule"] == "per-tenant" and len(answer["top_subjects"][0]["subject"]) == 12
    assert answer["top_subjects"][0]["text"] is None
    (near,) = [each for each in answer["near_limit"] if each["rule"] == "per-tenant"]
    assert near["used"] == 3 and near["limit"] == 3 and near["share"] == 1
    assert {each["rule"] for each in answer["hot_subjects"]} == {"per-tenant", "secret"}
    for span, step in (("1h", 10_000), ("24h", 300_000)):
        assert get(server, f"/overview?range={span}")["series"]["step_ms"] == step
    assert admin(server, "/overview?range=2h")[0] == 400
    assert admin(server, "/overview?rang=1h")[0] == 400


def test_plain_subjects_have_a_text(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(RULES)
    server = start("--rules", str(tmp_path / "rules.yaml"), "--log-subjects", "plain")
    for _ in range(5):
        check(server, tenant="acme", action="search", api_key="hunter2")
    answer = wait_for(lambda: (a := get(server, "/overview"))["top_subjects"] and a)
    assert answer["top_subjects"][0]["text"] == "tenant=acme"
    assert get(server, "/decisions")["items"][0]["attributes"]["api_key"].startswith("#")


def test_a_rule_has_a_card_and_an_explanation(server):
    check(server, tenant="acme", action="search")
    check(server, tenant="acme", action="search")
    wait_for(lambda: get(server, "/rules/per-tenant")["last_seen_at"])
    cards = {card["id"]: card for card in get(server, "/rules/list")["items"]}
    assert list(cards) == ["per-tenant", "secret", "trial", "slots"]
    card = cards["per-tenant"]
    assert card["summary"] == "3 per 1 h, per tenant" and card["algorithm"] == "fixed-window" and card["limit"] == 3
    assert card["match"] == {"action": ["search", "export"]} and card["per"] == ["tenant"] and card["window_ms"] == 3_600_000
    assert card["fullest"]["used"] == 2 and card["passed_per_second"] > 0 and card["denied_per_second"] == 0
    assert cards["trial"]["mode"] == "shadow" and cards["trial"]["last_seen_at"] is None and cards["trial"]["fullest"] is None
    assert cards["slots"]["summary"] == "2 at a time, per tenant"
    rule = get(server, "/rules/per-tenant?range=1h")
    assert rule["series"]["step_ms"] == 10_000 and "Plan gold: 100 per 1 h." in rule["explanation"]
    page = get(server, "/rules/list?limit=3")
    assert len(page["items"]) == 3
    rest = get(server, f"/rules/list?limit=3&cursor={page['next']}")
    assert [card["id"] for card in rest["items"]] == ["slots"] and rest["next"] is None
    assert admin(server, "/rules/unknown")[0] == 404


def test_denials_are_found_by_attributes_rule_and_outcome(server):
    for _ in range(5):
        check(server, tenant="acme", action="search", user="ada")
    check(server, tenant="globex", action="search")
    for _ in range(3):
        check(server, tenant="acme", action="trial")
    found = get(server, "/decisions?attribute.tenant=acme&outcome=denied")["items"]
    assert sum(each["count"] for each in found) == 2  # one entry for each event loop that denied
    entry = found[0]
    assert entry["rule"] == "per-tenant" and entry["reason"] == "limit_exceeded" and entry["source"] == "memory"
    assert entry["action"] == "search" and entry["tenant"] is None and entry["attributes"]["tenant"].startswith("#")
    state = {rule["rule"]: rule for rule in entry["rules"]}
    assert state["per-tenant"]["remaining"] == 0 and not state["per-tenant"]["allowed"] and state["secret"]["allowed"]
    assert get(server, "/decisions?attribute.tenant=acme&attribute.user=ada&outcome=denied")["items"] == found
    assert get(server, "/decisions?attribute.tenant=acme&attribute.user=bob&outcome=denied")["items"] == []
    shadow = get(server, "/decisions?outcome=shadow")["items"]
    assert sum(each["count"] for each in shadow) == 2 and all(each["allowed"] and each["shadow_denied"] for each in shadow)
    assert get(server, "/decisions?rule=per-tenant&reason=blocked")["items"] == []
    assert len(get(server, "/decisions?attribute.tenant=globex")["items"]) == 1
    subject = state["per-tenant"]["subject"]
    assert all(subject in str(each) for each in get(server, f"/decisions?subject={subject}")["items"])
    assert get(server, "/decisions?from=2000-01-01T00:00:00Z&to=2001-01-01T00:00:00Z")["items"] == []


def test_pages_of_decisions_have_every_entry_once(server):
    for i in range(30):
        for _ in range(4):
            check(server, tenant=f"t{i}", action="search")
    seen, cursor = [], ""
    while True:
        page = get(server, f"/decisions?limit=7&outcome=denied{cursor}")
        seen += [each["id"] for each in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert len(seen) == len(set(seen)) == 30


def test_a_bad_question_is_refused_with_what_is_expected(server):
    for path, what in (("/decisions?reason=because", "reason"), ("/decisions?outcome=maybe", "outcome"),
                       ("/decisions?from=yesterday", "from"), ("/decisions?limit=0", "limit"), ("/decisions?cursor=x", "cursor")):
        status, answer = admin(server, path)
        assert status == 400 and what in answer["detail"], answer


def test_without_a_journal_decisions_say_so(start, tmp_path):  # noqa: F811
    server = start("--journal-memory", "0")
    status, answer = admin(server, "/decisions")
    assert status == 409 and answer["code"] == "no_journal"


def events(connection, path):
    connection.request("GET", "/admin/v1" + path)
    answer = connection.getresponse()
    assert answer.status == 200 and answer.getheader("Content-Type") == "text/event-stream"
    name = None
    for line in answer:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text[7:]
        elif text.startswith("data: "):
            yield name, json.loads(text[6:])


def test_decisions_are_streamed(server):
    connection = http.client.HTTPConnection(server.admin, timeout=DEADLINE_S)
    stream = events(connection, "/decisions/stream?outcome=denied&attribute.tenant=acme")
    check(server, tenant="globex", action="search")  # the answer's head is there, so the stream has begun after this
    connection.sock  # noqa: B018
    first = []
    import threading
    thread = threading.Thread(target=lambda: first.append(next(stream)))
    thread.start()
    end = time.monotonic() + DEADLINE_S
    while thread.is_alive() and time.monotonic() < end:
        check(server, tenant="acme", action="search")
        time.sleep(0.05)
    thread.join()
    (name, entry), = first
    assert name == "decision" and entry["rule"] == "per-tenant" and not entry["allowed"]
    connection.close()


def test_a_stream_ends_when_the_server_drains(server):
    connection = http.client.HTTPConnection(server.admin, timeout=DEADLINE_S)
    connection.request("GET", "/admin/v1/decisions/stream")
    answer = connection.getresponse()
    server.process.terminate()
    assert b"event: decision" not in answer.read()
    assert server.process.wait(DEADLINE_S) == 0


def test_a_subject_is_explained(server):
    for _ in range(5):
        check(server, tenant="acme", action="search")
    status, answer = admin(server, "/subjects/lookup", {"attributes": {"tenant": "acme", "action": "search"}})
    assert status == 200 and answer["allowed"] is False and answer["reason"] == "limit_exceeded"
    rules = {rule["rule"]: rule for rule in answer["rules"]}
    assert list(rules) == ["per-tenant", "secret"], "hidden rules are not hidden from operators"
    rule = rules["per-tenant"]
    assert (rule["used"], rule["remaining"], rule["limit"], rule["share"]) == (3, 0, 3, 1)
    assert rule["per"] == {"tenant": "acme"} and rule["allowance"] == "default" and rule["retry_at"] and rule["reset_at"]
    assert rules["secret"]["used"] == 3 and rules["secret"]["retry_at"] is None
    assert {each["rule"]: each["why"] for each in answer["not_matched"]} == {
        "trial": "match: action has none of the expected values", "slots": "match: action has none of the expected values"}
    assert sum(each["count"] for each in answer["decisions"]) == 2
    gold = admin(server, "/subjects/lookup", {"attributes": {"tenant": "acme", "action": "search", "plan": "gold"}})[1]
    assert gold["rules"][0]["allowance"] == "plan" and gold["rules"][0]["limit"] == 100 and gold["allowed"]
    again = admin(server, "/subjects/lookup", {"attributes": {"tenant": "acme", "action": "search"}})[1]
    assert again["rules"][0]["used"] == 3, "a lookup charges nothing"
    for body, what in (({}, "attributes"), ({"attributes": {}}, "attributes"), ({"attributes": {"a": "b"}, "coast": 1}, "coast")):
        status, problem = admin(server, "/subjects/lookup", body)
        assert status == 400 and what in problem["detail"]


def test_a_blocked_subject_is_explained(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(RULES + "blocks:\n  - {when: {tenant: evil}, until: 2100-01-01T00:00:00Z, reason: scraping}\n")
    server = start("--rules", str(tmp_path / "rules.yaml"))
    assert check(server, tenant="evil", action="search") == 403
    answer = admin(server, "/subjects/lookup", {"attributes": {"tenant": "evil", "action": "search"}})[1]
    assert answer["blocked"]["reason"] == "scraping" and answer["blocked"]["until"] == "2100-01-01T00:00:00.000Z"
    assert answer["decisions"][0]["reason"] == "blocked" and answer["rules"][0]["used"] in (0, None)
    assert get(server, "/decisions?reason=blocked")["items"][0]["rule"] is None


def test_a_subject_has_its_tenant_and_overrides_and_the_overview_what_ends_soon(server):
    status, made = admin(server, "/overrides", {"rules": ["per-tenant"], "when": {"tenant": "acme"}, "limit": 50, "until": "2h", "reason": "launch"})
    assert status == 201, made
    connection = http.client.HTTPConnection(server.admin, timeout=10)
    connection.request("PUT", "/admin/v1/tenants/acme", json.dumps({"plan": "gold"}), {"If-None-Match": "*"})
    assert connection.getresponse().status in (200, 201)
    look = lambda: admin(server, "/subjects/lookup", {"attributes": {"tenant": "acme", "action": "search"}})[1]
    answer = wait_for(lambda: (a := look())["overrides"] and a["tenant"] and a)
    assert answer["plan"] == "gold" and answer["tenant"]["tenant"] == "acme"
    assert answer["rules"][0]["override"] == made["id"] == answer["overrides"][0]["id"]
    assert answer["rules"][0]["allowance"] == "override" and answer["rules"][0]["limit"] == 50
    (soon,) = get(server, "/overview")["ends_soon"]
    assert soon == {"kind": "override", "id": made["id"], "text": "tenant=acme, per-tenant, 50 per 1 h", "reason": "launch",
                    "until": made["until"]}


def test_a_reset_frees_a_subject(server):
    for _ in range(4):
        check(server, tenant="acme", action="search")
    body = {"attributes": {"tenant": "acme", "action": "search"}, "reason": "support ticket"}
    status, answer = admin(server, "/reset", {**body, "expected_count": 1})
    assert status == 409 and answer["count"] == 2
    assert check(server, tenant="acme", action="search") == 429
    assert admin(server, "/reset", {**body, "rules": ["secret"]}) == (200, {"reset": 1})
    assert check(server, tenant="acme", action="search") == 429
    assert admin(server, "/reset", {**body, "expected_count": 2}) == (200, {"reset": 2})
    assert check(server, tenant="acme", action="search") == 200
    assert admin(server, "/reset", {"attributes": {"tenant": "acme"}})[0] == 400, "without a reason"
    (entry, *_) = get(server, "/audit")["items"]
    assert entry["action"] == "subject.reset" and entry["reason"] == "support ticket"


def test_overrides_and_blocks_of_the_rules_are_shown_with_those_of_operators(start, tmp_path):  # noqa: F811
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 600))
    (tmp_path / "rules.yaml").write_text(f"""version: 1
rules:
  - id: per-tenant
    per: [tenant]
    algorithm: fixed-window
    limit: 3
    window: 1h
    overrides:
      - {{when: {{tenant: other}}, limit: 4, reason: has no end}}
      - {{when: {{tenant: acme}}, limit: 5000, until: {soon}, reason: launch}}
blocks:
  - {{when: {{tenant: evil}}, until: {soon}, reason: scraping}}
""")
    server = start("--rules", str(tmp_path / "rules.yaml"))
    status, made = admin(server, "/overrides", {"rules": ["*"], "when": {"tenant": "third"}, "unlimited": True, "until": "5m", "reason": "test"})
    assert status == 201, made
    ending = wait_for(lambda: len(found := get(server, "/overview")["ends_soon"]) == 3 and found)
    assert [(each["kind"], each["id"], each["text"], each["reason"]) for each in sorted(ending, key=lambda each: each["id"])] == [
        ("block", "file-1", "tenant=evil", "scraping"),
        ("override", "file:per-tenant:2", "tenant=acme, per-tenant, 5000 per 1 h", "launch"),
        ("override", made["id"], "tenant=third, every rule, unlimited", "test"),
    ]
    found = admin(server, "/subjects/lookup", {"attributes": {"tenant": "acme"}})[1]
    (override,) = found["overrides"]
    assert override["id"] == found["rules"][0]["override"] == "file:per-tenant:2"
    assert override["limit"] == 5000 and override["reason"] == "launch" and override["source"] == "file"
    listed = {each["id"] for each in get(server, "/overrides")["items"]}
    assert listed == {made["id"], "file:per-tenant:1", "file:per-tenant:2"}, "ids do not move when an operator adds one"


def test_a_refund_gives_back_what_was_used(server):
    for _ in range(4):
        check(server, tenant="acme", action="search")
    body = {"attributes": {"tenant": "acme", "action": "search"}, "cost": 2, "reason": "our mistake"}
    assert admin(server, "/refund", {**body, "rules": ["secret"]}) == (200, {"refunded": 1})
    assert check(server, tenant="acme", action="search") == 429
    assert admin(server, "/refund", body) == (200, {"refunded": 2})
    assert [check(server, tenant="acme", action="search") for _ in range(3)] == [200, 200, 429]
    for wrong in ({"cost": 0}, {"cost": None}, {"reason": ""}, {"attributes": {}}, {"amount": 1}):
        assert admin(server, "/refund", {**body, **wrong})[0] == 400, wrong
    (entry, *_) = get(server, "/audit")["items"]
    assert (entry["action"], entry["reason"]) == ("subject.refund", "our mistake")
    assert entry["after"] == {"attributes": body["attributes"], "rules": [], "cost": 2}


def test_a_subject_shows_its_penalties(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text("""version: 1
rules:
  - {id: login, per: [account], algorithm: fixed-window, limit: 1, window: 1h, penalty: {after: 2, within: 1h, block: 10m}}
""")
    server = start("--rules", str(tmp_path / "rules.yaml"))
    lookup = lambda: admin(server, "/subjects/lookup", {"attributes": {"account": "anna"}})[1]
    assert lookup()["penalties"] == []
    assert [check(server, account="anna") for _ in range(3)] == [200, 429, 429]
    (penalty,) = lookup()["penalties"]
    assert penalty["rule"] == "login" and penalty["challenge"] is False and penalty["until"] > time.strftime("%Y-%m-%d")


def test_leases_are_listed_and_released_by_force(server):
    for _ in range(2):
        assert server.call("/v1/leases", {"attributes": {"tenant": "acme", "action": "lock"}})[0] == 201
    assert server.call("/v1/leases", {"attributes": {"tenant": "acme", "action": "lock"}})[0] == 429
    leases = get(server, "/leases?attribute.tenant=acme&attribute.action=lock")["items"]
    assert len(leases) == 2 and leases[0]["rule"] == "slots" and leases[0]["units"] == 1
    lookup = admin(server, "/subjects/lookup", {"attributes": {"tenant": "acme", "action": "lock"}})[1]
    assert {each["expires_at"] for each in lookup["leases"]} == {each["expires_at"] for each in leases}
    assert remove(server, f"/leases/{leases[0]['handle']}")[0] == 400, "without a reason"
    assert remove(server, f"/leases/{leases[0]['handle']}?reason=stuck")[0] == 204
    assert server.call("/v1/leases", {"attributes": {"tenant": "acme", "action": "lock"}})[0] == 201
    assert remove(server, "/leases/forged?reason=stuck")[0] == 404
    assert admin(server, "/leases")[0] == 400


def test_reservations_are_listed_and_released(server):
    body = {"attributes": {"tenant": "acme", "action": "search"}, "amount": 2}
    status, answer = server.call("/v1/reservations", body)
    assert status == 201
    handle = json.loads(answer)["reservation"]
    items = get(server, "/reservations?attribute.tenant=acme&attribute.action=search")["items"]
    assert {each["rule"] for each in items} == {"per-tenant", "secret"} and items[0]["units"] == 2
    assert remove(server, f"/reservations/{handle}?reason=stuck")[0] == 204
    assert get(server, "/reservations?attribute.tenant=acme&attribute.action=search")["items"] == []


@pytest.mark.parametrize("store", ["memory", "redis"])
def test_a_listed_reservation_is_released_by_operators_in_every_rule(store, start, tmp_path):  # noqa: F811
    if store == "redis" and shutil.which("redis-server") is None:
        pytest.skip("needs redis-server")
    (tmp_path / "rules.yaml").write_text(RULES)
    redis = Redis(tmp_path) if store == "redis" else None
    try:
        flags = ["--store", redis.url, "--redis-deadline", PATIENT] if redis else []
        server = start("--rules", str(tmp_path / "rules.yaml"), "--admin-tokens", ADMIN_TOKEN, *flags)
        admins = Admin(server.admin, ADMIN_TOKEN)
        reader, operator = [Admin(server.admin, admins.post("/tokens", {"name": role, "role": role})["token"]) for role in ("reader", "operator")]
        attributes = {"tenant": "acme", "action": "search"}
        wait_for(lambda: server.call("/v1/reservations", {"attributes": attributes, "amount": 2})[0] == 201)
        assert server.call("/v1/check", {"attributes": attributes, "cost": 2})[0] == 429
        path = "/reservations?attribute.tenant=acme&attribute.action=search"
        assert {each["handle"] for each in reader.get(path)["items"]} == {None}, "a handle is a key"
        items = operator.get(path)["items"]
        (handle,) = {each["handle"] for each in items}
        lookup = operator.post("/subjects/lookup", {"attributes": attributes}, status=200)
        assert {each["rule"] for each in lookup["reservations"]} == {"per-tenant", "secret"} and lookup["reservations"][0]["handle"]
        assert reader.call("DELETE", f"/reservations/{handle}?reason=stuck")[0] == 403
        assert operator.call("DELETE", f"/reservations/{handle}")[0] == 400, "without a reason"
        assert operator.call("DELETE", f"/reservations/{handle}?reason=stuck")[0] == 204
        assert operator.get(path)["items"] == []
        assert server.call("/v1/check", {"attributes": attributes, "cost": 2})[0] == 200, "it was given back"
        (entry,) = admins.audit(action="reservation.release")
        assert (entry["actor"], entry["reason"]) == ("operator", "stuck") and handle not in entry["object"]
        assert operator.call("DELETE", f"/reservations/{handle}?reason=again")[0] == 204, "releasing twice does no harm"
    finally:
        if redis:
            redis.kill()


def test_hot_keys_have_a_share_of_all_decisions(server):
    end = time.monotonic() + DEADLINE_S
    while True:
        for i in range(40):
            check(server, tenant="hot" if i % 4 else f"t{i}", action="export")
        items = get(server, "/hot-keys?limit=5")["items"]
        if items and items[0]["per_second"] > 1:
            break
        assert time.monotonic() < end
    assert items[0]["rule"] == "per-tenant" and items[0]["share"] > 0.4 and len(items) <= 5


def test_denials_survive_a_restart_in_the_database(start, tmp_path):  # noqa: F811
    text = RULES.replace("    limit: 3\n", "    limit: 3\n    audit_denials: true\n")
    (tmp_path / "rules.yaml").write_text(text)
    flags = ["--rules", str(tmp_path / "rules.yaml"), "--data-dir", str(tmp_path / "data"), "--hash-key-file", str(tmp_path / "key"),
             "--loops", "1"]
    first = start(*flags)
    for _ in range(5):
        check(first, tenant="acme", action="search")
    assert first.stop() == 0
    second = start(*flags)
    (entry,) = get(second, "/decisions?attribute.tenant=acme&outcome=denied")["items"]
    assert entry["rule"] == "per-tenant" and entry["count"] == 2
    assert get(second, "/decisions?attribute.tenant=globex")["items"] == []
    for _ in range(5):
        check(second, tenant="acme", action="search")
    wait_for(lambda: "weir_journal_stored_total 1" in second.metrics())
    both = get(second, "/decisions?attribute.tenant=acme&outcome=denied")["items"]
    assert len(both) == 2, "what is in memory and in the database is shown once"
    page = get(second, "/decisions?attribute.tenant=acme&outcome=denied&limit=1")
    rest = get(second, f"/decisions?attribute.tenant=acme&outcome=denied&limit=1&cursor={page['next']}")
    assert [page["items"][0]["id"], rest["items"][0]["id"]] == [each["id"] for each in both] and rest["next"] is None


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_with_redis_subjects_are_explained_and_reset(tmp_path, start):  # noqa: F811
    from redis_nodes import Redis
    redis = Redis(tmp_path)
    try:
        (tmp_path / "rules.yaml").write_text(RULES)
        server = start("--rules", str(tmp_path / "rules.yaml"), "--store", redis.url, "--redis-deadline", "500ms")
        for _ in range(5):
            check(server, tenant="acme", action="search")
        answer = admin(server, "/subjects/lookup", {"attributes": {"tenant": "acme", "action": "search"}})[1]
        assert answer["rules"][0]["used"] == 3 and answer["decisions"][0]["source"] in ("redis", "prefilter")
        body = {"attributes": {"tenant": "acme", "action": "search"}, "reason": "support ticket", "expected_count": 2}
        assert admin(server, "/reset", body) == (200, {"reset": 2})
        assert check(server, tenant="acme", action="search") == 200
        assert get(server, "/overview")["state"]["store"]["name"] == "redis"
    finally:
        redis.kill()


def test_explain_with_the_state_of_a_running_server(server):
    environment = {**QUIET, "WEIR_ADMIN": f"http://{server.admin}"}
    assert [check(server, tenant="acme", action="search") for _ in range(4)] == [200, 200, 200, 429]
    assert admin(server, "/blocks", {"when": {"tenant": "bad"}, "reason": "unpaid"})[0] == 201
    shown = weir("rules", "explain", "--server", "tenant=acme", "action=search", env=environment)
    assert shown.returncode == 0 and "per-tenant  denies: 3 of 3 used, free again at" in shown.stdout, shown.stdout + shown.stderr
    assert "trial  does not apply: " in shown.stdout and "2 of 4 rules apply" in shown.stdout
    assert shown.stdout.splitlines()[-1] == "decision: would be denied, limit_exceeded"
    blocked = weir("rules", "explain", "--server", "tenant=bad", "action=search", env=environment)
    assert "blocked: unpaid" in blocked.stdout and "would be denied, blocked" in blocked.stdout
    answer = json.loads(weir("rules", "explain", "--server", "--json", "--cost", "2", "tenant=new", "action=search", env=environment).stdout)
    assert answer["allowed"] and answer["rules"][0]["used"] == 0, "nothing is charged"
    assert weir("rules", "explain", env=environment).returncode == 2
    assert weir("rules", "explain", "--server", "--admin", "http://127.0.0.1:1", "tenant=a").returncode == 3
