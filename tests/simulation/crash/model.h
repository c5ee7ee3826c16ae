// The contents of a volume that are allowed after a power loss, by the promises in volume/volume.h
// and volume/file_handle.h.
//
// There are two trees: `durable`, the state after a crash, and `pending`, files that were created
// and never committed. A call in progress adds alternatives to `durable`; after it returned OK, one
// of them replaces `durable`. Only returned calls count, so the model is independent of background
// threads.
//
// Paths have no leading slash. Threads: none; one model per thread, each for its own subtree.
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

// A possible content of a file: any prefix of `content` with at least this many bytes.
struct Variant {
  std::string content;
  std::size_t synced = 0;   // minimum after a power loss
  std::size_t flushed = 0;  // minimum after the death of the process
  // Plain files: may have been in shared memory only. A mount that replays it makes the file
  // framed.
  bool in_buffers = false;

  static Variant Exactly(const std::string& content) {
    return {.content = content, .synced = content.size(), .flushed = content.size()};
  }
};

struct ModelFile {
  FileShape shape = FileShape::kPlain;
  std::string live;               // the content that handles read
  std::vector<Variant> variants;  // contents after a crash, while the file has a durable name
};
using ModelFileRef = std::shared_ptr<ModelFile>;
using Tree = std::map<std::string, ModelFileRef>;  // null: a directory

class Model final : public Expectation {
 public:
  // Empty except for `root` itself, if it is not "".
  explicit Model(std::string root = "");

  const std::string& root() const override { return root_; }
  // The contents of the mounted volume.
  Tree Live() const;
  const Tree& durable() const { return durable_; }
  const Tree& pending() const { return pending_; }
  ModelFileRef FindLive(const std::string& path) const;

  // Creates a file that is not durable yet; it hides an existing file of that name.
  ModelFileRef Create(const std::string& path, FileShape shape);
  void Append(ModelFile& file, const std::string& bytes);
  void Overwrite(ModelFile& file, std::size_t offset, const std::string& bytes);

  // --- calls that make something durable: Begin before the call, Done after it returned OK ---
  void BeginFlush(ModelFile& file);
  void BeginSync(ModelFile& file);
  void BeginTruncate(ModelFile& file, std::size_t size);  // framed: durable; plain: as a flush
  void BeginSyncDirectory(const std::string& directory);
  void BeginUnlink(const std::string& path);
  void BeginLink(const std::string& from, const std::string& to);
  void BeginRename(const std::string& from, const std::string& to);
  void BeginMakeDirectory(const std::string& path);
  void BeginRemoveDirectory(const std::string& path);
  void BeginUnmount(const std::vector<ModelFileRef>& open);
  void Done();

  std::string WhyNot(const FoundTree& found, CrashKind kind) const override;
  // From now on, exactly `found` must be there (after a mount, nothing that it showed may change). `durable`: what a power
  // loss may leave of it, if bytes wait in shared memory for room on the device.
  void Settle(const FoundTree& found, const FoundTree* durable = nullptr);

 private:
  struct Change {
    Tree durable;
    Tree pending;
  };

  void BeginFlushPlain(ModelFile& file);
  // A call that makes these pending files durable, in any order.
  void BeginPromotions(const std::vector<ModelFileRef>& files);
  // durable_ with those files of perhaps_ that were found.
  Tree WithPerhaps(const FoundTree& found, CrashKind kind) const;
  bool IsPending(const ModelFile& file) const;
  void Promote(Tree& durable, Tree& pending, const ModelFileRef& file) const;
  void Begin(Change change);

  std::string root_;
  Tree durable_;
  Tree pending_;
  std::vector<Tree> alternatives_;                     // alternatives to durable_ during a call
  Tree perhaps_;                                       // files that it may add to durable_, each for itself
  std::optional<Change> after_;                        // the outcome of that call
  std::map<ModelFileRef, std::vector<Variant>> then_;  // the variants of the files after that call
};

}  // namespace zenfs
