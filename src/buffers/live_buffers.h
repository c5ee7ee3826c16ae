// The append buffers of the mount that the metadata names, for readers: that mount may run in another process, or may have
// died. Changes nothing and maps nothing (base/shared_memory.h says why).
//
// Why a torn read cannot pass: the bytes below the published length of a slot change only after the slot was emptied or cut. A
// slot is accepted only if its bytes have the CRC of its control, whose seed covers mount, file, offset and record. The writer
// may fill the slot anew during the read; then the control, which was read before the bytes, does not fit them.
//
// All slots of plain files are from one moment. Such a file moves from one slot to another: the new one is published before
// the old one is emptied. So the controls are read again until no new slot of a plain file appears, and until none of the
// seen ones is emptied before its bytes were read. Bytes of framed files move only to the device; a reader that looks at the
// device afterwards finds them there.
//
// Threads: one at a time, except the functions of FlushedBytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/shared_memory.h"
#include "base/status.h"
#include "buffers/orphaned_buffers.h"
#include "format/buffer_area_layout.h"

namespace zenfs {

// The opened file of append buffers.
struct OpenedBuffers {
  SharedMemory memory;  // only the header is copied
  BufferAreaHeader header;
};

// The controls of all slots, as they are now. Errors: those of ReadAt.
[[nodiscard]] Result<std::vector<SlotControl>> ReadControls(const SharedMemory& memory,
                                                            const BufferAreaHeader& header);

// The bytes of one slot at one moment. A value: they stay after the slot has changed.
struct FlushedBytes {
  OrphanedBytes piece;
  std::uint32_t slot = 0;
  SlotControl control;
  std::weak_ptr<const OpenedBuffers> buffers;  // gone once LiveBuffers looks at those of another mount
  std::shared_ptr<const std::byte[]> memory;   // what piece.bytes points into

  // True if the slot, of the mount that the metadata names, has the same bytes now. Threads: any. Cost: one
  // pread(2) of 64 bytes.
  bool Unchanged() const;
};

class LiveBuffers {
 public:
  // Reads the controls, for ChangedSincePeek. Call this before the metadata is read.
  void Peek();
  // Reads the buffers that `whose` names, as they are now: the controls and the bytes that were published since the last
  // Update. `patience`: how long a slot is read again that changes during each read.
  void Update(const WhoseBuffers& whose, Deadline patience);
  // Owners of the slots that the last Update found otherwise than Peek.
  struct Changes {
    bool all = false;  // Peek saw other buffers, or none: each file may be among them
    std::set<FileId> owners;
    bool none() const { return !all && owners.empty(); }
  };
  const Changes& ChangedSincePeek() const { return changes_; }

  // By owner and file offset; at most one of a plain file.
  const std::vector<FlushedBytes>& pieces() const { return pieces_; }
  std::span<const FlushedBytes> PiecesOf(FileId owner) const;

  // One sentence: why flushed bytes may be missing; empty if none can be missing.
  const std::string& problem() const { return problem_; }
  // True if the problem is damage: the next read-write mount refuses the buffers.
  bool damaged() const { return damaged_; }
  // True if there are buffers and their maker runs.
  bool MakerLives() const { return opened_ != nullptr && opened_->memory.MakerLives(); }
  bool opened() const { return opened_ != nullptr; }
  const std::string& path() const { return path_; }

 private:
  // The copy of a slot. Readers hold `bytes`; later appends go behind what they know.
  struct Slot {
    SlotControl control;
    std::shared_ptr<std::byte[]> bytes;  // zeros from `length` on
    std::uint64_t length = 0;
    std::uint32_t crc = 0;
    std::optional<SlotContent> content;  // once it was decoded; the record in it stays while the bytes do
  };
  // A file that was read and refused, so that it is not read again at each Update.
  struct Refused {
    std::shared_ptr<const OpenedBuffers> buffers;
    std::vector<SlotControl> controls;
    FileStamp stamp;
  };

  void Open(const WhoseBuffers& whose);
  void Fail(std::string problem, bool damaged);
  // True if the file is still the one that the last Update refused, with the same bytes.
  bool IsStillRefused() const;
  [[nodiscard]] Result<std::vector<SlotControl>> ReadControls() const;
  [[nodiscard]] Status ReadSlots(std::vector<SlotControl> controls, Deadline patience);
  // Returns false if the slot was a plain file's and was emptied or replaced meanwhile: the file may be in another slot now.
  [[nodiscard]] Result<bool> ReadSlotBytes(std::uint32_t number, SlotControl control, Deadline patience);
  // Makes pieces_ of the slots. Decodes only slots with other bytes than at the last call.
  [[nodiscard]] Status MakePieces();
  void NoteChanges();

  WhoseBuffers whose_;
  std::string path_;
  std::shared_ptr<const OpenedBuffers> opened_;
  FileStamp stamp_;  // of the file, from before it was opened
  std::optional<Refused> refused_;
  std::vector<Slot> slots_;
  bool slots_changed_ = false;  // since pieces_ was made
  std::vector<FlushedBytes> pieces_;
  std::string problem_;
  bool damaged_ = false;
  std::optional<std::vector<SlotControl>> peeked_;  // of opened_; empty if nothing was open
  Changes changes_;
};

}  // namespace zenfs
