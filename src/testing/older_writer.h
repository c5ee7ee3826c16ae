// Writes devices as the older ZenFS does (docs/formats/older-formats.md), for tests of their reader: every kind of record, in
// both formats, whole or not. It knows nothing of the decoders.
//
// Every call that can fail ends the test program if it does: a test that could not make its device proves nothing.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "device/zoned_device.h"

namespace zenfs {

class OlderWriter {
 public:
  static constexpr std::string_view kUuid = "8b1f6c1e-5d0a-4f7e-9c3b-2a6d4e8f0b17";
  static constexpr std::uint64_t kNotActive = UINT64_MAX;

  struct Piece {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
  };
  struct File {
    std::uint64_t id = 0;
    std::vector<std::string> names;
    std::uint64_t size = 0;
    std::vector<Piece> extents;
    std::uint32_t lifetime = 0;
    std::uint64_t mtime = 0;
    std::uint64_t active_start = kNotActive;
    bool framed = false;
  };

  // `device` outlives it and has empty zones.
  explicit OlderWriter(ZonedDevice& device, std::uint32_t version = 2,
                       std::string aux_path = "/var/lib/older/")
      : device_(device), version_(version), aux_path_(std::move(aux_path)) {}

  // --- the metadata log; begins in the first zone ---
  // Goes on in a metadata zone with a superblock of this sequence. Conventional zones before it are the test's business.
  void Superblock(ZoneId zone, std::uint32_t sequence);
  // All files. Each is there once for each of its names.
  void Snapshot(const std::vector<File>& files);
  void Update(const File& file) { Record(2, Field(FileBytes(file))); }
  void Replace(const File& file) { Record(5, Field(FileBytes(file))); }
  void Delete(std::uint64_t id, std::string_view name);
  void End();
  // A record with any contents.
  void Record(std::uint32_t tag, const std::string& data);
  // The same with another tag, length and checksum than belong to it: what is written is the first `keep` bytes of it.
  void TornRecord(std::uint32_t tag, const std::string& data, std::size_t keep);
  // The bytes of a record, for what the functions above do not make.
  static std::string RecordBytes(const std::string& payload);
  // Writes whole blocks at the write pointer of the metadata zone.
  void Raw(std::string bytes);

  std::string FileBytes(const File& file) const;
  // The payload of a superblock.
  std::string SuperblockPayload(std::uint32_t sequence) const;
  static std::string Field(const std::string& bytes);

  // --- data, at the write pointer of `zone` ---
  Piece Plain(ZoneId zone, std::string_view bytes);
  // A segment of a framed file.
  Piece Segment(ZoneId zone, std::string_view bytes);

 private:
  std::uint64_t Put(ZoneId zone, std::string bytes);

  ZonedDevice& device_;
  const std::uint32_t version_;
  const std::string aux_path_;  // the host's directory for LOG and LOCK
  ZoneId log_{0};
};

}  // namespace zenfs
