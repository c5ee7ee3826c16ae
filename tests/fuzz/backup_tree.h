// A directory on a tmpfs that inputs fill with anything that a file system can hold, and a second
// one that nobody may change. Most of an input's time would go into system calls for both, so the
// first is restored where it has changed, and the second is read only if it has.
//
//    entries := u8 kind, u8 name, u8 what, u8 n, n bytes
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "change_watch.h"
#include "input.h"

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
  // Makes both directories in the new directory `place`. `names`: paths below the directory for
  // inputs to choose from; inputs also have names of their own. `files`: its contents after Reset.
  BackupTree(std::string place, std::vector<std::string> names, std::map<std::string, std::string> files);
  BackupTree(const BackupTree&) = delete;
  BackupTree& operator=(const BackupTree&) = delete;

  const std::string& path() const { return path_; }
  // The content of the file `name` outside.
  static std::string OutsideText(const std::string& name) { return "outside " + name; }

  // Undoes all changes of the directory.
  void Reset();
  // Creates the file `name`, directly in the directory.
  void Put(const std::string& name, std::string_view text);
  // Creates one entry, if possible.
  void Carry(FuzzInput& input);
  // Fails (Require) if anything outside has changed.
  void RequireOutsideIsUntouched();

  // Reads the file; false if it is not a regular file below directories. Follows no link.
  bool Read(const std::string& relative, std::string& text) const;
  // True if Read can read it.
  bool IsFile(const std::string& relative) const;

 private:
  void Rebuild(const std::set<std::string>& changed);
  void WatchOutside();
  bool IsBelowDirectories(const std::string& relative) const;
  static bool IsOwnFile(const std::string& path);
  std::string Name(std::uint8_t choice, ByteView bytes) const;
  std::string Outside() const;

  const std::string place_;
  const std::string path_;
  const std::vector<std::string> names_;
  const std::map<std::string, std::string> files_;
  std::set<std::string> directories_;  // that `files_` need
  std::string outside_;                // its state at the beginning
  ChangeWatch watch_;                  // of `directories_`
  ChangeWatch outside_watch_;
};

}  // namespace zenfs
