#include "zone/placement.h"

#include <array>

namespace zenfs {
namespace {

constexpr Match kBest = Match::kBest;
constexpr Match kGood = Match::kGood;
constexpr Match kOk = Match::kAcceptable;
constexpr Match kPoor = Match::kPoor;

// kNotSet: RocksDB's small files (CURRENT, OPTIONS, IDENTITY) and programs without hints. kNone: explicitly no
// hint. These two share zones, and use a zone of medium data rather than a slot of their own, because they are
// small. Data with a hint avoids their zones while another zone is available.
constexpr std::array<std::array<Match, kLifetimeCount>, kLifetimeCount> kTable = {{
    // file:      not set none   short  medium long   extreme
    /* not set */ {kBest, kGood, kOk, kOk, kOk, kPoor},
    /* none    */ {kGood, kBest, kOk, kOk, kOk, kPoor},
    /* short   */ {kOk, kOk, kBest, kOk, kPoor, kPoor},
    /* medium  */ {kGood, kGood, kOk, kBest, kOk, kPoor},
    /* long    */ {kOk, kOk, kPoor, kOk, kBest, kGood},
    /* extreme */ {kPoor, kPoor, kPoor, kPoor, kGood, kBest},
}};

}  // namespace

Match MatchOf(Lifetime zone, Lifetime file) {
  return kTable[static_cast<std::size_t>(zone)][static_cast<std::size_t>(file)];
}

}  // namespace zenfs
