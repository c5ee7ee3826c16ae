// Append buffers that another program wrote into the file that the metadata log names, with valid
// checksums, for a volume whose process died. A reader looks at them, a mount takes them over, and
// another mount discards them.
//
//    u8 mode, u8 what is at the path, u8 field, u64 value, u8 slots, slots * slot
//    slot := u8 flags, u8 file, u16 offset, u8 order, EditRecord, u8 n, n bytes
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/crc32c.h"
#include "buffers_base.h"
#include "device/read_only_view.h"
#include "edit_script.h"
#include "format/buffer_area_layout.h"
#include "input.h"
#include "simulated.h"
#include "testing/borrowed_device.h"

namespace zenfs {
namespace {

enum BuffersMode : std::uint8_t { kReaderFirst = 1, kCheckFirst = 2, kSetField = 4, kFieldUnsealed = 8 };
enum SlotFlags : std::uint8_t {
  kRecord = 1,       // the tail of a plain file
  kExtents = 2,      // a record with extents
  kOtherOffset = 4,  // an offset other than the matching one
  kOtherOwner = 8,   // the offset field is the owner
  kOtherCrc = 16,
  kOtherLength = 32,
  kSeconds = 64,  // the order field is the time of the append
};
constexpr std::uint32_t kSlotsMax = 6;
constexpr std::uint64_t kBufferBytes = 4096;
constexpr uid_t kNobody = 65534;

// Builds the file that an input describes.
class Forger {
 public:
  Forger(const BuffersBase& base, FuzzInput& input) : base_(base), input_(input), header_(base.header) {}

  std::vector<std::byte> Forge(std::uint8_t mode) {
    const auto field = input_.Take<std::uint8_t>();
    const auto value = input_.Take<std::uint64_t>();
    LayOutBufferArea(header_, input_.Take<std::uint8_t>() % (kSlotsMax + 1), kBufferBytes, 0);
    memory_.resize(BufferAreaBytes(header_));
    for (std::uint32_t slot = 0; slot < header_.slots && !input_.AtEnd(); ++slot) FillSlot(slot);
    if ((mode & kSetField) != 0) SetField(field, value);
    SealBufferAreaHeader(memory_, header_);
    if ((mode & kFieldUnsealed) != 0) std::memcpy(memory_.data() + field, &value, sizeof value);
    return std::move(memory_);
  }

  // The files whose extents differ from the committed ones.
  const std::set<FileId>& replaced() const { return replaced_; }

 private:
  void SetField(std::uint8_t field, std::uint64_t value) {
    switch (field % 9) {
      case 0: header_.epoch = value; break;
      case 1: header_.slots = static_cast<std::uint32_t>(value); break;
      case 2: header_.metrics_offset = value; break;
      case 3: header_.metrics_bytes = value; break;
      case 4: header_.controls_offset = value; break;
      case 5: header_.buffers_offset = value; break;
      case 6: header_.buffer_bytes = value; break;
      case 7: header_.identity[value % sizeof header_.identity] ^= 1; break;
      default: reinterpret_cast<std::byte*>(&header_)[value % sizeof header_] ^= std::byte{1}; break;
    }
  }

  SetExtents AnyExtents(std::uint8_t file, EditRecord record) const {
    record.kind = static_cast<std::uint8_t>(EditKind::kSetExtents);
    record.flags = static_cast<std::uint8_t>(record.flags | kLast | kKeep | kBare);
    record.a = file;
    FuzzInput one(std::as_bytes(std::span(&record, 1)));
    std::uint8_t flags = 0;
    return std::get<SetExtents>(EditScript(base_.geometry, base_.state).Next(one, flags).front());
  }

