// COMMAND and its subcommands: the command table in the formats that Redis clients read.
#pragma once

#include <span>
#include <string_view>

#include "frontends/resp/reply_writer.h"

namespace weir::resp {

// COMMAND, COMMAND COUNT | LIST | INFO [name …] | DOCS [name …]. `words` is the whole command.
void answer_command(std::span<const std::string_view> words, ReplyWriter& reply);

}  // namespace weir::resp
