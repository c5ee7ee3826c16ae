#include "backup/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "backup/record_text.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

using OrderedJson = nlohmann::ordered_json;
// For reading: an ordered one compares each key of an object with all before it.
using Json = nlohmann::json;

constexpr std::string_view kHeaderType = "zenfs-backup";

// Of a missing file, whose path may be longer than a line: only readers of the text need it.
constexpr std::size_t kMaxMissingPath = 50'000;

// No version writes a tenth of them.
constexpr std::size_t kMaxMembers = 100;

std::string CutPathText(std::string text) {
  if (text.size() <= kMaxMissingPath) return text;
  const std::size_t percent = text.rfind('%', kMaxMissingPath - 1);
  const bool cuts_code = percent != std::string::npos && percent + 3 > kMaxMissingPath;
  text.resize(cuts_code ? percent : kMaxMissingPath);
  return text;
}

std::string Line(const OrderedJson& json) { return json.dump() + "\n"; }

OrderedJson HeaderJson(const ManifestHeader& header, bool some_missing) {
  return {{"type", kHeaderType},
          {"version", some_missing ? kManifestVersion : 1},
          {"backup", header.backup.ToString()},
          {"volume", header.volume.ToString()},
          {"path", EncodePathText(header.path)},
          {"started", header.started_seconds}};
}

// The value of a member; nothing if it is missing or of another type.
template <typename T>
std::optional<T> Get(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    return it->is_string() ? std::optional<T>(it->template get<T>()) : std::nullopt;
  } else {
    return it->is_number_unsigned() ? std::optional<T>(it->template get<T>()) : std::nullopt;
  }
}

std::unexpected<Error> Malformed() { return Fail(Code::kCorruption, "a field is missing or malformed"); }

std::optional<std::string> GetPath(const Json& json) {
  const auto text = Get<std::string>(json, "path");
  return text ? DecodePathText(*text) : std::nullopt;
}

// A relative path that does not lead out of its directory, and that a volume and the host can have.
Result<std::string> GetInnerPath(const Json& json) {
  auto path = GetPath(json);
  if (!path || !IsInnerPath(*path)) return Malformed();
  if (const Status fits = CheckPathLimits(*path); !fits.ok())
    return Fail(Code::kCorruption, fits.error().text());
  return *std::move(path);
}

class ManifestReader {
 public:
  explicit ManifestReader(PathTree& paths) : paths_(paths) {}

  Result<Manifest> Read(LineReader& lines);

 private:
  Status TakeLine(std::string_view line, bool first);
  Status TakeHeader(const Json& json);
  Status TakeDirectory(const Json& json);
  Status TakeFile(const Json& json);
  bool TakeMissing(const Json& json);
  bool TakeEnd(const Json& json);
  Result<PathNode> TakeInnerPath(const Json& json);
  bool EnterDirectory(const std::string& path);

  PathTree& paths_;
  Manifest manifest_;
  std::string directory_;     // of the last path: most lines have the directory of the line before them
  PathNode node_ = kTopNode;  // its node
};

Result<Manifest> ManifestReader::Read(LineReader& lines) {
  bool has_header = false;
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(const auto line, lines.Next());
    if (!line || !line->ended) break;  // cut short by a crash
    if (const Status taken = TakeLine(line->text, !has_header); !taken.ok()) {
      return Fail(taken.error().With(fmt::format("line {}", lines.number())));
    }
    has_header = true;
  }
  if (!has_header) return Fail(Code::kCorruption, "it is empty");
  return std::move(manifest_);
}

Status ManifestReader::TakeLine(std::string_view line, bool first) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return Fail(Code::kCorruption, "it is not a JSON object");
  if (json.size() > kMaxMembers) return Fail(Code::kCorruption, "it has too many members");
  if (first) return TakeHeader(json);
  if (manifest_.complete) return Fail(Code::kCorruption, "it is after the end");
  const std::string type = Get<std::string>(json, "type").value_or("");
  if (type == "directory") return TakeDirectory(json);
  if (type == "file") return TakeFile(json);
  if (type == "missing") return TakeMissing(json) ? Status() : Malformed();
  if (type != "end") return Fail(Code::kCorruption, fmt::format("its type '{}' is not known", type));
  if (!TakeEnd(json)) return Fail(Code::kCorruption, "its counts do not match the lines before it");
  return {};
}

