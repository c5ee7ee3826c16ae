#include "shared_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace zenfs {
namespace {

constexpr std::size_t kHeadBytes = 16;  // of a file's content, unique for each file

std::string DirectoryOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

SharedNames::SharedNames(std::string root) : root_(std::move(root)), files_(1), histories_{History()} {}

SharedNames::FileNumber SharedNames::History::Live(const std::string& path) const {
  if (const auto it = pending.find(path); it != pending.end()) return it->second;
  const auto it = durable.find(path);
  return it == durable.end() ? 0 : it->second;
}

void SharedNames::History::Promote(FileNumber file) {
  for (const auto& [path, each] : pending) {
    if (each != file) continue;
    durable[path] = file;
    pending.erase(path);
    return;
  }
}

SharedNames::FileNumber SharedNames::NewFile(const std::string& content, FileShape shape) {
  MutexLock lock(mutex_);
  files_.push_back({.content = content, .shape = shape});
  return static_cast<FileNumber>(files_.size() - 1);
}

void SharedNames::Appended(FileNumber file) {
  MutexLock lock(mutex_);
  files_[file].appended = ++clock_;
}

SharedNames::CallNumber SharedNames::Begin(Call call) {
  MutexLock lock(mutex_);
  under_way_.emplace(++clock_, std::move(call));
  return clock_;
}

SharedNames::Outcome SharedNames::Rename(const Call& call, History& history) {
  const FileNumber file = history.Live(call.from);
  const FileNumber there = history.Live(call.to);
  if (file == 0) return {.error = Code::kNotFound};
  if (there == kDirectory) return {.error = Code::kIsADirectory};
  history.Promote(file);
  if (there == file) return {};  // two names of one file; both stay
  history.durable.erase(call.from);
  history.pending.erase(call.from);
  history.pending.erase(call.to);
  history.durable[call.to] = file;
  return {};
}

SharedNames::Outcome SharedNames::Carry(const Call& call, History& history) {
  const auto lacks_parent = [&](const std::string& path) {
    const std::string parent = DirectoryOf(path);
    return !parent.empty() && history.Live(parent) != kDirectory;
  };
  if (lacks_parent(call.from) || lacks_parent(call.to)) return {.error = Code::kNotFound};
  const FileNumber there = history.Live(call.from);
  switch (call.kind) {
    case Kind::kCreate: history.pending[call.from] = call.file; return {};
    case Kind::kSync: history.Promote(call.file); return {};
    case Kind::kUnlink:
      if (there == 0) return {.error = Code::kNotFound};
      history.durable.erase(call.from);
      history.pending.erase(call.from);
      return {};
    case Kind::kLink:
      if (there == 0) return {.error = Code::kNotFound};
      if (history.Live(call.to) != 0) return {.error = Code::kExists};
      history.Promote(there);
      history.durable[call.to] = there;
      return {};
    case Kind::kRename: return Rename(call, history);
    case Kind::kMakeDirectory:
      if (there != 0) return {.error = Code::kExists};
      history.durable[call.from] = kDirectory;
      return {};
    case Kind::kRemoveDirectory:
      if (there == 0) return {.error = Code::kNotFound};
      for (const Tree* tree : {&history.durable, &history.pending}) {
        for (const auto& [path, file] : *tree) {
          if (DirectoryOf(path) == call.from) return {.error = Code::kNotEmpty};
        }
      }
      history.durable.erase(call.from);
      return {};
    case Kind::kLook:
      if (there == 0) return {.error = Code::kNotFound};
      return {.file = there};
    case Kind::kList: {
      Outcome outcome;
      for (const Tree* tree : {&history.durable, &history.pending}) {
        for (const auto& [path, file] : *tree) {
          if (DirectoryOf(path).empty()) outcome.names.insert(path);
        }
      }
      return outcome;
    }
  }
  return {};
}

SharedNames::Histories SharedNames::Expanded() const {
  Histories expanded = histories_;
  std::vector<History> left(histories_.begin(), histories_.end());
  while (!left.empty()) {
    const History history = std::move(left.back());
    left.pop_back();
    for (const auto& [number, call] : under_way_) {
      if (history.done.contains(number)) continue;
      History next = history;
      next.done[number] = Carry(call, next);
      if (expanded.insert(next).second) left.push_back(std::move(next));
    }
  }
  return expanded;
}

// A look returns everything that was appended before it began. It may see the front of an append to a framed file: one that
// does not fit the buffer goes to the device in parts.
bool SharedNames::Fits(const Outcome& outcome, const Answer& answer, CallNumber call) const {
  if (outcome.error != answer.error) return false;
  if (outcome.error) return true;
  if (outcome.names != answer.names) return false;
  if (outcome.file == 0) return true;
  const File& file = files_[outcome.file];
  if (file.appended < call) return answer.content == file.content;
  if (file.shape == FileShape::kFramed) return file.content.starts_with(answer.content);
  return answer.content.empty() || answer.content == file.content;
}

std::string SharedNames::End(CallNumber number, const Answer& answer) {
  MutexLock lock(mutex_);
  Histories left;
  for (History history : Expanded()) {
    const auto done = history.done.find(number);
    if (done == history.done.end() || !Fits(done->second, answer, number)) continue;
    history.done.erase(done);
    left.insert(std::move(history));
  }
  if (left.empty()) {
    std::string why =
        fmt::format("no order of the calls explains this answer ({}{} bytes); before it there was",
                    answer.error ? std::string(CodeName(*answer.error)) + ", " : "", answer.content.size());
    for (const History& history : histories_)
      why += " [" + Describe(history.durable) + "; not durable: " + Describe(history.pending) + "]";
    return why;
  }
  const auto call = under_way_.find(number);
  if (call->second.kind == Kind::kSync && !answer.error) files_[call->second.file].synced = true;
  under_way_.erase(call);
  histories_ = std::move(left);
  return {};
}

std::string SharedNames::Describe(const Tree& tree) const {
  std::string text;
  for (const auto& [path, file] : tree) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", path,
                        file == kDirectory ? "directory" : files_[file].content.substr(0, kHeadBytes));
  }
  return text;
}

