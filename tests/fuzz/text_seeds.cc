// Seeds of the targets uri, command_line and manifest.
#include <fmt/format.h>

#include "backup/manifest.h"
#include "backup/path_tree_rig.h"
#include "cli/command_line.h"
#include "model/edit.h"
#include "seeds.h"

namespace zenfs {
namespace {

void WriteUris(SeedWriter& writer) {
  const char* const uris[] = {
      "zenfs://dev:nvme0n1",
      "dev:/dev/../dev/sda",
      "zenfs://zonefs:/mnt/z?io:plain",
      "zonefs:/mnt//z/?io:uring,ro",
      "zenfs://uuid:01234567-89AB-4cde-8f01-23456789abcd",
      "emu:/var/tmp/a.img?ro,latency_us:10,write_us:5,flush_us:7,timing:zn540,hostsync",
      "zenfs://emu:a.img?wal:blocking,wal_buffer_kib:8",
      "zenfs://emu:a.img?buffer_kib:64,flush_dir:/dev/shm,discard_unsynced,space_wait_s:3",
      "emu:../x?metrics_file:/tmp/m,flush_dir:none,hostsync:false",
      "01234567-89ab-4cde-8f01-23456789abcd",
      "6e3b0a52-0000-4000-8000-000000000000 /dev/shm/zenfs-1-2"};
  int number = 0;
  for (const char* uri : uris) writer.Write("uri", fmt::format("uri-{}", number++), uri);
}

std::string Joined(std::initializer_list<std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) {
    out += word;
    out += '\0';
  }
  return out;
}

void WriteCommandLines(SeedWriter& writer) {
  for (const Verb& verb : Verbs()) {
    std::string words(verb.name);
    std::replace(words.begin(), words.end(), ' ', '\0');
    words += '\0';
    writer.Write("command_line", fmt::format("verb-{}", verb.name),
                 words + Joined({"--emu=/a", "--uri=emu:/a?ro"}));
    writer.Write("command_line", fmt::format("help-{}", verb.name), words + Joined({"--help"}));
  }
  writer.Write("command_line", "mkfs",
               Joined({"mkfs", "--zbd=nvme0n1", "--aux_path=/x", "--force", "--label", "a"}));
  writer.Write("command_line", "emu",
               Joined({"emu", "create", "/x.img", "--zones=64", "--zone-size=16M", "--max-open", "14",
                       "--timing=zn540"}));
  writer.Write("command_line", "unknown", Joined({"chek", "--emu"}));
}

void WriteManifests(SeedWriter& writer) {
  Manifest manifest;
  manifest.header = {.backup = *Uuid::Parse("01234567-89ab-4cde-8f01-23456789abcd"),
                     .volume = *Uuid::Parse("11234567-89ab-4cde-8f01-23456789abcd"),
                     .path = "db",
                     .started_seconds = 1'700'000'000};
  PathTree paths;
  writer.Write("manifest", "begun", ManifestText(manifest, paths));
  manifest.directories = {AddPath(paths, "db"), AddPath(paths, "db/sub")};
  manifest.files[AddPath(paths, "db/000012.sst")] = {
      .id = 12, .size = 4096, .mtime_seconds = 9, .crc32c = 0xdeadbeef};
  manifest.files[AddPath(paths, "db/odd \x01\xff%name")] = {.id = 13, .size = 0, .lifetime = Lifetime::kLong};
  manifest.complete = true;
  const std::string text = ManifestText(manifest, paths);
  writer.Write("manifest", "complete", text);
  writer.Write("manifest", "torn", std::string_view(text).substr(0, text.size() - 7));
  std::string deep = "d";
  while (deep.size() + 2 <= kMaxPathBytes) deep += "/d";
  for (const std::string& path :
       {deep, deep + "/d", std::string(kMaxNameBytes, 'n'), std::string(kMaxNameBytes + 1, 'n')}) {
    manifest.directories = {AddPath(paths, path)};
    writer.Write("manifest", fmt::format("path-{}", path.size()), ManifestText(manifest, paths));
  }
  writer.Write("manifest", "record",
               "backup 1\n{\"path_crc32c\":5,\"id\":7,\"size\":10,\"mtime_ns\":-5,\"crc32c\":77}\n"
               "{\"path_crc32c\":6,\"id\":8,\"size\":18446744073709551615,\"mtime_ns\":5,\"crc32c\":"
               "4294967295}\n{\"pa");
}

}  // namespace

void WriteTextSeeds(SeedWriter& writer) {
  WriteUris(writer);
  WriteCommandLines(writer);
  WriteManifests(writer);
}

}  // namespace zenfs
