// Names of files and directories for messages: the number and the paths.
//
// Volumes have millions of names and paths may be long, so no path is kept. The first question builds an index of 24 bytes per
// name; each answer joins at most kNamesShown paths. A file with more names is described by the first ones found from the
// root down, and the others are counted.
//
// Threads: one at a time, because the first question builds the index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/state.h"

namespace zenfs {

class FileNames {
 public:
  static constexpr std::size_t kNamesShown = 3;
  // Older volumes may hold longer paths. Their end is shown, after "...".
  static constexpr std::size_t kPathBytesShown = 4096;

  // `state` must outlive this object and not change.
  explicit FileNames(const State& state);
  // For directories that may not form a tree. `find` returns null for an id that is not a directory. From the first question
  // on, no known entry may be removed. New entries are not seen.
  explicit FileNames(std::function<const Directory*(FileId)> find);

  struct Paths {
    std::vector<std::string> whole;  // at most kNamesShown, in alphabetical order, each "/db/000012.sst"
    std::uint64_t others = 0;        // the number of names that `whole` leaves out
  };
  Paths PathsOf(FileId id) const;
  // "file 12 (/db/000012.sst)", "file 12 (/a, /b)", "file 12 (/a, /b, /c and 7 more names)", "file 12 (no name)"
  std::string Describe(FileId id) const;
  // "/db/000012.sst"; empty if there is none.
  std::string PathOf(FileId id) const;

 private:
  struct Name {
    FileId id;
    std::uint32_t directory = 0;  // index in `directories`
    const std::string* text = nullptr;
  };
  struct Place {
    std::uint32_t parent = 0;  // index in `directories`, below that of this one; the root's is its own
    const std::string* name = nullptr;  // null for the root
  };
  struct Index {
    std::vector<Place> directories;  // each once, from the root down
    std::vector<Name> names;         // by id
  };

  const Index& Built() const;
  std::span<const Name> NamesOf(FileId id) const;
  // At most kPathBytesShown bytes, and "..." before them if the path is longer.
  std::string Joined(const Name& name) const;

  const std::function<const Directory*(FileId)> find_;
  mutable std::optional<Index> index_;
};

}  // namespace zenfs
