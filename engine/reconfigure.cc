// Hot reconfiguration: another generation takes the place of the one that runs.
#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>
#include <tuple>

#include "core/error.h"
#include "elements/script/script.h"
#include "engine/engine.h"
#include "engine/report.h"
#include "io/capture/output_file.h"

namespace heddle {
namespace {

/** Whether the parser has named it or something around it, Class@5, outer/Class@5 or @5/inner: the number follows from
 *  what stands before it. Classes begin with a capital letter, so elements that are given such a name, q@5, keep it. */
bool is_anonymous(std::string_view name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    const size_t at = part.rfind('@');
    if (at != part.npos && part.find_first_not_of("0123456789", at + 1) == part.npos && at + 1 < part.size() &&
        (at == 0 || (part[0] >= 'A' && part[0] <= 'Z')))
      return true;
    begin = end + 1;
  }
  return false;
}

/** The same, which has elements but for the program's own: what a mistyped file name gives would take the router
 *  away. Throws Error. */
Configuration not_empty(Configuration next) {
  const auto is_the_programs = [](auto& node) { return node.element->name.starts_with("click_driver@@"); };
  if (std::ranges::all_of(next.router.nodes, is_the_programs))
    throw Error("the new configuration has no elements; the former one goes on");
  return next;
}

}  // namespace

/** Pairs of the same class: by name, or, of those that have none, by arguments in the order of the configuration. The
 *  arguments are the same, too, where they say another processor, but not where a client has written the very same to
 *  `rewritten`, which is how it begins anew. */
std::vector<Engine::Heir> Engine::heirs(Generation& old, Generation& next, const std::string& rewritten) {
  std::vector<Heir> pairs;
  std::vector<bool> taken(old.router.nodes.size());
  const auto find_for = [&](const Node& node) -> const Node* {
    const Element& element = *node.element;
    for (auto& declaration : old.router.graph.elements) {
      const auto i = static_cast<size_t>(old.router.find(declaration.name));
      const Node& other = old.router.nodes[i];
      if (taken[i] || other.element->class_name != element.class_name) continue;
      const bool same = is_anonymous(element.name) ? is_anonymous(other.element->name) && other.config == node.config
                                                   : other.element->name == element.name;
      if (!same) continue;
      taken[i] = true;
      return &other;
    }
    return nullptr;
  };
  for (auto& declaration : next.router.graph.elements) {
    const Node& node = next.router.nodes[static_cast<size_t>(next.router.find(declaration.name))];
    if (const Node* before = find_for(node); before != nullptr) {
      const bool begins_anew = node.element->name == rewritten && before->config == node.config;
      pairs.push_back(
          {node.element.get(), before->element.get(), before->own_config == node.own_config && !begins_anew});
    }
  }
  return pairs;
}

void Engine::check_replaceable(const Generation& next) const {
  if (next.plan.options.workers != has_master_)
    throw Error(
        "whether a packet thread drives the GPU for the others (--workers) is said when the program is started");
  if (next.plan.uses_gpu() && !resources_.reached_by_gpus())
    throw Error("the program was started without a GPU, so none reaches its packets; start it anew");
}

void Engine::reconfigure(const std::function<Configuration()>& plan, const std::string& rewritten) {
  // Locks are taken in this order: handlers, reconfiguring_, changing_, updating_. The handler `config` of an element,
  // which gets here within update(), has the last one already: that does no harm as nobody but a reconfiguration, of
  // which there is one at a time, waits for it with one of the others.
  broker_->exclusively([&] {
    const std::lock_guard one_at_a_time(reconfiguring_);
    replace(plan, rewritten);
  });
}

void Engine::replace(const std::function<Configuration()>& plan, const std::string& rewritten) {
  const auto check_running = [this] {
    if (!started_ || stopping_) throw Error("the program is about to end");
  };
  check_running();
  auto ports = std::make_unique<dpdk::PortChange>();
  std::unique_ptr<Generation> next = make_generation(plan());
  next->ports = std::move(ports);
  try {
    check_replaceable(*next);
    // In this order: DPDK's ports are to know which of them are for soft NICs.
    next->gpu_ports =
        std::make_unique<GpuPorts>(next->router, next->plan, now_->gpus != nullptr ? &now_->gpus->ports() : nullptr);
    next->ports->start(resources_.packets(), worker_threads());
    next->gpu_ports->open();
    for (const Heir& pair : heirs(*now_, *next, rewritten)) {
      pair.heir->predecessor = pair.predecessor;
      pair.heir->same_arguments = pair.same_arguments;
    }
    {
      const capture::OpensInTime handlers_wait;
      start_elements(*next);
    }
    check_running();
    hand_over(next, rewritten);
  } catch (...) {
    next->gpu_ports.reset();
    next->ports->roll_back();
    next->given_up = true;
    const std::lock_guard lock(changing_);
    retired_.push_back(std::move(next));  // its threads may wait for the handler that has called this
    throw;
  }
}

