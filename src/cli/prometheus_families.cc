#include "cli/prometheus_families.h"

#include <functional>
#include <limits>

#include "base/printable.h"
#include "cli/number.h"

namespace zenfs {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr ValueInfo kVolumeGauges[] = {
    {"up", "", "1 if a program has the volume mounted for writing and its counters could be read, else 0"},
    {"readable", "", "1 if the volume could be mounted read-only, else 0"},
    {"denied", "",
     "1 if the exporter's user may not read the device, or the counters of the program that writes to it, "
     "else 0"},
    {"volume_info", "", "1; the labels uuid and label tell which volume the device holds"},
    {"trouble", "",
     "1 while the volume, its counters or the result of its scrub can't be read; the label reason is slow, "
     "out_of_memory, denied, "
     "missing, damaged, "
     "unusable or failed"},
    {"build_info", "", "1; the label version tells which ZenFS the exporter is"},
    {"scrub_time_seconds", "seconds",
     "When the last complete scrub ended, since 1970-01-01 UTC; none before the first"},
    {"scrub_errors", "", "Errors that the last complete scrub found"},
};

consteval const ValueInfo& VolumeGauge(std::string_view name) {
  return *std::ranges::find(kVolumeGauges, name, &ValueInfo::name);
}

// One Prometheus bucket for each power of two; four times as many, as ours, would be too many to
// store.
constexpr unsigned kFirstPower = 6;
constexpr unsigned kLastPower = 34;

std::string FullName(std::string_view name) { return "zenfs_" + std::string(name); }

double Real(std::uint64_t number) { return static_cast<double>(number); }

ClientMetric For(const VolumeReading& reading) {
  ClientMetric metric;
  metric.label = {{"device", Printable(reading.device)}};  // invalid UTF-8 would make the scrape fail
  return metric;
}

ClientMetric::Histogram HistogramOf(const LatencyHistogram& latency) {
  ClientMetric::Histogram out;
  out.sample_count = latency.count;
  out.sample_sum = ToSeconds(latency.sum);
  std::uint64_t below = 0;
  std::size_t bucket = 0;
  for (unsigned power = kFirstPower; power <= kLastPower; ++power) {
    const std::uint64_t bound = std::uint64_t{1} << power;
    for (; LatencyBucketStart(bucket) < bound; ++bucket) below += latency.buckets[bucket];
    out.bucket.push_back({below, ToSeconds(bound)});
  }
  out.bucket.push_back({latency.count, std::numeric_limits<double>::infinity()});
  return out;
}

// The label of zenfs_trouble: few values, so that an alert can name them. The text of the error is on standard error.
std::string_view ReasonOf(const Error& trouble) {
  switch (trouble.code()) {
    case Code::kTimedOut: return "slow";
    case Code::kNoSpace: return "out_of_memory";
    case Code::kPermission: return "denied";
    case Code::kNotFound: return "missing";
    case Code::kCorruption: return "damaged";
    case Code::kInvalidArgument:
    case Code::kNotSupported: return "unusable";
    default: return "failed";
  }
}

class Builder {
 public:
  explicit Builder(std::span<const VolumeReading> readings) : readings_(readings) {}

  using Has = std::function<bool(const VolumeReading&)>;  // selects the readings with the metric; null: all
  using Number = std::function<double(const VolumeReading&)>;

  void Gauge(const ValueInfo& info, const Has& has, const Number& number) {
    Add(info.name, info.help, MetricType::Gauge, has,
        [&](const VolumeReading& reading, ClientMetric& metric) { metric.gauge.value = number(reading); });
  }
  void Counter(std::string_view name, std::string_view help, const Number& number) {
    Add(name, help, MetricType::Counter, &VolumeReading::up,
        [&](const VolumeReading& reading, ClientMetric& metric) { metric.counter.value = number(reading); });
  }
  void Latency(std::string_view name, std::string_view help, std::size_t operation) {
    Add(name, help, MetricType::Histogram, &VolumeReading::up,
        [operation](const VolumeReading& reading, ClientMetric& metric) {
          metric.histogram = HistogramOf(reading.metrics.operations[operation].latency);
        });
  }
  void Info(const ValueInfo& info) {
    Add(info.name, info.help, MetricType::Gauge, &VolumeReading::readable,
        [](const VolumeReading& reading, ClientMetric& metric) {
          metric.label.push_back({"label", Printable(reading.label)});
          metric.label.push_back({"uuid", reading.uuid});
          metric.gauge.value = 1;
        });
  }
  void Trouble(const ValueInfo& info) {
    Add(
        info.name, info.help, MetricType::Gauge,
        [](const VolumeReading& reading) { return reading.trouble.has_value(); },
        [](const VolumeReading& reading, ClientMetric& metric) {
          metric.label.push_back({"reason", std::string(ReasonOf(*reading.trouble))});
          metric.gauge.value = 1;
        });
  }

