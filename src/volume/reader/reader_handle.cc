#include "volume/reader/reader_handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/sync_point.h"
#include "file/extent_reader.h"
#include "wal/frame_read.h"

namespace zenfs {
namespace {

void CopyPart(const FlushedPart& part, const ReadRequest& request) {
  const std::uint64_t from = std::max(request.offset, part.offset);
  const std::uint64_t to = std::min(request.offset + request.into.size(), part.end());
  if (from >= to) return;
  std::ranges::copy(part.bytes.subspan(from - part.offset, to - from),
                    request.into.subspan(from - request.offset).begin());
}

}  // namespace

std::shared_ptr<const LiveFile> ReaderHandle::Held() const {
  MutexLock lock(mutex_);
  return file_;
}

void ReaderHandle::Hold(std::shared_ptr<const LiveFile> file) const {
  MutexLock lock(mutex_);
  if (file_->version <= file->version) file_ = std::move(file);
}

std::unexpected<Error> ReaderHandle::Gone() const {
  return Fail(
      Code::kNotFound,
      fmt::format("{} (file {}): its writer has deleted it since it was opened; open the path again to read "
                  "its successor",
                  path_, id_.value));
}

Result<std::shared_ptr<const LiveFile>> ReaderHandle::Renew() const {
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<const LiveFile> now, mount_->live().Find(id_));
  if (now != nullptr) Hold(now);
  return now;
}

std::uint64_t ReaderHandle::size() const {
  const Result<Gate::Entry> entry = mount_->Enter();
  if (entry) IgnoreError(Renew());  // the next read returns the error
  return Held()->size();
}

Status ReaderHandle::ReadLog(const LiveFile& file, const ReadRequest& request, HowToRead how) const {
  const FrameIndex& index = file.log->index;
  const std::uint64_t end = request.offset + request.into.size();
  std::vector<PieceRead> parts;
  std::vector<FrameRead> verified;
  std::vector<Piece> in_sync_blocks;
  for (std::size_t i = index.Find(request.offset); i < index.size() && index[i].file_offset < end; ++i) {
    const Piece& piece = index[i];
    const std::uint64_t from = std::max(request.offset, piece.file_offset);
    const std::uint64_t to = std::min(end, piece.end());
    if (piece.damaged) {
      return Fail(Code::kCorruption, fmt::format("{} (file {}): bytes {} to {} of its log are lost", path_,
                                                 id_.value, piece.file_offset, piece.end()));
    }
    const ByteSpan into = request.into.subspan(from - request.offset, to - from);
    if (piece.in_sync_block) in_sync_blocks.push_back(piece);  // verified below in any case
    if (!how.verify_frames || piece.sequence == 0 || piece.in_sync_block) {
      parts.push_back({piece.place + (from - piece.file_offset), into});
      continue;
    }
    ZENFS_ASSIGN_OR_RETURN(const FrameSeed seed, SeedOf(file, piece));
    verified.push_back({.piece = piece, .seed = seed, .from = from, .into = into});
  }
  ZENFS_RETURN_IF_ERROR(ReadPieces(mount_->device(), id_, parts));
  ZENFS_RETURN_IF_ERROR(ReadFrames(mount_->device(), id_, verified));
  for (const Piece& piece : in_sync_blocks) ZENFS_RETURN_IF_ERROR(CheckSyncBlock(file, piece));
  return {};
}

bool ReaderHandle::ReadFrom(const LiveFile& file, std::span<ReadRequest> all, HowToRead how) const {
  if (all.empty() || file.flushed.empty()) return ReadDevice(file, all, how);
  const std::uint64_t device_end = file.device_end();
  for (const FlushedPart& part : file.flushed) {
    for (ReadRequest& request : all) CopyPart(part, request);
  }
  std::vector<ReadRequest> requests;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].offset >= device_end) continue;
    const std::uint64_t length = std::min<std::uint64_t>(all[i].into.size(), device_end - all[i].offset);
    requests.push_back({.offset = all[i].offset, .into = all[i].into.first(length), .status = {}});
    owners.push_back(i);
  }
  const bool complete = ReadDevice(file, requests, how);
  for (std::size_t i = 0; i < requests.size(); ++i) all[owners[i]].status = std::move(requests[i].status);
  return complete;
}

