"""grpc.health.v1 and server reflection, as generic tools use them."""
import grpc
import pytest

from google.protobuf import descriptor_pb2, duration_pb2, wrappers_pb2


@pytest.fixture
def health(messages):
    return messages("grpc_health_v1_health_pb2")


def check(channel, health, service):
    call = channel.unary_unary("/grpc.health.v1.Health/Check", health.HealthCheckRequest.SerializeToString,
                               health.HealthCheckResponse.FromString)
    return call(health.HealthCheckRequest(service=service), timeout=5).status


def watch(channel, health, service):
    call = channel.unary_stream("/grpc.health.v1.Health/Watch", health.HealthCheckRequest.SerializeToString,
                                health.HealthCheckResponse.FromString)
    return call(health.HealthCheckRequest(service=service), timeout=20)


def test_every_known_service_is_serving(channel, health):
    for service in ("", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService", "weir.v1.Limiter"):
        assert check(channel, health, service) == health.HealthCheckResponse.SERVING


def test_unknown_services_are_not_found_by_check_and_unknown_to_watch(channel, health):
    with pytest.raises(grpc.RpcError) as error:
        check(channel, health, "nobody")
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
    stream = watch(channel, health, "nobody")
    assert next(stream).status == health.HealthCheckResponse.SERVICE_UNKNOWN
    stream.cancel()


def test_watch_tells_that_the_server_leaves(own_server, health):
    with grpc.insecure_channel(own_server.address) as channel:
        stream = watch(channel, health, "ratelimit")
        assert next(stream).status == health.HealthCheckResponse.SERVING
        own_server.begin_drain()
        assert next(stream).status == health.HealthCheckResponse.NOT_SERVING
        with pytest.raises(grpc.RpcError) as error:
            next(stream)
        assert error.value.code() == grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_lists_services_and_hands_out_their_files(channel, messages, version):
    pb = messages(f"grpc_reflection_{version}_reflection_pb2")
    call = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                                 pb.ServerReflectionRequest.SerializeToString, pb.ServerReflectionResponse.FromString)
    requests = [
        pb.ServerReflectionRequest(host="h", list_services=""),
        pb.ServerReflectionRequest(file_containing_symbol="envoy.service.ratelimit.v3.RateLimitService"),
        pb.ServerReflectionRequest(file_containing_symbol="weir.v1.Limiter.Check"),
        pb.ServerReflectionRequest(file_by_filename="google/protobuf/duration.proto"),
        pb.ServerReflectionRequest(file_containing_symbol="no.Such"),
    ]
    answers = list(call(iter(requests), timeout=5))
    assert [a.original_request for a in answers] == requests
    names = {s.name for s in answers[0].list_services_response.service}
    assert names == {"envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health", "weir.v1.Limiter",
                     "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}
    files = [descriptor_pb2.FileDescriptorProto.FromString(a.file_descriptor_response.file_descriptor_proto[0])
             for a in answers[1:4]]
    assert [f.name for f in files] == ["envoy/service/ratelimit/v3/rls.proto", "weir/v1/limiter.proto",
                                       "google/protobuf/duration.proto"]
    assert answers[4].error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


@pytest.mark.parametrize("own", [duration_pb2, wrappers_pb2])
def test_reflection_hands_out_protobufs_own_types_as_protobuf_has_them(channel, messages, own):
    pb = messages("grpc_reflection_v1_reflection_pb2")
    call = channel.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                                 pb.ServerReflectionRequest.SerializeToString, pb.ServerReflectionResponse.FromString)
    answer = next(call(iter([pb.ServerReflectionRequest(file_by_filename=own.DESCRIPTOR.name)]), timeout=5))
    served = descriptor_pb2.FileDescriptorProto.FromString(answer.file_descriptor_response.file_descriptor_proto[0])
    for field in (field for message in served.message_type for field in message.field):
        field.ClearField("json_name")  # protoc adds it; it follows from the name
    expected = descriptor_pb2.FileDescriptorProto()
    own.DESCRIPTOR.CopyToProto(expected)
    assert served == expected
