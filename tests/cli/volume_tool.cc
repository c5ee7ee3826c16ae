// Puts an emulated device into a state that a test of the command wants to see. Reads one request a line from
// standard input, answers each with one line: "ok", "ok NUMBER" or "error CODE: text".
//
//   volume_tool mount PATH [FLUSH_DIR]
//                              mkdir P | write P BYTES SEED | verify P BYTES SEED | unlink P | link A B |
//   rename A B
//                              fill P BYTES    writes P0, P1, ... of BYTES each until there is no space;
//                              answers how many
//                              append P TIMES BYTES SEED    appends and flushes so often, and keeps the file open
//                              sync P | close P             of a file that append keeps open
//                              truncate P BYTES
//   volume_tool device PATH    write ZONE BYTES SEED
//                              deep DEPTH NAME [N]  adds a chain of directories, which paths may be too long to lead into, with N more files at its end
//                              files COUNT     of a fresh volume: /dir-N/N.sst, each of one block of zeros. Commits many at once,
//                                              because a sync of each would take minutes for a million
//                              damage NAMES EXTENTS    of a fresh volume: a file with NAMES long names, whose EXTENTS extents are
//                                              all at one unwritten place
//                              edits COUNT           a commit of COUNT small edits in the metadata log
//                              logs COUNT ZONES      of a fresh volume: /N.log, without bytes, and ZONES empty log zones
//                              older [AUX_PATH]      of an empty device: a small volume of the older ZenFS, as its writer left it when it died
//                              older-copy DIRECTORY  of an empty device: the same with the files of a database on the host
//                              older-files COUNT     of an empty device: the same with so many tables of one block
//                              claim COMMITS         a frame that claims COMMITS commits, and has none
//
// The device is held until standard input ends, so that a test can see what a second writer is told.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "discovery/volume_device.h"
#include "format/edit_codec.h"
#include "format/metalog_payload.h"
#include "format/older_format.h"
#include "metalog/generation_writer.h"
#include "metalog/metalog.h"
#include "metalog/probe.h"
#include "metalog/replay.h"
#include "testing/deep_tree.h"
#include "testing/older_writer.h"
#include "volume/volume.h"

