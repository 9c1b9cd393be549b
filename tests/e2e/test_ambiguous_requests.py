"""Cookies, headers and tokens that two servers could read differently are refused, over forward auth and over SPOP."""

import json
import time

import pytest
from test_haproxy_identity import serve as serve_behind_haproxy  # noqa: F401 (a fixture)
from test_identity import PATH, SECRET, ask, raw, rule, start, token  # noqa: F401 (start is a fixture)
from test_identity import serve as serve_forward_auth  # noqa: F401 (a fixture)

RULES = (rule("per-session", "session", 2) + rule("per-tenant", "tenant", 2) + rule("per-client", "client", 2)
         + rule("per-key", "api_key", 2))
IDENTITY = ("  jwt_secret_file: secret\n"
            "  attributes: {session: cookie:sid, tenant: jwt:tenant_id, client: header:x-client, api_key: header:x-api-key}\n")


def claims():
    return {"tenant_id": "acme", "exp": int(time.time()) + 3600}


@pytest.fixture(params=["forward-auth", "spop"])
def status(request, tmp_path):
    """The status of a request with these header lines: through Weir alone, or with HAProxy before it."""
    (tmp_path / "secret").write_text(SECRET)
    if request.param == "forward-auth":
        server = request.getfixturevalue("serve_forward_auth")(RULES, IDENTITY)

        def forward_auth(*lines):
            head = "".join(f"{name}: {value}\r\n" for name, value in lines)
            return raw(server, f"GET {PATH} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{head}\r\n".encode("latin-1"))

        return forward_auth
    haproxy, _ = request.getfixturevalue("serve_behind_haproxy")(RULES, IDENTITY)
    return lambda *lines: haproxy.ask(headers=[(name, value.encode("latin-1")) for name, value in lines])[0]


@pytest.mark.parametrize("lines", [
    [("Cookie", "sid=random; sid=real")],
    [("Cookie", "sid=random"), ("Cookie", "sid=real")],
    [("Cookie", "sid=; sid=real")],
    [("Cookie", "SID=real")],
    [("Cookie", "x=1, sid=real")],
    [("Cookie", 'sid="real')],
    [("Cookie", "sid=re al")],
    [("X-Client", "one"), ("X-Client", "two")],
    [("X-Client", "one"), ("X_Client", "two")],
    [("X_Client", "two")],
    [("Authorization", "Bearer\tTOKEN")],
    [("Authorization", "Bearer\tFORGED")],
    [("Authorization", "Bearer\xa0FORGED")],
    [("Authorization", "Bearer:FORGED")],
    [("Authorization", "BearerFORGED")],
    [("Authorization", 'Bearer "FORGED"')],
    [("Authorization", "Basic YTpi, Bearer FORGED")],
    [("Authorization", "Basic YTpi"), ("Authorization", "Bearer TOKEN")],
    [("Authorization", ""), ("Authorization", "Bearer TOKEN")],
    [("Authorization", "Bearer TOKEN"), ("Authorization", "Bearer TOKEN")],
], ids=lambda lines: " | ".join(f"{name}: {value}" for name, value in lines).encode("unicode_escape").decode())
def test_what_can_be_read_in_two_ways_is_refused(status, lines):
    texts = {"TOKEN": token(claims()), "FORGED": token(claims(), secret="x" * 32)}

    def filled(value):
        for word, text in texts.items():
            value = value.replace(word, text)
        return value

    assert status(*[(name, filled(value)) for name, value in lines]) == 400


def test_every_spelling_of_one_caller_counts_as_one(status):
    one_session = ["sid=real", 'sid="real"', "a=1; sid = real ;b=2", "sid=%72eal"]
    assert [status(("Cookie", line)) for line in one_session] == [200, 200, 429, 429]
    good = token(claims())
    one_tenant = [f"Bearer {good}", f"bearer   {good}", f"DPoP {good}", good]
    assert [status(("Authorization", line)) for line in one_tenant] == [200, 200, 429, 429]
    assert [status((name, "me")) for name in ("X-Client", "x-client", "X-CLIENT")] == [200, 200, 429]


def test_forged_tokens_of_any_form_are_refused(status):
    forged = token(claims(), secret="x" * 32)
    for line in (f"Bearer {forged}", f"bearer {forged}", f"JWT {forged}", forged, "Bearer x"):
        assert status(("Authorization", line)) == 401, line
    for line in ("", "Bearer", "Basic YTpi", "Digest username=\"a\", realm=\"b\""):
        assert status(("Authorization", line)) == 200, line


def test_the_answer_says_what_is_wrong(serve_forward_auth, tmp_path):  # noqa: F811
    (tmp_path / "secret").write_text(SECRET)
    server = serve_forward_auth(RULES, IDENTITY)
    for headers, words in (({"Cookie": "sid=a; sid=b"}, "more than once"), ({"Cookie": "SID=a"}, "in two ways"),
                           ({"Authorization": "Bearer\tx"}, "one scheme, one space and one token")):
        code, fields, body = ask(server, headers)
        assert code == 400 and fields["Content-Type"] == "application/problem+json"
        assert words in json.loads(body)["detail"]
