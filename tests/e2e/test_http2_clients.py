"""Clients that support HTTP/2 but not gRPC: curl, nghttp, Node's own, python-h2, and frames by hand."""

import base64
import json
import pathlib
import re
import shutil
import socket
import subprocess

import h2.settings
import pytest
from certificates import Authority
from grpc_bytes import (CHECK, HEADERS, NOT_SERVING, OK, OVER_LIMIT, RATE_LIMIT, REFLECTION, SERVING, WATCH, field, file_request, framed,
                        messages, rate_limit_request)
from h2_client import H2Client
from test_cli import DEADLINE_S, Server
from test_floods import DATA, END_HEADERS, END_STREAM, GOAWAY, PING, PREFACE, SETTINGS, WINDOW_UPDATE, frame, frames
from test_floods import HEADERS as HEADERS_FRAME
from test_floods import head

RULES = "version: 1\nrules:\n  - {id: per-user, per: [user], algorithm: fixed-window, limit: 2, window: 3650d}\n"
LAST_STREAM = 0x7FFFFFFF


@pytest.fixture
def serve(tmp_path):
    running = []

    def begin(*flags):
        (tmp_path / "rules.yaml").write_text(RULES)
        ports = [word for name in ("http", "admin", "grpc") for word in (f"--listen-{name}", "127.0.0.1:0")]
        running.append(Server("--rules", str(tmp_path / "rules.yaml"), *ports, *flags, log=tmp_path / "log"))
        running[-1].grpc = running[-1].await_event("listening")["grpc"]
        return running[-1]

    yield begin
    for server in running:
        assert server.stop() == 0


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path, "authority")


@pytest.fixture
def serve_tls(serve, authority):
    certificate, key = authority.sign("weir")
    return lambda: serve("--tls-cert", str(certificate), "--tls-key", str(key))


def run(*words, stdin=b""):
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.decode("latin-1")


class TestCurl:
    def words(self, folder, message):
        (folder / "body").write_bytes(framed(message))
        headers = [word for name, value in HEADERS.items() for word in ("-H", f"{name}: {value}")]
        return ["curl", "-sS", "--max-time", str(DEADLINE_S), "--data-binary", f"@{folder}/body", *headers, "-D", str(folder / "fields")]

    def test_an_answer_comes_with_its_trailers(self, serve, tmp_path):
        words = [*self.words(tmp_path, rate_limit_request("ann")), "-o", str(tmp_path / "answer"), "-w", "%{http_code} %{http_version}"]
        assert run(*words, "--http2-prior-knowledge", f"http://{serve().grpc}{RATE_LIMIT}") == "200 2"
        (answer,) = messages((tmp_path / "answer").read_bytes())
        assert answer[:2] == OK and (tmp_path / "fields").read_text().endswith("\n\ngrpc-status: 0\n")

    def test_calls_over_tls_share_a_connection(self, serve_tls, authority, tmp_path):
        """Not without TLS: Debian's curl cannot use such a connection twice."""
        url = f"https://{serve_tls().grpc}{RATE_LIMIT}"
        outputs = [word for i in range(3) for word in ("-o", str(tmp_path / f"answer-{i}"), url)]
        told = run(*self.words(tmp_path, rate_limit_request("ann")), "--cacert", str(authority.certificate), "-w",
                   "%{http_code} %{http_version} %{num_connects}\n", *outputs)
        assert told == "200 2 1\n200 2 0\n200 2 0\n"
        answers = [messages((tmp_path / f"answer-{i}").read_bytes()) for i in range(3)]
        assert [[each[:2] for each in answer] for answer in answers] == [[OK], [OK], [OVER_LIMIT]]
        assert (tmp_path / "fields").read_text().count("grpc-status: 0") == 3

    def test_what_is_no_call_gets_a_status_of_http(self, serve):
        assert run("curl", "-sS", "--http2-prior-knowledge", "-w", "%{http_code}", f"http://{serve().grpc}/") == "405"

    def test_a_watch_that_is_cut_ends_nothing_else(self, serve, tmp_path):
        server = serve()
        watch = [*self.words(tmp_path, b""), "--http2-prior-knowledge", "-N", f"http://{server.grpc}{WATCH}"]
        with subprocess.Popen(watch, stdout=subprocess.PIPE) as watcher:
            assert messages(watcher.stdout.read(7)) == [SERVING]
            watcher.terminate()
        assert messages(run(*self.words(tmp_path, b""), "--http2-prior-knowledge", f"http://{server.grpc}{CHECK}").encode()) == [SERVING]


