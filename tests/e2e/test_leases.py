"""Leases from outside: the HTTP routes, `weir lease`, and holders that crash."""

import concurrent.futures
import http.client
import importlib.util
import json
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

import grpc
import pytest
import redis as redis_py
from redis_nodes import PATIENT, Redis, redis  # noqa: F401 (redis is a fixture)
from test_cli import QUIET, WEIR, start, weir  # noqa: F401 (start is a fixture)

ROOT = pathlib.Path(__file__).parents[2]
RULES = """version: 1
rules:
  - {id: exports-active, match: {action: export}, per: [tenant], algorithm: concurrency, limit: 2, lease: 30s}
  - {id: exports-hour, match: {action: export}, per: [tenant], algorithm: fixed-window, limit: 5, window: 3650d}
"""


@pytest.fixture(params=["memory", "redis"])
def server(request, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    if request.param == "memory":
        yield start("--rules", str(path))
        return
    redis = Redis(tmp_path)
    try:
        yield start("--rules", str(path), "--store", redis.url, "--redis-deadline", PATIENT)
    finally:
        redis.kill()


def ask(server, method, path, body=None, headers=None):
    host, port = server.http.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.request(method, path, None if body is None else json.dumps(body), headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, json.loads(text) if text else None, dict(answer.getheaders())


def acquire(server, tenant="acme", headers=None, **members):
    return ask(server, "POST", "/v1/leases", {"attributes": {"tenant": tenant, "action": "export"}, **members}, headers)


def test_at_most_so_many_are_held_and_a_release_frees_a_slot(server):
    status, first, _ = acquire(server)
    assert status == 201 and first["remaining"] == 1 and first["ttl_ms"] == 30_000, first
    status, second, _ = acquire(server)
    assert status == 201 and second["fencing_token"] > first["fencing_token"]
    status, denied, headers = acquire(server)
    assert status == 429 and denied["code"] == "concurrency_exceeded" and denied["rule"] == "exports-active", denied
    assert int(headers["Retry-After"]) >= 1
    assert acquire(server, tenant="other")[0] == 201, "another tenant has slots of its own"

    assert ask(server, "DELETE", "/v1/leases/" + first["lease"])[0] == 204
    assert ask(server, "DELETE", "/v1/leases/" + first["lease"])[0] == 204, "idempotent"
    assert acquire(server)[0] == 201
    status, gone, _ = ask(server, "POST", f"/v1/leases/{first['lease']}/renew")
    assert status == 410 and gone["code"] == "gone", gone


def test_all_rules_are_charged_or_none(server):
    for _ in range(5):
        status, lease, _ = acquire(server)
        assert status == 201
        assert ask(server, "DELETE", "/v1/leases/" + lease["lease"])[0] == 204
    status, denied, _ = acquire(server)
    assert status == 429 and denied["code"] == "limit_exceeded" and denied["rule"] == "exports-hour"
    _, listed, _ = ask(server, "GET", "/v1/leases?tenant=acme&action=export")
    assert listed["leases"] == [], "a denied acquire holds no slot"


def test_a_client_id_makes_acquiring_idempotent(server):
    status, first, _ = acquire(server, id="job-7")
    again, same, _ = acquire(server, id="job-7")
    assert (status, again) == (201, 200)
    assert same["fencing_token"] == first["fencing_token"]
    assert len(ask(server, "GET", "/v1/leases?tenant=acme&action=export")[1]["leases"]) == 1
    assert ask(server, "DELETE", "/v1/leases/" + first["lease"])[0] == 204
    status, gone, _ = acquire(server, id="job-7")
    assert status == 410 and gone["code"] == "gone", gone


def test_a_plain_check_looks_and_takes_no_slot(server):
    for _ in range(3):
        status, body = server.call("/v1/check", {"attributes": {"tenant": "looker", "action": "export"}})
        states = {rule["rule"]: rule for rule in json.loads(body)["rules"]}
        assert status == 200 and states["exports-active"]["remaining"] == 2, body


def test_forged_and_foreign_handles_are_unknown(server):
    _, lease, _ = acquire(server)
    handle = lease["lease"]

    def turned(place):
        return handle[:place] + ("A" if handle[place] != "A" else "B") + handle[place + 1:]

    for forged in ("nonsense", turned(len(handle) - 1), turned(10), handle + "A"):
        assert ask(server, "DELETE", "/v1/leases/" + forged)[0] == 404, forged
        assert ask(server, "POST", f"/v1/leases/{forged}/renew")[0] == 404, forged
    assert len(ask(server, "GET", "/v1/leases?tenant=acme&action=export")[1]["leases"]) == 1


def test_an_idempotency_key_replays_the_lease(server):
    status, first, _ = acquire(server, headers={"Idempotency-Key": '"k-1"'})
    assert status == 201
    status, again, headers = acquire(server, headers={"Idempotency-Key": "k-1"})
    assert (status, again, headers["Idempotent-Replayed"]) == (201, first, "true")
    assert acquire(server, headers={"Idempotency-Key": "k-1"}, cost=2)[0] == 422
    assert held(server) == 1


def run_command(server, *words, env=None, **options):
    return subprocess.run([WEIR, "lease", "run", "--server", server.http, *words], capture_output=True, text=True, timeout=60,
                          env=env or QUIET, **options)


def held(server):
    return len(ask(server, "GET", "/v1/leases?tenant=acme&action=export")[1]["leases"])


def test_lease_run_passes_the_exit_code_and_releases(server):
    done = run_command(server, "tenant=acme", "action=export", "--", "sh", "-c", "echo $WEIR_FENCING_TOKEN; exit 7")
    assert done.returncode == 7 and int(done.stdout) > 0, done
    assert held(server) == 0
    assert run_command(server, "tenant=acme", "action=export", "--", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    assert run_command(server, "tenant=acme", "action=export", "--", "/no/such/command").returncode == 127
    assert held(server) == 0


def test_lease_run_without_a_slot_does_not_run_the_command(server, tmp_path):
    acquire(server), acquire(server)
    witness = tmp_path / "witness"
    refused = run_command(server, "tenant=acme", "action=export", "--", "touch", str(witness))
    assert refused.returncode == 75 and "no slot is free" in refused.stderr and not witness.exists()
    assert run_command(server, "tenant=acme", "action=export").returncode == 2
    assert run_command(server, "tenant", "--", "true").returncode == 2


def soonest(leases):
    return min(each["expires_at_ms"] for each in leases)


def test_lease_run_renews_and_waits(server, tmp_path):
    acquire(server)
    ready = tmp_path / "ready"
    words = ["tenant=acme", "action=export", "--ttl", "0.6", "--", "sh", "-c", f"touch {ready}; exec sleep 60"]
    holder = subprocess.Popen([WEIR, "lease", "run", "--server", server.http, *words], env=QUIET)
    try:
        end = time.monotonic() + 20
        while not ready.exists():
            assert time.monotonic() < end and holder.poll() is None
            time.sleep(0.02)
        # Held for several TTLs: each look finds both slots taken.
        first = ask(server, "GET", "/v1/leases?tenant=acme&action=export")[1]["leases"]
        while True:
            leases = ask(server, "GET", "/v1/leases?tenant=acme&action=export")[1]["leases"]
            assert len(leases) == 2
            if soonest(leases) > soonest(first) + 1_200:
                break
            assert time.monotonic() < end
            time.sleep(0.05)
        waiting = subprocess.Popen([WEIR, "lease", "run", "--server", server.http, "tenant=acme", "action=export", "--wait", "30", "--",
                                    "true"], env=QUIET)
        holder.send_signal(signal.SIGTERM)
        assert holder.wait(20) == 128 + signal.SIGTERM
        assert waiting.wait(30) == 0
    finally:
        if holder.poll() is None:
            holder.kill()
            holder.wait()


def test_a_holder_that_was_killed_loses_its_slot_after_its_ttl(server):
    acquire(server)
    holder = subprocess.Popen([WEIR, "lease", "run", "--server", server.http, "tenant=acme", "action=export", "--ttl", "0.5", "--", "sleep", "60"],
                              env=QUIET, start_new_session=True)
    end = time.monotonic() + 20
    while held(server) < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    os.killpg(holder.pid, signal.SIGKILL)
    holder.wait()
    while held(server) > 1:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert acquire(server)[0] == 201


# Only the holder is killed, as by the kernel when memory is short: its command must not go on without a lease.
def test_the_command_of_a_holder_that_was_killed_is_told_to_end(server, tmp_path):
    ended = tmp_path / "ended"
    ready = tmp_path / "ready"
    command = f"trap 'touch {ended}; exit' TERM; touch {ready}; while :; do sleep 0.05; done"
    holder = subprocess.Popen([WEIR, "lease", "run", "--server", server.http, "tenant=acme", "action=export", "--", "sh", "-c", command],
                              env=QUIET)
    end = time.monotonic() + 20
    while not ready.exists():
        assert time.monotonic() < end and holder.poll() is None
        time.sleep(0.02)
    holder.kill()
    holder.wait()
    while not ended.exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_lease_list_and_release(server):
    _, lease, _ = acquire(server)
    listed = weir("lease", "list", "tenant=acme", "action=export", "--server", server.http)
    assert listed.returncode == 0 and "exports-active" in listed.stdout and "1 slot" in listed.stdout, listed
    handle = json.loads(weir("lease", "list", "tenant=acme", "action=export", "--json", "--server", server.http).stdout)["leases"][0]["lease"]
    assert weir("lease", "release", handle, "--server", server.http).stdout == "released\n"
    assert "no leases are held" in weir("lease", "list", "tenant=acme", "action=export", "--server", server.http).stdout
    forged = weir("lease", "release", "nonsense", "--json", "--server", server.http)
    assert forged.returncode == 3 and json.loads(forged.stdout)["error"]["code"] == "not_found"


# A holder that is stopped for longer than its TTL has lost its slot, is told so when it goes on, and ends its command.
def test_a_holder_that_was_stopped_past_its_ttl_is_told(server, tmp_path):
    acquire(server)
    ready = tmp_path / "ready"
    holder = subprocess.Popen([WEIR, "lease", "run", "--server", server.http, "tenant=acme", "action=export", "--ttl", "0.5", "--grace", "1",
                               "--", "sh", "-c", f"touch {ready}; exec sleep 60"], env=QUIET)
    end = time.monotonic() + 20
    try:
        while not ready.exists():
            assert time.monotonic() < end and holder.poll() is None
            time.sleep(0.02)
        holder.send_signal(signal.SIGSTOP)
        while acquire(server)[0] != 201:
            assert time.monotonic() < end
            time.sleep(0.05)
        holder.send_signal(signal.SIGCONT)
        assert holder.wait(20) == 76
        assert held(server) == 2, "the slot is the other's"
    finally:
        if holder.poll() is None:
            holder.send_signal(signal.SIGCONT)
            holder.kill()
            holder.wait()


# Acquired on one node, renewed and released on another; 64 callers of both never hold more than the limit.
def test_two_nodes_and_64_callers_never_exceed_the_limit(redis, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text("version: 1\nrules:\n  - {id: exports-active, match: {action: export}, per: [tenant], algorithm: concurrency, "
                    "limit: 5, lease: 30s, on_store_failure: deny}\n")
    nodes = [start("--rules", str(path), "--store", redis.url, "--redis-deadline", "5s", "--loops", "2") for _ in range(2)]
    lock = threading.Lock()
    holders, most, given, tokens = [0], [0], [0], []

    def work(number):
        dice = random.Random(number)
        for _ in range(25):
            status, lease, _ = acquire(nodes[dice.randrange(2)])
            assert status in (201, 429), lease
            if status == 429:
                continue
            with lock:
                holders[0] += 1
                given[0] += 1
                most[0] = max(most[0], holders[0])
                tokens.append(lease["fencing_token"])
            if dice.random() < 0.3:
                status, renewed, _ = ask(nodes[dice.randrange(2)], "POST", f"/v1/leases/{lease['lease']}/renew")
                assert status == 200, renewed
            with lock:
                holders[0] -= 1
            assert ask(nodes[dice.randrange(2)], "DELETE", "/v1/leases/" + lease["lease"])[0] == 204

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        for _ in pool.map(work, range(64)):
            pass
    assert given[0] >= 25 and most[0] <= 5, (given, most)
    assert len(set(tokens)) == len(tokens)
    assert held(nodes[0]) == 0


# What "allow" promises while Redis is away: a lease without a fencing token, which becomes a real one when it is renewed.
def test_without_redis_a_lease_of_the_policy_allow_has_no_token(redis, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text("version: 1\nrules:\n" + "".join(
        f"  - {{id: {policy}, match: {{kind: {policy}}}, per: [tenant], algorithm: concurrency, limit: 1, lease: 30s, on_store_failure: {policy}}}\n"
        for policy in ("allow", "deny")))
    node = start("--rules", str(path), "--store", redis.url, "--loops", "1")

    def take(policy):
        return ask(node, "POST", "/v1/leases", {"attributes": {"tenant": "acme", "kind": policy}})

    assert ask(node, "POST", "/v1/leases", {"attributes": {"tenant": "other", "kind": "allow"}})[0] == 201
    redis.kill()
    status, lease, _ = take("allow")
    assert status == 201 and lease["degraded"] is True and lease["fencing_token"] is None, lease
    status, refused, _ = take("deny")
    assert status == 503, refused
    status, refused, _ = ask(node, "POST", f"/v1/leases/{lease['lease']}/renew")
    assert status == 503 and refused["code"] == "unavailable", refused
    assert ask(node, "DELETE", "/v1/leases/" + lease["lease"])[0] == 503
    redis.start()
    end = time.monotonic() + 20
    while ask(node, "POST", f"/v1/leases/{lease['lease']}/renew")[0] == 503:
        assert time.monotonic() < end
        time.sleep(0.05)
    status, real, _ = ask(node, "POST", f"/v1/leases/{lease['lease']}/renew")
    assert status == 200 and real["fencing_token"] > 0, real
    assert take("allow")[0] == 429, "the slot is taken"


@pytest.fixture
def everywhere(start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return start("--rules", str(path), "--listen-grpc", "127.0.0.1:0", "--listen-resp", "127.0.0.1:0")


def test_grpcio_acquires_renews_and_releases(everywhere, tmp_path):
    subprocess.run(["protoc", f"--proto_path={ROOT}/api/proto", f"--python_out={tmp_path}", "weir/v1/limiter.proto"], check=True, timeout=60)
    spec = importlib.util.spec_from_file_location("limiter_pb2", tmp_path / "weir" / "v1" / "limiter_pb2.py")
    pb = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pb)
    channel = grpc.insecure_channel(everywhere.await_event("listening")["grpc"])

    def call(name, **members):
        request = getattr(pb, name + "Request")(**members)
        method = channel.unary_unary(f"/weir.v1.Limiter/{name}", type(request).SerializeToString, getattr(pb, name + "Response").FromString)
        return method(request, timeout=10)

    export = [pb.Attribute(name="tenant", value="acme"), pb.Attribute(name="action", value="export")]
    first = call("Acquire", attributes=export, ttl_ms=5_000, id="job-7")
    assert first.decision.allowed and first.lease.created and first.lease.fencing_token > 0 and first.lease.ttl_ms == 5_000
    again = call("Acquire", attributes=export, ttl_ms=5_000, id="job-7")
    assert not again.lease.created and again.lease.fencing_token == first.lease.fencing_token
    assert call("Acquire", attributes=export).lease.fencing_token > first.lease.fencing_token
    denied = call("Acquire", attributes=export)
    assert not denied.decision.allowed and not denied.HasField("lease") and denied.decision.reason == pb.REASON_CONCURRENCY_EXCEEDED
    renewed = call("Renew", lease=first.lease.lease, ttl_ms=9_000)
    assert renewed.lease.ttl_ms == 9_000
    call("Release", lease=renewed.lease.lease)
    call("Release", lease=renewed.lease.lease)
    for name, lease, code in (("Renew", renewed.lease.lease, grpc.StatusCode.FAILED_PRECONDITION), ("Renew", "x", grpc.StatusCode.NOT_FOUND),
                              ("Release", "x", grpc.StatusCode.NOT_FOUND)):
        with pytest.raises(grpc.RpcError) as error:
            call(name, lease=lease)
        assert error.value.code() == code, name
    with pytest.raises(grpc.RpcError) as error:
        call("Acquire", attributes=export, ttl_ms=365 * 86_400_000)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT and "ttl_ms" in error.value.details()
    assert held(everywhere) == 1


def test_redis_py_acquires_renews_and_releases(everywhere):
    host, port = everywhere.await_event("listening")["resp"].rsplit(":", 1)
    client = redis_py.Redis(host=host, port=int(port), decode_responses=True)

    def call(*words):
        answer = client.execute_command(*words)
        return dict(zip(answer[::2], answer[1::2])) if isinstance(answer, list) else answer

    first = call("WEIR.ACQUIRE", "TTL", 5000, "ID", "job-7", "tenant", "acme", "action", "export")
    assert first["allowed"] == 1 and first["created"] == 1 and first["fencing_token"] > 0, first
    assert call("WEIR.ACQUIRE", "ID", "job-7", "tenant", "acme", "action", "export")["created"] == 0
    assert call("WEIR.RENEW", first["lease"], "TTL", 9000)["ttl_ms"] == 9_000
    assert call("WEIR.RELEASE", first["lease"]) in ("OK", True)
    with pytest.raises(redis_py.ResponseError, match="GONE"):
        call("WEIR.RENEW", first["lease"])
    with pytest.raises(redis_py.ResponseError, match="NOTFOUND"):
        call("WEIR.RELEASE", "x")
    assert held(everywhere) == 0
