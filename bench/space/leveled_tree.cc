#include "leveled_tree.h"

#include <algorithm>
#include <cmath>

namespace zenfs::space {
namespace {

constexpr std::size_t kLevelZeroTrigger = 4;
constexpr std::size_t kLevelZeroStop = 20;
constexpr double kLevelStop = 1.5;  // of its target
constexpr std::size_t kMemtables = 2;
constexpr std::uint64_t kManifestEntry = 4096;
constexpr std::uint64_t kManifestMax = 64ULL << 20;
constexpr std::uint64_t kSmallFile = 8192;

Lifetime LifetimeOf(std::size_t level) {
  if (level <= 1) return Lifetime::kMedium;
  return level == 2 ? Lifetime::kLong : Lifetime::kExtreme;
}

}  // namespace

LeveledTree::LeveledTree(const WorkloadOptions& options)
    : options_(options),
      random_(options.seed),
      piece_(std::max<std::uint64_t>(options.file_bytes / kPiecesAFile, 1)) {
  // The tree without level 0 is unique * (1 + 1/m + 1/m^2 ...).
  const double m = options.multiplier;
  unique_bytes_ = static_cast<std::uint64_t>(static_cast<double>(options.live_bytes) * (m - 1) / m);
  std::vector<std::uint64_t> targets{unique_bytes_};
  while (targets.back() / options.multiplier >= kLevelZeroTrigger * options.buffer_bytes) {
    targets.push_back(targets.back() / options.multiplier);
  }
  levels_.resize(targets.size() + 1);
  for (std::size_t i = 1; i < levels_.size(); ++i) levels_[i].target = targets[targets.size() - i];
  loading_ = levels_.size() - 1;
  for (const TracedKind kind : {TracedKind::kOther, TracedKind::kOther}) {
    const FileId id = Create(kind, Lifetime::kNotSet);
    Grow(id, kSmallFile, kSmallFile);
    Close(id, kSmallFile);
  }
  manifest_ = Create(TracedKind::kManifest, Lifetime::kNotSet);
  log_ = Create(TracedKind::kLog, Lifetime::kShort);
  jobs_.emplace_back().to_level = loading_;
  Split(jobs_.back(), 0, 1, levels_[loading_].target);
}

void LeveledTree::Step() {
  if (loading_ != 0) {
    if (!Write(jobs_.front())) return;
    jobs_.clear();
    if (--loading_ == 0) return;
    jobs_.emplace_back().to_level = loading_;
    Split(jobs_.back(), 0, 1, levels_[loading_].target);
    return;
  }
  if (!UserStalls()) WriteUser();
  if (!flushes_.empty() && Write(flushes_.front())) flushes_.pop_front();
  while (jobs_.size() < options_.writers) {
    std::optional<Job> job = PickCompaction();
    if (!job) break;
    jobs_.push_back(*std::move(job));
  }
  std::erase_if(jobs_, [this](Job& job) { return Write(job); });
}

bool LeveledTree::UserStalls() const {
  if (level_zero_.size() >= kLevelZeroStop || flushes_.size() >= kMemtables) return true;
  for (std::size_t i = 1; i + 1 < levels_.size(); ++i) {
    if (Score(i) > kLevelStop) return true;
  }
  return false;
}

void LeveledTree::WriteUser() {
  const std::uint64_t bytes = std::min(piece_, options_.buffer_bytes - log_bytes_);
  log_bytes_ += bytes;
  Grow(log_, log_bytes_, bytes);
  if (log_bytes_ == options_.buffer_bytes) SwitchMemtable();
}

void LeveledTree::SwitchMemtable() {
  Close(log_, log_bytes_);
  Job flush{.log = log_};
  flush.outputs.push_back({.end = 1, .bytes = options_.buffer_bytes});
  flushes_.push_back(std::move(flush));
  log_ = Create(TracedKind::kLog, Lifetime::kShort);
  log_bytes_ = 0;
}

bool LeveledTree::Write(Job& job) {
  if (job.current == job.outputs.size()) {
    End(job);
    return true;
  }
  Table& output = job.outputs[job.current];
  if (job.writing == kNoFile) {
    job.writing = output.id = Create(TracedKind::kTable, LifetimeOf(job.to_level));
    job.written = 0;
  }
  const std::uint64_t bytes = std::min(piece_, output.bytes - job.written);
  job.written += bytes;
  Grow(job.writing, job.written, bytes);
  if (job.written < output.bytes) return false;
  Close(job.writing, job.written);
  job.writing = kNoFile;
  if (++job.current < job.outputs.size()) return false;
  End(job);
  return true;
}

void LeveledTree::End(Job& job) {
  for (int side = 0; side < 2 && job.to_level >= 1; ++side) {
    const std::size_t level = job.to_level - (side == 0 ? 1 : 0);
    for (const double key : job.inputs_at[side]) levels_[level].tables.erase(key);
  }
  if (job.to_level == 1 && !job.inputs.empty()) {
    std::erase_if(level_zero_, [](const Table& table) { return table.busy; });
    level_zero_busy_ = false;
  }
  for (const Table& output : job.outputs) {
    if (job.to_level == 0) {
      level_zero_.push_back(output);
    } else {
      levels_[job.to_level].tables.emplace(output.begin, output);
      levels_[job.to_level].bytes += output.bytes;
    }
    NoteManifest();
  }
  for (const FileId input : job.inputs) Delete(input);
  if (job.log) Delete(*job.log);
}

void LeveledTree::NoteManifest() {
  if (manifest_bytes_ >= kManifestMax) {
    Close(manifest_, manifest_bytes_);
    const FileId old = manifest_;
    manifest_ = Create(TracedKind::kManifest, Lifetime::kNotSet);
    Delete(old);
    manifest_bytes_ = 0;
  }
  manifest_bytes_ += kManifestEntry;
  Grow(manifest_, manifest_bytes_, kManifestEntry);
}

double LeveledTree::Score(std::size_t level) const {
  return static_cast<double>(levels_[level].bytes) / static_cast<double>(levels_[level].target);
}

std::optional<LeveledTree::Job> LeveledTree::PickCompaction() {
  std::vector<std::pair<double, std::size_t>> scores;
  if (!level_zero_busy_) scores.emplace_back(static_cast<double>(level_zero_.size()) / kLevelZeroTrigger, 0);
  for (std::size_t i = 1; i + 1 < levels_.size(); ++i) scores.emplace_back(Score(i), i);
  std::ranges::sort(scores, std::greater());
  for (const auto& [score, level] : scores) {
    if (score < 1) break;
    std::optional<Job> job = level == 0 ? PickLevelZero() : PickFrom(level);
    if (job) return job;
  }
  return std::nullopt;
}

std::optional<LeveledTree::Job> LeveledTree::PickLevelZero() {
  const auto below = FindOverlap(1, 0, 1);
  if (!below) return std::nullopt;
  Job job{.to_level = 1};
  std::uint64_t upper = 0, lower = 0;
  for (Table& table : level_zero_) {
    table.busy = true;
    upper += table.bytes;
    job.inputs.push_back(table.id);
  }
  level_zero_busy_ = true;
  Take(job, 1, *below, 1, &lower);
  Split(job, 0, 1, Union(upper, lower, 1));
  return job;
}

std::optional<LeveledTree::Job> LeveledTree::PickFrom(std::size_t from) {
  Level& level = levels_[from];
  auto at = level.tables.lower_bound(DrawShare(random_));
  for (std::size_t tried = 0; tried < level.tables.size(); ++tried, ++at) {
    if (at == level.tables.end()) at = level.tables.begin();
    const Table& table = at->second;
    if (table.busy) continue;
    const auto below = FindOverlap(from + 1, table.begin, table.end);
    if (!below) continue;
    Job job{.to_level = from + 1};
    std::uint64_t upper = 0, lower = 0;
    double begin = table.begin, end = table.end;
    for (const double key : *below) {
      const Table& other = levels_[from + 1].tables.at(key);
      begin = std::min(begin, other.begin);
      end = std::max(end, other.end);
    }
    Take(job, from, {table.begin}, 0, &upper);
    Take(job, from + 1, *below, 1, &lower);
    Split(job, begin, end, Union(upper, lower, end - begin));
    return job;
  }
  return std::nullopt;
}

std::optional<std::vector<double>> LeveledTree::FindOverlap(std::size_t level, double begin,
                                                            double end) const {
  const std::map<double, Table>& tables = levels_[level].tables;
  std::vector<double> keys;
  auto it = tables.upper_bound(begin);
  if (it != tables.begin() && std::prev(it)->second.end > begin) --it;
  for (; it != tables.end() && it->first < end; ++it) {
    if (it->second.busy) return std::nullopt;
    keys.push_back(it->first);
  }
  return keys;
}

void LeveledTree::Take(Job& job, std::size_t level, const std::vector<double>& keys, int side,
                       std::uint64_t* bytes) {
  for (const double key : keys) {
    Table& table = levels_[level].tables.at(key);
    table.busy = true;
    levels_[level].bytes -= table.bytes;
    *bytes += table.bytes;
    job.inputs.push_back(table.id);
    job.inputs_at[side].push_back(key);
  }
}

std::uint64_t LeveledTree::Union(std::uint64_t upper, std::uint64_t lower, double width) const {
  const double u = static_cast<double>(upper), l = static_cast<double>(lower);
  const double distinct = std::max(static_cast<double>(unique_bytes_) * width, 1.0);
  return static_cast<std::uint64_t>(
      std::clamp(u + l - u * l / distinct, std::max(u, l), std::max({u, l, distinct})));
}

// Full tables and a rest, as RocksDB cuts its outputs.
void LeveledTree::Split(Job& job, double begin, double end, std::uint64_t bytes) const {
  std::uint64_t done = 0;
  while (done < bytes) {
    const std::uint64_t size = std::min(options_.file_bytes, bytes - done);
    const double total = static_cast<double>(bytes);
    const double from = begin + (end - begin) * static_cast<double>(done) / total;
    done += size;
    const double to = done == bytes ? end : begin + (end - begin) * static_cast<double>(done) / total;
    job.outputs.push_back({.begin = from, .end = to, .bytes = size});
  }
}

}  // namespace zenfs::space
