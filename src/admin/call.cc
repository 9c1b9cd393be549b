#include "admin/call.h"

#include "admin/offload.h"

#include <atomic>
#include <utility>

namespace weir::admin {
namespace {

using control::AuditEntry;
using database::Outcome;
using database::Session;

constexpr std::chrono::seconds kPatience{10};

std::chrono::steady_clock::time_point deadline() { return std::chrono::steady_clock::now() + kPatience; }

void log_entry(observe::Log& log, const AuditEntry& entry) {
  log.info("audit", "an operator changed something",
           {{"actor", entry.actor},
            {"from", entry.from},
            {"action", entry.action},
            {"object", entry.object},
            {"reason", entry.reason}});
}

Answer answer_to(const Outcome& outcome) {
  if (!outcome.unknown) return problem_of(outcome.status.failure());
  return problem(503, "outcome_unknown",
                 "the connection to the database was lost while the change was committed: check whether it was made");
}

}  // namespace

Status Write::audit(AuditNote note) {
  AuditEntry entry{.at = now,
                   .actor = actor.name,
                   .from = actor.from,
                   .action = std::move(note.action),
                   .object = std::move(note.object),
                   .before = std::move(note.before),
                   .after = std::move(note.after),
                   .reason = std::move(note.reason),
                   .node = node_};
  if (Status appended = control::append(session, entry); !appended.ok()) return appended;
  entries_.push_back(std::move(entry));
  return success();
}

// The connection must end on its own loop, so the last reference to it is handed to that loop.
struct LaterAnswer::State {
  explicit State(http::LaterResponse given) : response(std::move(given)) {}
  ~State() {
    if (!sent.exchange(true)) give(problem(500, "internal", "no answer was made"));
  }

  void give(Answer answer) {
    transport::Link& link = response.link();
    link.post([moved = std::move(response), answer = std::move(answer)] { moved.send(answer.response()); });
  }

