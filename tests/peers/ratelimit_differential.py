#!/usr/bin/env python3
"""The same random rule files and requests to envoyproxy/ratelimit and to Weir; every answer is compared.

`make compare-peers` builds the former below build/peers and runs this; it is no part of `make test`. The differences that
docs/migrate-from-envoy-ratelimit.md lists are allowed for in `agree`, nothing else is. Windows of an hour and more, so that
none turns during a round. Half of the rounds charge all or none of a call's descriptors, without what counts differently
there then: shadow limits, looks, and two descriptors of one counter.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import grpc
from google.protobuf import json_format

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEYS = ["a", "b", "c"]
FILE_VALUES = [None, None, "x", "xy", "y", "x*", "xy*", "*"]
SENT_VALUES = ["", "x", "xy", "xyz", "y", "z"]
UNITS = ["hour", "day", "week", "month", "year"]
SECONDS = {"HOUR": 3600, "DAY": 86400, "WEEK": 7 * 86400, "MONTH": 30 * 86400, "YEAR": 365 * 86400}
UNIT_NAMES = ["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"]
SHADOW = range(11, 16)  # limits in shadow mode have these numbers, so that they are known in answers
ALL_LEFT = 4294967295
OK = 1


def make_messages(folder):
    """Python's classes for our .proto files; returns (RateLimitRequest's module, RateLimitDescriptor's)."""
    proto = ROOT / "api" / "proto"
    files = [str(p.relative_to(proto)) for p in (proto / "envoy").rglob("*.proto")]
    subprocess.run(["protoc", f"-I{proto}", f"--python_out={folder}", *files], check=True)
    sys.path.insert(0, str(folder))
    from envoy.extensions.common.ratelimit.v3 import ratelimit_pb2
    from envoy.service.ratelimit.v3 import rls_pb2

    return rls_pb2, ratelimit_pb2


# ---- rule files ----


def some_limit(dice, domain, names, all_or_none):
    kind = dice.choice(["none", "plain", "plain", "plain", "plain", "unlimited", "plain" if all_or_none else "shadow", "nothing"])
    if kind == "none":
        return {}
    fields = {}
    limit = {"unlimited": True} if kind == "unlimited" else {
        "unit": dice.choice(units_that_last()),
        "requests_per_unit": {"shadow": dice.randint(11, 15), "nothing": 0}.get(kind, dice.randint(1, 6))}
    if kind == "shadow":
        fields["shadow_mode"] = True
    if dice.random() < 0.4:
        limit["name"] = dice.choice(["twice", f"{domain}-{len(names)}"])
        names.append(limit["name"])
    if names and dice.random() < 0.25:
        others = [n for n in dice.sample(sorted(set(names)), 1) if n != limit.get("name")]
        if others:
            limit["replaces"] = [{"name": n} for n in others]
    fields["rate_limit"] = limit
    return fields


def some_level(dice, domain, names, all_or_none, depth=1):
    level = []
    for _ in range(dice.randint(1, 4)):
        node = {"key": dice.choice(KEYS)}
        value = dice.choice(FILE_VALUES)
        if value:
            node["value"] = value
        if any((n["key"], n.get("value")) == (node["key"], value) for n in level):
            continue
        node.update(some_limit(dice, domain, names, all_or_none))
        if not all_or_none and value and value.endswith("*") and dice.random() < 0.2:
            node["share_threshold"] = True
        if depth < 3 and dice.random() < 0.4:
            node["descriptors"] = some_level(dice, domain, names, all_or_none, depth + 1)
        level.append(node)
    return level


def units_that_last():
    now = time.time()
    return [unit for unit in UNITS if SECONDS[unit.upper()] - now % SECONDS[unit.upper()] > 120]


# ---- requests ----


