// Append buffers of a dead process, as the next mount and a reader find them; and the metrics page
// beside them.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/crc32c.h"
#include "base/random.h"
#include "buffer_area_input.h"
#include "buffers/buffer_area_place.h"
#include "buffers/live_buffers.h"
#include "buffers/orphaned_buffers.h"
#include "format/buffer_area_layout.h"
#include "input.h"
#include "metrics/metrics_snapshot.h"
#include "scratch_path.h"

namespace zenfs {
namespace {

constexpr std::size_t kFileMax = std::size_t{1} << 20;

// The file on the tmpfs for all inputs of this process.
class File {
 public:
  File() {
    std::filesystem::create_directory(directory_.path());
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    Require(fd_ >= 0, "a file on a tmpfs can be made");
  }

  void Fill(ByteView bytes, bool other_user) {
    const uid_t owner = other_user ? kOther : geteuid();
    if (owner != owner_)
      Require(::fchown(fd_, owner, static_cast<gid_t>(-1)) == 0, "root can give files away");
    owner_ = owner;
    const bool sized = ::ftruncate(fd_, static_cast<off_t>(bytes.size())) == 0;
    Require(sized && ::pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
            "the file can be written");
  }
  const std::string& path() const { return path_; }

 private:
  static constexpr uid_t kOther = 65534;
  const ScratchPath directory_;
  const std::string path_ =
      fmt::format("{}/{}{:016x}", directory_.path(), BufferAreaNamePrefix(kBufferAreaIdentity), 1);
  int fd_;
  uid_t owner_ = geteuid();
};

// A different key in each process, so that no seed knows it.
const std::string& Key() {
  static const std::string key = [] {
    const std::uint64_t words[] = {RandomSeed(), RandomSeed()};
    static_assert(sizeof words == kBufferKeyBytes);
    return std::string(reinterpret_cast<const char*>(words), sizeof words);
  }();
  return key;
}

// Builds the shared memory that an input describes.
class Builder {
 public:
  explicit Builder(FuzzInput& input) : input_(input), flags_(input.Take<std::uint8_t>()) {}

  std::uint8_t flags() const { return flags_; }

  // Aligned to a page, as mapped memory is.
  ByteView Build() {
    const auto extra = input_.Take<std::uint16_t>();
    header_ = input_.Take<BufferAreaHeader>();
    const bool as_it_is = (flags_ & (kHeaderAsItIs | kLayoutAsItIs)) != 0;
    if (!as_it_is) LayOut();
    SetKey();
    std::uint64_t bytes = as_it_is ? kBufferAreaHeaderBytes + extra * 4 : BufferAreaBytes(header_);
    if ((flags_ & kWrongSize) != 0) bytes = extra * 16;
    memory_.assign(std::min<std::uint64_t>(std::max<std::uint64_t>(bytes, 1), kFileMax), std::byte{0});
    if (memory_.size() < kBufferAreaHeaderBytes) return memory_;
    if ((flags_ & kHeaderAsItIs) != 0) {
      std::memcpy(memory_.data(), &header_, sizeof header_);
    } else {
      SealBufferAreaHeader(memory_, header_);
    }
    if (!as_it_is && memory_.size() == BufferAreaBytes(header_)) FillSlots();
    return memory_;
  }

 private:
  void SetKey() {
    if ((flags_ & (kHeaderAsItIs | kOtherKey)) == 0) {
      std::memcpy(header_.key, Key().data(), Key().size());
    } else if (std::memcmp(header_.key, Key().data(), Key().size()) == 0) {
      header_.key[0] ^= 1;  // the fuzzer sees compared bytes and could learn the key
    }
  }

  void LayOut() {
    const std::uint64_t metrics = header_.metrics_bytes % 2 == 0 ? 0 : kMetricsPageBytes;
    LayOutBufferArea(header_, header_.slots % (kBufferAreaSlotsMax + 1), kBufferAreaBufferBytes, metrics);
    if ((flags_ & kOtherEpoch) == 0) {
      header_.epoch = kBufferAreaEpoch;
    } else if (header_.epoch <= kBufferAreaEpoch) {
      header_.epoch +=
          kBufferAreaEpoch + 1;  // any later number: an earlier one with the key is of the same file
    }
    std::memcpy(header_.volume, BufferAreaVolume().bytes.data(), sizeof header_.volume);
    std::memset(header_.identity, 0, sizeof header_.identity);
    if ((flags_ & kOtherDevice) == 0)
      std::memcpy(header_.identity, kBufferAreaIdentity, sizeof kBufferAreaIdentity);
  }

  void FillSlots() {
    for (std::uint32_t slot = 0; slot < header_.slots; ++slot) FillSlot(slot);
    const ByteView metrics = input_.Rest();
    const std::size_t n = std::min<std::size_t>(metrics.size(), header_.metrics_bytes);
    if (n != 0) std::memcpy(memory_.data() + header_.metrics_offset, metrics.data(), n);
  }

