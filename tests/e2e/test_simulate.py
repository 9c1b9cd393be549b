"""`weir rules simulate` as people use it: files, standard input, packed logs, reports, progress, and mistakes."""

import gzip
import html.parser
import json
import os
import pathlib
import pty
import re
import subprocess

from test_cli import WEIR, weir

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "simulate"
RULES, STRICTER, LOG = (str(EXAMPLE / name) for name in ("rules.yaml", "stricter.yaml", "access.log"))


def simulated(*words, **options):
    done = weir("rules", "simulate", *words, "--json", **options)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def test_the_report_says_who_was_denied_when_and_by_which_rule():
    report = simulated(RULES, LOG)
    assert report["requests"] == 600 and report["allowed_now"] + report["denied_now"] == 600
    assert report["denied_now"] == sum(rule["denied_now"] for rule in report["rules"]) > 0
    first = report["subjects"][0]
    assert first["subject"] == "ip=192.0.2.10" and first["rule"] == "login"
    assert first["first_denied_at"] < first["last_denied_at"] < report["to"]
    assert sum(report["series"]["requests"]) == 600
    text = weir("rules", "simulate", RULES, LOG).stdout
    assert re.search(r"ip=192\.0\.2\.10 +login", text) and "Most denied" in text


def test_packed_logs_and_standard_input_give_the_same_report(tmp_path):
    expected = simulated(RULES, LOG)
    lines = pathlib.Path(LOG).read_text().splitlines(keepends=True)
    (tmp_path / "one.gz").write_bytes(gzip.compress("".join(lines[::2]).encode()))
    (tmp_path / "two.log").write_text("".join(lines[1::2]))
    merged = simulated(RULES, str(tmp_path / "two.log"), str(tmp_path / "one.gz"))
    piped = json.loads(weir("rules", "simulate", RULES, "-", "--json", input=pathlib.Path(LOG).read_text()).stdout)
    for other in (merged, piped):
        for name in ("requests", "from", "to", "series"):
            assert other[name] == expected[name] or name == "series" and other[name]["requests"] == expected[name]["requests"]
    assert piped["rules"] == expected["rules"]


def test_two_rule_sets_are_compared():
    report = simulated(RULES, LOG, "--against", STRICTER)
    assert report["denied_then"] > report["denied_now"] and report["newly_denied"] > 0
    assert report["denied_then"] - report["denied_now"] == report["newly_denied"] - report["newly_allowed"]
    assert any(each["denied_now"] != each["denied_then"] for each in report["changed"])


def test_suggested_limits_keep_what_they_promise(tmp_path):
    report = simulated(RULES, LOG, "--target", "5%")
    by_rule = {each["rule"]: each for each in report["suggestions"]}
    assert set(by_rule) == {"per-address", "login"}
    assert all(each["suggested_share"] <= 0.05 for each in report["suggestions"])
    # A rule file with only that rule and the suggested limit denies that share, and one unit less denies more.
    def share(limit):
        rules = tmp_path / f"login-{limit}.yaml"
        rules.write_text("version: 1\nrules:\n  - {id: login, match: {path: /login, method: POST}, per: [ip], "
                         f"algorithm: sliding-log, limit: {limit}, window: 60s, on_store_failure: deny}}\n")
        rule = simulated(str(rules), LOG)["rules"][0]
        return rule["denied_now"] / rule["requests_now"]
    suggested = by_rule["login"]["suggested_limit"]
    assert share(suggested) <= 0.05 < share(suggested - 1)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "line", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_html_report_is_one_well_formed_page_with_charts_and_no_links(tmp_path):
    out = tmp_path / "report.html"
    assert weir("rules", "simulate", RULES, LOG, "--against", STRICTER, "--target", "1%", "--html", str(out)).returncode == 0
    page = Page()
    page.feed(out.read_text())
    assert page.open == [] and page.links == [] and "script" not in page.seen
    assert page.seen.count("svg") >= 3 and "prefers-color-scheme" in out.read_text()


def test_values_from_the_log_cannot_break_out_of_the_page(tmp_path):
    log, out = tmp_path / "log", tmp_path / "report.html"
    log.write_text(json.dumps({"time": 1767225600, "path": "/login", "method": "POST", "who": "<script>alert(1)</script>\"&"}) + "\n")
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrules:\n  - {id: who, per: [who], algorithm: fixed-window, limit: 0, window: 1s, on_store_failure: deny}\n")
    assert weir("rules", "simulate", str(rules), str(log), "--map", "who=who", "--html", str(out)).returncode == 0
    assert "<script>" not in out.read_text() and "&lt;script&gt;alert(1)" in out.read_text()


def test_identity_of_the_configuration_makes_the_attributes(tmp_path):
    (tmp_path / "weir.yaml").write_text("identity:\n  ipv4_prefix: 24\n  routes:\n    POST /login: login 2\n")
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrules:\n  - {id: login, match: {action: login}, per: [ip], algorithm: fixed-window, limit: 10, window: 60s, on_store_failure: deny}\n")
    report = simulated(str(rules), LOG, "--config", str(tmp_path / "weir.yaml"))
    assert report["rules"][0]["subjects"] == 2  # two networks
    assert any(each["subject"] == "ip=198.51.100.0" for each in report["top_requests"])


def test_a_progress_bar_appears_on_a_terminal_only(tmp_path):
    log = tmp_path / "log"
    log.write_text(pathlib.Path(LOG).read_text() * 400)
    master, slave = pty.openpty()
    done = subprocess.Popen([WEIR, "rules", "simulate", RULES, str(log), "--json"], stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # the terminal is gone with the program
        pass
    assert done.wait(60) == 0
    assert re.search(rb"\[#*\.*\] +\d+ %  [\d,]+ lines, [\d,]+/s", shown), shown
    assert weir("rules", "simulate", RULES, LOG, "--json").stderr == ""


def test_mistakes_say_what_is_wrong_and_what_is_expected(tmp_path):
    bad = tmp_path / "bad.log"
    bad.write_text("what is this\n")
    for words, code, text in [
        ((RULES, "/nowhere.log"), 3, "/nowhere.log: cannot be opened"),
        ((RULES, str(bad)), 2, "its format is not recognized"),
        ((RULES, LOG, "--map", "user"), 2, "--map: is 'user', expected field=attribute"),
        ((RULES, LOG, "--target", "150%"), 2, "--target: is '150%', expected a share"),
        ((RULES, LOG, "--timezone", "Mars/Olympus"), 2, "--timezone:"),
        ((RULES, LOG, "--memory", "1"), 2, "--memory:"),
        (("/nowhere.yaml", LOG), 2, "/nowhere.yaml"),
        ((RULES, LOG, "--format", "w3c"), 2, "--format"),
    ]:
        done = weir("rules", "simulate", *words)
        assert (done.returncode, text in done.stderr) == (code, True), done.stderr


def test_lines_that_do_not_parse_are_counted_and_the_first_is_shown(tmp_path):
    log = tmp_path / "log"
    log.write_text(pathlib.Path(LOG).read_text() + "garbage one\ngarbage two\n")
    report = simulated(RULES, str(log))
    assert report["unparsed"] == 2 and report["first_unparsed"]["text"] == "garbage one"
    assert report["first_unparsed"]["line"] == 601
    assert "garbage one" in weir("rules", "simulate", RULES, str(log)).stdout
