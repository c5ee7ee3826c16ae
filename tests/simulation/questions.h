// Questions that the simulator asks only once the fault that it found with them is mended.
//
// To ask one from then on, change `false` to `true` in its line. `scripts/simulate --ask=NAME` asks one before, so that a seed
// shows its fault.
//
// Threads: Ask before the first plan is drawn; Asks from any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace zenfs {

enum class Question {
  kFullMount,
  kFullMountWithBadZones,
  kTruncateAfterFlush,
  kLongAppends,
  kReadFlushed,
  kRotInLogs,
  kRotInReopened,
  kRotInTruncated,
  kRotInBackups,
  kStaleLogDevice,
  kStaleMainDevice,
  kCopyBesideOriginal,
  kDeadMetadataZone,
  kMetadataZoneDies,
  kRottenMetadata,
  kDeadLogZone,
  kCount,
};

struct QuestionLine {
  Question question;
  const char* name;
  bool asked;
  const char* fault;
};

inline constexpr QuestionLine kQuestions[] = {
    {Question::kFullMount, "full-mount", true, "a volume full of logs is refused by every later mount"},
    {Question::kFullMountWithBadZones, "full-mount-with-bad-zones", true,
     "the same, if zones have turned read-only, offline or full"},
    {Question::kTruncateAfterFlush, "truncate-after-flush", true,
     "a truncation takes back flushed bytes before its end, or brings back bytes that a flush had replaced"},
    {Question::kLongAppends, "long-appends", true,
     "concurrent appends to a log that are longer than the room in its buffer mix their bytes"},
    {Question::kReadFlushed, "read-flushed", true,
     "readers and backups do not show what a dead process flushed"},
    {Question::kRotInLogs, "rot-in-logs", true, "log cleaning gives rotten frames a new checksum"},
    {Question::kRotInReopened, "rot-in-reopened", true,
     "an append gives the rotten last block a new checksum"},
    {Question::kRotInTruncated, "rot-in-truncated", true,
     "a truncation gives rotten bytes a new checksum, or blames intact ones"},
    {Question::kRotInBackups, "rot-in-backups", true, "a backup of rotten bytes succeeds"},
    {Question::kStaleLogDevice, "stale-log-device", true,
     "with an earlier copy of the log device, synced bytes are lost without a word"},
    {Question::kStaleMainDevice, "stale-main-device", true,
     "an earlier copy of the main device is mounted with the log device of today"},
    {Question::kCopyBesideOriginal, "copy-beside-original", true,
     "after a copy was mounted with the original's log device, the original loses synced bytes without a "
     "word"},
    {Question::kDeadMetadataZone, "dead-metadata-zone", true, "one dead metadata zone costs the volume"},
    {Question::kMetadataZoneDies, "metadata-zone-dies", true,
     "a metadata zone that dies during a log switch, and a power loss then, leave the volume read-only"},
    {Question::kRottenMetadata, "rotten-metadata", true, "one rotten metadata frame costs the volume"},
    {Question::kDeadLogZone, "dead-log-zone", true, "a dead log zone loses synced bytes without a finding"},
};

[[nodiscard]] bool Asks(Question question);
// `names`: separated by commas, or "all". Errors: kInvalidArgument with the unknown name and all names.
[[nodiscard]] Status Ask(const std::string& names);

}  // namespace zenfs
