#include <algorithm>
#include <utility>

#include "admin/decision_json.h"
#include "admin/rule_text.h"
#include "admin/subject_routes.h"
#include "rules/compile/intake.h"
#include "weir/ask.h"
#include "weir/use_mark.h"

namespace weir::admin {
namespace {

constexpr std::size_t kShownDenials = 20;

// One lookup: asks the limiter what every rule says, then for the leases and reservations that are held, then the
// journal for the last denials, and answers.
class Lookup : public std::enable_shared_from_this<Lookup> {
 public:
  Lookup(Limiter& limiter, const Traffic& traffic, AddSubjectMembers more, LaterAnswer later,
         std::vector<std::pair<std::string, std::string>> attributes, std::int64_t cost, Handles handles, TimePoint now)
      : limiter_(limiter),
        traffic_(traffic),
        more_(std::move(more)),
        later_(std::move(later)),
        kept_(std::move(attributes)),
        cost_(cost),
        handles_(handles),
        now_(now) {}

  // The steps, each of which begins the next one.
  void look_at_rules() {
    loaded_ = traffic_.rules.loaded();
    set_ = loaded_.set;
    const Request asked = request();
    rules::CompletedRequest room;
    const rules::PlanTable* const plans = loaded_.intake != nullptr ? loaded_.intake->plans.get() : nullptr;
    const Request& completed = plans != nullptr ? room.complete(asked, *plans) : asked;
    for (const Attribute& each : completed.attributes) {
      if (each.name == "plan" && !plan_) plan_ = each.value;
    }
    explanation_ = set_->explain(completed, now_);
    weir::ask(
        limiter_, Action::peek, asked, [this](const Decision& decision) { see_rules(decision); },
        [self = shared_from_this()] { return [self](const Decision& decision) { self->see_rules(decision); }; });
  }

 private:
  Request request() const {
    Request made(kept_.attributes, Cost{cost_});
    made.by_operator = &view_;
    return made;
  }

  void see_rules(const Decision& decision) {
    decision_ = decision;
    LeaseLimiter* const leases = limiter_.leases();
    if (leases == nullptr || !set_->has_leases()) return look_at_reservations();
    const LeaseQuestion question{.verb = LeaseQuestion::Verb::list, .request = request()};
    weir::ask(
        *leases, question, [this](const LeaseAnswer& answer) { see_leases(answer); },
        [self = shared_from_this()] { return [self](const LeaseAnswer& answer) { self->see_leases(answer); }; });
  }

  void see_leases(const LeaseAnswer& answer) {
    leases_ = answer.list;
    look_at_reservations();
  }

  void look_at_reservations() {
    ReservationLimiter* const reservations = limiter_.reservations();
    if (reservations == nullptr) return search();
    const ReservationQuestion question{.verb = ReservationQuestion::Verb::list, .request = request()};
    weir::ask(
        *reservations, question, [this](const ReservationAnswer& answer) { see_reservations(answer); },
        [self = shared_from_this()] {
          return [self](const ReservationAnswer& answer) { self->see_reservations(answer); };
        });
  }

  void see_reservations(const ReservationAnswer& answer) {
    reservations_ = answer.list;
    search();
  }

  void search() {
    if (traffic_.side.post([self = shared_from_this()] { self->later_.send(json_answer(self->json())); })) return;
    later_.send(problem(503, "busy", "too many requests to the admin API are waiting; try again later"));
  }

  std::string json() {
    out_.begin_object();
    out_.begin_object("attributes");
    for (const auto& [name, value] : kept_.texts) out_.member(name, value);
    out_.end_object();
    out_.member("allowed", decision_.allowed);
    out_.member("reason", reason_name(decision_.reason));
    out_.member("plan", plan_);
    write_block();
    more_(out_, {kept_.attributes, explanation_});
    write_rules();
    write_penalties();
    write_leases(out_, "leases", leases_, handles_);
    write_reservations(out_, "reservations", reservations_, handles_);
    write_denials();
    out_.end_object();
    return out_.take();
  }

  void write_block() {
    const rules::Intake* const intake = loaded_.intake.get();
    const Block* const block =
        intake != nullptr && intake->blocks != nullptr ? intake->blocks->find(request(), now_) : nullptr;
    if (block == nullptr) return out_.null_member("blocked");
    out_.begin_object("blocked");
    out_.member("id",
                block->use != nullptr && !block->use->id().empty() ? std::optional(block->use->id()) : std::nullopt);
    out_.member("reason", block->reason);
    out_.member("until", block->until);
    out_.end_object();
  }

  void write_rules() {
    out_.begin_array("rules");
    for (const rules::RuleExplanation& each : explanation_.rules) {
      if (each.applies) write_rule(each);
    }
    out_.end_array();
    out_.begin_array("not_matched");
    for (const rules::RuleExplanation& each : explanation_.rules) {
      if (each.applies) continue;
      out_.begin_object();
      out_.member("rule", each.rule);
      out_.member("why", each.why_not);
      out_.end_object();
    }
    out_.end_array();
  }

