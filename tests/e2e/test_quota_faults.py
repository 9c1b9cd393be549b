"""A few of the runs of quota_faults.py; `make soak` makes many. And: two nodes use a quota up before one is denied."""

import os
import pathlib
import random
import tempfile
import threading

import pytest
from postgres_node import Postgres
from quota_faults import Node, run_once

WEIR = os.environ["WEIR_BIN"]
FIRST = int(os.environ.get("QUOTA_SEED", random.randrange(1 << 30)))


@pytest.mark.parametrize("run", range(int(os.environ.get("QUOTA_RUNS", "4"))))
def test_promises_hold_whatever_is_killed(run):
    run_once(WEIR, FIRST + run)


def test_two_nodes_with_uneven_demand_use_a_quota_up(tmp_path):
    """At least 99 % of 10,000 units are admitted before the first denial: what is missing is in the slice of the other node."""
    limit = 10_000
    rules = tmp_path / "rules.yaml"
    rules.write_text(f"version: 1\nrules: [{{id: q, per: [tenant], algorithm: quota, limit: {limit}, period: year}}]\n")
    postgres = Postgres()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-quota-"))
    nodes = []
    try:
        nodes = [Node(WEIR, folder / f"n{i}", postgres.url, rules, 30) for i in range(2)]
        counted = [0, 0]
        denied = threading.Event()

        def ask(index, batch):
            body = {"requests": [{"attributes": {"tenant": "acme"}} for _ in range(batch)]}
            while not denied.is_set():
                import json

                status, text = nodes[index].call("POST", "/v1/check/batch", body, 20)
                assert status == 200, text
                answers = [each["allowed"] for each in json.loads(text)["decisions"]]
                counted[index] += sum(answers)
                if not all(answers):
                    denied.set()

        threads = [threading.Thread(target=ask, args=(0, 50)), threading.Thread(target=ask, args=(1, 5))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert counted[1] > 0
        assert limit * 0.99 <= sum(counted) <= limit, counted
    finally:
        for node in nodes:
            node.kill()
        postgres.close()
