"""npm packages for tests, of pinned versions, kept outside the tree."""

import os
import pathlib
import shutil
import subprocess

import pytest

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "weir-tests"


def installed(name, packages):
    """The node_modules folder with `packages` ({package: version}), under a name of its own."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    wanted = [f"{package}@{version}" for package, version in packages.items()]
    folder = CACHE / f"{name}-{'-'.join(packages.values())}"
    complete = folder / "complete"
    if not complete.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *wanted]
        if subprocess.run(words, capture_output=True, timeout=240).returncode != 0:
            pytest.skip("npm cannot install the packages here (no network?)")
        complete.touch()
    return folder / "node_modules"


def run(modules, script, *words):
    """Standard output of a script, which must have nothing to complain about."""
    done = subprocess.run(["node", str(script), *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "NODE_PATH": str(modules)})
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    return done.stdout
