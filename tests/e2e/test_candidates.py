"""Candidates from outside: the decision, the report, the metrics, promotion and discarding, and who may."""

import json
import time

import pytest
from admin_client import Admin
from test_cli import start  # noqa: F401 (a fixture)

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
    status, body, _ = admin.call("POST", "/rules/search/candidate/promote", {"reason": "no complaints"})
    assert status == 200, body
    assert "# the comment stays" in body["text"] and "candidate" not in body["text"]
    assert "    limit: 1  # as agreed\n    window: 3650d\n" in body["text"], body["text"]
    entry = admin.audit(action="candidate")[0]
    assert (entry["action"], entry["reason"]) == ("candidate.promote", "no complaints")
    status, body, _ = admin.call("POST", "/rules/search/candidate/promote", {"reason": "again"})
    assert (status, body["code"]) == (404, "no_candidate")
    assert admin.call("POST", "/rules/none/candidate/promote", {"reason": "x"})[0] == 404
    assert admin.call("POST", "/rules/search/candidate/promote", {})[0] == 400, "a reason is needed"


def test_discarding_leaves_the_rule_as_it_is(server):
    admin = Admin(server.admin)
    load(admin, server, RULES)
    status, body, _ = admin.call("POST", "/rules/search/candidate/discard", {"reason": "too low"})
    assert status == 200 and body["text"] == RULES.replace("    candidate: {limit: 1, window: 3650d}\n", ""), body
    assert admin.audit(action="candidate")[0]["action"] == "candidate.discard"


def test_with_rules_in_a_file_it_tells_what_to_change(start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    admin = Admin(start("--rules", str(path)).admin)
    status, body, _ = admin.call("POST", "/rules/search/candidate/discard", {"reason": "test"})
    assert (status, body["code"]) == (409, "rules_from_file") and str(path) in body["detail"]
    assert "candidate" not in body["text"] and path.read_text() == RULES
    assert "candidate" in admin.get("/session")["features"]