namespace zenfs {
namespace {

std::vector<std::byte> Pattern(std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::byte& byte : data) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return data;
}

Status WriteFile(Volume& volume, const std::string& path, std::uint64_t bytes, std::uint64_t seed) {
  const auto data = Pattern(bytes, seed);
  ZENFS_ASSIGN_OR_RETURN(const auto file, volume.Create(path, Lifetime::kMedium));
  ZENFS_RETURN_IF_ERROR(file->Append(data));
  ZENFS_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

Status VerifyFile(Volume& volume, const std::string& path, std::uint64_t bytes, std::uint64_t seed) {
  const auto expected = Pattern(bytes, seed);
  ZENFS_ASSIGN_OR_RETURN(const auto file, volume.OpenForRead(path));
  std::vector<std::byte> data(bytes + 1);
  ZENFS_ASSIGN_OR_RETURN(const std::size_t got, file->Read(0, data));
  data.resize(got);
  if (data != expected) return Fail(Code::kCorruption, path + " is not what was written");
  return {};
}

Result<std::uint64_t> Fill(Volume& volume, const std::string& prefix, std::uint64_t bytes) {
  for (std::uint64_t count = 0;; ++count) {
    const std::string path = prefix + std::to_string(count);
    const Status written = WriteFile(volume, path, bytes, count);
    if (written.ok()) continue;
    if (written.error().code() != Code::kNoSpace) return Fail(written.error());
    if (const Status gone = volume.Unlink(path); !gone.ok() && gone.error().code() != Code::kNotFound) {
      return Fail(gone.error());
    }
    return count;
  }
}

using OpenFiles = std::map<std::string, std::unique_ptr<FileHandle>>;

Status Append(Volume& volume, OpenFiles& open, const std::string& path, std::istream& words) {
  std::uint64_t times = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
  if (!(words >> times >> bytes >> seed)) return Fail(Code::kInvalidArgument, "append P TIMES BYTES SEED");
  std::unique_ptr<FileHandle>& file = open[path];
  if (file == nullptr) {
    ZENFS_ASSIGN_OR_RETURN(file, volume.OpenForAppend(path, true));
  }
  const auto data = Pattern(bytes, seed);
  for (std::uint64_t i = 0; i < times; ++i) {
    ZENFS_RETURN_IF_ERROR(file->Append(data));
    ZENFS_RETURN_IF_ERROR(file->Flush());
  }
  return {};
}

Status SyncOrClose(OpenFiles& open, const std::string& path, bool close) {
  const auto found = open.find(path);
  if (found == open.end()) return Fail(Code::kNotFound, path + " is not open");
  if (!close) return found->second->Sync();
  const Status closed = found->second->Close();
  open.erase(found);
  return closed;
}

Result<std::uint64_t> OnVolume(Volume& volume, OpenFiles& open, std::istream& words) {
  std::string verb;
  std::string a;
  std::string b;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
  words >> verb >> a;
  Status status;
  if (verb == "mkdir") {
    status = volume.MakeDirectory(a, true);
  } else if (verb == "write" && words >> bytes >> seed) {
    status = WriteFile(volume, a, bytes, seed);
  } else if (verb == "verify" && words >> bytes >> seed) {
    status = VerifyFile(volume, a, bytes, seed);
  } else if (verb == "unlink") {
    status = volume.Unlink(a);
  } else if (verb == "link" && words >> b) {
    status = volume.Link(a, b);
  } else if (verb == "rename" && words >> b) {
    status = volume.Rename(a, b);
  } else if (verb == "append") {
    status = Append(volume, open, a, words);
  } else if (verb == "sync" || verb == "close") {
    status = SyncOrClose(open, a, verb == "close");
  } else if (verb == "truncate" && words >> bytes) {
    status = TruncateFile(volume, a, bytes);
  } else if (verb == "fill" && words >> bytes) {
    return Fill(volume, a, bytes);
  } else {
    status = Fail(Code::kInvalidArgument, "no such request: " + verb);
  }
  ZENFS_RETURN_IF_ERROR(status);
  return 0;
}

Result<std::uint64_t> MakeFiles(ZonedDevice& device, std::uint64_t count) {
  constexpr std::uint64_t kFirstId = 1'000'000'000;
  constexpr std::uint64_t kPerDirectory = 5000;  // and commit
  const Geometry& geometry = device.geometry();
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(device));
  ZENFS_ASSIGN_OR_RETURN(const auto log, Metalog::Open(device, superblock, {}));
  std::vector<Edit> edits{RaiseCounters{.next_id = 2 * kFirstId, .next_generation = 0}};
  FileId directory;
  ZoneId zone(geometry.zone_count);
  std::uint64_t at = geometry.zone_size;  // in the zone
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % kPerDirectory == 0) {
      if (i != 0) ZENFS_RETURN_IF_ERROR(log->Commit(std::exchange(edits, {})));
      directory = FileId(kFirstId + i);
      edits.emplace_back(
          CreateDirectory{directory, kRootDirectory, fmt::format("dir-{}", i / kPerDirectory)});
    }
    if (at == geometry.zone_size) {
      zone = ZoneId(zone.value - 1);
      at = 0;
      ZENFS_RETURN_IF_ERROR(device.Finish(zone));
    }
    const FileId id(kFirstId + count + i);
    const Extent extent{
        .file_offset = 0, .place = geometry.ZoneStart(zone) + at, .length = geometry.block_size};
    edits.emplace_back(CreateFile{.id = id});
    edits.emplace_back(LinkFile{directory, fmt::format("{:06}.sst", i), id});
    edits.emplace_back(
        SetExtents{.id = id, .from_offset = 0, .extents = {extent}, .size = geometry.block_size});
    at += geometry.block_size;
  }
  ZENFS_RETURN_IF_ERROR(log->Commit(std::move(edits)));
  return count;
}

Result<std::uint64_t> MakeDamage(ZonedDevice& device, std::uint64_t names, std::uint64_t extents) {
  constexpr FileId kId(1'000'000);
  const Geometry& geometry = device.geometry();
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(device));
  ZENFS_ASSIGN_OR_RETURN(const auto log, Metalog::Open(device, superblock, {}));
  std::vector<Edit> edits{RaiseCounters{.next_id = 2 * kId.value, .next_generation = 0},
                          CreateFile{.id = kId}};
  for (std::uint64_t i = 0; i < names; ++i)
    edits.emplace_back(LinkFile{kRootDirectory, fmt::format("{:x<200}", i), kId});
  SetExtents all{.id = kId, .from_offset = 0, .extents = {}, .size = extents * geometry.block_size};
  const DeviceOffset place = geometry.ZoneStart(ZoneId(geometry.zone_count - 1));
  for (std::uint64_t i = 0; i < extents; ++i) {
    all.extents.push_back(
        {.file_offset = i * geometry.block_size, .place = place, .length = geometry.block_size});
  }
  edits.emplace_back(std::move(all));
  ZENFS_RETURN_IF_ERROR(log->Commit(std::move(edits)));
  return names + extents;
}

