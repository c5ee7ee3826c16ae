#include "testing/older_writer.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/coding.h"
#include "base/crc32c.h"

namespace zenfs {
namespace {

template <typename T>
T Must(Result<T> result) {
  if (!result) std::abort();
  return *std::move(result);
}

std::string WithTag(std::uint32_t tag) {
  std::string out;
  PutFixed(out, tag);
  return out;
}

void PutPadded(std::string& out, std::string_view text, std::size_t bytes) {
  out.append(text);
  out.append(bytes - text.size(), '\0');
}

}  // namespace

std::string OlderWriter::RecordBytes(const std::string& payload) {
  std::string covered;
  PutFixed(covered, static_cast<std::uint32_t>(payload.size()));
  covered += payload;
  std::string out;
  PutFixed(out, std::rotr(Crc32c(AsBytes(covered)), 15) + 0xa282ead8U);
  return out + covered;
}

std::string OlderWriter::Field(const std::string& bytes) {
  std::string out;
  PutString(out, bytes);
  return out;
}

std::string OlderWriter::SuperblockPayload(std::uint32_t sequence) const {
  const Geometry& geometry = device_.geometry();
  std::string out;
  PutFixed(out, std::uint32_t{0x5a454e46});
  PutPadded(out, kUuid, 37);
  PutFixed(out, sequence);
  PutFixed(out, version_);
  PutFixed(out, std::uint32_t{1});
  PutFixed(out, geometry.block_size);
  PutFixed(out, static_cast<std::uint32_t>(geometry.zone_size / geometry.block_size));
  PutFixed(out, geometry.zone_count);
  PutFixed(out, std::uint32_t{10});
  PutPadded(out, aux_path_, 256);
  PutPadded(out, "v1.0", 64);
  out.resize(512);
  return out;
}

void OlderWriter::Superblock(ZoneId zone, std::uint32_t sequence) {
  log_ = zone;
  Raw(RecordBytes(SuperblockPayload(sequence)));
}

std::string OlderWriter::FileBytes(const File& file) const {
  std::string out = WithTag(1);
  PutFixed(out, file.id);
  PutFixed(out, std::uint32_t{3});
  PutFixed(out, file.size);
  PutFixed(out, std::uint32_t{4});
  PutFixed(out, file.lifetime);
  for (const Piece& extent : file.extents) {
    std::string bytes;
    PutFixed(bytes, extent.start);
    if (version_ == 1) {
      PutFixed(bytes, static_cast<std::uint32_t>(extent.length));
    } else {
      PutFixed(bytes, extent.length);
    }
    PutFixed(out, std::uint32_t{5});
    PutString(out, bytes);
  }
  PutFixed(out, std::uint32_t{6});
  PutFixed(out, file.mtime);
  PutFixed(out, std::uint32_t{7});
  PutFixed(out, file.active_start);
  if (file.framed) PutFixed(out, std::uint32_t{8});
  for (const std::string& name : file.names) {
    PutFixed(out, std::uint32_t{version_ == 1 ? 2U : 9U});
    PutString(out, name);
  }
  return out;
}

void OlderWriter::Snapshot(const std::vector<File>& files) {
  std::string all;
  for (const File& file : files) {
    for (std::size_t i = 0; i < file.names.size(); ++i) PutString(all, FileBytes(file));
  }
  Record(1, Field(all));
}

void OlderWriter::Delete(std::uint64_t id, std::string_view name) {
  std::string data;
  PutFixed(data, id);
  PutString(data, name);
  Record(3, Field(data));
}

void OlderWriter::End() { Record(4, ""); }

void OlderWriter::Record(std::uint32_t tag, const std::string& data) {
  Raw(RecordBytes(WithTag(tag) + data));
}

void OlderWriter::TornRecord(std::uint32_t tag, const std::string& data, std::size_t keep) {
  Raw(RecordBytes(WithTag(tag) + data).substr(0, keep));
}

void OlderWriter::Raw(std::string bytes) { Put(log_, std::move(bytes)); }

OlderWriter::Piece OlderWriter::Plain(ZoneId zone, std::string_view bytes) {
  return {Put(zone, std::string(bytes)), bytes.size()};
}

OlderWriter::Piece OlderWriter::Segment(ZoneId zone, std::string_view bytes) {
  std::string segment;
  PutFixed(segment, std::uint64_t{bytes.size()});
  const std::size_t header = segment.size();
  segment.append(bytes);
  return {Put(zone, std::move(segment)) + header, bytes.size()};
}

std::uint64_t OlderWriter::Put(ZoneId zone, std::string bytes) {
  bytes.resize(RoundUp(bytes.size(), device_.geometry().block_size));
  const ZoneInfo info = Must(device_.ReportZone(zone));
  AlignedBuffer buffer(bytes.size());
  buffer.Resize(bytes.size());
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  if (!device_.Write(info.write_pointer, buffer.View()).ok()) std::abort();
  return info.write_pointer.value;
}

}  // namespace zenfs
