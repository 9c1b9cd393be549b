"""identity.apply: the identity section where callers send the attributes themselves, over each protocol."""

import json
import pathlib
import re
import socket

import grpc
import node_packages
import pytest
from rate_limit_fields import fields_of
from test_cli import start, weir  # noqa: F401 (start is a fixture)
from test_envoy_clients import modules, protos, request  # noqa: F401 (fixtures)
from test_identity import SECRET, rule, token

HERE = pathlib.Path(__file__).parent
ALL = "apply: [forward-auth, spop, http, grpc, resp]"
FOREVER = 4_000_000_000
BLOCKED = 6  # weir.v1.Reason


@pytest.fixture
def serve(start, tmp_path):  # noqa: F811
    """Starts a server with all listeners, these rules and these lines of the identity section."""

    def begin(rules, *identity, more=()):
        (tmp_path / "rules.yaml").write_text(rules if rules.startswith("domain:") else "version: 1\nrules:\n" + rules)
        lines = "".join(f"  {line}\n" for line in identity)
        (tmp_path / "weir.yaml").write_text(f"rules: rules.yaml\nloops: 1\nidentity:\n{lines}")
        ports = [word for name in ("grpc", "resp", "spop") for word in (f"--listen-{name}", "127.0.0.1:0")]
        return start("--config", str(tmp_path / "weir.yaml"), *ports, *more)

    return begin


@pytest.fixture
def credentials(tmp_path):
    """Lines of the identity section for tokens and a revoked key."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "revoked").write_text("sk_leaked\n")
    return (ALL, "jwt_secret_file: secret", "revoked_keys_file: revoked", "attributes: {tenant: jwt:org}")


class Resp:
    """A Redis client that sends words and shows the bytes of the answers."""

    def __init__(self, server):
        host, port = server.await_event("listening")["resp"].rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.lines = self.socket.makefile("rb")

    def ask(self, *words):
        parts = [word if isinstance(word, bytes) else word.encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        return self.read()

    def read(self):
        line = self.lines.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else self.lines.read(int(rest) + 2)[:-2].decode()
        return int(rest) if kind == b":" else line.decode()

    def check(self, *words):
        """1, 0, or an error's text."""
        answer = self.ask("WEIR.CHECK", *words)
        return answer if isinstance(answer, str) else dict(zip(answer[::2], answer[1::2]))["allowed"]


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


class Grpc:
    """weir.v1.Limiter through an unmodified gRPC client."""

    def __init__(self, server):
        self.channel = grpc.insecure_channel(server.await_event("listening")["grpc"])

    @staticmethod
    def request(attributes):
        return b"".join(field(1, field(1, name.encode()) + field(2, value.encode())) for name, value in attributes)

    def call(self, method, message):
        """The decisions as (allowed, reason), or the code and the details of the error."""
        try:
            answer = self.channel.unary_unary(f"/weir.v1.Limiter/{method}")(message, timeout=10)
        except grpc.RpcError as error:
            return error.code().name, error.details()
        return [self.decision(value) for number, value in fields_of(answer) if number == 1]

    @staticmethod
    def decision(message):
        allowed = message[:2] == b"\x08\x01"
        return allowed, message[3 if allowed else 1]

    def check(self, *attributes):
        return self.call("Check", self.request(attributes))

    def batch(self, *requests):
        return self.call("CheckBatch", b"".join(field(1, self.request(each)) for each in requests))


@pytest.fixture
def envoy(modules, protos):  # noqa: F811
    """Asks as Envoy does, with gRPC's own client and Envoy's own proto files."""

    def ask(server, *requests):
        address = server.await_event("listening")["grpc"]
        answers = json.loads(node_packages.run(modules, HERE / "envoy_client.js", address, str(protos), json.dumps(requests)))
        return [each.get("response", each) for each in answers]

    return ask


def check(server, attributes, path="/v1/check"):
    return server.call(path, {"attributes": attributes})[0]


def rotating(count):
    """Addresses of one /64, as one machine can use them."""
    return [f"2001:db8:1:2:{i:x}::{i:x}" for i in range(1, count + 1)]