  void write_rule(const rules::RuleExplanation& rule) {
    const auto loaded = std::find_if(set_->rules().begin(), set_->rules().end(),
                                     [&](const auto& each) { return each.name.id == rule.rule; });
    out_.begin_object();
    out_.member("rule", rule.rule);
    out_.member("algorithm", algorithm_of(loaded->source));
    out_.member("summary", summary_of(loaded->source));
    out_.begin_object("per");
    for (const auto& [name, value] : kept_.texts) {
      if (std::find(rule.counted_by.begin(), rule.counted_by.end(), name) != rule.counted_by.end()) {
        out_.member(name, value);
      }
    }
    out_.end_object();
    out_.member("mode", mode_name(rule.mode));
    const auto* const outcome = std::find_if(decision_.rules.begin(), decision_.rules.end(),
                                             [&](const RuleOutcome& each) { return each.rule == rule.rule; });
    write_state(outcome != decision_.rules.end() ? outcome : nullptr);
    out_.member("allowance", allowance_source(rule));
    out_.member("override", rule.override_id.empty() ? std::nullopt : std::optional(rule.override_id));
    out_.member("explanation", explain_match(rule));
    out_.end_object();
  }

  void write_state(const RuleOutcome* outcome) {
    const bool counted = outcome != nullptr && !outcome->unlimited && !outcome->store_failed;
    const auto number = [&](std::int64_t value) { return counted ? std::optional(value) : std::nullopt; };
    const std::int64_t used = counted ? outcome->capacity - outcome->remaining : 0;
    const double share =
        counted && outcome->capacity > 0 ? static_cast<double>(used) / static_cast<double>(outcome->capacity) : 0.0;
    out_.member("subject",
                outcome != nullptr ? std::optional(subject_of(outcome->subject, outcome->shared)) : std::nullopt);
    out_.member("allowed", outcome == nullptr || outcome->allowed);
    out_.member("store_failed", outcome != nullptr && outcome->store_failed);
    out_.member("limit", number(counted ? outcome->limit : 0));
    out_.member("capacity", number(counted ? outcome->capacity : 0));
    out_.member("used", number(used));
    out_.member("remaining", number(counted ? outcome->remaining : 0));
    out_.member("share", counted ? std::optional(share) : std::nullopt);
    out_.member("reset_at", counted ? decision_.reset_at(*outcome) : std::nullopt);
    out_.member("retry_at", counted ? decision_.retry_at(*outcome) : std::nullopt);
  }

  // Rules that refuse the subject, or ask it for a challenge, because of what it did before.
  void write_penalties() {
    out_.begin_array("penalties");
    for (const RuleOutcome& rule : decision_.rules) {
      if (!rule.penalized) continue;
      out_.begin_object();
      out_.member("rule", rule.rule);
      out_.member("challenge", rule.challenge);
      out_.member("until", decision_.retry_at(rule));
      out_.end_object();
    }
    out_.end_array();
  }

  void write_denials() {
    out_.begin_array("decisions");
    if (const observe::Journal* const journal = traffic_.journal) {
      observe::JournalQuery query;
      query.attributes = kept_.texts;
      query.outcome = observe::JournalQuery::Outcome::denied;
      for (const observe::JournalEntry& each : journal->search(journal->filter(query), kShownDenials)) {
        write_entry(out_, each, traffic_.node);
      }
    }
    out_.end_array();
  }

  Limiter& limiter_;
  const Traffic& traffic_;
  const AddSubjectMembers more_;
  const LaterAnswer later_;
  const KeptAttributes kept_;
  const OperatorView view_{};
  const std::int64_t cost_;
  const Handles handles_;
  const TimePoint now_;
  rules::LoadedRules loaded_;
  std::shared_ptr<const rules::RuleSet> set_;
  std::optional<std::string> plan_;
  rules::Explanation explanation_;
  Decision decision_;
  std::vector<ListedLease> leases_;
  std::vector<ListedReservation> reservations_;
  JsonWriter out_;
};

}  // namespace

void add_lookup_route(Api& api, Limiter& limiter, const Traffic& traffic, AddSubjectMembers more) {
  api.ask("/subjects/lookup", [&limiter, &traffic, more = std::move(more)](Call& call) {
    Members body = call.body();
    std::vector<std::pair<std::string, std::string>> attributes = read_attributes(body);
    const std::int64_t cost = body.optional_number("cost", 0, kMaxUnits).value_or(1);
    if (!call.accepts(body)) return;
    std::make_shared<Lookup>(limiter, traffic, more, call.defer(), std::move(attributes), cost,
                             handles_for(call.actor()), call.now())
        ->look_at_rules();
  });
}

}  // namespace weir::admin
