#include "server/config.h"

#include <algorithm>

#include "control/actor.h"
#include "database/location.h"
#include "frontends/render/decision_headers.h"
#include "frontends/transport/endpoint.h"
#include "rules/compile/fault_list.h"
#include "server/config_file.h"
#include "server/config_value.h"
#include "server/identity_settings.h"
#include "server/listener_settings.h"
#include "server/listener_tls.h"
#include "server/redis_settings.h"
#include "server/region_settings.h"
#include "stores/redis/url.h"

namespace weir::server {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;

// Sections of later versions, which this one does not have.
constexpr std::string_view kLater[] = {"ledger"};

// Settings that others have replaced, and how to write what they said.
constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
    {"http.legacy_headers", "http.headers: [ietf, x-ratelimit]"},
};

Failure bad(std::string message) { return {Code::invalid_argument, std::move(message)}; }

const ConfigField* field_named(std::string_view name) {
  for (const ConfigField& field : config_fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// " (did you mean listen.http?)" or nothing.
std::string field_suggestion(std::string_view name) {
  std::vector<std::string_view> known;
  for (const ConfigField& field : config_fields()) known.push_back(field.name);
  return rules::suggestion(name, known);
}

bool is_section(std::string_view name) {
  return std::any_of(config_fields().begin(), config_fields().end(), [&](const ConfigField& field) {
    return field.name.starts_with(name) && field.name.substr(name.size()).starts_with('.');
  });
}

// The text may contain a password: only what is before the first colon is shown.
Result<std::string> read_store(const std::string& text) {
  if (text == "memory") return text;
  if (redis::is_redis_url(text)) {
    const Result<redis::RedisOptions> options = redis::parse_redis_url(text);
    if (!options.ok()) return options.failure();
    return text;
  }
  const std::size_t colon = text.find(':');
  const std::string shown = colon == std::string::npos ? text : text.substr(0, colon) + ":…";
  return bad("is '" + (shown.find('@') == std::string::npos ? shown : "…") + "', expected memory or redis://host:port");
}

Result<std::string> read_choice(const ConfigField& field, const std::string& text) {
  std::string_view rest = field.choices;
  while (!rest.empty()) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, bar) == text) return text;
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  std::string choices(field.choices);
  for (std::size_t at; (at = choices.find('|')) != std::string::npos;) choices.replace(at, 1, " or ");
  return bad("is '" + text + "', expected " + choices);
}

Result<std::string> read_address(const std::string& text, const std::filesystem::path& folder) {
  const Result<transport::Endpoint> endpoint = transport::parse_endpoint(text);
  if (!endpoint.ok()) return endpoint.failure();
  if (endpoint.value().kind == transport::Endpoint::Kind::local)
    return "unix:" + (folder / endpoint.value().path).string();
  return text;
}

Result<std::string> read_text(const ConfigField& field, const std::string& text, const std::filesystem::path& folder) {
  switch (field.kind) {
    case FieldKind::address:
      return read_address(text, folder);
    case FieldKind::store:
      return read_store(text);
    case FieldKind::text:
      if (text.size() > kMaxTokenBytes) return bad("is longer than 4096 bytes");
      return text;
    default:
      return read_choice(field, text);
  }
}

template <typename T>
Status store_in(T& target, Result<T> read) {
  if (!read.ok()) return read.failure();
  target = std::move(read).value();
  return success();
}

Status set_pairs(std::vector<NamedText>& target, const Result<std::vector<std::pair<std::string, std::string>>>& read) {
  if (!read.ok()) return read.failure();
  std::vector<NamedText> pairs;
  for (const auto& [name, text] : read.value()) {
    const auto is_same = [&wanted = name](const NamedText& known) { return known.name == wanted; };
    if (std::any_of(pairs.begin(), pairs.end(), is_same)) return bad("has '" + name + "' twice");
    if (name.empty() || text.empty() || name.size() + text.size() > kMaxTokenBytes) {
      return bad("has an entry that is empty or over 4096 bytes");
    }
    pairs.push_back({name, text});
  }
  target = std::move(pairs);
  return success();
}

Status set_list(std::vector<std::string>& target, Result<std::vector<std::string>> read) {
  if (!read.ok()) return read.failure();
  for (const std::string& entry : read.value()) {
    if (entry.empty() || entry.size() > kMaxTokenBytes) return bad("has an entry that is empty or over 4096 bytes");
  }
  return store_in(target, std::move(read));
}