def test_a_client_that_rotates_through_its_64_is_limited_behind_envoy(serve, envoy):
    server = serve(rule("per-address", "remote_address", 3) + rule("per-ip", "ip", 5), ALL)
    codes = [each["overall_code"] for each in envoy(server, *(request("edge", [("remote_address", a)]) for a in rotating(5)))]
    assert codes == ["OK", "OK", "OK", "OVER_LIMIT", "OVER_LIMIT"]
    mapped, plain, other = (request("edge", [("remote_address", a)]) for a in ("::ffff:192.0.2.1", "192.0.2.1", "2001:db8:1:3::1"))
    codes = [each["overall_code"] for each in envoy(server, mapped, plain, mapped, plain, other)]
    assert codes == ["OK", "OK", "OK", "OVER_LIMIT", "OK"]


def test_without_grpc_in_apply_addresses_are_counted_as_envoy_sends_them(serve, envoy):
    server = serve(rule("per-address", "remote_address", 1), "apply: [forward-auth, spop, http, resp]")
    assert [each["overall_code"] for each in envoy(server, *(request("edge", [("remote_address", a)]) for a in rotating(5)))] == ["OK"] * 5


def test_rule_files_of_envoyproxy_ratelimit_see_the_network(serve, envoy):
    rules = "domain: edge\ndescriptors: [{key: remote_address, rate_limit: {unit: year, requests_per_unit: 2}}]\n"
    server = serve(rules, ALL, "tiers: {ip_subnet: 24/48}", more=("--rules-format", "envoy"))
    codes = [each["overall_code"] for each in envoy(server, *(request("edge", [("remote_address", a)]) for a in rotating(3)))]
    assert codes == ["OK", "OK", "OVER_LIMIT"]
    # A limit that comes with the descriptor counts by the network too.
    own = [request("edge", [("remote_address", a)]) for a in rotating(3)]
    for each in own:
        each["descriptors"][0]["limit"] = {"requests_per_unit": 2, "unit": "HOUR"}
    assert [each["overall_code"] for each in envoy(server, *own)] == ["OK", "OK", "OVER_LIMIT"]


def test_a_client_that_rotates_through_its_64_is_limited_over_the_redis_protocol(serve):
    server = serve(rule("per-ip", "ip", 3), ALL)
    resp = Resp(server)
    assert [resp.check("ip", address) for address in rotating(5)] == [1, 1, 1, 0, 0]
    assert resp.check("client_ip", "2001:db8:1:2::99") == 0, "another name of the same"
    assert resp.check("PEEK", "ip", "2001:db8:1:3::1") == 1
    assert resp.ask("WEIR.REFUND", "ip", "2001:db8:1:2::77")[1] == 1
    assert [resp.check("ip", address) for address in rotating(2)] == [1, 0]


def test_a_client_that_rotates_through_its_64_is_limited_over_http_and_weir_v1(serve):
    server = serve(rule("per-ip", "ip", 3) + rule("per-subnet", "ip_subnet", 6), ALL)
    assert [check(server, {"ip": address}) for address in rotating(5)] == [200, 200, 200, 429, 429]
    assert check(server, {"ip": "2001:db8:1:2::77"}, "/v1/refund") == 200
    assert Grpc(server).check(("remote_address", "2001:db8:1:2::88")) == [(True, 1)]
    assert check(server, {"ip": "2001:db8:1:2::88"}) == 429
    assert [check(server, {"ip": f"2001:db8:1:{i}::1"}) for i in range(3, 7)] == [200, 200, 200, 429], "the /48 has had its six"
    assert check(server, {"ip": "2001:db8:1:2::99"}, "/v1/reset") == 200
    status, body = server.call("/v1/check/batch", {"requests": [{"attributes": {"ip": a}} for a in rotating(5)]})
    assert [each["allowed"] for each in json.loads(body)["decisions"]] == [True, True, True, False, False]


