#include "workloads.h"

#include <fmt/format.h>

#include "verify.h"

namespace zenfs {
namespace {

// The operations of RocksDB that create a database: MANIFEST, CURRENT through a temporary name, a
// log.
void OpenDatabase(Client& client) {
  client.MakeDirectory("db");
  client.Create("manifest", "db/MANIFEST-000001");
  client.Log("manifest", 2, 90);
  client.WriteFile("db/000001.dbtmp", 16);
  client.Rename("db/000001.dbtmp", "db/CURRENT");
  client.SyncDirectory("db");
  client.Create("wal", "db/000002.log");
}

void Flush(Client& client, int number) {
  const std::string sst = fmt::format("db/{:06}.sst", number);
  client.Create("sst", sst);
  client.Append("sst", 9000);
  client.Append("sst", 12345);
  client.Sync("sst");
  client.Close("sst");
  client.Log("manifest", 1, 120);
}

// Creates, fills and deletes logs, writes tables, replaces the manifest, and mounts the volume
// again.
void Database(WorkloadRun& run) {
  OpenDatabase(*run.client);
  for (int round = 0; round < 3 && !run.over(); ++round) {
    Client& client = *run.client;
    client.Log("wal", 12, 200);
    client.Append("wal", 700);
    client.Flush("wal");
    const std::string old_log = client.failed() ? "" : client.PathOf("wal");
    client.Create("next", fmt::format("db/{:06}.log", 100 + round));
    Flush(client, 200 + round);
    client.Close("wal");
    client.Unlink(old_log);
    client.Close("next");
    client.Reopen("wal", fmt::format("db/{:06}.log", 100 + round));
    if (round != 1) continue;
    client.Append("wal", 333);  // for Unmount to write
    if (!run.Remount()) return;
    client.Reopen("wal", fmt::format("db/{:06}.log", 100 + round));
    client.Create("manifest", "db/MANIFEST-000007");
    client.Log("manifest", 1, 4000);
    client.WriteFile("db/000007.dbtmp", 16);
    client.Rename("db/000007.dbtmp", "db/CURRENT");
    client.Unlink("db/MANIFEST-000001");
  }
  run.client->Compare();
}

// All operations on names.
void Names(WorkloadRun& run) {
  Client& c = *run.client;
  c.MakeDirectory("a");
  c.MakeDirectory("a/b");
  c.WriteFile("a/one", 5000);
  c.WriteFile("a/two", 100);
  c.Link("a/one", "a/b/one-too");
  c.Rename("a/one", "a/two");  // over a file
  c.Create("pending", "a/fresh");
  c.Append("pending", 6000);
  c.Rename("a/fresh", "a/b/named");  // committed with its content by the rename
  c.Append("pending", 10);
  c.Close("pending");
  c.Create("x", "a/x");
  c.Create("y.log", "a/y.log");
  c.Append("y.log", 10);
  c.SyncDirectory("a");
  c.Append("x", 20);
  c.Sync("x");
  c.Create("linked", "a/linked");
  c.Append("linked", 4096);
  c.Link("a/linked", "a/b/linked-too");
  c.Rename("a/b", "a/c");
  c.Rename("a", "z");
  c.Create("again", "z/two");  // hides the old one until it is synced
  c.Append("again", 77);
  c.Sync("again");
  c.Create("again", "z/two");
  c.Unlink("z/two");  // both the new file and the one that it hides
  c.Unlink("z/x");    // open
  c.Append("x", 20000);
  c.Sync("x");
  c.Close("x");
  c.MakeDirectory("empty");
  c.MakeDirectory("other");
  c.Rename("empty", "other");  // over an empty directory
  c.RemoveDirectory("other");
  c.Compare();
  if (!run.Remount()) return;
  c.Rename("z/c/named", "z/c/one-too");
  c.Unlink("z/c/linked-too");
  c.WriteFile("top", 1);
  c.Compare();
}

// Sizes, tails and truncation of plain and framed files.
void Content(WorkloadRun& run) {
  Client& c = *run.client;
  c.Create("direct", "direct");
  for (int i = 0; i < 4; ++i) {
    c.RewriteTail("direct", 5000);
    c.Sync("direct");
  }
  c.RewriteTail("direct", 4096 * 3);
  c.Truncate("direct", 20100);
  c.Sync("direct");
  c.Truncate("direct", 9000);
  c.Close("direct");
  c.Reopen("direct", "direct");
  c.Append("direct", 3);
  c.Sync("direct");
  c.Create("log", "LOG");
  c.Log("log", 5, 1000);
  c.Append("log", 100);
  c.Flush("log");
  c.Append("log", 10);
  c.Truncate("log", 4500);
  c.Log("log", 2, 500);
  c.Truncate("log", 4100);
  c.Append("log", 300000);  // more than the buffer
  c.Sync("log");
  c.Truncate("log", 150000);
  c.Append("log", 5);
  c.Close("log");
  c.Compare();
  if (!run.Remount()) return;
  c.Reopen("log", "LOG");
  c.Log("log", 2, 60);
  c.Truncate("log", 150001);
  c.Log("log", 1, 60);
  c.Truncate("log", 0);
  c.Log("log", 3, 10);
  c.Reopen("direct", "direct");
  c.Truncate("direct", 0);
  c.Sync("direct");
  c.Append("direct", 4096);
  c.Close("direct");
  c.Compare();
}

// Enough commits and frames to switch the metadata log and to fill, release and clean log zones.
void Churn(WorkloadRun& run) {
  Client& c = *run.client;
  c.Create("long", "long.log");  // a little of it in every log zone, to be copied out
  c.Log("long", 2, 50);
  for (int round = 0; round < 40 && !run.over(); ++round) {
    const std::string log = fmt::format("{}.log", round);
    c.Create(log, log);
    c.Log(log, 3, 9000);
    c.WriteFile(fmt::format("{}.sst", round), 20000);
    if (round % 4 == 0) c.Log("long", 1, 50);
    if (round >= 2) {
      const std::string old = fmt::format("{}.log", round - 2);
      c.Unlink(old);
      c.Close(old);
      c.Unlink(fmt::format("{}.sst", round - 2));
    }
    if (round == 20 && !run.Remount()) return;
    if (round == 20) {
      c.Reopen("long", "long.log");
      for (int r = 19; r <= 20; ++r) c.Reopen(fmt::format("{}.log", r), fmt::format("{}.log", r));
    }
  }
  c.Compare();
}

// Fills zones with files, of which some are deleted. The others are moved together, some of them
// while open.
void Moves(WorkloadRun& run) {
  Client& c = *run.client;
  c.Create("open", "open.sst");
  c.Append("open", 30000);
  c.Sync("open");
  c.Close("open");
  for (int round = 0; round < 3 && !run.over(); ++round) {
    for (int i = 0; i < 8; ++i) c.WriteFile(fmt::format("{}-{}.sst", round, i), 60000);
    for (int i = 0; i < 8; i += 2) c.Unlink(fmt::format("{}-{}.sst", round, i));
    c.Link(fmt::format("{}-1.sst", round), fmt::format("{}-link.sst", round));
    c.EmptyZones();
    c.Reopen("open", "open.sst");
    c.Append("open", 5000);
    c.EmptyZones();
    c.Sync("open");
    c.Close("open");
    c.Rename(fmt::format("{}-3.sst", round), "named.sst");
    c.Unlink(fmt::format("{}-5.sst", round));
    if (round == 1 && !run.Remount()) return;
  }
  c.EmptyZones();
  c.Compare();
}

// Unmounts with open logs: with synced frames, with frames that were only sent, and with bytes that
// were only appended.
void Unmounts(WorkloadRun& run) {
  Client& c = *run.client;
  for (int round = 0; round < 3 && !run.over(); ++round) {
    const std::string synced = fmt::format("synced{}", round);
    const std::string flushed = fmt::format("flushed{}", round);
    c.Create(synced, synced + ".log");
    c.Log(synced, 3, 1000);
    c.Create(flushed, flushed + ".log");
    c.Log(flushed, 1, 100);
    c.Append(flushed, 5000);
    c.Flush(flushed);
    c.Append(synced, 300);
    c.WriteFile(fmt::format("{}.sst", round), 9000);
    if (!run.Remount()) return;
    c.Compare();
    c.Reopen(synced, synced + ".log");
    c.Log(synced, 1, 700);
    if (round == 1) c.Truncate(synced, 2000);
    if (!run.Remount()) return;
  }
  run.client->Unmount();
}

}  // namespace

std::vector<DeviceShape> DeviceShapes() {
  constexpr std::uint64_t kKiB = 1024;
  const auto shape = [](std::uint32_t zones, std::uint64_t size, std::uint64_t capacity,
                        std::uint32_t limit) {
    return EmulatorGeometry{
        .zones = zones, .zone_size = size, .zone_capacity = capacity, .max_open = limit, .max_active = limit};
  };
  std::vector<DeviceShape> shapes = {{"Plenty", shape(32, 256 * kKiB, 256 * kKiB, 14)},
                                     {"SixActive", shape(24, 512 * kKiB, 384 * kKiB, 6)},
                                     {"FiveActive", shape(28, 256 * kKiB, 192 * kKiB, 5)},
                                     {"FourActive", shape(24, 256 * kKiB, 256 * kKiB, 4)},
                                     {"TinyZones", shape(60, 64 * kKiB, 64 * kKiB, 8)},
                                     {"NoLimits", shape(24, 1024 * kKiB, 768 * kKiB, 0)},
                                     {"Conventional", shape(32, 256 * kKiB, 256 * kKiB, 10)},
                                     {"SmallBlocks", shape(32, 128 * kKiB, 128 * kKiB, 0)},
                                     {"LogGroups", shape(128, 64 * kKiB, 64 * kKiB, 128)}};
  shapes[6].geometry.conventional = 4;
  shapes[7].geometry.block_size = 512;
  shapes[1].geometry.max_copy_bytes = 64 * kKiB;
  shapes[3].geometry.max_copy_bytes = 8 * kKiB;
  shapes[7].geometry.max_copy_bytes = 512;
  shapes[7].geometry.max_open = 7;
  return shapes;
}

DeviceShape ShapeNamed(const std::string& name) {
  for (DeviceShape& shape : DeviceShapes()) {
    if (shape.name == name) return shape;
  }
  return {"no such shape", {}};
}

std::vector<NamedWorkload> Workloads() {
  return {{"Database", Database}, {"Names", Names}, {"Content", Content},
          {"Churn", Churn},       {"Moves", Moves}, {"Unmounts", Unmounts}};
}

bool WorkloadRun::Remount() {
  if (over()) return false;
  client->Unmount();
  if (over()) return false;
  volume.reset();
  auto mounted = MountBorrowed(*device);
  if (!mounted) {
    error = "remount: " + mounted.error().ToString();
    return false;
  }
  volume = *std::move(mounted);
  client->Remounted(volume);
  return !over();
}

WorkloadRun RunWorkload(const EmulatorGeometry& geometry, const Workload& work, std::uint64_t stop_after) {
  WorkloadRun run;
  run.device = std::make_unique<CrashDevice>(geometry);
  run.device->StopAfter(stop_after);
  if (const Status formatted = Mkfs(*run.device); !formatted.ok()) {
    run.error = "mkfs: " + formatted.error().ToString();
    return run;
  }
  run.formatted = true;
  auto mounted = MountBorrowed(*run.device);
  if (!mounted) {
    run.error = "mount: " + mounted.error().ToString();
    return run;
  }
  run.volume = *std::move(mounted);
  run.client = std::make_unique<Client>(run.volume, 1);
  work(run);
  return run;
}

}  // namespace zenfs
