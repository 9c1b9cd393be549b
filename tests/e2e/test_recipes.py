"""docs/recipes.md: each recipe's rules do to requests what the page says."""

import json
import pathlib
import re

import pytest
from page_runner import blocks_of
from test_cli import Server

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "recipes.md"
EXTRA = 20  # A denial must come within this many further requests: a bucket refills a little meanwhile.


def recipes():
    found = [(kind, body) for kind, body in blocks_of(PAGE) if kind in ("yaml rules", "requests")]
    titles = re.findall(r"^## (.+)$", PAGE.read_text(), re.M)
    assert [kind for kind, _ in found] == ["yaml rules", "requests"] * len(titles), "each recipe has rules and requests"
    assert len(titles) >= 8
    for title, (_, rules), (_, requests) in zip(titles, found[::2], found[1::2]):
        yield pytest.param(rules, requests.splitlines(), id=title)


def body_of(words):
    values = dict(word.split("=", 1) for word in words.split())
    cost = int(values.pop("cost", 1))
    return {"attributes": values, "cost": cost}


@pytest.mark.parametrize("rules,lines", recipes())
def test_a_recipe_does_what_the_page_says(rules, lines, tmp_path):
    (tmp_path / "rules.yaml").write_text(rules)
    server = Server("--rules", str(tmp_path / "rules.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "off", log=tmp_path / "log")
    try:
        for line in lines:
            request, allowed, denied, rule = re.fullmatch(
                r"(.+) → (?:(\d+) allowed, then (?=denied)|allowed)?(?:(denied)(?: by ([\w-]+))?)?", line).groups()
            body = body_of(request)
            for number in range(int(allowed or not denied)):
                assert server.call("/v1/check", body)[0] == 200, f"{line}: request {number + 1}"
            if denied:
                answers = [server.call("/v1/check", body) for _ in range(EXTRA if allowed else 1)]
                refused = [json.loads(text) for status, text in answers if status == 429]
                assert refused, f"{line}: never denied"
                assert rule is None or refused[0]["rule"] == rule, refused[0]
    finally:
        server.stop()
