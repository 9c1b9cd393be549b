"""Regions for tests: each with a Redis and two nodes in a network namespace of its own, and one PostgreSQL between
them. A region's cable can be slow, and can be pulled. Needs the right to make namespaces."""

import concurrent.futures
import json
import os
import secrets
import subprocess
import time

import fault_tools
from fault_tools import Island
from postgres_node import PROGRAMS, Postgres
from redis_nodes import PASSWORD, Node, UnixConnection, eventually, free_port

LEASE_S = 2


class Place(Island):
    more = ("127.0.0.1",)  # where servers in it listen, too


class Mainland:
    """Where the cables end: no namespace of its own."""

    here, there, more, inside = "127.0.0.1", "0.0.0.0", (), ()

    def close(self):
        pass


class Region:
    def __init__(self, world, name, place):
        self.world, self.name, self.place, self.nodes = world, name, place, []
        self.folder = world.folder / name
        self.folder.mkdir()
        self.port = free_port()
        self.socket = self.folder / "redis.sock"
        self.redis = subprocess.Popen(
            [*place.inside, "redis-server", "--port", str(self.port), "--bind", place.there, *place.more, "--unixsocket", str(self.socket),
             "--requirepass", PASSWORD, "--save", "", "--appendonly", "no", "--dir", str(self.folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually("Redis answers", lambda: self.run("PING") == "PONG")
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.port}"

    def url_from(self, place):
        """Of a Redis on the mainland, for another region."""
        return f"redis://:{PASSWORD}@{place.here}:{self.port}"

    def run(self, *words):
        return subprocess.run(["redis-cli", "--no-auth-warning", "-a", PASSWORD, "-s", str(self.socket), *words],
                              capture_output=True, text=True).stdout.strip()

    def start(self, *flags):
        number = len(self.nodes)
        node = Node(self.folder / f"log-{number}", "--store", self.url, "--rules", str(self.world.rules),
                    "--listen-http", f"unix:{self.folder}/{number}.sock", "--listen-admin", f"unix:{self.folder}/admin-{number}.sock",
                    "--hash-key-file", str(self.world.hash_key), "--database", "off", "--region-name", self.name,
                    "--region-names", ",".join(self.world.names), "--region-coordinator", self.world.coordinator_for(self.place),
                    "--region-lease", f"{LEASE_S}s", "--region-sync", "50ms", "--node-name", f"{self.name}-{number}", *flags,
                    before=self.place.inside)
        self.nodes.append(node)

    def close(self):
        for node in self.nodes:
            node.process.kill()
            node.process.wait()
        self.redis.kill()
        self.redis.wait()


class Coordinator(Postgres):
    """Reached over every cable."""

    def __init__(self):
        super().__init__()
        self.kill()
        with open(self.folder / "data" / "pg_hba.conf", "a") as access:
            access.write("host all all 198.18.0.0/15 trust\n")
        self.host = "0.0.0.0"
        self.start()

    def run(self, statement):
        return subprocess.run([PROGRAMS / "psql", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", "weir", "-d", "postgres", "-c", statement],
                              capture_output=True).returncode == 0

    def lose_rows(self):
        """Transactions of nodes may be in its way, and PostgreSQL then ends one of them."""
        eventually("rows are lost", lambda: self.run("TRUNCATE region_state, region_share, region_cell, region_units"))


class World:
    """Use as `with World(tmp_path, rules, "eu", "us") as world:`"""

    def __init__(self, folder, rules, *names):
        self.folder, self.names, self.places, self.regions = folder, names, [], []
        self.rules, self.hash_key = folder / "rules.yaml", folder / "hash_key"
        self.rules.write_text(rules)
        self.hash_key.write_text(secrets.token_hex(16) + "\n")
        self.postgres = Coordinator()

    def __enter__(self):
        try:
            for name in self.names:
                self.places.append(Place())
                self.regions.append(Region(self, name, self.places[-1]))
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, *flags, nodes=2):
        for region in self.regions:
            for _ in range(nodes):
                region.start(*flags)
        for node in self.nodes():
            eventually("the coordinator answers", lambda: state_of(node)["connected"])

    def mainland(self, name):
        self.regions.append(Region(self, name, Mainland()))
        return self.regions[-1]

    def learned(self):
        """A new coordinator gives nothing for one lease."""
        time.sleep(LEASE_S + 0.2)

    def coordinator_for(self, place):
        return Postgres.url_of(place.here, self.postgres.port)

    def nodes(self):
        return [node for region in self.regions for node in region.nodes]

    def __exit__(self, *_):
        for each in self.regions + self.places + [self.postgres]:
            each.close()


def state_of(node):
    status, body = admin_get(node, "/readyz")
    assert status == 200
    return json.loads(body)["regions"]


def admin_get(node, path):
    link = UnixConnection(node.admin[5:])
    link.request("GET", path)
    answer = link.getresponse()
    return answer.status, answer.read().decode()


def hammer(nodes, kind, seconds, pause=0.0, clients=2):
    """Clients of each node that ask until the time is over: (began, came, status, answer) of each request."""
    end = time.monotonic() + seconds

    def ask(node):
        caller, answers = node.caller(), []
        while time.monotonic() < end:
            began = time.monotonic()
            status, answer = caller.check(kind)
            answers.append((began, time.monotonic(), status, answer))
            time.sleep(pause)
        return answers

    with concurrent.futures.ThreadPoolExecutor(clients * len(nodes)) as pool:
        asked = [pool.submit(ask, node) for node in nodes for _ in range(clients)]
        return [answer for each in asked for answer in each.result()]


def use_up(nodes, kind, wanted, pause=0.002):
    """Asks until so much is admitted, or for long enough that it never will be; how much was."""
    total = 0
    for _ in range(20):
        if total >= wanted:
            break
        total += sum(status == 200 for _, _, status, _ in hammer(nodes, kind, 0.7, pause))
    return total


def most_beyond(answers, rate, burst):
    admitted = [(began, came) for began, came, status, _ in answers if status == 200]
    assert admitted, "nothing was admitted"
    return fault_tools.most_beyond(admitted, rate, burst)
