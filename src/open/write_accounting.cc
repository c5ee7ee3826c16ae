#include "open/write_accounting.h"

namespace zenfs {

// Called after each write, so it takes no lock. The metadata log counts its own bytes in the metrics.
void WriteAccounting::Publish() const {
  metrics_.RaiseTo(Value::kDataBytes, sources_.written.plain.load(std::memory_order_relaxed));
  metrics_.RaiseTo(Value::kDataPaddingBytes, sources_.written.plain_padding.load(std::memory_order_relaxed));
  metrics_.RaiseTo(Value::kCleanedBytes, sources_.written.cleaned.load(std::memory_order_relaxed));
  metrics_.RaiseTo(Value::kReclaimedBytes, sources_.written.reclaimed.load(std::memory_order_relaxed));
  metrics_.RaiseTo(Value::kEmulationCpu, sources_.device.emulation_cpu_ns());
  metrics_.RaiseTo(Value::kWalBytes, sources_.log.writer().payload_bytes());
  metrics_.RaiseTo(Value::kWalPaddingBytes, sources_.log.writer().padding_bytes());
  metrics_.RaiseTo(Value::kWalReserveWaits, sources_.log.writer().reserve_waits());
  const SendChoice::State sending = sources_.log.writer().sending();
  metrics_.RaiseTo(Value::kWalFramesMet, sending.frames_met);
  metrics_.RaiseTo(Value::kWalChoices, sending.changes);
  metrics_.RaiseTo(Value::kWalSyncBlocks, sources_.log.sync_area().blocks_written());
  metrics_.Set(Value::kWalAppends, sending.appends ? 1 : 0);
  metrics_.Set(Value::kFrameWriteTime, static_cast<std::uint64_t>(sending.write.count()));
  metrics_.Set(Value::kFrameAppendTime, static_cast<std::uint64_t>(sending.append.count()));
}

WriteCounters WriteAccounting::Counters() const {
  return {.plain_data = sources_.written.plain.load(std::memory_order_relaxed),
          .log_data = sources_.log.writer().payload_bytes(),
          .log_padding = sources_.log.writer().padding_bytes(),
          .metadata = sources_.metalog.stats().bytes_written,
          .cleaned = sources_.written.cleaned.load(std::memory_order_relaxed),
          .reclaimed = sources_.written.reclaimed.load(std::memory_order_relaxed),
          .log_reserve_waits = sources_.log.writer().reserve_waits()};
}

}  // namespace zenfs
