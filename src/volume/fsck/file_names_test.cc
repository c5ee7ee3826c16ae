#include "volume/fsck/file_names.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "volume/fsck/finding.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr FileId kFile{10};

State StateOf(std::vector<Edit> edits) {
  State state;
  edits.insert(edits.begin(),
               {RaiseCounters{.next_id = 1'000'000, .next_generation = 10}, CreateFile{.id = kFile}});
  const Status done = state.Apply(edits);
  EXPECT_TRUE(done.ok()) << done.error().ToString();
  return state;
}

TEST(FileNamesTest, AFileIsDescribedByItsNames) {
  const State state =
      StateOf({CreateDirectory{FileId(11), kRootDirectory, "db"}, LinkFile{FileId(11), "000012.sst", kFile},
               LinkFile{kRootDirectory, "z", kFile}});
  const FileNames names(state);
  EXPECT_EQ(names.Describe(kFile), "file 10 (/db/000012.sst, /z)");
  EXPECT_THAT(names.PathsOf(kFile).whole, ElementsAre("/db/000012.sst", "/z"));
  EXPECT_EQ(names.PathsOf(kFile).others, 0u);
  EXPECT_EQ(names.Describe(FileId(12)), "file 12 (no name)");
  EXPECT_EQ(names.PathOf(FileId(12)), "");
}

TEST(FileNamesTest, OfManyNamesThreeAreShownAndTheOthersCounted) {
  std::vector<Edit> edits;
  for (int i = 0; i < 20'000; ++i)
    edits.emplace_back(LinkFile{kRootDirectory, fmt::format("{:05}", i), kFile});
  const State state = StateOf(std::move(edits));
  const FileNames names(state);
  EXPECT_EQ(names.Describe(kFile), "file 10 (/00000, /00001, /00002 and 19997 more names)");
  EXPECT_THAT(names.PathsOf(kFile).whole, ElementsAre("/00000", "/00001", "/00002"));
  EXPECT_EQ(names.PathsOf(kFile).others, 19'997u);
}

// All paths of this tree together would take 5 GB.
TEST(FileNamesTest, ADeepTreeTakesTheMemoryOfItsNamesOnly) {
  constexpr std::uint64_t kDepth = 100'000;
  std::map<FileId, Directory> directories;
  for (std::uint64_t i = 0; i < kDepth; ++i) {
    const FileId id(i == 0 ? kRootDirectory.value : 100 + i);
    directories[id].entries = {{"d", FileId(101 + i)}};
  }
  directories[kRootDirectory].entries.emplace("top.log", kFile);
  directories[FileId(100 + kDepth)].entries.emplace("deep.log", kFile);
  const FileNames names([&](FileId id) {
    const auto found = directories.find(id);
    return found == directories.end() ? nullptr : &found->second;
  });
  const std::string text = names.Describe(kFile);
  EXPECT_THAT(text, SizeIs(testing::Lt(FileNames::kPathBytesShown + 100)));
  EXPECT_THAT(text, testing::StartsWith("file 10 (.../d/d/d/"));
  EXPECT_THAT(text, testing::EndsWith("/d/d/deep.log, /top.log)"));
  // A path that is not whole can't be looked up.
  EXPECT_THAT(names.PathsOf(kFile).whole, ElementsAre("/top.log"));
  EXPECT_EQ(names.PathsOf(kFile).others, 1u);
}

TEST(FileNamesTest, DirectoriesInACircleEndThePath) {
  const Directory root{
      .id = kRootDirectory, .parent = kRootDirectory, .name = "", .entries = {{"a", FileId(2)}}};
  const Directory circle{
      .id = FileId(2), .parent = FileId(2), .name = "a", .entries = {{"again", FileId(2)}, {"f", kFile}}};
  const FileNames names([&](FileId id) {
    return id == kRootDirectory ? &root : id == FileId(2) ? &circle : nullptr;
  });
  EXPECT_EQ(names.Describe(kFile), "file 10 (/a/f)");
  EXPECT_EQ(names.PathOf(FileId(2)), "/a");
}

TEST(FindingsTest, ManyNotesDoNotPushOutAnError) {
  Findings findings;
  for (std::size_t i = 0; i < Findings::kKeptAtMost + 7; ++i)
    findings.Add({.severity = Severity::kNote, .text = fmt::to_string(i)});
  EXPECT_FALSE(HasError(findings));
  findings.Add({.severity = Severity::kError, .text = "lost"});
  EXPECT_TRUE(HasError(findings));
  EXPECT_THAT(findings, SizeIs(Findings::kKeptAtMost + 1));
  EXPECT_EQ(findings.OmittedText(), "7 more notes, not listed");
}

TEST(FindingsTest, OnlyAFindingThatIsKeptIsMade) {
  Findings findings;
  std::size_t made = 0;
  const auto make = [&] {
    ++made;
    return Finding{.text = "text"};
  };
  for (std::size_t i = 0; i < Findings::kKeptAtMost + 7; ++i) findings.Add(Severity::kWarning, make);
  EXPECT_EQ(made, Findings::kKeptAtMost);
  EXPECT_EQ(findings.omitted(Severity::kWarning), 7u);
  EXPECT_EQ(findings.back().severity, Severity::kWarning);
}

TEST(FindingsTest, OmittedFindingsAreCountedThroughMerges) {
  Findings part;
  for (std::size_t i = 0; i < Findings::kKeptAtMost + 1; ++i) part.Add({.text = fmt::to_string(i)});
  Findings all;
  all.Add(part);
  all.Add(part);
  EXPECT_THAT(all, SizeIs(Findings::kKeptAtMost));
  EXPECT_EQ(all.omitted(Severity::kError), Findings::kKeptAtMost + 2);
}

TEST(FindingsTest, ASecondLookKeepsWhatTheFirstMayHaveOmitted) {
  Findings first;
  for (std::size_t i = 0; i < Findings::kKeptAtMost + 1; ++i) first.Add({.text = fmt::to_string(i)});
  first.Add({.severity = Severity::kNote, .text = "a note"});
  Findings second;
  second.Add({.text = "perhaps among those omitted"});
  second.Add({.severity = Severity::kNote, .text = "another note"});
  second.KeepThoseOf(first);
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second.front().text, "perhaps among those omitted");
  second.KeepThoseOf(Findings());
  EXPECT_THAT(second, IsEmpty());
}

}  // namespace
}  // namespace zenfs