  // Once, without a device: it tells about this program.
  void Build(const ValueInfo& info) {
    ClientMetric metric;
    metric.label = {{"version", ZENFS_VERSION}};
    metric.gauge.value = 1;
    families_.push_back({.name = FullName(info.name),
                         .help = std::string(info.help),
                         .type = MetricType::Gauge,
                         .metric = {metric}});
  }

  std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  template <typename Fill>
  void Add(std::string_view name, std::string_view help, MetricType type, const Has& has, const Fill& fill) {
    MetricFamily family;
    family.name = FullName(name);
    family.help = help;
    family.type = type;
    for (const VolumeReading& reading : readings_) {
      if (has && !has(reading)) continue;
      fill(reading, family.metric.emplace_back(For(reading)));
    }
    if (!family.metric.empty()) families_.push_back(std::move(family));
  }

  std::span<const VolumeReading> readings_;
  std::vector<MetricFamily> families_;
};

void AddOperation(std::size_t i, Builder& builder) {
  const OperationInfo& info = Operations()[i];
  const std::string name(info.name);
  const std::string help(info.help);
  builder.Counter(name + "_total", help,
                  [i](const VolumeReading& reading) { return Real(reading.metrics.operations[i].count); });
  builder.Counter(name + "_errors_total", help + ": those that failed",
                  [i](const VolumeReading& reading) { return Real(reading.metrics.operations[i].errors); });
  if (info.has_bytes) {
    builder.Counter(name + "_bytes_total", help + ": bytes",
                    [i](const VolumeReading& reading) { return Real(reading.metrics.operations[i].bytes); });
  }
  builder.Latency(name + "_latency_seconds", help + ": latency", i);
}

}  // namespace

std::span<const ValueInfo> VolumeGauges() { return kVolumeGauges; }

std::vector<MetricFamily> FamiliesOf(std::span<const VolumeReading> readings) {
  Builder builder(readings);
  builder.Gauge(VolumeGauge("up"), nullptr, [](const VolumeReading& reading) { return reading.up ? 1 : 0; });
  builder.Gauge(VolumeGauge("readable"), nullptr,
                [](const VolumeReading& reading) { return reading.readable ? 1 : 0; });
  builder.Gauge(VolumeGauge("denied"), nullptr, [](const VolumeReading& reading) {
    return reading.trouble && reading.trouble->code() == Code::kPermission ? 1 : 0;
  });
  builder.Info(VolumeGauge("volume_info"));
  builder.Trouble(VolumeGauge("trouble"));
  builder.Build(VolumeGauge("build_info"));
  const auto scrubbed = [](const VolumeReading& reading) { return reading.scrub.has_value(); };
  builder.Gauge(VolumeGauge("scrub_time_seconds"), scrubbed,
                [](const VolumeReading& reading) { return Real(reading.scrub->ended); });
  builder.Gauge(VolumeGauge("scrub_errors"), scrubbed,
                [](const VolumeReading& reading) { return Real(reading.scrub->errors); });
  for (std::size_t i = 0; i < kZoneGaugeCount; ++i) {
    builder.Gauge(ZoneGauges()[i], &VolumeReading::readable,
                  [i](const VolumeReading& reading) { return Real(reading.zones[i]); });
  }
  for (std::size_t i = 0; i < kOperationCount; ++i) AddOperation(i, builder);
  for (std::size_t i = 0; i < kValueCount; ++i) {
    const ValueInfo& info = Values()[i];
    const auto number = [i, &info](const VolumeReading& reading) {
      return InUnit(info, reading.metrics.values[i]);
    };
    if (info.counter) {
      builder.Counter(info.name, info.help, number);
    } else {
      builder.Gauge(info, &VolumeReading::up, number);
    }
  }
  return builder.Take();
}

}  // namespace zenfs
