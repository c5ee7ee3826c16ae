#include "client.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/bytes.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kZerosOneIn = 16;      // appends
constexpr std::size_t kZerosLeast = 64 << 10;  // a scan reads so many bytes at a time

}  // namespace

ByteView Client::Aligned(const std::string& bytes) {
  const std::size_t begin = random_.Below(2);
  if (memory_.capacity() < begin + bytes.size()) memory_ = AlignedBuffer(begin + bytes.size());
  const ByteSpan place = memory_.Whole().subspan(begin, bytes.size());
  std::ranges::copy(AsBytes(bytes), place.begin());
  return place;
}

Client::Handle* Client::Open(const std::string& handle) {
  if (failed()) return nullptr;
  const auto it = handles_.find(handle);
  if (it == handles_.end()) {
    Right("the test has none", "handle " + handle);
    return nullptr;
  }
  return &it->second;
}

void Client::Create(const std::string& handle, const std::string& path) {
  if (failed()) return;
  Result<std::unique_ptr<FileHandle>> open = volume_->Create(path);
  if (!Ok(StatusOf(open), "create " + path + " as " + handle)) return;
  const FileShape shape = (*open)->shape();
  handles_[handle] = {*std::move(open), model_.Create(path, shape), path};
}

void Client::Reopen(const std::string& handle, const std::string& path) {
  if (failed()) return;
  Result<std::unique_ptr<FileHandle>> open = volume_->OpenForAppend(path, false);
  if (!Ok(StatusOf(open), "reopen " + path + " as " + handle)) return;
  handles_[handle] = {*std::move(open), model_.FindLive(path), path};
}

void Client::Append(const std::string& handle, std::size_t count) {
  Handle* h = Open(handle);
  if (h == nullptr) return;
  std::string bytes = Bytes(count);
  if (runs_of_zeros_ != 0 && random_.OneIn(kZerosOneIn)) {
    --runs_of_zeros_;
    bytes.insert(random_.Below(count + 1), kZerosLeast + random_.Below(kZerosLeast * 3 / 2), '\0');
  }
  model_.Append(*h->file, bytes);  // before the call, because a framed file may send it at once
  Ok(h->open->Append(Aligned(bytes)),
     fmt::format("append {} bytes to {} by {}", bytes.size(), h->path, handle));
}

void Client::RewriteTail(const std::string& handle, std::size_t count) {
  Handle* h = Open(handle);
  if (h == nullptr) return;
  const std::uint64_t block = volume_->info().geometry.block_size;
  const std::size_t size = h->file->live.size();
  const std::size_t offset = size == 0 ? 0 : RoundDown(size - 1, block);
  const std::string bytes = Bytes(size - offset + count);
  model_.Overwrite(*h->file, offset, bytes);
  Ok(h->open->PositionedAppend(Aligned(bytes), offset), "rewrite the tail of " + h->path);
}

void Client::Truncate(const std::string& handle, std::size_t size) {
  Handle* h = Open(handle);
  if (h == nullptr) return;
  model_.BeginTruncate(*h->file, size);
  Finish(h->open->Truncate(size), fmt::format("truncate {} to {} by {}", h->path, size, handle));
}

void Client::Flush(const std::string& handle) {
  Handle* h = Open(handle);
  if (h == nullptr) return;
  model_.BeginFlush(*h->file);
  Finish(Repeated(h->file->shape, [&] { return h->open->Flush(); }), "flush " + h->path + " by " + handle);
}

void Client::Sync(const std::string& handle) {
  Handle* h = Open(handle);
  if (h == nullptr) return;
  model_.BeginSync(*h->file);
  Finish(Repeated(h->file->shape, [&] { return h->open->Sync(); }), "sync " + h->path + " by " + handle);
}

void Client::SyncInVain(const std::string& handle) {
  Handle* h = Open(handle);
  if (h == nullptr) return;
  const std::string what = "sync " + h->path + " in vain";
  Note(what);
  if (h->open->Sync().ok()) Right("it succeeds", what);
}

