// The numbers are medians over the raw data that were published with the measurements (docs/use/timing.md names them).
#include <fmt/format.h>

#include "experiment.h"

namespace zenfs {
namespace {

using Kind = TimedCommand::Kind;
using enum Statistic;

// More than the drive takes.
constexpr double kAsFastAsItGoes = 1e6;

std::string Size(std::uint64_t bytes) { return fmt::format("{} KiB", bytes / kKib); }

void WritesAndAppendsBySize(std::vector<Experiment>& all) {
  struct Row {
    std::uint64_t kib;
    double write[3];  // mean, p50, p99
    double append[3];
  };
  constexpr Row kRows[] = {
      {4, {11.4, 10.7, 13.5}, {14.8, 14.1, 17.0}},  {8, {11.2, 10.4, 13.8}, {14.0, 13.3, 16.2}},
      {16, {16.3, 15.2, 19.3}, {20.1, 19.1, 22.9}}, {32, {26.4, 21.9, 84.5}, {27.9, 26.2, 33.0}},
      {64, {53.2, 36.6, 297}, {53.1, 40.7, 220}},   {128, {107, 64.3, 627}, {107, 69.1, 594}},
  };
  for (const Row& row : kRows) {
    const auto add = [&](const char* name, Kind kind, const double(&values)[3]) {
      all.push_back({fmt::format("{} {}", name, Size(row.kib * kKib)),
                     Timing::kZn540,
                     {.kind = kind, .bytes = row.kib * kKib},
                     {{kMean, values[0]}, {kP50, values[1]}, {kP99, values[2]}}});
    };
    add("write", Kind::kWrite, row.write);
    add("append", Kind::kAppend, row.append);
  }
}

void Rates(std::vector<Experiment>& all, const char* name, Kind kind, std::uint64_t bytes,
           std::initializer_list<std::pair<std::uint32_t, double>> rates, Timing profile = Timing::kZn540) {
  for (const auto& [in_flight, thousands] : rates) {
    all.push_back({fmt::format("{} {}, {} at once", name, Size(bytes), in_flight),
                   profile,
                   {.kind = kind, .bytes = bytes, .in_flight = in_flight},
                   {{kPerSecond, thousands}}});
  }
}

void Concurrency(std::vector<Experiment>& all) {
  Rates(all, "append", Kind::kAppend, 4 * kKib, {{1, 66}, {2, 112}, {4, 132}, {8, 132}, {16, 132}});
  Rates(all, "append", Kind::kAppend, 8 * kKib, {{1, 69}, {2, 115}, {4, 147}, {8, 147}});
  Rates(all, "append", Kind::kAppend, 16 * kKib, {{2, 1147.0 / 16 * 1.024}});
  Rates(all, "write to zones", Kind::kWrite, 4 * kKib, {{1, 85}, {2, 142}, {4, 180}, {8, 186}});
  for (const std::uint32_t zones : {1, 2, 4, 8}) {
    all.push_back({fmt::format("write to zones 128 KiB, {} at once", zones),
                   Timing::kZn540,
                   {.kind = Kind::kWrite, .bytes = 128 * kKib, .in_flight = zones},
                   {{kBandwidth, 1147}}});
  }
  all.push_back({"write 32 KiB saturates",
                 Timing::kZn540,
                 {.kind = Kind::kWrite, .bytes = 32 * kKib},
                 {{kBandwidth, 1147}}});
}

void Reads(std::vector<Experiment>& all) {
  struct Row {
    std::uint64_t kib;
    std::uint32_t in_flight;
    std::vector<DriveFigure> expected;
  };
  const Row rows[] = {
      {4, 1, {{kMean, 72.6}, {kP99, 81}}},
      {4, 8, {{kMean, 80.8}}},
      {4, 32, {{kMean, 116}, {kPerSecond, 274}}},
      {4, 128, {{kMean, 301}, {kPerSecond, 424}}},
      {4, 256, {{kPerSecond, 437}}},
      {8, 1, {{kMean, 84.2}}},
      {8, 256, {{kPerSecond, 296}}},
      {16, 1, {{kMean, 101.6}}},
      {16, 256, {{kPerSecond, 160}}},
  };
  for (const Row& row : rows) {
    all.push_back({fmt::format("read {}, {} at once", Size(row.kib * kKib), row.in_flight),
                   Timing::kZn540,
                   {.kind = Kind::kRead, .bytes = row.kib * kKib, .in_flight = row.in_flight},
                   row.expected});
  }
}

void ReadsBesideWrites(std::vector<Experiment>& all) {
  struct Row {
    double mib_per_second;
    double mean;
    double p95;
  };
  constexpr Row kRows[] = {{0, 72.9, 81}, {50, 78.3, 92}, {250, 100, 222}, {500, 128, 261}, {1000, 187, 313}};
  for (const Row& row : kRows) {
    all.push_back({fmt::format("read 4 KiB beside {} MiB/s of writes", row.mib_per_second),
                   Timing::kZn540,
                   {.kind = Kind::kRead, .write_mib_per_second = row.mib_per_second},
                   {{kMean, row.mean}, {kP95, row.p95}}});
  }
  all.push_back({"read 4 KiB, 64 at once, beside all writes that go",
                 Timing::kZn540,
                 {.kind = Kind::kRead, .in_flight = 64, .write_mib_per_second = kAsFastAsItGoes},
                 {{kBackground, 516}}});
  all.push_back({"read 8 KiB, nothing else",
                 Timing::kZn540,
                 {.kind = Kind::kRead, .bytes = 8 * kKib},
                 {{kMean, 87.5}, {kP95, 96}}});
  all.push_back({"read 8 KiB while zones are finished",
                 Timing::kZn540,
                 {.kind = Kind::kRead, .bytes = 8 * kKib, .finishing = true},
                 {{kMean, 127.8}, {kP95, 272}}});
}

void Management(std::vector<Experiment>& all) {
  const auto add = [&all](const std::string& name, Kind kind, std::uint64_t bytes, double microseconds) {
    all.push_back({name, Timing::kZn540, {.kind = kind, .bytes = bytes}, {{kMean, microseconds}}});
  };
  const auto part = [](std::uint64_t percent) { return kZoneCapacity / 100 / 4096 * percent * 4096; };
  add("finish, empty", Kind::kFinish, 0, 14);
  add("finish, 1 block", Kind::kFinish, 4096, 908'000);
  for (const auto& [percent, ms] : {std::pair{6, 848}, {12, 792}, {25, 681}, {50, 457}}) {
    add(fmt::format("finish, {} %", percent), Kind::kFinish, part(static_cast<std::uint64_t>(percent)),
        ms * 1e3);
  }
  add("finish, 1 block missing", Kind::kFinish, kZoneCapacity - 4096, 2'600);
  add("reset, empty", Kind::kReset, 0, 1'600);
  for (const auto& [percent, ms] : {std::pair{6, 5.1}, {25, 7.8}, {50, 11.2}}) {
    add(fmt::format("reset, {} %", percent), Kind::kReset, part(static_cast<std::uint64_t>(percent)),
        ms * 1e3);
  }
  add("reset, full", Kind::kReset, kZoneCapacity, 15'500);
  add("open", Kind::kOpen, 0, 9.4);
  add("close", Kind::kClose, 4096, 10.7);
  for (const auto& [resets, lost] : {std::pair{15.0, 0.18}, {30.0, 0.37}}) {
    all.push_back({fmt::format("write 128 KiB beside {} resets a second", resets),
                   Timing::kZn540,
                   {.kind = Kind::kWrite, .bytes = 128 * kKib, .resets_per_second = resets},
                   {{kBandwidth, 1147 * (1 - lost)}}});
  }
  all.push_back({"read 4 KiB beside 30 resets a second",
                 Timing::kZn540,
                 {.kind = Kind::kRead, .resets_per_second = 30},
                 {{kMean, 72.9}}});
}

void Bufferless(std::vector<Experiment>& all) {
  Rates(all, "bufferless: append", Kind::kAppend, 8 * kKib, {{32, 35.554}, {64, 35.554}, {128, 35.554}},
        Timing::kBufferless);
  all.push_back({"bufferless: write 1 MiB",
                 Timing::kBufferless,
                 {.kind = Kind::kWrite, .bytes = kMib},
                 {{kMean, 1'830}}});
  all.push_back({"bufferless: write 8 KiB",
                 Timing::kBufferless,
                 {.kind = Kind::kWrite, .bytes = 8 * kKib},
                 {{kMean, 475}}});
  all.push_back({"bufferless: read 4 KiB, pipelined",
                 Timing::kBufferless,
                 {.kind = Kind::kRead, .in_flight = 32},
                 {{kGibTakes, 2.2}}});
}

}  // namespace

std::vector<Experiment> AllExperiments() {
  std::vector<Experiment> all;
  WritesAndAppendsBySize(all);
  Concurrency(all);
  Reads(all);
  ReadsBesideWrites(all);
  Management(all);
  Bufferless(all);
  return all;
}

}  // namespace zenfs
