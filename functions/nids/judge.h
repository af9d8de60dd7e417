#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/counters.h"
#include "core/element.h"
#include "core/packet.h"
#include "functions/nids/eve.h"
#include "functions/nids/table.h"

namespace heddle::nids {

/** Judges candidates by all that rules ask for, counts alerts and writes them. Packet threads, each for itself. */
class Judge {
 public:
  enum Stops : unsigned { kDrops = 1, kRejects = 2 };

  /** `counts`: Element::counts. */
  explicit Judge(std::vector<PerThreadCounts*>& counts) : alerts_(counts), gave_up_(counts) {}

  /** Where alerts of `element` go, besides being counted; "": nowhere. Throws Error. `former`: of its predecessor,
   *  which take_file() is going to be called with, or null. */
  void open(const std::string& path, const Element& element, const Environment& environment, const Judge* former);
  /** When the chain is reconfigured: goes on with the file of `old`, if that has the same name, or gives it back. */
  void take_file(Judge& old);

  /** Which Stops rules ask for, together; 0: the packet may go on. `packet` says when it came; null: now. `view` is
   *  what note() or look() has made of it. */
  unsigned judge(RuleTable& table, const Generation& rules, const Packet* packet, const View& view,
                 const Window& window, int thread);

  /** Notes what the packet tells of its flow, if rules ask, and in `view` what is true of it then. `ahead`: as of
   *  Flows::see(). */
  static void note(RuleTable& table, const Generation& rules, const Packet* packet, View& view, bool ahead = false);

  /** Notes in `view` what is true of the packet, of TCP, which itself counts for nothing. */
  static void look(RuleTable& table, const Generation& rules, View& view);

  void flush();
  std::string close();  ///< what went wrong, or ""

  uint64_t alerts() const { return alerts_.packets(); }
  uint64_t gave_up() const { return gave_up_.packets(); }
  uint64_t lost() const { return eve_ ? eve_->lost() - lost_before_ : 0; }  ///< alerts that could not be written

 private:
  /** Of the rules that have matched, leaves those for which bits are as they ask, and changes bits as they say. */
  static void apply_bits(RuleTable& table, const Generation& rules, const View& view, uint64_t now_ns,
                         Generation::Confirming& confirming);

  std::string path_;
  EveFile::Manners manners_;
  std::unique_ptr<EveFile> eve_;
  bool has_had_file_ = false;  // before it may have been another's, which has lost
  uint64_t lost_before_ = 0;   // so many
  PerThreadCounts alerts_, gave_up_;
};

}  // namespace heddle::nids
