// The mutator of libFuzzer for inputs of a few bytes followed by records of edits. Half of the time
// it adds, removes, doubles or swaps records, or changes their fields; otherwise it changes bytes
// as libFuzzer does.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "edit_script.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed);

namespace zenfs {
namespace {

constexpr std::size_t kHeadBytes = 5;

EditRecord AnyRecord(Random& random) {
  // Most lists are short and valid.
  const auto flags = static_cast<std::uint8_t>(
      (random.OneIn(2) ? kLast : 0) | (random.OneIn(16) ? kKeep : 0) | (random.OneIn(8) ? kWild : 0) |
      (random.OneIn(16) ? kBare : 0) | (random.OneIn(4) ? kJoin : 0));
  return {.kind = static_cast<std::uint8_t>(random.Below(static_cast<unsigned>(EditKind::kCount))),
          .flags = flags,
          .a = static_cast<std::uint8_t>(random.Below(256)),
          .b = static_cast<std::uint8_t>(random.Below(256)),
          .n = static_cast<std::uint16_t>(random.Next()),
          .m = static_cast<std::uint16_t>(random.Next())};
}

void ChangeRecord(EditRecord& record, Random& random) {
  const EditRecord other = AnyRecord(random);
  switch (random.Below(6)) {
    case 0: record.kind = other.kind; break;
    case 1: record.flags ^= static_cast<std::uint8_t>(1 << random.Below(5)); break;
    case 2: record.a = other.a; break;
    case 3: record.b = other.b; break;
    case 4: record.n = random.OneIn(2) ? other.n : static_cast<std::uint16_t>(record.n + 1); break;
    default: record.m = random.OneIn(2) ? other.m : static_cast<std::uint16_t>(record.m + 1); break;
  }
}

void ChangeRecords(std::vector<EditRecord>& records, Random& random) {
  const auto place = records.begin() + static_cast<std::ptrdiff_t>(random.Below(records.size() + 1));
  if (records.empty() || random.OneIn(3)) {
    records.insert(place, AnyRecord(random));
    return;
  }
  EditRecord& one = records[random.Below(records.size())];
  EditRecord& other = records[random.Below(records.size())];
  switch (random.Below(5)) {
    case 0: records.erase(records.begin() + (&one - records.data())); break;
    case 1: records.insert(place, EditRecord(one)); break;
    case 2: std::swap(one, other); break;
    default: ChangeRecord(one, random); break;
  }
}

}  // namespace
}  // namespace zenfs

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  using namespace zenfs;
  Random random(seed);
  if (size < kHeadBytes || max_size < kHeadBytes || random.OneIn(2))
    return LLVMFuzzerMutate(data, size, max_size);
  std::vector<EditRecord> records((size - kHeadBytes) / sizeof(EditRecord));
  if (!records.empty()) std::memcpy(records.data(), data + kHeadBytes, records.size() * sizeof(EditRecord));
  for (std::uint64_t i = 1 + random.Below(4); i != 0; --i) ChangeRecords(records, random);
  records.resize(std::min(records.size(), (max_size - kHeadBytes) / sizeof(EditRecord)));
  if (!records.empty()) std::memcpy(data + kHeadBytes, records.data(), records.size() * sizeof(EditRecord));
  return kHeadBytes + records.size() * sizeof(EditRecord);
}
