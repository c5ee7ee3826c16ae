#include "backends/block/zone_facts.h"

#include <gtest/gtest.h>

#include <array>

#include "backends/block/zone_control.h"

namespace zenfs {
namespace {

// Who reads while another thread drops old bytes may find them.
TEST(ZoneFactsTest, TheCacheOfAZoneIsCurrentOnlyAfterTheDrop) {
  const std::array<ReportedZone, 2> zones;
  ZoneFacts facts(zones);
  EXPECT_FALSE(facts.cache_is_current(ZoneId(1)));
  EXPECT_TRUE(facts.TakeDrop(ZoneId(1)));
  EXPECT_FALSE(facts.TakeDrop(ZoneId(1)));
  EXPECT_FALSE(facts.cache_is_current(ZoneId(1)));
  facts.SetCacheCurrent(ZoneId(1));
  EXPECT_TRUE(facts.cache_is_current(ZoneId(1)));
  EXPECT_FALSE(facts.TakeDrop(ZoneId(1)));
  EXPECT_FALSE(facts.cache_is_current(ZoneId(0)));
}

}  // namespace
}  // namespace zenfs
