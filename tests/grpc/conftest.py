"""A gRPC server of ours (grpc_test_server) and the messages of api/proto, for python3-grpcio clients.

Run with: WEIR_BIN=build/bin /usr/bin/python3 -m pytest tests/grpc
"""
import importlib
import os
import subprocess
import sys

import grpc
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("WEIR_BIN", os.path.join(ROOT, "build", "bin"))
PROTO = os.path.join(ROOT, "api", "proto")

RULES = """
version: 1
rules:
  - {id: per-user, match: {domain: shop}, per: [domain, user], algorithm: fixed-window, limit: 3, window: 1m}
  - {id: free, match: {domain: free}, per: [user], algorithm: token-bucket, limit: 1000, window: 10s}
  - {id: open, match: {domain: open}, limit: unlimited}
  - {id: checks, match: {action: search}, per: [tenant], algorithm: token-bucket, limit: 5, window: 1h}
"""


@pytest.fixture(scope="session")
def messages(tmp_path_factory):
    """Modules generated from api/proto, by their path."""
    out = tmp_path_factory.mktemp("proto")
    files = [os.path.relpath(os.path.join(folder, name), PROTO)
             for folder, _, names in os.walk(PROTO) for name in names if name.endswith(".proto")]
    # Not under grpc/: that name is the client library's.
    ours = [name for name in files if not name.startswith("grpc/")]
    subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={out}", *ours], check=True)
    for name in files:
        if name.startswith("grpc/"):
            flat = out / "flat"
            flat.mkdir(exist_ok=True)
            target = name.replace("/", "_")
            with open(os.path.join(PROTO, name)) as source, open(flat / target, "w") as copy:
                copy.write(source.read())
            subprocess.run(["protoc", f"-I{flat}", f"--python_out={out}", target], check=True)
    sys.path.insert(0, str(out))
    return importlib.import_module


class Server:
    def __init__(self, rules):
        self.process = subprocess.Popen([os.path.join(BIN, "grpc_test_server"), str(rules)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.address = f"127.0.0.1:{int(self.process.stdout.readline())}"

    def begin_drain(self):
        self.process.stdin.close()

    def stop(self):
        if not self.process.stdin.closed:
            self.begin_drain()
        assert self.process.wait(10) == 0


def start(folder):
    rules = folder / "rules.yaml"
    rules.write_text(RULES)
    return Server(rules)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = start(tmp_path_factory.mktemp("rules"))
    yield running
    running.stop()


@pytest.fixture
def own_server(tmp_path):
    running = start(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def channel(server):
    with grpc.insecure_channel(server.address) as made:
        yield made
