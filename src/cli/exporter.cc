// Serves until SIGTERM or SIGINT. Keeps no state between scrapes, so the writer of a volume may
// come and go.
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "base/mutex.h"
#include "base/thread.h"
#include "base/unique_fd.h"
#include "cli/device_option.h"
#include "cli/number.h"
#include "cli/prometheus_families.h"
#include "cli/scrape_server.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

constexpr const char* kDefaultListen = "127.0.0.1:9817";

struct Address {
  std::string host;
  std::string port;
};

Result<Address> ParseListen(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto port = ParseCount(colon == std::string::npos ? text : text.substr(colon + 1), 1, 65535);
  if (colon == 0 || colon == std::string::npos || !port) {
    return Fail(Code::kInvalidArgument,
                fmt::format("--listen: '{}' is not HOST:PORT, as in {}", text, kDefaultListen));
  }
  Address address{text.substr(0, colon), fmt::to_string(*port)};
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  return address;
}

// Listens on the address for a moment, because the server does not report why it can't. Returns the
// numeric address, the only form that the server accepts.
Result<std::string> TryListen(const std::string& text) {
  ZENFS_ASSIGN_OR_RETURN(const Address address, ParseListen(text));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found); error != 0) {
    return Fail(Code::kInvalidArgument, fmt::format("--listen: {}: {}", address.host, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  const UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (fd.get() < 0 || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(fd.get(), 1) != 0) {
    return Fail(ErrnoError(errno, fmt::format("can't listen on {}", text))
                    .Advise("choose another address with --listen=HOST:PORT"));
  }
  char numeric[NI_MAXHOST] = {};
  if (getnameinfo(found->ai_addr, found->ai_addrlen, numeric, sizeof(numeric), nullptr, 0, NI_NUMERICHOST) !=
      0) {
    return FailErrno(errno, fmt::format("--listen: {}", text));
  }
  return fmt::format(found->ai_family == AF_INET6 ? fmt::runtime("[{}]:{}") : fmt::runtime("{}:{}"), numeric,
                     address.port);
}

class VolumeCollector : public prometheus::Collectable {
 public:
  // The caller owns `console` and does not use it meanwhile.
  VolumeCollector(std::vector<DeviceUri> uris, Console& console)
      : uris_(std::move(uris)), console_(console), said_(uris_.size()) {}

  // Called by several of the server's threads at once. Their stacks are too small for a mount, so
  // each mount has its own thread.
  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<VolumeReading> readings;
    Result<Thread> reader = Thread::Start("zenfs-scrape", [&] {
      for (const DeviceUri& uri : uris_) readings.push_back(ReadVolume(uri));
    });
    if (reader) reader->Join();
    if (!reader) readings = Unread(reader.error());
    for (std::size_t i = 0; i < readings.size(); ++i) Say(i, readings[i].trouble);
    return FamiliesOf(readings);
  }

 private:
  std::vector<VolumeReading> Unread(const Error& why) const {
    std::vector<VolumeReading> readings;
    for (const DeviceUri& uri : uris_) {
      VolumeReading& reading = readings.emplace_back();
      reading.device = uri.kind + ":" + uri.target;
      reading.trouble = why.With(reading.device);
    }
    return readings;
  }
  // Prints a line when the trouble of a device begins or changes, not at each scrape.
  void Say(std::size_t device, const std::optional<Error>& trouble) const EXCLUDES(mutex_) {
    const std::string text = trouble ? trouble->ToString() : "";
    MutexLock lock(mutex_);
    if (said_[device] == text) return;
    said_[device] = text;
    if (!text.empty()) console_.PrintError(fmt::format("zenfs exporter: {}", Printable(text)));
  }

  const std::vector<DeviceUri> uris_;
  mutable Mutex mutex_;
  Console& console_ GUARDED_BY(mutex_);
  mutable std::vector<std::string> said_ GUARDED_BY(mutex_);  // by device: the last line printed
};

class ExporterAction : public Action {
 public:
  explicit ExporterAction(CLI::App& app) : device_(app, DeviceOption::kMany) {
    app.add_option("--listen", listen_, "Where to listen")
        ->type_name("HOST:PORT")
        ->default_str(kDefaultListen);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(std::vector<DeviceUri> uris, device_.Uris());
    for (const DeviceUri& uri : uris) ZENFS_RETURN_IF_ERROR(OpenNamedDevice(uri, OpenMode::kReadOnly));
    ZENFS_ASSIGN_OR_RETURN(const std::string address, TryListen(listen_));
    sigset_t ends;  // blocked before the server's threads start, which inherit the mask
    sigemptyset(&ends);
    for (const int signal : {SIGTERM, SIGINT}) sigaddset(&ends, signal);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    const auto collector = std::make_shared<VolumeCollector>(std::move(uris), console);
    ZENFS_ASSIGN_OR_RETURN(const auto server, ScrapeServer::Start(address, collector));
    console.Print(fmt::format("Serving http://{}/metrics\n", address));
    ZENFS_RETURN_IF_ERROR(console.Flush());
    int received = 0;
    sigwait(&ends, &received);
    return 0;
  }

 private:
  DeviceOption device_;
  std::string listen_ = kDefaultListen;
};

}  // namespace

std::unique_ptr<Action> MakeExporter(CLI::App& app) { return MakeAction<ExporterAction>(app); }

}  // namespace zenfs
