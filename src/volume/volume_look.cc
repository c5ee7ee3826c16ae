// Looking at a volume: stat, list, layout, space, counters.
#include <fmt/format.h>

#include <algorithm>

#include "volume/metrics_file.h"
#include "volume/volume_core.h"

namespace zenfs {

FileShape ShapeForName(std::string_view name) {
  const bool framed =
      name.ends_with(".log") || name.starts_with("MANIFEST-") || name == "LOG" || name.starts_with("LOG.");
  return framed ? FileShape::kFramed : FileShape::kPlain;
}

FileStat VolumeCore::StatOf(const CatalogView& view, const Entry& entry) const {
  FileStat stat{.id = entry.id};
  if (const Directory* directory = view.state().FindDirectory(entry.id)) {
    stat.is_directory = true;
    stat.mtime_seconds = directory->mtime_seconds;
    return stat;
  }
  if (const auto record = view.state().FindFile(entry.id)) {
    stat.shape = record->shape;
    stat.size = record->size;
    stat.mtime_seconds = record->mtime_seconds;
    stat.links = record->links;
    stat.lifetime = record->lifetime;
    if (record->shape == FileShape::kFramed) {
      if (const auto framed = logs_.Find(entry.id)) {
        stat.size = framed->size();
        stat.mtime_seconds = framed->mtime_seconds();
      }
    }
  } else if (const PendingFile* pending = view.FindPending(entry.id)) {
    stat.shape = pending->shape;
    stat.mtime_seconds = pending->mtime_seconds;
    stat.links = 1;
    stat.lifetime = pending->lifetime;
  }
  if (const std::shared_ptr<OpenFile> open = FindOpen(entry.id)) {
    stat.size = open->size();
    if (const std::uint64_t changed = open->changed_seconds()) stat.mtime_seconds = changed;
  }
  return stat;
}

Result<FileStat> VolumeCore::Stat(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(false));
  Result<FileStat> stat = FileStat();
  catalog_->Look([&](const CatalogView& view) {
    const Result<Entry> entry = view.Resolve(path);
    if (!entry) {
      stat = Fail(entry.error());
    } else if (entry->kind == Entry::Kind::kMissing) {
      stat = Fail(Code::kNotFound, fmt::format("{}: no such file or directory", path));
    } else {
      stat = StatOf(view, *entry);
    }
  });
  return stat;
}

Result<std::vector<DirectoryEntry>> VolumeCore::List(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(false));
  Result<std::vector<DirectoryEntry>> list = std::vector<DirectoryEntry>();
  catalog_->Look([&](const CatalogView& view) {
    const Result<Entry> entry = view.Resolve(path);
    if (!entry) {
      list = Fail(entry.error());
    } else if (entry->kind == Entry::Kind::kMissing) {
      list = Fail(Code::kNotFound, fmt::format("{}: no such directory", path));
    } else if (entry->kind == Entry::Kind::kFile) {
      list = Fail(Code::kNotADirectory, fmt::format("{}: not a directory", path));
    } else {
      std::map<std::string, Entry> entries;
      for (const auto& [name, id] : view.state().FindDirectory(entry->id)->entries) {
        entries[name] = {.parent = entry->id, .name = name, .id = id};
      }
      for (const PendingFile* pending : view.PendingIn(entry->id)) {
        entries[pending->name] = {
            .parent = entry->id, .name = pending->name, .id = pending->id, .pending = true};
      }
      for (const auto& [name, child] : entries) list->push_back({name, StatOf(view, child)});
    }
  });
  return list;
}

Result<FileLayout> VolumeCore::Layout(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const FileStat stat, Stat(path));
  if (stat.is_directory) return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
  FileLayout layout;
  const auto record = catalog_->FindFile(stat.id);
  if (record != nullptr) layout.extents = record->extents;
  if (const auto framed = logs_.Find(stat.id)) {
    for (const Piece& piece : framed->Pieces()) {
      if (piece.sequence != 0 && !piece.damaged) {
        layout.frames.push_back({piece.file_offset, piece.place, piece.length});
        layout.last_sequence = std::max(layout.last_sequence, piece.sequence);
      }
    }
  }
  return layout;
}

Result<std::unique_ptr<PathLock>> VolumeCore::Lock(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter(true));
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<PathLock> lock, path_locks_.Take(path));
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, OpenForAppend(path, true));
  ZENFS_RETURN_IF_ERROR(file->Close());
  return lock;
}

SpaceReport VolumeCore::Space() const { return zones_->Space(); }

std::vector<ZoneStatus> VolumeCore::Zones() const { return zones_->Zones(); }

MetalogStats VolumeCore::metalog_stats() const { return metalog_->stats(); }

void VolumeCore::CountWritten() {
  metrics_.RaiseTo(Value::kDataBytes, plain_bytes_.load(std::memory_order_relaxed));
  metrics_.RaiseTo(Value::kDataPaddingBytes, plain_padding_.load(std::memory_order_relaxed));
  metrics_.RaiseTo(Value::kFoldedBytes, folded_bytes_.load(std::memory_order_relaxed));
  if (mover_ != nullptr) metrics_.RaiseTo(Value::kReclaimedBytes, mover_->bytes_moved());
  metrics_.RaiseTo(Value::kEmulationCpu, device_->emulation_cpu_ns());
  if (log_ == nullptr) return;
  metrics_.RaiseTo(Value::kWalBytes, log_->writer().payload_bytes());
  metrics_.RaiseTo(Value::kWalPaddingBytes, log_->writer().padding_bytes());
  metrics_.RaiseTo(Value::kWalReserveWaits, log_->writer().reserve_waits());
}

Status VolumeCore::KeepMetrics() {
  if (options_.metrics_file.empty()) return {};
  CountWritten();
  const Status written = WriteMetricsFile(options_.metrics_file, metrics_.page());
  if (!written.ok()) return Fail(written.error().With(fmt::format("{}: option metrics_file", device_name_)));
  return {};
}

WriteCounters VolumeCore::write_counters() const {
  WriteCounters counters;
  counters.plain_data = plain_bytes_.load(std::memory_order_relaxed);
  counters.folded = folded_bytes_.load(std::memory_order_relaxed);
  if (mover_ != nullptr) counters.reclaimed = mover_->bytes_moved();
  counters.metadata = metalog_->stats().bytes_written;
  if (log_ != nullptr) {
    counters.log_data = log_->writer().payload_bytes();
    counters.log_padding = log_->writer().padding_bytes();
    counters.log_reserve_waits = log_->writer().reserve_waits();
  }
  return counters;
}

}  // namespace zenfs
