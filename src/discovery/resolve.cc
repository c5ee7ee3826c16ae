#include "discovery/resolve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "discovery/contents.h"

namespace zenfs {
namespace {

constexpr std::size_t kNamedMax = 3;  // devices in one line

struct Holder {
  KnownDevice device;
  JudgedDevice judged;
};

// The problems met during the search, for the message if no device is found.
struct Search {
  std::size_t looked_at = 0;
  std::vector<std::string> not_read;
};

// The reason in short: a line that names several devices has no room for advice on permissions.
std::string Reason(const KnownDevice& device, const Error& why) {
  if (why.code() == Code::kPermission) return device.Name() + " (no permission)";
  return fmt::format("{} ({})", device.Name(), why.ToString());
}

std::string Explain(const Search& search) {
  std::string text =
      fmt::format("no device with that UUID among the {} that could be read", search.looked_at);
  if (search.not_read.empty()) {
    return text + "; an emulated device is found if ZENFS_DEVICES, or the file of devices, names it";
  }
  const std::size_t named = std::min(search.not_read.size(), kNamedMax);
  text += fmt::format(
      "; not read: {}",
      fmt::join(search.not_read.begin(), search.not_read.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < search.not_read.size()) text += fmt::format(" and {} more", search.not_read.size() - named);
  return text;
}

// One device under two names (two mounts, two paths, a hard link) counts once.
Status AddHolder(std::optional<Holder>& holder, const KnownDevice& device, const Contents& contents) {
  if (!holder) {
    holder = Holder{.device = device, .judged = {contents.identity, contents.owner}};
    return {};
  }
  if (!contents.identity.empty() && contents.identity == holder->judged.identity) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("two devices hold it, {} and {}, so one is a copy; name the one you mean",
                          holder->device.Name(), device.Name()));
}

}  // namespace

Status JudgedDevice::CheckIsStill(const ZonedDevice& opened, const DeviceUri& uri) const {
  if (opened.identity() == identity && opened.owner() == owner) return {};
  return Fail(Code::kBusy,
              fmt::format("{}:{}: another device has taken its name; try again", uri.kind, uri.target));
}

Result<ResolvedUri> ResolveUri(const DeviceUri& uri, const SearchPlaces& places) {
  if (uri.kind != "uuid") return ResolvedUri(uri);
  const std::optional<Uuid> uuid = Uuid::Parse(uri.target);
  if (!uuid) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("uuid:{} is not of the form uuid:xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", uri.target));
  }
  std::optional<Holder> holder;
  Search search;
  const KnownDevices known = FindDevices(places);
  for (const KnownDevice& device : known.devices) {
    const Contents contents = Probe(device);
    if (contents.kind == Contents::Kind::kUsed) continue;
    if (contents.why) {
      search.not_read.push_back(Reason(device, *contents.why));
      continue;
    }
    ++search.looked_at;
    if (contents.kind != Contents::Kind::kZenfs || contents.uuid != *uuid) continue;
    // Anybody can make a volume with any UUID. One that others may change neither serves nor denies.
    if (contents.owner && !contents.owner->IsTrusted()) {
      search.not_read.push_back(fmt::format(
          "{} (it has that UUID, but others than root and this user may change it; if you trust them, "
          "name it: {})",
          device.Name(), device.Name()));
      continue;
    }
    if (Status added = AddHolder(holder, device, contents); !added.ok()) {
      return Fail(added.error().With("uuid:" + uuid->ToString()));
    }
  }
  if (!holder) {
    for (const Error& problem : known.problems) search.not_read.push_back(problem.ToString());
    return Fail(Code::kNotFound, fmt::format("uuid:{}: {}", uuid->ToString(), Explain(search)));
  }
  DeviceUri resolved = holder->device.uri;
  resolved.options = uri.options;
  return ResolvedUri(std::move(resolved), std::move(holder->judged));
}

}  // namespace zenfs
