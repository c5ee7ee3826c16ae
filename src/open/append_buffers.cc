#include "open/append_buffers.h"

#include <fmt/format.h>

#include <algorithm>

#include "buffers/buffer_area_place.h"
#include "metrics/metrics_page.h"

namespace zenfs {

Result<std::unique_ptr<AppendBuffers>> AppendBuffers::Make(const Request& request,
                                                           const MountOptions& mount_options,
                                                           Metrics& metrics,
                                                           std::vector<std::string>& notices) {
  auto buffers = std::make_unique<AppendBuffers>(request);
  const std::string& asked = mount_options.flush_directory;
  if (asked == "none" || request.identity.empty()) return buffers;
  const std::string directory = asked == "auto" ? DefaultSharedMemoryDirectory() : asked;
  if (directory.empty()) {
    notices.push_back(
        "no tmpfs for append buffers in /dev/shm, $XDG_RUNTIME_DIR or /run: each flush is a write to the "
        "device");
    return buffers;
  }
  BufferArea::Options options{.directory = directory,
                              .identity = request.identity,
                              .volume = request.volume,
                              .epoch = request.epoch,
                              .slots = std::max(mount_options.append_buffers, request.least.slots),
                              .buffer_bytes = std::max(request.buffer_bytes, request.least.buffer_bytes),
                              .metrics_bytes = kMetricsPageBytes,
                              .zones = request.zones};
  Result<std::shared_ptr<BufferArea>> made = BufferArea::Create(options);
  if (!made) {
    // A full tmpfs is a temporary state. Any other error in a directory that the user named is the user's mistake.
    if (asked != "auto" && made.error().code() != Code::kNoSpace) {
      return Fail(made.error().With(fmt::format("{}: option flush_dir", request.device_name)));
    }
    notices.push_back(
        fmt::format("no append buffers in shared memory, each flush is a write to the device: {}",
                    made.error().ToString()));
    options.slots = 0;  // there may still be room for the metrics
    made = BufferArea::Create(options);
  }
  if (!made) return buffers;
  buffers->area_ = *std::move(made);
  metrics.MoveTo(buffers->area_->metrics());
  return buffers;
}

std::string AppendBuffers::directory() const {
  const std::string file = path();
  return file.empty() ? "" : file.substr(0, file.rfind('/'));
}

std::optional<Edit> AppendBuffers::Name(std::string_view named_place) {
  may_be_named_ = true;
  if (area_ != nullptr) return area_->PlaceEdit();
  if (!named_place.empty()) return SetBufferPlace{""};
  return std::nullopt;
}

void AppendBuffers::Forget(FileId id) {
  if (area_ != nullptr) area_->Forget(id.value);
}

Status AppendBuffers::CheckNothingGivenUp(const std::string& device_name) const {
  if (area_ == nullptr || !area_->HasGivenUp()) return {};
  return Fail(Code::kNoSpace,
              fmt::format("{}: flushed bytes could not be written when their files were closed; {} keeps "
                          "them for the next mount",
                          device_name, area_->path()));
}

Status AppendBuffers::Remove() { return area_ == nullptr ? Status() : area_->Remove(); }

void AppendBuffers::HandOver() {
  if (area_ != nullptr) area_->HandOver(user_);
}

void AppendBuffers::Abandon() {
  if (Retire() && !may_be_named_) IgnoreError(area_->Remove());
}

}  // namespace zenfs