def test_a_revoked_key_is_refused_in_each_protocols_own_way(serve, envoy, credentials):
    server = serve(rule("per-key", "api_key", 1000), *credentials)
    status, body = server.call("/v1/check", {"attributes": {"api_key": "sk_leaked"}})
    denial = json.loads(body)
    assert (status, denial["status"], denial["allowed"], denial["code"]) == (403, 403, False, "blocked")
    assert server.call("/v1/check?deny_status=200", {"attributes": {"api_key": "sk_leaked"}})[0] == 200
    assert check(server, {"X-Api-Key": "sk_leaked"}) == 403
    assert check(server, {"api_key": "sk_leaked"}, "/v1/refund") == 403
    assert check(server, {"api_key": "sk_leaked"}, "/v1/reset") == 403
    assert Grpc(server).check(("api_key", "sk_leaked")) == [(False, BLOCKED)]
    assert Resp(server).check("api_key", "sk_leaked") == "-NOPERM the credentials were not accepted"
    both = request("edge", [("generic_key", "all")], [("api_key", "sk_leaked")])
    answer = envoy(server, both)[0]
    assert answer["overall_code"] == "OVER_LIMIT" and [each["code"] for each in answer["statuses"]] == ["OK", "OVER_LIMIT"]
    assert [(each["key"], each["value"]) for each in answer["response_headers_to_add"]] == [("Weir-Status", "403")]
    entries = [{"key": "api_key", "value": "sk_leaked"}]
    status, body = server.call("/json", {"domain": "edge", "descriptors": [{"entries": entries}]})
    assert status == 429 and json.loads(body)["overallCode"] == "OVER_LIMIT"
    assert 'weir_refused_callers_total{reason="revoked_key"} 9\n' in server.metrics()
    assert check(server, {"api_key": "sk_fine"}) == 200


def test_a_token_is_verified_and_its_claims_replace_what_was_sent(serve, envoy, credentials):
    server = serve(rule("per-tenant", "tenant", 4), *credentials)
    good, bad = token({"org": "acme", "exp": FOREVER}), token({"org": "acme", "exp": 1})
    bearer = "Bearer " + good
    assert check(server, {"authorization": bearer, "tenant": "spoofed"}) == 200
    assert Resp(server).check("authorization", bearer, "tenant", "spoofed2") == 1
    assert Grpc(server).check(("jwt", good)) == [(True, 1)]
    one = request("edge", [("authorization", bearer), ("tenant", "spoofed3")])
    assert [each["overall_code"] for each in envoy(server, one, one)] == ["OK", "OVER_LIMIT"], "all four were counted as acme"
    assert check(server, {"tenant": "acme"}) == 200, "without a token there is no tenant"
    assert check(server, {"authorization": "Bearer " + bad}) == 403
    assert Resp(server).check("token", bad) == "-NOPERM the credentials were not accepted"
    assert Grpc(server).check(("token", bad)) == [(False, BLOCKED)]
    assert envoy(server, request("edge", [("token", bad)]))[0]["overall_code"] == "OVER_LIMIT"


def test_a_required_token_may_be_in_any_descriptor_of_a_call(serve, envoy, credentials):
    server = serve(rule("per-tenant", "tenant", 100), *credentials, "jwt_required: true")
    good = token({"org": "acme", "exp": FOREVER})
    with_it = request("edge", [("generic_key", "all")], [("authorization", "Bearer " + good)])
    without = request("edge", [("generic_key", "all")], [("remote_address", "192.0.2.1")])
    assert [each["overall_code"] for each in envoy(server, with_it, without)] == ["OK", "OVER_LIMIT"]
    assert (check(server, {"jwt": good}), check(server, {"tenant": "acme"})) == (200, 403)


