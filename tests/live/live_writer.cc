#include "live_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "backends/emulator/emulator.h"
#include "base/random.h"
#include "volume/volume.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kSlots = 24;
constexpr std::uint64_t kFileBytesMax = 300 << 10;
constexpr int kFailed = 3;

class Work {
 public:
  Work(Volume& volume, std::uint64_t seed) : volume_(volume), random_(seed) {}

  Status Step() {
    const std::uint64_t slot = random_.Below(kSlots);
    const std::string name = fmt::format("{}{}", slot, slot % 3 == 0 ? ".log" : ".sst");
    switch (random_.Below(8)) {
      case 0: return Forgive(volume_.Unlink(name));
      case 1: return Forgive(volume_.Rename(name, "moved-" + name));
      case 2: return Forgive(TruncateFile(volume_, name, random_.Below(8) * kRecordBytes * 512));
      case 3:
      case 4: return Forgive(Extend(name, slot));
      default: return Forgive(Replace(name, slot));
    }
  }

 private:
  // What another step took away, or has not made yet; a truncation to more than there is; live data beside
  // so much dead data that the device is full.
  static Status Forgive(Status status) {
    if (status.ok()) return status;
    const Code code = status.error().code();
    return code == Code::kNotFound || code == Code::kNotSupported || code == Code::kNoSpace ? Status()
                                                                                            : status;
  }

  Status Append(FileHandle& file, std::uint64_t slot, std::uint64_t generation, std::uint64_t records) {
    for (std::uint64_t done = 0; done < records;) {
      const std::uint64_t now = std::min<std::uint64_t>(records - done, 1 + random_.Below(500));
      std::string text;
      std::uint64_t offset = file.size();
      for (std::uint64_t i = 0; i < now; ++i, offset += kRecordBytes) {
        text += LiveRecord(slot, generation, offset);
      }
      ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(text)));
      switch (random_.Below(4)) {
        case 0: break;
        case 1: ZENFS_RETURN_IF_ERROR(file.Flush()); break;
        default: ZENFS_RETURN_IF_ERROR(file.Sync());
      }
      done += now;
    }
    return file.Close();
  }

  Status Replace(const std::string& name, std::uint64_t slot) {
    ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, volume_.Create(name));
    const std::uint64_t generation = file->id().value;
    return Append(*file, slot, generation, random_.Below(kFileBytesMax / kRecordBytes));
  }

  Status Extend(const std::string& name, std::uint64_t slot) {
    ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, volume_.OpenForAppend(name, false));
    if (file->size() > kFileBytesMax) return {};
    return Append(*file, slot, file->id().value, 1 + random_.Below(300));
  }

  Volume& volume_;
  Random random_;
};

Status Write(const std::string& path, std::uint64_t seed, int tell, int stop) {
  ZENFS_ASSIGN_OR_RETURN(auto device, OpenEmulatedFile(path, OpenMode::kExclusive));
  ZENFS_ASSIGN_OR_RETURN(const auto volume, Volume::Mount(std::move(device), {}));
  Work work(*volume, seed);
  // So that there is something to read from the first moment on.
  for (int i = 0; i < 20; ++i) ZENFS_RETURN_IF_ERROR(work.Step());
  if (::write(tell, "m", 1) != 1) return Fail(Code::kIo, "the test is gone");
  for (;;) {
    pollfd asked{.fd = stop, .events = POLLIN, .revents = 0};
    if (::poll(&asked, 1, 0) != 0) break;
    ZENFS_RETURN_IF_ERROR(work.Step());
  }
  return volume->Unmount();
}

}  // namespace

std::string LiveRecord(std::uint64_t slot, std::uint64_t generation, std::uint64_t offset) {
  std::string record = fmt::format("<{:04}|{:016}|{:016}", slot, generation, offset);
  record.resize(kRecordBytes - 1, static_cast<char>('a' + generation % 26));
  return record + '>';
}

std::optional<LiveTag> ParseLiveTag(std::string_view record) {
  LiveTag tag;
  if (record.size() < kRecordBytes || record[0] != '<' || record[5] != '|' || record[22] != '|') return {};
  const auto number = [&](std::size_t from, std::size_t to, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(record.data() + from, record.data() + to, value);
    return error == std::errc() && end == record.data() + to;
  };
  if (!number(1, 5, tag.slot) || !number(6, 22, tag.generation)) return {};
  return tag;
}

std::optional<std::uint64_t> SlotOfName(std::string_view name) {
  if (name.starts_with("moved-")) name.remove_prefix(6);
  std::uint64_t slot = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), slot);
  if (error != std::errc() || end == name.data()) return {};
  return slot;
}

LiveWriter::LiveWriter(const std::string& path, std::uint64_t seed) {
  int told[2], stop[2];
  if (::pipe2(told, O_CLOEXEC) != 0 || ::pipe2(stop, O_CLOEXEC) != 0) std::abort();
  child_ = ::fork();
  if (child_ == 0) {
    ::close(told[0]);
    ::close(stop[1]);
    const Status written = Write(path, seed, told[1], stop[0]);
    if (written.ok()) ::_exit(0);
    const std::string text = "the writer failed: " + written.error().ToString() + "\n";
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) ::_exit(kFailed + 1);
    ::_exit(kFailed);
  }
  ::close(told[1]);
  ::close(stop[0]);
  told_ = UniqueFd(told[0]);
  stop_ = UniqueFd(stop[1]);
}

LiveWriter::~LiveWriter() { Kill(); }

bool LiveWriter::WaitUntilMounted() {
  char byte = 0;
  return ::read(told_.get(), &byte, 1) == 1;
}

bool LiveWriter::Stop() {
  stop_ = UniqueFd();
  int status = 0;
  const bool ended = ::waitpid(child_, &status, 0) == child_;
  child_ = -1;
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void LiveWriter::Kill() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
}

}  // namespace zenfs
