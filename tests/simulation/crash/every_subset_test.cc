// The operations on which durability depends, each cut off after every command with every subset of
// the unflushed data.
#include "every_subset.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>

namespace zenfs {
namespace {

void Expect(bool condition, WorkloadRun& run, const char* what) {
  if (!condition && run.error.empty()) run.error = what;
}

CutOperation SyncOfATable() {
  return {"SyncOfATable",
          [](WorkloadRun& run) {
            run.client->WriteFile("old.sst", 5000);
            run.client->Create("t", "t.sst");
            run.client->Append("t", 3000);
          },
          [](WorkloadRun& run) {
            run.client->Append("t", 6000);
            run.client->Sync("t");
            run.client->RewriteTail("t", 100);
            run.client->Sync("t");
            run.client->Append("t", 10);
            run.client->Close("t");
          }};
}

CutOperation SyncOfALog() {
  return {"SyncOfALog",
          [](WorkloadRun& run) {
            run.client->Create("log", "1.log");
            run.client->Log("log", 1, 100);
            run.client->Create("new", "2.log");
          },
          [](WorkloadRun& run) {
            run.client->Log("log", 2, 100);
            run.client->Append("log", 200);
            run.client->Flush("log");
            run.client->Log("log", 1, 5000);
            run.client->Append("new", 10);
            run.client->Sync("new");
          }};
}

CutOperation SyncOfADirectory() {
  return {"SyncOfADirectory",
          [](WorkloadRun& run) {
            run.client->MakeDirectory("d");
            run.client->WriteFile("d/x.sst", 100);
          },
          [](WorkloadRun& run) {
            run.client->Create("x", "d/x.sst");  // replaces the existing one
            run.client->Append("x", 5000);
            run.client->Create("y", "d/y.log");
            run.client->Append("y", 50);
            run.client->SyncDirectory("d");
            run.client->Sync("x");
          }};
}

CutOperation RenameOver() {
  return {"RenameOver",
          [](WorkloadRun& run) {
            run.client->WriteFile("CURRENT", 16);
            run.client->WriteFile("1.dbtmp", 16);
            run.client->MakeDirectory("from");
            run.client->MakeDirectory("to");
            run.client->WriteFile("from/file", 10);
          },
          [](WorkloadRun& run) {
            run.client->Rename("1.dbtmp", "CURRENT");
            run.client->Create("unsynced", "2.dbtmp");
            run.client->Append("unsynced", 16);
            run.client->Rename("2.dbtmp", "CURRENT");
            run.client->Rename("from", "to");
          }};
}

CutOperation Truncation() {
  return {"Truncation",
          [](WorkloadRun& run) {
            run.client->Create("plain", "plain.sst");
            run.client->Append("plain", 9000);
            run.client->Sync("plain");
            run.client->Create("log", "1.log");
            run.client->Log("log", 3, 1000);
          },
          [](WorkloadRun& run) {
            run.client->Truncate("plain", 5000);
            run.client->Sync("plain");
            run.client->Append("log", 70);
            run.client->Truncate("log", 1500);
            run.client->Log("log", 1, 10);
            run.client->Truncate("log", 0);
          }};
}

CutOperation UnmountAndMount() {
  return {"UnmountAndMount",
          [](WorkloadRun& run) {
            run.client->Create("log", "1.log");
            run.client->Log("log", 1, 100);
            run.client->Append("log", 300);
            run.client->Create("table", "2.sst");
            run.client->Append("table", 5000);
          },
          [](WorkloadRun& run) { run.Remount(); }};
}

// A metadata zone of 16 blocks is left every few commits. The operation begins a few commits
// before that.
CutOperation Switch() {
  const auto generation = [](WorkloadRun& run) { return run.volume->counters().metalog.generation; };
  return {"Switch",
          [=](WorkloadRun& run) {
            const std::uint64_t first = generation(run);
            int commits = 0;
            for (; commits < 100 && !run.over() && generation(run) == first; ++commits) {
              run.client->WriteFile(fmt::format("file-{}", commits % 5), 10);
            }
            for (int i = 0; i < 5; ++i) run.client->WriteFile(fmt::format("file-{}", i), 10);
          },
          [=](WorkloadRun& run) {
            const std::uint64_t before = generation(run);
            for (int i = 0; i < 40 && !run.over() && generation(run) == before; ++i) {
              run.client->WriteFile("switched", 10);
            }
            Expect(run.over() || generation(run) > before, run, "no log switch");
            run.client->WriteFile("late", 10);
          }};
}

// Frames fill log zones of 16 blocks. The zones of a deleted log are released and reset, and others
// are allocated.
// `zones`: in a group of the log.
CutOperation TurnOfLogZones(int zones = 1) {
  return {zones == 1 ? "TurnOfLogZones" : "TurnOfLogGroups",
          [zones](WorkloadRun& run) {
            run.client->Create("old", "1.log");
            run.client->Log("old", 6 * zones, 9000);
          },
          [zones](WorkloadRun& run) {
            // The zone that the old log filled: after its release and reset it holds less, whatever
            // it is used for.
            const ZoneId filled =
                run.volume->info().geometry.ZoneOf(run.volume->Layout("1.log")->frames.front().place);
            const auto was_reset = [&] {
              const auto report = run.device->ReportZone(filled);
              return report && report->WrittenBytes() < report->capacity;
            };
            run.client->Create("new", "2.log");
            run.client->Log("new", 1, 9000);
            run.client->Unlink("1.log");
            run.client->Close("old");
            if (run.over()) return;
            Expect(Await(run, was_reset), run, "no zone was released");
            run.client->Log("new", 1, zones == 1 ? 30'000 : 12'000);
          }};
}

// The live rest of a log zone, or of a group of log zones, goes into extents, and the zone is released.
CutOperation Clean(int zones = 1) {
  return {zones == 1 ? "Clean" : "CleanGroup",
          [zones](WorkloadRun& run) {
            run.client->Create("long", "long.log");
            run.client->Log("long", zones, 50);
            run.client->Create("filler", "filler.log");
            run.client->Log("filler", 2 * zones, 55'000);
          },
          [](WorkloadRun& run) {
            run.client->Unlink("filler.log");
            run.client->Close("filler");
            if (run.over()) return;
            Expect(Await(run, [&] { return run.volume->counters().written.cleaned > 0; }), run,
                   "nothing was cleaned");
            run.client->Log("long", 1, 20);
          }};
}

// Live data in full zones is moved together, and the zones are reset.
CutOperation Move() {
  return {"Move",
          [](WorkloadRun& run) {
            for (int i = 0; i < 8; ++i) run.client->WriteFile(fmt::format("{}.sst", i), 20'000);
            for (int i = 0; i < 8; i += 2) run.client->Unlink(fmt::format("{}.sst", i));
          },
          [](WorkloadRun& run) {
            run.client->EmptyZones();
            if (run.over()) return;
            Expect(run.volume->counters().written.reclaimed > 0, run, "nothing was moved");
            run.client->WriteFile("behind.sst", 10);
          }};
}

// A zone whose files were all deleted is reset and written again.
CutOperation ResetOfAZone() {
  return {"ResetOfAZone",
          [](WorkloadRun& run) {
            run.client->WriteFile("whole.sst", run.volume->info().geometry.zone_size);
            run.client->WriteFile("small.sst", 10);
          },
          [](WorkloadRun& run) {
            const std::uint64_t garbage = run.volume->Space().garbage;
            run.client->Unlink("whole.sst");
            if (run.over()) return;
            Expect(Await(run, [&] { return run.volume->Space().garbage <= garbage; }), run,
                   "no zone was reset");
            run.client->WriteFile("again.sst", 9000);
          }};
}

struct Case {
  CutOperation operation;
  DeviceShape shape;
  std::string name() const { return operation.name + "_" + shape.name; }
};

std::vector<Case> Cases() {
  constexpr int kGroup = 2;  // zones in a group of the log, on LogGroups
  std::vector<Case> cases;
  for (const CutOperation& operation :
       {SyncOfATable(), SyncOfALog(), SyncOfADirectory(), RenameOver(), Truncation(), UnmountAndMount()}) {
    for (const DeviceShape& shape : DeviceShapes()) {
      const bool always = shape.name == "Plenty" || shape.name == "FourActive" ||
                          shape.name == "SmallBlocks" || shape.name == "LogGroups";
      if (always || FullRun()) cases.push_back({operation, shape});
    }
  }
  for (const CutOperation& operation : {Switch(), TurnOfLogZones(), Clean(), Move(), ResetOfAZone()}) {
    cases.push_back({operation, ShapeNamed("TinyZones")});
  }
  for (const CutOperation& operation : {TurnOfLogZones(kGroup), Clean(kGroup)}) {
    cases.push_back({operation, ShapeNamed("LogGroups")});
  }
  return cases;
}

class EverySubset : public testing::TestWithParam<Case> {};

// D2, D8 in docs/internals/failures.md.
TEST_P(EverySubset, LosesNothingDurable) {
  const SubsetCount count =
      VerifyEverySubset(GetParam().shape.geometry, GetParam().operation, ImagesOfACut());
  EXPECT_EQ(count.error, "");
  EXPECT_GT(count.cuts, 2u);
  // In one cut, the background threads may have more unflushed data than usual.
  EXPECT_LE(count.cuts - count.complete, 1u) << "make the operation smaller, or the limit larger";
  std::cout << GetParam().name() << ": " << count.ToString() << "\n";
}

INSTANTIATE_TEST_SUITE_P(Crash, EverySubset, testing::ValuesIn(Cases()),
                         [](const auto& each) { return each.param.name(); });

}  // namespace
}  // namespace zenfs
