"""What the tests of foreign gateways share: where the programs are, and the classes of tests/e2e."""
import os
import pathlib
import shutil
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))


def program(name):
    """The program that scripts/fetch-gateways.sh left, or one of the machine's own."""
    fetched = ROOT / "build" / "gateways" / name
    found = str(fetched) if os.access(fetched, os.X_OK) else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not here")
    return found


def until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
