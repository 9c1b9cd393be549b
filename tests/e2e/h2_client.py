"""A client made of python-h2: an HTTP/2 implementation that is neither ours nor nghttp2's; the test controls every frame.

It takes a GOAWAY for the end of everything, so it is of no use for a server that leaves in peace.
"""

import socket

import h2.config
import h2.connection
import h2.events
import h2.settings
from grpc_bytes import HEADERS
from test_cli import DEADLINE_S


class Answer:
    """What one stream was sent."""

    def __init__(self):
        self.headers, self.trailers, self.body, self.ended, self.reset = {}, {}, b"", False, None

    @property
    def fields(self):
        """gRPC's status is among the trailers, or among the headers if there is nothing else."""
        return {**self.headers, **self.trailers}


class H2Client:
    def __init__(self, address, settings=None, takes=True):
        """Without `takes` nothing of an answer is acknowledged: windows are the test's business."""
        self.address = address
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.takes, self.answers, self.goaways, self.pings, self.closed = takes, {}, [], 0, False
        self.h2.local_settings = h2.settings.Settings(client=True, initial_values=settings or {})
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def begin(self, path, more=()):
        stream = self.h2.get_next_available_stream_id()
        self.answers[stream] = Answer()
        fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", self.address), *HEADERS.items(), *more]
        self.h2.send_headers(stream, fields)
        return stream

    def write(self, stream, body, end=False):
        """As much as fits the server's windows at a time."""
        while True:
            part = body[:min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)]
            body = body[len(part):]
            if part or not body:
                self.h2.send_data(stream, part, end_stream=end and not body)
            self.flush()
            if not body:
                return
            if not part:
                self.read()

    def call(self, path, body, more=(), wait=True):
        """The answer; without `wait` the stream's id."""
        stream = self.begin(path, more)
        self.write(stream, body, end=True)
        return self.await_end(stream) if wait else stream

    def read(self):
        """Whatever comes next; False at the connection's end."""
        data = self.socket.recv(65536)
        if not data:
            self.closed = True
            return False
        for event in self.h2.receive_data(data):
            answer = self.answers.get(getattr(event, "stream_id", None))
            if isinstance(event, h2.events.ResponseReceived):
                answer.headers = dict(event.headers)
            elif isinstance(event, h2.events.TrailersReceived):
                answer.trailers = dict(event.headers)
            elif isinstance(event, h2.events.DataReceived):
                answer.body += event.data
                if self.takes:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                answer.ended = True
            elif isinstance(event, h2.events.StreamReset):
                answer.reset = event.error_code
            elif isinstance(event, h2.events.PingAckReceived):
                self.pings += 1
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.goaways.append((event.last_stream_id, int(event.error_code)))
        self.flush()
        return True

    def read_until(self, done):
        while not done():
            assert self.read(), f"closed; GOAWAY {self.goaways}"

    def await_end(self, stream):
        answer = self.answers[stream]
        self.read_until(lambda: answer.ended or answer.reset is not None)
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
