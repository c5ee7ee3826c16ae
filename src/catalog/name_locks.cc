#include "catalog/name_locks.h"

#include <algorithm>

namespace zenfs {
namespace {

template <typename T>
bool Intersect(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::any_of(a, [&](const T& x) { return std::ranges::find(b, x) != b.end(); });
}

}  // namespace

bool NameLocks::Conflicts(const LockKeys& keys) const {
  return std::ranges::any_of(held_, [&](const LockKeys& held) {
    return Intersect(held.names, keys.names) || Intersect(held.exclusive, keys.exclusive) ||
           Intersect(held.exclusive, keys.shared) || Intersect(held.shared, keys.exclusive);
  });
}

}  // namespace zenfs
