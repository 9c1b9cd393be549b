"""POST /admin/v1/rules/simulate: an upload or the journal, against the active rules and others."""

import json
import os
import pathlib

import pytest
from test_cli import Server, weir

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "simulate"
LOG = (EXAMPLE / "access.log").read_text()
STRICTER = (EXAMPLE / "stricter.yaml").read_text()


@pytest.fixture
def server(tmp_path):
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("WEIR_")}, "XDG_STATE_HOME": str(tmp_path)}
    running = Server("--rules", str(EXAMPLE / "rules.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0",
                     "--journal-sample", "1", log=tmp_path / "log", env=env)
    yield running
    running.process.terminate()
    running.process.wait(20)


def simulate(server, **body):
    status, text = server.call("/admin/v1/rules/simulate", body, listener=server.admin)
    return status, json.loads(text)


def test_an_uploaded_log_gives_what_the_command_line_gives(server):
    status, report = simulate(server, text=STRICTER, source="log", log=LOG)
    assert status == 200, report
    expected = json.loads(weir("rules", "simulate", str(EXAMPLE / "rules.yaml"), str(EXAMPLE / "access.log"),
                               "--against", str(EXAMPLE / "stricter.yaml"), "--json").stdout)
    for name in ("requests", "allowed_now", "denied_now", "allowed_then", "denied_then", "newly_denied"):
        assert report[name] == expected[name], name
    assert {each["rule"]: (each["denied_now"], each["denied_then"]) for each in report["rules"]} == \
           {each["rule"]: (each["denied_now"], each["denied_then"]) for each in expected["rules"]}
    assert report["subjects"] and "192.0.2.10" not in json.dumps(report["subjects"]), "subjects are hashes unless they may be plain"


def test_the_journal_is_replayed(server):
    for _ in range(25):
        server.call("/v1/check", {"attributes": {"ip": "192.0.2.77"}})
    status, report = simulate(server, text=STRICTER, source="journal")
    assert status == 200, report
    assert report["requests"] == 25
    assert report["denied_then"] > report["denied_now"] >= 0


def test_mistakes_are_refused(server):
    for body, status, words in [
        ({"text": "version: 1\nrules: [{id: a}]\n", "source": "log", "log": LOG}, 400, "limit"),
        ({"text": STRICTER, "source": "log"}, 400, "log"),
        ({"text": STRICTER, "source": "guess"}, 400, "source"),
        ({"text": STRICTER, "source": "log", "log": LOG, "format": "w3c"}, 400, "format"),
        ({"text": STRICTER, "source": "log", "log": "what is this\n"}, 400, "format"),
        ({"text": STRICTER, "source": "log", "log": LOG, "more": 1}, 400, "more"),
    ]:
        found, answer = simulate(server, **body)
        assert (found, words in json.dumps(answer)) == (status, True), answer
