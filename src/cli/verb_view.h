// VerbView: the verbs and options of the program as plain data, for help, suggestions and completion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

struct OptionView {
  std::string name;   // "--listen-http", or "attributes" of an argument without a flag
  std::string label;  // "-h,--help", "--listen-http ADDRESS", "attributes"
  std::string help;
  std::string default_text;
  std::string group;
  bool required = false;
  bool repeats = false;  // an argument that takes any number of words

  bool is_flag() const { return name.starts_with("--"); }
};

struct VerbView {
  std::string name;
  std::string help;
  std::string footer;
  std::vector<OptionView> options;
  std::vector<VerbView> verbs;

  // Null if there is none.
  const OptionView* option(std::string_view wanted) const {
    for (const OptionView& each : options) {
      if (each.name == wanted) return &each;
    }
    return nullptr;
  }
  const VerbView* verb(std::string_view wanted) const {
    for (const VerbView& each : verbs) {
      if (each.name == wanted) return &each;
    }
    return nullptr;
  }
};

}  // namespace weir::cli
