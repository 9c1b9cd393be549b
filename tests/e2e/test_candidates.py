"""Candidates from outside: the decision, the report, the metrics, promotion and discarding, and who may."""

import json
import subprocess
import time

import pytest
from admin_client import Admin
from test_cli import WEIR, start  # noqa: F401 (a fixture)

RULES = """version: 1
rules:
  # the comment stays
  - id: search
    per: [tenant]
    algorithm: fixed-window
    limit: 3          # as agreed
    window: 1ms
    candidate: {limit: 1, window: 3650d}
  - id: quiet
    per: [tenant]
    algorithm: fixed-window
    limit: 1
    window: 3650d
    mode: shadow
"""
# A candidate with a window of a millisecond is warm at once.
WARM = RULES.replace("window: 1ms\n    candidate: {limit: 1, window: 3650d}", "window: 3650d\n    candidate: {window: 1ms}")


def check(server, tenant="acme"):
    status, body = server.call("/v1/check", {"attributes": {"tenant": tenant}})
    return status, {rule["rule"]: rule for rule in json.loads(body)["rules"]}


@pytest.fixture
def server(start, tmp_path):  # noqa: F811
    return start("--rules", "database", "--data-dir", str(tmp_path / "state"))


def load(admin, server, text):
    before = admin.get("/rules")["etag"]
    status, body, _ = admin.call("PUT", "/rules", {"text": text, "reason": "test"}, {"If-Match": f'"{before}"'})
    assert status == 200, body
    end = time.monotonic() + 20
    while admin.get("/rules")["hash"] != body["hash"]:
        assert time.monotonic() < end


def run(*words):
    return subprocess.run([WEIR, *words], capture_output=True, text=True, timeout=60)


def end(admin, verb, body, rule="search", etag=None):
    etag = etag or admin.get("/rules")["etag"]
    return admin.call("POST", f"/rules/{rule}/candidate/{verb}", body, {"If-Match": f'"{etag}"'})


def test_a_candidate_reports_what_would_change_and_changes_nothing(server):
    admin = Admin(server.admin)
    load(admin, server, WARM)
    answers = [check(server) for _ in range(5)]
    assert [status for status, _ in answers] == [200, 200, 200, 429, 429]
    assert answers[4][1]["search"]["candidate"] in ("allows", "warming")
    report = admin.get("/rules/search/candidate")
    assert (report["kind"], report["rule"], report["would_deny"]) == ("candidate", "search", 0)
    assert 1 <= report["would_allow"] <= 2 and report["would_change"] == report["would_allow"], report
    assert len(report["subjects"]) == 1 and report["subjects"][0]["would_allow"] == report["would_allow"]
    card = admin.get("/rules/search")
    assert card["candidate"]["requests"] == report["requests"]
    assert admin.get("/overview")["totals"]["candidates"] == 1
    metrics = server.metrics() if hasattr(server, "metrics") else ""
    assert not metrics or 'weir_candidate_requests_total{rule="search",verdict="would_allow"}' in metrics


def test_a_candidate_warms_up_for_a_window_of_its_own(server):
    admin = Admin(server.admin)
    load(admin, server, RULES)
    assert check(server)[1]["search"]["candidate"] == "warming"
    report = admin.get("/rules/search/candidate")
    assert report["requests"] == 0 and report["warming"] >= 1 and report["warming_until"] is not None


def test_a_rule_in_shadow_mode_gets_the_same_report(server):
    admin = Admin(server.admin)
    load(admin, server, RULES)
    for _ in range(4):
        check(server)
    report = admin.get("/rules/quiet/candidate")
    assert (report["kind"], report["requests"], report["would_deny"]) == ("shadow", 4, 3)
    assert report["subjects"][0]["would_deny"] == 3


def test_promotion_changes_only_what_it_must_and_is_audited(server):
    admin = Admin(server.admin)
    load(admin, server, RULES)
    status, body, _ = end(admin, "promote", {"reason": "no complaints"})
    assert status == 200, body
    assert "# the comment stays" in body["text"] and "candidate" not in body["text"]
    assert "    limit: 1  # as agreed\n    window: 3650d\n" in body["text"], body["text"]
    entry = admin.audit(action="candidate")[0]
    assert (entry["action"], entry["reason"]) == ("candidate.promote", "no complaints")
    assert entry["object"] == "rules/search" and entry == admin.audit(object="rules/search")[0]
    numbers = [(entry[when]["numbers"], entry[when]["candidate"]) for when in ("before", "after")]
    assert numbers == [("3 per 1 ms, per tenant", "1 per 3650 days, per tenant"), ("1 per 3650 days, per tenant", None)]
    assert entry["after"]["version"] == entry["before"]["version"] + 1 == body["version"]
    status, body, _ = end(admin, "promote", {"reason": "again"})
    assert (status, body["code"]) == (404, "no_candidate")
    assert end(admin, "promote", {"reason": "x"}, "none")[0] == 404
    assert end(admin, "promote", {})[0] == 400, "a reason is needed"


