#include "stores/redis/server_figures.h"

#include <gtest/gtest.h>

namespace weir::redis {
namespace {

TEST(ServerFigures, ReadWhatInfoSaysAndKeepTheRest) {
  ServerFigures figures("a:1");
  figures.read_info("# Memory\r\nused_memory:1048576\r\nused_memory_human:1.00M\r\nmaxmemory:0\r\n");
  EXPECT_EQ(figures.memory_bytes.load(), 1'048'576);
  EXPECT_EQ(figures.memory_max_bytes.load(), 0);
  EXPECT_EQ(figures.cpu_us.load(), -1);
  figures.read_info("# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:2.250000\r\nused_cpu_sys_children:9.0\r\n");
  EXPECT_EQ(figures.cpu_us.load(), 3'750'000);
  EXPECT_EQ(figures.memory_bytes.load(), 1'048'576);
  for (const char* bad : {"", "used_memory", "used_memory:", "used_memory:x", "used_memory:-5", "xused_memory:7"}) {
    figures.read_info(bad);
    EXPECT_EQ(figures.memory_bytes.load(), 1'048'576) << bad;
  }
}

TEST(ServerTable, HasABoundedNumberOfServers) {
  ServerTable table;
  ServerFigures& first = table.of("s0:1");
  EXPECT_EQ(&table.of("s0:1"), &first);
  for (int i = 0; i < 1'000; ++i) table.of("s" + std::to_string(i) + ":1").sent();
  EXPECT_EQ(table.all().size(), ServerTable::kMaxServers + 1);
  EXPECT_EQ(table.all().back()->server, "other");
  EXPECT_EQ(table.all().back()->calls.load(), 1'000 - ServerTable::kMaxServers);
}

}  // namespace
}  // namespace weir::redis
