// Environment: what all routes of the admin API share. Made once by the server; constant afterwards.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "admin/access.h"
#include "database/database.h"
#include "frontends/http/once.h"
#include "observe/log.h"
#include "weir/time.h"

namespace weir::admin {

struct Environment {
  database::Database* database = nullptr;  // borrowed; null: there is none
  std::function<bool()> is_ready{};        // whether its tables exist
  // Calls its argument, on any thread, when this node acts on all that was committed before.
  std::function<void(std::function<void()>)> settle{};
  std::shared_ptr<Access> access{};
  std::shared_ptr<Clock> clock{};
  observe::Log& log;
  std::string node{};  // this node's name
  // How the audit trail shows an attribute's value: a secret as a hash. None: as it is.
  std::function<std::string(std::string_view name, std::string_view value)> shown_value{};
  http::OnceOptions once{};    // for POST
  std::size_t body_bytes = 0;  // the largest body
};

}  // namespace weir::admin
