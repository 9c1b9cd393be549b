#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <ostream>

#include "base/json_text.h"
#include "cli/attribute_args.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"
#include "engine/engine.h"
#include "keys/key_ring.h"
#include "server/config.h"
#include "server/config_value.h"
#include "server/redis_reader.h"
#include "server/redis_settings.h"
#include "stores/memory/memory_store.h"
#include "stores/redis/encoding.h"
#include "stores/redis/shared_hash_key.h"
#include "stores/redis/stored_bucket.h"

namespace weir::cli {
namespace {

constexpr const char* kInspectVerb = "weir redis inspect";
constexpr Duration kInspectPatience = std::chrono::seconds(5);
constexpr std::size_t kMaxInspected = 1'000;
constexpr std::size_t kShownEntries = 20;

struct InspectOptions {
  std::vector<std::string> words;
  std::string config;
  std::string store;
  std::string rules;
  std::string hash_key_file;
  std::string name_space;
  bool json = false;
};

// One key that was asked about. Of attributes, also the numbers that apply to them.
struct Inspected {
  std::string key;
  std::optional<Allowance> allowance;
  ChargeKind kind = ChargeKind::bucket;
  std::string note;  // which hash key, during a rotation
  server::StoredValue stored = {};
};

// A store that only writes down which buckets a decision would charge.
class KeyCollector final : public Store {
 public:
  KeyCollector(std::string key_prefix, std::string note, std::vector<Inspected>& into)
      : key_prefix_(std::move(key_prefix)), note_(std::move(note)), into_(into) {}

  bool begin(StoreCall& call) override {
    for (const Charge& charge : call.charges) {
      const std::string note = charge.candidate ? "candidate" + (note_.empty() ? "" : ", " + note_) : note_;
      into_.push_back({redis::bucket_name(charge, key_prefix_), *charge.allowance, charge.kind, note, {}});
    }
    for (ChargeOutcome& outcome : call.outcomes) outcome = {};
    return true;
  }
  bool immediate() const override { return true; }
  bool uses_tags() const override { return true; }
  std::string_view name() const override { return "none"; }