  void FillSlot(std::uint32_t slot) {
    const auto flags = input_.Take<std::uint8_t>();
    const auto file = input_.Take<std::uint8_t>() % base_.sizes.size();
    const auto offset = input_.Take<std::uint16_t>();
    const std::uint64_t order = input_.Take<std::uint8_t>();
    const auto record = input_.Take<EditRecord>();
    const ByteView bytes = input_.Bytes(input_.Take<std::uint8_t>());

    const auto picked = std::next(base_.sizes.begin(), static_cast<std::ptrdiff_t>(file));
    FileId owner = picked->first;
    std::uint64_t file_offset = picked->second;
    std::string text;
    if ((flags & kRecord) != 0) {
      TailRecord tail{.order = order, .uncommitted = {}};
      if ((flags & kExtents) != 0) {
        tail.uncommitted = AnyExtents(static_cast<std::uint8_t>(file), record);
        file_offset = tail.uncommitted->size;
        replaced_.insert(owner);
      }
      text = EncodeTailRecord(tail);
    }
    const std::uint64_t record_bytes = text.size();
    if ((flags & kOtherOffset) != 0) file_offset += static_cast<std::uint64_t>(std::int64_t{offset} - 128);
    if ((flags & kOtherOwner) != 0) owner = FileId(offset);
    text += AsText(bytes);
    text.resize(std::min<std::size_t>(text.size(), kBufferBytes - kBufferAreaPayloadAt));
    std::uint32_t crc = Crc32c(
        AsBytes(text), BufferAreaSeed(Volume(), header_.epoch, owner.value, file_offset, record_bytes));
    if ((flags & kOtherCrc) != 0) ++crc;
    const std::uint32_t length =
        static_cast<std::uint32_t>(text.size()) + ((flags & kOtherLength) != 0 ? offset : 0);
    const std::uint64_t control[] = {length == 0 ? 0 : PublishedWord(length, crc), owner.value, file_offset,
                                     record_bytes, (flags & kSeconds) != 0 ? order << 24 : 0};
    std::memcpy(memory_.data() + header_.controls_offset + slot * sizeof(BufferAreaControl), control,
                sizeof control);
    std::memcpy(memory_.data() + header_.buffers_offset + slot * kBufferBytes + kBufferAreaPayloadAt,
                text.data(), text.size());
  }

  Uuid Volume() const {
    Uuid volume;
    std::memcpy(volume.bytes.data(), header_.volume, sizeof header_.volume);
    return volume;
  }

