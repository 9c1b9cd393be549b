#include "frontends/http/once.h"

#include <openssl/sha.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "frontends/http/idempotency_field.h"
#include "frontends/http/json_body.h"

namespace weir::http {
namespace {

// The value of attributes.tenant; empty if there is none. The handler reports what is wrong with the body.
std::string tenant_of(std::string_view body) {
  std::string tenant;
  JsonBody json;
  static_cast<void>(json.read(body, [&](ondemand::object& object) -> Status {
    ondemand::object attributes;
    std::string_view text;
    if (object.find_field_unordered("attributes").get_object().get(attributes)) return success();
    ondemand::value value;
    if (attributes.find_field_unordered("tenant").get(value)) return success();
    if (!value.get_string().get(text)) tenant = text;
    return success();
  }));
  return tenant;
}

// An answer with success is replayed for `keep`, a denial until its wait is over, others not at all.
Duration replay_time(const Response& response, Duration keep) {
  const bool success = response.status >= 200 && response.status < 300;
  return success ? keep : std::min(response.replay_for, keep);
}

// Writes down the first answer; without one, the key is free again.
class Recording final : public ResponseRecorder {
 public:
  Recording(std::shared_ptr<IdempotencyTable> table, std::shared_ptr<Clock> clock, Duration keep, std::string scope)
      : table_(std::move(table)), clock_(std::move(clock)), keep_(keep), scope_(std::move(scope)) {}
  ~Recording() override {
    if (!done_) table_->forget(scope_);
  }

  void record(const Response& response) override {
    if (std::exchange(done_, true)) return;
    const Duration replayed_for = replay_time(response, keep_);
    if (replayed_for <= Duration::zero()) return table_->forget(scope_);
    const TimePoint from = clock_->now() + response.held_for;
    table_->finish(scope_,
                   {.status = response.status,
                    .content_type = std::string(response.content_type),
                    .fields = std::string(response.fields),
                    .body = std::string(response.body)},
                   from, from + replayed_for);
  }

 private:
  const std::shared_ptr<IdempotencyTable> table_;
  const std::shared_ptr<Clock> clock_;
  const Duration keep_;
  const std::string scope_;
  bool done_ = false;
};

// The same for a store that other nodes share.
class SharedRecording final : public ResponseRecorder {
 public:
  SharedRecording(std::shared_ptr<RunningAnswer> running, Duration keep) : running_(std::move(running)), keep_(keep) {}

  void record(const Response& response) override {
    const std::shared_ptr<RunningAnswer> running = std::exchange(running_, nullptr);
    if (running == nullptr) return;
    const Duration replayed_for = replay_time(response, keep_);
    if (replayed_for <= Duration::zero()) return;
    running->finish({.status = response.status,
                     .content_type = std::string(response.content_type),
                     .fields = std::string(response.fields),
                     .body = std::string(response.body)},
                    response.held_for, replayed_for);
  }

 private:
  std::shared_ptr<RunningAnswer> running_;
  const Duration keep_;
};

// A request that outlives the call of its handler.
class KeptHttpRequest {
 public:
  explicit KeptHttpRequest(const HttpRequest& request)
      : method_(request.method),
        path_(request.path),
        query_(request.query),
        body_(request.body),
        once_name_(request.once_name),
        request_(request) {
    texts_.reserve(2 * request.fields.size());
    for (const HttpField& field : request.fields) {
      const std::string& name = texts_.emplace_back(field.name);
      const std::string& value = texts_.emplace_back(field.value);
      fields_.push_back({name, value});
    }
    parameters_.assign(request.parameters.begin(), request.parameters.end());
    request_.method = method_;
    request_.path = path_;
    request_.query = query_;
    request_.body = body_;
    request_.once_name = once_name_;
    request_.fields = fields_;
    request_.parameters = parameters_;  // their names are the route's
  }
  KeptHttpRequest(const KeptHttpRequest&) = delete;
  KeptHttpRequest& operator=(const KeptHttpRequest&) = delete;

  const HttpRequest& request() const { return request_; }
  void be_once(const Once& once) { request_.once = once; }

