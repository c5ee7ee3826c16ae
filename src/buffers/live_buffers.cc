#include "buffers/live_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/sync_point.h"
#include "base/zeros.h"
#include "buffers/buffer_area_place.h"

namespace zenfs {
namespace {

constexpr std::string_view kMayBeMissing = "bytes that were flushed and not synced may be missing";
constexpr std::string_view kRefused = "the next read-write mount needs the option discard_unsynced";

SlotControl DecodeControl(const std::byte* at) {
  static_assert(sizeof(SlotControl) == offsetof(BufferAreaControl, reserved));
  SlotControl control;
  std::memcpy(&control, at, sizeof control);
  return control;
}

Result<SlotControl> ReadControl(const OpenedBuffers& opened, std::uint32_t slot) {
  std::byte bytes[sizeof(SlotControl)];
  ZENFS_RETURN_IF_ERROR(
      opened.memory.ReadAt(opened.header.controls_offset + slot * sizeof(BufferAreaControl), bytes));
  return DecodeControl(bytes);
}

// Part of `now` is new: bytes of a plain file that `before` may lack.
bool HasNewTail(std::span<const SlotControl> before, std::span<const SlotControl> now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].empty() || now[i].record_bytes == 0) continue;
    if (before[i].empty() || !before[i].SamePlace(now[i])) return true;
  }
  return false;
}

}  // namespace

bool FlushedBytes::Unchanged() const {
  const std::shared_ptr<const OpenedBuffers> opened = buffers.lock();
  if (opened == nullptr) return false;
  const auto now = ReadControl(*opened, slot);
  return now && *now == control;
}

std::span<const FlushedBytes> LiveBuffers::PiecesOf(FileId owner) const {
  const auto [first, last] =
      std::ranges::equal_range(pieces_, owner, {}, [](const FlushedBytes& b) { return b.piece.owner; });
  return {first, last};
}

Result<std::vector<SlotControl>> ReadControls(const SharedMemory& memory, const BufferAreaHeader& header) {
  std::vector<std::byte> bytes(header.slots * sizeof(BufferAreaControl));
  ZENFS_RETURN_IF_ERROR(memory.ReadAt(header.controls_offset, bytes));
  std::vector<SlotControl> controls(header.slots);
  for (std::size_t i = 0; i < controls.size(); ++i)
    controls[i] = DecodeControl(bytes.data() + i * sizeof(BufferAreaControl));
  return controls;
}

Result<std::vector<SlotControl>> LiveBuffers::ReadControls() const {
  return zenfs::ReadControls(opened_->memory, opened_->header);
}

void LiveBuffers::Peek() {
  peeked_ = std::vector<SlotControl>();
  if (opened_ == nullptr) return;
  auto controls = ReadControls();
  if (controls) {
    peeked_ = *std::move(controls);
  } else {
    peeked_.reset();
  }
}

void LiveBuffers::Fail(std::string problem, bool damaged) {
  problem_ = std::move(problem);
  damaged_ = damaged;
  if (damaged) problem_ += fmt::format("; {}", kRefused);
  opened_.reset();
  refused_.reset();
  slots_.clear();
  pieces_.clear();
  slots_changed_ = false;
}

bool LiveBuffers::IsStillRefused() const {
  if (!refused_ || FileStamp::Of(path_) != refused_->stamp) return false;
  // Stores through a mapping change no time of the file. What a writer stores shows in the controls.
  const auto now = zenfs::ReadControls(refused_->buffers->memory, refused_->buffers->header);
  return now && *now == refused_->controls;
}

