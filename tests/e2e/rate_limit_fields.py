"""How each front end sends the RateLimit fields: {"RateLimit": …, "RateLimit-Policy": …, "Retry-After": …} of one look
(nothing is charged) at a tenant's buckets."""

import json
import socket
import urllib.error
import urllib.request

import grpc

NAMES = ("RateLimit", "RateLimit-Policy", "Retry-After")
OLDER_NAMES = tuple(f"{prefix}RateLimit-{number}" for prefix in ("X-", "") for number in ("Limit", "Remaining", "Reset"))


def from_http(server, tenant):
    body = json.dumps({"attributes": {"tenant": tenant}, "peek": True}).encode()
    try:
        with urllib.request.urlopen(f"http://{server.http}/v1/check", data=body, timeout=10) as answer:
            headers = answer.headers
    except urllib.error.HTTPError as error:
        headers = error.headers
    return {name: headers[name] for name in NAMES + OLDER_NAMES if name in headers}


def from_json(server, tenant):
    entries = [{"key": "tenant", "value": tenant}]
    body = server.call("/json", {"domain": "d", "descriptors": [{"entries": entries, "hitsAddend": "0"}]})[1]
    return {each["key"]: each["value"] for each in json.loads(body).get("responseHeadersToAdd", [])}


def framed(number, value):
    """A length-delimited protobuf field."""
    return bytes([number << 3 | 2, len(value)]) + value


def fields_of(message):
    """The length-delimited fields of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            yield tag >> 3, message[at:at + value]
            at += value


def from_grpc(server, tenant):
    entry = framed(1, b"tenant") + framed(2, tenant.encode())
    request = framed(1, b"d") + framed(2, framed(1, entry) + framed(3, b""))  # hits_addend: 0
    with grpc.insecure_channel(server.await_event("listening")["grpc"]) as channel:
        answer = channel.unary_unary("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")(request, timeout=10)
    headers = [dict(fields_of(value)) for number, value in fields_of(answer) if number == 3]
    return {each[1].decode(): each[2].decode() for each in headers}


class Spop:
    """Just enough of HAProxy's side of SPOP 2.0: HELLO, one NOTIFY, the variables of its ACK."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        hello = (self.pair("supported-versions", "2.0") + self.text("max-frame-size") + b"\x03\xf0\xf0\x06" +
                 self.pair("capabilities", "pipelining"))
        self.send(1, 0, 0, hello)
        assert self.receive()[0] == 101

    @staticmethod
    def text(value):
        return bytes([len(value)]) + value.encode()

    def pair(self, name, value):
        return self.text(name) + b"\x08" + self.text(value)

    def send(self, kind, stream, frame, payload):
        frame = bytes([kind]) + (1).to_bytes(4, "big") + bytes([stream, frame]) + payload
        self.socket.sendall(len(frame).to_bytes(4, "big") + frame)

    def receive(self):
        def exactly(count):
            data = b""
            while len(data) < count:
                more = self.socket.recv(count - len(data))
                assert more, "the agent closed"
                data += more
            return data

        return exactly(int.from_bytes(exactly(4), "big"))

    def ask(self, attributes):
        arguments = b"".join(self.pair(name, value) for name, value in attributes.items()) + self.text("peek") + b"\x11"
        self.send(3, 1, 1, self.text("check") + bytes([len(attributes) + 1]) + arguments)
        return texts_in(self.receive())


def texts_in(ack):
    """The set-var actions of an ACK whose value is a text."""
    assert ack[0] == 103
    found, at = {}, 7

    def varint(at):
        value, at = ack[at], at + 1
        if value < 240:
            return value, at
        shift = 4
        while True:
            byte, at = ack[at], at + 1
            value += byte << shift
            shift += 7
            if byte < 128:
                return value, at

    while at < len(ack):
        at += 3  # action, number of arguments, scope
        size, at = varint(at)
        name, at = ack[at:at + size].decode(), at + size
        kind, at = ack[at] & 15, at + 1
        if kind == 8:
            size, at = varint(at)
            found[name], at = ack[at:at + size].decode(), at + size
        elif kind in (2, 3, 4, 5):
            found[name], at = varint(at)
    return found


def spop_variables(server, tenant):
    spop = Spop(server.await_event("listening")["spop"])
    told = spop.ask({"tenant": tenant})
    spop.socket.close()
    return told


def from_spop(server, tenant):
    told = spop_variables(server, tenant)
    fields = {"RateLimit": told["ratelimit"], "RateLimit-Policy": told["ratelimit_policy"]}
    if told.get("retry_after"):
        fields["Retry-After"] = str(told["retry_after"])
    return fields


FRONT_ENDS = {"http": from_http, "json": from_json, "grpc": from_grpc, "spop": from_spop}
