// Blocks and zone words in an emulated device's file.
//
// What a kill -9 at any instruction may leave: data of a write whose zone word did not follow (behind the
// write pointer, never readable), and space of a reset zone that was not given back yet (given back at the
// next exclusive open). So the order is: data, then the word; at a reset, the word, then the hole. The other
// order would show the zone with its old write pointer and zeros below it, a state no device can be in.
//
// Of a device with a volatile cache, also: durable blocks of an empty zone. A reset stores the zone word, then the count
// of durable blocks; the other order would let a loss of power take flushed blocks of a zone whose reset was not carried
// out. The next exclusive open finishes that too.
#pragma once

#include <memory>
#include <string>

#include "backends/emulator/emulated_file.h"
#include "backends/emulator/store.h"
#include "base/fork_guard.h"

namespace zenfs {

class FileStore final : public Store {
 public:
  // Takes the opened, locked file. kCorruption if a zone word is impossible.
  [[nodiscard]] static Result<std::unique_ptr<FileStore>> Open(const std::string& path, OpenMode mode,
                                                               bool hostsync);
  ~FileStore() override;

  const EmulatorGeometry& geometry() const { return file_.info.geometry; }
  Timing timing() const { return file_.info.timing; }

  Status Read(ZoneId zone, std::uint64_t offset, ByteSpan into) override;
  Status Write(ZoneId zone, std::uint64_t offset, std::span<const ByteView> pieces) override;
  Status Discard(ZoneId zone) override;
  void SaveState(ZoneId zone, MachineZone state) override;
  Result<MachineZone> LoadState(ZoneId zone) const override;
  bool has_volatile_cache() const override { return file_.info.volatile_cache; }
  void SaveDurable(ZoneId zone, std::uint64_t blocks) override;
  std::uint64_t LoadDurable(ZoneId zone) const override;
  // Device and inode of the host's file: `mv` keeps it, a copy has another.
  std::string Identity() const override;
  Status Sync() override;

  // Makes the bytes zeros, and gives back their space where the host can. They lie within one zone.
  [[nodiscard]] Status Zero(ZoneId zone, std::uint64_t offset, std::uint64_t bytes);

 private:
  FileStore(std::string path, OpenedEmulatedFile file, bool hostsync);

  Result<std::uint64_t*> MapTable(std::uint64_t offset, int protection) const;
  Status MapTables(OpenMode mode);
  Status FinishResets();
  Status CheckDurable() const;
  Status GiveBackEmptyZones();
  bool Punch(std::uint64_t at, std::uint64_t bytes) const;  // false with the errno
  std::uint64_t FileOffset(ZoneId zone) const {
    return file_.layout.data_offset + zone.value * file_.info.geometry.zone_size;
  }

  const std::string path_;
  const OpenedEmulatedFile file_;
  const bool hostsync_;
  const ForkGuard fork_guard_;
  std::uint64_t* table_ = nullptr;  // mapped, shared with readers in other processes; one word per zone
  // The same of blocks that are durable; nullptr without a volatile cache, and for readers, whom it does not concern.
  std::uint64_t* durable_ = nullptr;
};

}  // namespace zenfs