/** What is paused stays whole until nothing can fail any more: memory that is missing is missed before. */
void Engine::hand_over(std::unique_ptr<Generation>& next, const std::string& rewritten) {
  const std::lock_guard lock(changing_);
  const std::lock_guard no_patch(updating_);
  const std::vector<Heir> pairs = heirs(*now_, *next, rewritten);
  std::list<std::unique_ptr<Generation>> retiring(1);
  spent_.reserve(1);
  auto counted = std::tuple(earlier_, earlier_received_, earlier_received_bytes_);
  // From here to the end no packet thread runs.
  const auto paused_at = std::chrono::steady_clock::now();
  std::string waiting;
  if (!now_->scheduler.pause([&] { return !(waiting = capture::waits_in_vain(paused_at)).empty(); }))
    throw Error("packet threads cannot stop between two batches: " + waiting +
                ", and packets wait with it; let that be read, and try again; the former configuration goes on");
  if (now_->gpus != nullptr) now_->gpus->pause();
  size_t taken = 0;
  const bool exchanged = exchange_scripts(*next, pairs, rewritten);
  try {
    if (exchanged) next->members = make_members(*next);
    for (; taken < pairs.size(); ++taken) pairs[taken].heir->take_state(*pairs[taken].predecessor);
    spent_.clear();
    prepare(*next);
    count_earlier(*now_);
    count_lost(*now_);
  } catch (...) {
    std::tie(earlier_, earlier_received_, earlier_received_bytes_) = std::move(counted);
    exchange_scripts(*next, pairs, rewritten);
    go_on_with_old(*next, std::span(pairs).first(taken));
    throw;
  }
  if (next->gpus != nullptr) next->gpus->take_over_ports();
  if (now_->gpus != nullptr) {
    now_->gpus->stop();
    for (std::string& failure : now_->gpus->failures()) problems_.push_back(std::move(failure));
    spent_.push_back(std::move(now_->gpus));
  }
  for (const Heir& pair : pairs) pair.heir->predecessor = nullptr;
  next->ports->take_over();
  std::swap(now_, next);
  for (auto& node : next->router.nodes)
    if (auto* script = dynamic_cast<Script*>(node.element.get()); script != nullptr) script->halt();
  ++reconfigurations_;
  now_->scheduler.start();
  reconfiguration_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - paused_at).count();
  now_->ports->close_former();
  next->ports = std::move(now_->ports);
  next->given_up = true;
  retiring.front() = std::move(next);
  retired_.splice(retired_.end(), retiring);
}

bool Engine::exchange_scripts(Generation& next, std::span<const Heir> pairs, const std::string& rewritten) {
  bool any = false;
  for (const Heir& pair : pairs) {
    const auto* script = dynamic_cast<const Script*>(pair.heir);
    if (script == nullptr || rewritten.empty() || script->name == rewritten) continue;
    if (script->inputs + script->outputs > 0) continue;  // packet threads know it
    std::swap(now_->router.nodes[static_cast<size_t>(now_->router.find(script->name))].element,
              next.router.nodes[static_cast<size_t>(next.router.find(script->name))].element);
    any = true;
  }
  return any;
}

void Engine::prepare(Generation& next) {
  next.gpus = resources_.gpus_for(next.router, next.plan, std::move(next.gpu_ports), lanes_a_segment(), next.slots);
  make_workers(next);
  broker_->replace(next.members);
  now_->members.swap(next.members);
  start_keepers(next);
  next.scheduler.prepare();
}

void Engine::go_on_with_old(Generation& next, std::span<const Heir> taken) {
  next.scheduler.clear();
  if (next.gpus != nullptr) next.gpus->stop();
  next.gpus.reset();
  if (!now_->members.list.empty()) {
    broker_->replace(now_->members);
    now_->members.swap(next.members);
  }
  for (const Heir& pair : taken) pair.predecessor->take_state(*pair.heir);
  if (now_->gpus != nullptr) now_->gpus->go_on();
  try {
    now_->scheduler.prepare();
    now_->scheduler.start();
  } catch (const std::exception& error) {
    problems_.push_back(std::string("the former configuration cannot go on: ") + error.what());
    stop();
  }
}

void Engine::bury_retired() {
  std::list<std::unique_ptr<Generation>> burying;
  {
    const std::lock_guard lock(changing_);
    burying.swap(retired_);
  }
  if (burying.empty()) return;
  for (auto& generation : burying)
    if (generation->started) stop_elements(*generation);
  broker_->exclusively([&] { burying.clear(); });  // when no handler of theirs is under way
}

void Engine::allow_reconfigure(std::function<Configuration(const std::string& text)> read, bool everything) {
  read_ = std::move(read);
  everything_ = everything;
  Broker::Members members = make_members(*now_);  // with `config` to be written
  broker_->replace(members);
  Handlers& global = broker_->global();
  if (everything_)
    global.write("hotconfig", [this](const std::string& text) { reconfigure([&] { return not_empty(read_(text)); }); });
  global.read("reconfigurations",
              [this] { return format("%d %.0f\n", reconfigurations(), 1e6 * reconfiguration_s()); });
}

void Engine::count_earlier(const Generation& generation) {
  for (size_t i = 0; i < generation.router.nodes.size(); ++i) {
    if (generation.router.nodes[i].element->class_name == kInputMark) continue;
    Report::Element entry = element_report_of(generation, static_cast<int>(i));
    entry.statistics.clear();  // the element's own, or by now its successor's
    if (is_origin(generation.router.nodes[i]))
      earlier_received_ += entry.packets, earlier_received_bytes_ += entry.bytes;
    Report::Element none{entry.name, entry.class_name, entry.processor, 0, 0, {}, {}};
    add_to(earlier_.try_emplace({entry.name, entry.class_name}, std::move(none)).first->second, entry);
  }
}

void Engine::count_lost(const Generation& generation) {
  for (const Node& node : generation.router.nodes)
    if (const uint64_t held = node.element->packets_held(); held > 0)
      add_to(earlier_.at({node.element->name, node.element->class_name}).drops, "reconfigured", held);
}

}  // namespace heddle
