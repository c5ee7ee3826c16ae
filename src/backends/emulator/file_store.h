// Blocks and zone words in an emulated device's file.
//
// A kill -9 at any instruction may leave data of a write whose zone word was not stored (beyond the
// write pointer, so unreadable), and space of a reset zone that was not freed (the next exclusive
// open frees it). Therefore a write stores the data before the word, and a reset stores the word
// before the hole. The other order would show the zone with its old write pointer and zeros below
// it, which no device does.
//
// With a volatile cache, a kill may also leave durable blocks in an empty zone. A reset stores the
// zone word, then the number of durable blocks. In the other order, a power loss could take flushed
// blocks of a zone whose reset did not happen. The next exclusive open completes such a reset.
//
// The durable blocks of a random write area are a second word behind the first, with a bit for each block modulo 64. A
// kill between the two leaves too many durable blocks, never too few: bits of blocks that the prefix has passed stand for
// later blocks.
//
// A writer keeps the tables in memory and writes each word that changes. The tables get their
// space on the host when the file is opened. Readers in other processes read the words each time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/emulator/emulated_file.h"
#include "backends/emulator/store.h"
#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

// The host's file of an emulated device, accessed by system calls only. Through a mapping, the
// process would die by SIGBUS if another process shortened the file or the host had no space.
//
// If the file was shortened while in use, the device is gone for good. Check finds this, and so
// does a read beyond the end; from then on both fail. Call Check before each command that writes,
// so that the file does not grow again with zeros. If the file is shortened between Check and the
// write, that write extends it again, and is the last one.
//
// Threads: any.
class ImageFile {
 public:
  // `bytes`: the length that the file has and must keep. `direct`: large writes bypass the host's page cache, if the host
  // can, so that a Sync for a small write does not wait for them.
  ImageFile(std::string path, UniqueFd fd, std::uint64_t bytes, bool direct);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  // All errors are kIo, with the errno of the host if there is one. A zoned device has no "no space
  // left" error, and the code must not suggest that the zones are full.
  [[nodiscard]] Status Read(std::uint64_t at, ByteSpan into) const;
  // Writes the pieces contiguously. They survive the death of the process on return.
  [[nodiscard]] Status Write(std::uint64_t at, std::span<const ByteView> pieces);
  // Writes a word of a table: 8 bytes at a multiple of 8. The change is atomic, also under a kill
  // -9. After an error the table may contradict the device, so every later Check fails.
  [[nodiscard]] Status WriteWord(std::uint64_t at, std::uint64_t word);
  // Allocates space on the host for a range and keeps its bytes. Does nothing if the host can't.
  [[nodiscard]] Status Allocate(std::uint64_t at, std::uint64_t bytes);
  // Makes the range zeros and frees its space. Returns 0 or an errno: EOPNOTSUPP if the host can't.
  [[nodiscard]] int Punch(std::uint64_t at, std::uint64_t bytes);
  // Makes all of the file durable on the host's stable media.
  [[nodiscard]] Status Sync();
  // OK if the file has its length and no earlier error made the device unusable.
  [[nodiscard]] Status Check() const;
  // True once the file was found shorter than it was: then all calls fail.
  bool IsGone() const { return shortened_.load(std::memory_order_relaxed); }

 private:
  Status Shortened() const;
  // The descriptor for a write of these pieces.
  int FdFor(std::uint64_t at, std::span<const ByteView> pieces) const;

  const std::string path_;
  const UniqueFd fd_;
  const UniqueFd direct_;  // the same file with O_DIRECT; invalid: not used
  const std::uint64_t bytes_;
  const bool limited_;  // when it was opened; SIGXFSZ is then kept from its writes
  mutable std::atomic<bool> shortened_{false};
  std::atomic<bool> table_failed_{false};
};

// Blocks and zone words in the file. Threads: see store.h.
class FileStore final : public Store {
 public:
  // kCorruption if a zone word is impossible; kIo with ENOSPC if the host has no space for the tables (kExclusive).
  [[nodiscard]] static Result<std::unique_ptr<FileStore>> Open(const std::string& path, OpenMode mode,
                                                               bool hostsync);

  const EmulatorGeometry& geometry() const { return info_.geometry; }
  Timing timing() const { return info_.timing; }

  bool IsGone() const override { return file_.IsGone(); }
  std::uint64_t KnownZeros(ZoneId zone, std::uint64_t offset, std::uint64_t length) const override;
  Status Read(ZoneId zone, std::uint64_t offset, ByteSpan into) override;
  Status Write(ZoneId zone, std::uint64_t offset, std::span<const ByteView> pieces) override;
  Status Discard(ZoneId zone) override;
  Status Clear(ZoneId zone) override { return Zero(zone, 0, geometry().capacity()); }
  Status SaveState(ZoneId zone, MachineZone state) override;
  Status LoadStates(ZoneId first, std::span<MachineZone> into) const override;
  bool has_volatile_cache() const override { return info_.volatile_cache; }
  Status SaveDurable(ZoneId zone, DurableBlocks blocks) override;
  DurableBlocks LoadDurable(ZoneId zone) const override;
  // Device and inode number of the host's file: they survive `mv`; a copy has others.
  std::string Identity() const override;
  Status Check() const override { return file_.Check(); }
  std::optional<DeviceOwner> Owner() const override;
  Status Sync() override;

  // Makes the bytes zeros, and frees their space if the host can and the file does not keep it. They must lie in one zone.
  [[nodiscard]] Status Zero(ZoneId zone, std::uint64_t offset, std::uint64_t bytes);

 private:
  FileStore(std::string path, OpenedEmulatedFile file, bool hostsync);

  Status TakeTables();
  Status ReadWords(std::uint64_t table, std::uint32_t first, std::span<std::uint64_t> into) const;
  Status FinishResets();
  Status CheckDurable() const;
  Status FreeEmptyZones();
  bool IsHoleAlready(std::uint64_t at, std::span<const ByteView> pieces) const;
  // Skips holes.
  Status WriteZeros(ZoneId zone, std::uint64_t offset, std::uint64_t bytes);
  std::uint64_t FileOffset(ZoneId zone) const {
    return layout_.data_offset + zone.value * info_.geometry.zone_size;
  }

  const EmulatedFileInfo info_;
  const EmulatedLayout layout_;
  ImageFile file_;
  const bool hostsync_;
  std::vector<std::uint64_t> words_;    // the zone table; empty for readers
  std::vector<std::uint64_t> durable_;  // the durable blocks; empty without a volatile cache and for readers
  std::vector<std::uint64_t> areas_;    // those of the areas; also empty without random write areas
};

}  // namespace zenfs