Status ManifestReader::TakeHeader(const Json& json) {
  const auto version = Get<std::uint64_t>(json, "version");
  if (Get<std::string>(json, "type") != kHeaderType || !version) {
    return Fail(Code::kCorruption, "it does not begin like a backup's manifest");
  }
  if (*version > kManifestVersion) {
    return Fail(Code::kNotSupported,
                fmt::format("it is of version {}; this program reads up to {}", *version, kManifestVersion));
  }
  const auto backup = Uuid::Parse(Get<std::string>(json, "backup").value_or(""));
  const auto volume = Uuid::Parse(Get<std::string>(json, "volume").value_or(""));
  const auto path = GetPath(json);
  if (!backup || !volume || !path) return Malformed();
  manifest_.header = {*backup, *volume, *path, Get<std::uint64_t>(json, "started").value_or(0)};
  return {};
}

// Sets directory_ and node_ to the directory that `path` is in. Returns false if no line has it.
bool ManifestReader::EnterDirectory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view directory(path.data(), slash == std::string::npos ? 0 : slash);
  if (directory == directory_) return true;
  const auto node = paths_.Find(directory);
  const bool has_line = node && (manifest_.directories.contains(*node) || manifest_.missing.contains(*node));
  if (!directory.empty() && !has_line) return false;
  directory_ = directory;
  node_ = *node;
  return true;
}

std::string_view LastName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// If a path could bring its directories with it, one line could add a thousand names.
Result<PathNode> ManifestReader::TakeInnerPath(const Json& json) {
  ZENFS_ASSIGN_OR_RETURN(const std::string path, GetInnerPath(json));
  // Below a directory that is only missing there is nothing to restore.
  if (!EnterDirectory(path) || (node_ != kTopNode && !manifest_.directories.contains(node_))) {
    return Fail(Code::kCorruption, "no line before it has its directory");
  }
  return paths_.Add(node_, LastName(path));
}

Status ManifestReader::TakeDirectory(const Json& json) {
  ZENFS_ASSIGN_OR_RETURN(const PathNode node, TakeInnerPath(json));
  manifest_.directories.insert(node);
  return {};
}

Status ManifestReader::TakeFile(const Json& json) {
  ZENFS_ASSIGN_OR_RETURN(const PathNode node, TakeInnerPath(json));
  const auto id = Get<std::uint64_t>(json, "id");
  const auto size = Get<std::uint64_t>(json, "size");
  const auto mtime = Get<std::uint64_t>(json, "mtime");
  const auto crc_text = Get<std::string>(json, "crc32c");
  const auto lifetime = Get<std::uint64_t>(json, "lifetime");
  if (!id || !size || !mtime || !crc_text || !lifetime || *lifetime >= kLifetimeCount) return Malformed();
  std::uint32_t crc = 0;
  const char* const end = crc_text->data() + crc_text->size();
  const auto parsed = std::from_chars(crc_text->data(), end, crc, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return Malformed();
  manifest_.files[node] = {.id = *id,
                           .size = *size,
                           .mtime_seconds = *mtime,
                           .crc32c = crc,
                           .lifetime = static_cast<Lifetime>(*lifetime),
                           .layout = Get<std::uint64_t>(json, "layout").value_or(0),
                           .copied_seconds = Get<std::uint64_t>(json, "copied").value_or(0)};
  return {};
}

// Its path may be one that no volume takes, and below directories that are missing too. It is only shown.
bool ManifestReader::TakeMissing(const Json& json) {
  const auto path = GetPath(json);
  const auto reason = Get<std::string>(json, "reason");
  if (!path || !reason) return false;
  const PathNode node =
      EnterDirectory(*path) ? paths_.Add(node_, LastName(*path)) : paths_.Add(kTopNode, *path);
  manifest_.missing[node] = *reason;
  return true;
}

bool ManifestReader::TakeEnd(const Json& json) {
  manifest_.complete = true;
  return Get<std::uint64_t>(json, "files") == manifest_.files.size() &&
         Get<std::uint64_t>(json, "directories") == manifest_.directories.size() &&
         Get<std::uint64_t>(json, "bytes") == manifest_.bytes();
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [path, file] : files) sum += file.size;
  return sum;
}

Result<Manifest> ParseManifest(std::string_view text, PathTree& paths) {
  LineReader lines = LineReader::Of(text);
  return ManifestReader(paths).Read(lines);
}

std::string ManifestLine(const std::string& path, const ManifestFile& file) {
  OrderedJson json = {{"type", "file"},
                      {"path", EncodePathText(path)},
                      {"size", file.size},
                      {"mtime", file.mtime_seconds},
                      {"crc32c", fmt::format("{:08x}", file.crc32c)},
                      {"lifetime", static_cast<int>(file.lifetime)},
                      {"id", file.id}};
  if (file.layout != 0) {
    json["layout"] = file.layout;
    json["copied"] = file.copied_seconds;
  }
  return Line(json);
}

