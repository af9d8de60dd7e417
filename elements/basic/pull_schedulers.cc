#include "elements/basic/pull_schedulers.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {

void StaticPullSwitch::configure(click::Arguments& arguments) {
  int input = 0;
  arguments.required("INPUT", input);
  set_input(arguments, input);
}

void StaticPullSwitch::set_input(click::Arguments& arguments, int input) {
  if (input >= inputs) arguments.error("INPUT", format("below the number of inputs, %d", inputs));
  input_ = input;
}

int StaticPullSwitch::choose(int attempt) {
  chosen_ = attempt == 0 ? input_.load(std::memory_order_relaxed) : -1;
  return std::max(chosen_, 0);
}

void PullSwitch::configure(click::Arguments& arguments) {
  int input = 0;
  arguments.optional("INPUT", input);
  set_input(arguments, input);
}

void PullSwitch::handlers(Handlers& list) {
  const auto read = [this] { return std::to_string(input_.load()); };
  const auto write = [this](const std::string& value) {
    const int input = click::value_of<int>(value);
    input_ = input < inputs ? std::max(input, -1) : -1;
  };
  list.read("switch", read).write("switch", write).read("config", read).write("config", write);
}

void StrideSched::configure(click::Arguments& arguments) {
  const auto given = arguments.rest();
  if (given.size() != static_cast<size_t>(inputs))
    arguments.error(format("expected tickets for each of the %d inputs", inputs));
  shares_ = std::make_unique<Share[]>(static_cast<size_t>(std::max(inputs, 1)));
  order_.reserve(static_cast<size_t>(std::max(inputs, 1)));
  for (size_t i = 0; i < given.size(); ++i) {
    uint32_t tickets = 0;
    if (!click::parse(given[i].text, tickets, 0u, kMaxTickets))
      arguments.error(given[i], click::expectation(tickets, 0u, kMaxTickets));
    else if (i < static_cast<size_t>(inputs))
      shares_[i].tickets = tickets, shares_[i].pass = kStride / std::max(tickets, 1u);
  }
  for (int i = inputs; i-- > 0;) shares_[static_cast<size_t>(i)].turn = ++turns_;
}

int StrideSched::choose(int attempt) {
  if (attempt == 0) {
    if (now_ >= kLatest) rebase();
    order_.clear();
    for (int i = 0; i < inputs; ++i)
      if (shares_[static_cast<size_t>(i)].tickets != 0) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(), [this](int a, int b) {
      const Share &one = shares_[static_cast<size_t>(a)], &other = shares_[static_cast<size_t>(b)];
      return one.pass != other.pass ? one.pass < other.pass : one.turn > other.turn;
    });
  }
  if (order_.empty()) return 0;
  return order_[std::min(static_cast<size_t>(attempt), order_.size() - 1)];
}

void StrideSched::rebase() {
  for (int i = 0; i < inputs; ++i) {
    uint64_t& pass = shares_[static_cast<size_t>(i)].pass;
    pass -= std::min(pass, now_);
  }
  now_ = 0;
}

void StrideSched::taken(int input, int packets) {
  Share& share = shares_[static_cast<size_t>(input)];
  // One that had no packets gets no credit for that time.
  share.pass = std::max(share.pass, now_);
  now_ = share.pass;
  share.turn = ++turns_;
  share.pass += kStride * static_cast<uint64_t>(packets) / std::max(share.tickets.load(), 1u);
}

void StrideSched::handlers(Handlers& list) {
  for (int i = 0; i < inputs; ++i) {
    const std::string handler = "tickets" + std::to_string(i);
    auto& tickets = shares_[static_cast<size_t>(i)].tickets;
    list.read(handler, [&tickets] { return std::to_string(tickets.load()); })
        .write(handler,
               [&tickets](const std::string& text) { tickets = click::value_of<uint32_t>(text, 0u, kMaxTickets); });
  }
}

HEDDLE_ELEMENT(PrioSched);
HEDDLE_ELEMENT_NAMED(PrioSched, SimplePrioSched);
HEDDLE_ELEMENT(PullSwitch);
HEDDLE_ELEMENT_NAMED(PullSwitch, SimplePullSwitch);
HEDDLE_ELEMENT(RoundRobinSched);
HEDDLE_ELEMENT_NAMED(RoundRobinSched, RRSched);
HEDDLE_ELEMENT(StaticPullSwitch);
HEDDLE_ELEMENT(StrideSched);

}  // namespace heddle
