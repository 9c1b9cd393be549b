"""python3-grpcio, an unmodified gRPC client, against our server."""
import uuid

import grpc
import pytest

SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"


@pytest.fixture
def rls(messages):
    return messages("envoy.service.ratelimit.v3.rls_pb2")


@pytest.fixture
def ask(rls, channel):
    call = channel.unary_unary(SHOULD_RATE_LIMIT, rls.RateLimitRequest.SerializeToString, rls.RateLimitResponse.FromString)

    def ask(domain, *descriptors, hits=0, timeout=5, **options):
        request = rls.RateLimitRequest(domain=domain, hits_addend=hits)
        for entries in descriptors:
            descriptor = request.descriptors.add()
            for key, value in entries.items():
                descriptor.entries.add(key=key, value=value)
        if "change" in options:
            options["change"](request)
        return call(request, timeout=timeout, metadata=options.get("metadata"), compression=options.get("compression"))

    return ask


def someone():
    return uuid.uuid4().hex


def code_of(error):
    return error.value.code(), error.value.details()


def test_admits_up_to_the_limit_and_then_answers_over_limit(rls, ask):
    user = someone()
    answers = [ask("shop", {"user": user}) for _ in range(4)]
    assert [a.overall_code for a in answers] == [rls.RateLimitResponse.OK] * 3 + [rls.RateLimitResponse.OVER_LIMIT]
    first = answers[0].statuses[0]
    assert first.current_limit.requests_per_unit == 3
    assert first.current_limit.unit == rls.RateLimitResponse.RateLimit.MINUTE
    assert first.current_limit.name == "per-user"
    assert [a.statuses[0].limit_remaining for a in answers] == [2, 1, 0, 0]
    assert 0 < answers[3].statuses[0].duration_until_reset.ToMilliseconds() <= 60_000


def test_headers_for_the_client_come_with_the_answer(ask):
    user = someone()
    allowed = {h.key: h.value for h in ask("shop", {"user": user}).response_headers_to_add}
    assert allowed["RateLimit-Policy"] == '"per-user";q=3;w=60'
    assert allowed["RateLimit"].startswith('"per-user";r=2')
    assert "Retry-After" not in allowed
    denied = {h.key: h.value for h in ask("shop", {"user": user}, hits=3).response_headers_to_add}
    assert 1 <= int(denied["Retry-After"]) <= 60


def test_descriptors_are_independent_requests(rls, ask):
    full, fresh = someone(), someone()
    ask("shop", {"user": full}, hits=3)
    answer = ask("shop", {"user": full}, {"user": fresh}, {"other": "x"})
    assert answer.overall_code == rls.RateLimitResponse.OVER_LIMIT
    assert [s.code for s in answer.statuses] == [rls.RateLimitResponse.OVER_LIMIT, rls.RateLimitResponse.OK,
                                                 rls.RateLimitResponse.OK]
    assert answer.statuses[1].limit_remaining == 2
    assert not answer.statuses[2].HasField("current_limit")


def test_unlimited_has_the_largest_remaining_and_no_limit(rls, ask):
    status = ask("open", {"user": "x"}).statuses[0]
    assert status.code == rls.RateLimitResponse.OK
    assert status.limit_remaining == 4294967295
    assert not status.HasField("current_limit")


def test_unknown_domain_is_ok(rls, ask):
    assert ask("nowhere", {"user": "x"}).overall_code == rls.RateLimitResponse.OK


def test_peek_charges_nothing_and_negative_hits_give_back(rls, ask):
    user = someone()

    def peek(request):
        request.descriptors[0].hits_addend.value = 0

    def give_back(request):
        request.descriptors[0].hits_addend.value = 2
        request.descriptors[0].is_negative_hits = True

    assert ask("shop", {"user": user}, change=peek).statuses[0].limit_remaining == 3
    assert ask("shop", {"user": user}, hits=3).statuses[0].limit_remaining == 0
    assert ask("shop", {"user": user}, change=peek).overall_code == rls.RateLimitResponse.OVER_LIMIT
    assert ask("shop", {"user": user}, change=give_back).overall_code == rls.RateLimitResponse.OK
    assert ask("shop", {"user": user}, change=peek).statuses[0].limit_remaining == 2