void Client::Close(const std::string& handle) {
  Handle* h = Open(handle);
  if (h == nullptr) return;
  if (h->file->shape == FileShape::kFramed) {
    model_.BeginFlush(*h->file);
  } else {
    model_.BeginSync(*h->file);
  }
  Finish(h->open->Close(), "close " + h->path + " by " + handle);
  if (!failed()) handles_.erase(handle);
}

void Client::Read(const std::string& path) {
  const ModelFileRef file = failed() ? nullptr : model_.FindLive(path);
  if (file == nullptr || file->live.empty()) return;
  const auto open = volume_->OpenForRead(path);
  if (!OkToRead(StatusOf(open), "open " + path + " to read")) return;
  std::vector<AlignedBuffer> memory;
  std::vector<ReadRequest> requests;
  std::vector<std::string> expected;
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t offset = random_.Below(file->live.size());
    const std::uint64_t length = 1 + random_.Below(file->live.size() - offset);
    expected.push_back(file->live.substr(offset, length));
    memory.emplace_back(length);
    requests.push_back({offset, memory.back().Whole().first(length), {}});
  }
  (*open)->ReadMany(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ReadRequest& request = requests[i];
    const std::string what =
        fmt::format("read {} bytes at {} of {}", expected[i].size(), request.offset, path);
    if (!OkToRead(request.status, what)) return;
    const std::string_view found = AsText(request.into);
    if (found != expected[i]) Right(DescribeMismatch(expected[i], std::string(found)), what);
  }
}

void Client::Log(const std::string& handle, int records, std::size_t count) {
  for (int i = 0; i < records && !failed(); ++i) {
    Append(handle, count);
    Sync(handle);
  }
}

void Client::WriteFile(const std::string& path, std::size_t count) {
  Create(path, path);
  Append(path, count);
  Sync(path);
  Close(path);
}

bool Client::GaveUp(const std::string& handle, const std::string& path) {
  if (!WasFull()) return false;
  if (!IsOpen(handle) && model_.pending().contains(path)) {
    model_.BeginUnlink(path);  // a new file is gone if its close finds no space
    model_.Done();
  } else {
    UnlinkWithoutSpace(path);
  }
  DropHandle(handle);
  return true;
}

bool Client::FillFile(const std::string& handle, const std::string& path, std::size_t count) {
  Append(handle, count);
  if (GaveUp(handle, path)) return false;
  Sync(handle);
  if (GaveUp(handle, path)) return false;
  Close(handle);
  return !GaveUp(handle, path);
}

void Client::UnlinkWithoutSpace(const std::string& path) {
  Unlink(path);
  if (WasFull()) Right("finds no space", "unlink " + path);
}

void Client::Unlink(const std::string& path) {
  if (failed()) return;
  model_.BeginUnlink(path);
  Finish(volume_->Unlink(path), "unlink " + path);
}

void Client::Link(const std::string& from, const std::string& to) {
  if (failed()) return;
  model_.BeginLink(from, to);
  Finish(volume_->Link(from, to), "link " + from + " to " + to);
}

void Client::Rename(const std::string& from, const std::string& to) {
  if (failed()) return;
  model_.BeginRename(from, to);
  Finish(volume_->Rename(from, to), "rename " + from + " to " + to);
}

void Client::MakeDirectory(const std::string& path) {
  if (failed()) return;
  model_.BeginMakeDirectory(path);
  Finish(volume_->MakeDirectory(path, false), "mkdir " + path);
}

void Client::RemoveDirectory(const std::string& path) {
  if (failed()) return;
  model_.BeginRemoveDirectory(path);
  Finish(volume_->RemoveDirectory(path), "rmdir " + path);
}

void Client::SyncDirectory(const std::string& path) {
  if (failed()) return;
  model_.BeginSyncDirectory(path);
  Finish(volume_->SyncDirectory(path), "sync directory " + path);
}

}  // namespace zenfs
