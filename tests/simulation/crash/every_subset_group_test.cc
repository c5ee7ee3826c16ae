// Syncs of several threads that share a command, cut off after every command with every subset of
// the unflushed data.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>

#include "base/thread.h"
#include "every_subset.h"
#include "testing/switched_points.h"

namespace zenfs {
namespace {

constexpr int kWriters = 3;

class EverySubsetOfAGroup : protected SwitchedPoints, public testing::Test {
 protected:
  // Writers that each have `bytes` of unsynced data in the file `name` in their own directory, and
  // sync at the same time. The first to pass `write` waits there until all others have passed
  // `queued` or failed.
  CutOperation Group(const std::string& name, std::size_t bytes, const std::string& queued,
                     const std::string& write) {
    const auto before = [=](WorkloadRun& run) {
      for (int i = 0; i < kWriters; ++i) {
        const std::string root = fmt::format("{}", i);
        run.client->MakeDirectory(root);
        run.beside.push_back(std::make_unique<Client>(run.volume, 10 + i, root));
        Client& writer = *run.beside.back();
        writer.Create("f", root + "/" + name);
        writer.Append("f", 100);
        writer.Sync("f");
        writer.Append("f", bytes);
      }
      // Let the background allocate log zones now, so that its commit is not between those of the
      // writers.
      run.client->Create("w", "w.log");
      run.client->Log("w", 1, 10);
      constexpr std::uint64_t kCommits =
          1 + 2 * kWriters + 1 + 2;  // mount, directories and files, w.log, allocations
      if (!run.over() && !Await(run, [&] { return run.volume->counters().metalog.commits >= kCommits; })) {
        run.error = "the log has no reserve";
      }
    };
    const auto work = [=, this](WorkloadRun& run) {
      std::atomic<int> arrived = 0;
      const auto arrive = [&] {
        ++arrived;
        arrived.notify_all();
      };
      const During during(*this, [&](std::string_view point) {
        if (point == queued) arrive();
        if (point != write) return;
        for (int n = arrived; n < kWriters; n = arrived) arrived.wait(n);
      });
      {
        std::vector<Thread> threads;
        for (const auto& writer : run.beside) {
          threads.emplace_back("writer", [&writer, &arrive] {
            writer->Sync("f");
            arrive();
          });
        }
      }
      for (const auto& writer : run.beside) {
        if (writer->failed() && run.error.empty()) run.error = writer->error();
      }
    };
    return {name, before, work};
  }

  // Returns the number of commands that the syncs of all writers needed.
  std::uint64_t Verify(const CutOperation& operation) {
    const SubsetCount count = VerifyEverySubset(ShapeNamed("Plenty").geometry, operation, ImagesOfACut());
    EXPECT_EQ(count.error, "");
    EXPECT_EQ(count.complete, count.cuts);
    std::cout << "group of " << operation.name << ": " << count.ToString() << "\n";
    return count.cuts - 1;
  }
};

// D8 in docs/internals/failures.md.
TEST_F(EverySubsetOfAGroup, OfFramesInOneWriteLosesNothingSynced) {
  // A frame and its flush for the first writer; two frames in one write and their flush for the
  // others.
  EXPECT_EQ(Verify(Group("1.log", 200, "FrameWriter::Place:queued", "FrameWriter::Lead")), 4u);
}

TEST_F(EverySubsetOfAGroup, OfCommitsInOneFrameLosesNothingSynced) {
  // Three blocks of data, and two commits with at most one flush before and after each.
  EXPECT_LE(Verify(Group("1.sst", 200, "Metalog::Commit:queued", "Metalog::BatchLead::Write")), 9u);
}

}  // namespace
}  // namespace zenfs
