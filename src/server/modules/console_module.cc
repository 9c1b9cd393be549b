#include <memory>

#include "console/console_routes.h"
#include "server/modules/front_ends.h"

namespace weir::server {
namespace {

class ConsoleModule final : public Module {
 public:
  explicit ConsoleModule(ServerContext& context) : context_(context) {}

  Status start() override {
    context_.add_routes("admin", [](http::Router& router, std::size_t) {
      console::add_console_routes(router, console::console_files());
    });
    return success();
  }

 private:
  ServerContext& context_;
};

}  // namespace

std::unique_ptr<Module> make_console_module(ServerContext& context) { return std::make_unique<ConsoleModule>(context); }

}  // namespace weir::server