  const BuffersBase& base_;
  FuzzInput& input_;
  BufferAreaHeader header_;
  std::vector<std::byte> memory_;
  std::set<FileId> replaced_;
};

// Creates the object at the path that the metadata log names.
void Place(const std::string& path, std::uint8_t what, ByteView bytes) {
  switch (what % 16) {
    case 1: Require(::symlink("/dev/zero", path.c_str()) == 0, "a link can be made"); return;
    case 2: Require(::mkfifo(path.c_str(), 0600) == 0, "a pipe can be made"); return;
    case 3: Require(::mkdir(path.c_str(), 0700) == 0, "a directory can be made"); return;
    case 4: return;  // nothing
    default: break;
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  Require(fd >= 0, "the file can be made");
  if (what % 16 == 5) bytes = bytes.first(bytes.size() / 2);
  if (what % 16 == 6) bytes = bytes.first(kBufferAreaHeaderBytes);
  Require(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
          "the file can be written");
  if (what % 16 == 7) Require(::fchmod(fd, 0666) == 0, "the mode can be changed");
  if (what % 16 == 9 && ::geteuid() == 0) {
    Require(::fchown(fd, kNobody, kNobody) == 0, "root can give a file away");
  }
  if (what % 16 == 8) Require(::ftruncate(fd, 1 << 20) == 0, "there can be a hole");
  ::close(fd);
}

class Takeover {
 public:
  Takeover(const BuffersBase& base, ImageDevice& device, const std::set<FileId>& replaced)
      : base_(base), device_(device), replaced_(replaced) {}

  void Run(std::uint8_t mode) {
    if ((mode & kCheckFirst) != 0) {
      const std::string damage = FirstDamage(device_, /*read_data=*/false);  // all inputs have the same data
      Require(damage.empty(), "what is not on the device is no damage of it: " + damage);
    }
    if ((mode & kReaderFirst) != 0) Read();
    Require(device_.changes() == 0, "who only looks changes nothing");
    Take();
    const std::string damage = FirstDamage(device_, /*read_data=*/false);
    Require(damage.empty(), "what others wrote damages nothing: " + damage);
  }

 private:
  void Read() {
    auto reader = Volume::Mount(MakeReadOnlyView(device_), ImageMountOptions());
    Require(reader.has_value(), "a reader needs no buffers: " + (reader ? "" : reader.error().ToString()));
    Require(Look(**reader) == base_.synced, "a reader sees what is on the device");
    static_cast<void>((*reader)->Unmount().ok());
  }

  void Take() {
    MountOptions options = ImageMountOptions();
    auto volume = Volume::Mount(Borrow(device_), options);
    if (!volume) {
      if (Tells()) std::fprintf(stderr, "refused: %s\n", volume.error().ToString().c_str());
      Require(volume.error().ToString().find("discard_unsynced") != std::string::npos,
              "who can't take buffers over says what to do: " + volume.error().ToString());
      options.discard_unsynced = true;
      volume = Volume::Mount(Borrow(device_), options);
      Require(volume.has_value(), "buffers can be given up: " + (volume ? "" : volume.error().ToString()));
    }
    const VolumeContents first = Look(**volume);
    if (Tells()) Tell(**volume, first);
    CheckSynced(first);
    const Status unmounted = (*volume)->Unmount();
    Require(unmounted.ok(), "it unmounts: " + (unmounted.ok() ? "" : unmounted.error().ToString()));
    volume->reset();
    auto again = Volume::Mount(MakeReadOnlyView(device_), ImageMountOptions());
    Require(again.has_value(), "it mounts again: " + (again ? "" : again.error().ToString()));
    Require(Look(**again) == first, "what was recovered stays");
    static_cast<void>((*again)->Unmount().ok());
  }

  void Tell(Volume& volume, const VolumeContents& now) const {
    for (const std::string& notice : volume.notices()) std::fprintf(stderr, "notice: %s\n", notice.c_str());
    for (const auto& [path, content] : now) {
      const auto before = base_.synced.find(path);
      if (before == base_.synced.end() || before->second == content) continue;
      std::fprintf(stderr, "%s: %zu bytes, %zu before\n", path.c_str(), TextOf(content).size(),
                   TextOf(before->second).size());
    }
  }

  static std::string_view TextOf(std::string_view content) { return content.substr(content.find(':') + 1); }

  // Buffers only add bytes to files, except to those whose extents they replace.
  void CheckSynced(const VolumeContents& now) const {
    std::set<std::string> replaced;
    for (const FileId id : replaced_) replaced.insert(base_.paths.at(id));
    for (const auto& [path, content] : base_.synced) {
      const auto found = now.find(path);
      Require(found != now.end(), "no file is lost: " + path);
      Require(replaced.contains(path) || TextOf(found->second).starts_with(TextOf(content)),
              "what was synced is there: " + path);
    }
  }

  const BuffersBase& base_;
  ImageDevice& device_;
  const std::set<FileId>& replaced_;
};

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  const BuffersBase& base = TheBuffersBase();
  static ImageDevice device = MakeBuffersDevice();
  FuzzInput input(std::as_bytes(std::span(data, size)));
  const auto mode = input.Take<std::uint8_t>();
  const auto what = input.Take<std::uint8_t>();
  Forger forger(base, input);
  Place(base.path, what, forger.Forge(mode));
  device.Load(base.image);
  RunSimulated([&] { Takeover(base, device, forger.replaced()).Run(mode); });
  if (::unlink(base.path.c_str()) != 0 && errno == EISDIR) static_cast<void>(::rmdir(base.path.c_str()));
  return 0;
}
