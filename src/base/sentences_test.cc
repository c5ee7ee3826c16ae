#include "base/sentences.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(SentencesTest, OnlyASentenceThatIsKeptIsMade) {
  Sentences sentences;
  std::size_t made = 0;
  for (std::size_t i = 0; i < Sentences::kKeptAtMost + 7; ++i)
    sentences.Add([&] { return std::to_string(++made); });
  EXPECT_EQ(made, Sentences::kKeptAtMost);
  EXPECT_EQ(sentences.size(), Sentences::kKeptAtMost);
  EXPECT_EQ(sentences.omitted(), 7u);
  EXPECT_EQ(sentences.front(), "1");
}

}  // namespace
}  // namespace zenfs
