"""The command line against servers with TLS, client certificates and tokens: WEIR_BIN names the program."""

import http.server
import json
import threading

import pytest
from certificates import Authority
from test_cli import QUIET, Server, rules_text, weir

ATTRIBUTE = "tenant=acme"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"), "authority")


@pytest.fixture(scope="module")
def server_files(authority):
    return authority.sign("server")


@pytest.fixture
def start(tmp_path):
    running = []
    (tmp_path / "rules.yaml").write_text(rules_text(1000))

    def begin(certificate, key, *flags):
        ports = ["--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0", "--rules", str(tmp_path / "rules.yaml")]
        tls = ["--tls-cert", str(certificate), "--tls-key", str(key), "--tls-listeners", "http"]
        running.append(Server(*ports, *tls, *flags, log=tmp_path / f"log-{len(running)}"))
        return f"https://{running[-1].http}"

    yield begin
    for server in running:
        server.stop()


def test_check_verifies_the_certificate_against_the_given_authority(start, authority, server_files):
    url = start(*server_files)
    done = weir("check", ATTRIBUTE, "--server", url, "--ca", str(authority.certificate))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("allowed by per-tenant")
    by_name = url.replace("127.0.0.1", "localhost")
    env = {**QUIET, "WEIR_SERVER": by_name, "WEIR_CA": str(authority.certificate)}
    assert weir("check", ATTRIBUTE, env=env).returncode == 0, "the host name is verified as well as the address"
    refund = weir("refund", ATTRIBUTE, "--cost", "2", env=env)
    assert refund.returncode == 0 and refund.stdout.startswith("refunded 2\n"), refund.stderr


