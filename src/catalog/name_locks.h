// Locks on names and files (design rule 1). An action locks the names and ids that it touches from its validation until
// its commit is applied; a second action on any of them waits.
//
// Keys
//   names      an entry of a directory; exclusive
//   exclusive  a file whose content or last name changes, or a directory that is removed
//   shared     a directory in which a name changes; any number of actions share it, except its removal
//
// Threads: not thread-safe; the caller holds the catalog's lock.
#pragma once

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "model/units.h"

namespace zenfs {

struct LockKeys {
  std::vector<std::pair<FileId, std::string>> names;
  std::vector<FileId> exclusive;
  std::vector<FileId> shared;

  bool empty() const { return names.empty() && exclusive.empty() && shared.empty(); }
};

class NameLocks {
 public:
  using Ticket = std::list<LockKeys>::iterator;

  bool Conflicts(const LockKeys& keys) const;
  // Precondition: !Conflicts(keys).
  Ticket Add(LockKeys keys) {
    ZENFS_ASSERT(!Conflicts(keys));
    return held_.insert(held_.end(), std::move(keys));
  }
  void Remove(Ticket ticket) { held_.erase(ticket); }

 private:
  // One element for each running action. There are few, so searching a list is cheaper than maintaining a map.
  std::list<LockKeys> held_;
};

}  // namespace zenfs
