#include "rocksdb_plugin/rocksdb_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(RocksVersion, ThatOfTheHeadersIsNoMismatch) { EXPECT_FALSE(VersionMismatch(CompiledRocksVersion())); }

TEST(RocksVersion, ThatOfTheTestedLibraryIsNoMismatch) {
  EXPECT_FALSE(VersionMismatch(rocksdb::GetRocksVersionAsString(true)));
}

TEST(RocksVersion, AnyOtherIsDeclinedInOneLineThatNamesBoth) {
  for (const char* other : {"5.18.0", "11.8.1", "", "7.8"}) {
    const auto line = VersionMismatch(other);
    ASSERT_TRUE(line) << other;
    EXPECT_THAT(*line, ::testing::HasSubstr(other));
    EXPECT_THAT(*line, ::testing::HasSubstr(CompiledRocksVersion()));
    EXPECT_EQ(line->find('\n'), std::string::npos);
  }
}

TEST(RocksVersion, LifetimesHaveTheSameNumbers) {
  EXPECT_EQ(LifetimeOf(rocksdb::Env::WLTH_EXTREME), Lifetime::kExtreme);
  EXPECT_EQ(LifetimeOf(rocksdb::Env::WLTH_NOT_SET), Lifetime::kNotSet);
}

}  // namespace
}  // namespace zenfs
