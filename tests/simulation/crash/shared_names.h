// What may be seen of a directory in which several threads make, link, rename and delete the same names at once.
//
// Each call takes effect at one moment between its begin and its end (it is linearizable), and with that is durable, but
// for Create: a file that no Sync, Link or Rename has made durable hides what a crash leaves. Nobody can tell at which
// moment, so the model holds every history that explains the answers so far: a call that begins is under way in all of
// them; when it ends those are dropped in which no order gives its answer. None left is a failure. After a crash the
// calls that did not end may have taken effect or not.
//
// Directories in it keep their names: a path is looked up first and changed then, and a directory that is renamed in
// between takes the change along, as with POSIX.
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
  using FileNumber = std::uint32_t;  // of a file that was made; 0: none
  using CallNumber = std::uint64_t;

  enum class Kind { kCreate, kSync, kUnlink, kLink, kRename, kMakeDirectory, kRemoveDirectory, kLook, kList };
  struct Call {
    Kind kind = Kind::kLook;
    std::string from;     // below root(); not of kSync and kList
    std::string to;       // of kLink and kRename
    FileNumber file = 0;  // of kCreate and kSync
  };
  struct Answer {
    std::optional<Code> error = {};
    std::string content = {};          // of kLook
    std::set<std::string> names = {};  // of kList: those in root() itself
  };

  // `root` is there and empty.
  explicit SharedNames(std::string root);

  // A file that will be created, with all that will be written to it, by one Append. Its first 16 bytes are no other's.
  FileNumber NewFile(const std::string& content, FileShape shape) EXCLUDES(mutex_);
  // Its content is there for every reader from now on.
  void Appended(FileNumber file) EXCLUDES(mutex_);

  CallNumber Begin(Call call) EXCLUDES(mutex_);
  // Empty if such an answer can be explained. A call whose outcome nobody knows does not end.
  std::string End(CallNumber call, const Answer& answer) EXCLUDES(mutex_);

  const std::string& root() const override { return root_; }
  std::string WhyNot(const FoundTree& found, CrashKind kind) const override EXCLUDES(mutex_);
  // From here on `found` is what is there, and no call is under way.
  void Settle(const FoundTree& found) EXCLUDES(mutex_);

 private:
  struct File {
    std::string content;
    FileShape shape = FileShape::kPlain;
    std::uint64_t appended = UINT64_MAX;  // when
    bool synced = false;
  };
  using Tree = std::map<std::string, FileNumber>;
  // Of a call that has taken effect, what it answers.
  struct Outcome {
    std::optional<Code> error;
    FileNumber file = 0;  // of kLook
    std::set<std::string> names;

    friend auto operator<=>(const Outcome&, const Outcome&) = default;
  };
  // What happened, as far as it matters for what is to come.
  struct History {
    Tree durable;
    Tree pending;                        // hides what is durable
    std::map<CallNumber, Outcome> done;  // of the calls under way, those that have taken effect

    friend auto operator<=>(const History&, const History&) = default;
    FileNumber Live(const std::string& path) const;
    void Promote(FileNumber file);
  };
  using Histories = std::set<History>;

  static constexpr FileNumber kDirectory = UINT32_MAX;

  static Outcome Carry(const Call& call, History& history);
  static Outcome Rename(const Call& call, History& history);
  // All that may have happened by now, if any of the calls under way took effect.
  Histories Expanded() const REQUIRES(mutex_);
  bool Fits(const Outcome& outcome, const Answer& answer, CallNumber call) const REQUIRES(mutex_);
  std::string WhyNotTree(const Tree& tree, const FoundTree& found) const REQUIRES(mutex_);
  std::string WhyNotFile(const File& file, const FoundEntry& found) const;
  std::string Describe(const Tree& tree) const REQUIRES(mutex_);

  const std::string root_;
  mutable Mutex mutex_;  // leaf
  std::vector<File> files_ GUARDED_BY(mutex_);
  std::map<CallNumber, Call> under_way_ GUARDED_BY(mutex_);
  CallNumber clock_ GUARDED_BY(mutex_) = 0;  // of what begins and what is appended
  Histories histories_ GUARDED_BY(mutex_);   // with each call under way not done, or done as each says
};

}  // namespace zenfs
