// The HTTP server of `zenfs exporter`, with limits against clients that send nothing, or one byte
// at a time.
//
// Limits: the server reads kThreads connections at a time, each for at most kRequestTimeout until
// its request is complete. As many again wait in a queue, further ones in the backlog of the
// kernel. K clients that never finish a request thus delay another one by up to K / kThreads *
// kRequestTimeout. Requests with a body and connections that stay open for a second request are
// refused.
#pragma once

#include <prometheus/collectable.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"

namespace prometheus {
class Exposer;
}

namespace zenfs {

class ScrapeServer {
 public:
  static constexpr unsigned kThreads = 32;
  static constexpr std::chrono::milliseconds kRequestTimeout{2000};

  // Serves `collector` at /metrics until the object is destroyed. `address` is "A.B.C.D:PORT" or
  // "[ADDRESS]:PORT". The server's threads inherit the caller's signal mask. Errors: kIo; kBusy if
  // the host refuses a thread. Then end the process soon: some threads may be left running.
  [[nodiscard]] static Result<std::unique_ptr<ScrapeServer>> Start(
      const std::string& address, const std::shared_ptr<prometheus::Collectable>& collector);
  ~ScrapeServer();

 private:
  explicit ScrapeServer(std::unique_ptr<prometheus::Exposer> exposer);

  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace zenfs
