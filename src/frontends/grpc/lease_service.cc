#include "frontends/grpc/lease_service.h"

#include "base/protobuf_wire.h"
#include "base/utf8.h"
#include "frontends/grpc/hold_calls.h"

namespace weir::grpc {
namespace {

// What a message has beside the fields of a CheckRequest: a text (an id or a handle) and a TTL.
struct LeaseFields {
  std::string_view text;
  Duration ttl{0};
};

Status read_lease_fields(std::string_view message, std::uint32_t text_field, std::uint32_t ttl_field,
                         LeaseFields& fields) {
  std::int64_t ttl_ms = 0;
  base::WireReader reader(message);
  while (reader.next()) {
    if (reader.tag() == base::bytes_field(text_field)) fields.text = reader.bytes();
    if (reader.tag() == base::varint_field(ttl_field)) ttl_ms = static_cast<std::int64_t>(reader.number());
  }
  if (reader.failed() || !base::is_utf8(fields.text)) return unparsable_message();
  const Result<Duration> ttl = hold_ttl(ttl_ms);
  if (!ttl.ok()) return ttl.failure();
  fields.ttl = ttl.value();
  return success();
}

void send_lease(Call& call, LeaseQuestion::Verb verb, const LeaseAnswer& answer) {
  if (answer.fault != HoldFault::none) return call.finish(hold_code(answer.fault), answer.message);
  base::WireWriter writer(call.begin_message());
  if (verb != LeaseQuestion::Verb::release) {
    const std::size_t decision = writer.begin(1);
    write_decision(writer.out(), answer.decision);
    writer.end(decision);
    if (!answer.handle.empty()) {
      const std::size_t lease = writer.begin(2);
      writer.text(1, answer.handle);
      writer.number(2, answer.fencing_token.value_or(0));
      // Rounded down: a holder that stops then is never too late.
      writer.number(3, static_cast<std::uint64_t>(micros(answer.expires) / 1'000));
      writer.number(4, static_cast<std::uint64_t>(answer.ttl.count() / 1'000));
      writer.boolean(5, answer.created);
      writer.end(lease);
    }
  }
  call.end_message();
  call.finish(Code::ok);
}

}  // namespace

void LeaseService::on_message(Call& call, int method, std::string_view message) {
  if (method == kAcquire) return acquire(call, message);
  LeaseFields fields;
  if (const Status read = read_lease_fields(message, 1, 2, fields); !read.ok()) {
    return call.finish(read.failure().code, read.failure().message);
  }
  LeaseQuestion question;
  question.verb = method == kRenew ? LeaseQuestion::Verb::renew : LeaseQuestion::Verb::release;
  question.handle = fields.text;
  question.ttl = fields.ttl;
  question.request.trace = call.trace();
  answer(call, question);
}

void LeaseService::acquire(Call& call, std::string_view message) {
  LeaseFields fields;
  Status read = messages_.read_one(message);
  if (read.ok()) read = read_lease_fields(message, 5, 4, fields);
  if (!read.ok()) return call.finish(read.failure().code, read.failure().message);
  Request& request = messages_.requests.front();
  const Caller caller = identify_caller(call, request, identity_.get());
  if (caller == Caller::answered) return;
  if (caller == Caller::refused) {
    LeaseAnswer refused;
    refused.decision = transport::refused_decision();
    return send_lease(call, LeaseQuestion::Verb::acquire, refused);
  }
  LeaseQuestion question;
  question.request = request;
  question.id = fields.text;
  question.ttl = fields.ttl;
  answer(call, question);
}

void LeaseService::answer(Call& call, const LeaseQuestion& question) {
  ask_holds<LeaseAnswer>(call, leases_, question, send_lease);
}

}  // namespace weir::grpc
