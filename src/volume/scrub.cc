#include "volume/scrub.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sync_point.h"
#include "device/guarded_device.h"
#include "device/paced_view.h"
#include "device/presence.h"
#include "device/read_only_view.h"
#include "metalog/follower.h"
#include "metalog/probe.h"
#include "volume/pair_proof.h"
#include "volume/scrub_files.h"
#include "volume/scrub_logs.h"
#include "volume/scrub_metadata.h"
#include "volume/waiting_bytes.h"
#include "zone/slot_plan.h"

namespace zenfs {
namespace {

// Apparent damage of a volume that is being written is read again: how often, and after what time.
constexpr int kLooksAgain = 2;
constexpr std::chrono::milliseconds kBetweenLooks{100};

class Scrub {
 public:
  Scrub(ZonedDevice& device, const Superblock& superblock, const ScrubOptions& options)
      : device_(device), superblock_(superblock), options_(options), follower_(device, superblock) {}

  Result<ScrubReport> Run() {
    ZENFS_RETURN_IF_ERROR(CheckPairOf(device_, follower_));
    ZENFS_ASSIGN_OR_RETURN(Look look, LookAtBothLogs());
    for (int i = 0; i < kLooksAgain && look.moved && !look.report.findings.empty(); ++i) {
      SleepUntil(SteadyNow() + kBetweenLooks);
      ZENFS_ASSIGN_OR_RETURN(Look again, LookAtBothLogs());
      again.report.findings.KeepThoseOf(look.report.findings);
      look = std::move(again);
    }
    if (look.state) ZENFS_RETURN_IF_ERROR(ReadFiles(*look.state, look.report));
    return std::move(look.report);
  }

 private:
  // The result of one read of the metadata zones and the log zones.
  struct Look {
    ScrubReport report;
    std::optional<State> state;  // empty if the metadata log could not be replayed
    bool moved = false;          // it was written meanwhile, so findings may come from that race
  };

