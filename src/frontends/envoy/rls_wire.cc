#include "frontends/envoy/rls_wire.h"

#include "base/protobuf_wire.h"
#include "base/utf8.h"

namespace weir::envoy {
namespace {

constexpr std::uint64_t kCodeOk = 1;
constexpr std::uint64_t kCodeOverLimit = 2;

// A message counts as read only if the reader reached its end.
bool whole(const base::WireReader& reader) { return !reader.failed(); }

bool read_text(const base::WireReader& reader, std::string_view& text) {
  text = reader.bytes();
  return base::is_utf8(text);
}

bool read_entry(std::string_view bytes, Attribute& entry) {
  base::WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.tag()) {
      case base::bytes_field(1):
        if (!read_text(reader, entry.name)) return false;
        break;
      case base::bytes_field(2):
        if (!read_text(reader, entry.value)) return false;
        break;
      default:
        break;
    }
  }
  return whole(reader);
}

bool read_override(std::string_view bytes, RlsDescriptor& descriptor) {
  descriptor.has_override = true;
  base::WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.tag()) {
      case base::varint_field(1):
        descriptor.override_limit = static_cast<std::uint32_t>(reader.number());
        break;
      case base::varint_field(2):
        descriptor.override_unit = static_cast<std::int32_t>(reader.number());
        break;
      default:
        break;
    }
  }
  return whole(reader);
}

bool read_hits(std::string_view bytes, RlsDescriptor& descriptor) {
  descriptor.has_hits = true;
  base::WireReader reader(bytes);
  while (reader.next()) {
    if (reader.tag() == base::varint_field(1)) descriptor.hits = reader.number();
  }
  return whole(reader);
}

bool read_descriptor(std::string_view bytes, RlsRequest& request) {
  RlsDescriptor descriptor;
  descriptor.first = request.attributes.size();
  request.attributes.emplace_back();
  base::WireReader reader(bytes);
  while (reader.next()) {
    bool good = true;
    switch (reader.tag()) {
      case base::bytes_field(1):
        ++descriptor.entries;
        good = read_entry(reader.bytes(), request.attributes.emplace_back());
        break;
      case base::bytes_field(2):
        good = read_override(reader.bytes(), descriptor);
        break;
      case base::bytes_field(3):
        good = read_hits(reader.bytes(), descriptor);
        break;
      case base::varint_field(4):
        descriptor.negative = reader.number() != 0;
        break;
      default:
        break;
    }
    if (!good) return false;
  }
  request.descriptors.push_back(descriptor);
  return whole(reader);
}

void write_limit(base::WireWriter& writer, const RlsStatus& status) {
  const std::size_t limit = writer.begin(2);
  writer.number(1, status.limit);
  writer.number(2, static_cast<std::uint64_t>(status.unit));
  writer.text(3, status.name);
  writer.end(limit);
}

void write_status(base::WireWriter& writer, const RlsStatus& status) {
  const std::size_t message = writer.begin(2);
  writer.number(1, status.over_limit ? kCodeOverLimit : kCodeOk);
  if (status.has_limit) write_limit(writer, status);
  writer.number(3, status.remaining);
  if (status.has_reset) {
    const std::size_t duration = writer.begin(4);
    writer.number(1, static_cast<std::uint64_t>(status.reset_after.count()));
    writer.end(duration);
  }
  writer.end(message);
}

void write_header(base::WireWriter& writer, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  const std::size_t message = writer.begin(3);
  writer.text(1, name);
  writer.text(2, value);
  writer.end(message);
}

}  // namespace

bool read_rls_request(std::string_view bytes, RlsRequest& request) {
  request.clear();
  base::WireReader reader(bytes);
  while (reader.next()) {
    switch (reader.tag()) {
      case base::bytes_field(1):
        if (!read_text(reader, request.domain)) return false;
        break;
      case base::bytes_field(2):
        if (!read_descriptor(reader.bytes(), request)) return false;
        break;
      case base::varint_field(3):
        request.hits_addend = static_cast<std::uint32_t>(reader.number());
        break;
      default:
        break;
    }
  }
  request.spread_domain();
  return whole(reader);
}

void write_rls_answer(std::string& out, const RlsAnswer& answer) {
  base::WireWriter writer(out);
  writer.number(1, answer.over_limit ? kCodeOverLimit : kCodeOk);
  for (const RlsStatus& status : answer.statuses) write_status(writer, status);
  for (std::size_t i = 0; i < answer.headers.size(); ++i) write_header(writer, kRlsHeaderNames[i], answer.headers[i]);
  write_header(writer, "Weir-Status", answer.weir_status);
  writer.text(5, answer.body);
}

}  // namespace weir::envoy
