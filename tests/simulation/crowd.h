// The clients of a run. Each uses its own names; in some runs they also share a few names.
//
// Threads: one; Work starts one for each client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "crash/client.h"
#include "crash/random_work.h"
#include "crash/shared_work.h"
#include "logs_work.h"
#include "plan.h"
#include "world.h"

namespace zenfs {

class Crowd {
 public:
  // All three must outlive it.
  Crowd(const Plan& plan, const Selection& selection, Outcome& outcome)
      : plan_(plan), selection_(selection), outcome_(outcome), names_("names"), log_("log") {}

  // Called before each step of a client.
  void OnStep(std::function<void(const StepId&)> call) { on_step_ = std::move(call); }

  // Makes the clients of a round, on a volume that was just mounted. What the volume shows counts
  // as certain from here on, except for what `durable` lacks, if given: the rest waits in shared memory. Empty if all is well.
  // Once `dead` returns true, results of later calls do not count.
  std::string Meet(const std::shared_ptr<Volume>& volume, const FoundTree* durable, std::uint32_t round,
                   const std::function<bool()>& dead);
  // Runs each client's steps, until all are done. `device`: that of the volume.
  void Work(ZonedDevice& device);
  // Empty if each client ended for a valid reason: a crash or a fault.
  std::string WhyEnded(bool crashed);
  // True if no client met an error.
  bool all_well() const;
  void BeginUnmount();
  void Unmounted(const Status& status);
  void DropHandles();
  // Ends the round and drops the clients with their expectations.
  void Leave();

  std::vector<const Expectation*> Expectations() const;
  // What a reader must show, now or after the process died.
  CrashKind ReadersShow() const;
  std::string Histories() const;

 private:
  const Round& round() const { return plan_.rounds[round_number_]; }
  std::string MeetShared(Volume& volume);
  void WorkOf(std::uint32_t client, ZonedDevice& device);
  LogsWork::Sizes LogSizes() const;
  RandomWork::Plain PlainWork() const;
  std::vector<const CallHistory*> Everybody() const;
  std::string WhyEnded(const CallHistory& one, bool crashed);

  const Plan& plan_;
  const Selection& selection_;
  Outcome& outcome_;
  std::function<void(const StepId&)> on_step_;
  std::uint32_t round_number_ = 0;
  std::vector<std::unique_ptr<Client>> clients_;
  SharedNames names_;
  SharedLog log_;
  std::vector<std::unique_ptr<SharedWork>> shared_;  // empty, or one for each client
  SharedLog::Time unmount_began_ = 0;
  Mutex steps_mutex_;     // leaf; guards outcome_.steps while the clients work
  bool is_full_ = false;  // when the filling client got "no space", there was hardly any garbage
};

}  // namespace zenfs
