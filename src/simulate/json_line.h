// JsonLine: access logs with one JSON object a line: Caddy's, Traefik's, Envoy's, and any other whose members have
// names that are known, or are mapped.
//
// A member's name is its path: "request.headers.X-Tenant" is in an object in an object. Members of Caddy's
// request.headers, and of Traefik's request_…, are header fields of the request. Of a list, the first entry counts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/log_record.h"
#include "simulate/log_time.h"

namespace weir::simulate {

// A member that becomes an attribute (`--map field=attribute`), or one of: time, ip, method, path, host, scheme, cost,
// status.
struct FieldMapping {
  std::string field;
  std::string attribute;
};

class JsonLine final : public LineParser {
 public:
  // The deepest object that is looked into.
  static constexpr std::size_t kMaxDepth = 8;

  JsonLine(Zone zone, std::span<const FieldMapping> mappings);
  ~JsonLine() override;
  const char* parse(std::string_view line, LogRecord& record) override;

 private:
  enum class Role : std::uint8_t { none, time, address, forwarded, method, target, host, scheme, cost, status };
  static constexpr std::size_t kRoleCount = 10;
  // Of several members for the same, the one with the lowest rank counts.
  struct Known {
    std::string_view path;
    Role role;
    std::uint8_t rank;
  };
  static const std::array<Known, 37> kKnown;

  struct Node {
    static constexpr std::size_t kSlots = 64;
    std::string name;
    Role role = Role::none;
    std::uint8_t rank = 0;
    bool headers = false;  // its members are header fields
    bool mapped = false;   // it is a field of the record
    std::string path;      // the field's name
    std::vector<std::unique_ptr<Node>> members;
    std::array<std::vector<Node*>, kSlots> slots;

    Node& member(std::string_view name);
    const Node* find(std::string_view name) const;
  };
  struct Reading;

  Node& node_at(std::string_view path);
  void learn(std::string_view path, Role role, std::uint8_t rank);
  template <typename Object>
  bool read_object(Object& object, const Node& node, std::size_t depth, Reading& reading) const;
  void take(const Node& node, std::string_view value, Reading& reading) const;

  const Zone zone_;
  Node root_;
  struct Parser;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace weir::simulate
