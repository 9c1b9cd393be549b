"""A real HAProxy with the very files of deploy/gateways/haproxy."""
import http.client
import http.server
import os
import socket
import subprocess
import threading
import time

import pytest

BIN = os.environ["WEIR_TEST_BIN"]
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "gateways", "haproxy")
RULES = """
version: 1
rules:
  - {id: per-key, per: [api_key], algorithm: token-bucket, limit: 2, window: 100s}
  - {id: per-ip, per: [ip], match: {ip: 127.0.0.0/8, method: GET, path: "/by-ip/*", host: shop.example}, algorithm: fixed-window, limit: 1, window: 1h}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class App(http.server.BaseHTTPRequestHandler):
    seen = []

    def do_GET(self):
        App.seen.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Agent:
    def __init__(self, folder, port):
        rules = folder / "rules.yaml"
        rules.write_text(RULES)
        self.process = subprocess.Popen([f"{BIN}/spop_server", f"127.0.0.1:{port}", str(rules)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().startswith("127.0.0.1:")

    def stop(self):
        self.process.terminate()
        assert self.process.wait(10) == 0


@pytest.fixture
def gateway(tmp_path):
    """HAProxy in front of an application, with the agent's port chosen and no agent on it yet."""
    app = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
    App.seen = []
    threading.Thread(target=app.serve_forever, daemon=True).start()
    ports = {"public": free_port(), "spop": free_port()}
    environment = dict(os.environ, WEIR_PUBLIC_BIND=f"127.0.0.1:{ports['public']}", WEIR_APP=f"127.0.0.1:{app.server_port}",
                       WEIR_SPOP=f"127.0.0.1:{ports['spop']}", WEIR_SPOE_CONF=os.path.join(CONFIG, "spoe.conf"))
    configuration = os.path.join(CONFIG, "haproxy.cfg")
    checked = subprocess.run(["haproxy", "-c", "-f", configuration], env=environment, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "WARNING" not in checked.stdout + checked.stderr
    haproxy = subprocess.Popen(["haproxy", "-db", "-f", configuration], env=environment, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", ports["public"]), timeout=1).close()
            break
        except OSError:
            time.sleep(0.05)
    yield ports
    haproxy.kill()
    haproxy.wait()
    app.shutdown()
    app.server_close()


def get(port, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, body


def settled(port, **headers):
    """The first request opens HAProxy's connection to the agent, which may take longer than its 20 ms on a busy machine."""
    for _ in range(50):
        status, fields, _ = get(port, **headers)
        if "x-weir-error" not in fields:
            return status, fields
        time.sleep(0.1)
    raise AssertionError("HAProxy never reached the agent")


def test_allowed_requests_reach_the_application_and_denied_ones_do_not(gateway, tmp_path):
    agent = Agent(tmp_path, gateway["spop"])
    settled(gateway["public"], x_api_key="warm-up")
    App.seen.clear()
    remaining = []
    for _ in range(2):
        status, fields, body = get(gateway["public"], "/items", x_api_key="alice")
        assert (status, body) == (200, b"ok")
        remaining.append(fields["ratelimit"].split(";")[1])
        assert fields["ratelimit-policy"] == '"per-key";q=2;w=100'
        assert "retry-after" not in fields
    assert remaining == ["r=1", "r=0"]
    status, fields, body = get(gateway["public"], "/items", x_api_key="alice")
    assert status == 429
    assert 1 <= int(fields["retry-after"]) <= 50
    assert fields["ratelimit"].startswith('"per-key";r=0;t=')
    assert fields["content-type"] == "application/problem+json"
    assert fields["cache-control"] == "no-store"
    assert b"quota-exceeded" in body
    assert App.seen == ["/items", "/items"]
    assert get(gateway["public"], "/items", x_api_key="bob")[0] == 200
    agent.stop()


def test_method_path_host_and_address_arrive(gateway, tmp_path):
    agent = Agent(tmp_path, gateway["spop"])
    settled(gateway["public"])
    assert get(gateway["public"], "/by-ip/1", Host="shop.example")[0] == 200
    assert get(gateway["public"], "/by-ip/2", Host="shop.example")[0] == 429
    assert get(gateway["public"], "/by-ip/2", Host="other.example")[0] == 200
    assert get(gateway["public"], "/elsewhere", Host="shop.example")[0] == 200
    agent.stop()


def test_a_request_that_no_rule_can_judge_harms_only_itself(gateway, tmp_path):
    agent = Agent(tmp_path, gateway["spop"])
    settled(gateway["public"])
    assert get(gateway["public"], "/" + "p" * 5000)[0] == 400
    status, fields, _ = get(gateway["public"], "/items", x_api_key="carol")
    assert status == 200 and "x-weir-error" not in fields
    agent.stop()


def test_fails_open_and_says_so_when_the_agent_is_down(gateway, tmp_path):
    status, fields, body = get(gateway["public"], "/items", x_api_key="alice")
    assert (status, body) == (200, b"ok")
    assert int(fields["x-weir-error"]) > 0
    assert "ratelimit" not in fields
    agent = Agent(tmp_path, gateway["spop"])
    assert "ratelimit" in settled(gateway["public"], x_api_key="alice")[1]
    agent.stop()
    status, fields, _ = get(gateway["public"], "/items", x_api_key="alice")
    assert status == 200 and int(fields["x-weir-error"]) > 0
