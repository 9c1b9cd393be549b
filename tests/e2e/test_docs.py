"""What the documentation shows is true: every `sh` block is run, every rules file validated, every link followed.

The README, the tutorial and the pages in IN_ORDER are run from top to bottom in an empty folder (page_runner.py). On other pages each `sh` block
runs in a scratch folder of its own, with a server on the quickstart rules in place of 127.0.0.1:8080; blocks marked
`console` are for the reader (they start servers or build).
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from page_runner import PageRunner, blocks_of
from test_cli import Server, weir

ROOT = pathlib.Path(__file__).parents[2]
IN_ORDER = [ROOT / "README.md", *(ROOT / "docs" / page for page in (
    "tutorial.md", "lease-recipes.md", "admin.md", "explaining-denials.md", "tenants-and-keys.md", "incidents.md",
    "quotas.md", "rollout.md"))]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def outputs():
    """Commands of pages that are not run in order, with what the page says they print."""
    for page in PAGES:
        found = blocks_of(page) if page not in IN_ORDER else []
        for (kind, text), (next_kind, expected) in zip(found, found[1:]):
            if (kind, next_kind) == ("sh", "output"):
                yield pytest.param(text, expected, id=str(page.relative_to(ROOT)))


def blocks(kind):
    for page in PAGES:
        for number, found in enumerate(re.finditer(r"^```" + kind + r"\n(.*?)^```", page.read_text(), re.M | re.S)):
            yield pytest.param(page, found.group(1), id=f"{page.relative_to(ROOT)}-{number}")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server("--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0",
                     log=tmp_path_factory.mktemp("docs") / "log")
    yield running
    running.process.terminate()
    running.process.wait(20)


@pytest.mark.parametrize("page,text", [p for p in blocks("sh") if p.values[0] not in (*IN_ORDER, ROOT / "CONTRIBUTING.md")])
def test_commands_in_the_documentation_run(page, text, server, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "weir").symlink_to(os.environ["WEIR_BIN"])
    # The default server of `weir check` moves along with the address that the page shows.
    text = text.replace("127.0.0.1:8080", server.http).replace("127.0.0.1:8082", server.admin).replace("weir check tenant", f"weir check --server http://{server.http} tenant")
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"status":4' not in done.stdout, done.stdout


@pytest.mark.parametrize("text,expected", outputs())
def test_commands_in_the_documentation_print_what_it_says(text, expected, tmp_path):
    runner = PageRunner(tmp_path, os.environ["WEIR_BIN"])
    (runner.work / "examples").symlink_to(ROOT / "examples")
    try:
        runner.printed = runner.do(text)
        runner.compare(expected)
    finally:
        runner.close()


@pytest.mark.parametrize("page", IN_ORDER, ids=lambda p: p.name)
def test_a_page_runs_from_top_to_bottom_in_an_empty_folder(page, tmp_path):
    assert sum(kind in ("sh", "sh server") for kind, _ in blocks_of(page)) >= 5
    runner = PageRunner(tmp_path, os.environ["WEIR_BIN"])
    try:
        runner.run(page)
    finally:
        runner.close()


def test_the_quickstart_of_the_readme_admits_five_and_denies_the_sixth(tmp_path):
    runner = PageRunner(tmp_path, os.environ["WEIR_BIN"])
    try:
        runner.serve("weir serve")
        first = next(body for kind, body in blocks_of(ROOT / "README.md") if kind == "sh")
        assert runner.do(first).split() == ["200"] * 5 + ["429"]
    finally:
        runner.close()


@pytest.mark.parametrize("page,text", blocks("yaml rules"))
def test_rules_files_in_the_documentation_are_valid(page, text, tmp_path):
    (tmp_path / "rules.yaml").write_text(text)
    done = weir("rules", "validate", str(tmp_path / "rules.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr


# How a page starts its gateway, and how that gateway only reads the same configuration.
READ_ONLY = {"nginx -c /path/to/": f"nginx -t -c {ROOT}/", "caddy run ": "caddy validate ", "haproxy -f ": "haproxy -c -f "}


def gateway_commands():
    for page in PAGES:
        for line in page.read_text().splitlines():
            for start, check in READ_ONLY.items():
                if line.startswith("$ ") and start in line:
                    yield pytest.param(line[2:].replace(start, check), id=f"{page.stem}: {line[2:]}")


def test_each_gateway_is_started_on_some_page():
    commands = " ".join(param.values[0] for param in gateway_commands())
    assert all(check in commands for check in READ_ONLY.values())


@pytest.mark.parametrize("command", gateway_commands())
def test_gateways_accept_the_commands_that_pages_show(command):
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PATH": f"/usr/sbin:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stdout + done.stderr


def anchors(page):
    """The anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.M)}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text()):
        if not target.startswith("http"):
            path = page.parent / target if target else page
            assert path.exists(), f"{page}: {target}"
            assert not anchor or anchor in anchors(path), f"{page}: {target}#{anchor}"


def test_the_configuration_page_is_the_programs_own_table():
    script = ROOT / "scripts" / "configuration_page.py"
    made = subprocess.run([sys.executable, str(script), os.environ["WEIR_BIN"]], capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "docs" / "configuration.md").read_text(), "run: scripts/configuration_page.py build/bin/weir > docs/configuration.md"
    flags = set(re.findall(r"^\| `[\w.]+` \| `(--[\w-]+)` \|", made, re.M))
    known = set(re.findall(r"^ +(--[\w-]+)", weir("serve", "--help-all").stdout, re.M)) - {"--config", "--print-config", "--help-all"}
    assert len(flags) > 50 and flags == known


def test_the_architecture_page_lists_the_rooms_as_cmake_does():
    stated = {}
    for name, words in re.findall(r"^weir_room\((\w+) DIR (.*?)\)$", (ROOT / "src" / "CMakeLists.txt").read_text(), re.M):
        folder, _, rest = words.partition(" ")
        seen = re.search(r"SEES (.*?)(?: USES| APART|$)", rest)
        stated[name] = (f"src/{folder}", set(seen.group(1).split()) if seen else set())
    shown = {}
    for name, folder, sees in re.findall(r"^\| (\w+) \| `(src/[\w/]+)` \| .* \| ([\w, ]*)\|$", (ROOT / "docs" / "architecture.md").read_text(), re.M):
        shown[name] = (folder, set(sees.replace(",", " ").split()))
    assert len(stated) > 15 and shown == stated
    drawn = subprocess.run([sys.executable, str(ROOT / "scripts" / "rooms_picture.py")], capture_output=True, text=True, check=True).stdout
    assert drawn == (ROOT / "docs" / "images" / "rooms.svg").read_text(), "run: scripts/rooms_picture.py > docs/images/rooms.svg"


def test_the_architecture_page_names_files_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text()
    paths = re.findall(r"`((?:src|include|tests|deploy|docs|cmake|api)/[\w./-]+)`", text)
    assert len(paths) > 40
    missing = [path for path in paths if not (ROOT / path).exists()]
    # In the diagrams, files are named without src/.
    for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S):
        missing += [path for path in re.findall(r"\b((?:frontends|engine|rules|keys|server|stores|identity)/[\w./]+\.(?:cc|h|lua))", block)
                    if not (ROOT / "src" / path).exists()]
    assert not missing
