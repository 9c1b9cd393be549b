// Query: reads the query of a request, one call each, and keeps the first fault for the end, as Members does.
//
//   Query query = call.query();
//   const std::string actor = query.text("actor").value_or("");
//   const Page page = query.page("audit");
//   if (!call.accepts(query)) return;
//
// Lists are read page by page: `limit` says how many, and `cursor` where to go on. A cursor is made by next_cursor()
// from a text of the list's own, such as the last id shown; it is opaque to clients and good only for the list it came
// from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/result.h"
#include "weir/time.h"

namespace weir::admin {

inline constexpr std::int64_t kDefaultLimit = 100;
inline constexpr std::int64_t kMaxLimit = 1000;

struct Page {
  std::int64_t limit = kDefaultLimit;
  std::string after;  // as it was given to next_cursor(); empty: from the start
};

std::string next_cursor(std::string_view list, std::string_view after);

class Query {
 public:
  // As in a request line: names and values are percent-decoded, '+' is a space.
  explicit Query(std::string_view text);

  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t most);
  // RFC 3339.
  std::optional<TimePoint> time(std::string_view name);
  std::optional<std::string> choice(std::string_view name, std::initializer_list<std::string_view> choices);
  // Every parameter that begins with `prefix`, without it: attribute.tenant=acme becomes {tenant, acme}.
  std::vector<std::pair<std::string, std::string>> prefixed(std::string_view prefix);
  // `limit` and `cursor`.
  Page page(std::string_view list);
  // `reason`, required, for DELETE.
  std::string reason();

  void fail(std::string_view name, const std::string& what);
  // The first fault; a parameter that was not asked for is one.
  Status finish() const;

 private:
  struct Parameter {
    std::string name;
    std::string value;
    bool asked = false;
  };

  std::vector<Parameter> parameters_;
  std::optional<std::string> fault_;
};

}  // namespace weir::admin
