// Serves until SIGTERM or SIGINT. Keeps nothing of a volume between scrapes, so its writer may come
// and go, and so may its device.
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/caught.h"
#include "base/host_directory.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "cli/configuration.h"
#include "cli/dashboard.h"
#include "cli/device_option.h"
#include "cli/number.h"
#include "cli/prometheus_families.h"
#include "cli/scrape_server.h"
#include "cli/verbs.h"
#include "cli/volume_poll.h"

namespace zenfs {
namespace {

constexpr const char* kDefaultListen = "127.0.0.1:9817";
constexpr const char* kDefaultTimeout = "5";  // half of what Prometheus gives a scrape by default
constexpr double kTimeoutMin = 0.1;
constexpr double kTimeoutMax = 3600;

struct Address {
  std::string host;
  std::string port;
};

// HOST:PORT, and who says so: "--listen", or the place in a file.
struct ListenText {
  std::string origin;
  std::string value;
};

Result<Address> ParseListen(const ListenText& listen) {
  const std::string& text = listen.value;
  const std::size_t colon = text.rfind(':');
  const auto port = ParseCount(colon == std::string::npos ? text : text.substr(colon + 1), 1, 65535);
  if (colon == 0 || colon == std::string::npos || !port) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: '{}' is not HOST:PORT, as in {}", listen.origin, text, kDefaultListen));
  }
  Address address{text.substr(0, colon), fmt::to_string(*port)};
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  return address;
}

// Listens on the address for a moment, because the server does not report why it can't. Returns the
// numeric address, the only form that the server accepts.
Result<std::string> TryListen(const ListenText& listen) {
  ZENFS_ASSIGN_OR_RETURN(const Address address, ParseListen(listen));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found); error != 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: {}: {}", listen.origin, address.host, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  const UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (fd.get() < 0 || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), 1) != 0) {
    return Fail(ErrnoError(errno, fmt::format("can't listen on {}", listen.value))
                    .Advise("choose another address with --listen=HOST:PORT"));
  }
  char numeric[NI_MAXHOST] = {};
  if (getnameinfo(found->ai_addr, found->ai_addrlen, numeric, sizeof(numeric), nullptr, 0, NI_NUMERICHOST) !=
      0) {
    return FailErrno(errno, fmt::format("{}: {}", listen.origin, listen.value));
  }
  return fmt::format(found->ai_family == AF_INET6 ? fmt::runtime("[{}]:{}") : fmt::runtime("{}:{}"), numeric,
                     address.port);
}

class VolumeCollector {
 public:
  // The caller owns `console` and does not use it meanwhile. Errors: kBusy if the host refuses a thread.
  static Result<std::unique_ptr<VolumeCollector>> Start(const std::vector<DeviceUri>& uris,
                                                        const std::string& scrub_results,
                                                        std::chrono::milliseconds timeout, Console& console) {
    std::unique_ptr<VolumeCollector> collector(new VolumeCollector(timeout, console, uris.size()));
    for (const DeviceUri& uri : uris) {
      ZENFS_ASSIGN_OR_RETURN(collector->volumes_.emplace_back(),
                             VolumePoll::Start(uri.kind + ":" + uri.target, [uri, scrub_results] {
                               return ReadVolume(uri, {.scrub_results = scrub_results});
                             }));
    }
    return collector;
  }

  // Reads all volumes at the same time; takes `timeout` at most. Called by several threads at once.
  std::vector<prometheus::MetricFamily> Collect() EXCLUDES(mutex_) {
    const Deadline deadline = Deadline::After(timeout_);
    std::vector<std::uint64_t> numbers;
    for (const auto& volume : volumes_) numbers.push_back(volume->Begin());
    std::vector<VolumeReading> readings;
    for (std::size_t i = 0; i < volumes_.size(); ++i) {
      readings.push_back(volumes_[i]->End(numbers[i], deadline));
      Say(i, readings[i].trouble);
    }
    return FamiliesOf(readings);
  }

