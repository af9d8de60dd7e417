#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "io/capture/output_file.h"

namespace heddle {

/** The file of AggregateIPFlows' TRACEINFO: XML, an element a flow, in the order in which they end. One thread at a
 *  time. */
class FlowTrace {
 public:
  /** Source and destination of a flow's first packet, as they lie in it. */
  struct Ends {
    std::array<uint32_t, 2> addresses;
    std::array<uint16_t, 2> ports;
  };

  /** Throws Error if the file cannot be created; `owner`: who writes it; `stopping`: as of capture::Output. */
  FlowTrace(const std::string& path, const std::string& owner, const std::function<bool()>& stopping);
  /** As capture::Output::set_stopping(). */
  void set_stopping(const std::function<bool()>& stopping) { output_.set_stopping(stopping); }

  void begin(uint32_t number, const Ends& ends, uint64_t now_ns);
  /** A packet of a flow that has begun. */
  void count(uint32_t number, uint32_t direction, uint64_t now_ns);
  void end(uint32_t number);
  /** Ends all flows and the file; what went wrong, "" = nothing. */
  std::string stop();

 private:
  struct Flow {
    Ends ends;
    uint64_t first_ns, last_ns;
    std::array<uint64_t, 2> packets;  // by direction
  };
  void add(uint32_t number, const Flow& flow);
  void write();

  std::string path_;
  capture::Output output_;
  std::string text_;                // not written yet
  std::map<uint32_t, Flow> flows_;  // by number
};

}  // namespace heddle
