"""What callers get wrong about leases, reservations and quotas: the status, a message that says what to do, and nothing
that has changed."""

import json
import time

import pytest
from admin_client import Admin
from redis_nodes import Redis
from test_cli import start, weir  # noqa: F401 (start is a fixture)
from test_identity import SECRET, token
from test_leases import ask
from test_quotas import wait_usable

HOLD_RULES = """version: 1
rules:
  - {id: active, match: {action: export}, per: [tenant], algorithm: concurrency, limit: 3, lease: 30s}
  - {id: units, match: {action: export}, per: [tenant], algorithm: fixed-window, limit: 100, window: 3650d}
"""
EXPORT = {"tenant": "acme", "action": "export"}
YEAR_MS = 366 * 24 * 3600 * 1000


@pytest.fixture(params=["memory", "redis"])
def holds(request, start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(HOLD_RULES)
    if request.param == "memory":
        yield start("--rules", str(tmp_path / "rules.yaml"))
        return
    redis = Redis(tmp_path)
    try:
        yield start("--rules", str(tmp_path / "rules.yaml"), "--store", redis.url, "--redis-deadline", "2s")
    finally:
        redis.kill()


def state_of(server):
    """Everything that a caller can see of what is held and left."""
    leases = ask(server, "GET", "/v1/leases?tenant=acme&action=export")[1]["leases"]
    reservations = ask(server, "GET", "/v1/reservations?tenant=acme&action=export")[1]["reservations"]
    looked = ask(server, "POST", "/v1/check", {"attributes": EXPORT, "peek": True})[1]
    return [(each["rule"], each["units"]) for each in leases + reservations], [(each["rule"], each["remaining"]) for each in looked["rules"]]


# The body, the status, and words of the message.
BAD_HOLDS = {
    "a lease for no time": ("/v1/leases", {"ttl_ms": 0}, 400, "ttl_ms: must be"),
    "a lease for a year": ("/v1/leases", {"ttl_ms": YEAR_MS}, 400, "ttl_ms: must be"),
    "a lease for a negative time": ("/v1/leases", {"ttl_ms": -1}, 400, "ttl_ms: must be"),
    "a lease of more than the limit": ("/v1/leases", {"cost": 4}, 429, "cost_too_large"),
    "a lease of 2^63": ("/v1/leases", {"cost": 2**63}, 400, "cost: must be"),
    "a lease of a fraction": ("/v1/leases", {"cost": 1.5}, 400, "cost: must be"),
    "a lease with an id of 10 KB": ("/v1/leases", {"id": "x" * 10_240}, 400, "id: must have"),
    "a lease with an empty id": ("/v1/leases", {"id": ""}, 400, "id: must have"),
    "a lease with an unknown member": ("/v1/leases", {"color": "red"}, 400, "color"),
    "a reservation for no time": ("/v1/reservations", {"amount": 1, "ttl_ms": 0}, 400, "ttl_ms: must be"),
    "a reservation for a year": ("/v1/reservations", {"amount": 1, "ttl_ms": YEAR_MS}, 400, "ttl_ms: must be"),
    "a reservation of more than the limit": ("/v1/reservations", {"amount": 101}, 429, "cost_too_large"),
    "a reservation of 2^63": ("/v1/reservations", {"amount": 2**63}, 400, "amount: must be"),
    "a reservation of 2^62": ("/v1/reservations", {"amount": 2**62}, 400, "amount"),
    "a reservation of a negative amount": ("/v1/reservations", {"amount": -1}, 400, "amount: must be"),
    "a reservation of a fraction": ("/v1/reservations", {"amount": 0.5}, 400, "amount: must be"),
    "a reservation with an id of 10 KB": ("/v1/reservations", {"amount": 1, "id": "x" * 10_240}, 400, "id: must have"),
    "a reservation without an amount": ("/v1/reservations", {"estimate": "auto"}, 400, "amount: is missing"),
}


def test_what_cannot_be_held_is_refused_and_changes_nothing(holds):
    before = state_of(holds)
    for case, (path, members, status, words) in BAD_HOLDS.items():
        got, problem, _ = ask(holds, "POST", path, {"attributes": EXPORT, **members})
        assert got == status and words in json.dumps(problem), (case, problem)
        assert state_of(holds) == before, case


def test_what_is_wrong_about_a_lease_is_told_and_changes_nothing(holds):
    _, lease, _ = ask(holds, "POST", "/v1/leases", {"attributes": EXPORT, "id": "mine"})
    _, other, _ = ask(holds, "POST", "/v1/reservations", {"attributes": EXPORT, "amount": 5})
    handle, before = lease["lease"], state_of(holds)
    cases = [
        ("POST", f"/v1/leases/{handle}/renew", {"ttl_ms": 0}, 400, "ttl_ms: must be"),
        ("POST", f"/v1/leases/{handle}/renew", {"ttl_ms": YEAR_MS}, 400, "ttl_ms: must be"),
        # A handle of something else, and one that was made elsewhere.
        ("POST", f"/v1/leases/{other['reservation']}/renew", None, 404, "not a handle"),
        ("DELETE", f"/v1/leases/{other['reservation']}", None, 404, "not a handle"),
        ("POST", f"/v1/leases/{'A' * len(handle)}/renew", None, 404, "not a handle"),
        ("POST", "/v1/leases", {"attributes": EXPORT, "id": "mine", "cost": 2}, 422, "another cost"),
    ]
    for method, path, body, status, words in cases:
        got, problem, _ = ask(holds, method, path, body)
        assert got == status and words in problem["detail"], (path, problem)
        assert state_of(holds) == before, path
    assert ask(holds, "DELETE", f"/v1/leases/{handle}")[0] == 204
    status, gone, _ = ask(holds, "POST", f"/v1/leases/{handle}/renew")
    assert status == 410 and "acquire another one" in gone["detail"], gone
    status, gone, _ = ask(holds, "POST", "/v1/leases", {"attributes": EXPORT, "id": "mine"})
    assert status == 410 and "use another id" in gone["detail"], gone


def test_what_is_wrong_about_a_reservation_is_told_and_changes_nothing(holds):
    _, made, _ = ask(holds, "POST", "/v1/reservations", {"attributes": EXPORT, "amount": 40, "id": "job-1"})
    _, lease, _ = ask(holds, "POST", "/v1/leases", {"attributes": EXPORT})
    path, before = f"/v1/reservations/{made['reservation']}", state_of(holds)
    cases = [
        (path + "/commit", {"actual": -1}, 400, "actual: must be"),
        (path + "/commit", {"actual": 2**63}, 400, "actual: must be"),
        (path + "/commit", {"actual": 1.5}, 400, "actual: must be"),
        (path + "/commit", {}, 400, "actual: is missing"),
        (path + "/extend", {"add": -1}, 400, "add: must be"),
        (path + "/extend", {"ttl_ms": 0}, 400, "ttl_ms: must be"),
        (path + "/extend", {"ttl_ms": YEAR_MS}, 400, "ttl_ms: must be"),
        (path + "/extend", {"add": 61}, 429, "units"),
        (f"/v1/reservations/{lease['lease']}/commit", {"actual": 1}, 404, "not a handle"),
        ("/v1/reservations/made-up/release", None, 404, "not a handle"),
        ("/v1/reservations", {"attributes": EXPORT, "amount": 41, "id": "job-1"}, 422, "another amount"),
    ]
    for where, body, status, words in cases:
        got, problem, _ = ask(holds, "POST", where, body)
        assert got == status and words in json.dumps(problem), (where, body, problem)
        assert state_of(holds) == before, (where, body)
    assert ask(holds, "POST", "/v1/reservations", {"attributes": EXPORT, "amount": 40, "id": "job-1"})[0] == 200
    assert ask(holds, "POST", path + "/release")[0] == 200
    released = state_of(holds)
    status, problem, _ = ask(holds, "POST", path + "/commit", {"actual": 3})
    assert status == 409 and "released" in problem["detail"] and "nothing has changed" in problem["detail"], problem
    assert state_of(holds) == released


QUOTA = "{id: exports, match: {action: export}, per: [tenant], algorithm: quota, limit: 10, period: month, enforcement: strict}"


@pytest.mark.parametrize("change, where", [
    ({"timezone": "Mars/Olympus"}, "timezone:"),
    ({"timezone": "../../etc/passwd"}, "timezone:"),
    ({"anchor_day": 32}, "anchor_day:"),
    ({"anchor_day": 0}, "anchor_day:"),
    ({"anchor_day": "mon"}, "anchor_day:"),
    ({"period": "fortnight"}, "period:"),
    ({"limit": -1}, "limit:"),
    ({"limit": 1.5}, "limit:"),
    ({"limit": 2**63}, "limit:"),
    ({"grace": "-5%"}, "grace:"),
    ({"grace": "1.5%"}, "grace:"),
    ({"notify": "[0%]"}, "notify"),
    ({"overage": "maybe"}, "overage:"),
    ({"enforcement": "loose"}, "enforcement:"),
    ({"on_store_failure": "allow"}, "on_store_failure:"),
    ({"plan_change": "later"}, "plan_change:"),
])
def test_rules_that_no_calendar_or_ledger_has_are_named_by_line_and_field(tmp_path, change, where):
    fields = {"id": "exports", "per": "[tenant]", "algorithm": "quota", "limit": 10, "period": "month", "enforcement": "strict"}
    fields.update(change)
    path = tmp_path / "rules.yaml"
    path.write_text("version: 1\nrules:\n  - {" + ", ".join(f"{name}: {value}" for name, value in fields.items()) + "}\n")
    done = weir("rules", "validate", str(path))
    said = done.stdout + done.stderr
    assert done.returncode != 0 and f"{path}:3:" in said and where in said and "expected" in said, said


@pytest.fixture
def quota(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(f"version: 1\nrules: [{QUOTA}]\n")
    server = start("--rules", str(tmp_path / "rules.yaml"), "--data-dir", str(tmp_path / "state"))
    wait_usable(server)
    assert ask(server, "POST", "/v1/check", {"attributes": EXPORT, "cost": 4})[0] == 200
    return server


def accounts(server, tenant="acme"):
    return ask(server, "GET", f"/v1/quotas?tenant={tenant}")[1]["quotas"]


def entries(tmp_path):
    return len(weir("quota", "export", "--data-dir", str(tmp_path / "state")).stdout.splitlines())


BAD_QUOTAS = [
    ("POST", "/v1/check", {"attributes": EXPORT, "cost": -1}, 400, "cost: must be"),
    ("POST", "/v1/check", {"attributes": EXPORT, "cost": 1.5}, 400, "cost: must be"),
    ("POST", "/v1/check", {"attributes": EXPORT, "cost": 2**63}, 400, "cost: must be"),
    ("POST", "/v1/check", {"attributes": EXPORT, "cost": 11}, 429, "cost_too_large"),
    ("POST", "/v1/usage", {"attributes": EXPORT, "amount": -1}, 400, "amount"),
    ("POST", "/v1/usage", {"attributes": EXPORT, "amount": 1.5}, 400, "amount"),
    ("POST", "/v1/usage", {"attributes": EXPORT, "amount": 2**63}, 400, "amount"),
    ("POST", "/v1/usage", {"attributes": EXPORT, "amount": 1, "id": "old", "at": "2020-01-01T00:00:00Z"}, 400, "closed; correct it in the open period"),
    ("POST", "/v1/usage", {"attributes": EXPORT, "amount": 1, "at": "soon"}, 400, "at"),
    ("POST", "/v1/usage", {"attributes": EXPORT, "amount": 1, "id": "x" * 10_240}, 400, "id"),
    ("POST", "/v1/reservations", {"attributes": EXPORT, "amount": 0}, 400, "amount"),
    ("POST", "/v1/reservations", {"attributes": EXPORT, "amount": 11}, 429, "cost_too_large"),
    ("GET", "/v1/quotas", None, 400, "tenant: is missing"),
    ("GET", "/v1/quotas?tenant=acme&color=red", None, 400, "unknown query parameter"),
]


def test_what_no_quota_takes_is_refused_and_changes_nothing(quota, tmp_path):
    before = accounts(quota), entries(tmp_path)
    for method, path, body, status, words in BAD_QUOTAS:
        got, problem, _ = ask(quota, method, path, body)
        assert got == status and words in json.dumps(problem), (path, body, problem)
        assert accounts(quota) == before[0], (path, body)
    assert entries(tmp_path) == before[1]


def test_an_unknown_tenant_has_no_accounts_and_gets_none(quota, tmp_path):
    before = entries(tmp_path)
    assert accounts(quota, "nobody") == []
    where = ["--data-dir", str(tmp_path / "state")]
    for verb in ("grant", "adjust"):
        done = weir("quota", verb, "exports", "tenant=nobody", "--amount", "3", "--reason", "r", *where)
        assert done.returncode == 3 and "no account" in done.stderr, done.stderr
    admin = Admin(quota.admin)
    status, problem, _ = admin.call("GET", "/tenants/nobody")
    assert status == 404 and "nobody" in problem["detail"], problem
    assert entries(tmp_path) == before


def test_a_caller_sees_and_charges_only_its_own_tenant(start, tmp_path):  # noqa: F811
    (tmp_path / "rules.yaml").write_text(f"version: 1\nrules: [{QUOTA}]\n")
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "weir.yaml").write_text(
        "rules: rules.yaml\nidentity:\n  apply: [http]\n  jwt_secret_file: secret\n  attributes: {tenant: jwt:org}\n")
    server = start("--config", str(tmp_path / "weir.yaml"), "--data-dir", str(tmp_path / "state"))
    wait_usable(server)
    acme, other = (token({"org": name, "exp": int(time.time()) + 600}) for name in ("acme", "other"))
    check = {"attributes": {**EXPORT, "authorization": "Bearer " + acme}, "cost": 4}
    assert ask(server, "POST", "/v1/check", check)[0] == 200
    own = f"/v1/quotas?authorization=Bearer%20{acme}"
    assert [each["used"] for each in ask(server, "GET", own)[1]["quotas"]] == [4]
    assert ask(server, "GET", own + "&tenant=acme")[0] == 200
    cases = [
        (f"/v1/quotas?tenant=acme&authorization=Bearer%20{other}", 403, "not the caller's"),
        ("/v1/quotas?tenant=acme", 403, "not the caller's"),
        ("/v1/quotas?tenant=acme&authorization=Bearer%20nonsense", 403, "not accepted"),
    ]
    for path, status, words in cases:
        got, problem, _ = ask(server, "GET", path)
        assert got == status and words in problem["detail"], (path, problem)
    usage = {"attributes": {**EXPORT, "authorization": "Bearer " + other}, "amount": 3}
    assert ask(server, "POST", "/v1/usage", usage)[0] == 200
    assert [each["used"] for each in ask(server, "GET", own)[1]["quotas"]] == [4], "the tenant is that of the token"
    got, problem, _ = ask(server, "POST", "/v1/usage", {"attributes": {**EXPORT, "authorization": "Bearer x"}, "amount": 3})
    assert got == 403 and "not accepted" in problem["detail"], problem
