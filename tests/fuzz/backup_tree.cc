#include "backup_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace zenfs {
namespace {

namespace fs = std::filesystem;

// Names in addition to those of the target.
const std::vector<std::string>& HostileNames() {
  static const std::vector<std::string> names{"\x1b[2J\x1b]0;owned\x07",
                                              "line\nbreak",
                                              "\xc2\x9b"
                                              "31m",
                                              "\xff\xfe",
                                              "\xe2\x80\xae"
                                              "gpj.exe",
                                              "...",
                                              "%2e%2e%2foutside",
                                              "a\\b\"c",
                                              " ",
                                              std::string(255, 'x'),
                                              "db/deep/deeper/deepest"};
  return names;
}

void WriteNew(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  static_cast<void>(::write(fd, text.data(), text.size()) == 0);
  ::close(fd);
}

std::string ReadRegular(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return text;
  text.resize(std::size_t{16} << 10);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(fd, text.data(), text.size()), 0)));
  ::close(fd);
  return text;
}

}  // namespace

BackupTree::BackupTree(std::string place, std::vector<std::string> names,
                       std::map<std::string, std::string> files)
    : place_(std::move(place)),
      path_(place_ + "/backup"),
      names_(std::move(names)),
      files_(std::move(files)) {
  const std::string outside = place_ + "/outside";
  for (const std::string& name : names_) {
    fs::create_directories(fs::path(outside + "/" + name).parent_path());
    WriteNew(outside + "/" + name, OutsideText(name));
  }
  for (const char* const name : {"0", "1", "manifest"}) WriteNew(outside + "/" + name, name);
  for (const auto& [path, text] : files_) {
    for (fs::path at = fs::path(path).parent_path(); !at.empty(); at = at.parent_path())
      directories_.insert(at.string());
  }
  Rebuild({""});
  outside_ = Outside();
  WatchOutside();
}

void BackupTree::WatchOutside() {
  outside_watch_.Add(place_, "");
  for (const auto& entry : fs::recursive_directory_iterator(place_ + "/outside"))
    outside_watch_.Add(entry.path().string(), entry.path().string());
}

void BackupTree::Reset() {
  Rebuild(watch_.Take().value_or(std::set<std::string>{""}));
  // Forget what was done here: it also changes the number of names of files outside.
  static_cast<void>(watch_.Take());
  static_cast<void>(outside_watch_.Take());
}

// Makes anew what has changed: these paths and all below; an empty path is the directory itself.
void BackupTree::Rebuild(const std::set<std::string>& changed) {
  std::error_code ignored;
  const bool all = changed.contains("");
  for (const std::string& path : changed) {
    const std::string whole = path.empty() ? path_ : path_ + "/" + path;
    if (::unlink(whole.c_str()) != 0 && errno == EISDIR) fs::remove_all(whole, ignored);
  }
  const auto is_changed = [&](const std::string& path) {
    if (all || changed.contains(path)) return true;
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
      if (changed.contains(path.substr(0, end))) return true;
    return false;
  };
  const auto make = [&](const std::string& path, const std::string& name) {
    Require(::mkdir(path.c_str(), 0700) == 0, "the directory can be made anew");
    watch_.Add(path, name);
  };
  if (all) make(path_, "");
  for (const std::string& path : directories_)
    if (is_changed(path)) make(path_ + "/" + path, path);
  for (const auto& [path, text] : files_)
    if (is_changed(path)) WriteNew(path_ + "/" + path, text);
}

void BackupTree::Put(const std::string& name, std::string_view text) {
  const std::string path = path_ + "/" + name;
  ::unlink(path.c_str());
  WriteNew(path, text);
}

std::string BackupTree::Name(std::uint8_t choice, ByteView bytes) const {
  const std::size_t known = names_.size() + HostileNames().size();
  const std::size_t number = choice % (known + 1);
  if (number < names_.size()) return names_[number];
  if (number < known) return HostileNames()[number - names_.size()];
  std::string own(AsText(bytes.first(std::min<std::size_t>(bytes.size(), 8))));
  std::erase_if(own, [](char c) { return c == '/' || c == '\0'; });
  return own.empty() || own == "." || own == ".." ? "own" : own;
}

