"""The C++ on the README and docs/library.md compiles against the public headers."""

import pathlib
import subprocess

import pytest
from page_runner import blocks_of

ROOT = pathlib.Path(__file__).parents[2]
PRELUDE = """
#include <chrono>
#include <iostream>
#include <string>
#include <vector>
#include "weir/identity.h"
#include "weir/limiter.h"
#include "weir/prepared_check.h"
#include "weir/redis.h"
#include "weir/rules_file.h"
"""
# What the snippets take from the program around them.
README_CONTEXT = "int too_many_requests(weir::Duration);\nint snippet(const std::string& key) {\n%s\nreturn 0;\n}\n"
LIBRARY_CONTEXT = "void snippet_%d(std::unique_ptr<weir::Limiter> limiter) {\n%s\n}\n"


def sources():
    readme = [body for kind, body in blocks_of(ROOT / "README.md") if kind == "cpp"]
    library = [body for kind, body in blocks_of(ROOT / "docs" / "library.md") if kind == "cpp"]
    assert len(readme) == 1 and len(library) >= 5
    yield pytest.param(README_CONTEXT % readme[0], id="README.md")
    # The first snippet opens its own limiter.
    yield pytest.param("void first() {\n" + library[0] + "}\n" + "".join(
        LIBRARY_CONTEXT % (number, body) for number, body in enumerate(library[1:])), id="library.md")


@pytest.mark.parametrize("source", sources())
def test_the_snippets_of_a_page_compile(source):
    done = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wno-unused-variable", "-Wno-unused-but-set-variable",
                           f"-I{ROOT / 'include'}", "-x", "c++", "-"], input=PRELUDE + source, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