@pytest.mark.parametrize("verb", ["promote", "discard"])
def test_no_change_of_someone_else_is_overwritten(server, verb):
    admin = Admin(server.admin)
    load(admin, server, RULES)
    report = admin.get("/rules/search/candidate")
    assert report["etag"] == admin.get("/rules")["etag"]
    load(admin, server, RULES.replace("limit: 1, window", "limit: 2, window"))
    before = admin.get("/rules")
    path = f"/rules/search/candidate/{verb}"
    status, body, _ = admin.call("POST", path, {"reason": "test"})
    assert (status, body["code"]) == (428, "if_match_required")
    status, body, _ = end(admin, verb, {"reason": "test"}, etag=report["etag"])
    assert (status, body["code"], body["etag"]) == (412, "stale", before["etag"])
    assert admin.get("/rules") == before and not admin.audit(action="candidate")
    status, body, headers = admin.call("GET", "/rules/search/candidate")
    assert headers["ETag"] == f'"{before["etag"]}"'
    status, body, headers = end(admin, verb, {"reason": "test"}, etag=body["etag"])
    assert status == 200 and headers["ETag"] == f'"{body["etag"]}"' != f'"{before["etag"]}"'


def test_the_command_line_sends_the_etag_that_it_read(server):
    admin = Admin(server.admin)
    load(admin, server, RULES)
    done = run("rules", "candidate", "promote", "search", "--reason", "test", "--admin", f"http://{server.admin}")
    assert done.returncode == 0 and done.stdout.startswith("promoted: version "), done


def test_the_answer_says_when_comments_are_lost(server):
    admin = Admin(server.admin)
    flow = "  - {id: flow, limit: 3, window: 1s, candidate: {limit: 2}}\n"
    load(admin, server, RULES.replace("  - id: quiet", flow + "  - id: quiet"))
    status, body, _ = end(admin, "promote", {"reason": "test"})
    assert status == 200 and not any("comments" in each for each in body["warnings"]), body
    status, body, _ = end(admin, "promote", {"reason": "test"}, "flow")
    assert status == 200 and "# the comment stays" not in body["text"]
    assert any("comments" in each for each in body["warnings"]), body["warnings"]


FIRST = """version: 1
rules:
  # why
  - candidate: {limit: 2}
    id: search
    limit: 3
    window: 1s
"""


@pytest.mark.parametrize("end_of_line", ["\n", "\r\n"])
def test_a_candidate_that_is_the_first_field_is_removed_in_place(server, end_of_line):
    admin = Admin(server.admin)
    load(admin, server, FIRST.replace("\n", end_of_line))
    status, body, _ = end(admin, "promote", {"reason": "test"})
    expected = FIRST.replace("  - candidate: {limit: 2}\n    id", "  - id").replace("limit: 3", "limit: 2")
    assert status == 200 and body["text"] == expected.replace("\n", end_of_line), body["text"]
    assert not any("comments" in each for each in body["warnings"])


def test_with_rules_in_a_file_the_command_line_prints_the_new_text(start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    words = ["rules", "candidate", "discard", "search", "--reason", "test", "--admin",
             f"http://{start('--rules', str(path)).admin}"]
    expected = RULES.replace("    candidate: {limit: 1, window: 3650d}\n", "")
    plain = run(*words)
    assert (plain.returncode, plain.stdout) == (3, expected) and str(path) in plain.stderr
    assert json.loads(run(*words, "--json").stdout)["error"]["text"] == expected


ADAPTIVE = """version: 1
rules:
  - id: exports
    per: [tenant]
    algorithm: concurrency
    limit: {auto: {min: 2, max: 6}}
    lease: 30s
"""


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_a_limit_that_adapts_is_shown_as_it_was_found(server, mode):
    admin = Admin(server.admin)
    load(admin, server, ADAPTIVE + f"    mode: {mode}\n")
    assert admin.get("/rules/exports/candidate")["limit"] is None
    assert server.call("/v1/leases", {"attributes": {"tenant": "acme"}})[0] == 201
    text = server.call("/v1/check", {"attributes": {"tenant": "acme"}, "cost": 0})[1]
    limit = json.loads(text)["rules"][0]["limit"]
    report = admin.get("/rules/exports/candidate")
    assert report["kind"] == ("shadow" if mode == "shadow" else "adaptive")
    assert report["limit"] == limit and [each["limit"] for each in report["found"]] == [limit]
    shown = run("rules", "candidate", "show", "exports", "--admin", f"http://{server.admin}")
    assert shown.returncode == 0 and f"{limit} at a time (auto, 2 to 6)" in shown.stdout, shown


def test_discarding_leaves_the_rule_as_it_is(server):
    admin = Admin(server.admin)
    load(admin, server, RULES)
    status, body, _ = end(admin, "discard", {"reason": "too low"})
    assert status == 200 and body["text"] == RULES.replace("    candidate: {limit: 1, window: 3650d}\n", ""), body
    assert admin.audit(action="candidate")[0]["action"] == "candidate.discard"


def test_with_rules_in_a_file_it_tells_what_to_change(start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    admin = Admin(start("--rules", str(path)).admin)
    status, body, _ = end(admin, "discard", {"reason": "test"})
    assert (status, body["code"]) == (409, "rules_from_file") and str(path) in body["detail"]
    assert "candidate" not in body["text"] and path.read_text() == RULES
    assert "candidate" in admin.get("/session")["features"]
