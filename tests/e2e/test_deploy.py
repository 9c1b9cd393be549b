"""What deploy/ offers works as it is: the compose file, the Dockerfile and the reference configuration.

docker compose checks its file where it is installed; the rest is checked here.
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from test_cli import WEIR, Server, weir

ROOT = pathlib.Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

def scalar(text):
    if text.startswith("["):
        words = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
        assert "[" + ", ".join(f'"{word}"' for word in words) + "]" == text, f"not a list of quoted texts: {text}"
        return words
    assert not re.match(r"""[{}&*!|>'"%@`]""", text), f"not a plain value: {text}"
    return text


def parse_yaml(lines, depth=0):
    """The part of YAML that the compose file keeps to: maps and lists by indentation, plain values, quoted lists."""
    whole = None
    while lines and (indent := len(lines[0]) - len(lines[0].lstrip(" "))) >= depth:
        assert indent == depth, f"indented by {indent}, expected {depth}: {lines[0]}"
        line = lines.pop(0).strip()
        if line.startswith("- "):
            whole = [] if whole is None else whole
            assert isinstance(whole, list), line
            whole.append(scalar(line[2:]))
            continue
        whole = {} if whole is None else whole
        found = re.fullmatch(r"([\w.-]+):(?: (.+))?", line)
        assert found and isinstance(whole, dict) and found.group(1) not in whole, line
        whole[found.group(1)] = scalar(found.group(2)) if found.group(2) else parse_yaml(lines, depth + 2)
    return whole


@pytest.fixture
def compose():
    lines = (DEPLOY / "docker-compose.yml").read_text().splitlines()
    assert not any("\t" in line for line in lines)
    rest = [line for line in lines if line.strip() and not line.strip().startswith("#")]
    whole = parse_yaml(rest)
    assert not rest, f"not understood: {rest[0]}"
    return whole


def test_the_compose_file_puts_weir_on_a_redis_that_never_evicts(compose):
    node, redis = compose["services"]["weir"], compose["services"]["redis"]
    assert node["environment"]["WEIR_STORE"] == "redis://redis:6379"
    assert node["depends_on"] == {"redis": {"condition": "service_healthy"}}
    assert redis["command"][redis["command"].index("--maxmemory-policy") + 1] == "noeviction"
    assert all(port.startswith("127.0.0.1:") for port in node["ports"]) and "ports" not in redis
    for volume in redis["volumes"] + node["volumes"][1:]:
        assert volume.split(":")[0] in compose["volumes"]
    assert "test" in node["healthcheck"] and "test" in redis["healthcheck"]


def test_the_compose_file_names_files_and_settings_that_exist(compose):
    node = compose["services"]["weir"]
    context = DEPLOY / node["build"]["context"]
    assert (context / node["build"]["dockerfile"]).is_file()
    assert (DEPLOY / node["volumes"][0].split(":")[0]).is_file()
    known = weir("serve", "--help").stdout
    for name in node["environment"]:
        flag = "--" + name.removeprefix("WEIR_").lower().replace("_", "-")
        assert re.search(rf"{flag}\b", known), name


def test_the_compose_files_rules_are_valid(compose):
    source = compose["services"]["weir"]["volumes"][0].split(":")[0]
    done = weir("rules", "validate", str(DEPLOY / source))
    assert done.returncode == 0, done.stdout + done.stderr


def has_compose():
    docker = shutil.which("docker")
    return docker is not None and subprocess.run([docker, "compose", "version"], capture_output=True).returncode == 0


@pytest.mark.skipif(not has_compose(), reason="docker compose is not installed")
def test_docker_accepts_the_compose_file():
    done = subprocess.run(["docker", "compose", "-f", str(DEPLOY / "docker-compose.yml"), "config", "--quiet"], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_image_is_built_by_make_and_runs_as_an_ordinary_user():
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    known = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in steps} <= known
    assert [rest for word, rest in steps if word == "FROM"] == ["debian:12 AS build", "debian:12"]
    assert ["RUN", "make build"] in steps and ["USER", "weir"] in steps
    for word, rest in steps:
        if word == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source


def package_of(library):
    """The Debian package that a library belongs to, asked by the name under which dpkg may know it."""
    for path in (library, "/usr" + library, os.path.realpath(library), os.path.realpath(library).removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise AssertionError(f"{library} belongs to no package")


# Checked without a docker daemon: the last stage installs every library that the program loads.
@pytest.mark.skipif(shutil.which("dpkg") is None, reason="not a Debian")
def test_the_image_has_every_library_that_the_program_needs():
    stage = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").split("FROM debian:12\n")[1]
    installed = set(re.search(r"apt-get install(.*?)&&", stage, re.DOTALL).group(1).split())
    always = {"libc6", "libgcc-s1", "libstdc++6"}
    asked = subprocess.run(["readelf", "-d", WEIR], capture_output=True, text=True, check=True).stdout
    own = set(re.findall(r"NEEDED.*\[(.*)\]", asked))  # the rest are packages that these packages depend on
    loaded = re.findall(r"(\S+) => (/\S+)", subprocess.run(["ldd", WEIR], capture_output=True, text=True, check=True).stdout)
    needed = {package_of(library) for name, library in loaded if name in own}
    assert len(needed) > 5 and needed <= installed | always, needed - installed - always
    unused = {name for name in installed if name.startswith("lib")} - needed
    assert not unused, f"installed for nothing: {unused}"


def test_the_configuration_is_the_programs_own_and_starts_it(tmp_path):
    shown = weir("serve", "--print-config")
    assert shown.returncode == 0 and shown.stdout == (DEPLOY / "weir.yaml").read_text(), "weir serve --print-config > deploy/weir.yaml"
    running = Server("--config", str(DEPLOY / "weir.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0",
                     log=tmp_path / "log")
    try:
        assert running.check() == 200
    finally:
        running.process.terminate()
        running.process.wait(20)
