"""Calls of the admin API, for tests."""

import http.client
import json


class Admin:
    def __init__(self, address, token=None):
        self.address, self.token = address, token

    def call(self, method, path, body=None, headers=None, raw=False):
        """Status, body (as JSON unless raw) and header fields."""
        link = http.client.HTTPConnection(self.address, timeout=30)
        fields = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = None if body is None else body if isinstance(body, (str, bytes)) else json.dumps(body)
        try:
            link.request(method, path if path.startswith("/admin") else "/admin/v1" + path, data, {**fields, **(headers or {})})
            answer = link.getresponse()
            text = answer.read().decode()
        finally:
            link.close()
        return answer.status, text if raw or not text else json.loads(text), answer.headers

    def get(self, path, **options):
        status, body, _ = self.call("GET", path, **options)
        assert status == 200, body
        return body

    def post(self, path, body, status=201):
        got, answer, _ = self.call("POST", path, body)
        assert got == status, answer
        return answer

    def put(self, path, body, etag, status=200):
        got, answer, _ = self.call("PUT", path, body, {"If-Match": f'"{etag}"'})
        assert got == status, answer
        return answer

    def audit(self, **query):
        words = "&".join(f"{name}={value}" for name, value in query.items())
        return self.get(f"/audit?{words}" if words else "/audit")["items"]
