"""data_dir and the database of a server: where they are, who may use them, and what happens without them."""

import json
import os
import sqlite3

import pytest
from test_cli import QUIET, start, weir  # noqa: F401 (start is a fixture)


def readyz(server):
    return json.loads(server.call("/readyz", listener=server.admin)[1])


def test_a_server_makes_its_data_dir_and_database(start, tmp_path):  # noqa: F811
    server = start("--data-dir", str(tmp_path / "state"))
    assert oct((tmp_path / "state").stat().st_mode & 0o777) == "0o700"
    assert readyz(server)["database"] == {"kind": "sqlite", "connected": True}
    assert "weir_database_connected 1\n" in server.metrics()
    server.stop()
    with sqlite3.connect(tmp_path / "state" / "weir.db") as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert "ledger_account" in tables


def test_a_second_server_is_told_who_has_the_data_dir(start, tmp_path):  # noqa: F811
    state = str(tmp_path / "state")
    server = start("--data-dir", state)
    second = weir("serve", "--listen-http", "127.0.0.1:0", "--listen-admin", "off", "--data-dir", state)
    assert second.returncode == 3
    assert f"{state} is in use by process {server.process.pid} (weir): stop it, or give this server a folder of its own with --data-dir" in second.stderr
    server.stop()
    start("--data-dir", state)


def test_without_a_place_for_it_a_server_runs_without_a_database(start, tmp_path):  # noqa: F811
    nowhere = {name: value for name, value in QUIET.items() if name not in ("HOME", "XDG_STATE_HOME")}
    (tmp_path / "log-0.state").write_text("a file, in which no folder can be made")
    server = start(env=nowhere)
    assert "cannot be made" in server.await_event("no_database")["cause"]
    assert "database" not in readyz(server)
    assert server.check() == 200


@pytest.mark.parametrize("flags", [["--data-dir", "/proc/weir"], ["--database", "sqlite:/no/such/folder/weir.db"]])
def test_what_was_asked_for_and_cannot_be_had_stops_the_start(flags):
    done = weir("serve", "--listen-http", "127.0.0.1:0", "--listen-admin", "off", *flags)
    assert done.returncode == 3 and flags[1].removeprefix("sqlite:") in done.stderr


def test_off_uses_no_data_dir(start, tmp_path):  # noqa: F811
    server = start("--database", "off", "--data-dir", str(tmp_path / "state"))
    assert not os.path.exists(tmp_path / "state")
    assert "weir_database_" not in server.metrics()


def test_the_database_of_a_newer_program_is_refused(start, tmp_path):  # noqa: F811
    start("--data-dir", str(tmp_path)).stop()
    with sqlite3.connect(tmp_path / "weir.db") as database:
        names = [row[1] for row in database.execute("PRAGMA table_info(weir_migration)")]
        assert names, "the table of migrations has another name"
        database.execute("INSERT INTO weir_migration SELECT component, 99, name, checksum, applied_at FROM weir_migration WHERE component = 'ledger' AND version = 1")
    done = weir("serve", "--listen-http", "127.0.0.1:0", "--listen-admin", "off", "--data-dir", str(tmp_path))
    assert done.returncode == 3 and "newer" in done.stderr


def test_a_server_starts_while_postgres_is_away(start):  # noqa: F811
    server = start("--database", "postgres://weir@127.0.0.1:1/weir")
    assert "database" in server.await_event("database_away")
    assert readyz(server)["database"]["connected"] is False
    assert "weir_database_connected 0\n" in server.metrics()
    assert server.check() == 200
