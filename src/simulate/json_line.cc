#include "simulate/json_line.h"

#include <simdjson.h>

#include <optional>

#include "simulate/text_lines.h"
#include "simulate/text_scan.h"

namespace weir::simulate {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kHeaderPrefix = "request_";
constexpr std::string_view kCaddyHeaders = "request.headers";

std::size_t slot_of(std::string_view name) { return (name.size() * 7 + static_cast<unsigned char>(name.front())) % 64; }

// Text, a number or a truth value as text; nothing for null, objects and empty lists. Of a list, its first entry.
std::optional<std::string_view> scalar(ondemand::value value) {
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return std::nullopt;
  if (type == ondemand::json_type::string) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
    return text;
  }
  if (type == ondemand::json_type::number || type == ondemand::json_type::boolean) {
    std::string_view text;
    text = value.raw_json_token();
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
    return text;
  }
  if (type == ondemand::json_type::array) {
    ondemand::array list;
    if (value.get_array().get(list) != simdjson::SUCCESS) return std::nullopt;
    std::optional<std::string_view> first;
    for (auto entry : list) {
      std::string_view text;
      if (!first && entry.get_string().get(text) == simdjson::SUCCESS) first = text;
    }
    return first;
  }
  return std::nullopt;
}

}  // namespace

struct JsonLine::Parser {
  ondemand::parser parser;
};

struct JsonLine::Reading {
  LogRecord& record;
  std::array<std::uint8_t, kRoleCount> ranks{};  // of what was taken, and one; 0: nothing yet
  bool bad_time = false;
};

const std::array<JsonLine::Known, 37> JsonLine::kKnown = {{
    // Caddy.
    {"ts", Role::time, 2},
    {"request.client_ip", Role::address, 0},
    {"request.remote_ip", Role::address, 1},
    {"request.remote_addr", Role::address, 2},
    {"request.method", Role::method, 0},
    {"request.uri", Role::target, 0},
    {"request.host", Role::host, 0},
    // Traefik.
    {"StartUTC", Role::time, 0},
    {"ClientHost", Role::address, 0},
    {"ClientAddr", Role::address, 3},
    {"RequestMethod", Role::method, 0},
    {"RequestPath", Role::target, 0},
    {"RequestHost", Role::host, 0},
    {"RequestScheme", Role::scheme, 0},
    {"DownstreamStatus", Role::status, 0},
    // Envoy and Istio.
    {"start_time", Role::time, 1},
    {"downstream_remote_address", Role::address, 4},
    {"x_forwarded_for", Role::forwarded, 0},
    {"authority", Role::host, 1},
    {"response_code", Role::status, 1},
    // Others, nginx with JSON among them.
    {"time", Role::time, 3},
    {"timestamp", Role::time, 3},
    {"@timestamp", Role::time, 3},
    {"time_iso8601", Role::time, 3},
    {"msec", Role::time, 4},
    {"remote_addr", Role::address, 5},
    {"client_ip", Role::address, 5},
    {"ip", Role::address, 6},
    {"method", Role::method, 1},
    {"request_method", Role::method, 1},
    {"request_uri", Role::target, 1},
    {"uri", Role::target, 2},
    {"path", Role::target, 3},
    {"url", Role::target, 4},
    {"host", Role::host, 2},
    {"scheme", Role::scheme, 1},
    {"status", Role::status, 2},
}};

JsonLine::Node& JsonLine::Node::member(std::string_view wanted) {
  if (const Node* known = find(wanted)) return const_cast<Node&>(*known);
  members.push_back(std::make_unique<Node>());
  members.back()->name = wanted;
  slots[slot_of(wanted)].push_back(members.back().get());
  return *members.back();
}

const JsonLine::Node* JsonLine::Node::find(std::string_view wanted) const {
  if (wanted.empty()) return nullptr;
  for (const Node* each : slots[slot_of(wanted)]) {
    if (each->name == wanted) return each;
  }
  return nullptr;
}

