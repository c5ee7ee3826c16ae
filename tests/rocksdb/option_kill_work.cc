#include "option_kill_work.h"

#include <fmt/format.h>

#include <charconv>

#include "base/random.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kKeysOfAThread = 150;
constexpr std::uint64_t kLongestValue = 1200;
constexpr std::uint64_t kDeletesOneIn = 7;

}  // namespace

OptionKillOperation OperationOf(int thread, long number, int families) {
  Random random(static_cast<std::uint64_t>(number) * kOptionKillThreads + static_cast<std::uint64_t>(thread));
  OptionKillOperation operation;
  const std::uint64_t key = random.Below(kKeysOfAThread);
  operation.family = static_cast<int>(key % static_cast<std::uint64_t>(families));
  operation.key = fmt::format("key-{}-{:04}", thread, key);
  operation.is_delete = random.OneIn(kDeletesOneIn);
  if (operation.is_delete) return operation;
  operation.value = fmt::format("{}:", number);
  operation.value.append(random.Below(kLongestValue), static_cast<char>('a' + number % 26));
  return operation;
}

std::string CounterKey(int thread) { return fmt::format("last-{}", thread); }

long CounterValue(const std::string& value) {
  long number = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? number : -1;
}

void AddContentAfter(int thread, long last, int families, OptionKillContent& content) {
  for (long number = 1; number <= last; ++number) {
    OptionKillOperation operation = OperationOf(thread, number, families);
    const std::pair place(operation.family, operation.key);
    if (operation.is_delete) {
      content.erase(place);
    } else {
      content[place] = std::move(operation.value);
    }
  }
  if (last > 0) content[{0, CounterKey(thread)}] = std::to_string(last);
}

}  // namespace zenfs