  Result<Look> LookAtBothLogs() {
    Look look;
    done_ = 0;
    ScrubContext context{device_, superblock_, advance_, look.report};
    const auto refreshed = follower_.Refresh();
    if (!refreshed && refreshed.error().code() == Code::kTimedOut) return Fail(refreshed.error());
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device_));
    LogFingerprint fingerprint;
    std::optional<std::uint64_t> generation;
    if (refreshed) {
      UpdateBuffers();
      StateWithFlushed shown = WithFlushed();
      look.state = std::move(shown.state);
      look.report.unsynced = buffers_.problem();
      for (const auto& [id, flaw] : shown.flaws) look.report.findings.Add(flaw);
      if (!buffers_.problem().empty()) {
        look.report.findings.Add({.severity = buffers_.damaged() ? Severity::kError : Severity::kWarning,
                                  .text = buffers_.problem()});
      }
      fingerprint = follower_.fingerprint();
      generation = follower_.generation();
    } else {
      look.report.findings.Add(
          {.severity = Severity::kError,
           .text = fmt::format("the files can't be scrubbed, because the metadata log can't be replayed: {}",
                               refreshed.error().ToString())});
      ZENFS_ASSIGN_OR_RETURN(fingerprint, TakeLogFingerprint(device_, superblock_));
    }
    SyncPoint::Reach("ScrubVolume:reported");
    Expect(fingerprint, look.state, report);
    ScrubMetadata(context, fingerprint, generation);
    if (look.state) ScrubLogs(context, *look.state, FileNames(*look.state), report);
    ZENFS_ASSIGN_OR_RETURN(const LogCheck check, CheckLog(device_, superblock_, fingerprint));
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> after, ReportAll(device_));
    look.moved = check.moved ||
                 !std::ranges::equal(report, after, {}, &ZoneInfo::WrittenBytes, &ZoneInfo::WrittenBytes);
    return look;
  }

  Status ReadFiles(const State& state, ScrubReport& out) {
    ScrubContext context{device_, superblock_, advance_, out};
    const FileNames names(state);
    FileScrub scrub(context, [this](FileId id) { return FindNow(id); });
    std::vector<std::shared_ptr<const FileRecord>> files;
    for (const auto& [id, record] : state.files()) files.push_back(record);
    std::ranges::sort(files, {}, [](const auto& record) { return record->id; });
    for (const auto& record : files) ZENFS_RETURN_IF_ERROR(scrub.File(record, names));
    return {};
  }

  // Reading the buffers verifies the checksums of the bytes in them. Returns true if their bytes, or whether their maker lives, are
  // not as they were before the call.
  bool UpdateBuffers() {
    const std::vector<FlushedBytes> before = buffers_.pieces();
    const bool lived = maker_lived_;
    buffers_.Update(BuffersOf(follower_.state(), superblock_.uuid, device_),
                    Deadline::After(LogFollower::kPatience));
    maker_lived_ = buffers_.MakerLives();
    const auto same = [](const FlushedBytes& a, const FlushedBytes& b) {
      return a.slot == b.slot && a.control == b.control && a.memory == b.memory;
    };
    return lived != maker_lived_ || !std::ranges::equal(before, buffers_.pieces(), same);
  }

  StateWithFlushed WithFlushed() {
    return AddFlushedExtents(follower_.state(), buffers_, follower_.metadata_zones(), device_);
  }

  // A copy of the state takes the time of all files, so there is none for a volume that does not change.
  std::shared_ptr<const FileRecord> FindNow(FileId id) {
    const auto change = follower_.Refresh();
    // If the log was damaged since, the last known state counts.
    if (!change) return last_state_.FindFile(id);
    const bool buffers_changed = UpdateBuffers();
    if (*change != LogFollower::Change::kNone || buffers_changed) last_state_ = WithFlushed().state;
    return last_state_.FindFile(id);
  }

  void Expect(const LogFingerprint& fingerprint, const std::optional<State>& state,
              std::span<const ZoneInfo> report) {
    total_ = 0;
    for (const ZoneInfo& info : fingerprint.zones) total_ += info.WrittenBytes();
    if (!state) return;
    last_state_ = *state;
    for (const auto& [id, zone] : state->log_zones()) {
      if (id.value < report.size()) total_ += report[id.value].WrittenBytes();
    }
    for (const auto& [id, record] : state->files()) {
      for (const Extent& extent : record->extents) {
        total_ += RoundUp(extent.length, device_.geometry().block_size);
      }
    }
  }

  ZonedDevice& device_;
  const Superblock& superblock_;
  const ScrubOptions& options_;
  LogFollower follower_;
  LiveBuffers buffers_;
  bool maker_lived_ = false;  // at the last update of the buffers
  State last_state_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  const std::function<void(std::uint64_t)> advance_ = [this](std::uint64_t bytes) {
    done_ += bytes;
    if (options_.progress) options_.progress(std::min(done_, total_), total_);
  };
};

Result<ScrubReport> ScrubOnView(ZonedDevice& device, const ScrubOptions& options) {
  Result<Superblock> superblock = ProbeSuperblock(device);
  if (!superblock && superblock.error().code() == Code::kCorruption) {
    // A single flipped bit; ScrubMetadata reports it.
    if (const Result<SuperblockCopy> corrected = CorrectedSuperblock(device))
      superblock = corrected->superblock;
  }
  if (!superblock) return Fail(superblock.error());
  ZENFS_RETURN_IF_ERROR(PlanSlots(device.geometry(), device.name()));
  return Scrub(device, *superblock, options).Run();
}

}  // namespace

Result<ScrubReport> ScrubVolume(ZonedDevice& device, const ScrubOptions& options) {
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  const std::unique_ptr<ZonedDevice> view = MakeReadOnlyView(*guarded);
  const std::unique_ptr<ZonedDevice> paced = MakePacedView(*view, options.bytes_per_second);
  Result<ScrubReport> report = ScrubOnView(*paced, options);
  ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*paced));
  return report;
}

}  // namespace zenfs
