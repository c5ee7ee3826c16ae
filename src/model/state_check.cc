// State::Flaws: checks the invariants of a volume's metadata.
#include <fmt/format.h>

#include <algorithm>

#include "model/number_limits.h"
#include "model/state.h"

namespace zenfs {
namespace {

class Checker {
 public:
  explicit Checker(const State& state) : state_(state) {}

  void CheckAllButOverlaps() {
    CheckDirectories();
    CheckWaysToRoot();
    for (const auto& [id, file] : state_.files()) CheckFile(id, *file);
    if (auto flaw = FindNumberFrom(state_, kStateNumbersCredible)) flaws_.Add(*std::move(flaw));
    for (const auto& [id, zone] : state_.log_zones()) {
      if (zone.generation >= state_.next_generation() || zone.zone != id) {
        Add({}, "log zone {} has generation {}, but the next one is {}", id.value, zone.generation,
            state_.next_generation());
      }
    }
  }

  void CheckOverlaps() {
    struct Piece {
      DeviceOffset place;
      std::uint64_t length;
      FileId owner;
    };
    std::vector<Piece> pieces;
    for (const auto& [id, file] : state_.files()) {
      for (const Extent& extent : file->extents) pieces.push_back({extent.place, extent.length, id});
    }
    std::ranges::sort(pieces, {}, [](const Piece& p) { return std::pair(p.place, p.owner); });
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i - 1].place + pieces[i - 1].length > pieces[i].place) {
        Add({pieces[i - 1].owner, pieces[i].owner}, "files {} and {} both claim device byte {}",
            pieces[i - 1].owner.value, pieces[i].owner.value, pieces[i].place.value);
      }
    }
  }

  StateFlaws Take() { return std::move(flaws_); }

 private:
  template <typename... Args>
  void Add(const std::vector<FileId>& files, fmt::format_string<Args...> text, Args&&... args) {
    flaws_.Add({.text = fmt::format(text, std::forward<Args>(args)...), .files = files});
  }

  void CheckDirectories() {
    if (state_.FindDirectory(kRootDirectory) == nullptr) Add({}, "there is no root directory");
    for (const auto& [id, directory] : state_.directories()) {
      if (id != directory.id) Add({id}, "directory {} has id {} in its record", id.value, directory.id.value);
      if (id.value >= state_.next_id())
        Add({id}, "directory {} has an id that was never allocated", id.value);
      for (const auto& [name, entry] : directory.entries) CheckEntry(directory, name, entry);
    }
  }

  // Visits each directory once: a way ends at a directory from which the rest was visited before. So a fault is found once, and
  // not again for all that is below it.
  void CheckWaysToRoot() {
    std::unordered_map<FileId, std::size_t> visited{{kRootDirectory, 0}};  // on which of the ways
    std::size_t way = 0;
    for (const auto& [id, directory] : state_.directories()) {
      ++way;
      for (const Directory* at = &directory; at != nullptr; at = state_.FindDirectory(at->parent)) {
        const auto [before, is_new] = visited.try_emplace(at->id, way);
        if (!is_new && before->second == way) Add({at->id}, "directory {} is its own ancestor", at->id.value);
        if (!is_new) break;
        if (state_.FindEntry(at->parent, at->name) != at->id) {
          Add({at->id, at->parent}, "directory {} is not an entry of its parent {}", at->id.value,
              at->parent.value);
          break;
        }
      }
    }
  }

  void CheckEntry(const Directory& directory, const std::string& name, FileId id) {
    if (!IsValidName(name))
      Add({directory.id}, "directory {} has an entry with an invalid name", directory.id.value);
    const Directory* child = state_.FindDirectory(id);
    if (child != nullptr) {
      if (child->parent != directory.id || child->name != name) {
        Add({id, directory.id},
            "directory {} is entry \"{}\" of directory {}, but has another parent or name", id.value, name,
            directory.id.value);
      }
    } else if (state_.FindFile(id) == nullptr) {
      Add({directory.id}, "\"{}\" in directory {} names {}, which is neither a file nor a directory", name,
          directory.id.value, id.value);
    } else {
      ++names_[id];
    }
  }

  void CheckFile(FileId id, const FileRecord& file) {
    if (id != file.id) Add({id}, "file {} has id {} in its record", id.value, file.id.value);
    if (id.value >= state_.next_id()) Add({id}, "file {} has an id that was never allocated", id.value);
    const auto names = names_.find(id);
    const std::uint32_t count = names == names_.end() ? 0 : names->second;
    if (count == 0 || count != file.links) {
      Add({id}, "file {} has {} names, but its link count is {}", id.value, count, file.links);
    }
    std::uint64_t end = 0;
    for (const Extent& extent : file.extents) {
      if (extent.file_offset != end || extent.length == 0) {
        Add({id}, "file {} has a gap or an empty extent at byte {}", id.value, end);
      }
      end = extent.end();
    }
    CheckWindows(file, end);
  }

  void CheckWindows(const FileRecord& file, std::uint64_t end) {
    if (file.shape == FileShape::kPlain && !file.windows.empty()) {
      Add({file.id}, "plain file {} has log windows", file.id.value);
    }
    std::uint64_t sequence = 0;
    for (const LogWindow& window : file.windows) {
      if (window.first_sequence <= sequence || window.last_sequence < window.first_sequence ||
          window.last_sequence >= file.next_sequence || window.end < end || window.epoch > state_.epoch()) {
        Add({file.id}, "file {} has an invalid window at frame {}", file.id.value, window.first_sequence);
      }
      sequence = window.last_sequence;
      end = window.end;
    }
    if (file.size != end) {
      Add({file.id}, "file {} has size {}, but its extents and windows end at {}", file.id.value, file.size,
          end);
    }
  }

  const State& state_;
  std::unordered_map<FileId, std::uint32_t> names_;
  StateFlaws flaws_;
};

}  // namespace

StateFlaws State::Flaws() const {
  Checker checker(*this);
  checker.CheckAllButOverlaps();
  return checker.Take();
}

std::vector<std::string> State::Check() const {
  Checker checker(*this);
  checker.CheckAllButOverlaps();
  checker.CheckOverlaps();
  std::vector<std::string> sentences;
  for (const StateFlaw& flaw : checker.Take()) sentences.push_back(flaw.text);
  return sentences;
}

}  // namespace zenfs
