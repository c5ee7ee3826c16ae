// What the threads of the writer do, as a function of numbers: after the operations 1 to N of a thread, only one content
// of its keys is right.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace zenfs {

inline constexpr int kOptionKillThreads = 3;

struct OptionKillOperation {
  int family = 0;
  std::string key;
  bool is_delete = false;
  std::string value;
};
// Operation `number` (from 1) of a thread. Each thread has keys of its own, and few of them, so that most operations
// replace or delete something.
[[nodiscard]] OptionKillOperation OperationOf(int thread, long number, int families);

// Written to the first family in one batch with each operation: the number of the last one.
[[nodiscard]] std::string CounterKey(int thread);
// -1 if `value` is no number.
[[nodiscard]] long CounterValue(const std::string& value);

// Family and key -> value.
using OptionKillContent = std::map<std::pair<int, std::string>, std::string>;
// Adds what the thread's keys hold after its operations 1 to `last`, the counter among them.
void AddContentAfter(int thread, long last, int families, OptionKillContent& content);

}  // namespace zenfs