def test_bench_speaks_tls(start, authority, server_files):
    url = start(*server_files)
    done = weir("bench", ATTRIBUTE, "--server", url, "--ca", str(authority.certificate), "--connections", "2",
                "--duration", "300ms", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["failed"] == 0 and result["allowed"] > 0


def failure(*words, env=None):
    """The code and the message of a call that must fail because of TLS."""
    done = weir("check", ATTRIBUTE, *words, "--json", env=env)
    assert done.returncode == 3, done
    assert done.stderr == ""
    error = json.loads(done.stdout)["error"]
    return error["code"], error["message"]


def test_an_unknown_authority_is_refused(start, server_files, tmp_path):
    url = start(*server_files)
    stranger = Authority(tmp_path, "stranger")
    expected = ("failed_precondition",
                f"the certificate of {url} is not signed by a trusted authority; --ca FILE names one to trust")
    assert failure("--server", url) == expected
    assert failure("--server", url, "--ca", str(stranger.certificate)) == expected


def test_an_expired_certificate_is_refused(start, authority):
    url = start(*authority.sign("expired", days=-1))
    assert failure("--server", url, "--ca", str(authority.certificate)) == (
        "failed_precondition", f"the certificate of {url} has expired")


def test_a_certificate_for_another_host_is_refused(start, authority, server_files):
    url = start(*server_files).replace("127.0.0.1", "127.1")  # another spelling is another name
    assert failure("--server", url, "--ca", str(authority.certificate)) == (
        "failed_precondition", f"the certificate of {url} is for another host: 127.0.0.1, localhost")


def test_a_client_certificate_is_shown_when_the_server_requires_one(start, authority, server_files, tmp_path):
    url = start(*server_files, "--tls-client-ca", str(authority.certificate), "--tls-client-listeners", "http")
    trust = ["--server", url, "--ca", str(authority.certificate)]
    certificate, key = authority.sign("client")
    assert weir("check", ATTRIBUTE, *trust, "--cert", str(certificate), "--key", str(key)).returncode == 0
    both = tmp_path / "both.pem"
    both.write_text(certificate.read_text() + key.read_text())
    assert weir("check", ATTRIBUTE, *trust, "--cert", str(both)).returncode == 0, "one file may hold both"
    env = {**QUIET, "WEIR_CERT": str(certificate), "WEIR_KEY": str(key)}
    assert weir("check", ATTRIBUTE, *trust, env=env).returncode == 0

    code, message = failure(*trust)
    assert code == "permission_denied"
    assert message == f"{url} requires a client certificate; --cert FILE --key FILE name one"
    other, other_key = Authority(tmp_path, "stranger").sign("impostor")
    code, message = failure(*trust, "--cert", str(other), "--key", str(other_key))
    assert code == "permission_denied" and message.startswith(f"{url} refused our certificate: "), message


def test_a_key_that_is_not_the_certificates_is_named(authority, server_files):
    certificate, _ = authority.sign("one")
    _, key = authority.sign("two")
    done = weir("check", ATTRIBUTE, "--server", "https://127.0.0.1:1", "--cert", str(certificate), "--key", str(key))
    assert done.returncode == 2 and f"--key {key}: " in done.stderr
    done = weir("check", ATTRIBUTE, "--server", "https://127.0.0.1:1", "--key", str(key))
    assert done.returncode == 2 and "needs the certificate, --cert FILE" in done.stderr
    done = weir("check", ATTRIBUTE, "--server", "https://127.0.0.1:1", "--ca", str(key) + ".none")
    assert done.returncode == 2 and f"--ca {key}.none: " in done.stderr


def test_tls_and_plain_http_are_told_apart(start, authority, server_files, tmp_path):
    url = start(*server_files)
    plain = weir("check", ATTRIBUTE, "--server", url.replace("https", "http"))
    assert plain.returncode == 3 and "cannot reach http://" in plain.stderr
    (tmp_path / "plain.yaml").write_text(rules_text(10))
    server = Server("--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0", "--rules", str(tmp_path / "plain.yaml"),
                    log=tmp_path / "plain-log")
    try:
        code, message = failure("--server", f"https://{server.http}", "--timeout", "5")
        assert code == "unavailable" and message.startswith(f"https://{server.http} does not speak TLS"), message
    finally:
        server.stop()


class Recorder(http.server.BaseHTTPRequestHandler):
    """Answers 401 without the token `sesame`, and remembers what was sent."""

    seen = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(self.headers["Authorization"])
        allowed = self.headers["Authorization"] == "Bearer sesame"
        body = b'{"allowed":true,"reason":"no_rule"}' if allowed else b'{"status":401,"detail":"the token is not known"}'
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


def test_the_token_comes_from_a_file_or_a_variable(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    token = tmp_path / "token"
    token.write_text("sesame\n")
    try:
        assert weir("check", "a=b", "--server", url, "--token-file", str(token)).returncode == 0
        assert weir("check", "a=b", "--server", url, env={**QUIET, "WEIR_TOKEN": "sesame"}).returncode == 0
        assert weir("check", "a=b", "--server", url, env={**QUIET, "WEIR_TOKEN_FILE": str(token)}).returncode == 0
        flag_wins = weir("check", "a=b", "--server", url, "--token-file", str(token), env={**QUIET, "WEIR_TOKEN": "wrong"})
        assert flag_wins.returncode == 0
        for verb in ("check", "refund", "reset", "bench"):
            done = weir(verb, "a=b", "--server", url, "--json")
            error = json.loads(done.stdout)["error"]
            assert done.returncode == 3 and error["code"] == "unauthenticated", done
            assert "the server requires a valid token: the token is not known" in error["message"]
            assert error["hint"] == "--token-file FILE or WEIR_TOKEN gives one"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert set(Recorder.seen) == {"Bearer sesame", None}


def test_a_token_file_must_be_a_token(tmp_path):
    for text in ("", "two words", "line\nline\n", "x" * 5000):
        (tmp_path / "token").write_text(text)
        done = weir("check", "a=b", "--token-file", str(tmp_path / "token"))
        assert done.returncode == 2 and "token" in done.stderr, text
        assert not text or text not in done.stderr, "the message does not quote the secret"