// True if no earlier link leads the entry to the outside.
bool BackupTree::IsBelowDirectories(const std::string& relative) const {
  std::error_code error;
  for (fs::path at = fs::path(relative).parent_path(); !at.empty(); at = at.parent_path()) {
    const fs::file_type type = fs::symlink_status(fs::path(path_) / at, error).type();
    if (type != fs::file_type::not_found && type != fs::file_type::directory) return false;
  }
  return true;
}

// True for a regular file without a name outside.
bool BackupTree::IsOwnFile(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
}

void BackupTree::Carry(FuzzInput& input) {
  const auto kind =
      static_cast<TreeEntry>(input.Take<std::uint8_t>() % static_cast<unsigned>(TreeEntry::kCount));
  const auto choice = input.Take<std::uint8_t>();
  const auto what = input.Take<std::uint8_t>();
  const ByteView bytes = input.Bytes(input.Take<std::uint8_t>());
  std::string relative = Name(choice, bytes);
  // Sometimes the parent directory instead.
  if (what >= 192 && relative.find('/') != std::string::npos) relative.resize(relative.rfind('/'));
  if (!IsBelowDirectories(relative)) return;
  std::error_code error;
  const std::string path = path_ + "/" + relative;
  if (relative.find('/') != std::string::npos) fs::create_directories(fs::path(path).parent_path(), error);
  const bool makes = kind != TreeEntry::kRename && kind != TreeEntry::kMode && kind != TreeEntry::kTruncate;
  if (makes) fs::remove_all(path, error);
  const std::string outside = place_ + "/outside";
  switch (kind) {
    case TreeEntry::kFile: WriteNew(path, AsText(bytes)); return;
    case TreeEntry::kDirectory: ::mkdir(path.c_str(), 0700); return;
    case TreeEntry::kLink: {
      const std::string targets[] = {
          outside + "/" + relative,   outside,    "../outside/" + relative, ".", "..", relative,
          std::string(AsText(bytes)), "/dev/zero"};
      static_cast<void>(::symlink(targets[what % std::size(targets)].c_str(), path.c_str()) == 0);
      return;
    }
    case TreeEntry::kHardLink:
      static_cast<void>(::link((outside + "/" + names_[what % names_.size()]).c_str(), path.c_str()) == 0);
      return;
    case TreeEntry::kPipe: ::mkfifo(path.c_str(), 0600); return;
    case TreeEntry::kDevice: ::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, what % 2 == 0 ? 3 : 5)); return;
    case TreeEntry::kSocket: ::mknod(path.c_str(), S_IFSOCK | 0600, 0); return;
    case TreeEntry::kRename:
      if (const std::string to = Name(what, bytes); IsBelowDirectories(to))
        ::rename(path.c_str(), (path_ + "/" + to).c_str());
      return;
    case TreeEntry::kMode:
      if (IsOwnFile(path)) ::chmod(path.c_str(), what % 8 * 0111);
      return;
    case TreeEntry::kTruncate:
      if (IsOwnFile(path)) static_cast<void>(::truncate(path.c_str(), off_t{what} << (what % 10)) == 0);
      return;
    case TreeEntry::kRemove:
    case TreeEntry::kCount: return;
  }
}

bool BackupTree::IsFile(const std::string& relative) const {
  struct stat status{};
  return IsBelowDirectories(relative) && ::lstat((path_ + "/" + relative).c_str(), &status) == 0 &&
         S_ISREG(status.st_mode);
}

bool BackupTree::Read(const std::string& relative, std::string& text) const {
  if (!IsFile(relative)) return false;
  text = ReadRegular(path_ + "/" + relative);
  return true;
}

std::string BackupTree::Outside() const {
  std::string all;
  for (auto at = fs::recursive_directory_iterator(place_); at != fs::recursive_directory_iterator(); ++at) {
    const std::string path = at->path().string();
    if (path == path_) {
      at.disable_recursion_pending();
      continue;
    }
    struct stat status{};
    Require(::lstat(path.c_str(), &status) == 0, "what is outside is there");
    all += fmt::format("{} {:o} {} {}\n", path, status.st_mode, status.st_uid,
                       S_ISREG(status.st_mode) ? ReadRegular(path) : "");
  }
  return all;
}

void BackupTree::RequireOutsideIsUntouched() {
  const auto changed = outside_watch_.Take();
  if (changed && changed->empty()) return;
  Require(Outside() == outside_, "nothing outside changes");
}

}  // namespace zenfs