JsonLine::Node& JsonLine::node_at(std::string_view path) {
  Node* node = &root_;
  while (true) {
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos || dot == 0 || dot + 1 == path.size()) return node->member(path);
    node = &node->member(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
}

void JsonLine::learn(std::string_view path, Role role, std::uint8_t rank) {
  // A name with dots may be one name, or the way to it.
  for (Node* node : {&node_at(path), &root_.member(path)}) {
    node->role = role;
    node->rank = rank;
  }
}

JsonLine::JsonLine(Zone zone, std::span<const FieldMapping> mappings)
    : zone_(std::move(zone)), parser_(std::make_unique<Parser>()) {
  for (const Known& known : kKnown) learn(known.path, known.role, static_cast<std::uint8_t>(known.rank + 2));
  node_at(kCaddyHeaders).headers = true;
  for (const FieldMapping& mapping : mappings) {
    constexpr std::pair<std::string_view, Role> kRoles[] = {
        {"time", Role::time}, {"ip", Role::address},    {"method", Role::method}, {"path", Role::target},
        {"host", Role::host}, {"scheme", Role::scheme}, {"cost", Role::cost},     {"status", Role::status}};
    bool is_role = false;
    for (const auto& [name, role] : kRoles) {
      if (name != mapping.attribute) continue;
      learn(mapping.field, role, 1);
      is_role = true;
    }
    if (is_role) continue;
    for (Node* node : {&node_at(mapping.field), &root_.member(mapping.field)}) {
      node->mapped = true;
      node->path = mapping.field;
    }
  }
}

JsonLine::~JsonLine() = default;

void JsonLine::take(const Node& node, std::string_view value, Reading& reading) const {
  LogRecord& record = reading.record;
  if (node.mapped) record.add_field(node.path, unless_dash(value));
  if (node.role == Role::none || value.empty()) return;
  std::uint8_t& rank = reading.ranks[static_cast<std::size_t>(node.role)];
  if (rank != 0 && rank <= node.rank) return;
  switch (node.role) {
    case Role::time: {
      const std::optional<TimePoint> time = parse_log_time(value, *zone_);
      if (!time) {
        reading.bad_time = true;
        return;
      }
      record.time = *time;
      break;
    }
    case Role::address:
      record.address = unless_dash(without_port(value));
      break;
    case Role::forwarded:
      record.forwarded = unless_dash(value);
      break;
    case Role::method:
      record.method = unless_dash(value);
      break;
    case Role::target:
      record.target = unless_dash(value);
      break;
    case Role::host:
      record.host = unless_dash(value);
      break;
    case Role::scheme:
      record.scheme = unless_dash(value);
      break;
    case Role::cost:
      record.cost = value;
      break;
    case Role::status:
      record.status = std::max<std::int64_t>(0, number_in(value));
      break;
    case Role::none:
      break;
  }
  rank = node.rank;
}

template <typename Object>
bool JsonLine::read_object(Object& object, const Node& node, std::size_t depth, Reading& reading) const {
  for (auto member : object) {
    std::string_view name;
    if (member.unescaped_key().get(name) != simdjson::SUCCESS) return false;
    ondemand::value value;
    if (member.value().get(value) != simdjson::SUCCESS) return false;
    const Node* const known = node.find(name);
    if (node.headers || (depth == 0 && name.starts_with(kHeaderPrefix))) {
      const std::string_view header = node.headers ? name : name.substr(kHeaderPrefix.size());
      const std::optional<std::string_view> text = scalar(value);
      if (text) reading.record.add_header(header, unless_dash(*text));
      if (text && known != nullptr) take(*known, *text, reading);
      continue;
    }
    if (known == nullptr) continue;
    if (!known->members.empty() || known->headers) {
      ondemand::object inner;
      if (depth < kMaxDepth && value.get_object().get(inner) == simdjson::SUCCESS) {
        if (!read_object(inner, *known, depth + 1, reading)) return false;
        continue;
      }
    }
    if (const std::optional<std::string_view> text = scalar(value)) take(*known, *text, reading);
  }
  return true;
}

const char* JsonLine::parse(std::string_view line, LogRecord& record) {
  static_assert(kLinePadding >= simdjson::SIMDJSON_PADDING);
  record.clear();
  if (!line.starts_with('{')) return "is not a JSON object";
  ondemand::document document;
  if (parser_->parser.iterate(line.data(), line.size(), line.size() + simdjson::SIMDJSON_PADDING).get(document) !=
      simdjson::SUCCESS) {
    return "is not valid JSON";
  }
  Reading reading{record};
  ondemand::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS || !read_object(object, root_, 0, reading)) {
    return "is not valid JSON";
  }
  if (record.time == TimePoint{}) {
    return reading.bad_time ? "has a time that is not valid" : "has no time; name its member with --map MEMBER=time";
  }
  return nullptr;
}

}  // namespace weir::simulate
