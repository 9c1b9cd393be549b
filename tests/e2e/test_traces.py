"""Distributed traces: traceparent over HTTP, gRPC and forward auth, spans to a receiver that checks OTLP's schema, and a queue that never waits."""

import json

import grpc
import pytest
from grpc_bytes import RATE_LIMIT, field, rate_limit_request
from otlp_receiver import Receiver
from redis_nodes import Redis, eventually
from test_cli import rules_text, start, weir  # noqa: F401 (start is a fixture)
from test_leases import ask

SERVER, CLIENT, INTERNAL = 2, 3, 1
PARENT = "00f067aa0ba902b7"


def trace_id(number):
    return f"{number:032x}"


def traceparent(number, flags="01"):
    return {"traceparent": f"00-{trace_id(number)}-{PARENT}-{flags}"}


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()
    assert made.faults == []


@pytest.fixture
def traced(start, receiver, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(rules_text(2))

    def begin(*flags, sample="off"):
        return start("--rules", str(tmp_path / "rules.yaml"), "--tracing-otlp", receiver.url, "--tracing-sample", sample,
                     "--listen-grpc", "127.0.0.1:0", "--loops", "1", *flags)

    return begin


def decision_of(receiver, number):
    eventually("the span has arrived", lambda: receiver.of(trace_id(number), "weir.decision"))
    (span,) = receiver.of(trace_id(number), "weir.decision")
    return span


def check(server, number, flags="01", path="/v1/check", tenant="acme"):
    return server.call(path, {"attributes": {"tenant": tenant}}, headers=traceparent(number, flags))


def test_a_decision_is_a_span_below_the_callers(traced, receiver):
    server = traced("--node-name", "node-1", "--region-name", "eu")
    for number, status in ((1, 200), (2, 200), (3, 429)):
        assert check(server, number)[0] == status
    allowed, denied = decision_of(receiver, 1), decision_of(receiver, 3)
    assert (allowed["parent"], allowed["kind"], allowed["scope"]) == (PARENT, SERVER, "weir")
    assert allowed["attributes"] == {"weir.decision": "allowed", "weir.reason": "ok", "weir.source": "memory", "weir.rule": "per-tenant",
                                     "weir.cost": 1, "weir.rules_version": 1, "weir.rules_hash": allowed["attributes"]["weir.rules_hash"]}
    assert denied["attributes"]["weir.decision"] == "denied" and denied["attributes"]["weir.reason"] == "limit_exceeded"
    assert allowed["resource"]["service.name"] == "weir" and allowed["resource"]["service.instance.id"] == "node-1"
    assert allowed["resource"]["weir.region"] == "eu"
    (store,) = receiver.of(trace_id(1), "weir.store")
    assert (store["parent"], store["kind"], store["attributes"]) == (allowed["id"], INTERNAL, {"db.system": "memory"})
    assert allowed["from"] <= store["from"] <= store["to"] <= allowed["to"]


def test_the_parents_flag_decides_and_others_are_sampled(traced, receiver):
    server = traced(sample="off")
    assert check(server, 10, flags="00")[0] == 200
    assert server.call("/v1/check", {"attributes": {"tenant": "other"}})[0] == 200
    assert check(server, 11, flags="01")[0] == 200
    decision_of(receiver, 11)
    assert {span["trace"] for span in receiver.spans} == {trace_id(11)}


def test_a_request_without_a_trace_begins_one_if_it_is_sampled(traced, receiver):
    server = traced(sample="1")
    assert server.check() == 200
    assert check(server, 12, flags="00")[0] == 200
    eventually("the span has arrived", lambda: receiver.spans)
    (span,) = [span for span in receiver.spans if span["name"] == "weir.decision"]
    assert span["parent"] == "" and span["trace"] != trace_id(12)


@pytest.mark.parametrize("wrong", ["", "00-0-0-01", "ff-" + "1" * 32 + "-" + "1" * 16 + "-01", "00-" + "0" * 32 + "-" + "1" * 16 + "-01",
                                   "00-" + "1" * 32 + "-" + "0" * 16 + "-01", "00-" + "A" * 32 + "-" + "1" * 16 + "-01",
                                   "00-" + "1" * 32 + "-" + "1" * 16 + "-01-more"])
def test_an_invalid_traceparent_is_as_none(traced, receiver, wrong):
    server = traced(sample="off")
    assert server.call("/v1/check", {"attributes": {"tenant": "acme"}}, headers={"traceparent": wrong})[0] == 200
    assert check(server, 13)[0] == 200
    decision_of(receiver, 13)
    assert {span["trace"] for span in receiver.spans} == {trace_id(13)}


def test_every_route_that_decides_is_traced(traced, receiver):
    server = traced("--identity-trusted-proxies", "127.0.0.1/32", "--identity-attributes", "tenant=header:x-tenant",
                    "--identity-accept-unverified", "tenant")
    assert server.call("/v1/forward-auth", headers={**traceparent(20), "x-tenant": "t20", "X-Forwarded-Uri": "/", "X-Forwarded-Method": "GET"})[0] == 200
    body = {"requests": [{"attributes": {"tenant": "t21"}}, {"attributes": {"tenant": "t22"}}]}
    assert server.call("/v1/check/batch", body, headers=traceparent(21))[0] == 200
    assert server.call("/v1/leases", {"attributes": {"tenant": "t23"}}, headers=traceparent(23))[0] == 201
    assert server.call("/v1/reservations", {"attributes": {"tenant": "t24"}, "amount": 1}, headers=traceparent(24))[0] == 201
    assert server.call("/json", {"domain": "shop", "descriptors": [{"entries": [{"key": "tenant", "value": "t25"}]}]}, headers=traceparent(25))[0] == 200
    for number in (20, 23, 24, 25):
        assert decision_of(receiver, number)["parent"] == PARENT, number
    eventually("both", lambda: len(receiver.of(trace_id(21), "weir.decision")) == 2)


def test_changes_are_spans_with_the_call_to_the_store_below_them(traced, receiver):
    server = traced()
    limited = {"attributes": {"tenant": "acme"}}
    lease = json.loads(server.call("/v1/leases", {"attributes": {"tenant": "other"}})[1])["lease"]
    held = [json.loads(server.call("/v1/reservations", {**limited, "amount": 1})[1])["reservation"] for _ in range(2)]
    calls = [("weir.refund", "POST", "/v1/refund", {**limited, "cost": 1}), ("weir.lease.renew", "POST", f"/v1/leases/{lease}/renew", {}),
             ("weir.lease.release", "DELETE", f"/v1/leases/{lease}", None),
             ("weir.reservation.extend", "POST", f"/v1/reservations/{held[0]}/extend", {"ttl_ms": 90000}),
             ("weir.reservation.commit", "POST", f"/v1/reservations/{held[0]}/commit", {"actual": 1}),
             ("weir.reservation.release", "POST", f"/v1/reservations/{held[1]}/release", {})]
    for number, (_, method, path, body) in enumerate(calls, 60):
        assert ask(server, method, path, body, traceparent(number))[0] < 300, path
    for number, (name, *_) in enumerate(calls, 60):
        eventually(name, lambda number=number, name=name: receiver.of(trace_id(number), name))
        (span,) = receiver.of(trace_id(number), name)
        assert (span["parent"], span["kind"], span["attributes"]["weir.source"]) == (PARENT, SERVER, "memory"), name
        assert not receiver.of(trace_id(number), "weir.decision"), "it decides nothing"
        if "lease" not in name:
            (store,) = receiver.of(trace_id(number), "weir.store")
            assert store["parent"] == span["id"], name
    (commit,) = receiver.of(trace_id(64), "weir.reservation.commit")
    assert commit["attributes"]["weir.cost"] == 1
    (refund,) = receiver.of(trace_id(60), "weir.refund")
    assert refund["attributes"]["weir.rules_version"] == 1


def test_grpc_metadata_carries_the_trace(traced, receiver):
    server = traced()
    address = server.await_event("listening")["grpc"]
    attribute = field(1, field(1, b"tenant") + field(2, b"grpc"))
    with grpc.insecure_channel(address) as channel:
        calls = [("/weir.v1.Limiter/Check", attribute, 30), (RATE_LIMIT, rate_limit_request("u"), 31), ("/weir.v1.Limiter/Acquire", attribute, 32)]
        for path, message, number in calls:
            call = channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
            call(message, metadata=list(traceparent(number).items()), timeout=10)
            # The same again, and then without: a call's fields are not those of the call before it.
            call(message, metadata=list(traceparent(number).items()), timeout=10)
            call(message, timeout=10)
    for _, _, number in calls:
        eventually("both spans", lambda number=number: len(receiver.of(trace_id(number), "weir.decision")) == 2)
        assert {span["parent"] for span in receiver.of(trace_id(number), "weir.decision")} == {PARENT}
    assert {span["trace"] for span in receiver.spans} == {trace_id(number) for _, _, number in calls}


def test_redis_is_a_span_of_its_own_and_failed_when_it_is_away(traced, receiver, tmp_path):
    redis = Redis(tmp_path)
    try:
        server = traced("--store", redis.url, "--redis-deadline", "500ms")
        warm = {"attributes": {"tenant": "warm"}, "peek": True}
        eventually("Redis answers", lambda: json.loads(server.call("/v1/check", warm)[1])["source"] == "redis")
        assert check(server, 40)[0] == 200
        decision = decision_of(receiver, 40)
        (store,) = receiver.of(trace_id(40), "weir.store")
        assert (store["kind"], store["attributes"], store["error"]) == (CLIENT, {"db.system": "redis"}, False)
        assert decision["from"] <= store["from"] < store["to"] <= decision["to"]
        redis.kill()
        assert check(server, 41)[0] == 200
        assert decision_of(receiver, 41)["attributes"]["weir.degraded"] is True
        (store,) = receiver.of(trace_id(41), "weir.store")
        assert store["error"]
    finally:
        redis.kill()


def test_the_ledger_of_a_strict_quota_is_a_span_of_its_own(start, receiver, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(
        "version: 1\nrules:\n  - {id: month, per: [tenant], algorithm: quota, limit: 10, period: month, enforcement: strict}\n")
    server = start("--rules", str(tmp_path / "rules.yaml"), "--tracing-otlp", receiver.url)
    assert check(server, 50)[0] == 200
    decision = decision_of(receiver, 50)
    (ledger,) = receiver.of(trace_id(50), "weir.ledger")
    assert (ledger["parent"], ledger["kind"], ledger["attributes"]) == (decision["id"], CLIENT, {"db.system": "sqlite"})
    assert decision["from"] <= ledger["from"] < ledger["to"] <= decision["to"]


def test_blocked_requests_have_a_span_and_lines_in_the_log_name_the_trace(traced, receiver):
    server = traced("--log-decisions", "1", "--log-denials", "1")
    blocked = {"when": {"tenant": "bad"}, "reason": "unpaid"}
    assert server.call("/admin/v1/blocks", blocked, listener=server.admin)[0] == 201
    assert check(server, 60, tenant="bad")[0] == 403
    assert decision_of(receiver, 60)["attributes"]["weir.reason"] == "blocked"
    assert check(server, 61, flags="00")[0] == 200
    assert server.check() == 200
    lines = [event for event in server.events() if event["event"] == "decision"]
    assert [line.get("trace_id") for line in lines] == [trace_id(60), trace_id(61), None]


def test_a_collector_in_trouble_costs_spans_and_never_an_answer(traced, receiver, tmp_path):
    (tmp_path / "fields").write_text("# for the collector\nAuthorization: Bearer s3cret\n")
    receiver.status = 503
    server = traced("--tracing-queue", "64", "--tracing-headers-file", str(tmp_path / "fields"), sample="1")
    for number in range(100, 200):
        assert server.call("/v1/check", {"attributes": {"tenant": f"t{number}"}})[0] == 200
    assert server.await_event("trace_export_failed")
    server.await_metric('weir_trace_spans_total{result="sent"} 0')
    eventually("spans were dropped", lambda: 'weir_trace_spans_total{result="dropped"} 0' not in server.metrics())
    receiver.status = 200
    eventually("what waited is sent", lambda: receiver.spans)
    assert all(fields["Authorization"] == "Bearer s3cret" for _, fields, _ in receiver.requests)


def test_what_waits_is_sent_before_the_server_ends(traced, receiver):
    server = traced()
    assert check(server, 70)[0] == 200
    assert server.stop() == 0
    assert receiver.of(trace_id(70), "weir.decision")


@pytest.mark.parametrize(("flags", "said"), [
    (["--tracing-otlp", "127.0.0.1:4318"], "tracing.otlp: expected a URL"),
    (["--tracing-sample", "2"], "--tracing-sample: is"),
    (["--tracing-queue", "1"], "--tracing-queue: is"),
])
def test_settings_that_are_wrong_are_refused(flags, said, tmp_path):
    refused = weir("serve", "--data-dir", str(tmp_path), "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0", *flags)
    assert refused.returncode != 0 and said in refused.stderr


def test_without_tracing_nothing_is_traced(start, receiver):  # noqa: F811
    server = start("--log-decisions", "1")
    assert check(server, 80)[0] == 200
    assert 'weir_trace_spans_total{result="sent"} 0' in server.metrics()
    server.stop()
    assert receiver.requests == []
    assert all("trace_id" not in event for event in server.events())
