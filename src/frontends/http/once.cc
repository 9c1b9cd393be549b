#include "frontends/http/once.h"

#include <optional>
#include <utility>

#include "frontends/http/idempotency_field.h"
#include "frontends/http/json_body.h"

namespace weir::http {
namespace {

// The value of attributes.tenant; empty if there is none. What is wrong with the body the handler says.
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
    const bool success = response.status >= 200 && response.status < 300;
    const Duration replayed_for = success ? keep_ : std::min(response.replay_for, keep_);
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

// False: the request was answered.
bool begin_once(const OnceOptions& options, const HttpRequest& request, const std::string& key,
                ResponseWriter& writer) {
  const std::string caller = options.caller_of ? options.caller_of(request) : std::string();
  const std::string scope = IdempotencyTable::scope_of(caller, tenant_of(request.body), key);
  RecordedAnswer answer;
  switch (options.table->begin(scope, hash_of_request(request), options.clock->now(), answer)) {
    case IdempotencyTable::Found::fresh:
      writer.record(std::make_shared<Recording>(options.table, options.clock, options.keep, scope));
      return true;
    case IdempotencyTable::Found::replayed:
      answer.fields += "Idempotent-Replayed: true\r\n";
      writer.send(
          {.status = answer.status, .content_type = answer.content_type, .fields = answer.fields, .body = answer.body});
      return false;
    case IdempotencyTable::Found::running:
      writer.send_problem(409, "Idempotency-Key: the first request with this key has no answer yet; try again later",
                          "Retry-After: 1\r\n");
      return false;
    case IdempotencyTable::Found::other_body:
      writer.send_problem(422, "Idempotency-Key: was used for another request; use a new key for each request");
      return false;
    case IdempotencyTable::Found::full:
      writer.send_problem(503, "Idempotency-Key: there is no room for another key; try again later, or without a key",
                          "Retry-After: 1\r\n");
      return false;
  }
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
        if (options.table == nullptr) {
          return writer.send_problem(
              400,
              "Idempotency-Key: is not supported with a Redis store by this version of weir; send the "
              "request without it");
        }
        if (begin_once(options, request, *key.value(), writer)) handler(request, writer);
      };
}

}  // namespace weir::http
