#include "crowd.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/thread.h"
#include "database_work.h"
#include "files_work.h"
#include "fill_work.h"
#include "logs_work.h"
#include "questions.h"
#include "testing/sim_scheduler.h"
#include "world/allowed_errors.h"

namespace zenfs {
namespace {

std::string Root(std::size_t client) { return fmt::format("t{}", client); }

// Different for each step of a plan, and independent of the other steps that run.
std::uint64_t StepSeed(const Plan& plan, const StepId& id) {
  Random mix(plan.seed ^ (std::uint64_t{id.round} << 48) ^ (std::uint64_t{id.client} << 32) ^ id.step);
  return mix.Next();
}

constexpr std::uint32_t kFillsAStep = 4;

// True if garbage must not prevent a write: a zone is kept for copies.
bool ReclaimsAll(const EmulatorGeometry& geometry) {
  constexpr std::uint32_t kFewZones = 24;
  return geometry.zones - geometry.conventional >= kFewZones;
}

Status MakeLog(Volume& volume, const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> log, volume.Create(path));
  return log->Sync();
}

}  // namespace

std::string Crowd::Meet(const std::shared_ptr<Volume>& volume, const FoundTree* durable, std::uint32_t round,
                        const std::function<bool()>& dead) {
  round_number_ = round;
  const auto begins = [&](CallHistory& one) {
    one.RepeatWhatFails(2);
    one.DiesWhen(dead);
  };
  for (std::size_t i = 0; i < plan_.clients.size(); ++i) {
    if (round == 0) {
      const Status made = volume->MakeDirectory(Root(i), false);
      if (!made.ok()) return "first directory: " + made.error().ToString();
    }
    clients_.push_back(std::make_unique<Client>(volume, plan_.seed, Root(i)));
    begins(*clients_.back());
    if (plan_.zeros && !plan_.Fills()) clients_.back()->WriteZeros(plan_.clients.size() == 1 ? 3 : 1);
    if (plan_.shared_names) {
      shared_.push_back(std::make_unique<SharedWork>(volume, names_, log_, i));
      begins(*shared_.back());
    }
    if (round == 0) continue;
    clients_.back()->AdoptFound(durable);
    if (clients_.back()->failed()) return clients_.back()->error();
  }
  return plan_.shared_names ? MeetShared(*volume) : std::string();
}

std::string Crowd::MeetShared(Volume& volume) {
  if (round_number_ == 0) {
    for (const Expectation* shared :
         {static_cast<const Expectation*>(&names_), static_cast<const Expectation*>(&log_)}) {
      const Status made = volume.MakeDirectory(shared->root(), false);
      if (!made.ok()) return "first shared directory: " + made.error().ToString();
    }
    const Status made = MakeLog(volume, log_.path());
    return made.ok() ? std::string() : "shared log: " + made.error().ToString();
  }
  const auto names = Find(volume, names_.root());
  if (!names) return names.error().ToString();
  names_.Settle(*names);
  const auto log = ReadWhole(volume, log_.path());
  if (!log) return log.error().ToString();
  log_.Settle(*log);
  return {};
}

// Without shared memory, a flush is a write to the device.
CrashKind Crowd::ReadersShow() const {
  return !plan_.shared_memory || Asks(Question::kReadFlushed) ? CrashKind::kProcessDied
                                                              : CrashKind::kPowerLost;
}

RandomWork::Plain Crowd::PlainWork() const {
  if (!plan_.wal_buffer_bytes) return RandomWork::Plain::kAll;
  if (!Asks(Question::kTruncateAfterFlush)) return RandomWork::Plain::kNoTruncation;
  return plan_.shared_memory ? RandomWork::Plain::kFlushAndTruncate : RandomWork::Plain::kAll;
}

LogsWork::Sizes Crowd::LogSizes() const {
  MountOptions options;
  options.wal_buffer_bytes = plan_.wal_buffer_bytes;
  return {.logs = plan_.logs,
          .buffer = WalBufferBytes(options, plan_.geometry.zone_size),
          .capacity = plan_.geometry.capacity(),
          .device = plan_.DataBytes(),
          .files_max = plan_.geometry.capacity() / 1500};
}

