"""The embedded store as operators meet it: at its memory bound, and with something odd in the place of its snapshot."""

import json
import os

import pytest
from test_cli import start, weir  # noqa: F401: the fixture

BATCH = 1000


def rules(policy):
    return (
        "version: 1\nrules:\n"
        "  - {id: logins, per: [account], algorithm: sliding-log, limit: 5, window: 1h,"
        f" on_store_failure: {policy}}}\n"
    )


def check(server, accounts):
    requests = [{"attributes": {"account": account}} for account in accounts]
    status, body = server.call("/v1/check/batch", {"requests": requests})
    assert status == 200, body
    return json.loads(body)["decisions"]


@pytest.mark.parametrize("policy", ["allow", "deny"])
def test_a_flood_of_new_subjects_lifts_and_takes_nobody_elses_limit(start, tmp_path, policy):
    (tmp_path / "rules.yaml").write_text(rules(policy))
    server = start("--rules", str(tmp_path / "rules.yaml"), "--memory-max-bytes", "1MiB")
    known = [f"known-{i}" for i in range(100)]
    for _ in range(4):  # each at a time of its own, so that each takes an entry of the log
        assert all(answer["allowed"] for answer in check(server, known))
    degraded = 0
    for batch in range(20):
        flood = check(server, [f"random-{batch}-{i}" for i in range(BATCH)])
        degraded += sum(answer["degraded"] for answer in flood)
        assert all(answer["allowed"] == (policy == "allow") for answer in flood if answer["degraded"])
    assert degraded > 10 * BATCH, "newcomers are answered by the policy"

    for tries in range(4):
        answers = check(server, known)
        assert not any(answer["degraded"] for answer in answers)
        assert [answer["allowed"] for answer in answers] == [tries == 0] * len(known)
        if tries > 0:
            assert all(answer["reason"] == "limit_exceeded" and answer["retry_after_ms"] > 0 for answer in answers)


@pytest.mark.parametrize("kind", ["FIFO", "directory", "device"])
def test_a_snapshot_that_is_no_regular_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / "snapshot"
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("/dev/null")
    ports = ["--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0"]
    ended = weir("serve", *ports, "--memory-snapshot", str(path))
    assert ended.returncode == 2, ended
    assert f"memory.snapshot: {path}: is a {kind}, expected a regular file" in ended.stderr
