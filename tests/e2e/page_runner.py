"""Runs a documentation page from top to bottom in an empty folder, as a reader would.

    ```sh            commands; each must succeed, or exit with 1 as `weir check` does when it is denied
    ```sh server     a program that keeps running; one that used the same port before is stopped first
    ```yaml rules    saved as rules.yaml
    ```output        what the commands before it print; … is any text
    ```console       for the reader; of these only `$ make run` is done, as `weir serve`

Ports of 127.0.0.1 are replaced by free ones.
"""

import os
import re
import shutil
import socket
import subprocess
import time

SECONDS = 30


def blocks_of(page):
    return re.findall(r"^```([^\n]*)\n(.*?)^```", page.read_text(), re.M | re.S)


class PageRunner:
    def __init__(self, folder, program):
        self.folder, self.ports, self.servers = folder, {}, []
        self.work = folder / "work"
        self.work.mkdir()
        (folder / "bin").mkdir()
        (folder / "bin" / "weir").symlink_to(os.path.abspath(program))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        # The addresses that the program itself uses by default are moved too.
        self.environment |= {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "WEIR_SERVER": "http://" + self.moved("127.0.0.1:8080"),
            "WEIR_ADMIN": "http://" + self.moved("127.0.0.1:8082"),
            "XDG_STATE_HOME": str(folder / "state"), "WEIR_LISTEN_HTTP": self.moved("127.0.0.1:8080"), "WEIR_LISTEN_ADMIN": self.moved("127.0.0.1:8082"),
            "WEIR_ADMIN": "http://" + self.moved("127.0.0.1:8082"),
        }
        self.printed = ""

    def port(self, shown):
        while shown not in self.ports:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                if probe.getsockname()[1] not in self.ports.values():
                    self.ports[shown] = probe.getsockname()[1]
        return self.ports[shown]

    def moved(self, text):
        return re.sub(r"(127\.0\.0\.1:|-p |--port )(\d{4,5})\b", lambda found: found.group(1) + str(self.port(found.group(2))), text)

    def run(self, page):
        starts = [body for kind, body in blocks_of(page) if kind == "sh server"]
        if any("redis://127.0.0.1:6379" in body for body in starts) and not any(body.startswith("redis-server") for body in starts):
            self.serve("redis-server --port 6379 --save ''")  # the page expects a Redis that is already there
        for kind, body in blocks_of(page):
            if kind == "sh":
                self.printed = self.do(body)
            elif kind == "sh server":
                self.serve(body)
            elif kind == "console" and body.startswith("$ make run"):
                self.serve("weir serve")
            elif kind == "yaml rules":
                (self.work / "rules.yaml").write_text(body)
            elif kind == "output":
                self.compare(body)

    def do(self, commands):
        script = "trap 's=$?; [ $s -lt 2 ] || exit $s' ERR\n" + self.moved(commands)
        done = subprocess.run(["bash", "-uo", "pipefail", "-c", script], cwd=self.work, env=self.environment,
                              capture_output=True, text=True, timeout=2 * SECONDS)
        assert done.returncode in (0, 1), f"{commands}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def compare(self, expected):
        for line in filter(None, expected.splitlines()):
            pattern = ".*".join(re.escape(part) for part in line.strip().split("…"))
            assert re.search(pattern, self.printed), f"expected: {line}\nprinted:\n{self.printed}"

    def serve(self, command):
        words = self.moved(" ".join(command.replace("\\\n", " ").split()))
        port = self.listens_on(words)
        for other in [other for other in self.servers if other[0] == port]:
            self.stop(other)
        with open(self.folder / f"server-{len(self.servers)}.log", "w+") as log:
            process = subprocess.Popen(["bash", "-c", "exec " + words], cwd=self.work, env=self.environment, stdout=log,
                                       stderr=subprocess.STDOUT)
        self.servers.append((port, process, log.name))
        end = time.monotonic() + SECONDS
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                assert process.poll() is None and time.monotonic() < end, f"{command}\n{open(log.name).read()}"
                time.sleep(0.02)

    def listens_on(self, words):
        if words.startswith("redis-server"):
            return int(re.search(r"--port (\d+)", words).group(1))
        found = re.search(r"--listen-http 127\.0\.0\.1:(\d+)", words)
        return int(found.group(1)) if found else self.port("8080")

    def stop(self, server):
        self.servers.remove(server)
        server[1].terminate()
        server[1].wait(SECONDS)

    def close(self):
        for server in list(self.servers):
            self.stop(server)
        shutil.rmtree(self.work)
