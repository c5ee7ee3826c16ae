#include "rocksdb_plugin/directory_marker.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <span>
#include <string_view>

#include "model/edit.h"

namespace zenfs {

namespace {

constexpr std::string_view kFirstLine = "zenfs-directory 2\n";
constexpr std::size_t kBytesMax = 3 * kMaxPathBytes + 512;

// Takes "<key> <value>\n" from the front of `text`.
std::optional<std::string_view> TakeLine(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(key) || text.substr(key.size(), 1) != " ") return {};
  const std::string_view value = text.substr(key.size() + 1, end - key.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

std::optional<std::uint64_t> NumberOf(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// It becomes a name in the volume.
bool IsNonce(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string DirectoryMarker::ToText() const {
  return fmt::format("{}volume {}\nid {}\nnonce {}\ninode {}\nregistry {}\nhost {}\npath {}\n", kFirstLine,
                     volume.ToString(), id.value, nonce, inode, registry, host, path);
}

Result<DirectoryMarker> DirectoryMarker::Read(const HostDirectory& directory, const std::string& name) {
  ZENFS_ASSIGN_OR_RETURN(const HostFile file, directory.OpenForRead(name));
  std::string bytes(kBytesMax, '\0');
  ZENFS_ASSIGN_OR_RETURN(const std::size_t size, file.Read(0, std::as_writable_bytes(std::span(bytes))));
  std::string_view text(bytes.data(), size);
  const auto damaged = [&] {
    return Fail(Error(Code::kCorruption, fmt::format("{}: not a marker of ZenFS", file.path()))
                    .Advise("an empty one binds the directory to the volume's of the same path"));
  };
  if (!text.starts_with(kFirstLine)) return damaged();
  text.remove_prefix(kFirstLine.size());
  const auto volume = TakeLine(text, "volume");
  const auto id = TakeLine(text, "id");
  const auto nonce = TakeLine(text, "nonce");
  const auto inode = TakeLine(text, "inode");
  const auto registry = TakeLine(text, "registry");
  const auto host = TakeLine(text, "host");
  const auto path = TakeLine(text, "path");
  if (!volume || !id || !nonce || !inode || !registry || !host || !path || !text.empty()) return damaged();
  const std::optional<Uuid> uuid = Uuid::Parse(*volume);
  const auto id_value = NumberOf(*id);
  const auto inode_value = NumberOf(*inode);
  if (!uuid || !id_value || !inode_value || !IsNonce(*nonce)) return damaged();
  return DirectoryMarker{.volume = *uuid,
                         .id = FileId(*id_value),
                         .nonce = std::string(*nonce),
                         .inode = *inode_value,
                         .registry = std::string(*registry),
                         .host = std::string(*host),
                         .path = std::string(*path)};
}

}  // namespace zenfs
