"""Rotation of the hash key while limits are in use: docs/operating.md says what is to be done, and this does it."""

import shutil
import subprocess

import pytest
from redis_nodes import Redis
from test_cli import start, weir  # noqa: F401 (start is a fixture)

RULES = """
version: 1
rules:
  - {id: per-tenant, per: [tenant], algorithm: fixed-window, limit: 4, window: 3650d}
  - {id: per-key, per: [api_key], algorithm: fixed-window, limit: 4, window: 3650d}
"""
OLD, NEW = "1" * 32 + "\n", "2" * 32 + "\n"


@pytest.fixture
def node(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(RULES)

    def begin(keys, *flags):
        """A server whose file holds these keys. Each call of it writes a file of its own, as other machines have."""
        node.count += 1
        file = tmp_path / f"hash-key-{node.count}"
        file.write_text(keys)
        return start("--rules", str(tmp_path / "rules.yaml"), "--hash-key-file", str(file), "--listen-resp", "127.0.0.1:0",
                     "--loops", "1", *flags)

    node.count = 0
    return begin


def by_tenant(server):
    return server.call("/v1/check", {"attributes": {"tenant": "acme"}})[0]


def by_key(server):
    """An API key, whose hash in the identity stage changes with the hash key."""
    return server.call("/v1/forward-auth", headers={"X-Api-Key": "sk_one"})[0]


def by_throttle(server):
    port = server.await_event("listening")["resp"].rsplit(":", 1)[1]
    done = subprocess.run(["redis-cli", "-p", port, "CL.THROTTLE", "user:42", "3", "1", "315360000"], capture_output=True,
                          text=True, timeout=20)
    return {"0": 200, "1": 429}[done.stdout.split()[0]]


WAYS = [by_tenant, by_key, by_throttle]


def test_buckets_of_a_snapshot_are_honoured_through_a_rotation(node, tmp_path):
    kept = ["--memory-snapshot", str(tmp_path / "snapshot")]
    server = node(OLD, *kept)
    assert [way(server) for way in WAYS for _ in range(2)] == [200] * 6
    server.stop()
    server = node(NEW + OLD, *kept)
    server.await_event("hash_key_rotation")
    assert [[way(server) for _ in range(3)] for way in WAYS] == [[200, 200, 429]] * 3, "two of four were used before"
    server.stop()
    # The window has not passed, so dropping the old key forgets what was used before the rotation, and no more.
    server = node(NEW, *kept)
    assert [[way(server) for _ in range(3)] for way in WAYS] == [[200, 200, 429]] * 3, "two of four were used during it"


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
def test_nodes_before_in_and_after_a_rotation_share_limits_on_redis(node, tmp_path):
    redis = Redis(tmp_path)
    try:
        store = ["--store", redis.url + "?deadline=5s"]  # a busy machine must not decide
        before, during, other = node(OLD, *store), node(NEW + OLD, *store), node(NEW + OLD, *store)
        for way in WAYS:
            assert [way(server) for server in (before, during, other, before, during, other)] == [200] * 4 + [429] * 2
        after = node(NEW, *store)
        for way in WAYS:
            assert [way(after) for _ in range(3)] == [200, 200, 429], "the two that were admitted during it"
            assert way(during) == 429
    finally:
        redis.kill()


def test_a_revoked_key_stays_revoked_through_a_rotation(node, tmp_path):
    revoked = tmp_path / "revoked"
    revoked.write_text("sk_one\n")
    server = node(NEW + OLD, "--identity-revoked-keys-file", str(revoked))
    assert by_key(server) == 401


@pytest.mark.parametrize("keys, expected", [
    (OLD + OLD, "both keys are the same"),
    (NEW + OLD + NEW, "expected one or two keys"),
    (NEW + "short\n", "key 2 is not a hash key, expected 32 hexadecimal digits"),
])
def test_what_is_no_ring_is_refused_and_not_repeated(tmp_path, keys, expected):
    (tmp_path / "key").write_text(keys)
    done = weir("serve", "--hash-key-file", str(tmp_path / "key"), "--listen-http", "127.0.0.1:0", "--listen-admin", "off")
    assert done.returncode == 2 and expected in done.stderr
    assert "1111" not in done.stderr and "2222" not in done.stderr
