// Seeds of the target buffers: each kind of slot for each file, and each thing that can be at the
// path.
#include <fmt/format.h>

#include "edit_script.h"
#include "input.h"
#include "seeds.h"

namespace zenfs {
namespace {

std::string Buffers(std::uint8_t mode, std::uint8_t what, std::uint8_t field, std::uint64_t value,
                    const std::vector<std::string>& slots) {
  std::string out;
  for (const std::uint8_t byte : {mode, what, field}) PutRaw(out, byte);
  PutRaw(out, value);
  PutRaw(out, static_cast<std::uint8_t>(slots.size()));
  for (const std::string& slot : slots) out += slot;
  return out;
}

std::string BuffersSlot(std::uint8_t flags, std::uint8_t file, std::uint16_t offset, std::uint16_t extents) {
  std::string out;
  PutRaw(out, flags);
  PutRaw(out, file);
  PutRaw(out, offset);
  PutRaw(out, std::uint8_t{1});
  PutRaw(out, EditRecord{.kind = 0, .flags = 0, .a = 0, .b = 1, .n = extents, .m = 70});
  PutRaw(out, std::uint8_t{8});
  return out + "appended";
}

}  // namespace

void WriteBuffersSeeds(SeedWriter& writer) {
  for (std::uint8_t what = 0; what < 10; ++what) {
    for (const std::uint8_t mode : {0, 3}) {
      writer.Write("buffers", fmt::format("name-{}-{}", what, mode),
                   Buffers(mode, what, 0, 0, {BuffersSlot(0, 0, 0, 0)}));
    }
  }
  for (std::uint8_t field = 0; field < 9; ++field) {
    for (const std::uint8_t mode : {4, 5, 8, 10}) {
      writer.Write("buffers", fmt::format("field-{}-{}", field, mode),
                   Buffers(mode, 0, field, 4096, {BuffersSlot(0, 0, 0, 0)}));
    }
  }
  for (int flags = 0; flags < 128; ++flags) {
    std::vector<std::string> slots;
    for (std::uint8_t file = 0; file < 4; ++file) {
      slots.push_back(
          BuffersSlot(static_cast<std::uint8_t>(flags), file, 120, static_cast<std::uint16_t>(flags % 4)));
    }
    writer.Write("buffers", fmt::format("slots-{}", flags),
                 Buffers(static_cast<std::uint8_t>(flags % 4), 0, 0, 0, slots));
    writer.Write("buffers", fmt::format("slot-{}", flags), Buffers(0, 0, 0, 0, {slots[flags % 4]}));
  }
}

}  // namespace zenfs
