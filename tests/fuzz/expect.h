// expect(): what must hold whatever the input; the fuzzer keeps the input that breaks it.
#pragma once

#include <cstdlib>

namespace weir::fuzz {

inline void expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace weir::fuzz
