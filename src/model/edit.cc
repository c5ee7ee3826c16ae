#include "model/edit.h"

#include <fmt/format.h>

namespace zenfs {
namespace {

struct ToText {
  std::string operator()(const CreateFile& e) const {
    return fmt::format("create {} file {}", e.shape == FileShape::kFramed ? "framed" : "plain", e.id.value);
  }
  std::string operator()(const CreateDirectory& e) const {
    return fmt::format("create directory {} as \"{}\" in directory {}", e.id.value, e.name, e.parent.value);
  }
  std::string operator()(const LinkFile& e) const {
    return fmt::format("link \"{}\" in directory {} to file {}", e.name, e.parent.value, e.id.value);
  }
  std::string operator()(const UnlinkFile& e) const {
    return fmt::format("unlink \"{}\" in directory {}", e.name, e.parent.value);
  }
  std::string operator()(const RenameEntry& e) const {
    return fmt::format("rename \"{}\" in directory {} to \"{}\" in directory {}", e.from_name,
                       e.from_parent.value, e.to_name, e.to_parent.value);
  }
  std::string operator()(const RemoveDirectory& e) const {
    return fmt::format("remove directory \"{}\" in directory {}", e.name, e.parent.value);
  }
  std::string operator()(const SetExtents& e) const {
    return fmt::format("set extents of file {} from byte {} ({} extents, size {})", e.id.value, e.from_offset,
                       e.extents.size(), e.size);
  }
  std::string operator()(const SealLog& e) const {
    return fmt::format("seal file {} ({} windows, next frame {}, size {})", e.id.value, e.windows.size(),
                       e.next_sequence, e.size);
  }
  std::string operator()(const SetLifetime& e) const {
    return fmt::format("set lifetime of file {} to {}", e.id.value, LifetimeName(e.lifetime));
  }
  std::string operator()(const AllocateLogZones& e) const {
    return fmt::format("allocate {} log zones", e.zones.size());
  }
  std::string operator()(const ReleaseLogZones& e) const {
    return fmt::format("release {} log zones", e.zones.size());
  }
  std::string operator()(const BeginEpoch& e) const { return fmt::format("begin epoch {}", e.epoch); }
  std::string operator()(const RaiseCounters& e) const {
    return fmt::format("raise counters to id {}, generation {}", e.next_id, e.next_generation);
  }
  std::string operator()(const SetBufferPlace& e) const {
    return e.place.empty() ? "forget the append buffers" : fmt::format("keep append buffers at {}", e.place);
  }
  std::string operator()(const MarkSyncZone& e) const {
    return fmt::format("mark log zone {} as sync zone ({} bytes)", e.zone.value, e.bytes);
  }
  std::string operator()(const SetPairKey&) const { return "set the key of the pair of devices"; }
};

}  // namespace

bool IsValidName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::string EditText(const Edit& edit) { return std::visit(ToText{}, edit); }

}  // namespace zenfs
