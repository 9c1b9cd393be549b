// Advice: answers to a few questions become an algorithm, the reasons for it, and a rule that is ready to use.
//
//   Answers answers{.purpose = "abuse", .exactness = "exact", …};
//   Result<Advice> advice = advise(answers);
//
// The questions are a table, which the command line asks from, documents and completes. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"
#include "weir/time.h"

namespace weir::advise {

struct Choice {
  std::string_view name;
  std::string_view meaning;
};

// One question; the first choice is what applies without an answer.
struct Question {
  std::string_view name;  // also the flag: --purpose
  std::string_view text;
  std::vector<Choice> choices;
};
const std::vector<Question>& questions();

struct Answers {
  std::vector<std::string> choices;  // by the order of questions(); empty: the first choice
  std::string id = "new-rule";
  std::string action;  // empty: every request
  std::vector<std::string> per = {"tenant"};
  std::int64_t limit = 100;
  Duration window = std::chrono::seconds(60);

  // The choice for the question of that name. Precondition: there is such a question.
  std::string_view to(std::string_view question) const;
  // The failure lists the choices that there are.
  Status set(std::string_view question, std::string_view choice);
};

struct Advice {
  std::string algorithm;
  std::vector<std::string> reasons;
  std::vector<std::string> notes;  // what else to set, outside the rule
  std::string bound;               // what it admits at most
  std::string yaml;                // a rules file with the rule, which `rules validate` accepts
};

// The failure says which number does not fit.
Result<Advice> advise(const Answers& answers);

}  // namespace weir::advise
