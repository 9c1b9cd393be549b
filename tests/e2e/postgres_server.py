"""A real PostgreSQL in a folder of its own, for tests of several nodes."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

PROGRAMS = "/usr/lib/postgresql/15/bin"


class Postgres:
    """Listens on 127.0.0.1; can be stopped and started again."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="weir-postgres-")
        # PostgreSQL refuses to run as root.
        self.user = "nobody" if os.getuid() == 0 else None
        if self.user:
            os.chown(self.folder, pwd.getpwnam(self.user).pw_uid, pwd.getpwnam(self.user).pw_gid)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = None
        subprocess.run([f"{PROGRAMS}/initdb", "--no-sync", "--auth=trust", "--username=weir", "--encoding=UTF8", "-D", f"{self.folder}/data"],
                       check=True, capture_output=True, user=self.user, cwd=self.folder)
        self.start()
        subprocess.run([f"{PROGRAMS}/createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "weir", "weir"], check=True, capture_output=True)

    @property
    def url(self):
        return f"postgres://weir@127.0.0.1:{self.port}/weir"

    def start(self):
        with open(f"{self.folder}/log", "a") as log:
            self.process = subprocess.Popen(
                [f"{PROGRAMS}/postgres", "-D", f"{self.folder}/data", "-k", self.folder, "-p", str(self.port), "-h", "127.0.0.1", "-F"],
                stdout=log, stderr=log, user=self.user, cwd=self.folder)
        for _ in range(600):
            ready = subprocess.run([f"{PROGRAMS}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)])
            if ready.returncode == 0:
                return
            assert self.process.poll() is None, open(f"{self.folder}/log").read()
            time.sleep(0.05)
        raise AssertionError("PostgreSQL does not answer")

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(30)

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server():
    if not os.access(f"{PROGRAMS}/postgres", os.X_OK):
        pytest.skip("PostgreSQL is not installed")
    server = Postgres()
    yield server
    server.close()


@pytest.fixture
def postgres(postgres_server):
    """The server with an empty database."""
    words = ["-h", "127.0.0.1", "-p", str(postgres_server.port), "-U", "weir"]
    if postgres_server.process.poll() is not None:
        postgres_server.start()
    subprocess.run([f"{PROGRAMS}/dropdb", "--force", *words, "weir"], check=True, capture_output=True)
    subprocess.run([f"{PROGRAMS}/createdb", *words, "weir"], check=True, capture_output=True)
    return postgres_server
