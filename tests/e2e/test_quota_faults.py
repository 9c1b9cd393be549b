"""A few of the runs of quota_faults.py; `make soak` makes many. And: two nodes use a quota up before one is denied."""

import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading

from postgres_node import Postgres
from quota_faults import Node

HERE = pathlib.Path(__file__).parent
WEIR = os.environ["WEIR_BIN"]
FIRST = int(os.environ.get("QUOTA_SEED", random.randrange(1 << 30)))


def run_apart(seed):
    """In a process of its own, because runs wait more than they compute."""
    return subprocess.run([sys.executable, str(HERE / "quota_faults.py"), WEIR, "1", str(seed)], capture_output=True, text=True, timeout=300)


def test_promises_hold_whatever_fails():
    """Ten seeds in a row are every scenario once; a few run at the same time."""
    seeds = range(FIRST, FIRST + int(os.environ.get("QUOTA_RUNS", "10")))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = dict(zip(seeds, pool.map(run_apart, seeds)))
    failed = [f"seed {seed}:\n{done.stdout}{done.stderr}" for seed, done in runs.items() if done.returncode != 0]
    print("\n".join(done.stdout.splitlines()[0] for done in runs.values() if done.stdout))
    assert not failed, "\n".join(failed)


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
