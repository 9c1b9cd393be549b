"""A PostgreSQL server of a test's own, that can be killed and started again."""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")
DEADLINE_S = 30


def _demote():
    if os.getuid() == 0:
        user = pwd.getpwnam("nobody")
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)


class Postgres:
    """With an island (fault_tools.py), in that network namespace."""

    def __init__(self, island=None):
        self.island = island
        self.host = island.there if island else "127.0.0.1"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-pg-"))
        if os.getuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.process = None
        subprocess.run(
            [PROGRAMS / "initdb", "--no-sync", "--auth=trust", "--username=weir", "--encoding=UTF8", "--locale=C", f"--pgdata={self.folder}/data"],
            check=True, capture_output=True, cwd=self.folder, preexec_fn=_demote, timeout=180,
        )
        if island:
            with open(self.folder / "data" / "pg_hba.conf", "a") as access:
                access.write("host all all 198.18.0.0/15 trust\n")
        for left in reversed(range(5)):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            try:
                return self.start(again=False)
            except AssertionError:  # someone else has the port by now
                if left == 0:
                    raise

    @property
    def url(self):
        return self.url_of(self.host, self.port)

    @staticmethod
    def url_of(host, port):
        return f"postgres://weir@{host}:{port}/postgres"

    def start(self, again=True):
        """After kill(), processes of the killed server may still be ending, and a new one gives up as long as they do."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            self.launch()
            while time.monotonic() < deadline and self.process.poll() is None:
                ready = subprocess.run([PROGRAMS / "pg_isready", "-h", self.host, "-p", str(self.port)], capture_output=True)
                if ready.returncode == 0:
                    return
                time.sleep(0.05)
            assert time.monotonic() < deadline, "postgres did not start"
            assert again, "postgres ended"
            time.sleep(0.1)

    def launch(self):
        inside = [*self.island.inside, "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if self.island else []
        self.process = subprocess.Popen(
            [*inside, PROGRAMS / "postgres", "-D", self.folder / "data", "-k", self.folder, "-p", str(self.port), "-c", f"listen_addresses={self.host}",
             "-c", "max_connections=60", "-c", "shared_buffers=32MB", "-c", "log_min_messages=error"],
            cwd=self.folder, preexec_fn=None if self.island else _demote, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self):
        """kill -9 of the whole server."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process = None

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
