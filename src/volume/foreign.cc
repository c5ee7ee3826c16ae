#include "volume/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/counted.h"

namespace zenfs {
namespace {

using namespace std::string_view_literals;

// The magic of each format and its offset in bytes from the start of the device, from the format's documentation.
struct Signature {
  std::size_t offset;
  std::string_view magic;
  std::string_view what;
};
constexpr Signature kSignatures[] = {
    {0, "XFSB"sv, "an XFS file system"},
    {0x438, "\x53\xef"sv, "an ext2, ext3 or ext4 file system"},
    {0x400, "\x10\x20\xf5\xf2"sv, "an F2FS file system"},
    {0x10040, "_BHRfS_M"sv, "a Btrfs file system"},
    {0, "SFOZ"sv, "a zonefs file system"},
    {0x200, "EFI PART"sv, "a GUID partition table"},
    {0x1000, "EFI PART"sv, "a GUID partition table"},
    {0x200, "LABELONE"sv, "an LVM physical volume"},
    {0, "LUKS\xba\xbe"sv, "a LUKS container"},
};
constexpr std::size_t kLookAt = 128 << 10;

std::optional<std::string> NameSignature(ByteView head) {
  for (const Signature& signature : kSignatures) {
    if (signature.offset + signature.magic.size() > head.size()) continue;
    if (AsText(head.subspan(signature.offset, signature.magic.size())) == signature.magic) {
      return std::string(signature.what);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindForeignContent(ZonedDevice& device, std::span<const ZoneInfo> report) {
  // A zoned file system has its superblock in the first zone, conventional or not.
  const ZoneInfo& first = report.front();
  const std::uint64_t readable =
      first.type == ZoneType::kConventional ? first.capacity : first.WrittenBytes();
  AlignedBuffer head(kLookAt);
  head.Resize(RoundDown(std::min<std::uint64_t>(readable, kLookAt), device.geometry().block_size));
  if (!head.empty() && device.Read(first.start, head.Span()).ok()) {
    if (auto named = NameSignature(head.View())) return named;
  }
  // Read-only zones do not count: mkfs neither writes nor resets them, so their data stays.
  const auto written = std::ranges::count_if(report, [](const ZoneInfo& z) {
    return z.WrittenBytes() != 0 && z.condition != ZoneCondition::kReadOnly;
  });
  if (written != 0) {
    return fmt::format("data of an unknown kind in {}", Counted(static_cast<std::uint64_t>(written), "zone"));
  }
  return std::nullopt;
}

}  // namespace zenfs
