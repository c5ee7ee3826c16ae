#include "rocksdb_plugin/logger.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "base/printable.h"
#include "rocksdb/system_clock.h"
#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

namespace {

constexpr std::uint64_t kMicrosPerSecond = 1'000'000;
constexpr std::uint64_t kFlushEveryMicros = 5 * kMicrosPerSecond;

std::string LinePrefix(std::uint64_t now_micros) {
  const auto seconds = static_cast<std::time_t>(now_micros / kMicrosPerSecond);
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:04}/{:02}/{:02}-{:02}:{:02}:{:02}.{:06} {} ", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, now_micros % kMicrosPerSecond,
                     rocksdb::Env::Default()->GetThreadID());
}

// vsnprintf on a copy of `arguments`. A caller may use its arguments again afterwards, as it may with RocksDB's own logger.
int FormatCopy(char* to, std::size_t size, const char* format, va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  const int length = std::vsnprintf(to, size, format, copy);
  va_end(copy);
  return length;
}

// Appends the output of printf.
void AppendFormatted(std::string& line, const char* format, va_list arguments) {
  char fits_most[512];
  const int length = FormatCopy(fits_most, sizeof fits_most, format, arguments);
  if (length < 0) {
    line.append(format);  // printf rejects the format: log its text
  } else if (static_cast<std::size_t>(length) < sizeof fits_most) {
    line.append(fits_most, static_cast<std::size_t>(length));
  } else {
    const std::size_t prefix = line.size();
    line.resize(prefix + static_cast<std::size_t>(length) + 1);  // printf ends with a NUL
    FormatCopy(line.data() + prefix, static_cast<std::size_t>(length) + 1, format, arguments);
    line.pop_back();
  }
}

}  // namespace

VolumeLogger::VolumeLogger(MountedFile file) : file_(std::move(file)), owner_(getpid()) {}

VolumeLogger::~VolumeLogger() {
  if (closed_) return;
  closed_ = true;
  CloseImpl().PermitUncheckedError();  // no caller to return an error to
}

void VolumeLogger::Logv(const char* format, va_list arguments) {
  if (getpid() != owner_) return;
  Guarded([&] {
    const std::uint64_t now_micros = rocksdb::SystemClock::Default()->NowMicros();
    std::string line = LinePrefix(now_micros);
    AppendFormatted(line, format, arguments);
    if (line.back() != '\n') line.push_back('\n');
    IgnoreError(file_.handle->Append(AsBytes(line)));  // see the header: a line may be lost
    FlushIfDue(now_micros);
    return IOStatus::OK();
  }).PermitUncheckedError();
}

void VolumeLogger::FlushIfDue(std::uint64_t now_micros) {
  std::uint64_t last = last_flush_micros_.load(std::memory_order_relaxed);
  if (now_micros < last + kFlushEveryMicros) return;
  // If several threads get here at the same time, one of them flushes.
  if (last_flush_micros_.compare_exchange_strong(last, now_micros, std::memory_order_relaxed)) {
    IgnoreError(file_.handle->Flush());
  }
}

void VolumeLogger::Flush() {
  if (getpid() != owner_) return;
  Guarded([&] {
    last_flush_micros_.store(rocksdb::SystemClock::Default()->NowMicros(), std::memory_order_relaxed);
    return ToIOStatus(file_.handle->Flush(), "flushing", file_.path);
  }).PermitUncheckedError();
}

void LogMount(const Volume& volume, rocksdb::Logger& logger) {
  const VolumeInfo& info = volume.info();
  rocksdb::Header(&logger, "ZenFS %s: %s, UUID %s, epoch %llu", ZENFS_VERSION,
                  Printable(info.device_name).c_str(), info.superblock.uuid.ToString().c_str(),
                  static_cast<unsigned long long>(volume.counters().epoch));
}

void LogNotices(std::span<const std::string> notices, rocksdb::Logger& logger) {
  // A logger on the host drops warnings until the database has set its level.
  const rocksdb::InfoLogLevel level = logger.GetInfoLogLevel();
  logger.SetInfoLogLevel(rocksdb::InfoLogLevel::WARN_LEVEL);
  for (const std::string& notice : notices) rocksdb::Warn(&logger, "ZenFS: %s", Printable(notice).c_str());
  logger.SetInfoLogLevel(level);
}

rocksdb::Status VolumeLogger::CloseImpl() {
  if (getpid() != owner_) return rocksdb::Status::OK();
  return Guarded([&] { return ToIOStatus(file_.handle->Close(), "closing", file_.path); });
}

}  // namespace zenfs