bool ReaderHandle::ReadDevice(const LiveFile& file, std::span<ReadRequest> requests, HowToRead how) const {
  if (file.log == nullptr) {
    ReadExtentsMany(mount_->device(), file.shown->extents, requests, how.source);
    for (ReadRequest& request : requests) {
      if (request.status.ok()) continue;
      request.status = Fail(request.status.error().With(fmt::format("{} (file {})", path_, id_.value)));
    }
    return true;
  }
  for (ReadRequest& request : requests) {
    request.status = ReadLog(file, request, how);
    if (!request.status.ok() && request.status.error().code() == Code::kBusy) return false;
  }
  return true;
}

Result<FrameSeed> ReaderHandle::SeedOf(const LiveFile& file, const Piece& piece) const {
  const ZoneId id = mount_->device().geometry().ZoneOf(piece.place);
  const auto zone = std::ranges::find(file.log_zones, id, &LogZone::zone);
  if (zone == file.log_zones.end()) return Fail(Code::kBusy, "the zone is no log zone any more");
  return mount_->live().SeedOf(*zone);
}

// A sync block that is read while its writer replaces it shows this frame in either version, or another frame.
Status ReaderHandle::CheckSyncBlock(const LiveFile& file, const Piece& piece) const {
  ZENFS_ASSIGN_OR_RETURN(const FrameSeed seed, SeedOf(file, piece));
  AlignedBuffer block(mount_->device().geometry().block_size);
  const auto held = ReadSyncBlock(mount_->device(), seed, id_, piece, block);
  return held ? Status() : Fail(held.error());
}

// The requests are cut at the size of the last layout that was tried.
Status ReaderHandle::ReadConfirmed(std::span<ReadRequest> requests, HowToRead how) const {
  std::uint64_t wanted = 0;
  std::vector<ByteSpan> whole;
  whole.reserve(requests.size());
  for (const ReadRequest& request : requests) {
    whole.push_back(request.into);
    if (!request.into.empty()) wanted = std::max(wanted, request.offset + request.into.size());
  }
  std::shared_ptr<const LiveFile> file = Held();
  bool gone = false;
  if (wanted > file->size()) {
    ZENFS_ASSIGN_OR_RETURN(auto now, Renew());
    gone = now == nullptr;
    if (!gone) file = std::move(now);
  }
  if (kept_record_ != nullptr && file->record == kept_record_ && file->flushed.empty())
    return ReadKept(whole, requests);
  if (gone) return ReadGone(*file, whole, requests, how);
  std::optional<Deadline> deadline;  // set at the first change, because one read alone may take long
  for (;;) {
    const std::uint64_t size = file->size();
    std::vector<ReadRequest> cut;
    std::vector<std::size_t> owners;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::uint64_t offset = requests[i].offset;
      const std::uint64_t rest = offset < size ? size - offset : 0;
      requests[i].into = whole[i].first(std::min<std::uint64_t>(whole[i].size(), rest));
      requests[i].status = {};
      if (requests[i].into.empty()) continue;
      cut.push_back({.offset = offset, .into = requests[i].into, .status = {}});
      owners.push_back(i);
    }
    if (cut.empty()) return {};  // the layout is new, and the file ends before the requests
    SyncPoint::Reach("ReaderHandle::Read:planned");
    const auto hold = AnnounceZones(*file);
    const bool read = ReadFrom(*file, cut, how);
    std::uint64_t from = UINT64_MAX;
    std::uint64_t to = 0;
    for (const ReadRequest& request : cut) {
      from = std::min(from, request.offset);
      to = std::max(to, request.offset + request.into.size());
    }
    ZENFS_ASSIGN_OR_RETURN(LiveState::Confirmed confirmed, mount_->live().Confirm(file, from, to));
    if (confirmed.file == nullptr) return ReadGone(*file, whole, requests, how);
    if (!read) {
      confirmed.proven = false;
      ZENFS_ASSIGN_OR_RETURN(confirmed.file, Renew());
      if (confirmed.file == nullptr) return ReadGone(*file, whole, requests, how);
    }
    Hold(confirmed.file);
    if (confirmed.proven) {
      NoteConfirmed(hold);
      for (std::size_t i = 0; i < cut.size(); ++i) requests[owners[i]].status = std::move(cut[i].status);
      return {};
    }
    SyncPoint::Reach("ReaderHandle::Read:changed");
    file = std::move(confirmed.file);
    if (!deadline) {
      deadline = Deadline::After(LogFollower::kPatience);
    } else if (deadline->Passed()) {
      return Fail(Code::kTimedOut,
                  fmt::format("{} (file {}): the writer changed it during each read for {} s; try again when "
                              "it writes less",
                              path_, id_.value, LogFollower::kPatience.count()));
    }
  }
}

