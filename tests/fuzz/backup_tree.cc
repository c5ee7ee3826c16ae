#include "backup_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

BackupTree::BackupTree(std::vector<std::string> names)
    : names_(std::move(names)), path_(place_.path() + "/backup") {
  Require(::mkdir(place_.path().c_str(), 0700) == 0, "a directory on a tmpfs can be made");
  const std::string outside = place_.path() + "/outside";
  for (const std::string& name : names_) {
    fs::create_directories(fs::path(outside + "/" + name).parent_path());
    WriteNew(outside + "/" + name, OutsideText(name));
  }
  for (const char* const name : {"0", "1", "manifest"}) WriteNew(outside + "/" + name, name);
  outside_ = Outside();
  Clear();
}

BackupTree::~BackupTree() {
  std::error_code ignored;
  fs::remove_all(place_.path(), ignored);
}

void BackupTree::Clear() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  Require(::mkdir(path_.c_str(), 0700) == 0, "the directory can be made anew");
}

void BackupTree::Put(const std::string& relative, std::string_view text) {
  const std::string path = path_ + "/" + relative;
  std::error_code ignored;
  if (relative.find('/') != std::string::npos) fs::create_directories(fs::path(path).parent_path(), ignored);
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
  fs::create_directories(fs::path(path).parent_path(), error);
  const bool makes = kind != TreeEntry::kRename && kind != TreeEntry::kMode && kind != TreeEntry::kTruncate;
  if (makes) fs::remove_all(path, error);
  const std::string outside = place_.path() + "/outside";
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

bool BackupTree::Read(const std::string& relative, std::string& text) const {
  std::error_code error;
  const fs::path path = fs::path(path_) / relative;
  if (!IsBelowDirectories(relative) || !fs::is_regular_file(fs::symlink_status(path, error))) return false;
  text = ReadRegular(path.string());
  return true;
}

std::string BackupTree::Outside() const {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(place_.path())) {
    const std::string path = entry.path().string();
    if (path.starts_with(path_)) continue;
    struct stat status{};
    Require(::lstat(path.c_str(), &status) == 0, "what is outside is there");
    all += fmt::format("{} {:o} {} {}\n", path, status.st_mode, status.st_uid,
                       S_ISREG(status.st_mode) ? ReadRegular(path) : "");
  }
  return all;
}

void BackupTree::RequireOutsideIsUntouched() { Require(Outside() == outside_, "nothing outside changes"); }

}  // namespace zenfs
