#include "observe/otlp.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/protobuf_wire.h"

namespace weir::observe {
namespace {

using base::WireWriter;

// Field numbers, by message.
constexpr std::uint32_t kRequestResourceSpans = 1;
constexpr std::uint32_t kResourceSpansResource = 1;
constexpr std::uint32_t kResourceSpansScopeSpans = 2;
constexpr std::uint32_t kResourceAttributes = 1;
constexpr std::uint32_t kScopeSpansScope = 1;
constexpr std::uint32_t kScopeSpansSpans = 2;
constexpr std::uint32_t kScopeName = 1;
constexpr std::uint32_t kScopeVersion = 2;
constexpr std::uint32_t kSpanTraceId = 1;
constexpr std::uint32_t kSpanSpanId = 2;
constexpr std::uint32_t kSpanParentSpanId = 4;
constexpr std::uint32_t kSpanName = 5;
constexpr std::uint32_t kSpanKind = 6;
constexpr std::uint32_t kSpanStart = 7;
constexpr std::uint32_t kSpanEnd = 8;
constexpr std::uint32_t kSpanAttributes = 9;
constexpr std::uint32_t kSpanStatus = 15;
constexpr std::uint32_t kStatusMessage = 2;
constexpr std::uint32_t kStatusCode = 3;
constexpr std::uint32_t kKeyValueKey = 1;
constexpr std::uint32_t kKeyValueValue = 2;
constexpr std::uint32_t kValueString = 1;
constexpr std::uint32_t kValueBool = 2;
constexpr std::uint32_t kValueInt = 3;

constexpr std::uint64_t kKindInternal = 1;
constexpr std::uint64_t kKindServer = 2;
constexpr std::uint64_t kKindClient = 3;
constexpr std::uint64_t kStatusError = 2;

template <typename Id>
std::string_view bytes_of(const Id& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

std::uint64_t nanoseconds(TimePoint time) { return static_cast<std::uint64_t>(micros(time)) * 1'000; }

// One KeyValue. Also values that are empty, 0 or false are written: they are elements of a oneof.
class Attributes {
 public:
  Attributes(WireWriter& writer, std::uint32_t field) : writer_(writer), field_(field) {}

  void text(std::string_view key, std::string_view value) {
    add(key, [&] { writer_.put_bytes(kValueString, value); });
  }
  void boolean(std::string_view key, bool value) {
    add(key, [&] { writer_.put_number(kValueBool, value ? 1 : 0); });
  }
  void number(std::string_view key, std::int64_t value) {
    add(key, [&] { writer_.put_number(kValueInt, static_cast<std::uint64_t>(value)); });
  }

 private:
  template <typename Put>
  void add(std::string_view key, Put put) {
    const std::size_t pair = writer_.begin(field_);
    writer_.put_bytes(kKeyValueKey, key);
    const std::size_t value = writer_.begin(kKeyValueValue);
    put();
    writer_.end(value);
    writer_.end(pair);
  }

  WireWriter& writer_;
  const std::uint32_t field_;
};

std::string_view name_of(const Span& span) {
  switch (span.step) {
    case Span::Step::decision:
      return "weir.decision";
    case Span::Step::store:
      return "weir.store";
    case Span::Step::ledger:
      return "weir.ledger";
    case Span::Step::change:
      return span.name;
  }
  return "weir";
}

// The store in memory is not another service.
std::uint64_t kind_of(const Span& span) {
  if (span.step == Span::Step::decision || span.step == Span::Step::change) return kKindServer;
  return span.source == "memory" ? kKindInternal : kKindClient;
}

// Of a settlement no rules are known.
void write_rules(Attributes& attributes, const Span& span) {
  if (span.rules_version == 0 && span.rules_hash == 0) return;
  attributes.number("weir.rules_version", static_cast<std::int64_t>(span.rules_version));
  if (span.rules_hash != 0) attributes.text("weir.rules_hash", base::hex_text(span.rules_hash));
}

void write_attributes(WireWriter& writer, const Span& span) {
  Attributes attributes(writer, kSpanAttributes);
  if (span.step == Span::Step::store || span.step == Span::Step::ledger) {
    attributes.text("db.system", span.source);
    return;
  }
  if (span.step == Span::Step::change) {
    attributes.text("weir.source", span.source);
    attributes.number("weir.cost", span.cost);
    return write_rules(attributes, span);
  }
  attributes.text("weir.decision", span.allowed ? "allowed" : "denied");
  attributes.text("weir.reason", reason_name(span.reason));
  attributes.text("weir.source", span.source);
  if (!span.rule.empty()) attributes.text("weir.rule", span.rule);
  attributes.number("weir.cost", span.cost);
  if (span.degraded) attributes.boolean("weir.degraded", true);
  write_rules(attributes, span);
}

void write_span(WireWriter& writer, const Span& span) {
  const std::size_t begun = writer.begin(kScopeSpansSpans);
  writer.put_bytes(kSpanTraceId, bytes_of(span.trace));
  writer.put_bytes(kSpanSpanId, bytes_of(span.id));
  const bool has_parent = std::any_of(span.parent.begin(), span.parent.end(), [](std::uint8_t byte) { return byte; });
  if (has_parent) writer.put_bytes(kSpanParentSpanId, bytes_of(span.parent));
  writer.put_bytes(kSpanName, name_of(span));
  writer.put_number(kSpanKind, kind_of(span));
  writer.put_fixed64(kSpanStart, nanoseconds(span.from));
  writer.put_fixed64(kSpanEnd, nanoseconds(span.to));
  write_attributes(writer, span);
  if (span.failed) {
    const std::size_t status = writer.begin(kSpanStatus);
    writer.put_bytes(kStatusMessage, "did not answer");
    writer.put_number(kStatusCode, kStatusError);
    writer.end(status);
  }
  writer.end(begun);
}

void write_resource(WireWriter& writer, const OtlpResource& resource) {
  const std::size_t begun = writer.begin(kResourceSpansResource);
  Attributes attributes(writer, kResourceAttributes);
  attributes.text("service.name", "weir");
  attributes.text("service.version", resource.version);
  attributes.text("service.instance.id", resource.instance);
  if (!resource.region.empty()) attributes.text("weir.region", resource.region);
  writer.end(begun);
}

}  // namespace

std::string encode_otlp(std::span<const Span> spans, const OtlpResource& resource) {
  std::string out;
  WireWriter writer(out);
  const std::size_t resource_spans = writer.begin(kRequestResourceSpans);
  write_resource(writer, resource);
  const std::size_t scope_spans = writer.begin(kResourceSpansScopeSpans);
  const std::size_t scope = writer.begin(kScopeSpansScope);
  writer.put_bytes(kScopeName, "weir");
  writer.put_bytes(kScopeVersion, resource.version);
  writer.end(scope);
  for (const Span& span : spans) write_span(writer, span);
  writer.end(scope_spans);
  writer.end(resource_spans);
  return out;
}

}  // namespace weir::observe
