#include "cli/quota_view.h"

#include <algorithm>
#include <ostream>

#include "base/json_text.h"
#include "ledger/account_json.h"

namespace weir::cli {
namespace {

std::string quoted_text(std::string_view text) {
  std::string out;
  base::append_json_string(out, text);
  return out;
}

// Rows of equal columns; the first row is the head.
void print_table(const Terminal& terminal, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      line += i + 1 == rows[r].size() ? rows[r][i] : padded(rows[r][i], widths[i] + 2);
    }
    terminal.out << (r == 0 ? terminal.paint(Colour::faint, line) : line) << '\n';
  }
}

}  // namespace

void print_accounts(const Terminal& terminal, const std::vector<ledger::Account>& accounts) {
  if (accounts.empty()) {
    terminal.out << "no accounts\n";
    return;
  }
  std::vector<std::vector<std::string>> rows = {
      {"RULE", "SUBJECT", "PERIOD", "LIMIT", "USED", "HELD", "EXPIRED", "AVAILABLE", "GRANTED", "OVERAGE"}};
  for (const ledger::Account& each : accounts) {
    rows.push_back({each.key.rule, shown(each.key.subject), each.key.period, std::to_string(each.limit),
                    std::to_string(each.used), std::to_string(each.held), std::to_string(each.expired),
                    std::to_string(each.available), std::to_string(each.granted), std::to_string(each.overage)});
  }
  print_table(terminal, rows);
}

void print_accounts_json(std::ostream& out, const std::vector<ledger::Account>& accounts) {
  std::string text = "[";
  for (const ledger::Account& each : accounts) {
    if (text.size() > 1) text += ',';
    ledger::append_account_json(text, each);
  }
  out << text << "]\n";
}

void print_slices(const Terminal& terminal, const std::vector<ledger::HeldByNode>& slices, bool json) {
  if (json) {
    std::string text = "[";
    for (const ledger::HeldByNode& each : slices) {
      text += (text.size() > 1 ? ",{\"node\":" : "{\"node\":") + quoted_text(each.slice.node) +
              ",\"epoch\":" + std::to_string(each.slice.epoch) + ",\"rule\":" + quoted_text(each.account.rule) +
              ",\"subject\":" + quoted_text(each.account.subject) + ",\"period\":" + quoted_text(each.account.period) +
              ",\"held\":" + std::to_string(each.slice.held) + ",\"expired\":" + std::to_string(each.slice.expired) +
              ",\"expires_at_ms\":" + std::to_string(micros(each.slice.expires) / 1000) + "}";
    }
    terminal.out << text << "]\n";
    return;
  }
  if (slices.empty()) {
    terminal.out << "no node holds anything\n";
    return;
  }
  std::vector<std::vector<std::string>> rows = {{"NODE", "EPOCH", "RULE", "SUBJECT", "PERIOD", "HELD", "EXPIRED"}};
  for (const ledger::HeldByNode& each : slices) {
    rows.push_back({shown(each.slice.node), std::to_string(each.slice.epoch), each.account.rule,
                    shown(each.account.subject), each.account.period, std::to_string(each.slice.held),
                    std::to_string(each.slice.expired)});
  }
  print_table(terminal, rows);
}

void print_verify_json(std::ostream& out, const ledger::VerifyReport& report) {
  out << "{\"ok\":" << (report.ok() ? "true" : "false") << ",\"accounts\":" << report.accounts
      << ",\"entries\":" << report.entries << ",\"reservations\":" << report.reservations
      << ",\"grants\":" << report.grants << ",\"violations\":" << report.violations << ",\"examples\":[";
  for (std::size_t i = 0; i < report.examples.size(); ++i)
    out << (i == 0 ? "" : ",") << quoted_text(report.examples[i]);
  out << "]}\n";
}

}  // namespace weir::cli
