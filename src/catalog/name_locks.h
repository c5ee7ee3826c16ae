// Who is in the middle of changing what (design rule 1): an action locks the names and ids it touches from
// validation until its commit has been applied; a second action on any of them waits.
//
// Keys
//   names      an entry of a directory: exclusive
//   exclusive  a file whose content or last name changes, or a directory that disappears
//   shared     a directory in which a name changes: any number at once, none while it disappears
//
// Threads: none of its own; the catalog's lock is held for every call.
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
  // `keys` conflict with nothing held.
  Ticket Add(LockKeys keys) {
    ZENFS_ASSERT(!Conflicts(keys));
    return held_.insert(held_.end(), std::move(keys));
  }
  void Remove(Ticket ticket) { held_.erase(ticket); }

 private:
  // As many as there are actions under way: a handful, so a list is searched faster than a map is kept.
  std::list<LockKeys> held_;
};

}  // namespace zenfs