 private:
  const std::string key_prefix_;
  const std::string note_;
  std::vector<Inspected>& into_;
};

Result<server::Config> inspect_config(const InspectOptions& options) {
  server::ConfigSources sources;
  const char* const file = std::getenv("WEIR_CONFIG");
  sources.file = options.config.empty() && file != nullptr ? file : options.config;
  sources.variable = [](const std::string& name) -> const char* { return std::getenv(name.c_str()); };
  const auto add = [&sources](const char* field, const std::string& text) {
    if (!text.empty()) sources.flags.emplace_back(field, text);
  };
  add("store", options.store);
  add("rules.path", options.rules);
  add("hash_key_file", options.hash_key_file);
  add("redis.namespace", options.name_space);
  return server::load_config(sources);
}

// As the server gets them, but nothing is made where there is none.
Result<keys::KeyRing> inspect_keys(const server::Config& config, const redis::RedisOptions& options) {
  if (!config.hash_key_file.empty()) return keys::load_key_ring(config.hash_key_file);
  const std::string name = redis::hash_key_name(options);
  const Result<std::vector<server::StoredValue>> kept = server::read_stored(options, {&name, 1}, kInspectPatience);
  if (!kept.ok()) return kept.failure();
  const std::optional<HashKey> key =
      kept.value()[0].value ? keys::parse_hash_key(*kept.value()[0].value) : std::optional<HashKey>();
  if (!key) {
    return Failure{Code::not_found,
                   "Redis has no hash key (" + name + "): no server has used it, or it has another namespace"};
  }
  return keys::KeyRing{.current = *key, .previous = {}};
}

Status collect_keys(const server::Config& config, const redis::RedisOptions& options,
                    const std::vector<std::string>& words, std::vector<Inspected>& into) {
  const Result<AttributeArgs> args = AttributeArgs::parse(words);
  if (!args.ok()) return args.failure();
  if (config.rules_path.empty()) {
    return Failure{Code::invalid_argument, "attributes: expected the rules that they are for (--rules or --config)"};
  }
  auto book = std::make_shared<rules::RuleBook>();
  const auto format = rules::format_from_name(config.rules_format);
  if (Status loaded = book->load(config.rules_path, {}, format.value_or(rules::RulesFormat::weir)); !loaded.ok()) {
    return Failure{Code::invalid_argument, loaded.failure().message};
  }
  const Result<keys::KeyRing> ring = inspect_keys(config, options);
  if (!ring.ok()) return ring.failure();
  const std::vector<Attribute> attributes = args.value().attributes();
  const auto collect = [&](const HashKey& key, const char* note) {
    LimiterOptions limiter;
    limiter.store = std::make_shared<KeyCollector>(redis::key_prefix(options.name_space), note, into);
    limiter.clock = std::make_shared<ProcessClock>();
    limiter.hash_key = key;
    engine::Engine engine(book, limiter, std::make_shared<memory::MemoryStore>());
    Request request(attributes);
    request.peek = true;
    static_cast<void>(engine.check(request));
  };
  collect(ring.value().current, ring.value().previous ? "current hash key" : "");
  if (ring.value().previous) collect(*ring.value().previous, "previous hash key");
  return success();
}

std::string inspect_time(TimePoint time) {
  const std::time_t seconds = static_cast<std::time_t>(micros(time) / 1'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[96];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(micros(time) % 1'000'000 / 1'000));
  return text;
}

void append_text(std::string& json, std::string_view name, std::string_view text) {
  json += ",\"" + std::string(name) + "\":";
  base::append_json_string(json, text);
}
void append_number(std::string& json, std::string_view name, std::int64_t number) {
  json += ",\"" + std::string(name) + "\":" + std::to_string(number);
}

// What can be said of a value that is not a bucket of this version.
std::string unknown_value(const std::string& value) {
  std::string text = "not a bucket of this version: " + std::to_string(value.size()) + " bytes";
  if (value.empty()) return text;
  const auto first = static_cast<unsigned char>(value[0]);
  const bool is_letter = first > 0x20 && first < 0x7f;
  text +=
      is_letter ? std::string(", beginning with '") + value[0] + "'" : ", beginning with byte " + std::to_string(first);
  return text;
}

std::string_view kind_name(const redis::StoredBucket& bucket) {
  if (bucket.kind == ChargeKind::record) return "reservation";
  if (bucket.kind == ChargeKind::penalty) return "penalty";
  if (bucket.distinct) return "different values";
  return bucket.kind == ChargeKind::lease ? charge_kind_name(bucket.kind) : algorithm_name(bucket.algorithm);
}

std::string leases_json(const redis::StoredBucket& bucket) {
  std::string json = ",\"leases\":[";
  for (std::size_t i = 0; i < bucket.leases.size(); ++i) {
    json += i == 0 ? "{\"id\":" : ",{\"id\":";
    base::append_json_string(json, bucket.leases[i].id);
    append_number(json, "units", bucket.leases[i].units);
    append_number(json, "token", bucket.leases[i].token);
    append_number(json, "expires_ms", micros(bucket.leases[i].expires) / 1'000);
    json += "}";
  }
  return json + "]";
}

std::string holds_json(const redis::StoredBucket& bucket) {
  std::string json = ",\"reservations\":[";
  for (std::size_t i = 0; i < bucket.holds.size(); ++i) {
    const redis::StoredHold& hold = bucket.holds[i];
    json += i == 0 ? "{\"id\":" : ",{\"id\":";
    base::append_json_string(json, hold.id);
    append_number(json, "units", hold.units);
    append_number(json, "reserved_ms", micros(hold.reserved) / 1'000);
    append_number(json, "expires_ms", micros(hold.expires) / 1'000);
    json += '}';
  }
  return json + "]";
}

std::string record_json(const redis::StoredBucket& bucket) {
  std::string json;
  append_text(json, "state", reservation_state_name(bucket.record.state));
  append_number(json, "expires_ms", micros(bucket.record.expires) / 1'000);
  append_number(json, "actual", bucket.record.actual);
  append_number(json, "returned", bucket.record.returned);
  append_number(json, "debt", bucket.record.debt);
  append_number(json, "uncharged", bucket.record.uncharged);
  append_number(json, "idle_from_ms", micros(bucket.idle_from) / 1'000);
  return json;
}

std::string penalty_json(const redis::StoredBucket& bucket) {
  std::string json;
  append_number(json, "until_ms", micros(bucket.penalty.until) / 1'000);
  append_number(json, "strikes", bucket.penalty.strikes);
  append_number(json, "step", bucket.penalty.step);
  append_number(json, "idle_from_ms", micros(bucket.idle_from) / 1'000);
  return json;
}

std::string inspected_json(const Inspected& each) {
  std::string json = "{\"key\":";
  base::append_json_string(json, each.key);
  if (const auto name = redis::parse_bucket_name(each.key)) {
    if (!name->name_space.empty()) append_text(json, "namespace", name->name_space);
    append_text(json, "rule", name->rule);
    append_text(json, "subject", name->hash.substr(0, kSubjectDigits));
  }
  if (!each.note.empty()) append_text(json, "note", each.note);
  if (each.allowance) {
    append_number(json, "limit", each.allowance->limit);
    append_number(json, "window_ms", ceil_ms(each.allowance->window));
  }
  json += each.stored.value ? ",\"stored\":true" : ",\"stored\":false";
  if (!each.stored.problem.empty()) append_text(json, "error", each.stored.problem);
  if (!each.stored.value) return json + "}";
  append_number(json, "ttl_ms", each.stored.ttl_ms);
  const auto bucket = redis::parse_stored_bucket(*each.stored.value);
  if (!bucket) {
    append_text(json, "error", unknown_value(*each.stored.value));
    return json + "}";
  }
  append_text(json, "algorithm", kind_name(*bucket));
  append_number(json, "used", bucket->used);
  if (bucket->kind == ChargeKind::record) return json + record_json(*bucket) + "}";
  if (bucket->kind == ChargeKind::penalty) return json + penalty_json(*bucket) + "}";
  if (!bucket->holds.empty()) json += holds_json(*bucket);
  if (bucket->kind == ChargeKind::lease) {
    append_number(json, "idle_from_ms", micros(bucket->idle_from) / 1'000);
    return json + leases_json(*bucket) + "}";
  }
  if (bucket->algorithm == Algorithm::sliding_counter) append_number(json, "used_before", bucket->used_before);
  append_number(json, "last_change_ms", micros(bucket->last_change) / 1'000);
  append_number(json, "idle_from_ms", micros(bucket->idle_from) / 1'000);
  if (redis::keeps_entries(bucket->algorithm)) {
    json += ",\"entries\":[";
    for (std::size_t i = 0; i < bucket->entries.size(); ++i) {
      json += (i == 0 ? "{\"at_us\":" : ",{\"at_us\":") + std::to_string(micros(bucket->entries[i].at)) +
              ",\"units\":" + std::to_string(bucket->entries[i].units) + "}";
    }
    json += "]";
  }
  return json + "}";
}

void show_record(const Terminal& terminal, const redis::StoredBucket& bucket) {
  const redis::StoredReservation& record = bucket.record;
  terminal.out << "  reservation: " << reservation_state_name(record.state) << ", " << bucket.used << " granted";
  if (record.state == ReservationState::open) {
    terminal.out << ", expires at " << inspect_time(record.expires) << '\n';
  } else {
    terminal.out << ", actual " << record.actual << ", returned " << record.returned << ", debt " << record.debt
                 << ", uncharged " << record.uncharged << '\n';
  }
  terminal.out << "  known until " << inspect_time(bucket.idle_from) << '\n';
}

void show_holds(const Terminal& terminal, const redis::StoredBucket& bucket) {
  const std::size_t shown_holds = std::min(bucket.holds.size(), kShownEntries);
  for (std::size_t i = 0; i < shown_holds; ++i) {
    const redis::StoredHold& hold = bucket.holds[i];
    terminal.out << "  reservation " << hold.id.substr(0, kSubjectDigits) << ": " << hold.units << " until "
                 << inspect_time(hold.expires) << '\n';
  }
  if (bucket.holds.size() > shown_holds) {
    terminal.out << "  (" << bucket.holds.size() - shown_holds << " more reservations; --json shows all)\n";
  }
}

void show_penalty(const Terminal& terminal, const redis::StoredBucket& bucket) {
  terminal.out << "  penalty: step " << bucket.penalty.step << ", " << bucket.penalty.strikes << " strikes since";
  if (micros(bucket.penalty.until) > 0) terminal.out << ", until " << inspect_time(bucket.penalty.until);
  terminal.out << '\n';
}

void show_leases(const Terminal& terminal, const redis::StoredBucket& bucket) {
  terminal.out << '\n';
  for (const redis::StoredLease& lease : bucket.leases) {
    terminal.out << "  lease " << lease.id.substr(0, kSubjectDigits) << ": " << lease.units << " until "
                 << inspect_time(lease.expires) << ", token " << lease.token << '\n';
  }
}

void show_bucket(const Terminal& terminal, const redis::StoredBucket& bucket, const Inspected& each) {
  std::ostream& out = terminal.out;
  if (bucket.kind == ChargeKind::record) return show_record(terminal, bucket);
  if (bucket.kind == ChargeKind::penalty) return show_penalty(terminal, bucket);
  out << "  " << kind_name(bucket) << ": " << bucket.used << (bucket.kind == ChargeKind::lease ? " held" : " used");
  if (each.allowance) out << " of " << each.allowance->largest_cost();
  if (bucket.kind == ChargeKind::lease) return show_leases(terminal, bucket);
  if (bucket.algorithm == Algorithm::sliding_counter) out << ", " << bucket.used_before << " in the window before";
  out << " as of " << inspect_time(bucket.last_change) << '\n';
  out << "  full again at " << inspect_time(bucket.idle_from) << ", expires in " << each.stored.ttl_ms << " ms\n";
  const std::size_t first = bucket.entries.size() - std::min(bucket.entries.size(), kShownEntries);
  if (first > 0) out << "  (" << first << " earlier entries; --json shows all)\n";
  for (std::size_t i = first; i < bucket.entries.size(); ++i) {
    out << "  " << inspect_time(bucket.entries[i].at) << "  " << bucket.entries[i].units << '\n';
  }
  show_holds(terminal, bucket);
}

void show_inspected(const Terminal& terminal, const Inspected& each) {
  std::ostream& out = terminal.out;
  const auto name = redis::parse_bucket_name(each.key);
  out << terminal.paint(Colour::bold, name ? shown(name->rule) : shown(each.key));
  if (name) out << "  subject " << name->hash.substr(0, kSubjectDigits);
  if (each.allowance) {
    const bool at_a_time = each.kind == ChargeKind::lease;
    out << ", " << each.allowance->limit << (at_a_time ? " at a time, each for " : " per ")
        << server::duration_text(each.allowance->window);
  }
  if (!each.note.empty()) out << ", " << each.note;
  out << "\n  key " << shown(each.key) << '\n';
  if (!each.stored.problem.empty()) {
    out << "  " << terminal.paint(Colour::red, shown(each.stored.problem)) << '\n';
  } else if (!each.stored.value) {
    out << "  not stored: the bucket is full\n";
  } else if (const auto bucket = redis::parse_stored_bucket(*each.stored.value)) {
    show_bucket(terminal, *bucket, each);
  } else {
    out << "  " << terminal.paint(Colour::red, unknown_value(*each.stored.value)) << '\n';
  }
}

Result<std::vector<Inspected>> look_up(const InspectOptions& options) {
  const Result<server::Config> config = inspect_config(options);
  if (!config.ok()) return Failure{Code::invalid_argument, config.failure().message};
  if (!server::uses_redis(config.value())) {
    return Failure{Code::invalid_argument,
                   "store: the configuration does not use Redis, expected a store like redis://127.0.0.1:6379"};
  }
  const Result<redis::RedisOptions> redis = server::redis_options(config.value());
  if (!redis.ok()) return redis.failure();
  std::vector<Inspected> all;
  const auto is_key = [](const std::string& word) { return word.starts_with("w1:"); };
  if (std::all_of(options.words.begin(), options.words.end(), is_key)) {
    for (const std::string& key : options.words) all.push_back({key, {}, ChargeKind::bucket, "", {}});
  } else if (Status collected = collect_keys(config.value(), redis.value(), options.words, all); !collected.ok()) {
    return collected.failure();
  }
  if (all.size() > kMaxInspected) return Failure{Code::invalid_argument, "expected at most 1000 keys"};
  std::vector<std::string> names;
  for (const Inspected& each : all) names.push_back(each.key);
  Result<std::vector<server::StoredValue>> values = server::read_stored(redis.value(), names, kInspectPatience);
  if (!values.ok()) return values.failure();
  for (std::size_t i = 0; i < all.size(); ++i) all[i].stored = std::move(values.value()[i]);
  return all;
}

int inspect(const InspectOptions& options, const Terminal& terminal) {
  const Result<std::vector<Inspected>> found = look_up(options);
  if (!found.ok()) return report_failure(terminal, kInspectVerb, options.json, found.failure());
  if (options.json) {
    terminal.out << "{\"buckets\":[";
    for (std::size_t i = 0; i < found.value().size(); ++i) {
      terminal.out << (i == 0 ? "" : ",") << inspected_json(found.value()[i]);
    }
    terminal.out << "]}\n";
    return kExitAllowed;
  }
  if (found.value().empty()) terminal.out << "no rule counts this request\n";
  for (const Inspected& each : found.value()) show_inspected(terminal, each);
  return kExitAllowed;
}

}  // namespace

void add_redis_inspect(CLI::App& parent, Session& session) {
  Command verb(parent, "inspect", "Show what Redis holds for a request or under a key");
  const auto options = std::make_shared<InspectOptions>();
  verb.words("words", options->words, "Keys (w1:…), or the attributes of a request, name=value each").required();
  verb.text("--config", options->config, "The server's configuration file (variable WEIR_CONFIG)").value("PATH");
  verb.text("--store", options->store, "The store, as for weir serve (variable WEIR_STORE)").value("URL");
  verb.text("--rules", options->rules, "The rules, to find the keys of attributes").value("PATH");
  verb.text("--hash-key-file", options->hash_key_file, "The hash key, if it is not the one in Redis").value("PATH");
  verb.text("--namespace", options->name_space, "redis.namespace").value("NAME");
  verb.flag("--json", options->json, "For machines: {\"buckets\":[…]}, with every entry");
  verb.footer(
      "Reads only. Attributes are those that the rules see: with identity.hashed, the hash of an API key.\n\n"
      "Exit codes: 0 shown, 2 bad input or invalid rules, 3 Redis did not answer.\n\n"
      "Examples:\n"
      "  weir redis inspect --config weir.yaml tenant=acme action=login account=ada\n"
      "  weir redis inspect --store redis://127.0.0.1:6379 'w1:{9f…}:login:5a…' --json");
  verb.action(session, [&session, options] { return inspect(*options, session.terminal); });
}

}  // namespace weir::cli
