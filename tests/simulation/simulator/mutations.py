"""Rules of ZenFS, and mutations that break them and must be found by the simulator.

A mutation replaces one piece of one file, or more where a rule is kept in several places. The piece must be there exactly
once: a check of the style sees to that, so a change of the code can't leave a mutation behind that does nothing.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Piece:
    file: str
    old: str
    new: str


class Mutation:
    """`rule` is broken by one piece, given by its parts, and by `more` pieces."""

    def __init__(self, name, rule, file, old, new, *more):
        self.name, self.rule = name, rule
        self.pieces = (Piece(file, old, new), *more)


MUTATIONS = (
    Mutation("no-flush-before-switch-complete", "a generation is complete only when all of it is on stable media",
             "src/metalog/checkpoint.cc",
             '  ZENFS_RETURN_IF_ERROR(FlushWrittenSince(log_.device_, written_since_));\n  SyncPoint::Reach("Metalog::Checkpoint::CompleteGeneration:flushed");',
             '  SyncPoint::Reach("Metalog::Checkpoint::CompleteGeneration:flushed");'),
    Mutation("no-flush-after-switch-complete", "commits go to a generation only when its completion is on stable media",
             "src/metalog/checkpoint.cc", "  if (done.ok()) done = FlushWrittenSince(log_.device_, written_since_);\n  if (done.ok()) return {};",
             "  if (done.ok()) return {};"),
    Mutation("last-commits-left-out-of-switch", "a generation has the commits that were made while it was written",
             "src/metalog/checkpoint.cc", "  TakeLead();\n  return WritePending();", "  TakeLead();\n  return {};"),
    Mutation("commit-without-flush", "a commit is on stable media when it returns",
             "src/metalog/group_commit.cc", "    if (written.ok()) return FlushWrittenSince(log_.device_, mark);",
             "    static_cast<void>(mark);\n    if (written.ok()) return {};"),
    Mutation("data-not-flushed-before-commit", "data is on stable media before the commit that points to it is",
             "src/metalog/group_commit.cc", "batch_.flush_data_first ? FlushDevice(log_.device_) : Status{};",
             "batch_.flush_data_first ? Status{} : Status{};"),
    Mutation("torn-metadata-tail-kept", "nothing is written behind a torn frame",
             "src/metalog/metalog.cc", "  if (tail_is_clean && superblock_is_there) return ReplaceLostCopy(chain, has_lost_copies);\n",
             "  if (superblock_is_there) return ReplaceLostCopy(chain, has_lost_copies);\n"),
    Mutation("unfinished-switch-left", "what a log switch left unfinished is never found complete by a later mount",
             "src/metalog/metalog.cc", "  if (newer_traces) zones_.ResetAllBut(chain);", "  static_cast<void>(newer_traces);"),
    Mutation("crc-not-checked", "a frame counts only if its checksum fits", "src/format/frame.cc",
             "  if (crc != parsed.header.crc) return parsed;", "  static_cast<void>(crc);"),
    Mutation("seed-without-generation", "a frame from an earlier incarnation of its zone never fits",
             "src/format/frame.cc", "  put(&generation, sizeof generation);\n  put(&salt, sizeof salt);\n",
             "  const std::uint64_t none = 0;\n  put(&none, sizeof generation);\n  put(&none, sizeof salt);\n"
             "  static_cast<void>(generation);\n  static_cast<void>(salt);\n"),
    Mutation("log-not-flushed", "a synced record of a log is on stable media", "src/wal/frame_writer.cc",
             "  if (!flush || !geometry_.volatile_cache) return;", "  return;"),
    Mutation("log-flushes-the-main-device", "a sync flushes the device that the log is on", "src/device/zoned_device.h",
             "return device.FlushDeviceOf(ZoneId(device.geometry().zone_count - 1));", "return device.FlushDeviceOf(ZoneId(0));"),
    Mutation("older-log-device-mounted", "a log device from before the last mount is refused", "src/volume/pair_proof.cc",
             "return epoch < main.epoch ? PairVerdict::kLogsOlder :", "return epoch < main.epoch ? PairVerdict::kTogether :"),
    Mutation("older-main-device-mounted", "a main device from before the last mount, or beside whose copy the logs were written, is refused",
             "src/volume/pair_proof.cc", "PairVerdict::kLogsOlder : PairVerdict::kMainOlder;",
             "PairVerdict::kLogsOlder : PairVerdict::kTogether;"),
    Mutation("append-not-flushed", "a sync is not over before its own append is on stable media", "src/wal/frame_writer.cc",
             "  if (!queued.job->flush || !geometry_.volatile_cache) return;\n  mutex_.Unlock();", "  return;\n  mutex_.Unlock();"),
    Mutation("append-error-dropped", "a failed append fails the sync, or its bytes are placed anew", "src/wal/frame_writer.cc",
             "  const Status placed = ZoneAppend(queued, reserved);\n",
             "  const Status appended = ZoneAppend(queued, reserved);\n  static_cast<void>(appended);\n  const Status placed{};\n"),
    Mutation("append-place-ignored", "a frame is where the device put it", "src/wal/frame_writer.cc",
             "  PlacedFrame frame = queued.PartAt(at, ",
             "  PlacedFrame frame = queued.PartAt(DeviceOffset(current_.at.value - reserved.bytes), "),
    Mutation("gap-skipped", "a log ends at the first gap", "src/wal/wal_recovery.cc",
             "      if (frame->file_offset > out_.index.end()) break;\n      Take(*frame, UINT64_MAX);\n      ++last;",
             "      Take(*frame, UINT64_MAX);\n      ++last;",
             Piece("src/wal/wal_recovery.cc", "    while (const ScannedFrame* frame = Find(epoch_, last + 1)) {",
                   "    while (const ScannedFrame* frame = FindNext(epoch_, last + 1, UINT64_MAX)) {\n"
                   "      last = frame->sequence - 1;")),
    Mutation("scan-ends-at-hole", "blocks that are no frame do not hide the frames behind them", "src/wal/wal_recovery.cc",
             "      at += hole >= kScanStepBytes ? hole : block;\n", "      break;\n"),
    Mutation("sync-block-in-place", "the only copy of a synced byte is never rewritten", "src/wal/zrwa_sync_blocks.cc",
             "  const bool second = !confirmed_second_;", "  const bool second = confirmed_second_;"),
    Mutation("sync-block-not-flushed", "a sync in a sync block is on stable media", "src/wal/framed_file.cc",
             "  Status flushed = written.ok() && device_.geometry().volatile_cache ? FlushLogs(device_) : Status();",
             "  Status flushed;"),
    Mutation("sync-blocks-not-moved", "a sync zone is reset only when its frames are elsewhere", "src/volume/mount/recovery.cc",
             "  return MoveSyncBlocks();", "  return {};"),
    Mutation("truncation-keeps-synced-end", "what is appended behind a truncation is not synced yet",
             "src/wal/framed_file.cc",
             "    file.sync_end_ = 0;  // the sync block may have bytes behind the new end\n", ""),
    Mutation("no-seal", "frames behind the end that a mount found are dead for ever", "src/volume/mount/recovery.cc",
             "    edits.push_back(std::move(seal));\n", ""),
    Mutation("mount-does-not-flush", "what a mount vouches for is on stable media first", "src/volume/mount/recovery.cc",
             "parts_->metalog->Commit(std::move(edits), {.data_since = FlushMark::AtOpen()})",
             "parts_->metalog->Commit(std::move(edits), {})",
             Piece("src/metalog/metalog.cc",
                   "  ZENFS_RETURN_IF_ERROR(FlushDevice(device_));\n  std::vector<ZoneId> chain;", "  std::vector<ZoneId> chain;")),
    Mutation("ids-reused", "an id is never used again", "src/volume/mount/namespace.h",
             "return FileId(next_++);", "return FileId(limit_ - kBatch + next_++ % 24);"),
    Mutation("epoch-not-begun", "frames of a mount are told from those before it", "src/volume/mount/volume_parts.cc",
             ".epoch = epoch,\n           .space_wait", ".epoch = epoch - 1,\n           .space_wait"),
    Mutation("rename-in-two-commits", "a rename over a file is one commit", "src/volume/mount/namespace.cc",
             "  if (!same) edits.push_back(RenameEntry{from.parent, from.name, to.parent, to.name});",
             "  if (!same && to.kind == Entry::Kind::kFile && !to.pending)\n"
             "    ZENFS_RETURN_IF_ERROR(deps_.commits.Commit({UnlinkFile{to.parent, to.name}}));\n"
             "  if (!same) edits.push_back(RenameEntry{from.parent, from.name, to.parent, to.name});"),
    Mutation("failed-commit-goes-on", "a commit of unknown outcome is fenced", "src/metalog/group_commit.cc",
             "    Fence(written.error());", "    Refuse(written.error());\n    log_.queue_.EndLead();",
             # It goes on behind whatever the zone took.
             Piece("src/metalog/generation_writer.cc", "    zones_.WriteFailed(copy.zone, copy.written.error());",
                   "    zones_.WriteFailed(copy.zone, copy.written.error());\n"
                   "    if (const auto now = device_.Report(zone(), 1)) position_ = now->front().WrittenBytes();")),
    Mutation("live-log-zone-released", "a log zone is released only when no frame in it is live",
             "src/wal/log_zones.cc", "if (zone.state != State::kClosed || zone.live.device_bytes != 0 || zone.releasing) continue;",
             "if (zone.state != State::kClosed || zone.releasing) continue;",
             # The files that have frames there pin it, too.
             Piece("src/wal/log_zones.cc", "    if (manager_.Zone(id).pins != 0) continue;  // of readers of frames that were moved\n", "")),
    Mutation("dead-before-commit", "space is given up only when the commit that frees it is durable",
             "src/metalog/group_commit.cc", "  SyncPoint::Reach(\"Metalog::BatchLead::Write\");\n  std::vector<const std::string*> lists;",
             "  log_.mutex_.Lock();\n  CommitSink* sink = log_.sink_;\n  log_.mutex_.Unlock();\n"
             "  if (sink != nullptr) for (const CommitCall* call : batch_.calls) sink->OnCommitted(*call->edits);\n"
             "  std::vector<const std::string*> lists;",
             Piece("src/metalog/group_commit.cc", "    for (const CommitCall* call : batch_.calls) sink->OnCommitted(*call->edits);",
                   "    static_cast<void>(sink);")),
    Mutation("moved-without-flush", "only copies on stable media are pointed to", "src/reclaim/zone_mover.cc",
             "deps_.commits.Commit(std::move(edits), {.data_since = copying_since_})",
             "deps_.commits.Commit(std::move(edits), {})"),
    Mutation("failed-flush-forgotten", "a flush that works makes nothing durable that was written before one that failed",
             "src/device/flush_mark.cc", "  if (!mark.FlushFailedSince(device)) return {};",
             "  static_cast<void>(mark);\n  if (true) return {};"),
    Mutation("reader-without-pins", "no zone is reset under a reader", "src/file/file_extents.cc",
             "FileView{extents_, pins_}", "FileView{extents_, {}}"),
    Mutation("earlier-memory-taken", "only what the mount before left in shared memory is recovered",
             "src/buffers/orphaned_buffers.cc", "  if ((header.epoch != whose.epoch && !may_be_older) ||\n      ", "  static_cast<void>(may_be_older);\n  if (",
             Piece("src/buffers/orphaned_buffers.cc", "  if (std::memcmp(header.key, key, sizeof(key)) == 0) return {};",
                   "  static_cast<void>(key);\n  return {};")),
    Mutation("flushed-bytes-forgotten", "what was flushed outlives the process", "src/volume/mount/recovery.cc",
             "  ZENFS_RETURN_IF_ERROR(orphans_.TakeOver(state(), logs_, *parts_->buffers));\n", ""),
    Mutation("taken-over-too-late", "the buffers that a mount names have the bytes that it took over", "src/volume/mount/recovery.cc",
             "  ZENFS_RETURN_IF_ERROR(orphans_.TakeOver(state(), logs_, *parts_->buffers));\n", "",
             Piece("src/volume/mount/recovery.cc", "  ZENFS_RETURN_IF_ERROR(CommitMount(renewal));\n",
                   "  ZENFS_RETURN_IF_ERROR(CommitMount(renewal));\n"
                   "  ZENFS_RETURN_IF_ERROR(orphans_.TakeOver(state(), logs_, *parts_->buffers));\n")),
    Mutation("plain-flush-forgotten", "what was flushed of a file that is no log outlives the process",
             "src/open/open_plain_file.cc", "    if (flushed) return {};\n", "    static_cast<void>(flushed);\n    return {};\n"),
    Mutation("flushed-extents-forgotten", "extents that were flushed and not committed outlive the process",
             "src/volume/mount/recovery.cc", "  if (edits.empty()) return std::nullopt;\n",
             "  edits.clear();\n  if (edits.empty()) return std::nullopt;\n"),
    Mutation("added-zones-unnamed", "the headers of a generation name its added zones", "src/metalog/generation_writer.cc",
             ".added = added_};", ".added = {}};"),
    Mutation("zone-given-back-too-early", "no metadata zone is given back while the current generation names it",
             "src/metalog/metazones.cc", "retired_.insert(added_.extract", "superseded_.insert(added_.extract"),
    Mutation("log-in-one-zone", "each frame of the metadata log is in two zones", "src/metalog/checkpoint.cc",
             "    copies_ = log_.wanted_copies_;\n", "    copies_ = 1;\n"),
    Mutation("dead-log-zone-unnamed", "a check names each log that may have lost its end", "src/volume/fsck/log_losses.cc",
             "  return !state.buffer_place().empty() || log.open_window.has_value() ||\n",
             "  static_cast<void>(state);\n  return log.open_window.has_value() ||\n"),
    Mutation("spare-used", "a mount finds a zone for the frames of sync blocks", "src/zone/zone_pool.cc",
             "  share.spare = ", "  share.spare = true ? 0 : "),
    Mutation("cleaned-without-comparing", "bytes that are read to be written again fit their checksum",
             "src/reclaim/zone_mover.cc", "FramedFile::Frames::kVerified", "FramedFile::Frames::kAsTheyAre"),
    Mutation("truncation-not-committed", "a truncation takes back no flushed byte before its end", "src/file/plain_file.cc",
             "        return !MountFindsMore();\n", "        return true;\n"),
    Mutation("moved-without-comparing", "bytes that are moved fit their checksum", "src/reclaim/zone_mover.cc",
             "  return whole == extent.crc.value_or(whole) ? Status() : NotMoved(extent);", "  return {};",
             Piece("src/reclaim/zone_mover.cc", "  if (expected && *expected != *front.crc)", "  if (false)")),
    Mutation("names-not-locked", "two actions on one name go one after the other", "src/catalog/name_locks.cc",
             "Intersect(held.names, keys.names) || ", ""),
    Mutation("names-asked-too-early", "whether a file has a name is known when its commit is made",
             "src/open/open_plain_file.cc", "  if (!has_name) return {};", "  if (unlinked) return {};"),
    Mutation("data-takes-headroom", "data never takes the room that copies need", "src/zone/space_account.cc",
             "room - std::min(room, headroom_ + granted_ + promised_ - own_promise);",
             "room - std::min(room, granted_ + promised_ - own_promise);"),
)
