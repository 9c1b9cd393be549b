"""Random rule files of envoyproxy/ratelimit: served as they are, imported, and by a model of the original."""

import http.client
import json
import random
import re

import pytest
from test_cli import start, weir  # noqa: F401 (start is a fixture)

KEYS = ["a", "b", "a_b", "generic_key", "domain", "k*", "x y", "ключ"]
VALUES = ["1", "b_c", "foo", "foobar", "foo*", "f*", "*", "10.0.0.0/8", "~re", ": y", '"', "true", "null", "#x"]
CALLS = 300


def random_descriptors(chance, depth=0):
    made = {}
    for _ in range(chance.randint(1, 5)):
        descriptor = {"key": chance.choice(KEYS)}
        if chance.random() < 0.7:
            descriptor["value"] = chance.choice(VALUES)
        if chance.random() < 0.8:
            limit = {"unlimited": True} if chance.random() < 0.1 else {"unit": "year", "requests_per_unit": chance.randint(0, 4)}
            if chance.random() < 0.4:
                limit["name"] = chance.choice(["one", "two", "with space"])
            if chance.random() < 0.2:
                limit["replaces"] = [{"name": chance.choice([name for name in ("one", "two") if name != limit.get("name")])}]
            descriptor["rate_limit"] = limit
        descriptor["shadow_mode"] = chance.random() < 0.1
        if depth < 2 and chance.random() < 0.4:
            descriptor["descriptors"] = random_descriptors(chance, depth + 1)
        made[descriptor["key"], descriptor.get("value")] = descriptor
    return list(made.values())


def ways(descriptors, before=()):
    for each in descriptors:
        here = (*before, (each["key"], each.get("value")))
        yield here
        yield from ways(each.get("descriptors", []), here)


def random_call(chance, known):
    descriptors = []
    for _ in range(chance.choice([1, 1, 2, 3])):
        entries = []
        for key, value in chance.choice(known):
            value = chance.choice(["", "1", "zz"]) if value is None else value
            if value.endswith("*") and chance.random() < 0.8:
                value = value[:-1] + chance.choice(["", "x"])
            entries.append({"key": key, "value": chance.choice(VALUES) if chance.random() < 0.05 else value})
        descriptor = {"entries": entries[:-1] if chance.random() < 0.05 else entries}
        descriptor.update(chance.choice([{}] * 8 + [{"hitsAddend": "0"}, {"hitsAddend": "3"}, {"isNegativeHits": True}]))
        descriptors.append(descriptor)
    return {"domain": "d", "descriptors": descriptors, "hitsAddend": chance.choice([0, 0, 0, 2])}


class Original:
    """What envoyproxy/ratelimit does, but for the differences that docs/migrate-from-envoy-ratelimit.md names."""

    def __init__(self, descriptors):
        self.descriptors, self.counts = descriptors, {}

    def find(self, entries):
        beside, found = self.descriptors, None
        for entry in entries:
            fitting = [each for each in beside if each["key"] == entry["key"]]
            equal = [each for each in fitting if each.get("value") == entry["value"]]
            beginning = [each for each in fitting if each.get("value", "").endswith("*") and entry["value"].startswith(each["value"][:-1])]
            found = next(iter(equal + beginning + [each for each in fitting if "value" not in each]), None)
            if found is None:
                return None
            beside = found.get("descriptors", [])
        return found

    def answer(self, call):
        found = [self.find(each["entries"]) for each in call["descriptors"]]
        limits = [each and each.get("rate_limit") for each in found]
        replaced = {name["name"] for limit in limits if limit for name in limit.get("replaces", [])}
        return [self.status(call, each, rule, limit) if limit and ("unlimited" in limit or limit.get("name") not in replaced)
                else ("OK", 0) for each, rule, limit in zip(call["descriptors"], found, limits)]

    def status(self, call, descriptor, rule, limit):
        if "unlimited" in limit:
            return "OK", 4294967295
        counter = tuple((entry["key"], entry["value"]) for entry in descriptor["entries"])
        hits = int(descriptor.get("hitsAddend", max(1, call["hitsAddend"])))
        count, most = self.counts.get(counter, 0), limit["requests_per_unit"]
        over = "isNegativeHits" not in descriptor and count + max(1, hits) > most
        if not over:
            self.counts[counter] = max(0, count - hits) if "isNegativeHits" in descriptor else count + hits
        elif hits > 0:
            self.counts[counter] = max(count, most)  # what does not fit takes what is left
        shown = rule["shadow_mode"] or most == 0  # neither reports what is left as the original does
        return "OVER_LIMIT" if over and not rule["shadow_mode"] else "OK", None if shown else most - self.counts.get(counter, 0)


def ask(server, call):
    """The status and the body without times."""
    connection = http.client.HTTPConnection(server.http, timeout=20)
    connection.request("POST", "/json", json.dumps(call))
    answer = connection.getresponse()
    body = json.loads(re.sub(r";t=\d+", "", answer.read().decode()))
    connection.close()
    for status in body["statuses"]:
        status.pop("durationUntilReset", None)
    for header in body.get("responseHeadersToAdd", []):
        header["value"] = "" if header["key"] == "Retry-After" else header["value"]
    return answer.status, body


@pytest.mark.parametrize("seed", range(4))
def test_a_served_folder_its_import_and_the_original_decide_the_same(start, tmp_path, seed):  # noqa: F811
    chance = random.Random(seed)
    descriptors = random_descriptors(chance)
    (tmp_path / "config").mkdir()
    # JSON is YAML.
    (tmp_path / "config" / "d.yaml").write_text(json.dumps({"domain": "d", "descriptors": descriptors}))
    (tmp_path / "config" / "other.yaml").write_text(json.dumps({"domain": "other", "descriptors": random_descriptors(chance)}))
    imported = weir("rules", "import", "--from", "envoy", str(tmp_path / "config"))
    assert imported.returncode == 0, imported.stderr
    (tmp_path / "rules.yaml").write_text(imported.stdout)
    served = start("--rules", str(tmp_path / "config"), "--rules-format", "envoy")
    ours = start("--rules", str(tmp_path / "rules.yaml"))
    original, known = Original(descriptors), list(ways(descriptors))
    for _ in range(CALLS):
        call = random_call(chance, known)
        status, body = ask(served, call)
        assert ask(ours, call) == (status, body), call
        expected = original.answer(call)
        assert [each["code"] for each in body["statuses"]] == [code for code, _ in expected], call
        for told, (_, left) in zip(body["statuses"], expected):
            assert left is None or told.get("limitRemaining", 0) == left, call
        assert (status == 429) == any(code == "OVER_LIMIT" for code, _ in expected), call
