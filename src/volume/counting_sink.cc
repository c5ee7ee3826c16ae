#include "volume/counting_sink.h"

#include <utility>

namespace zenfs {
namespace {

class CountingSink final : public ExtentSink {
 public:
  CountingSink(ExtentSink& inner, std::atomic<std::uint64_t>& bytes, std::function<void()> free_space)
      : inner_(inner), bytes_(bytes), free_space_(std::move(free_space)) {}

  Result<Placed> Write(SinkCursor& cursor, Lifetime lifetime, std::span<const ByteView> pieces,
                       Deadline deadline) override {
    Result<Placed> placed = inner_.Write(cursor, lifetime, pieces, deadline);
    if (!placed && placed.error().code() == Code::kNoSpace) {
      free_space_();
      placed = inner_.Write(cursor, lifetime, pieces, deadline);
    }
    if (placed) bytes_.fetch_add(placed->length, std::memory_order_relaxed);
    return placed;
  }

 private:
  ExtentSink& inner_;
  std::atomic<std::uint64_t>& bytes_;
  const std::function<void()> free_space_;
};

}  // namespace

std::unique_ptr<ExtentSink> MakeCountingSink(ExtentSink& inner, std::atomic<std::uint64_t>& bytes,
                                             std::function<void()> free_space) {
  return std::make_unique<CountingSink>(inner, bytes, std::move(free_space));
}

}  // namespace zenfs
