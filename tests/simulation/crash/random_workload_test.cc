// Seeded random work of several threads, with power lost at a random command. To examine a failure,
// run one seed with ZENFS_SEED=n (threads and background work still vary from run to run).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/thread.h"
#include "random_work.h"
#include "verify.h"
#include "workloads.h"

namespace zenfs {
namespace {

constexpr int kSteps = 120;

struct Crowd {
  std::unique_ptr<CrashDevice> device;
  std::shared_ptr<Volume> volume;
  std::vector<std::unique_ptr<Client>> clients;

  std::vector<const Expectation*> Models() const {
    std::vector<const Expectation*> models;
    for (const auto& client : clients) models.push_back(&client->model());
    return models;
  }
};

std::string Histories(const Crowd& crowd) {
  std::string text;
  for (const auto& client : crowd.clients) text += "\n" + client->model().root() + ":" + client->History();
  return text;
}

std::string Root(std::size_t thread) { return fmt::format("t{}", thread); }

// mkfs, mount, a directory for each thread; the power fails `commands` later.
std::string Start(Crowd& crowd, const EmulatorGeometry& geometry, std::size_t threads, std::uint64_t seed,
                  std::uint64_t commands) {
  crowd.device = std::make_unique<CrashDevice>(geometry);
  const bool zeros = seed % 2 == 1;
  if (zeros) crowd.device->ShowZeros();
  if (const Status formatted = Mkfs(*crowd.device); !formatted.ok()) return formatted.error().ToString();
  auto mounted = MountBorrowed(*crowd.device);
  if (!mounted) return mounted.error().ToString();
  crowd.volume = *std::move(mounted);
  for (std::size_t i = 0; i < threads; ++i) {
    if (const Status made = crowd.volume->MakeDirectory(Root(i), false); !made.ok())
      return made.error().ToString();
    crowd.clients.push_back(std::make_unique<Client>(crowd.volume, seed * 16 + i, Root(i)));
    if (zeros) crowd.clients.back()->WriteZeros(1);
  }
  crowd.device->StopAfter(crowd.device->commands() + commands);
  return {};
}

void WorkTogether(Crowd& crowd) {
  std::vector<Thread> threads;
  for (std::size_t i = 0; i < crowd.clients.size(); ++i) {
    threads.emplace_back("client", [&crowd, i] { WorkAtRandom(*crowd.clients[i], Root(i), kSteps); });
  }
}

// After the crash, as many clients continue with the mounted contents, and it crashes again.
std::string GoOn(Crowd& crowd, LossPolicy loss, std::uint64_t seed, std::uint64_t commands) {
  const std::size_t threads = crowd.clients.size();
  auto image = crowd.device->Image(loss);
  crowd.clients.clear();  // destroys handles before the volume and the device
  crowd.volume.reset();
  crowd.device = std::move(image);
  auto mounted = MountBorrowed(*crowd.device);
  if (!mounted) return mounted.error().ToString();
  crowd.volume = *std::move(mounted);
  for (std::size_t i = 0; i < threads; ++i) {
    crowd.clients.push_back(std::make_unique<Client>(crowd.volume, seed * 16 + 8 + i, Root(i)));
    crowd.clients.back()->AdoptFound();
    if (crowd.clients.back()->failed()) return crowd.clients.back()->error();
  }
  crowd.device->StopAfter(crowd.device->commands() + commands);
  return {};
}

std::string RunSeed(std::uint64_t seed) {
  Random random(seed);
  const std::vector<DeviceShape> shapes = DeviceShapes();
  const DeviceShape& shape = shapes[random.Below(shapes.size())];
  const std::size_t threads = 1 + random.Below(3);
  Crowd crowd;
  if (const std::string why = Start(crowd, shape.geometry, threads, seed, random.Below(250)); !why.empty()) {
    return shape.name + ", at the start: " + why;
  }
  const int crashes = 1 + static_cast<int>(random.Below(2));
  for (int crash = 0; crash < crashes; ++crash) {
    WorkTogether(crowd);
    const std::string where = fmt::format("{}, {} threads, crash {}", shape.name, threads, crash + 1);
    for (const auto& client : crowd.clients) {
      if (client->failed() && !crowd.device->stopped())
        return where + ": fails without one: " + client->error();
    }
    for (const LossPolicy loss : Losses(seed, 2)) {
      const std::string why = Verify(*crowd.device, loss, crowd.Models());
      if (!why.empty()) return where + ", " + Describe(loss) + ": " + why + Histories(crowd);
    }
    if (crash + 1 == crashes) break;
    const std::string why = GoOn(crowd, LossPolicy::Random(seed), seed, random.Below(250));
    if (!why.empty()) return where + ", going on: " + why;
  }
  return {};
}

TEST(RandomWorkload, NothingSyncedIsLost) {
  if (const char* seed = std::getenv("ZENFS_SEED")) {
    ASSERT_EQ(RunSeed(std::strtoull(seed, nullptr, 10)), "");
    return;
  }
  const std::uint64_t seeds = FullRun() ? 20000 : 300;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    ASSERT_EQ(RunSeed(seed), "") << "ZENFS_SEED=" << seed;
  }
}

}  // namespace
}  // namespace zenfs