def test_one_bad_entry_of_a_batch(serve, credentials):
    server = serve(rule("per-key", "api_key", 2), *credentials)

    def batch(*attributes):
        status, body = server.call("/v1/check/batch", {"requests": [{"attributes": each} for each in attributes]})
        return status, json.loads(body)

    leaked, good = {"api_key": "sk_leaked"}, {"api_key": "sk_fine"}
    status, body = batch(leaked, good, leaked, leaked, good, good, leaked)
    assert status == 200
    reasons = [each["reason"] for each in body["decisions"]]
    assert reasons == ["blocked", "ok", "blocked", "blocked", "ok", "limit_exceeded", "blocked"]
    assert [each["reason"] for each in batch(leaked)[1]["decisions"]] == ["blocked"]
    status, body = batch(good, {"ip": "nowhere"}, good)
    assert status == 400 and body["detail"] == "requests[1].attributes.ip: is not an IP address"
    api = Grpc(server)
    one, bad = [("api_key", "sk_two")], [("api_key", "sk_leaked")]
    assert api.batch(bad, one, bad) == [(False, BLOCKED), (True, 1), (False, BLOCKED)]
    assert api.batch(one, [("ip", "")]) == ("INVALID_ARGUMENT", "requests[1].attributes.ip: is not an IP address")


def test_what_cannot_be_used_is_a_clear_error_or_over_limit(serve, envoy):
    server = serve(rule("per-ip", "ip", 1000), ALL)

    def detail(attributes):
        status, body = server.call("/v1/check", {"attributes": attributes})
        return status, json.loads(body)["detail"]

    assert detail({"client_ip": "localhost"}) == (400, "attributes.client_ip: is not an IP address")
    different = "is sent with different values, perhaps under another name too"
    for values in (["a", "b"], ["a", "a"]):
        assert detail({"api_key": values}) == (400, "attributes.api_key: is sent more than once, expected one value")
    assert detail({"ip": "192.0.2.1", "Remote-Address": "192.0.2.2"}) == (400, f"attributes.Remote-Address: {different}")
    assert detail({"x@previous": "1"}) == (400, "attributes.x@previous: is a reserved name")
    many = {f"a{i}": "x" for i in range(63)}
    assert detail({**many, "ip": "192.0.2.1"}) == (400, "there are more than 64 attributes, with those that identity adds")
    assert Grpc(server).check(("ip", "x")) == ("INVALID_ARGUMENT", "attributes.ip: is not an IP address")
    resp = Resp(server)
    assert resp.check("ip", b"\xff\xfe") == "-ERR ip: is not an IP address"
    assert resp.check("api_key", b"\xff\x00") == "-ERR api_key: has a control character"
    assert resp.ask("MULTI") == "+OK" and resp.check("ip", "x") == "+QUEUED"
    assert resp.ask("EXEC") == ["-ERR ip: is not an IP address"]
    # An error would let the request pass Envoy.
    answer = envoy(server, request("edge", [("remote_address", "unix:/socket")]), request("edge", [("x-api-key", "k" * 5000)]))
    assert [each["overall_code"] for each in answer] == ["OVER_LIMIT", "OK"]
    assert answer[0]["response_headers_to_add"][0]["value"] == "400"
    assert server.await_event("descriptor_refused")["key"] == "remote_address"


def test_neither_keys_nor_tokens_show_anywhere(serve, credentials):
    rules = rule("per-key", "api_key", 1) + rule("per-auth", "authorization", 1) + rule("per-session", "session", 1)
    server = serve(rules, *credentials, "hashed: [session]", more=("--log-level", "debug", "--log-denials", "1", "--log-decisions", "1"))
    bearer = "Bearer " + token({"org": "acme", "exp": FOREVER})
    told = ""
    for _ in range(2):
        told += server.call("/v1/check", {"attributes": {"x-api-key": "sk_s3cret", "authorization": bearer, "session": "s3cret2"}})[1]
    assert "limit_exceeded" in told
    told += server.call("/v1/check", {"attributes": {"api_key": ["sk_s3cret", "sk_s3cret3"]}})[1] + server.metrics()
    told += json.dumps(server.events())
    assert "s3cret" not in told and bearer not in told


