#include "ledger/account_json.h"

#include <array>
#include <cstdio>

#include "base/json_text.h"

namespace weir::ledger {
namespace {

void append_text(std::string& out, std::string_view name, std::string_view text) {
  out += ",\"" + std::string(name) + "\":";
  base::append_json_string(out, text);
}

void append_number(std::string& out, std::string_view name, std::int64_t number) {
  out += ",\"" + std::string(name) + "\":" + std::to_string(number);
}

}  // namespace

std::string utc_text(TimePoint time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::int64_t ms = (time - day).count() / 1000;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(ms / 3'600'000), static_cast<int>(ms / 60'000 % 60), static_cast<int>(ms / 1000 % 60),
                static_cast<int>(ms % 1000));
  return text.data();
}

void append_account_json(std::string& out, const Account& account, const std::vector<Grant>* grants) {
  out += "{\"rule\":";
  base::append_json_string(out, account.key.rule);
  append_text(out, "subject", account.key.subject);
  append_text(out, "tenant", account.tenant);
  append_text(out, "period", account.key.period);
  append_text(out, "begins_at", utc_text(account.begins));
  append_text(out, "resets_at", utc_text(account.ends));
  append_number(out, "limit", account.limit);
  append_number(out, "used", account.used);
  append_number(out, "held", account.held);
  append_number(out, "expired", account.expired);
  append_number(out, "available", account.available);
  append_number(out, "granted", account.granted);
  append_number(out, "grace", account.grace);
  append_number(out, "grace_used", account.grace_used);
  append_number(out, "overage", account.overage);
  if (grants != nullptr) {
    out += ",\"grants\":[";
    for (std::size_t i = 0; i < grants->size(); ++i) {
      const Grant& grant = (*grants)[i];
      out += i == 0 ? "{\"id\":" : ",{\"id\":";
      base::append_json_string(out, grant.id);
      append_number(out, "amount", grant.amount);
      append_number(out, "left", grant.left);
      append_number(out, "priority", grant.priority);
      append_text(out, "expires_at", utc_text(grant.expires));
      out += '}';
    }
    out += ']';
  }
  out += '}';
}

}  // namespace weir::ledger
