"""Reservations from outside: the HTTP routes, and a gateway for language models that settles by what was used."""

import concurrent.futures
import http.client
import importlib.util
import json
import pathlib
import subprocess

import grpc
import pytest
import redis as redis_py

from redis_nodes import PATIENT, Redis, redis  # noqa: F401 (redis is a fixture)
from test_cli import start, weir  # noqa: F401 (start is a fixture)
from test_leases import ask

ROOT = pathlib.Path(__file__).resolve().parents[2]

RULES = """version: 1
rules:
  - id: tokens-per-day
    match: {action: completion}
    per: [user]
    algorithm: fixed-window
    limit: 100000
    window: 3650d
    cost: {attribute: tokens}
    overdraft: 1000
  - {id: calls, match: {action: completion}, per: [user], algorithm: fixed-window, limit: 50, window: 3650d, cost: 1}
  - {id: streams, match: {action: completion}, per: [user], algorithm: concurrency, limit: 2, lease: 30s}
"""

ATTRIBUTES = {"user": "u1", "action": "completion"}


@pytest.fixture(params=["memory", "redis"])
def server(request, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    if request.param == "memory":
        yield start("--rules", str(path))
        return
    redis = Redis(tmp_path)  # noqa: F811
    try:
        yield start("--rules", str(path), "--store", redis.url, "--redis-deadline", PATIENT)
    finally:
        redis.kill()


def test_any_node_settles_what_another_has_reserved(redis, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    one, other = [start("--rules", str(path), "--store", redis.url, "--redis-deadline", PATIENT) for _ in range(2)]
    made = reserve(one, 2000, id="job-1")[1]
    again = reserve(other, 2000, id="job-1")
    assert again[0] == 200 and again[1]["id"] == made["id"], again
    handle = "/v1/reservations/" + made["reservation"]
    assert ask(other, "POST", handle + "/extend", {"add": 500})[1]["granted"] == 2500
    assert [each["units"] for each in ask(one, "GET", "/v1/reservations?user=u1&action=completion")[1]["reservations"]
            if each["rule"] == "tokens-per-day"] == [2500]
    status, settled, _ = ask(other, "POST", handle + "/commit", {"actual": 100})
    assert status == 200 and settled["returned"] == 2400, settled
    status, replayed, headers = ask(one, "POST", handle + "/commit", {"actual": 100})
    assert status == 200 and replayed["returned"] == 2400 and headers["Idempotent-Replayed"] == "true"
    assert reserve(one, 1, id="job-1")[0] == 410


def test_closers_on_two_nodes_race_and_one_wins(redis, start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    nodes = [start("--rules", str(path), "--store", redis.url, "--redis-deadline", PATIENT) for _ in range(2)]
    for _ in range(10):
        handle = "/v1/reservations/" + reserve(nodes[0], 10)[1]["reservation"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            told = list(pool.map(lambda i: ask(nodes[i % 2], "POST", handle + ("/commit" if i % 3 else "/release"),
                                               {"actual": i} if i % 3 else None), range(8)))
        first = [body for status, body, headers in told if status == 200 and "Idempotent-Replayed" not in headers]
        assert len(first) == 1, told
        assert all(status in (200, 409) for status, _, _ in told), told


def reserve(server, amount, **members):
    return ask(server, "POST", "/v1/reservations", {"attributes": ATTRIBUTES, "amount": amount, **members})


def rule(answer, name):
    return next(each for each in answer["rules"] if each["rule"] == name)


def test_less_than_was_reserved_goes_back_and_settling_again_replays(server):
    status, made, _ = reserve(server, 2000, ttl_ms=60_000)
    assert status == 201 and made["granted"] == 2000 and made["state"] == "open", made
    assert rule(made, "tokens-per-day")["remaining"] == 98_000
    assert rule(made, "calls")["remaining"] == 49
    assert rule(made, "streams")["remaining"] == 1 and made["fencing_token"] > 0
    path = "/v1/reservations/" + made["reservation"]
    status, settled, headers = ask(server, "POST", path + "/commit", {"actual": 1234})
    assert status == 200 and settled["state"] == "committed" and settled["returned"] == 766, settled
    assert rule(settled, "tokens-per-day")["remaining"] == 98_766
    assert rule(settled, "streams")["remaining"] == 2, "its slot is free again"
    status, again, headers = ask(server, "POST", path + "/commit", {"actual": 5})
    assert status == 200 and again["actual"] == 1234 and again["returned"] == 766
    assert headers["Idempotent-Replayed"] == "true"
    status, told, _ = ask(server, "POST", path + "/release")
    assert status == 409 and told["code"] == "closed" and "committed" in told["detail"], told
    assert ask(server, "GET", path)[1]["state"] == "committed"


def test_more_is_a_debt_up_to_the_overdraft(server):
    _, made, _ = reserve(server, 100_000)
    status, settled, _ = ask(server, "POST", f"/v1/reservations/{made['reservation']}/commit", {"actual": 103_000})
    assert status == 200 and settled["debt"] == 1000 and settled["uncharged"] == 2000, settled
    status, denied, headers = reserve(server, 1)
    assert status == 429 and denied["code"] == "limit_exceeded" and int(headers["Retry-After"]) > 0
    metrics = http.client.HTTPConnection(server.admin, timeout=10)
    metrics.request("GET", "/metrics")
    assert "weir_uncharged_units_total 2000" in metrics.getresponse().read().decode()


def test_partial_dry_run_extend_and_list(server):
    status, would, _ = reserve(server, 200_000, partial=True, dry_run=True)
    assert status == 200 and would["granted"] == 100_000 and "reservation" not in would
    assert reserve(server, 200_000)[0] == 429
    _, made, _ = reserve(server, 90_000, id="job-7")
    status, other, _ = reserve(server, 1, id="job-7")
    assert status == 422 and "another amount" in other["detail"], other
    status, same, _ = reserve(server, 90_000, id="job-7")
    assert status == 200 and same["granted"] == 90_000 and same["id"] == made["id"]
    path = "/v1/reservations/" + made["reservation"]
    status, grown, _ = ask(server, "POST", path + "/extend", {"add": 5_000, "ttl_ms": 120_000})
    assert status == 200 and grown["granted"] == 95_000 and grown["expires_at_ms"] > made["expires_at_ms"], grown
    status, denied, _ = ask(server, "POST", path + "/extend", {"add": 5_001})
    assert status == 429 and denied["code"] == "limit_exceeded" and denied["rule"] == "tokens-per-day", denied
    _, listed, _ = ask(server, "GET", "/v1/reservations?user=u1&action=completion")
    assert [(each["rule"], each["units"]) for each in listed["reservations"]] == [("tokens-per-day", 95_000), ("calls", 1)]
    status, released, _ = ask(server, "POST", path + "/release")
    assert status == 200 and released["returned"] == 95_000
    assert ask(server, "GET", "/v1/reservations?user=u1&action=completion")[1]["reservations"] == []
    assert ask(server, "POST", path + "/release")[0] == 200, "releasing again replays"
    status, gone, _ = reserve(server, 1, id="job-7")
    assert status == 410 and "released" in gone["detail"], gone


@pytest.mark.parametrize("path, body, status, detail", [
    ("", {"attributes": ATTRIBUTES, "amount": 2**63}, 400, "amount: must be"),
    ("", {"attributes": ATTRIBUTES, "amount": 1, "ttl_ms": 0}, 400, "ttl_ms: must be"),
    ("", {"attributes": ATTRIBUTES, "amount": 1, "id": "x" * 10_000}, 400, "id: must have"),
    ("", {"attributes": ATTRIBUTES, "estimate": "auto"}, 400, "amount: is missing"),
    ("/made-up/commit", {"actual": 1}, 404, "not a handle"),
    ("/made-up/extend", {"ttl_ms": 1000}, 404, "not a handle"),
])
def test_bad_input_says_what_is_expected(server, path, body, status, detail):
    got, problem, _ = ask(server, "POST", "/v1/reservations" + path, body)
    assert got == status and detail in problem["detail"], problem


def test_a_cost_above_the_limit_is_told_and_takes_nothing(server):
    status, denied, _ = reserve(server, 100_001)
    assert status == 429 and denied["code"] == "cost_too_large", denied
    assert ask(server, "GET", "/v1/reservations?user=u1&action=completion")[1]["reservations"] == []


def test_the_command_line_takes_and_settles(server):
    url = f"http://{server.http}"
    taken = weir("reserve", "take", "--server", url, "user=u1", "action=completion", "--amount", "2000")
    assert taken.returncode == 0, taken.stderr
    handle = taken.stdout.splitlines()[1]
    grown = weir("reserve", "extend", "--server", url, handle, "--add", "500", "--ttl", "60")
    assert "granted 2500" in grown.stdout, grown.stdout + grown.stderr
    listed = weir("reserve", "list", "--server", url, "user=u1", "action=completion")
    assert "tokens-per-day  2500 units" in listed.stdout, listed.stdout
    settled = weir("reserve", "commit", "--server", url, handle, "--actual", "700", "--json")
    assert json.loads(settled.stdout)["returned"] == 1800
    late = weir("reserve", "release", "--server", url, handle)
    assert late.returncode == 3 and "committed" in late.stderr, late.stderr
    denied = weir("reserve", "take", "--server", url, "user=u1", "action=completion", "--amount", "100000")
    assert denied.returncode == 1 and "tokens-per-day" in denied.stdout, denied.stdout


@pytest.fixture
def everywhere(start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return start("--rules", str(path), "--listen-grpc", "127.0.0.1:0", "--listen-resp", "127.0.0.1:0")


def test_redis_py_reserves_and_settles(everywhere):
    host, port = everywhere.await_event("listening")["resp"].rsplit(":", 1)
    client = redis_py.Redis(host=host, port=int(port), decode_responses=True)

    def call(*words):
        answer = client.execute_command(*words)
        return dict(zip(answer[::2], answer[1::2]))

    subject = ("user", "u1", "action", "completion")
    made = call("WEIR.RESERVE", 2000, "TTL", 5000, "ID", "job-7", *subject)
    assert made["allowed"] == 1 and made["granted"] == 2000 and made["state"] == "open", made
    assert made["fencing_token"] > 0 and made["returned"] is None
    assert call("WEIR.RESERVE", 2000, "ID", "job-7", *subject)["fencing_token"] == made["fencing_token"]
    with pytest.raises(redis_py.ResponseError, match="another amount"):
        call("WEIR.RESERVE", 5, "ID", "job-7", *subject)
    settled = call("WEIR.COMMIT", made["reservation"], 500)
    assert settled["state"] == "committed" and settled["returned"] == 1500 and settled["actual"] == 500, settled
    assert call("WEIR.COMMIT", made["reservation"], 9)["actual"] == 500
    with pytest.raises(redis_py.ResponseError, match="CLOSED"):
        call("WEIR.CANCEL", made["reservation"])
    assert call("WEIR.RESERVE", 200_000, "PARTIAL", "DRYRUN", *subject)["granted"] == 99_500
    denied = call("WEIR.RESERVE", 200_000, *subject)
    assert denied["allowed"] == 0 and denied["reason"] == "cost_too_large" and denied["reservation"] is None
    other = call("WEIR.RESERVE", 10, *subject)
    assert call("WEIR.CANCEL", other["reservation"])["returned"] == 10
    for words, error in ((("WEIR.CANCEL", "x"), "NOTFOUND"), (("WEIR.COMMIT", "x", "-1"), "actual"),
                         (("WEIR.RESERVE", "many", *subject), "amount"), (("WEIR.RESERVE", "AUTO", *subject), "amount: is missing"),
                         (("WEIR.RESERVE", 1, "TTL", 0, *subject), "TTL")):
        with pytest.raises(redis_py.ResponseError, match=error):
            call(*words)


def test_grpcio_reserves_and_settles(everywhere, tmp_path):
    subprocess.run(["protoc", f"--proto_path={ROOT}/api/proto", f"--python_out={tmp_path}", "weir/v1/limiter.proto"], check=True, timeout=60)
    spec = importlib.util.spec_from_file_location("limiter_pb2", tmp_path / "weir" / "v1" / "limiter_pb2.py")
    pb = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pb)
    channel = grpc.insecure_channel(everywhere.await_event("listening")["grpc"])

    def call(name, **members):
        request = getattr(pb, name + "Request")(**members)
        method = channel.unary_unary(f"/weir.v1.Limiter/{name}", type(request).SerializeToString, getattr(pb, name + "Response").FromString)
        return method(request, timeout=10)

    subject = [pb.Attribute(name=name, value=value) for name, value in ATTRIBUTES.items()]
    made = call("Reserve", attributes=subject, amount=2000, ttl_ms=5_000)
    assert made.decision.allowed and made.reservation.created and made.reservation.granted == 2000
    assert made.reservation.state == pb.RESERVATION_STATE_OPEN and made.reservation.expires_at_ms > 0
    handle = made.reservation.reservation
    assert call("ExtendReservation", reservation=handle, add=100, ttl_ms=9_000).reservation.granted == 2100
    settled = call("Commit", reservation=handle, actual=2500).reservation
    assert settled.debt == 400 and settled.state == pb.RESERVATION_STATE_COMMITTED and not settled.replayed
    assert call("Commit", reservation=handle, actual=1).reservation.replayed
    denied = call("Reserve", attributes=subject, amount=200_000)
    assert not denied.decision.allowed and not denied.HasField("reservation")
    for name, members, code in (("ReleaseReservation", {"reservation": handle}, grpc.StatusCode.FAILED_PRECONDITION),
                                ("Commit", {"reservation": "x", "actual": 1}, grpc.StatusCode.NOT_FOUND),
                                ("Reserve", {"attributes": subject, "amount": -1}, grpc.StatusCode.INVALID_ARGUMENT),
                                ("Reserve", {"attributes": subject, "amount": 1, "ttl_ms": 365 * 86_400_000}, grpc.StatusCode.INVALID_ARGUMENT)):
        with pytest.raises(grpc.RpcError) as error:
            call(name, **members)
        assert error.value.code() == code, name


def test_an_estimate_is_learned_counted_and_kept_over_a_restart(start, tmp_path):  # noqa: F811
    path = tmp_path / "rules.yaml"
    path.write_text("""version: 1
rules:
  - {id: tokens, per: [user], algorithm: fixed-window, limit: 1000000, window: 3650d, cost: {attribute: tokens},
     estimate: {by: model, quantile: 95, default: 2000, max: 10%}}
""")
    flags = ["--rules", str(path), "--memory-snapshot", str(tmp_path / "buckets")]
    server = start(*flags)

    def estimated(model):
        status, made, _ = ask(server, "POST", "/v1/reservations", {"attributes": {"user": "u1", "model": model}, "estimate": "auto"})
        assert status == 201, made
        return made

    first = estimated("large")
    assert first["estimated"] == 2000 and first["granted"] == 2000
    assert ask(server, "POST", f"/v1/reservations/{first['reservation']}/commit", {"actual": 500})[0] == 200
    second = estimated("large")
    assert 500 <= second["estimated"] <= 500 + 500 // 16
    assert estimated("small")["estimated"] == 2000, "another model"
    metrics = http.client.HTTPConnection(server.admin, timeout=10)
    metrics.request("GET", "/metrics")
    text = metrics.getresponse().read().decode()
    assert 'weir_estimate_settled_total{rule="tokens"} 1' in text
    assert 'weir_estimate_over_units_total{rule="tokens"} 1500' in text
    server.stop()
    server = start(*flags)
    assert estimated("large")["estimated"] == second["estimated"]
    _, settled, _ = ask(server, "POST", f"/v1/reservations/{second['reservation']}/commit", {"actual": 100_000_000})
    assert settled["state"] == "committed", "and so do reservations"


class Completion:
    """Stands for a model's answer: chunks of text, and at the end how many tokens they were, as OpenAI's API says it."""

    def __init__(self, prompt_tokens, chunks):
        self.usage = {"prompt_tokens": prompt_tokens, "completion_tokens": sum(chunks)}
        self.usage["total_tokens"] = sum(self.usage.values())
        self.chunks = chunks


def test_a_gateway_reserves_grows_while_streaming_and_settles_by_usage(server):
    """The recipe of docs/reservations.md."""
    completion = Completion(prompt_tokens=300, chunks=[400] * 10)
    status, made, _ = reserve(server, 300 + 2000, ttl_ms=30_000)
    assert status == 201
    path, used, held = "/v1/reservations/" + made["reservation"], 300, made["granted"]
    for tokens in completion.chunks:
        if used + tokens > held:
            status, grown, _ = ask(server, "POST", path + "/extend", {"add": 1000, "ttl_ms": 30_000, "partial": True})
            assert status == 200, grown
            held = grown["granted"]
        used += tokens
    status, settled, _ = ask(server, "POST", path + "/commit", {"actual": completion.usage["total_tokens"]})
    assert status == 200 and settled["actual"] == 4300 and settled["uncharged"] == 0, settled
    assert rule(settled, "tokens-per-day")["remaining"] == 100_000 - 4300
