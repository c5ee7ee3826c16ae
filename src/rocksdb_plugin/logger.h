// RocksDB's info log (LOG), in a file of the volume. A line has the format of RocksDB's own POSIX
// logger:
//
//    2026/11/21-21:00:00.123456 140231886137024 [db_impl.cc:1234] text
//
// Lines reach the device at Flush, at Close, and with the first line that is written five seconds
// or more after the last flush. A line that can't be written is lost; its writer gets no error.
//
// Threads: any. Takes no lock; a line is one append. A child of fork() writes nothing.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdarg>
#include <span>
#include <string>

#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

class VolumeLogger final : public rocksdb::Logger {
 public:
  explicit VolumeLogger(MountedFile file);
  ~VolumeLogger() override;

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;
  void Flush() override;
  size_t GetLogFileSize() const override { return file_.handle->size(); }

 protected:
  rocksdb::Status CloseImpl() override;

 private:
  void FlushIfDue(std::uint64_t now_micros);

  MountedFile file_;
  const pid_t owner_;
  std::atomic<std::uint64_t> last_flush_micros_{0};
};

// Logs one line that tells what a database is on: the plugin's version, the volume's device, UUID and epoch.
void LogMount(const Volume& volume, rocksdb::Logger& logger);

// Logs the notices of the mount (Volume::notices: damage, lost data, why flushes are slow) as
// warnings, each as one line of printable text. A database's owner looks nowhere else, so each log of a database begins with them.
void LogNotices(std::span<const std::string> notices, rocksdb::Logger& logger);

}  // namespace zenfs
