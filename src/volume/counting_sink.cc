#include "volume/counting_sink.h"

namespace zenfs {
namespace {

class CountingSink final : public ExtentSink {
 public:
  CountingSink(ExtentSink& inner, std::atomic<std::uint64_t>& bytes) : inner_(inner), bytes_(bytes) {}

  Result<Placed> Write(SinkCursor& cursor, Lifetime lifetime, std::span<const ByteView> pieces,
                       Deadline deadline) override {
    Result<Placed> placed = inner_.Write(cursor, lifetime, pieces, deadline);
    if (placed) bytes_.fetch_add(placed->length, std::memory_order_relaxed);
    return placed;
  }
  Result<std::vector<Placed>> WriteSpread(SinkCursor& cursor, Lifetime lifetime,
                                          std::span<const ByteView> pieces, Deadline deadline) override {
    Result<std::vector<Placed>> parts = inner_.WriteSpread(cursor, lifetime, pieces, deadline);
    if (!parts) return parts;
    for (const Placed& part : *parts) bytes_.fetch_add(part.length, std::memory_order_relaxed);
    return parts;
  }

 private:
  ExtentSink& inner_;
  std::atomic<std::uint64_t>& bytes_;
};

}  // namespace

std::unique_ptr<ExtentSink> MakeCountingSink(ExtentSink& inner, std::atomic<std::uint64_t>& bytes) {
  return std::make_unique<CountingSink>(inner, bytes);
}

}  // namespace zenfs
