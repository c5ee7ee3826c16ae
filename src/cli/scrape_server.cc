#include "cli/scrape_server.h"

#include <civetweb.h>
#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

namespace zenfs {
namespace {

std::optional<std::size_t> CountThreads() {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  if (error) return std::nullopt;
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

constexpr int kOk = 200;
constexpr int kNotFound = 404;
constexpr int kMethodNotAllowed = 405;
constexpr int kUnavailable = 503;

// False if the request has been refused.
bool IsGet(mg_connection* connection) {
  if (std::string_view(mg_get_request_info(connection)->request_method) == "GET") return true;
  mg_send_http_error(connection, kMethodNotAllowed, "metrics are read by GET");
  return false;
}

void Send(mg_connection* connection, const char* type, std::string_view text) {
  mg_printf(connection,
            "HTTP/1.1 200 OK\r\nContent-Type: %s; charset=utf-8\r\n"
            "Content-Length: %zu\r\nConnection: close\r\n\r\n",
            type, text.size());
  mg_write(connection, text.data(), text.size());  // a client that is gone needs no answer
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

std::string TextOf(const std::vector<prometheus::MetricFamily>& families) {
  std::ostringstream text;
  text.exceptions(std::ios::badbit);  // otherwise a text that memory was too short for would be cut off
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace

std::shared_ptr<const std::string> ScrapeServer::Answer() {
  MutexLock lock(mutex_);
  const std::uint64_t mine = begun_ + 1;  // one that begins after the request came
  while (last_number_ < mine) {
    if (collecting_) {
      ended_.Wait(mutex_);
      continue;
    }
    collecting_ = true;
    const std::uint64_t number = ++begun_;
    lock.Unlock();
    std::shared_ptr<const std::string> text;
    try {
      text = std::make_shared<const std::string>(TextOf(collect_()));
    } catch (...) {  // only memory and libraries throw
    }
    lock.Lock();
    collecting_ = false;
    last_ = std::move(text);
    last_number_ = number;
    ended_.NotifyAll();
  }
  return last_;
}

// The callers of both are in C, so no exception may leave.
int ScrapeServer::ServeLink(mg_connection* connection, void*) noexcept {
  const std::string_view path = mg_get_request_info(connection)->local_uri;
  if (path != "/") {  // the library also asks here for everything that has no handler
    mg_send_http_error(connection, kNotFound, "the metrics are at /metrics");
    return kNotFound;
  }
  if (!IsGet(connection)) return kMethodNotAllowed;
  constexpr std::string_view kPage =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><title>ZenFS exporter</title></head>"
      "<body><h1>ZenFS " ZENFS_VERSION "</h1><p><a href=\"/metrics\">Metrics</a></p></body></html>\n";
  Send(connection, "text/html", kPage);
  return kOk;
}

int ScrapeServer::Serve(mg_connection* connection, void* server) noexcept {
  if (!IsGet(connection)) return kMethodNotAllowed;
  const std::shared_ptr<const std::string> text = static_cast<ScrapeServer*>(server)->Answer();
  if (text == nullptr) {
    mg_send_http_error(connection, kUnavailable, "no memory is left to answer");
    return kUnavailable;
  }
  Send(connection, "text/plain; version=0.0.4", *text);
  return kOk;
}

ScrapeServer::~ScrapeServer() {
  if (context_ != nullptr) mg_stop(context_);
}

Result<std::unique_ptr<ScrapeServer>> ScrapeServer::Start(const std::string& address, Collect collect) {
  std::unique_ptr<ScrapeServer> server(new ScrapeServer(std::move(collect)));
  const std::string threads = fmt::to_string(kThreads);
  const std::string timeout = fmt::to_string(kRequestTimeout.count());
  const char* options[] = {"listening_ports",
                           address.c_str(),
                           "num_threads",
                           threads.c_str(),
                           "connection_queue",
                           threads.c_str(),
                           "request_timeout_ms",
                           timeout.c_str(),
                           "enable_keep_alive",
                           "no",
                           nullptr};
  const std::optional<std::size_t> before = CountThreads();
  mg_callbacks callbacks{};
  callbacks.begin_request = RefuseBody;
  server->context_ = mg_start(&callbacks, nullptr, options);
  if (server->context_ == nullptr) return Fail(Code::kIo, fmt::format("can't serve on {}", address));
  // The library does not report which threads it could not start. Without its accepting thread,
  // which comes on top of kThreads, it would serve nobody, and a stop would wait for that thread
  // for ever.
  const std::optional<std::size_t> after = CountThreads();
  if (before && after && *after - *before != kThreads + 1) {
    server->context_ = nullptr;
    return Fail(
        Error(Code::kBusy, fmt::format("can't serve on {}: the host allows {} of {} threads", address,
                                       *after - *before, kThreads + 1))
            .Advise("raise the limit of threads (ulimit -u, or pids.max of the cgroup), or free memory"));
  }
  mg_set_request_handler(server->context_, "/metrics", Serve, server.get());
  mg_set_request_handler(server->context_, "/", ServeLink, nullptr);
  return server;
}

}  // namespace zenfs