  http::LaterResponse response;
  std::atomic<bool> sent{false};
};

LaterAnswer::LaterAnswer(http::LaterResponse response) : state_(std::make_shared<State>(std::move(response))) {}

void LaterAnswer::send(Answer answer) const {
  if (!state_->sent.exchange(true)) state_->give(std::move(answer));
}

Call::Call(const Environment& environment, const http::HttpRequest& request, http::ResponseWriter& writer,
           control::Actor actor)
    : environment_(environment),
      request_(request),
      writer_(writer),
      actor_(std::move(actor)),
      preconditions_(request),
      now_(environment.clock->wall()) {}

bool Call::accepts(const Status& status) {
  if (status.ok()) return true;
  answer(problem_of(status.failure()));
  return false;
}

void Call::answer(const Answer& answer) { writer_.send(answer.response()); }

LaterAnswer Call::defer() { return LaterAnswer(writer_.defer()); }

bool Call::has_database() {
  if (environment_.database == nullptr) {
    answer(problem(409, "database_off", "this server runs without a database; set `database` to use this"));
    return false;
  }
  if (environment_.is_ready && !environment_.is_ready()) {
    answer(problem_of({Code::unavailable, "the database does not answer yet; try again later"}));
    return false;
  }
  return true;
}

void Call::read(ReadWork work) {
  if (!has_database()) return;
  const auto result = std::make_shared<Answer>();
  const LaterAnswer later = defer();
  const Status queued = environment_.database->submit(
      {.access = database::Access::read,
       .work = [result, work = std::move(work)](Session& session) -> Status {
         Result<Answer> made = work(session);
         if (!made.ok()) return made.failure();
         *result = std::move(made).value();
         return success();
       },
       .done = [result,
                later](const Outcome& outcome) { later.send(outcome.ok() ? std::move(*result) : answer_to(outcome)); },
       .deadline = deadline()});
  if (!queued.ok()) later.send(problem_of(queued.failure()));
}

// What a transaction that writes needs of its call, which is gone by then, and what it has made.
struct Call::Change {
  control::Actor actor;
  Preconditions preconditions;
  std::string node;
  TimePoint now;
  std::optional<Answer> answer;
  std::vector<AuditEntry> entries;
};

void Call::write(WriteWork work) {
  if (!has_database()) return;
  const auto change = std::make_shared<Change>(Change{actor_, preconditions_, environment_.node, now_, {}, {}});
  submit(environment_, change, defer(), std::move(work));
}

void Call::write_after(Offload& offload, std::function<std::optional<Answer>()> prepare, WriteWork work) {
  if (!has_database()) return;
  const auto change = std::make_shared<Change>(Change{actor_, preconditions_, environment_.node, now_, {}, {}});
  offload.run_later(defer(), [&environment = environment_, change, prepare = std::move(prepare),
                              work = std::move(work)](const LaterAnswer& later) {
    if (std::optional<Answer> refused = prepare()) return later.send(std::move(*refused));
    submit(environment, change, later, work);
  });
}

void Call::submit(const Environment& environment, const std::shared_ptr<Change>& made, const LaterAnswer& later,
                  WriteWork work) {
  const Status queued = environment.database->submit(
      {.access = database::Access::write,
       .work = [made, work = std::move(work)](Session& session) -> Status {
         made->answer.reset();
         Write write(session, made->actor, made->preconditions, made->now, made->node);
         Result<Answer> answer = work(write);
         if (!answer.ok()) return answer.failure();
         made->answer = std::move(answer).value();
         if (made->answer->is_problem()) return Failure{Code::cancelled, "refused"};
         made->entries = write.entries();
         if (made->entries.size() == 1) return success();
         made->answer.reset();
         return Failure{Code::internal, "a change must have one entry in the audit trail, and this one has " +
                                            std::to_string(made->entries.size())};
       },
       .done =
           [made, later, settle = environment.settle, &log = environment.log](const Outcome& outcome) {
             if (!outcome.ok()) {
               const bool refused = made->answer && made->answer->is_problem();
               return later.send(refused ? std::move(*made->answer) : answer_to(outcome));
             }
             log_entry(log, made->entries.front());
             if (!settle) return later.send(std::move(*made->answer));
             settle([made, later] { later.send(std::move(*made->answer)); });
           },
       .deadline = deadline()});
  if (!queued.ok()) later.send(problem_of(queued.failure()));
}

AuditEntry Call::entry_of(AuditNote note) const {
  return {.at = now_,
          .actor = actor_.name,
          .from = actor_.from,
          .action = std::move(note.action),
          .object = std::move(note.object),
          .before = std::move(note.before),
          .after = std::move(note.after),
          .reason = std::move(note.reason),
          .node = environment_.node};
}

void Call::record_then(AuditNote note, std::function<void(LaterAnswer)> go) {
  if (environment_.database == nullptr) {
    log_entry(environment_.log, entry_of(std::move(note)));
    return go(defer());
  }
  if (!has_database()) return;
  const auto entry = std::make_shared<const AuditEntry>(entry_of(std::move(note)));
  http::LaterResponse response = writer_.defer();
  // Back on the loop of the connection, where `go` may use what belongs to that loop.
  const auto loop = std::make_shared<std::optional<http::LaterResponse>>(std::move(response));
  const auto continue_on_loop = [loop](std::function<void(LaterAnswer)> then) {
    transport::Link& link = (*loop)->link();
    link.post([moved = *std::exchange(*loop, std::nullopt), then = std::move(then)] { then(LaterAnswer(moved)); });
  };
  const Status queued = environment_.database->submit(
      {.access = database::Access::write,
       .work = [entry](Session& session) { return control::append(session, *entry); },
       .done =
           [entry, go = std::move(go), continue_on_loop, &log = environment_.log](const Outcome& outcome) {
             if (outcome.ok()) {
               log_entry(log, *entry);
               return continue_on_loop(go);
             }
             continue_on_loop([refusal = answer_to(outcome)](const LaterAnswer& later) { later.send(refusal); });
           },
       .deadline = deadline()});
  if (!queued.ok()) {
    continue_on_loop([refusal = problem_of(queued.failure())](const LaterAnswer& later) { later.send(refusal); });
  }
}

}  // namespace weir::admin
