// Paths of a backup. A PathTree has the names below one directory, each with the directory it is in. Memory is linear in the number and length of the names; full
// paths would take the square of it in a deep tree. A path is made when it is needed.
//
// Threads: any for const functions, while none adds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/units.h"

namespace zenfs {

// A name in a PathTree. Directories have lower numbers than what is in them.
using PathNode = StrongId<struct PathNodeTag, std::uint32_t>;
inline constexpr PathNode kTopNode{0};  // the directory itself; its path is empty

class PathTree {
 public:
  PathTree() : names_{nullptr} {}
  PathTree(PathTree&&) = default;
  PathTree& operator=(PathTree&&) = default;

  // The node of `name` in `directory`, new or existing. `name` is any bytes.
  PathNode Add(PathNode directory, std::string_view name);

  std::optional<PathNode> Find(PathNode directory, std::string_view name) const;
  // `path` as from PathOf.
  std::optional<PathNode> Find(std::string_view path) const;

  // Not for kTopNode.
  PathNode DirectoryOf(PathNode node) const { return names_[node.value]->directory; }
  const std::string& NameOf(PathNode node) const { return names_[node.value]->name; }

  // The path below the directory: names joined by '/'.
  std::string PathOf(PathNode node) const { return PathBelow("", node); }
  // The same, below the path `top`.
  std::string PathBelow(std::string_view top, PathNode node) const;

 private:
  struct Name {
    PathNode directory;
    std::string name;
  };
  struct Key {
    PathNode directory;
    std::string_view name;

    Key(PathNode d, std::string_view n) : directory(d), name(n) {}
    Key(const Name& of) : directory(of.directory), name(of.name) {}  // NOLINT: lets Less compare both types
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Less {
    using is_transparent = void;
    bool operator()(const Key& a, const Key& b) const { return a < b; }
  };

  std::map<Name, PathNode, Less> nodes_;  // ordered: no choice of names makes it slow
  std::vector<const Name*> names_;        // by node; keys of nodes_
};

// Joins "a" and "b" to "a/b"; returns "b" for an empty "a", "/b" for "/".
[[nodiscard]] std::string JoinPath(std::string_view directory, std::string_view name);

// Errors: kInvalidArgument if the path, or a name in it, is longer than a volume takes (model/edit.h).
[[nodiscard]] Status CheckPathLimits(std::string_view path);

}  // namespace zenfs
