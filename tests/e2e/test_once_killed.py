"""Idempotency-Key when nodes die: whatever was charged when the node was killed -9 is not charged again by a retry."""

import concurrent.futures
import http.client
import json
import random
import threading
import time

from redis_nodes import PATIENT, redis  # noqa: F401 (redis is a fixture)
from test_cli import start  # noqa: F401 (start is a fixture)
from test_leases import ask
from test_once_redis import send

RULES = """version: 1
rules:
  - {id: calls, match: {action: call}, per: [tenant], algorithm: fixed-window, limit: 10, window: 3650d}
  - {id: slots, match: {action: export}, per: [tenant], algorithm: concurrency, limit: 5, lease: 10m}
  - {id: exports, match: {action: export}, per: [tenant], algorithm: fixed-window, limit: 10, window: 3650d}
"""
SUBJECTS = 150
ROUNDS = 2
RUNNING_S = 10  # after which a request whose node died may be sent again


def question(number):
    action = "export" if number % 3 == 0 else "call"
    return {"attributes": {"tenant": f"t-{number}", "action": action}}


def path_of(number):
    return "/v1/leases" if number % 3 == 0 else "/v1/check"


def used(node, number):
    rules = ask(node, "POST", "/v1/check", {**question(number), "peek": True})[1]["rules"]
    return {each["rule"]: each["limit"] - each["remaining"] for each in rules}


def send_until_killed(node, numbers, answered):
    """One connection for each, so that a kill leaves as many requests on their way as there are threads."""
    host, port = node.http.rsplit(":", 1)
    for number in numbers:
        try:
            connection = http.client.HTTPConnection(host, int(port), timeout=10)
            connection.request("POST", path_of(number), json.dumps(question(number)), {"Idempotency-Key": f"k-{number}"})
            if connection.getresponse().status in (200, 201):
                answered.add(number)
            connection.close()
        except (OSError, http.client.HTTPException):
            pass


def retry(node, number):
    end = time.monotonic() + 4 * RUNNING_S
    while time.monotonic() < end:
        status, answer, headers = send(node, path_of(number), question(number), f"k-{number}")
        if status in (200, 201):
            return answer, headers
        assert status in (409, 503), (status, answer)
        time.sleep(0.5)
    raise AssertionError(f"{number} was never answered")


def test_a_node_that_is_killed_between_charge_and_answer_charges_nothing_twice(redis, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    flags = ("--rules", str(path), "--store", redis.url, "--redis-deadline", PATIENT)
    survivor = start(*flags)
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    interrupted = 0
    for turn in range(ROUNDS):
        victim = start(*flags)
        answered = set()
        first = turn * SUBJECTS
        shares = [range(first + i, first + SUBJECTS, 24) for i in range(24)]
        threads = [threading.Thread(target=send_until_killed, args=(victim, share, answered)) for share in shares]
        for thread in threads:
            thread.start()
        goal = chance.randrange(10, SUBJECTS - 60)
        while len(answered) < goal and any(thread.is_alive() for thread in threads):
            time.sleep(chance.random() * 0.002)
        victim.process.kill()
        for thread in threads:
            thread.join()
        numbers = range(first, first + SUBJECTS)
        before = {number: used(survivor, number) for number in numbers}
        interrupted += sum(1 for number in numbers if number not in answered and any(before[number].values()))
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            answers = dict(zip(numbers, pool.map(lambda number: retry(survivor, number), numbers)))
        for number in numbers:
            now = used(survivor, number)
            assert set(now.values()) == {1}, (number, number in answered, before[number], now, answers[number])
    assert interrupted > 0, "no kill came between a charge and its answer: nothing was tested"
