"""`weir rules diff`, `review`, `estimate`, `advise` and `explain` from outside: output, exit codes, mistakes."""

import json
import pathlib
import re

from test_cli import weir

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "simulate"
RULES, STRICTER = str(EXAMPLE / "rules.yaml"), str(EXAMPLE / "stricter.yaml")
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "choosing-an-algorithm.md"


def test_diff_names_what_changes_and_exits_with_1():
    done = weir("rules", "diff", RULES, STRICTER)
    assert done.returncode == 1
    assert re.search(r"^changed  per-address  stricter: every request, for each ip: 30 per 1m, burst 20, token-bucket becomes 6 per 1m", done.stdout, re.M)
    assert "    limit: 30 → 6" in done.stdout and "    burst: 20 → 4" in done.stdout
    change, = json.loads(weir("rules", "diff", RULES, STRICTER, "--json").stdout)["changes"]
    assert (change["rule"], change["change"], change["state"]) == ("per-address", "changed", "kept")
    assert {"field": "limit", "before": "30", "after": "6"} in change["fields"]
    same = weir("rules", "diff", RULES, RULES)
    assert (same.returncode, same.stdout) == (0, "nothing changes\n")
    assert weir("rules", "diff", RULES, "/nowhere.yaml").returncode == 2


def test_review_finds_patterns_that_the_page_explains(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrules:\n  - {id: login, match: {action: login}, per: [email], algorithm: fixed-window, limit: 5, window: 60s}\n")
    done = weir("rules", "review", str(rules), "--json")
    assert done.returncode == 1
    found = {each["pattern"] for each in json.loads(done.stdout)["findings"]}
    assert found == {"fixed-window-on-log-in", "no-failure-policy", "raw-identity"}
    explained = set(re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(), re.M))
    assert found < explained
    assert weir("rules", "review", str(rules)).stdout.rstrip().endswith("findings")
    assert weir("rules", "review", RULES).returncode == 0


def test_estimate_says_how_much_memory_and_load_a_rule_set_needs():
    done = weir("rules", "estimate", RULES, "--requests-per-day", "86400000", "--peak", "4000", "--subjects", "100000", "--costs", "1:90%,11:10%", "--json")
    assert done.returncode == 0, done.stderr
    estimate = json.loads(done.stdout)
    assert estimate["store_calls_per_second"] == 4000 and estimate["average_cost"] == 2
    assert [rule["rule"] for rule in estimate["rules"]] == ["per-address", "login"]
    assert 48 * 100_000 < estimate["rules"][0]["memory_bytes"] < 120 * 100_000
    assert "memory.max_bytes" in weir("rules", "estimate", RULES).stdout
    wrong = weir("rules", "estimate", RULES, "--costs", "1:50%")
    assert wrong.returncode == 2 and "do not add up" in wrong.stderr
    assert "expected cost:share" in weir("rules", "estimate", RULES, "--costs", "many").stderr


def test_advise_writes_a_rule_that_validate_accepts(tmp_path):
    done = weir("rules", "advise", "--purpose", "abuse", "--exactness", "exact", "--action", "login", "--per", "account", "--limit", "5", "--window", "15m", input="")
    assert done.returncode == 0 and "sliding-log" in done.stderr
    (tmp_path / "rules.yaml").write_text(done.stdout)
    assert weir("rules", "validate", str(tmp_path / "rules.yaml")).returncode == 0
    advice = json.loads(weir("rules", "advise", "--purpose", "infrastructure", "--json", input="").stdout)
    assert advice["algorithm"] == "token-bucket" and advice["reasons"] and advice["yaml"].startswith("version: 1")
    missing = weir("rules", "advise", input="")
    assert missing.returncode == 2 and "--purpose: is missing" in missing.stderr
    wrong = weir("rules", "advise", "--purpose", "abuze", input="")
    assert wrong.returncode == 2 and "did you mean abuse?" in wrong.stderr


def test_advise_asks_what_is_not_given():
    done = weir("rules", "advise", "--ask", "--outage", "deny", input="2\nexact\n\n\nnonsense\nunbounded\n\n\n\n")
    assert done.returncode == 0, done.stderr
    assert "What is the limit for?" in done.stderr and "expected few, many or unbounded" in done.stderr
    assert "algorithm: sliding-log" in done.stdout and "max_subjects: 1000000" in done.stdout and "on_store_failure: deny" in done.stdout
    assert weir("rules", "advise", "--ask", input="2\n").returncode == 2


def test_explain_says_what_each_rule_admits_and_whether_the_decision_is_atomic(tmp_path):
    done = weir("rules", "explain", RULES, "ip=192.0.2.1", "path=/login", "method=POST")
    assert "admits exactly 5 in any 1m" in done.stdout
    assert "decision: exact; charged in one atomic step, all rules or none" in done.stdout
    explained = json.loads(weir("rules", "explain", RULES, "ip=192.0.2.1", "path=/", "--json").stdout)
    assert explained["rules"][0]["exact"] is True and explained["decision"]["atomic"] is True
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrules:\n  - {id: a, per: [ip], algorithm: fixed-window, limit: 5, window: 60s, on_store_failure: allow}\n"
                     "  - {id: b, per: [user], limit: 5, window: 60s, on_store_failure: allow}\n")
    decision = json.loads(weir("rules", "explain", str(rules), "ip=1", "user=u", "--json").stdout)["decision"]
    assert decision["exact"] is False and decision["atomic_in_cluster"] is False and len(decision["cluster_notes"]) == 1