Result<std::uint64_t> MakeLogs(ZonedDevice& device, std::uint64_t count, std::uint32_t zones) {
  constexpr std::uint64_t kFirst = 1'000'000;
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(device));
  ZENFS_ASSIGN_OR_RETURN(const auto log, Metalog::Open(device, superblock, {}));
  std::vector<Edit> edits{RaiseCounters{.next_id = 2 * kFirst, .next_generation = 2 * kFirst}};
  AllocateLogZones allocated;
  for (std::uint32_t i = 1; i <= zones; ++i)
    allocated.zones.push_back({.zone = ZoneId(superblock.zone_count - i), .generation = kFirst + i});
  edits.emplace_back(std::move(allocated));
  for (std::uint64_t i = 0; i < count; ++i) {
    edits.emplace_back(CreateFile{.id = FileId(kFirst + i), .shape = FileShape::kFramed});
    edits.emplace_back(LinkFile{kRootDirectory, fmt::format("{}.log", i), FileId(kFirst + i)});
  }
  ZENFS_RETURN_IF_ERROR(log->Commit(std::move(edits)));
  return count;
}

// Appends a commit frame with this payload to the metadata log.
Result<std::uint64_t> PutCommits(ZonedDevice& device, std::string_view payload, std::uint64_t commits) {
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(device));
  ZENFS_ASSIGN_OR_RETURN(const Replayed log, Replay(device, superblock));
  Metazones zones(device, superblock);
  GenerationWriter writer(device, superblock, zones, log);
  ZENFS_RETURN_IF_ERROR(writer.Write(FrameKind::kCommit, payload, log.sequence + 1, log.sequence + commits));
  return commits;
}

Result<std::uint64_t> PutEdits(ZonedDevice& device, std::uint64_t count) {
  EditListBuilder list;
  for (std::uint64_t i = 0; i < count; ++i) list.Add(std::vector<Edit>{RaiseCounters{}});
  const std::string member = list.Take();
  const std::string* members[] = {&member};
  return PutCommits(device, EncodeCommit(members), 1);
}

// A table with two names, a log of two segments, and another one with a segment that no record names.
Result<std::uint64_t> MakeOlder(ZonedDevice& device, const std::string& aux_path) {
  OlderWriter writer(device, 2, aux_path);
  const auto text = [](std::uint64_t bytes) {
    const auto data = Pattern(bytes, 1);
    return std::string(AsText(data));
  };
  writer.Superblock(ZoneId(0), 1);
  const auto table = writer.Plain(ZoneId(3), text(9000));
  const auto first = writer.Segment(ZoneId(4), text(100));
  const auto second = writer.Segment(ZoneId(4), text(5000));
  const auto unnamed = writer.Segment(ZoneId(5), text(300));
  writer.Snapshot({{.id = 2,
                    .names = {"db/000004.sst", "copy/000004.sst"},
                    .size = table.length,
                    .extents = {table},
                    .lifetime = 3,
                    .mtime = 1600000000},
                   {.id = 3,
                    .names = {"db/000005.log"},
                    .size = first.length + second.length,
                    .extents = {first, second},
                    .lifetime = 2,
                    .mtime = 1600000001,
                    .framed = true},
                   {.id = 4,
                    .names = {"db/000006.log"},
                    .lifetime = 2,
                    .mtime = 1600000002,
                    .active_start = unnamed.start - sizeof(std::uint64_t),
                    .framed = true}});
  return 3;
}

// The files of a directory of the host, as the older ZenFS would have written them in the directory `db`: logs in segments, what a MANIFEST
// gets between two syncs in an extent of its own, everything else in extents that end with their zone.
Result<std::uint64_t> MakeOlderCopy(ZonedDevice& device, const std::string& directory) {
  OlderWriter writer(device);
  writer.Superblock(ZoneId(0), 1);
  std::uint32_t zone = kOlderMetadataZones;
  std::vector<OlderWriter::File> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string file_name = entry.path().filename();
    if (!entry.is_regular_file() || file_name == "LOCK" || file_name.starts_with("LOG")) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    OlderWriter::File file{.id = files.size() + 2,
                           .names = {"db/" + file_name},
                           .size = bytes.size(),
                           .framed = file_name.ends_with(".log")};
    const bool synced = file.framed || file_name.starts_with("MANIFEST");
    for (std::size_t at = 0; at < bytes.size();) {
      ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device.ReportZone(ZoneId(zone)));
      const std::uint64_t room = info.capacity - info.WrittenBytes();
      if (room < device.geometry().block_size) {
        ++zone;
        continue;
      }
      const std::size_t most = synced ? std::min<std::uint64_t>(1000, room / 2) : room;
      const std::string_view piece = std::string_view(bytes).substr(at, most);
      file.extents.push_back(file.framed ? writer.Segment(info.id, piece) : writer.Plain(info.id, piece));
      at += piece.size();
    }
    files.push_back(std::move(file));
  }
  writer.Snapshot(files);
  return files.size();
}

