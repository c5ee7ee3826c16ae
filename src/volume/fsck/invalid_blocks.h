// The blocks of log zones that are not valid frames: there a lost frame may have been. A zone may have millions of them, so only
// those are kept that can be an answer: the first one behind each valid frame, and the first kHeadersKept that begin like a frame.
//
// Threads: none; a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "format/frame.h"
#include "model/units.h"

namespace zenfs {

class InvalidBlocks {
 public:
  static constexpr std::size_t kHeadersKept = 16'384;

  struct Place {
    ZoneId zone;
    std::uint64_t at = 0;  // bytes from the start of the zone
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  // A scan calls these in the order of the places.
  void SeeFrame() { behind_frame_ = true; }
  void Add(Place place);
  // The block begins like a frame; `header` is not verified.
  void Add(Place place, const FrameHeader& header);

  // The block whose header claims the lowest offset of the file `owner` in [from, to).
  std::optional<Place> Claiming(FileId owner, std::uint64_t from, std::uint64_t to) const;
  // The first one behind `place` in its zone.
  std::optional<Place> Behind(Place place) const;
  std::optional<Place> First() const;

  // The number of blocks that are kept; one may count twice.
  std::size_t size() const { return first_.size() + headers_.size(); }

 private:
  std::vector<Place> first_;  // behind a frame or the start of a zone
  bool behind_frame_ = false;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Place> headers_;  // by owner and file offset
};

inline void InvalidBlocks::Add(Place place) {
  const bool counts = behind_frame_ || first_.empty() || first_.back().zone != place.zone;
  behind_frame_ = false;
  if (counts) first_.push_back(place);
}

inline void InvalidBlocks::Add(Place place, const FrameHeader& header) {
  Add(place);
  if (headers_.size() < kHeadersKept) headers_.try_emplace({header.owner, header.file_offset}, place);
}

inline std::optional<InvalidBlocks::Place> InvalidBlocks::Claiming(FileId owner, std::uint64_t from,
                                                                   std::uint64_t to) const {
  const auto found = headers_.lower_bound({owner.value, from});
  if (found == headers_.end() || found->first >= std::pair(owner.value, to)) return std::nullopt;
  return found->second;
}

inline std::optional<InvalidBlocks::Place> InvalidBlocks::Behind(Place place) const {
  const auto found = std::ranges::upper_bound(first_, place);
  if (found == first_.end() || found->zone != place.zone) return std::nullopt;
  return *found;
}

inline std::optional<InvalidBlocks::Place> InvalidBlocks::First() const {
  return first_.empty() ? std::nullopt : std::optional(first_.front());
}

}  // namespace zenfs
