// A rules file in which the candidate of one rule has been promoted (its numbers are the rule's own) or discarded.
//
// The text is changed only where it must be, so that comments and the order of fields stay. Where that is not possible
// (anchors, a rule in flow style), the whole file is rewritten, without its comments, and EndedCandidate says so. Pure.
#pragma once

#include <string>
#include <string_view>

#include "weir/result.h"
#include "weir/rule.h"

namespace weir::rules {

enum class CandidateEnd : std::uint8_t { promoted, discarded };

struct EndedCandidate {
  std::string text;
  Rule before;
  Rule after;
  bool rewritten = false;  // the whole file was written again: comments are lost, and the order of fields
};

// Failures: not_found if there is no such rule, failed_precondition if it has no candidate, and invalid_argument if the
// text is not valid.
Result<EndedCandidate> end_candidate(const std::string& text, std::string_view rule, CandidateEnd end);

// The rule as it will be.
Rule without_candidate(const Rule& rule, CandidateEnd end);

}  // namespace weir::rules
