"""A receiver of OTLP over HTTP that decodes strictly: a field that is not in the schema, an id of another length or a span that ends before it begins is a fault."""

import http.server
import pathlib
import subprocess
import tempfile
import threading

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def request_class():
    source = pathlib.Path(__file__).with_name("otlp_trace.proto")
    with tempfile.NamedTemporaryFile() as made:
        subprocess.run(["protoc", f"-I{source.parent}", f"--descriptor_set_out={made.name}", source.name], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(made.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("otlp_test.ExportTraceServiceRequest"))


def plain(value):
    return getattr(value, value.WhichOneof("value"))


def has_unknown_fields(message):
    if len(message.UnknownFields()) > 0:
        return True
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if any(has_unknown_fields(each) for each in (value if field.label == field.LABEL_REPEATED else [value])):
            return True
    return False


class Receiver:
    """`status` may be changed, to be a collector in trouble."""

    def __init__(self):
        self.kind, self.status, self.faults, self.spans, self.requests = request_class(), 200, [], [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers), receiver.status))
                if receiver.status == 200:
                    receiver.take(self.path, self.headers["Content-Type"], body)
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, content_type, body):
        request = self.kind()
        try:
            request.ParseFromString(body)
        except Exception as fault:  # noqa: BLE001
            self.faults.append(f"not protobuf: {fault}")
            return
        if path != "/v1/traces" or content_type != "application/x-protobuf":
            self.faults.append(f"{path} {content_type}")
        if has_unknown_fields(request):
            self.faults.append(f"unknown fields in {request}")
        for resource in request.resource_spans:
            of = {each.key: plain(each.value) for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.check(span)
                    self.spans.append(self.described(span, of, scope.scope))

    def check(self, span):
        if len(span.trace_id) != 16 or len(span.span_id) != 8 or len(span.parent_span_id) not in (0, 8):
            self.faults.append(f"ids of {span}")
        if not any(span.trace_id) or not any(span.span_id) or (span.parent_span_id and not any(span.parent_span_id)):
            self.faults.append(f"an id of zeros in {span}")
        if not 0 < span.start_time_unix_nano <= span.end_time_unix_nano:
            self.faults.append(f"times of {span}")
        if not span.name or span.kind == 0 or any(not each.key or each.value.WhichOneof("value") is None for each in span.attributes):
            self.faults.append(f"names of {span}")

    @staticmethod
    def described(span, resource, scope):
        return {"trace": span.trace_id.hex(), "id": span.span_id.hex(), "parent": span.parent_span_id.hex(), "name": span.name,
                "kind": span.kind, "from": span.start_time_unix_nano, "to": span.end_time_unix_nano, "error": span.status.code == 2,
                "attributes": {each.key: plain(each.value) for each in span.attributes}, "resource": resource, "scope": scope.name}

    def of(self, trace, name=None):
        return [span for span in self.spans if span["trace"] == trace and name in (None, span["name"])]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
