#include "server/reset_audit.h"

#include <algorithm>
#include <utility>

#include "admin/json_writer.h"
#include "base/utf8.h"
#include "control/tokens.h"

namespace weir::server {
namespace {

void write_rules(admin::JsonWriter& out, const Decision& decision) {
  std::size_t further = 0;
  std::size_t listed = 0;
  out.begin_array("rules");
  for (const RuleOutcome& rule : decision.rules) {
    if (rule.unlimited) continue;
    if (listed == ResetAudit::kMostRules) {
      ++further;
      continue;
    }
    ++listed;
    SubjectDigits room{};
    out.begin_object();
    out.member("rule", rule.rule);
    out.member("subject", subject_text(rule, room));
    out.end_object();
  }
  out.end_array();
  if (further > 0) out.member("further_rules", further);
}

}  // namespace

class ResetAudit::Record final : public http::ResetRecord {
 public:
  Record(AuditQueue& queue, control::AuditEntry entry, std::string attributes)
      : queue_(queue), entry_(std::move(entry)), attributes_(std::move(attributes)) {}
  ~Record() override {
    Decision unknown;
    unknown.degraded = true;
    add(unknown);
  }

  void ended(const Decision& decision) override { add(decision); }

 private:
  void add(const Decision& decision) {
    if (std::exchange(ended_, true)) return;
    admin::JsonWriter out;
    out.begin_object();
    out.member("operation", control::make_id("rst"));
    out.member("outcome", decision.degraded ? "unknown" : "done");
    write_rules(out, decision);
    if (!attributes_.empty()) out.raw_member("attributes", attributes_);
    out.end_object();
    entry_.after = out.take();
    queue_.add(std::move(entry_));
  }

  AuditQueue& queue_;
  control::AuditEntry entry_;
  const std::string attributes_;
  bool ended_ = false;
};

ResetAudit::ResetAudit(AuditQueue& queue, std::shared_ptr<Clock> clock, Options options)
    : queue_(queue), clock_(std::move(clock)), options_(std::move(options)), encoder_(options_.hash_key) {}

// Callers of the API are no actors of the admin API: their names are told apart by "http:".
std::string ResetAudit::actor_of(const http::HttpRequest& request) const {
  std::string name = options_.name_of ? options_.name_of(request) : std::string();
  if (name.empty() || !base::is_utf8(name)) return "http:anonymous";
  return "http:" + name;
}

std::string ResetAudit::attributes_json(std::span<const Attribute> attributes) const {
  if (!options_.plain) return {};
  admin::JsonWriter out;
  out.begin_object();
  for (const Attribute& each : attributes) {
    const bool secret = options_.secrets.contains(each.name);
    const SubjectDigits digits = observe::value_digits(each.name, each.value, encoder_);
    out.member(each.name,
               secret ? "#" + std::string(digits.data(), digits.size()) : std::string(observe::cut_value(each.value)));
  }
  out.end_object();
  return out.take();
}

std::shared_ptr<http::ResetRecord> ResetAudit::begin(const http::HttpRequest& request, const transport::Peer& peer,
                                                     std::span<const Attribute> attributes, std::string_view reason) {
  if (!queue_.reserve()) return nullptr;
  control::AuditEntry entry{.at = clock_->wall(),
                            .actor = actor_of(request),
                            .from = peer.address.empty() ? "unix" : peer.address,
                            .action = "subject.reset",
                            .object = "subject",
                            .before = {},
                            .after = {},
                            .reason = std::string(reason),
                            .node = options_.node};
  return std::make_shared<Record>(queue_, std::move(entry), attributes_json(attributes));
}

}  // namespace weir::server
