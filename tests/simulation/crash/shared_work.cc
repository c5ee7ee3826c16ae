#include "shared_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/aligned_buffer.h"
#include "base/bytes.h"

namespace zenfs {
namespace {

using Kind = SharedNames::Kind;

constexpr std::size_t kLogBytesMax = 60000;

// Names of both shapes. The directory is created and removed during the run.
constexpr const char* kSharedNames[] = {"0.sst", "1.log", "2.sst", "d/3.sst", "d/4.log"};
constexpr const char kDirectory[] = "d";

std::string AnyName(Random& random) { return kSharedNames[random.Below(std::size(kSharedNames))]; }

std::string Bytes(Random& random, std::size_t count) {
  std::string bytes(count, '\0');
  random.Fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

// Possible results for names that other threads have changed.
bool IsAnswer(Code code) {
  return code == Code::kNotFound || code == Code::kExists || code == Code::kNotEmpty;
}

}  // namespace

void SharedWork::DropHandles() {
  handle_.reset();
  left_open_.reset();
}

void SharedWork::Step(Random& random) {
  if (failed()) return;
  switch (random.Below(16)) {
    case 0:
    case 1:
    case 2: return Replace(random);
    case 3:
    case 4: return CreateOver(random);
    case 5:
    case 6:
    case 7: return ChangeName(random);
    case 8:
    case 9: return Look(random);
    case 10: return List();
    case 11: return ReadLog();
    default: return Log(random);
  }
}

bool SharedWork::Answered(SharedNames::CallNumber call, const Status& status, const std::string& what) {
  if (IsDead()) return Ok({}, what);
  if (!status.ok() && !IsAnswer(status.error().code())) return Ok(status, what);
  SharedNames::Answer answer;
  if (!status.ok()) answer.error = status.error().code();
  Note(answer.error ? fmt::format("{}: {}", what, CodeName(*answer.error)) : what);
  return Right(names_.End(call, answer), what);
}

// True if the file was created; its name may refer to another file by then.
bool SharedWork::WriteFile(const std::string& name, Random& random) {
  const std::string path = Path(name);
  std::string content = Bytes(random, 16 + random.Below(random.OneIn(3) ? 9000 : 300));
  content.replace(0, 16, fmt::format("{:016x}", random.Next()));
  const SharedNames::FileNumber file = names_.NewFile(content, ShapeForName(name));
  const SharedNames::CallNumber create = names_.Begin({.kind = Kind::kCreate, .from = name, .file = file});
  auto made = volume_->Create(path);
  if (!Answered(create, StatusOf(made), "create " + path) || !made) return false;
  if (Fill(**made, file, content, path)) return true;
  left_open_ = *std::move(made);
  return false;
}

bool SharedWork::Fill(FileHandle& file, SharedNames::FileNumber number, const std::string& content,
                      const std::string& path) {
  AlignedBuffer memory(content.size());
  std::ranges::copy(AsBytes(content), memory.Whole().begin());
  if (!Ok(file.Append(memory.Whole().first(content.size())), "write " + path)) return false;
  names_.Appended(number);
  const SharedNames::CallNumber sync = names_.Begin({.kind = Kind::kSync, .file = number});
  if (!Answered(sync, Repeated(file.shape(), [&] { return file.Sync(); }), "sync " + path)) return false;
  return Ok(file.Close(), "close " + path);
}

bool SharedWork::Change(Kind kind, const std::string& from, const std::string& to) {
  const auto carry = [&]() -> Status {
    switch (kind) {
      case Kind::kUnlink: return volume_->Unlink(Path(from));
      case Kind::kLink: return volume_->Link(Path(from), Path(to));
      case Kind::kRename: return volume_->Rename(Path(from), Path(to));
      case Kind::kMakeDirectory: return volume_->MakeDirectory(Path(from), false);
      default: return volume_->RemoveDirectory(Path(from));
    }
  };
  constexpr const char* kVerbs[] = {"", "", "unlink", "link", "rename", "mkdir", "rmdir"};
  const SharedNames::CallNumber call = names_.Begin({.kind = kind, .from = from, .to = to});
  return Answered(
      call, carry(),
      fmt::format("{} {}{}{}", kVerbs[static_cast<int>(kind)], from, to.empty() ? "" : " to ", to));
}

void SharedWork::Replace(Random& random) {
  const std::string name = fmt::format("new-{}", number_);
  if (WriteFile(name, random)) Change(Kind::kRename, name, AnyName(random));
}

void SharedWork::CreateOver(Random& random) { WriteFile(AnyName(random), random); }

void SharedWork::ChangeName(Random& random) {
  const std::string from = AnyName(random);
  switch (random.Below(6)) {
    case 0: return static_cast<void>(Change(Kind::kUnlink, from));
    case 1: return static_cast<void>(Change(Kind::kLink, from, AnyName(random)));
    case 2:
    case 3: return static_cast<void>(Change(Kind::kRename, from, AnyName(random)));
    case 4: return static_cast<void>(Change(Kind::kMakeDirectory, kDirectory));
    default: return static_cast<void>(Change(Kind::kRemoveDirectory, kDirectory));
  }
}

void SharedWork::Look(Random& random) {
  const std::string name = AnyName(random);
  const std::string what = "look at " + name;
  const SharedNames::CallNumber call = names_.Begin({.kind = Kind::kLook, .from = name});
  const auto content = ReadWhole(*volume_, Path(name));
  if (IsDead()) return static_cast<void>(Ok({}, what));
  if (!content && !IsAnswer(content.error().code()))
    return static_cast<void>(OkToRead(StatusOf(content), what));
  SharedNames::Answer answer;
  if (content) answer.content = *content;
  if (!content) answer.error = content.error().code();
  Note(fmt::format("{}: {}", what, content ? content->substr(0, 16) : CodeName(*answer.error)));
  Right(names_.End(call, answer), what);
}

void SharedWork::List() {
  const SharedNames::CallNumber call = names_.Begin({.kind = Kind::kList});
  const auto entries = volume_->List(names_.root());
  if (!OkToRead(StatusOf(entries), "list")) return;
  SharedNames::Answer answer;
  for (const DirectoryEntry& entry : *entries) answer.names.insert(entry.name);
  Right(names_.End(call, answer), "list");
}

void SharedWork::Log(Random& random) {
  if (handle_ == nullptr) {
    auto opened = volume_->OpenForAppend(log_.path(), false);
    if (!Ok(StatusOf(opened), "open the log")) return;
    handle_ = *std::move(opened);
  }
  if (log_.size() < kLogBytesMax) {
    const SharedLog::Record record =
        log_.BeginAppend(Bytes(random, random.Below(random.OneIn(8) ? 6000 : 200)));
    const std::string bytes = log_.BytesOf(record);
    if (!Ok(handle_->Append(AsBytes(bytes)), fmt::format("append record {}", record))) return;
    log_.Appended(record);
  }
  const SharedLog::Time begin = log_.Begin();
  switch (random.Below(6)) {
    case 0:
    case 1:
      if (Ok(Repeated(handle_->shape(), [&] { return handle_->Sync(); }), "sync the log")) log_.Synced(begin);
      return;
    case 2:
    case 3:
      if (Ok(Repeated(handle_->shape(), [&] { return handle_->Flush(); }), "flush the log"))
        log_.Flushed(begin);
      return;
    case 4:
      if (!Ok(handle_->Close(), "close the log")) return;
      log_.Flushed(begin);
      return handle_.reset();
    default: return;
  }
}

void SharedWork::ReadLog() {
  const SharedLog::Time begin = log_.Begin();
  const auto content = ReadWhole(*volume_, log_.path());
  if (!OkToRead(StatusOf(content), "read the log")) return;
  Right(log_.WhyNotRead(*content, begin), "read the log");
}

}  // namespace zenfs
