#include "frontends/grpc/reservation_service.h"

#include "base/protobuf_wire.h"
#include "base/utf8.h"
#include "frontends/grpc/hold_calls.h"

namespace weir::grpc {
namespace {

// The fields of a ReserveRequest beside those of a CheckRequest; those of the other requests are below.
enum ReserveField : std::uint32_t { kReserveTtl = 4, kReserveId = 5, kAmount = 6, kPartial = 7, kDryRun = 8 };
enum SettleField : std::uint32_t { kHandleField = 1, kActual = 2 };
enum ExtendField : std::uint32_t { kExtendTtl = 2, kAdd = 3, kExtendPartial = 4 };

Status set_ttl(std::int64_t ttl_ms, ReservationQuestion& question) {
  const Result<Duration> ttl = hold_ttl(ttl_ms);
  if (!ttl.ok()) return ttl.failure();
  question.ttl = ttl.value();
  return success();
}

Status read_reserve(std::string_view message, ReservationQuestion& question) {
  std::int64_t ttl_ms = 0;
  base::WireReader reader(message);
  while (reader.next()) {
    const auto tag = reader.tag();
    if (tag == base::bytes_field(kReserveId)) question.id = reader.bytes();
    if (tag == base::varint_field(kReserveTtl)) ttl_ms = static_cast<std::int64_t>(reader.number());
    if (tag == base::varint_field(kAmount)) question.amount = static_cast<std::int64_t>(reader.number());
    if (tag == base::varint_field(kPartial)) question.partial = reader.number() != 0;
    if (tag == base::varint_field(kDryRun)) question.dry_run = reader.number() != 0;
  }
  if (reader.failed() || !base::is_utf8(question.id)) return unparsable_message();
  return set_ttl(ttl_ms, question);
}

Status read_settlement(std::string_view message, ReservationQuestion& question) {
  const bool extends = question.verb == ReservationQuestion::Verb::extend;
  std::int64_t ttl_ms = 0;
  base::WireReader reader(message);
  while (reader.next()) {
    const auto tag = reader.tag();
    if (tag == base::bytes_field(kHandleField)) question.handle = reader.bytes();
    if (!extends && tag == base::varint_field(kActual)) question.actual = static_cast<std::int64_t>(reader.number());
    if (!extends) continue;
    if (tag == base::varint_field(kExtendTtl)) ttl_ms = static_cast<std::int64_t>(reader.number());
    if (tag == base::varint_field(kAdd)) question.amount = static_cast<std::int64_t>(reader.number());
    if (tag == base::varint_field(kExtendPartial)) question.partial = reader.number() != 0;
  }
  if (reader.failed()) return unparsable_message();
  return set_ttl(ttl_ms, question);
}

bool is_denied_reservation(ReservationQuestion::Verb verb, const ReservationAnswer& answer) {
  using Verb = ReservationQuestion::Verb;
  return (verb == Verb::reserve || verb == Verb::extend) && !answer.decision.allowed;
}

void write_reservation(base::WireWriter& writer, const ReservationAnswer& answer) {
  const auto units = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::size_t reservation = writer.begin(2);
  writer.text(1, answer.handle);
  writer.text(2, answer.id);
  writer.number(3, static_cast<std::uint64_t>(answer.state) + 1);
  writer.number(4, units(answer.granted));
  if (answer.state == ReservationState::open) writer.number(5, units(micros(answer.expires) / 1'000));
  writer.number(6, units(answer.estimated));
  writer.number(7, units(answer.actual));
  writer.number(8, units(answer.returned));
  writer.number(9, units(answer.debt));
  writer.number(10, units(answer.uncharged));
  writer.number(11, answer.fencing_token.value_or(0));
  writer.boolean(12, answer.created);
  writer.boolean(13, answer.replayed);
  writer.end(reservation);
}

void send_reservation(Call& call, ReservationQuestion::Verb verb, const ReservationAnswer& answer) {
  if (answer.fault != HoldFault::none) return call.finish(hold_code(answer.fault), answer.message);
  base::WireWriter writer(call.begin_message());
  const std::size_t decision = writer.begin(1);
  write_decision(writer.out(), answer.decision);
  writer.end(decision);
  if (!is_denied_reservation(verb, answer)) write_reservation(writer, answer);
  call.end_message();
  call.finish(Code::ok);
}

}  // namespace

void ReservationService::on_message(Call& call, int method, std::string_view message) {
  using Verb = ReservationQuestion::Verb;
  if (method == kReserve) return reserve(call, message);
  ReservationQuestion question;
  question.verb = Verb::extend;
  if (method == kCommit) question.verb = Verb::commit;
  if (method == kRelease) question.verb = Verb::release;
  if (const Status read = read_settlement(message, question); !read.ok()) {
    return call.finish(read.failure().code, read.failure().message);
  }
  question.request.trace = call.trace();
  answer(call, question);
}

void ReservationService::reserve(Call& call, std::string_view message) {
  ReservationQuestion question;
  Status read = messages_.read_one(message);
  if (read.ok()) read = read_reserve(message, question);
  if (!read.ok()) return call.finish(read.failure().code, read.failure().message);
  Request& request = messages_.requests.front();
  const Caller caller = identify_caller(call, request, identity_.get());
  if (caller == Caller::answered) return;
  if (caller == Caller::refused) {
    ReservationAnswer refused;
    refused.decision = transport::refused_decision();
    return send_reservation(call, question.verb, refused);
  }
  question.request = request;
  answer(call, question);
}

void ReservationService::answer(Call& call, const ReservationQuestion& question) {
  ask_holds<ReservationAnswer>(call, reservations_, question, send_reservation);
}

}  // namespace weir::grpc
