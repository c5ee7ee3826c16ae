#include "experiment.h"

#include <algorithm>
#include <numeric>

namespace zenfs {
namespace {

double Quantile(std::vector<double>& values, double quantile) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(quantile * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
  return values[rank];
}

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::string NameOf(Statistic statistic) {
  switch (statistic) {
    case Statistic::kMean: return "mean";
    case Statistic::kP50: return "p50";
    case Statistic::kP95: return "p95";
    case Statistic::kP99: return "p99";
    case Statistic::kPerSecond: return "rate";
    case Statistic::kBandwidth: return "bandwidth";
    case Statistic::kBackground: return "writes beside";
    case Statistic::kGibTakes: return "1 GiB takes";
  }
  return "";
}

std::string UnitOf(Statistic statistic) {
  switch (statistic) {
    case Statistic::kMean:
    case Statistic::kP50:
    case Statistic::kP95:
    case Statistic::kP99: return "us";
    case Statistic::kPerSecond: return "k/s";
    case Statistic::kBandwidth:
    case Statistic::kBackground: return "MiB/s";
    case Statistic::kGibTakes: return "s";
  }
  return "";
}

double Compute(Statistic statistic, const Load& load, LoadOutcome& outcome) {
  const auto commands = static_cast<double>(outcome.latencies_us.size());
  const double mib = commands * static_cast<double>(load.bytes) / static_cast<double>(kMib);
  switch (statistic) {
    case Statistic::kMean: return Mean(outcome.latencies_us);
    case Statistic::kP50: return Quantile(outcome.latencies_us, 0.5);
    case Statistic::kP95: return Quantile(outcome.latencies_us, 0.95);
    case Statistic::kP99: return Quantile(outcome.latencies_us, 0.99);
    case Statistic::kPerSecond: return commands / outcome.seconds / 1000;
    case Statistic::kBandwidth: return mib / outcome.seconds;
    case Statistic::kBackground:
      return static_cast<double>(outcome.background_bytes) / static_cast<double>(kMib) / outcome.seconds;
    case Statistic::kGibTakes: return 1024 / (mib / outcome.seconds);
  }
  return 0;
}

}  // namespace zenfs