Status WriteManifest(const Manifest& manifest, const PathTree& paths, const TextSink& sink) {
  ZENFS_RETURN_IF_ERROR(sink(Line(HeaderJson(manifest.header, !manifest.missing.empty()))));
  for (const PathNode node : manifest.directories) {
    ZENFS_RETURN_IF_ERROR(sink(Line({{"type", "directory"}, {"path", EncodePathText(paths.PathOf(node))}})));
  }
  for (const auto& [node, file] : manifest.files) {
    ZENFS_RETURN_IF_ERROR(sink(ManifestLine(paths.PathOf(node), file)));
  }
  for (const auto& [node, reason] : manifest.missing) {
    const std::string path = CutPathText(EncodePathText(paths.PathOf(node)));
    ZENFS_RETURN_IF_ERROR(sink(Line({{"type", "missing"}, {"path", path}, {"reason", reason}})));
  }
  if (!manifest.complete) return {};
  return sink(Line({{"type", "end"},
                    {"files", manifest.files.size()},
                    {"directories", manifest.directories.size()},
                    {"bytes", manifest.bytes()}}));
}

std::string ManifestText(const Manifest& manifest, const PathTree& paths) {
  std::string text;
  IgnoreError(WriteManifest(manifest, paths, [&](std::string_view lines) -> Status {
    text += lines;
    return {};
  }));
  return text;
}

Result<Manifest> ReadManifest(const HostDirectory& directory, PathTree& paths) {
  const std::string name(kManifestFile);
  const std::string path = directory.PathOf(name);
  const auto file = directory.OpenForRead(name);
  if (!file && file.error().code() == Code::kNotFound) {
    return Fail(Code::kNotFound, fmt::format("{} is not there", path));
  }
  if (!file) return Fail(file.error());
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, file->Stat());
  if (stat.size > kMaxManifestBytes) {
    return Fail(Code::kCorruption, fmt::format("{} has {} bytes; no backup's record has more than {}", path,
                                               stat.size, kMaxManifestBytes));
  }
  LineReader lines([&](std::uint64_t offset, ByteSpan into) { return file->Read(offset, into); });
  auto manifest = ManifestReader(paths).Read(lines);
  if (!manifest) return Fail(manifest.error().With(path));
  return manifest;
}

// --- lifetimes ---

std::string LifetimeHintLine(std::string_view path, Lifetime lifetime) {
  if (path.find('\n') != std::string_view::npos) return "";
  return fmt::format("{}\t{}\n", path, static_cast<int>(lifetime));
}

LifetimeHints::LifetimeHints(const PathTree& paths, const std::vector<PathNode>& files, std::string into)
    : paths_(paths), into_(std::move(into)) {
  for (const PathNode file : files) by_name_.try_emplace(paths.NameOf(file));
}

void LifetimeHints::TakeLine(std::string_view line) {
  const std::size_t tab = line.rfind('\t');
  if (tab == std::string_view::npos) return;
  const std::string_view number = line.substr(tab + 1);
  int value = -1;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) return;
  if (value < 0 || value >= kLifetimeCount) return;
  Add(NormalizePath(line.substr(0, tab)), static_cast<Lifetime>(value));
}

void LifetimeHints::Add(std::string_view path, Lifetime lifetime) {
  const auto name = by_name_.find(path.substr(path.rfind('/') + 1));
  if (name == by_name_.end()) return;
  OfName& of_name = name->second;
  const bool differs = of_name.known && of_name.hint != lifetime;
  of_name = {.known = true, .hint = differs ? std::nullopt : std::optional(lifetime)};
  if (const auto node = paths_.Find(path)) by_path_[*node] = lifetime;
  std::string_view below = path;
  if (!into_.empty()) {
    if (!path.starts_with(into_) || path.size() <= into_.size() || path[into_.size()] != '/') return;
    below = path.substr(into_.size() + 1);
  }
  if (const auto node = paths_.Find(below)) by_volume_path_[*node] = lifetime;
}

std::optional<Lifetime> LifetimeHints::Find(PathNode file) const {
  if (const auto it = by_volume_path_.find(file); it != by_volume_path_.end()) return it->second;
  if (const auto it = by_path_.find(file); it != by_path_.end()) return it->second;
  const auto it = by_name_.find(paths_.NameOf(file));
  return it == by_name_.end() ? std::nullopt : it->second.hint;
}

}  // namespace zenfs