  [[nodiscard]] Status Announce(const std::string& address) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    console_.Print(fmt::format("Serving http://{}/metrics\n", address));
    return console_.Flush();
  }

  // True while some volume is being read: a device may hang for ever.
  [[nodiscard]] bool busy() const {
    return std::ranges::any_of(volumes_, [](const auto& volume) { return volume->busy(); });
  }

 private:
  VolumeCollector(std::chrono::milliseconds timeout, Console& console, std::size_t volumes)
      : timeout_(timeout), console_(console), said_(volumes) {}

  // Prints a line when the trouble of a device begins or changes, not at each scrape.
  void Say(std::size_t device, const std::optional<Error>& trouble) EXCLUDES(mutex_) {
    const std::string text = trouble ? trouble->ToString() : "";
    MutexLock lock(mutex_);
    if (said_[device] == text) return;
    said_[device] = text;
    if (!text.empty()) console_.PrintError(fmt::format("zenfs exporter: {}", text));
  }

  const std::chrono::milliseconds timeout_;
  std::vector<std::unique_ptr<VolumePoll>> volumes_;  // constant once all have started
  Mutex mutex_;
  Console& console_ GUARDED_BY(mutex_);
  std::vector<std::string> said_ GUARDED_BY(mutex_);  // by device: the last line printed
};

class ExporterAction : public Action {
 public:
  explicit ExporterAction(CLI::App& app) : device_(app, DeviceOption::kMany) {
    listen_flag_ = app.add_option("--listen", listen_.value,
                                  "Where to listen (default: exporter.listen of the configuration)")
                       ->type_name("HOST:PORT")
                       ->default_str(kDefaultListen);
    app.add_option("--timeout", timeout_, "How long a scrape waits for a volume")
        ->type_name("SECONDS")
        ->default_str(kDefaultTimeout);
    app.add_option("--scrub-results", scrub_results_,
                   "Also show the results that zenfs scrub left in this directory")
        ->type_name("DIR");
    app.add_flag("--dashboard", dashboard_, "Print the dashboard for Grafana, and serve nothing");
  }

  Result<int> Run(Console& console) override {
    if (dashboard_) {
      console.PrintJson(Dashboard());
      return 0;
    }
    ZENFS_ASSIGN_OR_RETURN(const std::vector<DeviceUri> uris, device_.Uris(OpenMode::kReadOnly));
    const auto timeout = ParseSeconds(timeout_, kTimeoutMin, kTimeoutMax);
    if (!timeout) return Fail(timeout.error().With("--timeout"));
    if (!scrub_results_.empty()) {
      const auto directory = HostDirectory::Open(scrub_results_);
      if (!directory) return Fail(directory.error().With("--scrub-results"));
    }
    if (listen_flag_->empty()) {
      ZENFS_ASSIGN_OR_RETURN(const Configuration configuration, ReadConfiguration());
      if (const auto& configured = configuration.listen) listen_ = {configured->Place(), configured->value};
    }
    ZENFS_ASSIGN_OR_RETURN(const std::string address, TryListen(listen_));
    sigset_t ends;  // blocked before the server's threads start, which inherit the mask
    sigemptyset(&ends);
    for (const int signal : {SIGTERM, SIGINT}) sigaddset(&ends, signal);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    ZENFS_ASSIGN_OR_RETURN(const auto collector,
                           VolumeCollector::Start(uris, scrub_results_, *timeout, console));
    ZENFS_ASSIGN_OR_RETURN(auto server, ScrapeServer::Start(address, [&] { return collector->Collect(); }));
    ZENFS_RETURN_IF_ERROR(collector->Announce(address));
    // Not only at the first scrape: the words for a device that can't be read belong to the start.
    IgnoreError(Caught([&]() -> Result<std::size_t> { return collector->Collect().size(); }));
    int received = 0;
    sigwait(&ends, &received);
    server.reset();
    // A reading can't be interrupted, and this process changes nothing that it would have to leave in order.
    if (collector->busy()) ::_exit(0);
    return 0;
  }

 private:
  DeviceOption device_;
  CLI::Option* listen_flag_ = nullptr;
  ListenText listen_{"--listen", kDefaultListen};
  std::string timeout_ = kDefaultTimeout;
  std::string scrub_results_;
  bool dashboard_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeExporter(CLI::App& app) { return MakeAction<ExporterAction>(app); }

}  // namespace zenfs
