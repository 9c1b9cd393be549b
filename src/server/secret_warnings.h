// Warnings about secrets that are easy to get at: files that other users of the machine may read or change, and tokens
// and passwords that are short enough to be guessed. Nothing of a secret is ever logged, not even its length.
//
// Warnings only: a container or an orchestrator may have reasons for the mode of a file, and a server that does not
// start protects nothing.
#pragma once

#include "observe/log.h"
#include "server/config.h"

namespace weir::server {

// Guesses are slowed down (frontends/transport/login_guard.h), but not impossible.
inline constexpr std::size_t kShortestSecret = 16;

// At the start and after SIGHUP: every file and token.
void warn_about_secrets(const Config& config, observe::Log& log);
// After a change of one of identity's files was noticed: those files.
void warn_about_identity_files(const Config& config, observe::Log& log);

}  // namespace weir::server
