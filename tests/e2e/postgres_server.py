"""The PostgreSQL of postgres_node.py with a database of its own, for tests of several nodes."""

import os
import subprocess

import postgres_node
import pytest
from postgres_node import PROGRAMS


class Postgres(postgres_node.Postgres):
    def __init__(self):
        super().__init__()
        subprocess.run([PROGRAMS / "createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "weir", "weir"], check=True, capture_output=True)

    @property
    def url(self):
        return f"postgres://weir@127.0.0.1:{self.port}/weir"

    def run(self, statements):
        subprocess.run([PROGRAMS / "psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "weir", "-v", "ON_ERROR_STOP=1", "-qf", "-", "weir"],
                       input=statements, text=True, check=True, capture_output=True)

    def stop(self):
        self.kill()


@pytest.fixture(scope="session")
def postgres_server():
    if not os.access(PROGRAMS / "postgres", os.X_OK):
        pytest.skip("PostgreSQL is not installed")
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def postgres(postgres_server):
    """The server with an empty database."""
    words = ["-h", "127.0.0.1", "-p", str(postgres_server.port), "-U", "weir"]
    if postgres_server.process is None or postgres_server.process.poll() is not None:
        postgres_server.start()
    subprocess.run([f"{PROGRAMS}/dropdb", "--force", *words, "weir"], check=True, capture_output=True)
    subprocess.run([f"{PROGRAMS}/createdb", *words, "weir"], check=True, capture_output=True)
    return postgres_server