  void FillSlot(std::uint32_t slot) {
    const auto slot_flags = input_.Take<std::uint8_t>();
    const auto owner = input_.Take<std::uint64_t>();
    const auto file_offset = input_.Take<std::uint64_t>();
    const std::uint64_t record_bytes = (slot_flags & kHasRecord) == 0 ? 0 : input_.Take<std::uint8_t>();
    auto length = input_.Take<std::uint32_t>();
    auto crc = input_.Take<std::uint32_t>();
    const ByteView bytes = input_.Bytes(input_.Take<std::uint16_t>());
    const std::uint64_t room = header_.buffer_bytes - kBufferAreaPayloadAt;
    const std::size_t n = std::min<std::size_t>(bytes.size(), room);
    const std::uint64_t at = header_.buffers_offset + slot * header_.buffer_bytes + kBufferAreaPayloadAt;
    if (n != 0) std::memcpy(memory_.data() + at, bytes.data(), n);
    if ((slot_flags & kLengthAsItIs) == 0) length = static_cast<std::uint32_t>(n);
    if ((slot_flags & kCrcAsItIs) == 0) {
      const auto whole = ByteView(memory_).subspan(at, std::min<std::uint64_t>(length, room));
      crc =
          Crc32c(whole, BufferAreaSeed(BufferAreaVolume(), header_.epoch, owner, file_offset, record_bytes));
    }
    const std::uint64_t control[] = {length == 0 ? 0 : PublishedWord(length, crc), owner, file_offset,
                                     record_bytes};
    std::memcpy(memory_.data() + header_.controls_offset + slot * sizeof(BufferAreaControl), control,
                sizeof control);
  }

  FuzzInput& input_;
  const std::uint8_t flags_;
  BufferAreaHeader header_{};
  std::vector<std::byte> memory_;
};

void CheckPieces(const OrphanedBuffers& left) {
  const ByteView memory = left.memory.view();
  for (std::size_t i = 0; i < left.pieces.size(); ++i) {
    const OrphanedBytes& piece = left.pieces[i];
    Require(piece.bytes.data() >= memory.data() &&
                piece.bytes.data() + piece.bytes.size() <= memory.data() + memory.size(),
            "what was left lies in the memory");
    if (i == 0) continue;
    Require(std::pair(left.pieces[i - 1].owner, left.pieces[i - 1].file_offset) <=
                std::pair(piece.owner, piece.file_offset),
            "what was left comes in order");
  }
}

void CheckPiecesOfReader(const LiveBuffers& seen) {
  const FlushedBytes* before = nullptr;
  for (const FlushedBytes& flushed : seen.pieces()) {
    const std::byte* const begin = flushed.memory.get();
    Require(flushed.piece.bytes.data() >= begin && flushed.piece.bytes.data() + flushed.piece.bytes.size() <=
                                                       begin + flushed.buffers.lock()->header.buffer_bytes,
            "what a reader sees is in its own memory");
    Require(flushed.Unchanged(), "nothing has changed");
    Require(before == nullptr || std::pair(before->piece.owner, before->piece.file_offset) <=
                                     std::pair(flushed.piece.owner, flushed.piece.file_offset),
            "what a reader sees comes in order");
    before = &flushed;
  }
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  static File file;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  Builder builder(input);
  const bool other_user = (builder.flags() & kOtherUser) != 0 && geteuid() == 0;
  file.Fill(builder.Build(), other_user);
  const WhoseBuffers whose{.place = BufferAreaPlace{.boot = "boot", .path = file.path()}.ToText(),
                           .identity = kBufferAreaIdentity,
                           .volume = BufferAreaVolume(),
                           .epoch = kBufferAreaEpoch,
                           .boot = "boot",
                           .key = Key()};
  std::size_t pieces = 0;
  {
    const auto left = OpenOrphanedBuffers(whose);
    Require(!other_user || (left && !left->notice.empty()), "the file of another user is in nobody's way");
    if (left) {
      CheckPieces(*left);
      pieces = left->pieces.size();
      Require((builder.flags() & (kOtherDevice | kOtherEpoch)) == 0 || pieces == 0 ||
                  (builder.flags() & (kHeaderAsItIs | kLayoutAsItIs)) != 0,
              "what belongs to others is not taken");
      Require(pieces == 0 || (!other_user && (builder.flags() & (kHeaderAsItIs | kOtherKey)) == 0),
              "who does not know the key, or is another user, gets nothing in");
      const auto header = left->memory.valid() ? ReadBufferAreaHeader(left->memory.view())
                                               : Fail(Code::kCorruption, "nothing is there");
      if (header) {
        const auto page = left->memory.view().subspan(header->metrics_offset, header->metrics_bytes);
        const auto metrics = DecodeMetrics(page);
        if (metrics) static_cast<void>(Difference(*metrics, *metrics));
        if (metrics) static_cast<void>((*metrics)[Operation::kLogSwitch].latency.Quantile(0.99));
      }
    }
  }
  LiveBuffers seen;
  seen.Update(whose, Deadline::After(std::chrono::seconds(10)));
  CheckPiecesOfReader(seen);
  Require(seen.pieces().size() == pieces || !seen.problem().empty(), "a reader sees what a mount takes");
  seen.Peek();
  seen.Update(whose, Deadline::After(std::chrono::seconds(10)));
  Require(!seen.problem().empty() || seen.ChangedSincePeek().none(), "nothing has changed");
  return 0;
}
