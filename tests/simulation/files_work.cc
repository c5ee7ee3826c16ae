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

bool FilesWork::IsFull(const std::string& path) {
  if (!client_.WasFull()) return false;
  shrinks_ = true;
  client_.Unlink(path);
  client_.MustNotBeFull("unlink " + path);
  client_.DropHandle(kSmallFile);
  return true;
}

void FilesWork::Write() {
  const std::string path = fmt::format("{}/{:06}.sst", root_, next_number_++);
  client_.Create(kSmallFile, path);
  if (client_.WasFull()) shrinks_ = true;
  if (client_.WasFull() || client_.failed()) return;
  client_.Append(kSmallFile, 1 + client_.random().Below(3000));
  if (IsFull(path)) return;
  client_.Sync(kSmallFile);
  if (IsFull(path)) return;
  client_.Close(kSmallFile);
  if (IsFull(path)) return;
  files_.push_back(path);
}

void FilesWork::Delete() {
  if (files_.empty()) return;
  std::swap(files_[client_.random().Below(files_.size())], files_.back());
  client_.Unlink(files_.back());
  client_.MustNotBeFull("unlink " + files_.back());
  files_.pop_back();
}

}  // namespace zenfs