Status ReaderHandle::ReadKept(std::span<const ByteSpan> whole, std::span<ReadRequest> requests) const {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ReadRequest& request = requests[i];
    const std::uint64_t rest = request.offset < kept_.size() ? kept_.size() - request.offset : 0;
    request.into = whole[i].first(std::min<std::uint64_t>(whole[i].size(), rest));
    request.status = {};
    if (!request.into.empty()) {
      std::memcpy(request.into.data(), kept_.data() + request.offset, request.into.size());
    }
  }
  return {};
}

std::shared_ptr<const AnnouncedZones::Hold> ReaderHandle::AnnounceZones(const LiveFile& file) const {
  {
    MutexLock lock(mutex_);
    const bool same = announced_.record == file.shown && announced_.log == file.log;
    if (same && (announced_.hold == nullptr || announced_.hold->WriterRuns())) return announced_.hold;
  }
  std::vector<ZoneId> zones;
  for (const Extent& extent : file.shown->extents) {
    const ZoneId zone = mount_->device().geometry().ZoneOf(extent.place);
    if (zones.empty() || zones.back() != zone) zones.push_back(zone);
  }
  for (const LogZone& zone : file.log_zones) zones.push_back(zone.zone);
  // Announced before the earlier announcement ends.
  Announced next{
      .record = file.shown, .log = file.log, .hold = mount_->announcements().Announce(std::move(zones))};
  MutexLock lock(mutex_);
  std::swap(announced_, next);
  const auto hold = announced_.hold;
  lock.Unlock();  // before `next` is destroyed
  return hold;
}

void ReaderHandle::NoteConfirmed(const std::shared_ptr<const AnnouncedZones::Hold>& hold) const {
  MutexLock lock(mutex_);
  if (announced_.hold == hold) announced_.confirmed = true;
}

Status ReaderHandle::Secure() {
  const std::shared_ptr<const LiveFile> file = Held();
  if (file->log == nullptr && file->size() <= kKeptMax) return KeepBytes();
  const auto hold = AnnounceZones(*file);
  if (hold == nullptr) return {};
  ZENFS_ASSIGN_OR_RETURN(const LiveState::Confirmed confirmed, mount_->live().Confirm(file, UINT64_MAX, 0));
  if (confirmed.file == nullptr) return Gone();
  Hold(confirmed.file);
  if (confirmed.proven) NoteConfirmed(hold);
  return {};
}

Status ReaderHandle::KeepBytes() {
  const std::shared_ptr<const LiveFile> file = Held();
  const std::uint64_t size = file->size();
  AlignedBuffer bytes(size);  // read without another copy
  ZENFS_ASSIGN_OR_RETURN(const std::size_t n, Read(0, bytes.Whole().first(size)));
  const std::shared_ptr<const LiveFile> now = Held();
  if (n != size || now->size() != n || now->log != nullptr || !now->flushed.empty())
    return {};  // it has grown or shrunk: not such a file
  kept_.assign(bytes.data(), bytes.data() + n);
  kept_record_ = now->record;
  return {};
}

