#include "server/modules/admin_tools_module.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "control/change_log.h"
#include "server/listener_settings.h"
#include "server/log_settings.h"

namespace weir::server {
namespace {

// Twice within the second in which every node must know a change.
constexpr Duration kChangeLookPeriod = std::chrono::milliseconds(250);
constexpr Duration kUsedPeriod = std::chrono::seconds(10);
constexpr Duration kAuditPeriod = std::chrono::milliseconds(250);
constexpr std::size_t kIdempotencyKeys = 10'000;

std::string machine_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "weir";
  return name;
}

admin::TokenAccess::Options access_options(const ServerContext& context, std::shared_ptr<control::TokenTable> tokens) {
  const Config& config = context.config;
  admin::TokenAccess::Options options{.settings_tokens = config.admin_tokens,
                                      .certificates = {},
                                      .may_be_open = !is_beyond_loopback(config.listen_admin),
                                      .tokens = std::move(tokens),
                                      .logins = context.logins,
                                      .clock = context.clock};
  for (const NamedText& each : config.admin_certificates) {
    options.certificates[each.name] = control::role_from_name(each.text).value_or(control::Role::reader);
  }
  return options;
}

}  // namespace

AdminToolsModule::AdminToolsModule(ServerContext& context, DatabaseModule& database)
    : context_(context),
      databases_(database),
      node_(context.config.node_name.empty() ? machine_name() : context.config.node_name),
      access_(std::make_shared<admin::TokenAccess>(access_options(context, tokens_))),
      audit_queue_(context.log) {}

Status AdminToolsModule::open() {
  Result<observe::DecisionLogOptions> lines = decision_log_options(context_.config, context_.keys);
  if (!lines.ok()) return lines.failure();
  const keys::KeyEncoder encoder(lines.value().hash_key);
  const auto keys = std::make_shared<http::IdempotencyTable>(http::IdempotencyTable::Bounds{kIdempotencyKeys});
  environment_ = std::make_shared<const admin::Environment>(admin::Environment{
      .database = databases_.database(),
      .is_ready = [this] { return databases_.is_ready(); },
      .settle = databases_.database() == nullptr
                    ? std::function<void(std::function<void()>)>()
                    : [this](std::function<void()> then) { watch_->look(std::move(then)); },
      .access = access_,
      .clock = context_.clock,
      .log = context_.log,
      .node = node_,
      .shown_value =
          [secrets = std::move(lines.value().secrets), encoder](std::string_view name, std::string_view value) {
            if (!secrets.contains(name)) return std::string(value);
            const SubjectDigits digits = observe::value_digits(name, value, encoder);
            return "#" + std::string(digits.data(), digits.size());
          },
      .once = {.table = keys,
               .clock = context_.clock,
               .caller_of =
                   [access = access_](const http::HttpRequest& request) {
                     const auto actor = access->actor_of(request, {});
                     return actor ? actor->name : std::string();
                   }},
      .body_bytes = static_cast<std::size_t>(context_.config.http_body_bytes)});
  if (databases_.database() == nullptr) return success();
  audit_queue_.use(*databases_.database(), [this] { return databases_.is_ready(); });
  const std::filesystem::path folder = databases_.data_dir() / "known";
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error) return Failure{Code::unavailable, "data_dir: " + folder.string() + " cannot be made: " + error.message()};
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  watch_ = std::make_unique<control::ChangeWatch>(
      *databases_.database(), folder, context_.clock, [this](std::string_view topic, const Failure& failure) {
        context_.log.error("control_failed", failure.message, {{"topic", topic}});
      });
  watch_->add(std::string(control::kTokensTopic), *tokens_);
  return success();
}

Status AdminToolsModule::start() {
  if (watch_ == nullptr) return success();
  watch_->start(databases_.is_ready());
  context_.add_task(kChangeLookPeriod, [this] { watch_->look(); });
  listen();
  context_.add_task(kAuditPeriod, [this] { audit_queue_.write(); });
  context_.add_task(kUsedPeriod, [this] { note_used_tokens(); });
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  context_.add_health([this](HealthDetails& details) { add_health(details); });
  return success();
}

void AdminToolsModule::stop() {
  listener_.reset();
  audit_queue_.finish();
}

// A look that runs may have begun before the change, so another one follows it.
void AdminToolsModule::listen() {
  const auto location = database::parse_location(context_.config.database, databases_.data_dir());
  if (!location.ok() || location.value().kind != database::Location::Kind::postgres) return;
  listener_ = std::make_unique<database::PostgresListener>(
      location.value().address, std::string(control::kChangeChannel), [this] { watch_->look([] {}); });
}

void AdminToolsModule::add_routes(std::function<void(admin::Api&)> add) {
  context_.add_routes("admin", [environment = environment_, add = std::move(add)](http::Router& router, std::size_t) {
    admin::Api api(router, environment);
    add(api);
  });
}

// Whether it is written does not matter much, so a failure is not repeated.
void AdminToolsModule::note_used_tokens() {
  const auto used = std::make_shared<const std::map<std::string, TimePoint>>(tokens_->take_used());
  if (used->empty()) return;
  static_cast<void>(databases_.database()->submit({.access = database::Access::write,
                                                   .work = [used](database::Session& session) -> Status {
                                                     for (const auto& [id, at] : *used) {
                                                       Status set = control::set_last_used(session, id, at);
                                                       if (!set.ok()) return set;
                                                     }
                                                     return success();
                                                   },
                                                   .done = [](const database::Outcome&) {}}));
}

void AdminToolsModule::add_health(HealthDetails& details) const {
  details.add_section("control", "\"age_ms\":" + std::to_string(ceil_ms(std::max(watch_->age(), Duration(0)))) +
                                     ",\"stale\":" + (watch_->is_stale() ? "true" : "false"));
}

void AdminToolsModule::add_facts(observe::Facts& facts) const {
  facts.more.push_back({"weir_control_age_seconds",
                        "Time since this node last compared tokens, rules and other changes of operators with the "
                        "database.",
                        observe::FactMetric::Kind::gauge,
                        static_cast<double>(watch_->age().count()) / 1e6,
                        {}});
  using Kind = observe::FactMetric::Kind;
  const AuditQueue::Counts audit = audit_queue_.counts();
  facts.more.push_back({"weir_audit_waiting",
                        "Entries of the audit trail about resets over the API that wait for the database.",
                        Kind::gauge,
                        static_cast<double>(audit.waiting),
                        {}});
  const auto add = [&](std::string_view result, std::uint64_t count) {
    facts.more.push_back({"weir_audit_queued_total",
                          "Entries of the audit trail about resets over the API, by what became of them; refused: too "
                          "many waited.",
                          Kind::counter,
                          static_cast<double>(count),
                          {{"result", std::string(result)}}});
  };
  add("written", audit.written);
  add("refused", audit.refused);
  add("lost", audit.lost);
  if (listener_ == nullptr) return;
  facts.more.push_back({"weir_control_notifications_total",
                        "Changes that PostgreSQL has notified this node of; without them it notices within a second.",
                        observe::FactMetric::Kind::counter,
                        static_cast<double>(listener_->notifications()),
                        {}});
}

}  // namespace weir::server