 private:
  const std::string method_;
  const std::string path_;
  const std::string query_;
  const std::string body_;
  const std::string once_name_;
  std::vector<std::string> texts_;
  std::vector<HttpField> fields_;
  std::vector<PathParameter> parameters_;
  HttpRequest request_;
};

// The scope as the same 32 digits on every node. Not keyed, so nothing that is secret may depend on it; no one can find
// another scope with the same digits.
std::string digits_of(const std::string& scope) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(scope.data()), scope.size(), hash);
  std::string digits;
  for (std::size_t i = 0; i < 16; ++i) {
    digits += kHexDigits[hash[i] >> 4U];
    digits += kHexDigits[hash[i] & 15U];
  }
  return digits;
}

// What is answered without calling the handler.
void refuse(IdempotencyTable::Found found, RecordedAnswer& answer, ResponseWriter& writer) {
  switch (found) {
    case IdempotencyTable::Found::fresh:
      break;
    case IdempotencyTable::Found::replayed:
      if (answer.fields.find(kReplayedField) == answer.fields.npos) answer.fields += kReplayedField;
      writer.send(
          {.status = answer.status, .content_type = answer.content_type, .fields = answer.fields, .body = answer.body});
      break;
    case IdempotencyTable::Found::running:
      writer.send_problem(409, "Idempotency-Key: the first request with this key has no answer yet; try again later",
                          "Retry-After: 1\r\n");
      break;
    case IdempotencyTable::Found::other_body:
      writer.send_problem(422, "Idempotency-Key: was used for another request; use a new key for each request");
      break;
    case IdempotencyTable::Found::full:
      writer.send_problem(503, "Idempotency-Key: there is no room for another key; try again later, or without a key",
                          "Retry-After: 1\r\n");
      break;
    case IdempotencyTable::Found::unavailable:
      writer.send_problem(503, "Idempotency-Key: the store of keys did not answer; nothing was done, try again",
                          "Retry-After: 1\r\n");
      break;
  }
}

void begin_shared(const OnceOptions& options, const Handler& handler, const HttpRequest& request,
                  const std::string& scope, ResponseWriter& writer) {
  const auto kept = std::make_shared<KeptHttpRequest>(request);
  options.store->begin(scope, hash_of_request(request),
                       [kept, later = writer.defer(), handler, keep = options.keep](OnceStore::Begun begun) {
                         if (later.link().closed()) return;  // the key is free again
                         ResponseWriter answering(later);
                         if (begun.found != IdempotencyTable::Found::fresh) {
                           return refuse(begun.found, begun.answer, answering);
                         }
                         answering.record(std::make_shared<SharedRecording>(std::move(begun.running), keep));
                         kept->be_once({begun.id, keep});
                         handler(kept->request(), answering);
                       });
}

// False: the request was answered.
bool begin_once(const OnceOptions& options, const HttpRequest& request, const std::string& scope,
                ResponseWriter& writer) {
  RecordedAnswer answer;
  const IdempotencyTable::Found found =
      options.table->begin(scope, hash_of_request(request), options.clock->now(), answer);
  if (found != IdempotencyTable::Found::fresh) {
    refuse(found, answer, writer);
    return false;
  }
  writer.record(std::make_shared<Recording>(options.table, options.clock, options.keep, scope));
  return true;
}

}  // namespace

Handler once(OnceOptions options, Handler handler) {
  return
      [options = std::move(options), handler = std::move(handler)](const HttpRequest& request, ResponseWriter& writer) {
        const Result<std::optional<std::string>> key = read_idempotency_key(request);
        if (!key.ok()) [[unlikely]]
          return writer.send_problem(400, key.failure().message);
        if (!key.value()) [[likely]] {
          if (!options.required) return handler(request, writer);
          return writer.send_problem(400, "Idempotency-Key: is missing; this server requires it here");
        }
        if (options.table == nullptr && options.store == nullptr) {
          return writer.send_problem(400, "Idempotency-Key: this server keeps no answers; send the request without it");
        }
        const std::string caller = options.caller_of ? options.caller_of(request) : std::string();
        const std::string scope = IdempotencyTable::scope_of(caller, tenant_of(request.body), *key.value());
        const std::string digits = digits_of(scope);
        HttpRequest named = request;
        named.once_name = digits;
        if (options.store != nullptr) return begin_shared(options, handler, named, scope, writer);
        if (begin_once(options, named, scope, writer)) handler(named, writer);
      };
}

}  // namespace weir::http
