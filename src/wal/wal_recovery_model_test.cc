// Random histories of one log (append, sync, power loss, replay of shared memory, seal, truncation,
// cleaning) against a model of its bytes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "wal/wal_recovery.h"

namespace zenfs {
namespace {

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {}

  void Step() {
    switch (random_.Below(12)) {
      case 0: return Sync();
      case 1: return LosePower();
      case 2: return Truncate();
      case 3: return Clean();
      default: return Append();
    }
  }

 private:
  // A frame: maybe split, maybe written twice and split in two ways.
  void Append() {
    std::string bytes(1 + random_.Below(20), '\0');
    for (char& c : bytes) c = static_cast<char>('a' + random_.Below(26));
    const std::uint64_t parts = bytes.size() > 1 && random_.OneIn(4) ? 2 : 1;
    // The unsplit frame may be on the device too, from a write that was reported as failed. It has the
    // sequence of the first part.
    if (random_.OneIn(6)) AddFrame(next_sequence_, content_.size(), bytes);
    const std::size_t cut = parts == 2 ? 1 + random_.Below(bytes.size() - 1) : bytes.size();
    AddFrame(next_sequence_++, content_.size(), bytes.substr(0, cut));
    if (parts == 2) AddFrame(next_sequence_++, content_.size() + cut, bytes.substr(cut));
    content_ += bytes;
  }

  void AddFrame(std::uint64_t sequence, std::uint64_t file_offset, const std::string& bytes) {
    AddFrame(sequence, file_offset, bytes, stable_sequence_);
  }
  void AddFrame(std::uint64_t sequence, std::uint64_t file_offset, const std::string& bytes,
                std::uint64_t stable_sequence) {
    frames_.push_back({.owner = 5,
                       .epoch = epoch_,
                       .sequence = sequence,
                       .file_offset = file_offset,
                       .stable_sequence = stable_sequence,
                       .length = bytes.size(),
                       .payload = DeviceOffset(medium_.size()),
                       .device_bytes = 4096,
                       .zone = ZoneId(static_cast<std::uint32_t>(random_.Below(3)))});
    medium_ += bytes;
  }

  void Sync() {
    stable_sequence_ = next_sequence_ - 1;
    stable_size_ = content_.size();
    flushed_frames_ = frames_.size();
  }

  // A power loss: any of the frames since the last flush may be gone.
  void LoseFrames() {
    std::vector<ScannedFrame> kept;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      if (i < flushed_frames_ || !random_.OneIn(3)) kept.push_back(frames_[i]);
    }
    frames_ = std::move(kept);
  }

  // A mount finds in shared memory the bytes that the device lost, and writes them behind the bytes that
  // the device has. It uses sequences that frames behind the gap already have, and splits the bytes in
  // another way.
  void Recover() {
    const ReplayedLog log = ReplayLog(record_, epoch_, Shuffled());
    std::uint64_t sequence = log.open_window ? log.open_window->last_sequence + 1 : record_.next_sequence;
    for (std::size_t at = log.index.end(); at < content_.size();) {
      const std::size_t length = 1 + random_.Below(content_.size() - at);
      AddFrame(sequence++, at, content_.substr(at, length), 0);
      at += length;
    }
  }

  void LosePower() {
    LoseFrames();
    while (random_.OneIn(3)) {
      Recover();
      if (random_.OneIn(3)) LoseFrames();
    }
    const ReplayedLog log = ReplayLog(record_, epoch_, Shuffled());
    ASSERT_TRUE(log.damage.empty()) << DamageText(log.damage.front(), "file");
    const std::string found = Bytes(log);
    ASSERT_GE(found.size(), stable_size_) << "synced bytes are gone";
    ASSERT_EQ(found, content_.substr(0, found.size()));
    content_ = found;
    if (log.open_window) {
      record_.windows.push_back(*log.open_window);
      record_.next_sequence = log.open_window->last_sequence + 1;
    }
    record_.size = content_.size();
    ++epoch_;
    next_sequence_ = record_.next_sequence;
    Sync();
    ASSERT_EQ(Bytes(ReplayLog(record_, epoch_, Shuffled())), content_);
  }

  // As FrameMap does: all windows, including the open one, cut at the new size.
  void Truncate() {
    const std::uint64_t size = random_.Below(content_.size() + 1);
    const ReplayedLog log = ReplayLog(record_, epoch_, frames_);
    std::vector<LogWindow> all = record_.windows;
    if (log.open_window) all.push_back(*log.open_window);
    record_.windows.clear();
    std::uint64_t begin = record_.ExtentsEnd();
    for (LogWindow window : all) {
      if (begin >= size) break;
      begin = window.end;
      if (window.end > size)
        window = {window.epoch, window.first_sequence, log.index[log.index.Find(size - 1)].sequence, size};
      record_.windows.push_back(window);
    }
    while (!record_.extents.empty() && record_.extents.back().file_offset >= size) record_.extents.pop_back();
    if (record_.ExtentsEnd() > size)
      record_.extents.back().length = size - record_.extents.back().file_offset;
    record_.next_sequence = next_sequence_;
    record_.size = size;
    content_.resize(size);
    Sync();
    ASSERT_EQ(Bytes(ReplayLog(record_, epoch_, Shuffled())), content_);
  }

  // All bytes up to the end of a random piece become an extent.
  void Clean() {
    const ReplayedLog log = ReplayLog(record_, epoch_, frames_);
    std::vector<Piece> frames;
    for (const Piece& piece : log.index.pieces()) {
      if (piece.sequence != 0) frames.push_back(piece);
    }
    if (frames.empty()) return;
    const Piece last = frames[random_.Below(frames.size())];
    record_.extents.assign(1,
                           {.file_offset = 0, .place = DeviceOffset(medium_.size()), .length = last.end()});
    medium_ += content_.substr(0, last.end());
    const std::uint64_t sealed_end = record_.windows.empty() ? 0 : record_.windows.back().end;
    std::erase_if(record_.windows, [&](const LogWindow& w) { return w.end <= last.end(); });
    if (!record_.windows.empty()) {
      record_.windows.front().first_sequence =
          std::max(record_.windows.front().first_sequence, last.sequence + 1);
    }
    if (last.end() > sealed_end) record_.next_sequence = std::max(record_.next_sequence, last.sequence + 1);
    Sync();
    ASSERT_EQ(Bytes(ReplayLog(record_, epoch_, Shuffled())), content_);
  }

  std::vector<ScannedFrame> Shuffled() {
    std::vector<ScannedFrame> frames = frames_;
    for (std::size_t i = frames.size(); i > 1; --i) std::swap(frames[i - 1], frames[random_.Below(i)]);
    return frames;
  }

  std::string Bytes(const ReplayedLog& log) const {
    std::string bytes;
    for (const Piece& piece : log.index.pieces()) bytes += medium_.substr(piece.place.value, piece.length);
    return bytes;
  }

  Random random_;
  std::string medium_;
  std::string content_;
  std::vector<ScannedFrame> frames_;
  std::size_t flushed_frames_ = 0;
  FileRecord record_{.id = FileId(5), .shape = FileShape::kFramed};
  std::uint64_t epoch_ = 1;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t stable_sequence_ = 0;
  std::uint64_t stable_size_ = 0;
};

TEST(LogReplayModelTest, RandomHistoriesKeepEverySyncedByteAndBringNoneBackToLife) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    History history(seed);
    for (int step = 0; step < 120; ++step) {
      history.Step();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace zenfs
