#!/usr/bin/env python3
"""The ledger of quotas on PostgreSQL and SQLite, with every commit on disk (fsync on): operations per second.

Usage in batches is put beside pgbench, whose clients insert single rows into a table with as many columns' worth of text;
strict takes of 64 callers that share commits beside the same callers with a commit for each. Higher is better, so the
ratio is how many times the floor it is. Run it through bench/run.py, or alone.
"""
import os
import statistics
import subprocess
import sys
import tempfile

from run import BIN, ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
PGBENCH = "/usr/lib/postgresql/15/bin/pgbench"
SECONDS = 4
INSERT = """\\set a random(1, 1000000)
INSERT INTO plain_row (account, kind, amount, about) VALUES (:a, 'usage', 1, 'a row like an entry of the ledger');
"""


def measure(database, mode):
    done = subprocess.run([f"{BIN}/ledger_bench", database, mode, str(SECONDS)], capture_output=True, text=True, check=True, timeout=300)
    return float(done.stdout)


def pgbench(postgres, folder):
    script = os.path.join(folder, "insert.sql")
    with open(script, "w") as file:
        file.write(INSERT)
    url = postgres.url
    subprocess.run(["/usr/lib/postgresql/15/bin/psql", url, "-qc",
                    "CREATE TABLE IF NOT EXISTS plain_row (id bigserial PRIMARY KEY, account bigint, kind text, amount bigint, about text)"], check=True)
    done = subprocess.run([PGBENCH, "-n", "-c", "1", "-f", script, "-T", str(SECONDS), url], capture_output=True, text=True, check=True, timeout=300)
    return float(next(line for line in done.stdout.splitlines() if line.startswith("tps")).split()[2])


def one_round():
    from postgres_node import Postgres

    seen = {}
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        postgres = Postgres()
        try:
            seen["pgbench"] = pgbench(postgres, folder)
            for mode in ("usage", "slices", "strict", "alone"):
                subprocess.run(["/usr/lib/postgresql/15/bin/psql", postgres.url, "-qc", f"CREATE DATABASE ledger_{mode}"], check=True)
                seen[f"postgres.{mode}"] = measure(postgres.url.rsplit("/", 1)[0] + f"/ledger_{mode}", mode)
        finally:
            postgres.close()
        for mode in ("usage", "slices", "strict", "alone"):
            seen[f"sqlite.{mode}"] = measure(f"sqlite:{folder}/{mode}.db", mode)
    return seen


def bench_ledger(rounds):
    runs = [one_round() for _ in range(rounds)]
    middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}

    def row(name, value, floor=None):
        made = {"name": name, "unit": "/s", "value": round(middle[value])}
        if floor:
            made.update(floor=round(middle[floor]), ratio=round(middle[value] / middle[floor], 2))
        return made

    return [
        row("ledger.pgbench_single_rows", "pgbench"),
        row("ledger.postgres.usage_batched", "postgres.usage", "pgbench"),
        row("ledger.postgres.usage_of_slices", "postgres.slices", "pgbench"),
        row("ledger.postgres.strict_64_callers", "postgres.strict", "postgres.alone"),
        row("ledger.postgres.commit_per_call_64_callers", "postgres.alone"),
        row("ledger.sqlite.usage_batched", "sqlite.usage"),
        row("ledger.sqlite.usage_of_slices", "sqlite.slices"),
        row("ledger.sqlite.strict_64_callers", "sqlite.strict", "sqlite.alone"),
        row("ledger.sqlite.commit_per_call_64_callers", "sqlite.alone"),
    ]


if __name__ == "__main__":
    for each in bench_ledger(1):
        print(each)
