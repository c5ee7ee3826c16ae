// Seeds of the target backup_directory: each kind of entry under each name, for each kind of run.
#include <fmt/format.h>

#include "backup_tree.h"
#include "seeds.h"

namespace zenfs {
namespace {

std::string DirectoryInput(std::uint8_t mode, std::uint8_t more, std::uint8_t how) {
  std::string out;
  for (const std::uint8_t byte : {mode, more, how, std::uint8_t{0}}) PutRaw(out, byte);
  return out;
}

std::string Entry(std::uint8_t kind, std::uint8_t name, std::uint8_t what) {
  std::string out;
  for (const std::uint8_t byte : {kind, name, what, std::uint8_t{8}}) PutRaw(out, byte);
  return out + "contents";
}

}  // namespace

void WriteBackupDirectorySeeds(SeedWriter& writer) {
  constexpr std::uint8_t kNames = 12;
  constexpr std::uint8_t kModes[] = {0x02, 0x12, 0x16, 0x52, 0x0a, 0x01, 0x90};
  std::uint8_t number = 0;
  for (const std::uint8_t mode : kModes) {
    for (std::uint8_t how = 0; how < 8; ++how) {
      writer.Write("backup_directory", fmt::format("manifest-{}-{}", mode, how),
                   DirectoryInput(mode, how % 2, how));
    }
    for (const std::uint8_t what : {0, 192}) {
      const auto link = static_cast<std::uint8_t>(TreeEntry::kLink);
      writer.Write("backup_directory", fmt::format("outside-{}-{}", mode, what),
                   DirectoryInput(mode, 0, 5) + Entry(link, 0, what));
    }
    for (std::uint8_t kind = 0; kind < static_cast<std::uint8_t>(TreeEntry::kCount); ++kind) {
      for (std::uint8_t name = 0; name < kNames; ++name) {
        ++number;
        const auto what = static_cast<std::uint8_t>(number % 8 + (number % 3 == 0 ? 192 : 0));
        writer.Write("backup_directory", fmt::format("entry-{}-{}-{}", mode, kind, name),
                     DirectoryInput(mode, number % 2, number % 4 == 0 ? 5 : 0) + Entry(kind, name, what));
      }
    }
  }
}

}  // namespace zenfs
