#include "admin/token_routes.h"

#include "admin/json_writer.h"
#include "control/change_log.h"

namespace weir::admin {
namespace {

using control::Role;
using control::Token;

void write_token(JsonWriter& out, const Token& token, const std::string* shown_once) {
  out.begin_object();
  out.member("id", token.id);
  out.member("name", token.name);
  out.member("role", control::role_name(token.role));
  out.member("created_at", token.created);
  out.member("expires_at", token.expires);
  out.member("revoked_at", token.revoked);
  out.member("last_used_at", token.last_used);
  out.member("actor", token.actor);
  out.member("etag", etag_of(token));
  if (shown_once != nullptr) out.member("token", *shown_once);
  out.end_object();
}

void list_tokens(Call& call) {
  Query query = call.query();
  const Page page = query.page("tokens");
  if (!call.accepts(query)) return;
  call.read([page](database::Session& session) -> Result<Answer> {
    const Result<std::vector<Token>> tokens = control::read_tokens(session);
    if (!tokens.ok()) return tokens.failure();
    JsonWriter out;
    out.begin_object();
    out.begin_array("items");
    std::int64_t left = page.limit;
    bool begun = page.after.empty();
    std::optional<std::string> next;
    std::string last;
    for (const Token& token : tokens.value()) {
      if (begun && left-- == 0) {
        next = next_cursor("tokens", last);
        break;
      }
      if (begun) write_token(out, token, nullptr);
      last = token.id;
      begun = begun || token.id == page.after;
    }
    out.end_array();
    out.member("next", next);
    out.end_object();
    return json_answer(out.take());
  });
}

void show_token(Call& call) {
  call.read([id = call.parameter("id")](database::Session& session) -> Result<Answer> {
    const Result<std::vector<Token>> tokens = control::read_tokens(session);
    if (!tokens.ok()) return tokens.failure();
    for (const Token& token : tokens.value()) {
      if (token.id == id) return json_answer(describe_token(token), etag_of(token));
    }
    return not_found("token", id);
  });
}

void create_token(Call& call) {
  Members body = call.body();
  Token token;
  token.id = control::make_id("tok");
  token.name = body.text("name");
  token.created = call.now();
  token.role = control::role_from_name(body.choice("role", {"reader", "operator", "admin"})).value_or(Role::reader);
  token.expires = body.optional_until("expires_at", call.now());
  token.actor = call.actor().name;
  if (const auto fault = control::token_name_fault(token.name); fault && !body.failed()) body.fail("name", *fault);
  if (!call.accepts(body)) return;
  const std::string text = control::make_token_text();
  token.hash = control::hash_of_token(text);
  call.write([token, text](Write& write) -> Result<Answer> {
    Status done = control::add_token(write.session, token);
    if (done.ok()) done = control::note_change(write.session, control::kTokensTopic);
    if (done.ok()) done = write.audit({"token.create", "token/" + token.id, "", describe_token(token), ""});
    if (!done.ok()) return done.failure();
    JsonWriter out;
    write_token(out, token, &text);
    return created(out.take(), etag_of(token));
  });
}

void revoke_token_by_id(Call& call) {
  Query query = call.query();
  const std::string reason = query.reason();
  if (!call.accepts(query)) return;
  call.write([id = call.parameter("id"), reason](Write& write) -> Result<Answer> {
    const Result<std::optional<Token>> found = control::find_token(write.session, id);
    if (!found.ok()) return found.failure();
    if (!found.value() || found.value()->revoked) return not_found("active token", id);
    const Token before = *found.value();
    if (const std::optional<Answer> refused = write.refuse(etag_of(before))) return *refused;
    Token after = before;
    after.revoked = write.now;
    Status done = control::revoke_token(write.session, id, write.now);
    if (done.ok()) done = control::note_change(write.session, control::kTokensTopic);
    if (done.ok()) {
      done = write.audit({"token.revoke", "token/" + id, describe_token(before), describe_token(after), reason});
    }
    if (!done.ok()) return done.failure();
    return no_content();
  });
}

}  // namespace

std::string describe_token(const Token& token) {
  JsonWriter out;
  write_token(out, token, nullptr);
  return out.take();
}

// Last used is not part of it: using a token does not change it.
std::string etag_of(const Token& token) { return token.revoked ? "2" : "1"; }

void add_token_routes(Api& api) {
  api.get("/tokens", list_tokens);
  api.get("/tokens/{id}", show_token);
  api.post("/tokens", Role::admin, create_token);
  api.remove("/tokens/{id}", Role::admin, revoke_token_by_id);
}

}  // namespace weir::admin
