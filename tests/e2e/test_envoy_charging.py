"""What a call with several descriptors charges when one is over its limit, on memory and on a real Redis; and that the page
about envoyproxy/ratelimit names settings that exist."""

import concurrent.futures
import pathlib
import re

import pytest
from redis_nodes import Redis
from test_cli import start  # noqa: F401 (a fixture)
from test_envoy import ask

ROOT = pathlib.Path(__file__).parents[2]
EDGE = """
domain: edge
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 5}
  - key: path
    rate_limit: {unit: year, requests_per_unit: 1000}
"""
BOTH = ([("user", "ann")], [("path", "/")])


@pytest.fixture(params=["memory", "redis"])
def serve(request, start, tmp_path):  # noqa: F811
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "edge.yaml").write_text(EDGE)
    redis = None
    flags = []
    if request.param == "redis":
        (tmp_path / "redis").mkdir()
        redis = Redis(tmp_path / "redis")
        flags = ["--store", redis.url + "?deadline=5s"]

    def begin(*more):
        return start("--rules", str(tmp_path / "config"), "--rules-format", "envoy", "--loops", "2", *flags, *more)

    yield begin
    if redis is not None:
        redis.kill()


def left(server, key, value):
    """What a look shows; at nothing left it is over."""
    return ask(server, "edge", {"entries": [{"key": key, "value": value}], "hitsAddend": "0"})[1]["statuses"][0].get("limitRemaining", 0)


def statuses(answer):
    return [(status["code"], status.get("limitRemaining", 0)) for status in answer[1]["statuses"]]


def test_each_charges_the_others_and_all_or_none_does_not(serve):
    each, together = serve(), serve("--grpc-envoy-charging", "all_or_none")
    for server, value in ((each, "each"), (together, "together")):
        call = ([("user", value)], [("path", value)])
        for used in range(1, 6):
            assert statuses(ask(server, "edge", *call)) == [("OK", 5 - used), ("OK", 1000 - used)]
    assert statuses(ask(each, "edge", [("user", "each")], [("path", "each")])) == [("OVER_LIMIT", 0), ("OK", 994)]
    for _ in range(3):
        code, answer = ask(together, "edge", [("path", "together")], [("user", "together")])
        assert code == 429 and statuses((code, answer)) == [("OK", 995), ("OVER_LIMIT", 0)]
    assert left(each, "path", "each") == 994
    assert left(together, "path", "together") == 995


def test_one_that_is_over_uses_up_what_is_left(serve):
    server = serve("--grpc-envoy-charging", "all_or_none")
    big = {"entries": [{"key": "user", "value": "ann"}], "hitsAddend": "7"}
    assert statuses(ask(server, "edge", big, [("path", "/")])) == [("OVER_LIMIT", 0), ("OK", 1000)]
    assert left(server, "user", "ann") == 0


def test_concurrent_calls_are_charged_all_or_none(serve):
    """Whatever comes in between: what is admitted on one limit is charged on the other, and nothing else is."""
    server = serve("--grpc-envoy-charging", "all_or_none")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: ask(server, "edge", *BOTH)[0], range(80)))
    assert codes.count(200) == 5 and codes.count(429) == 75
    assert left(server, "path", "/") == 995


def test_a_limit_that_envoy_sends_is_part_of_the_decision(serve):
    server = serve("--grpc-envoy-charging", "all_or_none")
    own = {"entries": [{"key": "own", "value": "x"}], "limit": {"requestsPerUnit": 1, "unit": "YEAR"}}
    assert statuses(ask(server, "edge", [("path", "/")], own)) == [("OK", 999), ("OK", 0)]
    assert statuses(ask(server, "edge", [("path", "/")], own)) == [("OK", 999), ("OVER_LIMIT", 0)]
    nothing = {"entries": [{"key": "own", "value": "y"}], "limit": {"requestsPerUnit": 0, "unit": "YEAR"}}
    assert statuses(ask(server, "edge", [("path", "/")], nothing, [("user", "ann")])) == [("OK", 999), ("OVER_LIMIT", 0), ("OK", 5)]


def test_the_settings_that_the_page_names_exist():
    page = (ROOT / "docs" / "migrate-from-envoy-ratelimit.md").read_text()
    table = page.split("## Settings\n")[1].split("\n## ")[0]
    ours = set(re.findall(r"`((?:listen|tls|rules|redis|http|log|grpc)\.[a-z_]+)", table))
    reference = (ROOT / "deploy" / "weir.yaml").read_text()
    for name in ours:
        section, field = name.split(".")
        block = re.search(rf"^{section}:\n((?:  .*\n|\n)*)", reference, re.M).group(1)
        assert re.search(rf"^  {field}: ", block, re.M), name
    assert len(ours) > 20
    theirs = re.findall(r"`([A-Z][A-Z_]+)`", table)
    assert len(theirs) == len(set(theirs)) > 110, "each of their settings once"
