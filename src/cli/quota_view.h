// How accounts of quotas, slices of nodes and a verification are shown: tables for people, JSON for machines.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "ledger/account.h"
#include "ledger/reading.h"
#include "ledger/verify.h"

namespace weir::cli {

void print_accounts(const Terminal& terminal, const std::vector<ledger::Account>& accounts);
void print_accounts_json(std::ostream& out, const std::vector<ledger::Account>& accounts);
void print_slices(const Terminal& terminal, const std::vector<ledger::HeldByNode>& slices, bool json);
void print_verify_json(std::ostream& out, const ledger::VerifyReport& report);

}  // namespace weir::cli