// Reads one field from its text; `folder` is what a relative path is relative to.
Status set_field(Config& config, const ConfigField& field, const std::string& text,
                 const std::filesystem::path& folder) {
  return std::visit(
      [&](auto member) -> Status {
        auto& target = config.*member;
        using T = std::remove_reference_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          return store_in(target, parse_switch(text));
        } else if constexpr (std::is_same_v<T, Duration>) {
          return store_in(target, parse_duration(text, Duration(field.least), Duration(field.most)));
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          if (field.kind == FieldKind::share) return store_in(target, parse_share(text));
          return store_in(target, field.kind == FieldKind::size ? parse_size(text, field.least, field.most)
                                                                : parse_count(text, field.least, field.most));
        } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
          if (text.find('\0') != std::string::npos) return bad("has a NUL byte, expected a path");
          const bool is_word = field.name == "rules.path" && text == kRulesInDatabase;
          target = text.empty() ? std::filesystem::path() : is_word ? std::filesystem::path(text) : folder / text;
          return success();
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return set_list(target, parse_list(text));
        } else if constexpr (std::is_same_v<T, std::vector<NamedText>>) {
          return set_pairs(target, parse_pairs(text));
        } else {
          return store_in(target, read_text(field, text, folder));
        }
      },
      field.member);
}

Failure at(std::string_view place, const Failure& failure) {
  return {failure.code, std::string(place) + ": " + failure.message};
}

Status apply_defaults(Config& config) {
  for (const ConfigField& field : config_fields()) {
    if (Status status = set_field(config, field, std::string(field.default_text), {}); !status.ok()) {
      return at(field.name, status.failure());
    }
  }
  return success();
}

void note_place(Config& config, std::string name, std::string place) {
  config.places.push_back({std::move(name), std::move(place)});
}

Status apply_map(Config& config, const ConfigField& field, const FileEntry& entry) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const FileEntry& each : entry.entries) {
    pairs.emplace_back(each.name, each.texts.front());
    note_place(config, entry.name + "." + each.name, each.place);
  }
  return set_pairs(config.*std::get<std::vector<NamedText> Config::*>(field.member), std::move(pairs));
}

Status apply_entry(Config& config, const FileEntry& entry, const std::filesystem::path& folder) {
  const std::string top = entry.name.substr(0, entry.name.find('.'));
  if (std::find(std::begin(kLater), std::end(kLater), top) != std::end(kLater)) {
    return bad(entry.place + ": " + top + ": is not supported by this version yet");
  }
  for (const auto& [name, by] : kReplaced) {
    if (entry.name == name) return bad(entry.place + ": " + entry.name + ": is now written " + std::string(by));
  }
  const ConfigField* field = field_named(entry.name);
  if (field == nullptr && !entry.texts.empty() && !entry.list) field = field_named(entry.name + ".path");
  if (field == nullptr) {
    if (entry.texts.empty() && !entry.list && !entry.map && is_section(entry.name)) return success();
    if (is_section(entry.name)) return bad(entry.place + ": " + entry.name + ": is a value, expected a map");
    return bad(entry.place + ": " + entry.name + ": is not a field" + field_suggestion(entry.name) +
               "; `weir serve --help` lists them");
  }
  const std::string place = entry.place + ": " + entry.name;
  note_place(config, std::string(field->name), entry.place);
  if (field->kind == FieldKind::pairs && entry.map) {
    Status status = apply_map(config, *field, entry);
    return status.ok() ? status : Status(at(place, status.failure()));
  }
  if (entry.map) return bad(place + ": is a map, expected a value");
  if (field->kind == FieldKind::list && entry.list) {
    Status status = set_list(config.*std::get<std::vector<std::string> Config::*>(field->member), entry.texts);
    return status.ok() ? status : Status(at(place, status.failure()));
  }
  if (entry.list) return bad(place + ": is a list, expected one value");
  if (entry.texts.empty()) return bad(place + ": is a map, expected one value");
  Status status = set_field(config, *field, entry.texts.front(), folder);
  return status.ok() ? status : Status(at(place, status.failure()));
}

Status apply_file(Config& config, const std::filesystem::path& file) {
  const Result<std::vector<FileEntry>> entries = read_config_file(file);
  if (!entries.ok()) return entries.failure();
  for (const FileEntry& entry : entries.value()) {
    if (Status status = apply_entry(config, entry, file.parent_path()); !status.ok()) return status;
  }
  return success();
}

Status apply_variables(Config& config, const ConfigSources& sources) {
  if (!sources.variable) return success();
  for (const ConfigField& field : config_fields()) {
    const std::string name = variable_of(field);
    const char* text = sources.variable(name);
    if (text == nullptr || *text == '\0') continue;
    if (Status status = set_field(config, field, text, {}); !status.ok()) return at(name, status.failure());
    note_place(config, std::string(field.name), name);
  }
  return success();
}

