#include "cli/scrape_server.h"

#include <CivetServer.h>
#include <fmt/format.h>
#include <prometheus/exposer.h>

#include <filesystem>
#include <iterator>
#include <optional>
#include <vector>

namespace zenfs {
namespace {

std::optional<std::size_t> CountThreads() {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  if (error) return std::nullopt;
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

// Refuses a request with a body at once, because the library would read the body without a time
// limit. 0: continue.
int RefuseBody(mg_connection* connection) {
  constexpr int kContentTooLarge = 413;
  if (mg_get_request_info(connection)->content_length <= 0 &&
      mg_get_header(connection, "Transfer-Encoding") == nullptr) {
    return 0;
  }
  mg_send_http_error(connection, kContentTooLarge, "a scrape has no body");  // and closes the connection
  return kContentTooLarge;
}

}  // namespace

ScrapeServer::ScrapeServer(std::unique_ptr<prometheus::Exposer> exposer) : exposer_(std::move(exposer)) {}

ScrapeServer::~ScrapeServer() = default;

Result<std::unique_ptr<ScrapeServer>> ScrapeServer::Start(
    const std::string& address, const std::shared_ptr<prometheus::Collectable>& collector) {
  const std::string threads = fmt::to_string(kThreads);
  std::vector<std::string> options = {
      "listening_ports",   address, "num_threads",        threads,
      "connection_queue",  threads, "request_timeout_ms", fmt::to_string(kRequestTimeout.count()),
      "enable_keep_alive", "no"};
  const std::optional<std::size_t> before = CountThreads();
  CivetCallbacks callbacks;
  callbacks.begin_request = RefuseBody;
  std::unique_ptr<prometheus::Exposer> exposer;
  try {
    exposer = std::make_unique<prometheus::Exposer>(std::move(options), &callbacks);
  } catch (const std::exception& error) {
    return Fail(Code::kIo, fmt::format("can't serve on {}: {}", address, error.what()));
  }
  // The library does not report which threads it could not start. Without its accepting thread,
  // which comes on top of kThreads, it would serve nobody, and a stop would wait for that thread
  // for ever.
  const std::optional<std::size_t> after = CountThreads();
  if (before && after && *after - *before != kThreads + 1) {
    static_cast<void>(exposer.release());
    return Fail(
        Error(Code::kBusy, fmt::format("can't serve on {}: the host allows {} of {} threads", address,
                                       *after - *before, kThreads + 1))
            .Advise("raise the limit of threads (ulimit -u, or pids.max of the cgroup), or free memory"));
  }
  exposer->RegisterCollectable(collector);
  return std::unique_ptr<ScrapeServer>(new ScrapeServer(std::move(exposer)));
}

}  // namespace zenfs
