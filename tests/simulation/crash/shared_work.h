// The work of one of several threads on shared names and a shared log.
#pragma once

#include <memory>
#include <string>

#include "base/random.h"
#include "call_history.h"
#include "shared_log.h"
#include "shared_names.h"
#include "volume/volume.h"

namespace zenfs {

// One object per thread.
class SharedWork final : public CallHistory {
 public:
  // Both must outlive it.
  SharedWork(std::shared_ptr<Volume> volume, SharedNames& names, SharedLog& log, std::size_t number)
      : volume_(std::move(volume)), names_(names), log_(log), number_(number) {}

  void Step(Random& random);
  void DropHandles();

 private:
  // --- the names ---
  void Replace(Random& random);  // a new file, renamed over another, as for CURRENT
  void CreateOver(Random& random);
  void ChangeName(Random& random);
  void Look(Random& random);
  void List();
  bool WriteFile(const std::string& name, Random& random);
  bool Fill(FileHandle& file, SharedNames::FileNumber number, const std::string& content,
            const std::string& path);
  bool Change(SharedNames::Kind kind, const std::string& from, const std::string& to = {});
  // Ends the call if `status` is a possible result for shared names. False if the client has
  // failed, now or earlier.
  bool Answered(SharedNames::CallNumber call, const Status& status, const std::string& what);

  // --- the log ---
  void Log(Random& random);
  void ReadLog();

  std::string Path(const std::string& name) const { return names_.root() + "/" + name; }

  const std::shared_ptr<Volume> volume_;
  SharedNames& names_;
  SharedLog& log_;
  const std::size_t number_;
  std::unique_ptr<FileHandle> handle_;  // of the log
  std::unique_ptr<FileHandle>
      left_open_;  // left open by a failed call: a file that was never synced ends with its last handle
};

}  // namespace zenfs
