// The blocks of log zones that are not valid frames: there a lost frame may have been. A zone may have millions of them, so only
// those are kept that can be an answer: the first one behind each valid frame, and the first kHeadersKept that begin like a frame.
//
// Threads: none; a value.
#pragma once

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

}  // namespace zenfs