def some_request(dice, rls, domains, all_or_none):
    request = rls.RateLimitRequest(domain=dice.choice([*domains, *domains, *domains, "unknown"]))
    if dice.random() < 0.3:
        request.hits_addend = dice.choice([0, 1, 2, 3, 2**32 - 1])
    for _ in range(dice.choice([1, 1, 1, 2, 2, 3])):
        descriptor = request.descriptors.add()
        own = request.domain != "unknown" and dice.random() < 0.1
        for _ in range(dice.choice([1, 1, 1, 2, 2, 3])):
            # A key that no file has: there, a limit that is sent shares the counter of a rule on the same entries.
            descriptor.entries.add(key="own" if own else dice.choice([*KEYS, *KEYS, "d"]), value=dice.choice(SENT_VALUES))
        if own:
            # The same for the same entries: what a smaller limit has denied is counted there beyond that limit.
            descriptor.limit.requests_per_unit = sum(len(entry.value) for entry in descriptor.entries) % 5
            descriptor.limit.unit = dice.choice([UNIT_NAMES.index(u.upper()) for u in units_that_last() if u != "week"])
        if dice.random() < 0.4:
            looks = [] if all_or_none else [0, 0]
            descriptor.hits_addend.value = dice.choice([*looks, 1, 2, 3, 5, 100, 10**12, 2**50])
        if all_or_none and any(descriptor.entries == other.entries for other in request.descriptors[:-1]):
            del request.descriptors[-1]
    return request


# ---- the two programs ----


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Programs:
    """Both on one folder of rule files, and a redis-server for those that need one."""

    def __init__(self, peer, weir, files, redis_store, all_or_none):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-peers-"))
        self.config = self.folder / "root" / "limits" / "config"
        self.config.mkdir(parents=True)
        for name, text in files.items():
            (self.config / name).write_text(text)
        self.running = []
        self.ports = {"peer": (free_port(), free_port()), "weir": (free_port(), free_port())}
        redis = [free_port() for _ in range(2 if redis_store else 1)]
        for port in redis:
            self.start(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(self.folder)], [port])
        grpc_port, http_port = self.ports["peer"]
        self.start([peer], self.ports["peer"], RUNTIME_ROOT=str(self.folder / "root"), RUNTIME_SUBDIRECTORY="limits",
                   RUNTIME_WATCH_ROOT="false", BACKEND_TYPE="redis", REDIS_SOCKET_TYPE="tcp", REDIS_URL=f"127.0.0.1:{redis[0]}",
                   HOST="127.0.0.1", PORT=str(http_port), GRPC_HOST="127.0.0.1", GRPC_PORT=str(grpc_port),
                   DEBUG_HOST="127.0.0.1", DEBUG_PORT=str(free_port()), DISABLE_STATS="true", LOG_LEVEL="error",
                   STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT=str(all_or_none).lower())
        grpc_port, http_port = self.ports["weir"]
        store = ["--store", f"redis://127.0.0.1:{redis[1]}?deadline=10s"] if redis_store else []
        self.start([weir, "serve", "--rules", str(self.config), "--rules-format", "envoy", "--listen-grpc", f"127.0.0.1:{grpc_port}",
                    "--listen-http", f"127.0.0.1:{http_port}", "--listen-admin", "off", "--database", "off", "--log-level", "error",
                    "--grpc-envoy-charging", "all_or_none" if all_or_none else "each", *store],
                   self.ports["weir"])
        self.channels = {name: grpc.insecure_channel(f"127.0.0.1:{ports[0]}") for name, ports in self.ports.items()}

    def start(self, argv, ports, **env):
        log = self.folder / f"log-{len(self.running)}"
        with open(log, "w") as out:
            process = subprocess.Popen(argv, env={**os.environ, **env}, stdout=out, stderr=out)
        self.running.append(process)
        for port in ports:
            for _ in range(400):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if process.poll() is not None:
                        said = log.read_text()
                        self.stop()
                        raise SystemExit(f"{argv[0]} did not start:\n{said}")
                    time.sleep(0.02)

    def ask_grpc(self, name, request, rls):
        call = self.channels[name].unary_unary(
            "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
            request_serializer=rls.RateLimitRequest.SerializeToString, response_deserializer=rls.RateLimitResponse.FromString)
        return call(request, timeout=20)

    def ask_json(self, name, request, rls):
        body = json_format.MessageToJson(request).encode()
        post = urllib.request.Request(f"http://127.0.0.1:{self.ports[name][1]}/json", data=body)
        try:
            with urllib.request.urlopen(post, timeout=20) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        parsed = json_format.Parse(text, rls.RateLimitResponse())
        if status != (200 if parsed.overall_code == OK else 429):
            raise SystemExit(f"{name} answered {status} to {body}: {text}")
        return parsed

    def stop(self):
        for process in reversed(self.running):
            process.terminate()
            process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- what may differ ----


