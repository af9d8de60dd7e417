#pragma once

#include <optional>
#include <string>

#include "elements/nat/rewriter.h"

namespace heddle {

/** FTPPortMapper: lets FTP's data connections through an IPRewriter.
 *
 *      FTPPortMapper(CONTROL_REWRITER, DATA_REWRITER, DATA_REWRITER_INPUT)
 *      FTPPortMapper(CONTROL_REWRITER, DATA_REWRITER, PATTERN FOUTPUT ROUTPUT)
 *
 *  Takes all packets of FTP control connections that clients send (IPv4 header at annotation l3), on their way to
 *  CONTROL_REWRITER. Where one says PORT with its sender's address, the server will connect to there: the element makes
 *  the mapping that a packet of this connection from the client to the server's port 20 would get at DATA_REWRITER by
 *  input DATA_REWRITER_INPUT, or by a pattern: `pattern SADDR SPORT DADDR DPORT FOUTPUT ROUTPUT`, the same without the
 *  word pattern, as in old configurations of Click, or NAME FOUTPUT ROUTPUT. It writes the mapping's address and port
 *  into the command. A command that becomes longer or shorter moves all that the client sends afterwards: the element
 *  then corrects sequence numbers, and CONTROL_REWRITER acknowledgements of that connection; of two commands of
 *  different shifts that have not been acknowledged yet, both may be sent again. Both names are those of an IPRewriter
 *  or TCPRewriter, maybe of the same. One input, one output.
 *
 *  A command stays as it is if its connection has no mapping at CONTROL_REWRITER yet and it is not clear how it gets
 *  one (by the only input of CONTROL_REWRITER, or by DATA_REWRITER_INPUT if both are one), if DATA_REWRITER gives none,
 *  if the command is not at the beginning of a whole packet with a right checksum, or names another host (statistic
 *  `ignored`). EPRT (RFC 2428) is not looked at; passive FTP needs no help. RFC 959.
 *
 *  Hot reconfiguration: connections in which a command has become longer or shorter need it until they end.
 *
 *  Handlers: `rewritten`, `ignored` (r, commands).
 *
 *  Example, clients behind 1.0.0.1:
 *
 *      r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 1, drop); r[0] -> Discard; r[1] -> Discard;
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> c :: IPClassifier(tcp dst port 21, -);
 *      c[0] -> FTPPortMapper(r, r, 0) -> r; c[1] -> r; Idle -> [1]r;
 */
class FTPPortMapper : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  Access access(Processor) const override;
  bool changes_length() const override { return true; }
  int appends() const override { return 12; }  // "0,0,0,0,0,0" becomes "255,255,255,255,255,255"
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;
  void take_state(Element& old) override;

 private:
  bool wants_paint() const { return control_ != nullptr && (control_->paints_replies() || data_->paints_replies()); }
  enum class Result { no_command, rewritten, ignored };
  /** Moves the sequence number of a packet whose connection has grown or shrunk. */
  void move_sequence(const Ip4Header& ip) const;
  /** `sequence`: the packet's, as the client has sent it. `paint`: its annotation, if a rewriter wants it. */
  Result rewrite_command(Packet* packet, const Ip4Header& ip, uint32_t sequence, uint32_t paint, int thread);
  /** Notes that the packet of `flow` from `sequence` to `last` becomes `more` bytes longer. */
  bool note_shift(const nat::FlowKey& flow, uint32_t sequence, uint32_t last, int more);

  std::string control_name_, data_name_;
  uint32_t data_input_ = 0;
  uint32_t control_input_ = UINT32_MAX;  // by which clients' packets come to CONTROL_REWRITER, if that is clear
  std::string spec_text_;                // PATTERN FOUTPUT ROUTPUT, or ""
  click::AddressNames names_;            // for it
  std::optional<nat::InputSpec> spec_;   // what it means
  Rewriter* control_ = nullptr;
  Rewriter* data_ = nullptr;
  std::atomic<uint64_t> rewritten_{0}, ignored_{0};
};

}  // namespace heddle
