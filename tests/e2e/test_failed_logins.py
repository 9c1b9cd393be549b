"""Logins that fail leave a trace, and further attempts from the same address wait; others do not."""

import hashlib
import json
import re
import socket
import ssl
import subprocess

import pytest
from certificates import Authority
from test_cli import QUIET, WEIR, Server, rules_text

WRONG = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
TOO_MANY = b"-ERR too many failed logins from this address; try again later\r\n"


@pytest.fixture
def serve(tmp_path):
    running = []

    def begin(*flags):
        (tmp_path / "rules.yaml").write_text(rules_text(100))
        ports = ["--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0"]
        running.append(Server("--rules", str(tmp_path / "rules.yaml"), *ports, *flags, log=tmp_path / "log"))
        return running[-1]

    yield begin
    for server in running:
        assert server.stop() == 0


def talk(address, words, source="127.0.0.1"):
    """What a connection from `source` is answered until it ends."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=20, source_address=(source, 0)) as raw:
        raw.sendall(words)
        raw.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := raw.recv(4096):
            answer += chunk
    return answer


def failed_logins(text):
    return {(listener, kind): int(count) for listener, kind, count
            in re.findall(r'^weir_failed_logins_total\{listener="(\w+)",kind="(\w+)"\} (\d+)$', text, re.M)}


def test_guessed_passwords(serve, tmp_path):
    (tmp_path / "password").write_text("right-horse\n")
    server = serve("--listen-resp", "127.0.0.1:0", "--resp-password-file", str(tmp_path / "password"))
    resp = server.await_event("listening")["resp"]
    for _ in range(3):
        assert talk(resp, b"AUTH guess-7f3a\r\n" * 4) == WRONG * 4
    assert failed_logins(server.call("/metrics", listener=server.admin)[1]) == {("resp", "password"): 12}
    # Sixteen at once: those that have to wait too long are not looked at, whatever they show.
    host, port = resp.rsplit(":", 1)
    guessers = [socket.create_connection((host, int(port)), timeout=20) for _ in range(16)]
    for guesser in guessers:
        guesser.sendall(b"AUTH guess-7f3a\r\n")
    # Another address is not delayed by any of this.
    assert talk(resp, b"AUTH right-horse\r\nPING\r\n", source="127.0.0.2") == b"+OK\r\n+PONG\r\n"
    answers = [guesser.recv(4096) for guesser in guessers]
    for guesser in guessers:
        guesser.close()
    assert set(answers) == {WRONG, TOO_MANY} and answers.count(TOO_MANY) > 4, answers
    counts = failed_logins(server.call("/metrics", listener=server.admin)[1])
    assert counts == {("resp", "password"): 12 + answers.count(WRONG), ("resp", "throttled"): answers.count(TOO_MANY)}
    # The log says from where, and not what.
    log = (tmp_path / "log").read_text()
    assert '"event":"login_failed"' in log and '"listener":"resp","kind":"password","address":"127.0.0.1"' in log
    assert '"failures":12,"delay_ms":2000' in log
    assert "guess-7f3a" not in log and "right-horse" not in log


def test_wrong_tokens(serve, tmp_path):
    server = serve("--admin-tokens", "right-token-of-some-length")

    def ask(token):
        return server.call("/metrics", listener=server.admin, headers={"Authorization": f"Bearer {token}"} if token else {})

    assert ask(None)[0] == 401
    for _ in range(5):
        assert ask("guess-7f3a")[0] == 401
    status, text = ask("right-token-of-some-length")
    assert status == 200
    assert failed_logins(text) == {("admin", "no_token"): 1, ("admin", "token"): 5}
    log = (tmp_path / "log").read_text()
    assert '"listener":"admin","kind":"token","address":"127.0.0.1","failures":5,"delay_ms":200' in log
    assert "guess-7f3a" not in log and "right-token" not in log


def test_refused_client_certificates(serve, tmp_path):
    authority = Authority(tmp_path, "authority")
    certificate, key = authority.sign("server")
    server = serve("--tls-cert", str(certificate), "--tls-key", str(key), "--tls-client-ca", str(authority.certificate),
                   "--tls-client-listeners", "http", "--tls-listeners", "http")
    context = ssl.create_default_context(cafile=str(authority.certificate))
    host, port = server.await_event("listening")["http"].rsplit(":", 1)
    for _ in range(2):
        with pytest.raises(ssl.SSLError), socket.create_connection((host, int(port)), timeout=20) as raw:
            with context.wrap_socket(raw, server_hostname=host) as shown:
                shown.sendall(b"GET /healthz HTTP/1.1\r\nHost: w\r\n\r\n")
                shown.recv(100)
    assert failed_logins(server.call("/metrics", listener=server.admin)[1]) == {("http", "client_certificate"): 2}
    assert '"kind":"client_certificate","address":"127.0.0.1","cause":"no certificate was shown"' in (tmp_path / "log").read_text()


def test_tokens_of_the_api(serve, tmp_path):
    tokens = ["right-token-of-the-gateway", "right-token-for-checks"]
    hashes = [hashlib.sha256(token.encode()).hexdigest() for token in tokens]
    made = subprocess.run([WEIR, "token", "hash"], input=tokens[0] + "\n", capture_output=True, text=True, timeout=20)
    assert made.stdout.strip() == hashes[0]
    (tmp_path / "tokens").write_text(f"{hashes[0]} gateway\n{hashes[1]} checks check\n")
    server = serve("--http-tokens-file", str(tmp_path / "tokens"))
    body = {"attributes": {"tenant": 17, "beta": True}}

    def ask(path, token=None):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        status, text = server.call(path, body, headers=headers)
        return status, json.loads(text).get("detail")

    assert ask("/v1/check") == (401, "a token is needed: send Authorization: Bearer TOKEN")
    assert ask("/v1/check", "guess-7f3a") == (401, "the token is not accepted")
    assert ask("/v1/check", tokens[1])[0] == 200
    assert ask("/v1/refund", tokens[1])[0] == 403
    assert ask("/v1/refund", tokens[0])[0] == 200
    assert failed_logins(server.call("/metrics", listener=server.admin)[1]) == {("http", "no_token"): 1, ("http", "token"): 1}
    assert "guess-7f3a" not in (tmp_path / "log").read_text()
    # A token that is taken out of the file is refused without a restart.
    (tmp_path / "new").write_text(f"{hashes[1]}\n")
    (tmp_path / "new").rename(tmp_path / "tokens")
    server.await_event("tokens_loaded", count=2)
    assert ask("/v1/refund", tokens[1])[0] == 200
    assert ask("/v1/refund", tokens[0]) == (401, "the token is not accepted")


def test_a_variable_that_sets_nothing_is_named(tmp_path):
    (tmp_path / "rules.yaml").write_text(rules_text(100))
    server = Server("--rules", str(tmp_path / "rules.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0",
                    log=tmp_path / "log", env={**QUIET, "WEIR_LISTEN_HTPP": "127.0.0.1:1"})
    assert server.stop() == 0
    unknown = [event for event in server.events() if event["event"] == "unknown_variable"]
    assert [(event["variable"], "did you mean WEIR_LISTEN_HTTP?" in event["msg"]) for event in unknown] == [("WEIR_LISTEN_HTPP", True)]
