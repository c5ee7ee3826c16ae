#include "zone_script.h"

#include <algorithm>
#include <cstring>

namespace zenfs {
namespace {

class Runner {
 public:
  Runner(const ZoneScript& how, ImageDevice::Image& image) : how_(how), image_(image), zone_(how.first_zone) {
    for (std::uint32_t i = how.first_zone; i < how.end_zone; ++i) image.zones[i] = {};
    Enter();
  }

  void Run(FuzzInput& input) {
    while (!input.AtEnd() && zone_ < how_.end_zone) {
      const auto what =
          static_cast<ScriptEntry>(input.Take<std::uint8_t>() % static_cast<unsigned>(ScriptEntry::kCount));
      Carry(what, input.Bytes(input.Take<std::uint16_t>()));
    }
    if (zone_ < how_.end_zone) Leave();
  }

 private:
  ImageDevice::Image::Zone& zone() { return image_.zones[zone_]; }

  void Enter() {
    condition_ = ZoneCondition::kClosed;
    last_ = {};
    last_.epoch = UINT64_MAX;
    zone().bytes.assign(how_.first_byte, std::byte{0});
  }

  void Leave() {
    const std::uint64_t written = zone().bytes.size() / how_.block_size;
    if (written == 0 || (zone().bytes.size() == how_.first_byte && condition_ == ZoneCondition::kClosed)) {
      condition_ = ZoneCondition::kEmpty;
    }
    zone().state = {.condition = condition_, .written = written};
  }

  void Carry(ScriptEntry what, ByteView bytes) {
    switch (what) {
      case ScriptEntry::kFrame:
      case ScriptEntry::kNextFrame: return PutFrame(bytes, what == ScriptEntry::kNextFrame);
      case ScriptEntry::kBytes: Put(bytes); return;
      case ScriptEntry::kNextZone:
        Leave();
        if (++zone_ < how_.end_zone) Enter();
        return;
      case ScriptEntry::kCondition:
        if (!bytes.empty()) condition_ = static_cast<ZoneCondition>(static_cast<unsigned>(bytes[0]) % 8);
        return;
      case ScriptEntry::kBroken:
        zone().broken.push_back(zone().bytes.size() / how_.block_size);
        Put(ByteView());
        return;
      case ScriptEntry::kCut: return Cut(bytes.empty() ? 1 : static_cast<std::size_t>(bytes[0]));
      case ScriptEntry::kForTarget:
        if (how_.for_target) how_.for_target(bytes);
        return;
      case ScriptEntry::kCount: return;
    }
  }

  // Puts the bytes, at least one block.
  ByteSpan Put(ByteView bytes) {
    std::vector<std::byte>& to = zone().bytes;
    const std::size_t at = to.size();
    const std::size_t length = RoundUp(std::max<std::size_t>(bytes.size(), 1), how_.block_size);
    if (length > how_.capacity - at) return {};
    to.resize(at + length);
    if (!bytes.empty()) std::memcpy(to.data() + at, bytes.data(), bytes.size());
    return ByteSpan(to).subspan(at, length);
  }

  void PutFrame(ByteView bytes, bool follows) {
    FrameHeader header;
    if (bytes.size() < sizeof header) return;
    std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof header);
    header.header_bytes = header.header_bytes == how_.block_size ? how_.block_size : kFrameHeaderBytes;
    if (bytes.size() < header.header_bytes) return;
    header.payload_bytes = static_cast<std::uint32_t>(bytes.size() - header.header_bytes);
    if (follows) {
      header.epoch = last_.epoch + 1;
      const std::uint64_t commits = header.stable_sequence - header.sequence;
      header.sequence = last_.stable_sequence + 1;
      header.stable_sequence = header.sequence + commits;
    }
    last_ = header;
    const ByteSpan frame = Put(bytes);
    if (frame.empty()) return;
    const ByteView payload = bytes.subspan(header.header_bytes);
    SealFrame(frame, header, how_.seed(ZoneId(zone_), header, payload));
  }

  void Cut(std::size_t blocks) {
    std::vector<std::byte>& bytes = zone().bytes;
    const std::size_t held = (bytes.size() - how_.first_byte) / how_.block_size;
    bytes.resize(bytes.size() - std::min(blocks, held) * how_.block_size);
  }

  const ZoneScript& how_;
  ImageDevice::Image& image_;
  std::uint32_t zone_;
  ZoneCondition condition_ = ZoneCondition::kClosed;
  FrameHeader last_;
};

void PutZone(const ZoneScript& how, const ImageDevice::Image::Zone& zone, std::string& script) {
  const ByteView bytes(zone.bytes);
  for (std::size_t at = how.first_byte; at < bytes.size();) {
    FrameHeader header;
    std::memcpy(static_cast<void*>(&header), bytes.data() + at, sizeof header);
    const std::size_t length = std::size_t{header.header_bytes} + header.payload_bytes;
    const bool whole = header.magic == kFrameMagic && length <= bytes.size() - at && length <= UINT16_MAX;
    const ByteView frame = bytes.subspan(at, whole ? length : how.block_size);
    PutEntry(script, whole ? ScriptEntry::kFrame : ScriptEntry::kBytes, frame);
    at += RoundUp(frame.size(), how.block_size);
  }
  const auto condition = static_cast<std::byte>(zone.state.condition);
  if (zone.state.condition != ZoneCondition::kEmpty) {
    PutEntry(script, ScriptEntry::kCondition, ByteView(&condition, 1));
  }
}

}  // namespace

void RunZoneScript(const ZoneScript& how, FuzzInput& input, ImageDevice::Image& image) {
  Runner(how, image).Run(input);
}

void PutEntry(std::string& script, ScriptEntry what, ByteView bytes) {
  PutRaw(script, static_cast<std::uint8_t>(what));
  PutRaw(script, static_cast<std::uint16_t>(bytes.size()));
  script.append(AsText(bytes));
}

std::string ScriptOf(const ZoneScript& how, const ImageDevice::Image& image) {
  std::string script;
  for (std::uint32_t i = how.first_zone; i < how.end_zone; ++i) {
    if (i != how.first_zone) PutEntry(script, ScriptEntry::kNextZone, {});
    PutZone(how, image.zones[i], script);
  }
  return script;
}

}  // namespace zenfs
