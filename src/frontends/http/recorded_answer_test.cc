#include "frontends/http/recorded_answer.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

RecordedAnswer an_answer() {
  return {.status = 201, .content_type = "application/json", .fields = "A: 1\r\nB: 2\r\n", .body = "{\"x\":\r\n\r\n1}"};
}

TEST(RecordedAnswer, IsReadAsItWasWritten) {
  const std::optional<RecordedAnswer> read = decode_answer(encode_answer(an_answer()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, 201);
  EXPECT_EQ(read->content_type, "application/json");
  EXPECT_EQ(read->fields, "A: 1\r\nB: 2\r\n");
  EXPECT_EQ(read->body, "{\"x\":\r\n\r\n1}");
  EXPECT_TRUE(decode_answer(encode_answer({.status = 204, .content_type = {}, .fields = {}, .body = {}})))
      << "without any text";
}

// What a program that can write to Redis may leave there must not become a header of ours.
TEST(RecordedAnswer, RefusesWhatCannotBeAnAnswer) {
  const std::string whole = encode_answer(an_answer());
  for (std::size_t size = 0; size < whole.size() - an_answer().body.size(); ++size) {
    EXPECT_FALSE(decode_answer(whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_answer("\x02" + whole.substr(1))) << "another version";
  for (const char* fields : {"\r\n", "A: 1\r\n\r\nbody", "A: 1", "A: 1\nB: 2\r\n", "A: 1\r\n\r\n"}) {
    RecordedAnswer odd = an_answer();
    odd.fields = fields;
    EXPECT_FALSE(decode_answer(encode_answer(odd))) << fields;
  }
  RecordedAnswer odd = an_answer();
  odd.content_type = "text/plain\r\nX: y";
  EXPECT_FALSE(decode_answer(encode_answer(odd)));
  odd = an_answer();
  odd.status = 99;
  EXPECT_FALSE(decode_answer(encode_answer(odd)));
}

}  // namespace
}  // namespace weir::http
