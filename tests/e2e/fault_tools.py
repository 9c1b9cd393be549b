"""Faults for real processes: a disk that fails or is full, a network that is cut, answers that get lost."""

import contextlib
import errno
import mmap
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

HERE = pathlib.Path(__file__).parent


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True).returncode == 0


def may_make_networks():
    name = f"weir-probe-{os.getpid()}"
    return shutil.which("ip") is not None and ip("netns", "add", name) and ip("netns", "del", name)


class FailingDisk:
    """Writes of a program to files below `part` of a path, which fail when a test says so (LD_PRELOAD). Also notes when
    groups of the usage log were on the disk, by a clock that the program's death does not stop."""

    CONTROL = struct.Struct("iiiiqq")  # struct control of failing_disk.c

    def __init__(self, folder, part):
        self.library = folder / "failing_disk.so"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", self.library, HERE / "faults" / "failing_disk.c", "-ldl"], check=True, timeout=60)
        self.control = folder / "failing_disk.control"
        self.control.write_bytes(self.CONTROL.pack(-1, 0, 0, 0, 0, 0))
        self.part = part
        self.file = open(self.control, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), self.CONTROL.size)

    def environment(self):
        return {"LD_PRELOAD": str(self.library), "FAILING_DISK_CONTROL": str(self.control), "FAILING_DISK_PATH": self.part}

    def arm(self, after, calls, error):
        """`calls` calls fail, after so many that do not."""
        self.memory[8:12] = struct.pack("i", error)
        self.memory[4:8] = struct.pack("i", calls)
        self.memory[0:4] = struct.pack("i", after)

    def mend(self):
        self.memory[0:4] = struct.pack("i", -1)

    def group_before_last(self):
        """When the last group but one of the usage log was on the disk, as time.monotonic() has it; 0: there was none."""
        return self.CONTROL.unpack(self.memory[:])[5] / 1e9

    def close(self):
        self.memory.close()
        self.file.close()


class SmallDisk:
    """A tmpfs of a few megabytes that can be filled up. Where it cannot be mounted, a failing disk that is full stands for it."""

    SIZE = 6 << 20

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", str(folder)], capture_output=True)
        self.mounted = mounted.returncode == 0

    def fill(self):
        with contextlib.suppress(OSError), open(self.folder / "filler", "wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1 << 8, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def clear(self):
        (self.folder / "filler").unlink(missing_ok=True)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.folder)], capture_output=True)


class Island:
    """A network namespace behind one cable, which can be pulled. There can be 16 of a process at a time."""

    made = 0

    def __init__(self):
        number = os.getpid() % 1_000 * 16 + Island.made % 16
        Island.made += 1
        self.name, self.cable = f"weir-{number}", f"weir{number}"
        third, fourth = divmod(number, 64)
        self.here, self.there = (f"198.18.{third}.{fourth * 4 + end}" for end in (1, 2))
        assert ip("netns", "add", self.name), "a network namespace cannot be made"
        assert ip("link", "add", self.cable, "type", "veth", "peer", "name", "shore", "netns", self.name)
        assert ip("addr", "add", f"{self.here}/30", "dev", self.cable)
        assert ip("link", "set", self.cable, "up")
        for words in (("addr", "add", f"{self.there}/30", "dev", "shore"), ("link", "set", "shore", "up"), ("link", "set", "lo", "up")):
            assert ip("-n", self.name, *words)
        self.inside = ("ip", "netns", "exec", self.name)

    def delay(self, milliseconds):
        """Where the kernel has netem."""
        subprocess.run(["tc", "-n", self.name, "qdisc", "replace", "dev", "shore", "root", "netem", "delay", f"{milliseconds}ms"], capture_output=True)

    def cut(self):
        assert ip("link", "set", self.cable, "down")

    def join(self):
        assert ip("link", "set", self.cable, "up")

    def close(self):
        ip("link", "del", self.cable)
        ip("netns", "del", self.name)


def most_beyond(calls, rate, burst):
    """By how much admitted calls (began, came) exceed burst + rate · T in the worst interval. Only calls that lie in it entirely are counted."""
    worst = 0
    calls = sorted(calls)
    for first in range(0, len(calls), 7):
        begins = calls[first][0]
        for count, ends in enumerate(sorted(came for _, came in calls[first:]), 1):
            worst = max(worst, count - burst - rate * (ends - begins))
    return worst


class Proxy:
    """Forwards connections to a port of this machine: all bytes, none, or only those of the client, so that answers get lost."""

    def __init__(self, port):
        self.target = port
        self.mode = "pass"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.links = []
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                client.close()
                continue
            with self.lock:
                self.links.append((client, server))
            for source, sink, answers in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pump, args=(source, sink, answers), daemon=True).start()

    def _pump(self, source, sink, answers):
        source.settimeout(None)
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.mode == "cut" or (answers and self.mode == "lose"):
                    continue
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self):
        self.mode = "cut"

    def lose_answers(self):
        self.mode = "lose"

    def join(self):
        """Whole again. What was lost on a connection stays lost, so all of them end."""
        with self.lock:
            links, self.links = self.links, []
        for link in links:
            for each in link:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
        self.mode = "pass"

    def close(self):
        self.join()
        self.listener.close()


class RedisServer:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="weir-redis-")
        self.path = f"{self.folder}/socket"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no"], cwd=self.folder,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self, deadline):
        while not deadline():
            with contextlib.suppress(OSError):
                if self.ask("PING").startswith(b"+PONG"):
                    return
        raise AssertionError("redis did not start")

    def ask(self, *words):
        text = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as link:
            link.sendall(text.encode())
            return link.recv(4096)

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


ERRORS = (errno.EIO, errno.ENOSPC)
