#include "frontends/grpc/reflection_service.h"

#include "base/protobuf_wire.h"
#include "base/utf8.h"

namespace weir::grpc {
namespace {

// Fields of google.protobuf.FileDescriptorProto and what it holds.
constexpr std::uint32_t kSetFile = base::bytes_field(1);
constexpr std::uint32_t kFileName = base::bytes_field(1);
constexpr std::uint32_t kFilePackage = base::bytes_field(2);
constexpr std::uint32_t kFileMessage = base::bytes_field(4);
constexpr std::uint32_t kFileEnum = base::bytes_field(5);
constexpr std::uint32_t kFileService = base::bytes_field(6);
constexpr std::uint32_t kName = base::bytes_field(1);
constexpr std::uint32_t kMessageField = base::bytes_field(2);
constexpr std::uint32_t kMessageNested = base::bytes_field(3);
constexpr std::uint32_t kMessageEnum = base::bytes_field(4);
constexpr std::uint32_t kServiceMethod = base::bytes_field(2);
constexpr std::uint32_t kEnumValue = base::bytes_field(2);

// Fields of ServerReflectionRequest.
constexpr std::uint32_t kHost = base::bytes_field(1);
constexpr std::uint32_t kFileByName = base::bytes_field(3);
constexpr std::uint32_t kFileBySymbol = base::bytes_field(4);
constexpr std::uint32_t kFileByExtension = base::bytes_field(5);
constexpr std::uint32_t kExtensionNumbers = base::bytes_field(6);
constexpr std::uint32_t kListServices = base::bytes_field(7);

// Fields of ServerReflectionResponse.
constexpr std::uint32_t kValidHost = 1;
constexpr std::uint32_t kOriginalRequest = 2;
constexpr std::uint32_t kFileResponse = 4;
constexpr std::uint32_t kListResponse = 6;
constexpr std::uint32_t kErrorResponse = 7;

std::string_view field(std::string_view message, std::uint32_t tag) {
  std::string_view found;
  for (base::WireReader reader(message); reader.next();) {
    if (reader.tag() == tag) found = reader.bytes();
  }
  return found;
}

std::string join(const std::string& scope, std::string_view name) {
  return scope.empty() ? std::string(name) : scope + "." + std::string(name);
}

void write_error(base::WireWriter& writer, Code code, std::string_view text) {
  const std::size_t error = writer.begin(kErrorResponse);
  writer.number(1, static_cast<std::uint64_t>(code));
  writer.text(2, text);
  writer.end(error);
}

void write_file(base::WireWriter& writer, std::string_view file) {
  const std::size_t response = writer.begin(kFileResponse);
  writer.put_bytes(1, file);
  writer.end(response);
}

}  // namespace

ReflectionService::ReflectionService() {
  for (base::WireReader reader(embedded_descriptors()); reader.next();) {
    if (reader.tag() == kSetFile) index_file(reader.bytes());
  }
}

void ReflectionService::index_file(std::string_view file) {
  files_.emplace(field(file, kFileName), file);
  const std::string package(field(file, kFilePackage));
  for (base::WireReader reader(file); reader.next();) {
    if (reader.tag() == kFileMessage) index_message(package, reader.bytes(), file);
    if (reader.tag() == kFileEnum) index_enum(package, reader.bytes(), file);
    if (reader.tag() == kFileService) index_service(package, reader.bytes(), file);
  }
}

void ReflectionService::index_message(const std::string& scope, std::string_view message, std::string_view file) {
  const std::string name = join(scope, field(message, kName));
  symbols_.emplace(name, file);
  for (base::WireReader reader(message); reader.next();) {
    if (reader.tag() == kMessageField) symbols_.emplace(join(name, field(reader.bytes(), kName)), file);
    if (reader.tag() == kMessageNested) index_message(name, reader.bytes(), file);
    if (reader.tag() == kMessageEnum) index_enum(name, reader.bytes(), file);
  }
}

void ReflectionService::index_service(const std::string& scope, std::string_view service, std::string_view file) {
  const std::string name = join(scope, field(service, kName));
  services_.push_back(name);
  symbols_.emplace(name, file);
  for (base::WireReader reader(service); reader.next();) {
    if (reader.tag() == kServiceMethod) symbols_.emplace(join(name, field(reader.bytes(), kName)), file);
  }
}

// The values of an enum are siblings of it, not children.
void ReflectionService::index_enum(const std::string& scope, std::string_view enumeration, std::string_view file) {
  symbols_.emplace(join(scope, field(enumeration, kName)), file);
  for (base::WireReader reader(enumeration); reader.next();) {
    if (reader.tag() == kEnumValue) symbols_.emplace(join(scope, field(reader.bytes(), kName)), file);
  }
}

void ReflectionService::on_message(Call& call, int, std::string_view message) {
  base::WireWriter writer(call.begin_message());
  std::uint32_t wanted = 0;
  std::string_view argument;
  std::string_view host;
  base::WireReader reader(message);
  while (reader.next()) {
    if (reader.tag() == kHost) host = reader.bytes();
    if (reader.tag() >= kFileByName && reader.tag() <= kListServices) {
      wanted = reader.tag();
      argument = reader.bytes();
    }
  }
  if (reader.failed() || !base::is_utf8(host) || !base::is_utf8(argument)) {
    return call.finish(Code::invalid_argument, "not a ServerReflectionRequest");
  }
  writer.text(kValidHost, host);
  writer.put_bytes(kOriginalRequest, message);
  if (wanted == kListServices) {
    const std::size_t list = writer.begin(kListResponse);
    for (const std::string& name : services_) {
      const std::size_t service = writer.begin(1);
      writer.text(1, name);
      writer.end(service);
    }
    writer.end(list);
  } else if (wanted == kFileByName || wanted == kFileBySymbol) {
    const auto& index = wanted == kFileByName ? files_ : symbols_;
    const auto found = index.find(argument);
    if (found != index.end()) {
      write_file(writer, found->second);
    } else {
      write_error(writer, Code::not_found, wanted == kFileByName ? "no such file" : "no such symbol");
    }
  } else if (wanted == kFileByExtension || wanted == kExtensionNumbers) {
    write_error(writer, Code::not_found, "there are no extensions");
  } else {
    write_error(writer, Code::invalid_argument, "an unknown kind of request");
  }
  call.end_message();
  call.flush();
}

void ReflectionService::on_last_message(Call& call, int) { call.finish(Code::ok); }

}  // namespace weir::grpc
