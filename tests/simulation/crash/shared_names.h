// The allowed contents of a directory in which several threads create, link, rename and delete the
// same names concurrently.
//
// Each call takes effect at one moment between its begin and its end (it is linearizable), and is
// durable then. Exception: Create; until a Sync, Link or Rename makes the new file durable, it
// hides what a crash leaves. The moment is unknown, so the model keeps every history that explains
// the results so far. A call that begins is in progress in all of them. When it ends, histories are
// dropped in which no order gives its result. If none is left, that is a failure. After a crash,
// calls in progress may have taken effect or not.
//
// Directories keep their names: a path is looked up first and changed later, and a directory that
// is renamed in between takes the change along, as in POSIX.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "expectation.h"

namespace zenfs {

class SharedNames final : public Expectation {
 public:
  using FileNumber = std::uint32_t;  // number of a created file; 0: none
  using CallNumber = std::uint64_t;

  enum class Kind { kCreate, kSync, kUnlink, kLink, kRename, kMakeDirectory, kRemoveDirectory, kLook, kList };
  struct Call {
    Kind kind = Kind::kLook;
    std::string from;     // below root(); unused in kSync and kList
    std::string to;       // kLink and kRename
    FileNumber file = 0;  // kCreate and kSync
  };
  struct Answer {
    std::optional<Code> error = {};
    std::string content = {};          // of kLook
    std::set<std::string> names = {};  // kList: the names in root() itself
  };

  // `root` exists and is empty.
  explicit SharedNames(std::string root);

  // A file that will be created, with its whole content, which one Append will write. Its first 16
  // bytes are unique.
  FileNumber NewFile(const std::string& content, FileShape shape) EXCLUDES(mutex_);
  // From now on every reader sees its content.
  void Appended(FileNumber file) EXCLUDES(mutex_);

  CallNumber Begin(Call call) EXCLUDES(mutex_);
  // Empty if the answer can be explained. A call with an unknown outcome does not end.
  std::string End(CallNumber call, const Answer& answer) EXCLUDES(mutex_);

  const std::string& root() const override { return root_; }
  std::string WhyNot(const FoundTree& found, CrashKind kind) const override EXCLUDES(mutex_);
  // From now on, exactly `found` is there, and no call is in progress.
  void Settle(const FoundTree& found) EXCLUDES(mutex_);

 private:
  struct File {
    std::string content;
    FileShape shape = FileShape::kPlain;
    std::uint64_t appended = UINT64_MAX;  // when
    bool synced = false;
  };
  using Tree = std::map<std::string, FileNumber>;
  // The result of a call that has taken effect.
  struct Outcome {
    std::optional<Code> error;
    FileNumber file = 0;  // of kLook
    std::set<std::string> names;

    friend auto operator<=>(const Outcome&, const Outcome&) = default;
  };
  // A possible past, as far as it affects the future.
  struct History {
    Tree durable;
    Tree pending;                        // hides what is durable
    std::map<CallNumber, Outcome> done;  // calls in progress that have taken effect

    friend auto operator<=>(const History&, const History&) = default;
    FileNumber Live(const std::string& path) const;
    void Promote(FileNumber file);
  };
  using Histories = std::set<History>;

  static constexpr FileNumber kDirectory = UINT32_MAX;

  static Outcome Carry(const Call& call, History& history);
  static Outcome Rename(const Call& call, History& history);
  // All histories that are possible now, if any of the calls in progress took effect.
  Histories Expanded() const REQUIRES(mutex_);
  bool Fits(const Outcome& outcome, const Answer& answer, CallNumber call) const REQUIRES(mutex_);
  std::string WhyNotTree(const Tree& tree, const FoundTree& found) const REQUIRES(mutex_);
  std::string WhyNotFile(const File& file, const FoundEntry& found) const;
  std::string Describe(const Tree& tree) const REQUIRES(mutex_);

  const std::string root_;
  mutable Mutex mutex_;  // leaf
  std::vector<File> files_ GUARDED_BY(mutex_);
  std::map<CallNumber, Call> under_way_ GUARDED_BY(mutex_);
  CallNumber clock_ GUARDED_BY(mutex_) = 0;  // counts begins of calls and appends
  Histories histories_ GUARDED_BY(mutex_);   // each call in progress is done or not, as each history says
};

}  // namespace zenfs
