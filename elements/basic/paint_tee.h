#pragma once

#include "core/element.h"

namespace heddle {

/** PaintTee: copies packets of one paint to a second output.
 *
 *      PaintTee(COLOR [, ANNO])
 *
 *  COLOR: 0 to 255. ANNO: PAINT (or its number in Click, 20), the only annotation that can be painted. Every packet
 *  leaves by output 0; if its paint annotation is COLOR, a copy is pushed to output 1. Input and output 0 are
 *  push or pull. In a router, it finds packets
 *  that leave by the interface that they came by, whose senders get a redirect. If no packet buffer is free, the copy
 *  is dropped ("no_buffer").
 *
 *  Handlers: `color` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Paint(1) -> Strip(14) -> CheckIPHeader -> p :: PaintTee(1) -> Discard;
 *      p[1] -> ICMPError(10.0.0.1, redirect, host) -> Discard;
 */
class PaintTee : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override { return {.column_reads = columns(Column::paint)}; }
  int copies() const override { return 2; }
  bool copies_some() const override { return true; }
  int copies_to(Batch& batch, int output, uint16_t* which) override;
  void run_cpu(Batch&) override {}
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> color_{0};
};

/** CheckPaint: sends packets of one paint one way, others another.
 *
 *      CheckPaint(COLOR [, ANNO])
 *
 *  COLOR: 0 to 255. ANNO: PAINT (or its number in Click, 20). Packets whose paint annotation is COLOR leave by output
 *  0, others by output 1, or, if that is not connected, are dropped ("other_paint").
 *
 *  Handlers: `color` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Paint(1) -> c :: CheckPaint(2) -> Discard; c[1] -> ToDump(out.pcap);
 */
class CheckPaint : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override { return {.column_reads = columns(Column::paint)}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> color_{0};
};

}  // namespace heddle
