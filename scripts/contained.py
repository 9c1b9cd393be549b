#!/usr/bin/python3
"""Runs a command and removes everything that it started, also when it is interrupted.

usage: scripts/contained.py COMMAND…

The command gets a temporary folder of its own (TMPDIR), which is removed afterwards. A process that outlives its parent
becomes a child of this one, even with a session of its own, so that none escapes: when the command has ended, or on
SIGINT, SIGTERM or SIGHUP, all that is left gets SIGTERM and, after some seconds, SIGKILL. CONTAINED_BY tells the command
the id of this process. Ends as the command did.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GRACE_SECONDS = 10
PR_SET_CHILD_SUBREAPER = 36
INTERRUPTS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def descendants():
    """The ids of all processes below this one, also of those that are about to end: their threads may still run."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                fields = stat.read().rsplit(")", 1)[1]
        except OSError:
            continue  # it ended
        parents[int(entry)] = int(fields.split()[1])

    def is_below(process):
        while process > 1:
            process = parents.get(process, 0)
            if process == os.getpid():
                return True
        return False

    return [process for process in parents if is_below(process)]


def reap():
    """Takes in children that ended: {id: status}."""
    ended = {}
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if process == 0:
            return ended
        ended[process] = os.waitstatus_to_exitcode(status)


def end_all():
    deadline = time.monotonic() + GRACE_SECONDS
    told = set()
    while True:
        reap()
        left = descendants()
        late = time.monotonic() - deadline
        if not left or late > GRACE_SECONDS:  # not even SIGKILL ends a process that waits for a broken disk
            return
        for process in left:
            if late > 0 or process not in told:
                told.add(process)
                try:
                    os.kill(process, signal.SIGKILL if late > 0 else signal.SIGTERM)
                except ProcessLookupError:
                    pass
        time.sleep(0.05)


def run(command, folder):
    """The command's exit code; 128 and the signal's number if it or this process was ended by one."""
    awaited = INTERRUPTS | {signal.SIGCHLD}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    environment = {**os.environ, "TMPDIR": folder, "CONTAINED_BY": str(os.getpid())}
    child = subprocess.Popen(command, env=environment, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask))
    while True:
        received = signal.sigwait(awaited)
        if received in INTERRUPTS:
            print(f"interrupted: {signal.Signals(received).name}", file=sys.stderr)
            return 128 + received
        code = reap().get(child.pid)
        if code is not None:
            return code if code >= 0 else 128 - code


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.split("\n\n")[1])
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    folder = tempfile.mkdtemp(prefix="w.")  # short: paths of sockets have little room
    os.chmod(folder, 0o711)  # PostgreSQL does not run as root: as another user it must reach its own folder in here
    try:
        code = run(sys.argv[1:], folder)
    finally:
        end_all()
        shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