// So many tables of one block each, in a single snapshot.
Result<std::uint64_t> MakeOlderFiles(ZonedDevice& device, std::uint64_t count) {
  OlderWriter writer(device);
  writer.Superblock(ZoneId(0), 1);
  const std::uint64_t block = device.geometry().block_size;
  std::vector<OlderWriter::File> files;
  std::uint32_t zone = kOlderMetadataZones;
  while (files.size() < count) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device.ReportZone(ZoneId(zone++)));
    const std::uint64_t blocks = std::min(info.capacity / block, count - files.size());
    const auto bytes = Pattern(blocks * block, zone);
    const auto piece = writer.Plain(info.id, AsText(bytes));
    for (std::uint64_t i = 0; i < blocks; ++i) {
      const std::uint64_t n = files.size() + 10;
      files.push_back({.id = n,
                       .names = {fmt::format("db/{:06}.sst", n)},
                       .size = block,
                       .extents = {{.start = piece.start + i * block, .length = block}},
                       .lifetime = 3,
                       .mtime = 1600000000});
    }
  }
  writer.Snapshot(files);
  return count;
}

Result<std::uint64_t> OnDevice(ZonedDevice& device, std::istream& words) {
  std::string verb;
  std::string name;
  std::uint32_t zone = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
  words >> verb;
  if (verb == "deep" && words >> bytes >> name) {
    std::uint64_t more = 0;
    words >> more;
    ZENFS_RETURN_IF_ERROR(MakeDeepTree(device, bytes, name, more));
    return 0;
  }
  if (verb == "older") return MakeOlder(device, words >> name ? name : "/var/lib/older/");
  if (verb == "older-copy" && words >> name) return MakeOlderCopy(device, name);
  if (verb == "older-files" && words >> bytes) return MakeOlderFiles(device, bytes);
  if (verb == "files" && words >> bytes) return MakeFiles(device, bytes);
  if (verb == "edits" && words >> bytes) return PutEdits(device, bytes);
  if (verb == "claim" && words >> bytes) return PutCommits(device, std::string(bytes, '\0'), bytes);
  if (verb == "logs" && words >> bytes >> zone) return MakeLogs(device, bytes, zone);
  if (verb == "damage" && words >> bytes >> seed) return MakeDamage(device, bytes, seed);
  if (verb != "write" || !(words >> zone >> bytes >> seed)) {
    return Fail(Code::kInvalidArgument,
                "the requests are: write ZONE BYTES SEED, files COUNT, deep DEPTH NAME [FILES], damage NAMES "
                "EXTENTS, edits COUNT, logs COUNT ZONES, claim COMMITS, older [AUX_PATH], older-copy "
                "DIRECTORY, older-files COUNT");
  }
  const auto data = Pattern(bytes, seed);
  AlignedBuffer buffer(bytes);
  buffer.Append(data);
  ZENFS_RETURN_IF_ERROR(device.Write(device.geometry().ZoneStart(ZoneId(zone)), buffer.View()));
  return bytes;
}

void Answer(const Result<std::uint64_t>& result) {
  if (result) {
    std::cout << "ok " << *result << std::endl;
  } else {
    std::cout << "error " << CodeName(result.error().code()) << ": " << result.error().ToString()
              << std::endl;
  }
}

template <typename Handler>
int Serve(Handler handler) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    Answer(handler(words));
  }
  return 0;
}

int Main(const std::string& mode, const std::string& path, const MountOptions& options) {
  DeviceOptions none;
  Result<DeviceUri> uri = DeviceUri{.kind = "emu", .target = path, .options = {}};
  if (path.starts_with("dev:") || path.starts_with("zonefs:")) uri = ParseDeviceUri(path);
  if (!uri) {
    Answer(Fail(uri.error()));
    return 1;
  }
  auto device = OpenVolumeDevice(*uri, OpenMode::kExclusive, &none);
  if (!device) {
    Answer(Fail(device.error()));
    return 1;
  }
  if (mode == "device") {
    Answer(0);
    return Serve([&](std::istream& words) { return OnDevice(**device, words); });
  }
  auto volume = Volume::Mount(std::move(*device), options);
  if (!volume) {
    Answer(Fail(volume.error()));
    return 1;
  }
  Answer(0);
  OpenFiles open;
  Serve([&](std::istream& words) { return OnVolume(**volume, open, words); });
  open.clear();
  const Status unmounted = (*volume)->Unmount();
  if (!unmounted.ok()) Answer(Fail(unmounted.error()));
  return unmounted.ok() ? 0 : 1;
}

}  // namespace
}  // namespace zenfs

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  zenfs::MountOptions options;
  if (argc == 4) options.flush_directory = argv[3];
  return zenfs::Main(argv[1], argv[2], options);
}
