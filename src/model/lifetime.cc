#include "model/lifetime.h"

namespace zenfs {

std::string_view LifetimeName(Lifetime lifetime) {
  switch (lifetime) {
    case Lifetime::kNotSet: return "not set";
    case Lifetime::kNone: return "none";
    case Lifetime::kShort: return "short";
    case Lifetime::kMedium: return "medium";
    case Lifetime::kLong: return "long";
    case Lifetime::kExtreme: return "extreme";
  }
  return "unknown";
}

}  // namespace zenfs