@pytest.mark.parametrize("line, expected", [
    ("apply: [forward-auth, htpp]", "identity.apply: has the entry 'htpp' (did you mean http?), expected forward-auth, spop, http, grpc or resp"),
    ("names: {apikey: x}", "identity.names.apikey: is not known here (did you mean api_key?), expected ip, api_key or token"),
    ("names: {ip: remote_address|}", "identity.names.ip: has a name that is empty or too long"),
    ("names: {ip: a b}", 'identity.names.ip: has the name "a b", expected names such as api_key|x-api-key'),
    ("names: {token: x-api-key}", 'identity.names.token: has the name "x-api-key", which is there twice, or also among the others'),
    ("names: {token: [a, b]}", "identity.names.token: is not a text, expected one value"),
])
def test_misspelt_settings_are_errors_with_their_place(tmp_path, line, expected):
    (tmp_path / "weir.yaml").write_text(f"identity:\n  {line}\n")
    done = weir("serve", "--config", str(tmp_path / "weir.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0")
    assert done.returncode != 0 and f"weir.yaml:2:" in done.stderr and expected in done.stderr, done.stderr


def test_the_example_of_the_documentation(serve, envoy):
    page = (HERE.parents[1] / "docs" / "identity.md").read_text()
    section = re.search(r"^```yaml identity-apply\nidentity:\n(.*?)^```", page, re.M | re.S).group(1)
    rules = next(text for text in re.findall(r"^```yaml rules\nversion: 1\nrules:\n(.*?)^```", page, re.M | re.S) if "per-network" in text)
    server = serve(rules, *(line.strip() for line in section.splitlines()))
    calls = [request("edge", [("remote_address", address)], hits_addend=50) for address in rotating(3)]
    assert [each["overall_code"] for each in envoy(server, *calls)] == ["OK", "OK", "OVER_LIMIT"]
    assert [check(server, {"domain": "edge", "ip": "192.0.2.1", "api_key": "docs"}) for _ in range(2)] == [200, 200]


def test_names_can_be_chosen(serve):
    server = serve(rule("per-ip", "ip", 1) + rule("per-key", "api_key", 1), ALL, "names: {ip: caller, api_key: off}")
    assert [check(server, {"caller": address}) for address in rotating(2)] == [200, 429]
    assert [check(server, {"ip": address}) for address in rotating(3)] == [200] * 3, "ip is made of `caller` only"
    assert [check(server, {"api_key": key}) for key in ("k", "k", " k")] == [200, 429, 200], "passed on as it is"
    assert [check(server, {"remote_address": "anything"}) for _ in range(2)] == [200] * 2


def test_names_without_a_front_end_that_uses_them_are_warned_about(serve):
    unused = serve(rule("per-ip", "ip", 1), "names: {ip: caller}")
    assert "identity.names has no effect" in unused.await_event("identity_names_unused")["msg"]
    used = serve(rule("per-ip", "ip", 1), "names: {ip: caller}", "apply: [resp]")
    assert not [event for event in used.events() if event["event"] == "identity_names_unused"]


def test_a_token_in_another_header_has_that_name_here_too(serve, credentials):
    server = serve(rule("per-tenant", "tenant", 1), *credentials, "jwt_header: x-token")
    good = token({"org": "acme", "exp": FOREVER})
    assert [check(server, {"x_token": good}) for _ in range(2)] == [200, 429]
    assert check(server, {"authorization": "Bearer opaque"}) == 200, "not a token here"


def test_gateways_are_refused_where_identity_does_not_apply(serve):
    server = serve(rule("per-ip", "ip", 1000), "apply: [http]")
    assert server.call("/v1/forward-auth")[0] == 404
    noted = [event["front_end"] for event in server.events() if event["event"] == "identity_not_applied"]
    assert noted == ["forward-auth", "spop"]


def test_by_default_callers_of_the_api_are_taken_at_their_word(serve, envoy):
    server = serve(rule("per-ip", "ip", 1) + rule("per-key", "api_key", 1, ", match: {api_key: plain}"), "ipv6_prefix: 64")
    assert [check(server, {"ip": address}) for address in rotating(4)] == [200] * 4
    assert [check(server, {"api_key": "plain"}) for _ in range(2)] == [200, 429], "not hashed: a rule can name it"
    assert [Resp(server).check("ip", address) for address in rotating(2)] == [0, 0], "the same address as over HTTP"
    assert check(server, {"ip": "not an address"}) == 200
