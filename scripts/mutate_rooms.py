"""Which tests are run for a fault in a room: the table of scripts/mutate.py.

`nearest` are the programs that test the room: its own first, then those of rooms that depend on it. `further` is the
part of `make test` that could also notice a fault there, the most likely first: contracts, differential tests and
simulations, and files of tests/e2e, which start the whole server.
"""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Room:
    folder: str
    nearest: list
    further: list = field(default_factory=list)


def e2e(*names):
    return [f"tests/e2e/test_{name}.py" for name in names]


ROOMS = {
    "base": Room("src/base", ["base_tests", "rules_tests", "identity_tests", "envoy_tests", "http_tests", "server_tests"],
                 ["control_tests", "database_tests", "http2_tests", "resp_tests", "spop_tests", "cli_tests",
                  *e2e("bad_input", "data_dir")]),
    "keys": Room("src/keys", ["keys_tests", "engine_tests"],
                 ["library_tests", "server_tests", "redis_subject_tests", *e2e("rotation", "leases", "subjects")]),
    "algorithms": Room("src/algorithms", ["algorithms_tests", "memory_contract_tests", "memory_tests",
                                          "published_cases_tests"],
                       ["redis_differential_tests", "leased_tests", "synced_tests", "engine_tests", "sim_tests",
                        "redis_contract_tests"]),
    "rules": Room("src/rules", ["rules_tests", "engine_tests", "cli_tests"],
                  ["advise_tests", "library_tests", "server_tests", *e2e("rule_advice", "envoy_import", "bad_input")]),
    "memory": Room("src/stores/memory", ["memory_tests", "memory_contract_tests", "engine_tests"],
                   ["redis_differential_tests", "library_tests", "server_tests", *e2e("memory_bound", "time")]),
    "leased": Room("src/stores/leased", ["leased_tests", "sim_tests"],
                   ["scale_tests", "server_tests", *e2e("consistency", "consistency_faults")]),
    "synced": Room("src/stores/synced", ["synced_tests", "sim_tests", "redis_member_tests"],
                   ["server_tests", *e2e("consistency", "consistency_faults")]),
    "regions": Room("src/regions", ["regions_tests"], ["server_tests", *e2e("regions")]),
    "engine": Room("src/engine", ["engine_tests", "library_tests", "http_tests", "server_tests"],
                   ["quota_gate_tests", "grpc_tests", "envoy_tests", "resp_tests", "sim_tests",
                    *e2e("accounts", "candidates", "protection", "leases", "reservations", "redis", "rotation", "time", "quotas")]),
    "redis": Room("src/stores/redis", ["redis_tests", "redis_connection_tests", "redis_overload_tests",
                                       "redis_standalone_tests", "redis_contract_tests", "redis_differential_tests",
                                       "redis_fault_tests", "redis_clock_tests", "redis_sentinel_tests",
                                       "redis_cluster_tests"],
                  ["redis_lease_tests", "redis_subject_tests", "redis_member_tests", "redis_library_tests",
                   *e2e("redis", "redis_causes", "redis_limits", "redis_inspect", "redis_tls", "once_redis")]),
    "identity": Room("src/identity", ["identity_tests", "server_tests"],
                     e2e("identity", "gateway_identity", "identity_everywhere", "ambiguous_requests",
                         "route_spellings", "subjects", "login")),
    "render": Room("src/frontends/render", ["render_tests", "http_tests", "spop_tests"],
                   ["envoy_tests", "grpc_tests", *e2e("headers", "candidates", "openapi")]),
    "http": Room("src/frontends/http", ["http_tests", "server_tests"],
                 ["admin_tests", *e2e("bad_input", "listeners", "headers", "ambiguous_requests", "openapi", "clients",
                                      "reservations")]),
    "http2": Room("src/frontends/http2", ["http2_tests", "grpc_tests"],
                  ["grpc_client_tests", *e2e("http2_clients", "http2_proxies")]),
    "envoy": Room("src/frontends/envoy", ["envoy_tests", "grpc_tests"],
                  ["http_tests", "grpc_client_tests", *e2e("envoy", "envoy_charging", "envoy_clients")]),
    "grpc": Room("src/frontends/grpc", ["grpc_tests", "grpc_client_tests"],
                 ["envoy_tests", "server_tests", *e2e("envoy", "clients", "leases", "reservations", "traces")]),
    "resp": Room("src/frontends/resp", ["resp_tests", "published_cases_tests"],
                 ["server_tests", *e2e("failed_logins", "listeners", "floods")]),
    "spop": Room("src/frontends/spop", ["spop_tests"], ["server_tests", *e2e("haproxy_identity", "gateways")]),
    "transport": Room("src/frontends/transport", ["transport_tests", "http_tests", "server_tests"],
                      ["resp_tests", "grpc_tests", *e2e("tls", "proxy_protocol", "unix_sockets", "connection_memory")]),
    "observe": Room("src/observe", ["observe_tests", "server_tests"], e2e("decision_log", "traces", "metrics_files")),
    "database": Room("src/database", ["database_tests", "database_contract_tests", "postgres_fault_tests"],
                     ["ledger_contract_tests", "control_tests"]),
    "ledger": Room("src/ledger", ["ledger_tests", "ledger_contract_tests", "ledger_concurrency_tests"],
                   e2e("quotas", "accounts", "quota_faults")),
    "server": Room("src/server", ["server_tests", *e2e(
        "listeners", "identity", "redis", "leases", "tls", "login", "rotation", "failed_logins", "headers",
        "memory_bound", "decision_log", "secret_warnings", "unix_sockets", "proxy_protocol", "time")],
                   e2e("operators", "consistency", "traces", "protection", "data_dir")),
    "cli": Room("src/cli", ["cli_tests", *e2e("cli", "cli_tls", "leases", "envoy_import")],
                e2e("traffic_cli", "rule_advice", "simulate", "quotas")),
}
