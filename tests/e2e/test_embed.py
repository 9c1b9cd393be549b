"""`make install`, then a separate project that finds the library with find_package."""

import os
import pathlib
import subprocess

import pytest
from redis_nodes import Redis

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ["WEIR_BIN"]).parents[1]


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_separate_project_builds_against_the_installed_library_and_runs(tmp_path):
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    run("cmake", "--install", str(BUILD), "--prefix", str(prefix))
    run("cmake", "-S", str(ROOT / "examples" / "embed"), "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", str(build))
    out = run(str(build / "embed"), str(ROOT / "examples" / "embed" / "rules.yaml")).splitlines()
    assert [line.split()[1] for line in out[:4]] == ["allowed", "allowed", "allowed", "denied"]
    assert out[4].startswith("3 searches per 60 s are free. Try again in ")
    assert out[5].startswith("export of 4: allowed") and out[6].startswith("export of 7: denied")
    assert run(str(prefix / "bin" / "weir"), "version").strip()


@pytest.fixture
def redis(tmp_path):
    server = Redis(tmp_path)
    yield server
    server.kill()


def test_two_programs_with_the_library_share_one_limit_on_redis(tmp_path, redis):
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    example = ROOT / "examples" / "embed-redis"
    run("cmake", "--install", str(BUILD), "--prefix", str(prefix))
    run("cmake", "-S", str(example), "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", str(build))
    words = (str(build / "embed-redis"), redis.url + "?deadline=10s", str(example / "rules.yaml"), "80")
    programs = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [program.communicate(timeout=60)[0].split() for program in programs]
    assert [program.returncode for program in programs] == [0, 0]
    assert sum(int(answer[0]) for answer in answers) == 100, "of 160 jobs, as many as the limit"
    assert redis.run("EXISTS", "w1:hash-key") == ":1"
