#include "change_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace zenfs {
namespace {

constexpr std::uint32_t kChanges =
    IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_MOVE_SELF;

}  // namespace

ChangeWatch::ChangeWatch() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

void ChangeWatch::Add(const std::string& path, const std::string& name) {
  const int watch = ::inotify_add_watch(fd_.get(), path.c_str(), kChanges | IN_DONT_FOLLOW);
  if (watch < 0) complete_ = false;
  names_[watch] = name;
}

std::optional<std::set<std::string>> ChangeWatch::Take() {
  std::set<std::string> changed;
  bool complete = complete_;
  alignas(inotify_event) std::array<char, 16 << 10> buffer;
  for (ssize_t n = 0; (n = ::read(fd_.get(), buffer.data(), buffer.size())) > 0;) {
    for (const char* at = buffer.data(); at < buffer.data() + n;) {
      inotify_event event{};
      std::memcpy(&event, at, sizeof event);
      const char* const entry = at + sizeof event;
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) complete = false;
      const auto watched = names_.find(event.wd);
      if (watched == names_.end()) continue;
      const bool is_entry = event.len != 0;
      changed.insert(watched->second + (is_entry && !watched->second.empty() ? "/" : "") +
                     (is_entry ? entry : ""));
      if ((event.mask & IN_IGNORED) != 0) names_.erase(watched);  // it is gone
    }
  }
  return complete ? std::optional(std::move(changed)) : std::nullopt;
}

}  // namespace zenfs