Result<std::size_t> ReaderHandle::Read(std::uint64_t offset, ByteSpan into, ReadSource source) const {
  return ReadOne(offset, into, {.source = source});
}

Result<std::size_t> ReaderHandle::ReadVerified(std::uint64_t offset, ByteSpan into) const {
  return ReadOne(offset, into, {.verify_frames = true});
}

Result<std::size_t> ReaderHandle::ReadOne(std::uint64_t offset, ByteSpan into, HowToRead how) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  ReadRequest request{.offset = offset, .into = into, .status = {}};
  ZENFS_RETURN_IF_ERROR(ReadConfirmed(std::span(&request, 1), how));
  ZENFS_RETURN_IF_ERROR(request.status);
  return request.into.size();
}

void ReaderHandle::Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const {
  const Result<Gate::Entry> entry = mount_->Enter();
  const std::shared_ptr<const LiveFile> file = Held();
  if (entry && file->log == nullptr)
    AdviseExtents(mount_->device(), file->shown->extents, offset, length, advice);
}

void ReaderHandle::ReadMany(std::span<ReadRequest> requests, ReadSource source) const {
  const Result<Gate::Entry> entry = mount_->Enter();
  const Status read = entry ? ReadConfirmed(requests, {.source = source}) : Fail(entry.error());
  if (read.ok()) return;
  for (ReadRequest& request : requests) {
    request.status = read;
    request.into = request.into.first(0);
  }
}

// --- a file that its writer has deleted ---
//
// On POSIX such a file can be read until it is closed. Here its bytes stay on the device until their zones are reset, which the
// reader does not see. So each byte that is returned is proven by its checksum: that of the whole frame, whose seed belongs to this
// incarnation of its log zone, or that of the whole extent, from the metadata.

