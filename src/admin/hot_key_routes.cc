#include "admin/traffic.h"

namespace weir::admin {
namespace {

Answer list_hot_keys(const Traffic& traffic, std::int64_t limit) {
  JsonWriter out;
  out.begin_object();
  out.begin_array("items");
  if (traffic.hot_keys != nullptr) {
    const auto asked = traffic.hot_keys->asked(static_cast<std::size_t>(limit));
    const double all = traffic.hot_keys->decisions_per_second();
    std::vector<observe::SubjectKey> keys;
    for (const observe::HotKeys::Subject& each : asked) keys.push_back(each.key);
    const SubjectNames names(traffic, keys);
    for (const observe::HotKeys::Subject& each : asked) {
      out.begin_object();
      out.member("subject", subject_of(each.key.subject, each.shared));
      out.member("text", names.find(each.key));
      out.member("rule", traffic.rules.names().id_of(each.key.ordinal));
      out.member("per_second", each.per_second);
      out.member("share", all > 0 ? each.per_second / all : 0.0);
      out.member("since", each.since);
      out.end_object();
    }
  }
  out.end_array();
  out.null_member("next");
  out.end_object();
  return json_answer(out.take());
}

}  // namespace

void add_hot_key_routes(Api& api, const Traffic& traffic) {
  api.get("/hot-keys", [&traffic](Call& call) {
    Query query = call.query();
    const std::int64_t limit = query.number("limit", 1, kMaxLimit).value_or(kDefaultLimit);
    if (!call.accepts(query)) return;
    run_aside(call, traffic, [&traffic, limit] { return list_hot_keys(traffic, limit); });
  });
}

}  // namespace weir::admin
