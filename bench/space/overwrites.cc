#include "overwrites.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace zenfs::space {
namespace {

constexpr double kTheta = 0.99;

double Zeta(std::uint64_t count, double theta) {
  double sum = 0;
  for (std::uint64_t i = 1; i <= count; ++i) sum += std::pow(static_cast<double>(i), -theta);
  return sum;
}

}  // namespace

ZipfNumbers::ZipfNumbers(std::uint64_t count, double theta)
    : count_(count), theta_(theta), zeta_(Zeta(count, theta)), zeta2_(Zeta(2, theta)) {
  eta_ = (1 - std::pow(2.0 / static_cast<double>(count), 1 - theta)) / (1 - zeta2_ / zeta_);
}

std::uint64_t ZipfNumbers::Draw(Random& random) const {
  const double u = DrawShare(random);
  if (u * zeta_ < 1) return 0;
  if (u * zeta_ < zeta2_) return std::min<std::uint64_t>(1, count_ - 1);
  const double number = static_cast<double>(count_) * std::pow(eta_ * u - eta_ + 1, 1 / (1 - theta_));
  return std::min(static_cast<std::uint64_t>(number), count_ - 1);
}

double ZipfNumbers::ShareBelow(std::uint64_t number) const { return Zeta(number, theta_) / zeta_; }

Overwrites::Overwrites(Pattern pattern, const WorkloadOptions& options)
    : options_(options),
      pattern_(pattern),
      random_(options.seed),
      slots_(std::max<std::uint64_t>(options.live_bytes / options.file_bytes, 2 * options.writers)),
      zipf_(slots_.size(), kTheta),
      order_(slots_.size()),
      writers_(options.writers) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  for (std::size_t i = order_.size() - 1; i > 0; --i) std::swap(order_[i], order_[random_.Below(i + 1)]);
  if (pattern_ == Pattern::kUniform) return;
  double share = 0;
  const double first = zipf_.ShareBelow(1);
  for (std::size_t rank = 0; rank < order_.size(); ++rank) {
    const int part = std::min(static_cast<int>(share * 4), 3);
    slots_[order_[rank]].lifetime = static_cast<Lifetime>(static_cast<int>(Lifetime::kShort) + part);
    share += first * std::pow(static_cast<double>(rank + 1), -kTheta);
  }
}

std::size_t Overwrites::NextSlot() {
  if (filled_ < slots_.size()) return filled_++;
  for (;;) {
    const std::size_t slot =
        pattern_ == Pattern::kUniform ? random_.Below(slots_.size()) : order_[zipf_.Draw(random_)];
    if (!slots_[slot].busy) return slot;
  }
}

void Overwrites::Begin(Writer& writer) {
  writer = {.busy = true, .slot = NextSlot()};
  slots_[writer.slot].busy = true;
  writer.file = Create(TracedKind::kTable, slots_[writer.slot].lifetime);
}

void Overwrites::End(Writer& writer) {
  Slot& slot = slots_[writer.slot];
  Close(writer.file, writer.size);
  if (slot.file != kNoFile) Delete(slot.file);
  slot.file = writer.file;
  slot.busy = false;
  writer.busy = false;
}

// A piece of one file, so that the files of all writers are at different places.
void Overwrites::Step() {
  Writer& writer = writers_[random_.Below(writers_.size())];
  if (!writer.busy) Begin(writer);
  const std::uint64_t piece =
      std::min(options_.file_bytes / kPiecesAFile + 1, options_.file_bytes - writer.size);
  writer.size += piece;
  Grow(writer.file, writer.size, piece);
  if (writer.size == options_.file_bytes) End(writer);
}

}  // namespace zenfs::space
