// Which RocksDB a program has, and whether a preloaded ZenFS can be its default file system (docs/use/programs.md).
//
// All is read from the files: no code of the program or of its libraries runs, and neither does the loader. So the version is known only if
// the name of the library's file has it, or if it is Java's library.
//
// Threads: none.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace zenfs {

struct RocksDbLook {
  enum class Place {
    kShared,   // a library that exports RocksDB's functions
    kVisible,  // a program that is linked statically and exports them: its own come first, so a default device does not reach it
    kHidden,   // a library or program that exports none: linked statically
    kArchive,  // a library in an archive: of Java
  };

  std::string object;   // path of the file that contains it
  std::string version;  // "7.8.3"; empty if unknown
  Place place = Place::kHidden;
  // If it exports its functions: what the plugin must be built for.
  bool new_strings = false;  // the ABI of std::string since C++11
  bool rtti = false;         // has type information

  bool can_be_reached() const { return place == Place::kShared || place == Place::kArchive; }
};

struct ProgramLook {
  enum class Kind { kProgram, kLibrary, kArchive, kScript };

  std::string path;
  Kind kind = Kind::kProgram;
  std::string interpreter;  // of a script
  std::vector<RocksDbLook> found;
};

// `program`: a path, or a name without '/' that is searched in PATH. Errors: kNotFound; kInvalidArgument for a file of another kind, or one
// that has, with its libraries, more than 2 GiB to search; those of VisitNeededLibraries and of the host.
[[nodiscard]] Result<ProgramLook> LookAtProgram(const std::string& program);

}  // namespace zenfs
