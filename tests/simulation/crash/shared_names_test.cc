// The models of shared names and logs must refuse impossible results.
#include <gtest/gtest.h>

#include "shared_log.h"
#include "shared_names.h"

namespace zenfs {
namespace {

using Kind = SharedNames::Kind;

FoundEntry File(std::uint64_t id, const std::string& content, FileShape shape = FileShape::kPlain) {
  return {.is_directory = false, .id = id, .shape = shape, .content = content};
}

class SharedNamesTest : public testing::Test {
 protected:
  // Creates and syncs a file, with no other call in progress.
  void Make(const std::string& name, const std::string& content) {
    const auto file = names_.NewFile(content, FileShape::kPlain);
    ASSERT_EQ(names_.End(names_.Begin({.kind = Kind::kCreate, .from = name, .file = file}), {}), "");
    names_.Appended(file);
    ASSERT_EQ(names_.End(names_.Begin({.kind = Kind::kSync, .file = file}), {}), "");
  }
  SharedNames::CallNumber BeginLook(const std::string& name) {
    return names_.Begin({.kind = Kind::kLook, .from = name});
  }
  std::string WhyNot(const std::map<std::string, std::string>& files) const {
    FoundTree found{{"names", {.is_directory = true}}};
    std::uint64_t id = 1;
    for (const auto& [name, content] : files) found["names/" + name] = File(++id, content);
    return names_.WhyNot(found, CrashKind::kPowerLost);
  }

  SharedNames names_{"names"};
};

// A log takes an append in parts, a table as a whole.
TEST_F(SharedNamesTest, OfAnAppendToALogUnderWayALookMayFindTheFront) {
  const std::string content = "the content of a new file";
  for (const FileShape shape : {FileShape::kFramed, FileShape::kPlain}) {
    const auto file = names_.NewFile(content, shape);
    ASSERT_EQ(names_.End(names_.Begin({.kind = Kind::kCreate, .from = "a", .file = file}), {}), "");
    const auto look = [&](const std::string& found) {
      return names_.End(BeginLook("a"), {.content = found}).empty();
    };
    EXPECT_TRUE(look(""));
    EXPECT_TRUE(look(content));
    EXPECT_EQ(look(content.substr(0, 5)), shape == FileShape::kFramed);
    EXPECT_FALSE(look("other"));
    names_.Appended(file);
    EXPECT_TRUE(look(content));
    EXPECT_FALSE(look(content.substr(0, 5)));
  }
}

TEST_F(SharedNamesTest, OfACallUnderWayAllOrNothingMayBeFound) {
  Make("a", "the content of a");
  Make("b", "the content of b");
  names_.Begin({.kind = Kind::kRename, .from = "a", .to = "b"});
  EXPECT_EQ(WhyNot({{"a", "the content of a"}, {"b", "the content of b"}}), "");
  EXPECT_EQ(WhyNot({{"b", "the content of a"}}), "");
  EXPECT_NE(WhyNot({{"a", "the content of a"}}), "") << "two steps";
  EXPECT_NE(WhyNot({{"a", "the content of a"}, {"b", "the content of a"}}), "");
}

TEST_F(SharedNamesTest, WhatACallHasAnsweredStays) {
  Make("a", "the content of a");
  const auto call = names_.Begin({.kind = Kind::kUnlink, .from = "a"});
  ASSERT_EQ(names_.End(call, {}), "");
  EXPECT_NE(WhyNot({{"a", "the content of a"}}), "");
  EXPECT_EQ(WhyNot({}), "");
}

TEST_F(SharedNamesTest, WhatWasSeenOnceIsNotGoneWhenLookedAtAgain) {
  Make("a", "the content of a");
  names_.Begin({.kind = Kind::kRename, .from = "a", .to = "b"});
  ASSERT_EQ(names_.End(BeginLook("b"), {.content = "the content of a"}), "");
  EXPECT_NE(WhyNot({{"a", "the content of a"}}), "") << "it was seen, so it is durable";
  EXPECT_NE(names_.End(BeginLook("a"), {.content = "the content of a"}), "");
}

TEST_F(SharedNamesTest, AFileThatWasNeverSyncedHidesWhatACrashLeaves) {
  Make("a", "the content of a");
  const auto file = names_.NewFile("another content.", FileShape::kPlain);
  ASSERT_EQ(names_.End(names_.Begin({.kind = Kind::kCreate, .from = "a", .file = file}), {}), "");
  names_.Appended(file);
  EXPECT_EQ(names_.End(BeginLook("a"), {.content = "another content."}), "");
  EXPECT_EQ(WhyNot({{"a", "the content of a"}}), "");
  EXPECT_NE(WhyNot({{"a", "another content."}}), "") << "nothing has made it durable";
}

TEST_F(SharedNamesTest, OfTwoThatMakeADirectoryOneFails) {
  const auto first = names_.Begin({.kind = Kind::kMakeDirectory, .from = "d"});
  const auto second = names_.Begin({.kind = Kind::kMakeDirectory, .from = "d"});
  ASSERT_EQ(names_.End(first, {.error = Code::kExists}), "") << "the second was earlier";
  EXPECT_NE(names_.End(second, {.error = Code::kExists}), "");
}

class SharedLogTest : public testing::Test {
 protected:
  std::string Append(const std::string& bytes) {
    const SharedLog::Record record = log_.BeginAppend(bytes);
    log_.Appended(record);
    return log_.BytesOf(record);
  }
  std::string WhyNot(const std::string& content, CrashKind kind = CrashKind::kPowerLost) const {
    return log_.WhyNot({{"log", {.is_directory = true}}, {log_.path(), File(2, content, FileShape::kFramed)}},
                       kind);
  }

  SharedLog log_{"log"};
};

TEST_F(SharedLogTest, ASyncedRecordMayNotBeMissing) {
  const std::string first = Append("one");
  log_.Synced(log_.Begin());
  const std::string second = Append("two");
  EXPECT_EQ(WhyNot(first), "");
  EXPECT_EQ(WhyNot(first + second.substr(0, 12)), "");
  EXPECT_NE(WhyNot(""), "");
  EXPECT_NE(WhyNot(first.substr(0, 12)), "");
}

TEST_F(SharedLogTest, AFlushedRecordMayBeMissingOnlyWhenPowerWasLost) {
  const std::string record = Append("one");
  log_.Flushed(log_.Begin());
  EXPECT_EQ(WhyNot(""), "");
  EXPECT_NE(WhyNot("", CrashKind::kProcessDied), "");
}

TEST_F(SharedLogTest, RecordsOfOneThreadKeepTheirOrderAndThoseOfTwoNeedNot) {
  const std::string first = Append("one");
  const SharedLog::Record second = log_.BeginAppend("two");
  const SharedLog::Record third = log_.BeginAppend("three");
  EXPECT_EQ(WhyNot(first + log_.BytesOf(third) + log_.BytesOf(second)), "");
  EXPECT_NE(WhyNot(log_.BytesOf(second) + first), "");
  EXPECT_NE(WhyNot(log_.BytesOf(second)), "") << "a prefix of the order would have the first";
  EXPECT_NE(WhyNot(first + first), "") << "twice";
}

}  // namespace
}  // namespace zenfs
