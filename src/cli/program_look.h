// Which RocksDB a program has, and whether a preloaded ZenFS can be its default file system (docs/use/programs.md).
//
// The loader is asked which libraries a program needs, by ldd(1), and each that contains a RocksDB is loaded in a child process to
// ask for its version. Both run code of these libraries, as starting the program does.
//
// Threads: none; a process without other threads calls it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace zenfs {

struct RocksDbLook {
  enum class Place {
    kShared,   // a library that exports RocksDB's functions
    kHidden,   // a library or program that does not: linked statically
    kArchive,  // a library in an archive: of Java
  };

  std::string object;   // path of the file that contains it
  std::string version;  // "7.8.3"; empty if unknown
  Place place = Place::kHidden;

  bool can_be_reached() const { return place != Place::kHidden; }
};

struct ProgramLook {
  enum class Kind { kProgram, kLibrary, kArchive, kScript };

  std::string path;
  Kind kind = Kind::kProgram;
  std::string interpreter;  // of a script
  std::vector<RocksDbLook> found;
};

// `program`: a path, or a name that is searched in PATH. Errors: kNotFound; kInvalidArgument for a file of another kind; those of the host.
[[nodiscard]] Result<ProgramLook> LookAtProgram(const std::string& program);

// What the library says of itself: "3.0.0 for RocksDB 7.8.3". `library`: a path, or a name for the loader. Errors: kNotFound, with the words
// of the loader.
[[nodiscard]] Result<std::string> VersionOfPlugin(const std::string& library);

}  // namespace zenfs
