"""A Redis master on an island (fault_tools), its replicas and the sentinels that watch it on the mainland."""

import subprocess

from redis_nodes import eventually, free_port


class Group:
    """A master on the island, two replicas and three sentinels on the mainland."""

    def __init__(self, island, folder, *master_flags):
        self.island, self.folder, self.processes = island, folder, []
        self.master_port = free_port()
        self.socket = folder / "master.sock"
        common = ("--save", "", "--appendonly", "no", "--protected-mode", "no", "--repl-diskless-sync-delay", "0")
        self.run(*island.inside, "redis-server", "--port", str(self.master_port), "--bind", island.there,
                 "--unixsocket", str(self.socket), *common, *master_flags)
        eventually("the master answers", lambda: self.ask("PING") == "PONG")
        for _ in range(2):
            self.run("redis-server", "--port", str(free_port()), "--bind", island.here, *common,
                     "--replicaof", island.there, str(self.master_port))
        eventually("the replicas are there", lambda: "connected_slaves:2" in self.ask("INFO", "replication"))
        self.level()
        self.sentinels = [free_port() for _ in range(3)]
        for port in self.sentinels:
            settings = folder / f"sentinel-{port}.conf"
            settings.write_text(
                f"port {port}\nbind {island.here}\nprotected-mode no\n"
                f"sentinel monitor main {island.there} {self.master_port} 2\n"
                "sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n")
            self.run("redis-server", str(settings), "--sentinel")
        eventually("the sentinels agree", lambda: all(
            self.sentinel(port, "CKQUORUM", "main").startswith("OK 3") and
            "\nnum-slaves\n2\n" in self.sentinel(port, "MASTER", "main") for port in self.sentinels))
        self.url = "redis-sentinel://" + ",".join(f"{island.here}:{port}" for port in self.sentinels) + "/main"

    def run(self, *words):
        folder = self.folder / str(len(self.processes))
        folder.mkdir()
        self.processes.append(
            subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-s", str(self.socket), *words], capture_output=True, text=True).stdout.strip()

    def sentinel(self, port, *words):
        return subprocess.run(["redis-cli", "-h", self.island.here, "-p", str(port), "SENTINEL", *words],
                              capture_output=True, text=True).stdout

    def level(self):
        self.ask("SET", "w1:level", "1", "PX", "1")
        assert self.ask("WAIT", "2", "5000") == "2"

    def kill_master(self):
        # The program in front of it has become it.
        self.processes[0].kill()
        self.processes[0].wait()

    def master_port_now(self):
        """As the first sentinel knows it."""
        answer = self.sentinel(self.sentinels[0], "get-master-addr-by-name", "main").split()
        return int(answer[1]) if len(answer) == 2 else None

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