void Crowd::WorkOf(std::uint32_t number, ZonedDevice& device) {
  Client& client = *clients_[number];
  RandomWork random_work(client, Root(number), PlainWork());
  DatabaseWork database_work(client, Root(number));
  FillWork fill_work(client, Root(number), plan_.geometry.capacity() / 1500);
  std::optional<LogsWork> logs_work;
  if (plan_.ManyLogs()) logs_work.emplace(client, Root(number), LogSizes());
  std::optional<FilesWork> files_work;
  if (plan_.clients[number] == WorkKind::kFiles) files_work.emplace(client, Root(number), plan_.files_max);
  SharedWork* const shared = shared_.empty() ? nullptr : shared_[number].get();
  for (std::uint32_t step = 0; step < round().steps && !client.failed(); ++step) {
    const StepId id{round_number_, number, step};
    if (!selection_.Has(id)) continue;
    SimScheduler::Running()->NoteProgress();
    client.Reseed(StepSeed(plan_, id));
    {
      MutexLock lock(steps_mutex_);
      outcome_.steps.push_back(id);
    }
    if (on_step_) on_step_(id);
    if (round().readers_one_in != 0 && !plan_.HasFaults() && client.random().OneIn(round().readers_one_in)) {
      client.ReadBeside(device, ReadersShow());
    } else if (round().moves_one_in != 0 && client.random().OneIn(round().moves_one_in)) {
      client.EmptyZones();
    } else if (shared != nullptr && client.random().OneIn(2)) {
      shared->Step(client.random());
      if (shared->failed()) return;
    } else if (plan_.clients[number] == WorkKind::kDatabase) {
      database_work.Step();
    } else if (logs_work) {
      logs_work->Step();
    } else if (files_work) {
      files_work->Step();
    } else if (plan_.clients[number] == WorkKind::kFill) {
      for (std::uint32_t i = 0; i < kFillsAStep && !client.failed(); ++i) fill_work.Step();
      is_full_ = !ReclaimsAll(plan_.geometry) || !fill_work.HadGarbage(plan_.geometry.capacity());
    } else {
      random_work.Step();
    }
  }
}

void Crowd::Work(ZonedDevice& device) {
  std::vector<Thread> threads;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    threads.emplace_back("client", [this, i, &device] { WorkOf(i, device); });
  }
}

// Only a crash or a fault is a valid reason. Bytes that differ from the model never are.
std::string Crowd::WhyEnded(const CallHistory& one, bool crashed) {
  if (!one.failed()) return {};
  const std::optional<Code> code = one.error_code();
  if (!code) return "wrong: " + one.error();
  if (crashed) return {};
  const auto may_fail = one.failed_to_read() ? MayReadFailWith : MayFailWith;
  const bool may_be_full = plan_.HasFaults() || (plan_.Fills() && is_full_);  // faults take zones away
  if (*code == Code::kNoSpace && may_be_full) {
    ++outcome_.out_of_space;
  } else if (!may_fail(plan_.faults, *code)) {
    return fmt::format("a call fails, and nothing was wrong ({}): {}", CodeName(*code), one.error());
  }
  return {};
}

std::vector<const CallHistory*> Crowd::Everybody() const {
  std::vector<const CallHistory*> all;
  for (const auto& client : clients_) all.push_back(client.get());
  for (const auto& shared : shared_) all.push_back(shared.get());
  return all;
}

std::string Crowd::WhyEnded(bool crashed) {
  for (const CallHistory* one : Everybody()) {
    if (std::string why = WhyEnded(*one, crashed); !why.empty()) return why;
  }
  return {};
}

bool Crowd::all_well() const { return std::ranges::none_of(Everybody(), &CallHistory::failed); }

void Crowd::BeginUnmount() {
  for (const auto& client : clients_) client->BeginUnmount();
  unmount_began_ = log_.Begin();
}

void Crowd::Unmounted(const Status& status) {
  for (const auto& client : clients_) client->Unmounted(status);
  for (const auto& shared : shared_) shared->DropHandles();
  if (status.ok()) log_.Flushed(unmount_began_);
}

void Crowd::DropHandles() {
  for (const auto& client : clients_) client->DropHandles();
  for (const auto& shared : shared_) shared->DropHandles();
}

void Crowd::Leave() {
  DropHandles();
  clients_.clear();
  shared_.clear();
}

std::vector<const Expectation*> Crowd::Expectations() const {
  std::vector<const Expectation*> expected;
  for (const auto& client : clients_) expected.push_back(&client->model());
  if (!shared_.empty()) expected.insert(expected.end(), {&names_, &log_});
  return expected;
}

std::string Crowd::Histories() const {
  std::string text = fmt::format("\nround {}:", round_number_);
  for (const auto& client : clients_) text += "\n" + client->model().root() + ":" + client->History(60);
  for (std::size_t i = 0; i < shared_.size(); ++i)
    text += fmt::format("\nshared, by {}:{}", Root(i), shared_[i]->History(60));
  return text;
}

}  // namespace zenfs
