// Server reflection, v1 and v1alpha (they differ only in their package): lists the services and hands out the
// descriptors of api/proto, which protoc put into the program when it was built.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/grpc/call.h"

namespace weir::grpc {

// The FileDescriptorSet of api/proto with everything it imports. Generated at build time.
std::string_view embedded_descriptors();

class ReflectionService final : public Service {
 public:
  ReflectionService();
  void on_message(Call& call, int method, std::string_view message) override;
  void on_last_message(Call& call, int method) override;

  const std::vector<std::string>& services() const { return services_; }

 private:
  void index_file(std::string_view file);
  void index_message(const std::string& scope, std::string_view message, std::string_view file);
  void index_service(const std::string& scope, std::string_view service, std::string_view file);
  void index_enum(const std::string& scope, std::string_view enumeration, std::string_view file);

  // Constant after construction. Views into embedded_descriptors().
  std::map<std::string, std::string_view, std::less<>> files_;    // by name
  std::map<std::string, std::string_view, std::less<>> symbols_;  // full name → the file that declares it
  std::vector<std::string> services_;
};

}  // namespace weir::grpc
