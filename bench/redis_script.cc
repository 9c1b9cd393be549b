// Prints what a decision of one token bucket sends to Redis, so that bench/redis_suite.py can have redis-benchmark send
// the same.
//
//   redis_script body   the script
//   redis_script call   the command, as it goes over the wire
#include <array>
#include <cstring>
#include <iostream>

#include "bench/redis_rules.h"
#include "stores/redis/encoding.h"
#include "stores/redis/scripts.h"

int main(int argc, char** argv) {
  using namespace weir;
  const redis::ScriptSet scripts;
  if (argc == 2 && std::strcmp(argv[1], "body") == 0) {
    std::cout << scripts.one(Algorithm::token_bucket).body;
    return 0;
  }
  if (argc != 2 || std::strcmp(argv[1], "call") != 0) {
    std::cerr << "usage: redis_script body|call\n";
    return 2;
  }
  const Result<Allowance> allowance = make_allowance(bench::generous_spec());
  if (!allowance.ok()) {
    std::cerr << allowance.failure().message << '\n';
    return 1;
  }
  Charge charge;
  charge.tag = {0x0123456789abcdefU, 0};
  charge.allowance = &allowance.value();
  charge.rule = bench::kGenerousRule;
  constexpr std::array<std::uint8_t, 1> kFirst{0};
  std::string command;
  redis::write_script_call(command, scripts, {.charges = {&charge, 1}, .which = kFirst});
  std::cout << command;
}
