// What has been acknowledged, outside the guest: a file for each thread in a folder that the host keeps, a line for each
// acknowledgement: "all that this thread wrote up to number N is durable".
//
// Threads: a thread writes only its own file.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace zenfs {

class Acknowledged {
 public:
  // Ends the process if the files can't be opened: without them nothing is tested.
  Acknowledged(const std::string& folder, int threads);

  // On the host when it returns.
  void Record(int thread, long number);
  // The number of the last whole line as the files were opened, or recorded since; -1 if there is none.
  long last(int thread) const { return last_[static_cast<std::size_t>(thread)]; }

 private:
  std::vector<UniqueFd> files_;
  std::vector<long> last_;
};

}  // namespace zenfs
