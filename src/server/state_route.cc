#include "server/state_route.h"

#include <string>

#include "admin/json_writer.h"
#include "server/version.h"

namespace weir::server {
namespace {

using admin::JsonWriter;

void write_store(JsonWriter& out, const observe::Facts& facts) {
  out.begin_object("store");
  out.member("name", facts.remote_store ? std::string_view("redis") : facts.store_name);
  const bool ok = !facts.remote_store || facts.remote_store->breaker == observe::RemoteStoreFacts::Breaker::closed;
  out.member("ok", ok);
  out.member("keys", facts.store_keys);
  out.end_object();
}

void write_database(JsonWriter& out, const DatabaseModule& databases) {
  out.begin_object("database");
  out.member("kind", databases.kind());
  const bool has_one = databases.database() != nullptr;
  const database::Health health = has_one ? databases.database()->health() : database::Health{};
  out.member("ok", !has_one || (health.connected && databases.is_ready()));
  out.member("detail", health.trouble);
  out.end_object();
}

void write_control(JsonWriter& out, const control::ChangeWatch* watch, Clock& clock) {
  out.begin_object("control");
  const Duration age = watch == nullptr ? Duration(0) : std::max(watch->age(), Duration(0));
  out.member("synced_at", watch != nullptr && watch->synced() ? std::optional(clock.wall() - age) : std::nullopt);
  out.member("age_ms", ceil_ms(age));
  out.member("stale", watch != nullptr && watch->is_stale());
  out.end_object();
}

std::string describe_state(ServerContext& context, AdminToolsModule& tools, const ConnectionsModule& connections) {
  const observe::Facts facts = context.facts();
  JsonWriter out;
  out.begin_object();
  out.member("node", tools.node());
  out.member("version", kVersion);
  out.member("started_at", context.started);
  out.member("uptime_ms", ceil_ms(std::max(context.clock->wall() - context.started, Duration(0))));
  out.member("region", context.config.region_name.empty() ? std::optional<std::string>() : context.config.region_name);
  out.member("loops", context.loops->size());
  write_store(out, facts);
  write_database(out, tools.databases());
  write_control(out, tools.watch(), *context.clock);
  out.begin_object("memory");
  out.member("buckets_bytes", facts.store_bytes);
  out.member("buckets_max_bytes", facts.store_max_bytes);
  out.member("connections_bytes", facts.connection_bytes);
  out.member("connections_max_bytes", facts.connection_max_bytes);
  out.end_object();
  out.begin_object("listeners");
  for (const auto& [name, address] : connections.addresses()) out.member(name, address);
  out.end_object();
  out.begin_object("clock");
  out.member("offset_ms", ceil_ms(facts.clock_ahead));
  out.end_object();
  out.end_object();
  return out.take();
}

}  // namespace

void add_state_route(admin::Api& api, ServerContext& context, AdminToolsModule& tools,
                     const ConnectionsModule& connections) {
  api.get("/state", [&context, &tools, &connections](admin::Call& call) {
    call.answer(admin::json_answer(describe_state(context, tools, connections)));
  });
}

}  // namespace weir::server
