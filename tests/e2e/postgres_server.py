"""A real PostgreSQL for the tests of servers that share one: started in a folder of its own, stopped and started again."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")
SECONDS = 30


class Postgres:
    def __init__(self):
        # PostgreSQL refuses to run as root.
        self.user = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-postgres-"))
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.process = None
        subprocess.run([PROGRAMS / "initdb", "--no-sync", "--auth=trust", "--username=weir", "--encoding=UTF8", "--locale=C",
                        f"--pgdata={self.folder / 'data'}"], check=True, stdout=subprocess.DEVNULL, **self.as_user())
        self.start()
        subprocess.run([PROGRAMS / "createdb", "-h", self.folder, "-U", "weir", "weir"], check=True, **self.as_user())
        self.url = f"postgres://weir@/weir?host={self.folder}"

    def as_user(self):
        return {"user": self.user.pw_uid, "group": self.user.pw_gid} if self.user else {}

    def start(self):
        log = open(self.folder / "log", "a")
        self.process = subprocess.Popen(
            [PROGRAMS / "postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off"],
            stdout=log, stderr=log, **self.as_user())
        log.close()
        end = time.monotonic() + SECONDS
        while subprocess.run([PROGRAMS / "pg_isready", "-q", "-h", self.folder], check=False).returncode != 0:
            assert time.monotonic() < end and self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # ends the connections
            self.process.wait(SECONDS)

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
