#include "aside/reader_check.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "backup/backup.h"
#include "crash/verify.h"
#include "world/shared_memory_files.h"

namespace zenfs {
namespace {

struct NoObserver final : TransferObserver {
  void OnPath(const std::string&) override {}
  void OnNotice(const std::string&) override {}
  void OnProgress(std::uint64_t, std::uint64_t) override {}
};

std::string ReadHostFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

BackupResult CompareBackup(Volume& volume, const FoundTree& found) {
  NoObserver observer;
  BackupResult result;
  const auto directory = SharedMemoryFiles::Create();  // on a tmpfs, because a backup syncs each file
  if (!directory) return {.wrong = directory.error().ToString(), .failed = ""};
  const std::string destination = directory->directory() + "/backup";
  const BackupOptions options{.destination = destination, .path = "", .jobs = 2};
  const auto made = RunBackup(volume, options, observer);
  if (!made) result.failed = made.error().ToString();
  for (const auto& [path, entry] : found) {
    if (entry.is_directory) continue;
    const std::string copy = destination + "/" + path;
    if (!std::filesystem::exists(copy)) {
      if (made) result.wrong = path + " is not in the backup";
      continue;
    }
    const std::string content = ReadHostFile(copy);
    if (content != entry.content)
      result.wrong = path + " in a backup: " + DescribeMismatch(entry.content, content);
  }
  return result;
}

std::string WhyNotRead(CrashDevice& image, const ReaderCheck& check) {
  const std::uint64_t before = image.commands();
  auto mounted = MountReader(image);
  if (!mounted) return "a read-only mount: " + mounted.error().ToString();
  const std::shared_ptr<Volume> reader = *std::move(mounted);
  const auto found = Find(*reader);
  if (!found) return "a reader: " + found.error().ToString();
  if (std::string why = WhyNotAny(*found, check.kind, check.expected); !why.empty())
    return "a reader: " + why;
  if (check.backs_up) {
    const BackupResult backup = CompareBackup(*reader, *found);
    if (!backup.failed.empty()) return "a backup fails: " + backup.failed;
    if (!backup.wrong.empty()) return backup.wrong;
  }
  return image.commands() == before ? "" : "a reader has changed the device";
}

}  // namespace zenfs