// A file that was never synced has the content from the time when it became durable.
std::string SharedNames::WhyNotFile(const File& file, const FoundEntry& found) const {
  if (found.is_directory || found.shape != file.shape) return "is of another kind";
  const bool is_whole = found.content == file.content;
  const bool may_be_cut =
      file.shape == FileShape::kFramed ? file.content.starts_with(found.content) : found.content.empty();
  if (is_whole || (!file.synced && may_be_cut)) return {};
  return DescribeMismatch(file.content, found.content);
}

std::string SharedNames::WhyNotTree(const Tree& tree, const FoundTree& found) const {
  std::map<FileNumber, std::uint64_t> ids;
  std::set<std::uint64_t> seen;
  for (const auto& [name, file] : tree) {
    const std::string path = root_ + "/" + name;
    const auto it = found.find(path);
    if (it == found.end()) return path + " is missing";
    if (file == kDirectory) {
      if (!it->second.is_directory) return path + " is no directory";
      continue;
    }
    if (const std::string why = WhyNotFile(files_[file], it->second); !why.empty()) return path + " " + why;
    const auto [known, is_new] = ids.emplace(file, it->second.id);
    if (known->second != it->second.id || (is_new && !seen.insert(it->second.id).second))
      return path + " is linked to another file";
  }
  for (const auto& [path, entry] : found) {
    if (path != root_ && !tree.contains(path.substr(root_.size() + 1))) return path + " should not be there";
  }
  return {};
}

std::string SharedNames::WhyNot(const FoundTree& found, CrashKind) const {
  MutexLock lock(mutex_);
  std::set<Tree> trees;
  for (const History& history : Expanded()) trees.insert(history.durable);
  std::string why;
  for (const Tree& tree : trees) {
    const std::string reason = WhyNotTree(tree, found);
    if (reason.empty()) return {};
    why += fmt::format("{}{} (with {})", why.empty() ? "" : "; or ", reason, Describe(tree));
  }
  return why;
}

void SharedNames::Settle(const FoundTree& found) {
  MutexLock lock(mutex_);
  History history;
  std::map<std::uint64_t, FileNumber> files;
  under_way_.clear();
  for (const auto& [path, entry] : found) {
    if (path == root_) continue;
    FileNumber& here = history.durable[path.substr(root_.size() + 1)];
    if (entry.is_directory) {
      here = kDirectory;
      continue;
    }
    FileNumber& file = files[entry.id];
    if (file == 0) {
      file = static_cast<FileNumber>(files_.size());
      files_.push_back({.content = entry.content, .shape = entry.shape, .appended = 0, .synced = true});
    }
    here = file;
  }
  histories_ = {std::move(history)};
}

}  // namespace zenfs
