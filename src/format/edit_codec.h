// Encodes edits as bytes, for the snapshots and commits of the metadata log.
// docs/formats/metadata-log.md has the grammar.
//
//    list := varint count, count * edit          edit := varint tag, varint length, body
//
// Decoding takes any bytes: it never reads outside them, allocates memory only in proportion to
// them, and refuses lists that no encoder writes (invalid names, unknown shapes, trailing bytes).
// Errors: kNotSupported for an unknown tag, which the text names; otherwise kCorruption.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/coding.h"
#include "base/status.h"
#include "model/edit.h"

namespace zenfs {

// Appends the list to `out`.
void EncodeEdits(std::span<const Edit> edits, std::string& out);

// Builds a list edit by edit, for callers that stop at a size.
class EditListBuilder {
 public:
  void Add(std::span<const Edit> edits);
  // Upper bound of the bytes that Take returns.
  std::size_t size() const { return body_.size() + kMaxCountBytes; }
  bool empty() const { return count_ == 0; }
  // Returns the list so far and empties the builder.
  std::string Take();

 private:
  static constexpr std::size_t kMaxCountBytes = 10;
  std::string body_;
  std::uint64_t count_ = 0;
};

// Decodes one list edit by edit, in the memory of one edit, and so moves `decoder` to its end. `decoder` must outlive it.
class EditListReader {
 public:
  explicit EditListReader(Decoder& decoder);
  // The next edit, which is valid until the next call and may be moved from; null after the last one. After an error the
  // same error again.
  [[nodiscard]] Result<Edit*> Next();
  // Of all edits in the list; 0 also if it is damaged.
  std::uint64_t count() const { return count_; }
  // Bytes behind what was read so far.
  std::size_t remaining() const { return decoder_.remaining(); }

 private:
  Status ReadOne();

  Decoder& decoder_;
  const std::uint64_t count_;
  std::uint64_t read_ = 0;
  std::optional<Edit> edit_;
  Status status_;
};

// Gives `take` the one list that `bytes` is. It must read the list to its end, or return an error, which ends the decoding.
[[nodiscard]] Status DecodeList(ByteView bytes, const std::function<Status(EditListReader&)>& take);

// Decodes one list; `bytes` must end with it.
[[nodiscard]] Result<std::vector<Edit>> DecodeEdits(ByteView bytes);

// Decodes a list of one SetExtents, or an empty list. Refuses other lists, and more than `extents_max` extents, before they take
// memory.
[[nodiscard]] Result<std::optional<SetExtents>> DecodeOneSetExtents(ByteView bytes,
                                                                    std::uint64_t extents_max);

}  // namespace zenfs
