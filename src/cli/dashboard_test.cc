#include "cli/dashboard.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cli/prometheus_families.h"
#include "cli/volume_poll.h"

namespace zenfs {
namespace {

std::string AllQueries() {
  const Json dashboard = Dashboard();
  std::string all;
  for (const Json& panel : dashboard["panels"]) {
    if (!panel.contains("targets")) continue;
    for (const Json& target : panel["targets"]) all += target["expr"].get<std::string>() + "\n";
  }
  return all;
}

TEST(DashboardTest, EveryMetricIsOnIt) {
  const std::string all = AllQueries();
  const auto expect = [&all](const std::string& name) {
    EXPECT_NE(all.find("zenfs_" + name + "{"), std::string::npos) << name;
  };
  for (const OperationInfo& info : Operations()) {
    const std::string name(info.name);
    expect(name + "_total");
    expect(name + "_errors_total");
    expect(name + "_latency_seconds_bucket");
    if (info.has_bytes) expect(name + "_bytes_total");
  }
  for (const ValueInfo& info : Values()) expect(std::string(info.name));
  for (const ValueInfo& info : ZoneGauges()) expect(std::string(info.name));
  for (const ValueInfo& info : VolumeGauges()) expect(std::string(info.name));
}

TEST(DashboardTest, PanelsHaveIdsOfTheirOwnAndDoNotOverlap) {
  std::set<int> ids;
  std::set<std::pair<int, int>> taken;
  const Json dashboard = Dashboard();
  for (const Json& panel : dashboard["panels"]) {
    EXPECT_TRUE(ids.insert(panel["id"].get<int>()).second);
    const Json& place = panel["gridPos"];
    const auto at = [&place](const char* key) { return place[key].get<int>(); };
    for (int x = at("x"); x < at("x") + at("w"); ++x) {
      EXPECT_LT(x, 24);
      for (int y = at("y"); y < at("y") + at("h"); ++y) {
        EXPECT_TRUE(taken.emplace(x, y).second) << panel["title"] << " at " << x << ", " << y;
      }
    }
  }
}

}  // namespace
}  // namespace zenfs
