#include "rocksdb_plugin/logger.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace zenfs {
namespace {

class KeptLines final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[256];
    lines.emplace_back(line, static_cast<std::size_t>(std::vsnprintf(line, sizeof line, format, arguments)));
  }

  std::vector<std::string> lines;
};

TEST(LoggerTest, ANoticeWithNamesOfADeviceIsOnePrintableLine) {
  KeptLines logger;
  LogNotices(std::vector<std::string>{"/db/a\n2026/11/28 forged\x1b[2J.sst is lost", "%s \xc3\xa4"}, logger);
  ASSERT_EQ(logger.lines.size(), 2u);
  EXPECT_NE(logger.lines[0].find("ZenFS: /db/a\\x0a2026/11/28 forged\\x1b[2J.sst is lost"), std::string::npos)
      << logger.lines[0];
  EXPECT_NE(logger.lines[1].find("ZenFS: %s \xc3\xa4"), std::string::npos) << logger.lines[1];
}

}  // namespace
}  // namespace zenfs