def agree(sent, theirs, ours):
    """Whether two statuses of one descriptor say the same, as far as the documentation promises it."""
    limit = theirs.current_limit
    if theirs.HasField("current_limit") and limit.requests_per_unit in SHADOW:
        return ours.code == theirs.code == OK and not ours.HasField("current_limit")
    looks = sent.HasField("hits_addend") and sent.hits_addend.value == 0
    # Looking at a limit that is exactly used up: there it is over only when more than the limit was counted.
    used_up = looks and theirs.code == OK and theirs.limit_remaining == 0 and theirs.HasField("current_limit")
    if ours.code != theirs.code and not used_up:
        return False
    if ours.limit_remaining != theirs.limit_remaining and not (looks and limit.requests_per_unit == 0):
        return False
    if ours.HasField("current_limit") != theirs.HasField("current_limit"):
        return False
    if not theirs.HasField("current_limit"):
        return True
    # A limit of nothing from a file is shown as one of 1, and its limit that is sent as what it is.
    shown = limit.requests_per_unit or (0 if sent.HasField("limit") else 1)
    if (ours.current_limit.requests_per_unit, ours.current_limit.unit) != (shown, limit.unit):
        return False
    if limit.name not in ("", "twice") and ours.current_limit.name != limit.name:
        return False
    # What is untouched needs no time to be whole again.
    untouched = ours.limit_remaining == ours.current_limit.requests_per_unit or limit.requests_per_unit == 0
    return (untouched and ours.duration_until_reset.seconds == 0) or abs(
        ours.duration_until_reset.seconds - theirs.duration_until_reset.seconds) <= 1


def same_answer(request, theirs, ours):
    pairs = list(zip(request.descriptors, theirs.statuses, ours.statuses))
    if not (len(pairs) == len(theirs.statuses) == len(ours.statuses)) or not all(agree(*each) for each in pairs):
        return False
    worst = max(status.code for status in ours.statuses)
    return ours.overall_code == worst


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", default=str(ROOT / "build" / "peers" / "bin" / "service_cmd"))
    parser.add_argument("--weir", default=str(ROOT / "build" / "bin" / "weir"))
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--rounds", type=int, default=20, help="sets of rule files; every second on Weir's Redis store, two of four all or none")
    parser.add_argument("--requests", type=int, default=400, help="in each round")
    args = parser.parse_args()
    messages = tempfile.mkdtemp(prefix="weir-peers-")
    rls, _ = make_messages(messages)
    compared = refused = 0
    for number in range(args.rounds):
        seed = args.seed + number
        print(f"seed {seed}", flush=True)
        dice = random.Random(seed)
        all_or_none = number % 4 >= 2
        domains = ["one", "two"][:dice.randint(1, 2)]
        # JSON is YAML.
        files = {f"{d}.yaml": json.dumps({"domain": d, "descriptors": some_level(dice, d, [], all_or_none)}, indent=1) for d in domains}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                pathlib.Path(folder, name).write_text(text)
            checked = subprocess.run([args.weir, "rules", "validate", "--format", "envoy", folder], capture_output=True, text=True)
        if checked.returncode != 0:
            if "with share_threshold and without it" not in checked.stdout + checked.stderr:
                sys.exit(f"{files}\n{checked.stdout}{checked.stderr}")
            refused += 1
            continue
        programs = Programs(args.peer, args.weir, files, number % 2 == 1, all_or_none)
        try:
            for step in range(args.requests):
                request = some_request(dice, rls, domains, all_or_none)
                ask = programs.ask_json if dice.random() < 0.3 else programs.ask_grpc
                theirs, ours = ask("peer", request, rls), ask("weir", request, rls)
                compared += 1
                if not same_answer(request, theirs, ours):
                    del ours.response_headers_to_add[:]
                    for text in files.values():
                        print(text)
                    sys.exit(f"seed {seed}, step {step}:\n{request}\n---- there\n{theirs}\n---- here\n{ours}")
        finally:
            programs.stop()
    shutil.rmtree(messages, ignore_errors=True)
    print(f"{compared} answers agree; {refused} of {args.rounds} sets of files hold what is documented as not supported")


if __name__ == "__main__":
    main()
