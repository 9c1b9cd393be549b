// Glob: a pattern with `*` (any run of characters, also none) and `?` (any one character), matched against a whole
// value. There is no escape: a literal star needs a regular expression.
//
// The parts between stars are looked for from left to right and never given back, so there is no backtracking: the
// work is at most value × longest part, and linear where the part has no `?`. Immutable; does not allocate to match.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::rules {

class Glob {
 public:
  static bool is_glob(std::string_view pattern) { return pattern.find_first_of("*?") != std::string_view::npos; }

  explicit Glob(std::string_view pattern);
  bool matches(std::string_view value) const;

 private:
  struct Part {
    std::string text;
    std::size_t characters = 0;
    bool literal = true;  // has no `?`
  };

  static bool fits_at_front(const Part& part, std::string_view value, std::size_t& bytes);
  static bool take_front(const Part& part, std::string_view& value);
  static bool take_back(const Part& part, std::string_view& value);
  static bool skip_past(const Part& part, std::string_view& value);

  std::vector<Part> parts_;  // what stands between the stars; one part: no star
};

}  // namespace weir::rules
