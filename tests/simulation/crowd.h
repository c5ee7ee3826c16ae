// The clients of a run: each on names of its own, in some runs also on a few that all of them share.
//
// Threads: one, which Work turns into one for each client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "crash/client.h"
#include "crash/shared_work.h"
#include "plan.h"
#include "world.h"

namespace zenfs {

class Crowd {
 public:
  // All three must outlive it.
  Crowd(const Plan& plan, const Selection& selection, Outcome& outcome)
      : plan_(plan), selection_(selection), outcome_(outcome), names_("names"), log_("log") {}

  // The clients of a round, on a volume that has just been mounted: what it shows is certain from here on. Empty if all is
  // well.
  // From when `dead` says so on what they do counts for nothing.
  std::string Meet(const std::shared_ptr<Volume>& volume, std::uint32_t round,
                   const std::function<bool()>& dead);
  // Each client's steps, until all are done.
  void Work();
  // Empty if each has ended for a reason: a crash, or a fault.
  std::string WhyEnded(bool crashed);
  // None has met an error.
  bool all_well() const;
  void BeginUnmount();
  void Unmounted(const Status& status);
  void DropHandles();
  // The round is over; what they expect is needed no more.
  void Leave();

  std::vector<const Expectation*> Expectations() const;
  std::string Histories() const;

 private:
  const Round& round() const { return plan_.rounds[round_number_]; }
  std::string MeetShared(Volume& volume);
  void WorkOf(std::uint32_t client);
  std::vector<const CallHistory*> Everybody() const;
  std::string WhyEnded(const CallHistory& one, bool crashed);

  const Plan& plan_;
  const Selection& selection_;
  Outcome& outcome_;
  std::uint32_t round_number_ = 0;
  std::vector<std::unique_ptr<Client>> clients_;
  SharedNames names_;
  SharedLog log_;
  std::vector<std::unique_ptr<SharedWork>> shared_;  // none, or one for each client
  SharedLog::Time unmount_began_ = 0;
  Mutex steps_mutex_;  // leaf; of outcome_.steps, while the clients work
  bool is_full_ =
      false;  // the client that fills the device had no garbage to speak of when it found no space
};

}  // namespace zenfs
