#include "elements/basic/drr_sched.h"

#include <algorithm>

namespace heddle {

void DRRSched::configure(click::Arguments&) { inputs_.resize(static_cast<size_t>(std::max(inputs, 1))); }

void DRRSched::hold(int input, Batch& batch, int i, ColumnSet columns, int origin) {
  inputs_[static_cast<size_t>(input)].next.take(batch, i, columns, origin);
}

int DRRSched::release(Batch& batch) {
  if (!holds()) {
    for (Input& input : inputs_) input.credit = 0;
    return -1;
  }
  for (;;) {
    Input& input = inputs_[turn_];
    if (const Packet* packet = input.next.packet(); packet == nullptr) {
      input.credit = 0;
    } else if (packet->pkt_len <= input.credit) {
      input.credit -= packet->pkt_len;
      return input.next.give(batch);
    }
    turn_ = (turn_ + 1) % inputs_.size();
    inputs_[turn_].credit += kQuantum;
  }
}

void DRRSched::take_state(Element& old_element) {
  auto& old = static_cast<DRRSched&>(old_element);
  if (inputs != old.inputs || carries != old.carries) return;
  inputs_.swap(old.inputs_);
  turn_ = old.turn_;
}

uint64_t DRRSched::packets_held() const {
  return static_cast<uint64_t>(
      std::ranges::count_if(inputs_, [](const Input& input) { return input.next.packet() != nullptr; }));
}

std::string DRRSched::stop() {
  for (Input& input : inputs_)
    if (input.next.packet() != nullptr) input.next.free(), ++left_;
  return "";
}

std::vector<std::pair<std::string, uint64_t>> DRRSched::statistics() const {
  if (left_ == 0) return {};
  return {{"left", left_}};
}

HEDDLE_ELEMENT(DRRSched);

}  // namespace heddle
