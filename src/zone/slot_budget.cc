#include "zone/slot_budget.h"

namespace zenfs {

void SlotBudget::Hold(ZoneState& state) {
  if (!state.holds_slot) ++used_;
  state.holds_slot = true;
}

void SlotBudget::Free(ZoneState& state) {
  ZENFS_ASSERT(!state.holds_slot || used_ != 0);
  if (state.holds_slot) --used_;
  state.holds_slot = false;
}

void SlotBudget::BeginWriter() {
  ++writers_;
  ZENFS_ASSERT(writers_ <= plan_.open_data + Extra(WritePurpose::kReclaim));
}

void SlotBudget::EndWriter() {
  ZENFS_ASSERT(writers_ != 0);
  --writers_;
}

}  // namespace zenfs
