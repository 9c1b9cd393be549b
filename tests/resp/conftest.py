"""A server with only the Redis protocol, for real clients. WEIR_TEST_BIN names the folder of the built programs."""
import os
import subprocess

import pytest

BIN = os.environ["WEIR_TEST_BIN"]
RULES = """
version: 1
rules:
  - {id: per-tenant, match: {tenant: "*"}, per: [tenant], algorithm: token-bucket, limit: 2, window: 100s}
"""


class Server:
    def __init__(self, folder, password=""):
        rules = folder / "rules.yaml"
        rules.write_text(RULES)
        self.process = subprocess.Popen([f"{BIN}/resp_server", "127.0.0.1:0", str(rules), password],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def cli(self, *words, options=(), stdin=None):
        done = subprocess.run(["redis-cli", "-p", str(self.port), *options, *words], input=stdin, capture_output=True,
                              text=True, timeout=20)
        return done.stdout + done.stderr

    def stop(self):
        self.process.terminate()
        assert self.process.wait(10) == 0


@pytest.fixture
def server(tmp_path):
    started = Server(tmp_path)
    yield started
    started.stop()


@pytest.fixture
def guarded(tmp_path):
    started = Server(tmp_path, "s3cret")
    yield started
    started.stop()
