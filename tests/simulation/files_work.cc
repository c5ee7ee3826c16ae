#include "files_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace zenfs {
namespace {

constexpr int kFilesAStep = 20;
constexpr std::size_t kFilesLeft = 10;
constexpr const char* kSmallFile = "small";

}  // namespace

FilesWork::FilesWork(Client& client, const std::string& root, std::size_t files_max)
    : client_(client), root_(root), files_max_(files_max) {
  client_.GoesOnWhenFull();
  for (const auto& [path, file] : client.model().Live()) {
    if (file == nullptr) continue;
    const std::uint64_t number = std::strtoull(path.c_str() + root.size() + 1, nullptr, 10);
    next_number_ = std::max(next_number_, number + 1);
    files_.push_back(path);
  }
}

void FilesWork::Step() {
  for (int i = 0; i < kFilesAStep && !client_.failed(); ++i) {
    if (files_.size() >= files_max_) shrinks_ = true;
    if (files_.size() <= kFilesLeft) shrinks_ = false;
    if (shrinks_) {
      Delete();
    } else {
      Write();
    }
  }
}

void FilesWork::Write() {
  const std::string path = fmt::format("{}/{:06}.sst", root_, next_number_++);
  client_.Create(kSmallFile, path);
  const bool made = !client_.WasFull() && !client_.failed();
  if (made && client_.FillFile(kSmallFile, path, 1 + client_.random().Below(3000))) {
    files_.push_back(path);
  } else {
    shrinks_ = true;
  }
}

void FilesWork::Delete() {
  if (files_.empty()) return;
  std::swap(files_[client_.random().Below(files_.size())], files_.back());
  client_.UnlinkWithoutSpace(files_.back());
  files_.pop_back();
}

}  // namespace zenfs
