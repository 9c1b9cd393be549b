// Call: one request of the admin API, as its handler sees it.
//
//   void create(Call& call) {
//     Members body = call.body();
//     const std::string tenant = body.text("tenant");
//     const std::string reason = body.reason();
//     if (!call.accepts(body)) return;                               // 400
//     call.write([=](Write& write) -> Result<Answer> {               // on a database thread, in one transaction
//       if (Status added = insert(write.session, tenant, write.now); !added.ok()) return added.failure();
//       if (Status noted = write.audit({"tenant.create", "tenant/" + tenant, "", describe(tenant), reason});
//       !noted.ok())
//         return noted.failure();
//       return created(describe(tenant), etag);
//     });
//   }
//
// A handler ends with one of answer(), read(), write(), record_then() and defer(), or with a call that has refused the
// request. It runs on an event loop: what waits for a disk or for another machine goes into read() or write(). The work
// given to them may be run more than once (database/database.h), so it captures values and assigns what it computes.
//
// A Call lives as long as its handler. LaterAnswer is for any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admin/answer.h"
#include "admin/environment.h"
#include "admin/members.h"
#include "admin/preconditions.h"
#include "admin/query.h"
#include "control/actor.h"
#include "control/audit_trail.h"
#include "database/session.h"

namespace weir::admin {

// What a change is, for the audit trail (control/audit_trail.h).
struct AuditNote {
  std::string action;  // "override.create"
  std::string object;  // "override/o_7"
  std::string before;  // JSON, or empty
  std::string after;   // JSON, or empty
  std::string reason;
};

// A transaction that changes something. Every one that is committed has exactly one entry in the audit trail: one
// without, or with two, is rolled back and answered 500.
class Write {
 public:
  Write(database::Session& in, const control::Actor& by, const Preconditions& preconditions, TimePoint at,
        const std::string& node)
      : session(in), actor(by), now(at), preconditions_(preconditions), node_(node) {}

  database::Session& session;
  const control::Actor& actor;
  const TimePoint now;  // of the wall clock

  Status audit(AuditNote note);
  // 412 if If-Match or If-None-Match do not hold for what is there; nothing: go on. `etag` is nothing for a thing that
  // does not exist.
  std::optional<Answer> refuse(const std::optional<std::string>& etag) const { return preconditions_.refuse(etag); }

  // The caller has said what it has seen.
  bool is_conditional() const { return !preconditions_.empty(); }

  const std::string& node() const { return node_; }
  const std::vector<control::AuditEntry>& entries() const { return entries_; }

 private:
  const Preconditions& preconditions_;
  const std::string& node_;
  std::vector<control::AuditEntry> entries_;
};

// An answer that comes after the handler has returned. Copies mean the same answer; the first one sent counts.
class LaterAnswer {
 public:
  explicit LaterAnswer(http::LaterResponse response);

  // From any thread. Does nothing if the client has disconnected.
  void send(Answer answer) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

class Offload;

class Call {
 public:
  using ReadWork = std::function<Result<Answer>(database::Session&)>;
  using WriteWork = std::function<Result<Answer>(Write&)>;

  Call(const Environment& environment, const http::HttpRequest& request, http::ResponseWriter& writer,
       control::Actor actor);

  const http::HttpRequest& request() const { return request_; }
  const Environment& environment() const { return environment_; }
  const control::Actor& actor() const { return actor_; }
  TimePoint now() const { return now_; }  // of the wall clock
  std::string parameter(std::string_view name) const { return std::string(request_.parameter(name)); }
  Members body() const { return Members::of(request_.body); }
  Query query() const { return Query(request_.query); }
  const Preconditions& preconditions() const { return preconditions_; }

  // False: it has answered 400, with what is wrong.
  bool accepts(const Members& body) { return accepts(body.finish()); }
  bool accepts(const Query& query) { return accepts(query.finish()); }
  bool accepts(const Status& status);

  void answer(const Answer& answer);
  LaterAnswer defer();

  // Runs the work in a transaction and answers with what it returns; a failure, or a problem that it returns, rolls it
  // back. A change is answered when this node acts on it: work that changes a topic calls control::note_change().
  void read(ReadWork work);
  void write(WriteWork work);
  // The same after `prepare` has run on the offload's thread: for what would keep the database's threads busy. An
  // answer that it returns is sent, and nothing is written.
  void write_after(Offload& offload, std::function<std::optional<Answer>()> prepare, WriteWork work);

  // For changes outside the database, such as the reset of a bucket: writes the entry first and then calls `go` on the
  // event loop, which makes the change and answers. Without a database the entry is only logged.
  void record_then(AuditNote note, std::function<void(LaterAnswer)> go);

 private:
  // False: it has answered.
  bool has_database();
  struct Change;
  static void submit(const Environment& environment, const std::shared_ptr<Change>& change, const LaterAnswer& later,
                     WriteWork work);
  control::AuditEntry entry_of(AuditNote note) const;

  const Environment& environment_;
  const http::HttpRequest& request_;
  http::ResponseWriter& writer_;
  const control::Actor actor_;
  const Preconditions preconditions_;
  const TimePoint now_;
};

}  // namespace weir::admin
