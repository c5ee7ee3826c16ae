// Seeds of the target commits: every kind of edit, valid and invalid, at each place of the log.
#include <fmt/format.h>

#include "base/random.h"
#include "edit_script.h"
#include "seeds.h"

namespace zenfs {
namespace {

std::string Begin(std::uint8_t shape, std::uint8_t age, std::uint8_t mode, std::uint8_t snapshots) {
  std::string out;
  for (const std::uint8_t byte : {shape, age, mode, snapshots, std::uint8_t{1}}) PutRaw(out, byte);
  return out;
}

std::string Record(EditKind kind, std::uint8_t flags, Random& random) {
  std::string out;
  PutRaw(out, EditRecord{.kind = static_cast<std::uint8_t>(kind),
                         .flags = flags,
                         .a = static_cast<std::uint8_t>(random.Below(16)),
                         .b = static_cast<std::uint8_t>(random.Below(16)),
                         .n = static_cast<std::uint16_t>(random.Below(64)),
                         .m = static_cast<std::uint16_t>(random.Below(64))});
  return out;
}

}  // namespace

void WriteCommitsSeeds(SeedWriter& writer) {
  Random random(1);
  constexpr auto kKinds = static_cast<unsigned>(EditKind::kCount);
  for (unsigned kind = 0; kind < kKinds; ++kind) {
    int number = 0;
    for (const int flags : {int{kLast}, kLast | kKeep | kWild, kLast | kKeep | kBare, kLast | kJoin}) {
      for (const std::uint8_t mode : {0x08, 0x18, 0x38, 0x5c}) {
        const auto flag_bits = static_cast<std::uint8_t>(flags);
        const auto shape = static_cast<std::uint8_t>(random.Below(3));
        const auto age = static_cast<std::uint8_t>(random.Below(5));
        writer.Write("commits", fmt::format("{}-{}", kind, number++),
                     Begin(shape, age, mode, 1) + Record(static_cast<EditKind>(kind), flag_bits, random));
      }
    }
  }
  for (const std::uint16_t name_bytes : {1, 50, 255}) {
    std::string chain = Begin(2, 1, 8, 0);
    PutRaw(chain, EditRecord{.kind = static_cast<std::uint8_t>(EditKind::kCreateDirectory),
                             .flags = kLast | kWild,
                             .a = 128,
                             .b = 0,
                             .n = static_cast<std::uint16_t>(name_bytes == 1 ? 319 : 99),
                             .m = static_cast<std::uint16_t>(name_bytes - 1)});
    writer.Write("commits", fmt::format("chain-{}", name_bytes), chain);
  }
  for (int i = 0; i < 16; ++i) {
    std::string lists =
        Begin(static_cast<std::uint8_t>(i % 3), static_cast<std::uint8_t>(i % 5), 8 + i % 2 * 16, 2);
    for (int n = 0; n < 24; ++n) {
      lists +=
          Record(static_cast<EditKind>(random.Below(kKinds)), n % 3 == 0 ? kLast : std::uint8_t{0}, random);
    }
    writer.Write("commits", fmt::format("walk-{}", i), lists);
  }
}

}  // namespace zenfs
