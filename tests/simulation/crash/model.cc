#include "model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace zenfs {
namespace {

bool IsUnder(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

std::string Parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

void MoveTree(Tree& tree, const std::string& from, const std::string& to) {
  Tree moved;
  for (const auto& [path, file] : tree) {
    const bool here = path == from || IsUnder(path, from);
    moved[here ? to + path.substr(from.size()) : path] = file;
  }
  tree = std::move(moved);
}

bool Allows(const Variant& variant, const std::string& found, CrashKind kind) {
  const std::size_t least = kind == CrashKind::kPowerLost ? variant.synced : variant.flushed;
  return found.size() >= least && variant.content.starts_with(found);
}

std::string WhyNotFile(const ModelFile& file, const FoundEntry& entry, CrashKind kind) {
  const std::string& found = entry.content;
  std::string why;
  for (const Variant& variant : file.variants) {
    const bool right_shape = entry.shape == file.shape || variant.in_buffers;
    if (right_shape && Allows(variant, found, kind)) return {};
    why += fmt::format("[{}, {} synced, {} flushed{}]", DescribeMismatch(variant.content, found),
                       variant.synced, variant.flushed, right_shape ? "" : ", has the wrong shape");
  }
  return why;
}

std::string WhyNotTree(const Tree& tree, const FoundTree& found, CrashKind kind) {
  std::map<const ModelFile*, std::uint64_t> ids;
  std::set<std::uint64_t> seen;
  for (const auto& [path, file] : tree) {
    const auto it = found.find(path);
    if (it == found.end()) return path + " is missing";
    const FoundEntry& entry = it->second;
    if (entry.is_directory != (file == nullptr)) return path + " is of the wrong kind";
    if (file == nullptr) continue;
    const auto [known, is_new] = ids.emplace(file.get(), entry.id);
    if (is_new && !seen.insert(entry.id).second) return path + " is linked to a file it should not be";
    if (known->second != entry.id) return path + " is no link to its file any more";
    if (const std::string why = WhyNotFile(*file, entry, kind); !why.empty()) return path + ": " + why;
  }
  for (const auto& [path, entry] : found) {
    if (!tree.contains(path)) return path + " should not be there";
  }
  return {};
}

// Bytes of the file wait in shared memory; a power loss now leaves `durable`.
void AllowLoss(ModelFile& file, const FoundEntry& durable) {
  Variant& whole = file.variants.front();
  whole.in_buffers = durable.shape != file.shape;
  if (whole.content.starts_with(durable.content)) {
    whole.synced = durable.content.size();
    return;
  }
  whole.synced = 0;
  Variant before = Variant::Exactly(durable.content);
  before.flushed = std::string::npos;
  before.in_buffers = whole.in_buffers;
  file.variants.push_back(std::move(before));
}

}  // namespace

Model::Model(std::string root) : root_(std::move(root)) {
  if (!root_.empty()) durable_[root_] = nullptr;
}

Tree Model::Live() const {
  Tree live = durable_;
  for (const auto& [path, file] : pending_) live[path] = file;
  return live;
}

ModelFileRef Model::FindLive(const std::string& path) const {
  const Tree live = Live();
  const auto it = live.find(path);
  return it == live.end() ? nullptr : it->second;
}

bool Model::IsPending(const ModelFile& file) const {
  for (const auto& [path, each] : pending_) {
    if (each.get() == &file) return true;
  }
  return false;
}

// The file becomes durable under its pending name.
void Model::Promote(Tree& durable, Tree& pending, const ModelFileRef& file) const {
  for (const auto& [path, each] : pending_) {
    if (each != file) continue;
    durable[path] = file;
    pending.erase(path);
    return;
  }
}

void Model::Begin(Change change) {
  alternatives_ = {change.durable};
  perhaps_.clear();
  after_ = std::move(change);
}

ModelFileRef Model::Create(const std::string& path, FileShape shape) {
  auto file = std::make_shared<ModelFile>();
  file->shape = shape;
  file->variants = {Variant{}};
  pending_[path] = file;
  return file;
}

void Model::Append(ModelFile& file, const std::string& bytes) {
  file.live += bytes;
  if (file.shape == FileShape::kFramed) file.variants.front().content = file.live;
}

void Model::Overwrite(ModelFile& file, std::size_t offset, const std::string& bytes) {
  file.live.resize(offset);
  file.live += bytes;
}

void Model::BeginFlush(ModelFile& file) {
  if (file.shape == FileShape::kPlain) return BeginFlushPlain(file);
  Change change{durable_, pending_};
  Variant then = file.variants.front();
  then.flushed = file.live.size();
  for (const auto& [path, each] : pending_) {
    if (each.get() != &file) continue;
    then_[each] = {then};
    Promote(change.durable, change.pending, ModelFileRef(each));
    return Begin(std::move(change));
  }
  then_[ModelFileRef(&file, [](ModelFile*) {})] = {then};
}

// It may sync, or leave the bytes in shared memory. In the second case a power loss takes them and
// leaves the earlier content, or, if it happens while a mount replays them, some of them.
void Model::BeginFlushPlain(ModelFile& file) {
  Change change{durable_, pending_};
  std::vector<Variant> then = file.variants;
  Variant flushed = Variant::Exactly(file.live);
  flushed.in_buffers = true;
  for (Variant& before : then) {
    before.flushed = std::string::npos;
    flushed.synced = std::min(flushed.synced, before.synced);
  }
  then.push_back(flushed);
  file.variants.push_back(then.back());
  for (const auto& [path, each] : pending_) {
    if (each.get() != &file) continue;
    then_[each] = std::move(then);
    Promote(change.durable, change.pending, ModelFileRef(each));
    return Begin(std::move(change));
  }
  then_[ModelFileRef(&file, [](ModelFile*) {})] = std::move(then);
}

void Model::BeginSync(ModelFile& file) {
  const Variant then = Variant::Exactly(file.live);
  if (file.shape == FileShape::kPlain) {
    // A new file becomes durable with its content, in one commit.
    if (IsPending(file)) file.variants.clear();
    file.variants.push_back(then);
  }
  Change change{durable_, pending_};
  for (const auto& [path, each] : pending_) {
    if (each.get() != &file) continue;
    then_[each] = {then};
    Promote(change.durable, change.pending, ModelFileRef(each));
    return Begin(std::move(change));
  }
  then_[ModelFileRef(&file, [](ModelFile*) {})] = {then};
}

void Model::BeginTruncate(ModelFile& file, std::size_t size) {
  file.live.resize(size);
  if (file.shape == FileShape::kPlain) {
    const bool comes_back = std::ranges::any_of(file.variants, [&](const Variant& variant) {
      return variant.flushed != std::string::npos && variant.content.size() > size;
    });
    if (comes_back) BeginFlushPlain(file);  // otherwise the death of the process shows no byte behind `size`
    return;
  }
  BeginSync(file);
  file.variants.push_back(Variant::Exactly(file.live));
}

void Model::BeginSyncDirectory(const std::string& directory) {
  std::vector<ModelFileRef> files;
  for (const auto& [path, file] : pending_) {
    if (Parent(path) == directory) files.push_back(file);
  }
  BeginPromotions(files);
}

void Model::BeginPromotions(const std::vector<ModelFileRef>& files) {
  Change change{durable_, pending_};
  for (const ModelFileRef& file : files) {
    for (const auto& [path, each] : pending_) {
      if (each == file) perhaps_[path] = file;
    }
    Promote(change.durable, change.pending, file);
  }
  after_ = std::move(change);
}

void Model::BeginUnlink(const std::string& path) {
  Change change{durable_, pending_};
  change.durable.erase(path);
  change.pending.erase(path);
  // If a call for this file has failed, what it may have done can be there until the file is deleted.
  then_.clear();
  std::vector<Tree> failed = std::move(alternatives_);
  if (!perhaps_.empty()) failed.push_back(durable_);
  for (const auto& [perhaps, file] : perhaps_) failed.back()[perhaps] = file;
  Begin(std::move(change));
  alternatives_.insert(alternatives_.end(), failed.begin(), failed.end());
}

void Model::BeginLink(const std::string& from, const std::string& to) {
  const ModelFileRef file = FindLive(from);
  if (IsPending(*file)) BeginSync(*file);
  if (file->shape == FileShape::kFramed) then_.clear();
  Change change{durable_, pending_};
  Promote(change.durable, change.pending, file);
  change.durable[to] = file;
  Begin(std::move(change));
}

void Model::BeginRename(const std::string& from, const std::string& to) {
  const ModelFileRef file = FindLive(from);
  if (file != nullptr && file->shape == FileShape::kPlain && IsPending(*file)) BeginSync(*file);
  Change change{durable_, pending_};
  if (file == nullptr) {
    change.durable.erase(to);
    MoveTree(change.durable, from, to);
    MoveTree(change.pending, from, to);
  } else if (file == FindLive(to)) {  // no rename, but a new file becomes durable
    Promote(change.durable, change.pending, file);
  } else {
    change.durable.erase(from);
    change.pending.erase(from);
    change.pending.erase(to);
    change.durable[to] = file;
  }
  Begin(std::move(change));
}

void Model::BeginMakeDirectory(const std::string& path) {
  Change change{durable_, pending_};
  change.durable[path] = nullptr;
  Begin(std::move(change));
}

void Model::BeginRemoveDirectory(const std::string& path) {
  Change change{durable_, pending_};
  change.durable.erase(path);
  Begin(std::move(change));
}

void Model::BeginUnmount(const std::vector<ModelFileRef>& open) {
  std::vector<ModelFileRef> promoted;
  for (const ModelFileRef& file : open) {
    bool named = false;
    for (const auto& [path, each] : Live()) named = named || each == file;
    if (!named) continue;
    if (IsPending(*file)) promoted.push_back(file);
    if (file->shape == FileShape::kPlain) {
      if (IsPending(*file)) file->variants.clear();
      file->variants.push_back(Variant::Exactly(file->live));
      then_[file] = {Variant::Exactly(file->live)};
    } else {
      Variant then = file->variants.front();
      then.flushed = file->live.size();
      then_[file] = {then};
    }
  }
  BeginPromotions(promoted);
}

void Model::Done() {
  if (after_) {
    durable_ = std::move(after_->durable);
    pending_ = std::move(after_->pending);
  }
  for (auto& [file, variants] : then_) file->variants = std::move(variants);
  alternatives_.clear();
  perhaps_.clear();
  after_.reset();
  then_.clear();
}

Tree Model::WithPerhaps(const FoundTree& found, CrashKind kind) const {
  Tree tree = durable_;
  for (const auto& [path, file] : perhaps_) {
    const auto it = found.find(path);
    if (it == found.end()) continue;
    const bool replaces = tree.contains(path);
    if (!replaces || WhyNotFile(*file, it->second, kind).empty()) tree[path] = file;
  }
  return tree;
}

std::string Model::WhyNot(const FoundTree& found, CrashKind kind) const {
  std::string why = WhyNotTree(durable_, found, kind);
  if (why.empty()) return {};
  const auto allows = [&](const Tree& tree) {
    const std::string other = WhyNotTree(tree, found, kind);
    if (!other.empty()) why += "; or, with what was under way: " + other;
    return other.empty();
  };
  if (std::ranges::any_of(alternatives_, allows)) return {};
  if (!perhaps_.empty() && allows(WithPerhaps(found, kind))) return {};
  return why;
}

void Model::Settle(const FoundTree& found, const FoundTree* durable) {
  durable_.clear();
  pending_.clear();
  Done();
  std::map<std::uint64_t, ModelFileRef> files;
  for (const auto& [path, entry] : found) {
    ModelFileRef& here = durable_[path];
    if (entry.is_directory) continue;
    ModelFileRef& file = files[entry.id];
    if (file == nullptr) {
      file = std::make_shared<ModelFile>();
      file->shape = entry.shape;
      file->live = entry.content;
      file->variants = {Variant::Exactly(entry.content)};
      if (durable != nullptr) AllowLoss(*file, durable->at(path));
    }
    here = file;
  }
}

}  // namespace zenfs
