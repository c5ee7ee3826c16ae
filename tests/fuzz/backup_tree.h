// A directory on a tmpfs that a target's inputs fill with anything that a file system can hold, and one beside it that nobody
// may change. Both have few entries: an input is a few dozen system calls.
//
//   entries := u8 kind, u8 name, u8 what, u8 n, n bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "input.h"
#include "scratch_path.h"

namespace zenfs {

enum class TreeEntry : std::uint8_t {
  kFile,  // with the bytes
  kDirectory,
  kLink,      // symbolic, to what stands outside, or to the bytes
  kHardLink,  // to a file outside
  kPipe,
  kDevice,  // /dev/null's, where this process may make one
  kSocket,
  kRemove,    // what is there goes
  kRename,    // to the name that the bytes' first one says
  kMode,      // permissions
  kTruncate,  // to a size; files can be sparse
  kCount,
};

class BackupTree {
 public:
  // `names` are paths below the directory that inputs choose from, beside names of their own.
  explicit BackupTree(std::vector<std::string> names);
  ~BackupTree();
  BackupTree(const BackupTree&) = delete;
  BackupTree& operator=(const BackupTree&) = delete;

  const std::string& path() const { return path_; }
  // What the file of that name says that stands outside.
  static std::string OutsideText(const std::string& name) { return "outside " + name; }

  // Empties the directory.
  void Clear();
  // The file `relative`, with its parents.
  void Put(const std::string& relative, std::string_view text);
  // One entry. What can't be made is not made.
  void Carry(FuzzInput& input);
  // Fails (Require) if anything outside is not as it was.
  void RequireOutsideIsUntouched();

  // What a file of the name says, or nothing if that is not a regular file below directories. Follows no link.
  bool Read(const std::string& relative, std::string& text) const;

 private:
  bool IsBelowDirectories(const std::string& relative) const;
  static bool IsOwnFile(const std::string& path);
  std::string Name(std::uint8_t choice, ByteView bytes) const;
  std::string Outside() const;

  const std::vector<std::string> names_;
  const ScratchPath place_;
  const std::string path_;
  std::string outside_;  // as it was
};

}  // namespace zenfs
