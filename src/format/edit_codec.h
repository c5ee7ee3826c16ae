// Edits as bytes: what the metadata log's snapshots and commits are made of. docs/formats/metadata-log.md has
// the grammar.
//
//   list := varint count, count * edit          edit := varint tag, varint length, body
//
// Decoding takes any bytes: it never reads outside them, allocates only in proportion to them, and refuses
// what no encoder writes (impossible names, unknown shapes, bytes left over).
// Errors: kNotSupported for an unknown tag, which the text names; kCorruption for everything else.
#pragma once

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
  // Bytes that Take would return, at most.
  std::size_t size() const { return body_.size() + kMaxCountBytes; }
  bool empty() const { return count_ == 0; }
  // The list so far; the builder is empty afterwards.
  std::string Take();

 private:
  static constexpr std::size_t kMaxCountBytes = 10;
  std::string body_;
  std::uint64_t count_ = 0;
};

// Takes one list off `decoder`.
[[nodiscard]] Result<std::vector<Edit>> DecodeEdits(Decoder& decoder);

// One list and nothing behind it.
[[nodiscard]] Result<std::vector<Edit>> DecodeEdits(ByteView bytes);

}  // namespace zenfs
