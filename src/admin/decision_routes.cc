#include <algorithm>
#include <utility>

#include "admin/decision_json.h"
#include "admin/decision_stream.h"
#include "admin/traffic.h"

namespace weir::admin {
namespace {

constexpr std::string_view kNoJournal = "there is no journal: journal.memory is 0";

std::vector<StoredDecision> in_memory(const Traffic& traffic, const observe::JournalQuery& query, std::size_t count,
                                      const std::optional<observe::JournalPlace>& after) {
  const observe::Journal& journal = *traffic.journal;
  std::vector<StoredDecision> found;
  for (const observe::JournalEntry& each : journal.search(journal.filter(query), count, after)) {
    JsonWriter json;
    write_entry(json, each, traffic.node);
    found.push_back({place_of(each), traffic.node, json.take()});
  }
  return found;
}

// Adds those that are not in memory any more, or are another node's; the newest stay first.
void add_stored(std::vector<StoredDecision>& found, std::vector<StoredDecision> stored) {
  const std::size_t own = found.size();
  for (StoredDecision& each : stored) {
    const bool known = std::any_of(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(own),
                                   [&](const auto& one) { return one.place == each.place && one.node == each.node; });
    if (!known) found.push_back(std::move(each));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const StoredDecision& left, const StoredDecision& right) { return left.place > right.place; });
}

Answer list_decisions(const Traffic& traffic, const observe::JournalQuery& query, const Page& page) {
  const std::optional<observe::JournalPlace> after =
      page.after.empty() ? std::nullopt : observe::place_from_text(page.after);
  const auto count = static_cast<std::size_t>(page.limit);
  std::vector<StoredDecision> found = in_memory(traffic, query, count + 1, after);
  if (traffic.find_stored) {
    Result<std::vector<StoredDecision>> stored = traffic.find_stored(query, count + 1, after);
    if (!stored.ok()) return problem_of(stored.failure());
    add_stored(found, std::move(stored).value());
  }
  JsonWriter out;
  out.begin_object();
  out.begin_array("items");
  for (std::size_t i = 0; i < found.size() && i < count; ++i) out.raw_value(found[i].json);
  out.end_array();
  out.member("next", found.size() > count ? std::optional(next_cursor("decisions", place_text(found[count - 1].place)))
                                          : std::nullopt);
  out.end_object();
  return json_answer(out.take());
}

void stream_decisions(const Traffic& traffic, const http::HttpRequest& request, http::ResponseWriter& writer) {
  Query query(request.query);
  const observe::JournalQuery read = read_journal_query(query);
  if (const Status fine = query.finish(); !fine.ok()) return writer.send(problem_of(fine.failure()).response());
  if (traffic.journal == nullptr) return writer.send(problem(409, "no_journal", kNoJournal).response());
  const observe::Journal& journal = *traffic.journal;
  writer.stream({.content_type = "text/event-stream"},
                std::make_shared<DecisionStream>(journal, journal.filter(read), traffic.node));
}

}  // namespace

void add_decision_routes(Api& api, const Traffic& traffic) {
  api.get("/decisions", [&traffic](Call& call) {
    Query query = call.query();
    const observe::JournalQuery read = read_journal_query(query);
    const Page page = query.page("decisions");
    if (!call.accepts(query)) return;
    if (traffic.journal == nullptr) return call.answer(problem(409, "no_journal", kNoJournal));
    run_aside(call, traffic, [&traffic, read, page] { return list_decisions(traffic, read, page); });
  });
  // A stream is no answer of the usual kind: it goes around Call.
  api.router().add({.method = "GET",
                    .path = std::string(kAdminPrefix) + "/decisions/stream",
                    .handler = [&traffic](const http::HttpRequest& request,
                                          http::ResponseWriter& writer) { stream_decisions(traffic, request, writer); },
                    .role = "reader",
                    .guard = api.environment().access});
}

}  // namespace weir::admin
