// A directory on a tmpfs that inputs fill with anything that a file system can hold, and a second
// one that nobody may change. Both have few entries, so that an input needs only a few dozen system
// calls.
//
//    entries := u8 kind, u8 name, u8 what, u8 n, n bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "input.h"
#include "scratch_path.h"

namespace zenfs {

enum class TreeEntry : std::uint8_t {
  kFile,  // contains the bytes
  kDirectory,
  kLink,      // symbolic, to a file outside, or to the path in the bytes
  kHardLink,  // to a file outside
  kPipe,
  kDevice,  // that of /dev/null, if this process may create it
  kSocket,
  kRemove,    // removes the existing entry
  kRename,    // to the name chosen by the first byte
  kMode,      // permissions
  kTruncate,  // to a size; files can be sparse
  kCount,
};

class BackupTree {
 public:
  // `names`: paths below the directory for inputs to choose from. Inputs also have names of their
  // own.
  explicit BackupTree(std::vector<std::string> names);
  ~BackupTree();
  BackupTree(const BackupTree&) = delete;
  BackupTree& operator=(const BackupTree&) = delete;

  const std::string& path() const { return path_; }
  // The content of the file `name` outside.
  static std::string OutsideText(const std::string& name) { return "outside " + name; }

  // Empties the directory.
  void Clear();
  // Creates the file `relative` and its parents.
  void Put(const std::string& relative, std::string_view text);
  // Creates one entry, if possible.
  void Carry(FuzzInput& input);
  // Fails (Require) if anything outside has changed.
  void RequireOutsideIsUntouched();

  // Reads the file; false if it is not a regular file below directories. Follows no link.
  bool Read(const std::string& relative, std::string& text) const;

 private:
  bool IsBelowDirectories(const std::string& relative) const;
  static bool IsOwnFile(const std::string& path);
  std::string Name(std::uint8_t choice, ByteView bytes) const;
  std::string Outside() const;

  const std::vector<std::string> names_;
  const ScratchPath place_;
  const std::string path_;
  std::string outside_;  // its state at the beginning
};

}  // namespace zenfs