namespace {

// An extent is read whole for any byte of it. Longer ones are not read.
constexpr std::uint64_t kProvenExtentMax = std::uint64_t{32} << 20;
constexpr std::uint64_t kProofReadBytes = 256 << 10;

std::unexpected<Error> Unproven(std::uint64_t offset) {
  return Fail(Code::kNotFound, fmt::format("byte {} can't be read any more", offset));
}

// Reads the whole extent and copies its bytes from file offset `from` on.
Status ReadProven(ZonedDevice& device, const Extent& extent, std::uint64_t from, ByteSpan into) {
  ZENFS_ASSERT(extent.file_offset <= from && from + into.size() <= extent.end());
  if (!extent.crc || extent.length > kProvenExtentMax) return Unproven(from);
  AlignedBuffer buffer(std::min(kProofReadBytes, RoundUp(extent.length, device.geometry().block_size)));
  std::uint32_t crc = 0;
  for (std::uint64_t at = extent.file_offset; at < extent.end(); at += buffer.size()) {
    buffer.Resize(std::min(kProofReadBytes, extent.end() - at));
    if (!ReadExtents(device, std::span(&extent, 1), at, buffer.Span()).ok()) return Unproven(from);
    crc = Crc32c(buffer.View(), crc);
    const std::uint64_t begin = std::max(at, from);
    const std::uint64_t end = std::min(at + buffer.size(), from + into.size());
    if (begin < end) std::memcpy(into.data() + (begin - from), buffer.data() + (begin - at), end - begin);
  }
  return crc == *extent.crc ? Status() : Unproven(from);
}

Status ReadExtentBytes(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                       ByteSpan into) {
  for (const Extent& extent : extents) {
    if (extent.end() <= offset) continue;
    if (into.empty()) break;
    if (extent.file_offset > offset) return Unproven(offset);
    const std::uint64_t n = std::min<std::uint64_t>(into.size(), extent.end() - offset);
    ZENFS_RETURN_IF_ERROR(ReadProven(device, extent, offset, into.first(n)));
    offset += n;
    into = into.subspan(n);
  }
  return into.empty() ? Status() : Unproven(offset);
}

// `piece` is a frame. Its seed is that of the log zone as it was allocated when the file was looked up.
Status ReadFrameBytes(ZonedDevice& device, const LiveState& live, const LiveFile& file, const Piece& piece,
                      std::uint64_t from, ByteSpan into) {
  const ZoneId id = device.geometry().ZoneOf(piece.place);
  const auto zone = std::ranges::find(file.log_zones, id, &LogZone::zone);
  if (zone == file.log_zones.end() || piece.damaged) return Unproven(from);
  const FileId owner = file.record->id;
  AlignedBuffer buffer(std::max<std::uint64_t>(piece.frame_bytes, device.geometry().block_size));
  FrameHeader header;
  if (piece.in_sync_block) {
    const auto held = ReadSyncBlock(device, live.SeedOf(*zone), owner, piece, buffer);
    if (!held) return Unproven(from);
    header = *held;
  } else {
    const DeviceOffset start(piece.place.value - kFrameHeaderBytes);
    buffer.Resize(piece.frame_bytes);
    if (!device.Read(start, buffer.Span()).ok()) return Unproven(from);
    const ParsedFrame frame =
        ParseFrame(buffer.View(), live.SeedOf(*zone), device.geometry().block_size, piece.frame_bytes);
    header = frame.header;
    if (!frame.valid() || header.kind != FrameKind::kLogData || header.owner != owner.value ||
        header.sequence != piece.sequence) {
      return Unproven(from);
    }
  }
  if (header.file_offset > from || header.file_offset + header.payload_bytes < from + into.size())
    return Unproven(from);
  std::memcpy(into.data(), buffer.data() + header.header_bytes + (from - header.file_offset), into.size());
  return {};
}

Status ReadOne(ZonedDevice& device, const LiveState& live, const LiveFile& file, const ReadRequest& request) {
  if (file.log == nullptr) return ReadExtentBytes(device, file.shown->extents, request.offset, request.into);
  const FrameIndex& index = file.log->index;
  const std::uint64_t end = request.offset + request.into.size();
  if (end > index.end()) return Unproven(index.end());
  for (std::size_t i = index.Find(request.offset); i < index.size() && index[i].file_offset < end; ++i) {
    const Piece& piece = index[i];
    const std::uint64_t from = std::max(request.offset, piece.file_offset);
    const ByteSpan into = request.into.subspan(from - request.offset, std::min(end, piece.end()) - from);
    ZENFS_RETURN_IF_ERROR(piece.sequence == 0 ? ReadExtentBytes(device, file.shown->extents, from, into)
                                              : ReadFrameBytes(device, live, file, piece, from, into));
  }
  return {};
}

// Fills the requests, which end at most at file.size(), with bytes of `file`, the last layout that was known of it.
// Errors: kNotFound if a byte can't be proven.
Status ReadDeleted(ZonedDevice& device, const LiveState& live, const LiveFile& file,
                   std::span<ReadRequest> requests) {
  for (const ReadRequest& request : requests) {
    ZENFS_ASSERT(request.offset + request.into.size() <= file.size());
    ZENFS_RETURN_IF_ERROR(ReadOne(device, live, file, request));
  }
  return {};
}

}  // namespace

Status ReaderHandle::ReadGone(const LiveFile& file, std::span<const ByteSpan> whole,
                              std::span<ReadRequest> requests, HowToRead how) const {
  std::shared_ptr<const AnnouncedZones::Hold> hold;
  {
    MutexLock lock(mutex_);
    const bool same = announced_.record == file.shown && announced_.log == file.log;
    if (same && announced_.confirmed) hold = announced_.hold;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ReadRequest& request = requests[i];
    const std::uint64_t rest = request.offset < file.size() ? file.size() - request.offset : 0;
    request.into = whole[i].first(std::min<std::uint64_t>(whole[i].size(), rest));
    request.status = {};
    if (request.into.empty()) continue;
    if (hold != nullptr && ReadFrom(file, std::span(&request, 1), how) && request.status.ok() &&
        hold->NoneWasReset())
      continue;
    request.status = {};
    if (!ReadDeleted(mount_->device(), mount_->live(), file, std::span(&request, 1)).ok()) return Gone();
  }
  return {};
}

}  // namespace zenfs
