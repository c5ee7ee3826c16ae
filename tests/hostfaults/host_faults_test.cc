// Every call of the command to libc fails in turn, errno by errno: it succeeds with the right content, or ends with one line;
// afterwards the volume is sound and holds what commands that succeeded had put there.
//
// A sample of the calls, so that the suite takes seconds; all of them with ZENFS_FULL=1.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "base/unique_fd.h"
#include "faulty_command.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

namespace fs = std::filesystem;

constexpr int kErrors[] = {EIO, ENOSPC, EMFILE, EACCES, EINTR};

bool IsFull() {
  const char* const full = std::getenv("ZENFS_FULL");
  return full != nullptr && *full != '\0' && *full != '0';
}

using Files = std::map<std::string, std::string>;  // path to content

Files FilesBelow(const std::string& directory) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string path = fs::relative(entry.path(), directory).string();
    if (!entry.is_regular_file() || path.starts_with(".")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[path] = {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  return files;
}

void WriteFiles(const std::string& directory, const Files& files) {
  for (const auto& [path, content] : files) {
    fs::create_directories(fs::path(directory + "/" + path).parent_path());
    std::ofstream(directory + "/" + path, std::ios::binary) << content;
  }
}

bool Holds(const Files& all, const Files& some) {
  return std::ranges::all_of(some, [&](const auto& file) {
    const auto found = all.find(file.first);
    return found != all.end() && found->second == file.second;
  });
}

// Where a command works. Made anew for each run, by copying.
class Place {
 public:
  Place() {
    fs::create_directory(scratch());
    Must({"emu", "create", image(), "--zones=16", "--zone-size=256K"});
    Must({"mkfs", emu()});
    WriteFiles(file("kept"), kept());
    Must({"restore", emu(), "--path=" + file("kept"), "--restore_path=kept"});
    WriteFiles(file("new"), fresh());
    fs::copy_file(image(), file("original"));
  }

  static Files kept() { return {{"a.sst", std::string(70'000, 'k')}, {"d/b.sst", "kept"}}; }
  static Files fresh() {
    return {{"1.sst", std::string(100'000, 'n')}, {"2.log", "new"}, {"d/3.sst", "deep"}};
  }
  static Files Under(const std::string& directory, const Files& files) {
    Files moved;
    for (const auto& [path, content] : files) moved[directory + "/" + path] = content;
    return moved;
  }

  void Reset() {
    fs::copy_file(file("original"), image(), fs::copy_options::overwrite_existing);
    for (const char* const name : {"made.img", "out", "look", "saved"}) fs::remove_all(file(name));
  }
  // The image afterwards, looked at without faults.
  void ExpectSoundWith(const Files& expected) {
    const Ran check = Run({"check", emu(), "--read-data"});
    EXPECT_TRUE(check.ok()) << check.out << check.ToString();
    const Ran backup = Run({"backup", emu(), "--path=" + file("look")});
    EXPECT_TRUE(backup.ok()) << backup.ToString();
    EXPECT_TRUE(!backup.ok() || Holds(FilesBelow(file("look")), expected));
  }
  Ran Run(const std::vector<std::string>& words, const HostFault& fault = {}) {
    return RunZenfs(scratch(), words, fault);
  }
  void Must(const std::vector<std::string>& words) {
    const Ran ran = Run(words);
    EXPECT_TRUE(ran.ok()) << words.front() << ": " << ran.ToString();
  }

  std::string file(const std::string& name) const { return directory_.File(name); }
  std::string scratch() const { return file("scratch"); }
  std::string image() const { return file("device.img"); }
  std::string emu() const { return "--emu=" + image(); }

 private:
  TempDirectory directory_;
};

struct Command {
  std::string name;
  std::function<std::vector<std::string>(const Place&)> words;
  std::function<void(Place&)> prepare;           // the image is as it was
  std::function<void(Place&, const Ran&)> look;  // behind the run
};

void ExpectKept(Place& place) { place.ExpectSoundWith(Place::Under("kept", Place::kept())); }

const Command kCommands[] = {
    {"create",
     [](const Place& place) -> std::vector<std::string> {
       return {"emu", "create", place.file("made.img"), "--zones=16", "--zone-size=256K"};
     },
     [](Place&) {},
     [](Place& place, const Ran& ran) {
       if (!ran.ok())
         place.Must({"emu", "create", place.file("made.img"), "--zones=16", "--zone-size=256K", "--force"});
       place.Must({"mkfs", "--emu=" + place.file("made.img")});
     }},
    {"mkfs",
     [](const Place& place) -> std::vector<std::string> {
       return {"mkfs", "--emu=" + place.file("made.img")};
     },
     [](Place& place) {
       place.Must({"emu", "create", place.file("made.img"), "--zones=16", "--zone-size=256K"});
     },
     [](Place& place, const Ran& ran) {
       if (!ran.ok()) place.Must({"mkfs", "--emu=" + place.file("made.img"), "--force"});
       place.Must({"check", "--emu=" + place.file("made.img")});
     }},
    {"restore",
     [](const Place& place) -> std::vector<std::string> {
       return {"restore", place.emu(), "--path=" + place.file("new"), "--restore_path=new"};
     },
     [](Place&) {},
     [](Place& place, const Ran& ran) {
       if (!ran.ok()) {
         ExpectKept(place);
         fs::remove_all(place.file("look"));
         place.Must({"restore", place.emu(), "--path=" + place.file("new"), "--restore_path=new", "--force"});
       }
       Files all = Place::Under("kept", Place::kept());
       all.merge(Place::Under("new", Place::fresh()));
       place.ExpectSoundWith(all);
     }},
    {"backup",
     [](const Place& place) -> std::vector<std::string> {
       return {"backup", place.emu(), "--path=" + place.file("out")};
     },
     [](Place&) {},
     [](Place& place, const Ran& ran) {
       if (!ran.ok()) place.Must({"backup", place.emu(), "--path=" + place.file("out"), "--force"});
       EXPECT_TRUE(Holds(FilesBelow(place.file("out")), Place::Under("kept", Place::kept())));
       if (IsFull()) ExpectKept(place);
     }},
    {"get",
     [](const Place& place) -> std::vector<std::string> {
       return {"get", place.emu(), "kept/a.sst", place.file("out")};
     },
     [](Place& place) { fs::create_directory(place.file("out")); },
     [](Place& place, const Ran& ran) {
       // All of it or nothing, except a name that could not be made durable.
       const Files copied = FilesBelow(place.file("out"));
       const Files whole = {{"a.sst", Place::kept().at("a.sst")}};
       EXPECT_TRUE(copied.empty() || copied == whole);
       EXPECT_TRUE(!ran.ok() || !copied.empty());
     }},
    {"put",
     [](const Place& place) -> std::vector<std::string> {
       return {"put", place.emu(), place.file("new/1.sst"), "kept/a.sst", "--force"};
     },
     [](Place&) {},
     [](Place& place, const Ran& ran) {
       fs::remove_all(place.file("look"));
       place.ExpectSoundWith({{"kept/d/b.sst", "kept"}});
       const std::string now = FilesBelow(place.file("look"))["kept/a.sst"];
       EXPECT_TRUE(now == Place::fresh().at("1.sst") || (!ran.ok() && now == Place::kept().at("a.sst")));
     }},
    {"list",
     [](const Place& place) -> std::vector<std::string> { return {"list", place.emu(), "--recursive"}; },
     [](Place&) {},
     [](Place&, const Ran& ran) {
       EXPECT_TRUE(!ran.ok() || ran.out.find("kept/d/b.sst") != std::string::npos);
     }},
    {"check",
     [](const Place& place) -> std::vector<std::string> { return {"check", place.emu(), "--read-data"}; },
     [](Place&) {}, [](Place&, const Ran&) {}},
    {"delete",
     [](const Place& place) -> std::vector<std::string> {
       return {"delete", place.emu(), "--path=kept/d/b.sst"};
     },
     [](Place&) {},
     [](Place& place, const Ran& ran) {
       place.ExpectSoundWith({{"kept/a.sst", Place::kept().at("a.sst")}});
       EXPECT_TRUE(!ran.ok() || !FilesBelow(place.file("look")).contains("kept/d/b.sst"));
     }},
    {"repair",
     [](const Place& place) -> std::vector<std::string> {
       return {"check", place.emu(), "--repair", "--yes", "--save=" + place.file("saved")};
     },
     [](Place& place) {
       std::fstream image(place.image(), std::ios::binary | std::ios::in | std::ios::out);
       std::uint64_t data = 0;  // docs/formats/emulated-device.md
       constexpr std::streamoff kDataOffset = 64;
       constexpr std::uint64_t kFirstFrame = 4096;
       image.seekg(kDataOffset).read(reinterpret_cast<char*>(&data), sizeof(data));
       image.seekp(static_cast<std::streamoff>(data + kFirstFrame + 70)).put('\x55');
     },
     [](Place& place, const Ran& ran) {
       if (!ran.ok()) {
         fs::remove(place.file("saved"));
         const Ran again =
             place.Run({"check", place.emu(), "--repair", "--yes", "--save=" + place.file("saved")});
         EXPECT_TRUE(again.ok()) << again.ToString();
       }
       ExpectKept(place);
     }},
};

class HostFaults : public testing::TestWithParam<std::size_t> {
 protected:
  const Command& command() const { return kCommands[GetParam()]; }

  // One run under `fault`, and what is left behind it.
  Ran RunAndLook(const HostFault& fault) {
    place_.Reset();
    command().prepare(place_);
    const Ran ran = place_.Run(command().words(place_), fault);
    SCOPED_TRACE(fmt::format("{}: call {} with errno {}: {}", command().name, fault.first, fault.error,
                             ran.ToString()));
    // A thread of the volume that finds no memory ends the process (docs/internals/faults.md).
    if (!fault.address_space_max || ran.signal != SIGABRT) {
      EXPECT_EQ(ran.signal, 0);
      EXPECT_EQ(ran.errors.size(), ran.ok() ? 0u : 1u) << ran.out;
    }
    command().look(place_, ran);
    return ran;
  }
  // Of `calls`, each such is tried.
  static std::uint64_t Stride(std::uint64_t calls) {
    constexpr std::uint64_t kRunsOfASample = 3;
    return IsFull() ? 1 : std::max<std::uint64_t>(1, calls / kRunsOfASample);
  }

  Place place_;
};

TEST_P(HostFaults, EachCallThatFailsEndsWithOneLineOrWithoutHarm) {
  const Ran sound = RunAndLook({});
  ASSERT_TRUE(sound.ok() || command().name == "check") << sound.ToString();
  ASSERT_GT(sound.calls, 0u) << "the preload library counts nothing";
  std::uint64_t phase = 0;
  for (const int error : kErrors) {
    const std::uint64_t stride = Stride(sound.calls);
    for (std::uint64_t first = 1 + phase++ % stride;; first += stride) {
      const Ran ran = RunAndLook({.error = error, .first = first});
      if (ran.failed == 0 || testing::Test::HasFailure()) break;
    }
  }
}

TEST_P(HostFaults, DiskThatStaysFullEndsWithOneLineOrWithoutHarm) {
  constexpr std::uint32_t kKinds = kWriteCalls | kSpaceCalls;
  const std::uint64_t calls = RunAndLook({.kinds = kKinds}).calls;
  for (std::uint64_t first = 1; first <= calls && !HasFailure(); first += Stride(calls)) {
    RunAndLook({.kinds = kKinds, .error = ENOSPC, .first = first, .times = UINT64_MAX});
  }
}

TEST_P(HostFaults, ThreadsThatAreRefusedEndWithOneLineOrWithoutHarm) {
  for (std::uint64_t first = 1; !HasFailure(); ++first) {
    const Ran once = RunAndLook({.kinds = kThreadCalls, .error = EAGAIN, .first = first});
    if (first == 1 || IsFull()) {
      RunAndLook({.kinds = kThreadCalls, .error = EAGAIN, .first = first, .times = UINT64_MAX});
    }
    if (once.failed == 0) break;
  }
}

TEST_P(HostFaults, FileDescriptorsThatRunOutEndWithOneLineOrWithoutHarm) {
  for (rlim_t limit = 4; limit <= 24 && !HasFailure(); limit += IsFull() ? 1 : 3)
    RunAndLook({.open_files_max = limit});
}

#if !defined(ZENFS_SANITIZED)  // whose shadow memory is larger than any limit
TEST_P(HostFaults, MemoryThatRunsOutEndsWithOneLineOrWithoutHarm) {
  constexpr rlim_t kMegabyte = 1'000'000;
  for (rlim_t limit = 18; limit <= 66 && !HasFailure(); limit += IsFull() ? 1 : 12) {
    RunAndLook({.address_space_max = limit * kMegabyte});
  }
}
#endif

// A port of 127.0.0.1 that nobody listens on.
std::string FreeAddress() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(fd.get(), any, size), 0);
  EXPECT_EQ(::getsockname(fd.get(), any, &size), 0);
  return fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
}

// It has 34: one for the volume, those that serve, and the one that accepts connections, without which it would wait for ever
// at its end.
TEST(HostFaultsOfTheExporter, AnyThreadThatIsRefusedEndsItWithOneLine) {
  Place place;
  for (const std::uint64_t first : {1, 2, 3, 20, 33, 34}) {
    const Ran ran = place.Run({"exporter", place.emu(), "--listen=" + FreeAddress()},
                              {.kinds = kThreadCalls, .error = EAGAIN, .first = first});
    EXPECT_EQ(ran.signal, 0) << ran.ToString();
    EXPECT_EQ(ran.status, 1) << ran.ToString();
    EXPECT_EQ(ran.errors.size(), 1u) << ran.ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Of, HostFaults, testing::Range<std::size_t>(0, std::size(kCommands)),
                         [](const auto& number) { return kCommands[number.param].name; });

}  // namespace
}  // namespace zenfs
