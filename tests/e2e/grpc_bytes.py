"""gRPC messages as bytes, for clients that support HTTP/2 but not gRPC."""

RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
HEADERS = {"content-type": "application/grpc", "te": "trailers"}
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
OK, OVER_LIMIT = b"\x08\x01", b"\x08\x02"  # how a RateLimitResponse begins


def field(number, value):
    """A length-delimited protobuf field of at most 127 bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def rate_limit_request(user):
    return field(1, b"shop") + field(2, field(1, field(1, b"user") + field(2, user.encode())))


def file_request(name="weir/v1/limiter.proto"):
    """For reflection; the answer is some 1,800 bytes."""
    return field(3, name.encode())


def framed(message):
    """As it is in a body: uncompressed, with its length."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def messages(body):
    """The whole messages of a body."""
    found = []
    while len(body) >= 5 and len(body) >= 5 + int.from_bytes(body[1:5], "big"):
        size = int.from_bytes(body[1:5], "big")
        found.append(body[5:5 + size])
        body = body[5 + size:]
    return found
