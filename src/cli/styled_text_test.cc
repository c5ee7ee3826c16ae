#include "cli/styled_text.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

constexpr Style kRed{.colour = 1};

StyledText TwoLines() {
  StyledText text;
  text.Add("a\nb", kRed);
  text.Add("c", kRed);
  text.Add("d\n\n");
  return text;
}

TEST(StyledTextTest, NeighboursOfOneStyleAreOneRun) {
  EXPECT_EQ(TwoLines().runs().size(), 2u);
  EXPECT_EQ(TwoLines().plain(), "a\nbcd\n\n");
}

TEST(StyledTextTest, TheSequencesSelectEachStyleAndResetIt) {
  EXPECT_EQ(TwoLines().WithSequences(), "\033[31ma\nbc\033[0md\n\n");
  StyledText text;
  text.Add("x", {.colour = 12, .reversed = true, .bold = true});
  EXPECT_EQ(text.WithSequences(), "\033[1;7;94mx\033[0m");
}

TEST(StyledTextTest, LinesKeepTheirStyles) {
  const std::vector<StyledText> lines = TwoLines().Lines();
  ASSERT_EQ(lines.size(), 3u) << "an empty line counts, the end of the last one begins none";
  EXPECT_EQ(lines[0].WithSequences(), "\033[31ma\033[0m");
  EXPECT_EQ(lines[1].WithSequences(), "\033[31mbc\033[0md");
  EXPECT_EQ(lines[2].plain(), "");
  EXPECT_TRUE(StyledText().Lines().empty());
}

TEST(WrappedTest, BreaksAtSpacesOrWhereItMust) {
  EXPECT_EQ(Wrapped("", 4), "\n");
  EXPECT_EQ(Wrapped("ab cd", 5), "ab cd\n");
  EXPECT_EQ(Wrapped("ab cd ef", 5), "ab cd\nef\n");
  EXPECT_EQ(Wrapped("abcdefg h", 4), "abcd\nefg\nh\n");
}

}  // namespace
}  // namespace zenfs