class TestNghttp:
    """nghttp tells every frame, and can be made to send unusual ones."""

    def talk(self, address, path, message, folder, *options):
        (folder / "body").write_bytes(message)
        headers = [f"-H{name}: {value}" for name, value in HEADERS.items()]
        return run("nghttp", "-v", "-n", "-d", str(folder / "body"), *headers, *options, f"http://{address}{path}")

    @pytest.mark.parametrize("options", [[], ["-b", "200"], ["--header-table-size=0"], ["--header-table-size=100", "--header-table-size=5000"],
                                         ["--encoder-header-table-size=0"], ["-w", "5", "-W", "5"]], ids=" ".join)
    def test_fifty_calls_at_once_are_answered(self, serve, tmp_path, options):
        told = self.talk(serve().grpc, CHECK, framed(b""), tmp_path, "-m", "50", *options)
        assert len(re.findall(r"recv \(stream_id=\d+\) grpc-status: 0\n", told)) == 50
        assert "recv RST_STREAM" not in told and "recv GOAWAY" not in told

    def test_header_fields_in_many_frames_that_are_too_large_get_a_status(self, serve, tmp_path):
        told = self.talk(serve().grpc, CHECK, framed(b""), tmp_path, "--continuation", "-m", "5")
        assert len(re.findall(r"recv \(stream_id=\d+\) grpc-status: 8\n", told)) == 5
        assert "recv GOAWAY" not in told

    @pytest.mark.parametrize("window", ["8", "12", "16", "30"])
    def test_long_answers_fit_any_window(self, serve, tmp_path, window):
        questions = framed(file_request()) * 200
        told = self.talk(serve().grpc, REFLECTION, questions, tmp_path, "-w", window, "-W", window)
        sizes = [int(size) for size in re.findall(r"recv DATA frame <length=(\d+)", told)]
        assert sum(sizes) > 200 * 1800 and max(sizes) < 1 << int(window)
        assert told.count("grpc-status: 0") == 1 and "recv GOAWAY" not in told and "recv RST_STREAM" not in told


class TestNode:
    SCRIPT = pathlib.Path(__file__).parent / "http2_client.js"

    @pytest.fixture(autouse=True)
    def installed(self):
        if not shutil.which("node"):
            pytest.skip("node is not installed")

    def calls(self, url, rounds, *authority):
        plan = [{**each, "body": base64.b64encode(each["body"]).decode()} for each in rounds]
        told = json.loads(run("node", str(self.SCRIPT), url, "calls", *authority, stdin=json.dumps(plan).encode()))
        for answer in (answer for answers in told["rounds"] for answer in answers):
            answer["body"] = messages(base64.b64decode(answer["body"]))
        return told

    def test_rounds_of_calls_on_one_connection(self, serve):
        long = framed(b"\x1a\x80\x80\x30" + b"x" * (768 << 10))
        rounds = [
            {"path": RATE_LIMIT, "body": framed(rate_limit_request("ann")), "times": 3},
            {"path": CHECK, "body": framed(b""), "times": 200},
            # Its table of ours, and the windows, change while the connection lives.
            {"path": CHECK, "body": framed(b""), "times": 20, "settings": {"headerTableSize": 0, "initialWindowSize": 3}},
            {"path": CHECK, "body": framed(b""), "times": 20, "settings": {"headerTableSize": 4096}},
            {"path": REFLECTION, "body": framed(file_request()) * 200, "times": 3, "settings": {"initialWindowSize": 70000}},
            {"path": REFLECTION, "body": long, "times": 2},
            {"path": WATCH, "body": framed(b""), "times": 20, "cut": True},
            {"path": CHECK, "body": framed(field(1, b"nobody"))},
        ]
        decisions, checks, small, again, files, echoed, watched, (unknown,) = self.calls(f"http://{serve().grpc}", rounds)["rounds"]
        assert sorted(each["body"][0][:2] for each in decisions) == [OK, OK, OVER_LIMIT]
        for each in decisions + checks + small + again + files + echoed:
            assert each["headers"][":status"] == 200 and each["trailers"] == {"grpc-status": "0"} and each["code"] == 0
        assert all(each["body"] == [SERVING] for each in checks + small + again)
        assert all(len(each["body"]) == 200 and len(set(each["body"])) == 1 for each in files)
        assert all(long[5:] in each["body"][0] for each in echoed)
        assert all(each["body"] == [SERVING] and each["code"] == 8 for each in watched), "CANCEL, by the client"
        assert unknown["headers"]["grpc-status"] == "5" and unknown["headers"]["grpc-message"] == "unknown service"

    def test_tls_agrees_on_http2(self, serve_tls, authority):
        told = self.calls(f"https://{serve_tls().grpc}", [{"path": CHECK, "body": framed(b""), "times": 20}], str(authority.certificate))
        assert told["alpn"] == "h2" and [each["body"] for each in told["rounds"][0]] == [[SERVING]] * 20

    def test_a_watcher_hears_that_the_server_leaves(self, serve):
        server = serve()
        words = ["node", str(self.SCRIPT), f"http://{server.grpc}", "watch", WATCH, base64.b64encode(framed(b"")).decode()]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watcher:
            assert watcher.stdout.readline() == "watching\n"
            server.process.terminate()
            lines = watcher.stdout.read().splitlines()
            assert watcher.wait(DEADLINE_S) == 0
        assert server.process.wait(DEADLINE_S) == 0
        told = json.loads(lines[-1])
        assert messages(base64.b64decode(told["answer"]["body"])) == [SERVING, NOT_SERVING]
        assert told["answer"]["trailers"]["grpc-status"] == "14"
        assert told["goaways"][0] == {"code": 0, "last": LAST_STREAM}


