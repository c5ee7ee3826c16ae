// What may be found on a volume after power was lost, by the promises in volume/volume.h and
// volume/file_handle.h.
//
// There are two trees: `durable`, what a crash leaves, and the files that are not in it yet (`pending`:
// created, never committed). A call that is under way adds alternatives to `durable`; when it has returned OK
// one of them takes its place. Only those calls that returned count, so the model holds whatever the
// background threads do.
//
// Paths have no leading slash. Threads: none; a model for each thread, each for a subtree of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expectation.h"
#include "model/file_record.h"

namespace zenfs {

// Content that a file may have: any prefix of `content` of at least so many bytes.
struct Variant {
  std::string content;
  std::size_t synced = 0;   // least after the loss of power
  std::size_t flushed = 0;  // least after the death of the process
  // Of a plain file: may have been in shared memory only. A mount that brings it back makes the file framed.
  bool in_buffers = false;

  static Variant Exactly(const std::string& content) {
    return {.content = content, .synced = content.size(), .flushed = content.size()};
  }
};

struct ModelFile {
  FileShape shape = FileShape::kPlain;
  std::string live;               // what handles read
  std::vector<Variant> variants;  // what a crash leaves, while the file has a durable name
};
using ModelFileRef = std::shared_ptr<ModelFile>;
using Tree = std::map<std::string, ModelFileRef>;  // null: a directory

class Model final : public Expectation {
 public:
  // Empty but for `root` itself, if it is not "".
  explicit Model(std::string root = "");

  const std::string& root() const override { return root_; }
  // What is seen through the volume while it is mounted.
  Tree Live() const;
  const Tree& durable() const { return durable_; }
  const Tree& pending() const { return pending_; }
  ModelFileRef FindLive(const std::string& path) const;

  // A file that is not durable yet; one of the same name is hidden by it.
  ModelFileRef Create(const std::string& path, FileShape shape);
  void Append(ModelFile& file, const std::string& bytes);
  void Overwrite(ModelFile& file, std::size_t offset, const std::string& bytes);

  // --- calls that make something durable: Begin before the call, Done after it returned OK ---
  void BeginFlush(ModelFile& file);
  void BeginSync(ModelFile& file);
  void BeginTruncate(ModelFile& file, std::size_t size);  // framed: durable; plain: only live
  void BeginSyncDirectory(const std::string& directory);
  void BeginUnlink(const std::string& path);
  void BeginLink(const std::string& from, const std::string& to);
  void BeginRename(const std::string& from, const std::string& to);
  void BeginMakeDirectory(const std::string& path);
  void BeginRemoveDirectory(const std::string& path);
  void BeginUnmount(const std::vector<ModelFileRef>& open);
  void Done();

  std::string WhyNot(const FoundTree& found, CrashKind kind) const override;
  // From here on `found` is what must be there (after a mount: nothing that it showed may change any more).
  void Settle(const FoundTree& found);

 private:
  struct Change {
    Tree durable;
    Tree pending;
  };

  void BeginFlushPlain(ModelFile& file);
  bool IsPending(const ModelFile& file) const;
  void Promote(Tree& durable, Tree& pending, const ModelFileRef& file) const;
  void Begin(Change change);

  std::string root_;
  Tree durable_;
  Tree pending_;
  std::vector<Tree> alternatives_;                     // to durable_, while a call is under way
  std::optional<Change> after_;                        // that call's outcome
  std::map<ModelFileRef, std::vector<Variant>> then_;  // what the files' variants are then
};

}  // namespace zenfs
