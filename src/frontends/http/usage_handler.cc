#include "frontends/http/usage_handler.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "frontends/http/usage_body.h"

namespace weir::http {
namespace {

// The answers to the reports of one request, and who gets them when all are there.
class UsageAnswers : public std::enable_shared_from_this<UsageAnswers> {
 public:
  UsageAnswers(LaterResponse later, std::size_t count) : later_(std::move(later)), answers_(count), left_(count) {}

  void put(std::size_t index, const UsageAnswer& answer) {
    {
      const std::lock_guard lock(mutex_);
      answers_[index] = answer;
      if (--left_ > 0) return;
    }
    later_.link().post([self = shared_from_this()] { self->send(); });
  }

 private:
  static void append(std::string& out, const UsageAnswer& answer) {
    out += std::string("{\"recorded\":") + (answer.status == Code::ok ? "true" : "false") +
           ",\"duplicate\":" + (answer.replayed ? "true" : "false") + ",\"rules\":" + std::to_string(answer.rules) +
           ",\"debt\":" + std::to_string(answer.debt) + ",\"uncharged\":" + std::to_string(answer.uncharged) +
           ",\"overage\":" + std::to_string(answer.overage);
    if (answer.status != Code::ok) {
      out += ",\"error\":";
      base::append_json_string(out, answer.message);
    }
    out += '}';
  }

  void send() const {
    std::string body = "{\"results\":[";
    int status = 200;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      if (i > 0) body += ',';
      append(body, answers_[i]);
      if (answers_[i].status == Code::ok) continue;
      if (answers_.size() == 1) {
        return later_.send_problem(answers_[i].status == Code::unavailable ? 503 : 400, answers_[i].message);
      }
      status = answers_[i].status == Code::unavailable ? 503 : std::max(status, 400);
    }
    body += "]}";
    later_.send({.status = status, .content_type = kJson, .fields = {}, .body = body});
  }

  const LaterResponse later_;
  std::mutex mutex_;
  std::vector<UsageAnswer> answers_;  // guarded by mutex_
  std::size_t left_;                  // likewise
};

class UsageHandler {
 public:
  UsageHandler(UsageRecorder& recorder, UsageOptions options) : recorder_(recorder), options_(std::move(options)) {}

  void report(const HttpRequest& request, ResponseWriter& writer) {
    const HttpField* const type = request.find("content-type");
    if (Status read = body_.read(type == nullptr ? "application/json" : type->value, request.body); !read.ok()) {
      return writer.send_problem(400, read.failure().message);
    }
    if (body_.reports().empty()) return writer.send({.body = R"({"results":[]})"});
    if (!identify(writer)) return;
    const std::string caller = options_.caller_of ? options_.caller_of(request) : std::string();
    auto answers = std::make_shared<UsageAnswers>(writer.defer(), body_.reports().size());
    for (std::size_t i = 0; i < body_.reports().size(); ++i) {
      UsageReport report = body_.reports()[i];
      report.caller = caller;
      if (options_.identity != nullptr) {
        report.request.attributes = identified_[i].attributes;
        report.request.derived = identified_[i].derived;
      }
      if (request.once) report.request.once = request.once.at(i);
      recorder_.record(report, [answers, i](const UsageAnswer& answer) { answers->put(i, answer); });
    }
  }

 private:
  // False: answered. One report that cannot be accepted refuses them all, so that nothing is recorded.
  bool identify(ResponseWriter& writer) {
    if (options_.identity == nullptr) return true;
    const std::size_t count = body_.reports().size();
    identified_.clear();
    for (const UsageReport& report : body_.reports()) identified_.push_back(report.request);
    std::vector<std::size_t> refused;
    const auto place = [count](std::size_t index) { return count == 1 ? "" : "[" + std::to_string(index) + "]."; };
    if (const auto fault = transport::identify(*options_.identity, identified_, refused)) {
      writer.send_problem(400, fault->refusal.message(place(fault->index), "attributes."));
      return false;
    }
    if (refused.empty()) return true;
    writer.send_problem(403, place(refused.front()) + "attributes: the credentials in them are not accepted");
    return false;
  }

  UsageRecorder& recorder_;
  const UsageOptions options_;
  UsageBody body_;
  std::vector<Request> identified_;
};

}  // namespace

void add_usage_routes(Router& router, UsageRecorder& recorder, const UsageOptions& options) {
  auto handler = std::make_shared<UsageHandler>(recorder, options);
  router.add({.method = "POST",
              .path = "/v1/usage",
              .body_bytes = options.body_bytes,
              .handler = once(options.once, [handler](const HttpRequest& request,
                                                      ResponseWriter& writer) { handler->report(request, writer); }),
              .role = "reserve"});
}

}  // namespace weir::http