Status apply_flags(Config& config, const ConfigSources& sources) {
  for (const auto& [name, text] : sources.flags) {
    const ConfigField* field = field_named(name);
    if (field == nullptr) return bad(name + ": is not a field");
    if (Status status = set_field(config, *field, text, {}); !status.ok()) return at(flag_of(*field), status.failure());
    note_place(config, name, flag_of(*field));
  }
  return success();
}

Status check_proxy_protocol(const Config& config) {
  for (const std::string& name : config.listen_proxy_protocol) {
    if (name == "http" || name == "grpc" || name == "resp") continue;
    constexpr std::string_view kKnown[] = {"http", "grpc", "resp"};
    const Failure failure = bad("listen.proxy_protocol: has the entry '" + name + "'" +
                                rules::suggestion(name, kKnown) + ", expected http, grpc or resp");
    return at(place_of(config, "listen.proxy_protocol"), failure);
  }
  return success();
}

// A format without a path is a mistake: the quickstart rules must not be loaded silently.
Status check_rules(const Config& config) {
  if (!config.rules_path.empty() || config.rules_format == "weir") return success();
  const Failure failure = bad("rules.format: is '" + config.rules_format + "', but rules.path is not set");
  return at(place_of(config, "rules.format"), failure);
}

// A gateway's time would be ignored silently.
Status check_time(const Config& config) {
  constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  const std::string& header = config.redis_time_header;
  if (header.empty() || header.find_first_not_of(kNameCharacters) != std::string::npos) {
    const Failure failure = bad("redis.time_header: is '" + header + "', expected a header's name");
    return at(place_of(config, "redis.time_header"), failure);
  }
  if (config.redis_time != "gateway" || uses_redis(config)) return success();
  return at(place_of(config, "redis.time"), bad("redis.time: is 'gateway', but the store is not Redis"));
}

Status check_namespace(const Config& config) {
  const std::string& name = config.redis_namespace;
  if (name.empty()) return success();
  const auto fault = [&](const std::string& what) {
    return at(place_of(config, "redis.namespace"), bad("redis.namespace: is '" + name + "', " + what));
  };
  if (!redis::is_namespace(name)) return fault("expected at most 64 letters, digits, '.', '_' and '-'");
  if (!uses_redis(config)) return fault("but the store is not Redis");
  return success();
}

Status check_node_name(const Config& config) {
  const std::string& name = config.node_name;
  if (name.empty() || redis::is_namespace(name)) return success();
  const Failure failure = bad("node.name: is '" + name + "', expected at most 64 letters, digits, '.', '_' and '-'");
  return at(place_of(config, "node.name"), failure);
}

// Systemd makes the first, and several folders may be in it.
std::filesystem::path default_data_dir(const ConfigSources& sources) {
  const auto variable = [&](const char* name) -> std::string_view {
    const char* const text = sources.variable ? sources.variable(name) : nullptr;
    return text == nullptr ? std::string_view() : std::string_view(text);
  };
  if (const std::string_view folders = variable("STATE_DIRECTORY"); !folders.empty()) {
    return folders.substr(0, folders.find(':'));
  }
  const std::filesystem::path state = variable("XDG_STATE_HOME");
  if (state.is_absolute()) return state / "weir";
  const std::filesystem::path home = variable("HOME");
  return home.is_absolute() ? home / ".local" / "state" / "weir" : std::filesystem::path();
}

Status check_database(const Config& config) {
  const auto fault = [&](std::string_view name, const std::string& what) {
    return at(place_of(config, name), bad(std::string(name) + ": " + what));
  };
  const Result<database::Location> location = database::parse_location(config.database, config.data_dir);
  if (!location.ok()) return fault("database", location.failure().message);
  if (config.quota_keep > Duration::zero() && config.quota_keep < std::chrono::hours(24)) {
    return fault("quota.keep",
                 "is shorter than a day, and periods are closed a day after their end; expected 0s or 1d "
                 "and more");
  }
  if (!rules_in_database(config)) return success();
  if (location.value().kind == database::Location::Kind::off) {
    return fault("rules.path", "is 'database', but database is off");
  }
  if (config.rules_format == "weir") return success();
  return fault("rules.format", "is '" + config.rules_format + "', but rules in the database are in Weir's own format");
}

Status check_admin_certificates(const Config& config) {
  if (config.admin_certificates.empty()) return success();
  const auto has = [](const std::vector<std::string>& listeners) {
    return std::find(listeners.begin(), listeners.end(), "admin") != listeners.end();
  };
  if (config.tls_client_ca.empty() || !has(config.tls_listeners) || !has(config.tls_client_listeners)) {
    return at(place_of(config, "admin.certificates"),
              bad("admin.certificates: needs tls.client_ca, and admin in tls.listeners and tls.client_listeners"));
  }
  for (const NamedText& each : config.admin_certificates) {
    if (control::role_from_name(each.text)) continue;
    const Failure failure = bad("admin.certificates: '" + each.name + "' has the role '" + each.text +
                                "', expected reader, operator or admin");
    return at(place_of(config, "admin.certificates." + each.name), failure);
  }
  return success();
}

