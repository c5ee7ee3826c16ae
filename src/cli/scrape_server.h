// The HTTP server of `zenfs exporter`, with limits against clients that send nothing, or one byte
// at a time.
//
// Limits: the server reads kThreads connections at a time, each for at most kRequestTimeout until
// its request is complete. As many again wait in a queue, further ones in the backlog of the
// kernel. K clients that never finish a request thus delay another one by up to K / kThreads *
// kRequestTimeout. Requests with a body and connections that stay open for a second request are
// refused. A request whose answer needs more memory than there is gets the status 503.
#pragma once

#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

struct mg_connection;
struct mg_context;

namespace zenfs {

class ScrapeServer {
 public:
  static constexpr unsigned kThreads = 32;
  static constexpr std::chrono::milliseconds kRequestTimeout{2000};

  // Called by one of the server's threads at a time, whose stacks are too small for a mount. May throw.
  using Collect = std::function<std::vector<prometheus::MetricFamily>()>;

  // Serves `collect` at /metrics, and a page with a link to it at /, until the object is destroyed, which waits for requests that
  // are being served.
  // `address` is "A.B.C.D:PORT" or "[ADDRESS]:PORT". The server's threads inherit the caller's signal mask. Errors: kIo;
  // kBusy if the host refuses a thread. Then end the process soon: some threads may be left running.
  [[nodiscard]] static Result<std::unique_ptr<ScrapeServer>> Start(const std::string& address,
                                                                   Collect collect);
  ~ScrapeServer();

 private:
  explicit ScrapeServer(Collect collect) : collect_(std::move(collect)) {}

  static int ServeLink(mg_connection* connection, void*) noexcept;
  static int Serve(mg_connection* connection, void* server) noexcept;
  // The answer to a request that came before the call; null if it could not be made. Requests that wait at the same time get
  // the same one, so that many clients take no more memory than one.
  std::shared_ptr<const std::string> Answer() EXCLUDES(mutex_);

  const Collect collect_;
  Mutex mutex_;
  CondVar ended_;
  bool collecting_ GUARDED_BY(mutex_) = false;
  std::uint64_t begun_ GUARDED_BY(mutex_) = 0;  // collections
  std::shared_ptr<const std::string> last_ GUARDED_BY(mutex_);
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;  // of the collection that made last_
  mg_context* context_ = nullptr;
};

}  // namespace zenfs
