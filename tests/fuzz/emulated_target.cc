// Files of emulated devices: header, zone table and table of durable blocks, opened and used. The
// input:
//
//    u8 flags, u16 size of the file in pages if it is wrong, EmulatedFileHeader, zone words (and counts of durable blocks)
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/emulator/emulated_file.h"
#include "backends/emulator/power_loss.h"
#include "base/aligned_buffer.h"
#include "base/crc32c.h"
#include "emulated_input.h"
#include "input.h"

namespace zenfs {
namespace {

class File {
 public:
  File() : fd_(::memfd_create("fuzz", MFD_CLOEXEC)), path_(fmt::format("/proc/self/fd/{}", fd_)) {
    Require(fd_ >= 0, "a file in memory can be made");
  }
  void Put(std::uint64_t at, ByteView bytes) {
    Require(::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at)) ==
                static_cast<ssize_t>(bytes.size()),
            "the file can be written");
  }
  bool Resize(std::uint64_t bytes) { return ::ftruncate(fd_, static_cast<off_t>(bytes)) == 0; }
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

// True if a command on every zone takes little time.
bool IsSmall(const EmulatedFileHeader& header) {
  return header.zones <= kEmulatedZonesMax && header.zone_size <= kEmulatedZoneSizeMax;
}

void Fill(File& file, FuzzInput& input) {
  const auto flags = input.Take<std::uint8_t>();
  const auto pages = input.Take<std::uint16_t>();
  auto header = input.Take<EmulatedFileHeader>();
  const bool cache = header.version == kEmulatedCacheVersion ||
                     (header.version == kEmulatedRandomVersion && header.durable_offset != 0);
  const EmulatorGeometry geometry{
      .zones = header.zones,
      .zone_size = header.zone_size,
      .block_size = header.block_size,
      .random_area = header.version == kEmulatedRandomVersion ? header.random_area : 0};
  std::uint64_t bytes = std::uint64_t{pages} * 4096;
  EmulatedLayout layout{.table_offset = kEmulatedHeaderBytes, .durable_offset = kEmulatedHeaderBytes * 2};
  if (IsSmall(header)) {
    layout = LayoutOf(geometry, cache);
    if ((flags & kEmulatedLayoutAsItIs) == 0) {
      header.table_offset = layout.table_offset;
      header.data_offset = layout.data_offset;
      header.durable_offset = layout.durable_offset;
    }
    if ((flags & kEmulatedWrongSize) == 0) bytes = layout.file_bytes;
  }
  Require(file.Resize(0) && file.Resize(bytes), "the file can be resized");
  std::array<std::byte, kEmulatedHeaderBytes> page{};
  if ((flags & kEmulatedCrcAsItIs) == 0) {
    header.crc = 0;
    std::memcpy(page.data(), &header, sizeof header);
    header.crc = Crc32c(page);
  }
  std::memcpy(page.data(), &header, sizeof header);
  const std::size_t words = std::min<std::size_t>(header.zones, kEmulatedZonesMax) * sizeof(std::uint64_t);
  const ByteView table = input.Bytes(words);
  const ByteView durable = input.Bytes(words);
  const ByteView areas = input.Bytes(words);
  file.Put(0, ByteView(page).first(std::min<std::size_t>(page.size(), bytes)));
  if (bytes < kEmulatedHeaderBytes + 2 * 4096) return;
  file.Put(layout.table_offset, table);
  if (cache) file.Put(layout.durable_offset, durable);
  if (layout.area_offset != 0) file.Put(layout.area_offset, areas);
}

// Sends every command once to every zone. They may fail but must do no harm.
void Use(EmulatorDevice& device) {
  const Geometry& geometry = device.geometry();
  static AlignedBuffer block(65536);
  block.Resize(geometry.block_size);
  std::memset(block.data(), 0x5a, block.size());
  auto report = device.Report(ZoneId(0), geometry.zone_count);
  Require(report.has_value() && report->size() == geometry.zone_count,
          "a device that opens reports its zones");
  for (const ZoneInfo& zone : *report) {
    Require(zone.WrittenBytes() <= geometry.zone_size, "no more is written than a zone holds");
    static AlignedBuffer into(65536);
    into.Resize(geometry.block_size);
    const Status read = device.Read(zone.start, into.Span());
    const bool readable = zone.WrittenBytes() != 0 || zone.type == ZoneType::kConventional;
    Require(!readable || read.ok(), "what is written can be read");
    if (IsActive(zone.condition) || zone.condition == ZoneCondition::kEmpty) {
      static_cast<void>(device.Write(zone.write_pointer, block.View()).ok());
    }
  }
  for (const ZoneInfo& zone : *report) {
    switch (zone.id.value % 3) {
      case 0: static_cast<void>(device.Finish(zone.id).ok()); break;
      case 1: static_cast<void>(device.Reset(zone.id).ok()); break;
      default: static_cast<void>(device.Close(zone.id).ok()); break;
    }
    static_cast<void>(device.OpenRandom(zone.id).ok());
    static_cast<void>(device.Write(zone.start + geometry.block_size, block.View()).ok());
    static_cast<void>(device.CommitRandom(zone.start + geometry.random_area_unit).ok());
  }
  Require(device.Flush().ok(), "a flush succeeds");
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  static File file;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  Fill(file, input);
  const auto info = ReadEmulatedFileInfo(file.path());
  {
    const auto reader = OpenEmulatedFile(file.path(), OpenMode::kReadOnly);
    Require(info || !reader, "a file that opens tells what it is");
    if (reader) {
      const auto report = (*reader)->Report(ZoneId(0), (*reader)->geometry().zone_count);
      static_cast<void>(report.has_value());
    }
  }
  {
    const auto device = OpenEmulatedFile(file.path(), OpenMode::kExclusive, {.timing = Timing::kNone});
    Require(info || !device, "a file that opens tells what it is");
    if (!device) return 0;
    Use(**device);
  }
  Require(OpenEmulatedFile(file.path(), OpenMode::kExclusive).has_value(),
          "a device that was used opens again");
  const auto cut = CutPower(file.path(), 1);
  Require(cut || !info->volatile_cache, "a device with a cache can lose its power");
  if (cut)
    Require(OpenEmulatedFile(file.path(), OpenMode::kExclusive).has_value(), "a cut device opens again");
  return 0;
}
