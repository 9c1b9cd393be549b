"""The files of deploy/systemd work as docs/systemd.md installs them.

systemd-analyze, systemd-sysusers and systemd-tmpfiles check their files where they are installed; the rest, and the
syntax where they are not, is checked here. The commands of the page are run in a scratch root.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest
from test_cli import WEIR, Server, weir

ROOT = pathlib.Path(__file__).parents[2]
SYSTEMD = ROOT / "deploy" / "systemd"

UNIT_KEYS = {
    "Unit": "Description Wants After",
    "Service": """Type ExecStart ExecReload EnvironmentFile Restart RestartSec TimeoutStopSec LimitNOFILE User Group StateDirectory
        StateDirectoryMode RuntimeDirectory RuntimeDirectoryMode UMask ProtectSystem ProtectHome PrivateTmp PrivateDevices ProtectClock ProtectControlGroups ProtectHostname
        ProtectKernelLogs ProtectKernelModules ProtectKernelTunables ProtectProc NoNewPrivileges CapabilityBoundingSet LockPersonality
        MemoryDenyWriteExecute RemoveIPC RestrictAddressFamilies RestrictNamespaces RestrictRealtime RestrictSUIDSGID
        SystemCallArchitectures SystemCallFilter""",
    "Install": "WantedBy",
}
HARDENING = {
    "User": "weir", "Group": "weir", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes",
    "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "MemoryDenyWriteExecute": "yes", "RestrictSUIDSGID": "yes",
}


def parse_unit(text):
    """{section: {key: [value…]}}; anything that is not a section, a known key or a comment is an error."""
    unit, section = {}, None
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if found := re.fullmatch(r"\[(\w+)\]", line):
            section = found.group(1)
            assert section in UNIT_KEYS and section not in unit, f"line {number}: {line}"
            unit[section] = {}
            continue
        found = re.fullmatch(r"(\w+)=(.*)", line)
        assert section and found and found.group(1) in UNIT_KEYS[section].split(), f"line {number}: {line}"
        unit[section].setdefault(found.group(1), []).append(found.group(2))
    return unit


@pytest.fixture
def unit():
    return parse_unit((SYSTEMD / "weir.service").read_text())


def test_the_unit_starts_reloads_and_is_confined(unit):
    assert list(unit) == ["Unit", "Service", "Install"]
    service = unit["Service"]
    for key, value in HARDENING.items():
        assert service[key] == [value], key
    assert service["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
    assert service["StateDirectory"] == service["RuntimeDirectory"] == ["weir"]
    shown = weir("serve", "--print-config").stdout
    connections = re.search(r"^  max_connections: (\d+)$", shown, re.M)
    assert int(service["LimitNOFILE"][0]) > int(connections.group(1)), "more than http.max_connections"
    drain = re.search(r"^drain_timeout: (\d+)s$", shown, re.M)
    assert int(service["TimeoutStopSec"][0].removesuffix("s")) > int(drain.group(1)), "more than drain_timeout"


def test_the_unit_calls_the_program_with_flags_it_has(unit):
    words = shlex.split(unit["Service"]["ExecStart"][0])
    assert words[:2] == ["/usr/local/bin/weir", "serve"]
    known = weir("serve", "--help").stdout
    flags = [word for word in words[2:] if word.startswith("--")]
    assert flags
    for flag in flags:
        assert re.search(rf"{flag}\b", known), flag


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit(tmp_path):
    # systemd requires the program to exist; it is not installed where tests run.
    copy = tmp_path / "weir.service"
    copy.write_text((SYSTEMD / "weir.service").read_text().replace("/usr/local/bin/weir", os.path.abspath(WEIR)))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(copy)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "weir.service" not in done.stderr, done.stderr


@pytest.mark.skipif(shutil.which("systemd-sysusers") is None, reason="systemd-sysusers is not installed")
def test_systemd_would_create_the_units_user(unit, tmp_path):
    done = subprocess.run(["systemd-sysusers", f"--root={tmp_path}", "--dry-run", str(SYSTEMD / "sysusers.conf")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    user = unit["Service"]["User"][0]
    assert re.search(rf"Creating user '{user}' \(Weir rate limiter\)", done.stdout + done.stderr), done.stderr


def test_the_lines_for_sysusers_and_tmpfiles_are_well_formed(unit):
    user = unit["Service"]["User"][0]
    (line,) = [line for line in (SYSTEMD / "sysusers.conf").read_text().splitlines() if not line.startswith("#")]
    kind, name, number, _, home, shell = shlex.split(line)
    assert (kind, name, number, home) == ("u", user, "-", "/var/lib/" + unit["Service"]["StateDirectory"][0])
    assert shell.endswith("/nologin")
    (line,) = [line for line in (SYSTEMD / "tmpfiles.conf").read_text().splitlines() if not line.startswith("#")]
    kind, folder, mode, owner, group, _ = line.split()
    assert (kind, mode, owner, group) == ("d", "0750", "root", user)
    assert unit["Service"]["ExecStart"][0].endswith(f" --config {folder}/weir.yaml")


def page_commands():
    page = (ROOT / "docs" / "systemd.md").read_text()
    return [line[2:] for line in re.search(r"```console\n(.*?)```", page, re.S).group(1).splitlines()]


def run_page(root):
    """Runs the page's commands with / moved to `root`; what needs a running systemd is left out."""
    for command in page_commands():
        words = command.removeprefix("sudo ")
        program = words.split()[0]
        if program == "install":
            words = re.sub(r"(?<= )/", f"{root}/", words).replace(" -g weir", "").replace("build/bin/weir ", os.path.abspath(WEIR) + " ")
        elif program in ("systemd-sysusers", "systemd-tmpfiles"):
            words = words.replace(program, f"{program} --root={root}", 1)
        else:
            continue
        done = subprocess.run(shlex.split(words), cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{words}: {done.stderr}"


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("systemd-tmpfiles") is None, reason="needs root and systemd's tools")
def test_the_commands_of_the_page_install_a_service_that_starts(tmp_path, unit):
    root = tmp_path / "root"
    root.mkdir()
    run_page(root)
    user = unit["Service"]["User"][0]
    assert re.search(rf"^{user}:", (root / "etc" / "passwd").read_text(), re.M)
    folder = root / "etc" / "weir"
    assert folder.stat().st_mode & 0o777 == 0o750
    assert f":{folder.stat().st_gid}:" in re.search(rf"^{user}:.*$", (root / "etc" / "group").read_text(), re.M).group(0)
    # The unit's own command, with the paths of the scratch root.
    words = shlex.split(unit["Service"]["ExecStart"][0])
    assert (root / words[0][1:]).is_file() and (root / "etc" / "systemd" / "system" / "weir.service").is_file()
    config = root / words[words.index("--config") + 1][1:]
    (root / "var" / "lib" / "weir").mkdir(parents=True)
    config.write_text(config.read_text().replace("/var/lib/weir", str(root / "var" / "lib" / "weir")))
    for _ in range(2):
        running = Server("--config", str(config), "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0", log=tmp_path / "log")
        assert running.check() == 200
        assert running.stop() == 0
    assert (root / "var" / "lib" / "weir" / "snapshot").is_file()
    assert [event["event"] for event in running.events()].count("snapshot_loaded") == 1, "buckets survive a restart"


def test_the_services_rules_are_valid_and_limit_every_kind_of_caller():
    rules = str(ROOT / "deploy" / "rules.yaml")
    done = weir("rules", "validate", rules)
    assert done.returncode == 0, done.stdout + done.stderr
    for request, rule in {"api_key=k": "requests-per-key", "tenant=acme": "requests-per-tenant", "ip=192.0.2.1": "requests-per-address"}.items():
        answer = weir("check", "--local", rules, request, "--json")
        assert answer.returncode == 0 and f'"rule":"{rule}"' in answer.stdout, answer.stdout + answer.stderr