class TestPythonH2:
    def test_tables_change_their_size_in_mid_connection(self, serve):
        with H2Client(serve().grpc) as client:
            for size in (4096, 0, 60, 4096):
                client.h2.encoder.header_table_size = size
                client.h2.update_settings({h2.settings.SettingCodes.HEADER_TABLE_SIZE: size})
                for _ in range(5):
                    answer = client.call(CHECK, framed(b""), more=[("x-note", "remembered by both")])
                    assert messages(answer.body) == [SERVING] and answer.trailers == {"grpc-status": "0"}

    def test_header_fields_may_be_many_but_not_too_many(self, serve):
        with H2Client(serve().grpc) as client:
            most = [(f"x-{i}", "v" * 1000) for i in range(15)]
            assert client.call(CHECK, framed(b""), more=most).trailers == {"grpc-status": "0"}
            # In several frames, and so large that only their number is looked at.
            too_many = [(f"x-{i}", "v" * 1000) for i in range(60)]
            assert client.call(CHECK, framed(b""), more=too_many).headers["grpc-status"] == "8"
            assert client.call(CHECK, framed(b""), more=most).trailers == {"grpc-status": "0"}

    def test_streams_that_are_reset_leave_the_others_alone(self, serve):
        with H2Client(serve().grpc, settings={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0}) as client:
            streams = [client.call(CHECK, framed(b""), wait=False) for _ in range(20)]
            client.read_until(lambda: all(client.answers[each].headers for each in streams))
            for stream in streams[::2]:
                client.h2.reset_stream(stream)
            for stream in streams[1::2]:
                client.h2.increment_flow_control_window(100, stream)
            client.flush()
            assert [messages(client.await_end(each).body) for each in streams[1::2]] == [[SERVING]] * 10
            assert [client.answers[each].body for each in streams[::2]] == [b""] * 10


class Raw:
    """A connection whose frames are kept as they come."""

    def __init__(self, address, settings=b""):
        host, port = address.rsplit(":", 1)
        self.socket, self.received = socket.create_connection((host, int(port)), timeout=DEADLINE_S), b""
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))

    def await_frames(self, count, kind):
        """The payloads of the first frames of a kind."""
        while True:
            found = [payload for each, _, _, payload in frames(self.received) if each == kind]
            if len(found) >= count:
                return found[:count]
            part = self.socket.recv(65536)
            assert part, f"closed after {[each[:3] for each in frames(self.received)]}"
            self.received += part


def test_an_answer_that_waits_for_a_window_outlives_the_servers_leave(serve):
    server = serve()
    client = Raw(server.grpc, settings=b"\0\x04\0\0\0\0")  # SETTINGS_INITIAL_WINDOW_SIZE = 0
    client.socket.sendall(frame(HEADERS_FRAME, END_HEADERS, 1, head()) + frame(DATA, END_STREAM, 1, framed(rate_limit_request("ann"))))
    client.await_frames(1, HEADERS_FRAME)
    server.process.terminate()
    notice, last = client.await_frames(2, GOAWAY)
    assert notice == LAST_STREAM.to_bytes(4, "big") + bytes(4) and last == b"\0\0\0\x01" + bytes(4)
    client.socket.sendall(frame(WINDOW_UPDATE, 0, 1, b"\0\0\x10\0"))
    _, trailers = client.await_frames(2, HEADERS_FRAME)
    assert b"grpc-status" in trailers and messages(client.await_frames(1, DATA)[0])[0][:2] == OK
    assert client.socket.recv(65536) == b"", "no request is open"
    client.socket.close()
    assert server.process.wait(DEADLINE_S) == 0


def test_a_call_that_is_half_sent_when_the_server_leaves_is_answered(serve):
    server = serve()
    client = Raw(server.grpc)
    client.socket.sendall(frame(HEADERS_FRAME, END_HEADERS, 1, head()) + frame(PING, 0, 0, b"12345678"))
    client.await_frames(1, PING)
    server.process.terminate()
    client.await_frames(1, GOAWAY)
    client.socket.sendall(frame(DATA, END_STREAM, 1, framed(rate_limit_request("ann"))))
    client.await_frames(2, HEADERS_FRAME)
    assert messages(client.await_frames(1, DATA)[0])[0][:2] == OK
    assert client.await_frames(2, GOAWAY)[1] == b"\0\0\0\x01" + bytes(4)
    client.socket.close()
    assert server.process.wait(DEADLINE_S) == 0