void LiveBuffers::Update(const WhoseBuffers& whose, Deadline patience) {
  SyncPoint::Reach("LiveBuffers::Update");
  const bool same = whose.place == whose_.place && whose.epoch == whose_.epoch && whose.key == whose_.key;
  if (same && IsStillRefused()) {
    changes_ = {.all = true, .owners = {}};
    return;
  }
  if (!same || opened_ == nullptr) {
    const bool none = opened_ == nullptr && problem_.empty();
    Open(whose);
    if (!none || opened_ != nullptr || !problem_.empty()) peeked_.reset();
  }
  changes_ = {.all = !peeked_, .owners = {}};
  if (opened_ == nullptr) return;
  const auto controls = ReadControls();
  Status read = controls ? ReadSlots(*controls, patience) : zenfs::Fail(controls.error());
  if (read.ok()) read = MakePieces();
  if (!read.ok()) {
    changes_.all = true;
    std::optional<Refused> refused;
    const bool lasting =
        read.error().code() == Code::kCorruption || read.error().code() == Code::kNotSupported;
    if (controls && lasting && stamp_.settled)
      refused = {.buffers = opened_, .controls = *controls, .stamp = stamp_};
    Fail(fmt::format("append buffers of the last writer: {}; {}", read.error().ToString(), kMayBeMissing),
         true);
    refused_ = std::move(refused);
    return;
  }
  NoteChanges();
}

void LiveBuffers::Open(const WhoseBuffers& whose) {
  whose_ = whose;
  Fail("", false);
  path_.clear();
  if (whose.place.empty()) return;
  const auto place = BufferAreaPlace::Parse(whose.place);
  if (!place) {
    return Fail(fmt::format("\"{}\" is not a valid place of append buffers; {}", whose.place, kMayBeMissing),
                true);
  }
  path_ = place->path;
  if (place->boot != whose.boot) return;  // lost with the power, as on any file system
  stamp_ = FileStamp::Of(path_);
  Result<SharedMemory> memory =
      SharedMemory::Open(path_, SharedMemory::Access::kRead, whose.owners, kBufferAreaHeaderBytes);
  if (!memory) {
    if (memory.error().code() == Code::kNotFound) {
      return Fail(
          fmt::format("the append buffers {} of the last writer are not there: removed, or in another "
                      "container; {}",
                      path_, kMayBeMissing),
          false);
    }
    auto foreign = ForeignNotice(path_, whose);
    if (foreign && !whose.key.empty()) return Fail(*std::move(foreign), false);
    return Fail(
        fmt::format("append buffers of the last writer: {}; {}", memory.error().ToString(), kMayBeMissing),
        memory.error().code() != Code::kPermission);
  }
  const Result<BufferAreaHeader> header = memory->file_bytes() > SharedMemory::kWholeBytesMax
                                              ? zenfs::Fail(Code::kCorruption, "is too large")
                                              : ReadBufferAreaHeader(memory->view(), memory->file_bytes());
  if (!header) {
    return Fail(fmt::format("append buffers of the last writer: {}: {}; {}", path_, header.error().ToString(),
                            kMayBeMissing),
                true);
  }
  if (header->identity != whose.identity) return Fail(CopyNotice(path_), false);
  if (const Status own = CheckIsOfMount(*header, whose, path_); !own.ok())
    return Fail(fmt::format("append buffers of the last writer: {}", own.error().ToString()), true);
  slots_.resize(header->slots);
  opened_ = std::make_shared<OpenedBuffers>(OpenedBuffers{*std::move(memory), *header});
}

Status LiveBuffers::ReadSlots(std::vector<SlotControl> controls, Deadline patience) {
  // Equal to an earlier look: nothing moved between them.
  for (bool whole = peeked_ && controls == *peeked_;;) {
    SyncPoint::Reach("LiveBuffers::ReadSlots");
    while (!whole) {
      ZENFS_ASSIGN_OR_RETURN(std::vector<SlotControl> now, ReadControls());
      whole = !HasNewTail(controls, now) || patience.Passed();
      if (!whole) controls = std::move(now);
    }
    for (std::uint32_t i = 0; i < controls.size() && whole; ++i) {
      ZENFS_ASSIGN_OR_RETURN(const bool stayed, ReadSlotBytes(i, controls[i], patience));
      whole = stayed || patience.Passed();
    }
    if (whole) return {};
    ZENFS_ASSIGN_OR_RETURN(controls, ReadControls());
  }
}