def test_a_limit_in_the_descriptor_bypasses_the_rules(rls, ask, messages):
    units = messages("envoy.type.v3.ratelimit_unit_pb2")
    user = someone()

    def override(request):
        request.descriptors[0].limit.requests_per_unit = 1
        request.descriptors[0].limit.unit = units.HOUR

    def unknown_unit(request):
        request.descriptors[0].limit.requests_per_unit = 1

    first = ask("shop", {"user": user}, change=override)
    assert first.overall_code == rls.RateLimitResponse.OK
    assert first.statuses[0].current_limit.unit == rls.RateLimitResponse.RateLimit.HOUR
    assert ask("shop", {"user": user}, change=override).overall_code == rls.RateLimitResponse.OVER_LIMIT
    assert ask("shop", {"user": user}).statuses[0].limit_remaining == 2
    with pytest.raises(grpc.RpcError) as error:
        ask("shop", {"user": user}, change=unknown_unit)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_empty_domain_and_empty_descriptors_are_errors_in_envoys_words(ask):
    with pytest.raises(grpc.RpcError) as error:
        ask("", {"user": "x"})
    assert code_of(error) == (grpc.StatusCode.INVALID_ARGUMENT, "rate limit domain must not be empty")
    with pytest.raises(grpc.RpcError) as error:
        ask("shop")
    assert code_of(error) == (grpc.StatusCode.INVALID_ARGUMENT, "rate limit descriptor list must not be empty")


def test_garbage_and_unknown_methods_are_status_errors(channel):
    with pytest.raises(grpc.RpcError) as error:
        channel.unary_unary(SHOULD_RATE_LIMIT)(b"\xff\xff\xff\xff", timeout=5)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.RpcError) as error:
        channel.unary_unary("/weir.v1.Limiter/Nothing")(b"", timeout=5)
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_messages_over_the_cap_are_refused_and_large_ones_below_it_are_read(channel, rls):
    with pytest.raises(grpc.RpcError) as error:
        channel.unary_unary(SHOULD_RATE_LIMIT)(b"\x0a" * (2 << 20), timeout=5)
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    call = channel.unary_unary(SHOULD_RATE_LIMIT, response_deserializer=rls.RateLimitResponse.FromString)
    request = rls.RateLimitRequest(domain="free")
    request.descriptors.add().entries.add(key="user", value="ann")
    # An unknown field makes the message large without making it wrong.
    padding = b"\xfa\x07" + b"\xc0\x84\x3d" + b"x" * 1_000_000
    assert call(request.SerializeToString() + padding, timeout=5).overall_code == rls.RateLimitResponse.OK


def test_compressed_requests_are_refused(ask):
    with pytest.raises(grpc.RpcError) as error:
        ask("shop", {"user": "x" * 2000}, compression=grpc.Compression.Gzip)
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_large_metadata_is_refused(ask):
    with pytest.raises(grpc.RpcError) as error:
        ask("shop", {"user": "x"}, metadata=[(f"x-{i}", "y" * 1000) for i in range(40)])
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_many_calls_at_once_on_one_connection(ask, rls, channel):
    call = channel.unary_unary(SHOULD_RATE_LIMIT, rls.RateLimitRequest.SerializeToString, rls.RateLimitResponse.FromString)
    request = rls.RateLimitRequest(domain="free")
    request.descriptors.add().entries.add(key="user", value=someone())
    answers = [call.future(request, timeout=10) for _ in range(600)]
    remaining = sorted(a.result().statuses[0].limit_remaining for a in answers)
    assert len(remaining) == 600
    assert remaining[0] >= 400


def test_weirs_own_service_checks_batches_and_refunds(messages, channel):
    weir = messages("weir.v1.limiter_pb2")

    def method(name, request, response):
        return channel.unary_unary(f"/weir.v1.Limiter/{name}", request.SerializeToString, response.FromString)

    tenant = someone()
    attributes = [weir.Attribute(name="tenant", value=tenant), weir.Attribute(name="action", value="search")]
    check = method("Check", weir.CheckRequest, weir.CheckResponse)
    decision = check(weir.CheckRequest(attributes=attributes), timeout=5).decision
    assert (decision.allowed, decision.reason, decision.rule) == (True, weir.REASON_OK, "checks")
    assert (decision.limit, decision.remaining, decision.cost) == (5, 4, 1)
    denied = check(weir.CheckRequest(attributes=attributes, cost=5), timeout=5).decision
    assert (denied.allowed, denied.reason) == (False, weir.REASON_LIMIT_EXCEEDED)
    assert denied.retry_after_ms > 0
    batch = method("CheckBatch", weir.CheckBatchRequest, weir.CheckBatchResponse)
    one = weir.CheckRequest(attributes=attributes, peek=True)
    none = weir.CheckRequest(attributes=[weir.Attribute(name="action", value="other")])
    decisions = batch(weir.CheckBatchRequest(requests=[one, none]), timeout=5).decisions
    assert [d.reason for d in decisions] == [weir.REASON_OK, weir.REASON_NO_RULE]
    refund = method("Refund", weir.RefundRequest, weir.RefundResponse)
    assert refund(weir.RefundRequest(attributes=attributes), timeout=5).decision.remaining == 5
    with pytest.raises(grpc.RpcError) as error:
        check(weir.CheckRequest(attributes=attributes, cost=-1), timeout=5)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
