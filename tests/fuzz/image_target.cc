// Whole volumes: a valid image is changed (image_mutation.h), checked, mounted read-only and read-write, read, written,
// and checked again.
//
//   u8 shape, u8 age, u8 what is done, mutations
#include <fmt/format.h>

#include "device/read_only_view.h"
#include "image_input.h"
#include "simulated.h"
#include "testing/borrowed_device.h"
#include "volume_look.h"

namespace zenfs {
namespace {

enum Mode : std::uint8_t { kSkipReader = 1, kSkipWriter = 2 };

// True if all of it succeeded.
bool Write(Volume& volume) {
  const auto put = [&](const std::string& path, std::string_view text) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const auto file, volume.Create(path));
    ZENFS_RETURN_IF_ERROR(file->Append(AsBytes(text)));
    ZENFS_RETURN_IF_ERROR(file->Sync());
    ZENFS_RETURN_IF_ERROR(file->Append(AsBytes(text)));
    return file->Close();
  };
  const Status plain = put("fuzz.tmp", "plain");
  const Status framed = put("fuzz.log", "framed");
  const Status renamed = volume.Rename("fuzz.tmp", "fuzz.sst");
  return plain && framed && renamed;
}

class Workout {
 public:
  explicit Workout(ImageDevice& device) : device_(device) {}

  void Run(std::uint8_t mode) {
    clean_ = Damage().empty();
    if ((mode & kSkipReader) == 0) Read();
    Require(device_.changes() == 0, "who only looks changes nothing");
    if ((mode & kSkipWriter) != 0 || !Change()) return;
    if (clean_) {
      const std::string damage = Damage();
      Require(damage.empty(), "a clean volume stays clean: " + damage);
    }
    if (written_) CheckWritten();
  }

 private:
  std::string Damage() { return FirstDamage(device_, /*read_data=*/true); }

  void Read() {
    auto volume = Volume::Mount(MakeReadOnlyView(device_), ImageMountOptions());
    if (!volume) return;
    before_ = Look(**volume);
    static_cast<void>((*volume)->Unmount().has_value());
  }

  // Whether there is anything to look at afterwards.
  bool Change() {
    auto volume = Volume::Mount(Borrow(device_), ImageMountOptions());
    if (!volume) return device_.changes() != 0;
    const Contents now = Look(**volume);
    if (clean_ && before_) Require(now == *before_, "a clean volume is mounted as it was read");
    written_ = Write(**volume);
    const Status unmounted = (*volume)->Unmount();
    written_ = written_ && unmounted;
    return true;
  }

  void CheckWritten() {
    auto volume = Volume::Mount(MakeReadOnlyView(device_), ImageMountOptions());
    Require(volume.has_value(),
            "a volume that was written is there: " + (volume ? std::string() : volume.error().ToString()));
    Contents now = Look(**volume);
    Require(now["/fuzz.sst"] == "10:plainplain" && now["/fuzz.log"] == "12:framedframed",
            "what was written is there");
    static_cast<void>((*volume)->Unmount().has_value());
    if (!clean_ || !before_) return;
    for (const auto& [path, text] : *before_) {
      const bool ours = path == "/fuzz.sst" || path == "/fuzz.log" || path == "/fuzz.tmp";
      Require(ours || now[path] == text, "what was there is there still: " + path);
    }
  }

  ImageDevice& device_;
  bool clean_ = false;
  bool written_ = false;
  std::optional<Contents> before_;  // of a read-only mount that succeeded
};

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  ImageInput picked(input);
  const auto mode = input.Take<std::uint8_t>();
  ImageDevice& device = picked.Load();
  RunSimulated([&] { Workout(device).Run(mode); });
  return 0;
}
