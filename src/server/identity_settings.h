// The identity section of the configuration as options of identity::Identity.
#pragma once

#include <filesystem>
#include <vector>

#include "identity/identity.h"
#include "server/config.h"
#include "weir/result.h"

namespace weir::server {

// The failure is invalid_argument, and names the setting's place.
Result<identity::IdentityOptions> identity_options(const Config& config, const keys::KeyRing& keys);

// A failure of Identity::create, which begins with the option's name, as one of this configuration.
Failure identity_failure(const Config& config, const Failure& failure);

// Whether identity applies to the front end of that name.
bool identity_applies(const Config& config, std::string_view front_end);
// The entries of identity.apply are front ends.
Status check_identity_apply(const Config& config);

// The files that identity reads, to be watched.
std::vector<std::filesystem::path> identity_files(const Config& config);

}  // namespace weir::server
