// Command lines of `zenfs`: words separated by NUL, parsed but not executed.
#include <sys/resource.h>

#include "cli/command_line.h"
#include "cli/number.h"
#include "input.h"

namespace zenfs {
namespace {

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

void CheckNumber(const std::string& word) {
  if (const auto size = ParseSize(word)) {
    Require(*size <= kMaxSize, "sizes are bounded");
    static_cast<void>(FormatSize(*size));
  }
  if (const auto count = ParseCount(word, 3, 900))
    Require(*count >= 3 && *count <= 900, "counts are bounded");
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  Console console(nowhere, nowhere);
  const std::vector<std::string> words = Words({reinterpret_cast<const char*>(data), size});
  const auto parsed = ParseCommandLine(words, console);
  if (parsed) {
    Require(parsed->verb != nullptr && parsed->action != nullptr, "what parses can be run");
  } else {
    Require(parsed.error() >= 0 && parsed.error() <= 2, "the exit status is one that is written down");
  }
  for (const std::string& word : words) CheckNumber(word);
  return 0;
}
