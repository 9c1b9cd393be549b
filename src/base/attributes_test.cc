#include "base/attributes.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::base {
namespace {

TEST(Attributes, NamesHaveOneTo128Bytes) {
  EXPECT_EQ(attribute_name_fault(""), "is empty");
  EXPECT_EQ(attribute_name_fault("a"), "");
  EXPECT_EQ(attribute_name_fault(std::string(128, 'n')), "");
  EXPECT_EQ(attribute_name_fault(std::string(129, 'n')), "is longer than 128 bytes");
}

TEST(Attributes, ValuesHaveUpTo4096Bytes) {
  EXPECT_EQ(attribute_value_fault(""), "");
  EXPECT_EQ(attribute_value_fault(std::string(4096, 'v')), "");
  EXPECT_EQ(attribute_value_fault(std::string(4097, 'v')), "is longer than 4096 bytes");
}

}  // namespace
}  // namespace weir::base
