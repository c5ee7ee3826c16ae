#include "random_work.h"

#include <fmt/format.h>

namespace zenfs {
namespace {

constexpr std::uint64_t kNames = 6;
constexpr std::size_t kFileBytesMax = 40000;

}  // namespace

template <typename Body>
void RandomWork::OnHandle(const Body& body) {
  const std::string handle = Handle();
  if (client_.IsOpen(handle)) body(handle);
}

void RandomWork::Step() {
  if (plain_ == Plain::kFlushAndTruncate && client_.random().OneIn(3))
    return OnHandle([&](const std::string& h) { FlushAndTruncate(h); });
  switch (client_.random().Below(23)) {
    case 0:
    case 1: return CreateOne();
    case 2: return ReopenOne();
    case 3:
    case 4:
    case 5: return OnHandle([&](const std::string& h) { Write(h); });
    case 6:
    case 7:
    case 8:
    case 9:
      return OnHandle([&](const std::string& h) {
        Write(h);
        client_.Sync(h);
      });
    case 10: return OnHandle([&](const std::string& h) { client_.Flush(h); });
    case 11: return OnHandle([&](const std::string& h) { Truncate(h); });
    case 12:
    case 13: return OnHandle([&](const std::string& h) { client_.Close(h); });
    case 14: return UnlinkOne();
    case 15:
    case 16: return RenameOne();
    case 17: return LinkOne();
    case 18: return client_.SyncDirectory(root_);
    case 19:
    case 20:
    case 21: return ReadOne();
    default: return Directories();
  }
}

// Framed and plain names, so that renames make files whose shape differs from their name.
std::string RandomWork::Name() {
  const std::uint64_t n = client_.random().Below(kNames);
  return fmt::format("{}/{}{}", root_, n, n % 2 == 0 ? ".log" : ".sst");
}

std::string RandomWork::Handle() { return fmt::format("h{}", client_.random().Below(3)); }

void RandomWork::CreateOne() {
  const std::string handle = Handle();
  if (client_.IsOpen(handle)) client_.Close(handle);
  const std::string path = Name();
  // The model could not follow a Create over a file that the test has open elsewhere.
  if (!IsFile(path)) client_.Create(handle, path);
}

void RandomWork::ReopenOne() {
  const std::string handle = Handle();
  const std::string path = Name();
  if (client_.IsOpen(handle) || !IsFile(path)) return;
  client_.Reopen(handle, path);
}

void RandomWork::Write(const std::string& handle) {
  if (client_.failed() || client_.SizeOf(handle) > kFileBytesMax) return;
  client_.Append(handle, 1 + client_.random().Below(client_.random().OneIn(3) ? 12000 : 300));
}

void RandomWork::Truncate(const std::string& handle) {
  if (client_.ShapeOf(handle) == FileShape::kPlain && plain_ == Plain::kNoTruncation) return;
  client_.Truncate(handle, client_.random().Below(client_.SizeOf(handle) + 1));
}

// Bytes that are flushed, most of them in extents that are not committed.
void RandomWork::FlushAndTruncate(const std::string& handle) {
  const std::uint64_t flushes = 1 + client_.random().Below(3);
  for (std::uint64_t i = 0; i < flushes; ++i) {
    Write(handle);
    client_.Flush(handle);
  }
  if (client_.random().OneIn(2)) Truncate(handle);
}

void RandomWork::ReadOne() {
  const std::string path = Name();
  if (IsFile(path)) client_.Read(path);
}

void RandomWork::UnlinkOne() {
  const std::string path = Name();
  if (IsFile(path)) client_.Unlink(path);
}

void RandomWork::RenameOne() {
  const std::string from = Name();
  if (IsFile(from)) client_.Rename(from, Name());
}

void RandomWork::LinkOne() {
  const std::string from = Name();
  const std::string to = Name();
  if (IsFile(from) && !IsFile(to)) client_.Link(from, to);
}

void RandomWork::Directories() {
  const std::string a = root_ + "/a";
  const std::string b = root_ + "/b";
  const bool has_a = client_.model().durable().contains(a);
  const bool has_b = client_.model().durable().contains(b);
  if (!has_a && !has_b) return client_.MakeDirectory(a);
  if (has_a && !has_b) {
    if (client_.random().OneIn(2) && !IsFile(a + "/in")) return client_.WriteFile(a + "/in", 100);
    return client_.Rename(a, b);
  }
  if (IsFile(b + "/in")) return client_.Unlink(b + "/in");
  client_.RemoveDirectory(b);
}

void WorkAtRandom(Client& client, const std::string& root, int steps) {
  RandomWork work(client, root);
  for (int i = 0; i < steps && !client.failed(); ++i) work.Step();
}

}  // namespace zenfs
