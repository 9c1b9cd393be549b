"""Traces in a real OpenTelemetry collector: it takes every span that a server sends, and reads in it what was meant."""
import re
import socket
import subprocess

import pytest
from conftest import program, until
from test_cli import Server, rules_text

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SETTINGS = """receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}
exporters:
  debug: {{verbosity: detailed}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [debug]}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Collector:
    def __init__(self, folder):
        self.port = free_port()
        settings = folder / "collector.yaml"
        settings.write_text(SETTINGS.format(port=self.port))
        self.path = folder / "collector.log"
        self.log = open(self.path, "w")
        self.process = subprocess.Popen([program("otelcol"), f"--config=file:{settings}"], stdout=self.log, stderr=subprocess.STDOUT)
        until(lambda: "Everything is ready" in self.text())

    def text(self):
        assert self.process.poll() is None, self.path.read_text()
        return self.path.read_text()

    def spans(self):
        """Each as what the collector says of it: names of its own, and attributes."""
        found = []
        for part in re.split(r"\nSpan #\d+\n", self.text())[1:]:
            head = dict(re.findall(r"^    (\w[\w ]*?) *: (.*)$", part, re.M))
            head["attributes"] = dict(re.findall(r"^     -> ([\w.]+): \w+\((.*)\)$", part, re.M))
            found.append(head)
        return found

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


@pytest.fixture
def collector(tmp_path):
    made = Collector(tmp_path)
    yield made
    made.close()


def test_a_collector_takes_the_spans_of_decisions(collector, tmp_path):
    (tmp_path / "rules.yaml").write_text(rules_text(2))
    server = Server("--rules", str(tmp_path / "rules.yaml"), "--listen-http", "127.0.0.1:0", "--listen-admin", "127.0.0.1:0",
                    "--node-name", "node-1", "--tracing-otlp", f"http://127.0.0.1:{collector.port}", "--tracing-sample", "off", log=tmp_path / "log")
    try:
        answers = [server.call("/v1/check", {"attributes": {"tenant": "acme"}}, headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})[0]
                   for _ in range(3)]
        assert answers == [200, 200, 429]
        assert server.call("/v1/refund", {"attributes": {"tenant": "acme"}}, headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})[0] == 200
        until(lambda: len(collector.spans()) >= 8)
        server.await_metric('weir_trace_spans_total{result="sent"} 8')
        assert 'weir_trace_spans_total{result="lost"} 0' in server.metrics()
    finally:
        server.stop()
    spans = sorted(collector.spans(), key=lambda span: span["Start time"])  # event loops do not wait for each other
    (refund,) = [span for span in spans if span["Name"] == "weir.refund"]
    decisions = [span for span in spans if span["Name"] == "weir.decision"]
    stores = [span for span in spans if span["Name"] == "weir.store"]
    assert (len(decisions), len(stores), {span["Trace ID"] for span in spans}) == (3, 4, {TRACE})
    assert {span["Parent ID"] for span in [*decisions, refund]} == {PARENT}
    assert {span["Parent ID"] for span in stores} == {span["ID"] for span in [*decisions, refund]}
    assert [span["attributes"]["weir.decision"] for span in decisions] == ["allowed", "allowed", "denied"]
    assert decisions[-1]["attributes"]["weir.rule"] == "per-tenant" and decisions[-1]["attributes"]["weir.source"] == "memory"
    text = collector.text()
    assert "service.name: Str(weir)" in text and "service.instance.id: Str(node-1)" in text
