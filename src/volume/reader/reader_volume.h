// A volume mounted read-only, perhaps beside a writer in this or another process, or after one has died. It takes no lock and
// writes nothing. Each call sees the state of the device at that moment, and the bytes that the writer has flushed
// (volume/reader/live_state.h).
//
// ReaderVolume and all open handles (reader_handle.h) share the ReaderMount: the device, the live state of the volume on it, and the
// gate in front of both. They keep its memory; only the ReaderVolume keeps it mounted: its destructor unmounts.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "buffers/announced_zones.h"
#include "device/zoned_device.h"
#include "volume/mount/mount_gate.h"
#include "volume/reader/live_state.h"
#include "volume/volume.h"
#include "zone/space_account.h"
#include "zone/zone_states.h"

namespace zenfs {

// The announcements of a read-only mount to the writer of this host (buffers/announced_zones.h), also across writers: each
// mount of a writer has shared memory of its own.
//
// Threads: any. mutex_ is a leaf lock.
class ReaderAnnouncements {
 public:
  // The arguments outlive it.
  ReaderAnnouncements(LiveState& live, const Superblock& superblock, const ZonedDevice& device)
      : live_(live), superblock_(superblock), device_(device) {}

  // Null if there is no writer to whom zones can be announced. Looks for a new writer at most once a second.
  [[nodiscard]] std::shared_ptr<const AnnouncedZones::Hold> Announce(std::vector<ZoneId> zones)
      EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::shared_ptr<AnnouncedZones> Writer() EXCLUDES(mutex_);

  LiveState& live_;
  const Superblock& superblock_;
  const ZonedDevice& device_;
  Mutex mutex_{LockRank::kLeaf};
  std::shared_ptr<AnnouncedZones> writer_ GUARDED_BY(mutex_);
  SteadyTime look_at_ GUARDED_BY(mutex_){};
};

class ReaderMount {
 public:
  // `device` is open read-only. Errors: those of Volume::Mount; kTimedOut beside a writer that changes its metadata zones
  // during each try to read them.
  [[nodiscard]] static Result<std::shared_ptr<ReaderMount>> Open(std::unique_ptr<ZonedDevice> device);

  ReaderMount(std::unique_ptr<ZonedDevice> device, Superblock superblock);

  // Errors: those of MountGate::Enter.
  [[nodiscard]] Result<Gate::Entry> Enter() const { return gate_.Enter(); }
  // The error of every call that would write: kReadOnly, or that of Enter.
  [[nodiscard]] Status Refuse() const;
  // The two devices of the volume belong together now. Errors: those of CheckPairLive.
  [[nodiscard]] Status CheckPair() const;
  void Unmount();

  const VolumeInfo& info() const { return info_; }
  // As in Volume.
  [[nodiscard]] Result<Shortfall> FindShortfall() const;
  // For callers that have entered.
  LiveState& live() const { return *live_; }
  ZonedDevice& device() const { return *device_; }
  ReaderAnnouncements& announcements() const { return *announcements_; }

 private:
  const VolumeInfo info_;
  MountGate gate_;
  std::unique_ptr<ZonedDevice> device_;
  std::unique_ptr<LiveState> live_;
  std::unique_ptr<ReaderAnnouncements> announcements_;
};

// The zones of a read-only mount, and the sums over them. A zone manager counts live bytes of data zones only. Here metadata and log
// zones count too: all written bytes of a metadata zone are live, and the frames of files in a log zone. All verbs and the exporter
// show these counts.
struct LiveZones {
  std::vector<ZoneStatus> zones;
  SpaceReport space;  // space.used() is the sum of the live bytes of all zones that are not lost
};

class ReaderVolume final : public Volume {
 public:
  explicit ReaderVolume(std::shared_ptr<ReaderMount> mount)
      : Volume(mount->info()), mount_(std::move(mount)) {}
  ~ReaderVolume() override { mount_->Unmount(); }

  // --- Volume ---
  [[nodiscard]] Status Unmount() override;
  [[nodiscard]] Status PrepareForExit() override { return {}; }
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> Create(std::string_view, Lifetime) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForAppend(std::string_view, bool) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForRead(std::string_view path, FileId known) override;
  [[nodiscard]] Status Unlink(std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status Link(std::string_view, std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status Rename(std::string_view, std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status MakeDirectory(std::string_view, bool) override { return mount_->Refuse(); }
  [[nodiscard]] Status RemoveDirectory(std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status RemoveTree(std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status SyncDirectory(std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Result<FileStat> Stat(std::string_view path) const override;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> List(std::string_view path, FileId known) const override;
  [[nodiscard]] Result<FileLayout> Layout(std::string_view path) const override;
  [[nodiscard]] Status ForEachLayout(std::span<const FileId> files, const EachLayout& each) const override;
  [[nodiscard]] Result<std::unique_ptr<PathLock>> Lock(std::string_view) override;
  // Computed for each call from the metadata and a report of all zones; empty if they can't be read (health).
  SpaceReport Space() const override;
  std::vector<ZoneStatus> Zones() const override;
  // Only the epoch and the position of the metadata log; zeros if the metadata can't be read (health).
  VolumeCounters counters() const override;
  std::string shared_memory_path() const override;
  std::vector<std::string> notices() const override;
  [[nodiscard]] Result<Shortfall> shortfall() const override { return mount_->FindShortfall(); }
  // OK if the metadata can be read now.
  Status health() const override;

 private:
  // The zones as they are now. Errors: those of Enter, LiveState::Look, PlanSlots and a zone report.
  [[nodiscard]] Result<LiveZones> LookAtZones() const;

  const std::shared_ptr<ReaderMount> mount_;
};

}  // namespace zenfs