Result<bool> LiveBuffers::ReadSlotBytes(std::uint32_t number, SlotControl control, Deadline patience) {
  Slot& slot = slots_[number];
  for (bool doubted = false;;) {
    slots_changed_ = slots_changed_ || slot.control != control;
    if (control.empty()) {
      slot = {};
      return true;
    }
    Status sound = CheckSlotLength(opened_->header, number, control);
    const std::uint64_t length = PublishedLength(control.published);
    const bool grown =
        sound.ok() && slot.bytes != nullptr && slot.control.SamePlace(control) && length >= slot.length;
    if (grown && slot.length == length && slot.crc == PublishedCrc(control.published)) {
      slot.control = control;
      return true;
    }
    if (!grown) {
      slot = {};
      slot.crc = SlotSeed(opened_->header, whose_, control);
    }
    if (sound.ok()) {
      const std::uint64_t capacity = opened_->header.buffer_bytes - kBufferAreaPayloadAt;
      if (slot.bytes == nullptr) slot.bytes = MakeZeroPages(capacity);
      const ByteSpan fresh(slot.bytes.get() + slot.length, length - slot.length);
      const std::uint64_t at = opened_->header.buffers_offset + number * opened_->header.buffer_bytes +
                               kBufferAreaPayloadAt + slot.length;
      SyncPoint::Reach("LiveBuffers::ReadSlotBytes");
      ZENFS_RETURN_IF_ERROR(opened_->memory.ReadPagesAt(at, fresh));
      const std::uint32_t crc = Crc32c(fresh, slot.crc);
      if (crc == PublishedCrc(control.published)) {
        slot.control = control;
        slot.length = length;
        slot.crc = crc;
        return true;
      }
    }
    slot = {};
    if (grown) continue;  // it was cut, and grew again: read all of it
    ZENFS_ASSIGN_OR_RETURN(const SlotControl now, ReadControl(*opened_, number));
    // Equal twice: the writer is not at work here, so this is damage.
    const bool twice = now == control && doubted;
    doubted = now == control;
    if (twice || patience.Passed()) {
      if (!sound.ok()) return zenfs::Fail(sound.error());
      return zenfs::Fail(Code::kCorruption,
                         fmt::format("{}: the {} bytes of file {} in slot {} do not fit their checksum",
                                     path_, length, control.owner, number));
    }
    if (control.record_bytes != 0 && !control.SamePlace(now)) return false;
    if (control.record_bytes != 0 && now.empty()) return false;
    control = now;
  }
}

Status LiveBuffers::MakePieces() {
  if (!slots_changed_) return {};
  std::vector<SlotContent> contents;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.control.empty()) continue;
    const ByteView all(slot.bytes.get(), slot.length);
    if (slot.content) {
      ExtendContent(*slot.content, slot.control, all);
    } else {
      SyncPoint::Reach("LiveBuffers::MakePieces:slot");
      ZENFS_ASSIGN_OR_RETURN(slot.content, ReadSlot(opened_->header, i, slot.control, all, slot.crc));
    }
    contents.push_back(*slot.content);
  }
  KeepLatestTails(contents);
  pieces_.clear();
  for (SlotContent& content : contents) {
    const Slot& slot = slots_[content.slot];
    pieces_.push_back({.piece = std::move(content.piece),
                       .slot = content.slot,
                       .control = slot.control,
                       .buffers = opened_,
                       .memory = slot.bytes});
  }
  slots_changed_ = false;
  return {};
}

void LiveBuffers::NoteChanges() {
  if (changes_.all) return;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const SlotControl& before = (*peeked_)[i];
    if (slots_[i].control == before) continue;
    for (const SlotControl& control : {slots_[i].control, before}) {
      if (!control.empty()) changes_.owners.insert(FileId(control.owner));
    }
  }
}

}  // namespace zenfs
