"""`weir serve` on a Redis that speaks TLS only and asks for a certificate. Standard library, openssl and pytest only."""

import shutil
import ssl
import subprocess

import pytest
from redis_nodes import DEADLINE_S, PASSWORD, QUIET, WEIR, Redis, eventually
from redis_nodes import rules, start  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(
    shutil.which("redis-server") is None or shutil.which("openssl") is None, reason="needs redis-server and openssl")


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Papers:
    """An authority, and certificates that it has signed."""

    def __init__(self, folder, name):
        self.folder = folder
        self.key, self.cert = folder / f"{name}.key", folder / f"{name}.crt"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.cert)

    def sign(self, name, subject):
        key, request, cert = (self.folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
                "-keyout", key, "-out", request)
        names = self.folder / f"{name}.ext"
        names.write_text(f"subjectAltName={subject}\n")
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days", "2",
                "-extfile", names, "-out", cert)
        return key, cert


class TlsRedis(Redis):
    port_flag = "--tls-port"

    def __init__(self, folder, papers):
        self.papers = papers
        self.key, self.cert = papers.sign("server", "IP:127.0.0.1")
        self.client_key, self.client_cert = papers.sign("client", "DNS:client")
        super().__init__(folder, "--port", "0", "--tls-cert-file", self.cert, "--tls-key-file", self.key,
                         "--tls-ca-cert-file", papers.cert, "--tls-auth-clients", "yes")
        self.url = self.url.replace("redis:", "rediss:", 1)

    def connect(self):
        context = ssl.create_default_context(cafile=self.papers.cert)
        context.load_cert_chain(self.client_cert, self.client_key)
        return context.wrap_socket(super().connect(), server_hostname="127.0.0.1")


@pytest.fixture
def papers(tmp_path):
    return Papers(tmp_path, "authority")


@pytest.fixture
def redis(tmp_path, papers):
    server = TlsRedis(tmp_path, papers)
    yield server
    server.kill()


# With settings and with the URL, which wins; a user of the ACL that docs/redis.md gives.
def test_nodes_share_a_redis_over_tls(redis, papers, start):
    rights = "resetkeys ~w1:* resetchannels -@all +eval +evalsha +script|load +get +mget +set +del +time +client|setname"
    assert redis.run("ACL", "SETUSER", "weir", "on", f">{PASSWORD}", *rights.split()) == "+OK"
    by_flags = start(redis.url.replace("://:", "://weir:"), "--redis-tls-ca", str(papers.cert),
                     "--redis-tls-cert", str(redis.client_cert), "--redis-tls-key", str(redis.client_key))
    by_url = start(f"{redis.url}?ca={papers.cert}&cert={redis.client_cert}&key={redis.client_key}",
                   "--redis-tls-ca", "/nowhere/else")
    assert [each.caller().check("local")[0] for each in (by_flags, by_url) * 3] == [200] * 4 + [429] * 2


REFUSALS = {
    "authority": ("the certificate of the server is not trusted", "self-signed certificate", "check redis.tls_ca"),
    "name": ("the certificate of the server is for another host", "localhost", "use a host name"),
    "no certificate": ("the TLS handshake failed", "certificate required", "redis.tls_cert"),
}


@pytest.mark.parametrize("wrong", REFUSALS)
def test_papers_that_do_not_hold_up_are_called_that(redis, papers, rules, tmp_path, wrong):
    other = tmp_path / "other"
    other.mkdir()
    authority = Papers(other, "other").cert if wrong == "authority" else papers.cert
    host = "localhost" if wrong == "name" else "127.0.0.1"
    url = f"rediss://:{PASSWORD}@{host}:{redis.port}?ca={authority}"
    if wrong != "no certificate":
        url += f"&cert={redis.client_cert}&key={redis.client_key}"
    ended = subprocess.run(
        [WEIR, "serve", "--store", url, "--rules", str(rules), "--listen-http", "127.0.0.1:0",
         "--listen-admin", "127.0.0.1:0"], capture_output=True, text=True, timeout=DEADLINE_S, env=QUIET)
    assert ended.returncode not in (0, -6)
    assert all(words in ended.stderr for words in REFUSALS[wrong]), ended.stderr
    assert "unreachable" not in ended.stderr and "start Redis" not in ended.stderr
    assert PASSWORD not in ended.stderr


def test_a_tls_file_that_is_missing_is_named(redis, rules):
    ended = subprocess.run(
        [WEIR, "serve", "--store", f"{redis.url}?ca=/no/such/file.crt", "--rules", str(rules),
         "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0"],
        capture_output=True, text=True, timeout=DEADLINE_S, env=QUIET)
    assert ended.returncode not in (0, -6)
    assert "a TLS file cannot be used" in ended.stderr and PASSWORD not in ended.stderr


# A server that comes back with another certificate of the same authority is used again.
def test_a_renewed_certificate_needs_no_restart(redis, papers, start):
    node = start(f"{redis.url}?ca={papers.cert}&cert={redis.client_cert}&key={redis.client_key}")
    assert node.caller().check("allow")[0] == 200
    redis.kill()
    papers.sign("server", "IP:127.0.0.1")
    redis.start()
    caller = node.caller()
    eventually("Redis decides again", lambda: not caller.check("allow")[1]["degraded"])
