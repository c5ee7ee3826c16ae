// What one of several threads does to names and to a log that all of them share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "shared_log.h"
#include "shared_names.h"
#include "volume/volume.h"

namespace zenfs {

// One for each thread. As with Client the first call that fails for the device is the last.
class SharedWork {
 public:
  // Both must outlive it.
  SharedWork(std::shared_ptr<Volume> volume, SharedNames& names, SharedLog& log, std::size_t number)
      : volume_(std::move(volume)), names_(names), log_(log), number_(number) {}

  void Step(Random& random);
  void DropHandles();

  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  // Of the call that failed; none if what it answered can't be.
  std::optional<Code> error_code() const { return error_code_; }
  bool failed_to_read() const { return failed_to_read_; }
  void DiesWhen(std::function<bool()> dead) { dead_ = std::move(dead); }  // as of Client
  // A Flush or Sync that the device lets fail is made again, so often.
  void RepeatWhatFails(int times) { repeats_ = times; }
  std::string History(std::size_t count) const;

 private:
  // --- the names ---
  void Replace(Random& random);  // a new file, by a rename over another, as CURRENT is
  void CreateOver(Random& random);
  void ChangeName(Random& random);
  void Look(Random& random);
  void List();
  bool WriteFile(const std::string& name, Random& random);
  bool Fill(FileHandle& file, SharedNames::FileNumber number, const std::string& content,
            const std::string& path);
  bool Change(SharedNames::Kind kind, const std::string& from, const std::string& to = {});
  // Ends the call if `status` is an answer of the names. False when this has failed, now or earlier.
  bool Answered(SharedNames::CallNumber call, const Status& status, const std::string& what);

  // --- the log ---
  void Log(Random& random);
  void ReadLog();

  bool IsDead() const { return dead_ && dead_(); }
  bool Ok(const Status& returned, const std::string& what);
  void Wrong(const std::string& what, const std::string& why);
  std::string Path(const std::string& name) const { return names_.root() + "/" + name; }
  Status Repeated(FileHandle& file, Status (FileHandle::*call)());

  const std::shared_ptr<Volume> volume_;
  SharedNames& names_;
  SharedLog& log_;
  const std::size_t number_;
  int repeats_ = 0;
  std::function<bool()> dead_;
  std::unique_ptr<FileHandle> handle_;  // of the log
  std::unique_ptr<FileHandle>
      left_open_;  // by a call that failed: a file that was never synced ends with its last handle
  std::string error_;
  std::optional<Code> error_code_;
  bool failed_to_read_ = false;
  std::vector<std::string> history_;
};

}  // namespace zenfs
