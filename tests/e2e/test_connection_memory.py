"""Many connections with large requests: a bound on what they take together, and the memory is given back."""

import re
import socket
import time

import pytest
from test_cli import DEADLINE_S, Server, rules_text

MIB = 1 << 20
LIMIT = 32 * MIB
CONNECTIONS = 200


@pytest.fixture
def server(tmp_path):
    (tmp_path / "rules.yaml").write_text(rules_text(10**6))
    running = Server("--rules", str(tmp_path / "rules.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0",
                     "--connection-memory", "32MiB", "--memory-max-bytes", "1MiB", log=tmp_path / "log")
    yield running
    assert running.stop() == 0


def resident(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status.read(), re.M)[1]) * 1024


def metric(server, name):
    return int(float(re.search(rf"^{name} (\S+)$", server.metrics(), re.M)[1]))


def eventually(holds):
    end = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < end, "the condition was never reached"
        time.sleep(0.05)


def test_large_requests_on_many_connections(server):
    assert server.check() == 200
    before = resident(server)
    host, port = server.http.split(":")
    head = b"POST /v1/check/batch HTTP/1.1\r\nHost: w\r\nContent-Length: %d\r\n\r\n" % MIB
    opened = []
    for _ in range(CONNECTIONS):
        connection = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
        connection.setblocking(False)
        opened.append(connection)
    # All but the last byte, as far as the server takes it.
    left = {connection: memoryview(head + b" " * (MIB - 1)) for connection in opened}
    refused = 0
    highest = 0

    def push():
        nonlocal refused, highest
        for connection in list(left):
            try:
                left[connection] = left[connection][connection.send(left[connection][:256 << 10]):]
            except BlockingIOError:
                pass
            except OSError:
                del left[connection]
                continue
            try:
                answer = connection.recv(4096)
                assert answer.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 1" in answer, answer
                refused += 1
                del left[connection]
            except BlockingIOError:
                pass
            except OSError:
                del left[connection]
        assert metric(server, "weir_connection_memory_bytes") <= LIMIT
        highest = max(highest, resident(server))
        # Small requests are served all the while, on new connections too.
        assert server.check() == 200
        return refused

    eventually(lambda: push() > CONNECTIONS // 4)
    assert metric(server, "weir_connection_memory_refusals_total") >= refused
    assert metric(server, "weir_connection_memory_max_bytes") == LIMIT
    assert highest < before + LIMIT + 24 * MIB
    for connection in opened:
        connection.close()
    eventually(lambda: metric(server, "weir_connection_memory_bytes") < MIB)
    eventually(lambda: resident(server) < before + 8 * MIB)


# Between blocks of a size that the C library keeps lie those of connections that stay: without being asked it would not
# give back what is in between.
def test_memory_between_connections_that_stay_is_given_back(server):
    assert server.check() == 200
    before = resident(server)
    host, port = server.http.split(":")
    size = 200 << 10
    body = b"POST /v1/check/batch HTTP/1.1\r\nHost: w\r\nContent-Length: %d\r\n\r\n" % size + b" " * (size - 1)
    large, staying = [], []
    for i in range(100):
        large.append(socket.create_connection((host, int(port)), timeout=DEADLINE_S))
        large[-1].sendall(body)
        eventually(lambda: metric(server, "weir_connection_memory_bytes") >= i * size)
        staying.append(socket.create_connection((host, int(port)), timeout=DEADLINE_S))
        staying[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: w\r\n\r\n")
        assert staying[-1].recv(4096).startswith(b"HTTP/1.1 200")
    eventually(lambda: resident(server) > before + 15 * MIB)
    for connection in large:
        connection.close()
    eventually(lambda: metric(server, "weir_connection_memory_bytes") < 2 * MIB)
    eventually(lambda: resident(server) < before + 8 * MIB)
    for connection in staying:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: w\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        connection.close()


def test_a_bound_that_no_request_fits_in_is_refused(tmp_path):
    from test_cli import weir
    refused = weir("serve", "--listen-http", "127.0.0.1:0", "--connection-memory", "16MiB", "--http-body-bytes", "32MiB")
    assert refused.returncode != 0 and "connection_memory: is 16777216 bytes, expected at least" in refused.stderr, refused.stderr
