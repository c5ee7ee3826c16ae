// A program or library in memory: what it exports, without asking the loader. A thread that asks the loader waits for its lock, which
// another thread has while it loads a library, and that one may wait for this thread.
//
// Threads: any. The object must stay loaded.
#pragma once

#include <link.h>

#include <optional>

namespace zenfs {

class LoadedObject {
 public:
  // The one that has this address; none if none has.
  static std::optional<LoadedObject> At(const void* address);

  // The address of a function that it defines and exports; null if it does not.
  const void* Find(const char* symbol) const;

  // Whether the loader searches this one first. Call it only while the loader loads this library: then nobody loads others.
  bool IsBefore(const LoadedObject& other) const;

  bool operator==(const LoadedObject& other) const = default;

 private:
  explicit LoadedObject(const link_map* map) : map_(map) {}

  const link_map* map_;
};

}  // namespace zenfs
