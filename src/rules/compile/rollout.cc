#include "rules/compile/rollout.h"

#include <cstdint>
#include <string_view>

#include "rules/compile/subject_names.h"

namespace weir::rules {
namespace {

// FNV-1a over bytes, and a final mix because its high bits are weak for short texts. Part of the contract: another
// hash would move every subject of a rollout in progress.
class StableHash {
 public:
  void add(std::string_view text) {
    std::uint64_t length = text.size();
    for (int i = 0; i < 4; ++i, length >>= 8) add_byte(static_cast<std::uint8_t>(length));
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
  }
  std::uint64_t finish() const {
    std::uint64_t h = state_;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
    return h ^ h >> 33;
  }

 private:
  void add_byte(std::uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3; }
  std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace

int rollout_place(const CompiledRule& rule, const RequestView& view) {
  StableHash hash;
  hash.add(rule.name.id);
  const auto add_values = [&](NameId name) {
    for (std::size_t i = 0; i < view.size(); ++i) {
      if (view.ids[i] == name) hash.add(view.value(i));
    }
  };
  for (const NameId name : rule.per) add_values(name);
  if (SubjectNames subject; !rule.alternatives.empty() && subject.choose(rule, view.names())) {
    for (const NameId name : subject.names()) {
      hash.add(view.first(name)->name);
      add_values(name);
    }
  }
  return static_cast<int>((hash.finish() >> 32) * 100 >> 32);
}

}  // namespace weir::rules
