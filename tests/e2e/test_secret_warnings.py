"""Secrets that are easy to get at are reported at the start and at each reload; /readyz shows details to token holders only."""

import json
import signal

from test_cli import DEADLINE_S, rules, rules_text, start  # noqa: F401 (fixtures)

TOKEN = "a-token-that-is-long-enough"


def exposed(server):
    return [event for event in server.events() if event["event"] == "secret_file_exposed"]


def test_exposed_files_are_told_at_the_start_and_at_each_reload(start, tmp_path):  # noqa: F811
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef")
    secret.chmod(0o644)
    server = start("--identity-jwt-secret-file", str(secret))
    event = server.await_event("secret_file_exposed")
    assert (event["level"], event["file"], event["mode"]) == ("warn", str(secret), "0644")
    assert event["setting"] == "identity.jwt_secret_file" and "chmod 600" in event["msg"]
    server.process.send_signal(signal.SIGHUP)
    server.await_event("secret_file_exposed", 2)
    # A changed file is noticed without SIGHUP.
    secret.write_text("fedcba9876543210fedcba9876543210")
    server.await_event("secret_file_exposed", 3)
    secret.chmod(0o600)
    loaded = len([event for event in server.events() if event["event"] == "identity_loaded"])
    told = len(exposed(server))
    server.process.send_signal(signal.SIGHUP)
    server.await_event("identity_loaded", loaded + 1)
    server.await_event("rules_unchanged")
    assert len(exposed(server)) == told


def test_short_tokens_are_told_and_not_shown(start):  # noqa: F811
    server = start("--admin-tokens", f"q7,{TOKEN}")
    assert server.await_event("secret_too_short")["setting"] == "admin.tokens"
    assert "q7" not in server.log_path.read_text()


def test_readyz_tells_details_to_token_holders_only(start, rules):  # noqa: F811
    server = start("--rules", str(rules), "--admin-tokens", TOKEN)
    rules.write_text("version: 1\nrules: nonsense-in-the-file\n")
    server.await_event("rules_rejected")

    def ready(headers=None):
        status, body = server.call("/readyz", listener=server.admin, headers=headers)
        return status, json.loads(body)

    status, told = ready()
    assert status == 200 and told["rules"]["current"] is False
    assert "error" not in told["rules"] and "loaded" not in told["rules"] and str(rules) not in json.dumps(told)
    status, told = ready({"Authorization": f"Bearer {TOKEN}"})
    assert status == 200 and "rules.yaml:2" in told["rules"]["error"]
    assert ready({"Authorization": "Bearer wrong"})[0] == 401
    assert server.call("/readyz")[0] == 200


def test_without_tokens_a_listener_on_loopback_tells_all(start, rules):  # noqa: F811
    server = start("--rules", str(rules))
    rules.write_text("version: 1\nrules: nonsense-in-the-file\n")
    server.await_event("rules_rejected")
    assert "error" in json.loads(server.call("/readyz", listener=server.admin)[1])["rules"]
