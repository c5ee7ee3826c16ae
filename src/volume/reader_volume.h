// A volume mounted read-only, perhaps beside a writer in this or another process. It takes no lock and writes
// nothing; every call sees what is on the device when it is made (volume/live_state.h). Appends that the
// writer still has in its memory are not there yet.
//
// Every public call enters gate_, so Unmount can wait for those inside; handles keep the object alive.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fork_guard.h"
#include "base/gate.h"
#include "volume/live_state.h"
#include "volume/live_zones.h"
#include "volume/volume.h"

namespace zenfs {

class ReaderVolume final : public Volume, public std::enable_shared_from_this<ReaderVolume> {
 public:
  // As Volume::Mount for a device that is open read-only. Errors: kTimedOut beside a writer that leaves no
  // moment to read the metadata log.
  [[nodiscard]] static Result<std::shared_ptr<Volume>> Mount(std::unique_ptr<ZonedDevice> device);

  ReaderVolume(std::unique_ptr<ZonedDevice> device, Superblock superblock);

  // --- Volume ---
  [[nodiscard]] Status Unmount() override;
  [[nodiscard]] Status PrepareForExit() override { return {}; }
  std::string shared_memory_path() const override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> Create(std::string_view, Lifetime) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForAppend(std::string_view, bool) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForRead(std::string_view path, FileId known) override;
  [[nodiscard]] Status Truncate(std::string_view, std::uint64_t) override { return Refuse(); }
  [[nodiscard]] Status Unlink(std::string_view) override { return Refuse(); }
  [[nodiscard]] Status Link(std::string_view, std::string_view) override { return Refuse(); }
  [[nodiscard]] Status Rename(std::string_view, std::string_view) override { return Refuse(); }
  [[nodiscard]] Status MakeDirectory(std::string_view, bool) override { return Refuse(); }
  [[nodiscard]] Status RemoveDirectory(std::string_view) override { return Refuse(); }
  [[nodiscard]] Status EmptyZone(ZoneId) override { return Refuse(); }
  [[nodiscard]] Status SyncDirectory(std::string_view) override { return Refuse(); }
  [[nodiscard]] Result<FileStat> Stat(std::string_view path) const override;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> List(std::string_view path) const override;
  [[nodiscard]] Result<FileLayout> Layout(std::string_view path) const override;
  [[nodiscard]] Result<std::unique_ptr<PathLock>> Lock(std::string_view) override;
  // Built for each call from the metadata and a report of all zones; empty if they can't be read (health).
  SpaceReport Space() const override;
  std::vector<ZoneStatus> Zones() const override;
  const Superblock& superblock() const override { return superblock_; }
  const Geometry& geometry() const override { return geometry_; }
  const std::string& device_name() const override { return device_name_; }
  bool read_only() const override { return true; }
  // 0 if the metadata can't be read (health).
  std::uint64_t epoch() const override;
  // Generation and sequence; nothing was done by this mount.
  MetalogStats metalog_stats() const override;
  WriteCounters write_counters() const override { return {}; }
  std::vector<std::string> notices() const override { return notices_; }
  // Whether the metadata can be read now.
  Status health() const override;

  // --- for handles ---
  // Fails in a forked child and after Unmount.
  [[nodiscard]] Result<Gate::Entry> Enter() const;
  [[nodiscard]] Status Refuse() const;  // kReadOnly, or why Enter fails
  LiveState& live() const { return *live_; }
  ZonedDevice& device() const { return *device_; }

 private:
  [[nodiscard]] Status Recover();
  [[nodiscard]] Result<LiveZones> AccountZones() const;

  const Superblock superblock_;
  const Geometry geometry_;
  const std::string device_name_;
  const ForkGuard fork_guard_;
  mutable Gate gate_;
  std::vector<std::string> notices_;
  std::unique_ptr<ZonedDevice> device_;
  std::unique_ptr<LiveState> live_;
};

}  // namespace zenfs