Status check_headers(const Config& config) {
  const Result<render::HeaderOptions> read = render::parse_header_names(config.http_headers);
  if (read.ok()) return success();
  return at(place_of(config, "http.headers"), bad("http.headers: " + read.failure().message));
}

// A message that could never get its memory would always be refused.
Status check_connection_memory(const Config& config) {
  const std::size_t least = least_connection_memory(config);
  if (static_cast<std::size_t>(config.connection_memory) >= least) return success();
  const Failure failure =
      bad("connection_memory: is " + std::to_string(config.connection_memory) + " bytes, expected at least " +
          std::to_string(least) + ": a request with a body of http.body_bytes would not fit");
  return at(place_of(config, "connection_memory"), failure);
}

// Variables of other verbs and of other programs: Kubernetes makes WEIR_PORT… and WEIR_SERVICE_… for a service of the
// name weir.
bool is_foreign_variable(std::string_view name) {
  constexpr std::string_view kOthers[] = {"WEIR_CONFIG", "WEIR_SERVER", "WEIR_ADMIN",      "WEIR_CA",  "WEIR_CERT",
                                          "WEIR_KEY",    "WEIR_TOKEN",  "WEIR_TOKEN_FILE", "WEIR_BIN", "WEIR_PORT"};
  return std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers) ||
         name.starts_with("WEIR_PORT_") || name.starts_with("WEIR_SERVICE_") || name.starts_with("WEIR_TEST_");
}

void note_unknown_variables(Config& config, const ConfigSources& sources) {
  constexpr std::size_t kMaxNoted = 16;
  std::vector<std::string> known;
  for (const ConfigField& field : config_fields()) known.push_back(variable_of(field));
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string& name : sources.variable_names) {
    if (!name.starts_with("WEIR_") || is_foreign_variable(name)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (config.unknown_variables.size() == kMaxNoted) return;
    config.unknown_variables.push_back({name, rules::suggestion(name, names)});
  }
}

}  // namespace

std::string_view place_of(const Config& config, std::string_view name) {
  // Later sources win, so the last place is the one that counts.
  const auto found = std::find_if(config.places.rbegin(), config.places.rend(),
                                  [&](const NamedText& place) { return place.name == name; });
  return found == config.places.rend() ? std::string_view() : found->text;
}

Result<Config> load_config(const ConfigSources& sources) {
  Config config;
  if (Status status = apply_defaults(config); !status.ok()) return status.failure();
  if (!sources.file.empty()) {
    if (Status status = apply_file(config, sources.file); !status.ok()) return status.failure();
  }
  if (Status status = apply_variables(config, sources); !status.ok()) return status.failure();
  if (Status status = apply_flags(config, sources); !status.ok()) return status.failure();
  note_unknown_variables(config, sources);
  const std::string* const listeners[] = {&config.listen_http, &config.listen_grpc, &config.listen_resp,
                                          &config.listen_spop, &config.listen_admin};
  if (std::all_of(std::begin(listeners), std::end(listeners), [](const std::string* at) { return *at == kOff; })) {
    return bad("listen.http: is off and so are all other listeners: nothing would listen");
  }
  if (Status status = check_rules(config); !status.ok()) return status.failure();
  if (Status status = check_time(config); !status.ok()) return status.failure();
  if (Status status = check_namespace(config); !status.ok()) return status.failure();
  if (Status status = check_region_settings(config); !status.ok()) return status.failure();
  if (config.data_dir.empty()) config.data_dir = default_data_dir(sources);
  if (Status status = check_node_name(config); !status.ok()) return status.failure();
  if (Status status = check_database(config); !status.ok()) return status.failure();
  if (Status status = check_headers(config); !status.ok()) return status.failure();
  if (Status status = check_proxy_protocol(config); !status.ok()) return status.failure();
  if (Status status = check_identity_apply(config); !status.ok()) return status.failure();
  if (Status status = check_tls_settings(config); !status.ok()) return status.failure();
  if (Status status = check_connection_memory(config); !status.ok()) return status.failure();
  if (Status status = check_admin_certificates(config); !status.ok()) return status.failure();
  if (uses_redis(config)) {
    const Result<redis::RedisOptions> options = redis_options(config);
    if (!options.ok()) return options.failure();
  }
  return config;
}

}  // namespace weir::server
